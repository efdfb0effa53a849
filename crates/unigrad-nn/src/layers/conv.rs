//! Convolutions and transposed convolutions in one, two and three dimensions.

use super::Layer;
use crate::{Module, init, trace};
use std::borrow::Cow;
use unigrad_tensor::{ConvOptions, Device, PadMode, Tensor};

/// The input with what `mode` puts around it, and settings that pad no more; as they are for zeros.
#[track_caller]
fn around<'a>(x: &'a Tensor, n: usize, options: &'a ConvOptions, mode: PadMode) -> (Cow<'a, Tensor>, Cow<'a, ConvOptions>) {
    let zeros = matches!(mode, PadMode::Constant(0.0)) || options.padding.iter().all(|pads| *pads == (0, 0));
    // Settings for another number of axes are told by the convolution.
    if zeros || !(options.padding.len() == 1 || options.padding.len() == n) {
        return (Cow::Borrowed(x), Cow::Borrowed(options));
    }
    let pads: Vec<(usize, usize)> = options.padding.iter().copied().cycle().take(n).collect();
    (Cow::Owned(x.pad_with(&pads, mode)), Cow::Owned(ConvOptions { padding: Vec::new(), ..options.clone() }))
}

macro_rules! convolutions {
    ($($name:ident, $transposed:ident, $n:literal, $forward:ident, $backward:ident, $axes:literal, $from:literal, $to:literal;)*) => { $(
        #[doc = concat!("Convolution over ", $axes, ".")]
        #[doc = example!($name, "ConvOptions, ", "::new(4, 6, 3, ConvOptions::new(2, 1), &device)", $from => $to)]
        #[derive(Module, Clone)]
        pub struct $name {
            /// `[out, in / groups, kernel..]`.
            pub weight: Tensor,
            /// `[out]`.
            pub bias: Option<Tensor>,
            /// Stride, padding, dilation, groups.
            #[module(skip)]
            pub options: ConvOptions,
            /// What stands around the input: zeros unless told otherwise.
            #[module(skip)]
            pub padding_mode: PadMode,
        }

        impl $name {
            /// From `inputs` channels to `outputs` with a square kernel, with a bias.
            #[track_caller]
            pub fn new(inputs: usize, outputs: usize, kernel: usize, options: ConvOptions, device: &Device) -> $name {
                $name::with_kernel(inputs, outputs, [kernel; $n], options, device)
            }

            /// With a kernel size per axis.
            #[track_caller]
            pub fn with_kernel(inputs: usize, outputs: usize, kernel: [usize; $n], options: ConvOptions, device: &Device) -> $name {
                let mut shape = vec![outputs, inputs / options.groups.max(1)];
                shape.extend(kernel);
                let (fan_in, _) = init::fans(&shape);
                $name {
                    weight: init::torch_default(&shape, fan_in, init::dtype(), device),
                    bias: Some(init::torch_default(&[outputs], fan_in, init::dtype(), device)),
                    options,
                    padding_mode: PadMode::Constant(0.0),
                }
            }

            /// Without a bias.
            pub fn no_bias(mut self) -> $name {
                self.bias = None;
                self
            }

            /// With something else than zeros around the input: PyTorch's `padding_mode`.
            pub fn padding_mode(mut self, mode: PadMode) -> $name {
                self.padding_mode = mode;
                self
            }

            /// With the padding that keeps sizes, at stride 1: PyTorch's `padding="same"`.
            pub fn same_padding(mut self) -> $name {
                let kernel = self.weight.shape();
                let total = |axis: usize| {
                    let dilation = self.options.dilation.get(axis).or(self.options.dilation.first()).copied().unwrap_or(1);
                    dilation * kernel.get(axis + 2).copied().unwrap_or(1).saturating_sub(1)
                };
                self.options.padding = (0..$n).map(|axis| (total(axis) / 2, total(axis) - total(axis) / 2)).collect();
                self
            }
        }

        impl Layer for $name {
            #[track_caller]
            fn forward(&self, x: &Tensor) -> Tensor {
                let (padded, options) = around(x, $n, &self.options, self.padding_mode);
                trace::observe(stringify!($name), Some(&self.weight), padded.$forward(&self.weight, self.bias.as_ref(), &options))
            }
        }

        #[doc = concat!("Transposed convolution over ", $axes, ".")]
        #[doc = example!($transposed, "ConvOptions, ", "::new(6, 4, 3, ConvOptions::new(2, 1), &device)", $to => $from)]
        #[derive(Module, Clone)]
        pub struct $transposed {
            /// `[in, out / groups, kernel..]`.
            pub weight: Tensor,
            /// `[out]`.
            pub bias: Option<Tensor>,
            /// Stride, padding, dilation, groups, output padding.
            #[module(skip)]
            pub options: ConvOptions,
        }

        impl $transposed {
            /// From `inputs` channels to `outputs` with a square kernel, with a bias.
            #[track_caller]
            pub fn new(inputs: usize, outputs: usize, kernel: usize, options: ConvOptions, device: &Device) -> $transposed {
                $transposed::with_kernel(inputs, outputs, [kernel; $n], options, device)
            }

            /// With a kernel size per axis.
            #[track_caller]
            pub fn with_kernel(inputs: usize, outputs: usize, kernel: [usize; $n], options: ConvOptions, device: &Device) -> $transposed {
                let mut shape = vec![inputs, outputs / options.groups.max(1)];
                shape.extend(kernel);
                let (fan_in, _) = init::fans(&shape);
                $transposed {
                    weight: init::torch_default(&shape, fan_in, init::dtype(), device),
                    bias: Some(init::torch_default(&[outputs], fan_in, init::dtype(), device)),
                    options,
                }
            }

            /// Without a bias.
            pub fn no_bias(mut self) -> $transposed {
                self.bias = None;
                self
            }
        }

        impl Layer for $transposed {
            #[track_caller]
            fn forward(&self, x: &Tensor) -> Tensor {
                trace::observe(stringify!($transposed), Some(&self.weight), x.$backward(&self.weight, self.bias.as_ref(), &self.options))
            }
        }
    )* };
}
convolutions! {
    Conv1d, ConvTranspose1d, 1, conv1d, conv_transpose1d, "the last axis of `[n, c, l]`", "[2, 4, 9]", "[2, 6, 5]";
    Conv2d, ConvTranspose2d, 2, conv2d, conv_transpose2d, "the last two axes of `[n, c, h, w]`", "[2, 4, 9, 7]", "[2, 6, 5, 4]";
    Conv3d, ConvTranspose3d, 3, conv3d, conv_transpose3d, "the last three axes of `[n, c, d, h, w]`", "[2, 4, 3, 9, 7]",
        "[2, 6, 2, 5, 4]";
}
