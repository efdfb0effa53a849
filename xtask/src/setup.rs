//! The software devices that tests use where the machine has no GPU: PoCL for OpenCL, lavapipe for Vulkan.
//!
//! In: the machine. Out: both installed where that is possible, and a line for each that is not there.
//! Never: fails a test run. A test that needs a missing device says `SKIPPED: …` itself.

use std::path::Path;
use std::process::{Command, Stdio};

struct SoftwareDevice {
    name: &'static str,
    packages: &'static [&'static str],
    /// A folder, and how the name of a file in it begins when the device is there.
    found_by: (&'static str, &'static str),
}

const DEVICES: [SoftwareDevice; 2] = [
    SoftwareDevice {
        name: "PoCL (OpenCL on the processor)",
        packages: &["pocl-opencl-icd", "ocl-icd-libopencl1"],
        found_by: ("/etc/OpenCL/vendors", "pocl"),
    },
    SoftwareDevice {
        name: "lavapipe (Vulkan on the processor)",
        packages: &["mesa-vulkan-drivers", "libvulkan1"],
        found_by: ("/usr/share/vulkan/icd.d", "lvp_icd"),
    },
];

impl SoftwareDevice {
    fn is_present(&self) -> bool {
        let (folder, prefix) = self.found_by;
        std::fs::read_dir(folder)
            .is_ok_and(|entries| entries.flatten().any(|entry| entry.file_name().to_string_lossy().starts_with(prefix)))
    }
}

pub(crate) fn install_software_devices() {
    let mut missing: Vec<&SoftwareDevice> = DEVICES.iter().filter(|device| !device.is_present()).collect();
    if missing.is_empty() {
        return;
    }
    let obstacle = match apt_get() {
        Ok(()) => {
            let packages: Vec<&str> = missing.iter().flat_map(|device| device.packages).copied().collect();
            eprintln!("setup: apt-get install {}", packages.join(" "));
            // A fresh image has no package lists, a used one needs no new ones: update only after a failure.
            let installed = apt("install", &packages) || (apt("update", &[]) && apt("install", &packages));
            missing.retain(|device| !device.is_present());
            if installed { "installed, yet not found" } else { "apt-get could not install it" }
        }
        Err(why) => why,
    };
    for device in missing {
        eprintln!("setup: {} is missing: {obstacle}; tests that need it are skipped", device.name);
        eprintln!("       help: apt-get install {}", device.packages.join(" "));
    }
}

fn apt_get() -> Result<(), &'static str> {
    if !["/usr/bin/apt-get", "/bin/apt-get"].iter().any(|path| Path::new(path).exists()) {
        return Err("this system has no apt-get");
    }
    let user = Command::new("id").arg("-u").output().map_err(|_| "cannot tell whether this is root")?;
    if user.stdout.trim_ascii() == b"0" { Ok(()) } else { Err("installing needs root") }
}

fn apt(what: &str, packages: &[&str]) -> bool {
    Command::new("apt-get")
        .args(["-qq", "-y", "-o", "Acquire::Retries=1", "-o", "Acquire::http::Timeout=20", "-o", "DPkg::Lock::Timeout=120"])
        .args([what, "--no-install-recommends"])
        .args(packages)
        .env("DEBIAN_FRONTEND", "noninteractive")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}
