//! ResNet as torchvision has it: bottlenecks with the stride in the 3x3 convolution.
//!
//! Always: parameters are in the order of `ResNet` in `scripts/torch_rows.py`, whose losses a test compares.

use super::Network;
use unigrad_device::Device;
use unigrad_nn::{self as nn, Layer, Module};
use unigrad_tensor::{ConvOptions, DType, PoolOptions, Result, Tensor};

/// Sizes of a network.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sizes {
    /// Bottlenecks of each stage.
    pub(crate) stages: [usize; 4],
    /// Channels of the stem.
    pub(crate) width: usize,
    /// Height and width of an image.
    pub(crate) image: usize,
    pub(crate) classes: usize,
}

/// ResNet-50.
pub(crate) const FIFTY: Sizes = Sizes { stages: [3, 4, 6, 3], width: 64, image: 224, classes: 1000 };

/// Channels of an image.
const COLORS: usize = 3;

impl Sizes {
    /// Bottlenecks in order: inputs, width, stride.
    fn blocks(&self) -> Vec<[usize; 3]> {
        let mut blocks = Vec::new();
        let mut inputs = self.width;
        for (stage, count) in self.stages.into_iter().enumerate() {
            let width = self.width << stage;
            for i in 0..count {
                blocks.push([inputs, width, if i == 0 && stage > 0 { 2 } else { 1 }]);
                inputs = 4 * width;
            }
        }
        blocks
    }

    /// Features before the head.
    fn features(&self) -> usize {
        4 * (self.width << (self.stages.len() - 1))
    }

    /// Multiplications and additions of a forward pass over an image, in products and convolutions.
    pub(crate) fn forward_flops(&self) -> f64 {
        let conv = |[inputs, outputs, kernel]: [usize; 3], size: usize| (2 * inputs * outputs * kernel * kernel * size * size) as f64;
        // The stem's convolution and its pool halve the size.
        let mut size = self.image.div_ceil(2);
        let mut sum = conv([COLORS, self.width, 7], size);
        size = size.div_ceil(2);
        for [inputs, width, stride] in self.blocks() {
            let after = size.div_ceil(stride);
            sum += conv([inputs, width, 1], size) + conv([width, width, 3], after) + conv([width, 4 * width, 1], after);
            if inputs != 4 * width {
                sum += conv([inputs, 4 * width, 1], after);
            }
            size = after;
        }
        sum + (2 * self.features() * self.classes) as f64
    }
}

/// A convolution without a bias, and its norm.
#[derive(Module)]
#[module(crate = "unigrad_nn")]
struct Normed {
    conv: nn::Conv2d,
    norm: nn::BatchNorm,
}

impl Normed {
    fn new([inputs, outputs, kernel, stride]: [usize; 4], device: &Device) -> Normed {
        let options = ConvOptions::new(stride, kernel / 2);
        Normed { conv: nn::Conv2d::new(inputs, outputs, kernel, options, device).no_bias(), norm: nn::BatchNorm::new(outputs, device) }
    }

    fn forward(&self, x: &Tensor) -> Tensor {
        self.norm.forward(&self.conv.forward(x))
    }
}

/// Three convolutions, and the way past them.
#[derive(Module)]
#[module(crate = "unigrad_nn")]
struct Bottleneck {
    parts: [Normed; 3],
    past: Option<Normed>,
}

impl Bottleneck {
    fn new([inputs, width, stride]: [usize; 3], device: &Device) -> Bottleneck {
        let outputs = 4 * width;
        let parts = [[inputs, width, 1, 1], [width, width, 3, stride], [width, outputs, 1, 1]].map(|sizes| Normed::new(sizes, device));
        Bottleneck { parts, past: (inputs != outputs).then(|| Normed::new([inputs, outputs, 1, stride], device)) }
    }

    fn forward(&self, x: &Tensor) -> Tensor {
        let [first, second, third] = &self.parts;
        let h = second.forward(&first.forward(x).relu()).relu();
        let past = self.past.as_ref().map_or_else(|| x.clone(), |past| past.forward(x));
        (third.forward(&h) + past).relu()
    }
}

/// The network, and random images with their classes.
pub(crate) fn network(device: &Device, sizes: Sizes, batch: usize) -> Result<Network> {
    let stem = Normed::new([COLORS, sizes.width, 7, 2], device);
    let blocks: Vec<Bottleneck> = sizes.blocks().into_iter().map(|block| Bottleneck::new(block, device)).collect();
    let head = nn::Linear::new(sizes.features(), sizes.classes, device);
    let mut parameters = stem.parameters();
    parameters.extend(blocks.iter().flat_map(Module::parameters));
    parameters.extend(head.parameters());
    let x = Tensor::rand([batch, COLORS, sizes.image, sizes.image], DType::F32, device);
    let y = Tensor::randint(0, sizes.classes as i64, [batch], DType::I64, device);
    Network::new(parameters, vec![x, y], move |data| {
        let h = stem.forward(&data[0]).relu().max_pool2d(&PoolOptions::new(3).stride(2).padding(1));
        let h = blocks.iter().fold(h, |h, block| block.forward(&h));
        head.forward(&h.mean([2, 3])).cross_entropy(&data[1])
    })
}
