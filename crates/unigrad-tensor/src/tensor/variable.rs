//! Variables that are frozen, moved and cast in place: what modules do to their parameters.
//!
//! In: a tensor. Out: the same tensor with another value, or without gradients. Always: all holders of a handle to it see the change.
//! Never: changes what was computed before.

use super::Tensor;
use crate::Result;
use std::sync::{Arc, atomic::Ordering};
use unigrad_graph::{ErrorKind, Expr, Op};

/// The value of a variable's node, or the node of anything else.
fn bare(expr: Expr) -> Expr {
    if matches!(expr.op(), Op::Variable(_)) { expr.input(0).unwrap_or(expr) } else { expr }
}

impl Tensor {
    /// Whether gradients arrive at this variable: `false` freezes it, for all holders of the tensor, and forgets its gradient; `true` undoes that.
    ///
    /// A frozen variable stays a parameter: optimizers skip it, files have it, and it can be trained again. What was computed from it before keeps
    /// its gradient's way. An error for a tensor that is no variable: make it one with [`Tensor::requires_grad`].
    ///
    /// ```
    /// # unigrad_device::register(unigrad_cpu::CpuDriver::default());
    /// use unigrad_tensor::{Device, Tensor};
    ///
    /// let device = Device::open("cpu")?;
    /// let [a, b] = [1.0f32, 2.0].map(|value| Tensor::new([value], &device).requires_grad());
    /// a.set_trainable(false)?;
    /// (&a * &b).sum(()).backward()?;
    /// assert!(a.grad().is_none() && b.grad().is_some());
    /// # Ok::<(), unigrad_tensor::Error>(())
    /// ```
    #[track_caller]
    pub fn set_trainable(&self, trainable: bool) -> Result<()> {
        let expr = self.valid()?;
        let Some(frozen) = self.with_variable(|variable| variable.frozen.swap(!trainable, Ordering::Relaxed)) else {
            let message = format!("a tensor {:?} that gradients never arrived at", expr.shape());
            let help = "make a parameter of it with `requires_grad()`";
            return Err(crate::error::graph_error(&Expr::fail(ErrorKind::Autograd, "set_trainable", message, help, &[&expr])));
        };
        if frozen == trainable {
            self.set_value(bare(expr));
        }
        if !trainable {
            self.zero_grad();
        }
        Ok(())
    }

    /// Gives the tensor a value of another dtype or on another device, for all holders of this handle; the shape stays. A variable stays one, and its
    /// gradient, if it has one, goes along. What was computed before stays as it is.
    ///
    /// No assignment: it is not undone when an evaluation fails. An optimizer keeps state beside its parameters, which does not go along.
    #[track_caller]
    pub fn set_data(&self, value: &Tensor) -> Result<()> {
        let (old, new) = (self.valid()?, value.valid()?);
        let problem = if old.shape() != new.shape() {
            Some((ErrorKind::Shape, format!("the tensor is {:?}, the value {:?}", old.shape(), new.shape()), "reshape the value"))
        } else if self.is_variable() && !new.dtype().is_float() {
            Some((ErrorKind::DType, format!("a parameter cannot be {}", new.dtype()), "give it a float dtype"))
        } else {
            None
        };
        if let Some((kind, message, help)) = problem {
            return Err(crate::error::graph_error(&Expr::fail(kind, "set_data", message, help, &[&old, &new])));
        }
        let grad = self.grad().map(|grad| Tensor::from_expr(grad.expr().copy_to(new.device()).cast(new.dtype())));
        self.with_variable(|variable| variable.version.fetch_add(1, Ordering::Relaxed));
        self.set_value(bare(if new.needs_grad() { new.detach() } else { new }));
        self.set_grad(grad);
        Ok(())
    }

    /// As [`Tensor::set_data`], of whatever shape: a gradient of another shape than the value's is forgotten.
    #[track_caller]
    pub fn set_data_of_any_shape(&self, value: &Tensor) -> Result<()> {
        let (old, new) = (self.valid()?, value.valid()?);
        if self.is_variable() && !new.dtype().is_float() {
            return self.set_data(value);
        }
        if old.shape() != new.shape() {
            // What is left is as for any value: the shape alone does not fit.
            self.zero_grad();
            self.set_value(bare(Tensor::zeros(new.shape(), old.dtype(), &self.device()?).expr()));
        }
        self.set_data(value)
    }

    /// A number that all handles to this tensor share, and no other tensor that is alive has.
    pub fn id(&self) -> usize {
        Arc::as_ptr(&self.shared()) as usize
    }

    /// Whether it is a variable that gradients do not arrive at, see [`Tensor::set_trainable`].
    pub fn is_frozen(&self) -> bool {
        self.with_variable(|variable| variable.frozen.load(Ordering::Relaxed)).unwrap_or(false)
    }
}
