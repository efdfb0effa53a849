//! Tensors: what a user holds. Math records a graph; reading a value plans and runs it.
//!
//! In: shapes, values, ops on [`Tensor`]. Out: tensors, and numbers when they are read.
//! Always: an op returns a tensor; a broken rule gives an invalid tensor whose error names the caller's line and surfaces at the first
//! read, `realize`, `backward` or `dims`. Every op of floats has a gradient or says that it has none.
//! Never: computes before a value is needed, panics on the user's input, or moves data between devices unasked.

mod arithmetic;
mod attention;
mod autograd;
mod axes;
mod conv;
mod creation;
mod error;
pub mod eval;
mod index;
mod linalg;
mod loss;
mod norm;
mod pool;
pub mod promotion;
mod random;
mod read;
mod reduce;
mod tensor;
mod view;

pub use arithmetic::Operand;
pub use attention::{AttentionOptions, RopeLayout};
pub use autograd::{checkpoint, custom, grad, grad_with, no_grad, no_grad_guard};
pub use axes::{Axes, Dims, Ints};
pub use conv::ConvOptions;
pub use creation::NestedValues;
pub use error::Error;
pub use index::{Ellipsis, Index, IndexItem, NewAxis, step};
pub use loss::{CrossEntropyOptions, Reduction};
pub use pool::PoolOptions;
pub use random::{Generator, manual_seed};
pub use tensor::Tensor;
pub use unigrad_device::Device;
pub use unigrad_graph::{DType, Element, Literal, ScatterMode, bf16, f16};
pub use view::PadMode;

/// What fails or gives.
pub type Result<T, E = Error> = std::result::Result<T, E>;
