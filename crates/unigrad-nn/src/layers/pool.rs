//! Pooling layers, and the flattening that follows them.

use super::Layer;
use crate::{Module, trace};
use unigrad_tensor::{PoolOptions, Tensor};

macro_rules! pools {
    ($($name:ident, $method:ident, $doc:literal;)*) => { $(
        #[doc = $doc]
        #[derive(Module, Clone, Debug)]
        pub struct $name {
            /// Window, stride, padding.
            #[module(skip)]
            pub options: PoolOptions,
        }

        impl $name {
            /// Windows of `kernel`, side by side.
            pub fn new(kernel: usize) -> $name {
                $name { options: PoolOptions::new(kernel) }
            }

            /// With settings.
            pub fn with(options: PoolOptions) -> $name {
                $name { options }
            }
        }

        impl Layer for $name {
            #[track_caller]
            fn forward(&self, x: &Tensor) -> Tensor {
                trace::observe(stringify!($name), None, x.$method(&self.options))
            }
        }
    )* };
}
pools! {
    MaxPool1d, max_pool1d, "The maximum of each window of `[n, c, l]`.";
    MaxPool2d, max_pool2d, "The maximum of each window of `[n, c, h, w]`.";
    MaxPool3d, max_pool3d, "The maximum of each window of `[n, c, d, h, w]`.";
    AvgPool1d, avg_pool1d, "The average of each window of `[n, c, l]`.";
    AvgPool2d, avg_pool2d, "The average of each window of `[n, c, h, w]`.";
    AvgPool3d, avg_pool3d, "The average of each window of `[n, c, d, h, w]`.";
}

macro_rules! adaptive_pools {
    ($($name:ident, $n:literal, $method:ident, $doc:literal;)*) => { $(
        #[doc = $doc]
        #[derive(Module, Clone, Debug)]
        pub struct $name {
            /// Regions per axis.
            pub sizes: [usize; $n],
        }

        impl $name {
            /// With so many regions per axis.
            pub fn new(sizes: [usize; $n]) -> $name {
                $name { sizes }
            }
        }

        impl Layer for $name {
            #[track_caller]
            fn forward(&self, x: &Tensor) -> Tensor {
                trace::observe(stringify!($name), None, x.$method(&self.sizes))
            }
        }
    )* };
}
adaptive_pools! {
    AdaptiveAvgPool1d, 1, adaptive_avg_pool, "Averages over as many regions as asked, of `[n, c, l]`.";
    AdaptiveAvgPool2d, 2, adaptive_avg_pool, "Averages over as many regions as asked, of `[n, c, h, w]`.";
    AdaptiveAvgPool3d, 3, adaptive_avg_pool, "Averages over as many regions as asked, of `[n, c, d, h, w]`.";
    AdaptiveMaxPool1d, 1, adaptive_max_pool, "Maxima over as many regions as asked, of `[n, c, l]`.";
    AdaptiveMaxPool2d, 2, adaptive_max_pool, "Maxima over as many regions as asked, of `[n, c, h, w]`.";
    AdaptiveMaxPool3d, 3, adaptive_max_pool, "Maxima over as many regions as asked, of `[n, c, d, h, w]`.";
}

/// All axes but the first become one.
#[derive(Module, Clone, Copy, Debug, Default)]
pub struct Flatten;

impl Layer for Flatten {
    #[track_caller]
    fn forward(&self, x: &Tensor) -> Tensor {
        x.flatten(1, -1)
    }
}
