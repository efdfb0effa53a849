//! Update rules behind one type, and the optimizers that a description makes of them.
//!
//! In: a rule with its settings, a model's parameters, what surrounds the rule. Out: one optimizer, whose steps are transactions.
//! Always: a rule computes what it computes in an optimizer of its own, to the last bit. What a rule cannot have around it is an error with its name.

use super::{
    around::Around,
    optimizer::{MuonSettings, OptimizerSpec},
};
use unigrad_nn::{self as nn, AdamW, Error, Group, Lbfgs, Module, Optimize, Optimizer, Result, Rule, Sophia, StepNumbers, Visitor};
use unigrad_tensor::Tensor;

/// A rule, whichever: so that all rules share one optimizer's code.
pub(super) struct AnyRule(Box<dyn Rule + Send + Sync>);

impl AnyRule {
    /// The rule of an optimizer, with its settings.
    pub(super) fn of<R: Rule + Clone + Send + Sync + 'static>(optimizer: &Optimizer<R>) -> AnyRule {
        AnyRule(Box::new(optimizer.rule().clone()))
    }

    pub(super) fn optimizer(self, parameters: Vec<Tensor>, lr: f64) -> Result<Optimizer<AnyRule>> {
        Optimizer::with_rule(self, vec![Group { parameters, lr, weight_decay: None }])
    }
}

impl Rule for AnyRule {
    fn state_names(&self) -> Vec<&'static str> {
        self.0.state_names()
    }

    fn state_names_of(&self, parameter: &Tensor) -> Vec<&'static str> {
        self.0.state_names_of(parameter)
    }

    fn check(&self, parameter: &Tensor) -> Result<()> {
        self.0.check(parameter)
    }

    fn ready(&self) -> Result<()> {
        self.0.ready()
    }

    fn weight_decay(&self) -> f64 {
        self.0.weight_decay()
    }

    fn initial_state(&self, name: &str, zeros: &Tensor, parameter: &Tensor, lr: f64) -> Tensor {
        self.0.initial_state(name, zeros, parameter, lr)
    }

    fn numbers(&self) -> Vec<(&'static str, f64)> {
        self.0.numbers()
    }

    fn counts_own_steps(&self) -> bool {
        self.0.counts_own_steps()
    }

    fn next_numbers(&self, step: &StepNumbers<'_>) -> Vec<Tensor> {
        self.0.next_numbers(step)
    }

    fn loaded(&mut self, numbers: &[f64]) {
        self.0.loaded(numbers);
    }

    fn switched(&self, value: &Tensor, state: &[Tensor], training: bool) -> Option<Tensor> {
        self.0.switched(value, state, training)
    }

    fn set_training(&mut self, training: bool) {
        self.0.set_training(training);
    }

    fn scalars(&self, step: &StepNumbers<'_>) -> Vec<Tensor> {
        self.0.scalars(step)
    }

    fn is_elementwise(&self) -> bool {
        self.0.is_elementwise()
    }

    fn update(&self, value: &Tensor, gradient: &Tensor, state: &[Tensor], scalars: &[Tensor]) -> (Tensor, Vec<Tensor>) {
        self.0.update(value, gradient, state, scalars)
    }
}

/// One optimizer of groups with settings of their own.
pub(super) fn joined<R: Rule>(
    members: Vec<(OptimizerSpec, Vec<Tensor>)>,
    make: impl Fn(&OptimizerSpec, Vec<Tensor>) -> Result<Optimizer<R>>,
) -> Result<Optimizer<R>> {
    let mut joined: Option<Optimizer<R>> = None;
    for (own, parameters) in members {
        let next = make(&own, parameters)?;
        joined = Some(match joined {
            Some(all) => all.join(next)?,
            None => next,
        });
    }
    joined.ok_or_else(|| Error::argument("an optimizer of no parameter", "let some parameter be trained"))
}

/// Shows the tables of embeddings, which are matrices and no hidden layer's.
#[derive(Default)]
struct Tables(Vec<Tensor>);

impl<'m> Visitor<'m> for Tables {
    fn module(&mut self, module: &'m dyn Module) {
        let embedding = module.downcast_ref::<nn::Embedding>().map(|layer| &layer.weight);
        let bag = module.downcast_ref::<nn::EmbeddingBag>().map(|layer| &layer.weight);
        let encoding = module.downcast_ref::<nn::LearnedEncoding>().map(|layer| &layer.weight);
        self.0.extend(embedding.or(bag).or(encoding).cloned());
    }

    fn parameter(&mut self, _: &str, _: &'m Tensor) {}

    fn buffer(&mut self, _: &str, _: &'m Tensor) {}
}

/// Muon for the matrices of hidden layers, AdamW for the rest, of each member: one optimizer. The last matrix of all is the output's.
pub(super) fn muon<M: Module + ?Sized>(
    members: Vec<(AnyRule, MuonSettings, Vec<Tensor>)>,
    model: &M,
    around: &Around,
) -> Result<Box<dyn Optimize>> {
    let mut tables = Tables::default();
    model.visit(&mut tables);
    let is_matrix = |parameter: &Tensor| parameter.rank() == 2 && !tables.0.iter().any(|table| table.same(parameter));
    let last = model.parameters().into_iter().rfind(is_matrix);
    let mut all: Option<Optimizer<AnyRule>> = None;
    let mut any_hidden = false;
    for (rule, s, parameters) in members {
        let is_hidden = |parameter: &Tensor| is_matrix(parameter) && !last.as_ref().is_some_and(|last| last.same(parameter));
        let (hidden, rest): (Vec<Tensor>, Vec<Tensor>) = parameters.into_iter().partition(is_hidden);
        any_hidden |= !hidden.is_empty();
        let beside = AdamW::new(Vec::new(), s.adamw_lr)?.betas(s.adamw_betas[0], s.adamw_betas[1]);
        let beside = AnyRule::of(&beside.eps(s.adamw_eps).weight_decay(s.adamw_weight_decay)).optimizer(rest, s.adamw_lr)?;
        let own = rule.optimizer(hidden, s.lr)?.join(beside)?;
        all = Some(match all {
            Some(all) => all.join(own)?,
            None => own,
        });
    }
    match all.filter(|_| any_hidden) {
        Some(all) => around.around(all),
        None => {
            let cause = "the optimizer `muon` trains matrices of hidden layers, and the network has none beside its output's";
            Err(Error::argument(cause, "use `adamw`, or a network with more dense layers"))
        }
    }
}

/// [`Sophia`] that renews its estimate itself, by Hutchinson's estimator, every few steps.
pub(super) struct Renewing {
    pub(super) optimizer: Sophia,
    pub(super) every: u64,
}

fn one_loss() -> Error {
    let cause = "`sophia` takes gradients of gradients from time to time, and here is a loss, or its gradients, alone";
    Error::argument(cause, "train without accumulation and a loss scale: in f32 or bf16")
}

impl Optimize for Renewing {
    nn::forward_optimize!(self => self.optimizer);

    fn minimize(&mut self, _: &Tensor, _: &[&Tensor]) -> Result<()> {
        Err(one_loss())
    }

    #[track_caller]
    fn minimize_by(&mut self, forward: &mut dyn FnMut() -> Result<(Tensor, Vec<Tensor>)>) -> Result<Tensor> {
        let (loss, also) = forward()?;
        if self.optimizer.n_steps().is_multiple_of(self.every.max(1)) {
            let (again, _) = forward()?;
            self.optimizer.update_hessian_hutchinson(&again)?;
        }
        self.optimizer.minimize(&loss, &also.iter().collect::<Vec<_>>())?;
        Ok(loss)
    }

    fn step_guarded(&mut self, _: &Tensor, _: &[&Tensor]) -> Result<()> {
        Err(one_loss())
    }
}

/// What a rule that looks at the loss itself cannot have around it.
pub(super) fn alone(name: &str, around: &Around, treated: bool) -> Result<()> {
    let wrong = [
        (around.lookahead.is_some(), "`lookahead`"),
        (around.sam.is_some(), "`sam`"),
        (!treated && around.is_treated(), "clipping and `gradients`"),
    ];
    match wrong.iter().find(|(there, _)| *there) {
        Some((_, what)) => Err(Error::argument(
            format!("{what} around the optimizer `{name}`, which looks at the loss itself"),
            format!("leave {what} out, or use another optimizer"),
        )),
        None => Ok(()),
    }
}

/// L-BFGS of a description.
pub(super) fn lbfgs(settings: &super::optimizer::LbfgsSettings, parameters: Vec<Tensor>) -> Result<Lbfgs> {
    let s = settings;
    let optimizer = Lbfgs::new(parameters, s.lr)?
        .max_iter(s.max_iter)
        .tolerances(s.tolerance_grad, s.tolerance_change)
        .history_size(s.history_size)
        .strong_wolfe(s.strong_wolfe);
    Ok(if s.max_eval == 0 { optimizer } else { optimizer.max_eval(s.max_eval) })
}
