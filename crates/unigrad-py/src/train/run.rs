//! A run: the crates' trainer over a model, batches and callbacks of Python.

use super::{
    callbacks::{PyCallback, figures, native, told},
    learner::{Named, PyLearner, PySource},
    metrics::{Described, PyMetric},
};
use crate::{
    device::PyDevice,
    error::{OrRaise, argument},
    exit::{Release, back},
    optim::PyOptimizer,
    origin::here,
};
use pyo3::{prelude::*, types::PyDict};
use std::{path::PathBuf, time::Duration};
use unigrad::{
    data::Source,
    nn::ScalerOptions,
    train::{Clip, Console, Precision, Trainer},
};

/// The trainer that settings ask for.
pub(super) fn trainer(py: Python<'_>, device: PyDevice, settings: &Bound<'_, PyDict>) -> PyResult<Trainer> {
    fn get<'py, T>(settings: &Bound<'py, PyDict>, name: &str) -> PyResult<Option<T>>
    where
        T: pyo3::conversion::FromPyObjectOwned<'py>,
    {
        match settings.get_item(name)?.filter(|value| !value.is_none()) {
            Some(value) => match value.extract::<T>().map_err(Into::<PyErr>::into) {
                Ok(value) => Ok(Some(value)),
                Err(error) => Err(pyo3::exceptions::PyTypeError::new_err(format!("argument '{name}': {error}"))),
            },
            None => Ok(None),
        }
    }
    let mut trainer = Trainer::new(&device.0);
    trainer = match (get::<u64>(settings, "max_steps")?, get::<usize>(settings, "max_epochs")?) {
        (Some(steps), _) => trainer.steps(steps),
        (None, Some(epochs)) => trainer.epochs(epochs),
        (None, None) => trainer,
    };
    if let Some(seed) = get(settings, "seed")? {
        trainer = trainer.seed(seed);
    }
    if let Some(every) = get(settings, "validate_every")? {
        trainer = trainer.validate_every(every);
    }
    if let Some(batches) = get(settings, "accumulate")? {
        trainer = trainer.accumulate(batches);
    }
    if let Some(norm) = get(settings, "clip_norm")? {
        trainer = trainer.clip(Clip::Norm(norm));
    } else if let Some(value) = get(settings, "clip_value")? {
        trainer = trainer.clip(Clip::Value(value));
    }
    trainer = match get::<String>(settings, "precision")?.as_deref() {
        None | Some("f32") => trainer,
        Some("bf16") => trainer.precision(Precision::Bf16),
        Some("f16") => trainer.precision(Precision::F16),
        Some("fp8") => trainer.precision(Precision::Fp8),
        Some(other) => return Err(argument(py, format!("`precision` is {other:?}"), "choose \"f32\", \"bf16\", \"f16\" or \"fp8\"")),
    };
    if let Some(recipe) = settings.get_item("fp8")?.filter(|value| !value.is_none()) {
        trainer = trainer.fp8(recipe.extract::<PyRef<'_, crate::fp8::PyFp8Recipe>>()?.0.clone());
    }
    if let Some(scale) = settings.get_item("loss_scale")?.filter(|value| !value.is_none()) {
        let (init_scale, growth_factor, backoff_factor, growth_interval) = scale.extract()?;
        trainer = trainer.loss_scale(ScalerOptions { init_scale, growth_factor, backoff_factor, growth_interval });
    }
    if let Some(steps) = get(settings, "read_every")? {
        trainer = trainer.read_every(steps);
    }
    if let Some(seconds) = get::<f64>(settings, "time_limit")? {
        let limit = Duration::try_from_secs_f64(seconds);
        trainer = trainer.time_limit(limit.map_err(|_| argument(py, format!("`time_limit` is {seconds}"), "give seconds, 0 or more"))?);
    }
    if let Some(folder) = get::<PathBuf>(settings, "folder")? {
        trainer = trainer.folder(folder);
    }
    if get::<bool>(settings, "resume")?.unwrap_or(false) {
        trainer = trainer.resume_if_there();
    }
    if let Some(steps) = get(settings, "checkpoint_every")? {
        trainer = trainer.checkpoint_every(steps);
    }
    if let Some(title) = get::<String>(settings, "title")? {
        trainer = trainer.title(&title);
    }
    trainer = match get::<bool>(settings, "verbose")? {
        Some(true) => trainer.console(Console::Auto),
        _ => trainer.quiet(),
    };
    trainer = trainer.report(get::<bool>(settings, "report")?.unwrap_or(true));
    trainer = trainer.train_metrics(get::<bool>(settings, "train_metrics")?.unwrap_or(true));
    trainer = trainer.gradient_checkpointing(get::<bool>(settings, "gradient_checkpointing")?.unwrap_or(false));
    trainer = trainer.check_memory(get::<bool>(settings, "check_memory")?.unwrap_or(true));
    if let Some(bytes) = get(settings, "activation_limit")? {
        trainer = trainer.activation_limit(bytes);
    }
    if let Some(steps) = get(settings, "profile")? {
        trainer = trainer.profile(steps);
    }
    Ok(trainer)
}

/// Trains; figures by name, why it ended, how many steps were taken, and the profile's summary if one was asked for.
#[pyfunction]
#[pyo3(signature = (step, train_mode, before, parameters, buffers, optimizer, train, validation, metrics, callbacks, device, settings))]
#[expect(clippy::too_many_arguments, reason = "the parts of a run")]
pub(crate) fn fit<'py>(
    py: Python<'py>,
    step: Py<PyAny>,
    train_mode: Py<PyAny>,
    before: Py<PyAny>,
    parameters: Named<'py>,
    buffers: Named<'py>,
    optimizer: Py<PyOptimizer>,
    train: (Py<PyAny>, usize, usize),
    validation: Option<(Py<PyAny>, usize, usize)>,
    metrics: Vec<PyRef<'py, PyMetric>>,
    callbacks: Vec<Py<PyAny>>,
    device: PyDevice,
    settings: &Bound<'py, PyDict>,
) -> PyResult<Bound<'py, PyDict>> {
    let _here = here(py);
    let metrics: Vec<Described> = metrics.iter().map(|metric| metric.described.clone()).collect();
    let settings = settings.clone().unbind();
    let complete = |py: Python<'_>| -> PyResult<Trainer> {
        let mut trainer = trainer(py, device, settings.bind(py))?;
        for described in metrics {
            trainer = trainer.metric(move || described.made());
        }
        for callback in callbacks {
            let built_in = match callback.bind(py).getattr("_native") {
                Ok(own) => native(own.call0()?.cast::<PyDict>()?)?,
                Err(_) => None,
            };
            trainer = match built_in {
                Some(add) => add(trainer),
                None => trainer.callback(PyCallback { object: callback }),
            };
        }
        Ok(trainer)
    };
    let mut learner = PyLearner::new(step, train_mode, before, (&parameters, &buffers), optimizer);
    let source = |(loader, n_batches, n_items): (Py<PyAny>, usize, usize)| PySource { loader, n_batches, n_items };
    let (train, validation) = (source(train), validation.map(source));
    let result = py.released(|| {
        // What threads cannot give each other, this one makes itself.
        let trainer = back(complete)?;
        let validation = validation.as_ref().map(|source| source as &dyn Source<Batch = Py<PyAny>>);
        Ok::<_, PyErr>(trainer.fit(&mut learner, &train, validation))
    })?;
    let run = learner.ended(result).or_raise(py)?;
    let all = PyDict::new(py);
    all.set_item("history", figures(&run.history))?;
    all.set_item("lr", run.history.lr.clone())?;
    all.set_item("seconds", run.history.seconds.clone())?;
    all.set_item("step_losses", run.history.step_losses.clone())?;
    all.set_item("ended", told(&run.ended))?;
    all.set_item("n_steps", run.n_steps)?;
    all.set_item("profile", run.profile.map(|profile| profile.summary()))?;
    Ok(all)
}
