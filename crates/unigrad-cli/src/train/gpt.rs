//! `unigrad train gpt`: a character model of a text, and the comparison of its losses with PyTorch's.

use super::{
    FINGERPRINT, Resumed, Settings, check_data, contradiction, device, end_if_interrupted, fingerprint, folder, history::History,
    interrupted, interrupted_after, limits, machine, output::Output, resumed, save_settings, setting, source,
};
use crate::{
    Failure,
    args::Gpt as Options,
    report::{EpochRow, Report},
    stream::tell,
};
use serde_json::{Value, json};
use std::{path::Path, time::Instant};
use unigrad::{
    data::{Text, TextBatch},
    nn::{
        AdamW, Checkpoint, NotFinite, Schedule, files, first_not_finite,
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
    let text = Text::read(&options.text)?;
    let data = fingerprint(&[text.vocabulary.bytes(), &text.tokens]);
    let saved = resumed(common, &folder)?;
    let from = saved.as_ref();
    check_data(from, &data, &options.text.display().to_string(), "--text")?;
    let place = &source(from);
    let ctx = limits::CTX.check(setting("ctx", options.ctx, 256, from)?, place)?;
    let batch = limits::BATCH.check(setting("batch", common.batch, 8, from)?, place)? as usize;
    let default_steps = match options.epochs {
        Some(epochs) => {
            let seen = u64::from(limits::EPOCHS.check(epochs, "--")?).saturating_mul(text.tokens.len() as u64);
            seen.div_ceil((batch * ctx).max(1) as u64).max(1)
        }
        None => 1000,
    };
    let steps = limits::STEPS.check(setting("steps", options.steps, default_steps, from)?, place)?;
    let lr = limits::rate(setting("lr", common.lr, 1e-3, from)?, place)?;
    let seed = setting("seed", common.seed, 0, from)?;
    let config = GptConfig {
        vocab: text.vocabulary.len(),
        ctx,
        layers: limits::LAYERS.check(setting("layers", options.layers, 6, from)?, place)?,
        heads: limits::HEADS.check(setting("heads", options.heads, 6, from)?, place)?,
        dim: limits::DIM.check(setting("dim", options.dim, 384, from)?, place)?,
    };
    // The last tenth tests, if a window fits into it.
    let cut = text.tokens.len() - text.tokens.len() / 10;
    let part = |tokens: &[u8]| Text { vocabulary: text.vocabulary.clone(), tokens: tokens.to_vec() };
    let rest = part(&text.tokens[cut..]);
    let (train, test) = if rest.check(ctx).is_ok() { (part(&text.tokens[..cut]), Some(rest)) } else { (part(&text.tokens), None) };
    train.check(ctx)?;

    let device = device(common)?;
    limits::check_gpt(&config, batch, &device)?;
    let (checkpoint, lock, history, done) = match saved {
        Some(saved) => {
            let (history, done) = position(&saved, steps)?;
            (Some(saved.checkpoint), Some(saved.lock), history, done)
        }
        None => Default::default(),
    };
    let output = Output::new(common, &folder, lock)?;
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
    let mut training = Training { device, model, optimizer, schedule, settings, data, history, output, seed, batch };
    if let Some(checkpoint) = checkpoint {
        checkpoint.restore(&training.model, &mut training.optimizer)?;
        training.output.note(&format!("resumed after step {} of {steps}", training.optimizer.n_steps()));
    }
    let parameters = training.model.n_parameters();
    training.output.note(&format!(
        "{}: {} characters, {} different; {parameters} parameters on {device}, seed {seed}",
        options.text.display(),
        text.tokens.len(),
        text.vocabulary.len()
    ));
    end_if_interrupted()?;
    training.run(&train, test.as_ref(), steps, done)?;
    training.finish(options, &text)
}

/// The figures of a run that is continued, if they agree with how far it is.
fn position(saved: &Resumed, steps: u64) -> Result<(History, Done), Failure> {
    let n_steps = saved.checkpoint.n_steps()?;
    let done = Done::load(&saved.checkpoint)?;
    let since = if n_steps == steps { 0 } else { n_steps % INTERVAL };
    if n_steps > steps || done.n != since || !(done.seconds >= 0.0 && done.seconds.is_finite() && done.loss_sum.is_finite()) {
        let what = format!("says step {n_steps} of {steps}, {} of them since the last test: its numbers contradict each other", done.n);
        return Err(contradiction(&saved.path, &what));
    }
    let n_rows = if n_steps == steps { n_steps.div_ceil(INTERVAL) } else { n_steps / INTERVAL };
    Ok((History::load(saved, n_rows, n_steps)?, done))
}

struct Training {
    device: Device,
    model: Gpt,
    optimizer: AdamW,
    schedule: Schedule,
    settings: Settings,
    /// Its fingerprint.
    data: String,
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
            // Before an interruption is heard: the figures of a run must not depend on when that was.
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
                (done, since) = (Done::default(), Instant::now());
                self.save(&done)?;
                if step < steps {
                    self.output.start_bar("step", steps, step);
                }
            }
            if interrupted() {
                done.seconds += since.elapsed().as_secs_f64();
                self.output.end_bar();
                self.save(&done)?;
                return Err(interrupted_after(step, &self.output.checkpoint_path()));
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
        checkpoint.set(FINGERPRINT, &self.data);
        done.save(&mut checkpoint);
        self.history.save(&mut checkpoint);
        self.output.write_metrics(&self.history)?;
        Ok(checkpoint.save(self.output.checkpoint_path())?)
    }

    fn finish(&mut self, options: &Options, text: &Text) -> Result<(), Failure> {
        self.model.save(&self.output.model_path())?;
        let prompt: Vec<usize> = options.prompt.bytes().filter_map(|b| text.vocabulary.encode(&[b])).flatten().map(usize::from).collect();
        let sample = text.vocabulary.decode(&self.sample(prompt, options)?);
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

impl Training {
    /// Continues `prompt`, one token after the other, so that Ctrl-C is heard between them.
    fn sample(&self, prompt: Vec<usize>, options: &Options) -> Result<Vec<usize>, Failure> {
        let mut rng = Rng::new(self.seed, SAMPLE_STREAM);
        let mut tokens = if prompt.is_empty() { vec![0] } else { prompt };
        for _ in 0..options.sample {
            if interrupted() {
                tell(format_args!("interrupted while it wrote a sample; the model is in {}", self.output.model_path().display()));
                return Err(Failure::Interrupted);
            }
            let seen = &tokens[tokens.len().saturating_sub(self.model.config().ctx)..];
            let longer = self.model.sample(seen, 1, options.temperature, &mut rng, &self.device)?;
            tokens.extend(longer.last());
        }
        Ok(tokens)
    }
}

/// A golden file: what PyTorch computed, and from what.
struct Golden {
    text: String,
    text_bytes: u64,
    config: GptConfig,
    batch: usize,
    seed: u64,
    lr: f64,
    betas: [f64; 2],
    eps: f64,
    weight_decay: f64,
    losses: Vec<f64>,
}

const GOLDEN_HELP: &str = "rebuild the file with scripts/golden_gpt.py";
/// Bytes of a golden file: a hundred times those of one that is kept.
const GOLDEN_BYTES: u64 = 1 << 20;

impl Golden {
    fn read(path: &Path) -> Result<Golden, Failure> {
        let bytes = files::read_at_most(path, GOLDEN_BYTES)?;
        Golden::parse(&bytes, &path.display().to_string())
    }

    fn parse(bytes: &[u8], place: &str) -> Result<Golden, Failure> {
        let file: Value = serde_json::from_slice(bytes).map_err(|e| Failure::new(format!("{place}: is not JSON: {e}"), GOLDEN_HELP))?;
        let wrong = |name: &str| Failure::new(format!("{place}: has no `{name}` that can be used"), GOLDEN_HELP);
        let number = |name: &str| file[name].as_u64().ok_or_else(|| wrong(name));
        let size = |name: &str, limit: &limits::Limit| Ok::<_, Failure>(limit.check(number(name)?, &format!("{place}: "))? as usize);
        let of_adamw = |name: &str, fits: fn(f64) -> bool| file["adamw"][name].as_f64().filter(|x| fits(*x)).ok_or_else(|| wrong(name));
        let part = |x| (0.0..1.0).contains(&x);
        let losses = file["losses"].as_array().ok_or_else(|| wrong("losses"))?;
        // A mean of negative logarithms of probabilities. What could not be compared with would be passed by everything.
        let losses: Option<Vec<f64>> = losses.iter().map(|loss| loss.as_f64().filter(|loss| *loss > 0.0 && loss.is_finite())).collect();
        Ok(Golden {
            text: file["text"].as_str().unwrap_or("the text").to_owned(),
            text_bytes: number("text_bytes")?,
            config: GptConfig {
                vocab: number("vocab").ok().filter(|n| (1..=256).contains(n)).ok_or_else(|| wrong("vocab"))? as usize,
                ctx: size("ctx", &limits::CTX)?,
                layers: size("layers", &limits::LAYERS)?,
                heads: size("heads", &limits::HEADS)?,
                dim: size("dim", &limits::DIM)?,
            },
            batch: size("batch", &limits::BATCH)?,
            seed: number("seed")?,
            lr: limits::rate(of_adamw("lr", |_| true)?, &format!("{place}: "))?,
            betas: [of_adamw("beta1", part)?, of_adamw("beta2", part)?],
            eps: of_adamw("eps", |x| x >= 0.0)?,
            weight_decay: of_adamw("weight_decay", |x| x >= 0.0)?,
            losses: losses.filter(|losses| !losses.is_empty()).ok_or_else(|| wrong("losses"))?,
        })
    }
}

/// Trains from PyTorch's initial weights on PyTorch's batches, and compares every loss.
fn compare(options: &Options, golden: &Path) -> Result<(), Failure> {
    const ALLOWED: f64 = 1e-3;
    let text = Text::read(&options.text)?;
    let file = Golden::read(golden)?;
    if (file.text_bytes, file.config.vocab) != (text.tokens.len() as u64, text.vocabulary.len()) {
        let (given, made) = (options.text.display(), golden.display());
        let cause = format!("{given}: is not the text that {made} was made from ({} bytes)", file.text_bytes);
        return Err(Failure::new(cause, format!("name {} with `--text`", file.text)));
    }
    let Golden { config, batch, seed, losses, .. } = file;
    text.check(config.ctx)?;

    let device = device(&options.common)?;
    limits::check_gpt(&config, batch, &device)?;
    let model = Gpt::new(config, &device)?;
    model.golden_init(seed)?;
    let [beta1, beta2] = file.betas;
    let mut optimizer = AdamW::new(model.parameters(), file.lr)?.betas(beta1, beta2).eps(file.eps).weight_decay(file.weight_decay);
    let (mut worst, mut off) = (0.0f64, Vec::new());
    let started = Instant::now();
    for (step, &expected) in losses.iter().enumerate() {
        let limit = (text.tokens.len() - config.ctx - 1) as u64;
        let word = |row: usize| u64::from(words(seed, 0xffff_ffff << 32, (step * batch + row) as u64)[0]);
        let starts: Vec<usize> = (0..batch).map(|row| (word(row) % limit) as usize).collect();
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

#[cfg(test)]
mod tests {
    use super::*;

    fn error(text: &str) -> String {
        match Golden::parse(text.as_bytes(), "golden.json") {
            Err(Failure::Error(text)) => text,
            _ => format!("accepted: {text}"),
        }
    }

    #[test]
    fn golden_files_that_check_nothing_are_refused() {
        let whole: Value = serde_json::from_str(include_str!("../../../../goldens/gpt_tiny_losses.json")).unwrap();
        assert!(Golden::parse(whole.to_string().as_bytes(), "golden.json").is_ok());
        let changed = |pointer: &str, value: Value| {
            let mut file = whole.clone();
            *file.pointer_mut(pointer).unwrap() = value;
            error(&file.to_string())
        };
        let mut wrong = vec![
            ("/losses", json!([])),
            ("/losses", json!(null)),
            ("/losses/3", json!("4.1")),
            ("/losses/3", json!(-4.1)),
            ("/losses/3", json!(0)),
            ("/vocab", json!(0)),
            ("/vocab", json!(257)),
            ("/seed", json!(-1)),
            ("/text_bytes", json!("many")),
        ];
        for size in ["/ctx", "/layers", "/heads", "/dim", "/batch"] {
            wrong
                .extend([json!(0), json!(4_294_967_295u32), json!(u64::MAX), json!(-1), json!(1.5), json!("8")].map(|value| (size, value)));
        }
        for rate in ["/adamw/lr", "/adamw/beta1", "/adamw/beta2", "/adamw/eps", "/adamw/weight_decay"] {
            wrong.extend([json!(-1), json!(null), json!("1e-3")].map(|value| (rate, value)));
        }
        for (pointer, value) in wrong {
            let error = changed(pointer, value.clone());
            assert!(error.starts_with("golden.json: ") && error.contains("help: "), "{pointer} {value}: {error}");
        }
        let deep = |open: &str| error(&open.repeat(100_000));
        assert!(deep("[").contains("is not JSON") && deep("{\"a\":").contains("is not JSON"));
        assert!(error("{}").contains("has no `"));
    }
}
