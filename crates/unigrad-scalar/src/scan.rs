//! Running reductions, and reductions by a formula: all that is known of each stands in one row.
//!
//! In: nothing. Out: [`ScanOp`]: its dtypes, its identity, how two results combine, what its gradient is made of.
//! Always: combining is associative, so a device may cut a line anywhere; a row with a formula works on every device without a word there. The last
//! running result of a line is the reduction of the line.

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

/// What a gradient is made of.
#[derive(Clone, Copy, Debug)]
pub enum ScanGradient {
    /// All elements count alike.
    Sum,
    /// The product of all others.
    Product,
    /// `exp(x - y)`, with sums by logarithms, for neither factor is small.
    LogSumExp,
    /// The element that is the result.
    Extreme,
    /// By the formula s: where results change by s(x) / s(y), and by 0 where s(y) is 0.
    Slope(&'static Formula),
}

/// One running reduction.
struct Row {
    name: &'static str,
    /// Of floats; -0 rather than 0, which changes -0.
    identity: f64,
    combine: By,
    /// What becomes of an element before it is combined.
    prepare: Option<OfOne>,
    gradient: Grad,
}

type OfOne = for<'f> fn(Var<'f>) -> Var<'f>;

enum By {
    Binary(BinaryOp),
    Formula(for<'f> fn(Var<'f>, Var<'f>) -> Var<'f>),
}

enum Grad {
    Sum,
    Product,
    LogSumExp,
    Extreme,
    /// g', where the result is the number whose g is the sum of the elements' g.
    Slope(OfOne),
}

macro_rules! define {
    ($($(#[doc = $doc:literal])* $op:ident $name:literal {
        identity: $identity:expr, $(prepare: $prepare:expr,)? combine: $combine:expr, gradient: $gradient:expr $(,)?
    })*) => {
        /// Running reductions along an axis, the element itself included.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        pub enum ScanOp { $($(#[doc = $doc])* $op),* }

        impl ScanOp {
            /// Every running reduction.
            pub const ALL: &[ScanOp] = &[$(ScanOp::$op),*];
        }

        static ROWS: [Row; ScanOp::ALL.len()] =
            [$(Row { name: $name, identity: $identity, combine: $combine, prepare: define!(@maybe $($prepare)?), gradient: $gradient }),*];
    };
    (@maybe) => { None };
    (@maybe $value:expr) => { Some($value) };
}
define! {
    /// Sum.
    Sum "cumsum" { identity: -0.0, combine: By::Binary(BinaryOp::Add), gradient: Grad::Sum }
    /// Product.
    Prod "cumprod" { identity: 1.0, combine: By::Binary(BinaryOp::Mul), gradient: Grad::Product }
    /// Maximum; NaN from the first one on.
    Max "cummax" { identity: f64::NEG_INFINITY, combine: By::Binary(BinaryOp::Max), gradient: Grad::Extreme }
    /// Minimum; NaN from the first one on.
    Min "cummin" { identity: f64::INFINITY, combine: By::Binary(BinaryOp::Min), gradient: Grad::Extreme }
    /// Logarithm of the sum of exponentials.
    LogSumExp "logcumsumexp" {
        identity: f64::NEG_INFINITY,
        combine: By::Formula(|a, b| {
            // Infinities of one sign are 0 apart.
            let apart = a.eq(b).select(a.constant(0.0), (a - b).abs());
            a.max(b) + (-apart).exp().log1p()
        }),
        gradient: Grad::LogSumExp,
    }
    /// The root of the sum of squares, of numbers without sign, which neither overflows nor underflows on the way.
    Hypot "nrm2" {
        identity: 0.0,
        prepare: |x| x.abs(),
        combine: By::Formula(|a, b| {
            let (more, less) = (a.max(b), a.min(b));
            let ratio = less / more;
            // Two zeros, and two infinities, have no ratio.
            more * a.eq(b).select(a.constant(std::f64::consts::SQRT_2), (ratio * ratio + 1.0).sqrt())
        }),
        gradient: Grad::Slope(|x| x),
    }
}

/// A formula of each row, for 32-bit floats and for 64-bit ones.
struct Formulas([[OnceLock<Formula>; 2]; ScanOp::ALL.len()]);

impl Formulas {
    const fn new() -> Formulas {
        Formulas([const { [const { OnceLock::new() }; 2] }; ScanOp::ALL.len()])
    }

    fn get(&'static self, op: ScanOp, wide: bool, make: impl FnOnce() -> Formula) -> &'static Formula {
        self.0[op as usize][usize::from(wide)].get_or_init(make)
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
        static FORMULAS: Formulas = Formulas::new();
        match self.row().combine {
            By::Binary(op) => Combine::Binary(op),
            By::Formula(make) => Combine::Formula(FORMULAS.get(self, wide, || Formula::of(|[a, b], _| make(a, b), wide))),
        }
    }

    /// What becomes of an element of a reduction before it is combined, if anything does: combining wants such numbers.
    pub fn prepare(self, wide: bool) -> Option<&'static Formula> {
        static FORMULAS: Formulas = Formulas::new();
        let make = self.row().prepare?;
        Some(FORMULAS.get(self, wide, || Formula::of(|[x], _| make(x), wide)))
    }

    /// What the gradient is made of.
    pub fn gradient(self, wide: bool) -> ScanGradient {
        static FORMULAS: Formulas = Formulas::new();
        match self.row().gradient {
            Grad::Sum => ScanGradient::Sum,
            Grad::Product => ScanGradient::Product,
            Grad::LogSumExp => ScanGradient::LogSumExp,
            Grad::Extreme => ScanGradient::Extreme,
            Grad::Slope(make) => ScanGradient::Slope(FORMULAS.get(self, wide, || Formula::of(|[x], _| make(x), wide))),
        }
    }

    /// The meaning on floats, in `f64`.
    pub fn eval(self, a: f64, b: f64) -> f64 {
        match self.combine(true) {
            Combine::Binary(op) => op.eval(a, b),
            Combine::Formula(formula) => formula.eval(&[a, b]),
        }
    }

    /// An element as it is combined.
    pub fn prepared(self, x: f64) -> f64 {
        self.prepare(true).map_or(x, |formula| formula.eval(&[x]))
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
            let numbers = numbers.map(|x| op.prepared(x));
            for a in numbers {
                assert!(same(op.eval(identity, a), a) && same(op.eval(a, identity), a), "{op} {a}");
                for (b, c) in numbers.iter().flat_map(|b| numbers.iter().map(move |c| (*b, *c))) {
                    let (left, right) = (op.eval(op.eval(a, b), c), op.eval(a, op.eval(b, c)));
                    assert!(same(left, right), "{op} of {a}, {b}, {c}: {left}, {right}");
                }
            }
        }
    }

    #[test]
    fn slopes_are_those_of_combining() {
        for op in ScanOp::ALL.iter().copied() {
            let ScanGradient::Slope(slope) = op.gradient(true) else { continue };
            for (a, b) in [(0.5, 2.0), (3.0, 0.25), (1.0, 1.0), (0.0, 2.0)] {
                let y = op.eval(a, b);
                let share = slope.eval(&[a]) / slope.eval(&[y]);
                let h = 1e-6;
                let difference = (op.eval(op.prepared(a + h), b) - op.eval(op.prepared(a - h), b)) / (2.0 * h);
                assert!((share - difference).abs() < 1e-8, "{op} at {a}, {b}: {share}, by differences {difference}");
            }
        }
    }
}
