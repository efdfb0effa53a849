//! Regions written by hand: large reductions, rows kept in registers, vectors with tails, grouped maps.

use super::*;
use crate::lower::region::schedule::RowSchedule;
use smallvec::{SmallVec, smallvec};
use unigrad_kernel::testing::region::{Buffer, Memory};
use unigrad_kernel::{Arg, Grouped, Index, Inst, InstOp, Value};
use unigrad_scalar::{ArgReduceOp, BinaryOp, DType, Literal, ReduceOp, UnaryOp};

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

    fn arg(&mut self, dtype: DType, strides: &[i64], write: bool) -> u32 {
        let len = strides.iter().zip(&self.0.axes).map(|(s, e)| *s as usize * e.saturating_sub(1)).sum::<usize>() + 1;
        self.0.args.push(Arg { dtype, len, write });
        self.0.args.len() as u32 - 1
    }

    pub(super) fn index(strides: &[i64]) -> Index {
        Index { offset: 0, strides: SmallVec::from_slice(strides), dynamic: smallvec![] }
    }

    pub(super) fn load(&mut self, dtype: DType, strides: &[i64]) -> Value {
        let arg = self.arg(dtype, strides, false);
        self.push(InstOp::Load { arg, index: Make::index(strides), mask: None }, dtype)
    }

    fn store_as(&mut self, value: Value, dtype: DType, strides: &[i64]) {
        let arg = self.arg(dtype, strides, true);
        let of = self.0.insts[value.index()].dtype;
        self.push(InstOp::Store { arg, index: Make::index(strides), value }, of);
    }

    pub(super) fn store(&mut self, value: Value, strides: &[i64]) {
        let dtype = self.0.insts[value.index()].dtype;
        self.store_as(value, dtype, strides);
    }

    pub(super) fn number(&mut self, dtype: DType, x: f64) -> Value {
        self.push(InstOp::Const(Literal::float(dtype, x)), dtype)
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

pub(super) fn whole(i: usize) -> f64 {
    ((i.wrapping_mul(2_654_435_761) >> 7) % 9) as f64 - 4.0
}

/// Mean, centred sum of squares, extreme and its place: several passes, over whole tensors and columns.
pub(super) fn statistics(dtype: DType, axes: &[usize], n_parallel: usize, strides: &[i64]) -> Make {
    let mut m = Make::new(axes, n_parallel);
    let x = m.load(dtype, strides);
    let max = m.reduce(ReduceOp::Max, x);
    let d = m.binary(BinaryOp::Sub, x, max);
    let sum = m.reduce(ReduceOp::Sum, d);
    let at = m.push(InstOp::ArgReduce(ArgReduceOp::ArgMin, d), DType::I64);
    let zero = m.number(dtype, 0.0);
    let sign = m.binary(BinaryOp::Lt, sum, zero);
    let y = m.push(InstOp::Where(sign, d, x), dtype);
    let mut row: Vec<i64> = vec![0; axes.len()];
    let mut step = 1;
    for a in (0..n_parallel).rev() {
        row[a] = step;
        step *= axes[a] as i64;
    }
    m.store_as(max, DType::F32, &row);
    m.store_as(sum, DType::F32, &row);
    m.store(at, &row);
    m.store(y, strides);
    m
}

#[test]
fn rows_columns_and_large_reductions() {
    let cases: &[(&[usize], usize, &[i64])] = &[
        (&[200_003], 0, &[1]),
        (&[200_000], 0, &[1]),
        (&[3, 80_000], 1, &[80_000, 1]),
        (&[384, 512], 1, &[1, 384]),
        (&[7, 40_000], 1, &[1, 7]),
        (&[20, 10_000], 1, &[10_000, 1]),
        (&[33, 4096], 1, &[4096, 1]),
        (&[5, 4097], 1, &[4097, 1]),
        (&[500, 10], 1, &[10, 1]),
        (&[500, 64], 1, &[64, 1]),
        (&[130, 100], 1, &[1, 130]),
        (&[4, 30, 50], 2, &[1500, 1, 30]),
        (&[4, 300, 200], 2, &[60_000, 1, 300]),
        (&[6, 4, 300], 1, &[300, 1800, 1]),
    ];
    for dtype in [DType::F32, DType::BF16, DType::I64] {
        for (axes, n_parallel, strides) in cases {
            if dtype != DType::F32 && axes.iter().product::<usize>() > 20_000 {
                continue; // for time's sake; halves also lose whole numbers
            }
            let make = statistics(dtype, axes, *n_parallel, strides);
            check(&make.0, &make.memory(|_, i| whole(i)), &[]);
        }
    }
}

/// What an instruction reads that no schedule brings: the program says so, and is refused.
#[test]
fn a_value_that_is_not_there_is_a_mistake() {
    let mut make = Make::new(&[64], 1);
    let sum = make.push(InstOp::Acc, DType::F32);
    let out = make.arg(DType::F32, &[1], true);
    make.push(InstOp::Store { arg: out, index: Make::index(&[1]), value: sum }, DType::F32);
    let lowered = crate::lower::region::region(&make.0, &Target::interpreter()).unwrap();
    let errors = unigrad_ir::validate(&lowered.steps[0].program, &Target::interpreter()).unwrap_err();
    assert!(errors[0].cause.contains("instruction 0 reads the sum of a contraction, which is not there"), "{errors:?}");
}

#[test]
fn softmax_keeps_its_exponentials() {
    for (rows, len) in [(3, 4096), (70, 100), (2, 33), (1, 200_000)] {
        let mut m = Make::new(&[rows, len], 1);
        let x = m.load(DType::F32, &[len as i64, 1]);
        let max = m.reduce(ReduceOp::Max, x);
        let d = m.binary(BinaryOp::Sub, x, max);
        let e = m.unary(UnaryOp::Exp, d);
        let sum = m.reduce(ReduceOp::Sum, e);
        let y = m.binary(BinaryOp::Div, e, sum);
        m.store(y, &[len as i64, 1]);
        let memory = m.memory(|_, i| whole(i));
        // In f64: a long f32 sum in order would be the worse answer.
        let x: Vec<f64> = memory.bufs[0].raw.iter().map(|raw| f64::from(f32::from_bits(*raw as u32))).collect();
        let want: Vec<f64> = x
            .chunks(len)
            .flat_map(|row| {
                let sum = row.iter().map(|x| x.exp()).sum::<f64>();
                row.iter().map(move |x| x.exp() / sum)
            })
            .collect();
        for (name, target) in targets() {
            let lowered = lower(&Kernel::Region(m.0.clone()), &target).unwrap();
            let (got, _) = execute(&lowered, &target, &memory, &[]);
            for (i, (g, w)) in got.bufs[1].raw.iter().zip(&want).enumerate() {
                let g = f64::from(f32::from_bits(*g as u32));
                assert!((g - w).abs() <= 1e-5 * w.abs(), "{name} {rows}x{len} at {i}: {g} {w}");
            }
            if name == "all" && len <= 4096 {
                let program = &lowered.steps[0].program;
                let loads = program.insts.iter().filter(|i| matches!(i.op, unigrad_ir::Op::Load(unigrad_ir::Place::Param(0), _))).count();
                assert_eq!((lowered.steps.len(), loads), (1, 1), "the row is read once");
            }
        }
    }
}

#[test]
fn empty_rows_give_identities_and_empty_domains_nothing() {
    let mut m = Make::new(&[3, 0, 2], 1);
    m.0.args.push(Arg { dtype: DType::F32, len: 0, write: false });
    let x = m.push(InstOp::Load { arg: 0, index: Make::index(&[0, 2, 1]), mask: None }, DType::F32);
    let max = m.reduce(ReduceOp::Max, x);
    let sum = m.reduce(ReduceOp::Sum, x);
    let at = m.push(InstOp::ArgReduce(ArgReduceOp::ArgMax, x), DType::I64);
    for value in [max, sum, at] {
        m.store(value, &[1, 0, 0]);
    }
    check(&m.0, &m.memory(|_, _| 5.0), &[]);
    let mut m = Make::new(&[0, 4], 1);
    let x = m.load(DType::F32, &[4, 1]);
    let sum = m.reduce(ReduceOp::Sum, x);
    m.store(sum, &[1, 0]);
    check(&m.0, &m.memory(|_, _| 5.0), &[]);
    assert!(lower(&Kernel::Region(m.0.clone()), &Target::interpreter()).unwrap().steps.is_empty());
}

#[test]
fn special_values_survive_every_tree() {
    for (axes, n_parallel, strides) in [(&[300usize, 7][..], 1, &[1i64, 300][..]), (&[7, 300], 1, &[300, 1]), (&[200_000], 0, &[1])] {
        let mut m = Make::new(axes, n_parallel);
        let x = m.load(DType::F32, strides);
        let row: Vec<i64> = if n_parallel == 1 { vec![1, 0] } else { vec![0] };
        for op in [ReduceOp::Max, ReduceOp::Min] {
            let y = m.reduce(op, x);
            m.store(y, &row);
        }
        for op in [ArgReduceOp::ArgMax, ArgReduceOp::ArgMin] {
            let y = m.push(InstOp::ArgReduce(op, x), DType::I64);
            m.store(y, &row);
        }
        for special in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            check(&m.0, &m.memory(|_, i| if i % 41 == 17 { special } else { whole(i) }), &[]);
            check(&m.0, &m.memory(|_, _| special), &[]);
        }
    }
}

#[test]
fn maps_of_every_width_and_tail() {
    for dtype in DType::ALL {
        for axes in [&[1usize][..], &[1023], &[4096], &[20_001], &[5, 64], &[7, 33], &[3, 4, 40]] {
            let mut m = Make::new(axes, axes.len());
            let mut dense = vec![1i64; axes.len()];
            (1..axes.len()).rev().for_each(|a| dense[a - 1] = dense[a] * axes[a] as i64);
            let mut column = vec![0i64; axes.len()];
            *column.last_mut().unwrap() = 1;
            let x = m.load(dtype, &dense);
            let y = m.load(dtype, &column);
            let z = m.binary(BinaryOp::Max, x, y);
            m.store(z, &dense);
            m.store_as(z, DType::U8, &dense);
            m.store_as(z, DType::F16, &dense);
            check(&m.0, &m.memory(|a, i| whole(i + a).abs()), &[]);
        }
    }
}

#[test]
fn transposed_copies() {
    for axes in [[40usize, 64], [33, 65], [128, 96]] {
        for dtype in [DType::F32, DType::F16, DType::U8, DType::F64] {
            let mut m = Make::new(&axes, 2);
            let x = m.load(dtype, &[1, axes[0] as i64]);
            m.store(x, &[axes[1] as i64, 1]);
            check(&m.0, &m.memory(|_, i| whole(i).abs()), &[]);
        }
    }
}

/// `w -= lr * g`, in place, and a copy in another type.
fn update(dtype: DType, len: usize) -> Make {
    let mut m = Make::new(&[len], 1);
    m.0.scalars = vec![DType::F32, DType::BF16, DType::U8];
    m.0.args.push(Arg { dtype, len, write: true });
    let w = m.push(InstOp::Load { arg: 0, index: Make::index(&[1]), mask: None }, dtype);
    let g = m.load(dtype, &[1]);
    m.0.args.push(Arg { dtype: DType::F32, len: 1, write: false });
    let scale = m.push(InstOp::Load { arg: 2, index: Make::index(&[0]), mask: None }, DType::F32);
    let lr = m.push(InstOp::Scalar(0), DType::F32);
    let half = m.push(InstOp::Scalar(1), DType::BF16);
    let byte = m.push(InstOp::Scalar(2), DType::U8);
    let half = m.push(InstOp::Cast(half), DType::F32);
    let byte = m.push(InstOp::Cast(byte), DType::F32);
    let step = [half, byte, scale].into_iter().fold(lr, |a, b| m.binary(BinaryOp::Mul, a, b));
    let g = m.push(InstOp::Cast(g), DType::F32);
    let wide = m.push(InstOp::Cast(w), DType::F32);
    let step = m.binary(BinaryOp::Mul, step, g);
    let new = m.binary(BinaryOp::Sub, wide, step);
    m.push(InstOp::Store { arg: 0, index: Make::index(&[1]), value: new }, DType::F32);
    m.store_as(new, DType::F16, &[1]);
    m
}

#[test]
fn grouped_maps_do_every_instance() {
    let many: Vec<usize> = (0..90).map(|i| 2 + (i * 37) % 200).collect();
    for lens in [&[5usize, 1000, 0, 4096, 3][..], &[2048; 7], &[9], &many] {
        for dtype in [DType::F32, DType::BF16, DType::I16] {
            let first = update(dtype, lens[0]);
            let grouped = Grouped { region: first.0.clone(), lens: lens.to_vec() };
            let mut memory = Memory { bufs: vec![] };
            let mut want = Memory { bufs: vec![] };
            let mut scalars = vec![];
            for (i, len) in lens.iter().enumerate() {
                let one = update(dtype, *len);
                let mut mine = one.memory(|a, e| whole(e + 3 * a + i));
                mine.bufs.iter_mut().for_each(|buf| buf.raw.truncate(if buf.raw.len() == 1 { 1 } else { *len }));
                if *len == 0 {
                    mine.bufs.iter_mut().enumerate().filter(|(a, _)| *a != 2).for_each(|(_, buf)| buf.raw.clear());
                }
                let numbers = [Literal::float(DType::F32, 0.5), Literal::float(DType::BF16, 2.0), Literal::int(DType::U8, i as i64 % 3)];
                let words = numbers.map(Literal::to_raw);
                want.bufs.extend(oracle::run(&one.0, &mine, &words).unwrap().bufs);
                memory.bufs.extend(mine.bufs);
                scalars.extend(words);
            }
            for (name, target) in targets() {
                let lowered = lower(&Kernel::Grouped(grouped.clone()), &target).unwrap();
                let (got, _) = execute(&lowered, &target, &memory, &scalars);
                assert_same(&got, &want, &format!("{name}, {dtype}, {lens:?}"));
                let programs: std::collections::HashSet<_> = lowered.steps.iter().map(|step| &step.program).collect();
                assert!(target.tables || programs.len() == 1, "one program for all lengths");
            }
        }
    }
}

/// `total = sum w²`, `rest = sum (w - max |w|)` and in place `w -= max |w|`: reductions in two stages, with stores at every point and once.
fn norms(dtype: DType, len: usize) -> Make {
    let mut m = Make::new(&[len], 0);
    let w = m.load(dtype, &[1]);
    m.0.args[0].write = true;
    let wide = m.push(InstOp::Cast(w), DType::F32);
    let size = m.push(InstOp::Unary(UnaryOp::Abs, wide), DType::F32);
    let square = m.binary(BinaryOp::Mul, wide, wide);
    let (total, most) = (m.reduce(ReduceOp::Sum, square), m.reduce(ReduceOp::Max, size));
    let below = m.binary(BinaryOp::Sub, wide, most);
    let rest = m.reduce(ReduceOp::Sum, below);
    m.push(InstOp::Store { arg: 0, index: Make::index(&[1]), value: below }, DType::F32);
    for value in [total, rest] {
        m.0.args.push(Arg { dtype: DType::F32, len: 1, write: true });
        let arg = m.0.args.len() as u32 - 1;
        m.push(InstOp::Store { arg, index: Make::index(&[0]), value }, DType::F32);
    }
    m
}

#[test]
fn grouped_reductions_do_every_instance() {
    let many: Vec<usize> = (0..90).map(|i| (i * 37) % 200).collect();
    for (name, target) in targets() {
        let schedule = RowSchedule::grouped(&norms(DType::F32, 5).0, &target);
        let step = schedule.arrangement.per_row as usize * schedule.groups * schedule.width;
        // Around a thread's run, a workgroup's walk, and what a row is split at.
        let edges = [schedule.width, step, 4 * step, 8 * step].map(|n| [n - 1, n, n + 1]).concat();
        assert_eq!([0, 1, 8 * step - 1, 8 * step].map(|len| schedule.parts_of(len).0), [1, 1, 1, 2], "{name}");
        for lens in [&[5usize, 1000, 0, 4096, 3, 1][..], &[2048; 7], &[9], &many, &edges] {
            for dtype in [DType::F32, DType::BF16, DType::I16] {
                check_group(name, &target, Grouped { region: norms(dtype, lens[0]).0, lens: lens.to_vec() });
            }
        }
    }
}

/// Compares a group on a target with what the oracle makes of each instance.
fn check_group(name: &str, target: &Target, grouped: Grouped) -> Lowered {
    let (mut memory, mut want) = (Memory { bufs: vec![] }, Memory { bufs: vec![] });
    for (i, len) in grouped.lens.iter().enumerate() {
        let one = Make(grouped.with_len(*len));
        let mine = one.memory(|a, e| whole(e + 3 * a + i));
        want.bufs.extend(oracle::run(&one.0, &mine, &[]).unwrap().bufs);
        memory.bufs.extend(mine.bufs);
    }
    let what = format!("{name}, {:?} over {:?} and {:?}", grouped.region.args[0].dtype, grouped.lens, grouped.region.axes);
    let lowered = lower(&Kernel::Grouped(grouped), target).unwrap_or_else(|refused| panic!("{what}: {refused}"));
    let (got, _) = execute(&lowered, target, &memory, &[]);
    assert_same(&got, &want, &what);
    lowered
}

/// `total = sum of a row of w`, and in place `w -= max of the row + bias`, where one bias serves all rows.
fn rows(dtype: DType, rows: usize, len: usize, strides: [i64; 2]) -> Make {
    let mut m = Make::new(&[rows, len], 1);
    let w = m.load(dtype, &strides);
    m.0.args[0].write = true;
    let bias = m.load(DType::F32, &[0, 1]);
    let wide = m.push(InstOp::Cast(w), DType::F32);
    let (total, most) = (m.reduce(ReduceOp::Sum, wide), m.reduce(ReduceOp::Max, wide));
    let most = m.binary(BinaryOp::Add, most, bias);
    let below = m.binary(BinaryOp::Sub, wide, most);
    m.push(InstOp::Store { arg: 0, index: Make::index(&strides), value: below }, DType::F32);
    m.store(total, &[1, 0]);
    m
}

#[test]
fn grouped_rows_do_every_instance() {
    for (name, target) in targets() {
        let mut n_steps = Vec::new();
        for (len, lens) in [(256usize, &[5usize, 1, 64, 200, 3, 0][..]), (7, &[300, 2, 257, 1]), (3072, &[3, 5]), (1, &[4, 9])] {
            for dtype in [DType::F32, DType::BF16] {
                let region = rows(dtype, lens[0], len, [len as i64, 1]).0;
                n_steps.push(check_group(name, &target, Grouped { region, lens: lens.to_vec() }).steps.len());
            }
        }
        assert_eq!(target.tables && name != FEW_BUFFERS, n_steps[4] == 1, "{name}: {n_steps:?}");
        // Columns, which are of one shape; few long ones go alone.
        for (columns, len) in [(40usize, 70usize), (64, 33), (5, 300), (3, 70_000)] {
            let region = rows(DType::F32, columns, len, [1, columns as i64]).0;
            check_group(name, &target, Grouped { region, lens: vec![columns; 3] });
        }
        // Of one shape, a group may be anything: several parallel axes, several that are reduced.
        for n_parallel in [0, 2] {
            let mut m = Make::new(&[6, 5, 70], n_parallel);
            let x = m.load(DType::F32, &[70, 420, 1]);
            let total = m.reduce(ReduceOp::Sum, x);
            let strides: &[i64] = if n_parallel == 0 { &[0, 0, 0] } else { &[5, 1, 0] };
            m.store(total, strides);
            check_group(name, &target, Grouped { region: m.0, lens: vec![6; 4] });
        }
    }
}

#[test]
fn index_errors_are_reported_once_and_nothing_else_is_touched() {
    let mut m = Make::new(&[300], 1);
    let index = m.load(DType::I64, &[1]);
    let at = m.push(InstOp::Bounded { index, size: 9, from_end: true, check: 0 }, DType::I64);
    m.0.args.push(Arg { dtype: DType::F32, len: 9, write: false });
    let from = Index { offset: 0, strides: smallvec![0], dynamic: smallvec![(at, 1)] };
    let x = m.push(InstOp::Load { arg: 1, index: from, mask: None }, DType::F32);
    m.store(x, &[1]);
    check(&m.0, &m.memory(|a, i| if a == 0 { (i % 18) as f64 - 9.0 } else { i as f64 }), &[]);
    check(&m.0, &m.memory(|a, i| if a == 0 && i == 123 { 9.0 } else { 0.0 }), &[]);
    check(&m.0, &m.memory(|a, i| if a == 0 && i == 123 { -10.0 } else { 0.0 }), &[]);
}

#[test]
fn regions_of_many_buffers_are_divided() {
    for (axes, n_parallel) in [(&[40usize, 70][..], 2), (&[40, 70], 1)] {
        let mut m = Make::new(axes, n_parallel);
        let row: &[i64] = if n_parallel == 1 { &[1, 0] } else { &[70, 1] };
        let loads: Vec<Value> = (0..20)
            .map(|i| m.load(if i % 3 == 0 { DType::F16 } else { DType::F32 }, if i % 4 == 0 { &[1, 0] } else { &[70, 1] }))
            .collect();
        let wide: Vec<Value> = loads.iter().map(|x| m.push(InstOp::Cast(*x), DType::F32)).collect();
        let sum = wide.iter().copied().reduce(|a, b| m.binary(BinaryOp::Add, a, b)).unwrap();
        let half = wide[..9].iter().copied().reduce(|a, b| m.binary(BinaryOp::Sub, a, b)).unwrap();
        m.store(sum, &[70, 1]);
        if n_parallel == 1 {
            let total = m.reduce(ReduceOp::Sum, half);
            m.store(total, row);
            let centred = m.binary(BinaryOp::Sub, sum, total);
            m.store(centred, &[70, 1]);
        } else {
            m.store(half, row);
        }
        check(&m.0, &m.memory(|a, i| whole(i + 7 * a)), &[]);
    }
}
