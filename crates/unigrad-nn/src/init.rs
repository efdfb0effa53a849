//! Initial values: those of the literature, and PyTorch's defaults.
//!
//! In: a shape. Out: a parameter of random numbers from the process's generator ([`unigrad_tensor::manual_seed`]), lazy like any tensor.
//! Always: fans are PyTorch's: of a weight `[out, in, kernel..]`, `in` and `out` times the kernel's size.

use std::cell::Cell;
use unigrad_tensor::{DType, Device, Tensor};

thread_local! {
    static CURRENT: Cell<DType> = const { Cell::new(DType::F32) };
}

/// The dtype that layers are constructed in on this thread: `F32`, or that of [`with_dtype`].
pub fn dtype() -> DType {
    CURRENT.get()
}

/// Layers that `f` constructs have their parameters in `dtype`, as with PyTorch's `torch.set_default_dtype`.
///
/// ```
/// # extern crate unigrad_nn as unigrad;
/// # unigrad_device::register(unigrad_cpu::CpuDriver::default());
/// use unigrad::nn::{Linear, init};
/// use unigrad_tensor::{DType, Device};
///
/// let device = Device::open("cpu")?;
/// let layer = init::with_dtype(DType::BF16, || Linear::new(4, 3, &device));
/// assert_eq!(layer.weight.dtype(), DType::BF16);
/// # Ok::<(), unigrad::Error>(())
/// ```
pub fn with_dtype<T>(dtype: DType, f: impl FnOnce() -> T) -> T {
    /// Puts the dtype back, also when `f` panics.
    struct Back(DType);
    impl Drop for Back {
        fn drop(&mut self) {
            CURRENT.set(self.0);
        }
    }
    let _back = Back(CURRENT.replace(dtype));
    f()
}

/// Inputs and outputs that one element of a weight `[out, in, kernel..]` connects.
pub fn fans(shape: &[usize]) -> (usize, usize) {
    match shape {
        [out, inputs, kernel @ ..] => {
            let size: usize = kernel.iter().product();
            (inputs * size, out * size)
        }
        [n] => (*n, *n),
        [] => (1, 1),
    }
}

/// Which fan a variance is kept over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Fan {
    /// That of the inputs: keeps the variance of activations.
    #[default]
    In,
    /// That of the outputs: keeps the variance of gradients.
    Out,
}

impl Fan {
    fn of(self, shape: &[usize]) -> f64 {
        let (inputs, outputs) = fans(shape);
        if self == Fan::In { inputs as f64 } else { outputs as f64 }
    }
}

/// Uniform in `-bound..bound`.
#[track_caller]
pub fn uniform(shape: &[usize], bound: f64, dtype: DType, device: &Device) -> Tensor {
    Tensor::uniform(shape, -bound, bound, dtype, device).requires_grad()
}

/// Normal with mean 0.
#[track_caller]
pub fn normal(shape: &[usize], std: f64, dtype: DType, device: &Device) -> Tensor {
    (Tensor::randn(shape, dtype, device) * std).requires_grad()
}

/// All one value.
#[track_caller]
pub fn constant(shape: &[usize], value: f64, dtype: DType, device: &Device) -> Tensor {
    Tensor::full(shape, value, dtype, device).requires_grad()
}

/// He's uniform initialization, for a gain (the root of 2 before a ReLU).
#[track_caller]
pub fn kaiming_uniform(shape: &[usize], gain: f64, fan: Fan, dtype: DType, device: &Device) -> Tensor {
    uniform(shape, gain * (3.0 / fan.of(shape).max(1.0)).sqrt(), dtype, device)
}

/// He's normal initialization, for a gain (the root of 2 before a ReLU).
#[track_caller]
pub fn kaiming_normal(shape: &[usize], gain: f64, fan: Fan, dtype: DType, device: &Device) -> Tensor {
    normal(shape, gain / fan.of(shape).max(1.0).sqrt(), dtype, device)
}

/// Glorot's uniform initialization.
#[track_caller]
pub fn xavier_uniform(shape: &[usize], gain: f64, dtype: DType, device: &Device) -> Tensor {
    let (inputs, outputs) = fans(shape);
    uniform(shape, gain * (6.0 / (inputs + outputs).max(1) as f64).sqrt(), dtype, device)
}

/// Glorot's normal initialization.
#[track_caller]
pub fn xavier_normal(shape: &[usize], gain: f64, dtype: DType, device: &Device) -> Tensor {
    let (inputs, outputs) = fans(shape);
    normal(shape, gain * (2.0 / (inputs + outputs).max(1) as f64).sqrt(), dtype, device)
}

/// PyTorch's default for the weights and biases of linear and convolution layers: uniform within one over the root of the inputs.
#[track_caller]
pub fn torch_default(shape: &[usize], fan_in: usize, dtype: DType, device: &Device) -> Tensor {
    uniform(shape, 1.0 / (fan_in.max(1) as f64).sqrt(), dtype, device)
}
