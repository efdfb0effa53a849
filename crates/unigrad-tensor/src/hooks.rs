//! Hooks on gradients: functions that see, and may replace, what arrives at a tensor; gradients of tensors that are no variables.
//!
//! In: a tensor that gradients flow through, and a function. Out: a handle that takes the function away again.
//! Always: the function gets the sum of all that arrives, whatever was computed from the tensor before and after it was given, and what it gives goes on.
//! Never: runs where nothing is differentiated.

use crate::{Result, Tensor, error::graph_error};
use std::sync::Arc;
use unigrad_graph::{ErrorKind, Expr, HookId, add_hook, keep_gradient, remove_hook};

/// A hook that [`Tensor::register_hook`] has added. It stays when this is dropped.
#[derive(Clone, Copy, Debug)]
pub struct GradientHook(HookId);

impl GradientHook {
    /// Takes the hook away; nothing if that was done.
    pub fn remove(&self) {
        remove_hook(self.0);
    }
}

impl Tensor {
    /// From now on each pass calls `hook` with the gradient that arrives at this tensor, all of it, and goes on with what the hook gives: a gradient of the
    /// same shape and dtype. Hooks are called in the order in which they came. That of a variable stays with it whatever value it is given.
    ///
    /// An error if no gradient flows through the tensor. Two names of one tensor (`clone`, a `cast` to the dtype that is there) have the same hooks; see
    /// [`Tensor::with_gradient_hook`] for one of a name of its own.
    ///
    /// ```
    /// # unigrad_device::register(unigrad_cpu::CpuDriver::default());
    /// use unigrad_tensor::{Device, Tensor};
    ///
    /// let x = Tensor::new([1.0f32, 2.0], &Device::open("cpu")?).requires_grad();
    /// let hook = x.register_hook(|dy| dy * 2.0)?;
    /// (&x * 3.0 + &x).sum(()).backward()?;
    /// assert_eq!(x.grad().unwrap().to_vec::<f32>()?, [8.0, 8.0]);
    /// hook.remove();
    /// # Ok::<(), unigrad_tensor::Error>(())
    /// ```
    #[track_caller]
    pub fn register_hook(&self, hook: impl Fn(&Tensor) -> Tensor + Send + Sync + 'static) -> Result<GradientHook> {
        let expr = self.flowing("register_hook")?;
        let function = move |dy: &Expr| {
            let given = hook(&Tensor::from_expr(dy.clone())).expr();
            match given.error() {
                Some(error) => Err((**error).clone()),
                None => Ok(given),
            }
        };
        Ok(GradientHook(add_hook(&expr, self.variable_is_alive(), Arc::new(function))))
    }

    /// From now on backward passes leave this tensor's gradient with it, in [`Tensor::grad`], as they do with variables'; nothing for those.
    ///
    /// An error if no gradient flows through the tensor.
    ///
    /// ```
    /// # unigrad_device::register(unigrad_cpu::CpuDriver::default());
    /// use unigrad_tensor::{Device, Tensor};
    ///
    /// let x = Tensor::new([1.0f32, 2.0], &Device::open("cpu")?).requires_grad();
    /// let y = &x * 3.0;
    /// y.retain_grad()?;
    /// y.square().sum(()).backward()?;
    /// assert_eq!(y.grad().unwrap().to_vec::<f32>()?, [6.0, 12.0]);
    /// # Ok::<(), unigrad_tensor::Error>(())
    /// ```
    #[track_caller]
    pub fn retain_grad(&self) -> Result<()> {
        let expr = self.flowing("retain_grad")?;
        if !self.is_variable() {
            keep_gradient(&expr);
        }
        Ok(())
    }

    /// The node, through which a gradient flows.
    #[track_caller]
    fn flowing(&self, op: &str) -> Result<Expr> {
        let expr = self.valid()?;
        if expr.needs_grad() {
            return Ok(expr);
        }
        let message = format!("no gradient flows through a tensor {:?} of {}", expr.shape(), expr.dtype());
        let help = "make it with `requires_grad()`, or compute it from such a tensor outside of `no_grad`";
        Err(graph_error(&Expr::fail(ErrorKind::Autograd, op, message, help, &[&expr])))
    }
}
