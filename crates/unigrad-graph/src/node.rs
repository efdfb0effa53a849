//! Nodes, and the handle to one.

use crate::{
    Below, Claim, Composite, Error, ErrorKind, Loop, Op, Shape, VariableId, dims, is_countable, numel,
    op::InvalidOp,
    shape::MAX_RANK,
    types::{self, NodeType, TensorType},
};
use smallvec::SmallVec;
use std::{
    any::Any,
    cell::{Cell, RefCell},
    fmt,
    sync::{
        Arc, OnceLock, RwLock, RwLockReadGuard, Weak,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};
use unigrad_scalar::{DType, Format, Literal, Origin};

/// A node's place in creation order: inputs come before their users.
pub type NodeId = u64;

/// A node's inputs. Two take no more room than a list that is elsewhere.
pub type Inputs = SmallVec<[Expr; 2]>;

/// What a constructor gives as inputs.
pub(crate) trait IntoInputs {
    fn into_inputs(self) -> Inputs;
}

impl IntoInputs for Inputs {
    #[inline]
    fn into_inputs(self) -> Inputs {
        self
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
pub struct Node {
    id: NodeId,
    node_type: Arc<NodeType>,
    origin: Origin,
    traits: Traits,
    consumed: AtomicBool,
    claim: Claim,
    /// The bits of an `Op::Scalar`'s value.
    scalar: u64,
    inputs: RwLock<Inputs>,
    result: OnceLock<Box<Evaluated>>,
}

/// What a node is, as far as every node that is made from it asks: one look at each input tells all.
#[derive(Clone, Copy)]
struct Traits(u8);

impl Traits {
    /// It carries an error.
    const INVALID: u8 = 1;
    /// Its dtype computes nothing.
    const ONLY_STORES: u8 = 2;
    /// A gradient may flow through it.
    const NEEDS_GRAD: u8 = 4;
    /// One of its axes has a name.
    const NAMED: u8 = 8;

    /// Of a node that does this, whatever its inputs are.
    #[inline]
    #[expect(clippy::wildcard_enum_match_arm, reason = "it asks for certain ops")]
    fn of(op: &Op, dtype: DType) -> Traits {
        let own = match op {
            Op::Invalid(_) => Traits::INVALID,
            Op::Variable(_) => Traits::NEEDS_GRAD,
            _ => 0,
        };
        Traits(own | if dtype.only_stores() { Traits::ONLY_STORES } else { 0 })
    }

    /// A node's own and what any of its inputs is, or what there is in its place.
    #[inline]
    #[track_caller]
    fn judged(op: &Op, inputs: &[Expr], dtype: DType) -> Result<(Traits, Traits), Expr> {
        let traits = (Traits::of(op, dtype), Traits::any(inputs));
        if (traits.0.0 | traits.1.0) & (Traits::INVALID | Traits::ONLY_STORES) != 0
            && let Some(instead) = Expr::refused(op, inputs, dtype)
        {
            return Err(instead);
        }
        Ok(traits)
    }

    /// What any of them is.
    #[inline]
    fn any(inputs: &[Expr]) -> Traits {
        Traits(inputs.iter().fold(0, |all, input| all | input.0.traits.0))
    }

    #[inline]
    fn has(self, traits: u8) -> bool {
        self.0 & traits != 0
    }
}

/// What evaluation leaves in a node.
struct Evaluated {
    data: Storage,
    /// What the inputs were, for those who ask for a gradient after they were let go.
    below: OnceLock<Arc<Below>>,
}

static NEXT: AtomicU64 = AtomicU64::new(1);

/// The id that the next node gets: smaller ones were there before.
pub fn next_id() -> NodeId {
    NEXT.load(Ordering::Relaxed)
}

/// A cheap, shared handle to a [`Node`]. The constructors of ops are in [`crate::ops`].
#[derive(Clone)]
pub struct Expr(Arc<Node>);

/// A handle that does not keep its node alive.
#[derive(Clone, Debug)]
pub struct WeakExpr(Weak<Node>);

impl WeakExpr {
    /// The node, if something keeps it alive.
    pub fn upgrade(&self) -> Option<Expr> {
        self.0.upgrade().map(Expr)
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
    /// Makes a node. Callers (the constructors in [`crate::ops`]) have checked the op's rules.
    #[track_caller]
    pub(crate) fn new(op: Op, inputs: impl IntoInputs, shape: impl AsRef<[usize]>, dtype: DType) -> Expr {
        let inputs = inputs.into_inputs();
        let device = inputs.first().map_or(0, |input| input.device());
        Expr::with(op, inputs, shape, dtype, device, None)
    }

    #[track_caller]
    pub(crate) fn with(op: Op, inputs: Inputs, shape: impl AsRef<[usize]>, dtype: DType, device: u32, scalar: Option<Literal>) -> Expr {
        if Traits::any(&inputs).has(Traits::NAMED) {
            return dims::node(&op, inputs, shape.as_ref(), dtype, device);
        }
        Expr::plain(&op, inputs, shape.as_ref(), dtype, device, scalar)
    }

    /// A node whose axes have no names.
    #[inline]
    #[track_caller]
    pub(crate) fn plain(op: &Op, inputs: Inputs, shape: &[usize], dtype: DType, device: u32, scalar: Option<Literal>) -> Expr {
        if let Some(of) = types::met_type(shape, None, dtype, device) {
            return Expr::of_type(op, inputs, &of, scalar);
        }
        // Every size and byte count below is one that memory could have.
        if shape.len() > MAX_RANK || !is_countable(shape, dtype.size()) {
            if let Some(invalid) = inputs.iter().find(|input| input.is_invalid()) {
                return invalid.clone();
            }
            let message = format!("{shape:?} {dtype} has more than {MAX_RANK} axes, or sizes whose product no memory has");
            let help = "give it fewer axes, or smaller sizes (also beside an axis of size 0)";
            let inputs: SmallVec<[&Expr; 3]> = inputs.iter().collect();
            return Expr::fail(ErrorKind::Shape, op.name(), message, help, &inputs);
        }
        Expr::of_type(op, inputs, &types::tensor_type(shape, dtype, device), scalar)
    }

    /// A node with the shape, names and device of `like`.
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

    /// A node with the shape, names and device of its first input, of which there is one.
    #[track_caller]
    pub(crate) fn like_first(op: &Op, inputs: Inputs, dtype: DType) -> Expr {
        let Some(of) = inputs.first().map(Expr::tensor_type) else {
            return Expr::fail(ErrorKind::Internal, op.name(), "an op of nothing".to_owned(), "report it", &[]);
        };
        if of.dtype != dtype {
            let of = of.clone();
            return Expr::like(op.clone(), inputs, &of, dtype);
        }
        match Traits::judged(op, &inputs, dtype) {
            Ok(traits) => Expr::made(types::node_type(op, of), inputs, traits, 0),
            Err(instead) => instead,
        }
    }

    #[inline]
    #[track_caller]
    pub(crate) fn of_type(op: &Op, inputs: Inputs, of: &Arc<TensorType>, scalar: Option<Literal>) -> Expr {
        match Traits::judged(op, &inputs, of.dtype) {
            Ok(traits) => Expr::made(types::node_type(op, of), inputs, traits, scalar.map_or(0, Literal::to_bits)),
            Err(instead) => instead,
        }
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
    pub(crate) fn of_node_type(node_type: Arc<NodeType>, inputs: Inputs) -> Expr {
        let traits = (Traits::of(&node_type.op, node_type.of.dtype), Traits::any(&inputs));
        Expr::made(node_type, inputs, traits, 0)
    }

    /// A node of this type, with traits of its own and of any of its inputs.
    #[inline]
    #[track_caller]
    fn made(node_type: Arc<NodeType>, inputs: Inputs, (own, below): (Traits, Traits), scalar: u64) -> Expr {
        let named = if node_type.of.named.is_some() { Traits::NAMED } else { 0 };
        let needs_grad = below.has(Traits::NEEDS_GRAD) && node_type.of.dtype.is_float() && grad_enabled();
        Expr(Arc::new(Node {
            id: NEXT.fetch_add(1, Ordering::Relaxed),
            node_type,
            origin: Origin::current(),
            traits: Traits(own.0 | named | if needs_grad { Traits::NEEDS_GRAD } else { 0 }),
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
        Expr::of_type(&Op::Scalar, Inputs::new(), of, Some(value))
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
            node.traits.0 |= Traits::NEEDS_GRAD;
        }
        leaf
    }

    /// What several ops make of arguments of the types that they were recorded with; see [`Composite`].
    #[track_caller]
    pub(crate) fn composite(composite: &Arc<Composite>, arguments: Inputs) -> Option<Expr> {
        Some(Expr::of_type(&Op::Composite(composite.clone()), arguments, composite.result_type(0)?, None))
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
    pub fn numel(&self) -> usize {
        numel(&self.0.node_type.of.shape)
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

    /// Lets the inputs go: the node is a leaf from now on. Only for nodes with data. `below` is what a gradient could have gone to.
    pub fn release_inputs(&self, below: Option<Arc<Below>>) {
        if let (Some(result), Some(below)) = (self.0.result.get(), below) {
            let _ = result.below.set(below);
        }
        let inputs = std::mem::take(&mut *self.0.inputs.write().unwrap_or_else(std::sync::PoisonError::into_inner));
        drop_iteratively(Remains::Inputs(inputs));
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

/// Drops a chain of nodes of any length without recursion: a node that goes while another one is dropped leaves what it holds to that one.
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
                        own.0.extend(node.take_inputs().map(Remains::Inputs));
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
}

impl Drop for Node {
    fn drop(&mut self) {
        if let Some(inputs) = self.take_inputs() {
            drop_iteratively(Remains::Inputs(inputs));
        }
        if matches!(self.node_type.op, Op::Custom(_)) {
            drop_iteratively(Remains::Gradient(std::mem::replace(&mut self.node_type, types::spare())));
        }
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
