//! HIP C++ to a code object by hiprtc.
//!
//! In: source, options. Out: a code object. Always: a compiler's log comes back with its line numbers.

use crate::api::{Compiler, Handle};
use std::ffi::{CString, c_char};

/// A program of hiprtc.
struct Compilation<'a> {
    compiler: &'a Compiler,
    program: Handle,
}

impl Drop for Compilation<'_> {
    fn drop(&mut self) {
        // SAFETY: made by hiprtcCreateProgram, destroyed once.
        unsafe { (self.compiler.hiprtcDestroyProgram)(&mut self.program) };
    }
}

impl Compilation<'_> {
    fn log(&self) -> String {
        let mut size = 0;
        // SAFETY: pointer to a local.
        if unsafe { (self.compiler.hiprtcGetProgramLogSize)(self.program, &mut size) } != 0 || size <= 1 {
            return String::new();
        }
        // One more than the library says: not all of them count the NUL.
        let mut bytes = vec![0_u8; size + 1];
        // SAFETY: the buffer has the size that the library said.
        unsafe { (self.compiler.hiprtcGetProgramLog)(self.program, bytes.as_mut_ptr().cast()) };
        let end = bytes.iter().position(|b| *b == 0).unwrap_or(size);
        String::from_utf8_lossy(&bytes[..end]).trim().to_owned()
    }
}

/// The compiler's version.
pub(crate) fn version(compiler: &Compiler) -> String {
    let (mut major, mut minor) = (0, 0);
    // SAFETY: pointers to locals; a library that fails leaves 0.
    unsafe { (compiler.hiprtcVersion)(&mut major, &mut minor) };
    format!("hiprtc {major}.{minor}")
}

/// Compiles a text; the error is for [`unigrad_device::Error::Compile`].
pub(crate) fn compile(compiler: &Compiler, name: &str, text: &str, options: &[String]) -> Result<Vec<u8>, String> {
    let c_string = |text: &str| CString::new(text).map_err(|_| "the source has a NUL".to_owned());
    let (text, file) = (c_string(text)?, c_string(&format!("{name}.hip"))?);
    let mut program = std::ptr::null_mut();
    // SAFETY: texts that end with NUL, no headers.
    let made = unsafe { (compiler.hiprtcCreateProgram)(&mut program, text.as_ptr(), file.as_ptr(), 0, std::ptr::null(), std::ptr::null()) };
    if made != 0 || program.is_null() {
        return Err(format!("hiprtcCreateProgram: {}", compiler.explain(made)));
    }
    let compilation = Compilation { compiler, program };
    let options = options.iter().map(|option| c_string(option)).collect::<Result<Vec<_>, _>>()?;
    let pointers: Vec<*const c_char> = options.iter().map(|option| option.as_ptr()).collect();
    // SAFETY: as many options as said, alive until after the call.
    let compiled = unsafe { (compiler.hiprtcCompileProgram)(program, pointers.len() as i32, pointers.as_ptr()) };
    if compiled != 0 {
        let log = compilation.log();
        return Err(if log.is_empty() { compiler.explain(compiled) } else { log });
    }
    let mut size = 0;
    // SAFETY: pointer to a local.
    let sized = unsafe { (compiler.hiprtcGetCodeSize)(program, &mut size) };
    let mut code = vec![0_u8; size];
    // SAFETY: the buffer has the size that the library said.
    let got = if sized == 0 { unsafe { (compiler.hiprtcGetCode)(program, code.as_mut_ptr().cast()) } } else { sized };
    if got == 0 && size > 0 { Ok(code) } else { Err(format!("hiprtcGetCode: {}", compiler.explain(got))) }
}
