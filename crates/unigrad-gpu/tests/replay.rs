//! What a replayed run queues, without a driver below: the same launches with the same arguments as one by one, whatever is different from run to run;
//! and whatever a driver fails at, the run is queued, once.

use std::{
    any::Any,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};
use unigrad_device::{Abilities, At, Buffer, Device, Discovery, Driver, Error, Info, Launch, OpenDevice, Slice};
use unigrad_gpu::{Backend, Bound, GpuDevice, Kept, Range, Recording, Replays};
use unigrad_ir::{Program, Target};
use unigrad_kernel::{
    Kernel,
    testing::{Rng, regions},
};

/// What a backend may fail at.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Operation {
    Record,
    Keep,
    Change,
    Replay,
    /// As `Replay`, with some of it queued.
    Torn,
}

#[derive(Default)]
struct Log {
    /// What was queued, in order.
    queued: Vec<Vec<Bound>>,
    replays: usize,
    /// Fails at the second of the numbers, counted down.
    fails: Option<(Operation, usize)>,
    /// Refuses instead.
    refuses: bool,
}

/// A backend that does nothing but tell what it is asked.
struct Teller {
    target: Target,
    next: AtomicU64,
    log: Arc<Mutex<Log>>,
    replays: bool,
}

impl Teller {
    fn log(&self) -> MutexGuard<'_, Log> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether an operation is done; or refused, or failed.
    fn done(&self, operation: Operation) -> Result<bool, Error> {
        let mut log = self.log();
        match &mut log.fails {
            Some((failing, 0)) if *failing == operation => {
                log.fails = None;
                if log.refuses { Ok(false) } else { Err(failure(operation)) }
            }
            Some((failing, left)) if *failing == operation => {
                *left -= 1;
                Ok(true)
            }
            _ => Ok(true),
        }
    }
}

fn failure(operation: Operation) -> Error {
    let (device, kernel, cause) = ("teller:0".to_owned(), format!("{operation:?}"), "a test made it fail".to_owned());
    match operation {
        Operation::Torn => Error::Interrupted { device, kernel, cause },
        Operation::Record | Operation::Keep | Operation::Change | Operation::Replay => Error::Launch { device, kernel, cause },
    }
}

impl Abilities for Teller {}

impl Backend for Teller {
    type Module = ();

    fn info(&self) -> Info {
        Info { backend: "teller", software: true, ..Info::default() }
    }

    fn target(&self) -> &Target {
        &self.target
    }

    fn allocate(&self, _: usize) -> Result<u64, Error> {
        Ok(self.next.fetch_add(1, Ordering::Relaxed))
    }

    fn free(&self, _: u64) {}

    fn upload(&self, _: &[u8], _: Range) -> Result<(), Error> {
        Ok(())
    }

    fn download(&self, _: Range, data: &mut [u8]) -> Result<(), Error> {
        data.fill(0);
        Ok(())
    }

    fn copy(&self, _: Range, _: Range) -> Result<(), Error> {
        Ok(())
    }

    fn load(&self, _: &Program) -> Result<(), Error> {
        Ok(())
    }

    fn launch(&self, (): &(), _: [u32; 3], args: &[Bound]) -> Result<(), Error> {
        self.log().queued.push(args.to_vec());
        Ok(())
    }

    fn replays(&self) -> Option<&dyn Replays<()>> {
        if self.replays { Some(self) } else { None }
    }

    fn synchronize(&self) -> Result<(), Error> {
        Ok(())
    }
}

fn kept(recording: &mut (dyn Any + Send)) -> &mut Vec<Vec<Bound>> {
    recording.downcast_mut().unwrap()
}

fn arguments(launch: Kept<'_, ()>) -> Vec<Bound> {
    match launch {
        Kept::Program(_, _, args) => args.to_vec(),
        Kept::Library(..) => unreachable!("it has no library"),
    }
}

impl Replays<()> for Teller {
    fn record(&self) -> Result<Recording, Error> {
        self.done(Operation::Record)?;
        Ok(Box::new(Vec::<Vec<Bound>>::new()))
    }

    fn keep(&self, recording: &mut Recording, launch: Kept<'_, ()>, after: &[usize]) -> Result<bool, Error> {
        let n = kept(&mut **recording).len();
        assert!(after.iter().all(|before| *before < n), "launch {n} is after {after:?}");
        kept(&mut **recording).push(arguments(launch));
        self.done(Operation::Keep)
    }

    fn change(&self, recording: &mut Recording, at: usize, launch: Kept<'_, ()>) -> Result<bool, Error> {
        let (old, new) = (&mut kept(&mut **recording)[at], arguments(launch));
        assert_ne!(*old, new, "what stays as it is is not changed");
        *old = new;
        self.done(Operation::Change)
    }

    fn replay(&self, recording: &mut Recording) -> Result<(), Error> {
        self.done(Operation::Replay)?;
        let mut log = self.log();
        log.queued.extend(kept(&mut **recording).iter().cloned());
        log.replays += 1;
        drop(log);
        self.done(Operation::Torn).map(|_| ())
    }
}

struct TellerDriver([Arc<Mutex<Log>>; 2]);

impl Driver for TellerDriver {
    fn backend(&self) -> &'static str {
        "teller"
    }

    fn discover(&self) -> Discovery {
        let device = |ordinal| Info { backend: "teller", ordinal, software: true, ..Info::default() };
        Discovery { devices: (0..2).map(device).collect(), problem: None }
    }

    /// The second device replays.
    fn open(&self, ordinal: usize) -> Result<Arc<dyn OpenDevice>, Error> {
        let (log, replays) = (Arc::clone(&self.0[ordinal]), ordinal == 1);
        Ok(Arc::new(GpuDevice::new(Teller { target: Target::interpreter(), next: AtomicU64::new(1), log, replays })))
    }
}

const RUNS: usize = 24;

/// What a run queued, and how it ended.
type Ended = (Vec<Vec<Bound>>, Result<(), Error>);

/// What each run of a sequence of `n` launches queues, on a device that is in its first state; and how it ended.
fn queued(
    device: Device,
    log: &Mutex<Log>,
    kernel: &Kernel,
    scalars: &[u64],
    n: usize,
    (seed, fails): (u64, Option<(Operation, usize, usize)>),
) -> Option<Vec<Ended>> {
    let program = device.compile(kernel).ok()?;
    let buffers = || kernel.args().iter().map(|arg| device.allocate(arg.len * arg.dtype.size()).unwrap()).collect::<Vec<Buffer>>();
    let sets = [buffers(), buffers(), buffers()];
    // Memory and numbers of its own for each launch.
    let (n_args, n_words) = (kernel.args().len(), scalars.len());
    let launch = |at: usize| Launch {
        args: (at * n_args..(at + 1) * n_args).map(At::whole).collect(),
        scalars: (at * n_words..(at + 1) * n_words).collect(),
        ..Launch::whole(program.clone(), n_args, n_words)
    };
    let sequence = device.prepare((0..n).map(launch).collect(), None).unwrap();
    let (mut random, mut words) = (Rng(seed), scalars.repeat(n));
    let mut table: Vec<usize> = vec![0; n * n_args];
    let mut all = Vec::new();
    for run in 0..RUNS {
        // One thing is another one, or nothing.
        match random.below(3) {
            0 if !table.is_empty() => table[random.below(n * n_args)] = random.below(3),
            1 if !words.is_empty() => words[random.below(n * n_words)] = random.below(100) as u64,
            _ => {}
        }
        device.synchronize().unwrap();
        log.lock().unwrap().queued.clear();
        if let Some((operation, at, in_run)) = fails
            && run == in_run
        {
            log.lock().unwrap().fails = Some((operation, at));
        }
        let slices: Vec<Slice<'_>> = table.iter().enumerate().map(|(at, set)| sets[*set][at % n_args].as_slice()).collect();
        let result = device.run(&sequence, 0..n, &slices, &words).map_err(|stopped| {
            // A run that is torn may have overwritten whatever its launches overwrite.
            assert_eq!(stopped.at, n - 1);
            stopped.error
        });
        all.push((log.lock().unwrap().queued.clone(), result));
    }
    Some(all)
}

#[test]
fn a_replayed_run_queues_what_one_by_one_queues() {
    let logs: [Arc<Mutex<Log>>; 2] = Default::default();
    unigrad_device::register(TellerDriver(logs.clone()));
    let devices = ["teller:0", "teller:1"].map(|name| Device::open(name).unwrap());
    let (mut n_kernels, mut n_failed) = (0, 0);
    for seed in 0..150 {
        let (region, _, scalars) = regions::region(seed);
        let kernel = Kernel::Region(region);
        let replays = || logs[1].lock().unwrap().replays;
        let both = |fails, refuses| {
            logs[1].lock().unwrap().refuses = refuses;
            let [plain, replayed] = [0, 1].map(|i| {
                let fails = if i == 1 { fails } else { None };
                queued(devices[i], &logs[i], &kernel, &scalars, 5, (seed, fails))
            });
            logs[1].lock().unwrap().fails = None;
            plain.zip(replayed)
        };
        let before = replays();
        let Some((plain, replayed)) = both(None, false) else { continue };
        n_kernels += 1;
        let steps = plain[0].0.len();
        // Launches that report have other words for it in each run: then all of it changes, and that goes back to one by one.
        let changes = |(a, b): (&Vec<Bound>, &Vec<Bound>)| usize::from(a != b);
        let restless = plain.windows(2).all(|pair| pair[0].0.iter().zip(&pair[1].0).map(changes).sum::<usize>() * 4 > steps * 3);
        let wanted = if steps < 4 || restless { 0 } else { RUNS - 2 };
        assert!(replays() - before >= wanted, "{} of {RUNS} runs are replayed", replays() - before);
        for (run, (plain, replayed)) in plain.iter().zip(&replayed).enumerate() {
            assert!(plain.1.is_ok() && replayed.1.is_ok());
            assert_eq!(plain.0, replayed.0, "run {run} of {kernel:?}");
        }
        for operation in [Operation::Record, Operation::Keep, Operation::Change, Operation::Replay, Operation::Torn] {
            for (at, in_run, refuses) in [(0, 2, false), (2, 2, false), (0, 7, false), (0, 2, true), (0, 9, true)] {
                let refuses = refuses && matches!(operation, Operation::Keep | Operation::Change);
                let Some((plain, replayed)) = both(Some((operation, at, in_run)), refuses) else { continue };
                for (run, (plain, replayed)) in plain.iter().zip(&replayed).enumerate() {
                    n_failed += usize::from(replayed.1.is_err());
                    assert!(replayed.1.is_ok() || operation == Operation::Torn && matches!(replayed.1, Err(Error::Interrupted { .. })));
                    assert_eq!(plain.0, replayed.0, "{operation:?} {at} fails in run {in_run}: run {run} of {kernel:?}");
                }
            }
        }
    }
    println!("{n_kernels} kernels, {n_failed} runs that were torn");
    assert!(n_kernels > 60 && n_failed > 60, "{n_kernels} {n_failed}");
}
