//! Callbacks: what a program does at the beginnings and ends of a run's parts.
//!
//! Always: called in the order in which they were added; what they keep is in the checkpoint, so that a resumed run goes on with it.

use crate::{history::History, run::Ended, trainer::Until};
use std::{collections::BTreeMap, path::Path, str::FromStr};
use unigrad_nn::{Error, HostTensor, Result};
use unigrad_tensor::{Device, Tensor};

/// What a callback sees of a run.
pub struct Context<'a> {
    /// Epochs that are done.
    pub epoch: usize,
    /// Batches of this epoch that are done.
    pub batch: usize,
    /// Batches of an epoch.
    pub n_batches: usize,
    /// Steps that are done, in all epochs.
    pub step: u64,
    /// When the run ends.
    pub until: Until,
    /// The learning rate of the latest step.
    pub lr: f64,
    /// The latest loss that was read.
    pub loss: Option<f64>,
    /// The figures of the epochs that are done.
    pub history: &'a History,
    /// Parameters and buffers of all models, by name: handles, which can be assigned.
    pub state: &'a [(String, Tensor)],
    /// The run's folder.
    pub folder: Option<&'a Path>,
    /// Where it runs.
    pub device: Device,
    /// Why the run ended, where it has.
    pub ended: Option<Ended>,
    pub(crate) validated: Vec<(String, Tensor)>,
    pub(crate) stop: Option<String>,
}

impl Context<'_> {
    /// Ends the run after this step or epoch; `why` is what [`Run`](crate::Run) tells.
    pub fn stop(&mut self, why: impl Into<String>) {
        self.stop = Some(why.into());
    }

    /// The values of parameters and buffers as validation used them, for a file: averages, where there are some.
    pub fn weights(&self) -> Result<BTreeMap<String, HostTensor>> {
        let used = |name: &str| self.validated.iter().find(|(known, _)| known == name).map(|(_, tensor)| tensor);
        let tensors: Vec<(&String, &Tensor)> = self.state.iter().map(|(name, tensor)| (name, used(name).unwrap_or(tensor))).collect();
        Tensor::realize_all(&tensors.iter().map(|(_, tensor)| *tensor).collect::<Vec<_>>())?;
        tensors.into_iter().map(|(name, tensor)| Ok((name.clone(), to_host(tensor)?))).collect()
    }
}

pub(crate) fn to_host(tensor: &Tensor) -> Result<HostTensor> {
    Ok(HostTensor { dtype: tensor.dtype(), shape: tensor.dims()?, bytes: tensor.to_bytes()? })
}

pub(crate) fn from_host(host: &HostTensor, device: &Device) -> Result<Tensor> {
    Tensor::from_bytes(&host.bytes, host.shape.as_slice(), host.dtype, device).check()
}

/// What a callback keeps in a checkpoint.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Saved {
    /// Numbers and texts by name.
    pub values: BTreeMap<String, String>,
    /// Tensors by name.
    pub tensors: BTreeMap<String, HostTensor>,
}

impl Saved {
    /// Adds a value.
    pub fn set(&mut self, name: &str, value: impl ToString) {
        self.values.insert(name.to_owned(), value.to_string());
    }

    /// A value that was added; an error if it is not there, or is something else.
    pub fn get<T: FromStr>(&self, name: &str) -> Result<T> {
        self.values.get(name).and_then(|text| text.parse().ok()).ok_or_else(|| {
            let cause = format!("the checkpoint has no `{name}` for a callback, or one that cannot be read");
            Error::argument(cause, "continue with the callbacks that the run began with")
        })
    }
}

/// What a program does beside the training. All methods have defaults that do nothing.
///
/// ```
/// # unigrad_device::register(unigrad_cpu::CpuDriver);
/// use unigrad_train::{Callback, Context};
/// use unigrad_nn::Result;
///
/// /// Ends a run whose loss is low enough.
/// struct GoodEnough(f64);
///
/// impl Callback for GoodEnough {
///     fn on_epoch_end(&mut self, run: &mut Context<'_>) -> Result<()> {
///         if run.history.last("loss").is_some_and(|loss| loss < self.0) {
///             run.stop(format!("the loss is below {}", self.0));
///         }
///         Ok(())
///     }
/// }
/// ```
pub trait Callback {
    /// The name of what it keeps in checkpoints; to be different for each of a run's callbacks that keep something.
    fn name(&self) -> String {
        String::new()
    }
    /// Before the first step; also of a run that is resumed, after what was kept is loaded.
    fn on_run_begin(&mut self, _run: &mut Context<'_>) -> Result<()> {
        Ok(())
    }
    /// Before the first batch of an epoch, or the first after a run was resumed in it.
    fn on_epoch_begin(&mut self, _run: &mut Context<'_>) -> Result<()> {
        Ok(())
    }
    /// After a step. Its loss may not be known yet.
    fn on_step_end(&mut self, _run: &mut Context<'_>) -> Result<()> {
        Ok(())
    }
    /// Before validation.
    fn on_validation_begin(&mut self, _run: &mut Context<'_>) -> Result<()> {
        Ok(())
    }
    /// After validation, also one that was interrupted.
    fn on_validation_end(&mut self, _run: &mut Context<'_>) -> Result<()> {
        Ok(())
    }
    /// After an epoch, when its figures are in the history and before its checkpoint is saved.
    fn on_epoch_end(&mut self, _run: &mut Context<'_>) -> Result<()> {
        Ok(())
    }
    /// After the last step, however the run ended, but for an error.
    fn on_run_end(&mut self, _run: &mut Context<'_>) -> Result<()> {
        Ok(())
    }
    /// Tensors, by the names of those of the model, that validation used instead of them.
    fn validated(&self) -> Vec<(String, Tensor)> {
        Vec::new()
    }
    /// What a checkpoint keeps.
    fn save(&self, _saved: &mut Saved) -> Result<()> {
        Ok(())
    }
    /// Goes on from what was kept.
    fn load(&mut self, _saved: &Saved, _device: &Device) -> Result<()> {
        Ok(())
    }
}
