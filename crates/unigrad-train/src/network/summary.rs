//! What a network is made of: a row for each layer, with shapes, parameters, work and memory.
//!
//! In: what was found out while the layers were built. Out: numbers, and a table of them.
//! Always: counts are exact. Work counts products of matrices only (a multiplication and an addition each), forward, for one example: the rest is bound by
//! memory. Memory of activations is every layer's output; what the planner fuses or computes again needs less.

use super::{kind::LayerKind, settings::ConvSettings};
use std::fmt;

/// One layer.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// Where it stands, as in the names of its parameters.
    pub path: String,
    /// What it is, as files call it.
    pub kind: String,
    /// Its output's shape, without the batch.
    pub output: Vec<usize>,
    /// Trained values.
    pub n_parameters: usize,
    /// Bytes of them.
    pub parameter_bytes: usize,
    /// Bytes of what is saved and not trained, running statistics for example.
    pub buffer_bytes: usize,
    /// Bytes of its output, for one example.
    pub activation_bytes: usize,
    /// Floating-point operations of a forward pass of one example, in products of matrices.
    pub flops: f64,
}

/// A network's layers in numbers; [`fmt::Display`] makes a table of them.
#[derive(Clone, Debug, PartialEq)]
pub struct Summary {
    /// The input's shape, without the batch.
    pub input: Vec<usize>,
    /// The layers in order, those of blocks too.
    pub rows: Vec<Row>,
    /// Examples of a batch, which the memory of training is told for.
    pub batch_size: usize,
    /// Tensors that the optimizer keeps for each parameter.
    pub optimizer_tensors: usize,
}

impl Summary {
    /// Trained values.
    pub fn n_parameters(&self) -> usize {
        self.rows.iter().map(|row| row.n_parameters).sum()
    }

    /// Floating-point operations of a forward pass of one example.
    pub fn flops(&self) -> f64 {
        self.rows.iter().map(|row| row.flops).sum()
    }

    /// Bytes of parameters and buffers.
    pub fn model_bytes(&self) -> f64 {
        self.rows.iter().map(|row| row.parameter_bytes as f64 + row.buffer_bytes as f64).sum()
    }

    /// Bytes of activations that a training step of a batch keeps, at most.
    pub fn activation_bytes(&self) -> f64 {
        self.batch_size as f64 * self.rows.iter().map(|row| row.activation_bytes as f64).sum::<f64>()
    }

    /// Bytes of the optimizer's state; parameters of half types have `f32` state, which is not counted here.
    pub fn optimizer_bytes(&self) -> f64 {
        self.optimizer_tensors as f64 * self.rows.iter().map(|row| row.parameter_bytes as f64).sum::<f64>()
    }

    /// Bytes that training needs, at most, but for kernels' scratch memory: model, gradients, the optimizer's state, activations.
    pub fn training_bytes(&self) -> f64 {
        let gradients: f64 = self.rows.iter().map(|row| row.parameter_bytes as f64).sum();
        self.model_bytes() + gradients + self.optimizer_bytes() + self.activation_bytes()
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut table = vec![["layer", "kind", "output", "parameters", "FLOPs", "activations"].map(str::to_owned)];
        table.push([String::new(), "input".into(), format!("{:?}", self.input), String::new(), String::new(), String::new()]);
        for row in &self.rows {
            let flops = if row.flops > 0.0 { scaled(row.flops, "") } else { "0".into() };
            let cells = [grouped(row.n_parameters), flops, scaled(row.activation_bytes as f64, "B")];
            let [parameters, flops, activations] = cells;
            table.push([row.path.clone(), row.kind.clone(), format!("{:?}", row.output), parameters, flops, activations]);
        }
        let width = |column: usize| table.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
        let widths: Vec<usize> = (0..6).map(width).collect();
        for (at, row) in table.iter().enumerate() {
            let line: Vec<String> = row
                .iter()
                .zip(&widths)
                .enumerate()
                .map(|(column, (cell, &width))| match column {
                    0..=2 => format!("{cell:<width$}"),
                    _ => format!("{cell:>width$}"),
                })
                .collect();
            writeln!(f, "{}", line.join("  ").trim_end())?;
            if at == 0 {
                writeln!(f, "{}", "-".repeat(widths.iter().sum::<usize>() + 2 * (widths.len() - 1)))?;
            }
        }
        let [model, training] = [self.model_bytes(), self.training_bytes()].map(|bytes| scaled(bytes, "B"));
        let parts = [self.optimizer_bytes(), self.activation_bytes()].map(|bytes| scaled(bytes, "B"));
        let n = self.n_parameters();
        writeln!(f, "{} parameters ({model}), {} FLOPs for an example, forward", grouped(n), scaled(self.flops(), ""))?;
        write!(
            f,
            "training needs at most {training} with batches of {} (optimizer state {}, activations {})",
            self.batch_size, parts[0], parts[1]
        )
    }
}

/// `1234567` as `1,234,567`.
fn grouped(n: usize) -> String {
    let digits = n.to_string();
    let mut text = String::with_capacity(digits.len() * 4 / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Three digits and a prefix.
fn scaled(value: f64, unit: &str) -> String {
    const PREFIXES: [&str; 7] = ["", "k", "M", "G", "T", "P", "E"];
    let mut value = value;
    let mut at = 0;
    while value >= 999.5 && at + 1 < PREFIXES.len() {
        value /= 1000.0;
        at += 1;
    }
    let digits = if at == 0 || value >= 99.95 {
        0
    } else if value >= 9.995 {
        1
    } else {
        2
    };
    format!("{value:.digits$} {}{unit}", PREFIXES[at]).trim_end().to_owned()
}

/// The work of a layer's products of matrices; shapes are without the batch.
pub(super) fn flops(kind: &LayerKind, input: &[usize], output: &[usize]) -> f64 {
    use LayerKind as K;
    let numel = |shape: &[usize]| shape.iter().map(|&n| n as f64).product::<f64>();
    let last = |shape: &[usize]| shape.last().map_or(1.0, |&n| n as f64);
    let window = |s: &super::sizes::Sizes, n: usize| s.per_axis(n).map_or(0.0, |kernel| numel(&kernel));
    let first = |shape: &[usize]| shape.first().map_or(1.0, |&n| n as f64);
    let convolution = |s: &ConvSettings, n| 2.0 * numel(output) * window(&s.kernel, n) * first(input) / s.groups.max(1) as f64;
    let transposed =
        |s: &super::settings::ConvTransposeSettings, n| 2.0 * numel(input) * window(&s.kernel, n) * first(output) / s.groups.max(1) as f64;
    // Projections of queries, keys, values and the result; scores, and their weighted sums.
    let attention = |length: f64, size: f64| 8.0 * length * size * size + 4.0 * length * length * size;
    let recurrent = |hidden: usize, n_layers: usize, bidirectional: bool, gates: f64| {
        let (hidden, directions) = (hidden as f64, if bidirectional { 2.0 } else { 1.0 });
        let above = (n_layers as f64 - 1.0) * (directions * hidden + hidden);
        2.0 * first(input) * directions * gates * hidden * (last(input) + hidden + above)
    };
    match kind {
        K::Dense(_) => 2.0 * numel(output) * last(input),
        K::Conv1d(s) => convolution(s, 1),
        K::Conv2d(s) => convolution(s, 2),
        K::Conv3d(s) => convolution(s, 3),
        K::ConvTranspose1d(s) => transposed(s, 1),
        K::ConvTranspose2d(s) => transposed(s, 2),
        K::ConvTranspose3d(s) => transposed(s, 3),
        K::Rnn(s) => recurrent(s.hidden, s.n_layers, s.bidirectional, 1.0),
        K::Lstm(s) => recurrent(s.hidden, s.n_layers, s.bidirectional, 4.0),
        K::Gru(s) => recurrent(s.hidden, s.n_layers, s.bidirectional, 3.0),
        K::MultiheadAttention(_) => attention(first(input), last(input)),
        K::TransformerEncoder(s) => {
            let (length, size) = (first(input), last(input));
            s.n_layers as f64 * (attention(length, size) + 4.0 * length * size * s.hidden as f64)
        }
        K::WeightNorm(s) => flops(&s.layer.kind, input, output),
        K::SpectralNorm(s) => flops(&s.layer.kind, input, output),
        _ => 0.0,
    }
}
