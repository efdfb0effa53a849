//! Elements put in by position: `index_fill`, `index_put`, `put`, `masked_scatter`, and scatters that reduce.
//!
//! In: tensors, positions, values. Out: a tensor of the first one's shape and dtype with some elements changed.
//! Always: positions may be negative, to count from the end; beyond an axis they are an error when it runs. Of several values for one place
//! the last one stays. Values take the tensor's dtype.
//! Never: changes a tensor in place, or reads values, but for a mask as an index.

use crate::{
    Index, IndexItem, Operand, Tensor,
    axes::{resolve_axis, scalar_as_vector},
    creation::unheld,
    index::{try_index, try_index_scatter, try_scatter},
    promotion::{promote, to_sum, value_expr},
};
use unigrad_graph::{BinaryOp, DType, ErrorKind, Expr, Literal, ScatterMode};

/// How [`Tensor::scatter_reduce`] and [`Tensor::index_reduce`] combine values that meet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScatterReduce {
    /// Their sum.
    Sum,
    /// Their product.
    Prod,
    /// Their mean; of integers rounded toward negative infinity.
    Mean,
    /// The greatest.
    Max,
    /// The least.
    Min,
}

/// The first of them that carries an error.
pub(crate) fn first_invalid(tensors: &[&Tensor]) -> Option<Tensor> {
    tensors.iter().find(|tensor| tensor.is_invalid()).map(|tensor| (*tensor).clone())
}

/// One value for elements of `x`.
#[track_caller]
fn single_value(op: &str, x: &Expr, value: Operand) -> Result<Expr, Expr> {
    if x.error().is_some() {
        return Err(x.clone());
    }
    let value = match value {
        Operand::Value(value) => {
            return match unheld(op, value, x.dtype()) {
                Some(invalid) => Err(invalid.expr()),
                None => Ok(value_expr(value, x.dtype(), &[], x.device())),
            };
        }
        Operand::Tensor(value) => value.expr(),
    };
    if value.error().is_some() {
        return Err(value);
    }
    if value.rank() != 0 {
        let message = format!("a value {:?} for elements of {:?}", value.shape(), x.shape());
        return Err(Expr::fail(ErrorKind::Shape, op, message, "the value is a number, or a tensor of rank 0", &[x, &value]));
    }
    Ok(value.cast(x.dtype()))
}

/// Values that are not of a higher kind or a wider dtype than what they go into.
#[track_caller]
fn fitting(op: &str, x: &Expr, values: &Expr) -> Result<Expr, Expr> {
    if values.error().is_some() {
        return Err(values.clone());
    }
    if promote(x, values) != x.dtype() || !x.dtype().promotes_with(values.dtype()) {
        let message = format!("values of {} into {}", values.dtype(), x.dtype());
        return Err(Expr::fail(ErrorKind::DType, op, message, "cast the values", &[x, values]));
    }
    Ok(values.cast(x.dtype()))
}

#[track_caller]
fn try_index_fill(x: &Expr, axis: i64, index: &Expr, value: Operand) -> Result<Expr, Expr> {
    let value = single_value("index_fill", x, value)?;
    if index.error().is_some() {
        return Err(index.clone());
    }
    let mut shape = x.shape().clone();
    if scalar_as_vector(x, axis).is_none() {
        shape[resolve_axis(x, "index_fill", axis)?] = index.numel();
    }
    try_index_scatter(x, "index_fill", axis, index, &value.expand(&shape), ScatterMode::Set)
}

#[track_caller]
fn try_index_put(x: &Expr, items: Vec<IndexItem>, values: &Expr, accumulate: bool) -> Result<Expr, Expr> {
    if x.error().is_some() {
        return Err(x.clone());
    }
    // The positions of the part are what the same index picks from the elements' numbers.
    let numbers = Expr::iota(&[x.numel()], 0, DType::I64, x.device()).reshape(x.shape());
    let part = try_index(&numbers, items)?;
    let values = fitting("index_put", x, values)?.expand(part.shape());
    if values.error().is_some() {
        return Err(values);
    }
    let (part, values) = (part.reshape(&[part.numel()]), values.reshape(&[values.numel()]));
    Ok(scattered_flat(x, &part, &values, accumulate))
}

/// Put in by the elements' numbers; sums of half types are made in `f32`.
#[track_caller]
fn scattered_flat(x: &Expr, index: &Expr, values: &Expr, accumulate: bool) -> Expr {
    let flat = x.reshape(&[x.numel()]);
    let flat = if accumulate {
        let wide = if x.dtype().is_float() { x.dtype().compute() } else { x.dtype() };
        flat.cast(wide).scatter(0, ScatterMode::Add, index, &values.cast(wide)).cast(x.dtype())
    } else {
        flat.scatter(0, ScatterMode::Set, index, values)
    };
    flat.reshape(x.shape())
}

#[track_caller]
fn try_put(x: &Expr, index: &Expr, values: &Expr, accumulate: bool) -> Result<Expr, Expr> {
    if x.error().is_some() {
        return Err(x.clone());
    }
    let index = crate::index::as_index("put", index)?;
    let values = fitting("put", x, values)?;
    if index.numel() != values.numel() {
        let message = format!("{} positions for {} values", index.numel(), values.numel());
        return Err(Expr::fail(ErrorKind::Shape, "put", message, "give one position for each value", &[x, &index, &values]));
    }
    let (index, values) = (index.reshape(&[index.numel()]), values.reshape(&[values.numel()]));
    Ok(scattered_flat(x, &index, &values, accumulate))
}

#[track_caller]
fn try_masked_scatter(x: &Expr, mask: &Expr, source: &Expr) -> Result<Expr, Expr> {
    for e in [x, mask, source] {
        if e.error().is_some() {
            return Err(e.clone());
        }
    }
    let source = fitting("masked_scatter", x, source)?;
    let (x, mask) = crate::promotion::broadcast("masked_scatter", x, &mask.cast(DType::Bool))?;
    // The number of each element among the chosen ones, from 1 on; 0 is a place of its own in front of the source, for the others.
    let numbers = mask.reshape(&[mask.numel()]).cast(DType::I64).scan(unigrad_graph::ScanOp::Sum, 0, false);
    let numbers = numbers.reshape(mask.shape());
    let numbers = mask.select(&numbers, &numbers.zeros_like());
    let front = Expr::constant(Literal::zero(x.dtype()), &[1], x.device());
    let source = Tensor::from_expr(Expr::concat(&[front, source.reshape(&[source.numel()])], 0));
    let taken = source.take(&Tensor::from_expr(numbers)).expr();
    if taken.error().is_some() {
        return Err(taken);
    }
    Ok(mask.select(&taken, &x))
}

#[track_caller]
fn try_scatter_value(x: &Expr, axis: i64, index: &Expr, value: Operand) -> Result<Expr, Expr> {
    let value = single_value("scatter_value", x, value)?;
    if index.error().is_some() {
        return Err(index.clone());
    }
    try_scatter(x, "scatter_value", axis, index, &value.expand(index.shape()), ScatterMode::Set)
}

/// Where values go: each by a position of its own, or whole slices by a vector of numbers.
struct Places<'a> {
    op: &'a str,
    axis: i64,
    index: &'a Expr,
    slices: bool,
}

impl Places<'_> {
    #[track_caller]
    fn scatter(&self, base: &Expr, source: &Expr, mode: ScatterMode) -> Result<Expr, Expr> {
        if self.slices {
            try_index_scatter(base, self.op, self.axis, self.index, source, mode)
        } else {
            try_scatter(base, self.op, self.axis, self.index, source, mode)
        }
    }

    #[track_caller]
    fn reduce(&self, base: &Expr, source: &Expr, mode: ScatterReduce, include_self: bool) -> Result<Expr, Expr> {
        for e in [base, self.index, source] {
            if e.error().is_some() {
                return Err(e.clone());
            }
        }
        let dtype = base.dtype();
        let fill = |value: Literal, shape: &[usize]| Expr::constant(value, shape, base.device());
        let start = if include_self {
            base.clone()
        } else {
            let neutral = match mode {
                ScatterReduce::Sum | ScatterReduce::Mean => Literal::zero(dtype),
                ScatterReduce::Prod => Literal::one(dtype),
                ScatterReduce::Max => Literal::min_value(dtype),
                ScatterReduce::Min => Literal::max_value(dtype),
            };
            self.scatter(base, &fill(neutral, source.shape()), ScatterMode::Set)?
        };
        let wide = match mode {
            ScatterReduce::Max => return self.scatter(&start, source, ScatterMode::Max),
            ScatterReduce::Min => return self.scatter(&start, source, ScatterMode::Min),
            ScatterReduce::Sum | ScatterReduce::Prod | ScatterReduce::Mean if dtype.is_float() => dtype.compute(),
            ScatterReduce::Mean => to_sum(dtype),
            ScatterReduce::Sum | ScatterReduce::Prod => dtype,
        };
        let (start, source) = (start.cast(wide), source.cast(dtype).cast(wide));
        if mode == ScatterReduce::Prod {
            return Ok(self.scatter(&start, &source, ScatterMode::Mul)?.cast(dtype));
        }
        let sum = self.scatter(&start, &source, ScatterMode::Add)?;
        if mode == ScatterReduce::Sum {
            return Ok(sum.cast(dtype));
        }
        let own = fill(Literal::int(DType::I64, i64::from(include_self)), base.shape());
        let count = self.scatter(&own, &fill(Literal::one(DType::I64), source.shape()), ScatterMode::Add)?;
        // What nothing meets is itself.
        let count = count.binary_const(BinaryOp::Max, 1.0).cast(wide);
        let op = if wide.is_float() { BinaryOp::Div } else { BinaryOp::IDiv };
        Ok(sum.binary(op, &count).cast(dtype))
    }
}

impl Tensor {
    /// `self` with `value` in the slices along an axis that a vector of numbers names. The value is a number or a tensor of rank 0, and
    /// takes the tensor's dtype. Its gradient is the sum over all places it is at (PyTorch counts a place twice that is named twice).
    #[track_caller]
    pub fn index_fill(&self, axis: isize, index: &Tensor, value: impl Into<Operand>) -> Tensor {
        Tensor::from_result(try_index_fill(&self.expr(), axis as i64, &index.expr(), value.into()))
    }

    /// `self` with `values` in the part that an index names, as [`Tensor::i`] takes it; `values` broadcast to the part. With `accumulate` they
    /// are added, also where places repeat; without it the last one stays.
    ///
    /// A mask in the index waits for the mask's values (see [`Tensor::nonzero`]).
    ///
    /// ```
    /// # unigrad_device::register(unigrad_cpu::CpuDriver::default());
    /// use unigrad_tensor::{DType, Device, Tensor};
    ///
    /// let device = Device::open("cpu")?;
    /// let x = Tensor::zeros([2, 3], DType::F32, &device);
    /// let (rows, columns) = (Tensor::new([0i64, 1, 0], &device), Tensor::new([2i64, 0, 2], &device));
    /// let y = x.index_put((&rows, &columns), &Tensor::new([1.0f32, 2.0, 3.0], &device), true);
    /// assert_eq!(y.to_vec::<f32>()?, [0.0, 0.0, 4.0, 2.0, 0.0, 0.0]);
    /// # Ok::<(), unigrad_tensor::Error>(())
    /// ```
    #[track_caller]
    pub fn index_put(&self, index: impl Index, values: &Tensor, accumulate: bool) -> Tensor {
        Tensor::from_result(try_index_put(&self.expr(), index.items(), &values.expr(), accumulate))
    }

    /// `self` with `values` at places by their row-major number, one for each; with `accumulate` they are added.
    #[track_caller]
    pub fn put(&self, index: &Tensor, values: &Tensor, accumulate: bool) -> Tensor {
        Tensor::from_result(try_put(&self.expr(), &index.expr(), &values.expr(), accumulate))
    }

    /// `self` with the elements of `source`, in row-major order, where `mask` is true; the two broadcast. Nothing is read: too few elements
    /// are an error when it runs.
    #[track_caller]
    pub fn masked_scatter(&self, mask: &Tensor, source: &Tensor) -> Tensor {
        Tensor::from_result(try_masked_scatter(&self.expr(), &mask.expr(), &source.expr()))
    }

    /// [`Tensor::scatter`] of one value: a number, or a tensor of rank 0.
    #[track_caller]
    pub fn scatter_value(&self, axis: isize, index: &Tensor, value: impl Into<Operand>) -> Tensor {
        Tensor::from_result(try_scatter_value(&self.expr(), axis as i64, &index.expr(), value.into()))
    }

    /// `self` with the values of `src` that go to one place combined, and with what is there if `include_self`; places that nothing goes to
    /// stay. `out[p with p[axis] := index[p]]` is the sum, product, mean, maximum or minimum of `src[p]`.
    ///
    /// Equal extremes share the gradient. Sums and products of half types are made in `f32`.
    #[track_caller]
    pub fn scatter_reduce(&self, axis: isize, index: &Tensor, src: &Tensor, mode: ScatterReduce, include_self: bool) -> Tensor {
        let index = index.expr();
        let places = Places { op: "scatter_reduce", axis: axis as i64, index: &index, slices: false };
        Tensor::from_result(places.reduce(&self.expr(), &src.expr(), mode, include_self))
    }

    /// [`Tensor::scatter_reduce`] of slices along an axis, by a vector of numbers.
    #[track_caller]
    pub fn index_reduce(&self, axis: isize, index: &Tensor, src: &Tensor, mode: ScatterReduce, include_self: bool) -> Tensor {
        let index = index.expr();
        let places = Places { op: "index_reduce", axis: axis as i64, index: &index, slices: true };
        Tensor::from_result(places.reduce(&self.expr(), &src.expr(), mode, include_self))
    }
}
