//! A recurrence: kernels that come again and again, as the steps of a recurrent layer do, as one launch that does all steps.
//!
//! In: the kernels of a step in order, and the memory of each argument as it moves from step to step ([`Moving`]). Out: a program of which each cluster of
//! workgroups has some rows from the first step to the last, and the memory that it is launched with. `None` where the target has no clusters, or kernels are others than maps
//! and products by matrices that stay the same and fit in registers ([`native::resident`](super::native::resident)).
//! Always: between kernels the workgroups of a cluster wait for each other, and for nothing else: rows belong to different clusters only where no kernel
//! reads or writes what kernels of the recurrence write for other rows ([`are_apart`]). All that kernels write is written, so that memory is afterwards as if
//! they had been launched one by one.
//! Never: is needed, or decides what is computed: products have the terms, and maps the regions, that the kernels have.

use super::{
    ProgramLaunch, Signature,
    contract::axes,
    native::resident::{self, Factors, Resident},
    region::{Body, unravel},
};
use smallvec::SmallVec;
use unigrad_ir::{Builder, Place, Target, Value};
use unigrad_kernel::{Arg, Contract, Index, InstOp, Kernel, Region, merge_dims};
use unigrad_scalar::DType;

/// Rows that a cluster takes at most where several clusters cannot share them out.
const MOST_TOGETHER: u32 = 32;
/// Rows at most: of more, a product of each step keeps the device busy by itself.
pub(crate) const MOST_ROWS: u32 = 1024;
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
    Product { contract: &'a Contract, product: Resident, rows: Place, sums: Place, sink: Sink<'a> },
    Map(Body<'a>, &'a Region),
}

/// Where sums go.
enum Sink<'a> {
    Memory { place: Place, dtype: DType, first: i64, by_step: i64, by_row: i64, by_column: i64 },
    Epilogue(Box<Body<'a>>),
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
    if !same || rows > MOST_ROWS || registers > resident::MOST_REGISTERS || shared_bytes as usize > target.shared_bytes {
        return None;
    }
    let tiles = rows.div_ceil(resident::ROWS);
    let many = (target.compute_units / groups).clamp(1, tiles);
    let mut of_cluster = tiles.div_ceil(many);
    if !are_apart(steps, &parts, &args, rows, times) {
        if rows > MOST_TOGETHER {
            return None;
        }
        of_cluster = tiles;
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

/// What a kernel reads or writes of memory that the recurrence writes, for a row: in bytes of an entry.
#[derive(Clone, Copy, Debug)]
struct Access {
    moving: Moving,
    /// The first byte of row 0 in the first step, and the bytes from there on that a row has.
    first: i64,
    bytes: i64,
    by_row: i64,
}

/// Whether no row reads or writes what the recurrence writes for another one. Rows lie one behind the other at the same distance in all accesses to a piece of memory,
/// and either all steps of a row lie between its beginning and the next row's, or all rows of a step before the next step's.
fn are_apart(steps: &[Repeated<'_>], parts: &[Part<'_>], args: &[Vec<Rolled>], rows: u32, times: usize) -> bool {
    let mut accesses = Vec::new();
    for ((step, part), rolled) in steps.iter().zip(parts).zip(args) {
        let found = match part {
            Part::Product(contract, product, epilogue) => of_product(contract, product, epilogue.as_ref(), step, rolled, &mut accesses),
            Part::Map(region) => of_region(region, 1, &step.args, rolled, &mut accesses),
        };
        if found.is_none() {
            return false;
        }
    }
    // Pieces of memory that do not touch each other.
    while let Some(one) = accesses.pop() {
        let mut piece = vec![one];
        let mut at = 0;
        while let Some(member) = piece.get(at).copied() {
            let (meeting, others) = accesses.into_iter().partition(|other: &Access| other.moving.meets(&member.moving, times));
            accesses = others;
            piece.extend::<Vec<Access>>(meeting);
            at += 1;
        }
        if !is_apart(&piece, rows, times) {
            return false;
        }
    }
    true
}

fn is_apart(piece: &[Access], rows: u32, times: usize) -> bool {
    let Some(by_row) = piece.first().map(|access| access.by_row).filter(|by_row| *by_row > 0) else { return false };
    if rows == 1 {
        return true;
    }
    if piece.iter().any(|access| access.by_row != by_row) {
        return false;
    }
    let way = |access: &Access| access.moving.distance.saturating_mul(times as i64 - 1);
    let low = piece.iter().map(|access| access.first.saturating_add(way(access).min(0))).min().unwrap_or(0);
    let within_rows = piece.iter().all(|access| access.first + way(access).max(0) + access.bytes - low <= by_row);
    let of_step = by_row.saturating_mul(rows.into());
    let within_steps = piece.iter().all(|access| {
        access.moving.distance % of_step == 0 && (access.first - low).rem_euclid(of_step).saturating_add(access.bytes) <= by_row
    });
    within_rows || within_steps
}

fn of_product(
    contract: &Contract,
    product: &Resident,
    epilogue: Option<&Region>,
    step: &Repeated<'_>,
    rolled: &[Rolled],
    accesses: &mut Vec<Access>,
) -> Option<()> {
    let (a, a_size) = (step.args.first()?, contract.a.dtype.size() as i64);
    if rolled.first()?.is_shared {
        let first = a.first as i64 + contract.a_offset * a_size;
        accesses.push(Access { moving: *a, first, bytes: i64::from(product.k) * a_size, by_row: product.by_row * a_size });
    }
    if let Some(region) = epilogue {
        let batch = contract.batch.len();
        // Rows are one dimension, or none of more than one.
        let row_axis = contract.m.iter().position(|dim| dim.size > 1).unwrap_or(0);
        if contract.m.iter().filter(|dim| dim.size > 1).count() > 1 {
            return None;
        }
        return of_region(region, 1 + batch + row_axis, step.args.get(2..)?, rolled.get(2..)?, accesses);
    }
    let (c, c_size) = (step.args.get(2)?, contract.c.dtype.size() as i64);
    let width: i64 = contract.n.iter().map(|dim| (dim.size as i64 - 1) * dim.c).sum::<i64>() + 1;
    let by_row = merge_dims(contract.m.iter().map(|dim| (dim.size, dim.c))).last().map_or(0, |dim| dim.1);
    if contract.n.iter().any(|dim| dim.c < 0) {
        return None;
    }
    accesses.push(Access { moving: *c, first: c.first as i64, bytes: width * c_size, by_row: by_row * c_size });
    Some(())
}

/// The accesses of a map of all steps, whose rows are one of its axes.
fn of_region(region: &Region, row_axis: usize, args: &[Moving], rolled: &[Rolled], accesses: &mut Vec<Access>) -> Option<()> {
    for inst in &region.insts {
        let (InstOp::Load { arg, index, .. } | InstOp::Store { arg, index, .. }) = &inst.op else { continue };
        let (moving, rolled) = (args.get(*arg as usize)?, rolled.get(*arg as usize)?);
        if !rolled.is_shared {
            continue;
        }
        let size = rolled.arg.dtype.size() as i64;
        let (mut low, mut high) = (0, 0);
        for (axis, (extent, stride)) in region.axes.iter().zip(&index.strides).enumerate().skip(1) {
            if axis != row_axis {
                let way = stride * (*extent as i64 - 1);
                low += way.min(0);
                high += way.max(0);
            }
        }
        let first = moving.first as i64 + (index.offset - rolled.first + low) * size;
        accesses.push(Access { moving: *moving, first, bytes: (high - low + 1) * size, by_row: index.strides.get(row_axis)? * size });
    }
    Some(())
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
                let sink = match epilogue {
                    Some(region) => Sink::Epilogue(Box::new(Body::declare(&mut s, target, region, first_arg + 2, 0).ok()?)),
                    None => {
                        let c = own.get(2)?;
                        let stride = |dims: SmallVec<[(usize, i64); 4]>| dims.last().map_or(0, |dim| dim.1);
                        Sink::Memory {
                            place: s.arg("sums", first_arg + 2, &c.arg),
                            dtype: c.arg.dtype,
                            first: c.first,
                            by_step: c.by_step,
                            by_row: stride(merge_dims(contract.m.iter().map(|dim| (dim.size, dim.c)))),
                            by_column: stride(merge_dims(contract.n.iter().map(|dim| (dim.size, dim.c)))),
                        }
                    }
                };
                let sums = s.b.shared(&format!("parts{}", placed.len()), DType::F32, product.sums());
                Placed::Product { contract, product: *product, rows, sums, sink }
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
                Placed::Product { contract, product, rows, sums, sink } => {
                    multiply(b, contract, (product, number), [*rows, *sums], sink, step, &work);
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

/// A map of the cluster's rows: its points are shared out among all threads of the cluster.
fn map(b: &mut Builder, body: &Body<'_>, region: &Region, step: Value, work: &Work) {
    let rows = work.of_cluster * resident::ROWS;
    let mut extents: SmallVec<[usize; 6]> = region.axes.iter().skip(1).copied().collect();
    extents[0] = rows as usize;
    let points = extents.iter().product::<usize>();
    let (count, by) = (b.u32(points as u32), b.u32(work.groups * resident::THREADS));
    let first = b.mul_const(work.rank, resident::THREADS.into());
    let first = b.add(first, work.thread);
    b.repeat(first, count, by, |b, at| {
        let mut point = unravel(b, at, &extents);
        point[0] = b.add(point[0], work.first_row);
        let all = b.u32(work.rows);
        let inside = b.lt(point[0], all);
        b.when(inside, |b| {
            let mut axes: SmallVec<[Value; 6]> = SmallVec::from_slice(&[step]);
            axes.extend(point);
            body.points_read_first(b, &axes, &[]);
        });
    });
}

/// A product of the cluster's rows: each workgroup has its columns.
fn multiply(
    b: &mut Builder,
    contract: &Contract,
    (product, number): (&Resident, usize),
    [rows, sums]: [Place; 2],
    sink: &Sink<'_>,
    step: Value,
    work: &Work,
) {
    let own = product.own();
    let first_column = b.mul_const(work.rank, own.into());
    let (zero, one, tiles) = (b.u32(0), b.u32(1), b.u32(work.of_cluster));
    b.repeat(zero, tiles, one, |b, tile| {
        let tile_row = b.mul_const(tile, resident::ROWS.into());
        let tile_row = b.add(work.first_row, tile_row);
        b.raw(product.multiply(number, [tile_row, step], [rows, sums]));
        let (count, by) = (b.u32(resident::ROWS * own), b.u32(resident::THREADS));
        b.repeat(work.thread, count, by, |b, at| {
            let (row, column) = (b.div_const(at, own.into()), b.rem_const(at, own.into()));
            let (row, column) = (b.add(tile_row, row), b.add(first_column, column));
            let (all_rows, all_columns) = (b.u32(product.rows), b.u32(product.columns));
            let (in_rows, in_columns) = (b.lt(row, all_rows), b.lt(column, all_columns));
            let inside = b.and(in_rows, in_columns);
            b.when(inside, |b| {
                let mut sum = b.load(sums, at);
                for part in 1..product.parts {
                    let from = b.add_const(at, i64::from(part * resident::ROWS * own));
                    let other = b.load(sums, from);
                    sum = b.add(sum, other);
                }
                put(b, contract, sink, [step, row, column], sum);
            });
        });
        b.barrier();
    });
}

/// Takes a sum to where it goes.
fn put(b: &mut Builder, contract: &Contract, sink: &Sink<'_>, [step, row, column]: [Value; 3], sum: Value) {
    match sink {
        Sink::Memory { place, dtype, first, by_step, by_row, by_column } => {
            let mut at = b.int(DType::I64, *first);
            for (index, stride) in [(step, by_step), (row, by_row), (column, by_column)] {
                let index = b.cast(index, DType::I64);
                let part = b.mul_const(index, *stride);
                at = b.add(at, part);
            }
            let sum = b.cast(sum, *dtype);
            b.store(*place, at, sum);
        }
        Sink::Epilogue(body) => {
            let zero = b.u32(0);
            let mut all: SmallVec<[Value; 6]> = SmallVec::from_slice(&[step]);
            all.extend(contract.batch.iter().map(|_| zero));
            all.extend(axes(b, row, contract.m.iter().map(|dim| dim.size)));
            all.extend(axes(b, column, contract.n.iter().map(|dim| dim.size)));
            let sum = b.cast(sum, contract.c.dtype);
            body.points_read_first(b, &all, &[sum]);
        }
    }
}

#[cfg(test)]
mod tests;
