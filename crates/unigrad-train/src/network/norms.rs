//! Normalizations, with all their settings.
//!
//! In: settings, the shape of an input. Out: the layer, or what is wrong with it. Always: names and defaults are PyTorch's; a momentum of PyTorch's `None`
//! is the text `"cumulative"` in files.

use super::{
    build::Wrong,
    checks::{Checked, channels, epsilon, features, finite, number, size},
    kind::{eps, yes},
    kinds::Made,
    settings::one,
    windows::spatial,
};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use std::fmt;
use unigrad_nn as nn;
use unigrad_tensor::Device;

/// Settings of `batch_norm`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct NormSettings {
    /// Added to the variance.
    pub eps: f64,
    /// How much of a running statistic a batch replaces. `None`, `"cumulative"` in files: running statistics are the mean over all batches so far.
    #[serde(serialize_with = "momentum_to", deserialize_with = "momentum_of")]
    pub momentum: Option<f64>,
    /// A weight and a bias per channel.
    pub affine: bool,
    /// Running statistics, which normalize in use; without them, the batch's do.
    pub track_running_stats: bool,
}

impl Default for NormSettings {
    fn default() -> NormSettings {
        NormSettings { eps: eps(), momentum: Some(0.1), affine: true, track_running_stats: true }
    }
}

/// Settings of `instance_norm`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct InstanceNormSettings {
    /// Added to the variance.
    pub eps: f64,
    /// How much of a running statistic a batch replaces.
    pub momentum: f64,
    /// A weight and a bias per channel.
    pub affine: bool,
    /// Running statistics, which normalize in use.
    pub track_running_stats: bool,
}

impl Default for InstanceNormSettings {
    fn default() -> InstanceNormSettings {
        InstanceNormSettings { eps: eps(), momentum: 0.1, affine: false, track_running_stats: false }
    }
}

/// Settings of `layer_norm`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LayerNormSettings {
    /// How many of the last axes.
    pub axes: usize,
    /// Added to the variance.
    pub eps: f64,
    /// Whether there is a weight; without it there is no bias.
    pub elementwise_affine: bool,
    /// Whether there is a bias.
    pub bias: bool,
}

impl Default for LayerNormSettings {
    fn default() -> LayerNormSettings {
        LayerNormSettings { axes: 1, eps: eps(), elementwise_affine: true, bias: true }
    }
}

/// Settings of `group_norm`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GroupNormSettings {
    /// How many groups of channels.
    pub groups: usize,
    /// Added to the variance.
    #[serde(default = "eps")]
    pub eps: f64,
    /// A weight and a bias per channel.
    #[serde(default = "yes")]
    pub affine: bool,
}

impl GroupNormSettings {
    /// `groups` groups, with PyTorch's `eps`, a weight and a bias.
    pub fn new(groups: usize) -> GroupNormSettings {
        GroupNormSettings { groups, eps: eps(), affine: true }
    }
}

/// Settings of `rms_norm`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RmsNormSettings {
    /// How many of the last axes.
    #[serde(default = "one")]
    pub axes: usize,
    /// Added to the mean square; the machine epsilon without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub eps: Option<f64>,
    /// Whether there is a weight.
    #[serde(default = "yes")]
    pub elementwise_affine: bool,
}

/// Settings of `local_response_norm` and `cross_map_lrn2d`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ResponseNormSettings {
    /// How many channels.
    pub size: usize,
    /// How much they count.
    #[serde(default = "alpha")]
    pub alpha: f64,
    /// The power.
    #[serde(default = "beta")]
    pub beta: f64,
    /// Added.
    #[serde(default = "k")]
    pub k: f64,
}

fn alpha() -> f64 {
    1e-4
}

fn beta() -> f64 {
    0.75
}

fn k() -> f64 {
    1.0
}

const CUMULATIVE: &str = "cumulative";

fn momentum_to<S: Serializer>(momentum: &Option<f64>, serializer: S) -> Result<S::Ok, S::Error> {
    match momentum {
        Some(momentum) => serializer.serialize_f64(*momentum),
        None => serializer.serialize_str(CUMULATIVE),
    }
}

fn momentum_of<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<f64>, D::Error> {
    struct Momentum;
    impl de::Visitor<'_> for Momentum {
        type Value = Option<f64>;
        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            write!(f, "a number, or \"{CUMULATIVE}\"")
        }
        fn visit_f64<E: de::Error>(self, value: f64) -> Result<Option<f64>, E> {
            Ok(Some(value))
        }
        fn visit_i64<E: de::Error>(self, value: i64) -> Result<Option<f64>, E> {
            Ok(Some(value as f64))
        }
        fn visit_u64<E: de::Error>(self, value: u64) -> Result<Option<f64>, E> {
            Ok(Some(value as f64))
        }
        fn visit_str<E: de::Error>(self, text: &str) -> Result<Option<f64>, E> {
            if text == CUMULATIVE { Ok(None) } else { Err(E::invalid_value(de::Unexpected::Str(text), &self)) }
        }
    }
    deserializer.deserialize_any(Momentum)
}

fn share(momentum: f64) -> Checked<f64> {
    number("momentum", momentum, (0.0..=1.0).contains(&momentum), "from 0 to 1")
}

/// The last axes, at least one and not the batch.
fn last_axes(axes: usize, x: &[usize]) -> Checked<&[usize]> {
    if axes == 0 || axes >= x.len() {
        return Err(Wrong::new(format!("`axes` is {axes}"), format!("use a number from 1 to {}", x.len().saturating_sub(1))));
    }
    Ok(&x[x.len() - axes..])
}

impl NormSettings {
    #[track_caller]
    pub(super) fn layer(&self, x: &[usize], device: &Device) -> Made {
        let momentum = self.momentum.map(share).transpose()?;
        let mut norm = nn::BatchNorm::new(channels(x)?, device).momentum(momentum);
        norm.eps = epsilon(self.eps)?;
        norm = if self.affine { norm } else { norm.no_affine() };
        Ok(Box::new(if self.track_running_stats { norm } else { norm.no_running_stats() }))
    }
}

impl InstanceNormSettings {
    #[track_caller]
    pub(super) fn layer(&self, x: &[usize], device: &Device) -> Made {
        let mut norm = nn::InstanceNorm::new(channels(x)?);
        if x.len() < 3 {
            return Err(Wrong::new("it needs channels and at least one more axis", "use `layer_norm` for features without axes"));
        }
        (norm.eps, norm.momentum) = (epsilon(self.eps)?, share(self.momentum)?);
        norm = if self.affine { norm.affine(device) } else { norm };
        Ok(Box::new(if self.track_running_stats { norm.track_running_stats(device) } else { norm }))
    }
}

impl LayerNormSettings {
    #[track_caller]
    pub(super) fn layer(&self, x: &[usize], device: &Device) -> Made {
        let norm = nn::LayerNorm::over(last_axes(self.axes, x)?, device).eps(epsilon(self.eps)?);
        let norm = if self.bias { norm } else { norm.no_bias() };
        Ok(Box::new(if self.elementwise_affine { norm } else { norm.no_affine() }))
    }
}

impl GroupNormSettings {
    #[track_caller]
    pub(super) fn layer(&self, x: &[usize], device: &Device) -> Made {
        let (channels, groups) = (channels(x)?, size("groups", self.groups)?);
        let norm = nn::GroupNorm { eps: epsilon(self.eps)?, ..nn::GroupNorm::new(groups, channels, device) };
        Ok(Box::new(if self.affine { norm } else { norm.no_affine() }))
    }
}

impl RmsNormSettings {
    #[track_caller]
    pub(super) fn layer(&self, x: &[usize], device: &Device) -> Made {
        features(x)?;
        let mut norm = nn::RmsNorm::over(last_axes(self.axes, x)?, device);
        norm.eps = self.eps.map(epsilon).transpose()?;
        Ok(Box::new(if self.elementwise_affine { norm } else { norm.no_affine() }))
    }
}

impl ResponseNormSettings {
    fn checked(&self) -> Checked<(usize, f64, f64, f64)> {
        Ok((size("size", self.size)?, finite("alpha", self.alpha)?, finite("beta", self.beta)?, finite("k", self.k)?))
    }

    pub(super) fn local(&self, x: &[usize]) -> Made {
        channels(x)?;
        let (size, alpha, beta, k) = self.checked()?;
        Ok(Box::new(nn::LocalResponseNorm { size, alpha, beta, k }))
    }

    pub(super) fn cross_map(&self, x: &[usize]) -> Made {
        let (size, alpha, beta, k) = self.checked()?;
        spatial(x, 2, nn::CrossMapLrn2d { size, alpha, beta, k })
    }
}
