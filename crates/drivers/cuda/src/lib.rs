//! The CUDA driver: NVIDIA GPUs by the driver API and NVRTC, both found at run time.
//!
//! In: IR programs rendered as CUDA C, memory requests. Out: cubins on the device, launches on one stream.
//! Always: works with drivers for CUDA 12 and newer, compute capability 5.0 and newer; only functions that those drivers export are called.
//! Never: links a CUDA library, includes a header, or panics because a library, a symbol or a device is missing.
//!
//! Matrix products are the driver's own kernels, or cuBLASLt's where it is there and wins (`UNIGRAD_PRODUCTS`); convolutions likewise, or cuDNN's.

#![warn(clippy::wildcard_enum_match_arm)]

mod api;
mod backend;
mod blas;
mod compile;
mod describe;
mod dnn;
mod exchange;
mod graph;
mod loaded;
mod mapped;
mod parameters;
mod staging;

pub use backend::CudaBackend;

use std::sync::Arc;
use unigrad_device::{Discovery, Driver, Error, Link, OpenDevice};
use unigrad_gpu::GpuDevice;

/// The backend's name.
const BACKEND: &str = "cuda";

/// NVIDIA GPUs.
#[derive(Clone, Copy, Debug, Default)]
pub struct CudaDriver;

impl Driver for CudaDriver {
    fn backend(&self) -> &'static str {
        BACKEND
    }

    fn starting_batch(&self, info: &unigrad_device::Info) -> usize {
        if info.memory_total > 8 << 30 { 256 } else { 128 }
    }

    fn discover(&self) -> Discovery {
        match api::devices() {
            Ok(count) => {
                let (devices, problems): (Vec<_>, Vec<_>) = (0..count).map(describe::describe).partition(Result::is_ok);
                let devices = devices.into_iter().flatten().collect();
                let problem = problems.into_iter().find_map(Result::err).map(|cause| (cause, "update the NVIDIA driver".to_owned()));
                Discovery { devices, problem: problem.or_else(|| compile::problem().filter(|_| count > 0)) }
            }
            Err(problem) => Discovery { devices: Vec::new(), problem: Some(problem) },
        }
    }

    fn topology(&self) -> Vec<Link> {
        describe::links()
    }

    fn open(&self, ordinal: usize) -> Result<Arc<dyn OpenDevice>, Error> {
        Ok(Arc::new(GpuDevice::new(CudaBackend::open(ordinal)?)))
    }
}
