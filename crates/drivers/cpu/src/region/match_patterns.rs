//! The matcher: finds the patterns of `fused` in a program, and puts one step where there were several.
//!
//! In: a program's segments, and what operation makes each slot. Out: fewer steps.
//! Never: moves a read over a write of the same argument, or drops a value that something else still uses.

use super::encode::{segments_of, visit_slots};
use super::fused::{Fused, FusedSum, MAP_PATTERNS, MAX_LANES, MAX_OUTS, MAX_SCALARS, MapPattern, Operands, SUM_PATTERNS, SumPattern, Tree};
use super::program::{Compiler, Lanes, MicroOp, Pass, Slot};
use crate::simd::Tier;
use smallvec::{SmallVec, smallvec};
use unigrad_scalar::{BinaryOp, UnaryOp};

/// What defines a slot: an operation of `f32` on other slots.
#[derive(Clone, Copy, Debug)]
pub(super) enum Node {
    Unary(UnaryOp, Slot),
    Binary(BinaryOp, Slot, Slot),
}

impl Node {
    fn operands(self) -> SmallVec<[Slot; 2]> {
        match self {
            Node::Unary(_, a) => SmallVec::from_slice(&[a]),
            Node::Binary(_, a, b) => SmallVec::from_slice(&[a, b]),
        }
    }
}

/// What a pattern's parts are bound to.
#[derive(Clone, Default)]
struct Bindings {
    lanes: [Option<Slot>; MAX_LANES],
    scalars: [Option<Slot>; MAX_SCALARS],
    outs: [Option<Slot>; MAX_OUTS],
    inner: SmallVec<[Slot; 16]>,
}

fn bind(place: &mut Option<Slot>, slot: Slot) -> bool {
    *place.get_or_insert(slot) == slot
}

/// What is left to match.
type Goals<'t> = SmallVec<[(&'t Tree, Slot); 16]>;

/// A segment's definitions.
struct Finder<'a> {
    nodes: &'a [Option<Node>],
    /// Where in the segment a slot is defined, by an operation on lanes.
    at: Vec<Option<usize>>,
    lanes: Vec<bool>,
    kept: Vec<bool>,
    uses: Vec<usize>,
}

impl Finder<'_> {
    /// Binds the patterns' parts to slots. Sums and products are tried both ways round.
    fn matches(&self, mut goals: Goals<'_>, mut bound: Bindings) -> Option<Bindings> {
        while let Some((tree, slot)) = goals.pop() {
            let node = || self.at[slot as usize].and(self.nodes[slot as usize]);
            let bound_now = match tree {
                Tree::Lane(k) => self.lanes[slot as usize] && bind(&mut bound.lanes[*k], slot),
                Tree::Scalar(k) => !self.lanes[slot as usize] && bind(&mut bound.scalars[*k], slot),
                Tree::Out(k, inner) => {
                    goals.push((inner, slot));
                    bind(&mut bound.outs[*k], slot)
                }
                Tree::Unary(op, a) => match node() {
                    Some(Node::Unary(found, x)) if found == *op => {
                        bound.inner.push(slot);
                        goals.push((a, x));
                        true
                    }
                    _ => false,
                },
                Tree::Binary(op, a, b) => match node() {
                    Some(Node::Binary(found, x, y)) if found == *op => {
                        bound.inner.push(slot);
                        if matches!(op, BinaryOp::Add | BinaryOp::Mul) {
                            let mut other = goals.clone();
                            other.extend([(&**b, y), (&**a, x)]);
                            if let Some(found) = self.matches(other, bound.clone()) {
                                return Some(found);
                            }
                            goals.extend([(&**b, x), (&**a, y)]);
                        } else {
                            goals.extend([(&**b, y), (&**a, x)]);
                        }
                        true
                    }
                    _ => false,
                },
            };
            if !bound_now {
                return None;
            }
        }
        Some(bound)
    }

    /// Whether nothing but the expression sees its inner values, and no operand is one of them.
    fn closed(&self, bound: &mut Bindings, roots: &[Slot]) -> bool {
        bound.inner.sort_unstable();
        bound.inner.dedup();
        let inner = &bound.inner;
        let leaves = bound.lanes.iter().chain(&bound.scalars).flatten();
        if leaves.into_iter().any(|leaf| inner.contains(leaf)) {
            return false;
        }
        inner.iter().filter(|slot| !roots.contains(slot)).all(|slot| {
            let reads = |by: &Slot| {
                let operands = self.nodes[*by as usize].map(Node::operands).unwrap_or_default();
                usize::from(operands.contains(slot))
            };
            !self.kept[*slot as usize] && self.uses[*slot as usize] == inner.iter().map(reads).sum::<usize>()
        })
    }

    fn operands(bound: &Bindings) -> Operands {
        // Operands that a pattern skips stand for the first one: nobody reads them.
        let fill = |slots: &[Option<Slot>]| -> Vec<Slot> {
            let n = slots.iter().rposition(Option::is_some).map_or(0, |last| last + 1);
            slots[..n].iter().map(|slot| slot.or(slots.iter().flatten().next().copied()).unwrap_or(0)).collect()
        };
        Operands { lanes: fill(&bound.lanes).into(), scalars: fill(&bound.scalars).into() }
    }
}

impl Compiler<'_> {
    /// Replaces steps by fused ones, segment by segment.
    pub(super) fn fuse(&mut self) {
        let n = self.out.slots.len();
        let mut uses = vec![0usize; n];
        for steps in segments_of(&self.out) {
            for step in steps {
                // A step uses a slot once, however many of its operands that is.
                let mut seen: SmallVec<[Slot; 8]> = SmallVec::new();
                visit_slots(step, |slot| {
                    if !seen.contains(&slot) {
                        seen.push(slot);
                        uses[slot as usize] += 1;
                    }
                });
            }
        }
        // The definition counted as one.
        uses.iter_mut().for_each(|uses| *uses = uses.saturating_sub(1));
        for pass in &self.out.passes {
            pass.reductions.iter().for_each(|r| uses[r.arg as usize] += 1);
        }
        let lanes = self.out.slots.iter().map(|slot| slot.lanes).collect();
        let kept = self.out.slots.iter().map(|slot| slot.kept).collect();
        let nodes = std::mem::take(&mut self.nodes);
        let mut finder = Finder { nodes: &nodes, at: vec![None; n], lanes, kept, uses };
        for p in 0..self.out.passes.len() {
            let pass = &mut self.out.passes[p];
            if self.lanes == Lanes::Elements {
                fuse_sums(pass, &mut finder, &SUM_PATTERNS, self.tier);
            }
            fuse_maps(&mut pass.steps, &mut finder, &MAP_PATTERNS, self.tier);
        }
        if self.lanes == Lanes::Rows {
            for steps in &mut self.out.row {
                fuse_maps(steps, &mut finder, &MAP_PATTERNS, self.tier);
            }
        }
    }
}

fn locate(steps: &[MicroOp], finder: &mut Finder<'_>) {
    finder.at.fill(None);
    for (i, step) in steps.iter().enumerate() {
        if let MicroOp::Op { d, .. } = step
            && finder.lanes[*d as usize]
        {
            finder.at[*d as usize] = Some(i);
        }
    }
}

fn reads(step: &MicroOp, slot: Slot) -> bool {
    let mut found = false;
    visit_slots(step, |s| found |= s == slot);
    found
}

/// Sums of expressions, in passes that store nothing.
fn fuse_sums(pass: &mut Pass, finder: &mut Finder<'_>, patterns: &[SumPattern], tier: Tier) {
    if pass.steps.iter().any(|step| matches!(step, MicroOp::Store(_))) {
        return;
    }
    for r in 0..pass.reductions.len() {
        locate(&pass.steps, finder);
        let root = pass.reductions[r].arg;
        let (Some(at), true) = (finder.at[root as usize], pass.reductions[r].sums_f32) else { continue };
        // Beside its definition and this reduction, only later passes may see the value.
        let seen = pass.steps.iter().enumerate().any(|(i, step)| i != at && reads(step, root));
        if seen || pass.reductions.iter().enumerate().any(|(other, reduction)| other != r && reduction.reads(root)) {
            continue;
        }
        let found = patterns.iter().find_map(|pattern| {
            let mut bound = finder.matches(smallvec![(&pattern.tree, root)], Bindings::default())?;
            finder.closed(&mut bound, &[root]).then_some((pattern, bound))
        });
        let Some((pattern, bound)) = found else { continue };
        let store = finder.kept[root as usize] || finder.uses[root as usize] > 1;
        let f = if store { pattern.stored } else { pattern.f };
        pass.reductions[r].sum = Some(FusedSum { f: f(tier), operands: Finder::operands(&bound), store });
        let gone: SmallVec<[usize; 16]> = bound.inner.iter().filter_map(|slot| finder.at[*slot as usize]).collect();
        let mut i = 0;
        pass.steps.retain(|_| {
            i += 1;
            !gone.contains(&(i - 1))
        });
    }
}

/// Expressions of lanes.
fn fuse_maps(steps: &mut Vec<MicroOp>, finder: &mut Finder<'_>, patterns: &[MapPattern], tier: Tier) {
    if !stores_last(steps) {
        return;
    }
    locate(steps, finder);
    let mut gone = vec![false; steps.len()];
    for last in (0..steps.len()).rev() {
        let MicroOp::Op { d: root, .. } = steps[last] else { continue };
        if gone[last] || finder.at[root as usize] != Some(last) {
            continue;
        }
        for pattern in patterns {
            let Some(mut bound) = finder.matches(smallvec![(&pattern.tree, root)], Bindings::default()) else { continue };
            bound.outs[0] = Some(root);
            let outs: SmallVec<[Slot; MAX_OUTS]> = bound.outs.iter().flatten().copied().collect();
            if outs.len() != pattern.outs || !finder.closed(&mut bound, &outs) {
                continue;
            }
            let places: SmallVec<[usize; 16]> = bound.inner.iter().filter_map(|slot| finder.at[*slot as usize]).collect();
            if places.iter().any(|place| gone[*place]) {
                continue;
            }
            // Other results are made later than before: nothing may want them earlier.
            let wanted = |slot: Slot| {
                let from = finder.at[slot as usize].unwrap_or(last);
                (from + 1..last).any(|i| !gone[i] && !places.contains(&i) && reads(&steps[i], slot))
            };
            if outs.iter().any(|slot| wanted(*slot)) {
                continue;
            }
            places.iter().for_each(|place| gone[*place] = *place != last);
            outs.iter().for_each(|slot| finder.at[*slot as usize] = None);
            let (f, in_place) = ((pattern.f)(tier), (pattern.in_place)(tier));
            let fused = Fused { f, in_place, outs, operands: Finder::operands(&bound), update: false, updates: pattern.updates };
            steps[last] = MicroOp::Fused(Box::new(fused));
            break;
        }
    }
    let mut i = 0;
    steps.retain(|_| {
        i += 1;
        !gone[i - 1]
    });
}

/// Moves stores to the end, unless something is loaded from an argument after it was stored.
fn stores_last(steps: &mut [MicroOp]) -> bool {
    let mut stored: SmallVec<[u32; 8]> = SmallVec::new();
    for step in steps.iter() {
        match step {
            MicroOp::Store(store) => stored.push(store.at.arg),
            MicroOp::Load(load) if stored.contains(&load.at.arg) => return false,
            _ => {}
        }
    }
    // Stable: a `false` comes before a `true`.
    steps.sort_by_key(|step| matches!(step, MicroOp::Store(_)));
    true
}

/// Lets results take the place of operands in the launch's memory: where a step's every result is stored over the very load that
/// is its operand of the same number, and that step is the load's only use.
pub(super) fn find_updates(steps: &mut [MicroOp], loaded_once: impl Fn(u32) -> bool, used_by_reductions: impl Fn(Slot) -> bool) {
    for at in 0..steps.len() {
        let MicroOp::Fused(fused) = &steps[at] else { continue };
        let mut stores: SmallVec<[usize; MAX_OUTS]> = SmallVec::new();
        for (out, lane) in fused.outs.iter().zip(&fused.operands.lanes) {
            let load = steps.iter().find_map(|step| match step {
                MicroOp::Load(load) if load.d == *lane && load.in_place && load.mask.is_none() && loaded_once(load.at.arg) => Some(load),
                _ => None,
            });
            let store = steps.iter().position(|step| match (step, load) {
                (MicroOp::Store(store), Some(load)) => store.s == *out && store.same_bytes && store.at.same_place(&load.at),
                _ => false,
            });
            let readers = steps.iter().filter(|step| reads(step, *lane)).count();
            if let (Some(store), 2, false) = (store, readers, used_by_reductions(*lane)) {
                stores.push(store);
            }
        }
        if stores.len() != fused.outs.len() || !fused.updates {
            continue;
        }
        for store in stores {
            if let MicroOp::Store(store) = &mut steps[store] {
                store.update = true;
            }
        }
        if let MicroOp::Fused(fused) = &mut steps[at] {
            fused.update = true;
        }
    }
}
