//! Convolutions and their transposes: x `[n, c, spatial..]` (or `[c, spatial..]` without a batch), w `[out, c / groups, kernel..]` (transposed: `[c, out / groups, kernel..]`).

use crate::Tensor;
use smallvec::SmallVec;
use std::sync::Arc;
use unigrad_graph::{ConvSpec, DType, ErrorKind, Expr, Shape, is_countable};

/// Settings of a convolution, one entry per spatial dimension; an empty list means the default.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConvOptions {
    /// Steps between windows; default 1.
    pub stride: Vec<usize>,
    /// Zeros before and after; default 0.
    pub padding: Vec<(usize, usize)>,
    /// Distance of a kernel's elements; default 1.
    pub dilation: Vec<usize>,
    /// Groups of channels that do not see each other.
    pub groups: usize,
    /// Sizes added at the end of a transposed convolution's result; default 0.
    pub output_padding: Vec<usize>,
}

impl Default for ConvOptions {
    fn default() -> ConvOptions {
        ConvOptions { stride: Vec::new(), padding: Vec::new(), dilation: Vec::new(), groups: 1, output_padding: Vec::new() }
    }
}

impl ConvOptions {
    /// One stride and one padding for all dimensions.
    pub fn new(stride: usize, padding: usize) -> ConvOptions {
        ConvOptions { stride: vec![stride], padding: vec![(padding, padding)], ..ConvOptions::default() }
    }

    /// With groups.
    pub fn groups(mut self, groups: usize) -> ConvOptions {
        self.groups = groups;
        self
    }

    /// With one dilation for all dimensions.
    pub fn dilation(mut self, dilation: usize) -> ConvOptions {
        self.dilation = vec![dilation];
        self
    }

    /// The graph's settings for `n` dimensions; a list of one entry goes for all.
    fn spec(&self, n: usize) -> Option<ConvSpec> {
        Some(ConvSpec {
            stride: spread(&self.stride, n, 1)?,
            padding: spread(&self.padding, n, (0, 0))?,
            dilation: spread(&self.dilation, n, 1)?,
            groups: self.groups,
        })
    }
}

/// A list for `n` dimensions: all, one for all, or the default.
pub(crate) fn spread<T: Copy>(list: &[T], n: usize, default: T) -> Option<SmallVec<[T; 3]>>
where
    [T; 3]: smallvec::Array<Item = T>,
{
    match list.len() {
        0 => Some(SmallVec::from_elem(default, n)),
        1 => Some(SmallVec::from_elem(list[0], n)),
        len if len == n => Some(list.iter().copied().collect()),
        _ => None,
    }
}

#[track_caller]
fn with_bias(op: &str, y: Tensor, bias: Option<&Tensor>) -> Tensor {
    let Some(bias) = bias else { return y };
    let (y_expr, b) = (y.expr(), bias.expr());
    if y_expr.error().is_some() || b.error().is_some() {
        return if y_expr.error().is_some() { y } else { bias.clone() };
    }
    if b.shape().as_slice() != [y_expr.shape()[1]] {
        let message = format!("a bias {:?} for {} channels", b.shape(), y_expr.shape()[1]);
        return Tensor::fail(ErrorKind::Shape, op, message, "the bias has one element per channel of the result: [out]", &[&y, bias]);
    }
    let mut shape: Shape = Shape::from_elem(1, y_expr.rank());
    shape[1] = b.numel();
    y + Tensor::from_expr(b.reshape(&shape))
}

#[track_caller]
fn settings(op: &str, x: &Tensor, w: &Tensor, n: usize, options: &ConvOptions) -> Result<(Expr, Expr, ConvSpec), Tensor> {
    let (a, b) = (x.expr(), w.expr());
    for (expr, tensor) in [(&a, x), (&b, w)] {
        if expr.error().is_some() {
            return Err(tensor.clone());
        }
    }
    // Ranks first: the number of axes may be any.
    let fits = n.checked_add(2).is_some_and(|rank| a.rank() == rank && b.rank() == rank) && options.groups > 0;
    let spec = if fits { options.spec(n) } else { None };
    let spec = spec.filter(|spec| !spec.stride.contains(&0) && !spec.dilation.contains(&0));
    let Some(spec) = spec else {
        let message = format!("{:?} with weight {:?} and {options:?}", a.shape(), b.shape());
        let help = format!(
            "wants a batch of channels of {n} spatial axes, and one setting per axis (or one for all); strides, dilations and groups are at least 1"
        );
        return Err(Tensor::fail(ErrorKind::Shape, op, message, &help, &[x, w]));
    };
    let common = a.dtype().promote(b.dtype());
    let dtype = if common == DType::Bool { DType::F32 } else { common };
    let (a, b) = (a.cast(dtype), b.cast(dtype));
    // A wider dtype may be more than any memory has.
    for expr in [&a, &b] {
        if expr.error().is_some() {
            return Err(Tensor::from_expr(expr.clone()));
        }
    }
    Ok((a, b, spec))
}

impl Tensor {
    /// Convolution over `n` spatial dimensions: x `[n, c, spatial..]`, w `[out, c / groups, kernel..]`, bias `[out]`. Integers stay
    /// integers, and sums beyond their range wrap; bools compute in `f32`.
    #[track_caller]
    pub fn conv(&self, w: &Tensor, bias: Option<&Tensor>, n: usize, options: &ConvOptions) -> Tensor {
        if let Some(cast) = crate::autocast::entered("conv2d") {
            return cast.of(self).conv(&cast.of(w), cast.maybe(bias).as_ref(), n, options);
        }
        if let Some(x) = self.as_batch(n) {
            return x.conv(w, bias, n, options).squeeze(0);
        }
        match settings("conv", self, w, n, options) {
            Ok((x, w, spec)) => with_bias("conv", Tensor::from_expr(x.conv(&w, Arc::new(spec))), bias),
            Err(invalid) => invalid,
        }
    }

    /// Convolution: x `[n, c, l]`, w `[o, c / groups, k]`.
    #[track_caller]
    pub fn conv1d(&self, w: &Tensor, bias: Option<&Tensor>, options: &ConvOptions) -> Tensor {
        if let Some(cast) = crate::autocast::entered("conv1d") {
            return cast.of(self).conv1d(&cast.of(w), cast.maybe(bias).as_ref(), options);
        }
        self.conv(w, bias, 1, options)
    }

    /// Convolution: x `[n, c, h, w]`, w `[o, c / groups, kh, kw]`.
    #[track_caller]
    pub fn conv2d(&self, w: &Tensor, bias: Option<&Tensor>, options: &ConvOptions) -> Tensor {
        if let Some(cast) = crate::autocast::entered("conv2d") {
            return cast.of(self).conv2d(&cast.of(w), cast.maybe(bias).as_ref(), options);
        }
        self.conv(w, bias, 2, options)
    }

    /// Convolution: x `[n, c, d, h, w]`, w `[o, c / groups, kd, kh, kw]`.
    #[track_caller]
    pub fn conv3d(&self, w: &Tensor, bias: Option<&Tensor>, options: &ConvOptions) -> Tensor {
        if let Some(cast) = crate::autocast::entered("conv3d") {
            return cast.of(self).conv3d(&cast.of(w), cast.maybe(bias).as_ref(), options);
        }
        self.conv(w, bias, 3, options)
    }

    /// Transposed convolution over `n` spatial dimensions: the data gradient of [`Tensor::conv`]. w is `[c, o / groups, kernel..]`.
    #[track_caller]
    pub fn conv_transpose(&self, w: &Tensor, bias: Option<&Tensor>, n: usize, options: &ConvOptions) -> Tensor {
        if let Some(cast) = crate::autocast::entered("conv_transpose2d") {
            return cast.of(self).conv_transpose(&cast.of(w), cast.maybe(bias).as_ref(), n, options);
        }
        if let Some(x) = self.as_batch(n) {
            return x.conv_transpose(w, bias, n, options).squeeze(0);
        }
        let (x, wx, mut spec) = match settings("conv_transpose", self, w, n, options) {
            Ok(all) => all,
            Err(invalid) => return invalid,
        };
        let extra = spread(&options.output_padding, n, 0);
        let Some(extra) = extra else {
            let message = format!("{} entries of output_padding for {n} spatial axes", options.output_padding.len());
            return Tensor::fail(
                ErrorKind::Shape,
                "conv_transpose",
                message,
                "give one entry per spatial axis, or one for all",
                &[self, w],
            );
        };
        let (xs, ws) = (x.shape().clone(), wx.shape().clone());
        let mut shape = Shape::from_slice(&[xs[0], ws[1].saturating_mul(spec.groups)]);
        let mut uncut = shape.clone();
        for d in 0..n {
            let span = spec.dilation[d].saturating_mul(ws[d + 2].saturating_sub(1)).saturating_add(1);
            let whole = xs[d + 2].saturating_sub(1).saturating_mul(spec.stride[d]).saturating_add(span).saturating_add(extra[d]);
            let cut = spec.padding[d].0.saturating_add(spec.padding[d].1);
            if xs[d + 2] == 0
                || ws[d + 2] == 0
                || whole <= cut
                || (extra[d] >= spec.stride[d] && extra[d] >= spec.dilation[d] && extra[d] > 0)
            {
                let message = format!("{xs:?} with weight {ws:?}, {spec:?} and output padding {extra:?}: nothing is left along axis {d}");
                let help = "padding cuts the result; output padding is below stride or dilation";
                return Tensor::fail(ErrorKind::Shape, "conv_transpose", message, help, &[self, w]);
            }
            shape.push(whole - cut);
            uncut.push(whole);
            // Where there is one element, its distance to the next is any.
            if xs[d + 2] == 1 {
                spec.stride[d] = 1;
            }
            if ws[d + 2] == 1 {
                spec.dilation[d] = 1;
            }
        }
        if !is_countable(&uncut, x.dtype().size()) {
            let message = format!("{xs:?} with weight {ws:?} and {spec:?} is {uncut:?}, more than any memory has");
            return Tensor::fail(ErrorKind::Shape, "conv_transpose", message, "use smaller strides, dilations and padding", &[self, w]);
        }
        if xs[1] != ws[0] || spec.groups > xs[1].max(1) || !xs[1].is_multiple_of(spec.groups) {
            let message = format!("{} input channels, weight {ws:?}, {} groups", xs[1], spec.groups);
            return Tensor::fail(ErrorKind::Shape, "conv_transpose", message, "the weight is [in, out / groups, kernel..]", &[self, w]);
        }
        with_bias("conv_transpose", Tensor::from_expr(Expr::conv_data_grad(&x, &wx, Arc::new(spec), &shape)), bias)
    }

    /// Transposed convolution: x `[n, c, l]`, w `[c, o / groups, k]`.
    #[track_caller]
    pub fn conv_transpose1d(&self, w: &Tensor, bias: Option<&Tensor>, options: &ConvOptions) -> Tensor {
        if let Some(cast) = crate::autocast::entered("conv_transpose1d") {
            return cast.of(self).conv_transpose1d(&cast.of(w), cast.maybe(bias).as_ref(), options);
        }
        self.conv_transpose(w, bias, 1, options)
    }

    /// Transposed convolution: x `[n, c, h, w]`, w `[c, o / groups, kh, kw]`.
    #[track_caller]
    pub fn conv_transpose2d(&self, w: &Tensor, bias: Option<&Tensor>, options: &ConvOptions) -> Tensor {
        if let Some(cast) = crate::autocast::entered("conv_transpose2d") {
            return cast.of(self).conv_transpose2d(&cast.of(w), cast.maybe(bias).as_ref(), options);
        }
        self.conv_transpose(w, bias, 2, options)
    }

    /// Transposed convolution: x `[n, c, d, h, w]`, w `[c, o / groups, kd, kh, kw]`.
    #[track_caller]
    pub fn conv_transpose3d(&self, w: &Tensor, bias: Option<&Tensor>, options: &ConvOptions) -> Tensor {
        if let Some(cast) = crate::autocast::entered("conv_transpose3d") {
            return cast.of(self).conv_transpose3d(&cast.of(w), cast.maybe(bias).as_ref(), options);
        }
        self.conv_transpose(w, bias, 3, options)
    }
}
