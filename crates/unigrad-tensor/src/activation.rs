//! Activation functions with settings, with PyTorch's names. Those without are in `arithmetic`.

use crate::{
    Operand, Tensor,
    arithmetic::K,
    axes::resolve_axis,
    rules::{gated, with_slope},
};
use unigrad_graph::{DType, ErrorKind};

impl Tensor {
    /// `x` above 0, `alpha * (e^(x / alpha) - 1)` below (Barron, 2017): [`Tensor::elu`] with a continuous derivative.
    #[track_caller]
    pub fn celu(&self, alpha: f64) -> Tensor {
        let _within = crate::autocast::within();
        // Zeros keep the exponential finite on the side that is not taken; NaN is on the other one, so that its gradient is NaN.
        let negative = move |x: &Tensor| x.ge(K(0.0)).where_(K(0.0), x) / alpha;
        let value = move |x: &Tensor| x.gt(K(0.0)).where_(x, negative(x).expm1() * alpha);
        with_slope("celu", &self.float(), value, move |x, _, dy| x.gt(K(0.0)).where_(dy, dy * negative(x).exp()))
    }

    /// One half of an axis times the sigmoid of the other (Dauphin et al., 2017); the axis has an even size.
    #[track_caller]
    pub fn glu(&self, axis: isize) -> Tensor {
        let _within = crate::autocast::within();
        let x = self.float();
        let e = x.expr();
        match resolve_axis(&e, "glu", axis as i64) {
            Ok(at) if e.shape()[at].is_multiple_of(2) => {
                let half = e.shape()[at] / 2;
                x.narrow(axis, 0, half) * x.narrow(axis, half, half).sigmoid()
            }
            Ok(at) => {
                let message = format!("axis {axis} of {:?} has {} elements", e.shape(), e.shape()[at]);
                Tensor::fail(ErrorKind::Shape, "glu", message, "halve an axis of even size", &[self])
            }
            Err(invalid) => Tensor::from_expr(invalid),
        }
    }

    /// `x` above 0, `weight * x` below: one weight, or one for each channel (axis 1; of a vector, axis 0).
    #[track_caller]
    pub fn prelu(&self, weight: &Tensor) -> Tensor {
        let x = self.float();
        if x.is_invalid() || weight.is_invalid() {
            return &x * weight;
        }
        let weight = if weight.numel() == 1 {
            weight.reshape(Vec::<i64>::new())
        } else {
            let axis = x.rank().min(2).saturating_sub(1);
            if weight.rank() != 1 || x.rank() == 0 || x.shape()[axis] != weight.numel() {
                let message = format!("weights {:?} for {:?}", weight.shape(), x.shape());
                return Tensor::fail(ErrorKind::Shape, "prelu", message, "give one weight, or one for each channel", &[self, weight]);
            }
            let mut spread = vec![1_i64; x.rank()];
            spread[axis] = weight.numel() as i64;
            weight.reshape(spread)
        };
        x.gt(K(0.0)).where_(&x, &x * weight)
    }

    /// Toward 0 by `lambda`, and 0 within it. Of NaN the gradient is 0.
    #[track_caller]
    pub fn softshrink(&self, lambda: f64) -> Tensor {
        let value = move |x: &Tensor| {
            let within = x.ge(-lambda).logical_and(x.le(lambda));
            within.where_(K(0.0), x.gt(K(0.0)).where_(x - lambda, x + lambda))
        };
        gated("softshrink", &self.float(), value, move |x| x.lt(-lambda).logical_or(x.gt(lambda)))
    }

    /// 0 within `lambda` of 0, else `x`. Of NaN the gradient is 0.
    #[track_caller]
    pub fn hardshrink(&self, lambda: f64) -> Tensor {
        let value = move |x: &Tensor| x.ge(-lambda).logical_and(x.le(lambda)).where_(K(0.0), x);
        gated("hardshrink", &self.float(), value, move |x| x.lt(-lambda).logical_or(x.gt(lambda)))
    }

    /// `x - tanh(x)`.
    #[track_caller]
    pub fn tanhshrink(&self) -> Tensor {
        let value = |x: &Tensor| {
            // Where the difference of two numbers that are nearly equal has no digits: the series.
            let wide = x.cast(x.dtype().compute());
            let (z, near) = (wide.square(), wide.abs().lt(K(0.1)));
            let series =
                [-929_569.0 / 638_512_875.0, 21_844.0 / 6_081_075.0, -1382.0 / 155_925.0, 62.0 / 2835.0, -17.0 / 315.0, 2.0 / 15.0];
            let tail = series.into_iter().fold(z.zeros_like(), |sum, c| sum * &z + K(c));
            let small = &wide * &z * (tail.neg() * &z + K(1.0 / 3.0));
            near.where_(small, &wide - wide.tanh()).cast(x.dtype())
        };
        with_slope("tanhshrink", &self.float(), value, |x, _, dy| dy * x.tanh().square())
    }

    /// `x` above `threshold`, else `value`.
    #[track_caller]
    pub fn threshold(&self, threshold: impl Into<Operand>, value: impl Into<Operand>) -> Tensor {
        self.le(threshold).where_(value, self)
    }

    /// `min(max(x, low), high)`; at the limits, and of NaN, the gradient is 0. [`Tensor::hardtanh`] is that of -1 and 1.
    ///
    /// Integers stay what they are, with limits rounded toward 0, those below what the dtype holds at its least number; bools have none at all.
    #[track_caller]
    pub fn hardtanh_with(&self, low: f64, high: f64) -> Tensor {
        let dtype = self.dtype();
        if self.is_invalid() || dtype.is_float() {
            let value = move |x: &Tensor| x.clamp(low, high);
            return gated("hardtanh", self, value, move |x| x.gt(low).logical_and(x.lt(high)));
        }
        let (low, high) = (low.trunc(), high.trunc());
        if dtype == DType::Bool {
            let message = format!("limits of {low} and {high} for {dtype}");
            return Tensor::fail(ErrorKind::DType, "hardtanh", message, "cast to a float or an integer", &[self]);
        }
        // As casts do: beyond the range it is the last number.
        self.clamp(low as i64, high as i64)
    }

    /// `log(1 + e^(beta x)) / beta`, and `x` itself where `beta x` is above `threshold`.
    #[track_caller]
    pub fn softplus_with(&self, beta: f64, threshold: f64) -> Tensor {
        if let Some(cast) = crate::autocast::entered("softplus_with") {
            return cast.of(self).softplus_with(beta, threshold);
        }
        let x = self.float();
        let scaled = &x * beta;
        scaled.gt(threshold).where_(&x, scaled.softplus() / beta)
    }
}
