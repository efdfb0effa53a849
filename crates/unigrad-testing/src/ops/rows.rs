//! Softmax, normalizations, attention, rotary positions, losses.

use super::{Call, OpEntry, op};
use unigrad_tensor::{AttentionOptions, CrossEntropyOptions, Reduction, RopeLayout, Tensor};

fn reduction(c: &Call) -> Reduction {
    match c.args.text("reduction") {
        Some("sum" | "batchmean") => Reduction::Sum,
        Some("none") => Reduction::None,
        _ => Reduction::Mean,
    }
}

fn entropy_options(c: &Call) -> CrossEntropyOptions {
    CrossEntropyOptions {
        axis: None,
        label_smoothing: c.args.float("label_smoothing").unwrap_or(0.0),
        ignore_index: c.args.int("ignore_index"),
        weight: c.args.flag("weight").then(|| c.x[2].clone()),
        reduction: reduction(c),
    }
}

/// Over the last `axes` axes without weights: as one axis.
fn bare_norm(c: &Call, norm: fn(&Tensor, f64) -> Tensor) -> Tensor {
    let shape = c.x[0].shape();
    let (outer, inner) = shape.split_at(shape.len() - c.size("axes"));
    let rows: Vec<usize> = outer.iter().copied().chain([inner.iter().product()]).collect();
    norm(&c.x[0].reshape(rows), c.float("eps")).reshape(shape)
}

pub(super) const OPS: &[&[OpEntry]] = &[&[
    op("softmax", |c| vec![c.x[0].softmax(c.axis())]),
    op("log_softmax", |c| vec![c.x[0].log_softmax(c.axis())]),
    op("softmin", |c| vec![c.x[0].softmin(c.axis())]),
    op("layer_norm", |c| {
        vec![match c.x.get(1) {
            Some(weight) => c.x[0].layer_norm(Some(weight), c.x.get(2), c.float("eps")),
            None => bare_norm(c, |x, eps| x.layer_norm(None, None, eps)),
        }]
    }),
    op("rms_norm", |c| {
        vec![match c.x.get(1) {
            Some(weight) => c.x[0].rms_norm(Some(weight), c.float("eps")),
            None => bare_norm(c, |x, eps| x.rms_norm(None, eps)),
        }]
    }),
    op("group_norm", |c| vec![c.x[0].group_norm(c.size("groups"), c.x.get(1), c.x.get(2), c.float("eps"))]),
    op("instance_norm", |c| vec![c.x[0].instance_norm(c.x.get(1), c.x.get(2), c.float("eps"))]),
    op("batch_norm_train", |c| vec![c.x[0].batch_norm_train(c.x.get(1), c.x.get(2), c.float("eps")).0]),
    op("batch_norm_eval", |c| vec![c.x[0].batch_norm(&c.x[1], &c.x[2], c.x.get(3), c.x.get(4), c.float("eps"))]),
    op("cosine_similarity", |c| vec![c.x[0].cosine_similarity(&c.x[1], c.axis(), c.float("eps"))]),
    op("normalize", |c| vec![c.x[0].normalize(c.float("p"), c.axis(), 1e-12)]),
    op("attention", |c| {
        let options = AttentionOptions {
            causal: c.args.flag("causal"),
            window: c.args.int("window").map(|window| window as usize),
            scale: c.args.float("scale"),
            bias: (c.args.text("mask") == Some("bias")).then(|| c.x[3].clone()),
            mask: (c.args.text("mask") == Some("bool")).then(|| c.x[3].clone()),
            ..AttentionOptions::default()
        };
        vec![c.x[0].attention(&c.x[1], &c.x[2], &options)]
    }),
    op("rope", |c| {
        let layout = if c.args.text("layout") == Some("half") { RopeLayout::HalfSplit } else { RopeLayout::Interleaved };
        vec![c.x[0].rope(&c.x[1], &c.x[2], layout)]
    }),
    op("cross_entropy", |c| vec![c.x[0].cross_entropy_with(&c.x[1], &entropy_options(c))]),
    op("cross_entropy_probs", |c| vec![c.x[0].cross_entropy_with(&c.x[1], &entropy_options(c))]),
    op("nll_loss", |c| vec![c.x[0].nll_loss_with(&c.x[1], &entropy_options(c))]),
    op("bce", |c| vec![c.x[0].bce_loss_with(&c.x[1], None, reduction(c))]),
    op("bce_with_logits", |c| {
        let pos_weight = c.args.flag("pos_weight").then(|| &c.x[2]);
        vec![c.x[0].bce_with_logits_with(&c.x[1], None, pos_weight, reduction(c))]
    }),
    op("mse_loss", |c| vec![c.x[0].mse_loss_with(&c.x[1], reduction(c))]),
    op("l1_loss", |c| vec![c.x[0].l1_loss_with(&c.x[1], reduction(c))]),
    op("huber_loss", |c| vec![c.x[0].huber_loss_with(&c.x[1], c.float("delta"), reduction(c))]),
    op("smooth_l1_loss", |c| vec![c.x[0].smooth_l1_loss_with(&c.x[1], c.float("beta"), reduction(c))]),
    op("kl_div", |c| {
        let loss = c.x[0].kl_div(&c.x[1], c.args.flag("log_target"), reduction(c));
        let batch = c.x[0].shape().first().copied().unwrap_or(1);
        vec![if c.args.text("reduction") == Some("batchmean") { loss / batch as f64 } else { loss }]
    }),
]];
