//! Tensors: what a user holds. Math records a graph; reading a value plans and runs it.

mod error;
pub mod eval;

pub use error::Error;
