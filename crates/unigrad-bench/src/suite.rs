//! A benchmark as a library call: throughput of a device, or of several side by side.
//!
//! In: devices, workloads, how long. Out: [`Results`], with rates as parts of what the device's memory does; printed as a table.
//! Always: with several devices, their blocks take turns. Power is what the vendor's management library tells, and absent elsewhere.

use crate::{
    case::Workload,
    measure::{InProcess, Side},
    record::{Block, Series, Work},
    timing::settle,
    workloads,
};
use std::{fmt, time::Instant};
use unigrad_device::{Background, Device, Info, STATED_BANDWIDTH, in_background};
use unigrad_nn as nn;
use unigrad_tensor::{Error, Result};

/// What a benchmark measures, and for how long.
#[derive(Clone, Debug, PartialEq)]
pub struct BenchmarkConfig {
    /// Seconds for each workload.
    pub seconds: f64,
    /// Parts of that time, spread over the run.
    pub n_blocks: usize,
    /// Groups or names of workloads; all where there are none.
    pub only: Vec<String>,
}

impl Default for BenchmarkConfig {
    /// 1 second in 5 blocks for each.
    fn default() -> BenchmarkConfig {
        BenchmarkConfig { seconds: 1.0, n_blocks: 5, only: Vec::new() }
    }
}

/// A benchmark to run on devices: scalar operations, a small network, matrix products, elementwise and row kernels, an optimizer's step.
///
/// ```
/// # extern crate unigrad_cpu;
/// use unigrad_bench::{Benchmark, BenchmarkConfig, Case, Work, Workload};
/// # unigrad_device::register(unigrad_cpu::CpuDriver);
/// let device = unigrad_device::Device::open("cpu")?;
/// let config = BenchmarkConfig { seconds: 0.02, n_blocks: 2, only: vec!["mine".into(), "scalars".into()] };
/// let mine = Workload::new("mine", "log", |device| {
///     let x = unigrad_tensor::Tensor::ones([1 << 16], unigrad_tensor::DType::F32, device).realize()?;
///     Ok(Case::new(Work::Bytes(8.0 * 65536.0), move || x.log().realize().map(drop)))
/// });
/// let beside = Benchmark::new().with_config(config).with_workload(mine).run_beside(&[device])?;
/// println!("{beside}");
/// assert_eq!(beside.results[0].measurements.len(), 5);
/// # Ok::<(), unigrad_tensor::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Benchmark {
    config: BenchmarkConfig,
    workloads: Vec<Workload>,
}

impl Default for Benchmark {
    fn default() -> Benchmark {
        Benchmark::new()
    }
}

impl Benchmark {
    /// With the workloads that fit every device.
    pub fn new() -> Benchmark {
        const GROUPS: [&str; 5] = ["scalars", "small", "W1", "W2", "W3"];
        let all = workloads::all();
        let mut workloads: Vec<Workload> =
            GROUPS.iter().flat_map(|group| all.iter().filter(move |workload| workload.group() == *group).cloned()).collect();
        workloads.push(Workload::update("adamw_4M_in_8", 4 << 20, 8, |parameters| nn::AdamW::new(parameters, 1e-3)));
        Benchmark { config: BenchmarkConfig::default(), workloads }
    }

    /// What is measured, and how long.
    pub fn with_config(mut self, config: BenchmarkConfig) -> Benchmark {
        self.config = config;
        self
    }

    /// Measures this too, and instead of one of the same name.
    pub fn with_workload(mut self, workload: Workload) -> Benchmark {
        self.workloads.retain(|known| known.name() != workload.name());
        self.workloads.push(workload);
        self
    }

    /// Measures an optimizer's step too: an update of 4 million numbers in 8 tensors.
    ///
    /// ```
    /// use unigrad_bench::Benchmark;
    /// let benchmark = Benchmark::new().with_optimizer("sgd", |parameters| unigrad_nn::Sgd::new(parameters, 0.1));
    /// ```
    pub fn with_optimizer<R: nn::Rule + 'static>(
        self,
        name: &str,
        optimizer: impl Fn(Vec<unigrad_tensor::Tensor>) -> Result<nn::Optimizer<R>> + Send + Sync + 'static,
    ) -> Benchmark {
        self.with_workload(Workload::update(name, 4 << 20, 8, optimizer))
    }

    /// Runs on one device.
    pub fn run(&self, device: &Device) -> Result<Results> {
        let mut beside = self.run_beside(std::slice::from_ref(device))?;
        beside.results.pop().ok_or_else(|| Error::Internal("a benchmark of one device has no result".into()))
    }

    /// As [`Benchmark::run`], on a thread of its own.
    pub fn run_async(self, device: Device) -> Background<Result<Results>> {
        in_background(move || self.run(&device))
    }

    /// Runs on several devices; their blocks take turns.
    pub fn run_beside(&self, devices: &[Device]) -> Result<Beside> {
        let BenchmarkConfig { seconds, n_blocks, only } = &self.config;
        if devices.is_empty() || *n_blocks == 0 || !(*seconds > 0.0 && seconds.is_finite()) {
            let cause = format!("{} devices, {n_blocks} blocks, {seconds} seconds", devices.len());
            return Err(Error::argument(cause, "give a device, a block and a time above 0 at least"));
        }
        if let Some(name) = only.iter().find(|name| !self.workloads.iter().any(|workload| workload.is_called(name))) {
            let known: Vec<&str> = self.workloads.iter().map(Workload::name).collect();
            return Err(Error::argument(format!("no workload is called {name}"), format!("choose from {}", known.join(", "))));
        }
        let is_wanted = |workload: &&Workload| only.is_empty() || only.iter().any(|name| workload.is_called(name));
        let workloads: Vec<Workload> = self.workloads.iter().filter(is_wanted).cloned().collect();
        let mut sides = Vec::new();
        for device in devices {
            sides.push((*device, InProcess::new(*device, None, workloads.clone())?));
        }
        let mut blocks: Vec<Vec<Vec<Block>>> = vec![vec![Vec::new(); workloads.len()]; sides.len()];
        for round in 0..*n_blocks {
            for at in 0..workloads.len() {
                for turn in 0..sides.len() {
                    let side = (turn + round) % sides.len();
                    let block = sides[side].1.block(workloads[at].name(), seconds / *n_blocks as f64)?;
                    blocks[side][at].push(block);
                }
            }
        }
        let mut results = Vec::new();
        for ((device, mut side), blocks) in sides.into_iter().zip(blocks) {
            let info = device.info();
            let copy = copy_rate(device)?;
            let stated = info.limits.iter().find(|(name, _)| *name == STATED_BANDWIDTH).map(|(_, bytes)| *bytes as f64 / 1e9);
            let mut measurements = Vec::new();
            for (workload, blocks) in workloads.iter().zip(blocks) {
                let work = side.work(workload.name())?;
                measurements.push(Measurement::of(Series { name: workload.name().to_owned(), blocks }, work, copy, stated));
            }
            let throughput = measurements.iter().filter(|m| m.unit == "GFLOP/s").map(|m| m.rate).fold(0.0, f64::max);
            results.push(Results {
                device: device.name().to_owned(),
                info,
                throughput,
                copy_gb_per_s: copy,
                stated_gb_per_s: stated,
                measurements,
            });
        }
        Ok(Beside { results })
    }
}

/// GB/s of a copy within the device, read and written bytes counted: the fastest of some.
fn copy_rate(device: Device) -> Result<f64> {
    let bytes = if device.info().is_gpu() { 256 << 20 } else { 32 << 20 };
    let (from, to) = (device.allocate_with(&vec![0; bytes])?, device.allocate(bytes)?);
    let mut best = f64::INFINITY;
    for _ in 0..5 {
        let begin = Instant::now();
        to.copy_from(0, &from, 0, bytes)?;
        settle()?;
        best = best.min(begin.elapsed().as_secs_f64());
    }
    Ok(2.0 * bytes as f64 / best.max(1e-9) / 1e9)
}

/// One workload on one device.
#[derive(Clone, Debug, PartialEq)]
pub struct Measurement {
    /// The workload.
    pub name: String,
    /// Milliseconds of a step: the median of the blocks' medians.
    pub ms: f64,
    /// How much the blocks differ, as a part.
    pub spread: f64,
    /// What a second does, in `unit`.
    pub rate: f64,
    /// `GFLOP/s`, `GB/s`, `samples/s`, ..
    pub unit: String,
    /// For a rate in GB/s: its part of what a copy within the device reached.
    pub of_copy: Option<f64>,
    /// For a rate in GB/s: its part of the memory's rate by the data sheet, where the driver knows it.
    pub of_stated: Option<f64>,
    /// Watts that the device drew, where it tells: the mean over the blocks.
    pub watts: Option<f64>,
    /// Joules of a step, from watts and time.
    pub joules: Option<f64>,
}

impl Measurement {
    fn of(series: Series, work: Work, copy: f64, stated: Option<f64>) -> Measurement {
        let ms = series.ms();
        let (rate, unit) = work.rate(ms);
        let moved = matches!(work, Work::Bytes(_));
        let told: Vec<f64> = series.blocks.iter().filter_map(|block| block.watts).collect();
        let watts = (!told.is_empty()).then(|| told.iter().sum::<f64>() / told.len() as f64);
        Measurement {
            ms,
            spread: series.spread(),
            rate,
            unit,
            of_copy: moved.then(|| rate / copy),
            of_stated: stated.filter(|_| moved).map(|stated| rate / stated),
            watts,
            joules: watts.map(|watts| watts * ms * 1e-3),
            name: series.name,
        }
    }
}

/// What a device does.
#[derive(Clone, Debug, PartialEq)]
pub struct Results {
    /// Its name.
    pub device: String,
    /// What it is.
    pub info: Info,
    /// GFLOP/s of the best of the workloads that count them; 0 where none does.
    pub throughput: f64,
    /// GB/s of a copy within its memory, measured: bytes read and written.
    pub copy_gb_per_s: f64,
    /// GB/s of its memory by the data sheet, where the driver knows it.
    pub stated_gb_per_s: Option<f64>,
    /// Each workload.
    pub measurements: Vec<Measurement>,
}

impl fmt::Display for Results {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let stated = self.stated_gb_per_s.map_or_else(String::new, |rate| format!(" ({rate:.0} by the data sheet)"));
        writeln!(
            f,
            "{} ({}): copy {:.1} GB/s{stated}, best product {:.1} GFLOP/s",
            self.device, self.info.name, self.copy_gb_per_s, self.throughput
        )?;
        for m in &self.measurements {
            write!(f, "  {:<32} {:>11.4} ms ±{:>5.1} %  {:>14.2} {:<12}", m.name, m.ms, 100.0 * m.spread, m.rate, m.unit)?;
            if let Some(part) = m.of_copy {
                write!(f, " {:>5.1} % of copy", 100.0 * part)?;
            }
            if let Some(part) = m.of_stated {
                write!(f, " {:>5.1} % of the data sheet", 100.0 * part)?;
            }
            if let (Some(watts), Some(joules)) = (m.watts, m.joules) {
                write!(f, " {watts:.0} W, {joules:.4} J a step")?;
            }
            writeln!(f)?;
        }
        Ok(())
    }
}

/// Several devices side by side.
#[derive(Clone, Debug, PartialEq)]
pub struct Beside {
    /// In the order in which the devices were given; all have the same workloads.
    pub results: Vec<Results>,
}

impl fmt::Display for Beside {
    /// Milliseconds of a step on each device, and how many times as fast as the first one the others are.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(first) = self.results.first() else { return Ok(()) };
        write!(f, "{:<34}", "milliseconds of a step")?;
        self.results.iter().try_for_each(|results| write!(f, " {:>22}", results.device))?;
        writeln!(f)?;
        for (at, one) in first.measurements.iter().enumerate() {
            write!(f, "{:<34}", one.name)?;
            for results in &self.results {
                let ms = results.measurements.get(at).map_or(f64::NAN, |m| m.ms);
                let times = one.ms / ms;
                write!(f, " {:>22}", format!("{ms:.4} ({times:.2}x)"))?;
            }
            writeln!(f)?;
        }
        Ok(())
    }
}
