//! Contraction: every matrix product, batched or not, every convolution and its gradients.
//!
//! `c[b, m, n] = Σ_k a[b, m, k] * b[b, k, n]`, where `m`, `n`, `k` and the batch are each a *list* of dimensions with their own
//! strides. An element's address is therefore `base + Σ index * stride`, and a convolution is a contraction whose `k` runs
//! over (channel, kernel row, kernel column) of a padded image: no im2col buffer, no copy.
//!
//! An operand need not lie in memory as the product wants it: with a *prologue* it is read through a map that makes each element when it is
//! needed (a cast, the decoding of a storage format, a scale). Strides and offset then count elements of what the map would write.

use crate::{Arg, Region};
use smallvec::SmallVec;
use unigrad_scalar::DType;

/// A dimension that `a`, `b` and `c` share, without summation.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs)]
pub struct BatchDim {
    pub size: usize,
    pub a: i64,
    pub b: i64,
    pub c: i64,
}

/// A dimension of `a` and `c`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs)]
pub struct MDim {
    pub size: usize,
    pub a: i64,
    pub c: i64,
}

/// A dimension of `b` and `c`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs)]
pub struct NDim {
    pub size: usize,
    pub b: i64,
    pub c: i64,
}

/// A dimension of `a` and `b`, summed over.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs)]
pub struct KDim {
    pub size: usize,
    pub a: i64,
    pub b: i64,
}

/// A contraction; see the module's text. Lists are outermost first; an empty list is one point; sizes may be 0 (an empty sum is 0).
///
/// Arguments: `a`, `b`, then `c` if there is no epilogue, or the epilogue's own arguments if there is one. In the place of an operand with a
/// prologue stands the first buffer that it reads; the others come last, those of `a` before those of `b` ([`Contract::prologue_args`]).
/// Floats accumulate in the compute dtype, integers in their own dtype, wrapping.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs)]
pub struct Contract {
    pub batch: SmallVec<[BatchDim; 2]>,
    pub m: SmallVec<[MDim; 3]>,
    pub n: SmallVec<[NDim; 3]>,
    pub k: SmallVec<[KDim; 3]>,
    /// Offset of the first element, in elements.
    pub a_offset: i64,
    pub b_offset: i64,
    /// Buffer dtypes; `a` and `b` may differ from `c` (widened while packing), and so may each other among floats. With a prologue: of what
    /// that would write.
    pub a: Arg,
    pub b: Arg,
    /// The output's dtype and size; with an epilogue, the dtype that [`crate::InstOp::Acc`] has (a compute dtype), and `c` strides and length are unused.
    pub c: Arg,
    /// Whether operands of `F32` may be rounded to TF32 (10 bits of mantissa) for units that multiply them faster. No program has to.
    pub tf32: bool,
    /// A map whose axes are exactly `batch ++ m ++ n` (all parallel, in this order), in which `Acc` is the finished sum.
    pub epilogue: Option<Box<Region>>,
    /// What `a` and `b` are read through: a map whose last argument stands for the operand, dense and row-major over the map's axes, and is
    /// written once at each point; the others are read. No run-time scalars, no checks, no random numbers.
    pub prologues: [Option<Box<Region>>; 2],
}

impl Contract {
    /// Whether its epilogue or a prologue reduces: neither has rows, so no compiler takes it.
    pub fn has_reductions(&self) -> bool {
        self.epilogue.iter().chain(self.prologues.iter().flatten()).any(|region| region.has_reductions())
    }

    /// How many buffers a launch passes.
    pub fn n_args(&self) -> usize {
        self.args().len()
    }

    /// The buffers a launch passes, in order.
    pub fn args(&self) -> Vec<Arg> {
        // Drivers refuse a prologue that reads nothing.
        let first =
            |operand: Arg, side: usize| self.prologues[side].as_ref().and_then(|region| region.args.first().copied()).unwrap_or(operand);
        let mut args = vec![first(self.a, 0), first(self.b, 1)];
        match &self.epilogue {
            Some(region) => args.extend(region.args.iter().copied()),
            None => args.push(self.c),
        }
        for region in self.prologues.iter().flatten() {
            args.extend(region.args.iter().take(region.args.len().saturating_sub(1)).skip(1));
        }
        args
    }

    /// The kernel's argument for each buffer that the prologue of `a` (0) or `b` (1) reads, in order; empty without one.
    pub fn prologue_args(&self, side: usize) -> Vec<usize> {
        let reads = |side: usize| self.prologues[side].as_ref().map_or(0, |region| region.args.len().saturating_sub(1));
        let own = 2 + self.epilogue.as_ref().map_or(1, |region| region.args.len());
        let first = own + if side == 0 { 0 } else { reads(0).saturating_sub(1) };
        (0..reads(side)).map(|read| if read == 0 { side } else { first + read - 1 }).collect()
    }

    /// Points of the batch.
    pub fn batch_len(&self) -> usize {
        self.batch.iter().map(|d| d.size).product()
    }

    /// Rows of the product.
    pub fn m_len(&self) -> usize {
        self.m.iter().map(|d| d.size).product()
    }

    /// Columns of the product.
    pub fn n_len(&self) -> usize {
        self.n.iter().map(|d| d.size).product()
    }

    /// Length of the sums.
    pub fn k_len(&self) -> usize {
        self.k.iter().map(|d| d.size).product()
    }

    /// What sums are computed in. Floats: the widest of the three dtypes, at least `F32`. Integers: 32 bits if the sum needs no more (it
    /// wraps), else 64.
    pub fn compute_dtype(&self) -> DType {
        let dtypes = [self.a.dtype, self.b.dtype, self.c.dtype];
        if dtypes.contains(&DType::F64) {
            DType::F64
        } else if dtypes.iter().any(|d| d.is_float()) {
            DType::F32
        } else if dtypes.iter().any(|d| d.size() == 8) {
            DType::I64
        } else {
            DType::I32
        }
    }

    pub(crate) fn flops(&self) -> f64 {
        2.0 * self.batch_len() as f64 * self.m_len() as f64 * self.n_len() as f64 * self.k_len() as f64
    }
}

/// A row-major list of dimensions (size, stride), outermost first, without those of size 1, and with neighbours joined that are one run.
pub fn merge_dims(dims: impl IntoIterator<Item = (usize, i64)>) -> SmallVec<[(usize, i64); 4]> {
    let mut merged: SmallVec<[(usize, i64); 4]> = SmallVec::new();
    for (size, stride) in dims.into_iter().filter(|(size, _)| *size != 1) {
        match merged.last_mut() {
            Some((outer, outer_stride)) if *outer_stride == stride.wrapping_mul(size as i64) => {
                *outer *= size;
                *outer_stride = stride;
            }
            _ => merged.push((size, stride)),
        }
    }
    merged
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_joined() {
        let merged = |dims: &[(usize, i64)]| merge_dims(dims.iter().copied()).to_vec();
        assert_eq!(merged(&[]), []);
        assert_eq!(merged(&[(1, 7), (1, 0)]), []);
        assert_eq!(merged(&[(2, 12), (3, 4), (4, 1)]), [(24, 1)]);
        assert_eq!(merged(&[(2, 12), (1, 5), (3, 4), (4, 2)]), [(6, 4), (4, 2)]);
        assert_eq!(merged(&[(3, -4), (4, -1)]), [(12, -1)]);
        assert_eq!(merged(&[(5, 0), (6, 0)]), [(30, 0)]);
        assert_eq!(merged(&[(0, 3), (3, 1)]), [(0, 1)]);
    }
}
