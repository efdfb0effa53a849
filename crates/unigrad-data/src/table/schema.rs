//! The encoding of a table: what was learned of a file, as JSON in a model's metadata.
//!
//! Always: what is read back passes the same checks as what was fitted, so that no file gives numbers that are not finite or of another width.

use super::{ColumnType, quoted};
use serde::{Deserialize, Serialize};
use std::{collections::BTreeSet, path::Path};
use unigrad_nn::{Error, Result};

/// What becomes of a cell without a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Missing {
    /// The mean of a number; the most frequent of categories and booleans.
    Mean,
    /// The most frequent value.
    Mode,
    /// A feature of its own that says so; a number has its mean besides.
    Own,
    /// An error with the line.
    Error,
}

/// What becomes of a category that was not there when the encoding was learned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Unknown {
    /// An error with the line.
    Error,
    /// None of the known ones: zeros, or index 0.
    Ignore,
}

/// How categories become numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Categories {
    /// A feature for each: 1 for the one that it is, else 0.
    OneHot,
    /// One feature, the category's index, from 1: for embeddings. 0 is a missing or an unknown one.
    Index,
}

/// What a model is to answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Task {
    /// One of some classes: targets are `I64`.
    Classification,
    /// A number, or several: targets are `F32`.
    Regression,
}

/// Numbers as text: JSON's own come back rounded by some readers, and the same file has to give the same features.
mod exact {
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    pub(super) fn serialize<S: Serializer>(number: &f64, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(number)
    }

    pub(super) fn deserialize<'a, D: Deserializer<'a>>(deserializer: D) -> Result<f64, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(|_| D::Error::custom("a text that is no number"))
    }
}

/// A number's encoding: `(x - mean) / std`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Scale {
    #[serde(with = "exact")]
    pub(super) mean: f64,
    #[serde(with = "exact")]
    pub(super) std: f64,
}

impl Scale {
    fn is_valid(&self) -> bool {
        self.mean.is_finite() && self.std.is_finite() && self.std > 0.0
    }
}

/// How one column becomes features.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub(super) enum Encoding {
    /// `fill` stands for what is missing, before it is scaled.
    Number {
        scale: Scale,
        #[serde(with = "exact")]
        fill: f64,
    },
    Boolean {
        fill: bool,
    },
    /// `fill` is the place of the category that stands for what is missing.
    Category {
        names: Vec<String>,
        fill: Option<usize>,
        categories: Categories,
        unknown: Unknown,
    },
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Column {
    pub(super) name: String,
    #[serde(rename = "type")]
    pub(super) column_type: ColumnType,
    pub(super) missing: Missing,
    pub(super) encoding: Encoding,
}

impl Column {
    /// Features of the column.
    pub(super) fn width(&self) -> usize {
        let own = usize::from(self.missing == Missing::Own);
        match &self.encoding {
            Encoding::Number { .. } | Encoding::Boolean { .. } => 1 + own,
            Encoding::Category { categories: Categories::Index, .. } => 1,
            Encoding::Category { names, categories: Categories::OneHot, .. } => names.len() + own,
        }
    }

    fn feature_names(&self) -> Vec<String> {
        let mut names = match &self.encoding {
            Encoding::Category { names, categories: Categories::OneHot, .. } => {
                names.iter().map(|n| format!("{}={n}", self.name)).collect()
            }
            _ => vec![self.name.clone()],
        };
        if names.len() < self.width() {
            names.push(format!("{} is missing", self.name));
        }
        names
    }
}

/// How the answer is encoded.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "task", rename_all = "lowercase")]
pub(super) enum Answer {
    Classification { classes: Vec<String> },
    Regression { scale: Scale },
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Target {
    pub(super) name: String,
    #[serde(flatten)]
    pub(super) answer: Answer,
}

impl Target {
    fn unscale(&self, answer: f64) -> f64 {
        match &self.answer {
            Answer::Regression { scale } => answer * scale.std + scale.mean,
            Answer::Classification { .. } => answer,
        }
    }
}

/// What columns mean: learned of one file ([`TableSchema::fit`]), applied to any other with the same columns.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TableSchema {
    version: u32,
    pub(super) nan_is_missing: bool,
    pub(super) columns: Vec<Column>,
    /// The first of the targets, and the only one in files of the first version.
    target: Option<Target>,
    /// The others, which are numbers as the first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    further: Vec<Target>,
}

/// Of schemas with one target or none.
const VERSION: u32 = 1;
/// Of schemas with several: a program that knows the first version only would take them for one.
const VERSION_OF_SEVERAL: u32 = 2;

impl TableSchema {
    pub(super) fn new(columns: Vec<Column>, targets: Vec<Target>, nan_is_missing: bool) -> TableSchema {
        let mut targets = targets.into_iter();
        let (target, further) = (targets.next(), targets.collect::<Vec<_>>());
        let version = if further.is_empty() { VERSION } else { VERSION_OF_SEVERAL };
        TableSchema { version, nan_is_missing, columns, target, further }
    }

    /// All targets, in the order of a model's outputs.
    pub(super) fn answers(&self) -> impl Iterator<Item = &Target> {
        self.target.iter().chain(&self.further)
    }

    /// As JSON: for a model's metadata.
    pub fn to_json(&self) -> Result<String> {
        serde_json::to_string(self).map_err(|error| Error::Internal(format!("a table's schema as JSON: {error}")))
    }

    /// From JSON; `path` is what errors name.
    pub fn from_json(text: &str, path: impl AsRef<Path>) -> Result<TableSchema> {
        const HELP: &str = "use a model that was saved with its table's schema";
        let path = path.as_ref();
        let wrong = |cause: String| Error::format(path, cause, HELP);
        let schema: TableSchema = serde_json::from_str(text)
            // It may quote the file, and what commands a terminal with it.
            .map_err(|error| wrong(format!("is no table's schema: {}", unigrad_device::printable(&error.to_string()))))?;
        if !(VERSION..=VERSION_OF_SEVERAL).contains(&schema.version) {
            let cause = format!("a table's schema of version {}, and this program knows up to {VERSION_OF_SEVERAL}", schema.version);
            return Err(wrong(cause));
        }
        if (schema.version == VERSION_OF_SEVERAL) == schema.further.is_empty() {
            return Err(wrong(format!("a table's schema of version {} with {} targets", schema.version, schema.answers().count())));
        }
        for column in &schema.columns {
            let valid = match &column.encoding {
                Encoding::Number { scale, fill } => scale.is_valid() && fill.is_finite(),
                Encoding::Boolean { .. } => true,
                Encoding::Category { names, fill, .. } => {
                    names.windows(2).all(|pair| pair[0] < pair[1]) && fill.is_none_or(|at| at < names.len())
                }
            };
            if !valid {
                return Err(wrong(format!("the encoding of column {} contradicts itself", quoted(&column.name))));
            }
        }
        let valid = schema.answers().all(|target| match &target.answer {
            Answer::Regression { scale } => scale.is_valid(),
            Answer::Classification { classes } => !classes.is_empty() && schema.further.is_empty(),
        });
        let mut names = BTreeSet::new();
        let valid = valid && schema.answers().all(|target| names.insert(target.name.as_str()));
        if !valid || schema.columns.is_empty() {
            return Err(wrong("the schema has no columns, or its targets contradict themselves".to_owned()));
        }
        Ok(schema)
    }

    /// Features of a row: the inputs of a model.
    pub fn n_features(&self) -> usize {
        self.columns.iter().map(Column::width).sum()
    }

    /// A name for each feature.
    pub fn feature_names(&self) -> Vec<String> {
        self.columns.iter().flat_map(Column::feature_names).collect()
    }

    /// The column that is to be answered, if there is one; of several the first.
    pub fn target(&self) -> Option<&str> {
        self.target.as_ref().map(|target| target.name.as_str())
    }

    /// All columns that are to be answered, in the order of a model's outputs.
    pub fn target_names(&self) -> Vec<&str> {
        self.answers().map(|target| target.name.as_str()).collect()
    }

    /// Outputs that a model needs: one for each class, or one for each number.
    pub fn n_outputs(&self) -> usize {
        self.classes().len().max(self.answers().count())
    }

    /// What is to be answered, if there is a target.
    pub fn task(&self) -> Option<Task> {
        self.target.as_ref().map(|target| match target.answer {
            Answer::Classification { .. } => Task::Classification,
            Answer::Regression { .. } => Task::Regression,
        })
    }

    /// The classes of a classification, in the order of a model's outputs.
    pub fn classes(&self) -> &[String] {
        match self.target.as_ref().map(|target| &target.answer) {
            Some(Answer::Classification { classes }) => classes,
            _ => &[],
        }
    }

    /// A number that a model answers, in the target's own unit; of several targets the first's, see [`TableSchema::unscale_all`].
    pub fn unscale(&self, answer: f64) -> f64 {
        self.target.as_ref().map_or(answer, |target| target.unscale(answer))
    }

    /// A row of a model's outputs, each in its target's own unit. Outputs beyond the targets stay as they are.
    pub fn unscale_all(&self, outputs: &mut [f64]) {
        outputs.iter_mut().zip(self.answers()).for_each(|(output, target)| *output = target.unscale(*output));
    }
}
