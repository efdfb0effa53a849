//! Pooling of `[n, c, spatial..]`, or of `[c, spatial..]` without a batch: maximum, average, adaptive, in any number of spatial dimensions.

use crate::{Tensor, arithmetic::K, conv::spread, rules::first_max, selection::first_invalid};
use smallvec::SmallVec;
use std::sync::Arc;
use unigrad_graph::{DType, ErrorKind, Expr, Literal, PadAxis, PoolSpec, Shape, is_countable};

/// Settings of a pooling, one entry per spatial dimension (one entry goes for all; none means the default).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PoolOptions {
    /// Sizes of windows.
    pub kernel: Vec<usize>,
    /// Steps between windows; default: their size.
    pub stride: Vec<usize>,
    /// Padding on both sides (which never is a maximum), at most half of a window; default 0.
    pub padding: Vec<usize>,
    /// Distance of a window's elements; default 1. Maximum only.
    pub dilation: Vec<usize>,
    /// A last window that reaches beyond the end counts too.
    pub ceil_mode: bool,
    /// Averages divide by the window's size even where it covers padding.
    pub count_include_pad: bool,
    /// What the sums of windows are divided by instead of by their size; not 0. Averages only.
    pub divisor_override: Option<i64>,
}

impl PoolOptions {
    /// Windows of one size, side by side.
    pub fn new(kernel: usize) -> PoolOptions {
        PoolOptions {
            kernel: vec![kernel],
            stride: vec![],
            padding: vec![],
            dilation: vec![],
            ceil_mode: false,
            count_include_pad: true,
            divisor_override: None,
        }
    }

    /// With one stride for all dimensions.
    pub fn stride(mut self, stride: usize) -> PoolOptions {
        self.stride = vec![stride];
        self
    }

    /// With one padding for all dimensions.
    pub fn padding(mut self, padding: usize) -> PoolOptions {
        self.padding = vec![padding];
        self
    }

    /// With averages that divide by a number of your own.
    pub fn divisor_override(mut self, divisor: i64) -> PoolOptions {
        self.divisor_override = Some(divisor);
        self
    }
}

/// Regions of different sizes, each of which is a reduction of its own, at most.
const MAX_REGIONS: usize = 4096;

/// Checked settings and the spatial sizes of the result.
#[track_caller]
fn plan(op: &str, x: &Tensor, n: usize, options: &PoolOptions) -> Result<(Expr, PoolSpec, SmallVec<[usize; 3]>), Tensor> {
    let e = x.expr();
    if e.error().is_some() {
        return Err(x.clone());
    }
    let spec = (|| {
        // Ranks first: the number of axes may be any.
        if n.checked_add(2) != Some(e.rank()) {
            return None;
        }
        let kernel: SmallVec<[usize; 3]> = spread(&options.kernel, n, 0)?;
        let stride = if options.stride.is_empty() { kernel.clone() } else { spread(&options.stride, n, 1)? };
        let spec = PoolSpec { kernel, stride, pad: spread(&options.padding, n, 0)?, dilation: spread(&options.dilation, n, 1)? };
        let whole = !spec.kernel.contains(&0) && !spec.stride.contains(&0) && !spec.dilation.contains(&0);
        (whole && (0..n).all(|d| spec.pad[d] <= spec.kernel[d] / 2)).then_some(spec)
    })();
    let Some(mut spec) = spec else {
        let message = format!("{options:?} over {:?}", e.shape());
        let help = format!("wants {n} spatial axes, one setting per axis (or one for all), and padding of at most half a window");
        return Err(Tensor::fail(ErrorKind::Shape, op, message, &help, &[x]));
    };
    let mut output = SmallVec::new();
    let mut padded = Shape::from_slice(&e.shape()[..2]);
    for d in 0..n {
        let size = e.shape()[d + 2].saturating_add(spec.pad[d].saturating_mul(2));
        let span = spec.dilation[d].saturating_mul(spec.kernel[d] - 1).saturating_add(1);
        // With `ceil_mode` a window may reach behind the padding, by less than its stride.
        let beyond = if options.ceil_mode && e.shape()[d + 2] > 0 { spec.stride[d] - 1 } else { 0 };
        if size.saturating_add(beyond) < span {
            let message = format!("a window spans {span} but the padded input has {size} along spatial axis {d} of {:?}", e.shape());
            return Err(Tensor::fail(ErrorKind::Shape, op, message, "use a smaller window or dilation, or more padding", &[x]));
        }
        padded.push(size);
        if size < span {
            // What is behind the padding is nothing, and counts for nothing.
            spec.kernel[d] = (size - 1) / spec.dilation[d] + 1;
        }
        let room = size.saturating_sub(span);
        let mut count = room / spec.stride[d] + 1;
        if options.ceil_mode
            && !room.is_multiple_of(spec.stride[d])
            && count.saturating_mul(spec.stride[d]) < e.shape()[d + 2].saturating_add(spec.pad[d])
        {
            // A window that starts in the padding behind the end does not count.
            count += 1;
        }
        // Where there is one window, or one element in it, its distance to the next is any that leads out.
        spec.stride[d] = spec.stride[d].min(size);
        if spec.kernel[d] == 1 {
            spec.dilation[d] = 1;
        }
        output.push(count);
    }
    // Averages of padding are 0; a maximum of nothing is none.
    let outside = |d: usize| spec.first_outside(d, e.shape()[d + 2], output[d]).map(|window| (d, window));
    if let Some((d, window)) = (0..n).filter(|_| op == "max_pool").find_map(outside) {
        let message = format!("window {window} along spatial axis {d} of {:?} has nothing but padding: {options:?}", e.shape());
        return Err(Tensor::fail(ErrorKind::Shape, op, message, "use less padding, or a smaller dilation", &[x]));
    }
    if !is_countable(&padded, e.dtype().size()) {
        let message = format!("{:?} padded to {padded:?} is more than any memory has", e.shape());
        return Err(Tensor::fail(ErrorKind::Shape, op, message, "use less padding", &[x]));
    }
    Ok((e, spec, output))
}

impl Tensor {
    /// Maximum of each window over `n` spatial dimensions, and where it is: row-major indices within the spatial axes.
    #[track_caller]
    pub fn max_pool_with_index(&self, n: usize, options: &PoolOptions) -> (Tensor, Tensor) {
        if let Some(x) = self.as_batch(n) {
            let (y, index) = x.max_pool_with_index(n, options);
            return (y.squeeze(0), index.squeeze(0));
        }
        let (x, spec, output) = match plan("max_pool", self, n, options) {
            Ok(plan) => plan,
            Err(invalid) => return (invalid.clone(), invalid),
        };
        if options.divisor_override.is_some() {
            let invalid =
                Tensor::fail(ErrorKind::Argument, "max_pool", "a divisor is for averages only", "leave `divisor_override` out", &[self]);
            return (invalid.clone(), invalid);
        }
        let node = x.max_pool_node(Arc::new(spec), &output);
        if node.error().is_some() {
            return (Tensor::from_expr(node.clone()), Tensor::from_expr(node));
        }
        (Tensor::from_expr(node.part(0)), Tensor::from_expr(node.part(1)))
    }

    /// Maximum of each window over `n` spatial dimensions; the gradient goes to the first of equal ones.
    #[track_caller]
    pub fn max_pool(&self, n: usize, options: &PoolOptions) -> Tensor {
        self.max_pool_with_index(n, options).0
    }

    /// Maximum of each window of `[n, c, l]`.
    #[track_caller]
    pub fn max_pool1d(&self, options: &PoolOptions) -> Tensor {
        self.max_pool(1, options)
    }

    /// Maximum of each window of `[n, c, h, w]`.
    #[track_caller]
    pub fn max_pool2d(&self, options: &PoolOptions) -> Tensor {
        self.max_pool(2, options)
    }

    /// Maximum of each window of `[n, c, d, h, w]`.
    #[track_caller]
    pub fn max_pool3d(&self, options: &PoolOptions) -> Tensor {
        self.max_pool(3, options)
    }

    /// Average of each window over `n` spatial dimensions. Of integers it is rounded toward 0 and has their dtype, as PyTorch's of `I64` (it refuses the
    /// others); of bools it is an `f32`.
    #[track_caller]
    pub fn avg_pool(&self, n: usize, options: &PoolOptions) -> Tensor {
        let _within = crate::autocast::within();
        if options.divisor_override == Some(0) {
            return Tensor::fail(ErrorKind::Argument, "avg_pool", "a divisor of 0", "divide by another number", &[self]);
        }
        self.avg_pool_checked(n, options)
    }

    /// [`Tensor::avg_pool`] that divides each window's sum by `divisor` (PyTorch's `divisor_override`), which is not 0.
    #[track_caller]
    pub fn avg_pool_with_divisor(&self, n: usize, options: &PoolOptions, divisor: i64) -> Tensor {
        self.avg_pool(n, &options.clone().divisor_override(divisor))
    }

    #[track_caller]
    fn avg_pool_checked(&self, n: usize, options: &PoolOptions) -> Tensor {
        if let Some(x) = self.as_batch(n) {
            return x.avg_pool_checked(n, options).squeeze(0);
        }
        let (x, spec, output) = match plan("avg_pool", self, n, options) {
            Ok(plan) => plan,
            Err(invalid) => return invalid,
        };
        if spec.dilation.iter().any(|dilation| *dilation != 1) {
            return Tensor::fail(ErrorKind::Argument, "avg_pool", "dilation is for the maximum only", "leave `dilation` empty", &[self]);
        }
        let is_whole = self.dtype().is_int();
        let dtype = if is_whole { self.dtype() } else { self.float_dtype() };
        let wide = if is_whole { DType::I64 } else { dtype.compute() };
        let mut y = x.cast(wide);
        if y.error().is_some() {
            return Tensor::from_expr(y);
        }
        for d in 0..n {
            let (size, pad, kernel, stride) = (x.shape()[d + 2], spec.pad[d], spec.kernel[d], spec.stride[d]);
            let reach = (output[d] - 1) * stride + kernel;
            let behind = reach.saturating_sub(size + pad);
            let mut pads = vec![PadAxis::default(); y.rank()];
            pads[d + 2] = PadAxis { lo: pad, hi: behind, interior: 0 };
            let padded = y.pad(&pads, Literal::zero(y.dtype()));
            let rank = padded.rank();
            let windows = padded.window(d + 2, kernel, stride, 1);
            let mut shape = padded.shape().clone();
            if let Some(size) = shape.get_mut(d + 2) {
                *size = output[d];
            }
            y = windows.sum(1 << rank).reshape(&shape);
            if y.error().is_some() {
                return Tensor::from_expr(y);
            }
        }
        let mut y = Tensor::from_expr(y);
        if let Some(divisor) = options.divisor_override {
            return if is_whole { y.div_trunc(divisor) } else { y * K(1.0 / divisor as f64) }.cast(dtype);
        }
        // How many elements each window averages over: a product of one count per dimension.
        let (mut factor, mut divisor) = (1.0, None::<Tensor>);
        for d in 0..n {
            let (size, pad, kernel, stride) = (x.shape()[d + 2] as i64, spec.pad[d] as i64, spec.kernel[d] as i64, spec.stride[d] as i64);
            let count = |o: i64| {
                let start = o * stride - pad;
                let end = (start + kernel).min(size + pad);
                if options.count_include_pad { end - start } else { end.min(size) - start.max(0) }
            };
            let first = count(0);
            // Of many windows not each is looked at.
            if output[d] <= 4096 && (0..output[d] as i64).all(|o| count(o) == first) {
                factor *= first as f64;
                continue;
            }
            let mut shape: Shape = Shape::from_elem(1, n + 2);
            shape[d + 2] = output[d];
            let index = Tensor::from_expr(Expr::iota(&shape, d + 2, DType::I64, x.device()));
            let start = index * stride - pad;
            let end = (&start + kernel).minimum(size + pad);
            let count = if options.count_include_pad { end - start } else { end.minimum(size) - start.maximum(0) };
            if is_whole {
                divisor = Some(divisor.map_or(count.clone(), |divisor| divisor * count));
            } else {
                y = y / count.cast(wide);
            }
        }
        if !is_whole {
            return (y * K(1.0 / factor)).cast(dtype);
        }
        // Rounded once, at the end.
        match divisor {
            Some(divisor) => y.div_trunc(divisor * factor as i64),
            None => y.div_trunc(factor as i64),
        }
        .cast(dtype)
    }

    /// Average of each window of `[n, c, l]`.
    #[track_caller]
    pub fn avg_pool1d(&self, options: &PoolOptions) -> Tensor {
        let _within = crate::autocast::within();
        self.avg_pool(1, options)
    }

    /// Average of each window of `[n, c, h, w]`.
    #[track_caller]
    pub fn avg_pool2d(&self, options: &PoolOptions) -> Tensor {
        let _within = crate::autocast::within();
        self.avg_pool(2, options)
    }

    /// Average of each window of `[n, c, d, h, w]`.
    #[track_caller]
    pub fn avg_pool3d(&self, options: &PoolOptions) -> Tensor {
        let _within = crate::autocast::within();
        self.avg_pool(3, options)
    }

    /// Averages over as many regions per spatial axis as asked: region `i` of `s` covers `floor(i * size / s) .. ceil((i + 1) * size / s)`.
    #[track_caller]
    pub fn adaptive_avg_pool(&self, sizes: &[usize]) -> Tensor {
        let _within = crate::autocast::within();
        self.adaptive("adaptive_avg_pool", sizes, |x, axis| x.mean_keepdim(axis as isize))
    }

    /// Maxima over as many regions per spatial axis as asked (see [`Tensor::adaptive_avg_pool`]); the gradient goes to the first of equal ones.
    #[track_caller]
    pub fn adaptive_max_pool(&self, sizes: &[usize]) -> Tensor {
        if self.error().is_none() && self.dtype().only_stores() {
            let help = "cast them to f32 (or f16, bf16) first";
            return Tensor::fail(ErrorKind::DType, "adaptive_max_pool", "8-bit floats only store", help, &[self]);
        }
        self.adaptive("adaptive_max_pool", sizes, first_max)
    }

    /// `[1, c, spatial..]` of `[c, spatial..]` with `n` spatial axes; nothing for anything else.
    #[track_caller]
    pub(crate) fn as_batch(&self, n: usize) -> Option<Tensor> {
        if self.is_invalid() || n.checked_add(1) != Some(self.rank()) { None } else { Some(self.unsqueeze(0)) }
    }

    /// Maxima over as many regions per spatial axis as asked, and where they are: row-major indices within the spatial axes. Of equal ones the
    /// first counts (see [`Tensor::adaptive_max_pool`]).
    #[track_caller]
    pub fn adaptive_max_pool_with_index(&self, sizes: &[usize]) -> (Tensor, Tensor) {
        if let Some(x) = self.as_batch(sizes.len()) {
            let (y, index) = x.adaptive_max_pool_with_index(sizes);
            return (y.squeeze(0), index.squeeze(0));
        }
        let x = self.expr();
        if x.error().is_some() {
            return (self.clone(), self.clone());
        }
        if x.rank() != sizes.len() + 2 || sizes.is_empty() || sizes.contains(&0) || x.shape()[2..].contains(&0) {
            let message = format!("{sizes:?} regions of {:?}", x.shape());
            let help = "give one number above 0 per spatial axis, of which there is at least one";
            let invalid = Tensor::fail(ErrorKind::Shape, "adaptive_max_pool", message, help, &[self]);
            return (invalid.clone(), invalid);
        }
        // The last axis first: so the first of equal ones in row-major order is found.
        let mut best = self.detach();
        let mut index: Option<Tensor> = None;
        let mut inner = 1_i64;
        for (d, &count) in sizes.iter().enumerate().rev() {
            let (axis, size) = (d + 2, x.shape()[d + 2]);
            let most = size.min(size.div_ceil(count).saturating_add(1));
            let number = |len: usize, axis: usize| Tensor::from_expr(Expr::iota(&[count, len], axis, DType::I64, x.device()));
            if !is_countable(&[count, most], 8) {
                let message = format!("{count} regions of an axis of {size}");
                let invalid = Tensor::fail(ErrorKind::Shape, "adaptive_max_pool", message, "ask for fewer regions", &[self]);
                return (invalid.clone(), invalid);
            }
            // Region by region the numbers of its elements; a shorter one's last is there again, which is never the first.
            let region = number(most, 0);
            let start = region.mul(size as i64).floor_div(count as i64);
            let last = ((region + 1_i64) * size as i64 + (count as i64 - 1)).floor_div(count as i64) - 1_i64;
            let places = (start + number(most, 1)).minimum(last);
            let windows = best.index_select(axis as isize, &places);
            let at = windows.argmax_keepdim(axis as isize + 1);
            best = windows.gather(axis as isize + 1, &at).squeeze(axis as isize + 1);
            let mut apart: Shape = Shape::from_elem(1, x.rank() + 1);
            (apart[axis], apart[axis + 1]) = (count, most);
            let mut every = windows.shape();
            if windows.is_invalid() {
                return (windows.clone(), windows);
            }
            every[axis + 1] = most;
            let own = places.reshape_to(&apart).expand(every).gather(axis as isize + 1, &at);
            index = Some(match index {
                None => own.squeeze(axis as isize + 1),
                Some(below) => {
                    let below = below.index_select(axis as isize, &places).gather(axis as isize + 1, &at);
                    (own * inner + below).squeeze(axis as isize + 1)
                }
            });
            inner = inner.saturating_mul(size as i64);
        }
        let index = index.unwrap_or(best);
        let flat = |shape: &[usize]| [shape[0], shape[1], shape[2..].iter().product()];
        if index.is_invalid() {
            return (index.clone(), index);
        }
        let shape = index.shape();
        let values = self.reshape_to(&flat(x.shape())).gather(2, &index.reshape_to(&flat(&shape))).reshape_to(&shape);
        (values, index)
    }

    /// The way back from a maximum pooling over `n` spatial axes: each element at the place that its index names, zeros elsewhere. The result has
    /// `output` spatial sizes; without, those that the options' windows come from: `(size - 1) * stride - 2 * padding + kernel`. Of several
    /// elements for one place the last one stays.
    #[track_caller]
    pub fn max_unpool(&self, index: &Tensor, n: usize, options: &PoolOptions, output: Option<&[usize]>) -> Tensor {
        if let (Some(x), Some(index)) = (self.as_batch(n), index.as_batch(n)) {
            return x.max_unpool(&index, n, options, output).squeeze(0);
        }
        if let Some(invalid) = first_invalid(&[self, index]) {
            return invalid;
        }
        let shape = self.shape();
        let sizes = (|| {
            // Ranks first: the number of axes may be any.
            if n.checked_add(2) != Some(shape.len()) || n == 0 || index.shape() != shape {
                return None;
            }
            if let Some(output) = output {
                return (output.len() == n).then(|| output.to_vec());
            }
            let kernel: SmallVec<[usize; 3]> = spread(&options.kernel, n, 0)?;
            let stride = if options.stride.is_empty() { kernel.clone() } else { spread(&options.stride, n, 1)? };
            let pad = spread(&options.padding, n, 0)?;
            let size = |d: usize| {
                let whole = shape[d + 2].checked_sub(1)?.checked_mul(stride[d])?.checked_add(kernel[d])?;
                whole.checked_sub(pad[d].checked_mul(2)?)
            };
            (0..n).map(size).collect::<Option<Vec<usize>>>()
        })();
        let mut out = shape.get(..2).unwrap_or(&[]).to_vec();
        out.extend(sizes.iter().flatten());
        if sizes.is_none() || !is_countable(&out, self.dtype().size().max(8)) {
            let message = format!("{shape:?} with indices {:?} to {output:?}, {options:?}", index.shape());
            let help = format!("wants {n} spatial axes, indices of the same shape, and sizes that follow from the windows or are given");
            return Tensor::fail(ErrorKind::Shape, "max_unpool", message, &help, &[self, index]);
        }
        let flat = |shape: &[usize]| [shape[0], shape[1], shape[2..].iter().product()];
        let x = self.expr();
        let zeros = Tensor::from_expr(Expr::constant(Literal::zero(x.dtype()), &flat(&out), x.device()));
        zeros.scatter(2, &index.reshape_to(&flat(&shape)), &self.reshape_to(&flat(&shape))).reshape_to(&out)
    }

    /// [`Tensor::max_unpool`] over one spatial axis.
    #[track_caller]
    pub fn max_unpool1d(&self, index: &Tensor, options: &PoolOptions, output: Option<&[usize]>) -> Tensor {
        self.max_unpool(index, 1, options, output)
    }

    /// [`Tensor::max_unpool`] over two spatial axes.
    #[track_caller]
    pub fn max_unpool2d(&self, index: &Tensor, options: &PoolOptions, output: Option<&[usize]>) -> Tensor {
        self.max_unpool(index, 2, options, output)
    }

    /// [`Tensor::max_unpool`] over three spatial axes.
    #[track_caller]
    pub fn max_unpool3d(&self, index: &Tensor, options: &PoolOptions, output: Option<&[usize]>) -> Tensor {
        self.max_unpool(index, 3, options, output)
    }

    #[track_caller]
    fn adaptive(&self, op: &str, sizes: &[usize], reduce: fn(&Tensor, usize) -> Tensor) -> Tensor {
        if let Some(x) = self.as_batch(sizes.len()) {
            return x.adaptive(op, sizes, reduce).squeeze(0);
        }
        let x = self.expr();
        if x.error().is_some() {
            return self.clone();
        }
        if x.rank() != sizes.len() + 2 || sizes.contains(&0) || x.shape()[2..].contains(&0) {
            let message = format!("{sizes:?} regions of {:?}", x.shape());
            return Tensor::fail(ErrorKind::Shape, op, message, "give one number above 0 per spatial axis", &[self]);
        }
        let mut y = Tensor::from_expr(x.identity());
        // The last axis first: so the first of equal ones in row-major order is found.
        for (d, &count) in sizes.iter().enumerate().rev() {
            let (axis, size) = (d + 2, x.shape()[d + 2]);
            if size == count {
                continue;
            }
            if size % count == 0 {
                let apart = y.unflatten(axis as isize, [count as i64, (size / count) as i64]);
                y = reduce(&apart, axis + 1).squeeze(axis as isize + 1);
                continue;
            }
            if count > MAX_REGIONS {
                let message = format!("{count} regions of an axis of {size}, which they do not divide");
                let help = format!("at most {MAX_REGIONS} regions, or a number that divides the axis");
                return Tensor::fail(ErrorKind::Argument, op, message, &help, &[self]);
            }
            let mut parts = Vec::with_capacity(count);
            for i in 0..count {
                let (start, end) = (i * size / count, ((i + 1) * size).div_ceil(count));
                parts.push(reduce(&y.narrow(axis as isize, start, end - start), axis));
            }
            y = Tensor::concat(&parts.iter().collect::<Vec<_>>(), axis as isize);
        }
        y
    }
}
