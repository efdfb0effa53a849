//! Groups: one body over many tensors of different lengths, in one launch.
//!
//! In: a group as data, then launches with buffers and scalars. Out: the stores of all instances.
//! Always: as for a region, results are the same for any number of threads.

use super::exec::Frame;
use super::program::BlockProgram;
use super::{CompiledRegion, STREAM_BYTES, TASK_WORK, keep_first, result, stream};
use crate::memory::{Buf, Fault};
use crate::simd::{Tier, tier};
use crate::threads::{parallel, threads};
use std::sync::Mutex;
use unigrad_kernel::Grouped;

/// A group, ready to run.
#[derive(Debug)]
pub(crate) enum CompiledGrouped {
    /// Of maps.
    Maps(Maps),
    /// Of reductions.
    Rows(Rows),
}

impl CompiledGrouped {
    /// Prepares the shared body.
    pub(crate) fn new(grouped: &Grouped) -> Result<CompiledGrouped, String> {
        CompiledGrouped::on(grouped, tier())
    }

    /// As `new`, for an instruction-set tier that the machine has.
    pub(crate) fn on(grouped: &Grouped, tier: Tier) -> Result<CompiledGrouped, String> {
        match (grouped.region.n_parallel, grouped.region.axes.len()) {
            (1, 1) => Ok(CompiledGrouped::Maps(Maps::on(grouped, tier)?)),
            _ => Ok(CompiledGrouped::Rows(Rows::on(grouped, tier)?)),
        }
    }

    /// Runs every instance over the thread pool.
    ///
    /// # Safety
    /// `args` match the instances' arguments in order, dtype and length, and nothing else uses the written ones meanwhile.
    pub(crate) unsafe fn run(&self, args: &[Buf], scalars: &[u64]) -> Result<(), Fault> {
        // SAFETY: passed on.
        unsafe {
            match self {
                CompiledGrouped::Maps(maps) => maps.run(args, scalars),
                CompiledGrouped::Rows(rows) => rows.run(args, scalars),
            }
        }
    }
}

/// Instances that reduce: each is the region that it would be alone, so it gives what it would give alone, bit for bit.
#[derive(Debug)]
pub(crate) struct Rows {
    /// One for each length.
    regions: Vec<CompiledRegion>,
    /// By instance: which of them it is.
    of: Vec<usize>,
    /// Instances that keep all threads at work.
    large: Vec<usize>,
    /// The others, and the work of each with all before it.
    small: Vec<(usize, usize)>,
    n_args: usize,
    n_scalars: usize,
}

impl Rows {
    fn on(grouped: &Grouped, tier: Tier) -> Result<Rows, String> {
        let mut lens = grouped.lens.clone();
        lens.sort_unstable();
        lens.dedup();
        let regions: Vec<CompiledRegion> =
            lens.iter().map(|len| CompiledRegion::on(&grouped.with_len(*len), tier)).collect::<Result<_, String>>()?;
        let of: Vec<usize> = grouped.lens.iter().map(|len| lens.partition_point(|shorter| shorter < len)).collect();
        let work_of = |at: usize| {
            let program = &regions[of[at]].program;
            program.rows.saturating_mul(program.row_len.max(1)).saturating_mul(program.weight)
        };
        let is_large = |at: &usize| {
            let region = &regions[of[*at]];
            region.parts > 1 || region.program.rows > 1 && work_of(*at) >= 4 * TASK_WORK
        };
        let (large, small): (Vec<usize>, Vec<usize>) = (0..of.len()).partition(is_large);
        let mut work = 0usize;
        let small = small.into_iter().map(|at| {
            work = work.saturating_add(work_of(at));
            (at, work)
        });
        let small = small.collect();
        let (n_args, n_scalars) = (grouped.region.args.len(), grouped.region.scalars.len());
        Ok(Rows { regions, of, large, small, n_args, n_scalars })
    }

    /// # Safety
    /// As for [`CompiledGrouped::run`].
    unsafe fn run(&self, args: &[Buf], scalars: &[u64]) -> Result<(), Fault> {
        let of = |at: usize| {
            let (args, scalars) = (&args[at * self.n_args..][..self.n_args], &scalars[at * self.n_scalars..][..self.n_scalars]);
            (&self.regions[self.of[at]], args, scalars)
        };
        for at in &self.large {
            let (region, args, scalars) = of(*at);
            // SAFETY: passed on.
            unsafe { region.run(args, scalars)? };
        }
        let work = self.small.last().map_or(0, |(_, work)| *work);
        let n_tasks = (4 * threads()).min(work / TASK_WORK).min(self.small.len()).max(1);
        let fault = Mutex::new(None);
        parallel(n_tasks, &|t| {
            // Those whose work begins within this task's share.
            let bound = |t: usize| (work as u128 * t as u128 / n_tasks as u128) as usize;
            let first = |t: usize| self.small.partition_point(|(_, end)| *end <= bound(t));
            for (at, _) in &self.small[if t == 0 { 0 } else { first(t) }..if t + 1 == n_tasks { self.small.len() } else { first(t + 1) }] {
                let (region, args, scalars) = of(*at);
                // SAFETY: passed on; tasks run disjoint instances.
                if let Err(error) = unsafe { region.run_rows(args, scalars, 0, region.program.rows) } {
                    keep_first(&fault, t, error);
                }
            }
        });
        result(fault)
    }
}

/// A grouped map.
#[derive(Debug)]
pub(crate) struct Maps {
    program: BlockProgram,
    /// Elements of each instance, and of all before it.
    lens: Vec<(usize, usize)>,
    total: usize,
    n_args: usize,
    n_scalars: usize,
    stream: bool,
}

impl Maps {
    fn on(grouped: &Grouped, tier: Tier) -> Result<Maps, String> {
        let region = &grouped.region;
        // The extent must not let strides vanish: an instance may be longer than the first one.
        let mut body = region.clone();
        body.axes[0] = grouped.lens.iter().copied().max().unwrap_or(0).max(2);
        let mut total = 0;
        let lens = grouped.lens.iter().map(|len| {
            total += len;
            (*len, total - len)
        });
        let lens = lens.collect();
        let bytes: usize = region.args.iter().filter(|arg| arg.write).map(|arg| arg.dtype.size()).sum();
        Ok(Maps {
            program: BlockProgram::new(&body, tier, true)?,
            lens,
            total,
            n_args: region.args.len(),
            n_scalars: region.scalars.len(),
            stream: total.saturating_mul(bytes) > STREAM_BYTES,
        })
    }

    /// # Safety
    /// As for [`CompiledGrouped::run`].
    unsafe fn run(&self, args: &[Buf], scalars: &[u64]) -> Result<(), Fault> {
        let work = self.total.saturating_mul(self.program.weight);
        let n_threads = threads().min(work / TASK_WORK).max(1);
        let n_tasks = if n_threads > 1 { n_threads * (work / n_threads / (TASK_WORK * 16)).clamp(1, 4) } else { 1 };
        let fault = Mutex::new(None);
        parallel(n_tasks, &|t| {
            let bound = |t: usize| {
                ((self.total as u128 * t as u128 / n_tasks as u128) as usize).next_multiple_of(self.program.block).min(self.total)
            };
            let (start, end) = (if t == 0 { 0 } else { bound(t) }, bound(t + 1));
            // SAFETY: passed on; tasks run disjoint elements.
            if let Err(error) = unsafe { self.run_range(args, scalars, start, end) } {
                keep_first(&fault, t, error);
            }
        });
        result(fault)
    }

    /// # Safety
    /// As for `run`, for elements `start..end` of all instances laid end to end.
    unsafe fn run_range(&self, args: &[Buf], scalars: &[u64], start: usize, end: usize) -> Result<(), Fault> {
        let first = self.lens.partition_point(|(len, before)| before + len <= start);
        for (i, (len, before)) in self.lens.iter().enumerate().skip(first) {
            if *before >= end {
                break;
            }
            let (from, to) = (start.max(*before) - before, end.min(before + len) - before);
            if from >= to {
                continue;
            }
            let args = &args[i * self.n_args..(i + 1) * self.n_args];
            let scalars = &scalars[i * self.n_scalars..(i + 1) * self.n_scalars];
            // SAFETY: passed on.
            unsafe {
                let mut frame = Frame::new(&self.program, args, scalars, self.stream);
                frame.uniform()?;
                frame.all_rows(from, to)?;
            }
        }
        if self.stream {
            stream::fence();
        }
        Ok(())
    }
}
