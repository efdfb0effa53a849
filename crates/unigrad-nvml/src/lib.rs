//! How NVIDIA's GPUs do, and how they are connected: from NVML, where it is installed. For every driver that runs on them.
//!
//! In: the PCI address by which a driver knows its device (`UNIGRAD_NVML_LIBRARY` names another library than the system's). Out: figures.
//! Always: what NVML, its version or the device does not give is `None`, and so is everything where there is no NVML; loaded once.
//! Never: needed for anything else than figures; changes a device's settings.

use nvml_wrapper_sys::bindings::{self as sys, NvmlLib};
use std::{
    ffi::{CStr, CString},
    sync::OnceLock,
};
use unigrad_device::Health;

/// PCI's number of the vendor.
pub const PCI_VENDOR: u32 = 0x10de;

/// Names another library than [`NAME`].
const VARIABLE: &str = "UNIGRAD_NVML_LIBRARY";

const NAME: &str = if cfg!(windows) { "nvml.dll" } else { "libnvidia-ml.so.1" };

/// NVML's success.
const SUCCESS: u32 = 0;

/// Calls a function of the library, if its version has it and it succeeds.
macro_rules! call {
    ($lib:expr, $function:ident $(, $argument:expr)* $(,)?) => {
        // SAFETY: pointers are to locals of the callers, of the types that NVML's header declares.
        $lib.$function.as_ref().ok().filter(|function| unsafe { function($($argument),*) } == SUCCESS).map(|_| ())
    };
}

fn library() -> Option<&'static NvmlLib> {
    static LIBRARY: OnceLock<Option<NvmlLib>> = OnceLock::new();
    LIBRARY
        .get_or_init(|| {
            let chosen = std::env::var_os(VARIABLE).filter(|name| !name.is_empty());
            // SAFETY: loads a library by name; its initialisers are NVIDIA's, or of the user's choice.
            let library = unsafe { NvmlLib::new(chosen.unwrap_or_else(|| NAME.into())) }.ok()?;
            call!(library, nvmlInit_v2)?;
            Some(library)
        })
        .as_ref()
}

fn device(library: &NvmlLib, bus_id: &CStr) -> Option<sys::nvmlDevice_t> {
    let mut device = std::ptr::null_mut();
    call!(library, nvmlDeviceGetHandleByPciBusId_v2, bus_id.as_ptr(), &mut device)?;
    Some(device)
}

/// A device's address in the form that NVML takes.
pub fn address(domain: u32, bus: u32, device: u32, function: u32) -> CString {
    // Without a NUL, as numbers have none.
    CString::new(format!("{domain:08x}:{bus:02x}:{device:02x}.{function:x}")).unwrap_or_default()
}

/// The driver's version, as in `nvidia-smi`.
pub fn driver_version() -> Option<String> {
    let mut text = [0; 96];
    call!(library()?, nvmlSystemGetDriverVersion, text.as_mut_ptr(), text.len() as u32)?;
    // SAFETY: NVML terminates the text within the buffer.
    Some(unsafe { CStr::from_ptr(text.as_ptr()) }.to_string_lossy().into_owned())
}

/// Bytes of a device's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Memory {
    /// All of it.
    pub total: u64,
    /// What no process has.
    pub free: u64,
}

fn memory_of(library: &NvmlLib, device: sys::nvmlDevice_t) -> Option<sys::nvmlMemory_t> {
    let mut memory = sys::nvmlMemory_t { total: 0, free: 0, used: 0 };
    call!(library, nvmlDeviceGetMemoryInfo, device, &mut memory)?;
    Some(memory)
}

/// The memory of the device at a PCI address.
pub fn memory(bus_id: &CStr) -> Option<Memory> {
    let library = library()?;
    let sys::nvmlMemory_t { total, free, .. } = memory_of(library, device(library, bus_id)?)?;
    Some(Memory { total, free })
}

/// The figures of the device at a PCI address.
pub fn health(bus_id: &CStr) -> Option<Health> {
    let library = library()?;
    let device = device(library, bus_id)?;
    let number = |read: &dyn Fn(*mut u32) -> Option<()>| {
        let mut value = 0;
        read(&mut value).map(|()| value)
    };
    let clock = |which| number(&|value| call!(library, nvmlDeviceGetClockInfo, device, which, value));
    let mut utilization = sys::nvmlUtilization_t { gpu: 0, memory: 0 };
    let mut errors = 0;
    let uncorrected = sys::nvmlMemoryErrorType_enum_NVML_MEMORY_ERROR_TYPE_UNCORRECTED;
    let volatile = sys::nvmlEccCounterType_enum_NVML_VOLATILE_ECC;
    let mut reasons = 0;
    let throttled = call!(library, nvmlDeviceGetCurrentClocksThrottleReasons, device, &mut reasons).map_or(0, |()| reasons);
    // Idle clocks and clocks that the user set are no throttling.
    let named = [
        (0x4, "the power limit"),
        (0x8, "hardware slowdown"),
        (0x20, "temperature (software)"),
        (0x40, "temperature (hardware)"),
        (0x80, "the power brake"),
    ];
    Some(Health {
        memory_used: memory_of(library, device).map(|memory| memory.used),
        temperature_c: number(&|value| {
            call!(library, nvmlDeviceGetTemperature, device, sys::nvmlTemperatureSensors_enum_NVML_TEMPERATURE_GPU, value)
        }),
        power_w: number(&|value| call!(library, nvmlDeviceGetPowerUsage, device, value)).map(|mw| f64::from(mw) / 1e3),
        power_limit_w: number(&|value| call!(library, nvmlDeviceGetEnforcedPowerLimit, device, value)).map(|mw| f64::from(mw) / 1e3),
        clock_mhz: clock(sys::nvmlClockType_enum_NVML_CLOCK_SM),
        memory_clock_mhz: clock(sys::nvmlClockType_enum_NVML_CLOCK_MEM),
        utilization: call!(library, nvmlDeviceGetUtilizationRates, device, &mut utilization).map(|()| utilization.gpu),
        uncorrected_errors: call!(library, nvmlDeviceGetTotalEccErrors, device, uncorrected, volatile, &mut errors).map(|()| errors),
        throttled_by: named.iter().filter(|(bit, _)| throttled & bit != 0).map(|(_, name)| (*name).to_owned()).collect(),
    })
}

/// How two devices are connected: `NVLink x18`, or where their PCIe paths meet.
pub fn connection(from: &CStr, to: &CStr) -> Option<String> {
    let library = library()?;
    let (from, other) = (device(library, from)?, device(library, to)?);
    let mut n_links = 0;
    for link in 0..sys::NVML_NVLINK_MAX_LINKS {
        let mut state = 0;
        if call!(library, nvmlDeviceGetNvLinkState, from, link, &mut state).is_some() && state == 1 {
            n_links += 1;
        }
    }
    // Devices behind a switch see the switch, not each other: active links then lead to all of them.
    if n_links > 0 {
        return Some(format!("NVLink x{n_links}"));
    }
    let mut level = 0;
    call!(library, nvmlDeviceGetTopologyCommonAncestor, from, other, &mut level)?;
    let words = match level {
        0 => "one board",
        10 => "PCIe, one switch",
        20 => "PCIe, several switches",
        30 => "PCIe, one host bridge",
        40 => "PCIe, one NUMA node",
        _ => "PCIe, across the system",
    };
    Some(words.to_owned())
}
