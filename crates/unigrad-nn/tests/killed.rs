//! Files of a process that is killed while it writes them, again and again as process number 1: whole or not there, and nothing is left behind.

#![cfg(target_os = "linux")]

use std::{
    fs,
    io::{Read, Write},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::Duration,
};
use unigrad_nn::files::{lock_folder, replace};

const KILLS: usize = 200;
const FOLDER: &str = "UNIGRAD_TEST_FOLDER";
/// The child's only test, by name.
const CHILD: &str = "writes_for_ever_if_it_is_asked_to";

/// A file of one letter, longer for later ones, written in pieces.
fn write(folder: &Path, name: &str, letter: u8) {
    let piece = [letter; 4096];
    let written = replace(&folder.join(name), |file| (0..usize::from(letter)).try_for_each(|_| file.write_all(&piece)));
    written.unwrap();
}

fn names(folder: &Path) -> Vec<String> {
    fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

#[test]
fn writes_for_ever_if_it_is_asked_to() {
    let Some(folder) = std::env::var_os(FOLDER).map(PathBuf::from) else { return };
    assert_eq!(std::process::id(), 1);
    let _lock = lock_folder(&folder).unwrap();
    for letter in (b'a'..=b'z').cycle() {
        for name in ["model", "checkpoint"] {
            write(&folder, name, letter);
        }
        print!("#");
        let _ = std::io::stdout().flush();
    }
}

#[test]
fn two_hundred_kills_leave_whole_files() {
    let alone = || {
        let mut command = Command::new("unshare");
        command.args(["--fork", "--pid", "--mount-proc", "--kill-child=KILL"]).stdin(Stdio::null()).stdout(Stdio::piped());
        command
    };
    if !alone().arg("true").stderr(Stdio::null()).status().is_ok_and(|status| status.success()) {
        println!("SKIPPED: no process can be number 1 here (`unshare --fork --pid --mount-proc` is refused)");
        return;
    }
    let folder = std::env::temp_dir().join(format!("unigrad-killed-{}", std::process::id()));
    let _ = fs::remove_dir_all(&folder);
    let mut left = 0;
    for kill in 0..KILLS as u64 {
        let mut writer = alone();
        writer.arg(std::env::current_exe().unwrap()).args([CHILD, "--exact", "--nocapture"]).env(FOLDER, &folder);
        let mut child = writer.stderr(Stdio::piped()).spawn().unwrap();
        let mut output = child.stdout.take().unwrap();
        // After the words of the test's frame: it writes now.
        let mut told = [0; 1];
        while output.read(&mut told).unwrap() == 1 && told[0] != b'#' {}
        assert_eq!(told[0], b'#', "the writer ended after {kill} kills");
        std::thread::sleep(Duration::from_micros(kill * 7919 % 6000));
        child.kill().unwrap();
        // Until process number 1 is gone: it holds the pipe.
        let mut errors = String::new();
        output.read_to_end(&mut Vec::new()).unwrap();
        child.stderr.take().unwrap().read_to_string(&mut errors).unwrap();
        child.wait().unwrap();
        assert!(!errors.contains("panicked"), "after {kill} kills: {errors}");
        left += usize::from(names(&folder).iter().any(|name| name.ends_with(".tmp")));
        for name in ["model", "checkpoint"] {
            if let Ok(bytes) = fs::read(folder.join(name)) {
                assert!(!bytes.is_empty() && bytes.len() == 4096 * usize::from(bytes[0]) && bytes.iter().all(|b| *b == bytes[0]), "{name}");
            }
        }
    }
    println!("{left} of {KILLS} kills left a temporary file, which the next process removed");
    // The last one's, by the next process: this one.
    drop(lock_folder(&folder).unwrap());
    let mut last = names(&folder);
    last.sort();
    assert_eq!(last, ["checkpoint", "model"]);
    assert!(left > 0, "no kill came while a file was written: the test shows nothing");
    fs::remove_dir_all(folder).unwrap();
}
