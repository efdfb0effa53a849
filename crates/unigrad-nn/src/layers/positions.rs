//! Positional encodings: added to sequences `[batch, length, size]`, or rotating queries and keys.
//!
//! In: sequences. Out: sequences of the same shape, which tell positions apart.

use super::{Dropout, Layer};
use crate::Module;
use unigrad_tensor::{DType, Device, Origin, RopeLayout, Tensor};

/// Adds sines and cosines of a position, of wavelengths from 2π to 20,000π, and drops elements while training (Vaswani et al., 2017).
#[doc = example!(SinusoidalEncoding, "::new(4, 10, 0.1, &device)", "[2, 5, 4]" => "[2, 5, 4]")]
#[derive(Module, Clone)]
pub struct SinusoidalEncoding {
    /// `[1, longest, size]`.
    #[module(buffer)]
    pub pe: Tensor,
    dropout: Dropout,
}

impl SinusoidalEncoding {
    /// For sequences of at most `longest` positions of `size` features.
    #[track_caller]
    pub fn new(size: usize, longest: usize, dropout: f64, device: &Device) -> SinusoidalEncoding {
        let _origin = Origin::enter_caller();
        let mut table = Vec::with_capacity(longest.saturating_mul(size).min(1 << 24));
        for position in 0..longest {
            for feature in 0..size {
                let angle = position as f64 * (-(10000f64.ln()) * (feature / 2 * 2) as f64 / size as f64).exp();
                table.push(if feature % 2 == 0 { angle.sin() } else { angle.cos() } as f32);
            }
        }
        SinusoidalEncoding { pe: Tensor::from_vec(table, [1, longest, size], device), dropout: Dropout::new(dropout) }
    }
}

impl Layer for SinusoidalEncoding {
    #[track_caller]
    fn forward(&self, x: &Tensor) -> Tensor {
        let _origin = Origin::enter_caller();
        let length = x.shape().get(1).copied().unwrap_or(0);
        self.dropout.forward(&(x + self.pe.narrow(1, 0, length).cast(x.dtype())))
    }
}

/// Adds a learned vector for each position (Gehring et al., 2017).
#[doc = example!(LearnedEncoding, "::new(4, 10, &device)", "[2, 5, 4]" => "[2, 5, 4]")]
#[derive(Module, Clone)]
pub struct LearnedEncoding {
    /// `[longest, size]`.
    pub weight: Tensor,
}

impl LearnedEncoding {
    /// For sequences of at most `longest` positions of `size` features.
    #[track_caller]
    pub fn new(size: usize, longest: usize, device: &Device) -> LearnedEncoding {
        LearnedEncoding { weight: crate::init::normal(&[longest, size], 0.02, crate::init::dtype(), device) }
    }
}

impl Layer for LearnedEncoding {
    #[track_caller]
    fn forward(&self, x: &Tensor) -> Tensor {
        let length = x.shape().get(1).copied().unwrap_or(0);
        x + self.weight.narrow(0, 0, length)
    }
}

/// Rotates the features of queries and keys `[batch, heads, length, features]` by angles that grow with the position (Su et al., 2021), so that their
/// products depend on how far apart they are. Without parameters.
///
/// ```
/// # extern crate unigrad_nn as unigrad;
/// # unigrad_device::register(unigrad_cpu::CpuDriver::default());
/// use unigrad::nn::{Layer, RotaryEncoding};
/// use unigrad_tensor::{DType, Device, Tensor};
///
/// let device = Device::open("cpu")?;
/// let q = Tensor::randn([1, 2, 5, 8], DType::F32, &device);
/// let rotated = RotaryEncoding::new(8).forward(&q);
/// // The first position is not rotated, and no length changes.
/// let difference = |a: &Tensor, b: &Tensor| (a - b).abs().max(()).item::<f32>();
/// assert_eq!(difference(&rotated.narrow(2, 0, 1), &q.narrow(2, 0, 1))?, 0.0);
/// assert!(difference(&rotated.norm(2.0, -1), &q.norm(2.0, -1))? < 1e-5);
/// # Ok::<(), unigrad::Error>(())
/// ```
#[derive(Module, Clone, Copy, Debug)]
pub struct RotaryEncoding {
    /// Features of a head.
    pub features: usize,
    /// Of the wavelengths: 10,000 in the paper.
    pub base: f64,
    /// How features pair up.
    #[module(skip)]
    pub layout: RopeLayout,
}

impl RotaryEncoding {
    /// For heads of `features` features, paired as `i` and `i + features / 2`, with base 10,000.
    pub fn new(features: usize) -> RotaryEncoding {
        RotaryEncoding { features, base: 10_000.0, layout: RopeLayout::HalfSplit }
    }

    /// At positions of the caller's, `[length]` or what broadcasts with the batch and the heads: `[batch, 1, length]`.
    #[track_caller]
    pub fn at(&self, x: &Tensor, positions: &Tensor) -> Tensor {
        let _origin = Origin::enter_caller();
        let (cos, sin) = Tensor::rope_tables(positions, self.features, self.base);
        x.rope(&cos.cast(x.dtype()), &sin.cast(x.dtype()), self.layout)
    }
}

impl Layer for RotaryEncoding {
    /// At positions from 0.
    #[track_caller]
    fn forward(&self, x: &Tensor) -> Tensor {
        let _origin = Origin::enter_caller();
        let length = x.rank().checked_sub(2).and_then(|axis| x.shape().get(axis).copied()).unwrap_or(0);
        match x.device() {
            Ok(device) => self.at(x, &Tensor::arange(0.0, length as f64, 1.0, DType::I64, &device)),
            Err(_) => x.clone(),
        }
    }
}
