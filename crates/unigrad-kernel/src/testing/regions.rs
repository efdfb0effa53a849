//! Random regions whose results do not depend on the order of operations: small whole numbers, and sums that stay exact.

use super::{
    Rng,
    region::{Buffer, Memory},
};
use crate::{Arg, Index, Inst, InstOp, Level, Region, Value};
use smallvec::SmallVec;
use unigrad_scalar::{ArgReduceOp, BinaryOp, DType, Literal, ReduceOp, UnaryOp};

/// A generator for a seed.
fn seeded(seed: u64) -> Rng {
    Rng(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ 0x1234_5678_9ABC_DEF1)
}

/// A value, with a bound on its magnitude so that sums and products stay exact.
#[derive(Clone, Copy)]
struct Known {
    value: Value,
    dtype: DType,
    bound: f64,
}

struct Maker {
    rng: Rng,
    region: Region,
    memory: Memory,
    scalars: Vec<u64>,
    known: Vec<Known>,
}

/// A region, its arguments and its run-time scalars.
pub fn region(seed: u64) -> (Region, Memory, Vec<u64>) {
    let mut rng = seeded(seed);
    let rank = rng.below(5);
    let limit = if rng.chance(2) { 80_000 } else { 1500 };
    let mut axes: SmallVec<[usize; 6]> = SmallVec::new();
    let mut points = 1;
    for _ in 0..rank {
        let mut extent = rng.pick(&[1, 2, 3, 4, 5, 7, 10, 16, 33, 64, 100, 129, 512, 513, 1000, 2000, 70_000]);
        if rng.chance(2) {
            extent = 0;
        }
        if points * extent > limit {
            extent = rng.pick(&[1, 2, 3]);
        }
        points *= extent.max(1);
        axes.push(extent);
    }
    let n_parallel = rng.below(rank + 1);
    let region = Region { name: format!("random {seed}"), axes, n_parallel, args: vec![], scalars: vec![], insts: vec![] };
    let mut maker = Maker { rng, region, memory: Memory { bufs: vec![] }, scalars: vec![], known: vec![] };
    maker.fill();
    (maker.region, maker.memory, maker.scalars)
}

impl Maker {
    fn push(&mut self, op: InstOp, dtype: DType, bound: f64) -> Known {
        self.region.insts.push(Inst { op, dtype });
        let value = Value(self.region.insts.len() as u32 - 1);
        let known = Known { value, dtype, bound };
        self.known.push(known);
        known
    }

    fn literal(&mut self, dtype: DType) -> Literal {
        let x = self.rng.below(9) as i64 - 4;
        if dtype.is_unsigned_int() { Literal::int(dtype, x.abs()) } else { Literal::int(dtype, x) }
    }

    /// A layout over the chosen axes: an offset, strides and the buffer's length.
    fn layout(&mut self, axes: &[bool], dense: bool) -> (Index, usize) {
        let n = self.region.axes.len();
        let mut order: Vec<usize> = (0..n).filter(|a| axes[*a]).collect();
        if self.rng.chance(35) {
            for i in (1..order.len()).rev() {
                let j = self.rng.below(i + 1);
                order.swap(i, j);
            }
        }
        let mut strides: SmallVec<[i64; 6]> = SmallVec::from_elem(0, n);
        let mut step = if self.rng.chance(15) { 2 } else { 1 };
        let mut offset = self.rng.below(3) as i64;
        let mut len = offset;
        for axis in order.into_iter().rev() {
            let extent = self.region.axes[axis] as i64;
            if !dense && self.rng.chance(15) {
                continue; // broadcast
            }
            strides[axis] = step;
            let span = step * (extent - 1).max(0);
            if self.rng.chance(15) {
                strides[axis] = -step;
                offset += span;
            }
            len += span;
            step *= extent.max(1) + i64::from(self.rng.chance(10));
        }
        (Index { offset, strides, dynamic: SmallVec::new() }, len as usize + 1)
    }

    fn buffer(&mut self, dtype: DType, len: usize, write: bool) -> u32 {
        let special = self.rng.chance(5);
        let raw = (0..len).map(|_| {
            let literal = self.literal(dtype);
            if special && dtype.is_float() && self.rng.chance(5) {
                let x = self.rng.pick(&[f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -0.0]);
                return Literal::float(dtype, x).to_raw();
            }
            literal.to_raw()
        });
        let raw: Vec<u64> = raw.collect();
        self.memory.bufs.push(Buffer { dtype, raw });
        self.region.args.push(Arg { dtype, len, write });
        self.region.args.len() as u32 - 1
    }

    fn axes(&mut self, parallel_only: bool) -> Vec<bool> {
        let n = self.region.n_parallel;
        (0..self.region.axes.len()).map(|a| (a < n || !parallel_only) && !self.rng.chance(12)).collect()
    }

    fn of(&mut self, pred: impl Fn(&Known) -> bool) -> Option<Known> {
        let found: Vec<Known> = self.known.iter().copied().filter(pred).collect();
        if found.is_empty() { None } else { Some(found[self.rng.below(found.len())]) }
    }

    fn load(&mut self) {
        let dtype = self.rng.pick(&DType::ALL);
        let rows_only = self.rng.chance(25);
        let axes = self.axes(rows_only);
        let (mut index, mut len) = self.layout(&axes, false);
        let mut mask = None;
        if self.rng.chance(12) {
            mask = self.of(|k| k.dtype == DType::Bool).map(|k| k.value);
        }
        if self.rng.chance(15) {
            // Indices that may be negative; now and then one too far.
            let size = 1 + self.rng.below(9) as i64;
            let (from, from_len) = {
                let axes = self.axes(false);
                self.layout(&axes, false)
            };
            let arg = self.buffer(DType::I64, from_len, false);
            let bad = self.rng.chance(2);
            for i in 0..from_len {
                let mut x = self.rng.below(2 * size as usize) as i64 - size;
                if bad && self.rng.chance(10) {
                    x = size;
                }
                self.memory.bufs[arg as usize].raw[i] = x as u64;
            }
            let loaded = self.push(InstOp::Load { arg, index: from, mask: None }, DType::I64, 9.0);
            let at = self.push(InstOp::Bounded { index: loaded.value, size, from_end: size % 2 == 0, check: 0 }, DType::I64, 9.0);
            let stride = 1 + self.rng.below(4) as i64;
            index.dynamic.push((at.value, stride));
            len += (size * stride) as usize;
        }
        let arg = self.buffer(dtype, len, false);
        self.push(InstOp::Load { arg, index, mask }, dtype, 4.0);
    }

    fn step(&mut self) {
        let Some(a) = self.of(|_| true) else { return self.load() };
        let d = a.dtype;
        let same = self.of(|k| k.dtype == d).unwrap_or(a);
        let sum = a.bound + same.bound;
        let product = a.bound * same.bound;
        match self.rng.below(14) {
            0 => {
                let ops: &[UnaryOp] = match d {
                    DType::Bool => &[UnaryOp::Not, UnaryOp::IsNan, UnaryOp::IsFinite],
                    d if d.is_int() => {
                        &[UnaryOp::Neg, UnaryOp::Abs, UnaryOp::Sign, UnaryOp::Relu, UnaryOp::BitNot, UnaryOp::Not, UnaryOp::IsFinite]
                    }
                    _ => &[
                        UnaryOp::Neg,
                        UnaryOp::Abs,
                        UnaryOp::Sign,
                        UnaryOp::Relu,
                        UnaryOp::Floor,
                        UnaryOp::Ceil,
                        UnaryOp::Round,
                        UnaryOp::Trunc,
                        UnaryOp::IsNan,
                        UnaryOp::IsFinite,
                        UnaryOp::Not,
                    ],
                };
                let op = self.rng.pick(ops);
                let result = if op.gives_bool() { DType::Bool } else { d };
                self.push(InstOp::Unary(op, a.value), result, a.bound + 1.0);
            }
            1 | 2 if d != DType::Bool && sum < 1000.0 => {
                let op = self.rng.pick(&[BinaryOp::Add, BinaryOp::Sub]);
                self.push(InstOp::Binary(op, a.value, same.value), d, sum);
            }
            3 if d != DType::Bool && product < 1000.0 => {
                self.push(InstOp::Binary(BinaryOp::Mul, a.value, same.value), d, product);
            }
            4 => {
                let op = self.rng.pick(&[BinaryOp::Max, BinaryOp::Min]);
                self.push(InstOp::Binary(op, a.value, same.value), d, a.bound.max(same.bound));
            }
            5 | 6 => {
                let op = self.rng.pick(&[BinaryOp::Eq, BinaryOp::Ne, BinaryOp::Lt, BinaryOp::Le, BinaryOp::Gt, BinaryOp::Ge]);
                self.push(InstOp::Binary(op, a.value, same.value), DType::Bool, 1.0);
            }
            7 if !d.is_float() => {
                let ops = [BinaryOp::And, BinaryOp::Or, BinaryOp::Xor, BinaryOp::Shl, BinaryOp::Shr];
                let int = [BinaryOp::IDiv, BinaryOp::Rem, BinaryOp::Pow];
                let op = match d {
                    DType::Bool => self.rng.pick(&ops[..3]),
                    _ if self.rng.chance(50) => self.rng.pick(&int),
                    _ => self.rng.pick(&ops),
                };
                self.push(InstOp::Binary(op, a.value, same.value), d, 1e6);
            }
            7 => {
                let op = self.rng.pick(&[BinaryOp::IDiv, BinaryOp::Rem]);
                self.push(InstOp::Binary(op, a.value, same.value), d, sum);
            }
            8 => {
                let Some(c) = self.of(|k| k.dtype == DType::Bool) else { return };
                self.push(InstOp::Where(c.value, a.value, same.value), d, a.bound.max(same.bound));
            }
            9 => {
                let to = self.rng.pick(&DType::ALL);
                let bound = if to.is_unsigned_int() || a.bound > 100.0 { 1e6 } else { a.bound };
                self.push(InstOp::Cast(a.value), to, bound);
            }
            10 => {
                let to = self.rng.pick(&DType::ALL);
                // To floats of any magnitude only to be stored: sums would not be exact.
                if to.size() == d.size() && to != DType::Bool && d != DType::Bool && !to.is_float() {
                    self.push(InstOp::Bitcast(a.value), to, 1e6);
                }
            }
            11 if !self.region.axes.is_empty() => {
                let axis = self.rng.below(self.region.axes.len());
                self.push(InstOp::AxisIndex(axis as u32), DType::I64, 1e6);
            }
            12 => {
                let dtype = self.rng.pick(&[DType::U64]);
                let mut seed = || {
                    let x = self.rng.bits();
                    self.scalars.push(x);
                    self.region.scalars.push(dtype);
                    let slot = self.region.scalars.len() as u32 - 1;
                    self.region.insts.push(Inst { op: InstOp::Scalar(slot), dtype });
                    Value(self.region.insts.len() as u32 - 1)
                };
                let (seed, offset) = (seed(), seed());
                let Some(index) = self.of(|k| k.dtype == DType::I64) else { return };
                let word = self.rng.below(4) as u8;
                self.push(InstOp::Philox { seed, offset, index: index.value, word }, DType::U32, 1e6);
            }
            _ => {
                let op = self.rng.pick(ReduceOp::ALL);
                let n = self.region.row_len() as f64;
                let integer = d.is_int();
                match op {
                    ReduceOp::Sum if d != DType::Bool && (integer || a.bound * n < 1.6e7) => {
                        // The half types hold sums only to 2048 or 256; they are computed in `f32`.
                        self.push(InstOp::Reduce(op, a.value), d, a.bound * n);
                    }
                    ReduceOp::Prod if integer => {
                        self.push(InstOp::Reduce(op, a.value), d, 1e6);
                    }
                    ReduceOp::Max | ReduceOp::Min => {
                        self.push(InstOp::Reduce(op, a.value), d, f64::INFINITY.min(if n == 0.0 { 1e6 } else { a.bound }));
                    }
                    _ => {
                        let op = self.rng.pick(&[ArgReduceOp::ArgMax, ArgReduceOp::ArgMin]);
                        self.push(InstOp::ArgReduce(op, a.value), DType::I64, 1e6);
                    }
                }
            }
        }
    }

    fn fill(&mut self) {
        for _ in 0..1 + self.rng.below(4) {
            self.load();
        }
        if self.rng.chance(50) {
            let dtype = self.rng.pick(&DType::ALL);
            let literal = self.literal(dtype);
            self.push(InstOp::Const(literal), dtype, 4.0);
            let literal = self.literal(dtype);
            self.scalars.push(literal.to_raw());
            self.region.scalars.push(dtype);
            let slot = self.region.scalars.len() as u32 - 1;
            self.push(InstOp::Scalar(slot), dtype, 4.0);
        }
        for _ in 0..self.rng.below(16) {
            self.step();
            if self.rng.chance(12) {
                self.load();
            }
        }
        for _ in 0..1 + self.rng.below(3) {
            self.store();
        }
    }

    fn store(&mut self) {
        let levels = self.region.levels();
        let Some(k) = self.of(|k| k.value.index() + 1 >= levels.len() / 2) else { return };
        let full = levels[k.value.index()] == Level::Full;
        // A store covers the whole domain, or every row.
        let n = self.region.n_parallel;
        let wide = full || self.rng.chance(10);
        let axes: Vec<bool> = (0..self.region.axes.len()).map(|a| a < n || wide).collect();
        // In place, where a load has one element per point.
        let in_place = self.region.insts.iter().find_map(|inst| match &inst.op {
            InstOp::Load { arg, index, mask: None } if index.dynamic.is_empty() => {
                let covers = index.strides.iter().zip(&axes).zip(&self.region.axes).all(|((s, a), e)| (*s != 0) == *a || *e == 1);
                let free = !self.region.args[*arg as usize].write;
                let alone = self.region.insts.iter().filter(|i| matches!(&i.op, InstOp::Load { arg: a, .. } if a == arg)).count() == 1;
                (covers && free && alone).then(|| (*arg, index.clone()))
            }
            _ => None,
        });
        if let (Some((arg, index)), true) = (in_place, self.rng.chance(40)) {
            self.region.args[arg as usize].write = true;
            self.region.insts.push(Inst { op: InstOp::Store { arg, index, value: k.value }, dtype: k.dtype });
            return;
        }
        let (index, len) = self.layout(&axes, true);
        let other = self.rng_dtype();
        let dtype = self.rng.pick(&[k.dtype, k.dtype, other]);
        let arg = self.buffer(dtype, len, true);
        self.region.insts.push(Inst { op: InstOp::Store { arg, index, value: k.value }, dtype: k.dtype });
    }

    fn rng_dtype(&mut self) -> DType {
        self.rng.pick(&DType::ALL)
    }
}
