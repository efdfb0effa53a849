//! Where values stand among others: searches in sorted sequences, counts.
//!
//! In: tensors of values. Out: positions and counts (`I64`), or what they pick.
//! Always: NaN is the greatest, and equals nothing.
//! Never: reads values, but in `bincount` and `repeat_interleave_by`, whose results' shapes depend on them.

use crate::{
    Operand, Tensor,
    arithmetic::K,
    index::{UNREAD, as_index},
    promotion::{promote, promote_value, value_expr},
    rules::flat,
    selection::first_invalid,
};
use unigrad_graph::{BinaryOp, DType, ErrorKind, Expr, Literal, ScatterMode, Shape, is_countable, numel};

/// Up to so many elements each is compared with; more are searched by halves.
const FEW: usize = 32;

/// The values of a tensor of integers.
#[track_caller]
fn read_i64(op: &str, x: &Expr) -> Result<Vec<i64>, Tensor> {
    match crate::eval::download(&x.cast(DType::I64)) {
        Ok(bytes) => {
            let (words, _) = bytes.as_chunks::<8>();
            Ok(words.iter().map(|word| i64::from_ne_bytes(*word)).collect())
        }
        Err(error) => Err(Tensor::fail(ErrorKind::Argument, op, error.to_string(), UNREAD, &[])),
    }
}

/// How many elements of each sorted row `[rows.., n]` are less than (`right`: not greater than) each of the values `[rows.., m]`.
#[track_caller]
fn count_below(sorted: &Expr, values: &Expr, right: bool) -> Expr {
    // A cast may have more bytes than memory can have: what it gives has no rows.
    if let Some(invalid) = [sorted, values].into_iter().find(|x| x.error().is_some()) {
        return invalid.clone();
    }
    let rank = sorted.rank();
    let n = sorted.shape()[rank - 1];
    let beyond = if right { BinaryOp::Gt } else { BinaryOp::Ge };
    if n <= FEW {
        let mut shape = values.shape().clone();
        shape.push(n);
        let (mut row, mut column) = (sorted.shape().clone(), values.shape().clone());
        row.insert(rank - 1, 1);
        column.push(1);
        let (sorted, values) = (sorted.reshape(&row).expand(&shape), values.reshape(&column).expand(&shape));
        // Not its negation: NaN is beyond nothing.
        let below = sorted.binary(beyond, &values).unary(unigrad_graph::UnaryOp::Not);
        let count = below.cast(DType::I64).sum(1 << rank);
        shape.pop();
        return count.reshape(&shape);
    }
    let number = |value: usize| Expr::constant(Literal::int(DType::I64, value as i64), values.shape(), values.device());
    let (last, mut at) = (number(n), number(0));
    let mut step = 1 << n.ilog2();
    while step > 0 {
        let next = at.add(&number(step));
        let looked_at = next.binary(BinaryOp::Min, &last).sub(&number(1));
        let below = sorted.gather(rank - 1, &looked_at).binary(beyond, values).unary(unigrad_graph::UnaryOp::Not);
        at = below.and(&next.le(&last)).select(&next, &at);
        step /= 2;
    }
    at
}

#[track_caller]
fn try_searchsorted(op: &str, sorted: &Expr, values: &Expr, right: bool) -> Result<Expr, Expr> {
    for e in [sorted, values] {
        if e.error().is_some() {
            return Err(e.clone());
        }
    }
    let rows = sorted.rank().saturating_sub(1);
    let fits =
        sorted.rank() == 1 || (sorted.rank() > 1 && values.rank() == sorted.rank() && values.shape()[..rows] == sorted.shape()[..rows]);
    if !fits || rows > 6 {
        let message = format!("values {:?} among {:?}", values.shape(), sorted.shape());
        let help = "what is searched is a vector, or has as many rows as the values and at most 7 axes";
        return Err(Expr::fail(ErrorKind::Shape, op, message, help, &[sorted, values]));
    }
    let dtype = promote(sorted, values);
    let shape = values.shape().clone();
    let values = if sorted.rank() == 1 { values.reshape(&[values.numel()]) } else { values.clone() };
    Ok(count_below(&sorted.cast(dtype), &values.cast(dtype), right).reshape(&shape))
}

/// A tensor, or a number as a tensor of rank 0 of the dtype it has beside `x`.
#[track_caller]
fn as_tensor(x: &Expr, value: Operand) -> Expr {
    match value {
        Operand::Tensor(tensor) => tensor.expr(),
        Operand::Value(value) => value_expr(value, promote_value(x.dtype(), value), &[], x.device()),
    }
}

#[track_caller]
fn zeros(dtype: DType, shape: &[usize], device: u32) -> Expr {
    Expr::constant(Literal::zero(dtype), shape, device)
}

/// How many elements of `x` are in each of the bins between `low` and `high`: see [`Tensor::histc`].
#[track_caller]
fn counted(x: &Tensor, bins: usize, low: f64, high: f64) -> Tensor {
    let dtype = x.dtype();
    let flat = x.cast(dtype.compute()).flatten_all();
    let scalar = |value: f64| Tensor::from_expr(Expr::scalar(Literal::float(flat.dtype(), value), &[], flat.device_id()));
    let (mut from, mut to) = (scalar(low), scalar(high));
    if low == high && flat.numel() > 0 {
        (from, to) = (flat.min(()), flat.max(()));
        let one = from.eq(&to);
        (from, to) = (one.where_(&from - K(1.0), &from), one.where_(&to + K(1.0), &to));
    }
    let inside = flat.ge(&from).logical_and(flat.le(&to));
    let at = inside.where_((&flat - &from) * (bins as f64) / (&to - &from), K(0.0));
    // A width of infinity leaves no number.
    let at = at.isfinite().where_(&at, K(0.0)).cast(DType::I64).minimum(bins - 1).maximum(0_i64);
    let at = inside.where_(at, bins);
    let ones = Expr::constant(Literal::one(DType::I64), &[flat.numel()], flat.device_id());
    let counts = zeros(DType::I64, &[bins + 1], flat.device_id()).scatter(0, ScatterMode::Add, &at.expr(), &ones);
    Tensor::from_expr(counts.narrow(0, 0, bins).cast(dtype))
}

impl Tensor {
    /// Where each of the values would be put into a sorted sequence, `I64`: before equal elements, or, with `right`, after them.
    ///
    /// The sequence is a vector `[n]`, and the values have any shape; or it has sorted rows `[.., n]`, and the values `[.., m]` as many.
    /// Nothing checks that it is sorted.
    ///
    /// ```
    /// # unigrad_device::register(unigrad_cpu::CpuDriver::default());
    /// use unigrad_tensor::{Device, Tensor};
    ///
    /// let device = Device::open("cpu")?;
    /// let sorted = Tensor::new([1.0f32, 2.0, 2.0, 4.0], &device);
    /// let values = Tensor::new([0.0f32, 2.0, 9.0], &device);
    /// assert_eq!(sorted.searchsorted(&values, false).to_vec::<i64>()?, [0, 1, 4]);
    /// assert_eq!(sorted.searchsorted(&values, true).to_vec::<i64>()?, [0, 3, 4]);
    /// # Ok::<(), unigrad_tensor::Error>(())
    /// ```
    #[track_caller]
    pub fn searchsorted(&self, values: impl Into<Operand>, right: bool) -> Tensor {
        let sorted = self.expr();
        let values = as_tensor(&sorted, values.into());
        Tensor::from_result(try_searchsorted("searchsorted", &sorted, &values, right))
    }

    /// [`Tensor::searchsorted`] in a tensor that is not sorted itself: `sorter`, integers of its shape, says which of its elements is where along the
    /// last axis, as [`Tensor::argsort`] does.
    #[track_caller]
    pub fn searchsorted_with(&self, values: impl Into<Operand>, right: bool, sorter: &Tensor) -> Tensor {
        if let Some(invalid) = first_invalid(&[self, sorter]) {
            return invalid;
        }
        if sorter.shape() != self.shape() || !sorter.dtype().is_int() {
            let message = format!("a sorter {:?} {} for {:?}", sorter.shape(), sorter.dtype(), self.shape());
            let help = "it has the sequence's shape, and integers: `argsort` along the last axis";
            return Tensor::fail(ErrorKind::Shape, "searchsorted_with", message, help, &[self, sorter]);
        }
        self.gather(-1, sorter).searchsorted(values, right)
    }

    /// Which interval between sorted `boundaries` each element is in, `I64`: `i` where `boundaries[i - 1] < x <= boundaries[i]`, or, with
    /// `right`, where `boundaries[i - 1] <= x < boundaries[i]`.
    #[track_caller]
    pub fn bucketize(&self, boundaries: &Tensor, right: bool) -> Tensor {
        if !boundaries.is_invalid() && boundaries.rank() != 1 {
            let message = format!("boundaries {:?}", boundaries.shape());
            return Tensor::fail(ErrorKind::Shape, "bucketize", message, "the boundaries are a vector", &[self, boundaries]);
        }
        Tensor::from_result(try_searchsorted("bucketize", &boundaries.expr(), &self.expr(), right))
    }

    /// Whether each element is among others: a tensor of any shape, or a number.
    #[track_caller]
    pub fn isin(&self, among: impl Into<Operand>) -> Tensor {
        let x = self.expr();
        let among = match among.into() {
            Operand::Tensor(tensor) => tensor,
            value => return self.eq(value),
        };
        let e = among.expr();
        if let Some(invalid) = first_invalid(&[self, &among]) {
            return invalid;
        }
        let dtype = promote(&x, &e);
        let (flat, among) = (x.reshape(&[x.numel()]).cast(dtype), e.reshape(&[e.numel()]).cast(dtype));
        let (n, m) = (flat.numel(), among.numel());
        if m <= FEW {
            let pair = [n, m];
            let equal = flat.reshape(&[n, 1]).expand(&pair).eq(&among.reshape(&[1, m]).expand(&pair));
            return Tensor::from_expr(equal).any(1_isize).reshape_to(x.shape());
        }
        let (sorted, _) = Tensor::from_expr(among).sort(0, false);
        if sorted.is_invalid() {
            return sorted;
        }
        let at = Tensor::from_expr(count_below(&sorted.expr(), &flat, false)).minimum(m - 1);
        sorted.take(&at).eq(Tensor::from_expr(flat)).reshape_to(x.shape())
    }

    /// [`Tensor::isin`], or with `invert` whether it is not.
    #[track_caller]
    pub fn isin_with(&self, among: impl Into<Operand>, invert: bool) -> Tensor {
        let found = self.isin(among);
        if invert { found.logical_not() } else { found }
    }

    /// How often each of `0, 1, ..` occurs in a vector of integers, `I64`; with weights, the sum of the weights there, in their float dtype
    /// (PyTorch's is `f64` unless they are `f32`). As many counts as the greatest number needs, and at least `minlength`.
    ///
    /// Waits for the values: the length depends on them. Where the length is known, `zeros.scatter_add(0, &numbers, &ones)` waits for nothing.
    #[track_caller]
    pub fn bincount(&self, weights: Option<&Tensor>, minlength: usize) -> Tensor {
        let index = match as_index("bincount", &self.expr()) {
            Ok(index) => index,
            Err(invalid) => return Tensor::from_expr(invalid),
        };
        if let Some(invalid) = weights.filter(|weights| weights.is_invalid()) {
            return invalid.clone();
        }
        if index.rank() != 1 || weights.is_some_and(|weights| weights.shape() != index.shape().as_slice()) {
            let message = format!("numbers {:?} and weights {:?}", index.shape(), weights.map(Tensor::shape));
            return Tensor::fail(ErrorKind::Shape, "bincount", message, "numbers are a vector, and each has one weight", &[self]);
        }
        let mut length = minlength;
        if index.numel() > 0 {
            let numbers = Tensor::from_expr(index.clone());
            let ends = Tensor::stack(&[&numbers.min(()), &numbers.max(())], 0);
            let ends = match read_i64("bincount", &ends.expr()) {
                Ok(ends) => ends,
                Err(invalid) => return invalid,
            };
            let (least, most) = (ends.first().copied().unwrap_or(-1), ends.last().copied().unwrap_or(-1));
            if least < 0 {
                let help = "the numbers are 0 or more, and below 2^63";
                return Tensor::fail(ErrorKind::Argument, "bincount", format!("the number {least}"), help, &[self]);
            }
            length = length.max(usize::try_from(most).unwrap_or(usize::MAX).saturating_add(1));
        }
        if !is_countable(&[length], 8) {
            let message = format!("{length} counts");
            return Tensor::fail(ErrorKind::Shape, "bincount", message, "no memory has so many: use smaller numbers", &[self]);
        }
        let device = index.device();
        Tensor::from_expr(match weights.map(|weights| weights.float().expr()) {
            None => zeros(DType::I64, &[length], device).scatter(
                0,
                ScatterMode::Add,
                &index,
                &Expr::constant(Literal::one(DType::I64), index.shape(), device),
            ),
            Some(weights) => {
                let wide = weights.dtype().compute();
                let sums = zeros(wide, &[length], device).scatter(0, ScatterMode::Add, &index, &weights.cast(wide));
                sums.cast(weights.dtype())
            }
        })
    }

    /// How many elements are in each of `bins` intervals of equal width between `low` and `high`, of which the last one holds `high` too; in the
    /// tensor's float dtype. Elements outside, and NaN, count nowhere. Equal bounds stand for the least and the greatest element (then
    /// all counts are 0 if one of them is not finite), and one more on both sides if these are equal.
    #[track_caller]
    pub fn histc(&self, bins: usize, low: f64, high: f64) -> Tensor {
        let x = self.float();
        if x.is_invalid() {
            return x;
        }
        let countable = bins.checked_add(1).is_some_and(|all| is_countable(&[all], 8));
        let countable = countable && is_countable(&x.shape(), 8);
        if bins == 0 || !countable || !low.is_finite() || !high.is_finite() || low > high {
            let message = format!("{bins} bins from {low} to {high}, of {:?}", self.shape());
            let help = "give at least one bin, not more than memory holds, and finite bounds in order";
            return Tensor::fail(ErrorKind::Argument, "histc", message, help, &[self]);
        }
        flat("histc", &x, |x| counted(x, bins, low, high))
    }

    /// Each slice along an axis as often as `counts` says, a vector with a count for each (or one for all). Waits for the counts: the size
    /// depends on them.
    #[track_caller]
    pub fn repeat_interleave_by(&self, counts: &Tensor, axis: isize) -> Tensor {
        let x = self.expr();
        let axis = match crate::axes::resolve_axis(&x, "repeat_interleave_by", axis as i64) {
            Ok(axis) => axis,
            Err(invalid) => return Tensor::from_expr(invalid),
        };
        let counts = match as_index("repeat_interleave_by", &counts.expr()) {
            Ok(counts) => counts,
            Err(invalid) => return Tensor::from_expr(invalid),
        };
        let size = x.shape()[axis];
        if counts.rank() > 1 || (counts.numel() != 1 && counts.numel() != size) {
            let message = format!("counts {:?} for axis {axis} of {:?}", counts.shape(), x.shape());
            return Tensor::fail(ErrorKind::Shape, "repeat_interleave_by", message, "give one count per slice, or one for all", &[self]);
        }
        let counts = counts.reshape(&[counts.numel()]).expand(&[size]);
        let read = match read_i64("repeat_interleave_by", &counts) {
            Ok(read) => read,
            Err(invalid) => return invalid,
        };
        let total = read.iter().try_fold(0_usize, |total, count| total.checked_add(usize::try_from(*count).ok()?));
        let mut shape: Shape = x.shape().clone();
        shape[axis] = total.unwrap_or(usize::MAX);
        if !is_countable(&shape, x.dtype().size().max(8)) {
            let message = format!("counts that add up to {total:?} slices of {:?}", x.shape());
            let help = "counts are 0 or more, and the result has to fit into a memory";
            return Tensor::fail(ErrorKind::Argument, "repeat_interleave_by", message, help, &[self]);
        }
        let ends = counts.scan(unigrad_graph::ScanOp::Sum, 0, false);
        let index = count_below(&ends, &Expr::iota(&[shape[axis]], 0, DType::I64, x.device()), true);
        if numel(&shape) == 0 {
            // Nothing is picked, maybe from nothing.
            return Tensor::from_expr(x.narrow(axis, 0, shape[axis].min(size)).reshape(&shape));
        }
        Tensor::from_expr(x).index_select(axis as isize, &Tensor::from_expr(index))
    }
}
