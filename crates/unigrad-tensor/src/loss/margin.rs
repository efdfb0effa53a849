//! Losses with margins: of pairs, triplets, and of classes against each other.
//!
//! Always: as PyTorch's of the same name; half types are computed in `f32`. A label is ±1 where the text says so, and a class index is checked when it
//! runs.

use super::{Reduction, alike};
use crate::{Tensor, arithmetic::K, promotion::to_float, selection::first_invalid};
use unigrad_graph::{DType, ErrorKind};

/// Settings of [`Tensor::triplet_margin_loss`]; the defaults are PyTorch's.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TripletOptions {
    /// By how much more than the positive the negative should be away.
    pub margin: f64,
    /// Which norm measures distances.
    pub p: f64,
    /// Added to differences, so that a distance of 0 has a gradient.
    pub eps: f64,
    /// Whether the distance from positive to negative counts instead where it is less (Balntas et al., 2016).
    pub swap: bool,
    /// What becomes of the losses.
    pub reduction: Reduction,
}

impl Default for TripletOptions {
    fn default() -> TripletOptions {
        TripletOptions { margin: 1.0, p: 2.0, eps: 1e-6, swap: false, reduction: Reduction::Mean }
    }
}

/// All in the dtype that losses are computed in, and the one that they have then.
#[track_caller]
pub(super) fn wide<const N: usize>(tensors: [&Tensor; N]) -> ([Tensor; N], DType) {
    // Integers count as such: of labels beside halves the loss is a half.
    let dtype = to_float(tensors.iter().skip(1).fold(tensors[0].dtype(), |dtype, tensor| dtype.promote(tensor.dtype())));
    (tensors.map(|tensor| tensor.cast(dtype.compute())), dtype)
}

impl Tensor {
    /// `max(0, margin - y (x - other))` with labels `y` of ±1: `self` should be ranked above `other` where `y` is 1, below where it is -1. They have
    /// as many axes each, and broadcast.
    ///
    /// ```
    /// # unigrad_device::register(unigrad_cpu::CpuDriver::default());
    /// use unigrad_tensor::{Device, Reduction, Tensor};
    ///
    /// let device = Device::open("cpu")?;
    /// let (a, b) = (Tensor::new([1.0f32, 2.0], &device), Tensor::new([0.0f32, 3.0], &device));
    /// let loss = a.margin_ranking_loss(&b, &Tensor::new([1.0f32, 1.0], &device), 0.5, Reduction::None);
    /// assert_eq!(loss.to_vec::<f32>()?, [0.0, 1.5]);
    /// # Ok::<(), unigrad_tensor::Error>(())
    /// ```
    #[track_caller]
    pub fn margin_ranking_loss(&self, other: &Tensor, target: &Tensor, margin: f64, reduction: Reduction) -> Tensor {
        if let Some(cast) = crate::autocast::entered("margin_ranking_loss") {
            return cast.of(self).margin_ranking_loss(&cast.of(other), &cast.of(target), margin, reduction);
        }
        if let Some(invalid) = first_invalid(&[self, other, target]) {
            return invalid;
        }
        if other.rank() != self.rank() || target.rank() != self.rank() {
            let message = format!("{:?} and {:?} with labels {:?}", self.shape(), other.shape(), target.shape());
            let help = "give all as many axes; see `unsqueeze`";
            return Tensor::fail(ErrorKind::Shape, "margin_ranking_loss", message, help, &[self, other, target]);
        }
        let ([a, b, y], dtype) = wide([self, other, target]);
        ((y.neg() * (a - b)) + K(margin)).clamp_min(K(0.0)).reduced(reduction).cast(dtype)
    }

    /// `x` where the label is 1, `max(0, margin - x)` where it is -1; both for other labels: `x` is a distance.
    /// Distances and labels broadcast.
    #[track_caller]
    pub fn hinge_embedding_loss(&self, target: &Tensor, margin: f64, reduction: Reduction) -> Tensor {
        if let Some(cast) = crate::autocast::entered("hinge_embedding_loss") {
            return cast.of(self).hinge_embedding_loss(&cast.of(target), margin, reduction);
        }
        let ([x], dtype) = wide([self]);
        let far = (x.neg() + K(margin)).clamp_min(K(0.0));
        let loss = target.ne(K(1.0)).where_(far, K(0.0)) + target.ne(K(-1.0)).where_(x, K(0.0));
        loss.reduced(reduction).cast(dtype)
    }

    /// `1 - cos(x, other)` where the label is 1, `max(0, cos(x, other) - margin)` where it is -1. `[n, d]` and `[n]` labels, or `[d]` and one.
    #[track_caller]
    pub fn cosine_embedding_loss(&self, other: &Tensor, target: &Tensor, margin: f64, reduction: Reduction) -> Tensor {
        if let Some(cast) = crate::autocast::entered("cosine_embedding_loss") {
            return cast.of(self).cosine_embedding_loss(&cast.of(other), &cast.of(target), margin, reduction);
        }
        if let Some(invalid) = alike("cosine_embedding_loss", self, other) {
            return invalid;
        }
        if !(1..=2).contains(&self.rank()) || target.shape()[..] != self.shape()[..self.rank() - 1] {
            let message = format!("{:?} with labels {:?}", self.shape(), target.shape());
            return Tensor::fail(
                ErrorKind::Shape,
                "cosine_embedding_loss",
                message,
                "give [n, d] and [n] labels, or [d] and one",
                &[self, target],
            );
        }
        let ([a, b], dtype) = wide([self, other]);
        let lengths = ((a.square().sum(-1) + K(1e-12)) * (b.square().sum(-1) + K(1e-12))).sqrt();
        let cos = (a * b).sum(-1) / lengths;
        let near = target.eq(K(1.0)).where_(cos.neg() + K(1.0), K(0.0));
        let far = target.eq(K(-1.0)).where_((cos - K(margin)).clamp_min(K(0.0)), K(0.0));
        (near + far).reduced(reduction).cast(dtype)
    }

    /// `log(1 + e^(-y x))` with labels `y` of ±1, without overflow.
    #[track_caller]
    pub fn soft_margin_loss(&self, target: &Tensor, reduction: Reduction) -> Tensor {
        if let Some(cast) = crate::autocast::entered("soft_margin_loss") {
            return cast.of(self).soft_margin_loss(&cast.of(target), reduction);
        }
        if let Some(invalid) = alike("soft_margin_loss", self, target) {
            return invalid;
        }
        let ([x, y], dtype) = wide([self, target]);
        (x * y).neg().softplus().reduced(reduction).cast(dtype)
    }

    /// `max(0, margin - d(x, positive) - d(x, negative))` over the last axis: the anchor `self` should be nearer to the positive than to the negative
    /// by the margin.
    ///
    /// ```
    /// # unigrad_device::register(unigrad_cpu::CpuDriver::default());
    /// use unigrad_tensor::{Device, Tensor, TripletOptions};
    ///
    /// let device = Device::open("cpu")?;
    /// let [anchor, positive, negative] = [[0.0f32, 0.0], [3.0, 4.0], [0.0, 4.5]].map(|point| Tensor::new([point], &device));
    /// let loss = anchor.triplet_margin_loss(&positive, &negative, &TripletOptions::default()).item::<f32>()?;
    /// assert!((loss - 1.5).abs() < 1e-5);
    /// # Ok::<(), unigrad_tensor::Error>(())
    /// ```
    #[track_caller]
    pub fn triplet_margin_loss(&self, positive: &Tensor, negative: &Tensor, options: &TripletOptions) -> Tensor {
        if let Some(cast) = crate::autocast::entered("triplet_margin_loss") {
            return cast.of(self).triplet_margin_loss(&cast.of(positive), &cast.of(negative), options);
        }
        let distance = |a: &Tensor, b: &Tensor| a.pairwise_distance(b, options.p, options.eps);
        self.triplet_margin_loss_by(positive, negative, distance, options)
    }

    /// [`Tensor::triplet_margin_loss`] by a distance of your own; [`TripletOptions::p`] and [`TripletOptions::eps`] count nothing then.
    #[track_caller]
    pub fn triplet_margin_loss_by(
        &self,
        positive: &Tensor,
        negative: &Tensor,
        distance: impl Fn(&Tensor, &Tensor) -> Tensor,
        options: &TripletOptions,
    ) -> Tensor {
        if let Some(cast) = crate::autocast::entered("triplet_margin_loss") {
            return cast.of(self).triplet_margin_loss_by(&cast.of(positive), &cast.of(negative), distance, options);
        }
        for other in [positive, negative] {
            if let Some(invalid) = alike("triplet_margin_loss", self, other) {
                return invalid;
            }
        }
        let ([anchor, positive, negative], dtype) = wide([self, positive, negative]);
        let near = distance(&anchor, &positive);
        let far = distance(&anchor, &negative);
        let far = if options.swap { far.minimum(distance(&positive, &negative)) } else { far };
        (near - far + K(options.margin)).clamp_min(K(0.0)).reduced(options.reduction).cast(dtype)
    }

    /// How far other classes come within `margin` of the right one, to the power `p` (1 or 2), over the number of classes: `[n, classes]` and `[n]`
    /// class indices, or `[classes]` and one. A weight per class multiplies what its examples lose.
    #[track_caller]
    pub fn multi_margin_loss(&self, target: &Tensor, p: i32, margin: f64, weight: Option<&Tensor>, reduction: Reduction) -> Tensor {
        if let Some(cast) = crate::autocast::entered("multi_margin_loss") {
            return cast.of(self).multi_margin_loss(&cast.of(target), p, margin, cast.maybe(weight).as_ref(), reduction);
        }
        const OP: &str = "multi_margin_loss";
        // One row and a list of one class is a batch of one.
        if self.rank() == 1 && target.shape() == [1] {
            return self.unsqueeze(0).multi_margin_loss(target, p, margin, weight, reduction);
        }
        if let Some(invalid) = rows("multi_margin_loss", self, target, false) {
            return invalid;
        }
        if p != 1 && p != 2 {
            return Tensor::fail(ErrorKind::Argument, OP, format!("a power of {p}"), "give 1 or 2", &[self, target]);
        }
        if self.rank() == 0 {
            return self.reshape([1]).multi_margin_loss(target, p, margin, weight, reduction);
        }
        let classes = self.shape()[self.rank() - 1];
        if let Some(weight) = weight
            && weight.shape()[..] != [classes]
        {
            let message = format!("{:?} weights for {classes} classes", weight.shape());
            return Tensor::fail(ErrorKind::Shape, OP, message, "give one weight per class", &[self, weight]);
        }
        let ([x], dtype) = wide([self]);
        let at = target.cast(DType::I64).unsqueeze(-1);
        let right = x.gather(-1, &at);
        let is_right = Tensor::from_expr(x.expr().iota_like(x.rank() - 1, DType::I64)).eq(&at);
        let over = (&x - right + K(margin)).clamp_min(K(0.0));
        let over = if p == 2 { over.square() } else { over };
        let over = match weight {
            Some(weight) => {
                let weight = weight.cast(dtype.compute()).index_select(0, &at.flatten(0, -1));
                over * if x.rank() == 2 { weight.unsqueeze(-1) } else { weight }
            }
            None => over,
        };
        let loss = is_right.where_(K(0.0), over).sum(-1) / classes as f64;
        loss.reduced(reduction).cast(dtype)
    }

    /// How far classes that are no targets come within 1 of those that are, over the number of classes: `[n, classes]`, and class indices of the same
    /// shape, of which those before the first -1 count; or one row of both.
    #[track_caller]
    pub fn multilabel_margin_loss(&self, target: &Tensor, reduction: Reduction) -> Tensor {
        if let Some(cast) = crate::autocast::entered("multilabel_margin_loss") {
            return cast.of(self).multilabel_margin_loss(&cast.of(target), reduction);
        }
        if let Some(invalid) = rows("multilabel_margin_loss", self, target, true) {
            return invalid;
        }
        if self.rank() == 0 {
            return self.reshape([1]).multilabel_margin_loss(&target.reshape([1]), reduction);
        }
        let classes = self.shape()[self.rank() - 1];
        let ([x], dtype) = wide([self]);
        let target = target.cast(DType::I64);
        let counts = target.ge(0).cast(DType::I32).cummin(-1).cast(DType::Bool);
        let at = counts.where_(&target, 0);
        let right = x.gather(-1, &at).unsqueeze(-1);
        // [.., target, class].
        let wide_at = counts.where_(&target, -1).unsqueeze(-1);
        let x = x.unsqueeze(-2).expand_as(&(right.zeros_like() + x.unsqueeze(-2)));
        let class = Tensor::from_expr(x.expr().iota_like(x.rank() - 1, DType::I64));
        let is_target = class.eq(&wide_at).any_keepdim(-2);
        let over = (&x - right + K(1.0)).clamp_min(K(0.0));
        let loss = counts.unsqueeze(-1).logical_and(is_target.logical_not()).where_(over, K(0.0));
        (loss.sum([-2, -1]) / classes as f64).reduced(reduction).cast(dtype)
    }

    /// Binary cross-entropy of logits with 0 or 1 for each class, mean over the classes (the last axis). A weight per class multiplies.
    #[track_caller]
    pub fn multilabel_soft_margin_loss(&self, target: &Tensor, weight: Option<&Tensor>, reduction: Reduction) -> Tensor {
        if let Some(cast) = crate::autocast::entered("multilabel_soft_margin_loss") {
            return cast.of(self).multilabel_soft_margin_loss(&cast.of(target), cast.maybe(weight).as_ref(), reduction);
        }
        if let Some(invalid) = alike("multilabel_soft_margin_loss", self, target) {
            return invalid;
        }
        if self.rank() == 0 {
            let message = "no axis of classes";
            return Tensor::fail(ErrorKind::Shape, "multilabel_soft_margin_loss", message, "give [.., classes]", &[self, target]);
        }
        let ([x, y], dtype) = wide([self, target]);
        let loss = (&y * x.log_sigmoid() + (y.neg() + K(1.0)) * x.neg().log_sigmoid()).neg();
        let loss = match weight {
            Some(weight) => loss * weight.cast(dtype.compute()),
            None => loss,
        };
        loss.mean(-1).reduced(reduction).cast(dtype)
    }
}

/// The error of a loss over rows of classes that gets something else: targets are one index a row, or (`full`) as many as there are classes.
#[track_caller]
fn rows(op: &str, x: &Tensor, target: &Tensor, full: bool) -> Option<Tensor> {
    if x.is_invalid() {
        return Some(x.clone());
    }
    if target.is_invalid() {
        return Some(target.clone());
    }
    let wanted = if full { x.rank() } else { x.rank().saturating_sub(1) };
    // One number is one class.
    let fits = x.rank() <= 2 && target.shape()[..] == x.shape()[..wanted];
    if fits && !target.dtype().is_float() && target.dtype() != DType::Bool {
        return None;
    }
    let message = format!("{:?} with {} targets {:?}", x.shape(), target.dtype(), target.shape());
    let help = if full { "give [n, classes] and as many class indices" } else { "give [n, classes] and [n] class indices" };
    Some(Tensor::fail(ErrorKind::Shape, op, message, help, &[x, target]))
}
