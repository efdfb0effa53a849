//! Copies with other elements at places that numbers name, by PyTorch's signatures.

use super::{PyTensor, made, ops::named_scatter_reduce};
use crate::arguments::{Factor, either, of_argument};
use pyo3::{exceptions::PyTypeError, prelude::*};
use unigrad::tensor::ScatterReduce;

/// How elements that come to one place become one: by PyTorch's names or the crates', as `reduce` or as `mode`.
fn combined(py: Python<'_>, reduce: Option<&str>, mode: Option<&str>) -> PyResult<ScatterReduce> {
    let name = either(reduce, ("reduce", "mode"), mode)?.ok_or_else(|| PyTypeError::new_err("argument 'reduce' is missing"))?;
    let own = name.strip_prefix('a').filter(|rest| ["max", "min"].contains(rest)).unwrap_or(name);
    of_argument(py, "reduce", named_scatter_reduce(py, own))
}

macro_rules! reducing {
    ($($(#[doc = $doc:literal])* $name:ident),* $(,)?) => {
        #[pymethods]
        impl PyTensor { $(
            $(#[doc = $doc])*
            #[pyo3(signature = (dim, index, src, reduce=None, *, include_self=true, mode=None))]
            #[expect(clippy::too_many_arguments, reason = "as PyTorch's, and `mode`")]
            fn $name(
                &self,
                py: Python<'_>,
                dim: isize,
                index: &PyTensor,
                src: &PyTensor,
                reduce: Option<&str>,
                include_self: bool,
                mode: Option<&str>,
            ) -> PyResult<PyTensor> {
                let mode = combined(py, reduce, mode)?;
                made(py, || self.tensor().$name(dim, index.tensor(), src.tensor(), mode, include_self))
            }
        )* }
    };
}
reducing!(
    /// A copy in which the elements of `src` that `index` puts to one place along `dim` are reduced, with what is there if `include_self`: `reduce` is
    /// sum, prod, mean, amax or amin. Places that nothing goes to stay.
    ///
    /// Equal extremes share the gradient. Sums and products of half types are made in `float32`.
    ///
    /// >>> import unigrad
    /// >>> unigrad.zeros(3).scatter_reduce(0, unigrad.tensor([0, 0, 2]), unigrad.ones(3), "sum").tolist()
    /// [2.0, 0.0, 1.0]
    scatter_reduce,
    /// As `scatter_reduce`, of whole slices along `dim`, which the vector `index` names: prod, mean, amax or amin.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([1.0, 2.0]).index_reduce(0, unigrad.tensor([0, 0]), unigrad.tensor([3.0, 4.0]), 'prod')
    /// tensor([12.,  2.])
    index_reduce,
);

#[pymethods]
impl PyTensor {
    /// A copy with `alpha * src` added to the slices along `dim` that the vector `index` names.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([0.5, 2.0]).index_add(0, unigrad.tensor([0]), unigrad.tensor([7.0]))
    /// tensor([7.5000, 2.0000])
    #[pyo3(signature = (dim, index, src, *, alpha=Factor::ONE))]
    fn index_add<'py>(
        &self,
        py: Python<'py>,
        dim: isize,
        index: &PyTensor,
        src: &Bound<'py, PyTensor>,
        alpha: Factor<'py>,
    ) -> PyResult<PyTensor> {
        let scaled = alpha.times(src)?;
        let src: &Bound<'_, PyTensor> = scaled.cast()?;
        made(py, || self.tensor().index_add(dim, index.tensor(), src.get().tensor()))
    }
}
