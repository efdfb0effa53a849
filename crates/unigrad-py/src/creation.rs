//! Functions that make tensors.
//!
//! Always: without `device` they go to the default device, without `dtype` they are the default float, or what their numbers are.

use crate::{
    arguments::{Sizes, of_argument, size, spread, tensors},
    device::{PyDevice, or_default},
    dtype::{PyDType, float_or},
    error::OrRaise,
    exit::Release,
    generator::{PyGenerator, source},
    tensor::{PyTensor, all_made, made, made_of},
};
use pyo3::{
    exceptions::PyTypeError,
    prelude::*,
    types::{PyInt, PyTuple},
};
use unigrad::tensor::{DType, Device, Tensor, default_dtype};

/// A tensor of data: numbers, nested sequences of numbers, arrays of NumPy or of another library.
///
/// Numbers become `bool`, `int64` or the default float (`get_default_dtype`, `float32` at first); arrays keep their dtype.
///
/// >>> import unigrad
/// >>> unigrad.tensor([[1, 2], [3, 4]]).dtype
/// unigrad.int64
#[pyfunction]
#[pyo3(signature = (data, *, dtype=None, device=None, requires_grad=false))]
pub(crate) fn tensor<'py>(
    py: Python<'py>,
    data: &Bound<'py, PyAny>,
    dtype: Option<PyDType>,
    device: Option<PyDevice>,
    requires_grad: bool,
) -> PyResult<Bound<'py, PyTensor>> {
    let tensor = made_of(py, data, dtype, device)?;
    finished(py, requires_grad, || tensor)
}

/// The shape of `f(2, 3)`, `f((2, 3))` or `f(size=(2, 3))`.
fn shape_of(shape: &Bound<'_, PyTuple>, size_: Option<Sizes>) -> PyResult<Vec<usize>> {
    match (shape.is_empty(), size_) {
        (true, Some(sizes)) => Ok(sizes.0),
        (false, None) | (true, None) => spread_or_none(shape)?.into_iter().map(size).collect(),
        (false, Some(_)) => Err(PyTypeError::new_err("`shape` is given twice")),
    }
}

fn spread_or_none(shape: &Bound<'_, PyTuple>) -> PyResult<Vec<i64>> {
    if shape.is_empty() { Ok(Vec::new()) } else { spread(shape) }
}

/// Of a gradient's leaf or not.
fn finished(py: Python<'_>, requires_grad: bool, op: impl FnOnce() -> Tensor) -> PyResult<Bound<'_, PyTensor>> {
    let tensor = Bound::new(py, made(py, || if requires_grad { op().requires_grad() } else { op() })?)?;
    if requires_grad {
        crate::autograd::_leaf(&tensor)?;
    }
    Ok(tensor)
}

macro_rules! filled {
    ($($(#[doc = $doc:literal])* $name:ident),* $(,)?) => { $(
        $(#[doc = $doc])*
        #[pyfunction]
        #[pyo3(signature = (*shape, size=None, dtype=None, device=None, requires_grad=false))]
        pub(crate) fn $name<'py>(
            py: Python<'py>,
            shape: &Bound<'py, PyTuple>,
            size: Option<Sizes>,
            dtype: Option<PyDType>,
            device: Option<PyDevice>,
            requires_grad: bool,
        ) -> PyResult<Bound<'py, PyTensor>> {
            let (shape, device) = (shape_of(shape, size)?, or_default(py, device)?);
            let dtype = float_or(dtype);
            finished(py, requires_grad, || Tensor::$name(shape, dtype, &device))
        }
    )* };
}
filled!(
    /// Zeros.
    ///
    /// >>> import unigrad
    /// >>> unigrad.zeros(2)
    /// tensor([0., 0.])
    zeros,
    /// Ones.
    ///
    /// >>> import unigrad
    /// >>> unigrad.ones(2, 3).shape
    /// (2, 3)
    ones,
);

macro_rules! drawn {
    ($($(#[doc = $doc:literal])* $name:ident),* $(,)?) => { $(
        $(#[doc = $doc])*
        #[pyfunction]
        #[pyo3(signature = (*shape, size=None, generator=None, dtype=None, device=None, requires_grad=false))]
        pub(crate) fn $name<'py>(
            py: Python<'py>,
            shape: &Bound<'py, PyTuple>,
            size: Option<Sizes>,
            generator: Option<PyRef<'_, PyGenerator>>,
            dtype: Option<PyDType>,
            device: Option<PyDevice>,
            requires_grad: bool,
        ) -> PyResult<Bound<'py, PyTensor>> {
            let (shape, device) = (shape_of(shape, size)?, or_default(py, device)?);
            let dtype = float_or(dtype);
            finished(py, requires_grad, || source(generator.as_deref()).$name(shape, dtype, &device))
        }
    )* };
}
drawn!(
    /// Uniform random numbers from 0 (inclusive) to 1 (exclusive); of a generator of one's own if one is given.
    ///
    /// >>> import unigrad
    /// >>> unigrad.rand(2, 3).shape
    /// (2, 3)
    rand,
    /// Normally distributed random numbers, of mean 0 and variance 1; of a generator of one's own if one is given.
    ///
    /// >>> import unigrad
    /// >>> unigrad.randn(2, 3).shape
    /// (2, 3)
    randn,
);

/// A tensor whose values are not set: zeros here.
///
/// >>> import unigrad
/// >>> unigrad.empty(2, 3).shape
/// (2, 3)
#[pyfunction]
#[pyo3(signature = (*shape, size=None, dtype=None, device=None, requires_grad=false))]
pub(crate) fn empty<'py>(
    py: Python<'py>,
    shape: &Bound<'py, PyTuple>,
    size: Option<Sizes>,
    dtype: Option<PyDType>,
    device: Option<PyDevice>,
    requires_grad: bool,
) -> PyResult<Bound<'py, PyTensor>> {
    zeros(py, shape, size, dtype, device, requires_grad)
}

/// One value everywhere.
///
/// >>> import unigrad
/// >>> unigrad.full((2,), 7.0)
/// tensor([7., 7.])
#[pyfunction]
#[pyo3(signature = (size, fill_value, *, dtype=None, device=None, requires_grad=false))]
pub(crate) fn full<'py>(
    py: Python<'py>,
    size: Sizes,
    fill_value: &Bound<'py, PyAny>,
    dtype: Option<PyDType>,
    device: Option<PyDevice>,
    requires_grad: bool,
) -> PyResult<Bound<'py, PyTensor>> {
    use unigrad::tensor::Value;
    let device = or_default(py, device)?;
    let value = if let Ok(tensor) = fill_value.cast::<PyTensor>() { tensor.get().item(py)? } else { fill_value.clone() };
    if let Some(crate::arguments::Other::Wide(value)) = of_argument(py, "fill_value", crate::arguments::Other::of(&value))? {
        let dtype = dtype.map_or(DType::U64, |dtype| dtype.0);
        crate::tensor::data::wide_literal(py, dtype, value)?;
        return finished(py, requires_grad, || Tensor::from_slice(&[value], [0; 0], &device).cast(dtype).expand(size.0.clone()));
    }
    let Some(value) = of_argument(py, "fill_value", crate::arguments::number(&value))? else {
        return Err(PyTypeError::new_err(format!("`fill_value` is a number, not {}", fill_value.get_type().name()?)));
    };
    let own = match value {
        Value::Float(_) | Value::Constant(_) => default_dtype(),
        Value::Int(_) => DType::I64,
        Value::Bool(_) => DType::Bool,
    };
    let dtype = dtype.map_or(own, |dtype| dtype.0);
    finished(py, requires_grad, || match value {
        Value::Float(value) | Value::Constant(value) => Tensor::full(size.0, value, dtype, &device),
        Value::Int(value) => Tensor::full_int(size.0, value, dtype, &device),
        Value::Bool(value) => Tensor::full_int(size.0, value.into(), dtype, &device),
    })
}

/// A matrix with ones on its diagonal.
///
/// >>> import unigrad
/// >>> unigrad.eye(2).tolist()
/// [[1.0, 0.0], [0.0, 1.0]]
#[pyfunction]
#[pyo3(signature = (n, m=None, *, dtype=None, device=None, requires_grad=false))]
pub(crate) fn eye<'py>(
    py: Python<'py>,
    n: i64,
    m: Option<i64>,
    dtype: Option<PyDType>,
    device: Option<PyDevice>,
    requires_grad: bool,
) -> PyResult<Bound<'py, PyTensor>> {
    let device = or_default(py, device)?;
    let (n, m) = (of_argument(py, "n", size(n))?, m.map(|m| of_argument(py, "m", size(m))).transpose()?);
    finished(py, requires_grad, || Tensor::eye(n, m.unwrap_or(n), float_or(dtype), &device))
}

/// Whether a number makes `arange` one of floats: a float, or a tensor or an array of them.
fn is_float(given: &Bound<'_, PyAny>) -> PyResult<bool> {
    if let Ok(tensor) = given.cast::<PyTensor>() {
        return Ok(tensor.get().tensor().dtype().is_float());
    }
    // Of any size.
    if given.is_instance_of::<PyInt>() {
        return Ok(false);
    }
    use unigrad::tensor::Value;
    Ok(match crate::arguments::number(given)? {
        Some(Value::Int(_) | Value::Bool(_)) => false,
        Some(Value::Float(_) | Value::Constant(_)) | None => true,
    })
}

/// `start`, `start + step`, and so on, below `end`: `arange(end)`, `arange(start, end)`, `arange(start, end, step)`.
///
/// Without `dtype` they are `int64` where all three are integers, or tensors of some without axes, else the default float.
///
/// >>> import unigrad
/// >>> unigrad.arange(0, 10, 3)
/// tensor([0, 3, 6, 9])
#[pyfunction]
#[pyo3(signature = (start=None, end=None, step=None, *, stop=None, dtype=None, device=None, requires_grad=false))]
#[expect(clippy::too_many_arguments, reason = "both libraries' keywords")]
pub(crate) fn arange<'py>(
    py: Python<'py>,
    start: Option<&Bound<'py, PyAny>>,
    end: Option<&Bound<'py, PyAny>>,
    step: Option<&Bound<'py, PyAny>>,
    stop: Option<&Bound<'py, PyAny>>,
    dtype: Option<PyDType>,
    device: Option<PyDevice>,
    requires_grad: bool,
) -> PyResult<Bound<'py, PyTensor>> {
    let end_name = if stop.is_some() { "stop" } else { "end" };
    let end = crate::arguments::either(end, ("end", "stop"), stop)?.filter(|end| !end.is_none());
    let number = |name: &str, given: &Bound<'py, PyAny>| of_argument(py, name, given.extract::<f64>());
    let (from, to) = match (start, end) {
        (Some(start), Some(end)) => (number("start", start)?, number(end_name, end)?),
        (None, Some(end)) => (0.0, number(end_name, end)?),
        (Some(end), None) => (0.0, number("start", end)?),
        (None, None) => return Err(PyTypeError::new_err("missing argument: `end`")),
    };
    let mut whole = true;
    for given in [start, end, step].into_iter().flatten() {
        whole &= !is_float(given)?;
    }
    let step = step.map_or(Ok(1.0), |step| number("step", step))?;
    let device = or_default(py, device)?;
    let dtype = dtype.map_or(if whole { DType::I64 } else { default_dtype() }, |dtype| dtype.0);
    if step == 0.0 || !step.is_finite() || !from.is_finite() || !to.is_finite() {
        return Err(crate::error::argument(
            py,
            format!("arange: `start` is {from}, `end` is {to} and `step` is {step}"),
            "give finite numbers, and a step that is not 0",
        ));
    }
    finished(py, requires_grad, || Tensor::arange(from, to, step, dtype, &device))
}

/// `steps` numbers from `start` to `end`, both included, at equal distances.
///
/// >>> import unigrad
/// >>> unigrad.linspace(0.0, 1.0, 5)
/// tensor([0.0000, 0.2500, 0.5000, 0.7500, 1.0000])
#[pyfunction]
#[pyo3(signature = (start, end, steps=100, *, dtype=None, device=None, requires_grad=false))]
pub(crate) fn linspace<'py>(
    py: Python<'py>,
    start: f64,
    end: f64,
    steps: i64,
    dtype: Option<PyDType>,
    device: Option<PyDevice>,
    requires_grad: bool,
) -> PyResult<Bound<'py, PyTensor>> {
    let (device, steps) = (or_default(py, device)?, of_argument(py, "steps", size(steps))?);
    finished(py, requires_grad, || Tensor::linspace(start, end, steps, float_or(dtype), &device))
}

/// `base` to the powers of `linspace`.
///
/// >>> import unigrad
/// >>> unigrad.logspace(0.0, 2.0, 3)
/// tensor([  1.,  10., 100.])
#[pyfunction]
#[pyo3(signature = (start, end, steps=100, base=10.0, *, dtype=None, device=None, requires_grad=false))]
#[expect(clippy::too_many_arguments, reason = "PyTorch's keywords")]
pub(crate) fn logspace<'py>(
    py: Python<'py>,
    start: f64,
    end: f64,
    steps: i64,
    base: f64,
    dtype: Option<PyDType>,
    device: Option<PyDevice>,
    requires_grad: bool,
) -> PyResult<Bound<'py, PyTensor>> {
    let (device, steps) = (or_default(py, device)?, of_argument(py, "steps", size(steps))?);
    finished(py, requires_grad, || Tensor::logspace(start, end, steps, base, float_or(dtype), &device))
}

/// Random integers from `low` (inclusive; 0 where it is left out) to `high` (exclusive): `randint(high, size)`, `randint(low, high, size)`, each also by
/// names; of a generator of one's own if one is given.
///
/// >>> import unigrad
/// >>> unigrad.randint(0, 10, (2, 3)).shape
/// (2, 3)
#[pyfunction]
#[pyo3(signature = (low=None, high=None, size=None, *, generator=None, dtype=None, device=None, requires_grad=false))]
#[expect(clippy::too_many_arguments, reason = "PyTorch's keywords")]
pub(crate) fn randint<'py>(
    py: Python<'py>,
    low: Option<i64>,
    high: Option<&Bound<'py, PyAny>>,
    size: Option<Sizes>,
    generator: Option<PyRef<'_, PyGenerator>>,
    dtype: Option<PyDType>,
    device: Option<PyDevice>,
    requires_grad: bool,
) -> PyResult<Bound<'py, PyTensor>> {
    let missing = |name: &str| PyTypeError::new_err(format!("missing argument: `{name}`"));
    let whole = |high: &Bound<'py, PyAny>| of_argument(py, "high", high.extract::<i64>());
    let (low, high, size) = match (low, high, size) {
        (low, Some(high), Some(size)) => (low.unwrap_or(0), whole(high)?, size.0),
        // `randint(high, size)`: what is second is no number.
        (Some(high), Some(size), None) if !size.is_instance_of::<PyInt>() => (0, high, of_argument(py, "size", size.extract::<Sizes>())?.0),
        (Some(high), None, Some(size)) => (0, high, size.0),
        (None, None, _) => return Err(missing("high")),
        (_, _, None) => return Err(missing("size")),
    };
    let device = or_default(py, device)?;
    let dtype = dtype.map_or(DType::I64, |dtype| dtype.0);
    finished(py, requires_grad, || source(generator.as_deref()).randint(low, high, size, dtype, &device))
}

/// The numbers from 0 to `n - 1` in random order, `int64` unless another dtype is given; of a generator of one's own if one is given.
///
/// >>> import unigrad
/// >>> sorted(unigrad.randperm(4).tolist())
/// [0, 1, 2, 3]
#[pyfunction]
#[pyo3(signature = (n, *, generator=None, dtype=None, device=None, requires_grad=false))]
pub(crate) fn randperm<'py>(
    py: Python<'py>,
    n: i64,
    generator: Option<PyRef<'_, PyGenerator>>,
    dtype: Option<PyDType>,
    device: Option<PyDevice>,
    requires_grad: bool,
) -> PyResult<Bound<'py, PyTensor>> {
    let (n, device) = (of_argument(py, "n", size(n))?, or_default(py, device)?);
    let dtype = dtype.map_or(DType::I64, |dtype| dtype.0);
    finished(py, requires_grad, || source(generator.as_deref()).randperm(n, &device).cast(dtype))
}

/// Uniform random numbers from `low` to `high`; of a generator of one's own if one is given.
///
/// >>> import unigrad
/// >>> unigrad.uniform(-1.0, 1.0, (2, 3)).shape
/// (2, 3)
#[pyfunction]
#[pyo3(signature = (low, high, size, *, generator=None, dtype=None, device=None))]
pub(crate) fn uniform(
    py: Python<'_>,
    low: f64,
    high: f64,
    size: Sizes,
    generator: Option<PyRef<'_, PyGenerator>>,
    dtype: Option<PyDType>,
    device: Option<PyDevice>,
) -> PyResult<PyTensor> {
    let device = or_default(py, device)?;
    let dtype = float_or(dtype);
    made(py, || source(generator.as_deref()).uniform_between(size.0, low, high, dtype, &device))
}

/// Begins the random numbers of this process anew.
///
/// >>> import unigrad
/// >>> unigrad.manual_seed(0)
/// >>> first = unigrad.rand(2)
/// >>> unigrad.manual_seed(0)
/// >>> (unigrad.rand(2) == first).all().item()
/// True
#[pyfunction]
pub(crate) fn manual_seed(seed: u64) {
    unigrad::tensor::manual_seed(seed);
}

/// Begins the random numbers of this process anew, by a seed that the system chooses; the seed.
///
/// >>> import unigrad
/// >>> unigrad.seed() == unigrad.initial_seed()
/// True
#[pyfunction]
pub(crate) fn seed(py: Python<'_>) -> PyResult<u64> {
    crate::generator::reseeded(py, unigrad::tensor::Generator::global())
}

/// The seed of the random numbers of this process.
///
/// >>> import unigrad
/// >>> unigrad.manual_seed(3)
/// >>> unigrad.initial_seed()
/// 3
#[pyfunction]
pub(crate) fn initial_seed() -> u64 {
    unigrad::tensor::Generator::global().state().0
}

/// Where the random numbers of this process are: 16 bytes on the CPU, which `set_rng_state` goes on from.
///
/// >>> import unigrad
/// >>> state = unigrad.get_rng_state()
/// >>> first = unigrad.rand(2)
/// >>> unigrad.set_rng_state(state)
/// >>> unigrad.rand(2).equal(first)
/// True
#[pyfunction]
pub(crate) fn get_rng_state(py: Python<'_>) -> PyResult<PyTensor> {
    let (seed, offset) = unigrad::tensor::Generator::global().state();
    let device = py.released(|| Device::open("cpu")).or_raise(py)?;
    let bytes = [seed.to_le_bytes(), offset.to_le_bytes()].concat();
    made(py, || Tensor::from_bytes(&bytes, [bytes.len()], DType::U8, &device))
}

/// Goes on with the random numbers of this process from a state: that of `get_rng_state`, or a generator's.
///
/// >>> import unigrad
/// >>> unigrad.set_rng_state(unigrad.Generator(3).get_state())
/// >>> unigrad.initial_seed()
/// 3
#[pyfunction]
#[pyo3(signature = (new_state))]
pub(crate) fn set_rng_state(py: Python<'_>, new_state: &Bound<'_, PyAny>) -> PyResult<()> {
    let (seed, offset) = of_argument(py, "new_state", crate::generator::state_of(new_state))?;
    unigrad::tensor::Generator::global().set(seed, offset);
    Ok(())
}

/// Row and column of each element below a diagonal, and on it.
///
/// >>> import unigrad
/// >>> unigrad.tril_indices(2, 2).tolist()
/// [[0, 1, 1], [0, 0, 1]]
#[pyfunction]
#[pyo3(signature = (row, col, offset=0, *, dtype=None, device=None))]
pub(crate) fn tril_indices(
    py: Python<'_>,
    row: usize,
    col: usize,
    offset: i64,
    dtype: Option<PyDType>,
    device: Option<PyDevice>,
) -> PyResult<PyTensor> {
    indices(py, dtype, device, |device| Tensor::tril_indices(row, col, offset, device))
}

/// Row and column of each element above a diagonal, and on it.
///
/// >>> import unigrad
/// >>> unigrad.triu_indices(2, 2).tolist()
/// [[0, 0, 1], [0, 1, 1]]
#[pyfunction]
#[pyo3(signature = (row, col, offset=0, *, dtype=None, device=None))]
pub(crate) fn triu_indices(
    py: Python<'_>,
    row: usize,
    col: usize,
    offset: i64,
    dtype: Option<PyDType>,
    device: Option<PyDevice>,
) -> PyResult<PyTensor> {
    indices(py, dtype, device, |device| Tensor::triu_indices(row, col, offset, device))
}

/// Indices on a device, `I64` unless another dtype is given.
fn indices(
    py: Python<'_>,
    dtype: Option<PyDType>,
    device: Option<PyDevice>,
    of: impl FnOnce(&Device) -> Tensor + Send,
) -> PyResult<PyTensor> {
    let device = or_default(py, device)?;
    made(py, || of(&device).cast(dtype.map_or(DType::I64, |dtype| dtype.0)))
}

/// A function of a list of tensors.
fn of_list(py: Python<'_>, given: &[PyRef<'_, PyTensor>], op: impl FnOnce(&[&Tensor]) -> Tensor) -> PyResult<PyTensor> {
    let all = tensors(given);
    made(py, || op(&all.iter().collect::<Vec<_>>()))
}

/// Tensors one after the other along an axis that they have.
///
/// >>> import unigrad
/// >>> unigrad.concat([unigrad.ones(2), unigrad.zeros(1)])
/// tensor([1., 1., 0.])
#[pyfunction]
#[pyo3(signature = (tensors, dim=0, *, axis=None))]
pub(crate) fn concat(py: Python<'_>, tensors: Vec<PyRef<'_, PyTensor>>, dim: isize, axis: Option<isize>) -> PyResult<PyTensor> {
    of_list(py, &tensors, |all| Tensor::concat(all, axis.unwrap_or(dim)))
}

/// Tensors of one shape one after the other along a new axis.
///
/// >>> import unigrad
/// >>> unigrad.stack([unigrad.tensor([1, 2]), unigrad.tensor([3, 4])]).tolist()
/// [[1, 2], [3, 4]]
#[pyfunction]
#[pyo3(signature = (tensors, dim=0, *, axis=None))]
pub(crate) fn stack(py: Python<'_>, tensors: Vec<PyRef<'_, PyTensor>>, dim: isize, axis: Option<isize>) -> PyResult<PyTensor> {
    of_list(py, &tensors, |all| Tensor::stack(all, axis.unwrap_or(dim)))
}

macro_rules! of_lists {
    ($($(#[doc = $doc:literal])* $name:ident),* $(,)?) => { $(
        $(#[doc = $doc])*
        #[pyfunction]
        pub(crate) fn $name(py: Python<'_>, tensors: Vec<PyRef<'_, PyTensor>>) -> PyResult<PyTensor> {
            of_list(py, &tensors, Tensor::$name)
        }
    )* };
}
of_lists!(
    /// Tensors side by side, along axis 1 (vectors along axis 0).
    ///
    /// >>> import unigrad
    /// >>> unigrad.hstack([unigrad.tensor([1, 2]), unigrad.tensor([3])])
    /// tensor([1, 2, 3])
    hstack,
    /// Tensors one below the other; vectors are rows.
    ///
    /// >>> import unigrad
    /// >>> unigrad.vstack([unigrad.tensor([1, 2]), unigrad.tensor([3, 4])]).shape
    /// (2, 2)
    vstack,
    /// Tensors one behind the other, along axis 2.
    ///
    /// >>> import unigrad
    /// >>> unigrad.dstack([unigrad.tensor([1, 2]), unigrad.tensor([3, 4])]).shape
    /// (1, 2, 2)
    dstack,
    /// Vectors as columns, beside matrices.
    ///
    /// >>> import unigrad
    /// >>> unigrad.column_stack([unigrad.tensor([1, 2]), unigrad.tensor([3, 4])]).tolist()
    /// [[1, 3], [2, 4]]
    column_stack,
    /// The product of several matrices, in the order that costs least.
    ///
    /// >>> import unigrad
    /// >>> unigrad.multi_dot([unigrad.ones(2, 3), unigrad.ones(3, 4), unigrad.ones(4, 1)]).shape
    /// (2, 1)
    multi_dot,
);

/// Matrices along the diagonal of one matrix, zeros elsewhere.
///
/// >>> import unigrad
/// >>> unigrad.block_diag(unigrad.ones(1, 1), unigrad.tensor([[2.0, 3.0]])).tolist()
/// [[1.0, 0.0, 0.0], [0.0, 2.0, 3.0]]
#[pyfunction]
#[pyo3(signature = (*tensors))]
pub(crate) fn block_diag(py: Python<'_>, tensors: Vec<PyRef<'_, PyTensor>>) -> PyResult<PyTensor> {
    of_list(py, &tensors, Tensor::block_diag)
}

/// Vectors as axes of a grid, as PyTorch's `meshgrid`; `indexing` is "ij" or "xy".
#[pyfunction]
#[pyo3(signature = (*tensors, indexing="ij"))]
pub(crate) fn meshgrid(py: Python<'_>, tensors: Vec<PyRef<'_, PyTensor>>, indexing: &str) -> PyResult<Vec<PyTensor>> {
    let all = crate::arguments::tensors(&tensors);
    let refs: Vec<&Tensor> = all.iter().collect();
    match indexing {
        "ij" => all_made(py, || Tensor::meshgrid(&refs)),
        "xy" => all_made(py, || Tensor::meshgrid_xy(&refs)),
        other => Err(crate::error::argument(py, format!("`indexing` is {other:?}"), "choose \"ij\" or \"xy\"")),
    }
}

/// Einstein's summation: `einsum("ij,jk->ik", a, b)`.
#[pyfunction]
#[pyo3(signature = (equation, *operands))]
pub(crate) fn einsum(py: Python<'_>, equation: &str, operands: Vec<PyRef<'_, PyTensor>>) -> PyResult<PyTensor> {
    of_list(py, &operands, |all| Tensor::einsum(equation, all))
}

/// A tensor out of a pickle: on its device, or on the default one where that is missing.
#[pyfunction]
pub(crate) fn _rebuild<'py>(
    py: Python<'py>,
    bytes: &[u8],
    dtype: PyDType,
    shape: Vec<usize>,
    device: &str,
    requires_grad: bool,
) -> PyResult<Bound<'py, PyTensor>> {
    let device = match py.released(|| Device::open(device)) {
        Ok(device) => device,
        Err(unigrad::device::Error::NotAvailable { .. }) => crate::device::default(py)?,
        Err(error) => return Err(crate::error::raised(py, &error.into())),
    };
    finished(py, requires_grad, || Tensor::from_bytes(bytes, shape, dtype.0, &device))
}
