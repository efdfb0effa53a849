//! An optimizer of groups whose settings may change between steps: what a program has that keeps its settings itself.
//!
//! In: parameters in groups, each with settings of one rule. Out: steps. Always: another learning rate is another number and no other plan; any other
//! setting records the update anew. State stays, whatever changes.

use super::{
    around::{LookaheadSettings, SamSettings},
    optimizer::{OptimizerSpec, sophia},
    rules::{self, AnyRule},
};
use std::mem::discriminant;
use unigrad_nn::{self as nn, Error, Lbfgs, LookaheadRule, Optimize, Optimizer, Result, Sam, Sophia};
use unigrad_tensor::Tensor;

/// What takes the steps.
enum Steps {
    Plain(Optimizer<AnyRule>),
    Slow(Optimizer<LookaheadRule<AnyRule>>),
    Sam(Sam<AnyRule>),
    Sophia(Sophia),
    Lbfgs(Lbfgs),
}

/// An optimizer of groups whose settings may change between steps.
///
/// ```
/// use unigrad_train::network::{Descent, OptimizerSpec};
/// # unigrad_device::register(unigrad_cpu::CpuDriver::default());
/// use unigrad_tensor::{Device, Tensor};
///
/// let w = Tensor::new([1.0f32, -2.0], &Device::open("cpu")?).requires_grad();
/// let sgd = |lr: f64| OptimizerSpec::from_json(&format!(r#"{{ "sgd": {{ "lr": {lr} }} }}"#));
/// let mut optimizer = Descent::new(vec![(sgd(0.25)?, vec![w.clone()])])?;
/// w.square().sum(()).backward()?;
/// optimizer.set(0, sgd(0.5)?)?;
/// optimizer.step()?;
/// assert_eq!(w.to_vec::<f32>()?, [0.0, 0.0]);
/// # Ok::<(), unigrad_tensor::Error>(())
/// ```
pub struct Descent {
    settings: Vec<OptimizerSpec>,
    steps: Steps,
}

/// Whether the numbers make sense; a rate of 0 does here, where it may change.
fn check(settings: &OptimizerSpec) -> Result<()> {
    let lr = settings.lr();
    if !(lr >= 0.0 && lr.is_finite()) {
        return Err(Error::argument(format!("the optimizer's `lr` is {lr}"), "a learning rate is a finite number, 0 or above"));
    }
    settings.clone().with_lr(1.0).check()
}

fn closure(name: &str) -> Error {
    let cause = format!("a step of `{name}` without a closure");
    Error::argument(cause, "it looks at the loss several times: give a function that computes it")
}

fn several(name: &str) -> Error {
    Error::argument(format!("several groups for `{name}`, which takes all parameters as one vector"), "give one group")
}

impl OptimizerSpec {
    /// Of JSON, as files have it: `{"adam": {"lr": 0.01}}`.
    pub fn from_json(text: &str) -> Result<OptimizerSpec> {
        let help = "see the optimizer's settings in its documentation";
        serde_json::from_str(text).map_err(|error| Error::argument(format!("settings of an optimizer: {error}"), help))
    }
}

impl Descent {
    /// Of groups, which all have the same rule. An error if a setting makes no sense, or a parameter requires no gradient.
    #[track_caller]
    pub fn new(groups: Vec<(OptimizerSpec, Vec<Tensor>)>) -> Result<Descent> {
        let Some((first, _)) = groups.first() else {
            return Err(Error::argument("an optimizer without a group", "give at least one, with its parameters"));
        };
        groups.iter().try_for_each(|(settings, _)| check(settings))?;
        if groups.iter().any(|(settings, _)| discriminant(settings) != discriminant(first)) {
            return Err(Error::argument("groups with different rules", "another rule is another optimizer"));
        }
        let settings = groups.iter().map(|(settings, _)| settings.clone()).collect();
        let steps = match first {
            OptimizerSpec::Lbfgs(own) => {
                let own = own.clone();
                let [(_, parameters)] = <[_; 1]>::try_from(groups).map_err(|_| several("lbfgs"))?;
                Steps::Lbfgs(rules::lbfgs(&own, parameters)?)
            }
            OptimizerSpec::Sophia(_) => Steps::Sophia(rules::joined(groups, |own, parameters| match own {
                OptimizerSpec::Sophia(own) => sophia(own, parameters),
                _ => Err(Error::Internal("groups with different rules".into())),
            })?),
            _ => Steps::Plain(rules::joined(groups, |own, parameters| own.rule()?.optimizer(parameters, own.lr()))?),
        };
        Ok(Descent { settings, steps })
    }

    fn plain(self, what: &str) -> Result<(Vec<OptimizerSpec>, Optimizer<AnyRule>)> {
        match self.steps {
            Steps::Plain(optimizer) => Ok((self.settings, optimizer)),
            _ => Err(Error::argument(
                format!("{what} around an optimizer that looks at the loss itself, or is surrounded already"),
                format!("give {what} a plain optimizer, such as `adamw`"),
            )),
        }
    }

    /// With slow weights (Zhang et al., arXiv:1907.08610) around the rule.
    pub fn lookahead(self, slow: LookaheadSettings) -> Result<Descent> {
        let (settings, optimizer) = self.plain("lookahead")?;
        Ok(Descent { settings, steps: Steps::Slow(optimizer.lookahead(slow.every, slow.alpha)?) })
    }

    /// With sharpness-aware steps (Foret et al., arXiv:2010.01412).
    pub fn sam(self, sam: SamSettings) -> Result<Descent> {
        if !(sam.rho > 0.0 && sam.rho.is_finite()) {
            return Err(Error::argument(format!("`rho` is {}", sam.rho), "use a finite number above 0"));
        }
        let (settings, optimizer) = self.plain("sam")?;
        Ok(Descent { settings, steps: Steps::Sam(optimizer.sam(sam.rho).adaptive(sam.adaptive)) })
    }

    fn as_optimize(&self) -> &dyn Optimize {
        match &self.steps {
            Steps::Plain(optimizer) => optimizer,
            Steps::Slow(optimizer) => optimizer,
            Steps::Sam(optimizer) => optimizer,
            Steps::Sophia(optimizer) => optimizer,
            Steps::Lbfgs(optimizer) => optimizer,
        }
    }

    fn as_optimize_mut(&mut self) -> &mut dyn Optimize {
        match &mut self.steps {
            Steps::Plain(optimizer) => optimizer,
            Steps::Slow(optimizer) => optimizer,
            Steps::Sam(optimizer) => optimizer,
            Steps::Sophia(optimizer) => optimizer,
            Steps::Lbfgs(optimizer) => optimizer,
        }
    }

    /// Whether a step needs the loss itself: [`Optimize::minimize_by`].
    pub fn needs_closure(&self) -> bool {
        matches!(self.steps, Steps::Sam(_) | Steps::Lbfgs(_))
    }

    /// Other settings for a group, from the next step on.
    pub fn set(&mut self, group: usize, settings: OptimizerSpec) -> Result<()> {
        let n = self.settings.len();
        let none = || Error::argument(format!("group {group} of {n} groups"), "groups are counted from 0");
        let before = self.settings.get(group).ok_or_else(none)?;
        if *before == settings {
            return Ok(());
        }
        if discriminant(before) != discriminant(&settings) {
            return Err(Error::argument("another rule for a group", "another rule is another optimizer"));
        }
        check(&settings)?;
        let lr = settings.lr();
        let only_lr = before.clone().with_lr(lr) == settings;
        match (&mut self.steps, &settings) {
            (Steps::Lbfgs(optimizer), _) if only_lr => optimizer.set_lr(lr),
            (Steps::Plain(optimizer), settings) => {
                if !only_lr {
                    optimizer.set_rule(group, settings.rule()?)?;
                }
                optimizer.set_group(group, lr, None)?;
            }
            (Steps::Sam(sam), settings) => {
                if !only_lr {
                    sam.optimizer_mut().set_rule(group, settings.rule()?)?;
                }
                sam.optimizer_mut().set_group(group, lr, None)?;
            }
            (Steps::Sophia(optimizer), OptimizerSpec::Sophia(own)) => {
                if !only_lr {
                    optimizer.set_rule(group, *sophia(own, Vec::new())?.rule())?;
                }
                optimizer.set_group(group, lr, None)?;
            }
            (Steps::Slow(optimizer), _) if only_lr => optimizer.set_group(group, lr, None)?,
            _ => {
                let help = "change `lr` alone, or make a new optimizer and load this one's state";
                return Err(Error::argument("a setting of this optimizer that cannot change between steps", help));
            }
        }
        if let Some(known) = self.settings.get_mut(group) {
            *known = settings;
        }
        Ok(())
    }

    /// Whether a group's steps go up what is differentiated, not down. An error for a rule that looks at the loss itself.
    pub fn set_maximize(&mut self, group: usize, maximize: bool) -> Result<()> {
        match &mut self.steps {
            Steps::Plain(optimizer) => optimizer.set_maximize(group, maximize),
            Steps::Slow(optimizer) => optimizer.set_maximize(group, maximize),
            Steps::Sophia(optimizer) => optimizer.set_maximize(group, maximize),
            Steps::Sam(_) | Steps::Lbfgs(_) if maximize => {
                let cause = "a group that goes up, of an optimizer that looks at the loss itself";
                Err(Error::argument(cause, "minimize the negative of what is to be maximized"))
            }
            Steps::Sam(_) | Steps::Lbfgs(_) => Ok(()),
        }
    }

    /// One step with the gradients that `backward` left; see [`Optimizer::step`].
    #[track_caller]
    pub fn step(&mut self) -> Result<()> {
        match &mut self.steps {
            Steps::Plain(optimizer) => optimizer.step(),
            Steps::Slow(optimizer) => optimizer.step(),
            Steps::Sophia(optimizer) => optimizer.step(),
            Steps::Sam(_) => Err(closure("sam")),
            Steps::Lbfgs(_) => Err(closure("lbfgs")),
        }
    }

    /// Renews the estimate of [`Sophia`]: by Hutchinson's estimator, or by Gauss, Newton and Bartlett. An error for another rule.
    #[track_caller]
    pub fn update_hessian(&mut self, loss: &Tensor, hutchinson: bool) -> Result<()> {
        match &mut self.steps {
            Steps::Sophia(optimizer) if hutchinson => optimizer.update_hessian_hutchinson(loss),
            Steps::Sophia(optimizer) => optimizer.update_hessian(loss),
            _ => Err(Error::argument("an estimate of the Hessian for a rule that has none", "use `sophia`")),
        }
    }
}

impl Optimize for Descent {
    fn parameters(&self) -> Vec<Tensor> {
        self.as_optimize().parameters()
    }

    #[track_caller]
    fn minimize(&mut self, loss: &Tensor, also: &[&Tensor]) -> Result<()> {
        self.as_optimize_mut().minimize(loss, also)
    }

    #[track_caller]
    fn minimize_by(&mut self, forward: &mut dyn FnMut() -> Result<(Tensor, Vec<Tensor>)>) -> Result<Tensor> {
        self.as_optimize_mut().minimize_by(forward)
    }

    #[track_caller]
    fn step_guarded(&mut self, guard: &Tensor, also: &[&Tensor]) -> Result<()> {
        self.as_optimize_mut().step_guarded(guard, also)
    }

    fn zero_grad(&self) {
        self.as_optimize().zero_grad();
    }

    fn n_steps(&self) -> u64 {
        self.as_optimize().n_steps()
    }

    fn lr(&self) -> f64 {
        self.as_optimize().lr()
    }

    fn set_lr(&mut self, lr: f64) {
        self.settings.iter_mut().for_each(|own| *own = own.clone().with_lr(lr));
        self.as_optimize_mut().set_lr(lr);
    }

    fn set_lr_factor(&mut self, factor: f64) {
        self.as_optimize_mut().set_lr_factor(factor);
    }

    fn state_dict(&self) -> Result<nn::optimize_types::State> {
        self.as_optimize().state_dict()
    }

    fn load_state_dict(&mut self, state: &nn::optimize_types::State, n_steps: u64) -> Result<()> {
        self.as_optimize_mut().load_state_dict(state, n_steps)
    }

    fn state_bytes(&self) -> usize {
        self.as_optimize().state_bytes()
    }

    fn values_in_use(&self) -> Result<Option<Vec<Tensor>>> {
        self.as_optimize().values_in_use()
    }

    fn set_training(&mut self, training: bool) -> Result<()> {
        self.as_optimize_mut().set_training(training)
    }
}
