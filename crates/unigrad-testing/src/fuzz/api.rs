//! Random calls of every method of `Tensor`, with arguments that no program means: huge, negative, of the wrong rank or dtype.
//!
//! In: a seed and how many calls. Out: a [`Report`] that tells each call that panicked, took longer than [`MOST`], refused without a remedy, blamed a
//! line that is not the caller's, or gave a result that is not one.
//! Always: the same seed makes the same call; what a call gives is evaluated only where it is small, with a cap on the memory that it may
//! take, so that out of memory is an error here as it is elsewhere.
//! Never: asks whether numbers are right: the op table and the random graphs do.

mod draw;
mod elements;
mod picks;
mod registry;
mod shapes;

use super::Rng;
use crate::run::values_of;
use draw::Draw;
use std::{
    fmt,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
        mpsc,
    },
    thread,
    time::{Duration, Instant},
};
use unigrad_graph::DType;
use unigrad_tensor::{Device, Error, Tensor};

/// How long a call and the evaluation of what it gives may take.
pub const MOST: Duration = Duration::from_secs(10);

/// The least stack that a thread of a user may have, in bytes.
const STACK: usize = 256 << 10;

/// Memory that the calls may take together.
const MEMORY: u64 = 1 << 28;

/// Elements of a result that is evaluated.
const SMALL: usize = 1 << 14;

/// Failures after which nothing new is learned.
const ENOUGH: usize = 50;

/// A method, and a call of it with random arguments.
struct Entry {
    name: &'static str,
    call: fn(&mut Draw) -> Vec<Tensor>,
}

/// What a method returns, as a list.
trait Outputs {
    fn list(self) -> Vec<Tensor>;
}

impl Outputs for Tensor {
    fn list(self) -> Vec<Tensor> {
        vec![self]
    }
}

impl Outputs for Vec<Tensor> {
    fn list(self) -> Vec<Tensor> {
        self
    }
}

impl Outputs for (Tensor, Tensor) {
    fn list(self) -> Vec<Tensor> {
        vec![self.0, self.1]
    }
}

impl Outputs for (Tensor, Tensor, Tensor) {
    fn list(self) -> Vec<Tensor> {
        vec![self.0, self.1, self.2]
    }
}

/// A table of calls: `name |d| call;`.
macro_rules! calls {
    ($($name:ident |$d:ident| $call:expr;)*) => {
        pub(super) const CALLS: &[Entry] = &[$(Entry { name: stringify!($name), call: |$d| Outputs::list($call) }),*];
    };
}
use calls;

/// Every call.
fn table() -> Vec<&'static Entry> {
    elements::CALLS.iter().chain(shapes::CALLS).chain(picks::CALLS).chain(registry::CALLS).collect()
}

/// The methods that are called.
pub fn names() -> Vec<&'static str> {
    table().iter().map(|entry| entry.name).collect()
}

/// What happened.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// Calls made.
    pub calls: u64,
    /// Calls that were refused, with an error as it should be.
    pub refused: u64,
    /// Results that were evaluated.
    pub evaluated: u64,
    /// Of them, those that could not be: an index out of range, no memory.
    pub failed: u64,
    /// Gradients that were evaluated.
    pub gradients: u64,
    /// What is wrong, one line each, with the seed that does it again: `run(seed, 1, ..)`.
    pub failures: Vec<String>,
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.failures.iter().try_for_each(|line| writeln!(f, "{line}"))?;
        let Report { calls, refused, evaluated, failed, gradients, failures } = self;
        let failures = failures.len();
        write!(
            f,
            "{calls} API calls: {refused} refused, {evaluated} results and {gradients} gradients evaluated ({failed} with an error), {failures} failures"
        )
    }
}

/// Makes `n` calls on the CPU, the first of which is the seed's, until the deadline.
pub fn run(seed: u64, n: u64, deadline: Option<Instant>) -> Report {
    crate::register();
    match Device::open("cpu") {
        Ok(device) => run_on(device, seed, n, deadline),
        Err(error) => Report { failures: vec![format!("FAIL no CPU: {error}")], ..Report::default() },
    }
}

/// As [`run`], on a device.
pub fn run_on(device: Device, seed: u64, n: u64, deadline: Option<Instant>) -> Report {
    device.set_memory_cap(Some(MEMORY));
    let report = Arc::new(Mutex::new(Report::default()));
    // The call under way, and when it began, in milliseconds: another thread watches, since one that hangs cannot.
    let (current, began, start) = (Arc::new(AtomicU64::new(seed)), Arc::new(AtomicU64::new(0)), Instant::now());
    let log = Log::default();
    let (done, ended) = mpsc::channel();
    let worker = {
        let (report, current, began, log) = (report.clone(), current.clone(), began.clone(), log.clone());
        move || {
            let all = table();
            for call in seed..seed.saturating_add(n) {
                let late = deadline.is_some_and(|deadline| Instant::now() >= deadline);
                if late || lock(&report).failures.len() >= ENOUGH {
                    break;
                }
                current.store(call, Ordering::Relaxed);
                began.store(start.elapsed().as_millis() as u64, Ordering::Relaxed);
                one(&all, call, device, &log, &report);
                lock(&report).calls += 1;
            }
            // The receiver is gone after a call that took too long.
            let _ = done.send(());
        }
    };
    if let Err(error) = thread::Builder::new().name("calls".into()).stack_size(STACK).spawn(worker) {
        lock(&report).failures.push(format!("FAIL no thread: {error}"));
        return lock(&report).clone();
    }
    loop {
        match ended.recv_timeout(Duration::from_millis(100)) {
            Ok(()) => break,
            Err(mpsc::RecvTimeoutError::Disconnected) => {
                lock(&report).failures.push(format!("FAIL {}: the thread ended", describe(current.load(Ordering::Relaxed))));
                break;
            }
            Err(mpsc::RecvTimeoutError::Timeout) => {
                let took = (start.elapsed().as_millis() as u64).saturating_sub(began.load(Ordering::Relaxed));
                if took > MOST.as_millis() as u64 {
                    let call = describe(current.load(Ordering::Relaxed));
                    lock(&report).failures.push(format!("FAIL {call}: after {took} ms it is not done, with {}", arguments(&log)));
                    break;
                }
            }
        }
    }
    device.set_memory_cap(None);
    lock(&report).clone()
}

fn lock(report: &Mutex<Report>) -> std::sync::MutexGuard<'_, Report> {
    report.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The arguments of the call under way, as text.
type Log = Arc<Mutex<Vec<String>>>;

fn arguments(log: &Log) -> String {
    log.lock().unwrap_or_else(PoisonError::into_inner).join(", ")
}

/// Which call a seed makes.
fn describe(seed: u64) -> String {
    let all = table();
    format!("{} (seed {seed})", entry(&all, &mut Rng(seed)).name)
}

fn entry<'a>(all: &[&'a Entry], rng: &mut Rng) -> &'a Entry {
    let at = rng.below(all.len());
    all[at]
}

/// One call.
fn one(all: &[&Entry], seed: u64, device: Device, log: &Log, report: &Mutex<Report>) {
    let mut rng = Rng(seed);
    let entry = entry(all, &mut rng);
    log.lock().unwrap_or_else(PoisonError::into_inner).clear();
    let mut draw = Draw::new(rng, device, log.clone());
    let result = catch_unwind(AssertUnwindSafe(|| {
        let outputs = (entry.call)(&mut draw);
        judge(&mut draw, &outputs, report)
    }));
    let failure = match result {
        Ok(Ok(())) => return,
        Ok(Err(failure)) => failure,
        Err(panic) => {
            let text = panic.downcast_ref::<String>().cloned().or_else(|| panic.downcast_ref::<&str>().map(|text| text.to_string()));
            format!("panicked: {}", text.unwrap_or_default())
        }
    };
    lock(report).failures.push(format!("FAIL {} (seed {seed}): {} with {}", entry.name, failure.replace('\n', " | "), arguments(log)));
}

/// What is wrong with a call's results.
fn judge(draw: &mut Draw, outputs: &[Tensor], report: &Mutex<Report>) -> Result<(), String> {
    if let Some(error) = outputs.iter().find_map(Tensor::error) {
        lock(report).refused += 1;
        return refusal(&error);
    }
    for output in outputs {
        if output.numel() > SMALL || draw.touched > SMALL {
            continue;
        }
        lock(report).evaluated += 1;
        evaluate(output, report)?;
    }
    let Some(loss) = outputs.iter().find(|output| output.needs_grad() && output.numel() <= SMALL) else { return Ok(()) };
    let variables: Vec<&Tensor> = draw.variables.iter().collect();
    if draw.touched > SMALL || variables.is_empty() {
        return Ok(());
    }
    lock(report).gradients += 1;
    match unigrad_tensor::grad(&loss.sum(()), &variables) {
        Ok(gradients) => gradients.iter().try_for_each(|gradient| evaluate(gradient, report)),
        // Bits have none, and a variable may have no part in the result.
        Err(Error::Graph(error)) if error.help.is_empty() => Err(format!("a gradient without a remedy: {error}")),
        Err(_) => Ok(()),
    }
}

/// An error says what, where and what to do.
fn refusal(error: &Error) -> Result<(), String> {
    let Error::Graph(error) = error else { return Err(format!("refused by {error}")) };
    let here = [file!(), "elements.rs", "picks.rs", "shapes.rs", "draw.rs", "registry.rs"];
    let file = error.origin.file();
    if !here.iter().any(|ours| file.ends_with(ours)) {
        return Err(format!("blames {} instead of the caller: {error}", error.origin));
    }
    if error.help.is_empty() || error.op.is_empty() || error.message.is_empty() {
        return Err(format!("no remedy: {error}"));
    }
    Ok(())
}

/// What is read has the size and the values that its dtype and shape promise; or there is an error.
fn evaluate(tensor: &Tensor, report: &Mutex<Report>) -> Result<(), String> {
    let bytes = match tensor.to_bytes() {
        Ok(bytes) => bytes,
        Err(Error::Internal(error)) => return Err(format!("an internal error: {error}")),
        Err(_) => {
            lock(report).failed += 1;
            return Ok(());
        }
    };
    if bytes.len() != tensor.numel() * tensor.dtype().size() {
        return Err(format!("{} bytes for {:?} {}", bytes.len(), tensor.shape(), tensor.dtype()));
    }
    if tensor.dtype() == DType::Bool && bytes.iter().any(|byte| *byte > 1) {
        return Err(format!("a bool that is neither 0 nor 1, in {:?}", tensor.shape()));
    }
    let again = values_of(tensor)?;
    if again.to_bytes().len() == bytes.len() { Ok(()) } else { Err("a second read has another size".into()) }
}
