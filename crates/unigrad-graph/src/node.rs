//! Nodes, and the handle to one.

use crate::{
    Below, Claim, Composite, Error, ErrorKind, Loop, Op, Shape, VariableId, dims, ids, is_countable,
    met::{self, Start},
    op::InvalidOp,
    release::{self, Spare},
    shape::MAX_RANK,
    traits::Traits,
    types::{self, NodeType, TensorType},
};
use rustc_hash::FxHashSet;
use smallvec::SmallVec;
use std::{
    any::Any,
    cell::Cell,
    fmt,
    mem::ManuallyDrop,
    sync::{
        Arc, OnceLock, RwLock, RwLockReadGuard, Weak,
        atomic::{AtomicBool, Ordering},
    },
};
use unigrad_scalar::{BinaryOp, DType, Format, Literal, Origin, UnaryOp};

/// A node's place in creation order: inputs come before their users.
pub type NodeId = u64;

/// A node's inputs. Two take no more room than a list that is elsewhere.
pub type Inputs = SmallVec<[Expr; 2]>;

/// What a constructor gives as inputs.
pub(crate) trait IntoInputs: AsRef<[Expr]> {
    fn into_inputs(self) -> Inputs;
}

impl IntoInputs for Inputs {
    #[inline]
    fn into_inputs(self) -> Inputs {
        self
    }
}

impl IntoInputs for [Expr; 0] {
    #[inline]
    fn into_inputs(self) -> Inputs {
        Inputs::new()
    }
}

impl IntoInputs for [Expr; 1] {
    #[inline]
    fn into_inputs(self) -> Inputs {
        let [input] = self;
        let mut inputs = Inputs::new();
        inputs.push(input);
        inputs
    }
}

impl IntoInputs for [Expr; 2] {
    #[inline]
    fn into_inputs(self) -> Inputs {
        Inputs::from_buf(self)
    }
}

impl IntoInputs for [Expr; 3] {
    #[inline]
    fn into_inputs(self) -> Inputs {
        Inputs::from_vec(self.into())
    }
}

/// What a realized node holds: the tensor crate's buffer, opaque here.
pub type Storage = Arc<dyn Any + Send + Sync>;

/// One op of the graph. Immutable but for two things that evaluation does: it puts the result in, and lets the inputs go.
///
/// Small, for a training step makes thousands: what many nodes have in common is in their [`NodeType`], what few have is apart.
///
/// When the last handle goes, its memory may become another node's (`release.rs`): all fields are written anew then, in `Expr::made`.
pub struct Node {
    id: NodeId,
    pub(crate) node_type: Arc<NodeType>,
    origin: Origin,
    pub(crate) traits: Traits,
    consumed: AtomicBool,
    claim: Claim,
    /// The bits of an `Op::Scalar`'s value.
    scalar: u64,
    inputs: RwLock<Inputs>,
    pub(crate) result: OnceLock<Box<Evaluated>>,
}

/// What evaluation leaves in a node.
pub(crate) struct Evaluated {
    data: Storage,
    /// What the inputs were, for callers that ask for a gradient after they were let go.
    below: OnceLock<Arc<Below>>,
}

/// A cheap, shared handle to a [`Node`]. The constructors of ops are in [`crate::ops`].
///
/// The node is taken out when the handle goes, and only then.
#[derive(Clone)]
pub struct Expr(ManuallyDrop<Arc<Node>>);

impl Drop for Expr {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: nothing sees the field after its handle has gone.
        let node = unsafe { ManuallyDrop::take(&mut self.0) };
        if Arc::strong_count(&node) == 1 {
            release::last(node);
        }
    }
}

/// A handle that does not keep its node alive.
#[derive(Clone, Debug)]
pub struct WeakExpr(Weak<Node>);

impl WeakExpr {
    /// The node, if something keeps it alive.
    pub fn upgrade(&self) -> Option<Expr> {
        self.0.upgrade().map(Expr::of_node)
    }

    /// Whether something keeps the node alive.
    pub(crate) fn is_alive(&self) -> bool {
        self.0.strong_count() > 0
    }
}

thread_local! {
    static NO_GRAD: Cell<u32> = const { Cell::new(0) };
    static KEEP_SCALARS: Cell<u32> = const { Cell::new(0) };
}

/// Ends the part of the program in which no gradients are recorded.
#[derive(Debug)]
pub struct NoGradGuard(());

impl Drop for NoGradGuard {
    fn drop(&mut self) {
        NO_GRAD.with(|depth| depth.set(depth.get().saturating_sub(1)));
    }
}

/// Until the guard drops, nodes made on this thread do not need gradients.
pub fn no_grad_guard() -> NoGradGuard {
    NO_GRAD.with(|depth| depth.set(depth.get() + 1));
    NoGradGuard(())
}

/// Ends the part of the program in which gradients are recorded again.
#[derive(Debug)]
pub struct EnableGradGuard(u32);

impl Drop for EnableGradGuard {
    fn drop(&mut self) {
        NO_GRAD.with(|depth| depth.set(depth.get().saturating_add(self.0)));
    }
}

/// Until the guard drops, nodes made on this thread may need gradients, also inside of a [`no_grad_guard`].
pub fn enable_grad_guard() -> EnableGradGuard {
    EnableGradGuard(NO_GRAD.with(|depth| depth.replace(0)))
}

/// Whether nodes made on this thread from now on may need gradients.
pub fn set_grad_enabled(enabled: bool) {
    NO_GRAD.with(|depth| depth.set(u32::from(!enabled)));
}

/// Ends the part of the program in which run-time numbers stay the nodes that they are.
#[derive(Debug)]
pub struct KeepScalarsGuard(());

impl Drop for KeepScalarsGuard {
    fn drop(&mut self) {
        KEEP_SCALARS.with(|depth| depth.set(depth.get().saturating_sub(1)));
    }
}

/// Until the guard drops, casts and broadcasts of a run-time number on this thread are nodes of their own instead of another run-time number:
/// a plan that is being built has slots for those that it was captured with, and for no others.
pub fn keep_scalars_guard() -> KeepScalarsGuard {
    KEEP_SCALARS.with(|depth| depth.set(depth.get() + 1));
    KeepScalarsGuard(())
}

/// The run-time number that a node is, where another one may take its place.
pub(crate) fn foldable_scalar(expr: &Expr) -> Option<Literal> {
    if KEEP_SCALARS.with(|depth| depth.get() == 0) { expr.scalar_value() } else { None }
}

/// Whether nodes made now on this thread may need gradients.
#[inline]
pub fn grad_enabled() -> bool {
    NO_GRAD.with(|depth| depth.get() == 0)
}

impl Expr {
    fn of_node(node: Arc<Node>) -> Expr {
        Expr(ManuallyDrop::new(node))
    }

    /// The node of a handle that nothing else needs.
    #[inline]
    pub(crate) fn into_node(self) -> Arc<Node> {
        let mut handle = ManuallyDrop::new(self);
        // SAFETY: the handle is never dropped, so its node is taken once.
        unsafe { ManuallyDrop::take(&mut handle.0) }
    }

    /// Makes a node. Callers (the constructors in [`crate::ops`]) have checked the op's rules.
    #[inline]
    #[track_caller]
    pub(crate) fn new(op: Op, inputs: impl IntoInputs, shape: impl AsRef<[usize]>, dtype: DType) -> Expr {
        let inputs = inputs.into_inputs();
        let device = inputs.first().map_or(0, |input| input.device());
        Expr::with(op, inputs, shape, dtype, device, None)
    }

    #[inline]
    #[track_caller]
    pub(crate) fn with(op: Op, inputs: Inputs, shape: impl AsRef<[usize]>, dtype: DType, device: u32, scalar: Option<Literal>) -> Expr {
        let below = Traits::any(&inputs);
        if below.has(Traits::NAMED) {
            return dims::node(&op, inputs, shape.as_ref(), dtype, device);
        }
        Expr::unnamed(&op, inputs, below, shape.as_ref(), dtype, device, scalar)
    }

    /// As [`Expr::new`], of an op that is made only if the thread has not met it: it has this code, and `is` tells it from others.
    #[inline(always)]
    #[track_caller]
    pub(crate) fn coded(
        (code, is): (u64, impl Fn(&Op) -> bool),
        op: impl FnOnce() -> Op,
        inputs: impl IntoInputs,
        shape: &[usize],
        dtype: DType,
    ) -> Expr {
        match Expr::met(code, |near| is(&near.op), inputs, shape, dtype) {
            Ok(made) => made,
            Err(inputs) => Expr::new(op(), inputs.into_inputs(), shape, dtype),
        }
    }

    /// A node that gives this, whose type the thread has met: it has this code, and `is` tells it from others. The inputs, where there is none.
    #[inline(always)]
    #[track_caller]
    pub(crate) fn met<I: IntoInputs>(
        code: u64,
        is: impl Fn(&NodeType) -> bool,
        inputs: I,
        shape: &[usize],
        dtype: DType,
    ) -> Result<Expr, I> {
        let below = Traits::any(inputs.as_ref());
        if let (Some(first), false) = (inputs.as_ref().first(), below.has(Traits::NAMED))
            && let Some(start) = met::met_code(code, is, shape, dtype, first.device())
        {
            return Ok(Expr::judged(start, inputs, below, 0));
        }
        Err(inputs)
    }

    /// A node whose axes have no names.
    #[track_caller]
    pub(crate) fn plain(op: &Op, inputs: Inputs, shape: &[usize], dtype: DType, device: u32, scalar: Option<Literal>) -> Expr {
        let below = Traits::any(&inputs);
        Expr::unnamed(op, inputs, below, shape, dtype, device, scalar)
    }

    /// A node whose axes have no names, of inputs of which any is this.
    #[track_caller]
    fn unnamed(op: &Op, inputs: Inputs, below: Traits, shape: &[usize], dtype: DType, device: u32, scalar: Option<Literal>) -> Expr {
        let start = match met::met_node(op, shape, dtype, device) {
            Some(met) => met,
            None => match Expr::first_of(op, &inputs, shape, dtype, device) {
                Ok(new) => Start::Type(new),
                Err(instead) => return instead,
            },
        };
        Expr::judged(start, inputs, below, scalar.map_or(0, Literal::to_bits))
    }

    /// The type of a node that the thread has not met lately, if there can be one.
    #[cold]
    #[track_caller]
    fn first_of(op: &Op, inputs: &[Expr], shape: &[usize], dtype: DType, device: u32) -> Result<Arc<NodeType>, Expr> {
        if let Some(of) = met::met_type(shape, None, dtype, device) {
            return Ok(types::node_type(op, &of));
        }
        // Every size and byte count below is one that memory could have.
        if shape.len() > MAX_RANK || !is_countable(shape, dtype.size()) {
            if let Some(invalid) = inputs.iter().find(|input| input.is_invalid()) {
                return Err(invalid.clone());
            }
            let message = format!("{shape:?} {dtype} has more than {MAX_RANK} axes, or sizes whose product no memory has");
            let help = "give it fewer axes, or smaller sizes (also beside an axis of size 0)";
            let inputs: SmallVec<[&Expr; 3]> = inputs.iter().collect();
            return Err(Expr::fail(ErrorKind::Shape, op.name(), message, help, &inputs));
        }
        Ok(types::node_type(op, &types::tensor_type(shape, dtype, device)))
    }

    /// A node with the shape, names and device of `like`.
    #[inline]
    #[track_caller]
    pub(crate) fn like(op: Op, inputs: impl IntoInputs, like: &Arc<TensorType>, dtype: DType) -> Expr {
        match (like.dtype == dtype, like.names()) {
            (true, _) => Expr::of_type(&op, inputs.into_inputs(), like, None),
            (false, None) => Expr::plain(&op, inputs.into_inputs(), &like.shape, dtype, like.device, None),
            (false, Some(names)) => {
                let of = types::named_type(&like.shape, names, dtype, like.device);
                Expr::of_type(&op, inputs.into_inputs(), &of, None)
            }
        }
    }

    /// An elementwise op of one input of its dtype.
    #[inline(always)]
    #[track_caller]
    pub(crate) fn of_one(op: UnaryOp, input: Expr) -> Expr {
        let (start, below) = (met::unary(op, input.tensor_type()), input.traits());
        Expr::judged(start, [input], below, 0)
    }

    /// An elementwise op of two inputs of one type, which the result has too.
    #[inline(always)]
    #[track_caller]
    pub(crate) fn of_two(op: BinaryOp, inputs: [Expr; 2]) -> Expr {
        let [a, b] = &inputs;
        let (start, below) = (met::binary(op, a.tensor_type()), a.traits().or(b.traits()));
        Expr::judged(start, inputs, below, 0)
    }

    #[track_caller]
    pub(crate) fn of_type(op: &Op, inputs: Inputs, of: &Arc<TensorType>, scalar: Option<Literal>) -> Expr {
        let below = Traits::any(&inputs);
        Expr::judged(types::start(op, of), inputs, below, scalar.map_or(0, Literal::to_bits))
    }

    /// A node of this type, or what there is in its place; any of the inputs is `below`.
    #[inline(always)]
    #[track_caller]
    fn judged(start: Start, inputs: impl IntoInputs, below: Traits, scalar: u64) -> Expr {
        match start {
            Start::Spare(spare) => {
                let node_type = spare.node_type();
                if node_type.traits.or(below).has(Traits::INVALID | Traits::ONLY_STORES)
                    && let Some(instead) = Expr::refused(&node_type.op, inputs.as_ref(), node_type.of.dtype)
                {
                    return instead;
                }
                Expr::filled(spare, inputs, below, scalar)
            }
            Start::Type(node_type) => Expr::judged_of_type(node_type, inputs.into_inputs(), below, scalar),
        }
    }

    /// As [`Expr::judged`], where no node of the type has gone.
    #[cold]
    #[inline(never)]
    #[track_caller]
    fn judged_of_type(node_type: Arc<NodeType>, inputs: Inputs, below: Traits, scalar: u64) -> Expr {
        if node_type.traits.or(below).has(Traits::INVALID | Traits::ONLY_STORES)
            && let Some(instead) = Expr::refused(&node_type.op, &inputs, node_type.of.dtype)
        {
            return instead;
        }
        Expr::of_type_alone(node_type, inputs, below, scalar)
    }

    /// What there is in place of a node: the invalid one among the inputs, or an error.
    #[cold]
    #[track_caller]
    fn refused(op: &Op, inputs: &[Expr], dtype: DType) -> Option<Expr> {
        if let Some(invalid) = inputs.iter().find(|input| input.is_invalid()) {
            return Some(invalid.clone());
        }
        if op.moves() || !(dtype.only_stores() || Traits::any(inputs).has(Traits::ONLY_STORES)) {
            return None;
        }
        let message = "8-bit floats only store".to_owned();
        let inputs: SmallVec<[&Expr; 3]> = inputs.iter().collect();
        Some(Expr::fail(ErrorKind::DType, op.name(), message, "cast them to f32 (or f16, bf16) first", &inputs))
    }

    /// A node of this type, which the inputs fit.
    #[track_caller]
    pub(crate) fn of_node_type(node_type: Arc<NodeType>, inputs: impl IntoInputs) -> Expr {
        let below = Traits::any(inputs.as_ref());
        match Start::of(node_type) {
            Start::Spare(spare) => Expr::filled(spare, inputs, below, 0),
            Start::Type(node_type) => Expr::of_type_alone(node_type, inputs.into_inputs(), below, 0),
        }
    }

    /// A node that went, of the type already, with these inputs, of which any is `below`.
    #[inline(always)]
    #[track_caller]
    fn filled(mut spare: Spare, inputs: impl IntoInputs, below: Traits, scalar: u64) -> Expr {
        let newest = inputs.as_ref().iter().fold(0, |newest, input| newest.max(input.id()));
        // All but the type; the inputs and the result of the node before are gone.
        let Node { id, node_type, origin, traits, consumed, claim, scalar: number, inputs: list, result: _ } = spare.node();
        *id = ids::after(newest);
        *origin = Origin::current();
        *traits = node_type.traits.of_node(below);
        *consumed.get_mut() = false;
        *claim = Claim::free();
        *number = scalar;
        let list = list.get_mut().unwrap_or_else(std::sync::PoisonError::into_inner);
        // It has neither content nor memory elsewhere, and to look for some costs as much as all the rest.
        std::mem::forget(std::mem::replace(list, inputs.into_inputs()));
        Expr::of_node(spare.filled())
    }

    /// A node of a type of which none has gone: in the memory of one of another type, or in new memory.
    #[track_caller]
    fn of_type_alone(node_type: Arc<NodeType>, inputs: Inputs, below: Traits, scalar: u64) -> Expr {
        if let Some(mut spare) = met::other() {
            // The type that it had goes now.
            spare.node().node_type = node_type;
            return Expr::filled(spare, inputs, below, scalar);
        }
        let newest = inputs.iter().fold(0, |newest, input| newest.max(input.id()));
        Expr::of_node(Arc::new(Node {
            id: ids::after(newest),
            traits: node_type.traits.of_node(below),
            node_type,
            origin: Origin::current(),
            consumed: AtomicBool::new(false),
            claim: Claim::free(),
            scalar,
            inputs: RwLock::new(inputs),
            result: OnceLock::new(),
        }))
    }

    /// A run-time number in every element of a tensor of this type.
    #[track_caller]
    pub(crate) fn scalar_of(of: &Arc<TensorType>, value: Literal) -> Expr {
        Expr::judged(met::scalar(of), [], Traits::NONE, value.to_bits())
    }

    /// A run-time number in every element of a tensor like one of this type, but of the number's dtype.
    #[track_caller]
    pub(crate) fn scalar_like_type(like: &Arc<TensorType>, value: Literal) -> Expr {
        match like.names() {
            None => Expr::plain(&Op::Scalar, Inputs::new(), &like.shape, value.dtype(), like.device, Some(value)),
            Some(names) => Expr::scalar_of(&types::named_type(&like.shape, names, value.dtype(), like.device), value),
        }
    }

    /// A leaf of the same type without data: stands for an argument of a function that is recorded.
    #[track_caller]
    pub fn stand_in(&self) -> Expr {
        Expr::stand_in_of(self.tensor_type())
    }

    /// Whether it is one of some nodes, or was computed from one.
    pub fn depends_on<'a>(&self, those: impl IntoIterator<Item = &'a Expr>) -> bool {
        self.leads_to(those, |_| true)
    }

    /// Whether a gradient of it goes to one of some nodes.
    pub fn has_gradient_to<'a>(&self, those: impl IntoIterator<Item = &'a Expr>) -> bool {
        self.leads_to(those, |node| node.dtype().is_float() && !node.is_detached())
    }

    /// Whether it is one of some nodes, or has one before it, by nodes that are gone `through`.
    fn leads_to<'a>(&self, those: impl IntoIterator<Item = &'a Expr>, through: impl Fn(&Expr) -> bool) -> bool {
        let those: FxHashSet<NodeId> = those.into_iter().map(Expr::id).collect();
        // What is older than all of them was computed from none.
        let Some(first) = those.iter().copied().min() else { return false };
        let mut seen = FxHashSet::default();
        let mut waiting = vec![self.clone()];
        while let Some(node) = waiting.pop() {
            if those.contains(&node.id()) {
                return true;
            }
            if node.id() > first && through(&node) && seen.insert(node.id()) {
                waiting.extend(node.inputs().iter().cloned());
            }
        }
        false
    }

    /// A leaf of a type, without data.
    #[track_caller]
    pub(crate) fn stand_in_of(of: &Arc<TensorType>) -> Expr {
        Expr::of_type(&Op::Buffer, Inputs::new(), of, None)
    }

    /// A loop over a sequence; see [`Loop`].
    #[track_caller]
    pub(crate) fn looped(spec: Arc<Loop>, inputs: Inputs, of: &Arc<TensorType>) -> Expr {
        Expr::of_type(&Op::Loop(spec), inputs, of, None)
    }

    /// A leaf without data for one of the parts that lie along axis 0. It needs a gradient where `self` does.
    #[track_caller]
    pub(crate) fn slice_stand_in(&self) -> Expr {
        let mut leaf = Expr::with(Op::Buffer, Inputs::new(), self.shape().get(1..).unwrap_or(&[]), self.dtype(), self.device(), None);
        if let (Some(node), true) = (Arc::get_mut(&mut leaf.0), self.needs_grad()) {
            node.traits.add(Traits::NEEDS_GRAD);
        }
        leaf
    }

    /// What several ops make of arguments of the types that they were recorded with; see [`Composite`].
    #[track_caller]
    pub(crate) fn composite(composite: &Arc<Composite>, arguments: Inputs) -> Option<Expr> {
        let below = Traits::any(&arguments);
        Some(Expr::judged(met::composite(composite, composite.result_type(0)?), arguments, below, 0))
    }

    /// Part `i` of a node whose part is one of these.
    #[track_caller]
    pub(crate) fn part_of(self, i: usize, of: &Arc<TensorType>) -> Expr {
        let below = self.traits();
        Expr::judged(met::part(i, of), [self], below, 0)
    }

    /// A leaf that holds realized, contiguous data.
    #[track_caller]
    pub fn buffer(shape: Shape, dtype: DType, device: u32, data: Storage) -> Expr {
        let expr = Expr::with(Op::Buffer, Inputs::new(), shape, dtype, device, None);
        expr.set_data(data);
        expr
    }

    /// As [`Expr::buffer`], of data that lie in memory as those of `like` do: with its shape and names.
    #[track_caller]
    pub fn buffer_like(like: &Expr, data: Storage) -> Expr {
        let expr = like.stand_in();
        expr.set_data(data);
        expr
    }

    /// `value` with a place for gradients to arrive at. Its gradient goes no further.
    #[track_caller]
    pub fn variable(id: VariableId, value: &Expr) -> Expr {
        Expr::like(Op::Variable(id), [value.clone()], value.tensor_type(), value.dtype())
    }

    /// Another value of the variable whose node `self` is.
    #[track_caller]
    pub fn variable_with(&self, id: VariableId, value: Expr) -> Expr {
        let is_same = matches!(self.op(), Op::Variable(own) if *own == id) && self.is_same_type(&value);
        // A type of its own is made once for a variable, not for each of its values.
        if is_same && !value.is_invalid() { Expr::of_node_type(self.node_type().clone(), [value]) } else { Expr::variable(id, &value) }
    }

    /// A node that carries an error; so does everything made from it.
    #[track_caller]
    pub fn invalid(error: Error) -> Expr {
        Expr::with(Op::Invalid(InvalidOp(Arc::new(error))), Inputs::new(), Shape::new(), DType::F32, 0, None)
    }

    /// An invalid node for `op`, whose error names the caller and where the inputs come from.
    #[track_caller]
    pub fn fail(kind: ErrorKind, op: &str, message: String, help: &str, inputs: &[&Expr]) -> Expr {
        if let Some(invalid) = inputs.iter().find(|input| input.is_invalid()) {
            return (*invalid).clone();
        }
        let inputs = inputs.iter().map(|input| (format!("{} {:?} {}", input.op().name(), input.shape(), input.dtype()), input.origin()));
        Expr::invalid(Error { kind, op: op.into(), message, help: help.into(), origin: Origin::current(), inputs: inputs.collect() })
    }

    /// The error of an invalid node.
    #[inline]
    #[expect(clippy::wildcard_enum_match_arm, reason = "it asks for certain ops")]
    pub fn error(&self) -> Option<&Arc<Error>> {
        match self.op() {
            Op::Invalid(error) => Some(&error.0),
            _ => None,
        }
    }

    /// Whether it carries an error.
    #[inline]
    pub fn is_invalid(&self) -> bool {
        self.0.traits.has(Traits::INVALID)
    }

    #[inline]
    pub(crate) fn traits(&self) -> Traits {
        self.0.traits
    }

    /// Creation order; unique.
    #[inline]
    pub fn id(&self) -> NodeId {
        self.0.id
    }

    /// The op.
    #[inline]
    pub fn op(&self) -> &Op {
        &self.0.node_type.op
    }

    /// Element type.
    #[inline]
    pub fn dtype(&self) -> DType {
        self.0.node_type.of.dtype
    }

    /// Sizes per axis.
    #[inline]
    pub fn shape(&self) -> &Shape {
        &self.0.node_type.of.shape
    }

    /// Number of axes.
    #[inline]
    pub fn rank(&self) -> usize {
        self.0.node_type.of.shape.len()
    }

    /// Number of elements.
    #[inline]
    pub fn numel(&self) -> usize {
        self.0.node_type.of.numel
    }

    /// Bytes of its elements in memory, where named axes are as long as their buckets.
    pub fn bytes(&self) -> Result<usize, Arc<Error>> {
        // Sizes are checked when a node is made.
        Format::Plain(self.dtype()).bytes_for(&self.memory_shape()).map_err(|error| Error::internal(self, &error.cause))
    }

    /// The device's number.
    #[inline]
    pub fn device(&self) -> u32 {
        self.0.node_type.of.device
    }

    /// Op, attributes, dtype, shape and device, without the inputs: kept once, so that nodes are compared by its number.
    #[inline]
    pub fn node_type(&self) -> &Arc<NodeType> {
        &self.0.node_type
    }

    /// Shape, dtype and device.
    #[inline]
    pub(crate) fn tensor_type(&self) -> &Arc<TensorType> {
        &self.0.node_type.of
    }

    /// Whether both have one shape and dtype on one device.
    #[inline]
    pub fn is_same_type(&self, other: &Expr) -> bool {
        Arc::ptr_eq(&self.0.node_type.of, &other.0.node_type.of)
    }

    /// Whether a gradient may flow through it.
    #[inline]
    pub fn needs_grad(&self) -> bool {
        self.0.traits.has(Traits::NEEDS_GRAD)
    }

    /// Whether an axis has a name.
    #[inline]
    pub fn is_named(&self) -> bool {
        self.0.traits.has(Traits::NAMED)
    }

    /// Where the user made it.
    pub fn origin(&self) -> Origin {
        self.0.origin
    }

    /// The value of an `Op::Scalar`.
    #[inline]
    pub fn scalar_value(&self) -> Option<Literal> {
        matches!(self.op(), Op::Scalar).then(|| Literal::from_bits(self.dtype(), self.0.scalar))
    }

    /// The inputs; empty for leaves and for nodes that evaluation has turned into one.
    #[inline]
    pub fn inputs(&self) -> RwLockReadGuard<'_, Inputs> {
        self.0.inputs.read().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// Input `i`, if there is one.
    #[inline]
    pub fn input(&self, i: usize) -> Option<Expr> {
        self.inputs().get(i).cloned()
    }

    /// The realized data, once there is some.
    #[inline]
    pub fn data(&self) -> Option<&Storage> {
        self.0.result.get().map(|result| &result.data)
    }

    /// Evaluation's result. The first one stays.
    pub fn set_data(&self, data: Storage) {
        let _ = self.0.result.set(Box::new(Evaluated { data, below: OnceLock::new() }));
    }

    /// What it was computed from, if its inputs were let go.
    pub(crate) fn below(&self) -> Option<&Arc<Below>> {
        self.0.result.get().and_then(|result| result.below.get())
    }

    /// Whether it was computed from nodes that could still be asked about when its inputs were let go.
    pub fn is_below_known(&self) -> bool {
        self.below().is_some()
    }

    /// Whether it stands for its input's value: it has memory of its own only if something asked for it by name.
    #[inline]
    #[expect(clippy::wildcard_enum_match_arm, reason = "it asks for certain ops")]
    pub fn is_alias(&self) -> bool {
        match self.op() {
            Op::Variable(_) => true,
            Op::Cast => self.inputs().first().is_some_and(|input| input.dtype() == self.dtype()),
            _ => false,
        }
    }

    /// Whether it is a variable in another dtype.
    pub fn is_cast_variable(&self) -> bool {
        matches!(self.op(), Op::Cast) && self.inputs().first().is_some_and(|input| matches!(input.op(), Op::Variable(_)))
    }

    /// Lets the inputs go: the node is a leaf from now on. Only for nodes with data. `below` is what a gradient could have gone to.
    pub fn release_inputs(&self, below: Option<Arc<Below>>) {
        if let (Some(result), Some(below)) = (self.0.result.get(), below) {
            let _ = result.below.set(below);
        }
        let inputs = std::mem::take(&mut *self.0.inputs.write().unwrap_or_else(std::sync::PoisonError::into_inner));
        release::inputs(inputs);
    }

    /// Whether a backward pass has gone through here and freed the graph: no second one can.
    #[inline]
    pub fn is_consumed(&self) -> bool {
        self.0.consumed.load(Ordering::Relaxed)
    }

    /// See [`Expr::is_consumed`].
    pub fn set_consumed(&self) {
        self.0.consumed.store(true, Ordering::Relaxed);
    }

    /// Which evaluation may change it.
    #[inline]
    pub fn claim(&self) -> &Claim {
        &self.0.claim
    }

    /// How many handles and nodes refer to the node.
    #[inline]
    pub fn reference_count(&self) -> usize {
        Arc::strong_count(&self.0)
    }

    /// A handle that does not keep the node alive.
    pub fn downgrade(&self) -> WeakExpr {
        WeakExpr(Arc::downgrade(&self.0))
    }

    /// Whether both are one node.
    pub fn same(&self, other: &Expr) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Node {
    /// The inputs, for the node's only owner.
    #[inline]
    pub(crate) fn inputs_mut(&mut self) -> &mut Inputs {
        self.inputs.get_mut().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

impl fmt::Debug for Expr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "%{} {} {:?} {}", self.id(), self.op().name(), self.shape(), self.dtype())?;
        for input in self.inputs().iter() {
            write!(f, " %{}", input.id())?;
        }
        Ok(())
    }
}
