//! Arithmetic on columns of lanes: one instruction for every active thread.
//!
//! A lane is 64 bits: integers sign- or zero-extended, `Bool` 0 or 1, floats their bits. A column of length 1 is the same for all threads.
//! Always: an operation means what `unigrad-scalar` says; a float operation is computed so that its result, rounded to `F32`, is the one
//! that `F32` arithmetic gives.

use half::{bf16, f16};
use unigrad_scalar::{BinaryOp, DType, Literal, UnaryOp, round_to_odd};

use super::bytes::Bytes;

/// Which threads of a group take part.
#[derive(Clone, Copy, Debug)]
pub(super) enum Active<'a> {
    /// All, so many.
    All(usize),
    /// These, in order.
    Some(&'a [u32]),
}

impl Active<'_> {
    pub(super) fn count(self) -> usize {
        match self {
            Active::All(n) => n,
            Active::Some(list) => list.len(),
        }
    }

    /// The first of them.
    pub(super) fn first(self) -> usize {
        match self {
            Active::All(_) => 0,
            Active::Some(list) => list.first().map_or(0, |i| *i as usize),
        }
    }
}

/// Runs a body for each active thread; the body may use `?`.
macro_rules! each {
    ($active:expr, $i:ident => $body:expr) => {
        match $active {
            Active::All(n) => {
                for $i in 0..n {
                    $body
                }
            }
            Active::Some(list) => {
                for $i in list {
                    let $i = *$i as usize;
                    $body
                }
            }
        }
    };
}
pub(super) use each;

/// An argument.
#[derive(Clone, Copy, Debug)]
pub(super) struct Col<'a> {
    pub(super) data: &'a [u64],
    /// 0 if all threads have the same.
    pub(super) stride: usize,
}

impl Col<'_> {
    #[inline(always)]
    pub(super) fn at(self, i: usize) -> u64 {
        self.data[i * self.stride]
    }
}

#[inline(always)]
fn map1(active: Active<'_>, a: Col<'_>, out: &mut [u64], f: impl Fn(u64) -> u64) {
    match active {
        Active::All(n) if a.stride == 1 => out[..n].iter_mut().zip(&a.data[..n]).for_each(|(o, a)| *o = f(*a)),
        Active::All(n) => out[..n].fill(f(a.at(0))),
        Active::Some(list) => list.iter().for_each(|i| out[*i as usize] = f(a.at(*i as usize))),
    }
}

#[inline(always)]
fn map2(active: Active<'_>, a: Col<'_>, b: Col<'_>, out: &mut [u64], f: impl Fn(u64, u64) -> u64) {
    match active {
        Active::All(n) => match (a.stride, b.stride) {
            (1, 1) => out[..n].iter_mut().zip(&a.data[..n]).zip(&b.data[..n]).for_each(|((o, a), b)| *o = f(*a, *b)),
            (1, _) => {
                let b = b.at(0);
                out[..n].iter_mut().zip(&a.data[..n]).for_each(|(o, a)| *o = f(*a, b));
            }
            (_, 1) => {
                let a = a.at(0);
                out[..n].iter_mut().zip(&b.data[..n]).for_each(|(o, b)| *o = f(a, *b));
            }
            _ => out[..n].fill(f(a.at(0), b.at(0))),
        },
        Active::Some(list) => list.iter().for_each(|i| out[*i as usize] = f(a.at(*i as usize), b.at(*i as usize))),
    }
}

/// An integer or truth value as a lane of the dtype.
#[inline(always)]
pub(super) fn wrap(dtype: DType, x: i64) -> u64 {
    match dtype {
        DType::Bool => u64::from(x != 0),
        // Codes, which the validator lets no program have.
        DType::U8 | DType::F8E4M3 | DType::F8E5M2 => u64::from(x as u8),
        DType::I8 => i64::from(x as i8) as u64,
        DType::U16 | DType::F16 | DType::BF16 => u64::from(x as u16),
        DType::I16 => i64::from(x as i16) as u64,
        DType::U32 | DType::F32 => u64::from(x as u32),
        DType::I32 => i64::from(x as i32) as u64,
        DType::U64 | DType::I64 | DType::F64 => x as u64,
    }
}

/// A float lane's value.
#[inline(always)]
pub(super) fn to_f64(dtype: DType, lane: u64) -> f64 {
    match dtype {
        DType::F16 => f16::from_bits(lane as u16).to_f64(),
        DType::BF16 => bf16::from_bits(lane as u16).to_f64(),
        DType::F32 => f32::from_bits(lane as u32).into(),
        DType::F64 => f64::from_bits(lane),
        // Codes, which the validator lets no program have.
        DType::F8E4M3 | DType::F8E5M2 => Literal::from_raw(dtype, lane).as_f64(),
        DType::U64 => lane as f64,
        DType::Bool | DType::U8 | DType::I8 | DType::U16 | DType::I16 | DType::U32 | DType::I32 | DType::I64 => lane as i64 as f64,
    }
}

/// A value as a lane of a dtype: floats round once, integers truncate and saturate.
#[inline(always)]
pub(super) fn from_f64(dtype: DType, x: f64) -> u64 {
    match dtype {
        DType::F16 => f16::from_f32(round_to_odd(x)).to_bits().into(),
        DType::BF16 => bf16::from_f32(round_to_odd(x)).to_bits().into(),
        DType::F32 => u64::from((x as f32).to_bits()),
        DType::F64 => x.to_bits(),
        DType::F8E4M3 | DType::F8E5M2 => Literal::float(dtype, x).to_raw(),
        DType::Bool => u64::from(x != 0.0),
        DType::U8 => u64::from(x as u8),
        DType::I8 => i64::from(x as i8) as u64,
        DType::U16 => u64::from(x as u16),
        DType::I16 => i64::from(x as i16) as u64,
        DType::U32 => u64::from(x as u32),
        DType::I32 => i64::from(x as i32) as u64,
        DType::U64 => x as u64,
        DType::I64 => x as i64 as u64,
    }
}

fn single(f: impl Fn(f32) -> f32) -> impl Fn(u64) -> u64 {
    move |a| u64::from(f(f32::from_bits(a as u32)).to_bits())
}

fn singles(f: impl Fn(f32, f32) -> f32) -> impl Fn(u64, u64) -> u64 {
    move |a, b| u64::from(f(f32::from_bits(a as u32), f32::from_bits(b as u32)).to_bits())
}

fn compare(f: impl Fn(f32, f32) -> bool) -> impl Fn(u64, u64) -> u64 {
    move |a, b| u64::from(f(f32::from_bits(a as u32), f32::from_bits(b as u32)))
}

/// One lane of a unary operation.
fn unary_lane(op: UnaryOp, dtype: DType, a: u64) -> u64 {
    // As `i64` a large one is negative.
    if dtype == DType::U64 && matches!(op, UnaryOp::Abs | UnaryOp::Relu) {
        return a;
    }
    if dtype == DType::U64 && op == UnaryOp::Sign {
        return u64::from(a != 0);
    }
    if !dtype.is_float() {
        let result = op.eval_int(a as i64);
        return if op.gives_bool() { u64::from(result != 0) } else { wrap(dtype, result) };
    }
    let result = op.eval(to_f64(dtype, a));
    if op.gives_bool() { u64::from(result != 0.0) } else { from_f64(dtype, result) }
}

/// `op a`, with an argument of `dtype`.
pub(super) fn unary(active: Active<'_>, op: UnaryOp, dtype: DType, a: Col<'_>, out: &mut [u64]) {
    match (dtype, op) {
        (DType::F32, UnaryOp::Neg) => map1(active, a, out, single(|x| -x)),
        (DType::F32, UnaryOp::Abs) => map1(active, a, out, single(f32::abs)),
        (DType::F32, UnaryOp::Sqrt) => map1(active, a, out, single(f32::sqrt)),
        (DType::F32, UnaryOp::Recip) => map1(active, a, out, single(|x| 1.0 / x)),
        (DType::F32, UnaryOp::Relu) => map1(active, a, out, single(|x| if x.is_nan() || x > 0.0 { x } else { 0.0 })),
        (DType::Bool, UnaryOp::Not) => map1(active, a, out, |a| u64::from(a == 0)),
        _ => map1(active, a, out, |a| unary_lane(op, dtype, a)),
    }
}

/// One lane of a binary operation.
pub(super) fn binary_lane(op: BinaryOp, dtype: DType, a: u64, b: u64) -> u64 {
    let truth = op.is_comparison();
    if dtype.is_float() {
        let result = op.eval(to_f64(dtype, a), to_f64(dtype, b));
        return if truth { u64::from(result != 0.0) } else { from_f64(dtype, result) };
    }
    let result = op.eval_int(a as i64, b as i64, 8 * dtype.size() as u32, dtype.is_signed_int());
    if truth { u64::from(result != 0) } else { wrap(dtype, result) }
}

/// `a op b`, with arguments of `dtype`.
#[expect(clippy::wildcard_enum_match_arm, reason = "what is not frequent goes one lane at a time, and means the same")]
pub(super) fn binary(active: Active<'_>, op: BinaryOp, dtype: DType, a: Col<'_>, b: Col<'_>, out: &mut [u64]) {
    use BinaryOp::*;
    match dtype {
        DType::F32 => match op {
            Add => map2(active, a, b, out, singles(|a, b| a + b)),
            Sub => map2(active, a, b, out, singles(|a, b| a - b)),
            Mul => map2(active, a, b, out, singles(|a, b| a * b)),
            Div => map2(active, a, b, out, singles(|a, b| a / b)),
            Max => map2(active, a, b, out, singles(|a, b| if a.is_nan() || a > b { a } else { b })),
            Min => map2(active, a, b, out, singles(|a, b| if a.is_nan() || a < b { a } else { b })),
            Eq => map2(active, a, b, out, compare(|a, b| a == b)),
            Ne => map2(active, a, b, out, compare(|a, b| a != b)),
            Lt => map2(active, a, b, out, compare(|a, b| a < b)),
            Le => map2(active, a, b, out, compare(|a, b| a <= b)),
            Gt => map2(active, a, b, out, compare(|a, b| a > b)),
            Ge => map2(active, a, b, out, compare(|a, b| a >= b)),
            _ => map2(active, a, b, out, |a, b| binary_lane(op, dtype, a, b)),
        },
        DType::U32 => match op {
            Add => map2(active, a, b, out, |a, b| u64::from((a as u32).wrapping_add(b as u32))),
            Sub => map2(active, a, b, out, |a, b| u64::from((a as u32).wrapping_sub(b as u32))),
            Mul => map2(active, a, b, out, |a, b| u64::from((a as u32).wrapping_mul(b as u32))),
            IDiv => map2(active, a, b, out, |a, b| u64::from((a as u32).checked_div(b as u32).unwrap_or(0))),
            Rem => map2(active, a, b, out, |a, b| u64::from((a as u32).checked_rem(b as u32).unwrap_or(0))),
            Lt => map2(active, a, b, out, |a, b| u64::from(a < b)),
            Ge => map2(active, a, b, out, |a, b| u64::from(a >= b)),
            Eq => map2(active, a, b, out, |a, b| u64::from(a == b)),
            Ne => map2(active, a, b, out, |a, b| u64::from(a != b)),
            And => map2(active, a, b, out, |a, b| a & b),
            Or => map2(active, a, b, out, |a, b| a | b),
            Xor => map2(active, a, b, out, |a, b| a ^ b),
            _ => map2(active, a, b, out, |a, b| binary_lane(op, dtype, a, b)),
        },
        DType::I32 => match op {
            Add => map2(active, a, b, out, |a, b| i64::from((a as i32).wrapping_add(b as i32)) as u64),
            Sub => map2(active, a, b, out, |a, b| i64::from((a as i32).wrapping_sub(b as i32)) as u64),
            Mul => map2(active, a, b, out, |a, b| i64::from((a as i32).wrapping_mul(b as i32)) as u64),
            Lt => map2(active, a, b, out, |a, b| u64::from((a as i64) < b as i64)),
            Ge => map2(active, a, b, out, |a, b| u64::from(a as i64 >= b as i64)),
            Eq => map2(active, a, b, out, |a, b| u64::from(a == b)),
            _ => map2(active, a, b, out, |a, b| binary_lane(op, dtype, a, b)),
        },
        DType::I64 => match op {
            Add => map2(active, a, b, out, u64::wrapping_add),
            Sub => map2(active, a, b, out, u64::wrapping_sub),
            Mul => map2(active, a, b, out, u64::wrapping_mul),
            Lt => map2(active, a, b, out, |a, b| u64::from((a as i64) < b as i64)),
            _ => map2(active, a, b, out, |a, b| binary_lane(op, dtype, a, b)),
        },
        DType::Bool => match op {
            And => map2(active, a, b, out, |a, b| a & b),
            Or => map2(active, a, b, out, |a, b| a | b),
            Xor | Ne => map2(active, a, b, out, |a, b| a ^ b),
            _ => map2(active, a, b, out, |a, b| binary_lane(op, dtype, a, b)),
        },
        _ => map2(active, a, b, out, |a, b| binary_lane(op, dtype, a, b)),
    }
}

/// `a * b + c`. In `F32` the product is exact and the sum rounds in `f64` first.
pub(super) fn fma(active: Active<'_>, dtype: DType, [a, b, c]: [Col<'_>; 3], out: &mut [u64]) {
    if dtype == DType::F64 {
        each!(active, i => out[i] = f64::from_bits(a.at(i)).mul_add(f64::from_bits(b.at(i)), f64::from_bits(c.at(i))).to_bits());
    } else {
        let wide = |lane: u64| to_f64(dtype, lane);
        each!(active, i => out[i] = from_f64(dtype, wide(a.at(i)) * wide(b.at(i)) + wide(c.at(i))));
    }
}

/// The upper half of a 32-bit product.
pub(super) fn mul_hi(active: Active<'_>, a: Col<'_>, b: Col<'_>, out: &mut [u64]) {
    map2(active, a, b, out, |a, b| (u64::from(a as u32) * u64::from(b as u32)) >> 32);
}

/// `if condition { a } else { b }`.
pub(super) fn select(active: Active<'_>, [condition, a, b]: [Col<'_>; 3], out: &mut [u64]) {
    each!(active, i => out[i] = if condition.at(i) != 0 { a.at(i) } else { b.at(i) });
}

/// One lane of a conversion: float to integer truncates and saturates, NaN gives 0.
fn cast_lane(from: DType, to: DType, a: u64) -> u64 {
    if to == DType::Bool {
        return u64::from(if from.is_float() { to_f64(from, a) != 0.0 } else { a != 0 });
    }
    if from.is_float() {
        return from_f64(to, to_f64(from, a));
    }
    match to {
        // Through `F32`, in which half types compute.
        DType::F16 | DType::BF16 => from_f64(to, f64::from(integer_to_f32(from, a))),
        DType::F32 => u64::from(integer_to_f32(from, a).to_bits()),
        DType::F64 => to_f64(from, a).to_bits(),
        // Codes, which the validator lets no program have.
        DType::F8E4M3 | DType::F8E5M2 => from_f64(to, to_f64(from, a)),
        DType::Bool | DType::U8 | DType::I8 | DType::U16 | DType::I16 | DType::U32 | DType::I32 | DType::U64 | DType::I64 => {
            wrap(to, a as i64)
        }
    }
}

fn integer_to_f32(from: DType, a: u64) -> f32 {
    if from == DType::U64 { a as f32 } else { a as i64 as f32 }
}

/// Conversion.
pub(super) fn cast(active: Active<'_>, from: DType, to: DType, a: Col<'_>, out: &mut [u64]) {
    match (from, to) {
        (DType::F16, DType::F32) => map1(active, a, out, |a| u64::from(f16::from_bits(a as u16).to_f32().to_bits())),
        (DType::BF16, DType::F32) => map1(active, a, out, |a| u64::from(bf16::from_bits(a as u16).to_f32().to_bits())),
        (DType::F32, DType::F16) => map1(active, a, out, |a| f16::from_f32(f32::from_bits(a as u32)).to_bits().into()),
        (DType::F32, DType::BF16) => map1(active, a, out, |a| bf16::from_f32(f32::from_bits(a as u32)).to_bits().into()),
        (DType::U32 | DType::I32 | DType::Bool | DType::U8, DType::I64 | DType::U64) => map1(active, a, out, |a| a),
        (DType::U32, DType::I32) => map1(active, a, out, |a| i64::from(a as i32) as u64),
        _ => map1(active, a, out, |a| cast_lane(from, to, a)),
    }
}

/// The same bits in another type of the same size.
pub(super) fn bitcast(active: Active<'_>, from: DType, to: DType, a: Col<'_>, out: &mut [u64]) {
    let mask = u64::MAX >> (64 - 8 * from.size());
    map1(active, a, out, |a| wrap(to, (a & mask) as i64));
}

/// The element at a byte offset.
#[inline(always)]
pub(super) fn read(dtype: DType, bytes: Bytes<'_>, at: usize) -> u64 {
    wrap(dtype, bytes.read(at, dtype.size()) as i64)
}

/// Writes the element at a byte offset.
#[inline(always)]
pub(super) fn write(dtype: DType, bytes: Bytes<'_>, at: usize, lane: u64) {
    bytes.write(at, dtype.size(), lane);
}
