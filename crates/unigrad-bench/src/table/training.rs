//! Rows of training steps and of a decoder.

use super::{
    kernels::ADAM_BYTES,
    row::{Precision, Row, SizedRow},
};
use crate::{
    case::Case,
    networks::{
        Network,
        decoder::{self, Decoder},
        gpt2, resnet, small,
    },
    record::Work,
};
use unigrad_device::Device;
use unigrad_nn as nn;
use unigrad_tensor::{DType, DelayedScaling, Fp8Recipe, Result, Tensor, autocast, autocast_fp8};

const MIB: f64 = 1048576.0;
const GIB: f64 = 1024.0 * MIB;

/// Operations of a training step for each of a forward pass: the gradients of data and of weights cost as much as it.
const STEP: f64 = 3.0;

/// A step of a small network at a batch: what it costs, and how it is made.
#[derive(Clone, Copy)]
struct Small {
    name: &'static str,
    parameters: f64,
    /// Operations of a forward pass over a sample.
    flops: f64,
    /// Items of a sample.
    items: (f64, &'static str),
    make: fn(&Device, usize) -> Result<Network>,
    /// AdamW with the character GPT's settings, or Adam.
    is_decayed: bool,
}

fn small(of: Small, batch: usize, is_replayed: bool) -> Row {
    let suffix = if is_replayed { "_replay" } else { "" };
    let name = format!("{}_tf32_b{batch}{suffix}", of.name);
    let sized = move |divisor: usize| {
        let batch = batch / divisor;
        let (items, item) = of.items;
        SizedRow {
            memory: 256.0 * MIB + 16.0 * of.parameters + batch as f64 * 8.0 * MIB,
            flops: STEP * of.flops * batch as f64,
            bytes: ADAM_BYTES * of.parameters,
            items: (items * batch as f64, item),
            precision: Precision::Tf32,
            note: format!("batch {batch}{}", if is_replayed { ", by `replay`" } else { "" }),
            prepare: Box::new(move |device| {
                let network = (of.make)(device, batch)?;
                let work = Work::Items(items * batch as f64, item);
                let parameters = network.parameters.clone();
                if of.is_decayed {
                    let optimizer = nn::AdamW::new(parameters, 1e-3)?.betas(0.9, 0.99).weight_decay(0.1);
                    return if is_replayed { network.replayed(work, optimizer) } else { network.train(work, optimizer) };
                }
                let optimizer = nn::Adam::new(parameters, 1e-3)?;
                if is_replayed { network.replayed(work, optimizer) } else { network.train(work, optimizer) }
            }),
        }
    };
    Row { name, section: of.name, most: batch, sized: Box::new(sized) }
}

fn smalls() -> Vec<Row> {
    let [inputs, first, second, classes] = small::PERCEPTRON;
    let weights = (inputs * first + first * second + second * classes) as f64;
    let characters = small::characters_parameters(small::CHARACTERS);
    let config = small::CHARACTERS;
    let pairs = (4 * config.layers * config.dim * config.ctx) as f64;
    let kinds = [
        (
            Small {
                name: "mlp",
                parameters: weights + (first + second + classes) as f64,
                flops: 2.0 * weights,
                items: (1.0, "samples"),
                make: |device, batch| small::perceptron(device, small::PERCEPTRON, batch),
                is_decayed: false,
            },
            vec![64, 512, 8192],
        ),
        (
            Small {
                name: "cnn",
                parameters: small::CNN.parameters(),
                flops: small::CNN.forward_flops(),
                items: (1.0, "samples"),
                make: |device, batch| small::cnn(device, small::CNN, batch),
                is_decayed: false,
            },
            vec![64, 1024],
        ),
        (
            Small {
                name: "lstm",
                parameters: small::RECURRENT.parameters(),
                flops: small::RECURRENT.forward_flops(),
                items: (1.0, "samples"),
                make: |device, batch| small::lstm(device, small::RECURRENT, batch),
                is_decayed: false,
            },
            vec![32, 512],
        ),
        (
            Small {
                name: "gpt_char",
                parameters: characters,
                flops: (2.0 * characters + pairs) * config.ctx as f64,
                items: (config.ctx as f64, "tokens"),
                make: |device, batch| small::characters(device, small::CHARACTERS, batch),
                is_decayed: true,
            },
            vec![8],
        ),
    ];
    let mut all = Vec::new();
    for (of, batches) in kinds {
        all.extend(batches.into_iter().flat_map(|batch| [small(of, batch, false), small(of, batch, true)]));
    }
    all
}

/// A recipe's loss of GPT-2, made once for all steps.
type Scope = fn() -> Box<dyn Fn(&dyn Fn() -> Tensor) -> Tensor>;

fn gpt2(name: &str, section: &'static str, batch: usize, precision: Precision, scope: Scope) -> Row {
    let sizes = gpt2::SMALL;
    let each = match precision {
        Precision::F32 | Precision::Tf32 => 1.2 * GIB,
        Precision::Bf16 => 0.6 * GIB,
        Precision::Fp8 => 0.8 * GIB,
    };
    let sized = move |divisor: usize| {
        let batch = batch / divisor;
        SizedRow {
            memory: 3.0 * GIB + each * batch as f64,
            flops: sizes.step_flops(batch),
            bytes: ADAM_BYTES * sizes.parameters(),
            items: ((batch * sizes.context) as f64, "tokens"),
            precision,
            note: format!("batch {batch}, {} tokens", sizes.context),
            prepare: Box::new(move |device| {
                let network = gpt2::network(device, sizes, batch)?.within(scope());
                let optimizer = nn::AdamW::new(network.parameters.clone(), 1e-4)?;
                network.train(Work::Items((batch * sizes.context) as f64, "tokens"), optimizer)
            }),
        }
    };
    Row { name: name.to_owned(), section, most: batch, sized: Box::new(sized) }
}

fn gpt2s() -> Vec<Row> {
    let plain: Scope = || Box::new(|loss| loss());
    vec![
        gpt2("gpt2_124m_bf16_b32", "gpt2", 32, Precision::Bf16, || Box::new(|loss| autocast(DType::BF16, loss))),
        gpt2("gpt2_124m_f32_b8", "gpt2", 8, Precision::F32, plain),
        gpt2("gpt2_124m_tf32_b8", "gpt2", 8, Precision::Tf32, plain),
        gpt2("gpt2_124m_fp8_b32", "fp8", 32, Precision::Fp8, || Box::new(|loss| autocast_fp8(&Fp8Recipe::default(), loss))),
        gpt2("gpt2_124m_fp8_delayed_b32", "fp8", 32, Precision::Fp8, || {
            let recipe = Fp8Recipe::delayed(&DelayedScaling::default());
            Box::new(move |loss| autocast_fp8(&recipe, loss))
        }),
    ]
}

fn resnet50() -> Row {
    let (sizes, batch) = (resnet::FIFTY, 256);
    let sized = move |divisor: usize| {
        let batch = batch / divisor;
        SizedRow {
            memory: GIB + 0.09 * GIB * batch as f64,
            flops: STEP * sizes.forward_flops() * batch as f64,
            bytes: 0.0,
            items: (batch as f64, "images"),
            precision: Precision::Bf16,
            note: format!("batch {batch}, {0}x{0}", sizes.image),
            prepare: Box::new(move |device| {
                let network = resnet::network(device, sizes, batch)?.within(|loss| autocast(DType::BF16, loss));
                let optimizer = nn::Sgd::new(network.parameters.clone(), 0.1)?.momentum(0.9)?;
                network.train(Work::Items(batch as f64, "images"), optimizer)
            }),
        }
    };
    Row { name: "resnet50_bf16_b256".to_owned(), section: "resnet", most: batch, sized: Box::new(sized) }
}

/// The position of decoding.
const POSITION: usize = 512;

fn decoders() -> Vec<Row> {
    let sizes = decoder::SEVEN_B;
    let row = |name: &str, section: &'static str, batch: usize, position: usize, length: usize| {
        let dtype = DType::BF16;
        let sized = move |_divisor: usize| SizedRow {
            memory: sizes.weight_bytes(dtype) + sizes.cache_bytes(batch, sizes.context, dtype) + 1.5 * GIB,
            flops: sizes.step_flops(batch, position, length),
            // Weights once, and the keys and values that are seen.
            bytes: sizes.product_parameters() * dtype.size() as f64 + sizes.cache_bytes(batch, position + length, dtype),
            items: ((batch * length) as f64, "tokens"),
            precision: Precision::Bf16,
            note: format!("batch {batch}, {length} tokens at {position} of {}", sizes.context),
            prepare: Box::new(move |device: &Device| -> Result<Case> {
                Decoder::random(sizes, batch, dtype, device)?.steps(batch, position, length, device)
            }),
        };
        // A smaller one would be another network.
        Row { name: name.to_owned(), section, most: 1, sized: Box::new(sized) }
    };
    vec![
        row("decode_7b_bf16_b1", "decode_7b", 1, POSITION, 1),
        row("decode_7b_bf16_b8", "decode_7b", 8, POSITION, 1),
        row("decode_7b_bf16_b64", "decode_7b", 64, POSITION, 1),
        row("prefill_7b_bf16_1024", "prefill_7b", 1, 0, sizes.context),
    ]
}

pub(super) fn all() -> Vec<Row> {
    let mut all = smalls();
    all.extend(gpt2s());
    all.push(resnet50());
    all.extend(decoders());
    all
}
