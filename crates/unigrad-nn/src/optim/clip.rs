//! Gradients that are not too large.
//!
//! Always: lazy; nothing is read back, so that clipping and the step that follows are one evaluation.

use unigrad_tensor::{Tensor, no_grad};

/// The Euclidean norm of all gradients together, if there is one.
fn norm_of<'a>(gradients: impl Iterator<Item = &'a Tensor>) -> Option<Tensor> {
    gradients.map(|g| g.square().sum(())).reduce(|a, b| a + b).map(|sum| sum.sqrt())
}

/// The Euclidean norm of the parameters' gradients together, if there are any.
pub fn grad_norm(parameters: &[Tensor]) -> Option<Tensor> {
    let gradients: Vec<Tensor> = parameters.iter().filter_map(Tensor::grad).collect();
    no_grad(|| norm_of(gradients.iter()))
}

/// Scales gradients down together so that their norm is at most `max_norm`.
pub(super) fn scale_to_norm(gradients: &mut [Option<Tensor>], max_norm: f64) -> Option<Tensor> {
    let norm = norm_of(gradients.iter().flatten())?;
    let factor = factor(&norm, max_norm);
    gradients.iter_mut().flatten().for_each(|g| *g = &*g * &factor);
    Some(norm)
}

fn factor(norm: &Tensor, max_norm: f64) -> Tensor {
    // The small number is PyTorch's.
    ((norm + 1e-6).recip() * max_norm).clamp_max(1.0)
}

/// Scales the parameters' gradients down together so that their Euclidean norm is at most `max_norm`; returns the norm before.
pub fn clip_grad_norm(parameters: &[Tensor], max_norm: f64) -> Option<Tensor> {
    no_grad(|| {
        let mut gradients: Vec<Option<Tensor>> = parameters.iter().map(Tensor::grad).collect();
        let norm = scale_to_norm(&mut gradients, max_norm);
        parameters.iter().zip(gradients).for_each(|(p, g)| p.set_grad(g));
        norm
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
