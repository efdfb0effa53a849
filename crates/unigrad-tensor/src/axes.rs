//! How callers write shapes, axes and lists of integers.

use smallvec::SmallVec;
use unigrad_graph::{ErrorKind, Expr, Shape};

/// Integers as callers write them; as many as a shape mostly has are no allocation.
pub type IntList = SmallVec<[i64; 8]>;

/// A shape: `[2, 3]`, a slice or `Vec` of `usize`, one number, or `()` for rank 0.
pub trait Dims {
    /// Sizes per axis.
    fn dims(self) -> Shape;
}

impl<const N: usize> Dims for [usize; N] {
    fn dims(self) -> Shape {
        Shape::from_slice(&self)
    }
}

impl<const N: usize> Dims for &[usize; N] {
    fn dims(self) -> Shape {
        Shape::from_slice(self)
    }
}

impl Dims for &[usize] {
    fn dims(self) -> Shape {
        Shape::from_slice(self)
    }
}

impl Dims for Vec<usize> {
    fn dims(self) -> Shape {
        Shape::from_slice(&self)
    }
}

impl Dims for &Vec<usize> {
    fn dims(self) -> Shape {
        Shape::from_slice(self)
    }
}

impl Dims for Shape {
    fn dims(self) -> Shape {
        self
    }
}

impl Dims for &Shape {
    fn dims(self) -> Shape {
        self.clone()
    }
}

impl Dims for usize {
    fn dims(self) -> Shape {
        Shape::from_slice(&[self])
    }
}

impl Dims for () {
    fn dims(self) -> Shape {
        Shape::new()
    }
}

/// A list of integers that may be negative: `-1`, `[0, -1]`, a slice, a `Vec`.
pub trait Ints {
    /// The integers.
    fn ints(self) -> IntList;
}

/// Which axes a reduction goes over: `()` for all, one axis, or a list; negative ones count from the end.
///
/// An empty list names no axis, so nothing is reduced, as in NumPy; PyTorch's `sum` takes an empty list for all axes.
pub trait Axes {
    /// The axes, or `None` for all.
    fn axes(self) -> Option<Vec<i64>>;
}

impl Axes for () {
    fn axes(self) -> Option<Vec<i64>> {
        None
    }
}

/// An integer that callers write, as `i64`. One beyond it is the greatest, which no size, axis or index reaches.
pub(crate) fn clamped<T: TryInto<i64>>(i: T) -> i64 {
    i.try_into().unwrap_or(i64::MAX)
}

#[inline]
fn listed<T: Copy + TryInto<i64>>(all: &[T]) -> IntList {
    let mut few = [0; 8];
    match few.get_mut(..all.len()) {
        Some(list) => {
            list.iter_mut().zip(all).for_each(|(to, i)| *to = clamped(*i));
            IntList::from_buf_and_len(few, all.len())
        }
        None => all.iter().map(|i| clamped(*i)).collect(),
    }
}

macro_rules! integers {
    ($($ty:ty),*) => { $(
        impl Ints for $ty {
            fn ints(self) -> IntList {
                listed(&[self])
            }
        }
        impl<const N: usize> Ints for [$ty; N] {
            #[inline]
            fn ints(self) -> IntList {
                listed(self.as_ref())
            }
        }
        impl<const N: usize> Ints for &[$ty; N] {
            #[inline]
            fn ints(self) -> IntList {
                listed(self.as_ref())
            }
        }
        impl Ints for &[$ty] {
            #[inline]
            fn ints(self) -> IntList {
                listed(self.as_ref())
            }
        }
        impl Ints for Vec<$ty> {
            #[inline]
            fn ints(self) -> IntList {
                listed(self.as_ref())
            }
        }
        impl Ints for &Vec<$ty> {
            #[inline]
            fn ints(self) -> IntList {
                listed(self.as_ref())
            }
        }
        impl Axes for $ty {
            fn axes(self) -> Option<Vec<i64>> {
                Some(self.ints().into_vec())
            }
        }
        impl<const N: usize> Axes for [$ty; N] {
            fn axes(self) -> Option<Vec<i64>> {
                Some(self.ints().into_vec())
            }
        }
        impl<const N: usize> Axes for &[$ty; N] {
            fn axes(self) -> Option<Vec<i64>> {
                Some(self.ints().into_vec())
            }
        }
        impl Axes for &[$ty] {
            fn axes(self) -> Option<Vec<i64>> {
                Some(self.ints().into_vec())
            }
        }
        impl Axes for Vec<$ty> {
            fn axes(self) -> Option<Vec<i64>> {
                Some(self.ints().into_vec())
            }
        }
        impl Axes for &Vec<$ty> {
            fn axes(self) -> Option<Vec<i64>> {
                Some(self.ints().into_vec())
            }
        }
    )* };
}
integers!(i32, i64, isize, usize);

/// The axis a possibly negative number names; an invalid node if there is none, or if `x` is invalid itself.
#[track_caller]
pub(crate) fn resolve_axis(x: &Expr, op: &str, axis: i64) -> Result<usize, Expr> {
    resolve_in(x, op, axis, x.rank())
}

/// As [`resolve_axis`], among `rank` axes.
#[inline]
#[track_caller]
pub(crate) fn resolve_in(x: &Expr, op: &str, axis: i64, rank: usize) -> Result<usize, Expr> {
    let resolved = if axis < 0 { axis.saturating_add(rank as i64) } else { axis };
    match usize::try_from(resolved) {
        Ok(resolved) if resolved < rank && !x.is_invalid() => Ok(resolved),
        _ => Err(no_axis(x, op, axis, rank)),
    }
}

/// The error of an axis that is not there, or that of the tensor.
#[cold]
#[inline(never)]
#[track_caller]
fn no_axis(x: &Expr, op: &str, axis: i64, rank: usize) -> Expr {
    let message = format!("axis {axis} of {:?}, which has {rank} axes", x.shape());
    let help = if rank == 0 { "a tensor of rank 0 has no axis" } else { "axes count from 0, or from -1 at the end" };
    Expr::fail(ErrorKind::Axis, op, message, help, &[x])
}

/// A tensor of rank 0 as a vector of one element, for ops along its axis 0 or -1: it has none, but PyTorch's ops take them.
#[track_caller]
pub(crate) fn scalar_as_vector(x: &Expr, axis: i64) -> Option<Expr> {
    (x.rank() == 0 && !x.is_invalid() && (-1..=0).contains(&axis)).then(|| x.reshape(&[1]))
}

/// Several axes, sorted; naming one twice is an error. A tensor of rank 0 has none, but 0 and -1 may be named.
#[track_caller]
pub(crate) fn resolve_axes(x: &Expr, op: &str, axes: Option<Vec<i64>>) -> Result<Vec<usize>, Expr> {
    if x.error().is_some() {
        return Err(x.clone());
    }
    let Some(axes) = axes else { return Ok((0..x.rank()).collect()) };
    let mut resolved = Vec::with_capacity(axes.len());
    for axis in axes.into_iter().filter(|axis| x.rank() > 0 || !(-1..=0).contains(axis)) {
        resolved.push(resolve_axis(x, op, axis)?);
    }
    resolved.sort_unstable();
    if resolved.windows(2).any(|pair| pair[0] == pair[1]) {
        return Err(Expr::fail(
            ErrorKind::Axis,
            op,
            format!("an axis of {:?} is named twice: {resolved:?}", x.shape()),
            "name each axis once",
            &[x],
        ));
    }
    Ok(resolved)
}

/// Axes as the bit mask of the graph's reductions.
#[track_caller]
pub(crate) fn axes_mask(x: &Expr, op: &str, axes: &[usize]) -> Result<u32, Expr> {
    if axes.iter().any(|axis| *axis >= 32) {
        return Err(Expr::fail(ErrorKind::Axis, op, format!("{} axes are more than 32", x.rank()), "join some with `flatten`", &[x]));
    }
    Ok(axes.iter().fold(0, |mask, axis| mask | 1 << axis))
}
