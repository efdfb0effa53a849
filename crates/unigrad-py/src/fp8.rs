//! `Fp8Recipe`: how products in a scope of mixed precision are rounded to 8-bit floats.
//!
//! In: Python's settings. Out: the crates' own recipe, for scopes and trainers, and its histories by name.
//! Always: what the recipe refuses is an exception where it is made.

use crate::{
    dtype::{PyDType, name_of},
    error::OrRaise,
    tensor::{PyTensor, checked},
};
use pyo3::{prelude::*, types::PyDict};
use unigrad::tensor::{DType, DelayedScaling, Fp8Recipe, Fp8Scaling};

/// How the matrix products of `autocast(fp8=..)` are computed in 8-bit floats: factors in e4m3, gradients in e5m2, sums in float32.
///
/// The scale of a tensor is a power of two: by its own greatest absolute value, or, with `amax_history_len`, by the greatest of so many steps before;
/// then a recipe has state, which `state_dict` gives and `load_state_dict` takes. `margin` makes scales smaller by so many powers of two.
/// `stochastic_rounding` rounds gradients up or down at random. `dtype` is the half type of results and of everything else.
///
/// >>> import unigrad
/// >>> unigrad.amp.Fp8Recipe(margin=1)
/// Fp8Recipe(amax_history_len=None, margin=1, stochastic_rounding=False, dtype=bfloat16)
#[pyclass(name = "Fp8Recipe", module = "unigrad", frozen)]
pub(crate) struct PyFp8Recipe(pub(crate) Fp8Recipe);

#[pymethods]
impl PyFp8Recipe {
    #[new]
    #[pyo3(signature = (*, amax_history_len=None, margin=0, stochastic_rounding=false, dtype=None))]
    fn new(
        py: Python<'_>,
        amax_history_len: Option<usize>,
        margin: u32,
        stochastic_rounding: bool,
        dtype: Option<PyDType>,
    ) -> PyResult<PyFp8Recipe> {
        let scaling = match amax_history_len {
            Some(length) => Fp8Scaling::Delayed(DelayedScaling::new(length).or_raise(py)?),
            None => Fp8Scaling::Current,
        };
        let recipe = Fp8Recipe { half: dtype.map_or(DType::BF16, |dtype| dtype.0), scaling, margin, stochastic_rounding };
        recipe.check().or_raise(py)?;
        Ok(PyFp8Recipe(recipe))
    }

    /// The histories of amax by name, the newest first; none without `amax_history_len`.
    fn state_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let state = PyDict::new(py);
        if let Fp8Scaling::Delayed(scaling) = &self.0.scaling {
            for (name, history) in scaling.state() {
                state.set_item(name, checked(py, history.detach())?)?;
            }
        }
        Ok(state)
    }

    /// Goes on from a `state_dict`.
    fn load_state_dict(&self, py: Python<'_>, state_dict: &Bound<'_, PyDict>) -> PyResult<()> {
        let mut state = Vec::with_capacity(state_dict.len());
        for (name, history) in state_dict {
            state.push((name.extract::<String>()?, history.extract::<PyRef<'_, PyTensor>>()?.tensor().clone()));
        }
        match &self.0.scaling {
            Fp8Scaling::Delayed(scaling) => scaling.load_state(&state).or_raise(py),
            Fp8Scaling::Current if state.is_empty() => Ok(()),
            Fp8Scaling::Current => {
                let help = "make it with `amax_history_len`, as the one that was saved";
                Err(crate::error::argument(py, "a recipe without histories is given some", help))
            }
        }
    }

    fn __repr__(&self) -> String {
        let Fp8Recipe { half, scaling, margin, stochastic_rounding } = &self.0;
        let length = match scaling {
            Fp8Scaling::Delayed(scaling) => scaling.amax_history_len().to_string(),
            Fp8Scaling::Current => "None".to_owned(),
        };
        let at_random = if *stochastic_rounding { "True" } else { "False" };
        format!("Fp8Recipe(amax_history_len={length}, margin={margin}, stochastic_rounding={at_random}, dtype={})", name_of(*half))
    }
}
