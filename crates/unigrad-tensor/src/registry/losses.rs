//! Losses.

use super::{Call, CallError, Op, one, op};
use crate::{CrossEntropyOptions, CtcOptions, Reduction, TripletOptions};

fn reduction(c: &Call) -> Result<Reduction, CallError> {
    c.choice("reduction", &[("mean", Reduction::Mean), ("sum", Reduction::Sum), ("none", Reduction::None), ("batchmean", Reduction::Sum)])
}

fn entropy_options(c: &Call) -> Result<CrossEntropyOptions, CallError> {
    Ok(CrossEntropyOptions {
        axis: None,
        label_smoothing: c.maybe_float("label_smoothing")?.unwrap_or(0.0),
        ignore_index: c.maybe_int("ignore_index")?,
        weight: if c.flag("weight")? { Some(c.x(2)?.clone()) } else { None },
        reduction: reduction(c)?,
    })
}

pub(super) const OPS: &[&[Op]] = &[&[
    op("cross_entropy", "cross_entropy", |c| one(c.x(0)?.cross_entropy_with(c.x(1)?, &entropy_options(c)?))).full(),
    op("cross_entropy_probs", "cross_entropy", |c| one(c.x(0)?.cross_entropy_with(c.x(1)?, &entropy_options(c)?))).full(),
    op("nll_loss", "nll_loss", |c| one(c.x(0)?.nll_loss_with(c.x(1)?, &entropy_options(c)?))).full(),
    op("bce", "bce_loss", |c| one(c.x(0)?.bce_loss_with(c.x(1)?, None, reduction(c)?))).full(),
    op("bce_with_logits", "bce_with_logits", |c| {
        let pos_weight = if c.flag("pos_weight")? { Some(c.x(2)?) } else { None };
        one(c.x(0)?.bce_with_logits_with(c.x(1)?, None, pos_weight, reduction(c)?))
    })
    .full(),
    op("mse_loss", "mse_loss", |c| one(c.x(0)?.mse_loss_with(c.x(1)?, reduction(c)?))).full(),
    op("l1_loss", "l1_loss", |c| one(c.x(0)?.l1_loss_with(c.x(1)?, reduction(c)?))).full(),
    op("huber_loss", "huber_loss", |c| one(c.x(0)?.huber_loss_with(c.x(1)?, c.float("delta")?, reduction(c)?))).full(),
    op("smooth_l1_loss", "smooth_l1_loss", |c| one(c.x(0)?.smooth_l1_loss_with(c.x(1)?, c.float("beta")?, reduction(c)?))).full(),
    op("kl_div", "kl_div", |c| {
        let x = c.x(0)?;
        let loss = x.kl_div(c.x(1)?, c.flag("log_target")?, reduction(c)?);
        let per_batch = c.has("reduction") && c.text("reduction")? == "batchmean";
        one(if per_batch { loss / x.shape().first().copied().unwrap_or(1) as f64 } else { loss })
    })
    .full(),
    op("margin_ranking_loss", "margin_ranking_loss", |c| {
        one(c.x(0)?.margin_ranking_loss(c.x(1)?, c.x(2)?, c.float("margin")?, reduction(c)?))
    })
    .full(),
    op("hinge_embedding_loss", "hinge_embedding_loss", |c| one(c.x(0)?.hinge_embedding_loss(c.x(1)?, c.float("margin")?, reduction(c)?)))
        .full(),
    op("cosine_embedding_loss", "cosine_embedding_loss", |c| {
        one(c.x(0)?.cosine_embedding_loss(c.x(1)?, c.x(2)?, c.float("margin")?, reduction(c)?))
    })
    .full(),
    op("soft_margin_loss", "soft_margin_loss", |c| one(c.x(0)?.soft_margin_loss(c.x(1)?, reduction(c)?))).full(),
    op("triplet_margin_loss", "triplet_margin_loss", |c| {
        let (margin, p, eps) = (c.float("margin")?, c.float("p")?, c.float("eps")?);
        let options = TripletOptions { margin, p, eps, swap: c.flag("swap")?, reduction: reduction(c)? };
        one(c.x(0)?.triplet_margin_loss(c.x(1)?, c.x(2)?, &options))
    })
    .full(),
    op("multi_margin_loss", "multi_margin_loss", |c| {
        let p = c.int("p")?.clamp(i32::MIN.into(), i32::MAX.into()) as i32;
        one(c.x(0)?.multi_margin_loss(c.x(1)?, p, c.float("margin")?, c.maybe(2), reduction(c)?))
    })
    .full(),
    op("multilabel_margin_loss", "multilabel_margin_loss", |c| one(c.x(0)?.multilabel_margin_loss(c.x(1)?, reduction(c)?))).full(),
    op("multilabel_soft_margin_loss", "multilabel_soft_margin_loss", |c| {
        one(c.x(0)?.multilabel_soft_margin_loss(c.x(1)?, c.maybe(2), reduction(c)?))
    })
    .full(),
    op("gaussian_nll_loss", "gaussian_nll_loss", |c| {
        one(c.x(0)?.gaussian_nll_loss(c.x(1)?, c.x(2)?, c.flag("full")?, c.float("eps")?, reduction(c)?))
    })
    .full(),
    op("poisson_nll_loss", "poisson_nll_loss", |c| {
        one(c.x(0)?.poisson_nll_loss(c.x(1)?, c.flag("log_input")?, c.flag("full")?, c.float("eps")?, reduction(c)?))
    })
    .full(),
    op("focal_loss", "focal_loss", |c| one(c.x(0)?.focal_loss(c.x(1)?, c.float("alpha")?, c.float("gamma")?, reduction(c)?))).full(),
    op("dice_loss", "dice_loss", |c| one(c.x(0)?.dice_loss(c.x(1)?, c.float("smooth")?, reduction(c)?))).full(),
    op("ctc_loss", "ctc_loss", |c| {
        let options = CtcOptions { blank: c.size("blank")?, reduction: reduction(c)?, zero_infinity: c.flag("zero_infinity")? };
        one(c.x(0)?.log_softmax(-1).ctc_loss(c.x(1)?, c.x(2)?, c.x(3)?, &options))
    })
    .full(),
]];
