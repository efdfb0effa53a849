//! Data of Python's objects: numbers, nested sequences, buffers, arrays.
//!
//! In: an object. Out: a tensor with its values.
//! Always: the shape is that of the nesting; numbers without a dtype become `bool`, `int64` or the default float, as in PyTorch; arrays and NumPy's
//! numbers keep their dtype, in a list as well.
//! Never: recurses deeper than a tensor has axes.

use crate::{
    arguments::is_list,
    error::{OrRaise, argument},
    exit::Release,
    origin::here,
    tensor::PyTensor,
};
use pyo3::{
    buffer::PyUntypedBuffer,
    exceptions::{PyTypeError, PyValueError},
    ffi,
    prelude::*,
    types::{PyBool, PyFloat, PyInt, PyList, PyString},
};
use std::fmt::Display;
use unigrad::tensor::{DType, Device, Literal, Tensor, default_dtype};

/// Axes that nested sequences may have.
const MAX_DEPTH: usize = 16;

/// Whether an object is an array: it has a buffer, or says how to get one.
pub(crate) fn is_array(given: &Bound<'_, PyAny>) -> bool {
    // SAFETY: an attached interpreter, and a live object.
    let has_buffer = unsafe { ffi::PyObject_CheckBuffer(given.as_ptr()) } == 1;
    let says = |name: &str| given.hasattr(name).unwrap_or(false);
    (has_buffer && !given.is_instance_of::<PyString>()) || says("__array__") || says("__dlpack__") || says("__cuda_array_interface__")
}

/// Whether the host has the values of an array or a sequence: it is none of tensors, nor in a GPU's memory. What is too deep is told where it is read.
pub(crate) fn is_on_host(given: &Bound<'_, PyAny>) -> bool {
    let mut at = given.clone();
    for _ in 0..=MAX_DEPTH {
        if at.is_instance_of::<PyTensor>() {
            return false;
        }
        // SAFETY: an attached interpreter, and a live object.
        if unsafe { ffi::PyObject_CheckBuffer(at.as_ptr()) } == 1 {
            return !crate::exchange::is_on_cuda(&at);
        }
        if !is_list(&at) {
            return at.is_instance_of::<PyInt>();
        }
        let Ok(first) = at.get_item(0) else { return false };
        at = first;
    }
    false
}

/// A tensor of an object's values.
pub(crate) fn of_object(given: &Bound<'_, PyAny>, dtype: Option<DType>, device: Device) -> PyResult<Tensor> {
    let py = given.py();
    let _here = here(py);
    if is_array(given) {
        let tensor = of_array(given, device)?;
        return Ok(dtype.map_or_else(|| tensor.clone(), |dtype| tensor.cast(dtype)));
    }
    let mut values = Values::default();
    let shape = shape_of(given)?;
    values.read(given, &shape, 0)?;
    let dtype = dtype.unwrap_or(values.dtype);
    let mut bytes = Vec::new();
    if values.tensors.is_empty() {
        let size = dtype.size();
        bytes.reserve(values.numbers.len() * size);
        for number in &values.numbers {
            let literal = match *number {
                Number::Float(value) => float_literal(py, dtype, value)?,
                Number::Int(value) => int_literal(py, dtype, value)?,
                Number::Wide(value) => wide_literal(py, dtype, value)?,
            };
            let raw = literal.to_raw().to_le_bytes();
            bytes.extend_from_slice(raw.get(..size).unwrap_or(&raw));
        }
        return Ok(Tensor::from_bytes(&bytes, shape, dtype, &device));
    }
    // Tensors in a list are stacked.
    if !values.numbers.is_empty() {
        return Err(PyTypeError::new_err("a list of tensors and numbers is ragged: give tensors only"));
    }
    let parts: Vec<Tensor> = values.tensors;
    let stacked = Tensor::stack(&parts.iter().collect::<Vec<_>>(), 0);
    let inner = parts.first().map_or_else(Vec::new, Tensor::shape);
    let shape: Vec<usize> = shape.into_iter().chain(inner).collect();
    let whole = stacked.reshape(shape).cast(dtype);
    Ok(whole.to(&device))
}

/// A float in a dtype, of integers without its fraction: one that they do not hold is an error.
fn float_literal(py: Python<'_>, dtype: DType, value: f64) -> PyResult<Literal> {
    Literal::checked_float(dtype, value).ok_or_else(|| out_of_range(py, value, dtype, "choose a wider dtype"))
}

/// The error of a number that a dtype does not hold.
pub(crate) fn out_of_range(py: Python<'_>, value: impl Display, dtype: DType, help: &str) -> PyErr {
    argument(py, format!("{value} is out of range for {}", crate::dtype::name_of(dtype)), help)
}

/// An integer in a dtype: one that it does not hold is an error.
pub(crate) fn int_literal(py: Python<'_>, dtype: DType, value: i64) -> PyResult<Literal> {
    let literal = Literal::int(dtype, value);
    if dtype.is_int() && literal.as_f64() != Literal::int(DType::I64, value).as_f64() {
        return Err(out_of_range(py, value, dtype, "choose a wider dtype"));
    }
    Ok(literal)
}

/// An integer beyond `i64` in a dtype: one that it does not hold is an error.
pub(crate) fn wide_literal(py: Python<'_>, dtype: DType, value: u64) -> PyResult<Literal> {
    match dtype {
        DType::U64 => Ok(Literal::int(DType::U64, value as i64)),
        dtype if dtype.is_float() => Ok(Literal::float(dtype, value as f64)),
        DType::Bool => Ok(Literal::int(DType::Bool, 1)),
        dtype => Err(out_of_range(py, value, dtype, "choose uint64, or a float")),
    }
}

#[derive(Clone, Copy)]
enum Number {
    Float(f64),
    Int(i64),
    /// An integer beyond `i64`.
    Wide(u64),
}

/// What a nested list holds, in order.
struct Values {
    numbers: Vec<Number>,
    tensors: Vec<Tensor>,
    /// The dtype that all of them have in common.
    dtype: DType,
}

impl Default for Values {
    fn default() -> Values {
        // A list without numbers is one of floats.
        Values { numbers: Vec::new(), tensors: Vec::new(), dtype: default_dtype() }
    }
}

/// The error of an integer that no dtype holds.
pub(crate) fn too_large(given: &Bound<'_, PyAny>) -> PyErr {
    argument(given.py(), format!("the integer {given} is beyond 64 bits"), "give a float")
}

/// The shape that the first elements have.
fn shape_of(given: &Bound<'_, PyAny>) -> PyResult<Vec<usize>> {
    let (mut shape, mut at) = (Vec::new(), given.clone());
    while is_list(&at) && !is_number(&at) {
        if shape.len() == MAX_DEPTH {
            return Err(PyValueError::new_err(format!("sequences are nested deeper than {MAX_DEPTH} axes")));
        }
        let len = at.len()?;
        shape.push(len);
        if len == 0 {
            break;
        }
        at = at.get_item(0)?;
    }
    Ok(shape)
}

impl Values {
    fn read(&mut self, given: &Bound<'_, PyAny>, shape: &[usize], axis: usize) -> PyResult<()> {
        let Some(size) = shape.get(axis) else { return self.read_one(given, axis) };
        if !is_list(given) || given.len()? != *size {
            return Err(PyValueError::new_err(format!("rows differ in length along axis {axis}: the first has {size} elements")));
        }
        for item in given.try_iter()? {
            self.read(&item?, shape, axis + 1)?;
        }
        Ok(())
    }

    fn read_one(&mut self, given: &Bound<'_, PyAny>, axis: usize) -> PyResult<()> {
        let is_first = self.numbers.is_empty() && self.tensors.is_empty();
        let (number, dtype) = if let Ok(tensor) = given.cast::<PyTensor>() {
            let tensor = tensor.get().tensor().clone();
            self.dtype = if is_first { tensor.dtype() } else { self.dtype.promote(tensor.dtype()) };
            self.tensors.push(tensor);
            return Ok(());
        } else if let Some((number, dtype)) = of_numpy(given)? {
            (number, dtype)
        } else if let Ok(float) = given.cast::<PyFloat>() {
            (Number::Float(float.value()), default_dtype())
        } else if let Ok(truth) = given.cast::<PyBool>() {
            (Number::Int(truth.is_true().into()), DType::Bool)
        } else if given.is_instance_of::<PyInt>() {
            match given.extract::<i64>() {
                Ok(value) => (Number::Int(value), DType::I64),
                Err(_) => (Number::Wide(given.extract::<u64>().map_err(|_| too_large(given))?), DType::U64),
            }
        } else if is_list(given) && !is_number(given) {
            return Err(PyValueError::new_err(format!("rows differ in depth: a sequence where axis {axis} would end")));
        } else {
            match crate::arguments::number(given)? {
                Some(unigrad::tensor::Value::Float(value)) => (Number::Float(value), default_dtype()),
                Some(unigrad::tensor::Value::Int(value)) => (Number::Int(value), DType::I64),
                Some(unigrad::tensor::Value::Bool(value)) => (Number::Int(value.into()), DType::Bool),
                _ => {
                    let kind = given.get_type().name()?;
                    return Err(PyTypeError::new_err(format!("a tensor is made of numbers, sequences of them, or arrays, not of {kind}")));
                }
            }
        };
        self.dtype = match (self.dtype, dtype) {
            _ if is_first => dtype,
            // Integers of which one needs it; a negative one beside it is refused when it is written.
            (DType::U64, DType::I64) | (DType::I64, DType::U64) => DType::U64,
            (before, dtype) => before.promote(dtype),
        };
        self.numbers.push(number);
        Ok(())
    }
}

/// Whether an object is an array without axes: a sequence in name only.
fn is_number(given: &Bound<'_, PyAny>) -> bool {
    !given.is_exact_instance_of::<PyList>() && given.getattr("ndim").and_then(|ndim| ndim.extract::<usize>()).is_ok_and(|ndim| ndim == 0)
}

/// A number of NumPy's, or an array without axes, with its dtype; its `float64` is one of Python's floats as well. `None`: it is another object, or of
/// a dtype that no tensor has.
fn of_numpy(given: &Bound<'_, PyAny>) -> PyResult<Option<(Number, DType)>> {
    if given.is_exact_instance_of::<PyFloat>() || given.is_exact_instance_of::<PyInt>() || given.is_exact_instance_of::<PyBool>() {
        return Ok(None);
    }
    // One without axes has a buffer without a shape, which is none to read.
    let said = |name: &str| given.getattr("dtype").and_then(|dtype| dtype.getattr(name)).ok();
    let letter = said("char").and_then(|letter| letter.extract::<String>().ok());
    let size = said("itemsize").and_then(|size| size.extract::<usize>().ok());
    let (Some(letter), Some(size), true) = (letter, size, is_number(given)) else { return Ok(None) };
    let Some(dtype) = dtype_of_format(letter.as_bytes(), size) else { return Ok(None) };
    let number = match dtype {
        _ if dtype.is_float() => Number::Float(given.extract()?),
        DType::U64 => given.extract().map(Number::Int).or_else(|_| given.extract().map(Number::Wide))?,
        DType::Bool => Number::Int(given.is_truthy()?.into()),
        _ => Number::Int(given.extract()?),
    };
    Ok(Some((number, dtype)))
}

/// A tensor of an array's values and dtype.
fn of_array(given: &Bound<'_, PyAny>, device: Device) -> PyResult<Tensor> {
    let py = given.py();
    // An array without axes has a buffer without a shape.
    if is_number(given)
        && let Ok(one) = given.call_method1("reshape", (1,))
    {
        return Ok(of_array(&one, device)?.reshape(Vec::<i64>::new()));
    }
    // SAFETY: an attached interpreter, and a live object. CuPy's arrays have a buffer in name only.
    if unsafe { ffi::PyObject_CheckBuffer(given.as_ptr()) } == 1 && !crate::exchange::is_on_cuda(given) {
        return of_buffer(&buffer_of(given)?, py, device);
    }
    if let Some(tensor) = crate::exchange::read(given, device)? {
        return Ok(tensor);
    }
    let help = "convert it to a NumPy array of numbers";
    let array = given.call_method0("__array__");
    let array = array.map_err(|error| argument(py, format!("{} gives no array: {error}", given.get_type()), help))?;
    // SAFETY: as above.
    if unsafe { ffi::PyObject_CheckBuffer(array.as_ptr()) } != 1 {
        return Err(argument(py, format!("{} gives no array that can be read", given.get_type()), help));
    }
    of_buffer(&buffer_of(&array)?, py, device)
}

/// An object's buffer. Arrays of `ctypes` leave strides out, which a view of them has.
pub(crate) fn buffer_of(given: &Bound<'_, PyAny>) -> PyResult<PyUntypedBuffer> {
    PyUntypedBuffer::get(given).or_else(|_| PyUntypedBuffer::get(&given.py().import("builtins")?.call_method1("memoryview", (given,))?))
}

/// The dtype of a buffer's elements, by the letters of Python's `struct`.
fn dtype_of_format(format: &[u8], size: usize) -> Option<DType> {
    let letter = match format {
        [b'@' | b'=', letter] => *letter,
        [b'<', letter] if cfg!(target_endian = "little") => *letter,
        [b'>' | b'!', letter] if cfg!(target_endian = "big") => *letter,
        [letter] => *letter,
        _ => return None,
    };
    // The sizes of C's integers differ by machine: what counts is how many bytes there are.
    let dtype = match (letter, size) {
        (b'?', 1) => DType::Bool,
        (b'b', 1) => DType::I8,
        (b'B' | b'c', 1) => DType::U8,
        (b'h' | b'i' | b'l' | b'q' | b'n', 2) => DType::I16,
        (b'h' | b'i' | b'l' | b'q' | b'n', 4) => DType::I32,
        (b'h' | b'i' | b'l' | b'q' | b'n', 8) => DType::I64,
        (b'H' | b'I' | b'L' | b'Q' | b'N', 2) => DType::U16,
        (b'H' | b'I' | b'L' | b'Q' | b'N', 4) => DType::U32,
        (b'H' | b'I' | b'L' | b'Q' | b'N', 8) => DType::U64,
        (b'e', 2) => DType::F16,
        (b'f', 4) => DType::F32,
        (b'd', 8) => DType::F64,
        _ => return None,
    };
    Some(dtype)
}

/// The dtype of a buffer's elements.
pub(crate) fn dtype_of(py: Python<'_>, buffer: &PyUntypedBuffer) -> PyResult<DType> {
    let format = buffer.format();
    dtype_of_format(format.to_bytes(), buffer.item_size()).ok_or_else(|| {
        let cause = format!("elements of the format {format:?}");
        argument(py, cause, "use an array of bool, integers, or floats of 16, 32 or 64 bits, in the machine's byte order")
    })
}

fn of_buffer(buffer: &PyUntypedBuffer, py: Python<'_>, device: Device) -> PyResult<Tensor> {
    let dtype = dtype_of(py, buffer)?;
    let shape = buffer.shape().to_vec();
    let mut bytes = vec![0_u8; buffer.len_bytes()];
    if buffer.suboffsets().is_some() {
        return Err(argument(py, "an array of pointers", "copy it into one piece of memory"));
    }
    if bytes.is_empty() {
        // An empty buffer may have no address.
    } else if buffer.is_c_contiguous() {
        // SAFETY: a contiguous buffer has `len_bytes` bytes from here, and lives while it is held.
        let source = unsafe { std::slice::from_raw_parts(buffer.buf_ptr().cast::<u8>(), bytes.len()) };
        bytes.copy_from_slice(source);
    } else {
        gather(buffer, &shape, &mut bytes);
    }
    let tensor = py.released(|| Tensor::from_bytes(&bytes, shape, dtype, &device));
    match tensor.error() {
        Some(error) => Err(error).or_raise(py),
        None => Ok(tensor),
    }
}

/// Copies strided elements in row-major order.
fn gather(buffer: &PyUntypedBuffer, shape: &[usize], bytes: &mut [u8]) {
    let (strides, size) = (buffer.strides(), buffer.item_size());
    let base = buffer.buf_ptr().cast::<u8>();
    let mut at = vec![0_usize; shape.len()];
    for element in bytes.chunks_exact_mut(size.max(1)) {
        let offset: isize = at.iter().zip(strides).map(|(i, stride)| *i as isize * stride).sum();
        // SAFETY: each index is below its axis's size, so that the element is one of the buffer's.
        let source = unsafe { std::slice::from_raw_parts(base.offset(offset), size) };
        element.copy_from_slice(source);
        for (i, n) in at.iter_mut().zip(shape).rev() {
            *i += 1;
            if *i < *n {
                break;
            }
            *i = 0;
        }
    }
}
