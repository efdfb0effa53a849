//! What surrounds an update rule, in words: what is done to gradients before it, and to its steps.
//!
//! In: settings of `[train]`. Out: an optimizer with them. Always: gradients are treated in one order: centralized, penalties added, noise added, normalized,
//! clipped by elements, by parameters, adaptively, and all together; numbers are checked first.

use super::TrainingConfig;
use serde::{Deserialize, Serialize};
use unigrad_nn::{Error, Optimize, Optimizer, Result, Rule};

/// What gradients are scaled to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Normalization {
    /// All together to a norm of 1.
    All,
    /// Those of each parameter to a norm of 1.
    Each,
}

/// Noise on gradients (Neelakantan et al., arXiv:1511.06807): of variance `eta / t^gamma` in step `t`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct NoiseSettings {
    /// The variance of the first step.
    pub eta: f64,
    /// How fast it falls.
    pub gamma: f64,
}

impl Default for NoiseSettings {
    fn default() -> NoiseSettings {
        NoiseSettings { eta: 0.01, gamma: 0.55 }
    }
}

/// Adaptive clipping (Brock et al., arXiv:2102.06171): see [`unigrad_nn::Optimizer::clip_adaptively`].
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AdaptiveClip {
    /// A gradient's norm at most, as a share of its weights'.
    pub factor: f64,
    /// What the norm of weights is at least.
    pub eps: f64,
}

impl Default for AdaptiveClip {
    fn default() -> AdaptiveClip {
        AdaptiveClip { factor: 0.01, eps: 1e-3 }
    }
}

/// What is done to gradients, and to values after a step. In files it is the section `[train.gradients]`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct GradientSettings {
    /// The mean of each row is taken from gradients of two axes or more.
    pub centralize: bool,
    /// A penalty of so much times `|w|`; with `l2`, the elastic one.
    pub l1: f64,
    /// A penalty of so much times `w² / 2`.
    pub l2: f64,
    /// Normal noise is added.
    pub noise: Option<NoiseSettings>,
    /// Gradients are scaled to a norm of 1.
    pub normalize: Option<Normalization>,
    /// The greatest norm of a row of a parameter after a step.
    pub max_norm: Option<f64>,
}

/// Slow weights (Zhang et al., arXiv:1907.08610).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LookaheadSettings {
    /// Steps between two of the slow weights.
    pub every: u64,
    /// The share of the way that they go.
    pub alpha: f64,
}

impl Default for LookaheadSettings {
    fn default() -> LookaheadSettings {
        LookaheadSettings { every: 5, alpha: 0.5 }
    }
}

/// Sharpness-aware steps (Foret et al., arXiv:2010.01412).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SamSettings {
    /// The distance at which gradients are taken.
    pub rho: f64,
    /// Whether it is relative to each weight's size.
    pub adaptive: bool,
}

impl Default for SamSettings {
    fn default() -> SamSettings {
        SamSettings { rho: 0.05, adaptive: false }
    }
}

/// All that surrounds a rule.
#[derive(Clone, Debug, Default)]
pub(super) struct Around {
    clip_value: Option<f64>,
    clip_each_norm: Option<f64>,
    clip_adaptively: Option<AdaptiveClip>,
    /// And of which norm.
    clip_norm: Option<(f64, f64)>,
    gradients: GradientSettings,
    pub(super) lookahead: Option<LookaheadSettings>,
    pub(super) sam: Option<SamSettings>,
}

impl Around {
    /// What a run's settings say; an error if a number makes no sense.
    pub(super) fn of(config: &TrainingConfig) -> Result<Around> {
        let positive = |name: &str, value: Option<f64>| match value {
            Some(value) if !(value > 0.0 && value.is_finite()) => {
                Err(Error::argument(format!("`{name}` is {value}"), "use a finite number above 0"))
            }
            value => Ok(value),
        };
        let share = |name: &str, value: f64| match value.is_finite() && value >= 0.0 {
            true => Ok(()),
            false => Err(Error::argument(format!("`{name}` is {value}"), "use a finite number, 0 or above")),
        };
        let gradients = &config.gradients;
        share("l1", gradients.l1)?;
        share("l2", gradients.l2)?;
        positive("max_norm", gradients.max_norm)?;
        if let Some(noise) = &gradients.noise {
            share("eta", noise.eta)?;
            share("gamma", noise.gamma)?;
        }
        if let Some(clip) = &config.clip_adaptively {
            positive("factor", Some(clip.factor))?;
            positive("eps", Some(clip.eps))?;
        }
        // Infinity is the greatest magnitude's.
        if config.clip_norm_type.is_nan() || config.clip_norm_type <= 0.0 {
            return Err(Error::argument(format!("`clip_norm_type` is {}", config.clip_norm_type), "use a number above 0, or `inf`"));
        }
        if let Some(sam) = &config.sam {
            positive("rho", Some(sam.rho))?;
        }
        Ok(Around {
            clip_value: positive("clip_value", config.clip_value)?,
            clip_each_norm: positive("clip_each_norm", config.clip_each_norm)?,
            clip_adaptively: config.clip_adaptively,
            clip_norm: positive("clip_norm", config.clip_norm)?.map(|limit| (limit, config.clip_norm_type)),
            gradients: gradients.clone(),
            lookahead: config.lookahead,
            sam: config.sam,
        })
    }

    /// Whether anything is done to gradients or values.
    pub(super) fn is_treated(&self) -> bool {
        let clipped =
            self.clip_value.is_some() || self.clip_each_norm.is_some() || self.clip_adaptively.is_some() || self.clip_norm.is_some();
        clipped || self.gradients != GradientSettings::default()
    }

    /// The optimizer with what is done to gradients and values.
    pub(super) fn treated<R: Rule>(&self, mut optimizer: Optimizer<R>) -> Optimizer<R> {
        let g = &self.gradients;
        if g.centralize {
            optimizer = optimizer.centralize_gradients();
        }
        if g.l1 > 0.0 {
            optimizer = optimizer.l1_penalty(g.l1);
        }
        if g.l2 > 0.0 {
            optimizer = optimizer.l2_penalty(g.l2);
        }
        if let Some(noise) = g.noise {
            optimizer = optimizer.gradient_noise(noise.eta, noise.gamma);
        }
        optimizer = match g.normalize {
            Some(Normalization::All) => optimizer.normalize_gradients(),
            Some(Normalization::Each) => optimizer.normalize_each_gradient(),
            None => optimizer,
        };
        if let Some(limit) = self.clip_value {
            optimizer = optimizer.clip_value(limit);
        }
        if let Some(limit) = self.clip_each_norm {
            optimizer = optimizer.clip_each_norm(limit);
        }
        if let Some(clip) = self.clip_adaptively {
            optimizer = optimizer.clip_adaptively(clip.factor, clip.eps);
        }
        if let Some((limit, p)) = self.clip_norm {
            optimizer = optimizer.clip_p_norm(limit, p);
        }
        match g.max_norm {
            Some(limit) => optimizer.max_norm(limit),
            None => optimizer,
        }
    }

    /// The optimizer with everything around it.
    pub(super) fn around<R: Rule + 'static>(&self, optimizer: Optimizer<R>) -> Result<Box<dyn Optimize>> {
        let optimizer = self.treated(optimizer);
        Ok(match (self.lookahead, self.sam) {
            (None, None) => Box::new(optimizer),
            (Some(slow), None) => Box::new(optimizer.lookahead(slow.every, slow.alpha)?),
            (None, Some(sam)) => Box::new(optimizer.sam(sam.rho).adaptive(sam.adaptive)),
            (Some(slow), Some(sam)) => Box::new(optimizer.lookahead(slow.every, slow.alpha)?.sam(sam.rho).adaptive(sam.adaptive)),
        })
    }
}
