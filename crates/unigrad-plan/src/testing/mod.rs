//! For tests: what is planned, seen; and an oracle for the places in memory that a plan gives.
//!
//! In: captures, as an evaluation makes them. Out: plans' texts for devices that are not here, and what is wrong with a plan's memory.
//! Always: an observer is its thread's own. Never: part of a build that does not ask for the feature `testing`.

mod memory;

pub use memory::{Checked, check_memory};

use crate::capture::Capture;
use crate::plan::{Options, Plan, attempt};
use std::cell::RefCell;

/// Elements of a run of channels: sizes around its multiples are where convolutions with channels last differ.
pub const RUN: usize = crate::channels_last::RUN;

/// Chunks of rows that are tried under a limit.
pub const CHUNKS: [usize; 4] = crate::chunks::CHUNKS;

/// What rows of a chunk are a multiple of, but for the last chunk's.
pub const GRAIN: usize = crate::chunks::GRAIN;

type Observer = Box<dyn FnMut(&Capture, Options)>;

thread_local! {
    static OBSERVER: RefCell<Option<Observer>> = const { RefCell::new(None) };
}

/// From now on, until the next call on this thread, `observer` sees every graph that the thread plans. It must not evaluate anything itself.
pub fn on_plan(observer: impl FnMut(&Capture, Options) + 'static) {
    OBSERVER.with_borrow_mut(|slot| *slot = Some(Box::new(observer)));
}

/// Ends what [`on_plan`] began.
pub fn end_on_plan() {
    OBSERVER.with_borrow_mut(|slot| *slot = None);
}

pub(crate) fn observe(capture: &Capture, options: Options) {
    OBSERVER.with_borrow_mut(|slot| {
        if let Some(observer) = slot {
            observer(capture, options);
        }
    });
}

/// As [`crate::plan`], unobserved, and an error instead of a plan without fusion where that was not asked for.
pub fn plan_as_asked(capture: &Capture, options: Options) -> Result<Plan, String> {
    attempt(capture, options)
}
