//! How nodes end, and where new ones are put.
//!
//! In: inputs that nodes let go. Out: what they held, dropped; the memory of nodes that nothing refers to, for the next ones.
//! Always: a chain of nodes of any length ends without recursion: a node that goes while another one is dropped leaves what it holds to that one. A
//! thread keeps at most [`MOST_SPARE`] nodes for new ones: a training step makes as many as the step before has dropped.
//! Never: keeps what a node held (data, inputs, a user's gradient) with the memory of a node that is gone.

use super::{Expr, Inputs, Node};
use crate::{Op, types, types::NodeType};
use std::{
    cell::RefCell,
    sync::{Arc, OnceLock},
};

/// What nodes leave behind.
enum Remains {
    Inputs(Inputs),
    /// A user's gradient may hold tensors, and so more nodes.
    Gradient(Arc<NodeType>),
}

/// What is still to be dropped on a thread.
struct Dropping {
    remains: Vec<Remains>,
    /// Whether the thread is at it.
    begun: bool,
}

thread_local! {
    static DROPPING: RefCell<Dropping> = const { RefCell::new(Dropping { remains: Vec::new(), begun: false }) };
    /// Nodes that are gone.
    static SPARE: RefCell<Vec<Arc<Node>>> = const { RefCell::new(Vec::new()) };
}

/// Nodes that a thread keeps: 130 kB.
const MOST_SPARE: usize = 1024;

/// The node, where one was that is gone, or in memory of its own.
#[inline]
pub(super) fn node(new: Node) -> Arc<Node> {
    let spare = SPARE.try_with(|all| all.borrow_mut().pop());
    let Ok(Some(mut node)) = spare else { return Arc::new(new) };
    match Arc::get_mut(&mut node) {
        Some(place) => {
            *place = new;
            node
        }
        None => Arc::new(new),
    }
}

/// Keeps the memory of a node that holds nothing any more.
#[inline]
fn keep(node: Arc<Node>) {
    let left = SPARE.try_with(|all| {
        let mut all = all.borrow_mut();
        if all.len() < MOST_SPARE {
            all.push(node);
            None
        } else {
            Some(node)
        }
    });
    // Outside of the cell.
    drop(left);
}

/// Ends what [`drop_iteratively`] began, also when a destructor of the user's panics.
struct Begun(Vec<Remains>);

/// Room for the next time.
const KEPT: usize = 1024;

impl Drop for Begun {
    fn drop(&mut self) {
        let mut own = std::mem::take(&mut self.0);
        let left = DROPPING.try_with(|all| {
            let mut all = all.borrow_mut();
            all.begun = false;
            if own.is_empty() && all.remains.is_empty() && own.capacity() <= KEPT {
                std::mem::swap(&mut all.remains, &mut own);
            }
            match all.remains.is_empty() {
                true => Vec::new(),
                false => std::mem::take(&mut all.remains),
            }
        });
        // Outside of the cell, for that may leave more.
        drop((left, own));
    }
}

/// Drops a handle; see [`Expr::let_go`].
pub(super) fn end(mut handle: Expr) {
    if let Some(node) = Arc::get_mut(&mut handle.0) {
        let remains = node.end();
        keep(handle.0);
        remains.into_iter().flatten().for_each(drop_iteratively);
    }
}

/// Drops what a node was made from.
pub(super) fn let_go(inputs: Inputs) {
    if !inputs.is_empty() {
        drop_iteratively(Remains::Inputs(inputs));
    }
}

fn drop_iteratively(remains: Remains) {
    let mut first = Some(remains);
    let own = DROPPING.try_with(|all| {
        let mut all = all.borrow_mut();
        if all.begun {
            all.remains.extend(first.take());
            return None;
        }
        all.begun = true;
        Some(std::mem::take(&mut all.remains))
    });
    // A thread that ends has no list.
    let Some(own) = own.unwrap_or_else(|_| Some(Vec::new())) else { return };
    let mut own = Begun(own);
    own.0.extend(first);
    let left_by_others = || DROPPING.try_with(|all| all.borrow_mut().remains.pop()).ok().flatten();
    while let Some(next) = own.0.pop().or_else(left_by_others) {
        match next {
            Remains::Inputs(inputs) => {
                for mut input in inputs {
                    if let Some(node) = Arc::get_mut(&mut input.0) {
                        own.0.extend(node.end().into_iter().flatten());
                        keep(input.0);
                    }
                }
            }
            Remains::Gradient(gradient) => drop(gradient),
        }
    }
}

impl Node {
    /// The inputs, if there are any, so that they do not go with the node.
    fn take_inputs(&mut self) -> Option<Inputs> {
        let inputs = self.inputs.get_mut().unwrap_or_else(std::sync::PoisonError::into_inner);
        (!inputs.is_empty()).then(|| std::mem::take(inputs))
    }

    /// A type that only this node has, if it may hold more than an op's attributes.
    #[expect(clippy::wildcard_enum_match_arm, reason = "it asks for certain ops")]
    fn take_own_type(&mut self) -> Option<Arc<NodeType>> {
        match self.node_type.op {
            Op::Custom(_) | Op::Loop(_) | Op::Invalid(_) => Some(std::mem::replace(&mut self.node_type, types::spare())),
            _ => None,
        }
    }

    /// Drops its data, and gives what else it held.
    #[inline]
    fn end(&mut self) -> [Option<Remains>; 2] {
        self.data = OnceLock::new();
        self.below = OnceLock::new();
        [self.take_inputs().map(Remains::Inputs), self.take_own_type().map(Remains::Gradient)]
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        if let Some(inputs) = self.take_inputs() {
            drop_iteratively(Remains::Inputs(inputs));
        }
        if let Some(own) = self.take_own_type() {
            drop_iteratively(Remains::Gradient(own));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{DType, Shape};
    use std::sync::Weak;
    use unigrad_scalar::{BinaryOp, UnaryOp};

    fn leaf() -> Expr {
        Expr::buffer(Shape::from_slice(&[2]), DType::F32, 0, Arc::new(1_u8))
    }

    fn n_spare() -> usize {
        SPARE.with(|all| all.borrow().len())
    }

    /// A node in another one's place is as new, and no handle to the one before leads to it.
    #[test]
    fn a_node_in_the_place_of_one_that_is_gone_is_a_new_one() {
        let data: Arc<u8> = Arc::new(7);
        let watched: Weak<u8> = Arc::downgrade(&data);
        let x = Expr::buffer(Shape::from_slice(&[2]), DType::F32, 0, data);
        let (id, weak) = (x.id(), x.downgrade());
        let y = x.unary(UnaryOp::Neg);
        drop(x);
        y.set_data(Arc::new(2_u8));
        y.release_inputs(None);
        assert!(weak.upgrade().is_none(), "nothing refers to it");
        assert_eq!(watched.strong_count(), 0, "its data went with it");
        drop(weak);
        let before = n_spare();
        let (a, b) = (leaf(), leaf());
        let sum = a.binary(BinaryOp::Add, &b);
        drop((a, b));
        sum.set_data(Arc::new(3_u8));
        sum.release_inputs(None);
        assert_eq!(n_spare(), before.saturating_sub(3) + 2, "two leaves are gone; three nodes were made");
        let new = leaf().unary(UnaryOp::Exp);
        assert!(new.id() > id && new.data().is_none() && new.below().is_none() && !new.is_consumed() && new.claim().is_free());
        assert_eq!((new.inputs().len(), new.reference_count()), (1, 1));
    }

    /// Whatever a thread drops, it keeps little of it.
    #[test]
    fn a_thread_keeps_only_so_many() {
        let thread = std::thread::spawn(|| {
            let mut x = leaf();
            for _ in 0..10 * MOST_SPARE {
                x = x.unary(UnaryOp::Neg);
            }
            drop(x);
            let kept = n_spare();
            (kept, leaf())
        });
        let (kept, made_there) = thread.join().expect("the thread ends");
        assert_eq!(kept, MOST_SPARE);
        assert!(made_there.data().is_some(), "what a thread made outlives it");
    }
}
