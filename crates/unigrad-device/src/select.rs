//! Choosing a device by what it is for.
//!
//! In: a [`Preference`]. Out: an open device, or why none fits.
//! Always: software implementations of GPU interfaces are taken only when their backend is asked for. A device that does not open is passed
//! over, with a line on standard error that says why.

use crate::{
    Device, Error, Info,
    registry::{backend_of, by_preference, choices, exactly, note_fallback},
};

/// What counts most.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum By {
    /// The order of [`Device::best`]: the fastest first, or what [`crate::Config::power`] prefers.
    #[default]
    Speed,
    /// The most free memory.
    FreeMemory,
    /// This backend's devices, the one with the most free memory first.
    Backend(String),
}

/// What a device is wanted for.
///
/// ```no_run
/// use unigrad_device::{By, Device, Preference};
/// let device = Device::select(&Preference { by: By::FreeMemory, bytes: 8 << 30 })?;
/// # Ok::<(), unigrad_device::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Preference {
    /// What counts most.
    pub by: By,
    /// Bytes that must be free; 0 if that does not matter. A device that does not tell its free memory counts as having all of it free.
    pub bytes: u64,
}

/// Bytes free on a device that is open or not: where discovery did not tell, its total.
fn free(info: &Info) -> u64 {
    if info.memory_free > 0 { info.memory_free } else { info.memory_total }
}

impl Device {
    /// The first device that fits a preference.
    pub fn select(preference: &Preference) -> Result<Device, Error> {
        let available = Device::all();
        let backend = match &preference.by {
            By::Backend(name) => backend_of(name),
            By::Speed | By::FreeMemory => String::new(),
        };
        let mut candidates: Vec<&Info> = match &preference.by {
            By::Backend(_) => available.devices.iter().filter(|info| info.backend == backend).collect(),
            By::Speed | By::FreeMemory => available.devices.iter().filter(|info| !info.software).collect(),
        };
        let asked = match &preference.by {
            By::Backend(backend) => format!("a device of {backend}"),
            By::Speed => "best device".to_owned(),
            By::FreeMemory => "device with the most free memory".to_owned(),
        };
        if preference.by != By::Speed {
            // Stable: among equals the order of `best`.
            candidates.sort_by_key(|info| std::cmp::Reverse(free(info)));
        } else {
            candidates = by_preference(candidates);
        }
        let mut reasons: Vec<String> = Vec::new();
        for info in &candidates {
            let opened = exactly(&info.device()).and_then(|device| {
                if preference.bytes == 0 {
                    return Ok(device);
                }
                // Only an open device tells what is free of it now.
                let info = device.info();
                let free = free(&info);
                if info.memory_total > 0 && free < preference.bytes {
                    return Err(Error::NotAvailable {
                        asked: device.name().to_owned(),
                        cause: format!("{free} bytes are free, {} are wanted", preference.bytes),
                        help: "free memory there, or ask for less".to_owned(),
                    });
                }
                Ok(device)
            });
            match opened {
                Ok(device) => {
                    for reason in reasons {
                        note_fallback(&asked, device, &reason);
                    }
                    return Ok(device);
                }
                Err(error) => reasons.push(error.to_string()),
            }
        }
        let problems = available.problems.iter().filter(|p| match &preference.by {
            By::Backend(_) => p.backend == backend,
            By::Speed | By::FreeMemory => true,
        });
        reasons.extend(problems.map(|p| format!("{}: {} ({})", p.backend, p.cause, p.help)));
        if reasons.is_empty() {
            reasons.push("no driver found one".to_owned());
        }
        Err(Error::NotAvailable { asked, cause: reasons.join("; "), help: choices() })
    }
}
