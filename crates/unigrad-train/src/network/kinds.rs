//! One layer of each kind, from its settings and its input's shape.
//!
//! In: a kind, the recorded input. Out: the layer, or what is wrong with it. Always: every number is checked before it sizes a weight or a table.

use super::{
    build::Wrong,
    checks::{
        Checked, MAX_SIZE, MAX_TABLE, channels, divides, epsilon, features, finite, number, positions, probability, recurrent, sequence,
        size, small, stacked, weight,
    },
    kind::LayerKind,
    parts::{Copied, Encoder, Last, LastOf, Mean, SelfAttention, Transpose},
    sequences::{Bag, HiddenActivation, RecurrentActivation, RecurrentSettings, RnnSettings, RotaryLayout},
    windows::{convolution, fold, padded, pool, power_pool, regions, spatial, transposed, upsample, windows},
};
use unigrad_nn::{
    self as nn, Activation, Embedding, Linear, MultiHeadAttention, Nonlinearity, RecurrentOptions, TransformerEncoder,
    TransformerEncoderLayer, TransformerOptions,
};
use unigrad_tensor::{BagMode, Device, EmbeddingBagOptions, EmbeddingOptions, PadMode, RopeLayout, Tensor};

pub(super) type Made = Checked<Box<dyn Copied>>;

/// One layer that is no block.
#[track_caller]
pub(super) fn one(kind: &LayerKind, input: &Tensor, device: &Device) -> Made {
    use LayerKind as K;
    let x = input.shape();
    let x = x.as_slice();
    Ok(match kind {
        K::Dense(s) => {
            let (from, to) = (features(x)?, size("units", s.units)?);
            weight(&[to, from])?;
            Box::new(if s.bias { Linear::new(from, to, device) } else { Linear::no_bias(from, to, device) })
        }
        K::Output => {
            return Err(Wrong::new(
                "how many units it has follows from data, and there are none",
                "use `dense` with its `units`, or build the network for data",
            ));
        }
        K::Conv1d(s) => convolution(s, x, 1, device)?,
        K::Conv2d(s) => convolution(s, x, 2, device)?,
        K::Conv3d(s) => convolution(s, x, 3, device)?,
        K::ConvTranspose1d(s) => transposed(s, x, 1, device)?,
        K::ConvTranspose2d(s) => transposed(s, x, 2, device)?,
        K::ConvTranspose3d(s) => transposed(s, x, 3, device)?,
        K::MaxPool1d(s) => Box::new(nn::MaxPool1d::with(pool(s, x, 1, true)?)),
        K::MaxPool2d(s) => Box::new(nn::MaxPool2d::with(pool(s, x, 2, true)?)),
        K::MaxPool3d(s) => Box::new(nn::MaxPool3d::with(pool(s, x, 3, true)?)),
        K::AvgPool1d(s) => Box::new(nn::AvgPool1d::with(pool(s, x, 1, false)?)),
        K::AvgPool2d(s) => Box::new(nn::AvgPool2d::with(pool(s, x, 2, false)?)),
        K::AvgPool3d(s) => Box::new(nn::AvgPool3d::with(pool(s, x, 3, false)?)),
        K::LpPool1d(s) => power_pool(s, x, 1)?,
        K::LpPool2d(s) => power_pool(s, x, 2)?,
        K::LpPool3d(s) => power_pool(s, x, 3)?,
        K::AdaptiveMaxPool1d { size } => Box::new(nn::AdaptiveMaxPool1d::new(regions(size, x)?)),
        K::AdaptiveMaxPool2d { size } => Box::new(nn::AdaptiveMaxPool2d::new(regions(size, x)?)),
        K::AdaptiveMaxPool3d { size } => Box::new(nn::AdaptiveMaxPool3d::new(regions(size, x)?)),
        K::AdaptiveAvgPool1d { size } => Box::new(nn::AdaptiveAvgPool1d::new(regions(size, x)?)),
        K::AdaptiveAvgPool2d { size } => Box::new(nn::AdaptiveAvgPool2d::new(regions(size, x)?)),
        K::AdaptiveAvgPool3d { size } => Box::new(nn::AdaptiveAvgPool3d::new(regions(size, x)?)),
        K::BatchNorm(s) => s.layer(x, device)?,
        K::InstanceNorm(s) => s.layer(x, device)?,
        K::LayerNorm(s) => s.layer(x, device)?,
        K::GroupNorm(s) => s.layer(x, device)?,
        K::RmsNorm(s) => s.layer(x, device)?,
        K::LocalResponseNorm(s) => s.local(x)?,
        K::CrossMapLrn2d(s) => s.cross_map(x)?,
        K::WeightNorm(s) => s.made(input, device)?,
        K::SpectralNorm(s) => s.made(input, device)?,
        K::Dropout { p } => Box::new(nn::Dropout::new(probability("p", *p)?)),
        K::Dropout1d { p } => spatial(x, 1, nn::Dropout1d::new(probability("p", *p)?))?,
        K::Dropout2d { p } => spatial(x, 2, nn::Dropout2d::new(probability("p", *p)?))?,
        K::Dropout3d { p } => spatial(x, 3, nn::Dropout3d::new(probability("p", *p)?))?,
        K::AlphaDropout { p } => Box::new(nn::AlphaDropout::new(probability("p", *p)?)),
        K::FeatureAlphaDropout { p } => {
            channels(x)?;
            Box::new(nn::FeatureAlphaDropout::new(probability("p", *p)?))
        }
        K::Unfold(s) => spatial(x, 2, nn::Unfold::new(windows(s)?))?,
        K::Fold { size, windows } => fold(size, windows, x)?,
        K::Softmax2d => spatial(x, 2, nn::Softmax2d)?,
        K::Flatten { start, end } => Box::new(nn::Flatten { start: *start, end: *end }),
        K::Unflatten { axis, sizes } => {
            if sizes.as_slice().iter().any(|n| !(1..=MAX_SIZE).contains(n)) {
                return Err(Wrong::new(format!("`sizes` are {sizes}"), format!("use numbers from 1 to {MAX_SIZE}")));
            }
            let sizes: Vec<i64> = sizes.as_slice().iter().map(|&n| n as i64).collect();
            Box::new(nn::Unflatten::new(*axis, &sizes))
        }
        K::Transpose { a, b } => Box::new(Transpose { a: *a, b: *b }),
        K::Mean { axis } => Box::new(Mean { axis: *axis }),
        K::Last => {
            channels(x)?;
            Box::new(Last)
        }
        K::Embedding(s) => {
            let (tokens, features) = table(input, s.tokens, s.size)?;
            let options = rows(tokens, s.padding_idx, s.max_norm, s.norm_type, s.scale_grad_by_freq)?;
            Box::new(Embedding::with(tokens, features, options, device))
        }
        K::EmbeddingBag(s) => {
            let (tokens, features) = table(input, s.tokens, s.size)?;
            let mode = match s.mode {
                Bag::Mean => BagMode::Mean,
                Bag::Sum => BagMode::Sum,
                Bag::Max => BagMode::Max,
            };
            let rows = rows(tokens, s.padding_idx, s.max_norm, s.norm_type, s.scale_grad_by_freq)?;
            let options = EmbeddingBagOptions { mode, rows, ..EmbeddingBagOptions::default() };
            Box::new(nn::EmbeddingBag::with(tokens, features, options, device))
        }
        K::Rnn(RnnSettings { hidden, n_layers, bidirectional, dropout, bias, give, nonlinearity }) => {
            let s = RecurrentSettings {
                hidden: *hidden,
                n_layers: *n_layers,
                bidirectional: *bidirectional,
                dropout: *dropout,
                bias: *bias,
                give: *give,
                proj_size: 0,
            };
            let (features, hidden, options) = steps(&s, x, 1)?;
            let nonlinearity = match nonlinearity {
                RecurrentActivation::Tanh => Nonlinearity::Tanh,
                RecurrentActivation::Relu => Nonlinearity::Relu,
            };
            let layer = nn::Rnn::with(features, hidden, nonlinearity, options, device);
            Box::new(LastOf { layer, give: s.give, bidirectional: s.bidirectional })
        }
        K::Lstm(s) => {
            let (features, hidden, options) = steps(s, x, 4)?;
            let layer = match s.proj_size {
                0 => nn::Lstm::with(features, hidden, options, device),
                projected if projected < hidden => nn::Lstm::projected(features, hidden, projected, options, device),
                wrong => return Err(Wrong::new(format!("`proj_size` is {wrong}"), format!("use a number below `hidden`, {hidden}"))),
            };
            Box::new(LastOf { layer, give: s.give, bidirectional: s.bidirectional })
        }
        K::Gru(s) => {
            if s.proj_size != 0 {
                return Err(Wrong::new("`proj_size` is of `lstm` only", "leave it out, or use `lstm`"));
            }
            let (features, hidden, options) = steps(s, x, 3)?;
            let layer = nn::Gru::with(features, hidden, options, device);
            Box::new(LastOf { layer, give: s.give, bidirectional: s.bidirectional })
        }
        K::MultiheadAttention(s) => {
            let (_, features) = sequence(x)?;
            let mut attention =
                MultiHeadAttention::new(features, divides(s.heads, features)?, device).dropout(probability("dropout", s.dropout)?);
            attention = if s.bias { attention } else { attention.no_bias() };
            attention = if s.add_bias_kv { attention.bias_kv(device) } else { attention };
            attention = if s.add_zero_attn { attention.zero_attn() } else { attention };
            Box::new(SelfAttention { attention, causal: s.causal })
        }
        K::TransformerEncoder(s) => {
            let (_, features) = sequence(x)?;
            weight(&[size("hidden", s.hidden)?, features])?;
            let options = TransformerOptions {
                hidden: s.hidden,
                dropout: probability("dropout", s.dropout)?,
                activation: match s.activation {
                    HiddenActivation::Relu => Activation::Relu,
                    HiddenActivation::Gelu => Activation::Gelu,
                },
                norm_first: s.norm_first,
                bias: s.bias,
                eps: epsilon(s.eps)?,
                ..TransformerOptions::new(features, divides(s.heads, features)?)
            };
            let layers = (0..stacked(s.n_layers)?).map(|_| TransformerEncoderLayer::new(options, device)).collect();
            let norm = s.last_norm.then(|| nn::LayerNorm::new(features, device).eps(s.eps));
            let norm = if s.bias { norm } else { norm.map(nn::LayerNorm::no_bias) };
            Box::new(Encoder { encoder: TransformerEncoder { layers, norm }, causal: s.causal })
        }
        K::SinusoidalEncoding { longest, dropout } => {
            let (longest, features) = positions(*longest, x)?;
            if longest.checked_mul(features).is_none_or(|n| n > MAX_TABLE) {
                return Err(Wrong::new(
                    format!("a table of {longest} positions of {features} features"),
                    format!("use at most {MAX_TABLE} numbers in all"),
                ));
            }
            Box::new(nn::SinusoidalEncoding::new(features, longest, probability("dropout", *dropout)?, device))
        }
        K::RotaryEncoding { base, layout } => {
            let (_, features) = sequence(x)?;
            if features % 2 != 0 {
                return Err(Wrong::new(
                    format!("it rotates pairs of features, and there are {features}"),
                    "use an even number of features",
                ));
            }
            let base = number("base", *base, *base > 1.0 && base.is_finite(), "above 1")?;
            let layout = match layout {
                RotaryLayout::HalfSplit => RopeLayout::HalfSplit,
                RotaryLayout::Interleaved => RopeLayout::Interleaved,
            };
            Box::new(nn::RotaryEncoding { base, layout, ..nn::RotaryEncoding::new(features) })
        }
        K::LearnedEncoding { longest } => {
            let (longest, features) = positions(*longest, x)?;
            weight(&[longest, features])?;
            Box::new(nn::LearnedEncoding::new(features, longest, device))
        }
        K::Residual { .. } => return Err(Wrong::new("a block stands where a layer is built", "report this")),
        K::Upsample(s) => upsample(s, x)?,
        K::PixelShuffle { factor } => Box::new(nn::PixelShuffle { factor: small("factor", *factor)? }),
        K::PixelUnshuffle { factor } => Box::new(nn::PixelUnshuffle { factor: small("factor", *factor)? }),
        K::ChannelShuffle { groups } => Box::new(nn::ChannelShuffle { groups: size("groups", *groups)? }),
        K::ConstantPad { pad, value } => padded(pad, x, PadMode::Constant(finite("value", *value)?))?,
        K::ZeroPad { pad } => padded(pad, x, PadMode::Constant(0.0))?,
        K::ReflectionPad { pad } => padded(pad, x, PadMode::Reflect)?,
        K::ReplicationPad { pad } => padded(pad, x, PadMode::Replicate)?,
        K::CircularPad { pad } => padded(pad, x, PadMode::Circular)?,
        K::Prelu { per_channel, init } => {
            let slope = finite("init", *init)?;
            Box::new(nn::PRelu::with(if *per_channel { channels(x)? } else { 1 }, slope, device))
        }
        other => activation(other)?,
    })
}

/// A table of vectors for tokens: how many, and of how many features.
fn table(input: &Tensor, tokens: usize, features: usize) -> Checked<(usize, usize)> {
    if input.dtype().is_float() {
        return Err(Wrong::new(
            "it needs tokens (integers), and gets numbers",
            "make it the first layer: a network that begins with it takes tokens",
        ));
    }
    let (tokens, features) = (size("tokens", tokens)?, size("size", features)?);
    weight(&[tokens, features])?;
    Ok((tokens, features))
}

/// How rows of a table of so many tokens are looked up.
fn rows(tokens: usize, padding_idx: Option<i64>, max_norm: Option<f64>, norm_type: f64, by_freq: bool) -> Checked<EmbeddingOptions> {
    if let Some(at) = padding_idx.filter(|at| !(-(tokens as i64)..tokens as i64).contains(at)) {
        return Err(Wrong::new(format!("`padding_idx` is {at}, and there are {tokens} tokens"), "name one of the tokens"));
    }
    if let Some(norm) = max_norm {
        number("max_norm", norm, norm > 0.0 && norm.is_finite(), "above 0")?;
    }
    let norm_type = number("norm_type", norm_type, norm_type > 0.0, "above 0")?;
    Ok(EmbeddingOptions { padding_idx, max_norm, norm_type, scale_grad_by_freq: by_freq })
}

/// Features of inputs and states of a recurrent layer, and its settings.
fn steps(s: &RecurrentSettings, x: &[usize], gates: usize) -> Checked<(usize, usize, RecurrentOptions)> {
    let (features, hidden, n_layers) = recurrent(s, x, gates)?;
    let dropout = probability("dropout", s.dropout)?;
    Ok((
        features,
        hidden,
        RecurrentOptions { n_layers, bidirectional: s.bidirectional, dropout, bias: s.bias, ..RecurrentOptions::default() },
    ))
}

/// Layers without weights that take any shape.
fn activation(kind: &LayerKind) -> Made {
    use LayerKind as K;
    Ok(match kind {
        K::Identity => Box::new(nn::Identity),
        K::Relu => Box::new(nn::Relu),
        K::Relu6 => Box::new(nn::Relu6),
        K::LeakyRelu { slope } => Box::new(nn::LeakyRelu { slope: finite("slope", *slope)? }),
        K::Rrelu { lower, upper } => {
            let lower = finite("lower", *lower)?;
            Box::new(nn::RRelu::new(lower, number("upper", *upper, *upper >= lower && upper.is_finite(), "of at least `lower`")?))
        }
        K::Elu { alpha } => Box::new(nn::Elu { alpha: finite("alpha", *alpha)? }),
        K::Celu { alpha } => Box::new(nn::Celu { alpha: number("alpha", *alpha, *alpha != 0.0 && alpha.is_finite(), "other than 0")? }),
        K::Selu => Box::new(nn::Selu),
        K::Gelu => Box::new(nn::Gelu),
        K::GeluTanh => Box::new(nn::GeluTanh),
        K::Silu => Box::new(nn::Silu),
        K::Sigmoid => Box::new(nn::Sigmoid),
        K::LogSigmoid => Box::new(nn::LogSigmoid),
        K::Tanh => Box::new(nn::Tanh),
        K::Tanhshrink => Box::new(nn::Tanhshrink),
        K::Softsign => Box::new(nn::Softsign),
        K::Softplus { beta, threshold } => Box::new(nn::Softplus {
            beta: number("beta", *beta, *beta != 0.0 && beta.is_finite(), "other than 0")?,
            threshold: finite("threshold", *threshold)?,
        }),
        K::Softshrink { lambda } => {
            Box::new(nn::Softshrink { lambda: number("lambda", *lambda, *lambda >= 0.0 && lambda.is_finite(), "from 0 up")? })
        }
        K::Hardshrink { lambda } => {
            Box::new(nn::Hardshrink { lambda: number("lambda", *lambda, *lambda >= 0.0 && lambda.is_finite(), "from 0 up")? })
        }
        K::Hardtanh { low, high } => {
            let low = finite("low", *low)?;
            Box::new(nn::Hardtanh { low, high: number("high", *high, *high > low && high.is_finite(), "above `low`")? })
        }
        K::Hardswish => Box::new(nn::Hardswish),
        K::Hardsigmoid => Box::new(nn::Hardsigmoid),
        K::Mish => Box::new(nn::Mish),
        K::Threshold { threshold, value } => {
            Box::new(nn::Threshold { threshold: finite("threshold", *threshold)?, value: finite("value", *value)? })
        }
        K::Softmax { axis } => Box::new(nn::Softmax { axis: *axis }),
        K::Softmin { axis } => Box::new(nn::Softmin { axis: *axis }),
        K::LogSoftmax { axis } => Box::new(nn::LogSoftmax { axis: *axis }),
        K::Glu { axis } => Box::new(nn::Glu { axis: *axis }),
        K::Swiglu { axis } => Box::new(nn::SwiGlu { axis: *axis }),
        K::Geglu { axis } => Box::new(nn::GeGlu { axis: *axis }),
        other => return Err(Wrong::new(format!("no layer is made of `{}`", other.name()), "report this")),
    })
}
