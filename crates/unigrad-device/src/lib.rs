//! Devices: discovery, opening, memory, launches; and the traits a driver implements.
//!
//! In: kernels as data ([`unigrad_kernel::Kernel`]), bytes. Out: buffers, results, typed errors.
//! Always: a driver is found through its [`Driver`] in the list it was registered with; the CPU is a driver like any other.
//! Never: names a backend, knows a tensor or a graph, or panics because of a device.

mod driver;
mod error;

pub use driver::{Discovery, Driver, Info, OpenDevice, Program, RawBuffer, Slice};
pub use error::Error;
