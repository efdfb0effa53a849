//! Arithmetic by PyTorch's signatures: sums with a factor, quotients, limits, digits.

use super::{PyTensor, made};
use crate::{
    arguments::{Factor, Other, choices, of_argument},
    error::argument,
};
use pyo3::{exceptions::PyTypeError, prelude::*};
use unigrad::tensor::Tensor;

macro_rules! sums {
    ($($(#[doc = $doc:literal])* $name:ident),* $(,)?) => {
        #[pymethods]
        impl PyTensor { $(
            $(#[doc = $doc])*
            #[pyo3(signature = (other, *, alpha=Factor::ONE))]
            fn $name<'py>(&self, py: Python<'py>, other: &Bound<'py, PyAny>, alpha: Factor<'py>) -> PyResult<PyTensor> {
                let other = of_argument(py, "other", alpha.times(other)?.extract::<Other>())?.beside(py, self.tensor())?;
                made(py, || self.tensor().$name(other))
            }
        )* }
    };
}
sums!(
    /// `x + alpha * other`, element by element.
    ///
    /// >>> import unigrad
    /// >>> unigrad.ones(2).add(unigrad.ones(2), alpha=3).tolist()
    /// [4.0, 4.0]
    add,
    /// `x - alpha * other`, element by element.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([0.5, 2.0]).sub(2.0)
    /// tensor([-1.5000,  0.0000])
    sub,
);

#[pymethods]
impl PyTensor {
    /// `other - alpha * x`, element by element.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([0.5, 2.0]).rsub(2.0)
    /// tensor([1.5000, 0.0000])
    #[pyo3(signature = (other, *, alpha=Factor::ONE))]
    fn rsub<'py>(slf: &Bound<'py, PyTensor>, other: Bound<'py, PyAny>, alpha: Factor<'py>) -> PyResult<Bound<'py, PyAny>> {
        // The operator would not name the argument.
        of_argument(slf.py(), "other", other.extract::<Other>())?;
        other.sub(alpha.times(slf)?)
    }

    /// `self` between limits; one of them may be left out.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([-1.0, 0.5, 2.0]).clamp(0, 1)
    /// tensor([0.0000, 0.5000, 1.0000])
    #[pyo3(signature = (min=None, max=None))]
    fn clamp(&self, py: Python<'_>, min: Option<Other>, max: Option<Other>) -> PyResult<PyTensor> {
        let x: &Tensor = self.tensor();
        let min = min.map(|given| given.limiting(py, x)).transpose()?;
        let max = max.map(|given| given.limiting(py, x)).transpose()?;
        match (min, max) {
            (Some(min), Some(max)) => made(py, || x.clamp(min, max)),
            (Some(min), None) => made(py, || x.clamp_min(min)),
            (None, Some(max)) => made(py, || x.clamp_max(max)),
            (None, None) => Err(PyTypeError::new_err("missing argument: `min` or `max`")),
        }
    }

    /// `yes` where `self` is true, else `no`: element by element, all three broadcast. `self` is `Bool` (or is cast to it).
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([True, False]).where_(1.0, 2.0)
    /// tensor([1., 2.])
    #[pyo3(signature = (yes, no))]
    fn where_(&self, py: Python<'_>, yes: Other, no: Other) -> PyResult<PyTensor> {
        let (yes, no) = choices(py, self.tensor(), ("yes", yes), ("no", no))?;
        made(py, || self.tensor().where_(yes, no))
    }

    /// Rounded to the nearest even integer, or to so many digits after the point.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([0.5, 2.0]).round()
    /// tensor([0., 2.])
    #[pyo3(signature = (*, decimals=0))]
    fn round(&self, py: Python<'_>, decimals: i32) -> PyResult<PyTensor> {
        made(py, || if decimals == 0 { self.tensor().round() } else { self.tensor().round_decimals(decimals) })
    }

    /// `beta * self + alpha * a @ b`.
    ///
    /// >>> import unigrad
    /// >>> unigrad.zeros(2).addmm(unigrad.ones(1, 3), unigrad.ones(3, 2)).tolist()
    /// [[3.0, 3.0]]
    #[pyo3(signature = (mat1, mat2, *, beta=1.0, alpha=1.0))]
    fn addmm(&self, py: Python<'_>, mat1: &PyTensor, mat2: &PyTensor, beta: f64, alpha: f64) -> PyResult<PyTensor> {
        made(py, || match (beta, alpha) {
            (1.0, 1.0) => self.tensor().addmm(mat1.tensor(), mat2.tensor()),
            _ => self.tensor().addmm_with(mat1.tensor(), mat2.tensor(), beta, alpha),
        })
    }

    /// Quotient; with `rounding_mode` "floor" or "trunc" rounded.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([0.5, 2.0]).div(2.0)
    /// tensor([0.2500, 1.0000])
    #[pyo3(signature = (other, *, rounding_mode=None))]
    fn div(&self, py: Python<'_>, other: Other, rounding_mode: Option<&str>) -> PyResult<PyTensor> {
        let other = other.beside(py, self.tensor())?;
        match rounding_mode {
            None => made(py, || self.tensor().div(other)),
            Some("floor") => made(py, || self.tensor().floor_div(other)),
            Some("trunc") => made(py, || self.tensor().div_trunc(other)),
            Some(mode) => Err(argument(py, format!("`rounding_mode` is {mode:?}"), "choose \"floor\", \"trunc\" or None")),
        }
    }
}
