//! Programs whose memory is placed ahead, and maps that need no room, against the same programs without: the same bits, at the sizes where
//! blocks, runs and vectors end, and where arguments share memory.

use super::directed::Make;
use super::*;
use crate::region::lanes::Lanes;
use crate::region::program::{BLOCK, BlockProgram, LONG_BLOCK, LONG_RUN, MicroOp, PAD};
use unigrad_kernel::{Index, InstOp, Value, parse_regions};
use unigrad_scalar::{BinaryOp, ReduceOp, UnaryOp};

/// Results with and without what is known ahead; `same` puts one argument where another one is.
fn compare(region: &Region, tier: Tier, stream: bool, same: Option<(usize, usize)>, what: &str) {
    let make = Make(region.clone());
    let memory = make.memory(|arg, i| 0.25 + ((arg * 31 + i * 7) % 101) as f64 / 64.0);
    let run = |plain: bool, cut: usize| {
        let mut program = BlockProgram::new(region, tier, true).unwrap();
        if plain {
            (program.roomless, program.bound) = (false, Vec::new());
        }
        let compiled = CompiledRegion { program, parts: 1, stream };
        let mut launch = Launch::new(&memory);
        let mut bufs = launch.bufs();
        if let Some((from, to)) = same {
            bufs[to].ptr = bufs[from].ptr;
        }
        for (start, end) in [(0, cut), (cut, region.rows())] {
            // SAFETY: the buffers match.
            unsafe { compiled.run_rows(&bufs, &[], start, end) }.unwrap();
        }
        launch.result()
    };
    let want = run(true, 0);
    for cut in [0, 1, PAD.min(region.rows())] {
        let got = run(false, cut.min(region.rows()));
        for (arg, (got, want)) in got.bufs.iter().zip(&want.bufs).enumerate() {
            let at = got.raw.iter().zip(&want.raw).position(|(got, want)| got != want);
            assert_eq!(at, None, "{what}, {tier:?}, stream {stream}, cut at {cut}: argument {arg} in\n{}", text(region));
        }
    }
}

/// Mean, deviation, scale, a weight; the mean of each row is stored too.
fn norm(rows: usize, cols: usize, pitch: usize, dtype: DType) -> Region {
    let mut m = Make::new(&[rows, cols], 1);
    let strides = [pitch as i64, 1];
    let (x, w) = (m.load(dtype, &strides), m.load(dtype, &[0, 1]));
    let wide = if dtype == DType::F64 { DType::F64 } else { DType::F32 };
    let (x, w) = if dtype == wide { (x, w) } else { (m.push(InstOp::Cast(x), wide), m.push(InstOp::Cast(w), wide)) };
    let number = |m: &mut Make, value: f64| m.push(InstOp::Const(unigrad_scalar::Literal::float(wide, value)), wide);
    let (inverse, eps) = (number(&mut m, 1.0 / cols as f64), number(&mut m, 1e-5));
    let sum = m.reduce(ReduceOp::Sum, x);
    let mean = m.binary(BinaryOp::Mul, sum, inverse);
    let d = m.binary(BinaryOp::Sub, x, mean);
    let square = m.binary(BinaryOp::Mul, d, d);
    let var = m.reduce(ReduceOp::Sum, square);
    let var = m.binary(BinaryOp::Mul, var, inverse);
    let var = m.binary(BinaryOp::Add, var, eps);
    let scale = m.unary(UnaryOp::Rsqrt, var);
    let y = m.binary(BinaryOp::Mul, d, scale);
    let y = m.binary(BinaryOp::Mul, y, w);
    let y = if dtype == wide { y } else { m.push(InstOp::Cast(y), dtype) };
    m.store(y, &strides);
    m.store(mean, &[1, 0]);
    m.0
}

/// Softmax, whose exponentials are kept, and with them stored as well.
fn softmax(rows: usize, cols: usize, both: bool) -> Region {
    let mut m = Make::new(&[rows, cols], 1);
    let strides = [cols as i64, 1];
    let x = m.load(DType::F32, &strides);
    let max = m.reduce(ReduceOp::Max, x);
    let d = m.binary(BinaryOp::Sub, x, max);
    let e = m.unary(UnaryOp::Exp, d);
    let sum = m.reduce(ReduceOp::Sum, e);
    let y = m.binary(BinaryOp::Div, e, sum);
    m.store(y, &strides);
    if both {
        m.store(e, &strides);
    }
    m.0
}

#[test]
fn rows_are_the_same_at_every_length() {
    let mut lengths: Vec<usize> = [PAD, BLOCK, LONG_BLOCK].into_iter().flat_map(|n| [n - 1, n, n + 1, n + PAD]).collect();
    lengths.extend([3, 2 * LONG_BLOCK + PAD]);
    for tier in tiers() {
        for &cols in &lengths {
            for dtype in [DType::F32, DType::F64, DType::BF16, DType::F16] {
                // Rows that follow each other, and rows apart.
                for pitch in [cols, cols + 3] {
                    compare(&norm(5, cols, pitch, dtype), tier, false, None, "norm");
                }
            }
            for both in [false, true] {
                let region = softmax(5, cols, both);
                for stream in [false, true] {
                    compare(&region, tier, stream, None, "softmax");
                }
                // The result over what it is made of.
                compare(&region, tier, false, Some((0, 1)), "softmax in place");
            }
        }
    }
}

/// `x` by a rule that reads two states and writes them, and a result apart.
fn update(n: usize) -> Make {
    let mut m = Make::new(&[n], 1);
    let (a, b, c) = (m.number(0.9), m.number(0.1), m.number(1e-3));
    let (p, s, g) = (m.load(DType::F32, &[1]), m.load(DType::F32, &[1]), m.load(DType::F32, &[1]));
    let (s, g) = (m.binary(BinaryOp::Mul, s, a), m.binary(BinaryOp::Mul, g, b));
    let s = m.binary(BinaryOp::Add, s, g);
    let root = m.unary(UnaryOp::Sqrt, s);
    let step = m.binary(BinaryOp::Mul, root, c);
    let p = m.binary(BinaryOp::Sub, p, step);
    for (arg, value) in [(0, p), (1, s)] {
        m.0.args[arg as usize].write = true;
        m.push(InstOp::Store { arg, index: Make::index(&[1]), value }, DType::F32);
    }
    m
}

fn stored(mut m: Make, value: Value) -> Region {
    m.store(value, &[1]);
    m.0
}

#[test]
fn maps_are_the_same_at_every_length() {
    for tier in tiers() {
        for n in [1, PAD - 1, PAD, LONG_RUN - 1, LONG_RUN, LONG_RUN + 1, LONG_RUN + PAD, 2 * LONG_RUN + PAD + 1] {
            let in_place = update(n).0;
            let mut m = update(n);
            let last = Value(m.0.insts.len() as u32 - 3);
            let both = stored(
                {
                    m.0.name = "update and a copy".into();
                    m
                },
                last,
            );
            let mut m = Make::new(&[n], 1);
            let (x, y) = (m.load(DType::F32, &[1]), m.load(DType::F32, &[1]));
            let sum = m.binary(BinaryOp::Add, x, y);
            let plain = stored(m, sum);
            // What two operations need, and no other: the chain sets it aside.
            let mut m = Make::new(&[n], 1);
            let (x, y) = (m.load(DType::F32, &[1]), m.load(DType::F32, &[1]));
            let both_need = m.binary(BinaryOp::Mul, x, y);
            let root = m.unary(UnaryOp::Sqrt, both_need);
            let sum = m.binary(BinaryOp::Sub, both_need, root);
            let aside = stored(m, sum);
            let program = BlockProgram::new(&aside, tier, true).unwrap();
            let owns =
                |step: &MicroOp| matches!(step, MicroOp::Chain(chain) if (0..program.slots.len() as u32).any(|slot| chain.owns(slot)));
            assert!(n == 1 || program.roomless && program.row[0].iter().any(owns), "{tier:?} {n}");
            // Every other element of a longer argument, backwards, and the same one for all.
            let strided = [2, -1, 0].map(|stride: i64| {
                let mut region = plain.clone();
                region.args[0].len = 2 * n;
                let InstOp::Load { index, .. } = &mut region.insts[0].op else { panic!("a load comes first") };
                *index = Index { offset: if stride < 0 { n as i64 - 1 } else { 0 }, ..Make::index(&[stride]) };
                region
            });
            for region in [&in_place, &both, &plain, &aside].into_iter().chain(&strided) {
                for stream in [false, true] {
                    compare(region, tier, stream, None, "map");
                }
            }
            compare(&plain, tier, false, Some((0, 2)), "map in place");
            compare(&aside, tier, false, Some((0, 2)), "map in place");
            compare(&plain, tier, false, Some((0, 1)), "map of the same twice");
        }
    }
}

/// What this is for takes part in it: optimizers are one run from end to end, and rows look at no load.
#[test]
fn optimizers_and_rows_are_placed_ahead() {
    let read = |text: &str| parse_regions(text).unwrap_or_else(|error| panic!("{error}"));
    let optimizers = read(include_str!("../../../../../unigrad-testing/tests/snapshots/regions/optimizers.txt"));
    let rows = read(include_str!("../../../../../unigrad-testing/tests/snapshots/regions/rows.txt"));
    for tier in tiers() {
        for region in &optimizers {
            assert!(BlockProgram::new(region, tier, true).unwrap().roomless, "{tier:?} {region}");
        }
        for region in &rows {
            let program = BlockProgram::of(region, tier, Lanes::Elements, true, true).unwrap();
            assert_eq!(program.bound.len(), program.passes.len());
            for (bound, pass) in program.bound.iter().zip(&program.passes) {
                let left = bound.rest.iter().flat_map(|rest| &pass.steps[rest.clone()]);
                let moves = left.filter(|step| matches!(step, MicroOp::Load(_) | MicroOp::Store(_) | MicroOp::Direct(_))).count();
                assert_eq!(moves, 0, "{tier:?} {region}");
            }
        }
    }
}
