//! The `unigrad` command.
//!
//! In: arguments. Out: what was asked for on standard output; progress and errors on standard error.
//! Always: an error names cause, place and remedy, and the exit status is 1 (2 for arguments that make no sense, 130 after Ctrl-C).

/// Prints a line. A reader that went away (`unigrad ... | head`) is no error, and no reason to stop a training run.
macro_rules! say {
    ($($what:tt)*) => {{
        use std::io::Write;
        let _ = writeln!(std::io::stdout(), $($what)*);
    }};
}

mod args;
mod bench;
mod devices;
mod report;
mod train;

use args::{Cli, Command};
use clap::Parser;
use std::process::ExitCode;

/// How a command ended, if not well.
#[derive(Debug)]
pub(crate) enum Failure {
    /// Something is wrong; the text says what, where, and what would help.
    Error(String),
    /// The user asked to stop.
    Interrupted,
}

impl<E: std::error::Error> From<E> for Failure {
    fn from(error: E) -> Failure {
        Failure::Error(error.to_string())
    }
}

impl Failure {
    /// A cause and a remedy.
    pub(crate) fn new(cause: impl std::fmt::Display, help: impl std::fmt::Display) -> Failure {
        Failure::Error(format!("{cause}\n help: {help}"))
    }
}

fn main() -> ExitCode {
    let result = match Cli::parse().command {
        Command::Train(what) => train::run(*what),
        Command::Devices(options) => devices::run(&options),
        Command::Bench(options) => bench::run(&options),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(Failure::Interrupted) => ExitCode::from(130),
        Err(Failure::Error(text)) => {
            eprintln!("error: {text}");
            ExitCode::FAILURE
        }
    }
}
