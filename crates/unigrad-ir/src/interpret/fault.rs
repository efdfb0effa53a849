//! What the interpreter found wrong.

use std::fmt;

use super::race::Other;
use crate::{ir::Program, validate::Invalid};

/// A mistake of a program, found while it ran.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The program's name.
    pub program: String,
    /// The statement, as text; empty if it is about the launch.
    pub statement: String,
    /// The workgroup.
    pub group: [u32; 3],
    /// The thread in it.
    pub thread: [u32; 3],
    /// What happened.
    pub kind: FaultKind,
}

/// What happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FaultKind {
    /// An element that is not there.
    OutOfBounds {
        /// Name of the array or buffer.
        place: String,
        /// The element.
        index: i128,
        /// Elements there are.
        len: usize,
    },
    /// A vector or fragment that does not begin at a multiple of its alignment.
    Misaligned {
        /// Name of the array or buffer.
        place: String,
        /// The element.
        index: i128,
        /// What it should be a multiple of.
        of: usize,
    },
    /// An access that conflicts with one of another thread.
    Race {
        /// Name of the array or buffer.
        place: String,
        /// The element.
        index: i128,
        /// Group and thread (linear) of the other access, as far as they are known.
        other: (Option<u64>, Option<u64>),
        /// Whether the other access was a write.
        other_wrote: bool,
    },
    /// A read of shared or local memory that no thread wrote.
    Undefined {
        /// Name of the array.
        place: String,
        /// The element.
        index: i128,
    },
    /// A barrier that not all threads of the group reach together.
    DivergentBarrier {
        /// Threads that are there.
        active: usize,
        /// Threads of the group.
        threads: usize,
    },
    /// A subgroup operation that not all threads of the subgroup reach together.
    DivergentSubgroup,
    /// A subgroup operation that a target without subgroups, or a workgroup that is no multiple of them, cannot do.
    NoSubgroup,
    /// A shuffle from a lane that is not there.
    NoLane(u32),
    /// A loop whose step is not positive.
    Executed(i128),
    /// A workgroup that executed more statements than allowed.
    Endless(u64),
    /// Something the interpreter has no meaning for.
    Meaningless(String),
    /// A program that is not valid, and why.
    Invalid(String),
    /// Arguments that do not fit the program.
    Launch(String),
}

impl Fault {
    pub(super) fn of_launch(program: &Program, cause: String) -> Fault {
        let kind = FaultKind::Launch(cause);
        Fault { program: program.name.clone(), statement: String::new(), group: [0; 3], thread: [0; 3], kind }
    }
}

impl Fault {
    pub(super) fn of_invalid(program: &Program, errors: &[Invalid]) -> Fault {
        let text = errors.iter().map(Invalid::to_string).collect::<Vec<_>>().join("\n");
        let kind = FaultKind::Invalid(text);
        Fault { program: program.name.clone(), statement: String::new(), group: [0; 3], thread: [0; 3], kind }
    }
}

impl FaultKind {
    pub(super) fn race(place: String, index: i128, other: Other) -> FaultKind {
        FaultKind::Race { place, index, other: (other.group, other.thread), other_wrote: other.wrote }
    }
}

impl fmt::Display for FaultKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FaultKind::OutOfBounds { place, index, len } => {
                write!(f, "{place}[{index}] is out of bounds: it has {len} elements\n help: mask the access, or pass a longer buffer")
            }
            FaultKind::Misaligned { place, index, of } => {
                write!(f, "{place}[{index}] is no multiple of {of}\n help: align the index, or load the elements one by one")
            }
            FaultKind::Race { place, index, other, other_wrote } => {
                let who = match other {
                    (Some(group), Some(thread)) => format!("thread {thread} of group {group}"),
                    (Some(group), None) => format!("several threads of group {group}"),
                    (None, _) => "threads of several groups".to_owned(),
                };
                let did = if *other_wrote { "write" } else { "read" };
                write!(
                    f,
                    "race on {place}[{index}]: {who} did {did} it, and no barrier lies between\n \
                     help: put a barrier between the accesses if one group makes both; otherwise let one thread do it, or use an atomic operation"
                )
            }
            FaultKind::Undefined { place, index } => {
                write!(f, "{place}[{index}] is read before it is written\n help: store to it first")
            }
            FaultKind::DivergentBarrier { active, threads } => write!(
                f,
                "{active} of {threads} threads reach the barrier\n help: hoist the barrier out of the branch or loop and mask the accesses instead"
            ),
            FaultKind::DivergentSubgroup => write!(
                f,
                "not all threads of the subgroup reach the operation\n help: hoist it out of the branch or loop and select what idle threads contribute"
            ),
            FaultKind::NoSubgroup => {
                write!(f, "there are no whole subgroups\n help: use shared memory, or threads in multiples of the target's subgroup")
            }
            FaultKind::NoLane(lane) => write!(f, "lane {lane} does not exist in the subgroup\n help: stay below the subgroup's size"),
            FaultKind::Executed(step) => write!(f, "the loop's step is {step}\n help: steps are greater than 0"),
            FaultKind::Endless(steps) => write!(f, "the group did not end within {steps} statements\n help: check the loops' conditions"),
            FaultKind::Invalid(errors) => write!(f, "it is not valid\n{errors}"),
            FaultKind::Meaningless(cause) => write!(f, "{cause}"),
            FaultKind::Launch(cause) => write!(f, "{cause}\n help: pass one argument of the right kind per parameter"),
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Fault { program, statement, group, thread, kind } = self;
        if statement.is_empty() {
            return write!(f, "kernel {program}: {kind}");
        }
        let show = |[x, y, z]: [u32; 3]| format!("{x},{y},{z}");
        write!(f, "kernel {program}, group {}, thread {}: `{statement}`: {kind}", show(*group), show(*thread))
    }
}

impl std::error::Error for Fault {}
