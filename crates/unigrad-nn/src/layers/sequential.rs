//! Layers one after another.

use super::Layer;
use crate::{Module, Part, Visitor, VisitorMut};
use unigrad_tensor::{Origin, Tensor};

/// Layers one after another; their paths are their positions, as in PyTorch: `0.weight`, `2.bias`.
///
/// ```no_run
/// # extern crate unigrad_nn as unigrad;
/// # let device: unigrad_tensor::Device = todo!();
/// use unigrad::nn::{Linear, Relu, Sequential};
/// let net = Sequential::new().add(Linear::new(64, 32, &device)).add(Relu).add(Linear::new(32, 10, &device));
/// ```
#[derive(Default)]
pub struct Sequential {
    layers: Vec<Box<dyn Layer>>,
}

impl Sequential {
    /// No layers yet.
    pub fn new() -> Sequential {
        Sequential::default()
    }

    /// With one more layer at the end.
    #[allow(clippy::should_implement_trait)] // a layer is added to a list, not to a number
    pub fn add(mut self, layer: impl Layer + 'static) -> Sequential {
        self.layers.push(Box::new(layer));
        self
    }

    /// How many layers there are.
    pub fn len(&self) -> usize {
        self.layers.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.layers.is_empty()
    }
}

impl Module for Sequential {
    fn visit<'m>(&'m self, visitor: &mut dyn Visitor<'m>) {
        self.layers.iter().enumerate().for_each(|(i, layer)| layer.visit_part(&i.to_string(), visitor));
    }

    fn visit_mut(&mut self, visitor: &mut dyn VisitorMut) {
        self.layers.iter_mut().enumerate().for_each(|(i, layer)| layer.visit_part_mut(&i.to_string(), visitor));
    }
}

impl Layer for Sequential {
    #[track_caller]
    fn forward(&self, x: &Tensor) -> Tensor {
        let _origin = Origin::enter_caller();
        self.layers.iter().fold(x.clone(), |x, layer| layer.forward(&x))
    }
}
