//! Texts as tokens.
//!
//! In: texts, files of lines, tables of texts. Out: numbers of tokens.

use super::tables::PyCsv;
use crate::{
    error::{OrRaise, argument},
    exit::Release,
};
use pyo3::prelude::*;
use std::path::PathBuf;
use unigrad::data::{self, TextTable, TokenVocabulary, Unit};

fn unit_of(py: Python<'_>, unit: &str) -> PyResult<Unit> {
    match unit {
        "word" => Ok(Unit::Word),
        "character" => Ok(Unit::Character),
        other => Err(argument(py, format!("argument 'unit' is {other:?}"), "choose 'word' or 'character'")),
    }
}

/// Tokens and their numbers: 0 fills the ends of sequences, 1 stands for what is not in the vocabulary.
///
/// >>> import unigrad as ug
/// >>> vocabulary = ug.data.TokenVocabulary.fit(["a b a", "c"])
/// >>> vocabulary.encode("a c d"), vocabulary.decode([2, 4])
/// ([2, 4, 1], 'a c')
#[pyclass(name = "TokenVocabulary", module = "unigrad.data.native", frozen)]
pub(crate) struct PyTokenVocabulary(TokenVocabulary);

#[pymethods]
impl PyTokenVocabulary {
    /// Of the tokens ("word" or "character") that come up at least `at_least` times in the texts, the most frequent first, at most `at_most`.
    #[staticmethod]
    #[pyo3(signature = (texts, unit="word", at_least=1, at_most=50_000))]
    fn fit(py: Python<'_>, texts: Vec<String>, unit: &str, at_least: usize, at_most: usize) -> PyResult<PyTokenVocabulary> {
        let unit = unit_of(py, unit)?;
        Ok(PyTokenVocabulary(py.released(|| TokenVocabulary::fit(texts.iter().map(String::as_str), unit, at_least, at_most))))
    }

    fn __len__(&self) -> usize {
        self.0.len()
    }

    /// The numbers of a text's tokens.
    fn encode(&self, text: &str) -> Vec<i64> {
        self.0.encode(text)
    }

    /// The text of tokens: words with spaces between. Padding is left out, and what is unknown is `<unk>`.
    fn decode(&self, tokens: Vec<i64>) -> String {
        self.0.decode(&tokens)
    }

    /// As JSON: for a model's metadata.
    fn to_json(&self, py: Python<'_>) -> PyResult<String> {
        self.0.to_json().or_raise(py)
    }

    /// From JSON.
    #[staticmethod]
    fn from_json(py: Python<'_>, text: &str) -> PyResult<PyTokenVocabulary> {
        TokenVocabulary::from_json(text, "the text").map(PyTokenVocabulary).or_raise(py)
    }
}

/// The tokens of a text: words in lower case and single other characters, or characters.
///
/// >>> import unigrad as ug
/// >>> ug.data.split_text("Don't stop!")
/// ['don', "'", 't', 'stop', '!']
#[pyfunction]
#[pyo3(signature = (text, unit="word"))]
pub(crate) fn split_text(py: Python<'_>, text: &str, unit: &str) -> PyResult<Vec<String>> {
    Ok(unit_of(py, unit)?.split(text))
}

/// The lines of a text file that have more than spaces.
///
/// >>> import unigrad
/// >>> import pathlib, tempfile
/// >>> path = pathlib.Path(tempfile.mkdtemp()) / "lines.txt"
/// >>> _ = path.write_text("one\n\ntwo\n")
/// >>> unigrad.data.lines_of_file(path)
/// ['one', 'two']
#[pyfunction]
pub(crate) fn lines_of_file(py: Python<'_>, path: PathBuf) -> PyResult<Vec<String>> {
    py.released(|| data::lines_of_file(&path)).or_raise(py)
}

/// Texts with the number of their class, and the classes.
type Labelled = (Vec<(String, i64)>, Vec<String>);

/// Texts with the number of their class, and the classes in alphabetical order, from two columns of a table.
///
/// >>> import unigrad as ug
/// >>> ug.data.texts_of_table(ug.data.Csv.parse(b"text,kind\ngood film,+\nbad,-\n"), "text", "kind")
/// ([('good film', 0), ('bad', 1)], ['+', '-'])
#[pyfunction]
pub(crate) fn texts_of_table(py: Python<'_>, table: &PyCsv, text: &str, label: &str) -> PyResult<Labelled> {
    let TextTable { texts, classes } = data::texts_of_table(&table.0, text, label).or_raise(py)?;
    Ok((texts, classes))
}
