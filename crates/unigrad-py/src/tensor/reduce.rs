//! Reductions, scans and sorting, by PyTorch's signatures: `dim` or `axis`, `keepdim` or `keepdims`.

use super::{PyTensor, all_made, made, ops::named_interpolation};
use crate::{
    arguments::{Other, PyAxes, dim_or_axis, kept, of_argument},
    dtype::PyDType,
    error::argument,
};
#[cfg(feature = "stubs")]
use pyo3::inspect::PyStaticExpr;
use pyo3::{
    Borrowed, IntoPyObjectExt,
    exceptions::PyTypeError,
    prelude::*,
    types::{PyBool, PyTuple},
};
use unigrad::tensor::Tensor;

/// A named tuple of results: `values` and `indices`, as PyTorch's.
pub(super) fn named<'py>(py: Python<'py>, class: &str, op: impl FnOnce() -> Vec<Tensor>) -> PyResult<Bound<'py, PyAny>> {
    let parts = all_made(py, op)?.into_iter().map(|part| Bound::new(py, part)).collect::<PyResult<Vec<_>>>()?;
    py.import("unigrad._results")?.getattr(class)?.call1(PyTuple::new(py, parts)?)
}

pub(super) fn both((first, second): (Tensor, Tensor)) -> Vec<Tensor> {
    vec![first, second]
}

/// What an op gives along an axis, `values` and `indices`, with the axis at size 1 where it is to be kept.
fn along<'py>(
    py: Python<'py>,
    class: &str,
    x: &Tensor,
    dim: isize,
    keeps: bool,
    op: impl FnOnce() -> (Tensor, Tensor),
) -> PyResult<Bound<'py, PyAny>> {
    named(py, class, || {
        let (values, indices) = op();
        if keeps { vec![with_axis(x, &values, dim), with_axis(x, &indices, dim)] } else { vec![values, indices] }
    })
}

/// What an op gives along an axis of `x`, with the axis at size 1. A single number has no axis to keep.
fn with_axis(x: &Tensor, result: &Tensor, dim: isize) -> Tensor {
    if x.rank() == 0 { result.clone() } else { result.unsqueeze(dim) }
}

/// As [`over`]; `dim` that names none means all, as in PyTorch (`axis` that names none leaves all, as in NumPy).
fn over_some(dim: Option<PyAxes>, axis: Option<PyAxes>) -> PyResult<PyAxes> {
    let dim = dim.map(|dim| if dim.0.as_ref().is_some_and(Vec::is_empty) { PyAxes(None) } else { dim });
    over(dim, axis)
}

/// Axes that are left at size 1, or go.
fn over(dim: Option<PyAxes>, axis: Option<PyAxes>) -> PyResult<PyAxes> {
    Ok(dim_or_axis(dim, axis)?.unwrap_or(PyAxes(None)))
}

/// NumPy's functions (`np.sum(x)`) pass `out=None` on; a tensor is a value, and no place for results.
fn no_out(out: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
    match out {
        None => Ok(()),
        Some(_) => Err(PyTypeError::new_err(
            "argument 'out': None is wanted\n help: use the result, `y = x.sum()`, or the function, `unigrad.sum(x, out=y)`",
        )),
    }
}

pub(super) fn cast(x: &Tensor, dtype: Option<PyDType>) -> Tensor {
    dtype.map_or_else(|| x.clone(), |dtype| x.cast(dtype.0))
}

macro_rules! reductions {
    ($($(#[doc = $doc:literal])* $name:ident $kept:ident),* $(,)?) => {
        #[pymethods]
        impl PyTensor { $(
            $(#[doc = $doc])*
            #[pyo3(signature = (dim=None, keepdim=None, *, dtype=None, axis=None, keepdims=None, out=None))]
            #[expect(clippy::too_many_arguments, reason = "both libraries' keywords")]
            fn $name(
                &self,
                py: Python<'_>,
                dim: Option<PyAxes>,
                keepdim: Option<bool>,
                dtype: Option<PyDType>,
                axis: Option<PyAxes>,
                keepdims: Option<bool>,
                out: Option<&Bound<'_, PyAny>>,
            ) -> PyResult<PyTensor> {
                no_out(out)?;
                let (axes, keeps) = (over_some(dim, axis)?, kept(keepdim, keepdims)?);
                made(py, || {
                    let x = cast(self.tensor(), dtype);
                    cast(&if keeps { x.$kept(axes) } else { x.$name(axes) }, dtype)
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
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([0.5, 2.0]).mean()
    /// tensor(1.2500)
    mean mean_keepdim,
    /// Product over axes, or over all. Of integers and bools it is `int64`.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([0.5, 2.0]).prod()
    /// tensor(1.)
    prod prod_keepdim,
);

macro_rules! truths {
    ($($(#[doc = $doc:literal])* $name:ident as $method:ident $kept:ident over $over:ident),* $(,)?) => {
        #[pymethods]
        impl PyTensor { $(
            $(#[doc = $doc])*
            #[pyo3(signature = (dim=None, keepdim=None, *, axis=None, keepdims=None, out=None))]
            fn $name(
                &self,
                py: Python<'_>,
                dim: Option<PyAxes>,
                keepdim: Option<bool>,
                axis: Option<PyAxes>,
                keepdims: Option<bool>,
                out: Option<&Bound<'_, PyAny>>,
            ) -> PyResult<PyTensor> {
                no_out(out)?;
                let (axes, keeps) = ($over(dim, axis)?, kept(keepdim, keepdims)?);
                made(py, || if keeps { self.tensor().$kept(axes) } else { self.tensor().$method(axes) })
            }
        )* }
    };
}
truths!(
    /// Whether all elements are true (not 0), over axes, or over all.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([0.5, 2.0]).all()
    /// tensor(True)
    all as all all_keepdim over over,
    /// Whether any element is true (not 0), over axes, or over all.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([0.5, 2.0]).any()
    /// tensor(True)
    any as any any_keepdim over over,
    /// The greatest over axes, or over all; equal ones share the gradient.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([0.5, 2.0]).amax()
    /// tensor(2.)
    amax as max max_keepdim over over_some,
    /// The least over axes, or over all; equal ones share the gradient.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([0.5, 2.0]).amin()
    /// tensor(0.5000)
    amin as min min_keepdim over over_some,
    /// `log(sum(exp(x)))` over axes, without overflow.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([0.5, 2.0]).logsumexp()
    /// tensor(2.2014)
    logsumexp as logsumexp logsumexp_keepdim over over,
);

/// A result without its reduced axes, with these at size 1 where they are to be kept.
fn unless_kept(result: Tensor, x: &Tensor, axes: &PyAxes, keeps: bool) -> Tensor {
    if !keeps {
        return result;
    }
    let rank = x.rank() as i64;
    let is_reduced = |i: i64| axes.0.as_ref().is_none_or(|axes| axes.iter().any(|axis| (if *axis < 0 { axis + rank } else { *axis }) == i));
    let kept: Vec<usize> = x.shape().into_iter().zip(0..).map(|(size, i)| if is_reduced(i) { 1 } else { size }).collect();
    result.reshape(kept)
}

/// Sums of a part of the elements.
macro_rules! of_part {
    ($($(#[doc = $doc:literal])* $name:ident),* $(,)?) => {
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
                let (axes, keeps) = (over_some(dim, axis)?, kept(keepdim, keepdims)?);
                made(py, || {
                    let x = cast(self.tensor(), dtype);
                    cast(&unless_kept(x.$name(axes.clone()), &x, &axes, keeps), dtype)
                })
            }
        )* }
    };
}
of_part!(
    /// Sum over axes in which NaN counts as 0; with `dtype` of elements of that type.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([0.5, 2.0]).nansum()
    /// tensor(2.5000)
    nansum,
    /// Mean over axes of what is not NaN; with `dtype` of elements of that type.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([0.5, 2.0]).nanmean()
    /// tensor(1.2500)
    nanmean,
);

/// What is in the place of `dim`: axes, or `unbiased`, as PyTorch has it, too: `x.std(False)`.
enum AxesOrUnbiased {
    Axes(PyAxes),
    Unbiased(bool),
}

impl<'py> FromPyObject<'_, 'py> for AxesOrUnbiased {
    type Error = PyErr;

    // A bool is an integer to type checkers.
    #[cfg(feature = "stubs")]
    const INPUT_TYPE: PyStaticExpr = crate::hints::AXES;

    fn extract(given: Borrowed<'_, 'py, PyAny>) -> PyResult<AxesOrUnbiased> {
        match given.cast::<PyBool>() {
            Ok(flag) => Ok(AxesOrUnbiased::Unbiased(flag.is_true())),
            Err(_) => given.extract().map(AxesOrUnbiased::Axes),
        }
    }
}

macro_rules! spreads {
    ($($(#[doc = $doc:literal])* $name:ident $kept:ident of $from:path),* $(,)?) => {
        #[pymethods]
        impl PyTensor { $(
            $(#[doc = $doc])*
            #[pyo3(signature = (dim=None, unbiased=None, keepdim=None, *, correction=None, axis=None, keepdims=None, ddof=None, dtype=None, out=None))]
            #[expect(clippy::too_many_arguments, reason = "both libraries' keywords")]
            fn $name(
                &self,
                py: Python<'_>,
                dim: Option<AxesOrUnbiased>,
                unbiased: Option<bool>,
                keepdim: Option<bool>,
                correction: Option<f64>,
                axis: Option<PyAxes>,
                keepdims: Option<bool>,
                ddof: Option<f64>,
                dtype: Option<PyDType>,
                out: Option<&Bound<'_, PyAny>>,
            ) -> PyResult<PyTensor> {
                no_out(out)?;
                if ddof.is_some() && (correction.is_some() || unbiased.is_some()) {
                    return Err(PyTypeError::new_err("argument 'ddof': it is NumPy's name of `correction`: give one of them"));
                }
                let correction = correction.or(ddof);
                let (dim, unbiased) = match dim {
                    Some(AxesOrUnbiased::Unbiased(flag)) => (None, Some(flag)),
                    Some(AxesOrUnbiased::Axes(axes)) => (Some(axes), unbiased),
                    None => (None, unbiased),
                };
                let (axes, keeps) = (over_some(dim, axis)?, kept(keepdim, keepdims)?);
                let correction = corrected(unbiased, correction)?;
                made(py, || {
                    let x = &cast(self.tensor(), dtype);
                    match whole(correction) {
                        Some(n) if keeps => x.$kept(axes, n),
                        Some(n) => x.$name(axes, n),
                        None => $from(&unless_kept(x.var_with(axes.clone(), correction), x, &axes, keeps)),
                    }
                })
            }
        )* }
    };
}
spreads!(
    /// Variance over axes, or over all, divided by the number of elements less `correction`.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([0.5, 2.0]).var()
    /// tensor(1.1250)
    var var_keepdim of Tensor::clone,
    /// Standard deviation over axes, or over all; see `var`.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([0.5, 2.0]).std()
    /// tensor(1.0607)
    std std_keepdim of Tensor::sqrt,
);

macro_rules! positions {
    ($($(#[doc = $doc:literal])* $name:ident $kept:ident $all:ident),* $(,)?) => {
        #[pymethods]
        impl PyTensor { $(
            $(#[doc = $doc])*
            #[pyo3(signature = (dim=None, keepdim=None, *, axis=None, keepdims=None))]
            fn $name(
                &self,
                py: Python<'_>,
                dim: Option<isize>,
                keepdim: Option<bool>,
                axis: Option<isize>,
                keepdims: Option<bool>,
            ) -> PyResult<PyTensor> {
                let (dim, keeps) = (dim_or_axis(dim, axis)?, kept(keepdim, keepdims)?);
                let x = self.tensor();
                made(py, || match dim {
                    Some(dim) if keeps => x.$kept(dim),
                    Some(dim) => x.$name(dim),
                    None => unless_kept(x.$all(), x, &PyAxes(None), keeps),
                })
            }
        )* }
    };
}
positions!(
    /// Index of the first greatest element along `dim`, or of all.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([0.5, 2.0]).argmax()
    /// tensor(1)
    argmax argmax_keepdim argmax_all,
    /// Index of the first least element along `dim`, or of all.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([0.5, 2.0]).argmin()
    /// tensor(0)
    argmin argmin_keepdim argmin_all,
);

macro_rules! extremes {
    ($($(#[doc = $doc:literal])* $name:ident $kept:ident $with_index:ident beside $other:ident),* $(,)?) => {
        #[pymethods]
        impl PyTensor { $(
            $(#[doc = $doc])*
            #[pyo3(signature = (dim=None, keepdim=None, *, axis=None, keepdims=None, out=None))]
            fn $name<'py>(
                &self,
                py: Python<'py>,
                dim: Option<&Bound<'py, PyAny>>,
                keepdim: Option<bool>,
                axis: Option<&Bound<'py, PyAny>>,
                keepdims: Option<bool>,
                out: Option<&Bound<'py, PyAny>>,
            ) -> PyResult<Bound<'py, PyAny>> {
                no_out(out)?;
                let (given, keeps) = (dim_or_axis(dim, axis)?.filter(|given| !given.is_none()), kept(keepdim, keepdims)?);
                let x = self.tensor();
                let over = |axes: PyAxes| made(py, || if keeps { x.$kept(axes) } else { x.$name(axes) })?.into_bound_py_any(py);
                let Some(given) = given else { return over(PyAxes(None)) };
                if given.is_instance_of::<PyTensor>() {
                    let other = of_argument(py, "dim", given.extract::<Other>())?.beside(py, x)?;
                    return made(py, || x.$other(other))?.into_bound_py_any(py);
                }
                match given.extract::<isize>() {
                    Ok(dim) => along(py, stringify!($name), x, dim, keeps, || x.$with_index(dim)),
                    // Several axes have no one index.
                    Err(_) => over(of_argument(py, "dim", given.extract())?),
                }
            }
        )* }
    };
}
extremes!(
    /// Without arguments the greatest element; along `dim` the greatest and where they are, `(values, indices)`; beside another tensor the greater of
    /// both.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([0.5, 2.0]).max()
    /// tensor(2.)
    max max_keepdim max_with_index beside maximum,
    /// Without arguments the least element; along `dim` the least and where they are, `(values, indices)`; beside another tensor the lesser of both.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([0.5, 2.0]).min()
    /// tensor(0.5000)
    min min_keepdim min_with_index beside minimum,
);

#[pymethods]
impl PyTensor {
    /// The least and the greatest, `(min, max)`.
    ///
    /// >>> import unigrad
    /// >>> [part.tolist() for part in unigrad.tensor([0.5, 2.0]).aminmax()]
    /// [0.5, 2.0]
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

    /// How many elements are not 0, over axes, or over all.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([0.5, 2.0]).count_nonzero()
    /// tensor(2)
    #[pyo3(signature = (dim=None, *, axis=None, keepdims=None))]
    fn count_nonzero(&self, py: Python<'_>, dim: Option<PyAxes>, axis: Option<PyAxes>, keepdims: Option<bool>) -> PyResult<PyTensor> {
        let axes = over_some(dim, axis)?;
        made(py, || {
            let x = self.tensor();
            unless_kept(x.count_nonzero(axes.clone()), x, &axes, keepdims == Some(true))
        })
    }

    /// How many elements are in each of `bins` intervals of equal width between `min` and `max` (or `low` and `high`), of which the last one holds
    /// `max` too; in the tensor's float dtype. Elements outside, and NaN, count nowhere. Equal bounds stand for the least and the greatest element
    /// (then all counts are 0 if one of them is not finite), and one more on both sides if these are equal.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([0.0, 1.0, 3.0]).histc(bins=2, min=0, max=4).tolist()
    /// [2.0, 1.0]
    #[pyo3(signature = (bins=100, min=0.0, max=0.0, *, low=None, high=None))]
    fn histc(&self, py: Python<'_>, bins: usize, min: f64, max: f64, low: Option<f64>, high: Option<f64>) -> PyResult<PyTensor> {
        made(py, || self.tensor().histc(bins, low.unwrap_or(min), high.unwrap_or(max)))
    }

    /// The `p`-norm over axes, or over all: `(sum |x|^p)^(1/p)`; `p` may be infinite, or `"fro"`.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([0.5, 2.0]).norm()
    /// tensor(2.0616)
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
                Err(_) => of_argument(py, "p", p.extract::<f64>())?,
            },
        };
        let (axes, keeps) = (over_some(dim, axis)?, kept(keepdim, keepdims)?);
        made(py, || if keeps { self.tensor().norm_keepdim(p, axes) } else { self.tensor().norm(p, axes) })
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

macro_rules! middles {
    ($($(#[doc = $doc:literal])* $name:ident else $default:expr $(=> $k:ident: $ty:ty)?),* $(,)?) => {
        #[pymethods]
        impl PyTensor { $(
            $(#[doc = $doc])*
            #[pyo3(signature = ($($k,)? dim=None, keepdim=None, *, axis=None, keepdims=None))]
            fn $name<'py>(
                &self,
                py: Python<'py>,
                $($k: $ty,)?
                dim: Option<isize>,
                keepdim: Option<bool>,
                axis: Option<isize>,
                keepdims: Option<bool>,
            ) -> PyResult<Bound<'py, PyAny>> {
                let (dim, keeps) = (dim_or_axis(dim, axis)?, kept(keepdim, keepdims)?);
                let x = self.tensor();
                match dim.or($default) {
                    // The middle of nothing, as PyTorch's.
                    None if x.numel() == 0 && x.dtype().is_float() => made(py, || x.sum(()) + f64::NAN)?.into_bound_py_any(py),
                    None => made(py, || x.flatten_all().$name($($k,)? 0).0)?.into_bound_py_any(py),
                    Some(dim) => along(py, stringify!($name), x, dim, keeps, || x.$name($($k,)? dim)),
                }
            }
        )* }
    };
}
middles!(
    /// Median of all elements, of none NaN; along `dim` the lower median and where it is, `(values, indices)`.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([0.5, 2.0]).median()
    /// tensor(0.5000)
    median else None,
    /// As `median`, of what is not NaN.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([0.5, 2.0]).nanmedian()
    /// tensor(0.5000)
    nanmedian else None,
    /// The most frequent value along `dim` (the least of equal ones), and where it is last, `(values, indices)`.
    ///
    /// >>> import unigrad
    /// >>> [part.tolist() for part in unigrad.tensor([0.5, 2.0]).mode()]
    /// [0.5, 0]
    mode else Some(-1),
    /// The `k`-th least element along `dim`, counted from 1, and where it is, `(values, indices)`.
    ///
    /// >>> import unigrad
    /// >>> [part.tolist() for part in unigrad.tensor([0.5, 2.0]).kthvalue(1)]
    /// [0.5, 0]
    kthvalue else Some(-1) => k: usize,
);

macro_rules! quantiles {
    ($($(#[doc = $doc:literal])* $name:ident),* $(,)?) => {
        #[pymethods]
        impl PyTensor { $(
            $(#[doc = $doc])*
            #[pyo3(signature = (q, dim=None, keepdim=None, *, interpolation="linear", axis=None, keepdims=None))]
            #[expect(clippy::too_many_arguments, reason = "both libraries' keywords")]
            fn $name(
                &self,
                py: Python<'_>,
                q: f64,
                dim: Option<isize>,
                keepdim: Option<bool>,
                interpolation: &str,
                axis: Option<isize>,
                keepdims: Option<bool>,
            ) -> PyResult<PyTensor> {
                let interpolation = of_argument(py, "interpolation", named_interpolation(py, interpolation))?;
                let (dim, keeps) = (dim_or_axis(dim, axis)?, kept(keepdim, keepdims)?);
                let x = self.tensor();
                made(py, || match dim {
                    None => unless_kept(x.flatten_all().$name(q, 0, interpolation), x, &PyAxes(None), keeps),
                    Some(dim) if keeps => with_axis(x, &x.$name(q, dim, interpolation), dim),
                    Some(dim) => x.$name(q, dim, interpolation),
                })
            }
        )* }
    };
}
quantiles!(
    /// The `q`-quantile along `dim`, or of all; `q` is from 0 to 1.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([0.5, 2.0]).quantile(0.5)
    /// tensor(1.2500)
    quantile,
    /// As `quantile`, of what is not NaN.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([0.5, 2.0]).nanquantile(0.5)
    /// tensor(1.2500)
    nanquantile,
);
