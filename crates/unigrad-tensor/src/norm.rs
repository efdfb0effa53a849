//! Softmax and the normalizations. How far their results may be off: [`crate::accuracy`].

use crate::{
    Dims, Tensor,
    arithmetic::K,
    axes::{resolve_axis, scalar_as_vector},
    promotion::{promote, to_float},
    selection::first_invalid,
};
use unigrad_graph::{DType, ErrorKind, Expr, Shape};

impl Tensor {
    /// `exp(x) / sum(exp(x))` along an axis. [Off by at most](crate::accuracy) 256 u of itself.
    #[track_caller]
    pub fn softmax(&self, axis: isize) -> Tensor {
        if let Some(cast) = crate::autocast::entered("softmax") {
            return cast.of(self).softmax(axis);
        }
        let x = self.float().expr();
        if let Some(vector) = scalar_as_vector(&x, axis as i64) {
            return Tensor::from_expr(vector.softmax(0).reshape(&[]));
        }
        match resolve_axis(&x, "softmax", axis as i64) {
            Ok(axis) => Tensor::from_expr(x.softmax(axis)),
            Err(invalid) => Tensor::from_expr(invalid),
        }
    }

    /// `log(softmax(x))` along an axis. [Off by at most](crate::accuracy) 256 u of itself, or 256 u where that is more.
    #[track_caller]
    pub fn log_softmax(&self, axis: isize) -> Tensor {
        if let Some(cast) = crate::autocast::entered("log_softmax") {
            return cast.of(self).log_softmax(axis);
        }
        let x = self.float().expr();
        if let Some(vector) = scalar_as_vector(&x, axis as i64) {
            return Tensor::from_expr(vector.log_softmax(0).reshape(&[]));
        }
        match resolve_axis(&x, "log_softmax", axis as i64) {
            Ok(axis) => Tensor::from_expr(x.log_softmax(axis)),
            Err(invalid) => Tensor::from_expr(invalid),
        }
    }

    /// `softmax(-x)` along an axis.
    #[track_caller]
    pub fn softmin(&self, axis: isize) -> Tensor {
        if let Some(cast) = crate::autocast::entered("softmin") {
            return cast.of(self).softmin(axis);
        }
        self.neg().softmax(axis)
    }

    /// `(x - mean) / sqrt(var + eps) * weight + bias` over the last axes, as many as `weight` (or `bias`) has; the last one without both.
    #[track_caller]
    pub fn layer_norm(&self, weight: Option<&Tensor>, bias: Option<&Tensor>, eps: f64) -> Tensor {
        if let Some(cast) = crate::autocast::entered("layer_norm") {
            return cast.of(self).layer_norm(cast.maybe(weight).as_ref(), cast.maybe(bias).as_ref(), eps);
        }
        if let Some(invalid) = wrong_features("layer_norm", self, &[weight, bias]) {
            return invalid;
        }
        let axes = weight.or(bias).map_or(1, |tensor| tensor.rank());
        affine(Tensor::from_expr(self.float().expr().normalize(axes, true, eps)), weight, bias)
    }

    /// [`Tensor::layer_norm`] over the last axes, which have this shape; so have weight and bias, if they are given.
    #[track_caller]
    pub fn layer_norm_over(&self, shape: impl Dims, weight: Option<&Tensor>, bias: Option<&Tensor>, eps: f64) -> Tensor {
        if let Some(cast) = crate::autocast::entered("layer_norm_over") {
            return cast.of(self).layer_norm_over(shape, cast.maybe(weight).as_ref(), cast.maybe(bias).as_ref(), eps);
        }
        let shape = shape.dims();
        let given: Vec<&Tensor> = [Some(self), weight, bias].into_iter().flatten().collect();
        if let Some(invalid) = first_invalid(&given) {
            return invalid;
        }
        let own = self.shape();
        let fits = !shape.is_empty() && own.len() >= shape.len() && own[own.len() - shape.len()..] == shape[..];
        if !fits || given[1..].iter().any(|tensor| tensor.shape() != shape.as_slice()) {
            let shapes: Vec<Vec<usize>> = given[1..].iter().map(|tensor| tensor.shape()).collect();
            let message = format!("{shape:?} of {own:?}, with weight and bias {shapes:?}");
            let help = "name the sizes of the last axes; weight and bias have the same shape";
            return Tensor::fail(ErrorKind::Shape, "layer_norm_over", message, help, &given);
        }
        affine(Tensor::from_expr(self.float().expr().normalize(shape.len(), true, eps)), weight, bias)
    }

    /// `x / sqrt(mean(x²) + eps) * weight` over the last axes, as many as `weight` has; the last one without.
    #[track_caller]
    pub fn rms_norm(&self, weight: Option<&Tensor>, eps: f64) -> Tensor {
        if let Some(cast) = crate::autocast::entered("rms_norm") {
            return cast.of(self).rms_norm(cast.maybe(weight).as_ref(), eps);
        }
        if let Some(invalid) = wrong_features("rms_norm", self, &[weight]) {
            return invalid;
        }
        let axes = weight.map_or(1, |tensor| tensor.rank());
        affine(Tensor::from_expr(self.float().expr().normalize(axes, false, eps)), weight, None)
    }

    /// Layer norm of `[n, c, ..]` within each of `groups` groups of channels; weight and bias are `[c]`.
    #[track_caller]
    pub fn group_norm(&self, groups: usize, weight: Option<&Tensor>, bias: Option<&Tensor>, eps: f64) -> Tensor {
        if let Some(cast) = crate::autocast::entered("group_norm") {
            return cast.of(self).group_norm(groups, cast.maybe(weight).as_ref(), cast.maybe(bias).as_ref(), eps);
        }
        self.norm_of_groups("group_norm", groups, weight, bias, eps)
    }

    /// Layer norm of `[n, c, ..]` within each channel; weight and bias are `[c]`. With running statistics, as when a model runs, it is
    /// [`Tensor::batch_norm`]; [`Tensor::instance_norm_train`] gives what they are updated with.
    #[track_caller]
    pub fn instance_norm(&self, weight: Option<&Tensor>, bias: Option<&Tensor>, eps: f64) -> Tensor {
        if let Some(cast) = crate::autocast::entered("instance_norm") {
            return cast.of(self).instance_norm(cast.maybe(weight).as_ref(), cast.maybe(bias).as_ref(), eps);
        }
        self.norm_of_groups("instance_norm", self.size(1).max(1), weight, bias, eps)
    }

    /// [`Tensor::instance_norm`], with the means and the biased variances of each channel, averaged over the batch and cut off from gradients:
    /// `[c]` each, what running statistics are updated with (PyTorch stores the unbiased variance: times `n / (n - 1)` for `n` spatial elements).
    /// Those of half types are `f32`.
    #[track_caller]
    pub fn instance_norm_train(&self, weight: Option<&Tensor>, bias: Option<&Tensor>, eps: f64) -> (Tensor, Tensor, Tensor) {
        if let Some(cast) = crate::autocast::entered("instance_norm_train") {
            return cast.of(self).instance_norm_train(cast.maybe(weight).as_ref(), cast.maybe(bias).as_ref(), eps);
        }
        let y = self.instance_norm(weight, bias, eps);
        if y.is_invalid() {
            return (y.clone(), y.clone(), y);
        }
        let x = self.float();
        let wide = x.cast(x.dtype().compute()).detach();
        let mut apart = wide.shape();
        apart.truncate(2);
        apart.push(wide.shape()[2..].iter().product());
        let rows = wide.reshape_to(&apart);
        (y, rows.mean([0, 2]), rows.var(2, 0).mean(0))
    }

    /// `x / (k + alpha * mean(x²))^beta` of `[n, c, ..]`, the mean over a window of `size` channels around each, of which those outside count
    /// as 0 (Krizhevsky et al., 2012).
    #[track_caller]
    pub fn local_response_norm(&self, size: usize, alpha: f64, beta: f64, k: f64) -> Tensor {
        if let Some(cast) = crate::autocast::entered("local_response_norm") {
            return cast.of(self).local_response_norm(size, alpha, beta, k);
        }
        if let Some(invalid) = wrong_channels("local_response_norm", self, &[]) {
            return invalid;
        }
        let x = self.float();
        let shape = x.shape();
        if size == 0 || shape.len() < 3 {
            let message = format!("a window of {size} channels of {shape:?}");
            let help = "the input is [n, c, ..] with a spatial axis, and a window has at least one channel";
            return Tensor::fail(ErrorKind::Shape, "local_response_norm", message, help, &[self]);
        }
        let wide = x.cast(x.dtype().compute());
        let mut pads = vec![(0, 0); shape.len()];
        // Beyond all channels there is nothing to add.
        pads[1] = ((size / 2).min(shape[1]), ((size - 1) / 2).min(shape[1]));
        let mean = wide.square().pad(&pads).unfold(1, pads[1].0 + pads[1].1 + 1, 1).sum(-1_isize) * K(1.0 / size as f64);
        (&wide / (mean * alpha + k).pow(beta)).cast(x.dtype())
    }

    /// The `p`-norm of `self - other + eps` over the last axis; the two broadcast. Where it is 0, its gradient is 0.
    #[track_caller]
    pub fn pairwise_distance(&self, other: &Tensor, p: f64, eps: f64) -> Tensor {
        if let Some(cast) = crate::autocast::entered("pairwise_distance") {
            return cast.of(self).pairwise_distance(&cast.of(other), p, eps);
        }
        // Integers are floats before they are subtracted, and beside halves they are halves.
        let dtype = to_float(promote(&self.expr(), &other.expr()));
        let wide = |x: &Tensor| x.cast(dtype.compute());
        (wide(self) - wide(other) + eps).norm(p, -1_isize).cast(dtype)
    }

    #[track_caller]
    fn norm_of_groups(&self, op: &str, groups: usize, weight: Option<&Tensor>, bias: Option<&Tensor>, eps: f64) -> Tensor {
        if let Some(invalid) = wrong_channels(op, self, &[weight, bias]) {
            return invalid;
        }
        let x = self.float().expr();
        if x.error().is_some() {
            return Tensor::from_expr(x);
        }
        // More groups than channels would each have statistics of nothing.
        if groups == 0 || groups > x.shape()[1].max(1) || !x.shape()[1].is_multiple_of(groups) {
            let message = format!("{groups} groups of the channels of {:?}", x.shape());
            return Tensor::fail(ErrorKind::Shape, op, message, "the number of channels is a multiple of the groups", &[self]);
        }
        let inner: usize = x.shape()[1..].iter().product::<usize>() / groups;
        let wide = x.cast(x.dtype().compute());
        let y = wide.reshape(&[x.shape()[0], groups, inner]).normalize(1, true, eps).reshape_like(&wide);
        per_channel_of(&Tensor::from_expr(y), x.dtype(), weight, bias)
    }

    /// `[n, c, ..]` normalized per channel with given statistics `[c]`: batch norm when a model runs. Half types are computed in `f32`, with
    /// statistics in whatever dtype they have; with weights of `f32` they stay halves, as in PyTorch.
    #[track_caller]
    pub fn batch_norm(&self, mean: &Tensor, var: &Tensor, weight: Option<&Tensor>, bias: Option<&Tensor>, eps: f64) -> Tensor {
        let _within = crate::autocast::within();
        if let Some(invalid) = wrong_channels("batch_norm", self, &[Some(mean), Some(var), weight, bias]) {
            return invalid;
        }
        let x = self.float();
        let wide = x.cast(x.dtype().compute());
        let scale = (channel(&var.float(), &x).cast(wide.dtype()) + K(eps)).rsqrt();
        let y = (&wide - channel(mean, &x).cast(wide.dtype())) * scale;
        per_channel_of(&y, x.dtype(), weight, bias)
    }

    /// `[n, c, ..]` normalized per channel with the batch's own statistics: batch norm when a model learns.
    ///
    /// Also returns the mean and the biased variance, `[c]` each, cut off from gradients: what running statistics are updated with
    /// (PyTorch stores the unbiased variance: times `n / (n - 1)`). Those of half types are `f32`, which holds what they do not. Of a batch without
    /// elements they are NaN, and nothing should be updated with them. Halves with weights of `f32`, as under [`crate::autocast()`], stay halves.
    #[track_caller]
    pub fn batch_norm_train(&self, weight: Option<&Tensor>, bias: Option<&Tensor>, eps: f64) -> (Tensor, Tensor, Tensor) {
        let _within = crate::autocast::within();
        if let Some(invalid) = wrong_channels("batch_norm", self, &[weight, bias]) {
            return (invalid.clone(), invalid.clone(), invalid);
        }
        let x = self.float();
        let wide = x.cast(x.dtype().compute());
        let axes = (0..x.rank()).filter(|axis| *axis != 1).fold(0, |mask, axis| mask | 1 << axis);
        let [y, mean, var] = wide.expr().standardize(axes, eps).map(Tensor::from_expr);
        (per_channel_of(&y, x.dtype(), weight, bias), mean.detach().flatten_all(), var.detach().flatten_all())
    }

    /// Divided by the `p`-norm along an axis, which counts as at least `eps`.
    #[track_caller]
    pub fn normalize(&self, p: f64, axis: isize, eps: f64) -> Tensor {
        if let Some(cast) = crate::autocast::entered("normalize") {
            return cast.of(self).normalize(p, axis, eps);
        }
        let x = self.float();
        let wide = x.cast(x.dtype().compute());
        (&wide / wide.norm_keepdim(p, axis).clamp_min(eps)).cast(x.dtype())
    }
}

/// The error of a weight or bias that is not of the shape of what is normalized: the last axes of `x`.
#[track_caller]
fn wrong_features(op: &str, x: &Tensor, given: &[Option<&Tensor>]) -> Option<Tensor> {
    let shape = x.shape();
    let wanted = given.iter().flatten().next()?.rank();
    for tensor in given.iter().flatten() {
        let own = tensor.shape();
        if x.is_invalid() || tensor.is_invalid() || wanted > shape.len() || own == shape[shape.len() - wanted..] {
            continue;
        }
        let message = format!("a weight or bias {own:?} for {shape:?}");
        return Some(Tensor::fail(ErrorKind::Shape, op, message, "both have the shape of the axes that are normalized", &[x, tensor]));
    }
    None
}

/// The error of an input without channels, or of something per channel that is not `[c]`.
#[track_caller]
fn wrong_channels(op: &str, x: &Tensor, given: &[Option<&Tensor>]) -> Option<Tensor> {
    let shape = x.shape();
    if let Some(invalid) = std::iter::once(x).chain(given.iter().copied().flatten()).find(|tensor| tensor.is_invalid()) {
        return Some(invalid.clone());
    }
    if shape.len() < 2 {
        let message = format!("{shape:?} has no axis of channels");
        return Some(Tensor::fail(ErrorKind::Shape, op, message, "the input is [n, c, ..]; see `unsqueeze`", &[x]));
    }
    for tensor in given.iter().flatten() {
        let own = tensor.shape();
        if own != [shape[1]] {
            let message = format!("{own:?} for the {} channels of {shape:?}", shape[1]);
            return Some(Tensor::fail(
                ErrorKind::Shape,
                op,
                message,
                "statistics, weight and bias have one element per channel: [c]",
                &[x, tensor],
            ));
        }
    }
    None
}

#[track_caller]
fn affine(y: Tensor, weight: Option<&Tensor>, bias: Option<&Tensor>) -> Tensor {
    let y = match weight {
        Some(weight) => y * weight,
        None => y,
    };
    match bias {
        Some(bias) => y + bias,
        None => y,
    }
}

/// `[c]` as `[1, c, 1, ..]`, to go with `x`.
#[track_caller]
fn channel(values: &Tensor, x: &Tensor) -> Tensor {
    let (values, x) = (values.expr(), x.expr());
    if values.error().is_some() {
        return Tensor::from_expr(values);
    }
    let mut shape: Shape = Shape::from_elem(1, x.rank().max(2));
    shape[1] = values.numel();
    Tensor::from_expr(values.reshape(&shape))
}

#[track_caller]
fn per_channel(y: Tensor, weight: Option<&Tensor>, bias: Option<&Tensor>) -> Tensor {
    let spread = |values: &Tensor| channel(values, &y);
    let (weight, bias) = (weight.map(spread), bias.map(spread));
    affine(y, weight.as_ref(), bias.as_ref())
}

/// As [`per_channel`], of a result that is still wider than the `dtype` it is for: it is rounded once, at the end. Weights of the dtype that halves
/// are computed in leave halves what they are.
#[track_caller]
fn per_channel_of(y: &Tensor, dtype: DType, weight: Option<&Tensor>, bias: Option<&Tensor>) -> Tensor {
    let given = [weight, bias].into_iter().flatten().map(Tensor::dtype).filter(|given| *given != dtype.compute());
    let dtype = given.fold(dtype, DType::promote);
    per_channel(y.clone(), weight, bias).cast(dtype)
}

/// The sum over an axis that keeps it: what the losses use.
#[track_caller]
pub(crate) fn sum_axis(x: &Expr, axis: usize) -> Expr {
    crate::dims::without_axis(&x.sum(1 << axis), axis)
}
