// The half types as their bits in the lower 16 of a u32, or two in a word, the first one below; conversions to and from f32, rounded to nearest, ties to even.

fn f32_of_f16(bits: u32) -> f32 {
    return unpack2x16float(bits).x;
}

// Without branches: rounded as a normal number, then as one below them, of which the right one is taken.
fn f16_of_f32(x: f32) -> u32 {
    let bits = bitcast<u32>(x);
    let a = bits & 0x7fffffffu;
    // What is larger than all f16 rounds to infinity, and is cut off so that no bit passes the exponent.
    let b = min(a, 0x47800000u);
    let normal = (b - 0x38000000u + 0xfffu + ((b >> 13u) & 1u)) >> 13u;
    // The last place of a sum with 1/2 is 2^-24, and so is that of an f16 below the normal ones.
    let small = bitcast<u32>(bitcast<f32>(b) + 0.5) - 0x3f000000u;
    let number = select(normal, small, a < 0x38800000u);
    return ((bits >> 16u) & 0x8000u) | select(number, 0x7e00u | ((a >> 13u) & 0x3ffu), a > 0x7f800000u);
}

fn f16_pair(x: f32, y: f32) -> u32 {
    return f16_of_f32(x) | (f16_of_f32(y) << 16u);
}

fn f32_of_bf16(bits: u32) -> f32 {
    return bitcast<f32>(bits << 16u);
}

// The upper 16 bits are the bf16.
fn rounded_to_bf16(x: f32) -> u32 {
    let bits = bitcast<u32>(x);
    let number = bits + (0x7fffu + ((bits >> 16u) & 1u));
    return select(number, 0x7fc00000u, (bits & 0x7fffffffu) > 0x7f800000u);
}

fn bf16_of_f32(x: f32) -> u32 {
    return rounded_to_bf16(x) >> 16u;
}

fn bf16_pair(x: f32, y: f32) -> u32 {
    return (rounded_to_bf16(x) >> 16u) | (rounded_to_bf16(y) & 0xffff0000u);
}
