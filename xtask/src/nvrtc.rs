//! CUDA's run-time compiler, loaded where it is found, without CUDA.

use libloading::Library;
use std::{
    ffi::{CString, c_char, c_int, c_void},
    path::PathBuf,
    sync::Arc,
};

use crate::{
    environment::{self, End},
    kernels::Depth,
    source,
};

/// The library.
#[derive(Clone)]
pub(crate) struct Nvrtc(Arc<Library>);

type Create = unsafe extern "C" fn(*mut *mut c_void, *const c_char, *const c_char, c_int, *const c_void, *const c_void) -> c_int;
type Compile = unsafe extern "C" fn(*mut c_void, c_int, *const *const c_char) -> c_int;
type LogSize = unsafe extern "C" fn(*mut c_void, *mut usize) -> c_int;
type Log = unsafe extern "C" fn(*mut c_void, *mut c_char) -> c_int;
type Destroy = unsafe extern "C" fn(*mut *mut c_void) -> c_int;
type ArchitectureCount = unsafe extern "C" fn(*mut c_int) -> c_int;
type Architectures = unsafe extern "C" fn(*mut c_int) -> c_int;

impl Nvrtc {
    /// From `UNIGRAD_NVRTC`, the loader's path, or the Python package, which is installed under `target` if need be.
    pub(crate) fn find() -> Result<Nvrtc, String> {
        if let Some(path) = std::env::var_os("UNIGRAD_NVRTC") {
            return Nvrtc::load(path.as_ref()).map_err(|e| format!("UNIGRAD_NVRTC: {e}"));
        }
        let names = ["libnvrtc.so", "libnvrtc.so.13", "libnvrtc.so.12"];
        if let Some(found) = names.into_iter().find_map(|name| Nvrtc::load(name.as_ref()).ok()) {
            return Ok(found);
        }
        let library = Nvrtc::package()?;
        Nvrtc::load(&library).map_err(|e| format!("{}: {e}", library.display()))
    }

    fn load(path: &std::path::Path) -> Result<Nvrtc, libloading::Error> {
        // SAFETY: NVIDIA's library; its initialisers do nothing that concerns us.
        unsafe { Library::new(path) }.map(|library| Nvrtc(Arc::new(library)))
    }

    /// The library in the Python package.
    fn package() -> Result<PathBuf, String> {
        let environment = source::root().join("target").join("nvrtc");
        let find = || {
            let mut folders = vec![environment.join("lib")];
            while let Some(folder) = folders.pop() {
                for path in std::fs::read_dir(folder).ok()?.flatten().map(|entry| entry.path()) {
                    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
                    if name.starts_with("libnvrtc.so") {
                        return Some(path);
                    }
                    if path.is_dir() && !path.is_symlink() {
                        folders.push(path);
                    }
                }
            }
            None
        };
        if let Some(library) = find() {
            return Ok(library);
        }
        let help = "NVRTC is not here (set UNIGRAD_NVRTC to libnvrtc.so)";
        match environment::with(&environment, &["nvidia-cuda-nvrtc"]) {
            Ok(_) => find().ok_or_else(|| help.to_owned()),
            Err(End::Skipped(why) | End::Failed(why)) => Err(format!("{help}, and {why}")),
        }
    }

    /// Whether it makes code for an architecture.
    pub(crate) fn knows(&self, arch: &str) -> Result<(), String> {
        let number: c_int = arch.trim_start_matches("sm_").parse().map_err(|_| format!("no architecture: {arch}"))?;
        // SAFETY: names and types as NVIDIA documents them; the list is as long as the library says.
        let known = unsafe {
            let count = self.0.get::<ArchitectureCount>(b"nvrtcGetNumSupportedArchs\0");
            let list = self.0.get::<Architectures>(b"nvrtcGetSupportedArchs\0");
            let (Ok(count), Ok(list)) = (count, list) else { return Err("NVRTC is older than 11.2".to_owned()) };
            let mut n = 0;
            count(&mut n);
            let mut known: Vec<c_int> = vec![0; usize::try_from(n).unwrap_or(0)];
            list(known.as_mut_ptr());
            known
        };
        if known.contains(&number) { Ok(()) } else { Err(format!("this NVRTC does not know {arch}")) }
    }

    /// Compiles; the compiler's words if it refuses.
    pub(crate) fn compile(&self, unit: &str, arch: &str, depth: Depth) -> Result<(), String> {
        let c_string = |text: &str| CString::new(text).map_err(|_| "the text has a zero byte".to_owned());
        let text = c_string(unit)?;
        // As the driver has it: the matrix instructions of Hopper and of what came after are in the architecture's own set.
        let is_new = arch.strip_prefix("sm_").and_then(|number| number.parse::<u32>().ok()).is_some_and(|number| number >= 90);
        let suffix = if is_new { "a" } else { "" };
        let mut options = vec![format!("--gpu-architecture={arch}{suffix}"), "--std=c++17".to_owned(), "-fmad=false".to_owned()];
        if depth == Depth::FrontEnd {
            options.push("--fdevice-syntax-only".to_owned());
        }
        let options = options.iter().map(|option| c_string(option)).collect::<Result<Vec<_>, _>>()?;
        let pointers: Vec<*const c_char> = options.iter().map(|option| option.as_ptr()).collect();
        let missing = |e: libloading::Error| e.to_string();
        // SAFETY: names and types as NVIDIA documents them; strings are terminated and outlive the calls; the log is as long as said.
        unsafe {
            let create = self.0.get::<Create>(b"nvrtcCreateProgram\0").map_err(missing)?;
            let compile = self.0.get::<Compile>(b"nvrtcCompileProgram\0").map_err(missing)?;
            let log_size = self.0.get::<LogSize>(b"nvrtcGetProgramLogSize\0").map_err(missing)?;
            let log = self.0.get::<Log>(b"nvrtcGetProgramLog\0").map_err(missing)?;
            let destroy = self.0.get::<Destroy>(b"nvrtcDestroyProgram\0").map_err(missing)?;
            let mut program = std::ptr::null_mut();
            let made = create(&mut program, text.as_ptr(), c"kernels.cu".as_ptr(), 0, std::ptr::null(), std::ptr::null());
            if made != 0 {
                return Err(format!("nvrtcCreateProgram: {made}"));
            }
            let result = compile(program, pointers.len() as c_int, pointers.as_ptr());
            let mut size = 0;
            log_size(program, &mut size);
            let mut words = vec![0u8; size.max(1)];
            log(program, words.as_mut_ptr().cast());
            destroy(&mut program);
            words.truncate(words.len().saturating_sub(1));
            if result == 0 { Ok(()) } else { Err(format!("nvrtc {result}: {}", String::from_utf8_lossy(&words))) }
        }
    }
}
