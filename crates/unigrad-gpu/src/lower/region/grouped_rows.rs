//! Grouped reductions: norms of many tensors, rows of many, and the updates that use them.
//!
//! In: one body over tensors of different lengths. Out: launches over all of them, whose workgroups find their instance from the numbers of workgroups
//! that the instances before it take. Either each tensor is a row of its own: then launches are those of one row that is split (see `row`), over all
//! parts of all rows, or a single one where no row is worth several workgroups. Or tensors have rows of one length, and different numbers of them.
//!
//! Always: how a row is done, and so its result, depends on its length and the target alone, not on what else is in the group (up to the sign of a zero).
//! Never: a table where the target has none, or where a tensor is so large that telling buffers apart costs more than a launch: then each instance is
//! a region like any other.

use super::{
    body::{Body, Point, check},
    crossed::Down,
    divide,
    grouped::{LONG, Tables, for_all, locate, most_together, one_by_one},
    lanes::{Lanes, Shape},
    map::{counter, for_blocks},
    passes::Passes,
    row::{Job, Partials, RowKernel, Rows},
    schedule::{Keepable, RowSchedule},
    threads::Threads,
};
use crate::lower::{Lowered, ProgramLaunch, Signature, Unsupported, running::LONG as LONG_SUM};
use unigrad_ir::Target;
use unigrad_kernel::{Grouped, Region};
use unigrad_scalar::{BinaryOp, DType};

/// Bytes of the numbers that tables hold for an instance: its length, the points of a part, its first part.
const WORDS: usize = 8 + 8 + 4;

/// Lowers a group that reduces.
pub(super) fn lower(grouped: &Grouped, target: &Target) -> Result<Lowered, Unsupported> {
    let region = for_all(grouped);
    check(&region, target)?;
    let facts = Body::new(&region, target, vec![None; region.args.len()], vec![None; region.scalars.len()], None);
    let passes = Passes::new(&facts, vec![None; region.insts.len()], false);
    let is_one_row = region.n_parallel == 0;
    let (kept, schedule, scratch) = if is_one_row {
        (vec![Vec::new(); passes.len()], RowSchedule::grouped(&region, target), passes.scratch_parts(&facts))
    } else {
        let kept = passes.kept(&facts, |_| true);
        let words = kept.iter().flatten().map(|at| facts.held(*at).size().div_ceil(4)).sum();
        let schedule = RowSchedule::new(&region, target, passes.len(), Keepable { words, ..Keepable::default() }, false);
        (kept, schedule, Vec::new())
    };
    let long = is_one_row || schedule.steps() > LONG_SUM;
    let rows = RowKernel { region: &region, target, passes: &passes, schedule, kept: &kept, long, down: &Down::default() };
    let group = Group { lens: &grouped.lens, facts: &facts, rows };
    // Besides tables: what parts of rows leave, and where an index error goes.
    let most = most_together(&region, target, scratch.len() + 1, WORDS);
    let by_tables = |at: &usize| {
        let len = grouped.lens[*at];
        let points = len.saturating_mul(region.axes[1..].iter().product());
        len > 0 && (!target.branches_on_tables() || points < LONG) && (is_one_row || group.has_rows(&grouped.with_len(len)))
    };
    let (mut together, mut alone): (Vec<usize>, Vec<usize>) = (0..grouped.lens.len()).partition(by_tables);
    if !target.tables || !divide::fits(&region, target.max_buffers as usize) || most < 2 || together.len() < 2 {
        alone.append(&mut together);
    }
    let mut lowered = Lowered::default();
    if !together.is_empty() {
        let jobs = if !is_one_row || together.iter().all(|at| group.blocks(*at) == 1) {
            vec![Job::All]
        } else {
            let stores = passes.row_stores.then_some(Job::RowStores);
            (0..passes.len()).map(Job::Pass).chain(stores).collect()
        };
        let count = together.len().div_ceil(together.len().div_ceil(most));
        if jobs != [Job::All] {
            // Launches follow each other, so all of them use the same memory.
            let parts = together.chunks(count).map(|some| some.iter().map(|at| group.blocks(*at)).sum::<usize>()).max().unwrap_or(0);
            lowered.scratch = scratch.iter().map(|dtype| parts * dtype.size()).collect();
        }
        for some in together.chunks(count) {
            if is_one_row {
                lowered.steps.extend(jobs.iter().map(|job| group.step(some, count, *job)));
            } else {
                lowered.steps.push(group.rows_of(some, count));
            }
        }
    }
    one_by_one(grouped, target, lowered, alone)
}

struct Group<'a> {
    lens: &'a [usize],
    facts: &'a Body<'a>,
    rows: RowKernel<'a>,
}

impl Group<'_> {
    /// Workgroups of an instance: one for each part of its row, or for some rows.
    fn blocks(&self, instance: usize) -> usize {
        let RowKernel { region, schedule, .. } = self.rows;
        let len = self.lens[instance];
        if region.n_parallel == 0 {
            schedule.parts_of(len).0
        } else {
            self.runs_of_rows(len).div_ceil(schedule.arrangement.rows() as usize)
        }
    }

    /// Rows that a thread does at once.
    fn row_width(&self) -> usize {
        let schedule = self.rows.schedule;
        if schedule.arrangement.columns { schedule.width } else { 1 }
    }

    fn runs_of_rows(&self, rows: usize) -> usize {
        rows.div_ceil(self.row_width())
    }

    /// Whether an instance has whole runs of rows, and enough of them for the device: few and long ones are split where they are alone.
    fn has_rows(&self, one: &Region) -> bool {
        let alone = RowSchedule::new(one, self.rows.target, self.rows.passes.len(), Keepable::default(), true);
        one.rows().is_multiple_of(self.row_width()) && alone.splits == 1
    }

    /// The instances of a launch, repeated up to the length of its tables, where no workgroup gets to; and the first workgroup of each, and behind it.
    fn padded(&self, instances: &[usize], count: usize) -> (Vec<usize>, Vec<u64>) {
        let padded: Vec<usize> = (0..count).map(|i| instances[i.min(instances.len() - 1)]).collect();
        let mut first = vec![0u64];
        for (i, at) in padded.iter().enumerate() {
            first.push(first[i] + if i < instances.len() { self.blocks(*at) as u64 } else { 0 });
        }
        (padded, first)
    }

    /// One launch for the rows of these instances; `count` is the length of the tables.
    fn rows_of(&self, instances: &[usize], count: usize) -> ProgramLaunch {
        let RowKernel { region, target, schedule, .. } = self.rows;
        let across = i64::from(schedule.arrangement.rows());
        let dtype = counter(region.axes[0].saturating_add(across as usize));
        let (padded, first) = self.padded(instances, count);
        let blocks = first[count] as usize;
        let mut sig = Signature::new(&super::identifier(&region.name), [schedule.arrangement.threads, 1, 1]);
        sig.made_for(target);
        let tables = Tables::declare(&mut sig, region, &padded);
        let n_runs = padded.iter().map(|at| self.runs_of_rows(self.lens[*at]) as u64).collect();
        let n_runs = sig.word_table("runs", dtype, n_runs);
        let first = sig.word_table("first", DType::U32, first);
        let b = &mut sig.b;
        let runs = region.row_len() / if schedule.arrangement.columns { 1 } else { schedule.width };
        let (begin, end) = (b.int(counter(runs), 0), b.int(counter(runs), runs as i64));
        let threads = Threads::new(b, target, schedule.arrangement);
        let registers = self.rows.registers(b, self.facts, Job::All);
        let loops = blocks > target.max_grid[0].min(1 << 30) as usize;
        let grid = for_blocks(b, target, blocks, |b, block| {
            let block = b.cast(block, DType::U32);
            let (instance, local) = locate(b, target, first, count, block);
            let body = tables.body(b, region, target, instance);
            let (local, mine) = (b.cast(local, dtype), b.cast(threads.row(), dtype));
            let run = b.mul_const(local, across);
            let run = b.add(run, mine);
            let n_runs = b.table_scalar(n_runs, instance);
            // Threads beyond the last row read it again, and store nothing.
            let valid = (across > 1).then(|| b.lt(run, n_runs));
            let last = b.add_const(n_runs, -1);
            let run = if across > 1 { b.binary(BinaryOp::Min, run, last) } else { run };
            let row = b.mul_const(run, self.row_width() as i64);
            let none = Lanes::all(b.u32(0));
            let mut axes = vec![none; region.axes.len()];
            axes[0] = Lanes::all(row);
            let along = (self.row_width() > 1).then_some(0);
            let point = Point { shape: Shape { groups: 1, width: self.row_width() }, along, axes, acc: None };
            let partials = Partials { places: vec![Vec::new(); region.insts.len()], part: None, n_parts: None };
            let (kernel, memo, end_point) = (&self.rows, body.memo(), None);
            let mut rows = Rows {
                kernel,
                body: &body,
                threads,
                row,
                valid,
                memo,
                point,
                begin,
                end,
                end_point,
                registers,
                partials,
                sums: Vec::new(),
            };
            rows.prepare(b);
            rows.run(b, Job::All, &self.facts.live);
            if loops {
                b.barrier();
            }
        });
        sig.finish([grid, 1, 1])
    }

    /// One launch for the parts of the rows that these instances are; `count` is the length of the tables.
    fn step(&self, instances: &[usize], count: usize, job: Job) -> ProgramLaunch {
        let RowKernel { region, target, passes, schedule, .. } = self.rows;
        let (width, dtype) = (schedule.width, counter(region.axes[0]));
        let (padded, first) = self.padded(instances, count);
        let in_parts = matches!(job, Job::Pass(_));
        let blocks = if in_parts { first[count] as usize } else { instances.len() };
        let mut sig = Signature::new(&super::identifier(&region.name), [schedule.arrangement.threads, 1, 1]);
        sig.made_for(target);
        let tables = Tables::declare(&mut sig, region, &padded);
        let lens = (job != Job::RowStores).then(|| sig.word_table("lens", dtype, padded.iter().map(|at| self.lens[*at] as u64).collect()));
        let points = || padded.iter().map(|at| schedule.parts_of(self.lens[*at]).1 as u64).collect();
        let points = in_parts.then(|| sig.word_table("points", dtype, points()));
        let first = (job != Job::All).then(|| sig.word_table("first", DType::U32, first));
        let needed = match job {
            Job::All => self.facts.live.clone(),
            Job::Pass(pass) => passes.needs_of(self.facts, Some(pass)),
            Job::RowStores => passes.needs_of(self.facts, None),
        };
        let places = passes.scratch(&mut sig, self.facts, job, &needed);
        let b = &mut sig.b;
        let threads = Threads::new(b, target, schedule.arrangement);
        let loops = blocks > target.max_grid[0].min(1 << 30) as usize;
        let grid = for_blocks(b, target, blocks, |b, block| {
            let block = b.cast(block, DType::U32);
            let (instance, local) = match first {
                Some(first) if in_parts => locate(b, target, first, count, block),
                _ => (block, b.u32(0)),
            };
            let body = tables.body(b, region, target, instance);
            let zero = b.int(dtype, 0);
            let (mut begin, mut end) = (zero, zero);
            if let Some(lens) = lens {
                end = b.table_scalar(lens, instance);
            }
            if let Some(points) = points {
                let points = b.table_scalar(points, instance);
                let local = b.cast(local, dtype);
                begin = b.binary(BinaryOp::Mul, local, points);
                let next = b.add(begin, points);
                end = b.binary(BinaryOp::Min, next, end);
            }
            let (mut row, mut n_parts) = (local, local);
            if let Some(first) = first {
                row = b.table_scalar(first, instance);
                let next = b.add_const(instance, 1);
                let next = b.table_scalar(first, next);
                n_parts = b.sub(next, row);
            }
            let none = b.u32(0);
            let point = Point { shape: Shape::ONE, along: None, axes: vec![Lanes::all(none)], acc: None };
            let (begin, end, end_point) = (b.div_const(begin, width as i64), b.div_const(end, width as i64), Some(end));
            let mut rows = Rows {
                kernel: &self.rows,
                body: &body,
                threads,
                row,
                valid: None,
                memo: body.memo(),
                point,
                begin,
                end,
                end_point,
                registers: vec![None; region.insts.len()],
                partials: Partials { places, part: Some(local), n_parts: Some(n_parts) },
                sums: Vec::new(),
            };
            rows.prepare(b);
            rows.run(b, job, &needed);
            if loops {
                b.barrier();
            }
        });
        sig.finish([grid, 1, 1])
    }
}
