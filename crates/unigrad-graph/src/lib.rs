//! The lazy tensor graph: nodes, shapes, ops by family, gradients.
//!
//! In: what the user wrote, one op at a time. Out: immutable nodes that the compiler reads.
//! Always: a node's shape and dtype are known when it is made; inputs have smaller ids than their users; an invalid op gives an
//! invalid node that carries its error, and everything made from it is invalid with the same error.
//! Never: runs anything, knows a device beyond its number, recurses over the graph (a chain of a million ops builds and drops).

#![warn(clippy::wildcard_enum_match_arm)]

mod ancestors;
mod autograd;
mod batch;
mod claim;
mod composite;
mod dims;
mod error;
mod hooks;
mod ids;
mod index;
mod loops;
mod met;
mod node;
mod op;
pub mod ops;
mod release;
mod shape;
mod traits;
mod types;

pub use ancestors::Below;
pub use autograd::{boundary, flows, gradients, partial_gradients, variable_gradients, vjp};
pub use batch::{Batched, Mapping, Randomness, random_drawn};
pub use claim::Claim;
pub use composite::{Composite, Recorded};
pub use dims::{AxisNames, Dim, Factor, Names, Sum, factors, is_plain, merged};
pub use error::{Error, ErrorKind};
pub use hooks::{GradientFunction, HookId, add_hook, keep_gradient, kept_gradient, remove_hook, set_kept_gradient};
pub use ids::next_id;
pub use index::NodeIndex;
pub use loops::{Given, Loop, Taken};
pub use node::{
    EnableGradGuard, Expr, Inputs, KeepScalarsGuard, NoGradGuard, Node, NodeId, Storage, WeakExpr, enable_grad_guard, grad_enabled,
    keep_scalars_guard, no_grad_guard, set_grad_enabled,
};
pub use op::{ConvSpec, CustomGradient, CustomOp, InvalidOp, KernelSpec, Op, PadAxis, SliceAxis, VariableId};
pub use ops::decompose;
pub use shape::{MAX_RANK, Shape, broadcast_shapes, contiguous_strides, is_countable, numel};
pub use types::{NodeType, TensorType};
pub use unigrad_scalar::{
    ArgReduceOp, AttentionSpec, BinaryOp, Block, DType, Dropout, Element, F8E4M3, F8E5M2, Float8, Format, FormatError, Literal, Origin,
    OriginGuard, PoolSpec, Positions, ReduceOp, ScanOp, ScatterMode, UnaryClass, UnaryOp, UserProgram, bf16, each_unary, f16,
};
