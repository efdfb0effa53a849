//! Memory and health of devices whose vendors tell them in their own ways: the machine's devices, made to answer as these vendors' do
//! (`tests/fake/vendor.c`), and a management library of NVIDIA's (`nvml.c`).
//!
//! Libraries are named by environment variables that are read once, so each case has a process of its own.

use std::{
    path::{Path, PathBuf},
    process::Command,
};
use unigrad_device::Driver;
use unigrad_opencl::OpenClDriver;

fn compile(source: &str, name: &str, link: &[&str]) -> Result<PathBuf, String> {
    let library = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join(source);
    let mut command = Command::new("cc");
    command.args(["-Wall", "-Werror", "-fPIC", "-shared", "-o"]).arg(&library).arg(source).args(link);
    let output = command.output().map_err(|error| format!("no C compiler: {error}"))?;
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Ok(library)
}

#[test]
fn devices_tell_their_memory_in_their_vendors_ways() {
    if !cfg!(target_os = "linux") {
        return println!("SKIPPED: the fake libraries are for Linux");
    }
    if let Some((cause, _)) = OpenClDriver.discover().problem {
        return println!("SKIPPED: no OpenCL device: {cause}");
    }
    let made = compile("tests/fake/vendor.c", "libfakevendor.so", &["-Wl,--no-as-needed", "-l:libOpenCL.so.1", "-ldl"]);
    let (opencl, nvml) = match (made, compile("../../unigrad-nvml/tests/fake/nvml.c", "libfakenvml.so", &[])) {
        (Ok(opencl), Ok(nvml)) => (opencl, nvml),
        (Err(why), _) | (_, Err(why)) => return println!("SKIPPED: {why}"),
    };
    let nowhere = Path::new("/nowhere/libnvidia-ml.so.1");
    let cases = [
        ("nvidia", &*nvml, "free_by_nvml"),
        ("nvidia, new", &nvml, "free_by_nvml"),
        ("nvidia", nowhere, "unknown"),
        ("amd", &nvml, "free_by_amd"),
    ];
    for (vendor, nvml, test) in cases {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--ignored", "--exact", test]).env("FAKE_OPENCL_VENDOR", vendor);
        let output = command.env("UNIGRAD_OPENCL_LIBRARY", &opencl).env("UNIGRAD_NVML_LIBRARY", nvml).output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success() && text.contains("1 passed"), "{vendor}: {text}\n{}", String::from_utf8_lossy(&output.stderr));
    }
}

#[test]
#[ignore = "run by devices_tell_their_memory_in_their_vendors_ways"]
fn free_by_nvml() {
    let listed = &OpenClDriver.discover().devices[0];
    // The fake GPU has 5 GiB free; the device behind may have less in all.
    assert_eq!(listed.memory_free, (5 << 30).min(listed.memory_total));
    let device = OpenClDriver.open(0).unwrap();
    assert_eq!(device.info().memory_free, listed.memory_free);
    let health = device.health().unwrap().unwrap();
    assert_eq!((health.memory_used, health.temperature_c, health.clock_mhz), (Some(11 << 30), Some(41), None));
}

#[test]
#[ignore = "run by devices_tell_their_memory_in_their_vendors_ways"]
fn unknown() {
    assert_eq!(OpenClDriver.discover().devices[0].memory_free, 0);
    let device = OpenClDriver.open(0).unwrap();
    assert_eq!((device.info().memory_free, device.health().unwrap()), (device.info().memory_total, None));
}

#[test]
#[ignore = "run by devices_tell_their_memory_in_their_vendors_ways"]
fn free_by_amd() {
    assert_eq!(OpenClDriver.discover().devices[0].memory_free, 123456 << 10);
    assert_eq!(OpenClDriver.open(0).unwrap().health().unwrap(), None);
}
