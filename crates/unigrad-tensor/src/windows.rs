//! Images as columns of their windows, and back: `im2col` and `col2im`, PyTorch's `unfold` and `fold`.
//!
//! In: `[n, c, spatial..]`, or columns `[n, c * kernel, windows]`. Out: the other of the two.
//! Always: one is the gradient of the other. Sums of half types are made in `f32`.

use crate::{Tensor, conv::spread};
use smallvec::SmallVec;
use unigrad_graph::{DType, ErrorKind, Expr, Literal, PadAxis, ScatterMode, Shape, is_countable};

/// Windows over spatial axes; one entry per axis, or one for all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WindowOptions {
    /// Sizes of windows.
    pub kernel: Vec<usize>,
    /// Steps between windows; default 1.
    pub stride: Vec<usize>,
    /// Zeros on both sides; default 0.
    pub padding: Vec<usize>,
    /// Distance of a window's elements; default 1.
    pub dilation: Vec<usize>,
}

/// Along one axis.
struct Along {
    kernel: usize,
    stride: usize,
    pad: usize,
    dilation: usize,
    /// The size with padding.
    padded: usize,
    /// How many windows there are.
    count: usize,
}

impl WindowOptions {
    /// Windows of one size, one step apart.
    pub fn new(kernel: usize) -> WindowOptions {
        WindowOptions { kernel: vec![kernel], ..WindowOptions::default() }
    }

    fn plan(&self, sizes: &[usize]) -> Option<Vec<Along>> {
        let n = sizes.len();
        let kernel: SmallVec<[usize; 3]> = spread(&self.kernel, n, 0)?;
        let stride: SmallVec<[usize; 3]> = spread(&self.stride, n, 1)?;
        let pad: SmallVec<[usize; 3]> = spread(&self.padding, n, 0)?;
        let dilation: SmallVec<[usize; 3]> = spread(&self.dilation, n, 1)?;
        let along = |d: usize| {
            let padded = sizes[d].checked_add(pad[d].checked_mul(2)?)?;
            let span = dilation[d].checked_mul(kernel[d].checked_sub(1)?)?.checked_add(1)?;
            let count = padded.checked_sub(span)?.checked_div(stride[d])?.checked_add(1)?;
            // Where there is one window, or one element in it, its distance to the next is any that leads out.
            let stride = stride[d].min(padded);
            let dilation = if kernel[d] == 1 { 1 } else { dilation[d] };
            (dilation > 0).then_some(Along { kernel: kernel[d], stride, pad: pad[d], dilation, padded, count })
        };
        (0..n).map(along).collect()
    }
}

fn product(list: &[Along], size: fn(&Along) -> usize) -> Option<usize> {
    list.iter().try_fold(1_usize, |product, along| product.checked_mul(size(along)))
}

const HELP: &str =
    "wants one setting per spatial axis (or one for all), of which there are one to three, and windows that fit into what is padded";

impl Tensor {
    /// The windows of `[n, c, spatial..]` as columns: `[n, c * kernel, windows]`, what a convolution multiplies its weights with.
    /// `torch.nn.functional.unfold`, for one to three spatial axes. ([`Tensor::unfold`] is PyTorch's method of that name: windows along one axis.)
    ///
    /// ```
    /// # unigrad_device::register(unigrad_cpu::CpuDriver::default());
    /// use unigrad_tensor::{DType, Device, Tensor, WindowOptions};
    ///
    /// let device = Device::open("cpu")?;
    /// let x = Tensor::range(9, DType::F32, &device).reshape([1, 1, 3, 3]);
    /// let columns = x.im2col(&WindowOptions::new(2));
    /// assert_eq!(columns.dims()?, [1, 4, 4]);
    /// assert_eq!(columns.select(-1, 0).to_vec::<f32>()?, [0.0, 1.0, 3.0, 4.0]);
    /// // The way back adds up what windows share.
    /// assert_eq!(columns.col2im(&[3, 3], &WindowOptions::new(2)).i((0, 0, 1, 1)).item::<f32>()?, 16.0);
    /// # Ok::<(), unigrad_tensor::Error>(())
    /// ```
    #[track_caller]
    pub fn im2col(&self, options: &WindowOptions) -> Tensor {
        let x = self.expr();
        if x.error().is_some() {
            return self.clone();
        }
        let plan = if (3..=5).contains(&x.rank()) { options.plan(&x.shape()[2..]) } else { None };
        let Some(plan) = plan else {
            return Tensor::fail(ErrorKind::Shape, "im2col", format!("{options:?} over {:?}", x.shape()), HELP, &[self]);
        };
        let n = plan.len();
        let mut pads = vec![PadAxis::default(); x.rank()];
        for (d, along) in plan.iter().enumerate() {
            pads[d + 2] = PadAxis { lo: along.pad, hi: along.pad, interior: 0 };
        }
        let mut y = x.pad(&pads, Literal::zero(x.dtype()));
        for (d, along) in plan.iter().enumerate() {
            y = y.window(d + 2, along.kernel, along.stride, along.dilation);
        }
        // [n, c, windows.., kernel..] to [n, c, kernel.., windows..].
        let order: Vec<usize> = [0, 1].into_iter().chain(2 + n..2 + 2 * n).chain(2..2 + n).collect();
        let y = y.permute(&order);
        if y.error().is_some() {
            return Tensor::from_expr(y);
        }
        let columns = [y.shape()[0], y.shape()[1..2 + n].iter().product(), y.shape()[2 + n..].iter().product()];
        Tensor::from_expr(y.reshape(&columns))
    }

    /// Columns `[n, c * kernel, windows]` added up to `[n, c, sizes..]`, each where [`Tensor::im2col`] takes it from: `torch.nn.functional.fold`, for
    /// one to three spatial axes.
    #[track_caller]
    pub fn col2im(&self, sizes: &[usize], options: &WindowOptions) -> Tensor {
        let x = self.expr();
        if x.error().is_some() {
            return self.clone();
        }
        let plan = if x.rank() == 3 && (1..=3).contains(&sizes.len()) { options.plan(sizes) } else { None };
        let whole = plan.as_ref().and_then(|plan| {
            let (kernel, windows) = (product(plan, |along| along.kernel)?, product(plan, |along| along.count)?);
            let places = product(plan, |along| along.padded)?;
            let fits = windows == x.shape()[2] && x.shape()[1].is_multiple_of(kernel);
            let channels = x.shape()[1] / kernel.max(1);
            (fits && is_countable(&[x.shape()[0], channels, places], 8)).then_some((kernel, windows, places, channels))
        });
        let (Some(plan), Some((kernel, windows, places, channels))) = (plan, whole) else {
            let message = format!("columns {:?} to {sizes:?}, {options:?}", x.shape());
            return Tensor::fail(ErrorKind::Shape, "col2im", message, HELP, &[self]);
        };
        let (n, batch, device) = (plan.len(), x.shape()[0], x.device());
        // Where each element of each window lies in the padded image: [kernel.., windows..].
        let grid: Shape = plan.iter().map(|along| along.kernel).chain(plan.iter().map(|along| along.count)).collect();
        let number = |axis: usize, times: usize| {
            let times = Expr::constant(Literal::int(DType::I64, times as i64), &grid, device);
            Expr::iota(&grid, axis, DType::I64, device).mul(&times)
        };
        let mut place = Expr::constant(Literal::zero(DType::I64), &grid, device);
        let mut apart = 1_usize;
        for (d, along) in plan.iter().enumerate().rev() {
            let own = number(d, along.dilation.saturating_mul(apart)).add(&number(n + d, along.stride.saturating_mul(apart)));
            place = place.add(&own);
            apart = apart.saturating_mul(along.padded);
        }
        let all = [batch, channels, kernel * windows];
        let place = place.reshape(&[1, 1, kernel * windows]).expand(&all);
        let wide = if x.dtype().is_float() { x.dtype().compute() } else { x.dtype() };
        let image = Expr::constant(Literal::zero(wide), &[batch, channels, places], device);
        let image = image.scatter(2, ScatterMode::Add, &place, &x.cast(wide).reshape(&all));
        let mut padded = Shape::from_slice(&[batch, channels]);
        padded.extend(plan.iter().map(|along| along.padded));
        let mut image = image.reshape(&padded);
        for (d, along) in plan.iter().enumerate() {
            image = image.narrow(d + 2, along.pad, sizes[d]);
        }
        Tensor::from_expr(image.cast(x.dtype()))
    }
}
