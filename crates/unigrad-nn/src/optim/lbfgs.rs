//! L-BFGS (Liu and Nocedal, 1989) with a line search by the strong Wolfe conditions, as PyTorch computes it.
//!
//! In: a closure that gives the loss. Out: parameters after a few iterations, each of which calls the closure at least once.
//! Always: vectors stay on the device; products of them come to the host, which decides by them. When an evaluation fails, or the loss is not finite at the
//! beginning, parameters and state are what they were before the call.

mod search;

use super::Optimize;
use crate::{
    archive::HostTensor,
    error::{Error, Result},
    memory, module,
};
use search::{Point, strong_wolfe};
use std::collections::BTreeMap;
use unigrad_tensor::{Origin, Tensor, no_grad, take_gradients};

/// L-BFGS, for losses of whole batches: of all parameters together, on one device and of one dtype.
///
/// ```
/// # extern crate unigrad_nn as unigrad;
/// # unigrad_device::register(unigrad_cpu::CpuDriver::default());
/// use unigrad::nn::Lbfgs;
/// use unigrad_tensor::{Device, Tensor};
///
/// let w = Tensor::new([4.0f64, -1.0], &Device::open("cpu")?).requires_grad();
/// let mut optimizer = Lbfgs::new(vec![w.clone()], 1.0)?.strong_wolfe(true);
/// let target = Tensor::new([1.0f64, 2.0], &Device::open("cpu")?);
/// optimizer.step(|| Ok((&w - &target).square().sum(())))?;
/// assert!(w.to_vec::<f64>()?.iter().zip([1.0, 2.0]).all(|(w, t)| (w - t).abs() < 1e-6));
/// # Ok::<(), unigrad::Error>(())
/// ```
#[derive(Debug)]
pub struct Lbfgs {
    parameters: Vec<Tensor>,
    lr: f64,
    max_iter: usize,
    max_eval: Option<usize>,
    tolerance_grad: f64,
    tolerance_change: f64,
    history_size: usize,
    strong_wolfe: bool,
    memory: Memory,
    lr_factor: f64,
    /// Calls that changed something, where a trainer counts them.
    n_steps: u64,
}

/// What is kept from call to call.
#[derive(Clone, Debug, Default)]
struct Memory {
    n_iter: u64,
    evaluations: u64,
    /// The last direction, and how far it was followed.
    direction: Option<(Tensor, f64)>,
    gradient: Option<Tensor>,
    /// Differences of gradients and of values, and the reciprocal of their product; the oldest first.
    pairs: Vec<(Tensor, Tensor, f64)>,
    scale: f64,
}

impl Lbfgs {
    /// Learning rate `lr` (PyTorch: 1), at most 20 iterations and 25 evaluations a call, a history of 100, no line search.
    #[track_caller]
    pub fn new(parameters: Vec<Tensor>, lr: f64) -> Result<Lbfgs> {
        let _origin = Origin::enter_caller();
        for parameter in &parameters {
            let (shape, dtype) = (parameter.dims()?, parameter.dtype());
            if !parameter.is_variable() {
                let cause = format!("a tensor {shape:?} among the parameters requires no gradient");
                return Err(Error::argument(cause, "make it a parameter with `requires_grad()`"));
            }
            if parameters.iter().any(|other| other.dtype() != dtype || other.device_id() != parameter.device_id()) {
                return Err(Error::argument(
                    "parameters of several dtypes or devices",
                    "L-BFGS takes them as one vector: give those of one kind",
                ));
            }
        }
        Tensor::realize_all(&parameters.iter().collect::<Vec<_>>())?;
        Ok(Lbfgs {
            parameters,
            lr,
            max_iter: 20,
            max_eval: None,
            tolerance_grad: 1e-7,
            tolerance_change: 1e-9,
            history_size: 100,
            strong_wolfe: false,
            memory: Memory::default(),
            lr_factor: 1.0,
            n_steps: 0,
        })
    }

    /// Iterations of a call, at most.
    pub fn max_iter(mut self, iterations: usize) -> Self {
        self.max_iter = iterations;
        self
    }

    /// Evaluations of a call, at most: five for every four iterations unless told.
    pub fn max_eval(mut self, evaluations: usize) -> Self {
        self.max_eval = Some(evaluations);
        self
    }

    /// A call ends where no element of the gradient is above `grad`, or nothing changes by more than `change`: 1e-7 and 1e-9 unless told.
    pub fn tolerances(mut self, grad: f64, change: f64) -> Self {
        (self.tolerance_grad, self.tolerance_change) = (grad, change);
        self
    }

    /// How many pairs of differences are kept.
    pub fn history_size(mut self, pairs: usize) -> Self {
        self.history_size = pairs;
        self
    }

    /// Whether step lengths are searched for by the strong Wolfe conditions.
    pub fn strong_wolfe(mut self, searched: bool) -> Self {
        self.strong_wolfe = searched;
        self
    }

    /// All parameters.
    pub fn parameters(&self) -> Vec<Tensor> {
        self.parameters.clone()
    }

    /// Sets the learning rate: the first length tried in a search, or the length of steps without one.
    pub fn set_lr(&mut self, lr: f64) {
        self.lr = lr;
    }

    /// Iterations so far.
    pub fn n_iter(&self) -> u64 {
        self.memory.n_iter
    }

    /// Evaluations of the closure so far.
    pub fn n_evaluations(&self) -> u64 {
        self.memory.evaluations
    }

    /// Iterates; returns the loss before. When it fails, nothing has changed.
    #[track_caller]
    pub fn step(&mut self, mut loss: impl FnMut() -> Result<Tensor>) -> Result<f64> {
        let _origin = Origin::enter_caller();
        let before: Vec<Tensor> = self.parameters.iter().map(Tensor::detach).collect();
        let mut memory = self.memory.clone();
        let result = self.iterate(&mut memory, &mut loss);
        match &result {
            Ok(first) if first.is_finite() => self.memory = memory,
            // A loss that is no number moves nothing.
            Ok(_) | Err(_) => self.set(&before)?,
        }
        result
    }

    /// Parameters as they were.
    fn set(&self, values: &[Tensor]) -> Result<()> {
        no_grad(|| self.parameters.iter().zip(values).try_for_each(|(parameter, value)| parameter.assign(value)))?;
        Tensor::realize_all(&self.parameters.iter().collect::<Vec<_>>())
    }

    /// The loss and its gradient, as one vector.
    fn evaluate(&self, loss: &mut dyn FnMut() -> Result<Tensor>) -> Result<Point> {
        let value = loss()?;
        let gradients = take_gradients(&value, &self.parameters)?;
        let flat: Vec<Tensor> = gradients.iter().map(Tensor::flatten_all).collect();
        let gradient = no_grad(|| Tensor::concat(&flat.iter().collect::<Vec<_>>(), 0));
        Tensor::realize_all(&[&gradient, &value])?;
        Ok(Point { loss: value.to_f64()?, gradient })
    }

    /// Goes from values by a share of a direction.
    fn go(&self, from: &[Tensor], direction: &Tensor, length: f64) -> Result<()> {
        let device = direction.device()?;
        let length = Tensor::scalar(length, direction.dtype(), &device);
        no_grad(|| -> Result<()> {
            let mut start = 0;
            for (parameter, value) in self.parameters.iter().zip(from) {
                let n = parameter.numel();
                let part = direction.narrow(0, start, n).reshape(parameter.shape());
                parameter.assign(&(value + part * &length))?;
                start += n;
            }
            Ok(())
        })
    }

    fn iterate(&self, memory: &mut Memory, loss: &mut dyn FnMut() -> Result<Tensor>) -> Result<f64> {
        if self.parameters.is_empty() {
            return loss()?.to_f64();
        }
        let max_eval = self.max_eval.unwrap_or(self.max_iter * 5 / 4);
        let mut here = self.evaluate(loss)?;
        let first = here.loss;
        let mut evaluations = 1;
        memory.evaluations += 1;
        if !first.is_finite() || greatest(&here.gradient)? <= self.tolerance_grad {
            return Ok(first);
        }
        for iteration in 1..=self.max_iter {
            memory.n_iter += 1;
            let direction = no_grad(|| self.direction(memory, &here.gradient))?;
            memory.gradient = Some(here.gradient.clone());
            let loss_before = here.loss;
            let length = match memory.n_iter {
                1 => (1.0 / here.gradient.abs().sum(()).to_f64()?).min(1.0) * self.lr * self.lr_factor,
                _ => self.lr * self.lr_factor,
            };
            let slope = no_grad(|| here.gradient.dot(&direction)).to_f64()?;
            memory.direction = Some((direction.clone(), length));
            if slope > -self.tolerance_change {
                break;
            }
            let from: Vec<Tensor> = self.parameters.iter().map(Tensor::detach).collect();
            let mut length = length;
            let mut spent = 0;
            if self.strong_wolfe {
                let size = greatest(&direction)?;
                let most = max_eval.saturating_sub(evaluations);
                let mut at = |length: f64| -> Result<Point> {
                    self.go(&from, &direction, length)?;
                    self.evaluate(loss)
                };
                let found = strong_wolfe(&mut at, &direction, size, length, &here, slope, self.tolerance_change, most)?;
                (here, length, spent) = (found.point, found.length, found.evaluations);
                self.go(&from, &direction, length)?;
                Tensor::realize_all(&self.parameters.iter().collect::<Vec<_>>())?;
            } else {
                self.go(&from, &direction, length)?;
                if iteration != self.max_iter {
                    here = self.evaluate(loss)?;
                    spent = 1;
                }
                Tensor::realize_all(&self.parameters.iter().collect::<Vec<_>>())?;
            }
            memory.direction = Some((direction.clone(), length));
            evaluations += spent;
            memory.evaluations += spent as u64;
            let is_done = iteration == self.max_iter
                || evaluations >= max_eval
                || greatest(&here.gradient)? <= self.tolerance_grad
                || greatest(&direction)? * length.abs() <= self.tolerance_change
                || (here.loss - loss_before).abs() < self.tolerance_change;
            if is_done {
                break;
            }
        }
        Ok(first)
    }

    /// The approximate inverse Hessian times the negative gradient, by two loops over the pairs.
    fn direction(&self, memory: &mut Memory, gradient: &Tensor) -> Result<Tensor> {
        let (Some(before), Some((last, length))) = (&memory.gradient, &memory.direction) else {
            (memory.pairs, memory.scale) = (Vec::new(), 1.0);
            return gradient.neg().realize();
        };
        let y = gradient - before;
        let s = last * *length;
        let (ys, yy) = (y.dot(&s), y.dot(&y));
        Tensor::realize_all(&[&y, &s, &ys, &yy])?;
        let (ys, yy) = (ys.to_f64()?, yy.to_f64()?);
        if ys > 1e-10 {
            if memory.pairs.len() >= self.history_size.max(1) {
                memory.pairs.remove(0);
            }
            memory.pairs.push((y, s, 1.0 / ys));
            memory.scale = ys / yy;
        }
        // Numbers of the loops stay on the device: one evaluation.
        let number = |value: f64| -> Result<Tensor> { Ok(Tensor::scalar(value, gradient.dtype(), &gradient.device()?)) };
        let mut q = gradient.neg();
        let mut shares = Vec::with_capacity(memory.pairs.len());
        for (y, s, ro) in memory.pairs.iter().rev() {
            let share = s.dot(&q) * number(*ro)?;
            q = q - y * &share;
            shares.push(share);
        }
        let mut r = q * number(memory.scale)?;
        for ((y, s, ro), share) in memory.pairs.iter().zip(shares.iter().rev()) {
            let back = y.dot(&r) * number(*ro)?;
            r = r + s * (share - back);
        }
        r.realize()
    }

    /// State on the host, for a file.
    pub fn state_dict(&self) -> Result<BTreeMap<String, HostTensor>> {
        let mut named: Vec<(String, Tensor)> = Vec::new();
        let mut numbers = BTreeMap::new();
        let Memory { n_iter, evaluations, direction, gradient, pairs, scale } = &self.memory;
        let count = |value: u64| HostTensor { dtype: unigrad_tensor::DType::U64, shape: vec![], bytes: value.to_le_bytes().to_vec() };
        let real = |value: f64| HostTensor { dtype: unigrad_tensor::DType::F64, shape: vec![], bytes: value.to_le_bytes().to_vec() };
        numbers.insert("n_iter".to_owned(), count(*n_iter));
        numbers.insert("func_evals".to_owned(), count(*evaluations));
        numbers.insert("h_diag".to_owned(), real(*scale));
        if let Some((direction, length)) = direction {
            named.push(("d".to_owned(), direction.clone()));
            numbers.insert("t".to_owned(), real(*length));
        }
        named.extend(gradient.iter().map(|gradient| ("prev_flat_grad".to_owned(), gradient.clone())));
        for (i, (y, s, ro)) in pairs.iter().enumerate() {
            named.extend([(format!("old_dirs.{i}"), y.clone()), (format!("old_stps.{i}"), s.clone())]);
            numbers.insert(format!("ro.{i}"), real(*ro));
        }
        numbers.extend(module::to_host(&named)?);
        Ok(numbers)
    }

    /// Continues from a saved state; an error, and nothing changed, if it does not fit.
    pub fn load_state_dict(&mut self, state: &BTreeMap<String, HostTensor>) -> Result<()> {
        let n: usize = self.parameters.iter().map(Tensor::numel).sum();
        let Some(parameter) = self.parameters.first() else { return Ok(()) };
        let (device, dtype) = (parameter.device()?, parameter.dtype());
        let wrong = |name: &str| {
            Error::argument(format!("the state of L-BFGS has no `{name}` that fits"), "load what `state_dict` of such an optimizer gave")
        };
        let bytes = |name: &str| -> Result<[u8; 8]> {
            state.get(name).and_then(|host| host.bytes.as_slice().try_into().ok()).ok_or_else(|| wrong(name))
        };
        let vector = |name: &str| -> Result<Tensor> {
            let host = state.get(name).filter(|host| host.shape == [n] && host.dtype == dtype).ok_or_else(|| wrong(name))?;
            module::from_host(host, &device)
        };
        let n_pairs = state.keys().filter(|name| name.starts_with("ro.")).count();
        let mut memory = Memory {
            n_iter: u64::from_le_bytes(bytes("n_iter")?),
            evaluations: u64::from_le_bytes(bytes("func_evals")?),
            direction: None,
            gradient: None,
            pairs: Vec::with_capacity(n_pairs),
            scale: f64::from_le_bytes(bytes("h_diag")?),
        };
        if state.contains_key("d") {
            memory.direction = Some((vector("d")?, f64::from_le_bytes(bytes("t")?)));
            memory.gradient = Some(vector("prev_flat_grad")?);
        }
        for i in 0..n_pairs {
            let ro = f64::from_le_bytes(bytes(&format!("ro.{i}"))?);
            memory.pairs.push((vector(&format!("old_dirs.{i}"))?, vector(&format!("old_stps.{i}"))?, ro));
        }
        let pairs = memory.pairs.iter().flat_map(|(y, s, _)| [y, s]);
        let all: Vec<&Tensor> = memory.direction.iter().map(|(d, _)| d).chain(&memory.gradient).chain(pairs).collect();
        Tensor::realize_all(&all)?;
        self.memory = memory;
        Ok(())
    }
}

impl Optimize for Lbfgs {
    fn parameters(&self) -> Vec<Tensor> {
        Lbfgs::parameters(self)
    }

    /// An error: a recorded loss is that of one place.
    fn minimize(&mut self, _: &Tensor, _: &[&Tensor]) -> Result<()> {
        Err(one_place())
    }

    #[track_caller]
    fn minimize_by(&mut self, forward: &mut dyn FnMut() -> Result<(Tensor, Vec<Tensor>)>) -> Result<Tensor> {
        let mut first: Option<(Tensor, Vec<Tensor>)> = None;
        let found = self.step(|| {
            let (loss, wanted) = forward()?;
            first.get_or_insert_with(|| (loss.detach(), wanted));
            Ok(loss)
        })?;
        let Some((loss, wanted)) = first else { return Err(Error::Internal("L-BFGS took a step without a loss".into())) };
        Tensor::realize_all(&std::iter::once(&loss).chain(&wanted).collect::<Vec<_>>())?;
        self.n_steps += u64::from(found.is_finite());
        Ok(loss)
    }

    /// An error, as of [`Optimize::minimize`].
    fn step_guarded(&mut self, _: &Tensor, _: &[&Tensor]) -> Result<()> {
        Err(one_place())
    }

    fn zero_grad(&self) {
        self.parameters.iter().for_each(Tensor::zero_grad);
    }

    fn n_steps(&self) -> u64 {
        self.n_steps
    }

    fn lr(&self) -> f64 {
        self.lr * self.lr_factor
    }

    fn set_lr(&mut self, lr: f64) {
        Lbfgs::set_lr(self, lr);
    }

    fn set_lr_factor(&mut self, factor: f64) {
        self.lr_factor = factor;
    }

    fn state_dict(&self) -> Result<BTreeMap<String, HostTensor>> {
        Lbfgs::state_dict(self)
    }

    fn load_state_dict(&mut self, state: &BTreeMap<String, HostTensor>, n_steps: u64) -> Result<()> {
        Lbfgs::load_state_dict(self, state)?;
        self.n_steps = n_steps;
        Ok(())
    }

    fn state_bytes(&self) -> usize {
        let Memory { direction, gradient, pairs, .. } = &self.memory;
        let pairs = pairs.iter().flat_map(|(y, s, _)| [y, s]);
        direction.iter().map(|(direction, _)| direction).chain(gradient).chain(pairs).map(memory::bytes).fold(0, usize::saturating_add)
    }
}

/// What a step of a recorded loss lacks.
fn one_place() -> Error {
    let cause = "L-BFGS looks at the loss in several places, and here is one";
    Error::argument(cause, "let the step record its loss (`minimize_by`, or `step`): train without accumulation, clipping and a loss scale")
}

/// The greatest magnitude.
fn greatest(x: &Tensor) -> Result<f64> {
    no_grad(|| x.abs().max(())).to_f64()
}
