//! Prologues that put zeros around a tensor, and between its elements: what a convolution's padding and the stride of its gradient are.
//!
//! In: an operand's prologue. Out: how the operand's axes run through the one buffer that it reads, and where its zeros are.
//! Always: by what the map's instructions say, one masked load under conditions on single axes. Never: a guess; any other map is none.

use smallvec::SmallVec;
use unigrad_kernel::{Inst, InstOp, Region, Value};
use unigrad_scalar::{BinaryOp, DType};

/// An operand of which some axes have zeros.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Zeros {
    /// The dtype that lies in memory, which is the operand's.
    pub(super) dtype: DType,
    /// Outermost first, none of one element.
    pub(super) axes: SmallVec<[Axis; 6]>,
    /// Where in the buffer the element lies that is the first along every axis.
    pub(super) offset: i64,
}

/// An axis of the operand, which is dense and row-major.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Axis {
    /// Elements of the operand.
    pub(super) size: i64,
    /// From one element of the operand to the next.
    pub(super) dense: i64,
    /// From one element of the buffer to the next.
    pub(super) stride: i64,
    /// The zeros, if it may have some.
    pub(super) zeros: Option<Between>,
}

/// Where along an axis the buffer's elements are: `lo`, `lo + step`, …, `count` of them.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Between {
    pub(super) lo: i64,
    pub(super) step: i64,
    pub(super) count: i64,
}

/// What is known of the place along an axis that the mask looks at.
#[derive(Clone, Copy, Default)]
struct Found {
    /// The place in the buffer is `(index - lo) / step`.
    lo: Option<i64>,
    step: Option<i64>,
    /// Whether places between the steps are masked out.
    is_on_step: bool,
    from_zero: bool,
    end: Option<i64>,
}

/// `(axis - lo) / step`.
#[derive(Clone, Copy)]
struct Position {
    axis: usize,
    lo: i64,
    step: i64,
}

/// The prologue as a tensor with zeros, if it is one.
pub(super) fn zeros(prologue: &Region) -> Option<Zeros> {
    let [source, target] = prologue.args.as_slice() else { return None };
    let stored = prologue.only_stored()?;
    let InstOp::Load { arg: 0, index, mask: Some(mask) } = &prologue.insts[stored.index()].op else { return None };
    if source.dtype != target.dtype || prologue.n_parallel != prologue.axes.len() || !prologue.scalars.is_empty() {
        return None;
    }
    let map = Map { insts: &prologue.insts };
    let mut found: SmallVec<[Found; 6]> = SmallVec::from_elem(Found::default(), prologue.axes.len());
    map.conditions(*mask, &mut found)?;
    let mut strides: SmallVec<[i64; 6]> = index.strides.clone();
    let mut offset = index.offset;
    for (value, stride) in &index.dynamic {
        let at = map.position(*value)?;
        // One way to read each axis.
        if at.step == 1 || strides.get(at.axis) != Some(&0) || found[at.axis].lo.is_some_and(|lo| lo != at.lo) {
            return None;
        }
        let found = &mut found[at.axis];
        if found.step != Some(at.step) || !found.is_on_step {
            return None;
        }
        found.lo = Some(at.lo);
        strides[at.axis] = *stride;
    }
    let mut axes = SmallVec::new();
    let mut dense = 1i64;
    for ((size, stride), found) in prologue.axes.iter().zip(&strides).zip(&found).rev() {
        let size = i64::try_from(*size).ok()?;
        let zeros = match (found.lo, found.step) {
            (None, None) => None,
            (Some(lo), step) => {
                let step = step.unwrap_or(1); // DEFAULT: no condition and no index divides this axis
                if step > 1 && !found.is_on_step {
                    return None;
                }
                // In an index by strides the elements before the first one are in the offset.
                if step == 1 {
                    offset = offset.checked_add(stride.checked_mul(lo)?)?;
                }
                if lo < 0 || (lo > 0 && !found.from_zero) {
                    return None;
                }
                let reach = (size - 1 - lo).checked_div_euclid(step)? + 1;
                Some(Between { lo, step, count: found.end.map_or(reach, |end| end.min(reach)) })
            }
            (None, Some(_)) => return None,
        };
        if zeros.is_some_and(|zeros| zeros.count < 1) || *stride < 0 {
            return None;
        }
        if size != 1 {
            axes.push(Axis { size, dense, stride: *stride, zeros });
        } else if zeros.is_some_and(|zeros| zeros.lo != 0) {
            return None;
        }
        dense = dense.checked_mul(size)?;
    }
    axes.reverse();
    Some(Zeros { dtype: source.dtype, axes, offset })
}

/// The instructions of a prologue.
struct Map<'a> {
    insts: &'a [Inst],
}

impl Map<'_> {
    fn op(&self, value: Value) -> &InstOp {
        &self.insts[value.index()].op
    }

    fn number(&self, value: Value) -> Option<i64> {
        match self.op(value) {
            InstOp::Const(literal) if literal.dtype() == DType::I64 => Some(literal.to_raw() as i64),
            InstOp::Const(_) | InstOp::Scalar(_) | InstOp::AxisIndex(_) | InstOp::Acc | InstOp::Load { .. } => None,
            InstOp::Unary(..) | InstOp::Binary(..) | InstOp::Where(..) | InstOp::Cast(_) | InstOp::Bitcast(_) => None,
            InstOp::Bounded { .. } | InstOp::Philox { .. } | InstOp::Reduce(..) | InstOp::ArgReduce(..) | InstOp::Store { .. } => None,
        }
    }

    /// An index along an axis, less a number, divided by another one.
    fn position(&self, value: Value) -> Option<Position> {
        if let InstOp::Binary(BinaryOp::IDiv, at, by) = self.op(value) {
            let (at, step) = (self.shifted(*at)?, self.number(*by).filter(|step| *step > 1)?);
            return Some(Position { step, ..at });
        }
        self.shifted(value)
    }

    fn shifted(&self, value: Value) -> Option<Position> {
        if let InstOp::AxisIndex(axis) = self.op(value) {
            return Some(Position { axis: *axis as usize, lo: 0, step: 1 });
        }
        let InstOp::Binary(BinaryOp::Add, a, b) = self.op(value) else { return None };
        let (at, number) = match (self.number(*a), self.number(*b)) {
            (None, Some(number)) => (*a, number),
            (Some(number), None) => (*b, number),
            _ => return None,
        };
        let InstOp::AxisIndex(axis) = self.op(at) else { return None };
        Some(Position { axis: *axis as usize, lo: number.checked_neg()?, step: 1 })
    }

    /// Takes a mask apart: conditions that all hold.
    fn conditions(&self, mask: Value, found: &mut [Found]) -> Option<()> {
        let mut stack: SmallVec<[Value; 8]> = SmallVec::from_slice(&[mask]);
        while let Some(value) = stack.pop() {
            let InstOp::Binary(op, a, b) = self.op(value) else { return None };
            match op {
                BinaryOp::And => stack.extend([*a, *b]),
                BinaryOp::Ge if self.number(*b) == Some(0) => self.at(*a, found)?.from_zero = true,
                BinaryOp::Lt => {
                    let end = self.number(*b)?;
                    self.at(*a, found)?.end = Some(end);
                }
                BinaryOp::Eq if self.number(*b) == Some(0) => {
                    let InstOp::Binary(BinaryOp::Rem, at, by) = self.op(*a) else { return None };
                    let (at, by) = (self.shifted(*at)?, self.number(*by)?);
                    let found = found.get_mut(at.axis)?;
                    let same = found.step.is_none_or(|step| step == by) && found.lo.is_none_or(|lo| lo == at.lo);
                    (found.step, found.lo, found.is_on_step) = (Some(by), Some(at.lo), true);
                    same.then_some(())?;
                }
                BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul | BinaryOp::Div | BinaryOp::IDiv | BinaryOp::Rem | BinaryOp::Pow => {
                    return None;
                }
                BinaryOp::Max | BinaryOp::Min | BinaryOp::Atan2 | BinaryOp::Or | BinaryOp::Xor | BinaryOp::Shl | BinaryOp::Shr => {
                    return None;
                }
                BinaryOp::Eq | BinaryOp::Ne | BinaryOp::Le | BinaryOp::Gt | BinaryOp::Ge => return None,
            }
        }
        Some(())
    }

    /// The axis that a condition is about.
    fn at<'f>(&self, value: Value, found: &'f mut [Found]) -> Option<&'f mut Found> {
        let at = self.position(value)?;
        let found = found.get_mut(at.axis)?;
        if found.lo.is_some_and(|lo| lo != at.lo) || (at.step > 1 && found.step.is_some_and(|step| step != at.step)) {
            return None;
        }
        found.lo = Some(at.lo);
        if at.step > 1 {
            found.step = Some(at.step);
        }
        Some(found)
    }
}
