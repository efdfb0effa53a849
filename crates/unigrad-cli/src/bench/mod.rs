//! `unigrad bench`: the workloads that PyTorch, Burn, candle and tinygrad are measured on, with the same ids and units.
//!
//! In: workload names. Out: a line per measurement, or a JSON object with `--json`.
//! Always: a timing is a median over repetitions of the whole step, results realized; the cores that other processes used meanwhile
//! are told (`others`), and a disturbed timing is repeated. Never: skips work that a training step has.

mod host;
mod kernels;
mod planning;
mod timing;
mod transfers;
mod workloads;

use crate::{Failure, args::Bench};
use timing::Report;
use unigrad::prelude::*;

pub(crate) fn run(options: &Bench) -> Result<(), Failure> {
    let device = match &options.device {
        Some(name) => Device::open(name)?,
        None => Device::best()?,
    };
    if let Some(threads) = options.threads {
        device.set_threads(threads as usize);
    }
    timing::read_patience()?;
    manual_seed(42);
    let report = Report { json: options.json, seconds: options.secs, device };
    let names: Vec<&str> = if options.workloads.is_empty() {
        workloads::ALL.iter().map(|(name, _)| *name).collect()
    } else {
        options.workloads.iter().map(String::as_str).collect()
    };
    for name in names {
        if name.eq_ignore_ascii_case("plan") {
            planning::run(&report)?;
            continue;
        }
        if name.eq_ignore_ascii_case("host") {
            host::run(&report)?;
            continue;
        }
        if name.eq_ignore_ascii_case("kernels") {
            kernels::run(&report)?;
            continue;
        }
        let Some((_, work)) = workloads::ALL.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)) else {
            let known: Vec<&str> = workloads::ALL.iter().map(|(name, _)| *name).chain(["host", "kernels", "plan"]).collect();
            return Err(Failure::new(format!("no workload is called {name}"), format!("choose from {}", known.join(", "))));
        };
        work(&report)?;
    }
    Ok(())
}
