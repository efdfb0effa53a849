// Integers of up to 32 bits: division towards negative infinity and by zero, shifts by any count, powers.

fn shl_u32(a: u32, b: u32) -> u32 {
    return select(a << (b & 31u), 0u, b >= 32u);
}

fn shr_u32(a: u32, b: u32) -> u32 {
    return select(a >> (b & 31u), 0u, b >= 32u);
}

fn shr_i32(a: i32, b: u32) -> i32 {
    return a >> min(b, 31u);
}

fn idiv_u32(a: u32, b: u32) -> u32 {
    return select(a / max(b, 1u), 0u, b == 0u);
}

fn rem_u32(a: u32, b: u32) -> u32 {
    return select(a % max(b, 1u), 0u, b == 0u);
}

// The quotient of magnitudes avoids the one that overflows.
fn idiv_i32(a: i32, b: i32) -> i32 {
    let ua = select(bitcast<u32>(a), 0u - bitcast<u32>(a), a < 0);
    let ub = select(bitcast<u32>(b), 0u - bitcast<u32>(b), b < 0);
    if (ub == 0u) {
        return 0;
    }
    let q = ua / ub;
    let down = select(0u, 1u, q * ub != ua);
    return bitcast<i32>(select(q, 0u - (q + down), (a < 0) != (b < 0)));
}

fn rem_i32(a: i32, b: i32) -> i32 {
    let ua = select(bitcast<u32>(a), 0u - bitcast<u32>(a), a < 0);
    let ub = select(bitcast<u32>(b), 0u - bitcast<u32>(b), b < 0);
    if (ub == 0u) {
        return 0;
    }
    let r = ua % ub;
    let signed = select(bitcast<i32>(r), bitcast<i32>(0u - r), a < 0);
    return select(signed, signed + b, r != 0u && (a < 0) != (b < 0));
}

fn pow_u32(a: u32, b: u32) -> u32 {
    var base = a;
    var left = b;
    var result = 1u;
    while (left != 0u) {
        if ((left & 1u) != 0u) {
            result = result * base;
        }
        base = base * base;
        left = left >> 1u;
    }
    return result;
}

fn pow_i32(a: i32, b: i32) -> i32 {
    if (b < 0) {
        let odd = (b & 1) != 0;
        return select(select(0, select(1, -1, odd), a == -1), 1, a == 1);
    }
    return bitcast<i32>(pow_u32(bitcast<u32>(a), bitcast<u32>(b)));
}
