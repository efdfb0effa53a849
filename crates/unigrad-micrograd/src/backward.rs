//! Gradients: from a value back to all that it was made from.
//!
//! Always: the gradients of what was computed are those of this pass; leaves sum those of all passes, as micrograd's do, until they are set to 0.
//! (micrograd adds up those of what was computed as well, so that there a second pass through the same nodes counts the first one again.)
//! Never: recurses.

use crate::{Accelerator, Node, Ref, Tape, accelerator::Turn};

/// Leaves the gradient of `root` in every node that it was made from. Its own is 1.
pub fn backward(root: &Ref) {
    let turn = Turn::take();
    let order = walk(root, &turn);
    if order.iter().all(|node| node.place().is_none()) {
        root.set_grad(1.0);
        for node in order.iter().rev() {
            node.op.push(node.raw(), node.grad());
        }
        return;
    }
    at_places(root, &order, &turn);
}

/// All that a node is made from, and the node, each behind what it is made from. What was computed has no gradient then.
fn walk<'a>(root: &'a Node, turn: &Turn) -> Vec<&'a Node> {
    let mut order = Vec::new();
    let mut stack: Vec<(&Node, usize)> = Vec::new();
    root.visit(turn);
    stack.push((root, 0));
    while let Some((node, next)) = stack.last_mut() {
        let node: &Node = node;
        // Leaves need no place on the stack.
        let mut at = *next;
        let deeper = loop {
            let Some(child) = node.op.child(at) else { break None };
            at += 1;
            if child.visit(turn) {
                if !child.is_leaf() {
                    break Some(&**child);
                }
                order.push(&**child);
            }
        };
        *next = at;
        match deeper {
            Some(child) => stack.push((child, 0)),
            None => {
                if !node.is_leaf() {
                    node.set_grad(0.0);
                }
                order.push(node);
                stack.pop();
            }
        }
    }
    order
}

/// Where the part begins that ends before `end`: consecutive nodes of one place, few enough for one tape.
fn part(order: &[&Node], end: usize) -> (usize, Option<&'static Accelerator>) {
    let number = |node: &Node| node.place().map(Accelerator::number);
    let last = order[end - 1];
    let most = last.place().map_or(usize::MAX, Accelerator::most);
    let n = order[..end].iter().rev().take(most).take_while(|node| number(node) == number(last)).count();
    (end - n, last.place())
}

fn at_places(root: &Node, order: &[&Node], turn: &Turn) {
    for (at, node) in order.iter().enumerate() {
        node.set_slot(at as u32);
    }
    let mut places: Vec<&'static Accelerator> = Vec::new();
    for place in order.iter().filter_map(|node| node.place()) {
        if !places.iter().any(|known| known.number() == place.number()) {
            places.push(place);
        }
    }
    let mut arriving = vec![0.0; order.len()];
    if let Some(last) = arriving.last_mut() {
        *last = 1.0;
    }
    let (mut end, mut is_flushed) = (order.len(), false);
    while end > 0 {
        let (begin, place) = part(order, end);
        if begin > 0 && !is_flushed {
            // What one part needs of another is computed before.
            places.iter().for_each(|place| place.flush_in(turn));
            is_flushed = true;
        }
        let nodes = &order[begin..end];
        let tape = Tape::new(nodes, Some(&arriving[begin..end]));
        let results = match place {
            Some(place) => place.run(&tape),
            None => Some(tape.run()),
        };
        let Some(results) = results else { continue };
        let (values, gradients) = results.split_at(tape.len().min(results.len()));
        for (node, entry) in nodes.iter().zip(tape.entries()) {
            if !node.is_ready() {
                node.store(values.get(entry).copied().unwrap_or(f64::NAN)); // DEFAULT: a tape gives a value for each entry
            }
            let gradient = gradients.get(entry).copied().unwrap_or(f64::NAN); // DEFAULT: and a gradient
            if node.is_leaf() { node.add_grad(gradient) } else { node.set_grad(gradient) }
        }
        for (outside, entry) in tape.outside() {
            if let Some(slot) = outside.slot(turn) {
                arriving[slot as usize] += gradients.get(entry).copied().unwrap_or(f64::NAN); // DEFAULT: as above
            }
        }
        end = begin;
    }
    if root.is_leaf() {
        root.set_grad(1.0);
    }
    places.iter().for_each(|place| place.tidy());
}
