//! What may be kept of a product's `b` for further launches that have the same.
//!
//! In: a problem and its blocking. Out: what panels of `b` it would read, if any. Always: products whose [`Panels`] are equal have the same panels where `b` has the
//! same bytes at the same place. Never: names panels of elements that a prologue makes, or of a part of `b`.

use super::{Axis, Blocking, Mode};
use crate::contract::{kernel::Compute, problem::Problem};
use crate::simd::{Bf16, Tier};
use unigrad_scalar::DType;

/// What is kept of `b` between the launches of a sequence: all of its panels, as [`Run::keep`] packs them.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Panels {
    /// The kernel's argument.
    pub(crate) arg: usize,
    pub(crate) bytes: usize,
    compute: DType,
    dtype: DType,
    bf16: Bf16,
    n: usize,
    k: usize,
    offset: i64,
    lanes: Axis,
    steps: Axis,
}

impl Blocking {
    /// The panels of `b`, where a product whose `b` is packed already would read them: it reads all of `b` otherwise, and packs it or jumps about in it.
    pub(crate) fn panels<T: Compute>(&self, p: &Problem, tier: Tier) -> Option<Panels> {
        let kernels = self.kernels::<T>(tier);
        let fits = match self.mode {
            Mode::Panels => true,
            // Few rows take more columns at once than a panel has.
            Mode::InPlace { .. } => kernels.wide(kernels.panel_rows(p.m).min(p.m)) == kernels.nr,
            Mode::Dot { .. } => false,
        };
        if !fits || !self.small || self.splits > 1 || p.batch != 1 || p.b.is_made || p.m == 0 || p.n == 0 || self.k == 0 {
            return None;
        }
        let bytes = p.n.next_multiple_of(kernels.nr).checked_mul(self.k)?.checked_mul(size_of::<T>())?;
        let b = &p.b;
        let (lanes, steps) = (b.lanes.clone(), b.k.clone());
        let (compute, dtype, bf16, n, k, offset) = (T::DTYPE, b.dtype, self.bf16, p.n, p.k, b.offset);
        Some(Panels { arg: 1 - p.a_arg, bytes, compute, dtype, bf16, n, k, offset, lanes, steps })
    }
}
