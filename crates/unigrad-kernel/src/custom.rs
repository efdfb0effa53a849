//! A kernel in its user's own words.

use crate::Arg;
use std::sync::Arc;
use unigrad_scalar::{DType, UserProgram};

/// One launch of a program that the user wrote.
///
/// Parameters of the program, in order: a pointer (or binding) per entry of `args`, then a value per entry of `scalars`.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs)]
pub struct Custom {
    pub program: Arc<UserProgram>,
    /// Workgroups.
    pub grid: [u32; 3],
    /// The inputs, then the output.
    pub args: Vec<Arg>,
    /// Run-time scalars.
    pub scalars: Vec<DType>,
}
