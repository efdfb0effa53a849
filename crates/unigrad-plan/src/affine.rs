//! Views of stored nodes as strides.
//!
//! In: a chain of views and coordinates at its top. Out: the stored node below it and the linear index there.
//! Always: exact; a view that no affine index can express has none. Never: emits instructions.

use crate::emit::{Axis, Stop};
use crate::index::{Coords, Idx, Unflatten, flatten, unflatten};
use crate::ir::{Id, Ir, IrOp};
use smallvec::SmallVec;
use unigrad_graph::Op;

/// Where a stored node's elements are when seen through views, as an affine index over the view's own axes; `None` if they are not.
/// `axes` may be split to get there.
pub(crate) fn affine(ir: &Ir, view: Id, stops: &dyn Fn(Id) -> bool, coords: Coords, axes: &[Axis]) -> Result<Option<(Id, Idx)>, Stop> {
    let sizes: Vec<usize> = axes.iter().map(|axis| axis.size).collect();
    let (mut id, mut coords) = (view, coords);
    loop {
        let node = ir.node(id);
        if stops(id) {
            return Ok(Some((id, flatten(&coords, &node.shape))));
        }
        if matches!(node.op, IrOp::Barrier(_) | IrOp::Dense) {
            id = node.inputs[0];
            continue;
        }
        let IrOp::Op(op) = &node.op else { return Ok(None) };
        let next = |i: usize| node.inputs[i];
        match op {
            Op::Reshape => {
                let linear = flatten(&coords, &node.shape);
                // What is in memory needs no coordinates: its elements lie in the same order.
                if stops(next(0)) {
                    return Ok(Some((next(0), linear)));
                }
                coords = match unflatten(&linear, &ir.node(next(0)).shape, &sizes) {
                    Unflatten::Coords(coords) => coords,
                    Unflatten::Split { axis, inner } => return Err(Stop::Split { axis, inner }),
                    Unflatten::Divide => return Ok(None),
                };
            }
            Op::Permute(perm) => {
                let mut from: Coords = SmallVec::from_elem(Idx::default(), perm.len());
                perm.iter().zip(&coords).for_each(|(p, coord)| from[usize::from(*p)] = coord.clone());
                coords = from;
            }
            Op::Expand => {
                let shape = &ir.node(next(0)).shape;
                let lead = coords.len() - shape.len();
                coords = shape.iter().zip(&coords[lead..]).map(|(s, c)| if *s == 1 { Idx::default() } else { c.clone() }).collect();
            }
            Op::Slice(parts) => {
                let at = |(axis, coord): (&unigrad_graph::SliceAxis, &Idx)| coord.clone().times(axis.step).plus_const(axis.start as i64);
                coords = parts.iter().zip(&coords).map(at).collect();
            }
            Op::Window { axis, step, dilation, .. } => {
                let inner = coords.pop().ok_or_else(|| Stop::Bug(ir.impossible(id, "a window without axes")))?;
                let inner = inner.times(*dilation as i64);
                coords[*axis] = coords[*axis].clone().times(*step as i64).plus(&inner);
            }
            // What is not one element of its input, or decided by data.
            Op::Pad(..) | Op::Concat { .. } | Op::DynSlice { .. } | Op::DynUpdate { .. } | Op::Gather { .. } => return Ok(None),
            Op::Const(_) | Op::Iota { .. } | Op::Random { .. } | Op::Reduce(..) | Op::ArgReduce(..) => return Ok(None),
            Op::Unary(_) | Op::Binary(_) | Op::Where | Op::Cast | Op::Bitcast | Op::Bounded { .. } => return Ok(None),
            Op::Scan { .. } | Op::Scatter { .. } | Op::ArgSort { .. } | Op::TopK { .. } | Op::MatMul | Op::Kernel(_) => return Ok(None),
            Op::Attention(_) | Op::AttentionGrad(_) | Op::MaxPool(_) | Op::Part(_) => return Ok(None),
            Op::Buffer | Op::Scalar | Op::Variable(_) | Op::Conv(_) | Op::ConvDataGrad(_) | Op::ConvWeightGrad(_) => return Ok(None),
            Op::Softmax { .. } | Op::LogSoftmax { .. } | Op::Normalize { .. } => return Ok(None),
            Op::Barrier | Op::Custom(_) | Op::Composite(_) | Op::Loop(_) | Op::Copy | Op::Commit(_) | Op::Invalid(_) => return Ok(None),
        }
        id = next(0);
    }
}
