//! Types of nodes and tensors, each kept once: what a node does, and the shape, dtype and device of what it gives.
//!
//! In: an op with its attributes, a shape, a dtype, a device. Out: shared, immutable [`NodeType`]s and [`TensorType`]s.
//! Always: two of equal content that are alive at the same time are one object with one number, so that nodes are compared by number: that is as
//! exact as comparing all attributes, and costs nothing. A number is never given twice. What no node, plan or thread uses any more goes when
//! the tables grow.
//! Types with named axes ([`crate::Dim`]) that differ only by sizes of one bucket are objects of their own with one number: that of the type whose
//! sizes are the bucket's.
//! Never: keeps what a user's gradient holds alive: a type with one is its node's own, with the number of all such nodes.

use crate::{
    CustomGradient, CustomOp, Error, Expr, Loop, Op, Shape, SliceAxis, VariableId,
    dims::{Names, general_op},
    numel,
    traits::Traits,
};
use rustc_hash::{FxBuildHasher, FxHasher};
use std::{
    cell::RefCell,
    collections::HashSet,
    hash::{Hash, Hasher},
    sync::{
        Arc, LazyLock, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};
use unigrad_scalar::{BinaryOp, DType, UnaryOp};

/// Shape, dtype and device: what a plan knows of data.
#[derive(Debug)]
pub struct TensorType {
    number: u64,
    /// Of shape, names, dtype and device.
    hash: u64,
    /// Elements.
    pub(crate) numel: usize,
    pub(crate) shape: Shape,
    pub(crate) dtype: DType,
    pub(crate) device: u32,
    pub(crate) named: Option<Box<NamedAxes>>,
}

/// What a type with named axes has beside its shape.
#[derive(Debug)]
pub(crate) struct NamedAxes {
    names: Names,
    /// The type that has the number, unless it is this one.
    general: Option<Arc<TensorType>>,
}

/// An op with its attributes, and the type of its result.
#[derive(Debug)]
pub struct NodeType {
    number: u64,
    /// What all nodes of the type are.
    pub(crate) traits: Traits,
    pub(crate) op: Op,
    pub(crate) of: Arc<TensorType>,
    /// Which variable a node is, or whose gradient, makes no other plan: the type that has the number.
    general: Option<Arc<NodeType>>,
}

impl TensorType {
    /// Differs from that of every other type, of tensors and of nodes.
    #[inline]
    pub fn number(&self) -> u64 {
        self.number
    }

    /// What its axes are called, if any has a name.
    #[inline]
    pub fn names(&self) -> Option<&Names> {
        self.named.as_deref().map(|named| &named.names)
    }

    /// What to hold so that the number stays that of the same content.
    pub fn kept(self: &Arc<TensorType>) -> Arc<TensorType> {
        self.named.as_deref().and_then(|named| named.general.as_ref()).unwrap_or(self).clone()
    }

    /// Sizes per axis.
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// Element type.
    pub fn dtype(&self) -> DType {
        self.dtype
    }
}

impl NodeType {
    /// Equal for nodes that do the same to their inputs: op, attributes, shape, dtype, device.
    #[inline]
    pub fn number(&self) -> u64 {
        self.number
    }

    /// What to hold so that the number stays that of the same content: never a user's gradient.
    pub fn kept(self: &Arc<NodeType>) -> Arc<NodeType> {
        self.general.as_ref().unwrap_or(self).clone()
    }

    /// Whether it is one node's own.
    pub(crate) fn is_own(&self) -> bool {
        self.general.is_some()
    }

    /// The type of the result.
    #[inline]
    pub fn tensor_type(&self) -> &Arc<TensorType> {
        &self.of
    }
}

impl PartialEq for TensorType {
    fn eq(&self, other: &TensorType) -> bool {
        self.is(&other.shape, other.names(), other.dtype, other.device)
    }
}

impl Eq for TensorType {}

impl Hash for TensorType {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.hash);
    }
}

impl PartialEq for NodeType {
    fn eq(&self, other: &NodeType) -> bool {
        self.is(&other.op, &other.of)
    }
}

impl Eq for NodeType {}

impl Hash for NodeType {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(hash_node(&self.op, self.of.hash));
    }
}

impl TensorType {
    #[inline]
    fn is(&self, shape: &[usize], names: Option<&Names>, dtype: DType, device: u32) -> bool {
        self.dtype == dtype && self.device == device && same_sizes(&self.shape, shape) && self.names() == names
    }
}

impl NodeType {
    #[inline]
    fn is(&self, op: &Op, of: &Arc<TensorType>) -> bool {
        Arc::ptr_eq(&self.of, of) && same_op(&self.op, op)
    }
}

/// Whether both are equal: most ops have one attribute at most, and a call to compare them costs more.
#[inline(always)]
fn same_op(a: &Op, b: &Op) -> bool {
    match (a, b) {
        (Op::Unary(a), Op::Unary(b)) => a == b,
        (Op::Binary(a), Op::Binary(b)) => a == b,
        (Op::Scalar, Op::Scalar) | (Op::Reshape, Op::Reshape) | (Op::Expand, Op::Expand) => true,
        (a, b) => a == b,
    }
}

/// Shapes are short: a call to compare memory costs more.
#[inline]
pub(crate) fn same_sizes(a: &[usize], b: &[usize]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a == b)
}

#[inline]
fn hash_type(shape: &[usize], names: Option<&Names>, dtype: DType, device: u32) -> u64 {
    let mut hasher = FxHasher::default();
    hasher.write_u64(dtype as u64 | u64::from(device) << 8 | (shape.len() as u64) << 40);
    shape.iter().for_each(|size| hasher.write_usize(*size));
    if let Some(names) = names {
        names.hash(&mut hasher);
    }
    hasher.finish()
}

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

/// Where a thread looks for what has this hash.
#[inline]
fn place(hash: u64) -> usize {
    hash as usize % NEAR
}

#[inline(always)]
#[expect(clippy::wildcard_enum_match_arm, reason = "the others are hashed as they are")]
fn hash_node(op: &Op, of: u64) -> u64 {
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
        op => {
            hasher.write_u64(of);
            op.hash(&mut hasher);
        }
    }
    hasher.finish()
}

/// Types of nodes and of tensors share their numbers. 0 is none.
static NEXT: AtomicU64 = AtomicU64::new(1);

fn next_number() -> u64 {
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// All that are alive.
struct Known<T> {
    all: HashSet<Arc<T>, FxBuildHasher>,
    /// At this many, those that nothing uses go.
    limit: usize,
}

/// As many are kept in any case.
const LEAST: usize = 4096;

static TYPES: Mutex<Known<TensorType>> = Mutex::new(Known { all: HashSet::with_hasher(FxBuildHasher), limit: LEAST });
static NODES: Mutex<Known<NodeType>> = Mutex::new(Known { all: HashSet::with_hasher(FxBuildHasher), limit: LEAST });

/// The one of equal content that is there already, or this one.
fn known<T: Eq + Hash>(table: &Mutex<Known<T>>, new: T) -> Arc<T> {
    // A panic while the table was held leaves a set that is whole.
    let mut known = table.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = known.all.get(&new) {
        return known.clone();
    }
    if known.all.len() >= known.limit {
        // Others get one only from here, or from one that counts as used.
        known.all.retain(|kept| Arc::strong_count(kept) > 1);
        known.limit = (2 * known.all.len()).max(LEAST);
    }
    let new = Arc::new(new);
    known.all.insert(new.clone());
    new
}

/// Those that a thread has met, by hash: it takes no lock for them.
struct Near {
    types: Box<[Option<Arc<TensorType>>; NEAR]>,
    nodes: Box<[Option<Arc<NodeType>>; NEAR]>,
}

impl Near {
    #[cold]
    fn beside(&self, place: usize) -> Option<&Arc<NodeType>> {
        self.nodes[place ^ 1].as_ref()
    }

    /// The one at this place, or at the place beside it, that is what is looked for: two that many nodes have in turn may share a place.
    #[inline(always)]
    fn node(&self, place: usize, is: impl Fn(&NodeType) -> bool) -> Option<Arc<NodeType>> {
        match &self.nodes[place] {
            Some(near) if is(near) => Some(near.clone()),
            _ => self.beside(place).filter(|near| is(near)).cloned(),
        }
    }
}

/// A power of two: many more than there are in a large model's step.
const NEAR: usize = 2048;

fn empty<T>() -> Box<[Option<Arc<T>>; NEAR]> {
    Box::new([const { None }; NEAR])
}

thread_local! {
    static MET: RefCell<Near> = RefCell::new(Near { types: empty(), nodes: empty() });
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

/// The type of a node that does this and gives an unnamed tensor of this shape, dtype and device, if the thread has met it lately.
#[inline]
pub(crate) fn met_node(op: &Op, shape: &[usize], dtype: DType, device: u32) -> Option<Arc<NodeType>> {
    let place = place(hash_node(op, hash_type(shape, None, dtype, device)));
    MET.try_with(|met| met.borrow().node(place, |near| near.of.is(shape, None, dtype, device) && same_op(&near.op, op))).ok().flatten()
}

/// As [`met_node`], of an op that is made only if the thread has not met it: it has this code, and `is` tells it from others.
#[inline(always)]
pub(crate) fn met_code(code: u64, is: impl Fn(&Op) -> bool, shape: &[usize], dtype: DType, device: u32) -> Option<Arc<NodeType>> {
    let place = place(hash_code(code, hash_type(shape, None, dtype, device)));
    MET.try_with(|met| met.borrow().node(place, |near| near.of.is(shape, None, dtype, device) && is(&near.op))).ok().flatten()
}

/// The type of this shape, dtype and device.
#[cold]
pub(crate) fn tensor_type(shape: &[usize], dtype: DType, device: u32) -> Arc<TensorType> {
    let hash = hash_type(shape, None, dtype, device);
    remembered(TensorType { number: next_number(), hash, numel: numel(shape), shape: Shape::from_slice(shape), dtype, device, named: None })
}

/// The type of this shape, dtype and device whose axes have names; memory has its sizes.
pub(crate) fn named_type(shape: &[usize], names: &Names, dtype: DType, device: u32) -> Arc<TensorType> {
    if let Some(met) = met_type(shape, Some(names), dtype, device) {
        return met;
    }
    let all = names.general();
    let general = (all != *names).then(|| named_type(&names.memory_shape(shape), &all, dtype, device));
    let number = general.as_ref().map_or_else(next_number, |general| general.number);
    let named = Some(Box::new(NamedAxes { names: names.clone(), general }));
    let hash = hash_type(shape, Some(names), dtype, device);
    remembered(TensorType { number, hash, numel: numel(shape), shape: Shape::from_slice(shape), dtype, device, named })
}

/// The one type of this content.
fn remembered(new: TensorType) -> Arc<TensorType> {
    let place = new.hash as usize % NEAR;
    let of = known(&TYPES, new);
    // A thread that ends has no place for it.
    let before = MET.try_with(|met| met.borrow_mut().types[place].replace(of.clone()));
    drop(before);
    of
}

/// The type of a node that does this.
#[expect(clippy::wildcard_enum_match_arm, reason = "it asks for certain ops")]
pub(crate) fn node_type(op: &Op, of: &Arc<TensorType>) -> Arc<NodeType> {
    match op {
        Op::Variable(_) | Op::Custom(_) | Op::Invalid(_) => own(op, of),
        Op::Loop(spec) => spec.general().map_or_else(|| common(op, of), |general| own_loop(op, general, of)),
        op => common(op, of),
    }
}

/// The type of `op` on one of these tensors.
#[inline]
pub(crate) fn unary_type(op: UnaryOp, of: &Arc<TensorType>) -> Arc<NodeType> {
    by_code(unary_code(op), of, |near| matches!(near, Op::Unary(near) if *near == op), || Op::Unary(op))
}

/// The type of `op` on two of these tensors.
#[inline]
pub(crate) fn binary_type(op: BinaryOp, of: &Arc<TensorType>) -> Arc<NodeType> {
    by_code(binary_code(op), of, |near| matches!(near, Op::Binary(near) if *near == op), || Op::Binary(op))
}

/// The type of a run-time number in one of these tensors.
#[inline]
pub(crate) fn scalar_type(of: &Arc<TensorType>) -> Arc<NodeType> {
    by_code(SCALAR, of, |near| matches!(near, Op::Scalar), || Op::Scalar)
}

/// The type of an op that a code says all of: it is made only if the thread has not met it.
#[inline(always)]
fn by_code(code: u64, of: &Arc<TensorType>, is: impl Fn(&Op) -> bool, op: impl FnOnce() -> Op) -> Arc<NodeType> {
    let place = place(hash_code(code, of.hash));
    match MET.try_with(|met| met.borrow().node(place, |near| Arc::ptr_eq(&near.of, of) && is(&near.op))) {
        Ok(Some(near)) => near,
        _ => first_met(&op(), of, place),
    }
}

#[inline]
fn common(op: &Op, of: &Arc<TensorType>) -> Arc<NodeType> {
    let place = place(hash_node(op, of.hash));
    match MET.try_with(|met| met.borrow().node(place, |near| near.is(op, of))) {
        Ok(Some(near)) => near,
        _ => first_met(op, of, place),
    }
}

#[cold]
fn first_met(op: &Op, of: &Arc<TensorType>, place: usize) -> Arc<NodeType> {
    let bucket = of.named.as_deref().and_then(|named| named.general.as_ref().map(|general| (&named.names, general)));
    let general = bucket.map(|(names, general)| common(&general_op(op, names), general));
    let number = general.as_ref().map_or_else(next_number, |general| general.number);
    let traits = Traits::of(op, of.dtype, of.named.is_some());
    let found = known(&NODES, NodeType { number, traits, op: op.clone(), of: of.clone(), general });
    // A thread that ends has no place for it.
    let before = MET.try_with(|met| {
        let nodes = &mut met.borrow_mut().nodes;
        let before = nodes[place].replace(found.clone());
        std::mem::replace(&mut nodes[place ^ 1], before)
    });
    drop(before);
    found
}

/// Stands for every user's gradient.
#[derive(Debug)]
struct Any;

impl CustomGradient for Any {
    fn name(&self) -> &str {
        "custom"
    }

    fn backward(&self, _inputs: &[Expr], output: &Expr, _dy: &Expr) -> Result<Vec<Option<Expr>>, Error> {
        Err((*Error::internal(output, "a gradient of no function")).clone())
    }
}

/// A type of one node's own, with the number of all that differ from it only by the variable, or by the user's gradient.
#[expect(clippy::wildcard_enum_match_arm, reason = "it asks for certain ops")]
fn own(op: &Op, of: &Arc<TensorType>) -> Arc<NodeType> {
    static ANY: LazyLock<CustomOp> = LazyLock::new(|| CustomOp(Arc::new(Any)));
    let general = match op {
        Op::Variable(_) => Some(common(&Op::Variable(VariableId(0)), of)),
        Op::Custom(_) => Some(common(&Op::Custom(ANY.clone()), of)),
        // No plan has it.
        _ => None,
    };
    let number = general.as_ref().map_or_else(next_number, |general| general.number);
    let traits = Traits::of(op, of.dtype, of.named.is_some());
    Arc::new(NodeType { number, traits, op: op.clone(), of: of.clone(), general })
}

/// As [`own`], of a loop with a user's gradient in its body.
fn own_loop(op: &Op, general: Loop, of: &Arc<TensorType>) -> Arc<NodeType> {
    let general = common(&Op::Loop(Arc::new(general)), of);
    let mut traits = general.traits;
    traits.add(Traits::OWN_TYPE);
    Arc::new(NodeType { number: general.number, traits, op: op.clone(), of: of.clone(), general: Some(general) })
}

/// A type for a node that ends, whose own must go before it.
pub(crate) fn spare() -> Arc<NodeType> {
    static SPARE: LazyLock<Arc<NodeType>> = LazyLock::new(|| node_type(&Op::Buffer, &tensor_type(&[], DType::Bool, 0)));
    SPARE.clone()
}

#[cfg(test)]
mod tests {
    use super::*;
    use unigrad_scalar::{Literal, UnaryOp};

    #[test]
    fn equal_content_is_one_type_on_every_thread() {
        let of = tensor_type(&[3, 5], DType::F32, 7);
        let here = node_type(&Op::Unary(UnaryOp::Exp), &of);
        let there = std::thread::spawn(|| node_type(&Op::Unary(UnaryOp::Exp), &tensor_type(&[3, 5], DType::F32, 7))).join().unwrap();
        assert!(Arc::ptr_eq(&here, &there));
        let others = [tensor_type(&[5, 3], DType::F32, 7), tensor_type(&[3, 5], DType::F16, 7), tensor_type(&[3, 5], DType::F32, 6)];
        assert!(
            others
                .iter()
                .all(|other| other.number() != of.number() && node_type(&Op::Unary(UnaryOp::Exp), other).number() != here.number())
        );
        assert_ne!(node_type(&Op::Unary(UnaryOp::Log), &of).number(), here.number());
    }

    #[test]
    fn what_nothing_uses_goes_and_what_is_used_keeps_its_number() {
        let of = tensor_type(&[11, 13], DType::F64, 9);
        let constant = |i: usize| Op::Const(Literal::float(DType::F64, i as f64));
        let kept = node_type(&constant(0), &of);
        (1..20 * LEAST).for_each(|i| _ = node_type(&constant(i), &of));
        let count = NODES.lock().unwrap().all.iter().filter(|known| Arc::ptr_eq(&known.of, &of)).count();
        // Each thread keeps those that it met last.
        assert!(count <= 2 * LEAST, "{count} of {}", 20 * LEAST);
        assert!(Arc::ptr_eq(&kept, &node_type(&constant(0), &of)));
    }

    #[test]
    fn a_type_is_found_in_any_way_that_is_asked() {
        let of = tensor_type(&[5, 7], DType::F32, 3);
        for op in UnaryOp::ALL {
            assert!(Arc::ptr_eq(&unary_type(*op, &of), &node_type(&Op::Unary(*op), &of)));
            assert!(Arc::ptr_eq(&unary_type(*op, &of), &met_node(&Op::Unary(*op), &[5, 7], DType::F32, 3).unwrap()));
        }
        for op in BinaryOp::ALL {
            assert!(Arc::ptr_eq(&node_type(&Op::Binary(*op), &of), &binary_type(*op, &of)));
        }
        assert!(Arc::ptr_eq(&scalar_type(&of), &node_type(&Op::Scalar, &of)));
        let axes = |start| [SliceAxis { start, step: 1, len: 3 }, SliceAxis { start: 0, step: -2, len: 2 }];
        let orders: [&[u8]; 2] = [&[1, 0], &[0, 1]];
        let coded = |code, op: Op| {
            let made = node_type(&op, &of);
            let met = met_code(code, |met| *met == op, &[5, 7], DType::F32, 3);
            assert!(met.is_some_and(|met| Arc::ptr_eq(&met, &made)), "{op:?}");
        };
        (0..3).for_each(|start| coded(slice_code(&axes(start)), Op::Slice(axes(start).into())));
        orders.iter().for_each(|order| coded(permute_code(order), Op::Permute((*order).into())));
        (0..2).for_each(|axis| coded(concat_code(axis), Op::Concat { axis }));
        coded(RESHAPE, Op::Reshape);
        coded(EXPAND, Op::Expand);
        coded(MATMUL, Op::MatMul);
        // Another shape is another type.
        assert!(met_code(MATMUL, |met| matches!(met, Op::MatMul), &[7, 5], DType::F32, 3).is_none());
    }

    #[test]
    fn a_variable_is_as_good_as_another_but_no_other_op() {
        let of = tensor_type(&[2], DType::F32, 0);
        let [a, b] = [1, 2].map(|id| node_type(&Op::Variable(VariableId(id)), &of));
        assert_eq!(a.number(), b.number());
        assert_ne!(a.op, b.op);
        assert!(Arc::ptr_eq(&a.kept(), &b.kept()) && a.kept().number() == a.number());
        assert_ne!(a.number(), node_type(&Op::Custom(CustomOp(Arc::new(Any))), &of).number());
    }
}
