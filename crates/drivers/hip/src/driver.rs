//! Discovery: the machine's AMD GPUs, or why there is none.

use crate::{BACKEND, api::Api, backend::HipBackend, describe};
use std::sync::Arc;
use unigrad_device::{Discovery, Driver, Error, Link, OpenDevice};
use unigrad_gpu::GpuDevice;

/// AMD GPUs, through the HIP runtime.
#[derive(Debug)]
pub struct HipDriver;

impl Driver for HipDriver {
    fn backend(&self) -> &'static str {
        BACKEND
    }

    fn discover(&self) -> Discovery {
        let none = |cause: String, help: &str| Discovery { devices: Vec::new(), problem: Some((cause, help.to_owned())) };
        let api = match Api::get() {
            Ok(api) => api,
            Err(missing) => return none(missing.cause, &missing.help),
        };
        let count = match describe::count(api) {
            Ok(0) => {
                return none(
                    "the HIP runtime finds no GPU".to_owned(),
                    "see that this user may open /dev/kfd (group render), and that ROCm supports the GPU",
                );
            }
            Ok(count) => count,
            Err(code) => return none(format!("GPUs cannot be counted: {code}"), "update the amdgpu driver and ROCm together"),
        };
        let mut devices = Vec::new();
        let mut causes = Vec::new();
        for ordinal in 0..count {
            match describe::gpu(api, ordinal) {
                Ok(gpu) => devices.push(gpu.info(api)),
                Err(code) => causes.push(format!("GPU {ordinal}: {code}")),
            }
        }
        let mut problem = (!causes.is_empty()).then(|| (causes.join("; "), "update the amdgpu driver and ROCm together".to_owned()));
        if let (None, Err(missing)) = (&problem, &api.compiler) {
            problem = Some((missing.cause.clone(), missing.help.clone()));
        }
        Discovery { devices, problem }
    }

    fn topology(&self) -> Vec<Link> {
        Api::get().map(describe::links).unwrap_or_default()
    }

    fn open(&self, ordinal: usize) -> Result<Arc<dyn OpenDevice>, Error> {
        Ok(Arc::new(GpuDevice::new(HipBackend::open(ordinal)?)))
    }
}
