//! Evaluations that could neither come to their end nor be undone.
//!
//! In: outputs whose memory held something else, and the error. Out: nodes that nothing reads for what they were.
//! Always: a launch that may pass is tried again first.

use super::run::Bound;
use crate::Error;
use unigrad_graph::{Expr, NodeId};
use unigrad_plan::Plan;

/// How often a launch is tried again once the evaluation cannot be undone any more.
pub(super) const RETRIES: usize = 3;

/// Whether the same launch may succeed when it is tried again.
pub(super) fn may_pass(error: &unigrad_device::Error) -> bool {
    matches!(error, unigrad_device::Error::Launch { .. } | unigrad_device::Error::OutOfMemory { .. })
}

/// Outputs whose memory held something else before.
#[derive(Default)]
pub(super) struct Torn(pub(super) Vec<u32>);

impl Torn {
    /// The evaluation cannot come to its end: what it has overwritten is neither the old value nor anything that a graph still names.
    pub(super) fn tell(&self, bound: &Bound<'_>, plan: &Plan, error: &Error) {
        let is_index = matches!(error, Error::Launch { error: unigrad_device::Error::IndexOutOfRange { .. }, .. });
        for i in (0..bound.outputs.len()).filter(|i| self.0.contains(&(*i as u32))) {
            // Where an index was out of range, what is assigned was written as it was before.
            if !(is_index && bound.assigned.contains(&i))
                && let Some(donor) = plan.donated[i].and_then(|input| bound.externals.get(input as usize))
            {
                spoiled::add(donor.id(), error.to_string());
            }
        }
    }
}

/// Nodes whose data an evaluation overwrote before it failed: nothing reads them for what they were.
pub(crate) mod spoiled {
    use super::{Error, Expr, NodeId};
    use crate::error::graph_error;
    use std::{
        collections::BTreeMap,
        sync::{
            Mutex, PoisonError,
            atomic::{AtomicBool, Ordering},
        },
    };
    use unigrad_graph::ErrorKind;

    static ANY: AtomicBool = AtomicBool::new(false);
    static NODES: Mutex<BTreeMap<NodeId, String>> = Mutex::new(BTreeMap::new());

    pub(super) fn add(node: NodeId, cause: String) {
        NODES.lock().unwrap_or_else(PoisonError::into_inner).insert(node, cause);
        ANY.store(true, Ordering::Release);
    }

    /// Why a node's data is not what it was, if that is so.
    pub(crate) fn check(node: &Expr) -> Result<(), Error> {
        if !ANY.load(Ordering::Acquire) {
            return Ok(());
        }
        let nodes = NODES.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(cause) = nodes.get(&node.id()) else { return Ok(()) };
        let message = format!("this was overwritten by an evaluation that then could not come to its end: {cause}");
        Err(graph_error(&Expr::fail(ErrorKind::Argument, "realize", message, "compute it again, or load a checkpoint", &[])))
    }
}
