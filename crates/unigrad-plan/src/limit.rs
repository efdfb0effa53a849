//! The limit: what is done where a plan takes more memory than there may be.
//!
//! In: launches without places. Out: launches, the same or others that give the same outputs, with places.
//! The order: wide rows by chunks, the fewest that suffice ([`crate::chunks`]), then launches that run again ([`crate::again`]) for what is left.
//! Always: a plan within its limit, or without one, is left as it is; a graph is planned again once for each number of chunks at most.
//! Never: a larger arena than without.

use crate::again;
use crate::chunks::{self, CHUNKS, Chunked};
use crate::ir::Ir;
use crate::lower::Launch;
use crate::memory::{self, Layout};
use crate::plan::{Options, Unplaced, launches_of};

/// More chunks are worth it that make an arena smaller by more than this part of it.
const WORTH_MORE_CHUNKS: usize = 64;

/// A plan with a place for everything.
pub(crate) struct Placed {
    pub(crate) unplaced: Unplaced,
    pub(crate) layout: Layout,
    /// See [`crate::Plan::again`].
    pub(crate) again: usize,
    /// See [`crate::Plan::chunks`].
    pub(crate) chunks: usize,
}

impl Placed {
    fn new(unplaced: Unplaced, donatable: &[bool], options: Options, chunks: usize) -> Result<Placed, String> {
        let layout = assign(&unplaced.ir, &unplaced.launches, &unplaced, donatable, options)?;
        Ok(Placed { unplaced, layout, again: 0, chunks })
    }

    /// The same plan with launches that run again, if that makes the arena smaller.
    fn again_within(self, limit: usize, donatable: &[bool], options: Options) -> Result<Placed, String> {
        let Placed { mut unplaced, mut layout, again: mut n_again, chunks } = self;
        let mut ir = std::mem::take(&mut unplaced.ir);
        let wanted = again::Wanted { outputs: &unplaced.outputs, donated: &layout.donated, limit, library: options.library.is_some() };
        let place = |ir: &Ir, launches: &[Launch]| assign(ir, launches, &unplaced, donatable, options);
        if let Some(spared) = again::within(&mut ir, &unplaced.launches, &wanted, layout.arena, place)? {
            (unplaced.launches, layout, n_again) = (spared.launches, spared.layout, spared.again);
        }
        unplaced.ir = ir;
        Ok(Placed { unplaced, layout, again: n_again, chunks })
    }
}

/// Places for the launches of a plan, or for others that give its outputs.
fn assign(ir: &Ir, launches: &[Launch], of: &Unplaced, donatable: &[bool], options: Options) -> Result<Layout, String> {
    let apart = options.library.is_some_and(|library| library.words.gelu_tanh_slope);
    memory::assign(ir, launches, &of.outputs, donatable, &of.replaced, (options.errors_at_once, apart))
}

/// Gives everything a place in memory. Where that takes more than there may be, wide rows are made by chunks, the fewest that suffice; and where that is
/// not enough, some launches run again.
pub(crate) fn laid_out(unplaced: Unplaced, donatable: &[bool], options: Options) -> Result<Placed, String> {
    let placed = Placed::new(unplaced, donatable, options, 0)?;
    let Some(limit) = options.arena.filter(|limit| placed.layout.arena > *limit) else { return Ok(placed) };
    // By more and more chunks, as long as there are rows for more.
    let mut tried: Vec<Placed> = Vec::new();
    for n in CHUNKS.into_iter().filter(|_| options.fusion) {
        let Unplaced { ir, outputs, replaced, checks, .. } = &placed.unplaced;
        let Some(Chunked { ir, outputs, apart, n_chunks }) = chunks::rewrite(ir, outputs, n)? else { break };
        if tried.last().is_some_and(|last| n_chunks <= last.chunks) {
            break;
        }
        let launches = launches_of(&ir, &outputs, &apart, options)?;
        let chunked = Unplaced { ir, outputs, replaced: replaced.clone(), checks: checks.clone(), launches };
        let chunked = Placed::new(chunked, donatable, options, n_chunks)?;
        if chunked.layout.arena <= limit {
            return Ok(chunked);
        }
        tried.push(chunked);
    }
    let most = tried.pop();
    let worth = |arena: usize| arena - arena / WORTH_MORE_CHUNKS;
    let best = tried.into_iter().fold(placed, |best, next| if next.layout.arena < worth(best.layout.arena) { next } else { best });
    let Some(most) = most else { return best.again_within(limit, donatable, options) };
    if most.layout.arena < worth(best.layout.arena) {
        return most.again_within(limit, donatable, options);
    }
    let within = best.again_within(limit, donatable, options)?;
    if within.layout.arena <= limit {
        return Ok(within);
    }
    // Once other values are gone, it may be the wide rows that are in the way.
    let most = most.again_within(limit, donatable, options)?;
    Ok(if most.layout.arena < worth(within.layout.arena) { most } else { within })
}
