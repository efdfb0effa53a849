//! Rows as processes of their own: the parent, which asks and waits, and the child, which measures one row.
//!
//! In: a device, names of rows, how this program is started anew. Out: a [`Table`], told row by row.
//! Always: what a row's process says is a line of JSON at the end of its first step and one at its end; a process that ends otherwise, or takes longer
//! than [`LONGEST`], is a row that failed. With `cold`, a row's process finds the kernels that another one has just compiled into an empty folder.
//! Never: leaves a process or a folder behind.
//! Runs beside other programs: its tests have no children.

use super::{
    ceilings::Ceilings,
    json::{measured_from_json, measured_to_json},
    row::{Outcome, Row, RowResult, SizedRow, Table},
    rows, step,
};
use crate::record::Environment;
use serde_json::{Value, json};
use std::{
    io::{self, BufRead, BufReader, Write},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::mpsc::{Receiver, RecvTimeoutError, sync_channel},
    time::{Duration, Instant, SystemTime},
};
use unigrad_device::Device;
use unigrad_tensor::{Error, Result};

/// Seconds after which a row's process is ended.
const LONGEST: Duration = Duration::from_secs(900);
/// After which a process that has said its result is ended.
const END: Duration = Duration::from_secs(20);
/// Which part of the free memory a row may take by its own estimate.
const ROOM: f64 = 0.9;

/// What is measured, and how long.
#[derive(Clone, Debug, PartialEq)]
pub struct TableConfig {
    /// Names of rows or sections; all where there are none.
    pub only: Vec<String>,
    /// Seconds of timing for each row.
    pub seconds: f64,
    /// Rows are made smaller until a step takes at most so many seconds at the device's ceiling.
    pub longest_step: f64,
    /// Whether each row's first step is timed with an empty cache of kernels too.
    pub cold: bool,
    /// What the device's threads were set to.
    pub threads: Option<usize>,
}

impl Default for TableConfig {
    /// All rows, 2 seconds each, steps of at most 2 seconds.
    fn default() -> TableConfig {
        TableConfig { only: Vec::new(), seconds: 2.0, longest_step: 2.0, cold: false, threads: None }
    }
}

fn chosen(only: &[String]) -> Result<Vec<Row>> {
    let all = rows::all();
    let is_called = |row: &Row, name: &str| row.name.eq_ignore_ascii_case(name) || row.section.eq_ignore_ascii_case(name);
    if let Some(name) = only.iter().find(|name| !all.iter().any(|row| is_called(row, name))) {
        let mut known: Vec<&str> = all.iter().map(|row| row.section).collect();
        known.dedup();
        let names: Vec<&str> = all.iter().map(|row| row.name.as_str()).collect();
        let help = format!("choose a section ({}) or a row ({})", known.join(", "), names.join(", "));
        return Err(Error::argument(format!("no row of the table is called {name}"), help));
    }
    Ok(all.into_iter().filter(|row| only.is_empty() || only.iter().any(|name| is_called(row, name))).collect())
}

/// Measures rows. `start` is this program with arguments that make it measure one row ([`serve_row`]): a name, a divisor, seconds, and whether only the first step
/// is wanted. `hear` is told of the ceilings with an empty table, and then of each row.
pub fn table(device: Device, config: &TableConfig, start: &dyn Fn(&RowAsked) -> Command, hear: &mut dyn FnMut(&Table)) -> Result<Table> {
    let is_time = |seconds: f64| seconds > 0.0 && seconds.is_finite();
    if !is_time(config.seconds) || !is_time(config.longest_step) {
        let cause = format!("{} seconds a row, {} seconds a step", config.seconds, config.longest_step);
        return Err(Error::argument(cause, "choose numbers above 0"));
    }
    let rows = chosen(&config.only)?;
    let mut table = Table {
        environment: Environment::here(device, config.threads),
        date: date(SystemTime::now()),
        ceilings: Ceilings::measure(device, config.threads)?,
        rows: Vec::new(),
    };
    device.clear_cache();
    hear(&table);
    for row in rows {
        let free = device.info().memory_free as f64;
        let result = one(&row, free, config, &table.ceilings, start);
        table.rows.push(result);
        hear(&table);
    }
    Ok(table)
}

/// One row of which a process measures, as it is asked for.
#[derive(Clone, Debug, PartialEq)]
pub struct RowAsked {
    /// Its name.
    pub name: String,
    /// How many times smaller it is.
    pub divisor: usize,
    /// Seconds of timing.
    pub seconds: f64,
    /// Whether the process ends after the first step.
    pub first_only: bool,
}

/// The least divisor from one on with which a row fits, or what it lacks.
fn fitted(row: &Row, from: usize, free: f64, config: &TableConfig, ceilings: &Ceilings) -> (usize, SizedRow, Option<String>) {
    let mut divisor = from;
    loop {
        let sized = (row.sized)(divisor);
        let needs_memory = free > 0.0 && sized.memory > ROOM * free;
        let least = sized.least_ms(ceilings).map_or(0.0, |(ms, _)| ms * 1e-3);
        let lacks = if needs_memory {
            let gib = |bytes: f64| bytes / f64::from(1 << 30);
            Some(format!("needs about {:.1} GiB of memory, {:.1} GiB are free", gib(sized.memory), gib(free)))
        } else if least > config.longest_step {
            let asked = |seconds: f64| format!("{:.1?}", Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX));
            let cause = format!("a step takes {} at least on this device, more than {}", asked(least), asked(config.longest_step));
            // A ten-thousandth of a second is little beside any row.
            Some(format!("{cause} (`--longest {}` measures it)", if least > 1.0 { least.ceil() } else { (least * 1e4).ceil() / 1e4 }))
        } else {
            None
        };
        if lacks.is_none() || divisor * 2 > row.most {
            return (divisor, sized, lacks);
        }
        divisor *= 2;
    }
}

fn one(row: &Row, free: f64, config: &TableConfig, ceilings: &Ceilings, start: &dyn Fn(&RowAsked) -> Command) -> RowResult {
    let (mut divisor, mut sized, mut lacks) = fitted(row, 1, free, config, ceilings);
    let outcome = loop {
        if let Some(lacks) = lacks {
            break Outcome::Skipped(lacks);
        }
        let outcome = processes(row, divisor, config, start).unwrap_or_else(Outcome::Failed);
        // Memory was estimated too low: a smaller one may fit.
        if !matches!(outcome, Outcome::Skipped(_)) || divisor * 2 > row.most {
            break outcome;
        }
        (divisor, sized, lacks) = fitted(row, divisor * 2, free, config, ceilings);
    };
    RowResult {
        name: row.name.clone(),
        section: row.section.to_owned(),
        size: sized.note,
        divisor,
        flops: sized.flops,
        bytes: sized.bytes,
        items: sized.items.0,
        item: sized.items.1.to_owned(),
        precision: sized.precision,
        outcome,
    }
}

/// A folder of kernels that goes when it is dropped.
struct Kernels(PathBuf);

impl Kernels {
    fn new(row: &str) -> io::Result<Kernels> {
        let path = std::env::temp_dir().join(format!("unigrad-bench-{}-{row}", std::process::id()));
        std::fs::create_dir(&path)?;
        Ok(Kernels(path))
    }

    /// The process finds its kernels there, and so does the driver.
    fn within<'a>(&self, command: &'a mut Command) -> &'a mut Command {
        command.env("UNIGRAD_CACHE_DIR", self.0.join("unigrad")).env("CUDA_CACHE_PATH", self.0.join("vendor"))
    }
}

impl Drop for Kernels {
    fn drop(&mut self) {
        // What stays is a folder of temporary files.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn processes(row: &Row, divisor: usize, config: &TableConfig, start: &dyn Fn(&RowAsked) -> Command) -> Result<Outcome, String> {
    let asked = RowAsked { name: row.name.clone(), divisor, seconds: config.seconds, first_only: false };
    if !config.cold {
        return process(start(&asked)).map(|(outcome, _)| outcome);
    }
    let folder = Kernels::new(&row.name).map_err(|error| format!("no folder for kernels: {error}"))?;
    let mut cold = start(&RowAsked { first_only: true, ..asked.clone() });
    folder.within(&mut cold);
    let (first, seconds) = process(cold)?;
    if !matches!(first, Outcome::Measured(_)) {
        return Ok(first);
    }
    let mut filled = start(&asked);
    folder.within(&mut filled);
    let (mut outcome, _) = process(filled)?;
    if let Outcome::Measured(measured) = &mut outcome {
        measured.cold_s = Some(seconds);
    }
    Ok(outcome)
}

/// Ends the process when it is dropped, however the row ended.
struct Ends(Child);

impl Ends {
    /// It has said everything: it may end as it does, which frees its memory for the next one.
    fn done(&mut self) {
        let begin = Instant::now();
        while begin.elapsed() < END && matches!(self.0.try_wait(), Ok(None)) {
            std::thread::sleep(Duration::from_millis(2));
        }
    }
}

impl Drop for Ends {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Runs a row's process: what it measured, and the seconds from its start to the end of its first step.
fn process(mut command: Command) -> Result<(Outcome, f64), String> {
    let begin = Instant::now();
    command.stdin(Stdio::null()).stdout(Stdio::piped());
    let child = command.spawn().map_err(|error| format!("its process cannot be started: {error}"))?;
    let mut child = Ends(child);
    let lines = lines(&mut child.0);
    let mut first = None;
    loop {
        let left = LONGEST.saturating_sub(begin.elapsed());
        let said: Value = match lines.recv_timeout(left) {
            // What is no JSON is not of this conversation.
            Ok(line) => serde_json::from_str(&line).unwrap_or(Value::Null),
            Err(RecvTimeoutError::Timeout) => return Err(format!("took longer than {} s", LONGEST.as_secs())),
            Err(RecvTimeoutError::Disconnected) => {
                let status = child.0.wait().map_or_else(|error| error.to_string(), |status| status.to_string());
                return Err(format!("its process ended with {status}, and no result"));
            }
        };
        if said["first_step"] == true {
            first.get_or_insert(begin.elapsed().as_secs_f64());
        } else if let Some(lacks) = said["lacks"].as_str() {
            child.done();
            return Ok((Outcome::Skipped(lacks.to_owned()), 0.0));
        } else if let Some(error) = said["error"].as_str() {
            return Err(error.to_owned());
        } else if said["measured"].is_object() {
            let seconds = first.ok_or("it said nothing after its first step")?;
            let mut measured = measured_from_json(&said["measured"])?;
            measured.first_s = seconds;
            child.done();
            return Ok((Outcome::Measured(measured), seconds));
        }
    }
}

/// What a process says, line by line; ends with its output.
fn lines(child: &mut Child) -> Receiver<String> {
    let output = child.stdout.take();
    let (send, lines) = sync_channel(4);
    std::thread::spawn(move || {
        let Some(output) = output else { return };
        for line in BufReader::new(output).lines().map_while(io::Result::ok) {
            if send.send(line).is_err() {
                return;
            }
        }
    });
    lines
}

/// Measures one row in this process, and says so to the parent.
pub fn serve_row(device: Device, asked: &RowAsked, mut output: impl Write) -> Result<(), Error> {
    let result = measured(device, asked, &mut output);
    let said = match &result {
        Ok(measured) => json!({ "measured": measured_to_json(measured) }),
        Err(error) if error.is_out_of_memory() => json!({ "lacks": in_a_line(error) }),
        Err(error) => json!({ "error": in_a_line(error) }),
    };
    say(&mut output, &said)
}

/// An error with its remedy, in one line.
fn in_a_line(error: &Error) -> String {
    error.to_string().split('\n').map(str::trim).collect::<Vec<_>>().join("; ")
}

fn say(output: &mut impl Write, said: &Value) -> Result<(), Error> {
    let written = writeln!(output, "{said}").and_then(|()| output.flush());
    written.map_err(|error| Error::write(Path::new("standard output"), error))
}

fn measured(device: Device, asked: &RowAsked, output: &mut impl Write) -> Result<super::Measured> {
    let row = chosen(std::slice::from_ref(&asked.name))?.into_iter().find(|row| row.name == asked.name);
    let is_size = |row: &Row| asked.divisor.is_power_of_two() && asked.divisor <= row.most;
    let Some(row) = row.filter(is_size) else {
        let cause = format!("no row is called {}, or none is {} times smaller", asked.name, asked.divisor);
        return Err(Error::argument(cause, "ask for a row of `unigrad bench table`"));
    };
    let sized = (row.sized)(asked.divisor);
    let mut told = Ok(());
    let mut first = || {
        told = say(output, &json!({ "first_step": true }));
        told.is_ok() && !asked.first_only
    };
    let measured = step::measure(device, &sized, asked.seconds, &mut first)?;
    told?;
    Ok(measured.unwrap_or_default()) // DEFAULT: only the first step was wanted
}

/// `2026-01-31 12:00 UTC`.
fn date(now: SystemTime) -> String {
    let seconds = now.duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let (days, minutes) = ((seconds / 86_400) as i64, seconds / 60 % 1440);
    // Years that begin in March end with the day that comes and goes.
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let of_era = shifted.rem_euclid(146_097);
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let (year, month) = if month < 10 { (year_of_era + 400 * era, month + 3) } else { (year_of_era + 400 * era + 1, month - 9) };
    format!("{year:04}-{month:02}-{day:02} {:02}:{:02} UTC", minutes / 60, minutes % 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_those_of_the_calendar() {
        let at = |seconds| date(SystemTime::UNIX_EPOCH + Duration::from_secs(seconds));
        assert_eq!(at(0), "1970-01-01 00:00 UTC");
        assert_eq!(at(951_827_696), "2000-02-29 12:34 UTC");
        assert_eq!(at(951_868_800), "2000-03-01 00:00 UTC");
        assert_eq!(at(4_102_444_799), "2099-12-31 23:59 UTC");
    }

    #[test]
    fn rows_shrink_until_they_fit_or_say_what_they_lack() {
        let ceilings = Ceilings { copy: 10.0, products: [(100.0, 64); 4], ..Ceilings::default() };
        for row in rows::all() {
            let config = TableConfig::default();
            let whole = (row.sized)(1);
            // All the memory and time that it wants: as it is.
            let (divisor, _, lacks) = fitted(&row, 1, whole.memory * 2.0, &TableConfig { longest_step: 1e9, ..config.clone() }, &ceilings);
            assert!((divisor, lacks.clone()) == (1, None), "{}: {divisor} {lacks:?}", row.name);
            // Half of it: smaller, or it says what is missing.
            let (divisor, sized, lacks) =
                fitted(&row, 1, whole.memory / 2.0, &TableConfig { longest_step: 1e9, ..config.clone() }, &ceilings);
            match lacks {
                Some(lacks) => assert!(lacks.contains("GiB of memory") && divisor * 2 > row.most, "{}: {lacks}", row.name),
                None => assert!(divisor > 1 && sized.memory < whole.memory / 2.0, "{}: {divisor}", row.name),
            }
            // Next to nothing: it says so.
            let (_, _, lacks) = fitted(&row, 1, 1.0, &config, &ceilings);
            assert!(lacks.is_some_and(|lacks| lacks.contains("GiB of memory")), "{}", row.name);
            let (divisor, sized, lacks) = fitted(&row, 1, 0.0, &config, &ceilings);
            let least = sized.least_ms(&ceilings).unwrap().0 * 1e-3;
            assert_eq!(lacks.is_none(), least <= config.longest_step, "{} {divisor}", row.name);
            assert!(sized.memory > 0.0 && sized.items.0 > 0.0 && (sized.flops > 0.0 || sized.bytes > 0.0), "{}", row.name);
            assert!(row.most.is_power_of_two() && (row.sized)(row.most).items.0 >= 1.0, "{}", row.name);
        }
    }
}
