//! Layers whose weight is computed from others: weight norm and spectral norm around a linear map or a convolution.
//!
//! In: a layer's description, settings. Out: the layer with a computed weight, or what is wrong with it. Always: names of parameters are those of PyTorch's
//! `nn.utils.parametrizations`. Never: around a layer without one weight of its own, or around each other.

use super::{
    build::Wrong,
    checks::{Checked, epsilon, size},
    kind::LayerKind,
    kinds::{self, Made},
    settings::one,
    spec::LayerSpec,
};
use serde::{Deserialize, Serialize};
use unigrad_nn::{self as nn, Error};
use unigrad_tensor::{Device, Tensor};

/// Settings of `weight_norm`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WeightNormSettings {
    /// The layer: `dense`, a convolution or a transposed one.
    pub layer: Box<LayerSpec>,
    /// There is a length for each index of this axis of the weight; of -1, one for all of it.
    #[serde(default)]
    pub axis: i64,
}

/// Settings of `spectral_norm`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SpectralNormSettings {
    /// The layer: `dense`, a convolution or a transposed one.
    pub layer: Box<LayerSpec>,
    /// Steps of power iteration in each forward pass while training.
    #[serde(default = "one")]
    pub n_power_iterations: usize,
    /// What a vector's length is at least.
    #[serde(default = "tiny")]
    pub eps: f64,
    /// The axis of the weight whose indices are rows; 0 without it, 1 of transposed convolutions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub axis: Option<usize>,
}

fn tiny() -> f64 {
    1e-12
}

const WEIGHT: &str = "weight";

/// The axes of the weight, if the layer has one of its own.
fn weight_of(kind: &LayerKind) -> Option<(usize, bool)> {
    use LayerKind as K;
    Some(match kind {
        K::Dense(_) | K::Output => (2, false),
        K::Conv1d(_) => (3, false),
        K::Conv2d(_) => (4, false),
        K::Conv3d(_) => (5, false),
        K::ConvTranspose1d(_) => (3, true),
        K::ConvTranspose2d(_) => (4, true),
        K::ConvTranspose3d(_) => (5, true),
        _ => return None,
    })
}

/// The axes of a layer's weight, and whether it is that of a transposed convolution.
fn inner(layer: &LayerSpec) -> Checked<(usize, bool)> {
    if layer.name.is_some() {
        return Err(Wrong::new("the layer within has a `name`", "give the name to the norm, beside it"));
    }
    weight_of(&layer.kind).ok_or_else(|| {
        Wrong::new(
            format!("its `layer` is `{}`, which has no weight of the kind", layer.kind.name()),
            "use `dense`, `conv2d`, `conv_transpose2d` or one of their kind",
        )
    })
}

fn told(error: &Error) -> Wrong {
    Wrong::new(error.to_string().lines().next().unwrap_or_default(), "change the norm's settings")
}

impl WeightNormSettings {
    #[track_caller]
    pub(super) fn made(&self, input: &Tensor, device: &Device) -> Made {
        let (rank, _) = inner(&self.layer)?;
        let axis = match usize::try_from(self.axis) {
            Ok(axis) if axis < rank => Some(axis),
            Err(_) if self.axis == -1 => None,
            _ => return Err(Wrong::new(format!("`axis` is {}", self.axis), format!("use a number from -1 to {}", rank - 1))),
        };
        let layer = kinds::one(&self.layer.kind, input, device)?;
        Ok(Box::new(nn::WeightNorm::new(layer, WEIGHT, axis).map_err(|e| told(&e))?))
    }
}

impl SpectralNormSettings {
    #[track_caller]
    pub(super) fn made(&self, input: &Tensor, device: &Device) -> Made {
        let (rank, transposed) = inner(&self.layer)?;
        let axis = self.axis.unwrap_or(usize::from(transposed));
        if axis >= rank {
            return Err(Wrong::new(format!("`axis` is {axis}"), format!("use a number from 0 to {}", rank - 1)));
        }
        let iterations = size("n_power_iterations", self.n_power_iterations)?;
        let layer = kinds::one(&self.layer.kind, input, device)?;
        let mut norm = nn::SpectralNorm::new(layer, WEIGHT, axis, iterations).map_err(|e| told(&e))?;
        norm.eps = epsilon(self.eps)?;
        Ok(Box::new(norm))
    }
}
