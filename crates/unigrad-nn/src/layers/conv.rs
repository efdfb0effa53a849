//! Convolutions and transposed convolutions in one, two and three dimensions.

use super::Layer;
use crate::{Module, init, trace};
use unigrad_tensor::{ConvOptions, Device, Tensor};

macro_rules! convolutions {
    ($($name:ident, $transposed:ident, $n:literal, $forward:ident, $backward:ident, $axes:literal;)*) => { $(
        #[doc = concat!("Convolution over ", $axes, ".")]
        #[derive(Module, Clone)]
        pub struct $name {
            /// `[out, in / groups, kernel..]`.
            pub weight: Tensor,
            /// `[out]`.
            pub bias: Option<Tensor>,
            /// Stride, padding, dilation, groups.
            #[module(skip)]
            pub options: ConvOptions,
        }

        impl $name {
            /// From `inputs` channels to `outputs` with a square kernel, with a bias.
            #[track_caller]
            pub fn new(inputs: usize, outputs: usize, kernel: usize, options: ConvOptions, device: &Device) -> $name {
                let mut shape = vec![outputs, inputs / options.groups.max(1)];
                shape.extend([kernel; $n]);
                let (fan_in, _) = init::fans(&shape);
                $name {
                    weight: init::torch_default(&shape, fan_in, init::dtype(), device),
                    bias: Some(init::torch_default(&[outputs], fan_in, init::dtype(), device)),
                    options,
                }
            }

            /// Without a bias.
            pub fn no_bias(mut self) -> $name {
                self.bias = None;
                self
            }
        }

        impl Layer for $name {
            #[track_caller]
            fn forward(&self, x: &Tensor) -> Tensor {
                trace::observe(stringify!($name), Some(&self.weight), x.$forward(&self.weight, self.bias.as_ref(), &self.options))
            }
        }

        #[doc = concat!("Transposed convolution over ", $axes, ".")]
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
                let mut shape = vec![inputs, outputs / options.groups.max(1)];
                shape.extend([kernel; $n]);
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
    Conv1d, ConvTranspose1d, 1, conv1d, conv_transpose1d, "the last axis of `[n, c, l]`";
    Conv2d, ConvTranspose2d, 2, conv2d, conv_transpose2d, "the last two axes of `[n, c, h, w]`";
    Conv3d, ConvTranspose3d, 3, conv3d, conv_transpose3d, "the last three axes of `[n, c, d, h, w]`";
}
