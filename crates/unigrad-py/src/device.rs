//! `unigrad.Device`: what computes.

use crate::error::OrRaise;
use crate::exit::Release;
#[cfg(feature = "stubs")]
use pyo3::inspect::PyStaticExpr;
use pyo3::{Borrowed, exceptions::PyTypeError, prelude::*, types::PyType};
use std::{
    collections::BTreeMap,
    sync::{PoisonError, RwLock},
};
use unigrad::device::{Config, Device};

/// What computes: the CPU, or a GPU through one of its backends.
///
/// >>> import unigrad
/// >>> unigrad.Device("cpu")
/// Device('cpu:0')
#[pyclass(name = "Device", module = "unigrad", frozen)]
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct PyDevice(pub(crate) Device);

impl PyDevice {
    /// The number among the devices of its backend.
    pub(crate) fn number(&self) -> i32 {
        i32::try_from(self.index()).unwrap_or(0) // DEFAULT: no machine has so many devices
    }
}

#[pymethods]
impl PyDevice {
    /// Opens a device by its name: `"cpu"`, `"cuda"`, `"cuda:1"`, `"rocm"`, `"metal"`, `"vulkan"`, `"opencl"`, `"gpu"`, `"auto"`.
    #[new]
    fn new(name: PyDevice) -> PyDevice {
        name
    }

    /// The CPU.
    ///
    /// >>> import unigrad
    /// >>> unigrad.Device.cpu() == unigrad.Device("cpu")
    /// True
    #[staticmethod]
    fn cpu(py: Python<'_>) -> PyResult<PyDevice> {
        py.released(|| Device::open("cpu")).map(PyDevice).or_raise(py)
    }

    /// The best GPU; a `RuntimeError` where there is none. A software implementation of a GPU's interface is no GPU: name it, `Device("opencl:0")`, or
    /// name it in the environment variable `UNIGRAD_DEVICE`.
    #[staticmethod]
    fn gpu(py: Python<'_>) -> PyResult<PyDevice> {
        let asked = gpu_asked_for().unwrap_or_else(|| "gpu".to_owned());
        py.released(|| Device::open(&asked)).map(PyDevice).or_raise(py)
    }

    /// Whether `Device.gpu()` gives one.
    #[staticmethod]
    fn is_gpu_available(py: Python<'_>) -> bool {
        py.released(|| match gpu_asked_for() {
            Some(name) => Device::open(&name).is_ok(),
            None => Device::all().devices.iter().any(unigrad::device::Info::is_gpu) && Device::open("gpu").is_ok(),
        })
    }

    /// The backend: "cpu", "cuda", "hip", "metal", "opencl" or "wgpu".
    #[getter]
    fn r#type(&self) -> &'static str {
        self.0.backend()
    }

    /// The number among the devices of its backend.
    #[getter]
    fn index(&self) -> usize {
        self.0.name().rsplit_once(':').and_then(|(_, number)| number.parse().ok()).unwrap_or(0) // DEFAULT: a backend's only device has no number
    }

    /// Waits until all that was asked of the device is done.
    fn synchronize(&self, py: Python<'_>) -> PyResult<()> {
        py.released(|| self.0.synchronize()).or_raise(py)
    }

    /// Bytes that tensors and plans have in use on it.
    #[getter]
    fn memory_allocated(&self) -> u64 {
        self.0.memory_stats().allocated
    }

    /// The hardware's name.
    #[getter]
    fn hardware(&self) -> String {
        self.0.info().name
    }

    /// The driver's or the instruction set's version, in the backend's words.
    #[getter]
    fn version(&self) -> String {
        self.0.info().version
    }

    /// Bytes of memory; 0 where that is not known.
    ///
    /// >>> import unigrad
    /// >>> unigrad.Device("cpu").total_memory > 2**20
    /// True
    #[getter]
    fn total_memory(&self) -> u64 {
        self.0.info().memory_total
    }

    /// Bytes of memory that are free; 0 where that is not known.
    #[getter]
    fn free_memory(&self) -> u64 {
        self.0.info().memory_free
    }

    /// Cores, multiprocessors or compute units.
    #[getter]
    fn compute_units(&self) -> usize {
        self.0.info().compute_units
    }

    /// Names of features that a kernel may use.
    #[getter]
    fn features(&self) -> Vec<String> {
        self.0.info().features
    }

    /// What a program must stay below, by the backend's words.
    #[getter]
    fn limits(&self) -> BTreeMap<&'static str, u64> {
        self.0.info().limits.into_iter().collect()
    }

    /// Whether it is a GPU in hardware.
    #[getter]
    fn is_gpu(&self) -> bool {
        self.0.info().is_gpu()
    }

    /// Memory in bytes: "allocated" in buffers, "reserved" from the driver, "peak" (of `allocated`, since `reset_peak_memory`), "own" for the driver itself, "total",
    /// "free" (0 where not known); and how many "buffers" are alive, and "allocations" were made.
    ///
    /// >>> import unigrad
    /// >>> x = unigrad.ones(1024).realize()
    /// >>> stats = unigrad.Device("cpu").memory_stats()
    /// >>> stats["peak"] >= stats["allocated"] > 0
    /// True
    fn memory_stats(&self) -> BTreeMap<&'static str, u64> {
        let stats = self.0.memory_stats();
        BTreeMap::from([
            ("allocated", stats.allocated),
            ("reserved", stats.reserved),
            ("peak", stats.peak),
            ("own", stats.own),
            ("total", stats.total),
            ("free", stats.free),
            ("buffers", stats.n_buffers),
            ("allocations", stats.n_allocations),
        ])
    }

    /// From now on the peak of memory is counted anew.
    fn reset_peak_memory(&self) {
        self.0.reset_peak();
    }

    /// The most bytes that tensors and plans may have on it; `None` for all that it has.
    #[pyo3(signature = (bytes))]
    fn set_memory_cap(&self, bytes: Option<u64>) {
        self.0.set_memory_cap(bytes);
    }

    /// Frees what the memory pool keeps; returns how many bytes.
    fn clear_cache(&self, py: Python<'_>) -> u64 {
        py.released(|| self.0.clear_cache())
    }

    /// How often something was done on it since it was opened: "allocations", "compiles", "launches", "uploads", "downloads", "copies",
    /// "replays" (runs whose launches the driver had kept and queued by one call), "replay_changes".
    fn counters(&self) -> BTreeMap<&'static str, u64> {
        let unigrad::device::Counters { allocations, compiles, launches, uploads, downloads, copies, replays, replay_changes } =
            self.0.counters();
        BTreeMap::from([
            ("allocations", allocations),
            ("compiles", compiles),
            ("launches", launches),
            ("uploads", uploads),
            ("downloads", downloads),
            ("copies", copies),
            ("replays", replays),
            ("replay_changes", replay_changes),
        ])
    }

    fn __repr__(&self) -> String {
        format!("Device('{}')", self.0)
    }

    fn __str__(&self) -> String {
        self.0.to_string()
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        match other.cast::<PyDevice>() {
            Ok(other) => other.get().0 == self.0,
            Err(_) => other.extract::<String>().is_ok_and(|name| name == self.0.name() || name == self.0.backend() && self.index() == 0),
        }
    }

    fn __hash__(&self) -> u64 {
        u64::from(self.0.id())
    }

    fn __reduce__(&self, py: Python<'_>) -> (Py<PyType>, (&'static str,)) {
        (py.get_type::<PyDevice>().unbind(), (self.0.name(),))
    }
}

/// What `UNIGRAD_DEVICE` names, if that is not the CPU.
fn gpu_asked_for() -> Option<String> {
    let name = Config::current_or_default().device.clone()?;
    let backend = name.trim().to_ascii_lowercase();
    (!matches!(backend.split(':').next(), Some("cpu" | "auto" | ""))).then_some(name)
}

impl<'py> FromPyObject<'_, 'py> for PyDevice {
    type Error = PyErr;

    #[cfg(feature = "stubs")]
    const INPUT_TYPE: PyStaticExpr = crate::hints::DEVICE;

    fn extract(given: Borrowed<'_, 'py, PyAny>) -> PyResult<PyDevice> {
        if let Ok(device) = given.cast::<PyDevice>() {
            return Ok(*device.get());
        }
        let py = given.py();
        let Ok(name) = given.extract::<String>() else {
            return Err(PyTypeError::new_err(format!("a device is a `unigrad.Device` or its name, not {}", given.get_type().name()?)));
        };
        py.released(|| Device::open(&name)).map(PyDevice).or_raise(py)
    }
}

/// The device that tensors without one go to.
static DEFAULT: RwLock<Option<Device>> = RwLock::new(None);

/// The default device: that of [`set_default_device`], or of `UNIGRAD_DEVICE`, or the CPU.
pub(crate) fn default(py: Python<'_>) -> PyResult<Device> {
    if let Some(device) = *DEFAULT.read().unwrap_or_else(PoisonError::into_inner) {
        return Ok(device);
    }
    let asked = Config::current_or_default().device.clone();
    let device = py.released(|| Device::open(asked.as_deref().unwrap_or("cpu"))).or_raise(py)?;
    *DEFAULT.write().unwrap_or_else(PoisonError::into_inner) = Some(device);
    Ok(device)
}

/// The device asked for, or the default one.
pub(crate) fn or_default(py: Python<'_>, device: Option<PyDevice>) -> PyResult<Device> {
    device.map_or_else(|| default(py), |device| Ok(device.0))
}

/// The device that tensors are made on where none is given: the CPU, unless `UNIGRAD_DEVICE` or `set_default_device` names another.
///
/// >>> import unigrad
/// >>> unigrad.default_device() in unigrad.devices()
/// True
#[pyfunction]
pub(crate) fn default_device(py: Python<'_>) -> PyResult<PyDevice> {
    default(py).map(PyDevice)
}

/// From now on tensors are made on this device where none is given. Returns the one before.
///
/// >>> import unigrad
/// >>> before = unigrad.default_device()
/// >>> unigrad.set_default_device("cpu")
/// Device('cpu:0')
/// >>> unigrad.zeros(1).device
/// Device('cpu:0')
/// >>> unigrad.set_default_device(before)
/// Device('cpu:0')
#[pyfunction]
pub(crate) fn set_default_device(py: Python<'_>, device: PyDevice) -> PyResult<PyDevice> {
    let before = default(py)?;
    *DEFAULT.write().unwrap_or_else(PoisonError::into_inner) = Some(device.0);
    Ok(PyDevice(before))
}

/// The names of all devices of this machine that can be opened.
///
/// >>> import unigrad
/// >>> unigrad.Device("cpu") in unigrad.devices()
/// True
#[pyfunction]
pub(crate) fn devices(py: Python<'_>) -> Vec<String> {
    py.released(|| Device::all().devices.into_iter().map(|device| device.device()).collect())
}
