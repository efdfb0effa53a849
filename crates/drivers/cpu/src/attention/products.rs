//! The products of attention: keys by queries, and what keys give queries.
//!
//! In: rows of keys, values or queries, where they lie in their tensor or in a copy. Out: blocks `[key][query]` and `[feature][query]`.
//! Always: sums over features go by chunks of a block's width, so their order depends on sizes and the instruction set alone.
//! Never: reads beyond the rows and features it is told of.

use super::{Context, Offsets, Real, Tensor};
use crate::contract::kernel::{Ahead, TileArgs};

/// Blocks of queries that rows are read for where they lie, at most: for more, copies side by side are worth making, as rows far from each
/// other crowd each other out of the nearest cache.
pub(super) const FEW_BLOCKS: usize = 4;

/// Positions as rows of features: `together` features lie side by side, then come those of the chunk after it.
#[derive(Clone, Copy)]
pub(super) struct Rows<T> {
    pub(super) at: *const T,
    /// Elements from a position to the next.
    pub(super) step: usize,
    pub(super) together: usize,
    pub(super) chunk: usize,
}

impl<T> Rows<T> {
    /// From a position on.
    pub(super) fn from(self, position: usize) -> Self {
        Rows { at: self.at.wrapping_add(position * self.step), ..self }
    }
}

impl<T: Real> Context<'_, T> {
    /// Scores of some keys and a block of queries: `to[key][query] = Σ_feature keys[key][feature] queries[feature][query]`. `keys` are rows in
    /// chunks of `width` features, `chunk` elements apart.
    pub(super) unsafe fn scores(&self, (keys, chunk): (*const T, usize), n_keys: usize, features: usize, queries: *const T, to: *mut T) {
        let (width, panel) = (self.width(), self.panel(n_keys));
        for key in (0..n_keys).step_by(panel) {
            let mut feature = 0;
            // Without features, too: then scores are zeros.
            loop {
                // SAFETY: the caller's.
                unsafe {
                    (self.kernels.tile_by_rows)(&TileArgs {
                        kc: width.min(features - feature),
                        a: keys.add(feature / width * chunk + key * width),
                        a_step: 1,
                        b: queries.add(feature * width),
                        b_step: width,
                        c: to.add(key * width),
                        ldc: width,
                        rows: panel.min(n_keys - key),
                        cols: width,
                        accumulate: feature > 0,
                        ahead: Ahead::none(queries),
                    });
                }
                feature += width;
                if feature >= features {
                    break;
                }
            }
        }
    }

    /// What keys give queries: `to[feature][query] (+)= Σ_key rows[key][feature] block[key][query]`.
    pub(super) unsafe fn gather(&self, rows: &Rows<T>, features: usize, n_keys: usize, block: *const T, to: *mut T, accumulate: bool) {
        let width = self.width();
        for first in (0..features).step_by(rows.together) {
            let n = rows.together.min(features - first);
            let panel = self.panel(n);
            for feature in (0..n).step_by(panel) {
                // SAFETY: the caller's.
                unsafe {
                    (self.kernels.tile)(&TileArgs {
                        kc: n_keys,
                        a: rows.at.add(first / rows.together * rows.chunk + feature),
                        a_step: rows.step,
                        b: block,
                        b_step: width,
                        c: to.add((first + feature) * width),
                        ldc: width,
                        rows: panel.min(n - feature),
                        cols: width,
                        accumulate,
                        ahead: Ahead::none(block),
                    });
                }
            }
        }
    }

    /// Rows of a tensor where they lie, if kernels can read them there.
    pub(super) fn in_place(&self, x: &Tensor, (batch, head, first): (usize, usize, usize), features: usize) -> Option<Rows<T>> {
        let readable = x.dtype == T::DTYPE && (x.feature_stride() == 1 || features == 1);
        let step = usize::try_from(x.position_stride()).ok().filter(|_| readable)?;
        Some(Rows { at: x.at(batch, head, first).cast::<T>().cast_const(), step, together: features.max(1), chunk: 0 })
    }

    /// Rows of a block of positions: where they lie, if they may and can be read there, or copied to `to` in chunks of `width` features.
    #[allow(clippy::too_many_arguments)]
    pub(super) unsafe fn rows_of_block(
        &self,
        x: &Tensor,
        (batch, head, first): (usize, usize, usize),
        n: usize,
        features: usize,
        in_place: bool,
        to: *mut T,
        offsets: &mut Offsets,
    ) -> Rows<T> {
        if in_place && let Some(rows) = self.in_place(x, (batch, head, first), features) {
            return rows;
        }
        let width = self.width();
        let src = x.at(batch, head, first);
        // SAFETY: the caller's buffer holds the chunks.
        unsafe { self.pack(src, x.dtype, (features, x.feature_stride()), (n, x.position_stride()), to, width, true, offsets) };
        Rows { at: to, step: width, together: width, chunk: n * width }
    }
}
