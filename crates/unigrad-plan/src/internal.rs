//! What the planner never makes, as an error: in every build, never a default in its place.
//!
//! In: the node where it was found, and what is impossible about it. Out: a message with the op and the user's line.
//! Always: such an error ends the attempt to plan. `plan` then tries without fusion and says so in the plan's text; if that fails too, the
//! evaluation fails with this message, before anything has run. Never: is caused by a graph that was recorded without an error.

use crate::ir::{Id, Ir, IrNode, IrOp};
use std::fmt::Display;

impl IrOp {
    /// For messages and names of kernels.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            IrOp::External(_) => "input",
            IrOp::Scalar(_) => "scalar",
            IrOp::Op(op) => op.name(),
            IrOp::Barrier(_) => "barrier",
        }
    }
}

impl IrNode {
    /// The message for something impossible about this node.
    pub(crate) fn impossible(&self, what: impl Display) -> String {
        format!("{} {:?} {} from {}: {what}", self.op.name(), self.shape, self.dtype, self.origin)
    }
}

impl Ir {
    /// The message for something impossible about a node.
    pub(crate) fn impossible(&self, id: Id, what: impl Display) -> String {
        match self.nodes.get(id as usize) {
            Some(node) => format!("%{id} = {}", node.impossible(what)),
            None => format!("%{id}, which is no node: {what}"),
        }
    }
}
