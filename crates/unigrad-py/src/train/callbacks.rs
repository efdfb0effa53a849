//! Callbacks of Python in a run of the crates.

use crate::{callback::carried, exit::back};
use pyo3::{prelude::*, types::PyDict};
use std::{
    collections::BTreeMap,
    sync::{Mutex, PoisonError},
};
use unigrad::{
    Result,
    nn::Better,
    tensor::Device,
    train::{Callback, Context, EarlyStopping, Ended, History, KeepBest, Saved, Swa, TensorBoard, Trainer},
};

/// What a callback sees of a run.
#[pyclass(name = "Context", frozen)]
pub(crate) struct PyContext {
    /// Epochs that are done.
    #[pyo3(get)]
    epoch: usize,
    /// Batches of this epoch that are done.
    #[pyo3(get)]
    batch: usize,
    /// Batches of an epoch.
    #[pyo3(get)]
    n_batches: usize,
    /// Steps that are done, in all epochs.
    #[pyo3(get)]
    step: u64,
    /// The learning rate of the latest step.
    #[pyo3(get)]
    lr: f64,
    /// The latest loss that was read, or `None`.
    #[pyo3(get)]
    loss: Option<f64>,
    /// Why the run ended: "done", "stopped", "time limit" or "interrupted"; `None` while it goes.
    #[pyo3(get)]
    ended: Option<String>,
    figures: BTreeMap<String, Vec<f64>>,
    stop: Mutex<Option<String>>,
}

#[pymethods]
impl PyContext {
    /// The figures of the epochs that are done, by name: `loss`, `val_loss`, and so on. Empty while an epoch goes on.
    #[getter]
    fn history(&self) -> BTreeMap<String, Vec<f64>> {
        self.figures.clone()
    }

    /// Ends the run after this step or epoch, for this reason.
    #[pyo3(signature = (why="a callback said so"))]
    fn stop(&self, why: &str) {
        *self.stop.lock().unwrap_or_else(PoisonError::into_inner) = Some(why.to_owned());
    }
}

/// Figures by name.
pub(crate) fn figures(history: &History) -> BTreeMap<String, Vec<f64>> {
    history.names().into_iter().filter_map(|name| history.get(&name).map(<[f64]>::to_vec).map(|values| (name, values))).collect()
}

/// Why a run ended.
pub(crate) fn told(ended: &Ended) -> String {
    match ended {
        Ended::Done => "done".to_owned(),
        Ended::Stopped(why) => format!("stopped: {why}"),
        Ended::TimeLimit => "time limit".to_owned(),
        Ended::Interrupted => "interrupted".to_owned(),
    }
}

/// An object of Python with methods of a callback.
pub(crate) struct PyCallback {
    pub(crate) object: Py<PyAny>,
}

impl PyCallback {
    fn call(&self, method: &str, run: &mut Context<'_>, with_history: bool) -> Result<()> {
        back(|py| {
            let outcome = || -> PyResult<Option<String>> {
                let Ok(function) = self.object.bind(py).getattr(method) else { return Ok(None) };
                let context = PyContext {
                    epoch: run.epoch,
                    batch: run.batch,
                    n_batches: run.n_batches,
                    step: run.step,
                    lr: run.lr,
                    loss: run.loss,
                    ended: run.ended.as_ref().map(told),
                    figures: if with_history { figures(run.history) } else { BTreeMap::new() },
                    stop: Mutex::new(None),
                };
                let context = Bound::new(py, context)?;
                function.call1((&context,))?;
                Ok(context.get().stop.lock().unwrap_or_else(PoisonError::into_inner).take())
            };
            match outcome() {
                Ok(Some(why)) => run.stop(why),
                Ok(None) => {}
                Err(error) => return Err(carried("a callback", error)),
            }
            Ok(())
        })
    }
}

impl Callback for PyCallback {
    fn name(&self) -> String {
        back(|py| self.object.bind(py).get_type().name().map_or_else(|_| String::new(), |name| name.to_string()))
    }

    fn on_run_begin(&mut self, run: &mut Context<'_>) -> Result<()> {
        self.call("on_run_begin", run, true)
    }

    fn on_epoch_begin(&mut self, run: &mut Context<'_>) -> Result<()> {
        self.call("on_epoch_begin", run, true)
    }

    fn on_step_end(&mut self, run: &mut Context<'_>) -> Result<()> {
        self.call("on_step_end", run, false)
    }

    fn on_validation_begin(&mut self, run: &mut Context<'_>) -> Result<()> {
        self.call("on_validation_begin", run, true)
    }

    fn on_validation_end(&mut self, run: &mut Context<'_>) -> Result<()> {
        self.call("on_validation_end", run, true)
    }

    fn on_epoch_end(&mut self, run: &mut Context<'_>) -> Result<()> {
        self.call("on_epoch_end", run, true)
    }

    fn on_run_end(&mut self, run: &mut Context<'_>) -> Result<()> {
        self.call("on_run_end", run, true)
    }

    /// What `state_dict` of the object gives, as texts.
    fn save(&self, saved: &mut Saved) -> Result<()> {
        back(|py| {
            let texts = || -> PyResult<BTreeMap<String, String>> {
                match self.object.bind(py).getattr("state_dict") {
                    Ok(function) => function.call0()?.extract(),
                    Err(_) => Ok(BTreeMap::new()),
                }
            };
            texts().map(|texts| texts.iter().for_each(|(name, text)| saved.set(name, text))).map_err(|error| carried("a callback", error))
        })
    }

    fn load(&mut self, saved: &Saved, _device: &Device) -> Result<()> {
        back(|py| {
            let load = || -> PyResult<()> {
                let Ok(function) = self.object.bind(py).getattr("load_state_dict") else { return Ok(()) };
                let texts = PyDict::new(py);
                saved.values.iter().try_for_each(|(name, text)| texts.set_item(name, text))?;
                function.call1((texts,)).map(drop)
            };
            load().map_err(|error| carried("a callback", error))
        })
    }
}

/// Adds a callback to a trainer.
type Add = Box<dyn FnOnce(Trainer) -> Trainer>;

/// A callback of the crates, by name and numbers; `None` if there is none of this name.
pub(crate) fn native(settings: &Bound<'_, PyDict>) -> PyResult<Option<Add>> {
    let text = |name: &str| -> PyResult<Option<String>> { settings.get_item(name)?.map(|value| value.extract()).transpose() };
    let number = |name: &str| -> PyResult<Option<f64>> { settings.get_item(name)?.map(|value| value.extract()).transpose() };
    let metric = text("metric")?.unwrap_or_else(|| "val_loss".to_owned()); // DEFAULT: what the classes of Python have
    let better = if text("mode")?.as_deref() == Some("max") { Better::Higher } else { Better::Lower };
    let count = |value: Option<f64>| value.map_or(1, |value| value as usize);
    Ok(match text("kind")?.as_deref() {
        Some("early_stopping") => {
            let mut callback = EarlyStopping::new(&metric, better);
            if let Some(patience) = number("patience")? {
                callback = callback.patience(patience as u64);
            }
            if let Some(delta) = number("min_delta")? {
                callback = callback.min_delta(delta);
            }
            if number("restore_best")?.is_some_and(|restored| restored != 0.0) {
                callback = callback.restore_best();
            }
            Some(Box::new(|trainer| trainer.callback(callback)))
        }
        Some("keep_best") => {
            let callback = KeepBest::top(count(number("n")?).max(1), &metric, better);
            Some(Box::new(|trainer| trainer.callback(callback)))
        }
        Some("ema") => {
            let callback = unigrad::train::Ema::new(number("decay")?.unwrap_or(0.999)); // DEFAULT: what the class of Python has
            Some(Box::new(|trainer| trainer.callback(callback)))
        }
        Some("swa") => {
            let callback = Swa::new(count(number("start")?));
            Some(Box::new(|trainer| trainer.callback(callback)))
        }
        Some("tensorboard") => Some(Box::new(|trainer| trainer.callback(TensorBoard::new()))),
        _ => None,
    })
}
