//! From a description to layers: sizes of inputs are found out by recording each layer's forward pass of a batch that is never computed.
//!
//! In: descriptions, the shape and dtype of an input. Out: layers, and a row of the summary for each, or an error that names layer, position and shapes.
//! Always: a layer's output is what its own forward pass says, so what is inferred and what runs cannot differ. Numbers are checked before they size
//! anything, for they may come from a file.
//! Never: computes a value; initial values are recorded, in the order of the layers.

use super::{
    kind::LayerKind,
    kinds::one,
    parts::{Copied, Residual, Stack},
    spec::LayerSpec,
    summary::{Row, flops},
};
use unigrad_nn::{Error, Layer, Module, Result};
use unigrad_tensor::{DType, Device, Tensor, no_grad};

/// Examples of the batch that is recorded. Not 1, so that a layer that mixes up batch and features is seen.
const PROBE: usize = 3;
/// How deep residual blocks may stand in each other.
pub(super) const MAX_NESTING: usize = 16;
/// Layers of a network, those of blocks included.
const MAX_LAYERS: usize = 10_000;

/// What is wrong with a layer: a cause and a remedy.
pub(super) struct Wrong(String, String);

impl Wrong {
    pub(super) fn new(cause: impl Into<String>, help: impl Into<String>) -> Wrong {
        Wrong(cause.into(), help.into())
    }
}

/// Layers in order, what the summary says of each, and the last one's output.
pub(super) struct Built {
    pub(super) stack: Stack,
    pub(super) rows: Vec<Row>,
    pub(super) output: Tensor,
}

/// A batch of inputs that is recorded and never computed.
pub(super) fn probe(shape: &[usize], dtype: DType, device: &Device) -> Result<Tensor> {
    let elements = shape.iter().try_fold(PROBE, |n, &size| n.checked_mul(size).filter(|n| *n < 1 << 48));
    if elements.is_none() || shape.len() > 8 || shape.contains(&0) {
        let cause = format!("a network's input of shape {shape:?}");
        return Err(Error::argument(cause, "give the sizes of one example, without the batch: from 1 up, at most 8 axes"));
    }
    let all: Vec<usize> = std::iter::once(PROBE).chain(shape.iter().copied()).collect();
    Tensor::zeros(all, dtype, device).check()
}

/// Whether descriptions nest no deeper, and are no more, than can be built. Does not recurse: they may come from anywhere.
pub(super) fn check_extent(layers: &[LayerSpec]) -> Result<()> {
    let mut open: Vec<(&[LayerSpec], usize)> = vec![(layers, 0)];
    let mut n = 0;
    while let Some((layers, depth)) = open.pop() {
        n += layers.len();
        if depth > MAX_NESTING || n > MAX_LAYERS {
            let cause = format!("a network of more than {MAX_LAYERS} layers, or with blocks nested more than {MAX_NESTING} deep");
            return Err(Error::argument(cause, "describe a smaller network, or write it as a struct with `#[derive(Module)]`"));
        }
        for layer in layers {
            if let LayerKind::Residual { layers, shortcut } = &layer.kind {
                open.extend([(layers.as_slice(), depth + 1), (shortcut.as_slice(), depth + 1)]);
            }
        }
    }
    Ok(())
}

/// Builds layers for an input. `path` is where they stand: empty, or that of a block with a dot.
#[track_caller]
pub(super) fn stack(specs: &[LayerSpec], input: Tensor, path: &str, device: &Device) -> Result<Built> {
    let mut built = Built { stack: Stack::default(), rows: Vec::new(), output: input };
    for (position, spec) in specs.iter().enumerate() {
        let name = spec.name.clone().unwrap_or_else(|| position.to_string());
        let kind = spec.kind.name();
        let shape = built.output.shape();
        let place = || {
            let own = spec.name.as_ref().map_or_else(String::new, |name| format!(" `{name}`"));
            let block = path.trim_end_matches('.');
            let within = if block.is_empty() { String::new() } else { format!(" of block {block}") };
            format!("layer {position}{within} ({kind}{own})")
        };
        let refused = |Wrong(cause, help): Wrong| {
            Error::argument(format!("{} does not fit an input of shape {}: {cause}", place(), with_batch(&shape)), help)
        };
        check_name(&name, spec.name.is_some(), position, &built.stack)
            .map_err(|Wrong(cause, help)| Error::argument(format!("{}: {cause}", place()), help))?;
        let mut layer: Box<dyn Copied> = match &spec.kind {
            LayerKind::Residual { layers, shortcut } => {
                let below = format!("{path}{name}.");
                let body = stack(layers, built.output.clone(), &below, device)?;
                let around = stack(shortcut, built.output.clone(), &format!("{below}shortcut."), device)?;
                let (inner, outer) = (body.output.shape(), around.output.shape());
                if inner != outer {
                    let cause = format!("its layers give {}, and {} is added to that", with_batch(&inner), with_batch(&outer));
                    let help = "let the layers keep the shape (padding, channels), or give `shortcut` layers that bring the input to it";
                    return Err(refused(Wrong::new(cause, help)));
                }
                built.rows.extend(body.rows.into_iter().chain(around.rows));
                Box::new(Residual { body: body.stack, shortcut: around.stack })
            }
            kind => one(kind, &built.output, device).map_err(refused)?,
        };
        layer.eval();
        let output = no_grad(|| layer.forward(&built.output));
        layer.train(true);
        if let Some(error) = output.error() {
            let (cause, help) = parts(&error);
            let weights: Vec<String> = layer.named_parameters().iter().map(|(name, t)| format!("{name} {:?}", t.shape())).collect();
            let weights = if weights.is_empty() { String::new() } else { format!(" (it has {})", weights.join(", ")) };
            return Err(refused(Wrong::new(format!("{cause}{weights}"), help)));
        }
        let after = output.shape();
        if after.first() != Some(&PROBE) {
            let cause = format!("it gives {after:?} for a batch of {PROBE}: the first axis is the batch, which layers leave as it is");
            return Err(refused(Wrong::new(cause, "count axes from 1: axis 0 is the batch")));
        }
        if after.contains(&0) {
            return Err(refused(Wrong::new(
                format!("nothing is left: it gives {}", with_batch(&after)),
                "use smaller windows or larger inputs",
            )));
        }
        if !matches!(spec.kind, LayerKind::Residual { .. }) {
            built.rows.push(Row {
                path: format!("{path}{name}"),
                kind,
                output: after[1..].to_vec(),
                n_parameters: layer.n_parameters(),
                parameter_bytes: layer.parameters().iter().map(bytes).sum(),
                buffer_bytes: layer.named_buffers().iter().map(|(_, t)| bytes(t)).sum(),
                activation_bytes: bytes(&output) / PROBE,
                flops: flops(&spec.kind, &shape[1..], &after[1..]),
            });
        }
        if matches!(spec.kind, LayerKind::TransformerEncoder(_)) {
            built.stack.have_blocks.push(built.stack.layers.len());
        }
        built.stack.layers.push((name, layer));
        built.output = output;
    }
    Ok(built)
}

fn bytes(x: &Tensor) -> usize {
    x.numel().saturating_mul(x.dtype().size())
}

/// A shape as users know it: they do not know the batch.
pub(super) fn with_batch(shape: &[usize]) -> String {
    let sizes: Vec<String> = shape.iter().skip(1).map(usize::to_string).collect();
    format!("[batch{}{}]", if sizes.is_empty() { "" } else { ", " }, sizes.join(", "))
}

/// The cause and the remedy of an op's error, without the line, which is this library's.
fn parts(error: &Error) -> (String, String) {
    let text = error.to_string();
    let cause = text.lines().next().unwrap_or_default().to_owned();
    let help = text
        .lines()
        .find_map(|line| line.trim_start().strip_prefix("help: "))
        .unwrap_or("change the layer's settings, or the layers before it");
    (cause, help.to_owned())
}

fn check_name(name: &str, own: bool, position: usize, before: &Stack) -> std::result::Result<(), Wrong> {
    let is_word = !name.is_empty() && name.len() <= 200 && name.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '-');
    let is_number = name.chars().all(|c| c.is_ascii_digit());
    if own && (!is_word || is_number && name != position.to_string() || name == "shortcut") {
        return Err(Wrong::new("its name cannot stand in a path of parameters", "use letters, digits and `_`, not digits alone"));
    }
    match before.layers.iter().position(|(other, _)| other == name) {
        Some(other) => Err(Wrong::new(format!("layer {other} has the same name"), "give each layer a name of its own, or none")),
        None => Ok(()),
    }
}
