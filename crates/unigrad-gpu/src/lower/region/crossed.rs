//! Rows and sums down their columns in one walk: a workgroup does many rows, one after the other, and each of its threads, which has the same columns in
//! all of them, adds up what it makes there. What comes after it adds up what the workgroups left, and does the rest of all columns.
//!
//! In: a [`Crossed`], a target. Out: steps; where rows do not fit into a thread's registers, those of each region after the other's.
//! Always: every sum is in a fixed order: of so many rows a thread, then of all threads that have the column.
//! Never: more rows a thread than a plain sum may have.
//!
//! For a layer of GPT-2 (32,768 rows of 768) the walk reads 200 MB less than three launches. On an H200 it takes 106 us where these take 158. Its threads are
//! few, for each holds sums: so all of a row is asked for at once ([`RowPlan::early`]), without which it takes 128.

use super::{
    body::{Body, Memo},
    divide,
    row::{Job, RowKernel},
    row_plan::RowPlan,
    schedule::{Kept, RowSchedule},
    simplify::simplify,
};
use crate::lower::{Lowered, ProgramArg, Unsupported, running::LONG};
use smallvec::SmallVec;
use unigrad_ir::{Builder, Place, Target, Type, Value};
use unigrad_kernel::{Arg, ColumnSum, Crossed, Index, Inst, InstOp, OneWalk, Region};
use unigrad_scalar::{BinaryOp, DType, Literal, ReduceOp};

/// 32-bit words of a thread for the sums of its columns.
const SUM_WORDS: usize = 48;
/// Workgroups of each compute unit that are at work at a time.
const RESIDENT: usize = 4;

/// The steps; see the module's text.
pub(super) fn lower(crossed: &Crossed, target: &Target) -> Result<Lowered, Unsupported> {
    if let Some(lowered) = together(crossed, target)? {
        return Ok(lowered);
    }
    crossed.parts().into_iter().try_fold(Lowered::default(), |lowered, (region, places, scalars)| {
        Ok(lowered.then_at(super::region(region, target)?, |arg| places[arg], scalars))
    })
}

/// The stores of a region that add up instead.
#[derive(Debug, Default)]
pub(super) struct Down {
    stores: Vec<usize>,
    /// Workgroups at most, if there are such stores.
    pub(super) grid: Option<usize>,
}

/// A sum down the columns while rows are walked over.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sum {
    /// Its store.
    at: usize,
    /// What is stored.
    value: usize,
    /// Of the thread, by the slots and lanes of its columns.
    place: Place,
    dtype: DType,
}

impl Down {
    pub(super) fn has(&self, at: usize) -> bool {
        self.stores.contains(&at)
    }

    /// Sums of nothing.
    pub(super) fn begin(&self, b: &mut Builder, body: &Body<'_>, schedule: RowSchedule) -> Vec<Sum> {
        let mut sums = Vec::with_capacity(self.stores.len());
        for at in &self.stores {
            let (InstOp::Store { arg, value, .. }, Kept::InRegisters(runs)) = (&body.region.insts[*at].op, schedule.kept) else {
                b.mistake(format!("instruction {at} adds up no column of what is in registers"));
                continue;
            };
            let dtype = body.region.args[*arg as usize].dtype;
            let len = (runs * schedule.width) as u32;
            let place = b.local(&format!("down{at}"), Type::Scalar(dtype), len);
            let zero = b.constant(Literal::zero(dtype));
            b.unrolled(len, |b, i| b.store(place, i, zero));
            sums.push(Sum { at: *at, value: value.index(), place, dtype });
        }
        sums
    }

    /// Leaves what each thread has: a row of its own of the partial sums for each row of threads.
    pub(super) fn leave(&self, b: &mut Builder, body: &Body<'_>, schedule: RowSchedule, sums: &[Sum]) {
        let Kept::InRegisters(each) = schedule.kept else { return };
        if sums.is_empty() {
            return;
        }
        let (row, place) = schedule.arrangement.places(b);
        let group = b.group(0);
        let across = i64::from(schedule.arrangement.rows());
        let first = b.mul_const(group, across);
        let part = b.add(first, row);
        let (len, width) = (body.region.row_len(), schedule.width);
        let base = b.mul_const(part, len as i64);
        let per_row = i64::from(schedule.arrangement.per_row);
        b.unrolled(each as u32, |b, slot| {
            let run = b.mul_const(slot, per_row);
            let run = b.add(run, place);
            let store = |b: &mut Builder| {
                let column = b.mul_const(run, width as i64);
                let to = b.add(base, column);
                let from = b.mul_const(slot, width as i64);
                for sum in sums {
                    let InstOp::Store { arg, .. } = body.region.insts[sum.at].op else { continue };
                    let Some(partial) = body.place(arg as usize) else {
                        b.mistake(format!("the partial sums of instruction {} have no place", sum.at));
                        continue;
                    };
                    for lane in 0..width as i64 {
                        let at = b.add_const(from, lane);
                        let value = b.load(sum.place, at);
                        let to = b.add_const(to, lane);
                        b.store(partial, to, value);
                    }
                }
            };
            let runs = len / width;
            if runs.is_multiple_of(per_row as usize) {
                store(b);
            } else {
                let end = b.u32(runs as u32);
                let inside = b.lt(run, end);
                b.when(inside, store);
            }
        });
    }
}

impl Sum {
    /// Adds what the points of a run have.
    pub(super) fn add(&self, b: &mut Builder, body: &Body<'_>, memo: &Memo, slot: Option<Value>, width: usize) {
        let (Some(value), Some(slot)) = (memo.get(self.value).cloned(), slot) else {
            b.mistake(format!("region {}: value {}, which is added up, is not there", body.region.name, self.value));
            return;
        };
        let first = b.mul_const(slot, width as i64);
        for lane in 0..width {
            let at = b.add_const(first, lane as i64);
            let (sum, x) = (b.load(self.place, at), b.cast(value.at(0, lane), self.dtype));
            let sum = b.binary(BinaryOp::Add, sum, x);
            b.store(self.place, at, sum);
        }
    }
}

/// All in one walk, if rows fit into registers.
fn together(crossed: &Crossed, target: &Target) -> Result<Option<Lowered>, Unsupported> {
    let Some(OneWalk { mut region, sums }) = crossed.one_walk() else { return Ok(None) };
    let n_args = region.args.len();
    let Some(row_len) = region.axes.get(1).copied().filter(|len| *len > 0 && region.rows() > 0 && !sums.is_empty()) else {
        return Ok(None);
    };
    for sum in &sums {
        let dtype = region.insts[sum.value.index()].dtype.compute();
        let index = Index { strides: SmallVec::from_slice(&[0, 1]), ..Index::default() };
        let arg = region.args.len() as u32;
        region.args.push(Arg { dtype, len: row_len, write: true });
        region.insts.push(Inst { op: InstOp::Store { arg, index, value: sum.value }, dtype });
    }
    if !divide::fits(&region, target.max_buffers as usize) {
        return Ok(None);
    }
    super::body::check(&region, target)?;
    let mut region = simplify(&region);
    if region.axes.len() != 2 || region.n_parallel != 1 {
        return Ok(None);
    }
    let facts = Body::new(&region, target, vec![None; region.args.len()], vec![None; region.scalars.len()], None);
    let plan = RowPlan::early(&facts, target).unwrap_or_else(|| RowPlan::new(&facts, target));
    let RowSchedule { arrangement, width, kept: Kept::InRegisters(each), splits: 1, .. } = plan.schedule else { return Ok(None) };
    let words: usize = region.args[n_args..].iter().map(|arg| each * width * arg.dtype.size().div_ceil(4)).sum();
    if arrangement.columns || words > SUM_WORDS {
        return Ok(None);
    }
    let blocks = region.rows().div_ceil(arrangement.rows() as usize);
    let resident = (RESIDENT * target.compute_units as usize).max(blocks.div_ceil(LONG));
    let grid = blocks.min(resident).min(super::map::most_blocks(target));
    let parts = grid * arrangement.rows() as usize;
    if blocks.div_ceil(grid) > LONG || parts.saturating_mul(row_len) > i32::MAX as usize {
        return Ok(None);
    }
    region.args[n_args..].iter_mut().for_each(|arg| arg.len = parts * row_len);
    let is_sum = |at: &usize| matches!(region.insts[*at].op, InstOp::Store { arg, .. } if arg as usize >= n_args);
    let down = Down { stores: (0..region.insts.len()).filter(is_sum).collect(), grid: Some(grid) };
    let RowPlan { passes, schedule, kept, .. } = &plan;
    let kernel = RowKernel { region: &region, target, passes, schedule: *schedule, kept, long: plan.is_long(), down: &down };
    let mut lowered = Lowered::default();
    kernel.step(&mut lowered, Job::All)?;
    lowered.scratch = region.args[n_args..].iter().map(Arg::bytes).collect();
    let left: Vec<(ColumnSum, Arg)> = sums.iter().copied().zip(region.args[n_args..].iter().copied()).collect();
    let (rest, places) = of_partials(crossed.parts().get(1..).unwrap_or_default(), n_args, parts, &left);
    lowered = lowered.then_at(super::region(&rest, target)?, |arg| places[arg], crossed.rows.scalars.len());
    // Where arguments of the whole kernel end, partial sums begin.
    for arg in lowered.steps.iter_mut().flat_map(|step| &mut step.args) {
        if let ProgramArg::Arg(at) = *arg
            && at >= n_args
        {
            *arg = ProgramArg::Scratch(at - n_args);
        }
    }
    Ok(Some(lowered))
}

/// Regions of columns as one, which adds up what was left of each sum, in so many rows, and where each of its arguments is among those of the kernel, of which there are
/// `n_args` and after which come what was left. `all` are the regions, each with its arguments among the kernel's. Its scalars are the columns', in order.
pub(in crate::lower) fn of_partials(
    all: &[(&Region, Vec<usize>, usize)],
    n_args: usize,
    parts: usize,
    left: &[(ColumnSum, Arg)],
) -> (Region, Vec<usize>) {
    // DEFAULT: no regions have no name and no columns.
    let (name, width) = all.first().map_or((String::new(), 0), |(first, ..)| (first.name.clone(), first.axes[0]));
    let mut rest = Region {
        name,
        axes: SmallVec::from_slice(&[width, parts]),
        n_parallel: 1,
        args: Vec::new(),
        scalars: Vec::new(),
        insts: Vec::new(),
    };
    let mut places = Vec::new();
    for (at, (_, arg)) in left.iter().enumerate() {
        places.push(n_args + at);
        rest.args.push(Arg { write: false, ..*arg });
        let index = Index { strides: SmallVec::from_slice(&[1, width as i64]), ..Index::default() };
        rest.insts.push(Inst { op: InstOp::Load { arg: at as u32, index, mask: None }, dtype: arg.dtype });
    }
    for (part, (columns, own, _)) in all.iter().enumerate() {
        let (args, scalars, by) = (rest.args.len() as u32, rest.scalars.len() as u32, rest.insts.len() as u32);
        for (at, inst) in columns.insts.iter().enumerate() {
            let mut inst = inst.clone();
            let of = left.iter().position(|(sum, _)| (sum.part, sum.at) == (part, at));
            match (&mut inst.op, of) {
                (InstOp::Reduce(ReduceOp::Sum, what), Some(of)) => *what = unigrad_kernel::Value(of as u32),
                (op, _) => op.map_values(|value| unigrad_kernel::Value(value.0 + by)),
            }
            match &mut inst.op {
                InstOp::Load { arg, .. } | InstOp::Store { arg, .. } => *arg += args,
                InstOp::Scalar(at) => *at += scalars,
                InstOp::Const(_)
                | InstOp::AxisIndex(_)
                | InstOp::Acc
                | InstOp::Unary(..)
                | InstOp::Binary(..)
                | InstOp::Where(..)
                | InstOp::Cast(_)
                | InstOp::Bitcast(_)
                | InstOp::Bounded { .. }
                | InstOp::Philox { .. }
                | InstOp::Reduce(..)
                | InstOp::ArgReduce(..) => {}
            }
            rest.insts.push(inst);
        }
        rest.args.extend(&columns.args);
        rest.scalars.extend(&columns.scalars);
        places.extend(own);
    }
    (rest, places)
}
