//! The CPU driver: regions in a SIMD block interpreter, heavy kernels as native code, programs of users by the interpreter of the kernel IR.
//!
//! In: kernels as data and slices of memory. Out: their results in that memory.
//! Always: starts on any x86-64 and aarch64 and picks the widest instruction set at run time (`UNIGRAD_CPU_TIER` forces one);
//! one persistent pool with a fixed partition of work, so results do not depend on timing.
//! Never: needs a compiler on the user's machine, allocates device memory behind the caller's back, or panics.

#![warn(clippy::wildcard_enum_match_arm)]

mod attention;
mod compensated;
mod contract;
mod custom;
mod driver;
mod indexed;
mod memory;
mod region;
mod sequence;
mod simd;
mod task_ptr;
mod threads;

pub use driver::CpuDriver;
pub use threads::{set_threads, threads};
