//! Rows around the limits of what stays in registers and in shared memory, with numbers that break sums of exponentials.

use super::directed::{Make, statistics, whole};
use super::*;
use crate::lower::region::{body::Body, row_plan::RowPlan, schedule::Kept, simplify::simplify};
use unigrad_ir::{Op, Place};
use unigrad_kernel::Value;
use unigrad_scalar::{BinaryOp, DType, ReduceOp, UnaryOp};

/// Small ones, so that limits are near; with one compute unit no row is split.
fn small() -> Vec<(&'static str, Target)> {
    let all = Target { max_threads: 64, shared_bytes: 24 << 10, compute_units: 1, ..Target::interpreter() };
    vec![
        ("small", all.clone()),
        ("small, no subgroups, no vectors", Target { subgroup: None, vectors: false, ..all.clone() }),
        ("small, words in shared memory", Target { dialect: Dialect::Wgsl, subgroup: None, tables: false, ..all.clone() }),
        ("small, subgroups of 8, few workgroups", Target { subgroup: Some(8), max_grid: [2, 8, 8], ..all.clone() }),
        ("small, next to no shared memory", Target { shared_bytes: 1 << 10, ..all }),
    ]
}

fn plan(region: &Region, target: &Target) -> (usize, Kept, usize) {
    let region = simplify(region);
    let body = Body::new(&region, target, vec![None; region.args.len()], vec![None; region.scalars.len()], None);
    let plan = RowPlan::new(&body, target);
    (plan.passes.len(), plan.schedule.kept, plan.schedule.splits)
}

fn kept(region: &Region, target: &Target) -> Kept {
    plan(region, target).1
}

/// Lengths one below, at and above the last row (of whole vectors) in registers, and in shared memory.
fn limits(make: impl Fn(usize) -> Region, target: &Target) -> Vec<usize> {
    const STEP: usize = 8;
    let last = |is_kept: &dyn Fn(Kept) -> bool| {
        (1..4096).map(|i| STEP * i).take_while(|len| is_kept(kept(&make(*len), target))).last().unwrap_or(STEP)
    };
    let registers = last(&|kept| matches!(kept, Kept::InRegisters(_)));
    let shared = last(&|kept| kept != Kept::Nothing);
    let mut lens: Vec<usize> = [registers, shared].into_iter().flat_map(|n| [n - 1, n, n + 1, n + STEP]).collect();
    lens.dedup();
    lens
}

/// `loss = log(softmax(x))[label]`, 0 for a label that is no class; in place `x = (hot(label) - softmax(x)) * -1/4`, where nothing is hot, 0.
fn entropy(dtype: DType, rows: usize, len: usize, swapped: bool) -> Make {
    let mut m = Make::new(&[rows, len], 1);
    let compute = dtype.compute();
    let class = m.push(InstOp::AxisIndex(1), DType::I64);
    let label = m.load(DType::I64, &[1, 0]);
    let strides = [len as i64, 1];
    let stored = m.load(dtype, &strides);
    m.0.args[1].write = true;
    let x = m.push(InstOp::Cast(stored), compute);
    let hot = if swapped { m.binary(BinaryOp::Eq, label, class) } else { m.binary(BinaryOp::Eq, class, label) };
    let max = m.reduce(ReduceOp::Max, x);
    let d = m.binary(BinaryOp::Sub, x, max);
    let e = m.unary(UnaryOp::Exp, d);
    let sum = m.reduce(ReduceOp::Sum, e);
    let log = m.unary(UnaryOp::Log, sum);
    let y = m.binary(BinaryOp::Sub, d, log);
    let zero = m.number(compute, 0.0);
    let chosen = m.push(InstOp::Where(hot, y, zero), compute);
    let loss = m.reduce(ReduceOp::Sum, chosen);
    m.store(loss, &[1, 0]);
    let factor = m.number(compute, -0.25);
    let of_class = m.push(InstOp::Where(hot, factor, zero), compute);
    let p = m.unary(UnaryOp::Exp, y);
    let total = m.reduce(ReduceOp::Sum, of_class);
    let p = m.binary(BinaryOp::Mul, p, total);
    let dx = m.binary(BinaryOp::Sub, of_class, p);
    m.push(InstOp::Store { arg: 1, index: Make::index(&strides), value: dx }, compute);
    m
}

/// Rows that sums of exponentials may fail at, by number.
fn logit(kind: usize, i: usize, len: usize) -> f64 {
    match kind {
        0 => whole(i) / 2.0,
        1 => f64::NEG_INFINITY,
        2 if i < len - 1 => f64::NEG_INFINITY,
        3 if i > 0 => f64::NEG_INFINITY,
        4 if i == len / 2 => f64::INFINITY,
        5 if i == len / 3 => f64::NAN,
        6 if i != len / 2 => -60_000.0,
        7 => -3.0,
        8 => 60_000.0,
        // The greatest element so far is another one again and again.
        9 => 20.0 * i as f64 / len as f64 - 10.0,
        10 if i == len - 1 => f64::INFINITY,
        11 if i == 0 => f64::NAN,
        _ => whole(i) / 2.0,
    }
}
const KINDS: usize = 12;

fn number(dtype: DType, raw: u64) -> f64 {
    match Num::from_raw(dtype, raw) {
        Num::F(x) => x,
        Num::I(x) => x as f64,
    }
}

#[track_caller]
fn close(got: f64, want: f64, dtype: DType, what: &dyn Fn() -> String) {
    let (relative, least) = match dtype {
        DType::BF16 => (1e-2, 1e-30),
        DType::F16 => (2e-3, 1e-7),
        DType::F64 => (1e-11, 1e-300),
        _ => (2e-5, 1e-36),
    };
    let same = got == want || got.is_nan() && want.is_nan() || (got - want).abs() <= relative * want.abs() + least;
    assert!(same, "{}: {got}, not {want}", what());
}

/// The loss and the gradient of a row.
fn expected(x: &[f64], label: i64) -> (f64, Vec<f64>) {
    let max = x.iter().copied().fold(f64::NEG_INFINITY, |a, b| if a.is_nan() || b.is_nan() { f64::NAN } else { a.max(b) });
    let log = x.iter().map(|x| (x - max).exp()).sum::<f64>().ln();
    let y = |i: usize| x[i] - max - log;
    let at = usize::try_from(label).ok().filter(|at| *at < x.len());
    let total = if at.is_some() { -0.25 } else { 0.0 };
    let dx = (0..x.len()).map(|i| if at == Some(i) { -0.25 } else { 0.0 } - y(i).exp() * total).collect();
    (at.map_or(0.0, y), dx)
}

fn check_entropy(dtype: DType, rows: usize, len: usize, name: &str, target: &Target) {
    let m = entropy(dtype, rows, len, len % 2 == 1);
    let labels = [0, len as i64 - 1, len as i64 / 2, -1, len as i64, i64::MAX, i64::MIN, len as i64 / 3];
    let mut memory = m.memory(|arg, i| if arg == 1 { logit(i / len % KINDS, i % len, len) } else { 0.0 });
    for (row, raw) in memory.bufs[0].raw.iter_mut().enumerate() {
        *raw = labels[(row + len) % labels.len()] as u64;
    }
    let lowered = lower(&Kernel::Region(m.0.clone()), target).unwrap();
    let (got, fault) = execute(&lowered, target, &memory, &[]);
    assert!(!fault);
    for row in 0..rows {
        let x: Vec<f64> = memory.bufs[1].raw[row * len..][..len].iter().map(|raw| number(dtype, *raw)).collect();
        let (loss, dx) = expected(&x, memory.bufs[0].raw[row] as i64);
        let what = |part: &str| format!("{name}: {dtype} {rows}x{len}, row {row}: {part}");
        close(number(dtype.compute(), got.bufs[2].raw[row]), loss, dtype.compute(), &|| what("loss"));
        for (i, want) in dx.iter().enumerate() {
            close(number(dtype, got.bufs[1].raw[row * len + i]), *want, dtype, &|| what(&format!("gradient {i}")));
        }
    }
}

#[test]
fn cross_entropy_around_every_limit() {
    for (name, target) in small() {
        for dtype in [DType::F32, DType::BF16, DType::F16, DType::F64] {
            let lens = limits(|len| entropy(dtype, 2, len, false).0, &target);
            for len in [1, 2, 7].into_iter().chain(lens) {
                // All kinds of rows for one dtype, for time's sake.
                check_entropy(dtype, if dtype == DType::F32 { KINDS } else { 3 }, len, name, &target);
            }
        }
    }
}

#[test]
fn every_way_to_keep_a_row_is_met() {
    let ways = |target: &Target| {
        let lens = limits(|len| entropy(DType::F32, 2, len, false).0, target);
        lens.into_iter().map(|len| plan(&entropy(DType::F32, 2, len, false).0, target)).collect::<Vec<_>>()
    };
    for (name, target) in small() {
        let ways = ways(&target);
        assert!(ways.iter().any(|(_, kept, _)| matches!(kept, Kept::InRegisters(_))), "{name}: {ways:?}");
        let little = target.shared_bytes < 16 << 10;
        assert_eq!(ways.iter().any(|(_, kept, _)| *kept == Kept::InShared), !little, "{name}: {ways:?}");
        // The greatest element and the sum in one walk, the gradient in another; a row that is kept may be walked over more often.
        assert!(ways.iter().all(|(walks, kept, _)| *walks == if *kept == Kept::Nothing { 2 } else { 3 }), "{name}: {ways:?}");
    }
}

/// The logits of a language model: what a device with much shared memory does with them.
#[test]
fn logits_of_a_large_vocabulary_are_read_once() {
    let target = Target { compute_units: 132, shared_bytes: 227 << 10, ..Target::interpreter() };
    let planned = |dtype, len: usize| {
        let region = entropy(dtype, 32_768, len, false).0;
        let lowered = lower(&Kernel::Region(region.clone()), &target).unwrap();
        let [step] = &lowered.steps[..] else { panic!("{} launches", lowered.steps.len()) };
        let insts = &step.program.insts;
        let exp = insts.iter().position(|inst| matches!(inst.op, Op::Unary(UnaryOp::Exp, _) | Op::ApproxExp2(_))).unwrap();
        // Both exponentials of a row that is stored in 16 bits.
        assert_eq!(insts.iter().any(|inst| matches!(inst.op, Op::Unary(UnaryOp::Exp, _))), dtype != DType::BF16);
        // Beside what is read before the first exponential, one load is the label's.
        let later = insts[exp..].iter().filter(|inst| matches!(inst.op, Op::Load(Place::Param(2), _))).count();
        (kept(&region, &target), step.program.threads(), later)
    };
    for len in [50_257, 50_304] {
        let (kept, threads, later) = planned(DType::BF16, len);
        assert_eq!((kept, threads), (Kept::InShared, 512), "two rows fit into a processor's memory");
        assert!(later <= 1, "{later} loads");
        assert_eq!(planned(DType::F32, len), (Kept::InShared, 1024, later));
        assert_eq!(planned(DType::F64, len).0, Kept::Nothing);
    }
    let few = Target { shared_bytes: 48 << 10, ..target.clone() };
    assert_eq!(plan(&entropy(DType::BF16, 32_768, 50_304, false).0, &few), (2, Kept::Nothing, 1));
}

#[test]
fn statistics_around_every_limit() {
    for (name, target) in small() {
        for dtype in [DType::F32, DType::F16, DType::F64, DType::I64] {
            let strides = |len: usize| [len as i64, 1];
            for len in limits(|len| statistics(dtype, &[2, len], 1, &strides(len)).0, &target) {
                let m = statistics(dtype, &[2, len], 1, &strides(len));
                // Whole numbers small enough for their sums to be exact in half types.
                let memory = m.memory(|_, i| if i % 37 == 5 { whole(i) } else { 4.0 });
                let want = oracle::run(&m.0, &memory, &[]).unwrap();
                let lowered = lower(&Kernel::Region(m.0.clone()), &target).unwrap();
                let (got, _) = execute(&lowered, &target, &memory, &[]);
                assert_same(&got, &want, &format!("{name}: {dtype} of {len}"));
            }
        }
    }
}

/// Softmax of rows that are read again, in one launch and in several.
#[test]
fn sums_of_exponentials_share_a_walk() {
    let little = Target { shared_bytes: 1 << 10, max_threads: 64, ..Target::interpreter() };
    let targets = [
        ("one launch", Target { max_buffers: 3, ..little.clone() }),
        ("one launch, no subgroups", Target { max_buffers: 3, subgroup: None, ..little.clone() }),
        ("several launches", Target { compute_units: 40, ..little.clone() }),
        ("several launches, no subgroups", Target { compute_units: 40, subgroup: None, vectors: false, ..little }),
    ];
    for (name, target) in targets {
        let is_split = target.max_buffers > 3;
        for (rows, len, dtype) in [(3, 50_000, DType::F32), (1, 150_001, DType::F32), (2, 70_000, DType::F16)] {
            let mut m = Make::new(&[rows, len], 1);
            let x = m.load(dtype, &[len as i64, 1]);
            let x = m.push(InstOp::Cast(x), DType::F32);
            let max = m.reduce(ReduceOp::Max, x);
            let d = m.binary(BinaryOp::Sub, x, max);
            let e = m.unary(UnaryOp::Exp, d);
            let sum = m.reduce(ReduceOp::Sum, e);
            let y = m.binary(BinaryOp::Div, e, sum);
            m.store(y, &[len as i64, 1]);
            m.store(sum, &[1, 0]);
            let (walks, kept, splits) = plan(&m.0, &target);
            assert_eq!((kept, splits > 1), (Kept::Nothing, is_split && rows * len >= 1 << 17), "{name}");
            // A thread that adds very often keeps what it loses, which a sum that is shifted cannot.
            assert!(walks == 2 || splits == 1, "{name}: {walks} walks");
            for kind in if rows == 1 { vec![0, 2, 3, 9] } else { vec![0] } {
                let memory = m.memory(|_, i| logit(if rows == 1 { kind } else { i / len }, i % len, len));
                let lowered = lower(&Kernel::Region(m.0.clone()), &target).unwrap();
                let (got, _) = execute(&lowered, &target, &memory, &[]);
                for row in 0..rows {
                    let x: Vec<f64> = memory.bufs[0].raw[row * len..][..len].iter().map(|raw| number(dtype, *raw)).collect();
                    let max = x.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                    let sum: f64 = x.iter().map(|x| (x - max).exp()).sum();
                    close(number(DType::F32, got.bufs[2].raw[row]), sum, DType::F32, &|| format!("{name}: the sum of row {row}"));
                    for (i, x) in x.iter().enumerate() {
                        let y = number(DType::F32, got.bufs[1].raw[row * len + i]);
                        close(y, (x - max).exp() / sum, DType::F32, &|| format!("{name}: {rows}x{len} at {row}, {i}"));
                    }
                }
            }
        }
    }
}

/// `y = sum(where(i == label, x, 0))` and what else is asked of a row.
fn picked(dtype: DType, axes: [usize; 2], strides: [i64; 2], in_place: bool) -> Make {
    let mut m = Make::new(&axes, 1);
    let x = m.load(dtype, &strides);
    let label = m.load(DType::I32, &[1, 0]);
    let at = m.push(InstOp::AxisIndex(1), DType::I64);
    let label = m.push(InstOp::Cast(label), DType::I64);
    let hot = m.binary(BinaryOp::Eq, at, label);
    let zero = m.number(dtype, 0.0);
    let x = m.push(InstOp::Where(hot, x, zero), dtype);
    let y = m.reduce(ReduceOp::Sum, x);
    m.store(y, &[1, 0]);
    if in_place {
        // It is overwritten by its negative, and the other way round in `rest`, which is complete only afterwards.
        m.0.args[0].write = true;
        let loaded = Value(0);
        let minus = m.unary(UnaryOp::Neg, loaded);
        let shifted = m.binary(BinaryOp::Add, minus, y);
        m.push(InstOp::Store { arg: 0, index: Make::index(&strides), value: shifted }, dtype);
        let total = m.reduce(ReduceOp::Max, shifted);
        let part = m.binary(BinaryOp::Sub, loaded, total);
        let part = m.push(InstOp::Where(hot, part, zero), dtype);
        let rest = m.reduce(ReduceOp::Sum, part);
        m.store(rest, &[1, 0]);
    }
    m
}

#[test]
fn a_picked_point_is_what_the_sum_is() {
    for dtype in [DType::F32, DType::BF16, DType::F64] {
        for (axes, strides) in [([5, 300], [300, 1]), ([300, 7], [1, 300]), ([64, 24], [24, 1]), ([3, 1], [1, 1]), ([2, 5000], [5000, 1])] {
            for in_place in [false, true] {
                let m = picked(dtype, axes, strides, in_place);
                for special in [0.0, -0.0, f64::NAN, f64::INFINITY] {
                    let memory = m.memory(|arg, i| match arg {
                        1 => [0.0, 1.0, axes[1] as f64 - 1.0, axes[1] as f64, -1.0, -2e9, 2e9][i % 7],
                        _ if i % 5 == 0 => special,
                        _ => whole(i),
                    });
                    check(&m.0, &memory, &[]);
                    let lowered = lower(&Kernel::Region(m.0.clone()), &Target::interpreter()).unwrap();
                    let (got, _) = execute(&lowered, &Target::interpreter(), &memory, &[]);
                    let zeros = got.bufs[2].raw.iter().map(|raw| number(m.0.insts[0].dtype, *raw)).filter(|y| *y == 0.0);
                    // A sum of one element is that element.
                    assert!(axes[1] == 1 || zeros.into_iter().all(f64::is_sign_positive), "zeros and a negative zero are zero");
                }
            }
        }
    }
}

#[test]
fn nothing_is_walked_over_for_a_picked_point() {
    let m = picked(DType::F32, [4096, 50_000], [50_000, 1], false);
    let target = Target { compute_units: 132, ..Target::interpreter() };
    assert_eq!(plan(&m.0, &target).0, 0);
    let lowered = lower(&Kernel::Region(m.0), &target).unwrap();
    assert!(lowered.steps[0].grid[0] <= 4096 / 32, "a thread for each row: {:?}", lowered.steps[0].grid);
    // What another walk needs anyway is a reduction of it where the launch overwrites it.
    let late = picked(DType::F32, [4096, 5000], [5000, 1], true);
    assert_eq!(plan(&late.0, &target).0, 2);
}

#[test]
fn a_row_of_other_arguments_is_kept_as_far_as_it_fits() {
    let target = small()[0].1.clone();
    let two = |len: usize| {
        let mut m = Make::new(&[2, len], 1);
        let (x, y) = (m.load(DType::F32, &[len as i64, 1]), m.load(DType::F32, &[len as i64, 1]));
        let z = m.binary(BinaryOp::Add, x, y);
        let sum = m.reduce(ReduceOp::Sum, z);
        let d = m.binary(BinaryOp::Sub, z, sum);
        m.store(d, &[len as i64, 1]);
        m
    };
    let shared = |len: usize| {
        let lowered = lower(&Kernel::Region(two(len).0), &target).unwrap();
        lowered.steps[0].program.shared.iter().filter(|array| array.len as usize == len).count()
    };
    let lens = limits(|len| two(len).0, &target);
    for len in lens.iter().copied().chain([1400]) {
        let m = two(len);
        let memory = m.memory(|arg, i| whole(i + arg));
        check(&m.0, &memory, &[]);
    }
    let counts: Vec<usize> = (1..500).map(|i| shared(8 * i)).collect();
    assert!([0, 1].iter().all(|n| counts.contains(n)), "{counts:?}");
}
