//! Views below the operands of heavy kernels: what a kernel reads by strides instead of from a copy.
//!
//! In: a heavy node's input. Out: the node below the views that strides can express, and the coordinates of a domain's points.

use crate::affine::affine;
use crate::emit::{Axis, Stop, split_axis};
use crate::index::{Coords, Idx};
use crate::ir::{Id, Ir, IrOp, Kind};
use unigrad_graph::Op;

/// The inputs of a heavy node that its kernel reads through views, and those it wants as they are.
pub(crate) fn reads_through_views(op: &Op, input: usize) -> bool {
    match op {
        Op::MatMul => true,
        Op::Scatter { .. } => input > 0,
        Op::Attention(spec) => input < 3 + usize::from(spec.has_bias),
        Op::AttentionGrad(spec) => {
            // q, k, v, the bias, and the gradient that arrives, which is the last one.
            input < 3 + usize::from(spec.has_bias) || input == spec.numbers().end + 2
        }
        // Read as they lie, or not kernels of their own.
        Op::Scan { .. } | Op::ArgSort { .. } | Op::TopK { .. } | Op::MaxPool(_) | Op::Part(_) | Op::Kernel(_) => false,
        Op::Buffer | Op::Const(_) | Op::Scalar | Op::Iota { .. } | Op::Random { .. } | Op::Variable(_) => false,
        Op::Unary(_) | Op::Binary(_) | Op::Where | Op::Cast | Op::Bitcast | Op::Bounded { .. } => false,
        Op::Reshape | Op::Permute(_) | Op::Expand | Op::Slice(_) | Op::Pad(..) | Op::Concat { .. } | Op::Window { .. } => false,
        Op::DynSlice { .. } | Op::DynUpdate { .. } | Op::Gather { .. } | Op::Reduce(..) | Op::ArgReduce(..) => false,
        Op::Conv(_) | Op::ConvDataGrad(_) | Op::ConvWeightGrad(_) => false,
        Op::Softmax { .. } | Op::LogSoftmax { .. } | Op::Normalize { .. } => false,
        Op::Barrier | Op::Custom(_) | Op::Composite(_) | Op::Loop(_) | Op::Copy | Op::Commit(_) | Op::Invalid(_) => false,
    }
}

/// What a heavy node's input really reads: the node below the views that can be expressed by strides.
pub(crate) fn view_base(ir: &Ir, view: Id, may_split: bool) -> Result<Id, String> {
    let mut base = view;
    let mut below = view;
    loop {
        let node = ir.node(below);
        let through =
            matches!(&node.op, IrOp::Op(Op::Reshape | Op::Permute(_) | Op::Expand | Op::Slice(_) | Op::Window { .. }) | IrOp::Barrier(_));
        if !through {
            return Ok(base);
        }
        below = node.inputs[0];
        if matches!(ir.kind(below), Kind::View) && !matches!(ir.node(below).op, IrOp::Op(Op::Pad(..) | Op::Concat { .. }) | IrOp::Dense) {
            // Only the bottom of the chain is worth trying.
            continue;
        }
        let mut axes: Vec<Axis> = ir.node(view).shape.iter().map(|size| Axis { size: *size, reduce: false }).collect();
        loop {
            match affine(ir, view, &|id| id == below, home(&ir.node(view).shape, &axes), &axes) {
                Ok(Some(_)) => base = below,
                Err(Stop::Split { axis, inner }) if may_split => {
                    split_axis(&mut axes, axis, inner);
                    continue;
                }
                // No strides show it so: it is read from a copy.
                Ok(None) | Err(Stop::Split { .. }) => {}
                Err(Stop::Bug(bug)) => return Err(bug),
            }
            break;
        }
        return Ok(base);
    }
}

/// Coordinates of a shape whose axes may have been split.
pub(crate) fn home(shape: &[usize], axes: &[Axis]) -> Coords {
    let mut coords = Coords::new();
    let mut axis = 0;
    for size in shape {
        let begin = axis;
        let mut product = 1;
        while axis < axes.len() && (product < *size || (axis == begin)) {
            product *= axes[axis].size;
            axis += 1;
        }
        let mut coord = Idx::default();
        let mut stride = 1;
        for a in (begin..axis).rev() {
            if axes[a].size != 1 {
                coord = coord.plus(&Idx::axis(a).times(stride));
            }
            stride *= axes[a].size as i64;
        }
        coords.push(coord);
    }
    coords
}
