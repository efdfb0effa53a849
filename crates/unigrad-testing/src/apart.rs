//! A test once more, for each slow device in a process of its own: a process evaluates one graph at a time, a machine has several cores, and a
//! device's compiler that crashes takes only its own process with it.
//!
//! In: the name of a test of the running binary. Out: what the processes print, and whether all went well.
//! Never: does anything in a process that `UNIGRAD_TEST_DEVICES` tells its devices, so that those processes start no others.

use std::process::{Command, Stdio};

/// Runs a test of this binary for each device that [`crate::fast_devices`] does not have. Tells whether all passed.
pub fn on_slow_devices(test: &str) -> bool {
    let mut all = true;
    for device in crate::slow_devices() {
        match on_device(test, &device) {
            Ok(()) => {}
            Err(why) => {
                println!("FAIL {test} on {device}: {why}");
                all = false;
            }
        }
    }
    all
}

fn on_device(test: &str, device: &str) -> Result<(), String> {
    let start = std::time::Instant::now();
    let binary = std::env::current_exe().map_err(|error| format!("this program is not found: {error}"))?;
    let output = Command::new(binary)
        .args(["--exact", test, "--nocapture", "--test-threads", "2"])
        .env(crate::DEVICES, device)
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()
        .map_err(|error| format!("its process does not start: {error}"))?;
    println!("{test} on {device}, {:.1} s:", start.elapsed().as_secs_f64());
    let text = String::from_utf8_lossy(&output.stdout);
    // The counts are this process's to report.
    let is_frame = |line: &&str| line.is_empty() || line.starts_with("test ") || line.starts_with("running ");
    text.lines().filter(|line| !is_frame(line)).for_each(|line| println!("{line}"));
    // A name that no test has would pass.
    match output.status.success() && text.contains("1 passed") {
        true => Ok(()),
        false => Err(format!("its process ended with {}", output.status)),
    }
}
