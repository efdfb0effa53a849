//! What trains a network, in words: an update rule and its settings.
//!
//! Always: names, settings and defaults are PyTorch's, or those of the rule's own paper; one row below is all that a rule needs.

use super::{
    around::Around,
    groups::{self, ParameterGroup},
    rules::{self, AnyRule, Renewing},
};
use serde::{Deserialize, Serialize};
use unigrad_nn::{self as nn, AdjustLr, Error, Module, Optimize, Result};
use unigrad_tensor::{DType, Tensor};

/// How the size of Muon's steps follows from a matrix's shape; see [`unigrad_nn::AdjustLr`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MuonAdjust {
    /// `sqrt(max(1, rows / columns))`.
    #[default]
    Original,
    /// `0.2 sqrt(max(rows, columns))`: rates are those of AdamW.
    MatchRmsAdamw,
    /// `sqrt(rows / columns)`.
    SpectralUnclamped,
}

impl MuonAdjust {
    fn of(self) -> AdjustLr {
        match self {
            MuonAdjust::Original => AdjustLr::Original,
            MuonAdjust::MatchRmsAdamw => AdjustLr::MatchRmsAdamW,
            MuonAdjust::SpectralUnclamped => AdjustLr::SpectralUnclamped,
        }
    }
}

/// What Muon's iterations are computed in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MuonPrecision {
    /// `bf16`.
    #[default]
    Bf16,
    /// `f16`.
    F16,
    /// `f32`.
    F32,
    /// `f64`.
    F64,
}

impl MuonPrecision {
    fn of(self) -> DType {
        match self {
            MuonPrecision::Bf16 => DType::BF16,
            MuonPrecision::F16 => DType::F16,
            MuonPrecision::F32 => DType::F32,
            MuonPrecision::F64 => DType::F64,
        }
    }
}

/// Rules: the variant, its settings' type, the settings with defaults, how many tensors of a parameter's shape it keeps for it, and the rule.
macro_rules! optimizers {
    ($($variant:ident($settings:ident) $doc:literal {
        lr: $lr:literal, $($field:ident: $ty:ty = $default:expr, $text:literal;)*
    } keeps |$k:ident| $keeps:expr, |$s:ident, $none:ident| $make:expr;)*) => {
        /// An optimizer in words. In files: `optimizer = "adam"`, or `[optimizer.adam]` with settings.
        ///
        /// ```
        /// use unigrad_train::network::{AdamSettings, OptimizerSpec};
        /// let optimizer: OptimizerSpec = serde_json::from_str(r#"{ "adam": { "lr": 0.01 } }"#).unwrap();
        /// assert_eq!(optimizer, OptimizerSpec::Adam(AdamSettings { lr: 0.01, ..AdamSettings::default() }));
        /// ```
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        #[non_exhaustive]
        pub enum OptimizerSpec {
            $(#[doc = $doc] $variant($settings),)*
        }

        $(
            #[doc = concat!("Settings of: ", $doc)]
            #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
            #[serde(default, deny_unknown_fields)]
            pub struct $settings {
                /// The base learning rate.
                pub lr: f64,
                $(#[doc = $text] pub $field: $ty,)*
            }

            impl Default for $settings {
                fn default() -> $settings {
                    $settings { lr: $lr, $($field: $default),* }
                }
            }
        )*

        impl OptimizerSpec {
            /// With another base learning rate.
            pub fn with_lr(mut self, rate: f64) -> OptimizerSpec {
                match &mut self {
                    $(OptimizerSpec::$variant(settings) => settings.lr = rate,)*
                }
                self
            }

            /// The base learning rate.
            pub fn lr(&self) -> f64 {
                match self {
                    $(OptimizerSpec::$variant(settings) => settings.lr,)*
                }
            }

            /// Tensors that it keeps for each parameter, in its shape. What it keeps in other shapes (factors of moments, codes of 8 bits) is not counted.
            pub fn n_state_tensors(&self) -> usize {
                match self {
                    $(OptimizerSpec::$variant($k) => $keeps,)*
                }
            }

            /// The rule.
            pub(super) fn rule(&self) -> Result<AnyRule> {
                Ok(match self {
                    $(OptimizerSpec::$variant($s) => {
                        let $none = Vec::new();
                        AnyRule::of(&$make)
                    })*
                })
            }
        }
    };
}

optimizers! {
    Sgd(SgdSettings) "Stochastic gradient descent." {
        lr: 1e-2,
        momentum: f64 = 0.0, "How much of the last step goes into the next.";
        dampening: f64 = 0.0, "How much less than whole a gradient enters the momentum.";
        nesterov: bool = false, "Nesterov's form of momentum.";
        weight_decay: f64 = 0.0, "Adds this multiple of the values to their gradients.";
    } keeps |s| usize::from(s.momentum != 0.0),
    |s, p| nn::Sgd::new(p, s.lr)?.momentum(s.momentum)?.dampening(s.dampening).nesterov(s.nesterov).weight_decay(s.weight_decay);

    Adam(AdamSettings) "Adam (Kingma and Ba, 2015)." {
        lr: 1e-3,
        betas: [f64; 2] = [0.9, 0.999], "How slowly the two moments forget.";
        eps: f64 = 1e-8, "What is added to the root of the second moment.";
        weight_decay: f64 = 0.0, "Adds this multiple of the values to their gradients.";
        amsgrad: bool = false, "Divides by the greatest second moment so far.";
    } keeps |s| 2 + usize::from(s.amsgrad),
    |s, p| {
        let adam = nn::Adam::new(p, s.lr)?.betas(s.betas[0], s.betas[1]).eps(s.eps).weight_decay(s.weight_decay);
        if s.amsgrad { adam.amsgrad()? } else { adam }
    };

    Adamw(AdamWSettings) "Adam with decoupled weight decay (Loshchilov and Hutter, 2019)." {
        lr: 1e-3,
        betas: [f64; 2] = [0.9, 0.999], "How slowly the two moments forget.";
        eps: f64 = 1e-8, "What is added to the root of the second moment.";
        weight_decay: f64 = 1e-2, "How strongly values are pulled to zero.";
        amsgrad: bool = false, "Divides by the greatest second moment so far.";
    } keeps |s| 2 + usize::from(s.amsgrad),
    |s, p| {
        let adam = nn::AdamW::new(p, s.lr)?.betas(s.betas[0], s.betas[1]).eps(s.eps).weight_decay(s.weight_decay);
        if s.amsgrad { adam.amsgrad()? } else { adam }
    };

    Nadam(NAdamSettings) "Adam with Nesterov's momentum (Dozat, 2016)." {
        lr: 2e-3,
        betas: [f64; 2] = [0.9, 0.999], "How slowly the two moments forget.";
        eps: f64 = 1e-8, "What is added to the root of the second moment.";
        weight_decay: f64 = 0.0, "How strongly values are pulled to zero.";
        momentum_decay: f64 = 4e-3, "How fast the first beta rises to its value.";
        decoupled: bool = false, "Weight decay beside the gradient.";
    } keeps |_s| 2,
    |s, p| nn::NAdam::new(p, s.lr)?.betas(s.betas[0], s.betas[1]).eps(s.eps).momentum_decay(s.momentum_decay).weight_decay(s.weight_decay)
        .decoupled(s.decoupled);

    Radam(RAdamSettings) "Rectified Adam (Liu et al., 2020)." {
        lr: 1e-3,
        betas: [f64; 2] = [0.9, 0.999], "How slowly the two moments forget.";
        eps: f64 = 1e-8, "What is added to the root of the second moment.";
        weight_decay: f64 = 0.0, "How strongly values are pulled to zero.";
        decoupled: bool = false, "Weight decay beside the gradient.";
    } keeps |_s| 2,
    |s, p| nn::RAdam::new(p, s.lr)?.betas(s.betas[0], s.betas[1]).eps(s.eps).weight_decay(s.weight_decay).decoupled(s.decoupled);

    Adamax(AdamaxSettings) "Adam with the greatest gradient (Kingma and Ba, 2015)." {
        lr: 2e-3,
        betas: [f64; 2] = [0.9, 0.999], "How slowly the mean and the size forget.";
        eps: f64 = 1e-8, "What is added to sizes of gradients.";
        weight_decay: f64 = 0.0, "Adds this multiple of the values to their gradients.";
    } keeps |_s| 2,
    |s, p| nn::Adamax::new(p, s.lr)?.betas(s.betas[0], s.betas[1]).eps(s.eps).weight_decay(s.weight_decay);

    Adagrad(AdagradSettings) "Adagrad (Duchi et al., 2011)." {
        lr: 1e-2,
        lr_decay: f64 = 0.0, "The rate of step `t` is divided by `1 + (t - 1) lr_decay`.";
        eps: f64 = 1e-10, "What is added to the root of the sum.";
        weight_decay: f64 = 0.0, "Adds this multiple of the values to their gradients.";
        initial_accumulator: f64 = 0.0, "What the sum begins with.";
    } keeps |_s| 1,
    |s, p| nn::Adagrad::new(p, s.lr)?.lr_decay(s.lr_decay).eps(s.eps).weight_decay(s.weight_decay).initial_accumulator(s.initial_accumulator)?;

    Adadelta(AdadeltaSettings) "Adadelta (Zeiler, 2012)." {
        lr: 1.0,
        rho: f64 = 0.9, "How slowly squares are forgotten.";
        eps: f64 = 1e-6, "What is added to squares before their roots.";
        weight_decay: f64 = 0.0, "Adds this multiple of the values to their gradients.";
    } keeps |_s| 2,
    |s, p| nn::Adadelta::new(p, s.lr)?.rho(s.rho).eps(s.eps).weight_decay(s.weight_decay);

    Rmsprop(RmsPropSettings) "RMSprop (Hinton, 2012)." {
        lr: 1e-2,
        alpha: f64 = 0.99, "How slowly squares are forgotten.";
        eps: f64 = 1e-8, "What is added to the root.";
        weight_decay: f64 = 0.0, "Adds this multiple of the values to their gradients.";
        momentum: f64 = 0.0, "How much of the last step goes into the next.";
        centered: bool = false, "Divides by the variance instead of the mean square.";
    } keeps |s| 1 + usize::from(s.momentum != 0.0) + usize::from(s.centered),
    |s, p| {
        let rmsprop = nn::RmsProp::new(p, s.lr)?.alpha(s.alpha).eps(s.eps).weight_decay(s.weight_decay).momentum(s.momentum)?;
        if s.centered { rmsprop.centered()? } else { rmsprop }
    };

    Rprop(RpropSettings) "Resilient backpropagation (Riedmiller and Braun, 1993); for whole batches." {
        lr: 1e-2,
        etas: [f64; 2] = [0.5, 1.2], "How steps shrink and grow.";
        step_sizes: [f64; 2] = [1e-6, 50.0], "The least and the greatest step.";
    } keeps |_s| 2,
    |s, p| nn::Rprop::new(p, s.lr)?.etas(s.etas[0], s.etas[1]).step_sizes(s.step_sizes[0], s.step_sizes[1]);

    Asgd(AsgdSettings) "Averaged stochastic gradient descent (Polyak and Juditsky, 1992)." {
        lr: 1e-2,
        lambda: f64 = 1e-4, "How strongly values are pulled to zero, and the rate falls.";
        alpha: f64 = 0.75, "The power by which the rate falls.";
        t0: f64 = 1e6, "The step from which values are averaged.";
        weight_decay: f64 = 0.0, "Adds this multiple of the values to their gradients.";
    } keeps |_s| 1,
    |s, p| nn::Asgd::new(p, s.lr)?.lambda(s.lambda).alpha(s.alpha).t0(s.t0).weight_decay(s.weight_decay);

    Lion(LionSettings) "Steps by the sign of the momentum (Chen et al., 2023)." {
        lr: 1e-4,
        betas: [f64; 2] = [0.9, 0.99], "How much of the momentum is in a step, and how slowly it forgets.";
        weight_decay: f64 = 0.0, "How strongly values are pulled to zero.";
    } keeps |_s| 1,
    |s, p| nn::Lion::new(p, s.lr)?.betas(s.betas[0], s.betas[1]).weight_decay(s.weight_decay);

    Adan(AdanSettings) "Adaptive Nesterov momentum (Xie et al., 2022)." {
        lr: 1e-3,
        betas: [f64; 3] = [0.98, 0.92, 0.99], "How slowly gradients, their differences and squares are forgotten.";
        eps: f64 = 1e-8, "What is added to the root of the squares.";
        weight_decay: f64 = 0.0, "How strongly values are pulled to zero.";
        no_prox: bool = false, "Weight decay before the step instead of after it.";
    } keeps |_s| 4,
    |s, p| nn::Adan::new(p, s.lr)?.betas(s.betas[0], s.betas[1], s.betas[2]).eps(s.eps).weight_decay(s.weight_decay).no_prox(s.no_prox);

    Lars(LarsSettings) "Momentum with a step for each tensor that is a share of its norm (You et al., 2017); for large batches." {
        lr: 0.1,
        momentum: f64 = 0.9, "How much of the last step goes into the next.";
        trust: f64 = 1e-3, "A step's size as a share of the parameter's norm.";
        weight_decay: f64 = 0.0, "Adds this multiple of the values to their gradients.";
        adapts_vectors: bool = false, "Whether biases and gains of norms are scaled and decayed too.";
    } keeps |_s| 1,
    |s, p| nn::Lars::new(p, s.lr)?.momentum(s.momentum).trust(s.trust).weight_decay(s.weight_decay).adapts_vectors(s.adapts_vectors);

    Lamb(LambSettings) "Adam's step for each tensor, scaled to the tensor's norm (You et al., 2019); for large batches." {
        lr: 1e-3,
        betas: [f64; 2] = [0.9, 0.999], "How slowly the two moments forget.";
        eps: f64 = 1e-6, "What is added to the root of the second moment.";
        weight_decay: f64 = 1e-2, "How strongly values are pulled to zero.";
        bias_correction: bool = true, "Whether moments are corrected for their beginning at zero.";
    } keeps |_s| 2,
    |s, p| nn::Lamb::new(p, s.lr)?.betas(s.betas[0], s.betas[1]).eps(s.eps).weight_decay(s.weight_decay).bias_correction(s.bias_correction);

    Adafactor(AdafactorSettings) "Second moments of a matrix as a row and a column (Shazeer and Stern, 2018)." {
        lr: 1e-2,
        beta2_decay: f64 = -0.8, "The power of the step by which the newest squares enter their mean; below 0.";
        eps1: f64 = 0.0, "The least variance's root; 0: the epsilon of the dtype.";
        eps2: f64 = 1e-3, "The least size of a parameter.";
        d: f64 = 1.0, "The greatest root mean square of an update.";
        weight_decay: f64 = 0.0, "How strongly values are pulled to zero.";
    } keeps |_s| 0,
    |s, p| nn::Adafactor::new(p, s.lr)?.beta2_decay(s.beta2_decay).eps(Some(s.eps1).filter(|eps| *eps > 0.0), s.eps2).d(s.d).weight_decay(s.weight_decay);

    Sophia(SophiaSettings) "Steps by an estimate of the Hessian's diagonal (Liu et al., 2023), which Hutchinson's estimator renews." {
        lr: 1e-4,
        betas: [f64; 2] = [0.965, 0.99], "How slowly the momentum and the estimate forget.";
        rho: f64 = 0.04, "How much of the estimate divides the momentum.";
        every: u64 = 10, "Steps between two renewals of the estimate, each of which differentiates twice.";
        weight_decay: f64 = 0.1, "How strongly values are pulled to zero.";
    } keeps |_s| 2,
    |s, p| sophia(s, p)?;

    Muon(MuonSettings) "Orthogonal steps for the matrices of hidden layers (Jordan, 2024), AdamW for all else." {
        lr: 1e-3,
        momentum: f64 = 0.95, "How slowly the momentum forgets.";
        nesterov: bool = true, "Nesterov's form of momentum.";
        weight_decay: f64 = 0.1, "How strongly values are pulled to zero.";
        eps: f64 = 1e-7, "The least norm that a matrix is divided by.";
        iterations: usize = 5, "How often a matrix is made more orthogonal.";
        coefficients: [f64; 3] = [3.4445, -4.7750, 2.0315], "Of the polynomial that does it.";
        adjust_lr: MuonAdjust = MuonAdjust::Original, "How a step's size follows from a matrix's shape.";
        precision: MuonPrecision = MuonPrecision::Bf16, "What the iterations are computed in.";
        adamw_lr: f64 = 3e-4, "The rate of what is no matrix of a hidden layer.";
        adamw_betas: [f64; 2] = [0.9, 0.999], "How slowly its two moments forget.";
        adamw_eps: f64 = 1e-8, "What is added to the root of its second moment.";
        adamw_weight_decay: f64 = 1e-2, "How strongly it is pulled to zero.";
    } keeps |_s| 1,
    |s, p| nn::Muon::new(p, s.lr)?.momentum(s.momentum).nesterov(s.nesterov).weight_decay(s.weight_decay).eps(s.eps)
        .iterations(s.iterations, s.coefficients.into()).adjust_lr(s.adjust_lr.of()).precision(s.precision.of());

    Shampoo(ShampooSettings) "Gradients between inverse roots of the sums of their products (Gupta et al., 2018)." {
        lr: 1e-2,
        eps: f64 = 1e-4, "What products begin with, on their diagonal.";
        momentum: f64 = 0.0, "How much of the last step goes into the next.";
        weight_decay: f64 = 0.0, "Adds this multiple of the values to their gradients.";
        max_side: usize = 1024, "The longest side of a matrix whose products are kept.";
    } keeps |s| usize::from(s.momentum > 0.0),
    |s, p| nn::Shampoo::new(p, s.lr)?.eps(s.eps)?.momentum(s.momentum)?.max_side(s.max_side)?.weight_decay(s.weight_decay);

    AdamwScheduleFree(AdamWScheduleFreeSettings) "AdamW without a schedule (Defazio et al., 2024): validation and files use an average." {
        lr: 2.5e-3,
        betas: [f64; 2] = [0.9, 0.999], "How much of the average is where gradients are taken (above 0), and how slowly squares are forgotten.";
        eps: f64 = 1e-8, "What is added to the root of the second moment.";
        weight_decay: f64 = 0.0, "How strongly values are pulled to zero.";
        warmup_steps: u64 = 0, "Over how many steps the rate rises.";
        r: f64 = 0.0, "The power of the step by which steps count in the average.";
        lr_power: f64 = 2.0, "The power of the greatest rate so far by which they do.";
    } keeps |_s| 2,
    |s, p| nn::AdamWScheduleFree::new(p, s.lr)?.betas(s.betas[0], s.betas[1]).eps(s.eps).weight_decay(s.weight_decay)
        .warmup_steps(s.warmup_steps).weights(s.r, s.lr_power);

    SgdScheduleFree(SgdScheduleFreeSettings) "SGD without a schedule (Defazio et al., 2024): validation and files use an average." {
        lr: 1.0,
        momentum: f64 = 0.9, "How much of the average is where gradients are taken; above 0.";
        weight_decay: f64 = 0.0, "Adds this multiple of the values to their gradients.";
        warmup_steps: u64 = 0, "Over how many steps the rate rises.";
        r: f64 = 0.0, "The power of the step by which steps count in the average.";
        lr_power: f64 = 2.0, "The power of the greatest rate so far by which they do.";
    } keeps |_s| 1,
    |s, p| nn::SgdScheduleFree::new(p, s.lr)?.momentum(s.momentum).weight_decay(s.weight_decay).warmup_steps(s.warmup_steps).weights(s.r, s.lr_power);

    SparseAdam(SparseAdamSettings) "Adam that leaves rows without a gradient as they are: for embeddings." {
        lr: 1e-3,
        betas: [f64; 2] = [0.9, 0.999], "How slowly the two moments forget.";
        eps: f64 = 1e-8, "What is added to the root of the second moment.";
    } keeps |_s| 2,
    |s, p| nn::SparseAdam::new(p, s.lr)?.betas(s.betas[0], s.betas[1]).eps(s.eps);

    Adamw8bit(AdamW8bitSettings) "AdamW whose moments take 8 bits a value (Dettmers et al., 2021)." {
        lr: 1e-3,
        betas: [f64; 2] = [0.9, 0.999], "How slowly the two moments forget.";
        eps: f64 = 1e-8, "What is added to the root of the second moment.";
        weight_decay: f64 = 1e-2, "How strongly values are pulled to zero.";
        least_size: usize = 4096, "How many values a tensor must have for its moments to be quantized.";
    } keeps |_s| 0,
    |s, p| nn::AdamW8bit::new(p, s.lr)?.betas(s.betas[0], s.betas[1]).eps(s.eps).weight_decay(s.weight_decay).least_size(s.least_size)?;

    Lbfgs(LbfgsSettings) "L-BFGS (Liu and Nocedal, 1989), several evaluations a step; for whole batches." {
        lr: 1.0,
        max_iter: usize = 20, "Iterations of a step, at most.";
        max_eval: usize = 0, "Evaluations of a step, at most; 0: five for every four iterations.";
        tolerance_grad: f64 = 1e-7, "A step ends where no element of the gradient is above this.";
        tolerance_change: f64 = 1e-9, "A step ends where nothing changes by more than this.";
        history_size: usize = 100, "How many pairs of differences are kept.";
        strong_wolfe: bool = false, "Whether lengths are searched for by the strong Wolfe conditions.";
    } keeps |s| 2 * s.history_size,
    // `build` makes it of its settings.
    |_s, p| Err::<nn::Sgd, _>(Error::Internal(format!("L-BFGS of {} parameters as a rule", Vec::<Tensor>::len(&p))))?;
}

/// What a rule cannot have for some parameters alone.
fn one_of_all(what: &str) -> Error {
    Error::argument(
        format!("a group with settings of its own of `{what}`, which is one for all parameters"),
        "leave the group's settings out",
    )
}

impl Default for OptimizerSpec {
    fn default() -> OptimizerSpec {
        OptimizerSpec::Adam(AdamSettings::default())
    }
}

pub(super) fn sophia(s: &SophiaSettings, parameters: Vec<Tensor>) -> Result<nn::Sophia> {
    Ok(nn::Sophia::new(parameters, s.lr)?.betas(s.betas[0], s.betas[1]).rho(s.rho).weight_decay(s.weight_decay))
}

impl OptimizerSpec {
    /// The optimizer of a model's parameters: of those that require a gradient. An error if a setting makes no sense, or no parameter is left.
    #[track_caller]
    pub fn build<M: Module + ?Sized>(&self, model: &M) -> Result<Box<dyn Optimize>> {
        self.build_around(model, &Around::default(), &[])
    }

    /// As [`OptimizerSpec::build`], with what surrounds the rule, and parameters with settings of their own.
    #[track_caller]
    pub(super) fn build_around<M: Module + ?Sized>(
        &self,
        model: &M,
        around: &Around,
        groups: &[ParameterGroup],
    ) -> Result<Box<dyn Optimize>> {
        let members = groups::split(self, groups, model.named_parameters())?;
        members.iter().try_for_each(|(own, _)| own.check())?;
        if members.is_empty() {
            return Err(Error::argument(
                "the model has no parameter to train",
                "add a layer with parameters, or let some require gradients",
            ));
        }
        match self {
            OptimizerSpec::Lbfgs(settings) => {
                rules::alone("lbfgs", around, false)?;
                let [(own, parameters)] = <[_; 1]>::try_from(members).map_err(|_| one_of_all("lbfgs"))?;
                if own != *self {
                    return Err(one_of_all("lbfgs"));
                }
                Ok(Box::new(rules::lbfgs(settings, parameters)?))
            }
            OptimizerSpec::Sophia(settings) => {
                rules::alone("sophia", around, true)?;
                let every = |own: &OptimizerSpec| matches!(own, OptimizerSpec::Sophia(own) if own.every == settings.every);
                if !members.iter().all(|(own, _)| every(own)) {
                    return Err(one_of_all("sophia` with an `every"));
                }
                let optimizer = rules::joined(members, |own, parameters| match own {
                    OptimizerSpec::Sophia(own) => sophia(own, parameters),
                    _ => Err(one_of_all("sophia")),
                })?;
                Ok(Box::new(Renewing { optimizer: around.treated(optimizer), every: settings.every }))
            }
            OptimizerSpec::Muon(_) => {
                let members = members.into_iter().map(|(own, parameters)| match &own {
                    OptimizerSpec::Muon(settings) => Ok((own.rule()?, settings.clone(), parameters)),
                    _ => Err(one_of_all("muon")),
                });
                rules::muon(members.collect::<Result<_>>()?, model, around)
            }
            OptimizerSpec::AdamwScheduleFree(_) | OptimizerSpec::SgdScheduleFree(_) if around.lookahead.is_some() => {
                let cause = "`lookahead` around a schedule-free optimizer, which averages its steps already";
                Err(Error::argument(cause, "leave one of them out"))
            }
            _ => around.around(rules::joined(members, |own, parameters| own.rule()?.optimizer(parameters, own.lr()))?),
        }
    }

    /// Whether it looks at the loss in several places, so that it needs it recorded and not its gradients alone.
    pub(super) fn looks_around(&self) -> bool {
        matches!(self, OptimizerSpec::Lbfgs(_) | OptimizerSpec::Sophia(_))
    }

    /// Whether the numbers are such that any rule can work with them.
    pub(super) fn check(&self) -> Result<()> {
        let settings = serde_json::to_value(self).map_err(|e| Error::Internal(format!("an optimizer that is no JSON: {e}")))?;
        let entries = settings.as_object().and_then(|all| all.values().next()).and_then(|own| own.as_object());
        for (name, value) in entries.into_iter().flatten() {
            let range = |ok: fn(f64) -> bool, help: &str| -> Result<()> {
                let all = value.as_array().map_or_else(|| vec![value.clone()], Clone::clone);
                // What JSON has no number for is not finite.
                if value.is_boolean() || value.is_string() || all.iter().all(|x| x.as_f64().is_some_and(|x| x.is_finite() && ok(x))) {
                    return Ok(());
                }
                let shown = if value.is_null() { "not finite".to_owned() } else { value.to_string() };
                Err(Error::argument(format!("the optimizer's `{name}` is {shown}"), help))
            };
            match name.as_str() {
                "lr" => range(|x| x > 0.0, "a learning rate is a finite number above 0")?,
                "betas" | "rho" | "momentum" | "dampening" => range(|x| (0.0..1.0).contains(&x) || x == 1.0, "use numbers from 0 to 1")?,
                "adamw_lr" => range(|x| x > 0.0, "a learning rate is a finite number above 0")?,
                "adamw_betas" => range(|x| (0.0..=1.0).contains(&x), "use numbers from 0 to 1")?,
                "beta2_decay" => range(|x| x <= 0.0, "use a number of at most 0")?,
                "coefficients" => range(|_| true, "use finite numbers")?,
                "every" | "max_iter" | "history_size" => range(|x| x >= 1.0, "use a number from 1 up")?,
                _ => range(|x| x >= 0.0, "use a finite number, 0 or above")?,
            }
        }
        Ok(())
    }
}
