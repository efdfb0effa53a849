// 64-bit integers where the device has none: lower word, upper word. Signed and unsigned share what does not depend on the sign.

fn add_64(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
    let low = a.x + b.x;
    return vec2<u32>(low, a.y + b.y + select(0u, 1u, low < a.x));
}

fn sub_64(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
    return vec2<u32>(a.x - b.x, a.y - b.y - select(0u, 1u, a.x < b.x));
}

fn neg_64(a: vec2<u32>) -> vec2<u32> {
    return vec2<u32>(0u - a.x, ~a.y + select(0u, 1u, a.x == 0u));
}

fn mul_64(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
    let p = wide_product(a.x, b.x);
    return vec2<u32>(p.x, p.y + a.x * b.y + a.y * b.x);
}

fn eq_64(a: vec2<u32>, b: vec2<u32>) -> bool {
    return a.x == b.x && a.y == b.y;
}

fn is_negative(a: vec2<u32>) -> bool {
    return (a.y & 0x80000000u) != 0u;
}

fn lt_u64(a: vec2<u32>, b: vec2<u32>) -> bool {
    return a.y < b.y || (a.y == b.y && a.x < b.x);
}

fn lt_i64(a: vec2<u32>, b: vec2<u32>) -> bool {
    return bitcast<i32>(a.y) < bitcast<i32>(b.y) || (a.y == b.y && a.x < b.x);
}

fn max_u64(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
    return select(a, b, lt_u64(a, b));
}

fn max_i64(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
    return select(a, b, lt_i64(a, b));
}

fn min_u64(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
    return select(b, a, lt_u64(a, b));
}

fn min_i64(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
    return select(b, a, lt_i64(a, b));
}

fn abs_i64(a: vec2<u32>) -> vec2<u32> {
    return select(a, neg_64(a), is_negative(a));
}

fn sign_i64(a: vec2<u32>) -> vec2<u32> {
    return select(vec2<u32>(select(0u, 1u, (a.x | a.y) != 0u), 0u), vec2<u32>(0xffffffffu, 0xffffffffu), is_negative(a));
}

fn sign_u64(a: vec2<u32>) -> vec2<u32> {
    return vec2<u32>(select(0u, 1u, (a.x | a.y) != 0u), 0u);
}

fn relu_i64(a: vec2<u32>) -> vec2<u32> {
    return select(a, vec2<u32>(0u, 0u), is_negative(a));
}

// A shift's count as one word; too much stays too much.
fn count_64(b: vec2<u32>) -> u32 {
    return select(min(b.x, 64u), 64u, b.y != 0u);
}

fn shl_64(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
    let n = count_64(b);
    if (n >= 32u) {
        return vec2<u32>(0u, select(a.x << (n & 31u), 0u, n >= 64u));
    }
    return vec2<u32>(a.x << n, (a.y << n) | select(a.x >> ((32u - n) & 31u), 0u, n == 0u));
}

fn shr_u64(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
    let n = count_64(b);
    if (n >= 32u) {
        return vec2<u32>(select(a.y >> (n & 31u), 0u, n >= 64u), 0u);
    }
    return vec2<u32>((a.x >> n) | select(a.y << ((32u - n) & 31u), 0u, n == 0u), a.y >> n);
}

fn shr_i64(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
    let n = count_64(b);
    let top = bitcast<i32>(a.y);
    let fill = bitcast<u32>(top >> 31u);
    if (n >= 32u) {
        return vec2<u32>(select(bitcast<u32>(top >> (n & 31u)), fill, n >= 64u), fill);
    }
    return vec2<u32>((a.x >> n) | select(a.y << ((32u - n) & 31u), 0u, n == 0u), bitcast<u32>(top >> n));
}

// Quotient in the first two words, remainder in the others; b is not 0.
fn divide_64(a: vec2<u32>, b: vec2<u32>) -> vec4<u32> {
    if (a.y == 0u && b.y == 0u) {
        return vec4<u32>(a.x / b.x, 0u, a.x % b.x, 0u);
    }
    var q = vec2<u32>(0u, 0u);
    var r = vec2<u32>(0u, 0u);
    var rest = a;
    for (var i = 0u; i < 64u; i = i + 1u) {
        let carried = (r.y & 0x80000000u) != 0u;
        r = vec2<u32>((r.x << 1u) | (rest.y >> 31u), (r.y << 1u) | (r.x >> 31u));
        rest = vec2<u32>(rest.x << 1u, (rest.y << 1u) | (rest.x >> 31u));
        q = vec2<u32>(q.x << 1u, (q.y << 1u) | (q.x >> 31u));
        if (carried || !lt_u64(r, b)) {
            r = sub_64(r, b);
            q.x = q.x | 1u;
        }
    }
    return vec4<u32>(q, r);
}

fn idiv_u64(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
    if ((b.x | b.y) == 0u) {
        return b;
    }
    return divide_64(a, b).xy;
}

fn rem_u64(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
    if ((b.x | b.y) == 0u) {
        return b;
    }
    return divide_64(a, b).zw;
}

fn idiv_i64(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
    if ((b.x | b.y) == 0u) {
        return b;
    }
    let d = divide_64(abs_i64(a), abs_i64(b));
    if (is_negative(a) == is_negative(b)) {
        return d.xy;
    }
    return neg_64(add_64(d.xy, vec2<u32>(select(0u, 1u, (d.z | d.w) != 0u), 0u)));
}

fn rem_i64(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
    if ((b.x | b.y) == 0u) {
        return b;
    }
    let r = divide_64(abs_i64(a), abs_i64(b)).zw;
    let signed = select(r, neg_64(r), is_negative(a));
    if ((r.x | r.y) == 0u || is_negative(a) == is_negative(b)) {
        return signed;
    }
    return add_64(signed, b);
}

fn pow_u64(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
    var base = a;
    var left = b;
    var result = vec2<u32>(1u, 0u);
    while ((left.x | left.y) != 0u) {
        if ((left.x & 1u) != 0u) {
            result = mul_64(result, base);
        }
        base = mul_64(base, base);
        left = vec2<u32>((left.x >> 1u) | (left.y << 31u), left.y >> 1u);
    }
    return result;
}

fn pow_i64(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
    if (!is_negative(b)) {
        return pow_u64(a, b);
    }
    if (a.x == 0xffffffffu && a.y == 0xffffffffu) {
        return select(vec2<u32>(1u, 0u), a, (b.x & 1u) != 0u);
    }
    return vec2<u32>(select(0u, 1u, a.x == 1u && a.y == 0u), 0u);
}

fn i64_of_words(w: vec2<u32>) -> vec2<u32> {
    return w;
}

fn u64_of_words(w: vec2<u32>) -> vec2<u32> {
    return w;
}

fn words_of_i64(a: vec2<u32>) -> vec2<u32> {
    return a;
}

fn words_of_u64(a: vec2<u32>) -> vec2<u32> {
    return a;
}

fn f32_of_u64(a: vec2<u32>) -> f32 {
    if (a.y == 0u) {
        return f32(a.x);
    }
    // The upper 32 bits from the first one on; whether anything is below them decides ties.
    let zeros = countLeadingZeros(a.y);
    let w = shl_64(a, vec2<u32>(zeros, 0u));
    return f32(w.y | select(0u, 1u, w.x != 0u)) * power_of_two(32 - i32(zeros));
}

fn f32_of_i64(a: vec2<u32>) -> f32 {
    let magnitude = f32_of_u64(abs_i64(a));
    return select(magnitude, -magnitude, is_negative(a));
}

// Without a 64-bit integer the bits of an f64 are out of reach.
fn is_nan_f64(x: f64) -> bool {
    return !(x <= 0.0lf) && !(x >= 0.0lf);
}

fn is_finite_f64(x: f64) -> bool {
    return abs(x) <= 1.7976931348623157e308lf;
}
