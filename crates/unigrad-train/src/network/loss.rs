//! What a network is trained for, in words: the loss, and what follows from it for predictions and metrics.
//!
//! Always: names, settings and defaults are those of the types of `unigrad_nn`, which are PyTorch's.

use serde::{Deserialize, Serialize};
use unigrad_nn::{self as nn, Error, Loss, Result};
use unigrad_tensor::{CrossEntropyOptions, DType, Device, Tensor};

/// What a network's answers are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Task {
    /// A logit for each class; targets are class indices.
    Classes,
    /// A log probability for each class; targets are class indices.
    LogClasses,
    /// A logit for each of one or several questions; targets are 0 or 1.
    Binary,
    /// A probability for each of one or several questions; targets are 0 or 1.
    Probabilities,
    /// Numbers.
    Numbers,
}

fn one() -> f64 {
    1.0
}

fn power() -> i32 {
    1
}

fn tiny() -> f64 {
    1e-8
}

fn quarter() -> f64 {
    0.25
}

fn two() -> f64 {
    2.0
}

fn ignored() -> Option<i64> {
    Some(-100)
}

fn yes() -> bool {
    true
}

/// Zeros and ones as lists of those classes that are there, each of which ends with -1.
#[track_caller]
fn listed(target: &Tensor) -> Tensor {
    let (Some(&n), Ok(device)) = (target.shape().last(), target.device()) else { return target.clone() };
    let class = Tensor::arange(0.0, n as f64, 1.0, DType::I64, &device).expand(target.shape());
    let (listed, _) = target.gt(0.5).where_(class, n as i64).sort(-1, false);
    listed.lt(n as i64).where_(&listed, -1i64)
}

/// A loss of a prediction and a target. In files: `loss = "cross_entropy"`, or `[loss.cross_entropy]` with settings.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
#[non_exhaustive]
pub enum LossSpec {
    /// Of logits and class indices; see [`Tensor::cross_entropy`].
    CrossEntropy {
        /// The weight of the uniform distribution in the target.
        #[serde(default)]
        label_smoothing: f64,
        /// The target that counts nothing.
        #[serde(default = "ignored")]
        ignore_index: Option<i64>,
        /// The weight of each class; empty: all alike.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        class_weights: Vec<f64>,
    },
    /// Of logits `[.., classes]` and class indices `[..]`, one for each place of a sequence: language models; see [`Tensor::cross_entropy_with`].
    TokenCrossEntropy {
        /// The weight of the uniform distribution in the target.
        #[serde(default)]
        label_smoothing: f64,
        /// Targets that count nothing.
        #[serde(default = "ignored")]
        ignore_index: Option<i64>,
        /// The weight of each class; empty: all alike.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        class_weights: Vec<f64>,
    },
    /// Of log probabilities and class indices; see [`Tensor::nll_loss`].
    Nll {
        /// The target that counts nothing.
        #[serde(default = "ignored")]
        ignore_index: Option<i64>,
        /// The weight of each class; empty: all alike.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        class_weights: Vec<f64>,
    },
    /// Of logits and zeros or ones; see [`Tensor::bce_with_logits`].
    BceWithLogits {
        /// The weight of ones, of each question; empty: 1.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pos_weight: Vec<f64>,
        /// The weight of each question; empty: all alike.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        weight: Vec<f64>,
    },
    /// Of probabilities and zeros or ones; see [`Tensor::bce_loss`].
    Bce {
        /// The weight of each question; empty: all alike.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        weight: Vec<f64>,
    },
    /// The mean square; see [`Tensor::mse_loss`].
    Mse,
    /// The mean absolute difference; see [`Tensor::l1_loss`].
    L1,
    /// Squares near 0, absolute differences beyond; see [`Tensor::huber_loss`].
    Huber {
        /// Where it becomes linear.
        #[serde(default = "one")]
        delta: f64,
    },
    /// As `huber`, divided by `beta`; see [`Tensor::smooth_l1_loss`].
    SmoothL1 {
        /// Where it becomes linear.
        #[serde(default = "one")]
        beta: f64,
    },
    /// Kullback and Leibler's divergence, of log probabilities; see [`Tensor::kl_div`].
    KlDiv {
        /// Whether targets are logarithms.
        #[serde(default)]
        log_target: bool,
    },
    /// Of counts; see [`Tensor::poisson_nll_loss`].
    PoissonNll {
        /// Whether predictions are logarithms of rates.
        #[serde(default = "yes")]
        log_input: bool,
        /// Whether Stirling's term is added.
        #[serde(default)]
        full: bool,
        /// Added to rates before their logarithm.
        #[serde(default = "tiny")]
        eps: f64,
    },
    /// Of scores and class indices: the right class should be ahead; see [`Tensor::multi_margin_loss`].
    MultiMargin {
        /// The power, 1 or 2.
        #[serde(default = "power")]
        p: i32,
        /// By how much.
        #[serde(default = "one")]
        margin: f64,
        /// The weight of each class; empty: all alike.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        class_weights: Vec<f64>,
    },
    /// Of scores and ±1; see [`Tensor::soft_margin_loss`].
    SoftMargin,
    /// Of distances and ±1; see [`Tensor::hinge_embedding_loss`].
    HingeEmbedding {
        /// How far apart those with -1 should be.
        #[serde(default = "one")]
        margin: f64,
    },
    /// Of scores and several classes, each 0 or 1; see [`Tensor::multilabel_soft_margin_loss`].
    MultilabelSoftMargin {
        /// The weight of each class; empty: all alike.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        class_weights: Vec<f64>,
    },
    /// Of scores and several classes, each 0 or 1: those that are there should be ahead of those that are not; see [`Tensor::multilabel_margin_loss`],
    /// which takes lists of classes, that are made of the zeros and ones.
    MultilabelMargin,
    /// Of logits and zeros or ones, where ones are rare; see [`Tensor::focal_loss`].
    Focal {
        /// The weight of ones; negative: none.
        #[serde(default = "quarter")]
        alpha: f64,
        /// How little counts what is known.
        #[serde(default = "two")]
        gamma: f64,
    },
    /// Of probabilities of a mask and zeros or ones; see [`Tensor::dice_loss`].
    Dice {
        /// Added above and below.
        #[serde(default = "one")]
        smooth: f64,
    },
}

impl Default for LossSpec {
    fn default() -> LossSpec {
        LossSpec::cross_entropy()
    }
}

impl LossSpec {
    /// Cross-entropy with PyTorch's defaults.
    pub fn cross_entropy() -> LossSpec {
        LossSpec::CrossEntropy { label_smoothing: 0.0, ignore_index: ignored(), class_weights: Vec::new() }
    }

    /// Cross-entropy along the last axis, with PyTorch's defaults.
    pub fn token_cross_entropy() -> LossSpec {
        LossSpec::TokenCrossEntropy { label_smoothing: 0.0, ignore_index: ignored(), class_weights: Vec::new() }
    }

    /// Binary cross-entropy of logits.
    pub fn bce_with_logits() -> LossSpec {
        LossSpec::BceWithLogits { pos_weight: Vec::new(), weight: Vec::new() }
    }

    /// What the network's answers are.
    pub fn task(&self) -> Task {
        match self {
            LossSpec::CrossEntropy { .. } | LossSpec::TokenCrossEntropy { .. } | LossSpec::MultiMargin { .. } => Task::Classes,
            LossSpec::Nll { .. } => Task::LogClasses,
            LossSpec::BceWithLogits { .. } | LossSpec::Focal { .. } => Task::Binary,
            LossSpec::MultilabelSoftMargin { .. } | LossSpec::MultilabelMargin => Task::Binary,
            LossSpec::Bce { .. } | LossSpec::Dice { .. } => Task::Probabilities,
            LossSpec::Mse
            | LossSpec::L1
            | LossSpec::Huber { .. }
            | LossSpec::SmoothL1 { .. }
            | LossSpec::KlDiv { .. }
            | LossSpec::PoissonNll { .. }
            | LossSpec::SoftMargin
            | LossSpec::HingeEmbedding { .. } => Task::Numbers,
        }
    }

    /// The loss itself. An error if a setting makes no sense.
    pub fn build(&self, device: &Device) -> Result<Box<dyn Loss>> {
        let weights = |name: &str, weights: &[f64]| -> Result<Option<Tensor>> {
            if let Some(wrong) = weights.iter().find(|w| !(w.is_finite() && **w >= 0.0)) {
                return Err(Error::argument(format!("the loss's `{name}` has {wrong}"), "give finite numbers, 0 or above"));
            }
            let weights: Vec<f32> = weights.iter().map(|w| *w as f32).collect();
            Ok((!weights.is_empty()).then(|| Tensor::from_slice(&weights, [weights.len()], device)))
        };
        let at_least = |name: &str, value: f64, least: f64| -> Result<f64> {
            if value.is_finite() && value >= least {
                return Ok(value);
            }
            Err(Error::argument(format!("the loss's `{name}` is {value}"), format!("give a finite number, {least} or above")))
        };
        let reduction = unigrad_tensor::Reduction::Mean;
        Ok(match self {
            LossSpec::CrossEntropy { label_smoothing, ignore_index, class_weights } => {
                if !(0.0..=1.0).contains(label_smoothing) {
                    let cause = format!("the loss's `label_smoothing` is {label_smoothing}");
                    return Err(Error::argument(cause, "give a number from 0 to 1"));
                }
                let weight = weights("class_weights", class_weights)?;
                Box::new(nn::CrossEntropyLoss { weight, ignore_index: *ignore_index, label_smoothing: *label_smoothing, reduction })
            }
            LossSpec::TokenCrossEntropy { label_smoothing, ignore_index, class_weights } => {
                if !(0.0..=1.0).contains(label_smoothing) {
                    let cause = format!("the loss's `label_smoothing` is {label_smoothing}");
                    return Err(Error::argument(cause, "give a number from 0 to 1"));
                }
                let options = CrossEntropyOptions {
                    axis: Some(-1),
                    label_smoothing: *label_smoothing,
                    ignore_index: *ignore_index,
                    weight: weights("class_weights", class_weights)?,
                    ..CrossEntropyOptions::default()
                };
                Box::new(move |x: &Tensor, y: &Tensor| x.cross_entropy_with(y, &options))
            }
            LossSpec::Nll { ignore_index, class_weights } => {
                Box::new(nn::NllLoss { weight: weights("class_weights", class_weights)?, ignore_index: *ignore_index, reduction })
            }
            LossSpec::BceWithLogits { pos_weight, weight } => Box::new(nn::BceWithLogitsLoss {
                weight: weights("weight", weight)?,
                pos_weight: weights("pos_weight", pos_weight)?,
                reduction,
            }),
            LossSpec::Bce { weight } => Box::new(nn::BceLoss { weight: weights("weight", weight)?, reduction }),
            LossSpec::Mse => Box::new(nn::MseLoss::default()),
            LossSpec::L1 => Box::new(nn::L1Loss::default()),
            LossSpec::Huber { delta } => Box::new(nn::HuberLoss { delta: at_least("delta", *delta, f64::MIN_POSITIVE)?, reduction }),
            LossSpec::SmoothL1 { beta } => Box::new(nn::SmoothL1Loss { beta: at_least("beta", *beta, 0.0)?, reduction }),
            LossSpec::KlDiv { log_target } => Box::new(nn::KlDivLoss { log_target: *log_target, reduction }),
            LossSpec::PoissonNll { log_input, full, eps } => {
                Box::new(nn::PoissonNllLoss { log_input: *log_input, full: *full, eps: at_least("eps", *eps, 0.0)?, reduction })
            }
            LossSpec::MultiMargin { p, margin, class_weights } => {
                Box::new(nn::MultiMarginLoss { p: *p, margin: *margin, weight: weights("class_weights", class_weights)?, reduction })
            }
            LossSpec::SoftMargin => Box::new(nn::SoftMarginLoss::default()),
            LossSpec::HingeEmbedding { margin } => Box::new(nn::HingeEmbeddingLoss { margin: *margin, reduction }),
            LossSpec::MultilabelSoftMargin { class_weights } => {
                Box::new(nn::MultiLabelSoftMarginLoss { weight: weights("class_weights", class_weights)?, reduction })
            }
            LossSpec::MultilabelMargin => {
                let loss = nn::MultiLabelMarginLoss { reduction };
                Box::new(move |x: &Tensor, y: &Tensor| loss.forward(x, &listed(y)))
            }
            LossSpec::Focal { alpha, gamma } => {
                Box::new(nn::FocalLoss { alpha: *alpha, gamma: at_least("gamma", *gamma, 0.0)?, reduction })
            }
            LossSpec::Dice { smooth } => Box::new(nn::DiceLoss { smooth: at_least("smooth", *smooth, 0.0)?, reduction }),
        })
    }
}
