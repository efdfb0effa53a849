//! 8-bit floats in a plan: codes in `U8`, and numbers made of them by integer arithmetic, shifts and bitcasts.
//!
//! In: casts to and from [`DType::F8E4M3`] and [`DType::F8E5M2`], and what moves their elements. Out: the same on codes.
//! Always: the bits are those of [`unigrad_graph::Float8`], on every device, since all of it is exact integer arithmetic but for one addition of
//! floats, which rounds to the nearest even everywhere, and one multiplication by a power of two. No kernel and no driver knows the dtypes.
//! Never: takes part in what is fused: the formulas are elementwise ops like others.

use unigrad_graph::{BinaryOp, DType, Expr, Float8, Literal, Op};

/// What a dtype is in kernels.
pub(crate) fn held(dtype: DType) -> DType {
    if dtype.only_stores() { DType::U8 } else { dtype }
}

/// An op that moves elements, on their codes.
#[expect(clippy::wildcard_enum_match_arm, reason = "the other ops hold no element")]
pub(crate) fn of_codes(op: &Op) -> Op {
    let code = |value: &Literal| if value.dtype().only_stores() { Literal::int(DType::U8, value.to_raw() as i64) } else { *value };
    match op {
        Op::Const(value) => Op::Const(code(value)),
        Op::Pad(axes, fill) => Op::Pad(axes.clone(), code(fill)),
        other => other.clone(),
    }
}

/// The formula of a cast, if it is from or to an 8-bit float and changes anything: through `F32`.
pub(crate) fn cast(x: &Expr, to: DType) -> Option<Expr> {
    if x.dtype() == to {
        return None;
    }
    match (Float8::of(x.dtype()), Float8::of(to)) {
        (Some(from), _) => Some(decode(from, &x.bitcast(DType::U8)).cast(to)),
        (None, Some(format)) => Some(encode(format, &x.cast(DType::F32)).bitcast(to)),
        (None, None) => None,
    }
}

/// An integer constant beside `x`.
fn with(x: &Expr, op: BinaryOp, value: u32) -> Expr {
    x.binary(op, &x.literal_like(Literal::int(x.dtype(), value.into())))
}

/// The numbers of codes, in `F32`. The code's bits are put where `F16` has its own: exponents that are too small by a constant are made up for
/// by a multiplication, which is exact for subnormal numbers as well.
fn decode(format: Float8, codes: &Expr) -> Expr {
    use BinaryOp::{And, Eq, Mul, Or, Shl};
    let wide = codes.cast(DType::U16);
    if format == Float8::E5M2 {
        return with(&wide, Shl, 8).bitcast(DType::F16).cast(DType::F32);
    }
    let sign = with(&with(&wide, And, 0x80), Shl, 8);
    let magnitude = with(&wide, And, 0x7f);
    let half = with(&magnitude, Shl, 10 - format.mantissa).binary(Or, &sign).bitcast(DType::F16).cast(DType::F32);
    let value = half.binary_const(Mul, 2f64.powi(15 - format.bias));
    let is_nan = with(&magnitude, Eq, u32::from(format.max_code) + 1);
    is_nan.select(&value.constant_like(f64::NAN), &value)
}

/// The codes of numbers in `F32`.
fn encode(format: Float8, x: &Expr) -> Expr {
    use BinaryOp::{Add, And, Gt, Lt, Min, Or, Shr, Sub};
    let bits = x.bitcast(DType::U32);
    let sign = with(&with(&bits, Shr, 24), And, 0x80);
    let magnitude = with(&bits, And, 0x7fff_ffff);
    // Exponent and significand, shifted to where the code has them; what is shifted out rounds to the nearest even. Where the exponent is too
    // small, this wraps, and is not taken.
    let shift = 23 - format.mantissa;
    let odd = with(&with(&magnitude, Shr, shift), And, 1);
    let half = (1 << (shift - 1)) - 1;
    let rounded = with(&magnitude.binary(Add, &odd), Add, half);
    let normal = with(&with(&rounded, Sub, ((127 - format.bias) as u32) << 23), Shr, shift);
    // Below the least normal number: a sum whose last place is the least subnormal number rounds to a multiple of it.
    let unit = 127 + format.least_exponent() - format.mantissa as i32;
    let one = Literal::from_raw(DType::F32, (unit + 23).unsigned_abs().wrapping_shl(23).into());
    let sum = magnitude.bitcast(DType::F32).binary(Add, &x.literal_like(one));
    let small = with(&sum.bitcast(DType::U32), Sub, one.to_raw() as u32);
    let least = ((127 + format.least_exponent()) as u32) << 23;
    let code = with(&with(&magnitude, Lt, least).select(&small, &normal), Min, format.over_code.into());
    let nan = code.literal_like(Literal::int(DType::U32, 0x7f));
    let code = with(&magnitude, Gt, 0x7f80_0000).select(&nan, &code);
    code.binary(Or, &sign).cast(DType::U8)
}
