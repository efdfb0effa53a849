//! Settings that a graph's node and the kernel for it have in common: what an op is told beside its operands.
//!
//! Always: plain data that is compared and hashed as it is, numbers as their bits. Shapes, strides and buffers belong to nodes and kernels.

use smallvec::SmallVec;
use std::ops::Range;

/// Dropout of attention probabilities: the probability at `(batch, head, i, j)` is kept, and multiplied by `1 / keep`, where the Philox word 0
/// at index `((batch * heads + head) * q_len + i) * k_len + j`, as `(word >> 8) * 2^-24`, is below `keep`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Dropout {
    /// Probability of keeping, as the bits of an `f32`.
    pub keep_bits: u32,
}

/// What attention computes: `softmax(scale * q kᵀ + bias, masked) v`.
///
/// Query `i` sees key `j` when `j < kv_len`, and if `causal` also `j <= i + q_offset`, and with a `window` also `j > i + q_offset - window`.
/// A query that sees nothing gives 0 (and the logarithm of its sum is -inf).
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
#[allow(missing_docs)]
pub struct AttentionSpec {
    /// Bits of the `f64` scale.
    pub scale_bits: u64,
    pub causal: bool,
    pub window: Option<usize>,
    pub dropout: Option<Dropout>,
    /// Whether something is added to the scores.
    pub has_bias: bool,
    /// Where `kv_len` and `q_offset` come from.
    pub positions: Positions,
}

/// Where lengths and offsets of attention come from.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Positions {
    /// Two numbers for all sequences.
    #[default]
    Same,
    /// A tensor, `I32` `[batch, 2]`: length and offset of each sequence.
    Each,
    /// A tensor, `I32` `[batch, 2 + max_pages]`: length, offset and pages of each sequence. Keys and values are in pages; key `j` of a sequence
    /// is number `j % page_size` in its page `j / page_size`.
    Paged,
}

impl Positions {
    /// Columns in front of the pages.
    pub const COLUMNS: usize = 2;

    /// Whether they are a tensor.
    pub fn is_tensor(self) -> bool {
        match self {
            Positions::Same => false,
            Positions::Each | Positions::Paged => true,
        }
    }
}

impl AttentionSpec {
    /// Tensors among the inputs of attention: q, k, v, the bias, positions. Numbers follow, then what else a gradient needs.
    pub fn n_tensors(&self) -> usize {
        3 + usize::from(self.has_bias) + usize::from(self.positions.is_tensor())
    }

    /// The inputs that are numbers: length and offset of all sequences, seed and offset of random numbers.
    pub fn numbers(&self) -> Range<usize> {
        let positions = if self.positions.is_tensor() { 0 } else { 2 };
        let random = if self.dropout.is_some() { 2 } else { 0 };
        self.n_tensors()..self.n_tensors() + positions + random
    }
}

/// Pooling windows, one entry per spatial dimension: they start at `o * stride - pad`; padding never wins.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs)]
pub struct PoolSpec {
    pub kernel: SmallVec<[usize; 3]>,
    pub stride: SmallVec<[usize; 3]>,
    pub pad: SmallVec<[usize; 3]>,
    pub dilation: SmallVec<[usize; 3]>,
}

impl PoolSpec {
    /// The first window of `output` along a spatial axis of `input` elements that has nothing but padding: it has no maximum.
    pub fn first_outside(&self, axis: usize, input: usize, output: usize) -> Option<usize> {
        let (kernel, stride, pad, dilation) = (self.kernel[axis], self.stride[axis], self.pad[axis], self.dilation[axis]);
        let is_inside = |at: usize| at.checked_sub(pad).is_some_and(|at| at < input);
        let is_outside = |o: &usize| (0..kernel).all(|k| !is_inside(o.saturating_mul(stride).saturating_add(k.saturating_mul(dilation))));
        // One that begins inside has an element.
        let before = if stride == 0 { output } else { pad.div_ceil(stride).min(output) };
        let behind = if stride == 0 { output } else { pad.saturating_add(input).div_ceil(stride).clamp(before, output) };
        (0..before).chain(behind..output).find(is_outside)
    }
}

/// A program that the user wrote, in one or several languages.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct UserProgram {
    /// For plans and messages.
    pub name: String,
    /// The entry point.
    pub entry: String,
    /// Language and text; a driver takes the one it compiles.
    pub texts: Vec<(String, String)>,
    /// Threads of a workgroup.
    pub block: [u32; 3],
}

impl UserProgram {
    /// The text in a language.
    pub fn text(&self, language: &str) -> Option<&str> {
        self.texts.iter().find(|(name, _)| name == language).map(|(_, text)| text.as_str())
    }
}
