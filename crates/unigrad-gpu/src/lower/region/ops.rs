//! What an operation of a region is in the IR: the cases that the IR does not take (truth values as numbers, integers where the operation
//! is for floats, narrowed `I64`) become others that mean the same.

use super::range::{Range, common, held, within};
use unigrad_ir::{Builder, Value};
use unigrad_kernel::Inst;
use unigrad_scalar::{ArgReduceOp, BinaryOp, DType, Literal, ReduceOp, UnaryOp};

/// `op` of a value of region dtype `dtype`, whose range and the result's are given.
#[allow(clippy::wildcard_enum_match_arm, reason = "a function without a rule here is like any other")]
pub(super) fn unary(b: &mut Builder, op: UnaryOp, dtype: DType, a: Value, range: Option<Range>, result: Option<Range>) -> Value {
    if dtype == DType::Bool {
        return match op {
            UnaryOp::Not | UnaryOp::BitNot => b.unary(UnaryOp::Not, a),
            UnaryOp::IsNan => truth(b, false),
            UnaryOp::IsFinite => truth(b, true),
            _ => a,
        };
    }
    if op == UnaryOp::Not {
        let zero = b.constant(Literal::zero(b.dtype(a)));
        return b.binary(BinaryOp::Eq, a, zero);
    }
    if dtype.is_float() {
        return b.unary(op, a);
    }
    match op {
        UnaryOp::IsNan => return truth(b, false),
        UnaryOp::IsFinite => return truth(b, true),
        UnaryOp::Abs | UnaryOp::Relu if dtype.is_unsigned_int() => return a,
        UnaryOp::Sign if dtype.is_unsigned_int() => {
            let one = b.int(dtype, 1);
            return b.binary(BinaryOp::Min, a, one);
        }
        UnaryOp::Neg if dtype.is_unsigned_int() => {
            let zero = b.int(dtype, 0);
            return b.sub(zero, a);
        }
        UnaryOp::Neg | UnaryOp::Abs | UnaryOp::Relu | UnaryOp::Sign | UnaryOp::BitNot => {}
        // Rounding an integer gives it back; nothing else is asked of integers.
        _ => return a,
    }
    let to = held(dtype, result);
    let (Some(range), Some(result), DType::I64) = (range, result, dtype) else { return b.unary(op, a) };
    let wide = match common(range, result) {
        // Signed, since the argument or the result may be negative in between.
        DType::U32 if matches!(op, UnaryOp::Abs | UnaryOp::Relu) => return b.cast(a, to),
        DType::U32 => DType::I64,
        other => other,
    };
    let a = b.cast(a, wide);
    let y = b.unary(op, a);
    b.cast(y, to)
}

fn truth(b: &mut Builder, value: bool) -> Value {
    b.constant(Literal::int(DType::Bool, value.into()))
}

/// `op` of two values of region dtype `dtype`.
#[allow(clippy::wildcard_enum_match_arm, reason = "an operation without a rule here is like any other")]
pub(super) fn binary(
    b: &mut Builder,
    op: BinaryOp,
    dtype: DType,
    [x, y]: [Value; 2],
    ranges: [Option<Range>; 2],
    result: Option<Range>,
) -> Value {
    match (dtype, op) {
        (DType::Bool, op) => bool_binary(b, op, x, y),
        (DType::I64, op) => {
            let (Some(rx), Some(ry)) = (ranges[0], ranges[1]) else { return b.binary(op, x, y) };
            let to = if op.is_comparison() { DType::Bool } else { held(dtype, result) };
            // Sums and products are right modulo 2^32 whatever the arguments were cut to.
            let modular = matches!(op, BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul);
            let by = match op {
                _ if modular => to,
                BinaryOp::Pow | BinaryOp::Shl | BinaryOp::Shr | BinaryOp::Div | BinaryOp::Atan2 => DType::I64,
                _ => common(rx, ry),
            };
            let (x, y) = (b.cast(x, by), b.cast(y, by));
            let z = b.binary(op, x, y);
            if op.is_comparison() { z } else { b.cast(z, to) }
        }
        (_, BinaryOp::Shl | BinaryOp::Shr) if ranges[1].is_some_and(|by| within(by, (0, most_shift(b.dtype(x))))) => {
            // Said so that a compiler sees it too, and leaves the case of shifts that are too long.
            let most = b.int(b.dtype(y), most_shift(b.dtype(x)) as i64);
            let y = if b.as_constant(y).is_some() { y } else { b.binary(BinaryOp::Min, y, most) };
            b.binary(op, x, y)
        }
        _ => b.binary(op, x, y),
    }
}

/// The longest shift that leaves a bit of this dtype.
fn most_shift(dtype: DType) -> i128 {
    8 * dtype.size() as i128 - 1
}

#[allow(clippy::wildcard_enum_match_arm, reason = "an operation without a rule here is like any other")]
fn bool_binary(b: &mut Builder, op: BinaryOp, x: Value, y: Value) -> Value {
    let not = |b: &mut Builder, v| b.unary(UnaryOp::Not, v);
    match op {
        BinaryOp::And | BinaryOp::Mul | BinaryOp::Min => b.binary(BinaryOp::And, x, y),
        BinaryOp::Or | BinaryOp::Add | BinaryOp::Max => b.binary(BinaryOp::Or, x, y),
        BinaryOp::Xor | BinaryOp::Sub | BinaryOp::Ne => b.binary(BinaryOp::Xor, x, y),
        BinaryOp::Eq => {
            let differ = b.binary(BinaryOp::Xor, x, y);
            not(b, differ)
        }
        BinaryOp::Lt => {
            let x = not(b, x);
            b.binary(BinaryOp::And, x, y)
        }
        BinaryOp::Le => {
            let x = not(b, x);
            b.binary(BinaryOp::Or, x, y)
        }
        BinaryOp::Gt => {
            let y = not(b, y);
            b.binary(BinaryOp::And, x, y)
        }
        BinaryOp::Ge => {
            let y = not(b, y);
            b.binary(BinaryOp::Or, x, y)
        }
        // As numbers 0 and 1.
        _ => {
            let (x, y) = (b.cast(x, DType::U32), b.cast(y, DType::U32));
            let z = b.binary(op, x, y);
            b.cast(z, DType::Bool)
        }
    }
}

/// A value of region dtype `from`, as it is held, converted to region dtype `to`, held as `as_`.
#[allow(clippy::wildcard_enum_match_arm, reason = "dtypes come in families")]
pub(super) fn cast(b: &mut Builder, a: Value, from: DType, to: DType, as_: DType) -> Value {
    if from == to {
        return b.cast(a, as_);
    }
    match to {
        DType::F16 | DType::BF16 => {
            let single = b.cast(a, DType::F32);
            let rounded = b.cast(single, to);
            b.cast(rounded, DType::F32)
        }
        // Floats saturate at the range of what they become, not of what holds it.
        to if to.is_int() && from.is_float() => {
            let whole = b.cast(a, to);
            b.cast(whole, as_)
        }
        _ => b.cast(a, as_),
    }
}

/// A held value of region dtype `dtype` in the dtype it is stored as.
pub(super) fn stored(b: &mut Builder, a: Value, from: DType, to: DType) -> Value {
    let value = cast(b, a, from, to, if to.compute() == to { to } else { DType::F32 });
    b.cast(value, to)
}

/// What exponentials are shifted by: the greatest element; any number where all are negative infinity, which has no distance from itself.
fn shift(b: &mut Builder, max: Value) -> Value {
    let (least, zero) = (b.constant(Literal::min_value(b.dtype(max))), b.constant(Literal::zero(b.dtype(max))));
    let none = b.binary(BinaryOp::Eq, max, least);
    b.select(none, zero, max)
}

fn shifted(b: &mut Builder, x: Value, by: Value) -> Value {
    let distance = b.sub(x, by);
    b.unary(UnaryOp::Exp, distance)
}

/// Neighbours combined pairwise until one is left.
fn in_pairs(mut values: Vec<Value>, mut combine: impl FnMut(Value, Value) -> Value) -> Option<Value> {
    while values.len() > 1 {
        values = values.chunks(2).map(|pair| if let [x, y] = pair { combine(*x, *y) } else { pair[0] }).collect();
    }
    values.first().copied()
}

/// A reduction, as threads do it: on one value, or on a value and where it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Fold {
    Reduce(ReduceOp),
    Arg(ArgReduceOp),
    /// The sum of `exp(x - max(x))` along with the greatest `x` so far, by which the sum so far is shifted.
    Exponentials,
}

/// A reduction of a region and the dtypes of what a thread carries along.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Carried {
    pub(super) fold: Fold,
    /// Of the value.
    pub(super) value: DType,
    /// Of the index, with [`Fold::Arg`]; of the sum, with [`Fold::Exponentials`].
    pub(super) index: DType,
}

impl Carried {
    /// What a reduction of values held as `argument` carries; `result` is what the reduction's value is held as.
    #[allow(clippy::wildcard_enum_match_arm, reason = "dtypes come in families")]
    pub(super) fn new(inst: &Inst, fold: Fold, argument: DType, result: DType, index: DType) -> Carried {
        let widened = match (fold, inst.dtype) {
            (Fold::Reduce(_), DType::I64) => result,
            _ => argument,
        };
        // Threads exchange words; wrapping at the end is the same as wrapping all along.
        let value = match widened {
            DType::Bool | DType::U8 | DType::U16 => DType::U32,
            DType::I8 | DType::I16 => DType::I32,
            other => other,
        };
        Carried { fold, value, index }
    }

    /// Dtypes of the parts.
    pub(super) fn parts(&self) -> Vec<DType> {
        match self.fold {
            Fold::Reduce(_) => vec![self.value],
            Fold::Arg(_) => vec![self.value, self.index],
            Fold::Exponentials => vec![self.value, self.value],
        }
    }

    /// Whether it is a sum that rounds.
    pub(super) fn is_float_sum(&self) -> bool {
        self.fold == Fold::Reduce(ReduceOp::Sum) && self.value.is_float()
    }

    /// What to begin with. An index of the greatest number means: no element yet.
    pub(super) fn identity(&self, b: &mut Builder, dtype: DType) -> Vec<Value> {
        // The least and greatest of the region's dtype, as it is carried.
        let bound = |least: bool| {
            let of = if dtype.compute() == self.value || dtype == DType::I64 { self.value } else { dtype };
            let literal = if least { Literal::min_value(of) } else { Literal::max_value(of) };
            literal.cast(self.value)
        };
        let value = match self.fold {
            Fold::Reduce(ReduceOp::Sum) => Literal::zero(self.value),
            Fold::Reduce(ReduceOp::Prod) => Literal::one(self.value),
            Fold::Reduce(ReduceOp::Max) | Fold::Arg(ArgReduceOp::ArgMax) | Fold::Exponentials => bound(true),
            Fold::Reduce(ReduceOp::Min) | Fold::Arg(ArgReduceOp::ArgMin) => bound(false),
        };
        let value = b.constant(value);
        match self.fold {
            Fold::Reduce(_) => vec![value],
            Fold::Arg(_) => vec![value, b.constant(Literal::max_value(self.index))],
            Fold::Exponentials => vec![value, b.constant(Literal::zero(self.value))],
        }
    }

    /// Two partial results in any order.
    pub(super) fn combine(&self, b: &mut Builder, x: &[Value], y: &[Value]) -> Vec<Value> {
        match self.fold {
            Fold::Reduce(_) | Fold::Exponentials => return self.combine_in_order(b, x, y),
            Fold::Arg(_) => {}
        }
        let better = self.beats(b, x[0], y[0]);
        let mut tie = b.binary(BinaryOp::Eq, y[0], x[0]);
        if self.value.is_float() {
            let (nan_x, nan_y) = (b.unary(UnaryOp::IsNan, x[0]), b.unary(UnaryOp::IsNan, y[0]));
            let both = b.and(nan_x, nan_y);
            tie = b.binary(BinaryOp::Or, tie, both);
        }
        let earlier = b.lt(y[1], x[1]);
        let tie = b.and(tie, earlier);
        let take = b.binary(BinaryOp::Or, better, tie);
        vec![b.select(take, y[0], x[0]), b.select(take, y[1], x[1])]
    }

    /// Two partial results, the first of elements that come before the second's. An extreme element that equals what a search began with
    /// is not noticed; but then all are equal, and the first one is what the end result says.
    pub(super) fn combine_in_order(&self, b: &mut Builder, x: &[Value], y: &[Value]) -> Vec<Value> {
        match self.fold {
            Fold::Reduce(op) => return vec![b.combine(op, x[0], y[0])],
            Fold::Exponentials => {
                let max = b.combine(ReduceOp::Max, x[0], y[0]);
                let by = shift(b, max);
                let parts = [x, y].map(|part| {
                    let factor = shifted(b, part[0], by);
                    b.mul(part[1], factor)
                });
                return vec![max, b.add(parts[0], parts[1])];
            }
            Fold::Arg(_) => {}
        }
        let take = self.beats(b, x[0], y[0]);
        vec![b.select(take, y[0], x[0]), b.select(take, y[1], x[1])]
    }

    /// [`Fold::Exponentials`] so far and more elements: they are shifted by the greatest of all, so that the sum so far is shifted once.
    pub(super) fn exponentials(&self, b: &mut Builder, so_far: &[Value], elements: Vec<Value>) -> Vec<Value> {
        let greatest = in_pairs(elements.clone(), |x, y| b.combine(ReduceOp::Max, x, y));
        let max = greatest.map_or(so_far[0], |greatest| b.combine(ReduceOp::Max, so_far[0], greatest));
        let by = shift(b, max);
        let factor = shifted(b, so_far[0], by);
        let sum = b.mul(so_far[1], factor);
        let exponentials: Vec<Value> = elements.into_iter().map(|x| shifted(b, x, by)).collect();
        let more = in_pairs(exponentials, |x, y| b.add(x, y));
        vec![max, more.map_or(sum, |more| b.add(sum, more))]
    }

    /// Whether `y` is more extreme than `x`, which a NaN is unless `x` is one too.
    fn beats(&self, b: &mut Builder, x: Value, y: Value) -> Value {
        let greatest = self.fold == Fold::Arg(ArgReduceOp::ArgMax);
        if !self.value.is_float() {
            return b.binary(if greatest { BinaryOp::Gt } else { BinaryOp::Lt }, y, x);
        }
        let at_most = b.binary(if greatest { BinaryOp::Le } else { BinaryOp::Ge }, y, x);
        let beyond = b.unary(UnaryOp::Not, at_most);
        let nan = b.unary(UnaryOp::IsNan, x);
        let number = b.unary(UnaryOp::Not, nan);
        b.and(beyond, number)
    }

    /// The reduction's value, held as `to`; `dtype` is its region dtype.
    pub(super) fn finish(&self, b: &mut Builder, parts: &[Value], dtype: DType, to: DType) -> Value {
        match self.fold {
            Fold::Reduce(_) if dtype == DType::Bool => b.cast(parts[0], DType::Bool),
            Fold::Reduce(_) => b.cast(parts[0], to),
            Fold::Arg(_) => {
                let none = b.constant(Literal::max_value(self.index));
                let is_none = b.binary(BinaryOp::Eq, parts[1], none);
                let zero = b.int(self.index, 0);
                let index = b.select(is_none, zero, parts[1]);
                b.cast(index, to)
            }
            Fold::Exponentials => {
                // NaN where the greatest is NaN or infinite, which has no distance from itself.
                let none = b.sub(parts[0], parts[0]);
                let sum = b.add(parts[1], none);
                b.cast(sum, to)
            }
        }
    }
}
