//! Ops whose access pattern the data decides.

use crate::{Expr, Op, Shape, autograd::Vjp};
use smallvec::SmallVec;
use std::sync::Arc;
use unigrad_scalar::{BinaryOp, DType, Literal, PoolSpec, ReduceOp, ScatterMode};

impl Expr {
    /// `out[p] = self[p with p[axis] := index[p]]`; `index` is `I64` and has self's shape but along `axis`.
    /// Out-of-range indices fail when it runs.
    #[track_caller]
    pub fn gather(&self, axis: usize, index: &Expr) -> Expr {
        if let Some(invalid) = Expr::check_inputs("gather", &[self, index]) {
            return invalid;
        }
        let fits =
            axis < self.rank() && index.rank() == self.rank() && (0..self.rank()).all(|i| i == axis || index.shape()[i] == self.shape()[i]);
        if !fits {
            let message = format!("index {:?} along axis {axis} of {:?}", index.shape(), self.shape());
            return Expr::shape_error("gather", message, &[self, index]);
        }
        if index.dtype() != DType::I64 {
            return Expr::dtype_error("gather", format!("an index is i64 here, got {}", index.dtype()), &[index]);
        }
        Expr::new(Op::Gather { axis }, [self.clone(), index.clone()], index.shape().clone(), self.dtype())
    }

    /// `self` with `src` put in: `out[p with p[axis] := index[p]] op= src[p]`.
    #[track_caller]
    pub fn scatter(&self, axis: usize, mode: ScatterMode, index: &Expr, src: &Expr) -> Expr {
        if let Some(invalid) = Expr::check_inputs("scatter", &[self, index, src]) {
            return invalid;
        }
        let fits = axis < self.rank()
            && index.shape() == src.shape()
            && index.rank() == self.rank()
            && (0..self.rank()).all(|i| i == axis || index.shape()[i] <= self.shape()[i]);
        if !fits {
            let message = format!("index {:?} and source {:?} along axis {axis} of {:?}", index.shape(), src.shape(), self.shape());
            return Expr::shape_error("scatter", message, &[self, index, src]);
        }
        if index.dtype() != DType::I64 || src.dtype() != self.dtype() {
            let message = format!("index {} (i64 wanted), source {} into {}", index.dtype(), src.dtype(), self.dtype());
            return Expr::dtype_error("scatter", message, &[self, index, src]);
        }
        Expr::new(Op::Scatter { axis, mode }, [self.clone(), index.clone(), src.clone()], self.shape().clone(), self.dtype())
    }

    /// Stable order of the elements along an axis.
    #[track_caller]
    pub fn argsort(&self, axis: usize, descending: bool) -> Expr {
        if self.error().is_some() {
            return self.clone();
        }
        if axis >= self.rank() {
            return Expr::shape_error("argsort", format!("axis {axis} of {:?}", self.shape()), &[self]);
        }
        Expr::new(Op::ArgSort { axis, descending }, [self.clone()], self.shape().clone(), DType::I64)
    }

    /// Indices of the `k` greatest or least along an axis, best first.
    #[track_caller]
    pub fn topk(&self, axis: usize, k: usize, largest: bool) -> Expr {
        if self.error().is_some() {
            return self.clone();
        }
        if axis >= self.rank() || k > self.shape()[axis] {
            return Expr::shape_error("topk", format!("{k} along axis {axis} of {:?}", self.shape()), &[self]);
        }
        let mut shape = self.shape().clone();
        shape[axis] = k;
        Expr::new(Op::TopK { axis, k, largest }, [self.clone()], shape, DType::I64)
    }

    /// Each window's maximum and where it is, as two parts; `output` are the result's spatial sizes.
    #[track_caller]
    pub fn max_pool_node(&self, spec: Arc<PoolSpec>, output: &[usize]) -> Expr {
        if self.error().is_some() {
            return self.clone();
        }
        let n = spec.kernel.len();
        let in_reach = |d: usize| {
            // Each window must have an element of the input, or its maximum is nowhere.
            self.shape()[d + 2] > 0 && spec.first_outside(d, self.shape()[d + 2], output[d]).is_none()
        };
        if self.rank() != n + 2 || output.len() != n || spec.kernel.contains(&0) || spec.stride.contains(&0) || !(0..n).all(in_reach) {
            return Expr::shape_error("max_pool", format!("{spec:?} over {:?} to {output:?}", self.shape()), &[self]);
        }
        let mut shape = self.shape().clone();
        shape[2..].copy_from_slice(output);
        Expr::new(Op::MaxPool(spec), [self.clone()], shape, self.dtype())
    }
}

/// `[n, c, spatial..]` as `[n, c, all of it]`.
#[track_caller]
fn flat(x: &Expr) -> Expr {
    x.reshape(&[x.shape()[0], x.shape()[1], x.shape()[2..].iter().product()])
}

/// The gradient of the maxima goes to where they were found.
pub(super) fn max_pool_vjp(v: &mut Vjp<'_>, node: &Expr) {
    v.send(0, |v| {
        let x = v.x(0);
        flat(&x.zeros_like()).scatter(2, ScatterMode::Add, &flat(&node.part(1)), &flat(v.dy)).reshape_like(&x)
    });
}

/// What a scatter with this index would meet: `x` gathered, without the part of other axes that the index does not reach.
fn met(x: &Expr, axis: usize, index: &Expr) -> Expr {
    let mut x = x.clone();
    for i in (0..x.rank()).filter(|i| *i != axis) {
        let is_part = index.shape()[i] != x.shape()[i] || x.is_named_apart(i, index, i);
        x = if is_part { x.narrow_like(i, index, i) } else { x.narrow(i, 0, index.shape()[i]) };
    }
    x.gather(axis, index)
}

pub(super) fn scatter_vjp(v: &mut Vjp<'_>, axis: usize, mode: ScatterMode) {
    let (base, index, src) = (v.x(0), v.x(1), v.x(2));
    match mode {
        ScatterMode::Add => {
            v.send(0, |v| v.dy.clone());
            v.send(2, |v| met(v.dy, axis, &index));
        }
        ScatterMode::Set => {
            v.send(0, |v| v.dy.scatter(axis, ScatterMode::Set, &index, &src.zeros_like()));
            v.send(2, |v| {
                // Of several sources with one target, which differ along the axis alone, only the last is there: the one that finds its own number.
                let number = src.iota_like(axis, DType::I64);
                let nobody = base.literal_like(Literal::int(DType::I64, -1));
                let owner = met(&nobody.scatter(axis, ScatterMode::Set, &index, &number), axis, &index);
                let share = met(v.dy, axis, &index);
                owner.eq(&number).select(&share, &share.zeros_like())
            });
        }
        // What equals the result shares the gradient.
        ScatterMode::Max | ScatterMode::Min => {
            let is_base = base.eq(v.node);
            let is_src = src.eq(&met(v.node, axis, &index));
            // Counted in a dtype that holds the number of ties.
            let wide = v.dy.dtype().compute();
            let count = is_base.cast(wide).scatter(axis, ScatterMode::Add, &index, &is_src.cast(wide));
            let share = v.dy.cast(wide).div(&count).cast(v.dy.dtype());
            v.send(0, |_| is_base.select(&share, &share.zeros_like()));
            v.send(2, |_| {
                let share = met(&share, axis, &index);
                is_src.select(&share, &share.zeros_like())
            });
        }
        ScatterMode::Mul => {
            v.send(0, |v| v.dy.mul(&base.constant_like(1.0).scatter(axis, ScatterMode::Mul, &index, &src)));
            v.send(2, |v| {
                let value = |_: &[Expr]| scatter_mul_gradient(&base, &index, &src, v.node, v.dy, axis);
                let places = index.clone();
                let formula = move |x: &[Expr]| scatter_mul_gradient_formula(&x[0], &places, &x[1], &x[2], axis);
                Expr::stated("scatter.dsrc", &[base.clone(), src.clone(), v.dy.clone()], value, formula)
            });
        }
    }
}

/// For each source the gradient times the product of all others, in linear time. It tells zeros from other numbers, so it is no formula to
/// differentiate.
fn scatter_mul_gradient(base: &Expr, index: &Expr, src: &Expr, y: &Expr, dy: &Expr, axis: usize) -> Expr {
    // The whole by this one, or, if this one is the only 0, the product without it.
    let is_zero = src.binary_const(BinaryOp::Eq, 0.0);
    let safe = is_zero.select(&src.constant_like(1.0), src);
    let zeros = base.zeros_like().scatter(axis, ScatterMode::Add, index, &is_zero.cast(src.dtype()));
    let only = met(&zeros, axis, index).binary_const(BinaryOp::Le, 1.0);
    let without = met(&dy.mul(&base.scatter(axis, ScatterMode::Mul, index, &safe)), axis, index);
    let whole = met(&dy.mul(y), axis, index).div(&safe);
    is_zero.select(&only.select(&without, &without.zeros_like()), &whole)
}

/// The same, of products alone: each source meets every other one.
fn scatter_mul_gradient_formula(base: &Expr, index: &Expr, src: &Expr, dy: &Expr, axis: usize) -> Expr {
    if src.numel() == 0 {
        return src.clone();
    }
    let mut order: SmallVec<[usize; 8]> = (0..src.rank()).filter(|other| *other != axis).collect();
    order.push(axis);
    let (x, place) = (src.permute(&order), index.permute(&order));
    let last = x.rank() - 1;
    let (mut row, mut column): (Shape, Shape) = (x.shape().clone(), x.shape().clone());
    row.insert(last, 1);
    column.push(1);
    let mut square = row.clone();
    square[last] = x.shape()[last];
    let number = |along: usize| Expr::iota(&square, along, DType::I64, x.device());
    let meets = place.reshape(&row).expand(&square).eq(&place.reshape(&column).expand(&square));
    let other = meets.and(&number(last).ne(&number(last + 1)));
    let sources = x.reshape(&row).expand(&square);
    let others = other.select(&sources, &sources.constant_like(1.0)).reduce(ReduceOp::Prod, 1 << (last + 1)).reshape_like(&x);
    let back: SmallVec<[usize; 8]> = (0..x.rank()).map(|i| order.iter().position(|from| *from == i).unwrap_or(i)).collect();
    met(&dy.mul(base), axis, index).mul(&others.permute(&back))
}
