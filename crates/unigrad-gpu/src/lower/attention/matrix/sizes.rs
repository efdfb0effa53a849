//! Which kernels are done by fragments, and in which blocks: everything to tune.

use super::super::division::BlockSizes;
use super::panel::PAD;
use super::product::Sums;
use unigrad_ir::{FragmentShape, Target};
use unigrad_kernel::Attention;
use unigrad_scalar::DType;

/// Rows (queries of one head, or of all heads that share keys) and keys from which a block of fragments pays: fewer are done by threads.
const FEWEST: usize = 16;
/// Features of queries or values from which padding them to fragments pays.
const FEWEST_FEATURES: usize = 8;
/// More features than any memory of a workgroup has room for.
const MOST_FEATURES: usize = 4096;
/// Elements of the sums that a thread keeps over all keys, at most: registers.
const SUMS_OF_THREAD: u32 = 64;

/// Blocks of a workgroup: rows, keys (backward: columns) of one turn, subgroups along rows and along columns.
///
/// The first that fits is taken, unless more than half of its rows would be idle. Many rows share a panel of keys, many keys share a barrier;
/// two by two subgroups load each fragment for two products.
const BLOCKS: [[u32; 4]; 6] = [[64, 64, 2, 2], [64, 32, 2, 2], [32, 64, 2, 2], [32, 32, 2, 2], [16, 64, 1, 4], [16, 32, 1, 2]];

/// How a workgroup divides its work.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::lower::attention) struct Sizes {
    pub(super) shape: FragmentShape,
    pub(super) subgroup: u32,
    /// Subgroups along rows and along columns.
    pub(super) warps: [u32; 2],
    pub(super) rows: u32,
    /// Keys of one turn; columns backward.
    pub(super) keys: u32,
    /// Features of queries and keys, of a range of values, padded.
    pub(super) qk: u32,
    pub(super) v: u32,
    /// Whether two take turns in one place in shared memory: forward keys and values, backward scores and their gradients.
    pub(super) takes_turns: bool,
}

/// The fragments for a dtype.
fn fragments(target: &Target, dtype: DType) -> Option<FragmentShape> {
    let divides = |size: u8| size > 0 && 16 % size == 0;
    let fits = |s: &&FragmentShape| s.input == dtype && s.sum == DType::F32 && [s.m, s.n, s.k].into_iter().all(divides);
    target.fragments.iter().find(fits).copied()
}

impl Sizes {
    /// The division of a forward pass with so many rows, if fragments suit.
    pub(in crate::lower::attention) fn forward(kernel: &Attention, rows: usize, target: &Target) -> Option<Sizes> {
        Sizes::first(kernel, rows, kernel.k_len, target, |sizes, unit| {
            // As many features as the sums have registers for, whole fragments for each subgroup.
            let most = SUMS_OF_THREAD * sizes.threads() / sizes.rows / unit * unit;
            sizes.qk = (kernel.qk_dim as u32).next_multiple_of(sizes.shape.k.max(8).into());
            sizes.v = (kernel.v_dim as u32).next_multiple_of(unit).min(most.max(unit));
            sizes.forward_bytes()
        })
    }

    /// The division of the pass for `dq`, or of that for `dk` and `dv`, if fragments suit.
    pub(in crate::lower::attention) fn backward(kernel: &Attention, by_key: bool, target: &Target) -> Option<Sizes> {
        let (rows, columns) = if by_key { (kernel.k_len, kernel.q_len) } else { (kernel.q_len, kernel.k_len) };
        Sizes::first(kernel, rows, columns, target, |sizes, unit| {
            sizes.qk = (kernel.qk_dim as u32).next_multiple_of(unit);
            sizes.v = (kernel.v_dim as u32).next_multiple_of(unit);
            let sums = sizes.rows * if by_key { sizes.qk + sizes.v } else { sizes.qk };
            if sums > SUMS_OF_THREAD * sizes.threads() { usize::MAX } else { sizes.backward_bytes(by_key) }
        })
    }

    /// The first of [`BLOCKS`] that suits and fits. `complete` gets the multiple that features of sums are padded to; it sets features and
    /// tells the bytes of shared memory.
    fn first(
        kernel: &Attention,
        rows: usize,
        columns: usize,
        target: &Target,
        complete: impl Fn(&mut Sizes, u32) -> usize,
    ) -> Option<Sizes> {
        let half = matches!(kernel.dtype, DType::F16 | DType::BF16);
        let many = rows.min(columns) >= FEWEST && kernel.qk_dim.min(kernel.v_dim) >= FEWEST_FEATURES;
        if !half || !many || kernel.qk_dim.max(kernel.v_dim) > MOST_FEATURES {
            return None;
        }
        let (shape, subgroup) = (fragments(target, kernel.dtype)?, target.subgroup?);
        let suits = |block: u32| block == 16 || rows > block as usize / 2;
        BLOCKS.into_iter().filter(|[block, ..]| suits(*block)).flat_map(|block| [(block, false), (block, true)]).find_map(
            |([rows, keys, down, across], takes_turns)| {
                let mut sizes = Sizes { shape, subgroup, warps: [down, across], rows, keys, qk: 0, v: 0, takes_turns };
                let bytes = complete(&mut sizes, across * u32::from(shape.n));
                (sizes.divides() && sizes.threads() <= target.max_threads && bytes <= target.shared_bytes).then_some(sizes)
            },
        )
    }

    /// Whether subgroups and threads have equal parts of the block.
    fn divides(&self) -> bool {
        let Sizes { shape, warps: [down, across], rows, keys, .. } = *self;
        rows.is_multiple_of(down * u32::from(shape.m))
            && keys.is_multiple_of(across * u32::from(shape.n))
            && keys.is_multiple_of(shape.k.into())
            && self.lanes() <= self.subgroup
            && rows.is_multiple_of(self.threads() / self.lanes())
    }

    pub(super) fn threads(&self) -> u32 {
        self.warps[0] * self.warps[1] * self.subgroup
    }

    /// Threads that have a row of scores together, four of them each.
    pub(super) fn lanes(&self) -> u32 {
        self.keys / 4
    }

    /// Elements from row to row of scores.
    pub(super) fn scores_ld(&self) -> u32 {
        self.keys.max(Sums::least_room(self.shape, self.warps[1])) + PAD
    }

    /// Elements of the place of keys, and of that of values if it is another.
    pub(super) fn panels(&self) -> (u32, Option<u32>) {
        let (k, v) = (self.keys * (self.qk + PAD), self.keys * (self.v + PAD));
        if self.takes_turns { (k.max(v), None) } else { (k, Some(v)) }
    }

    fn forward_bytes(&self) -> usize {
        let (k, v) = self.panels();
        let halves = self.rows * (self.qk + PAD) + k + v.unwrap_or(0) + self.rows * (self.keys + PAD);
        // Scores, a factor for each row, a flag for each subgroup.
        let words = self.rows * self.scores_ld() + self.rows + self.warps[0] * self.warps[1];
        halves as usize * 2 + words as usize * 4
    }

    fn backward_bytes(&self, by_key: bool) -> usize {
        let panels = (self.rows + self.keys) * (self.qk + self.v + 2 * PAD);
        let halves = panels + self.rows * (self.keys + PAD) * if by_key { 2 } else { 1 };
        let words = self.rows * self.scores_ld() * if self.takes_turns { 1 } else { 2 };
        halves as usize * 2 + words as usize * 4
    }

    pub(in crate::lower::attention) fn block(&self) -> BlockSizes {
        BlockSizes { rows: self.rows, keys: self.keys, features: self.v, part: 2 * self.keys as usize }
    }
}
