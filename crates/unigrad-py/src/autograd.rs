//! Gradients: `grad`, `no_grad`.

use crate::{
    arguments::{of_argument, tensors},
    callback::{Argument, Callback, maybe_tensor},
    error::OrRaise,
    exit::Release,
    origin::here,
    tensor::{PyTensor, checked},
};
use pyo3::{prelude::*, sync::PyOnceLock, types::PyTuple};
use std::cell::RefCell;
use unigrad::tensor::{GradientNode, Tensor, grad_allow_unused, grad_with};

/// The gradients of `outputs` with respect to `inputs`, as a tuple.
///
/// `grad_outputs` is what arrives at an output, needed where it has more than one element. With `allow_unused` an input that the output does not
/// depend on has the gradient `None`; else it is an error. With `create_graph` gradients are themselves differentiable; without it they are values that
/// need no gradient. The graph stays either way: `retain_graph` is taken for PyTorch's programs, and changes nothing.
///
/// >>> import unigrad
/// >>> x = unigrad.tensor([3.0], requires_grad=True)
/// >>> unigrad.grad((x * x).sum(), x)
/// (tensor([6.]),)
/// >>> (slope,) = unigrad.grad(x**3, x, create_graph=True)
/// >>> unigrad.grad(slope, x)
/// (tensor([18.]),)
#[pyfunction]
#[pyo3(signature = (outputs, inputs, grad_outputs=None, *, retain_graph=None, create_graph=false, allow_unused=false))]
pub(crate) fn grad<'py>(
    py: Python<'py>,
    outputs: &Bound<'py, PyAny>,
    inputs: &Bound<'py, PyAny>,
    grad_outputs: Option<&Bound<'py, PyAny>>,
    retain_graph: Option<bool>,
    create_graph: bool,
    allow_unused: bool,
) -> PyResult<Bound<'py, PyTuple>> {
    let _ = retain_graph;
    let list = |given: &Bound<'py, PyAny>| -> PyResult<Vec<Tensor>> {
        match given.cast::<PyTensor>() {
            Ok(tensor) => Ok(vec![tensor.get().tensor().clone()]),
            Err(_) => Ok(tensors(&given.extract::<Vec<PyRef<'_, PyTensor>>>()?)),
        }
    };
    let (outputs, inputs) = (of_argument(py, "outputs", list(outputs))?, of_argument(py, "inputs", list(inputs))?);
    let arriving = of_argument(py, "grad_outputs", grad_outputs.map(list).transpose())?;
    let _here = here(py);
    // A hook and a gradient of one's own run as they do in `backward`.
    let _values_only = (!create_graph).then(unigrad::tensor::no_grad_guard);
    let wrt: Vec<&Tensor> = inputs.iter().collect();
    let mut sums: Vec<Option<Tensor>> = vec![None; inputs.len()];
    for (i, output) in outputs.iter().enumerate() {
        let dy = arriving.as_ref().and_then(|all| all.get(i));
        let shares: Vec<Option<Tensor>> = match (allow_unused || outputs.len() > 1, dy) {
            (true, dy) => grad_allow_unused(output, dy, &wrt).or_raise(py)?,
            (false, Some(dy)) => grad_with(output, dy, &wrt).or_raise(py)?.into_iter().map(Some).collect(),
            (false, None) => unigrad::tensor::grad(output, &wrt).or_raise(py)?.into_iter().map(Some).collect(),
        };
        for (sum, share) in sums.iter_mut().zip(shares) {
            *sum = match (sum.take(), share) {
                (Some(a), Some(b)) => Some(a + b),
                (a, b) => a.or(b),
            };
        }
    }
    if !allow_unused && let Some(at) = sums.iter().position(Option::is_none) {
        let help = "pass `allow_unused=True` to get `None` for it";
        let message = format!("no output depends on input {at}\n help: {help}");
        return Err(crate::error::exception(py, unigrad::ErrorKind::Autograd, message));
    }
    // A gradient may be one of the operands itself, which needs a gradient.
    let result = |sum: Tensor| Py::new(py, checked(py, if create_graph { sum } else { sum.detach() })?);
    let results = sums.into_iter().map(|sum| sum.map(result).transpose()).collect::<PyResult<Vec<_>>>()?;
    PyTuple::new(py, results)
}

/// A hook that `register_hook` has added to a tensor: `remove()` takes it away, as the end of a `with` does.
///
/// >>> import unigrad
/// >>> x = unigrad.ones(2, requires_grad=True)
/// >>> with x.register_hook(lambda dy: dy * 2):
/// ...     x.sum().backward()
/// >>> x.grad.tolist()
/// [2.0, 2.0]
#[pyclass(name = "GradientHook", module = "unigrad", frozen)]
pub(crate) struct PyGradientHook(unigrad::tensor::GradientHook);

#[pymethods]
impl PyGradientHook {
    /// Takes the hook away; nothing if that was done.
    fn remove(&self, py: Python<'_>) {
        // What the hook holds may end with it, and wait for others.
        py.released(|| self.0.remove());
    }

    fn __enter__(slf: Bound<'_, PyGradientHook>) -> Bound<'_, PyGradientHook> {
        slf
    }

    #[pyo3(signature = (*_raised))]
    fn __exit__(&self, py: Python<'_>, _raised: &Bound<'_, PyTuple>) {
        self.remove(py);
    }
}

/// The objects that are leaves, by the numbers of their nodes, as long as they live: what `variable` gives is the program's own object.
static LEAVES: PyOnceLock<Py<PyAny>> = PyOnceLock::new();

fn leaves<'py>(py: Python<'py>) -> PyResult<&'py Bound<'py, PyAny>> {
    let made = || py.import("weakref")?.getattr("WeakValueDictionary")?.call0().map(Bound::unbind);
    Ok(LEAVES.get_or_try_init(py, made)?.bind(py))
}

/// Remembers the object of a leaf; of several for one leaf the first that lives.
#[pyfunction]
pub(crate) fn _leaf(tensor: &Bound<'_, PyTensor>) -> PyResult<()> {
    match GradientNode::of(tensor.get().tensor()).filter(GradientNode::is_leaf) {
        Some(node) => leaves(tensor.py())?.call_method1("setdefault", (node.key().1, tensor)).map(drop),
        None => Ok(()),
    }
}

/// A node of a gradient's graph, for `unigrad.autograd.Node`.
#[pyclass(name = "_GradientNode", module = "unigrad", frozen)]
pub(crate) struct PyGradientNode(pub(crate) GradientNode);

#[pymethods]
impl PyGradientNode {
    /// The name of the op.
    fn op(&self) -> &str {
        self.0.op()
    }

    /// What tells nodes apart.
    fn key(&self) -> (bool, u64) {
        self.0.key()
    }

    /// Whether it is a leaf.
    fn is_leaf(&self) -> bool {
        self.0.is_leaf()
    }

    /// Those that the gradient goes to, one for each input.
    fn next(&self) -> Vec<Option<PyGradientNode>> {
        self.0.next().into_iter().map(|node| node.map(PyGradientNode)).collect()
    }

    /// A leaf's tensor.
    fn variable<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let Some(tensor) = self.0.variable() else { return Ok(None) };
        let known = leaves(py)?.call_method1("get", (self.0.key().1,))?;
        if !known.is_none() {
            return Ok(Some(known));
        }
        let made = Bound::new(py, PyTensor::from(tensor))?;
        _leaf(&made)?;
        Ok(Some(made.into_any()))
    }
}

#[pymethods]
impl PyTensor {
    /// From now on each pass calls `hook` with the gradient that arrives at this tensor, all of it, and goes on with what the hook gives; with `None` it goes
    /// on with the gradient as it is. Hooks are called in the order in which they came. Returns a `GradientHook`, whose `remove()` takes the hook away.
    ///
    /// >>> import unigrad
    /// >>> x = unigrad.ones(2, requires_grad=True)
    /// >>> hook = x.register_hook(lambda dy: dy.clamp(-1, 1))
    /// >>> (x * 3).sum().backward()
    /// >>> x.grad.tolist()
    /// [1.0, 1.0]
    fn register_hook(&self, py: Python<'_>, hook: &Bound<'_, PyAny>) -> PyResult<PyGradientHook> {
        let callback = of_argument(py, "hook", Callback::new(hook, "the gradient's hook"))?;
        let _here = here(py);
        let hook = self.tensor().register_hook(move |dy| {
            let given = callback.call(&[Argument::Tensor(dy)], maybe_tensor);
            given.map_or_else(|invalid| invalid, |given| given.unwrap_or_else(|| dy.clone()))
        });
        hook.map(PyGradientHook).or_raise(py)
    }

    /// From now on backward passes leave this tensor's gradient in `grad`, as they do with leaves'.
    ///
    /// >>> import unigrad
    /// >>> y = unigrad.ones(2, requires_grad=True) * 3
    /// >>> y.retain_grad()
    /// >>> (y * y).sum().backward()
    /// >>> y.grad.tolist()
    /// [6.0, 6.0]
    fn retain_grad(&self, py: Python<'_>) -> PyResult<()> {
        let _here = here(py);
        self.tensor().retain_grad().or_raise(py)
    }

    /// Whether `retain_grad` was called, of a tensor that is no leaf.
    ///
    /// >>> import unigrad
    /// >>> (unigrad.ones(2, requires_grad=True) * 3).retains_grad
    /// False
    #[getter]
    fn retains_grad(&self) -> bool {
        !self.tensor().is_variable() && self.tensor().retains_grad()
    }
}

/// Whether what is computed now keeps a way for gradients.
///
/// >>> import unigrad
/// >>> unigrad.grad_enabled()
/// True
#[pyfunction]
pub(crate) fn grad_enabled() -> bool {
    unigrad::tensor::grad_enabled()
}

thread_local! {
    /// How many closures run whose graphs are differentiated again.
    static RETAINING: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

/// While it lives, `backward` on this thread keeps the graph.
pub(crate) struct Retain;

/// See [`Retain`].
pub(crate) fn retain() -> Retain {
    RETAINING.set(RETAINING.get() + 1);
    Retain
}

impl Drop for Retain {
    fn drop(&mut self) {
        RETAINING.set(RETAINING.get().saturating_sub(1));
    }
}

/// Whether a [`Retain`] lives on this thread.
pub(crate) fn is_retaining() -> bool {
    RETAINING.get() > 0
}

/// From now on, whether what this thread computes keeps a way for gradients.
#[pyfunction]
pub(crate) fn _set_grad_enabled(enabled: bool) {
    unigrad::tensor::set_grad_enabled(enabled);
}

thread_local! {
    /// What was before those that this thread is in.
    static BEFORE: RefCell<Vec<bool>> = const { RefCell::new(Vec::new()) };
}

thread_local! {
    /// The scopes of half precision that this thread is in.
    static CAST: RefCell<Vec<unigrad::tensor::AutocastGuard>> = const { RefCell::new(Vec::new()) };
}

/// What the thread computes inside of `with` is in a half type, where that suits it, and with a recipe in 8-bit floats; `unigrad.autocast` makes a decorator of it.
#[pyclass(module = "unigrad", frozen)]
pub(crate) struct Autocast(Scope);

/// What a scope computes in.
enum Scope {
    Half(unigrad::tensor::DType),
    Fp8(unigrad::tensor::Fp8Recipe),
}

#[pymethods]
impl Autocast {
    #[new]
    #[pyo3(signature = (dtype, fp8=None))]
    fn new(py: Python<'_>, dtype: crate::dtype::PyDType, fp8: Option<PyRef<'_, crate::fp8::PyFp8Recipe>>) -> PyResult<Autocast> {
        use unigrad::tensor::DType;
        if let Some(recipe) = fp8 {
            return Ok(Autocast(Scope::Fp8(recipe.0.clone())));
        }
        match dtype.0 {
            DType::BF16 | DType::F16 | DType::F32 => Ok(Autocast(Scope::Half(dtype.0))),
            other => Err(crate::error::argument(py, format!("`dtype` is {other}"), "use bfloat16, float16 or float32")),
        }
    }

    fn __enter__(&self) {
        let guard = match &self.0 {
            Scope::Half(dtype) => unigrad::tensor::autocast_guard(*dtype),
            Scope::Fp8(recipe) => unigrad::tensor::autocast_fp8_guard(recipe),
        };
        CAST.with_borrow_mut(|inside| inside.push(guard));
    }

    #[pyo3(signature = (*_raised))]
    fn __exit__(&self, _raised: &Bound<'_, PyTuple>) {
        drop(CAST.with_borrow_mut(Vec::pop));
    }
}

macro_rules! modes {
    ($($(#[doc = $doc:literal])* $name:ident $enabled:literal),* $(,)?) => { $(
        $(#[doc = $doc])*
        #[pyclass(module = "unigrad", frozen)]
        pub(crate) struct $name;

        #[pymethods]
        impl $name {
            #[new]
            fn new() -> $name {
                $name
            }

            fn __enter__(&self) {
                BEFORE.with_borrow_mut(|before| before.push(unigrad::tensor::grad_enabled()));
                unigrad::tensor::set_grad_enabled($enabled);
            }

            #[pyo3(signature = (*_raised))]
            fn __exit__(&self, _raised: &Bound<'_, PyTuple>) {
                if let Some(before) = BEFORE.with_borrow_mut(Vec::pop) {
                    unigrad::tensor::set_grad_enabled(before);
                }
            }
        }
    )* };
}
modes!(
    /// What the thread computes inside of `with` keeps no way for gradients; `unigrad.no_grad` makes a decorator of it.
    NoGrad false,
    /// What the thread computes inside of `with` keeps a way for gradients; `unigrad.enable_grad` makes a decorator of it.
    EnableGrad true,
);
