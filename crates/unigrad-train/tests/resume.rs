//! A run that is ended after any step and continued has the history of the run that was not ended; what a checkpoint may not say. That the weights are those,
//! to the last bit, of every kind of optimizer, wrapper, schedule and source, is shown by `kills`.

mod support;

use support::{Folder, StopAt, bits, cpu, data, loader, net};
use unigrad_data::{Batch, Loader, Source};
use unigrad_nn::{
    AdamW, Better, CrossEntropyLoss, Module, Plateau, Schedule, Sequential, Sgd,
    metrics::{Accuracy, LogLoss, TopK},
};
use unigrad_tensor::{DelayedScaling, Device, Fp8Recipe, Tensor};
use unigrad_train::{
    Console, EarlyStopping, Ema, Ended, Error, KeepBest, Optimize, Precision, Result, Run, Supervised, TensorBoard, Trainer,
};

type Optimizer = Box<dyn Optimize>;
type MakeOptimizer = fn(Vec<Tensor>) -> Result<Optimizer>;
type Settings = fn(Trainer) -> Trainer;
type MakeSource = fn() -> Loader<unigrad_data::Arrays>;

/// What adds most to a history: a schedule, averages, a plateau, accumulated batches, a loss scale, scales of 8-bit floats. All kinds are in the table of `kills`.
const TABLE: [(&str, MakeOptimizer, Settings, MakeSource); 5] = [
    ("sgd", |p| Ok(Box::new(Sgd::new(p, 0.1)?.momentum(0.9)?)), |t| t.schedule(Schedule::cosine(12)), shuffled),
    ("adamw", |p| Ok(Box::new(AdamW::new(p, 0.01)?)), |t| t.plateau("val_loss", plateau()).callback(Ema::new(0.9)), whole_batches),
    (
        "sgd, f16",
        |p| Ok(Box::new(Sgd::new(p, 0.1)?.momentum(0.9)?)),
        |t| t.precision(Precision::F16).accumulate(2).callback(stopping()),
        shuffled,
    ),
    ("sgd, fp8", |p| Ok(Box::new(Sgd::new(p, 0.1)?.momentum(0.9)?)), |t| t.fp8(delayed()).gradient_checkpointing(true), shuffled),
    ("adamw, fp8", |p| Ok(Box::new(AdamW::new(p, 0.01)?)), |t| t.fp8(delayed()).accumulate(2), shuffled),
];

/// Histories that outlast a step, and draws in the backward pass.
fn delayed() -> Fp8Recipe {
    Fp8Recipe { stochastic_rounding: true, ..Fp8Recipe::delayed(&DelayedScaling::default()) }
}

fn shuffled() -> Loader<unigrad_data::Arrays> {
    loader(22, 4)
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
    assert!(n_kills >= 20, "{n_kills}");
    Ok(())
}

#[test]
fn the_same_seed_gives_the_same_losses() -> Result<()> {
    let (device, _alone) = cpu();
    let run = |seed: u64| {
        let mut learner = learner(&device, TABLE[0].1)?;
        let run = trainer(&device, TABLE[0].2).seed(seed).fit(&mut learner, &shuffled(), None)?;
        Ok::<_, Error>(run.history.step_losses.iter().map(|loss| loss.to_bits()).collect::<Vec<u32>>())
    };
    assert_eq!(run(1)?, run(1)?);
    assert_ne!(run(1)?, run(2)?, "dropout draws other numbers");
    Ok(())
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
