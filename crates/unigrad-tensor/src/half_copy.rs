//! Half copies of parameters: what automatic mixed precision reads of one, written by its update.
//!
//! In: a parameter that a scope of automatic mixed precision reads as a half, and assignments to it. Out: its current value in that type, as a node like
//! any other cast, which the evaluation of the assignment computes as well.
//! Always: a copy is of the parameter's current value, or it is not used; one that no scope has asked for since the last assignment that was computed is
//! not made again.
//! Never: changes a number; outlives the parameter; is made or used where a call is recorded to be run again ([`crate::replay`]), which follows the tensors
//! that it knows.

use crate::{Tensor, eval};
use std::sync::{Mutex, MutexGuard, PoisonError};
use unigrad_device::Config;
use unigrad_graph::{DType, Expr, NodeId, enable_grad_guard};

/// A parameter's.
#[derive(Default)]
pub(crate) struct HalfCopy(Mutex<State>);

#[derive(Default)]
struct State {
    /// What a scope has read the parameter as since its last assignment.
    asked: Option<DType>,
    /// A copy, and the parameter's node that it is of.
    copy: Option<(NodeId, Tensor)>,
}

impl HalfCopy {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The copy of a parameter whose node is this one, if its last update has made it. From now on updates do.
    pub(crate) fn of(&self, current: &Expr, to: DType) -> Option<Tensor> {
        let is_followed = !eval::is_recorded();
        let mut state = self.state();
        state.asked = Some(to).filter(|_| is_followed);
        let is_own = |(node, copy): &(NodeId, Tensor)| is_followed && *node == current.id() && copy.dtype() == to;
        if let Some((_, copy)) = state.copy.as_ref().filter(|copy| is_own(copy)) {
            return Some(copy.apart());
        }
        let other = state.copy.take();
        // It goes after the lock: what it drops may be the user's.
        drop(state);
        drop(other);
        None
    }

    /// Copies the value that a parameter has been assigned, whose node is this one, if a scope has asked for the value before; the next evaluation on
    /// this thread, which computes the one, computes the other.
    #[track_caller]
    pub(crate) fn renew(&self, current: &Expr) {
        let (asked, before) = {
            let mut state = self.state();
            (state.asked.take(), state.copy.take())
        };
        // Assigned twice before anything could ask.
        let not_yet = || before.as_ref().filter(|(_, copy)| copy.expr().data().is_none()).map(|(_, copy)| copy.dtype());
        let Some(to) = asked.or_else(not_yet) else { return };
        if eval::is_recorded() || !Config::current_or_default().half_copies {
            return;
        }
        // Assignments are made where no gradient flows; through what reads the copy one does.
        let _gradient = enable_grad_guard();
        let copy = Tensor::from_expr(current.cast(to));
        copy.realize_with_next();
        self.state().copy = Some((current.id(), copy));
    }
}
