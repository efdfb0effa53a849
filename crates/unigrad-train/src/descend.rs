//! One step of one optimizer: of one batch in one evaluation, or of several whose gradients count together.
//!
//! Always: when it fails, parameters, state, buffers and gradients are what they were; when the loss is not finite, parameters and state are, and the outcome
//! knows what else to put back.

use crate::learner::{Clip, Outcome, StepSettings};
use unigrad_nn::{Error, GradScaler, Optimize, Result, clip_grad_norm, clip_grad_value};
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
    let mut forward = |batch: &B| settings.forward(|| forward(batch));
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
    if let Some(scaler) = &settings.scaler {
        let outcome = forward(batch)?;
        let wanted = outcome.wanted();
        scaler.borrow_mut().minimize(optimizer, &outcome.loss, &wanted.iter().collect::<Vec<_>>())?;
        return Ok(outcome);
    }
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
    if let Some(scaler) = &settings.scaler {
        let stepped = scaled(optimizer, &mut scaler.borrow_mut(), settings, &outcome, |scaler| scaler.scale(&outcome.loss).backward());
        optimizer.zero_grad();
        return stepped.map(|()| outcome);
    }
    let loss = settings.conditional(&outcome.loss);
    loss.backward()?;
    clip(optimizer, settings.clip);
    let wanted = outcome.wanted();
    let stepped = optimizer.step_guarded(&loss, &std::iter::once(&loss).chain(&wanted).collect::<Vec<_>>());
    optimizer.zero_grad();
    stepped.map(|()| Outcome { loss, ..outcome })
}

/// A step by gradients of a scaled loss, which `backward` leaves: divided by the scale once, clipped, and none where one of them is not finite.
fn scaled(
    optimizer: &mut dyn Optimize,
    scaler: &mut GradScaler,
    settings: &StepSettings,
    outcome: &Outcome,
    backward: impl FnOnce(&GradScaler) -> Result<()>,
) -> Result<()> {
    backward(scaler)?;
    scaler.unscale(optimizer)?;
    clip(optimizer, settings.clip);
    let wanted = outcome.wanted();
    scaler.step_and(optimizer, &std::iter::once(&outcome.loss).chain(&wanted).collect::<Vec<_>>())
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
    let stepped = gather(optimizer, &before, batches, settings, forward);
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

fn gather<B>(
    optimizer: &mut dyn Optimize,
    before: &[(Tensor, Tensor)],
    batches: &[B],
    settings: &StepSettings,
    forward: Forward<'_, B>,
) -> Result<Outcome> {
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
        match &settings.scaler {
            None => (&loss * Tensor::scalar(outcome.n_items as f64, loss.dtype(), &device)).backward()?,
            // Of the first batch's: half types have no room for numbers of items, and the scale has found what room there is.
            Some(scaler) => {
                let first = outcomes.first().map_or(outcome.n_items, |first: &Outcome| first.n_items).max(1);
                let scaled = scaler.borrow().scale(&loss);
                (&scaled * Tensor::scalar(outcome.n_items as f64 / first as f64, scaled.dtype(), &device)).backward()?;
            }
        }
        no_grad(|| eval::guard_assignments(&loss.isfinite().expr().detach().reshape(&[])));
        let gradients: Vec<Tensor> = parameters.iter().filter_map(Tensor::grad).collect();
        let wanted = outcome.wanted();
        Tensor::realize_all(&gradients.iter().chain(std::iter::once(&loss)).chain(&wanted).collect::<Vec<_>>())?;
        outcomes.push(Outcome { loss: loss.detach(), ..outcome });
    }
    let n_items: usize = outcomes.iter().map(|outcome| outcome.n_items).sum();
    let weights = match (&settings.scaler, outcomes.first()) {
        (Some(_), Some(first)) => n_items as f64 / first.n_items.max(1) as f64,
        _ => n_items as f64,
    };
    no_grad(|| {
        for parameter in &parameters {
            let share = |gradient: Tensor| &gradient * Tensor::scalar(1.0 / weights.max(f64::MIN_POSITIVE), gradient.dtype(), &device);
            parameter.set_grad(parameter.grad().map(share));
        }
    });
    let outcome = no_grad(|| Outcome::joined(outcomes, &device))?;
    if let Some(scaler) = &settings.scaler {
        // What layers have assigned is undone with a step that is not taken: so it is assigned with the step.
        let now: Vec<Tensor> = before.iter().map(|(buffer, _)| buffer.detach()).collect();
        put_back(before)?;
        no_grad(|| before.iter().zip(&now).try_for_each(|((buffer, _), now)| buffer.assign(now)))?;
        scaled(optimizer, &mut scaler.borrow_mut(), settings, &outcome, |_| Ok(()))?;
        return Ok(outcome);
    }
    clip(optimizer, settings.clip);
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
