//! Gives WGSL texts to naga: `check_wgsl FILE…` says how many it accepts and what it refuses, and fails if that is anything.

use naga::{
    front::wgsl::parse_str,
    valid::{Capabilities, ValidationFlags, Validator},
};
use std::process::ExitCode;

fn main() -> ExitCode {
    let paths: Vec<String> = std::env::args().skip(1).collect();
    let refused = paths.iter().filter_map(|path| check(path).err().map(|words| eprintln!("{path}: {words}"))).count();
    println!("{}", paths.len() - refused);
    if refused == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn check(path: &str) -> Result<(), String> {
    let text = std::fs::read_to_string(path).map_err(|error| error.to_string())?;
    let module = parse_str(&text).map_err(|error| error.emit_to_string(&text))?;
    let checked = Validator::new(ValidationFlags::all(), Capabilities::all()).validate(&module);
    checked.map(|_| ()).map_err(|error| error.emit_to_string(&text))
}
