//! Leaves: from values in memory, from formulas.

use crate::{Device, Dims, Operand, Result, Tensor, Value, eval, promotion::value_expr};
use unigrad_graph::{DType, Element, ErrorKind, Expr, Format, Literal, Shape, is_countable};

/// Nested arrays, slices and vectors of elements, with their shape.
pub trait NestedValues {
    /// The innermost type.
    type Element: Element;
    /// Sizes, outermost first, and all elements in order. `None` if rows differ in length.
    fn flatten(&self) -> Option<(Vec<usize>, Vec<Self::Element>)>;
}

macro_rules! nested_leaves {
    ($($ty:ty),*) => { $(
        impl NestedValues for $ty {
            type Element = $ty;
            fn flatten(&self) -> Option<(Vec<usize>, Vec<$ty>)> {
                Some((Vec::new(), vec![*self]))
            }
        }
    )* };
}
nested_leaves!(
    bool,
    u8,
    i8,
    u16,
    i16,
    u32,
    i32,
    u64,
    i64,
    unigrad_graph::f16,
    unigrad_graph::bf16,
    f32,
    f64,
    unigrad_graph::F8E4M3,
    unigrad_graph::F8E5M2
);

impl<T: NestedValues> NestedValues for [T] {
    type Element = T::Element;
    fn flatten(&self) -> Option<(Vec<usize>, Vec<T::Element>)> {
        let mut shape = vec![self.len()];
        let mut all = Vec::new();
        for (i, row) in self.iter().enumerate() {
            let (inner, values) = row.flatten()?;
            match i {
                0 => shape.extend(inner),
                _ if shape[1..] != inner => return None,
                _ => {}
            }
            all.extend(values);
        }
        Some((shape, all))
    }
}

impl<T: NestedValues, const N: usize> NestedValues for [T; N] {
    type Element = T::Element;
    fn flatten(&self) -> Option<(Vec<usize>, Vec<T::Element>)> {
        self.as_slice().flatten()
    }
}

impl<T: NestedValues> NestedValues for Vec<T> {
    type Element = T::Element;
    fn flatten(&self) -> Option<(Vec<usize>, Vec<T::Element>)> {
        self.as_slice().flatten()
    }
}

impl<T: NestedValues + ?Sized> NestedValues for &T {
    type Element = T::Element;
    fn flatten(&self) -> Option<(Vec<usize>, Vec<T::Element>)> {
        (**self).flatten()
    }
}

fn bytes_of<T: Element>(values: &[T]) -> &[u8] {
    // SAFETY: elements are plain numbers (or `bool`s) without padding, so their bytes are initialized; the length is theirs.
    unsafe { std::slice::from_raw_parts(values.as_ptr().cast::<u8>(), size_of_val(values)) }
}

#[track_caller]
fn uploaded(result: Result<Expr>, op: &str) -> Tensor {
    match result {
        Ok(expr) => Tensor::from_expr(expr),
        Err(error) => {
            let help = "the device could not take the values; see the cause";
            Tensor::from_expr(Expr::fail(ErrorKind::Argument, op, error.to_string(), help, &[]))
        }
    }
}

/// The error of a value that an integer dtype does not hold, fraction aside.
#[track_caller]
pub(crate) fn unheld(op: &str, value: Value, dtype: DType) -> Option<Tensor> {
    let (literal, value) = match value {
        Value::Float(value) | Value::Constant(value) => (Literal::checked_float(dtype, value), value.to_string()),
        Value::Int(value) => (Literal::checked_int(dtype, value), value.to_string()),
        Value::Bool(_) => return None,
    };
    match literal {
        Some(_) => None,
        None => Some(Tensor::fail(ErrorKind::Argument, op, format!("{value} is out of range for {dtype}"), "choose a wider dtype", &[])),
    }
}

impl Tensor {
    /// A tensor from values in row-major order.
    #[track_caller]
    pub fn from_slice<T: Element>(values: &[T], shape: impl Dims, device: &Device) -> Tensor {
        Tensor::from_bytes(bytes_of(values), shape, T::DTYPE, device)
    }

    /// A tensor from values in row-major order.
    #[track_caller]
    pub fn from_vec<T: Element>(values: Vec<T>, shape: impl Dims, device: &Device) -> Tensor {
        Tensor::from_slice(&values, shape, device)
    }

    /// A tensor from the bytes of its elements, row-major, in the machine's order. A `Bool` is true if its byte is not 0.
    #[track_caller]
    pub fn from_bytes(bytes: &[u8], shape: impl Dims, dtype: DType, device: &Device) -> Tensor {
        let shape = shape.dims();
        if Format::Plain(dtype).bytes_for(&shape) != Ok(bytes.len()) {
            let message = format!("{} values of {dtype} do not fill {:?}", bytes.len() / dtype.size(), shape.as_slice());
            return Tensor::fail(ErrorKind::Shape, "from_slice", message, "give as many values as the shape has elements", &[]);
        }
        uploaded(eval::upload(bytes, &shape, dtype, device.id()), "from_slice")
    }

    /// A tensor from a number, or nested arrays or vectors: `Tensor::new([[1.0, 2.0], [3.0, 4.0]], &device)`.
    #[track_caller]
    pub fn new(values: impl NestedValues, device: &Device) -> Tensor {
        match values.flatten() {
            Some((shape, values)) => Tensor::from_slice(&values, shape, device),
            None => Tensor::fail(ErrorKind::Shape, "new", "rows differ in length", "pad them to one length", &[]),
        }
    }

    /// `value` in every element; a run-time value, so that another one does not need another plan. Integers leave the fraction out; a value that
    /// they do not hold is an error.
    #[track_caller]
    pub fn full(shape: impl Dims, value: f64, dtype: DType, device: &Device) -> Tensor {
        if let Some(invalid) = unheld("full", Value::Float(value), dtype) {
            return invalid;
        }
        Tensor::from_expr(Expr::scalar(Literal::float(dtype, value), &shape.dims(), device.id()))
    }

    /// [`Tensor::full`] of an integer, of which all 64 bits count. In an unsigned dtype a negative one stands for what it is in two's complement, if its
    /// digits fit.
    #[track_caller]
    pub fn full_int(shape: impl Dims, value: i64, dtype: DType, device: &Device) -> Tensor {
        if let Some(invalid) = unheld("full", Value::Int(value), dtype) {
            return invalid;
        }
        Tensor::from_expr(Expr::scalar(Literal::int(dtype, value), &shape.dims(), device.id()))
    }

    #[track_caller]
    fn filled(shape: &[usize], value: Literal, device: u32) -> Tensor {
        Tensor::from_expr(Expr::constant(value, shape, device))
    }

    /// Zeros (`false` for `Bool`).
    #[track_caller]
    pub fn zeros(shape: impl Dims, dtype: DType, device: &Device) -> Tensor {
        Tensor::filled(&shape.dims(), Literal::zero(dtype), device.id())
    }

    /// Ones (`true` for `Bool`).
    #[track_caller]
    pub fn ones(shape: impl Dims, dtype: DType, device: &Device) -> Tensor {
        Tensor::filled(&shape.dims(), Literal::one(dtype), device.id())
    }

    /// A tensor of rank 0.
    #[track_caller]
    pub fn scalar(value: f64, dtype: DType, device: &Device) -> Tensor {
        Tensor::full((), value, dtype, device)
    }

    /// Zeros of this tensor's shape, dtype and device.
    #[track_caller]
    pub fn zeros_like(&self) -> Tensor {
        self.constant_like(0.0)
    }

    /// Ones of this tensor's shape, dtype and device.
    #[track_caller]
    pub fn ones_like(&self) -> Tensor {
        self.constant_like(1.0)
    }

    #[track_caller]
    pub(crate) fn constant_like(&self, value: f64) -> Tensor {
        let expr = self.expr();
        if expr.error().is_some() {
            return self.clone();
        }
        Tensor::from_expr(expr.constant_like(value))
    }

    /// `value` in this tensor's shape, dtype and device (see [`Tensor::full`]).
    #[track_caller]
    pub fn full_like(&self, value: f64) -> Tensor {
        let expr = self.expr();
        if expr.error().is_some() {
            return self.clone();
        }
        if let Some(invalid) = unheld("full_like", Value::Float(value), expr.dtype()) {
            return invalid;
        }
        Tensor::from_expr(expr.scalar_like(Literal::float(expr.dtype(), value)))
    }

    /// Zeros of this tensor's shape and device in another dtype.
    #[track_caller]
    pub fn zeros_like_as(&self, dtype: DType) -> Tensor {
        self.filled_like(None, Some(dtype), Literal::zero)
    }

    /// Ones of this tensor's shape and device in another dtype.
    #[track_caller]
    pub fn ones_like_as(&self, dtype: DType) -> Tensor {
        self.filled_like(None, Some(dtype), Literal::one)
    }

    /// `value` in this tensor's shape and device, in another dtype. An integer is exact.
    #[track_caller]
    pub fn full_like_as(&self, value: impl Into<Operand>, dtype: DType) -> Tensor {
        self.spread_value("full_like_as", None, value.into(), Some(dtype))
    }

    /// Zeros of this tensor's dtype and device in another shape.
    #[track_caller]
    pub fn new_zeros(&self, shape: impl Dims) -> Tensor {
        self.filled_like(Some(shape.dims()), None, Literal::zero)
    }

    /// Ones of this tensor's dtype and device in another shape.
    #[track_caller]
    pub fn new_ones(&self, shape: impl Dims) -> Tensor {
        self.filled_like(Some(shape.dims()), None, Literal::one)
    }

    /// `value` in this tensor's dtype and device, in another shape. An integer is exact.
    #[track_caller]
    pub fn new_full(&self, shape: impl Dims, value: impl Into<Operand>) -> Tensor {
        self.spread_value("new_full", Some(shape.dims()), value.into(), None)
    }

    #[track_caller]
    fn filled_like(&self, shape: Option<Shape>, dtype: Option<DType>, value: fn(DType) -> Literal) -> Tensor {
        let expr = self.expr();
        if expr.error().is_some() {
            return self.clone();
        }
        let shape = shape.unwrap_or_else(|| expr.shape().clone());
        Tensor::filled(&shape, value(dtype.unwrap_or(expr.dtype())), expr.device())
    }

    #[track_caller]
    fn spread_value(&self, op: &str, shape: Option<Shape>, value: Operand, dtype: Option<DType>) -> Tensor {
        let expr = self.expr();
        if expr.error().is_some() {
            return self.clone();
        }
        let shape = shape.unwrap_or_else(|| expr.shape().clone());
        let dtype = dtype.unwrap_or(expr.dtype());
        match value {
            Operand::Value(value) => match unheld(op, value, dtype) {
                Some(invalid) => invalid,
                None => Tensor::from_expr(value_expr(value, dtype, &shape, expr.device())),
            },
            Operand::Tensor(value) => value.cast(dtype).expand(shape),
        }
    }

    /// Row and column numbers of the elements on and below a diagonal of `rows` by `columns` (see [`Tensor::tril`]), in row-major order:
    /// `[2, count]`, `I64`.
    #[track_caller]
    pub fn tril_indices(rows: usize, columns: usize, diagonal: i64, device: &Device) -> Tensor {
        triangle("tril_indices", rows, columns, diagonal, true, device.id())
    }

    /// Row and column numbers of the elements on and above a diagonal of `rows` by `columns` (see [`Tensor::triu`]), in row-major order:
    /// `[2, count]`, `I64`.
    #[track_caller]
    pub fn triu_indices(rows: usize, columns: usize, diagonal: i64, device: &Device) -> Tensor {
        triangle("triu_indices", rows, columns, diagonal, false, device.id())
    }

    /// `start, start + step, …` below `end` (above, for a negative step). Of an integer dtype `start` and `step` are rounded toward 0 first, as in
    /// PyTorch, and there are as many numbers as `start`, `end` and `step` as given say. `F32` numbers are rounded once on the CPU.
    #[track_caller]
    pub fn arange(start: f64, end: f64, step: f64, dtype: DType, device: &Device) -> Tensor {
        let count = ((end - start) / step).ceil();
        if step == 0.0 || !count.is_finite() || count > (1_u64 << 53) as f64 {
            let message = format!("from {start} to {end} in steps of {step}");
            return Tensor::fail(ErrorKind::Argument, "arange", message, "give finite numbers and a step that is not 0", &[]);
        }
        // As PyTorch's: integers step by integers, however many the numbers as given say that there are.
        let (start, step) = if dtype.is_float() { (start, step) } else { (start.trunc(), step.trunc()) };
        let count = count.max(0.0);
        // Whole numbers that `f32` holds are exact in it. Others are computed in `f64` and rounded once on the CPU, and in `f32` elsewhere, as in PyTorch:
        // not all GPUs have `f64`.
        let is_exact = start.fract() == 0.0 && step.fract() == 0.0 && (start.abs() + step.abs() * count) < (1_u64 << 24) as f64;
        let wide = if dtype == DType::F32 && !is_exact && device.backend() == "cpu" { DType::F64 } else { dtype.compute() };
        Tensor::from_expr(ramp(count as usize, start, step, wide, device.id()).cast(dtype))
    }

    /// `0, 1, …, n - 1`.
    #[track_caller]
    pub fn range(n: usize, dtype: DType, device: &Device) -> Tensor {
        Tensor::from_expr(Expr::iota(&[n], 0, dtype, device.id()))
    }

    /// `count` evenly spaced numbers, `start` and `end` included; of an integer dtype rounded toward 0, as the ends are first.
    #[track_caller]
    pub fn linspace(start: f64, end: f64, count: usize, dtype: DType, device: &Device) -> Tensor {
        let (start, end) = if dtype.is_float() { (start, end) } else { (start.trunc(), end.trunc()) };
        let wide = if dtype.is_float() { dtype.compute() } else { DType::F64 };
        let step = if count > 1 { (end - start) / (count - 1) as f64 } else { 0.0 };
        // From both ends, so that the last one is `end` exactly.
        let index = Expr::iota(&[count], 0, wide, device.id());
        let low = index.binary_const(unigrad_graph::BinaryOp::Mul, step).binary_const(unigrad_graph::BinaryOp::Add, start);
        let back = index.constant_like(count.saturating_sub(1) as f64).sub(&index);
        let high = back.constant_like(end).sub(&back.binary_const(unigrad_graph::BinaryOp::Mul, step));
        let first_half = index.binary_const(unigrad_graph::BinaryOp::Lt, count.div_ceil(2) as f64);
        Tensor::from_expr(first_half.select(&low, &high).cast(dtype))
    }

    /// `base` to the powers of [`Tensor::linspace`]; of an integer dtype rounded toward 0, as the ends are first.
    #[track_caller]
    pub fn logspace(start: f64, end: f64, count: usize, base: f64, dtype: DType, device: &Device) -> Tensor {
        let (wide, start, end) = if dtype.is_float() { (dtype.compute(), start, end) } else { (DType::F64, start.trunc(), end.trunc()) };
        let exponents = Tensor::linspace(start, end, count, wide, device);
        exponents.full_like(base).pow(&exponents).cast(dtype)
    }

    /// Ones on the diagonal of `rows` by `columns`.
    #[track_caller]
    pub fn eye(rows: usize, columns: usize, dtype: DType, device: &Device) -> Tensor {
        let shape = [rows, columns];
        let diagonal = Expr::iota(&shape, 0, DType::I64, device.id()).eq(&Expr::iota(&shape, 1, DType::I64, device.id()));
        Tensor::from_expr(diagonal.cast(dtype))
    }
}

/// How many elements the first `rows` rows of a triangle have of which row `i` has `start + i` (at least none, at most `columns`).
fn triangle_size(rows: i128, columns: i128, start: i128) -> i128 {
    // Rows before `none` are empty, from `full` on they are whole.
    let none = (1 - start).clamp(0, rows);
    let full = (columns - start).clamp(none, rows);
    let growing = full - none;
    growing * (start + none) + growing * (growing - 1) / 2 + (rows - full) * columns
}

#[track_caller]
fn triangle(op: &str, rows: usize, columns: usize, diagonal: i64, lower: bool, device: u32) -> Tensor {
    if !is_countable(&[rows], 8) || i64::try_from(columns).is_err() {
        let message = format!("{rows} by {columns}");
        return Tensor::fail(ErrorKind::Shape, op, message, "no memory has so many elements: use smaller sizes", &[]);
    }
    // Beyond the matrix all diagonals are alike.
    let width = columns as i64;
    let diagonal = diagonal.clamp(-(rows as i64) - 1, width.saturating_add(1));
    let (m, n, k) = (rows as i128, columns as i128, i128::from(diagonal));
    // Row `i` has `i + diagonal + 1` elements below the diagonal; those above it are the rest of one less.
    let below = triangle_size(m, n, k + i128::from(lower));
    let count = usize::try_from(if lower { below } else { m * n - below }).unwrap_or(usize::MAX);
    if !is_countable(&[2, count], 8) {
        let message = format!("{count} elements of {rows} by {columns} from diagonal {diagonal}");
        return Tensor::fail(ErrorKind::Shape, op, message, "no memory has so many: use smaller sizes", &[]);
    }
    let number = |n: usize| Tensor::from_expr(Expr::iota(&[n], 0, DType::I64, device));
    let below = (number(rows) + (diagonal.saturating_add(i64::from(lower)))).maximum(0_i64).minimum(width);
    let lengths = if lower { below.clone() } else { below.neg() + width };
    let ends = lengths.cumsum(0);
    let place = number(count);
    let row = ends.searchsorted(&place, true);
    // Of no elements nothing is picked, maybe from no rows.
    if count == 0 {
        return Tensor::stack(&[&row, &row], 0);
    }
    let start = ends.take(&row) - lengths.take(&row);
    let column = place - start;
    let column = if lower { column } else { column + below.take(&row) };
    Tensor::stack(&[&row, &column], 0)
}

/// `start + i * step`, computed as wide as it matters.
#[track_caller]
fn ramp(count: usize, start: f64, step: f64, dtype: DType, device: u32) -> Expr {
    let wide = if dtype.is_float() { dtype } else { DType::I64 };
    let index = Expr::iota(&[count], 0, wide, device);
    let scaled = if step == 1.0 { index } else { index.binary_const(unigrad_graph::BinaryOp::Mul, step) };
    let moved = if start == 0.0 { scaled } else { scaled.binary_const(unigrad_graph::BinaryOp::Add, start) };
    moved.cast(dtype)
}
