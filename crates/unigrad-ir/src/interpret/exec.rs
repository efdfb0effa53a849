//! Control flow: each worker takes one workgroup after the other, and runs each statement for all active threads of the group.

use unigrad_scalar::{DType, UnaryOp};

use std::sync::{
    Mutex, PoisonError,
    atomic::{AtomicU64, Ordering::Relaxed},
};

use super::{
    Argument, Fault, FaultKind, Interpreter, Options, Workers,
    bytes::Bytes,
    lanes::{self, Active, Col, each},
    memory::{Binding, Local, Region, WorkgroupArray, bind},
    race::{MAX_EPOCH, Me},
};
use crate::{
    ir::{Inst, Op, Param, Program, Stmt, Type, Value},
    text,
};

/// What happened to which thread; the statement is added where it is known.
pub(super) struct Trouble {
    pub(super) thread: usize,
    pub(super) kind: FaultKind,
}

impl Trouble {
    pub(super) fn new(thread: usize, kind: FaultKind) -> Box<Trouble> {
        Box::new(Trouble { thread, kind })
    }
}

pub(super) type Executed = Result<(), Box<Trouble>>;

/// A worker of a launch under way: the state of the workgroup that it runs.
pub(super) struct Machine<'a> {
    pub(super) program: &'a Program,
    pub(super) uniform: &'a [bool],
    /// Threads of a workgroup, and of a subgroup (0: there are none).
    pub(super) threads: usize,
    pub(super) subgroup: usize,
    grid: [u32; 3],
    group: [u32; 3],
    /// Position of the group in the grid, and how many the worker has begun (from 1).
    pub(super) linear: u64,
    pub(super) serial: u32,
    /// Barriers passed by the group.
    epoch: u64,
    steps: u64,
    pub(super) options: Options,
    pub(super) values: Vec<Vec<u64>>,
    pub(super) locals: Vec<Local>,
    pub(super) shared: Vec<WorkgroupArray>,
    thread_ids: [Vec<u64>; 3],
    pub(super) memory: &'a [Bytes<'a>],
    /// Per parameter: one for a buffer, several for a table, none for numbers.
    pub(super) bindings: &'a [Vec<Binding>],
    pub(super) regions: &'a [Region],
    arguments: &'a [Argument],
    /// Lists of threads that are free for use.
    lists: Vec<Vec<u32>>,
}

/// What the workers of a launch share.
struct Launch<'a> {
    interpreter: &'a Interpreter,
    grid: [u32; 3],
    memory: &'a [Bytes<'a>],
    arguments: &'a [Argument],
    options: Options,
    bindings: Vec<Vec<Binding>>,
    regions: Vec<Region>,
}

/// Executes all groups.
pub(super) fn launch(
    interpreter: &Interpreter,
    grid: [u32; 3],
    memory: &[Bytes<'_>],
    arguments: &[Argument],
    options: Options,
    workers: Workers<'_>,
) -> Result<(), Box<Fault>> {
    let program = &interpreter.program;
    let n_groups = grid.iter().try_fold(1u64, |n, extent| n.checked_mul(u64::from(*extent))).unwrap_or(u64::MAX);
    if program.threads() == 0 || n_groups == 0 {
        return Ok(());
    }
    let (bindings, regions) = bind(program, arguments, options.races);
    let launch = Launch { interpreter, grid, memory, arguments, options, bindings, regions };
    // Groups that meet in atomic operations do so in the order of the grid, so that sums of floats are the same in every run.
    let meet = program.params.iter().any(|param| matches!(param, Param::Buffer { atomic: true, .. }));
    let n_workers = if meet { 1 } else { n_groups.min(workers.count as u64) };
    if n_workers <= 1 {
        let mut machine = Machine::new(&launch);
        return (0..n_groups).try_for_each(|group| machine.run_group(group));
    }
    let chunk = (n_groups / n_workers / 8).clamp(1, 64);
    let next = AtomicU64::new(0);
    // The first group in the grid's order that failed, and how: those before it still run, so that it does not depend on timing.
    let first = AtomicU64::new(u64::MAX);
    let fault = Mutex::new(None);
    (workers.start)(n_workers as usize, &|_| {
        let mut machine = Machine::new(&launch);
        loop {
            let begin = next.fetch_add(chunk, Relaxed);
            if begin >= n_groups {
                return;
            }
            for group in begin..n_groups.min(begin + chunk) {
                if group > first.load(Relaxed) {
                    return;
                }
                let Err(found) = machine.run_group(group) else { continue };
                let mut fault = fault.lock().unwrap_or_else(PoisonError::into_inner);
                if group < first.fetch_min(group, Relaxed) {
                    *fault = Some(found);
                }
                return;
            }
        }
    });
    fault.into_inner().unwrap_or_else(PoisonError::into_inner).map_or(Ok(()), Err)
}

/// The lanes of a value.
pub(super) fn column<'v>(values: &'v [Vec<u64>], uniform: &[bool], value: Value) -> Col<'v> {
    Col { data: &values[value.index()], stride: usize::from(!uniform[value.index()]) }
}

impl<'a> Machine<'a> {
    fn new(launch: &'a Launch<'a>) -> Machine<'a> {
        let Launch { interpreter, grid, memory, arguments, options, bindings, regions } = launch;
        let program = &interpreter.program;
        let threads = program.threads() as usize;
        let subgroups = threads.checked_div(interpreter.subgroup).unwrap_or(0);
        let lanes = |ty: Type| match ty {
            Type::Scalar(_) => threads,
            Type::Vector(_, n) => threads * usize::from(n),
            Type::Fragment(fragment) => subgroups * fragment.size().0 * fragment.size().1,
        };
        let values =
            program.insts.iter().zip(&interpreter.uniform).map(|(inst, uniform)| vec![0; if *uniform { 1 } else { lanes(inst.ty) }]);
        let [x, y, _] = program.block.map(|n| n as usize);
        let ids = |f: &dyn Fn(usize) -> usize| (0..threads).map(|t| f(t) as u64).collect::<Vec<_>>();
        Machine {
            program,
            uniform: &interpreter.uniform,
            threads,
            subgroup: interpreter.subgroup,
            grid: *grid,
            group: [0; 3],
            linear: 0,
            serial: 0,
            epoch: 0,
            steps: 0,
            options: *options,
            values: values.collect(),
            locals: program.locals.iter().map(|array| Local::new(array, threads, lanes(array.ty))).collect(),
            shared: program.shared.iter().map(WorkgroupArray::new).collect(),
            thread_ids: [ids(&|t| t % x), ids(&|t| t / x % y), ids(&|t| t / x / y)],
            memory,
            bindings,
            regions,
            arguments,
            lists: Vec::new(),
        }
    }

    /// Runs the group at a position of the grid.
    fn run_group(&mut self, linear: u64) -> Result<(), Box<Fault>> {
        let [x, y, _] = self.grid.map(u64::from);
        self.group = [linear % x, linear / x % y, linear / x / y].map(|at| at as u32);
        self.linear = linear;
        self.serial += 1;
        (self.epoch, self.steps) = (0, 0);
        self.block(&self.program.body, Active::All(self.threads))
    }

    /// The race check's stamp of thread 0.
    pub(super) fn me(&self) -> Me {
        Me::new(self.linear, self.epoch)
    }

    pub(super) fn col(&self, value: Value) -> Col<'_> {
        column(&self.values, self.uniform, value)
    }

    pub(super) fn dtype(&self, value: Value) -> DType {
        self.program.ty(value).dtype()
    }

    #[cold]
    fn fault(&self, stmt: &Stmt, trouble: Trouble) -> Box<Fault> {
        let (t, [x, y, _]) = (trouble.thread as u32, self.program.block);
        Box::new(Fault {
            program: self.program.name.clone(),
            statement: text::one_line(self.program, stmt),
            group: self.group,
            thread: [t % x, t / x % y, t / x / y],
            kind: trouble.kind,
        })
    }

    fn list(&mut self) -> Vec<u32> {
        let mut list = self.lists.pop().unwrap_or_default();
        list.clear();
        list
    }

    fn block(&mut self, block: &'a [Stmt], active: Active<'_>) -> Result<(), Box<Fault>> {
        for stmt in block {
            self.steps += 1;
            if self.steps > self.options.max_steps {
                return Err(self.fault(stmt, Trouble { thread: active.first(), kind: FaultKind::Endless(self.options.max_steps) }));
            }
            let step = match stmt {
                Stmt::Let(value) => self.evaluate(*value, active),
                Stmt::Store { place, index, value } => self.store(*place, *index, *value, active),
                Stmt::FragmentStore { place, index, stride, value } => self.fragment_store(*place, *index, *stride, *value, active),
                Stmt::Barrier => self.barrier(active),
                Stmt::If { condition, then, otherwise } => {
                    self.branch(*condition, then, otherwise, active)?;
                    Ok(())
                }
                Stmt::For { counter, start, end, step, body, .. } => self.count(stmt, [*counter, *start, *end, *step], body, active)?,
                Stmt::While { check, condition, body } => {
                    self.repeat(stmt, check, *condition, body, active)?;
                    Ok(())
                }
                Stmt::Raw(_) => Err(no_raw(active)),
            };
            if let Err(trouble) = step {
                return Err(self.fault(stmt, *trouble));
            }
        }
        Ok(())
    }

    fn barrier(&mut self, active: Active<'_>) -> Executed {
        if active.count() != self.threads {
            let kind = FaultKind::DivergentBarrier { active: active.count(), threads: self.threads };
            return Err(Trouble::new(active.first(), kind));
        }
        self.epoch += 1;
        if self.epoch > MAX_EPOCH {
            return Err(Trouble::new(0, FaultKind::Endless(self.steps)));
        }
        Ok(())
    }

    fn branch(&mut self, condition: Value, then: &'a [Stmt], otherwise: &'a [Stmt], active: Active<'_>) -> Result<(), Box<Fault>> {
        if self.uniform[condition.index()] {
            let taken = if self.values[condition.index()][0] != 0 { then } else { otherwise };
            return self.block(taken, active);
        }
        let (mut yes, mut no) = (self.list(), self.list());
        let truth = &self.values[condition.index()];
        each!(active, i => if truth[i] != 0 { yes.push(i as u32) } else { no.push(i as u32) });
        let result = if no.is_empty() {
            self.block(then, active)
        } else if yes.is_empty() {
            self.block(otherwise, active)
        } else {
            self.block(then, Active::Some(&yes)).and_then(|()| self.block(otherwise, Active::Some(&no)))
        };
        self.lists.extend([yes, no]);
        result
    }

    fn count(
        &mut self,
        stmt: &Stmt,
        [counter, start, end, step]: [Value; 4],
        body: &'a [Stmt],
        active: Active<'_>,
    ) -> Result<Executed, Box<Fault>> {
        let dtype = self.dtype(counter);
        let less = |a: u64, b: u64| if dtype.is_signed_int() { (a as i64) < b as i64 } else { a < b };
        let positive = |step: u64| less(0, step);
        if self.uniform[counter.index()] {
            let [mut at, end, step] = [start, end, step].map(|v| self.values[v.index()][0]);
            if !positive(step) {
                return Ok(Err(Trouble::new(active.first(), FaultKind::Executed(step as i64 as i128))));
            }
            while less(at, end) {
                self.values[counter.index()][0] = at;
                self.tick(stmt, active)?;
                self.block(body, active)?;
                at = lanes::wrap(dtype, at.wrapping_add(step) as i64);
            }
            return Ok(Ok(()));
        }
        let mut counters = std::mem::take(&mut self.values[counter.index()]);
        let mut bad = None;
        {
            let (start, step) = (self.col(start), self.col(step));
            each!(active, i => {
                counters[i] = start.at(i);
                if !positive(step.at(i)) {
                    bad = bad.or(Some((i, step.at(i))));
                }
            });
        }
        self.values[counter.index()] = counters;
        if let Some((thread, step)) = bad {
            return Ok(Err(Trouble::new(thread, FaultKind::Executed(step as i64 as i128))));
        }
        let mut list = self.list();
        loop {
            list.clear();
            let (at, end) = (&self.values[counter.index()], self.col(end));
            each!(active, i => if less(at[i], end.at(i)) { list.push(i as u32) });
            if list.is_empty() {
                break;
            }
            let now = if list.len() == active.count() { active } else { Active::Some(&list) };
            self.tick(stmt, now)?;
            self.block(body, now)?;
            let mut counters = std::mem::take(&mut self.values[counter.index()]);
            let step = self.col(step);
            each!(now, i => counters[i] = lanes::wrap(dtype, counters[i].wrapping_add(step.at(i)) as i64));
            self.values[counter.index()] = counters;
        }
        self.lists.push(list);
        Ok(Ok(()))
    }

    /// A step of a loop, which may have an empty body.
    fn tick(&mut self, stmt: &Stmt, active: Active<'_>) -> Result<(), Box<Fault>> {
        self.steps += 1;
        if self.steps > self.options.max_steps {
            return Err(self.fault(stmt, Trouble { thread: active.first(), kind: FaultKind::Endless(self.options.max_steps) }));
        }
        Ok(())
    }

    fn repeat(&mut self, stmt: &Stmt, check: &'a [Stmt], condition: Value, body: &'a [Stmt], active: Active<'_>) -> Result<(), Box<Fault>> {
        let (mut list, mut next) = (self.list(), self.list());
        each!(active, i => list.push(i as u32));
        let all = list.len() == self.threads;
        let mut whole = all;
        loop {
            let now = if whole { Active::All(self.threads) } else { Active::Some(&list) };
            self.block(check, now)?;
            next.clear();
            let truth = self.col(condition);
            each!(now, i => if truth.at(i) != 0 { next.push(i as u32) });
            if next.is_empty() {
                break;
            }
            whole &= next.len() == self.threads;
            std::mem::swap(&mut list, &mut next);
            let now = if whole { Active::All(self.threads) } else { Active::Some(&list) };
            self.tick(stmt, now)?;
            self.block(body, now)?;
        }
        self.lists.extend([list, next]);
        Ok(())
    }

    fn evaluate(&mut self, value: Value, active: Active<'_>) -> Executed {
        let active = if self.uniform[value.index()] { Active::All(1) } else { active };
        let mut out = std::mem::take(&mut self.values[value.index()]);
        let result = self.instruction(&self.program.insts[value.index()], active, &mut out);
        self.values[value.index()] = out;
        result
    }

    fn instruction(&mut self, inst: &'a Inst, active: Active<'_>, out: &mut [u64]) -> Executed {
        match &inst.op {
            Op::Const(literal) => out[0] = self::constant(*literal),
            Op::Scalar(at) => out[0] = self.passed(*at, 0, inst.ty.dtype()),
            Op::TableScalar(at, which) => {
                let len = match self.arguments.get(*at as usize) {
                    Some(Argument::ScalarTable(words)) => words.len(),
                    _ => 0,
                };
                let which = self.col(*which);
                each!(active, i => {
                    let index = which.at(i);
                    if index >= len as u64 {
                        let kind = FaultKind::OutOfBounds { place: text::place_name(self.program, crate::Place::Param(*at)), index: index.into(), len };
                        return Err(Trouble::new(i, kind));
                    }
                    out[i] = self.passed(*at, index as usize, inst.ty.dtype());
                });
            }
            Op::Thread(axis) => {
                let ids = &self.thread_ids[usize::from(*axis)];
                each!(active, i => out[i] = ids[i]);
            }
            Op::Group(axis) => out[0] = self.group[usize::from(*axis)].into(),
            Op::GroupCount(axis) => out[0] = self.grid[usize::from(*axis)].into(),
            Op::Lane => {
                if self.subgroup == 0 {
                    return Err(Trouble::new(active.first(), FaultKind::NoSubgroup));
                }
                each!(active, i => out[i] = (i % self.subgroup) as u64);
            }
            Op::Counter => {
                return Err(Trouble::new(active.first(), FaultKind::Meaningless("a counter belongs to its loop".to_owned())));
            }
            Op::Unary(op, a) => lanes::unary(active, *op, self.dtype(*a), self.col(*a), out),
            Op::ApproxExp2(a) => lanes::unary(active, UnaryOp::Exp2, self.dtype(*a), self.col(*a), out),
            Op::Binary(op, a, b) => lanes::binary(active, *op, self.dtype(*a), self.col(*a), self.col(*b), out),
            Op::Fma(a, b, c) => lanes::fma(active, inst.ty.dtype(), [a, b, c].map(|v| self.col(*v)), out),
            Op::MulHi(a, b) => lanes::mul_hi(active, self.col(*a), self.col(*b), out),
            Op::Select(condition, a, b) => match inst.ty {
                Type::Scalar(_) => lanes::select(active, [condition, a, b].map(|v| self.col(*v)), out),
                Type::Vector(_, n) => {
                    for lane in 0..usize::from(n) {
                        let at = lane * self.threads;
                        let (a, b) = (self.lane(*a, lane), self.lane(*b, lane));
                        lanes::select(active, [self.col(*condition), a, b], &mut out[at..at + self.threads]);
                    }
                }
                Type::Fragment(_) => return Err(meaningless(active, "fragments cannot be selected")),
            },
            Op::Cast(a) => lanes::cast(active, self.dtype(*a), inst.ty.dtype(), self.col(*a), out),
            Op::Bitcast(a) => lanes::bitcast(active, self.dtype(*a), inst.ty.dtype(), self.col(*a), out),
            Op::Load(place, index) => return self.load(*place, *index, inst.ty, active, out),
            Op::Compose(values) => {
                for (lane, value) in values.iter().enumerate() {
                    let (col, at) = (self.col(*value), lane * self.threads);
                    each!(active, i => out[at + i] = col.at(i));
                }
            }
            Op::Extract(vector, lane) => {
                let col = self.lane(*vector, usize::from(*lane));
                each!(active, i => out[i] = col.at(i));
            }
            Op::Atomic(op, place, index, value) => return self.atomic(*op, *place, *index, *value, active, out),
            Op::CompareExchange(place, index, expected, new) => {
                return self.compare_exchange(*place, *index, [*expected, *new], active, out);
            }
            Op::Subgroup(op, a) => return self.subgroup_op(*op, *a, active, out),
            Op::FragmentFill(a) => return self.fragment_fill(inst.ty, *a, active, out),
            Op::FragmentLoad { place, index, stride, transposed } => {
                return self.fragment_load(inst.ty, *place, [*index, *stride], *transposed, active, out);
            }
            Op::FragmentMma(a, b, c) => return self.fragment_mma(inst.ty, [*a, *b, *c], active, out),
            Op::Raw(_) => return Err(no_raw(active)),
        }
        Ok(())
    }

    /// One lane of a vector.
    fn lane(&self, vector: Value, lane: usize) -> Col<'_> {
        let at = lane * self.threads;
        Col { data: &self.values[vector.index()][at..at + self.threads], stride: 1 }
    }

    /// A number that the launch passed, as a lane.
    fn passed(&self, param: u32, at: usize, dtype: DType) -> u64 {
        let raw = match self.arguments.get(param as usize) {
            Some(Argument::Scalar(raw)) => *raw,
            Some(Argument::ScalarTable(words)) => words.get(at).copied().unwrap_or(0),
            Some(Argument::Buffer(_) | Argument::Table(_)) | None => 0,
        };
        lanes::wrap(dtype, raw as i64)
    }
}

/// A constant as a lane.
fn constant(literal: unigrad_scalar::Literal) -> u64 {
    lanes::wrap(literal.dtype(), literal.to_raw() as i64)
}

fn no_raw(active: Active<'_>) -> Box<Trouble> {
    meaningless(active, "raw words of a dialect mean nothing here\n help: give them a text for the dialect `ir`")
}

pub(super) fn meaningless(active: Active<'_>, cause: &str) -> Box<Trouble> {
    Trouble::new(active.first(), FaultKind::Meaningless(cause.to_owned()))
}
