//! Figures from a library that the C compiler makes of `tests/fake/nvml.c`; none without one.
//!
//! The library is named by an environment variable that is read once, so each case has a process of its own.

use std::{path::Path, process::Command};
use unigrad_device::Health;
use unigrad_nvml::{Memory, address, connection, driver_version, health, memory};

const VARIABLE: &str = "UNIGRAD_NVML_LIBRARY";

fn run(test: &str, library: &str) {
    let mut command = Command::new(std::env::current_exe().unwrap());
    let output = command.args(["--ignored", "--exact", test]).env(VARIABLE, library).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success() && text.contains("1 passed"), "{text}\n{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn figures_come_from_the_library_there_is() {
    run("without_a_library", "/nowhere/libnvidia-ml.so.1");
    if !cfg!(target_os = "linux") {
        return println!("SKIPPED: the fake library is for Linux");
    }
    // A library, but not this one.
    run("without_a_library", "libc.so.6");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fake/nvml.c");
    let library = Path::new(env!("CARGO_TARGET_TMPDIR")).join("libfakenvml.so");
    match Command::new("cc").args(["-std=c99", "-Wall", "-Werror", "-fPIC", "-shared", "-o"]).arg(&library).arg(source).output() {
        Err(error) => println!("SKIPPED: no C compiler: {error}"),
        Ok(output) => {
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            run("with_the_fake_library", &library.to_string_lossy());
        }
    }
}

#[test]
#[ignore = "run by figures_come_from_the_library_there_is"]
fn without_a_library() {
    let at = address(0, 0x65, 3, 1);
    assert_eq!((driver_version(), memory(&at), health(&at), connection(&at, &at)), (None, None, None, None));
}

#[test]
#[ignore = "run by figures_come_from_the_library_there_is"]
fn with_the_fake_library() {
    let at = address(0, 0x65, 3, 1);
    assert_eq!(at.to_str().unwrap(), "00000000:65:03.1");
    assert_eq!(driver_version().as_deref(), Some("999.01"));
    for at in [at.as_c_str(), c"0000:65:03.1"] {
        assert_eq!(memory(at), Some(Memory { total: 16 << 30, free: 5 << 30 }));
        let want = Health {
            memory_used: Some(11 << 30),
            temperature_c: Some(41),
            power_w: Some(72.5),
            utilization: Some(93),
            throttled_by: vec!["the power limit".to_owned()],
            ..Health::default()
        };
        assert_eq!(health(at), Some(want));
    }
    let elsewhere = address(0, 0x66, 0, 0);
    assert_eq!((memory(&elsewhere), health(&elsewhere)), (None, None));
    assert_eq!(connection(&at, &at), None, "this library has no functions for it");
}
