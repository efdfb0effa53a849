//! Fitting: what a file's columns mean, and the numbers that their encoding needs.
//!
//! In: the cells of a file, which rows to learn from, what the caller knows better. Out: a [`TableSchema`].

use super::{
    Csv,
    guess::{ColumnType, MAX_CATEGORIES, boolean, guess, is_missing, is_nan, number},
    quoted,
    schema::{Answer, Categories, Column, Encoding, Missing, Scale, TableSchema, Target, Task, Unknown},
};
use std::collections::BTreeMap;
use unigrad_nn::{Error, Result};

/// What the caller knows of a table, and how it is to be encoded.
#[derive(Clone, Debug, PartialEq)]
pub struct TableOptions {
    targets: Vec<String>,
    task: Option<Task>,
    ignored: Vec<String>,
    types: BTreeMap<String, ColumnType>,
    missing: Missing,
    missing_of: BTreeMap<String, Missing>,
    categories: Categories,
    unknown: Unknown,
    standardize: bool,
    standardize_target: bool,
    nan_is_missing: bool,
    max_categories: usize,
}

impl Default for TableOptions {
    fn default() -> TableOptions {
        TableOptions {
            targets: Vec::new(),
            task: None,
            ignored: Vec::new(),
            types: BTreeMap::new(),
            missing: Missing::Own,
            missing_of: BTreeMap::new(),
            categories: Categories::OneHot,
            unknown: Unknown::Error,
            standardize: true,
            standardize_target: false,
            nan_is_missing: false,
            max_categories: MAX_CATEGORIES,
        }
    }
}

impl TableOptions {
    /// The settings that most tables need.
    pub fn new() -> TableOptions {
        TableOptions::default()
    }

    /// The column that is to be answered; called again, one more: several columns are numbers that are answered together. Without one there are features only.
    ///
    /// ```
    /// use unigrad_data::{Csv, CsvOptions, TableOptions, TableSchema};
    /// let csv = Csv::from_bytes(b"size,price,weight\n1,10.5,2\n2,20.5,3\n", "shop.csv", &CsvOptions::default())?;
    /// let schema = TableSchema::fit(&csv, &TableOptions::new().target("price").target("weight"))?;
    /// assert_eq!(schema.targets(&csv)?, unigrad_data::array(&[10.5f32, 2.0, 20.5, 3.0], &[2, 2])?);
    /// # Ok::<(), unigrad_nn::Error>(())
    /// ```
    pub fn target(mut self, column: impl Into<String>) -> Self {
        self.targets.push(column.into());
        self
    }

    /// What is to be answered. Else it is guessed: classes where the only target has categories, yes or no, or few whole numbers; numbers otherwise.
    pub fn task(mut self, task: Task) -> Self {
        self.task = Some(task);
        self
    }

    /// Leaves a column out.
    pub fn ignore(mut self, column: impl Into<String>) -> Self {
        self.ignored.push(column.into());
        self
    }

    /// The type of a column, instead of the one that its cells suggest.
    pub fn column_type(mut self, column: impl Into<String>, column_type: ColumnType) -> Self {
        self.types.insert(column.into(), column_type);
        self
    }

    /// What becomes of cells without a value: [`Missing::Own`] at first, for columns that miss some.
    pub fn missing(mut self, missing: Missing) -> Self {
        self.missing = missing;
        self
    }

    /// The same for one column.
    pub fn missing_of(mut self, column: impl Into<String>, missing: Missing) -> Self {
        self.missing_of.insert(column.into(), missing);
        self
    }

    /// How categories become numbers: one-hot at first.
    pub fn categories(mut self, categories: Categories) -> Self {
        self.categories = categories;
        self
    }

    /// What becomes of categories that come up later: an error at first.
    pub fn unknown(mut self, unknown: Unknown) -> Self {
        self.unknown = unknown;
        self
    }

    /// Whether numbers are scaled to mean 0 and standard deviation 1: yes at first.
    pub fn standardize(mut self, standardize: bool) -> Self {
        self.standardize = standardize;
        self
    }

    /// The same for the target of a regression ([`TableSchema::unscale`] goes back): no at first.
    pub fn standardize_target(mut self, standardize: bool) -> Self {
        self.standardize_target = standardize;
        self
    }

    /// Takes `nan` for a cell without a value; else it is an error.
    pub fn nan_is_missing(mut self) -> Self {
        self.nan_is_missing = true;
        self
    }

    /// Texts with more different values than this are no categories: 256 at first.
    pub fn max_categories(mut self, n: usize) -> Self {
        self.max_categories = n;
        self
    }
}

impl TableSchema {
    /// Learns the encoding of a file.
    ///
    /// ```
    /// use unigrad_data::{Csv, CsvOptions, TableOptions, TableSchema, Task};
    /// let file = b"size,colour,price\n1,red,10.5\n2,blue,20.5\n3,red,30.25\n";
    /// let csv = Csv::from_bytes(file, "shop.csv", &CsvOptions::default())?;
    /// let schema = TableSchema::fit(&csv, &TableOptions::new().target("price"))?;
    /// assert_eq!(schema.feature_names(), ["size", "colour=blue", "colour=red"]);
    /// assert_eq!(schema.task(), Some(Task::Regression));
    ///
    /// // Saved with the model, and applied to what comes later.
    /// let schema = TableSchema::from_json(&schema.to_json()?, "model.safetensors")?;
    /// let new = Csv::from_bytes(b"colour,size\nblue,2\n", "new.csv", &CsvOptions::default())?;
    /// let features = schema.features(&new)?;
    /// assert_eq!(features, unigrad_data::array(&[0.0f32, 1.0, 0.0], &[1, 3])?);
    /// # Ok::<(), unigrad_nn::Error>(())
    /// ```
    pub fn fit(csv: &Csv, options: &TableOptions) -> Result<TableSchema> {
        TableSchema::fit_rows(csv, &(0..csv.n_rows()).collect::<Vec<_>>(), options)
    }

    /// Learns it of some rows only: those that train. The others' cells must have values that these rows teach, categories too.
    pub fn fit_rows(csv: &Csv, rows: &[usize], options: &TableOptions) -> Result<TableSchema> {
        if rows.is_empty() {
            return Err(csv.wrong("no rows to learn the encoding from", "give at least one"));
        }
        if let Some(row) = rows.iter().find(|row| **row >= csv.n_rows()) {
            return Err(csv.wrong(format!("row {row} of {}", csv.n_rows()), "give rows that are there"));
        }
        let targets: Vec<usize> = options.targets.iter().map(|name| csv.column(name)).collect::<Result<_>>()?;
        if let Some(twice) = options.targets.iter().enumerate().find_map(|(at, name)| options.targets[..at].contains(name).then_some(name))
        {
            return Err(csv.wrong(format!("column {} is a target twice", quoted(twice)), "name each target once"));
        }
        let named = options.ignored.iter().chain(options.types.keys()).chain(options.missing_of.keys());
        named.into_iter().try_for_each(|name| csv.column(name).map(drop))?;
        let fit = Fit { csv, rows, options };
        let mut columns = Vec::new();
        for (at, name) in csv.names().iter().enumerate() {
            if !targets.contains(&at) && !options.ignored.contains(name) {
                columns.push(fit.column(at)?);
            }
        }
        if columns.is_empty() {
            return Err(csv.wrong("no columns are left to learn from", "keep at least one besides the targets"));
        }
        let targets = targets.into_iter().map(|at| fit.target(at)).collect::<Result<_>>()?;
        Ok(TableSchema::new(columns, targets, options.nan_is_missing))
    }
}

struct Fit<'a> {
    csv: &'a Csv,
    rows: &'a [usize],
    options: &'a TableOptions,
}

impl Fit<'_> {
    fn name(&self, column: usize) -> String {
        self.csv.names().get(column).cloned().unwrap_or_default()
    }

    fn type_of(&self, column: usize) -> Result<ColumnType> {
        match self.options.types.get(&self.name(column)) {
            Some(known) => Ok(*known),
            None => guess(self.csv, column, self.rows, self.options.nan_is_missing, self.options.max_categories),
        }
    }

    fn cells(&self, column: usize) -> impl Iterator<Item = (usize, Option<&str>)> {
        self.rows.iter().map(move |&row| {
            let cell = self.csv.cell(row, column);
            (row, (!is_missing(cell, self.options.nan_is_missing)).then_some(cell))
        })
    }

    fn column(&self, at: usize) -> Result<Column> {
        let name = self.name(at);
        let column_type = self.type_of(at)?;
        let wanted = self.options.missing_of.get(&name).copied().unwrap_or(self.options.missing);
        let gap = self.cells(at).find(|(_, cell)| cell.is_none());
        if let Some((row, _)) = gap.filter(|_| wanted == Missing::Error) {
            return Err(missing(self.csv, row, at));
        }
        // A feature for gaps that nothing teaches would only be noise.
        let missing = match (wanted, gap) {
            (Missing::Own, None) => Missing::Error,
            (wanted, _) => wanted,
        };
        let encoding = match column_type {
            ColumnType::Integer | ColumnType::Float => self.number(at, missing)?,
            ColumnType::Boolean => self.boolean(at)?,
            ColumnType::Category => self.category(at, missing)?,
            ColumnType::Date | ColumnType::Text => {
                let cause = format!("column {} has {}, which are not encoded", quoted(&name), column_type.name());
                let help = if column_type == ColumnType::Date { "or put numbers into it" } else { "or say that it has categories" };
                return Err(self.csv.wrong(cause, format!("leave the column out (`ignore`), {help}")));
            }
        };
        Ok(Column { name, column_type, missing, encoding })
    }

    fn numbers(&self, at: usize) -> Result<Vec<f64>> {
        self.cells(at).filter_map(|(row, cell)| Some(finite(self.csv, row, at, cell?))).collect()
    }

    fn number(&self, at: usize, missing: Missing) -> Result<Encoding> {
        let numbers = self.numbers(at)?;
        let scale = scale_of(&numbers);
        let fill = if missing == Missing::Mode { mode(&numbers) } else { scale.mean };
        let scale = if self.options.standardize { scale } else { Scale { mean: 0.0, std: 1.0 } };
        Ok(Encoding::Number { scale, fill })
    }

    fn boolean(&self, at: usize) -> Result<Encoding> {
        let (mut yes, mut no) = (0usize, 0usize);
        for (row, cell) in self.cells(at) {
            match cell.map(|cell| truth(self.csv, row, at, cell)).transpose()? {
                Some(true) => yes += 1,
                Some(false) => no += 1,
                None => {}
            }
        }
        Ok(Encoding::Boolean { fill: yes > no })
    }

    fn counts(&self, at: usize) -> BTreeMap<&str, usize> {
        let mut counts = BTreeMap::new();
        self.cells(at).filter_map(|(_, cell)| cell).for_each(|cell| *counts.entry(cell).or_insert(0) += 1);
        counts
    }

    fn category(&self, at: usize, missing: Missing) -> Result<Encoding> {
        let counts = self.counts(at);
        if counts.len() > self.options.max_categories {
            let cause = format!("column {} has {} categories", quoted(&self.name(at)), counts.len());
            return Err(self.csv.wrong(cause, format!("leave it out, or allow more than {}", self.options.max_categories)));
        }
        // The first of the most frequent.
        let most = counts.values().copied().max();
        let most = counts.values().position(|count| Some(*count) == most);
        let fill = matches!(missing, Missing::Mean | Missing::Mode).then_some(most).flatten();
        let names = counts.into_keys().map(str::to_owned).collect();
        Ok(Encoding::Category { names, fill, categories: self.options.categories, unknown: self.options.unknown })
    }

    fn target(&self, at: usize) -> Result<Target> {
        let name = self.name(at);
        if let Some((row, _)) = self.cells(at).find(|(_, cell)| cell.is_none()) {
            return Err(missing(self.csv, row, at));
        }
        let column_type = self.type_of(at)?;
        let counts = self.counts(at);
        let (n_values, n) = (counts.len(), self.rows.len());
        const FEW: usize = 20;
        let few = n_values <= FEW && (n_values <= 2 || n >= 5 * n_values);
        let together = self.options.targets.len() > 1;
        if together {
            let several = format!("the target {} is one of {}", quoted(&name), self.options.targets.len());
            if self.options.task == Some(Task::Classification) {
                return Err(self.csv.wrong(several + ", and the task is a classification", "name one target, or make it a regression"));
            }
            if !matches!(column_type, ColumnType::Integer | ColumnType::Float) {
                let cause = format!("{several} and has {}: only numbers are answered together", column_type.name());
                return Err(self.csv.wrong(cause, "name one target, or put numbers into the column"));
            }
        }
        let task = self.options.task.unwrap_or(match column_type {
            _ if together => Task::Regression,
            ColumnType::Float => Task::Regression,
            ColumnType::Integer if !few => Task::Regression,
            _ => Task::Classification,
        });
        let answer = match task {
            Task::Classification => {
                if matches!(column_type, ColumnType::Date | ColumnType::Text) && self.options.task.is_none() {
                    let cause = format!("the target {} has {}: {n_values} different in {n} rows", quoted(&name), column_type.name());
                    return Err(self.csv.wrong(cause, "choose another target, or say that the task is a classification"));
                }
                let mut classes: Vec<String> = counts.into_keys().map(str::to_owned).collect();
                if column_type == ColumnType::Integer {
                    classes.sort_by_key(|class| class.parse::<i64>().unwrap_or_default());
                }
                Answer::Classification { classes }
            }
            Task::Regression => {
                let numbers = self.numbers(at)?;
                let scale = if self.options.standardize_target { scale_of(&numbers) } else { Scale { mean: 0.0, std: 1.0 } };
                Answer::Regression { scale }
            }
        };
        Ok(Target { name, answer })
    }
}

pub(super) fn missing(csv: &Csv, row: usize, column: usize) -> Error {
    csv.wrong_cell(row, column, "no value", "fill the cell in, or choose what becomes of missing values")
}

/// A cell's number.
pub(super) fn finite(csv: &Csv, row: usize, column: usize, cell: &str) -> Result<f64> {
    match number(cell) {
        // What is beyond `f32` would be infinite on the device.
        Some(x) if x.is_finite() && x.abs() <= f64::from(f32::MAX) => Ok(x),
        Some(_) if is_nan(cell) => {
            let help = "leave the cell empty, or take `nan` for a missing value (`nan_is_missing`)";
            Err(csv.wrong_cell(row, column, format!("{} is no finite number", quoted(cell)), help))
        }
        Some(_) => Err(csv.wrong_cell(row, column, format!("{} is no finite f32", quoted(cell)), "correct the cell, or leave it empty")),
        None => Err(csv.wrong_cell(row, column, format!("{} is no number", quoted(cell)), "correct the cell, or leave it empty")),
    }
}

/// A cell's truth value.
pub(super) fn truth(csv: &Csv, row: usize, column: usize, cell: &str) -> Result<bool> {
    boolean(cell).ok_or_else(|| csv.wrong_cell(row, column, format!("{} is not yes or no", quoted(cell)), "write `true` or `false`"))
}

/// Mean and standard deviation; 1 for what does not vary.
fn scale_of(numbers: &[f64]) -> Scale {
    // Rounding of a mean would be a deviation.
    if let Some(only) = numbers.first().filter(|first| numbers.iter().all(|x| x == *first)) {
        return Scale { mean: *only, std: 1.0 };
    }
    let n = numbers.len().max(1) as f64;
    // Divided first: sums of the largest numbers stay finite.
    let mean: f64 = numbers.iter().map(|x| x / n).sum();
    let variance: f64 = numbers.iter().map(|x| (x - mean) * ((x - mean) / n)).sum();
    let std = variance.sqrt();
    Scale { mean, std: if std > 0.0 && std.is_finite() { std } else { 1.0 } }
}

/// The least of the most frequent numbers.
fn mode(numbers: &[f64]) -> f64 {
    let mut sorted = numbers.to_vec();
    sorted.sort_by(f64::total_cmp);
    let runs = sorted.chunk_by(|a, b| a == b);
    let longest = runs.rev().max_by_key(|run| run.len());
    longest.and_then(<[f64]>::first).copied().unwrap_or_default()
}
