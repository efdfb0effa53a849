//! The vocabulary every room shares: element types, literals, the scalar operations with their meaning, and origins in a source.
//!
//! In: nothing. Out: [`DType`], [`Format`], [`Literal`], [`UnaryOp`], [`BinaryOp`], [`ReduceOp`] and friends, [`Origin`], settings of ops.
//! Always: an operation's meaning is stated once, by its `eval` on `f64` or on integers.
//! Never: knows shapes, graphs, kernels or devices.

#![warn(clippy::wildcard_enum_match_arm)]

mod dtype;
mod float8;
mod format;
mod literal;
mod ops;
mod origin;
mod scan;
mod settings;
mod text;
mod unary;

pub use dtype::{DType, Element};
pub use float8::{F8E4M3, F8E5M2, Float8};
pub use format::{Block, Format, FormatError};
pub use half::{bf16, f16};
pub use literal::{Literal, round_to_odd};
pub use ops::{ArgReduceOp, BinaryOp, ReduceOp, ScatterMode};
pub use origin::{Origin, OriginGuard};
pub use scan::{Combine, ScanGradient, ScanOp};
pub use settings::{AttentionSpec, Dropout, PoolSpec, Positions, UserProgram};
pub use text::ParseError;
pub use unary::{Arg, Definition, Formula, Term, UnaryClass, UnaryOp, Var};
