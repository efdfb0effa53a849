//! `unigrad bench`: prints what `unigrad::bench` measures.
//!
//! In: workload names, files, another binary. Out: a line per measurement, or a JSON object with `--json`; a table of what changed.
//! Always: what is slower beyond noise ends the command with 1. Runs that are kept or compared are measured by processes of their own.

mod table;

use crate::{Failure, args::Bench, stream::tell};
use serde_json::json;
use std::{
    io::{self, ErrorKind},
    path::{Path, PathBuf},
};
use unigrad::{
    bench::{
        self, Benchmark, BenchmarkConfig, Certainty, Child, Comparison, Fact, InProcess, Line, Patience, SPECIAL, Sampling, Side, Verdict,
        Weight,
    },
    device::tell as say_error,
    prelude::*,
};

pub(crate) fn run(options: &Bench) -> Result<(), Failure> {
    if table::is_asked(options) {
        return table::run(options);
    }
    if options.cold {
        return Err(Failure::new("--cold is of the table's rows", "write `unigrad bench table --cold`, with names of rows or without"));
    }
    if options.save.is_some() || options.compare.is_some() || options.against.is_some() {
        return kept(options);
    }
    let device = Device::open(options.device.as_deref().unwrap_or("auto"))?;
    if let Some(threads) = options.threads {
        device.set_threads(threads as usize);
    }
    manual_seed(42);
    if options.serve {
        let threads = options.threads.map(|n| n as usize);
        let mut side = InProcess::named(device, threads, &options.workloads)?;
        return match bench::serve(&mut side, io::stdin().lock(), io::stdout().lock()) {
            // The program that asked has gone.
            Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
            other => Ok(other?),
        };
    }
    if !options.beside.is_empty() {
        return beside(options, device);
    }
    bench::report(device, &options.workloads, options.secs, &Patience::from_env()?, &|line| print(options.json, device, &line))?;
    Ok(())
}

fn load_average() -> f64 {
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    load.split_whitespace().next().and_then(|word| word.parse().ok()).unwrap_or(0.0)
}

fn print(is_json: bool, device: Device, line: &Line) {
    let peer = || format!("unigrad-{}", device.name());
    match (line, is_json) {
        (Line::Timing { workload, median_ms, min_ms, reps, others, throughput, unit, note }, true) => say!(
            "{}",
            json!({
                "peer": peer(), "version": env!("CARGO_PKG_VERSION"), "workload": workload, "median_ms": median_ms, "throughput": throughput,
                "unit": unit, "min_ms": min_ms, "reps": reps, "load1": load_average(), "others": (others * 100.0).round() / 100.0, "note": note,
            })
        ),
        (Line::Timing { workload, median_ms, min_ms, reps, others, throughput, unit, note }, false) => say!(
            "{workload:<24} {median_ms:>10.3} ms  {throughput:>14.1} {unit:<10} min {min_ms:.3} ms, {reps} reps, others {others:.2}  {note}"
        ),
        (Line::Fact(Fact { name, value, unit, note }), true) => {
            say!("{}", json!({ "peer": peer(), "workload": name, "value": value, "unit": unit, "note": note }));
        }
        (Line::Fact(Fact { name, value, unit, note }), false) => say!("{name:<24} {value:>10.3} {unit:<10} {note}"),
        (Line::Plan { nodes, launches, cold_ms, hit_ns_per_node, plans_built_on_hit }, true) => say!(
            "{}",
            json!({
                "peer": peer(), "workload": "plan_gpt12", "nodes": nodes, "launches": launches, "cold_plan_ms": cold_ms,
                "hit_ns_per_node": hit_ns_per_node, "plans_built_on_hit": plans_built_on_hit,
            })
        ),
        (Line::Plan { nodes, launches, cold_ms, hit_ns_per_node, plans_built_on_hit }, false) => say!(
            "plan_gpt12: {nodes} nodes, {launches} launches a step; cold plan {cold_ms:.1} ms; hit {hit_ns_per_node:.0} ns a node; {plans_built_on_hit} plans built on a hit"
        ),
    }
}

/// Several devices side by side.
fn beside(options: &Bench, device: Device) -> Result<(), Failure> {
    let mut devices = vec![device];
    for name in &options.beside {
        devices.push(Device::open(name)?);
    }
    let config = BenchmarkConfig { seconds: options.secs, n_blocks: options.blocks as usize, only: options.workloads.clone() };
    let beside = Benchmark::new().with_config(config).run_beside(&devices)?;
    for results in &beside.results {
        if !options.json {
            say!("{results}");
            continue;
        }
        for m in &results.measurements {
            say!(
                "{}",
                json!({
                    "device": results.device, "workload": m.name, "median_ms": m.ms, "spread": m.spread, "throughput": m.rate, "unit": m.unit,
                    "of_copy": m.of_copy, "of_stated": m.of_stated, "watts": m.watts, "joules": m.joules,
                })
            );
        }
    }
    if !options.json {
        say!("{}", beside.to_string().trim_end());
    }
    Ok(())
}

/// This program, to be started anew.
fn own() -> Result<PathBuf, Failure> {
    let own = crate::PROGRAM.get().cloned().map_or_else(std::env::current_exe, Ok);
    own.map_err(|error| Failure::new(format!("this program's own path: {error}"), "start it by its whole path"))
}

/// The arguments by which a program of unigrad measures for this one.
fn arguments(options: &Bench, names: &[String]) -> Vec<String> {
    let mut arguments = vec!["bench".to_owned(), "--serve".to_owned()];
    for (name, value) in [("--device", options.device.clone()), ("--threads", options.threads.map(|n| n.to_string()))] {
        arguments.extend(value.into_iter().flat_map(|value| [name.to_owned(), value]));
    }
    arguments.push("--".to_owned());
    arguments.extend(names.iter().cloned());
    arguments
}

/// Runs whose samples are kept or compared.
fn kept(options: &Bench) -> Result<(), Failure> {
    if let Some(name) = options.workloads.iter().find(|name| SPECIAL.iter().any(|special| special.eq_ignore_ascii_case(name))) {
        return Err(Failure::new(
            format!("{name} is a report, whose lines are not compared"),
            "choose workloads: `unigrad bench --help` lists them",
        ));
    }
    let own = own()?;
    let before = options.compare.as_deref().map(bench::load).transpose()?;
    let names = match &before {
        Some(run) if options.workloads.is_empty() => run.series.iter().map(|series| series.name.clone()).collect(),
        _ => options.workloads.clone(),
    };
    let arguments = arguments(options, &names);
    let start = |program: &Path| -> Result<Box<dyn Side>, Error> { Ok(Box::new(Child::start(program, &arguments)?)) };
    let first = start(&own)?;
    if let Some(before) = &before {
        check(options, &before.environment.differences(first.environment()))?;
    }
    let n = first.names().len();
    drop(first);
    let sampling = Sampling { seconds: options.secs, n_blocks: options.blocks as usize, ..Sampling::default() };
    if !options.json {
        let programs = if options.against.is_some() { ", each by two programs in turns" } else { "" };
        tell(format_args!(
            "measuring {n} workloads in {} rounds of {:.2} s each{programs}",
            sampling.n_blocks,
            sampling.seconds / sampling.n_blocks as f64
        ));
    }
    let mut told = |round: usize| {
        if !options.json && round.is_multiple_of(6) {
            tell(format_args!("round {round} of {}", options.blocks));
        }
    };
    let comparison = if let Some(other) = &options.against {
        let (other, now) = bench::measure_pairs(&mut || start(other), &mut || start(&own), &sampling, &mut told)?;
        check(options, &other.environment.differences(&now.environment))?;
        bench::compare_pairs(&other, &now, Certainty::default())
    } else {
        let now = bench::measure(&mut || start(&own), &sampling, &mut told)?;
        if let Some(path) = &options.save {
            bench::save(&now, path)?;
        }
        let Some(before) = before else {
            for series in &now.series {
                match options.json {
                    true => say!("{}", json!({ "workload": series.name, "median_ms": series.ms(), "spread": series.spread() })),
                    false => say!("{:<24} {:>10.4} ms  spread {:.1} %", series.name, series.ms(), 100.0 * series.spread()),
                }
            }
            return Ok(());
        };
        bench::compare(&before, &now, Certainty::default())
    };
    conclude(options, &comparison)
}

/// What two runs do not have in common: refused, or told.
fn check(options: &Bench, differences: &[bench::Difference]) -> Result<(), Failure> {
    let forbidden: Vec<String> = differences.iter().filter(|d| d.weight == Weight::Forbids).map(ToString::to_string).collect();
    if !forbidden.is_empty() {
        let what = options.compare.as_deref().map_or_else(|| "the other program".to_owned(), |path| path.display().to_string());
        let help = "measure both on one machine and device, with the same settings and kind of build";
        return Err(Failure::new(format!("{what}: times cannot be compared: {}", forbidden.join("; ")), help));
    }
    for difference in differences {
        say_error(format_args!("warning: {difference}"));
    }
    Ok(())
}

fn conclude(options: &Bench, comparison: &Comparison) -> Result<(), Failure> {
    if options.json {
        for change in &comparison.changes {
            // JSON has no infinity: an end that is not known is null.
            say!(
                "{}",
                json!({
                    "workload": change.name, "before_ms": change.ms.0, "now_ms": change.ms.1, "ratio": change.ratio, "low": change.low,
                    "high": change.high, "spread_before": change.spread.0, "spread_now": change.spread.1, "detectable": change.detectable,
                    "by": change.by, "verdict": change.verdict.to_string(),
                })
            );
        }
    } else {
        say!("{}", comparison.to_string().trim_end());
    }
    if comparison.changes.is_empty() {
        return Err(Failure::new("no workload is in both runs", "choose workloads that both have"));
    }
    let slower: Vec<String> = comparison.slower().map(|change| format!("{} ({:.2} times as long)", change.name, change.ratio)).collect();
    if !slower.is_empty() {
        let cause = format!("{} of {} workloads slower beyond noise: {}", slower.len(), comparison.changes.len(), slower.join(", "));
        return Err(Failure::new(cause, "`unigrad bench --against` the build before, to be sure; then profile it"));
    }
    let faster = comparison.changes.iter().filter(|change| change.verdict == Verdict::Faster).count();
    let worst = comparison.changes.iter().map(|change| change.detectable).fold(0.0, f64::max);
    let seen = if worst.is_finite() { format!("{:.0} %", 100.0 * worst) } else { "any size (too few blocks)".to_owned() };
    if !options.json {
        say!("nothing is slower beyond noise, {faster} faster; a slowdown below {seen} may be hidden in the noisiest workload");
    }
    Ok(())
}
