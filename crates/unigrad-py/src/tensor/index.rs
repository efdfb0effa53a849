//! NumPy's indexing.
//!
//! In: integers, slices, `None`, `...`, bools, masks, arrays and sequences of integers, alone or together. Out: the part, or the tensor with another part.
//! Always: an assignment gives the object another value; what was computed from the old one stays. A parameter is assigned inside `no_grad`.

use super::{PyTensor, data, made};
use crate::{
    arguments::{Other, is_list, of_argument},
    error::{OrRaise, argument},
    exit::Release,
    origin::here,
};
use pyo3::{
    exceptions::PyTypeError,
    intern,
    prelude::*,
    types::{PyBool, PyBytes, PyEllipsis, PyInt, PyIterator, PySlice, PyString, PyTuple},
};
use unigrad::tensor::{DType, Device, IndexItem, Operand, Tensor};

/// The least and the greatest of indices that the host has.
type Extent = Option<(i64, i64)>;

/// The entries of a key.
fn items(key: &Bound<'_, PyAny>, x: &Tensor) -> PyResult<Vec<IndexItem>> {
    let py = key.py();
    let entries = match key.cast::<PyTuple>() {
        Ok(entries) => entries.iter().map(|entry| item(&entry, x)).collect::<PyResult<Vec<_>>>()?,
        Err(_) => vec![item(key, x)?],
    };
    let (mut items, extents): (Vec<IndexItem>, Vec<Extent>) = entries.into_iter().unzip();
    let has = |is_one: fn(&IndexItem) -> bool| items.iter().any(is_one);
    // Beside arrays NumPy takes a number for an array without axes: it decides where the arrays' axes go.
    let is_mixed = has(|item| matches!(item, IndexItem::Tensor(_))) && has(|item| matches!(item, IndexItem::At(_)));
    if is_mixed || extents.iter().any(Option::is_some) {
        let device = x.device().or_raise(py)?;
        // What the host has is checked now; what is in tensors only when it runs.
        let (mut axis, rank) = (0, x.rank());
        let shape = x.shape();
        let taken = |item: &IndexItem| match item {
            IndexItem::NewAxis | IndexItem::Ellipsis => 0,
            IndexItem::Tensor(mask) if mask.dtype() == DType::Bool => mask.rank(),
            IndexItem::At(_) | IndexItem::Range { .. } | IndexItem::Tensor(_) => 1,
        };
        let left = rank.saturating_sub(items.iter().map(taken).sum());
        for (item, extent) in items.iter_mut().zip(extents) {
            let width = if matches!(item, IndexItem::Ellipsis) { left } else { taken(item) };
            let number = if let IndexItem::At(at) = *item { Some(at) } else { None };
            // Indices beyond the last axis are told as such where the part is taken.
            if let Some(size) = shape.get(axis).map(|size| *size as i64) {
                let named = extent.map_or([number, None], |(least, most)| [Some(least), Some(most)]);
                if let Some(at) = named.into_iter().flatten().find(|at| !(-size..size).contains(at)) {
                    let message = format!("index {at} is out of range for axis {axis} of {shape:?}");
                    return Err(crate::error::exception(py, unigrad::ErrorKind::Index, message));
                }
            }
            if let Some(at) = number.filter(|_| is_mixed) {
                *item = IndexItem::Tensor(Tensor::full_int([], at, DType::I64, &device));
            }
            axis += width;
        }
    }
    Ok(items)
}

fn item(entry: &Bound<'_, PyAny>, x: &Tensor) -> PyResult<(IndexItem, Extent)> {
    let plain = |item| Ok((item, None));
    let py = entry.py();
    if entry.is_none() {
        return plain(IndexItem::NewAxis);
    }
    if let Ok(truth) = entry.cast::<PyBool>() {
        // A mask without axes: a new axis, of one element or of none.
        let device = x.device().or_raise(py)?;
        return plain(IndexItem::Tensor(Tensor::full_int([], truth.is_true().into(), DType::Bool, &device)));
    }
    if entry.is_instance_of::<PyInt>() {
        return plain(IndexItem::At(entry.extract()?));
    }
    if let Ok(slice) = entry.cast::<PySlice>() {
        let bound = |name: &Bound<'_, PyString>| -> PyResult<Option<i64>> {
            let value = slice.getattr(name)?;
            if value.is_none() { Ok(None) } else { clamped(&value).map(Some) }
        };
        let (start, end) = (bound(intern!(py, "start"))?, bound(intern!(py, "stop"))?);
        return plain(IndexItem::Range { start, end, step: bound(intern!(py, "step"))?.unwrap_or(1) });
    }
    if entry.is_instance_of::<PyEllipsis>() {
        return plain(IndexItem::Ellipsis);
    }
    if let Ok(tensor) = entry.cast::<PyTensor>() {
        return plain(index_tensor(tensor.get().tensor().clone())?);
    }
    // Bytes have a buffer as arrays do, and are text.
    if !entry.is_instance_of::<PyBytes>() && (data::is_array(entry) || is_list(entry)) {
        let device = x.device().or_raise(py)?;
        let is_host = device.backend() == "cpu";
        let tensor = data::of_object(entry, None, device)?;
        let extent = match data::is_on_host(entry) {
            true if is_host => extent(py, &tensor)?,
            // The same values once more, so that nothing waits for the device.
            true => extent(py, &data::of_object(entry, None, py.released(|| Device::open("cpu")).or_raise(py)?)?)?,
            false => None,
        };
        // A sequence without elements names none.
        let tensor = if tensor.numel() == 0 && tensor.dtype().is_float() { tensor.cast(DType::I64) } else { tensor };
        return Ok((index_tensor(tensor)?, extent));
    }
    if let Ok(at) = entry.call_method0("__index__") {
        return plain(IndexItem::At(at.extract()?));
    }
    let kind = entry.get_type().name()?;
    Err(PyTypeError::new_err(format!("an index is an integer, a slice, None, ..., a mask or a sequence of integers, not {kind}")))
}

/// Of integers; bools name no element, and floats are no indices.
fn extent(py: Python<'_>, indices: &Tensor) -> PyResult<Extent> {
    if !indices.dtype().is_int() {
        return Ok(None);
    }
    // What is beyond `i64` becomes negative, and out of range all the same.
    let values = py.released(|| indices.cast(DType::I64).to_vec::<i64>()).or_raise(py)?;
    Ok(values.iter().copied().min().zip(values.iter().copied().max()))
}

fn index_tensor(tensor: Tensor) -> PyResult<IndexItem> {
    if tensor.dtype().is_float() {
        let name = crate::dtype::name_of(tensor.dtype());
        return Err(pyo3::exceptions::PyIndexError::new_err(format!("an index is of integers or bools, not of {name}")));
    }
    Ok(IndexItem::Tensor(tensor))
}

/// A slice's bound: Python's integers have no end, and one beyond the machine's is beyond any axis.
fn clamped(value: &Bound<'_, PyAny>) -> PyResult<i64> {
    let value = match value.is_instance_of::<PyInt>() {
        true => value.clone(),
        false => value.call_method0("__index__").map_err(|_| PyTypeError::new_err("a slice's bounds are integers or None"))?,
    };
    match value.extract::<i64>() {
        Ok(value) => Ok(value),
        Err(_) => Ok(if value.lt(0)? { i64::MIN } else { i64::MAX }),
    }
}

/// What a bool alone says as a key, or a mask without axes.
fn truth(py: Python<'_>, key: &Bound<'_, PyAny>) -> PyResult<Option<bool>> {
    if let Ok(truth) = key.cast::<PyBool>() {
        return Ok(Some(truth.is_true()));
    }
    match key.cast::<PyTensor>() {
        Ok(mask) if mask.get().tensor().dtype() == DType::Bool && mask.get().tensor().rank() == 0 => {
            Ok(Some(matches!(mask.get().scalar(py, "a mask")?, super::operators::Scalar::Int(truth) if truth != 0)))
        }
        _ => Ok(None),
    }
}

#[pymethods]
impl PyTensor {
    fn __getitem__(&self, py: Python<'_>, key: &Bound<'_, PyAny>) -> PyResult<PyTensor> {
        if let Some(is_true) = truth(py, key)? {
            // One new axis, of one element or of none.
            return made(py, || self.tensor().unsqueeze(0).narrow(0, 0, is_true.into()));
        }
        let items = items(key, self.tensor())?;
        if items.iter().any(|item| matches!(item, IndexItem::Tensor(index) if index.dtype() == DType::Bool)) {
            // Where a mask is true is read: the shape depends on it.
            let _here = here(py);
            let result = py.released(|| self.tensor().i(items));
            return super::checked(py, result);
        }
        made(py, || self.tensor().i(items))
    }

    fn __setitem__(&self, py: Python<'_>, key: &Bound<'_, PyAny>, value: Other) -> PyResult<()> {
        let x = self.tensor();
        if let Some(is_true) = truth(py, key)? {
            // All of it, or nothing.
            return if is_true { self.__setitem__(py, PyEllipsis::get(py).as_any(), value) } else { Ok(()) };
        }
        let items = items(key, x)?;
        let value = value.within(py, x)?;
        let result = made(py, || match (items.as_slice(), value) {
            // A mask of the tensor's own shape need not be read.
            ([IndexItem::Tensor(mask)], Operand::Value(value)) if mask.dtype() == DType::Bool && mask.shape() == x.shape() => {
                x.masked_fill(mask, Operand::Value(value))
            }
            (_, Operand::Tensor(value)) => x.set_at(items.clone(), &value.cast(x.dtype())),
            (_, Operand::Value(value)) => x.set_at(items.clone(), &x.new_full([], Operand::Value(value)).cast(x.dtype())),
        })?;
        self.replace(py, result.tensor())
    }

    /// The tensor with `values` where `indices` point, a tuple of what `x[..]` takes; with `accumulate` they are added to what is there.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([0.5, 2.0]).index_put(unigrad.tensor([1, 0]), unigrad.tensor([7.0]))
    /// tensor([7., 7.])
    #[pyo3(signature = (indices, values, accumulate=false))]
    fn index_put(&self, py: Python<'_>, indices: &Bound<'_, PyAny>, values: &PyTensor, accumulate: bool) -> PyResult<PyTensor> {
        let items = of_argument(py, "indices", items(indices, self.tensor()))?;
        made(py, || self.tensor().index_put(items, values.tensor(), accumulate))
    }

    fn __delitem__(&self, _key: &Bound<'_, PyAny>) -> PyResult<()> {
        Err(PyTypeError::new_err("elements of a tensor cannot be deleted"))
    }

    /// The elements along the first axis, the last one first.
    fn __reversed__(&self, py: Python<'_>) -> PyResult<PyTensor> {
        made(py, || if self.tensor().rank() == 0 { self.tensor().clone() } else { self.tensor().flip([0_isize]) })
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyIterator>> {
        if self.tensor().rank() == 0 {
            return Err(PyTypeError::new_err("iteration over a tensor without axes"));
        }
        super::tuple(py, || self.tensor().unbind(0))?.try_iter()
    }
}

impl PyTensor {
    /// Gives the object another value.
    pub(super) fn replace(&self, py: Python<'_>, value: &Tensor) -> PyResult<()> {
        let _here = here(py);
        let x = self.tensor();
        if x.is_frozen() {
            return unigrad::tensor::no_grad(|| x.assign(value)).or_raise(py);
        }
        if x.is_variable() {
            return x.assign(value).or_raise(py);
        }
        if value.shape() != x.shape() || value.dtype() != x.dtype() {
            return Err(argument(py, "a value of another shape or dtype", "expand and cast it"));
        }
        x.become_value(value).or_raise(py)
    }
}
