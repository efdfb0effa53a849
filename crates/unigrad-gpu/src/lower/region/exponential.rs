//! Exponentials that may be one instruction and a product: those at most 1 whose error is lost, since they are terms of a sum that is at least 1, or are
//! rounded to 16 bits before anything else reads them. Softmax and cross-entropy have such: the distance to a row's greatest element, and the logarithm of a
//! probability.
//!
//! In: a region. Out: for each instruction, whether it is such an exponential.
//! Always: the exponent is below 0, or NaN. As `2^(x log2 e)`, rounded as `F32` are, it is then within `(1.25 |x| + 4) 2^-24` of itself, and within 2^-22 of the
//! exponential in all; so that differences of probabilities keep what they have beyond rounding to 16 bits, too.
//! Never: one whose bits are stored as `F32`, compared, or taken a function of.

use unigrad_kernel::{InstOp, Region, Value};
use unigrad_scalar::{BinaryOp, DType, ReduceOp, UnaryOp};

/// By instruction; see the module's text.
pub(super) fn approximate(region: &Region) -> Vec<bool> {
    let is_short = |dtype: DType| dtype.is_float() && dtype.size() == 2;
    let n = region.insts.len();
    // Whether all that reads a value rounds it to 16 bits sooner or later, by sums and products on the way; and, of exponentials, adds it up at once.
    let (mut is_rounded, mut is_term) = (vec![true; n], vec![true; n]);
    let mut is_read = vec![false; n];
    for (at, inst) in region.insts.iter().enumerate().rev() {
        let passes = is_rounded[at] && is_read[at];
        let mut reads = |value: &Value, rounds: bool, adds: bool| {
            is_read[value.index()] = true;
            is_rounded[value.index()] &= rounds;
            is_term[value.index()] &= rounds || adds;
        };
        match &inst.op {
            InstOp::Store { arg, value, .. } => reads(value, is_short(region.args[*arg as usize].dtype), false),
            InstOp::Cast(value) => reads(value, is_short(inst.dtype) || inst.dtype == DType::F32 && passes, false),
            InstOp::Unary(UnaryOp::Neg, value) => reads(value, passes, false),
            InstOp::Binary(BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul, a, b) => {
                [a, b].into_iter().for_each(|value| reads(value, passes, false))
            }
            InstOp::Binary(BinaryOp::Div, a, b) => {
                reads(a, passes, false);
                reads(b, false, false);
            }
            InstOp::Where(condition, a, b) => {
                reads(condition, false, false);
                [a, b].into_iter().for_each(|value| reads(value, passes, false));
            }
            InstOp::Reduce(ReduceOp::Sum, value) => reads(value, false, true),
            op @ (InstOp::Const(_)
            | InstOp::Scalar(_)
            | InstOp::AxisIndex(_)
            | InstOp::Acc
            | InstOp::Load { .. }
            | InstOp::Unary(..)
            | InstOp::Binary(..)
            | InstOp::Bitcast(_)
            | InstOp::Bounded { .. }
            | InstOp::Philox { .. }
            | InstOp::Reduce(..)
            | InstOp::ArgReduce(..)) => op.visit_values(|value| reads(&value, false, false)),
        }
    }
    let is_one = |at: usize| {
        let InstOp::Unary(UnaryOp::Exp, exponent) = region.insts[at].op else { return false };
        let is_weight = distance(region, exponent).is_some();
        region.insts[at].dtype == DType::F32
            && is_read[at]
            && (is_weight && is_term[at] || is_rounded[at] && (is_weight || is_logarithm(region, exponent)))
    };
    (0..n).map(is_one).collect()
}

/// `x`, if a value is `x - max(x)`.
pub(super) fn distance(region: &Region, value: Value) -> Option<Value> {
    let InstOp::Binary(BinaryOp::Sub, x, max) = region.insts[value.index()].op else { return None };
    matches!(region.insts[max.index()].op, InstOp::Reduce(ReduceOp::Max, of) if of == x).then_some(x)
}

/// Whether a value is the logarithm of a probability: `d - log(sum(exp(d)))`.
fn is_logarithm(region: &Region, value: Value) -> bool {
    let op = |value: Value| &region.insts[value.index()].op;
    let InstOp::Binary(BinaryOp::Sub, of, log) = *op(value) else { return false };
    let InstOp::Unary(UnaryOp::Log, sum) = *op(log) else { return false };
    let InstOp::Reduce(ReduceOp::Sum, term) = *op(sum) else { return false };
    matches!(*op(term), InstOp::Unary(UnaryOp::Exp, exponent) if exponent == of) && distance(region, of).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Which exponentials are taken of a region whose rows are `x` and are stored as `stored`, by their numbers.
    fn taken(stored: DType, insts: &str) -> Vec<usize> {
        let text = format!(
            "region \"r\" parallel [8] reduce [64] {{\n    a0: f32[512]\n    a1: mut {stored}[512]\n    a2: mut f32[8]\n    %0 = load f32 a0[64*i0 + i1]\n{insts}}}\n"
        );
        let regions = unigrad_kernel::parse_regions(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
        approximate(&regions[0]).iter().enumerate().filter(|(_, taken)| **taken).map(|(at, _)| at).collect()
    }

    /// Cross-entropy's gradient.
    fn gradient(stored: DType) -> Vec<usize> {
        let insts = "    %1 = max f32 %0
    %2 = sub f32 %0, %1
    %3 = exp f32 %2
    %4 = sum f32 %3
    %5 = log f32 %4
    %6 = sub f32 %2, %5
    %7 = exp f32 %6
    %8 = const f32 0.5
    %9 = mul f32 %7, %8
    %10 = sub f32 %8, %9\n";
        let store = if stored == DType::F32 {
            "    store f32 a1[64*i0 + i1], %10\n"
        } else {
            "    %11 = cast bf16 %10\n    store bf16 a1[64*i0 + i1], %11\n"
        };
        taken(stored, &format!("{insts}{store}    store f32 a2[i0], %5\n"))
    }

    #[test]
    fn a_sum_and_what_is_rounded_take_the_error() {
        assert_eq!(gradient(DType::BF16), [3, 7]);
        assert_eq!(gradient(DType::F32), [3]);
        // A softmax: by quotients.
        let softmax = "    %1 = max f32 %0
    %2 = sub f32 %0, %1
    %3 = exp f32 %2
    %4 = sum f32 %3
    %5 = div f32 %3, %4\n";
        assert_eq!(
            taken(DType::BF16, &format!("{softmax}    %6 = cast bf16 %5\n    store bf16 a1[64*i0 + i1], %6\n    store f32 a2[i0], %4\n")),
            [3]
        );
        assert_eq!(taken(DType::F32, &format!("{softmax}    store f32 a1[64*i0 + i1], %5\n    store f32 a2[i0], %4\n")), [0; 0]);
    }

    #[test]
    fn what_may_be_large_or_is_read_as_it_is_is_exact() {
        let stored = "    store bf16 a1[64*i0 + i1], %9\n";
        // Any exponent.
        assert_eq!(taken(DType::BF16, &format!("    %1 = exp f32 %0\n    %2 = cast bf16 %1\n{}", stored.replace("%9", "%2"))), [0; 0]);
        // The greatest element of another value.
        let other = "    %1 = neg f32 %0\n    %2 = max f32 %1\n    %3 = sub f32 %0, %2\n    %4 = exp f32 %3\n    %5 = sum f32 %4\n    store f32 a2[i0], %5\n";
        assert_eq!(taken(DType::BF16, other), [0; 0]);
        // Divided by, a function of, a product of terms; and nothing that reads it.
        let weight = "    %1 = max f32 %0\n    %2 = sub f32 %0, %1\n    %3 = exp f32 %2\n";
        for more in [
            "    %4 = div f32 %0, %3\n    %5 = cast bf16 %4\n",
            "    %4 = log f32 %3\n    %5 = cast bf16 %4\n",
            "    %4 = gt bool %3, %0\n    %5 = cast bf16 %4\n",
        ] {
            assert_eq!(taken(DType::BF16, &format!("{weight}{more}{}", stored.replace("%9", "%5"))), [0; 0], "{more}");
        }
        assert_eq!(
            taken(DType::BF16, &format!("{weight}    %4 = mul f32 %3, %3\n    %5 = sum f32 %4\n    store f32 a2[i0], %5\n")),
            [0; 0]
        );
        assert_eq!(taken(DType::BF16, &format!("{weight}    %4 = sum f32 %0\n    store f32 a2[i0], %4\n")), [0; 0]);
    }

    #[test]
    fn the_error_is_what_the_text_says() {
        let mut worst = 0.0f64;
        for step in 0..=(1 << 20) {
            let x = -88.0 * f64::from(step) / f64::from(1 << 20);
            let x = x as f32;
            let exponent = x * std::f32::consts::LOG2_E;
            let (got, want) = (f64::from(exponent).exp2(), f64::from(x).exp());
            // Beside what the instruction has, 2 units in the last place.
            let error = ((got - want) / want).abs();
            assert!(error <= 1.25 * f64::from(x.abs()) * 2f64.powi(-24), "{x}: {error:e}");
            worst = worst.max((got - want).abs());
        }
        assert!(worst <= 2f64.powi(-24), "{worst:e}");
    }
}
