//! Reading: the cells of a CSV file.
//!
//! In: a file, and how it is written. Out: names of columns, cells as text, each row with its line.
//! Always: rows are of one length; text is UTF-8. Memory is a few times the file's.

use super::{nearest, quoted};
use std::{
    collections::HashMap,
    path::{Path, PathBuf},
};
use unigrad_nn::{Error, Result, files};

/// How a CSV file is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CsvOptions {
    /// What stands between cells: a comma.
    pub delimiter: u8,
    /// What quotes a cell that has delimiters or line ends: `"`. With `None` quotes are characters like others.
    pub quote: Option<u8>,
    /// Whether the first row has the columns' names: yes. Without, they are `column 1` and so on.
    pub has_header: bool,
    /// Longer files are refused: 4 GiB.
    pub max_bytes: u64,
}

impl Default for CsvOptions {
    fn default() -> CsvOptions {
        CsvOptions { delimiter: b',', quote: Some(b'"'), has_header: true, max_bytes: 4 << 30 }
    }
}

/// The cells of a CSV file, spaces around them left out.
///
/// ```
/// use unigrad_data::{Csv, CsvOptions};
/// let csv = Csv::from_bytes(b"name,size\nBerta,\"1,80\"\n", "people.csv", &CsvOptions::default())?;
/// assert_eq!((csv.n_rows(), csv.cell(0, 1)), (1, "1,80"));
/// // A row of another length is an error with its line.
/// let error = Csv::from_bytes(b"name,size\nBerta\n", "people.csv", &CsvOptions::default()).unwrap_err();
/// assert!(error.to_string().contains("people.csv: line 2 has 1 cell, and the first line has 2"));
/// # Ok::<(), unigrad_nn::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Csv {
    path: PathBuf,
    names: Vec<String>,
    /// All cells, one after the other, and where each ends.
    text: String,
    ends: Vec<usize>,
    /// Of each row.
    lines: Vec<u64>,
}

const HELP: &str = "correct the line; check the delimiter and the quotes";

impl Csv {
    /// Reads a file.
    pub fn read(path: impl AsRef<Path>, options: &CsvOptions) -> Result<Csv> {
        let path = path.as_ref();
        Csv::from_bytes(&files::read_at_most(path, options.max_bytes)?, path, options)
    }

    /// Reads bytes; `path` is what errors name.
    pub fn from_bytes(bytes: &[u8], path: impl AsRef<Path>, options: &CsvOptions) -> Result<Csv> {
        let path = path.as_ref();
        // The mark that some programs begin UTF-8 with.
        let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
        let mut builder = csv::ReaderBuilder::new();
        builder.has_headers(false).flexible(true).delimiter(options.delimiter).trim(csv::Trim::All);
        match options.quote {
            Some(quote) => builder.quote(quote),
            None => builder.quoting(false),
        };
        let mut reader = builder.from_reader(bytes);
        let mut csv = Csv { path: path.to_owned(), names: Vec::new(), text: String::new(), ends: Vec::new(), lines: Vec::new() };
        let mut record = csv::ByteRecord::new();
        let mut first = true;
        loop {
            let there = reader.read_byte_record(&mut record).map_err(|error| csv.wrong(format!("cannot be parsed: {error}"), HELP))?;
            if !there {
                break;
            }
            // A record's position is before the empty lines that it follows.
            let line = record.position().map_or(0, |at| {
                let rest = usize::try_from(at.byte()).ok().and_then(|begin| bytes.get(begin..)).unwrap_or_default();
                let ends = rest.iter().take_while(|byte| matches!(byte, b'\n' | b'\r')).filter(|byte| **byte == b'\n').count();
                at.line() + ends as u64
            });
            if std::mem::take(&mut first) {
                csv.names = csv.header(&record, line, options.has_header)?;
                if options.has_header {
                    continue;
                }
            }
            csv.row(&record, line)?;
        }
        if csv.lines.is_empty() {
            let cause = if csv.names.is_empty() { "the file is empty" } else { "there is a header, and no rows" };
            return Err(csv.wrong(cause, "name a file with at least one row; without a header say so"));
        }
        Ok(csv)
    }

    fn header(&self, record: &csv::ByteRecord, line: u64, named: bool) -> Result<Vec<String>> {
        let mut names = Vec::with_capacity(record.len());
        let mut seen = HashMap::new();
        for (at, cell) in record.iter().enumerate() {
            let text = if named { self.utf8(cell, line, at)? } else { "" };
            let name = if text.is_empty() { format!("column {}", at + 1) } else { text.to_owned() };
            if let Some(before) = seen.insert(name.clone(), at) {
                let cause = format!("line {line}: columns {} and {} are both named {}", before + 1, at + 1, quoted(&name));
                return Err(self.wrong(cause, "give each column a name of its own, or say that there is no header"));
            }
            names.push(name);
        }
        Ok(names)
    }

    fn utf8<'a>(&self, cell: &'a [u8], line: u64, column: usize) -> Result<&'a str> {
        std::str::from_utf8(cell).map_err(|error| {
            let cause = format!("line {line}, column {}: no UTF-8 from byte {} of the cell on", column + 1, error.valid_up_to());
            self.wrong(cause, "save the file as UTF-8")
        })
    }

    fn row(&mut self, record: &csv::ByteRecord, line: u64) -> Result<()> {
        let n_columns = self.names.len();
        if record.len() != n_columns {
            let cells = if record.len() == 1 { "cell" } else { "cells" };
            return Err(self.wrong(format!("line {line} has {} {cells}, and the first line has {n_columns}", record.len()), HELP));
        }
        for (at, cell) in record.iter().enumerate() {
            let cell = self.utf8(cell, line, at)?;
            self.text.push_str(cell);
            self.ends.push(self.text.len());
        }
        self.lines.push(line);
        Ok(())
    }

    pub(super) fn wrong(&self, cause: impl Into<String>, help: impl Into<String>) -> Error {
        Error::format(&self.path, cause, help)
    }

    /// An error at a cell.
    pub(super) fn wrong_cell(&self, row: usize, column: usize, cause: impl std::fmt::Display, help: impl Into<String>) -> Error {
        let name = self.names.get(column).map_or("", String::as_str);
        self.wrong(format!("line {}, column {}: {cause}", self.line(row), quoted(name)), help)
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The columns' names.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// How many rows there are.
    pub fn n_rows(&self) -> usize {
        self.lines.len()
    }

    /// The line at which a row begins, from 1; 0 for a row that is not there.
    pub fn line(&self, row: usize) -> u64 {
        self.lines.get(row).copied().unwrap_or_default()
    }

    /// A cell's text; empty for one that is not there.
    pub fn cell(&self, row: usize, column: usize) -> &str {
        if column >= self.names.len() {
            return "";
        }
        let at = row * self.names.len() + column;
        let begin = at.checked_sub(1).and_then(|before| self.ends.get(before)).copied().unwrap_or_default();
        let end = self.ends.get(at).copied().unwrap_or(begin);
        self.text.get(begin..end).unwrap_or_default()
    }

    /// The place of a column, or an error with the nearest names.
    pub fn column(&self, name: &str) -> Result<usize> {
        self.names.iter().position(|known| known == name).ok_or_else(|| {
            let names = nearest(name, self.names.iter().map(String::as_str));
            self.wrong(
                format!("there is no column {}", quoted(name)),
                format!("use one of its {} columns, such as {names}", self.names.len()),
            )
        })
    }
}
