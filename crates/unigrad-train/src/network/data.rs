//! Data of a run, in words: which files, and what they are read as.
//!
//! In: a section of a configuration file, or a command's arguments. Out: arrays, the shape of an example, how many outputs are needed, and what a model must
//! keep to understand such data again.

use super::{
    LossSpec,
    sources::{self, ArrayFile, ArrayFiles, TextData, TextsData},
};
use serde::{Deserialize, Serialize};
use std::{
    path::{Path, PathBuf},
    sync::Arc,
};
use unigrad_data::{
    Arrays, Channels, Csv, CsvOptions, Dataset, DecodeOptions, ImageFolder, Images, Picture, Resize, Sample, TableOptions, TableSchema,
    Task as TableTask, ToFloat, Transform, stratified_split, validation_split,
};
use unigrad_nn::{Error, HostTensor, Result, random::Rng};

/// The string of a model file that says how a table was encoded.
pub const TABLE: &str = "unigrad.table";
/// The string of a model file that says what images it takes.
pub const IMAGES: &str = "unigrad.images";
/// Streams of random numbers: the order of a table's rows.
const ROWS: u64 = 1 << 58;

/// Data in words. In files: `[data.csv]`, `data = "digits"`.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
#[non_exhaustive]
pub enum DataSpec {
    /// A table.
    Csv(CsvData),
    /// Image files (PNG, JPEG, WebP) in a folder for each class.
    Images(ImageData),
    /// The digits that ship with the library, 8x8 pixels.
    Digits,
    /// MNIST as published: the training images, or where there are none the test images.
    Mnist {
        /// The folder with the files.
        folder: PathBuf,
    },
    /// Fashion-MNIST as published: its training images.
    FashionMnist {
        /// The folder with the files.
        folder: PathBuf,
    },
    /// CIFAR-10's binary version: its training pictures.
    Cifar10 {
        /// The folder `cifar-10-batches-bin`.
        folder: PathBuf,
    },
    /// CIFAR-100's binary version: its training pictures, with the fine labels.
    Cifar100 {
        /// The folder `cifar-100-binary`.
        folder: PathBuf,
    },
    /// A pair of IDX files, MNIST's format, plain or packed.
    Idx(ArrayFiles),
    /// A pair of NPY files.
    Npy(ArrayFiles),
    /// Two arrays of one file: NPZ, safetensors.
    Npz(ArrayFile),
    /// A text, for a language model.
    Text(TextData),
    /// Texts with a class each, in a table.
    Texts(TextsData),
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

fn side() -> usize {
    64
}

/// A folder of image files.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ImageData {
    /// The folder, whose sub-folders are the classes.
    pub folder: PathBuf,
    /// Height and width that images are resized to.
    #[serde(default = "side")]
    pub size: usize,
    /// Whether images are made grey.
    #[serde(default)]
    pub grey: bool,
}

/// What images a model takes, as its file keeps it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ImageForm {
    /// Height and width.
    pub size: usize,
    /// Whether they are grey; else they are RGB.
    pub grey: bool,
    /// The classes, in the order of the outputs.
    pub classes: Vec<String>,
}

impl ImageForm {
    /// How files are decoded.
    pub fn decoding(&self) -> DecodeOptions {
        DecodeOptions { channels: Channels::Converted(if self.grey { 1 } else { 3 }), ..DecodeOptions::default() }
    }

    /// A picture in this form: resized, with numbers from 0 to 1.
    pub fn apply(&self, picture: Picture, rng: &mut Rng) -> Result<Picture> {
        let resized = if (picture.height(), picture.width()) == (self.size, self.size) {
            picture
        } else {
            Resize::new(self.size, self.size).apply(picture, rng)?
        };
        ToFloat.apply(resized, rng)
    }
}

/// A dataset of samples, whichever.
pub type Samples = Arc<dyn Dataset<Item = Sample>>;

/// Data that were read, or that are read as they are needed.
#[derive(Clone)]
pub struct Prepared {
    /// What they are, for people.
    pub note: String,
    /// The examples.
    pub samples: Samples,
    /// Where the examples are classes of files in folders, the class of each: parts are then drawn from each class.
    pub labels: Option<Vec<usize>>,
    /// Of one example.
    pub shape: Vec<usize>,
    /// Classes, or 1 for a number.
    pub n_outputs: usize,
    /// Different tokens, where the inputs are tokens.
    pub n_tokens: Option<usize>,
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
            DataSpec::Images(images) => images.read(),
            DataSpec::Digits => {
                let split = unigrad_data::digits()?;
                images(&split.train, "the digits that ship, 8x8 pixels", Path::new("digits"))
            }
            DataSpec::Mnist { folder } => {
                let examples = unigrad_data::mnist_examples(folder)?;
                images(&examples, &format!("mnist: {} images of {}", examples.len(), folder.display()), folder)
            }
            DataSpec::FashionMnist { folder } => sources::fashion_mnist(folder),
            DataSpec::Cifar10 { folder } => sources::cifar10(folder),
            DataSpec::Cifar100 { folder } => sources::cifar100(folder),
            DataSpec::Idx(files) => files.idx(),
            DataSpec::Npy(files) => files.npy(),
            DataSpec::Npz(file) => file.read(),
            DataSpec::Text(text) => text.read(),
            DataSpec::Texts(texts) => texts.read(),
        }
    }
}

impl Prepared {
    /// Indices of what trains, and of what validates: the last part, or a random part of each class where files are sorted by class.
    pub fn split(&self, fraction: f64, seed: u64) -> Result<(Vec<usize>, Vec<usize>)> {
        let n = self.samples.len();
        if fraction == 0.0 {
            return Ok(((0..n).collect(), Vec::new()));
        }
        match &self.labels {
            Some(labels) => stratified_split(labels, fraction, seed),
            None => validation_split(n, fraction).map(|(train, validation)| (train.collect(), validation.collect())),
        }
    }
}

impl ImageData {
    /// Lists the files; they are decoded as they are needed.
    pub fn read(&self) -> Result<Prepared> {
        if !(1..=4096).contains(&self.size) {
            return Err(Error::argument(format!("images of size {}", self.size), "use a size from 1 to 4096"));
        }
        let folder = ImageFolder::open(&self.folder)?;
        let form = ImageForm { size: self.size, grey: self.grey, classes: folder.classes().to_vec() };
        if form.classes.len() < 2 {
            return Err(Error::format(&self.folder, "has one class only: there is nothing to learn", "make a sub-folder for each class"));
        }
        let (labels, n) = (folder.labels(), folder.files().len());
        let text = serde_json::to_string(&form).map_err(|e| Error::Internal(format!("a form of images that is no JSON: {e}")))?;
        let (n_outputs, channels) = (form.classes.len(), if self.grey { 1 } else { 3 });
        let decoding = form.decoding();
        let samples = folder.options(decoding).samples(move |picture: Picture, rng: &mut Rng| form.apply(picture, rng));
        Ok(Prepared {
            note: format!("{}: {n} images of {n_outputs} classes, resized to {size}x{size}", self.folder.display(), size = self.size),
            samples: Arc::new(samples),
            labels: Some(labels),
            shape: vec![channels, self.size, self.size],
            n_outputs,
            n_tokens: None,
            loss: LossSpec::cross_entropy(),
            metadata: vec![(IMAGES.to_owned(), text)],
        })
    }
}

fn images(images: &Images, note: &str, path: &Path) -> Result<Prepared> {
    if images.is_empty() {
        return Err(Error::format(path, "has no images to learn from", "name data with at least one image"));
    }
    let all: Vec<usize> = (0..images.len()).collect();
    let batch = images.batch(&all, None);
    let inputs = unigrad_data::array(&batch.pixels, &[all.len(), 1, images.height, images.width])?;
    Ok(Prepared {
        note: note.to_owned(),
        samples: Arc::new(Arrays::new(inputs, unigrad_data::array(&batch.labels, &[all.len()])?)?),
        labels: None,
        shape: vec![1, images.height, images.width],
        n_outputs: images.n_classes,
        n_tokens: None,
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
        // One number is an output of one unit.
        if schema.task() != Some(TableTask::Classification) {
            targets.shape.push(1);
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
            shape: inputs.shape[1..].to_vec(),
            samples: Arc::new(Arrays::new(inputs, targets)?),
            labels: None,
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
