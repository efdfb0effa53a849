//! The text form of kernels: for plans, dumps, tests and bug reports. Regions can be read back.
//!
//! In: a [`Kernel`](crate::Kernel), or the text of regions. Out: the other one.
//! Always: a kernel prints the same text every time, and a region whose loads and stores have one stride per axis reads back as itself. Reading
//! takes memory in proportion to the text, and no more stack for a longer one; a text that is no region is an error with line, column and remedy.
//! Never: checks that indices are in bounds or dtypes fit, which the maker of a region vouches for.
//!
//! ```text
//! region "softmax" parallel [64] reduce [256] {
//!     a0: f32[16384]
//!     a1: mut f32[16384]
//!     s0: f32                           ; a run-time scalar
//!     %0 = load f32 a0[256*i0 + i1]     ; i0, i1: the index along an axis, parallel ones first
//!     %1 = max f32 %0                   ; of one value: over the reduce axes
//!     %2 = sub f32 %0, %1
//!     %3 = exp f32 %2
//!     %4 = sum f32 %3
//!     %5 = div f32 %3, %4
//!     store f32 a1[256*i0 + i1], %5
//! }
//! ```
//! The dtype after an operation is its result's. Also: `const f32 0.5`, `scalar f32 s0`, `axis i64 i1`, `acc f32`, `select f32 %0, %1, %2`,
//! `cast f16 %0`, `bitcast u32 %0`, `load f32 a0[i0 + 4*%3 - 1] where %2` (only where the mask is true), `bounded i64 %0, size 10, from_end, check 3`
//! and `philox u32 %seed, %offset, %index, word 2`. A comment goes from `;` to the line's end.

mod kernels;
mod lex;
mod parse;
mod region;
#[cfg(test)]
mod tests;

pub use parse::{MAX_AXES, parse_regions};
pub use unigrad_scalar::ParseError;
