//! `unigrad train digits` and `unigrad train mnist`: classifiers of small grey images.

use super::{
    FINGERPRINT, Resumed, Settings, check_data, contradiction, device, end_if_interrupted, fingerprint, folder, history::History,
    interrupted, interrupted_after, limits, machine, output::Output, resumed, save_settings, setting, source,
};
use crate::{
    Failure,
    args::{Common, Digits, ImageModel, Mnist},
    report::{EpochRow, Mistake, Report},
};
use clap::ValueEnum;
use serde_json::json;
use std::{sync::Arc, time::Instant};
use unigrad::{
    data::{self, Batches, ImageBatch, ImageSplit, Images},
    nn::{
        AdamW, Checkpoint, Confusion, NotFinite, Schedule, first_not_finite,
        models::{Cnn, Mlp},
    },
    prelude::*,
};

/// What differs between data sets, unless the user says otherwise.
struct Defaults {
    epochs: u32,
    batch: u32,
    lr: f64,
    /// Pixels by which training images are moved at most.
    jitter: usize,
    /// Zeros around images in convolutions.
    padding: usize,
    dropout: f64,
}

pub(crate) fn digits(options: &Digits) -> Result<(), Failure> {
    let defaults = Defaults { epochs: 30, batch: 32, lr: 2e-3, jitter: 1, padding: 1, dropout: 0.25 };
    run(data::digits()?, "the digits that ship", options.model, options.epochs, &options.common, defaults)
}

pub(crate) fn mnist(options: &Mnist) -> Result<(), Failure> {
    let defaults = Defaults { epochs: 6, batch: 64, lr: 2e-3, jitter: 1, padding: 0, dropout: 0.25 };
    run(data::mnist(&options.data)?, &options.data.display().to_string(), options.model, options.epochs, &options.common, defaults)
}

/// A model's name, as the command line and checkpoints have it.
#[derive(Clone, PartialEq)]
struct ModelName(ImageModel);

impl std::str::FromStr for ModelName {
    type Err = String;
    fn from_str(text: &str) -> Result<ModelName, String> {
        ImageModel::from_str(text, true).map(ModelName)
    }
}

impl std::fmt::Display for ModelName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self.0 {
            ImageModel::Cnn => "cnn",
            ImageModel::Mlp => "mlp",
        })
    }
}

/// Where an interrupted run stands.
#[derive(Default)]
struct Position {
    epoch: usize,
    batch: usize,
    loss_sum: f64,
    n_correct: u64,
    n_seen: u64,
    seconds: f64,
}

impl Position {
    fn save(&self, checkpoint: &mut Checkpoint) {
        checkpoint.set("position.epoch", self.epoch);
        checkpoint.set("position.batch", self.batch);
        checkpoint.set("position.loss_sum", self.loss_sum);
        checkpoint.set("position.correct", self.n_correct);
        checkpoint.set("position.seen", self.n_seen);
        checkpoint.set("position.seconds", self.seconds);
    }

    fn load(checkpoint: &Checkpoint) -> Result<Position, Failure> {
        Ok(Position {
            epoch: checkpoint.get("position.epoch")?,
            batch: checkpoint.get("position.batch")?,
            loss_sum: checkpoint.get("position.loss_sum")?,
            n_correct: checkpoint.get("position.correct")?,
            n_seen: checkpoint.get("position.seen")?,
            seconds: checkpoint.get("position.seconds")?,
        })
    }

    /// Where a run that is continued stands, and its figures, if they agree.
    fn restore(saved: &Resumed, epochs: usize, batches: &Batches) -> Result<(History, Position), Failure> {
        let position = Position::load(&saved.checkpoint)?;
        let n_steps = saved.checkpoint.n_steps()?;
        let inside = position.epoch < epochs && position.batch <= batches.len() || position.epoch == epochs && position.batch == 0;
        let taken = (position.epoch as u64).checked_mul(batches.len() as u64).and_then(|n| n.checked_add(position.batch as u64));
        let real = position.seconds >= 0.0 && position.seconds.is_finite() && position.loss_sum.is_finite();
        if !inside || taken != Some(n_steps) || !real || position.n_correct > position.n_seen {
            let Position { epoch, batch, .. } = position;
            let what = format!("says epoch {epoch} of {epochs}, batch {batch}, step {n_steps}: its numbers contradict each other");
            return Err(contradiction(&saved.path, &what));
        }
        Ok((History::load(saved, position.epoch as u64, n_steps)?, position))
    }
}

struct Training {
    device: Device,
    model: Box<dyn Layer>,
    optimizer: AdamW,
    schedule: Schedule,
    settings: Settings,
    /// Its fingerprint.
    data: String,
    history: History,
    output: Output,
}

fn run(
    split: ImageSplit,
    files: &str,
    model: Option<ImageModel>,
    epochs: Option<u32>,
    common: &Common,
    defaults: Defaults,
) -> Result<(), Failure> {
    let folder = folder(common, &split.name);
    let data = fingerprint(&[&split.train.pixels, &split.train.labels, &split.test.pixels, &split.test.labels]);
    let saved = resumed(common, &folder)?;
    let from = saved.as_ref();
    check_data(from, &data, files, "--data")?;
    let place = &source(from);
    let model_name = setting("model", model.map(ModelName), ModelName(ImageModel::Cnn), from)?;
    let epochs = limits::EPOCHS.check(setting("epochs", epochs, defaults.epochs, from)?, place)? as usize;
    let batch = limits::BATCH.check(setting("batch", common.batch, defaults.batch, from)?, place)? as usize;
    let lr = limits::rate(setting("lr", common.lr, defaults.lr, from)?, place)?;
    let seed = setting("seed", common.seed, 0, from)?;
    let device = device(common)?;
    let (h, w, classes) = (split.train.height, split.train.width, split.train.n_classes);
    let first_layer = match model_name.0 {
        ImageModel::Cnn => 16.0 * h as f64 * w as f64 * 128.0,
        ImageModel::Mlp => h as f64 * w as f64 * 256.0,
    };
    // Two convolutions take 2 pixels off each side that is not padded, and the pool needs 2.
    if model_name.0 == ImageModel::Cnn && h.min(w) + 4 * defaults.padding < 6 {
        return Err(Failure::new(format!("{files}: images of {h}x{w} pixels are too small for convolutions"), "train with `--model mlp`"));
    }
    limits::check_images(h * w, batch.min(split.train.len()), first_layer, &device)?;
    let batches = Batches::new(split.train.len(), batch, seed).drop_last();
    let (checkpoint, lock, history, position) = match saved {
        Some(saved) => {
            let (history, position) = Position::restore(&saved, epochs, &batches)?;
            (Some(saved.checkpoint), Some(saved.lock), history, position)
        }
        None => Default::default(),
    };
    let output = Output::new(common, &folder, lock)?;

    manual_seed(seed);
    let model: Box<dyn Layer> = match model_name.0 {
        ImageModel::Cnn => Box::new(Cnn::new(h, w, classes, defaults.padding, defaults.dropout, &device)),
        ImageModel::Mlp => Box::new(Mlp::new(&[h * w, 256, 128, classes], defaults.dropout, &device)),
    };
    let total = (epochs * batches.len()) as u64;
    let optimizer = AdamW::new(model.parameters(), lr)?;
    let settings = vec![
        ("data", split.name.clone()),
        ("model", model_name.to_string()),
        ("epochs", epochs.to_string()),
        ("batch", batch.to_string()),
        ("lr", lr.to_string()),
        ("seed", seed.to_string()),
    ];
    let schedule = Schedule::cosine(total).warmup((total / 20).max(1));
    let mut training = Training { device, model, optimizer, schedule, settings, data, history, output };
    if let Some(checkpoint) = checkpoint {
        checkpoint.restore(&training.model, &mut training.optimizer)?;
        training.output.note(&format!("resumed in epoch {} of {epochs}", (position.epoch + 1).min(epochs)));
    }
    training.output.note(&split.note);
    training.output.note(&format!("{} on {device}, {} parameters, seed {seed}", model_name, training.model.n_parameters()));
    end_if_interrupted()?;
    training.run(&split, &batches, defaults.jitter, epochs, position)
}

impl Training {
    fn run(&mut self, split: &ImageSplit, batches: &Batches, jitter: usize, epochs: usize, mut position: Position) -> Result<(), Failure> {
        let train = Arc::new(split.train.clone());
        let mut last_test = None;
        while position.epoch < epochs {
            self.output.start_bar(&format!("epoch {}/{epochs}", position.epoch + 1), batches.len() as u64, position.batch as u64);
            let before = position.seconds;
            let started = Instant::now();
            let source = Arc::clone(&train);
            let prepared =
                batches.prepare(position.epoch as u64, position.batch, move |items, rng| source.batch(items, Some((jitter, rng))));
            for batch in prepared {
                let (loss, correct) = self.step(&batch)?;
                position.batch += 1;
                position.loss_sum += loss * batch.labels.len() as f64;
                position.n_correct += correct;
                position.n_seen += batch.labels.len() as u64;
                position.seconds = before + started.elapsed().as_secs_f64();
                self.output.advance(loss);
                if interrupted() {
                    return Err(self.stop(&position)?);
                }
            }
            let Some(test) = self.evaluate(&split.test)? else { return Err(self.stop(&position)?) };
            let n_seen = position.n_seen.max(1) as f64;
            let row = EpochRow {
                epoch: position.epoch + 1,
                train_loss: position.loss_sum / n_seen,
                train_accuracy: Some(position.n_correct as f64 / n_seen),
                test_loss: Some(test.loss),
                test_accuracy: Some(test.confusion.accuracy()),
                seconds: before + started.elapsed().as_secs_f64(),
            };
            self.history.epochs.push(row);
            self.output.epoch(&row, epochs, "epoch");
            position = Position { epoch: position.epoch + 1, ..Position::default() };
            self.save(&position)?;
            last_test = Some(test);
        }
        let test = match last_test {
            Some(test) => test,
            None => match self.evaluate(&split.test)? {
                Some(test) => test,
                None => return Err(self.stop(&position)?),
            },
        };
        self.model.save(&self.output.model_path())?;
        self.output.write_report(&self.report(split, &test))?;
        let seconds: f64 = self.history.epochs.iter().map(|row| row.seconds).sum();
        let more = json!({ "test_loss": test.loss, "seconds": seconds, "steps": self.optimizer.n_steps() });
        self.output.result("test accuracy", test.confusion.accuracy(), more);
        Ok(())
    }

    /// Saves where an interrupted run is; gives what it ends with.
    fn stop(&mut self, position: &Position) -> Result<Failure, Failure> {
        self.output.end_bar();
        self.save(position)?;
        Ok(interrupted_after(self.optimizer.n_steps(), &self.output.checkpoint_path()))
    }

    /// One step; gives its loss, and how many images were read right.
    fn step(&mut self, batch: &ImageBatch) -> Result<(f64, u64), Failure> {
        let random = Generator::global().state();
        let (x, y) = self.upload(batch);
        let logits = self.model.forward(&x);
        let loss = logits.cross_entropy(&y);
        let correct = logits.detach().argmax(1).eq(&y).sum(());
        self.optimizer.set_lr_factor(self.schedule.factor(self.optimizer.n_steps()));
        self.optimizer.minimize(&loss, &[&correct])?;
        let value = f64::from(loss.item::<f32>()?);
        if !value.is_finite() {
            return Err(self.not_finite(value, &x, &y, random));
        }
        self.history.step_losses.push(value as f32);
        Ok((value, correct.to_f64()? as u64))
    }

    /// Where it went wrong; the state before the step is kept.
    fn not_finite(&mut self, loss: f64, x: &Tensor, y: &Tensor, random: (u64, u64)) -> Failure {
        self.output.end_bar();
        Generator::global().set(random.0, random.1);
        let model = &self.model;
        let place = first_not_finite(model, &[("images", x)], || model.forward(x).cross_entropy(y));
        let place = match place {
            Ok(place) => place.unwrap_or_else(|| "nothing, when the step was computed again".to_owned()),
            Err(error) => return error.into(),
        };
        let path = self.output.checkpoint_path().with_file_name("not-finite.safetensors");
        let step = self.optimizer.n_steps() + 1;
        let saved = match Checkpoint::of(&self.model, &self.optimizer).and_then(|c| c.save(&path)) {
            Ok(()) => format!("{} (the state before step {step})", path.display()),
            Err(error) => format!("nothing: {error}"),
        };
        unigrad::Error::NotFinite(Box::new(NotFinite { step, loss, place, saved })).into()
    }

    fn upload(&self, batch: &ImageBatch) -> (Tensor, Tensor) {
        let n = batch.labels.len();
        (
            Tensor::from_slice(&batch.pixels, [n, 1, batch.height, batch.width], &self.device),
            Tensor::from_slice(&batch.labels, [n], &self.device),
        )
    }

    /// `None` if the user asked to stop.
    fn evaluate(&mut self, images: &Images) -> Result<Option<Test>, Failure> {
        const AT_ONCE: usize = 500;
        // Of large images only as many as a batch of small ones has pixels.
        const PIXELS_AT_ONCE: usize = 1 << 22;
        let at_once = (PIXELS_AT_ONCE / images.image(0).len().max(1)).clamp(1, AT_ONCE);
        let mut test = Test { loss: 0.0, confusion: Confusion::new(images.n_classes), mistakes: Vec::new() };
        self.model.eval();
        let all: Vec<usize> = (0..images.len()).collect();
        for items in all.chunks(at_once) {
            if interrupted() {
                self.model.train(true);
                return Ok(None);
            }
            let batch = images.batch(items, None);
            let (x, _) = self.upload(&batch);
            let probabilities = no_grad(|| self.model.forward(&x).log_softmax(-1)).to_vec::<f32>()?;
            for ((&item, row), &label) in items.iter().zip(probabilities.chunks(images.n_classes)).zip(&batch.labels) {
                let (predicted, best) =
                    row.iter().enumerate().fold((0, f32::NEG_INFINITY), |best, (i, &p)| if p > best.1 { (i, p) } else { best });
                let label = label as usize;
                test.loss -= f64::from(row[label]);
                test.confusion.add(predicted, label);
                if predicted != label {
                    test.mistakes.push((item, predicted, f64::from(best).exp()));
                }
            }
        }
        self.model.train(true);
        test.loss /= images.len().max(1) as f64;
        Ok(Some(test))
    }

    fn save(&self, position: &Position) -> Result<(), Failure> {
        let mut checkpoint = Checkpoint::of(&self.model, &self.optimizer)?;
        save_settings(&mut checkpoint, &self.settings);
        checkpoint.set(FINGERPRINT, &self.data);
        position.save(&mut checkpoint);
        self.history.save(&mut checkpoint);
        self.output.write_metrics(&self.history)?;
        Ok(checkpoint.save(self.output.checkpoint_path())?)
    }

    fn report(&self, split: &ImageSplit, test: &Test) -> Report {
        let images = &split.test;
        let classes = images.n_classes;
        let matrix = (0..classes).map(|l| (0..classes).map(|p| test.confusion.count(l, p) as u32).collect()).collect();
        let mut mistakes: Vec<Mistake> = test
            .mistakes
            .iter()
            .map(|&(item, predicted, confidence)| Mistake {
                pixels: images.image(item).iter().map(|&p| (u32::from(p) * 255 / u32::from(images.white.max(1))) as u8).collect(),
                width: images.width,
                height: images.height,
                truth: usize::from(images.labels[item]),
                predicted,
                confidence,
            })
            .collect();
        mistakes.sort_by(|a, b| b.confidence.total_cmp(&a.confidence));
        Report {
            title: format!("unigrad: {}", split.name),
            settings: self.settings.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect(),
            machine: machine(self.device),
            epochs: self.history.epochs.clone(),
            step_losses: self.history.numbered_losses(),
            confusion: Some(matrix),
            class_names: (0..classes).map(|c| c.to_string()).collect(),
            mistakes,
            samples: None,
        }
    }
}

/// How a model does on images it has not learned from.
struct Test {
    loss: f64,
    confusion: Confusion,
    /// Image, prediction, and how sure it was.
    mistakes: Vec<(usize, usize, f64)>,
}
