//! A node of the graph: a value, its gradient, and what made it.
//!
//! Always: a node may be read and written from any thread; what made it never changes.

use crate::{Accelerator, Op, accelerator::Turn};
use std::{
    fmt,
    ops::Deref,
    sync::{
        Arc, OnceLock,
        atomic::{
            AtomicBool, AtomicU32, AtomicU64,
            Ordering::{Acquire, Relaxed, Release},
        },
    },
};

/// A shared node.
pub type Ref = Arc<Node>;

/// Nodes that others have in common: a layer's inputs, a neuron's weights.
#[derive(Default)]
pub struct Nodes(pub(crate) Vec<Ref>);

impl Nodes {
    /// These nodes.
    pub fn new(nodes: Vec<Ref>) -> Arc<Nodes> {
        Arc::new(Nodes(nodes))
    }
}

impl Deref for Nodes {
    type Target = [Ref];

    fn deref(&self) -> &[Ref] {
        &self.0
    }
}

/// A value with a gradient.
pub struct Node {
    data: AtomicU64,
    grad: AtomicU64,
    /// The walk that was here last, and the node's number in it.
    mark: AtomicU64,
    slot: AtomicU32,
    /// Whether `data` has been computed.
    ready: AtomicBool,
    pub(crate) op: Op,
    place: Option<&'static Accelerator>,
    label: OnceLock<Box<str>>,
}

impl Node {
    /// A value that was given.
    pub fn leaf(data: f64, place: Option<&'static Accelerator>) -> Ref {
        Arc::new(Node::with(data, true, Op::Leaf, place))
    }

    /// What an operation makes: on the CPU (no place) at once, elsewhere when it is read.
    #[inline]
    pub fn new(op: Op, place: Option<&'static Accelerator>) -> Ref {
        match place {
            None => {
                let data = op.value(0.0);
                Arc::new(Node::with(data, true, op, None))
            }
            Some(place) => {
                let node = Arc::new(Node::with(0.0, false, op, Some(place)));
                place.add(&node);
                node
            }
        }
    }

    /// The value of another node, at another place; gradients go back.
    pub fn moved(from: &Ref, place: Option<&'static Accelerator>) -> Ref {
        Arc::new(Node::with(from.data(), true, Op::Move(from.clone()), place))
    }

    fn with(data: f64, ready: bool, op: Op, place: Option<&'static Accelerator>) -> Node {
        Node {
            data: AtomicU64::new(data.to_bits()),
            grad: AtomicU64::new(0.0_f64.to_bits()),
            mark: AtomicU64::new(0),
            slot: AtomicU32::new(0),
            ready: AtomicBool::new(ready),
            op,
            place,
            label: OnceLock::new(),
        }
    }

    /// What is stored; of a node that is not ready, 0.
    #[inline]
    pub(crate) fn raw(&self) -> f64 {
        f64::from_bits(self.data.load(Relaxed))
    }

    /// The value. A place computes all that is pending there.
    pub fn data(&self) -> f64 {
        if !self.is_ready()
            && let Some(place) = self.place
        {
            place.flush();
        }
        self.raw()
    }

    /// Gives it another value. What was recorded from the old one has the old one: a place computes it before.
    pub fn set_data(&self, data: f64) {
        if let Some(place) = self.place {
            place.flush();
        }
        self.store(data);
    }

    pub(crate) fn store(&self, data: f64) {
        self.data.store(data.to_bits(), Relaxed);
        // A thread that sees that it is ready sees the number.
        self.ready.store(true, Release);
    }

    /// Whether the value has been computed.
    #[inline]
    pub fn is_ready(&self) -> bool {
        self.ready.load(Acquire)
    }

    /// The gradient that the last [`backward`](crate::backward) has left; leaves sum those of all.
    #[inline]
    pub fn grad(&self) -> f64 {
        f64::from_bits(self.grad.load(Relaxed))
    }

    /// Sets the gradient.
    #[inline]
    pub fn set_grad(&self, grad: f64) {
        self.grad.store(grad.to_bits(), Relaxed);
    }

    #[inline]
    pub(crate) fn add_grad(&self, share: f64) {
        self.set_grad(self.grad() + share);
    }

    /// Whether it was given.
    #[inline]
    pub fn is_leaf(&self) -> bool {
        matches!(self.op, Op::Leaf)
    }

    /// What made it.
    pub fn op(&self) -> &Op {
        &self.op
    }

    /// Where it is; nothing for the CPU.
    #[inline]
    pub fn place(&self) -> Option<&'static Accelerator> {
        self.place
    }

    /// The name that it was given.
    pub fn label(&self) -> &str {
        self.label.get().map_or("", |label| label)
    }

    /// Names it; only the first name counts. Returns whether this one does.
    pub fn set_label(&self, label: &str) -> bool {
        self.label.set(label.into()).is_ok()
    }

    /// Numbers it in a walk, if the walk was not here before.
    #[inline]
    pub(crate) fn visit(&self, turn: &Turn) -> bool {
        let is_new = self.mark.load(Relaxed) != turn.number;
        if is_new {
            self.mark.store(turn.number, Relaxed);
        }
        is_new
    }

    pub(crate) fn set_slot(&self, slot: u32) {
        self.slot.store(slot, Relaxed);
    }

    /// Its number in a walk.
    pub(crate) fn slot(&self, turn: &Turn) -> Option<u32> {
        (self.mark.load(Relaxed) == turn.number).then(|| self.slot.load(Relaxed))
    }
}

impl fmt::Debug for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Value(data={}, grad={})", self.raw(), self.grad())
    }
}
