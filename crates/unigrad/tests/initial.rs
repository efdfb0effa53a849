//! Initial values of layers are drawn from PyTorch's distributions: `goldens/initial.json` (`scripts/golden_initial.py`).

use serde_json::Value;
use std::collections::BTreeMap;
use unigrad::{nn, prelude::*, tensor::BagMode};

/// How many numbers of a parameter are looked at, at least.
const DRAWS: usize = 4000;

/// The layer of a row of the golden file, with new values.
fn built(name: &str, d: &Device) -> Box<dyn Module> {
    let options = nn::TransformerOptions { hidden: 24, ..nn::TransformerOptions::new(16, 2) };
    let convolution = ConvOptions::default();
    let grouped = ConvOptions::default().groups(2);
    let both = nn::RecurrentOptions { n_layers: 2, bidirectional: true, ..nn::RecurrentOptions::default() };
    match name {
        "Linear" => Box::new(nn::Linear::new(24, 16, d)),
        "Linear without a bias" => Box::new(nn::Linear::no_bias(24, 16, d)),
        "Bilinear" => Box::new(nn::Bilinear::new(24, 4, 16, d)),
        "LinearCrossEntropyLoss" => Box::new(nn::LinearCrossEntropyLoss::new(24, 16, &[], d)),
        "Conv1d" => Box::new(nn::Conv1d::new(6, 16, 3, grouped, d)),
        "Conv2d" => Box::new(nn::Conv2d::with_kernel(6, 16, [3, 2], convolution, d)),
        "Conv3d" => Box::new(nn::Conv3d::new(3, 16, 2, convolution, d)),
        "ConvTranspose1d" => Box::new(nn::ConvTranspose1d::new(6, 16, 3, grouped, d)),
        "ConvTranspose2d" => Box::new(nn::ConvTranspose2d::with_kernel(6, 16, [3, 2], convolution, d)),
        "ConvTranspose3d" => Box::new(nn::ConvTranspose3d::new(3, 16, 2, convolution, d)),
        "BatchNorm" => Box::new(nn::BatchNorm::new(16, d)),
        "SyncBatchNorm" => Box::new(nn::SyncBatchNorm::new(16, d)),
        "InstanceNorm" => Box::new(nn::InstanceNorm::new(16).affine(d)),
        "LayerNorm" => Box::new(nn::LayerNorm::new(16, d)),
        "RmsNorm" => Box::new(nn::RmsNorm::new(16, d)),
        "GroupNorm" => Box::new(nn::GroupNorm::new(2, 16, d)),
        "PRelu" => Box::new(nn::PRelu::new(16, d)),
        "Embedding" => Box::new(nn::Embedding::new(24, 16, d)),
        "EmbeddingBag" => Box::new(nn::EmbeddingBag::new(24, 16, BagMode::Mean, d)),
        "Rnn" => Box::new(nn::Rnn::new(24, 16, d)),
        "Lstm" => Box::new(nn::Lstm::with(24, 16, both, d)),
        "Lstm with a projection" => Box::new(nn::Lstm::projected(24, 16, 4, nn::RecurrentOptions::default(), d)),
        "Gru" => Box::new(nn::Gru::new(24, 16, d)),
        "RnnCell" => Box::new(nn::RnnCell::new(24, 16, d)),
        "LstmCell" => Box::new(nn::LstmCell::new(24, 16, d)),
        "GruCell" => Box::new(nn::GruCell::new(24, 16, d)),
        "MultiHeadAttention" => Box::new(nn::MultiHeadAttention::new(16, 2, d)),
        "MultiHeadAttention with keys of its own" => Box::new(nn::MultiHeadAttention::new(16, 2, d).kv_features(24, 8, d).bias_kv(d)),
        "TransformerEncoderLayer" => Box::new(nn::TransformerEncoderLayer::new(options, d)),
        "TransformerDecoderLayer" => Box::new(nn::TransformerDecoderLayer::new(options, d)),
        "TransformerEncoder" => Box::new(nn::TransformerEncoder::new(2, options, d)),
        "TransformerDecoder" => Box::new(nn::TransformerDecoder::new(2, options, d)),
        "Transformer" => Box::new(nn::Transformer::new(1, 1, options, d)),
        "WeightNorm" => Box::new(nn::WeightNorm::new(nn::Linear::new(24, 16, d), "weight", Some(0)).unwrap()),
        "SpectralNorm" => Box::new(nn::SpectralNorm::new(nn::Linear::new(24, 16, d), "weight", 0, 1).unwrap()),
        _ => panic!("{name} has no row here"),
    }
}

/// What is wrong with draws that should be from a distribution.
fn compared(draws: &[f32], want: &Value) -> Option<String> {
    let n = draws.len() as f64;
    let mean = draws.iter().map(|x| f64::from(*x)).sum::<f64>() / n;
    let std = (draws.iter().map(|x| (f64::from(*x) - mean).powi(2)).sum::<f64>() / n).sqrt();
    let greatest = draws.iter().fold(0f64, |greatest, x| greatest.max(f64::from(x.abs())));
    // Of both files' standard deviations, which are off by at most 0.71 of themselves over the root of the count; six times that.
    let close = |got: f64, want: f64| (got - want).abs() < 6.0 * want * (2.0 / DRAWS as f64).sqrt() * 0.71;
    let number = |key: &str| want[key].as_f64();
    let (right, said) = if let Some(value) = number("constant") {
        (draws.iter().all(|x| f64::from(*x) == value), "a constant")
    } else if let Some(bound) = number("uniform") {
        // The greatest of so many is a thousandth below the bound, or less.
        let at_bound = (greatest / bound - 1.0).abs() < 5e-3;
        (at_bound && mean.abs() < 0.1 * bound && close(std, bound / 3f64.sqrt()), "uniform numbers")
    } else if let Some(deviation) = number("normal") {
        (greatest > 3.0 * std && mean.abs() < 0.1 * std && close(std, deviation), "normal numbers")
    } else {
        let (wanted_mean, deviation) = (number("mean")?, number("std")?);
        ((mean / wanted_mean - 1.0).abs() < 0.02 && close(std, deviation), "numbers")
    };
    (!right).then(|| format!("mean {mean}, deviation {std}, greatest {greatest}, not {said} as in {want}"))
}

#[test]
fn initial_values_are_drawn_as_pytorchs() {
    let device = Device::open("cpu").unwrap();
    let golden: BTreeMap<String, BTreeMap<String, Value>> = serde_json::from_str(include_str!("../../../goldens/initial.json")).unwrap();
    assert!(golden.len() >= 35, "{} layers", golden.len());
    let mut failures = 0;
    manual_seed(5);
    for (name, parameters) in &golden {
        let mut draws: BTreeMap<String, Vec<f32>> = BTreeMap::new();
        while draws.is_empty() || draws.values().any(|draws| draws.len() < DRAWS) {
            for (key, parameter) in built(name, &device).named_parameters() {
                let shape: Vec<u64> = parameter.shape().iter().map(|size| *size as u64).collect();
                let wanted = parameters.get(&key).unwrap_or_else(|| panic!("{name} has no {key}"));
                assert_eq!(wanted["shape"], serde_json::json!(shape), "{name} {key}");
                let of = draws.entry(key).or_default();
                if of.len() < DRAWS {
                    of.extend(parameter.to_vec::<f32>().unwrap());
                }
            }
        }
        assert_eq!(draws.keys().collect::<Vec<_>>(), parameters.keys().collect::<Vec<_>>(), "{name}");
        for (key, want) in parameters {
            if let Some(wrong) = compared(&draws[key], want) {
                println!("FAIL {name} {key}: {wrong}");
                failures += 1;
            }
        }
    }
    assert_eq!(failures, 0, "see the FAIL lines above");
}
