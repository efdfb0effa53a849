//! An optimizer's state: made, named, saved, found again, and taken along to other parameters and devices.
//!
//! In: parameters, a file's content, devices. Out: tensors of state with names, as PyTorch has them.
//! Always: loading and moving checks everything before it changes anything.

use super::{
    missed::Missed,
    optimizer::{Optimizer, check_parameter},
    rule::{Group, Rule, state_dtype},
    ruled::RuleOf,
    trained::{KeptNumbers, Trained},
};
use crate::{
    archive::HostTensor,
    error::{Error, Result},
    memory, module,
};
use std::{
    collections::{BTreeMap, btree_map::Entry},
    sync::atomic::Ordering,
};
use unigrad_tensor::{DType, Device, Tensor};

/// The devices that parameters are on, each once.
fn devices_of(parameters: &[Tensor]) -> Result<Vec<Device>> {
    let mut devices: Vec<Device> = Vec::new();
    for parameter in parameters {
        let device = parameter.device()?;
        if !devices.contains(&device) {
            devices.push(device);
        }
    }
    Ok(devices)
}

/// Counters of the steps taken.
fn counters(devices: &[Device], steps: u64) -> Result<Vec<Tensor>> {
    let steps = i64::try_from(steps).map_err(|_| Error::argument(format!("{steps} steps"), "a count below 2^63"))?;
    Ok(devices.iter().map(|device| Tensor::from_slice(&[steps], (), device)).collect())
}

impl<R: Rule> Optimizer<R> {
    /// State as it is before the first step, and parameters that are computed: the first step then looks like all others.
    pub(crate) fn reset_state(&mut self) -> Result<()> {
        self.forget_updates();
        let parameters = self.parameters();
        let mut state: Vec<Vec<Tensor>> = Vec::with_capacity(parameters.len());
        for (at, group) in self.trained.groups.iter().enumerate() {
            let rule = self.rule_at(at);
            for parameter in &group.parameters {
                check_parameter(parameter)?;
                rule.check(parameter)?;
                let (shape, dtype, device) = (parameter.dims()?, state_dtype(parameter.dtype()), parameter.device()?);
                // Of its own for each name: a rule may return it.
                let zeros = || Tensor::zeros(shape.as_slice(), dtype, &device);
                let names = rule.state_names_of(parameter);
                state.push(names.iter().map(|name| rule.initial_state(name, &zeros(), &parameter.detach(), group.lr)).collect());
            }
        }
        let devices = devices_of(&parameters)?;
        let counters = counters(&devices, self.trained.n_steps.steps.load(Ordering::Relaxed))?;
        let numbers = self.trained.first_numbers(&self.rules(), &devices)?;
        let kept = numbers.iter().flat_map(|kept| &kept.values);
        let all: Vec<&Tensor> = parameters.iter().chain(state.iter().flatten()).chain(kept).chain(&counters).collect();
        Tensor::realize_all(&all)?;
        (self.trained.state, self.trained.numbers, self.trained.counters) = (state, numbers, counters);
        Ok(())
    }

    /// Bytes of all state, without the parameters themselves.
    pub fn state_bytes(&self) -> usize {
        self.trained.state_bytes()
    }

    /// State on the host, for a file; [`Optimizer::n_steps`] belongs to it.
    pub fn state_dict(&self) -> Result<BTreeMap<String, HostTensor>> {
        self.trained.state_dict(&self.rules())
    }

    /// Continues from a saved state.
    pub fn load_state_dict(&mut self, state: &BTreeMap<String, HostTensor>, n_steps: u64) -> Result<()> {
        let (rules, trained) = self.parts();
        let told = trained.load_state_dict(&rules, state, n_steps)?;
        for (group, values) in told {
            match self.rule_of.get(group).copied().flatten().and_then(|own| self.own_rules.get_mut(own)) {
                Some(rule) => rule.loaded(&values),
                None => self.rule.loaded(&values),
            }
        }
        Ok(())
    }

    /// Goes on with other tensors in the parameters' place, in the same order and of the same shapes, and takes the state along to their devices: what
    /// follows `Module::to`. Where their dtype is another, the state's becomes its state's.
    ///
    /// When it fails (no memory, a lost device), nothing has changed. State on a device that is lost is lost too: make a new optimizer, and give it
    /// the last [`Optimizer::state_dict`].
    ///
    /// ```
    /// # extern crate unigrad_nn as unigrad;
    /// # unigrad_device::register(unigrad_cpu::CpuDriver::default());
    /// use unigrad::nn::Sgd;
    /// use unigrad_tensor::{Device, Tensor};
    ///
    /// let device = Device::open("cpu")?;
    /// let w = Tensor::new([1.0f32, 2.0], &device).requires_grad();
    /// let mut optimizer = Sgd::new(vec![w.clone()], 0.1)?.momentum(0.9)?;
    /// let elsewhere = w.detach().to(&device).requires_grad();
    /// optimizer.follow(vec![elsewhere])?;
    /// # Ok::<(), unigrad::Error>(())
    /// ```
    pub fn follow(&mut self, parameters: Vec<Tensor>) -> Result<()> {
        self.trained.follow(parameters)
    }
}

impl Trained {
    /// The numbers that the rules keep, as they are before the first step.
    fn first_numbers(&self, rules: &[RuleOf<'_>], devices: &[Device]) -> Result<Vec<KeptNumbers>> {
        let mut all: Vec<KeptNumbers> = Vec::new();
        for ((group, parameters), of) in self.groups.iter().enumerate().zip(rules) {
            let named = of.rule.numbers();
            if named.is_empty() {
                continue;
            }
            for parameter in &parameters.parameters {
                let (on, dtype) = (parameter.device()?, state_dtype(parameter.dtype()));
                let Some(device) = devices.iter().position(|device| *device == on) else { continue };
                if all.iter().all(|kept| (kept.group, kept.dtype, kept.device) != (group, dtype, device)) {
                    let values = named.iter().map(|(_, value)| Tensor::full([0usize; 0], *value, dtype, &on)).collect();
                    all.push(KeptNumbers { group, dtype, device, values });
                }
            }
        }
        Ok(all)
    }

    /// The names of each parameter's state.
    pub(super) fn named_by_parameter(&self, rules: &[RuleOf<'_>]) -> Vec<Vec<&'static str>> {
        let of_group = |(group, of): (&Group, &RuleOf<'_>)| -> Vec<Vec<&'static str>> {
            group.parameters.iter().map(|parameter| of.rule.state_names_of(parameter)).collect()
        };
        self.groups.iter().zip(rules).flat_map(of_group).collect()
    }

    /// State by name: `state.3.exp_avg` belongs to the fourth parameter, as in PyTorch.
    fn named_state(&self, rules: &[RuleOf<'_>]) -> Vec<(String, Tensor)> {
        let mut all = Vec::new();
        for (i, (names, state)) in self.named_by_parameter(rules).into_iter().zip(&self.state).enumerate() {
            all.extend(names.iter().zip(state).map(|(name, tensor)| (format!("state.{i}.{name}"), tensor.clone())));
        }
        for kept in &self.numbers {
            let names = rules.get(kept.group).map_or(Vec::new(), |of| of.rule.numbers());
            for ((name, _), value) in names.into_iter().zip(&kept.values) {
                all.push((format!("number.{}.{}.{}.{name}", kept.group, kept.dtype, kept.device), value.clone()));
            }
        }
        all
    }

    fn state_bytes(&self) -> usize {
        let kept = self.numbers.iter().flat_map(|kept| &kept.values);
        self.state.iter().flatten().chain(kept).chain(&self.counters).map(memory::bytes).fold(0, usize::saturating_add)
    }

    fn state_dict(&self, rules: &[RuleOf<'_>]) -> Result<BTreeMap<String, HostTensor>> {
        let mut state = module::to_host(&self.named_state(rules))?;
        self.missed.save(self.state.len(), self.n_steps(), &mut state);
        Ok(state)
    }

    /// Gives, by group, the numbers that rules are to be told.
    fn load_state_dict(
        &mut self,
        rules: &[RuleOf<'_>],
        state: &BTreeMap<String, HostTensor>,
        n_steps: u64,
    ) -> Result<BTreeMap<usize, Vec<f64>>> {
        let steps = i64::try_from(n_steps).map_err(|_| Error::argument(format!("{n_steps} steps"), "a count below 2^63"))?;
        let mut state = state.clone();
        let missed = Missed::load(self.state.len(), &mut state)?;
        module::load(&self.named_state(rules), &state, "the optimizer's state")?;
        self.missed = missed;
        for counter in &self.counters {
            counter.assign(&Tensor::from_slice(&[steps], (), &counter.device()?))?;
        }
        Tensor::realize_all(&self.counters.iter().collect::<Vec<_>>())?;
        self.n_steps.steps.store(n_steps, Ordering::Relaxed);
        self.n_steps.waits.store(0, Ordering::Relaxed);
        self.note_counter();
        let mut told = BTreeMap::new();
        for kept in &self.numbers {
            if let Entry::Vacant(place) = told.entry(kept.group) {
                place.insert(kept.values.iter().map(Tensor::to_f64).collect::<Result<_>>()?);
            }
        }
        Ok(told)
    }

    fn follow(&mut self, parameters: Vec<Tensor>) -> Result<()> {
        let before = self.parameters();
        if parameters.len() != before.len() {
            let cause = format!("{} tensors for {} parameters", parameters.len(), before.len());
            return Err(Error::argument(cause, "give one for each of `parameters()`, in that order"));
        }
        let mut state = Vec::with_capacity(before.len());
        for ((old, new), tensors) in before.iter().zip(&parameters).zip(&self.state) {
            check_parameter(new)?;
            if old.dims()? != new.dims()? {
                let cause = format!("a tensor {:?} for a parameter {:?}", new.shape(), old.shape());
                return Err(Error::argument(cause, "give one for each of `parameters()`, in that order"));
            }
            let (device, was, is) = (new.device()?, state_dtype(old.dtype()), state_dtype(new.dtype()));
            let moved = |tensor: &Tensor| of_its_own(tensor, &device, was, is);
            state.push(tensors.iter().map(moved).collect::<Vec<Tensor>>());
        }
        let steps = match self.counters.first() {
            Some(counter) => u64::try_from(counter.item::<i64>()?).map_err(|_| Error::Internal("a negative count of steps".into()))?,
            None => self.n_steps.steps.load(Ordering::Relaxed),
        };
        let devices = devices_of(&parameters)?;
        let counters = counters(&devices, steps)?;
        let mut numbers = Vec::new();
        let mut rest = parameters.iter();
        for (group, of) in self.groups.iter().enumerate() {
            let Some(kept) = self.numbers.iter().find(|kept| kept.group == group) else {
                rest.by_ref().take(of.parameters.len()).for_each(drop);
                continue;
            };
            for parameter in rest.by_ref().take(of.parameters.len()) {
                let (on, dtype) = (parameter.device()?, state_dtype(parameter.dtype()));
                let Some(device) = devices.iter().position(|device| *device == on) else { continue };
                let is_new = |numbers: &[KeptNumbers]| {
                    numbers.iter().all(|kept: &KeptNumbers| (kept.group, kept.dtype, kept.device) != (group, dtype, device))
                };
                if is_new(&numbers) {
                    let values = kept.values.iter().map(|value| of_its_own(value, &on, kept.dtype, dtype)).collect();
                    numbers.push(KeptNumbers { group, dtype, device, values });
                }
            }
        }
        let kept = numbers.iter().flat_map(|kept: &KeptNumbers| &kept.values);
        let all: Vec<&Tensor> = parameters.iter().chain(state.iter().flatten()).chain(kept).chain(&counters).collect();
        Tensor::realize_all(&all)?;
        let mut parameters = parameters.into_iter();
        for group in &mut self.groups {
            group.parameters = parameters.by_ref().take(group.parameters.len()).collect();
        }
        (self.state, self.numbers, self.counters) = (state, numbers, counters);
        self.n_steps.steps.store(steps, Ordering::Relaxed);
        self.n_steps.waits.store(0, Ordering::Relaxed);
        self.note_counter();
        Ok(())
    }
}

/// A tensor of state in memory of its own on a device; one of dtype `was` becomes `is`.
fn of_its_own(tensor: &Tensor, device: &Device, was: DType, is: DType) -> Tensor {
    let tensor = tensor.detach().to(device);
    if tensor.dtype() == was { tensor.cast(is) } else { tensor }
}
