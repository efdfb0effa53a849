//! Gradients that are not too large.
//!
//! Always: lazy; nothing is read back, so that clipping and the step that follows are one evaluation. Norms of half types are computed in `f32`.

use super::{
    gradients::{rest, unit_eps},
    rule::{norm, state_dtype},
};
use crate::error::Result;
use unigrad_tensor::{DType, Tensor, no_grad};

/// The p-norm of all gradients together, on the first one's device, if there is one. Each is brought down to one number, and those lie side by side:
/// so the numbers are made by one launch for all gradients, and joined by another one.
pub(super) fn norm_of<'a>(gradients: impl Iterator<Item = &'a Tensor>, p: f64) -> Result<Option<Tensor>> {
    let mut parts: Vec<Tensor> = Vec::new();
    for gradient in gradients {
        let x = gradient.cast(state_dtype(gradient.dtype()));
        let part = if p == f64::INFINITY {
            x.abs().max(())
        } else if p == 2.0 {
            x.square().sum(())
        } else {
            x.abs().pow(p).sum(())
        };
        let part = match parts.first() {
            Some(first) => part.to(&first.device()?),
            None => part,
        };
        parts.push(part);
    }
    let all = match &parts[..] {
        [] => return Ok(None),
        [one] => one.clone(),
        many => {
            let dtype = if many.iter().any(|part| part.dtype() == DType::F64) { DType::F64 } else { many[0].dtype() };
            let wide: Vec<Tensor> = many.iter().map(|part| part.cast(dtype)).collect();
            let all = Tensor::stack(&wide.iter().collect::<Vec<_>>(), 0);
            if p == f64::INFINITY { all.max(()) } else { all.sum(()) }
        }
    };
    Ok(Some(if p == f64::INFINITY {
        all
    } else if p == 2.0 {
        all.sqrt()
    } else {
        all.pow(1.0 / p)
    }))
}

/// The Euclidean norm of the parameters' gradients together, if there are any.
pub fn grad_norm(parameters: &[Tensor]) -> Option<Tensor> {
    let gradients: Vec<Tensor> = parameters.iter().filter_map(Tensor::grad).collect();
    no_grad(|| norm_of(gradients.iter(), 2.0)).unwrap_or_else(|error| Some(Tensor::from_error(&error)))
}

/// Scales gradients down together so that their norm is at most `max_norm`.
pub(super) fn scale_to_norm(gradients: &mut [Option<Tensor>], max_norm: f64, p: f64) -> Result<Option<Tensor>> {
    let Some(norm) = norm_of(gradients.iter().flatten(), p)? else { return Ok(None) };
    let factor = factor(&norm, max_norm);
    for gradient in gradients.iter_mut().flatten() {
        let factor = factor.to(&gradient.device()?);
        *gradient = (gradient.cast(state_dtype(gradient.dtype())) * factor).cast(gradient.dtype());
    }
    Ok(Some(norm))
}

fn factor(norm: &Tensor, max_norm: f64) -> Tensor {
    // The small number is PyTorch's.
    ((norm + 1e-6).recip() * max_norm).clamp_max(1.0)
}

/// One gradient, with a norm of at most `max_norm`.
pub(super) fn by_norm(gradient: &Tensor, max_norm: f64) -> Tensor {
    gradient * factor(&norm(gradient), max_norm)
}

/// The norm of each unit: of each row, or of a whole vector or number.
fn unit_norm(x: &Tensor) -> Tensor {
    if x.rank() < 2 { norm(x) } else { x.square().sum_keepdim(rest(x)).sqrt() }
}

/// One gradient, no unit of which has a norm of more than `factor` times that of its weights, as the reference code (`deepmind/deepmind-research`, nfnets,
/// and its PyTorch form `adaptive_clip_grad` in timm) computes it.
pub(super) fn adaptively(value: &Tensor, gradient: &Tensor, factor: f64, eps: f64) -> Tensor {
    let limit = unit_norm(value).clamp_min(eps) * factor;
    let size = unit_norm(gradient);
    let clipped = gradient * (&limit / size.clamp_min(unit_eps()));
    size.lt(&limit).where_(gradient, clipped)
}

/// Scales the parameters' gradients down together so that their Euclidean norm is at most `max_norm`; returns the norm before.
pub fn clip_grad_norm(parameters: &[Tensor], max_norm: f64) -> Option<Tensor> {
    clip_grad_norm_with(parameters, max_norm, 2.0)
}

/// As [`clip_grad_norm`], by the p-norm; of `f64::INFINITY`: the greatest magnitude.
pub fn clip_grad_norm_with(parameters: &[Tensor], max_norm: f64, p: f64) -> Option<Tensor> {
    no_grad(|| {
        let mut gradients: Vec<Option<Tensor>> = parameters.iter().map(Tensor::grad).collect();
        match scale_to_norm(&mut gradients, max_norm, p) {
            Ok(norm) => {
                parameters.iter().zip(gradients).for_each(|(p, g)| p.set_grad(g));
                norm
            }
            Err(error) => Some(Tensor::from_error(&error)),
        }
    })
}

/// Limits every element of the parameters' gradients to `-limit..=limit`.
pub fn clip_grad_value(parameters: &[Tensor], limit: f64) {
    no_grad(|| {
        for parameter in parameters {
            let clipped = parameter.grad().map(|g| g.clamp(-limit, limit));
            parameter.set_grad(clipped);
        }
    });
}

/// Clips the parameters' gradients adaptively; see [`crate::Optimizer::clip_adaptively`].
pub fn clip_grad_adaptively(parameters: &[Tensor], factor: f64, eps: f64) {
    no_grad(|| {
        for parameter in parameters {
            let Some(gradient) = parameter.grad() else { continue };
            let dtype = state_dtype(gradient.dtype());
            let clipped = adaptively(&parameter.detach().cast(dtype), &gradient.cast(dtype), factor, eps);
            parameter.set_grad(Some(clipped.cast(gradient.dtype())));
        }
    });
}
