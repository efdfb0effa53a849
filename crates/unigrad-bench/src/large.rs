//! Large networks, which are measured on GPUs and only where they are asked for: a step of GPT-2 (124M; tanh GELU, tied head, AdamW) and one of
//! torchvision's ResNet-50 (SGD with momentum), products in a half type where the name says so, weights in f32.

use crate::{
    case::{Case, Workload},
    networks::{gpt2, resnet},
    record::Work,
};
use unigrad_device::Device;
use unigrad_nn as nn;
use unigrad_tensor::{DType, Result, autocast};

fn gpt2(device: &Device, batch: usize, dtype: DType) -> Result<Case> {
    let network = gpt2::network(device, gpt2::SMALL, batch)?.within(move |loss| autocast(dtype, loss));
    let optimizer = nn::AdamW::new(network.parameters.clone(), 1e-4)?;
    network.train(Work::Items((batch * gpt2::SMALL.context) as f64, "tokens"), optimizer)
}

fn resnet50(device: &Device, batch: usize, dtype: DType) -> Result<Case> {
    let network = resnet::network(device, resnet::FIFTY, batch)?.within(move |loss| autocast(dtype, loss));
    let optimizer = nn::Sgd::new(network.parameters.clone(), 0.1)?.momentum(0.9)?;
    network.train(Work::Items(batch as f64, "images"), optimizer)
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
