//! Which rows there are.

use super::{kernels, row::Row, training};

/// All rows, in order.
pub(super) fn all() -> Vec<Row> {
    let mut all = kernels::all();
    all.extend(training::all());
    all
}
