// Mathematics of f32, to a few units in the last place on any device: what WGSL promises of its own functions is too little.
// Nothing here relies on a fused multiply-add, or breaks when a compiler fuses, or moves constants about. NaN and infinities are made and told by their bits,
// because compilers may assume that there are none.

fn f32_of_bits(bits: u32) -> f32 {
    return bitcast<f32>(bits);
}

fn is_nan(x: f32) -> bool {
    return (bitcast<u32>(x) & 0x7fffffffu) > 0x7f800000u;
}

fn is_finite(x: f32) -> bool {
    return (bitcast<u32>(x) & 0x7f800000u) != 0x7f800000u;
}

fn nan() -> f32 {
    return f32_of_bits(0x7fc00000u);
}

fn inf() -> f32 {
    return f32_of_bits(0x7f800000u);
}

// x itself, in a way that compilers do not see: they take `(a + b) - a` for `b`. Word 4 of the parameters is 0.
fn opaque(x: f32) -> f32 {
    return bitcast<f32>(bitcast<u32>(x) ^ params[1].x);
}

// The magnitude of x with the sign of s.
fn with_sign(x: f32, s: f32) -> f32 {
    return bitcast<f32>((bitcast<u32>(x) & 0x7fffffffu) | (bitcast<u32>(s) & 0x80000000u));
}

// The larger magnitude as bits; beyond infinity's if one is no number.
fn larger_magnitude(a: f32, b: f32) -> u32 {
    return max(bitcast<u32>(a) & 0x7fffffffu, bitcast<u32>(b) & 0x7fffffffu);
}

fn max_f32(a: f32, b: f32) -> f32 {
    return select(max(a, b), nan(), larger_magnitude(a, b) > 0x7f800000u);
}

fn min_f32(a: f32, b: f32) -> f32 {
    return select(min(a, b), nan(), larger_magnitude(a, b) > 0x7f800000u);
}

// By bits, so that numbers below the normal ones have a sign too.
fn sign_f32(x: f32) -> f32 {
    let magnitude = bitcast<u32>(x) & 0x7fffffffu;
    return select(with_sign(1.0, x), 0.0, magnitude == 0u || magnitude > 0x7f800000u);
}

fn relu_f32(x: f32) -> f32 {
    return select(0.0, x, x > 0.0 || is_nan(x));
}

fn rsqrt_f32(x: f32) -> f32 {
    return 1.0 / sqrt(x);
}

// 2^n for -127 < n < 128.
fn power_of_two(n: i32) -> f32 {
    return bitcast<f32>(bitcast<u32>(n + 127) << 23u);
}

// x * 2^n, in two steps so that very small and very large results come out right.
fn scale(x: f32, n: i32) -> f32 {
    let half = n >> 1u;
    return (x * power_of_two(half)) * power_of_two(n - half);
}

// exp(r) - 1 for |r| <= ln(2) / 2.
fn expm1_reduced(r: f32) -> f32 {
    let p = ((((1.9875691e-4 * r + 1.3982e-3) * r + 8.333452e-3) * r + 4.1665796e-2) * r + 1.6666665e-1) * r + 5.0000001e-1;
    return p * (r * r) + r;
}

// x - n ln 2, with ln 2 in two parts.
fn exp_rest(x: f32, n: f32) -> f32 {
    return (x - n * 0.693359375) + n * 2.1219444e-4;
}

// The device's own power of two, where it has the least error: next to 1. What is below the normal numbers is 0.
fn exp_f32(x: f32) -> f32 {
    // Next to 1.5 * 2^23 there is no place for a fraction: the lowest bits of the sum are the nearest whole number to x / ln 2.
    let t = opaque(x * 1.44269504 + 12582912.0);
    let y = exp2(1.44269504 * exp_rest(x, t - 12582912.0));
    let result = bitcast<f32>(bitcast<u32>(y) + (bitcast<u32>(t) << 23u));
    return select(select(select(result, 0.0, x < -87.33654), inf(), x > 88.72283), x, is_nan(x));
}

// 2^(n + r) for whole n and |r| <= 1/2.
fn exp2_parts(n: f32, r: f32) -> f32 {
    let p = (((1.5445078e-4 * r + 1.3381494e-3) * r + 9.6181030e-3) * r + 5.5503808e-2) * r + 0.24022651;
    return scale(1.0 + (p * r + 0.69314718) * r, i32(n));
}

fn exp2_f32(x: f32) -> f32 {
    let bounded = clamp(x, -152.0, 130.0);
    let n = round(bounded);
    return select(exp2_parts(n, bounded - n), x, is_nan(x));
}

fn expm1_f32(x: f32) -> f32 {
    let bounded = clamp(x, -18.0, 90.0);
    let n = round(bounded * 1.44269504);
    // Halved, so that 2^128 is not needed.
    let s = power_of_two(min(i32(n) - 1, 127));
    let result = 2.0 * (s * expm1_reduced(exp_rest(bounded, n)) + (s - 0.5));
    // Small ones are themselves, and keep the sign of zero, which `s - 0.5` loses.
    return select(select(result, inf(), bounded > 89.0), x, abs(x) < 1.0e-8 || is_nan(x));
}

// x = 2^e m with m in sqrt(1/2) .. sqrt(2); gives m - 1 and e. For positive finite x.
fn split_log(x: f32) -> vec2<f32> {
    // Below the normal numbers: a whole number of 2^-149, which the device might take for zero.
    let own = bitcast<u32>(x);
    let small = own < 0x00800000u;
    // Subtracting the bits of sqrt(1/2) puts the carry where the mantissa passes it.
    let bits = select(own, bitcast<u32>(f32(own)), small) - 0x3f3504f3u;
    let e = bitcast<i32>(bits) >> 23u;
    let m = bitcast<f32>((bits & 0x007fffffu) + 0x3f3504f3u);
    return vec2<f32>(m - 1.0, f32(e) - select(0.0, 149.0, small));
}

// log(1 + r) - r + r^2 / 2 for the r of split_log.
fn log_tail(r: f32) -> f32 {
    let high = (((7.0376836e-2 * r - 1.151461e-1) * r + 1.1676999e-1) * r - 1.2420141e-1) * r + 1.4249323e-1;
    let p = (((high * r - 1.6668058e-1) * r + 2.0000715e-1) * r - 2.4999994e-1) * r + 3.3333331e-1;
    return p * (r * r) * r;
}

// What a logarithm is where its argument is not a positive finite number.
fn log_special(x: f32, result: f32) -> f32 {
    let bits = bitcast<u32>(x);
    if ((bits & 0x7fffffffu) == 0u) {
        return f32_of_bits(0xff800000u);
    }
    if (bits >= 0x7f800000u) {
        return select(nan(), x, bits == 0x7f800000u);
    }
    return result;
}

fn log_f32(x: f32) -> f32 {
    let s = split_log(x);
    let y = (s.y * -2.1219444e-4 + log_tail(s.x)) - 0.5 * (s.x * s.x);
    return log_special(x, s.y * 0.693359375 + (s.x + y));
}

fn log2_f32(x: f32) -> f32 {
    let s = split_log(x);
    let y = log_tail(s.x) - 0.5 * (s.x * s.x);
    let z = s.x * 0.44269504 + y * 0.44269504;
    return log_special(x, ((z + y) + s.x) + s.y);
}

fn log1p_f32(x: f32) -> f32 {
    let u = opaque(1.0 + x);
    // What rounding took from `1 + x`, to first order.
    // Devices need not divide by numbers beyond 2^126; there it is nothing.
    let result = log_f32(u) * select(x / (u - 1.0), 1.0, abs(x) > 1.0e9);
    let is_inf = bitcast<u32>(u) == 0x7f800000u;
    return select(select(result, x, u == 1.0 || is_inf || is_nan(x)), f32_of_bits(0xff800000u), u == 0.0);
}

fn tanh_f32(x: f32) -> f32 {
    let z = x * x;
    let p = (((-5.7049887e-3 * z + 2.0639089e-2) * z - 5.3739715e-2) * z + 1.3331442e-1) * z - 3.3333282e-1;
    let small = p * z * x + x;
    let large = 1.0 - 2.0 / (exp_f32(2.0 * abs(x)) + 1.0);
    return select(select(with_sign(large, x), small, abs(x) < 0.625), x, is_nan(x));
}

fn sinh_f32(x: f32) -> f32 {
    let a = abs(x);
    let z = x * x;
    let small = (((2.8062803e-6 * z + 1.9838102e-4) * z + 8.3333397e-3) * z + 0.16666667) * z * x + x;
    // Half the argument, squared: the exponential itself would overflow too early.
    let t = exp_f32(0.5 * a);
    let middle = 0.5 * (exp_f32(a) - exp_f32(-a));
    let large = select(middle, (0.5 * t) * t, a > 80.0);
    return select(select(with_sign(large, x), small, a < 1.0), x, is_nan(x));
}

fn cosh_f32(x: f32) -> f32 {
    let a = abs(x);
    let t = exp_f32(0.5 * a);
    let middle = 0.5 * (exp_f32(a) + exp_f32(-a));
    return select(select(middle, (0.5 * t) * t, a > 80.0), x, is_nan(x));
}

// After N. Juffa: near zero a polynomial, elsewhere one minus the exponential of one.
fn erf_f32(x: f32) -> f32 {
    let t = abs(x);
    let s = x * x;
    let b = min(t, 4.0);
    let q = ((((-1.7285347e-5 * b + 3.83197e-4) * b - 3.8839644e-3) * b + 2.4254622e-2) * b - 1.0677788e-1) * b - 6.3484687e-1;
    let large = 1.0 - exp_f32((q * b - 1.2871741e-1) * b - b);
    let p = (((-5.9676167e-4 * s + 4.991192e-3) * s - 2.6768135e-2) * s + 1.1281992e-1) * s - 3.7612533e-1;
    let small = (p * s + 1.2837917e-1) * x + x;
    return select(select(small, with_sign(large, x), t > 0.92773440), x, is_nan(x));
}

// g in erfc(a / sqrt 2) = exp(-a^2 / 2) g(q) / (1 + sqrt(2) a) with q = (a - 4) / (a + 4), for 0 <= a <= 14.6.
fn erfc_shape(q: f32) -> f32 {
    let g0 = ((((-2.111195e-4 * q - 1.3083099e-4) * q + 2.1014402e-3) * q - 1.3932263e-3) * q - 1.4570376e-2) * q + 5.777942e-2;
    return ((((g0 * q - 1.1663759e-1) * q + 1.402971e-1) * q - 6.3442267e-2) * q - 1.3235661e-1) * q + 1.2569557;
}

// 1 - erf(x), accurate in the tail too: with a = sqrt(2) x.
fn erfc_f32(x: f32) -> f32 {
    let a = min(abs(x), 10.3);
    let square = two_product(a, a);
    let sum = a + 2.8284271;
    let slope = a * 2.0 + 1.0;
    let inverse = 1.0 / (sum * slope);
    let g = erfc_shape((a - 2.8284271) * (slope * inverse)) * (sum * inverse);
    let tail = (g - g * square.y) * exp_f32(-square.x);
    return select(select(tail, 2.0 - tail, x < 0.0), x, is_nan(x));
}

// x * erfc(-x / sqrt 2) / 2, accurate in the negative tail too.
fn gelu_f32(x: f32) -> f32 {
    let a = min(abs(x), 14.6);
    let square = two_product(a, a);
    let sum = a + 4.0;
    let slope = a * 1.41421356 + 1.0;
    let inverse = 1.0 / (sum * slope);
    let g = erfc_shape((a - 4.0) * (slope * inverse));
    let e0 = exp_f32(-0.5 * square.x);
    let e = e0 * (1.0 - 0.5 * square.y);
    let half_erfc = 0.5 * g * (sum * inverse);
    let result = select(x - x * (half_erfc * e), x * half_erfc * e, x < 0.0);
    let special = is_nan(x) || bitcast<u32>(x) == 0x7f800000u;
    return select(select(result, x, special), 0.0, bitcast<u32>(x) == 0xff800000u);
}

// The bits of 2 / pi from a word on; enough for every f32.
fn two_over_pi(word: u32) -> u32 {
    var digits = array<u32, 8>(0u, 0xa2f9836eu, 0x4e441529u, 0xfc2757d1u, 0xf534ddc0u, 0xdb629599u, 0x3c439041u, 0xfe5163abu);
    return digits[min(word, 7u)];
}

fn two_over_pi_at(bit: u32) -> u32 {
    let word = bit >> 5u;
    let shift = bit & 31u;
    let low = select(two_over_pi(word + 1u) >> ((32u - shift) & 31u), 0u, shift == 0u);
    return (two_over_pi(word) << shift) | low;
}

// x = n pi / 2 + r with |r| <= pi / 4; gives r and n mod 4. For finite x.
fn reduce_circle(x: f32) -> vec2<f32> {
    if (abs(x) < 12000.0) {
        let n = round(x * 0.63661977);
        let r = ((x - n * 1.5703125) - n * 4.83751297e-4) - n * 7.54978995e-8;
        return vec2<f32>(r, f32(i32(n) & 3));
    }
    // The digits of x * 2 / pi around the point: 24 bits of x times 96 bits of 2 / pi, of which the first 2 + 62 matter.
    let bits = bitcast<u32>(x);
    let m = (bits & 0x007fffffu) | 0x00800000u;
    let exponent = (bits >> 23u) & 0xffu; // x = m * 2^(exponent - 150)
    // Digits from here on weigh m's product at 2^1 (two bits before the point) or less.
    let first = exponent - 120u;
    let low = wide_product(m, two_over_pi_at(first + 64u));
    let middle = wide_product(m, two_over_pi_at(first + 32u));
    let high = m * two_over_pi_at(first);
    let f1 = middle.x + low.y;
    let f0 = high + middle.y + select(0u, 1u, f1 < middle.x);
    // f0.f1 is a fixed-point number with two bits before the point; to the nearest whole.
    let n = (f0 + 0x20000000u) >> 30u;
    var r0 = f0 - (n << 30u);
    var r1 = f1;
    let negative = (r0 & 0x80000000u) != 0u;
    if (negative) {
        r1 = 0u - r1;
        r0 = ~r0 + select(0u, 1u, r1 == 0u);
    }
    // Two floats hold its first 48 bits.
    let zeros = countLeadingZeros(r0);
    let shift = min(zeros, 31u);
    let a = select((r0 << shift) | (r1 >> ((32u - shift) & 31u)), r0, shift == 0u);
    let b = r1 << shift;
    let unit = power_of_two(-30 - i32(shift));
    let top = f32(a & 0xffffff00u) * unit;
    let rest = (f32(a & 0xffu) + f32(b >> 8u) * 5.9604645e-8) * unit;
    let r = top * 1.5707964 + (top * -4.371139e-8 + rest * 1.5707964);
    // 2^-30 of a quarter turn's fraction is what the unit stands for.
    let signed = select(r, -r, negative);
    if ((bits & 0x80000000u) != 0u) {
        return vec2<f32>(-signed, f32((4u - (n & 3u)) & 3u));
    }
    return vec2<f32>(signed, f32(n & 3u));
}

fn sin_reduced(r: f32) -> f32 {
    let z = r * r;
    return ((-1.9515296e-4 * z + 8.332161e-3) * z - 1.6666655e-1) * z * r + r;
}

fn cos_reduced(r: f32) -> f32 {
    let z = r * r;
    return ((2.4433157e-5 * z - 1.3887316e-3) * z + 4.1666646e-2) * z * z + (1.0 - 0.5 * z);
}

fn sin_f32(x: f32) -> f32 {
    if (!is_finite(x)) {
        return nan();
    }
    let c = reduce_circle(x);
    let n = u32(c.y);
    let y = select(sin_reduced(c.x), cos_reduced(c.x), (n & 1u) != 0u);
    return select(select(y, -y, (n & 2u) != 0u), x, x == 0.0);
}

fn cos_f32(x: f32) -> f32 {
    if (!is_finite(x)) {
        return nan();
    }
    let c = reduce_circle(x);
    let n = u32(c.y);
    let y = select(cos_reduced(c.x), sin_reduced(c.x), (n & 1u) != 0u);
    return select(y, -y, n == 1u || n == 2u);
}

fn tan_f32(x: f32) -> f32 {
    if (!is_finite(x)) {
        return nan();
    }
    let c = reduce_circle(x);
    let s = sin_reduced(c.x);
    let k = cos_reduced(c.x);
    return select(select(s / k, -k / s, (u32(c.y) & 1u) != 0u), x, x == 0.0);
}

// For 0 <= x <= 1/2.
fn asin_reduced(x: f32) -> f32 {
    let z = x * x;
    let p = ((((3.3700726e-2 * z + 1.7143717e-2) * z + 3.1101728e-2) * z + 4.4599319e-2) * z + 7.5000948e-2) * z + 0.16666666;
    return p * z * x + x;
}

fn asin_f32(x: f32) -> f32 {
    let a = abs(x);
    let r = select(asin_reduced(a), 1.5707964 - 2.0 * asin_reduced(sqrt(0.5 * max(1.0 - a, 0.0))), a > 0.5);
    return select(with_sign(r, x), nan(), a > 1.0 || is_nan(x));
}

fn acos_f32(x: f32) -> f32 {
    let a = abs(x);
    let edge = 2.0 * asin_reduced(sqrt(0.5 * max(1.0 - a, 0.0)));
    let middle = (1.5707964 - with_sign(asin_reduced(a), x)) - 4.371139e-8;
    let r = select(middle, select(edge, 3.1415927 - edge, x < 0.0), a > 0.5);
    return select(r, nan(), a > 1.0 || is_nan(x));
}

// atan(y / x) for y >= 0, x >= 0, not both zero; infinities are the caller's.
fn atan_quotient(y: f32, x: f32) -> f32 {
    let swap = y > x;
    let t = select(y, x, swap) / select(x, y, swap); // 0 .. 1
    let far = t > 0.41421356;
    let u = select(t, (t - 1.0) / (t + 1.0), far);
    let z = u * u;
    let p = (((-6.4503774e-2 * z + 0.10743263) * z - 0.14263912) * z + 0.19999539) * z - 0.33333332;
    let near = p * z * u + u;
    let r = select(near, 0.78539819 + (near - 2.1855695e-8), far);
    return select(r, 1.5707964 - (r + 4.371139e-8), swap);
}

fn atan_f32(x: f32) -> f32 {
    let a = abs(x);
    let r = select(atan_quotient(a, 1.0), 1.5707964, a > 1.0e30);
    return select(with_sign(r, x), x, is_nan(x));
}

fn atan2_f32(y: f32, x: f32) -> f32 {
    if (is_nan(x) || is_nan(y)) {
        return nan();
    }
    let left = (bitcast<u32>(x) & 0x80000000u) != 0u;
    let ax = abs(x);
    let ay = abs(y);
    var r: f32;
    if (ax == 0.0 && ay == 0.0) {
        r = 0.0;
    } else if (!is_finite(ax) && !is_finite(ay)) {
        r = 0.78539819;
    } else if (!is_finite(ax)) {
        r = 0.0;
    } else if (!is_finite(ay)) {
        r = 1.5707964;
    } else {
        // Both scaled, so that the division neither flushes nor overflows.
        let s = select(1.0, 5.9604645e-8, max(ax, ay) > 1.0e30) * select(1.0, 16777216.0, max(ax, ay) < 1.0e-30);
        r = atan_quotient(ay * s, ax * s);
    }
    let turned = select(r, (3.1415927 - r) - 8.742278e-8, left);
    return with_sign(turned, y);
}

// a * b exactly, as a sum of two.
fn two_product(a: f32, b: f32) -> vec2<f32> {
    let ah = bitcast<f32>(bitcast<u32>(a) & 0xfffff000u);
    let bh = bitcast<f32>(bitcast<u32>(b) & 0xfffff000u);
    let al = a - ah;
    let bl = b - bh;
    let p = opaque(a * b);
    return vec2<f32>(p, ((ah * bh - p) + ah * bl + al * bh) + al * bl);
}

// a + b as a sum of two, for |a| >= |b|.
fn two_sum(a: f32, b: f32) -> vec2<f32> {
    let s = opaque(a + b);
    return vec2<f32>(s, b - (s - a));
}

fn pair_product(a: vec2<f32>, b: vec2<f32>) -> vec2<f32> {
    let p = two_product(a.x, b.x);
    return two_sum(p.x, p.y + (a.x * b.y + a.y * b.x));
}

// log2 of a positive finite number to some 40 bits, as a sum of two.
fn log2_pair(x: f32) -> vec2<f32> {
    let s = split_log(x);
    // log2(1 + r) = 2 / ln 2 * atanh(t) with t = r / (2 + r)
    let d = two_sum(2.0, s.x);
    let q = s.x / d.x;
    let back = two_product(q, d.x);
    let t = two_sum(q, (((s.x - back.x) - back.y) - q * d.y) / d.x);
    let z = pair_product(t, t);
    let third = pair_product(z, vec2<f32>(0.33333334, -9.934108e-9));
    let tail = ((0.11524982 * z.x + 0.14281099) * z.x + 0.20000008) * (z.x * z.x);
    let sum = two_sum(1.0, third.x);
    let series = two_sum(sum.x, (sum.y + third.y) + tail);
    let l = pair_product(pair_product(t, series), vec2<f32>(2.8853900, 3.851926e-8));
    let whole = two_sum(s.y, l.x);
    let ordered = select(two_sum(l.x, s.y), whole, abs(s.y) >= abs(l.x));
    return two_sum(ordered.x, ordered.y + l.y);
}

fn pow_f32(x: f32, y: f32) -> f32 {
    if (y == 0.0 || x == 1.0) {
        return 1.0;
    }
    if (is_nan(x) || is_nan(y)) {
        return nan();
    }
    let a = abs(x);
    let large = abs(y) >= 16777216.0;
    let whole = large || trunc(y) == y;
    let odd = whole && !large && (i32(select(y, 0.0, large)) & 1) != 0;
    let flip = odd && (bitcast<u32>(x) & 0x80000000u) != 0u;
    if (x < 0.0 && !whole && is_finite(x)) {
        return nan();
    }
    var r: f32;
    if (a == 1.0) {
        r = 1.0;
    } else if (a == 0.0 || !is_finite(a) || !is_finite(y)) {
        r = select(0.0, inf(), (a > 1.0) == (y > 0.0));
    } else {
        let l = log2_pair(a);
        let rough = y * l.x;
        if (rough > 200.0) {
            r = inf();
        } else if (rough < -200.0) {
            r = 0.0;
        } else {
            // Large exponents meet small logarithms; scaled, so that no part of the product overflows.
            let p = two_product(y * 5.9604645e-8, l.x);
            let high = p.x * 16777216.0;
            let n = round(high);
            r = exp2_parts(clamp(n, -160.0, 160.0), (high - n) + (p.y * 16777216.0 + y * l.y));
        }
    }
    return select(r, -r, flip);
}

// The remainder of truncated division, exactly: bit by bit.
fn fmod_f32(x: f32, y: f32) -> f32 {
    let b = bitcast<u32>(y) & 0x7fffffffu;
    let a = bitcast<u32>(x) & 0x7fffffffu;
    if (b == 0u || b > 0x7f800000u || a >= 0x7f800000u) {
        return nan();
    }
    if (a < b) {
        return x;
    }
    // Mantissas and exponents, also of numbers below the normal ones.
    let ea = max(a >> 23u, 1u);
    let eb = max(b >> 23u, 1u);
    var m = select((a & 0x007fffffu) | 0x00800000u, a, a < 0x00800000u);
    let d = select((b & 0x007fffffu) | 0x00800000u, b, b < 0x00800000u);
    var left = ea - eb;
    m = m % d;
    while (left > 0u && m != 0u) {
        let step = min(left, 8u);
        m = (m << step) % d;
        left = left - step;
    }
    if (m == 0u) {
        return bitcast<f32>(bitcast<u32>(x) & 0x80000000u);
    }
    // Put the leading bit back at 23, as far as the exponent goes.
    let shift = min(countLeadingZeros(m) - 8u, eb - 1u);
    let e = select(eb - shift, 0u, (m << shift) < 0x00800000u);
    return bitcast<f32>((bitcast<u32>(x) & 0x80000000u) | (e << 23u) | ((m << shift) & 0x007fffffu));
}

fn rem_f32(a: f32, b: f32) -> f32 {
    let r = fmod_f32(a, b);
    return select(r, r + b, r != 0.0 && !is_nan(r) && (r < 0.0) != (b < 0.0));
}

// Division rounded down, from the remainder, which is exact. The division may have rounded a whole number down.
fn idiv_f32(a: f32, b: f32) -> f32 {
    if ((bitcast<u32>(b) & 0x7fffffffu) == 0u) {
        return a / b;
    }
    let r = fmod_f32(a, b);
    if (is_nan(r)) {
        return nan();
    }
    let q = (a - r) / b - select(0.0, 1.0, r != 0.0 && (r < 0.0) != (b < 0.0));
    let f = floor(q);
    let zero = bitcast<f32>((bitcast<u32>(a) ^ bitcast<u32>(b)) & 0x80000000u);
    return select(select(f, f + 1.0, q - f > 0.5), zero, q == 0.0);
}

// x truncated to a signed integer, saturated, NaN is 0.
fn i32_of_f32(x: f32) -> i32 {
    let bits = bitcast<u32>(x);
    if ((bits & 0x7fffffffu) < 0x4f000000u) {
        return i32(x);
    }
    let saturated = select(2147483647i, -2147483647i - 1i, bits >= 0x80000000u);
    return select(saturated, 0i, is_nan(x));
}

// As above, unsigned: negative numbers are 0.
fn u32_of_f32(x: f32) -> u32 {
    let bits = bitcast<u32>(x);
    if (bits < 0x4f800000u) {
        return u32(x);
    }
    return select(0xffffffffu, 0u, bits > 0x7f800000u);
}

// x as the two words of a 64-bit signed integer: truncated, saturated, NaN is 0.
fn words_of_f32(x: f32) -> vec2<u32> {
    let bits = bitcast<u32>(x);
    let exponent = (bits >> 23u) & 0xffu;
    let negative = (bits & 0x80000000u) != 0u;
    if (exponent >= 190u) {
        let saturated = select(vec2<u32>(0xffffffffu, 0x7fffffffu), vec2<u32>(0u, 0x80000000u), negative);
        return select(saturated, vec2<u32>(0u, 0u), is_nan(x));
    }
    let w = magnitude_words(bits);
    let carry = select(0u, 1u, w.x == 0u);
    return select(w, vec2<u32>(0u - w.x, ~w.y + carry), negative);
}

// As above, unsigned: negative numbers are 0.
fn unsigned_words_of_f32(x: f32) -> vec2<u32> {
    let bits = bitcast<u32>(x);
    if (bits >= 0x80000000u || bits > 0x7f800000u) {
        return vec2<u32>(0u, 0u);
    }
    if (bits >= 0x5f800000u) {
        return vec2<u32>(0xffffffffu, 0xffffffffu);
    }
    return magnitude_words(bits);
}

// The whole part of a float with these bits, without its sign; below 2^64.
fn magnitude_words(bits: u32) -> vec2<u32> {
    let exponent = (bits >> 23u) & 0xffu;
    let m = (bits & 0x007fffffu) | 0x00800000u;
    if (exponent < 127u) {
        return vec2<u32>(0u, 0u);
    }
    if (exponent <= 150u) {
        return vec2<u32>(m >> (150u - exponent), 0u);
    }
    let shift = exponent - 150u; // 1 ..= 40
    if (shift >= 32u) {
        return vec2<u32>(0u, m << (shift - 32u));
    }
    return vec2<u32>(m << shift, m >> (32u - shift));
}

// The 64-bit product of two 32-bit numbers: lower word, upper word.
fn wide_product(a: u32, b: u32) -> vec2<u32> {
    let a0 = a & 0xffffu;
    let a1 = a >> 16u;
    let b0 = b & 0xffffu;
    let b1 = b >> 16u;
    let p00 = a0 * b0;
    let p01 = a0 * b1;
    let p10 = a1 * b0;
    let middle = (p00 >> 16u) + (p01 & 0xffffu) + (p10 & 0xffffu);
    return vec2<u32>((p00 & 0xffffu) | (middle << 16u), a1 * b1 + (p01 >> 16u) + (p10 >> 16u) + (middle >> 16u));
}
