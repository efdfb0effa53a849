//! Scans, sorts, scatters and maximum pooling on the CPU.
//!
//! In: a kernel of `unigrad_kernel`'s indexed family and its arguments. Out: the results, or the first index that is out of range.
//! Always: what a kernel computes does not depend on how many threads compute it, nor on the instruction set.
//! Never: touches the output before every index has been checked.

mod element;
mod pool;
mod scan;
mod scatter;
mod sort;
#[cfg(test)]
mod tests;

pub(crate) use pool::{check as check_pool, max_pool};
pub(crate) use scan::scan;
pub(crate) use scatter::{check as check_scatter, scatter};
pub(crate) use sort::{argsort, topk};
