//! Large networks, which are measured on GPUs and only where they are asked for: a step of GPT-2 (124M; tanh GELU, tied head, AdamW) and one of
//! torchvision's ResNet-50 (SGD with momentum), products in a half type where the name says so, weights in f32.

use crate::{
    case::{Case, Workload},
    record::Work,
    workloads::train,
};
use unigrad_device::Device;
use unigrad_nn::{self as nn, Layer, Module};
use unigrad_tensor::{AttentionOptions, ConvOptions, DType, PoolOptions, Result, Tensor, autocast};

/// Sizes of GPT-2, the smallest: 12 layers of 768 with 12 heads. The vocabulary is 50,257, rounded up to a multiple of 128 as trainers do.
const LAYERS: usize = 12;
const HEADS: usize = 12;
const WIDTH: usize = 768;
const CONTEXT: usize = 1024;
const VOCABULARY: usize = 50_304;
const TOKENS: i64 = 50_257;

#[derive(Module)]
#[module(crate = "unigrad_nn")]
struct Block {
    norm1: nn::LayerNorm,
    norm2: nn::LayerNorm,
    qkv: nn::Linear,
    out: nn::Linear,
    up: nn::Linear,
    down: nn::Linear,
}

impl Block {
    fn new(device: &Device) -> Block {
        let linear = |inputs, outputs| nn::Linear::new(inputs, outputs, device);
        Block {
            norm1: nn::LayerNorm::new(WIDTH, device),
            norm2: nn::LayerNorm::new(WIDTH, device),
            qkv: linear(WIDTH, 3 * WIDTH),
            out: linear(WIDTH, WIDTH),
            up: linear(WIDTH, 4 * WIDTH),
            down: linear(4 * WIDTH, WIDTH),
        }
    }

    fn forward(&self, x: &Tensor) -> Tensor {
        let qkv = self.qkv.forward(&self.norm1.forward(x));
        let part = |i: usize| qkv.narrow(2, i * WIDTH, WIDTH).unflatten(2, [HEADS, WIDTH / HEADS]).transpose(1, 2);
        let options = AttentionOptions { causal: true, ..AttentionOptions::default() };
        let attended = part(0).attention(&part(1), &part(2), &options).transpose(1, 2).flatten(2, 3);
        let x = x + self.out.forward(&attended);
        &x + self.down.forward(&self.up.forward(&self.norm2.forward(&x)).gelu_tanh())
    }
}

fn gpt2(device: &Device, batch: usize, dtype: DType) -> Result<Case> {
    let embedding = |n: usize| nn::Embedding::new(n, WIDTH, device);
    let (tokens, positions) = (embedding(VOCABULARY), embedding(CONTEXT));
    let blocks: Vec<Block> = (0..LAYERS).map(|_| Block::new(device)).collect();
    let norm = nn::LayerNorm::new(WIDTH, device);
    // PyTorch's embeddings begin with deviation 1; the head is tied to them.
    let scale = Tensor::full([1], 0.02, DType::F32, device);
    let mut parameters = Vec::new();
    for of in [&tokens, &positions] {
        of.parameters().iter().try_for_each(|weight| unigrad_tensor::no_grad(|| weight.assign(&(weight * &scale))))?;
        parameters.extend(of.parameters());
    }
    parameters.extend(blocks.iter().flat_map(Module::parameters));
    parameters.extend(norm.parameters());
    let optimizer = nn::AdamW::new(parameters, 1e-4)?;
    let [inputs, targets] = [(), ()].map(|()| Tensor::randint(0, TOKENS, [batch, CONTEXT], DType::I64, device));
    Tensor::realize_all(&[&inputs, &targets])?;
    let loss = move || {
        let x = tokens.forward(&inputs) + &positions.weight;
        let x = norm.forward(&blocks.iter().fold(x, |x, block| block.forward(&x)));
        x.linear(&tokens.weight, None).flatten(0, 1).cross_entropy(&targets.flatten_all())
    };
    train(Work::Items((batch * CONTEXT) as f64, "tokens"), optimizer, move || autocast(dtype, &loss))
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

/// ResNet-50 as torchvision has it (stride in the 3x3 convolution), SGD with momentum.
fn resnet50(device: &Device, batch: usize, dtype: DType) -> Result<Case> {
    const SIZE: usize = 224;
    const CLASSES: usize = 1000;
    let stem = Normed::new([3, 64, 7, 2], device);
    let mut blocks = Vec::new();
    let mut inputs = 64;
    for (stage, count) in [3, 4, 6, 3].into_iter().enumerate() {
        let width = 64 << stage;
        for i in 0..count {
            let stride = if i == 0 && stage > 0 { 2 } else { 1 };
            blocks.push(Bottleneck::new([inputs, width, stride], device));
            inputs = 4 * width;
        }
    }
    let head = nn::Linear::new(inputs, CLASSES, device);
    let mut parameters = stem.parameters();
    parameters.extend(blocks.iter().flat_map(Module::parameters));
    parameters.extend(head.parameters());
    let optimizer = nn::Sgd::new(parameters, 0.1)?.momentum(0.9)?;
    let x = Tensor::rand([batch, 3, SIZE, SIZE], DType::F32, device);
    let y = Tensor::randint(0, CLASSES as i64, [batch], DType::I64, device);
    Tensor::realize_all(&[&x, &y])?;
    let loss = move || {
        let h = stem.forward(&x).relu().max_pool2d(&PoolOptions::new(3).stride(2).padding(1));
        let h = blocks.iter().fold(h, |h, block| block.forward(&h));
        head.forward(&h.mean([2, 3])).cross_entropy(&y)
    };
    train(Work::Items(batch as f64, "images"), optimizer, move || autocast(dtype, &loss))
}

pub(crate) fn all() -> Vec<Workload> {
    let gpt2 = |name: &str, batch, dtype| Workload::new("large", name, move |device| gpt2(device, batch, dtype));
    let resnet = |name: &str, batch| Workload::new("large", name, move |device| resnet50(device, batch, DType::BF16));
    vec![
        gpt2("gpt2_124m_bf16_b32", 32, DType::BF16),
        gpt2("gpt2_124m_f32_b8", 8, DType::F32),
        resnet("resnet50_bf16_b64", 64),
        resnet("resnet50_bf16_b256", 256),
    ]
}
