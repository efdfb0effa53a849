//! A backend against the IR's interpreter: every operation on every dtype, with the values that go wrong first.
//!
//! In: a backend. Out: nothing, or a panic that names program, buffer, element and both values.
//! Always: a buffer lies inside a larger one, between guards that nothing may touch. Programs are few and large, since compiling takes
//! longest. Integers, booleans, copies and casts must be equal in every bit; floats within a tolerance that the dtype gives.

// Each driver uses some of it.
#![allow(dead_code)]

#[path = "../../../unigrad-ir/tests/programs/mod.rs"]
pub(crate) mod programs;

use programs::N;
use unigrad_gpu::{Backend, Bound, Range};
use unigrad_ir::{
    Param, Program, Target,
    interpret::{self, Argument, Span},
};
use unigrad_scalar::{BinaryOp, DType, Literal, UnaryOp};

/// Bytes in front of a buffer's first element, and behind its last.
const GUARD: usize = 64;
/// What guards and untouched results hold.
const UNTOUCHED: u8 = 0xa5;

/// A launch: the program, its grid, what each parameter is given.
pub(crate) struct Case {
    pub(crate) program: Program,
    pub(crate) grid: [u32; 3],
    pub(crate) args: Vec<Arg>,
    /// Largest difference of floats: a multiple of the dtype's rounding step; 0 means equal bits (but for NaN).
    pub(crate) steps: f64,
}

/// What a parameter is given.
#[derive(Clone)]
pub(crate) enum Arg {
    /// A buffer's bytes.
    Bytes(Vec<u8>),
    /// A scalar's raw bits.
    Scalar(u64),
    /// Buffers of a table.
    Table(Vec<Vec<u8>>),
    /// Raw bits of a table of scalars.
    ScalarTable(Vec<u64>),
}

/// A small generator: the same numbers everywhere.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }
}

fn put(bytes: &mut Vec<u8>, dtype: DType, literal: Literal) {
    bytes.extend_from_slice(&literal.to_raw().to_le_bytes()[..dtype.size()]);
}

/// Values with everything that goes wrong, then random ones of all magnitudes.
pub(crate) fn values(dtype: DType, count: usize, seed: u64) -> Vec<u8> {
    let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    (0..8).for_each(|_| {
        random.next();
    });
    let mut bytes = Vec::new();
    let tiny = if dtype == DType::F16 { 6e-8 } else { 1e-40 };
    let floats = [0.0, -0.0, 1.0, -1.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, tiny, 0.5, 1.5, 2.5, -2.5, 3.75, 1e-6, -88.0, 88.0];
    let ints = [0, 1, -1, 2, 3, 7, 31, 32, 33, 63, 127, 128, 255, -128, i64::MAX, i64::MIN];
    // One argument has the special values in order, another in an order of its own, so that they meet.
    let turn = (random.next() % 16) as usize;
    for at in 0..count {
        let literal = match dtype {
            DType::Bool => Literal::int(dtype, (random.next() >> 20 & 1) as i64),
            _ if at < 16 && dtype.is_float() => Literal::float(dtype, floats[(at * (1 + 2 * turn) + turn) % 16]),
            _ if at < 16 => Literal::int(dtype, ints[(at * (1 + 2 * turn) + turn) % 16]),
            _ if dtype.is_float() => {
                let unit = (random.next() >> 11) as f64 / (1u64 << 53) as f64 * 2.0 - 1.0;
                Literal::float(dtype, unit * [1.0, 10.0, 1e-3, 1e4][at % 4])
            }
            _ => Literal::int(dtype, (random.next() as i64) >> (random.next() % 62)),
        };
        put(&mut bytes, dtype, literal);
    }
    bytes
}

fn ordinary(dtype: DType, count: usize, seed: u64) -> Vec<u8> {
    let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let mut bytes = Vec::new();
    for _ in 0..count {
        random.next();
        let unit = (random.next() >> 11) as f64 / (1u64 << 53) as f64;
        let literal = if dtype.is_float() { Literal::float(dtype, unit * 4.0 - 2.0) } else { Literal::int(dtype, (unit * 100.0) as i64) };
        put(&mut bytes, dtype, literal);
    }
    bytes
}

fn blank(dtype: DType, count: usize) -> Arg {
    Arg::Bytes(vec![UNTOUCHED; count * dtype.size()])
}

fn dtype_of(param: &Param) -> DType {
    match param {
        Param::Buffer { dtype, .. } | Param::Table { dtype, .. } | Param::Scalar { dtype, .. } | Param::ScalarTable { dtype, .. } => *dtype,
    }
}

/// Unary, binary and constant operations of one dtype.
pub(crate) fn arithmetic(dtype: DType) -> Vec<Case> {
    let n = N as usize;
    let mut cases = Vec::new();
    for seed in [1, 2] {
        let (x, y) = (values(dtype, n, seed), values(dtype, n, seed + 10));
        cases.push(Case {
            program: programs::unary(dtype),
            grid: [1, 1, 1],
            args: vec![Arg::Bytes(x.clone()), blank(dtype, n * programs::unary_ops(dtype).len())],
            steps: 64.0,
        });
        cases.push(Case {
            program: programs::binary(dtype),
            grid: [1, 1, 1],
            args: vec![Arg::Bytes(x.clone()), Arg::Bytes(y), blank(dtype, n * programs::binary_ops(dtype).len())],
            steps: 64.0,
        });
        if dtype.is_int() {
            let count = programs::constant_operations().len();
            cases.push(Case {
                program: programs::by_constants(dtype),
                grid: [1, 1, 1],
                args: vec![Arg::Bytes(x), blank(dtype, n * count)],
                steps: 0.0,
            });
        }
    }
    cases
}

/// Casts, bits and vectors of one dtype.
pub(crate) fn movement(dtype: DType, target: &Target) -> Vec<Case> {
    let n = N as usize;
    let program = programs::cast(dtype, target);
    let outputs = program.params[1..].iter().map(|p| blank(dtype_of(p), n)).collect::<Vec<_>>();
    let mut cases = vec![Case { program, grid: [1, 1, 1], args: [vec![Arg::Bytes(values(dtype, n, 5))], outputs].concat(), steps: 0.0 }];
    let program = programs::constants_and_bits(dtype, target);
    // The bits of a `Bool` are unspecified.
    if !program.params.is_empty() && dtype != DType::Bool {
        let args = program.params.iter().map(|p| blank(dtype_of(p), programs::special_literals(dtype).len())).collect();
        cases.push(Case { program, grid: [1, 1, 1], args, steps: 0.0 });
    }
    for lanes in [2_u8, 4, 8].into_iter().filter(|lanes| usize::from(*lanes) * dtype.size() <= 16) {
        let count = 16 * usize::from(lanes);
        let args = vec![Arg::Bytes(values(dtype, count, 7)), blank(dtype, count)];
        cases.push(Case { program: programs::vectors(dtype, lanes), grid: [1, 1, 1], args, steps: 0.0 });
    }
    cases
}

/// Shared memory, loops, atomics, grids, scalars; tables and subgroups where the target has them.
pub(crate) fn structure(target: &Target) -> Vec<Case> {
    let mut cases = Vec::new();
    for n in [0_usize, 1, 31, 100] {
        let x = ordinary(DType::F32, n * 5, 3);
        cases.push(Case {
            program: programs::row_sum(),
            grid: [5, 1, 1],
            args: vec![Arg::Bytes(x), blank(DType::F32, 5), Arg::Scalar(n as u64)],
            steps: 0.0,
        });
    }
    let starts: Vec<u8> = (1..=32_u32).flat_map(|i| (i * 97).to_le_bytes()).collect();
    cases.push(Case { program: programs::collatz(), grid: [4, 1, 1], args: vec![Arg::Bytes(starts), blank(DType::I32, 32)], steps: 0.0 });
    for wide in if target.i64 { &[false, true][..] } else { &[false] } {
        let matrix = |seed| Arg::Bytes(ordinary(DType::F32, 64, seed));
        cases.push(Case {
            program: programs::small_product(*wide),
            grid: [1, 1, 1],
            args: vec![matrix(1), matrix(2), blank(DType::F32, 64)],
            steps: 4.0,
        });
    }
    let wide_atomics = if target.atomic_i64 { &[DType::U64, DType::I64][..] } else { &[] };
    let float_atomics = if target.atomic_f32 { &[DType::F32][..] } else { &[] };
    for dtype in [&[DType::U32, DType::I32], wide_atomics, float_atomics].concat() {
        let mut counters = vec![0; 16 * dtype.size()];
        // The identity of `and`, and what `min` starts from.
        for at in [2, 3] {
            counters[at * dtype.size()..][..dtype.size()].fill(0x7f);
        }
        cases.push(Case { program: programs::atomics(dtype), grid: [4, 1, 1], args: vec![Arg::Bytes(counters)], steps: 0.0 });
    }
    let program = programs::places_and_names(target);
    let mut args = vec![blank(DType::U32, 16 * 3 * 2 * 2)];
    let scalar = |(at, param): (usize, &Param)| Arg::Scalar(Literal::int(dtype_of(param), [3, -5, 1][at % 3]).to_raw());
    args.extend(program.params[1..].iter().enumerate().map(|(at, param)| match dtype_of(param) {
        // A negative float has no unsigned integer that all dialects agree on.
        dtype if dtype.is_float() => Arg::Scalar(Literal::int(dtype, 9).to_raw()),
        _ => scalar((at, param)),
    }));
    cases.push(Case { program, grid: [3, 2, 2], args, steps: 0.0 });
    if target.tables {
        cases.extend(tables());
    }
    if target.subgroup == Some(32) {
        for dtype in programs::held(target) {
            let program = programs::subgroups(dtype);
            let count = program.body.len();
            let x = if dtype.is_float() { ordinary(dtype, 64, 4) } else { values(dtype, 64, 4) };
            // As many results as the program can have, at most one per statement.
            let args = vec![Arg::Bytes(x), blank(dtype, 64 * count), blank(DType::U32, 64)];
            cases.push(Case { program, grid: [1, 1, 1], args, steps: 64.0 });
        }
    }
    cases
}

/// Tables of buffers and numbers, by every kind of index.
pub(crate) fn tables() -> Vec<Case> {
    let mut cases = Vec::new();
    for dtype in [DType::F32, DType::F16] {
        let sizes = [32_usize, 7, 0];
        let words = |values: [f32; 3]| values.map(|v| u64::from(v.to_bits())).to_vec();
        cases.push(Case {
            program: programs::tables(dtype),
            grid: [1, 3, 1],
            args: vec![
                Arg::Table(sizes.map(|n| ordinary(dtype, n, n as u64)).to_vec()),
                Arg::Table(sizes.map(|n| vec![UNTOUCHED; n * dtype.size()]).to_vec()),
                Arg::ScalarTable(words([2.0, -0.5, 1.0])),
                Arg::ScalarTable(sizes.map(|n| n as u64).to_vec()),
            ],
            steps: 1.0,
        });
    }
    for dtype in [DType::F32, DType::BF16, DType::I64, DType::U8] {
        let table = |sizes: [usize; 3]| sizes.map(|n| values(dtype, n, n as u64)).to_vec();
        cases.push(Case {
            program: programs::table_indices(dtype),
            grid: [3, 1, 1],
            args: vec![
                Arg::Table(table([32, 33, 64])),
                Arg::Table([40, 32, 35].map(|n| vec![UNTOUCHED; n * dtype.size()]).to_vec()),
                Arg::ScalarTable(vec![4, 2, 3, 0]),
                blank(dtype, 3 * 5 * 32),
                Arg::Scalar(2),
            ],
            steps: 0.0,
        });
    }
    cases
}

/// What a buffer is on both sides.
struct Placed {
    range: Range,
    span: Span,
    dtype: DType,
    written: bool,
}

/// Runs cases on the backend and in the interpreter, and compares what they wrote.
pub(crate) fn check<B: Backend>(backend: &B, cases: Vec<Case>) {
    for case in cases {
        run(backend, &case);
    }
}

fn place<B: Backend>(backend: &B, memory: &mut Vec<Vec<u8>>, param: &Param, bytes: &[u8]) -> Placed {
    let written = match param {
        Param::Buffer { write, .. } | Param::Table { write, .. } => *write,
        Param::Scalar { .. } | Param::ScalarTable { .. } => false,
    };
    let whole = [&[UNTOUCHED; GUARD][..], bytes, &[UNTOUCHED; GUARD]].concat();
    let handle = backend.allocate(whole.len()).unwrap();
    backend.upload(&whole, Range { handle, offset: 0, len: whole.len() }).unwrap();
    memory.push(whole);
    let span = Span { allocation: memory.len() - 1, offset: GUARD, len: bytes.len() };
    Placed { range: Range { handle, offset: GUARD, len: bytes.len() }, span, dtype: dtype_of(param), written }
}

fn run<B: Backend>(backend: &B, case: &Case) {
    let program = &case.program;
    let module = backend.load(program).unwrap_or_else(|error| panic!("{error}"));
    let mut memory = Vec::new();
    let mut placed = Vec::new();
    let (mut bounds, mut arguments) = (Vec::new(), Vec::new());
    for (param, arg) in program.params.iter().zip(&case.args) {
        let mut add = |bytes: &[u8]| {
            placed.push(place(backend, &mut memory, param, bytes));
            placed.last().map(|p| (p.range, p.span)).unwrap()
        };
        let (bound, argument) = match arg {
            Arg::Bytes(bytes) => {
                let (range, span) = add(bytes);
                (Bound::Buffer(range), Argument::Buffer(span))
            }
            Arg::Table(buffers) => {
                let both: Vec<(Range, Span)> = buffers.iter().map(|bytes| add(bytes)).collect();
                (Bound::Table(both.iter().map(|b| b.0).collect()), Argument::Table(both.iter().map(|b| b.1).collect()))
            }
            Arg::Scalar(raw) => (Bound::Scalar(dtype_of(param), *raw), Argument::Scalar(*raw)),
            Arg::ScalarTable(raw) => (Bound::ScalarTable(dtype_of(param), raw.clone()), Argument::ScalarTable(raw.clone())),
        };
        bounds.push(bound);
        arguments.push(argument);
    }
    interpret::run(program, backend.target(), case.grid, &mut memory, &arguments).unwrap_or_else(|fault| panic!("{fault}"));
    backend.launch(&module, case.grid, &bounds).unwrap_or_else(|error| panic!("{error}"));
    for buffer in &placed {
        let expected = &memory[buffer.span.allocation];
        let mut got = vec![0; expected.len()];
        let handle = buffer.range.handle;
        backend.download(Range { handle, offset: 0, len: got.len() }, &mut got).unwrap_or_else(|error| panic!("{error}"));
        let name = &program.name;
        assert!(got[..GUARD] == expected[..GUARD], "{name}: the guard in front was written");
        assert!(got[GUARD + buffer.span.len..] == expected[GUARD + buffer.span.len..], "{name}: the guard behind was written");
        let inside = GUARD..GUARD + buffer.span.len;
        if buffer.written {
            compare(case, buffer.dtype, &got[inside.clone()], &expected[inside]);
        } else {
            assert!(got == *expected, "{name}: an input was written");
        }
        backend.free(handle);
    }
}

fn literal(dtype: DType, bytes: &[u8]) -> Literal {
    let mut word = [0; 8];
    word[..bytes.len()].copy_from_slice(bytes);
    Literal::from_raw(dtype, u64::from_le_bytes(word))
}

/// Distance between neighbours at 1, and the least normal number.
fn precision(dtype: DType) -> (f64, f64) {
    match dtype {
        DType::F16 => (2f64.powi(-10), 2f64.powi(-14)),
        DType::BF16 => (2f64.powi(-7), 2f64.powi(-126)),
        DType::F32 => (2f64.powi(-23), 2f64.powi(-126)),
        _ => (2f64.powi(-52), f64::MIN_POSITIVE),
    }
}

fn compare(case: &Case, dtype: DType, got: &[u8], expected: &[u8]) {
    let size = dtype.size();
    for (at, (g, e)) in got.chunks_exact(size).zip(expected.chunks_exact(size)).enumerate() {
        if g == e {
            continue;
        }
        let (g, e) = (literal(dtype, g), literal(dtype, e));
        if dtype.is_float() {
            let (a, b) = (g.as_f64(), e.as_f64());
            let (step, least) = precision(dtype);
            // The definition takes 1 from a `tanh` that is all but -1: a target may keep what that loses.
            let lost = if operation(case, at).contains(UnaryOp::GeluTanh.name()) { 1e-14 } else { 0.0 };
            // A function that is composed of others has no more digits than those have where they cancel.
            let composed = UnaryOp::ALL.iter().any(|op| op.form(true).is_some() && operation(case, at).contains(op.name()));
            let lost = if composed { lost + 32.0 * step } else { lost };
            let close = (a - b).abs() <= case.steps * step * b.abs().max(least) + lost;
            if (a.is_nan() && b.is_nan()) || a == b && a != 0.0 || close && case.steps > 0.0 {
                continue;
            }
        }
        panic!("{}: {} [{at}] is {g:?}, the interpreter says {e:?}{}", case.program.name, dtype, operation(case, at));
    }
}

/// What the element of an arithmetic program is, for the message.
fn operation(case: &Case, at: usize) -> String {
    let n = N as usize;
    let dtype = dtype_of(&case.program.params[0]);
    let argument = |which: usize| match &case.args[which] {
        Arg::Bytes(bytes) => format!("{:?}", literal(dtype, &bytes[at % n * dtype.size()..][..dtype.size()])),
        _ => String::new(),
    };
    if case.program.name.starts_with("unary") {
        let ops: Vec<UnaryOp> = programs::unary_ops(dtype);
        format!(": {}({})", ops[at / n], argument(0))
    } else if case.program.name.starts_with("binary") {
        let ops: Vec<BinaryOp> = programs::binary_ops(dtype);
        format!(": {}({}, {})", ops[at / n], argument(0), argument(1))
    } else if case.program.name.starts_with("by_constants") {
        let (op, c) = programs::constant_operations()[at / n];
        format!(": {op}({}, {c})", argument(0))
    } else if case.program.name.starts_with("cast") {
        format!(": cast of {}", argument(0))
    } else {
        String::new()
    }
}
