//! Chains against the single steps that they replace: the same bits, whatever the formula, the length and the values.

use super::directed::Make;
use super::*;
use crate::region::lanes::Lanes;
use crate::region::program::{BlockProgram, MicroOp, Summand};
use unigrad_kernel::{InstOp, Value};
use unigrad_scalar::{BinaryOp, ReduceOp, UnaryOp};

/// Numbers from a seed.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % n
    }

    fn one_of<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.roll(of.len())]
    }
}

const BINARY: &[BinaryOp] = &[
    BinaryOp::Add,
    BinaryOp::Add,
    BinaryOp::Sub,
    BinaryOp::Mul,
    BinaryOp::Mul,
    BinaryOp::Div,
    BinaryOp::Max,
    BinaryOp::Min,
    BinaryOp::Pow,
];
const UNARY: &[UnaryOp] = &[
    UnaryOp::Neg,
    UnaryOp::Abs,
    UnaryOp::Sign,
    UnaryOp::Relu,
    UnaryOp::Sqrt,
    UnaryOp::Rsqrt,
    UnaryOp::Recip,
    UnaryOp::Exp,
    UnaryOp::Tanh,
    UnaryOp::Gelu,
    UnaryOp::Sin,
];
const COMPARISONS: &[BinaryOp] = &[BinaryOp::Eq, BinaryOp::Ne, BinaryOp::Lt, BinaryOp::Le, BinaryOp::Gt, BinaryOp::Ge];

/// A formula of many operations over lanes and numbers, whose parts are used again, chosen and stored.
fn formula(seed: u64, axes: &[usize], lanes: &[i64], numbers: &[i64], sums: bool) -> Make {
    let mut dice = Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(1));
    let mut m = Make::new(axes, 1);
    let n_loads = 2 + dice.roll(4);
    let mut values: Vec<Value> = (0..n_loads).map(|_| m.load(DType::F32, lanes)).collect();
    values.extend((0..3).map(|_| m.load(DType::F32, numbers)));
    values.push(m.number(0.75));
    let flags = [m.load(DType::Bool, lanes), m.load(DType::Bool, numbers)];
    let mut conditions = flags.to_vec();
    let first = values.len();
    // Above the longest chain and the most places, for some.
    for _ in 0..3 + dice.roll(if seed.is_multiple_of(7) { 120 } else { 24 }) {
        let (a, b) = (dice.one_of(&values), dice.one_of(&values));
        match dice.roll(10) {
            0 => conditions.push(m.binary(dice.one_of(COMPARISONS), a, b)),
            1 | 2 => {
                let condition = dice.one_of(&conditions);
                values.push(m.push(InstOp::Where(condition, a, b), DType::F32));
            }
            3 | 4 => values.push(m.unary(dice.one_of(UNARY), a)),
            _ => values.push(m.binary(dice.one_of(BINARY), a, b)),
        }
    }
    let made = values.split_off(first);
    let last = made[made.len() - 1];
    if sums {
        let sum = m.reduce(ReduceOp::Sum, last);
        m.store(sum, &[1, 0]);
        if dice.roll(2) == 0 {
            let share = m.binary(BinaryOp::Div, last, sum);
            m.store(share, lanes);
        }
        return m;
    }
    // Some results take the place of what was loaded.
    for k in 0..1 + dice.roll(3) {
        let value = if k == 0 { last } else { dice.one_of(&made) };
        if dice.roll(2) == 0 && k < n_loads {
            m.0.args[k].write = true;
            m.push(InstOp::Store { arg: k as u32, index: Make::index(lanes), value }, DType::F32);
        } else {
            m.store(value, lanes);
        }
    }
    for condition in conditions.into_iter().skip(2).take(1) {
        m.store(condition, lanes);
    }
    m
}

/// Zeros of both signs, infinities, and common numbers; NaN only where it is one of its kind, so that it has one pattern of bits.
fn memory(make: &Make, special: bool) -> Memory {
    let mut memory = make.memory(|a, i| match (i * 7 + a * 13) % 97 {
        0 if special => 0.0,
        1 if special => -0.0,
        2 if special => f64::INFINITY,
        3 if special => f64::NEG_INFINITY,
        k => k as f64 / 24.0 - 2.0,
    });
    for buf in memory.bufs.iter_mut().filter(|buf| buf.dtype == DType::Bool) {
        buf.raw.iter_mut().enumerate().for_each(|(i, raw)| *raw = u64::from(i % 3 != 1));
    }
    memory
}

fn run(program: BlockProgram, memory: &Memory) -> Memory {
    let compiled = CompiledRegion { program, parts: 1, stream: false };
    let mut launch = Launch::new(memory);
    // SAFETY: the buffers match.
    unsafe { compiled.run(&launch.bufs(), &[]) }.unwrap();
    launch.result()
}

/// The same bits, but that all NaN are one.
fn assert_equal(got: &Memory, want: &Memory, make: &Make, what: &str) {
    for (arg, (got, want)) in got.bufs.iter().zip(&want.bufs).enumerate() {
        for (i, (g, w)) in got.raw.iter().zip(&want.raw).enumerate() {
            let both_nan = got.dtype == DType::F32 && f32::from_bits(*g as u32).is_nan() && f32::from_bits(*w as u32).is_nan();
            assert!(g == w || both_nan, "{what}: argument {arg} element {i}: {g:#x}, not {w:#x} in\n{}", text(&make.0));
        }
    }
}

fn chains(program: &BlockProgram) -> usize {
    let all = program.row.iter().flatten().chain(program.passes.iter().flat_map(|pass| &pass.steps));
    let sums = program.passes.iter().flat_map(|pass| &pass.reductions).filter(|r| matches!(r.sum, Some(Summand::Chain(_)))).count();
    sums + all.filter(|step| matches!(step, MicroOp::Chain(_))).count()
}

/// Around the lengths of blocks, of tiles of every tier, and of blocks without padding.
const LENGTHS: &[usize] = &[1, 2, 7, 8, 9, 31, 32, 33, 63, 64, 65, 127, 128, 129, 191, 192, 511, 512, 513, 1023, 1024, 1025, 1100];

#[test]
fn chains_equal_their_steps() {
    let mut seen = 0;
    for seed in 0..300 {
        let n = LENGTHS[seed as usize % LENGTHS.len()];
        let make = formula(seed, &[n], &[1], &[0], false);
        for special in [false, true] {
            let memory = memory(&make, special);
            for tier in tiers() {
                let fused = BlockProgram::with(&make.0, tier, true, true).unwrap();
                seen += chains(&fused);
                let want = run(BlockProgram::with(&make.0, tier, true, false).unwrap(), &memory);
                assert_equal(&run(fused, &memory), &want, &make, &format!("{tier:?}, seed {seed}, {n} lanes"));
            }
        }
    }
    assert!(seen > 100 * tiers().len(), "{seen} chains");
}

#[test]
fn sums_of_chains_equal_their_steps() {
    let mut seen = 0;
    for seed in 0..200 {
        // One block: fewer steps have longer blocks, and the sums of blocks are added one after the other.
        let n = LENGTHS[seed as usize % LENGTHS.len()].clamp(2, 512);
        let make = formula(seed, &[5, n], &[n as i64, 1], &[1, 0], true);
        let memory = memory(&make, false);
        for tier in tiers() {
            // Of whole rows no sum is a chain's.
            let fused = BlockProgram::of(&make.0, tier, Lanes::Elements, true, true).unwrap();
            seen += chains(&fused);
            let want = run(BlockProgram::of(&make.0, tier, Lanes::Elements, true, false).unwrap(), &memory);
            assert_equal(&run(fused, &memory), &want, &make, &format!("{tier:?}, seed {seed}, rows of {n}"));
        }
    }
    assert!(seen > 60 * tiers().len(), "{seen} chains");
}

/// Columns: the lanes are rows, and the formula is a map before a reduction.
#[test]
fn chains_before_column_sums_equal_their_steps() {
    for seed in 0..40 {
        let mut make = Make::new(&[70, 33], 1);
        let mut dice = Dice(seed);
        let x = make.load(DType::F32, &[1, 70]);
        let y = make.load(DType::F32, &[0, 1]);
        let mut value = x;
        for _ in 0..4 {
            let other = dice.one_of(&[x, y, value]);
            value = make.binary(dice.one_of(BINARY), value, other);
        }
        let sum = make.reduce(ReduceOp::Sum, value);
        make.store(sum, &[1, 0]);
        let memory = memory(&make, false);
        for tier in tiers() {
            let [got, want] = [true, false].map(|fuse| run(BlockProgram::with(&make.0, tier, true, fuse).unwrap(), &memory));
            assert_equal(&got, &want, &make, &format!("{tier:?}, seed {seed}"));
        }
    }
}

/// One argument in two places of a launch: results must not go where an operand still is read.
#[test]
fn results_over_operands_that_are_read_again_wait() {
    for n in [8, 64, 1100] {
        let mut make = Make::new(&[n], 1);
        let (x, y) = (make.load(DType::F32, &[1]), make.load(DType::F32, &[1]));
        let sum = make.binary(BinaryOp::Add, x, y);
        let root = make.unary(UnaryOp::Sqrt, sum);
        let product = make.binary(BinaryOp::Mul, root, x);
        for (arg, value) in [(0, root), (1, product)] {
            make.0.args[arg as usize].write = true;
            make.push(InstOp::Store { arg, index: Make::index(&[1]), value }, DType::F32);
        }
        let memory = memory(&make, false);
        for tier in tiers() {
            let fused = BlockProgram::with(&make.0, tier, true, true).unwrap();
            assert_eq!(chains(&fused), 1);
            let want = run(BlockProgram::with(&make.0, tier, true, false).unwrap(), &memory);
            assert_equal(&run(fused, &memory), &want, &make, &format!("{tier:?}, {n} lanes"));
        }
    }
}
