//! The interpreter as a device: what the kernel IR means, executed on the host, with every mistake reported.
//!
//! In: IR programs and launches, as any other backend gets them. Out: their results, or the fault with program, statement and thread.
//! Always: software, so only taken when asked for (`interpreter:0`); every launch is checked for races and bounds; fresh memory holds a
//! pattern that is NaN as a float, so that a read of undefined memory shows. Every program is printed and read back.
//! Never: registered by the facade: tests do it. Fast.
//!
//! Its devices differ in their target, so that the ways around a missing feature are executed too; see [`targets`].

#![warn(clippy::wildcard_enum_match_arm)]

mod attention;
mod attention_grad;
mod backend;
mod convolutions;
mod norms;
mod products;
mod replay;

pub use attention::attentions;
pub use attention_grad::attention_grads;
pub use backend::InterpreterBackend;
pub use convolutions::{convolutions, convolutions_done, padded_convolutions};
pub use norms::norms;
pub use products::{REFUSED, products, products_of_codes, products_with_arguments};

use std::sync::Arc;
use unigrad_device::{Discovery, Driver, Error, Info, OpenDevice};
use unigrad_gpu::GpuDevice;
use unigrad_ir::Target;

const BACKEND: &str = "interpreter";

/// What the devices of the driver offer, by ordinal, each with a name:
///
/// 0. everything but matrix fragments, subgroups of 32, scalars in a block;
/// 1. little: no subgroups, no 64-bit types, no `F16`, no tables, no vectors, 128 threads, 8 buffers and a block of scalars, which the queue writes,
///    16 KiB of shared memory;
/// 2. subgroups of 8 and 256 threads; no atomics on floats or 64-bit integers; scalars by value.
pub fn targets() -> Vec<(&'static str, Target)> {
    let full = Target { scalars_in_block: true, ..Target::interpreter() };
    let little = Target {
        max_threads: 128,
        max_grid: [65_535; 3],
        shared_bytes: 16 << 10,
        subgroup: None,
        max_buffers: 9,
        max_param_bytes: 1024,
        f64: false,
        i64: false,
        f16: false,
        atomic_f32: false,
        atomic_i64: false,
        tables: false,
        vectors: false,
        ..full.clone()
    };
    let narrow =
        Target { max_threads: 256, subgroup: Some(8), atomic_f32: false, atomic_i64: false, scalars_in_block: false, ..full.clone() };
    vec![("kernel IR", full), ("kernel IR, few features", little), ("kernel IR, narrow subgroups", narrow)]
}

/// The interpreter's devices.
#[derive(Clone, Debug)]
pub struct InterpreterDriver {
    targets: Vec<(&'static str, Target)>,
}

impl Default for InterpreterDriver {
    fn default() -> InterpreterDriver {
        InterpreterDriver { targets: targets() }
    }
}

impl InterpreterDriver {
    /// Devices with these names and targets.
    pub fn new(targets: Vec<(&'static str, Target)>) -> InterpreterDriver {
        InterpreterDriver { targets }
    }
}

impl Driver for InterpreterDriver {
    fn backend(&self) -> &'static str {
        BACKEND
    }

    fn discover(&self) -> Discovery {
        let devices = self.targets.iter().enumerate().map(|(ordinal, (name, _))| backend::info(ordinal, name, 0));
        Discovery { devices: devices.collect::<Vec<Info>>(), problem: None }
    }

    fn open(&self, ordinal: usize) -> Result<Arc<dyn OpenDevice>, Error> {
        match self.targets.get(ordinal) {
            Some((name, target)) => Ok(Arc::new(GpuDevice::new(InterpreterBackend::new(ordinal, name, target.clone())))),
            None => Err(Error::NotAvailable {
                asked: format!("{BACKEND}:{ordinal}"),
                cause: format!("it has {} devices", self.targets.len()),
                help: format!("use {BACKEND}:0"),
            }),
        }
    }
}
