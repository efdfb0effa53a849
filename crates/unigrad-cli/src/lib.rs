//! The `unigrad` command, for its own program and for others that have it (the Python package).
//!
//! In: arguments. Out: what was asked for on standard output; progress and errors on standard error.
//! Always: an error names cause, place and remedy, and the exit status is 1 (2 for arguments that make no sense, 130 after Ctrl-C, 143 after SIGTERM, 141 where the
//! reader of the output went away).

/// Prints a line of results; see [`stream`].
macro_rules! say {
    ($($what:tt)*) => { $crate::stream::line(format_args!($($what)*)) };
}

mod args;
mod bench;
mod compare;
mod devices;
mod inspect;
mod predict;
mod stream;
mod train;

use args::{Cli, Command};
use clap::Parser;
use std::{ffi::OsString, path::PathBuf, sync::OnceLock};
use stream::tell;

/// How a command ended, if not well.
#[derive(Debug)]
pub(crate) enum Failure {
    /// Something is wrong; the text says what, where, and what would help.
    Error(String),
    /// The user asked to stop.
    Interrupted,
}

impl<E: std::error::Error + 'static> From<E> for Failure {
    /// A compilation that fails after a signal came was ended by it: compilers hear it too, or lose their files by it.
    fn from(error: E) -> Failure {
        let any: &(dyn std::error::Error + 'static) = &error;
        let is_compile = any.downcast_ref::<unigrad::Error>().is_some_and(|error| error.kind() == unigrad::ErrorKind::Compile);
        if is_compile && train::interrupt::interrupted() {
            tell(format_args!("interrupted while a kernel was compiled: {error}"));
            return Failure::Interrupted;
        }
        Failure::Error(error.to_string())
    }
}

impl Failure {
    /// A cause and a remedy.
    pub(crate) fn new(cause: impl std::fmt::Display, help: impl std::fmt::Display) -> Failure {
        Failure::Error(format!("{cause}\n help: {help}"))
    }
}

/// The program that is to be started where the command starts itself, if that is not the one that runs.
static PROGRAM: OnceLock<PathBuf> = OnceLock::new();

/// Runs the command; returns its exit status. The first argument is the program that gave it.
///
/// `program` is what starts the command anew, where that is not the running executable.
pub fn run(arguments: &[OsString], program: Option<PathBuf>) -> u8 {
    if let Some(program) = program {
        // The first one stays: a process has one.
        let _ = PROGRAM.set(program);
    }
    let cli = match Cli::try_parse_from(arguments) {
        Ok(cli) => cli,
        Err(error) if error.use_stderr() => {
            tell(format_args!("{}", error.render().to_string().trim_end()));
            return 2;
        }
        // Help, or the version.
        Err(answer) => {
            say!("{}", answer.render().to_string().trim_end());
            return stream::status();
        }
    };
    let result = match cli.command {
        Command::Train(what) => train::run(*what),
        Command::Predict(options) => predict::run(&options),
        Command::Devices(options) => devices::run(&options),
        Command::Inspect(options) => inspect::run(&options),
        Command::Bench(options) => bench::run(&options),
        Command::Compare(options) => compare::run(&options),
    };
    match result {
        Ok(()) => stream::status(),
        Err(Failure::Interrupted) => train::interrupt::status(),
        Err(Failure::Error(text)) => {
            tell(format_args!("error: {text}"));
            1
        }
    }
}
