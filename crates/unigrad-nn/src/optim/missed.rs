//! Which steps a parameter took no part in, for it had no gradient then: its own count of steps is less by these, as in PyTorch. A parameter that is
//! trained later than others, or now and then, has the bias corrections of its own first steps.
//!
//! In: the steps taken so far, and which parameters have a gradient. Out: how many steps each has missed.
//! Always: of the host alone. A step that failed, or that the device undid, changes nothing: absences begin and end at counts of steps.

use crate::{archive::HostTensor, error::Result};
use std::collections::BTreeMap;
use unigrad_tensor::DType;

/// The name under which a file has the numbers, where there are any.
const NAME: &str = "steps_missed";

/// How many steps each parameter, in order, has missed.
#[derive(Clone, Debug, Default)]
pub(super) struct Missed {
    /// In absences that are over.
    steps: Vec<u64>,
    /// The count of steps when the absence began that is not over.
    since: Vec<Option<u64>>,
}

impl Missed {
    /// Whether no parameter has missed a step.
    pub(super) fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    /// Before a step, after `taken` others: which of the parameters have a gradient.
    pub(super) fn note(&mut self, present: impl ExactSizeIterator<Item = bool>, taken: u64) {
        self.steps.resize(present.len(), 0);
        self.since.resize(present.len(), None);
        for ((steps, since), present) in self.steps.iter_mut().zip(&mut self.since).zip(present) {
            match (present, *since) {
                (true, Some(began)) => {
                    *steps += taken.saturating_sub(began);
                    *since = None;
                }
                (false, None) => *since = Some(taken),
                _ => {}
            }
        }
    }

    /// How many of `taken` steps a parameter has missed.
    pub(super) fn of(&self, at: usize, taken: u64) -> u64 {
        let now = self.since.get(at).copied().flatten().map_or(0, |began| taken.saturating_sub(began));
        (self.steps.get(at).copied().unwrap_or(0) + now).min(taken)
    }

    /// Adds the numbers to a state that is saved, if there are any.
    pub(super) fn save(&self, n_parameters: usize, taken: u64, state: &mut BTreeMap<String, HostTensor>) {
        let all: Vec<u64> = (0..n_parameters).map(|at| self.of(at, taken)).collect();
        if all.iter().any(|steps| *steps > 0) {
            let bytes = all.iter().flat_map(|steps| i64::try_from(*steps).unwrap_or(i64::MAX).to_le_bytes()).collect();
            state.insert(NAME.to_owned(), HostTensor { dtype: DType::I64, shape: vec![n_parameters], bytes });
        }
    }

    /// Takes the numbers out of a state that is loaded; none are there where no parameter has missed a step.
    pub(super) fn load(n_parameters: usize, state: &mut BTreeMap<String, HostTensor>) -> Result<Missed> {
        let Some(saved) = state.remove(NAME) else { return Ok(Missed::default()) };
        let numbers = saved.bytes.as_chunks::<8>().0.iter().map(|bytes| u64::try_from(i64::from_le_bytes(*bytes)).ok());
        let numbers: Option<Vec<u64>> = numbers.collect();
        let Some(numbers) = numbers.filter(|numbers| saved.dtype == DType::I64 && numbers.len() == n_parameters) else {
            let cause = format!("`{NAME}` of {:?} {} for {n_parameters} parameters, or a number below 0", saved.shape, saved.dtype);
            return Err(crate::Error::argument(cause, "load the state of an optimizer of the same parameters"));
        };
        Ok(Missed { since: vec![None; numbers.len()], steps: numbers })
    }
}
