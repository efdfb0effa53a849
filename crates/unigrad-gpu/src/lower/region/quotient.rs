//! Several numbers divided by one: its reciprocal once, then products, which cost a fraction of what divisions do.
//!
//! In: `F32` numbers, one divisor. Out: quotients, rounded as divisions are wherever the fused product is one (Markstein, IBM J. Res. Dev. 34, 1990,
//! theorem 8), but for those of numbers below 2^-100 and those at either end of the range, which may be one unit off.
//! Always: infinities, zeros and NaN give what a division gives.

use super::lanes::{Lanes, Shape};
use unigrad_ir::{Builder, Value};
use unigrad_kernel::{InstOp, Region};
use unigrad_scalar::{BinaryOp, DType, UnaryOp};

/// Beyond these the reciprocal would be infinite, or lose bits; such divisors are scaled, and what they divide too.
const SMALL: f64 = 1.0 / (1u128 << 100) as f64;
const LARGE: f64 = (1u128 << 126) as f64;
const SCALE: f64 = (1u128 << 64) as f64;

/// By instruction: whether its result is only ever stored in 16 bits, which an error in the last bit of an `F32` does not reach.
pub(super) fn rounded(region: &Region) -> Vec<bool> {
    let is_short = |dtype: DType| dtype.is_float() && dtype.size() == 2;
    let mut rounded: Vec<bool> = vec![true; region.insts.len()];
    for inst in &region.insts {
        match &inst.op {
            InstOp::Store { arg, value, .. } => rounded[value.index()] &= is_short(region.args[*arg as usize].dtype),
            InstOp::Cast(value) => rounded[value.index()] &= is_short(inst.dtype),
            op @ (InstOp::Const(_)
            | InstOp::Scalar(_)
            | InstOp::AxisIndex(_)
            | InstOp::Acc
            | InstOp::Load { .. }
            | InstOp::Unary(..)
            | InstOp::Binary(..)
            | InstOp::Where(..)
            | InstOp::Bitcast(_)
            | InstOp::Bounded { .. }
            | InstOp::Philox { .. }
            | InstOp::Reduce(..)
            | InstOp::ArgReduce(..)) => op.visit_values(|value| rounded[value.index()] = false),
        }
    }
    rounded
}

/// `x / y` at every point.
pub(super) fn by_one(b: &mut Builder, shape: Shape, x: &Lanes, y: Value, exact: bool) -> Lanes {
    let [small, large, up, down, one, zero] = [SMALL, LARGE, SCALE, 1.0 / SCALE, 1.0, 0.0].map(|number| b.float(DType::F32, number));
    let size = b.unary(UnaryOp::Abs, y);
    let (is_small, is_large) = (b.binary(BinaryOp::Lt, size, small), b.binary(BinaryOp::Gt, size, large));
    let scale = b.select(is_large, down, one);
    let scale = b.select(is_small, up, scale);
    let y = b.mul(y, scale);
    let reciprocal = b.binary(BinaryOp::Div, one, y);
    Lanes::map(b, shape, &[x], |b, x| {
        let x = b.mul(x[0], scale);
        let first = b.mul(x, reciprocal);
        if !exact {
            return first;
        }
        let minus = b.unary(UnaryOp::Neg, first);
        let rest = b.fma(minus, y, x);
        let better = b.fma(rest, reciprocal, first);
        // Where infinities meet zeros this is NaN, and of zeros it loses the sign: then the first is right.
        let size = b.unary(UnaryOp::Abs, better);
        let is_better = b.binary(BinaryOp::Gt, size, zero);
        b.select(is_better, better, first)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the program above computes, with the host's arithmetic.
    fn host(x: f32, y: f32) -> f32 {
        let scale = if f64::from(y.abs()) < SMALL {
            SCALE as f32
        } else if f64::from(y.abs()) > LARGE {
            (1.0 / SCALE) as f32
        } else {
            1.0
        };
        let (x, y) = (x * scale, y * scale);
        let reciprocal = 1.0 / y;
        let first = x * reciprocal;
        let better = (-first).mul_add(y, x).mul_add(reciprocal, first);
        if better.abs() > 0.0 { better } else { first }
    }

    #[test]
    fn quotients_are_those_of_division() {
        let ends = [0.0, 1.0, 3.0, 1e-45, 1e-38, 1e-31, 1e-20, 7.3e19, 1e37, 3.4e38, f32::INFINITY, f32::NAN];
        let mut state = 1u64;
        let mut random = move || {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            // Of all exponents.
            f32::from_bits((state >> 32) as u32)
        };
        let pairs = ends.iter().flat_map(|x| ends.iter().flat_map(move |y| [(*x, *y), (-*x, *y), (*x, -*y), (-*x, -*y)]));
        let pairs: Vec<(f32, f32)> = pairs.chain((0..1_000_000).map(|_| (random(), random()))).collect();
        for (x, y) in pairs {
            let (wanted, got) = (x / y, host(x, y));
            if wanted.is_nan() {
                assert!(got.is_nan(), "{x:e} / {y:e}: {got:e} for NaN");
                continue;
            }
            let units = i64::from(wanted.to_bits() as i32) - i64::from(got.to_bits() as i32);
            let at_end = wanted.abs() < 2.0 * f32::MIN_POSITIVE || wanted.abs() >= f32::MAX / 2.0;
            let most = i64::from(at_end || f64::from(x.abs()) < SMALL);
            assert!(units.abs() <= most, "{x:e} / {y:e}: {got:e} for {wanted:e}");
        }
    }
}
