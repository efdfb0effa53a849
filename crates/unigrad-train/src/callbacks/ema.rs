//! Averages of weights over steps, which often do better than the weights.

use crate::{
    callback::{Callback, Context, Saved, from_host, to_host},
    run::Ended,
};
use unigrad_nn::{Error, Result};
use unigrad_tensor::{Device, Tensor, no_grad};

/// Exponential moving averages of all parameters and float buffers: `average = decay * average + (1 - decay) * weight` after each step. Validation
/// uses them, and so does the model when the run is done.
///
/// ```
/// let ema = unigrad_train::Ema::new(0.999);
/// # drop(ema);
/// ```
#[derive(Debug)]
pub struct Ema {
    decay: f64,
    averages: Vec<(String, Tensor)>,
    /// The trained weights, while the averages are in their place.
    weights: Vec<(Tensor, Tensor)>,
}

impl Ema {
    /// Averages that keep the part `decay` of themselves at each step.
    pub fn new(decay: f64) -> Ema {
        Ema { decay, averages: Vec::new(), weights: Vec::new() }
    }

    /// Puts the averages in the weights' place.
    fn apply(&mut self, run: &Context<'_>) -> Result<Vec<(Tensor, Tensor)>> {
        let mut before = Vec::with_capacity(self.averages.len());
        for (name, average) in &self.averages {
            let Some((_, tensor)) = run.state.iter().find(|(known, _)| known == name) else { continue };
            before.push((tensor.clone(), tensor.detach()));
            no_grad(|| tensor.assign(average))?;
        }
        Tensor::realize_all(&before.iter().map(|(tensor, _)| tensor).collect::<Vec<_>>())?;
        Ok(before)
    }
}

impl Callback for Ema {
    fn name(&self) -> String {
        "ema".to_owned()
    }

    fn on_run_begin(&mut self, run: &mut Context<'_>) -> Result<()> {
        if !(0.0..=1.0).contains(&self.decay) {
            return Err(Error::argument(
                format!("averages of weights with a decay of {}", self.decay),
                "use a decay from 0 to 1, 0.999 for example",
            ));
        }
        let averaged = run.state.iter().filter(|(_, tensor)| tensor.dtype().is_float());
        if self.averages.is_empty() {
            self.averages = averaged.map(|(name, tensor)| Ok((name.clone(), tensor.detach().realize()?))).collect::<Result<_>>()?;
            return Ok(());
        }
        for (name, tensor) in averaged {
            let fits = self
                .averages
                .iter()
                .any(|(known, average)| known == name && average.shape() == tensor.shape() && average.dtype() == tensor.dtype());
            if !fits {
                let cause = format!("the checkpoint's averages have no `{name}`, {} {:?}", tensor.dtype(), tensor.shape());
                return Err(Error::argument(cause, "continue with the model that the run began with"));
            }
        }
        Ok(())
    }

    fn on_step_end(&mut self, run: &mut Context<'_>) -> Result<()> {
        no_grad(|| -> Result<()> {
            for (name, average) in &mut self.averages {
                let Some((_, tensor)) = run.state.iter().find(|(known, _)| known == name) else { continue };
                let part = |share: f64| Tensor::scalar(share, average.dtype(), &run.device);
                *average = &*average * part(self.decay) + tensor.detach() * part(1.0 - self.decay);
            }
            Ok(())
        })?;
        Tensor::realize_all(&self.averages.iter().map(|(_, average)| average).collect::<Vec<_>>())
    }

    fn on_validation_begin(&mut self, run: &mut Context<'_>) -> Result<()> {
        self.weights = self.apply(run)?;
        Ok(())
    }

    fn on_validation_end(&mut self, _: &mut Context<'_>) -> Result<()> {
        let weights = std::mem::take(&mut self.weights);
        crate::descend::put_back(&weights)
    }

    fn on_run_end(&mut self, run: &mut Context<'_>) -> Result<()> {
        if matches!(run.ended, Some(Ended::Done | Ended::Stopped(_))) {
            self.apply(run)?;
        }
        Ok(())
    }

    fn validated(&self) -> Vec<(String, Tensor)> {
        self.averages.clone()
    }

    fn save(&self, saved: &mut Saved) -> Result<()> {
        saved.set("decay", self.decay);
        for (name, average) in &self.averages {
            saved.tensors.insert(name.clone(), to_host(average)?);
        }
        Ok(())
    }

    fn load(&mut self, saved: &Saved, device: &Device) -> Result<()> {
        let decay: f64 = saved.get("decay")?;
        if decay != self.decay {
            let cause = format!("averages of weights with a decay of {}, and the run began with {decay}", self.decay);
            return Err(Error::argument(cause, "continue with the decay that the run began with"));
        }
        self.averages = saved.tensors.iter().map(|(name, host)| Ok((name.clone(), from_host(host, device)?))).collect::<Result<_>>()?;
        Ok(())
    }
}
