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
    CustomGradient, CustomOp, Error, Expr, Loop, Op, Shape, VariableId,
    dims::{Names, general_op},
    met::{self, Bin, Start, hash_node},
    numel,
    traits::Traits,
};
use rustc_hash::{FxBuildHasher, FxHasher};
use std::{
    collections::HashSet,
    hash::{Hash, Hasher},
    sync::{
        Arc, LazyLock, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};
use unigrad_scalar::DType;

/// Shape, dtype and device: what a plan knows of data.
#[derive(Debug)]
pub struct TensorType {
    number: u64,
    /// Of shape, names, dtype and device.
    pub(crate) hash: u64,
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
    /// Where threads look for it.
    place: Bin,
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

    #[inline]
    pub(crate) fn place(&self) -> Bin {
        self.place
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
    pub(crate) fn is(&self, shape: &[usize], names: Option<&Names>, dtype: DType, device: u32) -> bool {
        self.dtype == dtype && self.device == device && same_sizes(&self.shape, shape) && self.names() == names
    }
}

impl NodeType {
    #[inline]
    pub(crate) fn is(&self, op: &Op, of: &Arc<TensorType>) -> bool {
        Arc::ptr_eq(&self.of, of) && same_op(&self.op, op)
    }
}

/// Whether both are equal: most ops have one attribute at most, and a call to compare them costs more.
#[inline(always)]
pub(crate) fn same_op(a: &Op, b: &Op) -> bool {
    match (a, b) {
        (Op::Unary(a), Op::Unary(b)) => a == b,
        (Op::Binary(a), Op::Binary(b)) => a == b,
        (Op::Scalar, Op::Scalar) | (Op::Reshape, Op::Reshape) | (Op::Expand, Op::Expand) => true,
        (Op::Commit(a), Op::Commit(b)) => a == b,
        (a, b) => a == b,
    }
}

/// Shapes are short: a call to compare memory costs more.
#[inline]
pub(crate) fn same_sizes(a: &[usize], b: &[usize]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a == b)
}

#[inline]
pub(crate) fn hash_type(shape: &[usize], names: Option<&Names>, dtype: DType, device: u32) -> u64 {
    let mut hasher = FxHasher::default();
    hasher.write_u64(dtype as u64 | u64::from(device) << 8 | (shape.len() as u64) << 40);
    shape.iter().for_each(|size| hasher.write_usize(*size));
    if let Some(names) = names {
        names.hash(&mut hasher);
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

/// The type of this shape, dtype and device.
#[cold]
pub(crate) fn tensor_type(shape: &[usize], dtype: DType, device: u32) -> Arc<TensorType> {
    let hash = hash_type(shape, None, dtype, device);
    remembered(TensorType { number: next_number(), hash, numel: numel(shape), shape: Shape::from_slice(shape), dtype, device, named: None })
}

/// The type of this shape, dtype and device whose axes have names; memory has its sizes.
pub(crate) fn named_type(shape: &[usize], names: &Names, dtype: DType, device: u32) -> Arc<TensorType> {
    if let Some(met) = met::met_type(shape, Some(names), dtype, device) {
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
    let of = known(&TYPES, new);
    drop(met::remember_type(of.clone()));
    of
}

/// The type of a node that does this.
pub(crate) fn node_type(op: &Op, of: &Arc<TensorType>) -> Arc<NodeType> {
    match own_type(op, of) {
        Some(own) => own,
        None => met::common_type(op, of),
    }
}

/// A node that does this, to be filled, or its type.
pub(crate) fn start(op: &Op, of: &Arc<TensorType>) -> Start {
    match own_type(op, of) {
        Some(own) => Start::Type(own),
        None => met::common(op, of),
    }
}

/// The type of an op that has one for each node.
#[inline]
#[expect(clippy::wildcard_enum_match_arm, reason = "it asks for certain ops")]
fn own_type(op: &Op, of: &Arc<TensorType>) -> Option<Arc<NodeType>> {
    match op {
        Op::Variable(_) | Op::Custom(_) | Op::Invalid(_) => Some(own(op, of)),
        Op::Loop(spec) => spec.general().map(|general| own_loop(op, general, of)),
        _ => None,
    }
}

/// The type of a node that the thread has not met.
#[cold]
pub(crate) fn first_met(op: &Op, of: &Arc<TensorType>) -> Arc<NodeType> {
    let bucket = of.named.as_deref().and_then(|named| named.general.as_ref().map(|general| (&named.names, general)));
    let general = bucket.map(|(names, general)| met::common_type(&general_op(op, names), general));
    let number = general.as_ref().map_or_else(next_number, |general| general.number);
    let traits = Traits::of(op, of.dtype, of.named.is_some());
    let place = Bin::of_node(op, of.hash);
    let found = known(&NODES, NodeType { number, traits, op: op.clone(), of: of.clone(), general, place });
    met::remember(found.clone());
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
        Op::Variable(_) => Some(met::common_type(&Op::Variable(VariableId(0)), of)),
        Op::Custom(_) => Some(met::common_type(&Op::Custom(ANY.clone()), of)),
        // No plan has it.
        _ => None,
    };
    let number = general.as_ref().map_or_else(next_number, |general| general.number);
    let traits = Traits::of(op, of.dtype, of.named.is_some());
    Arc::new(NodeType { number, traits, op: op.clone(), of: of.clone(), general, place: Bin::NONE })
}

/// As [`own`], of a loop with a user's gradient in its body.
fn own_loop(op: &Op, general: Loop, of: &Arc<TensorType>) -> Arc<NodeType> {
    let general = met::common_type(&Op::Loop(Arc::new(general)), of);
    let mut traits = general.traits;
    traits.add(Traits::OWN_TYPE);
    Arc::new(NodeType { number: general.number, traits, op: op.clone(), of: of.clone(), general: Some(general), place: Bin::NONE })
}

/// A type for a node that ends, whose own must go before it.
pub(crate) fn spare() -> Arc<NodeType> {
    static SPARE: LazyLock<Arc<NodeType>> = LazyLock::new(|| node_type(&Op::Buffer, &tensor_type(&[], DType::Bool, 0)));
    SPARE.clone()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SliceAxis;
    use unigrad_scalar::{BinaryOp, Literal, UnaryOp};

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
            assert!(Arc::ptr_eq(met::unary(*op, &of).node_type(), &node_type(&Op::Unary(*op), &of)));
            assert!(Arc::ptr_eq(
                met::unary(*op, &of).node_type(),
                met::met_node(&Op::Unary(*op), &[5, 7], DType::F32, 3).unwrap().node_type()
            ));
        }
        for op in BinaryOp::ALL {
            assert!(Arc::ptr_eq(&node_type(&Op::Binary(*op), &of), met::binary(*op, &of).node_type()));
        }
        assert!(Arc::ptr_eq(met::scalar(&of).node_type(), &node_type(&Op::Scalar, &of)));
        let axes = |start| [SliceAxis { start, step: 1, len: 3 }, SliceAxis { start: 0, step: -2, len: 2 }];
        let orders: [&[u8]; 2] = [&[1, 0], &[0, 1]];
        let coded = |code, op: Op| {
            let made = node_type(&op, &of);
            let met = met::met_code(code, |met| met.op == op, &[5, 7], DType::F32, 3);
            assert!(met.is_some_and(|met| Arc::ptr_eq(met.node_type(), &made)), "{op:?}");
        };
        (0..3).for_each(|start| coded(met::slice_code(&axes(start)), Op::Slice(axes(start).into())));
        orders.iter().for_each(|order| coded(met::permute_code(order), Op::Permute((*order).into())));
        (0..2).for_each(|axis| coded(met::concat_code(axis), Op::Concat { axis }));
        coded(met::RESHAPE, Op::Reshape);
        coded(met::EXPAND, Op::Expand);
        coded(met::MATMUL, Op::MatMul);
        // Another shape is another type.
        assert!(met::met_code(met::MATMUL, |met| matches!(met.op, Op::MatMul), &[7, 5], DType::F32, 3).is_none());
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
