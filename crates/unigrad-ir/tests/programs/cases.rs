//! The programs with what to pass them, and what they must leave: the interpreter says.

use super::{N, all, binary_ops, unary_ops};
use unigrad_ir::{
    Param, Program, Target,
    interpret::{Argument, Interpreter, Options, Span},
};
use unigrad_scalar::{BinaryOp, DType, Literal, UnaryOp};

/// What a launch passes for one parameter.
#[derive(Clone, Debug)]
pub(crate) enum Arg {
    Buffer(DType, Vec<u8>),
    Scalar(DType, u64),
    Table(DType, Vec<Vec<u8>>),
    ScalarTable(DType, Vec<u64>),
}

/// A launch.
#[derive(Clone, Debug)]
pub(crate) struct Case {
    pub(crate) program: Program,
    pub(crate) grid: [u32; 3],
    pub(crate) args: Vec<Arg>,
}

/// Elements of a buffer: what the largest of the programs wants.
const ELEMENTS: usize = 4096;

/// A launch of each program of [`all`].
pub(crate) fn cases(target: &Target) -> Vec<Case> {
    all(target).into_iter().map(case).collect()
}

fn case(program: Program) -> Case {
    let grid = match program.name.as_str() {
        "row_sum" => [5, 1, 1],
        "collatz" => [4, 1, 1],
        "kernel" => [2, 3, 2],
        "tables" => [1, 3, 1],
        name if name.starts_with("atomics") => [4, 1, 1],
        _ => [1, 1, 1],
    };
    let args = program.params.iter().enumerate().map(|(at, param)| arg(&program, at, param)).collect();
    Case { program, grid, args }
}

fn arg(program: &Program, at: usize, param: &Param) -> Arg {
    let random = |dtype, seed: usize| (0..ELEMENTS).flat_map(|i| bytes(small(dtype, i * 7 + seed))).collect::<Vec<u8>>();
    match param {
        Param::Buffer { dtype, atomic: true, .. } => Arg::Buffer(*dtype, vec![0; ELEMENTS * dtype.size()]),
        Param::Buffer { dtype, write: true, .. } if !program.name.starts_with("fragments") => {
            Arg::Buffer(*dtype, vec![0; ELEMENTS * dtype.size()])
        }
        Param::Buffer { dtype, .. } => {
            let dtype = *dtype;
            let elements = match program.name.split('_').next() {
                Some("unary" | "cast" | "by") => specials(dtype).into_iter().cycle().take(ELEMENTS).flat_map(bytes).collect(),
                // Each special value meets many others.
                Some("binary") => {
                    let specials = specials(dtype);
                    let pick = |i: usize| if at == 0 { specials[i % specials.len()] } else { specials[(i * 11 + i / 5) % specials.len()] };
                    (0..ELEMENTS).flat_map(|i| bytes(pick(i))).collect()
                }
                Some("collatz") => (0..ELEMENTS).flat_map(|i| bytes(Literal::int(dtype, 1 + i as i64 % 40))).collect(),
                _ => random(dtype, at),
            };
            Arg::Buffer(dtype, elements)
        }
        Param::Scalar { dtype, .. } => Arg::Scalar(*dtype, Literal::int(*dtype, 77).to_raw()),
        Param::Table { dtype, count, write, .. } => {
            let one = |at: usize| if *write { vec![0; ELEMENTS * dtype.size()] } else { random(*dtype, at) };
            Arg::Table(*dtype, (0..*count as usize).map(one).collect())
        }
        Param::ScalarTable { dtype, count, .. } => {
            Arg::ScalarTable(*dtype, (0..i64::from(*count)).map(|i| Literal::int(*dtype, 3 * i + 5).to_raw()).collect())
        }
    }
}

fn bytes(literal: Literal) -> Vec<u8> {
    literal.to_raw().to_le_bytes()[..literal.dtype().size()].to_vec()
}

/// Small whole numbers: sums and products of them are exact.
fn small(dtype: DType, i: usize) -> Literal {
    let x = (i.wrapping_mul(2_654_435_761) >> 7) % 9;
    match dtype {
        DType::Bool => Literal::int(dtype, (x % 2) as i64),
        d if d.is_unsigned_int() => Literal::int(d, x as i64),
        d => Literal::int(d, x as i64 - 4),
    }
}

/// 64 values at the edges of what operations mean.
fn specials(dtype: DType) -> Vec<Literal> {
    if dtype == DType::Bool {
        return (0..64).map(|i| Literal::int(dtype, i % 2)).collect();
    }
    if dtype.is_float() {
        let mut values = vec![
            f64::NAN,
            f64::INFINITY,
            f64::NEG_INFINITY,
            0.0,
            -0.0,
            1.0,
            -1.0,
            0.5,
            -0.5,
            1.5,
            -1.5,
            2.5,
            -2.5,
            3.0,
            -3.0,
            7.0,
            -7.0,
            1e-40,
            -1e-40,
            1e-30,
            -1e-30,
            1e-8,
            -1e-8,
            1e-4,
            0.01,
            -0.01,
            0.3,
            -0.3,
            0.7,
            -0.7,
            0.927,
            0.93,
            -0.99,
            2.0,
            -2.0,
            5.25,
            -5.25,
            9.9,
            -9.9,
            20.5,
            -20.5,
            42.0,
            -42.0,
            80.0,
            -80.0,
            88.5,
            89.5,
            -86.9,
            -100.0,
            127.5,
            -128.5,
            255.0,
            300.0,
            -300.0,
            3000.7,
            65504.0,
            70000.0,
            -70000.0,
            2147483648.0,
            -3e9,
            1e10,
            1e20,
            -1e25,
            3e38,
        ];
        values.truncate(N as usize);
        return values.into_iter().map(|x| Literal::float(dtype, x)).collect();
    }
    let edges = [Literal::min_value(dtype).as_i64(), Literal::max_value(dtype).as_i64()];
    let mut values: Vec<i64> = edges.into_iter().flat_map(|e| [e, e.wrapping_add(1), e.wrapping_sub(1)]).collect();
    values
        .extend([0, 1, -1, 2, -2, 3, -3, 4, 5, -5, 7, -7, 8, 9, 10, 15, 16, 17, 31, 32, 33, 40, 63, 64, 65, 100, -100, 127, 128, 255, 256]);
    values.extend([1000, -1000, 32767, 32768, 65535, 65536, 1 << 24, (1 << 24) + 1, i64::from(i32::MAX), i64::from(u32::MAX), 1 << 40]);
    values.extend([12345, -54321, 99, -98, 6, 11, -13, 21, 1 << 20, 3 << 30, -(1 << 35), 77, 13, 19, -23, 29]);
    values.truncate(N as usize);
    values.into_iter().map(|x| Literal::int(dtype, x)).collect()
}

impl Case {
    /// The memory after the launch, buffer by buffer, tables taken apart; with each buffer's type.
    pub(crate) fn expected(&self, target: &Target) -> Vec<(DType, Vec<u8>)> {
        let mut memory = Vec::new();
        let mut dtypes = Vec::new();
        let mut keep = |dtype: DType, bytes: &Vec<u8>| {
            memory.push(bytes.clone());
            dtypes.push(dtype);
            Span { allocation: memory.len() - 1, offset: 0, len: bytes.len() }
        };
        let mut arguments = Vec::new();
        for arg in &self.args {
            arguments.push(match arg {
                Arg::Buffer(dtype, bytes) => Argument::Buffer(keep(*dtype, bytes)),
                Arg::Scalar(_, raw) => Argument::Scalar(*raw),
                Arg::Table(dtype, buffers) => Argument::Table(buffers.iter().map(|bytes| keep(*dtype, bytes)).collect()),
                Arg::ScalarTable(_, raw) => Argument::ScalarTable(raw.clone()),
            });
        }
        // Threads of these programs meet on purpose.
        let options = Options { races: false, ..Options::default() };
        let interpreter = Interpreter::new(&self.program, target);
        let interpreter = interpreter.unwrap_or_else(|errors| panic!("{}", errors.iter().map(|e| format!("{e}\n")).collect::<String>()));
        interpreter.run(self.grid, &mut memory, &arguments, options).unwrap_or_else(|e| panic!("{e}"));
        dtypes.into_iter().zip(memory).collect()
    }

    /// Compares what a device left with what the interpreter did; the differences, at most a few.
    pub(crate) fn differences(&self, expected: &[(DType, Vec<u8>)], got: &[Vec<u8>]) -> Vec<String> {
        let mut differences = Vec::new();
        for (buffer, ((dtype, want), got)) in expected.iter().zip(got).enumerate() {
            for (i, (want, got)) in want.chunks(dtype.size()).zip(got.chunks(dtype.size())).enumerate() {
                let (want, got) = (literal(*dtype, want), literal(*dtype, got));
                let allowed = self.allowed(*dtype, i);
                if !close(want, got, allowed) && !self.is_below_notice(want, got, i) && differences.len() < 12 {
                    let operation = self.operation(i).map(|name| format!(" ({name} {})", self.operands(i))).unwrap_or_default();
                    let name = &self.program.name;
                    differences.push(format!("{name}: buffer {buffer} [{i}]{operation}: {got:?}, not {want:?} within {allowed} ulp"));
                }
            }
        }
        differences
    }

    /// Where the definition itself loses digits (`1 + tanh x` of a negative x), or a product with a denormal does.
    fn is_below_notice(&self, want: Literal, got: Literal, i: usize) -> bool {
        let least = match self.operation(i) {
            Some("gelu_tanh") => 1e-11,
            Some("silu" | "gelu") => 1e-36,
            _ => return false,
        };
        (want.as_f64() - got.as_f64()).abs() < least
    }

    fn operation(&self, i: usize) -> Option<&'static str> {
        let at = i / N as usize;
        let (family, dtype) = self.program.name.split_once('_')?;
        let dtype = DType::ALL.into_iter().find(|d| d.name() == dtype)?;
        match family {
            "unary" => unary_ops(dtype).get(at).map(|op| op.name()),
            "binary" => binary_ops(dtype).get(at).map(|op| op.name()),
            _ => None,
        }
    }

    fn operands(&self, i: usize) -> String {
        let i = i % N as usize;
        let shown = self.args.iter().take(self.args.len() - 1).filter_map(|arg| match arg {
            Arg::Buffer(dtype, bytes) => Some(format!("{:?}", literal(*dtype, &bytes[i * dtype.size()..][..dtype.size()]))),
            _ => None,
        });
        shown.collect::<Vec<_>>().join(" ")
    }

    /// Units in the last place by which an element may differ.
    fn allowed(&self, dtype: DType, i: usize) -> f64 {
        let operation = self.operation(i).unwrap_or_default();
        let exact_unary = [
            UnaryOp::Neg,
            UnaryOp::Abs,
            UnaryOp::Sign,
            UnaryOp::Sqrt,
            UnaryOp::Recip,
            UnaryOp::Floor,
            UnaryOp::Ceil,
            UnaryOp::Round,
            UnaryOp::Trunc,
            UnaryOp::Relu,
            UnaryOp::IsNan,
            UnaryOp::IsFinite,
        ];
        let inexact_binary = [BinaryOp::Pow, BinaryOp::Atan2];
        if !dtype.is_float() {
            0.0
        } else if self.program.name.starts_with("unary") && !exact_unary.iter().any(|op| op.name() == operation) {
            if operation == UnaryOp::Gelu.name() || operation == UnaryOp::GeluTanh.name() { 8.0 } else { 5.0 }
        } else if inexact_binary.iter().any(|op| op.name() == operation) {
            16.0
        } else {
            0.0
        }
    }
}

fn literal(dtype: DType, bytes: &[u8]) -> Literal {
    let mut raw = [0; 8];
    raw[..bytes.len()].copy_from_slice(bytes);
    Literal::from_raw(dtype, u64::from_le_bytes(raw))
}

fn close(want: Literal, got: Literal, ulps: f64) -> bool {
    if !want.dtype().is_float() {
        return want == got;
    }
    let (x, y) = (want.as_f64(), got.as_f64());
    if x == y || (x.is_nan() && y.is_nan()) {
        return true;
    }
    let (digits, least) = match want.dtype() {
        DType::F16 => (10, -24),
        DType::BF16 => (7, -133),
        DType::F32 => (23, -149),
        _ => (52, -1074),
    };
    // Zero and what is below it in the table of powers has the spacing of denormals.
    let exponent = x.abs().log2().floor().max(-2000.0) as i32;
    (x - y).abs() <= ulps * f64::from((exponent - digits).max(least)).exp2()
}
