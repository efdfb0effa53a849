//! Dropout.

use super::Layer;
use crate::Module;
use unigrad_tensor::Tensor;

/// While training, each element is 0 with probability `p`, else divided by `1 - p`; in use, nothing happens.
#[derive(Module, Clone, Debug)]
#[module(on_mode = "set_training")]
pub struct Dropout {
    /// The probability.
    pub p: f64,
    training: bool,
}

impl Dropout {
    /// With probability `p`.
    pub fn new(p: f64) -> Dropout {
        Dropout { p, training: true }
    }

    fn set_training(&mut self, training: bool) {
        self.training = training;
    }
}

impl Layer for Dropout {
    #[track_caller]
    fn forward(&self, x: &Tensor) -> Tensor {
        if self.training && self.p != 0.0 { x.dropout(self.p) } else { x.clone() }
    }
}
