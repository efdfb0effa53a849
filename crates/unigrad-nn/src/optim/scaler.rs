//! A loss scale that follows the range of gradients: training in `f16`.
//!
//! In: a loss, and gradients of the scaled loss. Out: a step with the gradients of the loss, or none where one of them is not finite; and a scale that
//! is smaller after such a step, and larger after many that were finite.
//! Always: scale and count live on the device, and are computed in the same evaluation as the step: no thread waits to know whether it was taken. A
//! step that was not taken counts for nothing: neither parameters, nor state, nor the optimizer's counter have changed.

use super::Optimize;
use crate::{
    archive::HostTensor,
    error::{Error, Result},
    module,
};
use std::collections::BTreeMap;
use unigrad_tensor::{DType, Device, Origin, Tensor, eval, no_grad};

/// Settings of a [`GradScaler`]; the defaults are PyTorch's.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ScalerOptions {
    /// The scale at first.
    pub init_scale: f64,
    /// What the scale is multiplied with after `growth_interval` finite steps in a row.
    pub growth_factor: f64,
    /// What the scale is multiplied with after a step whose gradients are not all finite.
    pub backoff_factor: f64,
    /// See `growth_factor`.
    pub growth_interval: u64,
}

impl Default for ScalerOptions {
    fn default() -> ScalerOptions {
        ScalerOptions { init_scale: 65536.0, growth_factor: 2.0, backoff_factor: 0.5, growth_interval: 2000 }
    }
}

/// A dynamic loss scale (Micikevicius et al., 2018), as PyTorch's `GradScaler`. One scaler belongs to one loss and one optimizer.
///
/// ```
/// # extern crate unigrad_nn as unigrad;
/// # unigrad_device::register(unigrad_cpu::CpuDriver::default());
/// use unigrad::nn::{GradScaler, Layer, Linear, Module, ScalerOptions, Sgd, autocast};
/// use unigrad_tensor::{DType, Device, Tensor};
///
/// let device = Device::open("cpu")?;
/// let net = Linear::new(4, 1, &device);
/// let mut optimizer = Sgd::new(net.parameters(), 0.1)?;
/// let mut scaler = GradScaler::new(ScalerOptions::default(), &device)?;
/// let (x, y) = (Tensor::ones([8, 4], DType::F32, &device), Tensor::ones([8, 1], DType::F32, &device));
/// for _ in 0..3 {
///     let loss = autocast(DType::F16, || net.forward(&x).mse_loss(&y));
///     scaler.scale(&loss).backward()?;
///     scaler.step(&mut optimizer)?; // unscales, steps where all is finite, and adapts the scale
///     optimizer.zero_grad();
/// }
/// assert_eq!(scaler.get_scale()?, 65536.0);
/// # Ok::<(), unigrad::Error>(())
/// ```
#[derive(Debug)]
pub struct GradScaler {
    options: ScalerOptions,
    /// `F32`, rank 0.
    scale: Tensor,
    /// Finite steps since the scale last changed: `I64`, rank 0.
    growth_tracker: Tensor,
    /// Whether the gradients that have been divided are finite, until the step.
    finite: Option<Tensor>,
}

const SCALE: &str = "scale";
const TRACKER: &str = "growth_tracker";

impl GradScaler {
    /// A scaler whose scale lives on `device`, which is best that of the parameters. An error for factors or a scale that make no sense.
    #[track_caller]
    pub fn new(options: ScalerOptions, device: &Device) -> Result<GradScaler> {
        let _origin = Origin::enter_caller();
        let ScalerOptions { init_scale, growth_factor, backoff_factor, growth_interval } = options;
        let sound = |x: f64| x.is_finite() && x > 0.0 && (x as f32).is_finite();
        if !sound(init_scale) || !sound(growth_factor) || growth_factor < 1.0 || !sound(backoff_factor) || backoff_factor >= 1.0 {
            let cause = format!("a scale of {init_scale} that grows by {growth_factor} and backs off by {backoff_factor}");
            return Err(Error::argument(cause, "give a positive scale, a growth of at least 1, and a backoff between 0 and 1"));
        }
        if growth_interval == 0 || growth_interval > 1 << 53 {
            return Err(Error::argument(format!("a growth interval of {growth_interval} steps"), "give 1 to 2^53 steps"));
        }
        let scale = Tensor::from_vec(vec![init_scale as f32], (), device);
        let growth_tracker = Tensor::from_vec(vec![0i64], (), device);
        Tensor::realize_all(&[&scale, &growth_tracker])?;
        Ok(GradScaler { options, scale, growth_tracker, finite: None })
    }

    /// The loss times the scale: what `backward` is called on. In `f32`, for in a half type the product may overflow.
    #[track_caller]
    pub fn scale(&self, loss: &Tensor) -> Tensor {
        let _origin = Origin::enter_caller();
        let wide = if loss.dtype() == DType::F64 { DType::F64 } else { DType::F32 };
        loss.cast(wide) * self.on(loss).cast(wide)
    }

    /// The scale where `x` is.
    #[track_caller]
    fn on(&self, x: &Tensor) -> Tensor {
        match x.device() {
            Ok(device) => self.scale.detach().to(&device),
            Err(_) => self.scale.detach(),
        }
    }

    /// Divides the gradients that `backward` of the scaled loss left by the scale: to clip them, say, before [`GradScaler::step`], which does it
    /// otherwise. An error if no parameter has a gradient, or if they have been divided already.
    #[track_caller]
    pub fn unscale<O: Optimize + ?Sized>(&mut self, optimizer: &O) -> Result<()> {
        let _origin = Origin::enter_caller();
        if self.finite.is_some() {
            return Err(Error::argument("the gradients have been divided by the scale already", "call `unscale` once before each `step`"));
        }
        let device = self.scale.device()?;
        let mut finite: Option<Tensor> = None;
        no_grad(|| {
            for parameter in optimizer.parameters() {
                let Some(gradient) = parameter.grad() else { continue };
                // Of half types, the quotient may have digits that they lack.
                let wide = gradient.cast(gradient.dtype().compute());
                let unscaled = &wide * self.on(&wide).recip().cast(wide.dtype());
                let own = unscaled.isfinite().all(()).to(&device);
                finite = Some(finite.take().map_or(own.clone(), |finite| finite.logical_and(&own)));
                parameter.set_grad(Some(unscaled));
            }
        });
        if finite.is_none() {
            let help = "call `backward` on the scaled loss first; see which parameters are frozen";
            return Err(Error::argument("no parameter of the optimizer has a gradient", help));
        }
        self.finite = finite;
        Ok(())
    }

    /// A step of the optimizer with the gradients that `backward` of the scaled loss left, divided by the scale; none if one of them is not finite. Adapts
    /// the scale. All is one evaluation, and when it fails, nothing has changed but the gradients, which are forgotten.
    ///
    /// What layers have assigned since the last evaluation (running statistics) is undone with a step that is not taken. Gradients stay, divided.
    #[track_caller]
    pub fn step<O: Optimize + ?Sized>(&mut self, optimizer: &mut O) -> Result<()> {
        let _origin = Origin::enter_caller();
        self.step_and(optimizer, &[])
    }

    /// As [`GradScaler::step`]; computes `also` in the same evaluation.
    #[track_caller]
    pub fn step_and<O: Optimize + ?Sized>(&mut self, optimizer: &mut O, also: &[&Tensor]) -> Result<()> {
        let _origin = Origin::enter_caller();
        let attempt = eval::Attempt::begin();
        if self.finite.is_none() {
            self.unscale(optimizer)?;
        }
        let Some(finite) = self.finite.take() else {
            return Err(Error::Internal("gradients were divided, and whether they are finite is not known".to_owned()));
        };
        let (guard, scale, growth_tracker) = no_grad(|| self.next(&finite));
        let all: Vec<&Tensor> = [&scale, &growth_tracker].into_iter().chain(also.iter().copied()).collect();
        optimizer.step_guarded(&guard, &all)?;
        (self.scale, self.growth_tracker) = (scale, growth_tracker);
        attempt.succeeded();
        Ok(())
    }

    /// A step down `loss` (not scaled): scales and differentiates it, steps, and computes it and `also`, in one evaluation. Leaves no gradients behind.
    #[track_caller]
    pub fn minimize<O: Optimize + ?Sized>(&mut self, optimizer: &mut O, loss: &Tensor, also: &[&Tensor]) -> Result<()> {
        let _origin = Origin::enter_caller();
        optimizer.zero_grad();
        self.scale(loss).backward()?;
        let all: Vec<&Tensor> = std::iter::once(loss).chain(also.iter().copied()).collect();
        let result = self.step_and(optimizer, &all);
        optimizer.zero_grad();
        result
    }

    /// What a step depends on (a number, which is finite if the gradients are), and scale and count after it.
    #[track_caller]
    fn next(&self, finite: &Tensor) -> (Tensor, Tensor, Tensor) {
        let options = &self.options;
        let (scale, tracker) = (self.scale.detach(), self.growth_tracker.detach());
        let counted = &tracker + 1i64;
        let full = counted.ge(options.growth_interval as i64);
        // A scale that would overflow stays, as in PyTorch.
        let grown = &scale * options.growth_factor;
        let grown = full.logical_and(grown.isfinite()).where_(&grown, &scale);
        let next = finite.where_(&grown, &scale * options.backoff_factor);
        let tracker = finite.logical_and(full.logical_not()).where_(&counted, 0i64);
        (finite.where_(0.0, f64::NAN).cast(DType::F32), next.cast(DType::F32), tracker.cast(DType::I64))
    }

    /// The scale; waits for the device.
    pub fn get_scale(&self) -> Result<f64> {
        Ok(f64::from(self.scale.item::<f32>()?))
    }

    /// The scale as it is on the device: to be computed with, or logged, without a wait.
    pub fn scale_tensor(&self) -> &Tensor {
        &self.scale
    }

    fn named(&self) -> Vec<(String, Tensor)> {
        vec![(SCALE.to_owned(), self.scale.clone()), (TRACKER.to_owned(), self.growth_tracker.clone())]
    }

    /// Scale and count on the host, for a file; see [`crate::Checkpoint::add_scaler`].
    pub fn state_dict(&self) -> Result<BTreeMap<String, HostTensor>> {
        module::to_host(&self.named())
    }

    /// Continues from a saved state.
    pub fn load_state_dict(&mut self, state: &BTreeMap<String, HostTensor>) -> Result<()> {
        let number = |name: &str| state.get(name).and_then(|host| <[u8; 4]>::try_from(host.bytes.as_slice()).ok()).map(f32::from_le_bytes);
        if let Some(bad) = number(SCALE).filter(|scale| !(scale.is_finite() && *scale > 0.0)) {
            return Err(Error::argument(format!("a saved loss scale of {bad}"), "load the state of a scaler that has trained"));
        }
        module::load(&self.named(), state, "the loss scale's state")
    }
}
