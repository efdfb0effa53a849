//! The different values of a tensor, or its different slices along an axis: all of them in order, or one for each run of equal neighbours.
//!
//! In: a tensor. Out: the values, which of them each element (or slice) is, and how many are each of them; the latter two `I64`.
//! Always: each NaN is a value of its own, greater than all numbers.
//! Never: waits for less than the values: the result's length depends on them.

use crate::{Tensor, axes::resolve_axis};
use unigrad_graph::{DType, ErrorKind, Expr, Literal, ScanOp, ScatterMode};

/// Values, inverse, counts.
type Parts = (Tensor, Tensor, Tensor);

fn all(invalid: Tensor) -> Parts {
    (invalid.clone(), invalid.clone(), invalid)
}

/// Whether each of `[n, ..]` differs from the one before it, in any element; the first one does.
#[track_caller]
fn is_new(rows: &Expr) -> Expr {
    if rows.is_invalid() {
        return rows.clone();
    }
    let n = rows.shape()[0];
    let first = Expr::constant(Literal::one(DType::Bool), &[n.min(1)], rows.device());
    let (after, before) = (rows.narrow(0, n.min(1), n.saturating_sub(1)), rows.narrow(0, 0, n.saturating_sub(1)));
    let differs = Tensor::from_expr(after.ne(&before));
    let differs = if rows.rank() == 2 { differs.any(1_isize) } else { differs };
    Expr::concat(&[first, differs.expr()], 0)
}

/// The number of the group that each is in, counted from 0 along axis 0.
#[track_caller]
fn groups(is_new: &Expr) -> Expr {
    let groups = is_new.cast(DType::I64).scan(ScanOp::Sum, 0, false);
    groups.sub(&groups.constant_like(1.0))
}

/// Among the columns of `[n, m]`, each element's place among the different values of its column.
#[track_caller]
fn ranks(columns: &Tensor) -> Tensor {
    let n = columns.size(0);
    let (sorted, order) = columns.sort(0, false);
    let differs = sorted.narrow(0, 1, n - 1).ne(sorted.narrow(0, 0, n - 1)).cast(DType::I64);
    let places = Tensor::concat(&[&order.narrow(0, 0, 1).zeros_like(), &differs], 0).cumsum(0);
    order.zeros_like().scatter(0, &order, &places)
}

/// One number for each row of `[n, m]`, `m` at least 1: they are ordered as the rows are, and equal where the rows are.
#[track_caller]
fn numbered(rows: &Tensor) -> Tensor {
    let n = rows.size(0);
    let mut ranks_of = ranks(rows);
    // Two neighbouring columns become one: the places in the left one count first.
    while ranks_of.size(1) > 1 {
        let m = ranks_of.size(1);
        let (left, right) = (ranks_of.narrow(1, 0, m - m % 2), ranks_of.narrow(1, m - m % 2, m % 2));
        let pairs = left.reshape([n as i64, (m / 2) as i64, 2]);
        let joined = pairs.select(2, 0) * n + pairs.select(2, 1);
        ranks_of = ranks(&Tensor::concat(&[&joined, &right], 1));
    }
    ranks_of.squeeze(1)
}

/// Slices along an axis as rows `[n, m]`, and the axis.
#[track_caller]
fn slices(op: &str, x: &Tensor, axis: isize) -> Result<(Tensor, usize), Tensor> {
    let e = x.expr();
    let axis = resolve_axis(&e, op, axis as i64).map_err(Tensor::from_expr)?;
    let (n, m) = (e.shape()[axis], e.shape().iter().enumerate().filter(|(at, _)| *at != axis).map(|(_, size)| size).product::<usize>());
    if n > 0 && m == 0 {
        let message = format!("slices along axis {axis} of {:?} have no elements", e.shape());
        return Err(Tensor::fail(ErrorKind::Shape, op, message, "compare slices that have elements", &[x]));
    }
    let mut order: Vec<usize> = (0..e.rank()).filter(|at| *at != axis).collect();
    order.insert(0, axis);
    let rows = Tensor::from_expr(e.permute(&order).reshape(&[n, m]));
    if rows.is_invalid() { Err(rows) } else { Ok((rows, axis)) }
}

/// What is taken of each run of equal neighbours among `[n, ..]`: the first of `things`; the number of the run that each is in; how long each is.
#[track_caller]
fn runs(neighbours: &Tensor, things: &Tensor) -> Result<(Tensor, Expr, Tensor), Tensor> {
    let is_new = is_new(&neighbours.expr());
    let firsts = things.masked_select(&Tensor::from_expr(is_new.clone()));
    if firsts.is_invalid() {
        return Err(firsts);
    }
    let run = groups(&is_new);
    let ones = Expr::constant(Literal::one(DType::I64), run.shape(), run.device());
    let none = Expr::constant(Literal::zero(DType::I64), &[firsts.numel()], run.device());
    let counts = none.scatter(0, ScatterMode::Add, &run, &ones);
    Ok((firsts, run, Tensor::from_expr(counts)))
}

/// The numbers of runs of what was sorted, in the order before.
#[track_caller]
fn unsorted(order: &Tensor, run: &Expr) -> Expr {
    order.zeros_like().expr().scatter(0, ScatterMode::Set, &order.expr(), run)
}

impl Tensor {
    /// The different values, ascending; which of them each element is, in the tensor's shape; and how many elements each of them is. The
    /// latter two are `I64`. Each NaN is a value of its own. Waits for the values: the length depends on them.
    #[track_caller]
    pub fn unique_with(&self) -> (Tensor, Tensor, Tensor) {
        let (sorted, order) = self.flatten_all().sort(0, false);
        match runs(&sorted, &sorted) {
            Ok((values, run, counts)) => (values, Tensor::from_expr(unsorted(&order, &run).reshape(self.expr().shape())), counts),
            Err(invalid) => all(invalid),
        }
    }

    /// The different slices along an axis, in the order of their elements; which of them each slice is; and how many slices each of them is, vectors of
    /// `I64`. Slices have elements. Waits for the values: the length depends on them.
    ///
    /// ```
    /// # unigrad_device::register(unigrad_cpu::CpuDriver::default());
    /// use unigrad_tensor::{Device, Tensor};
    ///
    /// let device = Device::open("cpu")?;
    /// let (rows, inverse, counts) = Tensor::new([[2i64, 1], [1, 9], [2, 1]], &device).unique_slices(0);
    /// assert_eq!(rows.to_vec::<i64>()?, [1, 9, 2, 1]);
    /// assert_eq!(inverse.to_vec::<i64>()?, [1, 0, 1]);
    /// assert_eq!(counts.to_vec::<i64>()?, [1, 2]);
    /// # Ok::<(), unigrad_tensor::Error>(())
    /// ```
    #[track_caller]
    pub fn unique_slices(&self, axis: isize) -> (Tensor, Tensor, Tensor) {
        let (rows, at) = match slices("unique_slices", self, axis) {
            Ok(slices) => slices,
            Err(invalid) => return all(invalid),
        };
        let n = rows.size(0);
        if n == 0 {
            let none = Tensor::from_expr(Expr::constant(Literal::zero(DType::I64), &[0], self.device_id()));
            return (Tensor::from_expr(self.expr().identity()), none.clone(), none);
        }
        let (sorted, order) = numbered(&rows).sort(0, false);
        match runs(&sorted, &order) {
            Ok((firsts, run, counts)) => (self.index_select(at as isize, &firsts), Tensor::from_expr(unsorted(&order, &run)), counts),
            Err(invalid) => all(invalid),
        }
    }

    /// The first of each run of equal elements, in row-major order; which run each element is in, in the tensor's shape; and how long each is. The latter
    /// two are `I64`. Waits for the values: the length depends on them.
    #[track_caller]
    pub fn unique_consecutive(&self) -> (Tensor, Tensor, Tensor) {
        let flat = self.flatten_all();
        match runs(&flat, &flat) {
            Ok((values, run, counts)) => (values, Tensor::from_expr(run.reshape(self.expr().shape())), counts),
            Err(invalid) => all(invalid),
        }
    }

    /// As [`Tensor::unique_consecutive`], of slices along an axis, with vectors of runs and lengths. Slices have elements.
    #[track_caller]
    pub fn unique_consecutive_slices(&self, axis: isize) -> (Tensor, Tensor, Tensor) {
        let (rows, at) = match slices("unique_consecutive_slices", self, axis) {
            Ok(slices) => slices,
            Err(invalid) => return all(invalid),
        };
        let places = Tensor::from_expr(Expr::iota(&[rows.size(0)], 0, DType::I64, self.device_id()));
        match runs(&rows, &places) {
            Ok((firsts, run, counts)) => (self.index_select(at as isize, &firsts), Tensor::from_expr(run), counts),
            Err(invalid) => all(invalid),
        }
    }
}
