//! What asks long work to end: a program that hears signals at its own pace (Python) says here how it is asked.
//!
//! In: a function of the program's, that says whether the work of the thread that asks is to end. Out: the answer, at most some 20 times a second.
//! Always: work is asked between launches and while it is waited for; what was begun is not torn by it.
//! Never: costs anything where no program asks.

use crate::{Device, Error};
use std::{
    sync::OnceLock,
    thread,
    time::{Duration, Instant},
};

/// Says whether the work of this thread is to end.
pub type Cancelled = fn() -> bool;

static ASK: OnceLock<Cancelled> = OnceLock::new();

/// How often it is asked.
const EVERY: Duration = Duration::from_millis(50);

/// From now on long work asks this function. Returns whether it is the first, which stays.
pub fn cancel_by(ask: Cancelled) -> bool {
    ASK.set(ask).is_ok()
}

/// Asks for some work.
#[derive(Debug)]
pub struct Patience {
    ask: Cancelled,
    last: Instant,
}

impl Patience {
    /// None where there is nothing to ask.
    pub fn new() -> Option<Patience> {
        ASK.get().map(|ask| Patience { ask: *ask, last: Instant::now() })
    }

    /// Whether the work is to end.
    pub fn is_over(&mut self) -> bool {
        if self.last.elapsed() < EVERY {
            return false;
        }
        self.last = Instant::now();
        (self.ask)()
    }
}

impl Device {
    /// Waits for what the device was given, as long as it is not asked to end. What it does goes on then.
    pub(crate) fn wait_patiently(self) -> Result<(), Error> {
        if self.completes_at_once() {
            return Ok(());
        }
        let Some(mut patience) = Patience::new() else { return Ok(()) };
        let begin = Instant::now();
        let event = self.record()?;
        while !event.is_done()? {
            if patience.is_over() {
                return Err(Error::Cancelled { device: self.to_string() });
            }
            // Short work is waited for by the driver, which knows best.
            let so_far = begin.elapsed();
            if so_far > Duration::from_millis(2) {
                thread::sleep((so_far / 8).min(Duration::from_millis(5)));
            } else {
                thread::yield_now();
            }
        }
        Ok(())
    }
}
