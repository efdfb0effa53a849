//! What a training step needs of a device's memory, before the first one runs.
//!
//! In: a model, its optimizer, and the loss of one batch, recorded and not yet computed. Out: bytes of parameters, state, gradients and of what the step keeps in between.
//! Always: what is kept in between is what the step's plan asks for: the plan is made, and not run.
//! Never: takes memory; guesses by the number of parameters.

use crate::{
    error::{Error, Result},
    module::{self, Module},
    optim::{Optimizer, Rule},
};
use unigrad_device::MemoryStats;
use unigrad_tensor::{
    Device, Format, Tensor,
    eval::{self, Demand},
    grad_allow_unused,
};

/// Bytes of a training step's parts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Estimate {
    /// What is trained.
    pub parameters: u64,
    /// What is saved and not trained.
    pub buffers: u64,
    /// The optimizer's state.
    pub optimizer: u64,
    /// The gradients of all parameters at once; a step that computes and uses them in one evaluation (`minimize`) may need less.
    pub gradients: u64,
    /// What a step keeps between its launches: activations and other intermediate values.
    pub activations: u64,
}

/// Beyond this part of what a device has, little is left for other batches.
const NEARLY_ALL: f64 = 0.9;

/// Bytes of a tensor's elements; of more than can be counted, as many as can be: no memory has them.
pub(crate) fn bytes(tensor: &Tensor) -> usize {
    Format::Plain(tensor.dtype()).bytes_for(&tensor.shape()).unwrap_or(usize::MAX)
}

/// What a step needs; `loss` is that of one batch, recorded and not computed.
///
/// Model and optimizer are there already, and so is their memory; [`Estimate::check`] says whether the rest fits.
///
/// # Errors
/// The loss is invalid, or was computed already.
///
/// ```
/// # extern crate unigrad_nn as unigrad;
/// # unigrad_device::register(unigrad_cpu::CpuDriver::default());
/// use unigrad::nn::{AdamW, Layer, Module, memory, models::Mlp};
/// use unigrad_tensor::{DType, Device, Tensor};
///
/// let device = Device::open("cpu")?;
/// let model = Mlp::new(&[20, 30, 4], 0.0, &device);
/// let optimizer = AdamW::new(model.parameters(), 1e-3)?;
/// let loss = model.forward(&Tensor::ones([64, 20], DType::F32, &device)).square().mean(());
/// let needs = memory::estimate(&model, &optimizer, &loss)?;
/// assert_eq!(needs.optimizer, 2 * needs.parameters); // two moments of each
/// needs.check(&device)?;
/// # Ok::<(), unigrad::Error>(())
/// ```
#[track_caller]
pub fn estimate<M: Module + ?Sized, R: Rule>(model: &M, optimizer: &Optimizer<R>, loss: &Tensor) -> Result<Estimate> {
    let states = optimizer.rule().state_names();
    let state = states.into_iter().flat_map(|name| optimizer.state_named(name)).map(|state| bytes(&state) as u64).sum();
    estimate_with(model, &optimizer.parameters(), state, loss)
}

/// As [`estimate`], of any optimizers: of the parameters that they train, and `state` bytes of state.
///
/// # Errors
/// As of [`estimate`].
#[track_caller]
pub fn estimate_with<M: Module + ?Sized>(model: &M, parameters: &[Tensor], state: u64, loss: &Tensor) -> Result<Estimate> {
    let loss = loss.clone().check()?;
    let mut estimate = Estimate { optimizer: state, ..Estimate::default() };
    for entry in module::entries(model) {
        *(if entry.buffer { &mut estimate.buffers } else { &mut estimate.parameters }) += bytes(entry.tensor) as u64;
    }
    let parameters: Vec<&Tensor> = parameters.iter().collect();
    let gradients: Vec<Tensor> = grad_allow_unused(&loss, None, &parameters)?.into_iter().flatten().collect();
    if gradients.is_empty() && !parameters.is_empty() {
        let help = "give the loss as it was recorded, before it is read or realized, and computed from the optimizer's parameters";
        return Err(Error::argument("a memory estimate from a loss that depends on no parameter", help));
    }
    estimate.gradients = gradients.iter().map(|gradient| bytes(gradient) as u64).sum();
    let wanted: Vec<_> = [&loss].into_iter().chain(&gradients).map(Tensor::expr).collect();
    estimate.activations = eval::plan_of(&wanted)?.arena as u64;
    Ok(estimate)
}

impl Estimate {
    /// All of it.
    pub fn total(&self) -> u64 {
        self.parameters + self.buffers + self.optimizer + self.step()
    }

    /// What a step needs beside what model and optimizer have already.
    pub fn step(&self) -> u64 {
        self.gradients + self.activations
    }

    /// The part of the device's memory that will be in use in a step, by this process; `None` where the device does not tell.
    pub fn share(&self, device: &Device) -> Option<f64> {
        share(self.step(), device)
    }

    /// Whether a step fits into the device's memory, beside what is in use there. A device that does not tell takes everything.
    /// Above 90 % a line on standard error says so.
    ///
    /// # Errors
    /// It does not fit.
    pub fn check(&self, device: &Device) -> Result<()> {
        let Estimate { gradients, activations, .. } = self;
        fits(device, self.step(), || format!("a step needs {gradients} bytes of gradients and {activations} of activations"))
    }
}

/// Whether what one evaluation of a step takes fits into its device's memory: the check of [`Estimate::check`], for steps that cannot be recorded as a
/// whole before they run.
///
/// # Errors
/// It does not fit.
///
/// ```
/// # extern crate unigrad_nn as unigrad;
/// # unigrad_device::register(unigrad_cpu::CpuDriver::default());
/// use unigrad::nn::memory;
/// use unigrad_tensor::{DType, Device, Tensor, eval};
///
/// let row = Tensor::ones([1, 1 << 20], DType::F32, &Device::open("cpu")?);
/// let sum = eval::with_demands_checked(memory::check_demand, || (&row + 1.0).sum(()).to_f64())?;
/// assert_eq!(sum, 2.0 * (1 << 20) as f64);
/// # Ok::<(), unigrad::Error>(())
/// ```
pub fn check_demand(demand: &Demand) -> Result<()> {
    let Demand { device, results, intermediates } = demand;
    let what = || format!("an evaluation of the step needs {results} bytes of results and {intermediates} of what is in between");
    fits(device, results.saturating_add(*intermediates), what)
}

/// What the device has, of which some is in use: what waits for reuse is there too. `None` where it does not tell.
fn there(stats: &MemoryStats) -> Option<u64> {
    stats.free.checked_add(stats.reserved).filter(|there| stats.free > 0 && *there > 0)
}

/// The part of a device's memory that is in use with so many bytes more.
fn share(more: u64, device: &Device) -> Option<f64> {
    let stats = device.memory_stats();
    there(&stats).map(|there| stats.allocated.saturating_add(more) as f64 / there as f64)
}

/// An error if so many bytes more are not there, and a line if then nearly nothing is left.
fn fits(device: &Device, more: u64, what: impl FnOnce() -> String) -> Result<()> {
    let stats = device.memory_stats();
    let Some(there) = there(&stats) else { return Ok(()) };
    let used = stats.allocated;
    let share = used.saturating_add(more) as f64 / there as f64;
    if share > 1.0 {
        let cause = format!("{} beside {used} in use, and {} has {there}", what(), device.name());
        return Err(Error::argument(cause, "use smaller batches, gradient checkpointing, a half type, or a device with more memory"));
    }
    if share > NEARLY_ALL {
        let percent = 100.0 * share;
        let sum = used.saturating_add(more);
        unigrad_device::tell(format_args!(
            "unigrad: a step will use {percent:.0} % of the memory of {}: {sum} of {there} bytes",
            device.name()
        ));
    }
    Ok(())
}
