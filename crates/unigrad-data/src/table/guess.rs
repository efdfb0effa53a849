//! Types of columns, by their cells.
//!
//! In: the cells of a column. Out: a type that all of them have, or an error at the cell that contradicts the others.

use super::{Csv, quoted};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use unigrad_nn::Result;

/// What a column has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ColumnType {
    /// Whole numbers.
    Integer,
    /// Numbers.
    Float,
    /// `true` and `false`, `yes` and `no`.
    Boolean,
    /// One of some texts.
    Category,
    /// Dates and times. They are not encoded: leave them out, or make numbers of them.
    Date,
    /// Texts that are almost all different. They are not encoded.
    Text,
}

impl ColumnType {
    pub(super) fn name(self) -> &'static str {
        match self {
            ColumnType::Integer => "whole numbers",
            ColumnType::Float => "numbers",
            ColumnType::Boolean => "yes or no",
            ColumnType::Category => "categories",
            ColumnType::Date => "dates",
            ColumnType::Text => "texts",
        }
    }
}

/// Cells that mean that there is no value, as pandas has them, but for those that spell a number's NaN.
const ABSENT: [&str; 9] = ["", "NA", "N/A", "n/a", "#N/A", "<NA>", "NULL", "null", "None"];

/// Whether a cell has no value.
pub(super) fn is_missing(cell: &str, nan_is_missing: bool) -> bool {
    ABSENT.contains(&cell) || (nan_is_missing && is_nan(cell))
}

pub(super) fn is_nan(cell: &str) -> bool {
    cell.trim_start_matches(['+', '-']).eq_ignore_ascii_case("nan")
}

/// A number, finite or not: a point, no separators of thousands.
pub(super) fn number(cell: &str) -> Option<f64> {
    // `parse` also takes "infinity" and "nan", which are numbers here too: that they are not finite is an error of its own.
    cell.parse().ok()
}

pub(super) fn boolean(cell: &str) -> Option<bool> {
    const WORDS: [(&str, &str); 4] = [("true", "false"), ("yes", "no"), ("t", "f"), ("y", "n")];
    WORDS.iter().find_map(|(yes, no)| match () {
        () if cell.eq_ignore_ascii_case(yes) => Some(true),
        () if cell.eq_ignore_ascii_case(no) => Some(false),
        () => None,
    })
}

/// `2024-05-31`, `2024/05/31`, `31.05.2024`, `05/31/2024`, and what may follow a date: a time.
pub(super) fn is_date(cell: &str) -> bool {
    let date = cell.split(['T', ' ']).next().unwrap_or_default();
    let parts: Vec<&str> = date.split(['-', '/', '.']).collect();
    let digits = |part: &&str| !part.is_empty() && part.len() <= 4 && part.bytes().all(|b| b.is_ascii_digit());
    let one_separator = ['-', '/', '.'].iter().any(|s| date.matches(*s).count() == 2);
    parts.len() == 3 && one_separator && parts.iter().all(digits) && parts.iter().filter(|part| part.len() == 4).count() == 1
}

/// Texts from so many on are no categories, unless the caller says so.
pub(super) const MAX_CATEGORIES: usize = 256;

/// The type that all cells of a column have.
pub(super) fn guess(csv: &Csv, column: usize, rows: &[usize], nan_is_missing: bool, max_categories: usize) -> Result<ColumnType> {
    let (mut present, mut numbers, mut whole, mut booleans, mut dates) = (0usize, 0usize, 0usize, 0usize, 0usize);
    let mut texts = BTreeSet::new();
    let mut other = None;
    for &row in rows {
        let cell = csv.cell(row, column);
        if is_missing(cell, nan_is_missing) {
            continue;
        }
        present += 1;
        if number(cell).is_some() {
            numbers += 1;
            whole += usize::from(cell.parse::<i64>().is_ok());
        } else {
            other = other.or(Some(row));
        }
        booleans += usize::from(boolean(cell).is_some());
        dates += usize::from(is_date(cell));
        if texts.len() <= max_categories {
            texts.insert(cell);
        }
    }
    // A few cells that are no numbers in a column of numbers are mistakes, not categories.
    const MOSTLY: f64 = 0.9;
    if let Some(row) = other.filter(|_| numbers as f64 >= MOSTLY * present as f64) {
        let cause = format!("{} is no number, and {numbers} of {present} cells of the column are", quoted(csv.cell(row, column)));
        return Err(csv.wrong_cell(row, column, cause, "correct the cell, leave it empty, or say that the column has categories"));
    }
    Ok(match () {
        // A column without values: numbers that are all missing.
        () if present == whole => ColumnType::Integer,
        () if present == numbers => ColumnType::Float,
        () if present == booleans => ColumnType::Boolean,
        () if present == dates => ColumnType::Date,
        () if texts.len() <= max_categories && (texts.len() <= 20 || texts.len() * 2 <= present) => ColumnType::Category,
        () => ColumnType::Text,
    })
}
