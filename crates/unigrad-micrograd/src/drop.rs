//! Freeing a graph, however deep it is, without recursion.
//!
//! Always: the last owner of a node takes apart what only that node still holds, from a list.

use crate::{Node, Nodes, Op, Ref};
use std::sync::Arc;

enum Held {
    Node(Ref),
    Nodes(Arc<Nodes>),
}

fn take(op: &mut Op, held: &mut Vec<Held>) {
    match std::mem::replace(op, Op::Leaf) {
        Op::Leaf => {}
        Op::Add(a, b) | Op::Mul(a, b) => held.extend([Held::Node(a), Held::Node(b)]),
        Op::Pow(a, ..) | Op::PowOf(_, a) | Op::Call(_, a) | Op::Move(a) => held.push(Held::Node(a)),
        Op::Neuron { weights, inputs, .. } => held.extend([Held::Nodes(weights), Held::Nodes(inputs)]),
    }
}

/// Whether nothing but leaves goes with it.
fn is_shallow(op: &Op) -> bool {
    let stays = |node: &Ref| Arc::strong_count(node) > 1 || node.is_leaf();
    match op {
        Op::Neuron { weights, inputs, .. } => Arc::strong_count(weights) > 1 && Arc::strong_count(inputs) > 1,
        op => op.children().all(stays),
    }
}

fn release(mut held: Vec<Held>) {
    while let Some(next) = held.pop() {
        match next {
            Held::Node(node) => {
                if let Some(mut node) = Arc::into_inner(node) {
                    take(&mut node.op, &mut held);
                }
            }
            Held::Nodes(nodes) => {
                if let Some(mut nodes) = Arc::into_inner(nodes) {
                    held.extend(nodes.0.drain(..).map(Held::Node));
                }
            }
        }
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        if !is_shallow(&self.op) {
            let mut held = Vec::new();
            take(&mut self.op, &mut held);
            release(held);
        }
    }
}

impl Drop for Nodes {
    fn drop(&mut self) {
        if !self.0.is_empty() {
            release(self.0.drain(..).map(Held::Node).collect());
        }
    }
}
