//! What makes the rest trustworthy: a float64 oracle, one table of op cases, a random-graph fuzzer.
//!
//! In: graphs and tensors as a user builds them. Out: for each result that is wrong, one line that names op, dtype, shape, device and place.
//! Always: the oracle follows the definitions in `unigrad-scalar` and `unigrad-graph`, node by node, and shares nothing with the compiler
//! or a driver; a case that cannot run says so.
//! Never: used by the library itself.

pub mod accuracy;
pub mod cases;
mod collect;
pub mod compare;
pub mod derivatives;
pub mod functions;
pub mod fuzz;
pub mod oracle;
mod processes;
pub mod products;
pub mod run;
pub mod selection;
pub mod snapshot;
mod values;
pub mod watch;

use std::collections::BTreeSet;
use std::sync::{Mutex, Once, PoisonError};
use unigrad_device::{Available, Info};
use unigrad_tensor::{Device, Tensor};

pub use processes::{few_on_slow_devices, on_lower_tiers, on_slow_devices};
pub use values::{Data, Values};

/// The variable that names the devices to test.
const DEVICES: &str = "UNIGRAD_TEST_DEVICES";
/// What errors say where 64-bit floats are lacking.
const NO_F64: &str = "no 64-bit floats";
/// The interpreter's backend.
const INTERPRETER: &str = "interpreter";

/// The devices that a test runs on in this process: those that `UNIGRAD_TEST_DEVICES` names (`cpu,interpreter:1`), otherwise all of this
/// machine and the interpreter. Says which driver found none, and why.
pub fn devices() -> Vec<Device> {
    match named() {
        Some(names) => open(&names),
        None => open(&available().devices.iter().filter(|info| !is_variant(info)).map(Info::device).collect::<Vec<_>>()),
    }
}

/// Those of them for which a test of many kernels needs no process of its own: see [`on_slow_devices`].
pub fn fast_devices() -> Vec<Device> {
    match named() {
        Some(names) => open(&names),
        None => open(&available().devices.iter().filter(|info| !info.software).map(Info::device).collect::<Vec<_>>()),
    }
}

/// Names of the others: software, the interpreter with each of its targets among them.
fn slow_devices() -> Vec<String> {
    match named() {
        Some(_) => Vec::new(),
        None => available().devices.iter().filter(|info| info.software).map(Info::device).collect(),
    }
}

/// Why the device cannot compute in 64-bit floats, if it cannot: the one thing that a device may lack.
pub fn without_f64(device: &Device) -> Option<String> {
    let one = Tensor::from_slice(&[1.0f64], [1], device);
    (one + 1.0).realize().err().map(|error| error.to_string()).filter(|error| error.contains(NO_F64))
}

fn named() -> Option<Vec<String>> {
    register();
    let names = std::env::var(DEVICES).ok()?;
    Some(names.split(',').map(str::trim).filter(|name| !name.is_empty()).map(str::to_owned).collect())
}

/// The interpreter again, for devices that lack something.
fn is_variant(info: &Info) -> bool {
    info.backend == INTERPRETER && info.ordinal > 0
}

/// Registers the drivers that tests open devices of.
pub fn register() {
    unigrad::init();
    unigrad::device::register(unigrad_interpreter::InterpreterDriver::default());
    collect::if_asked();
}

fn available() -> Available {
    static SAID: Once = Once::new();
    let available = Device::all();
    SAID.call_once(|| {
        for problem in &available.problems {
            println!("SKIPPED: {}: {}", problem.backend, problem.cause);
            println!("NOT RUN: {}: {}", problem.backend, problem.cause);
        }
    });
    available
}

/// Says once, for the closing lines of a run of all tests, that tests run on this.
fn say_ran(what: String) {
    static SAID: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
    let mut said = SAID.lock().unwrap_or_else(PoisonError::into_inner);
    if !said.contains(&what) {
        println!("RAN: {what}");
        said.insert(what);
    }
}

fn open(names: &[String]) -> Vec<Device> {
    // What the machine has must work, and what is asked for must be there.
    let devices: Vec<Device> = names.iter().map(|name| Device::open(name).unwrap_or_else(|error| panic!("{error}"))).collect();
    for device in &devices {
        let info = device.info();
        say_ran(format!("{} ({}, {})", info.device(), info.name, info.version));
    }
    devices
}
