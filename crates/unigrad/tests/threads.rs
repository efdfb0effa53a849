//! Evaluations in several threads: those of independent graphs go side by side, those that share something not yet computed follow each other,
//! and the numbers are those of one thread, bit for bit.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc, Condvar, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicUsize, Ordering},
        mpsc,
    },
    thread,
    time::{Duration, Instant},
};
use unigrad::device::{
    self, Driver,
    testing::{Failure, Faults, FaultyDriver, Operation},
};
use unigrad::nn::{AdamW, Linear};
use unigrad::prelude::*;
use unigrad::tensor::eval;

const THREADS: usize = 8;
/// Long enough for the slowest machine; only a test that fails waits for it.
const PATIENCE: Duration = Duration::from_secs(120);

/// Counts and the generator are the process's: one test at a time.
fn alone() -> MutexGuard<'static, ()> {
    static LOCK: Mutex<()> = Mutex::new(());
    LOCK.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Those of the machine, without the drivers of this file.
fn devices() -> Vec<Device> {
    let is_own = |device: &Device| device.name().contains('-') || device.name().starts_with("null");
    unigrad_testing::devices().into_iter().filter(|device| !is_own(device)).collect()
}

/// Devices of a driver under another name, and what holds their operations up.
fn watched(name: &'static str, driver: impl Driver + 'static, ordinals: usize) -> (Vec<Device>, Faults) {
    let faults = Faults::default();
    assert!(device::register(FaultyDriver::new(name, driver, faults.clone())), "{name} is there already");
    let devices = (0..ordinals).map(|ordinal| Device::open(&format!("{name}:{ordinal}")).unwrap()).collect();
    (devices, faults)
}

/// A place where so many have to be at once before any goes on.
#[derive(Clone)]
struct Meeting(Arc<(Mutex<usize>, Condvar, usize)>);

impl Meeting {
    fn new(n: usize) -> Meeting {
        Meeting(Arc::new((Mutex::new(0), Condvar::new(), n)))
    }

    fn arrive(&self) {
        let (count, changed, n) = &*self.0;
        let mut count = count.lock().unwrap_or_else(PoisonError::into_inner);
        *count += 1;
        changed.notify_all();
        let (_count, late) = changed.wait_timeout_while(count, PATIENCE, |count| *count < *n).unwrap_or_else(PoisonError::into_inner);
        assert!(!late.timed_out(), "the others did not come");
    }

    /// How many have come.
    fn count(&self) -> usize {
        *self.0.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until so many have come, without being one of them.
    fn wait_for(&self, n: usize) {
        let (count, changed, _) = &*self.0;
        let count = count.lock().unwrap_or_else(PoisonError::into_inner);
        let (_count, late) = changed.wait_timeout_while(count, PATIENCE, |count| *count < n).unwrap_or_else(PoisonError::into_inner);
        assert!(!late.timed_out(), "{n} were to come");
    }
}

/// Each thread's first launch waits for all others to be in theirs.
fn meet_in_first_launch(devices: &[Device], faults: &Faults) {
    let meeting = Meeting::new(THREADS);
    {
        let meeting = meeting.clone();
        thread_local!(static MET: std::cell::Cell<bool> = const { std::cell::Cell::new(false) });
        faults.watch(move |operation| {
            if operation == Operation::Launch && !MET.replace(true) {
                meeting.arrive();
            }
        });
    }
    thread::scope(|scope| {
        for i in 0..THREADS {
            let device = devices[i % devices.len()];
            scope.spawn(move || {
                let x = Tensor::new([[1.0f32, 2.0], [3.0, i as f32]], &device);
                let y = x.matmul(&x).exp().sum(()) * 0.5;
                let wanted =
                    [1.0 + 6.0, 2.0 + 2.0 * i as f64, 3.0 + 3.0 * i as f64, 6.0 + (i * i) as f64].map(f64::exp).iter().sum::<f64>() * 0.5;
                let got = f64::from(y.item::<f32>().unwrap());
                assert!((got / wanted - 1.0).abs() < 1e-5, "{got} for {wanted}");
            });
        }
    });
    faults.unwatch();
    assert_eq!(meeting.count(), THREADS, "all were in a launch at the same time");
}

#[test]
fn on_the_cpu_graphs_of_several_threads_run_at_the_same_time() {
    let _alone = alone();
    let (devices, faults) = watched("cpu-meeting", unigrad_cpu::CpuDriver, 1);
    meet_in_first_launch(&devices, &faults);
}

#[test]
fn devices_are_given_work_at_the_same_time() {
    let _alone = alone();
    let target = unigrad_interpreter::targets().remove(0);
    let driver = unigrad_interpreter::InterpreterDriver::new(vec![target; THREADS]);
    let (devices, faults) = watched("gpu-meeting", driver, THREADS);
    meet_in_first_launch(&devices, &faults);
}

/// Holds the first operation of a kind until it is let go.
struct Gate {
    arrived: Meeting,
    open: Meeting,
}

impl Gate {
    fn new(faults: &Faults, held: Operation, then: impl Fn() + Send + Sync + 'static) -> Gate {
        let gate = Gate { arrived: Meeting::new(1), open: Meeting::new(2) };
        let (arrived, open, first) = (gate.arrived.clone(), gate.open.clone(), AtomicBool::new(true));
        faults.watch(move |operation| {
            if operation == held && first.swap(false, Ordering::Relaxed) {
                arrived.arrive();
                open.arrive();
                then();
            }
        });
        gate
    }

    fn is_closed(&self) {
        self.arrived.wait_for(1);
    }

    fn open(&self) {
        self.open.arrive();
    }
}

fn root(x: &Tensor) -> Tensor {
    x.matmul(x).tanh()
}

#[test]
fn a_thread_that_shares_what_is_being_computed_waits_and_no_other_one() {
    let _alone = alone();
    let (devices, faults) = watched("cpu-sharing", unigrad_cpu::CpuDriver, 1);
    let device = devices[0];
    let x = Tensor::new([[0.5f32, -0.25], [1.0, 2.0]], &device).realize().unwrap();
    let expected = (root(&x) + 1.0).to_vec::<f32>().unwrap();
    for failure in [None, Some(Failure::Refused), Some(Failure::Halfway)] {
        let shared = root(&x);
        // The way it ends: in order, by an error, by a panic.
        let (panics, fails) = (failure == Some(Failure::Halfway), failure == Some(Failure::Refused));
        let own_faults = faults.clone();
        let gate = Gate::new(&faults, Operation::Launch, move || {
            assert!(!panics, "a driver that panics");
            if fails {
                own_faults.fail(Operation::Launch, 0, Failure::Refused);
            }
        });
        let (finished, when) = mpsc::channel();
        thread::scope(|scope| {
            let first = scope.spawn(|| catch_unwind(AssertUnwindSafe(|| shared.realize().map(|_| ()))));
            gate.is_closed();
            let second = scope.spawn(|| {
                let result = (&shared + 1.0).to_vec::<f32>();
                finished.send(()).unwrap();
                result
            });
            // A graph of its own on the same device, and one that shares only data.
            let own = Tensor::new([[0.5f32, -0.25], [1.0, 2.0]], &device);
            assert_eq!((root(&own) + 1.0).to_vec::<f32>().unwrap(), expected);
            assert_eq!((root(&x) + 1.0).to_vec::<f32>().unwrap(), expected);
            assert!(when.recv_timeout(Duration::from_millis(30)).is_err(), "the second thread did not wait");
            gate.open();
            let first = first.join().unwrap();
            match failure {
                None => first.expect("no panic").unwrap(),
                Some(Failure::Refused) => assert!(first.expect("no panic").is_err()),
                Some(_) => assert!(first.is_err(), "it was to panic"),
            }
            assert_eq!(second.join().unwrap().unwrap(), expected, "after {failure:?} in the other thread");
        });
        faults.unwatch();
        assert!(faults.is_empty());
    }
}

#[test]
fn a_compiler_at_work_keeps_no_thread_waiting_and_compiles_once_for_all() {
    let _alone = alone();
    let (devices, faults) = watched("cpu-compiling", unigrad_cpu::CpuDriver, 1);
    let device = devices[0];
    let graph = |x: &Tensor| (x * 3.0 + 1.0).sum(()).exp();
    let x = Tensor::new([0.5f32, -0.25], &device).realize().unwrap();
    root(&x.reshape([1, 2]).broadcast_to([2, 2])).realize().unwrap();
    let plans = eval::stats().plans_built;
    let compiles = device.counters().compiles;
    let gate = Gate::new(&faults, Operation::Compile, || ());
    thread::scope(|scope| {
        let first = scope.spawn(|| graph(&x).item::<f32>().unwrap());
        gate.is_closed();
        // Another plan, which is there.
        root(&x.reshape([1, 2]).broadcast_to([2, 2])).realize().unwrap();
        // The same plan, for other data.
        let others: Vec<_> = (0..4).map(|_| scope.spawn(|| graph(&Tensor::new([0.5f32, -0.25], &device)).item::<f32>().unwrap())).collect();
        thread::sleep(Duration::from_millis(20));
        gate.open();
        let first = first.join().unwrap();
        others.into_iter().for_each(|other| assert_eq!(other.join().unwrap(), first));
    });
    faults.unwatch();
    assert_eq!(eval::stats().plans_built - plans, 1, "five evaluations, one plan");
    let once = device.counters().compiles - compiles;
    graph(&x).item::<f32>().unwrap();
    assert_eq!(device.counters().compiles - compiles, once);
}

/// A small network of a thread's own, trained for some steps; its losses.
fn train(device: Device, seed: u64, steps: usize) -> Vec<f32> {
    let generator = Generator::new(seed);
    let random = |shape: [usize; 2]| generator.randn(shape, DType::F32, &device);
    let layers = [Linear::new(16, 32, &device), Linear::new(32, 4, &device)];
    for layer in &layers {
        for parameter in layer.parameters() {
            let values = match parameter.shape().as_slice() {
                [rows, columns] => random([*rows, *columns]) * 0.3,
                shape => Tensor::zeros(shape.to_vec(), DType::F32, &device),
            };
            no_grad(|| parameter.assign(&values)).unwrap();
        }
    }
    let parameters = layers.iter().flat_map(|layer| layer.parameters()).collect();
    let mut optimizer = AdamW::new(parameters, 1e-2).unwrap();
    let x = random([8, 16]).realize().unwrap();
    let labels = Tensor::from_vec((0..8).map(|i| (i % 4) as i64).collect(), 8, &device).realize().unwrap();
    let mut losses = Vec::new();
    for _ in 0..steps {
        let loss = layers[1].forward(&layers[0].forward(&x).tanh()).cross_entropy(&labels);
        optimizer.minimize(&loss, &[]).unwrap();
        losses.push(loss.item::<f32>().unwrap());
    }
    losses
}

#[test]
fn training_in_threads_of_its_own_is_training_alone() {
    let _alone = alone();
    for device in devices() {
        let steps = if device.name().starts_with("cpu") { 40 } else { 3 };
        train(device, 0, 2);
        let begin = Instant::now();
        let expected: Vec<Vec<f32>> = (0..THREADS).map(|i| train(device, i as u64, steps)).collect();
        let one = begin.elapsed();
        let before = eval::stats();
        let begin = Instant::now();
        let got: Vec<Vec<f32>> = thread::scope(|scope| {
            let running: Vec<_> = (0..THREADS).map(|i| scope.spawn(move || train(device, i as u64, steps))).collect();
            running.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        let side_by_side = begin.elapsed();
        assert_eq!(got, expected, "{device}");
        assert_eq!(eval::stats().plans_built, before.plans_built, "{device}: other threads make no other plans");
        let ratio = one.as_secs_f64() / side_by_side.as_secs_f64();
        println!(
            "{device}: {THREADS} trainings of {steps} steps take {one:.1?} one after the other, {side_by_side:.1?} side by side: {ratio:.2} times as fast"
        );
        // Two processors run other tests beside this one; of more, some are left.
        let cores = thread::available_parallelism().unwrap().get();
        assert!(
            ratio >= 1.5 || cores < 4 || !device.name().starts_with("cpu"),
            "{cores} processors do {THREADS} trainings {ratio:.2} times as fast"
        );
    }
}

/// What the threads share: leaves, and what is computed from them but not yet.
struct Common {
    x: Tensor,
    w: Tensor,
    v: Tensor,
    hidden: Tensor,
    scaled: Tensor,
}

impl Common {
    fn new(device: Device, round: usize) -> Common {
        let values = |n: usize, by: usize| (0..n).map(|i| ((i * by + round) % 17) as f32 * 0.125 - 1.0).collect::<Vec<_>>();
        let x = Tensor::from_vec(values(64, 5), [8, 8], &device);
        let w = Tensor::from_vec(values(64, 3), [8, 8], &device).requires_grad();
        let v = Tensor::from_vec(values(64, 7), [8, 8], &device).requires_grad();
        let hidden = x.matmul(&w).tanh();
        let scaled = &x * 0.5 + 0.25;
        Common { x, w, v, hidden, scaled }
    }

    /// A thread's own part: values and gradients of a loss.
    fn part(&self, i: usize) -> Vec<Vec<f32>> {
        let mine = (&self.hidden * (1.0 + i as f64)).matmul(&self.v) + &self.scaled;
        let loss = (mine.sigmoid() * &self.x).square().mean(());
        let gradients = grad(&loss, &[&self.w, &self.v]).unwrap();
        let mut found = vec![mine.to_vec().unwrap(), loss.to_vec().unwrap()];
        found.extend(gradients.iter().map(|gradient| gradient.to_vec().unwrap()));
        found.push(self.hidden.softmax(1).to_vec().unwrap());
        found
    }
}

#[test]
fn threads_that_share_leaves_and_intermediates_get_the_numbers_of_one_thread() {
    let _alone = alone();
    for device in devices() {
        let rounds = if device.name().starts_with("cpu") { 40 } else { 2 };
        for round in 0..rounds {
            let common = Common::new(device, round);
            let expected: Vec<_> = (0..THREADS).map(|i| common.part(i)).collect();
            let common = Common::new(device, round);
            // Some rounds begin with everything computed already, some with new plans.
            if round % 3 == 1 {
                Tensor::realize_all(&[&common.hidden, &common.scaled]).unwrap();
            }
            if round % 5 == 2 {
                eval::clear_plans();
            }
            let start = Meeting::new(THREADS);
            let got: Vec<_> = thread::scope(|scope| {
                let run = |i: usize| {
                    let (common, start) = (&common, &start);
                    scope.spawn(move || {
                        start.arrive();
                        common.part(i)
                    })
                };
                let running: Vec<_> = (0..THREADS).map(run).collect();
                running.into_iter().map(|thread| thread.join().unwrap()).collect()
            });
            assert_eq!(got, expected, "{device}, round {round}");
        }
    }
}

#[test]
fn readers_of_an_assigned_tensor_see_one_of_its_values_and_never_an_older_one_after_a_newer() {
    let _alone = alone();
    for device in devices() {
        let versions = if device.name().starts_with("cpu") { 300 } else { 12 };
        const LEN: usize = 1000;
        let counter = Tensor::zeros([LEN], DType::F32, &device).realize().unwrap();
        let parameter = Tensor::zeros([LEN], DType::F32, &device).realize().unwrap().requires_grad();
        let (done, reads, begin) = (AtomicBool::new(false), AtomicUsize::new(0), Instant::now());
        let versions = thread::scope(|scope| {
            for i in 1..THREADS {
                let (counter, parameter, done, reads) = (&counter, &parameter, &done, &reads);
                scope.spawn(move || {
                    let mut latest = [0.0f32; 2];
                    while !done.load(Ordering::Acquire) {
                        for (tensor, latest) in [counter, parameter].into_iter().zip(&mut latest) {
                            // By itself, and through a graph that holds a value while the next one is assigned: one value, for the handle is
                            // asked once.
                            let tensor = tensor.detach();
                            let seen = match i % 3 {
                                0 => tensor.to_vec::<f32>().unwrap(),
                                1 => (&tensor * 2.0 - &tensor).to_vec::<f32>().unwrap(),
                                _ => (tensor.cumsum(0) / Tensor::arange(1.0, LEN as f64 + 1.0, 1.0, DType::F32, &device))
                                    .round()
                                    .to_vec::<f32>()
                                    .unwrap(),
                            };
                            assert!(seen.iter().all(|x| *x == seen[0]), "{device}: parts of several values: {seen:?}");
                            assert!(seen[0] >= *latest, "{device}: {} after {latest}", seen[0]);
                            *latest = seen[0];
                        }
                        reads.fetch_add(1, Ordering::Relaxed);
                    }
                });
            }
            let end = || done.store(true, Ordering::Release);
            let mut version = 0;
            let assign = || -> Result<i32> {
                // Until all threads have come to read as well.
                while version < versions || reads.load(Ordering::Relaxed) < 5 * THREADS && begin.elapsed() < PATIENCE {
                    version += 1;
                    counter.assign(&(&counter + 1.0))?;
                    no_grad(|| parameter.assign(&(&parameter + 1.0)))?;
                    // Evaluated by this thread or by its first reader.
                    if version % 2 == 0 {
                        Tensor::realize_all(&[&counter, &parameter])?;
                    }
                }
                Ok(version)
            };
            let result = catch_unwind(AssertUnwindSafe(assign));
            end();
            result.unwrap().unwrap()
        });
        assert_eq!(counter.to_vec::<f32>().unwrap(), vec![versions as f32; LEN], "{device}");
        assert_eq!(parameter.to_vec::<f32>().unwrap(), vec![versions as f32; LEN], "{device}");
        let reads = reads.into_inner();
        println!("{device}: {reads} reads beside {versions} assignments");
        assert!(reads >= 5 * THREADS, "{device}: the readers waited for ever");
    }
}

#[test]
fn copies_between_devices_are_made_once_whichever_thread_asks() {
    let _alone = alone();
    let (devices, _faults) = watched("cpu-copies", unigrad_cpu::CpuDriver, 1);
    let (from, to) = (Device::open("cpu").unwrap(), devices[0]);
    for round in 0..30 {
        let x = Tensor::new([1.0f32, 2.0, round as f32], &from);
        let moved = (&x * 2.0).exp().to(&to);
        let expected: Vec<f32> = [1.0f32, 2.0, round as f32].iter().map(|x| (x * 2.0).exp()).collect();
        let start = Meeting::new(THREADS);
        let all: Vec<Vec<f32>> = thread::scope(|scope| {
            let run = |i: usize| {
                let (moved, start) = (&moved, &start);
                scope.spawn(move || {
                    start.arrive();
                    (moved + i as f64).to_vec::<f32>().unwrap()
                })
            };
            let running: Vec<_> = (0..THREADS).map(run).collect();
            running.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        for (i, got) in all.iter().enumerate() {
            for (got, expected) in got.iter().zip(&expected) {
                assert!((got - expected - i as f32).abs() <= 1e-5 * expected.abs() + 1e-5, "{got} for {expected} + {i}");
            }
        }
    }
}
