//! The handle a user holds: a node of the graph, and where its gradient arrives.

mod variable;

use crate::{Device, Error, Result, eval, half_copy::HalfCopy, transform::is_node_differentiated};
use std::{
    collections::HashMap,
    sync::{
        Arc, LazyLock, Mutex, MutexGuard, PoisonError, Weak,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};
use unigrad_device::{Background, in_background};
use unigrad_graph::{BinaryOp, DType, ErrorKind, Expr, NodeId, Op, Shape, VariableId, grad_enabled};

/// An n-dimensional array on a device: a cheap handle, shared and sent freely between threads.
///
/// Ops record what to compute and return at once; a read (`to_vec`, `item`, printing) or [`Tensor::realize`] computes. An op that
/// breaks a rule returns an *invalid* tensor, and so does every op on one: the error, with the caller's line, is returned where a
/// value is first asked for.
pub struct Tensor(Cell<Held>);

/// What handles of many threads read and exchange, for as long as it takes to copy a handle to a node. To read it costs one locked instruction, where `RwLock` and
/// `Mutex` of the standard library cost two; they are most of what recording a node costs. A thread that is kept from a short section gives its time to others.
/// Never: what is done inside of it drops a node, for that may be the user's, or asks for the same tensor.
type Cell<T> = spin::mutex::SpinMutex<T, spin::relax::Yield>;

/// What a handle holds.
enum Held {
    /// The node, while no other handle refers to the tensor: most are temporaries of an expression, which need no more.
    Alone(Expr),
    /// What all handles to the tensor refer to.
    Shared(Arc<Inner>),
}

struct Inner {
    expr: Cell<Expr>,
    /// Where gradients arrive; only for variables, which are few.
    variable: Option<Box<Variable>>,
}

struct Variable {
    id: VariableId,
    grad: Mutex<Option<Tensor>>,
    /// Assignments so far.
    version: AtomicU64,
    /// No gradient arrives.
    frozen: AtomicBool,
    half: HalfCopy,
}

/// Variables that are alive, so that a backward pass finds them from the graph.
static VARIABLES: LazyLock<Mutex<HashMap<VariableId, Weak<Inner>>>> = LazyLock::new(Mutex::default);

fn variables() -> MutexGuard<'static, HashMap<VariableId, Weak<Inner>>> {
    VARIABLES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A tensor that the thread's next evaluation computes, if a handle to it is alive then.
#[derive(Clone)]
pub(crate) struct Handle {
    inner: Weak<Inner>,
    /// The node that was assigned to it, whose old value it gets back if that evaluation fails. 0: none was.
    assigned: NodeId,
    /// The condition under which it was assigned. 0: under none.
    condition: NodeId,
}

impl Handle {
    /// The node, if a handle to it is alive.
    pub(crate) fn expr(&self) -> Option<Expr> {
        self.inner.upgrade().map(|inner| inner.expr())
    }

    /// Whether both are the same tensor.
    pub(crate) fn same(&self, other: &Handle) -> bool {
        self.inner.ptr_eq(&other.inner)
    }

    /// Whether a gradient waits in it.
    pub(crate) fn has_grad(&self) -> bool {
        self.inner.upgrade().is_some_and(|inner| Tensor::of(inner).grad().is_some())
    }

    /// An assignment that is made as it is written: gives the tensor a node, and gives the node it had. `None` if no handle is alive.
    pub(crate) fn replace(&self, value: Expr) -> Option<Expr> {
        let inner = self.inner.upgrade()?;
        let value = match &inner.variable {
            Some(variable) => {
                variable.version.fetch_add(1, Ordering::Relaxed);
                if variable.frozen.load(Ordering::Relaxed) { value } else { inner.expr().variable_with(variable.id, value) }
            }
            None => value,
        };
        Some(inner.replace(value))
    }

    /// Gives the tensor the node that [`Handle::replace`] gave.
    pub(crate) fn put_back(&self, before: Expr) {
        let Some(inner) = self.inner.upgrade() else { return };
        if let Some(variable) = &inner.variable {
            variable.version.fetch_sub(1, Ordering::Relaxed);
        }
        drop(inner.replace(before));
    }

    /// Whether it was assigned this node, under no condition.
    pub(crate) fn has_just(&self, commit: &Expr) -> bool {
        self.assigned == commit.id() && self.condition == 0
    }

    /// Whether it has been assigned.
    pub(crate) fn is_assigned(&self) -> bool {
        self.assigned != 0
    }

    /// The node that was assigned to it; 0: none was.
    pub(crate) fn assigned(&self) -> NodeId {
        self.assigned
    }

    /// Gives what was assigned its old value back, unless the new one has been computed.
    pub(crate) fn undo(&self) {
        if let (true, Some(inner)) = (self.is_assigned(), self.inner.upgrade()) {
            Tensor::of(inner).undo_assignment();
        }
    }

    /// From now on what was assigned counts only where the condition (`Bool`, rank 0) is true as well.
    pub(crate) fn guard(&self, condition: &Expr) {
        // As all that an optimizer has assigned.
        if self.condition == condition.id() {
            return;
        }
        let Some(tensor) = self.inner.upgrade().filter(|_| self.is_assigned()).map(Tensor::of) else { return };
        let Some(commit) = tensor.pending_assignment() else { return };
        let (Some(value), Some(old)) = (commit.committed(), commit.input(1)) else { return };
        let condition = condition.copy_to(commit.device());
        if commit.input(2).is_some_and(|own| own.same(&condition)) {
            return;
        }
        let condition = commit.input(2).map_or(condition.clone(), |own| own.binary(BinaryOp::And, &condition));
        tensor.set_value(value.commit(&old, Some(&condition)));
        tensor.shared().renew_half_copy();
    }
}

impl Inner {
    /// What `f` says of the node that stands for the current value.
    fn look<T>(&self, f: impl FnOnce(&Expr) -> T) -> T {
        f(&self.expr.lock())
    }

    fn expr(&self) -> Expr {
        self.look(Expr::clone)
    }

    /// The last assignment, if it was made under no condition, has not been computed, and is held by nothing else: another one leaves no reader.
    fn unread_assignment(&self) -> Option<Expr> {
        let mut at = self.expr();
        // This handle, and the one there or the node above.
        while at.reference_count() == 2 && at.data().is_none() {
            if matches!(at.op(), Op::Commit(_)) {
                return at.input(2).is_none().then_some(at);
            }
            at = at.input(0).filter(|_| at.is_alias())?;
        }
        None
    }

    /// After an assignment.
    #[track_caller]
    fn renew_half_copy(&self) {
        if let Some(variable) = self.variable.as_deref().filter(|variable| !variable.frozen.load(Ordering::Relaxed)) {
            variable.half.renew(&self.expr());
        }
    }

    /// Another node, for the one that was there.
    fn replace(&self, expr: Expr) -> Expr {
        std::mem::replace(&mut *self.expr.lock(), expr)
    }

    /// Points all handles at a node; a variable stays one.
    fn set_value(&self, value: Expr) {
        let expr = match &self.variable {
            Some(variable) if value.error().is_none() && !variable.frozen.load(Ordering::Relaxed) => {
                self.expr().variable_with(variable.id, value)
            }
            _ => value,
        };
        // The old one goes after the lock: what it drops may be the user's.
        drop(self.replace(expr));
    }
}

/// The node, or the error of an invalid one.
fn valid(expr: Expr) -> Result<Expr> {
    match expr.error() {
        Some(error) => Err(Error::Graph(error.clone())),
        None => Ok(expr),
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        if let Some(variable) = &self.variable {
            variables().remove(&variable.id);
        }
    }
}

impl Clone for Tensor {
    fn clone(&self) -> Tensor {
        Tensor::of(self.shared())
    }
}

impl Tensor {
    fn of(inner: Arc<Inner>) -> Tensor {
        Tensor(Cell::new(Held::Shared(inner)))
    }

    /// A tensor of its own with the value that this one has now.
    pub(crate) fn apart(&self) -> Tensor {
        Tensor(Cell::new(Held::Alone(self.expr())))
    }

    /// What all handles to the tensor refer to, from now on.
    fn shared(&self) -> Arc<Inner> {
        let mut held = self.0.lock();
        let inner = match &*held {
            Held::Shared(inner) => return inner.clone(),
            Held::Alone(expr) => Arc::new(Inner { expr: Cell::new(expr.clone()), variable: None }),
        };
        let before = std::mem::replace(&mut *held, Held::Shared(inner.clone()));
        drop(held);
        drop(before);
        inner
    }

    /// What all handles to the tensor refer to, if there may be others.
    fn cell(&self) -> Option<Arc<Inner>> {
        match &*self.0.lock() {
            Held::Shared(inner) => Some(inner.clone()),
            Held::Alone(_) => None,
        }
    }

    /// What `f` says of where its gradients arrive, if it is a variable: at once, for it keeps others from the tensor.
    fn with_variable<T>(&self, f: impl FnOnce(&Variable) -> T) -> Option<T> {
        match &*self.0.lock() {
            Held::Shared(inner) => inner.variable.as_deref().map(f),
            Held::Alone(_) => None,
        }
    }

    /// The gradient that has arrived, replaced by what `f` makes of it; if it is a variable.
    fn with_gradient<T>(&self, f: impl FnOnce(&mut Option<Tensor>) -> T) -> Option<T> {
        let inner = self.cell()?;
        let variable = inner.variable.as_deref()?;
        Some(f(&mut variable.grad.lock().unwrap_or_else(PoisonError::into_inner)))
    }

    /// The tensor of a node. Together with [`Tensor::expr`] the way between tensors and the graph.
    #[inline]
    pub fn from_expr(expr: Expr) -> Tensor {
        // An op may return an argument as it is; inside of `no_grad` its gradient ends here all the same.
        let expr = if expr.needs_grad() && !grad_enabled() { expr.detach() } else { expr };
        Tensor(Cell::new(Held::Alone(expr)))
    }

    /// From an op's node or the invalid node of its broken rule.
    #[inline]
    pub(crate) fn from_result(result: Result<Expr, Expr>) -> Tensor {
        Tensor::from_expr(result.unwrap_or_else(|invalid| invalid))
    }

    /// The node that stands for the tensor's current value.
    pub fn expr(&self) -> Expr {
        self.look(Expr::clone)
    }

    /// What `f` says of the node, which costs less than a handle to it.
    fn look<T>(&self, f: impl FnOnce(&Expr) -> T) -> T {
        match &*self.0.lock() {
            Held::Alone(expr) => f(expr),
            Held::Shared(inner) => inner.look(f),
        }
    }

    /// As [`Tensor::expr`], of a handle that nothing else needs.
    #[inline]
    pub(crate) fn into_expr(self) -> Expr {
        match self.0.into_inner() {
            Held::Alone(expr) => expr,
            Held::Shared(inner) => inner.expr(),
        }
    }

    /// The node, or the error of an invalid one.
    pub(crate) fn valid(&self) -> Result<Expr> {
        valid(self.expr())
    }

    /// An invalid tensor: this op's error, with the caller's place.
    #[track_caller]
    pub(crate) fn fail(kind: ErrorKind, op: &str, message: impl Into<String>, help: &str, inputs: &[&Tensor]) -> Tensor {
        let exprs: Vec<Expr> = inputs.iter().map(|tensor| tensor.expr()).collect();
        let refs: Vec<&Expr> = exprs.iter().collect();
        Tensor::from_expr(Expr::fail(kind, op, message.into(), help, &refs))
    }

    /// An invalid tensor that carries an error: for functions that give a tensor in any case.
    #[track_caller]
    pub fn from_error(error: &Error) -> Tensor {
        let carrier = |kind, message, help| {
            let (op, origin, inputs) = ("tensor".to_owned(), unigrad_graph::Origin::current(), Vec::new());
            unigrad_graph::Error { kind, op, message, help, origin, inputs }
        };
        let carried = match error {
            Error::Graph(error) => (**error).clone(),
            Error::Argument { cause, help } => carrier(ErrorKind::Argument, cause.clone(), help.clone()),
            Error::Device(_)
            | Error::Launch { .. }
            | Error::Internal(_)
            | Error::Read { .. }
            | Error::Write { .. }
            | Error::Busy { .. }
            | Error::Format { .. }
            | Error::StateDict(_)
            | Error::NotFinite(_) => carrier(ErrorKind::Internal, error.to_string(), String::new()),
        };
        Tensor::from_expr(Expr::invalid(carried))
    }

    /// The error that an invalid tensor carries.
    pub fn error(&self) -> Option<Error> {
        self.valid().err()
    }

    /// Whether it carries an error.
    pub fn is_invalid(&self) -> bool {
        self.look(Expr::is_invalid)
    }

    /// Itself, or its error: the place to stop early where that reads better than waiting for the first value.
    pub fn check(self) -> Result<Tensor> {
        self.valid()?;
        Ok(self)
    }

    /// Sizes per axis, or the error of an invalid tensor.
    pub fn dims(&self) -> Result<Vec<usize>> {
        Ok(self.valid()?.shape().to_vec())
    }

    /// Sizes per axis; empty for an invalid tensor ([`Tensor::dims`] returns its error).
    pub fn shape(&self) -> Vec<usize> {
        self.look(|expr| expr.shape().to_vec())
    }

    /// The size of one axis (negative: from the end), or an error.
    #[track_caller]
    pub fn dim(&self, axis: isize) -> Result<usize> {
        let expr = self.valid()?;
        match crate::axes::resolve_axis(&expr, "dim", axis as i64) {
            Ok(axis) => Ok(expr.shape()[axis]),
            Err(invalid) => Err(crate::error::graph_error(&invalid)),
        }
    }

    /// The size of one axis for ops to go on with: 0 where there is no such axis (the op that follows tells).
    pub(crate) fn size(&self, axis: isize) -> usize {
        let expr = self.expr();
        let axis = if axis < 0 { axis + expr.rank() as isize } else { axis };
        usize::try_from(axis).ok().and_then(|axis| expr.shape().get(axis).copied()).unwrap_or(0)
    }

    /// Number of axes.
    pub fn rank(&self) -> usize {
        self.look(Expr::rank)
    }

    /// Number of elements.
    pub fn numel(&self) -> usize {
        self.look(Expr::numel)
    }

    /// Element type.
    pub fn dtype(&self) -> DType {
        self.look(Expr::dtype)
    }

    /// Where it lives, if that device is open.
    pub fn device(&self) -> Result<Device> {
        let id = self.valid()?.device();
        Device::from_id(id).ok_or_else(|| Error::Internal(format!("no open device has the number {id}")))
    }

    /// The device's number, see [`Device::id`].
    pub fn device_id(&self) -> u32 {
        self.look(Expr::device)
    }

    /// Computes the value now, if that has not happened. Returns the tensor, so that it can end a chain.
    pub fn realize(&self) -> Result<Tensor> {
        let expr = self.valid()?;
        eval::realize(std::slice::from_ref(&expr))?;
        Ok(self.clone())
    }

    /// As [`Tensor::realize`], for `async` programs: begins at once, on another thread.
    pub fn realize_async(&self) -> Background<Result<Tensor>> {
        let tensor = self.clone();
        in_background(move || tensor.realize())
    }

    /// Computes several together: what they share is computed once, and their work may become fewer kernels.
    pub fn realize_all(tensors: &[&Tensor]) -> Result<()> {
        let mut exprs = Vec::with_capacity(tensors.len());
        for tensor in tensors {
            exprs.push(tensor.valid()?);
        }
        eval::realize_owned(exprs)
    }

    /// Whether the value has been computed.
    pub fn is_realized(&self) -> bool {
        unigrad_plan::resolve(&self.expr()).data().is_some()
    }

    /// Whether both handles are the same tensor (not: equal values).
    pub fn same(&self, other: &Tensor) -> bool {
        let shared = || Some(Arc::ptr_eq(&self.cell()?, &other.cell()?));
        std::ptr::eq(self, other) || shared().unwrap_or(false)
    }

    /// The same values as a leaf that gradients arrive at: a parameter. What computed the values gets no gradient.
    #[track_caller]
    pub fn requires_grad(&self) -> Tensor {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let value = self.expr();
        if value.error().is_none() && !value.dtype().is_float() {
            let message = format!("{} {:?} has no gradient: only floats have", value.dtype(), value.shape());
            return Tensor::fail(ErrorKind::Autograd, "requires_grad", message, "cast it to a float first", &[self]);
        }
        let id = VariableId(NEXT.fetch_add(1, Ordering::Relaxed));
        let variable = Box::new(Variable {
            id,
            grad: Mutex::new(None),
            version: AtomicU64::new(0),
            frozen: AtomicBool::new(false),
            half: HalfCopy::default(),
        });
        let inner = Arc::new(Inner { expr: Cell::new(Expr::variable(id, &value)), variable: Some(variable) });
        variables().insert(id, Arc::downgrade(&inner));
        Tensor::of(inner)
    }

    /// Makes this handle the variable that [`Tensor::requires_grad`] gives. Handles that were cloned from it stay what they are.
    #[track_caller]
    pub fn become_variable(&self) -> Result<()> {
        let variable = self.requires_grad();
        variable.valid()?;
        let held = variable.0.into_inner();
        // The old one goes after the lock.
        let old = std::mem::replace(&mut *self.0.lock(), held);
        drop(old);
        Ok(())
    }

    /// From now on the handle stands for another tensor's value, with the way of its gradient, and so do handles that were cloned from it: what
    /// `x[i] = y` means where arrays can be changed. What was computed before stays. No assignment ([`Tensor::assign`]): it is not undone when an
    /// evaluation fails. An error for a variable.
    #[track_caller]
    pub fn become_value(&self, value: &Tensor) -> Result<()> {
        let (old, new) = (self.valid()?, value.valid()?);
        if self.is_variable() {
            let (message, help) = ("a tensor that requires a gradient".to_owned(), "assign to it inside of `no_grad`");
            return Err(crate::error::graph_error(&Expr::fail(ErrorKind::Autograd, "set", message, help, &[&old, &new])));
        }
        let mut held = self.0.lock();
        let (before, shared) = match &mut *held {
            Held::Alone(expr) => (std::mem::replace(expr, new), None),
            Held::Shared(inner) => (new, Some(inner.clone())),
        };
        drop(held);
        match shared {
            Some(inner) => inner.set_value(before),
            None => drop(before),
        }
        Ok(())
    }

    pub(crate) fn variable_id(&self) -> Option<VariableId> {
        self.with_variable(|variable| variable.id)
    }

    /// The variable with this id, if a handle to it is alive.
    pub(crate) fn from_variable(id: VariableId) -> Option<Tensor> {
        variables().get(&id).and_then(Weak::upgrade).map(Tensor::of)
    }

    /// A parameter's value as a half, if its last update has made it; see [`HalfCopy`].
    pub(crate) fn half_copy(&self, to: DType) -> Option<Tensor> {
        let inner = self.cell()?;
        let variable = inner.variable.as_deref().filter(|variable| !variable.frozen.load(Ordering::Relaxed))?;
        variable.half.of(&inner.expr(), to)
    }

    /// Whether it is a leaf that gradients arrive at.
    pub fn is_variable(&self) -> bool {
        self.with_variable(|_| ()).is_some()
    }

    /// Whether a gradient may flow through it.
    pub fn needs_grad(&self) -> bool {
        self.look(Expr::needs_grad)
    }

    /// Times [`Tensor::assign`] has changed it.
    pub fn version(&self) -> u64 {
        self.with_variable(|variable| variable.version.load(Ordering::Relaxed)).unwrap_or(0)
    }

    /// The gradient that backward passes have accumulated; only variables have one, and tensors with [`Tensor::retain_grad`].
    pub fn grad(&self) -> Option<Tensor> {
        match self.with_gradient(|grad| grad.clone()) {
            Some(grad) => grad,
            None => unigrad_graph::kept_gradient(&self.expr()).flatten().map(Tensor::from_expr),
        }
    }

    /// Replaces the accumulated gradient, where there may be one.
    pub fn set_grad(&self, grad: Option<Tensor>) {
        if self.is_variable() {
            // The old one goes after the lock.
            drop(self.with_gradient(|own| std::mem::replace(own, grad)));
        } else {
            unigrad_graph::set_kept_gradient(&self.expr(), grad.map(|grad| grad.expr()));
        }
    }

    /// Whether gradients are left with it: a variable, or a tensor with [`Tensor::retain_grad`].
    pub fn retains_grad(&self) -> bool {
        self.is_variable() || unigrad_graph::kept_gradient(&self.expr()).is_some()
    }

    /// How to ask whether this variable is still there; `None` for what is none.
    pub(crate) fn variable_is_alive(&self) -> Option<Box<dyn Fn() -> bool + Send + Sync>> {
        let inner = self.cell().filter(|inner| inner.variable.is_some())?;
        let inner = Arc::downgrade(&inner);
        Some(Box::new(move || inner.strong_count() > 0))
    }

    /// Forgets the accumulated gradient.
    pub fn zero_grad(&self) {
        self.set_grad(None);
    }

    /// Adds to the accumulated gradient.
    #[track_caller]
    pub(crate) fn accumulate_grad(&self, grad: Expr) {
        if let Some(variable) = self.cell().as_ref().and_then(|inner| inner.variable.as_deref()) {
            let mut slot = variable.grad.lock().unwrap_or_else(PoisonError::into_inner);
            let sum = match slot.as_ref() {
                Some(old) => old.expr().add(&grad),
                None => grad,
            };
            let before = slot.replace(Tensor::from_expr(sum));
            // After the lock: what it drops may be the user's.
            drop(slot);
            drop(before);
        }
    }

    /// The same values, cut off from what computed them: no gradient flows back.
    #[track_caller]
    pub fn detach(&self) -> Tensor {
        Tensor::from_expr(self.expr().detach())
    }

    /// Gives the tensor a new value, for all holders of this handle. With what was computed from the old value, nothing changes.
    ///
    /// Shape, dtype and device stay as they are. A parameter is assigned inside of [`crate::no_grad`]; what is itself computed from
    /// a parameter cannot be assigned, since its gradient would no longer be that of its value.
    ///
    /// All that is assigned on a thread between two evaluations is one transaction. If the evaluation fails (no memory, a kernel that cannot be
    /// launched, an index out of range), every tensor has the value that it had before. A GPU finds an index out of range while it runs; then
    /// the values are kept there, and the error is told by what is read of that evaluation, or by the next wait.
    #[track_caller]
    pub fn assign(&self, value: &Tensor) -> Result<()> {
        self.assign_where(value, None)
    }

    /// As [`Tensor::assign`]; but where `condition` (`Bool`, one element, known only when it is computed) is false, the tensor keeps its value.
    ///
    /// ```
    /// # unigrad_device::register(unigrad_cpu::CpuDriver::default());
    /// use unigrad_tensor::{Device, Tensor};
    ///
    /// let device = Device::open("cpu")?;
    /// let best = Tensor::new([3.0f32], &device);
    /// let found = Tensor::new([2.0f32], &device);
    /// best.assign_if(&found, &found.lt(&best).all(()))?;
    /// assert_eq!(best.to_vec::<f32>()?, [2.0]);
    /// # Ok::<(), unigrad_tensor::Error>(())
    /// ```
    #[track_caller]
    pub fn assign_if(&self, value: &Tensor, condition: &Tensor) -> Result<()> {
        self.assign_where(value, Some(condition))
    }

    #[track_caller]
    fn assign_where(&self, value: &Tensor, condition: Option<&Tensor>) -> Result<()> {
        let new = value.valid()?;
        let (shape, dtype) = (new.shape().clone(), new.dtype());
        self.assign_new(new, None, (&shape, dtype), condition)
    }

    /// As [`Tensor::assign_if`] of result `i` of a composite.
    #[track_caller]
    pub(crate) fn assign_result(&self, whole: &Expr, i: usize, condition: Option<&Tensor>) -> Result<()> {
        let of = if let Op::Composite(composite) = whole.op() { composite.result(i) } else { None };
        match of.filter(|_| !whole.needs_grad()) {
            Some(of) => self.assign_new(valid(whole.clone())?, Some(i), of, condition),
            None => self.assign_where(&Tensor::from_expr(whole.part(i)), condition),
        }
    }

    /// Assigns `new`, or a result of it, of this shape and dtype.
    #[track_caller]
    fn assign_new(&self, new: Expr, part: Option<usize>, (shape, dtype): (&Shape, DType), condition: Option<&Tensor>) -> Result<()> {
        let inner = self.shared();
        // A value that nothing has read is not kept for the transaction's end: a tensor written again and again, and read in the end, stays small.
        let unread = inner.unread_assignment().filter(eval::is_of_this_thread);
        let old = valid(inner.expr())?;
        let condition = match condition {
            Some(condition) => Some(condition.valid()?),
            None => None,
        };
        let is_variable = inner.variable.is_some();
        let problem = if old.shape() != shape {
            Some((ErrorKind::Shape, format!("the tensor is {:?}, the value {:?}", old.shape(), shape), "reshape the value"))
        } else if old.dtype() != dtype {
            Some((ErrorKind::DType, format!("the tensor is {}, the value {}", old.dtype(), dtype), "cast the value"))
        } else if old.device() != new.device() {
            Some((ErrorKind::Device, "the value is on another device".to_string(), "move it with `to(&device)`"))
        } else if condition.as_ref().is_some_and(|c| c.dtype() != DType::Bool || c.numel() != 1) {
            Some((ErrorKind::Shape, "the condition is not one Bool".to_string(), "compare, and reduce with `all(())` or `any(())`"))
        } else if grad_enabled() && is_variable {
            Some((ErrorKind::Autograd, "a tensor that requires a gradient".to_string(), "assign inside of `no_grad(|| ..)`"))
        } else if !is_variable && old.needs_grad() {
            let message = "it is computed from a tensor that requires a gradient".to_string();
            Some((ErrorKind::Autograd, message, "make a new tensor instead, or `detach()` it first"))
        } else if !is_variable && grad_enabled() && (new.needs_grad() || is_node_differentiated(&new)) {
            let message = "the value is computed from a tensor that requires a gradient, which would end here".to_string();
            Some((ErrorKind::Autograd, message, "`detach()` the value, or assign inside of `no_grad(|| ..)`"))
        } else {
            None
        };
        if let Some((kind, message, help)) = problem {
            return Err(crate::error::graph_error(&Expr::fail(kind, "assign", message, help, &[&old, &new])));
        }
        // No gradient flows through a Bool, so that it needs no node of its own.
        let condition = condition.map(|c| if c.rank() == 0 { c } else { c.reshape(&[]) });
        let condition = condition.map(|c| if c.device() == old.device() { c } else { c.copy_to(old.device()) });
        let condition_id = condition.as_ref().map_or(0, Expr::id);
        let new = if new.needs_grad() { new.detach() } else { new };
        let unread = unread.filter(|_| condition.is_none());
        let before = unread.as_ref().and_then(|commit| commit.input(1));
        let old = before.unwrap_or_else(|| unigrad_plan::resolved(old));
        let new = valid(match part {
            Some(i) => new.commit_part_with(i, old, condition),
            None => new.commit_with(old, condition),
        })?;
        if let Some(variable) = &inner.variable {
            variable.version.fetch_add(1, Ordering::Relaxed);
        }
        let assigned = new.id();
        inner.set_value(new);
        unread.iter().for_each(eval::forget_assignment);
        inner.renew_half_copy();
        eval::defer(Handle { inner: Arc::downgrade(&inner), assigned, condition: condition_id });
        Ok(())
    }

    /// The last assignment, unless it has been computed.
    fn pending_assignment(&self) -> Option<Expr> {
        Some(unigrad_plan::resolve(&self.expr())).filter(|expr| matches!(expr.op(), Op::Commit(_)) && expr.data().is_none())
    }

    /// Points the handle at a node; a variable stays one.
    fn set_value(&self, value: Expr) {
        self.shared().set_value(value);
    }

    /// The value before the last assignment, if that one has not been computed.
    fn undo_assignment(&self) {
        let Some(commit) = self.pending_assignment() else { return };
        let Some(old) = commit.input(1) else { return };
        self.with_variable(|variable| variable.version.fetch_sub(1, Ordering::Relaxed));
        // Where the old value is gone, reading it tells why.
        self.set_value(old);
    }

    /// Lets this thread's next evaluation compute the value too, if a handle is alive then.
    pub(crate) fn realize_with_next(&self) {
        eval::defer(Handle { inner: Arc::downgrade(&self.shared()), assigned: 0, condition: 0 });
    }

    /// As another dtype; the tensor itself if it has that. Floats to integers truncate toward zero and saturate: what is beyond the range,
    /// infinities too, becomes the least or greatest integer, and NaN 0, on every device (in PyTorch these are undefined). Integers to smaller
    /// ones keep the low bits. To `Bool`, whatever is not 0 is true.
    #[track_caller]
    pub fn cast(&self, dtype: DType) -> Tensor {
        Tensor::from_expr(self.expr().cast(dtype))
    }

    /// Same as [`Tensor::cast`].
    #[track_caller]
    pub fn to_dtype(&self, dtype: DType) -> Tensor {
        self.cast(dtype)
    }

    /// The same bits as a dtype of the same size.
    #[track_caller]
    pub fn bitcast(&self, dtype: DType) -> Tensor {
        Tensor::from_expr(self.expr().bitcast(dtype))
    }

    /// On another device; the tensor itself if it is there. Gradients come back to this one.
    #[track_caller]
    pub fn to(&self, device: &Device) -> Tensor {
        Tensor::from_expr(self.expr().copy_to(device.id()))
    }
}
