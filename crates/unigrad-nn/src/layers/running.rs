//! Normalizations that keep running statistics: batch norm and instance norm.
//!
//! In: `[n, c, ..]`. Out: the same, normalized per channel, or per channel of each example.
//! Always: while training with the statistics of the input, which move the running ones if there are any; in use with the running ones if there are any.
//! An error leaves the running ones as they are.

use super::Layer;
use crate::{Module, init, trace};
use unigrad_tensor::{Device, Origin, Result, Tensor, no_grad};

/// `[n, c, ..]` normalized per channel: with the batch's statistics while learning, with running ones in use. For any number of axes.
///
/// ```
/// # extern crate unigrad_nn as unigrad;
/// # unigrad_device::register(unigrad_cpu::CpuDriver::default());
/// use unigrad::nn::{BatchNorm, Layer, Module};
/// use unigrad_tensor::{DType, Device, Tensor};
///
/// let device = Device::open("cpu")?;
/// let names = |norm: BatchNorm| norm.state_dict().into_iter().map(|(name, _)| name).collect::<Vec<_>>();
/// assert_eq!(names(BatchNorm::new(3, &device).no_running_stats()), ["weight", "bias"]);
/// assert_eq!(names(BatchNorm::new(3, &device).no_affine()), ["running_mean", "running_var", "num_batches_tracked"]);
///
/// // A batch without elements counts, and moves no statistics.
/// let norm = BatchNorm::new(3, &device);
/// assert_eq!(norm.forward(&Tensor::zeros([0, 3], DType::F32, &device)).shape(), [0, 3]);
/// assert_eq!(norm.running_var.as_ref().map(|var| var.to_vec::<f32>()).transpose()?, Some(vec![1.0; 3]));
/// assert_eq!(norm.num_batches_tracked.as_ref().map(|count| count.item::<i64>()).transpose()?, Some(1));
/// # Ok::<(), unigrad::Error>(())
/// ```
#[derive(Module, Clone)]
#[module(on_mode = "set_training")]
pub struct BatchNorm {
    /// `[c]`.
    pub weight: Option<Tensor>,
    /// `[c]`.
    pub bias: Option<Tensor>,
    /// `[c]`.
    #[module(buffer)]
    pub running_mean: Option<Tensor>,
    /// `[c]`, unbiased.
    #[module(buffer)]
    pub running_var: Option<Tensor>,
    /// A count, rank 0.
    #[module(buffer)]
    pub num_batches_tracked: Option<Tensor>,
    /// Added to the variance.
    pub eps: f64,
    /// How much of a running statistic a batch replaces; without one, running statistics are the mean over all batches so far.
    pub momentum: Option<f64>,
    training: bool,
}

impl BatchNorm {
    /// For `channels` channels.
    #[track_caller]
    pub fn new(channels: usize, device: &Device) -> BatchNorm {
        let _origin = Origin::enter_caller();
        let value = |v| Some(init::constant(&[channels], v, init::dtype(), device));
        // Uploaded, not computed: a first step then looks like the others. What is too large for any layer is refused like all tensors.
        let running = |v: f32| match channels <= 1 << 24 {
            true => Tensor::from_vec(vec![v; channels], channels, device).cast(init::dtype()),
            false => Tensor::full([channels], f64::from(v), init::dtype(), device),
        };
        BatchNorm {
            weight: value(1.0),
            bias: value(0.0),
            running_mean: Some(running(0.0)),
            running_var: Some(running(1.0)),
            num_batches_tracked: Some(Tensor::from_vec(vec![0i64], (), device)),
            eps: 1e-5,
            momentum: Some(0.1),
            training: true,
        }
    }

    /// Of tensors that are there: weight, bias, running mean and variance, the count of batches. In training.
    pub fn of(weight: Option<Tensor>, bias: Option<Tensor>, running: Option<[Tensor; 2]>, count: Option<Tensor>) -> BatchNorm {
        let [running_mean, running_var] = running.map_or([None, None], |running| running.map(Some));
        BatchNorm { weight, bias, running_mean, running_var, num_batches_tracked: count, eps: 1e-5, momentum: Some(0.1), training: true }
    }

    /// Without weight and bias: PyTorch's `affine=False`.
    pub fn no_affine(mut self) -> BatchNorm {
        (self.weight, self.bias) = (None, None);
        self
    }

    /// Without running statistics: the batch's are used always (PyTorch's `track_running_stats=False`).
    pub fn no_running_stats(mut self) -> BatchNorm {
        (self.running_mean, self.running_var, self.num_batches_tracked) = (None, None, None);
        self
    }

    /// With another momentum; `None`: running statistics are the mean over all batches so far.
    pub fn momentum(mut self, momentum: Option<f64>) -> BatchNorm {
        self.momentum = momentum;
        self
    }

    fn set_training(&mut self, training: bool) {
        self.training = training;
    }

    /// Moves the running statistics toward those of a batch of `n` numbers a channel.
    fn track(&self, mean: &Tensor, var: &Tensor, n: usize) -> Result<()> {
        no_grad(|| {
            let counted = self.num_batches_tracked.as_ref().map(|count| count + 1i64);
            let share = match (self.momentum, &counted) {
                (Some(momentum), _) => Share::Fixed(momentum),
                (None, Some(counted)) => Share::Counted(counted.cast(mean.dtype()).recip()),
                (None, None) => Share::Fixed(0.0),
            };
            if let Some(running) = &self.running_mean {
                toward(running, mean, &share, 1.0)?;
            }
            if let Some(running) = &self.running_var {
                toward(running, var, &share, unbiased(n))?;
            }
            match (&self.num_batches_tracked, counted) {
                (Some(count), Some(counted)) => count.assign(&counted),
                _ => Ok(()),
            }
        })
    }
}

impl BatchNorm {
    /// Counts a batch that has no elements: there is nothing to move statistics toward.
    fn count(&self) -> Result<()> {
        self.num_batches_tracked.as_ref().map_or(Ok(()), |count| no_grad(|| count.assign(&(count + 1i64))))
    }
}

/// How far a running statistic moves toward a batch's.
enum Share {
    Fixed(f64),
    /// Known only on the device.
    Counted(Tensor),
}

/// Moves a running statistic toward a batch's, times `factor`. The statistics of half types are wider than buffers may be.
fn toward(running: &Tensor, batch: &Tensor, share: &Share, factor: f64) -> Result<()> {
    let moved = match share {
        Share::Fixed(momentum) => running * (1.0 - momentum) + batch * (momentum * factor),
        Share::Counted(share) => running + (batch * factor - running) * share,
    };
    running.assign(&moved.cast(running.dtype()))
}

/// What the variance of `n` numbers is multiplied with to be that of what they are a sample of.
fn unbiased(n: usize) -> f64 {
    n as f64 / n.saturating_sub(1).max(1) as f64
}

impl Layer for BatchNorm {
    #[track_caller]
    fn forward(&self, x: &Tensor) -> Tensor {
        let (weight, bias) = (self.weight.as_ref(), self.bias.as_ref());
        let y = match (&self.running_mean, &self.running_var) {
            (Some(mean), Some(var)) if !self.training => x.batch_norm(mean, var, weight, bias, self.eps),
            _ => {
                let (y, mean, var) = x.batch_norm_train(weight, bias, self.eps);
                if y.is_invalid() || !self.training {
                    return y;
                }
                let n = x.numel() / mean.numel().max(1);
                let tracked = if n == 0 { self.count() } else { self.track(&mean, &var, n) };
                // A statistic that does not fit: the error of the op that takes them.
                match tracked {
                    Ok(()) => y,
                    Err(error) => Tensor::from_error(&error),
                }
            }
        };
        trace::observe("BatchNorm", weight, y)
    }
}

/// Batch norm with the statistics of the batches of all devices that train together. On one device it is [`BatchNorm`], with its names in files, and that is what it is
/// here.
pub type SyncBatchNorm = BatchNorm;

/// `[n, c, ..]` normalized per channel of each example; without weights unless [`InstanceNorm::affine`].
#[doc = example!(InstanceNorm, "::new(3).affine(&device)", "[2, 3, 5]" => "[2, 3, 5]")]
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

    /// Of tensors that are there: weight, bias, running mean and variance. In training.
    pub fn of(channels: usize, weight: Option<Tensor>, bias: Option<Tensor>, running: Option<[Tensor; 2]>) -> InstanceNorm {
        let [running_mean, running_var] = running.map_or([None, None], |running| running.map(Some));
        InstanceNorm { weight, bias, running_mean, running_var, ..InstanceNorm::new(channels) }
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
                let share = Share::Fixed(self.momentum);
                let tracked = no_grad(|| {
                    let channel = |x: &Tensor| x.reshape([-1, self.channels as i64]).mean(0);
                    toward(running_mean, &channel(&mean), &share, 1.0)?;
                    toward(running_var, &channel(&var), &share, unbiased(n))
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
