//! A test once more, for each slow device in a process of its own: a process evaluates one graph at a time, a machine has several cores, and a
//! device's compiler that crashes takes only its own process with it. And once more for each lower tier of the CPU, which is chosen once in a
//! process.
//!
//! In: the name of a test of the running binary. Out: what the processes print, and whether all went well.
//! Never: does anything in a process that `UNIGRAD_TEST_DEVICES` tells its devices, so that those processes start no others.

use std::process::{Command, Stdio};

/// Runs a test of this binary for each device that [`crate::fast_devices`] does not have. Tells whether all passed.
pub fn on_slow_devices(test: &str) -> bool {
    each_slow_device(test, &[])
}

/// As [`on_slow_devices`], of ops that are composed of others.
pub fn few_on_slow_devices(test: &str) -> bool {
    each_slow_device(test, &[(crate::selection::SHARE, crate::selection::FEW)])
}

fn each_slow_device(test: &str, settings: &[(&str, &str)]) -> bool {
    let mut all = true;
    for device in crate::slow_devices() {
        match on_device(test, &device, settings) {
            Ok(()) => {}
            Err(why) => {
                println!("FAIL {test} on {device}: {why}");
                all = false;
            }
        }
    }
    all
}

/// Runs a sample of a test of this binary on the CPU for each instruction-set tier below the one in use. Tells whether all passed.
pub fn on_lower_tiers(test: &str) -> bool {
    if crate::named().is_some() {
        return true;
    }
    let cpu = crate::available().devices.into_iter().find(|info| info.backend == "cpu");
    let lower: &[&str] = match cpu.as_ref().map(|info| info.version.as_str()) {
        Some("avx512") => &["avx2", "baseline"],
        Some("avx2") => &["baseline"],
        _ => &[],
    };
    let mut all = true;
    for tier in lower {
        let settings = [("UNIGRAD_CPU_TIER", *tier), (crate::selection::SHARE, "some"), ("UNIGRAD_FUZZ", GRAPHS)];
        if let Err(why) = on_device(test, "cpu:0", &settings) {
            println!("FAIL {test} on the CPU's tier {tier}: {why}");
            all = false;
        }
    }
    all
}

/// Random graphs for a lower tier.
const GRAPHS: &str = "300";

fn on_device(test: &str, device: &str, settings: &[(&str, &str)]) -> Result<(), String> {
    let start = std::time::Instant::now();
    let binary = std::env::current_exe().map_err(|error| format!("this program is not found: {error}"))?;
    let output = Command::new(binary)
        .args(["--exact", test, "--nocapture", "--test-threads", "2"])
        .env(crate::DEVICES, device)
        .envs(settings.iter().copied())
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()
        .map_err(|error| format!("its process does not start: {error}"))?;
    let how = settings.first().map_or(String::new(), |(name, value)| format!(" with {name}={value}"));
    println!("{test} on {device}{how}, {:.1} s:", start.elapsed().as_secs_f64());
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
