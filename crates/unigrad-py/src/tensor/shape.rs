//! Views and arrangements, by NumPy's and PyTorch's signatures.

use super::{PyTensor, checked, made, tuple};
use crate::{
    arguments::{Ints, PyAxes, Sizes, dim_or_axis, either, of_argument, one_dim, size, spread, spread_or_named},
    dtype::PyDType,
    error::argument,
    exit::Release,
    memory_layout::PyMemoryFormat,
};
use pyo3::{
    exceptions::PyTypeError,
    prelude::*,
    types::{PyDict, PyTuple},
};
use unigrad::tensor::{DType, Tensor};

macro_rules! casts {
    ($($(#[doc = $doc:literal])* $name:ident = $dtype:ident),* $(,)?) => {
        #[pymethods]
        impl PyTensor { $(
            $(#[doc = $doc])*
            #[pyo3(signature = (memory_format=None))]
            fn $name(&self, py: Python<'_>, memory_format: Option<PyMemoryFormat>) -> PyResult<PyTensor> {
                let _ = memory_format;
                made(py, || self.tensor().cast(DType::$dtype))
            }
        )* }
    };
}
casts!(
    /// As `float32`.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([3, 5]).float()
    /// tensor([3., 5.])
    float = F32,
    /// As `float64`.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([0.5, 2.0]).double()
    /// tensor([0.5000, 2.0000], dtype=unigrad.float64)
    double = F64,
    /// As `float16`.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([0.5, 2.0]).half()
    /// tensor([0.5000, 2.0000], dtype=unigrad.float16)
    half = F16,
    /// As `bfloat16`.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([0.5, 2.0]).bfloat16()
    /// tensor([0.5000, 2.0000], dtype=unigrad.bfloat16)
    bfloat16 = BF16,
    /// As `int32`.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([0.5, 2.0]).int()
    /// tensor([0, 2], dtype=unigrad.int32)
    int = I32,
    /// As `int64`.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([0.5, 2.0]).long()
    /// tensor([0, 2])
    long = I64,
    /// As `int16`.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([0.5, 2.0]).short()
    /// tensor([0, 2], dtype=unigrad.int16)
    short = I16,
    /// As `int8`.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([0.5, 2.0]).char()
    /// tensor([0, 2], dtype=unigrad.int8)
    char = I8,
    /// As `uint8`.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([0.5, 2.0]).byte()
    /// tensor([0, 2], dtype=unigrad.uint8)
    byte = U8,
    /// As `bool`: whether each element is not 0.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([0.5, 2.0]).bool()
    /// tensor([True, True])
    bool = Bool,
);

#[pymethods]
impl PyTensor {
    /// As another dtype.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([0.5, 2.0]).cast(unigrad.int32)
    /// tensor([0, 2], dtype=unigrad.int32)
    fn cast(&self, py: Python<'_>, dtype: PyDType) -> PyResult<PyTensor> {
        made(py, || self.tensor().cast(dtype.0))
    }

    /// As another dtype; a copy in any case, as NumPy's.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([0.5, 2.0]).astype(unigrad.int32)
    /// tensor([0, 2], dtype=unigrad.int32)
    #[pyo3(signature = (dtype, *, copy=true))]
    fn astype(&self, py: Python<'_>, dtype: PyDType, copy: bool) -> PyResult<PyTensor> {
        made(py, || match copy && dtype.0 == self.tensor().dtype() {
            true => self.tensor().contiguous(),
            false => self.tensor().cast(dtype.0),
        })
    }

    /// The same elements in row-major order as another shape; one size may be -1.
    ///
    /// >>> import unigrad
    /// >>> unigrad.arange(6).reshape(2, -1).shape
    /// (2, 3)
    #[pyo3(signature = (*shape))]
    fn reshape(&self, py: Python<'_>, shape: &Bound<'_, PyTuple>) -> PyResult<PyTensor> {
        let shape = Ints(spread(shape)?);
        made(py, || self.tensor().reshape(shape))
    }

    /// Another name for `reshape`; of a dtype: the same bits as that dtype.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([[1.0, 2.0], [3.0, 4.0]]).view((4,))
    /// tensor([1., 2., 3., 4.])
    #[pyo3(signature = (*shape))]
    fn view(&self, py: Python<'_>, shape: &Bound<'_, PyTuple>) -> PyResult<PyTensor> {
        if shape.len() == 1
            && let Ok(dtype) = shape.get_item(0)?.cast::<PyDType>()
        {
            return made(py, || self.tensor().bitcast(dtype.get().0));
        }
        self.reshape(py, shape)
    }

    /// The shape of another tensor.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([[0.0, 1.0, 2.0]]).reshape_as(unigrad.tensor([1.0, 0.0, 2.0]))
    /// tensor([0., 1., 2.])
    fn reshape_as(&self, py: Python<'_>, other: &PyTensor) -> PyResult<PyTensor> {
        made(py, || self.tensor().reshape(other.tensor().shape()))
    }

    /// Its axes in this order: one by one, as a sequence, or as `dims=`.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([0.5, 2.0]).permute(0)
    /// tensor([0.5000, 2.0000])
    #[pyo3(signature = (*dims, **named))]
    fn permute(&self, py: Python<'_>, dims: &Bound<'_, PyTuple>, named: Option<&Bound<'_, PyDict>>) -> PyResult<PyTensor> {
        let dims = spread_or_named(dims, "dims", named)?.unwrap_or_default();
        made(py, || self.tensor().permute(dims))
    }

    /// Two axes change places, as PyTorch's; with no or several other arguments all axes are arranged anew, as NumPy's.
    ///
    /// >>> import unigrad
    /// >>> unigrad.ones(2, 3).transpose(0, 1).shape
    /// (3, 2)
    #[pyo3(signature = (*dims, dim0=None, dim1=None))]
    fn transpose(&self, py: Python<'_>, dims: &Bound<'_, PyTuple>, dim0: Option<i64>, dim1: Option<i64>) -> PyResult<PyTensor> {
        let named: Vec<i64> = [dim0, dim1].into_iter().flatten().collect();
        let is_none = || dims.get_item(0).is_ok_and(|only| only.is_none());
        if named.is_empty() && (dims.is_empty() || (dims.len() == 1 && is_none())) {
            return self.reversed(py);
        }
        let given = dims.len() + named.len();
        let order = [spread(dims)?, named].concat();
        match (given, order.as_slice()) {
            (2, [a, b]) => made(py, || self.tensor().transpose(*a as isize, *b as isize)),
            _ => made(py, || self.tensor().permute(order)),
        }
    }

    /// Two axes change places.
    ///
    /// >>> import unigrad
    /// >>> unigrad.ones(2, 3).swapaxes(0, 1).shape
    /// (3, 2)
    fn swapaxes(&self, py: Python<'_>, axis0: isize, axis1: isize) -> PyResult<PyTensor> {
        made(py, || self.tensor().transpose(axis0, axis1))
    }

    /// Both axes of a matrix change places.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([0.5, 2.0]).t()
    /// tensor([0.5000, 2.0000])
    fn t(&self, py: Python<'_>) -> PyResult<PyTensor> {
        made(py, || if self.tensor().rank() < 2 { self.tensor().clone() } else { self.tensor().t() })
    }

    /// All axes in reverse order.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([[1, 2], [3, 4]]).T.tolist()
    /// [[1, 3], [2, 4]]
    #[getter]
    #[pyo3(name = "T")]
    fn reversed(&self, py: Python<'_>) -> PyResult<PyTensor> {
        made(py, || self.tensor().permute((0..self.tensor().rank() as i64).rev().collect::<Vec<i64>>()))
    }

    /// The last two axes change places.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([[1, 2], [3, 4]]).mT.tolist()
    /// [[1, 3], [2, 4]]
    #[getter]
    #[pyo3(name = "mT")]
    fn matrix_transposed(&self, py: Python<'_>) -> PyResult<PyTensor> {
        made(py, || self.tensor().transpose(-2, -1))
    }

    /// Axes of size 1 as large as asked; -1 leaves a size as it is.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([3, 5]).expand((2, 2)).tolist()
    /// [[3, 5], [3, 5]]
    #[pyo3(signature = (*shape, **named))]
    fn expand(&self, py: Python<'_>, shape: &Bound<'_, PyTuple>, named: Option<&Bound<'_, PyDict>>) -> PyResult<PyTensor> {
        let shape = Ints(spread_or_named(shape, "size", named)?.unwrap_or_default());
        made(py, || self.tensor().expand_with(shape))
    }

    /// The shape of another tensor, by NumPy's broadcasting.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([3, 5]).expand_as(unigrad.tensor([[1.0, 0.0], [0.0, 1.0]])).tolist()
    /// [[3, 5], [3, 5]]
    fn expand_as(&self, py: Python<'_>, other: &PyTensor) -> PyResult<PyTensor> {
        made(py, || self.tensor().expand(other.tensor().shape()))
    }

    /// NumPy's `broadcast_to`.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([3, 5]).broadcast_to((2, 2)).tolist()
    /// [[3, 5], [3, 5]]
    fn broadcast_to(&self, py: Python<'_>, shape: Sizes) -> PyResult<PyTensor> {
        made(py, || self.tensor().broadcast_to(shape.0))
    }

    /// Copies side by side along each axis, as PyTorch's `repeat`.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([0.5, 2.0]).repeat(2)
    /// tensor([0.5000, 2.0000, 0.5000, 2.0000])
    #[pyo3(signature = (*repeats))]
    fn repeat(&self, py: Python<'_>, repeats: &Bound<'_, PyTuple>) -> PyResult<PyTensor> {
        let times = spread(repeats)?.into_iter().map(size).collect::<PyResult<Vec<usize>>>()?;
        made(py, || self.tensor().repeat(&times))
    }

    /// Copies side by side along each axis, as NumPy's `tile`: as many as the numbers say, or `dims=`.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([0.5, 2.0]).tile(2)
    /// tensor([0.5000, 2.0000, 0.5000, 2.0000])
    #[pyo3(signature = (*repeats, **named))]
    fn tile(&self, py: Python<'_>, repeats: &Bound<'_, PyTuple>, named: Option<&Bound<'_, PyDict>>) -> PyResult<PyTensor> {
        let times = spread_or_named(repeats, "dims", named)?.unwrap_or_default();
        let times = times.into_iter().map(size).collect::<PyResult<Vec<usize>>>()?;
        made(py, || self.tensor().tile(&times))
    }

    /// Each element several times, beside itself: as many times as `repeats` says, a number or one for each element. `output_size`, the length along `dim`
    /// that comes of it, is checked where it is given.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([0.5, 2.0]).repeat_interleave(2)
    /// tensor([0.5000, 0.5000, 2.0000, 2.0000])
    #[pyo3(signature = (repeats, dim=None, *, output_size=None, axis=None))]
    fn repeat_interleave(
        &self,
        py: Python<'_>,
        repeats: &Bound<'_, PyAny>,
        dim: Option<isize>,
        output_size: Option<usize>,
        axis: Option<isize>,
    ) -> PyResult<PyTensor> {
        let dim = dim_or_axis(dim, axis)?;
        let x = if dim.is_none() { self.tensor().flatten_all() } else { self.tensor().clone() };
        let dim = dim.unwrap_or(0);
        if let Ok(counts) = repeats.cast::<PyTensor>() {
            let counts = counts.get().tensor();
            let _here = crate::origin::here(py);
            let result = py.released(|| x.repeat_interleave_by(counts, dim));
            return of_length(py, checked(py, result)?, dim, output_size);
        }
        let times = size(of_argument(py, "repeats", repeats.extract())?)?;
        of_length(py, made(py, || x.repeat_interleave(times, dim))?, dim, output_size)
    }

    /// A new axis of size 1.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([0.5, 2.0]).unsqueeze(dim=0)
    /// tensor([[0.5000, 2.0000]])
    #[pyo3(signature = (dim=None, *, axis=None))]
    fn unsqueeze(&self, py: Python<'_>, dim: Option<isize>, axis: Option<isize>) -> PyResult<PyTensor> {
        let dim = one_dim(dim, axis)?;
        made(py, || self.tensor().unsqueeze(dim))
    }

    /// Without axes of size 1: all of them, or those of `dim` that have it.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([[0.0, 1.0, 2.0]]).squeeze()
    /// tensor([0., 1., 2.])
    #[pyo3(signature = (dim=None, *, axis=None))]
    fn squeeze(&self, py: Python<'_>, dim: Option<PyAxes>, axis: Option<PyAxes>) -> PyResult<PyTensor> {
        match dim_or_axis(dim, axis)? {
            None | Some(PyAxes(None)) => made(py, || self.tensor().squeeze_all()),
            Some(axes) => made(py, || self.tensor().squeeze_axes(axes)),
        }
    }

    /// Axes from `start_dim` to `end_dim` as one.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([[1.0, 2.0], [3.0, 4.0]]).flatten()
    /// tensor([1., 2., 3., 4.])
    #[pyo3(signature = (start_dim=0, end_dim=-1))]
    fn flatten(&self, py: Python<'_>, start_dim: isize, end_dim: isize) -> PyResult<PyTensor> {
        made(py, || match self.tensor().rank() {
            0 => self.tensor().reshape([1]),
            _ => self.tensor().flatten(start_dim, end_dim),
        })
    }

    /// All elements as one axis.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([[1.0, 2.0], [3.0, 4.0]]).ravel()
    /// tensor([1., 2., 3., 4.])
    fn ravel(&self, py: Python<'_>) -> PyResult<PyTensor> {
        made(py, || self.tensor().flatten_all())
    }

    /// One axis as several.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([0.5, 2.0]).unflatten(0, (2,))
    /// tensor([0.5000, 2.0000])
    fn unflatten(&self, py: Python<'_>, dim: isize, sizes: Ints) -> PyResult<PyTensor> {
        made(py, || self.tensor().unflatten(dim, sizes))
    }

    /// Axes go elsewhere.
    ///
    /// >>> import unigrad
    /// >>> unigrad.ones(2, 3, 4).movedim(0, 2).shape
    /// (3, 4, 2)
    fn movedim(&self, py: Python<'_>, source: Ints, destination: Ints) -> PyResult<PyTensor> {
        made(py, || self.tensor().movedims(source, destination))
    }

    /// Axes go elsewhere.
    ///
    /// >>> import unigrad
    /// >>> unigrad.ones(2, 3, 4).moveaxis(0, 2).shape
    /// (3, 4, 2)
    fn moveaxis(&self, py: Python<'_>, source: Ints, destination: Ints) -> PyResult<PyTensor> {
        made(py, || self.tensor().movedims(source, destination))
    }

    /// Elements in reverse order along axes, or along all; `dims` come one by one, as a sequence, or by name.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([0.5, 2.0]).flip(0)
    /// tensor([2.0000, 0.5000])
    #[pyo3(signature = (*dims, axis=None, **named))]
    fn flip(
        &self,
        py: Python<'_>,
        dims: &Bound<'_, PyTuple>,
        axis: Option<PyAxes>,
        named: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<PyTensor> {
        let dims = spread_or_named(dims, "dims", named)?.map(|dims| PyAxes(Some(dims)));
        let axes = either(dims, ("dims", "axis"), axis)?.unwrap_or(PyAxes(None));
        made(py, || self.tensor().flip(axes))
    }

    /// Elements move along an axis, those that fall off come in on the other side; without `dims`, of all elements as one axis.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([0.5, 2.0]).roll(1)
    /// tensor([2.0000, 0.5000])
    #[pyo3(signature = (shifts, dims=None, *, axis=None))]
    fn roll(&self, py: Python<'_>, shifts: Ints, dims: Option<Ints>, axis: Option<Ints>) -> PyResult<PyTensor> {
        let dims = either(dims, ("dims", "axis"), axis)?;
        let x = self.tensor();
        match dims {
            None if shifts.0.len() == 1 => made(py, || x.flatten_all().roll(shifts.0[0], 0).reshape(x.shape())),
            None => Err(argument(py, "several shifts without axes", "give `dims`, one for each shift")),
            Some(dims) => {
                let n = dims.0.len();
                let shifts = if shifts.0.len() == 1 { vec![shifts.0[0]; n] } else { shifts.0 };
                made(py, || x.roll_axes(&shifts, dims))
            }
        }
    }

    /// The elements from `start` on, `length` of them, along an axis.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([0.5, 2.0]).narrow(0, 0, 1)
    /// tensor([0.5000])
    fn narrow(&self, py: Python<'_>, dim: isize, start: i64, length: i64) -> PyResult<PyTensor> {
        let (x, length) = (self.tensor(), of_argument(py, "length", size(length))?);
        let start = match usize::try_from(start) {
            Ok(start) => start,
            Err(_) => usize::try_from(x.dim(dim).map_or(0, |size| size as i64) + start)
                .map_err(|_| argument(py, format!("`start` is {start}"), "count from 0, or from the end"))?,
        };
        made(py, || x.narrow(dim, start, length))
    }

    /// One element of an axis, which goes.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([0.5, 2.0]).select(0, unigrad.tensor([0]))
    /// tensor(0.5000)
    fn select(&self, py: Python<'_>, dim: isize, index: i64) -> PyResult<PyTensor> {
        made(py, || self.tensor().select(dim, index))
    }

    /// Parts of a size, or of several sizes, along an axis; the size is PyTorch's `split_size_or_sections`, too.
    ///
    /// >>> import unigrad
    /// >>> [part.tolist() for part in unigrad.arange(5).split(2)]
    /// [[0, 1], [2, 3], [4]]
    #[pyo3(signature = (split_size=None, dim=0, *, axis=None, split_size_or_sections=None))]
    fn split<'py>(
        &self,
        py: Python<'py>,
        split_size: Option<&Bound<'py, PyAny>>,
        dim: isize,
        axis: Option<isize>,
        split_size_or_sections: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyTuple>> {
        let dim = axis.unwrap_or(dim);
        let given = either(split_size, ("split_size", "split_size_or_sections"), split_size_or_sections)?;
        let given = given.ok_or_else(|| PyTypeError::new_err("argument 'split_size' is missing"))?;
        match given.extract::<usize>() {
            Ok(size) => tuple(py, || self.tensor().split(size, dim)),
            Err(_) => {
                let sizes: Sizes = of_argument(py, "split_size", given.extract())?;
                tuple(py, || self.tensor().split_sizes(&sizes.0, dim))
            }
        }
    }

    /// At most `chunks` parts of equal size along an axis; the last one may be smaller.
    ///
    /// >>> import unigrad
    /// >>> [part.tolist() for part in unigrad.tensor([0.5, 2.0]).chunk(2)]
    /// [[0.5], [2.0]]
    #[pyo3(signature = (chunks, dim=0, *, axis=None))]
    fn chunk<'py>(&self, py: Python<'py>, chunks: usize, dim: isize, axis: Option<isize>) -> PyResult<Bound<'py, PyTuple>> {
        tuple(py, || self.tensor().chunk(chunks, axis.unwrap_or(dim)))
    }

    /// Parts along an axis: so many, or cut at these places, which are numbers or a tensor of them.
    ///
    /// >>> import unigrad
    /// >>> [part.tolist() for part in unigrad.arange(5).tensor_split(2)]
    /// [[0, 1, 2], [3, 4]]
    #[pyo3(signature = (indices_or_sections=None, dim=0, *, axis=None, indices=None, sections=None))]
    fn tensor_split<'py>(
        &self,
        py: Python<'py>,
        indices_or_sections: Option<&Bound<'py, PyAny>>,
        dim: isize,
        axis: Option<isize>,
        indices: Option<&Bound<'py, PyAny>>,
        sections: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyTuple>> {
        let dim = axis.unwrap_or(dim);
        let all: Vec<&Bound<'_, PyAny>> = [indices_or_sections, indices, sections].into_iter().flatten().collect();
        let [given] = all.as_slice() else { return Err(PyTypeError::new_err("argument 'indices_or_sections': give it once")) };
        let given = if given.is_instance_of::<PyTensor>() { &given.call_method0("tolist")? } else { *given };
        match given.extract::<usize>() {
            Ok(count) => tuple(py, || self.tensor().tensor_split(count, dim)),
            Err(_) => {
                let places: Ints = of_argument(py, "indices_or_sections", given.extract())?;
                tuple(py, || self.tensor().split_at(places, dim))
            }
        }
    }

    /// The parts of size 1 along an axis, without it.
    ///
    /// >>> import unigrad
    /// >>> [part.tolist() for part in unigrad.tensor([0.5, 2.0]).unbind()]
    /// [0.5, 2.0]
    #[pyo3(signature = (dim=0, *, axis=None))]
    fn unbind<'py>(&self, py: Python<'py>, dim: isize, axis: Option<isize>) -> PyResult<Bound<'py, PyTuple>> {
        tuple(py, || self.tensor().unbind(axis.unwrap_or(dim)))
    }

    /// Windows of `size` elements, `step` apart, along an axis: a new last axis.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([0.5, 2.0]).unfold(0, 2, 1)
    /// tensor([[0.5000, 2.0000]])
    fn unfold(&self, py: Python<'_>, dimension: isize, size: usize, step: usize) -> PyResult<PyTensor> {
        made(py, || self.tensor().unfold(dimension, size, step))
    }

    /// What is below a diagonal, and on it; zeros elsewhere.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([[0.0, 1.0, 2.0]]).tril()
    /// tensor([[0., 0., 0.]])
    #[pyo3(signature = (diagonal=0, *, k=None))]
    fn tril(&self, py: Python<'_>, diagonal: i64, k: Option<i64>) -> PyResult<PyTensor> {
        made(py, || self.tensor().tril(k.unwrap_or(diagonal)))
    }

    /// What is above a diagonal, and on it; zeros elsewhere.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([[0.0, 1.0, 2.0]]).triu()
    /// tensor([[0., 1., 2.]])
    #[pyo3(signature = (diagonal=0, *, k=None))]
    fn triu(&self, py: Python<'_>, diagonal: i64, k: Option<i64>) -> PyResult<PyTensor> {
        made(py, || self.tensor().triu(k.unwrap_or(diagonal)))
    }

    /// A diagonal along two axes, as the last axis.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([[1.0, 2.0], [3.0, 4.0]]).diagonal()
    /// tensor([1., 4.])
    #[pyo3(signature = (offset=0, dim1=0, dim2=1))]
    fn diagonal(&self, py: Python<'_>, offset: i64, dim1: isize, dim2: isize) -> PyResult<PyTensor> {
        made(py, || self.tensor().diagonal(offset, dim1, dim2))
    }

    /// Of a vector the matrix with it along a diagonal; of a matrix the diagonal.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([[1.0, 2.0], [3.0, 4.0]]).diag()
    /// tensor([1., 4.])
    #[pyo3(signature = (diagonal=0))]
    fn diag(&self, py: Python<'_>, diagonal: i64) -> PyResult<PyTensor> {
        made(py, || match self.tensor().rank() {
            1 => self.tensor().diag_embed_with(diagonal, -2, -1),
            _ => self.tensor().diagonal(diagonal, 0, 1),
        })
    }

    /// The last axis along a diagonal of two new ones.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([3, 5]).diag_embed().tolist()
    /// [[3, 0], [0, 5]]
    #[pyo3(signature = (offset=0, dim1=-2, dim2=-1))]
    fn diag_embed(&self, py: Python<'_>, offset: i64, dim1: isize, dim2: isize) -> PyResult<PyTensor> {
        made(py, || self.tensor().diag_embed_with(offset, dim1, dim2))
    }

    /// All elements along a diagonal.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([3, 5]).diagflat().tolist()
    /// [[3, 0], [0, 5]]
    #[pyo3(signature = (offset=0))]
    fn diagflat(&self, py: Python<'_>, offset: i64) -> PyResult<PyTensor> {
        made(py, || self.tensor().diagflat(offset))
    }

    /// Turned by 90 degrees, `k` times, in the plane of two axes.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([[1, 2], [3, 4]]).rot90().tolist()
    /// [[2, 4], [1, 3]]
    #[pyo3(signature = (k=1, dims=Ints(vec![0, 1])))]
    fn rot90(&self, py: Python<'_>, k: i64, dims: Ints) -> PyResult<PyTensor> {
        let [from, to] = dims.0[..] else {
            return Err(argument(py, format!("argument 'dims' has {} axes", dims.0.len()), "name the two axes of a plane"));
        };
        made(py, || self.tensor().rot90(k, [from as isize, to as isize]))
    }

    /// Differences of neighbours along an axis, `n` times; `prepend` and `append` are put before and behind first.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([0.5, 2.0]).diff()
    /// tensor([1.5000])
    #[pyo3(signature = (n=1, dim=-1, prepend=None, append=None, *, axis=None))]
    fn diff(
        &self,
        py: Python<'_>,
        n: i64,
        dim: isize,
        prepend: Option<&PyTensor>,
        append: Option<&PyTensor>,
        axis: Option<isize>,
    ) -> PyResult<PyTensor> {
        let (dim, n) = (axis.unwrap_or(dim), of_argument(py, "n", size(n))?);
        let parts: Vec<&Tensor> = [prepend, Some(self), append].into_iter().flatten().map(PyTensor::tensor).collect();
        made(py, || match parts.as_slice() {
            // Of no differences nothing is put before or behind.
            _ if n == 0 => self.tensor().diff(0, dim),
            [x] => x.diff(n, dim),
            parts => Tensor::concat(parts, dim).diff(n, dim),
        })
    }

    /// Elements of an axis by their numbers.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([0.5, 2.0]).index_select(0, unigrad.tensor([0]))
    /// tensor([0.5000])
    fn index_select(&self, py: Python<'_>, dim: isize, index: &PyTensor) -> PyResult<PyTensor> {
        made(py, || self.tensor().index_select(dim, index.tensor()))
    }

    /// Elements by their numbers: of an axis with `axis` or `dim`, else of all in row-major order.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([0.5, 2.0]).take(unigrad.tensor([0]))
    /// tensor([0.5000])
    #[pyo3(signature = (index, dim=None, *, axis=None))]
    fn take(&self, py: Python<'_>, index: &PyTensor, dim: Option<isize>, axis: Option<isize>) -> PyResult<PyTensor> {
        let dim = dim_or_axis(dim, axis)?;
        made(py, || match dim {
            Some(dim) => self.tensor().index_select(dim, index.tensor()),
            None => self.tensor().take(index.tensor()),
        })
    }

    /// Elements along an axis by their numbers, one for each element of `indices`; without an axis, of all elements.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([0.5, 2.0]).take_along_dim(unigrad.tensor([1, 0]))
    /// tensor([2.0000, 0.5000])
    #[pyo3(signature = (indices, dim=None, *, axis=None))]
    fn take_along_dim(&self, py: Python<'_>, indices: &PyTensor, dim: Option<isize>, axis: Option<isize>) -> PyResult<PyTensor> {
        let dim = dim_or_axis(dim, axis)?;
        made(py, || match dim {
            Some(dim) => self.tensor().take_along(dim, indices.tensor()),
            None => self.tensor().flatten_all().take_along(0, &indices.tensor().flatten_all()),
        })
    }

    /// The elements where a mask is true, as one axis.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([0.5, 2.0]).masked_select(unigrad.tensor([True, False]))
    /// tensor([0.5000])
    fn masked_select(&self, py: Python<'_>, mask: &PyTensor) -> PyResult<PyTensor> {
        let _here = crate::origin::here(py);
        let result = py.released(|| self.tensor().masked_select(mask.tensor()));
        checked(py, result)
    }

    /// Where elements are not 0: a row of indices for each; with `as_tuple` a tensor for each axis.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([0.5, 2.0]).nonzero().tolist()
    /// [[0], [1]]
    #[pyo3(signature = (*, as_tuple=false))]
    fn nonzero<'py>(&self, py: Python<'py>, as_tuple: bool) -> PyResult<Bound<'py, PyAny>> {
        let _here = crate::origin::here(py);
        let x = self.tensor();
        // As a tuple a single number is a row of one, as in PyTorch and NumPy.
        let rows = py.released(|| if as_tuple && x.rank() == 0 { x.reshape([1]).nonzero() } else { x.nonzero() });
        if as_tuple {
            return Ok(tuple(py, || rows.unbind(1))?.into_any());
        }
        Ok(Bound::new(py, checked(py, rows)?)?.into_any())
    }
}

/// A result that is as long along an axis as was said.
fn of_length(py: Python<'_>, result: PyTensor, dim: isize, wanted: Option<usize>) -> PyResult<PyTensor> {
    let shape = result.tensor().shape();
    let at = if dim < 0 { shape.len().checked_add_signed(dim) } else { usize::try_from(dim).ok() };
    match (wanted, at.and_then(|at| shape.get(at))) {
        (Some(wanted), Some(own)) if wanted != *own => Err(argument(
            py,
            format!("argument 'output_size' is {wanted}, for {own} elements"),
            "leave it out, or give what `repeats` add up to",
        )),
        _ => Ok(result),
    }
}
