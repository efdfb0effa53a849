//! Nodes that compute nothing: parts, barriers, copies, the user's own gradients.

use crate::{
    CustomGradient, Error, ErrorKind, Expr, Inputs, Op,
    autograd::{Vjp, autograd_error, gradients},
    no_grad_guard,
    op::{CustomOp, KernelSpec},
};
use smallvec::{SmallVec, smallvec};
use std::sync::{Arc, LazyLock};
use unigrad_scalar::DType;

/// The gradient of a value that is cut off.
#[derive(Debug)]
struct Stop;

/// One for all, so that it looks the same in every plan.
static STOP: LazyLock<Arc<dyn CustomGradient>> = LazyLock::new(|| Arc::new(Stop));

impl CustomGradient for Stop {
    fn name(&self) -> &str {
        "detach"
    }

    fn backward(&self, _inputs: &[Expr], _output: &Expr, _dy: &Expr) -> Result<Vec<Option<Expr>>, Error> {
        Ok(Vec::new())
    }
}

type Formula = dyn Fn(&[Expr]) -> Expr + Send + Sync;

/// A value computed in a way that is fast but must not be differentiated, with the formula to differentiate in its place.
struct Stated {
    name: &'static str,
    formula: Box<Formula>,
}

impl std::fmt::Debug for Stated {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

impl CustomGradient for Stated {
    fn name(&self) -> &str {
        self.name
    }

    fn backward(&self, inputs: &[Expr], _output: &Expr, dy: &Expr) -> Result<Vec<Option<Expr>>, Error> {
        // One input may be computed from another: differentiate by stand-ins.
        let own: Vec<Expr> = inputs.iter().map(Expr::identity).collect();
        gradients(&(self.formula)(&own), dy, &own)
    }
}

impl Expr {
    /// What `value` makes of the inputs, with the gradient that `formula`, which gives the same, has.
    #[track_caller]
    pub(crate) fn stated(
        name: &'static str,
        inputs: &[Expr],
        value: impl FnOnce(&[Expr]) -> Expr,
        formula: impl Fn(&[Expr]) -> Expr + Send + Sync + 'static,
    ) -> Expr {
        let value = {
            let _guard = no_grad_guard();
            value(inputs)
        };
        if value.error().is_some() {
            return value;
        }
        Expr::custom(Arc::new(Stated { name, formula: Box::new(formula) }), &value, inputs)
    }

    /// Part `i` of a node with several outputs.
    #[track_caller]
    pub fn part(&self, i: usize) -> Expr {
        if let Op::Composite(composite) = self.op()
            && let Some(of) = composite.result_type(i)
        {
            return self.clone().part_of(i, of);
        }
        if let Op::Loop(spec) = self.op()
            && let Some(of) = spec.part_type(i)
        {
            return Expr::like(Op::Part(i), [self.clone()], of, of.dtype);
        }
        let inputs = self.inputs().clone();
        let (shape, dtype) = match (self.op(), i) {
            (Op::Attention(_), 1) => (SmallVec::from_slice(&self.shape()[..3]), self.dtype().compute()),
            (Op::MaxPool(_), 1) => (self.shape().clone(), DType::I64),
            (Op::AttentionGrad(_), 1 | 2) if inputs.len() > i => (inputs[i].shape().clone(), self.dtype()),
            _ => (self.shape().clone(), self.dtype()),
        };
        Expr::new(Op::Part(i), [self.clone()], shape, dtype)
    }

    /// The value, recomputed apart from any other use of the same expression, and not before `after` are there.
    #[track_caller]
    pub fn barrier(&self, after: &[Expr]) -> Expr {
        let inputs = std::iter::once(self.clone()).chain(after.iter().cloned());
        Expr::like(Op::Barrier, inputs.collect::<Inputs>(), self.tensor_type(), self.dtype())
    }

    /// The same value, through which no gradient goes.
    #[track_caller]
    pub fn detach(&self) -> Expr {
        if self.error().is_some() {
            return self.clone();
        }
        let _guard = no_grad_guard();
        Expr::custom(STOP.clone(), self, &[])
    }

    /// Whether it is a value through which no gradient goes, by [`Expr::detach`].
    pub fn is_detached(&self) -> bool {
        matches!(self.op(), Op::Custom(custom) if Arc::ptr_eq(&custom.0, &STOP))
    }

    /// The same value as a node of its own: a gradient with respect to the one is not that with respect to the other.
    #[track_caller]
    pub fn identity(&self) -> Expr {
        if self.error().is_some() {
            return self.clone();
        }
        Expr::like(Op::Cast, [self.clone()], self.tensor_type(), self.dtype())
    }

    /// The value on another device.
    #[track_caller]
    pub fn copy_to(&self, device: u32) -> Expr {
        if self.error().is_some() || self.device() == device {
            return self.clone();
        }
        Expr::with(Op::Copy, smallvec![self.clone()], self.shape(), self.dtype(), device, None)
    }

    /// The value that an assignment of `self` over `old` gives; see [`Op::Commit`]. No gradient goes through it.
    #[track_caller]
    pub fn commit(&self, old: &Expr, condition: Option<&Expr>) -> Expr {
        self.clone().commit_with(old.clone(), condition.cloned())
    }

    /// As [`Expr::commit`], of handles that nothing else needs.
    #[track_caller]
    pub fn commit_with(self, old: Expr, condition: Option<Expr>) -> Expr {
        let of = self.tensor_type().clone();
        self.commit_result(None, &of, old, condition)
    }

    /// As [`Expr::commit_with`], of result `i` of `self`, which is a composite.
    #[track_caller]
    pub fn commit_part_with(self, i: usize, old: Expr, condition: Option<Expr>) -> Expr {
        let of = if let Op::Composite(composite) = self.op() { composite.result_type(i).cloned() } else { None };
        let part = of.zip(u32::try_from(i).ok());
        match part {
            Some((of, i)) => self.commit_result(Some(i), &of, old, condition),
            None => self.part(i).commit_with(old, condition),
        }
    }

    /// The new value of an assignment that has not been computed, as a node.
    #[track_caller]
    pub fn committed(&self) -> Option<Expr> {
        let Op::Commit(part) = self.op() else { return None };
        let value = self.input(0)?;
        Some(match part {
            Some(i) => value.part(*i as usize),
            None => value,
        })
    }

    #[track_caller]
    fn commit_result(self, part: Option<u32>, of: &Arc<crate::TensorType>, old: Expr, condition: Option<Expr>) -> Expr {
        let all = || [Some(&self), Some(&old), condition.as_ref()].into_iter().flatten();
        if let Some(invalid) = all().find(|input| input.is_invalid()) {
            return invalid.clone();
        }
        let fits = of.shape == *old.shape() && of.dtype == old.dtype() && self.device() == old.device();
        let asks = condition.as_ref().is_none_or(|c| c.dtype() == DType::Bool && c.rank() == 0 && c.device() == self.device());
        if !fits || !asks {
            let inputs: SmallVec<[&Expr; 3]> = all().collect();
            let message = "wants two values of one shape, dtype and device, and a Bool of rank 0 there".to_owned();
            return Expr::fail(ErrorKind::Shape, "assign", message, "expand, cast or move the value, and reduce the condition", &inputs);
        }
        let _guard = no_grad_guard();
        let mut inputs = Inputs::from_buf([self, old]);
        inputs.extend(condition);
        Expr::of_type(&Op::Commit(part), inputs, of, None)
    }

    /// What a program that the user wrote makes of the inputs.
    #[track_caller]
    pub fn kernel(spec: Arc<KernelSpec>, inputs: &[Expr], shape: &[usize], dtype: DType, device: u32) -> Expr {
        if inputs.iter().any(|input| input.error().is_none() && input.device() != device) {
            let inputs: SmallVec<[&Expr; 3]> = inputs.iter().collect();
            let message = format!("an input of the kernel {} is on another device", spec.program.name);
            return Expr::fail(ErrorKind::Device, "kernel", message, "move it with `to(&device)`", &inputs);
        }
        Expr::with(Op::Kernel(spec), inputs.iter().cloned().collect(), shape, dtype, device, None)
    }

    /// `value`, a function of `inputs`, with the user's gradient.
    #[track_caller]
    pub fn custom(gradient: Arc<dyn CustomGradient>, value: &Expr, inputs: &[Expr]) -> Expr {
        let all = std::iter::once(value.clone()).chain(inputs.iter().cloned());
        Expr::like(Op::Custom(CustomOp(gradient)), all.collect::<Inputs>(), value.tensor_type(), value.dtype())
    }
}

pub(super) fn custom_vjp(v: &mut Vjp<'_>, custom: &CustomOp) -> Result<(), Error> {
    let own = &v.inputs[1..];
    let gradients = custom.0.backward(own, v.node, v.dy)?;
    if gradients.len() != own.len() {
        let message = format!("{} returned {} gradients for {} inputs", custom.0.name(), gradients.len(), own.len());
        return Err(autograd_error(v.node, message, "return one gradient, or `None`, per input"));
    }
    for (i, gradient) in gradients.into_iter().enumerate() {
        let Some(gradient) = gradient else { continue };
        let input = v.x(i + 1);
        if gradient.error().is_none() && (gradient.shape() != input.shape() || gradient.dtype() != input.dtype()) {
            let message = format!(
                "{} returned a gradient {:?} {} for input {i}, which is {:?} {}",
                custom.0.name(),
                gradient.shape(),
                gradient.dtype(),
                input.shape(),
                input.dtype()
            );
            return Err(autograd_error(v.node, message, "a gradient has its input's shape and dtype"));
        }
        if gradient.error().is_none() && gradient.device() != input.device() {
            let message = format!("{} returned a gradient for input {i} that is on another device", custom.0.name());
            return Err(autograd_error(v.node, message, "move it with `to(&device)`"));
        }
        v.send_made(i + 1, gradient);
    }
    Ok(())
}
