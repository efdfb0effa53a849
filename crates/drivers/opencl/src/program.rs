//! Compiled programs: from the renderer's text, or from the binary that an earlier compilation left.
//!
//! Always: a binary is taken only for the same text, options, device and driver; one that the driver refuses is forgotten. What
//! the compiler says comes with the lines that it means.

use crate::{
    api::{Api, Code, Handle},
    object::Object,
    query::{self, name},
};
use std::{ffi::CString, sync::Mutex};
use unigrad_gpu::{KernelCache, Key, Resources};
use unigrad_ir::{Param, Program, Source};

/// How a kernel takes its buffers. Entries of a table are arguments like others, one after another.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Convention {
    /// As the renderer writes it: a pointer, and the first element.
    Offsets,
    /// As people write it: a pointer.
    Plain,
}

/// A program that can be launched.
#[derive(Debug)]
pub struct Module {
    /// For messages.
    pub(crate) name: String,
    /// Threads of a workgroup.
    pub(crate) block: [u32; 3],
    /// What a launch passes.
    pub(crate) params: Vec<Param>,
    pub(crate) convention: Convention,
    pub(crate) kernel: Object,
    /// Held from the first argument that is set to the launch.
    pub(crate) arguments: Mutex<()>,
    /// A kernel counts a reference to its program, yet some drivers look at this one.
    program: Object,
}

impl Module {
    /// The platform's binary, where it gives one.
    pub(crate) fn binary(&self, api: &Api) -> Option<Vec<u8>> {
        binary(api, &self.program)
    }

    /// What it takes of a compute unit of the device.
    pub(crate) fn resources(&self, api: &Api, device: Handle) -> Resources {
        let ask = |what| ask(api, &self.kernel, device, what);
        Resources { registers: None, shared_bytes: ask(name::KERNEL_LOCAL_MEM_SIZE), local_bytes: ask(name::KERNEL_PRIVATE_MEM_SIZE) }
    }
}

/// Where programs are made.
pub(crate) struct Compiler<'a> {
    pub(crate) api: &'static Api,
    pub(crate) context: Handle,
    pub(crate) device: Handle,
    /// Everything besides source and options that a binary depends on.
    pub(crate) identity: &'a str,
    /// Added to the source's own.
    pub(crate) options: &'a [&'a str],
    /// Nothing where binaries are of no use.
    pub(crate) cache: Option<&'a KernelCache>,
    /// Bytes of shared memory at most.
    pub(crate) shared_bytes: usize,
}

impl Compiler<'_> {
    /// Compiles; the error is for [`unigrad_device::Error::Compile`].
    pub(crate) fn compile(&self, program: &Program, source: &Source, convention: Convention) -> Result<Module, String> {
        let options: Vec<&str> = source.options.iter().map(String::as_str).chain(self.options.iter().copied()).collect();
        let options = CString::new(options.join(" ")).map_err(|_| "an option has a NUL".to_owned())?;
        let entry = CString::new(source.entry.as_str()).map_err(|_| "the entry point's name has a NUL".to_owned())?;
        let key = Key::of(&[b"opencl", source.text.as_bytes(), options.as_bytes(), self.identity.as_bytes()]);
        let module = |object: Object| {
            let kernel = self.kernel(program, &object, &entry, convention)?;
            let (name, block, params) = (program.name.clone(), program.block, program.params.clone());
            Ok(Module { name, block, params, convention, kernel, arguments: Mutex::new(()), program: object })
        };
        if let Some(binary) = self.cache.and_then(|cache| cache.get(key)) {
            if let Ok(module) = self.build_binary(&binary, &options).and_then(module) {
                return Ok(module);
            }
            self.cache.inspect(|cache| cache.remove(key));
        }
        let object = self.build_source(&source.text, &options)?;
        if let Some(cache) = self.cache
            && let Some(binary) = binary(self.api, &object)
        {
            cache.put(key, &binary);
        }
        module(object)
    }

    fn build_source(&self, text: &str, options: &CString) -> Result<Object, String> {
        let (pointer, length) = (text.as_ptr().cast(), text.len());
        let program = Object::program(self.api, |status| {
            // SAFETY: one text, of the length that is said; OpenCL copies it.
            unsafe { (self.api.clCreateProgramWithSource)(self.context, 1, &pointer, &length, status) }
        });
        let program = program.map_err(|code| code.to_string())?;
        self.build(&program, options).map_err(|code| self.explain(code, &program, text))?;
        Ok(program)
    }

    fn build_binary(&self, binary: &[u8], options: &CString) -> Result<Object, String> {
        let (pointer, length, mut accepted) = (binary.as_ptr(), binary.len(), 0);
        let program = Object::program(self.api, |status| {
            // SAFETY: one device and one binary, of the length that is said; OpenCL copies it.
            unsafe { (self.api.clCreateProgramWithBinary)(self.context, 1, &self.device, &length, &pointer, &mut accepted, status) }
        });
        let program = program.and_then(|program| Code::check(accepted).map(|()| program)).map_err(|code| code.to_string())?;
        self.build(&program, options).map_err(|code| code.to_string())?;
        Ok(program)
    }

    fn build(&self, program: &Object, options: &CString) -> Result<(), Code> {
        // SAFETY: one device, options that end with NUL; without a callback the call returns when the program is built.
        Code::check(unsafe {
            (self.api.clBuildProgram)(program.handle(), 1, &self.device, options.as_ptr(), std::ptr::null(), std::ptr::null_mut())
        })
    }

    /// The compiler's words, with the lines that it means.
    fn explain(&self, code: Code, program: &Object, text: &str) -> String {
        let log = query::bytes(|size, data, needed| {
            // SAFETY: `bytes` passes room of the size it states.
            unsafe { (self.api.clGetProgramBuildInfo)(program.handle(), self.device, name::PROGRAM_BUILD_LOG, size, data, needed) }
        });
        let log = log.map(|bytes| query::text(&bytes)).unwrap_or_default();
        match (code, log.is_empty()) {
            (Code::BUILD_PROGRAM_FAILURE, false) => with_lines(&log, text),
            (_, true) => code.to_string(),
            (_, false) => format!("{code}: {}", with_lines(&log, text)),
        }
    }

    /// The entry point, if the device can run it as the program wants.
    fn kernel(&self, program: &Program, object: &Object, entry: &CString, convention: Convention) -> Result<Object, String> {
        // SAFETY: a built program, and a name that ends with NUL.
        let kernel = Object::kernel(self.api, |status| unsafe { (self.api.clCreateKernel)(object.handle(), entry.as_ptr(), status) });
        let kernel = kernel.map_err(|code| format!("entry point {}: {code}", entry.to_string_lossy()))?;
        let ask = |what| ask(self.api, &kernel, self.device, what);
        if let Some(most) = ask(name::KERNEL_WORK_GROUP_SIZE).filter(|most| *most > 0 && *most < program.threads().into()) {
            return Err(format!("it has workgroups of {} threads; its registers allow {most}", program.threads()));
        }
        if let Some(bytes) = ask(name::KERNEL_LOCAL_MEM_SIZE).filter(|bytes| *bytes > self.shared_bytes as u64) {
            return Err(format!("it shares {bytes} bytes in a workgroup; the device has {}", self.shared_bytes));
        }
        let arguments = query::bytes(|size, data, needed| {
            // SAFETY: `bytes` passes room of the size it states.
            unsafe { (self.api.clGetKernelInfo)(kernel.handle(), name::KERNEL_NUM_ARGS, size, data, needed) }
        });
        let expected: u64 = program.params.iter().map(|param| arguments_of(param, convention)).sum();
        match arguments.ok().and_then(|bytes| query::number(&bytes)) {
            Some(count) if count != expected => Err(format!("it takes {count} arguments, and a launch would pass {expected}")),
            _ => Ok(kernel),
        }
    }
}

/// The binary of a program that is built for one device, where the platform gives it.
fn binary(api: &Api, program: &Object) -> Option<Vec<u8>> {
    let info = |what, size, data, needed| {
        // SAFETY: the callers pass room of the size they state.
        unsafe { (api.clGetProgramInfo)(program.handle(), what, size, data, needed) }
    };
    let sizes = query::bytes(|size, data, needed| info(name::PROGRAM_BINARY_SIZES, size, data, needed)).ok()?;
    let [length] = query::sizes(&sizes)[..] else { return None };
    let mut binary = vec![0_u8; usize::try_from(length).ok().filter(|length| *length > 0)?];
    let mut pointer = binary.as_mut_ptr();
    let pointers: *mut *mut u8 = &mut pointer;
    let status = info(name::PROGRAM_BINARIES, size_of::<*mut u8>(), pointers.cast(), std::ptr::null_mut());
    Code::check(status).ok().map(|()| binary)
}

/// What the platform tells of a kernel on a device.
fn ask(api: &Api, kernel: &Object, device: Handle, what: u32) -> Option<u64> {
    let bytes = query::bytes(|size, data, needed| {
        // SAFETY: `bytes` passes room of the size it states.
        unsafe { (api.clGetKernelWorkGroupInfo)(kernel.handle(), device, what, size, data, needed) }
    });
    bytes.ok().and_then(|bytes| query::number(&bytes))
}

/// How many arguments a parameter is in OpenCL C.
fn arguments_of(param: &Param, convention: Convention) -> u64 {
    let buffer = if convention == Convention::Offsets { 2 } else { 1 };
    match param {
        Param::Buffer { .. } => buffer,
        Param::Table { count, .. } => buffer * u64::from(*count),
        Param::Scalar { .. } => 1,
        Param::ScalarTable { count, .. } => u64::from(*count),
    }
}

/// Lines of the source that are shown with a log at most.
const SHOWN: usize = 5;
/// Characters of a log that are kept.
const KEPT: usize = 4000;

/// A log, and below it the lines of the text that it names as `…:LINE:COLUMN: …` or `…:LINE: …`.
fn with_lines(log: &str, text: &str) -> String {
    let mut shown: Vec<usize> = Vec::new();
    for line in log.lines() {
        let number = line.split(':').skip(1).find_map(|part| part.trim().parse::<usize>().ok());
        if let Some(number) = number.filter(|n| !shown.contains(n) && shown.len() < SHOWN) {
            shown.push(number);
        }
    }
    let mut out: String = log.chars().take(KEPT).collect();
    let lines: Vec<&str> = text.lines().collect();
    for number in shown {
        if let Some(line) = number.checked_sub(1).and_then(|at| lines.get(at)) {
            out.push_str(&format!("\n{number:5} | {}", line.trim_end()));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::with_lines;

    #[test]
    fn logs_come_with_their_lines() {
        let text = "first\nsecond line\nthird";
        let clang = "<kernel>:2:7: error: unknown type\n<kernel>:3:1: note: here\n1 error generated.";
        assert_eq!(with_lines(clang, text), format!("{clang}\n    2 | second line\n    3 | third"));
        assert_eq!(with_lines("something else: 99: no", text), "something else: 99: no");
        assert_eq!(with_lines("", text), "");
    }
}
