//! The second step of a product whose `k` was divided: adds the partial sums of each point, first to last, and hands the result on.

use super::super::{ProgramLaunch, Signature, Unsupported};
use super::grid::{Groups, split};
use super::problem::{Problem, index_dtype};
use super::sink::Sink;
use unigrad_ir::{Target, Type, Value};
use unigrad_kernel::Contract;

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
            sink.put(b, &base, row, col, &sums);
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
