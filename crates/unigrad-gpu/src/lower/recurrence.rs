//! A recurrence: kernels that come again and again, as the steps of a recurrent layer do, as one launch that does all steps.
//!
//! In: the kernels of a step in order, and the memory of each argument as it moves from step to step ([`Moving`]). Out: a program of which each cluster of
//! workgroups has some rows from the first step to the last, and the memory that it is launched with. `None` where the target has no clusters, or kernels are others than maps
//! and products by matrices that stay the same and fit in registers ([`native::resident`](super::native::resident)).
//! Always: between kernels the workgroups of a cluster wait for each other, and for nothing else: rows belong to different clusters only where no kernel
//! reads or writes what kernels of the recurrence write for other rows ([`are_apart`]). All that kernels write is written, so that memory is afterwards as if
//! they had been launched one by one.
//! Never: is needed, or decides what is computed: products have the terms, and maps the regions, that the kernels have.

mod apart;
mod shares;

use self::{
    apart::are_apart,
    shares::{Shares, held_below},
};
use super::{
    ProgramLaunch, Signature,
    contract::axes,
    distribute::sum_of_parts,
    native::resident::{self, Factors, Resident},
    region::{Ahead, Body, Ending, unravel},
};
use smallvec::{SmallVec, smallvec};
use unigrad_ir::{Builder, Place, Target, Value};
use unigrad_kernel::{Arg, Contract, Index, InstOp, Kernel, Region, merge_dims};
use unigrad_scalar::DType;

/// Rows that a cluster takes at most where several clusters cannot share them out.
const MOST_TOGETHER: u32 = 32;
/// Of all clusters that a device's units would be, the share that is there at once: parts of a chip have fewer units than others, and of 16 clusters of 8 on an H200 some
/// wait until others have gone through all steps.
const AT_ONCE: (u32, u32) = (3, 4);
/// Points of a map at most that a cluster has in a step: of more, a launch of its own for each step is nothing beside them.
const MOST_POINTS: usize = 1 << 22;

/// The memory of an argument: part of an entry of a sequence's table, in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Moving {
    pub(crate) entry: usize,
    /// Its first byte in the first step, and the bytes from a step's to the next one's.
    pub(crate) first: usize,
    pub(crate) distance: i64,
    /// [`usize::MAX`] for all that follow; then it does not move.
    pub(crate) len: usize,
}

/// A kernel of a step.
#[derive(Clone, Debug)]
pub(crate) struct Repeated<'a> {
    pub(crate) kernel: &'a Kernel,
    /// One per argument.
    pub(crate) args: Vec<Moving>,
}

/// All steps as one launch.
#[derive(Debug)]
pub(crate) struct Recurrence {
    pub(crate) launch: ProgramLaunch,
    /// The memory of the launch's arguments, which does not move: from the lowest byte of any step to the highest one.
    pub(crate) args: Vec<Moving>,
    /// Entries that it writes, and others that it touches: none of the ones may be another's memory.
    pub(crate) writes: SmallVec<[usize; 2]>,
    pub(crate) reads: SmallVec<[usize; 6]>,
}

impl Moving {
    /// All bytes of all steps: first and end.
    fn span(&self, times: usize) -> (i64, i64) {
        let first = self.first as i64;
        let way = self.distance.saturating_mul(times as i64 - 1);
        let len = i64::try_from(self.len).unwrap_or(i64::MAX);
        (first.saturating_add(way.min(0)), first.saturating_add(way.max(0)).saturating_add(len))
    }

    /// The memory of all steps.
    fn whole(&self, times: usize) -> Moving {
        let (first, end) = self.span(times);
        let len = if self.len == usize::MAX { usize::MAX } else { (end - first) as usize };
        Moving { first: first as usize, distance: 0, len, ..*self }
    }

    fn meets(&self, other: &Moving, times: usize) -> bool {
        let ((a, a_end), (b, b_end)) = (self.span(times), other.span(times));
        self.entry == other.entry && a < b_end && b < a_end
    }
}

/// What a kernel of a step does.
enum Part<'a> {
    Product(&'a Contract, Resident, Option<Region>),
    Map(Region),
}

/// A part with its place in a program.
enum Placed<'a> {
    Product { contract: &'a Contract, product: Resident, rows: Place, sums: Place, sink: Sink<'a>, shares: Shares },
    Map(Body<'a>, &'a Region),
}

/// Where sums go.
enum Sink<'a> {
    Memory(Strided),
    Epilogue(Box<Body<'a>>, Ahead),
}

/// Memory of sums; distances count elements.
struct Strided {
    place: Place,
    dtype: DType,
    first: i64,
    by_step: i64,
    by_row: i64,
    by_column: i64,
}

/// An argument as a program of all steps has it.
#[derive(Clone, Copy, Debug)]
struct Rolled {
    arg: Arg,
    /// Elements of the first step from the lowest one of any step, and from step to step.
    first: i64,
    by_step: i64,
    /// Whether the recurrence writes memory of it.
    is_shared: bool,
}

/// Rows at most: of more, a product of each step keeps the device busy by itself.
pub(crate) fn most_rows(target: &Target) -> u32 {
    (target.compute_units / target.clusters().max(1) * AT_ONCE.0 / AT_ONCE.1).max(1) * resident::ROWS
}

/// All steps as one launch; see the module's text.
pub(crate) fn recurrence(steps: &[Repeated<'_>], times: usize, target: &Target) -> Option<Recurrence> {
    let groups = target.clusters();
    if groups < 2 || !target.own_words || target.max_threads < resident::THREADS || times < 2 {
        return None;
    }
    let kernel_args: Vec<Vec<Arg>> = steps.iter().map(|step| step.kernel.args()).collect();
    if steps.iter().zip(&kernel_args).any(|(step, args)| step.args.len() != args.len() || !step.kernel.scalars().is_empty()) {
        return None;
    }
    let all: Vec<(&Moving, &Arg)> = steps.iter().zip(&kernel_args).flat_map(|(step, args)| step.args.iter().zip(args)).collect();
    let written: Vec<&Moving> = all.iter().filter(|(_, arg)| arg.write).map(|(moving, _)| *moving).collect();
    let rolled = |moving: &Moving, arg: &Arg| -> Option<Rolled> {
        let size = arg.dtype.size() as i64;
        let is_still = moving.distance == 0;
        if moving.distance % size != 0 || (moving.len == usize::MAX && !is_still) {
            return None;
        }
        let way = moving.distance / size;
        let is_shared = written.iter().any(|other| other.meets(moving, times));
        let len = arg.len.checked_add(usize::try_from(way.unsigned_abs()).ok()?.checked_mul(times - 1)?)?;
        let first = if way < 0 { -way.checked_mul(times as i64 - 1)? } else { 0 };
        Some(Rolled { arg: Arg { len, write: arg.write || is_shared, ..*arg }, first, by_step: way, is_shared })
    };
    let mut parts = Vec::with_capacity(steps.len());
    let mut args = Vec::with_capacity(steps.len());
    for (step, kernel_args) in steps.iter().zip(&kernel_args) {
        let own: Vec<Rolled> = step.args.iter().zip(kernel_args).map(|(moving, arg)| rolled(moving, arg)).collect::<Option<_>>()?;
        parts.push(part(step.kernel, &own, times, groups)?);
        args.push(own);
    }
    let rows = parts.iter().find_map(|part| if let Part::Product(_, product, _) = part { Some(product.rows) } else { None })?;
    if rows == 1 {
        // Regions have no axes of one element.
        parts.iter_mut().for_each(with_row);
    }
    let same = parts.iter().all(|part| match part {
        Part::Product(_, product, _) => product.rows == rows,
        Part::Map(region) => region.axes.get(1) == Some(&(rows as usize)),
    });
    let products = parts.iter().filter_map(|part| if let Part::Product(_, product, _) = part { Some(product) } else { None });
    let registers: u32 = products.clone().map(Resident::registers).sum();
    let shared_bytes: u32 = products.map(|product| product.sums().saturating_mul(4)).sum();
    if !same || registers > resident::MOST_REGISTERS || shared_bytes as usize > target.shared_bytes {
        return None;
    }
    let tiles = rows.div_ceil(resident::ROWS);
    // A cluster that has several tiles takes as long as a launch for each step, but where they are few.
    let of_cluster = if rows <= most_rows(target) && are_apart(steps, &parts, &args, rows, times) { 1 } else { tiles };
    if of_cluster > 1 && rows > MOST_TOGETHER {
        return None;
    }
    let points = |part: &Part<'_>| match part {
        Part::Map(region) => {
            region.axes.iter().skip(2).try_fold((of_cluster * resident::ROWS) as usize, |n, extent| n.checked_mul(*extent))
        }
        Part::Product(..) => Some(0),
    };
    if parts.iter().any(|part| points(part).is_none_or(|points| points > MOST_POINTS)) {
        return None;
    }
    let launch = program(&parts, &args, (times, rows, of_cluster, groups), target)?;
    let (mut writes, mut reads) = (SmallVec::new(), SmallVec::new());
    for (moving, arg) in &all {
        if arg.write && !writes.contains(&moving.entry) {
            writes.push(moving.entry);
        }
        if !reads.contains(&moving.entry) {
            reads.push(moving.entry);
        }
    }
    reads.retain(|entry| !writes.contains(entry));
    Some(Recurrence { launch, args: all.iter().map(|(moving, _)| moving.whole(times)).collect(), writes, reads })
}

/// What a kernel does in all steps, if it is one that can be done so.
fn part<'a>(kernel: &'a Kernel, args: &[Rolled], times: usize, groups: u32) -> Option<Part<'a>> {
    if let Kernel::Region(region) = kernel {
        return Some(Part::Map(all_steps(region, args, times)?));
    }
    let Kernel::Contract(contract) = kernel else { return None };
    let [a, b, rest @ ..] = args else { return None };
    let factors = match (contract.a.dtype, contract.b.dtype) {
        (DType::F32, DType::F32) if contract.tf32 => Factors::Tf32,
        (DType::F32, DType::F32) => Factors::Exact,
        (a @ (DType::F16 | DType::BF16), b) if a == b => Factors::Half(a),
        _ => return None, // DEFAULT: factors that the program has no instructions for
    };
    let is_plain = contract.batch.iter().all(|dim| dim.size == 1) && contract.prologues.iter().all(Option::is_none);
    if !is_plain || contract.compute_dtype() != DType::F32 || b.by_step != 0 || b.is_shared {
        return None;
    }
    // One dimension each, as an operand sees it.
    let one = |dims: &mut dyn Iterator<Item = (usize, i64)>| match merge_dims(dims).as_slice() {
        [] => Some((1, 0)),
        [dim] => Some(*dim),
        _ => None,
    };
    let (m, by_row) = one(&mut contract.m.iter().map(|dim| (dim.size, dim.a)))?;
    let (n, by_column) = one(&mut contract.n.iter().map(|dim| (dim.size, dim.b)))?;
    let (k, a_by_k) = one(&mut contract.k.iter().map(|dim| (dim.size, dim.a)))?;
    let (_, b_by_k) = one(&mut contract.k.iter().map(|dim| (dim.size, dim.b)))?;
    let size = |n: usize| u32::try_from(n).ok();
    let product = (a_by_k == 1).then(|| {
        let first = contract.a_offset.checked_add(a.first)?;
        Resident::new(factors, [size(m)?, size(n)?, size(k)?], [first, a.by_step, by_row], [contract.b_offset, b_by_k, by_column], groups)
    })??;
    let epilogue = match &contract.epilogue {
        Some(region) => Some(all_steps(region, rest, times)?),
        None => {
            one(&mut contract.m.iter().map(|dim| (dim.size, dim.c)))?;
            one(&mut contract.n.iter().map(|dim| (dim.size, dim.c)))?;
            None
        }
    };
    Some(Part::Product(contract, product, epilogue))
}

/// A map with the steps as its first axis. None if it is no map, or finds errors, or computes where it reads or writes.
fn all_steps(region: &Region, args: &[Rolled], times: usize) -> Option<Region> {
    if region.n_parallel != region.axes.len() || region.args.len() != args.len() || !region.scalars.is_empty() {
        return None;
    }
    let mut all = region.clone();
    all.axes.insert(0, times);
    all.n_parallel += 1;
    all.args = args.iter().map(|rolled| rolled.arg).collect();
    let moved = |arg: u32, index: &mut Index| {
        let rolled = args.get(arg as usize)?;
        index.offset = index.offset.checked_add(rolled.first)?;
        index.strides.insert(0, rolled.by_step);
        index.dynamic.is_empty().then_some(())
    };
    for inst in &mut all.insts {
        match &mut inst.op {
            InstOp::AxisIndex(axis) => *axis += 1,
            InstOp::Load { arg, index, .. } | InstOp::Store { arg, index, .. } => moved(*arg, index)?,
            InstOp::Const(_) | InstOp::Acc | InstOp::Unary(..) | InstOp::Binary(..) | InstOp::Where(..) => {}
            InstOp::Cast(_) | InstOp::Bitcast(_) => {}
            InstOp::Scalar(_) | InstOp::Bounded { .. } | InstOp::Philox { .. } | InstOp::Reduce(..) | InstOp::ArgReduce(..) => return None,
        }
    }
    Some(all)
}

/// Gives a map of all steps an axis for its only row, if it has none.
fn with_row(part: &mut Part<'_>) {
    let Part::Map(region) = part else { return };
    if region.axes.get(1) == Some(&1) {
        return;
    }
    region.axes.insert(1, 1);
    region.n_parallel += 1;
    for inst in &mut region.insts {
        if let InstOp::AxisIndex(axis) = &mut inst.op {
            *axis += u32::from(*axis > 0);
        } else if let Some((_, index)) = inst.op.access_mut() {
            index.strides.insert(1, 0);
        }
    }
}

/// The program of `times` steps with `of_cluster` tiles of rows for a cluster of `groups` workgroups.
fn program(
    parts: &[Part<'_>],
    args: &[Vec<Rolled>],
    (times, rows, of_cluster, groups): (usize, u32, u32, u32),
    target: &Target,
) -> Option<ProgramLaunch> {
    let mut s = Signature::new("recurrence", [resident::THREADS, 1, 1]);
    s.b.cluster(groups);
    s.memory_is_shared();
    let (mut placed, mut matrices) = (Vec::with_capacity(parts.len()), Vec::new());
    let mut first_arg = 0;
    for (part, own) in parts.iter().zip(args) {
        placed.push(match part {
            Part::Map(region) => Placed::Map(Body::declare(&mut s, target, region, first_arg, 0).ok()?, region),
            Part::Product(contract, product, epilogue) => {
                let rows = s.arg("rows", first_arg, &own.first()?.arg);
                let matrix = s.arg("matrix", first_arg + 1, &own.get(1)?.arg);
                matrices.push((*product, matrix));
                let (sink, loads) = match epilogue {
                    Some(region) => {
                        let body = Body::declare(&mut s, target, region, first_arg + 2, 0).ok()?;
                        let still: Vec<bool> = own.iter().skip(2).map(|rolled| !rolled.is_shared).collect();
                        let (ahead, loads) = (body.ahead(&still), body.n_loads());
                        (Sink::Epilogue(Box::new(body), ahead), loads)
                    }
                    None => {
                        let c = own.get(2)?;
                        let stride = |dims: SmallVec<[(usize, i64); 4]>| dims.last().map_or(0, |dim| dim.1);
                        let sink = Strided {
                            place: s.arg("sums", first_arg + 2, &c.arg),
                            dtype: c.arg.dtype,
                            first: c.first,
                            by_step: c.by_step,
                            by_row: stride(merge_dims(contract.m.iter().map(|dim| (dim.size, dim.c)))),
                            by_column: stride(merge_dims(contract.n.iter().map(|dim| (dim.size, dim.c)))),
                        };
                        (Sink::Memory(sink), 0)
                    }
                };
                let sums = s.b.shared(&format!("parts{}", placed.len()), DType::F32, product.sums());
                // Each sum is a load of each part as well.
                let shares = Shares::of(resident::ROWS * product.own(), resident::THREADS, loads + product.parts);
                let held = match &sink {
                    Sink::Epilogue(_, ahead) if shares.is_one() => ahead.n_loads * shares.at_once,
                    Sink::Epilogue(..) | Sink::Memory(_) => 0,
                };
                Placed::Product { contract, product: product.holding(held), rows, sums, sink, shares }
            }
        });
        first_arg += own.len();
    }
    let b = &mut s.b;
    let (thread, group) = (b.thread(0), b.group(0));
    let (rank, cluster) = (b.rem_const(group, groups.into()), b.div_const(group, groups.into()));
    for (number, (product, matrix)) in matrices.iter().enumerate() {
        let first = b.mul_const(rank, product.own().into());
        b.raw(product.bring(number, first, *matrix));
    }
    let first_row = b.mul_const(cluster, (of_cluster * resident::ROWS).into());
    let (zero, one, count) = (b.u32(0), b.u32(1), b.u32(u32::try_from(times).ok()?));
    let work = Work { thread, rank, first_row, rows, of_cluster, groups };
    b.repeat(zero, count, one, |b, step| {
        let mut number = 0;
        for part in &placed {
            match part {
                Placed::Map(body, region) => map(b, body, region, step, &work),
                Placed::Product { contract, product, rows, sums, sink, shares } => {
                    multiply(b, contract, (product, number), [*rows, *sums], (sink, shares), step, &work);
                    number += 1;
                }
            }
            b.raw(resident::meet());
        }
    });
    let tiles = rows.div_ceil(resident::ROWS);
    Some(s.finish([tiles.div_ceil(of_cluster) * groups, 1, 1]))
}

/// What a thread has to do with.
struct Work {
    thread: Value,
    /// The workgroup's number in its cluster.
    rank: Value,
    /// The cluster's first row, rows in all, and its tiles.
    first_row: Value,
    rows: u32,
    of_cluster: u32,
    groups: u32,
}

impl Work {
    /// How many rows there are, where a cluster may have others.
    fn limit(&self) -> Option<u32> {
        (!self.rows.is_multiple_of(self.of_cluster * resident::ROWS)).then_some(self.rows)
    }
}

/// A map of the cluster's rows: its points are shared out among all threads of the cluster.
fn map(b: &mut Builder, body: &Body<'_>, region: &Region, step: Value, work: &Work) {
    let rows = work.of_cluster * resident::ROWS;
    let mut extents: SmallVec<[usize; 6]> = region.axes.iter().skip(1).copied().collect();
    extents[0] = rows as usize;
    let points = extents.iter().product::<usize>();
    let first = b.mul_const(work.rank, resident::THREADS.into());
    let first = b.add(first, work.thread);
    let none = body.ahead(&[]);
    Shares::of(points as u32, work.groups * resident::THREADS, body.n_loads()).each(b, first, |b, points| {
        let begun = points.into_iter().map(|(at, inside)| {
            let mut point = unravel(b, at, &extents);
            let row = b.add(point[0], work.first_row);
            let (row, inside) = held_below(b, row, work.limit(), inside);
            point[0] = row;
            let mut axes: SmallVec<[Value; 6]> = SmallVec::from_slice(&[step]);
            axes.extend(point);
            Ending { begun: body.begin(b, &axes, (1, None), &none), acc: SmallVec::new(), inside }
        });
        let begun = begun.collect();
        body.end(b, begun);
    });
}

/// A product of the cluster's rows: each workgroup has its columns.
fn multiply(
    b: &mut Builder,
    contract: &Contract,
    (product, number): (&Resident, usize),
    [rows, sums]: [Place; 2],
    (sink, shares): (&Sink<'_>, &Shares),
    step: Value,
    work: &Work,
) {
    let own = product.own();
    let first_column = b.mul_const(work.rank, own.into());
    let (zero, one, tiles) = (b.u32(0), b.u32(1), b.u32(work.of_cluster));
    let beyond = (product.columns != own * work.groups).then_some(product.columns);
    b.repeat(zero, tiles, one, |b, tile| {
        let tile_row = b.mul_const(tile, resident::ROWS.into());
        let tile_row = b.add(work.first_row, tile_row);
        // A point's place among the sums, its row and its column, and whether it is there.
        let place = |b: &mut Builder, (at, inside): (Value, Option<Value>)| {
            let (row, column) = (b.div_const(at, own.into()), b.rem_const(at, own.into()));
            let (row, column) = (b.add(tile_row, row), b.add(first_column, column));
            let (row, inside) = held_below(b, row, work.limit(), inside);
            let (column, inside) = held_below(b, column, beyond, inside);
            (at, [row, column], inside)
        };
        let begin = |b: &mut Builder, body: &Body<'_>, ahead: &Ahead, [row, column]: [Value; 2]| {
            let axes = axes_of(b, contract, [step, row, column]);
            body.begin(b, &axes, (1, None), ahead)
        };
        // What does not come from other steps is there before the sums are.
        let mut early = None;
        if let (Sink::Epilogue(body, ahead), true) = (sink, shares.is_one()) {
            let points = shares.points(b, work.thread);
            let points = points.into_iter().map(|point| {
                let (at, place, inside) = place(b, point);
                (at, begin(b, body, ahead, place), inside)
            });
            early = Some(points.collect::<Vec<_>>());
        }
        b.raw(product.multiply(number, [tile_row, step], [rows, sums]));
        let sum = |b: &mut Builder, at: Value| {
            let sum = sum_of_parts(b, sums, at, (product.parts, resident::ROWS * own));
            b.cast(sum, contract.c.dtype)
        };
        match (sink, early) {
            (Sink::Epilogue(body, _), Some(begun)) => {
                let points = begun.into_iter().map(|(at, begun, inside)| Ending { begun, acc: smallvec![sum(b, at)], inside }).collect();
                body.end(b, points);
            }
            (Sink::Epilogue(body, ahead), None) => shares.each(b, work.thread, |b, points| {
                let points = points.into_iter().map(|point| {
                    let (at, place, inside) = place(b, point);
                    let begun = begin(b, body, ahead, place);
                    Ending { begun, acc: smallvec![sum(b, at)], inside }
                });
                let points = points.collect();
                body.end(b, points);
            }),
            (Sink::Memory(memory), _) => shares.each(b, work.thread, |b, points| {
                for point in points {
                    let (at, [row, column], inside) = place(b, point);
                    let sum = sum(b, at);
                    let store = |b: &mut Builder| put(b, memory, [step, row, column], sum);
                    match inside {
                        Some(inside) => b.when(inside, store),
                        None => store(b),
                    }
                }
            }),
        }
        b.barrier();
    });
}

/// The indices of an epilogue's point.
fn axes_of(b: &mut Builder, contract: &Contract, [step, row, column]: [Value; 3]) -> SmallVec<[Value; 6]> {
    let zero = b.u32(0);
    let mut all: SmallVec<[Value; 6]> = SmallVec::from_slice(&[step]);
    all.extend(contract.batch.iter().map(|_| zero));
    all.extend(axes(b, row, contract.m.iter().map(|dim| dim.size)));
    all.extend(axes(b, column, contract.n.iter().map(|dim| dim.size)));
    all
}

/// Takes a sum to its place in memory.
fn put(b: &mut Builder, memory: &Strided, [step, row, column]: [Value; 3], sum: Value) {
    let mut at = b.int(DType::I64, memory.first);
    for (index, stride) in [(step, memory.by_step), (row, memory.by_row), (column, memory.by_column)] {
        let index = b.cast(index, DType::I64);
        let part = b.mul_const(index, stride);
        at = b.add(at, part);
    }
    let sum = b.cast(sum, memory.dtype);
    b.store(memory.place, at, sum);
}

#[cfg(test)]
mod tests;
