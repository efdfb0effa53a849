//! What the kernels ask of a float: arithmetic and the mathematical functions.

use super::kernels::Number;
use super::math;
use unigrad_scalar::{BinaryOp, UnaryOp};

/// A float of a compute type. `FMA` says whether the machine multiplies and adds in one rounding.
pub(super) trait Float: Number {
    const ZERO: Self;
    const ONE: Self;
    const INFINITY: Self;
    fn neg(self) -> Self;
    fn abs(self) -> Self;
    fn div(self, other: Self) -> Self;
    fn floor_div(self, other: Self) -> Self;
    fn floor_rem(self, other: Self) -> Self;
    fn pow<const FMA: bool>(self, other: Self) -> Self;
    fn atan2(self, other: Self) -> Self;
    /// Where `pow` is not right and has to be done by definition.
    fn pow_is_hard(self, other: Self) -> bool;
    /// Where `sin`, `cos` and `tan` are not right and have to be done by definition.
    fn trigonometry_is_hard(self) -> bool;
    fn by_definition(op: UnaryOp, x: Self) -> Self;
    fn pow_by_definition(self, other: Self) -> Self;
    fn exp<const FMA: bool>(self) -> Self;
    fn exp2<const FMA: bool>(self) -> Self;
    fn expm1<const FMA: bool>(self) -> Self;
    fn log<const FMA: bool>(self) -> Self;
    fn log2<const FMA: bool>(self) -> Self;
    fn log1p<const FMA: bool>(self) -> Self;
    fn sin<const FMA: bool>(self) -> Self;
    fn cos<const FMA: bool>(self) -> Self;
    fn tan<const FMA: bool>(self) -> Self;
    fn asin(self) -> Self;
    fn acos(self) -> Self;
    fn atan(self) -> Self;
    fn sinh<const FMA: bool>(self) -> Self;
    fn cosh<const FMA: bool>(self) -> Self;
    fn tanh<const FMA: bool>(self) -> Self;
    fn sqrt(self) -> Self;
    fn erf<const FMA: bool>(self) -> Self;
    fn erfc<const FMA: bool>(self) -> Self;
    fn floor(self) -> Self;
    fn ceil(self) -> Self;
    fn round(self) -> Self;
    fn trunc(self) -> Self;
    fn sigmoid<const FMA: bool>(self) -> Self;
    fn silu<const FMA: bool>(self) -> Self;
    fn gelu<const FMA: bool>(self) -> Self;
    fn gelu_tanh<const FMA: bool>(self) -> Self;
    fn softplus<const FMA: bool>(self) -> Self;
}

/// Functions whose meaning in `f64`, rounded, is all there is to say.
macro_rules! by_definition {
    ($($name:ident => $op:ident),*) => {$(
        #[inline(always)]
        fn $name(self) -> Self { UnaryOp::$op.eval(self as f64) as Self }
    )*};
    (fma: $($name:ident => $op:ident),*) => {$(
        #[inline(always)]
        fn $name<const FMA: bool>(self) -> Self { UnaryOp::$op.eval(self as f64) as Self }
    )*};
}

/// Functions of [`math`].
macro_rules! vectorised {
    ($($name:ident),*) => {$(
        #[inline(always)]
        fn $name<const FMA: bool>(self) -> f32 { math::$name::<FMA>(self) }
    )*};
}

macro_rules! common {
    ($t:ty) => {
        const ZERO: $t = 0.0;
        const ONE: $t = 1.0;
        const INFINITY: $t = <$t>::INFINITY;
        #[inline(always)]
        fn neg(self) -> $t {
            -self
        }
        #[inline(always)]
        fn abs(self) -> $t {
            <$t>::abs(self)
        }
        #[inline(always)]
        fn div(self, other: $t) -> $t {
            self / other
        }
        #[inline(always)]
        fn floor_div(self, other: $t) -> $t {
            BinaryOp::IDiv.eval(self as f64, other as f64) as $t
        }
        #[inline(always)]
        fn floor_rem(self, other: $t) -> $t {
            BinaryOp::Rem.eval(self as f64, other as f64) as $t
        }
        #[inline(always)]
        fn sqrt(self) -> $t {
            <$t>::sqrt(self)
        }
        #[inline(always)]
        fn floor(self) -> $t {
            <$t>::floor(self)
        }
        #[inline(always)]
        fn ceil(self) -> $t {
            <$t>::ceil(self)
        }
        #[inline(always)]
        fn round(self) -> $t {
            <$t>::round_ties_even(self)
        }
        #[inline(always)]
        fn trunc(self) -> $t {
            <$t>::trunc(self)
        }
        #[inline(always)]
        fn atan2(self, other: $t) -> $t {
            (self as f64).atan2(other as f64) as $t
        }
        fn by_definition(op: UnaryOp, x: $t) -> $t {
            op.eval(x as f64) as $t
        }
        fn pow_by_definition(self, other: $t) -> $t {
            (self as f64).powf(other as f64) as $t
        }
        by_definition!(asin => Asin, acos => Acos, atan => Atan);
    };
}

impl Float for f32 {
    common!(f32);
    #[inline(always)]
    fn pow<const FMA: bool>(self, other: f32) -> f32 {
        math::pow::<FMA>(self, other)
    }
    #[inline(always)]
    fn pow_is_hard(self, other: f32) -> bool {
        math::pow_is_hard(self, other)
    }
    #[inline(always)]
    fn trigonometry_is_hard(self) -> bool {
        math::trigonometry_is_hard(self)
    }
    vectorised!(exp, exp2, expm1, log, log2, log1p, sin, cos, tan, tanh, erf, erfc, sigmoid, silu, gelu, gelu_tanh, softplus);
    by_definition!(fma: sinh => Sinh, cosh => Cosh);
}

impl Float for f64 {
    common!(f64);
    #[inline(always)]
    fn pow<const FMA: bool>(self, other: f64) -> f64 {
        self.powf(other)
    }
    #[inline(always)]
    fn pow_is_hard(self, _: f64) -> bool {
        false
    }
    #[inline(always)]
    fn trigonometry_is_hard(self) -> bool {
        false
    }
    by_definition!(fma: exp => Exp, exp2 => Exp2, expm1 => Expm1, log => Log, log2 => Log2, log1p => Log1p, sin => Sin, cos => Cos,
        tan => Tan, sinh => Sinh, cosh => Cosh, tanh => Tanh, erf => Erf, erfc => Erfc, sigmoid => Sigmoid, silu => Silu, gelu => Gelu,
        gelu_tanh => GeluTanh, softplus => Softplus);
}
