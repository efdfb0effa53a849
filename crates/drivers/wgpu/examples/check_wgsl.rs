//! Gives WGSL texts to naga: `check_wgsl FILE…` says what it refuses, and fails if that is anything.

use naga::{
    front::wgsl::parse_str,
    valid::{Capabilities, ValidationFlags, Validator},
};
use std::process::ExitCode;

fn main() -> ExitCode {
    let refused = std::env::args().skip(1).filter_map(|path| check(&path).err().map(|words| eprintln!("{path}: {words}"))).count();
    if refused == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn check(path: &str) -> Result<(), String> {
    let text = std::fs::read_to_string(path).map_err(|error| error.to_string())?;
    let module = parse_str(&text).map_err(|error| error.emit_to_string(&text))?;
    let checked = Validator::new(ValidationFlags::all(), Capabilities::all()).validate(&module);
    checked.map(|_| ()).map_err(|error| error.emit_to_string(&text))
}
