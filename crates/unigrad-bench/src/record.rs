//! What a run measured, and where: machine, device, settings, and every sample.
//!
//! In: blocks of samples. Out: the run as data, which a file keeps ([`crate::file`]) and a comparison reads ([`crate::Comparison`]).
//! Always: samples are kept, not only their middle; blocks are in the order in which they were measured.

use crate::statistics;
use unigrad_device::{Config, Device, Power, Products};

/// What a step of a workload does, for its rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Work {
    /// Floating-point operations.
    Flops(f64),
    /// Bytes that it must move: each input and output once.
    Bytes(f64),
    /// Things of this name: samples, tokens, parameters.
    Items(f64, &'static str),
}

impl Work {
    /// The rate of a step that takes so many milliseconds, and its unit.
    pub fn rate(self, ms: f64) -> (f64, String) {
        let per_second = |n: f64| n / (ms * 1e-3);
        match self {
            Work::Flops(n) => (per_second(n) / 1e9, "GFLOP/s".to_owned()),
            Work::Bytes(n) => (per_second(n) / 1e9, "GB/s".to_owned()),
            Work::Items(n, name) => (per_second(n), format!("{name}/s")),
        }
    }
}

/// Samples that were taken one after the other.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Block {
    /// Milliseconds that each step took.
    pub samples: Vec<f64>,
    /// Milliseconds of work that is always the same, measured around the block: how fast the machine was then.
    pub reference: Vec<f64>,
    /// Processor cores that other processes used meanwhile.
    pub others: f64,
    /// The device's power in watts at the end of the block, where it tells.
    pub watts: Option<f64>,
}

/// The share of the samples below the fast end of a block: what is seldom disturbed on a busy machine.
const FAST: f64 = 0.1;

impl Block {
    /// The middle sample in milliseconds, and the middle of the reference.
    pub fn middle(&self) -> (f64, f64) {
        (statistics::median(&self.samples), statistics::median(&self.reference))
    }

    /// The fastest tenth of the samples and of the reference.
    pub fn fast(&self) -> (f64, f64) {
        (statistics::quantile(&self.samples, FAST), statistics::quantile(&self.reference, FAST))
    }
}

/// All blocks of one workload.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Series {
    /// The workload's name.
    pub name: String,
    /// In the order in which they were measured.
    pub blocks: Vec<Block>,
}

impl Series {
    /// Milliseconds of a step: the median of the blocks' medians.
    pub fn ms(&self) -> f64 {
        statistics::median(&self.middles())
    }

    /// How much the blocks' medians differ, as a part of their own size: the standard deviation of their logarithms, as the median tells it.
    pub fn spread(&self) -> f64 {
        statistics::spread(&self.middles().iter().map(|ms| ms.ln()).collect::<Vec<_>>())
    }

    fn middles(&self) -> Vec<f64> {
        self.blocks.iter().map(|block| block.middle().0).collect()
    }
}

/// Where a run ran, and how: what must be alike for two runs to be compared.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Environment {
    /// The program's version.
    pub version: String,
    /// Operating system and processor family.
    pub system: String,
    /// The processor's name.
    pub processor: String,
    /// Its cores.
    pub cores: usize,
    /// `cpu:0`.
    pub device: String,
    /// The device's name and its driver's version.
    pub hardware: String,
    /// See `hardware`.
    pub driver: String,
    /// Names and values of settings that change how fast something runs.
    pub settings: Vec<(String, String)>,
}

/// How much a difference between the places of two runs matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Weight {
    /// Times cannot be compared.
    Forbids,
    /// They can, but the difference may be why they differ.
    Explains,
}

/// Something that two runs do not have in common.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference {
    /// What.
    pub what: String,
    /// In the first run and in the second.
    pub values: (String, String),
    /// How much it matters.
    pub weight: Weight,
}

impl std::fmt::Display for Difference {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: `{}` before, `{}` now", self.what, self.values.0, self.values.1)
    }
}

impl Environment {
    /// This process's, on a device.
    pub fn here(device: Device, threads: Option<usize>) -> Environment {
        let info = device.info();
        let text = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let named = text.lines().find_map(|line| line.strip_prefix("model name")?.trim_start().strip_prefix(':'));
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let config = Config::current_or_default();
        let products = match config.products {
            Products::Auto => "auto",
            Products::Own => "own",
            Products::Library => "library",
        };
        let power = match config.power {
            Power::Performance => "performance",
            Power::Efficiency => "efficiency",
        };
        let settings = [
            ("threads", threads.or(config.threads).unwrap_or(cores).to_string()),
            ("products", products.to_owned()),
            ("allow_tf32", config.allow_tf32.to_string()),
            ("power", power.to_owned()),
            ("scalars", format!("{:?}", config.scalars).to_ascii_lowercase()),
            ("features", info.features.join(", ")),
            ("build", if cfg!(debug_assertions) { "debug" } else { "release" }.to_owned()),
        ];
        Environment {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            system: format!("{} {}", std::env::consts::OS, std::env::consts::ARCH),
            processor: named.map_or(std::env::consts::ARCH, str::trim).to_owned(),
            cores,
            device: device.name().to_owned(),
            hardware: info.name,
            driver: info.version,
            settings: settings.map(|(name, value)| (name.to_owned(), value)).to_vec(),
        }
    }

    /// What differs from a later run's environment.
    pub fn differences(&self, now: &Environment) -> Vec<Difference> {
        let backend = |name: &str| name.split(':').next().unwrap_or_default().to_owned();
        let mut found = Vec::new();
        let mut look = |what: &str, before: &str, now: &str, weight: Weight| {
            if before != now {
                found.push(Difference { what: what.to_owned(), values: (before.to_owned(), now.to_owned()), weight });
            }
        };
        look("system", &self.system, &now.system, Weight::Forbids);
        look("processor", &self.processor, &now.processor, Weight::Forbids);
        look("processor cores", &self.cores.to_string(), &now.cores.to_string(), Weight::Forbids);
        look("backend", &backend(&self.device), &backend(&now.device), Weight::Forbids);
        look("device", &self.hardware, &now.hardware, Weight::Forbids);
        look("device's number", &self.device, &now.device, Weight::Explains);
        look("device's driver", &self.driver, &now.driver, Weight::Explains);
        let names: Vec<&String> = self.settings.iter().chain(&now.settings).map(|(name, _)| name).collect();
        for (at, name) in names.iter().enumerate() {
            if names[..at].contains(name) {
                continue;
            }
            let of = |environment: &Environment| {
                environment.settings.iter().find(|(known, _)| known == *name).map_or_else(|| "not told".to_owned(), |(_, v)| v.clone())
            };
            look(&format!("setting {name}"), &of(self), &of(now), Weight::Forbids);
        }
        found
    }
}

/// A run: what it measured, and where.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Run {
    /// Where.
    pub environment: Environment,
    /// What.
    pub series: Vec<Series>,
}
