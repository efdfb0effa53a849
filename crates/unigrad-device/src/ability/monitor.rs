//! How a device does: temperature, power, clocks, errors.

use crate::Error;

/// A device that a management library knows.
pub trait Monitor: Send + Sync {
    /// How it does, or `None` where nothing tells.
    fn health(&self) -> Result<Option<Health>, Error>;
}

/// How a device does: what the vendor's management library tells. What it does not tell is `None`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Health {
    /// Bytes of memory in use, by all processes.
    pub memory_used: Option<u64>,
    /// Degrees Celsius.
    pub temperature_c: Option<u32>,
    /// Watts drawn, and allowed.
    pub power_w: Option<f64>,
    /// See `power_w`.
    pub power_limit_w: Option<f64>,
    /// Megahertz of the processors and of the memory.
    pub clock_mhz: Option<u32>,
    /// See `clock_mhz`.
    pub memory_clock_mhz: Option<u32>,
    /// Percent of the last sampling period in which a kernel ran.
    pub utilization: Option<u32>,
    /// Memory errors that could not be corrected since the driver was loaded.
    pub uncorrected_errors: Option<u64>,
    /// Why the device runs slower than it could, in the library's words; empty if it does not.
    pub throttled_by: Vec<String>,
}
