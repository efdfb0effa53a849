//! The HIP runtime, hiprtc and rocBLAS: found at run time, their functions as tables, their errors by name.
//!
//! In: `libamdhip64`, `libhiprtc` and `librocblas` in the versions that there are (`UNIGRAD_HIP_LIBRARY` names another runtime, which is then
//! asked for the others' functions too, and alone). Out: [`Api`].
//! Always: functions and numbers are those of `hip_runtime_api.h`, `hiprtc.h` and `rocblas.h` since version 5, which have kept them.
//! Never: links to ROCm.

use libloading::Library;
use std::{
    error::Error as _,
    ffi::{CStr, OsStr, OsString, c_char, c_void},
    fmt,
    path::{Path, PathBuf},
    sync::OnceLock,
};

/// A stream, a module, a function, an event, a program.
pub(crate) type Handle = *mut c_void;

const VARIABLE: &str = "UNIGRAD_HIP_LIBRARY";

/// Names of the runtime and of hiprtc, newest first. hiprtc's functions were once in the runtime.
#[cfg(windows)]
const LIBRARIES: [&[&str]; 2] =
    [&["amdhip64_7.dll", "amdhip64_6.dll", "amdhip64.dll"], &["hiprtc0701.dll", "hiprtc0604.dll", "hiprtc0507.dll"]];
#[cfg(not(windows))]
const LIBRARIES: [&[&str]; 2] = [
    &["libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5", "libamdhip64.so"],
    &["libhiprtc.so.7", "libhiprtc.so.6", "libhiprtc.so.5", "libhiprtc.so"],
];

#[cfg(windows)]
const BLAS_NAMES: &[&str] = &["rocblas.dll"];
#[cfg(not(windows))]
const BLAS_NAMES: &[&str] = &["librocblas.so.5", "librocblas.so.4", "librocblas.so.3", "librocblas.so.0", "librocblas.so"];

macro_rules! functions {
    ($(#[$doc:meta])* $table:ident { $($name:ident($($arg:ty),* $(,)?) -> $result:ty;)* }) => {
        $(#[$doc])*
        #[allow(non_snake_case)]
        #[derive(Clone, Copy)]
        pub(crate) struct $table {
            $(pub(crate) $name: unsafe extern "C" fn($($arg),*) -> $result,)*
        }

        impl $table {
            fn from_library(library: &Library) -> Result<$table, String> {
                Ok($table {
                    $($name: {
                        // SAFETY: the type is the one that the library's header declares for this name.
                        let symbol = unsafe { library.get::<unsafe extern "C" fn($($arg),*) -> $result>(stringify!($name)) };
                        *symbol.map_err(|_| format!("it has no function {}", stringify!($name)))?
                    },)*
                })
            }
        }
    };
}

functions! {
    /// The runtime.
    Runtime {
        hipInit(u32) -> i32;
        hipGetErrorName(i32) -> *const c_char;
        hipGetErrorString(i32) -> *const c_char;
        hipRuntimeGetVersion(*mut i32) -> i32;
        hipGetDeviceCount(*mut i32) -> i32;
        hipDeviceGet(*mut i32, i32) -> i32;
        hipDeviceGetName(*mut c_char, i32, i32) -> i32;
        hipDeviceTotalMem(*mut usize, i32) -> i32;
        hipDeviceGetAttribute(*mut i32, i32, i32) -> i32;
        hipSetDevice(i32) -> i32;
        hipMemGetInfo(*mut usize, *mut usize) -> i32;
        hipMalloc(*mut *mut c_void, usize) -> i32;
        hipFree(*mut c_void) -> i32;
        hipMemcpyHtoDAsync(*mut c_void, *const c_void, usize, Handle) -> i32;
        hipMemcpyDtoHAsync(*mut c_void, *mut c_void, usize, Handle) -> i32;
        hipMemcpyDtoDAsync(*mut c_void, *mut c_void, usize, Handle) -> i32;
        hipStreamCreateWithFlags(*mut Handle, u32) -> i32;
        hipStreamDestroy(Handle) -> i32;
        hipStreamSynchronize(Handle) -> i32;
        hipStreamWaitEvent(Handle, Handle, u32) -> i32;
        hipMemcpyPeerAsync(*mut c_void, i32, *const c_void, i32, usize, Handle) -> i32;
        hipDeviceCanAccessPeer(*mut i32, i32, i32) -> i32;
        hipDeviceEnablePeerAccess(i32, u32) -> i32;
        hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(*mut i32, Handle, i32, usize) -> i32;
        hipEventCreateWithFlags(*mut Handle, u32) -> i32;
        hipEventRecord(Handle, Handle) -> i32;
        hipEventQuery(Handle) -> i32;
        hipEventSynchronize(Handle) -> i32;
        hipEventElapsedTime(*mut f32, Handle, Handle) -> i32;
        hipEventDestroy(Handle) -> i32;
        hipModuleLoadData(*mut Handle, *const c_void) -> i32;
        hipModuleUnload(Handle) -> i32;
        hipModuleGetFunction(*mut Handle, Handle, *const c_char) -> i32;
        hipModuleLaunchKernel(Handle, u32, u32, u32, u32, u32, u32, u32, Handle, *mut *mut c_void, *mut *mut c_void) -> i32;
    }
}

functions! {
    /// The run-time compiler.
    Compiler {
        hiprtcVersion(*mut i32, *mut i32) -> i32;
        hiprtcGetErrorString(i32) -> *const c_char;
        hiprtcCreateProgram(*mut Handle, *const c_char, *const c_char, i32, *const *const c_char, *const *const c_char) -> i32;
        hiprtcCompileProgram(Handle, i32, *const *const c_char) -> i32;
        hiprtcGetProgramLogSize(Handle, *mut usize) -> i32;
        hiprtcGetProgramLog(Handle, *mut c_char) -> i32;
        hiprtcGetCodeSize(Handle, *mut usize) -> i32;
        hiprtcGetCode(Handle, *mut c_char) -> i32;
        hiprtcDestroyProgram(*mut Handle) -> i32;
    }
}

functions! {
    /// rocBLAS.
    Blas {
        rocblas_create_handle(*mut Handle) -> i32;
        rocblas_destroy_handle(Handle) -> i32;
        rocblas_set_stream(Handle, Handle) -> i32;
        rocblas_set_atomics_mode(Handle, i32) -> i32;
        rocblas_gemm_strided_batched_ex(
            Handle, i32, i32, i32, i32, i32,
            *const c_void,
            *const c_void, i32, i32, i64,
            *const c_void, i32, i32, i64,
            *const c_void,
            *const c_void, i32, i32, i64,
            *mut c_void, i32, i32, i64,
            i32, i32, i32, i32, u32,
        ) -> i32;
    }
}

/// Fills a `hipDeviceProp_t`.
pub(crate) type GetProperties = unsafe extern "C" fn(*mut c_void, i32) -> i32;

/// The loaded libraries.
pub(crate) struct Api {
    pub(crate) runtime: Runtime,
    /// The compiler, or why it is not there.
    pub(crate) compiler: Result<Compiler, Missing>,
    /// For the architecture's name; each version has one of two.
    pub(crate) properties: Option<GetProperties>,
    /// rocBLAS inside of a runtime that was chosen.
    chosen_blas: Option<Result<Blas, String>>,
    /// Kept open: the runtime leaves threads behind.
    _libraries: Vec<Library>,
}

/// What is missing, and what would help.
#[derive(Clone, Debug)]
pub(crate) struct Missing {
    pub(crate) cause: String,
    pub(crate) help: String,
}

impl Api {
    /// The machine's libraries, loaded once.
    pub(crate) fn get() -> Result<&'static Api, Missing> {
        static API: OnceLock<Result<Api, Missing>> = OnceLock::new();
        API.get_or_init(load).as_ref().map_err(Clone::clone)
    }

    /// rocBLAS, loaded at the first call: it is large. `None` if there is none, or none with kernels for the architecture.
    pub(crate) fn blas(&self, architecture: &str) -> Option<Blas> {
        static BLAS: OnceLock<Option<(Blas, Library)>> = OnceLock::new();
        match &self.chosen_blas {
            Some(chosen) => chosen.as_ref().ok().copied(),
            None => {
                let (blas, _) = BLAS.get_or_init(|| open(BLAS_NAMES, Blas::from_library).ok()).as_ref()?;
                has_kernels(architecture).then_some(*blas)
            }
        }
    }
}

/// Whether the loaded rocBLAS has kernels for an architecture. Without them its first product ends the process.
fn has_kernels(architecture: &str) -> bool {
    let architecture = architecture.split(':').next().unwrap_or_default();
    if architecture.is_empty() {
        return false;
    }
    let chosen = std::env::var_os("ROCBLAS_TENSILE_LIBPATH").map(PathBuf::from);
    // Where the loader found it; elsewhere than on Linux the installations' folders have to do.
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap_or_default();
    let loaded = maps.lines().filter_map(|line| line.find('/').map(|at| Path::new(&line[at..])));
    let loaded = loaded.filter(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("librocblas.so")));
    let beside: Vec<PathBuf> = loaded.filter_map(Path::parent).map(Path::to_owned).chain(folders()).collect();
    let below = beside.into_iter().map(|folder| folder.join("rocblas"));
    // `rocblas/library`, or `rocblas/4.2.1/library` as distributions have it.
    chosen.into_iter().chain(below).any(|folder| names_architecture(&folder, architecture, 3))
}

/// Whether a file in a folder, or in those below it to some depth, has the architecture in its name.
fn names_architecture(folder: &Path, architecture: &str, depth: usize) -> bool {
    let Ok(entries) = std::fs::read_dir(folder) else { return false };
    entries.flatten().any(|entry| {
        let name = entry.file_name().to_string_lossy().into_owned();
        let rests = name.match_indices(architecture).map(|(at, _)| &name[at + architecture.len()..]);
        let named = rests.into_iter().any(|rest| !rest.starts_with(|c: char| c.is_ascii_alphanumeric()));
        named || depth > 1 && entry.path().is_dir() && names_architecture(&entry.path(), architecture, depth - 1)
    })
}

/// Folders of a ROCm installation that the loader may not know.
pub(crate) fn folders() -> Vec<PathBuf> {
    let installed = ["ROCM_PATH", "HIP_PATH"].into_iter().filter_map(|name| std::env::var_os(name).filter(|path| !path.is_empty()));
    let default = (!cfg!(windows)).then(|| OsString::from("/opt/rocm"));
    let below = if cfg!(windows) { "bin" } else { "lib" };
    installed.chain(default).map(|root| Path::new(&root).join(below)).collect()
}

/// The first library of these names that opens and has what `take` wants, by the loader's path and then in the folders.
fn open<T>(names: &[impl AsRef<OsStr>], take: impl Fn(&Library) -> Result<T, String>) -> Result<(T, Library), Vec<String>> {
    let mut causes = Vec::new();
    let bare = names.iter().map(|name| PathBuf::from(name.as_ref()));
    let placed = folders().into_iter().flat_map(|folder| names.iter().map(move |name| folder.join(name.as_ref())));
    for path in bare.chain(placed) {
        // SAFETY: loading the library runs its initializers, which every program that uses HIP relies on.
        match unsafe { Library::new(&path) } {
            Ok(library) => match take(&library) {
                Ok(table) => return Ok((table, library)),
                Err(cause) => causes.push(format!("{}: {cause}", path.display())),
            },
            // Names that are not there say no more than the list of names does.
            Err(error) if names.len() == 1 => causes.push(error.source().map_or_else(|| error.to_string(), ToString::to_string)),
            Err(_) => {}
        }
    }
    // A whole path is the same in every folder.
    causes.dedup();
    Err(causes)
}

fn missing(what: &str, names: &[&OsStr], causes: &[String], help: &str) -> Missing {
    let causes = if causes.is_empty() { format!("looked for {}", names.join(OsStr::new(", ")).display()) } else { causes.join("; ") };
    Missing { cause: format!("{what} not found ({causes})"), help: help.to_owned() }
}

fn load() -> Result<Api, Missing> {
    let chosen = std::env::var_os(VARIABLE).filter(|name| !name.is_empty());
    // A path may have any bytes.
    let chosen_names: Vec<&OsStr> = chosen.iter().map(OsString::as_os_str).collect();
    let [runtime_names, compiler_names] = LIBRARIES.map(|names| names.iter().map(OsStr::new).collect::<Vec<_>>());
    let (runtime_names, compiler_names) = (&runtime_names[..], &compiler_names[..]);
    let names = if chosen.is_some() { &chosen_names[..] } else { runtime_names };
    let help = match &chosen {
        Some(_) => format!("let {VARIABLE} name the HIP runtime, or unset it"),
        None => "install ROCm's HIP runtime (libamdhip64), or set ROCM_PATH to where it is".to_owned(),
    };
    let (runtime, library) =
        open(names, Runtime::from_library).map_err(|causes| missing("the HIP runtime (libamdhip64)", names, &causes, &help))?;
    let property = |name: &str| {
        // SAFETY: both functions take a structure to fill and a device; how much they fill is the caller's matter.
        unsafe { library.get::<GetProperties>(name) }.ok().map(|symbol| *symbol)
    };
    let properties = property("hipGetDevicePropertiesR0600").or_else(|| property("hipGetDeviceProperties"));
    let chosen_blas = chosen.is_some().then(|| Blas::from_library(&library));
    let mut libraries = Vec::new();
    let compiler = match Compiler::from_library(&library) {
        // A runtime that was chosen brings its own compiler; others are better served by the library of that name.
        Ok(inside) if chosen.is_some() => Ok(inside),
        inside => match open(compiler_names, Compiler::from_library) {
            Ok((compiler, library)) => {
                libraries.push(library);
                Ok(compiler)
            }
            Err(causes) => {
                inside.map_err(|_| missing("hiprtc, the run-time compiler,", compiler_names, &causes, "install ROCm's hiprtc (libhiprtc)"))
            }
        },
    };
    libraries.push(library);
    Ok(Api { runtime, compiler, properties, chosen_blas, _libraries: libraries })
}

/// An error of the runtime.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Code(pub(crate) i32);

impl Code {
    pub(crate) const OUT_OF_MEMORY: Code = Code(2);
    pub(crate) const NO_DEVICE: Code = Code(100);
    pub(crate) const NOT_READY: Code = Code(600);
    /// A number that no version gives: an answer that makes no sense.
    pub(crate) const NONSENSE: Code = Code(-1);

    /// The number as a result.
    pub(crate) fn check(status: i32) -> Result<(), Code> {
        if status == 0 { Ok(()) } else { Err(Code(status)) }
    }

    /// Whether nothing works after it: illegal addresses, failed and endless kernels, hardware errors, a destroyed context.
    pub(crate) fn is_fatal(self) -> bool {
        matches!(self.0, 4 | 214 | 700 | 702 | 709 | 710 | 719 | 1052 | 1053)
    }
}

/// A text of the library.
fn words(text: *const c_char) -> String {
    if text.is_null() {
        return String::new();
    }
    // SAFETY: the library gives texts that end with NUL and live as long as it does.
    unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match Api::get() {
            // SAFETY: both take any number.
            Ok(api) if self.0 >= 0 => unsafe {
                let (name, text) = ((api.runtime.hipGetErrorName)(self.0), (api.runtime.hipGetErrorString)(self.0));
                write!(f, "{} ({}): {}", words(name), self.0, words(text))
            },
            _ => write!(f, "HIP error {}", self.0),
        }
    }
}

impl fmt::Debug for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Compiler {
    /// What a number of hiprtc means.
    pub(crate) fn explain(&self, status: i32) -> String {
        // SAFETY: takes any number.
        format!("{} ({status})", words(unsafe { (self.hiprtcGetErrorString)(status) }))
    }
}

#[cfg(test)]
mod tests {
    use super::names_architecture;

    #[test]
    fn kernels_are_found_by_the_architecture_in_their_names() {
        let folder = std::env::temp_dir().join(format!("unigrad-hip-kernels-{}", std::process::id()));
        let inner = folder.join("4.2.1").join("library");
        std::fs::create_dir_all(&inner).unwrap();
        std::fs::write(inner.join("TensileLibrary_lazy_gfx90a.dat"), "").unwrap();
        let found = |architecture: &str| names_architecture(&folder, architecture, 3);
        assert_eq!([found("gfx90a"), found("gfx90"), found("gfx1100")], [true, false, false]);
        assert!(!names_architecture(&folder, "gfx90a", 2));
        std::fs::remove_dir_all(&folder).unwrap();
        assert!(!found("gfx90a"));
    }
}
