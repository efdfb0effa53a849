//! Fusion: one step where there were several. Here are the order of things and the matcher of the patterns of `fused`; what is no pattern
//! becomes a chain (`form_chains`).
//!
//! In: a program's segments, and what operation makes each slot. Out: fewer steps.
//! Never: moves a read over a write of the same argument, or drops a value that something else still uses.

use super::encode::{segments_of, visit_slots};
use super::fused::{Fused, FusedSum, MAP_PATTERNS, MAX_LANES, MAX_SCALARS, Operands, SUM_PATTERNS, SumPattern, Tree};
use super::lanes::Lanes;
use super::program::{Compiler, MicroOp, Pass, Segment, Slot, Summand};
use crate::simd::Tier;
use smallvec::{SmallVec, smallvec};
use unigrad_scalar::{BinaryOp, UnaryOp};

/// What defines a slot: an operation of `f32` on other slots.
#[derive(Clone, Copy, Debug)]
pub(super) enum Node {
    Unary(UnaryOp, Slot),
    Binary(BinaryOp, Slot, Slot),
    /// By a truth value (of any kind): the first or the second.
    Select(Slot, Slot, Slot),
}

impl Node {
    pub(super) fn operands(self) -> SmallVec<[Slot; 3]> {
        match self {
            Node::Unary(_, a) => SmallVec::from_slice(&[a]),
            Node::Binary(_, a, b) => SmallVec::from_slice(&[a, b]),
            Node::Select(condition, a, b) => SmallVec::from_slice(&[condition, a, b]),
        }
    }
}

/// What a pattern's parts are bound to.
#[derive(Clone, Default)]
struct Bindings {
    lanes: [Option<Slot>; MAX_LANES],
    scalars: [Option<Slot>; MAX_SCALARS],
    inner: SmallVec<[Slot; 16]>,
}

fn bind(place: &mut Option<Slot>, slot: Slot) -> bool {
    *place.get_or_insert(slot) == slot
}

/// What is left to match.
type Goals<'t> = SmallVec<[(&'t Tree, Slot); 16]>;

/// A segment's definitions.
pub(super) struct Finder<'a> {
    pub(super) nodes: &'a [Option<Node>],
    /// Where in the segment a slot is defined, by an operation on lanes.
    at: Vec<Option<usize>>,
    pub(super) lanes: Vec<bool>,
    pub(super) kept: Vec<bool>,
    /// Steps and reductions that read a slot.
    pub(super) uses: Vec<usize>,
}

impl Finder<'_> {
    /// Binds the patterns' parts to slots. Sums and products are tried both ways round.
    fn matches(&self, mut goals: Goals<'_>, mut bound: Bindings) -> Option<Bindings> {
        while let Some((tree, slot)) = goals.pop() {
            let node = || self.at[slot as usize].and(self.nodes[slot as usize]);
            let bound_now = match tree {
                Tree::Lane(k) => self.lanes[slot as usize] && bind(&mut bound.lanes[*k], slot),
                Tree::Scalar(k) => !self.lanes[slot as usize] && bind(&mut bound.scalars[*k], slot),
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
    fn closed(&self, bound: &mut Bindings, root: Slot) -> bool {
        bound.inner.sort_unstable();
        bound.inner.dedup();
        let inner = &bound.inner;
        let leaves = bound.lanes.iter().chain(&bound.scalars).flatten();
        if leaves.into_iter().any(|leaf| inner.contains(leaf)) {
            return false;
        }
        inner.iter().filter(|slot| **slot != root).all(|slot| {
            let reads = |by: &Slot| {
                let operands = self.nodes[*by as usize].map(Node::operands).unwrap_or_default();
                usize::from(operands.contains(slot))
            };
            !self.kept[*slot as usize] && self.uses[*slot as usize] == inner.iter().map(reads).sum::<usize>()
        })
    }

    /// The pattern that all of these steps are together, if there is one.
    pub(super) fn whole(&mut self, steps: &[MicroOp], tier: Tier) -> Option<Fused> {
        let Some(MicroOp::Op { d: root, .. }) = steps.last() else { return None };
        locate(steps, self);
        MAP_PATTERNS.iter().find_map(|pattern| {
            let mut bound = self.matches(smallvec![(&pattern.tree, *root)], Bindings::default())?;
            let fits = self.closed(&mut bound, *root) && bound.inner.len() == steps.len();
            fits.then(|| Fused { f: (pattern.f)(tier), out: *root, operands: Finder::operands(&bound) })
        })
    }

    fn operands(bound: &Bindings) -> Operands {
        // Operands that a pattern skips stand for the first one: they are not read.
        let fill = |slots: &[Option<Slot>]| -> Vec<Slot> {
            let (Some(last), Some(first)) = (slots.iter().rposition(Option::is_some), slots.iter().flatten().next()) else {
                return Vec::new();
            };
            slots[..=last].iter().map(|slot| slot.unwrap_or(*first)).collect()
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
            let mut pass = std::mem::take(&mut self.out.passes[p]);
            if self.lanes == Lanes::Elements {
                fuse_sums(&mut pass, &mut finder, &SUM_PATTERNS, self.tier);
                self.chain_sums(&mut pass, Segment::Full(p), &finder);
            }
            if stores_last(&mut pass.steps) {
                pass.steps = self.form_chains(pass.steps, Segment::Full(p), &mut finder);
            }
            self.out.passes[p] = pass;
        }
        if self.lanes != Lanes::Elements {
            for row in 0..self.out.row.len() {
                let mut steps = std::mem::take(&mut self.out.row[row]);
                if stores_last(&mut steps) {
                    steps = self.form_chains(steps, Segment::Row(row), &mut finder);
                }
                self.out.row[row] = steps;
            }
        }
        self.drop_splats();
    }

    /// Takes out copies to all lanes that no step needs, now that chains take the number itself.
    fn drop_splats(&mut self) {
        let mut needed = vec![false; self.out.slots.len()];
        for step in segments_of(&self.out).into_iter().flatten() {
            let made = if let MicroOp::Splat { d, .. } = step { Some(*d) } else { None };
            visit_slots(step, |slot| needed[slot as usize] |= made != Some(slot));
        }
        for reduction in self.out.passes.iter().flat_map(|pass| &pass.reductions) {
            reduction.operands().into_iter().for_each(|slot| needed[slot as usize] = true);
        }
        let is_needed = |step: &MicroOp| !matches!(step, MicroOp::Splat { d, .. } if !needed[*d as usize]);
        self.out.uniform.retain(is_needed);
        self.out.columns.retain(is_needed);
        self.out.row.iter_mut().for_each(|steps| steps.retain(is_needed));
        self.out.passes.iter_mut().for_each(|pass| pass.steps.retain(is_needed));
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

/// Whether a step reads or writes the slot.
pub(super) fn reads(step: &MicroOp, slot: Slot) -> bool {
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
            finder.closed(&mut bound, root).then_some((pattern, bound))
        });
        let Some((pattern, bound)) = found else { continue };
        let store = finder.kept[root as usize] || finder.uses[root as usize] > 1;
        let f = if store { pattern.stored } else { pattern.f };
        pass.reductions[r].sum = Some(Summand::Pattern(FusedSum { f: f(tier), operands: Finder::operands(&bound), store }));
        let gone: SmallVec<[usize; 16]> = bound.inner.iter().filter_map(|slot| finder.at[*slot as usize]).collect();
        let mut i = 0;
        pass.steps.retain(|_| {
            i += 1;
            !gone.contains(&(i - 1))
        });
    }
}

/// Moves stores to the end, unless something is loaded from an argument after it was stored.
fn stores_last(steps: &mut [MicroOp]) -> bool {
    let mut stored: SmallVec<[u32; 8]> = SmallVec::new();
    for step in steps.iter() {
        if let MicroOp::Store(store) = step {
            stored.push(store.at.arg);
        }
        if matches!(step, MicroOp::Load(load) if stored.contains(&load.at.arg)) {
            return false;
        }
    }
    // Stable: a `false` comes before a `true`.
    steps.sort_by_key(|step| matches!(step, MicroOp::Store(_)));
    true
}
