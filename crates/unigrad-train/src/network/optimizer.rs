//! What trains a network, in words: an update rule and its settings.
//!
//! Always: names, settings and defaults are PyTorch's, or those of the rule's own paper; one row below is all that a rule needs.

use serde::{Deserialize, Serialize};
use unigrad_nn::{self as nn, Error, Module, Optimize, Result};
use unigrad_tensor::Tensor;

/// Rules: the variant, its settings' type, the settings with defaults, how many tensors it keeps for each parameter, and the optimizer.
macro_rules! optimizers {
    ($($variant:ident($settings:ident) $doc:literal {
        lr: $lr:literal, $($field:ident: $ty:ty = $default:expr, $text:literal;)*
    } keeps |$k:ident| $keeps:expr, |$s:ident, $parameters:ident| $make:expr;)*) => {
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

            /// Tensors that it keeps for each parameter, in its shape.
            pub fn n_state_tensors(&self) -> usize {
                match self {
                    $(OptimizerSpec::$variant($k) => $keeps,)*
                }
            }

            /// The optimizer of these parameters.
            fn make(&self, parameters: Vec<Tensor>) -> Result<Box<dyn Optimize>> {
                Ok(match self {
                    $(OptimizerSpec::$variant($s) => {
                        let $parameters = parameters;
                        Box::new($make)
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
}

impl Default for OptimizerSpec {
    fn default() -> OptimizerSpec {
        OptimizerSpec::Adam(AdamSettings::default())
    }
}

impl OptimizerSpec {
    /// The optimizer of a model's parameters: of those that require a gradient. An error if a setting makes no sense, or no parameter is left.
    #[track_caller]
    pub fn build<M: Module + ?Sized>(&self, model: &M) -> Result<Box<dyn Optimize>> {
        self.check()?;
        let parameters: Vec<Tensor> = model.parameters().into_iter().filter(Tensor::is_variable).collect();
        if parameters.is_empty() {
            return Err(Error::argument(
                "the model has no parameter to train",
                "add a layer with parameters, or let some require gradients",
            ));
        }
        self.make(parameters)
    }

    /// Whether the numbers are such that any rule can work with them.
    fn check(&self) -> Result<()> {
        let settings = serde_json::to_value(self).map_err(|e| Error::Internal(format!("an optimizer that is no JSON: {e}")))?;
        let entries = settings.as_object().and_then(|all| all.values().next()).and_then(|own| own.as_object());
        for (name, value) in entries.into_iter().flatten() {
            let range = |ok: fn(f64) -> bool, help: &str| -> Result<()> {
                let all = value.as_array().map_or_else(|| vec![value.clone()], Clone::clone);
                // What JSON has no number for is not finite.
                if value.is_boolean() || all.iter().all(|x| x.as_f64().is_some_and(|x| x.is_finite() && ok(x))) {
                    return Ok(());
                }
                let shown = if value.is_null() { "not finite".to_owned() } else { value.to_string() };
                Err(Error::argument(format!("the optimizer's `{name}` is {shown}"), help))
            };
            match name.as_str() {
                "lr" => range(|x| x > 0.0, "a learning rate is a finite number above 0")?,
                "betas" | "rho" | "momentum" | "dampening" => range(|x| (0.0..1.0).contains(&x) || x == 1.0, "use numbers from 0 to 1")?,
                _ => range(|x| x >= 0.0, "use a finite number, 0 or above")?,
            }
        }
        Ok(())
    }
}
