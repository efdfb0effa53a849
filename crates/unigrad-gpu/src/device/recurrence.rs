//! Launches of a sequence that come again and again, as the steps of a recurrent layer do: where one program can do all of them, it is launched in their place.
//!
//! In: the launches of a sequence. Out: which of them are steps of a recurrence, and the program for each.
//! Always: the launches stay what they are: errors, flows of errors and runs of a part of the sequence know each of them. Where entries of a run's table
//! share memory that the recurrence writes, or launches are to be queued one by one (`UNIGRAD_REPLAY=off`), they are.
//! Never: takes longer than in proportion to the launches.

use super::{GpuDevice, GpuExecutable};
use crate::{
    Backend, Range, dump,
    lower::{Moving, Recurrence, Repeated, recurrence},
};
use std::{ops, sync::Arc};
use unigrad_device::{At, Launch};
use unigrad_ir::Target;
use unigrad_kernel::Kernel;

/// Launches of a step at most.
const MOST_PERIOD: usize = 8;
/// Steps at least: what fewer take is less than a program takes to be compiled.
const LEAST_TIMES: usize = 8;

/// Launches that are one.
pub(super) struct Found<B: Backend> {
    pub(super) launches: ops::Range<usize>,
    pub(super) recurrence: Recurrence,
    pub(super) module: Arc<B::Module>,
}

/// Launches that repeat: from where on, how many are a step, and how many steps there are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Repeat {
    first: usize,
    period: usize,
    times: usize,
}

/// What is the same in all steps, and where memory is.
trait Step {
    fn is_like(&self, other: &Self) -> bool;
    fn places(&self) -> &[At];
}

impl Step for Launch {
    fn is_like(&self, other: &Launch) -> bool {
        Arc::ptr_eq(&self.program, &other.program) && self.scalars.is_empty() && other.scalars.is_empty()
    }

    fn places(&self) -> &[At] {
        &self.args
    }
}

/// Bytes from the memory of one launch to that of another that is like it, by argument.
fn distances<'a, S: Step>(from: &'a S, to: &'a S) -> impl Iterator<Item = Option<i64>> + 'a {
    from.places().iter().zip(to.places()).map(|(from, to)| {
        let is_like = from.entry == to.entry && from.len == to.len;
        is_like.then_some(to.offset as i64 - from.offset as i64)
    })
}

/// How often launches come again from `first` on, `period` of them a step.
fn times<S: Step>(launches: &[S], first: usize, period: usize) -> usize {
    let goes_on = |at: usize| {
        let (before, this) = (&launches[at - period], &launches[at]);
        let is_like = before.is_like(this) && before.places().len() == this.places().len();
        let second = first + (at - first) % period + period;
        let (step, way) = (|| distances(before, this), || distances(&launches[second - period], &launches[second]));
        is_like && step().zip(way()).all(|(step, way)| step.is_some() && step == way)
    };
    let end = (first + period..launches.len()).find(|at| !goes_on(*at)).unwrap_or(launches.len());
    (end - first) / period
}

/// All launches that repeat often enough; of several ways to see it, the shortest step.
fn repeats<S: Step>(launches: &[S]) -> Vec<Repeat> {
    let mut found = Vec::new();
    let mut first = 0;
    while first < launches.len() {
        let ways = (1..=MOST_PERIOD).filter(|period| first + period * LEAST_TIMES <= launches.len());
        let repeat =
            ways.map(|period| Repeat { first, period, times: times(launches, first, period) }).find(|way| way.times >= LEAST_TIMES);
        first = repeat.map_or(first + 1, |repeat| first + repeat.period * repeat.times);
        found.extend(repeat);
    }
    found
}

impl<B: Backend> GpuDevice<B> {
    /// The recurrences among launches, in order. A program that does not compile is told once and left out.
    pub(super) fn recurrences(&self, launches: &[Launch]) -> Vec<Found<B>> {
        if self.target.clusters() == 0 {
            return Vec::new();
        }
        repeats(launches).into_iter().filter_map(|repeat| self.found(launches, repeat)).collect()
    }

    fn found(&self, launches: &[Launch], Repeat { first, period, times }: Repeat) -> Option<Found<B>> {
        let steps: Vec<Repeated<'_>> = (first..first + period)
            .map(|at| repeated(self.kernel(&launches[at])?, &launches[at], &launches[at + period]))
            .collect::<Option<_>>()?;
        let recurrence = recurrence(&steps, times, &self.target)?;
        dump::recurrence_if_asked(&self.name, [period, times], &recurrence, &self.target);
        match self.module(&recurrence.launch.program) {
            Ok(module) => Some(Found { launches: first..first + period * times, recurrence, module }),
            Err(error) => {
                unigrad_device::tell(format_args!(
                    "unigrad: {}: steps of a recurrence are launched one by one because of: {error}",
                    self.name
                ));
                None
            }
        }
    }

    /// The kernel of a launch, if it is one that can be a step's.
    fn kernel<'a>(&self, launch: &'a Launch) -> Option<&'a Kernel> {
        launch.program.as_any().downcast_ref::<GpuExecutable<B>>()?.step.as_deref()
    }
}

fn repeated<'a>(kernel: &'a Kernel, launch: &Launch, next: &Launch) -> Option<Repeated<'a>> {
    let moving = |(at, distance): (&At, Option<i64>)| Some(Moving { entry: at.entry, first: at.offset, distance: distance?, len: at.len });
    let args = launch.args.iter().zip(distances(launch, next)).map(moving).collect::<Option<_>>()?;
    Some(Repeated { kernel, args })
}

impl Recurrence {
    /// Whether no memory that it writes is another entry's as well.
    pub(super) fn fits(&self, entry: impl Fn(usize) -> Option<Range>) -> bool {
        let of = |at: &usize| entry(*at);
        self.writes.iter().enumerate().all(|(at, write)| {
            let others = self.writes[at + 1..].iter().chain(&self.reads);
            others.map(of).all(|other| of(write).zip(other).is_some_and(|(write, other)| !meet(&write, &other)))
        })
    }
}

fn meet(a: &Range, b: &Range) -> bool {
    a.handle == b.handle && a.offset < b.offset + b.len && b.offset < a.offset + a.len
}

/// Whether a kernel can be a step's at all, so that it is kept with its program.
pub(super) fn can_be_step(kernel: &Kernel, target: &Target) -> bool {
    if target.clusters() == 0 {
        return false;
    }
    match kernel {
        Kernel::Contract(contract) => {
            contract.m.iter().map(|dim| dim.size).product::<usize>() <= crate::lower::most_recurrent_rows(target) as usize
        }
        Kernel::Region(region) => region.n_parallel == region.axes.len() && region.scalars.is_empty(),
        Kernel::Grouped(_) | Kernel::Joined(_) | Kernel::Crossed(_) | Kernel::Summed(_) => false,
        Kernel::Attention(_) | Kernel::AttentionGrad(_) | Kernel::Scan(_) => false,
        Kernel::Scatter(_) | Kernel::ArgSort(_) | Kernel::TopK(_) | Kernel::MaxPool(_) | Kernel::Custom(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Fake(u32, Vec<At>);

    impl Step for Fake {
        fn is_like(&self, other: &Fake) -> bool {
            self.0 == other.0
        }

        fn places(&self) -> &[At] {
            &self.1
        }
    }

    fn launch(program: u32, offset: usize) -> Fake {
        Fake(program, vec![At { entry: 0, offset, len: 64 }, At::whole(1)])
    }

    #[test]
    fn steps_are_found_wherever_they_begin_and_end() {
        for (before, times, after) in [(0, LEAST_TIMES, 0), (3, LEAST_TIMES, 1), (1, 3 * LEAST_TIMES, 0), (0, LEAST_TIMES - 1, 5)] {
            for period in 1..=MOST_PERIOD {
                let mut launches: Vec<Fake> = (0..before).map(|at| launch(100 + at, 0)).collect();
                let steps = (0..times).flat_map(|step| (0..period).map(move |at| launch(at as u32, 4096 * at + 64 * step)));
                launches.extend(steps);
                launches.extend((0..after).map(|at| launch(200 + at, 0)));
                let wanted = (times >= LEAST_TIMES).then_some(Repeat { first: before as usize, period, times });
                assert_eq!(repeats(&launches), Vec::from_iter(wanted), "{before} before, {times} steps of {period}, {after} after");
            }
        }
    }

    #[test]
    fn a_step_whose_memory_moves_otherwise_ends_the_recurrence() {
        let moved = |step: usize| launch(0, 64 * step + if step > LEAST_TIMES { 64 } else { 0 });
        let launches: Vec<Fake> = (0..2 * LEAST_TIMES).map(moved).collect();
        assert_eq!(repeats(&launches), [Repeat { first: 0, period: 1, times: LEAST_TIMES + 1 }]);
        let other: Vec<Fake> = (0..2 * LEAST_TIMES).map(|at| Fake(0, vec![At { entry: at, offset: 0, len: 64 }])).collect();
        assert_eq!(repeats(&other), []);
    }

    #[test]
    fn entries_that_share_written_memory_are_told() {
        let launch =
            crate::lower::ProgramLaunch { program: unigrad_ir::Builder::new("none", [1; 3]).finish(), grid: [1; 3], args: Vec::new() };
        let of = |writes: &[usize], reads: &[usize]| Recurrence {
            launch: launch.clone(),
            args: Vec::new(),
            writes: writes.iter().copied().collect(),
            reads: reads.iter().copied().collect(),
        };
        let range = |handle, offset| Range { handle, offset, len: 64 };
        let table = [range(1, 0), range(1, 64), range(1, 32), range(2, 0)];
        let entry = |at: usize| table.get(at).copied();
        assert!(of(&[0], &[1, 3]).fits(entry));
        assert!(of(&[3], &[0, 2]).fits(entry), "what is only read may overlap");
        assert!(!of(&[0], &[2]).fits(entry));
        assert!(!of(&[0, 2], &[]).fits(entry));
        assert!(!of(&[0], &[4]).fits(entry), "an entry that the run does not bring");
    }
}
