//! Symbolic sizes: named dimensions, axes that are made of them, and what a node's axes are called.
//!
//! In: a name with bounds and a divisor; tensors whose axes the user has named. Out: for every node, which of its axes have a name, so that a
//! plan is made for a *bucket* of sizes instead of one size.
//! The graph stays exact: a node's shape is the current one, its gradient is recorded with it, and every number in the graph is right. A name is
//! no part of what a value means: it says that this axis may be longer in memory than it is (up to its bucket), and that a plan may not depend
//! on the current size. So a name that is lost on the way costs a plan per size, never a wrong number.
//! Types of one bucket share their number ([`crate::TensorType::number`]), and so their plans; the current sizes are run-time scalars of a
//! capture. The planner lays the graph out in memory and masks the padding where an op would see it (`unigrad-plan/src/physical`).
//! Always: an axis of a name has the same factors in all inputs that share it. What has no rule is an invalid node.
//! Never: guesses that an axis has a name because its size fits.

mod follow;
mod infer;
mod named;
mod parts;
mod sum;

use crate::{Error, ErrorKind, Shape};
use smallvec::SmallVec;
use std::{
    hash::{Hash, Hasher},
    ops::RangeInclusive,
    sync::Arc,
};
use unigrad_scalar::Origin;

pub use follow::factors;
pub(crate) use infer::infer;
pub(crate) use named::{FIXED, Problem, general_op, node};
pub use sum::Sum;

/// A named dimension: sizes from a least to a greatest one, all multiples of a divisor. Two with equal content are one dimension.
///
/// A tensor's axis gets the name by `Tensor::with_dim`; what is computed from it then has a plan for each bucket of sizes, not for each size. Sizes that follow
/// from it (`x.i(..-1)`, a pad, a concatenation, every second element) are [`Sum`]s. `docs/named-axes.md` shows how programs use it.
///
/// ```
/// use unigrad_graph::Dim;
///
/// let time = Dim::named("time", 1..=1024)?;
/// assert_eq!([1, 2, 3, 100, 1000].map(|size| time.bucket(size)), [1, 2, 4, 128, 1024]);
/// let even = Dim::named("width", 2..=100)?.divisible_by(2)?.first_bucket(16);
/// assert_eq!([2, 18, 66, 100].map(|size| even.bucket(size)), [16, 32, 100, 100]);
/// # Ok::<(), unigrad_graph::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Dim(Arc<Content>);

#[derive(Debug, PartialEq, Eq, Hash, Clone)]
struct Content {
    name: String,
    least: usize,
    most: usize,
    divisor: usize,
    first: usize,
}

impl PartialEq for Dim {
    fn eq(&self, other: &Dim) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || self.0 == other.0
    }
}

impl Eq for Dim {}

impl Hash for Dim {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.hash(state);
    }
}

#[track_caller]
fn argument(message: String, help: &str) -> Error {
    Error { kind: ErrorKind::Argument, op: "dim".into(), message, help: help.into(), origin: Origin::current(), inputs: Vec::new() }
}

impl Dim {
    /// A dimension with sizes within these bounds, both included. An error if there is none, or if 0 is one.
    #[track_caller]
    pub fn named(name: &str, sizes: RangeInclusive<usize>) -> Result<Dim, Error> {
        let (least, most) = (*sizes.start(), *sizes.end());
        if least == 0 || least > most || most > 1 << 40 {
            let message = format!("the dimension `{name}` has sizes {least}..={most}");
            return Err(argument(message, "name a least size of at least 1 and a greatest one that is not below it"));
        }
        Ok(Dim(Arc::new(Content { name: name.to_owned(), least, most, divisor: 1, first: 1 })))
    }

    /// With sizes that are multiples of `divisor` alone. An error if the bounds are not.
    #[track_caller]
    pub fn divisible_by(&self, divisor: usize) -> Result<Dim, Error> {
        if divisor == 0 || !self.0.least.is_multiple_of(divisor) || !self.0.most.is_multiple_of(divisor) {
            let message = format!("the bounds {}..={} of `{}` are no multiples of {divisor}", self.0.least, self.0.most, self.0.name);
            return Err(argument(message, "bounds are multiples of the divisor, which is at least 1"));
        }
        Ok(Dim(Arc::new(Content { divisor, ..Content::clone(&self.0) })))
    }

    /// With no bucket below this size: fewer plans, for more padding of small sizes.
    pub fn first_bucket(&self, size: usize) -> Dim {
        Dim(Arc::new(Content { first: size.clamp(1, self.0.most), ..Content::clone(&self.0) }))
    }

    /// The name.
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// The least and the greatest size.
    pub fn bounds(&self) -> RangeInclusive<usize> {
        self.0.least..=self.0.most
    }

    /// What every size is a multiple of.
    pub fn divisor(&self) -> usize {
        self.0.divisor
    }

    /// Whether an axis of this size can have the name.
    pub fn allows(&self, size: usize) -> bool {
        self.bounds().contains(&size) && size.is_multiple_of(self.0.divisor)
    }

    /// The size in memory of an axis of this size: the divisor times a power of two, at most the greatest size.
    pub fn bucket(&self, size: usize) -> usize {
        let units = size.max(self.0.first).max(self.0.least).div_ceil(self.0.divisor);
        (units.next_power_of_two() * self.0.divisor).min(self.0.most)
    }

    /// Whether a bucket has one size alone: then it has no padding.
    pub fn is_exact(&self, bucket: usize) -> bool {
        let before = bucket.saturating_sub(self.0.divisor);
        before < self.0.least || self.bucket(before) != bucket
    }
}

/// A part of an axis: its size is the product of its factors, the outermost first.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Factor {
    /// A number.
    Fixed(usize),
    /// A dimension, and its current size.
    Named(Dim, usize),
    /// What follows from the sizes of dimensions.
    Sum(Box<Sum>),
}

impl Factor {
    /// The current size.
    pub fn size(&self) -> usize {
        match self {
            Factor::Fixed(size) | Factor::Named(_, size) => *size,
            Factor::Sum(sum) => sum.size(),
        }
    }

    /// Whether it depends on a dimension.
    pub fn is_named(&self) -> bool {
        match self {
            Factor::Fixed(_) => false,
            Factor::Named(..) | Factor::Sum(_) => true,
        }
    }

    /// Whether it has no padding.
    pub fn is_exact(&self) -> bool {
        match self {
            Factor::Fixed(_) => true,
            Factor::Named(dim, size) => dim.is_exact(dim.bucket(*size)),
            Factor::Sum(sum) => sum.is_exact(),
        }
    }

    /// The size in memory.
    pub fn memory_size(&self) -> usize {
        match self {
            Factor::Fixed(size) => *size,
            Factor::Named(dim, size) => dim.bucket(*size),
            Factor::Sum(sum) => sum.memory_size(),
        }
    }
}

/// Whether all padding of an axis is at its end: then a place along it is the same number in memory.
pub fn is_plain(axis: &[Factor]) -> bool {
    axis.iter().skip(1).all(|factor| !factor.is_named()) && axis.first().is_none_or(Factor::is_named)
}

/// The factors of an axis; none if it has no name. Two numbers are never beside each other, and none is 1.
pub type AxisNames = SmallVec<[Factor; 2]>;

/// What the axes of a tensor are called, if any of them has a name.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Names(Box<[AxisNames]>);

impl Names {
    /// Of these axes; `None` if no axis has a name.
    pub fn new(axes: impl IntoIterator<Item = AxisNames>) -> Option<Names> {
        let axes: Box<[AxisNames]> = axes.into_iter().collect();
        axes.iter().any(|axis| !axis.is_empty()).then_some(Names(axes))
    }

    /// One entry per axis.
    pub fn axes(&self) -> &[AxisNames] {
        &self.0
    }

    /// The sizes in memory of a tensor of this shape.
    pub fn memory_shape(&self, shape: &[usize]) -> Shape {
        let size = |(axis, size): (&AxisNames, &usize)| match axis.is_empty() {
            true => *size,
            false => axis.iter().fold(1, |product: usize, factor| product.saturating_mul(factor.memory_size())),
        };
        self.0.iter().zip(shape).map(size).collect()
    }

    /// The same names, with every dimension at its bucket's size.
    pub(crate) fn general(&self) -> Names {
        let factor = |factor: &Factor| match factor {
            Factor::Fixed(size) => Factor::Fixed(*size),
            Factor::Named(dim, size) => Factor::Named(dim.clone(), dim.bucket(*size)),
            Factor::Sum(sum) => Factor::Sum(Box::new(sum.general())),
        };
        Names(self.0.iter().map(|axis| axis.iter().map(factor).collect()).collect())
    }

    /// Every dimension with its current size, in order.
    pub fn sizes(&self) -> impl Iterator<Item = (&Dim, usize)> {
        self.0.iter().flatten().flat_map(|factor| {
            let (one, sum) = match factor {
                Factor::Fixed(_) => (None, None),
                Factor::Named(dim, size) => (Some((dim, *size)), None),
                Factor::Sum(sum) => (None, Some(sum.terms().iter().map(|(dim, size, _)| (dim, *size)))),
            };
            one.into_iter().chain(sum.into_iter().flatten())
        })
    }
}

/// Factors with numbers side by side made one, and without ones.
pub fn merged(factors: impl IntoIterator<Item = Factor>) -> AxisNames {
    let mut all = AxisNames::new();
    for factor in factors {
        match (all.last_mut(), factor) {
            (_, Factor::Fixed(1)) => {}
            (Some(Factor::Fixed(before)), Factor::Fixed(size)) => *before *= size,
            (_, factor) => all.push(factor),
        }
    }
    all
}

/// An axis in words: its name, or its factors.
pub(crate) fn described(axis: &[Factor]) -> String {
    let factor = |factor: &Factor| match factor {
        Factor::Fixed(size) => size.to_string(),
        Factor::Named(dim, size) => format!("`{}` ({size} now)", dim.name()),
        Factor::Sum(sum) => sum.described(),
    };
    axis.iter().map(factor).collect::<Vec<_>>().join(" x ")
}
