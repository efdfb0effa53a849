//! The interpreter's end: what devices were given comes to its end before their drivers are taken apart.
//!
//! Always: from then on threads that are left (daemons, as Python calls them) stay outside of the interpreter when they come to its lock, or to their next
//! op, and the end waits until each is there: a thread that asks for the lock later is torn down by Python in the midst of native code.
//! Never: waits longer than [`PATIENCE`] for a thread that does not come.

use crate::error::OrRaise;
use pyo3::{prelude::*, types::PyModule};
use std::{
    cell::Cell,
    sync::{
        OnceLock,
        atomic::{AtomicUsize, Ordering::SeqCst, fence},
    },
    thread::{self, ThreadId},
    time::{Duration, Instant},
};
use unigrad::device::Device;

/// How long the end waits for threads.
const PATIENCE: Duration = Duration::from_secs(20);

/// The thread that ends the interpreter, as soon as it does.
static ENDING: OnceLock<ThreadId> = OnceLock::new();

/// Threads that work without the interpreter's lock, and come back to it.
static OUTSIDE: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    /// How many times this thread is one of [`OUTSIDE`]: Python's handlers of signals may go outside again within work outside.
    static TIMES: Cell<usize> = const { Cell::new(0) };
}

/// Whether another thread ends the interpreter: this one's work is of no use any more.
pub(crate) fn is_left() -> bool {
    ENDING.get().is_some_and(|ending| *ending != thread::current().id())
}

/// Work without the interpreter's lock.
pub(crate) trait Release {
    /// Gives the lock away while `work` runs, so that other threads of Python go on.
    fn released<T: Send>(self, work: impl FnOnce() -> T + Send) -> T;
}

impl Release for Python<'_> {
    fn released<T: Send>(self, work: impl FnOnce() -> T + Send) -> T {
        /// Says that a thread has come back, by whatever way.
        struct Outside;
        impl Drop for Outside {
            fn drop(&mut self) {
                count(-1);
            }
        }
        count(1);
        let _outside = Outside;
        self.detach(|| {
            stay_if_left();
            let result = work();
            stay_if_left();
            result
        })
    }
}

/// Python's part of work without the interpreter's lock: a function of the program's. The end does not wait for it, as it does not for other code of Python.
pub(crate) fn back<T>(work: impl FnOnce(Python<'_>) -> T) -> T {
    /// Says that a thread is outside again.
    struct Inside(usize);
    impl Drop for Inside {
        fn drop(&mut self) {
            count(self.0 as isize);
        }
    }
    let times = TIMES.get();
    if times == 0 {
        // The thread has the interpreter, and this is one call within another.
        return Python::attach(work);
    }
    stay_if_left();
    count(-(times as isize));
    let inside = Inside(times);
    let result = Python::attach(work);
    drop(inside);
    stay_if_left();
    result
}

/// Counts this thread as outside, or not any more.
fn count(change: isize) {
    TIMES.set(TIMES.get().wrapping_add_signed(change));
    if change >= 0 {
        OUTSIDE.fetch_add(change as usize, SeqCst);
    } else {
        OUTSIDE.fetch_sub(change.unsigned_abs(), SeqCst);
    }
}

/// Keeps a thread that is left where it is.
fn stay_if_left() {
    // With the one in `_end`: either this thread sees the end, or the end sees this thread.
    fence(SeqCst);
    if is_left() {
        stay();
    }
}

/// Keeps a thread that is left at the interpreter's end from giving devices more to do.
#[inline]
pub(crate) fn pause_at_end(py: Python<'_>) {
    if is_left() {
        py.detach(stay);
    }
}

fn stay() {
    // Nothing is waited for any more.
    count(-(TIMES.get() as isize));
    loop {
        thread::park();
    }
}

/// Waits for other threads and for the devices. Python calls it at its end.
#[pyfunction]
fn _end(py: Python<'_>) -> PyResult<()> {
    // What comes first is the end: a second call, of a test say, changes nothing.
    let _is_first = ENDING.set(thread::current().id()).is_ok();
    fence(SeqCst);
    let begin = Instant::now();
    while OUTSIDE.load(SeqCst) > 0 && begin.elapsed() < PATIENCE {
        py.detach(|| thread::sleep(Duration::from_millis(1)));
    }
    py.detach(|| Device::opened().into_iter().try_for_each(Device::synchronize)).or_raise(py)
}

/// From now on Python calls [`_end`] at its end.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let end = wrap_pyfunction!(_end, module)?;
    module.py().import("atexit")?.call_method1("register", (end,))?;
    Ok(())
}
