//! `Neuron`, `Layer`, `MLP`: nets of values. One node for each neuron.
//!
//! Always: weights are lists that a program may change; a net notices. Random numbers are those of Python's `random`, so a seed gives micrograd's nets.
//! What a program puts in place of a neuron or a layer is called.

use super::{
    Given, operand,
    value::{PyValue, made},
};
use crate::device::PyDevice;
use pyo3::{
    IntoPyObjectExt,
    exceptions::{PyTypeError, PyValueError},
    prelude::*,
    types::{PyDict, PyList, PyTuple},
};
use std::sync::{
    Arc, Mutex, MutexGuard, PoisonError,
    atomic::{AtomicBool, Ordering::Relaxed},
};
use unigrad_micrograd::{Accelerator, Node, Nodes, Op, Ref};

/// What has parameters.
///
/// >>> import unigrad
/// >>> model = unigrad.micrograd.MLP(2, [3, 1])
/// >>> isinstance(model, unigrad.micrograd.Module), len(model.parameters())
/// (True, 13)
#[pyclass(name = "Module", module = "unigrad.micrograd", subclass, frozen)]
pub(crate) struct PyModuleBase;

#[pymethods]
impl PyModuleBase {
    #[new]
    #[pyo3(signature = (*_args, **_kwargs))]
    fn new(_args: &Bound<'_, PyTuple>, _kwargs: Option<&Bound<'_, PyDict>>) -> PyModuleBase {
        PyModuleBase
    }

    /// Sets the gradients of all parameters to 0.
    fn zero_grad(slf: &Bound<'_, PyModuleBase>) -> PyResult<()> {
        for parameter in slf.call_method0("parameters")?.try_iter()? {
            let parameter = parameter?;
            match parameter.cast::<PyValue>() {
                Ok(value) => value.get().0.set_grad(0.0),
                Err(_) => parameter.setattr("grad", 0.0)?,
            }
        }
        Ok(())
    }

    /// The values that are learned.
    fn parameters<'py>(slf: &Bound<'py, PyModuleBase>) -> Bound<'py, PyList> {
        PyList::empty(slf.py())
    }
}

/// An attribute that programs may set, from any thread: for a moment locked, so that no other thread finds the object in use.
struct Part<T>(Mutex<Py<T>>);

impl<T> Part<T> {
    fn new(object: Py<T>) -> Part<T> {
        Part(Mutex::new(object))
    }

    fn get<'py>(&self, py: Python<'py>) -> Bound<'py, T> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone_ref(py).into_bound(py)
    }

    fn set(&self, object: Py<T>) {
        let before = std::mem::replace(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner), object);
        // After the lock: what ends with it may be the program's.
        drop(before);
    }
}

/// Several values, inside and as Python has them.
enum Values<'py> {
    Nodes(Arc<Nodes>),
    Objects(Bound<'py, PyAny>),
}

impl<'py> Values<'py> {
    /// As nodes; numbers become some at this place.
    fn nodes(self, place: Option<&'static Accelerator>) -> PyResult<Arc<Nodes>> {
        match self {
            Values::Nodes(nodes) => Ok(nodes),
            Values::Objects(given) => {
                let wanted =
                    || PyTypeError::new_err(format!("argument 'x': a list of values and numbers is wanted, not {}", type_name(&given)));
                if given.is_instance_of::<pyo3::types::PyString>() {
                    return Err(wanted());
                }
                let item = |item: PyResult<Bound<'py, PyAny>>| -> PyResult<Ref> {
                    let item = item?;
                    match operand(&item)? {
                        Some(Given::Value(node)) => Ok(node),
                        Some(Given::Number(number, _)) => Ok(Node::leaf(number, place)),
                        None => Err(PyTypeError::new_err(format!("argument 'x': {} is neither a Value nor a number", type_name(&item)))),
                    }
                };
                let all = given.try_iter().map_err(|_| wanted())?.map(item).collect::<PyResult<Vec<Ref>>>()?;
                Ok(Nodes::new(all))
            }
        }
    }

    /// As Python has them: one value alone, or a list.
    fn object(self, py: Python<'py>, keep_list: bool) -> PyResult<Bound<'py, PyAny>> {
        match self {
            Values::Objects(object) => Ok(object),
            Values::Nodes(nodes) => match &nodes[..] {
                [one] if !keep_list => PyValue(one.clone()).into_bound_py_any(py),
                all => PyList::new(py, all.iter().map(|node| Bound::new(py, PyValue(node.clone()))).collect::<PyResult<Vec<_>>>()?)?
                    .into_bound_py_any(py),
            },
        }
    }
}

fn type_name(given: &Bound<'_, PyAny>) -> String {
    given.get_type().name().map_or_else(|_| "an object".to_owned(), |name| name.to_string())
}

/// A neuron: `relu(w . x + b)`, without `nonlin` the sum alone.
///
/// >>> from unigrad.micrograd import Neuron
/// >>> neuron = Neuron(2)
/// >>> neuron
/// ReLUNeuron(2)
/// >>> len(neuron.parameters())
/// 3
#[pyclass(name = "Neuron", module = "unigrad.micrograd", extends = PyModuleBase, subclass, frozen)]
pub(crate) struct PyNeuron {
    w: Part<PyList>,
    b: Part<PyValue>,
    nonlin: AtomicBool,
    /// The weights and the bias as the last call has seen them.
    seen: Mutex<Arc<Nodes>>,
}

impl PyNeuron {
    fn made(py: Python<'_>, nin: usize, nonlin: bool, device: Option<PyDevice>) -> PyResult<PyClassInitializer<PyNeuron>> {
        let place = device.and_then(|device| super::machine::place_of(device.0));
        let uniform = py.import("random")?.getattr("uniform")?;
        let weight = |_| -> PyResult<Bound<'_, PyValue>> {
            let number: f64 = uniform.call1((-1, 1))?.extract()?;
            Bound::new(py, PyValue(Node::leaf(number, place)))
        };
        let w = PyList::new(py, (0..nin).map(weight).collect::<PyResult<Vec<_>>>()?)?.unbind();
        let b = Py::new(py, PyValue(Node::leaf(0.0, place)))?;
        let neuron =
            PyNeuron { w: Part::new(w), b: Part::new(b), nonlin: AtomicBool::new(nonlin), seen: Mutex::new(Nodes::new(Vec::new())) };
        Ok(PyClassInitializer::from(PyModuleBase).add_subclass(neuron))
    }

    /// The weights, then the bias.
    fn weights(&self, py: Python<'_>) -> PyResult<Arc<Nodes>> {
        let (w, b) = (self.w.get(py), self.b.get(py));
        // A copy, as nothing of Python is asked while others wait for a lock.
        let seen = Arc::clone(&self.seen());
        let value = |given: &Bound<'_, PyAny>| -> PyResult<Ref> {
            match given.cast::<PyValue>() {
                Ok(value) => Ok(value.get().0.clone()),
                Err(_) => Err(PyTypeError::new_err(format!("a neuron's weight is a Value, not {}", type_name(given)))),
            }
        };
        let bias = &b.get().0;
        let is_same = |given: &Bound<'_, PyAny>, node: &Ref| given.cast::<PyValue>().is_ok_and(|value| Arc::ptr_eq(&value.get().0, node));
        let same = seen.len() == w.len() + 1
            && seen.last().is_some_and(|last| Arc::ptr_eq(last, bias))
            && w.iter().zip(seen.iter()).all(|(given, node)| is_same(&given, node));
        if same {
            return Ok(seen);
        }
        let mut all = w.iter().map(|given| value(&given)).collect::<PyResult<Vec<Ref>>>()?;
        all.push(bias.clone());
        let all = Nodes::new(all);
        let before = std::mem::replace(&mut *self.seen(), Arc::clone(&all));
        drop(before);
        Ok(all)
    }

    fn seen(&self) -> MutexGuard<'_, Arc<Nodes>> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn place(&self, py: Python<'_>) -> Option<&'static Accelerator> {
        self.b.get(py).get().0.place()
    }

    fn call(&self, py: Python<'_>, inputs: &Arc<Nodes>) -> PyResult<Ref> {
        let weights = self.weights(py)?;
        let (have, given) = (weights.len() - 1, inputs.len());
        if have != given {
            return Err(PyValueError::new_err(format!("argument 'x': {given} values where the neuron has {have} weights")));
        }
        let place = self.place(py);
        let number = |node: &Ref| node.place().map(Accelerator::number);
        if let Some(other) = weights.iter().chain(inputs.iter()).find(|node| number(node) != place.map(Accelerator::number)) {
            super::value::same_place(py, &self.b.get(py).get().0, other)?;
        }
        made(py, Op::Neuron { weights, inputs: Arc::clone(inputs), relu: self.nonlin.load(Relaxed) }, place)
    }
}

#[pymethods]
impl PyNeuron {
    #[new]
    #[pyo3(signature = (nin, nonlin=true, *, device=None))]
    fn new(py: Python<'_>, nin: usize, nonlin: bool, device: Option<PyDevice>) -> PyResult<PyClassInitializer<PyNeuron>> {
        PyNeuron::made(py, nin, nonlin, device)
    }

    /// The value for these inputs: values or numbers, as many as weights.
    fn __call__(&self, x: &Bound<'_, PyAny>) -> PyResult<PyValue> {
        let inputs = Values::Objects(x.clone()).nodes(self.place(x.py()))?;
        self.call(x.py(), &inputs).map(PyValue)
    }

    /// The weights, then the bias.
    fn parameters<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let all = PyList::new(py, self.w.get(py))?;
        all.append(self.b.get(py))?;
        Ok(all)
    }

    fn __repr__(&self, py: Python<'_>) -> String {
        format!("{}Neuron({})", if self.nonlin() { "ReLU" } else { "Linear" }, self.w.get(py).len())
    }

    /// A weight for each input.
    #[getter]
    fn w<'py>(&self, py: Python<'py>) -> Bound<'py, PyList> {
        self.w.get(py)
    }

    #[setter]
    fn set_w(&self, w: Py<PyList>) {
        self.w.set(w);
    }

    /// The bias.
    #[getter]
    fn b<'py>(&self, py: Python<'py>) -> Bound<'py, PyValue> {
        self.b.get(py)
    }

    #[setter]
    fn set_b(&self, b: Py<PyValue>) {
        self.b.set(b);
    }

    /// Whether it ends in a ReLU.
    #[getter]
    fn nonlin(&self) -> bool {
        self.nonlin.load(Relaxed)
    }

    #[setter]
    fn set_nonlin(&self, nonlin: bool) {
        self.nonlin.store(nonlin, Relaxed);
    }
}

/// Neurons side by side.
///
/// >>> from unigrad.micrograd import Layer
/// >>> Layer(2, 3, nonlin=False)
/// Layer of [LinearNeuron(2), LinearNeuron(2), LinearNeuron(2)]
#[pyclass(name = "Layer", module = "unigrad.micrograd", extends = PyModuleBase, subclass, frozen)]
pub(crate) struct PyLayer {
    neurons: Part<PyList>,
}

impl PyLayer {
    fn made(py: Python<'_>, nin: usize, nout: usize, nonlin: bool, device: Option<PyDevice>) -> PyResult<PyClassInitializer<PyLayer>> {
        let neuron = |_| Bound::new(py, PyNeuron::made(py, nin, nonlin, device)?);
        let neurons = PyList::new(py, (0..nout).map(neuron).collect::<PyResult<Vec<_>>>()?)?.unbind();
        Ok(PyClassInitializer::from(PyModuleBase).add_subclass(PyLayer { neurons: Part::new(neurons) }))
    }

    fn call<'py>(&self, py: Python<'py>, x: Values<'py>) -> PyResult<Values<'py>> {
        let neurons = self.neurons.get(py);
        let place = neurons.iter().find_map(|neuron| neuron.cast::<PyNeuron>().ok().map(|neuron| neuron.get().place(py))).flatten();
        let inputs = x.nodes(place)?;
        let mut out = Vec::with_capacity(neurons.len());
        for neuron in neurons.iter() {
            // A subclass may have a `__call__` of its own.
            if neuron.is_exact_instance_of::<PyNeuron>() {
                out.push(neuron.cast::<PyNeuron>()?.get().call(py, &inputs)?);
            } else {
                let made = neuron.call1((Values::Nodes(Arc::clone(&inputs)).object(py, true)?,))?;
                let value = made
                    .cast::<PyValue>()
                    .map_err(|_| PyTypeError::new_err(format!("a neuron gives a Value, not {}", type_name(&made))))?;
                out.push(value.get().0.clone());
            }
        }
        Ok(Values::Nodes(Nodes::new(out)))
    }
}

#[pymethods]
impl PyLayer {
    #[new]
    #[pyo3(signature = (nin, nout, nonlin=true, *, device=None))]
    fn new(py: Python<'_>, nin: usize, nout: usize, nonlin: bool, device: Option<PyDevice>) -> PyResult<PyClassInitializer<PyLayer>> {
        PyLayer::made(py, nin, nout, nonlin, device)
    }

    /// What its neurons make of these inputs: a list, or of one neuron its value.
    fn __call__<'py>(&self, x: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        self.call(x.py(), Values::Objects(x.clone()))?.object(x.py(), false)
    }

    /// The parameters of all neurons.
    fn parameters<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        parameters_of(&self.neurons.get(py))
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        Ok(format!("Layer of [{}]", joined(&self.neurons.get(py))?))
    }

    /// Its neurons.
    #[getter]
    fn neurons<'py>(&self, py: Python<'py>) -> Bound<'py, PyList> {
        self.neurons.get(py)
    }

    #[setter]
    fn set_neurons(&self, neurons: Py<PyList>) {
        self.neurons.set(neurons);
    }
}

fn parameters_of<'py>(parts: &Bound<'py, PyList>) -> PyResult<Bound<'py, PyList>> {
    let all = PyList::empty(parts.py());
    for part in parts.iter() {
        for parameter in part.call_method0("parameters")?.try_iter()? {
            all.append(parameter?)?;
        }
    }
    Ok(all)
}

fn joined(parts: &Bound<'_, PyList>) -> PyResult<String> {
    let texts = parts.iter().map(|part| Ok(part.str()?.to_string())).collect::<PyResult<Vec<String>>>()?;
    Ok(texts.join(", "))
}

/// Layers one after the other; all but the last end in ReLUs.
///
/// >>> from unigrad.micrograd import MLP
/// >>> model = MLP(2, [16, 16, 1])
/// >>> len(model.parameters())
/// 337
/// >>> score = model([1.0, -2.0])
/// >>> score.backward()
#[pyclass(name = "MLP", module = "unigrad.micrograd", extends = PyModuleBase, subclass, frozen)]
pub(crate) struct PyMlp {
    layers: Part<PyList>,
}

#[pymethods]
impl PyMlp {
    #[new]
    #[pyo3(signature = (nin, nouts, *, device=None))]
    fn new(py: Python<'_>, nin: usize, nouts: Vec<usize>, device: Option<PyDevice>) -> PyResult<PyClassInitializer<PyMlp>> {
        let (mut nin, last) = (nin, nouts.len());
        let mut layers = Vec::with_capacity(last);
        for (at, nout) in nouts.into_iter().enumerate() {
            layers.push(Bound::new(py, PyLayer::made(py, nin, nout, at + 1 != last, device)?)?);
            nin = nout;
        }
        Ok(PyClassInitializer::from(PyModuleBase).add_subclass(PyMlp { layers: Part::new(PyList::new(py, layers)?.unbind()) }))
    }

    /// What the last layer gives: a list, or one value.
    fn __call__<'py>(&self, x: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let py = x.py();
        let mut values = Values::Objects(x.clone());
        for layer in self.layers.get(py).iter() {
            values = if layer.is_exact_instance_of::<PyLayer>() {
                layer.cast::<PyLayer>()?.get().call(py, values)?
            } else {
                Values::Objects(layer.call1((values.object(py, false)?,))?)
            };
        }
        values.object(py, false)
    }

    /// The parameters of all layers.
    fn parameters<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        parameters_of(&self.layers.get(py))
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        Ok(format!("MLP of [{}]", joined(&self.layers.get(py))?))
    }

    /// Its layers.
    #[getter]
    fn layers<'py>(&self, py: Python<'py>) -> Bound<'py, PyList> {
        self.layers.get(py)
    }

    #[setter]
    fn set_layers(&self, layers: Py<PyList>) {
        self.layers.set(layers);
    }
}
