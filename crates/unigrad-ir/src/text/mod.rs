//! The text form of programs: for tests, dumps and bug reports.
//!
//! In: a [`Program`], or text. Out: the other one; also single statements, for messages.
//! Always: a program prints the same text every time, and a valid one reads back as itself (values that no statement makes are left out).
//! Never: checks types or limits; the validator does.
//!
//! ```text
//! kernel square_plus_one(x: [f32], y: mut [f32], n: u32) threads(256, 1, 1) {
//!     %0 = param n
//!     %1 = group.x
//!     %2 = thread.x
//!     %3 = mul u32 %1, 256        ; a number where a value is wanted makes a constant
//!     %i = add u32 %3, %2
//!     %5 = lt u32 %i, %0
//!     if %5 {
//!         %6 = load f32 x[%i]
//!         %7 = fma f32 %6, %6, 1.0
//!         store y[%i], %7
//!     }
//! }
//! ```
//! Arrays stand first: `shared tile: [f32; 256]`, `local acc: [f32x4; 8]`; then what is asked for ahead:
//! `prefetch w: 8 of 4096 rows, 2048 of 8192 bytes`, buffers that are passed as tensor maps too, a box of so many indices for each dimension, innermost
//! first: `tensor_map x: from 0, 64 of 768 by 1, 128 of 4096 by 768` (`rounded` after the first element where it is), how many workgroups should fit a compute unit: `at_once 3`, and how many are
//! there at the same time: `cluster 8`. Loops are `for %i: u32 in 0..%n step 1 {` (`unroll` before the brace)
//! and `loop { … } while %go { … }`. Tables are `xs: [f32] * 4` and read `load f32 xs[%which][%i]`.

mod lex;
mod parse;
mod print;
mod signature;
#[cfg(test)]
mod tests;

pub(crate) use parse::expand_raw;
pub use parse::{Parsed, parse, parse_all};
pub(crate) use print::{one_line, place_name};
pub use signature::{parse_as, signature};
pub use unigrad_scalar::ParseError;
