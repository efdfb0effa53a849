//! What the command's tests share: a folder of their own, and the command.

#![allow(dead_code)] // Each test program uses a part.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};

/// A folder of its own, removed at the end.
pub(crate) struct Folder(pub(crate) PathBuf);

impl Folder {
    pub(crate) fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("unigrad-cli-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

pub(crate) fn unigrad(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_unigrad"));
    command.args(args).stdin(Stdio::null());
    command
}

pub(crate) fn run(args: &[&str]) -> Output {
    unigrad(args).output().unwrap()
}

pub(crate) fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Runs what must fail with an error that says all of `parts`.
pub(crate) fn refused(args: &[&str], parts: &[&str]) -> String {
    let output = run(args);
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    let code = output.status.code();
    assert!(code == Some(1) || code == Some(2), "{args:?}: {}: {} {text}", output.status, stdout(&output));
    assert!(text.contains("help: ") || code == Some(2), "{args:?} gives no remedy: {text}");
    parts.iter().for_each(|part| assert!(text.contains(part), "{args:?}: no {part:?} in {text}"));
    text
}

pub(crate) fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

pub(crate) const SONNETS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../assets/sonnets.txt");

/// What a folder has, in order.
pub(crate) fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(folder).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// The figures of a run without the seconds, which are another run's each time.
pub(crate) fn figures(folder: &Path) -> Vec<String> {
    let table = fs::read_to_string(folder.join("metrics.csv")).unwrap();
    table.lines().map(|line| line.rsplit_once(',').map_or("", |(figures, _)| figures).to_owned()).collect()
}

/// A small generator: moments that are not chosen by hand, and the same in every run of a test.
pub(crate) struct Moments(pub(crate) u64);

impl Moments {
    /// Below `most` milliseconds.
    pub(crate) fn next(&mut self, most: u64) -> std::time::Duration {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        std::time::Duration::from_micros((self.0 >> 33) % (most * 1000))
    }
}
