//! Rows by chunks: what is wide between a product and the narrow results made of it is made, and used up, for some rows at a time.
//!
//! In: the compiler's graph before fusion, and how many chunks. Out: a graph of the same values in which such segments are written out chunk by chunk; or
//! nothing, if there is none.
//!
//! A head with cross-entropy is this case: `x [n, k] · w [k, v]`, the loss of each row, its gradient `[n, v]`, and of that the gradient of `x` (each row
//! from its row), of `w` and of a bias (sums over all rows). Logits and their gradient are the largest values of such a step, and no other row needs them.
//! Nothing here knows of losses: `segment` follows what depends on a product, by a rule for each op (`rows`), and leaves alone what it has no rule for.
//! `apply` writes the graph: each chunk's slices, products, rows and gradients, its rows of narrow results, which are joined, and its sums, which are added
//! to those before.
//!
//! So are fused heads of Liger Kernel made, and PyTorch's chunked ones (`torch.nn.functional.linear_cross_entropy`), as ops of their own. Here the forward
//! and the backward part of a chunk are known together, so nothing is computed twice, and any loss of rows will do.
//!
//! Always: a row's values are those of the graph as it was, by the same operations (a product of fewer rows may be divided otherwise by a kernel). Sums over
//! rows are added up in another order: a chunk's in one go, then chunk by chunk in the dtype that halves are computed in, `F32` (not rounded to
//! halves in between: the running sum is the residual of a chunk's product), rounded after the last one. So this is done only where a limit asks for it. Linear
//! in nodes: a few products are looked at, a segment has a bounded number of nodes, and each is there once for each chunk, of which there are a few.
//! Never: recomputes a value, but for what is cheap, of no row of the product and wide; touches a node that a segment does not need.

mod apply;
mod rows;
mod segment;
#[cfg(test)]
mod tests;

use crate::ir::{Id, Ir};
use rustc_hash::FxHashMap;
use std::ops::Range;

/// Chunks that are tried, one after the other.
pub(crate) const CHUNKS: [usize; 4] = [2, 4, 8, 16];
/// Rows of a chunk are a multiple of this, but for the last chunk's: tiles of products are whole, and parts of what lies in memory begin where vectors do.
pub(crate) const GRAIN: usize = 16;
/// Segments of one graph, and products that are looked at for them.
const MAX_SEGMENTS: usize = 4;
const MAX_LOOKS: usize = 8;

/// What is kept apart for the sake of chunks: else the sums of all of them, or what comes after the last one, would share a kernel, and keep alive what
/// each chunk reads.
#[derive(Clone, Debug, Default)]
pub(crate) struct Apart {
    /// Nodes that are stored.
    pub(crate) stored: Vec<Id>,
    /// Products, with the sum that each may add itself to: nothing else shares their kernels.
    pub(crate) products: Vec<(Id, Id)>,
    /// The chunk that a node belongs to: two chunks share no kernel.
    pub(crate) chunk_of: FxHashMap<Id, u32>,
}

impl Apart {
    /// Whether nodes of several chunks are among these.
    pub(crate) fn are_of_several(&self, mut nodes: impl Iterator<Item = Id>) -> bool {
        let mut first = None;
        !self.chunk_of.is_empty() && nodes.any(|id| self.chunk_of.get(&id).is_some_and(|chunk| *first.get_or_insert(*chunk) != *chunk))
    }

    /// The same with other numbers for nodes, but for nodes that are gone.
    fn renamed(&self, new_of: impl Fn(Id) -> Option<Id>) -> Apart {
        Apart {
            stored: self.stored.iter().filter_map(|id| new_of(*id)).collect(),
            products: self.products.iter().filter_map(|(product, sum)| Some((new_of(*product)?, new_of(*sum)?))).collect(),
            chunk_of: self.chunk_of.iter().filter_map(|(id, chunk)| Some((new_of(*id)?, *chunk))).collect(),
        }
    }
}

/// A graph by chunks.
pub(crate) struct Chunked {
    pub(crate) ir: Ir,
    pub(crate) outputs: Vec<Id>,
    pub(crate) apart: Apart,
    /// The chunks of the segment that has most.
    pub(crate) n_chunks: usize,
}

/// At most `n` chunks of so many rows.
fn divided(n_rows: usize, n: usize) -> Vec<Range<usize>> {
    let each = n_rows.div_ceil(n).next_multiple_of(GRAIN).max(GRAIN);
    (0..n_rows).step_by(each).map(|start| start..n_rows.min(start + each)).collect()
}

/// Writes the largest segments out by at most `n` chunks each; `None` if there is no segment of so many rows.
pub(crate) fn rewrite(ir: &Ir, outputs: &[Id], n: usize) -> Result<Option<Chunked>, String> {
    let products = segment::products(ir);
    let mut chunked: Option<Chunked> = None;
    // By node of the graph as it was.
    let mut now: Vec<Option<Id>> = (0..ir.nodes.len() as Id).map(Some).collect();
    let (mut n_segments, mut n_written, mut n_chunks) = (0, 0, 0);
    let (mut users, mut is_output) = (Vec::new(), Vec::new());
    for product in products.into_iter().take(MAX_LOOKS) {
        let Some(product) = now[product as usize] else { continue };
        let (at, ends) = chunked.as_ref().map_or((ir, outputs), |chunked| (&chunked.ir, chunked.outputs.as_slice()));
        if users.is_empty() {
            users = at.users();
            is_output = vec![false; at.nodes.len()];
            ends.iter().for_each(|id| is_output[*id as usize] = true);
        }
        let Some(segment) = segment::find(at, &users, &is_output, product) else { continue };
        let parts = divided(segment.n_rows, n);
        if parts.len() < 2 {
            continue;
        }
        let applied = apply::apply(at, &is_output, &users, &segment, &parts, n_written)?;
        n_written += parts.len() as u32;
        let new_of = |id: Id| applied.renamed[id as usize];
        let outputs = ends.iter().map(|id| new_of(*id).ok_or_else(|| at.impossible(*id, "an output is computed by chunks alone")));
        let outputs = outputs.collect::<Result<Vec<Id>, String>>()?;
        now.iter_mut().for_each(|id| *id = id.and_then(new_of));
        let before = chunked.as_ref();
        let mut apart = before.map_or_else(Apart::default, |before| before.apart.renamed(new_of));
        apart.stored.extend(applied.apart.stored);
        apart.products.extend(applied.apart.products);
        apart.chunk_of.extend(applied.apart.chunk_of);
        n_chunks = parts.len().max(n_chunks);
        chunked = Some(Chunked { ir: applied.ir, outputs, apart, n_chunks });
        users.clear();
        n_segments += 1;
        if n_segments == MAX_SEGMENTS {
            break;
        }
    }
    Ok(chunked)
}
