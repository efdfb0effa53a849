//! Reductions, scans and sorting, by PyTorch's signatures: `dim` or `axis`, `keepdim` or `keepdims`.

use super::{PyTensor, all_made, made};
use crate::{
    arguments::{Other, PyAxes, dim_or_axis, kept, one_dim},
    dtype::PyDType,
    error::argument,
};
use pyo3::{IntoPyObjectExt, exceptions::PyTypeError, prelude::*, types::PyTuple};
use unigrad::tensor::{Interpolation, Tensor};

/// A named tuple of results: `values` and `indices`, as PyTorch's.
pub(super) fn named<'py>(py: Python<'py>, class: &str, op: impl FnOnce() -> Vec<Tensor>) -> PyResult<Bound<'py, PyAny>> {
    let parts = all_made(py, op)?.into_iter().map(|part| Bound::new(py, part)).collect::<PyResult<Vec<_>>>()?;
    py.import("unigrad._results")?.getattr(class)?.call1(PyTuple::new(py, parts)?)
}

fn both((first, second): (Tensor, Tensor)) -> Vec<Tensor> {
    vec![first, second]
}

/// Axes that are left at size 1, or go.
fn over(dim: Option<PyAxes>, axis: Option<PyAxes>) -> PyResult<PyAxes> {
    Ok(dim_or_axis(dim, axis)?.unwrap_or(PyAxes(None)))
}

fn cast(x: &Tensor, dtype: Option<PyDType>) -> Tensor {
    dtype.map_or_else(|| x.clone(), |dtype| x.cast(dtype.0))
}

macro_rules! reductions {
    ($($(#[doc = $doc:literal])* $name:ident $kept:ident),* $(,)?) => {
        #[pymethods]
        impl PyTensor { $(
            $(#[doc = $doc])*
            #[pyo3(signature = (dim=None, keepdim=None, *, dtype=None, axis=None, keepdims=None))]
            fn $name(
                &self,
                py: Python<'_>,
                dim: Option<PyAxes>,
                keepdim: Option<bool>,
                dtype: Option<PyDType>,
                axis: Option<PyAxes>,
                keepdims: Option<bool>,
            ) -> PyResult<PyTensor> {
                let (axes, keeps) = (over(dim, axis)?, kept(keepdim, keepdims)?);
                made(py, || {
                    let x = cast(self.tensor(), dtype);
                    if keeps { x.$kept(axes) } else { x.$name(axes) }
                })
            }
        )* }
    };
}
reductions!(
    /// Sum over axes, or over all. Of integers and bools it is `int64`.
    ///
    /// >>> import unigrad
    /// >>> unigrad.ones(2, 3).sum(dim=1).tolist()
    /// [3.0, 3.0]
    sum sum_keepdim,
    /// Mean over axes, or over all.
    mean mean_keepdim,
    /// Product over axes, or over all. Of integers and bools it is `int64`.
    prod prod_keepdim,
);

macro_rules! truths {
    ($($(#[doc = $doc:literal])* $name:ident as $method:ident $kept:ident),* $(,)?) => {
        #[pymethods]
        impl PyTensor { $(
            $(#[doc = $doc])*
            #[pyo3(signature = (dim=None, keepdim=None, *, axis=None, keepdims=None))]
            fn $name(
                &self,
                py: Python<'_>,
                dim: Option<PyAxes>,
                keepdim: Option<bool>,
                axis: Option<PyAxes>,
                keepdims: Option<bool>,
            ) -> PyResult<PyTensor> {
                let (axes, keeps) = (over(dim, axis)?, kept(keepdim, keepdims)?);
                made(py, || if keeps { self.tensor().$kept(axes) } else { self.tensor().$method(axes) })
            }
        )* }
    };
}
truths!(
    /// Whether all elements are true (not 0), over axes, or over all.
    all as all all_keepdim,
    /// Whether any element is true (not 0), over axes, or over all.
    any as any any_keepdim,
    /// The greatest over axes, or over all; equal ones share the gradient.
    amax as max max_keepdim,
    /// The least over axes, or over all; equal ones share the gradient.
    amin as min min_keepdim,
    /// `log(sum(exp(x)))` over axes, without overflow.
    logsumexp as logsumexp logsumexp_keepdim,
);

/// The axes as they would be with those in `axes` left at size 1.
fn unreduced(result: &Tensor, x: &Tensor, axes: &Option<Vec<i64>>) -> Tensor {
    let rank = x.rank() as i64;
    let shape = x.shape();
    let reduced =
        |i: usize| axes.as_ref().is_none_or(|axes| axes.iter().any(|axis| (if *axis < 0 { axis + rank } else { *axis }) == i as i64));
    let kept: Vec<usize> = shape.iter().enumerate().map(|(i, size)| if reduced(i) { 1 } else { *size }).collect();
    result.reshape(kept)
}

#[pymethods]
impl PyTensor {
    /// Without arguments the greatest element; along `dim` the greatest and where they are, `(values, indices)`; beside another tensor the greater of
    /// both.
    #[pyo3(signature = (dim=None, keepdim=None, *, axis=None, keepdims=None))]
    fn max<'py>(
        &self,
        py: Python<'py>,
        dim: Option<&Bound<'py, PyAny>>,
        keepdim: Option<bool>,
        axis: Option<&Bound<'py, PyAny>>,
        keepdims: Option<bool>,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.extreme(py, true, (dim, axis), kept(keepdim, keepdims)?)
    }

    /// Without arguments the least element; along `dim` the least and where they are, `(values, indices)`; beside another tensor the lesser of both.
    #[pyo3(signature = (dim=None, keepdim=None, *, axis=None, keepdims=None))]
    fn min<'py>(
        &self,
        py: Python<'py>,
        dim: Option<&Bound<'py, PyAny>>,
        keepdim: Option<bool>,
        axis: Option<&Bound<'py, PyAny>>,
        keepdims: Option<bool>,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.extreme(py, false, (dim, axis), kept(keepdim, keepdims)?)
    }

    /// The least and the greatest, `(min, max)`.
    #[pyo3(signature = (*, dim=None, keepdim=None, axis=None, keepdims=None))]
    fn aminmax<'py>(
        &self,
        py: Python<'py>,
        dim: Option<PyAxes>,
        keepdim: Option<bool>,
        axis: Option<PyAxes>,
        keepdims: Option<bool>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (axes, keeps) = (over(dim, axis)?, kept(keepdim, keepdims)?);
        named(py, "aminmax", || {
            let x = self.tensor();
            if keeps { vec![x.min_keepdim(axes.clone()), x.max_keepdim(axes)] } else { both(x.aminmax(axes)) }
        })
    }

    /// Variance over axes, or over all, divided by the number of elements less `correction`.
    #[pyo3(signature = (dim=None, unbiased=None, keepdim=None, *, correction=None, axis=None, keepdims=None))]
    #[expect(clippy::too_many_arguments, reason = "both libraries' keywords")]
    fn var(
        &self,
        py: Python<'_>,
        dim: Option<PyAxes>,
        unbiased: Option<bool>,
        keepdim: Option<bool>,
        correction: Option<f64>,
        axis: Option<PyAxes>,
        keepdims: Option<bool>,
    ) -> PyResult<PyTensor> {
        let (axes, keeps) = (over(dim, axis)?, kept(keepdim, keepdims)?);
        let correction = corrected(unbiased, correction)?;
        made(py, || spread(self.tensor(), axes, correction, keeps))
    }

    /// Standard deviation over axes, or over all; see `var`.
    #[pyo3(signature = (dim=None, unbiased=None, keepdim=None, *, correction=None, axis=None, keepdims=None))]
    #[expect(clippy::too_many_arguments, reason = "both libraries' keywords")]
    fn std(
        &self,
        py: Python<'_>,
        dim: Option<PyAxes>,
        unbiased: Option<bool>,
        keepdim: Option<bool>,
        correction: Option<f64>,
        axis: Option<PyAxes>,
        keepdims: Option<bool>,
    ) -> PyResult<PyTensor> {
        let (axes, keeps) = (over(dim, axis)?, kept(keepdim, keepdims)?);
        let correction = corrected(unbiased, correction)?;
        made(py, || match whole(correction) {
            Some(n) if keeps => self.tensor().std_keepdim(axes, n),
            Some(n) => self.tensor().std(axes, n),
            None => spread(self.tensor(), axes, correction, keeps).sqrt(),
        })
    }

    /// Index of the first greatest element along `dim`, or of all.
    #[pyo3(signature = (dim=None, keepdim=None, *, axis=None, keepdims=None))]
    fn argmax(
        &self,
        py: Python<'_>,
        dim: Option<isize>,
        keepdim: Option<bool>,
        axis: Option<isize>,
        keepdims: Option<bool>,
    ) -> PyResult<PyTensor> {
        let (dim, keeps) = (dim_or_axis(dim, axis)?, kept(keepdim, keepdims)?);
        made(py, || match dim {
            Some(dim) if keeps => self.tensor().argmax_keepdim(dim),
            Some(dim) => self.tensor().argmax(dim),
            None if keeps => unreduced(&self.tensor().argmax_all(), self.tensor(), &None),
            None => self.tensor().argmax_all(),
        })
    }

    /// Index of the first least element along `dim`, or of all.
    #[pyo3(signature = (dim=None, keepdim=None, *, axis=None, keepdims=None))]
    fn argmin(
        &self,
        py: Python<'_>,
        dim: Option<isize>,
        keepdim: Option<bool>,
        axis: Option<isize>,
        keepdims: Option<bool>,
    ) -> PyResult<PyTensor> {
        let (dim, keeps) = (dim_or_axis(dim, axis)?, kept(keepdim, keepdims)?);
        made(py, || match dim {
            Some(dim) if keeps => self.tensor().argmin_keepdim(dim),
            Some(dim) => self.tensor().argmin(dim),
            None if keeps => unreduced(&self.tensor().argmin_all(), self.tensor(), &None),
            None => self.tensor().argmin_all(),
        })
    }

    /// How many elements are not 0, over axes, or over all.
    #[pyo3(signature = (dim=None, *, axis=None, keepdims=None))]
    fn count_nonzero(&self, py: Python<'_>, dim: Option<PyAxes>, axis: Option<PyAxes>, keepdims: Option<bool>) -> PyResult<PyTensor> {
        let axes = over(dim, axis)?;
        made(py, || {
            let count = self.tensor().count_nonzero(axes.clone());
            if keepdims == Some(true) { unreduced(&count, self.tensor(), &axes.0) } else { count }
        })
    }

    /// Sum over axes in which NaN counts as 0.
    #[pyo3(signature = (dim=None, keepdim=None, *, axis=None, keepdims=None))]
    fn nansum(
        &self,
        py: Python<'_>,
        dim: Option<PyAxes>,
        keepdim: Option<bool>,
        axis: Option<PyAxes>,
        keepdims: Option<bool>,
    ) -> PyResult<PyTensor> {
        let (axes, keeps) = (over(dim, axis)?, kept(keepdim, keepdims)?);
        made(py, || {
            let sum = self.tensor().nansum(axes.clone());
            if keeps { unreduced(&sum, self.tensor(), &axes.0) } else { sum }
        })
    }

    /// Mean over axes of what is not NaN.
    #[pyo3(signature = (dim=None, keepdim=None, *, axis=None, keepdims=None))]
    fn nanmean(
        &self,
        py: Python<'_>,
        dim: Option<PyAxes>,
        keepdim: Option<bool>,
        axis: Option<PyAxes>,
        keepdims: Option<bool>,
    ) -> PyResult<PyTensor> {
        let (axes, keeps) = (over(dim, axis)?, kept(keepdim, keepdims)?);
        made(py, || {
            let mean = self.tensor().nanmean(axes.clone());
            if keeps { unreduced(&mean, self.tensor(), &axes.0) } else { mean }
        })
    }

    /// The `p`-norm over axes, or over all: `(sum |x|^p)^(1/p)`; `p` may be infinite, or `"fro"`.
    #[pyo3(signature = (p=None, dim=None, keepdim=None, *, axis=None, keepdims=None))]
    fn norm(
        &self,
        py: Python<'_>,
        p: Option<&Bound<'_, PyAny>>,
        dim: Option<PyAxes>,
        keepdim: Option<bool>,
        axis: Option<PyAxes>,
        keepdims: Option<bool>,
    ) -> PyResult<PyTensor> {
        let p = match p {
            None => 2.0,
            Some(p) => match p.extract::<String>() {
                Ok(name) if name == "fro" => 2.0,
                Ok(name) => return Err(argument(py, format!("`p` is {name:?}"), "give a number, or \"fro\"")),
                Err(_) => p.extract::<f64>()?,
            },
        };
        let (axes, keeps) = (over(dim, axis)?, kept(keepdim, keepdims)?);
        made(py, || if keeps { self.tensor().norm_keepdim(p, axes) } else { self.tensor().norm(p, axes) })
    }

    /// Median of all elements; along `dim` the lower median and where it is, `(values, indices)`.
    #[pyo3(signature = (dim=None, keepdim=None, *, axis=None, keepdims=None))]
    fn median<'py>(
        &self,
        py: Python<'py>,
        dim: Option<isize>,
        keepdim: Option<bool>,
        axis: Option<isize>,
        keepdims: Option<bool>,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.middle(py, "median", dim_or_axis(dim, axis)?, kept(keepdim, keepdims)?, Tensor::median)
    }

    /// As `median`, of what is not NaN.
    #[pyo3(signature = (dim=None, keepdim=None, *, axis=None, keepdims=None))]
    fn nanmedian<'py>(
        &self,
        py: Python<'py>,
        dim: Option<isize>,
        keepdim: Option<bool>,
        axis: Option<isize>,
        keepdims: Option<bool>,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.middle(py, "nanmedian", dim_or_axis(dim, axis)?, kept(keepdim, keepdims)?, Tensor::nanmedian)
    }

    /// The most frequent value along `dim` (the least of equal ones), and where it is last, `(values, indices)`.
    #[pyo3(signature = (dim=None, keepdim=None, *, axis=None, keepdims=None))]
    fn mode<'py>(
        &self,
        py: Python<'py>,
        dim: Option<isize>,
        keepdim: Option<bool>,
        axis: Option<isize>,
        keepdims: Option<bool>,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.middle(py, "mode", Some(dim_or_axis(dim, axis)?.unwrap_or(-1)), kept(keepdim, keepdims)?, Tensor::mode)
    }

    /// The `k`-th least element along `dim`, counted from 1, and where it is, `(values, indices)`.
    #[pyo3(signature = (k, dim=None, keepdim=None, *, axis=None, keepdims=None))]
    fn kthvalue<'py>(
        &self,
        py: Python<'py>,
        k: usize,
        dim: Option<isize>,
        keepdim: Option<bool>,
        axis: Option<isize>,
        keepdims: Option<bool>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let dim = Some(dim_or_axis(dim, axis)?.unwrap_or(-1));
        self.middle(py, "kthvalue", dim, kept(keepdim, keepdims)?, |x, dim| x.kthvalue(k, dim))
    }

    /// The `q`-quantile along `dim`, or of all; `q` is from 0 to 1.
    #[pyo3(signature = (q, dim=None, keepdim=None, *, interpolation="linear", axis=None, keepdims=None))]
    #[expect(clippy::too_many_arguments, reason = "both libraries' keywords")]
    fn quantile(
        &self,
        py: Python<'_>,
        q: f64,
        dim: Option<isize>,
        keepdim: Option<bool>,
        interpolation: &str,
        axis: Option<isize>,
        keepdims: Option<bool>,
    ) -> PyResult<PyTensor> {
        let interpolation = interpolated(py, interpolation)?;
        self.at_rank(py, dim_or_axis(dim, axis)?, kept(keepdim, keepdims)?, |x, dim| x.quantile(q, dim, interpolation))
    }

    /// As `quantile`, of what is not NaN.
    #[pyo3(signature = (q, dim=None, keepdim=None, *, interpolation="linear", axis=None, keepdims=None))]
    #[expect(clippy::too_many_arguments, reason = "both libraries' keywords")]
    fn nanquantile(
        &self,
        py: Python<'_>,
        q: f64,
        dim: Option<isize>,
        keepdim: Option<bool>,
        interpolation: &str,
        axis: Option<isize>,
        keepdims: Option<bool>,
    ) -> PyResult<PyTensor> {
        let interpolation = interpolated(py, interpolation)?;
        self.at_rank(py, dim_or_axis(dim, axis)?, kept(keepdim, keepdims)?, |x, dim| x.nanquantile(q, dim, interpolation))
    }

    /// Sums up to each element of an axis.
    #[pyo3(signature = (dim=None, *, dtype=None, axis=None))]
    fn cumsum(&self, py: Python<'_>, dim: Option<isize>, dtype: Option<PyDType>, axis: Option<isize>) -> PyResult<PyTensor> {
        let dim = one_dim(dim, axis)?;
        made(py, || cast(self.tensor(), dtype).cumsum(dim))
    }

    /// Products up to each element of an axis.
    #[pyo3(signature = (dim=None, *, dtype=None, axis=None))]
    fn cumprod(&self, py: Python<'_>, dim: Option<isize>, dtype: Option<PyDType>, axis: Option<isize>) -> PyResult<PyTensor> {
        let dim = one_dim(dim, axis)?;
        made(py, || cast(self.tensor(), dtype).cumprod(dim))
    }

    /// The greatest up to each element of an axis, and where it is, `(values, indices)`.
    #[pyo3(signature = (dim=None, *, axis=None))]
    fn cummax<'py>(&self, py: Python<'py>, dim: Option<isize>, axis: Option<isize>) -> PyResult<Bound<'py, PyAny>> {
        let dim = one_dim(dim, axis)?;
        named(py, "cummax", || both(self.tensor().cummax_with_index(dim)))
    }

    /// The least up to each element of an axis, and where it is, `(values, indices)`.
    #[pyo3(signature = (dim=None, *, axis=None))]
    fn cummin<'py>(&self, py: Python<'py>, dim: Option<isize>, axis: Option<isize>) -> PyResult<Bound<'py, PyAny>> {
        let dim = one_dim(dim, axis)?;
        named(py, "cummin", || both(self.tensor().cummin_with_index(dim)))
    }

    /// Sorted along `dim`, and where each element was, `(values, indices)`; equal elements keep their order.
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
    #[pyo3(signature = (dim=None, descending=false, *, stable=true, axis=None))]
    fn argsort(&self, py: Python<'_>, dim: Option<isize>, descending: bool, stable: bool, axis: Option<isize>) -> PyResult<PyTensor> {
        let _ = stable;
        let dim = dim_or_axis(dim, axis)?.unwrap_or(-1);
        made(py, || self.tensor().argsort(dim, descending))
    }

    /// The `k` greatest (or least) along `dim`, sorted, and where they are, `(values, indices)`.
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

    /// The different values, sorted; with `return_inverse` and `return_counts` also which of them each element is, and how often each occurs.
    #[pyo3(signature = (sorted=true, return_inverse=false, return_counts=false))]
    fn unique<'py>(&self, py: Python<'py>, sorted: bool, return_inverse: bool, return_counts: bool) -> PyResult<Bound<'py, PyAny>> {
        let _ = sorted;
        let x = self.tensor();
        let _here = crate::origin::here(py);
        if !return_inverse && !return_counts {
            let values = py.detach(|| x.unique());
            return super::checked(py, values)?.into_bound_py_any(py);
        }
        let (values, inverse, counts) = py.detach(|| x.unique_with());
        let mut parts = vec![super::checked(py, values)?];
        if return_inverse {
            parts.push(super::checked(py, inverse)?);
        }
        if return_counts {
            parts.push(super::checked(py, counts)?);
        }
        let parts = parts.into_iter().map(|part| Bound::new(py, part)).collect::<PyResult<Vec<_>>>()?;
        Ok(PyTuple::new(py, parts)?.into_any())
    }
}

/// The elements that count less by this many.
fn corrected(unbiased: Option<bool>, correction: Option<f64>) -> PyResult<f64> {
    match (unbiased, correction) {
        (Some(_), Some(_)) => Err(PyTypeError::new_err("`unbiased` and `correction` say one thing: give one of them")),
        (Some(unbiased), None) => Ok(f64::from(u8::from(unbiased))),
        (None, correction) => Ok(correction.unwrap_or(1.0)),
    }
}

fn whole(correction: f64) -> Option<usize> {
    (correction >= 0.0 && correction.fract() == 0.0 && correction < f64::from(u32::MAX)).then_some(correction as usize)
}

fn spread(x: &Tensor, axes: PyAxes, correction: f64, keeps: bool) -> Tensor {
    match whole(correction) {
        Some(n) if keeps => x.var_keepdim(axes, n),
        Some(n) => x.var(axes, n),
        None => {
            let var = x.var_with(axes.clone(), correction);
            if keeps { unreduced(&var, x, &axes.0) } else { var }
        }
    }
}

fn interpolated(py: Python<'_>, name: &str) -> PyResult<Interpolation> {
    Ok(match name {
        "linear" => Interpolation::Linear,
        "lower" => Interpolation::Lower,
        "higher" => Interpolation::Higher,
        "midpoint" => Interpolation::Midpoint,
        "nearest" => Interpolation::Nearest,
        other => return Err(argument(py, format!("`interpolation` is {other:?}"), "choose linear, lower, higher, midpoint or nearest")),
    })
}

impl PyTensor {
    fn extreme<'py>(
        &self,
        py: Python<'py>,
        greatest: bool,
        (dim, axis): (Option<&Bound<'py, PyAny>>, Option<&Bound<'py, PyAny>>),
        keeps: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        let x = self.tensor();
        let Some(given) = dim_or_axis(dim, axis)?.filter(|given| !given.is_none()) else {
            return made(py, || match (greatest, keeps) {
                (true, false) => x.max(()),
                (true, true) => x.max_keepdim(()),
                (false, false) => x.min(()),
                (false, true) => x.min_keepdim(()),
            })?
            .into_bound_py_any(py);
        };
        if given.is_instance_of::<PyTensor>() {
            let other: Other = given.extract()?;
            let other = other.beside(py, x)?;
            return made(py, || if greatest { x.maximum(other) } else { x.minimum(other) })?.into_bound_py_any(py);
        }
        if let Ok(dim) = given.extract::<isize>() {
            return named(py, if greatest { "max" } else { "min" }, || {
                let (values, indices) = if greatest { x.max_with_index(dim) } else { x.min_with_index(dim) };
                if keeps { vec![values.unsqueeze(dim), indices.unsqueeze(dim)] } else { vec![values, indices] }
            });
        }
        // Several axes have no one index.
        let axes: PyAxes = given.extract()?;
        made(py, || match (greatest, keeps) {
            (true, false) => x.max(axes),
            (true, true) => x.max_keepdim(axes),
            (false, false) => x.min(axes),
            (false, true) => x.min_keepdim(axes),
        })?
        .into_bound_py_any(py)
    }

    fn middle<'py>(
        &self,
        py: Python<'py>,
        name: &str,
        dim: Option<isize>,
        keeps: bool,
        op: impl FnOnce(&Tensor, isize) -> (Tensor, Tensor),
    ) -> PyResult<Bound<'py, PyAny>> {
        let x = self.tensor();
        match dim {
            None => made(py, || op(&x.flatten_all(), 0).0)?.into_bound_py_any(py),
            Some(dim) => named(py, name, || {
                let (values, indices) = op(x, dim);
                if keeps { vec![values.unsqueeze(dim), indices.unsqueeze(dim)] } else { vec![values, indices] }
            }),
        }
    }

    fn at_rank(&self, py: Python<'_>, dim: Option<isize>, keeps: bool, op: impl FnOnce(&Tensor, isize) -> Tensor) -> PyResult<PyTensor> {
        let x = self.tensor();
        made(py, || match dim {
            None if keeps => unreduced(&op(&x.flatten_all(), 0), x, &None),
            None => op(&x.flatten_all(), 0),
            Some(dim) if keeps => op(x, dim).unsqueeze(dim),
            Some(dim) => op(x, dim),
        })
    }
}
