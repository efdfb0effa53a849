//! Steps that only say where the launch's memory lies: taken out of the way of those that compute.
//!
//! In: a program whose slots have their memory. Out: whether a map needs no room for a block, so that its blocks may be long; and, for each
//! pass over a row, where its loads and results lie as a function of the row, and which steps are left. A row then costs its arithmetic, a
//! few addresses, and no look at how a load is laid out.
//! Always: a function of the region alone; the executor looks at each launch's arguments before it uses any of this.
//! Never: takes out a step that may have to move an element.

use super::encode::visit_slots;
use super::lanes::Lanes;
use super::program::{Access, BlockProgram, MicroOp, PAD, Slot, Store};
use super::view::View;
use std::ops::Range;

/// The longest row that is brought near before it is needed.
const LONGEST_AHEAD: usize = 64 << 10;

/// Where a slot's lanes lie in the launch's memory: element `k` of row `row` at `offset + par(row) + k`.
#[derive(Debug)]
pub(super) struct Moving {
    pub(super) slot: Slot,
    pub(super) arg: u32,
    pub(super) offset: i64,
    pub(super) par: View,
    pub(super) size: usize,
    /// A result that is made there.
    pub(super) write: bool,
}

impl Moving {
    /// The address of element `k` of a row, from the argument's own.
    #[inline]
    pub(super) fn at(&self, base: *mut u8, row: usize, k: usize) -> *mut u8 {
        base.wrapping_offset((self.offset + self.par.at(row) + k as i64) as isize * self.size as isize)
    }
}

/// A pass over a row.
#[derive(Debug, Default)]
pub(super) struct BoundPass {
    pub(super) moving: Vec<Moving>,
    /// The steps that are left, in order.
    pub(super) rest: Vec<Range<usize>>,
}

/// Whether a map's points can be read where they lie, and be made where they go, by one step that computes at most: what steps tell each
/// other should be in near memory.
pub(super) fn is_roomless(program: &BlockProgram) -> bool {
    let [steps] = program.row.as_slice() else { return false };
    if program.lanes != Lanes::Rows || !program.passes.is_empty() || program.acc_size > 0 {
        return false;
    }
    let is_loaded = |slot: Slot| steps.iter().any(|step| matches!(step, MicroOp::Load(load) if load.d == slot));
    let is_made_there = |store: &Store| store.direct || store.update;
    let is_stored = |slot: Slot| steps.iter().any(|step| matches!(step, MicroOp::Store(store) if store.s == slot && is_made_there(store)));
    let has_place = |slot: Slot| !program.slots[slot as usize].lanes || is_loaded(slot) || is_stored(slot);
    let mut computes = 0;
    let each = steps.iter().all(|step| match step {
        MicroOp::Load(load) => load.in_place && load.mask.is_none() && load.at.dynamic.is_empty(),
        MicroOp::Store(store) => {
            let moves = store.same_bytes && is_loaded(store.s);
            store.at.dynamic.is_empty() && (moves || is_made_there(store))
        }
        MicroOp::Direct(_) => true,
        MicroOp::Op { .. } | MicroOp::Fused(_) | MicroOp::Chain(_) => {
            computes += 1;
            let is_own = |slot: Slot| matches!(step, MicroOp::Chain(chain) if chain.owns(slot));
            let mut placed = true;
            visit_slots(step, |slot| placed &= has_place(slot) || is_own(slot));
            placed
        }
        MicroOp::Splat { .. }
        | MicroOp::Spread { .. }
        | MicroOp::FoldRows { .. }
        | MicroOp::Const { .. }
        | MicroOp::Scalar { .. }
        | MicroOp::Index { .. }
        | MicroOp::Acc { .. }
        | MicroOp::Bounded { .. }
        | MicroOp::Philox { .. } => false,
    });
    each && computes <= 1
}

/// Of each pass, what can be placed by the row alone. Nothing where rows end within a vector: padding lanes reach beyond them.
pub(super) fn bind(program: &BlockProgram) -> Vec<BoundPass> {
    if program.lanes != Lanes::Elements || !program.row_len.is_multiple_of(PAD) {
        return Vec::new();
    }
    program.passes.iter().map(|pass| bind_pass(&pass.steps, program.row_len)).collect()
}

/// What the first pass over a row reads of it alone: worth asking for before the row's turn comes.
pub(super) fn ahead(program: &BlockProgram) -> Vec<Moving> {
    let Some(first) = program.passes.first().filter(|_| program.lanes == Lanes::Elements) else { return Vec::new() };
    let read = first.steps.iter().filter_map(|step| {
        let MicroOp::Load(load) = step else { return None };
        moving(load.d, &load.at, false, program.row_len)
    });
    read.filter(|m| m.par.inner_stride() != 0 && program.row_len * m.size <= LONGEST_AHEAD).collect()
}

fn moving(slot: Slot, at: &Access, write: bool, row_len: usize) -> Option<Moving> {
    let (start, stride) = at.red.one_run(0, row_len)?;
    let fixed = at.dynamic.is_empty() && at.shift.is_empty() && stride == 1;
    fixed.then(|| Moving { slot, arg: at.arg, offset: at.offset + start, par: at.par.clone(), size: at.size, write })
}

fn bind_pass(steps: &[MicroOp], row_len: usize) -> BoundPass {
    let mut bound = BoundPass::default();
    for (i, step) in steps.iter().enumerate() {
        let placed = match step {
            MicroOp::Load(load) if load.in_place && load.mask.is_none() => moving(load.d, &load.at, false, row_len),
            MicroOp::Direct(store) => moving(store.s, &store.at, true, row_len),
            // What has been made there.
            MicroOp::Store(store) if store.direct && bound.moving.iter().any(|m| m.write && m.slot == store.s) => continue,
            MicroOp::Op { .. }
            | MicroOp::Fused(_)
            | MicroOp::Chain(_)
            | MicroOp::Splat { .. }
            | MicroOp::Spread { .. }
            | MicroOp::FoldRows { .. }
            | MicroOp::Const { .. }
            | MicroOp::Scalar { .. }
            | MicroOp::Index { .. }
            | MicroOp::Acc { .. }
            | MicroOp::Load(_)
            | MicroOp::Store(_)
            | MicroOp::Bounded { .. }
            | MicroOp::Philox { .. } => None,
        };
        match (placed, bound.rest.last_mut()) {
            (Some(placed), _) => bound.moving.push(placed),
            (None, Some(last)) if last.end == i => last.end = i + 1,
            (None, _) => bound.rest.push(i..i + 1),
        }
    }
    bound
}
