//! One step of one optimizer: of one batch in one evaluation, or of several whose gradients count together.
//!
//! Always: when it fails, parameters, state, buffers and gradients are what they were; when the loss is not finite, parameters and state are, and the outcome
//! knows what else to put back.

use crate::learner::{Clip, Outcome, StepSettings};
use unigrad_nn::{Error, Optimize, Result, clip_grad_norm, clip_grad_value};
use unigrad_tensor::{Tensor, eval, no_grad};

/// One step of `optimizer` down the loss that `forward` records for each batch, as `settings` ask.
///
/// `buffers` are the tensors that `forward` assigns besides (running statistics). Gradients of several batches are added, each weighted by its items, so that
/// the step is that of one batch with all of them; each is computed by itself, so that memory is that of one.
pub fn descend<B>(
    optimizer: &mut dyn Optimize,
    buffers: &[Tensor],
    batches: &[B],
    settings: &StepSettings,
    mut forward: impl FnMut(&B) -> Result<Outcome>,
) -> Result<Outcome> {
    // What `forward` assigns before it fails is undone.
    let attempt = eval::Attempt::begin();
    let outcome = match (batches, settings.clip) {
        ([batch], None) => at_once(optimizer, batch, settings, &mut forward)?,
        ([batch], Some(_)) => clipped(optimizer, batch, settings, &mut forward)?,
        _ => accumulated(optimizer, buffers, batches, settings, &mut forward)?,
    };
    attempt.succeeded();
    Ok(outcome)
}

type Forward<'a, B> = &'a mut dyn FnMut(&B) -> Result<Outcome>;

fn at_once<B>(optimizer: &mut dyn Optimize, batch: &B, settings: &StepSettings, forward: Forward<'_, B>) -> Result<Outcome> {
    let mut first = None;
    let loss = optimizer.minimize_by(&mut || {
        let outcome = forward(batch)?;
        let (loss, wanted) = (settings.conditional(&outcome.loss), outcome.wanted());
        first.get_or_insert(outcome);
        Ok((loss, wanted))
    })?;
    match first {
        Some(outcome) => Ok(Outcome { loss, ..outcome }),
        None => Err(Error::argument("an optimizer took a step without a loss", "call what `minimize_by` is given at least once")),
    }
}

fn clipped<B>(optimizer: &mut dyn Optimize, batch: &B, settings: &StepSettings, forward: Forward<'_, B>) -> Result<Outcome> {
    optimizer.zero_grad();
    let outcome = forward(batch)?;
    let loss = settings.conditional(&outcome.loss);
    loss.backward()?;
    clip(optimizer, settings.clip);
    let wanted = outcome.wanted();
    let stepped = optimizer.step_guarded(&loss, &std::iter::once(&loss).chain(&wanted).collect::<Vec<_>>());
    optimizer.zero_grad();
    stepped.map(|()| Outcome { loss, ..outcome })
}

fn accumulated<B>(
    optimizer: &mut dyn Optimize,
    buffers: &[Tensor],
    batches: &[B],
    settings: &StepSettings,
    forward: Forward<'_, B>,
) -> Result<Outcome> {
    let before: Vec<(Tensor, Tensor)> = buffers.iter().map(|buffer| (buffer.clone(), buffer.detach())).collect();
    optimizer.zero_grad();
    let stepped = gather(optimizer, batches, settings, forward);
    optimizer.zero_grad();
    match stepped {
        Ok(outcome) => Ok(Outcome { undo: before, ..outcome }),
        Err(error) => {
            put_back(&before)?;
            Err(error)
        }
    }
}

/// Gives tensors the values that they had.
pub(crate) fn put_back(before: &[(Tensor, Tensor)]) -> Result<()> {
    no_grad(|| before.iter().try_for_each(|(tensor, old)| tensor.assign(old)))?;
    Tensor::realize_all(&before.iter().map(|(tensor, _)| tensor).collect::<Vec<_>>())
}

fn gather<B>(optimizer: &mut dyn Optimize, batches: &[B], settings: &StepSettings, forward: Forward<'_, B>) -> Result<Outcome> {
    let parameters = optimizer.parameters();
    let device = parameters.first().map(Tensor::device).transpose()?;
    let Some(device) = device else {
        return Err(Error::argument("an optimizer without parameters", "give it the model's parameters"));
    };
    let mut outcomes = Vec::with_capacity(batches.len());
    for batch in batches {
        let outcome = forward(batch)?;
        let loss = settings.conditional(&outcome.loss);
        // Weighted by its items: the mean over all of them is known when all are there.
        (&loss * Tensor::scalar(outcome.n_items as f64, loss.dtype(), &device)).backward()?;
        no_grad(|| eval::guard_assignments(&loss.isfinite().expr().detach().reshape(&[])));
        let gradients: Vec<Tensor> = parameters.iter().filter_map(Tensor::grad).collect();
        let wanted = outcome.wanted();
        Tensor::realize_all(&gradients.iter().chain(std::iter::once(&loss)).chain(&wanted).collect::<Vec<_>>())?;
        outcomes.push(Outcome { loss: loss.detach(), ..outcome });
    }
    let n_items: usize = outcomes.iter().map(|outcome| outcome.n_items).sum();
    no_grad(|| {
        for parameter in &parameters {
            let share = |gradient: Tensor| &gradient * Tensor::scalar(1.0 / n_items.max(1) as f64, gradient.dtype(), &device);
            parameter.set_grad(parameter.grad().map(share));
        }
    });
    clip(optimizer, settings.clip);
    let outcome = no_grad(|| Outcome::joined(outcomes, &device))?;
    let wanted = outcome.wanted();
    optimizer.step_guarded(&outcome.loss, &std::iter::once(&outcome.loss).chain(&wanted).collect::<Vec<_>>())?;
    Ok(outcome)
}

fn clip(optimizer: &dyn Optimize, clip: Option<Clip>) {
    match clip {
        Some(Clip::Norm(norm)) => {
            clip_grad_norm(&optimizer.parameters(), norm);
        }
        Some(Clip::Value(limit)) => clip_grad_value(&optimizer.parameters(), limit),
        None => {}
    }
}
