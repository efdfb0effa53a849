//! Normalizations.

use super::Layer;
use crate::{Module, init, trace};
use unigrad_tensor::{Device, Origin, Tensor, no_grad};

/// `(x - mean) / sqrt(var + eps) * weight + bias` over the last axes.
#[derive(Module, Clone)]
pub struct LayerNorm {
    /// The size of the axes normalized over.
    pub weight: Tensor,
    /// Likewise.
    pub bias: Option<Tensor>,
    /// Added to the variance.
    pub eps: f64,
}

impl LayerNorm {
    /// Over the last axis, of `size` features, with a bias.
    #[track_caller]
    pub fn new(size: usize, device: &Device) -> LayerNorm {
        LayerNorm::over(&[size], device)
    }

    /// Over the last axes, of the given sizes, with a bias.
    #[track_caller]
    pub fn over(sizes: &[usize], device: &Device) -> LayerNorm {
        let bias = Some(init::constant(sizes, 0.0, init::dtype(), device));
        LayerNorm { weight: init::constant(sizes, 1.0, init::dtype(), device), bias, eps: 1e-5 }
    }

    /// Without a bias.
    pub fn no_bias(mut self) -> LayerNorm {
        self.bias = None;
        self
    }
}

impl Layer for LayerNorm {
    #[track_caller]
    fn forward(&self, x: &Tensor) -> Tensor {
        trace::observe("LayerNorm", Some(&self.weight), x.layer_norm(Some(&self.weight), self.bias.as_ref(), self.eps))
    }
}

/// `x / sqrt(mean(x²) + eps) * weight` over the last axis.
#[derive(Module, Clone)]
pub struct RmsNorm {
    /// `[size]`.
    pub weight: Tensor,
    /// Added to the mean square.
    pub eps: f64,
}

impl RmsNorm {
    /// Over the last axis, of `size` features.
    #[track_caller]
    pub fn new(size: usize, device: &Device) -> RmsNorm {
        RmsNorm { weight: init::constant(&[size], 1.0, init::dtype(), device), eps: 1e-5 }
    }
}

impl Layer for RmsNorm {
    #[track_caller]
    fn forward(&self, x: &Tensor) -> Tensor {
        trace::observe("RmsNorm", Some(&self.weight), x.rms_norm(Some(&self.weight), self.eps))
    }
}

/// Layer norm of `[n, c, ..]` within each group of channels.
#[derive(Module, Clone)]
pub struct GroupNorm {
    /// `[c]`.
    pub weight: Tensor,
    /// `[c]`.
    pub bias: Tensor,
    /// How many groups.
    pub groups: usize,
    /// Added to the variance.
    pub eps: f64,
}

impl GroupNorm {
    /// `channels` in `groups` groups.
    #[track_caller]
    pub fn new(groups: usize, channels: usize, device: &Device) -> GroupNorm {
        let _origin = Origin::enter_caller();
        let value = |v| init::constant(&[channels], v, init::dtype(), device);
        GroupNorm { weight: value(1.0), bias: value(0.0), groups, eps: 1e-5 }
    }
}

impl Layer for GroupNorm {
    #[track_caller]
    fn forward(&self, x: &Tensor) -> Tensor {
        trace::observe("GroupNorm", Some(&self.weight), x.group_norm(self.groups, Some(&self.weight), Some(&self.bias), self.eps))
    }
}

/// `[n, c, ..]` normalized per channel: with the batch's statistics while learning, with running ones in use. For any number of axes.
#[derive(Module, Clone)]
#[module(on_mode = "set_training")]
pub struct BatchNorm {
    /// `[c]`.
    pub weight: Tensor,
    /// `[c]`.
    pub bias: Tensor,
    /// `[c]`.
    #[module(buffer)]
    pub running_mean: Tensor,
    /// `[c]`, unbiased.
    #[module(buffer)]
    pub running_var: Tensor,
    /// A count, rank 0.
    #[module(buffer)]
    pub num_batches_tracked: Tensor,
    /// Added to the variance.
    pub eps: f64,
    /// How much of a running statistic a batch replaces.
    pub momentum: f64,
    training: bool,
}

impl BatchNorm {
    /// For `channels` channels.
    #[track_caller]
    pub fn new(channels: usize, device: &Device) -> BatchNorm {
        let _origin = Origin::enter_caller();
        let value = |v| init::constant(&[channels], v, init::dtype(), device);
        // Uploaded, not computed: a first step then looks like the others. What is too large for any layer is refused like all tensors.
        let running = |v: f32| match channels <= 1 << 24 {
            true => Tensor::from_vec(vec![v; channels], channels, device).cast(init::dtype()),
            false => Tensor::full([channels], f64::from(v), init::dtype(), device),
        };
        BatchNorm {
            weight: value(1.0),
            bias: value(0.0),
            running_mean: running(0.0),
            running_var: running(1.0),
            num_batches_tracked: Tensor::from_vec(vec![0i64], (), device),
            eps: 1e-5,
            momentum: 0.1,
            training: true,
        }
    }

    fn set_training(&mut self, training: bool) {
        self.training = training;
    }

    /// Moves the running statistics toward a batch's.
    fn track(&self, mean: &Tensor, var: &Tensor, n: usize) -> Result<(), unigrad_tensor::Error> {
        no_grad(|| {
            toward(&self.running_mean, mean, self.momentum, 1.0)?;
            toward(&self.running_var, var, self.momentum, unbiased(n))?;
            self.num_batches_tracked.assign(&(&self.num_batches_tracked + 1i64))
        })
    }
}

/// Moves a running statistic toward a batch's, times `factor`. The statistics of half types are wider than buffers may be.
fn toward(running: &Tensor, batch: &Tensor, momentum: f64, factor: f64) -> Result<(), unigrad_tensor::Error> {
    let moved = running * (1.0 - momentum) + batch * (momentum * factor);
    running.assign(&moved.cast(running.dtype()))
}

/// What the variance of `n` numbers is multiplied with to be that of what they are a sample of.
fn unbiased(n: usize) -> f64 {
    n as f64 / n.saturating_sub(1).max(1) as f64
}

impl Layer for BatchNorm {
    #[track_caller]
    fn forward(&self, x: &Tensor) -> Tensor {
        let y = if self.training {
            let (y, mean, var) = x.batch_norm_train(Some(&self.weight), Some(&self.bias), self.eps);
            if y.is_invalid() {
                return y;
            }
            let n = x.numel() / self.weight.numel().max(1);
            // A statistic that does not fit has the shape of an input that does not fit, which the op has refused above.
            match self.track(&mean, &var, n) {
                Ok(()) => y,
                Err(_) => x.batch_norm(&mean, &var, Some(&self.weight), Some(&self.bias), self.eps),
            }
        } else {
            x.batch_norm(&self.running_mean, &self.running_var, Some(&self.weight), Some(&self.bias), self.eps)
        };
        trace::observe("BatchNorm", Some(&self.weight), y)
    }
}

/// `[n, c, ..]` normalized per channel of each example; without weights unless [`InstanceNorm::affine`].
#[derive(Module, Clone)]
#[module(on_mode = "set_training")]
pub struct InstanceNorm {
    /// `[c]`.
    pub weight: Option<Tensor>,
    /// `[c]`.
    pub bias: Option<Tensor>,
    /// `[c]`, if statistics are kept.
    #[module(buffer)]
    pub running_mean: Option<Tensor>,
    /// `[c]`, unbiased, if statistics are kept.
    #[module(buffer)]
    pub running_var: Option<Tensor>,
    /// Rank 0, if statistics are kept; stays 0, as in PyTorch, which has it and does not count.
    #[module(buffer)]
    pub num_batches_tracked: Option<Tensor>,
    /// Added to the variance.
    pub eps: f64,
    /// How much of a running statistic a batch replaces.
    pub momentum: f64,
    channels: usize,
    training: bool,
}

impl InstanceNorm {
    /// For `channels` channels.
    pub fn new(channels: usize) -> InstanceNorm {
        let none = || None;
        InstanceNorm {
            weight: none(),
            bias: none(),
            running_mean: none(),
            running_var: none(),
            num_batches_tracked: none(),
            eps: 1e-5,
            momentum: 0.1,
            channels,
            training: true,
        }
    }

    /// With a weight and a bias per channel.
    #[track_caller]
    pub fn affine(mut self, device: &Device) -> InstanceNorm {
        let _origin = Origin::enter_caller();
        let value = |v| Some(init::constant(&[self.channels], v, init::dtype(), device));
        (self.weight, self.bias) = (value(1.0), value(0.0));
        self
    }

    /// With running statistics, which normalize in use.
    #[track_caller]
    pub fn track_running_stats(mut self, device: &Device) -> InstanceNorm {
        let _origin = Origin::enter_caller();
        let value = |v| Some(Tensor::full([self.channels], v, init::dtype(), device));
        (self.running_mean, self.running_var) = (value(0.0), value(1.0));
        self.num_batches_tracked = Some(Tensor::from_vec(vec![0i64], (), device));
        self
    }

    fn set_training(&mut self, training: bool) {
        self.training = training;
    }
}

impl Layer for InstanceNorm {
    #[track_caller]
    fn forward(&self, x: &Tensor) -> Tensor {
        let (weight, bias) = (self.weight.as_ref(), self.bias.as_ref());
        let y = match (&self.running_mean, &self.running_var) {
            (Some(mean), Some(var)) if !self.training => x.batch_norm(mean, var, weight, bias, self.eps),
            (Some(running_mean), Some(running_var)) => {
                let (y, mean, var) = x.instance_norm_train(weight, bias, self.eps);
                if y.is_invalid() {
                    return y;
                }
                // One example's and channel's statistics, `[n, c]`; their means over the batch are tracked.
                let examples = x.shape().first().copied().unwrap_or(1).max(1);
                let n = x.numel() / (examples * self.channels).max(1);
                let tracked = no_grad(|| {
                    let channel = |x: &Tensor| x.reshape([-1, self.channels as i64]).mean(0);
                    toward(running_mean, &channel(&mean), self.momentum, 1.0)?;
                    toward(running_var, &channel(&var), self.momentum, unbiased(n))
                });
                match tracked {
                    Ok(()) => y,
                    // A statistic that does not fit: the error of the op that takes them.
                    Err(_) => x.batch_norm(running_mean, running_var, weight, bias, self.eps),
                }
            }
            _ => x.instance_norm(weight, bias, self.eps),
        };
        trace::observe("InstanceNorm", self.weight.as_ref(), y)
    }
}

/// `x / (k + alpha / size Σ x²)^beta` over neighbouring channels (Krizhevsky et al., 2012).
#[derive(Module, Clone, Copy, Debug)]
pub struct LocalResponseNorm {
    /// How many channels.
    pub size: usize,
    /// How much they count.
    pub alpha: f64,
    /// The power.
    pub beta: f64,
    /// Added.
    pub k: f64,
}

impl LocalResponseNorm {
    /// Over `size` channels, with PyTorch's `alpha`, `beta` and `k`.
    pub fn new(size: usize) -> LocalResponseNorm {
        LocalResponseNorm { size, alpha: 1e-4, beta: 0.75, k: 1.0 }
    }
}

impl Layer for LocalResponseNorm {
    #[track_caller]
    fn forward(&self, x: &Tensor) -> Tensor {
        trace::observe("LocalResponseNorm", None, x.local_response_norm(self.size, self.alpha, self.beta, self.k))
    }
}
