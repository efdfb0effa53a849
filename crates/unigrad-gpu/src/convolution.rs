//! Convolutions that a vendor's library can do in place of a kernel: what is asked of it, and with which memory.
//!
//! In: a contraction whose one operand is read through windows, as it is or with zeros around and between its elements. Out: a [`Convolution`], which
//! [`crate::Backend::take`] takes on or not, and [`crate::Backend::perform`] queues.
//! Always: with `x` of `[batch, groups * inputs, x...]`, `w` of `[groups * outputs, inputs, w...]` and `y` of `[batch, groups * outputs, y...]`,
//! [`Pass`] says which of the three is computed from the other two; every size is 1 or more, and what the result held does not count. Then
//! `result = activation(scale * sums + residual + bias)`. Sums and what is done with them are in [`Convolution::compute`], rounded once, to the
//! result's dtype; the same convolution gives the same bits each time; [`Convolution::tf32`] allows TF32.
//! Along every axis `padding[0] + x + padding[1] - dilation * (w - 1) - 1` is `stride * (y - 1)`, or more by less than the stride.
//! Never: an epilogue that [`Beside`] has no words for. Where there is one, the result is scratch memory in the compute dtype, and a kernel finishes it.
//!
//! The description is read off the kernel's strides, whatever op the kernel was made for. Several descriptions of one kernel may be right; of these it
//! is the one of fewest axes and nearest taps. Axes of one element may be missing.

use crate::{Activation, Range};
use unigrad_scalar::DType;

/// Which of the three tensors is computed.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Pass {
    /// `y[n, o, p] = sum x[n, i, p * stride + t * dilation - padding] w[o, i, t]` over `i` and `t`; beyond its ends `x` is 0.
    Forward,
    /// The gradient of that with respect to `x`, from `y` and `w`: a transposed convolution.
    Input,
    /// The gradient of that with respect to `w`, from `x` and `y`.
    Weight,
}

/// Where one of the tensors lies in its buffer: strides count elements, and are 0 where an axis has one element or all share it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Grid {
    /// `F32`, `F64`, `F16` or `BF16`.
    pub dtype: DType,
    /// The first element, in elements from where the range begins.
    pub offset: u64,
    /// From one item of the batch to the next; of `w` from one output channel of a group to the next.
    pub outer: u64,
    /// From one group to the next.
    pub group: u64,
    /// From one channel of a group to the next; of `w` from one input channel to the next.
    pub channel: u64,
    /// Along the spatial axes, in the order of [`Convolution::axes`].
    pub spatial: [u64; MOST_AXES],
}

impl Grid {
    /// Bytes from where the range begins to the end of a tensor of these sizes: outer, groups, channels of a group, spatial axes.
    pub fn bytes(&self, outer: u32, groups: u32, channels: u32, spatial: [u32; MOST_AXES]) -> u64 {
        let last = |size: u32, stride: u64| u64::from(size.saturating_sub(1)).saturating_mul(stride);
        let parts = [last(outer, self.outer), last(groups, self.group), last(channels, self.channel)];
        let along = spatial.into_iter().zip(self.spatial).map(|(size, stride)| last(size, stride));
        let elements = parts.into_iter().chain(along).fold(self.offset.saturating_add(1), u64::saturating_add);
        elements.saturating_mul(self.dtype.size() as u64)
    }
}

/// Most spatial axes.
pub const MOST_AXES: usize = 3;

/// One spatial axis.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct SpatialAxis {
    /// Elements of `x`, without padding.
    pub x: u32,
    /// Taps of `w`.
    pub w: u32,
    /// Elements of `y`.
    pub y: u32,
    /// Elements of `x` from one window to the next.
    pub stride: u32,
    /// Elements of `x` from one tap to the next.
    pub dilation: u32,
    /// Zeros before and after `x`.
    pub padding: [u32; 2],
}

impl SpatialAxis {
    /// An axis of one element.
    pub const ONE: SpatialAxis = SpatialAxis { x: 1, w: 1, y: 1, stride: 1, dilation: 1, padding: [0, 0] };
}

/// What a library does with the sums, by its words. A library that takes a convolution on does all of it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Beside {
    /// Whether the sums are multiplied by [`ConvolutionOperands::scale`].
    pub scaled: bool,
    /// A tensor that is added, of the result's shape and dtype. It may be the result itself, lying alike.
    pub residual: Option<Grid>,
    /// A number for each channel of the result that is added, group by group: offset in elements; dtype of the result; one after the other. Not of
    /// [`Pass::Weight`].
    pub bias: Option<u64>,
    /// What comes last; never [`Activation::GeluTanhSlope`], for which there is no word here.
    pub activation: Activation,
    /// Where the activation's argument is stored too.
    pub before: Option<Grid>,
}

/// A convolution or one of its gradients; see the module's text.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Convolution {
    /// What is computed.
    pub pass: Pass,
    /// Items.
    pub batch: u32,
    /// Groups of channels that do not see each other.
    pub groups: u32,
    /// Channels of `x` in a group.
    pub inputs: u32,
    /// Channels of `y` in a group.
    pub outputs: u32,
    /// How many spatial axes there are: 1 to [`MOST_AXES`].
    pub rank: usize,
    /// The spatial axes, outermost first; after `rank` of them [`SpatialAxis::ONE`].
    pub axes: [SpatialAxis; MOST_AXES],
    /// The image.
    pub x: Grid,
    /// The weight, of the dtype of the other operand.
    pub w: Grid,
    /// The convolved image. The result, whichever it is, is of the operands' dtype or of the compute dtype.
    pub y: Grid,
    /// What sums are in: `F64` for `F64`, else `F32`.
    pub compute: DType,
    /// Whether operands of `F32` may be rounded to TF32 (10 bits of mantissa).
    pub tf32: bool,
    /// What the library does with the sums.
    pub inside: Beside,
    /// Bytes that steps before it read and write, because an operand is not in memory as the convolution needs it.
    pub made: u64,
    /// Whether a kernel reads the result afterwards, which the driver's own kernel would have done on the way.
    pub after: bool,
}

impl Convolution {
    /// Multiplications, those by the zeros of the padding included.
    pub fn work(&self) -> f64 {
        let channels = [self.batch, self.groups, self.inputs, self.outputs].into_iter().map(f64::from).product::<f64>();
        self.axes.iter().fold(channels, |work, axis| work * f64::from(axis.w) * f64::from(axis.y))
    }

    /// How many channels the result has.
    pub fn channels(&self) -> u64 {
        let of_group = if self.pass == Pass::Input { self.inputs } else { self.outputs };
        u64::from(self.groups) * u64::from(of_group)
    }

    /// The tensor that is computed.
    pub fn result(&self) -> &Grid {
        match self.pass {
            Pass::Forward => &self.y,
            Pass::Input => &self.x,
            Pass::Weight => &self.w,
        }
    }

    /// Bytes from where its range begins to the end of `x`, `w` and `y`, each as this grid lies.
    pub fn x_bytes(&self, grid: &Grid) -> u64 {
        grid.bytes(self.batch, self.groups, self.inputs, self.axes.map(|axis| axis.x))
    }

    /// See [`Convolution::x_bytes`].
    pub fn w_bytes(&self, grid: &Grid) -> u64 {
        grid.bytes(self.outputs, self.groups, self.inputs, self.axes.map(|axis| axis.w))
    }

    /// See [`Convolution::x_bytes`].
    pub fn y_bytes(&self, grid: &Grid) -> u64 {
        grid.bytes(self.batch, self.groups, self.outputs, self.axes.map(|axis| axis.y))
    }

    /// The same of a tensor of the result's shape.
    pub fn result_bytes(&self, grid: &Grid) -> u64 {
        match self.pass {
            Pass::Forward => self.y_bytes(grid),
            Pass::Input => self.x_bytes(grid),
            Pass::Weight => self.w_bytes(grid),
        }
    }
}

/// The memory of a convolution.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct ConvolutionOperands {
    /// Of `x`.
    pub x: Range,
    /// Of `w`.
    pub w: Range,
    /// Of `y`.
    pub y: Range,
    /// Of [`Beside::residual`].
    pub residual: Option<Range>,
    /// Of [`Beside::bias`].
    pub bias: Option<Range>,
    /// Of [`Beside::before`].
    pub before: Option<Range>,
    /// The factor, where [`Beside::scaled`] says so, else 1.
    pub scale: f64,
}
