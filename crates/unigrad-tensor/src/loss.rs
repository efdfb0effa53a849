//! Losses.

mod ctc;
mod likelihood;
mod margin;

pub use ctc::CtcOptions;
pub use margin::TripletOptions;

use crate::{
    Tensor,
    arithmetic::K,
    axes::resolve_axis,
    norm::sum_axis,
    promotion::{broadcast, promote, to_float},
    rules,
};
use unigrad_graph::{BinaryOp, DType, ErrorKind, Expr, Literal};

/// What becomes of the losses of all elements.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reduction {
    /// Their mean.
    #[default]
    Mean,
    /// Their sum.
    Sum,
    /// Nothing: they stay as they are.
    None,
}

/// Settings of [`Tensor::cross_entropy_with`].
#[derive(Clone, Debug, Default)]
pub struct CrossEntropyOptions {
    /// The axis of the classes; the default is PyTorch's: axis 1, or the only one.
    pub axis: Option<isize>,
    /// The weight of the uniform distribution in the target.
    pub label_smoothing: f64,
    /// Targets that count nothing.
    pub ignore_index: Option<i64>,
    /// A weight per class.
    pub weight: Option<Tensor>,
    /// Mean (over weights of what counts), sum, or one loss per target.
    pub reduction: Reduction,
}

impl Tensor {
    #[track_caller]
    fn reduced(self, reduction: Reduction) -> Tensor {
        match reduction {
            Reduction::Mean => self.mean(()),
            Reduction::Sum => self.sum(()),
            Reduction::None => self,
        }
    }

    /// Cross-entropy of logits, mean over all targets. Target: class indices (integers, the logits' shape without the class axis), or
    /// probabilities (floats, the logits' shape). Classes are on axis 1 (the last one of a matrix).
    ///
    /// A class index is in `0..classes`: negative ones are an error when it runs, but for the one that
    /// [`CrossEntropyOptions::ignore_index`] names (PyTorch ignores -100 without being told).
    #[track_caller]
    pub fn cross_entropy(&self, target: &Tensor) -> Tensor {
        if let Some(cast) = crate::autocast::entered("cross_entropy") {
            return cast.of(self).cross_entropy(&cast.of(target));
        }
        self.cross_entropy_with(target, &CrossEntropyOptions::default())
    }

    /// [`Tensor::cross_entropy`] with settings.
    #[track_caller]
    pub fn cross_entropy_with(&self, target: &Tensor, options: &CrossEntropyOptions) -> Tensor {
        if let Some(cast) = crate::autocast::entered("cross_entropy") {
            return cast.of(self).cross_entropy_with(&cast.of(target), options);
        }
        let logits = self.float();
        let axis = options.axis.unwrap_or(if logits.rank() > 1 { 1 } else { 0 });
        let logp = logits.cast(logits.dtype().compute()).log_softmax(axis);
        let loss = Tensor::from_result(entropy("cross_entropy", &logp.expr(), &target.expr(), axis, options));
        loss.cast(logits.dtype())
    }

    /// Negative log likelihood of log probabilities, mean over all targets (class indices). Classes are on axis 1; see
    /// [`Tensor::cross_entropy`] for which indices there are.
    #[track_caller]
    pub fn nll_loss(&self, target: &Tensor) -> Tensor {
        if let Some(cast) = crate::autocast::entered("nll_loss") {
            return cast.of(self).nll_loss(&cast.of(target));
        }
        self.nll_loss_with(target, &CrossEntropyOptions::default())
    }

    /// [`Tensor::nll_loss`] with settings.
    #[track_caller]
    pub fn nll_loss_with(&self, target: &Tensor, options: &CrossEntropyOptions) -> Tensor {
        if let Some(cast) = crate::autocast::entered("nll_loss") {
            return cast.of(self).nll_loss_with(&cast.of(target), options);
        }
        let logp = self.float();
        let axis = options.axis.unwrap_or(if logp.rank() > 1 { 1 } else { 0 });
        Tensor::from_result(entropy("nll_loss", &logp.expr(), &target.expr(), axis, options))
    }

    /// Mean of `(x - target)²`. As in all losses of two tensors, their shapes are equal: PyTorch broadcasts, with a warning, and so makes
    /// `[n, 1]` and `[n]` `n * n` differences.
    #[track_caller]
    pub fn mse_loss(&self, target: &Tensor) -> Tensor {
        if let Some(cast) = crate::autocast::entered("mse_loss") {
            return cast.of(self).mse_loss(&cast.of(target));
        }
        self.mse_loss_with(target, Reduction::Mean)
    }

    /// [`Tensor::mse_loss`] with a reduction.
    #[track_caller]
    pub fn mse_loss_with(&self, target: &Tensor, reduction: Reduction) -> Tensor {
        if let Some(cast) = crate::autocast::entered("mse_loss") {
            return cast.of(self).mse_loss_with(&cast.of(target), reduction);
        }
        match alike("mse_loss", self, target) {
            Some(invalid) => invalid,
            None => (self - target).square().reduced(reduction),
        }
    }

    /// Mean of `|x - target|`.
    #[track_caller]
    pub fn l1_loss(&self, target: &Tensor) -> Tensor {
        if let Some(cast) = crate::autocast::entered("l1_loss") {
            return cast.of(self).l1_loss(&cast.of(target));
        }
        self.l1_loss_with(target, Reduction::Mean)
    }

    /// [`Tensor::l1_loss`] with a reduction.
    #[track_caller]
    pub fn l1_loss_with(&self, target: &Tensor, reduction: Reduction) -> Tensor {
        if let Some(cast) = crate::autocast::entered("l1_loss") {
            return cast.of(self).l1_loss_with(&cast.of(target), reduction);
        }
        match alike("l1_loss", self, target) {
            Some(invalid) => invalid,
            None => (self - target).abs().reduced(reduction),
        }
    }

    /// `d² / 2` where `|d| <= delta`, `delta * (|d| - delta / 2)` beyond; mean over all, in this tensor's float dtype.
    #[track_caller]
    pub fn huber_loss(&self, target: &Tensor, delta: f64) -> Tensor {
        if let Some(cast) = crate::autocast::entered("huber_loss") {
            return cast.of(self).huber_loss(&cast.of(target), delta);
        }
        self.huber_loss_with(target, delta, Reduction::Mean)
    }

    /// [`Tensor::huber_loss`] with a reduction.
    #[track_caller]
    pub fn huber_loss_with(&self, target: &Tensor, delta: f64, reduction: Reduction) -> Tensor {
        if let Some(cast) = crate::autocast::entered("huber_loss") {
            return cast.of(self).huber_loss_with(&cast.of(target), delta, reduction);
        }
        if let Some(invalid) = alike("huber_loss", self, target) {
            return invalid;
        }
        let d = self - target;
        let size = d.abs();
        let is_far = size.gt(K(delta));
        let far = (size - K(0.5 * delta)) * K(delta);
        is_far.where_(far, near(&d, &is_far) * K(0.5)).cast(self.float_dtype()).reduced(reduction)
    }

    /// [`Tensor::huber_loss`] divided by `beta`.
    #[track_caller]
    pub fn smooth_l1_loss(&self, target: &Tensor, beta: f64) -> Tensor {
        if let Some(cast) = crate::autocast::entered("smooth_l1_loss") {
            return cast.of(self).smooth_l1_loss(&cast.of(target), beta);
        }
        self.smooth_l1_loss_with(target, beta, Reduction::Mean)
    }

    /// [`Tensor::smooth_l1_loss`] with a reduction.
    #[track_caller]
    pub fn smooth_l1_loss_with(&self, target: &Tensor, beta: f64, reduction: Reduction) -> Tensor {
        if let Some(cast) = crate::autocast::entered("smooth_l1_loss") {
            return cast.of(self).smooth_l1_loss_with(&cast.of(target), beta, reduction);
        }
        if let Some(invalid) = alike("smooth_l1_loss", self, target) {
            return invalid;
        }
        if beta == 0.0 {
            return self.l1_loss_with(target, reduction);
        }
        let d = self - target;
        let size = d.abs();
        let is_far = size.ge(K(beta));
        let far = size - K(0.5 * beta);
        is_far.where_(far, near(&d, &is_far) * K(0.5 / beta)).reduced(reduction)
    }

    /// Binary cross-entropy of probabilities; logarithms count as at least -100, and `p (1 - p)`, by which the gradient is divided, as at least
    /// 1e-12: so a prediction that is wrong and certain still learns.
    #[track_caller]
    pub fn bce_loss(&self, target: &Tensor) -> Tensor {
        if let Some(cast) = crate::autocast::entered("bce_loss") {
            return cast.of(self).bce_loss(&cast.of(target));
        }
        self.bce_loss_with(target, None, Reduction::Mean)
    }

    /// [`Tensor::bce_loss`] with weights per element and a reduction.
    #[track_caller]
    pub fn bce_loss_with(&self, target: &Tensor, weight: Option<&Tensor>, reduction: Reduction) -> Tensor {
        if let Some(cast) = crate::autocast::entered("bce_loss") {
            return cast.of(self).bce_loss_with(&cast.of(target), cast.maybe(weight).as_ref(), reduction);
        }
        if let Some(invalid) = alike("bce_loss", self, target) {
            return invalid;
        }
        let loss = rules::binary_cross_entropy(&self.float(), target);
        match weight {
            Some(weight) => (loss * weight).reduced(reduction),
            None => loss.reduced(reduction),
        }
    }

    /// Binary cross-entropy of logits: `bce(sigmoid(x))` without overflow.
    #[track_caller]
    pub fn bce_with_logits(&self, target: &Tensor) -> Tensor {
        if let Some(cast) = crate::autocast::entered("bce_with_logits") {
            return cast.of(self).bce_with_logits(&cast.of(target));
        }
        self.bce_with_logits_with(target, None, None, Reduction::Mean)
    }

    /// [`Tensor::bce_with_logits`] with weights per element, the weight of positive targets, and a reduction.
    #[track_caller]
    pub fn bce_with_logits_with(
        &self,
        target: &Tensor,
        weight: Option<&Tensor>,
        pos_weight: Option<&Tensor>,
        reduction: Reduction,
    ) -> Tensor {
        if let Some(cast) = crate::autocast::entered("bce_with_logits") {
            return cast.of(self).bce_with_logits_with(
                &cast.of(target),
                cast.maybe(weight).as_ref(),
                cast.maybe(pos_weight).as_ref(),
                reduction,
            );
        }
        if let Some(invalid) = alike("bce_with_logits", self, target) {
            return invalid;
        }
        let x = self.float();
        let target = target.cast(x.dtype());
        // (1 - t) x + softplus(-x), the second weighted by 1 + (p - 1) t.
        let log_weight = x.neg().softplus();
        let log_weight = match pos_weight {
            Some(p) => ((p - K(1.0)) * &target + K(1.0)) * log_weight,
            None => log_weight,
        };
        let loss = (target.neg() + K(1.0)) * &x + log_weight;
        match weight {
            Some(weight) => (loss * weight).reduced(reduction),
            None => loss.reduced(reduction),
        }
    }

    /// Kullback-Leibler divergence from log probabilities `self` to `target`: `t * (log t - x)`, 0 where `t` is 0, and there the gradient with
    /// respect to `t` is `-x` (PyTorch: NaN).
    ///
    /// With `log_target`, the target is log probabilities too. The mathematical mean is `Reduction::Sum` divided by the batch.
    #[track_caller]
    pub fn kl_div(&self, target: &Tensor, log_target: bool, reduction: Reduction) -> Tensor {
        if let Some(cast) = crate::autocast::entered("kl_div") {
            return cast.of(self).kl_div(&cast.of(target), log_target, reduction);
        }
        if let Some(invalid) = alike("kl_div", self, target) {
            return invalid;
        }
        let loss = if log_target {
            target.exp() * (target - self)
        } else {
            // Below 0 there is no logarithm: NaN says so.
            let some = target.ne(K(0.0));
            let safe = some.where_(target, K(1.0));
            some.where_(target * safe.log(), K(0.0)) - target * self
        };
        loss.reduced(reduction)
    }

    /// Cosine of the angle between two along an axis, after broadcasting; lengths count as at least `eps`.
    #[track_caller]
    pub fn cosine_similarity(&self, other: &Tensor, axis: isize, eps: f64) -> Tensor {
        if let Some(cast) = crate::autocast::entered("cosine_similarity") {
            return cast.of(self).cosine_similarity(&cast.of(other), axis, eps);
        }
        // Integers are floats before they are squared, and half types stay wide until the end.
        let (a, b) = match broadcast("cosine_similarity", &self.expr(), &other.expr()) {
            Ok((a, b)) => (a, b),
            Err(invalid) => return Tensor::from_expr(invalid),
        };
        let dtype = to_float(promote(&a, &b));
        let (a, b) = (Tensor::from_expr(a.cast(dtype.compute())), Tensor::from_expr(b.cast(dtype.compute())));
        let least = K(eps * eps);
        let lengths = a.square().sum(axis).clamp_min(least).sqrt() * b.square().sum(axis).clamp_min(least).sqrt();
        ((&a * &b).sum(axis) / lengths).cast(dtype)
    }
}

/// The square of a difference, not of its absolute value, whose second derivative at 0 is 0; of 0 where it is not asked for, for the
/// gradient of an infinite square would be 0 times infinity.
#[track_caller]
fn near(d: &Tensor, is_far: &Tensor) -> Tensor {
    is_far.where_(K(0.0), d).square()
}

/// The error of a loss whose tensors differ in shape, or of one that is invalid.
#[track_caller]
fn alike(op: &str, x: &Tensor, target: &Tensor) -> Option<Tensor> {
    let (a, b) = (x.expr(), target.expr());
    if let Some(invalid) = [&a, &b].into_iter().find(|expr| expr.error().is_some()) {
        return Some(Tensor::from_expr(invalid.clone()));
    }
    if a.shape() == b.shape() {
        return None;
    }
    let message = format!("{:?} with a target {:?}", a.shape(), b.shape());
    Some(Tensor::fail(ErrorKind::Shape, op, message, "give both one shape; see `reshape` and `expand_as`", &[x, target]))
}

/// Losses from log probabilities: one row kernel, and a gradient without scatter.
#[track_caller]
fn entropy(op: &str, logp: &Expr, target: &Expr, axis: isize, options: &CrossEntropyOptions) -> Result<Expr, Expr> {
    let axis = resolve_axis(logp, op, axis as i64)?;
    if target.error().is_some() {
        return Err(target.clone());
    }
    let classes = logp.shape()[axis];
    let dtype = logp.dtype();
    let weight = match &options.weight {
        Some(weight) => {
            let weight = weight.expr().cast(dtype);
            if weight.error().is_none() && weight.shape().as_slice() != [classes] {
                let message = format!("{:?} weights for {classes} classes", weight.shape());
                return Err(Expr::fail(ErrorKind::Shape, op, message, "give one weight per class", &[&weight, logp]));
            }
            let mut shape: Vec<usize> = vec![1; logp.rank()];
            shape[axis] = classes;
            Some(weight.reshape(&shape).expand_like(logp))
        }
        None => None,
    };
    let smoothing = options.label_smoothing;
    if !(0.0..=1.0).contains(&smoothing) {
        return Err(Expr::fail(ErrorKind::Argument, op, format!("label smoothing of {smoothing}"), "it is in 0..=1", &[logp]));
    }
    let weighted = match &weight {
        Some(weight) => logp.mul(weight),
        None => logp.clone(),
    };
    if target.dtype().is_float() {
        if target.shape() != logp.shape() {
            let message = format!("probabilities {:?} for logits {:?}", target.shape(), logp.shape());
            let help = "give one probability per class and row: the logits' shape";
            return Err(Expr::fail(ErrorKind::Shape, op, message, help, &[logp, target]));
        }
        let mut p = target.cast(dtype);
        if smoothing > 0.0 {
            p = p.binary_const(BinaryOp::Mul, 1.0 - smoothing).binary_const(BinaryOp::Add, smoothing / classes as f64);
        }
        let losses = sum_axis(&weighted.mul(&p), axis).neg();
        return Ok(match options.reduction {
            Reduction::None => losses,
            Reduction::Sum => total(&losses),
            Reduction::Mean => mean(&losses),
        });
    }
    let mut rows = logp.shape().clone();
    rows.remove(axis);
    if target.shape() != &rows || target.dtype() == DType::Bool {
        let message = format!("{} targets {:?} for logits {:?} with classes on axis {axis}", target.dtype(), target.shape(), logp.shape());
        let help = "give one class index per row, or probabilities of the logits' shape";
        return Err(Expr::fail(ErrorKind::Shape, op, message, help, &[logp, target]));
    }
    let target = target.cast(DType::I64);
    let (counts, index) = match options.ignore_index {
        Some(ignored) => {
            let counts = target.ne(&target.literal_like(Literal::int(DType::I64, ignored)));
            (Some(counts.clone()), counts.select(&target, &target.zeros_like()))
        }
        None => (None, target.clone()),
    };
    let index = index.label(classes).insert_axis(axis).expand_like(logp);
    let chosen = logp.iota_like(axis, DType::I64).eq(&index);
    let zero = logp.zeros_like();
    let mut losses = sum_axis(&chosen.select(&weighted, &zero), axis).neg();
    if smoothing > 0.0 {
        let uniform = sum_axis(&weighted, axis).neg().binary_const(BinaryOp::Mul, smoothing / classes as f64);
        losses = losses.binary_const(BinaryOp::Mul, 1.0 - smoothing).add(&uniform);
    }
    if let Some(counts) = &counts {
        losses = counts.select(&losses, &losses.zeros_like());
    }
    Ok(match options.reduction {
        Reduction::None => losses,
        Reduction::Sum => total(&losses),
        Reduction::Mean => match (&weight, &counts) {
            (None, None) => mean(&losses),
            (None, Some(counts)) => total(&losses).div(&total(&counts.cast(dtype))),
            (Some(weight), counts) => {
                let mut weights = sum_axis(&chosen.select(weight, &zero), axis);
                if let Some(counts) = counts {
                    weights = counts.select(&weights, &weights.zeros_like());
                }
                total(&losses).div(&total(&weights))
            }
        },
    })
}

/// The mean of all elements, rank 0.
#[track_caller]
fn mean(x: &Expr) -> Expr {
    let sum = total(x);
    if sum.error().is_some() { sum } else { sum.mul(&sum.count_like(x, every(x), |n| 1.0 / n)) }
}

/// All axes, as a mask.
fn every(x: &Expr) -> u32 {
    (0..x.rank()).fold(0, |mask, axis| mask | 1 << axis)
}

/// The sum of all elements, rank 0.
#[track_caller]
fn total(x: &Expr) -> Expr {
    x.sum(every(x)).reshape(&[])
}
