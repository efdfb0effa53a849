//! The driver on Apple's systems.
//!
//! Always: the files here hold everything that calls Metal; each call from outside runs in an autorelease pool of its own, since threads
//! of other languages have none.

mod backend;
mod commands;
mod describe;
mod marks;
mod memory;
mod mps;
mod program;

pub use backend::MetalBackend;
pub use marks::Mark;
pub use program::Module;

use std::sync::Arc;
use unigrad_device::{Discovery, Error, OpenDevice};
use unigrad_gpu::GpuDevice;

use objc2::{rc::Retained, runtime::ProtocolObject};
use objc2_metal::MTLDevice;

type Device = Retained<ProtocolObject<dyn MTLDevice>>;

/// The system's GPUs: its order, discrete ones first where there are several.
fn devices() -> Vec<Device> {
    let mut found = objc2_metal::MTLCopyAllDevices().to_vec();
    found.sort_by_key(|device| device.isLowPower());
    found
}

fn problem() -> (String, String) {
    ("the system has no GPU that Metal drives".to_owned(), "choose another backend; a virtual machine needs a paravirtual GPU".to_owned())
}

pub(crate) fn discover() -> Discovery {
    objc2::rc::autoreleasepool(|_| {
        let devices: Vec<_> = devices().iter().enumerate().map(|(ordinal, device)| describe::info(device, ordinal)).collect();
        let problem = devices.is_empty().then(problem);
        Discovery { devices, problem }
    })
}

pub(crate) fn open(ordinal: usize) -> Result<Arc<dyn OpenDevice>, Error> {
    Ok(Arc::new(GpuDevice::new(MetalBackend::open(ordinal)?)))
}
