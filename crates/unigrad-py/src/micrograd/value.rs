//! `Value`: a number with a gradient.
//!
//! Always: two handles of one node are equal, and hash alike. What a handle makes of micrograd's composed operators (`-`, `/`) is composed alike, so
//! graphs and digits are those of micrograd.

use super::machine::place_of;
use crate::{
    device::PyDevice,
    error::{self, OrRaise},
    exit::Release,
};
use pyo3::{
    Borrowed, IntoPyObjectExt,
    exceptions::{PyRuntimeWarning, PyTypeError},
    prelude::*,
    sync::PyOnceLock,
    types::{PyBool, PyFloat, PyInt, PyNotImplemented, PySet, PyTuple},
};
use std::sync::Arc;
use unigrad::device::Device;
use unigrad_micrograd::{Accelerator, Function, Node, Op, Ref, backward};

/// A number with a gradient, as micrograd's.
///
/// On the CPU (the default) it is computed at once, in float64; on another device when it, or a gradient, is read.
///
/// >>> from unigrad.micrograd import Value
/// >>> a, b = Value(-4.0), Value(2.0)
/// >>> c = (a * b + b**3).relu() + a / 2
/// >>> c.backward()
/// >>> c.data, a.grad, b.grad
/// (-2.0, 0.5, 0.0)
#[pyclass(name = "Value", module = "unigrad.micrograd", frozen, weakref)]
pub(crate) struct PyValue(pub(crate) Ref);

/// A value, or a number that becomes one.
pub(crate) enum Given {
    Value(Ref),
    /// And whether it is an integer.
    Number(f64, bool),
}

/// What a Python object is to an operator; nothing if it is neither a value nor a number.
pub(crate) fn operand(given: &Bound<'_, PyAny>) -> PyResult<Option<Given>> {
    if let Ok(value) = given.cast::<PyValue>() {
        return Ok(Some(Given::Value(value.get().0.clone())));
    }
    if let Ok(float) = given.cast::<PyFloat>() {
        return Ok(Some(Given::Number(float.value(), false)));
    }
    if given.is_instance_of::<PyInt>() {
        return Ok(Some(Given::Number(given.extract()?, !given.is_instance_of::<PyBool>())));
    }
    // NumPy's numbers, fractions, decimals; no arrays, whose operators are their own.
    if given.hasattr("__float__")? && !given.hasattr("__len__")? {
        return Ok(given.extract().ok().map(|number| Given::Number(number, given.hasattr("__index__").unwrap_or(false))));
    }
    Ok(None)
}

/// A number, as an argument.
fn number(given: &Bound<'_, PyAny>, name: &str) -> PyResult<f64> {
    match operand(given)? {
        Some(Given::Number(number, _)) => Ok(number),
        Some(Given::Value(_)) => Err(PyTypeError::new_err(format!("argument '{name}': a number is wanted, not a Value: use its `.data`"))),
        None => Err(PyTypeError::new_err(format!("argument '{name}': a number is wanted, not {}", given.get_type().name()?))),
    }
}

/// Where a device's values are.
fn place(device: Option<PyDevice>) -> Option<&'static Accelerator> {
    device.and_then(|device| place_of(device.0))
}

/// What a place could not do itself is told as a warning.
pub(super) fn warn(py: Python<'_>, place: Option<&'static Accelerator>) -> PyResult<()> {
    let Some(why) = place.and_then(Accelerator::take_failure) else { return Ok(()) };
    let message = format!("the CPU computed what a device could not: {why}");
    let message = std::ffi::CString::new(message.replace('\0', " ")).map_err(|error| PyTypeError::new_err(error.to_string()))?;
    PyErr::warn(py, &py.get_type::<PyRuntimeWarning>(), &message, 1)
}

/// What an operator makes.
#[inline]
pub(super) fn made(py: Python<'_>, op: Op, place: Option<&'static Accelerator>) -> PyResult<Ref> {
    let node = Node::new(op, place);
    if let Some(place) = place
        && place.is_full()
    {
        py.released(|| place.flush());
        warn(py, Some(place))?;
    }
    Ok(node)
}

pub(super) fn same_place(py: Python<'_>, a: &Ref, b: &Ref) -> PyResult<()> {
    let number = |node: &Ref| node.place().map(Accelerator::number);
    if number(a) == number(b) {
        return Ok(());
    }
    let name = |node: &Ref| device_of(py, node).map_or_else(|_| "another device".to_owned(), |device| device.0.to_string());
    let message = format!("a Value on {} meets one on {}\n help: move one of them: `b.to(a.device)`", name(a), name(b));
    Err(error::exception(py, unigrad::ErrorKind::Device, message))
}

fn device_of(py: Python<'_>, node: &Ref) -> PyResult<PyDevice> {
    let open = node.place().and_then(|place| Device::from_id(place.number()));
    match open {
        Some(device) => Ok(PyDevice(device)),
        None => py.released(|| Device::open("cpu")).map(PyDevice).or_raise(py),
    }
}

#[derive(Clone, Copy)]
enum Binary {
    Add,
    Mul,
}

impl PyValue {
    #[inline]
    fn node(&self, given: Given) -> Ref {
        match given {
            Given::Value(node) => node,
            Given::Number(number, _) => Node::leaf(number, self.0.place()),
        }
    }

    #[inline]
    fn binary(&self, py: Python<'_>, with: Binary, other: Ref) -> PyResult<PyValue> {
        let place = self.0.place();
        if place.is_some() || other.place().is_some() {
            same_place(py, &self.0, &other)?;
        }
        let (a, b) = (self.0.clone(), other);
        made(py, if matches!(with, Binary::Add) { Op::Add(a, b) } else { Op::Mul(a, b) }, place).map(PyValue)
    }

    fn call(&self, py: Python<'_>, function: Function) -> PyResult<PyValue> {
        made(py, Op::Call(function, self.0.clone()), self.0.place()).map(PyValue)
    }

    fn to_the(&self, py: Python<'_>, exponent: f64, is_whole: bool) -> PyResult<PyValue> {
        made(py, Op::Pow(self.0.clone(), exponent, is_whole), self.0.place()).map(PyValue)
    }

    fn read(&self, py: Python<'_>) -> PyResult<f64> {
        if !self.0.is_ready() {
            py.released(|| self.0.data());
            warn(py, self.0.place())?;
        }
        Ok(self.0.data())
    }

    /// An operator's result, or `NotImplemented` for what is no number.
    #[inline]
    fn with<'py>(
        &self,
        other: &Bound<'py, PyAny>,
        op: impl FnOnce(Python<'py>, Given) -> PyResult<PyValue>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = other.py();
        match operand(other)? {
            Some(given) => op(py, given)?.into_bound_py_any(py),
            None => Ok(PyNotImplemented::get(py).to_owned().into_any()),
        }
    }

    fn negative(&self, py: Python<'_>) -> PyResult<PyValue> {
        self.binary(py, Binary::Mul, Node::leaf(-1.0, self.0.place()))
    }
}

#[pymethods]
impl PyValue {
    /// A value of a number, on a device: the CPU if none is given.
    #[new]
    #[pyo3(signature = (data, *, device=None, label=""))]
    fn new(data: &Bound<'_, PyAny>, device: Option<PyDevice>, label: &str) -> PyResult<PyValue> {
        let node = Node::leaf(number(data, "data")?, place(device));
        if !label.is_empty() {
            node.set_label(label);
        }
        Ok(PyValue(node))
    }

    /// The number. Setting it changes this value only, not what was computed from it.
    #[getter]
    fn data(&self, py: Python<'_>) -> PyResult<f64> {
        self.read(py)
    }

    #[setter]
    fn set_data(&self, py: Python<'_>, data: &Bound<'_, PyAny>) -> PyResult<()> {
        let data = number(data, "data")?;
        match self.0.place() {
            Some(place) if !place.is_idle() => {
                py.released(|| self.0.set_data(data));
                warn(py, Some(place))
            }
            _ => {
                self.0.set_data(data);
                Ok(())
            }
        }
    }

    /// The gradient of the value that `backward` was called of, with respect to this one; 0 before. Leaves sum those of all calls.
    #[getter]
    fn grad(&self) -> f64 {
        self.0.grad()
    }

    #[setter]
    fn set_grad(&self, grad: &Bound<'_, PyAny>) -> PyResult<()> {
        self.0.set_grad(number(grad, "grad")?);
        Ok(())
    }

    /// Where it is.
    #[getter]
    fn device(&self, py: Python<'_>) -> PyResult<PyDevice> {
        device_of(py, &self.0)
    }

    /// A name for drawings and debugging; it is given once.
    #[getter]
    fn label(&self) -> &str {
        self.0.label()
    }

    #[setter]
    fn set_label(&self, label: &str) -> PyResult<()> {
        match self.0.set_label(label) || self.0.label() == label {
            true => Ok(()),
            false => Err(pyo3::exceptions::PyValueError::new_err(format!("argument 'label': it is called {:?} already", self.0.label()))),
        }
    }

    /// The operation that made it, as micrograd writes it: `+`, `*`, `**2`, `ReLU`; empty where it was given.
    #[getter]
    fn _op(&self, py: Python<'_>) -> PyResult<String> {
        Ok(match self.0.op() {
            Op::Leaf => String::new(),
            Op::Add(..) => "+".to_owned(),
            Op::Mul(..) => "*".to_owned(),
            Op::Pow(_, exponent, true) => format!("**{exponent}"),
            Op::Pow(_, exponent, false) => format!("**{}", PyFloat::new(py, *exponent).repr()?),
            Op::PowOf(base, _) => format!("{}**", PyFloat::new(py, *base).repr()?),
            Op::Call(function, _) => function.name().to_owned(),
            Op::Move(_) => "to".to_owned(),
            Op::Neuron { relu: true, .. } => "ReLU".to_owned(),
            Op::Neuron { relu: false, .. } => "neuron".to_owned(),
        })
    }

    /// The values that it was made from, as a set. A neuron's are its weights, its bias and its inputs.
    #[getter]
    fn _prev<'py>(slf: &Bound<'py, PyValue>) -> PyResult<Bound<'py, PySet>> {
        let py = slf.py();
        handle(py, &slf.get().0, Some(slf))?;
        let all = slf.get().0.op().children().map(|child| handle(py, child, None)).collect::<PyResult<Vec<_>>>()?;
        PySet::new(py, all)
    }

    /// Leaves the gradient of this value in all that it was made from: their `.grad`. Its own is 1.
    fn backward(&self, py: Python<'_>) -> PyResult<()> {
        // One walk at a time is in the process: another thread's may be on a device, and hear signals, for which it needs the interpreter.
        py.released(|| backward(&self.0));
        warn(py, self.0.place())
    }

    /// Sets the gradient of this value to 0.
    fn zero_grad(&self) {
        self.0.set_grad(0.0);
    }

    /// The same value on another device; gradients go back. The value itself where it is there.
    fn to<'py>(slf: &Bound<'py, PyValue>, device: PyDevice) -> PyResult<Bound<'py, PyValue>> {
        let (py, node) = (slf.py(), &slf.get().0);
        let to = place_of(device.0);
        if to.map(Accelerator::number) == node.place().map(Accelerator::number) {
            return Ok(slf.clone());
        }
        slf.get().read(py)?;
        Bound::new(py, PyValue(Node::moved(node, to)))
    }

    /// `max(x, 0)`.
    fn relu(&self, py: Python<'_>) -> PyResult<PyValue> {
        self.call(py, Function::Relu)
    }

    /// Hyperbolic tangent.
    fn tanh(&self, py: Python<'_>) -> PyResult<PyValue> {
        self.call(py, Function::Tanh)
    }

    /// `e` to the power of this value.
    fn exp(&self, py: Python<'_>) -> PyResult<PyValue> {
        self.call(py, Function::Exp)
    }

    /// Natural logarithm; NaN below 0.
    fn log(&self, py: Python<'_>) -> PyResult<PyValue> {
        self.call(py, Function::Log)
    }

    /// `1 / (1 + exp(-x))`.
    fn sigmoid(&self, py: Python<'_>) -> PyResult<PyValue> {
        self.call(py, Function::Sigmoid)
    }

    fn __add__<'py>(&self, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        self.with(other, |py, given| self.binary(py, Binary::Add, self.node(given)))
    }

    fn __radd__<'py>(&self, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        self.__add__(other)
    }

    fn __mul__<'py>(&self, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        self.with(other, |py, given| self.binary(py, Binary::Mul, self.node(given)))
    }

    fn __rmul__<'py>(&self, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        self.__mul__(other)
    }

    fn __neg__(&self, py: Python<'_>) -> PyResult<PyValue> {
        self.negative(py)
    }

    fn __pos__(&self) -> PyValue {
        PyValue(self.0.clone())
    }

    fn __sub__<'py>(&self, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        self.with(other, |py, given| {
            let minus = match given {
                Given::Value(node) => PyValue(node).negative(py)?.0,
                Given::Number(number, _) => Node::leaf(-number, self.0.place()),
            };
            self.binary(py, Binary::Add, minus)
        })
    }

    fn __rsub__<'py>(&self, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        self.with(other, |py, given| self.negative(py)?.binary(py, Binary::Add, self.node(given)))
    }

    fn __truediv__<'py>(&self, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        self.with(other, |py, given| {
            let inverse = match given {
                Given::Value(node) => PyValue(node).to_the(py, -1.0, true)?.0,
                Given::Number(number, _) => Node::leaf(number.powf(-1.0), self.0.place()),
            };
            self.binary(py, Binary::Mul, inverse)
        })
    }

    fn __rtruediv__<'py>(&self, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        self.with(other, |py, given| self.to_the(py, -1.0, true)?.binary(py, Binary::Mul, self.node(given)))
    }

    fn __pow__<'py>(&self, exponent: &Bound<'py, PyAny>, modulo: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        if !modulo.is_none() {
            return Err(PyTypeError::new_err("a power of a Value has no modulus"));
        }
        self.with(exponent, |py, given| match given {
            Given::Number(number, is_whole) => self.to_the(py, number, is_whole),
            Given::Value(_) => {
                Err(PyTypeError::new_err("an exponent is an int or a float, not a Value\n help: write `(y * x.log()).exp()` for `x**y`"))
            }
        })
    }

    fn __rpow__<'py>(&self, base: &Bound<'py, PyAny>, _modulo: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        self.with(base, |py, given| match given {
            Given::Number(number, _) => made(py, Op::PowOf(number, self.0.clone()), self.0.place()).map(PyValue),
            Given::Value(_) => Err(PyTypeError::new_err("an exponent is an int or a float, not a Value")),
        })
    }

    fn __float__(&self, py: Python<'_>) -> PyResult<f64> {
        self.read(py)
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        other.cast::<PyValue>().is_ok_and(|other| Arc::ptr_eq(&other.get().0, &self.0))
    }

    fn __hash__(&self) -> u64 {
        Arc::as_ptr(&self.0) as usize as u64 >> 4
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let (data, grad) = (PyFloat::new(py, self.read(py)?), PyFloat::new(py, self.0.grad()));
        Ok(format!("Value(data={}, grad={})", data.repr()?, grad.repr()?))
    }

    /// So that NumPy's numbers leave operators to the value.
    #[classattr]
    fn __array_ufunc__(py: Python<'_>) -> Py<PyAny> {
        py.None()
    }

    fn __copy__(&self, py: Python<'_>) -> PyResult<PyValue> {
        Ok(PyValue(Node::leaf(self.read(py)?, self.0.place())))
    }

    fn __deepcopy__(&self, py: Python<'_>, _memo: &Bound<'_, PyAny>) -> PyResult<PyValue> {
        self.__copy__(py)
    }

    /// A pickle holds the number and the device, not what it was made from.
    fn __reduce__<'py>(slf: &Bound<'py, PyValue>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        let py = slf.py();
        let data = slf.get().read(py)?.into_bound_py_any(py)?;
        let rebuild = py.import("unigrad.micrograd")?.getattr("_rebuild")?;
        let device = match slf.get().0.place() {
            None => py.None().into_bound(py),
            Some(_) => device_of(py, &slf.get().0)?.0.to_string().into_bound_py_any(py)?,
        };
        Ok((rebuild, PyTuple::new(py, [data, slf.get().0.grad().into_bound_py_any(py)?, device])?))
    }
}

/// The handle of a node that `_prev` has given before and that is still held, or a new one; `own` becomes the one to give where there is none.
fn handle<'py>(py: Python<'py>, node: &Ref, own: Option<&Bound<'py, PyValue>>) -> PyResult<Bound<'py, PyAny>> {
    static HANDLES: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let make = || -> PyResult<Py<PyAny>> { Ok(py.import("weakref")?.getattr("WeakValueDictionary")?.call0()?.unbind()) };
    let handles = HANDLES.get_or_try_init(py, make)?.bind(py);
    let key = Arc::as_ptr(node) as usize;
    let known = handles.call_method1("get", (key,))?;
    // A node at the address of one that is gone has other handles.
    if known.cast::<PyValue>().is_ok_and(|known| Arc::ptr_eq(&known.get().0, node)) {
        return Ok(known);
    }
    let made = match own {
        Some(own) => own.clone().into_any(),
        None => Bound::new(py, PyValue(node.clone()))?.into_any(),
    };
    handles.set_item(key, &made)?;
    Ok(made)
}

impl<'py> FromPyObject<'_, 'py> for Given {
    type Error = PyErr;

    fn extract(given: Borrowed<'_, 'py, PyAny>) -> PyResult<Given> {
        match operand(&given)? {
            Some(given) => Ok(given),
            None => Err(PyTypeError::new_err(format!("a Value or a number is wanted, not {}", given.get_type().name()?))),
        }
    }
}
