//! Delayed scaling: scales from the greatest absolute values of the steps before.
//!
//! In: what is rounded, numbered by the order in which the products of a scope are recorded. Out: its scale, known before it is.
//! Always: a scope takes each scale from what its histories were when it began to ask, however often a block of it is recorded again; it records an amax
//! once, where gradients are recorded; an assignment of a history is one as of any tensor, so that a step that fails changes none. What has no history
//! yet takes its scale from itself. An amax that is not finite is recorded as 0.
//! Never: reads a history on the host.

use super::{Fp8Recipe, Fp8Scaling, Role, amax, check, rounded, scale};
use crate::{Error, Result, Tensor, no_grad};
use std::{
    collections::{BTreeMap, HashMap},
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};
use unigrad_graph::{BinaryOp, DType, Expr, Literal, Op, PadAxis, ReduceOp, SliceAxis, grad_enabled, no_grad_guard};

/// What is rounded: the number of the product in its scope, and which of its tensors it is.
type HistoryKey = (usize, Role);

/// Histories of amax for [`Fp8Scaling::Delayed`](crate::Fp8Scaling): state of a training run, as an optimizer's. Clones are handles to the same.
///
/// There is a history for each factor of each product and for its gradient, in the order in which the products of a scope are recorded: a scope is to
/// hold a whole forward pass, with the same products each time. Save what [`DelayedScaling::state`] gives with a checkpoint, or the first steps after it
/// take their scales from themselves. In use ([`no_grad`]) it is read and not changed.
#[derive(Clone)]
pub struct DelayedScaling(Arc<Histories>);

struct Histories {
    amax_history_len: usize,
    histories: Mutex<BTreeMap<HistoryKey, Tensor>>,
}

impl Default for DelayedScaling {
    /// With the last 16 steps.
    fn default() -> DelayedScaling {
        DelayedScaling::of(16)
    }
}

impl fmt::Debug for DelayedScaling {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DelayedScaling({} histories of {})", self.histories().len(), self.0.amax_history_len)
    }
}

impl DelayedScaling {
    fn of(amax_history_len: usize) -> DelayedScaling {
        DelayedScaling(Arc::new(Histories { amax_history_len, histories: Mutex::default() }))
    }

    /// With the last `amax_history_len` steps, of which the greatest amax counts. An error if there are none.
    pub fn new(amax_history_len: usize) -> Result<DelayedScaling> {
        if amax_history_len == 0 {
            return Err(Error::argument("a history of no steps", "give a length of at least 1"));
        }
        Ok(DelayedScaling::of(amax_history_len))
    }

    /// How many steps count.
    pub fn amax_history_len(&self) -> usize {
        self.0.amax_history_len
    }

    fn histories(&self) -> MutexGuard<'_, BTreeMap<HistoryKey, Tensor>> {
        self.0.histories.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The histories by name, the newest amax first: what a checkpoint has to save.
    pub fn state(&self) -> Vec<(String, Tensor)> {
        self.histories().iter().map(|((number, role), history)| (format!("{number}.{}", name(*role)), history.clone())).collect()
    }

    /// Takes histories that [`DelayedScaling::state`] gave, in place of its own. When it fails, nothing has changed.
    pub fn load_state(&self, state: &[(String, Tensor)]) -> Result<()> {
        let mut loaded = BTreeMap::new();
        for (key, history) in state {
            let place = key.split_once('.').and_then(|(number, role)| Some((number.parse().ok()?, named(role)?)));
            let Some(place) = place else {
                return Err(Error::argument(format!("`{key}` names no history"), "give what `state` gave, as \"0.first\""));
            };
            history.dims()?;
            if let Some(error) = check(&format!("history `{key}`"), &[self.0.amax_history_len], history) {
                return Err(error);
            }
            // A tensor of its own: it is assigned in each step.
            loaded.insert(place, history.detach());
        }
        *self.histories() = loaded;
        Ok(())
    }

    /// The history of a place, if it has one on the device.
    fn history(&self, place: HistoryKey, device: u32) -> Option<Tensor> {
        let histories = self.histories();
        // What is still the zeros that it began with has been assigned by steps that were undone.
        let is_begun = |history: &&Tensor| !matches!(unigrad_plan::resolved(history.expr()).op(), Op::Const(_));
        histories.get(&place).filter(|history| history.device_id() == device).filter(is_begun).cloned()
    }

    /// Puts an amax (rank 0) in front of a place's history.
    fn record(&self, place: HistoryKey, amax: &Expr) -> Result<()> {
        let length = self.0.amax_history_len;
        let is_number = amax.binary_const(BinaryOp::Lt, f64::INFINITY);
        let newest = is_number.select(amax, &amax.constant_like(0.0)).reshape(&[1]).expand(&[length]);
        let known = self.history(place, amax.device());
        let history = match known {
            Some(history) => history,
            None => Tensor::from_expr(Expr::constant(Literal::zero(DType::F32), &[length], amax.device())),
        };
        let zero = Literal::zero(DType::F32);
        let kept = history
            .expr()
            .slice(&[SliceAxis { start: 0, step: 1, len: length - 1 }])
            .pad(&[PadAxis { lo: 1, hi: 0, ..PadAxis::default() }], zero);
        let first = Expr::iota(&[length], 0, DType::I64, amax.device()).binary_const(BinaryOp::Eq, 0.0);
        history.assign(&Tensor::from_expr(first.select(&newest, &kept)))?;
        self.histories().insert(place, history);
        Ok(())
    }
}

fn name(role: Role) -> &'static str {
    match role {
        Role::First => "first",
        Role::Second => "second",
        Role::Gradient => "gradient",
    }
}

fn named(role: &str) -> Option<Role> {
    Role::ALL.into_iter().find(|known| name(*known) == role)
}

/// One use of a recipe, from the beginning of its scope to the end of its backward pass.
#[derive(Debug)]
pub(crate) struct Pass {
    pub(super) recipe: Fp8Recipe,
    taken: Mutex<HashMap<HistoryKey, Taken>>,
}

/// A delayed scale, and 1 by it; and whether the amax has been recorded.
#[derive(Debug)]
struct Taken {
    scale: [Expr; 2],
    is_recorded: bool,
}

impl Pass {
    pub(crate) fn new(recipe: Fp8Recipe) -> Pass {
        Pass { recipe, taken: Mutex::default() }
    }

    /// `x` rounded to the numbers of its role, as a tensor of `wide`.
    #[track_caller]
    pub(super) fn rounded(&self, x: &Expr, number: usize, role: Role, wide: DType) -> Expr {
        if x.error().is_some() {
            return x.clone();
        }
        let by_chance = self.recipe.stochastic_rounding && role == Role::Gradient;
        let scale = match &self.recipe.scaling {
            Fp8Scaling::Current => {
                let _guard = no_grad_guard();
                Ok(scale(&amax(x).reshape(&[]), role, self.recipe.margin))
            }
            Fp8Scaling::Delayed(delayed) => self.delayed(delayed, x, (number, role)),
        };
        match scale {
            Ok(scale) => rounded(x, &scale, role, by_chance, wide),
            Err(error) => Tensor::from_error(&error).expr(),
        }
    }

    fn delayed(&self, delayed: &DelayedScaling, x: &Expr, place: HistoryKey) -> Result<[Expr; 2]> {
        // A gradient arrives where none are recorded.
        let records = grad_enabled() || place.1 == Role::Gradient;
        no_grad(|| {
            let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
            let now = amax(x).reshape(&[]);
            let taken = taken.entry(place).or_insert_with(|| {
                let before = delayed.history(place, x.device()).map(|history| history.expr().reduce(ReduceOp::Max, 1).reshape(&[]));
                Taken { scale: scale(before.as_ref().unwrap_or(&now), place.1, self.recipe.margin), is_recorded: false }
            });
            if records && !taken.is_recorded {
                delayed.record(place, &now)?;
                taken.is_recorded = true;
            }
            Ok(taken.scale.clone())
        })
    }
}
