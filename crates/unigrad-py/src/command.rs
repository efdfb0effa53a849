//! The `unigrad` command, for the script that comes with the package.

use crate::exit::Release;
use pyo3::prelude::*;
use std::{ffi::OsString, path::PathBuf};

/// Runs the command with these arguments, of which the first is its name; returns the exit status. `program` is the script that starts it anew.
#[pyfunction]
pub(crate) fn _run_command(py: Python<'_>, arguments: Vec<OsString>, program: PathBuf) -> u8 {
    py.released(|| unigrad_cli::run(&arguments, Some(program)))
}
