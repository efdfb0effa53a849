//! Standard output and standard error that are closed, full, slow, or without a reader: the right exit status, nothing lost with status 0, no panic.

#![cfg(target_os = "linux")]

mod support;

use std::{
    ffi::c_int,
    fs::File,
    io::{Read, Write, pipe},
    os::fd::AsRawFd,
    process::{Command, Stdio},
};
use support::{Folder, SONNETS, stdout, text, unigrad};

/// Status of a command whose reader went away.
const READER_LEFT: i32 = 141;

fn full() -> Stdio {
    File::options().write(true).open("/dev/full").unwrap().into()
}

/// A pipe without a reader.
fn broken() -> Stdio {
    pipe().unwrap().1.into()
}

/// The command with one of its streams closed.
fn closed(stream: &str, args: &[&str]) -> Command {
    let mut command = Command::new("sh");
    let script = format!("exec \"$0\" \"$@\" {stream}>&-");
    command.args(["-c", &script, env!("CARGO_BIN_EXE_unigrad")]).args(args).stdin(Stdio::null());
    command
}

fn command(args: &[&str]) -> Command {
    let mut command = unigrad(args);
    command.env("PEERS_WAIT_S", "0").env("PEERS_TRIES", "1");
    command
}

/// Every command, with what it ends with where all is well.
fn commands(folder: &str) -> Vec<(Vec<&str>, i32)> {
    let digits = ["train", "digits", "--model", "mlp", "--epochs", "1", "--device", "cpu", "--out", folder];
    let gpt = ["train", "gpt", "--text", SONNETS, "--layers", "1", "--heads", "1", "--dim", "8", "--ctx", "8", "--steps", "3"];
    vec![
        (vec!["--help"], 0),
        (vec!["--version"], 0),
        (vec!["train", "gpt", "--help"], 0),
        (vec!["devices"], 0),
        (vec!["devices", "--json"], 0),
        (vec!["bench", "W3", "--secs", "0.01", "--device", "cpu"], 0),
        (digits.to_vec(), 0),
        ([&digits[..], &["--quiet"]].concat(), 0),
        ([&gpt[..], &["--sample", "5", "--json", "--device", "cpu", "--out", folder]].concat(), 0),
        // Those that fail have nothing to print; their status is their own.
        (vec!["train", "gpt", "--text", "nowhere.txt"], 1),
        (vec!["devices", "--wrong"], 2),
    ]
}

#[test]
fn output_that_cannot_be_written_is_no_success() {
    let folder = Folder::new("streams-out");
    for (args, well) in commands(text(&folder.path("out"))) {
        let code = |mut command: Command| command.stderr(Stdio::piped()).output().map(|o| (o.status.code(), o.stderr)).unwrap();
        let lost = |status: i32| Some(if well == 0 { status } else { well });
        let (status, error) = code({
            let mut full_output = command(&args);
            full_output.stdout(full());
            full_output
        });
        let error = String::from_utf8_lossy(&error).into_owned();
        assert_eq!(status, lost(1), "{args:?} > /dev/full: {error}");
        assert!(error.contains("help: ") || well == 2, "{args:?}: {error}");
        let mut without = closed("1", &args);
        without.env("PEERS_WAIT_S", "0").env("PEERS_TRIES", "1");
        let (status, error) = code(without);
        assert_eq!(status, lost(1), "{args:?} >&-: {}", String::from_utf8_lossy(&error));
        let mut unread = command(&args);
        unread.stdout(broken());
        let (status, error) = code(unread);
        let error = String::from_utf8_lossy(&error).into_owned();
        assert_eq!(status, lost(READER_LEFT), "{args:?} without a reader: {error}");
        assert!(well != 0 || !error.contains("standard output"), "a reader that left is no error to tell: {error}");
    }
}

#[test]
fn errors_that_cannot_be_written_change_nothing() {
    let folder = Folder::new("streams-err");
    for (args, well) in commands(text(&folder.path("out"))) {
        let mut all = vec![closed("2", &args)];
        for stream in [full(), broken()] {
            let mut one = command(&args);
            one.stderr(stream);
            all.push(one);
        }
        for mut one in all {
            one.env("PEERS_WAIT_S", "0").env("PEERS_TRIES", "1").stdout(Stdio::piped());
            let output = one.output().unwrap();
            assert_eq!(output.status.code(), Some(well), "{args:?}");
            assert_eq!(output.stdout.is_empty(), well != 0, "{args:?}");
        }
    }
    // Remarks of the library go there too.
    let output =
        command(&["train", "digits", "--model", "mlp", "--epochs", "1", "--quiet", "--device", "cpu", "--out", text(&folder.path("o"))])
            .env("UNIGRAD_DEBUG", "plan,kernels,leaks")
            .stderr(full())
            .output()
            .unwrap();
    assert!(output.status.success() && stdout(&output).starts_with("test accuracy"));
}

#[test]
fn a_slow_reader_gets_everything() {
    unsafe extern "C" {
        fn fcntl(file: c_int, command: c_int, ...) -> c_int;
    }
    const F_SETFL: c_int = 4;
    const O_NONBLOCK: c_int = 0o4000;
    let args = ["train", "gpt", "--help"];
    let wanted = stdout(&unigrad(&args).output().unwrap());
    for waits in [true, false] {
        let (mut reader, mut writer) = pipe().unwrap();
        // SAFETY: sets a flag of a descriptor that is ours.
        assert_eq!(unsafe { fcntl(writer.as_raw_fd(), F_SETFL, O_NONBLOCK) }, 0);
        let mut junk = 0;
        while let Ok(n) = writer.write(&[b'.'; 512]) {
            junk += n;
        }
        if waits {
            // SAFETY: as above.
            assert_eq!(unsafe { fcntl(writer.as_raw_fd(), F_SETFL, 0) }, 0);
        }
        let mut child = unigrad(&args).stdout(writer).stderr(Stdio::null()).spawn().unwrap();
        // Long enough for the command to find the pipe full, as a rule; the other order is no failure.
        std::thread::sleep(std::time::Duration::from_millis(100));
        let mut got = Vec::new();
        let mut piece = [0; 61];
        loop {
            match reader.read(&mut piece).unwrap() {
                0 => break,
                n => got.extend(&piece[..n]),
            }
        }
        assert_eq!(child.wait().unwrap().code(), Some(0), "a pipe that waits: {waits}");
        assert_eq!(String::from_utf8_lossy(&got[junk..]), wanted);
    }
}

#[test]
fn control_characters_of_data_do_not_reach_the_terminal() {
    let folder = Folder::new("streams-control");
    let file = folder.path("red\u{1b}[31m.txt");
    std::fs::write(&file, "\u{1b}[2Jtext \u{7} with\r \u{9b}31m commands\u{7f} ".repeat(20)).unwrap();
    for json in [false, true] {
        let out = folder.path("out");
        let mut args =
            vec!["train", "gpt", "--text", text(&file), "--layers", "1", "--heads", "1", "--dim", "8", "--ctx", "8", "--steps", "2"];
        args.extend(["--sample", "300", "--temperature", "5", "--device", "cpu", "--out", text(&out)]);
        args.extend(json.then_some("--json"));
        let output = unigrad(&args).output().unwrap();
        let both = stdout(&output) + &String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && both.contains("\\u001b"), "{both}");
        assert!(both.chars().all(|c| !c.is_control() || c == '\n' || c == '\t'), "{both:?}");
        if json {
            let lines: Result<Vec<serde_json::Value>, _> = stdout(&output).lines().map(serde_json::from_str).collect();
            assert!(lines.unwrap().iter().any(|line| line["text"].as_str().is_some_and(|text| text.contains('\u{1b}'))));
        }
    }
    let wrong = unigrad(&["devices", "--\u{1b}[31m"]).output().unwrap();
    assert!(wrong.status.code() == Some(2) && !wrong.stderr.contains(&0x1b));
}
