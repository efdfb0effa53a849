//! Drivers' libraries, opened so that they find their own functions, whatever else the process has loaded.
//!
//! A library that was opened for all others (`RTLD_GLOBAL`) and exports an LLVM, as TensorFlow's does, is searched before a driver's own LLVM: the driver's
//! initializers then call functions of another version on their own data, and the process ends with a segmentation fault. Loaders of drivers (OpenCL's,
//! Vulkan's) have no remedy; but what is open already they do not bind again.
//!
//! In: the paths or names of libraries that a loader is about to open, asked for where they are needed. Out: where such an LLVM is there, they are open, each bound to itself first.
//! Always: without such an LLVM nothing is opened: a library that is bound to itself first would miss functions that are replaced on purpose, as those of a
//! memory profiler. What cannot be opened is left to the loader, which says why.
//! Never: does anything where libraries are searched otherwise: on other systems than Linux with glibc.

use std::{ffi::OsString, path::Path};

/// Opens libraries, paths or names as the loader would give them, if the process has an LLVM that they could take for their own.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
pub fn open_apart(libraries: impl FnOnce() -> Vec<OsString>) {
    use libloading::os::unix::{Library, RTLD_LAZY, RTLD_LOCAL};
    /// glibc's, on all processors but MIPS: a library looks for functions in itself and what it needs, before it looks anywhere else.
    const RTLD_DEEPBIND: std::ffi::c_int = 8;

    if cfg!(any(target_arch = "mips", target_arch = "mips64")) || !has_shared_llvm() {
        return;
    }
    for library in libraries() {
        // SAFETY: the driver's loader opens the same library next, and runs the same initializers.
        if let Ok(library) = unsafe { Library::open(Some(&library), RTLD_LAZY | RTLD_LOCAL | RTLD_DEEPBIND) } {
            // Drivers leave threads behind, and the loader's own handle may be closed in between.
            std::mem::forget(library);
        }
    }
}

/// As on Linux, where there is something to do.
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub fn open_apart(_libraries: impl FnOnce() -> Vec<OsString>) {}

/// Whether every library that is opened from now on finds the LLVM of another library.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
fn has_shared_llvm() -> bool {
    // What registers an option of the command line: every LLVM does that when it is loaded, and there it ended.
    const FUNCTION: &[u8] = b"_ZN4llvm2cl6Option11addArgumentEv\0";
    // SAFETY: the address is not used.
    unsafe { libloading::os::unix::Library::this().get::<*const ()>(FUNCTION) }.is_ok()
}

/// The files of a folder that end so, in the order of their names; none of a folder that is not there.
pub fn files(folder: &Path, end: &str) -> Vec<std::path::PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut found: Vec<_> = entries.map(|entry| entry.path()).filter(|path| path.extension().is_some_and(|own| own == end)).collect();
    found.sort();
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    fn nothing_is_opened_where_there_is_no_llvm() {
        assert!(!has_shared_llvm());
        open_apart(|| panic!("nothing asks for drivers"));
    }

    #[test]
    fn files_have_the_order_of_their_names() {
        let folder = std::env::temp_dir().join(format!("unigrad-loader-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        ["b.icd", "a.icd", "c.json"].iter().for_each(|name| std::fs::write(folder.join(name), "").unwrap());
        assert_eq!(files(&folder, "icd"), ["a.icd", "b.icd"].map(|name| folder.join(name)));
        std::fs::remove_dir_all(&folder).unwrap();
        assert!(files(&folder, "icd").is_empty());
    }
}
