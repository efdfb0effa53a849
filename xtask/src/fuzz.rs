//! Builds and runs the fuzzer, which is a program of `unigrad-testing`: xtask itself uses no crate of the workspace.
//!
//! In: the fuzzer's arguments. Out: its output and its status.

use std::process::{Command, ExitCode};

use crate::source;

pub(crate) fn run(arguments: &[String]) -> ExitCode {
    let mut cargo = Command::new(source::cargo());
    cargo.current_dir(source::root()).args(["run", "--quiet", "-p", "unigrad-testing", "--bin", "fuzz", "--"]).args(arguments);
    match cargo.status() {
        Ok(status) if status.success() => ExitCode::SUCCESS,
        // Its own status, which tells wrong arguments from failures.
        Ok(status) => status.code().and_then(|code| u8::try_from(code).ok()).map_or(ExitCode::FAILURE, ExitCode::from),
        Err(error) => {
            eprintln!("error: cannot run cargo: {error}");
            ExitCode::FAILURE
        }
    }
}
