//! Attention without materialized scores, and rotary position embedding.

use crate::{
    Generator, Tensor,
    arithmetic::Operand,
    paged::{PagedKeys, page_table, positions},
};
use std::sync::Arc;
use unigrad_graph::{AttentionSpec, DType, Dropout, ErrorKind, Expr, Literal, is_countable, numel, ops::attention::AttentionInputs};

/// Settings of [`Tensor::attention`].
#[derive(Clone, Default)]
pub struct AttentionOptions {
    /// Query `i` sees key `j` only if `j <= i + q_offset`.
    pub causal: bool,
    /// Query `i` sees key `j` only if `j > i + q_offset - window`.
    pub window: Option<usize>,
    /// Added to the scores; broadcasts to `[batch, heads, q_len, k_len]`.
    pub bias: Option<Tensor>,
    /// Where false, a key is not seen; broadcasts as `bias` does.
    pub mask: Option<Tensor>,
    /// What scores are multiplied with; default `1 / sqrt(features)`.
    pub scale: Option<f64>,
    /// The probability with which a weight is dropped.
    pub dropout: f64,
    /// How many keys are valid (a number or a rank-0 tensor that may change from step to step, or a tensor `[batch]` with one for each sequence);
    /// default: all. One number for all counts as all keys if it is beyond them; of a tensor `[batch]`, and with a page table, that is an error
    /// when it runs.
    pub kv_len: Option<Operand>,
    /// The position of the first query among the keys, or a tensor `[batch]` of them; default 0.
    pub q_offset: Option<Operand>,
    /// Integers `[batch, max_pages]`: keys and values are in pages, k `[pages, page size, g, d]` and v `[pages, page size, g, e]` (the layout of
    /// vLLM, and FlashInfer's `NHD`). Key `j` of sequence `b` is row `j % page size` of page `page_table[b, j / page size]`. What stands behind
    /// the last page that `kv_len` needs does not count; a page that is needed and does not exist is an error when it runs. See
    /// [`Tensor::paged_update`].
    pub page_table: Option<Tensor>,
}

/// How a vector's features pair up for a rotation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RopeLayout {
    /// Features `2i` and `2i + 1` (GPT-J, the original paper).
    Interleaved,
    /// Features `i` and `i + d/2` (GPT-NeoX, Llama in Hugging Face's layout).
    HalfSplit,
}

impl Tensor {
    /// `softmax(scale * q kᵀ + bias) v`: self is q `[b, h, t, d]`, k `[b, g, s, d]`, v `[b, g, s, e]`, the result `[b, h, t, e]`.
    ///
    /// `h` is a multiple of `g`: grouped queries. A query that sees nothing gives 0. The three may lack the batch axis together.
    #[track_caller]
    pub fn attention(&self, k: &Tensor, v: &Tensor, options: &AttentionOptions) -> Tensor {
        if let Some(cast) = crate::autocast::entered("attention") {
            return cast.of(self).attention(&cast.of(k), &cast.of(v), options);
        }
        if let (Some(q), Some(k), Some(v)) = (self.as_batch(2), k.as_batch(2), v.as_batch(2)) {
            return q.attention(&k, &v, options).squeeze(0);
        }
        let dtype = self.float_dtype().promote(k.float_dtype()).promote(v.float_dtype());
        let (q, k, v) = (self.expr().cast(dtype), k.expr().cast(dtype), v.expr().cast(dtype));
        for x in [&q, &k, &v] {
            if x.error().is_some() {
                return Tensor::from_expr(x.clone());
            }
        }
        if q.rank() != 4 || k.rank() != 4 || v.rank() != 4 {
            let message = format!("q {:?}, k {:?}, v {:?}", q.shape(), k.shape(), v.shape());
            return Tensor::fail(ErrorKind::Shape, "attention", message, "each is [batch, heads, length, features]", &[self]);
        }
        let (b, h, t, d) = (q.shape()[0], q.shape()[1], q.shape()[2], q.shape()[3]);
        if options.page_table.is_some()
            && let Some(named) = [&k, &v].into_iter().find(|x| x.is_named())
        {
            let message =
                format!("an axis of {:?} has a name: pages are a store of a fixed size, of which sequences use a part", named.shape());
            return Tensor::fail(
                ErrorKind::Argument,
                "attention",
                message,
                "`fixed(axis)` takes an axis's name away; then each size has a plan of its own",
                &[self],
            );
        }
        let pages = match &options.page_table {
            None => None,
            Some(table) => match page_table("attention", table, b) {
                // Of no pages none can be needed.
                Ok(table) if k.shape()[0] == 0 => Some(PagedKeys { table: table.narrow(1, 0, 0), n_pages: 0, page_size: k.shape()[1] }),
                Ok(table) => Some(PagedKeys { table, n_pages: k.shape()[0], page_size: k.shape()[1] }),
                Err(invalid) => return Tensor::from_expr(invalid),
            },
        };
        let s = pages.as_ref().map_or(k.shape()[2], |pages| pages.table.shape()[1].saturating_mul(pages.page_size));
        let (k, v) = if pages.is_some() { (k.permute(&[0, 2, 1, 3]), v.permute(&[0, 2, 1, 3])) } else { (k, v) };
        if pages.is_some() && !is_countable(&[b, h, t, s], DType::F64.size()) {
            let message = format!("scores {:?}", [b, h, t, s]);
            return Tensor::fail(ErrorKind::Shape, "attention", message, "no memory has so many elements: use fewer keys", &[self]);
        }
        if !(0.0..1.0).contains(&options.dropout) {
            let message = format!("dropout with probability {}", options.dropout);
            return Tensor::fail(ErrorKind::Argument, "attention", message, "it is in 0..1", &[self]);
        }
        let bias = match (&options.bias, &options.mask) {
            (None, None) => None,
            (Some(bias), None) => Some(bias.cast(dtype)),
            (bias, Some(mask)) => {
                let low = Operand::Tensor(Tensor::from_expr(Expr::constant(Literal::float(dtype, f64::NEG_INFINITY), &[], q.device())));
                let zero = Operand::Tensor(Tensor::from_expr(Expr::constant(Literal::zero(dtype), &[], q.device())));
                let seen = match bias {
                    Some(bias) => Operand::Tensor(bias.cast(dtype)),
                    None => zero,
                };
                Some(mask.where_(seen, low))
            }
        };
        // Not in a closure: the place would be this line.
        #[allow(clippy::manual_map)]
        let bias = match bias {
            Some(bias) if q.is_named() || k.is_named() => Some(like_scores(&bias.expr(), &q, (&k, pages.is_some().then_some(s)))),
            Some(bias) => Some(bias.expr().expand(&[b, h, t, s])),
            None => None,
        };
        if let Some(invalid) = bias.as_ref().filter(|bias| bias.error().is_some()) {
            return Tensor::from_expr(invalid.clone());
        }
        let random = (options.dropout > 0.0).then(|| Generator::global().take_scalars(numel(&[b, h, t, s]), q.device()));
        let (kind, positions) = match positions(options, pages.as_ref(), (&q, s)) {
            Ok(positions) => positions,
            Err(invalid) => return Tensor::from_expr(invalid),
        };
        let spec = AttentionSpec {
            scale_bits: options.scale.unwrap_or(1.0 / (d.max(1) as f64).sqrt()).to_bits(),
            causal: options.causal,
            // Beyond what any two positions are apart, so that sums with it can be counted.
            window: options.window.map(|window| window.min(1 << 40)),
            dropout: random.as_ref().map(|_| Dropout { keep_bits: ((1.0 - options.dropout) as f32).to_bits() }),
            has_bias: bias.is_some(),
            positions: kind,
        };
        let inputs = AttentionInputs { q, k, v, bias, positions, random };
        let node = Expr::attention_node(Arc::new(spec), &inputs);
        if node.error().is_some() {
            return Tensor::from_expr(node);
        }
        Tensor::from_expr(node.part(0))
    }

    /// Rotates pairs of the last axis's features by angles: cos and sin are `[.., length, features / 2]` and broadcast (Su et al., 2021).
    #[track_caller]
    pub fn rope(&self, cos: &Tensor, sin: &Tensor, layout: RopeLayout) -> Tensor {
        let x = self.expr();
        if x.error().is_some() {
            return self.clone();
        }
        let d = x.shape().last().copied().unwrap_or(0);
        if d == 0 || !d.is_multiple_of(2) {
            let message = format!("features of {:?} do not pair up", x.shape());
            return Tensor::fail(ErrorKind::Shape, "rope", message, "the last axis has an even size", &[self]);
        }
        let (a, b) = match layout {
            RopeLayout::HalfSplit => (self.narrow(-1, 0, d / 2), self.narrow(-1, d / 2, d / 2)),
            RopeLayout::Interleaved => {
                let pairs = self.unflatten(-1, [(d / 2) as i64, 2]);
                (pairs.select(-1, 0), pairs.select(-1, 1))
            }
        };
        let (cos, sin) = (cos.cast(self.dtype()), sin.cast(self.dtype()));
        let (x, y) = (&a * &cos - &b * &sin, &b * &cos + &a * &sin);
        match layout {
            RopeLayout::HalfSplit => Tensor::concat(&[&x, &y], -1),
            RopeLayout::Interleaved => Tensor::stack(&[&x, &y], -1).flatten(-2, -1),
        }
    }

    /// Cosines and sines for [`Tensor::rope`]: angle `position * base^(-2i / features)`, `[positions, features / 2]`, `F32`.
    #[track_caller]
    pub fn rope_tables(positions: &Tensor, features: usize, base: f64) -> (Tensor, Tensor) {
        let device = positions.device_id();
        let index = Tensor::from_expr(Expr::iota(&[features / 2], 0, DType::F32, device));
        let exponent = index * crate::arithmetic::K(-2.0 * base.ln() / features.max(1) as f64);
        let angles = positions.cast(DType::F32).unsqueeze(-1) * exponent.exp();
        (angles.cos(), angles.sin())
    }
}

/// A bias in the shape of the scores, with the names of queries and keys. Of keys in pages there are `n_paged`, and no names.
#[track_caller]
fn like_scores(bias: &Expr, q: &Expr, (k, n_paged): (&Expr, Option<usize>)) -> Expr {
    let rows = q.narrow(3, 0, 1);
    let columns = match n_paged {
        None => k.narrow(3, 0, 1).narrow(1, 0, 1).permute(&[0, 1, 3, 2]),
        Some(n_keys) => Expr::constant(Literal::zero(q.dtype()), &[1, 1, 1, n_keys], q.device()),
    };
    let wanted = [q.shape()[0], q.shape()[1], q.shape()[2], columns.shape()[3]];
    match Expr::broadcast_together(&[bias, &rows, &columns]).as_deref() {
        Some([bias, ..]) if bias.shape().as_slice() == wanted => bias.clone(),
        _ => bias.expand(&wanted),
    }
}
