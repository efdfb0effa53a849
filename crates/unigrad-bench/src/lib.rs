//! Benchmarks: workloads, timing, statistics that hold on noisy machines, two programs against each other.
//!
//! In: a device, workloads (these, or a program's own). Out: measurements as data, which the caller prints.
//! Always: a timing is of whole steps, results realized; blocks of samples of one workload are spread over a run; samples are kept. A comparison says
//! what it could have seen. Never: prints; skips work that a step has.
//!
//! ```
//! # extern crate unigrad_cpu;
//! use unigrad_bench::{Benchmark, BenchmarkConfig};
//! # unigrad_device::register(unigrad_cpu::CpuDriver);
//! let device = unigrad_device::Device::open("cpu")?;
//! # let config = BenchmarkConfig { seconds: 0.01, n_blocks: 2, only: vec!["add".into()], ..BenchmarkConfig::default() };
//! # let _ = r"
//! let config = BenchmarkConfig::default();
//! # ";
//! let results = Benchmark::new().with_config(config).run(&device)?;
//! println!("{results}"); // a table; results.throughput is in GFLOP/s
//! # Ok::<(), unigrad_tensor::Error>(())
//! ```

mod case;
mod child;
mod compare;
mod file;
mod host;
mod kernels;
mod large;
mod line;
mod measure;
mod networks;
mod planning;
mod record;
mod small;
pub mod statistics;
mod suite;
pub mod table;
mod timing;
mod transfers;
mod workloads;

pub use case::{Case, Workload};
pub use child::{Child, serve};
pub use compare::{Certainty, Change, Comparison, Verdict, compare, compare_pairs};
pub use file::{load, save};
pub use line::{Fact, Line};
pub use measure::{InProcess, Sampling, Side, measure, measure_pairs};
pub use record::{Block, Difference, Environment, Run, Series, Weight, Work};
pub use suite::{Benchmark, BenchmarkConfig, Beside, Measurement, Results};
pub use timing::Patience;
pub use workloads::{SPECIAL, all, report};
