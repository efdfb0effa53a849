//! Mathematical functions of `f32`, written so that a loop over them vectorises: no branches, no calls, no tables.
//!
//! In: any `f32`. Out: within 3 ulp of the exact value (the tests measure each function), with IEEE results for infinities,
//! zeros and denormals; NaN in, NaN out.
//! Never: raises an exception flag that matters, or depends on the tier but for fused multiply-adds.
//! Functions with a `*_is_hard` twin are right only where that is false; the kernels redo hard lanes one by one.

// Coefficients are written as published.
#![allow(clippy::excessive_precision)]

/// `a * b + c`, in one rounding where the machine can.
#[inline(always)]
fn fma<const FMA: bool>(a: f32, b: f32, c: f32) -> f32 {
    if FMA { a.mul_add(b, c) } else { a * b + c }
}

#[inline(always)]
fn fma64<const FMA: bool>(a: f64, b: f64, c: f64) -> f64 {
    if FMA { a.mul_add(b, c) } else { a * b + c }
}

/// Horner's rule, highest coefficient first.
#[inline(always)]
fn poly<const FMA: bool, const N: usize>(x: f32, coefficients: [f32; N]) -> f32 {
    let mut sum = coefficients[0];
    for c in &coefficients[1..] {
        sum = fma::<FMA>(sum, x, *c);
    }
    sum
}

/// Adding and taking away 1.5 * 2^23 rounds to an integer, which then is in the low bits too.
const ROUND: f32 = 12_582_912.0;

/// `x` as an integer to the nearest, as a float and as an integer; for `|x| < 2^22`.
#[inline(always)]
fn nearest(x: f32) -> (f32, i32) {
    let shifted = x + ROUND;
    (shifted - ROUND, (shifted.to_bits() as i32).wrapping_sub(ROUND.to_bits() as i32))
}

/// `2^n` for `-127 < n <= 127`.
#[inline(always)]
fn power_of_two(n: i32) -> f32 {
    f32::from_bits((n.wrapping_add(127) << 23) as u32)
}

/// `min(max(x, low), high)`; NaN stays.
#[inline(always)]
fn clamp(x: f32, low: f32, high: f32) -> f32 {
    let x = if x > high { high } else { x };
    if x < low { low } else { x }
}

const LN2_HIGH: f32 = 0.693_359_375;
const LN2_LOW: f32 = -2.121_944_4e-4;

/// `exp(r) - 1` for `|r| <= ln(2) / 2`.
#[inline(always)]
fn expm1_reduced<const FMA: bool>(r: f32) -> f32 {
    let p = poly::<FMA, 6>(r, [1.987_569_1e-4, 1.398_2e-3, 8.333_452e-3, 4.166_579_6e-2, 1.666_666_5e-1, 5.000_000_1e-1]);
    fma::<FMA>(p, r * r, r)
}

/// `x = n ln 2 + r`.
#[inline(always)]
fn reduce_exp<const FMA: bool>(x: f32) -> (f32, i32) {
    let (n, i) = nearest(x * std::f32::consts::LOG2_E);
    (fma::<FMA>(n, -LN2_LOW, fma::<FMA>(n, -LN2_HIGH, x)), i)
}

/// `x * 2^n`, in two steps so that denormal and infinite results come out right.
#[inline(always)]
fn scale(x: f32, n: i32) -> f32 {
    let half = n >> 1;
    x * power_of_two(half) * power_of_two(n.wrapping_sub(half))
}

/// `exp(r)` for `|r| <= ln(2) / 2`.
#[inline(always)]
fn exp_reduced<const FMA: bool>(r: f32) -> f32 {
    poly::<FMA, 7>(r, [1.381_453_9e-3, 8.368_745e-3, 4.166_839e-2, 1.666_652_1e-1, 4.999_999_4e-1, 1.0, 1.0])
}

/// `p * 2^n` for `p` near 1 and `n` nearest to `x`, where `n` is in the low bits of `shifted`: one shift and two products, the
/// last of which alone rounds. Powers on the side of `x` keep the first one between denormal and infinite.
#[inline(always)]
fn scale_towards(p: f32, shifted: f32, x: f32) -> f32 {
    // 2^64 and 2^-64, by the sign.
    let (first, last) = if (x.to_bits() as i32) < 0 { (0x5f80_0000, 0x1f80_0000) } else { (0x1f80_0000, 0x5f80_0000) };
    p * f32::from_bits((shifted.to_bits() << 23).wrapping_add(first)) * f32::from_bits(last)
}

#[inline(always)]
pub(super) fn exp<const FMA: bool>(x: f32) -> f32 {
    let x = clamp(x, -105.0, 90.0);
    let shifted = x * std::f32::consts::LOG2_E + ROUND;
    let n = shifted - ROUND;
    let r = fma::<FMA>(n, -LN2_LOW, fma::<FMA>(n, -LN2_HIGH, x));
    scale_towards(exp_reduced::<FMA>(r), shifted, x)
}

#[inline(always)]
pub(super) fn exp2<const FMA: bool>(x: f32) -> f32 {
    let x = clamp(x, -152.0, 130.0);
    let shifted = x + ROUND;
    scale_towards(exp_reduced::<FMA>((x - (shifted - ROUND)) * std::f32::consts::LN_2), shifted, x)
}

#[inline(always)]
pub(super) fn expm1<const FMA: bool>(x: f32) -> f32 {
    let bounded = clamp(x, -18.0, 90.0);
    let (r, n) = reduce_exp::<FMA>(bounded);
    // Halved, so that 2^128 is not needed.
    let s = power_of_two(n.wrapping_sub(1).min(127));
    let small = 2.0 * fma::<FMA>(s, expm1_reduced::<FMA>(r), s - 0.5);
    let result = if bounded > 89.0 { f32::INFINITY } else { small };
    // The sign of zero, which `s - 0.5` loses.
    if x == 0.0 { x } else { result }
}

/// `x = 2^e m` with `m` in `sqrt(1/2) .. sqrt(2)`; gives `m - 1` and `e`. For positive finite `x`.
#[inline(always)]
fn split_log(x: f32) -> (f32, f32) {
    let denormal = x < f32::MIN_POSITIVE;
    let scaled = if denormal { x * 8_388_608.0 } else { x };
    // Subtracting the bits of sqrt(1/2) puts the carry where the mantissa passes it.
    let bits = scaled.to_bits().wrapping_sub(0x3f35_04f3);
    let e = (bits as i32) >> 23;
    let m = f32::from_bits((bits & 0x007f_ffff).wrapping_add(0x3f35_04f3));
    (m - 1.0, e as f32 - if denormal { 23.0 } else { 0.0 })
}

/// `log(1 + r) - r + r^2 / 2` for `r` of [`split_log`].
#[inline(always)]
fn log_tail<const FMA: bool>(r: f32) -> f32 {
    let p = poly::<FMA, 9>(
        r,
        [
            7.037_683_6e-2,
            -1.151_461e-1,
            1.167_699_9e-1,
            -1.242_014_1e-1,
            1.424_932_3e-1,
            -1.666_805_8e-1,
            2.000_071_5e-1,
            -2.499_999_4e-1,
            3.333_333_1e-1,
        ],
    );
    p * (r * r) * r
}

/// What a logarithm is where its argument is not a positive finite number.
#[inline(always)]
fn log_special(x: f32, result: f32) -> f32 {
    let result = if x == f32::INFINITY { x } else { result };
    let result = if x == 0.0 { f32::NEG_INFINITY } else { result };
    if (x < 0.0) | x.is_nan() { f32::NAN } else { result }
}

#[inline(always)]
pub(super) fn log<const FMA: bool>(x: f32) -> f32 {
    let (r, e) = split_log(x);
    let y = fma::<FMA>(e, LN2_LOW, log_tail::<FMA>(r));
    let y = fma::<FMA>(-0.5, r * r, y);
    log_special(x, fma::<FMA>(e, LN2_HIGH, r + y))
}

#[inline(always)]
pub(super) fn log2<const FMA: bool>(x: f32) -> f32 {
    const LOG2_E_LESS_ONE: f32 = 0.442_695_04;
    let (r, e) = split_log(x);
    let y = fma::<FMA>(-0.5, r * r, log_tail::<FMA>(r));
    let z = fma::<FMA>(r, LOG2_E_LESS_ONE, y * LOG2_E_LESS_ONE);
    log_special(x, ((z + y) + r) + e)
}

#[inline(always)]
pub(super) fn log1p<const FMA: bool>(x: f32) -> f32 {
    let u = 1.0 + x;
    // What rounding took from `1 + x`, to first order.
    let result = log::<FMA>(u) * (x / (u - 1.0));
    let result = if u == 1.0 { x } else { result };
    if u == f32::INFINITY { u } else { result }
}

#[inline(always)]
pub(super) fn tanh<const FMA: bool>(x: f32) -> f32 {
    let z = x * x;
    let p = poly::<FMA, 5>(z, [-5.704_988_7e-3, 2.063_908_9e-2, -5.373_971_6e-2, 1.333_144_2e-1, -3.333_328_2e-1]);
    // The sign for -0, where the sum is of zeros of both signs.
    let small = fma::<FMA>(p * z, x, x).copysign(x);
    let large = 1.0 - 2.0 / (exp::<FMA>(2.0 * x.abs()) + 1.0);
    let result = if x.abs() < 0.625 { small } else { large.copysign(x) };
    if x.is_nan() { x } else { result }
}

#[inline(always)]
pub(super) fn sigmoid<const FMA: bool>(x: f32) -> f32 {
    let e = exp::<FMA>(-x.abs());
    (if x < 0.0 { e } else { 1.0 }) / (1.0 + e)
}

#[inline(always)]
pub(super) fn silu<const FMA: bool>(x: f32) -> f32 {
    // The power of two last, so that the product has all digits where the sigmoid alone would be denormal.
    let (r, n) = reduce_exp::<FMA>(clamp(-x.abs(), -115.0, 0.0));
    let p = 1.0 + expm1_reduced::<FMA>(r);
    // Below -115 nothing is left, and the product must not overflow before it is scaled down.
    let bounded = if x < -115.0 { -115.0 } else { x };
    let result = (if x < 0.0 { scale(bounded * p, n) } else { x }) / (1.0 + scale(p, n));
    if x == f32::NEG_INFINITY { 0.0 } else { result }
}

#[inline(always)]
pub(super) fn softplus<const FMA: bool>(x: f32) -> f32 {
    let e = exp::<FMA>(-x.abs());
    (if x > 0.0 { x } else { 0.0 }) + log1p::<FMA>(e)
}

/// Error function, after N. Juffa: near zero a polynomial, elsewhere one minus the exponential of one.
#[inline(always)]
pub(super) fn erf<const FMA: bool>(x: f32) -> f32 {
    let (t, s) = (x.abs(), x * x);
    let bounded = if t > 4.0 { 4.0 } else { t };
    let large = poly::<FMA, 7>(
        bounded,
        [-1.728_534_7e-5, 3.831_97e-4, -3.883_964_4e-3, 2.425_462_2e-2, -1.067_778_8e-1, -6.348_468_7e-1, -1.287_174_1e-1],
    );
    let large = 1.0 - exp::<FMA>(fma::<FMA>(large, bounded, -bounded));
    let small = poly::<FMA, 6>(s, [-5.967_616_9e-4, 4.991_192e-3, -2.676_813_5e-2, 1.128_199_2e-1, -3.761_253_3e-1, 1.283_791_66e-1]);
    let small = fma::<FMA>(small, x, x);
    let result = if t > 0.927_734_4 { large.copysign(x) } else { small };
    if x.is_nan() { x } else { result }
}

/// `g` in `erfc(a / sqrt 2) = exp(-a^2 / 2) g(q) / (1 + sqrt(2) a)` with `q = (a - 4) / (a + 4)`, for `0 <= a <= 14.6`.
#[inline(always)]
fn erfc_shape<const FMA: bool>(q: f32) -> f32 {
    poly::<FMA, 11>(
        q,
        [
            -2.111_195e-4,
            -1.308_309_9e-4,
            2.101_440_2e-3,
            -1.393_226_3e-3,
            -1.457_037_6e-2,
            5.777_942e-2,
            -1.166_375_9e-1,
            1.402_971e-1,
            -6.344_226_7e-2,
            -1.323_566_1e-1,
            1.256_955_7,
        ],
    )
}

/// `a * a`, and what rounding took from it: an exponential would magnify that.
#[inline(always)]
fn square_with_rest<const FMA: bool>(a: f32) -> (f32, f32) {
    let square = a * a;
    let rest = if FMA {
        a.mul_add(a, -square)
    } else {
        let high = f32::from_bits(a.to_bits() & 0xffff_f000);
        let low = a - high;
        ((high * high - square) + 2.0 * high * low) + low * low
    };
    (square, rest)
}

/// `1 - erf(x)`, accurate in the tail too: see [`erfc_shape`], with `a = sqrt(2) x`.
#[inline(always)]
pub(super) fn erfc<const FMA: bool>(x: f32) -> f32 {
    const TWO_SQRT_2: f32 = 2.828_427_1;
    let a = x.abs();
    // Nothing is left beyond.
    let a = if a > 10.3 { 10.3 } else { a };
    let (square, rest) = square_with_rest::<FMA>(a);
    let (sum, slope) = (a + TWO_SQRT_2, fma::<FMA>(a, 2.0, 1.0));
    let inverse = 1.0 / (sum * slope);
    let g = erfc_shape::<FMA>((a - TWO_SQRT_2) * (slope * inverse));
    // The rest goes to what multiplies the exponential, which may be denormal.
    let factor = g * (sum * inverse);
    let tail = fma::<FMA>(factor, -rest, factor) * exp::<FMA>(-square);
    let result = if x < 0.0 { 2.0 - tail } else { tail };
    if x.is_nan() { x } else { result }
}

/// `x * erfc(-x / sqrt 2) / 2`, accurate in the negative tail too: see [`erfc_shape`], with `a = |x|`.
#[inline(always)]
pub(super) fn gelu<const FMA: bool>(x: f32) -> f32 {
    let a = x.abs();
    let a = if a > 14.6 { 14.6 } else { a };
    let (square, rest) = square_with_rest::<FMA>(a);
    let (sum, slope) = (a + 4.0, fma::<FMA>(a, std::f32::consts::SQRT_2, 1.0));
    // One division for both quotients.
    let inverse = 1.0 / (sum * slope);
    let g = erfc_shape::<FMA>((a - 4.0) * (slope * inverse));
    let e = exp::<FMA>(-0.5 * square);
    let e = fma::<FMA>(e * rest, -0.5, e);
    let half_erfc = 0.5 * g * (sum * inverse);
    let tail = x * half_erfc * e;
    let result = if x < 0.0 { tail } else { fma::<FMA>(-x, half_erfc * e, x) };
    let result = if x == f32::INFINITY { x } else { result };
    if x == f32::NEG_INFINITY { 0.0 } else { result }
}

/// `x * sigmoid(2 u)`, which is `x (1 + tanh u) / 2`, with `u = sqrt(2 / pi) (x + 0.044715 x^3)`.
#[inline(always)]
pub(super) fn gelu_tanh<const FMA: bool>(x: f32) -> f32 {
    const TWO_SQRT_2_OVER_PI: f32 = 1.595_769_1;
    let bounded = clamp(x, -20.0, 20.0);
    let two_u = TWO_SQRT_2_OVER_PI * fma::<FMA>(0.044_715 * (bounded * bounded), bounded, bounded);
    let e = exp::<FMA>(-two_u.abs());
    let result = (if x < 0.0 { x * e } else { x }) / (1.0 + e);
    if x == f32::NEG_INFINITY { 0.0 } else { result }
}

/// Sines and cosines of larger arguments need a longer pi.
#[inline(always)]
pub(super) fn trigonometry_is_hard(x: f32) -> bool {
    x.is_nan() | (x.abs() >= 1_000_000.0)
}

/// Sine and cosine of `x - n pi / 2`, and `n`.
#[inline(always)]
fn sin_cos<const FMA: bool>(x: f32) -> (f32, f32, u32) {
    const ROUND: f64 = 6_755_399_441_055_744.0;
    // Pi / 2 in two parts, the first of 33 bits: its products with `n` are exact.
    const HIGH: f64 = 1.570_796_326_734_125_6;
    const LOW: f64 = 6.077_100_506_506_192e-11;
    let wide = f64::from(x);
    let shifted = fma64::<FMA>(wide, std::f64::consts::FRAC_2_PI, ROUND);
    let n = shifted - ROUND;
    let r = fma64::<FMA>(n, -LOW, fma64::<FMA>(n, -HIGH, wide)) as f32;
    let z = r * r;
    // The sign for -0, where the sum is of zeros of both signs.
    let sin = fma::<FMA>(poly::<FMA, 3>(z, [-1.951_529_6e-4, 8.332_161e-3, -1.666_665_5e-1]) * z, r, r).copysign(r);
    let cos = poly::<FMA, 3>(z, [2.443_315_7e-5, -1.388_731_6e-3, 4.166_664_6e-2]);
    let cos = fma::<FMA>(cos * z, z, fma::<FMA>(-0.5, z, 1.0));
    (sin, cos, shifted.to_bits() as u32)
}

#[inline(always)]
fn flip(x: f32, when: u32) -> f32 {
    f32::from_bits(x.to_bits() ^ (when << 31))
}

#[inline(always)]
pub(super) fn sin<const FMA: bool>(x: f32) -> f32 {
    let (sin, cos, n) = sin_cos::<FMA>(x);
    flip(if n & 1 != 0 { cos } else { sin }, (n >> 1) & 1)
}

#[inline(always)]
pub(super) fn cos<const FMA: bool>(x: f32) -> f32 {
    let (sin, cos, n) = sin_cos::<FMA>(x);
    flip(if n & 1 != 0 { sin } else { cos }, ((n >> 1) ^ n) & 1)
}

#[inline(always)]
pub(super) fn tan<const FMA: bool>(x: f32) -> f32 {
    let (sin, cos, n) = sin_cos::<FMA>(x);
    if n & 1 != 0 { -cos / sin } else { sin / cos }
}

/// Powers outside the ordinary: zero, infinite and NaN operands.
#[inline(always)]
pub(super) fn pow_is_hard(x: f32, y: f32) -> bool {
    (x == 0.0) | (x.abs() == f32::INFINITY) | x.is_nan() | (y.abs() == f32::INFINITY) | y.is_nan()
}

/// `x^y` as `exp(y log |x|)` in `f64`, with the sign of an odd power.
#[inline(always)]
pub(super) fn pow<const FMA: bool>(x: f32, y: f32) -> f32 {
    let product = f64::from(y) * log64::<FMA>(f64::from(x.abs()));
    let product = if product > 200.0 { 200.0 } else { product };
    let product = if product < -200.0 { -200.0 } else { product };
    let magnitude = exp64::<FMA>(product) as f32;
    let whole = y.trunc() == y;
    let half = y * 0.5;
    let odd = whole & (half.trunc() != half);
    let negative = if odd { -magnitude } else { magnitude };
    if x < 0.0 { if whole { negative } else { f32::NAN } } else { magnitude }
}

/// Good to 2^-45, for arguments that are normal `f64`.
#[inline(always)]
fn log64<const FMA: bool>(x: f64) -> f64 {
    let bits = x.to_bits().wrapping_sub(0x3fe6_a09e_667f_3bcd);
    let e = (bits as i64) >> 52;
    let m = f64::from_bits((bits & 0x000f_ffff_ffff_ffff).wrapping_add(0x3fe6_a09e_667f_3bcd));
    let s = (m - 1.0) / (m + 1.0);
    let z = s * s;
    let mut p = 2.0 / 17.0;
    for c in [2.0 / 15.0, 2.0 / 13.0, 2.0 / 11.0, 2.0 / 9.0, 2.0 / 7.0, 2.0 / 5.0, 2.0 / 3.0, 2.0] {
        p = fma64::<FMA>(p, z, c);
    }
    // The exponent as a float by way of bits: `i64` to `f64` is no vector instruction before AVX-512.
    let e = f64::from_bits((e.wrapping_add(0x0008_0000_0000_0000) as u64) ^ 0x4330_0000_0000_0000) - 6_755_399_441_055_744.0;
    fma64::<FMA>(e, std::f64::consts::LN_2, p * s)
}

/// Good to 2^-40, for `|x| <= 200`.
#[inline(always)]
fn exp64<const FMA: bool>(x: f64) -> f64 {
    const ROUND: f64 = 6_755_399_441_055_744.0;
    let shifted = fma64::<FMA>(x, std::f64::consts::LOG2_E, ROUND);
    let n = shifted - ROUND;
    let r = fma64::<FMA>(n, -std::f64::consts::LN_2, x);
    let mut p = 1.0 / 39_916_800.0;
    for c in
        [1.0 / 3_628_800.0, 1.0 / 362_880.0, 1.0 / 40_320.0, 1.0 / 5040.0, 1.0 / 720.0, 1.0 / 120.0, 1.0 / 24.0, 1.0 / 6.0, 0.5, 1.0, 1.0]
    {
        p = fma64::<FMA>(p, r, c);
    }
    let n = shifted.to_bits().wrapping_sub(ROUND.to_bits());
    p * f64::from_bits(n.wrapping_add(1023) << 52)
}

#[cfg(test)]
mod tests {
    use super::*;
    use unigrad_scalar::{BinaryOp, UnaryOp};

    fn ulps(got: f32, want: f64) -> f64 {
        let nearest = want as f32;
        if got == nearest || got.is_nan() && nearest.is_nan() {
            return 0.0;
        }
        if !got.is_finite() || !nearest.is_finite() {
            return f64::INFINITY;
        }
        let exponent = nearest.abs().max(f32::MIN_POSITIVE).log2().floor();
        (f64::from(got) - want).abs() / f64::from(exponent - 23.0).exp2()
    }

    fn samples() -> impl Iterator<Item = f32> {
        let all = (0..1u32 << 18).map(|i| f32::from_bits(i << 14 | (i.wrapping_mul(0x9e37) & 0x3fff)));
        let dense = (-150_000..150_000).map(|i| i as f32 * 7.1e-4);
        let special = [0.0, -0.0, f32::INFINITY, f32::NEG_INFINITY, f32::NAN, 1.0, -1.0, f32::MAX, f32::MIN, f32::MIN_POSITIVE, 1e-45];
        all.chain(dense).chain(special)
    }

    #[test]
    fn functions_are_within_their_bounds() {
        type Row = (UnaryOp, fn(f32) -> f32, fn(f32) -> f32, f64);
        let table: &[Row] = &[
            (UnaryOp::Exp, exp::<true>, exp::<false>, 1.5),
            (UnaryOp::Exp2, exp2::<true>, exp2::<false>, 2.0),
            (UnaryOp::Expm1, expm1::<true>, expm1::<false>, 3.0),
            (UnaryOp::Log, log::<true>, log::<false>, 2.0),
            (UnaryOp::Log2, log2::<true>, log2::<false>, 3.0),
            (UnaryOp::Log1p, log1p::<true>, log1p::<false>, 3.0),
            (UnaryOp::Tanh, tanh::<true>, tanh::<false>, 2.5),
            (UnaryOp::Sigmoid, sigmoid::<true>, sigmoid::<false>, 3.0),
            (UnaryOp::Silu, silu::<true>, silu::<false>, 3.0),
            (UnaryOp::Softplus, softplus::<true>, softplus::<false>, 3.0),
            (UnaryOp::Erf, erf::<true>, erf::<false>, 2.5),
            (UnaryOp::Erfc, erfc::<true>, erfc::<false>, 6.0),
            (UnaryOp::Gelu, gelu::<true>, gelu::<false>, 6.0),
            (UnaryOp::Sin, sin::<true>, sin::<false>, 2.0),
            (UnaryOp::Cos, cos::<true>, cos::<false>, 2.0),
            (UnaryOp::Tan, tan::<true>, tan::<false>, 4.0),
        ];
        let mut failures = Vec::new();
        for (op, fused, plain, bound) in table {
            let trigonometric = matches!(op, UnaryOp::Sin | UnaryOp::Cos | UnaryOp::Tan);
            let (mut worst, mut at) = (0.0, 0.0);
            for x in samples().filter(|x| !trigonometric || !trigonometry_is_hard(*x)) {
                let want = op.eval(x.into());
                for got in [fused(x), plain(x)] {
                    let error = ulps(got, want);
                    if error > worst {
                        (worst, at) = (error, x);
                    }
                }
            }
            println!("{op}: {worst:.2} ulp at {at:e}");
            if worst > *bound {
                failures.push(format!("{op}: {worst:.2} ulp at {at:e} ({}), want {}", fused(at), op.eval(at.into())));
            }
        }
        assert!(failures.is_empty(), "{failures:#?}");
    }

    #[test]
    fn odd_functions_keep_the_sign_of_zero() {
        let odd = [tanh::<true>, tanh::<false>, sin::<true>, sin::<false>, tan::<true>, tan::<false>, erf::<true>, erf::<false>];
        for (i, function) in odd.into_iter().enumerate() {
            assert_eq!((function(-0.0).to_bits(), function(0.0).to_bits()), ((-0.0_f32).to_bits(), 0), "function {i}");
        }
    }

    #[test]
    fn gelu_tanh_is_close() {
        for x in samples() {
            for got in [gelu_tanh::<true>(x), gelu_tanh::<false>(x)] {
                // Where `1 + tanh` cancels, the definition itself has few digits.
                let want = UnaryOp::GeluTanh.eval(x.into());
                assert!(ulps(got, want) < 4.0 || (f64::from(got) - want).abs() < 1e-7 * f64::from(x.abs()), "{x} {got} {want}");
            }
        }
    }

    #[test]
    fn powers_are_within_two_ulps() {
        let mut rng = 1u64;
        let mut next = || {
            rng = rng.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (rng >> 32) as u32
        };
        for i in 0..200_000 {
            let x = f32::from_bits(next());
            let y = match i % 4 {
                0 => f32::from_bits(next()),
                1 => (next() % 21) as f32 - 10.0,
                _ => (next() as f32 / 4e9 - 0.5) * 40.0,
            };
            if pow_is_hard(x, y) {
                continue;
            }
            let want = BinaryOp::Pow.eval(x.into(), y.into());
            for got in [pow::<true>(x, y), pow::<false>(x, y)] {
                assert!(ulps(got, want) <= 2.0, "{x:e}^{y:e}: {got:e}, want {want:e}");
            }
        }
    }
}
