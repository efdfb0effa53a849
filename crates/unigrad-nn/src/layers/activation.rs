//! Activations as layers.
//!
//! Always: names and defaults are PyTorch's. Never: a state; only [`PRelu`] has a parameter, and only [`RRelu`] draws numbers, while training.

use super::Layer;
use crate::{Module, init, trace};
use unigrad_tensor::{Device, Tensor};

macro_rules! activations {
    ($($name:ident, |$x:ident| $body:expr, $doc:literal, ($($example:tt)*);)*) => { $(
        #[doc = $doc]
        #[doc = example!($name, $($example)*)]
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
    Relu, |x| x.relu(), "`max(x, 0)`.", ("", "[0.0, 0.0, 1.0]");
    Relu6, |x| x.relu6(), "`min(max(x, 0), 6)`.", ("", "[0.0, 0.0, 1.0]");
    Selu, |x| x.selu(), "`scale * (max(x, 0) + min(alpha (exp(x) - 1), 0))`, which keeps mean and variance (Klambauer et al., 2017).", ("", "[-1.5202, 0.0, 1.0507]");
    Gelu, |x| x.gelu(), "`x` times the normal distribution's cumulative function, exact.", ("", "[-0.0455, 0.0, 0.8413]");
    GeluTanh, |x| x.gelu_tanh(), "[`Gelu`] as the formula with a hyperbolic tangent has it.", ("", "[-0.0454, 0.0, 0.8412]");
    Silu, |x| x.silu(), "`x * sigmoid(x)`.", ("", "[-0.2384, 0.0, 0.7311]");
    Sigmoid, |x| x.sigmoid(), "`1 / (1 + exp(-x))`.", ("", "[0.1192, 0.5, 0.7311]");
    LogSigmoid, |x| x.log_sigmoid(), "`log(1 / (1 + exp(-x)))`.", ("", "[-2.1269, -0.6931, -0.3133]");
    Tanh, |x| x.tanh(), "The hyperbolic tangent.", ("", "[-0.964, 0.0, 0.7616]");
    Tanhshrink, |x| x.tanhshrink(), "`x - tanh(x)`.", ("", "[-1.036, 0.0, 0.2384]");
    Softsign, |x| x.softsign(), "`x / (1 + |x|)`.", ("", "[-0.6667, 0.0, 0.5]");
    Mish, |x| x.mish(), "`x * tanh(softplus(x))`.", ("", "[-0.2525, 0.0, 0.8651]");
    Hardswish, |x| x.hardswish(), "`x * clamp(x + 3, 0, 6) / 6`.", ("", "[-0.3333, 0.0, 0.6667]");
    Hardsigmoid, |x| x.hardsigmoid(), "`clamp(x + 3, 0, 6) / 6`.", ("", "[0.1667, 0.5, 0.6667]");
    Softmax2d, |x| x.softmax(-3), "`exp(x) / sum(exp(x))` over the channels of `[n, c, h, w]` or `[c, h, w]`.", ("", "[2, 3, 4, 4]" => "[2, 3, 4, 4]");
}

macro_rules! with_settings {
    ($($name:ident { $($field:ident: $ty:ty = $default:expr, $text:literal;)* } |$layer:ident, $x:ident| $body:expr, $doc:literal,
        ($($example:tt)*);)*) => { $(
        #[doc = $doc]
        #[doc = example!($name, $($example)*)]
        #[derive(Module, Clone, Copy, Debug)]
        pub struct $name {
            $(#[doc = $text] pub $field: $ty,)*
        }

        impl Default for $name {
            fn default() -> $name {
                $name { $($field: $default),* }
            }
        }

        impl Layer for $name {
            #[track_caller]
            fn forward(&self, $x: &Tensor) -> Tensor {
                let $layer = self;
                trace::observe(stringify!($name), None, $body)
            }
        }
    )* };
}
with_settings! {
    LeakyRelu { slope: f64 = 0.01, "The factor below 0."; } |l, x| x.leaky_relu(l.slope), "`x` above 0, `slope * x` below.", ("::default()", "[-0.02, 0.0, 1.0]");
    Elu { alpha: f64 = 1.0, "The factor below 0."; } |l, x| x.elu(l.alpha), "`x` above 0, `alpha * (exp(x) - 1)` below.", ("::default()", "[-0.8647, 0.0, 1.0]");
    Celu { alpha: f64 = 1.0, "How far below 0 it goes."; } |l, x| x.celu(l.alpha), "`x` above 0, `alpha * (exp(x / alpha) - 1)` below.", ("::default()", "[-0.8647, 0.0, 1.0]");
    Softplus { beta: f64 = 1.0, "How sharp the bend is."; threshold: f64 = 20.0, "Above it, `beta x` counts as the result."; }
        |l, x| if l.beta == 1.0 && l.threshold >= 20.0 { x.softplus() } else { x.softplus_with(l.beta, l.threshold) },
        "`log(1 + exp(beta x)) / beta`.", ("::default()", "[0.1269, 0.6931, 1.3133]");
    Softshrink { lambda: f64 = 0.5, "How far."; } |l, x| x.softshrink(l.lambda), "Toward 0 by `lambda`, and 0 within it.", ("::default()", "[-1.5, 0.0, 0.5]");
    Hardshrink { lambda: f64 = 0.5, "How far."; } |l, x| x.hardshrink(l.lambda), "0 within `lambda` of 0, else `x`.", ("::default()", "[-2.0, 0.0, 1.0]");
    Hardtanh { low: f64 = -1.0, "The least value."; high: f64 = 1.0, "The greatest."; }
        |l, x| x.hardtanh_with(l.low, l.high), "`min(max(x, low), high)`.", ("::default()", "[-1.0, 0.0, 1.0]");
    Threshold { threshold: f64 = 0.0, "What is at most this is replaced."; value: f64 = 0.0, "What by."; }
        |l, x| x.threshold(l.threshold, l.value), "`x` above `threshold`, else `value`.", ("::default()", "[0.0, 0.0, 1.0]");
    Softmax { axis: isize = -1, "Negative: from the end."; } |l, x| x.softmax(l.axis), "`exp(x) / sum(exp(x))` along an axis.", ("::default()", "[0.0351, 0.2595, 0.7054]");
    Softmin { axis: isize = -1, "Negative: from the end."; } |l, x| x.softmin(l.axis), "`exp(-x) / sum(exp(-x))` along an axis.", ("::default()", "[0.8438, 0.1142, 0.042]");
    LogSoftmax { axis: isize = -1, "Negative: from the end."; } |l, x| x.log_softmax(l.axis), "The logarithm of [`Softmax`].", ("::default()", "[-3.349, -1.349, -0.349]");
    Glu { axis: isize = -1, "Negative: from the end."; } |l, x| x.glu(l.axis),
        "One half of an axis times the sigmoid of the other (Dauphin et al., 2017).", ("::default()", "[2, 6]" => "[2, 3]");
    SwiGlu { axis: isize = -1, "Negative: from the end."; } |l, x| gated(x, l.axis, Tensor::silu),
        "One half of an axis times the other's [`Silu`] (Shazeer, 2020): `silu(first) * second`.", ("::default()", "[2, 6]" => "[2, 3]");
    GeGlu { axis: isize = -1, "Negative: from the end."; } |l, x| gated(x, l.axis, Tensor::gelu),
        "One half of an axis times the other's [`Gelu`] (Shazeer, 2020): `gelu(first) * second`.", ("::default()", "[2, 6]" => "[2, 3]");
}

/// `f` of the first half times the second.
#[track_caller]
fn gated(x: &Tensor, axis: isize, f: fn(&Tensor) -> Tensor) -> Tensor {
    let halves = x.chunk(2, axis);
    match halves.as_slice() {
        [gate, value] if gate.shape() == value.shape() => f(gate) * value,
        // An axis that is not there, or has no halves: the error of an op that says so.
        _ => x.glu(axis),
    }
}

/// `x` above 0, `weight * x` below; the weight is learned: one, or one for each channel (axis 1).
#[doc = example!(PRelu, "::new(1, &Device::open(\"cpu\")?)", "[-0.5, 0.0, 1.0]")]
#[derive(Module, Clone, Debug)]
pub struct PRelu {
    /// `[1]` or `[channels]`.
    pub weight: Tensor,
}

impl PRelu {
    /// With `n` weights (1, or the number of channels), each 0.25 at first.
    #[track_caller]
    pub fn new(n: usize, device: &Device) -> PRelu {
        PRelu::with(n, 0.25, device)
    }

    /// With `n` weights, each `slope` at first.
    #[track_caller]
    pub fn with(n: usize, slope: f64, device: &Device) -> PRelu {
        PRelu { weight: init::constant(&[n], slope, init::dtype(), device) }
    }
}

impl Layer for PRelu {
    #[track_caller]
    fn forward(&self, x: &Tensor) -> Tensor {
        trace::observe("PRelu", Some(&self.weight), x.prelu(&self.weight))
    }
}

/// [`LeakyRelu`] whose slope is drawn for each element while training, and the middle of the range in use (Xu et al., 2015).
#[doc = example!(RRelu, "::new(0.5, 0.5)", "[-1.0, 0.0, 1.0]")]
#[derive(Module, Clone, Debug)]
#[module(on_mode = "set_training")]
pub struct RRelu {
    /// The least slope.
    pub lower: f64,
    /// The greatest slope.
    pub upper: f64,
    training: bool,
}

impl Default for RRelu {
    fn default() -> RRelu {
        RRelu::new(1.0 / 8.0, 1.0 / 3.0)
    }
}

impl RRelu {
    /// Slopes of `lower..upper`.
    pub fn new(lower: f64, upper: f64) -> RRelu {
        RRelu { lower, upper, training: true }
    }

    fn set_training(&mut self, training: bool) {
        self.training = training;
    }
}

impl Layer for RRelu {
    #[track_caller]
    fn forward(&self, x: &Tensor) -> Tensor {
        let y = if self.training {
            let slope = x.rand_like() * (self.upper - self.lower) + self.lower;
            x.ge(0.0).where_(x, x * slope)
        } else {
            x.leaky_relu((self.lower + self.upper) / 2.0)
        };
        trace::observe("RRelu", None, y)
    }
}
