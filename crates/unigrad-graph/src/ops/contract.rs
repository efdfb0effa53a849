//! Matrix products and convolutions.

use crate::{ConvSpec, Expr, Op, Shape, autograd::Vjp, is_countable, met};
use std::sync::Arc;

impl Expr {
    /// `[batch.., m, k] @ [batch.., k, n]`, batch sizes equal, one dtype.
    #[track_caller]
    pub fn matmul(&self, other: &Expr) -> Expr {
        self.clone().matmul_with(other.clone())
    }

    /// As [`Expr::matmul`], of handles that nothing else needs.
    #[track_caller]
    pub fn matmul_with(self, other: Expr) -> Expr {
        // Two matrices that fit, as mostly.
        if let ([m, k], [rows, n]) = (self.shape().as_slice(), other.shape().as_slice())
            && k == rows
            && self.dtype() == other.dtype()
            && self.device() == other.device()
        {
            let shape = [*m, *n];
            return self.multiplied(other, &shape);
        }
        self.matmul_by_rule(other)
    }

    #[inline(never)]
    #[track_caller]
    fn matmul_by_rule(self, other: Expr) -> Expr {
        if let Some(invalid) = Expr::check_inputs("matmul", &[&self, &other]) {
            return invalid;
        }
        let (a, b, rank) = (self.shape(), other.shape(), self.rank());
        if rank < 2 || other.rank() != rank || a[..rank - 2] != b[..rank - 2] {
            return Expr::shape_error("matmul", format!("{a:?} @ {b:?}: batch sizes differ"), &[&self, &other]);
        }
        if a[rank - 1] != b[rank - 2] {
            let message = format!("inner sizes differ: {a:?} @ {b:?} ({} against {})", a[rank - 1], b[rank - 2]);
            return Expr::shape_error("matmul", message, &[&self, &other]);
        }
        if self.dtype() != other.dtype() {
            return Expr::dtype_error("matmul", format!("dtypes differ: {} and {}", self.dtype(), other.dtype()), &[&self, &other]);
        }
        let mut shape = Shape::from_slice(a);
        shape[rank - 1] = b[rank - 1];
        self.multiplied(other, &shape)
    }

    /// The node of a product that follows the rules.
    #[inline(always)]
    #[track_caller]
    fn multiplied(self, other: Expr, shape: &[usize]) -> Expr {
        let dtype = self.dtype();
        Expr::coded((met::MATMUL, |op| matches!(op, Op::MatMul)), || Op::MatMul, [self, other], shape, dtype)
    }

    /// Convolution (cross-correlation, as in every framework): x `[n, c, spatial..]` with w `[o, c / groups, kernel..]`.
    #[track_caller]
    pub fn conv(&self, w: &Expr, spec: Arc<ConvSpec>) -> Expr {
        if let Some(invalid) = Expr::check_inputs("conv", &[self, w]) {
            return invalid;
        }
        let (x_shape, w_shape) = (self.shape(), w.shape());
        let n = spec.stride.len();
        let whole = self.rank() == n + 2 && w.rank() == n + 2 && spec.padding.len() == n && spec.dilation.len() == n;
        if !whole || spec.groups == 0 || spec.stride.contains(&0) || spec.dilation.contains(&0) || w_shape[2..].contains(&0) {
            return Expr::shape_error("conv", format!("{x_shape:?} with {w_shape:?} and {spec:?}"), &[self, w]);
        }
        // Without channels any number of groups would do.
        if spec.groups > x_shape[1].max(1)
            || x_shape[1] != w_shape[1].saturating_mul(spec.groups)
            || !w_shape[0].is_multiple_of(spec.groups)
        {
            let message = format!("{} input channels, weight {w_shape:?}, {} groups", x_shape[1], spec.groups);
            return Expr::shape_error("conv", message, &[self, w]);
        }
        if self.dtype() != w.dtype() {
            return Expr::dtype_error("conv", format!("dtypes differ: {} and {}", self.dtype(), w.dtype()), &[self, w]);
        }
        let mut shape = Shape::from_slice(&[x_shape[0], w_shape[0]]);
        let mut whole = Shape::from_slice(&x_shape[..2]);
        let mut plain = (*spec).clone();
        for d in 0..n {
            let span = spec.dilation[d].saturating_mul(w_shape[d + 2] - 1).saturating_add(1);
            let padded = x_shape[d + 2].saturating_add(spec.padding[d].0).saturating_add(spec.padding[d].1);
            if padded < span {
                let message = format!("the kernel spans {span} but the padded input has {padded} along spatial axis {d}");
                return Expr::shape_error("conv", message, &[self, w]);
            }
            let size = (padded - span) / spec.stride[d] + 1;
            // Where there is one window, or one element in it, its distance to the next is any that leads out: what reads the shape off again finds no other.
            if size == 1 && !self.is_named_axis(d + 2) {
                plain.stride[d] = if padded == span { 1 } else { spec.stride[d].min(padded) };
            }
            if w_shape[d + 2] == 1 {
                plain.dilation[d] = 1;
            }
            whole.push(padded);
            shape.push(size);
        }
        if !is_countable(&whole, self.dtype().size()) {
            return Expr::shape_error("conv", format!("{x_shape:?} padded to {whole:?} is more than any memory has"), &[self, w]);
        }
        let spec = if plain == *spec { spec } else { Arc::new(plain) };
        Expr::new(Op::Conv(spec), [self.clone(), w.clone()], shape, self.dtype())
    }

    /// The gradient of [`Expr::conv`] with respect to its input, of shape `x_shape`; also the transposed convolution.
    #[track_caller]
    pub fn conv_data_grad(dy: &Expr, w: &Expr, spec: Arc<ConvSpec>, x_shape: &[usize]) -> Expr {
        if let Some(invalid) = Expr::check_inputs("conv.dx", &[dy, w]) {
            return invalid;
        }
        Expr::new(Op::ConvDataGrad(spec), [dy.clone(), w.clone()], Shape::from_slice(x_shape), dy.dtype())
    }

    /// [`Expr::conv_data_grad`] with the shape and the names of the input.
    #[track_caller]
    fn conv_data_grad_like(dy: &Expr, w: &Expr, spec: &Arc<ConvSpec>, x: &Expr) -> Expr {
        let fits = |axis: usize| axis == 1 || dy.is_named_axis(axis) == x.is_named_axis(axis);
        let is_like = x.is_named() && dy.rank() == x.rank() && dy.axis_names(0) == x.axis_names(0) && (0..x.rank()).all(fits);
        if !is_like || dy.is_named_axis(1) || x.is_named_axis(1) || w.is_named() || Expr::check_inputs("conv.dx", &[dy, w]).is_some() {
            return Expr::conv_data_grad(dy, w, spec.clone(), x.shape());
        }
        // A stride rounds: of how many elements so many windows come, only the input tells.
        Expr::like(Op::ConvDataGrad(spec.clone()), [dy.clone(), w.clone()], x.tensor_type(), dy.dtype())
    }

    /// The gradient of [`Expr::conv`] with respect to its weight, of shape `w_shape`.
    #[track_caller]
    pub fn conv_weight_grad(x: &Expr, dy: &Expr, spec: Arc<ConvSpec>, w_shape: &[usize]) -> Expr {
        if let Some(invalid) = Expr::check_inputs("conv.dw", &[x, dy]) {
            return invalid;
        }
        Expr::new(Op::ConvWeightGrad(spec), [x.clone(), dy.clone()], Shape::from_slice(w_shape), x.dtype())
    }
}

/// With the last two axes swapped.
pub(super) fn transposed(x: &Expr) -> Expr {
    let mut order: Vec<usize> = (0..x.rank()).collect();
    let last = order.len().saturating_sub(1);
    order.swap(last.saturating_sub(1), last);
    x.permute(&order)
}

pub(super) fn matmul_vjp(v: &mut Vjp<'_>) {
    v.send(0, |v| v.dy.matmul(&transposed(&v.x(1))));
    v.send(1, |v| transposed(&v.x(0)).matmul(v.dy));
}

pub(super) fn conv_vjp(v: &mut Vjp<'_>, spec: &Arc<ConvSpec>) {
    v.send(0, |v| Expr::conv_data_grad_like(v.dy, &v.x(1), spec, &v.x(0)));
    v.send(1, |v| Expr::conv_weight_grad(&v.x(0), v.dy, spec.clone(), v.x(1).shape()));
}

/// The convolution, without what output padding has added at the ends.
fn conv_to(x: &Expr, w: &Expr, spec: &Arc<ConvSpec>, shape: &[usize]) -> Expr {
    let mut y = x.conv(w, spec.clone());
    if y.error().is_none() {
        for (axis, size) in shape.iter().enumerate().skip(2) {
            y = y.narrow(axis, 0, *size);
        }
    }
    y
}

pub(super) fn conv_data_grad_vjp(v: &mut Vjp<'_>, spec: &Arc<ConvSpec>) {
    v.send(0, |v| conv_to(v.dy, &v.x(1), spec, v.x(0).shape()));
    v.send(1, |v| Expr::conv_weight_grad(v.dy, &v.x(0), spec.clone(), v.x(1).shape()));
}

pub(super) fn conv_weight_grad_vjp(v: &mut Vjp<'_>, spec: &Arc<ConvSpec>) {
    v.send(0, |v| Expr::conv_data_grad_like(&v.x(1), v.dy, spec, &v.x(0)));
    v.send(1, |v| conv_to(&v.x(0), v.dy, spec, v.x(1).shape()));
}
