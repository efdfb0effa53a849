//! The `unigrad` command.

#[allow(dead_code)] // until `train` writes one
mod report;

fn main() {}
