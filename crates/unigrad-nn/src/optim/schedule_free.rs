//! Schedule-free AdamW and SGD (Defazio et al., arXiv:2405.15682): no schedule, but gradients at a point between a fast sequence and its average. As the
//! authors' code (facebookresearch/schedule_free) computes them, without storing the average.
//!
//! Always: while training, parameters hold the point `y` where gradients are taken; [`Optimizer::eval`] puts the average `x` in its place, and
//! [`Optimizer::train`] puts `y` back. Which of them they hold is saved with the state, and a step at `x` is an error.

use super::{
    Group, Optimizer, Rule, StepNumbers, betas, misfit,
    rule::{TRAIN_MODE, state_dtype},
    setters,
};
use crate::error::{Error, Result};
use unigrad_tensor::{Origin, Tensor, eval, no_grad};

/// AdamW without a schedule.
pub type AdamWScheduleFree = Optimizer<AdamWScheduleFreeRule>;
/// SGD without a schedule.
pub type SgdScheduleFree = Optimizer<SgdScheduleFreeRule>;

/// How steps count in the average.
#[derive(Clone, Copy, Debug)]
struct Average {
    warmup_steps: u64,
    /// The power of the step.
    r: f64,
    /// The power of the greatest learning rate so far.
    lr_power: f64,
    training: bool,
}

impl Average {
    fn new() -> Average {
        Average { warmup_steps: 0, r: 0.0, lr_power: 2.0, training: true }
    }

    fn numbers(&self) -> Vec<(&'static str, f64)> {
        vec![("lr_max", -1.0), ("weight_sum", 0.0), (TRAIN_MODE, 1.0)]
    }

    fn ready(&self) -> Result<()> {
        if self.training {
            return Ok(());
        }
        Err(Error::argument("a step of a schedule-free optimizer after `eval()`", "call its `train()` before training goes on"))
    }

    /// The step's learning rate, the greatest one so far, the sum of the weights, and this step's share of it.
    fn of(&self, step: &StepNumbers<'_>) -> [Tensor; 4] {
        let mut lr = step.number(step.lr);
        if self.warmup_steps > 0 {
            lr = lr * (&step.step * step.number((self.warmup_steps as f64).recip())).minimum(step.number(1.0));
        }
        let (greatest, sum) = match step.numbers {
            [greatest, sum, ..] => (greatest.maximum(&lr), sum.clone()),
            _ => (lr.clone(), step.number(0.0)),
        };
        // A run-time power, whatever it is: numbers that come from the step are one launch with its counter.
        let weight = greatest.pow(self.lr_power) * (step.step.log() * step.number(self.r)).exp();
        let sum = sum + &weight;
        let share = sum.gt(0.0).where_(weight / &sum, step.number(0.0));
        [lr, greatest, sum, share]
    }

    fn next_numbers(&self, step: &StepNumbers<'_>) -> Vec<Tensor> {
        let [_, greatest, sum, _] = self.of(step);
        [greatest, sum].into_iter().chain(step.numbers.iter().skip(2).cloned()).collect()
    }

    fn loaded(&mut self, numbers: &[f64]) {
        if let [_, _, training] = numbers {
            self.training = *training != 0.0;
        }
    }
}

/// Where the fast sequence begins: at the parameter, in memory of its own.
fn begin(zeros: &Tensor, parameter: &Tensor) -> Tensor {
    parameter.cast(zeros.dtype()) + zeros
}

/// The new point, and the new fast sequence, of a step along `direction`.
fn moved(y: &Tensor, z: &Tensor, direction: &Tensor, share: &Tensor, along: &Tensor, rate: &Tensor) -> (Tensor, Tensor) {
    (y + (z - y) * share + direction * along, z - direction * rate)
}

macro_rules! switches {
    ($optimizer:ident) => {
        impl $optimizer {
            /// Over how many steps the learning rate rises from 0 to its value.
            pub fn warmup_steps(mut self, steps: u64) -> Self {
                self.rule.average.warmup_steps = steps;
                self
            }

            /// How steps count in the average: by the power `r` of the step and `lr_power` of the greatest learning rate so far. Unless told, 0 and 2.
            pub fn weights(mut self, r: f64, lr_power: f64) -> Self {
                (self.rule.average.r, self.rule.average.lr_power) = (r, lr_power);
                self
            }

            /// Puts the averages into the parameters: what is evaluated and saved. Nothing happens where they are there already.
            pub fn eval(&mut self) -> Result<()> {
                self.switch_to(false)
            }

            /// Puts the points where gradients are taken back into the parameters. Nothing happens where they are there already.
            pub fn train(&mut self) -> Result<()> {
                self.switch_to(true)
            }

            /// Whether the parameters are those of training.
            pub fn is_training(&self) -> bool {
                self.rule.average.training
            }
        }
    };
}

impl<R: Rule> Optimizer<R> {
    /// What the parameters become in use, one for each in order, where use has others than training; see [`Rule::switched`].
    fn switched(&self, training: bool) -> Result<Option<Vec<Tensor>>> {
        let mut all = Vec::new();
        let mut state = self.trained.state.iter();
        for (at, group) in self.trained.groups.iter().enumerate() {
            for (parameter, state) in group.parameters.iter().zip(state.by_ref()) {
                let state: Vec<Tensor> = state.iter().map(Tensor::detach).collect();
                let value = parameter.detach().cast(state_dtype(parameter.dtype()));
                match self.rule_at(at).switched(&value, &state, training) {
                    Some(switched) => all.push(switched.cast(parameter.dtype())),
                    None => return Ok(None),
                }
            }
        }
        Ok(Some(all).filter(|all| !all.is_empty()))
    }

    /// The values that use and validation take, one for each parameter in order; `None` where they are the parameters' own.
    pub(super) fn values_in_use(&self) -> Result<Option<Vec<Tensor>>> {
        no_grad(|| self.switched(false))
    }

    /// Puts the values of training, or those in use, into the parameters. Nothing happens where they are there already, or are the same.
    pub(super) fn switch_to(&mut self, training: bool) -> Result<()> {
        let attempt = eval::Attempt::begin();
        let Some(values) = no_grad(|| self.switched(training))? else { return Ok(()) };
        let mut changed = self.parameters();
        no_grad(|| -> Result<()> {
            changed.iter().zip(&values).try_for_each(|(parameter, value)| parameter.assign(value))?;
            for kept in &self.trained.numbers {
                let names = self.rule_at(kept.group).numbers();
                if let Some(mode) = names.iter().position(|(name, _)| *name == TRAIN_MODE).and_then(|at| kept.values.get(at)) {
                    mode.assign(&mode.full_like(f64::from(u8::from(training))))?;
                    changed.push(mode.clone());
                }
            }
            Ok(())
        })?;
        Tensor::realize_all(&changed.iter().collect::<Vec<_>>())?;
        attempt.succeeded();
        self.rule.set_training(training);
        self.own_rules.iter_mut().for_each(|rule| rule.set_training(training));
        Ok(())
    }
}

/// The rule of [`AdamWScheduleFree`].
#[derive(Clone, Copy, Debug)]
pub struct AdamWScheduleFreeRule {
    beta1: f64,
    beta2: f64,
    eps: f64,
    weight_decay: f64,
    average: Average,
}

switches!(AdamWScheduleFree);

impl AdamWScheduleFree {
    /// Learning rate `lr` (the authors: 2.5e-3), betas 0.9 and 0.999, epsilon 1e-8, no weight decay.
    #[track_caller]
    pub fn new(parameters: Vec<Tensor>, lr: f64) -> Result<AdamWScheduleFree> {
        let _origin = Origin::enter_caller();
        let rule = AdamWScheduleFreeRule { beta1: 0.9, beta2: 0.999, eps: 1e-8, weight_decay: 0.0, average: Average::new() };
        Optimizer::with_rule(rule, vec![Group { parameters, lr, weight_decay: None }])
    }

    betas!("How much of the average is in the point where gradients are taken (above 0), and how slowly squares are forgotten.");

    setters! {
        eps, "What is added to the root of the second moment.";
        weight_decay, "How strongly values are pulled to zero.";
    }
}

/// What of a rule is its average's.
macro_rules! averaged {
    ($beta:ident) => {
        fn switched(&self, value: &Tensor, state: &[Tensor], training: bool) -> Option<Tensor> {
            let share = if training { 1.0 - self.$beta } else { 1.0 - 1.0 / self.$beta };
            let z = state.first().filter(|_| self.average.training != training)?;
            Some(value + (z - value) * share)
        }

        fn set_training(&mut self, training: bool) {
            self.average.training = training;
        }

        fn ready(&self) -> Result<()> {
            self.average.ready()
        }

        fn weight_decay(&self) -> f64 {
            self.weight_decay
        }

        fn numbers(&self) -> Vec<(&'static str, f64)> {
            self.average.numbers()
        }

        fn next_numbers(&self, step: &StepNumbers<'_>) -> Vec<Tensor> {
            self.average.next_numbers(step)
        }

        fn loaded(&mut self, numbers: &[f64]) {
            self.average.loaded(numbers);
        }
    };
}

impl Rule for AdamWScheduleFreeRule {
    fn state_names(&self) -> Vec<&'static str> {
        vec!["z", "exp_avg_sq"]
    }

    fn initial_state(&self, name: &str, zeros: &Tensor, parameter: &Tensor, _: f64) -> Tensor {
        if name == "z" { begin(zeros, parameter) } else { zeros.clone() }
    }

    averaged!(beta1);

    fn scalars(&self, step: &StepNumbers<'_>) -> Vec<Tensor> {
        let [rate, _, _, share] = self.average.of(step);
        let along = &rate * ((step.number(1.0) - &share) * step.number(self.beta1) - step.number(1.0));
        let root = step.bias_correction(self.beta2).sqrt().recip();
        let mut scalars = vec![rate, share, along, root];
        scalars.extend([step.weight_decay, self.beta2, 1.0 - self.beta2, self.eps].map(|number| step.number(number)));
        scalars
    }

    fn update(&self, y: &Tensor, gradient: &Tensor, state: &[Tensor], scalars: &[Tensor]) -> (Tensor, Vec<Tensor>) {
        let ([rate, share, along, root, decay, beta2, share2, eps], [z, v]) = (scalars, state) else {
            return misfit(self, state, scalars);
        };
        let v = v * beta2 + gradient * gradient * share2;
        let direction = gradient / (v.sqrt() * root + eps) + y * decay;
        let (y, z) = moved(y, z, &direction, share, along, rate);
        (y, vec![z, v])
    }
}

/// The rule of [`SgdScheduleFree`].
#[derive(Clone, Copy, Debug)]
pub struct SgdScheduleFreeRule {
    momentum: f64,
    weight_decay: f64,
    average: Average,
}

switches!(SgdScheduleFree);

impl SgdScheduleFree {
    /// Learning rate `lr` (the authors: 1), momentum 0.9, no weight decay.
    #[track_caller]
    pub fn new(parameters: Vec<Tensor>, lr: f64) -> Result<SgdScheduleFree> {
        let _origin = Origin::enter_caller();
        let rule = SgdScheduleFreeRule { momentum: 0.9, weight_decay: 0.0, average: Average::new() };
        Optimizer::with_rule(rule, vec![Group { parameters, lr, weight_decay: None }])
    }

    setters! {
        momentum, "How much of the average is in the point where gradients are taken: above 0, below 1.";
        weight_decay, "Adds this multiple of the values to their gradients.";
    }
}

impl Rule for SgdScheduleFreeRule {
    fn state_names(&self) -> Vec<&'static str> {
        vec!["z"]
    }

    fn initial_state(&self, _: &str, zeros: &Tensor, parameter: &Tensor, _: f64) -> Tensor {
        begin(zeros, parameter)
    }

    averaged!(momentum);

    fn scalars(&self, step: &StepNumbers<'_>) -> Vec<Tensor> {
        let [rate, _, _, share] = self.average.of(step);
        let along = &rate * ((step.number(1.0) - &share) * step.number(self.momentum) - step.number(1.0));
        vec![rate, share, along, step.number(step.weight_decay)]
    }

    fn update(&self, y: &Tensor, gradient: &Tensor, state: &[Tensor], scalars: &[Tensor]) -> (Tensor, Vec<Tensor>) {
        let ([rate, share, along, decay], [z]) = (scalars, state) else { return misfit(self, state, scalars) };
        let direction = gradient + y * decay;
        let (y, z) = moved(y, z, &direction, share, along, rate);
        (y, vec![z])
    }
}
