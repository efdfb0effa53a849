//! A running result in a thread's variables; a long sum of floats with what its additions round away, so that its error does not grow
//! with its length.
//!
//! Always: an infinite or NaN sum stays what plain addition makes it. A compiler that reorders additions takes the gain away, nothing else.

use unigrad_ir::{Builder, Place, Value};
use unigrad_scalar::{BinaryOp, Literal, UnaryOp};

/// Additions in a row from which on a sum keeps what it loses: a documented bound of sums allows twice as many.
pub(super) const LONG: usize = 64;

/// See the module's text.
#[derive(Clone, Copy, Debug)]
pub(super) struct Running {
    sum: Place,
    lost: Option<Place>,
}

impl Running {
    /// Begins with `first`. With `exact` it is a sum of floats.
    pub(super) fn new(b: &mut Builder, name: &str, first: Value, exact: bool) -> Running {
        let sum = b.variable(name, first);
        let lost = exact.then(|| {
            let none = b.constant(Literal::zero(b.dtype(first)));
            b.variable(&format!("{name}_lost"), none)
        });
        Running { sum, lost }
    }

    /// As it stands, without what it lost.
    pub(super) fn sum(self, b: &mut Builder) -> Value {
        b.get(self.sum)
    }

    /// Goes on to `next`, which is the sum so far and `x` combined; for an exact sum, added.
    pub(super) fn set(self, b: &mut Builder, next: Value, x: Value) {
        if let Some(place) = self.lost {
            // Knuth's two-sum.
            let (sum, lost) = (b.get(self.sum), b.get(place));
            let part = b.sub(next, sum);
            let rest = b.sub(next, part);
            let (of_sum, of_x) = (b.sub(sum, rest), b.sub(x, part));
            let error = b.add(of_sum, of_x);
            let lost = b.add(lost, error);
            b.set(place, lost);
        }
        b.set(self.sum, next);
    }

    /// The result.
    pub(super) fn value(self, b: &mut Builder) -> Value {
        let sum = b.get(self.sum);
        let Some(lost) = self.lost else { return sum };
        let lost = b.get(lost);
        let none = b.constant(Literal::zero(b.dtype(lost)));
        let size = b.unary(UnaryOp::Abs, lost);
        // Not where it is NaN, since infinities lose that.
        let any = b.lt(none, size);
        let both = b.binary(BinaryOp::Add, sum, lost);
        b.select(any, both, sum)
    }
}
