//! Settings of layers of tokens and sequences.
//!
//! Always: names and defaults are PyTorch's; what has no default there has none here.

use super::{
    kind::{eps, yes},
    settings::one,
};
use serde::{Deserialize, Serialize};

/// Settings of `embedding`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EmbeddingSettings {
    /// How many tokens there are; in configuration files without it (0), as many as the data have.
    #[serde(default)]
    pub tokens: usize,
    /// Features of a vector.
    pub size: usize,
    /// The token without a gradient, whose vector begins as zeros.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub padding_idx: Option<i64>,
    /// Vectors whose norm is greater are scaled to have this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_norm: Option<f64>,
    /// Of which norm `max_norm` is.
    #[serde(default = "euclidean")]
    pub norm_type: f64,
    /// Gradients of a token are divided by how often it comes up in the batch.
    #[serde(default)]
    pub scale_grad_by_freq: bool,
}

impl EmbeddingSettings {
    /// Vectors of `size` features for `tokens` tokens.
    pub fn new(tokens: usize, size: usize) -> EmbeddingSettings {
        EmbeddingSettings { tokens, size, padding_idx: None, max_norm: None, norm_type: euclidean(), scale_grad_by_freq: false }
    }
}

fn euclidean() -> f64 {
    2.0
}

/// What becomes of a bag's vectors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Bag {
    /// Their mean.
    #[default]
    Mean,
    /// Their sum.
    Sum,
    /// The greatest of each feature.
    Max,
}

/// Settings of `embedding_bag`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EmbeddingBagSettings {
    /// How many tokens there are; in configuration files without it (0), as many as the data have.
    #[serde(default)]
    pub tokens: usize,
    /// Features of a vector.
    pub size: usize,
    /// What becomes of a bag's vectors.
    #[serde(default)]
    pub mode: Bag,
    /// The token that no bag counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub padding_idx: Option<i64>,
    /// Vectors whose norm is greater are scaled to have this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_norm: Option<f64>,
    /// Of which norm `max_norm` is.
    #[serde(default = "euclidean")]
    pub norm_type: f64,
    /// Gradients of a token are divided by how often it comes up in the batch.
    #[serde(default)]
    pub scale_grad_by_freq: bool,
}

impl EmbeddingBagSettings {
    /// The mean of the vectors of `size` features of a bag's tokens, of `tokens` tokens.
    pub fn new(tokens: usize, size: usize) -> EmbeddingBagSettings {
        EmbeddingBagSettings {
            tokens,
            size,
            mode: Bag::Mean,
            padding_idx: None,
            max_norm: None,
            norm_type: euclidean(),
            scale_grad_by_freq: false,
        }
    }
}

/// What a recurrent layer gives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Give {
    /// The states of all steps, `[length, hidden]`.
    #[default]
    Sequence,
    /// The last state, `[hidden]`; of both directions, each one's own last.
    Last,
}

/// Settings of `lstm` and `gru`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RecurrentSettings {
    /// Features of the state.
    pub hidden: usize,
    /// Layers one over the other.
    #[serde(default = "one")]
    pub n_layers: usize,
    /// Whether a second one goes backward in time; features stand side by side.
    #[serde(default)]
    pub bidirectional: bool,
    /// The probability with which an output of a layer, but the last one, is dropped while training.
    #[serde(default)]
    pub dropout: f64,
    /// Whether there are biases.
    #[serde(default = "yes")]
    pub bias: bool,
    /// What comes out.
    #[serde(default)]
    pub give: Give,
    /// Features that a matrix makes of the state, of `lstm` only; 0: the state itself.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub proj_size: usize,
}

fn is_zero(n: &usize) -> bool {
    *n == 0
}

/// The activation of a plain recurrent layer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RecurrentActivation {
    /// The hyperbolic tangent.
    #[default]
    Tanh,
    /// `max(x, 0)`.
    Relu,
}

/// Settings of `rnn`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RnnSettings {
    /// Features of the state.
    pub hidden: usize,
    /// Layers one over the other.
    #[serde(default = "one")]
    pub n_layers: usize,
    /// Whether a second one goes backward in time; features stand side by side.
    #[serde(default)]
    pub bidirectional: bool,
    /// The probability with which an output of a layer, but the last one, is dropped while training.
    #[serde(default)]
    pub dropout: f64,
    /// Whether there are biases.
    #[serde(default = "yes")]
    pub bias: bool,
    /// What comes out.
    #[serde(default)]
    pub give: Give,
    /// Of each step.
    #[serde(default)]
    pub nonlinearity: RecurrentActivation,
}

impl RnnSettings {
    /// One layer, forward in time, with the hyperbolic tangent; the states of all steps.
    pub fn new(hidden: usize) -> RnnSettings {
        RnnSettings {
            hidden,
            n_layers: 1,
            bidirectional: false,
            dropout: 0.0,
            bias: true,
            give: Give::Sequence,
            nonlinearity: RecurrentActivation::Tanh,
        }
    }
}

impl RecurrentSettings {
    /// One layer, forward in time, that gives all states.
    pub fn new(hidden: usize) -> RecurrentSettings {
        RecurrentSettings { hidden, n_layers: 1, bidirectional: false, dropout: 0.0, bias: true, give: Give::Sequence, proj_size: 0 }
    }

    /// Several layers.
    pub fn n_layers(mut self, n_layers: usize) -> RecurrentSettings {
        self.n_layers = n_layers;
        self
    }

    /// In both directions.
    pub fn bidirectional(mut self) -> RecurrentSettings {
        self.bidirectional = true;
        self
    }

    /// Gives the last state only.
    pub fn last(mut self) -> RecurrentSettings {
        self.give = Give::Last;
        self
    }
}

/// Settings of `multihead_attention`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AttentionSettings {
    /// How many heads.
    pub heads: usize,
    /// The probability with which a weight is dropped while training.
    #[serde(default)]
    pub dropout: f64,
    /// Whether there are biases.
    #[serde(default = "yes")]
    pub bias: bool,
    /// A learned key and value that every position sees.
    #[serde(default)]
    pub add_bias_kv: bool,
    /// A key and a value of zeros that every position sees.
    #[serde(default)]
    pub add_zero_attn: bool,
    /// A position sees only itself and earlier ones.
    #[serde(default)]
    pub causal: bool,
}

impl AttentionSettings {
    /// `heads` heads, with biases.
    pub fn new(heads: usize) -> AttentionSettings {
        AttentionSettings { heads, dropout: 0.0, bias: true, add_bias_kv: false, add_zero_attn: false, causal: false }
    }
}

/// Which features a rotation pairs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RotaryLayout {
    /// `i` and `i + features / 2`.
    #[default]
    HalfSplit,
    /// `2i` and `2i + 1`.
    Interleaved,
}

/// The activation of a transformer's hidden layer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HiddenActivation {
    /// `max(x, 0)`.
    #[default]
    Relu,
    /// `x` times the normal distribution's cumulative function.
    Gelu,
}

fn hidden() -> usize {
    2048
}

fn dropout() -> f64 {
    0.1
}

/// Settings of `transformer_encoder`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TransformerSettings {
    /// Heads of attention.
    pub heads: usize,
    /// Layers one after the other.
    #[serde(default = "one")]
    pub n_layers: usize,
    /// Features of the hidden layers.
    #[serde(default = "hidden")]
    pub hidden: usize,
    /// The probability with which an element is dropped while training.
    #[serde(default = "dropout")]
    pub dropout: f64,
    /// Of the hidden layers.
    #[serde(default)]
    pub activation: HiddenActivation,
    /// Normalize before a part instead of after it.
    #[serde(default)]
    pub norm_first: bool,
    /// A position sees only itself and earlier ones.
    #[serde(default)]
    pub causal: bool,
    /// A norm after the last layer.
    #[serde(default)]
    pub last_norm: bool,
    /// Whether attention, linear maps and norms have biases.
    #[serde(default = "yes")]
    pub bias: bool,
    /// Added to the variances of norms.
    #[serde(default = "eps")]
    pub eps: f64,
}

impl TransformerSettings {
    /// One layer with `heads` heads, a hidden layer of 2048 features, and dropout of 0.1.
    pub fn new(heads: usize) -> TransformerSettings {
        TransformerSettings {
            heads,
            n_layers: 1,
            hidden: hidden(),
            dropout: dropout(),
            activation: HiddenActivation::Relu,
            norm_first: false,
            causal: false,
            last_norm: false,
            bias: true,
            eps: eps(),
        }
    }

    /// Several layers.
    pub fn n_layers(mut self, n_layers: usize) -> TransformerSettings {
        self.n_layers = n_layers;
        self
    }

    /// Features of the hidden layers.
    pub fn hidden(mut self, hidden: usize) -> TransformerSettings {
        self.hidden = hidden;
        self
    }

    /// With another probability of dropout.
    pub fn dropout(mut self, dropout: f64) -> TransformerSettings {
        self.dropout = dropout;
        self
    }
}
