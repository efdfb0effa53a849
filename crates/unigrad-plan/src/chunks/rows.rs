//! Where the rows of a value are, and how each op makes rows of its result from rows of its inputs.
//!
//! In: a node, and where the rows of it or of an input are. Out: where those of the other are; the op that makes some rows alone.
//! Always: a rule holds for any number of rows, and each row of the result is made from that row of the inputs, by the same operations.
//! Never: a rule for what reads its own position (random numbers), or combines rows, but for sums over all of them ([`summed`]).

use crate::ir::{Id, Ir, IrOp};
use smallvec::{SmallVec, smallvec};
use unigrad_graph::{Op, PadAxis, Shape, SliceAxis, numel};
use unigrad_scalar::ReduceOp;

/// Neighbouring axes that count the rows, row-major; the first and the last of them are longer than 1.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub(super) struct Rows {
    pub(super) axis: usize,
    pub(super) n_axes: usize,
}

/// What some rows of a node's result take of an input.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Take {
    /// The same rows.
    Rows(Rows),
    /// All of it.
    Whole,
    /// All of it, which has no rows: the result repeats it along these axes of its own.
    Repeated(Rows),
}

pub(super) type Takes = SmallVec<[Take; 3]>;

impl Rows {
    fn one(axis: usize) -> Rows {
        Rows { axis, n_axes: 1 }
    }

    fn end(self) -> usize {
        self.axis + self.n_axes
    }

    fn has(self, axis: usize) -> bool {
        (self.axis..self.end()).contains(&axis)
    }

    pub(super) fn count(self, shape: &[usize]) -> usize {
        numel(&shape[self.axis..self.end()])
    }

    /// The shape of so many rows, which one axis counts.
    pub(super) fn shape(self, whole: &[usize], n_rows: usize) -> Shape {
        whole[..self.axis].iter().copied().chain([n_rows]).chain(whole[self.end()..].iter().copied()).collect()
    }

    /// Which axis of some rows an axis of the whole is.
    fn renamed(self, axis: usize) -> usize {
        if axis < self.end() { axis.min(self.axis) } else { axis + 1 - self.n_axes }
    }

    /// The same rows after a reshape, if they are an axis there, or several.
    fn reshaped(self, from: &[usize], to: &[usize]) -> Option<Rows> {
        let (before, n_rows) = (numel(&from[..self.axis]), self.count(from));
        if from.contains(&0) {
            return None;
        }
        let mut axis = 0;
        let mut passed = 1;
        while axis < to.len() && (passed < before || to[axis] == 1) {
            passed *= to[axis];
            axis += 1;
        }
        if passed != before {
            return None;
        }
        let mut n_axes = 0;
        let mut counted = 1;
        while counted < n_rows {
            counted *= to.get(axis + n_axes)?;
            n_axes += 1;
        }
        (counted == n_rows).then_some(Rows { axis, n_axes })
    }
}

/// Where a node's rows are, whose input `i` has its rows there.
pub(super) fn carried(ir: &Ir, id: Id, i: usize, rows: Rows) -> Option<Rows> {
    let node = ir.node(id);
    let from = &ir.node(*node.inputs.get(i)?).shape;
    let op = match &node.op {
        IrOp::Barrier(_) => return Some(rows),
        IrOp::External(_) | IrOp::Scalar(_) | IrOp::Dense => return None,
        IrOp::Op(op) => op,
    };
    match op {
        Op::Reshape => rows.reshaped(from, &node.shape),
        Op::Permute(perm) => {
            let axis = perm.iter().position(|axis| usize::from(*axis) == rows.axis)?;
            let moves_together = (0..rows.n_axes).all(|n| perm.get(axis + n).is_some_and(|from| usize::from(*from) == rows.axis + n));
            moves_together.then_some(Rows { axis, ..rows })
        }
        Op::Expand => Some(Rows { axis: rows.axis + node.shape.len() - from.len(), ..rows }),
        // Rows of the left factor are the result's, and columns of the right one are its columns: `takes` knows which.
        Op::MatMul => Some(rows),
        Op::Const(_) | Op::Iota { .. } | Op::Random { .. } => None,
        Op::Unary(_) | Op::Binary(_) | Op::Where | Op::Cast | Op::Bitcast | Op::Bounded { .. } => Some(rows),
        Op::Slice(_) | Op::Pad(..) | Op::Concat { .. } | Op::Window { .. } => Some(rows),
        Op::Reduce(..) | Op::ArgReduce(..) | Op::Scan { .. } | Op::Gather { .. } | Op::Scatter { .. } => Some(rows),
        Op::ArgSort { .. } | Op::TopK { .. } => Some(rows),
        Op::DynSlice { .. } | Op::DynUpdate { .. } | Op::Kernel(_) | Op::Attention(_) | Op::AttentionGrad(_) => None,
        Op::MaxPool(_) | Op::Part(_) => None,
        Op::Buffer | Op::Scalar | Op::Variable(_) | Op::Conv(_) | Op::ConvDataGrad(_) | Op::ConvWeightGrad(_) => None,
        Op::Softmax { .. } | Op::LogSoftmax { .. } | Op::Normalize { .. } => None,
        Op::Barrier | Op::Custom(_) | Op::Composite(_) | Op::Loop(_) | Op::Copy | Op::Commit(_) | Op::Invalid(_) => None,
    }
}

/// What some rows of a node take of its inputs; `None` if they are not made of rows alone.
pub(super) fn takes(ir: &Ir, id: Id, rows: Rows) -> Option<Takes> {
    let node = ir.node(id);
    let shape_of = |i: usize| node.inputs.get(i).map(|input| &ir.node(*input).shape);
    let same = || -> Takes { node.inputs.iter().map(|_| Take::Rows(rows)).collect() };
    let unless = |is_own: bool| (!is_own).then(same);
    let op = match &node.op {
        IrOp::Barrier(_) => return Some(same()),
        IrOp::Scalar(_) => return Some(Takes::new()),
        IrOp::External(_) | IrOp::Dense => return None,
        IrOp::Op(op) => op,
    };
    match op {
        Op::Const(_) => Some(Takes::new()),
        Op::Iota { axis } => (!rows.has(*axis)).then(Takes::new),
        Op::Unary(_) | Op::Binary(_) | Op::Where | Op::Cast | Op::Bitcast | Op::Bounded { .. } => Some(same()),
        Op::Reshape => Some(smallvec![Take::Rows(rows.reshaped(&node.shape, shape_of(0)?)?)]),
        Op::Permute(perm) => {
            let axis = usize::from(*perm.get(rows.axis)?);
            let moves_together = (0..rows.n_axes).all(|n| perm.get(rows.axis + n).is_some_and(|from| usize::from(*from) == axis + n));
            moves_together.then(|| smallvec![Take::Rows(Rows { axis, ..rows })])
        }
        Op::Expand => {
            let from = shape_of(0)?;
            let lead = node.shape.len() - from.len();
            let is_spread = |axis: usize| node.shape[axis] == 1 || axis < lead || from[axis - lead] == 1;
            if (rows.axis..rows.end()).all(is_spread) {
                return Some(smallvec![Take::Repeated(rows)]);
            }
            let is_there = (rows.axis..rows.end()).all(|axis| axis >= lead && from[axis - lead] == node.shape[axis]);
            is_there.then(|| smallvec![Take::Rows(Rows { axis: rows.axis - lead, ..rows })])
        }
        Op::Slice(axes) => unless((rows.axis..rows.end()).any(|axis| {
            let whole = SliceAxis { start: 0, step: 1, len: node.shape[axis] };
            axes[axis] != whole || shape_of(0).is_none_or(|from| from[axis] != node.shape[axis])
        })),
        Op::Pad(axes, _) => unless((rows.axis..rows.end()).any(|axis| axes[axis] != PadAxis::default())),
        // Places within windows come last, after all rows.
        Op::Window { axis, .. } => unless(rows.has(*axis) || rows.has(node.shape.len() - 1)),
        Op::Reduce(_, mask) => unless((rows.axis..rows.end()).any(|axis| mask >> axis & 1 == 1)),
        Op::ArgReduce(_, axis) | Op::Concat { axis } | Op::Scan { axis, .. } | Op::Gather { axis } => unless(rows.has(*axis)),
        Op::ArgSort { axis, .. } | Op::TopK { axis, .. } => unless(rows.has(*axis)),
        Op::Scatter { axis, .. } => {
            let (base, index) = (shape_of(0)?, shape_of(1)?);
            unless(rows.has(*axis) || base[rows.axis..rows.end()] != index[rows.axis..rows.end()])
        }
        Op::MatMul => {
            let rank = node.shape.len();
            if rows.end() <= rank.checked_sub(2)? {
                return Some(same());
            }
            if rows == Rows::one(rank - 2) {
                return Some(smallvec![Take::Rows(rows), Take::Whole]);
            }
            (rows == Rows::one(rank - 1)).then(|| smallvec![Take::Whole, Take::Rows(rows)])
        }
        // Which number an element has depends on where it is.
        Op::Random { .. } => None,
        Op::DynSlice { .. } | Op::DynUpdate { .. } | Op::Kernel(_) | Op::Attention(_) | Op::AttentionGrad(_) => None,
        Op::MaxPool(_) | Op::Part(_) => None,
        Op::Buffer | Op::Scalar | Op::Variable(_) | Op::Conv(_) | Op::ConvDataGrad(_) | Op::ConvWeightGrad(_) => None,
        Op::Softmax { .. } | Op::LogSoftmax { .. } | Op::Normalize { .. } => None,
        Op::Barrier | Op::Custom(_) | Op::Composite(_) | Op::Loop(_) | Op::Copy | Op::Commit(_) | Op::Invalid(_) => None,
    }
}

/// What a node takes that adds up all rows of its input `i`, which are there.
pub(super) fn summed(ir: &Ir, id: Id, i: usize, rows: Rows) -> Option<Takes> {
    let node = ir.node(id);
    let from = &ir.node(*node.inputs.get(i)?).shape;
    match &node.op {
        IrOp::Op(Op::Reduce(ReduceOp::Sum, mask)) => {
            let is_all = (rows.axis..rows.end()).all(|axis| from[axis] == 1 || mask >> axis & 1 == 1);
            is_all.then(|| smallvec![Take::Rows(rows)])
        }
        IrOp::Op(Op::MatMul) => {
            let rank = from.len();
            let inner = [Rows::one(rank - 1), Rows::one(rank - 2)];
            (inner.get(i) == Some(&rows)).then(|| inner.iter().map(|rows| Take::Rows(*rows)).collect())
        }
        IrOp::Op(_) | IrOp::External(_) | IrOp::Scalar(_) | IrOp::Barrier(_) | IrOp::Dense => None,
    }
}

/// The op, and the shape, of `n_rows` rows of a node for which [`takes`] gave these.
pub(super) fn of_rows(ir: &Ir, id: Id, rows: Rows, takes: &[Take], n_rows: usize) -> Result<(IrOp, Shape), String> {
    let node = ir.node(id);
    let shape = rows.shape(&node.shape, n_rows);
    let op = match &node.op {
        IrOp::Barrier(_) | IrOp::Scalar(_) => return Ok((node.op.clone(), shape)),
        IrOp::External(_) | IrOp::Dense => return Err(ir.impossible(id, "it has no rule for rows")),
        IrOp::Op(op) => op,
    };
    let at = |axis: usize| rows.renamed(axis);
    let op = match op {
        Op::Const(_) | Op::Unary(_) | Op::Binary(_) | Op::Where | Op::Cast | Op::Bitcast | Op::Bounded { .. } => op.clone(),
        Op::Reshape | Op::Expand | Op::MatMul => op.clone(),
        Op::Iota { axis } => Op::Iota { axis: at(*axis) },
        Op::Permute(perm) => {
            let Some(Take::Rows(from)) = takes.first() else { return Err(ir.impossible(id, "a permute takes rows")) };
            let outer = perm.iter().enumerate().filter(|(axis, _)| *axis == rows.axis || !rows.has(*axis));
            Op::Permute(outer.map(|(_, axis)| from.renamed(usize::from(*axis)) as u8).collect())
        }
        Op::Slice(axes) => {
            let whole = SliceAxis { start: 0, step: 1, len: n_rows };
            Op::Slice(axes[..rows.axis].iter().copied().chain([whole]).chain(axes[rows.end()..].iter().copied()).collect())
        }
        Op::Pad(axes, fill) => {
            let none = [PadAxis::default()];
            Op::Pad(axes[..rows.axis].iter().copied().chain(none).chain(axes[rows.end()..].iter().copied()).collect(), *fill)
        }
        Op::Concat { axis } => Op::Concat { axis: at(*axis) },
        Op::Window { axis, size, step, dilation } => Op::Window { axis: at(*axis), size: *size, step: *step, dilation: *dilation },
        Op::Reduce(op, mask) => Op::Reduce(*op, renamed_mask(*mask, node.shape.len(), at)),
        Op::ArgReduce(op, axis) => Op::ArgReduce(*op, at(*axis)),
        Op::Scan { op, axis, reverse } => Op::Scan { op: *op, axis: at(*axis), reverse: *reverse },
        Op::Gather { axis } => Op::Gather { axis: at(*axis) },
        Op::Scatter { axis, mode } => Op::Scatter { axis: at(*axis), mode: *mode },
        Op::ArgSort { axis, descending } => Op::ArgSort { axis: at(*axis), descending: *descending },
        Op::TopK { axis, k, largest } => Op::TopK { axis: at(*axis), k: *k, largest: *largest },
        Op::Random { .. } | Op::DynSlice { .. } | Op::DynUpdate { .. } | Op::Kernel(_) | Op::Attention(_) | Op::AttentionGrad(_) => {
            return Err(ir.impossible(id, "it has no rule for rows"));
        }
        Op::MaxPool(_) | Op::Part(_) | Op::Softmax { .. } | Op::LogSoftmax { .. } | Op::Normalize { .. } => {
            return Err(ir.impossible(id, "it has no rule for rows"));
        }
        Op::Buffer | Op::Scalar | Op::Variable(_) | Op::Conv(_) | Op::ConvDataGrad(_) | Op::ConvWeightGrad(_) => {
            return Err(ir.impossible(id, "it has no rule for rows"));
        }
        Op::Barrier | Op::Custom(_) | Op::Composite(_) | Op::Loop(_) | Op::Copy | Op::Commit(_) | Op::Invalid(_) => {
            return Err(ir.impossible(id, "it has no rule for rows"));
        }
    };
    Ok((op.into(), shape))
}

/// The op, and the shape, of a node that [`summed`] has a rule for, over some rows.
pub(super) fn of_sum(ir: &Ir, id: Id, takes: &[Take]) -> Result<(IrOp, Shape), String> {
    let node = ir.node(id);
    match (&node.op, takes.first()) {
        (IrOp::Op(Op::Reduce(op, mask)), Some(Take::Rows(rows))) => {
            let mask = renamed_mask(*mask, node.shape.len(), |axis| rows.renamed(axis)) | 1 << rows.axis;
            Ok((Op::Reduce(*op, mask).into(), rows.shape(&node.shape, 1)))
        }
        (IrOp::Op(Op::MatMul), _) => Ok((Op::MatMul.into(), node.shape.clone())),
        (IrOp::Op(_) | IrOp::External(_) | IrOp::Scalar(_) | IrOp::Barrier(_) | IrOp::Dense, _) => {
            Err(ir.impossible(id, "it is no sum over rows"))
        }
    }
}

fn renamed_mask(mask: u32, rank: usize, renamed: impl Fn(usize) -> usize) -> u32 {
    (0..rank).filter(|axis| mask >> axis & 1 == 1).fold(0, |all, axis| all | 1 << renamed(axis))
}

/// The shape of what is repeated along `rows` of a result of rank `rank`: with one axis of size 1 in their place, as far as it reaches.
pub(super) fn without(from: &[usize], rank: usize, rows: Rows) -> Shape {
    let lead = rank - from.len();
    let end = rows.end().saturating_sub(lead);
    let before = &from[..rows.axis.saturating_sub(lead)];
    let one: &[usize] = if end > 0 { &[1] } else { &[] };
    before.iter().chain(one).chain(&from[end..]).copied().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_found_after_a_reshape() {
        let of = |axis, n_axes, from: &[usize], to: &[usize]| Rows { axis, n_axes }.reshaped(from, to).map(|rows| (rows.axis, rows.n_axes));
        assert_eq!(of(0, 1, &[12, 5], &[3, 4, 5]), Some((0, 2)));
        assert_eq!(of(0, 2, &[3, 4, 5], &[12, 5]), Some((0, 1)));
        assert_eq!(of(0, 1, &[12, 5], &[1, 3, 1, 4, 1, 5]), Some((1, 3)));
        assert_eq!(of(1, 1, &[2, 12, 5], &[2, 1, 12, 5]), Some((2, 1)));
        assert_eq!(of(1, 1, &[2, 12, 5], &[24, 5]), None);
        assert_eq!(of(0, 1, &[12, 5], &[60]), None);
        assert_eq!(of(0, 1, &[12], &[2, 6, 1]), Some((0, 2)));
        assert_eq!(of(0, 1, &[12, 0], &[12, 0]), None);
    }

    #[test]
    fn what_is_repeated_loses_its_place_for_rows() {
        let rows = Rows { axis: 1, n_axes: 2 };
        assert_eq!(without(&[2, 1, 1, 7], 4, rows).as_slice(), [2, 1, 7]);
        assert_eq!(without(&[1, 7], 4, rows).as_slice(), [1, 7]);
        assert_eq!(without(&[7], 4, rows).as_slice(), [7]);
        assert_eq!(without(&[], 4, rows).as_slice(), [0_usize; 0]);
        assert_eq!(without(&[1, 1, 7], 4, rows).as_slice(), [1, 7]);
    }
}
