//! `unigrad train gpt`: a character model of a text, and the comparison of its losses with PyTorch's.

use super::{
    Settings, check_data, device, done, end_if_interrupted, fingerprint, folder, interrupted, limits,
    output::{Output, Show},
    resumed, setting, source, trainer,
};
use crate::{Failure, args::Gpt as Options, stream::tell};
use serde_json::{Value, json};
use std::{cell::RefCell, path::Path, rc::Rc, time::Instant};
use unigrad::{
    data::{Source, Text, TextBatch},
    nn::{
        AdamW, Schedule, files,
        models::{Gpt, GptConfig},
        random::{Rng, words},
    },
    prelude::*,
    train::{Outcome, Supervised, network::GptForm, report::Report},
};

/// Steps between two tests.
const INTERVAL: usize = 100;
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
    let (checkpoint, lock) = saved.map(|saved| (saved.checkpoint, saved.lock)).unzip();
    let output = Rc::new(RefCell::new(Output::new(common, &folder, lock)?));
    manual_seed(seed);
    let model = Gpt::new(config, &device)?;
    let optimizer = AdamW::new(model.parameters(), lr)?.betas(0.9, 0.99).weight_decay(0.1).clip_norm(1.0);
    let settings: Settings = vec![
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
    let mut notes = Vec::new();
    if let Some(checkpoint) = &checkpoint {
        notes.push(format!("resumed after step {} of {steps}", checkpoint.n_steps()?));
    }
    notes.push(format!(
        "{}: {} characters, {} different; {} parameters on {device}, seed {seed}",
        options.text.display(),
        text.tokens.len(),
        text.vocabulary.len(),
        model.n_parameters()
    ));
    end_if_interrupted()?;
    let windows = Windows { text: train, seed, batch, ctx };
    let mut learner = Supervised::with(model, optimizer, |model: &Gpt, (x, y): &Pair| Ok(Outcome::new(model.loss(x, y), 1)));
    let n_epochs = usize::try_from(steps.div_ceil(INTERVAL as u64)).unwrap_or(usize::MAX);
    let show = Show { output: Rc::clone(&output), notes, unit: format!("{INTERVAL} steps"), n_epochs, steps: Some(steps) };
    let trainer = trainer(&device, &folder, &settings, &data, checkpoint, show)
        .steps(steps)
        .schedule(schedule)
        .title("unigrad: gpt")
        .save_model(false);
    let trainer = trainer.profile(options.common.profile.unwrap_or(0));
    let run = match &test {
        Some(test) => {
            let mut judge = |learner: &mut Supervised<Gpt, AdamW, Pair>| {
                let loss = test_loss(&learner.model, test, seed, batch, &device)?;
                Ok(Some(vec![("loss".to_owned(), loss)]))
            };
            trainer.fit_judged(&mut learner, &windows, &mut judge)
        }
        None => trainer.fit(&mut learner, &windows, None),
    };
    let run = done(run, &output)?;
    // With what `unigrad predict` needs beside the weights.
    GptForm::of(&learner.model, &text.vocabulary).save(&learner.model, output.borrow().model_path())?;
    output.borrow().profile(options.common.profile.unwrap_or(0), run.profile.as_ref());

    let prompt: Vec<usize> = options.prompt.bytes().filter_map(|b| text.vocabulary.encode(&[b])).flatten().map(usize::from).collect();
    let sample = text.vocabulary.decode(&sample(&learner.model, prompt, options, seed, &device, &output.borrow())?);
    let mut output = output.borrow_mut();
    output.note(&format!("sample:\n{sample}"));
    output.write_report(&Report { samples: Some(sample), ..run.report })?;
    let seconds: f64 = run.history.seconds.iter().sum();
    let more = json!({ "seconds": seconds, "steps": run.n_steps });
    match run.history.last("val_loss") {
        Some(loss) => output.result("test loss", loss, more),
        None => output.result("train loss", run.history.last("loss").unwrap_or(f64::NAN), more),
    }
    Ok(())
}

/// Tokens and, for each, the one that follows.
type Pair = (Tensor, Tensor);

fn upload(batch: &TextBatch, ctx: usize, device: &Device) -> Pair {
    let shape = [batch.inputs.len() / ctx.max(1), ctx];
    (Tensor::from_slice(&batch.inputs, shape, device), Tensor::from_slice(&batch.targets, shape, device))
}

/// Windows of a text; an epoch is the steps between two tests.
struct Windows {
    text: Text,
    seed: u64,
    batch: usize,
    ctx: usize,
}

impl Source for Windows {
    type Batch = Pair;

    fn n_items(&self) -> usize {
        INTERVAL
    }

    fn n_batches(&self) -> usize {
        INTERVAL
    }

    fn batches(&self, epoch: u64, first: usize, device: &Device) -> unigrad::Result<Box<dyn Iterator<Item = unigrad::Result<Pair>> + '_>> {
        let device = *device;
        let of = move |at: usize| {
            let step = epoch * INTERVAL as u64 + at as u64;
            Ok(upload(&self.text.batch(self.seed, step, self.batch, self.ctx), self.ctx, &device))
        };
        Ok(Box::new((first..INTERVAL).map(of)))
    }
}

/// The mean loss over a few windows that are the same every time.
fn test_loss(model: &Gpt, text: &Text, seed: u64, batch: usize, device: &Device) -> unigrad::Result<f64> {
    const BATCHES: u64 = 8;
    let mut sum = 0.0;
    for i in 0..BATCHES {
        let ctx = model.config().ctx;
        let (x, y) = upload(&text.batch(seed, TEST_STREAM + i, batch, ctx), ctx, device);
        sum += f64::from(no_grad(|| model.loss(&x, &y)).item::<f32>()?);
    }
    Ok(sum / BATCHES as f64)
}

/// Continues `prompt`, one token after the other, so that Ctrl-C is heard between them.
fn sample(model: &Gpt, prompt: Vec<usize>, options: &Options, seed: u64, device: &Device, output: &Output) -> Result<Vec<usize>, Failure> {
    let mut rng = Rng::new(seed, SAMPLE_STREAM);
    let mut tokens = if prompt.is_empty() { vec![0] } else { prompt };
    for _ in 0..options.sample {
        if interrupted() {
            tell(format_args!("interrupted while it wrote a sample; the model is in {}", output.model_path().display()));
            return Err(Failure::Interrupted);
        }
        let seen = &tokens[tokens.len().saturating_sub(model.config().ctx)..];
        let longer = model.sample(seen, 1, options.temperature, &mut rng, device)?;
        tokens.extend(longer.last());
    }
    Ok(tokens)
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
