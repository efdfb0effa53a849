//! Claims: evaluations of graphs that share nodes, in several threads.
//!
//! In: nodes that are wanted. Out: their capture, with all that the evaluation is going to change claimed; waits where another evaluation has
//! claimed a part of it. Evaluations that share nothing that has yet to be computed never wait for each other's launches or compilers.
//!
//! What is claimed, and why that is enough:
//! - An evaluation changes its *outputs* (gives them data, lets their inputs go) and overwrites *donated* data. It claims every output alone,
//!   from the capture to its end.
//! - Captures of one device follow each other (`Site::captures`), and end at a node that is claimed alone. So no capture has seen a graph below
//!   an output of an evaluation under way; it waits, and then finds data.
//! - Data is donated if nothing outside of the capture refers to it. What could come to it later would have to come from a node of the
//!   capture that something outside refers to: from an output (claimed), or from a node in between; and below that one nothing is donated
//!   (`Capture` pins it). Another capture that has the data holds a reference to its node until it is done.
//! - A node in between may become an output of another evaluation meanwhile. A cached plan does not look at nodes again; while one is *made*, its
//!   inputs must stay, so then it is claimed as shared.
//!
//! Always: claims are taken all at once, and no evaluation that has one waits: there is no deadlock. They end with the guard, after an error or a
//! panic too. A waiting thread is woken when the claim that it met ends.
//! Never: held while another device's captures are waited for.

use super::lanes::Site;
use crate::Error;
use std::sync::{
    Condvar, Mutex, PoisonError,
    atomic::{AtomicUsize, Ordering, fence},
};
use unigrad_graph::Expr;
use unigrad_plan::Capture;

/// Threads that wait for a claim to end.
static WAITING: AtomicUsize = AtomicUsize::new(0);
static LOCK: Mutex<()> = Mutex::new(());
static ENDED: Condvar = Condvar::new();

/// Waits until the node is unclaimed.
fn wait(node: &Expr) {
    WAITING.fetch_add(1, Ordering::SeqCst);
    // With the one in `wake`: either this thread sees the claim's end, or the one that ends it sees this thread.
    fence(Ordering::SeqCst);
    let mut guard = LOCK.lock().unwrap_or_else(PoisonError::into_inner);
    while !node.claim().is_free() {
        guard = ENDED.wait(guard).unwrap_or_else(PoisonError::into_inner);
    }
    drop(guard);
    WAITING.fetch_sub(1, Ordering::SeqCst);
}

/// After claims have ended.
pub(super) fn wake() {
    fence(Ordering::SeqCst);
    if WAITING.load(Ordering::SeqCst) > 0 {
        let _guard = LOCK.lock().unwrap_or_else(PoisonError::into_inner);
        ENDED.notify_all();
    }
}

/// What else is claimed beside the outputs.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum For {
    /// Running a plan that is there.
    Run,
    /// Making one, which reads the nodes in between.
    Plan,
}

/// A capture whose outputs are claimed until this drops.
pub(super) struct Claimed {
    pub(super) capture: Capture,
    purpose: For,
    /// How many outputs, and nodes in between, are claimed.
    outputs: usize,
    passed: usize,
}

impl Claimed {
    /// Captures what is wanted as soon as no other evaluation has claimed a part of it. Where copies have to be made first, nothing is claimed.
    pub(super) fn new(site: &Site, targets: &[Expr], purpose: For) -> Result<Claimed, Error> {
        loop {
            let (claimed, obstacle) = Claimed::attempt(site, targets, purpose)?;
            match obstacle {
                None => return Ok(claimed),
                Some(node) => {
                    // A thread that waits has nothing that others could wait for, nor references to what others might donate.
                    drop(claimed);
                    wait(&node);
                }
            }
        }
    }

    fn attempt(site: &Site, targets: &[Expr], purpose: For) -> Result<(Claimed, Option<Expr>), Error> {
        let _captures = site.captures();
        let mut claimed = Claimed { capture: Capture::new(targets).map_err(Error::Graph)?, purpose, outputs: 0, passed: 0 };
        if let Some(busy) = claimed.capture.busy.take() {
            return Ok((claimed, Some(busy)));
        }
        let (mut outputs, mut passed) = (0, 0);
        let mut obstacle = claimed.capture.outputs().find(|node| !count(node.claim().take(), &mut outputs)).cloned();
        if purpose == For::Plan && obstacle.is_none() {
            obstacle = claimed.capture.passed().find(|node| !count(node.claim().share(), &mut passed)).cloned();
        }
        (claimed.outputs, claimed.passed) = (outputs, passed);
        Ok((claimed, obstacle))
    }

    /// The plan is made: what is in between may change.
    pub(super) fn planned(&mut self) {
        if self.purpose == For::Plan {
            self.capture.passed().take(self.passed).for_each(|node| node.claim().end_share());
            (self.purpose, self.passed) = (For::Run, 0);
            wake();
        }
    }
}

fn count(taken: bool, so_far: &mut usize) -> bool {
    *so_far += usize::from(taken);
    taken
}

impl Drop for Claimed {
    fn drop(&mut self) {
        self.capture.outputs().take(self.outputs).for_each(|node| node.claim().give_back());
        if self.passed > 0 {
            self.capture.passed().take(self.passed).for_each(|node| node.claim().end_share());
        }
        if self.outputs + self.passed > 0 {
            wake();
        }
    }
}

/// A claim on one node, which gets its data otherwise than by launches.
pub(super) struct Alone<'a>(&'a Expr);

impl<'a> Alone<'a> {
    /// Claims it as soon as no other evaluation does.
    pub(super) fn new(site: &Site, node: &'a Expr) -> Alone<'a> {
        loop {
            {
                // So that no capture is on its way through the node.
                let _captures = site.captures();
                if node.claim().take() {
                    return Alone(node);
                }
            }
            wait(node);
        }
    }
}

impl Drop for Alone<'_> {
    fn drop(&mut self) {
        self.0.claim().give_back();
        wake();
    }
}
