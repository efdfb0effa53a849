//! Every error names the line of the user's that asked for it, never one of the library; and a line of another language, where one was entered.

use unigrad::nn::models::{Cnn, Gpt, GptConfig, Mlp};
use unigrad::nn::{AdamW, BatchNorm, Embedding, GroupNorm, Gru, LayerNorm, Linear, Lstm, MultiHeadAttention, RmsNorm, Sequential, Sgd};
use unigrad::prelude::*;
use unigrad::tensor::Error as TensorError;

/// More elements than an `i64` counts: whatever is made of it is an error.
const HUGE: usize = 1 << 40;

fn origin_of(error: &Error) -> Option<Origin> {
    match error {
        TensorError::Graph(error) => Some(error.origin),
        TensorError::Launch { origin, .. } => Some(*origin),
        _ => None,
    }
}

/// The errors of all these tensors are in this file, and each in a line of its own.
fn here(cases: Vec<(&str, Vec<Tensor>)>) {
    let mut lines = std::collections::BTreeSet::new();
    for (what, tensors) in cases {
        assert!(!tensors.is_empty(), "{what} is accepted");
        let mut line = 0;
        for tensor in tensors {
            let error = tensor.to_bytes().expect_err(what);
            let origin = origin_of(&error).unwrap_or_else(|| panic!("{what}: {error}"));
            assert_eq!(origin.file(), file!(), "{what}: {error}");
            line = origin.line();
        }
        assert!(lines.insert(line), "{what}: line {line} is another case's");
    }
}

fn invalid<M: Module>(module: M) -> Vec<Tensor> {
    module.parameters().into_iter().filter(|tensor| tensor.error().is_some()).collect()
}

#[test]
fn layers_of_impossible_sizes() {
    let device = &Device::open("cpu").unwrap();
    here(vec![
        ("linear", invalid(Linear::new(HUGE, HUGE, device))),
        ("linear without bias", invalid(Linear::no_bias(HUGE, HUGE, device))),
        ("embedding", invalid(Embedding::new(HUGE, HUGE, device))),
        ("convolution", invalid(nn::Conv2d::new(HUGE, HUGE, 3, ConvOptions::default(), device))),
        ("transposed convolution", invalid(nn::ConvTranspose2d::new(HUGE, HUGE, 3, ConvOptions::default(), device))),
        ("layer norm", invalid(LayerNorm::new(usize::MAX, device))),
        ("rms norm", invalid(RmsNorm::new(usize::MAX, device))),
        ("group norm", invalid(GroupNorm::new(1, usize::MAX, device))),
        ("batch norm", invalid(BatchNorm::new(usize::MAX, device))),
        ("attention", invalid(MultiHeadAttention::new(HUGE, 8, device))),
        ("lstm", invalid(Lstm::new(HUGE, HUGE / 4, device))),
        ("gru", invalid(Gru::stacked(HUGE, HUGE / 4, 2, true, device))),
        ("perceptron", invalid(Mlp::new(&[HUGE, HUGE, 10], 0.0, device))),
        ("kaiming", vec![nn::init::kaiming_normal(&[HUGE, HUGE], 1.0, Default::default(), DType::F32, device)]),
        ("constant", vec![nn::init::constant(&[HUGE, HUGE], 1.0, DType::F32, device)]),
        ("randn", vec![Tensor::randn([HUGE, HUGE], DType::F32, device)]),
        ("randint", vec![Tensor::randint(0, 10, [HUGE, HUGE], DType::I32, device)]),
        ("randperm", vec![Tensor::randperm(usize::MAX, device)]),
    ]);
}

#[test]
fn layers_given_other_shapes() {
    let device = &Device::open("cpu").unwrap();
    let x = &Tensor::zeros([2, 3, 5, 7], DType::F32, device);
    let row = &Tensor::zeros([2], DType::F32, device);
    let config = GptConfig { vocab: 11, ctx: 8, layers: 1, heads: 2, dim: 8 };
    here(vec![
        ("linear", vec![Linear::new(4, 4, device).forward(x)]),
        ("convolution", vec![nn::Conv2d::new(4, 4, 3, ConvOptions::default(), device).forward(x)]),
        ("layer norm", vec![LayerNorm::new(9, device).forward(x)]),
        ("rms norm", vec![RmsNorm::new(9, device).forward(x)]),
        ("group norm", vec![GroupNorm::new(2, 4, device).forward(x)]),
        ("batch norm", vec![BatchNorm::new(9, device).forward(x)]),
        ("attention", vec![MultiHeadAttention::new(8, 2, device).forward(x)]),
        ("lstm", vec![Lstm::new(4, 4, device).forward(row)]),
        ("gru", vec![Gru::new(4, 4, device).forward(row)]),
        ("embedding", vec![Embedding::new(4, 4, device).forward(x)]),
        ("pool", vec![nn::MaxPool2d::new(2).forward(row)]),
        ("sequence", vec![Sequential::new().add(Linear::new(7, 4, device)).add(Linear::new(5, 4, device)).forward(x)]),
        ("cnn", vec![Cnn::new(8, 8, 10, 0, 0.0, device).forward(row)]),
        ("mlp", vec![Mlp::new(&[4, 4, 2], 0.1, device).forward(row)]),
        ("gpt", vec![Gpt::new(config, device).unwrap().forward(row)]),
    ]);
}

#[test]
fn steps_and_gradients() {
    let device = &Device::open("cpu").unwrap();
    let x = Tensor::ones([3], DType::F32, device).requires_grad();
    let index = Tensor::from_slice(&[7i64], [1], device);
    let bad = |x: &Tensor| x.index_select(0, &index).sum(());
    let at = |error: Error, line: u32| {
        let origin = origin_of(&error).unwrap_or_else(|| panic!("{error}"));
        assert!(origin.file() == file!() && origin.line() == line, "{error} instead of {line}");
    };
    let mut adam = AdamW::new(vec![x.clone()], 0.1).unwrap();
    let (result, line) = (adam.minimize(&x.square(), &[]), line!());
    at(result.expect_err("a loss of three elements"), line);
    let mut sgd = Sgd::new(vec![x.clone()], 0.1).unwrap();
    let line = line!() - 9;
    at(sgd.minimize(&bad(&x), &[]).expect_err("an index out of range"), line);
    let (result, line) = (x.square().backward(), line!());
    at(result.expect_err("a loss of three elements"), line);
    let (result, line) = (grad(&x.square(), &[&x]), line!());
    at(result.expect_err("a loss of three elements"), line);
}

#[test]
fn a_line_of_another_language() {
    for device in unigrad_testing::devices() {
        let origin = Origin::new("train.py", 17, 9, Some("train_step"));
        // A constant too: its elements are all alike, and yet the index is wrong.
        let x = Tensor::ones([3], DType::F32, &device);
        let y = {
            let _guard = origin.enter();
            x.index_select(0, &Tensor::from_slice(&[7i64], [1], &device))
        };
        let error = y.to_vec::<f32>().unwrap_err().to_string();
        assert!(error.contains("train.py:17:9 in train_step"), "{}: {error}", device.name());
        let wrong = {
            let _guard = origin.enter();
            Linear::new(4, 4, &device).forward(&x)
        };
        let error = wrong.to_vec::<f32>().unwrap_err().to_string();
        assert!(error.contains("at train.py:17:9 in train_step"), "{}: {error}", device.name());
    }
}
