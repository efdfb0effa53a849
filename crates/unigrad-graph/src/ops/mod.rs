//! Every op, by family: how a node is made (the rules its inputs obey), its gradient, its decomposition.
//!
//! The constructors are strict: inputs of a map have one shape and one dtype, broadcasting and promotion are the caller's explicit
//! `expand` and `cast`. A broken rule gives an invalid node.

pub mod attention;
pub mod contract;
pub mod index;
pub mod leaf;
pub mod map;
pub mod reduce;
pub mod structure;
pub mod view;

use crate::{Error, ErrorKind, Expr};
use std::panic::Location;

impl Expr {
    /// An invalid node for a broken shape rule.
    #[track_caller]
    pub(crate) fn shape_error(op: &str, message: String, inputs: &[&Expr]) -> Expr {
        Expr::fail(ErrorKind::Shape, op, message, "", inputs)
    }

    /// An invalid node for a broken dtype rule.
    #[track_caller]
    pub(crate) fn dtype_error(op: &str, message: String, inputs: &[&Expr]) -> Expr {
        Expr::fail(ErrorKind::DType, op, message, "use `cast` to change the dtype", inputs)
    }

    /// The first invalid one, or an invalid node if they live on different devices.
    #[track_caller]
    pub(crate) fn check_inputs(op: &str, inputs: &[&Expr]) -> Option<Expr> {
        if let Some(invalid) = inputs.iter().find(|input| input.error().is_some()) {
            return Some((*invalid).clone());
        }
        let _ = Location::caller();
        let first = inputs.first()?;
        inputs.iter().any(|input| input.device() != first.device()).then(|| {
            Expr::fail(ErrorKind::Device, op, "inputs are on different devices".into(), "move one of them with `to(&device)`", inputs)
        })
    }
}

/// See [`crate::vjp`].
#[track_caller]
pub(crate) fn vjp(_node: &Expr, _dy: &Expr) -> Result<Vec<(Expr, Expr)>, Error> {
    Ok(Vec::new())
}
