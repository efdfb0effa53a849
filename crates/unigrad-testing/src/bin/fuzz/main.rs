//! The fuzzer of everything that takes what others wrote: files, texts, calls. `cargo xtask fuzz` builds and runs it.
//!
//! In: how long, a seed, which parts. Out: a line for each part, the inputs that failed (as found, and as small as they could be made) in
//! `target/fuzz`, and a last line; status 1 if one failed.
//! Always: a part runs in processes of its own, so that one that crashes or hangs is seen, ended, and gone on from; the same seed and number make
//! the same input. A case may take ten seconds, and as much memory as its part allows: see [`parts`].
//! Never: asks whether results are right; other tests do.

mod formats;
mod memory;
mod mutate;
mod parts;
mod tensor_files;
mod worker;

use parts::{KNOWN, PARTS, Part};
use std::{
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
    process::{Command, ExitCode, Stdio},
    sync::{
        Mutex, PoisonError,
        mpsc::{self, RecvTimeoutError},
    },
    time::{Duration, Instant},
};

#[global_allocator]
static MEMORY: memory::Counting = memory::Counting;

/// How long a case may take.
const MOST: Duration = Duration::from_secs(10);
/// How long a process may take to begin.
const BEGINNING: Duration = Duration::from_secs(120);
/// Failures of a part after which nothing new is learned.
const ENOUGH: usize = 20;
/// Inputs that are tried to make one smaller.
const TRIES: usize = 400;

const HELP: &str = "\
cargo xtask fuzz [--seconds N] [--seed S] [--part NAME] [--case I] [--input FILE]
    Gives mutated files, texts and calls to whatever reads them, for N seconds (default 60, without the build): no panic, no hang, no more memory than the input is worth.
    --seed S       the first of the inputs (default: the time)
    --part NAME    one part only
    --case I       one case only, as a failure names it; with --part and --seed
    --input FILE   one input only; with --part";

#[derive(Clone)]
struct Options {
    seconds: f64,
    seed: u64,
    part: Option<&'static Part>,
    case: Option<u64>,
    input: Option<PathBuf>,
    /// Run by another process of this program, from this case on.
    worker: Option<u64>,
}

impl Options {
    fn parse(arguments: impl Iterator<Item = String>) -> Result<Options, String> {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(0, |time| time.as_secs());
        let mut options = Options { seconds: 60.0, seed: now, part: None, case: None, input: None, worker: None };
        let mut arguments = arguments;
        while let Some(name) = arguments.next() {
            let value = arguments.next().ok_or_else(|| format!("{name} has no value, or is none of the options"))?;
            let number = || value.parse::<u64>().map_err(|_| format!("{name} {value}: not a number"));
            match name.as_str() {
                "--seconds" => {
                    let seconds = value.parse::<f64>().ok().filter(|s| (0.0..=1e7).contains(s));
                    options.seconds = seconds.ok_or_else(|| format!("--seconds {value}: not a number of seconds"))?;
                }
                "--seed" => options.seed = number()?,
                "--case" => options.case = Some(number()?),
                "--input" => options.input = Some(value.into()),
                "--worker" => options.worker = Some(number()?),
                "--part" => {
                    let names: Vec<&str> = PARTS.iter().map(|part| part.name).collect();
                    let part = PARTS.iter().chain([&KNOWN]).find(|part| part.name == value);
                    options.part = Some(part.ok_or_else(|| format!("--part {value}: the parts are {}", names.join(", ")))?);
                }
                _ => return Err(format!("{name}: not an option")),
            }
        }
        Ok(options)
    }
}

fn main() -> ExitCode {
    let options = match Options::parse(std::env::args().skip(1)) {
        Ok(options) => options,
        Err(error) => {
            eprintln!("error: {error}\n\n{HELP}");
            return ExitCode::from(2);
        }
    };
    match (options.part, &options.input, options.case, options.worker) {
        (Some(part), Some(input), _, _) => worker::one(part, &std::fs::read(input).unwrap_or_default()),
        (Some(part), None, Some(case), None) => worker::one(part, &part.input(options.seed, case)),
        (Some(part), None, None, Some(from)) => worker::run(part, options.seed, from, options.seconds),
        (None, None, None, None) | (Some(_), None, None, None) => fuzz(&options),
        _ => {
            eprintln!("error: --case and --input need --part\n\n{HELP}");
            ExitCode::from(2)
        }
    }
}

/// A part's cases from one on, for some seconds.
struct Slice {
    part: usize,
    from: u64,
    seconds: f64,
}

/// Where the cases of a part's second slice begin: no slice gets there.
const FAR: u64 = 1 << 32;

/// The time of all parts, laid end to end and cut into equal lengths, one for each processor: so all are done after the seconds that were asked for. A part
/// that is cut goes on elsewhere, with other cases.
fn slices(parts: &[&Part], lanes: usize, seconds: f64) -> Vec<Vec<Slice>> {
    let shares: f64 = parts.iter().map(|part| f64::from(part.share)).sum();
    let mut all: Vec<Vec<Slice>> = (0..lanes).map(|_| Vec::new()).collect();
    let (mut lane, mut left) = (0, seconds);
    for (at, part) in parts.iter().enumerate() {
        let mut wanted = seconds * lanes as f64 * f64::from(part.share) / shares;
        let mut from = 0;
        loop {
            let seconds_here = wanted.min(left);
            // What rounding leaves is no slice.
            let is_last = lane + 1 == lanes || wanted <= left + 1e-6 * seconds;
            let slice = Slice { part: at, from, seconds: if is_last { wanted } else { seconds_here } };
            if let Some(own) = all.get_mut(lane) {
                own.push(slice);
            }
            if is_last {
                left -= wanted;
                break;
            }
            (wanted, from) = (wanted - seconds_here, from + FAR);
            (lane, left) = (lane + 1, seconds);
        }
    }
    all
}

/// All parts, as many at a time as there are processors.
fn fuzz(options: &Options) -> ExitCode {
    let begin = Instant::now();
    let parts: Vec<&Part> = options.part.map_or_else(|| PARTS.iter().collect(), |part| vec![part]);
    let lanes = std::thread::available_parallelism().map_or(1, |n| n.get()).min(parts.len());
    let slices = slices(&parts, lanes, options.seconds);
    let n_slices = |part: usize| slices.iter().flatten().filter(|slice| slice.part == part).count();
    let tallies: Vec<Mutex<(usize, Tally)>> = (0..parts.len()).map(|part| Mutex::new((n_slices(part), Tally::default()))).collect();
    std::thread::scope(|scope| {
        for own in &slices {
            let (parts, tallies) = (&parts, &tallies);
            scope.spawn(move || {
                for Slice { part: at, from, seconds } in own {
                    let part = parts[*at];
                    let done = run_part(part, options.seed, *from, *seconds);
                    let mut sum = tallies[*at].lock().unwrap_or_else(PoisonError::into_inner);
                    let (left, tally) = &mut *sum;
                    *left -= 1;
                    tally.cases += done.cases;
                    tally.failures += done.failures;
                    tally.memory = tally.memory.max(done.memory);
                    if *left == 0 {
                        println!(
                            "{}: {} {}, {} failures, at most {} MiB",
                            part.name,
                            tally.cases,
                            part.unit,
                            tally.failures,
                            tally.memory >> 20
                        );
                    }
                }
            });
        }
    });
    let (mut cases, mut failures) = (0, 0);
    for tally in tallies {
        let (_, tally) = tally.into_inner().unwrap_or_else(PoisonError::into_inner);
        (cases, failures) = (cases + tally.cases, failures + tally.failures);
    }
    let took = begin.elapsed().as_secs();
    println!("fuzz: seed {}, {cases} cases in {} parts, {failures} failures, {took} s", options.seed, parts.len());
    if failures == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// What became of a part.
#[derive(Default)]
struct Tally {
    cases: u64,
    failures: usize,
    /// The most that a case took.
    memory: u64,
}

/// A part's cases from `first` on, for some seconds.
fn run_part(part: &Part, seed: u64, first: u64, seconds: f64) -> Tally {
    let end = Instant::now() + Duration::from_secs_f64(seconds);
    let (mut from, mut tally) = (first, Tally::default());
    loop {
        let left = end.saturating_duration_since(Instant::now());
        // At least once, so that no part is passed over.
        if from > first && left.is_zero() || tally.failures >= ENOUGH {
            return tally;
        }
        let Ended { ran, at, failed, memory, why } = watch(part, seed, from, left.as_secs_f64());
        tally.cases += ran;
        tally.memory = tally.memory.max(memory);
        for (case, why) in failed {
            tally.failures += 1;
            report(part, seed, case, &why);
        }
        match why {
            None => return tally,
            Some(why) => {
                // A busy machine makes a case slow too: alone, with all the time again, it says whether it hangs.
                if part.fails(&part.input(seed, at)).is_some() || !why.contains("hangs") {
                    tally.failures += 1;
                    report(part, seed, at, &why);
                }
                from = at + 1;
            }
        }
    }
}

/// How a process ended.
struct Ended {
    ran: u64,
    /// The last case that was begun.
    at: u64,
    failed: Vec<(u64, String)>,
    memory: u64,
    /// Why it did not end well.
    why: Option<String>,
}

/// Runs a process with a part's cases, and ends it when one takes too long.
fn watch(part: &Part, seed: u64, from: u64, seconds: f64) -> Ended {
    let mut ended = Ended { ran: 0, at: from, failed: Vec::new(), memory: 0, why: None };
    let seconds = seconds.to_string();
    let arguments = ["--part", part.name, "--seed", &seed.to_string(), "--worker", &from.to_string(), "--seconds", &seconds];
    let child = this_program().args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn();
    let mut child = match child {
        Ok(child) => child,
        Err(error) => return Ended { why: Some(format!("no process: {error}")), ..ended },
    };
    let (send, lines) = mpsc::channel();
    let output = child.stdout.take();
    let reader = std::thread::spawn(move || {
        let lines = output.map(|output| BufReader::new(output).lines());
        // Until the receiver is gone, or the process ends.
        let _ = lines.into_iter().flatten().map_while(Result::ok).try_for_each(|line| send.send(line));
    });
    let mut most = BEGINNING;
    let hangs = loop {
        match lines.recv_timeout(most) {
            Ok(line) => {
                most = MOST;
                if let Some(case) = line.strip_prefix("at ").and_then(|case| case.parse().ok()) {
                    ended.at = case;
                    ended.ran += 1;
                } else if let Some((case, why)) = line.strip_prefix("fail ").and_then(|rest| rest.split_once(' ')) {
                    ended.failed.push((case.parse().unwrap_or(ended.at), why.to_owned()));
                } else if let Some(bytes) = line.strip_prefix("memory ").and_then(|bytes| bytes.parse().ok()) {
                    ended.memory = bytes;
                }
            }
            Err(RecvTimeoutError::Timeout) => break true,
            Err(RecvTimeoutError::Disconnected) => break false,
        }
    };
    if hangs {
        let _ = child.kill();
    }
    let status = child.wait();
    let _ = reader.join();
    ended.why = match status {
        _ if hangs => Some(format!("hangs: not done after {} s", most.as_secs())),
        Ok(status) if status.success() => None,
        Ok(status) => Some(format!("ends the process: {status}")),
        Err(error) => Some(format!("no status: {error}")),
    };
    ended
}

fn this_program() -> Command {
    Command::new(std::env::current_exe().unwrap_or_else(|_| "fuzz".into()))
}

impl Part {
    /// What a process of its own says of an input that fails.
    fn fails(&self, input: &[u8]) -> Option<String> {
        let path = folder().join(format!(".try-{}-{}", self.name, std::process::id()));
        std::fs::write(&path, input).ok()?;
        let why = self.fails_as(&path);
        let _ = std::fs::remove_file(path);
        why
    }

    fn fails_as(&self, path: &Path) -> Option<String> {
        let mut command = this_program();
        command.args(["--part", self.name, "--input"]).arg(path).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().ok()?;
        let begin = Instant::now();
        loop {
            match child.try_wait() {
                Ok(Some(status)) if status.success() => return None,
                Ok(Some(status)) => return Some(format!("ends with {status}")),
                Ok(None) if begin.elapsed() < MOST => std::thread::sleep(Duration::from_millis(1)),
                Ok(None) => {
                    let _ = child.kill();
                    let _ = child.wait();
                    return Some("hangs".to_owned());
                }
                Err(_) => return None,
            }
        }
    }
}

fn folder() -> PathBuf {
    // The program is in a folder of the build's.
    let build = std::env::current_exe().ok().and_then(|path| Some(path.ancestors().nth(2)?.to_owned()));
    let folder = build.unwrap_or_else(std::env::temp_dir).join("fuzz");
    let _ = std::fs::create_dir_all(&folder);
    folder
}

/// Keeps an input that failed, as found and smaller, and says how to run it again.
fn report(part: &Part, seed: u64, case: u64, why: &str) {
    let input = part.input(seed, case);
    let keep = |kind: &str, bytes: &[u8]| {
        let path = folder().join(format!("{}-{seed}-{case}{kind}", part.name));
        let _ = std::fs::write(&path, bytes);
        path
    };
    let whole = keep("", &input);
    let shown = match part.in_parts && !why.contains("hangs") {
        true => {
            let small = smaller(part, input);
            let length = small.len();
            format!("{} ({length} bytes, of {})", keep(".small", &small).display(), whole.display())
        }
        false => whole.display().to_string(),
    };
    println!("FAIL {} case {case}: {why}\n     cargo xtask fuzz --part {} --seed {seed} --case {case}\n     {shown}", part.name, part.name);
}

/// An input that fails too, and has as few bytes as some hundred tries can find.
fn smaller(part: &Part, mut input: Vec<u8>) -> Vec<u8> {
    let begin = Instant::now();
    let mut piece = input.len().div_ceil(2);
    let mut tries = 0;
    while piece > 0 && tries < TRIES && begin.elapsed() < 2 * MOST {
        let mut at = 0;
        while at < input.len() && tries < TRIES && begin.elapsed() < 2 * MOST {
            let mut candidate = input.clone();
            candidate.drain(at..(at + piece).min(input.len()));
            tries += 1;
            if part.fails(&candidate).is_some_and(|why| !why.contains("hangs")) { input = candidate } else { at += piece }
        }
        piece /= 2;
    }
    input
}
