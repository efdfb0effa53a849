//! The process's end, on Unix: devices come to the end of what they were given, and work in the background too, before drivers and their compilers take
//! themselves apart. A thread within them would crash: a software device compiles as it runs.
//!
//! In: devices as they are opened, work as it begins. Out: nothing; the end is later by the time that this takes.
//! Always: ends, after [`PATIENCE`] at the latest. Errors of devices are ignored then.
//! Never: waits in a fork, whose devices are another process's, or for what a program's own threads still give.

use crate::Device;
use std::{
    sync::{
        Condvar, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed},
    },
    time::Duration,
};

/// How long a process waits at its end.
const PATIENCE: Duration = Duration::from_secs(60);

/// How much goes on: work in the background, and the wait for devices at the end.
static RUNNING: Mutex<usize> = Mutex::new(0);
static FEWER: Condvar = Condvar::new();

/// Work that the end waits for, until this is dropped.
pub(crate) struct Running(());

impl Running {
    pub(crate) fn begin() -> Running {
        *RUNNING.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        Running(())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        *RUNNING.lock().unwrap_or_else(PoisonError::into_inner) -= 1;
        FEWER.notify_all();
    }
}

/// Whether something was compiled since the process was last asked to wait.
static COMPILED: AtomicBool = AtomicBool::new(false);
/// How often the process was asked.
static ASKED: AtomicUsize = AtomicUsize::new(0);
/// How often it is asked at most: each takes some bytes for good.
const MOST: usize = 4096;

/// Says that a program was compiled.
pub(crate) fn compiled() {
    COMPILED.store(true, Relaxed);
}

/// Says that work was waited for. A compiler has made by then what it takes apart at the end, and would before this waits if it had come after it.
pub(crate) fn waited() {
    if COMPILED.load(Relaxed) && COMPILED.swap(false, Relaxed) {
        wait_for_devices();
    }
}

/// To be called when a device was opened: what is asked of a process last, it does first, so before the end of the device's driver.
pub(crate) fn wait_for_devices() {
    #[cfg(unix)]
    {
        unsafe extern "C" {
            safe fn atexit(function: extern "C" fn()) -> std::ffi::c_int;
        }
        if ASKED.fetch_add(1, Relaxed) < MOST {
            // Where the list of such functions is full, the process ends as it would without.
            let _is_full = atexit(wait);
        }
    }
}

#[cfg(unix)]
extern "C" fn wait() {
    static HAS_WAITED: AtomicBool = AtomicBool::new(false);
    // Asked often, it waits once, before the first driver comes to its end. A fork has other threads, or none: what its parent began is not to come here.
    if HAS_WAITED.swap(true, Relaxed) || Device::opened().iter().any(|device| device.here().is_err()) {
        return;
    }
    // This thread has dropped what was its own already, streams too.
    let running = Running::begin();
    let begun = std::thread::Builder::new().name("unigrad-end".to_owned()).spawn(move || {
        let _running = running;
        for device in Device::opened() {
            // There is no caller to tell.
            let _told_before = device.synchronize();
        }
    });
    if begun.is_ok() {
        let running = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
        drop(FEWER.wait_timeout_while(running, PATIENCE, |running| *running > 0));
    }
}
