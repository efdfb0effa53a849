//! Validation: all batches of a source in use, or a program's own judgement.

use super::{Running, Validation};
use crate::{
    descend::put_back,
    learner::{Learner, Number, Outcome, StepSettings},
    meter::Meter,
};
use unigrad_data::Source;
use unigrad_nn::{Error, Result, metrics::Metric};
use unigrad_tensor::{Device, Tensor, no_grad};

impl<L: Learner> Running<'_, L> {
    /// The figures of validation; `None` if it was interrupted.
    pub(super) fn validate(&mut self) -> Result<Option<Vec<(String, f64)>>> {
        let weights = self.use_values()?;
        self.call(|callback, run| callback.on_validation_begin(run))?;
        self.learner.set_training(false);
        let figures = no_grad(|| self.judge());
        self.learner.set_training(true);
        self.call(|callback, run| callback.on_validation_end(run))?;
        put_back(&weights)?;
        figures
    }

    /// Puts what the optimizers keep for use (averages) into their parameters; gives the parameters, and what they were.
    fn use_values(&self) -> Result<Vec<(Tensor, Tensor)>> {
        let mut before = Vec::new();
        for (parameter, value) in values_in_use(self.learner)? {
            before.push((parameter.clone(), parameter.detach()));
            no_grad(|| parameter.assign(&value))?;
        }
        Tensor::realize_all(&before.iter().map(|(parameter, _)| parameter).collect::<Vec<_>>())?;
        Ok(before)
    }

    fn judge(&mut self) -> Result<Option<Vec<(String, f64)>>> {
        let source = match &mut self.validation {
            Validation::None => return Ok(Some(Vec::new())),
            Validation::Judge(judge) => return judge(self.learner),
            Validation::Source(source) => *source,
        };
        let interrupted = || self.trainer.is_asked_to_stop();
        let metrics = self.trainer.metrics.iter().map(|make| make()).collect();
        evaluate(self.learner, source, &self.trainer.device, metrics, &self.trainer.step, &interrupted)
    }
}

/// Parameters, and the values that use takes in their place, where an optimizer keeps some.
pub(super) fn values_in_use<L: Learner>(learner: &L) -> Result<Vec<(Tensor, Tensor)>> {
    let mut all = Vec::new();
    for (_, optimizer) in learner.optimizers() {
        if let Some(values) = optimizer.values_in_use()? {
            all.extend(optimizer.parameters().into_iter().zip(values));
        }
    }
    Ok(all)
}

/// Counts what a step predicted. `again` says of an error that it comes from an interruption: the step counts, and so the update is tried once more.
pub(super) fn count(metrics: &mut [Box<dyn Metric>], outcome: &Outcome, again: impl Fn(&Error) -> bool) -> Result<()> {
    for metric in metrics {
        for (prediction, target) in &outcome.scored {
            match metric.update(prediction, target) {
                Err(error) if again(&error) => metric.update(prediction, target)?,
                done => done?,
            }
        }
    }
    Ok(())
}

/// The figures of all batches of a source; `None` if it was interrupted. Losses and metrics stay on the device until the end.
fn evaluate<L: Learner>(
    learner: &mut L,
    source: &dyn Source<Batch = L::Batch>,
    device: &Device,
    mut metrics: Vec<Box<dyn Metric>>,
    settings: &StepSettings,
    interrupted: &dyn Fn() -> bool,
) -> Result<Option<Vec<(String, f64)>>> {
    let mut losses: Vec<(Tensor, usize, Vec<Number>)> = Vec::new();
    for batch in source.batches(0, 0, device)? {
        if interrupted() {
            return Ok(None);
        }
        let batch = [batch?];
        let outcome = settings.forward(|| learner.evaluate(&batch[0])).and_then(|outcome| {
            let wanted = outcome.wanted();
            Tensor::realize_all(&std::iter::once(&outcome.loss).chain(&wanted).collect::<Vec<_>>())?;
            Ok(outcome)
        });
        let outcome = outcome.map_err(|error| learner.explain(&batch, error))?;
        count(&mut metrics, &outcome, |_| false)?;
        losses.push((outcome.loss.detach(), outcome.n_items, outcome.numbers));
    }
    let mut meter = Meter::default();
    for (loss, n_items, numbers) in &losses {
        meter.add(loss.to_f64()?, *n_items, numbers)?;
    }
    let mut figures = meter.means();
    for metric in &metrics {
        figures.push((metric.name(), metric.value()?));
    }
    Ok(Some(figures))
}
