//! `unigrad train gpt`: a character model of a text, and the comparison of its losses with PyTorch's.

use super::{Settings, device, folder, history::History, interrupted, machine, output::Output, resumed, save_settings, setting};
use crate::{
    Failure,
    args::Gpt as Options,
    report::{EpochRow, Report},
};
use serde_json::{Value, json};
use std::{path::Path, time::Instant};
use unigrad::{
    nn::{
        AdamW, Checkpoint, NotFinite, Schedule,
        data::{Text, TextBatch},
        first_not_finite,
        models::{Gpt, GptConfig},
        random::{Rng, words},
    },
    prelude::*,
};

/// Steps between two tests.
const INTERVAL: u64 = 100;
/// Streams of random numbers.
const TEST_STREAM: u64 = 1 << 40;
const SAMPLE_STREAM: u64 = 1 << 41;

pub(crate) fn run(options: &Options) -> Result<(), Failure> {
    if let Some(golden) = &options.golden {
        return compare(options, golden);
    }
    let common = &options.common;
    let folder = folder(common, "gpt");
    let saved = resumed(common, &folder)?;
    let saved = saved.as_ref();
    let text = Text::read(&options.text)?;
    let ctx = setting("ctx", options.ctx, 256, saved)?;
    let batch = setting("batch", common.batch, 8, saved)? as usize;
    let default_steps = match options.epochs {
        Some(epochs) => (u64::from(epochs) * text.tokens.len() as u64).div_ceil((batch * ctx).max(1) as u64).max(1),
        None => 1000,
    };
    let steps = setting("steps", options.steps, default_steps, saved)?;
    let lr = setting("lr", common.lr, 1e-3, saved)?;
    let seed = setting("seed", common.seed, 0, saved)?;
    let config = GptConfig {
        vocab: text.vocabulary.len(),
        ctx,
        layers: setting("layers", options.layers, 6, saved)?,
        heads: setting("heads", options.heads, 6, saved)?,
        dim: setting("dim", options.dim, 384, saved)?,
    };
    // The last tenth tests, if a window fits into it.
    let cut = text.tokens.len() - text.tokens.len() / 10;
    let part = |tokens: &[u8]| Text { vocabulary: text.vocabulary.clone(), tokens: tokens.to_vec() };
    let rest = part(&text.tokens[cut..]);
    let (train, test) = if rest.check(ctx).is_ok() { (part(&text.tokens[..cut]), Some(rest)) } else { (part(&text.tokens), None) };
    train.check(ctx)?;

    let history = saved.map(History::load).unwrap_or_default();
    let output = Output::new(common, &folder, &history)?;
    let device = device(common)?;
    manual_seed(seed);
    let model = Gpt::new(config, &device)?;
    let optimizer = AdamW::new(model.parameters(), lr)?.betas(0.9, 0.99).weight_decay(0.1).clip_norm(1.0);
    let settings = vec![
        ("data", options.text.display().to_string()),
        ("layers", config.layers.to_string()),
        ("heads", config.heads.to_string()),
        ("dim", config.dim.to_string()),
        ("ctx", ctx.to_string()),
        ("steps", steps.to_string()),
        ("batch", batch.to_string()),
        ("lr", lr.to_string()),
        ("seed", seed.to_string()),
    ];
    let schedule = Schedule::cosine(steps).warmup((steps / 20).clamp(1, 100)).floor(0.1);
    let mut training = Training { device, model, optimizer, schedule, settings, history, output, seed, batch };
    let mut done = Done::default();
    if let Some(saved) = saved {
        saved.restore(&training.model, &mut training.optimizer)?;
        done = Done::load(saved)?;
        training.output.note(&format!("resumed after step {} of {steps}", training.optimizer.n_steps()));
    }
    let parameters = training.model.n_parameters();
    training.output.note(&format!(
        "{}: {} characters, {} different; {parameters} parameters on {device}, seed {seed}",
        options.text.display(),
        text.tokens.len(),
        text.vocabulary.len()
    ));
    training.run(&train, test.as_ref(), steps, done)?;
    training.finish(options, &text)
}

struct Training {
    device: Device,
    model: Gpt,
    optimizer: AdamW,
    schedule: Schedule,
    settings: Settings,
    history: History,
    output: Output,
    seed: u64,
    batch: usize,
}

/// The figures since the last test.
#[derive(Default)]
struct Done {
    loss_sum: f64,
    n: u64,
    seconds: f64,
}

impl Done {
    fn save(&self, checkpoint: &mut Checkpoint) {
        checkpoint.set("position.loss_sum", self.loss_sum);
        checkpoint.set("position.steps", self.n);
        checkpoint.set("position.seconds", self.seconds);
    }

    fn load(checkpoint: &Checkpoint) -> Result<Done, Failure> {
        Ok(Done {
            loss_sum: checkpoint.get("position.loss_sum")?,
            n: checkpoint.get("position.steps")?,
            seconds: checkpoint.get("position.seconds")?,
        })
    }
}

impl Training {
    fn run(&mut self, train: &Text, test: Option<&Text>, steps: u64, mut done: Done) -> Result<(), Failure> {
        let ctx = self.model.config().ctx;
        let n_rows = steps.div_ceil(INTERVAL) as usize;
        self.output.start_bar("step", steps, self.optimizer.n_steps());
        let mut since = Instant::now();
        while self.optimizer.n_steps() < steps {
            let batch = train.batch(self.seed, self.optimizer.n_steps(), self.batch, ctx);
            self.optimizer.set_lr_factor(self.schedule.factor(self.optimizer.n_steps()));
            let loss = self.step(&batch)?;
            self.history.step_losses.push(loss as f32);
            done.loss_sum += loss;
            done.n += 1;
            self.output.advance(loss);
            let step = self.optimizer.n_steps();
            if interrupted() {
                done.seconds += since.elapsed().as_secs_f64();
                self.output.end_bar();
                self.save(&done)?;
                let path = self.output.checkpoint_path();
                eprintln!("interrupted after step {step}; saved {}; continue with --resume", path.display());
                return Err(Failure::Interrupted);
            }
            if step.is_multiple_of(INTERVAL) || step == steps {
                let test_loss = test.map(|text| self.test(text)).transpose()?;
                let row = EpochRow {
                    epoch: self.history.epochs.len() + 1,
                    train_loss: done.loss_sum / done.n.max(1) as f64,
                    test_loss,
                    seconds: done.seconds + since.elapsed().as_secs_f64(),
                    ..EpochRow::default()
                };
                self.history.epochs.push(row);
                self.output.epoch(&row, n_rows, &format!("{INTERVAL} steps"));
                self.output.write_metrics(&self.history)?;
                (done, since) = (Done::default(), Instant::now());
                self.save(&done)?;
                if step < steps {
                    self.output.start_bar("step", steps, step);
                }
            }
        }
        self.output.end_bar();
        Ok(())
    }

    fn upload(&self, batch: &TextBatch) -> (Tensor, Tensor) {
        let ctx = self.model.config().ctx;
        let shape = [batch.inputs.len() / ctx.max(1), ctx];
        (Tensor::from_slice(&batch.inputs, shape, &self.device), Tensor::from_slice(&batch.targets, shape, &self.device))
    }

    fn step(&mut self, batch: &TextBatch) -> Result<f64, Failure> {
        let (x, y) = self.upload(batch);
        let loss = self.model.loss(&x, &y);
        self.optimizer.minimize(&loss, &[])?;
        let value = f64::from(loss.item::<f32>()?);
        if value.is_finite() {
            return Ok(value);
        }
        self.output.end_bar();
        let model = &self.model;
        let place = first_not_finite(model, &[], || model.loss(&x, &y))?;
        let path = self.output.checkpoint_path().with_file_name("not-finite.safetensors");
        let step = self.optimizer.n_steps() + 1;
        let saved = match Checkpoint::of(&self.model, &self.optimizer).and_then(|c| c.save(&path)) {
            Ok(()) => format!("{} (the state before step {step})", path.display()),
            Err(error) => format!("nothing: {error}"),
        };
        let place = place.unwrap_or_else(|| "nothing, when the step was computed again".to_owned());
        Err(unigrad::Error::NotFinite(Box::new(NotFinite { step, loss: value, place, saved })).into())
    }

    /// The mean loss over a few windows that are the same every time.
    fn test(&self, text: &Text) -> Result<f64, Failure> {
        const BATCHES: u64 = 8;
        let mut sum = 0.0;
        for i in 0..BATCHES {
            let batch = text.batch(self.seed, TEST_STREAM + i, self.batch, self.model.config().ctx);
            let (x, y) = self.upload(&batch);
            sum += f64::from(no_grad(|| self.model.loss(&x, &y)).item::<f32>()?);
        }
        Ok(sum / BATCHES as f64)
    }

    fn save(&self, done: &Done) -> Result<(), Failure> {
        let mut checkpoint = Checkpoint::of(&self.model, &self.optimizer)?;
        save_settings(&mut checkpoint, &self.settings);
        done.save(&mut checkpoint);
        self.history.save(&mut checkpoint);
        Ok(checkpoint.save(self.output.checkpoint_path())?)
    }

    fn finish(&mut self, options: &Options, text: &Text) -> Result<(), Failure> {
        self.model.save(&self.output.model_path())?;
        let prompt: Vec<usize> = options.prompt.bytes().filter_map(|b| text.vocabulary.encode(&[b])).flatten().map(usize::from).collect();
        let mut rng = Rng::new(self.seed, SAMPLE_STREAM);
        let tokens = self.model.sample(&prompt, options.sample, options.temperature, &mut rng, &self.device)?;
        let sample = text.vocabulary.decode(&tokens);
        self.output.note(&format!("sample:\n{sample}"));
        let report = Report {
            title: "unigrad: gpt".to_owned(),
            settings: self.settings.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect(),
            machine: machine(self.device),
            epochs: self.history.epochs.clone(),
            step_losses: self.history.numbered_losses(),
            samples: Some(sample),
            ..Report::default()
        };
        self.output.write_report(&report)?;
        let last = self.history.epochs.last();
        let seconds: f64 = self.history.epochs.iter().map(|row| row.seconds).sum();
        let more = json!({ "seconds": seconds, "steps": self.optimizer.n_steps() });
        match last.and_then(|row| row.test_loss) {
            Some(loss) => self.output.result("test loss", loss, more),
            None => self.output.result("train loss", last.map_or(f64::NAN, |row| row.train_loss), more),
        }
        Ok(())
    }
}

/// Trains from PyTorch's initial weights on PyTorch's batches, and compares every loss.
fn compare(options: &Options, golden: &Path) -> Result<(), Failure> {
    const ALLOWED: f64 = 1e-3;
    const HELP: &str = "rebuild the file with scripts/golden_gpt.py";
    let text = Text::read(&options.text)?;
    let file = std::fs::read(golden).map_err(|e| Failure::new(format!("{}: cannot be read: {e}", golden.display()), HELP))?;
    let file: Value = serde_json::from_slice(&file).map_err(|e| Failure::new(format!("{}: is not JSON: {e}", golden.display()), HELP))?;
    let wrong = |name: &str| Failure::new(format!("{}: has no `{name}` that can be used", golden.display()), HELP);
    let size = |name: &str| file[name].as_u64().map(|n| n as usize).ok_or_else(|| wrong(name));
    if (size("text_bytes")?, size("vocab")?) != (text.tokens.len(), text.vocabulary.len()) {
        let cause =
            format!("{}: is not the text that {} was made from ({} bytes)", options.text.display(), golden.display(), file["text_bytes"]);
        return Err(Failure::new(cause, format!("name {} with `--text`", file["text"])));
    }
    let config = GptConfig { vocab: size("vocab")?, ctx: size("ctx")?, layers: size("layers")?, heads: size("heads")?, dim: size("dim")? };
    let (batch, seed) = (size("batch")?, size("seed")? as u64);
    let number = |name: &str| file["adamw"][name].as_f64().ok_or_else(|| wrong(name));
    let losses: Vec<f64> = file["losses"].as_array().ok_or_else(|| wrong("losses"))?.iter().filter_map(Value::as_f64).collect();
    text.check(config.ctx)?;

    let device = device(&options.common)?;
    let model = Gpt::new(config, &device)?;
    model.golden_init(seed)?;
    let mut optimizer = AdamW::new(model.parameters(), number("lr")?)?
        .betas(number("beta1")?, number("beta2")?)
        .eps(number("eps")?)
        .weight_decay(number("weight_decay")?);
    let (mut worst, mut off) = (0.0f64, Vec::new());
    let started = Instant::now();
    for (step, &expected) in losses.iter().enumerate() {
        let limit = (text.tokens.len() - config.ctx - 1) as u32;
        let starts: Vec<usize> =
            (0..batch).map(|row| (words(seed, 0xffff_ffff << 32, (step * batch + row) as u64)[0] % limit) as usize).collect();
        let windows = text.windows(&starts, config.ctx);
        let shape = [batch, config.ctx];
        let (x, y) = (Tensor::from_slice(&windows.inputs, shape, &device), Tensor::from_slice(&windows.targets, shape, &device));
        let loss = model.loss(&x, &y);
        optimizer.minimize(&loss, &[])?;
        let loss = f64::from(loss.item::<f32>()?);
        let apart = (loss - expected).abs() / expected;
        worst = worst.max(if apart.is_nan() { f64::INFINITY } else { apart });
        if apart.is_nan() || apart > ALLOWED {
            off.push(step + 1);
        }
        if options.common.json {
            say!("{}", json!({ "event": "step", "step": step + 1, "loss": loss, "pytorch": expected, "apart": apart }));
        } else if !options.common.quiet {
            say!("step {:>3}  loss {loss:.6}  pytorch {expected:.6}  {apart:.1e} apart", step + 1);
        }
        if interrupted() {
            return Err(Failure::Interrupted);
        }
    }
    let seconds = started.elapsed().as_secs_f64();
    if !off.is_empty() {
        let cause = format!("{} of {} losses are more than {ALLOWED:e} off PyTorch's, first in step {}", off.len(), losses.len(), off[0]);
        return Err(Failure::new(cause, "compare the first steps with `--json`; the initial weights are in the golden file"));
    }
    if options.common.json {
        say!("{}", json!({ "event": "result", "worst": worst, "steps": losses.len(), "seconds": seconds }));
    } else {
        say!("{} losses at most {worst:.1e} off PyTorch's, {seconds:.1} s", losses.len());
    }
    Ok(())
}
