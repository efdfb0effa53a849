//! Which nodes each output of a capture was computed from, as far as a caller can still ask for a gradient with respect to them.
//!
//! In: a capture. Out: for each output that keeps no inputs, what it remembers in their place.
//! Always: only floats through which a gradient may flow, and no node that needs gradients: what is computed from one keeps its inputs.
//! Never: more than one pass over the nodes.

use crate::capture::{Capture, Role};
use smallvec::SmallVec;
use std::sync::Arc;
use unigrad_graph::{Below, Expr, Op, flows};

impl Capture {
    /// For each output, in order.
    pub fn below(&self) -> Vec<Option<Arc<Below>>> {
        // No gradient goes through an assignment.
        let keeps = |expr: &Expr| matches!(expr.op(), Op::Commit(_)) || expr.needs_grad() && !expr.is_consumed();
        let asks = |i: &&u32| !keeps(&self.nodes[**i as usize].expr);
        let Some(last) = self.outputs.iter().filter(asks).max() else { return vec![None; self.outputs.len()] };
        // Inputs come before what is made of them: what comes after the last output that asks is above it.
        let nodes = &self.nodes[..=*last as usize];
        let marks = |i: usize| {
            let expr = &self.nodes[i].expr;
            expr.dtype().is_float() && !expr.needs_grad() && (self.held[i] || expr.is_below_known())
        };
        let marked: SmallVec<[usize; 16]> = (0..nodes.len()).filter(|i| marks(*i)).collect();
        if marked.is_empty() {
            return vec![None; self.outputs.len()];
        }
        // One bit per marked node; with more of them there is no telling them apart.
        let bit = |k: usize| if marked.len() <= 64 { 1_u64 << k } else { 1 };
        let mut own = vec![0_u64; nodes.len()];
        marked.iter().enumerate().for_each(|(k, i)| own[*i] = bit(k));
        let mut below = vec![0_u64; nodes.len()];
        for (i, node) in nodes.iter().enumerate() {
            if node.role != Role::Compute || !node.expr.dtype().is_float() {
                continue;
            }
            below[i] = self.inputs(i).iter().enumerate().fold(0, |mask, (k, input)| {
                let input = *input as usize;
                if flows(&node.expr, k, &self.nodes[input].expr) { mask | below[input] | own[input] } else { mask }
            });
        }
        let mut known: SmallVec<[(u64, Option<Arc<Below>>); 4]> = SmallVec::new();
        let mut of = |mask: u64| match known.iter().find(|(seen, _)| *seen == mask) {
            Some((_, below)) => below.clone(),
            None => {
                let nodes = marked.iter().enumerate().filter(|(k, _)| mask & bit(*k) != 0).map(|(_, i)| &self.nodes[*i].expr);
                let below = if mask != 0 && marked.len() > 64 { Some(Below::all()) } else { Below::of(nodes) };
                known.push((mask, below.clone()));
                below
            }
        };
        self.outputs.iter().map(|i| if asks(&i) { of(below[*i as usize]) } else { None }).collect()
    }
}
