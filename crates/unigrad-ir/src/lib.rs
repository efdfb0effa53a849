//! The kernel IR: a GPU program as data, written once and spelled in every dialect.
//!
//! In: programs made by a [`Builder`] (or parsed from text). Out: source text per dialect, errors that point at the node, and
//! what a program means (the interpreter).
//! Always: what the validator accepted, every renderer can spell for a target whose limits it was validated against.
//! Never: talks to a device, knows a graph, or names a tensor.

#![warn(clippy::wildcard_enum_match_arm)]

mod builder;
pub mod interpret;
mod ir;
mod join;
mod render;
mod target;
mod text;
mod validate;

pub use builder::Builder;
pub use ir::{
    Array, AtomicOp, Block, Fragment, FragmentRole, FragmentShape, Inst, MAX_NESTING, MapDim, Op, Param, Place, Prefetch, Program, Raw,
    Stmt, SubgroupOp, TensorMap, Type, Uniformity, Value,
};
pub use join::join;
pub use render::{RenderError, Source, collect, offline_targets, render, wgsl};
pub use target::{Dialect, Target};
pub use text::{ParseError, Parsed, parse, parse_all, parse_as, signature};
pub use validate::{Invalid, validate};
