//! Rows of single kernels and of an optimizer's step.

use super::row::{Precision, Row, SizedRow};
use crate::{
    case::{Case, Workload},
    networks::gpt2,
    record::Work,
};
use unigrad_device::Device;
use unigrad_nn as nn;
use unigrad_tensor::{AttentionOptions, DType, Fp8Recipe, Result, Tensor, autocast_fp8};

fn normal(shape: &[usize], dtype: DType, device: &Device) -> Result<Tensor> {
    Tensor::randn(shape.to_vec(), dtype, device).realize()
}

/// A kernel whose result is dropped: what it makes of tensors of these shapes.
fn case(device: &Device, dtype: DType, shapes: &[Vec<usize>], result: impl Fn(&[Tensor]) -> Tensor + 'static) -> Result<Case> {
    let tensors = shapes.iter().map(|shape| normal(shape, dtype, device)).collect::<Result<Vec<_>>>()?;
    Ok(Case::new(Work::Items(1.0, "steps"), move || result(&tensors).realize().map(drop)))
}

/// Rows that move bytes.
fn moving(name: &str, section: &'static str, most: usize, sized: impl Fn(usize) -> SizedRow + 'static) -> Row {
    Row { name: name.to_owned(), section, most, sized: Box::new(sized) }
}

fn elementwise() -> Row {
    moving("elementwise_f32_1gib", "elementwise", 1 << 16, |divisor| {
        let n = (1 << 28) / divisor;
        SizedRow {
            memory: 24.0 * n as f64,
            flops: 0.0,
            bytes: 20.0 * n as f64,
            items: (n as f64, "bytes"),
            precision: Precision::F32,
            note: format!("gelu_tanh(x * w + b) + r, n={n}"),
            prepare: Box::new(move |device| {
                case(device, DType::F32, &[vec![n], vec![n], vec![n], vec![n]], |t| (&t[0] * &t[1] + &t[2]).gelu_tanh() + &t[3])
            }),
        }
    })
}

type OfRows = fn(&[Tensor]) -> Tensor;

fn rows() -> Vec<Row> {
    let kinds: [(&str, OfRows); 3] = [
        ("softmax_bf16", |t| t[0].softmax(-1)),
        ("layer_norm_bf16", |t| t[0].layer_norm(Some(&t[1]), Some(&t[2]), 1e-5)),
        ("rms_norm_bf16", |t| t[0].rms_norm(Some(&t[1]), 1e-5)),
    ];
    let row = |(name, of): (&'static str, OfRows)| {
        moving(name, "rows", 1 << 12, move |divisor| {
            let (rows, columns) = (65_536 / divisor, 4096);
            let bytes = (2 * 2 * rows * columns) as f64;
            SizedRow {
                memory: 1.5 * bytes,
                flops: 0.0,
                bytes,
                items: (rows as f64, "bytes"),
                precision: Precision::Bf16,
                note: format!("{rows}x{columns}"),
                prepare: Box::new(move |device| case(device, DType::BF16, &[vec![rows, columns], vec![columns], vec![columns]], of)),
            }
        })
    };
    kinds.into_iter().map(row).collect()
}

/// Bytes of an update of one parameter: it, its gradient and two moments are read, all but the gradient are written.
pub(super) const ADAM_BYTES: f64 = 28.0;

fn adamw() -> Vec<Row> {
    let row = |(name, count, each): (&'static str, usize, usize)| {
        moving(name, "adamw", 1 << 12, move |divisor| {
            let each = each / divisor;
            let n = (count * each) as f64;
            SizedRow {
                // New values stand beside the old ones at worst.
                memory: 16.0 * n + 12.0 * n,
                flops: 0.0,
                bytes: ADAM_BYTES * n,
                items: (n, "bytes"),
                precision: Precision::F32,
                note: format!("{count}x{each} parameters"),
                prepare: Box::new(move |device| {
                    Workload::update(name, count * each, count, |parameters| nn::AdamW::new(parameters, 1e-3)).prepare(device)
                }),
            }
        })
    };
    [("adamw_8x125m", 8, 125_000_000), ("adamw_148x840k", 148, 840_000)].into_iter().map(row).collect()
}

/// A product `m x k` by `k x n` in a dtype.
fn product(name: &str, section: &'static str, most: usize, precision: Precision, sizes: impl Fn(usize) -> Product + 'static) -> Row {
    let dtype = match precision {
        Precision::F32 | Precision::Tf32 => DType::F32,
        Precision::Bf16 | Precision::Fp8 => DType::BF16,
    };
    moving(name, section, most, move |divisor| {
        let Product { a, b, sizes: [m, n, k], of } = sizes(divisor);
        let bytes = ((m * k + k * n + m * n) * dtype.size()) as f64;
        SizedRow {
            memory: 1.5 * bytes,
            flops: 2.0 * m as f64 * n as f64 * k as f64,
            bytes,
            items: (1.0, "flops"),
            precision,
            note: format!("{m}x{n}, k={k}"),
            prepare: Box::new(move |device| {
                let (a, b) = (a.to_vec(), b.to_vec());
                case(device, dtype, &[a, b], move |t| match precision {
                    Precision::Fp8 => autocast_fp8(&Fp8Recipe::default(), || of(t)),
                    Precision::F32 | Precision::Tf32 | Precision::Bf16 => of(t),
                })
            }),
        }
    })
}

struct Product {
    a: [usize; 2],
    b: [usize; 2],
    /// `m`, `n` and `k`.
    sizes: [usize; 3],
    of: OfRows,
}

fn products() -> Vec<Row> {
    let sizes = [
        (Precision::Bf16, 2048),
        (Precision::Bf16, 4096),
        (Precision::Bf16, 8192),
        (Precision::Tf32, 4096),
        (Precision::F32, 4096),
        (Precision::Fp8, 8192),
    ];
    let row = |(precision, size): (Precision, usize)| {
        let (kind, of): (_, OfRows) = match precision {
            // What is a linear layer there: factors are rounded within.
            Precision::Fp8 => ("fp8", |t| t[0].linear(&t[1], None)),
            Precision::F32 | Precision::Tf32 | Precision::Bf16 => ("matmul", |t| t[0].matmul(&t[1])),
        };
        product(&format!("matmul_{}_{size}", precision.name()), kind, 32, precision, move |divisor| {
            let n = size / divisor;
            Product { a: [n, n], b: [n, n], sizes: [n, n, n], of }
        })
    };
    sizes.into_iter().map(row).collect()
}

/// Sequences of GPT-2's step.
const SEQUENCES: usize = 32;

/// The products of a training step of GPT-2: each linear layer forward, its data gradient and its weight gradient.
fn gpt2_products() -> Vec<Row> {
    let gpt2::Sizes { width, vocabulary, context, .. } = gpt2::SMALL;
    let layers = [
        ("qkv", width, 3 * width),
        ("out", width, width),
        ("up", width, 4 * width),
        ("down", 4 * width, width),
        ("head", width, vocabulary),
    ];
    let mut all = Vec::new();
    for (layer, inputs, outputs) in layers {
        let of = |kind: &str, of: fn(usize, usize, usize) -> Product| {
            product(&format!("gpt2_product_{layer}_{kind}"), "gpt2_products", 1 << 10, Precision::Bf16, move |divisor| {
                of(SEQUENCES * context / divisor, inputs, outputs)
            })
        };
        all.push(of("forward", |tokens, inputs, outputs| Product {
            a: [tokens, inputs],
            b: [outputs, inputs],
            sizes: [tokens, outputs, inputs],
            of: |t| t[0].linear(&t[1], None),
        }));
        all.push(of("data", |tokens, inputs, outputs| Product {
            a: [tokens, outputs],
            b: [outputs, inputs],
            sizes: [tokens, inputs, outputs],
            of: |t| t[0].matmul(&t[1]),
        }));
        all.push(of("weight", |tokens, inputs, outputs| Product {
            a: [tokens, outputs],
            b: [tokens, inputs],
            sizes: [outputs, inputs, tokens],
            of: |t| t[0].transpose(0, 1).matmul(&t[1]),
        }));
    }
    all
}

/// Gradients cost two and a half times what attention costs: five products where that has two.
const WITH_GRADIENTS: f64 = 3.5;

fn attention() -> Vec<Row> {
    let (batch, heads, length) = (8, 16, 4096);
    let row = |(features, has_gradients): (usize, bool)| {
        let kind = if has_gradients { "forward_backward" } else { "forward" };
        moving(&format!("attention_bf16_d{features}_{kind}"), "attention", batch << 6, move |divisor| {
            // First sequences are left out, then they are shortened.
            let (batch, length) = (batch / divisor.min(batch), length / divisor.div_ceil(batch));
            let shape = [batch, heads, length, features];
            let n = (batch * heads * length * features) as f64;
            let forward = 2.0 * n * length as f64;
            SizedRow {
                memory: 2.0 * n * if has_gradients { 14.0 } else { 6.0 },
                flops: forward * if has_gradients { WITH_GRADIENTS } else { 1.0 },
                // Queries, keys, values and the result; with gradients these again, with that of the result.
                bytes: 2.0 * n * if has_gradients { 12.0 } else { 4.0 },
                items: (1.0, "flops"),
                precision: Precision::Bf16,
                note: format!("causal {shape:?}"),
                prepare: Box::new(move |device| attend(device, shape, has_gradients)),
            }
        })
    };
    [128, 64].into_iter().flat_map(|features| [row((features, false)), row((features, true))]).collect()
}

fn attend(device: &Device, shape: [usize; 4], has_gradients: bool) -> Result<Case> {
    let options = || AttentionOptions { causal: true, ..AttentionOptions::default() };
    if !has_gradients {
        return case(device, DType::BF16, &[shape.to_vec(), shape.to_vec(), shape.to_vec()], move |t| {
            t[0].attention(&t[1], &t[2], &options())
        });
    }
    let inputs = (0..3).map(|_| Ok(normal(&shape, DType::BF16, device)?.requires_grad())).collect::<Result<Vec<Tensor>>>()?;
    let slope = normal(&shape, DType::BF16, device)?;
    Ok(Case::new(Work::Items(1.0, "steps"), move || {
        inputs.iter().for_each(|input| input.set_grad(None));
        let result = inputs[0].attention(&inputs[1], &inputs[2], &options());
        result.backward_with(&slope)?;
        let gradients: Vec<Tensor> = inputs.iter().filter_map(Tensor::grad).collect();
        Tensor::realize_all(&gradients.iter().chain([&result]).collect::<Vec<_>>())
    }))
}

pub(super) fn all() -> Vec<Row> {
    let mut all = vec![elementwise()];
    all.extend(rows());
    all.extend(adamw());
    all.extend(products());
    all.extend(gpt2_products());
    all.extend(attention());
    all
}
