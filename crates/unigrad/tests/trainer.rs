//! The trainer on every device: losses as on the CPU, and failures that are found later than the step they belong to.

use unigrad::{
    data::{Arrays, Batch, Loader, Source},
    device::{
        self,
        testing::{Failure, Faults, FaultyDriver, Operation},
    },
    nn::{Adam, AdamRule, BatchNorm, CrossEntropyLoss, HostTensor, Linear, Optimizer, Relu, Sequential, metrics::Accuracy, random::Rng},
    prelude::*,
    tensor::{ErrorKind, eval},
    train::{Ended, Optimize, Run, Supervised, Trainer},
};
use unigrad_testing::devices;

/// The process's random numbers are one test's at a time.
fn alone() -> std::sync::MutexGuard<'static, ()> {
    static ALONE: std::sync::Mutex<()> = std::sync::Mutex::new(());
    ALONE.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

fn data() -> Result<Loader<Arrays>> {
    let mut rng = Rng::new(1, 1);
    let points: Vec<f32> = (0..3 * 40).map(|_| rng.normal() as f32).collect();
    let classes: Vec<i64> = points.chunks(3).map(|p| i64::from(p[0] > p[1])).collect();
    let inputs = HostTensor { dtype: DType::F32, shape: vec![40, 3], bytes: points.iter().flat_map(|x| x.to_le_bytes()).collect() };
    let targets = HostTensor { dtype: DType::I64, shape: vec![40], bytes: classes.iter().flat_map(|x| x.to_le_bytes()).collect() };
    Ok(Loader::new(Arrays::new(inputs, targets)?, 4, 1))
}

type Net = Supervised<Sequential, Optimizer<AdamRule>>;

fn learner(device: &Device) -> Result<Net> {
    manual_seed(1);
    let model = Sequential::new().add(Linear::new(3, 8, device)).add(BatchNorm::new(8, device)).add(Relu).add(Linear::new(8, 2, device));
    let optimizer = Adam::new(model.parameters(), 0.01)?;
    Ok(Supervised::new(model, CrossEntropyLoss::default(), optimizer))
}

fn bits(learner: &Net) -> Result<Vec<Vec<u8>>> {
    learner.model.state_dict().into_iter().map(|(_, tensor)| tensor.to_bytes()).collect()
}

/// One whose batch at a place is another.
struct With(Loader<Arrays>, usize, fn(Batch) -> Batch);

impl Source for With {
    type Batch = Batch;

    fn n_items(&self) -> usize {
        self.0.n_items()
    }

    fn n_batches(&self) -> usize {
        self.0.n_batches()
    }

    fn batches(&self, epoch: u64, first: usize, device: &Device) -> Result<Box<dyn Iterator<Item = Result<Batch>> + '_>> {
        let batches = self.0.batches(epoch, first, device)?.enumerate();
        Ok(Box::new(batches.map(move |(at, batch)| if first + at == self.1 { batch.map(self.2) } else { batch })))
    }
}

#[test]
fn losses_are_those_of_the_cpu() -> Result<()> {
    let _alone = alone();
    let run = |device: &Device| {
        let train = data()?;
        let trainer = Trainer::new(device).epochs(2).metric(Accuracy::default).quiet();
        trainer.fit(&mut learner(device)?, &train, Some(&train)).map(|run| run.history)
    };
    let wanted = run(&Device::open("cpu")?)?;
    for device in devices() {
        let got = run(&device)?;
        let apart = got.step_losses.iter().zip(&wanted.step_losses).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
        assert!(got.step_losses.len() == wanted.step_losses.len() && apart < 1e-4, "{device}: {apart}");
        // Rounding may decide an answer or two of the 40.
        let accuracies = got.val_metrics["accuracy"].iter().zip(&wanted.val_metrics["accuracy"]);
        let apart = accuracies.map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        assert!(apart < 0.06, "{device}: {apart}");
    }
    Ok(())
}

#[test]
fn a_failure_that_is_found_later_has_changed_nothing_since() -> Result<()> {
    let _alone = alone();
    type Change = fn(Batch) -> Batch;
    let changes: [(ErrorKind, Change); 2] = [
        (ErrorKind::Index, |batch| Batch { target: batch.target.full_like(9.0), ..batch }),
        (ErrorKind::NotFinite, |batch| Batch { input: batch.input.full_like(f64::NAN), ..batch }),
    ];
    for device in devices() {
        for (kind, change) in changes {
            let mut before = learner(&device)?;
            Trainer::new(&device).steps(5).quiet().fit(&mut before, &data()?, None)?;
            // The sixth step fails; losses are read after the eighth, or whenever the device wants.
            for trainer in [Trainer::new(&device).read_every(8), Trainer::new(&device)] {
                let mut learner = learner(&device)?;
                let error = trainer.quiet().fit(&mut learner, &With(data()?, 5, change), None).unwrap_err();
                assert_eq!(error.kind(), kind, "{device}: {error}");
                assert!(kind != ErrorKind::NotFinite || error.to_string().contains("step 6"), "{device}: {error}");
                assert!(bits(&learner)? == bits(&before)?, "{device}: {error}");
                assert_eq!(learner.optimizer.n_steps(), 5, "{device}: {error}");
                assert!(Optimize::state_dict(&learner.optimizer)? == Optimize::state_dict(&before.optimizer)?, "{device}: {error}");
            }
        }
    }
    Ok(())
}

/// What ends a program may end its compiler too: then the run ends as it was told to, with what it had learned before.
#[test]
fn a_compilation_that_the_interruption_ended_is_no_failure() -> Result<()> {
    let _alone = alone();
    let faults = Faults::default();
    device::register(FaultyDriver::new("unfinished", unigrad_cpu::CpuDriver, faults.clone()));
    let device = Device::open("unfinished:0")?;
    let folder = std::env::temp_dir().join(format!("unigrad-unfinished-{}", std::process::id()));
    let trainer = || Trainer::new(&device).epochs(2).seed(3).metric(Accuracy::default).quiet();
    let mut whole = learner(&device)?;
    let whole_run = trainer().fit(&mut whole, &data()?, Some(&data()?))?;
    let figures = |run: &Run| (run.history.step_losses.clone(), run.history.train_metrics.clone(), run.history.val_metrics.clone());
    for read_every in [1, 4] {
        let mut n_interrupted = 0;
        for n in 0.. {
            let mut part = learner(&device)?;
            let _ = std::fs::remove_dir_all(&folder);
            eval::clear_plans();
            device.clear_programs();
            faults.fail(Operation::Compile, n, Failure::Refused);
            let heard = faults.clone();
            let run = trainer().read_every(read_every).folder(&folder).stop_when(move || heard.is_empty());
            let run = run.fit(&mut part, &data()?, Some(&data()?))?;
            if !faults.is_empty() {
                faults.clear();
                break;
            }
            assert_eq!(run.ended, Ended::Interrupted, "compilation {n}");
            n_interrupted += 1;
            let mut rest = learner(&device)?;
            let run = trainer().read_every(read_every).folder(&folder).resume().fit(&mut rest, &data()?, Some(&data()?))?;
            assert_eq!(run.ended, Ended::Done, "compilation {n}");
            assert!(bits(&rest)? == bits(&whole)?, "compilation {n}");
            assert_eq!(figures(&run), figures(&whole_run), "compilation {n}");
        }
        // Of training and of validation.
        assert!(n_interrupted >= 4, "{n_interrupted}");
        // Without an interruption it is one.
        let mut learner = learner(&device)?;
        eval::clear_plans();
        device.clear_programs();
        faults.fail(Operation::Compile, 2, Failure::Refused);
        let failed = trainer().read_every(read_every).fit(&mut learner, &data()?, None);
        assert_eq!(failed.map(drop).map_err(|error| error.kind()), Err(ErrorKind::Compile));
    }
    let _ = std::fs::remove_dir_all(&folder);
    Ok(())
}
