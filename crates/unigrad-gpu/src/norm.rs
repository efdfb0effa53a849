//! Norms and softmaxes that a vendor's library can do in place of a kernel: what is asked of it, and with which memory.
//!
//! In: a region that reduces rows and goes on with what it has reduced. Out: a [`Norm`], which [`crate::Backend::take`] takes on or not, and
//! [`crate::Backend::perform`] queues.
//! Always: a row is what is reduced, whatever its axes are, so a batch norm's rows are its channels. For each row of `x`, with `mean` and `variance`
//! (the mean square of `x - mean`, and with [`Formula::Rms`] of `x`) over its elements:
//! `normed = formula(x)`; `y = activation(normed * weight + bias)`, where `normed` is rounded to [`Norm::rounded`] if that is there. All is computed in
//! [`Norm::compute`] and rounded once, when it is stored. What takes a norm on writes each of its results that is there. One of them may be the
//! memory of `x`, lying alike: an element of `x` is read before any result of its row is written.
//! Never: anything but this. A region that does more is offered as it is.

use crate::{Activation, Range};
use unigrad_scalar::DType;

/// What a row becomes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Formula {
    /// `(x - mean) / sqrt(variance + epsilon)`: layer norm, group norm, batch norm in training.
    Layer,
    /// `x / sqrt(mean of squares + epsilon)`.
    Rms,
    /// `exp(x - max) / sum of that`.
    Softmax,
    /// The logarithm of that.
    LogSoftmax,
    /// Nothing: only `mean` or `variance` are results.
    Statistics,
}

/// Most axes of rows, and of a row.
pub const ROW_AXES: usize = 3;

/// How a tensor lies in its buffer: strides count elements, and are 0 where it is the same along an axis.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Rows {
    /// `F32`, `F64`, `F16` or `BF16`.
    pub dtype: DType,
    /// The first element, in elements from where the range begins.
    pub offset: u64,
    /// Along the axes of rows, and along those of a row, in the order of [`Norm::rows`] and [`Norm::columns`].
    pub rows: [u64; ROW_AXES],
    #[allow(missing_docs)]
    pub columns: [u64; ROW_AXES],
}

/// A norm; see the module's text.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Norm {
    /// What is computed.
    pub formula: Formula,
    /// What is added before the root; 0 where there is none.
    pub epsilon: f64,
    /// How many rows there are along each axis, outermost first; 1 for axes that are not there. All are 1 or more.
    pub rows: [u32; ROW_AXES],
    /// The same of elements of a row.
    pub columns: [u32; ROW_AXES],
    /// The argument.
    pub x: Rows,
    /// What is multiplied by and added.
    pub weight: Option<Rows>,
    #[allow(missing_docs)]
    pub bias: Option<Rows>,
    /// What comes last.
    pub activation: Activation,
    /// The dtype that the normalized value is rounded to before `weight` and `bias`.
    pub rounded: Option<DType>,
    /// The result.
    pub y: Option<Rows>,
    /// Results besides: `normed`, and of each row the mean, the variance and `1 / sqrt(variance + epsilon)`.
    pub normed: Option<Rows>,
    #[allow(missing_docs)]
    pub mean: Option<Rows>,
    #[allow(missing_docs)]
    pub variance: Option<Rows>,
    #[allow(missing_docs)]
    pub root: Option<Rows>,
    /// `F64` for `F64`, else `F32`.
    pub compute: DType,
}

impl Norm {
    /// Elements of all rows.
    pub fn elements(&self) -> f64 {
        self.rows.iter().chain(&self.columns).map(|size| f64::from(*size)).product()
    }

    /// Bytes from where its range begins to the end of a tensor that lies so.
    pub fn bytes(&self, at: &Rows) -> u64 {
        let last = |(size, stride): (&u32, &u64)| u64::from(size.saturating_sub(1)).saturating_mul(*stride);
        let along = self.rows.iter().zip(&at.rows).chain(self.columns.iter().zip(&at.columns)).map(last);
        along.fold(at.offset.saturating_add(1), u64::saturating_add).saturating_mul(at.dtype.size() as u64)
    }
}

/// The memory of a norm: each is there if [`Norm`] has it.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct NormOperands {
    /// Of `x`.
    pub x: Range,
    #[allow(missing_docs)]
    pub weight: Option<Range>,
    #[allow(missing_docs)]
    pub bias: Option<Range>,
    #[allow(missing_docs)]
    pub y: Option<Range>,
    #[allow(missing_docs)]
    pub normed: Option<Range>,
    #[allow(missing_docs)]
    pub mean: Option<Range>,
    #[allow(missing_docs)]
    pub variance: Option<Range>,
    #[allow(missing_docs)]
    pub root: Option<Range>,
}
