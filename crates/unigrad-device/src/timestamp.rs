//! Points in time, for measuring how long something took.
//!
//! Always: a system without a clock, such as a browser's page, measures 0. Never: a date.

use std::time::{Duration, Instant};

/// A point in time.
#[derive(Clone, Copy, Debug)]
pub struct Timestamp(Option<Instant>);

impl Timestamp {
    /// Now.
    pub fn now() -> Timestamp {
        // The standard library's clock panics there.
        let has_clock = !cfg!(all(target_family = "wasm", target_os = "unknown"));
        Timestamp(has_clock.then(Instant::now))
    }

    /// Time since then.
    pub fn elapsed(self) -> Duration {
        self.0.map_or(Duration::ZERO, |then| then.elapsed())
    }
}
