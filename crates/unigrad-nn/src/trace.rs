//! What the layers of a model gave, in order: to find where a number stopped being one.
//!
//! In: a model and its forward pass. Out: the first parameter, input or layer output that is not finite.
//! Always: costs nothing while not observed: layers ask one thread-local flag.

use crate::{
    error::{Error, Result},
    module::{Entry, Module, entries},
};
use std::cell::RefCell;
use unigrad_tensor::{Tensor, no_grad};

/// The output of a layer, as it was computed while observed.
struct Observation {
    /// The layer's type.
    layer: &'static str,
    /// Where one of its parameters stands in memory, which tells its path; 0 if it has none.
    key: usize,
    output: Tensor,
}

thread_local! {
    static OBSERVED: RefCell<Option<Vec<Observation>>> = const { RefCell::new(None) };
}

/// To be called by a layer with what it returns, so that [`first_not_finite`] can name it; `parameter` is a field of the layer, which tells its path in
/// the model. Costs nothing while not observed.
///
/// ```
/// # extern crate unigrad_nn as unigrad;
/// use unigrad_nn::{Layer, Module, observe};
/// use unigrad_tensor::{DType, Device, Tensor};
///
/// #[derive(Module)]
/// struct Scale {
///     factor: Tensor,
/// }
///
/// impl Layer for Scale {
///     fn forward(&self, x: &Tensor) -> Tensor {
///         observe("Scale", Some(&self.factor), x * &self.factor)
///     }
/// }
/// # unigrad_device::register(unigrad_cpu::CpuDriver);
/// # let device = Device::open("cpu")?;
/// let scale = Scale { factor: Tensor::full((), f64::INFINITY, DType::F32, &device).requires_grad() };
/// let x = Tensor::ones([2], DType::F32, &device);
/// let place = unigrad_nn::first_not_finite(&scale, &[("x", &x)], || scale.forward(&x))?;
/// assert_eq!(place.as_deref(), Some("parameter `factor`"));
/// # Ok::<(), unigrad_tensor::Error>(())
/// ```
pub fn observe(layer: &'static str, parameter: Option<&Tensor>, output: Tensor) -> Tensor {
    OBSERVED.with_borrow_mut(|observed| {
        if let Some(list) = observed {
            let key = parameter.map_or(0, |p| std::ptr::from_ref(p) as usize);
            list.push(Observation { layer, key, output: output.clone() });
        }
    });
    output
}

/// Whether what layers give is observed.
pub(crate) fn is_observed() -> bool {
    OBSERVED.with_borrow(Option::is_some)
}

/// Ends the observation also when the forward pass panics.
struct Guard;

impl Drop for Guard {
    fn drop(&mut self) {
        OBSERVED.with_borrow_mut(|observed| *observed = None);
    }
}

/// What each layer gave, with its path or what stands for it, in words.
fn places<'m>(state: &'m [Entry<'_>], observed: Vec<Observation>) -> Vec<(String, Tensor)> {
    let mut last: Option<&'m str> = None;
    let mut places = Vec::with_capacity(observed.len());
    for observation in observed {
        let path = state
            .iter()
            .find(|e| std::ptr::from_ref(e.tensor) as usize == observation.key && observation.key != 0)
            .map(|e| e.path.rsplit_once('.').map_or("", |(module, _)| module));
        let place = match (path, last) {
            (Some(path), _) => format!("layer `{path}` ({})", observation.layer),
            (None, Some(before)) => format!("{} after layer `{before}`", observation.layer),
            (None, None) => observation.layer.to_owned(),
        };
        last = path.or(last);
        places.push((place, observation.output));
    }
    places
}

/// Runs `forward` and gives what layers gave during it.
fn observed<T>(forward: impl FnOnce() -> T) -> (T, Vec<Observation>) {
    OBSERVED.with_borrow_mut(|observed| *observed = Some(Vec::new()));
    let guard = Guard;
    let result = forward();
    let observed = OBSERVED.with_borrow_mut(Option::take).unwrap_or_default();
    drop(guard);
    (result, observed)
}

/// The error of a forward pass with the layer that it belongs to, by its path in `model`, before the name of the op. An error of another kind, or one that
/// does not come again, is as it was.
///
/// Runs `forward` again, so give it what it was given when it failed.
///
/// ```
/// # extern crate unigrad_nn as unigrad;
/// # unigrad_device::register(unigrad_cpu::CpuDriver::default());
/// use unigrad_nn::{Layer, Linear, Relu, Sequential, name_layer};
/// use unigrad_tensor::{DType, Device, Tensor};
///
/// let device = Device::open("cpu")?;
/// let net = Sequential::new().add(Linear::new(4, 3, &device)).add(Relu).add(Linear::new(5, 2, &device));
/// let x = Tensor::zeros([1, 4], DType::F32, &device);
/// let error = net.forward(&x).check().unwrap_err();
/// let error = name_layer(&net, error, || net.forward(&x)).to_string();
/// assert!(error.contains("layer `2` (Linear)") && error.contains("[1, 3]"), "{error}");
/// # Ok::<(), unigrad_tensor::Error>(())
/// ```
pub fn name_layer<M: Module + ?Sized>(model: &M, error: Error, forward: impl FnOnce() -> Tensor) -> Error {
    let Error::Graph(cause) = &error else { return error };
    let state = entries(model);
    let (_, observed) = no_grad(|| observed(forward));
    let found = places(&state, observed).into_iter().find_map(|(place, output)| match output.error() {
        Some(Error::Graph(found)) if found.op == cause.op && found.message == cause.message => Some(place),
        _ => None,
    });
    match found {
        Some(place) => {
            let mut named = (**cause).clone();
            named.op = format!("{place}: {}", named.op);
            Error::Graph(named.into())
        }
        None => error,
    }
}

/// Where the first number that is not finite stands: in `inputs`, in a parameter, or in what a layer of `model` gives during
/// `forward`; in words. `None` if all are finite, up to the value that `forward` returns.
///
/// Runs `forward` again, so give it what it was given when the loss went wrong.
pub fn first_not_finite<M: Module + ?Sized>(
    model: &M,
    inputs: &[(&str, &Tensor)],
    forward: impl FnOnce() -> Tensor,
) -> Result<Option<String>> {
    let state = entries(model);
    let mut flags: Vec<(String, Tensor)> = Vec::new();
    let (result, observed) = no_grad(|| {
        for (name, tensor) in inputs.iter().filter(|(_, t)| t.dtype().is_float()) {
            flags.push((format!("the input ({name})"), tensor.isfinite().all(())));
        }
        for entry in state.iter().filter(|e| e.tensor.dtype().is_float()) {
            let kind = if entry.buffer { "buffer" } else { "parameter" };
            flags.push((format!("{kind} `{}`", entry.path), entry.tensor.isfinite().all(())));
        }
        observed(forward)
    });
    for (place, output) in places(&state, observed) {
        if output.dtype().is_float() {
            flags.push((format!("the output of {place}"), no_grad(|| output.isfinite().all(()))));
        }
    }
    flags.push(("the loss itself; what all layers gave is finite".to_owned(), no_grad(|| result.isfinite().all(()))));
    Tensor::realize_all(&flags.iter().map(|(_, flag)| flag).collect::<Vec<_>>())?;
    for (place, flag) in flags {
        if !flag.item::<bool>()? {
            return Ok(Some(place));
        }
    }
    Ok(None)
}
