//! Elementwise ops: operators, functions of one and two arguments, comparisons, logic, `where`.
//!
//! Shapes broadcast as in NumPy; dtypes follow [`crate::promotion`].
//!
//! Functions of real numbers are accurate to some units in the last place over the whole range of `f32`, on every device: 4 for `exp`, `exp2`,
//! `expm1`, the logarithms but `log10`, `sin`, `cos`, `rsqrt`, `erf`; 3 for `sqrt` and `recip`; 6 for `tan`, the inverse trigonometric and the
//! hyperbolic functions (7 for `sinh` and `cosh`), `sigmoid`, `log_sigmoid`, `softplus`; 8 for `log10`, `erfc` and the inverse hyperbolic functions.
//! Of `f64`: 8, but 16 for `tan`, and 64 for `erfc`. What is below the normal numbers may be 0 on a GPU. Half types compute in `f32` and round once.

use crate::{
    Tensor,
    axes::clamped,
    creation::unheld,
    default_dtype::default_dtype,
    promotion::{align, align_exprs, align_value, promote, promote_value, to_float, value_expr, value_like},
    rules::{gated, is_number, with_slope},
};
use std::{f64::consts, ops};
use unigrad_graph::{BinaryOp, DType, ErrorKind, Expr, Literal, UnaryOp};

/// A Rust number.
#[derive(Clone, Copy, Debug)]
pub enum Value {
    /// A float.
    Float(f64),
    /// An integer.
    Int(i64),
    /// A bool.
    Bool(bool),
    /// The library's own constant: part of the plan, since no program changes it.
    Constant(f64),
}

/// The other side of an op: a tensor or a Rust number.
#[derive(Clone)]
pub enum Operand {
    /// A tensor.
    Tensor(Tensor),
    /// A Rust number.
    Value(Value),
}

/// A constant inside of a composed op.
#[derive(Clone, Copy)]
pub(crate) struct K(pub(crate) f64);

macro_rules! operands {
    ($($ty:ty => |$x:ident| $value:expr),* $(,)?) => { $(
        impl From<$ty> for Operand {
            fn from($x: $ty) -> Operand {
                $value
            }
        }
    )* };
}
operands!(
    Tensor => |x| Operand::Tensor(x),
    &Tensor => |x| Operand::Tensor(x.apart()),
    f64 => |x| Operand::Value(Value::Float(x)),
    f32 => |x| Operand::Value(Value::Float(x.into())),
    i64 => |x| Operand::Value(Value::Int(x)),
    i32 => |x| Operand::Value(Value::Int(x.into())),
    u8 => |x| Operand::Value(Value::Int(x.into())),
    u32 => |x| Operand::Value(Value::Int(x.into())),
    usize => |x| Operand::Value(Value::Int(clamped(x))),
    bool => |x| Operand::Value(Value::Bool(x)),
    K => |x| Operand::Value(Value::Constant(x.0)),
    Value => |x| Operand::Value(x),
);

/// Whether a half type rounds a number that the op computes with. Such an op is computed in `f32`, and its result alone is rounded, as in PyTorch.
fn is_rounded_first(op: BinaryOp, value: Value, dtype: DType) -> bool {
    let number = match value {
        Value::Float(value) | Value::Constant(value) => value,
        Value::Int(value) => value as f64,
        Value::Bool(_) => return false,
    };
    let of = |dtype: DType| Literal::float(dtype, number).as_f64();
    computes(op) && is_half(dtype) && !number.is_nan() && of(dtype) != of(DType::F32)
}

fn is_half(dtype: DType) -> bool {
    matches!(dtype, DType::F16 | DType::BF16)
}

/// Whether an op computes with its numbers; the others choose or compare, in the tensor's own dtype.
fn computes(op: BinaryOp) -> bool {
    use BinaryOp::*;
    match op {
        Add | Sub | Mul | Div | IDiv | Rem | Pow | Atan2 => true,
        Max | Min | Eq | Ne | Lt | Le | Gt | Ge | And | Or | Xor | Shl | Shr => false,
    }
}

/// The nearest number that an integer type has.
fn within(value: i64, dtype: DType) -> i64 {
    if dtype == DType::U64 {
        // Its greatest number is greater than any of these.
        return value.max(0);
    }
    value.clamp(Literal::min_value(dtype).as_i64(), Literal::max_value(dtype).as_i64())
}

/// An op of integers and a number that their dtype does not have, where it can be told without it: a comparison, or the greater or lesser.
#[track_caller]
fn beyond(op: BinaryOp, a: &Expr, value: Value, swapped: bool) -> Option<Expr> {
    use BinaryOp::*;
    let Value::Int(number) = value else { return None };
    let nearest = if a.dtype().is_int() { within(number, a.dtype()) } else { number };
    if nearest == number {
        return None;
    }
    let number_is_greater = number > nearest;
    let holds = match op {
        Eq => false,
        Ne => true,
        // Of the tensor and the number, in the order of the call.
        Lt | Le => number_is_greater != swapped,
        Gt | Ge => number_is_greater == swapped,
        Max | Min => return Some(a.clone().binary_with(op, value_like(Value::Int(nearest), a.dtype(), a))),
        // These wrap, as in PyTorch.
        Add | Sub | Mul | Div | IDiv | Rem | Pow | Atan2 | And | Or | Xor | Shl | Shr => return None,
    };
    Some(a.clone().binary_with(if holds { Eq } else { Ne }, a.clone()))
}

/// Where dtypes or shapes may differ.
#[inline(never)]
#[track_caller]
fn binary_by_rule(op: BinaryOp, a: Expr, b: Result<Expr, Value>, swapped: bool) -> Result<Expr, Expr> {
    if a.is_invalid() {
        return Err(a);
    }
    let dtype = match &b {
        Ok(b) => promote(&a, b),
        Err(value) => promote_value(a.dtype(), *value),
    };
    use BinaryOp::*;
    let (op, force) = match op {
        Add if dtype == DType::Bool => (Or, None),
        Mul if dtype == DType::Bool => (And, None),
        Sub | Rem | IDiv | Pow | Shl | Shr if dtype == DType::Bool => (op, Some(DType::I64)),
        Div | Atan2 if !dtype.is_float() => (op, Some(default_dtype())),
        Add | Sub | Mul | Div | IDiv | Rem | Pow | Atan2 | Shl | Shr => (op, None),
        Max | Min | Eq | Ne | Lt | Le | Gt | Ge | And | Or | Xor => (op, None),
    };
    if let Err(value) = b
        && let Some(told) = beyond(op, &a, value, swapped)
    {
        return Ok(told);
    }
    // A wider float of rank 0 beside halves counts as a number does.
    let is_wide = |x: &Expr| matches!(x.dtype(), DType::F32 | DType::F64);
    let rounds_last = computes(op) && is_half(dtype) && b.as_ref().is_ok_and(|b| is_wide(&a) || is_wide(b));
    let (a, b) = match b {
        Ok(b) if rounds_last => align_exprs(op.name(), a, b, Some(DType::F32))?,
        Ok(b) => align_exprs(op.name(), a, b, force)?,
        Err(value) => align_value(a, value, force)?,
    };
    let (a, b) = if swapped { (b, a) } else { (a, b) };
    let result = a.binary_with(op, b);
    Ok(if rounds_last { result.cast_with(dtype) } else { result })
}

/// Apart from the methods, which are generic and so are compiled in every program's own crates.
#[track_caller]
fn binary(op: BinaryOp, a: Expr, b: Operand, swapped: bool) -> Tensor {
    // Floats of one type, and Rust numbers beside floats, stay what they are.
    let is_float = a.dtype().is_float() && !a.is_invalid();
    let b = match b {
        Operand::Tensor(b) => {
            let b = b.into_expr();
            if !(is_float && a.is_same_type(&b)) {
                return Tensor::from_result(binary_by_rule(op, a, Ok(b), swapped));
            }
            b
        }
        Operand::Value(value) => {
            if !is_float {
                return Tensor::from_result(binary_by_rule(op, a, Err(value), swapped));
            }
            let dtype = a.dtype();
            if is_rounded_first(op, value, dtype) {
                let a = a.cast_with(DType::F32);
                let b = value_like(value, DType::F32, &a);
                let (a, b) = if swapped { (b, a) } else { (a, b) };
                return Tensor::from_expr(a.binary_with(op, b).cast_with(dtype));
            }
            value_like(value, dtype, &a)
        }
    };
    let (a, b) = if swapped { (b, a) } else { (a, b) };
    Tensor::from_expr(a.binary_with(op, b))
}

impl Tensor {
    #[inline]
    #[track_caller]
    pub(crate) fn binary(&self, op: BinaryOp, other: impl Into<Operand>) -> Tensor {
        binary(op, self.expr(), other.into(), false)
    }

    /// As [`Tensor::binary`], of a tensor that nothing else needs.
    #[inline]
    #[track_caller]
    fn into_binary(self, op: BinaryOp, other: impl Into<Operand>) -> Tensor {
        binary(op, self.into_expr(), other.into(), false)
    }

    #[inline]
    #[track_caller]
    fn binary_swapped(&self, op: BinaryOp, left: impl Into<Operand>) -> Tensor {
        binary(op, self.expr(), left.into(), true)
    }

    /// A function of real numbers: integers and bools become `f32`.
    #[track_caller]
    fn real(&self, op: UnaryOp) -> Tensor {
        if let Some(cast) = crate::autocast::entered(op.method()) {
            return cast.of(self).real(op);
        }
        let expr = self.expr();
        let dtype = to_float(expr.dtype());
        Tensor::from_expr(expr.cast_with(dtype).unary_with(op))
    }

    /// A function of anything.
    #[track_caller]
    fn tested(&self, op: UnaryOp) -> Tensor {
        Tensor::from_expr(self.expr().unary_with(op))
    }

    #[track_caller]
    pub(crate) fn float(&self) -> Tensor {
        let expr = self.expr();
        let dtype = to_float(expr.dtype());
        Tensor::from_expr(expr.cast_with(dtype))
    }

    /// A function of numbers: bools become `i64`.
    #[track_caller]
    fn number(&self, op: UnaryOp) -> Tensor {
        let expr = self.expr();
        let expr = match (expr.dtype(), op) {
            // It is its own sign.
            (DType::Bool, UnaryOp::Sign) => return Tensor::from_expr(expr.identity()),
            (DType::Bool, _) => expr.cast(DType::I64),
            _ => expr,
        };
        Tensor::from_expr(expr.unary_with(op))
    }
}

/// The method of one row, by what the function takes.
macro_rules! method {
    (Number $op:ident $method:ident $($doc:literal)*) => { method!(@ number $op $method $($doc)*); };
    (Rounding $op:ident $method:ident $($doc:literal)*) => { method!(@ number $op $method $($doc)*); };
    (Real $op:ident $method:ident $($doc:literal)*) => { method!(@ real $op $method $($doc)*); };
    (Test $op:ident $method:ident $($doc:literal)*) => { method!(@ tested $op $method $($doc)*); };
    // By hand below: what they take decides which of them it is.
    (Truth $op:ident $method:ident $($doc:literal)*) => {};
    (Bits $op:ident $method:ident $($doc:literal)*) => {};
    (@ $kind:ident $op:ident $method:ident $($doc:literal)*) => {
        $(#[doc = $doc])*
        ///
        /// How far it may be off: [`crate::accuracy`].
        #[track_caller]
        pub fn $method(&self) -> Tensor { self.$kind(UnaryOp::$op) }
    };
}

macro_rules! methods {
    ($($(#[doc = $doc:literal])* $op:ident $name:literal $method:ident $class:ident $cost:literal $row:tt)*) => {
        /// Functions of one number, from their table ([`unigrad_graph::UnaryOp`]).
        impl Tensor { $(method!($class $op $method $($doc)*);)* }
    };
}
unigrad_graph::each_unary!(methods);

impl Tensor {
    /// `alpha * (e^x - 1)` below 0, `x` above.
    #[track_caller]
    pub fn elu(&self, alpha: f64) -> Tensor {
        let _within = crate::autocast::within();
        exponential_below(&self.float(), alpha.into())
    }

    /// `scale * elu(x)` with the constants that keep mean 0 and variance 1 (Klambauer et al., 2017).
    #[track_caller]
    pub fn selu(&self) -> Tensor {
        let _within = crate::autocast::within();
        exponential_below(&self.float(), K(1.673_263_242_354_377_2).into()) * K(1.050_700_987_355_480_5)
    }

    /// `x` above 0, `slope * x` below.
    #[track_caller]
    pub fn leaky_relu(&self, slope: f64) -> Tensor {
        let x = self.float();
        x.gt(K(0.0)).where_(&x, &x * slope)
    }

    /// `x * tanh(softplus(x))`.
    #[track_caller]
    pub fn mish(&self) -> Tensor {
        let _within = crate::autocast::within();
        let x = self.float();
        x.softplus().tanh() * x
    }

    /// `x * relu6(x + 3) / 6`.
    #[track_caller]
    pub fn hardswish(&self) -> Tensor {
        let value = |x: &Tensor| x.hardsigmoid() * x;
        with_slope("hardswish", &self.float(), value, |x, _, dy| {
            let (below, above) = (x.le(K(-3.0)), x.ge(K(3.0)));
            let within = x.gt(K(-3.0)).logical_and(x.lt(K(3.0)));
            let inner = within.where_(x, K(0.0)) * K(1.0 / 3.0) + K(0.5);
            below.where_(K(0.0), above.where_(dy, dy * x.isnan().where_(K(f64::NAN), inner)))
        })
    }

    /// `relu6(x + 3) / 6`.
    #[track_caller]
    pub fn hardsigmoid(&self) -> Tensor {
        let x = self.float();
        (x + K(3.0)).clamp(K(0.0), K(6.0)) * K(1.0 / 6.0)
    }

    /// `min(max(x, -1), 1)`; integers stay what they are. At the limits, and of NaN, the gradient is 0.
    #[track_caller]
    pub fn hardtanh(&self) -> Tensor {
        self.hardtanh_with(-1.0, 1.0)
    }

    /// `min(max(x, 0), 6)`.
    #[track_caller]
    pub fn relu6(&self) -> Tensor {
        // Not in the closure, where an error would name its line.
        if !self.dtype().is_float() {
            return self.clamp(0_i64, 6_i64);
        }
        let value = |x: &Tensor| x.clamp(0_i64, 6_i64);
        gated("relu6", self, value, |x| x.gt(K(0.0)).logical_and(x.lt(K(6.0))))
    }

    /// `x / (1 + |x|)`.
    #[track_caller]
    pub fn softsign(&self) -> Tensor {
        let x = self.float();
        &x / (x.abs() + K(1.0))
    }

    /// `log(sigmoid(x))`, without overflow.
    #[track_caller]
    pub fn log_sigmoid(&self) -> Tensor {
        let _within = crate::autocast::within();
        self.float().neg().softplus().neg()
    }

    /// Logarithm to base 10.
    #[track_caller]
    pub fn log10(&self) -> Tensor {
        if let Some(cast) = crate::autocast::entered("log10") {
            return cast.of(self).log10();
        }
        self.log() * K(consts::LOG10_E)
    }

    /// Inverse hyperbolic sine.
    #[track_caller]
    pub fn asinh(&self) -> Tensor {
        if let Some(cast) = crate::autocast::entered("asinh") {
            return cast.of(self).asinh();
        }
        let value = |x: &Tensor| {
            let wide = x.cast(x.dtype().compute());
            let a = wide.abs();
            let large = a.gt(K(LARGE));
            let small = large.where_(K(1.0), &a);
            // log1p keeps small arguments exact.
            let inner = &small + small.square() / (small.square() + K(1.0)).sqrt().add(K(1.0));
            let y = large.where_(log_of_double(&large, &a), inner.log1p());
            // A zero keeps its sign.
            wide.eq(K(0.0)).where_(&wide, wide.lt(K(0.0)).where_(y.neg(), &y)).cast(x.dtype())
        };
        with_slope("asinh", &self.float(), value, |x, _, dy| dy * (x.square() + K(1.0)).rsqrt())
    }

    /// Inverse hyperbolic cosine; NaN below 1. Its gradient is `1 / sqrt(x² - 1)` wherever that is a number: below -1, too, as in PyTorch.
    #[track_caller]
    pub fn acosh(&self) -> Tensor {
        if let Some(cast) = crate::autocast::entered("acosh") {
            return cast.of(self).acosh();
        }
        let value = |x: &Tensor| {
            let wide = x.cast(x.dtype().compute());
            let large = wide.gt(K(LARGE));
            // By how much it is more than 1, which log1p keeps exact.
            let more = large.where_(K(1.0), &wide) - K(1.0);
            // Two roots: below -1 the product is positive, but there is no cosine.
            let inner = &more + more.sqrt() * (&more + K(2.0)).sqrt();
            large.where_(log_of_double(&large, &wide), inner.log1p()).cast(x.dtype())
        };
        // Not the root of a difference, whose square overflows.
        with_slope("acosh", &self.float(), value, |x, _, dy| {
            let size = x.abs();
            dy * (&size - K(1.0)).rsqrt() * (size + K(1.0)).rsqrt()
        })
    }

    /// Inverse hyperbolic tangent.
    #[track_caller]
    pub fn atanh(&self) -> Tensor {
        if let Some(cast) = crate::autocast::entered("atanh") {
            return cast.of(self).atanh();
        }
        let value = |x: &Tensor| {
            let wide = x.cast(x.dtype().compute());
            ((wide.log1p() - wide.neg().log1p()) * K(0.5)).cast(x.dtype())
        };
        with_slope("atanh", &self.float(), value, |x, _, dy| dy / (x.square().neg() + K(1.0)))
    }

    /// `x * x`; of bools `I64`.
    #[track_caller]
    pub fn square(&self) -> Tensor {
        if self.dtype() == DType::Bool { self.cast(DType::I64) } else { self * self }
    }

    /// What is left after [`Tensor::trunc`].
    #[track_caller]
    pub fn fract(&self) -> Tensor {
        self - self.trunc()
    }

    /// Whether each element is infinite.
    #[track_caller]
    pub fn isinf(&self) -> Tensor {
        self.isnan().logical_or(self.isfinite()).logical_not()
    }

    /// Whether each element is 0 (`!` of its truth).
    #[track_caller]
    pub fn logical_not(&self) -> Tensor {
        Tensor::from_expr(self.expr().cast(DType::Bool).unary(UnaryOp::Not))
    }

    /// `!` of bools, the complement of integers' bits.
    #[track_caller]
    pub fn bitwise_not(&self) -> Tensor {
        let expr = self.expr();
        Tensor::from_expr(expr.unary(if expr.dtype() == DType::Bool { UnaryOp::Not } else { UnaryOp::BitNot }))
    }
}

macro_rules! binary {
    ($($(#[$doc:meta])* $name:ident = $op:ident),* $(,)?) => { impl Tensor { $(
        $(#[$doc])*
        #[track_caller]
        pub fn $name(&self, other: impl Into<Operand>) -> Tensor { self.binary(BinaryOp::$op, other) }
    )* } };
}
binary!(
    /// Sum.
    add = Add,
    /// Difference.
    sub = Sub,
    /// Product, element by element.
    mul = Mul,
    /// Quotient; of integers `f32`.
    div = Div,
    /// Quotient rounded toward negative infinity; of integers by 0: 0. Of floats as Python's `//` and PyTorch's `floor_divide`: what is left
    /// without [`Tensor::rem`], divided, so `1 // 0.1` is 9 and `-3 // inf` is -1. Its gradient is 0.
    floor_div = IDiv,
    /// Remainder with the divisor's sign, as Python's `%`; of integers by 0: 0.
    rem = Rem,
    /// The angle of the point `(other, self)`; at the origin its gradient is 0.
    atan2 = Atan2,
    /// The greater; NaN if either is. Where both are equal, each gets half of the gradient.
    maximum = Max,
    /// The lesser; NaN if either is. Where both are equal, each gets half of the gradient.
    minimum = Min,
    /// Whether equal.
    eq = Eq,
    /// Whether different.
    ne = Ne,
    /// Whether less.
    lt = Lt,
    /// Whether less or equal.
    le = Le,
    /// Whether greater.
    gt = Gt,
    /// Whether greater or equal.
    ge = Ge,
    /// And, of bools or of integers' bits.
    bitwise_and = And,
    /// Or, of bools or of integers' bits.
    bitwise_or = Or,
    /// Exclusive or, of bools or of integers' bits.
    bitwise_xor = Xor,
    /// Shift to the left.
    shl = Shl,
    /// Shift to the right; the sign stays.
    shr = Shr,
);

impl Tensor {
    /// Power. Small integers and ½ as a Rust number become multiplications and square roots; any other exponent is a run-time value.
    /// Integers to a negative whole number are an error: their powers are no integers.
    ///
    /// With respect to a tensor as exponent the gradient is 0 where the base is 0 and the exponent is not negative. Where an exponent is 0, the
    /// mixed second derivative is `1 / base` (PyTorch: 0).
    #[track_caller]
    pub fn pow(&self, exponent: impl Into<Operand>) -> Tensor {
        if let Some(cast) = crate::autocast::entered("pow") {
            return cast.of(self).pow(cast.operand(exponent.into()));
        }
        let exponent = exponent.into();
        let x = self.expr();
        if x.error().is_some() {
            return self.clone();
        }
        let number = match exponent {
            Operand::Value(Value::Float(p) | Value::Constant(p)) => p,
            Operand::Value(Value::Int(p)) => p as f64,
            // No number that has a form of its own.
            Operand::Value(Value::Bool(_)) | Operand::Tensor(_) => f64::NAN,
        };
        let dtype = match &exponent {
            Operand::Value(value) => promote_value(x.dtype(), *value),
            Operand::Tensor(other) => promote(&x, &other.expr()),
        };
        let float = dtype.is_float();
        if number < 0.0 && !float {
            let help = "make the base a float, or use `float_power`";
            return Tensor::fail(ErrorKind::Argument, "pow", format!("{} to the power of {number}", x.dtype()), help, &[self]);
        }
        let x = x.cast(dtype);
        Tensor::from_expr(match number {
            // Its derivative is 0 where the rule's, `0 * x^-1`, is not a number.
            0.0 if float => return with_slope("pow", &Tensor::from_expr(x), Tensor::ones_like, |_, _, dy| dy.zeros_like()),
            1.0 => x.identity(),
            2.0 => x.mul(&x),
            3.0 => x.mul(&x).mul(&x),
            4.0 => {
                let square = x.mul(&x);
                square.mul(&square)
            }
            0.5 if float => x.sqrt(),
            -0.5 if float => x.rsqrt(),
            -1.0 if float => x.recip(),
            // Of 0 the product would be infinite where its derivative is 0.
            -2.0 if float => {
                return with_slope("pow", &Tensor::from_expr(x), |x| x.square().recip(), |x, y, dy| dy * (y / x) * K(-2.0));
            }
            _ => return self.binary(BinaryOp::Pow, exponent),
        })
    }

    /// Whether both are true (not 0).
    #[track_caller]
    pub fn logical_and(&self, other: impl Into<Operand>) -> Tensor {
        self.logical(BinaryOp::And, other.into())
    }

    /// Whether one or both are true (not 0).
    #[track_caller]
    pub fn logical_or(&self, other: impl Into<Operand>) -> Tensor {
        self.logical(BinaryOp::Or, other.into())
    }

    /// Whether one, but not both, is true (not 0).
    #[track_caller]
    pub fn logical_xor(&self, other: impl Into<Operand>) -> Tensor {
        self.logical(BinaryOp::Xor, other.into())
    }

    #[track_caller]
    fn logical(&self, op: BinaryOp, other: Operand) -> Tensor {
        let other = match other {
            Operand::Tensor(other) => Operand::Tensor(other.cast(DType::Bool)),
            Operand::Value(Value::Float(value) | Value::Constant(value)) => Operand::Value(Value::Bool(value != 0.0)),
            Operand::Value(Value::Int(value)) => Operand::Value(Value::Bool(value != 0)),
            bool => bool,
        };
        self.cast(DType::Bool).binary(op, other)
    }

    /// `self` where true, else `other`: element by element, all three broadcast. `self` is `Bool` (or is cast to it).
    #[track_caller]
    pub fn where_(&self, yes: impl Into<Operand>, no: impl Into<Operand>) -> Tensor {
        Tensor::from_result(try_where(&self.expr(), &yes.into(), &no.into()))
    }

    /// Limits to `low..=high`; where a limit holds, and at a limit itself, the gradient is 0 (as in PyTorch from 2.15 on). Of a tensor as limit,
    /// equal ones share the gradient, as of [`Tensor::maximum`].
    #[track_caller]
    pub fn clamp(&self, low: impl Into<Operand>, high: impl Into<Operand>) -> Tensor {
        let (low, high) = (low.into(), high.into());
        // Not in a closure, where an error would name this line.
        if !is_number(&low) || !is_number(&high) || !self.dtype().is_float() {
            return self.maximum(low).minimum(high);
        }
        let (least, most) = (low.clone(), high.clone());
        // Max and min would split the gradient of a tie in halves.
        gated("clamp", self, move |x| x.maximum(least).minimum(most), move |x| x.gt(low.clone()).logical_and(x.lt(high.clone())))
    }

    /// Not below `low`.
    #[track_caller]
    pub fn clamp_min(&self, low: impl Into<Operand>) -> Tensor {
        let low = low.into();
        let least = low.clone();
        if !is_number(&low) || !self.dtype().is_float() {
            return self.maximum(low);
        }
        gated("clamp_min", self, |x| x.maximum(least), move |x| x.gt(low.clone()))
    }

    /// Not above `high`.
    #[track_caller]
    pub fn clamp_max(&self, high: impl Into<Operand>) -> Tensor {
        let high = high.into();
        let most = high.clone();
        if !is_number(&high) || !self.dtype().is_float() {
            return self.minimum(high);
        }
        gated("clamp_max", self, |x| x.minimum(most), move |x| x.lt(high.clone()))
    }

    /// `self + weight * (end - self)`; exactly `end` where the weight is 1.
    #[track_caller]
    pub fn lerp(&self, end: &Tensor, weight: impl Into<Operand>) -> Tensor {
        let weight = weight.into();
        let way = end - self;
        // From the nearer end, so that it is met exactly.
        match &weight {
            Operand::Value(Value::Float(w) | Value::Constant(w)) if w.abs() < 0.5 => way.mul(weight) + self,
            Operand::Value(Value::Float(w) | Value::Constant(w)) => end - way.mul(1.0 - w),
            Operand::Value(Value::Int(0) | Value::Bool(false)) => way.mul(weight) + self,
            Operand::Value(Value::Int(w)) => end - way.mul(1 - w.max(&(i64::MIN + 2))),
            Operand::Value(Value::Bool(true)) => end - way.mul(0_i64),
            Operand::Tensor(w) => {
                let near = w.abs().lt(K(0.5));
                near.where_(&way * w + self, end - &way * (w.neg() + K(1.0)))
            }
        }
    }

    /// `self + value * a * b`.
    #[track_caller]
    pub fn addcmul(&self, a: &Tensor, b: &Tensor, value: impl Into<Operand>) -> Tensor {
        let product = a * b;
        let product = match wider(self, &product) {
            Some(dtype) => a.cast(dtype) * b.cast(dtype),
            None => product,
        };
        product.mul(value) + self
    }

    /// `self + value * a / b`.
    #[track_caller]
    pub fn addcdiv(&self, a: &Tensor, b: &Tensor, value: impl Into<Operand>) -> Tensor {
        let quotient = a / b;
        let quotient = match wider(self, &quotient) {
            Some(dtype) => a.cast(dtype) / b.cast(dtype),
            None => quotient,
        };
        quotient.mul(value) + self
    }

    /// Whether `|self - other| <= atol + rtol * |other|`, or both are NaN with `equal_nan`, or equal.
    #[track_caller]
    pub fn isclose(&self, other: &Tensor, rtol: f64, atol: f64, equal_nan: bool) -> Tensor {
        if !(rtol >= 0.0 && atol >= 0.0) {
            let message = format!("tolerances {rtol} (rtol) and {atol} (atol)");
            return Tensor::fail(ErrorKind::Argument, "isclose", message, "use numbers, 0 or more", &[self, other]);
        }
        let apart = match unsigned(self.dtype()).filter(|_| self.dtype() == other.dtype()) {
            // As bits, which the difference of any two of them has room for.
            Some(bits) => self.maximum(other).cast(bits) - self.minimum(other).cast(bits),
            None => (self - other).abs(),
        };
        let near = apart.le(other.float().abs() * rtol + atol);
        let close = near.logical_and(other.isfinite()).logical_or(self.eq(other));
        if equal_nan { close.logical_or(self.isnan().logical_and(other.isnan())) } else { close }
    }

    /// Stops or scales nothing on the way forward; `value` where `mask` is true. The mask broadcasts. A number that the tensor's integer dtype does not hold
    /// is an error.
    #[track_caller]
    pub fn masked_fill(&self, mask: &Tensor, value: impl Into<Operand>) -> Tensor {
        let x = self.expr();
        let value = match value.into() {
            // The tensor's dtype rules, as in PyTorch.
            Operand::Value(value) if x.error().is_none() => {
                if let Some(invalid) = unheld("masked_fill", value, x.dtype()) {
                    return invalid;
                }
                let literal = match value {
                    Value::Float(value) | Value::Constant(value) => Literal::float(x.dtype(), value),
                    Value::Int(value) => Literal::int(x.dtype(), value),
                    Value::Bool(value) => Literal::int(x.dtype(), i64::from(value)),
                };
                Tensor::from_expr(Expr::scalar(literal, &[], x.device()))
            }
            Operand::Tensor(value) => value.cast(x.dtype()),
            value => return mask.where_(value, self),
        };
        mask.where_(value, self)
    }
}

/// The unsigned integer of an integer's size.
fn unsigned(dtype: DType) -> Option<DType> {
    let by_size = match dtype.size() {
        1 => DType::U8,
        2 => DType::U16,
        4 => DType::U32,
        _ => DType::U64,
    };
    dtype.is_int().then_some(by_size)
}

/// `alpha * (e^x - 1)` where `x` is 0 or less, `x` elsewhere; its second derivative at 0 is 0.
#[track_caller]
fn exponential_below(x: &Tensor, alpha: Operand) -> Tensor {
    // Zeros keep e^x finite on the side that is not taken; NaN is on the other one, so that its gradient is NaN.
    let negative = |x: &Tensor| x.ge(K(0.0)).where_(K(0.0), x);
    let scale = alpha.clone();
    let value = |x: &Tensor| x.gt(K(0.0)).where_(x, negative(x).expm1().mul(scale));
    with_slope("elu", x, value, move |x, _, dy| x.gt(K(0.0)).where_(dy, dy * negative(x).exp().mul(alpha.clone())))
}

/// Beyond it `1 + x²` is `x²` in every dtype that computes, long before it overflows.
const LARGE: f64 = 4_294_967_296.0;

/// `log(2 x)` where `large`, without overflow; anything elsewhere.
#[track_caller]
fn log_of_double(large: &Tensor, x: &Tensor) -> Tensor {
    // Ones keep what is not taken, and its gradient, finite.
    large.where_(x, K(1.0)).log() + K(consts::LN_2)
}

#[track_caller]
fn try_where(condition: &Expr, yes: &Operand, no: &Operand) -> Result<Expr, Expr> {
    if condition.error().is_some() {
        return Err(condition.clone());
    }
    let device = condition.device();
    let condition = condition.cast(DType::Bool);
    let (yes, no) = match (yes, no) {
        (Operand::Tensor(yes), no) => aligned_number(&yes.expr(), no)?,
        (yes, Operand::Tensor(no)) => {
            let (no, yes) = aligned_number(&no.expr(), yes)?;
            (yes, no)
        }
        (Operand::Value(yes), Operand::Value(no)) => {
            let dtype = value_dtype(*yes).promote(value_dtype(*no));
            (value_expr(*yes, dtype, &[], device), value_expr(*no, dtype, &[], device))
        }
    };
    let all = Expr::broadcast_together(&[&condition, &yes, &no]);
    match all.as_deref() {
        Some([condition, yes, no]) => Ok(condition.select(yes, no)),
        Some(_) => {
            Err(Expr::fail(ErrorKind::Internal, "where", "three tensors broadcast to another number".into(), "report it", &[&condition]))
        }
        None => {
            let message = format!("condition {:?} and values {:?} do not broadcast", condition.shape(), yes.shape());
            let help = "sizes match from the last axis back, or are 1; see `reshape` and `unsqueeze`";
            Err(Expr::fail(ErrorKind::Shape, "where", message, help, &[&condition, &yes, &no]))
        }
    }
}

/// A tensor and a value for some of its elements, of one dtype, which has to hold a number.
#[track_caller]
fn aligned_number(of: &Expr, other: &Operand) -> Result<(Expr, Expr), Expr> {
    let (of, aligned) = align("where", of, other, None)?;
    if let Operand::Value(value) = other
        && let Some(invalid) = unheld("where", *value, of.dtype())
    {
        return Err(invalid.expr());
    }
    Ok((of, aligned))
}

fn value_dtype(value: Value) -> DType {
    match value {
        Value::Float(_) | Value::Constant(_) => default_dtype(),
        Value::Int(_) => DType::I64,
        Value::Bool(_) => DType::Bool,
    }
}

macro_rules! operators {
    ($($trait:ident $method:ident = $op:ident),*) => { $(
        impl<R: Into<Operand>> ops::$trait<R> for &Tensor {
            type Output = Tensor;
            #[track_caller]
            fn $method(self, other: R) -> Tensor {
                self.binary(BinaryOp::$op, other)
            }
        }
        impl<R: Into<Operand>> ops::$trait<R> for Tensor {
            type Output = Tensor;
            #[track_caller]
            fn $method(self, other: R) -> Tensor {
                self.into_binary(BinaryOp::$op, other)
            }
        }
        operators!(@left $trait $method $op f64);
        operators!(@left $trait $method $op i64);
        operators!(@left $trait $method $op Value);
    )* };
    // One float and one integer type, or the compiler could not tell the type of `2.0 * &x`; and a number of any kind.
    (@left $trait:ident $method:ident $op:ident $ty:ty) => {
        impl ops::$trait<&Tensor> for $ty {
            type Output = Tensor;
            #[track_caller]
            fn $method(self, other: &Tensor) -> Tensor {
                other.binary_swapped(BinaryOp::$op, self)
            }
        }
        impl ops::$trait<Tensor> for $ty {
            type Output = Tensor;
            #[track_caller]
            fn $method(self, other: Tensor) -> Tensor {
                other.binary_swapped(BinaryOp::$op, self)
            }
        }
    };
}
operators!(Add add = Add, Sub sub = Sub, Mul mul = Mul, Div div = Div, Rem rem = Rem,
    BitAnd bitand = And, BitOr bitor = Or, BitXor bitxor = Xor, Shl shl = Shl, Shr shr = Shr);

macro_rules! prefix {
    ($($trait:ident $method:ident = $call:ident),*) => { $(
        impl ops::$trait for &Tensor {
            type Output = Tensor;
            #[track_caller]
            fn $method(self) -> Tensor {
                self.$call()
            }
        }
        impl ops::$trait for Tensor {
            type Output = Tensor;
            #[track_caller]
            fn $method(self) -> Tensor {
                Tensor::$call(&self)
            }
        }
    )* };
}
impl ops::Neg for &Tensor {
    type Output = Tensor;
    #[track_caller]
    fn neg(self) -> Tensor {
        Tensor::neg(self)
    }
}
impl ops::Neg for Tensor {
    type Output = Tensor;
    #[track_caller]
    fn neg(self) -> Tensor {
        Tensor::neg(&self)
    }
}
prefix!(Not not = bitwise_not);

/// The dtype that `x` and what is added to it have together, where it is another one than the addend's: then the addend is made in it, and not rounded before.
fn wider(x: &Tensor, addend: &Tensor) -> Option<DType> {
    let (x, addend) = (x.expr(), addend.expr());
    if x.is_invalid() || addend.is_invalid() || !x.dtype().promotes_with(addend.dtype()) {
        return None;
    }
    Some(promote(&x, &addend)).filter(|dtype| *dtype != addend.dtype())
}
