//! What the device says beside its answers: errors that belong to no call, and that it is gone.

use crate::{capacity::Capacity, ready};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use unigrad_device::Error;
use wgpu::ErrorFilter;

/// Shared with wgpu's callbacks.
#[derive(Debug, Default)]
pub(crate) struct Reports(Mutex<Said>);

#[derive(Debug, Default)]
struct Said {
    lost: Option<String>,
    /// The first error since the last wait.
    error: Option<Error>,
}

/// An error of wgpu in our words.
pub(crate) fn translate(error: &wgpu::Error, device: &str, kernel: &str) -> Error {
    match error {
        wgpu::Error::OutOfMemory { .. } => out_of_memory(device, 0, 0, Capacity::default(), ""),
        wgpu::Error::Validation { description, .. } | wgpu::Error::Internal { description, .. } => {
            Error::Launch { device: device.to_owned(), kernel: kernel.to_owned(), cause: description.trim().to_owned() }
        }
    }
}

pub(crate) fn out_of_memory(device: &str, asked: u64, in_use: u64, memory: Capacity, more: &str) -> Error {
    Error::OutOfMemory { device: device.to_owned(), asked, free: memory.free, total: memory.total, in_use, largest: more.to_owned() }
}

impl Reports {
    fn lock(&self) -> MutexGuard<'_, Said> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Listens to a device from now on.
    pub(crate) fn listen(device: &wgpu::Device, name: &str) -> Arc<Reports> {
        let reports = Arc::new(Reports::default());
        let (heard, lost, name) = (Arc::clone(&reports), Arc::clone(&reports), name.to_owned());
        device.on_uncaptured_error(Arc::new(move |error: wgpu::Error| heard.add(translate(&error, &name, "an earlier launch"))));
        device.set_device_lost_callback(move |reason, text| {
            if reason != wgpu::DeviceLostReason::Destroyed {
                lost.lock().lost.get_or_insert(if text.is_empty() { format!("{reason:?}") } else { text });
            }
        });
        reports
    }

    /// Keeps an error for the next wait.
    pub(crate) fn add(&self, error: Error) {
        self.lock().error.get_or_insert(error);
    }

    /// Whether the device is still there.
    pub(crate) fn alive(&self, device: &str) -> Result<(), Error> {
        match &self.lock().lost {
            Some(cause) => Err(Error::DeviceLost { device: device.to_owned(), cause: cause.clone() }),
            None => Ok(()),
        }
    }

    /// What went wrong since this was last asked.
    pub(crate) fn take(&self, device: &str) -> Result<(), Error> {
        self.alive(device)?;
        self.lock().error.take().map_or(Ok(()), Err)
    }
}

/// Catches the errors of what is done while it is open. In a browser they come later, so there they go to the device's listener.
#[derive(Debug)]
pub(crate) struct Scopes(Vec<wgpu::ErrorScopeGuard>);

impl Scopes {
    pub(crate) fn open(device: &wgpu::Device) -> Scopes {
        let filters = [ErrorFilter::Validation, ErrorFilter::Internal, ErrorFilter::OutOfMemory];
        let caught = if cfg!(target_arch = "wasm32") { &[][..] } else { &filters };
        Scopes(caught.iter().map(|filter| device.push_error_scope(*filter)).collect())
    }

    /// What was caught. The last scope opened is closed first.
    pub(crate) fn close(self) -> Option<wgpu::Error> {
        let errors: Vec<wgpu::Error> = self.0.into_iter().rev().filter_map(|scope| ready(scope.pop()).flatten()).collect();
        errors.into_iter().next()
    }
}
