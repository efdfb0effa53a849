// Transcendental functions of f64, to some 1e-15; Vulkan has none. The bits of a number are a u64, so the device needs that too.

fn two_to(n: i32) -> f64 {
    return bitcast<f64>(u64(u32(clamp(n, -1022, 1023) + 1023)) << 52u);
}

fn scale_f64(x: f64, n: i32) -> f64 {
    let half = n >> 1u;
    return (x * two_to(half)) * two_to(n - half);
}

fn inf_f64() -> f64 {
    return quotient_f64(1.0lf, 0.0lf);
}

fn nan_f64() -> f64 {
    return quotient_f64(0.0lf, 0.0lf);
}

// x - n (high + low), where n high is exact. Compilers would add the two constants first, and lose what the second is there for.
fn parts_f64(x: f64, n: f64, high: f64, low: f64) -> f64 {
    return fma(n, -low, opaque_f64(fma(n, -high, x)));
}

// exp(r) - 1 for |r| < 0.36: the series.
fn expm1_series(r: f64) -> f64 {
    var sum = 1.0lf;
    for (var k = 17; k > 1; k = k - 1) {
        sum = 1.0lf + sum * r / f64(k);
    }
    return sum * r;
}

fn exp_f64(x: f64) -> f64 {
    let bounded = min(max(x, -800.0lf), 720.0lf);
    let n = round_f64(bounded * 1.4426950408889634lf);
    let r = parts_f64(bounded, n, 0.6931471803691238lf, 1.9082149292705877e-10lf);
    return select(scale_f64(1.0lf + expm1_series(r), i32(n)), x, is_nan_f64(x));
}

fn exp2_f64(x: f64) -> f64 {
    let bounded = min(max(x, -1100.0lf), 1030.0lf);
    let n = round_f64(bounded);
    return select(scale_f64(1.0lf + expm1_series((bounded - n) * 0.6931471805599453lf), i32(n)), x, is_nan_f64(x));
}

fn expm1_f64(x: f64) -> f64 {
    return select(exp_f64(x) - 1.0lf, expm1_series(x), abs(x) < 0.35lf);
}

// log((1 + s) / (1 - s)) for |s| < 0.18: the series.
fn log_series(s: f64) -> f64 {
    let z = s * s;
    var sum = 0.0lf;
    for (var k = 23; k > 0; k = k - 2) {
        sum = sum * z + 1.0lf / f64(k);
    }
    return 2.0lf * s * sum;
}

// log of x = 2^e m: log m, and e.
fn log_parts(x: f64) -> vec2<f64> {
    let small = x < 2.2250738585072014e-308lf;
    let scaled = select(x, x * 18014398509481984.0lf, small);
    let bits = bitcast<u64>(scaled) - 0x3fe6a09e667f3bcdlu;
    let e = i32(bitcast<i64>(bits) >> 52u);
    let m = bitcast<f64>((bits & 0x000ffffffffffffflu) + 0x3fe6a09e667f3bcdlu);
    return vec2<f64>(log_series((m - 1.0lf) / (m + 1.0lf)), f64(e) - select(0.0lf, 54.0lf, small));
}

fn log_special_f64(x: f64, result: f64) -> f64 {
    if (x == 0.0lf) {
        return -inf_f64();
    }
    if (is_finite_f64(x) && x > 0.0lf) {
        return result;
    }
    return select(nan_f64(), x, x > 0.0lf);
}

fn log_f64(x: f64) -> f64 {
    let p = log_parts(x);
    return log_special_f64(x, fma(p.y, 0.6931471803691238lf, opaque_f64(fma(p.y, 1.9082149292705877e-10lf, p.x))));
}

fn log2_f64(x: f64) -> f64 {
    let p = log_parts(x);
    return log_special_f64(x, p.x * 1.4426950408889634lf + p.y);
}

fn log1p_f64(x: f64) -> f64 {
    return select(log_f64(1.0lf + x), log_series(x / (2.0lf + x)), x > -0.29lf && x < 0.41lf);
}

// |x| >= 2^17 less n quarter turns, and n mod 4 (Payne and Hanek): a product with the digits of 2 / pi, as far as they are not whole turns.
// Seven words of them leave an error of 2^-138 turns; no f64 is nearer to a quarter turn than 2^-62.
fn far_circle_f64(x: f64) -> vec2<f64> {
    var digits = array<u32, 37>(
        0xa2f9836eu, 0x4e441529u, 0xfc2757d1u, 0xf534ddc0u, 0xdb629599u, 0x3c439041u, 0xfe5163abu, 0xdebbc561u,
        0xb7246e3au, 0x424dd2e0u, 0x06492eeau, 0x09d1921cu, 0xfe1deb1cu, 0xb129a73eu, 0xe88235f5u, 0x2ebb4484u,
        0xe99c7026u, 0xb45f7e41u, 0x3991d639u, 0x835339f4u, 0x9c845f8bu, 0xbdf9283bu, 0x1ff897ffu, 0xde05980fu,
        0xef2f118bu, 0x5a0a6d1fu, 0x6d367ecfu, 0x27cb09b7u, 0x4f463f66u, 0x9e5fea2du, 0x7527bac7u, 0xebe5f17bu,
        0x3d0739f7u, 0x8a5292eau, 0x6bfb5fb1u, 0x1f8d5d08u, 0x56033046u);
    let bits = bitcast<u64>(x);
    // x is m 2^e.
    let e = i32(u32(bits >> 52u) & 0x7ffu) - 1075;
    let m = (bits & 0x000ffffffffffffflu) | 0x0010000000000000lu;
    let first = max(e - 2, 0) >> 5u;
    // The product, lowest word first.
    var t = array<u32, 9>(0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u);
    for (var half = 0; half < 2; half = half + 1) {
        let factor = (m >> (32u * u32(half))) & 0xfffffffflu;
        var carry = 0lu;
        for (var k = 0; k < 7; k = k + 1) {
            let sum = factor * u64(digits[first + 6 - k]) + u64(t[half + k]) + carry;
            t[half + k] = u32(sum & 0xfffffffflu);
            carry = sum >> 32u;
        }
        t[half + 7] = u32(carry);
    }
    // Two bits of quarter turns and 126 of a fraction.
    let skipped = u32(32 * (first + 7) - e - 126);
    let at = i32(skipped >> 5u);
    let shift = skipped & 31u;
    var y = array<u32, 4>(0u, 0u, 0u, 0u);
    for (var j = 0; j < 4; j = j + 1) {
        let pair = (u64(t[at + j + 1]) << 32u) | u64(t[at + j]);
        y[j] = u32((pair >> shift) & 0xfffffffflu);
    }
    let quarters = y[3] >> 30u;
    let up = (y[3] >> 29u) & 1u;
    var high = (u64(y[3]) << 32u) | u64(y[2]);
    var low = (u64(y[1]) << 32u) | u64(y[0]);
    high = (high << 2u) | (low >> 62u);
    low = low << 2u;
    if (up == 1u) {
        low = ~low + 1lu;
        high = ~high + select(0lu, 1lu, low == 0lu);
    }
    let fraction = f64(high) * 5.421010862427522e-20lf + f64(low) * 2.938735877055719e-39lf;
    let r = fraction * 1.5707963267948966lf;
    let n = f64((quarters + up) & 3u);
    let back = (up == 1u) != is_negative_f64(x);
    return vec2<f64>(select(r, -r, back), select(n, 4.0lf - n, is_negative_f64(x) && n > 0.0lf));
}

// Sine and cosine by their series, of x less n quarter turns, and n mod 4.
fn circle_f64(x: f64) -> vec3<f64> {
    var r = 0.0lf;
    var n = 0.0lf;
    if (abs(x) < 131072.0lf) {
        n = round_f64(x * 0.6366197723675814lf);
        r = fma(n, -2.912732056093356e-20lf, opaque_f64(parts_f64(x, n, 1.5707963267341256lf, 6.07710050359346e-11lf)));
    } else if (is_finite_f64(x)) {
        let p = far_circle_f64(x);
        r = p.x;
        n = p.y;
    }
    let z = r * r;
    var s = 1.0lf;
    var c = 1.0lf;
    for (var k = 20; k > 0; k = k - 2) {
        s = 1.0lf - s * z / f64(k * (k + 1));
        c = 1.0lf - c * z / f64(k * (k - 1));
    }
    return vec3<f64>(s * r, c, n - 4.0lf * floor(n * 0.25lf));
}

fn sin_f64(x: f64) -> f64 {
    let p = circle_f64(x);
    let n = i32(p.z);
    let y = select(p.x, p.y, (n & 1) != 0);
    return select(nan_f64(), select(y, -y, (n & 2) != 0), is_finite_f64(x));
}

fn cos_f64(x: f64) -> f64 {
    let p = circle_f64(x);
    let n = i32(p.z);
    let y = select(p.y, p.x, (n & 1) != 0);
    return select(nan_f64(), select(y, -y, n == 1 || n == 2), is_finite_f64(x));
}

fn tan_f64(x: f64) -> f64 {
    let p = circle_f64(x);
    return select(nan_f64(), select(p.x / p.y, -p.y / p.x, (i32(p.z) & 1) != 0), is_finite_f64(x));
}

// For 0 <= x <= 1: the f32 answer, and what is left by the addition theorem.
fn atan_small_f64(x: f64) -> f64 {
    let first = f64(atan_f32(f32(x)));
    let s = sin_f64(first);
    let c = cos_f64(first);
    let d = (x * c - s) / (c + x * s);
    return first + (d - d * d * d / 3.0lf);
}

fn atan_f64(x: f64) -> f64 {
    let a = abs(x);
    let r = select(atan_small_f64(a), 1.5707963267948966lf - atan_small_f64(1.0lf / max(a, 1.0lf)), a > 1.0lf);
    return select(select(r, -r, x < 0.0lf), x, is_nan_f64(x));
}

fn is_negative_f64(x: f64) -> bool {
    return (bitcast<u64>(x) >> 63u) != 0lu;
}

fn atan2_f64(y: f64, x: f64) -> f64 {
    if (is_nan_f64(x) || is_nan_f64(y)) {
        return nan_f64();
    }
    let ax = abs(x);
    let ay = abs(y);
    var r = 0.0lf;
    if (!is_finite_f64(ax) && !is_finite_f64(ay)) {
        r = 0.7853981633974483lf;
    } else if (ay > ax) {
        r = 1.5707963267948966lf - atan_small_f64(ax / ay);
    } else if (ay > 0.0lf) {
        r = atan_small_f64(ay / ax);
    }
    let turned = select(r, 3.141592653589793lf - r, is_negative_f64(x));
    return select(turned, -turned, is_negative_f64(y));
}

fn asin_f64(x: f64) -> f64 {
    return select(nan_f64(), atan2_f64(x, sqrt(max((1.0lf - x) * (1.0lf + x), 0.0lf))), abs(x) <= 1.0lf);
}

fn acos_f64(x: f64) -> f64 {
    return select(nan_f64(), atan2_f64(sqrt(max((1.0lf - x) * (1.0lf + x), 0.0lf)), x), abs(x) <= 1.0lf);
}

fn sinh_f64(x: f64) -> f64 {
    let a = abs(x);
    let t = exp_f64(0.5lf * a);
    let e = expm1_f64(min(a, 700.0lf));
    let r = select(0.5lf * (e + e / (e + 1.0lf)), (0.5lf * t) * t, a > 600.0lf);
    return select(select(r, -r, x < 0.0lf), x, is_nan_f64(x) || x == 0.0lf);
}

fn cosh_f64(x: f64) -> f64 {
    let a = abs(x);
    let t = exp_f64(0.5lf * a);
    return select(select(0.5lf * (exp_f64(a) + exp_f64(-a)), (0.5lf * t) * t, a > 600.0lf), x, is_nan_f64(x));
}

fn tanh_f64(x: f64) -> f64 {
    let e = expm1_f64(2.0lf * min(abs(x), 30.0lf));
    let r = e / (e + 2.0lf);
    return select(select(r, -r, x < 0.0lf), x, is_nan_f64(x) || x == 0.0lf);
}

fn sigmoid_f64(x: f64) -> f64 {
    let e = exp_f64(-abs(x));
    return select(1.0lf, e, x < 0.0lf) / (1.0lf + e);
}

fn silu_f64(x: f64) -> f64 {
    return select(x * sigmoid_f64(x), 0.0lf, x < -1.0e300lf);
}

fn softplus_f64(x: f64) -> f64 {
    return select(max(x, 0.0lf) + log1p_f64(exp_f64(-abs(x))), x, is_nan_f64(x));
}

// 1 - erf(x) for x >= 1: a continued fraction.
fn erfc_tail(x: f64) -> f64 {
    var t = x;
    for (var k = select(60, 200, x < 2.0lf); k > 0; k = k - 1) {
        t = x + 0.5lf * f64(k) / t;
    }
    // x squared has more digits than fit: those of the leading part's square, which are exact, and the rest.
    let s = f64(f32(x));
    return exp_f64(-s * s) * exp_f64((s - x) * (s + x)) * 0.5641895835477563lf / t;
}

// erf(x) for 0 <= x < 2: a series of positive terms.
fn erf_series(x: f64) -> f64 {
    let z = 2.0lf * x * x;
    var sum = 1.0lf;
    for (var k = 61; k > 1; k = k - 2) {
        sum = 1.0lf + sum * z / f64(k);
    }
    return 1.1283791670955126lf * x * exp_f64(-x * x) * sum;
}

fn erfc_f64(x: f64) -> f64 {
    let a = abs(x);
    if (a >= 1.0lf) {
        let tail = erfc_tail(min(a, 40.0lf));
        return select(tail, 2.0lf - tail, x < 0.0lf);
    }
    let middle = erf_series(min(a, 1.0lf));
    return select(select(1.0lf - middle, 1.0lf + middle, x < 0.0lf), x, is_nan_f64(x));
}

fn erf_f64(x: f64) -> f64 {
    let a = abs(x);
    let r = select(erf_series(min(a, 2.0lf)), 1.0lf - erfc_tail(min(max(a, 2.0lf), 40.0lf)), a >= 2.0lf);
    return select(select(r, -r, x < 0.0lf), x, is_nan_f64(x) || x == 0.0lf);
}

fn gelu_f64(x: f64) -> f64 {
    return select(0.5lf * x * erfc_f64(-0.7071067811865476lf * x), 0.0lf, x < -1.0e300lf);
}

fn gelu_tanh_f64(x: f64) -> f64 {
    let b = min(max(x, -40.0lf), 40.0lf);
    let e = exp_f64(-abs(1.5957691216057308lf * (b + 0.044715lf * b * b * b)));
    let r = select(x, x * e, x < 0.0lf) / (1.0lf + e);
    return select(select(r, 0.0lf, x < -1.0e300lf), x, is_nan_f64(x));
}

fn pow_f64(x: f64, y: f64) -> f64 {
    if (y == 0.0lf || x == 1.0lf) {
        return 1.0lf;
    }
    if (is_nan_f64(x) || is_nan_f64(y)) {
        return nan_f64();
    }
    let a = abs(x);
    let large = abs(y) >= 9007199254740992.0lf;
    let whole = large || floor(y) == y;
    let odd = whole && !large && floor(y * 0.5lf) * 2.0lf != y;
    if (x < 0.0lf && !whole && is_finite_f64(x)) {
        return nan_f64();
    }
    var r = 1.0lf;
    if (a == 0.0lf || !is_finite_f64(a) || !is_finite_f64(y)) {
        r = select(select(0.0lf, inf_f64(), (a > 1.0lf) == (y > 0.0lf)), 1.0lf, a == 1.0lf);
    } else {
        let p = log_parts(a);
        // The exponent's share apart, so that large powers of two lose nothing.
        let high = y * p.y;
        let whole_high = round_f64(min(max(high, -4000.0lf), 4000.0lf));
        let rest = (high - whole_high) * 0.6931471805599453lf + y * p.x;
        let bounded = min(max(rest, -3000.0lf), 3000.0lf);
        let n = round_f64(bounded * 1.4426950408889634lf);
        let left = parts_f64(bounded, n, 0.6931471803691238lf, 1.9082149292705877e-10lf);
        let exponent = n + whole_high;
        r = select(scale_f64(1.0lf + expm1_series(left), i32(min(max(exponent, -1100.0lf), 1100.0lf))), inf_f64(), exponent > 1030.0lf);
    }
    return select(r, -r, odd && is_negative_f64(x));
}

// The remainder of truncated division, exactly: no step rounds.
fn fmod_f64(x: f64, y: f64) -> f64 {
    let b = abs(y);
    var a = abs(x);
    if (b == 0.0lf || is_nan_f64(b) || !is_finite_f64(a)) {
        return nan_f64();
    }
    if (is_finite_f64(b)) {
        while (a >= b) {
            let steps = i32(bitcast<u64>(a) >> 52u) - i32(bitcast<u64>(b) >> 52u);
            var t = scale_f64(b, steps);
            if (t > a) {
                t = t * 0.5lf;
            }
            a = a - t;
        }
    }
    return select(a, -a, is_negative_f64(x));
}

fn rem_f64(a: f64, b: f64) -> f64 {
    let r = fmod_f64(a, b);
    return select(r, r + b, r != 0.0lf && !is_nan_f64(r) && (r < 0.0lf) != (b < 0.0lf));
}

// Division rounded down, from the remainder, which is exact. The division may have rounded a whole number down.
fn idiv_f64(a: f64, b: f64) -> f64 {
    if (b == 0.0lf) {
        return quotient_f64(a, b);
    }
    let r = fmod_f64(a, b);
    if (is_nan_f64(r)) {
        return nan_f64();
    }
    let q = (a - r) / b - select(0.0lf, 1.0lf, r != 0.0lf && (r < 0.0lf) != (b < 0.0lf));
    let f = floor(q);
    let zero = select(0.0lf, -0.0lf, is_negative_f64(a) != is_negative_f64(b));
    return select(select(f, f + 1.0lf, q - f > 0.5lf), zero, q == 0.0lf);
}
