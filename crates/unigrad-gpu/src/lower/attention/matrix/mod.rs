//! Attention of half types by matrix fragments, in the IR's own words: for every target that has them.
//!
//! Factors pass through shared memory as they are; scores leave the fragments through shared memory too, in `F32`, where threads make
//! probabilities of them, rounded to the type of the inputs for the second product. Sums over blocks stay in fragments.
//! Always: a power of two instead of e; `F32` but for the factors of products.

mod backward;
mod forward;
mod panel;
mod product;
mod runs;
mod sizes;

pub(super) use backward::lower as backward;
pub(super) use forward::lower as forward;
pub(super) use sizes::Sizes;
