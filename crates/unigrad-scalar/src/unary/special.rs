//! The gamma function's family and the inverse of the error function: exact, and composed of simpler functions.
//!
//! Always: the exact functions are right to some 10 units of `f64`'s last place, but near the zeros of [`digamma`], where that is relative to 1.
//! Sources: Abramowitz and Stegun, 6.3 and 6.4 (recurrences, reflections, asymptotic series); M. Giles, Approximating the erfinv function (GPU
//! Computing Gems, 2011) for the first guess of the inverse error function; Halley's method after it.

use super::Var;
use std::f64::consts::{FRAC_2_SQRT_PI, PI};

pub(super) const SQRT_2_OVER_PI: f64 = 0.797_884_560_802_865_4;
pub(super) const GELU_CUBE: f64 = 0.044_715;

/// From here on the asymptotic series are exact enough.
const FAR: f64 = 12.0;

// --- psi functions

/// `B_2k / 2k`, alternating: what digamma's series subtracts, by powers of `1 / x^2`.
const DIGAMMA: [f64; 8] =
    [1.0 / 12.0, -1.0 / 120.0, 1.0 / 252.0, -1.0 / 240.0, 1.0 / 132.0, -691.0 / 32_760.0, 1.0 / 12.0, -3617.0 / 8160.0];

/// `B_2k`: what trigamma's series adds, over `x`.
const TRIGAMMA: [f64; 8] = [1.0 / 6.0, -1.0 / 30.0, 1.0 / 42.0, -1.0 / 30.0, 5.0 / 66.0, -691.0 / 2730.0, 7.0 / 6.0, -3617.0 / 510.0];

/// `-(2k + 1) B_2k`: the derivative of trigamma's series, over `x^2`.
const TETRAGAMMA: [f64; 8] = [-0.5, 1.0 / 6.0, -1.0 / 6.0, 3.0 / 10.0, -5.0 / 6.0, 691.0 / 210.0, -35.0 / 2.0, 3617.0 / 30.0];

/// `(2k)(2k - 1)` under `B_2k`: Stirling's series of the logarithm, over `x`.
const STIRLING: [f64; 7] = [1.0 / 12.0, -1.0 / 360.0, 1.0 / 1260.0, -1.0 / 1680.0, 1.0 / 1188.0, -691.0 / 360_360.0, 1.0 / 156.0];

fn horner(x: f64, coefficients: &[f64]) -> f64 {
    coefficients.iter().rev().fold(0.0, |sum, c| sum * x + c)
}

/// The derivative of the logarithm of the gamma function.
pub(super) fn digamma(x: f64) -> f64 {
    if x == 0.0 {
        // As `-1 / x`.
        return f64::NEG_INFINITY.copysign(-x);
    }
    if x < 0.0 {
        if x == x.floor() {
            return f64::NAN;
        }
        // The fraction, so that the tangent of a large number keeps its digits.
        let rest = x - x.round_ties_even();
        return digamma(1.0 - x) - PI / (PI * rest).tan();
    }
    let (mut x, mut sum) = (x, 0.0);
    while x < FAR {
        sum -= 1.0 / x;
        x += 1.0;
    }
    let inverse = 1.0 / (x * x);
    sum + (x.ln() - 0.5 / x - inverse * horner(inverse, &DIGAMMA))
}

/// The second derivative of the logarithm of the gamma function.
pub(super) fn trigamma(x: f64) -> f64 {
    if x <= 0.0 {
        if x == x.floor() {
            return f64::INFINITY;
        }
        let sine = (PI * (x - x.round_ties_even())).sin();
        return (PI / sine) * (PI / sine) - trigamma(1.0 - x);
    }
    let (mut x, mut sum) = (x, 0.0);
    while x < FAR {
        sum += 1.0 / (x * x);
        x += 1.0;
    }
    let inverse = 1.0 / x;
    let square = inverse * inverse;
    sum + inverse * (1.0 + 0.5 * inverse + square * horner(square, &TRIGAMMA))
}

/// Where the formulas' series begin, and how many terms they have.
fn series(wide: bool) -> (usize, usize) {
    if wide { (FAR as usize, 8) } else { (6, 3) }
}

/// `x` moved up by whole numbers until it is far enough for the series, and the sum of what `step` gives on the way.
fn moved_up<'f>(x: Var<'f>, wide: bool, step: impl Fn(Var<'f>) -> Var<'f>) -> (Var<'f>, Var<'f>) {
    let steps = series(wide).0;
    let (mut x, mut sum) = (x, x.constant(0.0));
    for _ in 0..steps {
        let near = x.lt(steps as f64);
        sum = near.select(sum + step(x), sum);
        x = near.select(x + 1.0, x);
    }
    (x, sum)
}

/// For a negative argument `1 - x`, by which the reflections go; and `x` less the next whole number, times pi.
fn reflected(x: Var<'_>) -> (Var<'_>, Var<'_>, Var<'_>) {
    let negative = x.lt(0.0);
    (negative, negative.select(1.0 - x, x), (x - x.round()) * PI)
}

pub(super) fn digamma_form(x: Var<'_>, wide: bool) -> Var<'_> {
    let (negative, z, angle) = reflected(x);
    let (far, sum) = moved_up(z, wide, |z| -z.recip());
    let inverse = far.recip();
    let square = inverse * inverse;
    let tail = far.log() - inverse * 0.5 - square * square.polynomial(&DIGAMMA[..series(wide).1]);
    let value = sum + tail;
    let pole = x.eq(x.floor());
    let below = pole.select(x.constant(f64::NAN), value - PI / angle.tan());
    negative.select(below, value)
}

pub(super) fn trigamma_form(x: Var<'_>, wide: bool) -> Var<'_> {
    let (negative, z, angle) = reflected(x);
    let (far, sum) = moved_up(z, wide, |z| (z * z).recip());
    let inverse = far.recip();
    let square = inverse * inverse;
    let value = sum + inverse * (inverse * 0.5 + 1.0 + square * square.polynomial(&TRIGAMMA[..series(wide).1]));
    let sine = PI / angle.sin();
    let pole = x.eq(x.floor());
    negative.select(pole.select(x.constant(f64::INFINITY), sine * sine - value), value)
}

/// The third derivative of the logarithm of the gamma function, times `dy`; its own derivative is that of the formula.
pub(super) fn trigamma_slope<'f>(x: Var<'f>, _: Var<'f>, dy: Var<'f>) -> Var<'f> {
    let (negative, z, angle) = reflected(x);
    let (far, sum) = moved_up(z, true, |z| (z * z * z).recip() * -2.0);
    let inverse = far.recip();
    let square = inverse * inverse;
    let value = sum + square * (-1.0 - inverse + square * square.polynomial(&TETRAGAMMA));
    let (sine, cosine) = (PI / angle.sin(), angle.cos());
    let pole = x.eq(x.floor());
    let below = pole.select(x.constant(f64::NAN), value - sine * sine * sine * cosine * 2.0);
    dy * negative.select(below, value)
}

// --- lgamma

/// `lgamma(2 + t) / t` for `|t| <= 1/2`, by powers of `t`: interpolated at Chebyshev's points in 60 digits, right to 4e-20.
#[allow(clippy::excessive_precision)] // As they were computed.
const LGAMMA_WIDE: [f64; 21] = [
    0.422_784_335_098_467_139_4,
    0.322_467_033_424_113_218,
    -0.067_352_301_053_198_095,
    0.020_580_808_427_784_630_43,
    -0.007_385_551_028_674_024_788,
    0.002_890_510_330_734_404_569,
    -0.001_192_753_911_699_852_734,
    0.000_509_669_525_024_195_478_1,
    -0.000_223_154_758_588_186_160_2,
    0.000_099_457_506_687_881_399_14,
    -0.000_044_926_233_820_610_824_58,
    0.000_020_507_291_996_563_824_97,
    -9.439_526_202_058_817_863e-6,
    4.374_223_481_082_047_829e-6,
    -2.038_907_782_567_710_469e-6,
    9.584_207_048_594_986_142e-7,
    -4.508_168_225_446_838_291e-7,
    2.019_383_540_113_691_438e-7,
    -9.558_178_101_635_195_043e-8,
    6.472_569_840_064_723_736e-8,
    -3.085_985_478_390_577_084e-8,
];

/// As [`LGAMMA_WIDE`], right to 5e-9.
const LGAMMA: [f64; 9] = [
    0.422_784_335_1,
    0.322_467_018,
    -0.067_352_294_09,
    0.020_581_625_44,
    -0.007_385_920_885,
    0.002_878_868_684,
    -0.001_187_484_814,
    0.000_570_251_250_3,
    -0.000_250_562_021_5,
];

/// Near 2 a polynomial, which keeps the zeros at 1 and 2 exact; from there up by the recurrence; far out Stirling's series; below 1/2 the reflection.
pub(super) fn lgamma_form(x: Var<'_>, wide: bool) -> Var<'_> {
    const STEPS: usize = 7;
    let reflects = x.lt(0.5);
    let z = reflects.select(1.0 - x, x);
    // Down to between 1.5 and 2.5; the product is what the logarithm is to be added of.
    let (mut near, mut product) = (z, z.constant(1.0));
    for _ in 0..STEPS {
        let above = near.ge(2.5);
        near = above.select(near - 1.0, near);
        product = above.select(product * near, product);
    }
    let below = z.lt(1.5);
    let t = below.select(z - 1.0, near - 2.0);
    let polynomial = t * t.polynomial(if wide { &LGAMMA_WIDE } else { &LGAMMA });
    let log = below.select(z, product).log();
    let close = polynomial + below.select(-log, log);
    let inverse = z.recip();
    let tail = inverse * (inverse * inverse).polynomial(if wide { &STIRLING } else { &STIRLING[..3] });
    let half_log_two_pi_less_half = 0.418_938_533_204_672_7;
    let far = (z - 0.5) * (z.log() - 1.0) + half_log_two_pi_less_half + tail;
    let value = z.lt(2.5 + STEPS as f64).select(close, far);
    let sine = ((x - x.round()) * PI).sin().abs();
    let pole = x.eq(x.floor()).and(x.le(0.0));
    // Not the logarithm of the quotient, which is infinite of the least numbers.
    let below = pole.select(x.constant(f64::INFINITY), PI.ln() - sine.log() - value);
    reflects.select(below, value)
}

// --- the inverse of the error function

const GUESS_NEAR: [f64; 9] = [
    1.501_409_41,
    0.246_640_727,
    -0.004_177_681_64,
    -0.001_253_725_03,
    0.000_218_580_87,
    -4.391_506_54e-6,
    -3.523_387_7e-6,
    3.432_739_39e-7,
    2.810_226_36e-8,
];
const GUESS_FAR: [f64; 9] = [
    2.832_976_82,
    1.001_674_06,
    0.009_438_870_47,
    -0.007_622_461_3,
    0.005_739_507_73,
    -0.003_673_428_44,
    0.001_349_343_22,
    0.000_100_950_558,
    -0.000_200_214_257,
];
/// As far as the guesses were made for, by `-log(1 - x^2)`: `f64` goes further, by the tail `erfc(y) = exp(-y^2) / (y sqrt(pi))`.
const GUESS_END: f64 = 16.0;

pub(super) fn erfinv(x: f64) -> f64 {
    let a = x.abs();
    if a.is_nan() || a > 1.0 {
        return f64::NAN;
    }
    if a == 1.0 || a == 0.0 {
        return if a == 1.0 { f64::INFINITY.copysign(x) } else { x };
    }
    let w = -((1.0 - a) * (1.0 + a)).ln();
    let mut y = if w < 5.0 {
        horner(w - 2.5, &GUESS_NEAR) * a
    } else if w < GUESS_END {
        horner(w.sqrt() - 3.0, &GUESS_FAR) * a
    } else {
        let log = -(1.0 - a).ln();
        (log - 0.5 * (PI * log).ln()).sqrt()
    };
    for _ in 0..3 {
        // Near 1 the difference of the complements is exact.
        let error = if a > 0.5 { (1.0 - a) - libm::erfc(y) } else { libm::erf(y) - a };
        let step = error / (FRAC_2_SQRT_PI * (-y * y).exp());
        y -= step / (1.0 + y * step);
    }
    y.copysign(x)
}

pub(super) fn erfinv_form(x: Var<'_>, wide: bool) -> Var<'_> {
    let a = x.abs();
    let w = -((1.0 - a) * (a + 1.0)).log();
    let near = (w - 2.5).polynomial(&GUESS_NEAR);
    let root = w.sqrt();
    let far = (root - 3.0).polynomial(&GUESS_FAR);
    let mut y = w.lt(5.0).select(near, far) * a;
    if wide {
        let log = -(1.0 - a).log();
        let end = (log - (log * PI).log() * 0.5).sqrt();
        y = w.lt(GUESS_END).select(y, end);
        for _ in 0..2 {
            let error = a.gt(0.5).select(1.0 - a - y.erfc(), y.erf() - a);
            let step = error / ((-(y * y)).exp() * FRAC_2_SQRT_PI);
            y = y - step / (y * step + 1.0);
        }
    }
    // At 0 and 1 the steps divide 0 by 0, or infinity by it.
    let y = a.eq(1.0).select(x.constant(f64::INFINITY), a.eq(0.0).select(a, y));
    let y = a.gt(1.0).select(x.constant(f64::NAN), y);
    x.lt(0.0).select(-y, y)
}
