//! `unigrad bench table`: the rows by which devices and frameworks are compared, each beside the ceiling of its device.
//!
//! In: a device, names of rows, how to start this program anew. Out: a [`Table`]: ceilings, and for each row times, rates, achieved fractions, memory, power; as
//! JSON, and as a page.
//! Always: ceilings are measured in the same run; each row is a process of its own, so that a row that fails, or takes the device with it, is told and the
//! next one is measured; what does not fit a device is made smaller, and says so, or is left out with what is missing.
//! Never: a row's size is changed silently; a time is guessed.

mod ceilings;
mod children;
mod fma;
mod html;
mod json;
mod kernels;
mod row;
mod rows;
mod step;
#[cfg(test)]
mod tests;
mod training;

pub use ceilings::Ceilings;
pub use children::{RowAsked, TableConfig, serve_row, table};
pub use html::page;
pub use json::{load_table, row_to_json, save_table, to_json};
pub use row::{Bound, Measured, Outcome, Precision, RowResult, Table};

/// Names of all rows with their sections, in order.
pub fn row_names() -> Vec<(String, &'static str)> {
    rows::all().into_iter().map(|row| (row.name, row.section)).collect()
}
