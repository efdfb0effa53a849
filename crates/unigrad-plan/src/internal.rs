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
            IrOp::Dense => "dense",
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

#[cfg(test)]
mod tests {
    use crate::chunks::Apart;
    use crate::{Capture, Options, build, fuse, lower, memory};
    use rustc_hash::FxHashSet;
    use std::sync::Arc;
    use unigrad_graph::{DType, Expr, UnaryOp};

    /// What a pass leaves out is an error of the next one, with the op and the line, and no plan.
    #[test]
    fn what_a_pass_forgets_is_an_error_that_names_op_and_line() {
        let x = Expr::buffer([8].into_iter().collect(), DType::F32, 0, Arc::new(()));
        let capture = Capture::new(&[x.unary(UnaryOp::Exp)]).unwrap();
        let built = build::build(&capture, Options::default()).unwrap();
        let outputs: FxHashSet<u32> = built.outputs.iter().copied().collect();
        let options = Options::default();
        let fuse = || fuse::fuse(&built.ir, &outputs, &Apart::default(), options).unwrap();
        assert_eq!(lower::lower(&built.ir, &fuse(), options).unwrap().len(), 1);
        // An input that is not in memory.
        let mut fused = fuse();
        fused.stored.retain(|id| outputs.contains(id));
        let error = lower::lower(&built.ir, &fused, options).unwrap_err();
        assert!(error.contains("input [8] f32 from ") && error.contains("internal.rs:") && error.contains("not in memory"), "{error}");
        // A launch that is gone: its result has no place.
        let layout = memory::assign(&built.ir, &[], &built.outputs, &[false], &[None], (false, false)).unwrap();
        assert!(!layout.place.contains_key(&built.outputs[0]));
        let launches = lower::lower(&built.ir, &fuse(), options).unwrap();
        let error = crate::plan::place(&built.ir, &launches, &memory::Layout { needless: vec![false], ..layout }).unwrap_err();
        assert!(error.contains("exp [8] f32 from ") && error.contains("no place"), "{error}");
    }
}
