//! Running reductions: all that is known of each stands in one row.
//!
//! In: nothing. Out: [`ScanOp`]: its dtypes, its identity, how two results combine.
//! Always: combining is associative, so a device may cut a line anywhere; a row with a formula works on every device without a word there.

use crate::{BinaryOp, DType, Formula, Literal, Var};
use std::{fmt, sync::OnceLock};

/// How the result so far combines with the next element, or with the result of what follows.
#[derive(Clone, Copy, Debug)]
pub enum Combine {
    /// By an operation that every device has.
    Binary(BinaryOp),
    /// By a formula of two numbers, of floats only.
    Formula(&'static Formula),
}

/// One running reduction.
struct Row {
    name: &'static str,
    /// Of floats; -0 rather than 0, which changes -0.
    identity: f64,
    combine: By,
}

enum By {
    Binary(BinaryOp),
    Formula(for<'f> fn(Var<'f>, Var<'f>) -> Var<'f>),
}

macro_rules! define {
    ($($(#[doc = $doc:literal])* $op:ident $name:literal { identity: $identity:expr, combine: $combine:expr $(,)? })*) => {
        /// Running reductions along an axis, the element itself included.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        pub enum ScanOp { $($(#[doc = $doc])* $op),* }

        impl ScanOp {
            /// Every running reduction.
            pub const ALL: &[ScanOp] = &[$(ScanOp::$op),*];
        }

        static ROWS: [Row; ScanOp::ALL.len()] = [$(Row { name: $name, identity: $identity, combine: $combine }),*];
    };
}
define! {
    /// Sum.
    Sum "cumsum" { identity: -0.0, combine: By::Binary(BinaryOp::Add) }
    /// Product.
    Prod "cumprod" { identity: 1.0, combine: By::Binary(BinaryOp::Mul) }
    /// Maximum; NaN from the first one on.
    Max "cummax" { identity: f64::NEG_INFINITY, combine: By::Binary(BinaryOp::Max) }
    /// Minimum; NaN from the first one on.
    Min "cummin" { identity: f64::INFINITY, combine: By::Binary(BinaryOp::Min) }
    /// Logarithm of the sum of exponentials.
    LogSumExp "logcumsumexp" {
        identity: f64::NEG_INFINITY,
        combine: By::Formula(|a, b| {
            // Infinities of one sign are 0 apart.
            let apart = a.eq(b).select(a.constant(0.0), (a - b).abs());
            a.max(b) + (-apart).exp().log1p()
        }),
    }
}

impl ScanOp {
    fn row(self) -> &'static Row {
        &ROWS[self as usize]
    }

    /// Its name in plans and messages.
    pub fn name(self) -> &'static str {
        self.row().name
    }

    /// Whether it is of floats only, as formulas are.
    pub fn needs_floats(self) -> bool {
        matches!(self.row().combine, By::Formula(_))
    }

    /// Whether combining rounds.
    pub fn rounds(self) -> bool {
        !matches!(self.row().combine, By::Binary(BinaryOp::Max | BinaryOp::Min))
    }

    /// What changes nothing: of integers, the nearest number they have.
    pub fn identity(self, dtype: DType) -> Literal {
        Literal::float(dtype, self.row().identity)
    }

    /// How results combine; `wide` for 64-bit floats.
    pub fn combine(self, wide: bool) -> Combine {
        static FORMULAS: [[OnceLock<Formula>; 2]; ScanOp::ALL.len()] = [const { [const { OnceLock::new() }; 2] }; ScanOp::ALL.len()];
        match self.row().combine {
            By::Binary(op) => Combine::Binary(op),
            By::Formula(make) => {
                let formula = FORMULAS[self as usize][usize::from(wide)].get_or_init(|| Formula::of(|[a, b], _| make(a, b), wide));
                Combine::Formula(formula)
            }
        }
    }

    /// The meaning on floats, in `f64`.
    pub fn eval(self, a: f64, b: f64) -> f64 {
        match self.combine(true) {
            Combine::Binary(op) => op.eval(a, b),
            Combine::Formula(formula) => formula.eval(&[a, b]),
        }
    }
}

impl fmt::Display for ScanOp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn combining_is_associative_and_has_its_identity() {
        let numbers = [-3.5, -1.0, -0.0, 0.0, 0.25, 2.0, 30.0, f64::INFINITY, f64::NEG_INFINITY, f64::NAN];
        let same = |a: f64, b: f64| a == b || a.is_nan() && b.is_nan() || (a - b).abs() <= 1e-14 * a.abs();
        for op in ScanOp::ALL.iter().copied() {
            let identity = op.identity(DType::F64).as_f64();
            for a in numbers {
                assert!(same(op.eval(identity, a), a) && same(op.eval(a, identity), a), "{op} {a}");
                for (b, c) in numbers.iter().flat_map(|b| numbers.iter().map(move |c| (*b, *c))) {
                    let (left, right) = (op.eval(op.eval(a, b), c), op.eval(a, op.eval(b, c)));
                    assert!(same(left, right), "{op} of {a}, {b}, {c}: {left}, {right}");
                }
            }
        }
    }
}
