//! Sums that keep what their additions round away, so that the error of a long sum does not grow with its length.
//!
//! In: a running sum and the next addend. Out: both, and their settled value. Always: an infinite or NaN sum stays what plain
//! addition makes it, and a sum of negative zeros keeps its sign. Never: contracted; there is no product here.

use std::ops::{Add, Sub};

/// A float that is summed.
pub(crate) trait Real: Copy + PartialEq + Default + Add<Output = Self> + Sub<Output = Self> {}
impl Real for f32 {}
impl Real for f64 {}

/// The sum after an addend, and what all its additions have lost (Knuth's two-sum).
#[inline(always)]
pub(crate) fn add<T: Real>(sum: T, lost: T, x: T) -> (T, T) {
    let next = sum + x;
    let part = next - sum;
    (next, lost + ((sum - (next - part)) + (x - part)))
}

/// The sum with what it lost. Infinities lose NaN, which is then of no use.
#[inline(always)]
#[allow(clippy::eq_op)]
pub(crate) fn settle<T: Real>(sum: T, lost: T) -> T {
    if lost != T::default() && lost == lost { sum + lost } else { sum }
}
