//! What the threads of a subgroup do together: reductions, shuffles, matrix fragments.
//!
//! A reduction is a butterfly, widest distance first, so that every lane gets the same bits. A fragment lies row by row in one column entry per
//! subgroup; `F32` inputs of a product are rounded to TF32.

use unigrad_scalar::{BinaryOp, DType, ReduceOp};

use super::{
    FaultKind,
    exec::{Executed, Machine, Trouble, meaningless},
    lanes::{self, Active},
};
use crate::ir::{Fragment, FragmentShape, Place, SubgroupOp, Type, Value};

impl Machine<'_> {
    /// The first threads of the subgroups that take part, each of which must do so as a whole.
    pub(super) fn whole_subgroups(&self, active: Active<'_>) -> Result<Vec<usize>, Box<Trouble>> {
        let size = self.subgroup;
        if size == 0 || !self.threads.is_multiple_of(size) {
            return Err(Trouble::new(active.first(), FaultKind::NoSubgroup));
        }
        match active {
            Active::All(n) => Ok((0..n).step_by(size).collect()),
            Active::Some(list) => {
                let mut firsts = Vec::with_capacity(list.len() / size);
                for lanes in list.chunks(size) {
                    let first = lanes[0] as usize;
                    // The list is in order, so its ends tell whether it is whole.
                    let last = lanes[lanes.len() - 1] as usize;
                    if lanes.len() < size || !first.is_multiple_of(size) || last != first + size - 1 {
                        return Err(Trouble::new(first, FaultKind::DivergentSubgroup));
                    }
                    firsts.push(first);
                }
                Ok(firsts)
            }
        }
    }

    pub(super) fn subgroup_op(&mut self, op: SubgroupOp, a: Value, active: Active<'_>, out: &mut [u64]) -> Executed {
        let (size, dtype) = (self.subgroup, self.dtype(a));
        let mut lanes_now = vec![0; size];
        let mut lanes_next = vec![0; size];
        for first in self.whole_subgroups(active)? {
            let col = self.col(a);
            (0..size).for_each(|lane| lanes_now[lane] = col.at(first + lane));
            let shuffled = |lane: usize, from: Option<usize>| from.filter(|from| *from < size).unwrap_or(lane);
            match op {
                SubgroupOp::Reduce(op) => {
                    let op = match op {
                        ReduceOp::Sum => BinaryOp::Add,
                        ReduceOp::Prod => BinaryOp::Mul,
                        ReduceOp::Max if dtype == DType::Bool => BinaryOp::Or,
                        ReduceOp::Min if dtype == DType::Bool => BinaryOp::And,
                        ReduceOp::Max => BinaryOp::Max,
                        ReduceOp::Min => BinaryOp::Min,
                    };
                    let mut distance = size / 2;
                    while distance > 0 {
                        for lane in 0..size {
                            lanes_next[lane] = lanes::binary_lane(op, dtype, lanes_now[lane], lanes_now[lane ^ distance]);
                        }
                        std::mem::swap(&mut lanes_now, &mut lanes_next);
                        distance /= 2;
                    }
                }
                SubgroupOp::ShuffleXor(mask) => {
                    if mask as usize >= size {
                        return Err(Trouble::new(first, FaultKind::NoLane(mask)));
                    }
                    (0..size).for_each(|lane| lanes_next[lane] = lanes_now[lane ^ mask as usize]);
                    std::mem::swap(&mut lanes_now, &mut lanes_next);
                }
                SubgroupOp::ShuffleDown(by) => {
                    (0..size).for_each(|lane| lanes_next[lane] = lanes_now[shuffled(lane, lane.checked_add(by as usize))]);
                    std::mem::swap(&mut lanes_now, &mut lanes_next);
                }
                SubgroupOp::ShuffleUp(by) => {
                    (0..size).for_each(|lane| lanes_next[lane] = lanes_now[shuffled(lane, lane.checked_sub(by as usize))]);
                    std::mem::swap(&mut lanes_now, &mut lanes_next);
                }
                SubgroupOp::Broadcast(from) => match lanes_now.get(from as usize).copied() {
                    Some(value) => lanes_now.fill(value),
                    None => return Err(Trouble::new(first, FaultKind::NoLane(from))),
                },
            }
            out[first..first + size].copy_from_slice(&lanes_now);
        }
        Ok(())
    }

    /// What all threads of a subgroup agree on.
    fn agreed(&self, value: Value, first: usize) -> Result<u64, Box<Trouble>> {
        let col = self.col(value);
        let agreed = col.at(first);
        match (first..first + self.subgroup).find(|t| col.at(*t) != agreed) {
            None => Ok(agreed),
            Some(thread) => Err(meaningless(
                Active::Some(&[thread as u32]),
                "threads of a subgroup disagree about a fragment\n help: derive index, stride and value from what the subgroup shares",
            )),
        }
    }

    fn fragment(ty: Type, active: Active<'_>) -> Result<Fragment, Box<Trouble>> {
        match ty {
            Type::Fragment(fragment) => Ok(fragment),
            Type::Scalar(_) | Type::Vector(..) => Err(meaningless(active, "not a fragment")),
        }
    }

    pub(super) fn fragment_fill(&mut self, ty: Type, a: Value, active: Active<'_>, out: &mut [u64]) -> Executed {
        let (rows, columns) = Self::fragment(ty, active)?.size();
        for first in self.whole_subgroups(active)? {
            let value = self.agreed(a, first)?;
            out[first / self.subgroup * rows * columns..][..rows * columns].fill(value);
        }
        Ok(())
    }

    /// First element and stride of a fragment in memory.
    fn fragment_at(&self, place: Place, [index, stride]: [Value; 2], first: usize) -> Result<(u64, u64), Box<Trouble>> {
        let (index, stride) = (self.agreed(index, first)?, self.agreed(stride, first)?);
        for number in [index, stride] {
            if number % 8 != 0 {
                let place = crate::text::place_name(self.program, place);
                return Err(Trouble::new(first, FaultKind::Misaligned { place, index: number.into(), of: 8 }));
            }
        }
        Ok((index, stride))
    }

    pub(super) fn fragment_load(
        &mut self,
        ty: Type,
        place: Place,
        at: [Value; 2],
        transposed: bool,
        active: Active<'_>,
        out: &mut [u64],
    ) -> Executed {
        let (rows, columns) = Self::fragment(ty, active)?.size();
        for first in self.whole_subgroups(active)? {
            let (start, stride) = self.fragment_at(place, at, first)?;
            for row in 0..rows {
                for column in 0..columns {
                    let (major, minor) = if transposed { (column, row) } else { (row, column) };
                    let element = start.wrapping_add(major as u64 * stride).wrapping_add(minor as u64);
                    let value = self.get(place, first, at[0], element, 1, 0)?;
                    out[first / self.subgroup * rows * columns + row * columns + column] = value;
                }
            }
        }
        Ok(())
    }

    pub(super) fn fragment_store(&mut self, place: Place, index: Value, stride: Value, value: Value, active: Active<'_>) -> Executed {
        let (rows, columns) = Self::fragment(self.program.ty(value), active)?.size();
        for first in self.whole_subgroups(active)? {
            let (start, stride) = self.fragment_at(place, [index, stride], first)?;
            for row in 0..rows {
                for column in 0..columns {
                    let element = start.wrapping_add(row as u64 * stride).wrapping_add(column as u64);
                    let word = self.values[value.index()][first / self.subgroup * rows * columns + row * columns + column];
                    self.put(place, first, index, element, 1, 0, word)?;
                }
            }
        }
        Ok(())
    }

    pub(super) fn fragment_mma(&mut self, ty: Type, [a, b, c]: [Value; 3], active: Active<'_>, out: &mut [u64]) -> Executed {
        let FragmentShape { m, n, k, input, sum } = Self::fragment(ty, active)?.shape;
        let [m, n, k] = [m, n, k].map(usize::from);
        for first in self.whole_subgroups(active)? {
            let subgroup = first / self.subgroup;
            let [a, b, c] = [a, b, c].map(|v| self.values[v.index()].as_slice());
            for row in 0..m {
                for column in 0..n {
                    let mut total = c[subgroup * m * n + row * n + column];
                    for i in 0..k {
                        let left = factor(input, a[subgroup * m * k + row * k + i]);
                        let right = factor(input, b[subgroup * k * n + i * n + column]);
                        total = lanes::from_f64(sum, left * right + lanes::to_f64(sum, total));
                    }
                    out[subgroup * m * n + row * n + column] = total;
                }
            }
        }
        Ok(())
    }
}

/// An element of `a` or `b` as the product sees it.
fn factor(input: DType, lane: u64) -> f64 {
    if input != DType::F32 {
        return lanes::to_f64(input, lane);
    }
    let x = f32::from_bits(lane as u32);
    if !x.is_finite() {
        return x.into();
    }
    // TF32 keeps 10 bits of the mantissa; to nearest, ties to even.
    let bits = lane as u32;
    f32::from_bits(bits.wrapping_add(0xfff + ((bits >> 13) & 1)) & !0x1fff).into()
}
