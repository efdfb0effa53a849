//! A product, and the sums of one of its operands along `k`: the gradients of a layer's weight and of its bias.
//!
//! In: a contraction, and a region that reduces all of `k` of an operand, lane by lane. Out: what both store. A driver may add up what it has loaded
//! for the product.
//! Always: as if the product came first and then the sums, whatever a driver does. No buffer is passed twice.
//! Never: one of the two reads what the other one writes.

use crate::{Arg, Columns, Contract, InstOp, Level, Region};
use unigrad_scalar::{DType, ReduceOp};

/// See the module's text.
///
/// Arguments are those of `product`, then those of `sums` that are its own; scalars are those of `product`, then those of `sums`.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Summed {
    /// Its operands lie in memory.
    pub product: Contract,
    /// What it shares, one of the two operands among it, both read.
    pub sums: Columns,
}

/// Which operand is added up, and where.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LaneSum {
    /// 0 for `a`, 1 for `b`.
    pub side: usize,
    /// The instruction of [`Summed::sums`] that is the sum.
    pub at: usize,
}

impl Summed {
    /// The region's arguments among the kernel's.
    pub fn places(&self) -> Vec<usize> {
        self.sums.places(self.product.n_args())
    }

    /// The sum, if it is one of an operand's elements as they are, of all of `k`, computed in `F32`, for lanes of one dimension.
    pub fn lane_sum(&self) -> Option<LaneSum> {
        let Columns { region, shared } = &self.sums;
        let [lanes, k_len] = region.axes[..] else { return None };
        if region.n_parallel != 1 || !self.product.batch.iter().all(|dim| dim.size == 1) {
            return None;
        }
        let levels = region.levels();
        let mut sum = None;
        for (at, inst) in region.insts.iter().enumerate() {
            if let InstOp::Reduce(ReduceOp::Sum, of) = inst.op
                && inst.dtype.is_float()
                && inst.dtype.compute() == DType::F32
                && sum.is_none()
            {
                sum = Some((at, of));
            } else if matches!(inst.op, InstOp::Reduce(..) | InstOp::ArgReduce(..) | InstOp::Bounded { .. } | InstOp::Acc)
                || matches!(inst.op, InstOp::Store { .. }) && levels[at] == Level::Full
            {
                return None;
            }
        }
        let (at, mut of) = sum?;
        if let InstOp::Cast(from) = region.insts[of.index()].op {
            of = from;
        }
        let InstOp::Load { arg, index, mask: None } = &region.insts[of.index()].op else { return None };
        let side = shared.get(*arg as usize).copied().flatten()? as usize;
        let product = &self.product;
        let (dims, offset): (Vec<(usize, i64)>, i64) = match side {
            0 => (product.m.iter().map(|dim| (dim.size, dim.a)).collect(), product.a_offset),
            1 => (product.n.iter().map(|dim| (dim.size, dim.b)).collect(), product.b_offset),
            _ => return None,
        };
        let single = |dims: &[(usize, i64)]| match *crate::merge_dims(dims.iter().copied()) {
            [one] => Some(one),
            _ => None,
        };
        let ks: Vec<(usize, i64)> = product.k.iter().map(|dim| (dim.size, if side == 0 { dim.a } else { dim.b })).collect();
        let (lane, k) = (single(&dims)?, single(&ks)?);
        let is_same =
            index.offset == offset && index.dynamic.is_empty() && index.strides[..] == [lane.1, k.1] && [lanes, k_len] == [lane.0, k.0];
        is_same.then_some(LaneSum { side, at })
    }

    pub(crate) fn n_args(&self) -> usize {
        self.product.n_args() + self.sums.n_own()
    }

    /// The buffers a launch passes, in order.
    pub fn args(&self) -> Vec<Arg> {
        let own = self.sums.region.args.iter().zip(&self.sums.shared).filter(|(_, shared)| shared.is_none()).map(|(arg, _)| *arg);
        self.product.args().into_iter().chain(own).collect()
    }

    /// How many scalars the product has: those of the sums come after them.
    pub fn n_scalars_of_product(&self) -> usize {
        self.product.epilogue.as_ref().map_or(0, |region| region.scalars.len())
    }

    pub(crate) fn scalars(&self) -> Vec<DType> {
        let of = |region: &Region| region.scalars.clone();
        self.product.epilogue.iter().flat_map(|region| of(region)).chain(of(&self.sums.region)).collect()
    }
}
