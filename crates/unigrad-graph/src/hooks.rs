//! Hooks on gradients: what is done with the gradient of a node, or of a variable, when all of it has arrived; gradients of nodes that are kept.
//!
//! In: a node, and a function of its gradient. Out: the gradient that a pass goes on with.
//! Always: a pass calls the hooks of a node once, in the order in which they came, with the sum of what arrives there; what they give has the node's
//! shape and dtype. A hook lives until it is taken away, or its node or variable is gone. A program without hooks pays for one comparison a pass.
//! Never: calls or drops a program's function while it is locked.

use crate::{
    Error, Expr, WeakExpr,
    autograd::{Target, autograd_error},
};
use rustc_hash::FxHashMap;
use std::{
    fmt,
    sync::{
        Arc, LazyLock, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
};

/// A function of a gradient; its error is the pass's.
pub type GradientFunction = dyn Fn(&Expr) -> Result<Expr, Error> + Send + Sync;

/// What is known of a place.
struct Hooks {
    functions: Vec<(u64, Arc<GradientFunction>)>,
    /// The sum of gradients that passes have left, where they are kept.
    kept: Option<Option<Expr>>,
    is_alive: Box<dyn Fn() -> bool + Send + Sync>,
}

#[derive(Default)]
struct Known {
    all: FxHashMap<Target, Hooks>,
    /// How many there were when those of what is gone were last taken away.
    swept: usize,
}

static KNOWN: LazyLock<Mutex<Known>> = LazyLock::new(Mutex::default);
/// How many places have hooks.
static COUNT: AtomicUsize = AtomicUsize::new(0);
static NEXT: AtomicU64 = AtomicU64::new(1);

fn known() -> MutexGuard<'static, Known> {
    KNOWN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether there are hooks at all.
pub(crate) fn are_there() -> bool {
    COUNT.load(Ordering::Relaxed) > 0
}

/// A hook that is there until it is taken away.
#[derive(Clone, Copy)]
pub struct HookId {
    owner: Target,
    number: u64,
}

impl fmt::Debug for HookId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "HookId({})", self.number)
    }
}

/// Does something at a node's place, which is made if there is none.
fn with_place<T>(node: &Expr, is_alive: Box<dyn Fn() -> bool + Send + Sync>, change: impl FnOnce(&mut Hooks) -> T) -> T {
    let mut gone = Vec::new();
    let mut known = known();
    if known.all.len() > 2 * known.swept + 16 {
        gone.extend(known.all.extract_if(|_, hooks| !(hooks.is_alive)()));
        known.swept = known.all.len();
    }
    let hooks = known.all.entry(Target::of(node)).or_insert_with(|| Hooks { functions: Vec::new(), kept: None, is_alive });
    let result = change(hooks);
    COUNT.store(known.all.len(), Ordering::Relaxed);
    drop(known);
    drop(gone);
    result
}

/// Adds a hook to a node. `is_alive` says whether what it belongs to is still there; without, that is the node.
pub fn add_hook(node: &Expr, is_alive: Option<Box<dyn Fn() -> bool + Send + Sync>>, function: Arc<GradientFunction>) -> HookId {
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    with_place(node, is_alive.unwrap_or_else(|| alive(node.downgrade())), |hooks| hooks.functions.push((number, function)));
    HookId { owner: Target::of(node), number }
}

fn alive(node: WeakExpr) -> Box<dyn Fn() -> bool + Send + Sync> {
    Box::new(move || node.is_alive())
}

/// Takes a hook away; nothing if it is gone.
pub fn remove_hook(id: HookId) {
    let removed = {
        let mut known = known();
        let Some(hooks) = known.all.get_mut(&id.owner) else { return };
        let at = hooks.functions.iter().position(|(number, _)| *number == id.number);
        let removed = at.map(|at| hooks.functions.remove(at));
        let whole = if hooks.functions.is_empty() && hooks.kept.is_none() { known.all.remove(&id.owner) } else { None };
        COUNT.store(known.all.len(), Ordering::Relaxed);
        (removed, whole)
    };
    drop(removed);
}

/// From now on backward passes leave a node's gradient with it.
pub fn keep_gradient(node: &Expr) {
    with_place(node, alive(node.downgrade()), |hooks| _ = hooks.kept.get_or_insert_default());
}

/// The gradient that passes have left with a node: `None` where it is not kept, the inner one before there is one.
pub fn kept_gradient(node: &Expr) -> Option<Option<Expr>> {
    if !are_there() {
        return None;
    }
    known().all.get(&Target::of(node)).and_then(|hooks| hooks.kept.clone())
}

/// Replaces the gradient that passes have left with a node, where it is kept.
pub fn set_kept_gradient(node: &Expr, gradient: Option<Expr>) {
    let before = known().all.get_mut(&Target::of(node)).and_then(|hooks| hooks.kept.as_mut().map(|kept| std::mem::replace(kept, gradient)));
    drop(before);
}

/// What a pass goes on with where `dy` has arrived at a node.
#[track_caller]
pub(crate) fn hooked(node: &Expr, dy: Expr) -> Result<Expr, Error> {
    let functions: Vec<Arc<GradientFunction>> = match known().all.get(&Target::of(node)) {
        Some(hooks) => hooks.functions.iter().map(|(_, function)| function.clone()).collect(),
        None => return Ok(dy),
    };
    let mut dy = dy;
    for function in functions {
        let given = function(&dy)?;
        if let Some(error) = given.error() {
            return Err((**error).clone());
        }
        if given.shape() != dy.shape() || given.dtype() != dy.dtype() {
            let message = format!("a hook made {:?} {} of a gradient {:?} {}", given.shape(), given.dtype(), dy.shape(), dy.dtype());
            return Err(autograd_error(node, message, "give a gradient of the same shape and dtype, or none"));
        }
        dy = given;
    }
    Ok(dy)
}
