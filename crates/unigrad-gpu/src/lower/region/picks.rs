//! Sums that pick one point of a row: `sum(where(index along the row == n, x, 0))`, as in the loss of a class. Instead of adding a row of zeros to
//! `x`, each thread makes the sum's one term: it evaluates the row at that point.
//!
//! Always: bit for bit what the sum is, in any order of its additions. Never: where the sum's term may have been overwritten before it is read.

use super::{
    body::{Body, Memo, Point},
    lanes::Lanes,
    passes::Passes,
};
use unigrad_ir::Builder;
use unigrad_kernel::{InstOp, Level, Value};
use unigrad_scalar::{BinaryOp, DType, Literal, ReduceOp};

/// Such a sum, by what makes its term.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Pick {
    /// The axis that is picked along, and the value per row that says where.
    axis: usize,
    at: usize,
    /// The sum's argument.
    term: usize,
    /// Instructions of every point that the term needs.
    cone: Vec<bool>,
    /// Whether the term is made from what the launch overwrites.
    pub(super) is_overwritten: bool,
}

/// By instruction: the sums of a simplified region that pick a point.
pub(super) fn find(body: &Body<'_>) -> Vec<Option<Pick>> {
    (0..body.region.insts.len()).map(|at| pick(body, at).filter(|_| body.live[at])).collect()
}

fn pick(body: &Body<'_>, sum: usize) -> Option<Pick> {
    let region = body.region;
    let op = |value: &Value| &region.insts[value.index()].op;
    let InstOp::Reduce(ReduceOp::Sum, term) = &region.insts[sum].op else { return None };
    let InstOp::Where(condition, _, rest) = op(term) else { return None };
    let InstOp::Const(rest) = op(rest) else { return None };
    let InstOp::Binary(BinaryOp::Eq, a, b) = op(condition) else { return None };
    if !region.insts[sum].dtype.is_float() || *rest != Literal::zero(rest.dtype()) {
        return None;
    }
    let (axis, at) = match (op(a), op(b)) {
        (InstOp::AxisIndex(axis), _) => (*axis as usize, b.index()),
        (_, InstOp::AxisIndex(axis)) => (*axis as usize, a.index()),
        _ => return None,
    };
    // One axis is reduced, so that one point at most has a term.
    let is_row = axis >= region.n_parallel && region.row_len() == region.axes[axis] && region.row_len() > 0;
    if !is_row || body.levels[at] == Level::Full || !region.insts[at].dtype.is_int() {
        return None;
    }
    let mut cone = vec![false; region.insts.len()];
    cone[term.index()] = true;
    let mut is_overwritten = false;
    for inner in (0..=term.index()).rev().filter(|inner| body.levels[*inner] == Level::Full) {
        if cone[inner] {
            region.insts[inner].op.visit_values(|value| cone[value.index()] |= body.levels[value.index()] == Level::Full);
            is_overwritten |= matches!(&region.insts[inner].op, InstOp::Load { arg, index, .. } if body.is_written(*arg, index));
        }
    }
    Some(Pick { axis, at, term: term.index(), cone, is_overwritten })
}

impl Pick {
    /// The sum, where all row values that its term needs are in `memo`; none if they are not.
    pub(super) fn value(&self, b: &mut Builder, body: &Body<'_>, point: &Point, memo: &Memo) -> Option<Lanes> {
        let region = body.region;
        let at = memo.get(self.at)?;
        // Beyond the row's ends any point will do: no index there equals the number, so that its term is zero.
        let last = region.axes[self.axis] as i64 - 1;
        let inside = body.is_within(self.at, (0, last.into()));
        let at = Lanes::map(b, point.shape, &[at], |b, v| {
            if inside {
                return v[0];
            }
            let dtype = b.dtype(v[0]);
            let zero = b.int(dtype, 0);
            let at = b.binary(BinaryOp::Max, v[0], zero);
            if Literal::max_value(dtype).as_i64() as u64 <= last as u64 {
                return at;
            }
            let last = b.int(dtype, last);
            b.binary(BinaryOp::Min, at, last)
        });
        let mut memo = memo.clone();
        for inner in (0..region.insts.len()).filter(|inner| region.insts[*inner].op == InstOp::AxisIndex(self.axis as u32)) {
            let to = body.held(inner);
            memo.put(inner, Lanes::map(b, point.shape, &[&at], |b, v| b.cast(v[0], to)));
        }
        let wide = if region.row_len() < 1 << 31 { DType::U32 } else { DType::U64 };
        let mut point = point.clone();
        point.axes[self.axis] = Lanes::map(b, point.shape, &[&at], |b, v| b.cast(v[0], wide));
        body.evaluate(b, &point, &mut memo, |_, inner| self.cone[inner]);
        let term = memo.get(self.term)?;
        // Zero plus a negative zero is a positive one.
        Some(Lanes::map(b, point.shape, &[term], |b, v| {
            let zero = b.constant(Literal::zero(b.dtype(v[0])));
            b.add(zero, v[0])
        }))
    }
}

/// The picks that a region's walks can go with: those that are read before the last walk overwrites what they are made from.
pub(super) fn settled(body: &Body<'_>, online: bool) -> Passes {
    let mut picks = find(body);
    loop {
        let passes = Passes::new(body, picks, online);
        let is_late = |at: &usize| {
            let late = passes.full_stores && passes.depth[*at] >= passes.len();
            late && passes.picks[*at].as_ref().is_some_and(|pick| pick.is_overwritten)
        };
        let Some(late) = (0..passes.picks.len()).find(is_late) else { return passes };
        picks = passes.picks;
        picks[late] = None;
    }
}
