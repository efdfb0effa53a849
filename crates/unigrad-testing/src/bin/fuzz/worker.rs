//! A process that runs cases: a line when one begins, a line when one fails.
//!
//! Always: cases run in a thread with the stack that a user's thread may have at the least.

use crate::{memory::peak_of, parts::Part};
use std::{
    io::Write,
    panic::{AssertUnwindSafe, catch_unwind},
    process::ExitCode,
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

/// What the last panic said, and where.
static PANIC: Mutex<String> = Mutex::new(String::new());

fn say(line: std::fmt::Arguments<'_>) {
    // Without its parent nothing reads it; then the process is about to be ended.
    let mut output = std::io::stdout().lock();
    let _ = writeln!(output, "{line}").and_then(|()| output.flush());
}

/// What is wrong with how an input is read, and the memory that it took.
fn judge(part: &Part, input: &[u8]) -> (Option<String>, usize) {
    let (result, peak) = peak_of(|| catch_unwind(AssertUnwindSafe(|| (part.run)(input))));
    let most = (part.memory)(input);
    let why = match result {
        Err(_) => Some(format!("panicked: {}", PANIC.lock().unwrap_or_else(PoisonError::into_inner))),
        Ok(Err(why)) => Some(why),
        Ok(Ok(())) if peak as u64 > most => {
            Some(format!("takes {peak} bytes of memory for an input of {}, at most {most} are allowed", input.len()))
        }
        Ok(Ok(())) => None,
    };
    (why, peak)
}

/// Runs `work` where a case runs.
fn in_small_thread(part: &Part, work: impl FnOnce() + Send) {
    std::panic::set_hook(Box::new(|info| {
        *PANIC.lock().unwrap_or_else(PoisonError::into_inner) = info.to_string().replace('\n', " | ");
    }));
    std::thread::scope(|scope| {
        if let Err(error) = std::thread::Builder::new().stack_size(part.stack).spawn_scoped(scope, work) {
            say(format_args!("fail 0 no thread: {error}"));
        }
    });
}

/// The cases from `from` on, for some seconds.
pub(crate) fn run(part: &Part, seed: u64, from: u64, seconds: f64) -> ExitCode {
    in_small_thread(part, || {
        let end = Instant::now() + Duration::from_secs_f64(seconds);
        let mut memory = 0;
        for case in from.. {
            say(format_args!("at {case}"));
            let (why, peak) = judge(part, &part.input(seed, case));
            if let Some(why) = why {
                say(format_args!("fail {case} {why}"));
            }
            if peak > memory {
                memory = peak;
                say(format_args!("memory {memory}"));
            }
            if Instant::now() >= end {
                return;
            }
        }
    });
    ExitCode::SUCCESS
}

/// One input.
pub(crate) fn one(part: &Part, input: &[u8]) -> ExitCode {
    let mut failed = false;
    in_small_thread(part, || {
        let begin = Instant::now();
        match judge(part, input).0 {
            Some(why) => {
                failed = true;
                say(format_args!("FAIL {}: {why}", part.name));
            }
            None => say(format_args!("{}: {} bytes, no failure, {:.1?}", part.name, input.len(), begin.elapsed())),
        }
    });
    if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}
