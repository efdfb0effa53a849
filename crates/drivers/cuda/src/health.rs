//! How a GPU does, and how GPUs are connected: from NVML, where it is installed.
//!
//! Always: a figure that NVML, its version or the device does not give is `None`. Never: needs NVML for anything else.

use nvml_wrapper_sys::bindings::{self as sys, NvmlLib};
use std::{ffi::CStr, sync::OnceLock};
use unigrad_device::Health;

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
            let name = if cfg!(windows) { "nvml.dll" } else { "libnvidia-ml.so.1" };
            // SAFETY: loads a library by name; its initialisers are NVIDIA's.
            let library = unsafe { NvmlLib::new(name) }.ok()?;
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

/// The driver's version, as in `nvidia-smi`.
pub(crate) fn driver_version() -> Option<String> {
    let mut text = [0; 96];
    call!(library()?, nvmlSystemGetDriverVersion, text.as_mut_ptr(), text.len() as u32)?;
    // SAFETY: NVML terminates the text within the buffer.
    Some(unsafe { CStr::from_ptr(text.as_ptr()) }.to_string_lossy().into_owned())
}

/// The figures of the device at a PCI address.
pub(crate) fn health(bus_id: &CStr) -> Option<Health> {
    let library = library()?;
    let device = device(library, bus_id)?;
    let number = |read: &dyn Fn(*mut u32) -> Option<()>| {
        let mut value = 0;
        read(&mut value).map(|()| value)
    };
    let clock = |which| number(&|value| call!(library, nvmlDeviceGetClockInfo, device, which, value));
    let mut memory = sys::nvmlMemory_t { total: 0, free: 0, used: 0 };
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
        memory_used: call!(library, nvmlDeviceGetMemoryInfo, device, &mut memory).map(|()| memory.used),
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
pub(crate) fn connection(from: &CStr, to: &CStr) -> Option<String> {
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
