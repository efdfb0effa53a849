//! `unigrad bench` as a user runs it: files, comparisons, another binary, devices side by side.

mod support;

use std::{ffi::OsString, fs};
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

#[test]
fn rows_of_the_table_are_measured_kept_and_drawn() {
    let folder = Folder::new("bench-table");
    let (file, page) = (folder.path("table.json"), folder.path("table.html"));
    // Steps of 10 ms at most: what can be smaller is, and a decoder of 7 billion numbers cannot. A machine that runs other programs copies at a few GB/s, and
    // the 15 MB of a network of one sample still fit.
    let quick = ["--device", "cpu", "--threads", "1", "--secs", "0.02", "--longest", "0.01"];
    let rows = ["bench", "table", "matmul_f32_4096", "MLP", "decode_7b_bf16_b1", "--cold", "--json"];
    let output = run(&[&rows[..], &quick[..], &["--save", text(&file), "--html", text(&page)]].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let lines: Vec<serde_json::Value> = stdout(&output).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines[0]["place"]["settings"]["threads"], "1");
    assert!(lines[0]["ceilings"]["copy_gb_per_s"].as_f64().unwrap() > 0.0 && lines[0]["date"].as_str().unwrap().ends_with("UTC"));
    let names: Vec<&str> = lines[1..].iter().map(|line| line["workload"].as_str().unwrap()).collect();
    assert_eq!((names[0], names[1], names.last()), ("matmul_f32_4096", "mlp_tf32_b64", Some(&"decode_7b_bf16_b1")));
    for line in &lines[1..lines.len() - 1] {
        let above_0 = |field: &str| line[field].as_f64().is_some_and(|number| number > 0.0);
        for field in ["ms", "waited_ms", "throughput", "of_ceiling", "first_step_s", "first_step_cold_s", "peak_bytes", "device_ms"] {
            assert!(above_0(field), "{field}: {line}");
        }
        assert!(line["divisor"].as_u64().unwrap().is_power_of_two());
    }
    assert!(lines[1]["divisor"].as_u64().unwrap() > 1 && lines[2]["note"].as_str().unwrap().contains("loss 2."), "{}", lines[2]);
    let skipped = lines.last().unwrap()["skipped"].as_str().unwrap();
    assert!(skipped.contains("GiB of memory") || skipped.contains("--longest"), "{skipped}");
    // The file is the same run, and so is the page that is made of it.
    let kept: serde_json::Value = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
    assert_eq!((kept["ceilings"].clone(), kept["rows"].as_array().unwrap().as_slice()), (lines[0]["ceilings"].clone(), &lines[1..]));
    let html = fs::read_to_string(&page).unwrap();
    assert!(html.starts_with("<!doctype html>") && html.contains("mlp_tf32_b8192_replay") && html.contains("skipped: "), "{html}");
    let again = folder.path("again.html");
    let output = run(&["bench", "--from", text(&file), "--html", text(&again)]);
    assert!(output.status.success() && stdout(&output).contains("skipped: "), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(fs::read_to_string(&again).unwrap() == html, "{} and {} differ", page.display(), again.display());

    refused(&["bench", "table", "W4", "--device", "cpu"], &["no row of the table is called W4", "gpt2", "decode_7b_bf16_b64"]);
    refused(&["bench", "W4", "--html", "x.html"], &["--html and --from are of the table", "unigrad bench table W4"]);
    refused(&["bench", "W4", "--cold"], &["--cold is of the table"]);
    refused(&["bench", "table", "mlp", "--from", text(&file)], &["a file has its own rows"]);
    refused(&["bench", "table", "--compare", text(&file)], &["not compared"]);
    refused(&["bench", "table", "--from", text(&folder.path("none.json"))], &["none.json"]);
    refused(&["bench", "table", "--device", "cpu", "--longest", "0"], &["--longest"]);
}

/// Rows whose processes end at once: each is told, files are written, and the status says so.
#[cfg(unix)]
#[test]
fn a_row_that_fails_is_a_status_and_files_are_written() {
    let folder = Folder::new("bench-table-fails");
    let (file, page) = (folder.path("table.json"), folder.path("table.html"));
    let args = ["unigrad", "bench", "table", "mlp_tf32_b64", "rms_norm_bf16", "--device", "cpu", "--secs", "0.02", "--longest", "0.001"];
    let args: Vec<OsString> = args.into_iter().chain(["--save", text(&file), "--html", text(&page)]).map(OsString::from).collect();
    assert_eq!(unigrad_cli::run(&args, Some("false".into())), 1);
    let kept: serde_json::Value = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
    let rows = kept["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 2);
    assert!(rows.iter().all(|row| row["failed"].as_str().is_some_and(|why| why.contains("exit status: 1"))), "{rows:?}");
    assert!(fs::read_to_string(&page).unwrap().contains("failed: its process ended with exit status: 1"));
}
