//! What a training loop asks of an optimizer, whichever it is.
//!
//! In: a loss. Out: better parameters. Always: as [`Optimizer`] has it: a step is a transaction, and its state can be saved and loaded.

use super::{Optimizer, Rule};
use crate::{archive::HostTensor, error::Result};
use std::collections::BTreeMap;
use unigrad_tensor::Tensor;

/// An optimizer, whatever its rule: what trainers and checkpoints use. [`Optimizer`] is one; so is a wrapper around one.
pub trait Optimize {
    /// All parameters, in the order of their state.
    fn parameters(&self) -> Vec<Tensor>;

    /// See [`Optimizer::minimize`].
    #[track_caller]
    fn minimize(&mut self, loss: &Tensor, also: &[&Tensor]) -> Result<()>;

    /// One step down a loss that `forward` records, with what else is to be computed; gives the loss before the step. For those that look at the loss in
    /// several places, and so record it several times; others call `forward` once.
    #[track_caller]
    fn minimize_by(&mut self, forward: &mut dyn FnMut() -> Result<(Tensor, Vec<Tensor>)>) -> Result<Tensor> {
        let (loss, also) = forward()?;
        self.minimize(&loss, &also.iter().collect::<Vec<_>>())?;
        Ok(loss)
    }

    /// See [`Optimizer::step_guarded`].
    #[track_caller]
    fn step_guarded(&mut self, guard: &Tensor, also: &[&Tensor]) -> Result<()>;

    /// Forgets the gradients of all parameters.
    fn zero_grad(&self);

    /// See [`Optimizer::n_steps`].
    fn n_steps(&self) -> u64;

    /// The learning rate of the first group, as the next step uses it.
    fn lr(&self) -> f64;

    /// Sets every group's base learning rate.
    fn set_lr(&mut self, lr: f64);

    /// Multiplies all learning rates in the steps to come.
    fn set_lr_factor(&mut self, factor: f64);

    /// See [`Optimizer::state_dict`].
    fn state_dict(&self) -> Result<BTreeMap<String, HostTensor>>;

    /// See [`Optimizer::load_state_dict`].
    fn load_state_dict(&mut self, state: &BTreeMap<String, HostTensor>, n_steps: u64) -> Result<()>;

    /// Bytes of its state, beside the parameters.
    fn state_bytes(&self) -> usize {
        0
    }

    /// The values that use and validation take instead of the parameters, one for each in order: averages that the rule keeps (schedule-free
    /// optimizers). `None` where the parameters are used as they are.
    fn values_in_use(&self) -> Result<Option<Vec<Tensor>>> {
        Ok(None)
    }

    /// Puts the values of training, or those in use ([`Optimize::values_in_use`]), into the parameters. A step in use is an error then.
    fn set_training(&mut self, _training: bool) -> Result<()> {
        Ok(())
    }
}

impl<R: Rule> Optimize for Optimizer<R> {
    fn parameters(&self) -> Vec<Tensor> {
        Optimizer::parameters(self)
    }

    #[track_caller]
    fn minimize(&mut self, loss: &Tensor, also: &[&Tensor]) -> Result<()> {
        Optimizer::minimize(self, loss, also)
    }

    #[track_caller]
    fn step_guarded(&mut self, guard: &Tensor, also: &[&Tensor]) -> Result<()> {
        Optimizer::step_guarded(self, guard, also)
    }

    fn zero_grad(&self) {
        Optimizer::zero_grad(self);
    }

    fn n_steps(&self) -> u64 {
        Optimizer::n_steps(self)
    }

    fn lr(&self) -> f64 {
        Optimizer::lr(self)
    }

    fn set_lr(&mut self, lr: f64) {
        Optimizer::set_lr(self, lr);
    }

    fn set_lr_factor(&mut self, factor: f64) {
        Optimizer::set_lr_factor(self, factor);
    }

    fn state_dict(&self) -> Result<BTreeMap<String, HostTensor>> {
        Optimizer::state_dict(self)
    }

    fn load_state_dict(&mut self, state: &BTreeMap<String, HostTensor>, n_steps: u64) -> Result<()> {
        Optimizer::load_state_dict(self, state, n_steps)
    }

    fn state_bytes(&self) -> usize {
        Optimizer::state_bytes(self)
    }

    fn values_in_use(&self) -> Result<Option<Vec<Tensor>>> {
        Optimizer::values_in_use(self)
    }

    fn set_training(&mut self, training: bool) -> Result<()> {
        self.switch_to(training)
    }
}

/// The methods of [`Optimize`] that a wrapper around an optimizer passes on, all but those that take a step: `forward_optimize!(self => self.optimizer);` in
/// its `impl`.
#[macro_export]
macro_rules! forward_optimize {
    ($self:ident => $inner:expr) => {
        fn parameters(&$self) -> ::std::vec::Vec<$crate::optimize_types::Tensor> {
            $crate::Optimize::parameters(&$inner)
        }

        fn zero_grad(&$self) {
            $crate::Optimize::zero_grad(&$inner);
        }

        fn n_steps(&$self) -> u64 {
            $crate::Optimize::n_steps(&$inner)
        }

        fn lr(&$self) -> f64 {
            $crate::Optimize::lr(&$inner)
        }

        fn set_lr(&mut $self, lr: f64) {
            $crate::Optimize::set_lr(&mut $inner, lr);
        }

        fn set_lr_factor(&mut $self, factor: f64) {
            $crate::Optimize::set_lr_factor(&mut $inner, factor);
        }

        fn state_dict(&$self) -> $crate::Result<$crate::optimize_types::State> {
            $crate::Optimize::state_dict(&$inner)
        }

        fn load_state_dict(&mut $self, state: &$crate::optimize_types::State, n_steps: u64) -> $crate::Result<()> {
            $crate::Optimize::load_state_dict(&mut $inner, state, n_steps)
        }

        fn state_bytes(&$self) -> usize {
            $crate::Optimize::state_bytes(&$inner)
        }

        fn values_in_use(&$self) -> $crate::Result<::std::option::Option<::std::vec::Vec<$crate::optimize_types::Tensor>>> {
            $crate::Optimize::values_in_use(&$inner)
        }

        fn set_training(&mut $self, training: bool) -> $crate::Result<()> {
            $crate::Optimize::set_training(&mut $inner, training)
        }
    };
}

/// What [`forward_optimize`] names, wherever it stands.
#[doc(hidden)]
pub mod optimize_types {
    pub use unigrad_tensor::Tensor;
    /// See [`crate::Optimize::state_dict`].
    pub type State = std::collections::BTreeMap<String, crate::HostTensor>;
}

impl<O: Optimize + ?Sized> Optimize for Box<O> {
    crate::forward_optimize!(self => **self);

    #[track_caller]
    fn minimize(&mut self, loss: &Tensor, also: &[&Tensor]) -> Result<()> {
        (**self).minimize(loss, also)
    }

    #[track_caller]
    fn minimize_by(&mut self, forward: &mut dyn FnMut() -> Result<(Tensor, Vec<Tensor>)>) -> Result<Tensor> {
        (**self).minimize_by(forward)
    }

    #[track_caller]
    fn step_guarded(&mut self, guard: &Tensor, also: &[&Tensor]) -> Result<()> {
        (**self).step_guarded(guard, also)
    }
}
