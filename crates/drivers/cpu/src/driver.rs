//! The driver's face: discovery, memory, dispatch of kernels to the modules that run them.

/// The CPU as a backend.
#[derive(Debug, Default)]
pub struct CpuDriver;
