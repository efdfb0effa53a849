//! The table of functions of one number.
//!
//! A row: its documentation, its name as a variant, in texts, and as a method of tensors (`_`-named where the method is written by hand), what it
//! takes ([`UnaryClass`](super::UnaryClass)), its price in additions; then
//! - `eval`: the exact meaning, in `f64`; `int`: the meaning on integers, if that is not the integer itself;
//! - `slope`: the gradient of the argument, from the argument `x`, the result `y` and the result's gradient `dy`; none where it is 0 everywhere;
//! - `form`: the function composed of others (`wide` for 64-bit floats), which serves every device that has no function of its own;
//! - `c`, `wgsl`: helper functions where a text is shorter or faster than the form, as `render/clike/helpers.rs` and `render/wgsl/library` of
//!   `unigrad-ir` write them; `wgsl` for `f32`.

/// Calls the macro `$then` with every row of the table.
///
/// ```
/// macro_rules! count {
///     ($($(#[doc = $doc:literal])* $op:ident $name:literal $method:ident $class:ident $cost:literal $row:tt)*) => { [$($name),*].len() };
/// }
/// assert_eq!(unigrad_scalar::each_unary!(count), unigrad_scalar::UnaryOp::ALL.len());
/// ```
#[macro_export]
macro_rules! each_unary {
    ($then:ident) => {
        $then! {
            /// `-x`.
            Neg "neg" neg Number 1 {
                eval: |x| -x,
                int: i64::wrapping_neg,
                slope: |_, _, dy| -dy,
            }
            /// `|x|`; the gradient at 0 is 0.
            Abs "abs" abs Number 1 {
                eval: f64::abs,
                int: i64::wrapping_abs,
                slope: |x, _, dy| dy * x.sign(),
            }
            /// -1, 0 or 1, and 0 of NaN, as in PyTorch; its gradient is 0.
            Sign "sign" sign Number 1 {
                eval: |x| f64::from(i8::from(x > 0.0) - i8::from(x < 0.0)),
                int: i64::signum,
            }
            /// `max(x, 0)`; NaN stays NaN; the gradient at 0 is 0.
            Relu "relu" relu Number 1 {
                eval: |x| if x.is_nan() || x > 0.0 { x } else { 0.0 },
                int: |x| x.max(0),
                // NaN lets the gradient pass, as in PyTorch.
                slope: |_, y, dy| y.le(0.0).select(dy.constant(0.0), dy),
            }
            /// Down to an integer; its gradient is 0.
            Floor "floor" floor Rounding 1 { eval: f64::floor }
            /// Up to an integer; its gradient is 0.
            Ceil "ceil" ceil Rounding 1 { eval: f64::ceil }
            /// To the nearest integer, ties to even; its gradient is 0.
            Round "round" round Rounding 1 { eval: f64::round_ties_even }
            /// Toward zero; its gradient is 0.
            Trunc "trunc" trunc Rounding 1 { eval: f64::trunc }
            /// `e^x`.
            Exp "exp" exp Real 12 {
                eval: f64::exp,
                slope: |_, y, dy| dy * y,
            }
            /// `2^x`.
            Exp2 "exp2" exp2 Real 12 {
                eval: f64::exp2,
                slope: |_, y, dy| dy * y * std::f64::consts::LN_2,
            }
            /// `e^x - 1`, exact near 0.
            Expm1 "expm1" expm1 Real 12 {
                eval: f64::exp_m1,
                slope: |_, y, dy| dy * (y + 1.0),
            }
            /// Natural logarithm.
            Log "log" log Real 12 {
                eval: f64::ln,
                slope: |x, _, dy| dy / x,
            }
            /// Logarithm to base 2.
            Log2 "log2" log2 Real 12 {
                eval: f64::log2,
                slope: |x, _, dy| dy / (x * std::f64::consts::LN_2),
            }
            /// `log(1 + x)`, exact near 0.
            Log1p "log1p" log1p Real 12 {
                eval: f64::ln_1p,
                slope: |x, _, dy| dy / (x + 1.0),
            }
            /// Sine.
            Sin "sin" sin Real 12 {
                eval: f64::sin,
                slope: |x, _, dy| dy * x.cos(),
            }
            /// Cosine.
            Cos "cos" cos Real 12 {
                eval: f64::cos,
                slope: |x, _, dy| -(dy * x.sin()),
            }
            /// Tangent.
            Tan "tan" tan Real 12 {
                eval: f64::tan,
                slope: |_, y, dy| dy * (y * y + 1.0),
            }
            /// Inverse sine.
            Asin "asin" asin Real 12 {
                eval: f64::asin,
                slope: |x, _, dy| dy * (1.0 - x * x).rsqrt(),
            }
            /// Inverse cosine.
            Acos "acos" acos Real 12 {
                eval: f64::acos,
                slope: |x, _, dy| -(dy * (1.0 - x * x).rsqrt()),
            }
            /// Inverse tangent.
            Atan "atan" atan Real 12 {
                eval: f64::atan,
                slope: |x, _, dy| dy / (x * x + 1.0),
            }
            /// Hyperbolic sine.
            Sinh "sinh" sinh Real 12 {
                eval: f64::sinh,
                slope: |x, _, dy| dy * x.cosh(),
            }
            /// Hyperbolic cosine.
            Cosh "cosh" cosh Real 12 {
                eval: f64::cosh,
                slope: |x, _, dy| dy * x.sinh(),
            }
            /// Hyperbolic tangent.
            Tanh "tanh" tanh Real 12 {
                eval: f64::tanh,
                slope: |_, y, dy| dy * (1.0 - y * y),
            }
            /// Square root.
            Sqrt "sqrt" sqrt Real 12 {
                eval: f64::sqrt,
                slope: |_, y, dy| dy * 0.5 / y,
            }
            /// `1 / sqrt(x)`.
            Rsqrt "rsqrt" rsqrt Real 12 {
                eval: |x| 1.0 / x.sqrt(),
                slope: |_, y, dy| dy * (y * y * y) * -0.5,
            }
            /// `1 / x`.
            Recip "recip" recip Real 1 {
                eval: |x| 1.0 / x,
                slope: |_, y, dy| -(dy * (y * y)),
            }
            /// Error function.
            Erf "erf" erf Real 12 {
                eval: libm::erf,
                slope: |x, _, dy| dy * (-(x * x)).exp() * std::f64::consts::FRAC_2_SQRT_PI,
            }
            /// `1 - erf(x)`, with all digits where that is small.
            Erfc "erfc" erfc Real 12 {
                eval: libm::erfc,
                slope: |x, _, dy| dy * (-(x * x)).exp() * -std::f64::consts::FRAC_2_SQRT_PI,
            }
            /// Inverse of the error function: infinite at -1 and 1, NaN beyond.
            ErfInv "erfinv" erfinv Real 24 {
                eval: special::erfinv,
                slope: |_, y, dy| dy * (y * y).exp() * (0.5 / std::f64::consts::FRAC_2_SQRT_PI * 2.0),
                form: special::erfinv_form,
            }
            /// Logarithm of the absolute value of the gamma function; infinite at 0 and the negative integers. Its gradient is
            /// [`UnaryOp::Digamma`].
            LGamma "lgamma" lgamma Real 48 {
                eval: libm::lgamma,
                slope: |x, _, dy| dy * x.unary(UnaryOp::Digamma),
                form: special::lgamma_form,
            }
            /// Derivative of [`UnaryOp::LGamma`]; NaN at the negative integers. Its gradient is [`UnaryOp::Trigamma`].
            Digamma "digamma" digamma Real 48 {
                eval: special::digamma,
                slope: |x, _, dy| dy * x.unary(UnaryOp::Trigamma),
                form: special::digamma_form,
            }
            /// Second derivative of [`UnaryOp::LGamma`]; infinite at 0 and the negative integers.
            Trigamma "trigamma" trigamma Real 48 {
                eval: special::trigamma,
                slope: special::trigamma_slope,
                form: special::trigamma_form,
            }
            /// `1 / (1 + e^-x)`.
            Sigmoid "sigmoid" sigmoid Real 12 {
                eval: |x| if x >= 0.0 { 1.0 / (1.0 + (-x).exp()) } else { x.exp() / (1.0 + x.exp()) },
                slope: |_, y, dy| dy * (y * (1.0 - y)),
                c: "$fn $T $N($T x) {\n    const $T e = $exp(-$fabs(x));\n    return $ratio(x < 0 ? e : ($T)1, 1 + e);\n}\n",
                wgsl: "fn sigmoid_f32(x: f32) -> f32 {\n    let e = exp_f32(-abs(x));\n    return select(1.0, e, x < 0.0) / (1.0 + e);\n}",
            }
            /// `x * sigmoid(x)`, also known as swish; at -inf its limit 0 (PyTorch: NaN).
            Silu "silu" silu Real 12 {
                eval: |x| if x == f64::NEG_INFINITY { 0.0 } else { x * UnaryOp::Sigmoid.eval(x) },
                slope: |x, _, dy| {
                    let s = x.sigmoid();
                    dy * (s * (x * (1.0 - s) + 1.0))
                },
                c: "$fn $T $N($T x) {
    const $T e = $exp(-$fabs(x));
    const $T r = $ratio(x < 0 ? x * e : x, 1 + e);
    return x < -1e30$f ? 0 : r;
}
",
                wgsl: "fn silu_f32(x: f32) -> f32 {
    // The power of two last, so that the product has all digits where the sigmoid alone would be tiny.
    let bounded = clamp(-abs(x), -115.0, 0.0);
    let n = round(bounded * 1.44269504);
    let p = 1.0 + expm1_reduced(exp_rest(bounded, n));
    let top = select(x, scale(max(x, -115.0) * p, i32(n)), x < 0.0);
    let result = top / (1.0 + scale(p, i32(n)));
    return select(select(result, 0.0, bitcast<u32>(x) == 0xff800000u), x, is_nan(x));
}",
            }
            /// `x * (1 + erf(x / sqrt 2)) / 2`; at -inf its limit 0 (PyTorch: NaN).
            Gelu "gelu" gelu Real 12 {
                eval: |x| {
                    if x == f64::NEG_INFINITY { 0.0 } else { 0.5 * x * libm::erfc(-x * std::f64::consts::FRAC_1_SQRT_2) }
                },
                slope: |x, _, dy| {
                    use std::f64::consts::{FRAC_1_SQRT_2, FRAC_2_SQRT_PI};
                    let cdf = ((x * FRAC_1_SQRT_2).erf() + 1.0) * 0.5;
                    let density = (x * x * -0.5).exp() * (0.5 * FRAC_2_SQRT_PI * FRAC_1_SQRT_2);
                    dy * (cdf + x * density)
                },
            }
            /// The tanh approximation of [`UnaryOp::Gelu`].
            GeluTanh "gelu_tanh" gelu_tanh Real 12 {
                eval: |x| {
                    if x == f64::NEG_INFINITY {
                        return 0.0;
                    }
                    0.5 * x * (1.0 + (special::SQRT_2_OVER_PI * (x + special::GELU_CUBE * x * x * x)).tanh())
                },
                slope: |x, _, dy| {
                    // From 20 on the tangent is 1 in every dtype; beyond 256 the square would be infinite in f16.
                    let bounded = x.max(-20.0).min(20.0);
                    let square = bounded * bounded;
                    let t = (x * (square * special::GELU_CUBE + 1.0) * special::SQRT_2_OVER_PI).tanh();
                    let slope = (square * (3.0 * special::GELU_CUBE) + 1.0) * special::SQRT_2_OVER_PI;
                    let inner = (1.0 - t * t) * slope * x;
                    dy * ((t + 1.0 + inner) * 0.5)
                },
                c: "$fn $T $N($T x) {
    const $T c = x > 30 ? ($T)30 : (x < -30 ? ($T)-30 : x);
    const $T u = 1.595769121605730711759$f * $fma(0.044715$f * (c * c), c, c);
    const $T e = $exp(-$fabs(u));
    const $T r = $ratio(x < 0 ? x * e : x, 1 + e);
    return x < -1e30$f ? 0 : r;
}
",
                wgsl: "// x * sigmoid(2 u), which is x (1 + tanh u) / 2, with u = sqrt(2 / pi) (x + 0.044715 x^3).
fn gelu_tanh_f32(x: f32) -> f32 {
    let b = clamp(x, -20.0, 20.0);
    let e = exp_f32(-abs(1.5957691 * ((0.044715 * (b * b)) * b + b)));
    let result = select(x, x * e, x < 0.0) / (1.0 + e);
    return select(select(result, 0.0, bitcast<u32>(x) == 0xff800000u), x, is_nan(x));
}",
            }
            /// `log(1 + e^x)`, without overflow.
            Softplus "softplus" softplus Real 12 {
                eval: |x| if x > 0.0 { x + (-x).exp().ln_1p() } else { x.exp().ln_1p() },
                slope: |x, _, dy| dy * x.sigmoid(),
                c: "$fn $T $N($T x) {\n    return (x > 0 ? x : ($T)0) + $log1p($exp(-$fabs(x)));\n}\n",
                wgsl: "fn softplus_f32(x: f32) -> f32 {
    let result = max(x, 0.0) + log1p_f32(exp_f32(-abs(x)));
    return select(result, x, is_nan(x));
}",
            }
            /// Whether each element is NaN.
            IsNan "isnan" isnan Test 1 {
                eval: |x| f64::from(u8::from(x.is_nan())),
                int: |_| 0,
            }
            /// Whether each element is neither infinite nor NaN.
            IsFinite "isfinite" isfinite Test 1 {
                eval: |x| f64::from(u8::from(x.is_finite())),
                int: |_| 1,
            }
            /// Logical negation of a `Bool`.
            Not "not" logical_not Truth 1 {
                eval: |x| f64::from(u8::from(x == 0.0)),
                int: |x| i64::from(x == 0),
            }
            /// Bitwise complement of an integer.
            BitNot "bitnot" bitwise_not Bits 1 {
                eval: |x| !(x as i64) as f64,
                int: |x| !x,
            }
        }
    };
}
