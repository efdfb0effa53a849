//! Operands that a prologue makes, in loops of stages in a dialect's own words: the threads make elements where they would copy them.
//!
//! In: an operand's prologue, and where in a stage a thread's pieces are. Out: the loop, with what makes elements between its statements.
//! Always: what lies beyond the operand is zero. A stage's elements are made while the stage before is multiplied, and put into shared memory after.

use super::super::Signature;
use super::super::native::made::{Spread, Statements};
use super::grid::split;
use super::load::repeat;
use super::problem::{Operand, Problem, plus};
use super::source::Source;
use unigrad_ir::{Builder, Place, Raw, Type, Value};
use unigrad_kernel::{Inst, InstOp, Region};
use unigrad_scalar::{DType, Literal};

/// Lanes of the other operand up to which a prologue's elements are made where they are read, in products of halves and of `F32` rounded to TF32, and instructions
/// for one of them. More are done sooner by a launch of their own, whose threads are many. Of a product with a matrix of 4096 x 4096 on an H200, in
/// microseconds, made so and stored first: halves cast from `F32` for 64 lanes 27.2 and 37.0, for 256 42.8 and 44.4, for 512 77 and 51; `F32` cast from halves for 64
/// lanes 45.1 and 48.5, for 128 82 and 65; blocks of `q4_0` for 64 lanes 28.3 and 24.1.
pub(super) const MOST_LANES_OF_HALVES: u64 = 128;
pub(super) const MOST_LANES_OF_SINGLES: u64 = 64;
const MOST_INSTRUCTIONS: usize = 6;

/// Whether a prologue is so short that an operand's elements are made where they are read, by threads that have other work.
pub(super) fn is_short(prologue: &Region) -> bool {
    let computes = |inst: &&Inst| !matches!(inst.op, InstOp::Const(_) | InstOp::Load { .. } | InstOp::Store { .. });
    prologue.insts.iter().filter(computes).count() <= MOST_INSTRUCTIONS
}

/// An operand whose elements the threads make.
pub(super) struct Made<'a> {
    operand: &'a Operand,
    source: &'a Source<'a>,
    spread: Spread,
    /// The thread's pieces of a stage.
    held: Place,
    /// The tile's first lane, and the batch item's first element.
    lane0: Value,
    base: Value,
    /// The end of `k`, and whether a stage can reach beyond it.
    end: (u64, bool),
}

/// Room for a thread's pieces of a stage, for `a` and `b` as far as threads make them.
pub(super) fn room(s: &mut Signature, sources: [&Source<'_>; 2], operands: [(Spread, DType); 2]) -> [Option<Place>; 2] {
    let mut held = [None; 2];
    for (at, (spread, dtype)) in operands.into_iter().enumerate().filter(|(at, _)| sources[*at].place().is_none()) {
        let ty = if spread.each == 1 { Type::Scalar(dtype) } else { Type::Vector(dtype, spread.each as u8) };
        held[at] = Some(s.b.local(["a_held", "b_held"][at], ty, spread.pieces));
    }
    held
}

/// The operands that have [`room`]; of both: where a thread's pieces are, the tile's first lanes, the batch item's first elements.
pub(super) fn sides<'a>(
    p: &'a Problem,
    sources: [&'a Source<'a>; 2],
    held: [Option<Place>; 2],
    spreads: [Spread; 2],
    [lanes0, bases]: [[Value; 2]; 2],
    masked: bool,
) -> [Option<Made<'a>>; 2] {
    [(0, &p.a), (1, &p.b)].map(|(at, operand)| {
        let (source, spread, lane0, base) = (sources[at], spreads[at], lanes0[at], bases[at]);
        held[at].map(|held| Made { operand, source, spread, held, lane0, base, end: (p.k, masked) })
    })
}

impl Made<'_> {
    /// Makes the thread's elements of the stage that begins at `k0`.
    fn make(&self, b: &mut Builder, k0: Value) {
        let Made { operand, held, lane0, base, end: (k_end, masked), .. } = *self;
        let Spread { k_major, tile, lanes, each, pieces, across, step, .. } = self.spread;
        let thread = b.thread(0);
        let (slow, fast) = split(b, thread, across.into());
        let fast = b.mul_const(fast, each.into());
        repeat(b, pieces, |b, i| {
            let further = b.mul_const(i, step.into());
            let slow = b.add(slow, further);
            let (lane, k) = if k_major { (slow, fast) } else { (fast, slow) };
            let (lane, k) = (b.add(lane0, lane), b.add(k0, k));
            let mut inside: Option<Value> = None;
            let mut within = |b: &mut Builder, value: Value, end: u64| {
                let end = b.u32(end as u32);
                let is = b.lt(value, end);
                inside = Some(inside.map_or(is, |inside| b.and(inside, is)));
                let zero = b.u32(0);
                b.select(is, value, zero)
            };
            // What lies beyond is made of the first element instead: no load waits for a branch.
            let lane = if lanes.is_multiple_of(tile.into()) { lane } else { within(b, lane, lanes) };
            let k = if masked { within(b, k, k_end) } else { k };
            let at = operand.lanes.offset(b, lane, operand.index);
            let at = plus(b, base, at);
            let further = operand.k.offset(b, k, operand.index);
            let at = plus(b, at, further);
            let made = self.source.load(b, at, each as u8);
            let made = match inside {
                None => made,
                Some(inside) => {
                    let zero = b.constant(Literal::zero(operand.dtype));
                    let all: Vec<Value> = (0..each)
                        .map(|lane| {
                            let value = b.extract(made, lane as u8);
                            b.select(inside, value, zero)
                        })
                        .collect();
                    b.compose(&all)
                }
            };
            b.store(held, i, made);
        });
    }
}

/// A loop, of so many stages of so many elements of `k`.
pub(super) struct Stages {
    pub(super) statements: Statements,
    pub(super) count: u64,
    pub(super) len: u32,
}

impl Stages {
    /// The sums of a tile, from `k0` on, where threads make the elements of `a`, of `b` or of both; `put` tells how these come into a stage (`true`: of `a`).
    pub(super) fn multiply(self, b: &mut Builder, made: &[Option<Made<'_>>; 2], k0: Value, put: impl Fn(bool, Place) -> Raw) {
        let Statements { setup, copy, commit, before, after, end, ahead } = self.statements;
        let (zero, one, count) = (b.u32(0), b.u32(1), b.u32(self.count as u32));
        let sides = || [true, false].into_iter().zip(made).filter_map(|(a, made)| Some((a, made.as_ref()?)));
        // Where a stage has fewer pieces than threads, the others have none.
        let by_some = |b: &mut Builder, made: &Made<'_>, work: &mut dyn FnMut(&mut Builder)| {
            let (thread, some) = (b.thread(0), b.u32(made.spread.threads));
            let is_one = b.lt(thread, some);
            b.when(is_one, |b| work(b));
        };
        let begin = |b: &mut Builder, stage: Value| {
            b.raw(copy.clone());
            let k = b.mul_const(stage, self.len.into());
            let k = b.add(k0, k);
            sides().for_each(|(_, made)| by_some(b, made, &mut |b| made.make(b, k)));
        };
        let put_all = |b: &mut Builder| sides().for_each(|(a, made)| by_some(b, made, &mut |b| b.raw(put(a, made.held))));
        b.raw(setup);
        let first = b.u32(ahead);
        b.repeat(zero, first, one, |b, stage| {
            let more = b.lt(stage, count);
            b.when(more, |b| {
                begin(b, stage);
                put_all(b);
            });
            b.raw(commit.clone());
        });
        b.repeat(zero, count, one, |b, stage| {
            b.raw(before);
            let next = b.add_const(stage, ahead.into());
            let more = b.lt(next, count);
            b.when(more, |b| begin(b, next));
            b.raw(commit.clone());
            b.raw(after);
            b.when(more, put_all);
        });
        b.raw(end);
    }
}
