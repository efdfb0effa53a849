//! Places other than the CPU: what is recorded there waits, and is computed together.
//!
//! Always: one walk or computation at a time in the process, as nodes have one number each. What is pending is in the order of recording, so each
//! stands behind what it is made from.

use crate::{Node, Ref, Tape};
use std::sync::{
    Mutex, MutexGuard, PoisonError, Weak,
    atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed},
};

/// Why a tape has no results.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// It was ended before it was done; a shorter one may be done.
    TooLong,
    /// What else went wrong.
    Other(String),
}

/// What computes tapes.
pub trait Machine: Send + Sync {
    /// The values of a tape's entries, and if it has a way back, their gradients: in this order, one array.
    fn run(&self, tape: &Tape) -> Result<Vec<f64>, Failure>;
}

/// Where values are, apart from the CPU.
pub struct Accelerator {
    number: u32,
    machine: Box<dyn Machine>,
    pending: Mutex<Vec<Weak<Node>>>,
    /// Why the host computed something in its place, if it did and this was not told yet.
    failure: Mutex<Option<String>>,
    n_runs: AtomicU64,
    /// Nodes that one tape has at most: beyond, a GPU would be held up for seconds. Less where a device ends a tape before.
    most: AtomicUsize,
}

/// The turn of the thread that walks.
pub(crate) struct Turn {
    pub(crate) number: u64,
    _guard: MutexGuard<'static, u64>,
}

impl Turn {
    pub(crate) fn take() -> Turn {
        static LAST: Mutex<u64> = Mutex::new(0);
        let mut guard = LAST.lock().unwrap_or_else(PoisonError::into_inner);
        *guard += 1;
        Turn { number: *guard, _guard: guard }
    }
}

/// Nodes of a tape, as long as no device refuses: at first and at least.
const MOST: (usize, usize) = (1 << 16, 64);

impl Accelerator {
    /// A place with a number of the caller's. It lives as long as the process.
    pub fn new(number: u32, machine: Box<dyn Machine>) -> &'static Accelerator {
        let (pending, failure) = (Mutex::default(), Mutex::default());
        Box::leak(Box::new(Accelerator { number, machine, pending, failure, n_runs: AtomicU64::new(0), most: AtomicUsize::new(MOST.0) }))
    }

    /// Its number.
    pub fn number(&self) -> u32 {
        self.number
    }

    pub(crate) fn add(&self, node: &Ref) {
        self.pending().push(std::sync::Arc::downgrade(node));
    }

    fn pending(&self) -> MutexGuard<'_, Vec<Weak<Node>>> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether so much is pending that it should be computed.
    pub fn is_full(&self) -> bool {
        self.pending().len() >= MOST.0
    }

    /// Whether nothing is pending.
    pub fn is_idle(&self) -> bool {
        self.pending().is_empty()
    }

    /// Computes all that is pending.
    pub fn flush(&self) {
        if !self.is_idle() {
            let turn = Turn::take();
            self.flush_in(&turn);
        }
    }

    pub(crate) fn flush_in(&self, _turn: &Turn) {
        let nodes: Vec<Ref> =
            std::mem::take(&mut *self.pending()).iter().filter_map(Weak::upgrade).filter(|node| !node.is_ready()).collect();
        let mut rest: Vec<&Node> = nodes.iter().map(|node| &**node).collect();
        while !rest.is_empty() {
            let part = &rest[..rest.len().min(self.most())];
            let tape = Tape::new(part, None);
            if let Some(results) = self.run(&tape) {
                for (node, entry) in part.iter().zip(tape.entries()) {
                    node.store(results.get(entry).copied().unwrap_or(f64::NAN)); // DEFAULT: `run` gives a value for each entry
                }
                rest.drain(..tape.n_nodes());
            }
        }
    }

    /// Drops from what is pending what has a value.
    pub(crate) fn tidy(&self) {
        self.pending().retain(|node| node.upgrade().is_some_and(|node| !node.is_ready()));
    }

    /// Nodes that one tape has at most.
    pub(crate) fn most(&self) -> usize {
        self.most.load(Relaxed)
    }

    /// Runs a tape here; on the host where that fails. None where a shorter one is to be tried.
    pub(crate) fn run(&self, tape: &Tape) -> Option<Vec<f64>> {
        self.n_runs.fetch_add(1, Relaxed);
        match self.machine.run(tape) {
            Ok(results) if results.len() == tape.n_results() => Some(results),
            Ok(results) => self.fall_back(tape, format!("{} results where {} are due", results.len(), tape.n_results())),
            Err(Failure::TooLong) if tape.n_nodes() > MOST.1 => {
                self.most.store(self.most().min(tape.n_nodes() / 2), Relaxed);
                None
            }
            Err(Failure::TooLong) => self.fall_back(tape, format!("it ends a launch of {} scalars before it is done", tape.n_nodes())),
            Err(Failure::Other(why)) => self.fall_back(tape, why),
        }
    }

    #[expect(clippy::unnecessary_wraps, reason = "a case of `run`")]
    fn fall_back(&self, tape: &Tape, why: String) -> Option<Vec<f64>> {
        *self.failure.lock().unwrap_or_else(PoisonError::into_inner) = Some(why);
        Some(tape.run())
    }

    /// Why the host computed something in its place; told once.
    pub fn take_failure(&self) -> Option<String> {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// How many tapes were run here.
    pub fn n_runs(&self) -> u64 {
        self.n_runs.load(Relaxed)
    }
}
