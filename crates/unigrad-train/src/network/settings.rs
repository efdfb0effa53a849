//! Settings of layers that have several.
//!
//! Always: names and defaults are PyTorch's; what has no default there has none here.

use super::{
    kind::yes,
    sizes::{Factors, Padding, Sizes},
};
use serde::{Deserialize, Serialize};

/// Settings of `dense`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DenseSettings {
    /// Features of the result.
    pub units: usize,
    /// Whether there is a bias.
    #[serde(default = "yes")]
    pub bias: bool,
}

fn ones() -> Sizes {
    Sizes::from(1)
}

fn zeros() -> Sizes {
    Sizes::from(0)
}

pub(super) fn one() -> usize {
    1
}

/// What stands around an input; PyTorch's `padding_mode`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PaddingMode {
    /// Zeros.
    #[default]
    Zeros,
    /// The input mirrored at its ends.
    Reflect,
    /// Its ends again and again.
    Replicate,
    /// The input from its other end.
    Circular,
}

/// Settings of `conv1d`, `conv2d`, `conv3d`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ConvSettings {
    /// Channels of the result.
    pub channels: usize,
    /// Size of the kernel.
    pub kernel: Sizes,
    /// Steps between windows.
    #[serde(default = "ones")]
    pub stride: Sizes,
    /// What stands around the input on both sides.
    #[serde(default)]
    pub padding: Padding,
    /// What that is.
    #[serde(default)]
    pub padding_mode: PaddingMode,
    /// Distance of a kernel's elements.
    #[serde(default = "ones")]
    pub dilation: Sizes,
    /// Groups of channels that do not see each other.
    #[serde(default = "one")]
    pub groups: usize,
    /// Whether there is a bias.
    #[serde(default = "yes")]
    pub bias: bool,
}

impl ConvSettings {
    /// `channels` channels by a kernel of one size.
    pub fn new(channels: usize, kernel: impl Into<Sizes>) -> ConvSettings {
        ConvSettings {
            channels,
            kernel: kernel.into(),
            stride: ones(),
            padding: Padding::default(),
            padding_mode: PaddingMode::Zeros,
            dilation: ones(),
            groups: 1,
            bias: true,
        }
    }

    /// Steps between windows.
    pub fn stride(mut self, stride: impl Into<Sizes>) -> ConvSettings {
        self.stride = stride.into();
        self
    }

    /// Zeros around the input.
    pub fn padding(mut self, padding: impl Into<Padding>) -> ConvSettings {
        self.padding = padding.into();
        self
    }

    /// As much padding as keeps the sizes.
    pub fn same(mut self) -> ConvSettings {
        self.padding = Padding::Same;
        self
    }

    /// Distance of a kernel's elements.
    pub fn dilation(mut self, dilation: impl Into<Sizes>) -> ConvSettings {
        self.dilation = dilation.into();
        self
    }

    /// Groups of channels that do not see each other.
    pub fn groups(mut self, groups: usize) -> ConvSettings {
        self.groups = groups;
        self
    }

    /// Without a bias, as before a norm.
    pub fn no_bias(mut self) -> ConvSettings {
        self.bias = false;
        self
    }
}

/// Settings of `conv_transpose1d`, `conv_transpose2d`, `conv_transpose3d`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ConvTransposeSettings {
    /// Channels of the result.
    pub channels: usize,
    /// Size of the kernel.
    pub kernel: Sizes,
    /// Steps between windows of the result.
    #[serde(default = "ones")]
    pub stride: Sizes,
    /// What is cut from the result on both sides.
    #[serde(default = "zeros")]
    pub padding: Sizes,
    /// What is added at the end of the result.
    #[serde(default = "zeros")]
    pub output_padding: Sizes,
    /// Distance of a kernel's elements.
    #[serde(default = "ones")]
    pub dilation: Sizes,
    /// Groups of channels that do not see each other.
    #[serde(default = "one")]
    pub groups: usize,
    /// Whether there is a bias.
    #[serde(default = "yes")]
    pub bias: bool,
}

impl ConvTransposeSettings {
    /// `channels` channels by a kernel of one size and a stride.
    pub fn new(channels: usize, kernel: impl Into<Sizes>, stride: impl Into<Sizes>) -> ConvTransposeSettings {
        ConvTransposeSettings {
            channels,
            kernel: kernel.into(),
            stride: stride.into(),
            padding: zeros(),
            output_padding: zeros(),
            dilation: ones(),
            groups: 1,
            bias: true,
        }
    }

    /// What is cut from the result on both sides.
    pub fn padding(mut self, padding: impl Into<Sizes>) -> ConvTransposeSettings {
        self.padding = padding.into();
        self
    }
}

/// Settings of pools.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PoolSettings {
    /// Sizes of windows.
    pub kernel: Sizes,
    /// Steps between windows; their size by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stride: Option<Sizes>,
    /// Padding on both sides, at most half of a window.
    #[serde(default = "zeros")]
    pub padding: Sizes,
    /// Distance of a window's elements; of maxima only.
    #[serde(default = "ones")]
    pub dilation: Sizes,
    /// A last window that reaches beyond the end counts too.
    #[serde(default)]
    pub ceil_mode: bool,
    /// Averages divide by the window's size even where it covers padding.
    #[serde(default = "yes")]
    pub count_include_pad: bool,
    /// What averages divide a window's sum by instead of by its size; not 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub divisor_override: Option<i64>,
}

impl PoolSettings {
    /// Windows of one size, side by side.
    pub fn new(kernel: impl Into<Sizes>) -> PoolSettings {
        PoolSettings {
            kernel: kernel.into(),
            stride: None,
            padding: zeros(),
            dilation: ones(),
            ceil_mode: false,
            count_include_pad: true,
            divisor_override: None,
        }
    }

    /// Steps between windows.
    pub fn stride(mut self, stride: impl Into<Sizes>) -> PoolSettings {
        self.stride = Some(stride.into());
        self
    }

    /// Padding on both sides.
    pub fn padding(mut self, padding: impl Into<Sizes>) -> PoolSettings {
        self.padding = padding.into();
        self
    }
}

/// Settings of `lp_pool1d`, `lp_pool2d`, `lp_pool3d`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LpPoolSettings {
    /// The power.
    pub p: f64,
    /// Sizes of windows.
    pub kernel: Sizes,
    /// Steps between windows; their size by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stride: Option<Sizes>,
    /// A last window that reaches beyond the end counts too.
    #[serde(default)]
    pub ceil_mode: bool,
}

/// Windows of `unfold` and `fold`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WindowSettings {
    /// Sizes of windows.
    pub kernel: Sizes,
    /// Steps between windows.
    #[serde(default = "ones")]
    pub stride: Sizes,
    /// Zeros on both sides.
    #[serde(default = "zeros")]
    pub padding: Sizes,
    /// Distance of a window's elements.
    #[serde(default = "ones")]
    pub dilation: Sizes,
}

/// How elements between others are made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UpsampleMode {
    /// The one at the lower corner.
    #[default]
    Nearest,
    /// The one whose middle is nearest; PyTorch's `nearest-exact`.
    #[serde(alias = "nearest-exact")]
    NearestExact,
    /// Linear along each axis (bilinear of two, trilinear of three).
    #[serde(alias = "bilinear", alias = "trilinear")]
    Linear,
    /// Cubic along each axis.
    #[serde(alias = "bicubic")]
    Cubic,
    /// Means over the regions that new elements cover.
    Area,
}

/// Settings of `upsample`: a size or a factor.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct UpsampleSettings {
    /// The new sizes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size: Option<Sizes>,
    /// What sizes are multiplied with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub factor: Option<Factors>,
    /// How.
    pub mode: UpsampleMode,
    /// The first and the last element stay at the ends.
    pub align_corners: bool,
    /// Of smaller results: an element is a mean over all that it covers, weighted by how it is interpolated; of two axes.
    pub antialias: bool,
}
