//! Normalizations without running statistics.

use super::Layer;
use crate::{Module, init, trace};
use unigrad_tensor::{DType, Device, Origin, Tensor};

/// `(x - mean) / sqrt(var + eps) * weight + bias` over the last axes.
#[doc = example!(LayerNorm, "::over(&[3, 4], &device)", "[2, 3, 4]" => "[2, 3, 4]")]
#[derive(Module, Clone)]
pub struct LayerNorm {
    /// The size of the axes normalized over.
    pub weight: Option<Tensor>,
    /// Likewise.
    pub bias: Option<Tensor>,
    /// Added to the variance.
    pub eps: f64,
    sizes: Vec<usize>,
}

impl LayerNorm {
    /// Over the last axis, of `size` features, with a bias.
    #[track_caller]
    pub fn new(size: usize, device: &Device) -> LayerNorm {
        LayerNorm::over(&[size], device)
    }

    /// Over the last axes, of the given sizes, with a bias.
    #[track_caller]
    pub fn over(sizes: &[usize], device: &Device) -> LayerNorm {
        let bias = Some(init::constant(sizes, 0.0, init::dtype(), device));
        LayerNorm { weight: Some(init::constant(sizes, 1.0, init::dtype(), device)), bias, eps: 1e-5, sizes: sizes.to_vec() }
    }

    /// Without a bias.
    pub fn no_bias(mut self) -> LayerNorm {
        self.bias = None;
        self
    }

    /// With another number added to the variance.
    pub fn eps(mut self, eps: f64) -> LayerNorm {
        self.eps = eps;
        self
    }

    /// Without weight and bias: PyTorch's `elementwise_affine=False`.
    pub fn no_affine(mut self) -> LayerNorm {
        (self.weight, self.bias) = (None, None);
        self
    }
}

impl Layer for LayerNorm {
    #[track_caller]
    fn forward(&self, x: &Tensor) -> Tensor {
        let (weight, bias) = (self.weight.as_ref(), self.bias.as_ref());
        let y = match weight {
            Some(_) => x.layer_norm(weight, bias, self.eps),
            None => x.layer_norm_over(self.sizes.as_slice(), None, bias, self.eps),
        };
        trace::observe("LayerNorm", weight, y)
    }
}

/// `x / sqrt(mean(x²) + eps) * weight` over the last axes.
#[doc = example!(RmsNorm, "::new(4, &device)", "[2, 3, 4]" => "[2, 3, 4]")]
#[derive(Module, Clone)]
pub struct RmsNorm {
    /// The size of the axes normalized over.
    pub weight: Option<Tensor>,
    /// Added to the mean square; `None`, PyTorch's default: the machine epsilon of what it is computed in (`f32` for half types).
    pub eps: Option<f64>,
    sizes: Vec<usize>,
}

impl RmsNorm {
    /// Over the last axis, of `size` features.
    #[track_caller]
    pub fn new(size: usize, device: &Device) -> RmsNorm {
        RmsNorm::over(&[size], device)
    }

    /// Over the last axes, of the given sizes.
    #[track_caller]
    pub fn over(sizes: &[usize], device: &Device) -> RmsNorm {
        RmsNorm { weight: Some(init::constant(sizes, 1.0, init::dtype(), device)), eps: None, sizes: sizes.to_vec() }
    }

    /// With a number added to the mean square.
    pub fn eps(mut self, eps: f64) -> RmsNorm {
        self.eps = Some(eps);
        self
    }

    /// Without a weight: PyTorch's `elementwise_affine=False`.
    pub fn no_affine(mut self) -> RmsNorm {
        self.weight = None;
        self
    }
}

impl Layer for RmsNorm {
    #[track_caller]
    fn forward(&self, x: &Tensor) -> Tensor {
        let eps = self.eps.unwrap_or(if x.dtype() == DType::F64 { f64::EPSILON } else { f64::from(f32::EPSILON) });
        let y = match (&self.weight, x.device()) {
            (Some(weight), _) => x.rms_norm(Some(weight), eps),
            // Ones tell which axes.
            (None, Ok(device)) => x.rms_norm(Some(&Tensor::ones(self.sizes.as_slice(), x.dtype(), &device)), eps),
            (None, Err(_)) => x.clone(),
        };
        trace::observe("RmsNorm", self.weight.as_ref(), y)
    }
}

/// Layer norm of `[n, c, ..]` within each group of channels.
#[doc = example!(GroupNorm, "::new(2, 6, &device)", "[2, 6, 5]" => "[2, 6, 5]")]
#[derive(Module, Clone)]
pub struct GroupNorm {
    /// `[c]`.
    pub weight: Option<Tensor>,
    /// `[c]`.
    pub bias: Option<Tensor>,
    /// How many groups.
    pub groups: usize,
    /// Added to the variance.
    pub eps: f64,
}

impl GroupNorm {
    /// `channels` in `groups` groups.
    #[track_caller]
    pub fn new(groups: usize, channels: usize, device: &Device) -> GroupNorm {
        let _origin = Origin::enter_caller();
        let value = |v| Some(init::constant(&[channels], v, init::dtype(), device));
        GroupNorm { weight: value(1.0), bias: value(0.0), groups, eps: 1e-5 }
    }

    /// Without weight and bias: PyTorch's `affine=False`.
    pub fn no_affine(mut self) -> GroupNorm {
        (self.weight, self.bias) = (None, None);
        self
    }
}

impl Layer for GroupNorm {
    #[track_caller]
    fn forward(&self, x: &Tensor) -> Tensor {
        let (weight, bias) = (self.weight.as_ref(), self.bias.as_ref());
        trace::observe("GroupNorm", weight, x.group_norm(self.groups, weight, bias, self.eps))
    }
}

/// `x / (k + alpha / size Σ x²)^beta` over neighbouring channels (Krizhevsky et al., 2012).
#[doc = example!(LocalResponseNorm, "::new(3)", "[2, 6, 5, 5]" => "[2, 6, 5, 5]")]
#[derive(Module, Clone, Copy, Debug)]
pub struct LocalResponseNorm {
    /// How many channels.
    pub size: usize,
    /// How much they count.
    pub alpha: f64,
    /// The power.
    pub beta: f64,
    /// Added.
    pub k: f64,
}

impl LocalResponseNorm {
    /// Over `size` channels, with PyTorch's `alpha`, `beta` and `k`.
    pub fn new(size: usize) -> LocalResponseNorm {
        LocalResponseNorm { size, alpha: 1e-4, beta: 0.75, k: 1.0 }
    }
}

impl Layer for LocalResponseNorm {
    #[track_caller]
    fn forward(&self, x: &Tensor) -> Tensor {
        trace::observe("LocalResponseNorm", None, x.local_response_norm(self.size, self.alpha, self.beta, self.k))
    }
}

/// `x / (k + alpha / size Σ x²)^beta` over the channels at a distance of at most `(size - 1) / 2`, and channel 0, of `[n, c, h, w]`.
///
/// The values are PyTorch's, whose running sum never takes channel 0 out again; without that it would be [`LocalResponseNorm`] for odd sizes. The gradient is
/// that of these values; PyTorch's own is one of other windows.
///
/// ```
/// # extern crate unigrad_nn as unigrad;
/// # unigrad_device::register(unigrad_cpu::CpuDriver::default());
/// use unigrad::nn::{CrossMapLrn2d, Layer};
/// use unigrad_tensor::{DType, Device, Tensor};
///
/// let x = Tensor::ones([1, 3, 1, 1], DType::F64, &Device::open("cpu")?);
/// let layer = CrossMapLrn2d { alpha: 3.0, beta: 1.0, ..CrossMapLrn2d::new(3) };
/// assert_eq!(layer.forward(&x).to_vec::<f64>()?, [1.0 / 3.0, 1.0 / 4.0, 1.0 / 4.0]);
/// # Ok::<(), unigrad::Error>(())
/// ```
#[derive(Module, Clone, Copy, Debug)]
pub struct CrossMapLrn2d {
    /// What sums are divided by, and how far channels count: up to `(size - 1) / 2` away.
    pub size: usize,
    /// How much they count.
    pub alpha: f64,
    /// The power.
    pub beta: f64,
    /// Added.
    pub k: f64,
}

impl CrossMapLrn2d {
    /// Over `size` channels, with PyTorch's `alpha`, `beta` and `k`.
    pub fn new(size: usize) -> CrossMapLrn2d {
        CrossMapLrn2d { size, alpha: 1e-4, beta: 0.75, k: 1.0 }
    }
}

impl Layer for CrossMapLrn2d {
    #[track_caller]
    fn forward(&self, x: &Tensor) -> Tensor {
        let _origin = Origin::enter_caller();
        trace::observe("CrossMapLrn2d", None, self.of(x))
    }
}

impl CrossMapLrn2d {
    #[track_caller]
    fn of(&self, x: &Tensor) -> Tensor {
        // The same window as of the odd size below, divided by this one. Without a window: the op's error.
        let window = if self.size == 0 { 0 } else { 2 * ((self.size - 1) / 2) + 1 };
        let (shape, half) = (x.shape(), window / 2);
        let (Ok(device), &[_, channels, _, _]) = (x.device(), &shape[..]) else {
            return x.local_response_norm(window, self.alpha, self.beta, self.k);
        };
        if window == 0 || channels <= half + 1 || !x.dtype().is_float() {
            let alpha = self.alpha * window as f64 / self.size.max(1) as f64;
            return x.local_response_norm(window, alpha, self.beta, self.k);
        }
        let wide = x.cast(x.dtype().compute());
        let squares = wide.square();
        let sums = squares.pad(&[(0, 0), (half, half), (0, 0), (0, 0)]).unfold(1, window, 1).sum(-1);
        let behind = Tensor::arange(0.0, channels as f64, 1.0, DType::I64, &device).gt(half as i64).reshape([1, channels, 1, 1]);
        let sums = sums + behind.where_(squares.narrow(1, 0, 1), 0.0);
        (&wide / (sums * (self.alpha / self.size as f64) + self.k).pow(self.beta)).cast(x.dtype())
    }
}
