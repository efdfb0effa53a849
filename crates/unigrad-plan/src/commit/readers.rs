//! Readers of what the same evaluation assigns, as attention reads a cache that was just written to: they read the memory that is written in place
//! instead of a copy with the new part in it.
//!
//! In: the graph, its assignments, the condition that decides whether they count, and the indices that it is made of. Out: the same graph, in which
//! whatever reads the new value of a part written over old memory reads the assignment's result. The two differ only where an index is out of range.
//! Always: each index that can undo the assignment is checked on the way to every output that is made of what was read, too; so where the old value is
//! read, that output is an error, as it was before.
//! Never: makes the condition depend on what it decides; touches an assignment that is written as a whole.

use super::{Assignment, Check, check_of, output, part_over, seen};
use crate::ir::{Id, Ir, IrNode};
use rustc_hash::FxHashMap;

/// More different indices than bits of a mask are not followed: then readers have a copy.
const MOST_CHECKS: usize = u64::BITS as usize;

/// What the graph's nodes are afterwards.
#[derive(Default)]
pub(super) struct Renamed {
    nodes: Vec<Id>,
    /// The results of assignments that are read, by their position.
    results: FxHashMap<usize, Id>,
}

impl Renamed {
    pub(super) fn of(&self, id: Id) -> Id {
        // DEFAULT: a node that was made later is what it is.
        self.nodes.get(id as usize).copied().unwrap_or(id)
    }

    /// The result of an assignment that readers read.
    pub(super) fn result(&self, at: usize) -> Option<Id> {
        self.results.get(&at).copied()
    }

    pub(super) fn assignment(&self, of: &Assignment) -> Assignment {
        let Assignment { value, otherwise, condition, before } = *of;
        Assignment {
            value: self.of(value),
            otherwise: self.of(otherwise),
            condition: condition.map(|condition| self.of(condition)),
            before: self.of(before),
        }
    }
}

/// Lets readers of assigned parts read the assignments' results; see the module. `others` are the outputs that are no assignments.
pub(super) fn redirect(ir: &mut Ir, assignments: &[Assignment], others: &[Id], fine: Id, checks: &[Check]) -> Renamed {
    let is_part = |a: &Assignment| (a.otherwise == a.before || a.condition.is_none()) && part_over(ir, a.value, a.before).is_some();
    let parts: Vec<usize> = (0..assignments.len()).filter(|at| is_part(&assignments[*at])).collect();
    if parts.is_empty() || checks.len() > MOST_CHECKS {
        return Renamed::default();
    }
    let read: Vec<Id> = parts.iter().map(|at| &assignments[*at]).map(|a| seen(ir, a.value, a.otherwise, a.condition)).collect();
    let n = ir.nodes.len();
    let fails = fails_with_all(ir, others, checks);
    let decides = ancestors(ir, fine);
    let mut read_of: FxHashMap<Id, usize> = FxHashMap::default();
    for (at, id) in parts.into_iter().zip(read) {
        if !decides[id as usize] && fails[id as usize] {
            read_of.entry(id).or_insert(at);
        }
    }
    let mut renamed = Renamed::default();
    if read_of.is_empty() {
        return renamed;
    }
    renamed.nodes.reserve(n);
    for id in 0..n as Id {
        let node = ir.node(id);
        let mut now = id;
        if node.inputs.iter().any(|input| renamed.of(*input) != *input) {
            let inputs = node.inputs.iter().map(|input| renamed.of(*input)).collect();
            let node = IrNode { inputs, ..node.clone() };
            now = ir.add(node);
        }
        if let Some(at) = read_of.get(&id) {
            let mut assignment = renamed.assignment(&assignments[*at]);
            if assignment.condition.is_none() {
                assignment.value = now;
            }
            now = output(ir, &assignment, fine);
            renamed.results.insert(*at, now);
        }
        renamed.nodes.push(now);
    }
    renamed
}

/// By node, whether all outputs that are made of it are errors where any of the checks fails. What is assigned keeps its old value there.
fn fails_with_all(ir: &Ir, others: &[Id], checks: &[Check]) -> Vec<bool> {
    // The checks, as bits, that are made for a node or for what it is computed from, or a stricter one of the same index.
    let mut made: Vec<u64> = Vec::with_capacity(ir.nodes.len());
    for node in &ir.nodes {
        let mut here = node.inputs.iter().fold(0, |bits, input| bits | made[*input as usize]);
        if let Some(own) = check_of(ir, node) {
            for (at, check) in checks.iter().enumerate() {
                let is_as_strict = own.index == check.index && own.size <= check.size && (check.from_end || !own.from_end);
                here |= u64::from(is_as_strict) << at;
            }
        }
        made.push(here);
    }
    let mut fails = vec![true; ir.nodes.len()];
    others.iter().for_each(|id| fails[*id as usize] = false);
    for (id, node) in ir.nodes.iter().enumerate().rev() {
        fails[id] |= made[id].count_ones() as usize == checks.len();
        if !fails[id] {
            node.inputs.iter().for_each(|input| fails[*input as usize] = false);
        }
    }
    fails
}

/// By node, whether `of` is computed from it.
fn ancestors(ir: &Ir, of: Id) -> Vec<bool> {
    let mut found = vec![false; ir.nodes.len()];
    found[of as usize] = true;
    for id in (0..=of as usize).rev() {
        if found[id] {
            ir.nodes[id].inputs.iter().for_each(|input| found[*input as usize] = true);
        }
    }
    found
}
