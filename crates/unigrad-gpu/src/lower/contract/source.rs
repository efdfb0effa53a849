//! Where an operand's elements come from: the kernel's buffer, scratch memory that an earlier step filled, or a map that makes them.
//!
//! In: an element's number in the operand. Out: its value in the operand's dtype, or those of its neighbours.
//! Always: templates whose loads are in the IR (tile, fragment, skinny) take any source. Those that copy memory in a dialect's own words take
//! the first two, and with [`made`](super::made) the third; else [`store`] makes the operand in scratch memory first, which large products are worth.

use super::super::{Lowered, ProgramArg, Signature, Unsupported, region};
use super::problem::{Operand, Problem};
use crate::lower::region::Body;
use unigrad_ir::{Builder, Place, Target, Value};
use unigrad_kernel::Contract;

/// See the module's text.
pub(super) enum Source<'a> {
    Memory(Place),
    Made(Box<Body<'a>>),
}

impl<'a> Source<'a> {
    /// Declares what the operand reads. To be called while the program's outermost block is the current one.
    pub(super) fn declare(
        s: &mut Signature,
        contract: &'a Contract,
        operand: &Operand,
        target: &'a Target,
    ) -> Result<Source<'a>, Unsupported> {
        let (name, arg) = if operand.arg == 0 { ("a", &contract.a) } else { ("b", &contract.b) };
        if let Some(scratch) = operand.scratch {
            return Ok(Source::Memory(s.scratch(name, scratch, operand.dtype, false)));
        }
        match &contract.prologues[operand.arg] {
            Some(region) => {
                let body = Body::of_operand(s, target, region, name, &contract.prologue_args(operand.arg))?;
                Ok(Source::Made(Box::new(body)))
            }
            None => Ok(Source::Memory(s.arg(name, operand.arg, arg))),
        }
    }

    /// The place of what lies in memory.
    pub(super) fn place(&self) -> Option<Place> {
        match self {
            Source::Memory(place) => Some(*place),
            Source::Made(_) => None,
        }
    }

    /// `v` neighbours from an element on, in an aligned run ([`Operand::aligned`]).
    pub(super) fn load(&self, b: &mut Builder, at: Value, v: u8) -> Value {
        match self {
            Source::Memory(place) => b.load_vector(*place, at, v),
            Source::Made(body) => body.elements(b, at, v),
        }
    }
}

/// The steps that make operands in scratch memory, from buffer 1 on (buffer 0 is for partial sums), and the problem that reads them there.
pub(super) fn store(contract: &Contract, problem: &Problem, target: &Target) -> Result<(Lowered, Problem), Unsupported> {
    store_some(contract, problem, target, [true; 2])
}

/// The same, but for one argument of the kernel, which is left as it is.
pub(super) fn store_but(
    contract: &Contract,
    problem: &Problem,
    target: &Target,
    left: Option<usize>,
) -> Result<(Lowered, Problem), Unsupported> {
    store_some(contract, problem, target, [&problem.a, &problem.b].map(|operand| left != Some(operand.arg)))
}

/// The same for `a`, for `b`, or for both, as far as a prologue makes them; no steps and no buffers if none does.
pub(super) fn store_some(
    contract: &Contract,
    problem: &Problem,
    target: &Target,
    stored: [bool; 2],
) -> Result<(Lowered, Problem), Unsupported> {
    let mut problem = problem.clone();
    let mut lowered = Lowered::default();
    for (operand, is_stored) in [&mut problem.a, &mut problem.b].into_iter().zip(stored) {
        let Some(region) = contract.prologues[operand.arg].as_ref().filter(|_| is_stored) else { continue };
        if lowered.scratch.is_empty() {
            lowered.scratch.push(0);
        }
        let args = contract.prologue_args(operand.arg);
        let at = lowered.scratch.len();
        let len = if operand.arg == 0 { contract.a.len } else { contract.b.len };
        lowered.scratch.push(len * operand.dtype.size());
        let made = region::region(region, target)?;
        let n_scratch = lowered.scratch.len();
        for mut step in made.steps {
            for arg in &mut step.args {
                match arg {
                    ProgramArg::Arg(of) => *arg = args.get(*of).map_or(ProgramArg::Scratch(at), |arg| ProgramArg::Arg(*arg)),
                    ProgramArg::Scratch(own) => *own += n_scratch,
                    ProgramArg::Table(_)
                    | ProgramArg::ScalarTable(_)
                    | ProgramArg::WordTable(_)
                    | ProgramArg::Scalar(..)
                    | ProgramArg::Block(_) => {
                        return Err(Unsupported {
                            cause: format!("prologue {}: it passes tables or run-time scalars", region.name),
                            help: "this is a mistake of the compiler; please report it".to_owned(),
                        });
                    }
                    ProgramArg::Status | ProgramArg::StatusSlot | ProgramArg::Word(_) => {}
                }
            }
            lowered.steps.push(step);
        }
        lowered.scratch.extend(made.scratch);
        (operand.made, operand.scratch) = (None, Some(at));
    }
    Ok((lowered, problem))
}
