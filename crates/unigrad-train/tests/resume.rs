//! A run that is ended anywhere and continued is the run that was not ended, bit for bit.

mod support;

use std::{cell::RefCell, rc::Rc};
use support::{Folder, StopAt, bits, cpu, data, loader, net};
use unigrad_data::{Batch, Loader, Source};
use unigrad_nn::{
    AdamW, Adamax, Adan, Asgd, Better, CrossEntropyLoss, Lion, Module, NAdam, Plateau, RAdam, RmsProp, Rprop, Schedule, Sequential, Sgd,
    metrics::{Accuracy, LogLoss, TopK},
};
use unigrad_tensor::{Device, Tensor};
use unigrad_train::{
    Clip, Console, EarlyStopping, Ema, Ended, Error, KeepBest, Optimize, Precision, Result, Run, Supervised, TensorBoard, Trainer,
};

type Optimizer = Box<dyn Optimize>;
type MakeOptimizer = fn(Vec<Tensor>) -> Result<Optimizer>;
type Settings = fn(Trainer) -> Trainer;
type MakeSource = fn() -> Loader<unigrad_data::Arrays>;

/// Every optimizer, schedule, wrapper and kind of loader stands in it at least twice.
const TABLE: [(&str, MakeOptimizer, Settings, MakeSource); 14] = [
    ("sgd", |p| Ok(Box::new(Sgd::new(p, 0.1)?.momentum(0.9)?)), |t| t.schedule(Schedule::cosine(12)), shuffled),
    ("sgd, nesterov", |p| Ok(Box::new(Sgd::new(p, 0.1)?.momentum(0.9)?.nesterov(true))), |t| t.clip(Clip::Norm(0.5)), in_order),
    ("adamw", |p| Ok(Box::new(AdamW::new(p, 0.01)?)), |t| t.schedule(Schedule::one_cycle(12)).callback(Ema::new(0.9)), whole_batches),
    ("adamw, accumulated", |p| Ok(Box::new(AdamW::new(p, 0.01)?)), |t| t.accumulate(2).callback(Ema::new(0.5)), shuffled),
    ("rmsprop", |p| Ok(Box::new(RmsProp::new(p, 0.01)?)), |t| t.plateau("val_loss", plateau()), in_order),
    ("nadam", |p| Ok(Box::new(NAdam::new(p, 0.01)?)), |t| t.plateau("loss", plateau()).schedule(Schedule::linear(12)), whole_batches),
    ("radam", |p| Ok(Box::new(RAdam::new(p, 0.01)?)), |t| t.clip(Clip::Value(0.01)), shuffled),
    ("adamax", |p| Ok(Box::new(Adamax::new(p, 0.01)?)), |t| t.read_every(3).schedule(Schedule::one_cycle(12)), shuffled),
    ("adan", |p| Ok(Box::new(Adan::new(p, 0.01)?)), |t| t.read_every(2), in_order),
    ("asgd", |p| Ok(Box::new(Asgd::new(p, 0.1)?)), |t| t.schedule(Schedule::cosine(12)).accumulate(3).clip(Clip::Norm(1.0)), in_order),
    ("lion", |p| Ok(Box::new(Lion::new(p, 0.001)?)), |t| t.schedule(Schedule::linear(12)).callback(stopping()), shuffled),
    ("adamw, bf16", |p| Ok(Box::new(AdamW::new(p, 0.01)?)), |t| t.precision(Precision::Bf16).clip(Clip::Norm(1.0)), shuffled),
    (
        "sgd, f16",
        |p| Ok(Box::new(Sgd::new(p, 0.1)?.momentum(0.9)?)),
        |t| t.precision(Precision::F16).schedule(Schedule::cosine(12)),
        in_order,
    ),
    ("rprop", |p| Ok(Box::new(Rprop::new(p, 0.01)?)), |t| t.callback(stopping()).callback(Ema::new(0.9)), whole_batches),
];

fn shuffled() -> Loader<unigrad_data::Arrays> {
    loader(22, 4)
}

fn in_order() -> Loader<unigrad_data::Arrays> {
    loader(22, 4).in_order()
}

fn whole_batches() -> Loader<unigrad_data::Arrays> {
    loader(22, 4).drop_last()
}

fn plateau() -> Plateau {
    let mut plateau = Plateau::new(0.5);
    (plateau.patience, plateau.threshold) = (0, 0.5);
    plateau
}

fn stopping() -> EarlyStopping {
    EarlyStopping::new("val_loss", Better::Lower).patience(9).restore_best()
}

fn learner(device: &Device, make: MakeOptimizer) -> Result<Supervised<Sequential, Optimizer>> {
    let model = net(device);
    let optimizer = make(model.parameters())?;
    Ok(Supervised::new(model, CrossEntropyLoss::default(), optimizer))
}

fn trainer(device: &Device, settings: Settings) -> Trainer {
    settings(Trainer::new(device).epochs(2).seed(11).metric(Accuracy::default).metric(|| TopK::new(2)).metric(LogLoss::default).quiet())
}

/// Figures without the seconds.
fn figures(run: &Run) -> String {
    format!("{:?}", unigrad_train::History { seconds: Vec::new(), ..run.history.clone() })
}

/// The whole run, and one that ends after each step and is continued by another learner, from other weights.
fn check(device: &Device, make: MakeOptimizer, settings: Settings, source: MakeSource, name: &str) -> Result<usize> {
    let (train, test) = (source(), Loader::new(data(9, 6), 4, 0).in_order());
    let mut whole = learner(device, make)?;
    let undisturbed = trainer(device, settings).fit(&mut whole, &train, Some(&test))?;
    let wanted = bits(&whole.model);
    let mut n_kills = 0;
    for at in 1..undisturbed.n_steps {
        let folder = Folder::new(&format!("resume-{}-{at}", name.replace([' ', ','], "-")));
        let run = |stop: u64| -> Result<(Run, Supervised<Sequential, Optimizer>)> {
            let mut learner = learner(device, make)?;
            let trainer = trainer(device, settings).folder(&folder.0).resume_if_there().callback(StopAt(stop)).report(false);
            let run = trainer.fit(&mut learner, &train, Some(&test))?;
            Ok((run, learner))
        };
        let (first, _) = run(at)?;
        assert!(matches!(first.ended, Ended::Stopped(_)) && first.n_steps == at, "{name}: {:?}", first.ended);
        unigrad_tensor::manual_seed(at); // What happens between two processes.
        let (second, learner) = run(0)?;
        n_kills += 1;
        assert_eq!(figures(&second), figures(&undisturbed), "{name}, ended after step {at}");
        assert!(bits(&learner.model) == wanted, "{name}: ended after step {at}, the weights differ");
    }
    Ok(n_kills)
}

#[test]
fn ended_after_any_step_and_continued() -> Result<()> {
    let (device, _alone) = cpu();
    let mut n_kills = 0;
    for (name, make, settings, source) in TABLE {
        n_kills += check(&device, make, settings, source, name)?;
    }
    println!("{n_kills} runs were ended and continued");
    assert!(n_kills >= 80, "{n_kills}");
    Ok(())
}

#[test]
fn the_same_seed_gives_the_same_losses() -> Result<()> {
    let (device, _alone) = cpu();
    let run = |seed: u64| {
        let mut learner = learner(&device, TABLE[2].1)?;
        let run = trainer(&device, TABLE[2].2).seed(seed).fit(&mut learner, &shuffled(), None)?;
        Ok::<_, Error>(run.history.step_losses.iter().map(|loss| loss.to_bits()).collect::<Vec<u32>>())
    };
    assert_eq!(run(1)?, run(1)?);
    assert_ne!(run(1)?, run(2)?, "dropout draws other numbers");
    Ok(())
}

/// Ends at any moment, as a kill does: only what was saved remains. Checkpoints after every second step; the end comes by an error of a callback.
#[test]
fn killed_between_checkpoints() -> Result<()> {
    struct Kill(Rc<RefCell<u64>>);
    impl unigrad_train::Callback for Kill {
        fn on_step_end(&mut self, _: &mut unigrad_train::Context<'_>) -> Result<()> {
            let mut left = self.0.borrow_mut();
            *left = left.saturating_sub(1);
            if *left == 0 { Err(Error::argument("killed", "by the test")) } else { Ok(()) }
        }
    }
    let (device, _alone) = cpu();
    let settings: Settings = |t| t.checkpoint_every(2).callback(Ema::new(0.9));
    let mut whole = learner(&device, TABLE[2].1)?;
    trainer(&device, settings).fit(&mut whole, &shuffled(), None)?;
    let folder = Folder::new("killed");
    let mut n_kills = 0;
    for life in [3u64, 1, 4, 2, 5, 3, 1, 6, 100] {
        let mut learner = learner(&device, TABLE[2].1)?;
        let kill = Kill(Rc::new(RefCell::new(life)));
        match trainer(&device, settings).folder(&folder.0).resume_if_there().callback(kill).fit(&mut learner, &shuffled(), None) {
            Ok(run) => {
                assert!(run.ended == Ended::Done && n_kills >= 4 && bits(&learner.model) == bits(&whole.model), "after {n_kills} kills");
                return Ok(());
            }
            Err(error) => {
                assert!(error.to_string().contains("killed"), "{error}");
                n_kills += 1;
            }
        }
    }
    panic!("it was never done");
}

#[test]
fn a_run_that_is_done_stays_done() -> Result<()> {
    let ((device, _alone), folder) = (cpu(), Folder::new("done"));
    let fit = |trainer: Trainer, train: &dyn Source<Batch = Batch>| {
        let mut learner = learner(&device, TABLE[0].1)?;
        let run = trainer.folder(&folder.0).console(Console::Silent).fit(&mut learner, train, None)?;
        Ok::<_, Error>((run, bits(&learner.model)))
    };
    let (first, weights) = fit(Trainer::new(&device).steps(5), &shuffled())?;
    let (again, same) = fit(Trainer::new(&device).steps(5).resume(), &shuffled())?;
    assert_eq!((first.history, first.n_steps, weights), (again.history, again.n_steps, same));
    // More epochs go on; another length of an epoch does not.
    let folder = Folder::new("more");
    let fit = |trainer: Trainer, train: &dyn Source<Batch = Batch>| {
        let mut learner = learner(&device, TABLE[0].1)?;
        trainer.folder(&folder.0).quiet().fit(&mut learner, train, None)
    };
    fit(Trainer::new(&device).epochs(1), &shuffled())?;
    assert_eq!(fit(Trainer::new(&device).epochs(2).resume(), &shuffled())?.n_steps, 12);
    let error = fit(Trainer::new(&device).epochs(3).resume(), &loader(22, 5)).unwrap_err().to_string();
    assert!(error.contains("checkpoint.safetensors") && error.contains("contradict"), "{error}");
    let nowhere = Folder::new("nowhere");
    let mut learner = learner(&device, TABLE[0].1)?;
    let error = Trainer::new(&device).folder(&nowhere.0).resume().fit(&mut learner, &shuffled(), None).unwrap_err().to_string();
    assert!(error.contains("no checkpoint to resume from") && !nowhere.0.exists(), "{error}");
    Ok(())
}

/// Damaged values of a checkpoint are refused, and nothing has changed.
#[test]
fn a_checkpoint_that_contradicts_itself_is_refused() -> Result<()> {
    let ((device, _alone), folder) = (cpu(), Folder::new("contradiction"));
    let settings: Settings = |t| t.callback(Ema::new(0.9)).plateau("loss", plateau()).callback(KeepBest::new("loss", Better::Lower));
    let stopped = trainer(&device, settings).folder(&folder.0).callback(StopAt(3)).callback(TensorBoard::new());
    stopped.fit(&mut learner(&device, TABLE[2].1)?, &shuffled(), None)?;
    let path = folder.0.join(unigrad_train::CHECKPOINT);
    let whole = unigrad_nn::Archive::load(&path)?;
    let keys: Vec<String> = whole.metadata.keys().filter(|key| !key.starts_with("random.")).cloned().collect();
    assert!(keys.iter().any(|key| key == "plateau") && keys.iter().any(|key| key == "callback.ema.decay"), "{keys:?}");
    let mut n_refused = 0;
    for key in keys {
        // What no run has: none of these is a count, a sum or a state that fits.
        for value in [None, Some("x"), Some("-1"), Some("18446744073709551615")] {
            let mut changed = whole.clone();
            changed.metadata.remove(&key);
            changed.metadata.extend(value.map(|value| (key.clone(), value.to_owned())));
            changed.save(&path)?;
            let mut learner = learner(&device, TABLE[2].1)?;
            let before = bits(&learner.model);
            let again = trainer(&device, settings).folder(&folder.0).resume().epochs(2);
            match again.fit(&mut learner, &shuffled(), None) {
                Err(error) => {
                    assert!(error.to_string().contains("help: ") && bits(&learner.model) == before, "{key} {value:?}: {error}");
                    n_refused += 1;
                }
                // Sums and seconds may be any number, and a callback may be new to a run.
                Ok(_) => assert!(
                    key.contains("sum")
                        || key.contains("seconds")
                        || key.contains("items")
                        || key.ends_with(".lr")
                        || key.starts_with("callback."),
                    "{key} {value:?}"
                ),
            }
        }
    }
    assert!(n_refused >= 30, "{n_refused}");
    Ok(())
}
