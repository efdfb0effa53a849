//! The latest steps that a device may still find to have failed.
//!
//! In: what a step has computed, and which random numbers it drew. Out: when a result turns out to be wrong, the numbers are given back.

use crate::random;
use std::{
    collections::VecDeque,
    sync::{Mutex, PoisonError},
};
use unigrad_device::Buffer;
use unigrad_graph::NodeId;

/// Where a step's results are, and what it drew.
struct Evaluated {
    outputs: Vec<u64>,
    drawn: Vec<NodeId>,
}

/// Older ones cannot be given back anyway, for something was drawn after them.
const STEPS: usize = 8;

static LATEST: Mutex<VecDeque<Evaluated>> = Mutex::new(VecDeque::new());

/// A step that was handed to a device.
pub(super) fn note(outputs: &[Buffer], drawn: Vec<NodeId>) {
    if drawn.is_empty() {
        return;
    }
    let mut latest = LATEST.lock().unwrap_or_else(PoisonError::into_inner);
    if latest.len() == STEPS {
        latest.pop_front();
    }
    latest.push_back(Evaluated { outputs: outputs.iter().map(Buffer::address).collect(), drawn });
}

/// A result could not be read: what its step drew may be drawn again.
pub(super) fn failed(result: &Buffer) {
    let latest = LATEST.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(step) = latest.iter().rev().find(|step| step.outputs.contains(&result.address())) {
        random::failed(&step.drawn);
    }
}
