//! What the command line accepts.

use clap::{Args, Parser, Subcommand, ValueEnum};
use std::path::PathBuf;
use unigrad::train::network::CsvData;

const HELP: &str = "Examples:
  unigrad devices
  unigrad train digits --epochs 10
  unigrad train csv --data iris.csv --target species
  unigrad predict --model runs/csv/model.safetensors new.csv";

const TRAIN_HELP: &str = "Examples:
  unigrad train digits --model mlp --epochs 10
  unigrad train config run.toml
  unigrad train digits --help";

/// A deep-learning framework: train, inspect, measure.
#[derive(Parser, Debug)]
#[command(name = "unigrad", version, about, propagate_version = true, after_help = HELP)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Subcommand, Debug)]
pub(crate) enum Command {
    /// Train a model.
    #[command(subcommand, after_help = TRAIN_HELP)]
    Train(Box<Train>),
    /// List the devices of this machine.
    #[command(after_help = "Example:\n  unigrad devices --verbose")]
    Devices(Devices),
    /// List the tensors of a file: safetensors, an index of parts, PyTorch's .pt, NPY, NPZ.
    #[command(after_help = INSPECT)]
    Inspect(Inspect),
    /// Answer rows of tables, or images, by a model that `train csv`, `train images` or `train config` made.
    #[command(
        after_help = "Examples:\n  unigrad predict --model runs/csv/model.safetensors new.csv --out answers.csv\n  unigrad predict --model runs/gpt/model.safetensors --prompt \"Shall I\" --max-tokens 200 --top-p 0.9 --seed 7\n  echo -n \"Shall I\" | unigrad predict --model runs/gpt/model.safetensors -"
    )]
    Predict(Predict),
    /// Measure the workloads that other frameworks are measured on.
    Bench(Bench),
    /// Draw several runs in one page.
    #[command(after_help = "Example: unigrad compare runs/digits runs/other --out compare.html")]
    Compare(Compare),
}

#[derive(Subcommand, Debug)]
pub(crate) enum Train {
    /// Handwritten digits that ship with the program (UCI optical digits, 8x8 pixels).
    #[command(after_help = "Examples:\n  unigrad train digits --model mlp --epochs 10\n  unigrad train digits --epochs 1 --profile 20")]
    Digits(Digits),
    /// MNIST, from a folder with the IDX files as published.
    #[command(
        after_help = "Examples:\n  unigrad train mnist --data mnist/ --epochs 6\n  unigrad train mnist --data mnist/ --epochs 1 --profile 20"
    )]
    Mnist(Mnist),
    /// A character model of a text; samples from it at the end.
    #[command(after_help = "Example:\n  unigrad train gpt --text sonnets.txt --steps 2000 --sample 400")]
    Gpt(Gpt),
    /// A table: classes or numbers of one column, from the others. The encoding is saved with the model.
    #[command(
        after_help = "Example:\n  unigrad train csv --data iris.csv --target species --epochs 50\n  unigrad train csv --data iris.csv --target species --profile 20\n  unigrad predict --model runs/csv/model.safetensors new.csv"
    )]
    Csv(CsvTable),
    /// Image files (PNG, JPEG, WebP) in a folder for each class.
    #[command(
        after_help = "Example:\n  unigrad train images photos/ --size 64 --epochs 20\n  unigrad train images photos/ --profile 20\n  unigrad predict --model runs/images/model.safetensors one.jpg two.png"
    )]
    Images(ImageFiles),
    /// A whole run in a TOML file: data, network, loss, optimizer, schedule, settings.
    #[command(after_help = CONFIG_HELP)]
    Config(Config),
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
    /// Profile N steps, after the first few: trace.json, kernels.txt and profile.html in the output folder, the table of kernels and a verdict here.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=100_000))]
    pub(crate) profile: Option<u64>,
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

/// A file that `train config` takes.
const CONFIG_HELP: &str = "\
Example: unigrad train config iris.toml, with this in iris.toml:
  loss = \"cross_entropy\"          # without it: what is usual for the data
  [data.csv]                      # or images, digits, mnist, fashion_mnist, cifar10, cifar100, idx, npy, npz, text, texts
  file = \"iris.csv\"
  target = \"species\"
  [network]
  layers = [
      { dense = { units = 64 }, name = \"stem\" },
      \"relu\",
      { dropout = { p = 0.1 } },
      \"output\",                   # as many units as the data need
  ]
  [optimizer.adamw]
  lr = 1e-3
  [schedule.cosine]
  warmup = 20
  [[groups]]                      # parameters with settings of their own
  parameters = [\"*.bias\", \"stem\"] # or frozen = true
  weight_decay = 0.0
  [train]
  max_epochs = 50
  batch_size = 32
  validation_split = 0.2
  precision = \"bf16\"            # or f32, f16, fp8
  clip_norm = 1.0
  ema = 0.999
  metrics = [\"accuracy\", { top_k = { k = 3 } }]
  keep_best = { metric = \"val_accuracy\", better = \"higher\" }
  early_stopping = { patience = 5 }
  tensorboard = true
With augmentation of pictures, samplers and folds (`docs/training.md` has all keys):
  split = { folds = { k = 5, fold = 0 } }
  [augment]
  pictures = [{ random_crop = { height = 32, width = 32, padding = 4 } }, \"horizontal_flip\"]
  mixup = 0.2
  [loader]
  sampler = \"balanced\"
  workers = 4

With a profile of 20 steps: unigrad train config iris.toml --profile 20";

#[derive(Args, Debug)]
pub(crate) struct CsvTable {
    /// The file; its first line has the columns' names, unless `--no-header` says otherwise.
    #[arg(long, value_name = "FILE")]
    pub(crate) data: PathBuf,
    /// The column to be answered; given several times, numbers that are answered together.
    #[arg(long, value_name = "COLUMN", required = true)]
    pub(crate) target: Vec<String>,
    /// What the answer is [default: guessed from the column].
    #[arg(long, value_enum)]
    pub(crate) task: Option<TableTask>,
    /// A column to be left out; may be given several times.
    #[arg(long, value_name = "COLUMN")]
    pub(crate) ignore: Vec<String>,
    #[command(flatten)]
    pub(crate) written: Written,
    /// Take cells that say `nan` for cells without a value.
    #[arg(long)]
    pub(crate) nan_is_missing: bool,
    /// Units of hidden layers [default: 64 64].
    #[arg(long, value_name = "N", num_args = 1..)]
    pub(crate) hidden: Vec<usize>,
    /// How often every row is seen [default: 100].
    #[arg(long, value_name = "N")]
    pub(crate) epochs: Option<u32>,
    #[command(flatten)]
    pub(crate) common: Common,
}

/// How CSV files are written.
#[derive(Args, Clone, Debug)]
pub(crate) struct Written {
    /// What stands between cells of CSV files [default: a comma].
    #[arg(long, value_name = "CHARACTER")]
    pub(crate) delimiter: Option<char>,
    /// What quotes cells of CSV files; nothing where it is empty [default: "].
    #[arg(long, value_name = "CHARACTER")]
    pub(crate) quote: Option<String>,
    /// The first line of CSV files is a row: columns are called `column 1` and so on.
    #[arg(long)]
    pub(crate) no_header: bool,
}

impl Written {
    /// A file that is written so.
    pub(crate) fn csv(&self) -> CsvData {
        CsvData { delimiter: self.delimiter, quote: self.quote.clone(), header: !self.no_header, ..CsvData::default() }
    }
}

#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TableTask {
    /// One of some classes.
    Classification,
    /// A number.
    Regression,
}

#[derive(Args, Debug)]
pub(crate) struct ImageFiles {
    /// The folder; its sub-folders are the classes.
    pub(crate) folder: PathBuf,
    /// Height and width that images are resized to [default: 64].
    #[arg(long, value_name = "N")]
    pub(crate) size: Option<usize>,
    /// Make images grey.
    #[arg(long)]
    pub(crate) grey: bool,
    /// How often every image is seen [default: 20].
    #[arg(long, value_name = "N")]
    pub(crate) epochs: Option<u32>,
    #[command(flatten)]
    pub(crate) common: Common,
}

#[derive(Args, Debug)]
pub(crate) struct Config {
    /// The file.
    pub(crate) file: PathBuf,
    #[command(flatten)]
    pub(crate) common: Common,
}

#[derive(Args, Debug)]
pub(crate) struct Predict {
    /// The model file.
    #[arg(long, value_name = "FILE")]
    pub(crate) model: PathBuf,
    /// CSV files, image files, files of arrays (IDX, NPY, NPZ), or files with the beginning of a text to be continued, or with a text in each line to be classified; `-` is standard
    /// input, of texts only.
    #[arg(required_unless_present = "prompt", value_name = "INPUT")]
    pub(crate) inputs: Vec<PathBuf>,
    /// The beginning of a text to be continued, or a text to be classified; may be given several times.
    #[arg(long, value_name = "TEXT")]
    pub(crate) prompt: Vec<String>,
    #[command(flatten)]
    pub(crate) writing: Writing,
    /// Write the answers to this CSV file instead of standard output.
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) written: Written,
    /// Device to compute on, as `unigrad devices` lists it [default: the best].
    #[arg(long, value_name = "NAME")]
    pub(crate) device: Option<String>,
    /// Print one JSON object for each answer.
    #[arg(long, conflicts_with = "out")]
    pub(crate) json: bool,
}

/// How texts are continued.
#[derive(Args, Debug)]
pub(crate) struct Writing {
    /// Tokens to be written after the beginning of a text [default: 200].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(0..=1_000_000), allow_negative_numbers = true)]
    pub(crate) max_tokens: Option<u32>,
    /// How freely tokens are drawn; 0 takes the likeliest always [default: 0.8].
    #[arg(long, value_name = "T", value_parser = temperature, allow_negative_numbers = true)]
    pub(crate) temperature: Option<f64>,
    /// Tokens are drawn among the N likeliest.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) top_k: Option<u32>,
    /// Tokens are drawn among the fewest that have this probability together.
    #[arg(long, value_name = "P", value_parser = top_p, allow_negative_numbers = true)]
    pub(crate) top_p: Option<f64>,
    /// Where random numbers begin [default: 0].
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
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

fn top_p(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(p) if p > 0.0 && p <= 1.0 => Ok(p),
        _ => Err("a probability here is a number above 0, at most 1".to_owned()),
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
  unigrad bench scalars small --device cpu --beside gpu
  unigrad bench table --device gpu --cold --save table.json --html table.html
  unigrad bench table decode_7b prefill_7b gpt2 --secs 2 --json
  unigrad bench table --from table.json --html table.html")]
pub(crate) struct Bench {
    /// Which: W1 (matmul), W1b (bf16), W2 (GELU chain), W3 (softmax, layer norm), W4 (MLP), W5 (CNN), W6 (GPT), W7 (LSTM), W8 (AdamW), replay (W4 by `replay`), scalars (single
    /// operations), small (a network of 661 numbers), or one workload's own name; host (what the host adds to small steps), kernels (single kernels against the
    /// device's ceilings), plan; or `table`, alone or with names of its sections and rows: kernels, training steps and a decoder of 7 billion numbers, each a process of
    /// its own, beside ceilings that are measured in the same run [default: W1 to W8; with --compare, what the file has; with --html, table].
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
    /// With `table`: write a page with bars against the ceilings.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["compare", "against", "beside"])]
    pub(crate) html: Option<PathBuf>,
    /// With `table`: measure nothing, and take what `table --save` wrote.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["save", "compare", "against", "beside", "cold", "device"])]
    pub(crate) from: Option<PathBuf>,
    /// With `table`: time the first step of each row with an empty cache of kernels too.
    #[arg(long)]
    pub(crate) cold: bool,
    /// With `table`: rows are made smaller until a step takes at most so many seconds at the device's ceiling, and left out where that does not do.
    #[arg(long, value_name = "SECONDS", default_value_t = 2.0, value_parser = seconds, allow_negative_numbers = true)]
    pub(crate) longest: f64,
    /// Measure one row of the table for another process: a name, and how many times smaller it is.
    #[arg(long, hide = true, num_args = 2, value_names = ["NAME", "DIVISOR"], conflicts_with_all = ["save", "compare", "against", "beside", "serve", "html", "from"])]
    pub(crate) row: Vec<String>,
    /// End after the first step.
    #[arg(long, hide = true, requires = "row")]
    pub(crate) first: bool,
    /// Measure for another process, which asks on standard input.
    #[arg(long, hide = true, conflicts_with_all = ["save", "compare", "against", "beside"])]
    pub(crate) serve: bool,
}
