//! Encoding: a file's cells as features and targets, by a schema.
//!
//! In: a schema, the cells of any file with its columns, in any order. Out: `[rows, features]` in `F32`; targets, `I64` classes or `F32` numbers, of several targets a column each.

use super::{
    Csv,
    fit::{finite, missing, truth},
    guess::is_missing,
    nearest, quoted,
    schema::{Answer, Categories, Column, Encoding, Missing, Scale, TableSchema, Target, Unknown},
};
use crate::{Arrays, host};
use unigrad_nn::{Error, HostTensor, Result};
use unigrad_tensor::DType;

/// A number of a cell as a model takes it.
fn scaled(csv: &Csv, row: usize, place: usize, x: f64, scale: &Scale) -> Result<f32> {
    let scaled = ((x - scale.mean) / scale.std) as f32;
    if scaled.is_finite() {
        return Ok(scaled);
    }
    let cause = format!("{} is too far from the mean {} to be scaled", quoted(csv.cell(row, place)), scale.mean);
    Err(csv.wrong_cell(row, place, cause, "correct the cell"))
}

impl TableSchema {
    /// The features of a file's rows: `[rows, features]`. Columns are found by name; others, and the target, may be there or not.
    pub fn features(&self, csv: &Csv) -> Result<HostTensor> {
        let places: Vec<usize> = self.columns.iter().map(|column| csv.column(&column.name)).collect::<Result<_>>()?;
        let (n_rows, n_features) = (csv.n_rows(), self.n_features());
        let mut features: Vec<f32> = Vec::new();
        let wanted = n_rows.saturating_mul(n_features);
        features.try_reserve_exact(wanted).map_err(|_| {
            let cause = format!("{n_rows} rows of {n_features} features do not fit into memory");
            Error::argument(cause, "leave columns with many categories out, or encode them by index")
        })?;
        for row in 0..n_rows {
            for (column, &place) in self.columns.iter().zip(&places) {
                self.put(csv, row, column, place, &mut features)?;
            }
        }
        Ok(host::of(&features, vec![n_rows, n_features]))
    }

    fn put(&self, csv: &Csv, row: usize, column: &Column, place: usize, features: &mut Vec<f32>) -> Result<()> {
        let cell = csv.cell(row, place);
        let gap = is_missing(cell, self.nan_is_missing);
        if gap && column.missing == Missing::Error {
            return Err(missing(csv, row, place));
        }
        match &column.encoding {
            Encoding::Number { scale, fill } => {
                let x = if gap { *fill } else { finite(csv, row, place, cell)? };
                features.push(scaled(csv, row, place, x, scale)?);
            }
            Encoding::Boolean { fill } => features.push(f32::from(u8::from(if gap { *fill } else { truth(csv, row, place, cell)? }))),
            Encoding::Category { names, fill, categories, unknown } => {
                let known = if gap { *fill } else { names.binary_search_by(|name| name.as_str().cmp(cell)).ok() };
                if known.is_none() && !gap && *unknown == Unknown::Error {
                    let cause = format!("{} is none of the {} categories that the encoding knows", quoted(cell), names.len());
                    let near = nearest(cell, names.iter().map(String::as_str));
                    let help = format!("use a known one, such as {near}, or let unknown ones be ignored");
                    return Err(csv.wrong_cell(row, place, cause, help));
                }
                match categories {
                    Categories::Index => features.push(known.map_or(0.0, |at| (at + 1) as f32)),
                    Categories::OneHot => features.extend((0..names.len()).map(|at| f32::from(u8::from(known == Some(at))))),
                }
                if *categories == Categories::Index {
                    return Ok(());
                }
            }
        }
        if column.missing == Missing::Own {
            features.push(f32::from(u8::from(gap)));
        }
        Ok(())
    }

    /// The targets of a file's rows: `[rows]`, classes (`I64`) or numbers (`F32`); of several targets `[rows, targets]`.
    pub fn targets(&self, csv: &Csv) -> Result<HostTensor> {
        let columns: Vec<HostTensor> = self.answers().map(|target| self.column_of(csv, target)).collect::<Result<_>>()?;
        match &columns[..] {
            [] => Err(Error::argument("the table has no target", "name one when the schema is fitted")),
            [only] => Ok(only.clone()),
            several => {
                let size = size_of::<f32>();
                let rows = 0..csv.n_rows();
                let row = |row: usize| several.iter().flat_map(move |column| &column.bytes[row * size..(row + 1) * size]);
                let bytes = rows.flat_map(row).copied().collect();
                Ok(HostTensor { dtype: DType::F32, shape: vec![csv.n_rows(), several.len()], bytes })
            }
        }
    }

    fn column_of(&self, csv: &Csv, target: &Target) -> Result<HostTensor> {
        let place = csv.column(&target.name)?;
        let n = csv.n_rows();
        let cell = |row: usize| {
            let cell = csv.cell(row, place);
            if is_missing(cell, self.nan_is_missing) { Err(missing(csv, row, place)) } else { Ok(cell) }
        };
        match &target.answer {
            Answer::Regression { scale } => {
                let number = |row| scaled(csv, row, place, finite(csv, row, place, cell(row)?)?, scale);
                Ok(host::of(&(0..n).map(number).collect::<Result<Vec<f32>>>()?, vec![n]))
            }
            Answer::Classification { classes } => {
                let places: std::collections::HashMap<&str, i64> =
                    classes.iter().zip(0..).map(|(class, at)| (class.as_str(), at)).collect();
                let class = |row| {
                    let cell = cell(row)?;
                    places.get(cell).copied().ok_or_else(|| {
                        let cause = format!("{} is none of the {} classes that the encoding knows", quoted(cell), classes.len());
                        let near = nearest(cell, classes.iter().map(String::as_str));
                        csv.wrong_cell(row, place, cause, format!("use a known one, such as {near}"))
                    })
                };
                Ok(host::of(&(0..n).map(class).collect::<Result<Vec<i64>>>()?, vec![n]))
            }
        }
    }

    /// Features and targets as a dataset.
    pub fn dataset(&self, csv: &Csv) -> Result<Arrays> {
        Arrays::new(self.features(csv)?, self.targets(csv)?)
    }
}
