//! Networks by description.

use crate::{
    alone::{Alone, Turn},
    device::PyDevice,
    error::OrRaise,
    exit::Release,
    origin::here,
    tensor::{PyTensor, checked},
};
use pyo3::prelude::*;
use std::{collections::BTreeMap, path::PathBuf};
use unigrad::{
    Error,
    nn::{Layer, Module},
    tensor::Tensor,
    train::network::{Architecture, Network},
};

/// Figures of epochs, by name.
type Figures = BTreeMap<String, Vec<f64>>;

/// Layers by description, one after another.
#[pyclass(name = "Network", frozen)]
pub(crate) struct PyNetwork(Alone<Network>);

impl PyNetwork {
    fn of(network: Network) -> PyNetwork {
        PyNetwork(Alone::new(network, "a network was asked for something while it is at work"))
    }

    fn lock(&self) -> Result<Turn<'_, Network>, Error> {
        self.0.lock()
    }
}

fn named(py: Python<'_>, all: Vec<(String, Tensor)>) -> PyResult<Vec<(String, PyTensor)>> {
    all.into_iter().map(|(name, tensor)| Ok((name, checked(py, tensor)?))).collect()
}

#[pymethods]
impl PyNetwork {
    /// Of an architecture in JSON.
    #[new]
    #[pyo3(signature = (architecture, seed=None, device=None))]
    fn new(py: Python<'_>, architecture: &str, seed: Option<u64>, device: Option<PyDevice>) -> PyResult<PyNetwork> {
        let architecture = Architecture::from_json(architecture).or_raise(py)?;
        let device = crate::device::or_default(py, device)?;
        let _here = here(py);
        let made = py.released(|| Network::from_architecture(architecture, seed, &device));
        made.map(PyNetwork::of).or_raise(py)
    }

    /// Of a file that `save` wrote.
    #[staticmethod]
    #[pyo3(signature = (path, device=None))]
    fn load(py: Python<'_>, path: PathBuf, device: Option<PyDevice>) -> PyResult<PyNetwork> {
        let device = crate::device::or_default(py, device)?;
        py.released(|| Network::load_on(&path, &device)).map(PyNetwork::of).or_raise(py)
    }

    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        py.released(|| self.lock()?.save(&path)).or_raise(py)
    }

    /// The description, in JSON.
    fn architecture(&self, py: Python<'_>) -> PyResult<String> {
        self.0.attached(py)?.architecture().to_json().or_raise(py)
    }

    fn forward(&self, py: Python<'_>, input: &PyTensor) -> PyResult<PyTensor> {
        let _here = here(py);
        let output = self.0.attached(py)?.forward(input.tensor());
        checked(py, output)
    }

    fn train(&self, py: Python<'_>, training: bool) -> PyResult<()> {
        Module::train(&mut *self.0.attached(py)?, training);
        Ok(())
    }

    fn parameters(&self, py: Python<'_>) -> PyResult<Vec<(String, PyTensor)>> {
        named(py, self.0.attached(py)?.named_parameters())
    }

    fn buffers(&self, py: Python<'_>) -> PyResult<Vec<(String, PyTensor)>> {
        named(py, self.0.attached(py)?.named_buffers())
    }

    fn summary(&self, py: Python<'_>, batch_size: usize) -> PyResult<String> {
        let mut summary = self.0.attached(py)?.summary();
        summary.batch_size = batch_size;
        Ok(summary.to_string())
    }

    fn shapes(&self, py: Python<'_>) -> PyResult<(Vec<usize>, Vec<usize>)> {
        let network = self.0.attached(py)?;
        Ok((network.input_shape().to_vec(), network.output_shape().to_vec()))
    }

    /// The description's loss.
    fn loss(&self, py: Python<'_>, prediction: &PyTensor, target: &PyTensor) -> PyResult<PyTensor> {
        let _here = here(py);
        let loss = self.0.attached(py)?.loss(prediction.tensor(), target.tensor()).or_raise(py)?;
        checked(py, loss)
    }

    /// Trains on arrays by settings in JSON (those of a file's `[train]`, with `optimizer` and `schedule` beside them); figures by name.
    fn fit(&self, py: Python<'_>, inputs: &PyTensor, targets: &PyTensor, settings: &str) -> PyResult<(Figures, Figures)> {
        let config = unigrad::train::network::TrainingConfig::from_json(settings).or_raise(py)?;
        let (inputs, targets) = (inputs.tensor(), targets.tensor());
        let history = py.released(|| self.lock()?.train(inputs, targets, &config)).or_raise(py)?;
        Ok((history.train_metrics, history.val_metrics))
    }

    fn evaluate(&self, py: Python<'_>, inputs: &PyTensor, targets: &PyTensor) -> PyResult<BTreeMap<String, f64>> {
        let (inputs, targets) = (inputs.tensor(), targets.tensor());
        py.released(|| self.lock()?.evaluate(inputs, targets)).or_raise(py)
    }

    /// `kind` is "scores", "probabilities" or "classes".
    fn predict(&self, py: Python<'_>, inputs: &PyTensor, kind: &str) -> PyResult<PyTensor> {
        let inputs = inputs.tensor();
        let made = py.released(|| {
            let mut network = self.lock()?;
            match kind {
                "probabilities" => network.predict_probabilities(inputs),
                "classes" => {
                    let classes = network.predict_classes(inputs)?;
                    let device = *network.device();
                    Ok::<Tensor, Error>(Tensor::from_slice(&classes, [classes.len()], &device))
                }
                _ => network.predict(inputs),
            }
        });
        checked(py, made.or_raise(py)?)
    }
}
