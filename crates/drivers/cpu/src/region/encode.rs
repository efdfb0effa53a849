//! One instruction to steps, and slots to scratch memory. The second half of the compiler in `program`.

use super::convert;
use super::fold;
use super::form_chains::find_updates;
use super::kernels::{self, OpFn, Shape, Ty};
use super::lanes::Lanes;
use super::match_patterns::Node;
use super::program::{
    Access, Accumulator, BlockProgram, Compiler, Home, Load, MicroOp, Outer, PAD, Reduction, Segment, Slot, Store, weight,
};
use super::reduce;
use super::view::View;
use super::whole_rows;
use smallvec::SmallVec;
use unigrad_kernel::{Index, InstOp, Level, Value};
use unigrad_scalar::{ArgReduceOp, DType, Literal, ReduceOp};

/// The bytes of a literal as a lane of its compute type.
pub(super) fn lane_bits(literal: Literal) -> u64 {
    match Ty::of(literal.dtype()) {
        Ty::F32 => u64::from((literal.as_f64() as f32).to_bits()),
        Ty::F64 => literal.as_f64().to_bits(),
        Ty::I32 | Ty::U32 => u64::from(literal.as_i64() as u32),
        Ty::I64 | Ty::U64 | Ty::Bool => literal.as_i64() as u64,
    }
}

/// The identity of a reduction, as a lane of the compute type.
fn identity(op: ReduceOp, dtype: DType) -> u64 {
    lane_bits(match op {
        ReduceOp::Sum => Literal::zero(dtype),
        ReduceOp::Prod => Literal::one(dtype),
        ReduceOp::Max => Literal::min_value(dtype),
        ReduceOp::Min => Literal::max_value(dtype),
    })
}

/// The identity of a fold, in its accumulator's type.
fn fold_identity(op: ReduceOp, dtype: DType) -> u64 {
    let ty = Ty::of(dtype);
    identity(op, if fold::fold_ty(op, ty) == ty { dtype } else { DType::F64 })
}

impl Compiler<'_> {
    fn dtype(&self, value: Value) -> DType {
        self.region.insts[value.index()].dtype
    }

    /// Where the operand is, for an instruction of this level: one number, or that level's lanes.
    fn raw_slot(&mut self, value: Value, level: Level) -> Result<Slot, String> {
        let slots = if self.is_per_pass(value) { &self.here } else { &self.base };
        let slot =
            slots[value.index()].ok_or_else(|| format!("region {}: %{} has no value where it is used", self.region.name, value.0))?;
        let spread = self.lanes == Lanes::WholeRows && (level, self.levels[value.index()]) == (Level::Full, Level::Row);
        Ok(if spread && self.out.slots[slot as usize].lanes { self.spread(slot, value) } else { slot })
    }

    /// Where the operand is, with lanes if the level has them.
    fn operand(&mut self, value: Value, level: Level) -> Result<Slot, String> {
        let slot = self.raw_slot(value, level)?;
        Ok(if self.has_lanes(level) { self.with_lanes(slot, value) } else { slot })
    }

    /// Each row's number in all lanes of the row.
    fn spread(&mut self, slot: Slot, value: Value) -> Slot {
        if let Some(spread) = self.spreads[slot as usize] {
            return spread;
        }
        // Beside the value itself: once for all passes.
        let segment = Segment::Row(self.depth[value.index()]);
        let size = self.out.slots[slot as usize].size;
        let d = self.slot(segment, size, true);
        self.push(segment, MicroOp::Spread { f: whole_rows::spread(size, self.tier), d, a: slot });
        self.spreads[slot as usize] = Some(d);
        d
    }

    fn with_lanes(&mut self, slot: Slot, value: Value) -> Slot {
        let info = self.out.slots[slot as usize];
        if info.lanes {
            return slot;
        }
        if let Some(splat) = self.splats[slot as usize] {
            return splat;
        }
        // Beside the value itself: those segments run before whatever needs the lanes.
        let segment = match self.levels[value.index()] {
            Level::Uniform => Segment::Uniform,
            Level::Row | Level::Full => Segment::Row(self.depth[value.index()]),
        };
        let d = self.slot(segment, info.size, true);
        let ty = match info.size {
            1 => Ty::Bool,
            4 => Ty::F32,
            _ => Ty::F64,
        };
        let f = kernels::splat(ty, self.tier);
        self.push(segment, MicroOp::Splat { f, d, a: slot });
        self.splats[slot as usize] = Some(d);
        d
    }

    /// A step of up to three operands; gives its slot.
    fn op(&mut self, segment: Segment, f: OpFn, size: usize, [a, b, c]: [Slot; 3]) -> Slot {
        let lanes = [a, b, c].iter().any(|slot| self.out.slots[*slot as usize].lanes);
        let d = self.slot(segment, size, lanes);
        self.push(segment, MicroOp::Op { f, d, a, b, c });
        d
    }

    fn maybe(&mut self, segment: Segment, f: Option<OpFn>, ty: Ty, a: Slot) -> Slot {
        match f {
            Some(f) => self.op(segment, f, ty.size(), [a, 0, 0]),
            None => a,
        }
    }

    /// `slot`, of dtype `from`, converted to a lane of `to`; `rounded` to its range too, which a store does by itself.
    fn cast(&mut self, segment: Segment, slot: Slot, from: DType, to: DType, rounded: bool) -> Slot {
        if from == to {
            return slot;
        }
        let (source, target) = (Ty::of(from), Ty::of(to));
        let slot = self.maybe(segment, convert::cast(source, target, self.tier), target, slot);
        let narrow = match (rounded || to.is_int(), from.is_float()) {
            (false, _) => None,
            (true, false) => convert::narrow(to, self.tier),
            (true, true) => convert::saturate(to, self.tier),
        };
        self.maybe(segment, narrow, target, slot)
    }

    fn access(&mut self, arg: u32, index: &Index, level: Level) -> Result<Access, String> {
        let (par, red) = self.region.axes.split_at(self.region.n_parallel);
        let (p, r) = index.strides.split_at(par.len().min(index.strides.len()));
        let (mut shift, mut dynamic) = (SmallVec::new(), SmallVec::new());
        for (value, stride) in &index.dynamic {
            if self.levels[value.index()] == Level::Uniform {
                shift.push((self.raw_slot(*value, level)?, *stride));
            } else {
                dynamic.push((self.operand(*value, level)?, *stride));
            }
        }
        Ok(Access {
            arg,
            offset: index.offset,
            par: View::new(par, p),
            red: View::new(red, r),
            shift,
            dynamic,
            size: self.region.args[arg as usize].dtype.size(),
        })
    }

    /// Adds the steps of an instruction (not of a reduction) to a segment; gives where its value is.
    pub(super) fn emit(&mut self, at: usize, segment: Segment) -> Result<Option<Slot>, String> {
        let region = self.region;
        let inst = &region.insts[at];
        let level = self.level(at);
        let lanes = self.has_lanes(level);
        let ty = Ty::of(inst.dtype);
        let tier = self.tier;
        if let Some(index) = self.index(at).cloned() {
            return Ok(Some(self.index_step(segment, lanes, index.offset, &index.strides)));
        }
        Ok(Some(match &inst.op {
            InstOp::Const(literal) => {
                let d = self.slot(segment, ty.size(), false);
                self.push(segment, MicroOp::Const { d, bits: lane_bits(*literal) });
                d
            }
            InstOp::Scalar(index) => {
                let d = self.slot(segment, ty.size(), false);
                self.push(segment, MicroOp::Scalar { d, index: *index, dtype: inst.dtype });
                d
            }
            InstOp::AxisIndex(axis) => {
                let strides: SmallVec<[i64; 8]> = (0..region.axes.len()).map(|a| i64::from(a == *axis as usize)).collect();
                self.index_step(segment, lanes, 0, &strides)
            }
            InstOp::Acc => {
                let d = self.slot(segment, ty.size(), lanes);
                self.out.acc_size = ty.size();
                self.push(segment, MicroOp::Acc { d, size: ty.size() });
                d
            }
            InstOp::Load { arg, index, mask } => {
                let dtype = region.args[*arg as usize].dtype;
                let access = self.access(*arg, index, level)?;
                let mask = mask.map(|mask| self.operand(mask, level)).transpose()?;
                let d = self.slot(segment, Ty::of(dtype).size(), lanes);
                let first_store = region.insts.iter().position(|i| matches!(&i.op, InstOp::Store { arg: a, .. } if a == arg));
                let in_place = lanes && convert::same_bytes(dtype) && first_store.is_none_or(|store| self.last_use[at] <= store);
                // Nothing that is written meanwhile, or that depends on a lane.
                let fixed = mask.is_none() && access.dynamic.is_empty() && access.shift.is_empty() && first_store.is_none();
                let load = Load {
                    d,
                    stays: fixed && self.may_stay(segment, &access.par),
                    at: access,
                    mask,
                    load: convert::load(dtype, tier),
                    gather: convert::gather(dtype),
                    lane: Ty::of(dtype).size(),
                    in_place,
                };
                self.push(segment, MicroOp::Load(Box::new(load)));
                self.cast(segment, d, dtype, inst.dtype, true)
            }
            InstOp::Unary(op, a) => {
                let dtype = self.dtype(*a);
                let slot = self.operand(*a, level)?;
                let result = if op.gives_bool() { DType::Bool } else { dtype };
                let from = slot;
                let slot = self.maybe(segment, kernels::unary(*op, Ty::of(dtype), tier), Ty::of(result), slot);
                if Ty::of(dtype) == Ty::F32 && slot != from {
                    self.nodes[slot as usize] = Some(Node::Unary(*op, from));
                }
                let narrow = if result.is_int() { convert::narrow(result, tier) } else { None };
                self.maybe(segment, narrow, Ty::of(result), slot)
            }
            InstOp::Binary(op, a, b) => {
                let dtype = self.dtype(*a);
                let of = Ty::of(dtype);
                let (mut sa, mut sb) = (self.raw_slot(*a, level)?, self.raw_slot(*b, level)?);
                let node = Node::Binary(*op, sa, sb);
                let mut shape = Shape::Lanes;
                if lanes {
                    let (la, lb) = (self.out.slots[sa as usize].lanes, self.out.slots[sb as usize].lanes);
                    shape = match (la, lb) {
                        (false, true) if kernels::has_shapes(of) => Shape::First,
                        (true, false) if kernels::has_shapes(of) => Shape::Second,
                        _ => {
                            (sa, sb) = (self.with_lanes(sa, *a), self.with_lanes(sb, *b));
                            Shape::Lanes
                        }
                    };
                }
                let logical = dtype.is_float()
                    && matches!(op, unigrad_scalar::BinaryOp::And | unigrad_scalar::BinaryOp::Or | unigrad_scalar::BinaryOp::Xor);
                let result = if op.is_comparison() || logical { DType::Bool } else { dtype };
                let slot = self.op(segment, kernels::binary(*op, of, tier, shape), Ty::of(result).size(), [sa, sb, 0]);
                if of == Ty::F32 {
                    self.nodes[slot as usize] = Some(node);
                }
                let narrow = if result.is_int() { convert::narrow(result, tier) } else { None };
                self.maybe(segment, narrow, Ty::of(result), slot)
            }
            InstOp::Where(cond, a, b) => {
                let raw = self.raw_slot(*cond, level)?;
                let cond = self.operand(*cond, level)?;
                let (mut sa, mut sb) = (self.raw_slot(*a, level)?, self.raw_slot(*b, level)?);
                let node = Node::Select(raw, sa, sb);
                let (la, lb) = (self.out.slots[sa as usize].lanes, self.out.slots[sb as usize].lanes);
                let shape = match (la, lb) {
                    _ if !lanes => Shape::Lanes,
                    (false, true) if ty.size() == 4 => Shape::First,
                    (true, false) if ty.size() == 4 => Shape::Second,
                    (false, false) if ty.size() == 4 => Shape::Both,
                    _ => {
                        (sa, sb) = (self.with_lanes(sa, *a), self.with_lanes(sb, *b));
                        Shape::Lanes
                    }
                };
                let slot = self.op(segment, kernels::select(ty, tier, shape), ty.size(), [cond, sa, sb]);
                if ty == Ty::F32 {
                    self.nodes[slot as usize] = Some(node);
                }
                slot
            }
            InstOp::Cast(a) => {
                let from = self.dtype(*a);
                let slot = self.operand(*a, level)?;
                self.cast(segment, slot, from, inst.dtype, true)
            }
            InstOp::Bitcast(a) => {
                let from = self.dtype(*a);
                let mut slot = self.operand(*a, level)?;
                let bits = if ty.size() == 8 { Ty::U64 } else { Ty::U32 };
                let [first, second] = convert::bitcast(from, inst.dtype, tier);
                slot = self.maybe(segment, first, bits, slot);
                self.maybe(segment, second, ty, slot)
            }
            InstOp::Bounded { index, size, from_end, .. } => {
                let index = self.operand(*index, level)?;
                let d = self.slot(segment, 8, lanes);
                self.push(segment, MicroOp::Bounded { d, index, size: *size, from_end: *from_end });
                d
            }
            InstOp::Philox { seed, offset, index, word } => {
                let (seed, offset, index) = (self.raw_slot(*seed, level)?, self.raw_slot(*offset, level)?, self.raw_slot(*index, level)?);
                if self.out.slots[seed as usize].lanes || self.out.slots[offset as usize].lanes {
                    return Err(format!("region {}: the seed and offset of %{at} must be uniform", region.name));
                }
                let index_lanes = self.out.slots[index as usize].lanes;
                let d = self.slot(segment, 4, index_lanes);
                self.push(segment, MicroOp::Philox { d, seed, offset, index, word: *word });
                d
            }
            InstOp::Store { arg, index, value } => {
                let to = region.args[*arg as usize].dtype;
                let slot = self.operand(*value, level)?;
                let s = self.cast(segment, slot, self.dtype(*value), to, false);
                let access = self.access(*arg, index, level)?;
                let loaded = region.insts.iter().any(|i| matches!(&i.op, InstOp::Load { arg: a, .. } if a == arg));
                let same_bytes = convert::same_bytes(to);
                let store = Store {
                    s,
                    at: access,
                    store: convert::store(to, tier),
                    scatter: convert::scatter(to),
                    lane: Ty::of(to).size(),
                    direct: lanes && !loaded && same_bytes,
                    same_bytes,
                    update: false,
                    fresh: !loaded,
                };
                self.push(segment, MicroOp::Store(Box::new(store)));
                return Ok(None);
            }
            InstOp::Reduce(..) | InstOp::ArgReduce(..) => return Err(format!("region {}: reduction out of place", region.name)),
        }))
    }

    /// A number and the indices along all axes, times their strides.
    fn index_step(&mut self, segment: Segment, lanes: bool, offset: i64, strides: &[i64]) -> Slot {
        let (par, red) = self.region.axes.split_at(self.region.n_parallel);
        let (p, r) = strides.split_at(par.len());
        let (par, red) = (View::new(par, p), View::new(red, r));
        let d = self.slot(segment, 8, lanes);
        let stays = self.may_stay(segment, &par);
        self.push(segment, MicroOp::Index { d, offset, par, red, stays });
        d
    }

    /// Whether a tile may have rows that are all the same here: then its blocks need not find them again, and the lanes get a place of their own.
    fn may_stay(&self, segment: Segment, par: &View) -> bool {
        let is_map = self.region.n_parallel == self.region.axes.len();
        let outer = par.axes().split_last().map_or(&[][..], |(_, outer)| outer);
        segment == Segment::Row(0) && is_map && outer.iter().any(|(_, stride)| *stride == 0)
    }

    /// Makes the place of a reduction's result, which row segments may use from its depth on.
    pub(super) fn reduce_result(&mut self, at: usize) {
        let dtype = self.region.insts[at].dtype;
        let ty = Ty::of(dtype);
        let segment = Segment::Row(self.depth[at]);
        let raw = self.slot(segment, ty.size(), self.lanes != Lanes::Elements);
        self.results[at] = Some(raw);
        let narrow = match (&self.region.insts[at].op, dtype.is_int()) {
            (InstOp::Reduce(..), true) => convert::narrow(dtype, self.tier),
            _ => None,
        };
        self.base[at] = Some(self.maybe(segment, narrow, ty, raw));
    }

    /// Adds a reduction to its pass; where lanes are whole rows, gives the step that it is.
    pub(super) fn reduce(&mut self, at: usize, pass: usize) -> Result<Option<MicroOp>, String> {
        let (InstOp::Reduce(_, value) | InstOp::ArgReduce(_, value)) = self.region.insts[at].op else {
            return Err(format!("region {}: %{at} is no reduction", self.region.name));
        };
        let out = self.results[at].ok_or_else(|| format!("region {}: %{at} has no place", self.region.name))?;
        let arg = self.operand(value, Level::Full)?;
        let dtype = self.dtype(value);
        let (ty, tier) = (Ty::of(dtype), self.tier);
        let segment = Segment::Row(pass + 1);
        let rows = self.lanes == Lanes::Rows;
        if self.lanes == Lanes::WholeRows {
            let (f, init) = match self.region.insts[at].op {
                InstOp::Reduce(op, _) => (whole_rows::fold_each(op, ty, tier), fold_identity(op, dtype)),
                InstOp::ArgReduce(op, _) => (whole_rows::arg_each(op, ty, tier), 0),
                InstOp::Const(_)
                | InstOp::Scalar(_)
                | InstOp::AxisIndex(_)
                | InstOp::Acc
                | InstOp::Load { .. }
                | InstOp::Unary(..)
                | InstOp::Binary(..)
                | InstOp::Where(..)
                | InstOp::Cast(_)
                | InstOp::Bitcast(_)
                | InstOp::Bounded { .. }
                | InstOp::Philox { .. }
                | InstOp::Store { .. } => {
                    return Err(format!("region {}: %{at} is no reduction", self.region.name));
                }
            };
            return Ok(Some(MicroOp::FoldRows { f, d: out, a: arg, init: [init; 2] }));
        }
        let reduction = match self.region.insts[at].op {
            InstOp::Reduce(op, _) if rows => {
                let init = identity(op, dtype);
                let carry = if op == ReduceOp::Sum { fold::carry(ty, tier) } else { None };
                let outer = carry.map(|(carry, settle)| Outer { slot: self.slot(segment, 2 * ty.size(), true), carry, settle });
                let how = Accumulator::Lanes { f: fold::accumulate(op, ty, tier), ty, outer };
                Reduction { arg, acc: out, out, init, how, sums_f32: false, sum: None }
            }
            InstOp::Reduce(op, _) => {
                let wide = fold::fold_ty(op, ty);
                let init = fold_identity(op, dtype);
                let acc = self.slot(segment, 8, false);
                let (combine, finish) = fold::ends_of_fold(op, ty, tier);
                let how = Accumulator::Fold { f: fold::fold(op, ty, tier), combine, ty: wide, finish };
                Reduction { arg, acc, out, init, how, sums_f32: op == ReduceOp::Sum && ty == Ty::F32, sum: None }
            }
            InstOp::ArgReduce(op, _) => {
                let best = self.slot(segment, ty.size(), rows);
                let init = identity(if op == ArgReduceOp::ArgMax { ReduceOp::Max } else { ReduceOp::Min }, dtype);
                let (f, join) = reduce::arg(op, ty, rows);
                let how = Accumulator::Arg { f, join, ty, best };
                Reduction { arg, acc: out, out, init, how, sums_f32: false, sum: None }
            }
            InstOp::Const(_)
            | InstOp::Scalar(_)
            | InstOp::AxisIndex(_)
            | InstOp::Acc
            | InstOp::Load { .. }
            | InstOp::Unary(..)
            | InstOp::Binary(..)
            | InstOp::Where(..)
            | InstOp::Cast(_)
            | InstOp::Bitcast(_)
            | InstOp::Bounded { .. }
            | InstOp::Philox { .. }
            | InstOp::Store { .. } => return Err(format!("region {}: %{at} is no reduction", self.region.name)),
        };
        self.out.passes[pass].reductions.push(reduction);
        Ok(None)
    }

    /// What it costs to evaluate each value again, its operands included.
    pub(super) fn costs(&self) -> Vec<usize> {
        let mut costs: Vec<usize> = Vec::with_capacity(self.region.insts.len());
        for inst in &self.region.insts {
            let mut cost = weight(&inst.op);
            inst.op.visit_values(|value| {
                if self.is_per_pass(value) {
                    cost = cost.saturating_add(costs[value.index()]);
                }
            });
            costs.push(cost);
        }
        costs
    }

    /// Fixes which stores are computed in place, then gives every slot its memory. Slots that live within one segment share it.
    pub(super) fn allocate(&mut self) {
        let mut slots = std::mem::take(&mut self.out.slots);
        let n = slots.len();
        let n_loads = |arg: u32| {
            let steps = segments_of(&self.out).into_iter().flatten();
            steps.filter(|step| matches!(step, MicroOp::Load(load) if load.at.arg == arg)).count()
        };
        let loads: Vec<usize> = (0..self.region.args.len()).map(|arg| n_loads(arg as u32)).collect();
        let reductions: Vec<Slot> = self.out.passes.iter().flat_map(|pass| &pass.reductions).flat_map(Reduction::operands).collect();
        let segments = segments(&mut self.out);
        let (mut first, mut last, mut local) = (vec![None; n], vec![(0, 0); n], vec![true; n]);
        let mut direct: Vec<bool> = vec![false; n];
        for (s, steps) in segments.into_iter().enumerate() {
            let mut defined_by_op = vec![false; n];
            let mut heads = Vec::new();
            for step in steps.iter_mut() {
                match step {
                    MicroOp::Op { d, .. } => defined_by_op[*d as usize] = true,
                    MicroOp::Fused(fused) => defined_by_op[fused.out as usize] = true,
                    MicroOp::Chain(chain) => chain.outs.iter().for_each(|out| defined_by_op[out.slot as usize] = true),
                    MicroOp::Store(store) => {
                        let info = slots[store.s as usize];
                        store.direct &= defined_by_op[store.s as usize] && !direct[store.s as usize] && !info.kept && info.lanes;
                        if store.direct {
                            direct[store.s as usize] = true;
                            heads.push(MicroOp::Direct(store.clone()));
                        }
                    }
                    MicroOp::Load(load) => load.in_place &= !slots[load.d as usize].kept,
                    // A slot of the program's own takes what these give.
                    MicroOp::Splat { .. }
                    | MicroOp::Spread { .. }
                    | MicroOp::FoldRows { .. }
                    | MicroOp::Const { .. }
                    | MicroOp::Scalar { .. }
                    | MicroOp::Index { .. }
                    | MicroOp::Acc { .. }
                    | MicroOp::Direct(_)
                    | MicroOp::Bounded { .. }
                    | MicroOp::Philox { .. } => {}
                }
            }
            find_updates(steps, |arg| loads[arg as usize] == 1, |slot| reductions.contains(&slot));
            steps.splice(0..0, heads);
            for (i, step) in steps.iter().enumerate() {
                visit_slots(step, |slot| {
                    let slot = slot as usize;
                    let (home, _) = *first[slot].get_or_insert((s, i));
                    local[slot] &= home == s;
                    last[slot] = (s, i);
                });
            }
        }
        for pass in &self.out.passes {
            for r in &pass.reductions {
                let mut shared = r.operands();
                shared.extend([r.acc, r.out]);
                match r.how {
                    Accumulator::Lanes { outer: Some(outer), .. } => shared.push(outer.slot),
                    Accumulator::Arg { best, .. } => shared.push(best),
                    Accumulator::Fold { .. } | Accumulator::Lanes { outer: None, .. } => {}
                }
                shared.iter().for_each(|slot| local[*slot as usize] = false);
            }
        }
        let mut stays = vec![false; n];
        for step in segments_of(&self.out).into_iter().flatten() {
            if let MicroOp::Load(load) = step {
                stays[load.d as usize] |= load.stays;
            }
            if let MicroOp::Index { d, stays: true, .. } = step {
                stays[*d as usize] = true;
            }
        }
        let (row_len, block) = (self.out.row_len, self.out.block);
        let kept_apart = self.out.lanes == Lanes::Elements;
        let bytes = |info: &super::program::SlotInfo| match (info.kept && kept_apart, info.lanes) {
            // The extra line keeps equal lanes of different slots from sharing their low address bits, and is room for a spread.
            (true, _) => (row_len.next_multiple_of(PAD) * info.size).next_multiple_of(64) + 64,
            (_, true) => block * info.size + 64,
            _ => 16,
        };
        let mut top = 0;
        for slot in 0..n {
            let info = &mut slots[slot];
            local[slot] &= info.lanes && !info.kept && info.home != Home::Uniform && first[slot].is_some() && !stays[slot];
            if !local[slot] {
                if info.lanes || info.kept {
                    top = usize::next_multiple_of(top, 64);
                }
                info.offset = top;
                top += bytes(info);
            }
        }
        top = top.next_multiple_of(64);
        let mut peak = top;
        for (s, steps) in segments_of(&self.out).into_iter().enumerate() {
            let mut end = top;
            let mut free: Vec<(usize, usize)> = Vec::new();
            let mut placed: Vec<(Slot, usize)> = Vec::new();
            for (i, step) in steps.iter().enumerate() {
                visit_slots(step, |slot| {
                    let at = slot as usize;
                    if !local[at] || first[at] != Some((s, i)) || placed.iter().any(|(p, _)| *p == slot) {
                        return;
                    }
                    let size = bytes(&slots[at]);
                    let offset = match free.iter().rposition(|(_, s)| *s == size) {
                        Some(found) => free.swap_remove(found).0,
                        None => {
                            end += size;
                            end - size
                        }
                    };
                    placed.push((slot, offset));
                });
                placed.iter().for_each(|(slot, offset)| slots[*slot as usize].offset = *offset);
                placed.retain(|(slot, offset)| {
                    let done = last[*slot as usize] == (s, i);
                    if done {
                        free.push((*offset, bytes(&slots[*slot as usize])));
                    }
                    !done
                });
            }
            peak = peak.max(end);
        }
        self.out.scratch = peak;
        let kept = slots.iter().enumerate().filter(|(_, info)| info.kept);
        self.out.kept = kept.map(|(slot, info)| (slot as Slot, info.offset, info.size)).collect();
        self.out.slots = slots;
    }
}

fn segments(program: &mut BlockProgram) -> Vec<&mut Vec<MicroOp>> {
    let rows = program.row.iter_mut();
    let passes = program.passes.iter_mut().map(|pass| &mut pass.steps);
    [&mut program.uniform, &mut program.columns].into_iter().chain(rows).chain(passes).collect()
}

pub(super) fn segments_of(program: &BlockProgram) -> Vec<&[MicroOp]> {
    let rows = program.row.iter().map(Vec::as_slice);
    let passes = program.passes.iter().map(|pass| pass.steps.as_slice());
    [program.uniform.as_slice(), program.columns.as_slice()].into_iter().chain(rows).chain(passes).collect()
}

/// Every slot a step writes or reads. `Direct` does neither.
pub(super) fn visit_slots(step: &MicroOp, mut f: impl FnMut(Slot)) {
    match step {
        MicroOp::Op { d, a, b, c, .. } => [*d, *a, *b, *c].into_iter().for_each(f),
        MicroOp::Fused(fused) => {
            f(fused.out);
            fused.operands.lanes.iter().chain(&fused.operands.scalars).for_each(|slot| f(*slot));
        }
        MicroOp::Chain(chain) => chain.slots().for_each(f),
        MicroOp::Splat { d, a, .. } | MicroOp::Spread { d, a, .. } | MicroOp::FoldRows { d, a, .. } => [*d, *a].into_iter().for_each(f),
        MicroOp::Const { d, .. } | MicroOp::Scalar { d, .. } | MicroOp::Index { d, .. } | MicroOp::Acc { d, .. } => f(*d),
        MicroOp::Load(load) => {
            f(load.d);
            load.at.shift.iter().chain(&load.at.dynamic).for_each(|(slot, _)| f(*slot));
            load.mask.iter().for_each(|slot| f(*slot));
        }
        MicroOp::Direct(_) => {}
        MicroOp::Store(store) => {
            f(store.s);
            store.at.shift.iter().chain(&store.at.dynamic).for_each(|(slot, _)| f(*slot));
        }
        MicroOp::Bounded { d, index, .. } => [*d, *index].into_iter().for_each(f),
        MicroOp::Philox { d, seed, offset, index, .. } => [*d, *seed, *offset, *index].into_iter().for_each(f),
    }
}
