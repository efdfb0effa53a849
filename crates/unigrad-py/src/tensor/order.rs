//! Scans, sorting, and what is found by it, by PyTorch's signatures: `dim` or `axis`.

use super::{
    PyTensor, made,
    reduce::{both, cast, named},
};
use crate::{
    arguments::{Other, dim_or_axis, one_dim},
    dtype::PyDType,
    error::argument,
    exit::Release,
};
use pyo3::{IntoPyObjectExt, prelude::*, types::PyTuple};
use unigrad::tensor::{DType, Tensor};

macro_rules! scans {
    ($($(#[doc = $doc:literal])* $name:ident),* $(,)?) => {
        #[pymethods]
        impl PyTensor { $(
            $(#[doc = $doc])*
            #[pyo3(signature = (dim=None, *, dtype=None, axis=None))]
            fn $name(&self, py: Python<'_>, dim: Option<isize>, dtype: Option<PyDType>, axis: Option<isize>) -> PyResult<PyTensor> {
                let dim = one_dim(dim, axis)?;
                made(py, || cast(&cast(self.tensor(), dtype).$name(dim), dtype))
            }
        )* }
    };
}
scans!(
    /// Sums up to each element of an axis.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([0.5, 2.0]).cumsum(dim=0)
    /// tensor([0.5000, 2.5000])
    cumsum,
    /// Products up to each element of an axis.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([0.5, 2.0]).cumprod(dim=0)
    /// tensor([0.5000, 1.0000])
    cumprod,
);

macro_rules! running_extremes {
    ($($(#[doc = $doc:literal])* $name:ident as $method:ident),* $(,)?) => {
        #[pymethods]
        impl PyTensor { $(
            $(#[doc = $doc])*
            #[pyo3(signature = (dim=None, *, axis=None))]
            fn $name<'py>(&self, py: Python<'py>, dim: Option<isize>, axis: Option<isize>) -> PyResult<Bound<'py, PyAny>> {
                let dim = one_dim(dim, axis)?;
                named(py, stringify!($name), || both(self.tensor().$method(dim)))
            }
        )* }
    };
}
running_extremes!(
    /// The greatest up to each element of an axis, and where it is, `(values, indices)`.
    ///
    /// >>> import unigrad
    /// >>> [part.tolist() for part in unigrad.tensor([0.5, 2.0]).cummax(dim=0)]
    /// [[0.5, 2.0], [0, 1]]
    cummax as cummax_with_index,
    /// The least up to each element of an axis, and where it is, `(values, indices)`.
    ///
    /// >>> import unigrad
    /// >>> [part.tolist() for part in unigrad.tensor([0.5, 2.0]).cummin(dim=0)]
    /// [[0.5, 0.5], [0, 0]]
    cummin as cummin_with_index,
);

#[pymethods]
impl PyTensor {
    /// Sorted along `dim`, and where each element was, `(values, indices)`; equal elements keep their order.
    ///
    /// >>> import unigrad
    /// >>> [part.tolist() for part in unigrad.tensor([0.5, 2.0]).sort()]
    /// [[0.5, 2.0], [0, 1]]
    #[pyo3(signature = (dim=None, descending=false, *, stable=true, axis=None))]
    fn sort<'py>(
        &self,
        py: Python<'py>,
        dim: Option<isize>,
        descending: bool,
        stable: bool,
        axis: Option<isize>,
    ) -> PyResult<Bound<'py, PyAny>> {
        // Every order is stable.
        let _ = stable;
        let dim = dim_or_axis(dim, axis)?.unwrap_or(-1);
        named(py, "sort", || both(self.tensor().sort(dim, descending)))
    }

    /// Indices that sort an axis; equal elements keep their order.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([0.5, 2.0]).argsort()
    /// tensor([0, 1])
    #[pyo3(signature = (dim=None, descending=false, *, stable=true, axis=None))]
    fn argsort(&self, py: Python<'_>, dim: Option<isize>, descending: bool, stable: bool, axis: Option<isize>) -> PyResult<PyTensor> {
        let _ = stable;
        let dim = dim_or_axis(dim, axis)?.unwrap_or(-1);
        made(py, || self.tensor().argsort(dim, descending))
    }

    /// The `k` greatest (or least) along `dim`, sorted, and where they are, `(values, indices)`.
    ///
    /// >>> import unigrad
    /// >>> [part.tolist() for part in unigrad.tensor([0.5, 2.0]).topk(1)]
    /// [[2.0], [1]]
    #[pyo3(signature = (k, dim=None, largest=true, sorted=true, *, axis=None))]
    fn topk<'py>(
        &self,
        py: Python<'py>,
        k: usize,
        dim: Option<isize>,
        largest: bool,
        sorted: bool,
        axis: Option<isize>,
    ) -> PyResult<Bound<'py, PyAny>> {
        // They come sorted in any case.
        let _ = sorted;
        let dim = dim_or_axis(dim, axis)?.unwrap_or(-1);
        named(py, "topk", || both(self.tensor().topk(k, dim, largest)))
    }

    /// The different values, sorted; along `dim` the different slices, ordered by their elements. With `return_inverse` and `return_counts` also which of
    /// them each is, and how often each occurs.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([[2, 1], [1, 9], [2, 1]]).unique(dim=0).tolist()
    /// [[1, 9], [2, 1]]
    #[pyo3(signature = (sorted=true, return_inverse=false, return_counts=false, dim=None))]
    fn unique<'py>(
        &self,
        py: Python<'py>,
        sorted: bool,
        return_inverse: bool,
        return_counts: bool,
        dim: Option<isize>,
    ) -> PyResult<Bound<'py, PyAny>> {
        // They come sorted in any case.
        let _ = sorted;
        let x = self.tensor();
        match dim {
            None if !return_inverse && !return_counts => {
                let _here = crate::origin::here(py);
                let values = py.released(|| x.unique());
                super::checked(py, values)?.into_bound_py_any(py)
            }
            None => different(py, return_inverse, return_counts, || x.unique_with()),
            Some(dim) => different(py, return_inverse, return_counts, || x.unique_slices(dim)),
        }
    }

    /// The first of each run of equal elements, or along `dim` of equal slices. With `return_inverse` and `return_counts` also which run each is in, and
    /// how long each is.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([1, 1, 2, 1]).unique_consecutive(return_counts=True)[1].tolist()
    /// [2, 1, 1]
    #[pyo3(signature = (return_inverse=false, return_counts=false, dim=None))]
    fn unique_consecutive<'py>(
        &self,
        py: Python<'py>,
        return_inverse: bool,
        return_counts: bool,
        dim: Option<isize>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let x = self.tensor();
        match dim {
            None => different(py, return_inverse, return_counts, || x.unique_consecutive()),
            Some(dim) => different(py, return_inverse, return_counts, || x.unique_consecutive_slices(dim)),
        }
    }

    /// Where `values` belong in a sorted tensor: before what is equal, or behind it with `right=True` (or `side="right"`). `sorter` are the indices
    /// that sort a tensor which is not; the result is `int64`, or `int32` with `out_int32`.
    ///
    /// The sequence is a vector `[n]`, and the values have any shape; or it has sorted rows `[.., n]`, and the values `[.., m]` as many.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([1, 3, 5]).searchsorted(unigrad.tensor([3, 4])).tolist()
    /// [1, 2]
    #[pyo3(signature = (values, right=false, *, out_int32=false, side=None, sorter=None))]
    fn searchsorted(
        &self,
        py: Python<'_>,
        values: Other,
        right: bool,
        out_int32: bool,
        side: Option<&str>,
        sorter: Option<&PyTensor>,
    ) -> PyResult<PyTensor> {
        let right = match side {
            None | Some("left") => right,
            Some("right") => true,
            Some(side) => return Err(argument(py, format!("argument 'side' is {side:?}"), "choose from left, right")),
        };
        let (x, values) = (self.tensor(), values.beside(py, self.tensor())?);
        made(py, || {
            let found = match sorter {
                None => x.searchsorted(values, right),
                Some(sorter) => x.searchsorted_with(values, right, sorter.tensor()),
            };
            places(found, out_int32)
        })
    }

    /// The number of the interval between sorted `boundaries` that each element is in: `i` where `boundaries[i - 1] < x <= boundaries[i]`, or, with
    /// `right`, where `boundaries[i - 1] <= x < boundaries[i]`; `int64`, or `int32` with `out_int32`.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([0.5, 2.0]).bucketize(unigrad.tensor([1.0, 3.0]))
    /// tensor([0, 1])
    #[pyo3(signature = (boundaries, right=false, *, out_int32=false))]
    fn bucketize(&self, py: Python<'_>, boundaries: &PyTensor, right: bool, out_int32: bool) -> PyResult<PyTensor> {
        made(py, || places(self.tensor().bucketize(boundaries.tensor(), right), out_int32))
    }
}

/// Different values, with which of them each is and how many are each if they are asked for.
fn different<'py>(
    py: Python<'py>,
    inverse: bool,
    counts: bool,
    op: impl FnOnce() -> (Tensor, Tensor, Tensor) + Send,
) -> PyResult<Bound<'py, PyAny>> {
    let _here = crate::origin::here(py);
    let (values, which, how_many) = py.released(op);
    let values = super::checked(py, values)?;
    if !inverse && !counts {
        return values.into_bound_py_any(py);
    }
    let mut parts = vec![values];
    if inverse {
        parts.push(super::checked(py, which)?);
    }
    if counts {
        parts.push(super::checked(py, how_many)?);
    }
    let parts = parts.into_iter().map(|part| Bound::new(py, part)).collect::<PyResult<Vec<_>>>()?;
    Ok(PyTuple::new(py, parts)?.into_any())
}

/// Indices, as `int32` if that is asked for.
fn places(found: Tensor, is_short: bool) -> Tensor {
    if is_short { found.cast(DType::I32) } else { found }
}
