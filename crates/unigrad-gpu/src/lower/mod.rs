//! From a kernel as data to IR programs and their launches.
//!
//! In: a [`Kernel`], a [`Target`]. Out: a [`Lowered`]: steps in order, each a program with its grid and what to pass.
//! Always: the result of every step is a function of the kernel alone, not of timing: fixed reduction trees, bit-equal reruns.
//! Never: compiles or runs anything.
//!
//! One file per family; `Signature` keeps a program's parameters and what is passed for them together.

mod attention;
mod contract;
mod distribute;
mod joined;
mod max_pool;
mod native;
mod norms;
mod philox;
mod recurrence;
mod region;
mod running;
mod scan;
mod scatter;
mod signature;
mod sort;
mod written;

pub(crate) use contract::{ConvolutionPlaces, Factor, Places, convolutions, library, sums_operands};
pub(crate) use norms::{NormPlaces, norm};
pub(crate) use recurrence::{Moving, Recurrence, Repeated, most_rows as most_recurrent_rows, recurrence};
pub(crate) use signature::{IndexError, ScalarTable, Signature};

use unigrad_ir::{Program, Target};
use unigrad_kernel::{Channels, Kernel};

/// Half of a 64-bit word, or all of it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Part {
    /// The raw word, read as the parameter's dtype.
    Whole,
    /// Its lower 32 bits.
    Low,
    /// Its upper 32 bits.
    High,
}

impl Part {
    /// This part of a raw word.
    pub(crate) fn of(self, raw: u64) -> u64 {
        match self {
            Part::Whole => raw,
            Part::Low => raw & 0xffff_ffff,
            Part::High => raw >> 32,
        }
    }
}

/// A word of a parameter block.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum BlockWord {
    /// The lower ([`Part::Whole`], [`Part::Low`]) or upper 32 bits of the kernel's run-time scalar at this position.
    Scalar(usize, Part),
    /// See [`ProgramArg::StatusSlot`].
    StatusSlot,
}

impl BlockWord {
    /// What it is in a launch with these scalars and this slot; `None` if there are fewer scalars.
    pub fn of(self, scalars: &[u64], slot: u32) -> Option<u32> {
        match self {
            BlockWord::Scalar(at, part) => scalars.get(at).map(|raw| part.of(*raw) as u32),
            BlockWord::StatusSlot => Some(slot),
        }
    }
}

/// What a step passes for a parameter.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum ProgramArg {
    /// The kernel's buffer argument at this position.
    Arg(usize),
    /// The scratch buffer at this position of [`Lowered::scratch`].
    Scratch(usize),
    /// The device's status buffer (`U32`); see `IndexError`.
    Status,
    /// Which words of the status buffer are this launch's (`U32`); see `IndexError`.
    StatusSlot,
    /// The kernel's run-time scalar at this position.
    Scalar(usize, Part),
    /// A number that lowering decided, so that one program serves many sizes.
    Word(u64),
    /// A buffer of these words (`U32`), which each run brings.
    Block(Vec<BlockWord>),
    /// The kernel's buffer arguments at these positions, as a table.
    Table(Vec<usize>),
    /// The kernel's run-time scalars at these positions, as a table.
    ScalarTable(Vec<usize>),
    /// Numbers that lowering decided, as a table.
    WordTable(Vec<u64>),
}

/// One launch of one program.
#[derive(Clone, PartialEq, Debug)]
pub struct ProgramLaunch {
    /// What to run.
    pub program: Program,
    /// Workgroups per axis; a step with an extent of 0 is left out.
    pub grid: [u32; 3],
    /// One per parameter.
    pub args: Vec<ProgramArg>,
}

/// A kernel as launches.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Lowered {
    /// In order; each sees what those before wrote.
    pub steps: Vec<ProgramLaunch>,
    /// Bytes of the scratch buffers that the steps share; undefined contents at first.
    pub scratch: Vec<usize>,
}

impl Lowered {
    /// These steps, then those of a kernel whose arguments and scalars come after the first `n_args` and `n_scalars` of the launch.
    fn then(self, next: Lowered, n_args: usize, n_scalars: usize) -> Lowered {
        self.then_at(next, |at| at + n_args, n_scalars)
    }

    /// These steps, then those of a kernel whose arguments are where `place` says, and whose scalars come after the first `n_scalars` of the launch.
    fn then_at(mut self, next: Lowered, place: impl Fn(usize) -> usize, n_scalars: usize) -> Lowered {
        let n_scratch = self.scratch.len();
        let moved = |arg: ProgramArg| match arg {
            ProgramArg::Arg(at) => ProgramArg::Arg(place(at)),
            ProgramArg::Scratch(at) => ProgramArg::Scratch(at + n_scratch),
            ProgramArg::Scalar(at, part) => ProgramArg::Scalar(at + n_scalars, part),
            ProgramArg::Block(mut words) => {
                words.iter_mut().for_each(|word| match word {
                    BlockWord::Scalar(at, _) => *at += n_scalars,
                    BlockWord::StatusSlot => {}
                });
                ProgramArg::Block(words)
            }
            ProgramArg::Table(at) => ProgramArg::Table(at.into_iter().map(&place).collect()),
            ProgramArg::ScalarTable(at) => ProgramArg::ScalarTable(at.into_iter().map(|at| at + n_scalars).collect()),
            same @ (ProgramArg::Status | ProgramArg::StatusSlot | ProgramArg::Word(_) | ProgramArg::WordTable(_)) => same,
        };
        self.steps.extend(next.steps.into_iter().map(|step| ProgramLaunch { args: step.args.into_iter().map(moved).collect(), ..step }));
        self.scratch.extend(next.scratch);
        self
    }
}

/// Why a kernel cannot run on a target.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{cause}\n help: {help}")]
pub struct Unsupported {
    /// What the target lacks.
    pub cause: String,
    /// What the user can do.
    pub help: String,
}

/// Lowers a kernel.
pub fn lower(kernel: &Kernel, target: &Target) -> Result<Lowered, Unsupported> {
    // The block is a buffer more than a kernel has.
    let without_block = target.scalars_in_block.then(|| Target { max_buffers: target.max_buffers.saturating_sub(1), ..target.clone() });
    checked(kernel, without_block.as_ref().unwrap_or(target))
}

/// Lowers a kernel by its kind; nothing that it writes is forgotten.
fn checked(kernel: &Kernel, target: &Target) -> Result<Lowered, Unsupported> {
    let lowered = by_kind(kernel, target)?;
    let is_nothing = match kernel {
        Kernel::Region(region) => region.rows() == 0,
        // Its parts were checked.
        Kernel::Joined(_) => true,
        Kernel::Crossed(crossed) => crossed.rows.axes.contains(&0),
        // Of no elements, though in buffers of some.
        Kernel::Attention(kernel) => lowered.steps.is_empty() || attention::lacks_a_size(kernel),
        Kernel::AttentionGrad(kernel) => lowered.steps.is_empty() || attention::lacks_a_size(&kernel.forward),
        Kernel::Scan(_) | Kernel::Scatter(_) | Kernel::ArgSort(_) | Kernel::TopK(_) | Kernel::MaxPool(_) => lowered.steps.is_empty(),
        Kernel::Summed(summed) => summed.sums.region.rows() == 0,
        Kernel::Grouped(_) | Kernel::Contract(_) | Kernel::Custom(_) => false,
    };
    if !is_nothing {
        written::check(kernel.kind(), &kernel.args(), &lowered)?;
    }
    Ok(lowered)
}

fn by_kind(kernel: &Kernel, target: &Target) -> Result<Lowered, Unsupported> {
    match kernel {
        Kernel::Region(region) => region::region(region, target),
        Kernel::Grouped(grouped) => region::grouped(grouped, target),
        Kernel::Joined(joined) => joined::lower(joined, target),
        Kernel::Crossed(crossed) => region::crossed(crossed, target),
        Kernel::Attention(kernel) => attention::lower(kernel, target),
        Kernel::AttentionGrad(kernel) => attention::lower_grad(kernel, target),
        Kernel::Scan(kernel) => scan::lower(kernel, target),
        Kernel::Scatter(kernel) => scatter::lower(kernel, target),
        Kernel::ArgSort(kernel) => sort::argsort(kernel, target),
        Kernel::TopK(kernel) => sort::topk(kernel, target),
        Kernel::MaxPool(kernel) => max_pool::lower(kernel, target),
        Kernel::Contract(contract) => contract::lower(contract, target),
        Kernel::Summed(summed) => contract::summed(summed, target),
        // Its program is the user's: the device compiles it as it is.
        Kernel::Custom(_) => Err(Unsupported {
            cause: "no lowering of custom kernels".to_owned(),
            help: "give it a text in the device's language".to_owned(),
        }),
    }
}

/// Where convolutions have their channels in memory: last, for halves, where loops copy their operands in runs of 16 bytes.
pub(crate) fn channels(target: &Target) -> Channels {
    if native::mma_sync::available(target) { Channels::LastOfHalves } else { Channels::First }
}
