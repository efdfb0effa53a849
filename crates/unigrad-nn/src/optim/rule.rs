//! What an optimizer does to one parameter: the trait that rules of this crate and of programs implement.
//!
//! In: a value, its gradient, its state, and the numbers of a step. Out: the new value and state.
//! Always: a function of its arguments alone, so that it is recorded once and fused; what changes from step to step is a tensor of rank 0.

use crate::error::{Error, Result};
use unigrad_tensor::{DType, Device, Tensor};

/// Weight decay as rules of Adam's kind have it: beside the gradient (`decoupled`: `decay` is what the value is multiplied with), or added to it.
pub(super) fn decayed(value: &Tensor, gradient: &Tensor, decay: &Tensor, decoupled: bool) -> (Tensor, Tensor) {
    if decoupled { (value * decay, gradient.clone()) } else { (value.clone(), gradient + value * decay) }
}

/// The Euclidean norm of all elements, of rank 0.
pub(super) fn norm(x: &Tensor) -> Tensor {
    x.square().sum(()).sqrt()
}

/// What a rule gives for numbers of a step, or tensors of state, that are not those it works with: an error in place of the value and of all state, so that
/// nothing is assigned.
#[cold]
#[track_caller]
pub(super) fn misfit<R: ?Sized>(_: &R, state: &[Tensor], scalars: &[Tensor]) -> (Tensor, Vec<Tensor>) {
    let (rule, n_scalars, n_state) = (std::any::type_name::<R>(), scalars.len(), state.len());
    let cause = format!("{rule} cannot work with {n_scalars} numbers of a step and {n_state} tensors of state");
    let wrong = Tensor::from_error(&Error::Internal(cause));
    (wrong.clone(), vec![wrong; n_state])
}

/// The dtype in which parameters of a dtype are updated, and of their state.
pub(super) fn state_dtype(dtype: DType) -> DType {
    dtype.compute()
}

/// Methods that set a number of a rule and return the optimizer.
macro_rules! setters {
    ($($name:ident, $doc:literal;)*) => { $(
        #[doc = $doc]
        pub fn $name(mut self, $name: f64) -> Self {
            self.rule.$name = $name;
            self
        }
    )* };
}
pub(super) use setters;

/// The method that sets the two shares by which a rule of Adam's kind forgets.
macro_rules! betas {
    ($doc:literal) => {
        #[doc = $doc]
        pub fn betas(mut self, beta1: f64, beta2: f64) -> Self {
            (self.rule.beta1, self.rule.beta2) = (beta1, beta2);
            self
        }
    };
}
pub(super) use betas;

/// The kept number that says whether parameters are those of training (1) or those in use (0).
pub(super) const TRAIN_MODE: &str = "train_mode";

/// A rule's optimizer as it is constructed: a rate, and numbers that setters change.
macro_rules! constructor {
    ($doc:literal, $optimizer:ident, $rule:expr) => {
        #[doc = $doc]
        #[track_caller]
        pub fn new(parameters: Vec<Tensor>, lr: f64) -> Result<$optimizer> {
            let _origin = Origin::enter_caller();
            Optimizer::with_rule($rule, vec![Group { parameters, lr, weight_decay: None }])
        }
    };
}
pub(super) use constructor;

/// Parameters with settings of their own.
#[derive(Clone, Debug)]
pub struct Group {
    /// What to train.
    pub parameters: Vec<Tensor>,
    /// The base learning rate.
    pub lr: f64,
    /// How strongly values are pulled to zero; `None` for the optimizer's own.
    pub weight_decay: Option<f64>,
}

/// How one parameter follows its gradient. A program's own becomes an optimizer by [`crate::Optimizer::with_rule`].
pub trait Rule {
    /// The tensors kept for each parameter.
    fn state_names(&self) -> Vec<&'static str>;

    /// Those of one parameter, where parameters differ (by their rank, say).
    fn state_names_of(&self, _parameter: &Tensor) -> Vec<&'static str> {
        self.state_names()
    }

    /// Whether the rule takes such a parameter; an error names what it is and where it belongs.
    fn check(&self, _parameter: &Tensor) -> Result<()> {
        Ok(())
    }

    /// Whether a step may be taken now.
    fn ready(&self) -> Result<()> {
        Ok(())
    }

    /// The weight decay of groups that have none of their own.
    fn weight_decay(&self) -> f64;

    /// What a tensor of state begins with: zeros, unless a rule says otherwise. `zeros` has the parameter's shape and the state's dtype; `lr` is the
    /// group's. Shape and dtype of what is returned are those of the state from then on; any will do for a rule that is not elementwise.
    fn initial_state(&self, _name: &str, zeros: &Tensor, _parameter: &Tensor, _lr: f64) -> Tensor {
        zeros.clone()
    }

    /// Numbers that are kept from step to step, for each group: names, and what they begin with. Saved with the state.
    fn numbers(&self) -> Vec<(&'static str, f64)> {
        Vec::new()
    }

    /// What the kept numbers ([`StepNumbers::numbers`]) become in a step.
    fn next_numbers(&self, step: &StepNumbers<'_>) -> Vec<Tensor> {
        step.numbers.to_vec()
    }

    /// Whether [`StepNumbers::step`] counts the steps that a parameter took part in, rather than all. A rule with kept numbers, which are those of all
    /// parameters of a group, says so if it has others for parameters that have missed steps ([`StepNumbers::has_missed`]).
    fn counts_own_steps(&self) -> bool {
        self.numbers().is_empty()
    }

    /// Told what the kept numbers are, after a saved state was loaded.
    fn loaded(&mut self, _numbers: &[f64]) {}

    /// For a rule whose parameters differ in training and in use (an average that it keeps): what a value becomes when it changes over, to training or to
    /// use. In the state's dtype, as `value` and `state` are; `None` where both are the same.
    fn switched(&self, _value: &Tensor, _state: &[Tensor], _training: bool) -> Option<Tensor> {
        None
    }

    /// Told that the parameters are those of training, or those in use. The kept number `train_mode`, if the rule has it, tells files.
    fn set_training(&mut self, _training: bool) {}

    /// The numbers of a step, in an order that `update` knows, as tensors of rank 0.
    fn scalars(&self, step: &StepNumbers<'_>) -> Vec<Tensor>;

    /// Whether each element of a parameter is updated by itself: then [`Rule::update`] gets the numbers of the step in the parameter's shape, and all
    /// its state has that shape. A rule that needs norms, rows or products is not; it gets the numbers as tensors of rank 0.
    fn is_elementwise(&self) -> bool {
        true
    }

    /// The new value of a parameter, and its new state (each of the shape and dtype that it has), in the state's dtype (`f32` for half types, else the
    /// parameter's), as the arguments are. A function of its arguments and the rule alone: it is called once for
    /// each type of parameters, recorded and fused, and called again only if it takes tensors or numbers of its own. What changes from step to step is
    /// in `scalars`. It reads no values.
    fn update(&self, value: &Tensor, gradient: &Tensor, state: &[Tensor], scalars: &[Tensor]) -> (Tensor, Vec<Tensor>);
}

/// What a rule computes a step's numbers from.
pub struct StepNumbers<'a> {
    /// Which step it is, from 1: a tensor of rank 0 in the state's dtype, on the parameters' device.
    pub step: Tensor,
    /// The learning rate.
    pub lr: f64,
    /// The weight decay.
    pub weight_decay: f64,
    /// What [`Rule::numbers`] names, as they were before the step: tensors of rank 0.
    pub numbers: &'a [Tensor],
    /// How many steps the parameters took no part in.
    pub(super) missed: u64,
    pub(super) device: &'a Device,
}

impl StepNumbers<'_> {
    /// Whether the parameters have missed steps, for they had no gradient: the kept numbers are not theirs then.
    pub fn has_missed(&self) -> bool {
        self.missed > 0
    }

    /// A number as a run-time scalar: another value makes no other plan.
    pub fn number(&self, value: f64) -> Tensor {
        Tensor::scalar(value, self.step.dtype(), self.device)
    }

    /// `1 - beta^step`, to the precision of the dtype for every step.
    pub fn bias_correction(&self, beta: f64) -> Tensor {
        // `1 - exp(step ln(beta))`: the difference of the first steps would lose half of an `f32`'s digits.
        (&self.step * self.number(beta.ln())).expm1().neg()
    }
}

/// What a rule makes of a parameter's value, its gradient, its state and the step's numbers: the new value, and the new state.
pub(super) fn updated(rule: &dyn Rule, n_state: usize, arguments: &[Tensor]) -> Vec<Tensor> {
    let [value, gradient, rest @ ..] = arguments else { return Vec::new() };
    let (state, scalars) = rest.split_at(n_state.min(rest.len()));
    let dtype = state_dtype(value.dtype());
    let scalars: Vec<Tensor> = match rule.is_elementwise() {
        true => scalars.iter().map(|scalar| scalar.expand(value.shape())).collect(),
        false => scalars.to_vec(),
    };
    let (new_value, new_state) = rule.update(&value.cast(dtype), &gradient.cast(dtype), state, &scalars);
    std::iter::once(new_value.cast(value.dtype())).chain(new_state).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::optim::*;
    use unigrad_tensor::ErrorKind;

    /// A rule that is given one number less than it asks for.
    struct Short<R>(R);

    impl<R: Rule> Rule for Short<R> {
        fn state_names(&self) -> Vec<&'static str> {
            self.0.state_names()
        }

        fn weight_decay(&self) -> f64 {
            self.0.weight_decay()
        }

        fn scalars(&self, step: &StepNumbers<'_>) -> Vec<Tensor> {
            let mut scalars = self.0.scalars(step);
            scalars.pop();
            scalars
        }

        fn update(&self, value: &Tensor, gradient: &Tensor, state: &[Tensor], scalars: &[Tensor]) -> (Tensor, Vec<Tensor>) {
            self.0.update(value, gradient, state, scalars)
        }
    }

    /// Asks the rule for an update with one number too few, then one too many, and so with its state; notes which rule it was.
    fn refuses<R: Rule>(optimizer: Result<Optimizer<R>>, seen: &mut Vec<&'static str>) -> Result<()> {
        let optimizer = optimizer?;
        let (rule, trained) = (optimizer.rule(), &optimizer.trained);
        let name = std::any::type_name::<R>();
        let (value, state) = (trained.parameters()[0].detach(), &trained.state[0]);
        let kept: Vec<Tensor> = trained.numbers.iter().flat_map(|kept| &kept.values).map(Tensor::detach).collect();
        let device = value.device()?;
        let step = Tensor::scalar(1.0, value.dtype(), &device);
        let numbers = StepNumbers { step, lr: 0.1, weight_decay: 0.01, numbers: &kept, missed: 0, device: &device };
        let mut scalars = rule.scalars(&numbers);
        if rule.is_elementwise() {
            scalars = scalars.iter().map(|scalar| scalar.expand(value.shape())).collect();
        }
        let update = |state: &[Tensor], scalars: &[Tensor]| rule.update(&value, &value.ones_like(), state, scalars);
        let (new_value, new_state) = update(state, &scalars);
        assert!(new_value.error().is_none() && new_state.len() == state.len(), "{name}: {:?}", new_value.error());
        let more = |of: &[Tensor]| of.iter().chain([&value]).cloned().collect::<Vec<_>>();
        let mut wrong =
            vec![(state.clone(), scalars[..scalars.len() - 1].to_vec()), (state.clone(), more(&scalars)), (more(state), scalars.clone())];
        if let Some((_, fewer)) = state.split_last() {
            wrong.push((fewer.to_vec(), scalars.clone()));
        }
        for (state, scalars) in wrong {
            let what = format!("{name} with {} tensors of state and {} numbers", state.len(), scalars.len());
            let (new_value, new_state) = update(&state, &scalars);
            for new in new_state.iter().chain([&new_value]) {
                let error = new.error().unwrap_or_else(|| panic!("{what} gives a value"));
                assert_eq!(error.kind(), ErrorKind::Internal, "{what}: {error}");
                assert!(error.to_string().contains("Rule"), "{what}: {error}");
            }
        }
        seen.push(name);
        Ok(())
    }

    #[test]
    fn a_rule_refuses_numbers_and_state_that_are_not_its_own() -> Result<()> {
        unigrad_device::register(unigrad_cpu::CpuDriver);
        let device = Device::open("cpu")?;
        let matrix = || vec![Tensor::full([4, 6], 0.5, DType::F32, &device).requires_grad()];
        let vector = || vec![Tensor::full([5], 0.5, DType::F32, &device).requires_grad()];
        let seen = &mut Vec::new();
        macro_rules! refuse {
            ($($optimizer:expr),* $(,)?) => { $(refuses($optimizer, seen)?;)* };
        }
        refuse!(
            Sgd::new(vector(), 0.1),
            Sgd::new(vector(), 0.1)?.momentum(0.9),
            Adam::new(vector(), 0.1),
            AdamW::new(vector(), 0.1)?.amsgrad(),
            AdamW8bit::new(matrix(), 0.1),
            AdamW8bit::new(matrix(), 0.1)?.least_size(1),
            AdamWScheduleFree::new(vector(), 0.1),
            SgdScheduleFree::new(vector(), 0.1),
            Adadelta::new(vector(), 0.1),
            Adafactor::new(vector(), 0.1),
            Adafactor::new(matrix(), 0.1),
            Adagrad::new(vector(), 0.1),
            Adamax::new(vector(), 0.1),
            Adan::new(vector(), 0.1),
            Asgd::new(vector(), 0.1),
            Lamb::new(vector(), 0.1),
            Lars::new(vector(), 0.1),
            Lion::new(vector(), 0.1),
            Muon::new(matrix(), 0.1),
            NAdam::new(vector(), 0.1),
            RAdam::new(vector(), 0.1),
            RmsProp::new(vector(), 0.1),
            RmsProp::new(vector(), 0.1)?.momentum(0.9),
            RmsProp::new(vector(), 0.1)?.centered(),
            RmsProp::new(vector(), 0.1)?.centered()?.momentum(0.9),
            Rprop::new(vector(), 0.1),
            Shampoo::new(vector(), 0.1),
            Shampoo::new(matrix(), 0.1),
            Shampoo::new(vector(), 0.1)?.momentum(0.9),
            Shampoo::new(matrix(), 0.1)?.momentum(0.9),
            Sophia::new(vector(), 0.1),
            SparseAdam::new(vector(), 0.1),
            Sgd::new(vector(), 0.1)?.lookahead(5, 0.5),
            AdamW::new(vector(), 0.1)?.lookahead(5, 0.5),
        );
        // No rule of these files was left out.
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src/optim");
        let files = std::fs::read_dir(&folder).map_err(|error| Error::read(&folder, error))?;
        for file in files.flatten() {
            let text = std::fs::read_to_string(file.path()).unwrap_or_default();
            let library = text.split("#[cfg(test)]").next().unwrap_or_default();
            for rule in
                library.split(" Rule for ").skip(1).filter_map(|rest| rest.split([' ', '<']).next()).filter(|rule| rule.ends_with("Rule"))
            {
                assert!(
                    seen.iter().any(|name| name.split('<').next().is_some_and(|name| name.ends_with(&format!("::{rule}")))),
                    "{rule} is not here"
                );
            }
        }
        Ok(())
    }

    #[test]
    fn a_step_by_a_rule_that_lacks_a_number_is_an_error_and_changes_nothing() -> Result<()> {
        unigrad_device::register(unigrad_cpu::CpuDriver);
        let w = Tensor::full([3], 2.0, DType::F32, &Device::open("cpu")?).requires_grad();
        let rule = Short(*Sgd::new(vec![w.clone()], 0.5)?.momentum(0.9)?.rule());
        let mut optimizer = Optimizer::with_rule(rule, vec![Group { parameters: vec![w.clone()], lr: 0.5, weight_decay: None }])?;
        let error = optimizer.minimize(&w.sum(()), &[]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Internal, "{error}");
        assert!(
            error.to_string().contains("SgdRule") && error.to_string().contains("3 numbers of a step and 1 tensors of state"),
            "{error}"
        );
        assert_eq!((w.to_vec::<f32>()?, optimizer.n_steps()), (vec![2.0; 3], 0));
        Ok(())
    }
}
