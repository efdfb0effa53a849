//! Comparing results: one tolerance, a function of dtype and reduction length.

use crate::{Values, oracle::rounding_error};
use unigrad_graph::DType;

/// How far a result may be off.
#[derive(Clone, Copy, Debug)]
pub struct Tolerance {
    relative: f64,
}

impl Tolerance {
    /// For results of `dtype` that add up to `len` terms: rounding errors of an accumulator grow with the root of their number, and a
    /// handful of operations come before and after it.
    pub fn new(dtype: DType, len: usize) -> Tolerance {
        let accumulator = rounding_error(dtype.compute()) * (12.0 + 4.0 * (len as f64).sqrt());
        // A half type's results are rounded when they are stored, and so are the few values in between that are stored.
        // An 8-bit float is rounded once, and has nothing computed in it.
        let storage = if dtype.only_stores() {
            rounding_error(dtype)
        } else if dtype == dtype.compute() {
            0.0
        } else {
            4.0 * rounding_error(dtype)
        };
        // PyTorch's answers are written with twelve digits.
        let digits = if dtype == DType::F64 { 2e-11 } else { 0.0 };
        Tolerance { relative: accumulator + storage + digits }
    }

    /// Several times as much: for values that went through more than one op.
    pub fn times(self, factor: f64) -> Tolerance {
        Tolerance { relative: self.relative * factor }
    }

    /// What a value may be off by.
    pub fn allowed(self, expected: f64) -> f64 {
        self.relative * expected.abs().max(1.0)
    }
}

/// A result that is not what it should be: how, where, and what was allowed.
pub type Difference = String;

/// Whether the result has the expected shape, dtype and values.
pub fn close(got: &Values, expected: &Values, tolerance: Tolerance) -> Result<(), Difference> {
    close_by(got, expected, |_, expected| tolerance.allowed(expected))
}

/// As [`close`], with what each element may be off by.
pub fn close_by(got: &Values, expected: &Values, allowed: impl Fn(usize, f64) -> f64) -> Result<(), Difference> {
    if got.shape != expected.shape || got.dtype.is_float() != expected.dtype.is_float() {
        return Err(format!("{} {:?}, expected {} {:?}", got.dtype, got.shape, expected.dtype, expected.shape));
    }
    let mut worst: Option<(f64, usize, f64)> = None;
    for i in 0..got.len() {
        let (off, allowed) = if got.dtype.is_float() {
            let (a, b) = (got.as_f64(i), expected.as_f64(i));
            let same = a == b || (a.is_nan() && b.is_nan());
            // A reference beyond the dtype's range is infinite in it.
            let overflow = a.is_infinite() && crate::values::rounded(got.dtype, b) == a;
            let off = if same || overflow { 0.0 } else { (a - b).abs() };
            (if off.is_nan() { f64::INFINITY } else { off }, allowed(i, b))
        } else if got.as_i64(i) == expected.as_i64(i) {
            (0.0, 0.0)
        } else {
            ((got.as_i64(i) as f64 - expected.as_i64(i) as f64).abs().max(1.0), 0.0)
        };
        if off > allowed && worst.is_none_or(|(most, _, _)| off - allowed > most) {
            worst = Some((off - allowed, i, allowed));
        }
    }
    match worst {
        None => Ok(()),
        Some((_, i, allowed)) => {
            let (a, b) = (got.as_f64(i), expected.as_f64(i));
            let off = if a.is_nan() || b.is_nan() { f64::NAN } else { (a - b).abs() };
            Err(format!("{off:.1e} off at {:?} ({a} instead of {b}), allowed {allowed:.1e}", got.place(i)))
        }
    }
}
