//! Optimizers: gradients into better parameters.
//!
//! In: parameters and their gradients. Out: parameters and state, assigned in one evaluation together with whatever else is asked for,
//! so that forward, backward and update are planned as one, and the update is one or two launches for all parameters.
//! Always: what changes from step to step is a run-time scalar (learning rate) or computed from a counter on the device (bias corrections),
//! so every step after the first finds its plan; state exists from the beginning, so the first step looks like the others. State of
//! half-precision parameters is `f32`.
//! A step is a transaction: whatever fails, parameters, state and counter are bit for bit what they were, and the next step works. The counter
//! lives beside the state, so that a step which the device undoes is not counted either, and no thread waits to know.

mod adafactor;
mod adagrad;
mod adam;
mod adam8bit;
mod adamax;
mod adan;
mod arrays;
mod asgd;
mod average;
mod clip;
mod gradients;
mod lamb;
mod lars;
mod lbfgs;
mod lion;
mod lookahead;
mod missed;
mod muon;
mod nadam;
mod optimize;
mod optimizer;
mod radam;
mod rmsprop;
mod rprop;
mod rule;
mod ruled;
mod sam;
mod scaler;
mod schedule_free;
mod sgd;
mod shampoo;
mod sophia;
mod sparse_adam;
mod state;
mod step;
mod trained;

pub use adafactor::{Adafactor, AdafactorRule};
pub use adagrad::{Adadelta, AdadeltaRule, Adagrad, AdagradRule};
pub use adam::{Adam, AdamRule, AdamW};
pub use adam8bit::{AdamW8bit, AdamW8bitRule};
pub use adamax::{Adamax, AdamaxRule};
pub use adan::{Adan, AdanRule};
pub use arrays::{ArrayOptimizer, Values, ValuesMut, View, ViewMut};
pub use asgd::{Asgd, AsgdRule};
pub use average::{AveragedModel, update_bn};
pub use clip::{clip_grad_adaptively, clip_grad_norm, clip_grad_norm_with, clip_grad_value, grad_norm};
pub use lamb::{Lamb, LambRule};
pub use lars::{Lars, LarsRule};
pub use lbfgs::Lbfgs;
pub use lion::{Lion, LionRule};
pub use lookahead::LookaheadRule;
pub use muon::{AdjustLr, Muon, MuonRule};
pub use nadam::{NAdam, NAdamRule};
pub use optimize::Optimize;
#[doc(hidden)]
pub use optimize::optimize_types;
pub use optimizer::Optimizer;
pub use radam::{RAdam, RAdamRule};
pub use rmsprop::{RmsProp, RmsPropRule};
pub use rprop::{Rprop, RpropRule};
pub use rule::{Group, Rule, StepNumbers};
pub use sam::{Climbed, Sam};
pub use scaler::{GradScaler, ScalerOptions};
pub use schedule_free::{AdamWScheduleFree, AdamWScheduleFreeRule, SgdScheduleFree, SgdScheduleFreeRule};
pub use sgd::{Sgd, SgdRule};
pub use shampoo::{Shampoo, ShampooRule};
pub use sophia::{Sophia, SophiaRule};
pub use sparse_adam::{SparseAdam, SparseAdamRule};

use rule::{betas, constructor, decayed, misfit, setters};
