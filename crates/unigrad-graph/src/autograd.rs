//! Reverse-mode differentiation: more graph from a graph.

use crate::{Error, Expr};

/// The gradients that `dy`, arriving at `node`, sends to nodes it depends on: pairs of a node and its share.
pub fn vjp(_node: &Expr, _dy: &Expr) -> Result<Vec<(Expr, Expr)>, Error> {
    Ok(Vec::new())
}

/// The gradients of `output` (seeded with `dy`) with respect to `wrt`, as graph; `None` where it does not depend on it.
pub fn gradients(_output: &Expr, _dy: &Expr, wrt: &[Expr]) -> Result<Vec<Option<Expr>>, Error> {
    Ok(vec![None; wrt.len()])
}
