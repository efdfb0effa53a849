//! Layers one after another.

use super::{Layer, TransformerEncoder, blocks_of, checkpointed, is_checkpointing};
use crate::{Module, Part, Visitor, VisitorMut};
use std::any::Any;
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
    layers: Vec<(String, Box<dyn Stacked>)>,
}

/// A layer that can be copied.
trait Stacked: Layer {
    fn copy(&self) -> Box<dyn Stacked>;
}

impl<L: Layer + Clone> Stacked for L {
    fn copy(&self) -> Box<dyn Stacked> {
        Box::new(self.clone())
    }
}

impl Clone for Sequential {
    fn clone(&self) -> Sequential {
        Sequential { layers: self.layers.iter().map(|(name, layer)| (name.clone(), (**layer).copy())).collect() }
    }
}

impl Sequential {
    /// No layers yet.
    pub fn new() -> Sequential {
        Sequential::default()
    }

    /// With one more layer at the end, named by its position.
    #[allow(clippy::should_implement_trait)] // a layer is added to a list, not to a number
    pub fn add(self, layer: impl Layer + Clone) -> Sequential {
        let name = self.layers.len().to_string();
        self.add_named(name, layer)
    }

    /// With one more layer at the end, under a name of its own (PyTorch's `OrderedDict`).
    pub fn add_named(mut self, name: impl Into<String>, layer: impl Layer + Clone) -> Sequential {
        self.layers.push((name.into(), Box::new(layer)));
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
        self.layers.iter().for_each(|(name, layer)| layer.visit_part(name, visitor));
    }

    fn visit_mut(&mut self, visitor: &mut dyn VisitorMut) {
        self.layers.iter_mut().for_each(|(name, layer)| layer.visit_part_mut(name, visitor));
    }

    fn as_any(&self) -> Option<&dyn Any> {
        Some(self)
    }

    fn as_any_mut(&mut self) -> Option<&mut dyn Any> {
        Some(self)
    }
}

impl Layer for Sequential {
    #[track_caller]
    fn forward(&self, x: &Tensor) -> Tensor {
        let _origin = Origin::enter_caller();
        let plain = |layers: &[(String, Box<dyn Stacked>)], x: &Tensor| layers.iter().fold(x.clone(), |x, (_, layer)| layer.forward(&x));
        if !is_checkpointing() {
            return plain(&self.layers, x);
        }
        let has_blocks =
            |at: usize| (*self.layers[at].1).as_any().is_some_and(|any| any.is::<TransformerEncoder>() || any.is::<Sequential>());
        blocks_of(self.layers.len(), has_blocks).into_iter().fold(x.clone(), |x, (range, is_block)| {
            let layers = &self.layers[range];
            if !is_block {
                return plain(layers, &x);
            }
            let block = Sequential { layers: layers.iter().map(|(name, layer)| (name.clone(), (**layer).copy())).collect() };
            checkpointed(&block, &x)
        })
    }
}
