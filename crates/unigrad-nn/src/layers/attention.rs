//! Multi-head attention with PyTorch's parameters.

use super::{Layer, Linear};
use crate::{Module, init, trace};
use unigrad_tensor::{AttentionOptions, DType, Device, Error, Origin, Tensor};

/// Attention over several heads: one matrix projects queries, keys and values. Sequences are `[batch, length, size]`, or one sequence.
///
/// ```
/// # extern crate unigrad_nn as unigrad;
/// # unigrad_device::register(unigrad_cpu::CpuDriver::default());
/// use unigrad::nn::MultiHeadAttention;
/// use unigrad_tensor::{AttentionOptions, DType, Device, Tensor};
///
/// let device = Device::open("cpu")?;
/// let layer = MultiHeadAttention::new(8, 2, &device).kv_features(6, 5, &device);
/// let [q, k, v] = [(3, 8), (4, 6), (4, 5)].map(|(n, size)| Tensor::randn([1, n, size], DType::F32, &device));
/// let (y, weights) = layer.attend_with_weights(&q, &k, &v, &AttentionOptions::default(), true);
/// assert_eq!((y.dims()?, weights.dims()?), (vec![1, 3, 8], vec![1, 3, 4]));
/// # Ok::<(), unigrad::Error>(())
/// ```
#[derive(Module, Clone)]
#[module(on_mode = "set_training")]
pub struct MultiHeadAttention {
    /// `[3 size, size]`; where keys or values have features of their own, there are three matrices instead.
    pub in_proj_weight: Option<Tensor>,
    /// `[size, size]`, of queries.
    pub q_proj_weight: Option<Tensor>,
    /// `[size, features of keys]`.
    pub k_proj_weight: Option<Tensor>,
    /// `[size, features of values]`.
    pub v_proj_weight: Option<Tensor>,
    /// `[3 size]`.
    pub in_proj_bias: Option<Tensor>,
    /// `[1, 1, size]`: a key that every query sees, after those of the sequence.
    pub bias_k: Option<Tensor>,
    /// `[1, 1, size]`: its value.
    pub bias_v: Option<Tensor>,
    /// Of the heads together.
    pub out_proj: Linear,
    /// How many heads.
    pub n_heads: usize,
    /// The probability with which a weight is dropped while training.
    pub dropout: f64,
    /// A key and a value of zeros that every query sees, at the end.
    pub add_zero_attn: bool,
    size: usize,
    training: bool,
}

/// Queries, keys and values by heads, `[batch, heads, length, features]`, and settings that go with them.
struct Heads {
    q: Tensor,
    k: Tensor,
    v: Tensor,
    options: AttentionOptions,
}

impl MultiHeadAttention {
    /// `n_heads` heads over `size` features, with biases.
    #[track_caller]
    pub fn new(size: usize, n_heads: usize, device: &Device) -> MultiHeadAttention {
        let _origin = Origin::enter_caller();
        let mut out_proj = Linear::new(size, size, device);
        out_proj.bias = Some(init::constant(&[size], 0.0, init::dtype(), device));
        MultiHeadAttention {
            in_proj_weight: Some(init::xavier_uniform(&[3 * size, size], 1.0, init::dtype(), device)),
            in_proj_bias: Some(init::constant(&[3 * size], 0.0, init::dtype(), device)),
            ..MultiHeadAttention::of(size, n_heads, out_proj)
        }
    }

    /// Of a projection that is there, over `size` features; the other weights are set by their names.
    pub fn of(size: usize, n_heads: usize, out_proj: Linear) -> MultiHeadAttention {
        MultiHeadAttention {
            in_proj_weight: None,
            q_proj_weight: None,
            k_proj_weight: None,
            v_proj_weight: None,
            in_proj_bias: None,
            bias_k: None,
            bias_v: None,
            out_proj,
            n_heads,
            dropout: 0.0,
            add_zero_attn: false,
            size,
            training: true,
        }
    }

    /// Without biases of the projections.
    pub fn no_bias(mut self) -> MultiHeadAttention {
        (self.in_proj_bias, self.out_proj.bias) = (None, None);
        self
    }

    /// With dropout of attention weights.
    pub fn dropout(mut self, p: f64) -> MultiHeadAttention {
        self.dropout = p;
        self
    }

    /// With keys of `kdim` features and values of `vdim`, each with a projection of its own.
    #[track_caller]
    pub fn kv_features(mut self, kdim: usize, vdim: usize, device: &Device) -> MultiHeadAttention {
        let _origin = Origin::enter_caller();
        if (kdim, vdim) == (self.size, self.size) {
            return self;
        }
        let weight = |features: usize| Some(init::xavier_uniform(&[self.size, features], 1.0, init::dtype(), device));
        (self.q_proj_weight, self.k_proj_weight, self.v_proj_weight) = (weight(self.size), weight(kdim), weight(vdim));
        self.in_proj_weight = None;
        self
    }

    /// With a learned key and value that every query sees.
    #[track_caller]
    pub fn bias_kv(mut self, device: &Device) -> MultiHeadAttention {
        let _origin = Origin::enter_caller();
        let bias = || Some(init::xavier_normal(&[1, 1, self.size], 1.0, init::dtype(), device));
        (self.bias_k, self.bias_v) = (bias(), bias());
        self
    }

    /// With a key and a value of zeros that every query sees.
    pub fn zero_attn(mut self) -> MultiHeadAttention {
        self.add_zero_attn = true;
        self
    }

    fn set_training(&mut self, training: bool) {
        self.training = training;
    }

    /// Tells where the layer is in a model.
    fn weight(&self) -> Option<&Tensor> {
        self.in_proj_weight.as_ref().or(self.q_proj_weight.as_ref())
    }

    /// The three projections.
    #[track_caller]
    fn project(&self, query: &Tensor, key: &Tensor, value: &Tensor) -> (Tensor, Tensor, Tensor) {
        let size = self.size;
        if let Some(weight) = &self.in_proj_weight
            && query.same(key)
            && key.same(value)
        {
            let all = query.linear(weight, self.in_proj_bias.as_ref());
            return (all.narrow(-1, 0, size), all.narrow(-1, size, size), all.narrow(-1, 2 * size, size));
        }
        let own = [&self.q_proj_weight, &self.k_proj_weight, &self.v_proj_weight];
        let project = |x: &Tensor, i: usize| {
            let bias = self.in_proj_bias.as_ref().map(|b| b.narrow(0, i * size, size));
            match (&self.in_proj_weight, own[i]) {
                (_, Some(weight)) => x.linear(weight, bias.as_ref()),
                (Some(weight), None) => x.linear(&weight.narrow(0, i * size, size), bias.as_ref()),
                (None, None) => {
                    let cause = "attention has neither `in_proj_weight` nor three weights of its own";
                    Tensor::from_error(&Error::argument(cause, "construct it with `MultiHeadAttention::new`"))
                }
            }
        };
        (project(query, 0), project(key, 1), project(value, 2))
    }

    /// Projected, with the keys that every query sees, and by heads.
    #[track_caller]
    fn heads(&self, query: &Tensor, key: &Tensor, value: &Tensor, options: &AttentionOptions) -> Heads {
        let (q, k, v) = self.project(query, key, value);
        let batch = q.shape().first().copied().unwrap_or(0);
        let with = |x: Tensor, bias: &Option<Tensor>| match bias {
            Some(bias) => Tensor::concat(&[&x, &bias.cast(x.dtype()).expand([batch, 1, self.size])], 1),
            None => x,
        };
        let (n_queries, n_keys) = (q.shape().get(1).copied().unwrap_or(0), k.shape().get(1).copied().unwrap_or(0));
        let (k, v) = (with(k, &self.bias_k), with(v, &self.bias_v));
        let with_zeros = |x: Tensor| if self.add_zero_attn { x.pad(&[(0, 1), (0, 0)]) } else { x };
        let (k, v) = (with_zeros(k), with_zeros(v));
        let heads = |x: &Tensor| x.unflatten(-1, [self.n_heads, self.size / self.n_heads.max(1)]).transpose(1, 2);
        let dropout = if self.training { self.dropout } else { options.dropout };
        let more = usize::from(self.bias_k.is_some()) + usize::from(self.add_zero_attn);
        let options = AttentionOptions { dropout, ..options.clone() };
        let options = if more == 0 { options } else { seen_by_all(options, n_queries, n_keys, more, &q) };
        Heads { q: heads(&q), k: heads(&k), v: heads(&v), options }
    }

    /// Attention of `query` over `key` and `value`; `options` may ask for causality, a mask or a bias.
    #[track_caller]
    pub fn attend(&self, query: &Tensor, key: &Tensor, value: &Tensor, options: &AttentionOptions) -> Tensor {
        let _origin = Origin::enter_caller();
        if query.rank() == 2 {
            let [q, k, v] = [query, key, value].map(|x| x.unsqueeze(0));
            // One sequence's projections are one product, too.
            let (key, value) = if query.same(key) && key.same(value) { (&q, &q) } else { (&k, &v) };
            return self.attend(&q, key, value, options).squeeze(0);
        }
        let Heads { q, k, v, options } = self.heads(query, key, value, options);
        self.joined(&q.attention(&k, &v, &options))
    }

    /// The heads side by side, projected.
    #[track_caller]
    fn joined(&self, attended: &Tensor) -> Tensor {
        let attended = attended.transpose(1, 2).flatten(2, 3);
        self.out_proj.forward(&trace::observe("MultiHeadAttention", self.weight(), attended))
    }

    /// As [`MultiHeadAttention::attend`], with the weights of keys: `[batch, heads, queries, keys]`, or their mean over heads. They are materialized,
    /// which costs memory that `attend` does not need. A window, lengths and pages are errors.
    #[track_caller]
    pub fn attend_with_weights(
        &self,
        query: &Tensor,
        key: &Tensor,
        value: &Tensor,
        options: &AttentionOptions,
        average: bool,
    ) -> (Tensor, Tensor) {
        let _origin = Origin::enter_caller();
        if query.rank() == 2 {
            let [q, k, v] = [query, key, value].map(|x| x.unsqueeze(0));
            let (y, weights) = self.attend_with_weights(&q, &k, &v, options, average);
            return (y.squeeze(0), weights.squeeze(0));
        }
        let Heads { q, k, v, options } = self.heads(query, key, value, options);
        if let Some(invalid) = positions_refused(&options) {
            return (invalid.clone(), invalid);
        }
        let features = q.shape().last().copied().unwrap_or(0).max(1);
        let mut scores = q.matmul(&k.transpose(-1, -2)) * options.scale.unwrap_or(1.0 / (features as f64).sqrt());
        if let Some(bias) = &options.bias {
            scores = scores + bias;
        }
        let (n_queries, n_keys) = (q.shape().get(2).copied().unwrap_or(0), k.shape().get(2).copied().unwrap_or(0));
        let causal = options.causal.then(|| seen_until_own(n_queries, n_keys, &q));
        let mut weights = match (&options.mask, causal) {
            (None, None) => scores.softmax(-1),
            (mask, causal) => {
                let seen = match (mask, causal) {
                    (Some(mask), Some(causal)) => mask.logical_and(&causal),
                    (Some(mask), None) => mask.clone(),
                    (None, causal) => causal.unwrap_or_else(|| scores.isfinite()),
                };
                // A query that sees nothing has no weights, and not NaN.
                let weights = seen.where_(&scores, f64::NEG_INFINITY).softmax(-1);
                seen.any_keepdim(-1).where_(&weights, 0.0)
            }
        };
        if options.dropout > 0.0 {
            weights = weights.dropout(options.dropout);
        }
        let y = self.joined(&weights.matmul(&v));
        (y, if average { weights.mean(1) } else { weights })
    }
}

/// What neither materialized weights nor keys beyond the sequence's can have.
#[track_caller]
fn positions_refused(options: &AttentionOptions) -> Option<Tensor> {
    let there = options.window.is_some() || options.kv_len.is_some() || options.q_offset.is_some() || options.page_table.is_some();
    let cause = "a window, lengths, an offset or pages with weights that are returned, or with keys that every query sees";
    there.then(|| Tensor::from_error(&Error::argument(cause, "give a mask or a bias instead")))
}

/// Where a query sees a key at or before its own position: `[queries, keys]`.
#[track_caller]
fn seen_until_own(n_queries: usize, n_keys: usize, like: &Tensor) -> Tensor {
    match like.device() {
        Ok(device) => {
            let count = |n: usize| Tensor::arange(0.0, n as f64, 1.0, DType::I64, &device);
            count(n_keys).unsqueeze(0).le(count(n_queries).unsqueeze(1))
        }
        Err(error) => Tensor::from_error(&error),
    }
}

/// Settings for `more` keys behind those of the sequence, which every query sees.
#[track_caller]
fn seen_by_all(mut options: AttentionOptions, n_queries: usize, n_keys: usize, more: usize, like: &Tensor) -> AttentionOptions {
    if let Some(invalid) = positions_refused(&options) {
        options.bias = Some(invalid);
        return options;
    }
    if std::mem::take(&mut options.causal) {
        let causal = seen_until_own(n_queries, n_keys, like);
        options.mask = Some(options.mask.take().map_or(causal.clone(), |mask| mask.logical_and(&causal)));
    }
    // A mask that is one for all keys is one for each first.
    let wide = |x: Tensor| {
        let mut shape = x.shape();
        if let Some(last) = shape.last_mut() {
            *last = n_keys;
        }
        x.expand(shape)
    };
    options.bias = options.bias.map(|bias| wide(bias).pad(&[(0, more)]));
    options.mask = options.mask.map(|mask| wide(mask.logical_not()).pad(&[(0, more)]).logical_not());
    options
}

impl Layer for MultiHeadAttention {
    /// Attention of a sequence over itself.
    #[track_caller]
    fn forward(&self, x: &Tensor) -> Tensor {
        self.attend(x, x, x, &AttentionOptions::default())
    }
}
