//! Nodes, and the handle to one.

use crate::{Below, Claim, Error, ErrorKind, Op, Shape, VariableId, is_countable, numel, op::InvalidOp, shape::MAX_RANK};
use rustc_hash::FxHasher;
use smallvec::SmallVec;
use std::{
    any::Any,
    cell::{Cell, RefCell},
    fmt,
    hash::{Hash, Hasher},
    sync::{
        Arc, OnceLock, RwLock, RwLockReadGuard, Weak,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};
use unigrad_scalar::{DType, Literal, Origin};

/// A node's place in creation order: inputs come before their users.
pub type NodeId = u64;

/// A node's inputs.
pub type Inputs = SmallVec<[Expr; 3]>;

/// What a realized node holds: the tensor crate's buffer, opaque here.
pub type Storage = Arc<dyn Any + Send + Sync>;

/// One op of the graph. Immutable but for two things that evaluation does: it puts the result in, and lets the inputs go.
pub struct Node {
    id: NodeId,
    op: Op,
    dtype: DType,
    shape: Shape,
    device: u32,
    fingerprint: u128,
    needs_grad: bool,
    origin: Origin,
    scalar: Option<Literal>,
    inputs: RwLock<Inputs>,
    data: OnceLock<Storage>,
    /// What the inputs were, for those who ask for a gradient after they were let go.
    below: OnceLock<Arc<Below>>,
    consumed: AtomicBool,
    claim: Claim,
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
pub fn grad_enabled() -> bool {
    NO_GRAD.with(|depth| depth.get() == 0)
}

impl Expr {
    /// Makes a node. Callers (the constructors in [`crate::ops`]) have checked the op's rules.
    #[track_caller]
    pub(crate) fn new(op: Op, inputs: impl IntoIterator<Item = Expr>, shape: Shape, dtype: DType) -> Expr {
        let inputs: Inputs = inputs.into_iter().collect();
        let device = inputs.first().map_or(0, |input| input.device());
        Expr::with(op, inputs, shape, dtype, device, None)
    }

    #[track_caller]
    pub(crate) fn with(op: Op, inputs: Inputs, shape: Shape, dtype: DType, device: u32, scalar: Option<Literal>) -> Expr {
        if let Some(invalid) = inputs.iter().find(|input| matches!(input.op(), Op::Invalid(_))) {
            return invalid.clone();
        }
        // Every size and byte count below is one that memory could have.
        if shape.len() > MAX_RANK || !is_countable(&shape, dtype.size()) {
            let message = format!("{shape:?} {dtype} has more than {MAX_RANK} axes, or sizes whose product no memory has");
            let help = "give it fewer axes, or smaller sizes (also beside an axis of size 0)";
            let inputs: SmallVec<[&Expr; 3]> = inputs.iter().collect();
            return Expr::fail(ErrorKind::Shape, op.name(), message, help, &inputs);
        }
        let needs_grad = match &op {
            Op::Variable(_) => true,
            _ => dtype.is_float() && grad_enabled() && inputs.iter().any(Expr::needs_grad),
        };
        // Which variable it is makes no other plan.
        let shown = if matches!(op, Op::Variable(_)) { &Op::Variable(VariableId(0)) } else { &op };
        let fingerprint = fingerprint(shown, &shape, dtype, device);
        Expr(Arc::new(Node {
            id: NEXT.fetch_add(1, Ordering::Relaxed),
            op,
            dtype,
            shape,
            device,
            fingerprint,
            needs_grad,
            origin: Origin::current(),
            scalar,
            inputs: RwLock::new(inputs),
            data: OnceLock::new(),
            below: OnceLock::new(),
            consumed: AtomicBool::new(false),
            claim: Claim::free(),
        }))
    }

    /// A leaf that holds realized, contiguous data.
    #[track_caller]
    pub fn buffer(shape: Shape, dtype: DType, device: u32, data: Storage) -> Expr {
        let expr = Expr::with(Op::Buffer, Inputs::new(), shape, dtype, device, None);
        expr.set_data(data);
        expr
    }

    /// `value` with a place for gradients to arrive at. Its gradient goes no further.
    #[track_caller]
    pub fn variable(id: VariableId, value: &Expr) -> Expr {
        let (shape, dtype) = (value.shape().clone(), value.dtype());
        Expr::new(Op::Variable(id), [value.clone()], shape, dtype)
    }

    /// A node that carries an error; so does everything made from it.
    #[track_caller]
    pub fn invalid(error: Error) -> Expr {
        Expr::with(Op::Invalid(InvalidOp(Arc::new(error))), Inputs::new(), Shape::new(), DType::F32, 0, None)
    }

    /// An invalid node for `op`, whose error names the caller and where the inputs come from.
    #[track_caller]
    pub fn fail(kind: ErrorKind, op: &str, message: String, help: &str, inputs: &[&Expr]) -> Expr {
        if let Some(invalid) = inputs.iter().find(|input| matches!(input.op(), Op::Invalid(_))) {
            return (*invalid).clone();
        }
        let inputs = inputs.iter().map(|input| (format!("{} {:?} {}", input.op().name(), input.shape(), input.dtype()), input.origin()));
        Expr::invalid(Error { kind, op: op.into(), message, help: help.into(), origin: Origin::current(), inputs: inputs.collect() })
    }

    /// The error of an invalid node.
    pub fn error(&self) -> Option<&Arc<Error>> {
        match self.op() {
            Op::Invalid(error) => Some(&error.0),
            _ => None,
        }
    }

    /// Creation order; unique.
    pub fn id(&self) -> NodeId {
        self.0.id
    }

    /// The op.
    pub fn op(&self) -> &Op {
        &self.0.op
    }

    /// Element type.
    pub fn dtype(&self) -> DType {
        self.0.dtype
    }

    /// Sizes per axis.
    pub fn shape(&self) -> &Shape {
        &self.0.shape
    }

    /// Number of axes.
    pub fn rank(&self) -> usize {
        self.0.shape.len()
    }

    /// Number of elements.
    pub fn numel(&self) -> usize {
        numel(&self.0.shape)
    }

    /// The device's number.
    pub fn device(&self) -> u32 {
        self.0.device
    }

    /// A hash of op, attributes, dtype, shape and device, without the inputs: one word of a plan's key.
    pub fn fingerprint(&self) -> u128 {
        self.0.fingerprint
    }

    /// The fingerprint that a [`Op::Buffer`] of the same shape, dtype and device has: what a node with data is to a plan.
    pub fn data_fingerprint(&self) -> u128 {
        match self.op() {
            Op::Buffer => self.0.fingerprint,
            _ => fingerprint(&Op::Buffer, &self.0.shape, self.0.dtype, self.0.device),
        }
    }

    /// Whether a gradient may flow through it.
    pub fn needs_grad(&self) -> bool {
        self.0.needs_grad
    }

    /// Where the user made it.
    pub fn origin(&self) -> Origin {
        self.0.origin
    }

    /// The value of an `Op::Scalar`.
    pub fn scalar_value(&self) -> Option<Literal> {
        self.0.scalar
    }

    /// The inputs; empty for leaves and for nodes that evaluation has turned into one.
    pub fn inputs(&self) -> RwLockReadGuard<'_, Inputs> {
        self.0.inputs.read().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// Input `i`, if there is one.
    pub fn input(&self, i: usize) -> Option<Expr> {
        self.inputs().get(i).cloned()
    }

    /// The realized data, once there is some.
    pub fn data(&self) -> Option<&Storage> {
        self.0.data.get()
    }

    /// Evaluation's result. The first one stays.
    pub fn set_data(&self, data: Storage) {
        let _ = self.0.data.set(data);
    }

    /// What it was computed from, if its inputs were let go.
    pub(crate) fn below(&self) -> Option<&Arc<Below>> {
        self.0.below.get()
    }

    /// Whether it was computed from nodes that could still be asked about when its inputs were let go.
    pub fn is_below_known(&self) -> bool {
        self.0.below.get().is_some()
    }

    /// Whether it stands for its input's value: it has memory of its own only if something asked for it by name.
    pub fn is_alias(&self) -> bool {
        match self.op() {
            Op::Variable(_) => true,
            Op::Cast => self.inputs().first().is_some_and(|input| input.dtype() == self.dtype()),
            _ => false,
        }
    }

    /// Lets the inputs go: the node is a leaf from now on. Only for nodes with data. `below` is what a gradient could have gone to.
    pub fn release_inputs(&self, below: Option<Arc<Below>>) {
        if let Some(below) = below {
            let _ = self.0.below.set(below);
        }
        let inputs = std::mem::take(&mut *self.0.inputs.write().unwrap_or_else(std::sync::PoisonError::into_inner));
        drop_iteratively(Remains::Inputs(inputs));
    }

    /// Whether a backward pass has gone through here and freed the graph: no second one can.
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

fn fingerprint(op: &Op, shape: &Shape, dtype: DType, device: u32) -> u128 {
    // Which variable it is, or whose gradient, makes no difference to what is computed; both are made anew in some training steps.
    let op = if matches!(op, Op::Variable(_) | Op::Custom(_)) { None } else { Some(op) };
    let mut low = FxHasher::default();
    (op, shape, dtype, device).hash(&mut low);
    let low = low.finish();
    // The second half has to be independent of the first: another start and another mixing of the same words.
    let mut high = FxHasher::default();
    (0x9e37_79b9_7f4a_7c15_u64, low.rotate_left(29), device, dtype, shape, op).hash(&mut high);
    u128::from(low) | u128::from(high.finish()) << 64
}

/// What nodes leave behind.
enum Remains {
    Inputs(Inputs),
    /// A user's gradient may hold tensors, and so more nodes.
    Gradient(Op),
}

thread_local! {
    /// What is still to be dropped, while this thread drops.
    static REMAINS: RefCell<Option<Vec<Remains>>> = const { RefCell::new(None) };
}

/// This thread drops; ends also when a destructor of the user's panics.
struct Dropping;

impl Drop for Dropping {
    fn drop(&mut self) {
        // Out of the cell before it is dropped, for that may leave more.
        let left = REMAINS.try_with(|all| all.borrow_mut().take());
        drop(left);
    }
}

/// Drops a chain of nodes of any length without recursion: a node that goes while another one is dropped leaves what it holds to that one.
fn drop_iteratively(remains: Remains) {
    let mut own = vec![remains];
    let begun = REMAINS.try_with(|all| {
        let mut all = all.borrow_mut();
        match &mut *all {
            Some(waiting) => waiting.append(&mut own),
            none => {
                *none = Some(Vec::new());
                return Some(Dropping);
            }
        }
        None
    });
    let left_by_others = || REMAINS.try_with(|all| all.borrow_mut().as_mut().and_then(Vec::pop)).ok().flatten();
    while let Some(next) = own.pop().or_else(|| begun.as_ref().ok()?.as_ref().and_then(|_| left_by_others())) {
        match next {
            Remains::Inputs(inputs) => {
                for Expr(node) in inputs {
                    if let Some(mut node) = Arc::into_inner(node) {
                        own.extend(node.take_inputs().map(Remains::Inputs));
                    }
                }
            }
            Remains::Gradient(op) => drop(op),
        }
    }
}

impl Node {
    /// The inputs, if there are any, so that they do not go with the node.
    fn take_inputs(&mut self) -> Option<Inputs> {
        let inputs = std::mem::take(self.inputs.get_mut().unwrap_or_else(std::sync::PoisonError::into_inner));
        (!inputs.is_empty()).then_some(inputs)
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        if let Some(inputs) = self.take_inputs() {
            drop_iteratively(Remains::Inputs(inputs));
        }
        if matches!(self.op, Op::Custom(_)) {
            drop_iteratively(Remains::Gradient(std::mem::replace(&mut self.op, Op::Buffer)));
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
