//! Measuring in blocks that are spread over a run, in this process or in others; one program, or two in turns.
//!
//! In: sides that can measure a block of a workload ([`Side`]), how long ([`Sampling`]). Out: [`Run`]s.
//! Always: every round measures one block of each workload, so that all workloads meet the same noise; sides are started anew every few blocks, since where
//! a process's memory lies is luck. In pairs the two sides' blocks are neighbours in time, and take turns in being first.

use crate::{
    case::{Case, Workload},
    record::{Block, Environment, Run, Series},
    statistics::MAX_VALUES,
    timing::{others, settle, ticks},
};
use std::time::Instant;
use unigrad_device::{Buffer, Device};
use unigrad_tensor::{Error, Result};

/// Something that measures: this process, or another program.
pub trait Side {
    /// Where it runs.
    fn environment(&self) -> &Environment;
    /// Its workloads, in order.
    fn names(&self) -> Vec<String>;
    /// Measures one block of a workload, for about so many seconds, one step at least.
    fn block(&mut self, name: &str, seconds: f64) -> Result<Block>;
}

/// How long is measured, and in how many parts.
#[derive(Clone, Debug, PartialEq)]
pub struct Sampling {
    /// Seconds for each workload, all blocks together.
    pub seconds: f64,
    /// Blocks of each workload.
    pub n_blocks: usize,
    /// Blocks after which the side is started anew.
    pub restart: usize,
}

impl Default for Sampling {
    /// 24 blocks in 4 seconds, by 8 processes.
    fn default() -> Sampling {
        Sampling { seconds: 4.0, n_blocks: 24, restart: 3 }
    }
}

impl Sampling {
    fn check(&self) -> Result<()> {
        if !(1..=MAX_VALUES).contains(&self.n_blocks) || self.restart == 0 {
            let cause = format!("{} blocks, a new start after {}", self.n_blocks, self.restart);
            return Err(Error::argument(cause, format!("choose 1 to {MAX_VALUES} blocks, and a new start after 1 at least")));
        }
        if !(self.seconds > 0.0 && self.seconds.is_finite()) {
            return Err(Error::argument(format!("{} seconds for a workload", self.seconds), "choose a number above 0"));
        }
        Ok(())
    }

    fn block(&self) -> f64 {
        self.seconds / self.n_blocks as f64
    }
}

/// Starts a side.
type Open<'a> = &'a mut dyn FnMut() -> Result<Box<dyn Side>>;

/// The order of a round: every round begins with another workload, so that none is always measured after the same one.
fn order(n: usize, round: usize) -> impl Iterator<Item = usize> {
    (0..n).map(move |at| (at + round) % n)
}

fn empty(side: &dyn Side, names: &[String]) -> Run {
    let series = names.iter().map(|name| Series { name: name.clone(), blocks: Vec::new() }).collect();
    Run { environment: side.environment().clone(), series }
}

/// Measures one program. `told` hears of each round that is done.
pub fn measure(open: Open<'_>, sampling: &Sampling, told: &mut dyn FnMut(usize)) -> Result<Run> {
    sampling.check()?;
    let mut side = open()?;
    let names = side.names();
    let mut run = empty(&*side, &names);
    for round in 0..sampling.n_blocks {
        if round > 0 && round.is_multiple_of(sampling.restart) {
            // The old one frees its memory first.
            drop(side);
            side = open()?;
        }
        for at in order(names.len(), round) {
            run.series[at].blocks.push(side.block(&names[at], sampling.block())?);
        }
        told(round + 1);
    }
    Ok(run)
}

/// Measures two programs in turns: workloads that both have.
pub fn measure_pairs(first: Open<'_>, second: Open<'_>, sampling: &Sampling, told: &mut dyn FnMut(usize)) -> Result<(Run, Run)> {
    sampling.check()?;
    let mut sides = [first()?, second()?];
    let [one, other] = [sides[0].names(), sides[1].names()];
    let names: Vec<String> = one.into_iter().filter(|name| other.contains(name)).collect();
    if names.is_empty() {
        return Err(Error::argument("the two programs have no workload in common", "choose workloads that both have"));
    }
    let mut runs = [empty(&*sides[0], &names), empty(&*sides[1], &names)];
    for round in 0..sampling.n_blocks {
        if round > 0 && round.is_multiple_of(sampling.restart) {
            drop(sides);
            sides = [first()?, second()?];
        }
        for at in order(names.len(), round) {
            let turns = if (round + at) % 2 == 0 { [0, 1] } else { [1, 0] };
            for turn in turns {
                let block = sides[turn].block(&names[at], sampling.block())?;
                runs[turn].series[at].blocks.push(block);
            }
        }
        told(round + 1);
    }
    let [first, second] = runs;
    Ok((first, second))
}

/// Steps of a block at most.
const MOST: usize = 100;
/// A sample is of so many seconds at least: shorter steps are repeated.
const SHORTEST: f64 = 50e-6;
/// Reference samples before a block, and after it.
const REFERENCES: usize = 5;

/// Workloads in this process.
pub struct InProcess {
    device: Device,
    environment: Environment,
    workloads: Vec<(Workload, Option<Case>)>,
    reference: Reference,
}

impl InProcess {
    /// Of these workloads on a device. Nothing is prepared yet. `threads` is what the device was set to, for the record.
    pub fn new(device: Device, threads: Option<usize>, workloads: Vec<Workload>) -> Result<InProcess> {
        let workloads = workloads.into_iter().map(|workload| (workload, None)).collect();
        Ok(InProcess { device, environment: Environment::here(device, threads), workloads, reference: Reference::new(device)? })
    }

    /// As [`InProcess::new`], of those that are called by these names; W1 to W8 where there are none.
    pub fn named(device: Device, threads: Option<usize>, names: &[String]) -> Result<InProcess> {
        InProcess::new(device, threads, crate::workloads::chosen(names)?)
    }

    /// The workload's case, made if it is not there. Where memory does not hold it beside the others, these are dropped: they are made anew in their turn.
    fn case(&mut self, at: usize) -> Result<&mut Case> {
        if self.workloads[at].1.is_none() {
            let mut made = self.workloads[at].0.prepare(&self.device);
            if made.as_ref().is_err_and(Error::is_out_of_memory) {
                self.workloads.iter_mut().for_each(|(_, case)| *case = None);
                self.device.clear_cache();
                made = self.workloads[at].0.prepare(&self.device);
            }
            self.workloads[at].1 = Some(warmed(made?)?);
        }
        match &mut self.workloads[at].1 {
            Some(case) => Ok(case),
            None => Err(Error::Internal("a workload was prepared and is not there".into())),
        }
    }

    pub(crate) fn work(&mut self, name: &str) -> Result<crate::Work> {
        let at = self.position(name)?;
        Ok(self.case(at)?.work)
    }

    fn position(&self, name: &str) -> Result<usize> {
        let found = self.workloads.iter().position(|(workload, _)| workload.name() == name);
        found.ok_or_else(|| Error::argument(format!("no workload is called {name}"), "ask for one of those that were chosen"))
    }
}

/// Plans are made and kernels compiled.
fn warmed(mut case: Case) -> Result<Case> {
    for _ in 0..2 {
        (case.step)()?;
        settle()?;
    }
    Ok(case)
}

impl Side for InProcess {
    fn environment(&self) -> &Environment {
        &self.environment
    }

    fn names(&self) -> Vec<String> {
        self.workloads.iter().map(|(workload, _)| workload.name().to_owned()).collect()
    }

    fn block(&mut self, name: &str, seconds: f64) -> Result<Block> {
        let at = self.position(name)?;
        // Made before the clock runs; and what others left in the caches is replaced.
        let case = self.case(at)?;
        let begin = Instant::now();
        (case.step)()?;
        settle()?;
        let repeat = (SHORTEST / begin.elapsed().as_secs_f64().max(1e-9)).ceil().clamp(1.0, 1000.0) as usize;
        let mut block = Block::default();
        self.reference.sample(&mut block.reference)?;
        let case = self.case(at)?;
        let (before, begin) = (ticks(), Instant::now());
        while block.samples.is_empty() || (block.samples.len() < MOST && begin.elapsed().as_secs_f64() < seconds) {
            let one = Instant::now();
            for _ in 0..repeat {
                (case.step)()?;
                settle()?;
            }
            // A clock that stands still for a step counts as one nanosecond.
            block.samples.push((one.elapsed().as_secs_f64() * 1e3 / repeat as f64).max(1e-6));
        }
        block.others = others(before, begin.elapsed());
        block.watts = self.device.health().ok().flatten().and_then(|health| health.power_w);
        self.reference.sample(&mut block.reference)?;
        Ok(block)
    }
}

/// Work that is the same in every version of the program: how fast the machine is at the moment.
struct Reference {
    numbers: Vec<f64>,
    /// On devices with memory of their own, a copy within it.
    copy: Option<(Buffer, Buffer)>,
}

impl Reference {
    const NUMBERS: usize = 1 << 15;
    const BYTES: usize = 4 << 20;

    fn new(device: Device) -> Result<Reference> {
        let copy = if device.completes_at_once() {
            None
        } else {
            Some((device.allocate_with(&vec![0; Self::BYTES])?, device.allocate(Self::BYTES)?))
        };
        Ok(Reference { numbers: vec![1.0; Self::NUMBERS], copy })
    }

    fn sample(&mut self, times: &mut Vec<f64>) -> Result<()> {
        for _ in 0..REFERENCES {
            let begin = Instant::now();
            for number in &mut self.numbers {
                *number = *number * 0.999 + 1e-3;
            }
            std::hint::black_box(&mut self.numbers);
            if let Some((from, to)) = &self.copy {
                to.copy_from(0, from, 0, Self::BYTES)?;
                settle()?;
            }
            times.push((begin.elapsed().as_secs_f64() * 1e3).max(1e-6));
        }
        Ok(())
    }
}
