//! Linear maps of one input and of two, and one that ends in a loss.

use super::Layer;
use crate::{Module, init, trace};
use unigrad_tensor::{CrossEntropyOptions, Device, Tensor};

/// `x @ weightᵀ + bias` over the last axis.
#[doc = example!(Linear, "::new(4, 3, &device)", "[2, 5, 4]" => "[2, 5, 3]")]
#[derive(Module, Clone)]
pub struct Linear {
    /// `[out, in]`.
    pub weight: Tensor,
    /// `[out]`.
    pub bias: Option<Tensor>,
}

impl Linear {
    /// From `inputs` features to `outputs`, with a bias.
    #[track_caller]
    pub fn new(inputs: usize, outputs: usize, device: &Device) -> Linear {
        let bias = Some(init::torch_default(&[outputs], inputs, init::dtype(), device));
        Linear { bias, ..Linear::no_bias(inputs, outputs, device) }
    }

    /// Without a bias.
    #[track_caller]
    pub fn no_bias(inputs: usize, outputs: usize, device: &Device) -> Linear {
        Linear { weight: init::torch_default(&[outputs, inputs], inputs, init::dtype(), device), bias: None }
    }
}

impl Layer for Linear {
    #[track_caller]
    fn forward(&self, x: &Tensor) -> Tensor {
        trace::observe("Linear", Some(&self.weight), x.linear(&self.weight, self.bias.as_ref()))
    }
}

/// `x_i · weight_k · y_j` for each output `k`, and a bias, over the last axes of two inputs.
///
/// ```
/// # extern crate unigrad_nn as unigrad;
/// # unigrad_device::register(unigrad_cpu::CpuDriver::default());
/// use unigrad::nn::Bilinear;
/// use unigrad_tensor::{DType, Device, Tensor};
///
/// let device = Device::open("cpu")?;
/// let [x, other] = [[2, 4], [2, 3]].map(|shape| Tensor::ones(shape, DType::F32, &device));
/// assert_eq!(Bilinear::new(4, 3, 5, &device).forward(&x, &other).dims()?, [2, 5]);
/// # Ok::<(), unigrad::Error>(())
/// ```
#[derive(Module, Clone)]
pub struct Bilinear {
    /// `[out, in, other in]`.
    pub weight: Tensor,
    /// `[out]`.
    pub bias: Option<Tensor>,
}

impl Bilinear {
    /// From `inputs` and `others` features to `outputs`, with a bias.
    #[track_caller]
    pub fn new(inputs: usize, others: usize, outputs: usize, device: &Device) -> Bilinear {
        Bilinear {
            weight: init::torch_default(&[outputs, inputs, others], inputs, init::dtype(), device),
            bias: Some(init::torch_default(&[outputs], inputs, init::dtype(), device)),
        }
    }

    /// Without a bias.
    pub fn no_bias(mut self) -> Bilinear {
        self.bias = None;
        self
    }

    /// Of two tensors that have all axes but the last alike.
    #[track_caller]
    pub fn forward(&self, x: &Tensor, other: &Tensor) -> Tensor {
        trace::observe("Bilinear", Some(&self.weight), x.bilinear(other, &self.weight, self.bias.as_ref()))
    }
}

/// A linear map to the logits of classes, and the cross-entropy of these: what a language model ends with.
///
/// ```
/// # extern crate unigrad_nn as unigrad;
/// # unigrad_device::register(unigrad_cpu::CpuDriver::default());
/// use unigrad::nn::LinearCrossEntropyLoss;
/// use unigrad_tensor::{DType, Device, Tensor};
///
/// let device = Device::open("cpu")?;
/// let loss = LinearCrossEntropyLoss::new(4, 10, &[3], &device);
/// let x = Tensor::randn([2, 4], DType::F32, &device);
/// let target = Tensor::new([[1i64, 0, 9], [2, 2, 5]], &device);
/// assert!(loss.forward(&x, &target).item::<f32>()? > 0.0);
/// # Ok::<(), unigrad::Error>(())
/// ```
#[derive(Module, Clone)]
pub struct LinearCrossEntropyLoss {
    /// To all logits of an input.
    pub linear: Linear,
    /// Class weights, what is ignored, label smoothing, reduction.
    #[module(skip)]
    pub options: CrossEntropyOptions,
    classes: usize,
    outputs: Vec<usize>,
}

impl LinearCrossEntropyLoss {
    /// From `inputs` features to `classes` classes, without a bias; `outputs`: the sizes of further axes of the target (none: `&[]`).
    #[track_caller]
    pub fn new(inputs: usize, classes: usize, outputs: &[usize], device: &Device) -> LinearCrossEntropyLoss {
        let n = outputs.iter().product::<usize>().saturating_mul(classes);
        let linear = Linear::no_bias(inputs, n, device);
        LinearCrossEntropyLoss { linear, options: CrossEntropyOptions::default(), classes, outputs: outputs.to_vec() }
    }

    /// Of inputs `[n, inputs]` and targets: class indices `[n, outputs..]`, or probabilities `[n, classes, outputs..]`.
    #[track_caller]
    pub fn forward(&self, x: &Tensor, target: &Tensor) -> Tensor {
        let mut logits = self.linear.forward(x);
        if !self.outputs.is_empty() {
            let sizes: Vec<i64> = std::iter::once(&self.classes).chain(&self.outputs).map(|size| *size as i64).collect();
            logits = logits.unflatten(-1, sizes);
        }
        logits.cross_entropy_with(target, &self.options)
    }
}
