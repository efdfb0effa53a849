//! A training step is a transaction: whatever fails, on whatever device, the model, the optimizer's state and counter and the running
//! statistics are bit for bit what they were, and training goes on as if the step had not been tried.
//!
//! Every device of the machine, as it is and behind a driver that makes any operation fail.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use unigrad::device::{
    self,
    testing::{Failure, Faults, FaultyDriver, Operation},
};
use unigrad::nn::{AdamW, BatchNorm, Checkpoint, Dropout, Embedding, HostTensor, Layer, Linear, Module, Sgd};
use unigrad::prelude::*;

/// The generator is the process's, and so are plans.
fn alone() -> MutexGuard<'static, ()> {
    static LOCK: Mutex<()> = Mutex::new(());
    #[cfg(unix)]
    interrupted();
    LOCK.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether SIGINT came. Heard from before the first device is opened, as by a program that opens devices later: a compiler of a driver may hear it
/// as well, and its handler ends the process unless another one was there before.
#[cfg(unix)]
fn interrupted() -> &'static std::sync::Arc<std::sync::atomic::AtomicBool> {
    static HEARD: std::sync::OnceLock<std::sync::Arc<std::sync::atomic::AtomicBool>> = std::sync::OnceLock::new();
    HEARD.get_or_init(|| {
        let heard = std::sync::Arc::default();
        signal_hook::flag::register(signal_hook::consts::SIGINT, std::sync::Arc::clone(&heard)).expect("SIGINT can be heard");
        heard
    })
}

const WORDS: usize = 11;
const CLASSES: usize = 4;
const BATCH: usize = 6;
/// The step that fails, of so many.
const BAD: usize = 3;
const STEPS: usize = 5;

#[derive(Module)]
struct Net {
    words: Embedding,
    first: Linear,
    norm: BatchNorm,
    drop: Dropout,
    last: Linear,
}

impl Net {
    fn new(device: &Device) -> Net {
        Net {
            words: Embedding::new(WORDS, 8, device),
            first: Linear::new(8, 16, device),
            norm: BatchNorm::new(16, device),
            drop: Dropout::new(0.25),
            last: Linear::new(16, CLASSES, device),
        }
    }

    fn loss(&self, words: &Tensor, labels: &Tensor) -> Tensor {
        let x = self.words.forward(words);
        let x = self.drop.forward(&self.norm.forward(&self.first.forward(&x)).relu());
        self.last.forward(&x).cross_entropy(labels)
    }
}

/// How a step is written.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Way {
    Minimize,
    Backward,
    OwnAssigns,
}

/// What is wrong with a batch.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Batch {
    Good,
    Label,
    Word,
}

enum Rule {
    Adam(Box<AdamW>),
    /// Plain descent by the test itself.
    Own,
}

struct Run {
    device: Device,
    net: Net,
    rule: Rule,
    way: Way,
}

type State = BTreeMap<String, HostTensor>;

impl Run {
    fn new(device: Device, way: Way) -> Result<Run> {
        manual_seed(11);
        let net = Net::new(&device);
        let rule = if way == Way::OwnAssigns { Rule::Own } else { Rule::Adam(Box::new(AdamW::new(net.parameters(), 1e-2)?)) };
        Tensor::realize_all(&net.parameters().iter().collect::<Vec<_>>())?;
        Ok(Run { device, net, rule, way })
    }

    fn data(&self, step: usize, batch: Batch) -> (Tensor, Tensor) {
        let mut words: Vec<i64> = (0..BATCH).map(|i| ((i * 5 + step * 7) % WORDS) as i64).collect();
        let mut labels: Vec<i64> = (0..BATCH).map(|i| ((i + step) % CLASSES) as i64).collect();
        match batch {
            Batch::Good => {}
            Batch::Label => labels[2] = CLASSES as i64,
            Batch::Word => words[4] = -(WORDS as i64) - 1,
        }
        (Tensor::from_vec(words, BATCH, &self.device), Tensor::from_vec(labels, BATCH, &self.device))
    }

    /// One step, with the loss read at its end.
    fn step(&mut self, step: usize, batch: Batch) -> Result<f32> {
        self.attempt(step, batch)?.item::<f32>()
    }

    /// One step; its loss is not read.
    fn attempt(&mut self, step: usize, batch: Batch) -> Result<Tensor> {
        // The gradients of a step that failed hold its graph, and so its random numbers.
        self.net.parameters().iter().for_each(Tensor::zero_grad);
        let (words, labels) = self.data(step, batch);
        let loss = self.net.loss(&words, &labels);
        match (&mut self.rule, self.way) {
            (Rule::Adam(optimizer), Way::Minimize) => optimizer.minimize(&loss, &[])?,
            (Rule::Adam(optimizer), _) => {
                loss.backward()?;
                optimizer.step()?;
            }
            (Rule::Own, _) => {
                loss.backward()?;
                no_grad(|| {
                    self.net.parameters().iter().try_for_each(|p| match p.grad() {
                        Some(gradient) => p.assign(&(p.detach() - gradient * 0.05)),
                        None => Ok(()),
                    })
                })?;
                Tensor::realize_all(&[&loss])?;
            }
        }
        Ok(loss)
    }

    /// Everything that a step may change.
    fn state(&self) -> Result<State> {
        let mut state = self.net.to_archive()?.tensors;
        if let Rule::Adam(optimizer) = &self.rule {
            state.extend(optimizer.state_dict()?);
            let counter = HostTensor { dtype: DType::U64, shape: vec![], bytes: optimizer.n_steps().to_le_bytes().to_vec() };
            state.insert("n_steps".to_owned(), counter);
        }
        Ok(state)
    }
}

/// States after each step, with and without the step [`BAD`].
struct Expected {
    all: Vec<State>,
    skipped: Vec<State>,
}

fn expected(device: Device, way: Way, steps: usize) -> Result<Expected> {
    let mut states = [Vec::new(), Vec::new()];
    for (skips, states) in [false, true].into_iter().zip(&mut states) {
        let mut run = Run::new(device, way)?;
        for step in 0..steps {
            if !(skips && step == BAD) {
                run.step(step, Batch::Good)?;
            }
            states.push(run.state()?);
        }
    }
    let [all, skipped] = states;
    Ok(Expected { all, skipped })
}

fn assert_same(got: &State, wanted: &State, what: &str) {
    for (name, wanted) in wanted {
        let got = got.get(name).unwrap_or_else(|| panic!("{what}: {name} is gone"));
        assert!(got == wanted, "{what}: {name} differs\n got    {got:?}\n wanted {wanted:?}");
    }
}

/// Trains with something wrong in step [`BAD`], and compares every state. Whether the step failed.
fn train(
    device: Device,
    way: Way,
    steps: usize,
    expected: &Expected,
    what: &str,
    fail: impl FnOnce(&mut Run) -> Result<f32>,
) -> Result<bool> {
    let mut run = Run::new(device, way)?;
    for step in 0..BAD {
        run.step(step, Batch::Good)?;
    }
    let result = fail(&mut run);
    let states = if result.is_err() { &expected.skipped } else { &expected.all };
    assert_same(&run.state()?, &states[BAD], &format!("{what}: after the step, which gave {result:?}"));
    for step in BAD + 1..steps {
        run.step(step, Batch::Good).unwrap_or_else(|error| panic!("{what}: step {step} after it fails: {error}"));
        assert_same(&run.state()?, &states[step], &format!("{what}: step {step}"));
    }
    Ok(result.is_err())
}

fn devices() -> Vec<Device> {
    unigrad_testing::devices().into_iter().filter(|device| !device.name().starts_with("null") && !device.name().contains('-')).collect()
}

#[test]
fn an_index_out_of_range_changes_nothing() -> Result<()> {
    let _alone = alone();
    for device in devices() {
        let slow = device.name().starts_with("interpreter");
        for way in [Way::Minimize, Way::Backward, Way::OwnAssigns] {
            let steps = if slow { BAD + 3 } else { BAD + 51 };
            let expected = expected(device, way, steps)?;
            for batch in [Batch::Label, Batch::Word] {
                let what = format!("{device} {way:?} {batch:?}");
                let failed = train(device, way, steps, &expected, &what, |run| run.step(BAD, batch))?;
                assert!(failed, "{what}: no error");
            }
        }
    }
    Ok(())
}

#[test]
fn a_bad_step_that_nothing_waits_for_changes_nothing() -> Result<()> {
    let _alone = alone();
    for device in devices() {
        let mut reference = Run::new(device, Way::Minimize)?;
        let mut run = Run::new(device, Way::Minimize)?;
        let handed = |run: &mut Run, step: usize, batch: Batch| -> Result<()> {
            let (words, labels) = run.data(step, batch);
            // Without dropout: what was drawn after a failed step cannot be given back.
            let x = run.net.norm.forward(&run.net.first.forward(&run.net.words.forward(&words))).relu();
            let loss = run.net.last.forward(&x).cross_entropy(&labels);
            match &mut run.rule {
                Rule::Adam(optimizer) => optimizer.minimize(&loss, &[]),
                Rule::Own => Ok(()),
            }
        };
        for step in 0..8 {
            if step != BAD {
                handed(&mut reference, step, Batch::Good)?;
            }
            let batch = if step == BAD { Batch::Label } else { Batch::Good };
            let result = handed(&mut run, step, batch);
            assert!(result.is_ok() || device.completes_at_once() && step == BAD, "{device}: {result:?}");
        }
        assert_same(&run.state()?, &reference.state()?, &format!("{device}"));
        let told = device.synchronize();
        assert!(told.is_err() || device.completes_at_once(), "{device}: the error was never told");
    }
    Ok(())
}

#[test]
fn a_bad_label_does_not_outlive_its_step() -> Result<()> {
    let _alone = alone();
    for device in devices() {
        let loss = |n: usize, bad: bool| {
            let x = Tensor::arange(0.0, (n * CLASSES) as f64, 1.0, DType::F32, &device).reshape([n, CLASSES]);
            let labels: Vec<i64> = (0..n).map(|i| if bad && i == n / 2 { 77 } else { (i % CLASSES) as i64 }).collect();
            x.cross_entropy(&Tensor::from_vec(labels, n, &device))
        };
        let good = [4, 7, 32].map(|n| loss(n, false).item::<f32>().map_err(|error| format!("{device}: {error}")).unwrap());
        for _ in 0..3 {
            let error = loss(7, true).item::<f32>().expect_err("a label out of range");
            assert!(error.to_string().contains("77"), "{error}");
            let again = [4, 7, 32].map(|n| loss(n, false).item::<f32>().map_err(|error| format!("{device}: {error}")).unwrap());
            assert_eq!(good, again, "{device}");
            let table = Tensor::arange(0.0, 9.0, 1.0, DType::F32, &device);
            assert_eq!(table.index_select(0, &Tensor::new([8i64, 1], &device)).to_vec::<f32>()?, [8.0, 1.0]);
        }
    }
    Ok(())
}

#[test]
fn a_loss_that_is_not_finite_changes_nothing_and_does_not_count() -> Result<()> {
    let _alone = alone();
    for device in devices() {
        let expected = expected(device, Way::Minimize, STEPS)?;
        let mut run = Run::new(device, Way::Minimize)?;
        for step in 0..BAD {
            run.step(step, Batch::Good)?;
        }
        let (words, labels) = run.data(BAD, Batch::Good);
        let x = run.net.words.forward(&words) * f64::INFINITY;
        let x = run.net.norm.forward(&run.net.first.forward(&x)).relu();
        let loss = run.net.last.forward(&x).cross_entropy(&labels);
        let Rule::Adam(optimizer) = &mut run.rule else { unreachable!() };
        optimizer.minimize(&loss, &[])?;
        assert!(!loss.item::<f32>()?.is_finite());
        assert_same(&run.state()?, &expected.skipped[BAD], &format!("{device}"));
        run.step(BAD + 1, Batch::Good)?;
        assert_same(&run.state()?, &expected.skipped[BAD + 1], &format!("{device}"));
    }
    Ok(())
}

#[test]
fn a_panic_in_a_gradient_changes_nothing() -> Result<()> {
    let _alone = alone();
    let device = Device::open("cpu")?;
    for way in [Way::Minimize, Way::Backward] {
        let expected = expected(device, way, STEPS)?;
        let what = format!("{way:?}");
        train(device, way, STEPS, &expected, &what, |run| {
            let (words, labels) = run.data(BAD, Batch::Good);
            let loss = run.net.loss(&words, &labels);
            let loss = unigrad::tensor::custom("fragile", &[&loss], |x| x[0].clone(), |_, _, _| panic!("a test made it fail"));
            let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| match &mut run.rule {
                Rule::Adam(optimizer) if way == Way::Minimize => optimizer.minimize(&loss, &[]).map_err(|e| e.to_string()),
                _ => loss.backward().map_err(|e| e.to_string()),
            }));
            assert!(caught.is_err(), "the gradient panics");
            // As an error of the step, so that the states without it are expected.
            Err(unigrad::Error::Internal("panicked".into()))
        })?;
    }
    Ok(())
}

/// A device behind a driver that fails when it is told to, for every backend of this machine; known by names of the test's own.
fn faulty_devices(test: &str) -> Vec<(Device, Faults)> {
    let mut found = Vec::new();
    let mut add = |backend: &str, driver: Box<dyn device::Driver>| {
        let name: &'static str = Box::leak(format!("{test}-{backend}").into_boxed_str());
        let faults = Faults::default();
        device::register(FaultyDriver::boxed(name, driver, faults.clone()));
        match Device::open(&format!("{name}:0")) {
            Ok(device) => found.push((device, faults)),
            Err(error) => println!("SKIPPED {name}: {error}"),
        }
    };
    add("cpu", Box::new(unigrad_cpu::CpuDriver));
    add("interpreter", Box::<unigrad_interpreter::InterpreterDriver>::default());
    #[cfg(feature = "opencl")]
    add("opencl", Box::new(unigrad_opencl::OpenClDriver));
    #[cfg(feature = "wgpu")]
    add("wgpu", Box::new(unigrad_wgpu::WgpuDriver));
    #[cfg(feature = "cuda")]
    add("cuda", Box::new(unigrad_cuda::CudaDriver));
    found
}

#[test]
fn any_operation_that_fails_changes_nothing() -> Result<()> {
    let _alone = alone();
    let operations = [
        (Operation::Allocate, Failure::Refused),
        (Operation::Upload, Failure::Halfway),
        (Operation::Copy, Failure::Halfway),
        (Operation::Compile, Failure::Refused),
        (Operation::Launch, Failure::Refused),
        (Operation::Launch, Failure::NoMemory),
        (Operation::Download, Failure::Halfway),
        (Operation::Synchronize, Failure::Refused),
        (Operation::Mark, Failure::Refused),
    ];
    for (device, faults) in faulty_devices("failing") {
        let (mut n_failed, mut n_passed) = (0, 0);
        let ways: &[Way] = if device.name().contains("cpu") { &[Way::Minimize, Way::Backward, Way::OwnAssigns] } else { &[Way::Minimize] };
        for way in ways {
            let expected = expected(device, *way, STEPS)?;
            for (operation, failure) in operations {
                // Every one of the step's operations of the kind in turn.
                for n in 0.. {
                    let what = format!("{device} {way:?} {operation:?} {failure:?} {n}");
                    let mut struck = false;
                    let failed = train(device, *way, STEPS, &expected, &what, |run| {
                        if matches!(operation, Operation::Compile | Operation::Allocate) {
                            // So that there is something to compile and to allocate.
                            unigrad::tensor::eval::clear_plans();
                            device.clear_programs();
                            device.clear_cache();
                        }
                        faults.fail(operation, n, failure);
                        if operation == Operation::Allocate {
                            // The pool asks again after it has given back what waits for reuse.
                            faults.fail(operation, n, failure);
                        }
                        let result = run.attempt(BAD, Batch::Good);
                        struck = faults.is_empty();
                        faults.clear();
                        result.map(|_| 0.0)
                    })?;
                    n_failed += usize::from(failed);
                    n_passed += usize::from(!failed);
                    if !struck {
                        break;
                    }
                }
            }
        }
        println!("{device}: {n_failed} steps failed and changed nothing, {n_passed} came to their end");
        assert!(n_failed > 10, "{device}: the faults do not strike");
    }
    Ok(())
}

/// A program that hears Ctrl-C sets a flag and ends the loop after the step: wherever in a step the signal comes, the step is whole.
#[cfg(unix)]
#[test]
fn an_interruption_at_any_operation_leaves_a_whole_step() -> Result<()> {
    use std::sync::atomic::Ordering::SeqCst;
    let (_alone, heard) = (alone(), interrupted());
    let operations = [
        Operation::Allocate,
        Operation::Upload,
        Operation::Copy,
        Operation::Compile,
        Operation::Launch,
        Operation::Download,
        Operation::Synchronize,
        Operation::Mark,
    ];
    for (device, faults) in faulty_devices("interrupted") {
        let (expected, mut n_heard) = (expected(device, Way::Minimize, STEPS)?, 0);
        for operation in operations {
            // The first operations of the kind one by one, then some of the later ones.
            for n in (0..8).chain((8..).step_by(11)) {
                let what = format!("{device} interrupted at {operation:?} {n}");
                heard.store(false, SeqCst);
                let failed = train(device, Way::Minimize, STEPS, &expected, &what, |run| {
                    if matches!(operation, Operation::Compile | Operation::Allocate) {
                        unigrad::tensor::eval::clear_plans();
                        device.clear_programs();
                        device.clear_cache();
                    }
                    faults.fail(operation, n, Failure::Interrupted);
                    let result = run.step(BAD, Batch::Good);
                    assert_eq!(heard.load(SeqCst), faults.is_empty(), "{what}");
                    faults.clear();
                    result
                })?;
                assert!(!failed, "{what}");
                if !heard.load(SeqCst) {
                    break;
                }
                n_heard += 1;
            }
        }
        println!("{device}: interrupted {n_heard} times, every step was whole");
        assert!(n_heard > 10, "{device}: nothing was interrupted");
    }
    Ok(())
}

#[test]
fn a_step_without_memory_changes_nothing() -> Result<()> {
    let _alone = alone();
    for device in devices() {
        let expected = expected(device, Way::Minimize, STEPS)?;
        let what = format!("{device} without memory");
        let failed = train(device, Way::Minimize, STEPS, &expected, &what, |run| {
            unigrad::tensor::eval::clear_plans();
            device.clear_cache();
            let (words, labels) = run.data(BAD, Batch::Good);
            let loss = run.net.loss(&words, &labels);
            device.set_memory_cap(Some(device.memory_stats().reserved + 64));
            let big = Tensor::zeros([1 << 16], DType::F32, &device);
            let result = match &mut run.rule {
                Rule::Adam(optimizer) => optimizer.minimize(&loss, &[&big]),
                Rule::Own => Ok(()),
            };
            device.set_memory_cap(None);
            if let Err(error) = &result {
                let text = error.to_string();
                assert!(text.contains("out of memory") && text.contains("transactions.rs"), "{device}: {text}");
            }
            result.map(|()| 0.0)
        })?;
        assert!(failed, "{what}: no error");
    }
    Ok(())
}

#[test]
fn parameters_on_two_devices_are_one_step() -> Result<()> {
    let _alone = alone();
    let cpu = Device::open("cpu")?;
    for other in devices().into_iter().filter(|device| *device != cpu) {
        let train = |bad: Option<usize>, skips: bool| -> Result<(Vec<f32>, Vec<f32>, u64)> {
            manual_seed(3);
            let w1 = Tensor::randn([WORDS, 4], DType::F32, &cpu).realize()?.requires_grad();
            let w2 = Tensor::randn([4, CLASSES], DType::F32, &other).realize()?.requires_grad();
            let mut optimizer = Sgd::new(vec![w1.clone(), w2.clone()], 0.1)?.momentum(0.9)?;
            for step in 0..4 {
                if skips && step == 1 {
                    continue;
                }
                let label = if bad == Some(step) { 9 } else { 1 };
                let words = Tensor::new([1i64, 5, 2], &cpu);
                let labels = Tensor::new([0i64, label, 3], &other);
                let loss = w1.index_select(0, &words).to(&other).matmul(&w2).cross_entropy(&labels);
                let result = optimizer.minimize(&loss, &[]);
                let read = result.and_then(|()| loss.item::<f32>());
                assert_eq!(read.is_err(), bad == Some(step), "{other}: step {step}: {read:?}");
            }
            Ok((w1.to_vec::<f32>()?, w2.to_vec::<f32>()?, optimizer.n_steps()))
        };
        assert_eq!(train(Some(1), false)?, train(None, true)?, "{other}");
    }
    Ok(())
}

#[test]
fn a_lost_device_takes_its_memory_and_nothing_else() -> Result<()> {
    let _alone = alone();
    for (device, faults) in faulty_devices("lost") {
        let mut run = Run::new(device, Way::Minimize)?;
        for step in 0..BAD {
            run.step(step, Batch::Good)?;
        }
        let Rule::Adam(optimizer) = &run.rule else { unreachable!() };
        let saved = Checkpoint::of(&run.net, optimizer)?;
        let before = run.state()?;
        faults.fail(Operation::Launch, 0, Failure::Lost);
        let error = run.step(BAD, Batch::Good).expect_err("the device is lost").to_string();
        assert!(error.contains("device lost"), "{error}");
        faults.clear();
        // Opened again, with the checkpoint, it goes on from there.
        let again = Device::open(device.name())?;
        let mut resumed = Run::new(again, Way::Minimize)?;
        let Rule::Adam(optimizer) = &mut resumed.rule else { unreachable!() };
        saved.restore(&resumed.net, optimizer)?;
        assert_same(&resumed.state()?, &before, device.name());
        resumed.step(BAD + 1, Batch::Good)?;
    }
    Ok(())
}

#[test]
fn what_a_failed_evaluation_overwrote_is_never_read() -> Result<()> {
    let _alone = alone();
    for (device, faults) in faulty_devices("spoiled") {
        let (mut errors, mut values) = (0, 0);
        for n in 0..4 {
            // Nothing holds `x`, so that its memory may become the first result's.
            let x = Tensor::from_vec((0..64).map(|i| i as f32).collect::<Vec<_>>(), [8, 8], &device);
            let first = (&x * 0.5 + 1.0).exp().log();
            let second = first.matmul(&first).sum(());
            let third = (&first * &first).cumsum(0);
            drop(x);
            for _ in 0..8 {
                faults.fail(Operation::Launch, n, Failure::Refused);
            }
            let together = Tensor::realize_all(&[&first, &second, &third]);
            faults.clear();
            for (i, result) in [&first, &third].into_iter().enumerate() {
                match result.to_vec::<f32>() {
                    Ok(got) => {
                        values += 1;
                        let (mut sums, power) = ([0.0f32; 8], i as i32 + 1);
                        for (at, got) in got.iter().enumerate() {
                            let value = (at as f32 * 0.5 + 1.0).powi(power);
                            sums[at % 8] = if i == 0 { value } else { sums[at % 8] + value };
                            let wanted = sums[at % 8];
                            assert!((got - wanted).abs() <= 1e-4 * wanted.abs(), "{device} {n}: {got} and not {wanted} ({together:?})");
                        }
                    }
                    Err(_) => errors += 1,
                }
            }
        }
        println!("{device}: {values} results are right, {errors} say that they are lost");
    }
    Ok(())
}
