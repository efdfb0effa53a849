//! The `unigrad` command's own program.
//!
//! In: the process's arguments. Out: what `unigrad_cli` makes of them.

use std::{ffi::OsString, process::ExitCode};

fn main() -> ExitCode {
    let arguments: Vec<OsString> = std::env::args_os().collect();
    ExitCode::from(unigrad_cli::run(&arguments, None))
}
