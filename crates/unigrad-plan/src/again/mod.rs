//! Less memory for more work: what a plan keeps from its forward part for its backward part is dropped, and made again when it is needed.
//!
//! In: launches in order, before anything has a place, and how many bytes the arena may have. Out: launches among which some run again, so that the
//! arena stays within the limit; or the smallest arena that was found, where it cannot.
//!
//! Where wide rows are made by chunks ([`crate::chunks`]), these launches are among those that come in.
//!
//! **The design.** The unit is a launch as it was lowered, not an op of the graph. What runs again is the same kernel, with the same scalars (and so the
//! same random numbers), on the same values, so gradients are those without a limit, bit for bit, and nothing that was fused changes
//! (but where a driver's compiler contracts a product and a sum by what stands around them, as WGSL allows: a slice may differ in the last bit). Beside whole
//! launches there are *slices* (`slice`): one result of a region by its own instructions, from the other results that are in memory; so a norm is made
//! again from its input and its statistics, and GELU from its argument.
//!
//! `recipes` says how each value can be made, what that costs, and until when: a recipe reads what is in memory, and what an optimizer overwrites in
//! place, or what no recipe makes, is there only until its own last use. `walk` goes through the launches once, as they run. Where what is alive would
//! be more than the budget, it drops what costs least per byte to make again (elementwise results first, then norms, then products and attention; a chain
//! of dropped values costs its sum), and of that rather what is needed late. What a launch needs and is not there is made right before it. An arena has
//! gaps, so a budget is tried with the arena that it gives, and made smaller until the arena fits.
//!
//! Such walks are known from dynamic rematerialization (Kirisame et al., arXiv:2006.09616: cost, size and how long ago it was used, decided as a program
//! runs); here a plan is known, so it is the next use that counts. PyTorch's partitioner finds a minimal cut between forward and backward instead, by op,
//! before it fuses (`min_cut_rematerialization_partition`), and XLA's pass replaces uses one by one (`HloRematerialization`).
//!
//! Always: linear in launches but for a logarithm: a chain is looked at up to a length, a budget is tried a few times, and there are at most a few runs
//! again for each launch. A launch that checks an index, scatters, or is a user's kernel runs once. Never: touches a plan whose arena is within the limit.
//! Not known here: whether a vendor's library does a region (a norm) in another order of its own; none of the drivers' does.

mod recipes;
mod slice;
#[cfg(test)]
mod tests;
mod walk;

use crate::ir::{Id, Ir};
use crate::lower::Launch;
use crate::memory::Layout;
use recipes::Recipes;

/// How often a budget is made smaller.
const TRIES: usize = 12;

/// Launches among which some run again.
pub(crate) struct Spared {
    pub(crate) launches: Vec<Launch>,
    pub(crate) layout: Layout,
    /// How many launches there are more.
    pub(crate) again: usize,
}

/// What a plan asks for.
pub(crate) struct Wanted<'a> {
    pub(crate) outputs: &'a [Id],
    /// As the launches are: for every output, the input whose memory it takes over.
    pub(crate) donated: &'a [Option<u32>],
    /// Most bytes of the arena.
    pub(crate) limit: usize,
    /// Whether a library may do a product with what follows it, in its own words.
    pub(crate) library: bool,
}

/// Launches whose arena is within the limit, or smaller than it was; `None` if there are none. Nodes for what is made again are added to the graph.
pub(crate) fn within(
    ir: &mut Ir,
    launches: &[Launch],
    wanted: &Wanted<'_>,
    before: usize,
    assign: impl Fn(&Ir, &[Launch]) -> Result<Layout, String>,
) -> Result<Option<Spared>, String> {
    let recipes = Recipes::of(ir, launches, wanted)?;
    let n_nodes = ir.nodes.len();
    // Too little to walk within, and the next to try.
    let (mut least, mut budget) = (0, wanted.limit);
    let mut best: Option<(Spared, Vec<Id>)> = None;
    for _ in 0..TRIES {
        let Some(walked) = walk::walk(&recipes, launches, n_nodes, budget) else {
            least = budget;
            budget = budget + (best.as_ref().map_or(before, |(best, _)| best.layout.arena).saturating_sub(budget)) / 2;
            continue;
        };
        add(ir, &walked.clones);
        let layout = assign(ir, &walked.launches);
        ir.nodes.truncate(n_nodes);
        let layout = layout?;
        let arena = layout.arena;
        if arena < best.as_ref().map_or(before, |(best, _)| best.layout.arena) {
            let spared = Spared { again: walked.launches.len() - launches.len(), launches: walked.launches, layout };
            best = Some((spared, walked.clones));
        }
        if arena <= wanted.limit {
            break;
        }
        let smaller = (budget as f64 * (wanted.limit as f64 / arena as f64).clamp(0.8, 0.98)) as usize;
        budget = smaller.max(least + (budget - least) / 2);
    }
    Ok(best.map(|(spared, clones)| {
        add(ir, &clones);
        spared
    }))
}

/// Adds nodes that are like others and stand for what is made again. They are not looked up by content.
fn add(ir: &mut Ir, clones: &[Id]) {
    for id in clones {
        let node = ir.node(*id).clone();
        ir.nodes.push(node);
    }
}
