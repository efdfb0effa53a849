//! Tables, in words: which file, how it is written, what its columns mean.
//!
//! In: the section `[data.csv]` of a configuration file, or a command's arguments. Out: encoded rows, and the encoding that a model keeps.

use super::{LossSpec, data::Prepared};
use serde::{
    Deserialize, Deserializer,
    de::{self, SeqAccess, Visitor},
};
use std::{collections::BTreeMap, fmt, path::PathBuf, sync::Arc};
use unigrad_data::{Arrays, Categories, ColumnType, Csv, CsvOptions, Missing, TableOptions, TableSchema, Task as TableTask, Unknown};
use unigrad_nn::{Error, HostTensor, Result, random::Rng};

/// The string of a model file that says how a table was encoded.
pub const TABLE: &str = "unigrad.table";
/// Streams of random numbers: the order of a table's rows.
const ROWS: u64 = 1 << 58;

/// A table, and what of it is to be answered.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CsvData {
    /// The file.
    pub file: PathBuf,
    /// The column to be answered, or several columns of numbers: `target = "price"`, `target = ["price", "weight"]`.
    #[serde(rename = "target", deserialize_with = "one_or_several")]
    pub targets: Vec<String>,
    /// `classification` or `regression`; guessed from the column without it.
    #[serde(default)]
    pub task: Option<TableTask>,
    /// Columns to be left out.
    #[serde(default)]
    pub ignore: Vec<String>,
    /// What stands between cells; a comma without it.
    #[serde(default)]
    pub delimiter: Option<char>,
    /// What quotes a cell; `"` without it, and nothing where it is empty.
    #[serde(default)]
    pub quote: Option<String>,
    /// Whether the first line has the columns' names; without them they are `column 1` and so on.
    #[serde(default = "yes")]
    pub header: bool,
    /// Longer files are refused.
    #[serde(default)]
    pub max_bytes: Option<u64>,
    /// Types of columns, where their cells suggest another one.
    #[serde(default)]
    pub types: BTreeMap<String, ColumnType>,
    /// What becomes of cells without a value.
    #[serde(default)]
    pub missing: Option<Missing>,
    /// Likewise, of single columns.
    #[serde(default)]
    pub missing_of: BTreeMap<String, Missing>,
    /// How categories become numbers.
    #[serde(default)]
    pub categories: Option<Categories>,
    /// What becomes of categories that come up later.
    #[serde(default)]
    pub unknown: Option<Unknown>,
    /// Whether numbers are scaled to mean 0 and variance 1.
    #[serde(default = "yes")]
    pub standardize: bool,
    /// Likewise the numbers to be answered; answers are in their own units either way.
    #[serde(default = "yes")]
    pub standardize_target: bool,
    /// Whether `nan` is a cell without a value; otherwise it is an error.
    #[serde(default)]
    pub nan_is_missing: bool,
    /// Texts with more different values are no categories.
    #[serde(default)]
    pub max_categories: Option<usize>,
    /// Rows stay in the file's order, so that its last part validates; without it they are shuffled once, by the seed.
    #[serde(default)]
    pub in_order: bool,
}

fn yes() -> bool {
    true
}

/// A name, or a list of names.
fn one_or_several<'de, D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Vec<String>, D::Error> {
    struct Names;
    impl<'de> Visitor<'de> for Names {
        type Value = Vec<String>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("the name of a column, or a list of names")
        }

        fn visit_str<E: de::Error>(self, name: &str) -> std::result::Result<Vec<String>, E> {
            Ok(vec![name.to_owned()])
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut names: A) -> std::result::Result<Vec<String>, A::Error> {
            let mut all = Vec::new();
            while let Some(name) = names.next_element()? {
                all.push(name);
            }
            if all.is_empty() { Err(de::Error::invalid_length(0, &self)) } else { Ok(all) }
        }
    }
    deserializer.deserialize_any(Names)
}

impl Default for CsvData {
    fn default() -> CsvData {
        CsvData {
            file: PathBuf::new(),
            targets: Vec::new(),
            task: None,
            ignore: Vec::new(),
            delimiter: None,
            quote: None,
            header: true,
            max_bytes: None,
            types: BTreeMap::new(),
            missing: None,
            missing_of: BTreeMap::new(),
            categories: None,
            unknown: None,
            standardize: true,
            standardize_target: true,
            nan_is_missing: false,
            max_categories: None,
            in_order: false,
        }
    }
}

fn ascii(name: &str, character: char, example: &str) -> Result<u8> {
    u8::try_from(character)
        .ok()
        .filter(u8::is_ascii)
        .ok_or_else(|| Error::argument(format!("the {name} is {character:?}"), format!("use one ASCII character, `{example}` for example")))
}

impl CsvData {
    /// How the file is written.
    pub fn options(&self) -> Result<CsvOptions> {
        let usual = CsvOptions::default();
        let quote = match self.quote.as_deref().map(|text| text.chars().collect::<Vec<_>>()).as_deref() {
            None => usual.quote,
            Some([]) => None,
            Some([quote]) => Some(ascii("quote", *quote, "'")?),
            Some(_) => {
                return Err(Error::argument("the quote has several characters", "use one ASCII character, or an empty text for none"));
            }
        };
        let delimiter = self.delimiter.map_or(Ok(usual.delimiter), |delimiter| ascii("delimiter", delimiter, ";"))?;
        Ok(CsvOptions { delimiter, quote, has_header: self.header, max_bytes: self.max_bytes.unwrap_or(usual.max_bytes) })
    }

    fn table_options(&self) -> TableOptions {
        let mut options = TableOptions::new().standardize(self.standardize).standardize_target(self.standardize_target);
        options = self.targets.iter().fold(options, |options, column| options.target(column));
        if let Some(task) = self.task {
            options = options.task(task);
        }
        if let Some(missing) = self.missing {
            options = options.missing(missing);
        }
        if let Some(categories) = self.categories {
            options = options.categories(categories);
        }
        if let Some(unknown) = self.unknown {
            options = options.unknown(unknown);
        }
        if let Some(n) = self.max_categories {
            options = options.max_categories(n);
        }
        if self.nan_is_missing {
            options = options.nan_is_missing();
        }
        options = self.ignore.iter().fold(options, |options, column| options.ignore(column));
        options = self.types.iter().fold(options, |options, (column, kind)| options.column_type(column, *kind));
        self.missing_of.iter().fold(options, |options, (column, missing)| options.missing_of(column, *missing))
    }

    /// Reads and encodes it: numbers get mean 0 and variance 1 over all rows, categories a feature each, unless it says otherwise.
    pub fn read(&self, seed: u64) -> Result<Prepared> {
        let csv = Csv::read(&self.file, &self.options()?)?;
        if self.targets.is_empty() {
            return Err(Error::format(
                &self.file,
                "no target is named: there is nothing to learn",
                "name the column that is to be answered",
            ));
        }
        let schema = TableSchema::fit(&csv, &self.table_options())?;
        let (mut inputs, mut targets) = (schema.features(&csv)?, schema.targets(&csv)?);
        let n = csv.n_rows();
        if !self.in_order {
            let order = Rng::new(seed, ROWS).permutation(n);
            (inputs, targets) = (reordered(&inputs, &order), reordered(&targets, &order));
        }
        // One number is an output of one unit.
        if schema.task() != Some(TableTask::Classification) && targets.shape.len() == 1 {
            targets.shape.push(1);
        }
        let n_outputs = schema.n_outputs();
        let (loss, answer) = match schema.task() {
            Some(TableTask::Classification) => (LossSpec::cross_entropy(), format!("is one of {n_outputs} classes")),
            _ if n_outputs > 1 => (LossSpec::Mse, "are numbers".to_owned()),
            _ => (LossSpec::Mse, "is a number".to_owned()),
        };
        let names: Vec<String> = schema.target_names().iter().map(|name| format!("`{}`", unigrad_device::printable(name))).collect();
        if n_outputs == 1 && schema.task() == Some(TableTask::Classification) {
            let cause = format!("column {} has one class only: there is nothing to learn", names.join(", "));
            return Err(Error::format(&self.file, cause, "name a column whose values differ"));
        }
        Ok(Prepared {
            note: format!("{}: {n} rows, {} features; {} {answer}", self.file.display(), schema.n_features(), names.join(", ")),
            shape: inputs.shape[1..].to_vec(),
            samples: Arc::new(Arrays::new(inputs, targets)?),
            labels: None,
            pictures: None,
            n_outputs,
            n_tokens: None,
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
