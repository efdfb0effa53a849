//! Regions written by hand: large reductions, tiles with accumulators, grouped maps, special values.

use super::*;
use smallvec::{SmallVec, smallvec};
use unigrad_kernel::testing::region::{Buffer, Memory, Num};
use unigrad_kernel::{Arg, Grouped, Index, Inst, InstOp, Value};
use unigrad_scalar::{ArgReduceOp, BinaryOp, Literal, ReduceOp, UnaryOp};

/// A region under construction.
pub(super) struct Make(pub(super) Region);

impl Make {
    pub(super) fn new(axes: &[usize], n_parallel: usize) -> Make {
        let axes = SmallVec::from_slice(axes);
        Make(Region { name: "test".into(), axes, n_parallel, args: vec![], scalars: vec![], insts: vec![] })
    }

    pub(super) fn push(&mut self, op: InstOp, dtype: DType) -> Value {
        self.0.insts.push(Inst { op, dtype });
        Value(self.0.insts.len() as u32 - 1)
    }

    pub(super) fn index(strides: &[i64]) -> Index {
        Index { offset: 0, strides: SmallVec::from_slice(strides), dynamic: smallvec![] }
    }

    fn arg(&mut self, dtype: DType, strides: &[i64], write: bool) -> u32 {
        let len = strides.iter().zip(&self.0.axes).map(|(s, e)| *s as usize * e.saturating_sub(1)).sum::<usize>() + 1;
        self.0.args.push(Arg { dtype, len, write });
        self.0.args.len() as u32 - 1
    }

    pub(super) fn load(&mut self, dtype: DType, strides: &[i64]) -> Value {
        let arg = self.arg(dtype, strides, false);
        self.push(InstOp::Load { arg, index: Make::index(strides), mask: None }, dtype)
    }

    pub(super) fn store(&mut self, value: Value, strides: &[i64]) {
        let dtype = self.0.insts[value.index()].dtype;
        let arg = self.arg(dtype, strides, true);
        self.push(InstOp::Store { arg, index: Make::index(strides), value }, dtype);
    }

    pub(super) fn number(&mut self, x: f64) -> Value {
        self.push(InstOp::Const(Literal::float(DType::F32, x)), DType::F32)
    }

    pub(super) fn unary(&mut self, op: UnaryOp, a: Value) -> Value {
        let dtype = if op.gives_bool() { DType::Bool } else { self.0.insts[a.index()].dtype };
        self.push(InstOp::Unary(op, a), dtype)
    }

    pub(super) fn binary(&mut self, op: BinaryOp, a: Value, b: Value) -> Value {
        let dtype = if op.is_comparison() { DType::Bool } else { self.0.insts[a.index()].dtype };
        self.push(InstOp::Binary(op, a, b), dtype)
    }

    pub(super) fn reduce(&mut self, op: ReduceOp, a: Value) -> Value {
        let dtype = self.0.insts[a.index()].dtype;
        self.push(InstOp::Reduce(op, a), dtype)
    }

    /// Buffers filled by a function of argument and element.
    pub(super) fn memory(&self, f: impl Fn(usize, usize) -> f64) -> Memory {
        let bufs = self.0.args.iter().enumerate().map(|(a, arg)| {
            let raw = (0..arg.len).map(|i| Literal::float(arg.dtype, f(a, i)).to_raw()).collect();
            Buffer { dtype: arg.dtype, raw }
        });
        Memory { bufs: bufs.collect() }
    }
}

fn whole(i: usize) -> f64 {
    ((i.wrapping_mul(2_654_435_761) >> 7) % 9) as f64 - 4.0
}

/// Mean, centred sum of squares, extreme and its place: several passes, over whole tensors and columns.
fn statistics(axes: &[usize], n_parallel: usize, strides: &[i64]) -> Region {
    let mut m = Make::new(axes, n_parallel);
    let x = m.load(DType::F32, strides);
    let max = m.reduce(ReduceOp::Max, x);
    let d = m.binary(BinaryOp::Sub, x, max);
    let sum = m.reduce(ReduceOp::Sum, d);
    let at = m.push(InstOp::ArgReduce(ArgReduceOp::ArgMin, d), DType::I64);
    let zero = m.number(0.0);
    let sign = m.binary(BinaryOp::Lt, sum, zero);
    let y = m.push(InstOp::Where(sign, d, x), DType::F32);
    let mut row: Vec<i64> = vec![0; axes.len()];
    let mut step = 1;
    for a in (0..n_parallel).rev() {
        row[a] = step;
        step *= axes[a] as i64;
    }
    m.store(max, &row);
    m.store(sum, &row);
    m.store(at, &row);
    m.store(y, strides);
    m.0
}

#[test]
fn large_reductions_are_split_and_right() {
    let cases: &[(&[usize], usize, &[i64])] = &[
        (&[1_000_003], 0, &[1]),
        (&[3, 150_000], 1, &[150_000, 1]),
        (&[384, 2048], 1, &[1, 384]),
        (&[7, 40_000], 1, &[1, 7]),
        (&[20, 30_000], 1, &[30_000, 1]),
        (&[5000, 10], 1, &[10, 1]),
        (&[600, 100], 1, &[1, 600]),
        (&[4, 300, 500], 2, &[150_000, 1, 300]),
    ];
    for (axes, n_parallel, strides) in cases {
        let region = statistics(axes, *n_parallel, strides);
        let make = Make(region);
        check(&make.0, &make.memory(|_, i| whole(i)), &[]);
    }
}

#[test]
fn long_sums_do_not_lose_ones() {
    for (axes, n_parallel, strides) in [(&[1usize << 24][..], 0, &[1i64][..]), (&[2, 1 << 22][..], 1, &[1, 2][..])] {
        let mut m = Make::new(axes, n_parallel);
        let x = m.load(DType::F32, strides);
        let sum = m.reduce(ReduceOp::Sum, x);
        m.store(sum, if n_parallel == 0 { &[0] } else { &[1, 0] });
        let region = m.0;
        let compiled = CompiledRegion::new(&region).unwrap();
        let mut x = vec![1.0f32; region.args[0].len];
        let mut y = [[0.0f32; 16]];
        let bufs = [
            Buf { ptr: x.as_mut_ptr().cast(), len: x.len(), dtype: DType::F32 },
            Buf { ptr: y.as_mut_ptr().cast(), len: 2, dtype: DType::F32 },
        ];
        // SAFETY: the buffers match.
        unsafe { compiled.run(&bufs, &[]) }.unwrap();
        assert_eq!(y[0][0], axes[n_parallel..].iter().product::<usize>() as f32);
        // A tenth is inexact: the error of a naive sum would be thousands of ulps.
        x.fill(0.1);
        // SAFETY: as above.
        unsafe { compiled.run(&bufs, &[]) }.unwrap();
        let want = f64::from(0.1f32) * axes[n_parallel..].iter().product::<usize>() as f64;
        assert!((f64::from(y[0][0]) / want - 1.0).abs() < 1e-5, "{} {want}", y[0][0]);
    }
}

#[test]
fn results_do_not_depend_on_the_number_of_threads() {
    let mut m = Make::new(&[3, 100_000], 1);
    let x = m.load(DType::F32, &[100_000, 1]);
    let e = m.unary(UnaryOp::Exp, x);
    let sum = m.reduce(ReduceOp::Sum, e);
    let y = m.binary(BinaryOp::Div, e, sum);
    m.store(y, &[100_000, 1]);
    let memory = m.memory(|_, i| (whole(i) * 0.37).sin());
    let compiled = CompiledRegion::new(&m.0).unwrap();
    let run = || {
        let mut launch = Launch::new(&memory);
        // SAFETY: the buffers match.
        unsafe { compiled.run(&launch.bufs(), &[]) }.unwrap();
        launch.result().bufs[1].raw.clone()
    };
    let before = threads();
    let results = [1, 2, 3].map(|n| {
        crate::threads::set_threads(n);
        run()
    });
    crate::threads::set_threads(before);
    assert!(results[0] == results[1] && results[1] == results[2]);
}

#[test]
fn epilogues_take_accumulators() {
    let (rows, cols) = (13, 150);
    let mut m = Make::new(&[rows, cols], 2);
    let acc = m.push(InstOp::Acc, DType::F32);
    let bias = m.load(DType::F32, &[0, 1]);
    let sum = m.binary(BinaryOp::Add, acc, bias);
    let y = m.unary(UnaryOp::Relu, sum);
    m.store(y, &[cols as i64, 1]);
    let memory = m.memory(|_, i| whole(i));
    for tier in tiers() {
        let compiled = CompiledRegion::on(&m.0, tier).unwrap();
        let mut launch = Launch::new(&memory);
        let bufs = launch.bufs();
        let ld = 70;
        for (r, c, h, w) in [(0, 0, 7, 64), (7, 0, 6, 64), (0, 64, 13, 64), (0, 128, 13, 22)] {
            let tile: Vec<f32> =
                (0..h * ld).map(|i| if i % ld < w { whole((r + i / ld) * cols + c + i % ld + 99) as f32 } else { f32::NAN }).collect();
            let at = Tile { start: r * cols + c, pitch: cols, rows: h, cols: w };
            // SAFETY: the buffers match and the tile is covered.
            unsafe { compiled.run_tile(&bufs, &[], at, tile.as_ptr().cast(), ld) }.unwrap();
        }
        let out = launch.result();
        for i in 0..rows * cols {
            let want = (whole(i + 99) + whole(i % cols)).max(0.0);
            assert_eq!(Num::from_raw(DType::F32, out.bufs[1].raw[i]), Num::F(want), "{tier:?} {i}");
        }
    }
}

#[test]
fn grouped_maps_run_every_instance() {
    let lens = vec![5usize, 0, 1, 70_000, 513, 64];
    let mut m = Make::new(&[5], 1);
    let p = m.load(DType::F32, &[1]);
    let rate = m.load(DType::F32, &[0]);
    m.0.scalars.push(DType::F32);
    let scale = m.push(InstOp::Scalar(0), DType::F32);
    let step = m.binary(BinaryOp::Mul, rate, scale);
    let y = m.binary(BinaryOp::Sub, p, step);
    // In place.
    m.0.args[0].write = true;
    m.push(InstOp::Store { arg: 0, index: Make::index(&[1]), value: y }, DType::F32);
    let grouped = Grouped { region: m.0, lens: lens.clone() };
    let kernel = unigrad_kernel::Kernel::Grouped(grouped.clone());
    let args = kernel.args();
    let bufs = args.iter().enumerate().map(|(a, arg)| {
        let raw = (0..arg.len).map(|i| Literal::float(arg.dtype, whole(i + a)).to_raw()).collect();
        Buffer { dtype: arg.dtype, raw }
    });
    let memory = Memory { bufs: bufs.collect() };
    let scalars: Vec<u64> = (0..lens.len()).map(|i| Literal::float(DType::F32, i as f64).to_raw()).collect();
    for tier in tiers() {
        let compiled = CompiledGrouped::on(&grouped, tier).unwrap();
        let mut launch = Launch::new(&memory);
        // SAFETY: the buffers match.
        unsafe { compiled.run(&launch.bufs(), &scalars) }.unwrap();
        let out = launch.result();
        for (g, len) in lens.iter().enumerate() {
            for i in 0..*len {
                let want = whole(i + 2 * g) - whole(2 * g + 1) * g as f64;
                assert_eq!(Num::from_raw(DType::F32, out.bufs[2 * g].raw[i]), Num::F(want), "{tier:?} {g} {i}");
            }
        }
    }
}

/// Each instance of a group that reduces gives what it gives alone, bit for bit, whatever shares the launch and however many threads there are.
#[test]
fn grouped_reductions_are_those_of_each_alone() {
    let mut m = Make::new(&[5], 0);
    let x = m.load(DType::F32, &[1]);
    let scale = m.load(DType::F32, &[0]);
    m.0.scalars.push(DType::F32);
    let add = m.push(InstOp::Scalar(0), DType::F32);
    let y = m.binary(BinaryOp::Mul, x, scale);
    let y = m.binary(BinaryOp::Add, y, add);
    let square = m.binary(BinaryOp::Mul, y, y);
    let total = m.reduce(ReduceOp::Sum, square);
    let size = m.unary(UnaryOp::Abs, y);
    let most = m.reduce(ReduceOp::Max, size);
    let root = m.unary(UnaryOp::Sqrt, total);
    let near = m.binary(BinaryOp::Div, y, root);
    // In place.
    m.0.args[0].write = true;
    m.push(InstOp::Store { arg: 0, index: Make::index(&[1]), value: near }, DType::F32);
    for value in [root, most] {
        m.0.args.push(Arg { dtype: DType::F32, len: 1, write: true });
        let arg = m.0.args.len() as u32 - 1;
        m.push(InstOp::Store { arg, index: Make::index(&[0]), value }, DType::F32);
    }
    let many: Vec<usize> = (0..90).map(|i| (i * 37) % 200).collect();
    // Around a block, a task's work, and what a row is split at.
    let edges = [BLOCK, TASK_WORK, 2 * SPLIT_WORK, 3 * SPLIT_WORK].map(|n| [n - 1, n, n + 1]).concat();
    // Rows of 32, and many of them.
    let mut rows = m.0.clone();
    (rows.axes, rows.n_parallel) = (smallvec![5, 32], 1);
    for inst in &mut rows.insts {
        if let Some((arg, index)) = inst.op.access_mut() {
            index.strides = match arg {
                0 => smallvec![32, 1],
                1 => smallvec![0, 0],
                _ => smallvec![1, 0],
            };
        }
    }
    rows.args[0].len = 5 * 32;
    rows.args[2..].iter_mut().for_each(|arg| arg.len = 5);
    let few = [5usize, 0, 1, 200_000, 513, 64];
    for (region, lens) in [(&m.0, &few[..]), (&m.0, &edges), (&m.0, &many), (&m.0, &[7]), (&rows, &many), (&rows, &[5, 1, 0, 9000, 4])] {
        let grouped = Grouped { region: region.clone(), lens: lens.to_vec() };
        let value = |i: usize| (whole(i) * 0.37 + 0.01).sin();
        let bufs = unigrad_kernel::Kernel::Grouped(grouped.clone()).args().into_iter().enumerate().map(|(a, arg)| {
            let raw = (0..arg.len).map(|i| Literal::float(arg.dtype, value(i + a)).to_raw()).collect();
            Buffer { dtype: arg.dtype, raw }
        });
        let memory = Memory { bufs: bufs.collect() };
        let scalars: Vec<u64> = (0..lens.len()).map(|i| Literal::float(DType::F32, i as f64).to_raw()).collect();
        for tier in tiers() {
            let compiled = CompiledGrouped::on(&grouped, tier).unwrap();
            let mut launch = Launch::new(&memory);
            // SAFETY: the buffers match.
            unsafe { compiled.run(&launch.bufs(), &scalars) }.unwrap();
            let out = launch.result();
            for (g, len) in lens.iter().enumerate() {
                let mine = Memory { bufs: memory.bufs[4 * g..][..4].to_vec() };
                let mut launch = Launch::new(&mine);
                let alone = CompiledRegion::on(&grouped.with_len(*len), tier).unwrap();
                // SAFETY: the buffers match.
                unsafe { alone.run(&launch.bufs(), &scalars[g..][..1]) }.unwrap();
                for (a, (got, want)) in out.bufs[4 * g..][..4].iter().zip(launch.result().bufs).enumerate() {
                    assert!(got.raw == want.raw, "{tier:?}: argument {a} of instance {g} of {len}");
                }
            }
        }
    }
}

/// Every unary and binary operation on floats, special values included, by the scalar definition.
#[test]
fn operations_follow_their_definitions() {
    let special =
        [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.0, -3.0, 1e-40, 88.0, -87.5, 1e7, -3e8, 1e30, f64::NAN, f64::INFINITY, f64::NEG_INFINITY];
    let n = special.len();
    let near = |got: f64, want: f64, dtype: DType| {
        let eps = if dtype == DType::F64 { 1e-13 } else { 1e-6 };
        got == want || got.is_nan() && want.is_nan() || (got - want).abs() <= eps * want.abs() + 1e-37
    };
    for dtype in [DType::F32, DType::F64] {
        let value = |i: usize| Literal::float(dtype, special[i]).as_f64();
        let round = |x: f64| Literal::float(dtype, x).as_f64();
        let mut unary = Make::new(&[n], 1);
        let x = unary.load(dtype, &[1]);
        let ops: Vec<UnaryOp> = UnaryOp::ALL.iter().copied().filter(|op| *op != UnaryOp::BitNot).collect();
        for op in &ops {
            let y = unary.unary(*op, x);
            unary.store(y, &[1]);
        }
        let mut binary = Make::new(&[n, n], 2);
        let (a, b) = (binary.load(dtype, &[1, 0]), binary.load(dtype, &[0, 1]));
        let pairs: Vec<BinaryOp> = BinaryOp::ALL
            .iter()
            .copied()
            .filter(|op| !matches!(op, BinaryOp::And | BinaryOp::Or | BinaryOp::Xor | BinaryOp::Shl | BinaryOp::Shr))
            .collect();
        for op in &pairs {
            let y = binary.binary(*op, a, b);
            binary.store(y, &[n as i64, 1]);
        }
        for tier in tiers() {
            let run = |m: &Make| {
                let mut launch = Launch::new(&m.memory(|_, i| special[i % n]));
                // SAFETY: the buffers match.
                unsafe { CompiledRegion::on(&m.0, tier).unwrap().run(&launch.bufs(), &[]) }.unwrap();
                launch.result()
            };
            let number = |buf: &Buffer, i: usize| match Num::from_raw(buf.dtype, buf.raw[i]) {
                Num::F(x) => x,
                Num::I(x) => x as f64,
            };
            let out = run(&unary);
            for (op, buf) in ops.iter().zip(&out.bufs[1..]) {
                for i in 0..n {
                    let (got, want) = (number(buf, i), round(op.eval(value(i))));
                    assert!(near(got, want, dtype), "{tier:?} {dtype} {op}({}): {got:e}, want {want:e}", value(i));
                }
            }
            let out = run(&binary);
            for (op, buf) in pairs.iter().zip(&out.bufs[2..]) {
                for i in 0..n * n {
                    let (a, b) = (value(i / n), value(i % n));
                    let (got, want) = (number(buf, i), round(op.eval(a, b)));
                    assert!(near(got, want, dtype), "{tier:?} {dtype} {op}({a}, {b}): {got:e}, want {want:e}");
                }
            }
        }
    }
}

/// Every binary operation on integers and truth values, the least, the greatest and 0 among them, by the scalar definition. Truth values are not shifted.
#[test]
fn operations_on_integers_follow_their_definitions() {
    let whole: [i64; 12] = [0, 1, -1, 2, 3, -7, 31, 64, i64::from(i32::MIN), i64::from(i32::MAX), i64::MIN, i64::MAX];
    let n = whole.len();
    for dtype in [DType::I8, DType::U8, DType::I16, DType::U16, DType::I32, DType::U32, DType::I64, DType::U64, DType::Bool] {
        let value = |i: usize| Literal::int(dtype, whole[i % n]);
        let mut m = Make::new(&[n, n], 2);
        let (a, b) = (m.load(dtype, &[1, 0]), m.load(dtype, &[0, 1]));
        let is_shift = |op: &BinaryOp| matches!(op, BinaryOp::Shl | BinaryOp::Shr);
        let ops: Vec<BinaryOp> = BinaryOp::ALL.iter().copied().filter(|op| dtype != DType::Bool || !is_shift(op)).collect();
        for op in &ops {
            let y = m.binary(*op, a, b);
            m.store(y, &[n as i64, 1]);
        }
        let mut memory = m.memory(|_, _| 0.0);
        for buf in &mut memory.bufs[..2] {
            buf.raw.iter_mut().enumerate().for_each(|(i, raw)| *raw = value(i).to_raw());
        }
        for tier in tiers() {
            let mut launch = Launch::new(&memory);
            // SAFETY: the buffers match.
            unsafe { CompiledRegion::on(&m.0, tier).unwrap().run(&launch.bufs(), &[]) }.unwrap();
            for (op, buf) in ops.iter().zip(&launch.result().bufs[2..]) {
                for (i, raw) in buf.raw.iter().enumerate() {
                    let (a, b) = (value(i / n), value(i % n));
                    let width = 8 * dtype.size() as u32;
                    let want = Literal::int(buf.dtype, op.eval_int(a.as_i64(), b.as_i64(), width, !dtype.is_unsigned_int()));
                    assert!(*raw == want.to_raw(), "{tier:?} {dtype} {op}({a:?}, {b:?}): {raw:x}, want {:x}", want.to_raw());
                }
            }
        }
    }
}
