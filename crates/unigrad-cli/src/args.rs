//! What the command line accepts.

use clap::{Args, Parser, Subcommand, ValueEnum};
use std::path::PathBuf;

/// A deep-learning framework: train, inspect, measure.
#[derive(Parser, Debug)]
#[command(name = "unigrad", version, about, propagate_version = true)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Subcommand, Debug)]
pub(crate) enum Command {
    /// Train a model.
    #[command(subcommand)]
    Train(Box<Train>),
    /// List the devices of this machine.
    Devices(Devices),
    /// List the tensors of a file: safetensors, an index of parts, PyTorch's .pt, NPY, NPZ.
    #[command(after_help = INSPECT)]
    Inspect(Inspect),
    /// Measure the workloads that other frameworks are measured on.
    Bench(Bench),
    /// Draw several runs in one page.
    #[command(after_help = "Example: unigrad compare runs/digits runs/other --out compare.html")]
    Compare(Compare),
}

#[derive(Subcommand, Debug)]
pub(crate) enum Train {
    /// Handwritten digits that ship with the program (UCI optical digits, 8x8 pixels).
    Digits(Digits),
    /// MNIST, from a folder with the IDX files as published.
    Mnist(Mnist),
    /// A character model of a text; samples from it at the end.
    Gpt(Gpt),
}

/// What every training run accepts.
#[derive(Args, Debug, Clone)]
pub(crate) struct Common {
    /// Device to train on, as `unigrad devices` lists it [default: the best].
    #[arg(long, value_name = "NAME")]
    pub(crate) device: Option<String>,
    /// Threads of the CPU [default: all].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=unigrad::device::MAX_THREADS as i64))]
    pub(crate) threads: Option<u32>,
    /// Seed of weights, order and augmentation [default: 0].
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
    /// Examples per step, at most 16777216.
    #[arg(long, value_name = "N")]
    pub(crate) batch: Option<u32>,
    /// The greatest learning rate.
    #[arg(long, value_name = "RATE", value_parser = learning_rate, allow_negative_numbers = true)]
    pub(crate) lr: Option<f64>,
    /// Folder for model.safetensors, checkpoint.safetensors, metrics.csv and report.html [default: runs/<what is trained>].
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Continue the interrupted run in the output folder; the result is that of a run that was not interrupted.
    #[arg(long)]
    pub(crate) resume: bool,
    /// Print one JSON object per line instead of text.
    #[arg(long)]
    pub(crate) json: bool,
    /// Print the last line only.
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ImageModel {
    /// Two convolutions, a pool, two linear layers.
    Cnn,
    /// Three linear layers.
    Mlp,
}

#[derive(Args, Debug)]
pub(crate) struct Digits {
    /// The network.
    #[arg(long, value_enum)]
    pub(crate) model: Option<ImageModel>,
    /// How often every example is seen.
    #[arg(long, value_name = "N")]
    pub(crate) epochs: Option<u32>,
    #[command(flatten)]
    pub(crate) common: Common,
}

#[derive(Args, Debug)]
pub(crate) struct Mnist {
    /// Folder with the four files as published, plain or .gz; at least the two that begin with t10k.
    #[arg(long, value_name = "DIR")]
    pub(crate) data: PathBuf,
    /// The network.
    #[arg(long, value_enum)]
    pub(crate) model: Option<ImageModel>,
    /// How often every example is seen.
    #[arg(long, value_name = "N")]
    pub(crate) epochs: Option<u32>,
    #[command(flatten)]
    pub(crate) common: Common,
}

#[derive(Args, Debug)]
pub(crate) struct Gpt {
    /// The text to learn.
    #[arg(long, value_name = "FILE")]
    pub(crate) text: PathBuf,
    /// Blocks [default: 6].
    #[arg(long, value_name = "N")]
    pub(crate) layers: Option<usize>,
    /// Attention heads of a block [default: 6].
    #[arg(long, value_name = "N")]
    pub(crate) heads: Option<usize>,
    /// Width [default: 384].
    #[arg(long, value_name = "N")]
    pub(crate) dim: Option<usize>,
    /// Characters the model sees at once [default: 256].
    #[arg(long, value_name = "N")]
    pub(crate) ctx: Option<usize>,
    /// Steps to train; with `--epochs`, as many as see the text that often [default: 1000].
    #[arg(long, value_name = "N")]
    pub(crate) steps: Option<u64>,
    /// How often the text is seen, on average.
    #[arg(long, value_name = "N", conflicts_with = "steps")]
    pub(crate) epochs: Option<u32>,
    /// Characters to write at the end.
    #[arg(long, value_name = "N", default_value_t = 400)]
    pub(crate) sample: usize,
    /// What the sample begins with.
    #[arg(long, value_name = "TEXT", default_value = "\n")]
    pub(crate) prompt: String,
    /// How freely the sample is drawn; 0 takes the likeliest character always.
    #[arg(long, value_name = "T", default_value_t = 0.8, value_parser = temperature, allow_negative_numbers = true)]
    pub(crate) temperature: f64,
    /// Train as this file of PyTorch's losses says, compare every loss with it, and fail where one is more than 1e-3 off.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["layers", "heads", "dim", "ctx", "steps", "epochs", "batch", "lr", "seed", "resume"])]
    pub(crate) golden: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) common: Common,
}

#[derive(Args, Debug)]
pub(crate) struct Compare {
    /// Folders of runs, or their checkpoints.
    #[arg(required = true, value_name = "RUN")]
    pub(crate) runs: Vec<PathBuf>,
    /// The page.
    #[arg(long, value_name = "FILE", default_value = "compare.html")]
    pub(crate) out: PathBuf,
}

#[derive(Args, Debug)]
#[command(after_help = "Example:
  unigrad devices -v")]
pub(crate) struct Devices {
    /// Also features, versions, and why other devices were not found.
    #[arg(long, short)]
    pub(crate) verbose: bool,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

const INSPECT: &str = "\
Examples:
  unigrad inspect model.safetensors
  unigrad inspect checkpoint.pt --prefix model_state_dict. --json

The file is read as data and never run: one that holds code is refused, with the code's name.";

#[derive(Args, Debug)]
pub(crate) struct Inspect {
    /// The file: told by its content, whatever its name.
    pub(crate) file: PathBuf,
    /// Only tensors whose names begin with this.
    #[arg(long, value_name = "TEXT", default_value = "")]
    pub(crate) prefix: String,
    /// Print one JSON object.
    #[arg(long)]
    pub(crate) json: bool,
}

fn learning_rate(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(rate) if rate > 0.0 && rate.is_finite() => Ok(rate),
        _ => Err("a learning rate is a finite number above 0".to_owned()),
    }
}

fn temperature(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(temperature) if temperature >= 0.0 && temperature.is_finite() => Ok(temperature),
        _ => Err("a temperature is a finite number, 0 or above".to_owned()),
    }
}

fn seconds(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(seconds) if seconds > 0.0 && seconds <= 86400.0 => Ok(seconds),
        _ => Err("a time is a number of seconds above 0, at most a day".to_owned()),
    }
}

#[derive(Args, Debug)]
#[command(after_help = "Examples:
  unigrad bench W4 W6 --device cpu
  unigrad bench --save before.json     # then change the program, build it, and
  unigrad bench --compare before.json
  unigrad bench --against ./unigrad-before W4
  unigrad bench scalars small --device cpu --beside gpu")]
pub(crate) struct Bench {
    /// Which: W1 (matmul), W1b (bf16), W2 (GELU chain), W3 (softmax, layer norm), W4 (MLP), W5 (CNN), W6 (GPT), W7 (LSTM), W8 (AdamW), scalars (single
    /// operations), small (a network of 661 numbers), or one workload's own name; host (what the host adds to small steps), kernels (single kernels against the
    /// device's ceilings), plan [default: W1 to W8; with --compare, what the file has].
    pub(crate) workloads: Vec<String>,
    /// Device to measure, as `unigrad devices` lists it [default: the best].
    #[arg(long, value_name = "NAME")]
    pub(crate) device: Option<String>,
    /// Threads of the CPU [default: all].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=unigrad::device::MAX_THREADS as i64))]
    pub(crate) threads: Option<u32>,
    /// Seconds spent on one timing; with --save, --compare and --against, on each workload of a program.
    #[arg(long, value_name = "SECONDS", default_value_t = 4.0, value_parser = seconds, allow_negative_numbers = true)]
    pub(crate) secs: f64,
    /// Keep every sample in this file, with machine, device and settings.
    #[arg(long, value_name = "FILE")]
    pub(crate) save: Option<PathBuf>,
    /// Measure what this file has, and tell what is slower now, beyond the noise of both runs; the exit status is then 1.
    #[arg(long, value_name = "FILE", conflicts_with = "against")]
    pub(crate) compare: Option<PathBuf>,
    /// Measure another build of this program and this one in turns, so that what changes with time cancels; the exit status is 1 if this one is slower.
    #[arg(long, value_name = "BINARY", conflicts_with = "save")]
    pub(crate) against: Option<PathBuf>,
    /// Measure this device too, and print a table of both; may be given several times.
    #[arg(long, value_name = "NAME", conflicts_with_all = ["save", "compare", "against"])]
    pub(crate) beside: Vec<String>,
    /// Parts into which the time of each workload is split, spread over the run.
    #[arg(long, value_name = "N", default_value_t = 24, value_parser = clap::value_parser!(u32).range(1..=60))]
    pub(crate) blocks: u32,
    /// Print one JSON object per measurement.
    #[arg(long)]
    pub(crate) json: bool,
    /// Measure for another process, which asks on standard input.
    #[arg(long, hide = true, conflicts_with_all = ["save", "compare", "against", "beside"])]
    pub(crate) serve: bool,
}
