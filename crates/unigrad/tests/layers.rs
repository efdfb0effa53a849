//! Layers against PyTorch's: names and shapes of parameters, values, gradients, buffers; from `goldens/layers.json` (`scripts/golden_layers.py`).

use serde_json::Value;
use std::{
    cell::{Cell, RefCell},
    collections::BTreeSet,
};
use unigrad::{
    nn::{self, Layer},
    prelude::*,
    tensor::{
        BagMode, CtcOptions, EmbeddingBagOptions, EmbeddingOptions, InterpolateMode, InterpolateOptions, PadMode, Reduction,
        TripletOptions, WindowOptions, autocast,
    },
};

/// A recurrent layer's pass: the input, the initial states and lengths; the output and the last states.
type Run<'a> = dyn Fn(&Tensor, Option<&Tensor>, Option<&Tensor>) -> (Tensor, Tensor) + 'a;

thread_local! {
    /// Where the layers are.
    static PLACE: RefCell<String> = RefCell::new("cpu".to_owned());
    /// What parameters and inputs are in.
    static DTYPE: Cell<DType> = const { Cell::new(DType::F32) };
    /// How far values may be off, of 1 or of themselves where they are greater.
    static TOLERANCE: Cell<f32> = const { Cell::new(3e-5) };
    /// The scope that layers are called in.
    static SCOPE: Cell<DType> = const { Cell::new(DType::F32) };
}

fn device() -> Device {
    PLACE.with_borrow(|place| Device::open(place).unwrap())
}

fn shape(value: &Value) -> Vec<usize> {
    value["shape"].as_array().unwrap().iter().map(|n| n.as_u64().unwrap() as usize).collect()
}

fn floats(value: &Value) -> Vec<f32> {
    value["values"].as_array().unwrap().iter().map(|x| x.as_f64().unwrap() as f32).collect()
}

fn tensor(value: &Value) -> Tensor {
    let numbers = || floats(value).into_iter();
    match value["dtype"].as_str().unwrap() {
        "i64" => Tensor::from_vec(numbers().map(|x| x as i64).collect::<Vec<i64>>(), shape(value), &device()),
        "bool" => Tensor::from_vec(numbers().map(|x| x != 0.0).collect::<Vec<bool>>(), shape(value), &device()),
        _ => Tensor::from_vec(floats(value), shape(value), &device()).cast(DTYPE.get()),
    }
}

/// A layer, and how it is called.
type Call = Box<dyn Fn(&[Tensor]) -> Tensor>;

/// What a case needs of a layer: its parameters are the tensors of its state, which are handles.
struct Built {
    state: Vec<(String, Tensor)>,
    trained: BTreeSet<String>,
    call: Call,
}

fn built<M: Module + 'static>(mut module: M, training: bool, call: impl Fn(&M, &[Tensor]) -> Tensor + 'static) -> Built {
    module.train(training);
    let trained = module.named_parameters().into_iter().map(|(name, _)| name).collect();
    Built { state: module.state_dict(), trained, call: Box::new(move |x| call(&module, x)) }
}

fn layer(layer: impl Layer + 'static) -> Built {
    built(layer, true, |layer, x| layer.forward(&x[0]))
}

/// Outputs and last states as one vector.
fn flat(parts: &[&Tensor]) -> Tensor {
    let parts: Vec<Tensor> = parts.iter().map(|part| part.flatten_all()).collect();
    Tensor::concat(&parts.iter().collect::<Vec<_>>(), 0)
}

/// Recurrent layers in the settings that the variants have.
fn recurrent(name: &str, variant: u64) -> Option<Built> {
    let d = &device();
    let plain = nn::RecurrentOptions::default();
    let both = nn::RecurrentOptions { n_layers: 2, bidirectional: true, ..plain };
    let options = match variant {
        0 => plain,
        3 => nn::RecurrentOptions { n_layers: 2, bias: false, batch_first: false, ..plain },
        4 => nn::RecurrentOptions { bidirectional: true, batch_first: false, ..plain },
        _ => both,
    };
    // What follows the sequences: lengths in some variants, then states.
    let of_lengths = matches!((name, variant), (_, 2) | ("Rnn", 5) | ("Lstm", 6));
    let one = move |x: &[Tensor], run: &Run<'_>| {
        let at = 1 + usize::from(of_lengths);
        let (y, last) = run(&x[0], x.get(1).filter(|_| of_lengths), x.get(at));
        flat(&[&y, &last])
    };
    macro_rules! one_state {
        ($layer:expr) => {
            built($layer, true, move |layer, x| {
                one(x, &|x, lengths, state| match lengths {
                    Some(lengths) => layer.run_lengths(x, lengths, state),
                    None => layer.run(x, state),
                })
            })
        };
    }
    Some(match (name, variant) {
        ("Rnn", 5) => one_state!(nn::Rnn::with(4, 3, nn::Nonlinearity::Relu, options, d)),
        ("Rnn", _) => one_state!(nn::Rnn::with(4, 3, nn::Nonlinearity::Tanh, options, d)),
        ("Gru", _) => one_state!(nn::Gru::with(4, 3, options, d)),
        ("Lstm", _) => {
            let layer = if variant >= 5 { nn::Lstm::projected(4, 5, 3, options, d) } else { nn::Lstm::with(4, 3, options, d) };
            built(layer, true, move |layer, x| {
                let at = 1 + usize::from(of_lengths);
                let state = x.get(at).zip(x.get(at + 1));
                let (y, (h, c)) = if of_lengths { layer.run_lengths(&x[0], &x[1], state) } else { layer.run(&x[0], state) };
                flat(&[&y, &h, &c])
            })
        }
        ("RnnCell", _) => {
            let cell = nn::RnnCell::new(4, 3, d);
            let cell = [nn::RnnCell::no_bias, |cell| cell, nn::RnnCell::relu][variant as usize](cell);
            built(cell, true, |cell, x| cell.step(&x[0], x.get(1)))
        }
        ("GruCell", _) => {
            let cell = nn::GruCell::new(4, 3, d);
            built(if variant == 0 { cell.no_bias() } else { cell }, true, |cell, x| cell.step(&x[0], x.get(1)))
        }
        ("LstmCell", _) => {
            let cell = nn::LstmCell::new(4, 3, d);
            built(if variant == 0 { cell.no_bias() } else { cell }, true, |cell, x| {
                let (h, c) = cell.step(&x[0], x.get(1).zip(x.get(2)));
                flat(&[&h, &c])
            })
        }
        _ => return None,
    })
}

/// Layers whose settings differ from those of their first variant.
fn in_variants(name: &str, variant: u64) -> Option<Built> {
    let d = &device();
    let mode = || [PadMode::Reflect, PadMode::Replicate, PadMode::Circular][variant as usize - 1];
    let padded = |pads: &[usize]| ConvOptions { padding: pads.iter().map(|pad| (*pad, *pad)).collect(), ..ConvOptions::default() };
    let with_weights = |attention: nn::MultiHeadAttention, average: bool, causal: bool| {
        built(attention, true, move |layer, x| {
            let options = AttentionOptions { causal, ..AttentionOptions::default() };
            let (y, weights) = layer.attend_with_weights(&x[0], &x[1], &x[2], &options, average);
            // The fused way gives the same.
            let fused = layer.attend(&x[0], &x[1], &x[2], &options);
            let off = no_grad(|| (&fused - &y).abs().max(()).cast(DType::F32).item::<f32>()).unwrap();
            assert!(off < 5e-2 && (off < 1e-5 || y.dtype() != DType::F32), "fused attention is {off} off");
            flat(&[&y, &weights])
        })
    };
    let attention = || nn::MultiHeadAttention::new(8, 2, d);
    Some(match (name, variant) {
        ("MultiHeadAttention", 2) => with_weights(attention().kv_features(6, 5, d), true, false),
        ("MultiHeadAttention", 3) => with_weights(attention().kv_features(6, 5, d).bias_kv(d), false, true),
        ("MultiHeadAttention", 4) => with_weights(attention().kv_features(6, 5, d).no_bias().zero_attn(), false, false),
        ("MultiHeadAttention", 5) => built(attention().bias_kv(d).zero_attn(), true, |layer, x| {
            layer.attend(&x[0], &x[0], &x[0], &AttentionOptions { causal: true, ..AttentionOptions::default() })
        }),
        ("MultiHeadAttention", 6) => layer(attention()),
        ("MultiHeadAttention", 7) => layer(attention().no_bias()),
        ("BatchNorm", 4) => layer(nn::BatchNorm::new(3, d).no_affine()),
        ("BatchNorm", 5) => layer(nn::BatchNorm::new(3, d).no_running_stats()),
        ("BatchNorm", 6) => layer(nn::BatchNorm::new(3, d).momentum(None)),
        ("BatchNorm", 7) => built(nn::BatchNorm::new(3, d), false, |layer, x| layer.forward(&x[0])),
        ("BatchNorm", 8) => built(nn::BatchNorm::new(3, d).no_running_stats(), false, |layer, x| layer.forward(&x[0])),
        ("LayerNorm", 2) => layer(nn::LayerNorm::over(&[3, 6], d).no_affine()),
        ("RmsNorm", 0) => layer(nn::RmsNorm::new(6, d).eps(1e-5)),
        ("RmsNorm", 1) => layer(nn::RmsNorm::over(&[3, 6], d).eps(1e-5)),
        ("RmsNorm", 2) => layer(nn::RmsNorm::over(&[3, 6], d).no_affine().eps(1e-5)),
        ("RmsNorm", 3) => layer(nn::RmsNorm::new(6, d)),
        ("CrossMapLrn2d", 2) => layer(nn::CrossMapLrn2d::new(3)),
        ("CrossMapLrn2d", _) => {
            let size = match variant {
                0 => 5,
                1 => 4,
                more => more as usize / 10,
            };
            layer(nn::CrossMapLrn2d { alpha: 0.5, beta: 0.75, k: 1.5, ..nn::CrossMapLrn2d::new(size) })
        }
        ("SyncBatchNorm", _) => built(nn::SyncBatchNorm::new(3, d), false, |layer, x| layer.forward(&x[0])),
        ("GroupNorm", 1) => layer(nn::GroupNorm::new(2, 6, d).no_affine()),
        ("Conv1d", 1..=3) => layer(nn::Conv1d::new(2, 3, 3, padded(&[2]), d).padding_mode(mode())),
        ("Conv2d", 1..=3) => layer(nn::Conv2d::with_kernel(2, 3, [3, 2], padded(&[1, 2]), d).padding_mode(mode())),
        ("Conv3d", 1..=3) => layer(nn::Conv3d::new(1, 2, 2, padded(&[1]), d).padding_mode(mode())),
        ("Conv1d", 4) => layer(nn::Conv1d::new(2, 3, 4, ConvOptions::default().dilation(3), d).same_padding()),
        ("Conv2d", 4) => {
            let conv = nn::Conv2d::with_kernel(2, 3, [2, 5], ConvOptions::default(), d);
            layer(conv.same_padding().padding_mode(PadMode::Circular))
        }
        ("LinearCrossEntropyLoss", _) => {
            let outputs: &[usize] = if variant == 0 { &[] } else { &[2, 3] };
            built(nn::LinearCrossEntropyLoss::new(4, 5, outputs, d), true, |layer, x| layer.forward(&x[0], &x[1]))
        }
        ("WeightNorm", 0) => layer(nn::WeightNorm::new(nn::Linear::new(4, 3, d), "weight", Some(0)).unwrap()),
        ("WeightNorm", 1) => layer(nn::WeightNorm::new(nn::Linear::new(4, 3, d), "weight", None).unwrap()),
        ("WeightNorm", _) => layer(nn::WeightNorm::new(nn::Conv2d::new(2, 3, 2, ConvOptions::default(), d), "weight", Some(1)).unwrap()),
        ("SpectralNorm", 0) => layer(nn::SpectralNorm::new(nn::Linear::new(4, 3, d), "weight", 0, 1).unwrap()),
        ("SpectralNorm", 1) => {
            built(nn::SpectralNorm::new(nn::Linear::new(4, 3, d), "weight", 0, 1).unwrap(), false, |layer, x| layer.forward(&x[0]))
        }
        ("SpectralNorm", _) => {
            let conv = nn::ConvTranspose2d::new(2, 3, 2, ConvOptions::default(), d);
            layer(nn::SpectralNorm::new(conv, "weight", 1, 2).unwrap())
        }
        _ => return None,
    })
}

/// Losses of several inputs, by their types.
fn losses(name: &str, variant: u64) -> Option<Built> {
    let loss = |call: Call| Some(built(nn::Identity, true, move |_, x| call(x)));
    let reduction = if variant == 1 { Reduction::Sum } else { Reduction::Mean };
    match name {
        "GaussianNllLoss" => {
            let kind = nn::GaussianNllLoss { full: variant == 1, reduction, ..nn::GaussianNllLoss::default() };
            loss(Box::new(move |x| kind.forward(&x[0], &x[1], &x[2])))
        }
        "MarginRankingLoss" => {
            let kind = nn::MarginRankingLoss { margin: if variant == 1 { 0.5 } else { 0.0 }, reduction };
            loss(Box::new(move |x| kind.forward(&x[0], &x[1], &x[2])))
        }
        "CosineEmbeddingLoss" => {
            let kind = match variant {
                0 => nn::CosineEmbeddingLoss::default(),
                _ => nn::CosineEmbeddingLoss { margin: -0.5, reduction: Reduction::None },
            };
            loss(Box::new(move |x| kind.forward(&x[0], &x[1], &x[2])))
        }
        "TripletMarginLoss" => {
            let kind = match variant {
                0 => nn::TripletMarginLoss::default(),
                _ => nn::TripletMarginLoss {
                    options: TripletOptions { margin: 2.0, p: 1.0, swap: true, reduction, ..TripletOptions::default() },
                },
            };
            loss(Box::new(move |x| kind.forward(&x[0], &x[1], &x[2])))
        }
        "TripletMarginWithDistanceLoss" => {
            let mut kind = nn::TripletMarginWithDistanceLoss::new(|a: &Tensor, b: &Tensor| 1.0 - a.cosine_similarity(b, 1, 1e-8));
            kind.options.margin = 0.7;
            loss(Box::new(move |x| kind.forward(&x[0], &x[1], &x[2])))
        }
        "CtcLoss" => {
            let reduction = [Reduction::Mean, Reduction::Sum, Reduction::None][variant as usize];
            let kind = nn::CtcLoss { options: CtcOptions { blank: variant as _, reduction, ..CtcOptions::default() } };
            loss(Box::new(move |x| kind.forward(&x[0].log_softmax(-1), &x[1], &x[2], &x[3])))
        }
        _ => None,
    }
}

/// Tables whose rows are made shorter, and the resizing layers.
fn tables_and_sizes(name: &str, variant: u64) -> Option<Built> {
    let d = &device();
    let short = EmbeddingOptions { max_norm: Some(1.5), ..EmbeddingOptions::default() };
    let bags = |mode| nn::EmbeddingBag::with(7, 4, EmbeddingBagOptions { mode, rows: short.clone(), ..EmbeddingBagOptions::default() }, d);
    let (linear, nearest, cubic) = (InterpolateMode::Linear, InterpolateMode::Nearest, InterpolateMode::Cubic);
    Some(match (name, variant) {
        ("Embedding", 2) => layer(nn::Embedding::with(7, 4, short, d)),
        ("Embedding", 3) => {
            let options = EmbeddingOptions { padding_idx: Some(1), max_norm: Some(2.0), norm_type: 1.0, scale_grad_by_freq: true };
            layer(nn::Embedding::with(7, 4, options, d))
        }
        ("EmbeddingBag", 3) => layer(bags(BagMode::Sum)),
        ("EmbeddingBag", 4) => built(bags(BagMode::Mean), true, |layer, x| layer.bags(&x[0], Some(&x[1]), None)),
        ("AvgPool2d", 1) => layer(nn::AvgPool2d::with(PoolOptions::new(2).stride(1).padding(1).divisor_override(3))),
        ("AvgPool3d", 1) => layer(nn::AvgPool3d::with(PoolOptions { ceil_mode: true, ..PoolOptions::new(2).divisor_override(5) })),
        ("Upsample", 2..) => layer(nn::Upsample::new(match variant {
            2 => InterpolateOptions::scales(linear, &[2.5]),
            3 => InterpolateOptions::sizes(linear, &[7]).align_corners(),
            4 => InterpolateOptions::sizes(nearest, &[7]),
            5 => InterpolateOptions::scales(nearest, &[2.0]),
            6 => InterpolateOptions::sizes(linear, &[3, 5, 2]),
            7 => InterpolateOptions::scales(linear, &[2.0]).align_corners(),
            8 => InterpolateOptions::sizes(cubic, &[5, 7]),
            9 => InterpolateOptions::sizes(cubic, &[5, 7]).align_corners(),
            10 => InterpolateOptions::scales(linear, &[1.5]),
            11 => InterpolateOptions::sizes(InterpolateMode::NearestExact, &[5, 7]),
            12 => InterpolateOptions::sizes(InterpolateMode::Area, &[2, 3]),
            _ => return None,
        })),
        ("UpsamplingNearest2d", 0) => layer(nn::UpsamplingNearest2d::new(2.0)),
        ("UpsamplingNearest2d", 1) => layer(nn::UpsamplingNearest2d::sizes([5, 7])),
        ("UpsamplingBilinear2d", 0) => layer(nn::UpsamplingBilinear2d::new(2.0)),
        ("UpsamplingBilinear2d", 1) => layer(nn::UpsamplingBilinear2d::sizes([5, 7])),
        ("SwiGlu", 1) => layer(nn::SwiGlu { axis: 1 }),
        ("GeGlu", 1) => layer(nn::GeGlu { axis: 1 }),
        ("LearnedEncoding", 0) => layer(nn::LearnedEncoding::new(4, 7, d)),
        _ => return None,
    })
}

fn conv_options() -> ConvOptions {
    ConvOptions::new(2, 1).groups(2)
}

#[allow(clippy::too_many_lines)] // a table
fn build(name: &str, variant: u64) -> Built {
    let d = &device();
    let masks = |padding: &Tensor| nn::AttentionMasks { padding: Some(padding.clone()), ..nn::AttentionMasks::none() };
    let options = || {
        let options = nn::TransformerOptions { hidden: 12, dropout: 0.0, ..nn::TransformerOptions::new(8, 2) };
        match (name, variant) {
            (_, 0) => options,
            ("Transformer", _) | (_, 2) => nn::TransformerOptions { bias: false, ..options },
            _ => nn::TransformerOptions { activation: nn::Activation::Gelu, norm_first: true, ..options },
        }
    };
    let ways = [recurrent, in_variants, losses, tables_and_sizes];
    if let Some(layer) = ways.iter().find_map(|way| way(name, variant)) {
        return layer;
    }
    macro_rules! plain {
        ($($layer:ident)*) => { match name {
            $(stringify!($layer) => return layer(nn::$layer::default()),)*
            _ => {}
        } };
    }
    if variant == 0 {
        plain!(Relu Relu6 Selu Gelu GeluTanh Silu Sigmoid LogSigmoid Tanh Tanhshrink Softsign Mish Hardswish Hardsigmoid LeakyRelu Elu Celu Softplus
            Softshrink Hardshrink Hardtanh Softmax Softmin LogSoftmax Glu SwiGlu GeGlu Softmax2d Flatten
            Identity);
    }
    macro_rules! sized {
        ($($layer:ident($($argument:expr),*))*) => { match name {
            $(stringify!($layer) => return layer(nn::$layer::new($($argument),*)),)*
            _ => {}
        } };
    }
    sized!(
        MaxPool1d(2) MaxPool2d(2) MaxPool3d(2) AvgPool1d(2) AvgPool2d(2) AvgPool3d(2) LpPool1d(2.0, 2) LpPool2d(2.0, 2) LpPool3d(2.0, 2)
        AdaptiveAvgPool1d([3]) AdaptiveAvgPool2d([3, 3]) AdaptiveAvgPool3d([3, 3, 3])
        AdaptiveMaxPool1d([3]) AdaptiveMaxPool2d([3, 3]) AdaptiveMaxPool3d([3, 3, 3])
        ZeroPad1d(2) ZeroPad2d(2) ZeroPad3d(2) ReflectionPad1d(2) ReflectionPad2d(2) ReflectionPad3d(2)
        ReplicationPad1d(2) ReplicationPad2d(2) ReplicationPad3d(2) CircularPad1d(2) CircularPad2d(2) CircularPad3d(2)
        ConstantPad1d(2, 0.25) ConstantPad2d(2, 0.25) ConstantPad3d(2, 0.25)
        Conv1d(4, 6, 3, conv_options(), d) Conv2d(4, 6, 3, conv_options(), d) Conv3d(4, 6, 3, conv_options(), d)
        ConvTranspose1d(4, 6, 3, conv_options(), d) ConvTranspose2d(4, 6, 3, conv_options(), d) ConvTranspose3d(4, 6, 3, conv_options(), d)
        BatchNorm(3, d) GroupNorm(2, 6, d) LocalResponseNorm(3) Unflatten(1, &[2, 3])
    );
    macro_rules! unpool {
        ($n:literal, $pool:ident, $unpool:ident) => {
            built(nn::$unpool::new(2), true, |unpool, x| {
                let (maxima, index) = x[0].max_pool_with_index($n, &PoolOptions::new(2));
                unpool.forward(&maxima, &index, None)
            })
        };
    }
    match (name, variant) {
        ("Softplus", _) => layer(nn::Softplus { beta: 2.0, threshold: 3.0 }),
        ("Threshold", _) => layer(nn::Threshold { threshold: 0.1, value: 0.5 }),
        ("PRelu", 0) => layer(nn::PRelu::new(1, d)),
        ("PRelu", _) => layer(nn::PRelu::new(3, d)),
        ("RRelu", _) => built(nn::RRelu::default(), false, |layer, x| layer.forward(&x[0])),
        ("Linear", 0) => layer(nn::Linear::new(5, 3, d)),
        ("Linear", _) => layer(nn::Linear::no_bias(5, 3, d)),
        ("Bilinear", _) => built(nn::Bilinear::new(4, 3, 5, d), true, |layer, x| layer.forward(&x[0], &x[1])),
        ("MaxUnpool1d", _) => unpool!(1, max_pool1d, MaxUnpool1d),
        ("MaxUnpool2d", _) => unpool!(2, max_pool2d, MaxUnpool2d),
        ("MaxUnpool3d", _) => unpool!(3, max_pool3d, MaxUnpool3d),
        ("InstanceNorm", 0) => layer(nn::InstanceNorm::new(3)),
        ("InstanceNorm", 1) => layer(nn::InstanceNorm::new(3).affine(d)),
        ("InstanceNorm", _) => layer(nn::InstanceNorm::new(3).affine(d).track_running_stats(d)),
        ("LayerNorm", 0) => layer(nn::LayerNorm::new(6, d)),
        ("LayerNorm", _) => layer(nn::LayerNorm::over(&[3, 6], d)),
        ("Embedding", 0) => layer(nn::Embedding::new(7, 4, d)),
        ("Embedding", _) => {
            let options = EmbeddingOptions { padding_idx: Some(1), ..EmbeddingOptions::default() };
            layer(nn::Embedding::with(7, 4, options, d))
        }
        ("EmbeddingBag", 0) => layer(nn::EmbeddingBag::new(7, 4, BagMode::Mean, d)),
        ("EmbeddingBag", 1) => built(nn::EmbeddingBag::new(7, 4, BagMode::Sum, d), true, |layer, x| layer.bags(&x[0], Some(&x[1]), None)),
        ("EmbeddingBag", _) => layer(nn::EmbeddingBag::new(7, 4, BagMode::Max, d)),
        ("PixelShuffle", _) => layer(nn::PixelShuffle { factor: 2 }),
        ("PixelUnshuffle", _) => layer(nn::PixelUnshuffle { factor: 2 }),
        ("ChannelShuffle", _) => layer(nn::ChannelShuffle { groups: 2 }),
        ("Upsample", 0) => layer(nn::Upsample::new(InterpolateOptions::scales(InterpolateMode::Nearest, &[2.0]))),
        ("Upsample", _) => {
            let options = InterpolateOptions { align_corners: true, ..InterpolateOptions::sizes(InterpolateMode::Linear, &[5, 7]) };
            layer(nn::Upsample::new(options))
        }
        ("Unfold", _) => {
            layer(nn::Unfold::new(WindowOptions { kernel: vec![2, 3], stride: vec![1, 2], padding: vec![1], dilation: vec![] }))
        }
        ("Fold", _) => layer(nn::Fold::new(&[4, 5], WindowOptions { kernel: vec![2, 2], ..WindowOptions::default() })),
        ("CosineSimilarity", _) => built(nn::CosineSimilarity::default(), true, |layer, x| layer.forward(&x[0], &x[1])),
        ("PairwiseDistance", _) => built(nn::PairwiseDistance::default(), true, |layer, x| layer.forward(&x[0], &x[1])),
        ("MultiHeadAttention", 0) => layer(nn::MultiHeadAttention::new(8, 2, d)),
        ("MultiHeadAttention", _) => built(nn::MultiHeadAttention::new(8, 2, d), true, |layer, x| {
            layer.attend(&x[0], &x[0], &x[0], &nn::AttentionMasks::causal().options(2))
        }),
        ("TransformerEncoderLayer", _) => {
            built(nn::TransformerEncoderLayer::new(options(), d), true, move |layer, x| layer.masked(&x[0], &masks(&x[1])))
        }
        ("TransformerDecoderLayer", _) => built(nn::TransformerDecoderLayer::new(options(), d), true, move |layer, x| {
            layer.decode(&x[0], &x[1], &nn::AttentionMasks::causal(), &masks(&x[2]))
        }),
        ("Transformer", _) => built(nn::Transformer::new(2, 1, options(), d), true, |layer, x| {
            let none = nn::AttentionMasks::none();
            layer.run(&x[0], &x[1], [&none, &none, &none])
        }),
        _ => panic!("{name} {variant} has no row here"),
    }
}

fn close(what: &str, got: &Tensor, want: &Value) -> Result<(), String> {
    if got.shape() != shape(want) {
        return Err(format!("{what}: shape {:?} and not {:?}", got.shape(), shape(want)));
    }
    let got = got.cast(DType::F32).to_vec::<f32>().map_err(|error| format!("{what}: {error}"))?;
    let want = floats(want);
    let allowed = TOLERANCE.get();
    // In half types, what is small beside the rest has the rest's rounding errors.
    let largest = if allowed > 1e-3 { want.iter().fold(0f32, |largest, x| largest.max(x.abs())) } else { 0.0 };
    for (i, (got, want)) in got.iter().zip(want).enumerate() {
        let off = (got - want).abs();
        if !got.is_finite() || off > allowed * want.abs().max(1.0).max(largest) {
            return Err(format!("{what}[{i}]: {got} and not {want}"));
        }
    }
    Ok(())
}

fn check(case: &Value) -> Result<(), String> {
    let built = || build(case["layer"].as_str().unwrap(), case["variant"].as_u64().unwrap());
    let Built { state, trained, call } = nn::init::with_dtype(DTYPE.get(), built);
    if let Some((name, tensor)) = state.iter().find(|(_, tensor)| tensor.dtype().is_float() && tensor.dtype() != DTYPE.get()) {
        return Err(format!("{name} is {}", tensor.dtype()));
    }
    let wanted = case["state"].as_object().unwrap();
    let names: BTreeSet<&str> = state.iter().map(|(name, _)| name.as_str()).collect();
    let expected: BTreeSet<&str> = wanted.keys().map(String::as_str).collect();
    if names != expected {
        return Err(format!("parameters {names:?} and not {expected:?}"));
    }
    for (name, own) in &state {
        if own.shape() != shape(&wanted[name]) {
            return Err(format!("{name}: shape {:?} and not {:?}", own.shape(), shape(&wanted[name])));
        }
        no_grad(|| own.assign(&tensor(&wanted[name]).cast(own.dtype()))).map_err(|error| format!("{name}: {error}"))?;
    }
    let variable = |x: Tensor| if x.dtype().is_float() { x.requires_grad() } else { x };
    let inputs: Vec<Tensor> = case["inputs"].as_array().unwrap().iter().map(|x| variable(tensor(x))).collect();
    let output = autocast(SCOPE.get(), || call(&inputs));
    close("output", &output, &case["output"])?;
    let n = output.numel();
    let weight: Vec<f32> = (0..n).map(|i| (((7 * i + 3) % 13) as f32 - 6.0) / 4.0).collect();
    let weight = Tensor::from_vec(weight, output.shape(), &device());
    (output.cast(DType::F32) * weight).sum(()).backward().map_err(|error| format!("backward: {error}"))?;
    for (i, (input, want)) in inputs.iter().zip(case["input_grads"].as_array().unwrap()).enumerate() {
        if !want.is_null() {
            close(&format!("gradient of input {i}"), &input.grad().ok_or("no gradient")?, want)?;
        }
    }
    for (name, own) in &state {
        match case["grads"].get(name) {
            Some(want) if trained.contains(name) => {
                let grad = own.grad().unwrap_or_else(|| own.zeros_like());
                close(&format!("gradient of {name}"), &grad, want)?;
                // The pass changes some parameters, and leaves the others as they are.
                close(&format!("{name} afterwards"), own, case["buffers"].get(name).unwrap_or(&wanted[name]))?;
            }
            Some(_) => return Err(format!("{name} is a buffer and not a parameter")),
            None if trained.contains(name) => return Err(format!("{name} is a parameter and not a buffer")),
            None => close(&format!("{name} afterwards"), own, &case["buffers"][name])?,
        }
    }
    Ok(())
}

fn cases() -> Vec<Value> {
    serde_json::from_str(include_str!("../../../goldens/layers.json")).unwrap()
}

/// Compares those cases, and tells how many there are and how many fail.
fn compare(cases: &[&Value], place: &str, dtype: DType, scope: DType, tolerance: f32) -> (usize, usize) {
    PLACE.set(place.to_owned());
    DTYPE.set(dtype);
    SCOPE.set(scope);
    TOLERANCE.set(tolerance);
    let mut failures = 0;
    for case in cases {
        if let Err(error) = check(case) {
            println!("FAIL {} {} in {dtype} (scope {scope}) on {place}: {error}", case["layer"], case["variant"]);
            failures += 1;
        }
    }
    println!("{} layers compared in {dtype} (scope {scope}) on {place}", cases.len());
    (cases.len(), failures)
}

#[test]
fn layers_are_pytorchs() {
    let cases = cases();
    let (n, failures) = compare(&cases.iter().collect::<Vec<_>>(), "cpu", DType::F32, DType::F32, 3e-5);
    assert!(failures == 0 && n > 150, "see the {failures} FAIL lines above");
}

/// All layers on GPUs; some of them where a compiler for processors makes the kernels.
#[test]
fn layers_are_pytorchs_on_gpus() {
    let cases = cases();
    for place in ["opencl", "vulkan", "cuda"] {
        let device = match Device::open(place) {
            Ok(device) => device,
            Err(error) => {
                println!("SKIPPED: layers on {place}: {error}");
                continue;
            }
        };
        let is_slow = unigrad_testing::selection::compiles_slowly(&device);
        let wanted: Vec<&Value> = cases.iter().filter(|case| !is_slow || is_in(&IN_SHARE, case)).collect();
        let (_, failures) = compare(&wanted, place, DType::F32, DType::F32, 1e-4);
        assert_eq!(failures, 0, "see the FAIL lines above");
    }
}

/// Cases that are more than calls of single ops, which the op table has on every device; kernels cost a compiler each, so they are few:
/// one of each kind of layer. `UNIGRAD_TEST_FULL=1` takes all.
const IN_SHARE: [(&str, u64); 9] = [
    ("Lstm", 6),
    ("MultiHeadAttention", 3),
    ("SpectralNorm", 0),
    ("ConvTranspose2d", 0),
    ("GroupNorm", 0),
    ("EmbeddingBag", 0),
    ("MaxPool2d", 0),
    ("Upsample", 0),
    ("LocalResponseNorm", 0),
];

/// Where a function has a step or a kink within a rounding error of an input, a half type may be on the other side of it: what matters is that
/// values are finite.
const KINKS: [(&str, u64); 7] = [
    ("Hardshrink", 0),
    ("Threshold", 0),
    ("MaxUnpool1d", 0),
    ("MaxUnpool2d", 0),
    ("MaxUnpool3d", 0),
    ("Rnn", 5),
    ("TransformerDecoderLayer", 0),
];

fn is_in(list: &[(&str, u64)], case: &Value) -> bool {
    list.contains(&(case["layer"].as_str().unwrap(), case["variant"].as_u64().unwrap()))
}

#[test]
fn layers_in_half_types_are_near_those_in_f32() {
    let cases = cases();
    let (kinks, smooth): (Vec<&Value>, Vec<&Value>) = cases.iter().partition(|case| is_in(&KINKS, case));
    let mut failures = 0;
    for (dtype, tolerance) in [(DType::BF16, 0.08), (DType::F16, 0.01)] {
        for (cases, tolerance) in [(&smooth, tolerance), (&kinks, f32::INFINITY)] {
            failures += compare(cases, "cpu", dtype, DType::F32, tolerance).1;
            failures += compare(cases, "cpu", DType::F32, dtype, tolerance).1;
        }
    }
    assert_eq!(failures, 0, "see the FAIL lines above");
}

/// What is drawn at random: that it is drawn while training only, in the right proportion, and keeps what it promises.
#[test]
fn random_layers_keep_their_statistics() {
    let x = Tensor::ones([64, 32, 9], DType::F32, &device());
    let mut whole = nn::Dropout1d::new(0.25);
    let rows = whole.forward(&x).mean(-1).to_vec::<f32>().unwrap();
    assert!(rows.iter().all(|row| *row == 0.0 || (*row - 1.0 / 0.75).abs() < 1e-5), "a channel is dropped as a whole");
    let dropped = rows.iter().filter(|row| **row == 0.0).count() as f64 / rows.len() as f64;
    assert!((dropped - 0.25).abs() < 0.05, "{dropped}");
    whole.train(false);
    assert_eq!(whole.forward(&x).to_vec::<f32>().unwrap(), x.to_vec::<f32>().unwrap());
    let normal = Tensor::randn([400, 100], DType::F32, &device()).realize().unwrap();
    let alpha = nn::AlphaDropout::new(0.3).forward(&normal);
    let (mean, var) = (alpha.mean(()).item::<f32>().unwrap(), alpha.var((), 1).item::<f32>().unwrap());
    assert!(mean.abs() < 0.03 && (var - 1.0).abs() < 0.03, "mean {mean}, variance {var}");
    // Channels are dropped as a whole, to one value, and mean and variance stay.
    let normal = Tensor::randn([400, 20, 5], DType::F32, &device()).realize().unwrap();
    let y = nn::FeatureAlphaDropout::new(0.3).forward(&normal);
    // What SELU saturates at, after the map that brings mean and variance back.
    let (saturation, p) = (-1.758_099_340_847_376_6, 0.3);
    let low = saturation * (1.0 - p) / f64::sqrt((1.0 - p) * (1.0 + p * saturation * saturation));
    let at_low = (y.clone() - low).abs().lt(1e-5).cast(DType::F32).mean(-1).to_vec::<f32>().unwrap();
    assert!(at_low.iter().all(|share| *share == 0.0 || *share == 1.0), "a channel is dropped as a whole");
    let dropped = at_low.iter().filter(|share| **share == 1.0).count() as f64 / at_low.len() as f64;
    assert!((dropped - 0.3).abs() < 0.03, "{dropped}");
    let (mean, var) = (y.mean(()).item::<f32>().unwrap(), y.var((), 1).item::<f32>().unwrap());
    assert!(mean.abs() < 0.05 && (var - 1.0).abs() < 0.05, "mean {mean}, variance {var}");
    let normal = Tensor::randn([400, 100], DType::F32, &device()).realize().unwrap();
    let y = nn::RRelu::default().forward(&(normal.abs() * -1.0));
    let slopes = (y / (normal.abs() * -1.0)).to_vec::<f32>().unwrap();
    assert!(slopes.iter().all(|slope| (0.124..0.334).contains(slope)) && slopes.iter().any(|slope| *slope > 0.3));
}

/// Positional encodings: the paper's numbers.
#[test]
fn positions_are_sines_and_cosines() {
    let layer = nn::SinusoidalEncoding::new(4, 8, 0.0, &device());
    let y = layer.forward(&Tensor::zeros([1, 3, 4], DType::F32, &device())).to_vec::<f32>().unwrap();
    for position in 0..3 {
        let (slow, fast) = (position as f32 / 100.0, position as f32);
        for (i, want) in [fast.sin(), fast.cos(), slow.sin(), slow.cos()].into_iter().enumerate() {
            assert!((y[position * 4 + i] - want).abs() < 1e-6);
        }
    }
}
