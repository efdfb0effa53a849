//! What a thread has met: types of tensors and nodes, and the memory of nodes of these types that went.
//!
//! In: an op, or a code that says all of one, and the type of what it gives; nodes without content. Out: a node of that type to be filled, or else the
//! type.
//! Always: what is found here takes no lock, and a node that is filled again has its type already: locked instructions, those that count handles among
//! them, are most of what a node costs. A thread keeps as many nodes as a training step needs.
//! Never: runs a destructor while the lists are borrowed.

use crate::{
    Composite, Op, SliceAxis,
    dims::Names,
    release::Spare,
    types::{NodeType, TensorType, first_met, hash_type, same_op},
};
use rustc_hash::FxHasher;
use std::{
    cell::RefCell,
    hash::{Hash, Hasher},
    sync::Arc,
};
use unigrad_scalar::{BinaryOp, DType, UnaryOp};

/// Codes of ops that have one attribute or none.
const SCALAR: u64 = 3 << 8;
pub(crate) const RESHAPE: u64 = 4 << 8;
pub(crate) const EXPAND: u64 = 5 << 8;
pub(crate) const MATMUL: u64 = 6 << 8;

#[inline]
pub(crate) fn concat_code(axis: usize) -> u64 {
    axis as u64 | 7 << 8
}

#[inline]
pub(crate) fn permute_code(order: &[u8]) -> u64 {
    order.iter().fold(8 << 8, |code: u64, axis| code.wrapping_mul(37).wrapping_add((*axis).into()))
}

#[inline]
pub(crate) fn slice_code(axes: &[SliceAxis]) -> u64 {
    let one = |axis: &SliceAxis| (axis.start as u64).wrapping_mul(0x9E37_79B9).wrapping_add(axis.len as u64) ^ (axis.step as u64) << 32;
    axes.iter().fold(9 << 8, |code: u64, axis| code.wrapping_mul(0x100_0000_01B3).wrapping_add(one(axis)))
}

#[inline]
fn composite_code(composite: &Composite) -> u64 {
    composite.content() ^ 10 << 8
}

#[inline]
fn part_code(i: usize) -> u64 {
    i as u64 | 11 << 8
}

#[inline]
fn unary_code(op: UnaryOp) -> u64 {
    op as u64 | 1 << 8
}

#[inline]
fn binary_code(op: BinaryOp) -> u64 {
    op as u64 | 2 << 8
}

#[inline]
fn hash_code(code: u64, of: u64) -> u64 {
    let mut hasher = FxHasher::default();
    hasher.write_u64(of ^ code);
    hasher.finish()
}

#[inline(always)]
#[expect(clippy::wildcard_enum_match_arm, reason = "the others are hashed as they are")]
pub(crate) fn hash_node(op: &Op, of: u64) -> u64 {
    let mut hasher = FxHasher::default();
    match op {
        // Most nodes: one number says all.
        Op::Unary(op) => return hash_code(unary_code(*op), of),
        Op::Binary(op) => return hash_code(binary_code(*op), of),
        Op::Scalar => return hash_code(SCALAR, of),
        Op::Reshape => return hash_code(RESHAPE, of),
        Op::Expand => return hash_code(EXPAND, of),
        Op::MatMul => return hash_code(MATMUL, of),
        Op::Concat { axis } => return hash_code(concat_code(*axis), of),
        Op::Permute(order) => return hash_code(permute_code(order), of),
        Op::Slice(axes) => return hash_code(slice_code(axes), of),
        Op::Composite(composite) => return hash_code(composite_code(composite), of),
        Op::Part(i) => return hash_code(part_code(*i), of),
        op => {
            hasher.write_u64(of);
            op.hash(&mut hasher);
        }
    }
    hasher.finish()
}

/// Where a thread looks for a type of nodes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bin(u16);

impl Bin {
    /// Of a type that is one node's own: no thread looks for it.
    pub(crate) const NONE: Bin = Bin(u16::MAX);

    #[inline]
    fn of(hash: u64) -> Bin {
        Bin((hash as usize % NEAR) as u16)
    }

    /// Of a type that does this.
    #[inline]
    pub(crate) fn of_node(op: &Op, of: u64) -> Bin {
        Bin::of(hash_node(op, of))
    }

    /// This one, and the one beside it: two types that many nodes have in turn may share a place.
    #[inline]
    fn both(self) -> [usize; 2] {
        let first = usize::from(self.0) % NEAR;
        [first, first ^ 1]
    }
}

/// What a node is made of.
pub(crate) enum Start {
    /// A node that went, of the type.
    Spare(Spare),
    /// Its type.
    Type(Arc<NodeType>),
}

impl Start {
    /// A node of this type that went, if the thread has one.
    pub(crate) fn of(node_type: Arc<NodeType>) -> Start {
        let spare = MET.try_with(|met| met.try_borrow_mut().ok()?.of_type(&node_type)).ok().flatten();
        spare.map_or(Start::Type(node_type), Start::Spare)
    }

    #[cfg(test)]
    pub(crate) fn node_type(&self) -> &Arc<NodeType> {
        match self {
            Start::Spare(spare) => spare.node_type(),
            Start::Type(node_type) => node_type,
        }
    }
}

/// A type, and nodes of it that went.
struct Met {
    node_type: Option<Arc<NodeType>>,
    spare: Vec<Spare>,
}

/// What a thread has met lately, by hash.
struct Near {
    types: Box<[Option<Arc<TensorType>>; NEAR]>,
    nodes: Box<[Met; NEAR]>,
    /// Nodes that went, of types that have no place.
    others: Vec<Spare>,
    /// All nodes that are kept.
    n_spare: usize,
    /// The place whose nodes make room for others, for so many turns.
    oldest: usize,
    turns: u32,
}

/// A power of two: many more than there are in a large model's step.
const NEAR: usize = 2048;
/// A search for the next place costs no more than so many turns.
const TURNS: u32 = 64;
/// Nodes whose memory a thread keeps: 2 MiB.
pub(crate) const SPARE: usize = 1 << 14;

thread_local! {
    static MET: RefCell<Near> = RefCell::new(Near {
        types: Box::new([const { None }; NEAR]),
        nodes: Box::new([const { Met { node_type: None, spare: Vec::new() } }; NEAR]),
        others: Vec::new(),
        n_spare: 0,
        oldest: 0,
        turns: 0,
    });
}

impl Near {
    #[inline(always)]
    fn find(&self, place: Bin, is: impl Fn(&NodeType) -> bool) -> Option<usize> {
        let [first, second] = place.both();
        match &self.nodes[first].node_type {
            Some(near) if is(near) => Some(first),
            _ => self.nodes[second].node_type.as_deref().is_some_and(is).then_some(second),
        }
    }

    /// A node of what is looked for, or its type.
    #[inline(always)]
    fn start(&mut self, place: Bin, is: impl Fn(&NodeType) -> bool) -> Option<Start> {
        let at = self.find(place, is)?;
        let met = &mut self.nodes[at];
        match met.spare.pop() {
            Some(spare) => {
                self.n_spare -= 1;
                Some(Start::Spare(spare))
            }
            None => met.node_type.clone().map(Start::Type),
        }
    }

    fn of_type(&mut self, node_type: &Arc<NodeType>) -> Option<Spare> {
        let at = self.find(node_type.place(), |near| std::ptr::eq(near, &**node_type))?;
        let spare = self.nodes[at].spare.pop()?;
        self.n_spare -= 1;
        Some(spare)
    }

    /// One of the nodes that are kept, of a type whose turn it is: a program that does something else now asks for others.
    fn oldest(&mut self) -> Option<Spare> {
        if let Some(spare) = self.others.pop() {
            return Some(spare);
        }
        if self.turns == 0 || self.nodes[self.oldest].spare.is_empty() {
            let mut others = (1..=NEAR).map(|i| (self.oldest + i) % NEAR);
            self.oldest = others.find(|place| !self.nodes[*place].spare.is_empty())?;
            self.turns = TURNS;
        }
        self.turns -= 1;
        self.nodes[self.oldest].spare.pop()
    }

    /// Keeps a node; gives another one where there is no more room.
    #[inline]
    fn keep(&mut self, spare: Spare) -> Option<Spare> {
        let before = if self.n_spare >= SPARE { self.oldest() } else { None };
        self.n_spare += usize::from(before.is_none());
        let node_type: *const NodeType = &**spare.node_type();
        let [first, second] = spare.node_type().place().both();
        let is = |met: &Met| met.node_type.as_ref().is_some_and(|near| Arc::as_ptr(near) == node_type);
        match () {
            () if is(&self.nodes[first]) => self.nodes[first].spare.push(spare),
            () if is(&self.nodes[second]) => self.nodes[second].spare.push(spare),
            () => self.others.push(spare),
        }
        before
    }
}

/// Keeps the memory of a node without content for the next ones: that of the last ones that went.
#[inline]
pub(crate) fn keep(spare: Spare) {
    // A thread that ends keeps nothing. What makes room for it goes here, when nothing is borrowed any more.
    drop(MET.try_with(|met| match met.try_borrow_mut() {
        Ok(mut met) => met.keep(spare),
        Err(_) => Some(spare),
    }));
}

/// A node that went, of a type that has no place.
#[inline]
pub(crate) fn other() -> Option<Spare> {
    let taken = MET.try_with(|met| {
        let mut met = met.try_borrow_mut().ok()?;
        let spare = met.others.pop()?;
        met.n_spare -= 1;
        Some(spare)
    });
    taken.ok().flatten()
}

/// The type of this shape, dtype and device, if the thread has met it lately: then it is one that a tensor can have.
#[inline]
pub(crate) fn met_type(shape: &[usize], names: Option<&Names>, dtype: DType, device: u32) -> Option<Arc<TensorType>> {
    let place = hash_type(shape, names, dtype, device) as usize % NEAR;
    let met = MET.try_with(|met| match &met.borrow().types[place] {
        Some(near) if near.is(shape, names, dtype, device) => Some(near.clone()),
        _ => None,
    });
    met.ok().flatten()
}

/// From now on the thread has met it. What had its place, to be dropped.
pub(crate) fn remember_type(of: Arc<TensorType>) -> Option<Arc<TensorType>> {
    let place = of.hash as usize % NEAR;
    // A thread that ends has no place for it.
    MET.try_with(|met| met.borrow_mut().types[place].replace(of)).ok().flatten()
}

#[inline(always)]
fn start(place: Bin, is: impl Fn(&NodeType) -> bool) -> Option<Start> {
    MET.try_with(|met| met.borrow_mut().start(place, is)).ok().flatten()
}

/// A node that does this and gives an unnamed tensor of this shape, dtype and device, if the thread has met the type lately.
#[inline]
pub(crate) fn met_node(op: &Op, shape: &[usize], dtype: DType, device: u32) -> Option<Start> {
    let place = Bin::of_node(op, hash_type(shape, None, dtype, device));
    start(place, |near| near.of.is(shape, None, dtype, device) && same_op(&near.op, op))
}

/// As [`met_node`], of an op that is made only if the thread has not met it: it has this code, and `is` tells it from others.
#[inline(always)]
pub(crate) fn met_code(code: u64, is: impl Fn(&NodeType) -> bool, shape: &[usize], dtype: DType, device: u32) -> Option<Start> {
    let place = Bin::of(hash_code(code, hash_type(shape, None, dtype, device)));
    start(place, |near| near.of.is(shape, None, dtype, device) && is(near))
}

/// A node that does `op` to one of these tensors.
#[inline(always)]
pub(crate) fn unary(op: UnaryOp, of: &Arc<TensorType>) -> Start {
    by_code(unary_code(op), of, |near| matches!(near, Op::Unary(near) if *near == op), || Op::Unary(op))
}

/// A node that does `op` to two of these tensors.
#[inline(always)]
pub(crate) fn binary(op: BinaryOp, of: &Arc<TensorType>) -> Start {
    by_code(binary_code(op), of, |near| matches!(near, Op::Binary(near) if *near == op), || Op::Binary(op))
}

/// A run-time number in one of these tensors.
#[inline]
pub(crate) fn scalar(of: &Arc<TensorType>) -> Start {
    by_code(SCALAR, of, |near| matches!(near, Op::Scalar), || Op::Scalar)
}

/// A node that calls this composite and has this as its first result.
#[inline]
pub(crate) fn composite(composite: &Arc<Composite>, of: &Arc<TensorType>) -> Start {
    let is = |near: &Op| matches!(near, Op::Composite(near) if Arc::ptr_eq(near, composite));
    by_code(composite_code(composite), of, is, || Op::Composite(composite.clone()))
}

/// A part of a node, which is one of these tensors.
#[inline]
pub(crate) fn part(i: usize, of: &Arc<TensorType>) -> Start {
    by_code(part_code(i), of, |near| matches!(near, Op::Part(near) if *near == i), || Op::Part(i))
}

/// A node of an op that a code says all of: the op is made only if the thread has not met it.
#[inline(always)]
fn by_code(code: u64, of: &Arc<TensorType>, is: impl Fn(&Op) -> bool, op: impl FnOnce() -> Op) -> Start {
    let found = start(Bin::of(hash_code(code, of.hash)), |near| Arc::ptr_eq(&near.of, of) && is(&near.op));
    found.unwrap_or_else(|| Start::Type(first_met(&op(), of)))
}

/// A node of an op that is the same type for all nodes that do it.
#[inline]
pub(crate) fn common(op: &Op, of: &Arc<TensorType>) -> Start {
    start(Bin::of_node(op, of.hash), |near| near.is(op, of)).unwrap_or_else(|| Start::Type(first_met(op, of)))
}

/// The type of such a node.
#[inline]
pub(crate) fn common_type(op: &Op, of: &Arc<TensorType>) -> Arc<NodeType> {
    let place = Bin::of_node(op, of.hash);
    let found = MET.try_with(|met| {
        let met = met.borrow();
        met.find(place, |near| near.is(op, of)).and_then(|at| met.nodes[at].node_type.clone())
    });
    found.ok().flatten().unwrap_or_else(|| first_met(op, of))
}

/// From now on the thread has met it.
pub(crate) fn remember(node_type: Arc<NodeType>) {
    let [first, second] = node_type.place().both();
    // A thread that ends has no place for it.
    let before = MET.try_with(|met| {
        let mut met = met.borrow_mut();
        let new = Met { node_type: Some(node_type), spare: Vec::new() };
        let before = std::mem::replace(&mut met.nodes[first], new);
        let before = std::mem::replace(&mut met.nodes[second], before);
        met.n_spare -= before.spare.len();
        before
    });
    drop(before);
}

/// How many nodes that went the thread keeps.
#[cfg(test)]
pub(crate) fn n_spare() -> usize {
    MET.with(|met| {
        let met = met.borrow();
        let kept = met.nodes.iter().map(|met| met.spare.len()).sum::<usize>() + met.others.len();
        assert_eq!(kept, met.n_spare);
        kept
    })
}
