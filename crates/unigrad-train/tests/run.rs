//! What runs do besides training: metrics, ends, files, and what happens when a step fails.

mod support;

use std::{
    cell::Cell,
    rc::Rc,
    time::{Duration, Instant},
};
use support::{Folder, StopAt, With, bits, cpu, data, exists, fill, floats, labels, loader, net, points};
use unigrad_data::{Arrays, Batch, Loader};
use unigrad_nn::{
    Adam, AdamRule, AdamW, Archive, Better, CrossEntropyLoss, Layer, Linear, Module, MseLoss, Optimizer, Relu, Schedule, Sequential, Sgd,
    metrics::Accuracy,
};
use unigrad_tensor::{Device, ErrorKind, Tensor, manual_seed};
use unigrad_train::{
    Callback, Clip, Context, EarlyStopping, Ended, Error, KeepBest, Learner, LrRange, Optimize, Outcome, Result, StepSettings, Supervised,
    TensorBoard, Trainer, compare, descend, read_scalars,
};

fn plain(device: &Device) -> Sequential {
    manual_seed(1);
    Sequential::new().add(Linear::new(3, 16, device)).add(Relu).add(Linear::new(16, 3, device))
}

fn learner(device: &Device, lr: f64) -> Result<Supervised<Sequential, AdamW>> {
    let model = plain(device);
    let optimizer = AdamW::new(model.parameters(), lr)?;
    Ok(Supervised::new(model, CrossEntropyLoss::default(), optimizer))
}

#[test]
fn a_run_leaves_its_files_and_figures() -> Result<()> {
    let ((device, _alone), folder) = (cpu(), Folder::new("files"));
    let mut learner = learner(&device, 0.05)?;
    let trainer = Trainer::new(&device).epochs(12).metric(Accuracy::default).schedule(Schedule::cosine(120)).folder(&folder.0).json_lines();
    let trainer =
        trainer.callback(TensorBoard::new()).callback(KeepBest::top(3, "val_accuracy", Better::Higher)).setting("lr", 0.05).quiet();
    let run = trainer.title("points").fit(&mut learner, &loader(160, 16), Some(&Loader::new(data(60, 9), 16, 0)))?;
    assert_eq!((run.ended.clone(), run.n_steps, run.history.step_losses.len()), (Ended::Done, 120, 120));
    let accuracy = run.history.val_metrics.get("accuracy").and_then(|a| a.last()).copied().unwrap();
    assert!(accuracy > 0.9, "{accuracy}");
    let kept: Vec<String> = folder.names().into_iter().filter(|name| name.starts_with("top-")).collect();
    assert_eq!(kept.len(), 3, "{kept:?}");
    let best = run.history.get("val_accuracy").unwrap().iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let values: Vec<f64> =
        kept.iter().map(|name| Archive::load(folder.0.join(name)).unwrap().metadata["val_accuracy"].parse().unwrap()).collect();
    assert!(values.contains(&best), "{values:?} and {best}");
    for name in ["checkpoint.safetensors", "metrics.csv", "metrics.jsonl", "model.safetensors", "report.html"] {
        assert!(exists(&folder.0, name), "{name}");
    }
    assert_eq!(folder.read("metrics.csv").lines().count(), 13);
    assert!(folder.read("metrics.csv").starts_with("epoch,train_loss,train_accuracy,val_loss,val_accuracy,seconds\n"));
    let json: Vec<serde_json::Value> = folder.read("metrics.jsonl").lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(json.len() == 12 && (json[11]["val_accuracy"].as_f64().unwrap() - accuracy).abs() < 1e-12);
    let html = folder.read("report.html");
    assert!(["points", "Accuracy by epoch", "Learning rate by step", "0.05"].iter().all(|part| html.contains(part)));
    // What an event file says is what the history says.
    let events = folder.names().into_iter().find(|name| name.starts_with("events.out.tfevents.")).unwrap();
    let scalars = read_scalars(&folder.0.join(events))?;
    let of = |tag: &str| scalars.iter().filter(|(_, known, _)| known == tag).map(|(step, _, x)| (*step, *x)).collect::<Vec<_>>();
    assert_eq!(of("loss/step"), (1..).zip(run.history.step_losses.iter().copied()).collect::<Vec<_>>());
    assert_eq!(of("accuracy/val"), run.history.rows().iter().map(|r| (r.step, r.val("accuracy").unwrap() as f32)).collect::<Vec<_>>());
    // Two runs in one page.
    let other = Folder::new("files-<b>");
    Trainer::new(&device).epochs(2).folder(&other.0).setting("lr", 0.1).quiet().fit(&mut learner, &loader(32, 8), None)?;
    let page = compare(&[&folder.0, &other.0])?;
    assert!(page.contains("&lt;b&gt;") && page.contains("val_accuracy by epoch") && page.contains("0.1") && !page.contains("http"));
    assert!(compare::<&str>(&[]).is_err() && compare(&["nowhere"]).is_err());
    Ok(())
}

#[test]
fn figures_are_those_of_all_batches() -> Result<()> {
    // 10 items in batches of 4: means are over items, not over batches.
    let (device, _alone) = cpu();
    let mut learner = learner(&device, 0.0)?;
    let all = Loader::new(data(10, 5), 10, 0).in_order();
    let run = Trainer::new(&device).metric(Accuracy::default).quiet().fit(&mut learner, &loader(10, 4), Some(&all))?;
    let near = |name: &str| (run.history.last(name).unwrap() - run.history.last(&format!("val_{name}")).unwrap()).abs() < 1e-6;
    assert!(near("loss") && near("accuracy"), "{:?}", run.history);
    Ok(())
}

#[test]
fn accumulated_batches_are_a_large_batch() -> Result<()> {
    let (device, _alone) = cpu();
    for clip in [None, Some(Clip::Norm(0.1)), Some(Clip::Value(0.01))] {
        // 22 items: steps of 12 and of 10, whether in batches of 4 (the last of 2) or at once.
        let run = |batch: usize, accumulate: usize| {
            let mut learner = learner(&device, 0.05)?;
            let trainer = Trainer::new(&device).epochs(3).accumulate(accumulate).quiet();
            let trainer = if let Some(clip) = clip { trainer.clip(clip) } else { trainer };
            let run = trainer.metric(Accuracy::default).fit(&mut learner, &loader(22, batch).in_order(), None)?;
            let weights: Vec<f32> = learner.model.parameters().iter().flat_map(|p| p.to_vec::<f32>().unwrap()).collect();
            Ok::<_, Error>((run, weights))
        };
        let ((small, parts), (large, whole)) = (run(4, 3)?, run(12, 1)?);
        assert_eq!((small.n_steps, large.n_steps), (6, 6));
        let apart = parts.iter().zip(&whole).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
        assert!(apart < 2e-5, "{clip:?}: {apart}");
        assert!((small.history.last("loss").unwrap() - large.history.last("loss").unwrap()).abs() < 1e-5);
        assert_eq!(small.history.last("accuracy"), large.history.last("accuracy"));
    }
    Ok(())
}

#[test]
fn a_run_ends_when_it_is_told_to() -> Result<()> {
    let (device, _alone) = cpu();
    let mut model = learner(&device, 0.0)?;
    // Nothing is learned: the second epoch is no better, and the first had the best weights.
    let stopping = EarlyStopping::new("val_loss", Better::Lower).patience(2).min_delta(1e-9);
    let train = loader(16, 4);
    let run = Trainer::new(&device).epochs(50).callback(stopping).quiet().fit(&mut model, &train, Some(&train))?;
    assert_eq!(run.history.n_epochs(), 4);
    assert!(matches!(&run.ended, Ended::Stopped(why) if why.contains("val_loss")), "{:?}", run.ended);
    let error = Trainer::new(&device).callback(EarlyStopping::new("val_f1", Better::Higher)).quiet().fit(&mut model, &train, Some(&train));
    let error = error.unwrap_err().to_string();
    assert!(error.contains("`val_f1`") && error.contains("val_loss"), "{error}");

    // Validation after more epochs than one, and none at all.
    let rare = || Trainer::new(&device).epochs(3).validate_every(2).plateau("val_loss", unigrad_nn::Plateau::new(0.5)).quiet();
    let rare = || rare().callback(EarlyStopping::new("val_loss", Better::Lower));
    assert_eq!(rare().fit(&mut model, &train, Some(&train))?.history.val_epochs, [2, 3]);
    assert!(rare().fit(&mut model, &train, None).unwrap_err().to_string().contains("`val_loss`"));

    let begin = Instant::now();
    let run = Trainer::new(&device).epochs(1_000_000).time_limit(Duration::from_millis(30)).quiet().fit(&mut model, &train, None)?;
    assert!(run.ended == Ended::TimeLimit && begin.elapsed() >= Duration::from_millis(30), "{:?}", run.ended);
    let asked = Rc::new(Cell::new(0));
    let counted = Rc::clone(&asked);
    let stop = move || {
        counted.set(counted.get() + 1);
        counted.get() > 5
    };
    let run = Trainer::new(&device).epochs(9).stop_when(stop).quiet().fit(&mut model, &train, None)?;
    assert_eq!((run.ended, run.n_steps), (Ended::Interrupted, 6));
    let run = Trainer::new(&device).steps(7).validate_every(100).quiet().fit(&mut model, &train, Some(&train))?;
    assert_eq!((run.ended, run.n_steps, run.history.n_epochs(), &run.history.val_epochs[..]), (Ended::Done, 7, 2, &[2][..]));
    Ok(())
}

#[test]
fn the_best_weights_come_back() -> Result<()> {
    /// Spoils the weights after the second epoch.
    struct Spoil;
    impl Callback for Spoil {
        fn on_epoch_begin(&mut self, run: &mut Context<'_>) -> Result<()> {
            if run.epoch >= 2 {
                unigrad_tensor::no_grad(|| run.state.iter().try_for_each(|(_, tensor)| tensor.assign(&fill(tensor, 3.0))))?;
            }
            Ok(())
        }
    }
    let ((device, _alone), folder) = (cpu(), Folder::new("best"));
    let mut learner = learner(&device, 0.02)?;
    let stopping = EarlyStopping::new("val_loss", Better::Lower).patience(1).restore_best();
    let trainer = Trainer::new(&device).epochs(9).folder(&folder.0).callback(Spoil).callback(stopping).quiet();
    let train = loader(64, 8);
    let run = trainer.callback(KeepBest::new("val_loss", Better::Lower)).fit(&mut learner, &train, Some(&train))?;
    assert_eq!(run.history.n_epochs(), 4);
    let best = Archive::load(folder.0.join("best.safetensors"))?;
    assert_eq!((best.metadata["epoch"].as_str(), learner.model.to_archive()?.tensors), ("2", best.tensors.clone()));
    assert_eq!(Archive::load(folder.0.join("model.safetensors"))?.tensors, best.tensors);
    Ok(())
}

/// A step that fails leaves everything as it was, and the error says where and why.
#[test]
fn a_step_that_fails_changes_nothing() -> Result<()> {
    let (device, _alone) = cpu();
    type Change = fn(Batch) -> Batch;
    let cases: [(&str, Change, ErrorKind, &[&str]); 3] = [
        (
            "shape",
            |b| Batch { input: b.input.reshape([2, 6]), target: b.target.narrow(0, 0, 2), ..b },
            ErrorKind::Shape,
            &["layer `0` (Linear)", "[2, 6]", "[3, 8]"],
        ),
        ("label", |b| Batch { target: fill(&b.target, 3.0), ..b }, ErrorKind::Index, &["3"]),
        (
            "nan",
            |b| Batch { input: fill(&b.input, f64::NAN), ..b },
            ErrorKind::NotFinite,
            &["step 6", "the input (input)", "not-finite.safetensors"],
        ),
    ];
    for (name, change, kind, parts) in cases {
        for (settings, accumulate) in [("", 1), ("clip", 1), ("rare reads", 1), ("accumulated", 2)] {
            let folder = Folder::new(&format!("fails-{name}-{}", settings.replace(' ', "-")));
            let make = || {
                let model = net(&device);
                let optimizer = Adam::new(model.parameters(), 0.01)?;
                Ok::<_, Error>(Supervised::new(model, CrossEntropyLoss::default(), optimizer))
            };
            let trainer = |device: &Device| {
                let trainer = Trainer::new(device).epochs(2).accumulate(accumulate).seed(4).quiet();
                match settings {
                    "clip" => trainer.clip(Clip::Norm(1.0)),
                    "rare reads" => trainer.read_every(4),
                    _ => trainer,
                }
            };
            // Batches of 4, of which the epoch has 4; the sixth step fails, by its last batch.
            let train = loader(16 * accumulate, 4);
            let bad = With { inner: &train, at: (1, 2 * accumulate - 1), change, given: Cell::new(0) };
            let mut until = make()?;
            trainer(&device).callback(StopAt(5)).fit(&mut until, &train, None)?;
            let mut learner = make()?;
            let error = trainer(&device).folder(&folder.0).fit(&mut learner, &bad, None).unwrap_err();
            let place = format!("{name}, {settings}: {error}");
            assert!(bad.given.get() > 0 && error.kind() == kind, "{:?} {place}", error.kind());
            assert!(parts.iter().all(|part| error.to_string().contains(part)), "{place}");
            let differ: Vec<String> =
                bits(&learner.model).into_iter().zip(bits(&until.model)).filter(|(a, b)| a != b).map(|(a, _)| a.0).collect();
            assert!(differ.is_empty(), "{differ:?} {place}");
            assert_eq!(learner.optimizer.n_steps(), 5, "{place}");
            assert_eq!(Optimize::state_dict(&learner.optimizer)?, Optimize::state_dict(&until.optimizer)?, "{place}");
            if kind == ErrorKind::NotFinite {
                // With good data, the state before goes on to where an undisturbed run ends.
                let saved = unigrad_nn::Checkpoint::load(folder.0.join("not-finite.safetensors"))?;
                let (mut again, mut whole) = (make()?, make()?);
                trainer(&device).resume_from(saved).fit(&mut again, &train, None)?;
                trainer(&device).fit(&mut whole, &train, None)?;
                assert!(bits(&again.model) == bits(&whole.model), "{place}");
            }
            drop(until);
        }
    }
    Ok(())
}

#[test]
fn settings_that_make_no_sense_are_refused() -> Result<()> {
    let (device, _alone) = cpu();
    let mut learner = learner(&device, 0.1)?;
    let none = Loader::new(Arrays::new(floats(&[0, 3], &[]), labels(&[]))?, 4, 0);
    let error = Trainer::new(&device).quiet().fit(&mut learner, &none, None).unwrap_err().to_string();
    assert!(error.contains("no batches"), "{error}");
    let error = Trainer::new(&device).resume().quiet().fit(&mut learner, &loader(4, 4), None).unwrap_err().to_string();
    assert!(error.contains("without a folder"), "{error}");
    let error = Trainer::new(&device).callback(TensorBoard::new()).quiet().fit(&mut learner, &loader(4, 4), None).unwrap_err().to_string();
    assert!(error.contains("folder"), "{error}");
    for range in [
        LrRange { from: 0.0, ..LrRange::default() },
        LrRange { to: 1e-9, ..LrRange::default() },
        LrRange { steps: 1, ..LrRange::default() },
    ] {
        assert!(Trainer::new(&device).find_lr(&mut learner, &loader(8, 4), range).is_err());
    }
    let mut ready = Trainer::new(&device).epochs(0).quiet();
    ready = ready.callback(unigrad_train::Ema::new(1.5));
    assert!(ready.fit(&mut learner, &loader(8, 4), None).unwrap_err().to_string().contains("decay of 1.5"));
    let folder = Folder::new("two");
    let _lock = unigrad_nn::files::lock_folder(&folder.0)?;
    let error = Trainer::new(&device).folder(&folder.0).quiet().fit(&mut learner, &loader(8, 4), None).unwrap_err();
    assert!(matches!(error, Error::Busy { .. }), "{error}");
    Ok(())
}

#[test]
fn steps_are_profiled() -> Result<()> {
    let ((device, _alone), folder) = (cpu(), Folder::new("profile"));
    let run =
        Trainer::new(&device).epochs(3).profile(4).folder(&folder.0).quiet().fit(&mut learner(&device, 0.1)?, &loader(32, 8), None)?;
    let profile = run.profile.unwrap();
    assert_eq!(profile.n_steps, 4);
    assert!(!profile.profile.events.is_empty() && profile.busy() > 0.0);
    assert!(profile.verdict().contains("busy"), "{}", profile.verdict());
    assert!(
        folder.read("kernels.txt").starts_with("4 steps. ")
            && folder.read("profile.html").contains("<html")
            && folder.read("trace.json").starts_with('{')
    );
    // Fewer steps than it asks for: what there was.
    let run = Trainer::new(&device).epochs(1).profile(100).quiet().fit(&mut learner(&device, 0.1)?, &loader(32, 8), None)?;
    assert_eq!(run.profile.map(|profile| profile.n_steps), Some(1));
    Ok(())
}

/// Two optimizers, two losses: a generator that learns a mean, and what tells its numbers from real ones.
struct Gan {
    generator: Linear,
    critic: Sequential,
    of_generator: Optimizer<AdamRule>,
    of_critic: Optimizer<AdamRule>,
}

impl Gan {
    fn new(device: &Device) -> Result<Gan> {
        manual_seed(2);
        let generator = Linear::new(2, 1, device);
        let critic = Sequential::new().add(Linear::new(1, 16, device)).add(Relu).add(Linear::new(16, 1, device));
        let (of_generator, of_critic) = (Adam::new(generator.parameters(), 0.02)?, Adam::new(critic.parameters(), 0.02)?);
        Ok(Gan { generator, critic, of_generator, of_critic })
    }
}

impl Learner for Gan {
    type Batch = Batch;

    fn modules(&self) -> Vec<(&str, &dyn Module)> {
        vec![("generator", &self.generator), ("critic", &self.critic)]
    }

    fn set_training(&mut self, training: bool) {
        self.generator.train(training);
        self.critic.train(training);
    }

    fn optimizers(&self) -> Vec<(&str, &dyn Optimize)> {
        vec![("generator", &self.of_generator), ("critic", &self.of_critic)]
    }

    fn optimizers_mut(&mut self) -> Vec<(&str, &mut dyn Optimize)> {
        vec![("generator", &mut self.of_generator), ("critic", &mut self.of_critic)]
    }

    fn train_step(&mut self, batches: &[Batch], settings: &StepSettings) -> Result<Outcome> {
        let (generator, critic) = (&self.generator, &self.critic);
        let noise = |batch: &Batch| Tensor::randn([batch.input.shape()[0], 2], batch.input.dtype(), &batch.input.device()?).check();
        let judged = descend(&mut self.of_critic, &[], batches, settings, |batch| {
            let (real, made) = (critic.forward(&batch.input), critic.forward(&generator.forward(&noise(batch)?).detach()));
            let loss = real.bce_with_logits(&real.ones_like()) + made.bce_with_logits(&made.zeros_like());
            Ok(Outcome::new(loss, batch.indices.len()))
        })?;
        let made = descend(&mut self.of_generator, &[], batches, settings, |batch| {
            let judged = critic.forward(&generator.forward(&noise(batch)?));
            Ok(Outcome::new(judged.bce_with_logits(&judged.ones_like()), batch.indices.len()))
        })?;
        let loss = judged.loss.clone();
        Ok(made.mean("critic", &loss))
    }

    fn evaluate(&mut self, batch: &Batch) -> Result<Outcome> {
        let made = self.generator.forward(&Tensor::zeros([1, 2], batch.input.dtype(), &batch.input.device()?));
        Ok(Outcome::new((made.mean(()) - batch.input.mean(())).abs(), batch.indices.len()))
    }
}

#[test]
fn two_optimizers_learn_in_one_step() -> Result<()> {
    let (device, _alone) = cpu();
    let (numbers, _) = points(64, 8);
    let numbers: Vec<f32> = numbers[..128].iter().map(|x| 2.0 + 0.5 * x).collect();
    let train = || Ok::<_, Error>(Loader::new(Arrays::new(floats(&[128, 1], &numbers), floats(&[128, 1], &numbers))?, 16, 1));
    let mut gan = Gan::new(&device)?;
    let run = Trainer::new(&device).epochs(25).seed(1).quiet().fit(&mut gan, &train()?, Some(&train()?))?;
    let apart = run.history.get("val_loss").unwrap();
    assert!(apart[24] < 0.5 && apart[24] < apart[0], "{apart:?}");
    assert_eq!(run.history.get("critic").unwrap().len(), 25);
    // Ended and continued, it is the same run.
    let folder = Folder::new("gan");
    let mut parts = Gan::new(&device)?;
    Trainer::new(&device).epochs(25).seed(1).folder(&folder.0).callback(StopAt(77)).quiet().fit(&mut parts, &train()?, None)?;
    let mut parts = Gan::new(&device)?;
    let again = Trainer::new(&device).epochs(25).folder(&folder.0).resume().quiet().fit(&mut parts, &train()?, None)?;
    assert!(bits(&parts.generator) == bits(&gan.generator) && bits(&parts.critic) == bits(&gan.critic));
    assert_eq!(again.history.step_losses, run.history.step_losses);
    assert!(exists(&folder.0, "generator.safetensors") && exists(&folder.0, "critic.safetensors"));
    Ok(())
}

#[test]
fn regression_has_no_classes() -> Result<()> {
    let (device, _alone) = cpu();
    manual_seed(1);
    let model = Linear::new(3, 1, &device);
    let optimizer = Sgd::new(model.parameters(), 0.1)?;
    let mut learner = Supervised::new(model, MseLoss::default(), optimizer);
    let (points, _) = points(64, 2);
    let sums: Vec<f32> = points.chunks(3).map(|p| p[0] - 2.0 * p[2] + 1.0).collect();
    let train = Loader::new(Arrays::new(floats(&[64, 3], &points), floats(&[64, 1], &sums))?, 8, 1);
    let run = Trainer::new(&device).epochs(20).metric(unigrad_nn::metrics::R2::default).quiet().fit(&mut learner, &train, Some(&train))?;
    assert!(run.history.last("val_r2").unwrap() > 0.999, "{:?}", run.history.get("val_r2"));
    Ok(())
}
