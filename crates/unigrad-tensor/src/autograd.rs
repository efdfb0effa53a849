//! Gradients: `backward`, functional [`grad`], [`no_grad`], [`checkpoint`], and functions with the user's own gradient.
//!
//! In: a loss, and what to differentiate it with respect to. Out: gradients, which are more graph: computed together with what needs them,
//! and differentiable again.
//! Always: the gradient with respect to a tensor is that of its own place in the computation, whatever made it and whether it has been
//! evaluated; what the loss does not depend on is an error where neither `None` nor zeros were asked for.
//! Never: a zero in place of a gradient that was not found.

use crate::{Error, Result, Tensor, autocast, error::graph_error, eval, random};
use std::{fmt, sync::Arc};
use unigrad_graph::{
    CustomGradient, EnableGradGuard, ErrorKind, Expr, NoGradGuard, gradients, next_id, partial_gradients, variable_gradients,
};

/// Runs `f`; what it computes needs no gradients.
pub fn no_grad<T>(f: impl FnOnce() -> T) -> T {
    let _guard = unigrad_graph::no_grad_guard();
    f()
}

/// Until the guard drops, what this thread computes needs no gradients.
#[must_use = "the guard ends when it is dropped"]
pub fn no_grad_guard() -> NoGradGuard {
    unigrad_graph::no_grad_guard()
}

/// Runs `f`; what it computes keeps a way for gradients, inside of [`no_grad`] too.
///
/// ```
/// # unigrad_device::register(unigrad_cpu::CpuDriver::default());
/// use unigrad_tensor::{Device, Tensor, enable_grad, grad_enabled, no_grad};
///
/// assert!(no_grad(|| !grad_enabled() && enable_grad(grad_enabled)));
/// ```
pub fn enable_grad<T>(f: impl FnOnce() -> T) -> T {
    let _guard = unigrad_graph::enable_grad_guard();
    f()
}

/// Until the guard drops, what this thread computes keeps a way for gradients.
#[must_use = "the guard ends when it is dropped"]
pub fn enable_grad_guard() -> EnableGradGuard {
    unigrad_graph::enable_grad_guard()
}

#[track_caller]
fn seed(loss: &Expr, op: &str) -> Result<Expr> {
    if loss.numel() != 1 {
        let message = format!("wants a loss of one element, got {:?}", loss.shape());
        let help = "reduce it (`sum`, `mean`), or give the gradient that arrives with `backward_with`";
        return Err(graph_error(&Expr::fail(ErrorKind::Autograd, op, message, help, &[loss])));
    }
    Ok(loss.constant_like(1.0))
}

#[track_caller]
fn differentiable(loss: &Expr, op: &str) -> Result<()> {
    if loss.needs_grad() {
        return Ok(());
    }
    let message = format!("a {} of {} depends on nothing that requires a gradient", loss.op().name(), loss.dtype());
    let help = "make parameters with `requires_grad()`, and compute the loss outside of `no_grad`";
    Err(graph_error(&Expr::fail(ErrorKind::Autograd, op, message, help, &[loss])))
}

#[track_caller]
fn backward(loss: &Tensor, dy: Option<&Tensor>, consume: bool) -> Result<()> {
    let attempt = eval::Attempt::begin();
    let output = loss.valid()?;
    differentiable(&output, "backward")?;
    let dy = match dy {
        Some(dy) => dy.valid()?.cast(output.dtype()),
        None => seed(&output, "backward")?,
    };
    if dy.shape() != output.shape() {
        let message = format!("the gradient {:?} does not have the tensor's shape {:?}", dy.shape(), output.shape());
        return Err(graph_error(&Expr::fail(
            ErrorKind::Shape,
            "backward",
            message,
            "give a gradient of the tensor's shape",
            &[&output, &dy],
        )));
    }
    // Gradients that accumulate are values; those to be differentiated come from `grad`.
    let _guard = unigrad_graph::no_grad_guard();
    let _within = autocast::within();
    // All or none: an error or a panic in a user's gradient leaves every variable's as it was.
    let found = variable_gradients(&output, &dy, consume)?;
    for (id, gradient) in found {
        if let Some(variable) = Tensor::from_variable(id) {
            variable.accumulate_grad(gradient);
        }
    }
    // Its graph is evaluated with the gradients; computed later, it would cost the forward pass again.
    loss.realize_with_next();
    attempt.succeeded();
    Ok(())
}

impl Tensor {
    /// Adds the gradients of this loss (one element) to every variable it depends on; read them with [`Tensor::grad`].
    ///
    /// Frees the graph: a second pass through any part of it is an error. See [`Tensor::backward_retain`].
    ///
    /// When it fails, no gradient has changed, and what this thread has assigned since its last evaluation (running statistics, say) has its old
    /// value again: the step was not tried.
    #[track_caller]
    pub fn backward(&self) -> Result<()> {
        backward(self, None, true)
    }

    /// As [`Tensor::backward`] from a gradient `dy` that arrives at this tensor.
    #[track_caller]
    pub fn backward_with(&self, dy: &Tensor) -> Result<()> {
        backward(self, Some(dy), true)
    }

    /// As [`Tensor::backward`], but keeps the graph for another pass.
    #[track_caller]
    pub fn backward_retain(&self) -> Result<()> {
        backward(self, None, false)
    }
}

/// The gradients of a loss (one element) for variables, as values, without leaving any in the variables themselves: what an optimizer
/// needs for one step. Zero where the loss does not depend on one.
///
/// Frees the graph, as [`Tensor::backward`] does.
#[track_caller]
pub fn take_gradients(loss: &Tensor, variables: &[Tensor]) -> Result<Vec<Tensor>> {
    let output = loss.valid()?;
    differentiable(&output, "backward")?;
    let dy = seed(&output, "backward")?;
    let _guard = unigrad_graph::no_grad_guard();
    let _within = autocast::within();
    let mut found: std::collections::HashMap<_, _> = variable_gradients(&output, &dy, true)?.into_iter().collect();
    let mut all = Vec::with_capacity(variables.len());
    for variable in variables {
        let gradient = variable.variable_id().and_then(|id| found.remove(&id));
        let gradient = match gradient {
            Some(gradient) => gradient,
            None => variable.valid()?.zeros_like(),
        };
        all.push(Tensor::from_expr(gradient));
    }
    Ok(all)
}

/// The gradients of a loss (one element) with respect to tensors: any that it was computed from, whether variable, plain, constant, view
/// or intermediate, and whether evaluated or not.
///
/// The result can be differentiated again, and the graph stays. Two names of one tensor (`clone`, `contiguous`, a `cast` to the dtype that
/// is there, `to` the device that is there; a plain tensor and what it was assigned) are one tensor here too; any other op gives a tensor
/// of its own, as in PyTorch.
///
/// An error if the loss does not depend on one of them (see [`grad_allow_unused`]), or if a tensor between them was evaluated and needs no
/// gradient: such a tensor forgets what it was computed from, so a plain tensor whose gradient is asked for after evaluations in between
/// is to be made with [`Tensor::requires_grad`].
///
/// ```
/// # unigrad_device::register(unigrad_cpu::CpuDriver::default());
/// use unigrad_tensor::{Device, Tensor, grad, grad_allow_unused};
///
/// let device = Device::open("cpu")?;
/// let x = Tensor::new([[1.0f32, 2.0], [3.0, 4.0]], &device);
/// let view = x.t();
/// let loss = view.t().square().sum(());
/// assert_eq!(grad(&loss, &[&view])?[0].to_vec::<f32>()?, [2.0, 6.0, 4.0, 8.0]);
///
/// let other = Tensor::new([1.0f32], &device);
/// assert!(grad(&loss, &[&other]).is_err());
/// assert!(grad_allow_unused(&loss, None, &[&other])?[0].is_none());
/// # Ok::<(), unigrad_tensor::Error>(())
/// ```
#[track_caller]
pub fn grad(loss: &Tensor, wrt: &[&Tensor]) -> Result<Vec<Tensor>> {
    used(loss, wrt, grad_allow_unused(loss, None, wrt)?)
}

/// As [`grad`], for a tensor of any shape with the gradient `dy` that arrives at it.
#[track_caller]
pub fn grad_with(output: &Tensor, dy: &Tensor, wrt: &[&Tensor]) -> Result<Vec<Tensor>> {
    used(output, wrt, grad_allow_unused(output, Some(dy), wrt)?)
}

/// As [`grad`] (or [`grad_with`], with `dy`), with `None` for what the output does not depend on: because nothing was computed from it, or
/// only through integers, comparisons, indices, [`Tensor::detach`] or, for what needs gradients, [`no_grad`].
#[track_caller]
pub fn grad_allow_unused(output: &Tensor, dy: Option<&Tensor>, wrt: &[&Tensor]) -> Result<Vec<Option<Tensor>>> {
    let output = output.valid()?;
    let dy = match dy {
        Some(dy) => dy.valid()?.cast(output.dtype()),
        None => seed(&output, "grad")?,
    };
    if dy.shape() != output.shape() {
        let message = format!("the gradient {:?} does not have the tensor's shape {:?}", dy.shape(), output.shape());
        return Err(graph_error(&Expr::fail(ErrorKind::Shape, "grad", message, "give a gradient of the tensor's shape", &[&output, &dy])));
    }
    let mut nodes = Vec::with_capacity(wrt.len());
    for tensor in wrt {
        nodes.push(tensor.valid()?);
    }
    let _within = autocast::within();
    let found = gradients(&output, &dy, &nodes)?;
    Ok(found.into_iter().map(|gradient| gradient.map(Tensor::from_expr)).collect())
}

/// The gradients, or an error for the first one that is missing.
#[track_caller]
fn used(output: &Tensor, wrt: &[&Tensor], found: Vec<Option<Tensor>>) -> Result<Vec<Tensor>> {
    let mut all = Vec::with_capacity(found.len());
    for (i, gradient) in found.into_iter().enumerate() {
        let Some(gradient) = gradient else {
            let (output, node) = (output.expr(), wrt[i].expr());
            let message = format!("the {:?} {} to differentiate does not depend on tensor {i}", output.shape(), output.dtype());
            let help = "leave it out, or ask with `grad_allow_unused`; gradients end at `detach`, `no_grad`, integers and comparisons";
            return Err(graph_error(&Expr::fail(ErrorKind::Autograd, "grad", message, help, &[&output, &node])));
        };
        all.push(gradient);
    }
    Ok(all)
}

type Backward = dyn Fn(&[Tensor], &Tensor, &Tensor) -> Vec<Option<Tensor>> + Send + Sync;

/// A user's function with its gradient.
struct UserGradient {
    name: String,
    backward: Box<Backward>,
}

impl fmt::Debug for UserGradient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "custom({})", self.name)
    }
}

fn tensors(exprs: &[Expr]) -> Vec<Tensor> {
    exprs.iter().cloned().map(Tensor::from_expr).collect()
}

impl CustomGradient for UserGradient {
    fn name(&self) -> &str {
        &self.name
    }

    fn backward(&self, inputs: &[Expr], output: &Expr, dy: &Expr) -> Result<Vec<Option<Expr>>, unigrad_graph::Error> {
        let output = Tensor::from_expr(output.clone());
        let gradients = (self.backward)(&tensors(inputs), &output, &Tensor::from_expr(dy.clone()));
        Ok(gradients.into_iter().map(|gradient| gradient.map(|tensor| tensor.expr())).collect())
    }
}

/// A function with the user's own gradient.
///
/// `forward` computes the value from the inputs; its ops are not differentiated. `backward` gets inputs, value and the gradient that
/// arrives, and returns one gradient (or `None`) per input.
///
/// ```
/// # unigrad_device::register(unigrad_cpu::CpuDriver::default());
/// use unigrad_tensor::{Device, Tensor, custom};
///
/// // Rounds, but lets the gradient through.
/// let device = Device::open("cpu")?;
/// let x = Tensor::new([0.4f32, 1.6], &device).requires_grad();
/// let y = custom("straight_through", &[&x], |x| x[0].round(), |_x, _y, dy| vec![Some(dy.clone())]);
/// y.sum(()).backward()?;
/// assert_eq!(x.grad().unwrap().to_vec::<f32>()?, [1.0, 1.0]);
/// # Ok::<(), unigrad_tensor::Error>(())
/// ```
#[track_caller]
pub fn custom(
    name: &str,
    inputs: &[&Tensor],
    forward: impl FnOnce(&[Tensor]) -> Tensor,
    backward: impl Fn(&[Tensor], &Tensor, &Tensor) -> Vec<Option<Tensor>> + Send + Sync + 'static,
) -> Tensor {
    let exprs: Vec<Expr> = inputs.iter().map(|tensor| tensor.expr()).collect();
    let value = no_grad(|| forward(&tensors(&exprs))).expr();
    // A value that is itself a variable or an input would let gradients through beside the user's.
    let value = if value.needs_grad() { value.detach() } else { value };
    let gradient = UserGradient { name: name.to_owned(), backward: Box::new(backward) };
    Tensor::from_expr(Expr::custom(Arc::new(gradient), &value, &exprs))
}

type Block = dyn Fn(&[Tensor]) -> Tensor + Send + Sync;

/// A block that is computed a second time in the backward pass.
struct Checkpoint {
    block: Box<Block>,
    /// How many of the node's inputs are the block's; the others were captured.
    n_inputs: usize,
    /// What it drew from the process's generator.
    random: Vec<random::Range>,
    /// The scope of mixed precision that it ran in.
    autocast: autocast::Scope,
}

impl fmt::Debug for Checkpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "checkpoint({} inputs)", self.n_inputs)
    }
}

impl CustomGradient for Checkpoint {
    fn name(&self) -> &str {
        "checkpoint"
    }

    fn backward(&self, inputs: &[Expr], output: &Expr, dy: &Expr) -> Result<Vec<Option<Expr>>, unigrad_graph::Error> {
        let (own, captured) = inputs.split_at(self.n_inputs.min(inputs.len()));
        // The gradient is waited for: without that, the block would be computed again at once and its memory kept.
        let again: Vec<Expr> = {
            let _guard = enable_grad_guard();
            own.iter().map(|input| input.barrier(std::slice::from_ref(dy))).collect()
        };
        let value = {
            let _guard = enable_grad_guard();
            let _scope = autocast::enter(self.autocast.again());
            random::replay(&self.random, || (self.block)(&tensors(&again))).map(|value| value.expr())
        };
        let Some(value) = value else {
            return Err(unigrad_graph::Error {
                kind: ErrorKind::Autograd,
                op: "checkpoint".to_owned(),
                message: "the block drew other random numbers than the first time".to_owned(),
                help: "let it draw the same tensors in the same order whenever it runs".to_owned(),
                origin: output.origin(),
                inputs: Vec::new(),
            });
        };
        if let Some(error) = value.error() {
            return Err((**error).clone());
        }
        let wrt: Vec<Expr> = again.into_iter().chain(captured.iter().cloned()).collect();
        partial_gradients(&value, dy, &wrt)
    }
}

/// Runs a block without keeping what it computes for the backward pass, which computes it again: less memory for more work.
///
/// Gradients arrive at the inputs and at whatever else the block uses. The block must compute the same each time (random numbers from the
/// process's generator are drawn again equally) and must not read values to the host.
///
/// ```
/// # unigrad_device::register(unigrad_cpu::CpuDriver::default());
/// use unigrad_tensor::{Device, Tensor, checkpoint};
///
/// let device = Device::open("cpu")?;
/// let x = Tensor::new([0.5f32, 1.0], &device).requires_grad();
/// let w = Tensor::new([2.0f32, 3.0], &device).requires_grad();
/// let captured = w.clone();
/// let y = checkpoint(move |x| &x[0] * &captured, &[&x]);
/// y.sum(()).backward()?;
/// assert_eq!(w.grad().unwrap().to_vec::<f32>()?, [0.5, 1.0]);
/// # Ok::<(), unigrad_tensor::Error>(())
/// ```
#[track_caller]
pub fn checkpoint(block: impl Fn(&[Tensor]) -> Tensor + Send + Sync + 'static, inputs: &[&Tensor]) -> Tensor {
    let exprs: Vec<Expr> = inputs.iter().map(|tensor| tensor.expr()).collect();
    let since = next_id();
    let scope = autocast::Scope::now();
    let (value, random) = random::record(|| no_grad(|| block(&tensors(&exprs))).expr());
    if value.error().is_some() {
        return Tensor::from_expr(value);
    }
    let captured: Vec<Expr> =
        unigrad_graph::boundary(&value, since).into_iter().filter(|node| !exprs.iter().any(|input| input.same(node))).collect();
    let all: Vec<Expr> = exprs.iter().cloned().chain(captured).collect();
    let value = if value.needs_grad() { value.detach() } else { value };
    Tensor::from_expr(Expr::custom(
        Arc::new(Checkpoint { block: Box::new(block), n_inputs: exprs.len(), random, autocast: scope }),
        &value,
        &all,
    ))
}

impl From<Arc<unigrad_graph::Error>> for Error {
    fn from(error: Arc<unigrad_graph::Error>) -> Error {
        Error::Graph(error)
    }
}
