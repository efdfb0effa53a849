//! SAM (Foret et al., arXiv:2010.01412) around any optimizer: the gradient is taken where the loss is worst nearby. As davda54/sam computes it; adaptive form:
//! ASAM (Kwon et al., arXiv:2102.11600).
//!
//! In: a closure that gives the loss. Out: a step; the loss is computed twice, and everything is one evaluation and one transaction.

use super::{Optimize, Optimizer, Rule, rule::state_dtype};
use crate::{
    archive::HostTensor,
    error::{Error, Result},
};
use std::collections::BTreeMap;
use unigrad_tensor::{Origin, Tensor, eval, no_grad, take_gradients};

/// An optimizer whose steps are sharpness-aware; made by [`Optimizer::sam`].
#[derive(Debug)]
pub struct Sam<R> {
    optimizer: Optimizer<R>,
    rho: f64,
    adaptive: bool,
}

impl<R: Rule> Optimizer<R> {
    /// The same with sharpness-aware steps, whose gradients are taken at a distance of `rho` (the authors: 0.05) in the direction in which the loss
    /// grows.
    ///
    /// ```
    /// # extern crate unigrad_nn as unigrad;
    /// # unigrad_device::register(unigrad_cpu::CpuDriver::default());
    /// use unigrad::nn::Sgd;
    /// use unigrad_tensor::{Device, Tensor};
    ///
    /// let w = Tensor::new([2.0f32], &Device::open("cpu")?).requires_grad();
    /// let mut optimizer = Sgd::new(vec![w.clone()], 0.25)?.sam(0.5);
    /// optimizer.minimize(|| Ok(w.square().sum(())), &[])?;
    /// assert_eq!(w.to_vec::<f32>()?, [0.75]); // by the gradient at 2.5
    /// # Ok::<(), unigrad::Error>(())
    /// ```
    pub fn sam(self, rho: f64) -> Sam<R> {
        Sam { optimizer: self, rho, adaptive: false }
    }
}

/// What keeps the quotient finite, as in the reference code.
const EPS: f64 = 1e-12;

impl<R: Rule> Sam<R> {
    /// Whether distances are relative to each weight's size. The authors then take ten times the distance.
    pub fn adaptive(mut self, adaptive: bool) -> Self {
        self.adaptive = adaptive;
        self
    }

    /// The optimizer that takes the steps.
    pub fn optimizer(&self) -> &Optimizer<R> {
        &self.optimizer
    }

    /// The same, to change its settings.
    pub fn optimizer_mut(&mut self) -> &mut Optimizer<R> {
        &mut self.optimizer
    }

    /// One step down the loss that `loss` computes, which is called twice: at the parameters and nearby. Returns the loss at the parameters, computed, as
    /// `also` is.
    ///
    /// When it fails, or the closure does, nothing has changed; where a loss is not finite, neither.
    #[track_caller]
    pub fn minimize(&mut self, mut loss: impl FnMut() -> Result<Tensor>, also: &[&Tensor]) -> Result<Tensor> {
        let _origin = Origin::enter_caller();
        self.descend(&mut || Ok((loss()?, Vec::new())), also)
    }

    /// As [`Sam::minimize`]; computes too what the first call gives beside the loss.
    #[track_caller]
    fn descend(&mut self, forward: &mut dyn FnMut() -> Result<(Tensor, Vec<Tensor>)>, also: &[&Tensor]) -> Result<Tensor> {
        let attempt = eval::Attempt::begin();
        let parameters = self.optimizer.parameters();
        let (here, wanted) = forward()?;
        let gradients = take_gradients(&here, &parameters)?;
        let before: Vec<Tensor> = parameters.iter().map(Tensor::detach).collect();
        no_grad(|| -> Result<()> {
            let wide: Vec<Tensor> = gradients.iter().map(|gradient| gradient.cast(state_dtype(gradient.dtype()))).collect();
            let value = |at: usize| before[at].cast(wide[at].dtype());
            let parts: Vec<Tensor> = (0..wide.len())
                .map(|at| if self.adaptive { (value(at).abs() * &wide[at]).square().sum(()) } else { wide[at].square().sum(()) })
                .collect();
            let mut sum: Option<Tensor> = None;
            for part in parts {
                sum = Some(match sum {
                    Some(sum) => &sum + part.to(&sum.device()?),
                    None => part,
                });
            }
            let Some(sum) = sum else { return Ok(()) };
            let scale = (sum.sqrt() + EPS).recip() * self.rho;
            for (at, parameter) in parameters.iter().enumerate() {
                let step = if self.adaptive { value(at).square() * &wide[at] } else { wide[at].clone() };
                let there = value(at) + step * scale.to(&parameter.device()?).cast(wide[at].dtype());
                parameter.assign(&there.cast(parameter.dtype()))?;
            }
            Ok(())
        })?;
        let (there, _) = forward()?;
        let gradients = take_gradients(&there, &parameters)?;
        no_grad(|| parameters.iter().zip(&before).try_for_each(|(parameter, before)| parameter.assign(before)))?;
        let here = here.detach();
        // Not finite if one of them is not.
        let guard = no_grad(|| -> Result<Tensor> { Ok(&here + there.detach().to(&here.device()?) * 0.0) })?;
        let all: Vec<&Tensor> = std::iter::once(&here).chain(&wanted).chain(also.iter().copied()).collect();
        self.optimizer.stepping().apply(gradients.into_iter().map(Some).collect(), Some(&guard), &all)?;
        attempt.succeeded();
        Ok(here)
    }

    /// State on the host, for a file: the optimizer's, for these steps keep none.
    pub fn state_dict(&self) -> Result<BTreeMap<String, HostTensor>> {
        self.optimizer.state_dict()
    }

    /// Continues from a saved state.
    pub fn load_state_dict(&mut self, state: &BTreeMap<String, HostTensor>, n_steps: u64) -> Result<()> {
        self.optimizer.load_state_dict(state, n_steps)
    }

    /// One optimizer again, with plain steps.
    pub fn into_inner(self) -> Optimizer<R> {
        self.optimizer
    }

    /// As [`Sam::minimize`], in two calls around a program's own second pass: moves the parameters to where the loss is worst nearby, by the gradients that
    /// `backward` left. [`Climbed::step`] goes back and takes the step; when the result is dropped, the parameters are put back.
    pub fn climb(&mut self) -> Result<Climbed<'_, R>> {
        let parameters = self.optimizer.parameters();
        let found: Vec<(usize, Tensor)> = parameters.iter().enumerate().filter_map(|(at, p)| Some((at, p.grad()?))).collect();
        if found.is_empty() {
            return Err(Error::argument("no parameter has a gradient", "call `backward` on the loss before `climb`"));
        }
        let attempt = eval::Attempt::begin();
        let before: Vec<Tensor> = parameters.iter().map(Tensor::detach).collect();
        no_grad(|| -> Result<()> {
            let mut sum: Option<Tensor> = None;
            for (at, gradient) in &found {
                let wide = gradient.cast(state_dtype(gradient.dtype()));
                let wide = if self.adaptive { before[*at].cast(wide.dtype()).abs() * wide } else { wide };
                let part = wide.square().sum(());
                sum = Some(match sum {
                    Some(sum) => &sum + part.to(&sum.device()?),
                    None => part,
                });
            }
            let Some(sum) = sum else { return Ok(()) };
            let scale = (sum.sqrt() + EPS).recip() * self.rho;
            for (at, gradient) in &found {
                let (parameter, wide) = (&parameters[*at], gradient.cast(state_dtype(gradient.dtype())));
                let value = before[*at].cast(wide.dtype());
                let step = if self.adaptive { value.square() * &wide } else { wide.clone() };
                let there = value + step * scale.to(&parameter.device()?).cast(wide.dtype());
                parameter.assign(&there.cast(parameter.dtype()))?;
            }
            Ok(())
        })?;
        Tensor::realize_all(&parameters.iter().chain(&before).collect::<Vec<_>>())?;
        attempt.succeeded();
        parameters.iter().for_each(Tensor::zero_grad);
        Ok(Climbed { sam: self, before: Some(before) })
    }
}

/// What a step of given gradients lacks.
fn one_place() -> Error {
    let cause = "sharpness-aware steps take gradients in two places, and here is one";
    Error::argument(
        cause,
        "let the step record its loss (`minimize_by`): train without accumulation and a loss scale, and clip by the optimizer",
    )
}

impl<R: Rule> Optimize for Sam<R> {
    crate::forward_optimize!(self => self.optimizer);

    /// An error: a recorded loss has gradients in one place only.
    fn minimize(&mut self, _: &Tensor, _: &[&Tensor]) -> Result<()> {
        Err(one_place())
    }

    #[track_caller]
    fn minimize_by(&mut self, forward: &mut dyn FnMut() -> Result<(Tensor, Vec<Tensor>)>) -> Result<Tensor> {
        let _origin = Origin::enter_caller();
        self.descend(forward, &[])
    }

    /// An error, as of [`Optimize::minimize`].
    fn step_guarded(&mut self, _: &Tensor, _: &[&Tensor]) -> Result<()> {
        Err(one_place())
    }
}

/// Parameters where the loss is worst nearby, until the step; see [`Sam::climb`].
#[must_use = "the parameters go back when it is dropped"]
#[derive(Debug)]
pub struct Climbed<'a, R: Rule> {
    sam: &'a mut Sam<R>,
    before: Option<Vec<Tensor>>,
}

impl<R: Rule> Climbed<'_, R> {
    /// Puts the parameters back and takes the step with the gradients that the second `backward` left.
    pub fn step(mut self) -> Result<()> {
        let parameters = self.sam.optimizer.parameters();
        let Some(before) = self.before.take() else { return Ok(()) };
        let gradients: Vec<Option<Tensor>> = parameters.iter().map(Tensor::grad).collect();
        let gradients: Vec<&Tensor> = gradients.iter().flatten().collect();
        // They are of the values here.
        let result = Tensor::realize_all(&gradients).and_then(|()| put_back(&parameters, &before)).and_then(|()| self.sam.optimizer.step());
        if result.is_err() {
            self.before = Some(before);
        }
        result
    }
}

fn put_back(parameters: &[Tensor], before: &[Tensor]) -> Result<()> {
    no_grad(|| parameters.iter().zip(before).try_for_each(|(parameter, before)| parameter.assign(before)))?;
    Tensor::realize_all(&parameters.iter().collect::<Vec<_>>())
}

impl<R: Rule> Drop for Climbed<'_, R> {
    fn drop(&mut self) {
        if let Some(before) = self.before.take() {
            // The next reader of a parameter learns of an error.
            let _ = put_back(&self.sam.optimizer.parameters(), &before);
        }
    }
}
