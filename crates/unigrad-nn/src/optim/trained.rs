//! What an optimizer trains, and what it knows of it, whatever its rule: groups, state, counters, settings.
//!
//! In: groups of parameters. Out: the part of an [`super::Optimizer`] that has no type parameter, so that what is done to it is compiled once and not for
//! each rule of a program.
//! Always: how many steps were taken is known without waiting for the device.

use super::{gradients::Treatment, missed::Missed, rule::Group};
use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};
use unigrad_tensor::{DType, Tensor, eval};

/// See the module's text.
#[derive(Debug)]
pub(super) struct Trained {
    pub(super) groups: Vec<Group>,
    /// Per parameter, in order of groups.
    pub(super) state: Vec<Vec<Tensor>>,
    /// Those of [`Rule::numbers`], where the rule keeps some.
    pub(super) numbers: Vec<KeptNumbers>,
    /// Steps taken, on each device with parameters: an `I64` of rank 0.
    pub(super) counters: Vec<Tensor>,
    /// What the counters are, as far as the host knows.
    pub(super) n_steps: Known,
    pub(super) lr_factor: f64,
    /// What is done to gradients before the rule sees them, in order.
    pub(super) treatments: Vec<Treatment>,
    /// The greatest norm of a row of a parameter after a step.
    pub(super) max_norm: Option<f64>,
    /// Groups whose steps go up.
    pub(super) ascending: Vec<usize>,
    pub(super) missed: Missed,
    /// How often a setting has changed: a step that was recorded ([`unigrad_tensor::replay`]) is recorded again then.
    pub(super) settings: Arc<AtomicU64>,
}

/// Numbers that a rule keeps, for the parameters of a group that have one dtype of state and one device.
#[derive(Debug)]
pub(super) struct KeptNumbers {
    pub(super) group: usize,
    pub(super) dtype: DType,
    /// Among the devices with parameters.
    pub(super) device: usize,
    pub(super) values: Vec<Tensor>,
}

/// The host's copy of the counter. After a step it counts on success; a step that the device undid is found at the next wait.
#[derive(Debug, Default)]
pub(super) struct Known {
    pub(super) steps: AtomicU64,
    /// How often the host had waited for the device when `steps` was known, plus one; 0 while nothing is under way.
    pub(super) waits: AtomicU64,
    /// The node of the counter that `steps` is the value of; 0 before the first step.
    pub(super) node: AtomicU64,
}

impl Trained {
    /// Without state so far.
    pub(super) fn new(groups: Vec<Group>) -> Trained {
        Trained {
            groups,
            state: Vec::new(),
            numbers: Vec::new(),
            counters: Vec::new(),
            n_steps: Known::default(),
            lr_factor: 1.0,
            treatments: Vec::new(),
            max_norm: None,
            ascending: Vec::new(),
            missed: Missed::default(),
            settings: Arc::default(),
        }
    }

    /// All parameters, in order of groups.
    pub(super) fn parameters(&self) -> Vec<Tensor> {
        self.groups.iter().flat_map(|g| g.parameters.iter().cloned()).collect()
    }

    /// Forgets the gradients of all parameters.
    pub(super) fn zero_grad(&self) {
        self.groups.iter().flat_map(|g| &g.parameters).for_each(Tensor::zero_grad);
    }

    /// See [`super::Optimizer::n_steps`].
    pub(super) fn n_steps(&self) -> u64 {
        let Known { steps, waits, node } = &self.n_steps;
        let known = steps.load(Ordering::Relaxed);
        let Some(counter) = self.counters.first() else { return known };
        let current = counter.expr();
        if node.swap(current.id(), Ordering::Relaxed) != current.id() && waits.load(Ordering::Relaxed) == 0 {
            // A replayed step has counted.
            waits.store(counter.device().map_or(0, |device| device.n_waits() + 1), Ordering::Relaxed);
        }
        let since = waits.load(Ordering::Relaxed);
        if since == 0 {
            return known;
        }
        if !counter.device().is_ok_and(|device| device.completes_at_once() || device.n_waits() >= since) {
            return known;
        }
        // A counter that cannot be read leaves what is known: the next reader of the model learns why.
        let read = eval::data(&current).ok().and_then(|bytes| bytes.try_into().ok()).map(i64::from_le_bytes);
        let Some(read) = read.and_then(|read| u64::try_from(read).ok()) else { return known };
        steps.store(read, Ordering::Relaxed);
        waits.store(0, Ordering::Relaxed);
        read
    }

    /// What is known of the number of steps is the counter's value as it is now.
    pub(super) fn note_counter(&self) {
        self.n_steps.node.store(self.counters.first().map_or(0, |counter| counter.expr().id()), Ordering::Relaxed);
    }

    /// A setting has changed.
    pub(super) fn changed(&self) {
        self.settings.fetch_add(1, Ordering::AcqRel);
    }
}
