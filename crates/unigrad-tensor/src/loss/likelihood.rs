//! Losses that are negative logarithms of likelihoods, and those of segmentation and detection.
//!
//! Always: half types are computed in `f32`; the gradients are PyTorch's, where PyTorch has the loss.

use super::{Reduction, alike, margin::wide};
use crate::{Tensor, arithmetic::K, rules::with_slope, selection::first_invalid};
use std::f64::consts::PI;
use unigrad_graph::ErrorKind;

impl Tensor {
    /// `log(var) / 2 + (x - target)² / (2 var)`, and `log(2π) / 2` more if `full`: the negative log likelihood of targets from a Gaussian whose mean is
    /// `self` (Nix and Weigend, 1994). `var` is at least `eps`; its gradient is that of `var` all the same. It has the shape of `self`, or 1 on one
    /// axis, or no last axis; the target broadcasts.
    #[track_caller]
    pub fn gaussian_nll_loss(&self, target: &Tensor, var: &Tensor, full: bool, eps: f64, reduction: Reduction) -> Tensor {
        if let Some(cast) = crate::autocast::entered("gaussian_nll_loss") {
            return cast.of(self).gaussian_nll_loss(&cast.of(target), &cast.of(var), full, eps, reduction);
        }
        const OP: &str = "gaussian_nll_loss";
        if let Some(invalid) = first_invalid(&[self, target, var]) {
            return invalid;
        }
        let (shape, given) = (self.shape(), var.shape());
        let last = shape.len().saturating_sub(1);
        // As many axes, of which one at most is 1 instead.
        let others: Vec<usize> = shape.iter().zip(&given).filter(|(size, own)| size != own).map(|(_, own)| *own).collect();
        let var = if given.len() == shape.len() && (others.is_empty() || others == [1]) {
            var.clone()
        } else if !shape.is_empty() && given[..] == shape[..last] {
            var.unsqueeze(-1)
        } else {
            let message = format!("variances {given:?} for {shape:?}");
            let help = "give a variance for each element, or one for all along an axis";
            return Tensor::fail(ErrorKind::Shape, OP, message, help, &[self, var]);
        };
        let ([x, target, var], dtype) = wide([self, target, &var]);
        let var = with_slope("at_least", &var, |var| var.clamp_min(K(eps)), |_, _, dy| dy.clone());
        let loss = (var.log() + (x - target).square() / var) * K(0.5);
        let loss = if full { loss + K(0.5 * (2.0 * PI).ln()) } else { loss };
        loss.reduced(reduction).cast(dtype)
    }

    /// `e^x - target x` where `self` is the logarithm of a rate (`log_input`), else `x - target log(x + eps)`: the negative log likelihood of counts, without
    /// the term that only depends on them; `full` adds it as Stirling's formula has it, for targets above 1.
    #[track_caller]
    pub fn poisson_nll_loss(&self, target: &Tensor, log_input: bool, full: bool, eps: f64, reduction: Reduction) -> Tensor {
        if let Some(cast) = crate::autocast::entered("poisson_nll_loss") {
            return cast.of(self).poisson_nll_loss(&cast.of(target), log_input, full, eps, reduction);
        }
        if let Some(invalid) = alike("poisson_nll_loss", self, target) {
            return invalid;
        }
        let ([x, target], dtype) = wide([self, target]);
        let loss = if log_input { x.exp() - &target * &x } else { &x - &target * (&x + K(eps)).log() };
        let loss = if full {
            let many = target.gt(K(1.0));
            let count = many.where_(&target, K(1.0));
            let stirling = &count * count.log() - &count + (&count * K(2.0 * PI)).log() * K(0.5);
            loss + many.where_(stirling, K(0.0))
        } else {
            loss
        };
        loss.reduced(reduction).cast(dtype)
    }

    /// Binary cross-entropy of logits times `(1 - p)^gamma`, where `p` is the probability of the truth: what is known already counts little (Lin et al.,
    /// 2017). `alpha` weighs ones against zeros (`1 - alpha`); below 0 it does not. As torchvision's `sigmoid_focal_loss`.
    ///
    /// ```
    /// # unigrad_device::register(unigrad_cpu::CpuDriver::default());
    /// use unigrad_tensor::{Device, Reduction, Tensor};
    ///
    /// let device = Device::open("cpu")?;
    /// let (x, y) = (Tensor::new([2.0f32, -1.0], &device), Tensor::new([1.0f32, 0.0], &device));
    /// let plain = x.focal_loss(&y, -1.0, 0.0, Reduction::Mean).item::<f32>()?;
    /// assert!((plain - x.bce_with_logits(&y).item::<f32>()?).abs() < 1e-6);
    /// # Ok::<(), unigrad_tensor::Error>(())
    /// ```
    #[track_caller]
    pub fn focal_loss(&self, target: &Tensor, alpha: f64, gamma: f64, reduction: Reduction) -> Tensor {
        if let Some(cast) = crate::autocast::entered("focal_loss") {
            return cast.of(self).focal_loss(&cast.of(target), alpha, gamma, reduction);
        }
        if let Some(invalid) = alike("focal_loss", self, target) {
            return invalid;
        }
        let ([x, y], dtype) = wide([self, target]);
        let entropy = x.bce_with_logits_with(&y, None, None, Reduction::None);
        let (p, not_y) = (x.sigmoid(), y.neg() + K(1.0));
        // 1 - (p y + (1 - p) (1 - y)), without the loss of digits where p is near 1.
        let wrong = x.neg().sigmoid() * &y + p * &not_y;
        let loss = if gamma == 0.0 { entropy } else { entropy * wrong.pow(K(gamma)) };
        let loss = if alpha >= 0.0 { loss * (y * K(alpha) + not_y * K(1.0 - alpha)) } else { loss };
        loss.reduced(reduction).cast(dtype)
    }

    /// `1 - (2 Σ x t + smooth) / (Σ x + Σ t + smooth)` of each example (axis 0), sums over all its elements: one minus the overlap of probabilities with
    /// a mask, after Dice.
    #[track_caller]
    pub fn dice_loss(&self, target: &Tensor, smooth: f64, reduction: Reduction) -> Tensor {
        if let Some(cast) = crate::autocast::entered("dice_loss") {
            return cast.of(self).dice_loss(&cast.of(target), smooth, reduction);
        }
        if let Some(invalid) = alike("dice_loss", self, target) {
            return invalid;
        }
        if self.rank() < 2 {
            let message = format!("{:?} has no axes beside that of examples", self.shape());
            return Tensor::fail(ErrorKind::Shape, "dice_loss", message, "give [n, ..]", &[self, target]);
        }
        let ([x, y], dtype) = wide([self, target]);
        let (x, y) = (x.flatten(1, -1), y.flatten(1, -1));
        let both = (&x * &y).sum(-1) * K(2.0) + K(smooth);
        let loss = (both / (x.sum(-1) + y.sum(-1) + K(smooth))).neg() + K(1.0);
        loss.reduced(reduction).cast(dtype)
    }
}
