//! Modules: plain structs whose parameters have names.
//!
//! In: a struct with `#[derive(Module)]`. Out: its parameters and buffers by path, saved and loaded by those paths.
//! Always: paths are the fields' names joined by dots, with positions for lists, as in PyTorch's `state_dict`; parameters come in the
//! order of the fields. Loading checks every name and shape first and changes nothing when one does not fit.
//! Never: copies a parameter; a [`Tensor`] is a handle, and the handles given out here are the model's own.

mod part;
mod place;
mod state;

pub use part::Part;
pub(crate) use state::{Entry, check, entries, from_host, load, to_host};
pub use state::{LoadOptions, LoadReport};

use crate::{
    archive::{Archive, HostTensor},
    error::Result,
};
use std::{any::Any, collections::BTreeMap};
use unigrad_tensor::{DType, Device, Tensor};

/// Goes through a module's tree.
pub trait Visitor<'m> {
    /// What follows, until `leave`, is below `name`.
    fn enter(&mut self, _name: &str) {}
    /// Ends `enter`.
    fn leave(&mut self) {}
    /// A module, before its parts.
    fn module(&mut self, _module: &'m dyn Module) {}
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
pub trait Module: Send + Sync + 'static {
    /// Shows every parameter and buffer to the visitor, in order.
    fn visit<'m>(&'m self, visitor: &mut dyn Visitor<'m>);

    /// As [`Module::visit`], with the right to change.
    fn visit_mut(&mut self, visitor: &mut dyn VisitorMut);

    /// Called when training begins or ends; for layers that behave differently then.
    fn on_mode(&mut self, _training: bool) {}

    /// The module as a value of its type, for [`Module::apply`] and [`Module::named_modules`] to tell types apart. `#[derive(Module)]` writes it.
    fn as_any(&self) -> Option<&dyn Any> {
        None
    }

    /// As [`Module::as_any`], with the right to change.
    fn as_any_mut(&mut self) -> Option<&mut dyn Any> {
        None
    }

    /// The name of its type without the path: `Linear`.
    fn type_name(&self) -> String {
        place::short(std::any::type_name::<Self>())
    }

    /// What is trained.
    fn parameters(&self) -> Vec<Tensor> {
        state::unnamed(self.named_parameters())
    }

    /// What is trained, with paths.
    fn named_parameters(&self) -> Vec<(String, Tensor)> {
        state::with_paths(entries(self), Some(false))
    }

    /// What is saved and not trained, with paths.
    fn named_buffers(&self) -> Vec<(String, Tensor)> {
        state::with_paths(entries(self), Some(true))
    }

    /// Parameters and buffers with paths.
    fn state_dict(&self) -> Vec<(String, Tensor)> {
        state::with_paths(entries(self), None)
    }

    /// What is trained and not frozen.
    fn trainable_parameters(&self) -> Vec<Tensor> {
        state::trainable(self.parameters())
    }

    /// The module and all modules in it, with paths; its own is empty. [`Module::type_name`] tells what they are, and so does `downcast_ref`.
    ///
    /// ```
    /// # extern crate unigrad_nn as unigrad;
    /// # unigrad_device::register(unigrad_cpu::CpuDriver::default());
    /// use unigrad::nn::{Linear, Module, Relu, Sequential};
    /// # let device = unigrad_tensor::Device::open("cpu")?;
    /// let net = Sequential::new().add(Linear::new(4, 3, &device)).add(Relu);
    /// let modules = net.named_modules();
    /// let types: Vec<(&str, String)> = modules.iter().map(|(path, module)| (path.as_str(), module.type_name())).collect();
    /// assert_eq!(types, [("", "Sequential".into()), ("0", "Linear".into()), ("1", "Relu".into())]);
    /// assert_eq!(modules[1].1.downcast_ref::<Linear>().unwrap().weight.shape(), [3, 4]);
    /// # Ok::<(), unigrad::Error>(())
    /// ```
    fn named_modules(&self) -> Vec<(String, &dyn Module)>
    where
        Self: Sized,
    {
        place::named_modules(self)
    }

    /// Calls `f` with each module and its path: the module itself (empty path), then those in it, each before its own parts.
    ///
    /// ```
    /// # extern crate unigrad_nn as unigrad;
    /// # unigrad_device::register(unigrad_cpu::CpuDriver::default());
    /// use unigrad::nn::{Dropout, Module, Sequential};
    /// let mut net = Sequential::new().add(Dropout::new(0.5)).add(Dropout::new(0.1));
    /// net.apply(|_path, module| {
    ///     if let Some(dropout) = module.downcast_mut::<Dropout>() {
    ///         dropout.p *= 2.0;
    ///     }
    /// });
    /// assert_eq!(net.named_modules()[2].1.downcast_ref::<Dropout>().unwrap().p, 0.2);
    /// ```
    fn apply(&mut self, f: impl FnMut(&str, &mut dyn Module))
    where
        Self: Sized,
    {
        place::apply(self, f);
    }

    /// Moves parameters, their gradients and buffers to a device. All handles go along, so that tied weights stay tied and an optimizer's parameters
    /// are the module's still. If it fails, nothing has moved.
    ///
    /// An optimizer's own state does not go along: save it before and load it into a new optimizer of the same kind.
    ///
    /// ```
    /// # extern crate unigrad_nn as unigrad;
    /// # unigrad_device::register(unigrad_cpu::CpuDriver::default());
    /// use unigrad::nn::{AdamW, Linear, Module};
    /// use unigrad_tensor::{DType, Device};
    ///
    /// let device = Device::open("cpu")?;
    /// let net = Linear::new(4, 3, &device);
    /// let optimizer = AdamW::new(net.parameters(), 1e-3)?;
    /// let (state, n_steps) = (optimizer.state_dict()?, optimizer.n_steps());
    /// net.to(&device)?;
    /// net.to_dtype(DType::F64)?;
    /// let mut optimizer = AdamW::new(net.parameters(), 1e-3)?;
    /// optimizer.load_state_dict(&state, n_steps)?;
    /// # Ok::<(), unigrad::Error>(())
    /// ```
    fn to(&self, device: &Device) -> Result<()> {
        place::to(&entries(self), &|tensor| tensor.to(device))
    }

    /// Casts parameters, their gradients and buffers of floats to a float dtype; other buffers stay. See [`Module::to`].
    fn to_dtype(&self, dtype: DType) -> Result<()> {
        place::to_dtype(&entries(self), dtype)
    }

    /// No gradient arrives at the parameters any more, and optimizers skip them; see [`Tensor::set_trainable`].
    fn freeze(&self) -> Result<()> {
        place::set_trainable(&entries(self), None, false).map(|_| ())
    }

    /// Undoes [`Module::freeze`].
    fn unfreeze(&self) -> Result<()> {
        place::set_trainable(&entries(self), None, true).map(|_| ())
    }

    /// Freezes the parameters at or below a path (`encoder`, `layers.0`); how many. An error if there are none.
    ///
    /// ```
    /// # extern crate unigrad_nn as unigrad;
    /// # unigrad_device::register(unigrad_cpu::CpuDriver::default());
    /// use unigrad::nn::{Linear, Module, Sequential};
    /// # let device = unigrad_tensor::Device::open("cpu")?;
    /// let net = Sequential::new().add(Linear::new(4, 3, &device)).add(Linear::new(3, 2, &device));
    /// assert_eq!(net.freeze_under("0")?, 2);
    /// assert_eq!(net.trainable_parameters().len(), 2);
    /// # Ok::<(), unigrad::Error>(())
    /// ```
    fn freeze_under(&self, path: &str) -> Result<usize> {
        place::set_trainable(&entries(self), Some(path), false)
    }

    /// Undoes [`Module::freeze_under`].
    fn unfreeze_under(&self, path: &str) -> Result<usize> {
        place::set_trainable(&entries(self), Some(path), true)
    }

    /// A copy with parameters and buffers of its own; those that are tied are tied in the copy. (`clone` of a module shares them.) Gradients are not
    /// copied.
    fn deep_copy(&self) -> Result<Self>
    where
        Self: Sized + Clone,
    {
        place::deep_copy(self)
    }

    /// The number of trained values.
    fn n_parameters(&self) -> usize {
        state::n_elements(&self.parameters())
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
        state::zero_grad(&self.parameters());
    }

    /// Computes what initial values are still waiting to be computed, all at once.
    fn realize(&self) -> Result<()> {
        state::realize(&entries(self))
    }

    /// The values of parameters and buffers, for a file.
    fn to_archive(&self) -> Result<Archive> {
        state::archive(&self.state_dict())
    }

    /// Gives parameters and buffers the values of `state`, if it has all of them, no other, and the same shapes.
    fn load_state_dict(&self, state: &BTreeMap<String, HostTensor>) -> Result<()> {
        self.load_with(state, &LoadOptions::new()).map(|_| ())
    }

    /// Loads what fits: not strictly, below a prefix, without what has another shape. What was done with which name is returned.
    ///
    /// ```
    /// # extern crate unigrad_nn as unigrad;
    /// # unigrad_device::register(unigrad_cpu::CpuDriver::default());
    /// use unigrad::nn::{Linear, LoadOptions, Module, Sequential};
    /// # let device = unigrad_tensor::Device::open("cpu")?;
    /// let pretrained = Sequential::new().add(Linear::new(4, 3, &device)).add(Linear::new(3, 2, &device));
    /// let file = pretrained.to_archive()?.tensors;
    /// let first = Linear::no_bias(4, 3, &device);
    /// let report = first.load_with(&file, &LoadOptions::new().prefix("0").not_strict())?;
    /// assert_eq!((report.loaded, report.unexpected), (vec!["weight".to_owned()], vec!["bias".to_owned()]));
    /// # Ok::<(), unigrad::Error>(())
    /// ```
    fn load_with(&self, state: &BTreeMap<String, HostTensor>, options: &LoadOptions) -> Result<LoadReport> {
        state::load_module(&entries(self), state, "", options)
    }

    /// Replaces the safetensors file at `path` with this module's parameters and buffers.
    fn save(&self, path: &std::path::Path) -> Result<()> {
        self.to_archive()?.save(path)
    }

    /// Loads a safetensors file; see [`Module::load_state_dict`].
    fn load(&self, path: &std::path::Path) -> Result<()> {
        self.load_file_with(path, &LoadOptions::new()).map(|_| ())
    }

    /// Loads a safetensors file as [`Module::load_with`] does.
    fn load_file_with(&self, path: &std::path::Path, options: &LoadOptions) -> Result<LoadReport> {
        state::load_file(&entries(self), path, options)
    }
}

impl dyn Module {
    /// The module, if it is an `M`.
    pub fn downcast_ref<M: Module>(&self) -> Option<&M> {
        self.as_any()?.downcast_ref()
    }

    /// The module, if it is an `M`, with the right to change.
    pub fn downcast_mut<M: Module>(&mut self) -> Option<&mut M> {
        self.as_any_mut()?.downcast_mut()
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

    fn as_any(&self) -> Option<&dyn Any> {
        (**self).as_any()
    }

    fn as_any_mut(&mut self) -> Option<&mut dyn Any> {
        (**self).as_any_mut()
    }

    fn type_name(&self) -> String {
        (**self).type_name()
    }
}
