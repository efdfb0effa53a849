//! A step that failed: why, and the state before it.

use super::Running;
use crate::{descend::put_back, learner::Learner, meter::Pending};
use unigrad_nn::{Error, NotFinite, Result};
use unigrad_tensor::{Generator, Tensor, eval};

impl<L: Learner> Running<'_, L> {
    /// The error of a step that did not take effect, nor did those after it; the run stands before it again.
    pub(super) fn failed(&mut self, step: &Pending, n_lost: usize, loss: Result<f64>) -> Error {
        self.position.step -= n_lost as u64;
        self.position.batch = step.batch;
        if let Err(error) = put_back(&step.undo) {
            return error;
        }
        let batches = self.train.batches(self.position.epoch as u64, step.batch, &self.trainer.device);
        let batches: Vec<L::Batch> = match batches.and_then(|batches| batches.take(step.n_batches).collect()) {
            Ok(batches) => batches,
            Err(error) => return error,
        };
        let settings = self.trainer.step.clone();
        let loss = match loss {
            Ok(loss) => loss,
            Err(error) => {
                return self
                    .again(step.random, |learner| settings.forward(|| learner.explain(&batches, error)))
                    .unwrap_or_else(|error| error);
            }
        };
        let place = match self.again(step.random, |learner| settings.forward(|| learner.first_not_finite(&batches))).flatten() {
            Ok(place) => place.unwrap_or_else(|| "nothing, when the step was computed again".to_owned()),
            Err(error) => return error,
        };
        let number = self.position.step + 1;
        let saved = match self.trainer.folder.as_ref().map(|folder| folder.join("not-finite.safetensors")) {
            Some(path) => match self.checkpoint().and_then(|checkpoint| checkpoint.save(&path)) {
                Ok(()) => format!("{} (the state before step {number})", path.display()),
                Err(error) => format!("nothing: {error}"),
            },
            None => "nothing: the run has no folder".to_owned(),
        };
        Error::NotFinite(Box::new(NotFinite { step: number, loss, place, saved }))
    }

    /// Looks at a step again, which changes nothing: layers have statistics, and draw random numbers.
    pub(super) fn again<T>(&mut self, random: (u64, u64), look: impl FnOnce(&mut L) -> T) -> Result<T> {
        let statistics = self.state.iter().filter(|(_, tensor)| !tensor.is_variable());
        let histories = self.trainer.step.delayed().map(|scaling| scaling.state()).unwrap_or_default();
        let all = statistics.map(|(_, tensor)| tensor.clone()).chain(histories.into_iter().map(|(_, history)| history));
        let before: Vec<(Tensor, Tensor)> = all.map(|tensor| (tensor.detach(), tensor)).map(|(old, tensor)| (tensor, old)).collect();
        let rewind = || Generator::global().set(random.0, random.1);
        rewind();
        let attempt = eval::Attempt::begin();
        let found = look(self.learner);
        drop(attempt);
        rewind();
        put_back(&before)?;
        Ok(found)
    }
}
