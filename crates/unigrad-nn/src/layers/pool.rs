//! Pooling layers, and those that put back what a pool took.

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

macro_rules! power_pools {
    ($($name:ident, $n:literal, $doc:literal;)*) => { $(
        #[doc = $doc]
        #[derive(Module, Clone, Debug)]
        pub struct $name {
            /// The power.
            pub p: f64,
            /// Window and stride.
            #[module(skip)]
            pub options: PoolOptions,
        }

        impl $name {
            /// Windows of `kernel`, side by side.
            pub fn new(p: f64, kernel: usize) -> $name {
                $name { p, options: PoolOptions::new(kernel) }
            }
        }

        impl Layer for $name {
            #[track_caller]
            fn forward(&self, x: &Tensor) -> Tensor {
                let windows = |axis: usize| self.options.kernel.get(axis).or(self.options.kernel.first()).copied().unwrap_or(1) as f64;
                let size = (0..$n).map(windows).product::<f64>();
                let options = PoolOptions { count_include_pad: true, ..self.options.clone() };
                let sum = x.pow(self.p).avg_pool($n, &options) * size;
                trace::observe(stringify!($name), None, sum.pow(1.0 / self.p))
            }
        }
    )* };
}
power_pools! {
    LpPool1d, 1, "`(Σ x^p)^(1/p)` of each window of `[n, c, l]`.";
    LpPool2d, 2, "`(Σ x^p)^(1/p)` of each window of `[n, c, h, w]`.";
    LpPool3d, 3, "`(Σ x^p)^(1/p)` of each window of `[n, c, d, h, w]`.";
}

macro_rules! unpools {
    ($($name:ident, $method:ident, $doc:literal;)*) => { $(
        #[doc = $doc]
        #[derive(Module, Clone, Debug)]
        pub struct $name {
            /// The windows of the pool.
            #[module(skip)]
            pub options: PoolOptions,
        }

        impl $name {
            /// Of windows of `kernel`, side by side.
            pub fn new(kernel: usize) -> $name {
                $name { options: PoolOptions::new(kernel) }
            }

            /// Each element where `index` says that it was the maximum ([`Tensor::max_pool_with_index`]), zeros elsewhere; `sizes`: of the spatial axes, where
            /// several fit.
            #[track_caller]
            pub fn forward(&self, x: &Tensor, index: &Tensor, sizes: Option<&[usize]>) -> Tensor {
                trace::observe(stringify!($name), None, x.$method(index, &self.options, sizes))
            }
        }
    )* };
}
unpools! {
    MaxUnpool1d, max_unpool1d, "What [`MaxPool1d`] took is put back.";
    MaxUnpool2d, max_unpool2d, "What [`MaxPool2d`] took is put back.";
    MaxUnpool3d, max_unpool3d, "What [`MaxPool3d`] took is put back.";
}
