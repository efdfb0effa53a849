//! What integers a value can be, so that 64-bit index arithmetic becomes 32-bit where it provably may.
//!
//! In: a region. Out: per instruction the least and greatest integer it can be.
//! Always: right for every input; where nothing is known, the dtype's own range.

use unigrad_kernel::{InstOp, Region};
use unigrad_scalar::{BinaryOp, DType, ReduceOp, UnaryOp};

/// Least and greatest.
pub(super) type Range = (i128, i128);

/// All that a dtype can hold; floats have none.
fn of_dtype(dtype: DType) -> Option<Range> {
    if dtype == DType::Bool {
        return Some((0, 1));
    }
    if !dtype.is_int() {
        return None;
    }
    let bits = 8 * dtype.size() as u32;
    Some(if dtype.is_signed_int() { (-(1i128 << (bits - 1)), (1i128 << (bits - 1)) - 1) } else { (0, (1i128 << bits) - 1) })
}

pub(super) fn within(inner: Range, outer: Range) -> bool {
    inner.0 >= outer.0 && inner.1 <= outer.1
}

/// Whether all of a range fits a dtype.
pub(super) fn fits(range: Range, dtype: DType) -> bool {
    of_dtype(dtype).is_some_and(|all| within(range, all))
}

fn hull(values: impl IntoIterator<Item = i128>) -> Range {
    values.into_iter().fold((i128::MAX, i128::MIN), |(low, high), x| (low.min(x), high.max(x)))
}

fn corners((a0, a1): Range, (b0, b1): Range, f: impl Fn(i128, i128) -> i128) -> Range {
    hull([f(a0, b0), f(a0, b1), f(a1, b0), f(a1, b1)])
}

#[allow(clippy::wildcard_enum_match_arm, reason = "an operation without a rule here is like any other")]
fn binary(op: BinaryOp, a: Range, b: Range) -> Option<Range> {
    Some(match op {
        BinaryOp::Add => (a.0 + b.0, a.1 + b.1),
        BinaryOp::Sub => (a.0 - b.1, a.1 - b.0),
        BinaryOp::Mul => corners(a, b, i128::saturating_mul),
        BinaryOp::IDiv if b.0 > 0 => corners(a, b, i128::div_euclid),
        BinaryOp::IDiv => {
            let most = a.0.abs().max(a.1.abs()).max(1);
            (-most, most)
        }
        BinaryOp::Rem if a.0 >= 0 && a.1 < b.0 => a,
        BinaryOp::Rem => ((b.0 + 1).min(0), (b.1 - 1).max(0)),
        BinaryOp::Max => (a.0.max(b.0), a.1.max(b.1)),
        BinaryOp::Min => (a.0.min(b.0), a.1.min(b.1)),
        BinaryOp::And if a.0 >= 0 && b.0 >= 0 => (0, a.1.min(b.1)),
        BinaryOp::And if a.0 >= 0 => (0, a.1),
        BinaryOp::And if b.0 >= 0 => (0, b.1),
        BinaryOp::Or | BinaryOp::Xor if a.0 >= 0 && b.0 >= 0 => (0, (a.1.max(b.1) + 1).max(1) * 2 - 1),
        BinaryOp::Shr => (a.0.min(0), a.1.max(0)),
        _ => return None,
    })
}

#[allow(clippy::wildcard_enum_match_arm, reason = "a function without a rule here is like any other")]
fn unary(op: UnaryOp, a: Range) -> Option<Range> {
    Some(match op {
        UnaryOp::Neg => (-a.1, -a.0),
        UnaryOp::Abs => (if a.0 <= 0 && a.1 >= 0 { 0 } else { a.0.abs().min(a.1.abs()) }, a.0.abs().max(a.1.abs())),
        UnaryOp::Relu => (a.0.max(0), a.1.max(0)),
        UnaryOp::Sign => (a.0.signum(), a.1.signum()),
        UnaryOp::BitNot => (-a.1 - 1, -a.0 - 1),
        UnaryOp::Floor | UnaryOp::Ceil | UnaryOp::Round | UnaryOp::Trunc => a,
        _ => return None,
    })
}

/// The range of every instruction's value; `None` for floats.
pub(super) fn ranges(region: &Region) -> Vec<Option<Range>> {
    let mut ranges: Vec<Option<Range>> = Vec::with_capacity(region.insts.len());
    let row_len = region.row_len() as i128;
    for inst in &region.insts {
        let of = |value: &unigrad_kernel::Value| ranges[value.index()];
        let found = match &inst.op {
            InstOp::Const(literal) if inst.dtype == DType::U64 => {
                Some((i128::from(literal.as_i64() as u64), i128::from(literal.as_i64() as u64)))
            }
            InstOp::Const(literal) if !inst.dtype.is_float() => Some((literal.as_i64().into(), literal.as_i64().into())),
            InstOp::AxisIndex(axis) => Some((0, (region.axes[*axis as usize] as i128 - 1).max(0))),
            InstOp::Bounded { size, .. } => Some((0, (i128::from(*size) - 1).max(0))),
            InstOp::Unary(op, a) if !op.gives_bool() => of(a).and_then(|a| unary(*op, a)),
            InstOp::Binary(op, a, b) if !op.is_comparison() => of(a).zip(of(b)).and_then(|(a, b)| binary(*op, a, b)),
            InstOp::Where(_, a, b) => of(a).zip(of(b)).map(|(a, b)| (a.0.min(b.0), a.1.max(b.1))),
            InstOp::Cast(a) => of(a),
            InstOp::Reduce(ReduceOp::Sum, a) => of(a).map(|a| (a.0.min(0) * row_len, a.1.max(0) * row_len)),
            InstOp::Reduce(ReduceOp::Max | ReduceOp::Min, a) if row_len > 0 => of(a),
            InstOp::ArgReduce(..) => Some((0, (row_len - 1).max(0))),
            InstOp::Const(_)
            | InstOp::Scalar(_)
            | InstOp::Acc
            | InstOp::Load { .. }
            | InstOp::Unary(..)
            | InstOp::Binary(..)
            | InstOp::Bitcast(_)
            | InstOp::Philox { .. }
            | InstOp::Reduce(..)
            | InstOp::Store { .. } => None,
        };
        let all = of_dtype(inst.dtype);
        // What does not fit wraps, and may then be anything.
        ranges.push(all.map(|all| found.filter(|found| within(*found, all)).unwrap_or(all)));
    }
    ranges
}

/// The dtype that holds a value while it is computed: half types as `F32`, 64-bit integers in 32 bits where their range allows.
pub(super) fn held(dtype: DType, range: Option<Range>) -> DType {
    match (dtype, range) {
        (DType::I64, Some(range)) => common(range, range),
        _ => dtype.compute(),
    }
}

/// The cheapest dtype that holds two `I64` values exactly.
pub(super) fn common(a: Range, b: Range) -> DType {
    // Unsigned first: dividing is cheaper.
    [DType::U32, DType::I32].into_iter().find(|d| fits(a, *d) && fits(b, *d)).unwrap_or(DType::I64)
}
