//! Pooling layers, and those that put back what a pool took.

use super::Layer;
use crate::{Module, trace};
use unigrad_tensor::{PoolOptions, Tensor};

macro_rules! pools {
    ($($name:ident, $method:ident, $from:literal => $to:literal, $doc:literal;)*) => { $(
        #[doc = $doc]
        #[doc = example!($name, "::new(2)", $from => $to)]
        #[derive(Module, Clone, Debug)]
        pub struct $name {
            /// Window, stride, padding, and what averages divide by.
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
    MaxPool1d, max_pool1d, "[2, 3, 9]" => "[2, 3, 4]", "The maximum of each window of `[n, c, l]`.";
    MaxPool2d, max_pool2d, "[2, 3, 8, 6]" => "[2, 3, 4, 3]", "The maximum of each window of `[n, c, h, w]`.";
    MaxPool3d, max_pool3d, "[2, 3, 4, 8, 6]" => "[2, 3, 2, 4, 3]", "The maximum of each window of `[n, c, d, h, w]`.";
    AvgPool1d, avg_pool1d, "[2, 3, 9]" => "[2, 3, 4]", "The average of each window of `[n, c, l]`.";
    AvgPool2d, avg_pool2d, "[2, 3, 8, 6]" => "[2, 3, 4, 3]", "The average of each window of `[n, c, h, w]`.";
    AvgPool3d, avg_pool3d, "[2, 3, 4, 8, 6]" => "[2, 3, 2, 4, 3]", "The average of each window of `[n, c, d, h, w]`.";
}

macro_rules! adaptive_pools {
    ($($name:ident, $n:literal, $method:ident, $new:literal, $from:literal => $to:literal, $doc:literal;)*) => { $(
        #[doc = $doc]
        #[doc = example!($name, $new, $from => $to)]
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
    AdaptiveAvgPool1d, 1, adaptive_avg_pool, "::new([3])", "[2, 4, 7]" => "[2, 4, 3]",
        "Averages over as many regions as asked, of `[n, c, l]`.";
    AdaptiveAvgPool2d, 2, adaptive_avg_pool, "::new([3, 2])", "[2, 4, 7, 5]" => "[2, 4, 3, 2]",
        "Averages over as many regions as asked, of `[n, c, h, w]`.";
    AdaptiveAvgPool3d, 3, adaptive_avg_pool, "::new([2, 3, 2])", "[2, 4, 3, 7, 5]" => "[2, 4, 2, 3, 2]",
        "Averages over as many regions as asked, of `[n, c, d, h, w]`.";
    AdaptiveMaxPool1d, 1, adaptive_max_pool, "::new([3])", "[2, 4, 7]" => "[2, 4, 3]",
        "Maxima over as many regions as asked, of `[n, c, l]`.";
    AdaptiveMaxPool2d, 2, adaptive_max_pool, "::new([3, 2])", "[2, 4, 7, 5]" => "[2, 4, 3, 2]",
        "Maxima over as many regions as asked, of `[n, c, h, w]`.";
    AdaptiveMaxPool3d, 3, adaptive_max_pool, "::new([2, 3, 2])", "[2, 4, 3, 7, 5]" => "[2, 4, 2, 3, 2]",
        "Maxima over as many regions as asked, of `[n, c, d, h, w]`.";
}

macro_rules! power_pools {
    ($($name:ident, $n:literal, $from:literal => $to:literal, $doc:literal;)*) => { $(
        #[doc = $doc]
        #[doc = example!($name, "::new(2.0, 2)", $from => $to)]
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
    LpPool1d, 1, "[2, 3, 9]" => "[2, 3, 4]", "`(Σ x^p)^(1/p)` of each window of `[n, c, l]`.";
    LpPool2d, 2, "[2, 3, 8, 6]" => "[2, 3, 4, 3]", "`(Σ x^p)^(1/p)` of each window of `[n, c, h, w]`.";
    LpPool3d, 3, "[2, 3, 4, 8, 6]" => "[2, 3, 2, 4, 3]", "`(Σ x^p)^(1/p)` of each window of `[n, c, d, h, w]`.";
}

macro_rules! unpools {
    ($($name:ident, $method:ident, $n:literal, $shape:literal, $doc:literal;)*) => { $(
        #[doc = $doc]
        #[doc = example!(unpool $name, $n, $shape)]
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
    MaxUnpool1d, max_unpool1d, 1, "[2, 3, 8]", "What [`MaxPool1d`] took is put back.";
    MaxUnpool2d, max_unpool2d, 2, "[2, 3, 8, 6]", "What [`MaxPool2d`] took is put back.";
    MaxUnpool3d, max_unpool3d, 3, "[2, 3, 4, 8, 6]", "What [`MaxPool3d`] took is put back.";
}
