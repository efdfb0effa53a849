//! Reductions, scans, and the composites made of them: softmax and the normalizations.

use super::map::applied;
use crate::{CustomGradient, Error, Expr, Op, Origin, PadAxis, Shape, SliceAxis, autograd::Vjp, no_grad_guard};
use smallvec::SmallVec;
use std::sync::Arc;
use unigrad_scalar::{ArgReduceOp, BinaryOp, DType, Formula, Literal, ReduceOp, ScanGradient, ScanOp, ScatterMode};

impl Expr {
    /// Over the axes of a bit mask, which stay with size 1.
    #[track_caller]
    pub fn reduce(&self, op: ReduceOp, axes: u32) -> Expr {
        if self.error().is_some() {
            return self.clone();
        }
        if self.rank() > 32 || (axes as u64) >> self.rank() != 0 {
            return Expr::shape_error(op.name(), format!("axes {axes:#b} of {:?}", self.shape()), &[self]);
        }
        if self.dtype() == DType::Bool && matches!(op, ReduceOp::Sum | ReduceOp::Prod) {
            return Expr::dtype_error(op.name(), "wants numbers, got bool".into(), &[self]);
        }
        // Not only a shortcut: over axes of size 1 every reduction is the identity.
        let axes = (0..self.rank())
            .filter(|axis| axes >> axis & 1 == 1 && (self.shape()[*axis] != 1 || self.is_named_axis(*axis)))
            .fold(0, |mask, axis| mask | 1 << axis);
        if axes == 0 {
            return self.identity();
        }
        let shape = self.shape().iter().enumerate().map(|(axis, size)| if axes >> axis & 1 == 1 { 1 } else { *size }).collect::<Shape>();
        Expr::new(Op::Reduce(op, axes), [self.clone()], shape, self.dtype())
    }

    /// Sum over the axes of a bit mask, which stay with size 1.
    #[track_caller]
    pub fn sum(&self, axes: u32) -> Expr {
        self.reduce(ReduceOp::Sum, axes)
    }

    /// Index of the first extreme element along an axis, which stays with size 1.
    #[track_caller]
    pub fn arg_reduce(&self, op: ArgReduceOp, axis: usize) -> Expr {
        if self.error().is_some() {
            return self.clone();
        }
        if axis >= self.rank() || self.shape()[axis] == 0 {
            return Expr::shape_error(op.name(), format!("axis {axis} of {:?} has no elements", self.shape()), &[self]);
        }
        let mut shape = self.shape().clone();
        shape[axis] = 1;
        Expr::new(Op::ArgReduce(op, axis), [self.clone()], shape, DType::I64)
    }

    /// A running reduction.
    #[track_caller]
    pub fn scan(&self, op: ScanOp, axis: usize, reverse: bool) -> Expr {
        if self.error().is_some() {
            return self.clone();
        }
        if axis >= self.rank() {
            return Expr::shape_error(op.name(), format!("axis {axis} of {:?}", self.shape()), &[self]);
        }
        if self.dtype() == DType::Bool || op.needs_floats() && !self.dtype().is_float() {
            let wants = if op.needs_floats() { "floats" } else { "numbers" };
            return Expr::dtype_error(op.name(), format!("wants {wants}, got {}", self.dtype()), &[self]);
        }
        Expr::like(Op::Scan { op, axis, reverse }, [self.clone()], self.tensor_type(), self.dtype())
    }

    /// The reduction of a running one's row over the axes of a bit mask, which stay with size 1: what it runs to.
    #[track_caller]
    pub fn total(&self, op: ScanOp, axes: u32) -> Expr {
        if self.error().is_some() {
            return self.clone();
        }
        if (axes as u64) >> self.rank() != 0 {
            return Expr::shape_error(op.name(), format!("axes {axes:#b} of {:?}", self.shape()), &[self]);
        }
        let wide = self.dtype() == DType::F64;
        let x = op.prepare(wide).map_or_else(|| self.identity(), |prepare| applied(prepare, &[self]));
        match op.gradient(wide) {
            ScanGradient::Slope(slope) => {
                let value = {
                    let _guard = no_grad_guard();
                    x.run_to_the_end(op, axes)
                };
                Expr::custom(Arc::new(TotalGradient { op, slope }), &value, &[x])
            }
            ScanGradient::Sum | ScanGradient::Product | ScanGradient::LogSumExp | ScanGradient::Extreme => x.run_to_the_end(op, axes),
        }
    }

    /// The last running results over the axes of a bit mask.
    #[track_caller]
    fn run_to_the_end(&self, op: ScanOp, axes: u32) -> Expr {
        let reduced = |axis: &usize| axes >> axis & 1 == 1;
        let mut shape: Shape = (0..self.rank()).filter(|axis| !reduced(axis)).map(|axis| self.shape()[axis]).collect();
        let kept: Shape = (0..self.rank()).map(|axis| if reduced(&axis) { 1 } else { self.shape()[axis] }).collect();
        let len = (0..self.rank()).filter(reduced).fold(1, |len: usize, axis| len.saturating_mul(self.shape()[axis]));
        if len == 0 {
            return Expr::constant(op.identity(self.dtype()), &kept, self.device());
        }
        let order: SmallVec<[usize; 8]> = (0..self.rank()).filter(|axis| !reduced(axis)).chain((0..self.rank()).filter(reduced)).collect();
        let last = shape.len();
        shape.push(len);
        self.permute(&order).reshape(&shape).scan(op, last, false).narrow(last, len - 1, 1).reshape(&kept)
    }

    /// Softmax over one axis.
    #[track_caller]
    pub fn softmax(&self, axis: usize) -> Expr {
        self.row_composite("softmax", Op::Softmax { axis }, axis)
    }

    /// Logarithm of the softmax over one axis.
    #[track_caller]
    pub fn log_softmax(&self, axis: usize) -> Expr {
        self.row_composite("log_softmax", Op::LogSoftmax { axis }, axis)
    }

    /// Layer normalization (`center`) or RMS normalization over the last `axes` axes, without weight and bias.
    #[track_caller]
    pub fn normalize(&self, axes: usize, center: bool, eps: f64) -> Expr {
        let name = if center { "layer_norm" } else { "rms_norm" };
        if self.error().is_none() && (axes == 0 || axes > self.rank()) {
            return Expr::shape_error(name, format!("{axes} trailing axes of {:?}", self.shape()), &[self]);
        }
        self.row_composite(name, Op::Normalize { axes, center, eps_bits: eps.to_bits() }, self.rank().saturating_sub(1))
    }

    /// Floats with mean 0 and variance 1 over some axes, with the mean and the variance that they had (biased, before `eps`; these send no gradient).
    /// Half types are to be cast before.
    #[track_caller]
    pub fn standardize(&self, mask: u32, eps: f64) -> [Expr; 3] {
        if self.error().is_some() {
            return [self.clone(), self.clone(), self.clone()];
        }
        let _origin = Origin::enter_caller();
        let (value, mean, var) = {
            let _guard = no_grad_guard();
            let (centered, scale) = normalize_parts(self, mask, true, eps);
            let var = mean_of(&centered.mul(&centered), self, mask);
            (centered.mul(&scale.expand_like(&centered)), mean_of(self, self, mask), var)
        };
        if value.error().is_some() {
            return [value.clone(), value.clone(), value];
        }
        [Expr::custom(Arc::new(Standardized { mask, eps }), &value, std::slice::from_ref(self)), mean, var]
    }

    #[track_caller]
    fn row_composite(&self, name: &str, op: Op, axis: usize) -> Expr {
        if self.error().is_some() {
            return self.clone();
        }
        if axis >= self.rank() {
            return Expr::shape_error(name, format!("axis {axis} of {:?}", self.shape()), &[self]);
        }
        if !self.dtype().is_float() {
            return Expr::dtype_error(name, format!("wants a float, got {}", self.dtype()), &[self]);
        }
        Expr::like(op, [self.clone()], self.tensor_type(), self.dtype())
    }
}

pub(super) fn reduce_vjp(v: &mut Vjp<'_>, op: ReduceOp, axes: u32) {
    v.send(0, |v| {
        let x = v.x(0);
        let spread = |e: &Expr| e.expand_like(&x);
        match op {
            ReduceOp::Sum => spread(v.dy),
            // Equal ones share.
            ReduceOp::Max | ReduceOp::Min => {
                let wide = x.dtype().compute();
                let best = x.eq(&spread(v.node)).cast(wide);
                // No element equals NaN: 0 of them share, and the gradient is NaN.
                spread(&v.dy.cast(wide).div(&best.sum(axes))).mul(&best).cast(x.dtype())
            }
            ReduceOp::Prod => {
                let reduced: Vec<usize> = (0..x.rank()).filter(|axis| axes >> axis & 1 == 1).collect();
                let mut order: Vec<usize> = (0..x.rank()).filter(|axis| axes >> axis & 1 == 0).collect();
                let kept = order.len();
                order.extend(&reduced);
                let apart = x.permute(&order);
                let mut flat = apart.shape().clone();
                flat.truncate(kept);
                flat.push(reduced.iter().map(|axis| x.shape()[*axis]).product());
                let others = product_of_others(&apart.reshape(&flat), kept).reshape_like(&apart);
                let mut inverse = vec![0; order.len()];
                for (i, axis) in order.iter().enumerate() {
                    inverse[*axis] = i;
                }
                spread(v.dy).mul(&others.permute(&inverse))
            }
        }
    });
}

/// For each element, the product of all others along an axis; right where some are 0.
fn product_of_others(x: &Expr, axis: usize) -> Expr {
    if x.shape()[axis] == 0 {
        return x.clone();
    }
    running_before(x, axis, false).mul(&running_before(x, axis, true))
}

/// `dy` by the slope at `y`, and 0 where that is 0.
fn share(dy: &Expr, slope: &Formula, y: &Expr) -> Expr {
    let slope = applied(slope, &[y]);
    let none = slope.binary_const(BinaryOp::Eq, 0.0);
    none.select(&dy.zeros_like(), &dy.div(&none.select(&slope.constant_like(1.0), &slope)))
}

/// The gradient of a reduction by a formula whose results change by its slopes.
#[derive(Debug)]
struct TotalGradient {
    op: ScanOp,
    slope: &'static Formula,
}

impl CustomGradient for TotalGradient {
    fn name(&self) -> &str {
        self.op.name()
    }

    fn backward(&self, inputs: &[Expr], output: &Expr, dy: &Expr) -> Result<Vec<Option<Expr>>, Error> {
        let x = &inputs[0];
        Ok(vec![Some(share(dy, self.slope, output).expand(x.shape()).mul(&applied(self.slope, &[x])))])
    }
}

pub(super) fn scan_vjp(v: &mut Vjp<'_>, op: ScanOp, axis: usize, reverse: bool) {
    v.send(0, |v| {
        let (x, y, dy) = (&v.x(0), v.node, v.dy);
        match op.gradient(x.dtype() == DType::F64) {
            ScanGradient::Sum => dy.scan(ScanOp::Sum, axis, !reverse),
            // The formula needs a matrix per row, so only second derivatives compute it.
            ScanGradient::Product => {
                let value = |_: &[Expr]| cumprod_gradient(x, y, dy, axis, reverse);
                let formula = move |inputs: &[Expr]| cumprod_gradient_formula(&inputs[0], &inputs[1], axis, reverse);
                Expr::stated("cumprod.dx", &[x.clone(), dy.clone()], value, formula)
            }
            // exp(x) times the sum of dy exp(-y) over what follows: by logarithms, apart for each sign, so that nothing overflows.
            ScanGradient::LogSumExp => {
                let none = x.constant_like(f64::NEG_INFINITY);
                let empty = y.eq(&none);
                let part = |dy: &Expr| {
                    let counts = dy.binary_const(BinaryOp::Gt, 0.0).and(&empty.not());
                    let log = counts.select(dy, &dy.constant_like(1.0)).log().sub(&empty.select(&y.zeros_like(), y));
                    counts.select(&log, &none).scan(ScanOp::LogSumExp, axis, !reverse).add(x).exp()
                };
                part(dy).sub(&part(&dy.neg()))
            }
            // Each result by its own slope, then each element by its.
            ScanGradient::Slope(slope) => share(dy, slope, y).scan(ScanOp::Sum, axis, !reverse).mul(&applied(slope, &[x])),
            ScanGradient::Extreme => {
                // The element that holds the extreme: the latest one that equals it.
                let size = x.shape()[axis] as i64;
                let place = x.iota_like(axis, DType::I64);
                let (latest, start) = if reverse { (ScanOp::Min, size - 1) } else { (ScanOp::Max, 0) };
                let start = x.literal_like(Literal::int(DType::I64, start));
                let holds = x.eq(y).or(&x.unary(unigrad_scalar::UnaryOp::IsNan));
                let index = holds.select(&place, &start).scan(latest, axis, reverse);
                x.zeros_like().scatter(axis, ScatterMode::Add, &index, dy)
            }
        }
    });
}

/// The gradient of a running product, in linear time. It tells zeros from other numbers, so it is no formula to differentiate.
fn cumprod_gradient(x: &Expr, y: &Expr, dy: &Expr, axis: usize, reverse: bool) -> Expr {
    // Up to the first 0: the sum of what follows, by the element. At the first 0: the same with 1 in its place. After it every product
    // contains it.
    let zero = x.binary_const(BinaryOp::Eq, 0.0);
    let seen = zero.cast(DType::I64).scan(ScanOp::Sum, axis, reverse);
    let none = seen.binary_const(BinaryOp::Eq, 0.0);
    let first = zero.and(&seen.binary_const(BinaryOp::Eq, 1.0));
    let one = x.constant_like(1.0);
    let after = |weights: &Expr| dy.mul(weights).scan(ScanOp::Sum, axis, !reverse);
    let usual = after(y).div(&zero.select(&one, x));
    let at_zero = after(&first.select(&one, x).scan(ScanOp::Prod, axis, reverse));
    none.select(&usual, &first.select(&at_zero, &x.zeros_like()))
}

/// The same, of sums and products alone: for each element, what comes before it times the sum over all later places of their gradient
/// times what lies in between.
fn cumprod_gradient_formula(x: &Expr, dy: &Expr, axis: usize, reverse: bool) -> Expr {
    let size = x.shape()[axis];
    if x.numel() == 0 {
        return x.clone();
    }
    let turn = |e: &Expr| {
        let mut axes: SmallVec<[SliceAxis; 6]> = e.shape().iter().map(|size| SliceAxis { start: 0, step: 1, len: *size }).collect();
        axes[axis] = SliceAxis { start: size - 1, step: -1, len: size };
        if reverse { e.slice(&axes) } else { e.clone() }
    };
    let mut order: SmallVec<[usize; 8]> = (0..x.rank()).filter(|other| *other != axis).collect();
    order.push(axis);
    let (x, dy) = (turn(x).permute(&order), turn(dy).permute(&order));
    let last = x.rank() - 1;
    let mut row: Shape = x.shape().clone();
    row.insert(last, 1);
    let mut square = row.clone();
    square[last] = size;
    let spread = |e: &Expr| e.reshape(&row).expand(&square);
    let place = |along: usize| Expr::iota(&square, along, DType::I64, x.device());
    let (from, to) = (place(last), place(last + 1));
    let between = to.gt(&from).select(&spread(&x), &spread(&x).constant_like(1.0)).scan(ScanOp::Prod, last + 1, false);
    let between = to.ge(&from).select(&between, &between.zeros_like());
    let after = spread(&dy).mul(&between).sum(1 << (last + 1)).reshape_like(&x);
    let back: SmallVec<[usize; 8]> = (0..x.rank()).map(|i| order.iter().position(|from| *from == i).unwrap_or(i)).collect();
    turn(&running_before(&x, last, false).mul(&after).permute(&back))
}

/// The running product along an axis, one step late.
fn running_before(x: &Expr, axis: usize, reverse: bool) -> Expr {
    let (start, lo, hi) = if reverse { (1, 0, 1) } else { (0, 1, 0) };
    let mut pads: SmallVec<[PadAxis; 6]> = SmallVec::from_elem(PadAxis::default(), x.rank());
    pads[axis] = PadAxis { lo, hi, interior: 0 };
    x.scan(ScanOp::Prod, axis, reverse).narrow(axis, start, x.shape()[axis] - 1).pad(&pads, Literal::one(x.dtype()))
}

/// The sum over an axis, spread over it again.
fn sum_over(x: &Expr, axes: u32) -> Expr {
    x.sum(axes).expand_like(x)
}

pub(super) fn softmax_vjp(v: &mut Vjp<'_>, axis: usize) {
    v.send(0, |v| {
        let wide = v.node.dtype().compute();
        let (y, dy) = (v.node.cast(wide), v.dy.cast(wide));
        y.mul(&dy.sub(&sum_over(&y.mul(&dy), 1 << axis))).cast(v.node.dtype())
    });
}

pub(super) fn log_softmax_vjp(v: &mut Vjp<'_>, axis: usize) {
    v.send(0, |v| {
        let wide = v.node.dtype().compute();
        let (y, dy) = (v.node.cast(wide), v.dy.cast(wide));
        dy.sub(&y.exp().mul(&sum_over(&dy, 1 << axis))).cast(v.node.dtype())
    });
}

pub(super) fn softmax_primitives(x: &Expr, axis: usize, log: bool) -> Expr {
    if x.numel() == 0 {
        return x.clone();
    }
    let dtype = x.dtype();
    let x = x.cast(dtype.compute());
    let moved = x.sub(&x.reduce(ReduceOp::Max, 1 << axis).expand_like(&x));
    let e = moved.exp();
    let sum = e.sum(1 << axis);
    let result = if log { moved.sub(&sum.log().expand_like(&x)) } else { e.div(&sum.expand_like(&x)) };
    result.cast(dtype)
}

/// The last `axes` axes, as a mask.
fn trailing(x: &Expr, axes: usize) -> u32 {
    (x.rank() - axes..x.rank()).fold(0, |mask, axis| mask | 1 << axis)
}

/// The mean over axes of `x`, of a tensor of its shape.
fn mean_of(e: &Expr, x: &Expr, mask: u32) -> Expr {
    let sum = e.sum(mask);
    sum.mul(&sum.count_like(x, mask, |n| 1.0 / n))
}

/// What is normalized (centered or not), and the reciprocal of its length.
fn normalize_parts(x: &Expr, mask: u32, center: bool, eps: f64) -> (Expr, Expr) {
    let centered = if center { x.sub(&mean_of(x, x, mask).expand_like(x)) } else { x.clone() };
    let scale = mean_of(&centered.mul(&centered), x, mask).binary_const(BinaryOp::Add, eps).rsqrt();
    (centered, scale)
}

pub(super) fn normalize_primitives(x: &Expr, axes: usize, center: bool, eps: f64) -> Expr {
    let dtype = x.dtype();
    let (centered, scale) = normalize_parts(&x.cast(dtype.compute()), trailing(x, axes), center, eps);
    centered.mul(&scale.expand_like(&centered)).cast(dtype)
}

pub(super) fn normalize_vjp(v: &mut Vjp<'_>, axes: usize, center: bool, eps: f64) {
    v.send(0, |v| {
        let x = v.x(0);
        normalize_gradient(&x, v.dy, trailing(&x, axes), center, eps)
    });
}

/// The gradient of what is normalized over axes, of `dy`: with both means of one walk over the rows. From `x`, not from the result: so the result need
/// not be kept.
fn normalize_gradient(x: &Expr, dy: &Expr, mask: u32, center: bool, eps: f64) -> Expr {
    let wide = x.dtype().compute();
    let dy = dy.cast(wide);
    let (centered, scale) = normalize_parts(&x.cast(wide), mask, center, eps);
    let mean = |e: &Expr| mean_of(e, x, mask).expand_like(x);
    let scale = scale.expand_like(x);
    let y = centered.mul(&scale);
    let inner = dy.sub(&y.mul(&mean(&dy.mul(&y))));
    let inner = if center { inner.sub(&mean(&dy)) } else { inner };
    inner.mul(&scale).cast(x.dtype())
}

/// The gradient of [`Expr::standardize`].
#[derive(Debug)]
struct Standardized {
    mask: u32,
    eps: f64,
}

impl CustomGradient for Standardized {
    fn name(&self) -> &str {
        "standardize"
    }

    fn backward(&self, inputs: &[Expr], _output: &Expr, dy: &Expr) -> Result<Vec<Option<Expr>>, Error> {
        Ok(inputs.iter().map(|x| Some(normalize_gradient(x, dy, self.mask, true, self.eps))).collect())
    }
}
