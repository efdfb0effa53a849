//! `unigrad train digits` and `unigrad train mnist`: classifiers of small grey images.

use super::{
    Settings, check_data, device, done, end_if_interrupted, fingerprint, folder, interrupted, limits,
    output::{Output, Show},
    resumed, setting, source, trainer,
};
use crate::{
    Failure,
    args::{Common, Digits, ImageModel, Mnist},
};
use clap::ValueEnum;
use serde_json::json;
use std::{cell::RefCell, rc::Rc, sync::Arc};
use unigrad::{
    data::{self, Batches, ImageBatch, ImageSplit, Images, Source},
    nn::{
        AdamW, Confusion, Schedule,
        models::{Cnn, Mlp},
    },
    prelude::*,
    train::{
        Outcome, Supervised,
        report::{Mistake, Report},
    },
};

/// What is trained.
type Model = Box<dyn Layer>;

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

/// A batch on the device.
struct Uploaded {
    pixels: Tensor,
    labels: Tensor,
}

fn upload(batch: &ImageBatch, device: &Device) -> Uploaded {
    let n = batch.labels.len();
    Uploaded {
        pixels: Tensor::from_slice(&batch.pixels, [n, 1, batch.height, batch.width], device),
        labels: Tensor::from_slice(&batch.labels, [n], device),
    }
}

/// Batches of images, each image moved a little.
struct Moved {
    images: Arc<Images>,
    batches: Batches,
    jitter: usize,
}

impl Source for Moved {
    type Batch = Uploaded;

    fn n_items(&self) -> usize {
        self.images.len()
    }

    fn n_batches(&self) -> usize {
        self.batches.len()
    }

    fn batches(
        &self,
        epoch: u64,
        first: usize,
        device: &Device,
    ) -> unigrad::Result<Box<dyn Iterator<Item = unigrad::Result<Uploaded>> + '_>> {
        let (images, jitter, device) = (Arc::clone(&self.images), self.jitter, *device);
        let made = self.batches.prepare(epoch, first, move |items, rng| images.batch(items, Some((jitter, rng))));
        Ok(Box::new(made.map(move |batch| Ok(upload(&batch, &device)))))
    }
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
    let (checkpoint, lock) = saved.map(|saved| (saved.checkpoint, saved.lock)).unzip();
    let output = Rc::new(RefCell::new(Output::new(common, &folder, lock)?));

    manual_seed(seed);
    let model: Box<dyn Layer> = match model_name.0 {
        ImageModel::Cnn => Box::new(Cnn::new(h, w, classes, defaults.padding, defaults.dropout, &device)),
        ImageModel::Mlp => Box::new(Mlp::new(&[h * w, 256, 128, classes], defaults.dropout, &device)),
    };
    let total = (epochs * batches.len()) as u64;
    let optimizer = AdamW::new(model.parameters(), lr)?;
    let settings: Settings = vec![
        ("data", split.name.clone()),
        ("model", model_name.to_string()),
        ("epochs", epochs.to_string()),
        ("batch", batch.to_string()),
        ("lr", lr.to_string()),
        ("seed", seed.to_string()),
    ];
    let schedule = Schedule::cosine(total).warmup((total / 20).max(1));
    let mut notes = Vec::new();
    if let Some(checkpoint) = &checkpoint {
        let epoch: usize = checkpoint.get("position.epoch")?;
        notes.push(format!("resumed in epoch {} of {epochs}", epoch.saturating_add(1).min(epochs)));
    }
    notes.push(split.note.clone());
    notes.push(format!("{model_name} on {device}, {} parameters, seed {seed}", model.n_parameters()));
    end_if_interrupted()?;
    let forward = |model: &Model, batch: &Uploaded| {
        let logits = model.forward(&batch.pixels);
        let correct = logits.detach().argmax(1).eq(&batch.labels).sum(());
        Ok(Outcome::new(logits.cross_entropy(&batch.labels), batch.labels.numel()).sum("accuracy", &correct))
    };
    let mut learner = Supervised::with(model, optimizer, forward).inputs(|batch: &Uploaded| vec![("images", batch.pixels.clone())]);
    let show = Show { output: Rc::clone(&output), notes, unit: "epoch".to_owned(), n_epochs: epochs, steps: None };
    let trainer = trainer(&device, &folder, &settings, &data, checkpoint, show)
        .epochs(epochs)
        .schedule(schedule)
        .profile(common.profile.unwrap_or(0));
    let train = Moved { images: Arc::new(split.train.clone()), batches, jitter: defaults.jitter };
    let mut last_test = None;
    let run = trainer.title(&format!("unigrad: {}", split.name)).fit_judged(&mut learner, &train, &mut |learner| {
        let test = evaluate(&learner.model, &split.test, &device)?;
        let figures = test.as_ref().map(|test| vec![("loss".to_owned(), test.loss), ("accuracy".to_owned(), test.confusion.accuracy())]);
        last_test = test;
        Ok(figures)
    });
    let run = done(run, &output)?;
    output.borrow().profile(common.profile.unwrap_or(0), run.profile.as_ref());
    let test = match last_test {
        Some(test) => test,
        // All was done before.
        None => {
            learner.model.eval();
            match evaluate(&learner.model, &split.test, &device)? {
                Some(test) => test,
                None => return Err(super::interrupted_after(run.n_steps, &output.borrow().checkpoint_path())),
            }
        }
    };
    let mut output = output.borrow_mut();
    output.write_report(&report(run.report, &split, &test))?;
    let seconds: f64 = run.history.seconds.iter().sum();
    let more = json!({ "test_loss": test.loss, "seconds": seconds, "steps": run.n_steps });
    output.result("test accuracy", test.confusion.accuracy(), more);
    Ok(())
}

/// How a model does on images; `None` if the user asked to stop.
fn evaluate(model: &impl Layer, images: &Images, device: &Device) -> unigrad::Result<Option<Test>> {
    const AT_ONCE: usize = 500;
    // Of large images only as many as a batch of small ones has pixels.
    const PIXELS_AT_ONCE: usize = 1 << 22;
    let at_once = (PIXELS_AT_ONCE / images.image(0).len().max(1)).clamp(1, AT_ONCE);
    let mut test = Test { loss: 0.0, confusion: Confusion::new(images.n_classes), mistakes: Vec::new() };
    let all: Vec<usize> = (0..images.len()).collect();
    for items in all.chunks(at_once) {
        if interrupted() {
            return Ok(None);
        }
        let batch = images.batch(items, None);
        let x = upload(&batch, device).pixels;
        let probabilities = no_grad(|| model.forward(&x).log_softmax(-1)).to_vec::<f32>()?;
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
    test.loss /= images.len().max(1) as f64;
    Ok(Some(test))
}

/// The run's page with what is known of the test.
fn report(report: Report, split: &ImageSplit, test: &Test) -> Report {
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
    Report { confusion: Some(matrix), class_names: (0..classes).map(|c| c.to_string()).collect(), mistakes, ..report }
}

/// How a model does on images it has not learned from.
struct Test {
    loss: f64,
    confusion: Confusion,
    /// Image, prediction, and how sure it was.
    mistakes: Vec<(usize, usize, f64)>,
}
