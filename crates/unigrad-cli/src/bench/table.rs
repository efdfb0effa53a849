//! `unigrad bench table`: rows of kernels, training steps and a decoder beside the device's ceilings.
//!
//! In: names of sections and rows, or a file of a run. Out: a line for each row, or a JSON object with `--json` (the first one has ceilings and machine); a
//! page with `--html`, a file with `--save`.
//! Always: a row that failed is told, the next one is measured, files are written, and the command ends with 1. What a device has no room for is told and is no failure.

use super::own;
use crate::{Failure, args::Bench, stream::tell};
use std::{path::Path, process::Command};
use unigrad::{
    bench::table::{self, Bound, Ceilings, Outcome, RowAsked, RowResult, Table, TableConfig},
    nn::files,
    prelude::*,
};

/// The word that asks for it.
const TABLE: &str = "table";

pub(super) fn is_asked(options: &Bench) -> bool {
    let is_named = options.workloads.first().is_some_and(|name| name.eq_ignore_ascii_case(TABLE));
    is_named || !options.row.is_empty() || options.html.is_some() || options.from.is_some()
}

pub(super) fn run(options: &Bench) -> Result<(), Failure> {
    if !options.row.is_empty() {
        return serve(options);
    }
    let names = match options.workloads.split_first() {
        Some((first, rest)) if first.eq_ignore_ascii_case(TABLE) => rest,
        None => &[],
        Some((first, _)) => {
            let help = format!("write `unigrad bench {TABLE} {first}` if {first} is a row of the table");
            return Err(Failure::new(format!("--html and --from are of the {TABLE}, not of {first}"), help));
        }
    };
    if options.compare.is_some() || options.against.is_some() || !options.beside.is_empty() {
        let help = "compare workloads, such as `unigrad bench large --compare FILE`";
        return Err(Failure::new("the rows of the table are not compared by this command", help));
    }
    let table = match &options.from {
        Some(_) if !names.is_empty() => return Err(Failure::new("a file has its own rows", "leave out --from, or the rows' names")),
        Some(path) => {
            let table = table::load_table(path)?;
            print_head(options, &table);
            table.rows.iter().for_each(|row| print(options, row, &table.ceilings));
            table
        }
        None => measured(options, names)?,
    };
    if let Some(path) = &options.save {
        table::save_table(&table, path)?;
    }
    if let Some(path) = &options.html {
        write(path, &table::page(&table))?;
    }
    let failed: Vec<&str> = table.failed().map(|row| row.name.as_str()).collect();
    if failed.is_empty() || options.from.is_some() {
        return Ok(());
    }
    let cause = format!("{} of {} rows failed: {}", failed.len(), table.rows.len(), failed.join(", "));
    Err(Failure::new(cause, "each row's line above says why; measure one alone by `unigrad bench table NAME`"))
}

fn write(path: &Path, page: &str) -> Result<(), Failure> {
    Ok(files::replace(path, |file| file.write_all(page.as_bytes()))?)
}

fn measured(options: &Bench, names: &[String]) -> Result<Table, Failure> {
    let device = Device::open(options.device.as_deref().unwrap_or("auto"))?;
    let threads = options.threads.map(|n| n as usize);
    if let Some(threads) = threads {
        device.set_threads(threads);
    }
    let config = TableConfig { only: names.to_vec(), seconds: options.secs, longest_step: options.longest, cold: options.cold, threads };
    let own = own()?;
    let start = |asked: &RowAsked| {
        let mut command = Command::new(&own);
        command.args(["bench", "--device", device.name(), "--secs", &asked.seconds.to_string()]);
        if let Some(threads) = threads {
            command.args(["--threads", &threads.to_string()]);
        }
        if asked.first_only {
            command.arg("--first");
        }
        command.args(["--row", &asked.name, &asked.divisor.to_string()]);
        command
    };
    let mut hear = |table: &Table| match table.rows.last() {
        Some(row) => print(options, row, &table.ceilings),
        None => print_head(options, table),
    };
    Ok(table::table(device, &config, &start, &mut hear)?)
}

/// Measures one row for the process that asked.
fn serve(options: &Bench) -> Result<(), Failure> {
    let (Some(name), Some(divisor)) = (options.row.first(), options.row.get(1).and_then(|divisor| divisor.parse().ok())) else {
        return Err(Failure::new("--row takes a name and a number", "use `unigrad bench table` instead"));
    };
    let device = Device::open(options.device.as_deref().unwrap_or("auto"))?;
    if let Some(threads) = options.threads {
        device.set_threads(threads as usize);
    }
    let asked = RowAsked { name: name.clone(), divisor, seconds: options.secs, first_only: options.first };
    Ok(table::serve_row(device, &asked, std::io::stdout().lock())?)
}

fn print_head(options: &Bench, table: &Table) {
    if options.json {
        return say!("{}", table::to_json(&Table { rows: Vec::new(), ..table.clone() }));
    }
    let of = &table.ceilings;
    say!("{} ({}), {}", table.environment.device, table.environment.hardware, table.date);
    say!("ceilings: copy {:.1} GB/s, map {:.1}, sum {:.1}{}", of.copy, of.map, of.read, products(of));
}

fn products(of: &Ceilings) -> String {
    let names = ["f32", "tf32", "bf16", "fp8"];
    let products = names.iter().zip(of.products).filter(|(_, (rate, _))| *rate > 0.0);
    let mut text: String = products.map(|(name, (rate, size))| format!("; {name} {:.3} TFLOP/s ({size})", rate / 1e3)).collect();
    if let Some(fma) = of.fma {
        text += &format!("; multiply-adds {:.3} TFLOP/s", fma / 1e3);
    }
    text
}

fn print(options: &Bench, row: &RowResult, ceilings: &Ceilings) {
    if options.json {
        return say!("{}", table::row_to_json(row, ceilings));
    }
    let smaller = if row.divisor > 1 { format!(" (1/{})", row.divisor) } else { String::new() };
    match &row.outcome {
        Outcome::Skipped(why) => say!("{:<36} skipped: {why}", row.name),
        Outcome::Failed(why) => {
            say!("{:<36} FAILED: {why}", row.name);
            tell(format_args!("{} failed", row.name));
        }
        Outcome::Measured(m) => {
            let (rate, unit) = row.rate().unwrap_or_default();
            let part = row.fraction(ceilings).map_or_else(String::new, |(part, bound)| {
                let bound = match bound {
                    Bound::Memory => "memory".to_owned(),
                    Bound::Products(precision) => precision.name().to_owned(),
                };
                format!(" {:>5.1} % of {bound}", 100.0 * part)
            });
            let on_device = m.device_ms.map_or_else(String::new, |ms| format!(", device {ms:.4}"));
            let cold = m.cold_s.map_or_else(String::new, |s| format!(", cold {s:.2} s"));
            let power = match (m.watts, row.joules()) {
                (Some(watts), Some(joules)) => format!(", {watts:.0} W, {joules:.4} J"),
                _ => String::new(),
            };
            let peak = m.peak_bytes as f64 / f64::from(1 << 20);
            say!(
                "{:<36} {:>10.4} ms {rate:>12.2} {unit:<10}{part}  waited {:.4}{on_device}; first {:.2} s{cold}; {peak:.0} MiB{power}; {}{smaller} {}",
                row.name,
                m.ms,
                m.waited_ms,
                m.first_s,
                row.size,
                m.note
            );
        }
    }
}
