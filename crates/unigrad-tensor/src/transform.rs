//! Transforms of functions: products with the Jacobian from both sides, the Jacobian, the Hessian, hooks on gradients.
//!
//! In: a function of tensors, built of ops on tensors. Out: tensors, which can be differentiated again.
//! Always: the function is called once (by [`jacobian`] and [`hessian`] too); what it does not depend on has derivative 0.
//! Never: computes before a value is read.

use crate::{
    Error, Result, Tensor,
    autograd::{custom, grad_allow_unused},
};
use std::cell::RefCell;
use unigrad_graph::{ErrorKind, Expr};

thread_local! {
    /// What the functions that run on this thread are differentiated by, the innermost last.
    static DIFFERENTIATED: RefCell<Vec<Vec<Expr>>> = const { RefCell::new(Vec::new()) };
}

/// The innermost function ends, also by a panic.
struct Running;

impl Drop for Running {
    fn drop(&mut self) {
        DIFFERENTIATED.with(|all| all.borrow_mut().pop());
    }
}

/// Runs a function that is differentiated by these tensors: what it assigns has no gradient, so that what depends on them is refused there.
pub fn differentiating<T>(by: &[Tensor], function: impl FnOnce() -> T) -> T {
    DIFFERENTIATED.with(|all| all.borrow_mut().push(by.iter().map(Tensor::expr).collect()));
    let _running = Running;
    function()
}

/// Whether a function that runs on this thread is differentiated by something to which a gradient of this tensor goes.
pub fn is_differentiated(tensor: &Tensor) -> bool {
    is_node_differentiated(&tensor.expr())
}

/// As [`is_differentiated`], of a tensor's node.
pub(crate) fn is_node_differentiated(node: &Expr) -> bool {
    DIFFERENTIATED.with(|all| {
        let all = all.borrow();
        !all.is_empty() && node.has_gradient_to(all.iter().flatten())
    })
}

/// Inputs of their own, which the caller's tensors do not know: what is between them and the function's result is the function.
#[track_caller]
fn own(inputs: &[&Tensor]) -> Result<Vec<Tensor>> {
    let mut own = Vec::with_capacity(inputs.len());
    for input in inputs {
        own.push(Tensor::from_expr(input.valid()?.identity()));
    }
    Ok(own)
}

/// The function's results and, for a gradient that arrives at each, the gradients of the inputs: `dyᵀ J`, as `torch.func.vjp`.
///
/// An error if the shapes of results and gradients differ.
///
/// ```
/// # unigrad_device::register(unigrad_cpu::CpuDriver::default());
/// use unigrad_tensor::{Device, Tensor, vjp};
///
/// let device = Device::open("cpu")?;
/// let x = Tensor::new([1.0f32, 2.0, 3.0], &device);
/// let dy = Tensor::new([1.0f32, 0.0, 2.0], &device);
/// let (y, dx) = vjp(|x| vec![x[0].square()], &[&x], &[&dy])?;
/// assert_eq!(y[0].to_vec::<f32>()?, [1.0, 4.0, 9.0]);
/// assert_eq!(dx[0].to_vec::<f32>()?, [2.0, 0.0, 12.0]);
/// # Ok::<(), unigrad_tensor::Error>(())
/// ```
#[track_caller]
pub fn vjp(function: impl FnOnce(&[Tensor]) -> Vec<Tensor>, inputs: &[&Tensor], dy: &[&Tensor]) -> Result<(Vec<Tensor>, Vec<Tensor>)> {
    let own = own(inputs)?;
    let outputs = differentiating(&own, || function(&own));
    let gradients = pulled_back(&outputs, dy, &own)?;
    Ok((outputs, gradients))
}

/// The gradients of `inputs` for what arrives at `outputs`, 0 where nothing does.
#[track_caller]
fn pulled_back(outputs: &[Tensor], dy: &[&Tensor], inputs: &[Tensor]) -> Result<Vec<Tensor>> {
    if outputs.len() != dy.len() {
        return Err(argument(format!("{} gradients for {} results", dy.len(), outputs.len()), "give one for each result"));
    }
    let wrt: Vec<&Tensor> = inputs.iter().collect();
    let mut sums: Vec<Option<Tensor>> = vec![None; inputs.len()];
    for (output, dy) in outputs.iter().zip(dy).filter(|(output, _)| output.is_invalid() || output.dtype().is_float()) {
        let found = grad_allow_unused(output, Some(dy), &wrt)?;
        for (sum, part) in sums.iter_mut().zip(found) {
            *sum = match (sum.take(), part) {
                (Some(sum), Some(part)) => Some(sum + part),
                (sum, part) => sum.or(part),
            };
        }
    }
    Ok(sums.into_iter().zip(inputs).map(|(sum, input)| sum.unwrap_or_else(|| input.zeros_like())).collect())
}

#[track_caller]
fn argument(message: String, help: &str) -> Error {
    let invalid = Tensor::fail(ErrorKind::Argument, "transform", message, help, &[]);
    invalid.error().unwrap_or_else(|| Error::Internal("an invalid tensor without an error".into()))
}

/// The function's results and, for a direction of each input, their change in it: `J dx`, as `torch.func.jvp`.
///
/// By two passes backward: the gradients of the inputs are linear in the gradients that arrive, so their own gradient is the product from the
/// other side. An error if the shapes of inputs and directions differ.
///
/// ```
/// # unigrad_device::register(unigrad_cpu::CpuDriver::default());
/// use unigrad_tensor::{Device, Tensor, jvp};
///
/// let device = Device::open("cpu")?;
/// let x = Tensor::new([0.0f32, 1.0], &device);
/// let dx = Tensor::new([1.0f32, 10.0], &device);
/// let (_, dy) = jvp(|x| vec![x[0].square() * x[0].sum(())], &[&x], &[&dx])?;
/// assert_eq!(dy[0].to_vec::<f32>()?, [0.0, 31.0]);
/// # Ok::<(), unigrad_tensor::Error>(())
/// ```
#[track_caller]
pub fn jvp(function: impl FnOnce(&[Tensor]) -> Vec<Tensor>, inputs: &[&Tensor], dx: &[&Tensor]) -> Result<(Vec<Tensor>, Vec<Tensor>)> {
    if inputs.len() != dx.len() {
        return Err(argument(format!("{} directions for {} inputs", dx.len(), inputs.len()), "give one for each input"));
    }
    let own = own(inputs)?;
    let outputs = differentiating(&own, || function(&own));
    let mut changes = Vec::with_capacity(outputs.len());
    for output in &outputs {
        output.valid()?;
        if !output.dtype().is_float() {
            changes.push(output.zeros_like());
            continue;
        }
        // Where it is does not matter, for the gradients are linear in it.
        let arrives = Tensor::from_expr(output.detach().ones_like().expr().identity());
        let gradients = pulled_back(std::slice::from_ref(output), &[&arrives], &own)?;
        let mut product: Option<Tensor> = None;
        for ((gradient, dx), input) in gradients.iter().zip(dx).zip(&own).filter(|(_, input)| input.dtype().is_float()) {
            if dx.valid()?.shape() != input.expr().shape() {
                let message = format!("a direction {:?} for an input {:?}", dx.shape(), input.shape());
                return Err(argument(message, "a direction has its input's shape"));
            }
            let part = (gradient * *dx).sum(());
            product = Some(product.map_or(part.clone(), |product| product + part));
        }
        let change = match &product {
            Some(product) => grad_allow_unused(product, None, &[&arrives])?.pop().flatten(),
            None => None,
        };
        changes.push(change.unwrap_or_else(|| output.zeros_like()));
    }
    Ok((outputs, changes))
}

/// Elements of a result whose gradients are graphs of their own, at most.
const MOST_ROWS: usize = 1 << 16;

/// All derivatives of a function's elements by those of its input: `[result.., input..]`, as `torch.func.jacrev`.
///
/// A gradient for each element of the result: for functions with few. An error beyond 65,536.
///
/// ```
/// # unigrad_device::register(unigrad_cpu::CpuDriver::default());
/// use unigrad_tensor::{Device, Tensor, jacobian};
///
/// let device = Device::open("cpu")?;
/// let x = Tensor::new([2.0f32, 3.0], &device);
/// let j = jacobian(|x| x * x.sum(()), &x)?;
/// assert_eq!(j.to_vec2::<f32>()?, [[7.0, 2.0], [3.0, 8.0]]);
/// # Ok::<(), unigrad_tensor::Error>(())
/// ```
#[track_caller]
pub fn jacobian(function: impl FnOnce(&Tensor) -> Tensor, input: &Tensor) -> Result<Tensor> {
    let own = own(&[input])?;
    let output = differentiating(&own, || function(&own[0]));
    rows_of(&output, &own[0])
}

#[track_caller]
fn rows_of(output: &Tensor, input: &Tensor) -> Result<Tensor> {
    output.valid()?;
    let (count, shape) = (output.numel(), [output.shape(), input.shape()].concat());
    if count > MOST_ROWS {
        return Err(argument(format!("the Jacobian of {count} elements"), "differentiate fewer of them, or use `vjp` and `jvp`"));
    }
    if !output.dtype().is_float() || count == 0 {
        return Ok(Tensor::zeros(shape, input.dtype(), &input.device()?));
    }
    let flat = output.flatten_all();
    let mut rows = Vec::with_capacity(count);
    for i in 0..count {
        let found = grad_allow_unused(&flat.select(0, i as i64), None, &[input])?.pop().flatten();
        rows.push(found.unwrap_or_else(|| input.zeros_like()));
    }
    Tensor::stack(&rows.iter().collect::<Vec<_>>(), 0).reshape(shape.iter().map(|size| *size as i64).collect::<Vec<_>>()).check()
}

/// All second derivatives of a function with one element: `[input.., input..]`, as `torch.func.hessian`.
///
/// ```
/// # unigrad_device::register(unigrad_cpu::CpuDriver::default());
/// use unigrad_tensor::{Device, Tensor, hessian};
///
/// let device = Device::open("cpu")?;
/// let x = Tensor::new([2.0f32, 3.0], &device);
/// let h = hessian(|x| x.prod(()) + x.square().sum(()), &x)?;
/// assert_eq!(h.to_vec2::<f32>()?, [[2.0, 1.0], [1.0, 2.0]]);
/// # Ok::<(), unigrad_tensor::Error>(())
/// ```
#[track_caller]
pub fn hessian(function: impl FnOnce(&Tensor) -> Tensor, input: &Tensor) -> Result<Tensor> {
    let own = own(&[input])?;
    let output = differentiating(&own, || function(&own[0]));
    let gradient = grad_allow_unused(&output, None, &[&own[0]])?.pop().flatten();
    match gradient {
        Some(gradient) => rows_of(&gradient, &own[0]),
        None => {
            let shape = [input.shape(), input.shape()].concat();
            Ok(Tensor::zeros(shape, input.dtype(), &input.device()?))
        }
    }
}

impl Tensor {
    /// The same tensor, whose gradient passes through `hook` on its way back: to look at it, scale it or clip it.
    ///
    /// ```
    /// # unigrad_device::register(unigrad_cpu::CpuDriver::default());
    /// use unigrad_tensor::{Device, Tensor};
    ///
    /// let device = Device::open("cpu")?;
    /// let x = Tensor::new([1.0f32, 2.0], &device).requires_grad();
    /// x.with_gradient_hook(|dy| dy.clamp(-1.0, 1.0)).mul(3.0).sum(()).backward()?;
    /// assert_eq!(x.grad().unwrap().to_vec::<f32>()?, [1.0, 1.0]);
    /// # Ok::<(), unigrad_tensor::Error>(())
    /// ```
    #[track_caller]
    pub fn with_gradient_hook(&self, hook: impl Fn(&Tensor) -> Tensor + Send + Sync + 'static) -> Tensor {
        custom("gradient_hook", &[self], |x| Tensor::from_expr(x[0].expr().identity()), move |_, _, dy| vec![Some(hook(dy))])
    }
}
