//! What is done to gradients between the backward pass and the rule: clipping, normalization, centralization, noise, penalties; and what is done to values
//! after the rule: the max-norm constraint.
//!
//! In: parameters and their gradients. Out: other gradients; lazy, so that all of it and the step that follows are one evaluation.
//! Always: treatments are applied in the order in which they were asked for; one asked for again replaces the first.

use super::{
    clip,
    optimizer::Optimizer,
    rule::{Rule, norm, state_dtype},
};
use crate::error::{Error, Result};
use std::mem::discriminant;
use unigrad_tensor::Tensor;

/// One of them.
#[derive(Clone, Copy, Debug)]
pub(super) enum Treatment {
    ClipNorm { limit: f64, p: f64 },
    ClipValue(f64),
    ClipEach(f64),
    ClipAdaptively { factor: f64, eps: f64 },
    Normalize,
    NormalizeEach,
    Centralize,
    Noise { eta: f64, gamma: f64 },
    L1(f64),
    L2(f64),
}

/// Small numbers that keep quotients finite: PyTorch's (`clip_grad_norm_`, `renorm`), and that of the reference code of adaptive clipping.
const NORM_EPS: f64 = 1e-12;
const RENORM_EPS: f64 = 1e-7;
const UNIT_EPS: f64 = 1e-6;

/// All of them, in order. `steps` are the counters of this step, on each device with parameters.
pub(super) fn treat(treatments: &[Treatment], parameters: &[Tensor], gradients: &mut [Option<Tensor>], steps: &[Tensor]) -> Result<()> {
    for treatment in treatments {
        match *treatment {
            Treatment::ClipNorm { limit, p } => {
                clip::scale_to_norm(gradients, limit, p)?;
            }
            Treatment::Normalize => {
                if let Some(norm) = clip::norm_of(gradients.iter().flatten(), 2.0)? {
                    let factor = (norm + NORM_EPS).recip();
                    for gradient in gradients.iter_mut().flatten() {
                        *gradient = &*gradient * factor.to(&gradient.device()?).cast(state_dtype(gradient.dtype()));
                    }
                }
            }
            _ => {
                for (parameter, gradient) in parameters.iter().zip(gradients.iter_mut()) {
                    let Some(gradient) = gradient else { continue };
                    *gradient = one(*treatment, &parameter.detach(), gradient, steps)?;
                }
            }
        }
    }
    Ok(())
}

/// What concerns each gradient by itself.
fn one(treatment: Treatment, value: &Tensor, gradient: &Tensor, steps: &[Tensor]) -> Result<Tensor> {
    let dtype = gradient.dtype();
    let wide = gradient.cast(state_dtype(dtype));
    let value = value.cast(state_dtype(dtype));
    let result = match treatment {
        Treatment::ClipNorm { .. } | Treatment::Normalize => wide,
        Treatment::ClipValue(limit) => wide.clamp(-limit, limit),
        Treatment::ClipEach(limit) => clip::by_norm(&wide, limit),
        Treatment::ClipAdaptively { factor, eps } => clip::adaptively(&value, &wide, factor, eps),
        Treatment::NormalizeEach => &wide / (norm(&wide) + NORM_EPS),
        Treatment::Centralize if wide.rank() > 1 => &wide - wide.mean_keepdim(rest(&wide)),
        Treatment::Centralize => wide,
        Treatment::Noise { eta, gamma } => {
            let step = steps.iter().find(|step| step.device_id() == wide.device_id());
            let step = step.ok_or_else(|| Error::argument("a parameter has moved to another device", "let the optimizer `follow` it"))?;
            // The variance of step t (from 1) is eta / t^gamma: the paper's t is from 0, and its formula has 1 + t.
            let deviation = (step.cast(wide.dtype()).log() * (-0.5 * gamma)).exp() * eta.sqrt();
            &wide + wide.randn_like() * deviation
        }
        Treatment::L1(lambda) => wide + value.sign() * lambda,
        Treatment::L2(lambda) => wide + value * lambda,
    };
    Ok(result.cast(dtype))
}

/// All axes but the first.
pub(super) fn rest(x: &Tensor) -> Vec<usize> {
    (1..x.rank()).collect()
}

/// Each row (slice along the first axis) with a norm of at most `limit`, as `torch.renorm(2, 0, limit)`; vectors as they are.
pub(super) fn limited(value: &Tensor, limit: f64) -> Tensor {
    if value.rank() < 2 {
        return value.clone();
    }
    let wide = value.cast(state_dtype(value.dtype()));
    let norm = wide.square().sum_keepdim(rest(value)).sqrt();
    let factor = norm.gt(limit).where_((&norm + RENORM_EPS).recip() * limit, norm.ones_like());
    (wide * factor).cast(value.dtype())
}

/// The number that keeps an adaptive clip's quotient finite.
pub(super) fn unit_eps() -> f64 {
    UNIT_EPS
}

impl<R: Rule> Optimizer<R> {
    fn treated(mut self, treatment: Treatment) -> Self {
        match self.trained.treatments.iter_mut().find(|known| discriminant(*known) == discriminant(&treatment)) {
            Some(known) => *known = treatment,
            None => self.trained.treatments.push(treatment),
        }
        self
    }

    /// Scales gradients down in every step so that their Euclidean norm, over all parameters, is at most `max_norm`.
    pub fn clip_norm(self, max_norm: f64) -> Self {
        self.treated(Treatment::ClipNorm { limit: max_norm, p: 2.0 })
    }

    /// As [`Optimizer::clip_norm`], by the p-norm; of `f64::INFINITY`: the greatest magnitude.
    pub fn clip_p_norm(self, max_norm: f64, p: f64) -> Self {
        self.treated(Treatment::ClipNorm { limit: max_norm, p })
    }

    /// Limits every element of the gradients to `-limit..=limit` in every step.
    pub fn clip_value(self, limit: f64) -> Self {
        self.treated(Treatment::ClipValue(limit))
    }

    /// Scales each parameter's gradient down so that its own Euclidean norm is at most `max_norm`.
    pub fn clip_each_norm(self, max_norm: f64) -> Self {
        self.treated(Treatment::ClipEach(max_norm))
    }

    /// Adaptive clipping (Brock et al., arXiv:2102.06171): each unit's gradient has a norm of at most `factor` times that of its weights, which counts as
    /// `eps` at least. The authors: 0.01 and 1e-3. A unit is a row; a vector is one unit.
    pub fn clip_adaptively(self, factor: f64, eps: f64) -> Self {
        self.treated(Treatment::ClipAdaptively { factor, eps })
    }

    /// Scales all gradients together to a Euclidean norm of 1.
    pub fn normalize_gradients(self) -> Self {
        self.treated(Treatment::Normalize)
    }

    /// Scales each parameter's gradient to a Euclidean norm of 1.
    pub fn normalize_each_gradient(self) -> Self {
        self.treated(Treatment::NormalizeEach)
    }

    /// Gradient centralization (Yong et al., arXiv:2004.01461): takes the mean of each row from a gradient of two axes or more.
    pub fn centralize_gradients(self) -> Self {
        self.treated(Treatment::Centralize)
    }

    /// Gradient noise (Neelakantan et al., arXiv:1511.06807): normal noise of variance `eta / t^gamma` in step t. The authors: 0.01, 0.3 or 1, and 0.55.
    pub fn gradient_noise(self, eta: f64, gamma: f64) -> Self {
        self.treated(Treatment::Noise { eta, gamma })
    }

    /// A penalty of `lambda |w|` for each weight, whose gradient is added: values go to zero at a constant rate.
    pub fn l1_penalty(self, lambda: f64) -> Self {
        self.treated(Treatment::L1(lambda))
    }

    /// A penalty of `lambda w² / 2` for each weight, whose gradient is added, whatever the rule makes of weight decay.
    pub fn l2_penalty(self, lambda: f64) -> Self {
        self.treated(Treatment::L2(lambda))
    }

    /// Both penalties: `lambda (ratio |w| + (1 - ratio) w² / 2)` for each weight.
    pub fn elastic_penalty(self, lambda: f64, ratio: f64) -> Self {
        self.l1_penalty(lambda * ratio).l2_penalty(lambda * (1.0 - ratio))
    }

    /// After each step, scales rows (slices along the first axis: the weights of one output) of parameters with two axes or more down to a Euclidean
    /// norm of at most `limit`, as `torch.renorm(2, 0, limit)`.
    pub fn max_norm(mut self, limit: f64) -> Self {
        self.trained.max_norm = Some(limit);
        self.forget_updates();
        self
    }
}
