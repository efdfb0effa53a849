// f64 where the device has it: what operators and the few built-in functions do not say.

// A quotient made when the program runs, so that it may be infinite or no number.
fn quotient_f64(a: f64, b: f64) -> f64 {
    return a / b;
}

// x itself, in a way that compilers do not see. Word 4 of the parameters is 0.
fn opaque_f64(x: f64) -> f64 {
    return x - f64(params[1].x);
}

fn max_f64(a: f64, b: f64) -> f64 {
    return select(select(b, a, a > b), select(b, a, is_nan_f64(a)), is_nan_f64(a) || is_nan_f64(b));
}

fn min_f64(a: f64, b: f64) -> f64 {
    return select(select(b, a, a < b), select(b, a, is_nan_f64(a)), is_nan_f64(a) || is_nan_f64(b));
}

fn sign_f64(x: f64) -> f64 {
    return select(select(0.0lf, -1.0lf, x < 0.0lf), 1.0lf, x > 0.0lf);
}

fn relu_f64(x: f64) -> f64 {
    return select(0.0lf, x, x > 0.0lf || is_nan_f64(x));
}

fn f64_of_words(w: vec2<u32>) -> f64 {
    return f64(w.y) * 4294967296.0lf + f64(w.x);
}

fn f64_of_i64_words(w: vec2<u32>) -> f64 {
    return f64(bitcast<i32>(w.y)) * 4294967296.0lf + f64(w.x);
}

// The whole part of 0 <= x < 2^64.
fn magnitude_words_f64(x: f64) -> vec2<u32> {
    let high = floor(x * 2.3283064365386963e-10lf);
    return vec2<u32>(u32(floor(x - high * 4294967296.0lf)), u32(high));
}

// x as the two words of a 64-bit signed integer: truncated, saturated, NaN is 0.
fn words_of_f64(x: f64) -> vec2<u32> {
    let a = abs(x);
    if (a < 9223372036854775808.0lf) {
        let w = magnitude_words_f64(a);
        return select(w, vec2<u32>(0u - w.x, ~w.y + select(0u, 1u, w.x == 0u)), x < 0.0lf);
    }
    let saturated = select(vec2<u32>(0xffffffffu, 0x7fffffffu), vec2<u32>(0u, 0x80000000u), x < 0.0lf);
    return select(saturated, vec2<u32>(0u, 0u), is_nan_f64(x));
}

// As above, unsigned: negative numbers are 0.
fn unsigned_words_of_f64(x: f64) -> vec2<u32> {
    if (x < 18446744073709551616.0lf) {
        return magnitude_words_f64(max(x, 0.0lf));
    }
    return select(vec2<u32>(0xffffffffu, 0xffffffffu), vec2<u32>(0u, 0u), is_nan_f64(x));
}

// x truncated to a signed integer, saturated, NaN is 0.
fn i32_of_f64(x: f64) -> i32 {
    return select(bitcast<i32>(words_of_f64(min(max(x, -2147483648.0lf), 2147483647.0lf)).x), 0i, is_nan_f64(x));
}

// As above, unsigned: negative numbers are 0.
fn u32_of_f64(x: f64) -> u32 {
    return select(words_of_f64(min(max(x, 0.0lf), 4294967295.0lf)).x, 0u, is_nan_f64(x));
}

// x as an f32 whose last bit tells whether anything was cut off: what is rounded once more then is rounded right.
fn f32_sticky(x: f64) -> f32 {
    let near = f32(x);
    let back = f64(near);
    let bits = bitcast<u32>(near);
    let finite = (bits & 0x7f800000u) != 0x7f800000u;
    let toward_zero = select(bits, bits - 1u, abs(back) > abs(x));
    return bitcast<f32>(select(bits, toward_zero | 1u, finite && back != x));
}

// Toward zero; built on what drivers get right for 64 bits.
fn trunc_f64(x: f64) -> f64 {
    return select(floor(x), ceil(x), x < 0.0lf);
}

// To the nearest whole number, ties to even.
fn round_f64(x: f64) -> f64 {
    let low = floor(x);
    let rest = x - low;
    let odd = floor(low * 0.5lf) * 2.0lf != low;
    return select(low, low + 1.0lf, rest > 0.5lf || (rest == 0.5lf && odd));
}
