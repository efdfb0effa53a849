//! Python's operators.
//!
//! Always: beside a tensor stand tensors, numbers, and arrays of other libraries, on either side; for anything else Python asks the other object.

use super::{PyTensor, made};
use crate::{arguments::Other, error::OrRaise, exit::Release};
use pyo3::{
    IntoPyObjectExt,
    basic::CompareOp,
    prelude::*,
    types::{PyBool, PyTuple},
};
use std::ops::{Add, BitAnd, BitOr, BitXor, Div, Mul, Shl, Shr, Sub};
use unigrad::tensor::{DType, Operand, Tensor, Value, default_dtype};

/// An operator with the tensor on the left.
#[inline]
fn left(x: &PyTensor, py: Python<'_>, other: &Bound<'_, PyAny>, op: impl FnOnce(&Tensor, Operand) -> Tensor) -> PyResult<Py<PyAny>> {
    match Other::of(other)? {
        None => Ok(py.NotImplemented()),
        Some(other) => {
            let (x, other) = (x.tensor(), other.beside(py, x.tensor())?);
            let common = if let Operand::Tensor(other) = &other { common(x, other) } else { None };
            match (common, other) {
                (Some(dtype), Operand::Tensor(other)) => made(py, || op(&x.cast(dtype), Operand::Tensor(other.cast(dtype)))),
                (_, other) => made(py, || op(x, other)),
            }?
            .into_py_any(py)
        }
    }
}

/// The dtype of two tensors where one has no axes and the other has some, if that is not the op's own choice: operators take a tensor without axes for
/// one like any other, as NumPy and the array API standard do. Beside 16-bit floats a float stays as weak as in the methods and in PyTorch, so that a
/// loss scale does not widen what it scales.
fn common(x: &Tensor, other: &Tensor) -> Option<DType> {
    let (a, b) = (x.dtype(), other.dtype());
    if a == b {
        return None;
    }
    let wide = match (x.rank(), other.rank()) {
        (0, 1..) => b,
        (1.., 0) => a,
        _ => return None,
    };
    let is_of_standard = |dtype: DType| dtype.size() >= 4;
    let both = |is: fn(DType) -> bool| is(a) && is(b);
    (both(|dtype| dtype.is_int()) || both(|dtype| dtype.is_float()) && is_of_standard(wide)).then(|| a.promote(b))
}

/// An operator with the tensor on the right, by `with` where a number stands on the left.
fn right_of(
    x: &PyTensor,
    py: Python<'_>,
    other: &Bound<'_, PyAny>,
    op: impl FnOnce(Tensor, &Tensor) -> Tensor,
    with: impl FnOnce(Value, &Tensor) -> Tensor,
) -> PyResult<Py<PyAny>> {
    match Other::of(other)? {
        None => Ok(py.NotImplemented()),
        Some(other) => {
            let x = x.tensor();
            match other.beside(py, x)? {
                Operand::Tensor(tensor) => made(py, || op(tensor, x)),
                Operand::Value(value) => made(py, || with(value, x)),
            }?
            .into_py_any(py)
        }
    }
}

/// As [`right_of`], where a number becomes a tensor of rank 0, whose dtype counts as little as a number's.
fn right(x: &PyTensor, py: Python<'_>, other: &Bound<'_, PyAny>, op: impl FnOnce(Tensor, &Tensor) -> Tensor) -> PyResult<Py<PyAny>> {
    match Other::of(other)? {
        None => Ok(py.NotImplemented()),
        Some(other) => {
            let x = x.tensor();
            let left = match other.beside(py, x)? {
                Operand::Tensor(tensor) => tensor,
                Operand::Value(value) => weak(py, value, x)?,
            };
            made(py, || op(left, x))?.into_py_any(py)
        }
    }
}

/// A number as a tensor of rank 0, of the dtype that it makes of the tensor beside it.
fn weak(py: Python<'_>, value: Value, beside: &Tensor) -> PyResult<Tensor> {
    let (dtype, device) = (beside.dtype(), beside.device().or_raise(py)?);
    Ok(match value {
        Value::Float(value) | Value::Constant(value) => {
            Tensor::scalar(value, if dtype.is_float() { dtype } else { default_dtype() }, &device)
        }
        Value::Int(value) => {
            // Wraps, as arithmetic does.
            let number = Tensor::full_int([], value, DType::I64, &device);
            if dtype == DType::Bool { number } else { number.cast(dtype) }
        }
        Value::Bool(value) => Tensor::full_int([], value.into(), dtype, &device),
    })
}

macro_rules! arithmetic {
    ($($name:ident $reflected:ident $op:ident $with:path),* $(,)?) => {
        #[pymethods]
        impl PyTensor { $(
            fn $name(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
                left(self, py, other, |x, other| x.$op(other))
            }

            fn $reflected(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
                right_of(self, py, other, |other, x| other.$op(x), |value, x| $with(value, x))
            }
        )* }
    };
}
arithmetic!(
    __add__ __radd__ add Add::add,
    __sub__ __rsub__ sub Sub::sub,
    __mul__ __rmul__ mul Mul::mul,
    __truediv__ __rtruediv__ div Div::div,
    __and__ __rand__ bitwise_and BitAnd::bitand,
    __or__ __ror__ bitwise_or BitOr::bitor,
    __xor__ __rxor__ bitwise_xor BitXor::bitxor,
    __lshift__ __rlshift__ shl Shl::shl,
    __rshift__ __rrshift__ shr Shr::shr,
);

/// `//`: as the method, but that of an infinity is infinite, as the array API has it. Where gradients flow it is the method.
fn pythons_floor_div(x: &Tensor, other: Operand) -> Tensor {
    let quotient = x.floor_div(other.clone());
    if !quotient.dtype().is_float() || quotient.needs_grad() {
        return quotient;
    }
    x.isinf().where_(x.div(other), quotient)
}

/// `%`: as the method, but that zeros have the divisor's sign, as Python's and NumPy's. Where gradients flow it is the method.
fn pythons_rem(x: &Tensor, other: Operand) -> Tensor {
    let rest = x.rem(other.clone());
    if !rest.dtype().is_float() || rest.needs_grad() {
        return rest;
    }
    rest.eq(0.0).where_(rest.zeros_like().copysign(other), rest)
}

#[pymethods]
impl PyTensor {
    fn __floordiv__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        left(self, py, other, pythons_floor_div)
    }

    fn __rfloordiv__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        right(self, py, other, |other, x| pythons_floor_div(&other, Operand::from(x)))
    }

    fn __mod__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        left(self, py, other, pythons_rem)
    }

    fn __rmod__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        right(self, py, other, |other, x| pythons_rem(&other, Operand::from(x)))
    }

    /// NumPy leaves operators with a tensor on the right to the tensor.
    #[classattr]
    #[pyo3(name = "__array_ufunc__")]
    fn array_ufunc() -> Option<bool> {
        None
    }

    fn __matmul__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        product(self, py, other, |x, other| x.matmul(other))
    }

    fn __rmatmul__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        product(self, py, other, |x, other| other.matmul(x))
    }

    fn __pow__(&self, py: Python<'_>, exponent: &Bound<'_, PyAny>, modulo: Option<&Bound<'_, PyAny>>) -> PyResult<Py<PyAny>> {
        if modulo.is_some() {
            return Ok(py.NotImplemented());
        }
        left(self, py, exponent, |x, exponent| x.pow(exponent))
    }

    fn __rpow__(&self, py: Python<'_>, base: &Bound<'_, PyAny>, modulo: Option<&Bound<'_, PyAny>>) -> PyResult<Py<PyAny>> {
        if modulo.is_some() {
            return Ok(py.NotImplemented());
        }
        right(self, py, base, |base, x| base.pow(x))
    }

    fn __divmod__<'py>(&self, py: Python<'py>, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, [self.__floordiv__(py, other)?, self.__mod__(py, other)?])
    }

    fn __neg__(&self, py: Python<'_>) -> PyResult<PyTensor> {
        made(py, || self.tensor().neg())
    }

    fn __pos__(slf: Py<PyTensor>) -> Py<PyTensor> {
        slf
    }

    fn __abs__(&self, py: Python<'_>) -> PyResult<PyTensor> {
        made(py, || self.tensor().abs())
    }

    fn __invert__(&self, py: Python<'_>) -> PyResult<PyTensor> {
        made(py, || self.tensor().bitwise_not())
    }

    fn __richcmp__(&self, py: Python<'_>, other: &Bound<'_, PyAny>, op: CompareOp) -> PyResult<Py<PyAny>> {
        left(self, py, other, |x, other| match op {
            CompareOp::Eq => x.eq(other),
            CompareOp::Ne => x.ne(other),
            CompareOp::Lt => x.lt(other),
            CompareOp::Le => x.le(other),
            CompareOp::Gt => x.gt(other),
            CompareOp::Ge => x.ge(other),
        })
    }

    /// By identity, as `==` is elementwise.
    fn __hash__(slf: Bound<'_, PyTensor>) -> isize {
        slf.as_ptr() as isize >> 4
    }

    fn __contains__(&self, py: Python<'_>, value: Other) -> PyResult<bool> {
        let value = value.beside(py, self.tensor())?;
        made(py, || self.tensor().eq(value).any(()))?.__bool__(py)
    }

    fn __bool__(&self, py: Python<'_>) -> PyResult<bool> {
        match self.scalar(py, "the truth value")? {
            Scalar::Float(value) => Ok(value != 0.0),
            Scalar::Int(value) => Ok(value != 0),
        }
    }

    fn __float__(&self, py: Python<'_>) -> PyResult<f64> {
        match self.scalar(py, "float()")? {
            Scalar::Float(value) => Ok(value),
            Scalar::Int(value) => Ok(value as f64),
        }
    }

    fn __int__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        match self.scalar(py, "int()")? {
            // Python's own rules for what is no number, or too large for a machine's integer.
            Scalar::Float(value) => value.into_bound_py_any(py)?.call_method0("__int__"),
            Scalar::Int(value) => value.into_bound_py_any(py),
        }
    }

    fn __index__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        match self.scalar(py, "an index")? {
            Scalar::Float(_) => Err(pyo3::exceptions::PyTypeError::new_err("a float tensor is no index")),
            Scalar::Int(value) => value.into_bound_py_any(py),
        }
    }

    /// The value of a tensor of one element, as a number of Python.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor(3.0).item()
    /// 3.0
    pub(crate) fn item<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let is_bool = self.tensor().dtype() == DType::Bool;
        match self.scalar(py, "item()")? {
            Scalar::Float(value) => value.into_bound_py_any(py),
            Scalar::Int(value) if is_bool => Ok(PyBool::new(py, value != 0).to_owned().into_any()),
            Scalar::Int(value) => value.into_bound_py_any(py),
        }
    }
}

fn product(x: &PyTensor, py: Python<'_>, other: &Bound<'_, PyAny>, op: impl FnOnce(&Tensor, &Tensor) -> Tensor) -> PyResult<Py<PyAny>> {
    match Other::of(other)? {
        None | Some(Other::Operand(Operand::Value(_))) => Ok(py.NotImplemented()),
        Some(other) => match other.beside(py, x.tensor())? {
            Operand::Tensor(other) => made(py, || op(x.tensor(), &other))?.into_py_any(py),
            Operand::Value(_) => Ok(py.NotImplemented()),
        },
    }
}

/// The value of one element.
pub(super) enum Scalar {
    Float(f64),
    Int(i128),
}

impl PyTensor {
    /// The value of the only element.
    pub(super) fn scalar(&self, py: Python<'_>, what: &str) -> PyResult<Scalar> {
        let x = self.tensor();
        if x.numel() != 1 {
            let message = format!("{what} of a tensor of {} elements, {:?}: it needs one", x.numel(), x.shape());
            let help = "reduce it, as by `any()` or `sum()`, or take an element";
            return Err(crate::error::argument(py, message, help));
        }
        let dtype = x.dtype();
        let bytes = py.released(|| x.to_bytes()).or_raise(py)?;
        Ok(super::read::scalar(dtype, &bytes))
    }
}
