//! What makes the rest trustworthy: a float64 oracle, one table of op cases, a random-graph fuzzer.
//!
//! In: graphs and tensors as a user builds them. Out: for each result that is wrong, one line that names op, dtype, shape, device and place.
//! Always: the oracle follows the definitions in `unigrad-scalar` and `unigrad-graph`, node by node, and shares nothing with the compiler
//! or a driver; a case that cannot run says so.
//! Never: used by the library itself.

pub mod cases;
mod collect;
pub mod compare;
pub mod fuzz;
pub mod ops;
pub mod oracle;
pub mod run;
mod values;

use unigrad_tensor::Device;

pub use values::{Data, Values};

/// The devices that tests run on: those that `UNIGRAD_TEST_DEVICES` names (`cpu,interpreter:1`), otherwise every device of this machine but
/// the interpreter's. Says which driver found none, and why.
pub fn devices() -> Vec<Device> {
    unigrad::init();
    unigrad::device::register(unigrad_interpreter::InterpreterDriver::default());
    collect::if_asked();
    if let Ok(names) = std::env::var("UNIGRAD_TEST_DEVICES") {
        let names = names.split(',').map(str::trim).filter(|name| !name.is_empty());
        return names.map(|name| Device::open(name).unwrap_or_else(|error| panic!("UNIGRAD_TEST_DEVICES: {error}"))).collect();
    }
    let available = Device::all();
    for problem in available.problems {
        println!("SKIPPED: {}: {}", problem.backend, problem.cause);
    }
    let mut devices = Vec::new();
    for info in available.devices {
        if info.backend == "interpreter" {
            println!("SKIPPED: {}: set UNIGRAD_TEST_DEVICES={}", info.device(), info.device());
            continue;
        }
        match Device::open(&info.device()) {
            Ok(device) => devices.push(device),
            Err(error) => println!("SKIPPED: {}: {error}", info.device()),
        }
    }
    devices
}
