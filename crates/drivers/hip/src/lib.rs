//! The HIP driver: AMD GPUs.
//!
//! In: IR programs, rendered as HIP C++; bytes. Out: an [`unigrad_gpu::Backend`] per GPU.
//! Always: the HIP runtime and hiprtc are loaded at run time, in any version from 5 on; only functions and numbers that these
//! versions share are used (no structure of the library is declared: their layouts differ). Waves may have 32 or 64 threads.
//! Large matrix products are rocBLAS's where it is installed (`blas`).
//! Never: links to ROCm.

#![warn(clippy::wildcard_enum_match_arm)]

mod api;
mod backend;
mod blas;
mod compile;
mod describe;
mod driver;

pub use backend::{HipBackend, Mark, Module};
pub use driver::HipDriver;

/// The backend's name.
const BACKEND: &str = "hip";
