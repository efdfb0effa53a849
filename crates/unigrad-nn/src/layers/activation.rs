//! Activations as layers.

use super::Layer;
use crate::{Module, trace};
use unigrad_tensor::Tensor;

macro_rules! activations {
    ($($name:ident, |$x:ident| $body:expr, $doc:literal;)*) => { $(
        #[doc = $doc]
        #[derive(Module, Clone, Copy, Debug, Default)]
        pub struct $name;

        impl Layer for $name {
            #[track_caller]
            fn forward(&self, $x: &Tensor) -> Tensor {
                trace::observe(stringify!($name), None, $body)
            }
        }
    )* };
}
activations! {
    Relu, |x| x.relu(), "`max(x, 0)`.";
    Gelu, |x| x.gelu(), "`x` times the normal distribution's cumulative function, exact.";
    Silu, |x| x.silu(), "`x * sigmoid(x)`.";
    Sigmoid, |x| x.sigmoid(), "`1 / (1 + exp(-x))`.";
    Tanh, |x| x.tanh(), "The hyperbolic tangent.";
    Softplus, |x| x.softplus(), "`log(1 + exp(x))`.";
    Mish, |x| x.mish(), "`x * tanh(softplus(x))`.";
    Hardswish, |x| x.hardswish(), "`x * clamp(x + 3, 0, 6) / 6`.";
}

/// `x` above 0, `slope * x` below.
#[derive(Module, Clone, Copy, Debug)]
pub struct LeakyRelu {
    /// The factor below 0.
    pub slope: f64,
}

impl Default for LeakyRelu {
    fn default() -> LeakyRelu {
        LeakyRelu { slope: 0.01 }
    }
}

impl Layer for LeakyRelu {
    #[track_caller]
    fn forward(&self, x: &Tensor) -> Tensor {
        trace::observe("LeakyRelu", None, x.leaky_relu(self.slope))
    }
}

/// `x` above 0, `alpha * (exp(x) - 1)` below.
#[derive(Module, Clone, Copy, Debug)]
pub struct Elu {
    /// The factor below 0.
    pub alpha: f64,
}

impl Default for Elu {
    fn default() -> Elu {
        Elu { alpha: 1.0 }
    }
}

impl Layer for Elu {
    #[track_caller]
    fn forward(&self, x: &Tensor) -> Tensor {
        trace::observe("Elu", None, x.elu(self.alpha))
    }
}

/// `exp(x) / sum(exp(x))` along an axis.
#[derive(Module, Clone, Copy, Debug)]
pub struct Softmax {
    /// Negative: from the end.
    pub axis: isize,
}

impl Layer for Softmax {
    #[track_caller]
    fn forward(&self, x: &Tensor) -> Tensor {
        trace::observe("Softmax", None, x.softmax(self.axis))
    }
}
