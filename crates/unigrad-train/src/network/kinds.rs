//! One layer of each kind, from its settings and its input's shape.
//!
//! In: a kind, the recorded input. Out: the layer, or what is wrong with it. Always: every number is checked before it sizes a weight or a table.

use super::{
    build::Wrong,
    parts::{Encoder, Last, LastOf, Mean, Pad, SelfAttention, Transpose},
    settings::{ConvSettings, ConvTransposeSettings, HiddenActivation, PoolSettings, RecurrentSettings, UpsampleMode},
    sizes::{Padding, Sizes},
    spec::LayerKind,
};
use unigrad_nn::{
    self as nn, Activation, Embedding, Layer, Linear, MultiHeadAttention, TransformerEncoder, TransformerEncoderLayer, TransformerOptions,
    init,
};
use unigrad_tensor::{ConvOptions, DType, Device, EmbeddingOptions, InterpolateMode, InterpolateOptions, PadMode, PoolOptions, Tensor};

/// Of units, channels, kernels and the like.
const MAX_SIZE: usize = 1 << 30;
/// Elements of one weight.
const MAX_WEIGHT: f64 = (1u64 << 40) as f64;
/// Elements of a table of positions, which is made on the host.
const MAX_TABLE: usize = 1 << 24;
/// Layers of one recurrent or transformer stack.
const MAX_STACK: usize = 1000;

/// A size of at least 1.
fn size(name: &str, value: usize) -> std::result::Result<usize, Wrong> {
    if (1..=MAX_SIZE).contains(&value) {
        Ok(value)
    } else {
        Err(Wrong::new(format!("`{name}` is {value}"), format!("use a number from 1 to {MAX_SIZE}")))
    }
}

fn sizes(name: &str, given: &Sizes, axes: usize, least: usize) -> std::result::Result<Vec<usize>, Wrong> {
    let all = given.per_axis(axes).ok_or_else(|| {
        Wrong::new(
            format!("`{name}` has {} numbers for {axes} axes", given.as_slice().len()),
            "give one number for all axes, or one for each",
        )
    })?;
    match all.iter().find(|n| !(least..=MAX_SIZE).contains(*n)) {
        Some(wrong) => Err(Wrong::new(format!("`{name}` is {wrong}"), format!("use numbers from {least} to {MAX_SIZE}"))),
        None => Ok(all),
    }
}

fn weight(shape: &[usize]) -> std::result::Result<(), Wrong> {
    if shape.iter().map(|&n| n as f64).product::<f64>() <= MAX_WEIGHT {
        return Ok(());
    }
    Err(Wrong::new(format!("a weight of shape {shape:?} has more elements than any device holds"), "use fewer units, channels or features"))
}

fn stacked(n: usize) -> std::result::Result<usize, Wrong> {
    if (1..=MAX_STACK).contains(&n) {
        Ok(n)
    } else {
        Err(Wrong::new(format!("`n_layers` is {n}"), format!("use a number from 1 to {MAX_STACK}")))
    }
}

fn number(name: &str, value: f64, ok: bool, range: &str) -> std::result::Result<f64, Wrong> {
    if ok { Ok(value) } else { Err(Wrong::new(format!("`{name}` is {value}"), format!("use a number {range}"))) }
}

fn probability(name: &str, p: f64) -> std::result::Result<f64, Wrong> {
    number(name, p, (0.0..=1.0).contains(&p), "from 0 to 1")
}

fn epsilon(eps: f64) -> std::result::Result<f64, Wrong> {
    number("eps", eps, eps >= 0.0 && eps.is_finite(), "from 0 up")
}

fn finite(name: &str, value: f64) -> std::result::Result<f64, Wrong> {
    number(name, value, value.is_finite(), "that is finite")
}

/// The features of the last axis.
fn features(x: &[usize]) -> std::result::Result<usize, Wrong> {
    if x.len() < 2 {
        return Err(Wrong::new("it needs an axis of features", "put a layer before it that gives at least one axis"));
    }
    Ok(x[x.len() - 1])
}

fn axes(x: &[usize], wanted: usize, form: &str) -> std::result::Result<(), Wrong> {
    if x.len() == wanted + 1 {
        Ok(())
    } else {
        Err(Wrong::new(format!("it needs {form}"), format!("bring the input to {form}, with `unflatten` for example")))
    }
}

/// The channels of axis 1.
fn channels(x: &[usize]) -> std::result::Result<usize, Wrong> {
    x.get(1).copied().ok_or_else(|| Wrong::new("it needs an axis of channels", "put a layer before it that gives at least one axis"))
}

/// `[length, features]`.
fn sequence(x: &[usize]) -> std::result::Result<(usize, usize), Wrong> {
    axes(x, 2, "[length, features]")?;
    Ok((x[1], x[2]))
}

const SPATIAL: [&str; 4] = ["", "[channels, length]", "[channels, height, width]", "[channels, depth, height, width]"];

type Made = std::result::Result<Box<dyn Layer>, Wrong>;

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
        K::AdaptiveMaxPool1d { size } => Box::new(nn::AdaptiveMaxPool1d::new(regions(size, x)?)),
        K::AdaptiveMaxPool2d { size } => Box::new(nn::AdaptiveMaxPool2d::new(regions(size, x)?)),
        K::AdaptiveMaxPool3d { size } => Box::new(nn::AdaptiveMaxPool3d::new(regions(size, x)?)),
        K::AdaptiveAvgPool1d { size } => Box::new(nn::AdaptiveAvgPool1d::new(regions(size, x)?)),
        K::AdaptiveAvgPool2d { size } => Box::new(nn::AdaptiveAvgPool2d::new(regions(size, x)?)),
        K::AdaptiveAvgPool3d { size } => Box::new(nn::AdaptiveAvgPool3d::new(regions(size, x)?)),
        K::BatchNorm(s) => {
            let momentum = number("momentum", s.momentum, (0.0..=1.0).contains(&s.momentum), "from 0 to 1")?;
            let mut norm = nn::BatchNorm::new(channels(x)?, device);
            (norm.eps, norm.momentum) = (epsilon(s.eps)?, Some(momentum));
            Box::new(norm)
        }
        K::InstanceNorm { affine, track_running_stats, eps } => {
            let mut norm = nn::InstanceNorm::new(channels(x)?);
            if x.len() < 3 {
                return Err(Wrong::new("it needs channels and at least one more axis", "use `layer_norm` for features without axes"));
            }
            norm.eps = epsilon(*eps)?;
            norm = if *affine { norm.affine(device) } else { norm };
            Box::new(if *track_running_stats { norm.track_running_stats(device) } else { norm })
        }
        K::LayerNorm { axes, eps, bias } => {
            if *axes == 0 || *axes >= x.len() {
                return Err(Wrong::new(format!("`axes` is {axes}"), format!("use a number from 1 to {}", x.len().saturating_sub(1))));
            }
            let norm = nn::LayerNorm::over(&x[x.len() - axes..], device);
            let norm = if *bias { norm } else { norm.no_bias() };
            Box::new(norm.eps(epsilon(*eps)?))
        }
        K::GroupNorm { groups, eps } => {
            let (channels, groups) = (channels(x)?, size("groups", *groups)?);
            let norm = nn::GroupNorm::new(groups, channels, device);
            Box::new(nn::GroupNorm { eps: epsilon(*eps)?, ..norm })
        }
        K::RmsNorm { eps } => {
            let mut norm = nn::RmsNorm::new(features(x)?, device);
            norm.eps = epsilon(*eps)?;
            Box::new(norm)
        }
        K::LocalResponseNorm { size: n } => {
            channels(x)?;
            Box::new(nn::LocalResponseNorm::new(size("size", *n)?))
        }
        K::Dropout { p } => Box::new(nn::Dropout::new(probability("p", *p)?)),
        K::Dropout1d { p } => spatial(x, 1, nn::Dropout1d::new(probability("p", *p)?))?,
        K::Dropout2d { p } => spatial(x, 2, nn::Dropout2d::new(probability("p", *p)?))?,
        K::Dropout3d { p } => spatial(x, 3, nn::Dropout3d::new(probability("p", *p)?))?,
        K::AlphaDropout { p } => Box::new(nn::AlphaDropout::new(probability("p", *p)?)),
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
            if input.dtype().is_float() {
                return Err(Wrong::new(
                    "it needs tokens (integers), and gets numbers",
                    "make it the first layer: a network that begins with it takes tokens",
                ));
            }
            let (tokens, features) = (size("tokens", s.tokens)?, size("size", s.size)?);
            weight(&[tokens, features])?;
            if let Some(at) = s.padding_idx.filter(|at| !(-(tokens as i64)..tokens as i64).contains(at)) {
                return Err(Wrong::new(format!("`padding_idx` is {at}, and there are {tokens} tokens"), "name one of the tokens"));
            }
            if let Some(norm) = s.max_norm {
                number("max_norm", norm, norm > 0.0 && norm.is_finite(), "above 0")?;
            }
            let options = EmbeddingOptions { padding_idx: s.padding_idx, max_norm: s.max_norm, ..EmbeddingOptions::default() };
            Box::new(Embedding::with(tokens, features, options, device))
        }
        K::Lstm(s) => {
            let (features, hidden, n) = recurrent(s, x, 4)?;
            let layer = nn::Lstm::stacked(features, hidden, n, s.bidirectional, device);
            Box::new(LastOf { layer, give: s.give, bidirectional: s.bidirectional })
        }
        K::Gru(s) => {
            let (features, hidden, n) = recurrent(s, x, 3)?;
            let layer = nn::Gru::stacked(features, hidden, n, s.bidirectional, device);
            Box::new(LastOf { layer, give: s.give, bidirectional: s.bidirectional })
        }
        K::MultiheadAttention { heads, dropout, bias, causal } => {
            let (_, features) = sequence(x)?;
            let attention =
                MultiHeadAttention::new(features, divides(*heads, features)?, device).dropout(probability("dropout", *dropout)?);
            Box::new(SelfAttention { attention: if *bias { attention } else { attention.no_bias() }, causal: *causal })
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
                ..TransformerOptions::new(features, divides(s.heads, features)?)
            };
            let layers = (0..stacked(s.n_layers)?).map(|_| TransformerEncoderLayer::new(options, device)).collect();
            let norm = s.last_norm.then(|| nn::LayerNorm::new(features, device));
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
        K::ZeroPad { pad } => padded(pad, x, PadMode::Constant(0.0))?,
        K::ReflectionPad { pad } => padded(pad, x, PadMode::Reflect)?,
        K::ReplicationPad { pad } => padded(pad, x, PadMode::Replicate)?,
        K::CircularPad { pad } => padded(pad, x, PadMode::Circular)?,
        K::Prelu { per_channel } => Box::new(nn::PRelu::new(if *per_channel { channels(x)? } else { 1 }, device)),
        other => activation(other)?,
    })
}

/// Layers without weights that take any shape.
fn activation(kind: &LayerKind) -> Made {
    use LayerKind as K;
    Ok(match kind {
        K::Identity => Box::new(nn::Identity),
        K::Relu => Box::new(nn::Relu),
        K::Relu6 => Box::new(nn::Relu6),
        K::LeakyRelu { slope } => Box::new(nn::LeakyRelu { slope: finite("slope", *slope)? }),
        K::Rrelu => Box::new(nn::RRelu::default()),
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
        K::Softplus => Box::new(nn::Softplus::default()),
        K::Softshrink { lambda } => {
            Box::new(nn::Softshrink { lambda: number("lambda", *lambda, *lambda >= 0.0 && lambda.is_finite(), "from 0 up")? })
        }
        K::Hardshrink { lambda } => {
            Box::new(nn::Hardshrink { lambda: number("lambda", *lambda, *lambda >= 0.0 && lambda.is_finite(), "from 0 up")? })
        }
        K::Hardtanh => Box::new(nn::Hardtanh::default()),
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

fn spatial(x: &[usize], n: usize, layer: impl Layer + 'static) -> Made {
    axes(x, n + 1, SPATIAL[n])?;
    Ok(Box::new(layer))
}

fn small(name: &str, value: usize) -> std::result::Result<usize, Wrong> {
    if (1..=1 << 12).contains(&value) { Ok(value) } else { Err(Wrong::new(format!("`{name}` is {value}"), "use a number from 1 to 4096")) }
}

fn divides(heads: usize, features: usize) -> std::result::Result<usize, Wrong> {
    if heads > 0 && features.is_multiple_of(heads) && features <= MAX_SIZE / 4 {
        return Ok(heads);
    }
    Err(Wrong::new(format!("{features} features do not divide into {heads} heads"), "use as many heads as divide the features"))
}

fn groups(groups: usize, from: usize, to: usize) -> std::result::Result<usize, Wrong> {
    if groups > 0 && from.is_multiple_of(groups) && to.is_multiple_of(groups) {
        return Ok(groups);
    }
    Err(Wrong::new(
        format!("{from} and {to} channels do not divide into {groups} groups"),
        "use as many groups as divide the channels of both sides",
    ))
}

fn convolution(s: &ConvSettings, x: &[usize], n: usize, device: &Device) -> Made {
    axes(x, n + 1, SPATIAL[n])?;
    let (from, to) = (channels(x)?, size("channels", s.channels)?);
    let groups = groups(s.groups, from, to)?;
    let kernel = sizes("kernel", &s.kernel, n, 1)?;
    let (stride, dilation) = (sizes("stride", &s.stride, n, 1)?, sizes("dilation", &s.dilation, n, 1)?);
    let padding = match &s.padding {
        Padding::Of(given) => sizes("padding", given, n, 0)?.into_iter().map(|p| (p, p)).collect(),
        Padding::Same if stride.iter().all(|s| *s == 1) => {
            // The window reaches over `dilation * (kernel - 1)` more elements than one.
            kernel.iter().zip(&dilation).map(|(k, d)| (k - 1).saturating_mul(*d)).map(|more| (more / 2, more - more / 2)).collect()
        }
        Padding::Same => {
            return Err(Wrong::new(
                "`padding` is \"same\", and `stride` is not 1",
                "give the padding as a number, or leave the stride out",
            ));
        }
    };
    let shape: Vec<usize> = [to, from / groups].into_iter().chain(kernel).collect();
    weight(&shape)?;
    let options = ConvOptions { stride, padding, dilation, groups, ..ConvOptions::default() };
    let (weight, bias) = filled(&shape, to, s.bias, device);
    let padding_mode = PadMode::Constant(0.0);
    Ok(match n {
        1 => Box::new(nn::Conv1d { weight, bias, options, padding_mode }),
        2 => Box::new(nn::Conv2d { weight, bias, options, padding_mode }),
        _ => Box::new(nn::Conv3d { weight, bias, options, padding_mode }),
    })
}

/// PyTorch's initial values of a convolution.
fn filled(shape: &[usize], outputs: usize, bias: bool, device: &Device) -> (Tensor, Option<Tensor>) {
    let (fan_in, _) = init::fans(shape);
    let weight = init::torch_default(shape, fan_in, DType::F32, device);
    (weight, bias.then(|| init::torch_default(&[outputs], fan_in, DType::F32, device)))
}

fn transposed(s: &ConvTransposeSettings, x: &[usize], n: usize, device: &Device) -> Made {
    axes(x, n + 1, SPATIAL[n])?;
    let (from, to) = (channels(x)?, size("channels", s.channels)?);
    let groups = groups(s.groups, from, to)?;
    let shape: Vec<usize> = [from, to / groups].into_iter().chain(sizes("kernel", &s.kernel, n, 1)?).collect();
    weight(&shape)?;
    let options = ConvOptions {
        stride: sizes("stride", &s.stride, n, 1)?,
        padding: sizes("padding", &s.padding, n, 0)?.into_iter().map(|p| (p, p)).collect(),
        dilation: sizes("dilation", &s.dilation, n, 1)?,
        groups,
        output_padding: sizes("output_padding", &s.output_padding, n, 0)?,
    };
    let (weight, bias) = filled(&shape, to, s.bias, device);
    Ok(match n {
        1 => Box::new(nn::ConvTranspose1d { weight, bias, options }),
        2 => Box::new(nn::ConvTranspose2d { weight, bias, options }),
        _ => Box::new(nn::ConvTranspose3d { weight, bias, options }),
    })
}

fn pool(s: &PoolSettings, x: &[usize], n: usize, maximum: bool) -> std::result::Result<PoolOptions, Wrong> {
    axes(x, n + 1, SPATIAL[n])?;
    let kernel = sizes("kernel", &s.kernel, n, 1)?;
    let padding = sizes("padding", &s.padding, n, 0)?;
    if let Some((p, k)) = padding.iter().zip(&kernel).find(|(p, k)| **p > **k / 2) {
        return Err(Wrong::new(format!("`padding` is {p}, and windows are {k} wide"), "pad at most half of a window"));
    }
    let dilation = sizes("dilation", &s.dilation, n, 1)?;
    if !maximum && dilation.iter().any(|d| *d != 1) {
        return Err(Wrong::new("`dilation` is of maxima only", "leave `dilation` out, or use a maximum"));
    }
    let stride = s.stride.as_ref().map_or(Ok(kernel.clone()), |stride| sizes("stride", stride, n, 1))?;
    Ok(PoolOptions { kernel, stride, padding, dilation, ceil_mode: s.ceil_mode, count_include_pad: s.count_include_pad })
}

fn regions<const N: usize>(given: &Sizes, x: &[usize]) -> std::result::Result<[usize; N], Wrong> {
    axes(x, N + 1, SPATIAL[N])?;
    let all = sizes("size", given, N, 1)?;
    if let Some(wrong) = all.iter().find(|n| **n > 1 << 16) {
        return Err(Wrong::new(format!("`size` is {wrong}"), "use numbers from 1 to 65536"));
    }
    <[usize; N]>::try_from(all).map_err(|all| Wrong::new(format!("`size` is {all:?}"), "give one number for each axis"))
}

fn recurrent(s: &RecurrentSettings, x: &[usize], gates: usize) -> std::result::Result<(usize, usize, usize), Wrong> {
    let (_, features) = sequence(x)?;
    let (hidden, n) = (size("hidden", s.hidden)?, stacked(s.n_layers)?);
    if hidden > MAX_SIZE / 8 {
        return Err(Wrong::new(format!("`hidden` is {hidden}"), format!("use a number from 1 to {}", MAX_SIZE / 8)));
    }
    weight(&[gates * hidden, features])?;
    weight(&[gates * hidden, 2 * hidden])?;
    Ok((features, hidden, n))
}

fn positions(longest: Option<usize>, x: &[usize]) -> std::result::Result<(usize, usize), Wrong> {
    let (length, features) = sequence(x)?;
    let longest = longest.unwrap_or(length);
    if longest < length {
        return Err(Wrong::new(format!("`longest` is {longest}, and sequences have {length} positions"), "use at least as many positions"));
    }
    Ok((size("longest", longest)?, features))
}

fn upsample(s: &super::settings::UpsampleSettings, x: &[usize]) -> Made {
    if x.len() < 3 {
        return Err(Wrong::new("it needs channels and at least one more axis", "bring the input to [channels, ..]"));
    }
    let n = x.len() - 2;
    let mode = match s.mode {
        UpsampleMode::Nearest => InterpolateMode::Nearest,
        UpsampleMode::Linear => InterpolateMode::Linear,
        UpsampleMode::Cubic => InterpolateMode::Cubic,
    };
    let mut options = match (&s.size, s.factor) {
        (Some(size), None) => InterpolateOptions::sizes(mode, &sizes("size", size, n, 1)?),
        (None, Some(factor)) => {
            InterpolateOptions::scales(mode, &[number("factor", factor, factor > 0.0 && factor <= 1e4, "above 0, at most 10000")?])
        }
        _ => return Err(Wrong::new("it has neither `size` nor `factor`, or both", "give one of them")),
    };
    options.align_corners = s.align_corners;
    Ok(Box::new(nn::Upsample::new(options)))
}

fn padded(pad: &Sizes, x: &[usize], mode: PadMode) -> Made {
    if x.len() < 3 {
        return Err(Wrong::new("it needs channels and at least one more axis", "bring the input to [channels, ..]"));
    }
    let pads = sizes("pad", pad, x.len() - 2, 0)?.into_iter().map(|p| (p as i64, p as i64)).collect();
    Ok(Box::new(Pad { pads, mode }))
}
