//! `unigrad._unigrad._train`: runs, networks by description, metrics, files and profiles.
//!
//! In: models, batches and callbacks of Python. Out: what the crates' trainer makes of them.
//! Always: the loop, its checkpoints and its history are the crates'; Python gives the forward pass, the batches and the callbacks.

mod callbacks;
mod files;
mod finders;
mod learner;
mod metrics;
mod network;
mod profile;
mod run;

use pyo3::prelude::*;

#[pymodule]
pub(crate) mod _train {
    #[pymodule_export]
    use super::callbacks::PyContext;
    #[pymodule_export]
    use super::files::{compare_runs, digits, load_tensors, save_tensors, tensors_of_bytes};
    #[pymodule_export]
    use super::finders::{find_batch_size, find_lr};
    #[pymodule_export]
    use super::metrics::{PyConfusion, PyMeanAveragePrecision, PyMetric, bleu, box_iou, mask_iou, rouge_l};
    #[pymodule_export]
    use super::network::PyNetwork;
    #[pymodule_export]
    use super::profile::PyProfiler;
    #[pymodule_export]
    use super::run::fit;
}
