//! Products with few rows or few columns: matrix times vector, and up to [`NARROW`] vectors. They are as fast as the matrix can be read.
//!
//! The side with many lanes is the matrix, the other the vectors. Where the matrix runs along `k`, a group of threads reads neighbouring
//! elements of a few lanes and adds up what they have ([`Way::Dot`]); where it runs along lanes, each thread has a few neighbouring lanes and
//! some of `k` ([`Way::Spread`]). Loads of several steps are on their way at once.
//! Always: every element of the matrix is read once; sums are added in an order that sizes alone decide.

use super::super::{ProgramLaunch, Signature, Unsupported};
use super::grid::{Groups, Item, item, split};
use super::load::repeat;
use super::problem::{Along, Operand, Problem, multiply_add, plus};
use super::sink::{Base, Sink};
use super::source::Source;
use super::tile::Parts;
use smallvec::SmallVec;
use unigrad_ir::{Builder, Place, SubgroupOp, Target, Type, Value};
use unigrad_kernel::Contract;
use unigrad_scalar::{BinaryOp, Literal, ReduceOp};

/// Vectors at most.
const NARROW: u64 = 8;

/// Bytes of the matrix that are asked for before a product begins: a third of the second-level cache of the GPUs that can do so.
const AHEAD: u64 = 16 << 20;
/// Workgroups that a compute unit has at once, and bytes that memory moves at once.
const GROUPS_AT_ONCE: u32 = 8;
const LINE: u64 = 128;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Way {
    /// `group` threads along `k`, for `lanes` lanes at once.
    Dot { group: u32, lanes: u32 },
    /// `across` threads along the lanes, the others along `k`.
    Spread { across: u32 },
}

/// How a problem is divided.
#[derive(Clone, Copy, Debug)]
pub(super) struct SkinnyTiles {
    way: Way,
    threads: u32,
    /// Neighbours that a thread loads at once.
    v: u32,
    /// Steps whose loads are on their way together.
    ahead: u32,
    pub(super) parts: Parts,
}

/// The matrix and the vectors of a problem.
pub(super) struct Sides<'a> {
    pub(super) matrix: &'a Operand,
    pub(super) vectors: &'a Operand,
    pub(super) n_lanes: u64,
    pub(super) n_vectors: u32,
    /// Whether the matrix' lanes are columns.
    pub(super) columns: bool,
}

impl<'a> Sides<'a> {
    pub(super) fn of(p: &'a Problem) -> Sides<'a> {
        if p.n >= p.m {
            Sides { matrix: &p.b, vectors: &p.a, n_lanes: p.n, n_vectors: p.m as u32, columns: true }
        } else {
            Sides { matrix: &p.a, vectors: &p.b, n_lanes: p.m, n_vectors: p.n as u32, columns: false }
        }
    }
}

/// The division of a problem, if it is a narrow one.
pub(super) fn plan(p: &Problem, target: &Target) -> Option<SkinnyTiles> {
    let s = Sides::of(p);
    if p.m.min(p.n) > NARROW || p.k == 0 {
        return None;
    }
    let units = u64::from(target.compute_units.max(1));
    // A power of two that a workgroup may have.
    let threads = 1 << target.max_threads.min(256).ilog2();
    let r = s.n_vectors;
    if s.matrix.along() == Along::K && p.k >= 64 {
        let mut v = s.matrix.vector(target, Along::K);
        let lanes = if r == 1 { 1 } else { 4 };
        if lanes * r > 8 {
            v = v.min(4);
        }
        let bundles = p.batch * s.n_lanes.div_ceil(lanes.into());
        let small = target.subgroup.filter(|n| n.is_power_of_two() && *n >= 8).unwrap_or(32).min(threads);
        // Few lanes: whole workgroups for each, and several of them.
        let group = if bundles >= 4 * units || p.k <= u64::from(2 * small * v) { small } else { threads };
        let groups = bundles.div_ceil((threads / group).into());
        let step = u64::from(group * v);
        let wanted = if groups >= 2 * units { 1 } else { (4 * units / groups).min(p.k / (4 * step)).clamp(1, 64) };
        let ahead = (16 / (lanes * r)).clamp(1, 4);
        return Some(SkinnyTiles { way: Way::Dot { group, lanes }, threads, v, ahead, parts: Parts::of(p.k, wanted, step) });
    }
    if s.n_lanes < 32 {
        return None;
    }
    let mut v = s.matrix.vector(target, Along::Lanes).min(32 / r.next_power_of_two());
    // Rather more workgroups than wide ones.
    while v > 1 && p.batch * s.n_lanes * p.k < units * u64::from(threads * v) * 4 {
        v /= 2;
    }
    let deep = match p.k {
        64.. => 8,
        16.. => 4,
        _ => 1,
    };
    let across = (threads / deep).max(1).min((s.n_lanes as u32).div_ceil(v).next_power_of_two().max(8));
    let threads = across * deep;
    let groups = p.batch * s.n_lanes.div_ceil((across * v).into());
    let wanted = if groups >= 4 * units { 1 } else { (6 * units / groups).min(p.k / u64::from(8 * deep)).clamp(1, 64) };
    let ahead = (32 / (r * v)).clamp(1, 8);
    Some(SkinnyTiles { way: Way::Spread { across }, threads, v, ahead, parts: Parts::of(p.k, wanted, deep.into()) })
}

/// The launch of the product; the second step of several parts is the caller's.
pub(super) fn product(contract: &Contract, p: &Problem, target: &Target, plan: SkinnyTiles) -> Result<ProgramLaunch, Unsupported> {
    let mut s = Signature::new("contract_skinny", [plan.threads, 1, 1]);
    let first = Source::declare(&mut s, contract, &p.a, target)?;
    let second = Source::declare(&mut s, contract, &p.b, target)?;
    let parts = plan.parts;
    let sink = if parts.count > 1 { Sink::partial(&mut s, p, parts.count) } else { Sink::declare(&mut s, contract, p, target)? };
    let sides = Sides::of(p);
    let sources = if sides.columns { [&second, &first] } else { [&first, &second] };
    let per_group = match plan.way {
        Way::Dot { group, lanes } => plan.threads / group * lanes,
        Way::Spread { across } => across * plan.v,
    };
    let tiles = sides.n_lanes.div_ceil(per_group.into());
    let groups = Groups::new(tiles * p.batch * parts.count, target)?;
    if let Some(numbers) = ahead(&sides, p, per_group, groups.grid(), plan.parts, target)
        && let Some(place) = sources[0].place()
    {
        s.b.prefetch(place, numbers);
    }
    let length = match plan.way {
        Way::Dot { .. } => plan.threads,
        Way::Spread { across } if across == plan.threads => 0,
        Way::Spread { across } => plan.threads / across * across * plan.v,
    };
    let shared = (length > 0).then(|| s.b.shared("sums", p.compute, length));
    groups.each(&mut s.b, |b, id| {
        let Item { tile, both, part, batch } = item(b, id, tiles, p.batch, parts.count);
        let base = sink.base(b, if parts.count > 1 { both } else { batch });
        let lane0 = b.mul_const(tile, per_group.into());
        let begin = b.mul_const(part, parts.len as i64);
        let (length, all) = (b.u32(parts.len as u32), b.u32(p.k as u32));
        let end = if parts.count == 1 {
            all
        } else {
            let end = b.add(begin, length);
            b.binary(BinaryOp::Min, end, all)
        };
        let kernel = SkinnyKernel { p, plan, sides: Sides::of(p), target, sources, base: &base };
        match (plan.way, shared) {
            (Way::Dot { group, lanes }, Some(shared)) => kernel.dot(b, [batch, lane0, begin, end], group, lanes, shared),
            (Way::Dot { .. }, None) => b.mistake("threads that add up one lane have no shared memory for it"),
            (Way::Spread { across }, shared) => kernel.spread(b, [batch, lane0, begin, end], across, shared),
        }
    });
    Ok(s.finish(groups.grid()))
}

/// What workgroups may ask for before they begin, as [`Builder::prefetch`] takes it: the beginnings of the matrix' rows, for as many workgroups as a
/// device has at once. Of products that fill the device.
pub(super) fn ahead(sides: &Sides<'_>, p: &Problem, rows: u32, grid: [u32; 3], parts: Parts, target: &Target) -> Option<[u32; 4]> {
    let matrix = sides.matrix;
    let pitch = u64::try_from(matrix.lanes.single()?).ok()?;
    let units = target.compute_units.max(1);
    let plain = matrix.offset == 0 && matrix.k.single() == Some(1) && pitch >= p.k && p.batch == 1 && parts.count == 1;
    if !plain || grid[1..] != [1, 1] || grid[0] < 2 * units {
        return None;
    }
    let size = matrix.dtype.size() as u64;
    let at_once = u64::from(grid[0].min(units * GROUPS_AT_ONCE)) * u64::from(rows);
    let width = (AHEAD / at_once).min(p.k * size) / LINE * LINE;
    let numbers = [rows.into(), sides.n_lanes, width, pitch * size].map(|n| u32::try_from(n).ok());
    let [Some(rows), Some(count), Some(width), Some(pitch)] = numbers else { return None };
    (width > 0).then_some([rows, count, width, pitch])
}

struct SkinnyKernel<'a> {
    p: &'a Problem,
    plan: SkinnyTiles,
    sides: Sides<'a>,
    target: &'a Target,
    sources: [&'a Source<'a>; 2],
    base: &'a Base<'a, 'a>,
}

impl SkinnyKernel<'_> {
    fn zeros(&self, b: &mut Builder, count: u32) -> Place {
        let acc = b.local("acc", Type::Scalar(self.p.compute), count);
        let zero = b.constant(Literal::zero(self.p.compute));
        repeat(b, count, |b, i| b.store(acc, i, zero));
        acc
    }

    /// A lane's offset, for the last lane instead of one beyond.
    fn lane(&self, b: &mut Builder, base: Value, lane: Value, last: u64) -> Value {
        let last = b.u32(last as u32);
        let lane = b.binary(BinaryOp::Min, lane, last);
        let at = self.sides.matrix.lanes.offset(b, lane, self.sides.matrix.index);
        plus(b, base, at)
    }

    /// Where each vector begins.
    fn vectors(&self, b: &mut Builder, batch: Value) -> Vec<Value> {
        let operand = self.sides.vectors;
        let base = operand.base(b, batch);
        (0..self.sides.n_vectors)
            .map(|vector| {
                let vector = b.u32(vector);
                let at = operand.lanes.offset(b, vector, operand.index);
                plus(b, base, at)
            })
            .collect()
    }

    /// `n` neighbours along `k` of an operand from `base` and `k` on, in the compute dtype.
    fn along_k(&self, b: &mut Builder, operand: &Operand, source: &Source<'_>, base: Value, k: Value, n: u32) -> Vec<Value> {
        let v = operand.vector(self.target, Along::K).min(n);
        let mut values = Vec::with_capacity(n as usize);
        for first in (0..n).step_by(v as usize) {
            let k = b.add_const(k, first.into());
            let at = operand.k.offset(b, k, operand.index);
            let at = plus(b, base, at);
            let loaded = source.load(b, at, v as u8);
            for lane in 0..v {
                let value = b.extract(loaded, lane as u8);
                values.push(b.cast(value, self.p.compute));
            }
        }
        values
    }

    /// Steps from `begin` to `end`: `ahead` of them together where they are whole, then those that are left. `step(k)` is given the first `k` of
    /// several steps, `n` of them, and whether they may be beyond the end.
    fn steps(&self, b: &mut Builder, begin: Value, end: Value, stride: u32, mut step: impl FnMut(&mut Builder, Value, u32)) {
        let chunk = stride * self.plan.ahead;
        let length = b.sub(end, begin);
        let whole = b.div_const(length, chunk.into());
        let whole = b.mul_const(whole, chunk.into());
        let middle = b.add(begin, whole);
        let (by, one) = (b.u32(chunk), b.u32(stride));
        let n = self.plan.ahead;
        if self.plan.parts.len.min(self.p.k) >= chunk.into() {
            b.repeat(begin, middle, by, |b, k| step(b, k, n));
        }
        let exact = self.plan.parts.count == 1 && self.p.k.is_multiple_of(chunk.into());
        if !exact {
            b.repeat(middle, end, one, |b, k| step(b, k, 0));
        }
    }

    fn put(&self, b: &mut Builder, lane: Value, vector: Value, sum: Value) {
        let (row, col) = if self.sides.columns { (vector, lane) } else { (lane, vector) };
        self.base.put(b, row, col, &[sum]);
    }

    fn dot(&self, b: &mut Builder, at: [Value; 4], group: u32, lanes: u32, shared: Place) {
        let SkinnyKernel { plan, sides, sources, .. } = self;
        let [batch, lane0, begin, end] = at;
        let (r, v) = (sides.n_vectors, plan.v);
        let thread = b.thread(0);
        let (bundle, g) = split(b, thread, group.into());
        let first = b.mul_const(bundle, lanes.into());
        let first = b.add(lane0, first);
        let base = sides.matrix.base(b, batch);
        let rows: Vec<Value> = (0..lanes)
            .map(|lane| {
                let lane = b.add_const(first, lane.into());
                self.lane(b, base, lane, sides.n_lanes - 1)
            })
            .collect();
        let vectors = self.vectors(b, batch);
        let acc = self.zeros(b, lanes * r);
        let mine = b.mul_const(g, v.into());
        let stride = group * v;
        self.steps(b, begin, end, stride, |b, k, n| {
            let k = b.add(k, mine);
            let work = |b: &mut Builder, n: u32| {
                let ks: Vec<Value> = (0..n).map(|step| b.add_const(k, i64::from(step * stride))).collect();
                let matrix: Vec<Vec<Value>> = ks
                    .iter()
                    .flat_map(|k| rows.iter().map(|row| (*k, *row)).collect::<Vec<_>>())
                    .map(|(k, row)| self.along_k(b, sides.matrix, sources[0], row, k, v))
                    .collect();
                for (k, of_step) in ks.iter().zip(matrix.chunks(rows.len())) {
                    for (which, vector) in vectors.iter().enumerate() {
                        let xs = self.along_k(b, sides.vectors, sources[1], *vector, *k, v);
                        for (lane, ys) in of_step.iter().enumerate() {
                            let to = b.u32((lane * vectors.len() + which) as u32);
                            let mut sum = b.load(acc, to);
                            for (x, y) in xs.iter().zip(ys) {
                                sum = multiply_add(b, *x, *y, sum);
                            }
                            b.store(acc, to, sum);
                        }
                    }
                }
            };
            if n > 0 {
                work(b, n);
            } else {
                let inside = b.lt(k, end);
                b.when(inside, |b| work(b, 1));
            }
        });
        self.reduce(b, [thread, g, bundle, first], group, lanes, shared, acc);
    }

    /// Adds what the threads of a group have, sum by sum, and hands it on.
    fn reduce(&self, b: &mut Builder, at: [Value; 4], group: u32, lanes: u32, shared: Place, acc: Place) {
        let [thread, g, bundle, first] = at;
        let r = self.sides.n_vectors;
        let subgroup = self.target.subgroup.filter(|n| n.is_power_of_two() && *n > 1 && *n <= group);
        // Sums that a group has in shared memory, after subgroups added theirs.
        let left = group / subgroup.unwrap_or(1);
        let (zero, one, rounds) = (b.u32(0), b.u32(1), b.u32(lanes * r));
        b.repeat(zero, rounds, one, |b, round| {
            let mine = pick(b, acc, round, lanes * r, 1, 0);
            let (holder, slot) = match subgroup {
                Some(n) => {
                    let sum = b.subgroup(SubgroupOp::Reduce(ReduceOp::Sum), mine);
                    let (slot, lane) = split(b, thread, n.into());
                    let first = b.binary(BinaryOp::Eq, lane, zero);
                    b.when(first, |b| b.store(shared, slot, sum));
                    let per_group = b.mul_const(bundle, left.into());
                    (g, b.add(per_group, g))
                }
                None => {
                    b.store(shared, thread, mine);
                    (g, thread)
                }
            };
            b.barrier();
            let mut half = left / 2;
            while half > 0 {
                let lower = b.u32(half);
                let adds = b.lt(holder, lower);
                b.when(adds, |b| {
                    let other = b.add_const(slot, half.into());
                    let (x, y) = (b.load(shared, slot), b.load(shared, other));
                    let sum = b.add(x, y);
                    b.store(shared, slot, sum);
                });
                b.barrier();
                half /= 2;
            }
            let leads = b.binary(BinaryOp::Eq, holder, zero);
            let (lane, vector) = split(b, round, r.into());
            let lane = b.add(first, lane);
            let end = b.u32(self.sides.n_lanes as u32);
            let inside = b.lt(lane, end);
            let leads = b.and(leads, inside);
            b.when(leads, |b| {
                let sum = b.load(shared, slot);
                self.put(b, lane, vector, sum);
            });
            b.barrier();
        });
    }

    fn spread(&self, b: &mut Builder, at: [Value; 4], across: u32, shared: Option<Place>) {
        let SkinnyKernel { p, plan, sides, sources, .. } = self;
        let [batch, lane0, begin, end] = at;
        let (r, v) = (sides.n_vectors, plan.v);
        let thread = b.thread(0);
        let (y, x) = split(b, thread, across.into());
        let mine = b.mul_const(x, v.into());
        let lane = b.add(lane0, mine);
        let base = sides.matrix.base(b, batch);
        let row = self.lane(b, base, lane, sides.n_lanes - u64::from(v));
        let vectors = self.vectors(b, batch);
        let acc = self.zeros(b, r * v);
        let deep = plan.threads / across;
        self.steps(b, begin, end, deep, |b, k, n| {
            let k = b.add(k, y);
            let work = |b: &mut Builder, n: u32| {
                let ks: Vec<Value> = (0..n).map(|step| b.add_const(k, i64::from(step * deep))).collect();
                let loaded: Vec<Value> = ks
                    .iter()
                    .map(|k| {
                        let at = sides.matrix.k.offset(b, *k, sides.matrix.index);
                        let at = plus(b, row, at);
                        sources[0].load(b, at, v as u8)
                    })
                    .collect();
                for (k, loaded) in ks.iter().zip(loaded) {
                    let ys: SmallVec<[Value; 8]> = (0..v)
                        .map(|lane| {
                            let value = b.extract(loaded, lane as u8);
                            b.cast(value, p.compute)
                        })
                        .collect();
                    for (which, vector) in vectors.iter().enumerate() {
                        let x = self.along_k(b, sides.vectors, sources[1], *vector, *k, 1)[0];
                        for (lane, y) in ys.iter().enumerate() {
                            let to = b.u32(which as u32 * v + lane as u32);
                            let old = b.load(acc, to);
                            let new = multiply_add(b, x, *y, old);
                            b.store(acc, to, new);
                        }
                    }
                }
            };
            if n > 0 {
                work(b, n);
            } else {
                let inside = b.lt(k, end);
                b.when(inside, |b| work(b, 1));
            }
        });
        let lanes_end = b.u32(sides.n_lanes as u32);
        let Some(shared) = shared else {
            let (zero, one, rounds) = (b.u32(0), b.u32(1), b.u32(r * v));
            b.repeat(zero, rounds, one, |b, round| {
                let (vector, offset) = split(b, round, v.into());
                let lane = b.add(lane, offset);
                let inside = b.lt(lane, lanes_end);
                b.when(inside, |b| {
                    let sum = pick(b, acc, round, r * v, 1, 0);
                    self.put(b, lane, vector, sum);
                });
            });
            return;
        };
        let width = across * v;
        let (zero, one, rounds) = (b.u32(0), b.u32(1), b.u32(r));
        b.repeat(zero, rounds, one, |b, round| {
            let row = b.mul_const(y, width.into());
            let to = b.add(row, mine);
            for lane in 0..v {
                let to = b.add_const(to, lane.into());
                let sum = pick(b, acc, round, r, v, lane);
                b.store(shared, to, sum);
            }
            b.barrier();
            let (end, step) = (b.u32(width), b.u32(plan.threads));
            b.repeat(thread, end, step, |b, output| {
                let lane = b.add(lane0, output);
                let inside = b.lt(lane, lanes_end);
                b.when(inside, |b| {
                    let mut sum = b.load(shared, output);
                    for y in 1..deep {
                        let from = b.add_const(output, i64::from(y * width));
                        let other = b.load(shared, from);
                        sum = b.add(sum, other);
                    }
                    self.put(b, lane, round, sum);
                });
            });
            b.barrier();
        });
    }
}

/// Element `which * stride + offset` of an array of the thread, `which` below `n`: by choosing among all, so that they stay in registers.
fn pick(b: &mut Builder, array: Place, which: Value, n: u32, stride: u32, offset: u32) -> Value {
    let first = b.u32(offset);
    let mut chosen = b.load(array, first);
    for i in 1..n {
        let (this, at) = (b.u32(i), b.u32(i * stride + offset));
        let value = b.load(array, at);
        let here = b.binary(BinaryOp::Eq, which, this);
        chosen = b.select(here, value, chosen);
    }
    chosen
}
