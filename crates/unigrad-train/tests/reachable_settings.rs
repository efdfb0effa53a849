//! Every public setting of every layer and loss, and how a configuration file says it: each is reached and changes something, or stands here with
//! the reason why not. A new setting that is in neither list fails. The settings are read from the library's sources.

mod support;

use std::collections::BTreeSet;
use support::{alone, device};
use unigrad_nn::{Layer, Module};
use unigrad_tensor::{DType, Device, Tensor, manual_seed};
use unigrad_train::network::{Architecture, LossSpec, Network, RunConfig};

enum How {
    /// A layer in a file, with an input: without the setting it computes something else.
    Said(&'static str),
    /// The setting has another form or name there, which this says; and its key.
    As(&'static str, &'static str),
    Not(&'static str),
}
use How::{As, Not, Said};

const SEVERAL: &str = "of a layer that takes several inputs: see `reachable.rs`";
const PARTS: &str = "a part of a stack, which has settings for it";
const SIZE: &str = "follows from the input";
const MEAN: &str = "a run's losses are means over examples, so that batches of all sizes count alike";

/// Public fields of a source's structs, `Struct.field`, but tensors; of structs that a macro makes, the n-th: `$name.field`.
fn fields(text: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut within: Option<&str> = None;
    for line in text.lines() {
        let trimmed = line.trim();
        if let Some(rest) = trimmed.strip_prefix("pub struct ").and_then(|rest| rest.strip_suffix(" {")) {
            within = Some(rest.split('<').next().unwrap());
        } else if trimmed == "}" {
            within = None;
        } else if let (Some(name), Some(field)) = (within, trimmed.strip_prefix("pub ")) {
            let Some((field, ty)) = field.split_once(": ") else { continue };
            if ty != "Tensor," {
                found.insert(format!("{name}.{field}"));
            }
        }
        // Rows of macros: `Name { field: type = default, "text"; }`, in one line or several.
        let row = line.strip_prefix("    ").filter(|row| row.starts_with(|c: char| c.is_ascii_uppercase()));
        if let Some((name, rest)) = row.and_then(|row| row.split_once(" {")) {
            if rest.is_empty() && name.chars().all(char::is_alphanumeric) {
                within = Some(name);
            }
            found.extend(defaults(rest).map(|field| format!("{name}.{field}")));
        } else if let Some(name) = within.filter(|_| line.starts_with("        ") && line.contains(" = ")) {
            found.extend(defaults(&format!(" {trimmed}")).map(|field| format!("{name}.{field}")));
        }
    }
    found
}

/// Names in ` field: type = default`.
fn defaults(text: &str) -> impl Iterator<Item = &str> {
    text.split(['{', ';']).filter_map(|part| {
        let (name, rest) = part.trim().split_once(": ")?;
        let is_name = name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_');
        (is_name && rest.split(',').next()?.contains(" = ")).then_some(name)
    })
}

/// The description without one setting.
fn without(text: &str, key: &str) -> String {
    let at = 1 + text.find(&format!(" {key} = ")).unwrap_or_else(|| panic!("no `{key}` in {text}"));
    let mut depth = 0;
    let end = text[at..].find(|c: char| {
        match c {
            '[' | '{' => depth += 1,
            ']' | '}' => depth -= 1,
            _ => {}
        }
        depth < 0 || depth == 0 && c == ','
    });
    let end = at + end.unwrap();
    let rest = text[end..].strip_prefix(", ").unwrap_or(&text[end..]);
    format!("{}{rest}", &text[..at]).replace(",  }", " }").replace(", }", " }")
}

/// All that can be seen of a network: names and shapes, what it gives while training and in use, gradients.
fn seen(text: &str, device: &Device) -> Vec<u64> {
    let (input, layer) = text.split_once("] ").unwrap();
    let toml = format!("data = \"digits\"\nloss = \"mse\"\n[network]\ninput = {input}]\nlayers = [{layer}]\n");
    let config = RunConfig::parse(&toml, "x.toml").unwrap_or_else(|e| panic!("{text}: {e}"));
    let architecture = Architecture { input: config.network.input.unwrap(), layers: config.network.layers, loss: LossSpec::Mse };
    let json = serde_json::to_string(&architecture).unwrap();
    assert_eq!(serde_json::from_str::<Architecture>(&json).unwrap(), architecture, "{json}");
    let dtype = architecture.input_dtype();
    let mut network = Network::from_architecture(architecture, Some(1), device).unwrap_or_else(|e| panic!("{text}: {e}"));
    let mut found: Vec<u64> = Vec::new();
    for (name, tensor) in network.state_dict() {
        found.extend(name.bytes().map(u64::from));
        found.extend(tensor.shape().iter().map(|n| *n as u64));
    }
    manual_seed(3);
    let shape: Vec<usize> = std::iter::once(2).chain(network.input_shape().iter().copied()).collect();
    let x = Tensor::randn(shape.as_slice(), DType::F32, device) * 2.0;
    let x = if dtype == DType::I64 { (x.abs() * 2.0).floor().clamp_max(6.0).cast(DType::I64) } else { x };
    let mut add = |x: &Tensor| {
        let values = x.to_vec::<f32>().unwrap_or_else(|e| panic!("{text}: {e}"));
        found.extend(x.shape().iter().map(|n| *n as u64));
        found.extend(values.into_iter().map(|value| u64::from(value.to_bits())));
    };
    let y = network.forward(&x);
    add(&y);
    if network.n_parameters() > 0 {
        y.square().mean(()).backward().unwrap();
        network.parameters().iter().filter_map(Tensor::grad).for_each(|gradient| add(&gradient));
    }
    Module::train(&mut network, false);
    add(&network.forward(&x));
    found
}

#[test]
fn every_setting_of_a_layer_is_reached() {
    let _alone = alone();
    let device = device();
    let sources = [
        ("", include_str!("../../unigrad-nn/src/layers/activation.rs")),
        ("", include_str!("../../unigrad-nn/src/layers/attention.rs")),
        ("conv", include_str!("../../unigrad-nn/src/layers/conv.rs")),
        ("dropout", include_str!("../../unigrad-nn/src/layers/dropout.rs")),
        ("", include_str!("../../unigrad-nn/src/layers/embedding.rs")),
        ("", include_str!("../../unigrad-nn/src/layers/linear.rs")),
        ("", include_str!("../../unigrad-nn/src/layers/norm.rs")),
        ("padding", include_str!("../../unigrad-nn/src/layers/padding.rs")),
        ("", include_str!("../../unigrad-nn/src/layers/parametrized.rs")),
        ("pool", include_str!("../../unigrad-nn/src/layers/pool.rs")),
        ("", include_str!("../../unigrad-nn/src/layers/positions.rs")),
        ("", include_str!("../../unigrad-nn/src/layers/running.rs")),
        ("shape", include_str!("../../unigrad-nn/src/layers/shape.rs")),
        ("", include_str!("../../unigrad-nn/src/layers/transformer.rs")),
        ("", include_str!("../../unigrad-nn/src/layers/recurrent/stack.rs")),
        ("", include_str!("../../unigrad-tensor/src/pool.rs")),
        ("", include_str!("../../unigrad-tensor/src/conv.rs")),
        ("", include_str!("../../unigrad-tensor/src/windows.rs")),
        ("", include_str!("../../unigrad-tensor/src/interpolate.rs")),
        ("", include_str!("../../unigrad-tensor/src/embedding.rs")),
    ];
    let mut known = BTreeSet::new();
    for (file, text) in sources {
        known.extend(fields(text).into_iter().map(|field| field.replace('$', &format!("{file}$"))));
    }
    let table = [
        ("LeakyRelu.slope", Said("[4] { leaky_relu = { slope = 0.3 } }")),
        ("Elu.alpha", Said("[4] { elu = { alpha = 0.3 } }")),
        ("Celu.alpha", Said("[4] { celu = { alpha = 0.3 } }")),
        ("Softplus.beta", Said("[4] { softplus = { beta = 0.3 } }")),
        ("Softplus.threshold", Said("[4] { softplus = { threshold = 0.1 } }")),
        ("Softshrink.lambda", Said("[4] { softshrink = { lambda = 0.1 } }")),
        ("Hardshrink.lambda", Said("[4] { hardshrink = { lambda = 2.0 } }")),
        ("Hardtanh.low", Said("[4] { hardtanh = { low = -0.1 } }")),
        ("Hardtanh.high", Said("[4] { hardtanh = { high = 0.1 } }")),
        ("Threshold.threshold", Not("has no default")),
        ("Threshold.value", Not("has no default")),
        ("Softmax.axis", Said("[4, 3] { softmax = { axis = 1 } }")),
        ("Softmin.axis", Said("[4, 3] { softmin = { axis = 1 } }")),
        ("LogSoftmax.axis", Said("[4, 3] { log_softmax = { axis = 1 } }")),
        ("Glu.axis", Said("[4, 2] { glu = { axis = 1 } }")),
        ("SwiGlu.axis", Said("[4, 2] { swiglu = { axis = 1 } }")),
        ("GeGlu.axis", Said("[4, 2] { geglu = { axis = 1 } }")),
        ("RRelu.lower", Said("[4] { rrelu = { lower = 0.01 } }")),
        ("RRelu.upper", Said("[4] { rrelu = { upper = 0.9 } }")),
        ("MultiHeadAttention.in_proj_weight", Not(SIZE)),
        ("MultiHeadAttention.q_proj_weight", Not("of keys of other features than queries, and a layer has one input")),
        ("MultiHeadAttention.k_proj_weight", Not("of keys of other features than queries, and a layer has one input")),
        ("MultiHeadAttention.v_proj_weight", Not("of keys of other features than queries, and a layer has one input")),
        ("MultiHeadAttention.in_proj_bias", As("bias", "[5, 4] { multihead_attention = { bias = false, heads = 2 } }")),
        ("MultiHeadAttention.bias_k", As("add_bias_kv", "[5, 4] { multihead_attention = { add_bias_kv = true, heads = 2 } }")),
        (
            "MultiHeadAttention.bias_v",
            As("add_bias_kv", "[5, 4] { multihead_attention = { add_bias_kv = true, causal = true, heads = 2 } }"),
        ),
        ("MultiHeadAttention.out_proj", Not(PARTS)),
        ("MultiHeadAttention.n_heads", Not("has no default")),
        ("MultiHeadAttention.dropout", Said("[5, 4] { multihead_attention = { dropout = 0.5, heads = 2 } }")),
        ("MultiHeadAttention.add_zero_attn", Said("[5, 4] { multihead_attention = { add_zero_attn = true, heads = 2 } }")),
        ("conv$name.bias", Said("[2, 8] { conv1d = { bias = false, channels = 3, kernel = 3 } }")),
        ("conv$name.options", Not(PARTS)),
        ("conv$name.padding_mode", Said("[2, 8] { conv1d = { padding_mode = \"reflect\", channels = 3, kernel = 3, padding = 1 } }")),
        ("conv$transposed.bias", Said("[2, 8] { conv_transpose1d = { bias = false, channels = 3, kernel = 3 } }")),
        ("conv$transposed.options", Not(PARTS)),
        ("ConvOptions.stride", Said("[2, 8] { conv1d = { stride = 2, channels = 3, kernel = 3 } }")),
        ("ConvOptions.padding", Said("[2, 8] { conv1d = { padding = 1, channels = 3, kernel = 3 } }")),
        ("ConvOptions.dilation", Said("[2, 8] { conv1d = { dilation = 2, channels = 3, kernel = 3 } }")),
        ("ConvOptions.groups", Said("[2, 8] { conv1d = { groups = 2, channels = 4, kernel = 3 } }")),
        ("ConvOptions.output_padding", Said("[2, 8] { conv_transpose1d = { output_padding = 1, channels = 3, kernel = 3, stride = 2 } }")),
        ("dropout$name.p", Said("[4] { dropout = { p = 0.9 } }")),
        ("Embedding.options", Not(PARTS)),
        ("EmbeddingBag.options", Not(PARTS)),
        ("EmbeddingOptions.padding_idx", Said("[5] { embedding = { padding_idx = 1, tokens = 7, size = 3 } }")),
        ("EmbeddingOptions.max_norm", Said("[5] { embedding_bag = { max_norm = 0.1, tokens = 7, size = 3 } }")),
        ("EmbeddingOptions.norm_type", Said("[5] { embedding = { norm_type = 1.0, max_norm = 0.1, tokens = 7, size = 3 } }")),
        ("EmbeddingOptions.scale_grad_by_freq", Said("[5] { embedding = { scale_grad_by_freq = true, tokens = 7, size = 3 } }")),
        ("EmbeddingBagOptions.mode", Said("[5] { embedding_bag = { mode = \"max\", tokens = 7, size = 3 } }")),
        ("EmbeddingBagOptions.offsets", Not("bags are the examples of a batch")),
        ("EmbeddingBagOptions.include_last_offset", Not("bags are the examples of a batch")),
        ("EmbeddingBagOptions.weights", Not("a second input: write a struct with `#[derive(Module)]`")),
        ("EmbeddingBagOptions.rows", As("padding_idx", "[5] { embedding_bag = { padding_idx = 1, tokens = 7, size = 3 } }")),
        ("Linear.bias", Said("[4] { dense = { bias = false, units = 3 } }")),
        ("Bilinear.bias", Not(SEVERAL)),
        ("LinearCrossEntropyLoss.linear", Not(SEVERAL)),
        ("LinearCrossEntropyLoss.options", Not(SEVERAL)),
        ("LayerNorm.weight", As("elementwise_affine", "[8] { layer_norm = { elementwise_affine = false } }")),
        ("LayerNorm.bias", Said("[8] { layer_norm = { bias = false } }")),
        ("LayerNorm.eps", Said("[8] { layer_norm = { eps = 0.5 } }")),
        ("RmsNorm.weight", As("elementwise_affine", "[8] { rms_norm = { elementwise_affine = false } }")),
        ("RmsNorm.eps", Said("[8] { rms_norm = { eps = 0.5 } }")),
        ("GroupNorm.weight", As("affine", "[4, 8] { group_norm = { affine = false, groups = 2 } }")),
        ("GroupNorm.bias", As("affine", "[4] { group_norm = { affine = false, groups = 2 } }")),
        ("GroupNorm.groups", Not("has no default")),
        ("GroupNorm.eps", Said("[4, 8] { group_norm = { eps = 0.5, groups = 2 } }")),
        ("LocalResponseNorm.size", Not("has no default")),
        ("LocalResponseNorm.alpha", Said("[4, 8] { local_response_norm = { alpha = 0.5, size = 3 } }")),
        ("LocalResponseNorm.beta", Said("[4, 8] { local_response_norm = { beta = 2.0, size = 3, alpha = 1.0 } }")),
        ("LocalResponseNorm.k", Said("[4, 8] { local_response_norm = { k = 2.0, size = 3 } }")),
        ("CrossMapLrn2d.size", Not("has no default")),
        ("CrossMapLrn2d.alpha", Said("[4, 2, 2] { cross_map_lrn2d = { alpha = 0.5, size = 3 } }")),
        ("CrossMapLrn2d.beta", Said("[4, 2, 2] { cross_map_lrn2d = { beta = 2.0, size = 3, alpha = 1.0 } }")),
        ("CrossMapLrn2d.k", Said("[4, 2, 2] { cross_map_lrn2d = { k = 2.0, size = 3 } }")),
        ("padding$name.pads", Not("has no default")),
        ("padding$name.value", Not("has no default")),
        ("SpectralNorm.eps", Said("[4] { spectral_norm = { eps = 100.0, layer = { dense = { units = 3 } } } }")),
        ("pool$name.options", Not(PARTS)),
        ("pool$name.sizes", Not("has no default")),
        ("pool$name.p", Not("has no default")),
        ("PoolOptions.kernel", Not("has no default")),
        ("PoolOptions.stride", Said("[2, 8] { max_pool1d = { stride = 1, kernel = 2 } }")),
        ("PoolOptions.padding", Said("[2, 8] { max_pool1d = { padding = 1, kernel = 2 } }")),
        ("PoolOptions.dilation", Said("[2, 8] { max_pool1d = { dilation = 2, kernel = 2 } }")),
        ("PoolOptions.ceil_mode", Said("[2, 7] { max_pool1d = { ceil_mode = true, kernel = 2 } }")),
        ("PoolOptions.count_include_pad", Said("[2, 8] { avg_pool1d = { count_include_pad = false, kernel = 2, padding = 1 } }")),
        ("RotaryEncoding.features", Not(SIZE)),
        ("RotaryEncoding.base", Said("[5, 4] { rotary_encoding = { base = 100.0 } }")),
        ("RotaryEncoding.layout", Said("[5, 4] { rotary_encoding = { layout = \"interleaved\" } }")),
        ("BatchNorm.weight", As("affine", "[2, 8] { batch_norm = { affine = false } }")),
        ("BatchNorm.bias", As("affine", "[2] { batch_norm = { affine = false } }")),
        ("BatchNorm.running_mean", As("track_running_stats", "[2, 8] { batch_norm = { track_running_stats = false } }")),
        ("BatchNorm.running_var", As("track_running_stats", "[2] { batch_norm = { track_running_stats = false } }")),
        ("BatchNorm.num_batches_tracked", As("momentum", "[2] { batch_norm = { momentum = \"cumulative\" } }")),
        ("BatchNorm.eps", Said("[2, 8] { batch_norm = { eps = 0.5 } }")),
        ("BatchNorm.momentum", Said("[2, 8] { batch_norm = { momentum = 0.9 } }")),
        ("InstanceNorm.weight", As("affine", "[2, 8] { instance_norm = { affine = true } }")),
        ("InstanceNorm.bias", As("affine", "[2, 8] { instance_norm = { affine = true, eps = 0.1 } }")),
        ("InstanceNorm.running_mean", As("track_running_stats", "[2, 8] { instance_norm = { track_running_stats = true } }")),
        ("InstanceNorm.running_var", As("track_running_stats", "[2, 3, 3] { instance_norm = { track_running_stats = true } }")),
        ("InstanceNorm.num_batches_tracked", As("track_running_stats", "[1, 8] { instance_norm = { track_running_stats = true } }")),
        ("InstanceNorm.eps", Said("[2, 8] { instance_norm = { eps = 0.5 } }")),
        ("InstanceNorm.momentum", Said("[2, 8] { instance_norm = { momentum = 0.9, track_running_stats = true } }")),
        ("Flatten.start", Said("[2, 3, 4] { flatten = { start = 2 } }")),
        ("Flatten.end", Said("[2, 3, 4] { flatten = { end = 2 } }")),
        ("Unflatten.axis", Said("[6, 6] { unflatten = { axis = 2, sizes = [2, 3] } }")),
        ("Unflatten.sizes", Not("has no default")),
        ("shape$name.shape$field", Not("has no default")),
        ("PoolOptions.divisor_override", Said("[2, 8] { avg_pool1d = { divisor_override = 3, kernel = 2 } }")),
        ("Upsample.options", Not(PARTS)),
        ("shape$name.options", Not(PARTS)),
        ("Unfold.options", Not(PARTS)),
        ("Fold.sizes", Not("has no default")),
        ("Fold.options", Not(PARTS)),
        ("CosineSimilarity.axis", Not(SEVERAL)),
        ("CosineSimilarity.eps", Not(SEVERAL)),
        ("PairwiseDistance.p", Not(SEVERAL)),
        ("PairwiseDistance.eps", Not(SEVERAL)),
        ("PairwiseDistance.keepdim", Not(SEVERAL)),
        ("WindowOptions.kernel", Not("has no default")),
        ("WindowOptions.stride", Said("[2, 4, 5] { unfold = { stride = 2, kernel = 2 } }")),
        ("WindowOptions.padding", Said("[2, 4, 5] { unfold = { padding = 1, kernel = 2 } }")),
        ("WindowOptions.dilation", Said("[2, 4, 5] { unfold = { dilation = 2, kernel = 2 } }")),
        ("InterpolateOptions.mode", Said("[2, 3, 3] { upsample = { mode = \"area\", factor = 1.5 } }")),
        ("InterpolateOptions.sizes", Not("stands where `factor` does")),
        ("InterpolateOptions.scales", Not("stands where `size` does")),
        (
            "InterpolateOptions.align_corners",
            Said("[2, 3, 3] { upsample = { align_corners = true, factor = [2.0, 1.5], mode = \"linear\" } }"),
        ),
        ("InterpolateOptions.antialias", Said("[2, 6, 6] { upsample = { antialias = true, factor = 0.5, mode = \"cubic\" } }")),
        ("AttentionMasks.attention", Not("a second input: write a struct with `#[derive(Module)]`")),
        ("AttentionMasks.padding", Not("a second input: write a struct with `#[derive(Module)]`")),
        ("AttentionMasks.causal", Said("[5, 4] { transformer_encoder = { causal = true, heads = 2, hidden = 8, dropout = 0.0 } }")),
        ("TransformerOptions.size", Not(SIZE)),
        ("TransformerOptions.heads", Not("has no default")),
        ("TransformerOptions.hidden", Said("[5, 4] { transformer_encoder = { hidden = 8, heads = 2 } }")),
        ("TransformerOptions.dropout", Said("[5, 4] { transformer_encoder = { dropout = 0.0, heads = 2, hidden = 8 } }")),
        ("TransformerOptions.activation", Said("[5, 4] { transformer_encoder = { activation = \"gelu\", heads = 2, hidden = 8 } }")),
        ("TransformerOptions.norm_first", Said("[5, 4] { transformer_encoder = { norm_first = true, heads = 2, hidden = 8 } }")),
        ("TransformerOptions.eps", Said("[5, 4] { transformer_encoder = { eps = 0.5, heads = 2, hidden = 8 } }")),
        ("TransformerOptions.bias", Said("[5, 4] { transformer_encoder = { bias = false, heads = 2, hidden = 8 } }")),
        ("TransformerEncoder.layers", As("n_layers", "[5, 4] { transformer_encoder = { n_layers = 2, heads = 2, hidden = 8 } }")),
        ("TransformerEncoder.norm", As("last_norm", "[5, 4] { transformer_encoder = { last_norm = true, heads = 2, hidden = 8 } }")),
        ("RecurrentOptions.n_layers", Said("[5, 3] { lstm = { n_layers = 2, hidden = 4 } }")),
        ("RecurrentOptions.bidirectional", Said("[5, 3] { gru = { bidirectional = true, hidden = 4 } }")),
        ("RecurrentOptions.dropout", Said("[5, 3] { rnn = { dropout = 0.5, hidden = 4, n_layers = 2 } }")),
        ("RecurrentOptions.bias", Said("[5, 3] { lstm = { bias = false, hidden = 4 } }")),
        ("RecurrentOptions.batch_first", Not("the first axis is the batch in every network")),
    ];
    // Of layers that take several inputs, and of parts of stacks.
    let parts = |field: &str| {
        let of = field.split('.').next().unwrap();
        of.starts_with("TransformerDecoder") || of == "TransformerEncoderLayer" || of == "Transformer"
    };
    // Settings that constructors take and that are no public fields.
    let more = [
        ("lstm", Said("[5, 3] { lstm = { proj_size = 2, hidden = 4 } }"), "proj_size"),
        ("prelu", Said("[4] { prelu = { init = 0.5 } }"), "init"),
        ("rms_norm", Said("[4, 8] { rms_norm = { axes = 2 } }"), "axes"),
        ("weight_norm", Said("[4] { weight_norm = { axis = -1, layer = { dense = { units = 3 } } } }"), "axis"),
        ("spectral_norm", Said("[4] { spectral_norm = { axis = 1, layer = { dense = { units = 3 } } } }"), "axis"),
        (
            "spectral_norm",
            Said("[4] { spectral_norm = { n_power_iterations = 3, layer = { dense = { units = 3 } } } }"),
            "n_power_iterations",
        ),
    ];
    let listed: BTreeSet<String> = table.iter().map(|(field, _)| (*field).to_owned()).collect();
    assert_eq!(listed.len(), table.len(), "a setting stands twice");
    let missing: Vec<&String> = known.difference(&listed).filter(|field| !parts(field)).collect();
    let gone: Vec<&String> = listed.difference(&known).collect();
    assert!(missing.is_empty(), "make {missing:?} reachable from configuration files, or say here why not");
    assert!(gone.is_empty(), "{gone:?} are no settings any more");
    let said = table.into_iter().map(|(field, how)| {
        let key = field.split('.').nth(1).unwrap_or_default();
        (field, how, key)
    });
    let mut idle = Vec::new();
    for (field, how, key) in said.chain(more) {
        let (key, text) = match how {
            Said(text) => (key, text),
            As(key, text) => (key, text),
            Not(why) => {
                assert!(why.len() > 10, "{field}: say why");
                continue;
            }
        };
        if seen(text, &device) == seen(&without(text, key), &device) {
            idle.push((field, text));
        }
    }
    assert!(idle.is_empty(), "settings that change nothing: {idle:?}");
}

#[test]
fn every_setting_of_a_loss_is_reached() {
    let _alone = alone();
    let device = device();
    let known = fields(include_str!("../../unigrad-nn/src/losses.rs"));
    let other = "of a loss that no run has: see `reachable.rs`";
    let table = [
        ("$name.reduction", Not(MEAN)),
        ("HuberLoss.delta", Said("{ huber = { delta = 0.1 } }")),
        ("SmoothL1Loss.beta", Said("{ smooth_l1 = { beta = 0.1 } }")),
        ("BceLoss.weight", Said("{ bce = { weight = [2.0, 1.0, 1.0] } }")),
        ("BceWithLogitsLoss.weight", Said("{ bce_with_logits = { weight = [2.0, 1.0, 1.0] } }")),
        ("BceWithLogitsLoss.pos_weight", Said("{ bce_with_logits = { pos_weight = [2.0, 1.0, 1.0] } }")),
        ("KlDivLoss.log_target", Said("{ kl_div = { log_target = true } }")),
        ("CrossEntropyLoss.weight", As("class_weights", "{ cross_entropy = { class_weights = [2.0, 1.0, 1.0] } }")),
        ("CrossEntropyLoss.ignore_index", Said("{ cross_entropy = { ignore_index = 1 } }")),
        ("CrossEntropyLoss.label_smoothing", Said("{ cross_entropy = { label_smoothing = 0.5 } }")),
        ("NllLoss.weight", As("class_weights", "{ nll = { class_weights = [2.0, 1.0, 1.0] } }")),
        ("NllLoss.ignore_index", Said("{ nll = { ignore_index = 1 } }")),
        ("HingeEmbeddingLoss.margin", Said("{ hinge_embedding = { margin = 3.0 } }")),
        ("MultiMarginLoss.p", Said("{ multi_margin = { p = 2 } }")),
        ("MultiMarginLoss.margin", Said("{ multi_margin = { margin = 3.0 } }")),
        ("MultiMarginLoss.weight", As("class_weights", "{ multi_margin = { class_weights = [2.0, 1.0, 1.0] } }")),
        ("MultiLabelSoftMarginLoss.weight", As("class_weights", "{ multilabel_soft_margin = { class_weights = [2.0, 1.0, 1.0] } }")),
        ("PoissonNllLoss.log_input", Said("{ poisson_nll = { log_input = false } }")),
        ("PoissonNllLoss.full", Said("{ poisson_nll = { full = true } }")),
        ("PoissonNllLoss.eps", Said("{ poisson_nll = { eps = 0.5, log_input = false } }")),
        ("FocalLoss.alpha", Said("{ focal = { alpha = 0.5 } }")),
        ("FocalLoss.gamma", Said("{ focal = { gamma = 1.0 } }")),
        ("DiceLoss.smooth", Said("{ dice = { smooth = 5.0 } }")),
        ("GaussianNllLoss.full", Not(other)),
        ("GaussianNllLoss.eps", Not(other)),
        ("GaussianNllLoss.reduction", Not(other)),
        ("MarginRankingLoss.margin", Not(other)),
        ("MarginRankingLoss.reduction", Not(other)),
        ("CosineEmbeddingLoss.margin", Not(other)),
        ("CosineEmbeddingLoss.reduction", Not(other)),
        ("TripletMarginLoss.options", Not(other)),
        ("TripletMarginWithDistanceLoss.distance", Not(other)),
        ("TripletMarginWithDistanceLoss.options", Not(other)),
        ("CtcLoss.options", Not(other)),
    ];
    let listed: BTreeSet<String> = table.iter().map(|(field, _)| (*field).to_owned()).collect();
    assert_eq!(known, listed, "make what is only left reachable or say why not; what is only right is gone");
    let x = Tensor::new([0.1f32, 0.6, 0.3, 0.5, 0.2, 0.3], &device).reshape([2, 3]);
    let classes = Tensor::new([1i64, 0], &device);
    let bits = Tensor::new([0.0f32, 1.0, 1.0, 1.0, 0.0, 0.0], &device).reshape([2, 3]);
    let signs = &bits * 2.0 - 1.0;
    let counts = &bits * 3.0 + 0.25;
    let value = |loss: &str| {
        let text = format!("data = \"digits\"\nloss = {loss}\n[network]\nlayers = [\"output\"]\n");
        let config = RunConfig::parse(&text, "x.toml").unwrap_or_else(|e| panic!("{loss}: {e}"));
        let built = config.loss.unwrap().build(&device).unwrap();
        let target = match loss {
            loss if loss.contains("hinge") => &signs,
            loss if loss.contains("poisson") || loss.contains("kl_div") || loss.contains("huber") || loss.contains("smooth_l1") => &counts,
            loss if loss.contains("cross_entropy") || loss.contains("nll") || loss.contains("multi_margin") => &classes,
            _ => &bits,
        };
        built.forward(&x, target).to_f64().unwrap_or_else(|e| panic!("{loss}: {e}"))
    };
    for (field, how) in table {
        let key = field.split('.').nth(1).unwrap();
        let (key, text) = match how {
            Said(text) => (key, text),
            As(key, text) => (key, text),
            Not(why) => {
                assert!(why.len() > 10, "{field}: say why");
                continue;
            }
        };
        assert_ne!(value(text), value(&without(text, key)), "{field}: {text}");
    }
    // Lists of classes are made of zeros and ones: that of `[0, 1, 1]` is `[1, 2, -1]`.
    let lists = Tensor::new([1i64, 2, -1, 0, -1, -1], &device).reshape([2, 3]);
    let wanted = x.multilabel_margin_loss(&lists, unigrad_tensor::Reduction::Mean).to_f64().unwrap();
    assert_eq!(value("\"multilabel_margin\""), wanted);
}
