//! A segment: what lies between a product that widens its rows and the results that are narrow again.
//!
//! In: a product. Out: the nodes that a chunk of its rows computes, and what each takes of its inputs; nothing, if there is a node among them that is not
//! made of rows alone.
//!
//! Of what depends on the product, three kinds of nodes have a rule: *rows* of the result are made of the same rows of the inputs; a *sum* adds all rows
//! up; all else is outside. A node is *wide* that has at least half as many elements as the product. Whatever reads a wide node has to be in the segment,
//! and so has all that depends on the product on the way to it. What is outside reads narrow rows, joined again, and sums.
//! What does not depend on the product (a teacher's logits, one-hot targets) is made by chunks too where it is wide.
//! Always: linear in nodes; at most [`MAX_MEMBERS`] nodes. Never: a wide node that is needed outside.

use super::rows::{self, Rows, Take, Takes};
use crate::ir::{Id, Ir, IrOp, Kind};
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;
use std::collections::BinaryHeap;
use unigrad_graph::Op;

/// A product's rows are at least so many times as long as its left factor's, and longer. A hidden layer of a transformer is not a segment.
const WIDENS: usize = 4;
/// Most nodes of a segment: each is there once for each chunk.
const MAX_MEMBERS: usize = 512;
/// How far something wide is looked for below what is narrow and does not depend on the product.
const FAR: usize = 16;

/// A node that is computed by chunks.
pub(super) struct Member {
    pub(super) id: Id,
    /// Where its rows are; `None`: it adds them up.
    pub(super) rows: Option<Rows>,
    pub(super) takes: Takes,
    /// Whether it depends on the product, and is computed by chunks alone.
    pub(super) is_own: bool,
}

pub(super) struct Segment {
    pub(super) product: Id,
    pub(super) n_rows: usize,
    /// By id, ascending.
    pub(super) members: Vec<Member>,
}

/// Products that widen their rows, the largest result first.
pub(super) fn products(ir: &Ir) -> Vec<Id> {
    let widens = |id: &Id| {
        let node = ir.node(*id);
        let factor = node.inputs.first().map(|input| &ir.node(*input).shape);
        node.op == IrOp::Op(Op::MatMul)
            && node.dtype.is_float()
            && matches!((node.shape.last(), factor.and_then(|factor| factor.last())), (Some(n), Some(k)) if *n / WIDENS > *k)
    };
    let mut products: Vec<Id> = (0..ir.nodes.len() as Id).filter(widens).collect();
    products.sort_by_key(|id| (std::cmp::Reverse(ir.numel(*id)), *id));
    products
}

/// What is known of a node that depends on the product.
struct Standing {
    rows: Option<Rows>,
    takes: Takes,
    /// Whether what is made of it may be in the segment: a product that narrows ends it.
    goes_on: bool,
}

struct Finder<'a> {
    ir: &'a Ir,
    users: &'a [SmallVec<[Id; 4]>],
    is_output: &'a [bool],
    /// Elements of a wide node, at least.
    wide: usize,
    depends: Vec<bool>,
    standing: FxHashMap<Id, Standing>,
}

/// The segment of a product.
pub(super) fn find(ir: &Ir, users: &[SmallVec<[Id; 4]>], is_output: &[bool], product: Id) -> Option<Segment> {
    let rows = Rows { axis: ir.node(product).shape.len().checked_sub(2)?, n_axes: 1 };
    let takes = rows::takes(ir, product, rows)?;
    let depends = vec![false; ir.nodes.len()];
    let wide = ir.numel(product).div_ceil(2);
    let mut finder = Finder { ir, users, is_output, wide, depends, standing: FxHashMap::default() };
    finder.depends[product as usize] = true;
    finder.standing.insert(product, Standing { rows: Some(rows), takes, goes_on: true });
    for id in product + 1..ir.nodes.len() as Id {
        finder.follow(id);
    }
    let own = finder.own(product)?;
    let mut members: Vec<Member> = Vec::with_capacity(own.len());
    for id in &own {
        let Standing { rows, takes, .. } = finder.standing.get(id)?;
        members.push(Member { id: *id, rows: *rows, takes: takes.clone(), is_own: true });
    }
    finder.add_beside(&own, &mut members)?;
    members.sort_by_key(|member| (member.id, member.rows));
    Some(Segment { product, n_rows: rows.count(&ir.node(product).shape), members })
}

impl Finder<'_> {
    fn is_wide(&self, id: Id) -> bool {
        self.ir.numel(id) >= self.wide
    }

    /// Finds out whether a node depends on the product, and by which rule.
    fn follow(&mut self, id: Id) {
        let node = self.ir.node(id);
        let depends = |input: &Id| self.depends[*input as usize];
        let Some(first) = node.inputs.iter().position(depends) else { return };
        let standing = self.rule(id, first);
        self.depends[id as usize] = true;
        if let Some(standing) = standing {
            self.standing.insert(id, standing);
        }
    }

    /// The rule of a node whose input `i` depends on the product.
    fn rule(&self, id: Id, i: usize) -> Option<Standing> {
        let node = self.ir.node(id);
        let rows_of = |input: Id| self.standing.get(&input).filter(|standing| standing.goes_on)?.rows;
        let agree = |takes: &Takes| {
            let mut each = takes.iter().zip(&node.inputs).filter(|(_, input)| self.depends[**input as usize]);
            takes.len() == node.inputs.len() && each.all(|(take, input)| rows_of(*input).map(Take::Rows) == Some(*take))
        };
        let from = rows_of(*node.inputs.get(i)?)?;
        let by_rows = || {
            let rows = rows::carried(self.ir, id, i, from)?;
            Some((rows, rows::takes(self.ir, id, rows).filter(agree)?))
        };
        if let Some((rows, takes)) = by_rows() {
            let narrows = node.op == IrOp::Op(Op::MatMul) && !self.is_wide(id);
            return Some(Standing { rows: Some(rows), takes, goes_on: !narrows });
        }
        let takes = rows::summed(self.ir, id, i, from).filter(agree)?;
        Some(Standing { rows: None, takes, goes_on: false })
    }

    /// What is wide, what reads that, and what is on the way; ascending.
    fn own(&self, product: Id) -> Option<Vec<Id>> {
        let mut stack: Vec<Id> = Vec::new();
        let nodes = (product..self.ir.nodes.len() as Id).filter_map(|id| Some((id, self.standing.get(&id)?)));
        for (id, _) in nodes.filter(|(id, standing)| standing.rows.is_some() && self.is_wide(*id)) {
            if self.is_output[id as usize] || self.users[id as usize].iter().any(|user| !self.standing.contains_key(user)) {
                return None;
            }
            stack.push(id);
            stack.extend(&self.users[id as usize]);
        }
        let mut own: FxHashSet<Id> = FxHashSet::default();
        while let Some(id) = stack.pop() {
            if !own.insert(id) {
                continue;
            }
            if own.len() > MAX_MEMBERS {
                return None;
            }
            stack.extend(self.ir.node(id).inputs.iter().filter(|input| self.depends[**input as usize]));
        }
        let mut own: Vec<Id> = own.into_iter().collect();
        own.sort_unstable();
        Some(own)
    }

    /// Adds what does not depend on the product, and is better made by chunks than taken from memory.
    fn add_beside(&self, own: &[Id], members: &mut Vec<Member>) -> Option<()> {
        let mut inside: FxHashSet<Id> = own.iter().copied().collect();
        let mut known: FxHashSet<(Id, Rows)> = FxHashSet::default();
        // The last first, so that all that reads a node is known before it.
        let mut next: BinaryHeap<(Id, Rows)> = BinaryHeap::new();
        members.iter().for_each(|member| next.extend(self.taken(member.id, &member.takes)));
        while let Some((id, rows)) = next.pop() {
            if !known.insert((id, rows)) {
                continue;
            }
            let Some(takes) = rows::takes(self.ir, id, rows).filter(|takes| self.is_worth_it(id, takes, &inside)) else { continue };
            next.extend(self.taken(id, &takes));
            inside.insert(id);
            members.push(Member { id, rows: Some(rows), takes, is_own: false });
            if members.len() > MAX_MEMBERS {
                return None;
            }
        }
        Some(())
    }

    /// The inputs whose rows are taken and do not depend on the product.
    fn taken<'a>(&'a self, id: Id, takes: &'a [Take]) -> impl Iterator<Item = (Id, Rows)> + 'a {
        self.ir.node(id).inputs.iter().zip(takes).filter_map(|(input, take)| match take {
            Take::Rows(rows) if !self.depends[*input as usize] => Some((*input, *rows)),
            Take::Rows(_) | Take::Whole | Take::Repeated(_) => None,
        })
    }

    /// Whether rows of a node are computed rather than read: what is wide would have to be in memory, or computed for all rows by each chunk.
    fn is_worth_it(&self, id: Id, takes: &[Take], inside: &FxHashSet<Id>) -> bool {
        match self.ir.kind(id) {
            Kind::External => false,
            // Not twice.
            Kind::Heavy => {
                self.is_wide(id) && !self.is_output[id as usize] && self.users[id as usize].iter().all(|user| inside.contains(user))
            }
            Kind::Map | Kind::View | Kind::Reduce => {
                self.ir.node(id).inputs.is_empty() || self.is_wide(id) || self.rests_on_wide(id, takes)
            }
        }
    }

    /// Whether something wide with these rows is not far below.
    fn rests_on_wide(&self, id: Id, takes: &[Take]) -> bool {
        let mut stack: Vec<(Id, Rows)> = self.taken(id, takes).collect();
        for _ in 0..FAR {
            let Some((id, rows)) = stack.pop() else { return false };
            let Some(takes) = rows::takes(self.ir, id, rows) else { continue };
            if self.is_wide(id) {
                return true;
            }
            if self.ir.kind(id) != Kind::Heavy {
                stack.extend(self.taken(id, &takes));
            }
        }
        false
    }
}
