// 64-bit integers where the device has them: what operators do not say.

fn i64_of_words(w: vec2<u32>) -> i64 {
    return bitcast<i64>(u64(w.x) | (u64(w.y) << 32u));
}

fn u64_of_words(w: vec2<u32>) -> u64 {
    return u64(w.x) | (u64(w.y) << 32u);
}

fn words_of_u64(a: u64) -> vec2<u32> {
    return vec2<u32>(u32(a & 4294967295lu), u32(a >> 32u));
}

fn words_of_i64(a: i64) -> vec2<u32> {
    return words_of_u64(bitcast<u64>(a));
}

fn max_u64(a: u64, b: u64) -> u64 {
    return select(a, b, a < b);
}

fn max_i64(a: i64, b: i64) -> i64 {
    return select(a, b, a < b);
}

fn min_u64(a: u64, b: u64) -> u64 {
    return select(b, a, a < b);
}

fn min_i64(a: i64, b: i64) -> i64 {
    return select(b, a, a < b);
}

fn abs_i64(a: i64) -> i64 {
    return select(a, 0li - a, a < 0li);
}

fn sign_i64(a: i64) -> i64 {
    return select(select(0li, 1li, a > 0li), -1li, a < 0li);
}

fn sign_u64(a: u64) -> u64 {
    return select(0lu, 1lu, a != 0lu);
}

fn relu_i64(a: i64) -> i64 {
    return select(a, 0li, a < 0li);
}

fn shl_u64(a: u64, b: u64) -> u64 {
    return select(a << u32(b & 63lu), 0lu, b >= 64lu);
}

fn shl_i64(a: i64, b: i64) -> i64 {
    return bitcast<i64>(shl_u64(bitcast<u64>(a), bitcast<u64>(b)));
}

fn shr_u64(a: u64, b: u64) -> u64 {
    return select(a >> u32(b & 63lu), 0lu, b >= 64lu);
}

fn shr_i64(a: i64, b: i64) -> i64 {
    let n = bitcast<u64>(b);
    return a >> select(u32(n & 63lu), 63u, n >= 64lu);
}

fn magnitude_i64(a: i64) -> u64 {
    return bitcast<u64>(select(a, 0li - a, a < 0li));
}

fn idiv_u64(a: u64, b: u64) -> u64 {
    if (b == 0lu) {
        return b;
    }
    return a / b;
}

fn rem_u64(a: u64, b: u64) -> u64 {
    if (b == 0lu) {
        return b;
    }
    return a % b;
}

// The quotient of magnitudes avoids the one that overflows.
fn idiv_i64(a: i64, b: i64) -> i64 {
    if (b == 0li) {
        return b;
    }
    let ua = magnitude_i64(a);
    let ub = magnitude_i64(b);
    let q = ua / ub;
    let down = select(0lu, 1lu, q * ub != ua);
    return bitcast<i64>(select(q, 0lu - (q + down), (a < 0li) != (b < 0li)));
}

fn rem_i64(a: i64, b: i64) -> i64 {
    if (b == 0li) {
        return b;
    }
    let r = bitcast<i64>(magnitude_i64(a) % magnitude_i64(b));
    let signed = select(r, 0li - r, a < 0li);
    return select(signed, signed + b, r != 0li && (a < 0li) != (b < 0li));
}

fn pow_u64(a: u64, b: u64) -> u64 {
    var base = a;
    var left = b;
    var result = 1lu;
    while (left != 0lu) {
        if ((left & 1lu) != 0lu) {
            result = result * base;
        }
        base = base * base;
        left = left >> 1u;
    }
    return result;
}

fn pow_i64(a: i64, b: i64) -> i64 {
    if (b < 0li) {
        let odd = (b & 1li) != 0li;
        return select(select(0li, select(1li, -1li, odd), a == -1li), 1li, a == 1li);
    }
    return bitcast<i64>(pow_u64(bitcast<u64>(a), bitcast<u64>(b)));
}

fn f32_of_u64(a: u64) -> f32 {
    return f32(a);
}

fn f32_of_i64(a: i64) -> f32 {
    return f32(a);
}

// By bits, since compilers may assume that there is no NaN.
fn is_nan_f64(x: f64) -> bool {
    return (bitcast<u64>(x) & 0x7ffffffffffffffflu) > 0x7ff0000000000000lu;
}

fn is_finite_f64(x: f64) -> bool {
    return (bitcast<u64>(x) & 0x7ff0000000000000lu) != 0x7ff0000000000000lu;
}
