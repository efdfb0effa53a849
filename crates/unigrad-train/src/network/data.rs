//! Data of a run, in words: which files, and what they are read as.
//!
//! In: a section of a configuration file, or a command's arguments. Out: arrays, the shape of an example, how many outputs are needed, and what a model must
//! keep to understand such data again.

use serde::Deserialize;
use std::path::{Path, PathBuf};
use unigrad_data::{Csv, CsvOptions, Images, TableOptions, TableSchema, Task as TableTask};
use unigrad_nn::{Error, HostTensor, Result, random::Rng};

use super::LossSpec;

/// The string of a model file that says how a table was encoded.
pub const TABLE: &str = "unigrad.table";
/// Streams of random numbers: the order of a table's rows.
const ROWS: u64 = 1 << 58;

/// Data in words. In files: `[data.csv]`, `data = "digits"`.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
#[non_exhaustive]
pub enum DataSpec {
    /// A table.
    Csv(CsvData),
    /// The digits that ship with the library, 8x8 pixels.
    Digits,
    /// MNIST as published: the training images, or where there are none the test images.
    Mnist {
        /// The folder with the files.
        folder: PathBuf,
    },
}

/// A table, and what of it is to be answered.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CsvData {
    /// The file.
    pub file: PathBuf,
    /// The column to be answered.
    pub target: String,
    /// `classification` or `regression`; guessed from the column without it.
    #[serde(default)]
    pub task: Option<TableTask>,
    /// Columns to be left out.
    #[serde(default)]
    pub ignore: Vec<String>,
    /// What stands between cells; a comma without it.
    #[serde(default)]
    pub delimiter: Option<char>,
    /// Rows stay in the file's order, so that its last part validates; without it they are shuffled once, by the seed.
    #[serde(default)]
    pub in_order: bool,
}

/// Data that were read.
#[derive(Clone, Debug)]
pub struct Prepared {
    /// What they are, for people.
    pub note: String,
    /// `[n, ..]`.
    pub inputs: HostTensor,
    /// `[n]`.
    pub targets: HostTensor,
    /// Classes, or 1 for a number.
    pub n_outputs: usize,
    /// What the answer is usually trained by.
    pub loss: LossSpec,
    /// What a model keeps, by name.
    pub metadata: Vec<(String, String)>,
}

impl DataSpec {
    /// Reads them; rows of a table come in an order that the seed gives.
    pub fn read(&self, seed: u64) -> Result<Prepared> {
        match self {
            DataSpec::Csv(csv) => csv.read(seed),
            DataSpec::Digits => {
                let split = unigrad_data::digits()?;
                images(&split.train, "the digits that ship, 8x8 pixels", Path::new("digits"))
            }
            DataSpec::Mnist { folder } => {
                let split = unigrad_data::mnist(folder)?;
                images(&split.train, &split.note, folder)
            }
        }
    }
}

fn images(images: &Images, note: &str, path: &Path) -> Result<Prepared> {
    if images.is_empty() {
        return Err(Error::format(path, "has no images to learn from", "name data with at least one image"));
    }
    let all: Vec<usize> = (0..images.len()).collect();
    let batch = images.batch(&all, None);
    Ok(Prepared {
        note: note.to_owned(),
        inputs: unigrad_data::array(&batch.pixels, &[all.len(), 1, images.height, images.width])?,
        targets: unigrad_data::array(&batch.labels, &[all.len()])?,
        n_outputs: images.n_classes,
        loss: LossSpec::cross_entropy(),
        metadata: Vec::new(),
    })
}

impl CsvData {
    /// How the file is written.
    pub fn options(&self) -> Result<CsvOptions> {
        let delimiter = match self.delimiter {
            None => b',',
            Some(delimiter) => u8::try_from(delimiter)
                .ok()
                .filter(u8::is_ascii)
                .ok_or_else(|| Error::argument(format!("the delimiter is {delimiter:?}"), "use one ASCII character, `;` for example"))?,
        };
        Ok(CsvOptions { delimiter, ..CsvOptions::default() })
    }

    /// Reads and encodes it: numbers get mean 0 and variance 1 over all rows, categories a feature each.
    pub fn read(&self, seed: u64) -> Result<Prepared> {
        let csv = Csv::read(&self.file, &self.options()?)?;
        let mut options = TableOptions::new().target(&self.target).standardize_target(true);
        if let Some(task) = self.task {
            options = options.task(task);
        }
        options = self.ignore.iter().fold(options, |options, column| options.ignore(column));
        let schema = TableSchema::fit(&csv, &options)?;
        let (mut inputs, mut targets) = (schema.features(&csv)?, schema.targets(&csv)?);
        let n = csv.n_rows();
        if !self.in_order {
            let order = Rng::new(seed, ROWS).permutation(n);
            (inputs, targets) = (reordered(&inputs, &order), reordered(&targets, &order));
        }
        let (n_outputs, loss, answer) = match schema.task() {
            Some(TableTask::Classification) => {
                (schema.classes().len(), LossSpec::cross_entropy(), format!("one of {} classes", schema.classes().len()))
            }
            _ => (1, LossSpec::Mse, "a number".to_owned()),
        };
        if n_outputs == 1 && schema.task() == Some(TableTask::Classification) {
            let cause = format!("column `{}` has one class only: there is nothing to learn", unigrad_device::printable(&self.target));
            return Err(Error::format(&self.file, cause, "name a column whose values differ"));
        }
        let target = unigrad_device::printable(&self.target);
        Ok(Prepared {
            note: format!("{}: {n} rows, {} features; `{target}` is {answer}", self.file.display(), schema.n_features()),
            inputs,
            targets,
            n_outputs,
            loss,
            metadata: vec![(TABLE.to_owned(), schema.to_json()?)],
        })
    }
}

/// An array's items in another order, which has each once.
fn reordered(array: &HostTensor, order: &[usize]) -> HostTensor {
    let item = array.shape.iter().skip(1).product::<usize>() * array.dtype.size();
    let bytes = order.iter().flat_map(|&at| array.bytes.get(at * item..(at + 1) * item).unwrap_or_default().iter().copied()).collect();
    HostTensor { dtype: array.dtype, shape: array.shape.clone(), bytes }
}
