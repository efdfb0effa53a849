//! `unigrad.Generator`: random numbers apart from those of the process.

use crate::{
    arguments::{Sizes, of_argument},
    device::{PyDevice, or_default},
    dtype::{PyDType, float_or},
    error::{OrRaise, argument},
    exit::Release,
    tensor::{PyTensor, made},
};
use pyo3::{prelude::*, types::PyType};
use unigrad::tensor::{DType, Generator};

/// Random numbers of its own: what other code draws does not change them.
///
/// >>> import unigrad
/// >>> first, second = unigrad.Generator(7), unigrad.Generator(7)
/// >>> (first.randn((2, 3)) == second.randn((2, 3))).all().item()
/// True
#[pyclass(name = "Generator", module = "unigrad", frozen)]
pub(crate) struct PyGenerator(Generator);

/// The class, what it is called with, and the state that it is given then.
type Reduced<'py> = (Bound<'py, PyType>, (u64,), (u64, u64));

/// A generator that is given, or the process's.
pub(crate) fn source(generator: Option<&PyGenerator>) -> &Generator {
    generator.map_or(Generator::global(), |own| &own.0)
}

/// Begins anew by a seed that the system chooses; the seed.
pub(crate) fn reseeded(py: Python<'_>, generator: &Generator) -> PyResult<u64> {
    let bytes: [u8; 8] = py.import("os")?.call_method1("urandom", (8,))?.extract()?;
    let seed = u64::from_le_bytes(bytes);
    generator.set(seed, 0);
    Ok(seed)
}

/// Seed and offset, as `Generator.get_state` or `get_rng_state` gives them.
pub(crate) fn state_of(given: &Bound<'_, PyAny>) -> PyResult<(u64, u64)> {
    let Ok(tensor) = given.cast::<PyTensor>() else { return given.extract() };
    let (py, x) = (given.py(), tensor.get().tensor());
    if x.dtype() != DType::U8 || x.shape() != [16] {
        let help = "give what `get_rng_state` has given: 16 bytes";
        return Err(argument(py, format!("a tensor {:?} of {} is no state", x.shape(), crate::dtype::name_of(x.dtype())), help));
    }
    let bytes = py.released(|| x.to_bytes()).or_raise(py)?;
    let half = |at: usize| bytes.get(at..at + 8).and_then(|half| half.try_into().ok()).map_or(0, u64::from_le_bytes);
    Ok((half(0), half(8)))
}

/// What a generator is made of: a seed; or, as PyTorch's, a device, which makes no difference: its numbers are the same on all of them.
#[derive(FromPyObject)]
enum SeedOrDevice {
    Seed(u64),
    Device(PyDevice),
}

#[pymethods]
impl PyGenerator {
    #[new]
    #[pyo3(signature = (seed=SeedOrDevice::Seed(0), *, device=None))]
    fn new(seed: SeedOrDevice, device: Option<PyDevice>) -> PyGenerator {
        // One that is not there was an error already.
        let _there = device;
        PyGenerator(Generator::new(match seed {
            SeedOrDevice::Seed(seed) => seed,
            SeedOrDevice::Device(PyDevice(_)) => 0,
        }))
    }

    /// Draws the numbers of a seed from the start. Returns the generator.
    fn manual_seed(slf: PyRef<'_, Self>, seed: u64) -> PyRef<'_, Self> {
        slf.0.set(seed, 0);
        slf
    }

    /// The seed.
    fn initial_seed(&self) -> u64 {
        self.0.state().0
    }

    /// Seed and offset: what `set_state` goes on from.
    fn get_state(&self) -> (u64, u64) {
        self.0.state()
    }

    /// Goes on from a state: a generator's, or what `get_rng_state` gives.
    fn set_state(&self, state: &Bound<'_, PyAny>) -> PyResult<()> {
        let (seed, offset) = of_argument(state.py(), "state", state_of(state))?;
        self.0.set(seed, offset);
        Ok(())
    }

    /// Begins anew by a seed that the system chooses; the seed.
    fn seed(&self, py: Python<'_>) -> PyResult<u64> {
        reseeded(py, &self.0)
    }

    /// For `pickle` and `copy`: a copy goes on from the same state.
    fn __reduce__(slf: Bound<'_, PyGenerator>) -> Reduced<'_> {
        let state = slf.get().0.state();
        (slf.get_type(), (state.0,), state)
    }

    fn __setstate__(&self, state: (u64, u64)) {
        self.0.set(state.0, state.1);
    }

    /// Uniform from 0 to below 1.
    #[pyo3(signature = (size, *, dtype=None, device=None))]
    fn rand(&self, py: Python<'_>, size: Sizes, dtype: Option<PyDType>, device: Option<PyDevice>) -> PyResult<PyTensor> {
        let device = or_default(py, device)?;
        made(py, || self.0.rand(size.0, float_or(dtype), &device))
    }

    /// Uniform from `low` to below `high`.
    #[pyo3(signature = (low, high, size, *, dtype=None, device=None))]
    fn uniform(
        &self,
        py: Python<'_>,
        low: f64,
        high: f64,
        size: Sizes,
        dtype: Option<PyDType>,
        device: Option<PyDevice>,
    ) -> PyResult<PyTensor> {
        let device = or_default(py, device)?;
        made(py, || self.0.uniform_between(size.0, low, high, float_or(dtype), &device))
    }

    /// Normal with mean 0 and variance 1.
    #[pyo3(signature = (size, *, dtype=None, device=None))]
    fn randn(&self, py: Python<'_>, size: Sizes, dtype: Option<PyDType>, device: Option<PyDevice>) -> PyResult<PyTensor> {
        let device = or_default(py, device)?;
        made(py, || self.0.randn(size.0, float_or(dtype), &device))
    }

    /// Integers from `low` to below `high`.
    #[pyo3(signature = (low, high, size, *, dtype=None, device=None))]
    fn randint(
        &self,
        py: Python<'_>,
        low: i64,
        high: i64,
        size: Sizes,
        dtype: Option<PyDType>,
        device: Option<PyDevice>,
    ) -> PyResult<PyTensor> {
        let device = or_default(py, device)?;
        made(py, || self.0.randint(low, high, size.0, dtype.map_or(DType::I64, |dtype| dtype.0), &device))
    }
}
