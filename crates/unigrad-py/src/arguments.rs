//! Arguments as Python's programs give them.
//!
//! In: numbers, tuples, lists, tensors, arrays of other libraries. Out: what the crates' methods take.
//! Always: what does not fit is a `TypeError` or `ValueError` that says what was wanted; PyO3 puts the argument's name before it.

use crate::{
    error::{OrRaise, argument},
    tensor::{PyTensor, data},
};
#[cfg(feature = "stubs")]
use pyo3::inspect::PyStaticExpr;
use pyo3::{
    Borrowed,
    exceptions::{PyTypeError, PyValueError},
    ffi,
    prelude::*,
    types::{PyBool, PyDict, PyFloat, PyInt, PyString, PyTuple},
};
use unigrad::tensor::{Axes, DType, Operand, Tensor, Value};

/// A tensor, a number, or an array of another library that becomes a tensor beside the one that it meets.
pub(crate) enum Other {
    /// What an op takes as it is.
    Operand(Operand),
    /// An array.
    Array(Py<PyAny>),
    /// An integer beyond `i64`.
    Wide(u64),
}

impl Other {
    /// What an argument is that is left out where it multiplies.
    pub(crate) const ONE: Other = Other::Operand(Operand::Value(Value::Int(1)));

    /// The operand, on the device of the tensor that it meets.
    pub(crate) fn beside(self, py: Python<'_>, tensor: &Tensor) -> PyResult<Operand> {
        match self {
            Other::Operand(operand) => Ok(operand),
            Other::Array(array) => {
                let device = tensor.device().or_raise(py)?;
                Ok(Operand::Tensor(data::of_object(array.bind(py), None, device)?))
            }
            Other::Wide(value) => {
                let device = tensor.device().or_raise(py)?;
                Ok(match tensor.dtype().is_float() {
                    true => Operand::Value(Value::Float(value as f64)),
                    false => Operand::Tensor(Tensor::from_slice(&[value], [0; 0], &device)),
                })
            }
        }
    }

    /// As [`Other::beside`], for elements of the tensor: its dtype has to hold an integer beyond `i64`.
    pub(crate) fn within(self, py: Python<'_>, tensor: &Tensor) -> PyResult<Operand> {
        if let Other::Wide(value) = self {
            data::wide_literal(py, tensor.dtype(), value)?;
        }
        self.beside(py, tensor)
    }

    /// As [`Other::beside`], for a limit of the tensor's elements: an integer beyond `i64` is the nearest number that its dtype has.
    pub(crate) fn limiting(self, py: Python<'_>, tensor: &Tensor) -> PyResult<Operand> {
        match self {
            Other::Wide(_) if tensor.dtype().is_int() && tensor.dtype() != DType::U64 => Ok(Operand::Value(Value::Int(i64::MAX))),
            other => other.beside(py, tensor),
        }
    }

    /// What a Python object is to an op; `None` where it is nothing that ops take.
    pub(crate) fn of(given: &Bound<'_, PyAny>) -> PyResult<Option<Other>> {
        if let Ok(tensor) = given.cast::<PyTensor>() {
            return Ok(Some(Other::Operand(Operand::from(tensor.get().tensor()))));
        }
        if given.is_instance_of::<PyInt>()
            && let Ok(wide) = given.extract::<u64>()
            && i64::try_from(wide).is_err()
        {
            return Ok(Some(Other::Wide(wide)));
        }
        if let Some(value) = number(given)? {
            return Ok(Some(Other::Operand(Operand::Value(value))));
        }
        Ok(data::is_array(given).then(|| Other::Array(given.clone().unbind())))
    }
}

/// Two arguments that a tensor chooses between, with their names. An integer beyond `i64` waits for the other one: where that is a tensor, its dtype has
/// to hold the integer; where it is a number, the dtype of what chooses has no part in theirs, and no dtype of integers holds a negative one as well.
pub(crate) fn choices(py: Python<'_>, by: &Tensor, yes: (&str, Other), no: (&str, Other)) -> PyResult<(Operand, Operand)> {
    let read = |(name, given): (&str, Other), beside: Option<&Operand>| {
        let read = match (&given, beside) {
            (Other::Wide(_), Some(Operand::Tensor(other))) => given.within(py, other),
            (Other::Wide(value), Some(Operand::Value(Value::Int(..0)))) => Err(data::out_of_range(py, value, DType::I64, "choose floats")),
            (Other::Wide(_), _) => given.beside(py, &by.cast(DType::Bool)),
            _ => given.beside(py, by),
        };
        of_argument(py, name, read)
    };
    if matches!(yes.1, Other::Wide(_)) {
        let no = read(no, None)?;
        return Ok((read(yes, Some(&no))?, no));
    }
    let yes = read(yes, None)?;
    let no = read(no, Some(&yes))?;
    Ok((yes, no))
}

/// A Python number, if it is one.
pub(crate) fn number(given: &Bound<'_, PyAny>) -> PyResult<Option<Value>> {
    if let Ok(float) = given.cast::<PyFloat>() {
        return Ok(Some(Value::Float(float.value())));
    }
    if let Ok(truth) = given.cast::<PyBool>() {
        return Ok(Some(Value::Bool(truth.is_true())));
    }
    if given.is_instance_of::<PyInt>() {
        return Ok(Some(Value::Int(given.extract().map_err(|_| data::too_large(given))?)));
    }
    // NumPy's scalars: of rank 0, with a dtype.
    if given.hasattr("dtype")? && given.hasattr("item")? && given.getattr("ndim").and_then(|n| n.extract::<usize>()).is_ok_and(|n| n == 0) {
        let plain = given.call_method0("item")?;
        if plain.is_instance_of::<PyFloat>() || plain.is_instance_of::<PyInt>() {
            return number(&plain);
        }
    }
    Ok(None)
}

impl<'py> FromPyObject<'_, 'py> for Other {
    type Error = PyErr;

    #[cfg(feature = "stubs")]
    const INPUT_TYPE: PyStaticExpr = crate::hints::OTHER;

    fn extract(given: Borrowed<'_, 'py, PyAny>) -> PyResult<Other> {
        Other::of(&given)?.ok_or_else(|| PyTypeError::new_err(format!("a tensor or a number is wanted, not {}", kind(&given))))
    }
}

/// The name of an object's class.
fn kind(given: &Bound<'_, PyAny>) -> String {
    given.get_type().name().map_or_else(|_| "an object".to_owned(), |name| name.to_string())
}

/// PyTorch's `alpha`: a tensor or a number that the other operand is multiplied by.
pub(crate) struct Factor<'py>(Option<Bound<'py, PyAny>>);

impl<'py> Factor<'py> {
    /// Multiplies nothing: neither the dtype nor the plan of `x.add(y)` knows of a factor.
    pub(crate) const ONE: Factor<'py> = Factor(None);

    /// The product, by Python's own operator: what is multiplied may be a number or an array, too.
    pub(crate) fn times(self, given: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let Some(factor) = self.0 else { return Ok(given.clone()) };
        let are_truths =
            given.cast::<PyTensor>().map_or_else(|_| given.is_instance_of::<PyBool>(), |x| x.get().tensor().dtype() == DType::Bool);
        if factor.is_instance_of::<PyBool>() && !are_truths {
            return Err(PyTypeError::new_err("argument 'alpha': a tensor or a number is wanted, not bool, for what is not of bools"));
        }
        given.mul(factor)
    }
}

impl<'py> FromPyObject<'_, 'py> for Factor<'py> {
    type Error = PyErr;

    #[cfg(feature = "stubs")]
    const INPUT_TYPE: PyStaticExpr = crate::hints::FACTOR;

    fn extract(given: Borrowed<'_, 'py, PyAny>) -> PyResult<Factor<'py>> {
        if given.cast::<PyTensor>().is_ok() {
            return Ok(Factor(Some(given.to_owned())));
        }
        match number(&given)? {
            Some(Value::Int(1) | Value::Float(1.0)) => Ok(Factor::ONE),
            Some(Value::Float(value)) if value.is_nan() => Err(argument(given.py(), "a factor of NaN", "use a number that is one")),
            Some(Value::Int(_) | Value::Float(_) | Value::Constant(_) | Value::Bool(_)) => Ok(Factor(Some(given.to_owned()))),
            None => Err(PyTypeError::new_err(format!("a tensor or a number is wanted, not {}", kind(&given)))),
        }
    }
}

/// A result of reading an argument; what is wrong names the argument, in the words of those that PyO3 reads.
pub(crate) fn of_argument<T>(py: Python<'_>, name: &str, read: PyResult<T>) -> PyResult<T> {
    read.inspect_err(|error| {
        // The error is told without the note where it takes none.
        let _ = error.value(py).call_method1("add_note", (format!("while processing '{name}'"),));
    })
}

/// Whether an object is a list of others: no text and no tensor, which are sequences too.
pub(crate) fn is_list(given: &Bound<'_, PyAny>) -> bool {
    // SAFETY: an attached interpreter, and a live object.
    let is_sequence = unsafe { ffi::PySequence_Check(given.as_ptr()) } == 1;
    is_sequence && !given.is_instance_of::<PyString>() && !given.is_instance_of::<PyTensor>()
}

fn integer(given: &Bound<'_, PyAny>) -> PyResult<i64> {
    if given.is_instance_of::<PyBool>() {
        return Err(PyTypeError::new_err("an integer is wanted, not bool"));
    }
    given.extract().map_err(|error| wide(given, error))
}

/// An integer of more than 64 bits is a value that is wrong, as others are.
fn wide(given: &Bound<'_, PyAny>, error: PyErr) -> PyErr {
    match error.is_instance_of::<pyo3::exceptions::PyOverflowError>(given.py()) {
        true => argument(given.py(), format!("the integer {given} is beyond 64 bits"), "give a smaller one"),
        false => error,
    }
}

/// An integer, or a sequence of some.
fn integers(given: &Bound<'_, PyAny>) -> PyResult<Vec<i64>> {
    match is_list(given) {
        true => given.try_iter()?.map(|item| integer(&item?)).collect(),
        false => Ok(vec![integer(given)?]),
    }
}

/// Integers that may be negative.
pub(crate) struct Ints(pub(crate) Vec<i64>);

impl<'py> FromPyObject<'_, 'py> for Ints {
    type Error = PyErr;

    #[cfg(feature = "stubs")]
    const INPUT_TYPE: PyStaticExpr = crate::hints::INTS;

    fn extract(given: Borrowed<'_, 'py, PyAny>) -> PyResult<Ints> {
        integers(&given).map(Ints)
    }
}

impl unigrad::tensor::Ints for Ints {
    fn ints(self) -> unigrad::tensor::IntList {
        self.0.into()
    }
}

/// Axes: `None` for all, one, or several.
#[derive(Clone, Debug)]
pub(crate) struct PyAxes(pub(crate) Option<Vec<i64>>);

impl<'py> FromPyObject<'_, 'py> for PyAxes {
    type Error = PyErr;

    #[cfg(feature = "stubs")]
    const INPUT_TYPE: PyStaticExpr = crate::hints::AXES;

    fn extract(given: Borrowed<'_, 'py, PyAny>) -> PyResult<PyAxes> {
        if given.is_none() {
            return Ok(PyAxes(None));
        }
        integers(&given).map(|axes| PyAxes(Some(axes)))
    }
}

impl Axes for PyAxes {
    fn axes(self) -> Option<Vec<i64>> {
        self.0
    }
}

/// Sizes: none is negative.
#[derive(Clone)]
pub(crate) struct Sizes(pub(crate) Vec<usize>);

pub(crate) fn size(value: i64) -> PyResult<usize> {
    usize::try_from(value).map_err(|_| PyValueError::new_err(format!("a size is 0 or more, not {value}")))
}

impl<'py> FromPyObject<'_, 'py> for Sizes {
    type Error = PyErr;

    #[cfg(feature = "stubs")]
    const INPUT_TYPE: PyStaticExpr = crate::hints::INTS;

    fn extract(given: Borrowed<'_, 'py, PyAny>) -> PyResult<Sizes> {
        integers(&given)?.into_iter().map(size).collect::<PyResult<Vec<usize>>>().map(Sizes)
    }
}

/// What several positional arguments, or one sequence, say: `f(2, 3)` and `f((2, 3))`.
pub(crate) fn spread(given: &Bound<'_, PyTuple>) -> PyResult<Vec<i64>> {
    match given.len() {
        1 => integers(&given.get_item(0)?),
        _ => given.iter().map(|item| integer(&item)).collect(),
    }
}

/// As [`spread`], of what may have a name as well: `f(dims=(2, 3))`. `None` where nothing is given.
pub(crate) fn spread_or_named(given: &Bound<'_, PyTuple>, name: &str, keywords: Option<&Bound<'_, PyDict>>) -> PyResult<Option<Vec<i64>>> {
    let mut named = None;
    for (keyword, value) in keywords.into_iter().flatten() {
        if !keyword.eq(name)? {
            return Err(PyTypeError::new_err(format!("got an unexpected keyword argument '{keyword}', beside '{name}'")));
        }
        named = Some(value);
    }
    match (given.is_empty(), named) {
        (true, None) => Ok(None),
        (true, Some(value)) => of_argument(given.py(), name, integers(&value)).map(Some),
        (false, None) => spread(given).map(Some),
        (false, Some(_)) => Err(PyTypeError::new_err(format!("argument '{name}' is given twice"))),
    }
}

/// One of two keywords for one thing.
pub(crate) fn either<T>(first: Option<T>, names: (&str, &str), second: Option<T>) -> PyResult<Option<T>> {
    match (first, second) {
        (Some(_), Some(_)) => Err(PyTypeError::new_err(format!("`{}` and `{}` are one argument: give one of them", names.0, names.1))),
        (first, second) => Ok(first.or(second)),
    }
}

/// `dim` or `axis`.
pub(crate) fn dim_or_axis<T>(dim: Option<T>, axis: Option<T>) -> PyResult<Option<T>> {
    either(dim, ("dim", "axis"), axis)
}

/// `dim` or `axis`, of which one is needed.
pub(crate) fn one_dim(dim: Option<isize>, axis: Option<isize>) -> PyResult<isize> {
    dim_or_axis(dim, axis)?.ok_or_else(|| PyTypeError::new_err("missing argument: `dim` (or `axis`)"))
}

/// `keepdim` or `keepdims`; false without either.
pub(crate) fn kept(keepdim: Option<bool>, keepdims: Option<bool>) -> PyResult<bool> {
    Ok(either(keepdim, ("keepdim", "keepdims"), keepdims)?.unwrap_or(false))
}

/// The tensors of a sequence.
pub(crate) fn tensors(given: &[PyRef<'_, PyTensor>]) -> Vec<Tensor> {
    given.iter().map(|tensor| tensor.tensor().clone()).collect()
}
