//! A rule with what its update has been recorded as.
//!
//! In: a rule. Out: the rule to read; to change, with nothing recorded any more.
//! Always: what is recorded is the rule's as it is: what gets the right to change the rule drops the records.

use super::rule::Rule;
use std::{
    ops::{Deref, DerefMut},
    sync::{Mutex, MutexGuard, PoisonError},
};
use unigrad_tensor::Composite;

/// A rule, and its update as recorded for each type of parameters: from step to step the same, until the rule is changed.
#[derive(Debug)]
pub(crate) struct Ruled<R> {
    rule: R,
    updates: Mutex<Vec<Composite>>,
}

/// A rule of whatever type, and what is recorded of it.
#[derive(Clone, Copy)]
pub(super) struct RuleOf<'a> {
    pub(super) rule: &'a dyn Rule,
    updates: &'a Mutex<Vec<Composite>>,
}

impl RuleOf<'_> {
    /// What is recorded so far.
    pub(super) fn updates(&self) -> MutexGuard<'_, Vec<Composite>> {
        self.updates.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<R: Rule> Ruled<R> {
    /// As one of any type.
    pub(super) fn any(&self) -> RuleOf<'_> {
        RuleOf { rule: &self.rule, updates: &self.updates }
    }
}

impl<R> Ruled<R> {
    pub(super) fn new(rule: R) -> Ruled<R> {
        Ruled { rule, updates: Mutex::default() }
    }

    /// Nothing is recorded any more: what surrounds the rule has changed.
    pub(super) fn forget(&mut self) {
        self.updates.get_mut().unwrap_or_else(PoisonError::into_inner).clear();
    }

    /// The rule alone.
    pub(super) fn into_rule(self) -> R {
        self.rule
    }
}

impl<R> Deref for Ruled<R> {
    type Target = R;

    fn deref(&self) -> &R {
        &self.rule
    }
}

impl<R> DerefMut for Ruled<R> {
    fn deref_mut(&mut self) -> &mut R {
        self.forget();
        &mut self.rule
    }
}

#[cfg(test)]
mod tests {
    use crate::{Group, Optimizer, Result, Rule, StepNumbers};
    use std::cell::Cell;
    use unigrad_tensor::{Device, Tensor};

    /// Descent that counts how often its update is asked for.
    struct Counted {
        down: bool,
        calls: Cell<usize>,
    }

    impl Rule for Counted {
        fn state_names(&self) -> Vec<&'static str> {
            Vec::new()
        }

        fn weight_decay(&self) -> f64 {
            0.0
        }

        fn scalars(&self, step: &StepNumbers<'_>) -> Vec<Tensor> {
            vec![step.number(step.lr)]
        }

        fn update(&self, value: &Tensor, gradient: &Tensor, _: &[Tensor], scalars: &[Tensor]) -> (Tensor, Vec<Tensor>) {
            self.calls.set(self.calls.get() + 1);
            let by = gradient * &scalars[0];
            (if self.down { value - by } else { value + by }, Vec::new())
        }
    }

    #[test]
    fn an_update_is_recorded_once_for_each_type_until_the_rule_changes() -> Result<()> {
        unigrad_device::register(unigrad_cpu::CpuDriver);
        let device = Device::open("cpu")?;
        let [a, b, c] = [2usize, 3, 2].map(|n| Tensor::full([n], 1.0, unigrad_tensor::DType::F32, &device).requires_grad());
        let group = Group { parameters: vec![a.clone(), b, c], lr: 0.5, weight_decay: None };
        let mut optimizer = Optimizer::with_rule(Counted { down: true, calls: Cell::new(0) }, vec![group])?;
        let step = |optimizer: &mut Optimizer<Counted>| -> Result<()> {
            let parameters = optimizer.parameters();
            let loss = parameters.iter().map(|p| p.sum(())).reduce(|x, y| x + y);
            loss.map_or(Ok(()), |loss| optimizer.minimize(&loss, &[]))
        };
        for _ in 0..4 {
            step(&mut optimizer)?;
        }
        assert_eq!((optimizer.rule().calls.get(), a.to_vec::<f32>()?), (2, vec![-1.0; 2]));
        // Another rate is another number, another rule another record.
        optimizer.set_lr(1.0);
        step(&mut optimizer)?;
        assert_eq!((optimizer.rule().calls.get(), a.to_vec::<f32>()?), (2, vec![-2.0; 2]));
        optimizer.rule.down = false;
        step(&mut optimizer)?;
        assert_eq!((optimizer.rule().calls.get(), a.to_vec::<f32>()?), (4, vec![-1.0; 2]));
        Ok(())
    }
}
