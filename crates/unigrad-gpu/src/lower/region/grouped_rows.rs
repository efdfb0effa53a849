//! Grouped reductions: norms of many tensors, and the updates that use them.
//!
//! In: one body over tensors of different lengths, each of which is a row of its own. Out: the launches of one row that is split (see `row`), each
//! over all parts of all rows: a workgroup finds its instance from the number of parts that the instances before it have. Where no row is worth
//! several workgroups, one launch does everything.
//!
//! Always: how a row is split, and so its result, depends on its length and the target alone, not on what else is in the group (up to the sign of a zero).
//! Never: a table where the target has none, or where a row is so long that telling buffers apart costs more than a launch: then each instance is
//! a region like any other.

use super::{
    body::{Body, Point, check},
    divide,
    grouped::{LONG, Tables, for_all, locate, most_together},
    lanes::{Lanes, Shape},
    map::{counter, for_blocks},
    passes::Passes,
    row::{Job, Partials, RowKernel, Rows},
    schedule::RowSchedule,
    threads::Threads,
};
use crate::lower::{Lowered, Signature, Step, Unsupported};
use unigrad_ir::Target;
use unigrad_kernel::Grouped;
use unigrad_scalar::{BinaryOp, DType};

/// Bytes of the numbers that tables hold for an instance: its length, the points of a part, its first part.
const WORDS: usize = 8 + 8 + 4;

/// Lowers a group that reduces.
pub(super) fn lower(grouped: &Grouped, target: &Target) -> Result<Lowered, Unsupported> {
    let region = for_all(grouped);
    check(&region, target)?;
    let facts = Body::new(&region, target, vec![None; region.args.len()], vec![None; region.scalars.len()], None);
    let passes = Passes::new(&facts);
    let scratch = passes.scratch_parts(&facts);
    let schedule = RowSchedule::grouped(&region, target);
    let kept = vec![Vec::new(); passes.len()];
    let rows = RowKernel { region: &region, target, passes: &passes, schedule, kept: &kept, long: true };
    let group = Group { lens: &grouped.lens, facts: &facts, rows };
    // Besides tables: what parts of rows leave, and where an index error goes.
    let most = most_together(&region, target, scratch.len() + 1, WORDS);
    let by_tables = |at: &usize| {
        let len = grouped.lens[*at];
        len > 0 && (!target.branches_on_tables() || len < LONG)
    };
    let (mut together, mut alone): (Vec<usize>, Vec<usize>) = (0..grouped.lens.len()).partition(by_tables);
    if !target.tables || most < 2 || together.len() < 2 || !divide::fits(&region, target.max_buffers as usize) {
        alone.append(&mut together);
    }
    let mut lowered = Lowered::default();
    if !together.is_empty() {
        let jobs = if together.iter().all(|at| group.parts(*at) == 1) {
            vec![Job::All]
        } else {
            let stores = passes.row_stores.then_some(Job::RowStores);
            (0..passes.len()).map(Job::Pass).chain(stores).collect()
        };
        let count = together.len().div_ceil(together.len().div_ceil(most));
        if jobs != [Job::All] {
            // Launches follow each other, so all of them use the same memory.
            let parts = together.chunks(count).map(|some| some.iter().map(|at| group.parts(*at)).sum::<usize>()).max().unwrap_or(0);
            lowered.scratch = scratch.iter().map(|dtype| parts * dtype.size()).collect();
        }
        for some in together.chunks(count) {
            lowered.steps.extend(jobs.iter().map(|job| group.step(some, count, *job)));
        }
    }
    let (n_args, n_scalars) = (region.args.len(), region.scalars.len());
    for at in alone {
        lowered = lowered.then(super::region(&grouped.with_len(grouped.lens[at]), target)?, at * n_args, at * n_scalars);
    }
    Ok(lowered)
}

struct Group<'a> {
    lens: &'a [usize],
    facts: &'a Body<'a>,
    rows: RowKernel<'a>,
}

impl Group<'_> {
    /// In how many parts an instance is done.
    fn parts(&self, instance: usize) -> usize {
        self.rows.schedule.parts_of(self.lens[instance]).0
    }

    /// One launch for these instances; `count` is the length of the tables.
    fn step(&self, instances: &[usize], count: usize, job: Job) -> Step {
        let RowKernel { region, target, passes, schedule, .. } = self.rows;
        let (width, dtype) = (schedule.width, counter(region.axes[0]));
        // Beyond the last instance tables repeat it; no workgroup gets there.
        let padded: Vec<usize> = (0..count).map(|i| instances[i.min(instances.len() - 1)]).collect();
        let mut first = vec![0u64];
        for (i, at) in padded.iter().enumerate() {
            first.push(first[i] + if i < instances.len() { self.parts(*at) as u64 } else { 0 });
        }
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
