//! The native half of the Python package `unigrad`: `unigrad._unigrad`.
//!
//! In: Python objects. Out: the crates' own tensors, devices and errors as Python objects.
//! Always: what an op refuses is an exception at the call, of Python's own class and of unigrad's; every node names the user's line of Python.
//! The interpreter's lock is released while something is planned, compiled, run or waited for.
//! Never: computes on its own. What it gives is what the crates compute.

mod alone;
mod arguments;
mod autograd;
mod callback;
mod command;
mod creation;
mod data;
mod device;
mod dtype;
mod error;
mod exchange;
mod exit;
mod fp8;
mod functions;
mod generator;
#[cfg(feature = "stubs")]
mod hints;
mod kernel;
mod memory_layout;
mod micrograd;
mod nn;
mod optim;
mod origin;
mod replay;
mod tensor;
mod train;

use pyo3::prelude::*;

#[pymodule]
mod _unigrad {
    use super::*;

    #[pymodule_export]
    use crate::micrograd::_micrograd;
    #[pymodule_export]
    use crate::tensor::{PyQuantized, PyTensor};
    #[pymodule_export]
    use autograd::{_leaf, _set_grad_enabled, Autocast, EnableGrad, NoGrad, PyGradientHook, PyGradientNode, grad, grad_enabled};
    #[pymodule_export]
    use command::_run_command;
    #[pymodule_export]
    use creation::{
        _rebuild, arange, block_diag, column_stack, concat, dstack, einsum, empty, eye, full, get_rng_state, hstack, initial_seed,
        linspace, logspace, manual_seed, meshgrid, multi_dot, ones, rand, randint, randn, randperm, seed, set_rng_state, stack, tensor,
        tril_indices, triu_indices, uniform, vstack, zeros,
    };
    #[pymodule_export]
    use data::_data;
    #[pymodule_export]
    use device::{PyDevice, default_device, devices, set_default_device};
    #[pymodule_export]
    use dtype::{PyDType, get_default_dtype, set_default_dtype};
    #[pymodule_export]
    use exchange::{Held, asarray, from_dlpack, from_numpy};
    #[pymodule_export]
    use fp8::PyFp8Recipe;
    #[pymodule_export]
    use functions::{_checkpoint, _custom, _differentiating, _is_differentiated, _jacobian, _jvp, _scan, _vmap};
    #[pymodule_export]
    use generator::PyGenerator;
    #[pymodule_export]
    use kernel::{PyCompiledKernel, PyCustomKernel};
    #[pymodule_export]
    use memory_layout::{_lies, PyLayout, PyMemoryFormat};
    #[pymodule_export]
    use nn::_nn;
    #[pymodule_export]
    use optim::_optim;
    #[pymodule_export]
    use replay::Replayed;
    #[pymodule_export]
    use train::_train;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        unigrad::init();
        error::hear_signals();
        module.add("__version__", env!("CARGO_PKG_VERSION"))?;
        exit::register(module)?;
        memory_layout::add_all(module)?;
        dtype::add_all(module)
    }
}
