//! What the host does for a launch of a prepared sequence, without a driver below: it allocates nothing per launch, and writes only the parameters
//! that are different from the last run.

use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
    time::Instant,
};
use unigrad_device::{Abilities, Buffer, Device, Discovery, Driver, Error, Info, Launch, OpenDevice};
use unigrad_gpu::{Backend, Bound, GpuDevice, Range};
use unigrad_ir::{Program, Target};
use unigrad_kernel::{
    Kernel,
    testing::{
        allocations::{self, Counting},
        regions,
    },
};
use unigrad_scalar::DType;

#[global_allocator]
static COUNTING: Counting = Counting;

/// A backend that does nothing; what it is asked to launch is kept where `SEEN` has room.
struct Nothing {
    target: Target,
    next: AtomicU64,
}

/// Launches until one fails; 0 for none.
static FAILS_AFTER: AtomicUsize = AtomicUsize::new(0);

/// What is launched, if a test wants to know.
static SEEN: Mutex<Option<Vec<Vec<Bound>>>> = Mutex::new(None);

impl Abilities for Nothing {}

impl Backend for Nothing {
    type Module = ();

    fn info(&self) -> Info {
        Info { backend: "nothing", software: true, ..Info::default() }
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
        if FAILS_AFTER.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |n| n.checked_sub(1)) == Ok(1) {
            return Err(Error::Launch { device: "nothing:0".to_owned(), kernel: String::new(), cause: "a test made it fail".to_owned() });
        }
        if let Some(seen) = &mut *SEEN.lock().unwrap() {
            seen.push(args.to_vec());
        }
        Ok(())
    }

    fn synchronize(&self) -> Result<(), Error> {
        Ok(())
    }
}

/// One test at a time: they count what the process allocates and launches.
static ALONE: Mutex<()> = Mutex::new(());

struct NothingDriver;

impl Driver for NothingDriver {
    fn backend(&self) -> &'static str {
        "nothing"
    }

    fn discover(&self) -> Discovery {
        let device = |ordinal| Info { backend: "nothing", ordinal, software: true, ..Info::default() };
        Discovery { devices: (0..2).map(device).collect(), problem: None }
    }

    /// The second device has scalars in a block.
    fn open(&self, ordinal: usize) -> Result<Arc<dyn OpenDevice>, Error> {
        let target = Target { scalars_in_block: ordinal == 1, ..Target::interpreter() };
        Ok(Arc::new(GpuDevice::new(Nothing { target, next: AtomicU64::new(1) })))
    }
}

/// Whether two runs of three launches pass the same, but for the slots of status words, which follow each other.
fn alike(a: &[Vec<Bound>], b: &[Vec<Bound>], reports: bool) -> bool {
    let same = |(a, b): (&Bound, &Bound)| match (a, b) {
        (Bound::Scalar(DType::U32, a), Bound::Scalar(DType::U32, b)) if reports => a == b || (a + 3) % 1024 == *b,
        (a, b) => a == b,
    };
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.len() == b.len() && a.iter().zip(b).all(same))
}

/// With scalars in a block a run is filled by launches of its own, and only if they are others than before; no launch passes a number of a run.
#[test]
fn a_block_is_filled_once_for_a_run_and_allocates_nothing() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    unigrad_device::register(NothingDriver);
    let device = Device::open("nothing:1").unwrap();
    let (mut n_filled, mut n_exact) = (0, 0);
    for seed in 0..200 {
        let (region, _, scalars) = regions::region(seed);
        let kernel = Kernel::Region(region);
        let Ok(program) = device.compile(&kernel) else { continue };
        let set: Vec<Buffer> = kernel.args().iter().map(|arg| device.allocate(arg.len * arg.dtype.size()).unwrap()).collect();
        let table: Vec<_> = set.iter().map(Buffer::as_slice).collect();
        let launch = || Launch::whole(program.clone(), kernel.args().len(), scalars.len());
        let sequence = device.prepare((0..41).map(|_| launch()).collect(), None).unwrap();
        let mut words = scalars.clone();
        // What a run launches, without the parameters of memory.
        let mut run = |step: u64| {
            words.iter_mut().for_each(|word| *word = word.wrapping_add(step));
            device.synchronize().unwrap();
            *SEEN.lock().unwrap() = Some(Vec::new());
            device.run(&sequence, 0..41, &table, &words).unwrap();
            SEEN.lock().unwrap().take().unwrap()
        };
        let [first, same, other] = [0, 0, 1].map(&mut run);
        let fills = first.len() - same.len();
        if fills > 0 && other.len() == first.len() {
            n_filled += 1;
            assert_eq!(first[fills..], same, "what is launched stays, whatever the scalars are");
            assert_eq!(same, other[fills..]);
        }
        let mut count = |step| {
            words.iter_mut().for_each(|word| *word = word.wrapping_add(step));
            device.synchronize().unwrap();
            let before = allocations::count();
            device.run(&sequence, 0..41, &table, &words).unwrap();
            allocations::count() - before
        };
        n_exact += usize::from((0..5).map(|_| count(1)).min() == Some(0));
    }
    println!("{n_filled} kernels with numbers that change; {n_exact} whose runs allocate nothing");
    assert!(n_filled > 20 && n_exact > 60, "{n_filled} {n_exact}");
}

#[test]
fn a_launch_of_a_sequence_allocates_nothing_and_passes_what_a_single_launch_passes() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    unigrad_device::register(NothingDriver);
    let device = Device::open("nothing").unwrap();
    let (mut n_exact, mut n_reporting, mut n_launched) = (0, 0, 0);
    let mut nanos = [0.0; 2];
    for seed in 0..200 {
        let (region, _, scalars) = regions::region(seed);
        let kernel = Kernel::Region(region);
        let Ok(program) = device.compile(&kernel) else { continue };
        let buffers = || kernel.args().iter().map(|arg| device.allocate(arg.len * arg.dtype.size()).unwrap()).collect::<Vec<Buffer>>();
        let launch = || Launch::whole(program.clone(), kernel.args().len(), scalars.len());
        // Two sets of memory in turn, as the batches of a training loop.
        let sets = [buffers(), buffers()];
        let tables = sets.each_ref().map(|set| set.iter().map(Buffer::as_slice).collect::<Vec<_>>());
        let allocations = |n: usize| {
            let sequence = device.prepare((0..n).map(|_| launch()).collect(), None).unwrap();
            let run = |i: usize| device.run(&sequence, 0..n, &tables[i % 2], &scalars).unwrap();
            (0..8).for_each(run);
            let count = |i: usize| {
                device.synchronize().unwrap();
                let before = allocations::count();
                run(i);
                allocations::count() - before
            };
            (0..5).map(count).min().unwrap()
        };
        let (one, many) = (allocations(1), allocations(41));
        if one == 0 {
            n_exact += 1;
            assert_eq!(many, 0, "{many} allocations in 41 launches of {kernel:?}");
        } else {
            // A launch that can report an error: per run, lists of what depends on it.
            n_reporting += 1;
            assert!(many <= one + 24, "{one} allocations in a run of one launch, {many} in one of 41, of {kernel:?}");
        }
        if one == 0 {
            let sequence = device.prepare((0..41).map(|_| launch()).collect(), None).unwrap();
            let time = |each: usize| {
                let begin = Instant::now();
                for first in (0..41).step_by(each) {
                    device.run(&sequence, first..(first + each).min(41), &tables[0], &scalars).unwrap();
                }
                begin.elapsed().as_nanos() as f64 / 41.0
            };
            let best = |each: usize| (0..20).map(|_| time(each)).fold(f64::INFINITY, f64::min);
            nanos = [nanos[0] + best(41), nanos[1] + best(1)];
        }
        // A run, and the same run launch by launch.
        let sequence = device.prepare((0..3).map(|_| launch()).collect(), None).unwrap();
        let mut words = scalars.clone();
        for i in 0..4 {
            words.iter_mut().for_each(|word| *word = word.wrapping_add(i % 3));
            let seen = |each: usize| {
                device.synchronize().unwrap();
                *SEEN.lock().unwrap() = Some(Vec::new());
                (0..3).step_by(each).for_each(|first| device.run(&sequence, first..first + each, &tables[i as usize % 2], &words).unwrap());
                SEEN.lock().unwrap().take().unwrap()
            };
            let (whole, parts) = (seen(3), seen(1));
            n_launched += whole.len();
            assert!(alike(&whole, &parts, one > 0), "{whole:?}\n{parts:?}");
            // Whichever step fails, what was not launched is launched when the run goes on where it stopped.
            let steps = whole.len() / 3;
            for failing in 0..whole.len() {
                let seen = {
                    *SEEN.lock().unwrap() = Some(Vec::new());
                    FAILS_AFTER.store(failing + 1, Ordering::Relaxed);
                    let stopped = device.run(&sequence, 0..3, &tables[i as usize % 2], &words).expect_err("a launch fails");
                    assert_eq!((stopped.at, FAILS_AFTER.load(Ordering::Relaxed)), (failing / steps, 0));
                    let again = matches!(stopped.error, Error::Launch { .. });
                    assert_eq!(again, failing % steps == 0, "a launch whose first steps are queued is not made again: {}", stopped.error);
                    device.run(&sequence, stopped.at..3, &tables[i as usize % 2], &words).unwrap();
                    SEEN.lock().unwrap().take().unwrap()
                };
                assert_eq!(seen.len(), whole.len() + failing % steps);
            }
        }
    }
    println!("{n_exact} kernels without reports, {n_reporting} with");
    let [prepared, single] = nanos.map(|nanos| nanos / f64::from(n_exact));
    println!("host: {prepared:.0} ns a launch of a sequence, {single:.0} ns a launch by itself");
    assert!(n_launched > 1000, "{n_launched} launches");
    assert!(n_exact > 60 && n_reporting > 5, "{n_exact} kernels without reports, {n_reporting} with");
}
