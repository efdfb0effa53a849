//! Optimizers without autograd: parameters and gradients as slices, arrays or tensors go in, updated parameters come out.
//!
//! In: values in memory of the program's, or tensors on any device. Out: the same, after a step on the optimizer's device.
//! Always: nothing is written before everything has been computed and read back, so that a step that fails leaves parameters and state as they were; its error
//! says what it is (`is_out_of_memory`, `is_device_lost`), and the optimizer goes on after [`ArrayOptimizer::clear_cache`] or
//! [`ArrayOptimizer::move_to`].
//! Never: needs a run-time library for `async`.

use super::{Optimizer, Rule};
use crate::{
    archive::HostTensor,
    error::{Error, Result},
};
use std::{
    collections::BTreeMap,
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};
use unigrad_device::in_background;
use unigrad_tensor::{Device, Element, Tensor, eval, no_grad};

/// Values that an optimizer reads: a slice, a vector, a [`View`], a tensor, an `ndarray` (feature `ndarray`).
pub trait Values {
    /// Sizes per axis.
    fn sizes(&self) -> Vec<usize>;
    /// As a tensor on a device.
    fn on(&self, device: &Device) -> Tensor;
}

/// Values that an optimizer updates.
pub trait ValuesMut: Values {
    /// What is written to them.
    type Updated: Send;
    /// Brings updated values to where these are. Writes nothing yet.
    fn receive(&self, updated: &Tensor) -> Result<Self::Updated>;
    /// Writes them.
    fn put(&mut self, updated: Self::Updated);
}

/// Values in row-major order, with a shape.
#[derive(Clone, Copy, Debug)]
pub struct View<'a, T> {
    /// The values.
    pub data: &'a [T],
    /// Sizes per axis.
    pub shape: &'a [usize],
}

/// Values in row-major order, with a shape, to be updated.
#[derive(Debug)]
pub struct ViewMut<'a, T> {
    /// The values.
    pub data: &'a mut [T],
    /// Sizes per axis.
    pub shape: &'a [usize],
}

macro_rules! slices {
    ($($of:ty),*) => { $(
        impl<T: Element> Values for $of {
            fn sizes(&self) -> Vec<usize> {
                vec![self.len()]
            }

            fn on(&self, device: &Device) -> Tensor {
                Tensor::from_slice(self, self.len(), device)
            }
        }
    )* };
}
slices!(Vec<T>, &[T], &mut [T], Box<[T]>);

macro_rules! slices_mut {
    ($($of:ty),*) => { $(
        impl<T: Element> ValuesMut for $of {
            type Updated = Vec<T>;

            fn receive(&self, updated: &Tensor) -> Result<Vec<T>> {
                updated.to_vec::<T>()
            }

            fn put(&mut self, updated: Vec<T>) {
                self.iter_mut().zip(updated).for_each(|(value, new)| *value = new);
            }
        }
    )* };
}
slices_mut!(Vec<T>, &mut [T], Box<[T]>);

impl<T: Element> Values for View<'_, T> {
    fn sizes(&self) -> Vec<usize> {
        self.shape.to_vec()
    }

    fn on(&self, device: &Device) -> Tensor {
        Tensor::from_slice(self.data, self.shape, device)
    }
}

impl<T: Element> Values for ViewMut<'_, T> {
    fn sizes(&self) -> Vec<usize> {
        self.shape.to_vec()
    }

    fn on(&self, device: &Device) -> Tensor {
        Tensor::from_slice(self.data, self.shape, device)
    }
}

impl<T: Element> ValuesMut for ViewMut<'_, T> {
    type Updated = Vec<T>;

    fn receive(&self, updated: &Tensor) -> Result<Vec<T>> {
        updated.to_vec::<T>()
    }

    fn put(&mut self, updated: Vec<T>) {
        self.data.iter_mut().zip(updated).for_each(|(value, new)| *value = new);
    }
}

impl Values for Tensor {
    fn sizes(&self) -> Vec<usize> {
        self.shape()
    }

    fn on(&self, device: &Device) -> Tensor {
        self.detach().to(device)
    }
}

/// The handle is given the new values; they stay on the tensor's device. Other handles keep the old ones.
impl ValuesMut for Tensor {
    type Updated = Tensor;

    fn receive(&self, updated: &Tensor) -> Result<Tensor> {
        // In memory of its own: the optimizer's is overwritten by the next step.
        let device = self.device()?;
        let updated = updated.detach();
        let here = if updated.device_id() == device.id() { &updated + updated.zeros_like() } else { updated.to(&device) };
        here.realize()
    }

    fn put(&mut self, updated: Tensor) {
        *self = updated;
    }
}

#[cfg(feature = "ndarray")]
mod arrays {
    use super::{Values, ValuesMut};
    use crate::error::Result;
    use ndarray::{ArrayBase, Data, DataMut, Dimension};
    use unigrad_tensor::{Device, Element, Tensor};

    impl<T: Element, S: Data<Elem = T>, D: Dimension> Values for ArrayBase<S, D> {
        fn sizes(&self) -> Vec<usize> {
            self.shape().to_vec()
        }

        fn on(&self, device: &Device) -> Tensor {
            Tensor::from_ndarray(self, device)
        }
    }

    /// Arrays and views of any strides.
    ///
    /// ```
    /// # extern crate unigrad_nn as unigrad;
    /// # unigrad_device::register(unigrad_cpu::CpuDriver::default());
    /// use ndarray::array;
    /// use unigrad::nn::{ArrayOptimizer, Sgd};
    /// use unigrad_tensor::Device;
    ///
    /// let mut weights = array![[1.0f64, 2.0, 3.0], [4.0, 5.0, 6.0]];
    /// let gradients = array![[1.0f64, 0.0], [0.0, 2.0], [0.0, 0.0]];
    /// let mut optimizer = ArrayOptimizer::new(&Device::open("cpu")?, |p| Sgd::new(p, 0.5));
    /// optimizer.step(&mut [weights.view_mut().reversed_axes()], &[gradients])?;
    /// assert_eq!(weights, array![[0.5, 2.0, 3.0], [4.0, 4.0, 6.0]]);
    /// # Ok::<(), unigrad::Error>(())
    /// ```
    impl<T: Element, S: DataMut<Elem = T>, D: Dimension> ValuesMut for ArrayBase<S, D> {
        type Updated = Vec<T>;

        fn receive(&self, updated: &Tensor) -> Result<Vec<T>> {
            updated.to_vec::<T>()
        }

        fn put(&mut self, updated: Vec<T>) {
            // Both in the order of indices, whatever the strides.
            self.iter_mut().zip(updated).for_each(|(value, new)| *value = new);
        }
    }
}

type Make<R> = dyn Fn(Vec<Tensor>) -> Result<Optimizer<R>> + Send + Sync;
type State = BTreeMap<String, HostTensor>;

/// An optimizer over arrays of the program's.
///
/// Parameters are uploaded in each step and read back after it; state stays on the device. What the closure makes is the optimizer, with all its
/// settings: any of this crate's, or one by an own rule.
///
/// ```
/// # extern crate unigrad_nn as unigrad;
/// # unigrad_device::register(unigrad_cpu::CpuDriver::default());
/// use unigrad::nn::{AdamW, ArrayOptimizer};
/// use unigrad_tensor::Device;
///
/// let mut optimizer = ArrayOptimizer::new(&Device::open("cpu")?, |parameters| AdamW::new(parameters, 0.1));
/// let mut weights = vec![vec![1.0f32, -2.0], vec![0.5]];
/// for _ in 0..100 {
///     let gradients: Vec<Vec<f32>> = weights.iter().map(|w| w.iter().map(|w| 2.0 * w).collect()).collect();
///     optimizer.step(&mut weights, &gradients)?;
/// }
/// assert!(weights.iter().flatten().all(|w| w.abs() < 0.2));
/// # Ok::<(), unigrad::Error>(())
/// ```
pub struct ArrayOptimizer<R> {
    device: Device,
    make: Arc<Make<R>>,
    /// Made by the first step; behind a lock, for a step whose future is dropped goes on.
    inner: Arc<Mutex<Inner<R>>>,
    lr: Option<f64>,
    lr_factor: f64,
    backup_every: u64,
}

struct Inner<R> {
    optimizer: Option<Optimizer<R>>,
    /// State on the host, and the steps that it is of: what a new optimizer begins with.
    saved: Option<(State, u64)>,
}

impl<R> fmt::Debug for ArrayOptimizer<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ArrayOptimizer").field("device", &self.device).finish_non_exhaustive()
    }
}

/// A step's settings.
#[derive(Clone, Copy)]
struct Settings {
    device: Device,
    lr: Option<f64>,
    lr_factor: f64,
    backup_every: u64,
}

impl<R: Rule> Inner<R> {
    /// A step; the parameters after it.
    fn step(&mut self, make: &Make<R>, settings: Settings, values: &[Tensor], gradients: Vec<Option<Tensor>>) -> Result<Vec<Tensor>> {
        let attempt = eval::Attempt::begin();
        match &self.optimizer {
            Some(optimizer) => {
                let parameters = optimizer.parameters();
                let fits = parameters.len() == values.len()
                    && parameters.iter().zip(values).all(|(p, v)| p.shape() == v.shape() && p.dtype() == v.dtype());
                if !fits {
                    let cause = "parameters of other number, shapes or dtypes than in the first step";
                    return Err(Error::argument(cause, "give the same ones in each step, or make a new optimizer"));
                }
                no_grad(|| parameters.iter().zip(values).try_for_each(|(parameter, value)| parameter.assign(value)))?;
            }
            None => {
                let parameters: Vec<Tensor> = values.iter().map(Tensor::requires_grad).collect();
                let n = parameters.len();
                let mut optimizer = make(parameters)?;
                if optimizer.parameters().len() != n {
                    let cause = format!("an optimizer of {} parameters was made for {n}", optimizer.parameters().len());
                    return Err(Error::argument(cause, "let the closure give all that it gets to one optimizer"));
                }
                if let Some((state, steps)) = &self.saved {
                    optimizer.load_state_dict(state, *steps)?;
                }
                self.optimizer = Some(optimizer);
            }
        }
        let Some(optimizer) = &mut self.optimizer else { return Err(Error::Internal("no optimizer was made".into())) };
        if let Some(lr) = settings.lr {
            optimizer.set_lr(lr);
        }
        optimizer.set_lr_factor(settings.lr_factor);
        optimizer.step_with(gradients, &[])?;
        attempt.succeeded();
        if settings.backup_every > 0 && optimizer.n_steps() % settings.backup_every == 0 {
            self.saved = Some((optimizer.state_dict()?, optimizer.n_steps()));
        }
        Ok(optimizer.parameters())
    }
}

impl<R: Rule> ArrayOptimizer<R> {
    /// One on a device; `make` gives the optimizer for parameters of the first step's shapes.
    pub fn new(device: &Device, make: impl Fn(Vec<Tensor>) -> Result<Optimizer<R>> + Send + Sync + 'static) -> ArrayOptimizer<R> {
        let inner = Arc::new(Mutex::new(Inner { optimizer: None, saved: None }));
        ArrayOptimizer { device: *device, make: Arc::new(make), inner, lr: None, lr_factor: 1.0, backup_every: 0 }
    }

    /// Copies the state to the host after every so many steps, which waits for the device: what [`ArrayOptimizer::move_to`] goes on with when the
    /// device is lost. 0 for never, as unless told.
    pub fn backup_every(mut self, steps: u64) -> Self {
        self.backup_every = steps;
        self
    }

    /// Where steps are computed.
    pub fn device(&self) -> Device {
        self.device
    }

    /// Sets every group's base learning rate.
    pub fn set_lr(&mut self, lr: f64) {
        self.lr = Some(lr);
    }

    /// Multiplies all learning rates in the steps to come: what a [`crate::Schedule`] gives.
    pub fn set_lr_factor(&mut self, factor: f64) {
        self.lr_factor = factor;
    }

    fn lock(&self) -> MutexGuard<'_, Inner<R>> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn settings(&self) -> Settings {
        Settings { device: self.device, lr: self.lr, lr_factor: self.lr_factor, backup_every: self.backup_every }
    }

    /// On the device; where that fails, the device's own error, which says whether it is out of memory, or lost.
    fn on_device(&self, values: &impl Values) -> Result<Tensor> {
        let tensor = values.on(&self.device);
        let Some(error) = tensor.error() else { return Ok(tensor) };
        let bytes = values.sizes().iter().fold(size_of::<f32>(), |bytes, size| bytes.saturating_mul(*size));
        self.device.allocate(bytes)?;
        self.device.synchronize()?;
        Err(error)
    }

    /// Everything of a step that is the caller's, on the device.
    fn uploaded<P: Values, G: Values>(&self, parameters: &[P], gradients: &[G]) -> Result<(Vec<Tensor>, Vec<Option<Tensor>>)> {
        if parameters.len() != gradients.len() {
            let cause = format!("{} gradients for {} parameters", gradients.len(), parameters.len());
            return Err(Error::argument(cause, "give one for each parameter, in the same order"));
        }
        let mut uploaded = (Vec::with_capacity(parameters.len()), Vec::with_capacity(gradients.len()));
        for (at, (parameter, gradient)) in parameters.iter().zip(gradients).enumerate() {
            if parameter.sizes() != gradient.sizes() {
                let cause = format!("gradient {at} is {:?}, its parameter {:?}", gradient.sizes(), parameter.sizes());
                return Err(Error::argument(cause, "give gradients of the parameters' shapes"));
            }
            let value = self.on_device(parameter)?;
            if !value.dtype().is_float() {
                let cause = format!("parameter {at} is {}", value.dtype());
                return Err(Error::argument(cause, "give parameters of a float type: `f32`, `f64`, `f16` or `bf16`"));
            }
            uploaded.0.push(value);
            uploaded.1.push(Some(self.on_device(gradient)?));
        }
        Ok(uploaded)
    }

    /// One step: `parameters` become what they are after it.
    ///
    /// When it fails, they and the state are what they were; see [`Error::is_out_of_memory`] and [`Error::is_device_lost`].
    pub fn step<P: ValuesMut, G: Values>(&mut self, parameters: &mut [P], gradients: &[G]) -> Result<()> {
        let (values, gradients) = self.uploaded(parameters, gradients)?;
        let updated = self.lock().step(&*self.make, self.settings(), &values, gradients)?;
        Self::put(parameters, &updated)
    }

    fn put<P: ValuesMut>(parameters: &mut [P], updated: &[Tensor]) -> Result<()> {
        let received: Vec<P::Updated> = parameters.iter().zip(updated).map(|(p, new)| p.receive(new)).collect::<Result<_>>()?;
        parameters.iter_mut().zip(received).for_each(|(parameter, new)| parameter.put(new));
        Ok(())
    }

    /// As [`ArrayOptimizer::step`], for `async` programs: the step runs on a thread of its own, and any executor may wait for it. A future that is dropped
    /// leaves `parameters` as they are; the step it began goes on, and counts.
    pub async fn step_async<P: ValuesMut, G: Values>(&mut self, parameters: &mut [P], gradients: &[G]) -> Result<()>
    where
        R: Send + 'static,
    {
        let (values, gradients) = self.uploaded(parameters, gradients)?;
        let (inner, make, settings) = (Arc::clone(&self.inner), Arc::clone(&self.make), self.settings());
        let updated = in_background(move || -> Result<Vec<Tensor>> {
            let updated = inner.lock().unwrap_or_else(PoisonError::into_inner).step(&*make, settings, &values, gradients)?;
            // The caller's thread does not wait for the device.
            settings.device.synchronize()?;
            Ok(updated)
        })
        .await?;
        Self::put(parameters, &updated)
    }

    /// Steps taken so far.
    pub fn n_steps(&self) -> u64 {
        let inner = self.lock();
        match (&inner.optimizer, &inner.saved) {
            (Some(optimizer), _) => optimizer.n_steps(),
            (None, Some((_, steps))) => *steps,
            (None, None) => 0,
        }
    }

    /// State on the host, for a file; [`ArrayOptimizer::n_steps`] belongs to it. Empty before the first step.
    pub fn state_dict(&self) -> Result<BTreeMap<String, HostTensor>> {
        let inner = self.lock();
        match (&inner.optimizer, &inner.saved) {
            (Some(optimizer), _) => optimizer.state_dict(),
            (None, Some((state, _))) => Ok(state.clone()),
            (None, None) => Ok(BTreeMap::new()),
        }
    }

    /// Continues from a saved state. Before the first step, whether it fits is known when that is taken.
    pub fn load_state_dict(&mut self, state: &BTreeMap<String, HostTensor>, n_steps: u64) -> Result<()> {
        let mut inner = self.lock();
        match &mut inner.optimizer {
            Some(optimizer) => optimizer.load_state_dict(state, n_steps),
            None => {
                inner.saved = Some((state.clone(), n_steps));
                Ok(())
            }
        }
    }

    /// Gives memory that is kept for later back to the device: what may help after an error that is out of memory. Bytes that were given back.
    pub fn clear_cache(&mut self) -> u64 {
        self.device.clear_cache()
    }

    /// Goes on on another device, with the state; or, where the old device is lost, with the last copy of the state on the host
    /// ([`ArrayOptimizer::backup_every`]): an error if there is none, and nothing has changed.
    pub fn move_to(&mut self, device: &Device) -> Result<()> {
        {
            let mut inner = self.lock();
            let Inner { optimizer, saved } = &mut *inner;
            if let Some(known) = optimizer {
                let is_lost = self.device.is_lost();
                let moved = match is_lost {
                    true => Err(Error::argument("the state was on a device that is lost", "keep copies of it with `backup_every`")),
                    false => known.follow(known.parameters().iter().map(|p| p.detach().to(device).requires_grad()).collect()),
                };
                match (moved, saved.is_some()) {
                    (Ok(()), _) => {}
                    // The next step makes it again, with this state.
                    (Err(error), true) if is_lost || error.is_device_lost() => *optimizer = None,
                    (Err(error), _) => return Err(error),
                }
            }
        }
        self.device = *device;
        Ok(())
    }

    /// Goes on on another device with state as before the first step, whatever became of the old one.
    pub fn restart_on(&mut self, device: &Device) {
        *self.lock() = Inner { optimizer: None, saved: None };
        self.device = *device;
    }
}
