//! Modules: plain structs whose parameters have names.
//!
//! In: a struct with `#[derive(Module)]`. Out: its parameters and buffers by path, saved and loaded by those paths.
//! Always: paths are the fields' names joined by dots, with positions for lists, as in PyTorch's `state_dict`; parameters come in the
//! order of the fields. Loading checks every name and shape first and changes nothing when one does not fit.
//! Never: copies a parameter; a [`Tensor`] is a handle, and the handles given out here are the model's own.

use crate::{
    archive::{Archive, HostTensor},
    error::{Error, Result, StateDictMismatch},
};
use std::collections::{BTreeMap, HashSet};
use unigrad_tensor::{Device, Tensor, no_grad};

/// Goes through a module's tree.
pub trait Visitor<'m> {
    /// What follows, until `leave`, is below `name`.
    fn enter(&mut self, _name: &str) {}
    /// Ends `enter`.
    fn leave(&mut self) {}
    /// A tensor that is trained.
    fn parameter(&mut self, name: &str, tensor: &'m Tensor);
    /// A tensor that is saved and not trained.
    fn buffer(&mut self, name: &str, tensor: &'m Tensor);
}

/// Goes through a module's tree and may change it.
pub trait VisitorMut {
    /// What follows, until `leave`, is below `name`.
    fn enter(&mut self, _name: &str) {}
    /// Ends `enter`.
    fn leave(&mut self) {}
    /// A module, before its parts.
    fn module(&mut self, _module: &mut dyn Module) {}
    /// A tensor that is trained.
    fn parameter(&mut self, _name: &str, _tensor: &mut Tensor) {}
    /// A tensor that is saved and not trained.
    fn buffer(&mut self, _name: &str, _tensor: &mut Tensor) {}
}

/// What a model or a layer is; `#[derive(Module)]` writes it.
///
/// ```
/// # extern crate unigrad_nn as unigrad;
/// use unigrad::nn::{Linear, Module};
/// #[derive(Module)]
/// struct Net {
///     layers: Vec<Linear>,
///     head: Option<Linear>,
///     width: usize, // numbers are not parameters
/// }
/// ```
pub trait Module: Send + Sync {
    /// Shows every parameter and buffer to the visitor, in order.
    fn visit<'m>(&'m self, visitor: &mut dyn Visitor<'m>);

    /// As [`Module::visit`], with the right to change.
    fn visit_mut(&mut self, visitor: &mut dyn VisitorMut);

    /// Called when training begins or ends; for layers that behave differently then.
    fn on_mode(&mut self, _training: bool) {}

    /// What is trained.
    fn parameters(&self) -> Vec<Tensor> {
        self.named_parameters().into_iter().map(|(_, tensor)| tensor).collect()
    }

    /// What is trained, with paths.
    fn named_parameters(&self) -> Vec<(String, Tensor)> {
        entries(self).into_iter().filter(|e| !e.buffer).map(|e| (e.path, e.tensor.clone())).collect()
    }

    /// What is saved and not trained, with paths.
    fn named_buffers(&self) -> Vec<(String, Tensor)> {
        entries(self).into_iter().filter(|e| e.buffer).map(|e| (e.path, e.tensor.clone())).collect()
    }

    /// Parameters and buffers with paths.
    fn state_dict(&self) -> Vec<(String, Tensor)> {
        entries(self).into_iter().map(|e| (e.path, e.tensor.clone())).collect()
    }

    /// The number of trained values.
    fn n_parameters(&self) -> usize {
        self.parameters().iter().map(Tensor::numel).sum()
    }

    /// Whether layers behave as in training (dropout drops, batch norm learns) or as in use.
    fn train(&mut self, training: bool) {
        struct Mode(bool);
        impl VisitorMut for Mode {
            fn module(&mut self, module: &mut dyn Module) {
                module.on_mode(self.0);
            }
        }
        self.on_mode(training);
        self.visit_mut(&mut Mode(training));
    }

    /// The same as `train(false)`.
    fn eval(&mut self) {
        self.train(false);
    }

    /// Forgets the gradients of all parameters.
    fn zero_grad(&self) {
        self.parameters().iter().for_each(Tensor::zero_grad);
    }

    /// Computes what initial values are still waiting to be computed, all at once.
    fn realize(&self) -> Result<()> {
        let tensors = entries(self);
        Tensor::realize_all(&tensors.iter().map(|e| e.tensor).collect::<Vec<_>>())
    }

    /// The values of parameters and buffers, for a file.
    fn to_archive(&self) -> Result<Archive> {
        let tensors = self.state_dict();
        Ok(Archive { tensors: to_host(&tensors)?, metadata: BTreeMap::new() })
    }

    /// Gives parameters and buffers the values of `state`, if it has all of them, no other, and the same shapes.
    fn load_state_dict(&self, state: &BTreeMap<String, HostTensor>) -> Result<()> {
        load(&self.state_dict(), state, "")
    }

    /// Replaces the safetensors file at `path` with this module's parameters and buffers.
    fn save(&self, path: &std::path::Path) -> Result<()> {
        self.to_archive()?.save(path)
    }

    /// Loads a safetensors file; see [`Module::load_state_dict`].
    fn load(&self, path: &std::path::Path) -> Result<()> {
        load(&self.state_dict(), &Archive::load(path)?.tensors, &path.display().to_string())
    }
}

impl<M: Module + ?Sized> Module for Box<M> {
    fn visit<'m>(&'m self, visitor: &mut dyn Visitor<'m>) {
        (**self).visit(visitor);
    }

    fn visit_mut(&mut self, visitor: &mut dyn VisitorMut) {
        (**self).visit_mut(visitor);
    }

    fn on_mode(&mut self, training: bool) {
        (**self).on_mode(training);
    }
}

/// A field of a module: a tensor, a module, or a list or an option of those.
pub trait Part {
    /// Shows it under `name`.
    fn visit_part<'m>(&'m self, name: &str, visitor: &mut dyn Visitor<'m>);
    /// As `visit_part`, with the right to change.
    fn visit_part_mut(&mut self, name: &str, visitor: &mut dyn VisitorMut);
    /// Shows it under `name`, as a buffer.
    fn visit_buffer<'m>(&'m self, name: &str, visitor: &mut dyn Visitor<'m>) {
        self.visit_part(name, visitor);
    }
    /// As `visit_buffer`, with the right to change.
    fn visit_buffer_mut(&mut self, name: &str, visitor: &mut dyn VisitorMut) {
        self.visit_part_mut(name, visitor);
    }
}

impl Part for Tensor {
    fn visit_part<'m>(&'m self, name: &str, visitor: &mut dyn Visitor<'m>) {
        visitor.parameter(name, self);
    }

    fn visit_part_mut(&mut self, name: &str, visitor: &mut dyn VisitorMut) {
        visitor.parameter(name, self);
    }

    fn visit_buffer<'m>(&'m self, name: &str, visitor: &mut dyn Visitor<'m>) {
        visitor.buffer(name, self);
    }

    fn visit_buffer_mut(&mut self, name: &str, visitor: &mut dyn VisitorMut) {
        visitor.buffer(name, self);
    }
}

impl<M: Module> Part for M {
    fn visit_part<'m>(&'m self, name: &str, visitor: &mut dyn Visitor<'m>) {
        visitor.enter(name);
        self.visit(visitor);
        visitor.leave();
    }

    fn visit_part_mut(&mut self, name: &str, visitor: &mut dyn VisitorMut) {
        visitor.enter(name);
        visitor.module(self);
        self.visit_mut(visitor);
        visitor.leave();
    }
}

impl<P: Part> Part for Option<P> {
    fn visit_part<'m>(&'m self, name: &str, visitor: &mut dyn Visitor<'m>) {
        self.iter().for_each(|part| part.visit_part(name, visitor));
    }

    fn visit_part_mut(&mut self, name: &str, visitor: &mut dyn VisitorMut) {
        self.iter_mut().for_each(|part| part.visit_part_mut(name, visitor));
    }

    fn visit_buffer<'m>(&'m self, name: &str, visitor: &mut dyn Visitor<'m>) {
        self.iter().for_each(|part| part.visit_buffer(name, visitor));
    }

    fn visit_buffer_mut(&mut self, name: &str, visitor: &mut dyn VisitorMut) {
        self.iter_mut().for_each(|part| part.visit_buffer_mut(name, visitor));
    }
}

impl<P: Part> Part for Vec<P> {
    fn visit_part<'m>(&'m self, name: &str, visitor: &mut dyn Visitor<'m>) {
        visitor.enter(name);
        self.iter().enumerate().for_each(|(i, part)| part.visit_part(&i.to_string(), visitor));
        visitor.leave();
    }

    fn visit_part_mut(&mut self, name: &str, visitor: &mut dyn VisitorMut) {
        visitor.enter(name);
        self.iter_mut().enumerate().for_each(|(i, part)| part.visit_part_mut(&i.to_string(), visitor));
        visitor.leave();
    }
}

/// A parameter or a buffer of a module.
pub(crate) struct Entry<'m> {
    pub(crate) path: String,
    pub(crate) tensor: &'m Tensor,
    pub(crate) buffer: bool,
}

/// All of them; a tensor that stands in two places is listed at the first.
pub(crate) fn entries<'m, M: Module + ?Sized>(module: &'m M) -> Vec<Entry<'m>> {
    #[derive(Default)]
    struct Collect<'m> {
        prefix: Vec<String>,
        entries: Vec<Entry<'m>>,
    }
    impl<'m> Collect<'m> {
        fn add(&mut self, name: &str, tensor: &'m Tensor, buffer: bool) {
            if self.entries.iter().any(|entry| entry.tensor.same(tensor)) {
                return;
            }
            let mut path = self.prefix.join(".");
            if !path.is_empty() {
                path.push('.');
            }
            path.push_str(name);
            self.entries.push(Entry { path, tensor, buffer });
        }
    }
    impl<'m> Visitor<'m> for Collect<'m> {
        fn enter(&mut self, name: &str) {
            self.prefix.push(name.to_owned());
        }
        fn leave(&mut self) {
            self.prefix.pop();
        }
        fn parameter(&mut self, name: &str, tensor: &'m Tensor) {
            self.add(name, tensor, false);
        }
        fn buffer(&mut self, name: &str, tensor: &'m Tensor) {
            self.add(name, tensor, true);
        }
    }
    let mut collect = Collect::default();
    module.visit(&mut collect);
    collect.entries
}

/// Values on the host, by name.
pub(crate) fn to_host(tensors: &[(String, Tensor)]) -> Result<BTreeMap<String, HostTensor>> {
    Tensor::realize_all(&tensors.iter().map(|(_, t)| t).collect::<Vec<_>>())?;
    let host = |t: &Tensor| -> Result<HostTensor> { Ok(HostTensor { dtype: t.dtype(), shape: t.dims()?, bytes: t.to_bytes()? }) };
    tensors.iter().map(|(name, tensor)| Ok((name.clone(), host(tensor)?))).collect()
}

/// A tensor with a host tensor's values.
pub(crate) fn from_host(host: &HostTensor, device: &Device) -> Result<Tensor> {
    Tensor::from_bytes(&host.bytes, host.shape.as_slice(), host.dtype, device).check()
}

/// Whether all can be assigned.
pub(crate) fn check(tensors: &[(String, Tensor)], state: &BTreeMap<String, HostTensor>, source: &str) -> Result<()> {
    let mut mismatch = StateDictMismatch { source: source.to_owned(), ..Default::default() };
    for (name, tensor) in tensors {
        let (shape, dtype) = (tensor.dims()?, tensor.dtype());
        match state.get(name) {
            None => mismatch.missing.push(name.clone()),
            Some(host) if host.shape != shape => mismatch.shapes.push((name.clone(), shape, host.shape.clone())),
            Some(host) if host.dtype != dtype && !(host.dtype.is_float() && dtype.is_float()) => {
                mismatch.dtypes.push((name.clone(), dtype.to_string(), host.dtype.to_string()));
            }
            Some(_) => {}
        }
    }
    let known: HashSet<&str> = tensors.iter().map(|(name, _)| name.as_str()).collect();
    mismatch.unexpected.extend(state.keys().filter(|name| !known.contains(name.as_str())).cloned());
    if mismatch.is_empty() { Ok(()) } else { Err(Error::StateDict(Box::new(mismatch))) }
}

/// Assigns all, or nothing.
pub(crate) fn load(tensors: &[(String, Tensor)], state: &BTreeMap<String, HostTensor>, source: &str) -> Result<()> {
    check(tensors, state, source)?;
    let mut values = Vec::with_capacity(tensors.len());
    for (name, tensor) in tensors {
        let value = from_host(&state[name], &tensor.device()?)?;
        values.push(if value.dtype() == tensor.dtype() { value } else { value.cast(tensor.dtype()) });
    }
    no_grad(|| tensors.iter().zip(&values).try_for_each(|((_, tensor), value)| tensor.assign(value)))?;
    Tensor::realize_all(&tensors.iter().map(|(_, t)| t).collect::<Vec<_>>())
}
