//! The compiler's own graph: what is to be computed, without duplicates, composites taken apart.
//!
//! In: captured expressions. Out: nodes in topological order, hash-consed.
//! Always: a node's inputs come before it; two nodes with one op and the same inputs are one node (but for barriers).
//! Never: holds data, or knows which nodes share a kernel.

use rustc_hash::{FxHashMap, FxHasher};
use smallvec::SmallVec;
use std::hash::{Hash, Hasher};
use unigrad_graph::{BinaryOp, DType, Format, Literal, NodeId, Op, Origin, Shape, UnaryOp, numel};

/// A node by position.
pub(crate) type Id = u32;

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum IrOp {
    /// Realized data: which of the plan's inputs.
    External(u32),
    /// A run-time scalar: which of the plan's scalars.
    Scalar(u32),
    /// Any op of the graph that is neither a leaf with data nor taken apart.
    Op(Op),
    /// The same value, not shared with anything: an id makes it unique.
    Barrier(u32),
    /// The same value in the order of its axes, where its input is in another: a copy for what reads it through views, made by what computes with it.
    Dense,
}

#[derive(Clone, Debug)]
pub(crate) struct IrNode {
    pub(crate) op: IrOp,
    pub(crate) inputs: SmallVec<[Id; 3]>,
    pub(crate) shape: Shape,
    pub(crate) dtype: DType,
    pub(crate) origin: Origin,
    /// When the user recorded it, or what it is a part of: by the graph's node.
    pub(crate) recorded: NodeId,
}

/// What fusion may do with a node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    /// Data that is there before the plan runs.
    External,
    /// One result per element; may be computed wherever it is read.
    Map,
    /// The same elements elsewhere; read through it.
    View,
    /// Over axes of its input.
    Reduce,
    /// A kernel of its own.
    Heavy,
}

/// The hash of what makes two nodes the same.
fn content(node: &IrNode) -> u64 {
    let mut hasher = FxHasher::default();
    (&node.op, &node.inputs, &node.shape, node.dtype).hash(&mut hasher);
    hasher.finish()
}

#[derive(Default)]
pub(crate) struct Ir {
    pub(crate) nodes: Vec<IrNode>,
    /// The last node of each content's hash, and by node the one before with the same hash: contents are in the nodes, and not kept twice.
    known: FxHashMap<u64, Id>,
    before: FxHashMap<Id, Id>,
}

impl Ir {
    pub(crate) fn node(&self, id: Id) -> &IrNode {
        &self.nodes[id as usize]
    }

    pub(crate) fn numel(&self, id: Id) -> usize {
        numel(&self.node(id).shape)
    }

    /// Bytes of a node's elements in memory.
    pub(crate) fn bytes(&self, id: Id) -> Result<usize, String> {
        let node = self.node(id);
        Format::Plain(node.dtype).bytes_for(&node.shape).map_err(|error| self.impossible(id, error.cause))
    }

    /// Adds a node, or finds the one that is the same.
    pub(crate) fn add(&mut self, node: IrNode) -> Id {
        if let Some(same) = self.simplify(&node) {
            return same;
        }
        let hash = content(&node);
        let last = self.known.get(&hash).copied();
        let mut at = last;
        while let Some(id) = at {
            let same = self.node(id);
            if same.op == node.op && same.inputs == node.inputs && same.shape == node.shape && same.dtype == node.dtype {
                let first = &mut self.nodes[id as usize].recorded;
                *first = node.recorded.min(*first);
                return id;
            }
            at = self.before.get(&id).copied();
        }
        let next = self.nodes.len() as Id;
        self.known.insert(hash, next);
        if let Some(last) = last {
            self.before.insert(next, last);
        }
        self.nodes.push(node);
        next
    }

    /// Rewrites that never change a value, not even that of a NaN or a signed zero.
    #[expect(clippy::wildcard_enum_match_arm, reason = "what has no rewrite here stays as it is")]
    fn simplify(&mut self, node: &IrNode) -> Option<Id> {
        if node.op == IrOp::Dense && !self.is_turned(node.inputs[0]) {
            return Some(node.inputs[0]);
        }
        let IrOp::Op(op) = &node.op else { return None };
        // What has no elements needs nothing of its inputs, which may be large: a sum over no rows of many columns, say.
        let parts = matches!(op, Op::Attention(_) | Op::AttentionGrad(_) | Op::MaxPool(_) | Op::Part(_));
        if !node.inputs.is_empty() && !parts && numel(&node.shape) == 0 {
            let op = IrOp::Op(Op::Const(Literal::zero(node.dtype)));
            return Some(self.add(IrNode { op, inputs: SmallVec::new(), ..node.clone() }));
        }
        let input = |i: usize| self.node(node.inputs[i]);
        match op {
            Op::Reshape | Op::Expand if input(0).shape == node.shape => Some(node.inputs[0]),
            Op::Cast if input(0).dtype == node.dtype => Some(node.inputs[0]),
            Op::Cast => {
                let constant = self.constant_of(node.inputs[0])?.cast(node.dtype);
                Some(self.add(IrNode { op: IrOp::Op(Op::Const(constant)), inputs: SmallVec::new(), ..node.clone() }))
            }
            Op::Permute(outer) => {
                if let IrOp::Op(Op::Permute(inner)) = &input(0).op {
                    let both: SmallVec<[u8; 8]> = outer.iter().map(|axis| inner[usize::from(*axis)]).collect();
                    let source = input(0).inputs[0];
                    if both.iter().enumerate().all(|(i, axis)| i == usize::from(*axis)) {
                        return Some(source);
                    }
                    let op = IrOp::Op(Op::Permute(both));
                    return Some(self.add(IrNode { op, inputs: SmallVec::from_slice(&[source]), ..node.clone() }));
                }
                self.spread(node)
            }
            // The first of one.
            Op::ArgReduce(_, axis) if input(0).shape.get(*axis) == Some(&1) => {
                let op = IrOp::Op(Op::Const(Literal::zero(node.dtype)));
                Some(self.add(IrNode { op, inputs: SmallVec::new(), ..node.clone() }))
            }
            // -(-x) is x, bit for bit, and so for the complements.
            Op::Unary(UnaryOp::Neg | UnaryOp::Not | UnaryOp::BitNot) if input(0).op == node.op => Some(input(0).inputs[0]),
            Op::Reshape if matches!(input(0).op, IrOp::Op(Op::Reshape)) => {
                let inputs = input(0).inputs.clone();
                Some(self.add(IrNode { inputs, ..node.clone() }))
            }
            Op::Reshape | Op::Expand | Op::Slice(_) => self.spread(node),
            // x * 1, x / 1: exact for every x.
            Op::Binary(BinaryOp::Mul | BinaryOp::Div) if self.is_constant(node.inputs[1], 1.0) => Some(node.inputs[0]),
            Op::Binary(BinaryOp::Mul) if self.is_constant(node.inputs[0], 1.0) => Some(node.inputs[1]),
            // x - 0 and x + -0; not x + 0 of floats, which makes -0 a 0.
            Op::Binary(BinaryOp::Sub) if self.is_zero(node.inputs[1], false) => Some(node.inputs[0]),
            Op::Binary(BinaryOp::Add) if self.is_zero(node.inputs[1], true) => Some(node.inputs[0]),
            Op::Binary(BinaryOp::Add) if self.is_zero(node.inputs[0], true) => Some(node.inputs[1]),
            _ => None,
        }
    }

    /// Whether it is what is in memory, or computed, in another order of axes.
    fn is_turned(&self, mut id: Id) -> bool {
        loop {
            match &self.node(id).op {
                IrOp::Op(Op::Permute(_)) => return true,
                IrOp::Op(Op::Reshape) => id = self.node(id).inputs[0],
                IrOp::External(_) | IrOp::Scalar(_) | IrOp::Op(_) | IrOp::Barrier(_) | IrOp::Dense => return false,
            }
        }
    }

    /// A view of what is the same everywhere is that in another shape.
    fn spread(&mut self, node: &IrNode) -> Option<Id> {
        let op = self.node(node.inputs[0]).op.clone();
        if !matches!(op, IrOp::Op(Op::Const(_)) | IrOp::Scalar(_)) {
            return None;
        }
        Some(self.add(IrNode { op, inputs: SmallVec::new(), ..node.clone() }))
    }

    /// Whether it is the constant 0, of floats the one of this sign.
    fn is_zero(&self, id: Id, negative: bool) -> bool {
        let constant = self.constant_of(id);
        constant.is_some_and(|c| c.as_f64() == 0.0 && (!c.dtype().is_float() || c.as_f64().is_sign_negative() == negative))
    }

    pub(crate) fn constant_of(&self, id: Id) -> Option<Literal> {
        if let IrOp::Op(Op::Const(value)) = self.node(id).op { Some(value) } else { None }
    }

    fn is_constant(&self, id: Id, value: f64) -> bool {
        self.constant_of(id).is_some_and(|constant| constant.as_f64() == value)
    }

    pub(crate) fn kind(&self, id: Id) -> Kind {
        let op = match &self.node(id).op {
            IrOp::External(_) => return Kind::External,
            IrOp::Scalar(_) => return Kind::Map,
            IrOp::Barrier(_) | IrOp::Dense => return Kind::View,
            IrOp::Op(op) => op,
        };
        match op {
            Op::Const(_) | Op::Iota { .. } | Op::Random { .. } => Kind::Map,
            Op::Unary(_) | Op::Binary(_) | Op::Where | Op::Cast | Op::Bitcast | Op::Bounded { .. } => Kind::Map,
            Op::Reshape | Op::Permute(_) | Op::Expand | Op::Slice(_) | Op::Pad(..) | Op::Concat { .. } | Op::Window { .. } => Kind::View,
            Op::DynSlice { .. } | Op::DynUpdate { .. } | Op::Gather { .. } => Kind::View,
            Op::Reduce(..) | Op::ArgReduce(..) => Kind::Reduce,
            Op::Scan { .. } | Op::Scatter { .. } | Op::ArgSort { .. } | Op::TopK { .. } | Op::MatMul | Op::Kernel(_) => Kind::Heavy,
            Op::Attention(_) | Op::AttentionGrad(_) | Op::MaxPool(_) | Op::Part(_) => Kind::Heavy,
            // Taken apart or resolved before they come here.
            Op::Buffer | Op::Scalar | Op::Variable(_) | Op::Conv(_) | Op::ConvDataGrad(_) | Op::ConvWeightGrad(_) => Kind::Heavy,
            Op::Softmax { .. }
            | Op::LogSoftmax { .. }
            | Op::Normalize { .. }
            | Op::Barrier
            | Op::Custom(_)
            | Op::Copy
            | Op::Commit(_)
            | Op::Composite(_)
            | Op::Loop(_)
            | Op::Invalid(_) => Kind::Heavy,
        }
    }

    /// The node whose elements these are, in the same order: below reshapes.
    pub(crate) fn in_memory_as(&self, mut id: Id) -> Id {
        while matches!(self.node(id).op, IrOp::Op(Op::Reshape) | IrOp::Barrier(_)) {
            id = self.node(id).inputs[0];
        }
        id
    }

    /// For every node, its readers.
    pub(crate) fn users(&self) -> Vec<SmallVec<[Id; 4]>> {
        let mut users: Vec<SmallVec<[Id; 4]>> = vec![SmallVec::new(); self.nodes.len()];
        for (id, node) in self.nodes.iter().enumerate() {
            for input in &node.inputs {
                let list = &mut users[*input as usize];
                if list.last() != Some(&(id as Id)) {
                    list.push(id as Id);
                }
            }
        }
        users
    }
}
