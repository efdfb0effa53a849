//! What a tensor call can return: an invalid op, a plan that cannot be made, a device that fails.

use std::sync::Arc;
use thiserror::Error;
use unigrad_graph::{Expr, Origin};

/// Anything that can go wrong with tensors.
#[derive(Clone, Debug, Error)]
pub enum Error {
    /// An op that could not be built; surfaces at the first read.
    #[error("{0}")]
    Graph(Arc<unigrad_graph::Error>),
    /// A device, its memory, or a kernel.
    #[error("{0}")]
    Device(#[from] unigrad_device::Error),
    /// A kernel that failed, and the line of the op it belongs to.
    #[error("{error}\n   at {origin}")]
    Launch {
        /// Where the user wrote the op.
        origin: Origin,
        /// What happened.
        error: unigrad_device::Error,
    },
    /// A mistake of this library.
    #[error("internal error: {0}\n help: please report it, with the program that shows it")]
    Internal(String),
}

impl From<unigrad_graph::Error> for Error {
    fn from(error: unigrad_graph::Error) -> Error {
        Error::Graph(Arc::new(error))
    }
}

/// The error of an invalid node.
pub(crate) fn graph_error(invalid: &Expr) -> Error {
    match invalid.error() {
        Some(error) => Error::Graph(error.clone()),
        None => Error::Internal("a valid node was taken for an invalid one".into()),
    }
}
