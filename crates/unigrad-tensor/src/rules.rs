//! Gradients of composed functions where the chain rule through their parts would give NaN, or another of several right answers.
//!
//! In: the argument, and how the value is computed from it. Out: the value, with a gradient of its own.
//! Always: the gradient is that of PyTorch, and is made of ops that can be differentiated again.
//! Never: changes a value.

use crate::{Operand, Tensor, arithmetic::K, autograd::custom, promotion::align};
use unigrad_graph::DType;

/// A function of one float with its derivative times what arrives: `(x, y, dy)`.
#[track_caller]
pub(crate) fn with_slope(
    name: &str,
    x: &Tensor,
    value: impl FnOnce(&Tensor) -> Tensor,
    slope: impl Fn(&Tensor, &Tensor, &Tensor) -> Tensor + Send + Sync + 'static,
) -> Tensor {
    if !x.dtype().is_float() || x.is_invalid() {
        return value(x);
    }
    custom(name, &[x], |x| value(&x[0]), move |x, y, dy| vec![Some(slope(&x[0], y, dy))])
}

/// `a / b`, and 0 where `b` is 0.
#[track_caller]
pub(crate) fn ratio(a: &Tensor, b: &Tensor) -> Tensor {
    let zero = b.eq(K(0.0));
    zero.where_(K(0.0), a / zero.where_(K(1.0), b))
}

/// The square root of a sum of squares: its gradient at 0 is 0.
#[track_caller]
pub(crate) fn root(sum: &Tensor) -> Tensor {
    with_slope("root", sum, Tensor::sqrt, |_, y, dy| ratio(&(dy * K(0.5)), y))
}

/// The `p`-norm from the sum of powers, with axes that stay. Where the norm is 0, its gradient is 0, and so is that of a 0 below 1.
#[track_caller]
pub(crate) fn power_norm(x: &Tensor, p: f64, sum: impl FnOnce(&Tensor) -> Tensor) -> Tensor {
    let value = |x: &Tensor| match p {
        2.0 => sum(&x.square()).sqrt(),
        _ => sum(&x.abs().pow(K(p))).pow(K(1.0 / p)),
    };
    with_slope("norm", x, value, move |x, y, dy| match p {
        2.0 => x * ratio(dy, y),
        _ if p < 1.0 => {
            let zero = x.eq(K(0.0));
            let power = zero.where_(K(0.0), x.sign() * zero.where_(K(1.0), x.abs()).pow(K(p - 1.0)));
            power * dy * y.pow(K(1.0 - p))
        }
        _ if p < 2.0 => x.sign() * x.abs().pow(K(p - 1.0)) * ratio(dy, &y.pow(K(p - 1.0))),
        _ => x * x.abs().pow(K(p - 2.0)) * ratio(dy, &y.pow(K(p - 1.0))),
    })
}

/// The maximum over an axis, which stays: the gradient goes to the first of equal ones.
#[track_caller]
pub(crate) fn first_max(x: &Tensor, axis: usize) -> Tensor {
    let axis = axis as isize;
    with_slope(
        "max",
        x,
        |x| x.max_keepdim(axis),
        move |x, _, dy| {
            let (e, index) = (x.expr(), x.argmax_keepdim(axis));
            let place = Tensor::from_expr(e.iota_like(axis as usize, DType::I64));
            place.eq(index).where_(dy, K(0.0))
        },
    )
}

/// `value` of `x`, through which the gradient goes where `passes` says.
#[track_caller]
pub(crate) fn gated(
    name: &str,
    x: &Tensor,
    value: impl FnOnce(&Tensor) -> Tensor,
    passes: impl Fn(&Tensor) -> Tensor + Send + Sync + 'static,
) -> Tensor {
    with_slope(name, x, value, move |x, _, dy| passes(x).where_(dy, K(0.0)))
}

/// PyTorch's, which is a 32-bit float.
const LEAST_SPREAD: f64 = 1e-12_f32 as f64;

/// `-(t log x + (1 - t) log(1 - x))`, its logarithms at least -100, computed in the wide dtype.
#[track_caller]
pub(crate) fn binary_cross_entropy(x: &Tensor, target: &Tensor) -> Tensor {
    let (x, target) = match align("bce_loss", &x.expr(), &Operand::Tensor(target.clone()), None) {
        Ok((x, target)) => (x, target),
        Err(invalid) => return Tensor::from_expr(invalid),
    };
    let (dtype, wide) = (x.dtype(), x.dtype().compute());
    let (x, target) = (Tensor::from_expr(x.cast(wide)), Tensor::from_expr(target.cast(wide)));
    let value = |x: &[Tensor]| {
        let (yes, no) = (x[0].log().maximum(K(-100.0)), x[0].neg().log1p().maximum(K(-100.0)));
        ((&x[1] - K(1.0)) * no) - &x[1] * yes
    };
    let loss = custom("bce_loss", &[&x, &target], value, |x, _, dy| {
        let (x, target) = (&x[0], &x[1]);
        let spread = ((x.neg() + K(1.0)) * x).maximum(K(LEAST_SPREAD));
        vec![Some(dy * (x - target) / spread), Some(dy * (x.neg().log1p() - x.log()))]
    });
    loss.cast(dtype)
}

/// A value that does not change where `x` does a little.
#[track_caller]
pub(crate) fn flat(name: &str, x: &Tensor, value: impl FnOnce(&Tensor) -> Tensor) -> Tensor {
    custom(name, &[x], |x| value(&x[0]), |x, _, _| vec![Some(x[0].zeros_like())])
}

/// Whether the operand is a number.
pub(crate) fn is_number(operand: &Operand) -> bool {
    matches!(operand, Operand::Value(_))
}
