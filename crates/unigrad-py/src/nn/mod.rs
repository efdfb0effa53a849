//! `unigrad._unigrad._nn`: what layers of Python compute, where it is more than one op of a tensor.
//!
//! In: tensors that Python's modules keep, and settings. Out: what the crates' layers make of them.
//! Always: the layer of the crate is made of the given tensors, which are handles, for the time of a call; so there is one place that knows a parameter,
//! and one that knows its arithmetic.

mod attention;
mod layers;
mod memory;
mod models;
mod parameters;
mod recurrent;

pub(crate) use parameters::Tensors;

use pyo3::prelude::*;

#[pymodule]
pub(crate) mod _nn {
    #[pymodule_export]
    use super::attention::multi_head_attention;
    #[pymodule_export]
    use super::layers::{
        alpha_dropout, batch_norm, cross_map_lrn2d, dropout, dropout_channels, instance_norm, is_checkpointing, lp_pool, rope_at, rrelu,
    };
    #[pymodule_export]
    use super::memory::{check_memory, estimate, memory_share};
    #[pymodule_export]
    use super::models::choose_token;
    #[pymodule_export]
    use super::parameters::{clip_grad_adaptively, clip_grad_norm, clip_grad_value, forget_gradients, move_tensors, realize};
    #[pymodule_export]
    use super::recurrent::{gru_cell, lstm_cell, recurrent, rnn_cell};
}
