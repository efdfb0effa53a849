//! Softmax, normalizations, attention, rotary positions.

use super::{Call, CallError, Op, Outputs, one, op};
use crate::{AttentionOptions, RopeLayout, Tensor};

/// Over the last `axes` axes without weights: as one axis.
fn bare_norm(c: &Call, norm: fn(&Tensor, f64) -> Tensor) -> Outputs {
    let (x, axes) = (c.x(0)?, c.size("axes")?);
    let shape = x.shape();
    let Some(split) = shape.len().checked_sub(axes) else {
        return Err(CallError { op: c.op, cause: format!("`axes` is {axes}"), help: format!("the tensor has {}", shape.len()) });
    };
    let (outer, inner) = shape.split_at(split);
    let rows: Vec<usize> = outer.iter().copied().chain([inner.iter().product()]).collect();
    one(norm(&x.reshape(rows), c.float("eps")?).reshape(shape))
}

fn attention(c: &Call) -> Outputs {
    let masked = |kind: &str| Ok::<_, CallError>(if c.has("mask") && c.text("mask")? == kind { Some(c.x(3)?.clone()) } else { None });
    let options = AttentionOptions {
        causal: c.flag("causal")?,
        window: c.maybe_size("window")?,
        scale: c.maybe_float("scale")?,
        bias: masked("bias")?,
        mask: masked("bool")?,
        ..AttentionOptions::default()
    };
    one(c.x(0)?.attention(c.x(1)?, c.x(2)?, &options))
}

/// With a length and an offset for each sequence, and perhaps a page table.
fn attention_of_sequences(c: &Call) -> Outputs {
    let options = AttentionOptions {
        causal: c.flag("causal")?,
        window: c.maybe_size("window")?,
        kv_len: Some(c.x(3)?.into()),
        q_offset: Some(c.x(4)?.into()),
        page_table: c.maybe(5).cloned(),
        ..AttentionOptions::default()
    };
    one(c.x(0)?.attention(c.x(1)?, c.x(2)?, &options))
}

pub(super) const OPS: &[&[Op]] = &[&[
    op("softmax", "softmax", |c| one(c.x(0)?.softmax(c.axis()?))).full(),
    op("log_softmax", "log_softmax", |c| one(c.x(0)?.log_softmax(c.axis()?))).full(),
    op("softmin", "softmin", |c| one(c.x(0)?.softmin(c.axis()?))).full(),
    op("layer_norm", "layer_norm", |c| match c.maybe(1) {
        Some(weight) => one(c.x(0)?.layer_norm(Some(weight), c.maybe(2), c.float("eps")?)),
        None => bare_norm(c, |x, eps| x.layer_norm(None, None, eps)),
    })
    .full(),
    op("rms_norm", "rms_norm", |c| match c.maybe(1) {
        Some(weight) => one(c.x(0)?.rms_norm(Some(weight), c.float("eps")?)),
        None => bare_norm(c, |x, eps| x.rms_norm(None, eps)),
    })
    .full(),
    op("group_norm", "group_norm", |c| one(c.x(0)?.group_norm(c.size("groups")?, c.maybe(1), c.maybe(2), c.float("eps")?))).full(),
    op("instance_norm", "instance_norm", |c| one(c.x(0)?.instance_norm(c.maybe(1), c.maybe(2), c.float("eps")?))).full(),
    op("batch_norm_train", "batch_norm_train", |c| one(c.x(0)?.batch_norm_train(c.maybe(1), c.maybe(2), c.float("eps")?).0)),
    op("batch_norm_eval", "batch_norm", |c| one(c.x(0)?.batch_norm(c.x(1)?, c.x(2)?, c.maybe(3), c.maybe(4), c.float("eps")?))),
    op("cosine_similarity", "cosine_similarity", |c| one(c.x(0)?.cosine_similarity(c.x(1)?, c.axis()?, c.float("eps")?))).full(),
    op("normalize", "normalize", |c| one(c.x(0)?.normalize(c.float("p")?, c.axis()?, 1e-12))).full(),
    op("attention", "attention", attention).half(),
    op("attention_lengths", "attention", attention_of_sequences).half(),
    op("attention_pages", "attention", attention_of_sequences).half(),
    op("paged_update", "paged_update", |c| one(c.x(0)?.paged_update(c.x(1)?, c.x(2)?, c.x(3)?))),
    op("rope", "rope", |c| {
        let layout = c.choice("layout", &[("interleaved", RopeLayout::Interleaved), ("half", RopeLayout::HalfSplit)])?;
        one(c.x(0)?.rope(c.x(1)?, c.x(2)?, layout))
    }),
]];
