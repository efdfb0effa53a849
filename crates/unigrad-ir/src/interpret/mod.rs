//! What a program means: it is executed on host memory, workgroup by workgroup, with every mistake reported that a GPU would hide.
//!
//! In: a [`Program`], the target it was made for, a grid, memory and arguments. Out: the memory as the launch leaves it, or a [`Fault`].
//! A workgroup runs in lock-step: each statement for all threads that are active, then the next; barriers and subgroups are checked against
//! that activity. Groups run one after the other, or on several workers if they do not meet in atomic operations; that they may run in any
//! order is what the race check makes sure.
//! Always: the fault of the first group in the grid's order is reported with program, statement, group, thread and element.
//! Found: accesses out of bounds, races, reads of shared and local memory that no thread wrote, barriers and subgroup operations that not all
//! threads reach, misaligned vectors, endless loops. Not found: races within one subgroup that hardware would order by lock-step (they are
//! reported as races), and reads of device memory that was never written.

mod bytes;
mod exec;
mod fault;
mod lanes;
mod memory;
mod race;
mod subgroup;
#[cfg(test)]
mod tests;

pub use bytes::Bytes;
pub use fault::{Fault, FaultKind};

use crate::{
    ir::{Op, Param, Program, Stmt, Value},
    target::Target,
    text,
    validate::{Invalid, validate},
};

/// A range of one allocation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Span {
    /// Position in the memory that [`Interpreter::run`] is given.
    pub allocation: usize,
    /// First byte.
    pub offset: usize,
    /// Bytes.
    pub len: usize,
}

/// What a launch passes for one [`Param`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Argument {
    /// For a `Buffer`.
    Buffer(Span),
    /// For a `Scalar`: its raw bits.
    Scalar(u64),
    /// For a `Table`.
    Table(Vec<Span>),
    /// For a `ScalarTable`: raw bits.
    ScalarTable(Vec<u64>),
}

/// How carefully to execute.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Options {
    /// Whether races are looked for. Takes 16 bytes per element of written buffers that is touched.
    pub races: bool,
    /// Statements that one workgroup may execute before its loops count as endless.
    pub max_steps: u64,
}

impl Default for Options {
    fn default() -> Options {
        Options { races: true, max_steps: 200_000_000 }
    }
}

/// What executes the workgroups of a launch.
#[derive(Clone, Copy)]
pub struct Workers<'a> {
    /// How many may work at once.
    pub count: usize,
    /// Runs a task for `0..n`, on threads or in place, and returns when all are done.
    pub start: &'a Start,
}

/// See [`Workers::start`].
pub type Start = dyn Fn(usize, &(dyn Fn(usize) + Sync));

impl Workers<'_> {
    /// The caller alone.
    pub const ONE: Workers<'static> = Workers { count: 1, start: &|n, task| (0..n).for_each(task) };
}

/// A program made ready for execution.
#[derive(Clone, Debug)]
pub struct Interpreter {
    program: Program,
    /// Threads of a subgroup; 0 if there are none.
    subgroup: usize,
    /// Per value: whether all threads of a group have the same, so that it is computed once.
    uniform: Vec<bool>,
}

/// Executes a launch of `program`: `grid` workgroups over `memory`, one argument per parameter.
pub fn run(program: &Program, target: &Target, grid: [u32; 3], memory: &mut [Vec<u8>], arguments: &[Argument]) -> Result<(), Box<Fault>> {
    let interpreter = Interpreter::new(program, target).map_err(|errors| Box::new(Fault::of_invalid(program, &errors)))?;
    interpreter.run(grid, memory, arguments, Options::default())
}

impl Interpreter {
    /// Prepares a program that is valid for the target. Raw words of the dialect [`Dialect::Ir`](crate::Dialect::Ir) are instructions and
    /// statements of the text form: `mul f32 {v0}, {v1}`, `store {p0}[{v0}], {v1}`.
    pub fn new(program: &Program, target: &Target) -> Result<Interpreter, Vec<Invalid>> {
        validate(program, target)?;
        if !program.has_raw() {
            return Ok(Interpreter::unchecked(program, target));
        }
        let expanded = text::expand_raw(program).map_err(|error| vec![Invalid::of_raw(program, &error)])?;
        validate(&expanded, target)?;
        Ok(Interpreter::unchecked(&expanded, target))
    }

    /// Prepares a program whose validity was not checked: for tests of what happens then.
    fn unchecked(program: &Program, target: &Target) -> Interpreter {
        let mut uniform = vec![false; program.insts.len()];
        find_uniform(program, &program.body, &mut uniform);
        Interpreter { program: program.clone(), subgroup: target.subgroup.unwrap_or(0) as usize, uniform }
    }

    /// The program.
    pub fn program(&self) -> &Program {
        &self.program
    }

    /// Executes a launch.
    pub fn run(&self, grid: [u32; 3], memory: &mut [Vec<u8>], arguments: &[Argument], options: Options) -> Result<(), Box<Fault>> {
        let memory: Vec<Bytes<'_>> = memory.iter_mut().map(|bytes| Bytes::from(bytes.as_mut_slice())).collect();
        self.run_in(grid, &memory, arguments, options, Workers::ONE)
    }

    /// Executes a launch on memory that others own, by several workers.
    pub fn run_in(
        &self,
        grid: [u32; 3],
        memory: &[Bytes<'_>],
        arguments: &[Argument],
        options: Options,
        workers: Workers<'_>,
    ) -> Result<(), Box<Fault>> {
        self.check_arguments(memory, arguments)?;
        exec::launch(self, grid, memory, arguments, options, workers)
    }

    fn check_arguments(&self, memory: &[Bytes<'_>], arguments: &[Argument]) -> Result<(), Box<Fault>> {
        let refuse = |cause: String| Err(Box::new(Fault::of_launch(&self.program, cause)));
        if arguments.len() != self.program.params.len() {
            return refuse(format!("{} arguments for {} parameters", arguments.len(), self.program.params.len()));
        }
        let fits = |span: &Span| {
            let end = span.offset.checked_add(span.len);
            span.len == 0 || memory.get(span.allocation).is_some_and(|bytes| end.is_some_and(|end| end <= bytes.len()))
        };
        for (at, (param, argument)) in self.program.params.iter().zip(arguments).enumerate() {
            let good = match (param, argument) {
                (Param::Buffer { .. }, Argument::Buffer(span)) => fits(span),
                (Param::Table { count, .. }, Argument::Table(spans)) => spans.len() == *count as usize && spans.iter().all(fits),
                (Param::Scalar { .. }, Argument::Scalar(_)) => true,
                (Param::ScalarTable { count, .. }, Argument::ScalarTable(words)) => words.len() == *count as usize,
                _ => false,
            };
            if !good {
                return refuse(format!("argument {at} does not fit its parameter, {param:?}"));
            }
        }
        Ok(())
    }
}

/// Marks the values that all threads of a group share, whatever the launch passes.
fn find_uniform(program: &Program, block: &[Stmt], uniform: &mut [bool]) {
    for stmt in block {
        match stmt {
            Stmt::Let(value) => {
                let Some(inst) = program.insts.get(value.index()) else { continue };
                let all = |values: &[Value], uniform: &[bool]| values.iter().all(|v| uniform[v.index()]);
                let same = match &inst.op {
                    Op::Const(_) | Op::Scalar(_) | Op::Group(_) | Op::GroupCount(_) => true,
                    Op::Thread(axis) => program.block.get(usize::from(*axis)) == Some(&1),
                    Op::TableScalar(_, a) | Op::Unary(_, a) | Op::ApproxExp2(a) | Op::Cast(a) | Op::Bitcast(a) => all(&[*a], uniform),
                    Op::Binary(_, a, b) | Op::MulHi(a, b) => all(&[*a, *b], uniform),
                    Op::Fma(a, b, c) | Op::Select(a, b, c) => all(&[*a, *b, *c], uniform),
                    Op::Lane
                    | Op::Counter
                    | Op::Load(..)
                    | Op::Compose(_)
                    | Op::Extract(..)
                    | Op::Atomic(..)
                    | Op::CompareExchange(..)
                    | Op::Subgroup(..)
                    | Op::FragmentFill(_)
                    | Op::FragmentLoad { .. }
                    | Op::FragmentMma(..)
                    | Op::Raw(_) => false,
                };
                // A select of vectors or fragments has more than one lane.
                uniform[value.index()] = same && inst.ty == crate::Type::Scalar(inst.ty.dtype());
            }
            Stmt::If { then, otherwise, .. } => {
                find_uniform(program, then, uniform);
                find_uniform(program, otherwise, uniform);
            }
            Stmt::For { counter, start, end, step, body, .. } => {
                uniform[counter.index()] = [start, end, step].into_iter().all(|v| uniform[v.index()]);
                find_uniform(program, body, uniform);
            }
            Stmt::While { check, body, .. } => {
                find_uniform(program, check, uniform);
                find_uniform(program, body, uniform);
            }
            Stmt::Store { .. } | Stmt::FragmentStore { .. } | Stmt::Barrier | Stmt::Raw(_) => {}
        }
    }
}
