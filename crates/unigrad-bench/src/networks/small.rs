//! Small networks: a perceptron, a convolutional network, a recurrent one, a character GPT.
//!
//! Always: parameters are in the order of the networks of the same names in `scripts/torch_rows.py`, whose losses a test compares.

use super::{Network, uniform_tokens};
use unigrad_device::Device;
use unigrad_nn::{self as nn, Layer, Module};
use unigrad_tensor::{ConvOptions, DType, PoolOptions, Result, Tensor};

/// Layers of 784, 512, 256 and 10.
pub(crate) const PERCEPTRON: [usize; 4] = [784, 512, 256, 10];

/// Linear layers of these sizes with ReLU between them, for classes.
pub(crate) fn perceptron(device: &Device, sizes: [usize; 4], batch: usize) -> Result<Network> {
    let layers = [0, 1, 2].map(|i| nn::Linear::new(sizes[i], sizes[i + 1], device));
    let x = Tensor::randn([batch, sizes[0]], DType::F32, device);
    let y = Tensor::randint(0, sizes[3] as i64, [batch], DType::I64, device);
    Network::new(layers.iter().flat_map(Module::parameters).collect(), vec![x, y], move |data| {
        let h = layers[0].forward(&data[0]).relu();
        let h = layers[1].forward(&h).relu();
        layers[2].forward(&h).cross_entropy(&data[1])
    })
}

/// Sizes of the convolutional network.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cnn {
    /// Height and width of an image, which has one channel.
    pub(crate) image: usize,
    pub(crate) channels: [usize; 2],
    pub(crate) hidden: usize,
    pub(crate) classes: usize,
}

/// As for MNIST.
pub(crate) const CNN: Cnn = Cnn { image: 28, channels: [32, 64], hidden: 128, classes: 10 };

impl Cnn {
    /// Features after two convolutions of 3x3 without padding and a pool of 2.
    pub(crate) fn features(&self) -> usize {
        let size = (self.image - 4) / 2;
        self.channels[1] * size * size
    }

    /// Operations of a forward pass over an image, in products and convolutions.
    pub(crate) fn forward_flops(&self) -> f64 {
        let [first, second] = self.channels;
        let conv = |inputs: usize, outputs: usize, size: usize| 2 * 9 * inputs * outputs * size * size;
        let layers = self.features() * self.hidden + self.hidden * self.classes;
        (conv(1, first, self.image - 2) + conv(first, second, self.image - 4) + 2 * layers) as f64
    }

    pub(crate) fn parameters(&self) -> f64 {
        let [first, second] = self.channels;
        let convs = 9 * first + first + 9 * first * second + second;
        (convs + (self.features() + 1) * self.hidden + (self.hidden + 1) * self.classes) as f64
    }
}

pub(crate) fn cnn(device: &Device, sizes: Cnn, batch: usize) -> Result<Network> {
    let conv = |inputs, outputs| nn::Conv2d::new(inputs, outputs, 3, ConvOptions::default(), device);
    let (c1, c2) = (conv(1, sizes.channels[0]), conv(sizes.channels[0], sizes.channels[1]));
    let (f1, f2) = (nn::Linear::new(sizes.features(), sizes.hidden, device), nn::Linear::new(sizes.hidden, sizes.classes, device));
    let parameters = [c1.parameters(), c2.parameters(), f1.parameters(), f2.parameters()].concat();
    let x = Tensor::randn([batch, 1, sizes.image, sizes.image], DType::F32, device);
    let y = Tensor::randint(0, sizes.classes as i64, [batch], DType::I64, device);
    Network::new(parameters, vec![x, y], move |data| {
        let h = c1.forward(&data[0]).relu();
        let h = c2.forward(&h).relu().max_pool2d(&PoolOptions::new(2));
        f2.forward(&f1.forward(&h.flatten(1, -1)).relu()).cross_entropy(&data[1])
    })
}

/// Sizes of the recurrent network.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Recurrent {
    pub(crate) inputs: usize,
    pub(crate) hidden: usize,
    pub(crate) steps: usize,
    pub(crate) classes: usize,
}

pub(crate) const RECURRENT: Recurrent = Recurrent { inputs: 64, hidden: 256, steps: 64, classes: 10 };

impl Recurrent {
    pub(crate) fn forward_flops(&self) -> f64 {
        let step = 4 * self.hidden * (self.inputs + self.hidden);
        2.0 * (step * self.steps + self.hidden * self.classes) as f64
    }

    pub(crate) fn parameters(&self) -> f64 {
        (4 * self.hidden * (self.inputs + self.hidden + 2) + (self.hidden + 1) * self.classes) as f64
    }
}

/// An LSTM, whose last output is classified.
pub(crate) fn lstm(device: &Device, sizes: Recurrent, batch: usize) -> Result<Network> {
    let (model, head) = (nn::Lstm::new(sizes.inputs, sizes.hidden, device), nn::Linear::new(sizes.hidden, sizes.classes, device));
    let parameters = [model.parameters(), head.parameters()].concat();
    let x = Tensor::randn([batch, sizes.steps, sizes.inputs], DType::F32, device);
    let y = Tensor::randint(0, sizes.classes as i64, [batch], DType::I64, device);
    Network::new(parameters, vec![x, y], move |data| {
        let last = model.run(&data[0], None).0.narrow(1, sizes.steps - 1, 1).squeeze(1);
        head.forward(&last).cross_entropy(&data[1])
    })
}

/// The character GPT of `scripts/golden_gpt.py`.
pub(crate) const CHARACTERS: nn::models::GptConfig = nn::models::GptConfig { vocab: 65, ctx: 256, layers: 6, heads: 6, dim: 384 };

pub(crate) fn characters_parameters(config: nn::models::GptConfig) -> f64 {
    let of_block = 12 * config.dim * config.dim + 2 * config.dim;
    (config.layers * of_block + config.dim + (config.vocab + config.ctx) * config.dim) as f64
}

pub(crate) fn characters(device: &Device, config: nn::models::GptConfig, batch: usize) -> Result<Network> {
    let model = nn::models::Gpt::new(config, device)?;
    let data = (0..2).map(|_| uniform_tokens(config.vocab, [batch, config.ctx], device)).collect();
    Network::new(model.parameters(), data, move |data| model.loss(&data[0], &data[1]))
}
