//! Elementwise functions composed of others, with PyTorch's names: remainders, signs, logarithms of sums, integers' divisors.
//!
//! Always: a gradient where PyTorch has one, and 0 instead of its NaN where a limit exists; steps have gradient 0.

use crate::{
    Operand, Tensor,
    arithmetic::K,
    autograd::custom,
    default_dtype::default_dtype,
    promotion::align,
    rules::{ratio, with_slope},
};
use std::f64::consts;
use unigrad_graph::{DType, ErrorKind, Expr, Literal};

/// Both sides with one shape and dtype; integers and bools as floats if `real`.
#[track_caller]
fn aligned(op: &str, x: &Tensor, other: impl Into<Operand>, real: bool) -> Result<(Tensor, Tensor), Tensor> {
    let other = other.into();
    // By their kinds first: an integer beside a half type is of that type, not of `f32`. A number beside integers is a float at once, for they may not have it.
    let force = (real && matches!(other, Operand::Value(_)) && !x.dtype().is_float()).then(default_dtype);
    let (a, b) = align(op, &x.expr(), &other, force).map_err(Tensor::from_expr)?;
    let (a, b) = (Tensor::from_expr(a), Tensor::from_expr(b));
    Ok(if real && !a.dtype().is_float() { (a.float(), b.float()) } else { (a, b) })
}

/// The pair, or the invalid tensor that stands for the result.
macro_rules! both {
    ($pair:expr) => {
        match $pair {
            Ok(pair) => pair,
            Err(invalid) => return invalid,
        }
    };
}

/// The signed integer of the same size.
fn bits_of(dtype: DType) -> DType {
    match dtype.size() {
        1 => DType::I8,
        2 => DType::I16,
        4 => DType::I32,
        _ => DType::I64,
    }
}

impl Tensor {
    /// Remainder with the sign of `self`, as C's `fmod` and `torch.fmod`; of integers by 0: 0. See [`Tensor::rem`] for Python's.
    #[track_caller]
    pub fn fmod(&self, other: impl Into<Operand>) -> Tensor {
        let (a, b) = both!(aligned("fmod", self, other, false));
        if !a.dtype().is_float() {
            let rest = a.rem(&b);
            if a.dtype().is_unsigned_int() || a.dtype() == DType::Bool {
                return rest;
            }
            let other_side = rest.ne(0).logical_and(rest.lt(0).ne(a.lt(0)));
            return other_side.where_(&rest - &b, &rest);
        }
        // Of absolute values both remainders are the same, and exact.
        let value = |x: &[Tensor]| x[0].lt(K(0.0)).where_(x[0].abs().rem(x[1].abs()).neg(), x[0].abs().rem(x[1].abs()));
        custom("fmod", &[&a, &b], value, |x, _, dy| vec![Some(dy.clone()), Some(dy.neg() * (&x[0] / &x[1]).trunc())])
    }

    /// The greater; where one is NaN, the other. Where both are equal, each gets half of the gradient; of two NaN `self` gets it.
    #[track_caller]
    pub fn fmax(&self, other: impl Into<Operand>) -> Tensor {
        let (a, b) = both!(aligned("fmax", self, other, false));
        chosen("fmax", &a, &b, |a, b| a.ge(b))
    }

    /// The lesser; where one is NaN, the other. Where both are equal, each gets half of the gradient; of two NaN `self` gets it.
    #[track_caller]
    pub fn fmin(&self, other: impl Into<Operand>) -> Tensor {
        let (a, b) = both!(aligned("fmin", self, other, false));
        chosen("fmin", &a, &b, |a, b| a.le(b))
    }

    /// `sqrt(self² + other²)`, without overflow; its gradient at 0, 0 is 0 (PyTorch: NaN).
    #[track_caller]
    pub fn hypot(&self, other: impl Into<Operand>) -> Tensor {
        if let Some(cast) = crate::autocast::entered("hypot") {
            return cast.of(self).hypot(cast.operand(other.into()));
        }
        let (a, b) = both!(aligned("hypot", self, other, true));
        let value = |x: &[Tensor]| {
            let (a, b) = (x[0].abs(), x[1].abs());
            let (long, short) = (a.maximum(&b), a.minimum(&b));
            let infinite = a.isinf().logical_or(b.isinf());
            // In half types the sum of squares is the wide type's.
            let wide = long.dtype().compute();
            let slope = ratio(&infinite.where_(K(0.0), &short).cast(wide), &infinite.where_(K(1.0), &long).cast(wide));
            let length = ((slope.square() + K(1.0)).sqrt() * long.cast(wide)).cast(long.dtype());
            infinite.where_(K(f64::INFINITY), length)
        };
        custom("hypot", &[&a, &b], value, |x, y, dy| vec![Some(dy * ratio(&x[0], y)), Some(dy * ratio(&x[1], y))])
    }

    /// Whether the sign is set, also of -0 and NaN.
    #[track_caller]
    pub fn signbit(&self) -> Tensor {
        let dtype = self.dtype();
        match dtype {
            DType::Bool => self.ne(self),
            DType::F16 | DType::BF16 | DType::F32 | DType::F64 | DType::F8E4M3 | DType::F8E5M2 => self.bitcast(bits_of(dtype)).lt(0),
            DType::U8 | DType::I8 | DType::U16 | DType::I16 | DType::U32 | DType::I32 | DType::U64 | DType::I64 => self.lt(0),
        }
    }

    /// The magnitude of `self` with the sign of `other`, also of -0.
    #[track_caller]
    pub fn copysign(&self, other: impl Into<Operand>) -> Tensor {
        let (a, b) = both!(aligned("copysign", self, other, true));
        let value = |x: &[Tensor]| x[1].signbit().where_(x[0].abs().neg(), x[0].abs());
        custom("copysign", &[&a, &b], value, |x, _, dy| {
            let along = x[0].signbit().eq(x[1].signbit()).where_(dy, dy.neg());
            vec![Some(x[0].eq(K(0.0)).where_(K(0.0), along)), Some(x[1].zeros_like())]
        })
    }

    /// 0 below 0, 1 above, `at_zero` at 0; NaN gives 0, as in PyTorch. Its gradients are 0.
    #[track_caller]
    pub fn heaviside(&self, at_zero: impl Into<Operand>) -> Tensor {
        let (a, b) = both!(aligned("heaviside", self, at_zero, false));
        steps("heaviside", &a, &b, |a, b| a.eq(0_i64).where_(b, a.gt(0_i64).cast(a.dtype())))
    }

    /// `self * log(other)`, and 0 where `self` is 0, whatever the logarithm.
    #[track_caller]
    pub fn xlogy(&self, other: impl Into<Operand>) -> Tensor {
        if let Some(cast) = crate::autocast::entered("xlogy") {
            return cast.of(self).xlogy(cast.operand(other.into()));
        }
        self.times_log("xlogy", other.into(), Tensor::log, |b| b.clone())
    }

    /// `self * log(1 + other)`, and 0 where `self` is 0, whatever the logarithm.
    #[track_caller]
    pub fn xlog1py(&self, other: impl Into<Operand>) -> Tensor {
        if let Some(cast) = crate::autocast::entered("xlog1py") {
            return cast.of(self).xlog1py(cast.operand(other.into()));
        }
        self.times_log("xlog1py", other.into(), Tensor::log1p, |b| b + K(1.0))
    }

    #[track_caller]
    fn times_log(&self, op: &'static str, other: Operand, log: fn(&Tensor) -> Tensor, argument: fn(&Tensor) -> Tensor) -> Tensor {
        let (a, b) = both!(aligned(op, self, other, true));
        let value = |x: &[Tensor]| {
            let zero = x[0].eq(K(0.0)).logical_and(x[1].isnan().logical_not());
            zero.where_(K(0.0), &x[0] * log(&zero.where_(K(1.0), &x[1])))
        };
        custom(op, &[&a, &b], value, move |x, _, dy| {
            let lost = x[0].eq(K(0.0)).logical_and(argument(&x[1]).le(K(0.0)));
            let by_first = lost.where_(K(0.0), dy * log(&lost.where_(K(1.0), &x[1])));
            vec![Some(by_first), Some(dy * &x[0] / argument(&x[1]))]
        })
    }

    /// `log(e^self + e^other)`, without overflow.
    #[track_caller]
    pub fn logaddexp(&self, other: impl Into<Operand>) -> Tensor {
        if let Some(cast) = crate::autocast::entered("logaddexp") {
            return cast.of(self).logaddexp(cast.operand(other.into()));
        }
        self.log_of_sum("logaddexp", other.into(), 1.0)
    }

    /// `log2(2^self + 2^other)`, without overflow.
    #[track_caller]
    pub fn logaddexp2(&self, other: impl Into<Operand>) -> Tensor {
        if let Some(cast) = crate::autocast::entered("logaddexp2") {
            return cast.of(self).logaddexp2(cast.operand(other.into()));
        }
        self.log_of_sum("logaddexp2", other.into(), consts::LN_2)
    }

    #[track_caller]
    fn log_of_sum(&self, op: &'static str, other: Operand, base: f64) -> Tensor {
        let (a, b) = both!(aligned(op, self, other, true));
        let (dtype, wide) = (a.dtype(), a.dtype().compute());
        let (a, b) = (a.cast(wide), b.cast(wide));
        // Infinities of one sign are 0 apart.
        let apart = move |x: &[Tensor]| x[0].eq(&x[1]).where_(K(0.0), &x[0] - &x[1]);
        let value = |x: &[Tensor]| {
            let rest = (apart(x).abs() * K(-base)).exp().log1p();
            x[0].maximum(&x[1]) + if base == 1.0 { rest } else { rest * K(1.0 / base) }
        };
        let sum = custom(op, &[&a, &b], value, move |x, _, dy| {
            let share = (apart(x) * K(base)).sigmoid();
            vec![Some(dy * &share), Some(dy * (share.neg() + K(1.0)))]
        });
        sum.cast(dtype)
    }

    /// `log(x / (1 - x))`, the inverse of [`Tensor::sigmoid`]; NaN outside of 0 to 1. With `eps`, `x` is limited to `eps..=1 - eps` first.
    #[track_caller]
    pub fn logit(&self, eps: Option<f64>) -> Tensor {
        if let Some(cast) = crate::autocast::entered("logit") {
            return cast.of(self).logit(eps);
        }
        let value = move |x: &Tensor| {
            // The lower limit first, should it be the greater.
            let x = if let Some(eps) = eps { x.lt(eps).where_(eps, x.minimum(1.0 - eps)) } else { x.clone() };
            x.log() - x.neg().log1p()
        };
        with_slope("logit", &self.float(), value, move |x, _, dy| {
            let slope = dy / (x * (x.neg() + K(1.0)));
            match eps {
                Some(eps) => x.ge(eps).logical_and(x.le(1.0 - eps)).where_(slope, K(0.0)),
                None => x.ge(K(0.0)).logical_and(x.le(K(1.0))).where_(slope, K(f64::NAN)),
            }
        })
    }

    /// `sin(πx) / (πx)`, 1 at 0.
    #[track_caller]
    pub fn sinc(&self) -> Tensor {
        let _within = crate::autocast::within();
        let value = |x: &Tensor| {
            let zero = x.eq(K(0.0));
            let angle = zero.where_(K(1.0), x * K(consts::PI));
            zero.where_(K(1.0), angle.sin() / angle)
        };
        let x = self.float();
        // A half angle would be rounded by more than its sine can bear.
        let sinc = with_slope("sinc", &x.cast(x.dtype().compute()), value, |x, _, dy| {
            let zero = x.eq(K(0.0));
            let x = zero.where_(K(1.0), x);
            let angle = &x * K(consts::PI);
            zero.where_(K(0.0), dy * (angle.cos() - angle.sin() / &angle) / x)
        });
        sinc.cast(x.dtype())
    }

    /// NaN becomes `nan`, infinities become `positive` and `negative`, which are the greatest and least finite numbers of the dtype unless given.
    /// What is replaced gets no gradient.
    #[track_caller]
    pub fn nan_to_num(&self, nan: f64, positive: Option<f64>, negative: Option<f64>) -> Tensor {
        let dtype = self.dtype();
        if !dtype.is_float() {
            return Tensor::from_expr(self.expr().identity());
        }
        let most = greatest(dtype);
        let finite = self.isnan().where_(nan, self);
        let finite = self.eq(K(f64::INFINITY)).where_(positive.unwrap_or(most), finite);
        self.eq(K(f64::NEG_INFINITY)).where_(negative.unwrap_or(-most), finite)
    }

    /// Degrees as radians.
    #[track_caller]
    pub fn deg2rad(&self) -> Tensor {
        self.float() * K(consts::PI / 180.0)
    }

    /// Radians as degrees.
    #[track_caller]
    pub fn rad2deg(&self) -> Tensor {
        self.float() * K(180.0 / consts::PI)
    }

    /// Greatest common divisor of integers; of 0 and 0 it is 0.
    #[track_caller]
    pub fn gcd(&self, other: impl Into<Operand>) -> Tensor {
        let (mut a, mut b) = both!(aligned("gcd", self, other, false));
        if !a.dtype().is_int() {
            let message = format!("{} has no divisors", a.dtype());
            return Tensor::fail(ErrorKind::DType, "gcd", message, "cast to integers", &[self]);
        }
        // Euclid's steps for numbers of this size: Fibonacci's are the worst.
        for _ in 0..(8 * a.dtype().size() * 3).div_ceil(2) {
            let zero = b.eq(0);
            let rest = zero.where_(&b, a.rem(&b));
            a = zero.where_(&a, &b);
            b = rest;
        }
        a.abs()
    }

    /// Least common multiple of integers, not negative; of 0 and anything it is 0.
    #[track_caller]
    pub fn lcm(&self, other: impl Into<Operand>) -> Tensor {
        let (a, b) = both!(aligned("lcm", self, other, false));
        let divisor = a.gcd(&b);
        if divisor.is_invalid() {
            return divisor;
        }
        (a.abs().floor_div(&divisor) * b).abs()
    }

    /// Quotient rounded toward zero; of integers by 0: 0. Its gradient is 0. See [`Tensor::floor_div`] for the one rounded down.
    #[track_caller]
    pub fn div_trunc(&self, other: impl Into<Operand>) -> Tensor {
        let (a, b) = both!(aligned("div_trunc", self, other, false));
        if a.dtype().is_float() {
            // Stated, since the quotient's own slope is infinite where `b` is 0, and 0 times it no number.
            return custom("div_trunc", &[&a, &b], |x| (&x[0] / &x[1]).trunc(), |x, _, _| x.iter().map(|x| Some(x.zeros_like())).collect());
        }
        let down = a.floor_div(&b);
        if a.dtype().is_unsigned_int() || a.dtype() == DType::Bool {
            return down;
        }
        let inexact = a.rem(&b).ne(0).logical_and(a.lt(0).ne(b.lt(0)));
        inexact.where_(&down + 1, &down)
    }

    /// `base` to the power of each element.
    #[track_caller]
    pub fn rpow(&self, base: f64) -> Tensor {
        if let Some(cast) = crate::autocast::entered("rpow") {
            return cast.of(self).rpow(base);
        }
        let x = self.float();
        Tensor::from_expr(Expr::scalar(Literal::float(x.dtype(), base), &x.shape(), x.device_id())).pow(&x)
    }

    /// Power in `f64`, whatever the dtype, as `torch.float_power`.
    #[track_caller]
    pub fn float_power(&self, exponent: impl Into<Operand>) -> Tensor {
        if let Some(cast) = crate::autocast::entered("float_power") {
            return cast.of(self).float_power(cast.operand(exponent.into()));
        }
        match exponent.into() {
            Operand::Tensor(exponent) => self.cast(DType::F64).pow(exponent.cast(DType::F64)),
            number => self.cast(DType::F64).pow(number),
        }
    }

    /// To `decimals` digits after the point (negative: before it), ties to even; its gradient is 0.
    #[track_caller]
    pub fn round_decimals(&self, decimals: i32) -> Tensor {
        if !self.dtype().is_float() {
            return self.round();
        }
        let scale = 10f64.powi(decimals.saturating_abs());
        match decimals {
            0 => self.round(),
            1.. => (self * K(scale)).round() / K(scale),
            _ => (self / K(scale)).round() * K(scale),
        }
    }

    /// The next number of the dtype on the way to `other`. Its gradient is 1 with respect to `self` where the two differ, else 0.
    #[track_caller]
    pub fn nextafter(&self, other: impl Into<Operand>) -> Tensor {
        let (a, b) = both!(aligned("nextafter", self, other, true));
        let value = |x: &[Tensor]| {
            let (a, b) = (&x[0], &x[1]);
            let dtype = a.dtype();
            let bits = a.bitcast(bits_of(dtype));
            // Numbers of one sign are ordered as their bits are.
            let outward = a.lt(b).eq(a.gt(K(0.0)));
            let next = outward.where_(&bits + 1, &bits - 1).bitcast(dtype);
            let least = Tensor::from_expr(Expr::constant(Literal::from_raw(dtype, 1), &a.shape(), a.device_id()));
            let from_zero = b.gt(K(0.0)).where_(&least, least.neg());
            let moved = a.eq(K(0.0)).where_(from_zero, next);
            let nan = a.isnan().logical_or(b.isnan());
            nan.where_(K(f64::NAN), a.eq(b).where_(b, moved))
        };
        custom("nextafter", &[&a, &b], value, |x, _, dy| vec![Some(x[0].eq(&x[1]).where_(K(0.0), dy)), Some(x[1].zeros_like())])
    }
}

/// The first where `wins` says so or the second is NaN, else the second; equal ones share the gradient.
#[track_caller]
fn chosen(op: &str, a: &Tensor, b: &Tensor, wins: fn(&Tensor, &Tensor) -> Tensor) -> Tensor {
    let first = move |a: &Tensor, b: &Tensor| wins(a, b).logical_or(b.isnan());
    if !a.dtype().is_float() {
        return first(a, b).where_(a, b);
    }
    let value = move |x: &[Tensor]| first(&x[0], &x[1]).where_(&x[0], &x[1]);
    custom(op, &[a, b], value, move |x, _, dy| {
        let share = x[0].eq(&x[1]).where_(dy * K(0.5), dy);
        let is_first = first(&x[0], &x[1]);
        let to_second = is_first.logical_not().logical_or(x[0].eq(&x[1]));
        vec![Some(is_first.where_(&share, K(0.0))), Some(to_second.where_(&share, K(0.0)))]
    })
}

/// A function of two numbers whose gradients are 0.
#[track_caller]
fn steps(op: &str, a: &Tensor, b: &Tensor, value: impl FnOnce(&Tensor, &Tensor) -> Tensor) -> Tensor {
    if !a.dtype().is_float() {
        return value(a, b);
    }
    custom(op, &[a, b], |x| value(&x[0], &x[1]), |x, _, _| vec![Some(x[0].zeros_like()), Some(x[1].zeros_like())])
}

/// The greatest finite number.
pub(crate) fn greatest(dtype: DType) -> f64 {
    match dtype {
        DType::F16 => 65504.0,
        DType::BF16 => f64::from(f32::from_bits(0x7f7f_0000)),
        DType::F8E4M3 => 448.0,
        DType::F8E5M2 => 57344.0,
        DType::F32 => f64::from(f32::MAX),
        DType::F64 => f64::MAX,
        // Their own greatest: none of them is infinite.
        DType::Bool | DType::U8 | DType::I8 | DType::U16 | DType::I16 | DType::U32 | DType::I32 | DType::U64 | DType::I64 => {
            Literal::max_value(dtype).as_f64()
        }
    }
}
