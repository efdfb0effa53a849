//! Averages of weights over steps or epochs, which often do better than the weights.
//!
//! Always: the averages are an [`AveragedModel`]'s; they stand in the weights' place during validation, and when the run is done.

use crate::{
    callback::{Callback, Context, Saved},
    run::Ended,
};
use unigrad_nn::{AveragedModel, Error, Module, Result, Visitor, VisitorMut};
use unigrad_tensor::{Device, Tensor};

/// The tensors of a run's models, as a module.
struct Handles(Vec<(String, Tensor)>);

impl Handles {
    fn of(run: &Context<'_>) -> Handles {
        Handles(run.state.to_vec())
    }
}

impl Module for Handles {
    fn visit<'m>(&'m self, visitor: &mut dyn Visitor<'m>) {
        for (name, tensor) in &self.0 {
            if tensor.is_variable() { visitor.parameter(name, tensor) } else { visitor.buffer(name, tensor) }
        }
    }

    fn visit_mut(&mut self, visitor: &mut dyn VisitorMut) {
        for (name, tensor) in &mut self.0 {
            if tensor.is_variable() { visitor.parameter(name, tensor) } else { visitor.buffer(name, tensor) }
        }
    }
}

/// What both callbacks have: averages, once the run has begun, and what a checkpoint had of them.
#[derive(Debug, Default)]
struct Averages {
    model: Option<AveragedModel>,
    loaded: Option<Saved>,
}

impl Averages {
    fn begin(&mut self, run: &Context<'_>, decay: Option<f64>) -> Result<()> {
        let handles = Handles::of(run);
        let model = match decay {
            Some(decay) => AveragedModel::ema(&handles, decay)?,
            None => AveragedModel::swa(&handles)?,
        };
        let mut model = model.use_buffers(true);
        if let Some(saved) = self.loaded.take() {
            model.load_state_dict(&saved.tensors)?;
        }
        self.model = Some(model);
        Ok(())
    }

    /// Whether there is anything in them yet.
    fn are_there(&self) -> Result<bool> {
        self.model.as_ref().map_or(Ok(false), |model| Ok(model.n_averaged()? > 0))
    }

    fn update(&mut self, run: &Context<'_>) -> Result<()> {
        self.model.as_mut().map_or(Ok(()), |model| model.update(&Handles::of(run)))
    }

    /// Exchanges averages and weights.
    fn swap(&mut self, run: &Context<'_>) -> Result<()> {
        self.model.as_mut().map_or(Ok(()), |model| model.swap(&Handles::of(run)))
    }

    fn save(&self, saved: &mut Saved) -> Result<()> {
        if let Some(model) = &self.model {
            saved.tensors = model.state_dict()?;
        }
        Ok(())
    }

    fn values(&self) -> Vec<(String, Tensor)> {
        let all = self.model.as_ref().map_or_else(Vec::new, AveragedModel::averages);
        all.into_iter().filter(|(_, tensor)| tensor.dtype().is_float()).collect()
    }
}

/// Exponential moving averages of all parameters and float buffers ([`AveragedModel`]): `average = decay * average + (1 - decay) * weight` after each step,
/// from the weights after the first one on. Validation uses them, and so does the model when the run is done.
///
/// ```
/// let ema = unigrad_train::Ema::new(0.999);
/// # drop(ema);
/// ```
#[derive(Debug)]
pub struct Ema {
    decay: f64,
    averages: Averages,
}

impl Ema {
    /// Averages that keep the part `decay` of themselves at each step.
    pub fn new(decay: f64) -> Ema {
        Ema { decay, averages: Averages::default() }
    }
}

impl Callback for Ema {
    fn name(&self) -> String {
        "ema".to_owned()
    }

    fn on_run_begin(&mut self, run: &mut Context<'_>) -> Result<()> {
        self.averages.begin(run, Some(self.decay))
    }

    fn on_step_end(&mut self, run: &mut Context<'_>) -> Result<()> {
        self.averages.update(run)
    }

    fn on_validation_begin(&mut self, run: &mut Context<'_>) -> Result<()> {
        self.averages.swap(run)
    }

    fn on_validation_end(&mut self, run: &mut Context<'_>) -> Result<()> {
        self.averages.swap(run)
    }

    fn on_run_end(&mut self, run: &mut Context<'_>) -> Result<()> {
        match run.ended {
            Some(Ended::Done | Ended::Stopped(_)) if self.averages.are_there()? => self.averages.swap(run),
            _ => Ok(()),
        }
    }

    fn validated(&self) -> Vec<(String, Tensor)> {
        self.averages.values()
    }

    fn save(&self, saved: &mut Saved) -> Result<()> {
        saved.set("decay", self.decay);
        self.averages.save(saved)
    }

    fn load(&mut self, saved: &Saved, _: &Device) -> Result<()> {
        let decay: f64 = saved.get("decay")?;
        if decay != self.decay {
            let cause = format!("averages of weights with a decay of {}, and the run began with {decay}", self.decay);
            return Err(Error::argument(cause, "continue with the decay that the run began with"));
        }
        self.averages.loaded = Some(saved.clone());
        Ok(())
    }
}

/// Equal averages of the weights after each epoch, from one on (Izmailov et al., 2018). Once there are some, validation uses them, and so does the model when
/// the run is done. Running statistics are averaged too; [`unigrad_nn::update_bn`] computes them anew.
///
/// ```
/// let averages = unigrad_train::Swa::new(10);
/// # drop(averages);
/// ```
#[derive(Debug)]
pub struct Swa {
    start: usize,
    averages: Averages,
    in_place: bool,
    /// The last epoch that counts in the averages; 0: none.
    last: usize,
}

impl Swa {
    /// Averages from the end of epoch `start` on, counted from 1.
    pub fn new(start: usize) -> Swa {
        Swa { start, averages: Averages::default(), in_place: false, last: 0 }
    }

    /// Takes an epoch's weights into the averages, once.
    fn count(&mut self, epoch: usize, run: &Context<'_>) -> Result<()> {
        if epoch < self.start || epoch <= self.last {
            return Ok(());
        }
        self.averages.update(run)?;
        self.last = epoch;
        Ok(())
    }
}

impl Callback for Swa {
    fn name(&self) -> String {
        "swa".to_owned()
    }

    fn on_run_begin(&mut self, run: &mut Context<'_>) -> Result<()> {
        self.averages.begin(run, None)
    }

    fn on_validation_begin(&mut self, run: &mut Context<'_>) -> Result<()> {
        // The epoch that is validated counts already.
        self.count(run.epoch + 1, run)?;
        self.in_place = self.last > 0;
        if self.in_place { self.averages.swap(run) } else { Ok(()) }
    }

    fn on_validation_end(&mut self, run: &mut Context<'_>) -> Result<()> {
        if std::mem::take(&mut self.in_place) { self.averages.swap(run) } else { Ok(()) }
    }

    fn on_epoch_end(&mut self, run: &mut Context<'_>) -> Result<()> {
        self.count(run.epoch, run)
    }

    fn on_run_end(&mut self, run: &mut Context<'_>) -> Result<()> {
        match run.ended {
            Some(Ended::Done | Ended::Stopped(_)) if self.last > 0 => self.averages.swap(run),
            _ => Ok(()),
        }
    }

    fn validated(&self) -> Vec<(String, Tensor)> {
        if self.last > 0 { self.averages.values() } else { Vec::new() }
    }

    fn save(&self, saved: &mut Saved) -> Result<()> {
        saved.set("start", self.start);
        saved.set("last", self.last);
        self.averages.save(saved)
    }

    fn load(&mut self, saved: &Saved, _: &Device) -> Result<()> {
        let start: usize = saved.get("start")?;
        if start != self.start {
            let cause = format!("averages of weights from epoch {} on, and the run began with {start}", self.start);
            return Err(Error::argument(cause, "continue with the epoch that the run began with"));
        }
        self.last = saved.get("last")?;
        self.averages.loaded = Some(saved.clone());
        Ok(())
    }
}
