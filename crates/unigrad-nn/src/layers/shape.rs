//! Layers that rearrange elements, resize, or compare two tensors.

use super::Layer;
use crate::{Module, trace};
use unigrad_tensor::{InterpolateMode, InterpolateOptions, Tensor, WindowOptions};

/// Its input.
#[doc = example!(Identity, "", "[2, 3]" => "[2, 3]")]
#[derive(Module, Clone, Copy, Debug, Default)]
pub struct Identity;

impl Layer for Identity {
    fn forward(&self, x: &Tensor) -> Tensor {
        x.clone()
    }
}

/// Axes from `start` to `end` become one; by default all but the first.
#[doc = example!(Flatten, "::default()", "[2, 3, 4]" => "[2, 12]")]
#[derive(Module, Clone, Copy, Debug)]
pub struct Flatten {
    /// The first of them.
    pub start: isize,
    /// The last of them; negative: from the end.
    pub end: isize,
}

impl Default for Flatten {
    fn default() -> Flatten {
        Flatten { start: 1, end: -1 }
    }
}

impl Layer for Flatten {
    #[track_caller]
    fn forward(&self, x: &Tensor) -> Tensor {
        x.flatten(self.start, self.end)
    }
}

/// One axis becomes several.
#[doc = example!(Unflatten, "::new(1, &[2, -1])", "[4, 6]" => "[4, 2, 3]")]
#[derive(Module, Clone, Debug)]
pub struct Unflatten {
    /// Which.
    pub axis: isize,
    /// Their sizes; one may be -1 and is found out.
    pub sizes: Vec<i64>,
}

impl Unflatten {
    /// The axis becomes axes of these sizes.
    pub fn new(axis: isize, sizes: &[i64]) -> Unflatten {
        Unflatten { axis, sizes: sizes.to_vec() }
    }
}

impl Layer for Unflatten {
    #[track_caller]
    fn forward(&self, x: &Tensor) -> Tensor {
        x.unflatten(self.axis, self.sizes.as_slice())
    }
}

macro_rules! shuffles {
    ($($name:ident, $field:ident, $method:ident, $text:literal, $new:literal, $from:literal => $to:literal, $doc:literal;)*) => { $(
        #[doc = $doc]
        #[doc = example!($name, $new, $from => $to)]
        #[derive(Module, Clone, Copy, Debug)]
        pub struct $name {
            #[doc = $text]
            pub $field: usize,
        }

        impl Layer for $name {
            #[track_caller]
            fn forward(&self, x: &Tensor) -> Tensor {
                trace::observe(stringify!($name), None, x.$method(self.$field))
            }
        }
    )* };
}
shuffles! {
    PixelShuffle, factor, pixel_shuffle, "How much larger.", " { factor: 2 }", "[2, 8, 3, 4]" => "[2, 2, 6, 8]",
        "`[n, c f², h, w]` to `[n, c, h f, w f]` (Shi et al., 2016).";
    PixelUnshuffle, factor, pixel_unshuffle, "How much smaller.", " { factor: 2 }", "[2, 2, 6, 8]" => "[2, 8, 3, 4]",
        "`[n, c, h f, w f]` to `[n, c f², h, w]`.";
    ChannelShuffle, groups, channel_shuffle, "How many.", " { groups: 2 }", "[2, 6, 3, 4]" => "[2, 6, 3, 4]",
        "Channels of groups one after the other (Zhang et al., 2018).";
}

/// Another size of the spatial axes.
#[doc = example!(
    Upsample,
    "InterpolateMode, InterpolateOptions, ",
    "::new(InterpolateOptions::sizes(InterpolateMode::Linear, &[5, 7]))",
    "[2, 3, 4, 4]" => "[2, 3, 5, 7]"
)]
#[derive(Module, Clone, Debug)]
pub struct Upsample {
    /// Which size, and how elements between are made.
    #[module(skip)]
    pub options: InterpolateOptions,
}

impl Upsample {
    /// As the options say.
    pub fn new(options: InterpolateOptions) -> Upsample {
        Upsample { options }
    }
}

impl Layer for Upsample {
    #[track_caller]
    fn forward(&self, x: &Tensor) -> Tensor {
        trace::observe("Upsample", None, x.interpolate(&self.options))
    }
}

macro_rules! upsamplings {
    ($($name:ident, $options:expr, $doc:literal;)*) => { $(
        #[doc = $doc]
        #[doc = example!($name, "::new(2.0)", "[2, 3, 4, 5]" => "[2, 3, 8, 10]")]
        #[derive(Module, Clone, Debug)]
        pub struct $name {
            /// Which size, and how elements between are made.
            #[module(skip)]
            pub options: InterpolateOptions,
        }

        impl $name {
            /// Height and width multiplied by `factor`.
            pub fn new(factor: f64) -> $name {
                $name { options: InterpolateOptions { scales: vec![factor], ..$options } }
            }

            /// To a height and a width.
            pub fn sizes(sizes: [usize; 2]) -> $name {
                $name { options: InterpolateOptions { sizes: sizes.to_vec(), ..$options } }
            }
        }

        impl Layer for $name {
            #[track_caller]
            fn forward(&self, x: &Tensor) -> Tensor {
                trace::observe(stringify!($name), None, x.interpolate(&self.options))
            }
        }
    )* };
}
upsamplings! {
    UpsamplingNearest2d, InterpolateOptions::sizes(InterpolateMode::Nearest, &[]),
        "Another height and width of `[n, c, h, w]`: the element at the lower corner again and again.";
    UpsamplingBilinear2d, InterpolateOptions::sizes(InterpolateMode::Linear, &[]).align_corners(),
        "Another height and width of `[n, c, h, w]`: straight lines between elements, with the corners where they were.";
}

/// The windows of `[n, c, ..]` as columns `[n, c * window, windows]`.
#[doc = example!(
    Unfold,
    "WindowOptions, ",
    "::new(WindowOptions { kernel: vec![2, 3], ..WindowOptions::default() })",
    "[2, 3, 4, 5]" => "[2, 18, 9]"
)]
#[derive(Module, Clone, Debug)]
pub struct Unfold {
    /// The windows.
    #[module(skip)]
    pub options: WindowOptions,
}

impl Unfold {
    /// As the options say.
    pub fn new(options: WindowOptions) -> Unfold {
        Unfold { options }
    }
}

impl Layer for Unfold {
    #[track_caller]
    fn forward(&self, x: &Tensor) -> Tensor {
        trace::observe("Unfold", None, x.im2col(&self.options))
    }
}

/// Columns `[n, c * window, windows]` added up where their windows lie in `[n, c, sizes..]`.
#[doc = example!(
    Fold,
    "WindowOptions, ",
    "::new(&[4, 5], WindowOptions { kernel: vec![2, 3], ..WindowOptions::default() })",
    "[2, 18, 9]" => "[2, 3, 4, 5]"
)]
#[derive(Module, Clone, Debug)]
pub struct Fold {
    /// Of the result's spatial axes.
    pub sizes: Vec<usize>,
    /// The windows.
    #[module(skip)]
    pub options: WindowOptions,
}

impl Fold {
    /// To the given sizes.
    pub fn new(sizes: &[usize], options: WindowOptions) -> Fold {
        Fold { sizes: sizes.to_vec(), options }
    }
}

impl Layer for Fold {
    #[track_caller]
    fn forward(&self, x: &Tensor) -> Tensor {
        trace::observe("Fold", None, x.col2im(&self.sizes, &self.options))
    }
}

/// The cosine of the angle between two tensors along an axis.
///
/// ```
/// # extern crate unigrad_nn as unigrad;
/// # unigrad_device::register(unigrad_cpu::CpuDriver::default());
/// use unigrad::nn::CosineSimilarity;
/// use unigrad_tensor::{Device, Tensor};
///
/// let device = Device::open("cpu")?;
/// let (x, other) = (Tensor::new([[3.0f32, 4.0]], &device), Tensor::new([[3.0f32, 0.0]], &device));
/// let y = CosineSimilarity::default().forward(&x, &other);
/// assert!((y.item::<f32>()? - 0.6).abs() < 1e-4 && y.dims()? == [1]);
/// # Ok::<(), unigrad::Error>(())
/// ```
#[derive(Module, Clone, Copy, Debug)]
pub struct CosineSimilarity {
    /// Negative: from the end.
    pub axis: isize,
    /// Lengths count as at least this.
    pub eps: f64,
}

impl Default for CosineSimilarity {
    fn default() -> CosineSimilarity {
        CosineSimilarity { axis: 1, eps: 1e-8 }
    }
}

impl CosineSimilarity {
    /// Of `x` and `other`.
    #[track_caller]
    pub fn forward(&self, x: &Tensor, other: &Tensor) -> Tensor {
        x.cosine_similarity(other, self.axis, self.eps)
    }
}

/// The distance of two tensors along the last axis.
///
/// ```
/// # extern crate unigrad_nn as unigrad;
/// # unigrad_device::register(unigrad_cpu::CpuDriver::default());
/// use unigrad::nn::PairwiseDistance;
/// use unigrad_tensor::{Device, Tensor};
///
/// let device = Device::open("cpu")?;
/// let (x, other) = (Tensor::new([[3.0f32, 4.0]], &device), Tensor::new([[3.0f32, 0.0]], &device));
/// let y = PairwiseDistance::default().forward(&x, &other);
/// assert!((y.item::<f32>()? - 4.0).abs() < 1e-4 && y.dims()? == [1]);
/// # Ok::<(), unigrad::Error>(())
/// ```
#[derive(Module, Clone, Copy, Debug)]
pub struct PairwiseDistance {
    /// Which norm.
    pub p: f64,
    /// Added to differences.
    pub eps: f64,
    /// Whether the axis stays, with size 1.
    pub keepdim: bool,
}

impl Default for PairwiseDistance {
    fn default() -> PairwiseDistance {
        PairwiseDistance { p: 2.0, eps: 1e-6, keepdim: false }
    }
}

impl PairwiseDistance {
    /// Of `x` and `other`.
    #[track_caller]
    pub fn forward(&self, x: &Tensor, other: &Tensor) -> Tensor {
        let distance = x.pairwise_distance(other, self.p, self.eps);
        if self.keepdim { distance.unsqueeze(-1) } else { distance }
    }
}

/// A layer's result added to its input (He et al., 2016); its paths are the layer's.
///
/// ```
/// # extern crate unigrad_nn as unigrad;
/// # unigrad_device::register(unigrad_cpu::CpuDriver::default());
/// use unigrad::nn::{Layer, Linear, Residual};
/// use unigrad_tensor::{DType, Device, Tensor};
///
/// let device = Device::open("cpu")?;
/// let x = Tensor::ones([2, 4], DType::F32, &device);
/// assert_eq!(Residual(Linear::new(4, 4, &device)).forward(&x).dims()?, [2, 4]);
/// # Ok::<(), unigrad::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Residual<L>(pub L);

impl<L: Module> Module for Residual<L> {
    fn visit<'m>(&'m self, visitor: &mut dyn crate::Visitor<'m>) {
        self.0.visit(visitor);
    }

    fn visit_mut(&mut self, visitor: &mut dyn crate::VisitorMut) {
        self.0.visit_mut(visitor);
    }

    fn on_mode(&mut self, training: bool) {
        self.0.on_mode(training);
    }

    fn as_any(&self) -> Option<&dyn std::any::Any> {
        Some(self)
    }

    fn as_any_mut(&mut self) -> Option<&mut dyn std::any::Any> {
        Some(self)
    }
}

impl<L: Layer> Layer for Residual<L> {
    #[track_caller]
    fn forward(&self, x: &Tensor) -> Tensor {
        x + self.0.forward(x)
    }
}
