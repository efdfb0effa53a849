//! Dropout: of elements, of channels, and such that keeps mean and variance.
//!
//! Always: while training only; in use nothing happens. A probability out of 0..=1 is an error of the result.

use super::Layer;
use crate::Module;
use unigrad_tensor::Tensor;

macro_rules! dropouts {
    ($($name:ident, |$x:ident, $p:ident| $body:expr, $doc:literal, $shape:literal;)*) => { $(
        #[doc = $doc]
        #[doc = example!($name, "::new(0.2)", $shape => $shape)]
        #[derive(Module, Clone, Debug)]
        #[module(on_mode = "set_training")]
        pub struct $name {
            /// The probability.
            pub p: f64,
            training: bool,
        }

        impl Default for $name {
            fn default() -> $name {
                $name::new(0.5)
            }
        }

        impl $name {
            /// With probability `p`.
            pub fn new(p: f64) -> $name {
                $name { p, training: true }
            }

            fn set_training(&mut self, training: bool) {
                self.training = training;
            }
        }

        impl Layer for $name {
            #[track_caller]
            fn forward(&self, $x: &Tensor) -> Tensor {
                let $p = self.p;
                if self.training && $p != 0.0 { $body } else { $x.clone() }
            }
        }
    )* };
}
dropouts! {
    Dropout, |x, p| x.dropout(p), "While training, each element is 0 with probability `p`, else divided by `1 - p`; in use, nothing happens.", "[2, 3]";
    Dropout1d, |x, p| channels(x, p, 1), "While training, each channel of `[n, c, l]` or `[c, l]` is 0 with probability `p`, else divided by `1 - p`.", "[2, 3, 4]";
    Dropout2d, |x, p| channels(x, p, 2), "While training, each channel of `[n, c, h, w]` or `[c, h, w]` is 0 with probability `p`, else divided by `1 - p`.", "[2, 3, 4, 4]";
    Dropout3d, |x, p| channels(x, p, 3), "While training, each channel of `[n, c, d, h, w]` or `[c, d, h, w]` is 0 with probability `p`, else divided by `1 - p`.", "[2, 3, 4, 4, 4]";
    AlphaDropout, |x, p| alpha(x, &ones(x, x.rank()), p),
        "While training, elements are dropped to where [`super::Selu`] saturates, such that mean and variance stay (Klambauer et al., 2017).", "[2, 3]";
    FeatureAlphaDropout, |x, p| alpha(x, &ones(x, 2), p), "[`AlphaDropout`] of whole channels (axis 1).", "[2, 3, 4]";
}

/// Ones of the shape of `x` up to the axis `kept`, and 1 from there.
#[track_caller]
fn ones(x: &Tensor, kept: usize) -> Tensor {
    (kept..x.rank()).fold(x.detach(), |part, axis| part.narrow(axis as isize, 0, 1)).ones_like()
}

/// One draw for all `n` spatial axes.
#[track_caller]
fn channels(x: &Tensor, p: f64, n: usize) -> Tensor {
    x * ones(x, x.rank().saturating_sub(n)).dropout(p)
}

/// The value at which SELU saturates: `-scale * alpha`.
const SATURATION: f64 = -1.758_099_340_847_376_6;

/// What is dropped becomes [`SATURATION`], and a linear map brings mean 0 and variance 1 back. With `p` of 1 all is 0, as in PyTorch.
#[track_caller]
fn alpha(x: &Tensor, ones: &Tensor, p: f64) -> Tensor {
    let kept = ones.dropout(p);
    if kept.is_invalid() || p == 1.0 {
        return x * kept;
    }
    let a = ((1.0 - p) * (1.0 + p * SATURATION * SATURATION)).powf(-0.5);
    let b = -a * SATURATION * p;
    kept.ne(0.0).where_(x * a + b, SATURATION * a + b)
}
