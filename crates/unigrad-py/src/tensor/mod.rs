//! `unigrad.Tensor`.
//!
//! In: Python's calls. Out: tensors of the crates, each in an object of Python.
//! Always: an op that breaks a rule raises at the call. `x[i] = y` gives this object another value, and leaves what was computed from the old one.
//! Rooms: `ops` is made from the table of methods; what Python calls otherwise than Rust is in the files by family.

mod arithmetic;
pub(crate) mod data;
mod index;
mod nets;
// What PyO3 makes of methods that a macro writes has the macro's edition, not its own.
#[allow(unsafe_op_in_unsafe_fn)]
mod operators;
mod ops;
mod order;
mod quantized;
mod read;
mod reduce;
mod scatter;
mod shape;
mod statistics;
mod text;

use crate::{
    arguments::{Other, of_argument},
    autograd::{_leaf, PyGradientNode},
    device::{self, PyDevice},
    dtype::PyDType,
    error::{self, OrRaise, argument},
    exit::Release,
    memory_layout::{PyLayout, PyMemoryFormat},
    origin::here,
};
use pyo3::{
    exceptions::PyTypeError,
    prelude::*,
    types::{PyBool, PyBytes, PyTuple},
};
pub(crate) use quantized::PyQuantized;
use unigrad::tensor::{Format, GradientNode, Operand, Tensor, Value};

/// An n-dimensional array on a device.
///
/// Ops record what to compute; a read (`item`, `tolist`, `numpy`, printing) computes it, fused.
///
/// >>> import unigrad
/// >>> x = unigrad.tensor([[1.0, 2.0], [3.0, 4.0]])
/// >>> (x * 2).sum().item()
/// 20.0
#[pyclass(name = "Tensor", module = "unigrad", subclass, weakref, frozen)]
pub(crate) struct PyTensor(Tensor);

impl PyTensor {
    /// The tensor.
    #[inline]
    pub(crate) fn tensor(&self) -> &Tensor {
        &self.0
    }
}

impl From<Tensor> for PyTensor {
    fn from(tensor: Tensor) -> PyTensor {
        PyTensor(tensor)
    }
}

/// The result of an op, or the exception for a rule that it broke.
#[inline]
pub(crate) fn checked(py: Python<'_>, tensor: Tensor) -> PyResult<PyTensor> {
    if tensor.is_invalid() { Err(refused(py, &tensor)) } else { Ok(PyTensor(tensor)) }
}

#[cold]
fn refused(py: Python<'_>, tensor: &Tensor) -> PyErr {
    let internal = || unigrad::Error::Internal("an invalid tensor without an error".into());
    error::raised(py, &tensor.error().unwrap_or_else(internal))
}

/// What an op makes, as the line of Python that runs.
#[inline]
pub(crate) fn made(py: Python<'_>, op: impl FnOnce() -> Tensor) -> PyResult<PyTensor> {
    let _here = here(py);
    checked(py, op())
}

/// What an op of several results makes.
pub(crate) fn all_made(py: Python<'_>, op: impl FnOnce() -> Vec<Tensor>) -> PyResult<Vec<PyTensor>> {
    let _here = here(py);
    op().into_iter().map(|tensor| checked(py, tensor)).collect()
}

/// As a tuple.
pub(crate) fn tuple<'py>(py: Python<'py>, op: impl FnOnce() -> Vec<Tensor>) -> PyResult<Bound<'py, PyTuple>> {
    PyTuple::new(py, all_made(py, op)?.into_iter().map(|tensor| Bound::new(py, tensor)).collect::<PyResult<Vec<_>>>()?)
}

#[pymethods]
impl PyTensor {
    /// A tensor of data: numbers, nested sequences, arrays of NumPy or of another library; see `unigrad.tensor`.
    #[new]
    #[pyo3(signature = (data, *, dtype=None, device=None, requires_grad=false))]
    fn new(
        py: Python<'_>,
        data: &Bound<'_, PyAny>,
        dtype: Option<PyDType>,
        device: Option<PyDevice>,
        requires_grad: bool,
    ) -> PyResult<PyTensor> {
        let tensor = made_of(py, data, dtype, device)?;
        let _here = here(py);
        let tensor = if requires_grad { tensor.requires_grad() } else { tensor };
        checked(py, tensor)
    }

    /// Sizes per axis, as a tuple.
    ///
    /// >>> import unigrad
    /// >>> unigrad.ones(2, 3).shape
    /// (2, 3)
    #[getter]
    fn shape<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.0.shape())
    }

    /// Sizes per axis; of one axis with `dim`.
    #[pyo3(signature = (dim=None))]
    fn size<'py>(&self, py: Python<'py>, dim: Option<isize>) -> PyResult<Bound<'py, PyAny>> {
        match dim {
            Some(dim) => Ok(self.0.dim(dim).or_raise(py)?.into_pyobject(py)?.into_any()),
            None => Ok(self.shape(py)?.into_any()),
        }
    }

    /// The element type.
    ///
    /// >>> import unigrad
    /// >>> unigrad.ones(2).dtype
    /// unigrad.float32
    #[getter]
    fn dtype(&self) -> PyDType {
        PyDType(self.0.dtype())
    }

    /// Where it is.
    ///
    /// >>> import unigrad
    /// >>> unigrad.ones(2).device == unigrad.Device('cpu')
    /// True
    #[getter]
    fn device(&self, py: Python<'_>) -> PyResult<PyDevice> {
        self.0.device().map(PyDevice).or_raise(py)
    }

    /// What computed the tensor, for gradients: an `autograd.Node`, whose `name()` is that of its last op. `None` of a leaf, and where no gradient flows.
    ///
    /// >>> import unigrad
    /// >>> x = unigrad.ones(2, requires_grad=True)
    /// >>> x.grad_fn, x.exp().grad_fn
    /// (None, <ExpBackward0>)
    #[getter]
    fn grad_fn<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        // A leaf may have become another value's node, whose gradient it is not.
        match GradientNode::of(&self.0).filter(|node| !node.is_leaf()) {
            Some(node) => py.import("unigrad.autograd")?.getattr("_node")?.call1((PyGradientNode(node),)).map(Some),
            None => Ok(None),
        }
    }

    /// How it keeps its elements: `unigrad.strided`.
    ///
    /// >>> import unigrad
    /// >>> unigrad.ones(2).layout
    /// unigrad.strided
    #[getter]
    fn layout(&self, py: Python<'_>) -> PyResult<Py<PyLayout>> {
        crate::memory_layout::strided(py)
    }

    /// The number of axes.
    ///
    /// >>> import unigrad
    /// >>> unigrad.ones(2, 3).ndim
    /// 2
    #[getter]
    fn ndim(&self) -> usize {
        self.0.rank()
    }

    /// The number of axes.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([0.5, 2.0]).dim()
    /// 1
    fn dim(&self) -> usize {
        self.0.rank()
    }

    /// The number of elements.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([0.5, 2.0]).numel()
    /// 2
    fn numel(&self) -> usize {
        self.0.numel()
    }

    /// Bytes of an element.
    ///
    /// >>> import unigrad
    /// >>> unigrad.ones(2, 3).itemsize
    /// 4
    #[getter]
    fn itemsize(&self) -> usize {
        self.0.dtype().size()
    }

    /// Bytes of all elements.
    ///
    /// >>> import unigrad
    /// >>> unigrad.ones(2, 3).nbytes
    /// 24
    #[getter]
    fn nbytes(&self, py: Python<'_>) -> PyResult<usize> {
        Format::Plain(self.0.dtype()).bytes_for(&self.0.shape()).map_err(|error| argument(py, error.cause, &error.help))
    }

    /// Whether a gradient may flow through it.
    ///
    /// >>> import unigrad
    /// >>> unigrad.ones(2, requires_grad=True).requires_grad
    /// True
    #[getter]
    fn requires_grad(&self) -> bool {
        self.0.needs_grad() && !self.0.is_frozen()
    }

    #[setter]
    fn set_requires_grad(slf: Bound<'_, PyTensor>, requires_grad: bool) -> PyResult<()> {
        PyTensor::requires_grad_(slf, requires_grad).map(drop)
    }

    /// Whether gradients arrive at it: a tensor that was not computed, with `requires_grad`.
    ///
    /// >>> import unigrad
    /// >>> unigrad.ones(2, requires_grad=True).is_leaf
    /// True
    #[getter]
    fn is_leaf(&self) -> bool {
        self.0.is_variable() || !self.0.needs_grad()
    }

    /// From now on gradients arrive here; with `False` no more. Returns the tensor itself.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([0.5, 2.0]).requires_grad_()
    /// tensor([0.5000, 2.0000], requires_grad=True)
    #[pyo3(signature = (requires_grad=true))]
    fn requires_grad_<'py>(slf: Bound<'py, PyTensor>, requires_grad: bool) -> PyResult<Bound<'py, PyTensor>> {
        slf.get().require(slf.py(), requires_grad)?;
        if requires_grad {
            _leaf(&slf)?;
        }
        Ok(slf)
    }

    /// The gradient that `backward` has left, or `None`.
    ///
    /// >>> import unigrad
    /// >>> unigrad.ones(2, requires_grad=True).grad is None
    /// True
    #[getter]
    fn grad(&self) -> Option<PyTensor> {
        self.0.grad().map(PyTensor)
    }

    #[setter]
    fn set_grad(&self, grad: Option<&PyTensor>) {
        self.0.set_grad(grad.map(|grad| grad.0.clone()));
    }

    /// Adds the gradients of this loss to every leaf that it depends on. `gradient` is what arrives at it, needed where it has more than one element.
    ///
    /// >>> import unigrad
    /// >>> x = unigrad.tensor([1.0, 3.0], requires_grad=True)
    /// >>> (x * x).sum().backward()
    /// >>> x.grad
    /// tensor([2., 6.])
    #[pyo3(signature = (gradient=None, *, retain_graph=false))]
    fn backward(&self, py: Python<'_>, gradient: Option<&PyTensor>, retain_graph: bool) -> PyResult<()> {
        let _here = here(py);
        match gradient {
            Some(gradient) => self.0.backward_with(&gradient.0),
            None if retain_graph || crate::autograd::is_retaining() => self.0.backward_retain(),
            None => self.0.backward(),
        }
        .or_raise(py)
    }

    /// The same value without a way for gradients.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([0.5, 2.0]).detach()
    /// tensor([0.5000, 2.0000])
    fn detach(&self, py: Python<'_>) -> PyResult<PyTensor> {
        made(py, || self.0.detach())
    }

    /// The same value in memory of its own, with a way for gradients.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([0.5, 2.0]).clone()
    /// tensor([0.5000, 2.0000])
    #[pyo3(signature = (*, memory_format=None))]
    fn clone(&self, py: Python<'_>, memory_format: Option<PyMemoryFormat>) -> PyResult<PyTensor> {
        let _ = memory_format;
        // A tensor of its own with the same node: what is written to one of the two in place is not the other's.
        made(py, || self.0.reshape(self.0.shape()))
    }

    /// Computes the value now. Returns the tensor itself.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([0.5, 2.0]).realize()
    /// tensor([0.5000, 2.0000])
    fn realize<'py>(slf: Bound<'py, PyTensor>) -> PyResult<Bound<'py, PyTensor>> {
        let py = slf.py();
        let tensor = slf.get().tensor();
        py.released(|| tensor.realize()).or_raise(py)?;
        Ok(slf)
    }

    /// Whether the value has been computed.
    ///
    /// >>> import unigrad
    /// >>> unigrad.ones(2).realize().is_realized
    /// True
    #[getter]
    fn is_realized(&self) -> bool {
        self.0.is_realized()
    }

    /// On another device, or as another dtype, or both: `x.to("cuda")`, `x.to(unigrad.float16)`, `x.to("cuda", unigrad.float16)`, `x.to(other)`.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([1.5, 2.5]).to(unigrad.int32)
    /// tensor([1, 2], dtype=unigrad.int32)
    #[pyo3(signature = (*args, device=None, dtype=None, non_blocking=false, copy=false, memory_format=None))]
    fn to(
        slf: Bound<'_, PyTensor>,
        args: &Bound<'_, PyTuple>,
        device: Option<PyDevice>,
        dtype: Option<PyDType>,
        non_blocking: bool,
        copy: bool,
        memory_format: Option<PyMemoryFormat>,
    ) -> PyResult<Py<PyTensor>> {
        let py = slf.py();
        // Work is queued and waited for when it is read, whatever is asked for.
        let _ = (non_blocking, memory_format);
        let (mut device, mut dtype, mut copy) = (device, dtype, copy);
        let mut flags = 0;
        for given in args.iter() {
            if given.is_none() {
                continue;
            }
            if let Ok(flag) = given.cast::<PyBool>() {
                // `non_blocking` and `copy`, in PyTorch's order.
                flags += 1;
                match flags {
                    1 => {}
                    2 => copy = flag.is_true(),
                    _ => return Err(PyTypeError::new_err("`to` takes two bools: `non_blocking` and `copy`")),
                }
            } else if let Ok(other) = given.cast::<PyTensor>() {
                (device, dtype) = (Some(other.get().device(py)?), Some(other.get().dtype()));
            } else if let Ok(known) = given.cast::<PyDType>() {
                dtype = Some(*known.get());
            } else if let Some(known) = given.extract::<String>().ok().as_deref().and_then(crate::dtype::named) {
                dtype = Some(PyDType(known));
            } else {
                device = Some(given.extract()?);
            }
        }
        let this = slf.get().tensor();
        let stays = |this: &Tensor| -> PyResult<bool> {
            Ok(device.is_none_or(|to| this.device_id() == to.0.id()) && dtype.is_none_or(|to| to.0 == this.dtype()))
        };
        if stays(this)? && !copy {
            return Ok(slf.unbind());
        }
        let result = made(py, || {
            let here = if copy && device.is_none_or(|to| this.device_id() == to.0.id()) { this.contiguous() } else { this.clone() };
            let cast = dtype.map_or_else(|| here.clone(), |dtype| here.cast(dtype.0));
            match device {
                Some(device) if device.0.id() != this.device_id() => cast.to(&device.0),
                _ => cast,
            }
        })?;
        Py::new(py, result)
    }

    /// On the CPU.
    ///
    /// >>> import unigrad
    /// >>> unigrad.ones(2).cpu().device
    /// Device('cpu:0')
    #[pyo3(signature = (*, memory_format=None))]
    fn cpu(slf: Bound<'_, PyTensor>, memory_format: Option<PyMemoryFormat>) -> PyResult<Py<PyTensor>> {
        let py = slf.py();
        let device = py.released(|| unigrad::device::Device::open("cpu")).or_raise(py)?;
        PyTensor::to(slf, &PyTuple::empty(py), Some(PyDevice(device)), None, false, false, memory_format)
    }

    /// The value of another tensor, or a number everywhere, for all holders of this one: of its shape, dtype and device. Returns the tensor itself.
    /// `non_blocking` is PyTorch's, and changes nothing.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([0.5, 2.0]).copy_(unigrad.tensor([7.0]))
    /// tensor([7., 7.])
    #[pyo3(signature = (source, non_blocking=false))]
    fn copy_<'py>(slf: Bound<'py, PyTensor>, source: Other, non_blocking: bool) -> PyResult<Bound<'py, PyTensor>> {
        let py = slf.py();
        let _ = non_blocking;
        {
            let _here = here(py);
            let this = slf.get().tensor();
            let device = this.device().or_raise(py)?;
            let source = match source.within(py, this)? {
                Operand::Tensor(source) => source,
                Operand::Value(Value::Float(value) | Value::Constant(value)) => Tensor::full([0; 0], value, this.dtype(), &device),
                Operand::Value(Value::Int(value)) => Tensor::full_int([0; 0], value, this.dtype(), &device),
                Operand::Value(Value::Bool(value)) => Tensor::full_int([0; 0], value.into(), this.dtype(), &device),
            };
            let value = source.cast(this.dtype()).expand(this.shape());
            let value = value.to(&device);
            let has_gradient = || this.needs_grad() || value.needs_grad() || unigrad::tensor::is_differentiated(&value);
            if !this.is_variable() && unigrad::tensor::grad_enabled() && has_gradient() {
                // The way of the gradient is that of the new value; what was computed from the old one has the old one's.
                this.become_value(&value)
            } else if this.is_frozen() {
                unigrad::tensor::no_grad(|| this.assign(&value))
            } else {
                this.assign(&value)
            }
            .or_raise(py)?;
        }
        Ok(slf)
    }

    /// Another value for all holders, of whatever shape, with the way of its gradient; a leaf that requires a gradient takes the values, inside of `no_grad`.
    fn _become<'py>(slf: Bound<'py, PyTensor>, value: &PyTensor) -> PyResult<Bound<'py, PyTensor>> {
        let py = slf.py();
        {
            let _here = here(py);
            let this = slf.get().tensor();
            if !this.is_variable() {
                this.become_value(&value.0)
            } else if this.is_frozen() || !unigrad::tensor::grad_enabled() {
                this.set_data_of_any_shape(&value.0)
            } else {
                // An error that says so.
                this.assign(&value.0)
            }
            .or_raise(py)?;
        }
        Ok(slf)
    }

    /// The values without a way for gradients. What is written to them in place is written to the tensor; set to another tensor, it has that one's values.
    ///
    /// >>> import unigrad
    /// >>> w = unigrad.tensor([1.0, 2.0], requires_grad=True)
    /// >>> w.data.mul_(2.0), w.data.requires_grad
    /// (tensor([2., 4.]), False)
    #[getter]
    fn data<'py>(slf: Bound<'py, PyTensor>) -> PyResult<Bound<'py, PyTensor>> {
        let py = slf.py();
        Ok(py.import("unigrad._torch_names.in_place")?.getattr("_data")?.call1((slf,))?.cast_into::<PyTensor>()?)
    }

    #[setter]
    fn set_data(&self, py: Python<'_>, data: &PyTensor) -> PyResult<()> {
        let _here = here(py);
        self.0.set_data_of_any_shape(&data.0.detach()).or_raise(py)
    }

    /// Another object for the same tensor.
    fn _alias(&self) -> PyTensor {
        PyTensor(self.0.clone())
    }

    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        match self.0.dims().or_raise(py)?.first() {
            Some(size) => Ok(*size),
            None => Err(pyo3::exceptions::PyTypeError::new_err("len() of a tensor without axes")),
        }
    }

    /// What a pickle holds: bytes, dtype, shape, device, and whether gradients arrive at it.
    #[expect(clippy::type_complexity, reason = "the protocol's own")]
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, (Bound<'py, PyBytes>, PyDType, Vec<usize>, String, bool))> {
        let x = &self.0;
        let bytes = py.released(|| x.to_bytes()).or_raise(py)?;
        let device = x.device().or_raise(py)?.to_string();
        let rebuild = py.import("unigrad._unigrad")?.getattr("_rebuild")?;
        Ok((rebuild, (PyBytes::new(py, &bytes), PyDType(x.dtype()), x.shape(), device, x.is_variable() && !x.is_frozen())))
    }

    fn __copy__(&self, py: Python<'_>) -> PyResult<PyTensor> {
        checked(py, self.0.clone())
    }

    /// A copy that shares nothing: a leaf with `requires_grad` if this one is.
    fn __deepcopy__(&self, py: Python<'_>, _memo: &Bound<'_, PyAny>) -> PyResult<PyTensor> {
        if self.0.needs_grad() && !self.0.is_variable() {
            let help = "copy a leaf, or `detach()` it first";
            let message = format!(
                "a tensor {:?} that is computed from one with `requires_grad` has no copy of its own\n help: {help}",
                self.0.shape()
            );
            return Err(error::exception(py, unigrad::ErrorKind::Autograd, message));
        }
        made(py, || {
            let copy = self.0.detach().contiguous();
            if self.0.is_variable() && !self.0.is_frozen() { copy.requires_grad() } else { copy }
        })
    }
}

impl PyTensor {
    fn require(&self, py: Python<'_>, requires_grad: bool) -> PyResult<()> {
        let _here = here(py);
        match (self.0.is_variable(), requires_grad) {
            (true, _) => self.0.set_trainable(requires_grad).or_raise(py),
            (false, true) => self.0.become_variable().or_raise(py),
            (false, false) if self.0.needs_grad() => {
                let message = "it is computed from a tensor that requires a gradient\n help: `detach()` it".to_owned();
                Err(error::exception(py, unigrad::ErrorKind::Autograd, message))
            }
            (false, false) => Ok(()),
        }
    }
}

/// A tensor of data.
pub(crate) fn made_of(py: Python<'_>, given: &Bound<'_, PyAny>, dtype: Option<PyDType>, device: Option<PyDevice>) -> PyResult<Tensor> {
    let _here = here(py);
    if let Ok(tensor) = given.cast::<PyTensor>() {
        let tensor = tensor.get().tensor().detach();
        let tensor = dtype.map_or_else(|| tensor.clone(), |dtype| tensor.cast(dtype.0));
        return Ok(match device {
            Some(device) if device.0.id() != tensor.device_id() => tensor.to(&device.0),
            _ => tensor.contiguous(),
        });
    }
    let device = device::or_default(py, device)?;
    of_argument(py, "data", data::of_object(given, dtype.map(|dtype| dtype.0), device))
}
