//! The drivers that the Vulkan loader is about to open.
//!
//! In: the variables that the loader reads, and the manifests of drivers, each of which names a library. Out: names and paths of libraries.
//! Not: everything that the loader takes into account, such as drivers that are switched off. A library too many is opened and not used.

use std::{
    env,
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
};

/// Their libraries, as the manifests name them.
pub(crate) fn libraries() -> Vec<OsString> {
    let listed = |name: &str| env::var_os(name).filter(|value| !value.is_empty()).map(|value| env::split_paths(&value).collect::<Vec<_>>());
    let mut places = listed("VK_DRIVER_FILES").or_else(|| listed("VK_ICD_FILENAMES")).unwrap_or_else(|| {
        let home = env::var_os("HOME").map(PathBuf::from);
        let mut folders = vec![PathBuf::from("/etc"), PathBuf::from("/usr/local/etc")];
        folders.extend(listed("XDG_CONFIG_DIRS").unwrap_or_else(|| vec!["/etc/xdg".into()]));
        folders.extend(env::var_os("XDG_CONFIG_HOME").map(PathBuf::from).or_else(|| home.as_ref().map(|home| home.join(".config"))));
        folders.extend(listed("XDG_DATA_DIRS").unwrap_or_else(|| vec!["/usr/local/share".into(), "/usr/share".into()]));
        folders.extend(env::var_os("XDG_DATA_HOME").map(PathBuf::from).or_else(|| home.as_ref().map(|home| home.join(".local/share"))));
        folders.into_iter().map(|folder| folder.join("vulkan/icd.d")).collect()
    });
    places.extend(listed("VK_ADD_DRIVER_FILES").unwrap_or_default());
    let manifests = places.into_iter().flat_map(|place| if place.is_dir() { unigrad_loader::files(&place, "json") } else { vec![place] });
    manifests.filter_map(|path| named(&fs::read_to_string(&path).ok()?, &path)).collect()
}

/// The library of a manifest. A path with parts is meant from the manifest's folder on, a plain name is searched as others.
fn named(text: &str, manifest: &Path) -> Option<OsString> {
    let after = text.split_once("\"library_path\"")?.1.split_once(':')?.1;
    let name = after.trim_start().strip_prefix('"')?.split_once('"')?.0;
    // A path with an escape is none that an installer writes.
    let is_plain = !name.is_empty() && !name.contains('\\');
    is_plain.then(|| if name.contains('/') { manifest.parent().unwrap_or(Path::new("")).join(name).into_os_string() } else { name.into() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn manifests_name_libraries() {
        let manifest = |path: &str| {
            format!("{{\n    \"ICD\": {{\n        \"api_version\": \"1.3\",\n        \"library_path\" : \"{path}\"\n    }}\n}}\n")
        };
        let at = Path::new("/usr/share/vulkan/icd.d/own.json");
        assert_eq!(named(&manifest("/usr/lib/libvulkan_own.so"), at), Some("/usr/lib/libvulkan_own.so".into()));
        assert_eq!(named(&manifest("../libown.so"), at), Some("/usr/share/vulkan/icd.d/../libown.so".into()));
        assert_eq!(named(&manifest("libown.so"), at), Some("libown.so".into()));
        for text in
            [manifest(""), manifest("a\\\\b"), "{}".to_owned(), "\"library_path\": 3".to_owned(), "\"library_path\": \"x".to_owned()]
        {
            assert_eq!(named(&text, at), None, "{text}");
        }
    }
}
