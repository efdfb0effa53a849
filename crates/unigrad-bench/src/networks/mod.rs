//! Networks that are measured, and their small siblings that a test compares with PyTorch: one code, sizes as arguments.
//!
//! In: a device, sizes. Out: a [`Network`]: parameters, data, and the loss as a function of the data.
//! Always: parameters and data are in memory, made on the device; losses, layers and orders of parameters are those of `scripts/torch_rows.py`.

pub(crate) mod decoder;
pub(crate) mod gpt2;
pub(crate) mod resnet;
pub(crate) mod small;
#[cfg(test)]
mod tests;

use crate::{case::Case, record::Work};
use std::{cell::RefCell, rc::Rc};
use unigrad_device::Device;
use unigrad_nn as nn;
use unigrad_tensor::{DType, Result, Tensor, replay};

/// A function of the data.
type Loss = dyn Fn(&[Tensor]) -> Tensor;

/// A network to train.
pub(crate) struct Network {
    pub(crate) parameters: Vec<Tensor>,
    pub(crate) data: Vec<Tensor>,
    loss: Rc<Loss>,
}

impl Network {
    fn new(parameters: Vec<Tensor>, data: Vec<Tensor>, loss: impl Fn(&[Tensor]) -> Tensor + 'static) -> Result<Network> {
        // One by one: the whole of the random numbers together would be a plan of its own.
        for tensor in parameters.iter().chain(&data) {
            tensor.realize()?;
        }
        Ok(Network { parameters, data, loss: Rc::new(loss) })
    }

    /// The loss of the data in a scope, such as mixed precision.
    pub(crate) fn within(self, scope: impl Fn(&dyn Fn() -> Tensor) -> Tensor + 'static) -> Network {
        let loss = self.loss;
        Network { loss: Rc::new(move |data: &[Tensor]| scope(&|| loss(data))), ..self }
    }

    /// The loss.
    pub(crate) fn loss(&self) -> Tensor {
        (self.loss)(&self.data)
    }

    /// Training steps, each recorded anew as a program does; told with the first loss and the last one.
    pub(crate) fn train<R: nn::Rule + 'static>(self, work: Work, optimizer: nn::Optimizer<R>) -> Result<Case> {
        let network = Rc::new(self);
        let last: Rc<RefCell<[Option<f32>; 2]>> = Rc::default();
        let mut optimizer = optimizer;
        let (of_step, seen) = (Rc::clone(&network), Rc::clone(&last));
        let case = Case::new(work, move || {
            let loss = of_step.loss();
            optimizer.minimize(&loss, &[])?;
            // The first step's own loss, read once.
            let first = seen.borrow()[0];
            if first.is_none() {
                seen.borrow_mut()[0] = Some(loss.item::<f32>()?);
            }
            Ok(())
        });
        Ok(case.noted(move || {
            let first = last.borrow()[0].unwrap_or(f32::NAN);
            Ok(format!("loss {first:.4}->{:.4}", network.loss().item::<f32>()?))
        }))
    }

    /// Training steps by [`replay`]: not recorded again.
    pub(crate) fn replayed<R: nn::Rule + 'static>(self, work: Work, optimizer: nn::Optimizer<R>) -> Result<Case> {
        let (data, loss) = (self.data.clone(), Rc::clone(&self.loss));
        let mut optimizer = optimizer;
        let mut step = replay(move |inputs: &[Tensor]| {
            let loss = loss(inputs);
            optimizer.minimize(&loss, &[])?;
            Ok(vec![loss])
        });
        let last: Rc<RefCell<(Option<f32>, Option<Tensor>)>> = Rc::default();
        let kept = Rc::clone(&last);
        let case = Case::new(work, move || {
            let loss = step.call(&data.iter().collect::<Vec<_>>())?.pop();
            let mut kept = kept.borrow_mut();
            if let (None, Some(loss)) = (kept.0, &loss) {
                kept.0 = Some(loss.item::<f32>()?);
            }
            kept.1 = loss;
            Ok(())
        });
        Ok(case.noted(move || match &*last.borrow() {
            (Some(first), Some(loss)) => Ok(format!("replayed; loss {first:.4}->{:.4}", loss.item::<f32>()?)),
            _ => Ok("replayed".to_owned()),
        }))
    }
}

/// Tokens from 0 on, below `tokens`.
fn uniform_tokens(tokens: usize, shape: [usize; 2], device: &Device) -> Tensor {
    Tensor::randint(0, tokens as i64, shape, DType::I64, device)
}
