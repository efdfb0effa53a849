//! `unigrad train csv`, `images` and `config`: networks by description.
//!
//! In: a table, a folder of images, or a whole run in a file. Out: as all runs; the model file has the architecture, and how its data were encoded.

use super::{
    Resumed, Settings, check_data, command, device, done, end_if_interrupted, fingerprint, folder, limits,
    output::{Output, Show},
    resumed, setting, source,
};
use crate::{
    Failure,
    args::{Common, Config, CsvTable, ImageFiles, TableTask},
};
use serde_json::json;
use std::{cell::RefCell, rc::Rc};
use unigrad::{
    data::Task,
    nn::files,
    prelude::*,
    train::network::{
        AdamWSettings, ConvSettings, CsvData, DataSpec, ImageData, LayerKind, Network, NetworkBuilder, OptimizerSpec, Prepared, RunConfig,
        ScheduleSpec, TrainingConfig,
    },
};

/// The part of the data that tests, unless a file says otherwise.
const TEST: f64 = 0.2;

/// What differs between the kinds of data.
struct NetworkRun {
    folder: std::path::PathBuf,
    data: Prepared,
    /// Its fingerprint.
    print: String,
    network: Network,
    config: TrainingConfig,
    settings: Settings,
    saved: Option<Resumed>,
}

pub(crate) fn csv(options: &CsvTable) -> Result<(), Failure> {
    let common = &options.common;
    let folder = folder(common, "csv");
    let spec = CsvData {
        file: options.data.clone(),
        targets: options.target.clone(),
        task: options.task.map(|task| match task {
            TableTask::Classification => Task::Classification,
            TableTask::Regression => Task::Regression,
        }),
        ignore: options.ignore.clone(),
        nan_is_missing: options.nan_is_missing,
        ..options.written.csv()
    };
    let print = fingerprint(&[&files::read_at_most(&spec.file, spec.options()?.max_bytes)?]);
    let saved = resumed(common, &folder)?;
    let from = saved.as_ref();
    check_data(from, &print, &options.data.display().to_string(), "--data")?;
    let asked = (!options.hidden.is_empty()).then(|| options.hidden.iter().map(usize::to_string).collect::<Vec<_>>().join(" "));
    let hidden = setting("hidden", asked, "64 64".to_owned(), from)?;
    let target = setting("target", Some(named(&options.target)), String::new(), from)?;
    let (config, mut settings) = common_settings(common, from, options.epochs, [100, 32], 1e-3)?;
    let data = DataSpec::Csv(spec).read(config.seed)?;
    let mut network = Network::with_input(data.shape.clone());
    for units in hidden.split(' ') {
        let units: usize =
            units.parse().map_err(|_| Failure::new(format!("{units} is no number of units"), "use `--hidden` with numbers"))?;
        network = network.dense(limits::DIM.check(units, &source(from))?).relu();
    }
    settings.extend([("data", options.data.display().to_string()), ("target", target), ("hidden", hidden)]);
    let network = built(network, &data, &config, common)?;
    run(NetworkRun { folder, data, print, network, config, settings, saved }, common)
}

/// The targets as a run keeps them: a name, or a list, in which no name can be taken for several.
fn named(targets: &[String]) -> String {
    match targets {
        [only] => only.clone(),
        several => json!(several).to_string(),
    }
}

pub(crate) fn images(options: &ImageFiles) -> Result<(), Failure> {
    let common = &options.common;
    let folder = folder(common, "images");
    let saved = resumed(common, &folder)?;
    let from = saved.as_ref();
    let size = setting("size", options.size, 64, from)?;
    let grey = setting("grey", options.grey.then_some(true), false, from)?;
    let data = DataSpec::Images(ImageData::new(&options.folder, size, grey)).read(0)?;
    // Names and sizes of files: to read them all twice would take too long.
    let print = fingerprint(&[data.note.as_bytes(), format!("{:?}", data.labels).as_bytes()]);
    check_data(from, &print, &options.folder.display().to_string(), "the folder")?;
    let (config, mut settings) = common_settings(common, from, options.epochs, [20, 32], 1e-3)?;
    let block = |network: NetworkBuilder, channels: usize| {
        let conv = ConvSettings::new(channels, 3).same().no_bias();
        network.layer(LayerKind::Conv2d(conv)).batch_norm().relu()
    };
    let mut network = block(Network::with_input(data.shape.clone()), 16);
    // As often as the image has halves to give.
    for (at, channels) in [32, 64, 128].into_iter().enumerate() {
        if size >> at >= 8 {
            network = block(network.max_pool2d(2), channels);
        }
    }
    network = network.adaptive_avg_pool2d(1).flatten();
    settings.extend([("data", options.folder.display().to_string()), ("size", size.to_string()), ("grey", grey.to_string())]);
    let network = built(network, &data, &config, common)?;
    run(NetworkRun { folder, data, print, network, config, settings, saved }, common)
}

pub(crate) fn config(options: &Config) -> Result<(), Failure> {
    let common = &options.common;
    let mut parsed = RunConfig::load(&options.file)?;
    let folder = match (&common.out, parsed.train.folder.take()) {
        (None, Some(folder)) => folder,
        _ => folder(common, "config"),
    };
    let saved = resumed(common, &folder)?;
    let from = saved.as_ref();
    let print = fingerprint(&[&files::read_at_most(&options.file, 1 << 20)?]);
    check_data(from, &print, &options.file.display().to_string(), "the file")?;
    let place = &source(from);
    let train = &mut parsed.train;
    train.seed = setting("seed", common.seed, train.seed, from)?;
    let batch = u32::try_from(train.batch_size).unwrap_or(u32::MAX);
    train.batch_size = limits::BATCH.check(setting("batch", common.batch, batch, from)?, place)? as usize;
    train.max_epochs = limits::EPOCHS.check(train.max_epochs, place)?;
    let lr = limits::rate(setting("lr", common.lr, train.optimizer.lr(), from)?, place)?;
    train.optimizer = train.optimizer.clone().with_lr(lr);
    let settings = vec![
        ("file", options.file.display().to_string()),
        ("epochs", train.max_epochs.to_string()),
        ("batch", train.batch_size.to_string()),
        ("lr", lr.to_string()),
        ("seed", train.seed.to_string()),
    ];
    let device = match (&common.device, &parsed.device) {
        (None, Some(name)) => Device::open(name)?,
        _ => device(common)?,
    };
    let data = parsed.data.read(parsed.train.seed)?;
    let network = parsed.build(&data, &device)?;
    let config = parsed.train.clone();
    run(NetworkRun { folder, data, print, network, config, settings, saved }, common)
}

/// Settings that `csv` and `images` share; defaults are epochs and batch, and the rate.
fn common_settings(
    common: &Common,
    from: Option<&Resumed>,
    epochs: Option<u32>,
    [default_epochs, default_batch]: [u32; 2],
    default_lr: f64,
) -> Result<(TrainingConfig, Settings), Failure> {
    let place = &source(from);
    let epochs = limits::EPOCHS.check(setting("epochs", epochs, default_epochs, from)?, place)?;
    let batch = limits::BATCH.check(setting("batch", common.batch, default_batch, from)?, place)?;
    let lr = limits::rate(setting("lr", common.lr, default_lr, from)?, place)?;
    let seed = setting("seed", common.seed, 0, from)?;
    let config = TrainingConfig {
        batch_size: batch as usize,
        max_epochs: epochs as usize,
        validation_split: TEST,
        seed,
        optimizer: OptimizerSpec::Adamw(AdamWSettings { lr, ..AdamWSettings::default() }),
        schedule: Some(ScheduleSpec::Cosine { steps: None, warmup: 10, floor: 0.0 }),
        ..TrainingConfig::default()
    };
    let settings = vec![("epochs", epochs.to_string()), ("batch", batch.to_string()), ("lr", lr.to_string()), ("seed", seed.to_string())];
    Ok((config, settings))
}

/// The network with its output, and what its file says of the data.
fn built(network: NetworkBuilder, data: &Prepared, config: &TrainingConfig, common: &Common) -> Result<Network, Failure> {
    let network = network.layer(LayerKind::Output).named("output").loss(data.loss.clone()).seed(config.seed);
    let mut network = network.build_for(data.n_outputs, &device(common)?)?;
    data.metadata.iter().for_each(|(name, text)| network.set_metadata(name, text));
    Ok(network)
}

fn run(plan: NetworkRun, common: &Common) -> Result<(), Failure> {
    let NetworkRun { folder, data, print, mut network, config, settings, saved } = plan;
    let (checkpoint, lock) = saved.map_or((None, None), |saved| (Some(saved.checkpoint), Some(saved.lock)));
    let mut notes: Vec<String> = checkpoint.iter().map(|_| "resumed".to_owned()).collect();
    let device = *network.device();
    notes.extend([data.note.clone(), format!("{} parameters on {device}, seed {}", network.n_parameters(), config.seed)]);
    let output = Rc::new(RefCell::new(Output::new(common, &folder, lock)?));
    end_if_interrupted()?;
    let show = Show { output: Rc::clone(&output), notes, unit: "epoch".to_owned(), n_epochs: config.max_epochs, steps: None };
    let title = format!("unigrad: {}", data.note);
    let profile = common.profile.unwrap_or(config.profile);
    let trained = network.train_prepared(&data, &config, |trainer| {
        command(trainer.title(&title).profile(profile), &folder, &settings, &print, checkpoint, show)
    });
    let run = done(trained, &output)?;
    output.borrow().profile(profile, run.profile.as_ref());
    network.save(output.borrow().model_path())?;
    output.borrow().write_report(&run.report)?;
    let history = &run.history;
    let of = |name: &str| history.last(name).map(|value| (name.replacen("val_", "test ", 1), value));
    let (name, value) =
        of("val_accuracy").or_else(|| of("val_loss")).unwrap_or(("train loss".to_owned(), history.last("loss").unwrap_or(f64::NAN)));
    let more = json!({ "test_loss": history.last("val_loss"), "seconds": history.seconds.iter().sum::<f64>(), "steps": run.n_steps });
    output.borrow_mut().result(&name, value, more);
    Ok(())
}
