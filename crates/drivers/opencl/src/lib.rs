//! The OpenCL driver: any vendor's OpenCL 1.2 or newer.
//!
//! In: IR programs, rendered as OpenCL C; bytes. Out: an [`unigrad_gpu::Backend`] per device of every platform.
//! Always: the library is loaded at run time, and a machine without it is told what is missing; what vendors do differently
//! stands in one table (`vendor`). Devices that are processors count as software: they are opened when asked for by name.
//! Never: links to OpenCL, or needs anything newer than version 1.2.

#![warn(clippy::wildcard_enum_match_arm)]

mod api;
mod backend;
mod describe;
mod driver;
mod installed;
mod launch;
mod object;
mod program;
mod query;
mod vendor;

pub use backend::{Mark, OpenClBackend};
pub use driver::OpenClDriver;
pub use program::Module;

/// The backend's name.
const BACKEND: &str = "opencl";
