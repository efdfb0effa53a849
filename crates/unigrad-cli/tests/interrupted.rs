//! Runs that are ended at any moment: by Ctrl-C, by `kill -9` as process number 1 of a container, or twice in one folder.

#![cfg(unix)]

mod support;

use std::{
    fs,
    io::Read,
    path::Path,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};
use support::{Folder, Moments, SONNETS, figures, names, refused, run, stdout, text, unigrad};

/// A patience that no machine needs.
const PATIENCE: Duration = Duration::from_secs(120);

const FILES: [&str; 4] = ["checkpoint.safetensors", "metrics.csv", "model.safetensors", "report.html"];

fn signal(child: &Child, name: &str) {
    // A child that has just ended takes none.
    let _ = Command::new("kill").args([name, &child.id().to_string()]).stderr(Stdio::null()).status().unwrap();
}

fn wait_for(what: &str, is_so: impl Fn() -> bool) {
    let begin = Instant::now();
    while !is_so() {
        assert!(begin.elapsed() < PATIENCE, "{what} does not happen");
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn digits(out: &Path, epochs: &str) -> Vec<String> {
    digits_on("cpu", out, epochs)
}

fn digits_on(device: &str, out: &Path, epochs: &str) -> Vec<String> {
    ["train", "digits", "--model", "mlp", "--device", device, "--epochs", epochs, "--out", text(out)].map(str::to_owned).to_vec()
}

fn gpt(out: &Path) -> Vec<String> {
    let model = ["--layers", "1", "--heads", "1", "--dim", "8", "--ctx", "8", "--batch", "4", "--steps", "730", "--sample", "200"];
    let all = ["train", "gpt", "--text", SONNETS, "--device", "cpu", "--out", text(out)];
    all.into_iter().chain(model).map(str::to_owned).collect()
}

/// The arguments, and `--resume` if there is what can be resumed.
fn again(args: &[String], out: &Path) -> Vec<String> {
    let resume = out.join(FILES[0]).exists().then(|| "--resume".to_owned());
    args.iter().cloned().chain(resume).collect()
}

/// Interruptions that must have been heard for a comparison to show something.
const HEARD: usize = 3;

/// Ends a run at moments within its length, continues it each time, and compares what it leaves with an undisturbed one.
fn interrupt(name: &str, command: impl Fn(&Path) -> Vec<String>) {
    let folder = Folder::new(name);
    let (whole, parts) = (folder.path("whole"), folder.path("parts"));
    // Kernels are compiled in the first run of all, and found in the second.
    assert!(unigrad(&[]).args(command(&whole)).output().unwrap().status.success());
    let begin = Instant::now();
    let undisturbed = unigrad(&[]).args(command(&whole)).output().unwrap();
    assert!(undisturbed.status.success(), "{}", String::from_utf8_lossy(&undisturbed.stderr));
    let length = begin.elapsed().as_millis() as u64;
    let mut moments = Moments(length);
    // When the signal comes at the latest: earlier where runs are done before it, later where they cannot listen yet.
    let mut latest = length;
    // A machine that is faster now than it was may be done before it is interrupted: then once more.
    for _ in 0..20 {
        let _ = fs::remove_dir_all(&parts);
        let mut heard = 0;
        let last = loop {
            let mut child =
                unigrad(&[]).args(again(&command(&parts), &parts)).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
            if heard < 4 * HEARD {
                std::thread::sleep(moments.next(latest));
                signal(&child, ["-INT", "-TERM"][heard % 2]);
            }
            let (mut output, mut errors) = (String::new(), String::new());
            child.stdout.take().unwrap().read_to_string(&mut output).unwrap();
            child.stderr.take().unwrap().read_to_string(&mut errors).unwrap();
            let status = child.wait().unwrap();
            // As the signal says, or ended by the signal before the program could listen, or done.
            match status.code() {
                Some(130 | 143) => heard += 1,
                None => latest = (latest * 5 / 4).min(length) + 1,
                Some(0) => {
                    latest = latest * 3 / 4 + 1;
                    break output;
                }
                Some(_) => panic!("{status}: {errors}"),
            }
        };
        let read = |folder: &Path| fs::read(folder.join("model.safetensors")).unwrap();
        assert!(read(&whole) == read(&parts), "after {heard} interruptions the models differ");
        assert_eq!(figures(&whole), figures(&parts), "after {heard} interruptions");
        assert_eq!(last.lines().last(), stdout(&undisturbed).lines().last());
        assert_eq!(names(&parts), FILES);
        println!("{name}: {heard} interruptions were heard; the whole takes {length} ms");
        if heard >= HEARD {
            return;
        }
    }
    panic!("of 20 runs none was interrupted {HEARD} times: the test shows nothing");
}

#[test]
fn digits_interrupted_anywhere_end_with_the_same_model() {
    interrupt("interrupt-digits", |out| digits(out, "12"));
}

/// A device that launches kernels and waits for them elsewhere, where the machine has one.
fn digits_interrupted_on(device: &str) {
    let found = run(&["devices", "--json"]);
    if !stdout(&found).contains(&format!("\"{device}:0\"")) {
        println!("SKIPPED: {device}: no such device here");
        return;
    }
    interrupt(&format!("interrupt-{device}"), |out| digits_on(&format!("{device}:0"), out, "3"));
}

#[test]
fn digits_interrupted_anywhere_on_opencl() {
    digits_interrupted_on("opencl");
}

#[test]
fn digits_interrupted_anywhere_on_wgpu() {
    digits_interrupted_on("wgpu");
}

#[test]
fn digits_interrupted_anywhere_on_cuda() {
    digits_interrupted_on("cuda");
}

#[test]
fn gpt_interrupted_anywhere_ends_with_the_same_model_and_sample() {
    interrupt("interrupt-gpt", gpt);
}

/// In the middle of a run, for sure: it is heard, and what was asked for cannot be changed after it.
#[test]
fn an_interrupted_run_keeps_its_settings() {
    let folder = Folder::new("interrupt");
    let out = folder.path("out");
    let mut child = unigrad(&[]).args(digits(&out, "1000")).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    wait_for("a checkpoint", || out.join(FILES[0]).exists());
    signal(&child, "-TERM");
    assert_eq!(child.wait().unwrap().code(), Some(143));
    assert_eq!(names(&out), FILES[..2]);
    refused(&["train", "digits", "--resume", "--batch", "7", "--out", text(&out)], &["--batch 7", "interrupted run's 32"]);
}

#[test]
fn a_sample_hears_the_first_interruption() {
    let folder = Folder::new("interrupt-sample");
    let out = folder.path("out");
    let mut args = gpt(&out);
    args.extend(["--sample", "1000000000"].map(str::to_owned));
    args.retain(|arg| arg != "200");
    let first = args.iter().position(|arg| arg == "--sample").unwrap();
    args.remove(first);
    let mut child = unigrad(&[]).args(args).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    wait_for("a model", || out.join("model.safetensors").exists());
    signal(&child, "-INT");
    let mut errors = String::new();
    child.stderr.take().unwrap().read_to_string(&mut errors).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130), "{errors}");
    assert!(errors.contains("model.safetensors"), "{errors}");
}

#[test]
fn a_second_run_in_one_folder_is_refused() {
    let folder = Folder::new("two-runs");
    let out = folder.path("out");
    let mut first = unigrad(&[]).args(digits(&out, "1000")).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    wait_for("a checkpoint", || out.join(FILES[0]).exists());
    let second = ["train", "digits", "--model", "mlp", "--device", "cpu", "--epochs", "1", "--out", text(&out)];
    refused(&second, &["another run uses this folder", text(&out)]);
    refused(&[&second[..], &["--resume"]].concat(), &["another run uses this folder"]);
    assert!(first.try_wait().unwrap().is_none(), "the first goes on");
    first.kill().unwrap();
    first.wait().unwrap();
    // The lock ended with it.
    let output = run(&second);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn a_start_that_fails_changes_nothing() {
    let folder = Folder::new("failed-start");
    let out = folder.path("out");
    fs::create_dir(&out).unwrap();
    let files = ["checkpoint.safetensors", "metrics.csv", "model.safetensors", "report.html"];
    files.iter().for_each(|name| fs::write(out.join(name), format!("an earlier run's {name}")).unwrap());
    let gpt = ["train", "gpt", "--text", SONNETS, "--device", "cpu", "--out", text(&out)];
    let digits = ["train", "digits", "--out", text(&out)];
    let starts: [(&[&str], &[&str], &str); 7] = [
        (&digits, &["--device", "abacus"], "abacus"),
        (&digits, &["--batch", "4294967295"], "--batch is 4294967295"),
        (&digits, &["--device", "cpu", "--resume"], "checkpoint.safetensors"),
        (&gpt, &["--layers", "1000000000"], "--layers is 1000000000"),
        (&gpt, &["--dim", "10", "--heads", "4"], "heads"),
        (&gpt, &["--dim", "1048576"], "needs at least"),
        (&gpt, &["--ctx", "50000000"], "--ctx is"),
    ];
    for (base, more, part) in starts {
        refused(&[base, more].concat(), &[part]);
    }
    // No memory for the model, and for the first step.
    for cap in ["1000", "900K"] {
        let output = unigrad(&digits).args(["--device", "cpu", "--model", "mlp"]).env("UNIGRAD_MEMORY_CAP", cap).output().unwrap();
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.code() == Some(1) && error.contains("out of memory"), "{error}");
    }
    for name in files {
        assert_eq!(fs::read_to_string(out.join(name)).unwrap(), format!("an earlier run's {name}"));
    }
    assert_eq!(names(&out).len(), files.len());
}

/// `UNIGRAD_KILLS=200` does it that often.
#[cfg(target_os = "linux")]
#[test]
fn killed_as_process_number_1_at_any_moment() {
    let alone = || {
        let mut command = Command::new("unshare");
        command.args(["--fork", "--pid", "--mount-proc", "--kill-child=KILL"]).stdin(Stdio::null()).stdout(Stdio::piped());
        command
    };
    if !alone().arg("true").stderr(Stdio::null()).status().is_ok_and(|status| status.success()) {
        println!("SKIPPED: no process can be number 1 here (`unshare --fork --pid --mount-proc` is refused)");
        return;
    }
    let times = std::env::var("UNIGRAD_KILLS").ok().and_then(|n| n.parse().ok()).unwrap_or(12);
    let folder = Folder::new("killed");
    let (whole, parts) = (folder.path("whole"), folder.path("parts"));
    let epochs = if times > 12 { "40" } else { "4" };
    let begin = Instant::now();
    assert!(unigrad(&[]).args(digits(&whole, epochs)).output().unwrap().status.success());
    // So that it is not done before the last kill, as a rule.
    let most = (3 * begin.elapsed().as_millis() as u64 / times as u64).max(150);
    let mut moments = Moments(1);
    let (mut left, mut killed) = (0, 0);
    for _ in 0..times {
        let mut child =
            alone().arg(env!("CARGO_BIN_EXE_unigrad")).args(again(&digits(&parts, epochs), &parts)).stderr(Stdio::piped()).spawn().unwrap();
        std::thread::sleep(moments.next(most));
        let done = child.try_wait().unwrap();
        child.kill().unwrap();
        // Until process number 1 is gone as well, for it holds the pipes.
        let (mut output, mut errors) = (String::new(), String::new());
        child.stdout.take().unwrap().read_to_string(&mut output).unwrap();
        child.stderr.take().unwrap().read_to_string(&mut errors).unwrap();
        child.wait().unwrap();
        match done {
            Some(status) => assert!(status.success(), "after {killed} kills: {status}: {errors}"),
            None => killed += 1,
        }
        left += usize::from(parts.exists() && names(&parts).iter().any(|name| name.ends_with(".tmp")));
    }
    println!("{killed} of {times} runs were killed; {left} times a temporary file was there after it");
    let output = unigrad(&[]).args(again(&digits(&parts, epochs), &parts)).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(names(&parts), FILES, "nothing is left behind");
    assert!(fs::read(whole.join("model.safetensors")).unwrap() == fs::read(parts.join("model.safetensors")).unwrap());
    assert_eq!(figures(&whole), figures(&parts));
}
