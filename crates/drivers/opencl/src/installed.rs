//! The drivers that the OpenCL loader is about to open.
//!
//! In: the variables that loaders read, and the `.icd` files, each of which names a library. Out: names and paths of libraries.

use std::{
    env,
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
};

const FOLDER: &str = "/etc/OpenCL/vendors";

/// Their libraries, as the `.icd` files name them.
pub(crate) fn libraries() -> Vec<OsString> {
    // ocl-icd's variable, then Khronos's two.
    let chosen = ["OCL_ICD_VENDORS", "OPENCL_VENDOR_PATH"].into_iter().find_map(|name| env::var_os(name).filter(|value| !value.is_empty()));
    let mut found = named(Path::new(&chosen.unwrap_or_else(|| FOLDER.into())));
    let more = env::var_os("OCL_ICD_FILENAMES").unwrap_or_default();
    found.extend(env::split_paths(&more).filter(|path| !path.as_os_str().is_empty()).map(PathBuf::into_os_string));
    found
}

/// The libraries of a folder of `.icd` files, of one such file, or the library itself.
fn named(place: &Path) -> Vec<OsString> {
    let files = match place.extension() {
        _ if place.is_dir() => unigrad_loader::files(place, "icd"),
        Some(end) if end == "icd" => vec![place.to_owned()],
        _ => return vec![place.as_os_str().to_owned()],
    };
    let first_line = |path: PathBuf| Some(fs::read_to_string(path).ok()?.lines().next()?.trim().to_owned());
    files.into_iter().filter_map(first_line).filter(|name| !name.is_empty()).map(OsString::from).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn icd_files_name_libraries() {
        let folder = env::temp_dir().join(format!("unigrad-icd-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        for (name, text) in [("b.icd", "/opt/libb.so\n"), ("a.icd", " liba.so.1 "), ("empty.icd", ""), ("c.txt", "libc.so")] {
            fs::write(folder.join(name), text).unwrap();
        }
        assert_eq!(named(&folder), ["liba.so.1", "/opt/libb.so"]);
        assert_eq!(named(&folder.join("b.icd")), ["/opt/libb.so"]);
        assert_eq!(named(Path::new("libown.so")), ["libown.so"]);
        fs::remove_dir_all(&folder).unwrap();
    }
}
