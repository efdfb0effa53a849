//! What a region with reductions does, pass by pass: which reductions each walk over the reduce axes completes, and what it needs for that.
//!
//! Always: a reduction is complete before anything that uses it; stores at every point come in the last walk, since an argument may be
//! written in place; stores per row come after all walks.

use super::{
    body::Body,
    exponential,
    ops::{Carried, Fold},
    picks::Pick,
    row::Job,
};
use crate::lower::Signature;
use unigrad_ir::Place;
use unigrad_kernel::{InstOp, Level, Region, Value};
use unigrad_scalar::{BinaryOp, DType, ReduceOp, UnaryOp};

/// See the module's text.
#[derive(Debug)]
pub(super) struct Passes {
    /// Reductions below each instruction: the walks that must be complete before it.
    pub(super) depth: Vec<usize>,
    /// By instruction: the sums that are no reductions of a walk, since one point makes them.
    pub(super) picks: Vec<Option<Pick>>,
    /// By instruction: of sums of `exp(x - max(x))` that are made in one walk with the greatest element ([`Fold::Exponentials`]), `x`.
    exponentials: Vec<Option<usize>>,
    /// Loads that the first walk makes though later ones need them; see [`Passes::early`].
    early: Vec<usize>,
    /// By walk: its reductions.
    pub(super) reductions: Vec<Vec<usize>>,
    /// Whether something is stored at every point.
    pub(super) full_stores: bool,
    /// Whether something is stored once per row.
    pub(super) row_stores: bool,
}

/// The reduction that an instruction is, and its argument.
pub(super) fn fold_of(op: &InstOp) -> Option<(Fold, usize)> {
    match op {
        InstOp::Reduce(op, a) => Some((Fold::Reduce(*op), a.index())),
        InstOp::ArgReduce(op, a) => Some((Fold::Arg(*op), a.index())),
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
        | InstOp::Store { .. } => None,
    }
}

/// `x`, if an instruction is the sum of `exp(x - max(x))` over rows that have points.
fn exponentials_of(region: &Region, at: usize) -> Option<usize> {
    let op = |value: &Value| &region.insts[value.index()].op;
    let InstOp::Reduce(ReduceOp::Sum, term) = &region.insts[at].op else { return None };
    let InstOp::Unary(UnaryOp::Exp, distance) = op(term) else { return None };
    let x = &exponential::distance(region, *distance)?;
    let is_float = [term, distance, x].iter().all(|value| region.insts[value.index()].dtype.is_float());
    (is_float && region.row_len() > 0).then_some(x.index())
}

impl Passes {
    /// With the sums that pick a point, by instruction. With `online`, a sum of exponentials shares the walk that finds the greatest element.
    pub(super) fn new(body: &Body<'_>, picks: Vec<Option<Pick>>, online: bool) -> Passes {
        let region = body.region;
        let exponentials: Vec<Option<usize>> =
            (0..region.insts.len()).map(|at| if online { exponentials_of(region, at) } else { None }).collect();
        let n = region.insts.len();
        let is_fold = |at: usize| fold_of(&region.insts[at].op).is_some() && picks[at].is_none();
        let mut depth = vec![0; n];
        let (mut last, mut n_reduce) = (None, 0);
        let (mut full_stores, mut row_stores) = (false, false);
        for (at, inst) in region.insts.iter().enumerate() {
            match exponentials[at] {
                Some(x) => depth[at] = depth[x],
                None => inst.op.visit_values(|value| depth[at] = depth[at].max(depth[value.index()])),
            }
            if !body.live[at] {
                continue;
            }
            if is_fold(at) {
                depth[at] += 1;
                n_reduce = n_reduce.max(depth[at]);
            }
            if matches!(inst.op, InstOp::Store { .. }) {
                let full = body.levels[at] == Level::Full;
                full_stores |= full;
                row_stores |= !full;
                if full {
                    last = last.max(Some(depth[at]));
                }
            }
        }
        let n_passes = n_reduce.max(last.map_or(0, |last| last + 1));
        let mut reductions = vec![Vec::new(); n_passes];
        for at in (0..n).filter(|at| body.live[*at] && is_fold(*at)) {
            reductions[depth[at] - 1].push(at);
        }
        Passes { depth, picks, exponentials, early: Vec::new(), reductions, full_stores, row_stores }
    }

    /// With all that is loaded of a row loaded in the first walk, so that threads wait for memory once for each row; none if that is so already. Threads
    /// that do many rows one after the other have few others beside them that could use the time.
    pub(super) fn early(mut self, body: &Body<'_>) -> Option<Passes> {
        let is_plain = |at: &usize| {
            let InstOp::Load { index, mask: None, .. } = &body.region.insts[*at].op else { return false };
            is_dear(body, *at) && index.dynamic.is_empty()
        };
        let mut made = self.needed(body, 0, |_| false);
        for pass in 1..self.len() {
            let needed = self.needed(body, pass, |_| false);
            let late = (0..needed.len()).filter(|at| needed[*at] && !made[*at]).filter(is_plain).collect::<Vec<_>>();
            late.iter().for_each(|at| made[*at] = true);
            self.early.extend(late);
        }
        (!self.early.is_empty()).then_some(self)
    }

    /// How many walks there are.
    pub(super) fn len(&self) -> usize {
        self.reductions.len()
    }

    /// Whether this walk stores.
    pub(super) fn stores(&self, pass: usize) -> bool {
        self.full_stores && pass + 1 == self.len()
    }

    /// Whether this walk overwrites what picks are made from.
    pub(super) fn overwrites_picks(&self, pass: usize) -> bool {
        self.stores(pass) && self.picks.iter().flatten().any(|pick| pick.is_overwritten)
    }

    /// The instructions a walk evaluates at every point, its reductions aside. Values that `have` names are there already.
    pub(super) fn needed(&self, body: &Body<'_>, pass: usize, have: impl Fn(usize) -> bool) -> Vec<bool> {
        let region = body.region;
        let mut needed = vec![false; region.insts.len()];
        for at in (0..needed.len()).rev() {
            let goal = self.reductions[pass].contains(&at);
            let store = self.stores(pass) && body.levels[at] == Level::Full && matches!(region.insts[at].op, InstOp::Store { .. });
            needed[at] |= store || pass == 0 && self.early.contains(&at);
            if goal || needed[at] && !have(at) {
                self.visit_values(region, at, |value| needed[value] |= body.levels[value] == Level::Full);
            }
        }
        needed
    }

    /// By walk: the values that it makes and a later one takes from where they were kept, among those that are worth it.
    pub(super) fn kept(&self, body: &Body<'_>, worth: impl Fn(usize) -> bool) -> Vec<Vec<usize>> {
        let region = body.region;
        let n = region.insts.len();
        let worth: Vec<bool> = (0..n).map(|at| is_dear(body, at) && worth(at)).collect();
        // By value: the first walk that makes it.
        let mut made: Vec<Option<usize>> = vec![None; n];
        let mut kept: Vec<Vec<usize>> = vec![Vec::new(); self.len()];
        for pass in 0..self.len() {
            let needed = self.needed(body, pass, |at| made[at].is_some() && worth[at]);
            for at in (0..n).filter(|at| needed[*at]) {
                match made[at] {
                    Some(first) if worth[at] => {
                        if !kept[first].contains(&at) {
                            kept[first].push(at);
                        }
                    }
                    Some(_) => {}
                    None => made[at] = Some(pass),
                }
            }
        }
        kept
    }

    /// Calls `f` with what an instruction is made from.
    fn visit_values(&self, region: &Region, at: usize, mut f: impl FnMut(usize)) {
        match self.exponentials[at] {
            Some(x) => f(x),
            None => region.insts[at].op.visit_values(|value| f(value.index())),
        }
    }

    /// The reductions whose results a walk, or what is stored per row (`None`), depends on; and all row values it needs.
    pub(super) fn needs_of(&self, body: &Body<'_>, pass: Option<usize>) -> Vec<bool> {
        let region = body.region;
        let mut needed = vec![false; region.insts.len()];
        for at in (0..needed.len()).rev() {
            let store = matches!(region.insts[at].op, InstOp::Store { .. });
            let goal = match pass {
                Some(pass) => self.reductions[pass].contains(&at) || store && self.stores(pass) && body.levels[at] == Level::Full,
                None => store && body.levels[at] != Level::Full,
            };
            let through = goal || needed[at] && (fold_of(&region.insts[at].op).is_none() || self.picks[at].is_some());
            if through {
                self.visit_values(region, at, |value| needed[value] = true);
            }
        }
        needed
    }

    /// Declares the scratch buffers of the reductions that a program writes or begins with, by instruction. Scratch buffers are numbered from 0, in
    /// the order of [`Passes::scratch_parts`].
    pub(super) fn scratch(&self, sig: &mut Signature, body: &Body<'_>, job: Job, needed: &[bool]) -> Vec<Vec<Place>> {
        let mut places: Vec<Vec<Place>> = vec![Vec::new(); body.region.insts.len()];
        if job == Job::All {
            return places;
        }
        let mut scratch = 0;
        for (pass, at) in self.reductions.iter().enumerate().flat_map(|(pass, all)| all.iter().map(move |at| (pass, *at))) {
            let Some((carried, _)) = self.carried(body, at) else {
                sig.b.mistake(format!("instruction {at} is no reduction"));
                continue;
            };
            let writes = job == Job::Pass(pass);
            for (part, dtype) in carried.parts().into_iter().enumerate() {
                if writes || needed[at] {
                    places[at].push(sig.scratch(&format!("partial{at}_{part}"), scratch, dtype, writes));
                }
                scratch += 1;
            }
        }
        places
    }

    /// The dtypes of what all reductions leave of a part of a row.
    pub(super) fn scratch_parts(&self, body: &Body<'_>) -> Vec<DType> {
        self.reductions.iter().flatten().filter_map(|at| self.carried(body, *at)).flat_map(|(carried, _)| carried.parts()).collect()
    }

    /// What threads carry of a reduction.
    pub(super) fn carried(&self, body: &Body<'_>, at: usize) -> Option<(Carried, usize)> {
        let (fold, argument) = match self.exponentials[at] {
            Some(x) => (Fold::Exponentials, x),
            None => fold_of(&body.region.insts[at].op)?,
        };
        let index = if body.region.row_len() < u32::MAX as usize { DType::U32 } else { DType::U64 };
        Some((Carried::new(&body.region.insts[at], fold, body.held(argument), body.held(at), index), argument))
    }
}

/// Whether a value is better kept than made again: what comes from memory and differs between rows, and what costs many operations.
fn is_dear(body: &Body<'_>, at: usize) -> bool {
    let region: &Region = body.region;
    match &region.insts[at].op {
        InstOp::Load { index, mask, .. } => {
            let of_row = index.strides[..region.n_parallel].iter().any(|stride| *stride != 0);
            of_row || mask.is_some() || !index.dynamic.is_empty()
        }
        InstOp::Unary(op, _) => op.cost() > 1 || *op == UnaryOp::Recip,
        InstOp::Binary(op, ..) => matches!(op, BinaryOp::Pow | BinaryOp::Atan2 | BinaryOp::Rem | BinaryOp::IDiv),
        InstOp::Philox { .. } => true,
        InstOp::Const(_)
        | InstOp::Scalar(_)
        | InstOp::AxisIndex(_)
        | InstOp::Acc
        | InstOp::Where(..)
        | InstOp::Cast(_)
        | InstOp::Bitcast(_)
        | InstOp::Bounded { .. }
        | InstOp::Reduce(..)
        | InstOp::ArgReduce(..)
        | InstOp::Store { .. } => false,
    }
}
