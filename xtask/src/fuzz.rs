//! Builds and runs the fuzzer, which is a program of `unigrad-testing`: xtask itself uses no crate of the workspace.
//!
//! In: the fuzzer's arguments. Out: its output and its status.
//! Always: it is built with the features that the workspace's tests have, so that nothing is built twice where both run.

use std::path::PathBuf;
use std::process::{Command, ExitCode, Stdio};
use std::time::Instant;

use crate::source;

pub(crate) fn run(arguments: &[String]) -> ExitCode {
    let begin = Instant::now();
    let built = build();
    // In a fresh clone this is the libraries' first build, which takes longer than the fuzzing that is asked for.
    eprintln!("the fuzzer is built, after {} s", begin.elapsed().as_secs());
    let status =
        built.and_then(|program| Command::new(program).args(arguments).status().map_err(|error| format!("cannot run the fuzzer: {error}")));
    match status {
        Ok(status) if status.success() => ExitCode::SUCCESS,
        // Its own status, which tells wrong arguments from failures.
        Ok(status) => status.code().and_then(|code| u8::try_from(code).ok()).map_or(ExitCode::FAILURE, ExitCode::from),
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Where the program is.
fn build() -> Result<PathBuf, String> {
    let mut cargo = Command::new(source::cargo());
    // `cargo run` has no --workspace.
    cargo.args(["build", "--quiet", "--workspace", "--bin", "fuzz", "--message-format=json-render-diagnostics"]);
    cargo.current_dir(source::root()).stdin(Stdio::null()).stderr(Stdio::inherit());
    let output = cargo.output().map_err(|error| format!("cannot run cargo: {error}"))?;
    if !output.status.success() {
        return Err("the fuzzer does not build".to_owned());
    }
    let mut programs = source::messages(&output.stdout).into_iter().filter_map(|message| message["executable"].as_str().map(PathBuf::from));
    programs.next_back().ok_or_else(|| "cargo names no program".to_owned())
}
