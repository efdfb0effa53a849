//! Opening the device in its variations, and running one program on host arrays.

// Each test uses some of it.
#![allow(dead_code)]

use unigrad_gpu::{Backend, Bound, Range};
use unigrad_ir::{Param, Program, Target};
use unigrad_scalar::{BinaryOp, DType, Literal, UnaryOp};
use unigrad_wgpu::{WgpuBackend, WgpuDriver, Without};

/// The device with all it has, and with what WebGPU demands at least; empty, with a line, where there is none.
pub(crate) fn backends() -> Vec<(&'static str, WgpuBackend)> {
    let least = Without {
        int64: true,
        int16: true,
        subgroups: true,
        offsets: true,
        buffer_copies: true,
        overlapping: true,
        written_out: true,
        ..Without::default()
    };
    let open = |without| WgpuBackend::open_without(0, without).unwrap();
    if is_missing() { Vec::new() } else { vec![("everything", open(Without::default())), ("least", open(least))] }
}

/// Whether there is no device; says so.
pub(crate) fn is_missing() -> bool {
    use unigrad_device::Driver;
    let found = WgpuDriver.discover();
    if let Some((cause, _)) = &found.problem {
        println!("SKIPPED: no Vulkan device: {cause}");
    }
    found.devices.is_empty()
}

/// A target like `target`, but with 64-bit integers: programs may use them whether or not the device has them.
pub(crate) fn widened(target: &Target) -> Target {
    Target { i64: true, ..target.clone() }
}

/// Elements as bytes.
pub(crate) fn bytes(dtype: DType, raw: &[u64]) -> Vec<u8> {
    raw.iter().flat_map(|raw| raw.to_le_bytes().into_iter().take(dtype.size())).collect()
}

/// Bytes as elements.
pub(crate) fn elements(dtype: DType, bytes: &[u8]) -> Vec<u64> {
    let element = |chunk: &[u8]| chunk.iter().rev().fold(0, |sum, byte| sum << 8 | u64::from(*byte));
    bytes.chunks(dtype.size()).map(element).collect()
}

/// What a test passes for a parameter.
#[derive(Clone, Debug)]
pub(crate) enum Arg {
    /// Raw elements; what is there afterwards comes back.
    Buffer(Vec<u64>),
    /// Raw bits.
    Scalar(u64),
}

/// Runs a program; gives every buffer's elements.
pub(crate) fn run(backend: &WgpuBackend, program: &Program, grid: [u32; 3], args: &[Arg]) -> Vec<Vec<u64>> {
    let module = backend.load(program).unwrap_or_else(|error| panic!("{error}"));
    let dtypes: Vec<DType> = program
        .params
        .iter()
        .map(|param| match param {
            Param::Buffer { dtype, .. } | Param::Table { dtype, .. } | Param::Scalar { dtype, .. } | Param::ScalarTable { dtype, .. } => {
                *dtype
            }
        })
        .collect();
    let total: usize = args
        .iter()
        .zip(&dtypes)
        .map(|(arg, dtype)| match arg {
            Arg::Buffer(raw) => (raw.len() * dtype.size()).next_multiple_of(64) + 64,
            Arg::Scalar(_) => 0,
        })
        .sum();
    let arena = backend.allocate(total.max(64)).unwrap();
    let mut offset = 64;
    let bound: Vec<Bound> = args
        .iter()
        .zip(&dtypes)
        .map(|(arg, dtype)| match arg {
            Arg::Buffer(raw) => {
                let len = raw.len() * dtype.size();
                let range = Range { handle: arena, offset: if len == 0 { 0 } else { offset }, len };
                offset += if len == 0 { 0 } else { len.next_multiple_of(64) };
                backend.upload(&bytes(*dtype, raw), range).unwrap();
                Bound::Buffer(range)
            }
            Arg::Scalar(raw) => Bound::Scalar(*dtype, *raw),
        })
        .collect();
    backend.launch(&module, grid, &bound).unwrap_or_else(|error| panic!("{error}"));
    let results = bound
        .iter()
        .zip(&dtypes)
        .filter_map(|(bound, dtype)| match bound {
            Bound::Buffer(range) => {
                let mut data = vec![0; range.len];
                backend.download(*range, &mut data).unwrap_or_else(|error| panic!("{}: {error}", program.name));
                Some(elements(*dtype, &data))
            }
            _ => None,
        })
        .collect();
    backend.free(arena);
    results
}

/// The value of a literal's raw bits as `f64`.
pub(crate) fn value(dtype: DType, raw: u64) -> f64 {
    Literal::from_raw(dtype, raw).as_f64()
}

/// What a unary operation must give, in raw bits of `dtype` (of `Bool` where it gives that).
pub(crate) fn unary_expected(op: UnaryOp, dtype: DType, raw: u64) -> Literal {
    let x = Literal::from_raw(dtype, raw);
    let result = if op.gives_bool() { DType::Bool } else { dtype };
    match op {
        UnaryOp::Abs | UnaryOp::Relu if dtype.is_unsigned_int() => return x,
        UnaryOp::Sign if dtype.is_unsigned_int() => return Literal::int(dtype, i64::from(raw != 0)),
        _ => {}
    }
    if dtype.is_float() { Literal::float(result, op.eval(x.as_f64())) } else { Literal::int(result, op.eval_int(x.as_i64())) }
}

/// What a binary operation must give.
pub(crate) fn binary_expected(op: BinaryOp, dtype: DType, a: u64, b: u64) -> Literal {
    let (a, b) = (Literal::from_raw(dtype, a), Literal::from_raw(dtype, b));
    let result = if op.is_comparison() { DType::Bool } else { dtype };
    if dtype.is_float() {
        Literal::float(result, op.eval(a.as_f64(), b.as_f64()))
    } else {
        let signed = dtype.is_signed_int();
        Literal::int(result, op.eval_int(a.as_i64(), b.as_i64(), 8 * dtype.size() as u32, signed))
    }
}

/// How far `got` is from `want` in units of the last place of an `f32`; 0 where both are NaN, or where both are so small that a device
/// may take them for zero.
pub(crate) fn ulps(got: f32, want: f64) -> f64 {
    let nearest = want as f32;
    let tiny = f64::from(f32::MIN_POSITIVE);
    if got == nearest || got.is_nan() && nearest.is_nan() || f64::from(got).abs() < tiny * 1.01 && want.abs() < tiny * 1.01 {
        return 0.0;
    }
    if !got.is_finite() || !nearest.is_finite() {
        return f64::INFINITY;
    }
    let exponent = nearest.abs().max(f32::MIN_POSITIVE).log2().floor();
    (f64::from(got) - want).abs() / f64::from(exponent - 23.0).exp2()
}

/// A generator of test inputs.
#[derive(Debug)]
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 ^ self.0 >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9) ^ self.0 >> 41
    }
}

/// Inputs: extremes, small numbers, numbers near powers of two, any bits.
pub(crate) fn inputs(dtype: DType, n: usize, seed: u64) -> Vec<u64> {
    let mut random = Random(seed);
    let mask = u64::MAX >> (64 - 8 * dtype.size());
    let mut special: Vec<u64> = if dtype.is_float() {
        let floats = [
            0.0,
            -0.0,
            1.0,
            -1.0,
            0.5,
            1.5,
            2.5,
            -2.5,
            f64::NAN,
            f64::INFINITY,
            f64::NEG_INFINITY,
            1e-30,
            65504.0,
            3e9,
            -3e9,
            1e19,
            -1e19,
            4e38,
            0.1,
        ];
        floats.into_iter().map(|x| Literal::float(dtype, x).to_raw()).collect()
    } else {
        let ints = [
            0,
            1,
            -1,
            2,
            3,
            7,
            31,
            32,
            63,
            64,
            127,
            -128,
            255,
            0x7fff,
            -0x8000,
            i64::from(i32::MAX),
            i64::from(i32::MIN),
            i64::MAX,
            i64::MIN,
            -7,
        ];
        ints.into_iter().map(|x| Literal::int(dtype, x).to_raw()).collect()
    };
    while special.len() < n {
        let bits = random.next();
        special.push(match (dtype, bits % 4) {
            (DType::Bool, _) => bits >> 8 & 1,
            (d, 0 | 1) if d.is_float() => {
                Literal::float(d, ((bits >> 11) as f64 / (1u64 << 53) as f64 - 0.5) * [4.0, 40.0, 400.0, 4e4][(bits >> 4 & 3) as usize])
                    .to_raw()
            }
            (d, 0) => Literal::int(d, (bits >> 8 & 63) as i64 - 20).to_raw(),
            (d, 1) => Literal::int(d, (1i64 << (bits >> 8 & 63)).wrapping_add((bits >> 20 & 3) as i64 - 1)).to_raw(),
            _ => bits & mask,
        });
    }
    special.truncate(n);
    special
}
