//! Tables: CSV files into numbers, by an encoding that is learned once and saved with the model.
//!
//! In: a CSV file. Out: its cells ([`Csv`]); what they mean ([`TableSchema`], JSON); features and targets as `f32` and `i64`.
//! Always: what is wrong with a cell is an error that names file, line and column. What was fitted is applied to other files as it is: the same
//! categories in the same places, the same means.
//! Never: guesses past a contradiction; drops a row.

mod encode;
mod fit;
mod guess;
mod read;
mod schema;

pub use fit::TableOptions;
pub use guess::ColumnType;
pub use read::{Csv, CsvOptions};
pub use schema::{Categories, Missing, TableSchema, Task, Unknown};

/// The names that are most like a wrong one, in words for an error.
fn nearest<'a>(wrong: &str, names: impl Iterator<Item = &'a str>) -> String {
    const SHOWN: usize = 3;
    let wrong = wrong.to_lowercase();
    let mut near: Vec<(usize, &str)> = names.map(|name| (distance(&wrong, &name.to_lowercase()), name)).collect();
    near.sort();
    let names: Vec<String> = near.iter().take(SHOWN).map(|(_, name)| quoted(name)).collect();
    names.join(", ")
}

/// Levenshtein's distance of the first characters.
fn distance(a: &str, b: &str) -> usize {
    const LOOKED_AT: usize = 64;
    let b: Vec<char> = b.chars().take(LOOKED_AT).collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().take(LOOKED_AT).enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, y) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(x != *y);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

/// A cell or a name as errors show it: short, and without control characters.
fn quoted(text: &str) -> String {
    const SHOWN: usize = 40;
    let mut shown: String = text.chars().take(SHOWN).flat_map(char::escape_debug).collect();
    if text.chars().nth(SHOWN).is_some() {
        shown.push_str("...");
    }
    format!("`{shown}`")
}

#[cfg(test)]
mod tests;
