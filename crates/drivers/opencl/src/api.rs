//! The OpenCL library: found at run time, its functions as a table, its errors by name.
//!
//! In: the loader's library, `libOpenCL.so.1` or what the system calls it (`UNIGRAD_OPENCL_LIBRARY` names another). Out: [`Api`].
//! Always: functions have the calling convention of the OpenCL headers; numbers are those of `CL/cl.h`.
//! Never: links to OpenCL, or calls a function newer than OpenCL 1.2.

use std::{
    error::Error as _,
    ffi::{OsStr, c_char, c_void},
    fmt,
    sync::OnceLock,
};

/// Any OpenCL object.
pub(crate) type Handle = *mut c_void;

const VARIABLE: &str = "UNIGRAD_OPENCL_LIBRARY";

#[cfg(target_os = "windows")]
const LIBRARIES: &[&str] = &["OpenCL.dll"];
#[cfg(target_vendor = "apple")]
const LIBRARIES: &[&str] = &["/System/Library/Frameworks/OpenCL.framework/OpenCL"];
#[cfg(not(any(target_os = "windows", target_vendor = "apple")))]
const LIBRARIES: &[&str] = &["libOpenCL.so.1", "libOpenCL.so"];

macro_rules! functions {
    ($($name:ident($($arg:ty),* $(,)?) -> $result:ty;)*) => {
        /// The functions of OpenCL 1.2 that the driver uses, under their own names.
        #[allow(non_snake_case)]
        pub(crate) struct Api {
            $(pub(crate) $name: unsafe extern "system" fn($($arg),*) -> $result,)*
            /// Where they are: unloaded never, as drivers leave threads behind.
            _library: libloading::Library,
        }

        impl Api {
            fn from_library(library: libloading::Library) -> Result<Api, String> {
                Ok(Api {
                    $($name: {
                        // SAFETY: the type is the one that the OpenCL headers declare for this name.
                        let symbol = unsafe { library.get::<unsafe extern "system" fn($($arg),*) -> $result>(stringify!($name)) };
                        *symbol.map_err(|_| format!("it has no function {}", stringify!($name)))?
                    },)*
                    _library: library,
                })
            }
        }
    };
}

functions! {
    clGetPlatformIDs(u32, *mut Handle, *mut u32) -> i32;
    clGetPlatformInfo(Handle, u32, usize, *mut c_void, *mut usize) -> i32;
    clGetDeviceIDs(Handle, u64, u32, *mut Handle, *mut u32) -> i32;
    clGetDeviceInfo(Handle, u32, usize, *mut c_void, *mut usize) -> i32;
    clCreateContext(*const isize, u32, *const Handle, *const c_void, *mut c_void, *mut i32) -> Handle;
    clReleaseContext(Handle) -> i32;
    clCreateCommandQueue(Handle, Handle, u64, *mut i32) -> Handle;
    clReleaseCommandQueue(Handle) -> i32;
    clCreateBuffer(Handle, u64, usize, *mut c_void, *mut i32) -> Handle;
    clCreateSubBuffer(Handle, u64, u32, *const c_void, *mut i32) -> Handle;
    clReleaseMemObject(Handle) -> i32;
    clCreateProgramWithSource(Handle, u32, *const *const c_char, *const usize, *mut i32) -> Handle;
    clCreateProgramWithBinary(Handle, u32, *const Handle, *const usize, *const *const u8, *mut i32, *mut i32) -> Handle;
    clBuildProgram(Handle, u32, *const Handle, *const c_char, *const c_void, *mut c_void) -> i32;
    clGetProgramInfo(Handle, u32, usize, *mut c_void, *mut usize) -> i32;
    clGetProgramBuildInfo(Handle, Handle, u32, usize, *mut c_void, *mut usize) -> i32;
    clReleaseProgram(Handle) -> i32;
    clCreateKernel(Handle, *const c_char, *mut i32) -> Handle;
    clReleaseKernel(Handle) -> i32;
    clSetKernelArg(Handle, u32, usize, *const c_void) -> i32;
    clGetKernelInfo(Handle, u32, usize, *mut c_void, *mut usize) -> i32;
    clGetKernelWorkGroupInfo(Handle, Handle, u32, usize, *mut c_void, *mut usize) -> i32;
    clEnqueueNDRangeKernel(Handle, Handle, u32, *const usize, *const usize, *const usize, u32, *const Handle, *mut Handle) -> i32;
    clEnqueueReadBuffer(Handle, Handle, u32, usize, usize, *mut c_void, u32, *const Handle, *mut Handle) -> i32;
    clEnqueueWriteBuffer(Handle, Handle, u32, usize, usize, *const c_void, u32, *const Handle, *mut Handle) -> i32;
    clEnqueueCopyBuffer(Handle, Handle, Handle, usize, usize, usize, u32, *const Handle, *mut Handle) -> i32;
    clEnqueueFillBuffer(Handle, Handle, *const c_void, usize, usize, usize, u32, *const Handle, *mut Handle) -> i32;
    clEnqueueBarrierWithWaitList(Handle, u32, *const Handle, *mut Handle) -> i32;
    clEnqueueMarkerWithWaitList(Handle, u32, *const Handle, *mut Handle) -> i32;
    clFlush(Handle) -> i32;
    clFinish(Handle) -> i32;
    clGetEventInfo(Handle, u32, usize, *mut c_void, *mut usize) -> i32;
    clGetEventProfilingInfo(Handle, u32, usize, *mut c_void, *mut usize) -> i32;
    clWaitForEvents(u32, *const Handle) -> i32;
    clReleaseEvent(Handle) -> i32;
}

/// Why there is no OpenCL library: cause and remedy.
#[derive(Clone, Debug)]
pub(crate) struct Missing {
    pub(crate) cause: String,
    pub(crate) help: String,
}

impl Api {
    /// The machine's library, loaded once.
    pub(crate) fn get() -> Result<&'static Api, Missing> {
        static API: OnceLock<Result<Api, Missing>> = OnceLock::new();
        API.get_or_init(load).as_ref().map_err(Clone::clone)
    }
}

fn load() -> Result<Api, Missing> {
    let chosen = std::env::var_os(VARIABLE).filter(|name| !name.is_empty());
    let names: Vec<&OsStr> = chosen.as_deref().map_or_else(|| LIBRARIES.iter().map(OsStr::new).collect(), |name| vec![name]);
    let mut causes = Vec::new();
    for name in names {
        // SAFETY: loading an OpenCL library runs its initializers, which every program that uses OpenCL relies on.
        let library = match unsafe { libloading::Library::new(name) } {
            Ok(library) => library,
            Err(error) => {
                // The loader's words, which name the library.
                causes.push(error.source().map_or_else(|| format!("{}: {error}", name.display()), ToString::to_string));
                continue;
            }
        };
        match Api::from_library(library) {
            Ok(api) => return Ok(api),
            Err(cause) => causes.push(format!("{}: {cause}", name.display())),
        }
    }
    let help = match &chosen {
        Some(_) => format!("let {VARIABLE} name the OpenCL library, or unset it"),
        None => "install an OpenCL loader (Debian: ocl-icd-libopencl1) and the GPU vendor's OpenCL driver".to_owned(),
    };
    Err(Missing { cause: format!("no usable OpenCL library ({})", causes.join("; ")), help })
}

/// An OpenCL error number.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Code(pub(crate) i32);

impl Code {
    pub(crate) const DEVICE_NOT_FOUND: Code = Code(-1);
    pub(crate) const DEVICE_NOT_AVAILABLE: Code = Code(-2);
    pub(crate) const MEM_OBJECT_ALLOCATION_FAILURE: Code = Code(-4);
    pub(crate) const OUT_OF_RESOURCES: Code = Code(-5);
    pub(crate) const OUT_OF_HOST_MEMORY: Code = Code(-6);
    pub(crate) const BUILD_PROGRAM_FAILURE: Code = Code(-11);
    pub(crate) const EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST: Code = Code(-14);
    pub(crate) const INVALID_CONTEXT: Code = Code(-34);
    pub(crate) const INVALID_COMMAND_QUEUE: Code = Code(-36);
    pub(crate) const INVALID_BUFFER_SIZE: Code = Code(-61);
    pub(crate) const PLATFORM_NOT_FOUND: Code = Code(-1001);
    /// What one vendor answers after a kernel touched memory that is not there.
    pub(crate) const ILLEGAL_ACCESS: Code = Code(-9999);

    /// The number as a result.
    pub(crate) fn check(status: i32) -> Result<(), Code> {
        if status == 0 { Ok(()) } else { Err(Code(status)) }
    }

    fn name(self) -> Option<&'static str> {
        NAMES.iter().find(|(code, _)| *code == self.0).map(|(_, name)| *name)
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => write!(f, "{name} ({})", self.0),
            None => write!(f, "OpenCL error {}", self.0),
        }
    }
}

impl fmt::Debug for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

const NAMES: &[(i32, &str)] = &[
    (-1, "CL_DEVICE_NOT_FOUND"),
    (-2, "CL_DEVICE_NOT_AVAILABLE"),
    (-3, "CL_COMPILER_NOT_AVAILABLE"),
    (-4, "CL_MEM_OBJECT_ALLOCATION_FAILURE"),
    (-5, "CL_OUT_OF_RESOURCES"),
    (-6, "CL_OUT_OF_HOST_MEMORY"),
    (-7, "CL_PROFILING_INFO_NOT_AVAILABLE"),
    (-8, "CL_MEM_COPY_OVERLAP"),
    (-11, "CL_BUILD_PROGRAM_FAILURE"),
    (-12, "CL_MAP_FAILURE"),
    (-13, "CL_MISALIGNED_SUB_BUFFER_OFFSET"),
    (-14, "CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST"),
    (-30, "CL_INVALID_VALUE"),
    (-31, "CL_INVALID_DEVICE_TYPE"),
    (-32, "CL_INVALID_PLATFORM"),
    (-33, "CL_INVALID_DEVICE"),
    (-34, "CL_INVALID_CONTEXT"),
    (-35, "CL_INVALID_QUEUE_PROPERTIES"),
    (-36, "CL_INVALID_COMMAND_QUEUE"),
    (-38, "CL_INVALID_MEM_OBJECT"),
    (-42, "CL_INVALID_BINARY"),
    (-43, "CL_INVALID_BUILD_OPTIONS"),
    (-44, "CL_INVALID_PROGRAM"),
    (-45, "CL_INVALID_PROGRAM_EXECUTABLE"),
    (-46, "CL_INVALID_KERNEL_NAME"),
    (-47, "CL_INVALID_KERNEL_DEFINITION"),
    (-48, "CL_INVALID_KERNEL"),
    (-49, "CL_INVALID_ARG_INDEX"),
    (-50, "CL_INVALID_ARG_VALUE"),
    (-51, "CL_INVALID_ARG_SIZE"),
    (-52, "CL_INVALID_KERNEL_ARGS"),
    (-53, "CL_INVALID_WORK_DIMENSION"),
    (-54, "CL_INVALID_WORK_GROUP_SIZE"),
    (-55, "CL_INVALID_WORK_ITEM_SIZE"),
    (-56, "CL_INVALID_GLOBAL_OFFSET"),
    (-57, "CL_INVALID_EVENT_WAIT_LIST"),
    (-58, "CL_INVALID_EVENT"),
    (-59, "CL_INVALID_OPERATION"),
    (-61, "CL_INVALID_BUFFER_SIZE"),
    (-63, "CL_INVALID_GLOBAL_WORK_SIZE"),
    (-1001, "CL_PLATFORM_NOT_FOUND_KHR"),
    (-9999, "illegal access in a kernel"),
];
