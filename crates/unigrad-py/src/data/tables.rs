//! CSV files, and what their columns mean to a model.
//!
//! In: a file's path or bytes, options. Out: cells; features and targets as tensors.

use super::tensor_of;
use crate::{
    device::{PyDevice, or_default},
    error::{OrRaise, argument},
    exit::Release,
    tensor::PyTensor,
};
use pyo3::prelude::*;
use std::{collections::BTreeMap, path::PathBuf};
use unigrad::data::{Categories, ColumnType, Csv, CsvOptions, Missing, TableOptions, TableSchema, Task, Unknown};

/// The cells of a CSV file, as texts without the spaces around them.
///
/// >>> import unigrad as ug
/// >>> csv = ug.data.Csv.parse(b"name,size\nBerta,1.8\nAnton,1.7\n")
/// >>> csv.names, len(csv), csv.column("name")
/// (['name', 'size'], 2, ['Berta', 'Anton'])
#[pyclass(name = "Csv", module = "unigrad.data.native", frozen)]
pub(crate) struct PyCsv(pub(super) Csv);

fn one_byte(py: Python<'_>, name: &str, text: &str) -> PyResult<u8> {
    match text.as_bytes() {
        [byte] => Ok(*byte),
        _ => Err(argument(py, format!("argument '{name}' is {text:?}"), "use one ASCII character")),
    }
}

fn csv_options(py: Python<'_>, delimiter: &str, quote: Option<&str>, has_header: bool) -> PyResult<CsvOptions> {
    let quote = quote.map(|quote| one_byte(py, "quote", quote)).transpose()?;
    Ok(CsvOptions { delimiter: one_byte(py, "delimiter", delimiter)?, quote, has_header, ..CsvOptions::default() })
}

#[pymethods]
impl PyCsv {
    /// Reads a file. Without `has_header` the columns are `column 1` and so on; with `quote=None` quotes are characters like others.
    #[staticmethod]
    #[pyo3(signature = (path, delimiter=",", quote=Some("\""), has_header=true))]
    fn read(py: Python<'_>, path: PathBuf, delimiter: &str, quote: Option<&str>, has_header: bool) -> PyResult<PyCsv> {
        let options = csv_options(py, delimiter, quote, has_header)?;
        py.released(|| Csv::read(&path, &options)).map(PyCsv).or_raise(py)
    }

    /// As `read`, of bytes.
    #[staticmethod]
    #[pyo3(signature = (bytes, delimiter=",", quote=Some("\""), has_header=true))]
    fn parse(py: Python<'_>, bytes: &[u8], delimiter: &str, quote: Option<&str>, has_header: bool) -> PyResult<PyCsv> {
        let options = csv_options(py, delimiter, quote, has_header)?;
        py.released(|| Csv::from_bytes(bytes, "the bytes", &options)).map(PyCsv).or_raise(py)
    }

    /// The columns' names.
    #[getter]
    fn names(&self) -> Vec<String> {
        self.0.names().to_vec()
    }

    /// The cells of a column, by its name.
    fn column(&self, py: Python<'_>, name: &str) -> PyResult<Vec<String>> {
        let column = self.0.column(name).or_raise(py)?;
        Ok((0..self.0.n_rows()).map(|row| self.0.cell(row, column).to_owned()).collect())
    }

    /// The cells of a row, by its number.
    fn row(&self, py: Python<'_>, index: usize) -> PyResult<Vec<String>> {
        if index >= self.0.n_rows() {
            return Err(argument(py, format!("argument 'index' is {index}, of {} rows", self.0.n_rows()), "use a number below it"));
        }
        Ok((0..self.0.names().len()).map(|column| self.0.cell(index, column).to_owned()).collect())
    }

    fn __len__(&self) -> usize {
        self.0.n_rows()
    }

    fn __repr__(&self) -> String {
        format!("Csv({} rows, columns {:?})", self.0.n_rows(), self.0.names())
    }
}

/// One of some names.
fn chosen<T: Copy>(py: Python<'_>, name: &str, value: &str, known: &[(&str, T)]) -> PyResult<T> {
    let found = known.iter().find(|(word, _)| *word == value);
    found.map(|(_, choice)| *choice).ok_or_else(|| {
        let words = known.iter().map(|(word, _)| format!("'{word}'")).collect::<Vec<_>>().join(", ");
        argument(py, format!("argument '{name}' is '{value}'"), &format!("choose one of {words}"))
    })
}

const MISSING: &[(&str, Missing)] = &[("mean", Missing::Mean), ("mode", Missing::Mode), ("own", Missing::Own), ("error", Missing::Error)];
const TYPES: &[(&str, ColumnType)] = &[
    ("integer", ColumnType::Integer),
    ("float", ColumnType::Float),
    ("boolean", ColumnType::Boolean),
    ("category", ColumnType::Category),
    ("date", ColumnType::Date),
    ("text", ColumnType::Text),
];
const TASKS: &[(&str, Task)] = &[("classification", Task::Classification), ("regression", Task::Regression)];

/// What columns mean: learned of one file, applied to any other with the same columns.
///
/// >>> import unigrad as ug
/// >>> csv = ug.data.Csv.parse(b"size,colour,kind\n1.0,red,a\n3.0,blue,b\n")
/// >>> schema = ug.data.TableSchema.fit(csv, target="kind")
/// >>> schema.features(csv).shape, schema.targets(csv).tolist(), schema.classes
/// ((2, 3), [0, 1], ['a', 'b'])
#[pyclass(name = "TableSchema", module = "unigrad.data.native", frozen)]
pub(crate) struct PyTableSchema(TableSchema);

#[pymethods]
impl PyTableSchema {
    /// Learns it of a table, or of some `rows` of it. `target` is the column to be answered; `ignore` names columns to leave out; `types` says what columns have
    /// ("integer", "float", "boolean", "category", "date", "text") where their cells suggest otherwise; `missing` ("own", "mean", "mode", "error") what becomes of
    /// cells without a value, for all or by column; `categories` is "onehot" or "index"; `unknown` ("error" or "ignore") what becomes of later categories.
    #[staticmethod]
    #[pyo3(signature = (
        csv, target=None, *, task=None, rows=None, ignore=vec![], types=BTreeMap::new(), missing="own", missing_of=BTreeMap::new(), categories="onehot",
        unknown="error", standardize=true, standardize_target=false, nan_is_missing=false, max_categories=256
    ))]
    #[expect(clippy::too_many_arguments, reason = "keywords")]
    fn fit(
        py: Python<'_>,
        csv: &PyCsv,
        target: Option<String>,
        task: Option<&str>,
        rows: Option<Vec<usize>>,
        ignore: Vec<String>,
        types: BTreeMap<String, String>,
        missing: &str,
        missing_of: BTreeMap<String, String>,
        categories: &str,
        unknown: &str,
        standardize: bool,
        standardize_target: bool,
        nan_is_missing: bool,
        max_categories: usize,
    ) -> PyResult<PyTableSchema> {
        let categories = chosen(py, "categories", categories, &[("onehot", Categories::OneHot), ("index", Categories::Index)])?;
        let unknown = chosen(py, "unknown", unknown, &[("error", Unknown::Error), ("ignore", Unknown::Ignore)])?;
        let mut options = TableOptions::new().missing(chosen(py, "missing", missing, MISSING)?).categories(categories).unknown(unknown);
        options = options.standardize(standardize).standardize_target(standardize_target).max_categories(max_categories);
        if nan_is_missing {
            options = options.nan_is_missing();
        }
        if let Some(target) = target {
            options = options.target(target);
        }
        if let Some(task) = task {
            options = options.task(chosen(py, "task", task, TASKS)?);
        }
        for column in ignore {
            options = options.ignore(column);
        }
        for (column, name) in types {
            options = options.column_type(column, chosen(py, "types", &name, TYPES)?);
        }
        for (column, name) in missing_of {
            options = options.missing_of(column, chosen(py, "missing_of", &name, MISSING)?);
        }
        let fitted = py.released(|| match &rows {
            Some(rows) => TableSchema::fit_rows(&csv.0, rows, &options),
            None => TableSchema::fit(&csv.0, &options),
        });
        fitted.map(PyTableSchema).or_raise(py)
    }

    /// The features of a table's rows: `[rows, features]`.
    #[pyo3(signature = (csv, device=None))]
    fn features(&self, py: Python<'_>, csv: &PyCsv, device: Option<PyDevice>) -> PyResult<PyTensor> {
        let host = py.released(|| self.0.features(&csv.0)).or_raise(py)?;
        tensor_of(py, &host, &or_default(py, device)?)
    }

    /// The targets of a table's rows: `[rows]`, classes or numbers.
    #[pyo3(signature = (csv, device=None))]
    fn targets(&self, py: Python<'_>, csv: &PyCsv, device: Option<PyDevice>) -> PyResult<PyTensor> {
        let host = py.released(|| self.0.targets(&csv.0)).or_raise(py)?;
        tensor_of(py, &host, &or_default(py, device)?)
    }

    /// A name for each feature.
    #[getter]
    fn feature_names(&self) -> Vec<String> {
        self.0.feature_names()
    }

    /// The classes of a classification, in the order of a model's outputs.
    #[getter]
    fn classes(&self) -> Vec<String> {
        self.0.classes().to_vec()
    }

    /// The column to be answered, if there is one.
    #[getter]
    fn target(&self) -> Option<String> {
        self.0.target().map(str::to_owned)
    }

    /// "classification" or "regression", if there is a target.
    #[getter]
    fn task(&self) -> Option<&'static str> {
        let task = self.0.task()?;
        TASKS.iter().find(|(_, known)| *known == task).map(|(name, _)| *name)
    }

    /// A number that a model answers, in the target's own unit.
    fn unscale(&self, answer: f64) -> f64 {
        self.0.unscale(answer)
    }

    /// As JSON: for a model's metadata.
    fn to_json(&self, py: Python<'_>) -> PyResult<String> {
        self.0.to_json().or_raise(py)
    }

    /// From JSON.
    #[staticmethod]
    fn from_json(py: Python<'_>, text: &str) -> PyResult<PyTableSchema> {
        TableSchema::from_json(text, "the text").map(PyTableSchema).or_raise(py)
    }
}
