//! A step: gradients into new values and state, in one evaluation.
//!
//! In: gradients, and whatever else is to be computed. Out: parameters, state and counters, assigned.
//! Always: a step is a transaction: whatever fails, all are bit for bit what they were. No thread waits for the device.

use super::{
    gradients,
    optimizer::Optimizer,
    rule::{Rule, StepNumbers, state_dtype, updated},
    ruled::RuleOf,
    trained::Trained,
};
use crate::error::{Error, Result};
use std::sync::atomic::Ordering;
use unigrad_device::{Background, in_background};
use unigrad_tensor::{Arguments, Composite, DType, Origin, Tensor, eval, no_grad, take_gradients};

/// Of parameters that have the same numbers: the type of their state, their device, and how many steps they have missed.
type Kind = (DType, u32, u64);

/// The gradients of what is trained: a frozen parameter has none, not one of zeros, so that it is not even decayed.
fn trained(parameters: &[Tensor], gradients: Vec<Tensor>) -> Vec<Option<Tensor>> {
    parameters.iter().zip(gradients).map(|(parameter, gradient)| Some(gradient).filter(|_| !parameter.is_frozen())).collect()
}

impl<R: Rule> Optimizer<R> {
    /// Forgets the gradients of all parameters.
    pub fn zero_grad(&self) {
        self.trained.zero_grad();
    }

    /// One step with the gradients that `backward` left. Parameters without a gradient stay as they are. Forgets no gradient.
    ///
    /// When it fails, nothing has changed, and the gradients are forgotten: they may depend on what failed. (A GPU may find out only later that an
    /// index of the batch was out of range. It then keeps all values, the step does not count, and the error is told where the loss is read.)
    #[track_caller]
    pub fn step(&mut self) -> Result<()> {
        let _origin = Origin::enter_caller();
        self.step_and(&[])
    }

    /// As [`Optimizer::step`]; computes `also` in the same evaluation.
    #[track_caller]
    pub fn step_and(&mut self, also: &[&Tensor]) -> Result<()> {
        let _origin = Origin::enter_caller();
        self.stepping().step_if_finite(None, also)
    }

    /// As [`Optimizer::step_and`]; but where `guard` (one number, usually the loss) is not finite, nothing changes and the step does not count.
    #[track_caller]
    pub fn step_guarded(&mut self, guard: &Tensor, also: &[&Tensor]) -> Result<()> {
        let _origin = Origin::enter_caller();
        self.stepping().step_if_finite(Some(guard), also)
    }

    /// One step down `loss`: differentiates it, updates, and computes it and `also`, in one evaluation. Leaves no gradients behind, and frees the
    /// loss's graph as `backward` does.
    ///
    /// When the loss is not finite, parameters and state keep their values, and the step does not count; see [`crate::first_not_finite`].
    /// When it fails, nothing has changed, as for [`Optimizer::step`].
    #[track_caller]
    pub fn minimize(&mut self, loss: &Tensor, also: &[&Tensor]) -> Result<()> {
        let _origin = Origin::enter_caller();
        self.stepping().minimize(loss, also)
    }

    /// One step with these gradients, one for each parameter in order; `None` leaves a parameter as it is. Computes `also` in the same evaluation.
    #[track_caller]
    pub fn step_with(&mut self, gradients: Vec<Option<Tensor>>, also: &[&Tensor]) -> Result<()> {
        let _origin = Origin::enter_caller();
        self.stepping().step_with(gradients, also)
    }

    /// One step down the mean of `n` losses, made one after the other by `loss`: gradients of a batch that does not fit into memory at once.
    /// Returns the mean loss. Gradients are computed after each loss, so that one graph is alive at a time.
    ///
    /// When anything fails, no gradients are left, and nothing has changed (running statistics of the batches before have).
    #[track_caller]
    pub fn minimize_batches(&mut self, n: usize, mut loss: impl FnMut(usize) -> Result<Tensor>) -> Result<Tensor> {
        let _origin = Origin::enter_caller();
        self.stepping().minimize_batches(n, &mut loss)
    }

    /// As [`Optimizer::step`], on another thread: a future for any executor, which gives the optimizer back. It begins at once, and goes on if the
    /// future is dropped.
    pub fn step_async(mut self) -> Background<(Self, Result<()>)>
    where
        R: Send + 'static,
    {
        in_background(move || {
            let result = self.step();
            (self, result)
        })
    }

    /// What takes a step.
    pub(super) fn stepping(&mut self) -> Stepping<'_> {
        let (rules, trained) = self.parts();
        Stepping { rules, trained }
    }
}

/// An optimizer as a step sees it, whatever its rule.
pub(super) struct Stepping<'a> {
    /// Of each group.
    rules: Vec<RuleOf<'a>>,
    trained: &'a mut Trained,
}

impl Stepping<'_> {
    fn step_if_finite(&mut self, guard: Option<&Tensor>, also: &[&Tensor]) -> Result<()> {
        let gradients = self.trained.groups.iter().flat_map(|group| &group.parameters).map(Tensor::grad).collect();
        let result = self.apply(gradients, guard, also);
        if result.is_err() {
            self.trained.zero_grad();
        }
        result
    }

    fn minimize(&mut self, loss: &Tensor, also: &[&Tensor]) -> Result<()> {
        let attempt = eval::Attempt::begin();
        let parameters = self.trained.parameters();
        let gradients = trained(&parameters, take_gradients(loss, &parameters)?);
        let all: Vec<&Tensor> = std::iter::once(loss).chain(also.iter().copied()).collect();
        self.apply(gradients, Some(loss), &all)?;
        attempt.succeeded();
        Ok(())
    }

    fn step_with(&mut self, gradients: Vec<Option<Tensor>>, also: &[&Tensor]) -> Result<()> {
        let parameters = self.trained.parameters();
        if gradients.len() != parameters.len() {
            let cause = format!("{} gradients for {} parameters", gradients.len(), parameters.len());
            return Err(Error::argument(cause, "give one for each of `parameters()`, in that order; `None` where there is none"));
        }
        for (at, (parameter, gradient)) in parameters.iter().zip(&gradients).enumerate() {
            let Some(gradient) = gradient else { continue };
            if gradient.dims()? != parameter.dims()? {
                let cause = format!("gradient {at} is {:?}, its parameter {:?}", gradient.shape(), parameter.shape());
                return Err(Error::argument(cause, "give gradients of the parameters' shapes"));
            }
        }
        self.apply(gradients, None, also)
    }

    fn minimize_batches(&mut self, n: usize, loss: &mut dyn FnMut(usize) -> Result<Tensor>) -> Result<Tensor> {
        if n == 0 {
            return Err(Error::argument("a step over no batches", "give at least one"));
        }
        let parameters = self.trained.parameters();
        let share = 1.0 / n as f64;
        let mut sum: Option<(Vec<Tensor>, Tensor)> = None;
        for batch in 0..n {
            let one = loss(batch)? * share;
            let found = take_gradients(&one, &parameters)?;
            let one = one.detach();
            let (gradients, total) = match sum {
                None => (found, one),
                Some((before, total)) => no_grad(|| (before.iter().zip(&found).map(|(a, b)| a + b).collect(), total + one)),
            };
            if batch + 1 < n {
                Tensor::realize_all(&gradients.iter().chain([&total]).collect::<Vec<_>>())?;
            }
            sum = Some((gradients, total));
        }
        let Some((gradients, total)) = sum else { return Err(Error::Internal("no batch was summed".into())) };
        self.apply(trained(&parameters, gradients), Some(&total), &[&total])?;
        Ok(total)
    }

    /// Assigns and evaluates. With `guard`, values only change if it is finite.
    pub(super) fn apply(&mut self, gradients: Vec<Option<Tensor>>, guard: Option<&Tensor>, also: &[&Tensor]) -> Result<()> {
        let attempt = eval::Attempt::begin();
        self.assign_and_evaluate(gradients, guard, also)?;
        attempt.succeeded();
        Ok(())
    }

    fn assign_and_evaluate(&mut self, mut gradients: Vec<Option<Tensor>>, guard: Option<&Tensor>, also: &[&Tensor]) -> Result<()> {
        eval::depends_on(&self.trained.settings);
        if !self.trained.missed.is_empty() || gradients.iter().any(Option::is_none) {
            // Asks for what is known of steps that the device may have undone.
            let taken = self.trained.n_steps();
            self.trained.missed.note(gradients.iter().map(Option::is_some), taken);
        }
        let changed = no_grad(|| -> Result<Vec<&Tensor>> {
            let finite = guard.map(|loss| match loss.isfinite() {
                finite if finite.rank() == 0 => finite,
                finite => finite.reshape([0usize; 0]),
            });
            let assign = |old: &Tensor, new: &Tensor| finite.as_ref().map_or_else(|| old.assign(new), |finite| old.assign_if(new, finite));
            let n_state = self.trained.state.iter().map(Vec::len).sum::<usize>();
            let mut changed = Vec::with_capacity(self.trained.counters.len() + self.trained.state.len() + n_state);
            let steps: Vec<Tensor> = self.trained.counters.iter().map(|counter| counter.detach() + 1).collect();
            for (counter, step) in self.trained.counters.iter().zip(&steps) {
                assign(counter, step)?;
                changed.push(counter);
            }
            if !self.trained.treatments.is_empty() {
                gradients::treat(&self.trained.treatments, &self.trained.parameters(), &mut gradients, &steps)?;
            }
            let taken = self.trained.n_steps.steps.load(Ordering::Relaxed);
            let mut gradients = gradients.into_iter().enumerate();
            let mut state = self.trained.state.iter();
            for ((group_at, group), of) in self.trained.groups.iter().enumerate().zip(&self.rules) {
                let rule = of.rule;
                rule.ready()?;
                let ascends = self.trained.ascending.contains(&group_at);
                let counts_alone = !self.trained.missed.is_empty() && rule.counts_own_steps();
                let weight_decay = group.weight_decay.unwrap_or_else(|| rule.weight_decay());
                let lr = group.lr * self.trained.lr_factor;
                // One node for all parameters of a type that have missed as many steps: the plan then has one slot for each number.
                let mut scalars: Vec<(Kind, Vec<Tensor>, Arguments)> = Vec::new();
                // One update for all parameters of a type and shape: each parameter's is then one node.
                let mut updates = of.updates();
                for parameter in &group.parameters {
                    let (Some((at, gradient)), Some(state)) = (gradients.next(), state.next()) else {
                        let cause = "an optimizer has fewer gradients, or tensors of state, than parameters";
                        return Err(Error::Internal(cause.into()));
                    };
                    let Some(gradient) = gradient else { continue };
                    let gradient = if ascends { gradient.neg() } else { gradient };
                    let dtype = state_dtype(parameter.dtype());
                    let missed = if counts_alone { self.trained.missed.of(at, taken) } else { 0 };
                    let key = (dtype, parameter.device_id(), missed);
                    if !scalars.iter().any(|(k, ..)| *k == key) {
                        let device = parameter.device()?;
                        let at = steps.iter().position(|step| step.device_id() == key.1);
                        let at =
                            at.ok_or_else(|| Error::argument("a parameter has moved to another device", "let the optimizer `follow` it"))?;
                        let kept = self.trained.numbers.iter().find(|kept| (kept.group, kept.dtype, kept.device) == (group_at, dtype, at));
                        let before: Vec<Tensor> = kept.map_or(Vec::new(), |kept| kept.values.iter().map(Tensor::detach).collect());
                        let step = steps[at].cast(dtype);
                        let mut numbers = StepNumbers { step, lr, weight_decay, numbers: &before, missed, device: &device };
                        if missed > 0 {
                            numbers.step = &numbers.step - numbers.number(missed as f64);
                        }
                        let own = rule.scalars(&numbers);
                        let arguments = Arguments::of(&own.iter().collect::<Vec<_>>());
                        scalars.push((key, own, arguments));
                        // What is kept is that of the parameters that have missed none: each of them takes part in every step.
                        if let Some(kept) = kept.filter(|_| missed == 0) {
                            let next = rule.next_numbers(&numbers);
                            if next.len() != before.len() || kept.values.len() != before.len() {
                                let (next, now) = (next.len(), before.len());
                                return Err(Error::Internal(format!(
                                    "an optimizer's rule keeps {now} numbers and gives {next} for the next step"
                                )));
                            }
                            for ((old, now), new) in kept.values.iter().zip(&before).zip(next) {
                                // What stays costs no launch.
                                if new.same(now) {
                                    continue;
                                }
                                assign(old, &new)?;
                                changed.push(old);
                            }
                        }
                    }
                    let Some((_, scalars, numbers)) = scalars.iter().find(|(k, ..)| *k == key) else {
                        return Err(Error::Internal(format!("a step has no numbers for the {dtype} parameters of a group")));
                    };
                    let own: Vec<&Tensor> = [parameter, &gradient].into_iter().chain(state).collect();
                    let arguments = || own.iter().copied().chain(scalars);
                    let update = |arguments: &[Tensor]| {
                        let mut results = updated(rule, state.len(), arguments);
                        if let (Some(limit), Some(value)) = (self.trained.max_norm, results.first_mut()) {
                            *value = gradients::limited(value, limit);
                        }
                        results
                    };
                    let values = Arguments::of(&own).followed_by(numbers);
                    let known = match updates.iter().position(|update| update.fits(&values)) {
                        Some(known) => known,
                        None => {
                            updates.push(Composite::record("update", &arguments().collect::<Vec<_>>(), update)?);
                            updates.len() - 1
                        }
                    };
                    let are_all = |n_results: usize| {
                        if n_results == 1 + state.len() {
                            return Ok(());
                        }
                        let cause = format!("the rule gave {} tensors of state for {} names", n_results.saturating_sub(1), state.len());
                        Err(Error::argument(cause, "return one new tensor for each of `state_names`, in that order"))
                    };
                    let targets = || std::iter::once(parameter).chain(state);
                    let update_of_all = &updates[known];
                    update_of_all.n_results().map_or(Ok(()), are_all)?;
                    if !update_of_all.assign(values, &targets().collect::<Vec<_>>(), finite.as_ref())? {
                        // A rule of many kinds of ops, or with tensors of its own.
                        let results = update(&arguments().map(Tensor::detach).collect::<Vec<_>>());
                        are_all(results.len())?;
                        targets().zip(&results).try_for_each(|(old, new)| assign(old, new))?;
                    }
                    changed.extend(targets());
                }
            }
            if let Some(finite) = &finite {
                // Running statistics that layers have assigned. What is assigned here has its condition: a guard is a commit more.
                eval::guard_assignments(&finite.expr());
            }
            Ok(changed)
        })?;
        let all: Vec<&Tensor> = changed.into_iter().chain(also.iter().copied()).collect();
        Tensor::realize_all(&all)?;
        self.trained.n_steps.steps.fetch_add(1, Ordering::Relaxed);
        let waits = self.trained.counters.first().and_then(|counter| counter.device().ok()).map_or(0, |device| device.n_waits() + 1);
        self.trained.n_steps.waits.store(waits, Ordering::Relaxed);
        self.trained.note_counter();
        Ok(())
    }
}
