//! Resizing of the spatial axes of `[n, c, spatial..]`.
//!
//! In: a tensor, and sizes or scale factors. Out: the tensor at those sizes, in its float dtype.
//! Always: axis by axis, each of its elements a weighted sum of few; half types compute in `f32`. Gradients of any order follow from that.
//! Never: looks for elements outside: those at the edge stand for them.

use crate::{Tensor, arithmetic::K};
use unigrad_graph::{DType, ErrorKind, Expr, Shape};

/// How [`Tensor::interpolate`] makes elements between those that are there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InterpolateMode {
    /// The element at the lower corner, as PyTorch's `nearest`.
    Nearest,
    /// The element whose middle is nearest, as PyTorch's `nearest-exact`.
    NearestExact,
    /// Straight lines: PyTorch's `linear`, `bilinear` and `trilinear`, by the number of axes.
    Linear,
    /// Cubic convolution with `a = -0.75` along each axis: PyTorch's `bicubic`.
    Cubic,
    /// Means over the regions that the new elements cover, as [`Tensor::adaptive_avg_pool`].
    Area,
}

/// Settings of [`Tensor::interpolate`].
#[derive(Clone, Debug, PartialEq)]
pub struct InterpolateOptions {
    /// How.
    pub mode: InterpolateMode,
    /// The new sizes, one per spatial axis or one for all; or none, and `scales` instead.
    pub sizes: Vec<usize>,
    /// What sizes are multiplied with (and rounded down), one per spatial axis or one for all.
    pub scales: Vec<f64>,
    /// The first and the last element stay at the ends; otherwise elements are areas, and the ends of the areas meet. `Linear` and `Cubic` only.
    pub align_corners: bool,
    /// Where there are fewer elements than before, each is a mean of all that it stands for, as images are made smaller; with the cubic filter of
    /// images (`a = -0.5`). `Linear` and `Cubic` only.
    pub antialias: bool,
}

impl InterpolateOptions {
    /// To sizes.
    pub fn sizes(mode: InterpolateMode, sizes: &[usize]) -> InterpolateOptions {
        InterpolateOptions { mode, sizes: sizes.to_vec(), scales: Vec::new(), align_corners: false, antialias: false }
    }

    /// By scale factors.
    pub fn scales(mode: InterpolateMode, scales: &[f64]) -> InterpolateOptions {
        InterpolateOptions { mode, sizes: Vec::new(), scales: scales.to_vec(), align_corners: false, antialias: false }
    }

    /// With the corners aligned.
    pub fn align_corners(mut self) -> InterpolateOptions {
        self.align_corners = true;
        self
    }

    /// With a mean of all elements that a new one stands for.
    pub fn antialias(mut self) -> InterpolateOptions {
        self.antialias = true;
        self
    }

    /// The new size of each axis, and its scale factor where one was given.
    fn plan(&self, from: &[usize]) -> Option<Vec<(usize, Option<f64>)>> {
        let n = from.len();
        if self.sizes.is_empty() == self.scales.is_empty() {
            return None;
        }
        let one_or_all = |len: usize| len == 0 || len == 1 || len == n;
        if !one_or_all(self.sizes.len()) || !one_or_all(self.scales.len()) {
            return None;
        }
        let each = (0..n).map(|d| {
            if let Some(size) = self.sizes.get(d).or(self.sizes.first()) {
                return Some((*size, None));
            }
            let scale = *self.scales.get(d).or(self.scales.first())?;
            let size = (from[d] as f64 * scale).floor();
            (scale.is_finite() && scale > 0.0 && size < (1_u64 << 53) as f64).then_some((size as usize, Some(scale)))
        });
        each.collect::<Option<Vec<_>>>().filter(|plan| plan.iter().all(|(size, _)| *size > 0))
    }
}

/// One axis: from which size to which, and by which factor.
#[derive(Clone, Copy)]
struct Resize {
    axis: usize,
    from: usize,
    to: usize,
    scale: Option<f64>,
}

impl Resize {
    #[track_caller]
    fn numbers(&self, dtype: DType, device: u32) -> Tensor {
        Tensor::from_expr(Expr::iota(&[self.to], 0, dtype, device))
    }

    /// How far apart the new elements are, in old ones.
    fn ratio(&self, align_corners: bool) -> f64 {
        match (align_corners, self.scale) {
            (true, _) if self.to > 1 => (self.from - 1) as f64 / (self.to - 1) as f64,
            (true, _) => 0.0,
            (false, Some(scale)) => 1.0 / scale,
            (false, None) => self.from as f64 / self.to as f64,
        }
    }

    /// The number of the nearest element.
    #[track_caller]
    fn nearest(&self, exact: bool, device: u32) -> Tensor {
        let index = match self.scale {
            // In integers, whose quotients are exact.
            None if exact => {
                let middle = self.numbers(DType::I64, device).mul(2_i64).add(1_i64);
                middle.mul(self.from as i64).floor_div((self.to as i64).saturating_mul(2))
            }
            None => self.numbers(DType::I64, device).mul(self.from as i64).floor_div(self.to as i64),
            // As PyTorch, which computes it in `f32`.
            Some(_) => {
                let shift = if exact { 0.5 } else { 0.0 };
                ((self.numbers(DType::F32, device) + K(shift)) * K(self.ratio(false))).floor().cast(DType::I64)
            }
        };
        index.minimum(self.from as i64 - 1)
    }

    /// The weights of all elements in each new one, `[from, to]`: a filter as wide as what a new element stands for, of sum 1.
    #[track_caller]
    fn filter(&self, cubic: bool, align_corners: bool, wide: DType, device: u32) -> Tensor {
        let ratio = self.ratio(align_corners);
        let square = [self.from, self.to];
        // Not in a closure: the place would be this line.
        let (old, new) = (Expr::iota(&square, 0, DType::I64, device), Expr::iota(&square, 1, DType::I64, device));
        // Twice the places of the middles.
        let (old, new) = (Tensor::from_expr(old) * 2_i64 + 1_i64, Tensor::from_expr(new) * 2_i64 + 1_i64);
        // How far a new element's middle is from an old one's: with sizes alone by integers, which lose nothing.
        let (more, less) = if align_corners { (self.from - 1, self.to - 1) } else { (self.from, self.to) };
        let apart = match self.scale.filter(|_| !align_corners) {
            None if less > 0 => (new * more as i64 - old * less as i64).cast(wide) * K(0.5 / less as f64),
            _ => new.cast(wide) * K(0.5 * ratio) - old.cast(wide) * K(0.5),
        };
        let t = (apart * K(1.0 / ratio.max(1.0))).abs();
        let weights = if cubic {
            const A: f64 = -0.5;
            let near = ((&t * K(A + 2.0) - K(A + 3.0)) * &t * &t) + K(1.0);
            let far = ((&t - K(5.0)) * &t + K(8.0)) * &t * K(A) - K(4.0 * A);
            t.lt(1.0).where_(near, t.lt(2.0).where_(far, K(0.0)))
        } else {
            (t.neg() + K(1.0)).maximum(K(0.0))
        };
        let sum = weights.sum_keepdim(0_isize);
        weights / sum
    }

    /// Elements and weights whose sum is the new element.
    #[track_caller]
    fn taps(&self, cubic: bool, align_corners: bool, wide: DType, device: u32) -> Vec<(Tensor, Tensor)> {
        let ratio = K(self.ratio(align_corners));
        let numbers = self.numbers(wide, device);
        let place = if align_corners { numbers * ratio } else { (numbers + K(0.5)) * ratio - K(0.5) };
        let place = if cubic || align_corners { place } else { place.maximum(K(0.0)) };
        let low = place.floor();
        let weights = if cubic { cubic_weights(&(&place - &low)) } else { linear_weights(&(&place - &low)) };
        let low = low.cast(DType::I64);
        let mut taps = Vec::with_capacity(weights.len());
        for (i, weight) in weights.into_iter().enumerate() {
            let at = &low + (i as i64 - i64::from(cubic));
            taps.push((at.maximum(0_i64).minimum(self.from as i64 - 1), weight));
        }
        taps
    }
}

/// Weights of the elements before and after, `t` beyond the first.
#[track_caller]
pub(crate) fn linear_weights(t: &Tensor) -> Vec<Tensor> {
    vec![t.neg() + K(1.0), t.clone()]
}

/// Weights of two elements before and two after, `t` beyond the second.
#[track_caller]
pub(crate) fn cubic_weights(t: &Tensor) -> Vec<Tensor> {
    const A: f64 = -0.75;
    let back = t.neg() + K(1.0);
    let mut weights = Vec::with_capacity(4);
    for (t, far) in [(t, true), (t, false), (&back, false), (&back, true)] {
        weights.push(if far {
            // Of the distance `t + 1`.
            let d = t + K(1.0);
            ((&d * K(A) - K(5.0 * A)) * &d + K(8.0 * A)) * &d - K(4.0 * A)
        } else {
            (t * K(A + 2.0) - K(A + 3.0)) * t * t + K(1.0)
        });
    }
    weights
}

impl Tensor {
    /// The spatial axes of `[n, c, spatial..]` in other sizes, as `torch.nn.functional.interpolate`. `Nearest` and `NearestExact` keep the dtype; the
    /// others give floats.
    ///
    /// With scale factors, elements are as far apart as the factors say, also where a size was rounded. `Cubic` takes any number of axes
    /// (PyTorch's `bicubic` two).
    ///
    /// ```
    /// # unigrad_device::register(unigrad_cpu::CpuDriver::default());
    /// use unigrad_tensor::{Device, InterpolateOptions, InterpolateMode, Tensor};
    ///
    /// let device = Device::open("cpu")?;
    /// let x = Tensor::new([[[0.0f32, 4.0]]], &device);
    /// let linear = InterpolateOptions::sizes(InterpolateMode::Linear, &[4]);
    /// assert_eq!(x.interpolate(&linear).to_vec::<f32>()?, [0.0, 1.0, 3.0, 4.0]);
    /// let double = InterpolateOptions::scales(InterpolateMode::Nearest, &[2.0]);
    /// assert_eq!(x.interpolate(&double).to_vec::<f32>()?, [0.0, 0.0, 4.0, 4.0]);
    /// # Ok::<(), unigrad_tensor::Error>(())
    /// ```
    #[track_caller]
    pub fn interpolate(&self, options: &InterpolateOptions) -> Tensor {
        let _within = crate::autocast::within();
        let x = self.expr();
        if x.error().is_some() {
            return self.clone();
        }
        let spatial = x.shape().get(2..).unwrap_or(&[]);
        let plan = options.plan(spatial).filter(|_| x.rank() > 2 && !spatial.contains(&0));
        let Some(plan) = plan else {
            let message = format!("{options:?} of {:?}", x.shape());
            let help =
                "the input is [n, c, spatial..]; give sizes or scale factors, one per spatial axis or one for all, and leave no size 0";
            return Tensor::fail(ErrorKind::Shape, "interpolate", message, help, &[self]);
        };
        let blends = matches!(options.mode, InterpolateMode::Linear | InterpolateMode::Cubic);
        if options.align_corners && !blends {
            let message = format!("aligned corners of {:?}", options.mode);
            return Tensor::fail(ErrorKind::Argument, "interpolate", message, "they are for `Linear` and `Cubic`", &[self]);
        }
        if options.antialias && !blends {
            let message = format!("antialiasing of {:?}", options.mode);
            return Tensor::fail(ErrorKind::Argument, "interpolate", message, "it is for `Linear` and `Cubic`", &[self]);
        }
        if options.mode == InterpolateMode::Area {
            let sizes: Vec<usize> = plan.iter().map(|(size, _)| *size).collect();
            return self.adaptive_avg_pool(&sizes);
        }
        let device = x.device();
        let mut y = Tensor::from_expr(if blends { self.float().expr().identity() } else { x.identity() });
        let dtype = y.dtype();
        if blends {
            y = y.cast(dtype.compute());
        }
        let wide = y.dtype();
        for (d, (to, scale)) in plan.iter().enumerate() {
            let resize = Resize { axis: d + 2, from: x.shape()[d + 2], to: *to, scale: *scale };
            // The same size: each element is where it was.
            if resize.from == resize.to && (options.align_corners || scale.is_none_or(|scale| scale == 1.0)) {
                continue;
            }
            let axis = resize.axis as isize;
            y = match options.mode {
                InterpolateMode::Linear | InterpolateMode::Cubic if options.antialias => {
                    let filter = resize.filter(options.mode == InterpolateMode::Cubic, options.align_corners, wide, device);
                    y.movedim(axis, -1_isize).matmul(&filter).movedim(-1_isize, axis)
                }
                InterpolateMode::Linear | InterpolateMode::Cubic => {
                    let taps = resize.taps(options.mode == InterpolateMode::Cubic, options.align_corners, wide, device);
                    let mut column: Shape = Shape::from_elem(1, x.rank() - resize.axis);
                    column[0] = resize.to;
                    let mut sum: Option<Tensor> = None;
                    for (index, weight) in taps {
                        let part = y.index_select(axis, &index) * weight.reshape_to(&column);
                        sum = Some(match sum {
                            Some(sum) => sum + part,
                            None => part,
                        });
                    }
                    sum.unwrap_or(y)
                }
                InterpolateMode::Nearest if scale.is_none() && resize.to.is_multiple_of(resize.from) => {
                    y.repeat_interleave(resize.to / resize.from, axis)
                }
                InterpolateMode::Nearest => y.index_select(axis, &resize.nearest(false, device)),
                InterpolateMode::NearestExact => y.index_select(axis, &resize.nearest(true, device)),
                InterpolateMode::Area => {
                    let message = "means of areas along one axis";
                    return Tensor::fail(ErrorKind::Internal, "interpolate", message, "please report it", &[self]);
                }
            };
        }
        y.cast(dtype)
    }

    /// Nearest-neighbour resize of the trailing spatial axes of `[n, c, spatial..]`.
    #[track_caller]
    pub fn interpolate_nearest(&self, sizes: &[usize]) -> Tensor {
        let x = self.expr();
        if x.error().is_some() {
            return self.clone();
        }
        if sizes.len() + 2 != x.rank() || x.shape()[2..].contains(&0) {
            let message = format!("{sizes:?} for {:?}", x.shape());
            return Tensor::fail(ErrorKind::Shape, "interpolate", message, "give one size per spatial axis", &[self]);
        }
        let mut out = Tensor::from_expr(x.identity());
        for (d, &size) in sizes.iter().enumerate() {
            let from = x.shape()[d + 2];
            out = if size % from == 0 {
                out.repeat_interleave(size / from, d as isize + 2)
            } else {
                let index = Tensor::from_expr(Expr::iota(&[size], 0, DType::I64, x.device()));
                let index = index.mul(from as i64).floor_div(size as i64);
                out.index_select(d as isize + 2, &index)
            };
        }
        out
    }
}
