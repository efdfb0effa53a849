//! Claims: which evaluation may change a node, where several threads evaluate.
//!
//! In: evaluations that want to give a node its data, or to look at its inputs. Out: whether they may.
//! Always: a node is claimed by one evaluation alone, or shared by several that leave it as it is, or free. An evaluation that finds
//! a node free sees all that the evaluation before has done to it.
//! Never: waits; the refused caller decides what to do.

use std::sync::atomic::{AtomicU32, Ordering};

/// The state of a node's claim. Which evaluation claims what: see the crate that evaluates.
#[derive(Debug, Default)]
pub struct Claim(AtomicU32);

/// One evaluation alone; all numbers below count those that share.
const ALONE: u32 = u32::MAX;

impl Claim {
    pub(crate) const fn free() -> Claim {
        Claim(AtomicU32::new(0))
    }

    /// Claims the node alone: to give it data and to let its inputs go. False, and nothing done, if another evaluation has claimed it.
    #[must_use]
    pub fn take(&self) -> bool {
        self.0.compare_exchange(0, ALONE, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    /// Ends what [`Claim::take`] began.
    pub fn give_back(&self) {
        self.0.store(0, Ordering::Release);
    }

    /// Claims that the node stays as it is, beside others that do the same. False, and nothing done, if one evaluation has it alone.
    #[must_use]
    pub fn share(&self) -> bool {
        self.0.fetch_update(Ordering::Acquire, Ordering::Relaxed, |n| (n < ALONE - 1).then(|| n + 1)).is_ok()
    }

    /// Ends what [`Claim::share`] began.
    pub fn end_share(&self) {
        self.0.fetch_sub(1, Ordering::Release);
    }

    /// Whether one evaluation has it alone.
    #[inline]
    pub fn is_taken(&self) -> bool {
        self.0.load(Ordering::Acquire) == ALONE
    }

    /// Whether it is unclaimed.
    pub fn is_free(&self) -> bool {
        self.0.load(Ordering::Acquire) == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_alone_or_several_that_share() {
        let claim = Claim::free();
        assert!(claim.share() && claim.share());
        assert!(!claim.take() && !claim.is_taken() && !claim.is_free());
        claim.end_share();
        assert!(!claim.take(), "another one still shares it");
        claim.end_share();
        assert!(claim.is_free() && claim.take());
        assert!(claim.is_taken() && !claim.take() && !claim.share());
        claim.give_back();
        assert!(claim.is_free() && claim.share());
    }
}
