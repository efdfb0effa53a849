//! CUDA C to machine code by NVRTC.
//!
//! In: source, entry point, architecture. Out: a cubin, or PTX where the library is older than the device (the driver then compiles that).
//! Always: a compiler's log comes back with its line numbers. Never: includes a header.

use crate::api::Problem;
use cudarc::nvrtc::sys::{self, nvrtcResult};
use std::ffi::{CStr, CString, c_char};
use std::sync::OnceLock;

/// NVRTC's version, or why it is not there.
pub(crate) fn version() -> Result<(i32, i32), Problem> {
    static VERSION: OnceLock<Result<(i32, i32), Problem>> = OnceLock::new();
    VERSION
        .get_or_init(|| {
            // SAFETY: loads a library by name; its initialisers are NVIDIA's.
            if !unsafe { sys::is_culib_present() } {
                let name = if cfg!(windows) { "nvrtc64_*.dll" } else { "libnvrtc.so" };
                let help =
                    "install NVRTC: CUDA's runtime compiler (package cuda-nvrtc, or `pip install nvidia-cuda-nvrtc`), on the loader's path";
                return Err((format!("{name} not found"), help.to_owned()));
            }
            let (mut major, mut minor) = (0, 0);
            // SAFETY: pointers to locals.
            let result = unsafe { sys::nvrtcVersion(&mut major, &mut minor) };
            if result != nvrtcResult::NVRTC_SUCCESS {
                return Err((format!("nvrtcVersion: {result:?}"), "reinstall NVRTC".to_owned()));
            }
            Ok((major, minor))
        })
        .clone()
}

/// What is missing for compiling kernels.
pub(crate) fn problem() -> Option<Problem> {
    version().err()
}

/// Architectures that the library knows, as numbers: 90 is `sm_90`.
fn known_architectures() -> Vec<i32> {
    let mut count = 0;
    // SAFETY: pointer to a local; `version` has found the library.
    if unsafe { sys::nvrtcGetNumSupportedArchs(&mut count) } != nvrtcResult::NVRTC_SUCCESS {
        return Vec::new();
    }
    let mut archs = vec![0; usize::try_from(count).unwrap_or(0)];
    // SAFETY: the list is as long as the library said.
    let result = unsafe { sys::nvrtcGetSupportedArchs(archs.as_mut_ptr()) };
    if result == nvrtcResult::NVRTC_SUCCESS { archs } else { Vec::new() }
}

/// The options that name the architecture `sm_<arch>`: machine code if the library knows it, else PTX for the newest it knows below.
pub(crate) fn architecture(arch: i32) -> String {
    let known = known_architectures();
    if known.contains(&arch) || known.is_empty() {
        // Hopper's and Blackwell's matrix instructions are in the architecture-specific set.
        let suffix = if arch >= 90 { "a" } else { "" };
        return format!("--gpu-architecture=sm_{arch}{suffix}");
    }
    let below = known.iter().copied().filter(|known| *known < arch).max();
    format!("--gpu-architecture=compute_{}", below.or_else(|| known.first().copied()).unwrap_or(arch))
}

struct Compilation(sys::nvrtcProgram);

impl Drop for Compilation {
    fn drop(&mut self) {
        // SAFETY: made by nvrtcCreateProgram, destroyed once.
        unsafe { sys::nvrtcDestroyProgram(&mut self.0) };
    }
}

impl Compilation {
    fn log(&self) -> String {
        let mut size = 0;
        // SAFETY: pointer to a local.
        if unsafe { sys::nvrtcGetProgramLogSize(self.0, &mut size) } != nvrtcResult::NVRTC_SUCCESS || size <= 1 {
            return String::new();
        }
        let mut bytes = vec![0u8; size];
        // SAFETY: the buffer has the size that the library said.
        unsafe { sys::nvrtcGetProgramLog(self.0, bytes.as_mut_ptr().cast::<c_char>()) };
        CStr::from_bytes_until_nul(&bytes).map(|text| text.to_string_lossy().trim().to_owned()).unwrap_or_default()
    }
}

/// Compiles `source`; `options` as for [`architecture`] and the dialect's own. The result is loadable by the driver.
pub(crate) fn compile(name: &str, source: &str, options: &[String]) -> Result<Vec<u8>, String> {
    version().map_err(|(cause, help)| format!("{cause}\n help: {help}"))?;
    let c_string = |text: &str| CString::new(text).map_err(|_| "the source has a zero byte".to_owned());
    let (text, file) = (c_string(source)?, c_string(&format!("{name}.cu"))?);
    let mut program = std::ptr::null_mut();
    // SAFETY: terminated strings, no headers.
    let made = unsafe { sys::nvrtcCreateProgram(&mut program, text.as_ptr(), file.as_ptr(), 0, std::ptr::null(), std::ptr::null()) };
    if made != nvrtcResult::NVRTC_SUCCESS {
        return Err(format!("nvrtcCreateProgram: {made:?}"));
    }
    let program = Compilation(program);
    let options = options.iter().map(|o| c_string(o)).collect::<Result<Vec<_>, _>>()?;
    let pointers: Vec<*const c_char> = options.iter().map(|o| o.as_ptr()).collect();
    // SAFETY: as many options as said, alive until after the call.
    let compiled = unsafe { sys::nvrtcCompileProgram(program.0, pointers.len() as i32, pointers.as_ptr()) };
    if compiled != nvrtcResult::NVRTC_SUCCESS {
        let log = program.log();
        return Err(if log.is_empty() { format!("{compiled:?}") } else { log });
    }
    let mut size = 0;
    // SAFETY: pointers to locals; buffers as long as said. PTX is asked for only where there is no machine code.
    unsafe {
        if sys::nvrtcGetCUBINSize(program.0, &mut size) == nvrtcResult::NVRTC_SUCCESS && size > 0 {
            let mut cubin = vec![0u8; size];
            let result = sys::nvrtcGetCUBIN(program.0, cubin.as_mut_ptr().cast());
            return if result == nvrtcResult::NVRTC_SUCCESS { Ok(cubin) } else { Err(format!("nvrtcGetCUBIN: {result:?}")) };
        }
        let mut result = sys::nvrtcGetPTXSize(program.0, &mut size);
        let mut ptx = vec![0u8; size];
        if result == nvrtcResult::NVRTC_SUCCESS {
            result = sys::nvrtcGetPTX(program.0, ptx.as_mut_ptr().cast());
        }
        if result == nvrtcResult::NVRTC_SUCCESS { Ok(ptx) } else { Err(format!("nvrtcGetPTX: {result:?}")) }
    }
}
