//! Regions with reductions: softmax, norms, sums over rows or columns, large sums.
//!
//! A thread walks over its part of a row once per pass, keeping what later passes need where a row is short enough for that (see `kept`); after
//! each pass the threads of the row bring their parts together. Rows too few and too long for the device are split: then every pass is a
//! launch of its own, whose workgroups leave their parts in scratch memory and begin by combining those of the passes before.
//!
//! Always: barriers are met by all threads; threads beyond the last row read the last one again and store nothing.

use super::{
    body::{Body, Memo, Point},
    crossed::{Down, Sum},
    kept,
    lanes::{Lanes, Shape},
    map::{counter, for_blocks_within, most_blocks, unravel},
    ops::{Carried, Fold},
    passes::Passes,
    row_plan::RowPlan,
    schedule::{Kept, RowSchedule},
    threads::{Threads, tree},
};
use crate::lower::{
    Lowered, Signature, Unsupported,
    running::{LONG, Running},
};
use unigrad_ir::{Builder, Place, Target, Type, Value};
use unigrad_kernel::{InstOp, Level, Region};
use unigrad_scalar::{BinaryOp, DType};

/// What one program does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Job {
    /// All passes and stores.
    All,
    /// One pass over a part of each row.
    Pass(usize),
    /// What is stored once per row.
    RowStores,
}

/// The launches of a simplified region with reduce axes and at least one row.
pub(super) fn lower(region: &Region, target: &Target) -> Result<Lowered, Unsupported> {
    let facts = Body::new(region, target, vec![None; region.args.len()], vec![None; region.scalars.len()], None);
    let plan = RowPlan::new(&facts, target);
    let RowPlan { passes, schedule, kept, parts } = &plan;
    let mut lowered = Lowered::default();
    let kernel = RowKernel { region, target, passes, schedule: *schedule, kept, long: plan.is_long(), down: &Down::default() };
    if schedule.splits == 1 {
        kernel.step(&mut lowered, Job::All)?;
        return Ok(lowered);
    }
    lowered.scratch = parts.iter().map(|dtype| schedule.splits * region.rows() * dtype.size()).collect();
    for pass in 0..passes.len() {
        kernel.step(&mut lowered, Job::Pass(pass))?;
    }
    if passes.row_stores {
        kernel.step(&mut lowered, Job::RowStores)?;
    }
    Ok(lowered)
}

pub(super) struct RowKernel<'a> {
    pub(super) region: &'a Region,
    pub(super) target: &'a Target,
    pub(super) passes: &'a Passes,
    pub(super) schedule: RowSchedule,
    /// By pass: what it keeps for later ones.
    pub(super) kept: &'a [Vec<usize>],
    /// Whether a thread adds so often to a sum that it keeps what it loses.
    pub(super) long: bool,
    /// What is added up down the columns while the rows are walked over.
    pub(super) down: &'a Down,
}

/// A program being written: everything about the rows that this thread is on.
pub(super) struct Rows<'a> {
    pub(super) kernel: &'a RowKernel<'a>,
    pub(super) body: &'a Body<'a>,
    pub(super) threads: Threads,
    /// Number of the first row of the thread's run of rows; in a group, of the row's first part among all parts.
    pub(super) row: Value,
    /// Whether there is a row for the thread; none if there always is.
    pub(super) valid: Option<Value>,
    pub(super) memo: Memo,
    pub(super) point: Point,
    /// The part of the row that is walked over, in runs.
    pub(super) begin: Value,
    pub(super) end: Value,
    /// Where that part ends, in points, if it may end within a run.
    pub(super) end_point: Option<Value>,
    /// Where values are kept, by instruction.
    pub(super) registers: Vec<Option<Place>>,
    pub(super) partials: Partials,
    pub(super) sums: Vec<Sum>,
}

/// What workgroups leave of their parts of a row in scratch memory, and which they are.
pub(super) struct Partials {
    /// By instruction: the scratch buffers of a reduction that this program writes or begins with.
    pub(super) places: Vec<Vec<Place>>,
    /// The number of this workgroup's part among the row's, if it is not the grid's second axis.
    pub(super) part: Option<Value>,
    /// How many parts the row has, if not what the schedule says.
    pub(super) n_parts: Option<Value>,
}

impl RowKernel<'_> {
    pub(super) fn step(&self, lowered: &mut Lowered, job: Job) -> Result<(), Unsupported> {
        let RowSchedule { arrangement, width, splits, split_len, .. } = self.schedule;
        let region = self.region;
        let n = region.n_parallel;
        let mut sig = Signature::new(&super::identifier(&region.name), [arrangement.threads, 1, 1]);
        let body = Body::declare(&mut sig, self.target, region, 0, 0)?;
        let passes = self.passes;
        let needed = match job {
            Job::All => body.live.clone(),
            Job::Pass(pass) => passes.needs_of(&body, Some(pass)),
            Job::RowStores => passes.needs_of(&body, None),
        };
        let places = passes.scratch(&mut sig, &body, job, &needed);
        let b = &mut sig.b;
        let runs = if arrangement.columns { region.row_len() } else { region.row_len() / width };
        let dtype = counter(runs);
        let (begin, end) = if let (Job::Pass(_), true) = (job, splits > 1) {
            let part = b.group(1);
            let part = b.cast(part, dtype);
            let begin = b.mul_const(part, split_len as i64);
            let (next, all) = (b.add_const(begin, split_len as i64), b.int(dtype, runs as i64));
            (begin, b.binary(BinaryOp::Min, next, all))
        } else {
            (b.int(dtype, 0), b.int(dtype, runs as i64))
        };
        let row_width = if arrangement.columns { width } else { 1 };
        let row_runs = region.rows() / row_width;
        let across = arrangement.rows() as usize;
        let blocks = row_runs.div_ceil(across);
        let threads = Threads::new(b, self.target, arrangement);
        let registers = self.registers(b, &body, job);
        let limit = self.down.grid.unwrap_or_else(|| most_blocks(self.target));
        let loops = blocks > limit;
        let sums = self.down.begin(b, &body, self.schedule);
        let grid = for_blocks_within(b, limit, blocks, |b, block| {
            let rows_dtype = counter(blocks * across * row_width);
            let (block, local) = (b.cast(block, rows_dtype), b.cast(threads.row(), rows_dtype));
            let first = b.mul_const(block, across as i64);
            let mut run = b.add(first, local);
            let mut valid = None;
            if !row_runs.is_multiple_of(across) {
                let (end, last) = (b.int(rows_dtype, row_runs as i64), b.int(rows_dtype, row_runs as i64 - 1));
                valid = Some(b.lt(run, end));
                run = b.binary(BinaryOp::Min, run, last);
            }
            let mut extents = region.axes[..n].to_vec();
            let along = (arrangement.columns && width > 1).then(|| n - 1);
            if let Some(along) = along {
                extents[along] /= width;
            }
            let mut axes: Vec<Lanes> = unravel(b, run, &extents).into_iter().map(Lanes::all).collect();
            if let Some(along) = along {
                axes[along] = Lanes::all(b.mul_const(axes[along].at(0, 0), width as i64));
            }
            let zero = Lanes::all(b.u32(0));
            axes.resize(region.axes.len(), zero);
            let point = Point { shape: Shape { groups: 1, width: row_width }, along, axes, acc: None };
            let row = b.mul_const(run, row_width as i64);
            let partials = Partials { places, part: None, n_parts: None };
            let (memo, end_point) = (body.memo(), None);
            let sums = sums.clone();
            let mut rows =
                Rows { kernel: self, body: &body, threads, row, valid, memo, point, begin, end, end_point, registers, partials, sums };
            rows.prepare(b);
            rows.run(b, job, &needed);
            if loops {
                b.barrier();
            }
        });
        self.down.leave(b, &body, self.schedule, &sums);
        let parts = if matches!(job, Job::Pass(_)) { splits as u32 } else { 1 };
        lowered.steps.push(sig.finish([grid, parts, 1]));
        Ok(())
    }

    /// Arrays for what is kept between passes.
    pub(super) fn registers(&self, b: &mut Builder, body: &Body<'_>, job: Job) -> Vec<Option<Place>> {
        let mut registers = vec![None; self.region.insts.len()];
        if job != Job::All {
            return registers;
        }
        for at in self.kept.iter().flatten() {
            registers[*at] = match self.schedule.kept {
                Kept::Nothing => None,
                Kept::InRegisters(runs) => {
                    let len = (runs * self.schedule.width) as u32;
                    Some(b.local(&format!("kept{at}"), Type::Scalar(body.held(*at)), len))
                }
                Kept::InShared => Some(kept::declare(b, body, *at)),
            };
        }
        registers
    }
}

impl Rows<'_> {
    /// Addresses of the row, so that walks only add to them.
    pub(super) fn prepare(&mut self, b: &mut Builder) {
        for at in 0..self.body.region.insts.len() {
            if self.body.live[at] && self.body.levels[at] == Level::Full {
                self.body.row_address(b, &self.point, &mut self.memo, at);
            }
        }
    }

    /// All that the program does, after [`Rows::prepare`].
    pub(super) fn run(&mut self, b: &mut Builder, job: Job, needed: &[bool]) {
        let passes = self.kernel.passes;
        let end = match job {
            Job::Pass(pass) => pass,
            Job::All | Job::RowStores => passes.len(),
        };
        for pass in 0..end {
            self.row_values(b, pass, needed);
            if job == Job::All && passes.overwrites_picks(pass) {
                // All threads on the row have read what is picked.
                b.barrier();
            }
            match job {
                Job::All => {
                    let results = self.walk(b, pass);
                    let sets = results.iter().flat_map(|(_, carried, lanes)| lanes.iter().map(|parts| (*carried, parts.clone())));
                    let sets = sets.collect();
                    let combined = self.threads.combine(b, sets);
                    self.finish(b, &results, combined);
                }
                Job::Pass(_) | Job::RowStores => self.recall(b, pass, needed),
            }
        }
        self.row_values(b, end, needed);
        match job {
            Job::Pass(pass) => {
                let results = self.walk(b, pass);
                let sets = results.iter().flat_map(|(_, carried, lanes)| lanes.iter().map(|parts| (*carried, parts.clone())));
                let sets = sets.collect();
                let combined = self.threads.combine(b, sets);
                self.leave(b, &results, &combined);
            }
            Job::All | Job::RowStores => self.row_stores(b),
        }
    }

    /// Evaluates row values that need no more than `depth` passes.
    fn row_values(&mut self, b: &mut Builder, depth: usize, needed: &[bool]) {
        let passes = self.kernel.passes;
        for at in (0..needed.len()).filter(|at| needed[*at] && passes.depth[*at] <= depth) {
            let Some(pick) = passes.picks[at].as_ref().filter(|_| self.memo.get(at).is_none()) else { continue };
            self.row_values_below(b, depth, needed, at);
            if let Some(value) = pick.value(b, self.body, &self.point, &self.memo) {
                self.memo.put(at, value);
            }
        }
        self.row_values_below(b, depth, needed, needed.len());
    }

    /// Those before an instruction.
    fn row_values_below(&mut self, b: &mut Builder, depth: usize, needed: &[bool], end: usize) {
        let passes = self.kernel.passes;
        self.body.evaluate(b, &self.point, &mut self.memo, |body, at| {
            needed[at]
                && at < end
                && body.levels[at] != Level::Full
                && passes.depth[at] <= depth
                && !matches!(body.region.insts[at].op, InstOp::Store { .. })
        });
    }

    fn row_stores(&mut self, b: &mut Builder) {
        let (body, passes) = (self.body, self.kernel.passes);
        if !passes.row_stores {
            return;
        }
        let insts = || body.region.insts.iter().enumerate().filter(|(at, _)| body.live[*at] && body.levels[*at] != Level::Full);
        let in_place = insts().any(|(_, inst)| matches!(inst.op, InstOp::Load { arg, .. } if body.region.args[arg as usize].write));
        if in_place && (self.kernel.schedule.arrangement.per_row > 1 || self.valid.is_some()) {
            // All threads on the row have read what its first one writes.
            b.barrier();
        }
        let zero = b.u32(0);
        let mut guard = b.binary(BinaryOp::Eq, self.threads.place(), zero);
        if let Some(valid) = self.valid {
            guard = b.and(guard, valid);
        }
        b.when(guard, |b| {
            let mut memo = self.memo.clone();
            body.evaluate(b, &self.point, &mut memo, |body, at| {
                body.live[at] && body.levels[at] != Level::Full && matches!(body.region.insts[at].op, InstOp::Store { .. })
            });
        });
    }

    /// The lanes that a row's values have.
    fn row_lanes(&self) -> usize {
        self.point.shape.width
    }

    /// Puts finished reductions among the row's values.
    fn finish(&mut self, b: &mut Builder, results: &[(usize, Carried, Vec<Vec<Value>>)], combined: Vec<Vec<Value>>) {
        let mut combined = combined.into_iter();
        for (at, carried, lanes) in results {
            let (dtype, to) = (self.body.region.insts[*at].dtype, self.body.held(*at));
            let values: Vec<Value> = combined.by_ref().take(lanes.len()).map(|parts| carried.finish(b, &parts, dtype, to)).collect();
            self.memo.put(*at, Lanes::run(values));
        }
    }

    /// One walk over the row: per reduction, what this thread has for every lane.
    fn walk(&mut self, b: &mut Builder, pass: usize) -> Vec<(usize, Carried, Vec<Vec<Value>>)> {
        let RowKernel { passes, schedule, .. } = *self.kernel;
        let body = self.body;
        let lanes = self.row_lanes();
        // Accumulators, per reduction and lane.
        let mut sums: Vec<Sums> = Vec::new();
        let long = self.kernel.long;
        for at in &passes.reductions[pass] {
            let Some((carried, argument)) = passes.carried(body, *at) else {
                b.mistake(format!("instruction {at} is no reduction"));
                continue;
            };
            let first = carried.identity(b, body.region.insts[argument].dtype);
            let exact = long && carried.is_float_sum();
            let lanes = (0..lanes)
                .map(|_| {
                    let parts = first.iter().enumerate();
                    parts.map(|(part, first)| Running::new(b, &format!("acc{at}_{part}"), *first, exact)).collect()
                })
                .collect();
            sums.push(Sums { at: *at, carried, argument, lanes });
        }
        let registers = self.registers.clone();
        let have = |at: usize| registers[at].is_some() && !self.kernel.kept[pass].contains(&at);
        let needed = passes.needed(body, pass, have);
        let place = self.threads.place();
        let place = b.cast(place, b.dtype(self.begin));
        let per_row = i64::from(schedule.arrangement.per_row);
        let (begin, end) = (self.begin, self.end);
        let walk = |b: &mut Builder| {
            if let Kept::InRegisters(each) = schedule.kept {
                let first = place;
                b.unrolled(each as u32, |b, slot| {
                    let at = b.cast(slot, b.dtype(first));
                    let at = b.mul_const(at, per_row);
                    let at = b.add(at, first);
                    let runs = self.kernel.runs();
                    let visit = |b: &mut Builder| self.visit(b, pass, &needed, &sums, &[at], schedule.width, Some(slot));
                    if runs.is_multiple_of(per_row as usize) {
                        visit(b);
                    } else {
                        let inside = b.lt(at, end);
                        b.when(inside, visit);
                    }
                });
                return;
            }
            // Whole strides of all threads, several runs at a time; then what is left.
            // What is kept is near: loads under way are for memory.
            let is_near = schedule.kept == Kept::InShared && (0..needed.len()).any(|at| needed[at] && have(at));
            let insts = needed.iter().filter(|needed| **needed).count();
            let groups = if is_near { schedule.groups_near() } else { schedule.groups_of(insts) };
            let stride = per_row * groups as i64;
            let len = b.sub(end, begin);
            let whole = b.div_const(len, stride);
            let whole = b.mul_const(whole, stride);
            let middle = b.add(begin, whole);
            let start = b.add(begin, place);
            if groups > 1 {
                let step = b.int(b.dtype(begin), stride);
                b.repeat(begin, middle, step, |b, from| {
                    let first = b.add(from, place);
                    let runs: Vec<Value> = (0..groups).map(|g| b.add_const(first, per_row * g as i64)).collect();
                    self.visit(b, pass, &needed, &sums, &runs, schedule.width, None);
                });
                let start = b.add(middle, place);
                let step = b.int(b.dtype(begin), per_row);
                b.repeat(start, end, step, |b, at| self.visit(b, pass, &needed, &sums, &[at], schedule.width, None));
            } else {
                let step = b.int(b.dtype(begin), per_row);
                b.repeat(start, end, step, |b, at| self.visit(b, pass, &needed, &sums, &[at], schedule.width, None));
            }
        };
        match self.valid {
            Some(valid) => b.when(valid, walk),
            None => walk(b),
        }
        if let Some(last) = self.end_point.filter(|_| schedule.width > 1) {
            // Points of a run that is not whole, by the first thread: neighbours may share a word of memory.
            let first = b.mul_const(end, schedule.width as i64);
            let zero = b.int(b.dtype(place), 0);
            let is_first = b.binary(BinaryOp::Eq, place, zero);
            let (start, one) = (b.select(is_first, first, last), b.int(b.dtype(place), 1));
            b.repeat(start, last, one, |b, at| self.visit(b, pass, &needed, &sums, &[at], 1, None));
        }
        let read = |b: &mut Builder, lanes: &[Vec<Running>]| {
            lanes.iter().map(|parts| parts.iter().map(|part| part.value(b)).collect()).collect::<Vec<Vec<Value>>>()
        };
        sums.iter().map(|sums| (sums.at, sums.carried, read(b, &sums.lanes))).collect()
    }

    /// Points of the row, by the numbers of their runs: evaluates what a pass needs, stores, adds to the reductions.
    #[allow(clippy::too_many_arguments)] // which points, and what to do with them
    fn visit(&self, b: &mut Builder, pass: usize, needed: &[bool], sums: &[Sums], runs: &[Value], width: usize, slot: Option<Value>) {
        let (kernel, body) = (self.kernel, self.body);
        let region = body.region;
        let (n, columns) = (region.n_parallel, kernel.schedule.arrangement.columns);
        let last = region.axes.len() - 1;
        let mut extents = region.axes[n..].to_vec();
        let along_row = (!columns && width > 1).then_some(last);
        if along_row.is_some() {
            extents[last - n] /= width;
        }
        let places: Vec<Vec<Value>> = runs
            .iter()
            .map(|run| {
                let mut axes = unravel(b, *run, &extents);
                if along_row.is_some() {
                    axes[last - n] = b.mul_const(axes[last - n], width as i64);
                }
                axes
            })
            .collect();
        let mut axes = self.point.axes.clone();
        for axis in n..region.axes.len() {
            axes[axis] = Lanes::groups(places.iter().map(|place| place[axis - n]));
        }
        let shape = Shape { groups: runs.len(), width };
        let point = Point { shape, along: if columns { self.point.along } else { along_row }, axes, acc: None };
        let mut memo = self.memo.clone();
        let at_slot = |b: &mut Builder, slot: Value, lane: usize| {
            let first = b.mul_const(slot, width as i64);
            b.add_const(first, lane as i64)
        };
        // What earlier passes kept.
        for at in (0..region.insts.len()).filter(|at| needed[*at] && !kernel.kept[pass].contains(at)) {
            let Some(place) = self.registers[at] else { continue };
            let values = match slot {
                Some(slot) => Lanes::run((0..width).map(|lane| {
                    let index = at_slot(b, slot, lane);
                    b.load(place, index)
                })),
                None => kept::load(b, kernel.target, place, region.insts[at].dtype, body.held(at), runs, width),
            };
            memo.put(at, values);
        }
        body.evaluate(b, &point, &mut memo, |_, at| needed[at] && !kernel.down.has(at));
        if kernel.passes.stores(pass) {
            self.sums.iter().for_each(|sum| sum.add(b, body, &memo, slot, width));
        }
        for at in &kernel.kept[pass] {
            // What has no place is read again, or made again.
            let Some(place) = self.registers[*at] else { continue };
            let Some(value) = memo.get(*at).cloned() else {
                b.mistake(format!("value {at}, which is kept, is not there"));
                continue;
            };
            match slot {
                Some(slot) => (0..width).for_each(|lane| {
                    let index = at_slot(b, slot, lane);
                    b.store(place, index, value.at(0, lane));
                }),
                None => kept::store(b, kernel.target, place, region.insts[*at].dtype, &value, runs, width),
            }
        }
        for Sums { carried, argument, lanes, .. } in sums {
            let Some(value) = memo.get(*argument).cloned() else {
                b.mistake(format!("value {argument}, which is reduced, is not there"));
                continue;
            };
            let index = |b: &mut Builder, g: usize, l: usize| {
                let run = b.cast(runs[g], carried.index);
                if columns {
                    return run;
                }
                let first = b.mul_const(run, width as i64);
                b.add_const(first, l as i64)
            };
            let parts = |b: &mut Builder, g: usize, l: usize| {
                let mut parts = vec![b.cast(value.at(g, l), carried.value)];
                if let Fold::Arg(_) = carried.fold {
                    parts.push(index(b, g, l));
                }
                parts
            };
            for (lane, running) in lanes.iter().enumerate() {
                let mut all = Vec::with_capacity(runs.len() * width);
                for g in 0..runs.len() {
                    for l in if columns { lane..lane + 1 } else { 0..width } {
                        all.push(parts(b, g, l));
                    }
                }
                if carried.fold == Fold::Exponentials {
                    let old: Vec<Value> = running.iter().map(|running| running.sum(b)).collect();
                    let new = carried.exponentials(b, &old, all.into_iter().flatten().collect());
                    running.iter().zip(new).for_each(|(running, new)| running.set(b, new, new));
                    continue;
                }
                let new = tree(b, carried, all);
                let old: Vec<Value> = running.iter().map(|running| running.sum(b)).collect();
                let sum = carried.combine_in_order(b, &old, &new);
                running.iter().zip(sum).zip(new).for_each(|((running, sum), new)| running.set(b, sum, new));
            }
        }
    }

    /// Where a part's result for a row is in scratch memory.
    fn partial_at(&self, b: &mut Builder, part: Value, lane: usize) -> Value {
        let first = b.mul_const(part, self.body.region.rows() as i64);
        let row = b.cast(self.row, DType::U32);
        let at = b.add(first, row);
        b.add_const(at, lane as i64)
    }

    /// Leaves this workgroup's parts in scratch memory.
    fn leave(&mut self, b: &mut Builder, results: &[(usize, Carried, Vec<Vec<Value>>)], combined: &[Vec<Value>]) {
        if results.is_empty() {
            return;
        }
        let zero = b.u32(0);
        let mut guard = b.binary(BinaryOp::Eq, self.threads.place(), zero);
        if let Some(valid) = self.valid {
            guard = b.and(guard, valid);
        }
        b.when(guard, |b| {
            let part = self.partials.part.unwrap_or_else(|| b.group(1));
            let mut combined = combined.iter();
            for (at, _, lanes) in results {
                for (lane, parts) in combined.by_ref().take(lanes.len()).enumerate() {
                    let to = self.partial_at(b, part, lane);
                    parts.iter().zip(&self.partials.places[*at]).for_each(|(value, place)| b.store(*place, to, *value));
                }
            }
        });
    }

    /// Combines what the workgroups of an earlier launch left.
    fn recall(&mut self, b: &mut Builder, pass: usize, needed: &[bool]) {
        let RowKernel { passes, schedule, .. } = *self.kernel;
        let mut results = Vec::new();
        let place = self.threads.place();
        let n_parts = self.partials.n_parts.unwrap_or_else(|| b.u32(schedule.splits as u32));
        let (end, step) = (n_parts, b.u32(schedule.arrangement.per_row));
        for at in passes.reductions[pass].iter().filter(|at| needed[**at]) {
            let Some((carried, argument)) = passes.carried(self.body, *at) else {
                b.mistake(format!("instruction {at} is no reduction"));
                continue;
            };
            let first = carried.identity(b, self.body.region.insts[argument].dtype);
            let long = schedule.splits / schedule.arrangement.per_row as usize > LONG;
            let exact = long && carried.is_float_sum();
            let lanes: Vec<Vec<Running>> = (0..self.row_lanes())
                .map(|_| first.iter().map(|first| Running::new(b, &format!("left{at}"), *first, exact)).collect())
                .collect();
            b.repeat(place, end, step, |b, part| {
                for (lane, running) in lanes.iter().enumerate() {
                    let from = self.partial_at(b, part, lane);
                    let new: Vec<Value> = self.partials.places[*at].iter().map(|place| b.load(*place, from)).collect();
                    let old: Vec<Value> = running.iter().map(|running| running.sum(b)).collect();
                    let sum = carried.combine(b, &old, &new);
                    running.iter().zip(sum).zip(new).for_each(|((running, sum), new)| running.set(b, sum, new));
                }
            });
            let values = lanes.iter().map(|parts| parts.iter().map(|part| part.value(b)).collect()).collect::<Vec<Vec<Value>>>();
            results.push((*at, carried, values));
        }
        let sets = results.iter().flat_map(|(_, carried, lanes)| lanes.iter().map(|parts| (*carried, parts.clone()))).collect();
        let combined = self.threads.combine(b, sets);
        self.finish(b, &results, combined);
    }
}

/// A reduction while a thread walks over a row.
struct Sums {
    at: usize,
    carried: Carried,
    argument: usize,
    /// Per lane of the row's values, the parts of what is carried.
    lanes: Vec<Vec<Running>>,
}

impl RowKernel<'_> {
    /// Runs of a row.
    pub(super) fn runs(&self) -> usize {
        if self.schedule.arrangement.columns { self.region.row_len() } else { self.region.row_len() / self.schedule.width }
    }
}
