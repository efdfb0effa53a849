//! Lanes that are the same element several times, and sums of axes: against the oracle, at the sizes where blocks and vectors end, and around the
//! number of repeats that are one load.

use super::directed::Make;
use super::*;
use crate::region::program::{BLOCK, LONG_MAP, MicroOp, PAD};
use crate::region::view::REPEATS;
use unigrad_kernel::testing::Rng;
use unigrad_kernel::{Index, InstOp, Value};
use unigrad_scalar::{BinaryOp, Literal, ReduceOp};

fn value(arg: usize, i: usize) -> f64 {
    ((i.wrapping_mul(2_654_435_761) >> 7) % 5 + arg) as f64 - 2.0
}

/// Whether a region's steps load elements that come several times each.
fn has_repeats(region: &Region) -> bool {
    let program = &CompiledRegion::new(region).unwrap().program;
    let steps = program.row.iter().chain(program.passes.iter().map(|pass| &pass.steps)).flatten();
    steps.into_iter().any(|step| {
        let MicroOp::Load(load) = step else { return false };
        load.at.par.repeats().or(load.at.red.repeats()).is_some()
    })
}

/// Pictures whose pixels are squares of `times` x `times`: what scaling up, or the gradient of a pool, reads.
fn squares(dtype: DType, [n, height, width, times]: [usize; 4], reduced: bool) -> Region {
    let axes = [3, n, height, times, width, times];
    let mut m = Make::new(&axes, if reduced { 1 } else { axes.len() });
    let (h, w, t) = (height as i64, width as i64, times as i64);
    let pixels = [n as i64 * h * w, h * w, w, 0, 1, 0];
    let all = [n as i64 * h * w * t * t, h * w * t * t, w * t * t, w * t, t, 1];
    let (x, y) = (m.load(dtype, &pixels), m.load(dtype, &all));
    let same = m.binary(BinaryOp::Eq, x, y);
    let z = m.push(InstOp::Where(same, x, y), dtype);
    m.store(z, &all);
    if reduced {
        let wide = m.push(InstOp::Cast(z), DType::I64);
        let sum = m.reduce(ReduceOp::Sum, wide);
        m.store(sum, &[1, 0, 0, 0, 0, 0]);
    }
    m.0
}

#[test]
fn elements_that_come_several_times_are_right() {
    let edges = |n: usize| [n - 1, n, n + 1];
    let widths: Vec<usize> = [1, 2, 3, 12, 17].into_iter().chain(edges(PAD)).chain([BLOCK / 2 + 1, LONG_MAP]).collect();
    let (mut rng, mut repeated) = (Rng(41), 0);
    for times in (2..=5).chain([16]).chain(edges(REPEATS)) {
        for width in &widths {
            // Long rows of few repeats, and short rows of many.
            if width * times * times > 16 * BLOCK {
                continue;
            }
            for reduced in [false, true] {
                let dtype = rng.pick(&[DType::F32, DType::I64, DType::Bool, DType::BF16, DType::U8, DType::F64, DType::F16, DType::I32]);
                let height = if width * times > BLOCK { 1 } else { 1 + rng.below(3) };
                let region = squares(dtype, [1 + rng.below(2), height, *width, times], reduced);
                repeated += usize::from(has_repeats(&region));
                let memory = Make(region.clone()).memory(value);
                check(&region, &memory, &[]);
            }
        }
    }
    assert!(repeated > 60, "only {repeated} have elements that come several times");
}

/// The index that the steps of the only store are, as its value is.
fn n_steps(region: &Region) -> usize {
    let program = &CompiledRegion::new(region).unwrap().program;
    program.row.iter().flatten().filter(|step| !matches!(step, MicroOp::Store(_) | MicroOp::Direct(_))).count()
}

fn number(m: &mut Make, x: i64) -> Value {
    m.push(InstOp::Const(Literal::int(DType::I64, x)), DType::I64)
}

#[test]
fn a_sum_of_axes_is_one_step() {
    let mut m = Make::new(&[5, 7, 2, 9, 3], 5);
    let axes: Vec<Value> = (0..5).map(|axis| m.push(InstOp::AxisIndex(axis), DType::I64)).collect();
    let (six, three) = (number(&mut m, 6), number(&mut m, 3));
    let row = m.binary(BinaryOp::Mul, axes[3], three);
    let row = m.binary(BinaryOp::Add, row, axes[4]);
    let column = m.binary(BinaryOp::Mul, six, axes[1]);
    let all = m.binary(BinaryOp::Sub, column, row);
    m.store(all, &[7 * 2 * 27, 2 * 27, 27, 3, 1]);
    assert_eq!(n_steps(&m.0), 1);
    let memory = m.memory(|_, _| 0.0);
    check(&m.0, &memory, &[]);
}

/// Random sums, products and differences of axes and numbers, up to those that leave the range of `i64`, where they wrap as the oracle does.
#[test]
fn random_sums_of_axes_are_right() {
    let mut rng = Rng(43);
    for _ in 0..400 {
        let n_parallel = rng.below(4);
        let mut axes: Vec<usize> = (0..n_parallel + rng.below(3)).map(|_| rng.pick(&[1, 2, 3, 24, PAD + 1])).collect();
        while axes.iter().product::<usize>() > 4 * BLOCK {
            axes.iter_mut().max().into_iter().for_each(|axis| *axis = 3);
        }
        let mut m = Make::new(&axes, n_parallel);
        let mut values: Vec<Value> = (0..axes.len()).map(|axis| m.push(InstOp::AxisIndex(axis as u32), DType::I64)).collect();
        for x in [rng.below(7) as i64 - 3, rng.pick(&[1 << 40, i64::MAX, i64::MIN, -1, 0])] {
            values.push(number(&mut m, x));
        }
        for _ in 0..rng.below(8) {
            let (a, b) = (rng.pick(&values), rng.pick(&values));
            values.push(m.binary(rng.pick(&[BinaryOp::Add, BinaryOp::Sub, BinaryOp::Mul, BinaryOp::Max]), a, b));
        }
        let strides = |axes: &[usize]| {
            let mut strides: Vec<i64> = vec![1; axes.len()];
            (1..axes.len()).rev().for_each(|at| strides[at - 1] = strides[at] * axes[at] as i64);
            strides
        };
        let last = values[values.len() - 1];
        let dense = strides(&axes);
        // As a value, and, if it is inside, as a place.
        m.store(last, &dense);
        if n_parallel < axes.len() {
            let most = m.reduce(ReduceOp::Max, last);
            let rows: Vec<i64> = strides(&axes[..n_parallel]).into_iter().chain(axes[n_parallel..].iter().map(|_| 0)).collect();
            m.store(most, &rows);
        } else if let Some(axis) = axes.first() {
            let place = m.binary(BinaryOp::Min, values[0], values[0]);
            m.0.args.push(unigrad_kernel::Arg { dtype: DType::F32, len: *axis, write: false });
            let arg = m.0.args.len() as u32 - 1;
            let index = Index { offset: 0, strides: axes.iter().map(|_| 0).collect(), dynamic: [(place, 1)].into_iter().collect() };
            let x = m.push(InstOp::Load { arg, index, mask: None }, DType::F32);
            m.store(x, &dense);
        }
        let memory = m.memory(value);
        check(&m.0, &memory, &[]);
    }
}
