//! `unigrad.micrograd`: scalars with gradients, and nets of them, as micrograd has them.
//!
//! In: Python's numbers. Out: `Value`, `Neuron`, `Layer`, `MLP`. The engine is `unigrad-micrograd`; this gives it Python's habits.
//! Always: on the CPU no device is opened and no tensor made. Elsewhere values wait until one is read, and are then computed by one launch (`machine`).
//! The names are in a module of their own, as `unigrad` has a `Module` too.

mod machine;
mod nn;
mod value;

use pyo3::prelude::*;

#[pymodule]
pub(crate) mod _micrograd {
    #[pymodule_export]
    use super::nn::{PyLayer, PyMlp, PyModuleBase, PyNeuron};
    #[pymodule_export]
    use super::value::PyValue;
}

/// A node of the engine from what Python gives.
pub(crate) use value::{Given, operand};
