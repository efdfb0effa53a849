//! Blocks of whole rows against rows one by one: the same bits, whatever the region, the length and the number of rows.

use super::directed::Make;
use super::*;
use crate::region::fold::{FOLD, SHORT_FOLD, WIDE};
use crate::region::lanes::{Lanes, whole_rows};
use crate::region::program::{BLOCK, BlockProgram};
use smallvec::{SmallVec, smallvec};
use unigrad_kernel::{Arg, Index, InstOp, Value};
use unigrad_scalar::{ArgReduceOp, BinaryOp, Literal, ReduceOp, UnaryOp};

/// The region with these lanes, in blocks of so many rows at most, in tasks that part at `cut`.
fn run(region: &Region, tier: Tier, lanes: Lanes, rows_at_once: usize, cut: usize, memory: &Memory) -> Memory {
    let mut program = BlockProgram::of(region, tier, lanes, true, true).unwrap();
    if lanes == Lanes::WholeRows {
        program.rows_at_once = program.rows_at_once.min(rows_at_once);
    }
    let compiled = CompiledRegion { program, parts: 1, stream: false };
    let mut launch = Launch::new(memory);
    let (bufs, rows) = (launch.bufs(), region.rows());
    for (start, end) in [(0, cut.min(rows)), (cut.min(rows), rows)] {
        // SAFETY: the buffers match.
        unsafe { compiled.run_rows(&bufs, &[], start, end) }.unwrap();
    }
    launch.result()
}

/// The same bits, but that all NaN are one.
fn assert_equal(got: &Memory, want: &Memory, region: &Region, what: &str) {
    for (arg, (got, want)) in got.bufs.iter().zip(&want.bufs).enumerate() {
        for (i, (g, w)) in got.raw.iter().zip(&want.raw).enumerate() {
            let nan = |raw: u64| got.dtype.is_float() && Literal::from_raw(got.dtype, raw).as_f64().is_nan();
            assert!(g == w || nan(*g) && nan(*w), "{what}: argument {arg} element {i}: {g:#x}, not {w:#x} in\n{}", text(region));
        }
    }
}

/// Whole rows in blocks of several sizes, and tasks that part in several places, against elements.
fn compare(region: &Region, memory: &Memory, what: &str) {
    let most = whole_rows(region.rows(), region.row_len());
    for tier in tiers() {
        let want = run(region, tier, Lanes::Elements, 1, 0, memory);
        for rows_at_once in [usize::MAX, 1, 2, most.saturating_sub(1).max(1)] {
            for cut in [0, 1, most] {
                let got = run(region, tier, Lanes::WholeRows, rows_at_once, cut, memory);
                assert_equal(&got, &want, region, &format!("{what}, {tier:?}, {rows_at_once} rows at once, cut at {cut}"));
            }
        }
    }
}

/// Lengths about every threshold, one lane apart near it; up to a block, which elements fold at once.
fn lengths() -> Vec<usize> {
    let near = |n: usize| [n - 1, n, n + 1];
    let mut lengths = vec![1, 2, 3, 7, 8, 9, 3 * PAD + 5, WIDE + FOLD + 17, BLOCK];
    lengths.extend(
        [SHORT_FOLD, 2 * SHORT_FOLD, 3 * SHORT_FOLD, PAD, FOLD, 2 * FOLD, 2 * PAD, 3 * FOLD, WIDE, 2 * WIDE - 1].into_iter().flat_map(near),
    );
    lengths.sort_unstable();
    lengths.dedup();
    lengths
}

/// Numbers that no sum of is exact; zeros of both signs; NaN and infinities where `special`.
fn filled(make: &Make, special: bool) -> Memory {
    let mut memory = make.memory(|a, i| {
        let k = (i.wrapping_mul(2_654_435_761) >> 5) + a * 7;
        match k % 101 {
            0..=9 => [0.0, -0.0][k % 2],
            10 if special => f64::NAN,
            11 if special => f64::INFINITY,
            12 if special => f64::NEG_INFINITY,
            k => (k as f64 - 50.0) / 13.0,
        }
    });
    for (arg, buf) in memory.bufs.iter_mut().enumerate().filter(|(_, buf)| buf.dtype == DType::Bool) {
        buf.raw.iter_mut().enumerate().for_each(|(i, raw)| *raw = u64::from((i + arg) % 3 != 1));
    }
    memory
}

const ALL: [ReduceOp; 4] = [ReduceOp::Sum, ReduceOp::Prod, ReduceOp::Max, ReduceOp::Min];

#[test]
fn every_reduction_of_every_dtype() {
    for dtype in DType::ALL {
        for n in lengths() {
            let most = whole_rows(usize::MAX, n);
            // Long and many rows are slow to check for every dtype.
            let counts: &[usize] =
                if dtype == DType::F32 && n < 70 { &[1, most - 1, most, most + 1, 2 * most + 1] } else { &[most.min(20) + 1] };
            for rows in counts.iter().copied().filter(|rows| *rows > 0) {
                let mut m = Make::new(&[rows, n], 1);
                let x = m.load(dtype, &[n as i64, 1]);
                for op in ALL {
                    let y = m.reduce(op, x);
                    m.store(y, &[1, 0]);
                }
                for op in [ArgReduceOp::ArgMax, ArgReduceOp::ArgMin] {
                    let at = m.push(InstOp::ArgReduce(op, x), DType::I64);
                    m.store(at, &[1, 0]);
                }
                for special in [false, true] {
                    compare(&m.0, &filled(&m, special), &format!("{dtype} [{rows}, {n}]"));
                }
            }
        }
    }
}

/// Equal extremes of both signs of zero, and rows of nothing but them.
#[test]
fn zeros_and_nan_have_the_same_bits() {
    for n in lengths() {
        let mut m = Make::new(&[9, n], 1);
        let x = m.load(DType::F32, &[n as i64, 1]);
        for op in ALL {
            let y = m.reduce(op, x);
            m.store(y, &[1, 0]);
        }
        for seed in 0..4usize {
            let memory = m.memory(|_, i| if ((i + seed).wrapping_mul(2_654_435_761) >> 9) & (1 + seed / 2) == 0 { 0.0 } else { -0.0 });
            compare(&m.0, &memory, &format!("zeros of [9, {n}], {seed}"));
        }
    }
}

/// A norm with all that a region may have: masks, choices, row values of loads, columns, a kept value, several reduce axes, halves, stores
/// of both levels and an update in place. `views` says how the arguments lie.
fn busy(rows: [usize; 2], cols: [usize; 2], dtype: DType, transposed: bool) -> Make {
    let [r0, r1, c0, c1] = [rows[0], rows[1], cols[0], cols[1]].map(|n| n as i64);
    let mut m = Make::new(&[rows[0], rows[1], cols[0], cols[1]], 2);
    let dense = [r1 * c0 * c1, c0 * c1, c1, 1];
    let turned = [c0 * c1, r0 * c0 * c1, 1, c0];
    let strides = if transposed { turned } else { dense };
    let x = m.load(dtype, &strides);
    let updated = m.0.args.len() as u32;
    let u = m.load(DType::F32, &dense);
    let w = m.load(dtype, &[0, 0, c1, 1]);
    let b = m.load(DType::F32, &[0, 0, 1, 0]);
    let row = m.load(DType::F32, &[r1, 1, 0, 0]);
    let half = m.load(DType::F32, &[1, 0, 0, 0]);
    let on = m.load(DType::Bool, &dense);
    let flag = m.load(DType::Bool, &[r1, 1, 0, 0]);
    let x = m.push(InstOp::Cast(x), DType::F32);
    let w = m.push(InstOp::Cast(w), DType::F32);
    // Only where the mask says so.
    let masked = m.load(DType::F32, &dense);
    if let InstOp::Load { mask, .. } = &mut m.0.insts[masked.index()].op {
        *mask = Some(on);
    }
    let at = m.push(InstOp::AxisIndex(3), DType::I64);
    let at = m.push(InstOp::Cast(at), DType::F32);
    let from = m.push(InstOp::AxisIndex(1), DType::I64);
    let from = m.push(InstOp::Cast(from), DType::F32);
    let max = m.reduce(ReduceOp::Max, x);
    let d = m.binary(BinaryOp::Sub, x, max);
    let e = m.unary(UnaryOp::Exp, d);
    let wide = m.unary(UnaryOp::Exp, w);
    let e = m.binary(BinaryOp::Mul, e, wide);
    let sum = m.reduce(ReduceOp::Sum, e);
    let y = m.binary(BinaryOp::Div, e, sum);
    let y = m.binary(BinaryOp::Mul, y, row);
    let y = m.binary(BinaryOp::Add, y, b);
    let y = m.binary(BinaryOp::Add, y, masked);
    let y = m.push(InstOp::Where(flag, y, u), DType::F32);
    let y = m.push(InstOp::Where(on, y, half), DType::F32);
    let scaled = m.binary(BinaryOp::Mul, y, at);
    let scaled = m.binary(BinaryOp::Add, scaled, from);
    let second = m.reduce(ReduceOp::Sum, scaled);
    let most = m.push(InstOp::ArgReduce(ArgReduceOp::ArgMax, scaled), DType::I64);
    let long = m.push(InstOp::Cast(y), DType::F64);
    let exact = m.reduce(ReduceOp::Sum, long);
    let of_columns = m.reduce(ReduceOp::Sum, wide);
    let root = m.unary(UnaryOp::Tanh, second);
    let root = m.binary(BinaryOp::Add, root, of_columns);
    let z = m.binary(BinaryOp::Mul, y, root);
    let more = m.binary(BinaryOp::Gt, z, sum);
    let out = m.push(InstOp::Cast(z), dtype);
    m.store(out, &strides);
    m.store(more, &dense);
    // A row's number for each element, and a number for each row.
    m.store(second, &dense);
    for value in [sum, most, exact, root] {
        m.store(value, &[r1, 1, 0, 0]);
    }
    m.0.args[updated as usize].write = true;
    m.push(InstOp::Store { arg: updated, index: Make::index(&dense), value: z }, DType::F32);
    m
}

#[test]
fn busy_regions_have_the_same_bits() {
    let cols = [[1, 2], [2, 4], [3, 3], [4, 4], [5, 13], [1, 63], [8, 8], [2, 50], [1, 128], [16, 16], [7, 37], [2, 255], [1, 512]];
    for [c0, c1] in cols {
        let most = whole_rows(usize::MAX, c0 * c1);
        for rows in [[1, 1], [1, 2], [3, 5], [1, most], [1, most + 1], [2, most]] {
            for dtype in [DType::F32, DType::BF16, DType::F16, DType::F64] {
                for transposed in [false, true] {
                    if rows[0] * rows[1] * c0 * c1 > 3000 && dtype != DType::F32 {
                        continue;
                    }
                    let m = busy(rows, [c0, c1], dtype, transposed);
                    compare(&m.0, &filled(&m, false), &format!("{dtype} {rows:?} {c0} x {c1}"));
                }
            }
        }
    }
}

/// Indices from an argument, into a table and out to one; by row and by element.
fn gathered(rows: usize, n: usize, size: i64) -> Make {
    let mut m = Make::new(&[rows, n], 1);
    let dense = [n as i64, 1];
    let (by_row, by_point) = (m.load(DType::I64, &[1, 0]), m.load(DType::I64, &dense));
    let bound = |m: &mut Make, index: Value| m.push(InstOp::Bounded { index, size, from_end: true, check: 0 }, DType::I64);
    let (by_row, by_point) = (bound(&mut m, by_row), bound(&mut m, by_point));
    let table = |m: &mut Make, value: Value, strides: &[i64], stride: i64| {
        m.0.args.push(Arg { dtype: DType::F32, len: size as usize * n, write: false });
        let arg = m.0.args.len() as u32 - 1;
        let index = Index { offset: 0, strides: SmallVec::from_slice(strides), dynamic: smallvec![(value, stride)] };
        m.push(InstOp::Load { arg, index, mask: None }, DType::F32)
    };
    let x = table(&mut m, by_row, &[0, 1], n as i64);
    let y = table(&mut m, by_point, &[0, 0], 1);
    let product = m.binary(BinaryOp::Mul, x, y);
    let sum = m.reduce(ReduceOp::Sum, product);
    let z = m.binary(BinaryOp::Div, product, sum);
    // Where no other row is: from the end.
    let (top, row) =
        (m.push(InstOp::Const(Literal::int(DType::I64, rows as i64 - 1)), DType::I64), m.push(InstOp::AxisIndex(0), DType::I64));
    let to = m.binary(BinaryOp::Sub, top, row);
    for (value, strides, stride, len) in [(z, [0, 1], n as i64, rows * n), (sum, [0, 0], 1, rows)] {
        m.0.args.push(Arg { dtype: DType::F32, len, write: true });
        let arg = m.0.args.len() as u32 - 1;
        let index = Index { offset: 0, strides: SmallVec::from_slice(&strides), dynamic: smallvec![(to, stride)] };
        m.push(InstOp::Store { arg, index, value }, DType::F32);
    }
    m
}

#[test]
fn gathers_have_the_same_bits_and_faults_are_told() {
    let size = 11i64;
    for n in [2, 9, 64, 100, 300] {
        for rows in [2, 5, whole_rows(usize::MAX, n) + 1] {
            let m = gathered(rows, n, size);
            let mut memory = filled(&m, false);
            for buf in memory.bufs.iter_mut().filter(|buf| buf.dtype == DType::I64) {
                buf.raw.iter_mut().enumerate().for_each(|(i, raw)| *raw = ((i * 7 % 22) as i64 - 11) as u64);
            }
            compare(&m.0, &memory, &format!("gathers [{rows}, {n}]"));
            // One that is out of range, in the last row.
            for (arg, at) in [(0, rows - 1), (1, rows * n - 1)] {
                let mut bad = memory.clone();
                bad.bufs[arg].raw[at] = size as u64;
                for tier in tiers() {
                    let program = BlockProgram::of(&m.0, tier, Lanes::WholeRows, true, true).unwrap();
                    let compiled = CompiledRegion { program, parts: 1, stream: false };
                    let mut launch = Launch::new(&bad);
                    // SAFETY: the buffers match.
                    let fault = unsafe { compiled.run(&launch.bufs(), &[]) }.unwrap_err();
                    assert!(matches!(fault, Fault::Index { index, size: 11 } if index == size), "{fault:?}");
                }
            }
        }
    }
}

/// One memory for two arguments: what is written is read at the same point only.
#[test]
fn arguments_that_share_memory() {
    for n in [16, 64, 100, 256] {
        let rows = 2 * whole_rows(usize::MAX, n) + 1;
        let mut m = Make::new(&[rows, n], 1);
        let dense = [n as i64, 1];
        let x = m.load(DType::F32, &dense);
        let sum = m.reduce(ReduceOp::Sum, x);
        let y = m.binary(BinaryOp::Sub, x, sum);
        let y = m.unary(UnaryOp::Exp, y);
        let most = m.reduce(ReduceOp::Max, y);
        let y = m.binary(BinaryOp::Div, y, most);
        m.store(y, &dense);
        let memory = filled(&m, false);
        for tier in tiers() {
            let [got, want] = [Lanes::WholeRows, Lanes::Elements].map(|lanes| {
                let program = BlockProgram::of(&m.0, tier, lanes, true, true).unwrap();
                let compiled = CompiledRegion { program, parts: 1, stream: false };
                let mut launch = Launch::new(&memory);
                let mut bufs = launch.bufs();
                bufs[1].ptr = bufs[0].ptr;
                // SAFETY: the buffers match.
                unsafe { compiled.run(&bufs, &[]) }.unwrap();
                launch.result().bufs[0].raw.clone()
            });
            assert!(got == want, "{tier:?} [{rows}, {n}]");
        }
    }
}

/// Which kind a region gets depends on sizes and strides alone, and is the one that the rule says.
#[test]
fn rows_of_a_few_vectors_are_whole() {
    let kind = |rows: usize, n: usize, strides: [i64; 2]| {
        let mut m = Make::new(&[rows, n], 1);
        let x = m.load(DType::F32, &strides);
        let sum = m.reduce(ReduceOp::Sum, x);
        m.store(sum, &[1, 0]);
        Lanes::of(&m.0)
    };
    assert_eq!(kind(1000, 64, [64, 1]), Lanes::WholeRows);
    assert_eq!(kind(1000, 16, [16, 1]), Lanes::WholeRows);
    assert_eq!(kind(1000, 10, [10, 1]), Lanes::Rows);
    assert_eq!(kind(1000, 64, [1, 1000]), Lanes::Rows);
    assert_eq!(kind(1000, 4096, [4096, 1]), Lanes::Elements);
    assert_eq!(kind(1, 64, [64, 1]), Lanes::Elements);
}
