//! The second step of a product whose `k` was divided: adds the partial sums of each point, first to last, and hands the result on.
//!
//! Of few points with many parts several threads have a point: each adds some of the parts, first to last, and one adds what they have.

use super::super::{ProgramLaunch, Signature, Unsupported};
use super::grid::{Groups, split};
use super::problem::{Problem, index_dtype};
use super::sink::Sink;
use unigrad_ir::{Place, Target, Type, Value};
use unigrad_kernel::Contract;
use unigrad_scalar::{BinaryOp, Literal};

/// Parts from which on several threads may have a point.
const MANY: u64 = 32;

/// How many threads of a workgroup have a point: as many as leave the device something to do, with some parts for each. `None` for one.
fn deep(points: u64, parts: u64, threads: u32, target: &Target) -> Option<u32> {
    let room = u64::from(target.compute_units.max(1)) * u64::from(threads) / points.max(1);
    let most = room.min(parts / 8).min(u64::from(threads / 8)).max(1);
    let deep = 1 << most.ilog2();
    (threads.is_power_of_two() && deep > 1).then_some(deep)
}

/// The sums where `deep` threads of a workgroup have each point.
fn together<'a>(
    p: &Problem,
    target: &Target,
    (parts, deep): (u64, u32),
    (mut s, partial, sink): (Signature, Place, Sink<'a>),
) -> Result<ProgramLaunch, Unsupported> {
    let threads = target.max_threads.min(256);
    let points = p.batch * p.m * p.n;
    let index = index_dtype((points * parts) as usize);
    let across = threads / deep;
    let each = parts.div_ceil(deep.into()) as u32;
    let shared = s.b.shared("sums", p.compute, threads);
    let groups = Groups::new(points.div_ceil(across.into()), target)?;
    groups.each(&mut s.b, |b, id| {
        let thread = b.thread(0);
        let (slice, x) = split(b, thread, across.into());
        let first = b.mul_const(id, across.into());
        let point = b.add(first, x);
        let end = b.u32(points as u32);
        let inside = b.lt(point, end);
        b.when(inside, |b| {
            let sum = b.local("sum", Type::Scalar(p.compute), 1);
            let (zero, one, all) = (b.u32(0), b.u32(1), b.u32(parts as u32));
            let nothing = b.constant(Literal::zero(p.compute));
            b.store(sum, zero, nothing);
            let begin = b.mul_const(slice, each.into());
            let end = b.add_const(begin, each.into());
            let end = b.binary(BinaryOp::Min, end, all);
            let at = b.cast(point, index);
            b.repeat(begin, end, one, |b, part| {
                let part = b.cast(part, index);
                let part = b.mul_const(part, points as i64);
                let from = b.add(part, at);
                let (old, value) = (b.load(sum, zero), b.load(partial, from));
                let new = b.add(old, value);
                b.store(sum, zero, new);
            });
            let sum = b.load(sum, zero);
            b.store(shared, thread, sum);
        });
        b.barrier();
        let zero = b.u32(0);
        let leads = b.binary(BinaryOp::Eq, slice, zero);
        let leads = b.and(leads, inside);
        b.when(leads, |b| {
            let mut sum = b.load(shared, x);
            for slice in 1..deep {
                let from = b.add_const(x, i64::from(slice * across));
                let other = b.load(shared, from);
                sum = b.add(sum, other);
            }
            let (rows, col) = split(b, point, p.n);
            let (batch, row) = split(b, rows, p.m);
            let base = sink.base(b, batch);
            base.put(b, row, col, &[sum]);
        });
    });
    Ok(s.finish(groups.grid()))
}

/// Adds `parts` partial sums that lie in scratch buffer 0 as `[parts, batch, m, n]`.
pub(super) fn finish(contract: &Contract, p: &Problem, target: &Target, parts: u64) -> Result<ProgramLaunch, Unsupported> {
    let threads = target.max_threads.min(256);
    let mut s = Signature::new("contract_sums", [threads, 1, 1]);
    let partial = s.scratch("partial", 0, p.compute, false);
    let sink = Sink::declare(&mut s, contract, p, target)?;
    let points = p.batch * p.m * p.n;
    let index = index_dtype((points * parts) as usize);
    // Rows of partial sums begin at multiples of `n`.
    let most = (16 / p.compute.size() as u32).min(1 << p.n.trailing_zeros().min(3));
    let mut v = if target.vectors { sink.vector(target, most) } else { 1 };
    // Rather many threads than wide ones.
    while v > 1 && points / u64::from(v) < u64::from(target.compute_units * threads) {
        v /= 2;
    }
    let units = points / u64::from(v);
    if v == 1
        && parts >= MANY
        && let Some(deep) = deep(points, parts, threads, target)
    {
        return together(p, target, (parts, deep), (s, partial, sink));
    }
    let groups = Groups::new(units.div_ceil(threads.into()), target)?;
    groups.each(&mut s.b, |b, id| {
        let thread = b.thread(0);
        let first = b.mul_const(id, threads.into());
        let unit = b.add(first, thread);
        let work = |b: &mut unigrad_ir::Builder| {
            let point = b.mul_const(unit, v.into());
            let (rows, col) = split(b, point, p.n);
            let (batch, row) = split(b, rows, p.m);
            let at = b.cast(point, index);
            let from = |b: &mut unigrad_ir::Builder, part: Value| {
                let part = b.cast(part, index);
                let part = b.mul_const(part, points as i64);
                let at = b.add(part, at);
                b.load_vector(partial, at, v as u8)
            };
            let zero = b.u32(0);
            let vector = from(b, zero);
            let sums = b.local("sums", Type::Scalar(p.compute), v);
            for lane in 0..v {
                let (value, to) = (b.extract(vector, lane as u8), b.u32(lane));
                b.store(sums, to, value);
            }
            let (one, end) = (b.u32(1), b.u32(parts as u32));
            b.repeat(one, end, one, |b, part| {
                let vector = from(b, part);
                for lane in 0..v {
                    let (value, to) = (b.extract(vector, lane as u8), b.u32(lane));
                    let old = b.load(sums, to);
                    let new = b.add(old, value);
                    b.store(sums, to, new);
                }
            });
            let base = sink.base(b, batch);
            let sums: Vec<Value> = (0..v)
                .map(|lane| {
                    let at = b.u32(lane);
                    b.load(sums, at)
                })
                .collect();
            base.put(b, row, col, &sums);
        };
        if units.is_multiple_of(threads.into()) {
            work(b);
        } else {
            let end = b.u32(units as u32);
            let inside = b.lt(unit, end);
            b.when(inside, work);
        }
    });
    Ok(s.finish(groups.grid()))
}
