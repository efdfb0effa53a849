//! The Metal driver: GPUs of Apple's systems, through `objc2-metal`.
//!
//! In: IR programs rendered as MSL, memory requests. Out: pipelines that Metal compiles at run time, launches on one queue.
//! Always: with unified memory, the host and the GPU see the same bytes, and nothing is copied twice. Elsewhere than on Apple's systems the
//! driver is there, finds no device, and says why; it has no dependencies then.
//! Never: panics because Metal is missing or refuses something.
//!
//! Matrix products are kernels of simdgroup matrices. `UNIGRAD_PRODUCTS=library` gives those of `f32` and `f16` to Apple's
//! `MPSMatrixMultiplication`; it is off otherwise, since where it wins has not been measured.

#![warn(clippy::wildcard_enum_match_arm)]

#[cfg(target_vendor = "apple")]
mod apple;
#[cfg(not(target_vendor = "apple"))]
mod elsewhere;
#[cfg(any(target_vendor = "apple", test))]
mod facts;

#[cfg(target_vendor = "apple")]
use apple as system;
#[cfg(not(target_vendor = "apple"))]
use elsewhere as system;

#[cfg(target_vendor = "apple")]
pub use apple::{Mark, MetalBackend, Module};

use std::sync::Arc;
use unigrad_device::{Discovery, Driver, Error, OpenDevice};

/// The backend's name.
const BACKEND: &str = "metal";

/// GPUs that Metal knows.
#[derive(Clone, Copy, Debug, Default)]
pub struct MetalDriver;

impl Driver for MetalDriver {
    fn backend(&self) -> &'static str {
        BACKEND
    }

    fn discover(&self) -> Discovery {
        system::discover()
    }

    fn open(&self, ordinal: usize) -> Result<Arc<dyn OpenDevice>, Error> {
        system::open(ordinal)
    }
}
