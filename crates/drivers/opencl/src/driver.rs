//! Discovery: the devices of all platforms in one list, and why it is shorter than expected.

use crate::{
    BACKEND,
    api::Api,
    backend::OpenClBackend,
    describe::Found,
    installed,
    query::{self, Platform, name},
};
use std::sync::{Arc, Mutex, Once, PoisonError};
use unigrad_device::{Discovery, Driver, Error, OpenDevice};
use unigrad_gpu::GpuDevice;

/// Devices of every OpenCL platform of the machine.
#[derive(Debug)]
pub struct OpenClDriver;

/// Cause and remedy.
type Problem = (String, String);

/// The usable devices: those of GPU platforms come first, in the platforms' order; and what was passed over.
fn find() -> (Vec<Found>, Option<Problem>) {
    // Implementations prepare themselves at the first questions, not all of them safely when two threads ask at once.
    static ASKING: Mutex<()> = Mutex::new(());
    let _asking = ASKING.lock().unwrap_or_else(PoisonError::into_inner);
    let api = match Api::get() {
        Ok(api) => api,
        Err(missing) => return (Vec::new(), Some((missing.cause, missing.help))),
    };
    // Once: what is open stays open.
    static APART: Once = Once::new();
    APART.call_once(|| unigrad_loader::open_apart(installed::libraries));
    let vendors = "install the GPU vendor's OpenCL driver; its .icd file belongs into /etc/OpenCL/vendors";
    let platforms = match query::platforms(api) {
        Ok(platforms) => platforms,
        Err(code) => return (Vec::new(), Some((format!("the OpenCL platforms cannot be listed: {code}"), vendors.to_owned()))),
    };
    if platforms.is_empty() {
        return (Vec::new(), Some(("the OpenCL library knows no platform".to_owned(), vendors.to_owned())));
    }
    let mut found = Vec::new();
    let mut causes = Vec::new();
    for platform in &platforms {
        list(*platform, &mut found, &mut causes);
    }
    // A processor's ordinal must not change because a GPU is there first, nor the other way round; but GPUs are what is asked for.
    found.sort_by_key(|device| device.info(0).software);
    let problem = match (found.is_empty(), causes.is_empty()) {
        (_, false) => Some((causes.join("; "), "update the vendor's OpenCL driver".to_owned())),
        (true, true) => Some((format!("none of the {} OpenCL platforms has a device", platforms.len()), vendors.to_owned())),
        (false, true) => None,
    };
    (found, problem)
}

fn list(platform: Platform, found: &mut Vec<Found>, causes: &mut Vec<String>) {
    match platform.devices() {
        Ok(devices) => {
            for device in devices {
                let device = Found::new(platform, device);
                match device.obstacle() {
                    Some(cause) => causes.push(cause),
                    None => found.push(device),
                }
            }
        }
        Err(code) => causes.push(format!("platform {}: {code}", platform.text(name::PLATFORM_NAME))),
    }
}

impl Driver for OpenClDriver {
    fn backend(&self) -> &'static str {
        BACKEND
    }

    fn starting_batch(&self, _info: &unigrad_device::Info) -> usize {
        64
    }

    fn discover(&self) -> Discovery {
        let (found, problem) = find();
        Discovery { devices: found.iter().enumerate().map(|(ordinal, device)| device.info(ordinal)).collect(), problem }
    }

    fn open(&self, ordinal: usize) -> Result<Arc<dyn OpenDevice>, Error> {
        Ok(Arc::new(GpuDevice::new(OpenClBackend::open(ordinal)?)))
    }
}

/// The device of this ordinal.
pub(crate) fn device(ordinal: usize) -> Result<Found, Error> {
    let (found, problem) = find();
    found.get(ordinal).copied().ok_or_else(|| {
        let (cause, help) = problem.unwrap_or_else(|| (format!("there are {} OpenCL devices", found.len()), "choose another".to_owned()));
        Error::NotAvailable { asked: format!("{BACKEND}:{ordinal}"), cause, help }
    })
}
