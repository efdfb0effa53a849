//! The driver API with errors as values: every call goes through [`check`].
//!
//! Always: the library's presence is checked before the first call, for the bindings panic without it.

use crate::backend::Failure;
use cudarc::driver::sys::{self, CUresult};
use std::{
    ffi::{CStr, c_void},
    sync::OnceLock,
};

/// Why there is no device: `(cause, remedy)`.
pub(crate) type Problem = (String, String);

/// Loads the library and initialises it, once.
pub(crate) fn init() -> Result<(), Problem> {
    static INIT: OnceLock<Result<(), Problem>> = OnceLock::new();
    INIT.get_or_init(|| {
        // SAFETY: loads a library by name; its initialisers are NVIDIA's.
        if !unsafe { sys::is_culib_present() } {
            let name = if cfg!(windows) { "nvcuda.dll" } else { "libcuda.so.1" };
            return Err((format!("{name} not found"), "install the NVIDIA driver".to_owned()));
        }
        // SAFETY: the library is there.
        check(unsafe { sys::cuInit(0) }).map_err(|cause| {
            let help = "check that the NVIDIA driver is loaded (nvidia-smi) and that the process may use the device";
            (format!("cuInit: {cause}"), help.to_owned())
        })?;
        let version = version();
        if version < 12_000 {
            let shown = format!("{}.{}", version / 1000, version % 1000 / 10);
            return Err((format!("the driver supports CUDA {shown}"), "update the NVIDIA driver to one for CUDA 12 or newer".to_owned()));
        }
        Ok(())
    })
    .clone()
}

/// How many devices there are.
pub(crate) fn devices() -> Result<usize, Problem> {
    init()?;
    let mut count = 0;
    // SAFETY: the library is initialised; the pointer is to a local.
    check(unsafe { sys::cuDeviceGetCount(&mut count) }).map_err(|cause| (cause, "check the NVIDIA driver with nvidia-smi".to_owned()))?;
    match usize::try_from(count) {
        Ok(0) | Err(_) => Err(("the driver sees no device".to_owned(), "check CUDA_VISIBLE_DEVICES and nvidia-smi".to_owned())),
        Ok(count) => Ok(count),
    }
}

/// CUDA version the driver supports: 13000 is 13.0.
pub(crate) fn version() -> i32 {
    let mut version = 0;
    // SAFETY: the pointer is to a local; the library is there whenever a caller has passed `init`.
    let _ = check(unsafe { sys::cuDriverGetVersion(&mut version) });
    version
}

/// The driver's words for a failure.
pub(crate) fn describe(result: CUresult) -> String {
    let mut text = std::ptr::null();
    // SAFETY: the pointer is to a local; the driver gives a static string or null.
    let found = unsafe { sys::cuGetErrorString(result, &mut text) };
    if found != CUresult::CUDA_SUCCESS || text.is_null() {
        return format!("{result:?}");
    }
    // SAFETY: a static, terminated string.
    let words = unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned();
    format!("{words} ({result:?})")
}

/// The driver's words, if it failed.
pub(crate) fn check(result: CUresult) -> Result<(), String> {
    if result == CUresult::CUDA_SUCCESS { Ok(()) } else { Err(describe(result)) }
}

/// Whether the context is unusable from here on: every later call gives the same error.
pub(crate) fn is_fatal(result: CUresult) -> bool {
    use CUresult::*;
    matches!(
        result,
        CUDA_ERROR_ILLEGAL_ADDRESS
            | CUDA_ERROR_LAUNCH_FAILED
            | CUDA_ERROR_LAUNCH_TIMEOUT
            | CUDA_ERROR_HARDWARE_STACK_ERROR
            | CUDA_ERROR_ILLEGAL_INSTRUCTION
            | CUDA_ERROR_MISALIGNED_ADDRESS
            | CUDA_ERROR_INVALID_ADDRESS_SPACE
            | CUDA_ERROR_INVALID_PC
            | CUDA_ERROR_ECC_UNCORRECTABLE
            | CUDA_ERROR_DEINITIALIZED
            | CUDA_ERROR_CONTEXT_IS_DESTROYED
            | CUDA_ERROR_ASSERT
            | CUDA_ERROR_UNKNOWN
    )
}

/// Milliseconds of device time between two events that have happened. The function's newest version is missing from drivers for CUDA 12.0,
/// so the driver is asked for the version that all have.
pub(crate) fn event_elapsed_ms(from: sys::CUevent, to: sys::CUevent) -> Result<f32, Failure> {
    type ElapsedTime = unsafe extern "C" fn(*mut f32, sys::CUevent, sys::CUevent) -> CUresult;
    static FUNCTION: OnceLock<Option<ElapsedTime>> = OnceLock::new();
    let function = FUNCTION.get_or_init(|| {
        let mut address: *mut c_void = std::ptr::null_mut();
        // SAFETY: a terminated name, a pointer to a local, and no wish for the query's details.
        let found = unsafe { sys::cuGetProcAddress_v2(c"cuEventElapsedTime".as_ptr(), &mut address, 12_000, 0, std::ptr::null_mut()) };
        // SAFETY: the driver gives a function of this type under this name and version.
        (found == CUresult::CUDA_SUCCESS && !address.is_null()).then(|| unsafe { std::mem::transmute::<*mut c_void, ElapsedTime>(address) })
    });
    let what = "event";
    let function = function.ok_or(Failure { what, result: CUresult::CUDA_ERROR_NOT_FOUND })?;
    let mut milliseconds = 0f32;
    // SAFETY: events of one context, recorded before; pointer to a local.
    Failure::check(what, unsafe { function(&mut milliseconds, from, to) })?;
    Ok(milliseconds)
}
