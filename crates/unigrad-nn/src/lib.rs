//! Layers, losses, optimizers, schedules, metrics and checkpoints: what a training program is made of.
//!
//! In: tensors, files. Out: models with named parameters, and what trains, saves and judges them.
//! Always: names, initial values and update rules are PyTorch's; files are whole or not there; the same seed gives the same run.
//! Never: knows a backend; what it needs of a device it asks of tensors.

extern crate self as unigrad;

#[macro_use]
mod example;

mod archive;
mod checkpoint;
mod error;
pub mod files;
mod formats;
pub mod init;
mod layers;
mod losses;
pub mod memory;
pub mod metrics;
pub mod models;
mod module;
mod optim;
pub mod random;
mod schedule;
mod trace;

pub use archive::{Archive, HostTensor};
pub use checkpoint::Checkpoint;
pub use error::{Error, NotFinite, Result, StateDictMismatch};
pub use formats::{Format, Rename, TensorFile};
pub use layers::*;
pub use losses::{
    BceLoss, BceWithLogitsLoss, CosineEmbeddingLoss, CrossEntropyLoss, CtcLoss, DiceLoss, FocalLoss, GaussianNllLoss, HingeEmbeddingLoss,
    HuberLoss, KlDivLoss, L1Loss, Loss, MarginRankingLoss, MseLoss, MultiLabelMarginLoss, MultiLabelSoftMarginLoss, MultiMarginLoss,
    NllLoss, PoissonNllLoss, SmoothL1Loss, SoftMarginLoss, TripletMarginLoss, TripletMarginWithDistanceLoss,
};
pub use metrics::Confusion;
pub use module::{LoadOptions, LoadReport, Module, Part, Visitor, VisitorMut};
#[doc(hidden)]
pub use optim::optimize_types;
pub use optim::{
    Adadelta, AdadeltaRule, Adafactor, AdafactorRule, Adagrad, AdagradRule, Adam, AdamRule, AdamW, AdamW8bit, AdamW8bitRule,
    AdamWScheduleFree, AdamWScheduleFreeRule, Adamax, AdamaxRule, Adan, AdanRule, AdjustLr, ArrayOptimizer, Asgd, AsgdRule, AveragedModel,
    Climbed, Group, Lamb, LambRule, Lars, LarsRule, Lbfgs, Lion, LionRule, LookaheadRule, Muon, MuonRule, NAdam, NAdamRule, Optimize,
    Optimizer, RAdam, RAdamRule, RmsProp, RmsPropRule, Rprop, RpropRule, Rule, Sam, Sgd, SgdRule, SgdScheduleFree, SgdScheduleFreeRule,
    Shampoo, ShampooRule, Sophia, SophiaRule, SparseAdam, SparseAdamRule, StepNumbers, Values, ValuesMut, View, ViewMut,
    clip_grad_adaptively, clip_grad_norm, clip_grad_norm_with, clip_grad_value, grad_norm, update_bn,
};
pub use optim::{GradScaler, ScalerOptions};
pub use schedule::{Anneal, Better, Peaks, Plateau, Schedule};
pub use trace::{first_not_finite, name_layer, observe};
pub use unigrad_derive::Module;
pub use unigrad_tensor::{DelayedScaling, Fp8Recipe, Fp8Scaling, autocast, autocast_fp8, autocast_fp8_guard, autocast_guard};

/// This crate under the name that derived code uses, here as in the facade.
#[doc(hidden)]
pub mod nn {
    pub use crate::*;
}
