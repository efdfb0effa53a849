//! Formulas of scalar functions: expressions of other scalar functions, as data.
//!
//! In: Rust arithmetic on [`Var`]s. Out: a [`Formula`], whose terms come after those they use; a graph, a renderer and a test each read it in
//! their own way.
//! Always: a term stands once however often it is used, and every term but an input is used.
//! Never: loops or depends on values; a choice is a [`Term::Select`] of two terms that are both computed.

use super::UnaryOp;
use crate::{BinaryOp, Literal};
use std::{
    cell::RefCell,
    ops::{Add, Div, Mul, Neg, Sub},
};

/// One step of a formula; numbers are places of earlier terms.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Term {
    /// The argument of this number.
    Input(usize),
    /// A number.
    Constant(f64),
    /// A function of one term.
    Unary(UnaryOp, usize),
    /// A function of two terms; comparisons give a truth value.
    Binary(BinaryOp, usize, usize),
    /// The second term where the first, a truth value, is true; else the third.
    Select(usize, usize, usize),
}

impl Term {
    /// The places of the terms that it uses.
    pub fn uses(&self) -> impl Iterator<Item = usize> {
        let (n, places) = match *self {
            Term::Input(_) | Term::Constant(_) => (0, [0; 3]),
            Term::Unary(_, a) => (1, [a, 0, 0]),
            Term::Binary(_, a, b) => (2, [a, b, 0]),
            Term::Select(a, b, c) => (3, [a, b, c]),
        };
        places.into_iter().take(n)
    }

    /// The same with other places.
    fn moved(self, to: impl Fn(usize) -> usize) -> Term {
        match self {
            Term::Input(_) | Term::Constant(_) => self,
            Term::Unary(op, a) => Term::Unary(op, to(a)),
            Term::Binary(op, a, b) => Term::Binary(op, to(a), to(b)),
            Term::Select(a, b, c) => Term::Select(to(a), to(b), to(c)),
        }
    }
}

/// What a value of another graph is made from; see [`Formula::arguments`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Definition<V> {
    /// A number.
    Constant(Literal),
    /// A function of one value.
    Unary(UnaryOp, V),
    /// A function of two values.
    Binary(BinaryOp, V, V),
    /// The second value where the first one is true, else the third.
    Select(V, V, V),
    /// The same value, held in another way.
    Same(V),
    /// Anything else.
    Other,
}

/// Values that terms have been found to be.
struct Found<'f, V, F> {
    formula: &'f Formula,
    of: &'f F,
    places: Vec<Option<V>>,
}

impl<V: Copy + PartialEq, F: Fn(V) -> Definition<V>> Found<'_, V, F> {
    /// Whether a term is this value. As deep as the formula.
    fn is(&mut self, term: usize, value: V) -> bool {
        if let Some(found) = self.places[term] {
            return found == value || self.below(found) == self.below(value);
        }
        let before = self.places.clone();
        let at = self.below(value);
        let is = match (self.formula.terms[term], (self.of)(at)) {
            (Term::Input(_), _) => true,
            (Term::Constant(wanted), Definition::Constant(number)) => number == Literal::float(number.dtype(), wanted),
            (Term::Unary(wanted, a), Definition::Unary(op, x)) => wanted == op && self.is(a, x),
            (Term::Binary(wanted, a, b), Definition::Binary(op, x, y)) if wanted == op => {
                if self.is(a, x) && self.is(b, y) {
                    true
                } else {
                    self.places.clone_from(&before);
                    op.is_commutative() && self.is(a, y) && self.is(b, x)
                }
            }
            (Term::Select(a, b, c), Definition::Select(x, y, z)) => self.is(a, x) && self.is(b, y) && self.is(c, z),
            (Term::Constant(_) | Term::Unary(..) | Term::Binary(..) | Term::Select(..), _) => false,
        };
        self.places = if is { std::mem::take(&mut self.places) } else { before };
        if is {
            self.places[term] = Some(value);
        }
        is
    }

    /// Below what holds it in another way.
    fn below(&self, value: V) -> V {
        let mut at = value;
        while let Definition::Same(below) = (self.of)(at) {
            at = below;
        }
        at
    }
}

/// A function of a few numbers as a list of terms. The first ones are the inputs, the last one is the result.
///
/// ```
/// use unigrad_scalar::{Formula, Term};
///
/// let square_plus_one = Formula::of(|[x], _| x * x + 1.0, false);
/// assert_eq!(square_plus_one.terms().len(), 4);
/// assert_eq!(square_plus_one.terms()[0], Term::Input(0));
/// assert_eq!(square_plus_one.eval(&[3.0]), 10.0);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Formula {
    n_inputs: usize,
    terms: Vec<Term>,
}

impl Formula {
    /// The formula that `make` writes of its arguments; `wide` says that it is for 64-bit floats, else for 32-bit ones.
    pub fn of<const N: usize>(make: impl for<'f> FnOnce([Var<'f>; N], bool) -> Var<'f>, wide: bool) -> Formula {
        let builder = Builder::default();
        let inputs = std::array::from_fn(|i| builder.add(Term::Input(i)));
        let result = make(inputs, wide).at;
        Formula::used(N, &builder.0.into_inner(), result)
    }

    /// Without the terms that the result does not use, and with the result as the last one.
    fn used(n_inputs: usize, terms: &[Term], result: usize) -> Formula {
        let mut used = vec![false; terms.len()];
        used[..n_inputs].fill(true);
        used[result] = true;
        for at in (n_inputs..=result).rev().filter(|at| terms[*at] != Term::Input(*at)) {
            if used[at] {
                terms[at].uses().for_each(|place| used[place] = true);
            }
        }
        let mut places = vec![0; terms.len()];
        let mut kept: Vec<Term> = Vec::new();
        for at in (0..=result).filter(|at| used[*at]) {
            places[at] = kept.len();
            kept.push(terms[at].moved(|place| places[place]));
        }
        if result < n_inputs {
            // An input itself: something else than the last input has to be the last term.
            kept.push(Term::Unary(UnaryOp::Neg, result));
            kept.push(Term::Unary(UnaryOp::Neg, kept.len() - 1));
        }
        Formula { n_inputs, terms: kept }
    }

    /// How many arguments it has.
    pub fn n_inputs(&self) -> usize {
        self.n_inputs
    }

    /// All terms, each after those that it uses; the result is the last one.
    pub fn terms(&self) -> &[Term] {
        &self.terms
    }

    /// Whether the term at this place is a truth value.
    pub fn is_truth(&self, at: usize) -> bool {
        match self.terms[at] {
            Term::Unary(op, _) => op.gives_bool(),
            Term::Binary(op, a, _) => op.is_comparison() || self.is_truth(a),
            Term::Select(_, yes, _) => self.is_truth(yes),
            Term::Input(_) | Term::Constant(_) => false,
        }
    }

    /// The arguments, of those that the formula uses, with which a value of some other graph is this formula: by what `of` says of a value, step by step.
    /// `None` if it is none, or if an argument would have to be two values. Operands of what commutes may be exchanged; numbers are compared in the dtype that they have there.
    pub fn arguments<V: Copy + PartialEq>(&self, value: V, of: impl Fn(V) -> Definition<V>) -> Option<Vec<Option<V>>> {
        let mut found = Found { formula: self, of: &of, places: vec![None; self.terms.len()] };
        let last = self.terms.len().checked_sub(1)?;
        found.is(last, value).then(|| found.places[..self.n_inputs].to_vec())
    }

    /// Its value in `f64`. Arguments that are missing are NaN.
    pub fn eval(&self, inputs: &[f64]) -> f64 {
        let mut values: Vec<f64> = Vec::with_capacity(self.terms.len());
        for term in &self.terms {
            let value = match *term {
                Term::Input(i) => inputs.get(i).copied().unwrap_or(f64::NAN),
                Term::Constant(value) => value,
                Term::Unary(op, a) => op.eval(values[a]),
                Term::Binary(op, a, b) => op.eval(values[a], values[b]),
                Term::Select(condition, yes, no) => values[if values[condition] != 0.0 { yes } else { no }],
            };
            values.push(value);
        }
        values.last().copied().unwrap_or(f64::NAN)
    }
}

/// Collects terms.
#[derive(Debug, Default)]
struct Builder(RefCell<Vec<Term>>);

impl Builder {
    fn add(&self, term: Term) -> Var<'_> {
        let mut terms = self.0.borrow_mut();
        let same = |other: &Term| match (term, other) {
            // Bit by bit, so that -0 stays apart from 0.
            (Term::Constant(a), Term::Constant(b)) => a.to_bits() == b.to_bits(),
            (a, b) => a == *b,
        };
        let at = terms.iter().position(same).unwrap_or_else(|| {
            terms.push(term);
            terms.len() - 1
        });
        Var { builder: self, at }
    }
}

/// A term of a formula that is being written.
#[derive(Clone, Copy, Debug)]
pub struct Var<'f> {
    builder: &'f Builder,
    at: usize,
}

impl<'f> Var<'f> {
    /// A number.
    pub fn constant(self, value: f64) -> Var<'f> {
        self.builder.add(Term::Constant(value))
    }

    /// A function of it.
    pub fn unary(self, op: UnaryOp) -> Var<'f> {
        self.builder.add(Term::Unary(op, self.at))
    }

    /// A function of it and another one.
    pub fn binary(self, op: BinaryOp, other: impl Into<Arg<'f>>) -> Var<'f> {
        let other = match other.into() {
            Arg::Var(other) => other,
            Arg::Number(value) => self.constant(value),
        };
        self.builder.add(Term::Binary(op, self.at, other.at))
    }

    /// `yes` where it is true, else `no`.
    pub fn select(self, yes: Var<'f>, no: Var<'f>) -> Var<'f> {
        self.builder.add(Term::Select(self.at, yes.at, no.at))
    }

    /// `c[0] + c[1] x + ..`, by Horner's rule.
    pub fn polynomial(self, coefficients: &[f64]) -> Var<'f> {
        let mut rest = coefficients.iter().rev();
        let first = self.constant(rest.next().copied().unwrap_or(0.0));
        rest.fold(first, |sum, c| sum * self + *c)
    }
}

/// What stands on the right of an operation: a term or a number.
#[derive(Clone, Copy, Debug)]
pub enum Arg<'f> {
    /// A term.
    Var(Var<'f>),
    /// A number.
    Number(f64),
}

impl<'f> From<Var<'f>> for Arg<'f> {
    fn from(var: Var<'f>) -> Arg<'f> {
        Arg::Var(var)
    }
}

impl From<f64> for Arg<'_> {
    fn from(value: f64) -> Self {
        Arg::Number(value)
    }
}

macro_rules! functions {
    (unary: $($name:ident = $op:ident),*; binary: $($two:ident = $binary:ident),* $(,)?) => {
        #[allow(missing_docs)]
        impl<'f> Var<'f> {
            $(pub fn $name(self) -> Var<'f> { self.unary(UnaryOp::$op) })*
            $(pub fn $two(self, other: impl Into<Arg<'f>>) -> Var<'f> { self.binary(BinaryOp::$binary, other) })*
        }
    };
}
functions!(
    unary: abs = Abs, sign = Sign, exp = Exp, log = Log, log1p = Log1p, sin = Sin, cos = Cos, tan = Tan, sinh = Sinh, cosh = Cosh,
        tanh = Tanh, sqrt = Sqrt, rsqrt = Rsqrt, recip = Recip, erf = Erf, erfc = Erfc, floor = Floor, round = Round, sigmoid = Sigmoid;
    binary: max = Max, min = Min, eq = Eq, lt = Lt, le = Le, gt = Gt, ge = Ge, and = And, or = Or,
);

macro_rules! operators {
    ($($trait:ident $method:ident),*) => { $(
        impl<'f> $trait for Var<'f> {
            type Output = Var<'f>;
            fn $method(self, other: Var<'f>) -> Var<'f> { self.binary(BinaryOp::$trait, other) }
        }
        impl<'f> $trait<f64> for Var<'f> {
            type Output = Var<'f>;
            fn $method(self, other: f64) -> Var<'f> { self.binary(BinaryOp::$trait, other) }
        }
        impl<'f> $trait<Var<'f>> for f64 {
            type Output = Var<'f>;
            fn $method(self, other: Var<'f>) -> Var<'f> { other.constant(self).binary(BinaryOp::$trait, other) }
        }
    )* };
}
operators!(Add add, Sub sub, Mul mul, Div div);

impl<'f> Neg for Var<'f> {
    type Output = Var<'f>;
    fn neg(self) -> Var<'f> {
        self.unary(UnaryOp::Neg)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terms_stand_once_and_only_if_used() {
        let f = Formula::of(
            |[x, y], _| {
                let _unused = x.sin();
                (x + y) * (x + y)
            },
            false,
        );
        use Term::*;
        assert_eq!(f.terms(), [Input(0), Input(1), Binary(BinaryOp::Add, 0, 1), Binary(BinaryOp::Mul, 2, 2)]);
        assert_eq!(f.eval(&[1.0, 2.0]), 9.0);
    }

    /// A formula as another graph: each value is a term, and every second one is held in another way first.
    #[test]
    fn arguments_are_found_in_other_graphs() {
        let slope = UnaryOp::GeluTanh.slope(false).unwrap();
        let n = slope.terms().len();
        let step = |term: usize, swapped: bool, changed: Option<usize>| match slope.terms()[term] {
            _ if changed == Some(term) => Definition::Other,
            Term::Input(_) => Definition::Other,
            Term::Constant(number) => Definition::Constant(Literal::float(crate::DType::BF16, number)),
            Term::Unary(op, a) => Definition::Unary(op, a + n),
            Term::Binary(op, a, b) if swapped && op.is_commutative() => Definition::Binary(op, b + n, a),
            Term::Binary(op, a, b) => Definition::Binary(op, a, b + n),
            Term::Select(a, b, c) => Definition::Select(a, b, c),
        };
        for swapped in [false, true] {
            let of = |changed| move |value: usize| if value >= n { Definition::Same(value - n) } else { step(value, swapped, changed) };
            let below = |value: Option<usize>| value.map(|value| value % n);
            let found = slope.arguments(2 * n - 1, of(None)).unwrap();
            assert_eq!(found.into_iter().map(below).collect::<Vec<_>>(), [Some(0), None, Some(2)], "{swapped}");
            // One step that is something else, and it is no such formula.
            let inputs = slope.n_inputs();
            for changed in inputs..n {
                assert_eq!(slope.arguments(n - 1, of(Some(changed))), None, "{swapped} {changed}");
            }
        }
        // An argument is one value wherever it is used.
        let square = Formula::of(|[x], _| x * x, false);
        let of = |value: usize| if value == 2 { Definition::Binary(BinaryOp::Mul, 0, 1) } else { Definition::Other };
        assert_eq!((square.arguments(2, of), square.arguments(0, |_: usize| Definition::Other)), (None, None));
    }

    #[test]
    fn an_input_can_be_the_result() {
        let first = Formula::of(|[x, _y]: [Var<'_>; 2], _| x, false);
        assert_eq!(first.eval(&[1.5, 2.5]), 1.5);
        assert_eq!(Formula::of(|[x], _| x, false).eval(&[-0.0]).to_bits(), (-0.0f64).to_bits());
    }

    #[test]
    fn choices_and_polynomials() {
        let f = Formula::of(|[x], wide| x.lt(0.0).select(-x, x.polynomial(if wide { &[1.0, 2.0, 3.0] } else { &[1.0] })), true);
        assert_eq!(f.eval(&[2.0]), 17.0);
        assert_eq!(f.eval(&[-2.0]), 2.0);
        let truth = f.terms().iter().position(|term| matches!(term, Term::Binary(BinaryOp::Lt, ..)));
        assert!(truth.is_some_and(|at| f.is_truth(at)) && !f.is_truth(0));
    }
}
