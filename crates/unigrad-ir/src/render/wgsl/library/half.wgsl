// The half types as their bits in the lower 16 of a u32; conversions to and from f32, rounded to nearest, ties to even.

fn f32_of_f16(bits: u32) -> f32 {
    let s = (bits & 0x8000u) << 16u;
    let a = bits & 0x7fffu;
    if (a >= 0x7c00u) {
        return bitcast<f32>(s | 0x7f800000u | ((a & 0x3ffu) << 13u));
    }
    if (a < 0x0400u) {
        // Below the normal numbers: a whole number of 2^-24.
        return bitcast<f32>(s | bitcast<u32>(f32(a) * 5.9604645e-8));
    }
    return bitcast<f32>(s | ((a << 13u) + 0x38000000u));
}

fn f16_of_f32(x: f32) -> u32 {
    let bits = bitcast<u32>(x);
    let s = (bits >> 16u) & 0x8000u;
    let a = bits & 0x7fffffffu;
    if (a > 0x7f800000u) {
        return s | 0x7e00u | ((a >> 13u) & 0x3ffu);
    }
    if (a >= 0x477ff000u) {
        return s | 0x7c00u;
    }
    if (a < 0x38800000u) {
        if (a <= 0x33000000u) {
            return s;
        }
        let m = (a & 0x007fffffu) | 0x00800000u;
        let shift = 126u - (a >> 23u);
        let q = m >> shift;
        let rest = m & ((1u << shift) - 1u);
        let half = 1u << (shift - 1u);
        return s | (q + select(0u, 1u, rest > half || (rest == half && (q & 1u) == 1u)));
    }
    let r = a - 0x38000000u;
    return s | ((r + 0xfffu + ((r >> 13u) & 1u)) >> 13u);
}

fn f32_of_bf16(bits: u32) -> f32 {
    return bitcast<f32>(bits << 16u);
}

fn bf16_of_f32(x: f32) -> u32 {
    let bits = bitcast<u32>(x);
    if ((bits & 0x7fffffffu) > 0x7f800000u) {
        return (bits >> 16u) | 0x40u;
    }
    return (bits + 0x7fffu + ((bits >> 16u) & 1u)) >> 16u;
}
