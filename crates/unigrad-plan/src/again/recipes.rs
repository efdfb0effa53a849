//! Recipes: how each value of a plan can be made again, what that costs, and until when.
//!
//! In: launches in order. Out: for each value in the arena the launches that use it, and those that make it, whole or as a slice.
//! Always: a recipe writes what only its launch writes, and reads nothing that it writes. Never: decides what is dropped.

use super::{Wanted, slice};
use crate::group::{reads, writes};
use crate::ir::{Id, Ir, IrOp};
use crate::lower::Launch;
use crate::memory::{ALIGN, in_step};
use rustc_hash::FxHashSet;
use smallvec::SmallVec;
use unigrad_kernel::Kernel;

/// Values smaller than this part of a limit are kept.
const SMALL_PART: usize = 4096;
/// Floating-point operations of a product that take as long as to move a byte; processors and GPUs have between some and hundreds.
const OPERATIONS_A_BYTE: f64 = 16.0;

/// At any time.
const ALWAYS: usize = usize::MAX;
/// A way to make values: a launch of the plan, or a part of one.
pub(super) struct Recipe {
    pub(super) launch: Launch,
    /// What it reads of the arena, each once.
    pub(super) reads: SmallVec<[Id; 4]>,
    pub(super) writes: SmallVec<[Id; 4]>,
    /// In bytes moved.
    pub(super) cost: f64,
    /// The last launch before which it can run.
    until: usize,
}

/// What is known of a value.
#[derive(Clone, Default)]
pub(super) struct Known {
    /// In the arena; 0 for all else.
    pub(super) bytes: usize,
    /// The launches that read it, ascending.
    pub(super) uses: SmallVec<[u32; 4]>,
    pub(super) last_use: usize,
    /// The part of a launch that makes it alone, and the whole launch.
    pub(super) recipes: SmallVec<[u32; 2]>,
    /// The last launch before which it can be made again.
    pub(super) until: usize,
    /// Whether it is so large that it may be dropped.
    pub(super) is_large: bool,
}

pub(super) struct Recipes {
    pub(super) all: Vec<Recipe>,
    /// By node.
    pub(super) known: Vec<Known>,
    /// By launch: bytes of what it reads for the last time that its results take over.
    pub(super) inherited: Vec<usize>,
}

impl Recipes {
    pub(super) fn of(ir: &Ir, launches: &[Launch], wanted: &Wanted<'_>) -> Result<Recipes, String> {
        let mut known: Vec<Known> = vec![Known::default(); ir.nodes.len()];
        let least = (wanted.limit / SMALL_PART).max(ALIGN);
        let outputs: FxHashSet<Id> = wanted.outputs.iter().copied().collect();
        let lent: FxHashSet<u32> = wanted.donated.iter().flatten().copied().collect();
        let mut writers = vec![0u32; ir.nodes.len()];
        for (at, launch) in launches.iter().enumerate() {
            for id in writes(launch) {
                writers[id as usize] += 1;
                if !outputs.contains(&id) {
                    known[id as usize].bytes = ir.bytes(id)?.div_ceil(ALIGN) * ALIGN;
                    known[id as usize].is_large = known[id as usize].bytes >= least;
                }
                known[id as usize].last_use = at;
            }
            for id in reads(launch) {
                let known = &mut known[id as usize];
                known.last_use = at;
                if known.uses.last() != Some(&(at as u32)) {
                    known.uses.push(at as u32);
                }
            }
        }
        let mut recipes = Recipes { all: Vec::new(), known, inherited: Vec::with_capacity(launches.len()) };
        for (at, launch) in launches.iter().enumerate() {
            recipes.inherited.push(recipes.inherited_at(launch, at));
            if !may_repeat(launch) {
                continue;
            }
            let made: FxHashSet<Id> = writes(launch).collect();
            if made.iter().all(|id| writers[*id as usize] == 1) && !reads(launch).any(|id| made.contains(&id)) {
                recipes.add(ir, launch, wanted, &lent);
            }
        }
        Ok(recipes)
    }

    /// Bytes of inputs whose place the results take, as [`crate::memory`] will find.
    fn inherited_at(&self, launch: &Launch, at: usize) -> usize {
        let args = launch.kernel.args();
        let bytes = |arg: usize| self.known[launch.args[arg] as usize].bytes;
        let mut lent: SmallVec<[usize; 4]> = SmallVec::new();
        for write in (0..args.len()).filter(|arg| args[*arg].write && bytes(*arg) > 0) {
            let dies = |read: &usize| {
                let id = launch.args[*read];
                !args[*read].write
                    && self.known[id as usize].last_use == at
                    && launch.args.iter().filter(|other| **other == id).count() == 1
            };
            let mut lenders = (0..args.len()).filter(dies).filter(|read| bytes(*read) == bytes(write) && !lent.contains(read));
            // Groups have very many arguments, and only their own instance's lend.
            let lender = if matches!(launch.kernel, Kernel::Grouped(_) | Kernel::Joined(_) | Kernel::Crossed(_)) {
                None
            } else {
                lenders.find(|read| in_step(&launch.kernel, *read, write))
            };
            lent.extend(lender);
        }
        lent.into_iter().map(bytes).sum()
    }

    /// Adds a launch, and the slices of it.
    fn add(&mut self, ir: &Ir, launch: &Launch, wanted: &Wanted<'_>, lent: &FxHashSet<u32>) {
        let made: SmallVec<[Id; 4]> = writes(launch).filter(|id| self.known[*id as usize].bytes > 0).collect();
        if made.is_empty() {
            return;
        }
        let (region, first) = match &launch.kernel {
            Kernel::Region(region) => (Some(region), 0),
            // What a library does with a product's sums, it may do by another formula.
            Kernel::Contract(contract) if !wanted.library => (contract.epilogue.as_deref(), 2),
            Kernel::Contract(_) | Kernel::Attention(_) | Kernel::MaxPool(_) | Kernel::Scan(_) => (None, 0),
            Kernel::Grouped(_) | Kernel::AttentionGrad(_) | Kernel::Scatter(_) | Kernel::ArgSort(_) => (None, 0),
            Kernel::Joined(_) | Kernel::Crossed(_) | Kernel::Summed(_) | Kernel::TopK(_) | Kernel::Custom(_) => (None, 0),
        };
        for (arg, id) in region.iter().flat_map(|region| region.args.iter().enumerate()).filter_map(|(arg, info)| {
            let id = *launch.args.get(first + arg)?;
            (info.write && made.contains(&id)).then_some((arg, id))
        }) {
            let Some(slice) = region.and_then(|region| slice::of(region, arg as u32)) else { continue };
            let args = slice.args.iter().map(|arg| launch.args[first + arg]).collect();
            let launch = Launch { kernel: Kernel::Region(slice.region), args, ..launch.clone() };
            self.push(ir, launch, SmallVec::from_slice(&[id]), lent);
        }
        self.push(ir, launch.clone(), made, lent);
    }

    fn push(&mut self, ir: &Ir, launch: Launch, made: SmallVec<[Id; 4]>, lent: &FxHashSet<u32>) {
        let mut of_arena: SmallVec<[Id; 4]> = SmallVec::new();
        let mut until = ALWAYS;
        for id in reads(&launch) {
            let known = &self.known[id as usize];
            until = until.min(match ir.node(id).op {
                // An optimizer writes over it at its last use, and not before.
                IrOp::External(input) if lent.contains(&input) => known.last_use,
                IrOp::External(_) => ALWAYS,
                // What is no part of the arena is an output, and stays.
                IrOp::Scalar(_) | IrOp::Op(_) | IrOp::Barrier(_) | IrOp::Dense if known.bytes == 0 => ALWAYS,
                // Nothing is dropped that is used after the last moment at which it can be made again.
                IrOp::Scalar(_) | IrOp::Op(_) | IrOp::Barrier(_) | IrOp::Dense => known.until.max(known.last_use),
            });
            if known.bytes > 0 && !of_arena.contains(&id) {
                of_arena.push(id);
            }
        }
        let recipe = self.all.len() as u32;
        let writes = writes(&launch).collect();
        for id in &made {
            let known = &mut self.known[*id as usize];
            known.recipes.push(recipe);
            known.until = if known.recipes.len() == 1 { until } else { known.until.max(until) };
        }
        let cost = cost(&launch);
        let name = format!("{} again", launch.name);
        self.all.push(Recipe { launch: Launch { name, ..launch }, reads: of_arena, writes, cost, until });
    }

    /// The recipe for a value before a launch: by a part alone where all that it reads `is_there`; where it is not, but the whole launch has what it reads, the whole.
    pub(super) fn for_value(&self, id: Id, at: usize, is_there: impl Fn(Id) -> bool) -> Option<u32> {
        let recipes = self.known[id as usize].recipes.iter().filter(|recipe| self.all[**recipe as usize].until >= at);
        let has_all = |recipe: &&u32| self.all[**recipe as usize].reads.iter().all(|read| is_there(*read));
        recipes.clone().find(has_all).or_else(|| recipes.clone().next()).copied()
    }
}

/// Whether a launch may run twice: it gives the same bits each time, and tells of no index.
fn may_repeat(launch: &Launch) -> bool {
    let may = match &launch.kernel {
        Kernel::Region(_) | Kernel::Contract(_) => {
            launch.kernel.flows().iter().all(|flow| flow.checks == 0 || is_plain_product(&launch.kernel))
        }
        Kernel::Attention(_) | Kernel::MaxPool(_) | Kernel::Scan(_) => true,
        Kernel::Grouped(_) | Kernel::Joined(_) | Kernel::Crossed(_) | Kernel::AttentionGrad(_) | Kernel::Scatter(_) => false,
        Kernel::Summed(_) | Kernel::ArgSort(_) | Kernel::TopK(_) | Kernel::Custom(_) => false,
    };
    may && !launch.is_copy
}

/// A product without anything after it, which has no index to check.
fn is_plain_product(kernel: &Kernel) -> bool {
    matches!(kernel, Kernel::Contract(contract) if contract.epilogue.is_none())
}

/// What a launch takes, in bytes moved.
fn cost(launch: &Launch) -> f64 {
    let (moved, done): (f64, f64) = match &launch.kernel {
        Kernel::Region(region) => {
            let moved = (0..region.args.len()).map(|arg| region.touched_bytes(arg) as f64).sum();
            (moved, 2.0 * region.insts.len() as f64 * region.axes.iter().map(|size| *size as f64).product::<f64>())
        }
        kernel @ (Kernel::Grouped(_)
        | Kernel::Joined(_)
        | Kernel::Crossed(_)
        | Kernel::Contract(_)
        | Kernel::Summed(_)
        | Kernel::Attention(_)
        | Kernel::AttentionGrad(_)
        | Kernel::Scan(_)
        | Kernel::Scatter(_)
        | Kernel::ArgSort(_)
        | Kernel::TopK(_)
        | Kernel::MaxPool(_)
        | Kernel::Custom(_)) => (kernel.args().iter().map(|arg| arg.bytes() as f64).sum(), kernel.flops()),
    };
    moved + done / OPERATIONS_A_BYTE
}
