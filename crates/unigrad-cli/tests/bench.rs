//! `unigrad bench` as a user runs it: files, comparisons, another binary, devices side by side.

mod support;

use std::fs;
use support::{Folder, refused, run, stdout, text, unigrad};

const BINARY: &str = env!("CARGO_BIN_EXE_unigrad");

#[test]
fn a_run_is_kept_and_compared() {
    let folder = Folder::new("bench");
    let file = folder.path("run.json");
    let quick = ["--device", "cpu", "--threads", "1", "--secs", "0.05"];
    let output = run(&[&["bench", "scalars", "--save", text(&file), "--blocks", "24"], &quick[..]].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(stdout(&output).lines().filter(|line| line.contains("spread")).count(), 4);
    let kept = fs::read_to_string(&file).unwrap();
    let value: serde_json::Value = serde_json::from_str(&kept).unwrap();
    assert_eq!((value["format"].as_str(), value["place"]["settings"]["threads"].as_str()), (Some("unigrad-bench"), Some("1")));
    assert_eq!(value["workloads"][0]["blocks"].as_array().unwrap().len(), 24);

    // Against itself made ten times as fast: everything is slower now, and the status says so. Without a change the file's own workloads are measured.
    let mut faster = value.clone();
    for workload in faster["workloads"].as_array_mut().unwrap() {
        for block in workload["blocks"].as_array_mut().unwrap() {
            for sample in block["samples"].as_array_mut().unwrap() {
                *sample = serde_json::json!(sample.as_f64().unwrap() / 10.0);
            }
        }
    }
    let before = folder.path("before.json");
    fs::write(&before, faster.to_string()).unwrap();
    let output = run(&[&["bench", "--compare", text(&before)], &quick[..]].concat());
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("4 of 4 workloads slower beyond noise: add (") && said.contains("help:"), "{said}");
    assert_eq!(stdout(&output).lines().filter(|line| line.contains("slower (by")).count(), 4, "{}", stdout(&output));
    let output = run(&[&["bench", "add", "--json", "--compare", text(&before)], &quick[..]].concat());
    let change: serde_json::Value = serde_json::from_str(stdout(&output).lines().next().unwrap()).unwrap();
    assert_eq!((change["workload"].as_str(), change["verdict"].as_str()), (Some("add"), Some("slower")));

    // What cannot be compared, or is no run.
    let other = folder.path("other.json");
    fs::write(&other, kept.replace("\"threads\":\"1\"", "\"threads\":\"64\"")).unwrap();
    let args = [&["bench", "--compare", text(&other)], &quick[..]].concat();
    refused(&args, &["setting threads: `64` before, `1` now", "cannot be compared"]);
    fs::write(&other, "{}").unwrap();
    refused(&args, &["other.json", "format"]);
    refused(&["bench", "--compare", text(&folder.path("none.json"))], &["none.json"]);
    refused(&["bench", "kernels", "--save", text(&other)], &["kernels is a report"]);
    refused(&["bench", "W99"], &["no workload is called W99", "W1", "scalars"]);
    refused(&["bench", "--save", "a", "--against", "b"], &["cannot be used"]);
}

#[test]
fn two_binaries_are_measured_in_turns() {
    let quick = ["--device", "cpu", "--threads", "1", "--secs", "0.05", "--blocks", "6"];
    let output = run(&[&["bench", "add", "relu", "--against", BINARY], &quick[..]].concat());
    // Six blocks can prove nothing, so nothing is slower, and the command says that it could not have seen it.
    let said = stdout(&output);
    assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
    assert!(
        said.contains("add") && said.contains("relu") && said.contains("nothing is slower") && said.contains("too few blocks"),
        "{said}"
    );
    refused(&["bench", "add", "--against", "/nowhere/unigrad"], &["/nowhere/unigrad", "cannot be started"]);
    refused(&["bench", "add", "--against", "/bin/true"], &["/bin/true", "ended with"]);
    refused(&["bench", "nonsense", "--against", BINARY], &["ended with"]);
}

#[test]
fn devices_stand_side_by_side_by_any_name() {
    let output = run(&["bench", "scalars", "small", "--device", "CPU", "--beside", "cpu:0", "--secs", "0.02", "--blocks", "2"]);
    let said = stdout(&output);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(said.contains("milliseconds of a step") && said.contains("mlp_10_20_20_1_forward_backward") && said.contains("(1."), "{said}");
    // The names that are no backend's own.
    for (name, wanted) in [("rocm", "hip"), ("vulkan", "wgpu")] {
        let output = unigrad(&["bench", "add", "--secs", "0.01", "--device", name]).env("PEERS_WAIT_S", "0").output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success() || (said.contains(wanted) && !said.contains("there is no backend")), "{name}: {said}");
    }
    for name in ["auto", "gpu"] {
        let output = unigrad(&["bench", "add", "--secs", "0.01", "--device", name]).env("PEERS_WAIT_S", "0").output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success() || (name == "gpu" && said.contains("0 GPUs in hardware")), "{name}: {said}");
    }
    let output = unigrad(&["bench", "add", "--secs", "0.01", "--device", "gpu"]).env("UNIGRAD_FALLBACK", "cpu").output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}
