//! What makes the rest trustworthy: a float64 oracle, one table of op cases, a random-graph fuzzer.
//!
//! In: graphs and tensors as a user builds them. Out: for each result that is wrong, one line that names op, dtype, shape, device and place.
//! Always: the oracle follows the definitions in `unigrad-scalar` and `unigrad-graph`, node by node, and shares nothing with the compiler
//! or a driver; a case that cannot run says so.
//! Never: used by the library itself.

pub mod oracle;
mod values;

pub use values::{Data, Values};
