//! What a process has of a device's memory, in one count: blocks of the pool, and what the driver takes for itself.
//!
//! In: bytes before they are asked of a device, and after they are given back. Out: whether they are within the cap; figures.
//! Always: both kinds together stay within the cap, whichever asks first. Never: takes memory itself.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// The count of a device's memory; shared by its pool and its driver.
#[derive(Debug)]
pub struct Budget {
    cap: AtomicU64,
    /// All that was taken.
    taken: AtomicU64,
    /// Of that, by the driver for itself.
    own: AtomicU64,
}

impl Default for Budget {
    fn default() -> Budget {
        Budget { cap: AtomicU64::new(u64::MAX), taken: AtomicU64::new(0), own: AtomicU64::new(0) }
    }
}

impl Budget {
    /// Counts bytes that the driver takes for itself: scratch between the steps of a kernel, words that programs report by, numbers that launches bring. False,
    /// and nothing is counted, where the cap forbids them.
    pub fn take_own(&self, bytes: usize) -> bool {
        let taken = self.take(bytes as u64);
        if taken {
            self.own.fetch_add(bytes as u64, Relaxed);
        }
        taken
    }

    /// Such bytes are given back.
    pub fn give_own(&self, bytes: usize) {
        self.own.fetch_sub(bytes as u64, Relaxed);
        self.give(bytes as u64);
    }

    /// Bytes that the driver has for itself.
    pub fn own(&self) -> u64 {
        self.own.load(Relaxed)
    }

    /// Bytes that the process may take of the device, if there is a cap.
    pub fn cap(&self) -> Option<u64> {
        Some(self.cap.load(Relaxed)).filter(|cap| *cap < u64::MAX)
    }

    /// Bytes that may still be taken.
    pub fn left(&self) -> u64 {
        self.cap.load(Relaxed).saturating_sub(self.taken.load(Relaxed))
    }

    pub(crate) fn set_cap(&self, cap: Option<u64>) {
        self.cap.store(cap.unwrap_or(u64::MAX), Relaxed);
    }

    pub(crate) fn take(&self, bytes: u64) -> bool {
        let cap = self.cap.load(Relaxed);
        let within = |taken: u64| taken.checked_add(bytes).filter(|sum| *sum <= cap);
        self.taken.fetch_update(Relaxed, Relaxed, within).is_ok()
    }

    pub(crate) fn give(&self, bytes: u64) {
        self.taken.fetch_sub(bytes, Relaxed);
    }

    /// What was counted as so many bytes has turned out to be others.
    pub(crate) fn correct(&self, from: u64, to: u64) {
        self.taken.fetch_add(to, Relaxed);
        self.taken.fetch_sub(from, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_kinds_share_the_cap() {
        let budget = Budget::default();
        assert!(budget.take(1 << 40) && budget.cap().is_none());
        budget.give(1 << 40);
        budget.set_cap(Some(1000));
        assert!(budget.take(600) && budget.take_own(400) && !budget.take(1) && !budget.take_own(1));
        assert_eq!((budget.own(), budget.left()), (400, 0));
        budget.give_own(400);
        budget.correct(600, 512);
        assert_eq!((budget.own(), budget.left()), (0, 488));
        assert!(!budget.take(489) && budget.take_own(488));
        // A cap below what is in use: nothing more, and no sum wraps.
        budget.set_cap(Some(10));
        assert!(!budget.take(0) && !budget.take(u64::MAX) && budget.left() == 0);
    }

    #[test]
    fn threads_do_not_pass_the_cap_together() {
        let budget = Budget::default();
        budget.set_cap(Some(10_000));
        let got: usize = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..8)
                .map(|i| {
                    scope.spawn({
                        let budget = &budget;
                        move || (0..5000).filter(|_| if i % 2 == 0 { budget.take(1) } else { budget.take_own(1) }).count()
                    })
                })
                .collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).sum()
        });
        assert_eq!((got, budget.left()), (10_000, 0));
    }
}
