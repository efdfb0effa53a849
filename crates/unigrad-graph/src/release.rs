//! The end of nodes, and the memory that they leave for the next ones.
//!
//! In: nodes whose last handle goes, inputs that are let go. Out: what they held is dropped; nodes without content, kept by type for those that are made next
//! (`met.rs`).
//! Always: a chain of any length goes without recursion: a node that goes while another one is dropped is left to that one. A node's memory is
//! given away only while no handle, strong or weak, refers to it; no user's value is in it.
//! Never: runs a destructor, which may be the user's, while the thread's lists are borrowed.

use crate::{
    Op, met,
    node::{Inputs, Node},
    traits::Traits,
    types::{self, NodeType},
};
use std::{cell::RefCell, sync::Arc};

/// What nodes leave behind.
enum Remains {
    /// One that no other handle refers to.
    Node(Arc<Node>),
    Inputs(Inputs),
    /// A user's gradient may hold tensors, and so more nodes.
    Gradient(Arc<NodeType>),
}

/// What a thread has of nodes that went.
struct Left {
    /// Still to be dropped.
    nodes: Vec<Arc<Node>>,
    others: Vec<Remains>,
    /// Whether the thread is at it.
    begun: bool,
}

thread_local! {
    static LEFT: RefCell<Left> = const { RefCell::new(Left { nodes: Vec::new(), others: Vec::new(), begun: false }) };
}

/// Room for the next time.
const KEPT: usize = 1024;

/// A node that no other handle refers to, strong or weak: it has neither inputs (nor memory for many) nor a result, and the type that it had.
pub(crate) struct Spare(Arc<Node>);

impl Spare {
    /// The node, to be filled.
    #[inline]
    pub(crate) fn node(&mut self) -> &mut Node {
        // SAFETY: `Begun::end` alone makes a `Spare`, of a node that `Arc::get_mut` has just said to be its handle's alone; no handle is made from
        // it before `filled`, which takes it. So nothing else refers to the node as long as `self` is borrowed.
        unsafe { &mut *Arc::as_ptr(&self.0).cast_mut() }
    }

    #[inline]
    pub(crate) fn node_type(&self) -> &Arc<NodeType> {
        &self.0.node_type
    }

    /// The node, with its new content.
    #[inline]
    pub(crate) fn filled(self) -> Arc<Node> {
        self.0
    }
}

/// The last handle to a node goes.
#[inline(never)]
pub(crate) fn last(node: Arc<Node>) {
    drop_iteratively(Remains::Node(node));
}

/// Handles that nothing needs any more.
pub(crate) fn inputs(inputs: Inputs) {
    drop_iteratively(Remains::Inputs(inputs));
}

/// Ends what [`drop_iteratively`] began, also when a destructor of the user's panics.
#[derive(Default)]
struct Begun {
    nodes: Vec<Arc<Node>>,
}

impl Drop for Begun {
    fn drop(&mut self) {
        let mut nodes = std::mem::take(&mut self.nodes);
        let left = LEFT.try_with(|left| {
            let mut left = left.borrow_mut();
            left.begun = false;
            if nodes.is_empty() && left.nodes.is_empty() && nodes.capacity() <= KEPT {
                std::mem::swap(&mut left.nodes, &mut nodes);
            }
            let nodes = if left.nodes.is_empty() { Vec::new() } else { std::mem::take(&mut left.nodes) };
            (nodes, std::mem::take(&mut left.others))
        });
        // Outside of the cell, for that may leave more.
        drop((left, nodes));
    }
}

impl Begun {
    /// Lets go what a node holds, and keeps its memory if it can be another's.
    #[inline]
    fn end(&mut self, mut node: Arc<Node>) {
        // A weak handle refers to it, or came and went: it ends by its own destructor.
        let Some(own) = Arc::get_mut(&mut node) else { return };
        let inputs = own.inputs_mut();
        while let Some(input) = inputs.pop() {
            self.handle(input.into_node());
        }
        if inputs.spilled() {
            *inputs = Inputs::new();
        }
        if own.result.get().is_some() {
            own.result.take();
        }
        if !own.traits.has(Traits::OWN_TYPE) {
            met::keep(Spare(node));
        }
    }

    /// One handle goes.
    #[inline]
    fn handle(&mut self, node: Arc<Node>) {
        if Arc::strong_count(&node) == 1 {
            self.nodes.push(node);
        }
    }
}

/// Drops a chain of nodes of any length without recursion: a node that goes while another one is dropped leaves what it holds to that one.
fn drop_iteratively(remains: Remains) {
    let mut first = Some(remains);
    let own = LEFT.try_with(|left| {
        let mut left = left.borrow_mut();
        if left.begun {
            match first.take() {
                Some(Remains::Node(node)) => left.nodes.push(node),
                other => left.others.extend(other),
            }
            return None;
        }
        left.begun = true;
        Some(Begun { nodes: std::mem::take(&mut left.nodes) })
    });
    // A thread that ends has no lists.
    let Some(mut own) = own.unwrap_or_else(|_| Some(Begun::default())) else { return };
    loop {
        match first.take() {
            Some(Remains::Node(node)) => own.end(node),
            Some(Remains::Inputs(mut inputs)) => {
                while let Some(input) = inputs.pop() {
                    own.handle(input.into_node());
                }
            }
            Some(Remains::Gradient(gradient)) => drop(gradient),
            None => break,
        }
        while let Some(node) = own.nodes.pop() {
            own.end(node);
        }
        // What destructors of results and gradients have left.
        let left_by_others = LEFT.try_with(|left| {
            let mut left = left.borrow_mut();
            let node = left.nodes.pop().map(Remains::Node);
            node.or_else(|| left.others.pop())
        });
        first = left_by_others.ok().flatten();
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        let own = self.inputs_mut();
        if !own.is_empty() {
            let inputs = std::mem::take(own);
            drop_iteratively(Remains::Inputs(inputs));
        }
        if matches!(self.node_type.op, Op::Custom(_)) {
            drop_iteratively(Remains::Gradient(std::mem::replace(&mut self.node_type, types::spare())));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        DType, Expr, Literal,
        met::{SPARE, n_spare},
    };

    fn leaf() -> Expr {
        Expr::scalar(Literal::float(DType::F32, 1.0), &[3], 0)
    }

    #[test]
    fn a_weak_handle_never_sees_the_next_node() {
        let weak = leaf().neg().downgrade();
        assert!(weak.upgrade().is_none());
        let others: Vec<Expr> = (0..10).map(|_| leaf().exp()).collect();
        assert!(weak.upgrade().is_none() && !weak.is_alive());
        let kept = others[0].downgrade();
        assert!(kept.upgrade().is_some_and(|node| node.same(&others[0])));
    }

    #[test]
    fn nodes_are_made_of_those_that_went_and_nothing_of_them_is_left() {
        let used = leaf();
        used.set_data(Arc::new(7_u8));
        used.set_consumed();
        assert!(used.claim().take());
        let user = used.neg().add(&used.abs());
        drop((used, user));
        let n = n_spare();
        assert!(n >= 4, "{n}");
        let id = crate::next_id();
        let fresh = leaf().neg();
        assert_eq!(n_spare(), n - 2);
        // One that it has met for the first time is made of none of them.
        let of_other_type = leaf().tanh();
        assert_eq!((n_spare(), of_other_type.inputs().len()), (n - 2, 1));
        assert!(fresh.data().is_none() && !fresh.is_consumed() && fresh.claim().is_free() && fresh.reference_count() == 1);
        let input = fresh.input(0).unwrap();
        assert!(input.data().is_none() && !input.is_consumed() && input.claim().is_free() && input.inputs().is_empty());
        assert!(input.id() >= id && fresh.id() > input.id() && input.scalar_value().is_some());
    }

    #[test]
    fn a_thread_keeps_so_many_and_gives_the_others_back() {
        let mut chain = leaf();
        for _ in 0..3 * SPARE {
            chain = chain.neg();
        }
        drop(chain);
        assert_eq!(n_spare(), SPARE);
    }

    #[test]
    fn the_last_that_went_are_kept() {
        let chain = |op: fn(&Expr) -> Expr| (0..SPARE + 10).fold(leaf(), |x, _| op(&x));
        drop(chain(Expr::neg));
        assert_eq!(n_spare(), SPARE);
        let other = chain(Expr::exp);
        assert!(n_spare() >= SPARE - 1);
        drop(other);
        assert_eq!(n_spare(), SPARE);
        // Now they are of that type, but for some that their turn had not come to.
        let again = chain(Expr::exp);
        assert!(n_spare() < SPARE / 2, "{}", n_spare());
        drop(again);
    }

    #[test]
    fn what_one_thread_made_another_one_may_end() {
        let shared: Vec<Expr> = (0..50).map(|_| leaf().exp()).collect();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                let own = shared.clone();
                scope.spawn(move || {
                    for round in 0..200 {
                        let made: Vec<Expr> = own.iter().map(|x| x.neg().add(x)).collect();
                        assert!(made.iter().all(|node| node.inputs().len() == 2 && node.data().is_none()), "{round}");
                    }
                    drop(own);
                });
            }
            drop(shared);
        });
    }
}
