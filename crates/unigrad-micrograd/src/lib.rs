//! Scalars with gradients, as micrograd has them.
//!
//! In: numbers and operations on them, one at a time. Out: values, and by [`backward`] the gradient of one with respect to each that it came from.
//! Always: on the CPU a value is computed where it is written, in `f64`, in micrograd's order of operations. At another [`Accelerator`] it is recorded; a read,
//! or a backward pass, computes all that is pending there as one [`Tape`]. Where a place fails, the host computes the same tape.
//! Never: recurses by the depth of a graph, neither forward nor backward nor when it is freed. Knows no device: a place has a [`Machine`].

mod accelerator;
mod backward;
mod drop;
mod kernel;
mod node;
mod op;
mod tape;

pub use accelerator::{Accelerator, Failure, Machine};
pub use backward::backward;
pub use kernel::{kernel, kernel_name};
pub use node::{Node, Nodes, Ref};
pub use op::{Function, Op};
pub use tape::Tape;
