//! What makes the rest trustworthy: a float64 oracle, one table of op cases, a random-graph fuzzer.
//!
//! In: graphs and tensors as a user builds them. Out: for each result that is wrong, one line that names op, dtype, shape, device and place.
//! Always: the oracle follows the definitions in `unigrad-scalar` and `unigrad-graph`, node by node, and shares nothing with the compiler
//! or a driver; a case that cannot run says so.
//! Never: used by the library itself.

pub mod cases;
pub mod compare;
pub mod fuzz;
pub mod ops;
pub mod oracle;
pub mod run;
mod values;

use unigrad_tensor::Device;

pub use values::{Data, Values};

/// Every device of this machine; says which driver found none, and why.
pub fn devices() -> Vec<Device> {
    unigrad::init();
    let available = Device::all();
    for problem in available.problems {
        println!("SKIPPED: {}: {}", problem.backend, problem.cause);
    }
    let mut devices = Vec::new();
    for info in available.devices {
        match Device::open(&info.device()) {
            Ok(device) => devices.push(device),
            Err(error) => println!("SKIPPED: {}: {error}", info.device()),
        }
    }
    devices
}
