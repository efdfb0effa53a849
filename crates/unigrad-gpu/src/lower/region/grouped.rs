//! Grouped maps: an optimizer's update of all parameters. Groups that reduce are in `grouped_rows`, which shares how an instance is found.
//!
//! Where a target passes tables of buffers, few launches do everything: a workgroup finds its instance from the numbers of workgroups that
//! the instances before it take. Elsewhere every instance is a launch of one program, with its length as an argument.
//!
//! Always: lengths are run-time words, so a program serves all parts of a group; an instance's last points are done one by one.

use super::{
    body::{Body, Memo, Point, Scalar, check},
    divide,
    lanes::{Lanes, Shape},
    map::{counter, for_blocks},
    schedule::GroupedSchedule,
};
use crate::lower::{IndexError, Lowered, ScalarTable, Signature, Unsupported};
use unigrad_ir::{Builder, Place, Target, Value};
use unigrad_kernel::{Grouped, InstOp, Region};
use unigrad_scalar::{BinaryOp, DType};

/// Bytes of parameters kept free for what a launch passes besides the tables.
const RESERVED: usize = 128;
/// Instances of a launch where an index chooses among all of them: text and compile time grow with them.
const MOST_CHOSEN: usize = 64;

/// Lowers a grouped map.
pub(super) fn lower(grouped: &Grouped, target: &Target) -> Result<Lowered, Unsupported> {
    match (grouped.region.n_parallel, grouped.region.axes.len()) {
        (1, 1) => {}
        (0, 1) | (1, 2..) => return super::grouped_rows::lower(grouped, target),
        _ => return one_by_one(grouped, target, Lowered::default(), 0..grouped.lens.len()),
    }
    let region = for_all(grouped);
    check(&region, target)?;
    let instances: Vec<usize> = (0..grouped.lens.len()).filter(|at| grouped.lens[*at] > 0).collect();
    let mut lowered = Lowered::default();
    if instances.is_empty() {
        return Ok(lowered);
    }
    let group = Group { grouped, region: &region, target, schedule: GroupedSchedule::new(&region, target) };
    if !divide::fits(&region, target.max_buffers as usize) {
        // Too many buffers for one launch even of one instance.
        return one_by_one(grouped, target, lowered, instances);
    }
    // An index error is reported to one more buffer.
    let most = most_together(&region, target, 1, WORDS);
    let by_tables = |at: &usize| !target.branches_on_tables() || grouped.lens[*at] < LONG;
    let (mut together, mut alone): (Vec<usize>, Vec<usize>) = instances.into_iter().partition(by_tables);
    if !target.tables || most < 2 || together.len() < 2 {
        alone.append(&mut together);
    }
    if !together.is_empty() {
        let launches = together.len().div_ceil(most);
        let count = together.len().div_ceil(launches);
        for part in together.chunks(count) {
            group.by_tables(&mut lowered, part, count);
        }
    }
    for instance in alone {
        group.alone(&mut lowered, instance)?;
    }
    Ok(lowered)
}

/// Launches for these instances, each of which is a region like any other, after those that there are.
pub(super) fn one_by_one(
    grouped: &Grouped,
    target: &Target,
    mut lowered: Lowered,
    instances: impl IntoIterator<Item = usize>,
) -> Result<Lowered, Unsupported> {
    let (n_args, n_scalars) = (grouped.region.args.len(), grouped.region.scalars.len());
    for at in instances {
        lowered = lowered.then(super::region(&grouped.with_len(grouped.lens[at]), target)?, at * n_args, at * n_scalars);
    }
    Ok(lowered)
}

/// The region with an extent that serves all instances: strides along an axis of one point would vanish.
pub(super) fn for_all(grouped: &Grouped) -> Region {
    let longest = grouped.lens.iter().copied().max().unwrap_or(0);
    let mut region = grouped.with_len(longest);
    region.axes[0] = longest.max(2);
    region
}

/// Bytes of the numbers that tables of a map hold for an instance: its length, and its first workgroup.
const WORDS: usize = 8 + 4;

/// Instances that one launch can pass by tables, beside `others` more buffers; of an instance, tables hold so many bytes of `words`.
pub(super) fn most_together(region: &Region, target: &Target, others: usize, words: usize) -> usize {
    let room = (target.max_param_bytes as usize).saturating_sub(RESERVED) / (table_bytes(region, target) + words);
    let most = room.min((target.max_buffers as usize).saturating_sub(others) / region.args.len().max(1));
    if target.indexes_tables() { most } else { most.min(MOST_CHOSEN) }
}

/// Points from which an instance is a launch of its own, where a table's buffers are told apart by branches. On an H200 through Vulkan, AdamW of
/// 8 tensors of 125M reached 4,240 GB/s one by one and 3,860 by tables; of 148 tensors of 840,000 between 2,950 and 3,950 one by one, and 3,750
/// by tables in every run.
pub(super) const LONG: usize = 1_000_000;

/// What tables hold of a scalar: the dtype as it is, or its raw word.
fn table_dtype(dtype: DType) -> DType {
    if dtype.size() < 4 { DType::U32 } else { dtype }
}

/// Bytes of parameters that an instance's buffers and scalars take.
fn table_bytes(region: &Region, target: &Target) -> usize {
    let scalars: usize = region.scalars.iter().map(|dtype| table_dtype(*dtype).size()).sum();
    target.buffer_param_bytes() as usize * region.args.len() + scalars
}

/// Tables of what the instances `of` pass: a launch's buffers and run-time scalars.
pub(super) struct Tables {
    buffers: Vec<u32>,
    scalars: Vec<ScalarTable>,
    error: Option<IndexError>,
}

impl Tables {
    pub(super) fn declare(sig: &mut Signature, region: &Region, of: &[usize]) -> Tables {
        let (n_args, n_scalars) = (region.args.len(), region.scalars.len());
        let buffers = region.args.iter().enumerate().map(|(arg, declared)| {
            let from = of.iter().map(|at| at * n_args + arg).collect();
            sig.table(&format!("args{arg}"), declared.dtype, declared.write, from)
        });
        let buffers = buffers.collect();
        let scalars = region.scalars.iter().enumerate().map(|(slot, dtype)| {
            let from = of.iter().map(|at| at * n_scalars + slot).collect();
            sig.scalar_table(&format!("s{slot}"), table_dtype(*dtype), from)
        });
        let scalars = scalars.collect();
        let has_bounds = region.insts.iter().any(|inst| matches!(inst.op, InstOp::Bounded { .. }));
        Tables { buffers, scalars, error: has_bounds.then(|| sig.index_error()) }
    }

    /// The body of an instance, with its uniform values.
    pub(super) fn body<'a>(&self, b: &mut Builder, region: &'a Region, target: &'a Target, instance: Value) -> Body<'a> {
        let places = self.buffers.iter().map(|table| Some(Place::Table(*table, instance))).collect();
        let scalars = self.scalars.iter().zip(&region.scalars).map(|(table, dtype)| {
            let value = table.at(b, instance);
            Some(Scalar::Whole(unpack(b, value, *dtype)))
        });
        let scalars = scalars.collect();
        let mut body = Body::new(region, target, places, scalars, self.error);
        body.make_uniform(b);
        body
    }
}

struct Group<'a> {
    grouped: &'a Grouped,
    region: &'a Region,
    target: &'a Target,
    schedule: GroupedSchedule,
}

impl Group<'_> {
    fn blocks(&self, len: usize) -> usize {
        len.div_ceil(self.schedule.chunk())
    }

    /// One launch for these instances; `count` is the length of the tables.
    fn by_tables(&self, lowered: &mut Lowered, instances: &[usize], count: usize) {
        let lens = &self.grouped.lens;
        let dtype = counter(self.region.axes[0]);
        // Beyond the last instance tables repeat it; no workgroup gets there.
        let padded: Vec<usize> = (0..count).map(|i| instances[i.min(instances.len() - 1)]).collect();
        let mut first = Vec::with_capacity(count);
        let mut total = 0;
        for (i, at) in padded.iter().enumerate() {
            first.push(total as u64);
            total += if i < instances.len() { self.blocks(lens[*at]) } else { 0 };
        }
        let equal = padded.iter().all(|at| self.blocks(lens[*at]) == self.blocks(lens[padded[0]]));
        let mut sig = Signature::new(&super::identifier(&self.region.name), [self.schedule.threads, 1, 1]);
        sig.made_for(self.target);
        let tables = Tables::declare(&mut sig, self.region, &padded);
        let lens_table = sig.word_table("lens", dtype, padded.iter().map(|at| lens[*at] as u64).collect());
        let first_table = (!equal).then(|| sig.word_table("first", DType::U32, first));
        let b = &mut sig.b;
        let grid = for_blocks(b, self.target, total, |b, block| {
            let block = b.cast(block, DType::U32);
            let (instance, local) = match first_table {
                None => {
                    let each = self.blocks(lens[padded[0]]) as i64;
                    (b.div_const(block, each), b.rem_const(block, each))
                }
                Some(table) => locate(b, self.target, table, count, block),
            };
            let body = tables.body(b, self.region, self.target, instance);
            let end = b.table_scalar(lens_table, instance);
            let local = b.cast(local, dtype);
            let start = b.mul_const(local, self.schedule.chunk() as i64);
            self.chunk(b, &body, start, end);
        });
        lowered.steps.push(sig.finish([grid, 1, 1]));
    }

    /// A launch for one instance, with a program that does not know its length.
    fn alone(&self, lowered: &mut Lowered, instance: usize) -> Result<(), Unsupported> {
        let len = self.grouped.lens[instance];
        let dtype = counter(self.region.axes[0]);
        let mut sig = Signature::new(&super::identifier(&self.region.name), [self.schedule.threads, 1, 1]);
        let body =
            Body::declare(&mut sig, self.target, self.region, instance * self.region.args.len(), instance * self.region.scalars.len())?;
        let end = sig.word("len", dtype, len as u64);
        let b = &mut sig.b;
        let chunk = self.schedule.chunk() as i64;
        let (group, groups) = (b.group(0), b.group_count(0));
        let (group, groups) = (b.cast(group, dtype), b.cast(groups, dtype));
        let (start, step) = (b.mul_const(group, chunk), b.mul_const(groups, chunk));
        b.repeat(start, end, step, |b, start| self.chunk(b, &body, start, end));
        let grid = self.blocks(len).min(self.target.max_grid[0].min(1 << 30) as usize) as u32;
        lowered.steps.push(sig.finish([grid, 1, 1]));
        Ok(())
    }

    /// The points `start .. start + chunk` of an instance that ends at `end`.
    fn chunk(&self, b: &mut Builder, body: &Body<'_>, start: Value, end: Value) {
        let width = self.schedule.width;
        let dtype = b.dtype(start);
        let thread = b.thread(0);
        let thread = b.cast(thread, dtype);
        let mine = b.mul_const(thread, width as i64);
        let first = b.add(start, mine);
        let behind = b.add_const(first, width as i64);
        let fits = b.binary(BinaryOp::Le, behind, end);
        if width == 1 {
            b.when(fits, |b| visit(b, body, first, 1));
            return;
        }
        b.when_else(
            fits,
            |b| visit(b, body, first, width),
            |b| {
                let one = b.int(dtype, 1);
                b.repeat(first, end, one, |b, at| visit(b, body, at, 1));
            },
        );
    }
}

/// A run of points.
fn visit(b: &mut Builder, body: &Body<'_>, first: Value, width: usize) {
    let along = (width > 1).then_some(0);
    let point = Point { shape: Shape { groups: 1, width }, along, axes: vec![Lanes::all(first)], acc: None };
    let mut memo: Memo = body.memo();
    body.evaluate(b, &point, &mut memo, |body, at| body.live[at]);
}

/// The instance that a workgroup is of, and its number among the instance's, by a table of each instance's first one.
pub(super) fn locate(b: &mut Builder, target: &Target, table: u32, count: usize, block: Value) -> (Value, Value) {
    let instance = if target.indexes_tables() { search(b, table, count, block) } else { count_behind(b, table, count, block) };
    let first = b.table_scalar(table, instance);
    (instance, b.sub(block, first))
}

/// The last of `count` ascending numbers in a table that is not above `block`.
fn search(b: &mut Builder, table: u32, count: usize, block: Value) -> Value {
    let mut found = b.u32(0);
    let mut step = count.next_power_of_two() as u32 / 2;
    while step > 0 {
        let next = b.add_const(found, step.into());
        let last = b.u32(count as u32 - 1);
        let at = b.binary(BinaryOp::Min, next, last);
        let first = b.table_scalar(table, at);
        let is_behind = b.binary(BinaryOp::Le, first, block);
        let there = b.binary(BinaryOp::Le, next, last);
        let take = b.and(is_behind, there);
        found = b.select(take, next, found);
        step /= 2;
    }
    found
}

/// The same by comparing with each of the first `count`, with no index that is not known now. The first one is 0.
fn count_behind(b: &mut Builder, table: u32, count: usize, block: Value) -> Value {
    let (none, one) = (b.u32(0), b.u32(1));
    (1..count).fold(none, |found, at| {
        let at = b.u32(at as u32);
        let first = b.table_scalar(table, at);
        let is_behind = b.binary(BinaryOp::Le, first, block);
        let more = b.select(is_behind, one, none);
        b.add(found, more)
    })
}

/// A scalar as it is held, from what a table has of it.
#[allow(clippy::wildcard_enum_match_arm, reason = "dtypes come in families")]
fn unpack(b: &mut Builder, value: Value, dtype: DType) -> Value {
    match dtype {
        DType::F16 | DType::BF16 => {
            let bits = b.cast(value, DType::U16);
            let half = b.bitcast(bits, dtype);
            b.cast(half, DType::F32)
        }
        _ => b.cast(value, dtype),
    }
}
