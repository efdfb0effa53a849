//! Data of a run, in words: which files, and what they are read as.
//!
//! In: a section of a configuration file, or a command's arguments. Out: arrays, the shape of an example, how many outputs are needed, and what a model must
//! keep to understand such data again.

use super::{
    LossSpec,
    arrays::{ArrayFile, ArrayFiles},
    augment::{self, NormalizeSpec},
    sources::{self, TextData, TextsData},
    tables::CsvData,
};
use serde::{Deserialize, Serialize};
use std::{
    path::{Path, PathBuf},
    sync::Arc,
};
use unigrad_data::{
    Arrays, CenterCrop, Channels, Csv, CsvOptions, Dataset, DecodeOptions, ImageFolder, Images, Normalize, Picture, Resize, Sample,
    ToFloat, Transform, stratified_split, validation_split,
};
use unigrad_nn::{Error, Result, random::Rng};

/// The string of a model file that says what images it takes.
pub const IMAGES: &str = "unigrad.images";

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
        /// What pictures are normalized by.
        #[serde(default, deserialize_with = "augment::normalize")]
        normalize: Option<NormalizeSpec>,
    },
    /// Fashion-MNIST as published: its training images.
    FashionMnist {
        /// The folder with the files.
        folder: PathBuf,
        /// What pictures are normalized by.
        #[serde(default, deserialize_with = "augment::normalize")]
        normalize: Option<NormalizeSpec>,
    },
    /// CIFAR-10's binary version: its training pictures.
    Cifar10 {
        /// The folder `cifar-10-batches-bin`.
        folder: PathBuf,
        /// What pictures are normalized by.
        #[serde(default, deserialize_with = "augment::normalize")]
        normalize: Option<NormalizeSpec>,
    },
    /// CIFAR-100's binary version: its training pictures, with the fine labels.
    Cifar100 {
        /// The folder `cifar-100-binary`.
        folder: PathBuf,
        /// What pictures are normalized by.
        #[serde(default, deserialize_with = "augment::normalize")]
        normalize: Option<NormalizeSpec>,
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
    /// Whether the shorter side gets that size, and the middle is kept; otherwise the image's shape becomes a square.
    #[serde(default)]
    pub center_crop: bool,
    /// What images are normalized by.
    #[serde(default, deserialize_with = "augment::normalize")]
    pub normalize: Option<NormalizeSpec>,
    /// A table that says the class of each file; without it files lie in a sub-folder for each class.
    #[serde(default)]
    pub labels: Option<ImageLabels>,
    /// Leaves files out that cannot be decoded; the note of the data says how many. To find them, all are decoded once.
    #[serde(default)]
    pub skip_damaged: bool,
}

/// A table that names image files and their classes.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ImageLabels {
    /// The table.
    pub table: PathBuf,
    /// The column of files, within the folder.
    pub files: String,
    /// The column of classes.
    pub classes: String,
}

impl ImageData {
    /// Images of a folder, resized to squares.
    pub fn new(folder: impl Into<PathBuf>, size: usize, grey: bool) -> ImageData {
        ImageData { folder: folder.into(), size, grey, center_crop: false, normalize: None, labels: None, skip_damaged: false }
    }
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
    /// Whether the shorter side gets the size, and the middle is kept.
    #[serde(default)]
    pub center_crop: bool,
    /// Means that are subtracted, of each channel or of all; none where values stay from 0 to 1.
    #[serde(default)]
    pub mean: Vec<f32>,
    /// What values are divided by then.
    #[serde(default)]
    pub std: Vec<f32>,
}

impl ImageForm {
    /// Squares with numbers from 0 to 1.
    pub fn new(size: usize, grey: bool, classes: Vec<String>) -> ImageForm {
        ImageForm { size, grey, classes, center_crop: false, mean: Vec::new(), std: Vec::new() }
    }

    /// Normalized, if that is asked for; an error if the numbers do not fit the channels.
    pub(super) fn normalized(mut self, normalize: Option<&NormalizeSpec>) -> Result<ImageForm> {
        if let Some(normalize) = normalize {
            (self.mean, self.std) = normalize.numbers();
            Normalize::new(&self.mean, &self.std)?;
            let channels = self.channels();
            if self.mean.len() != 1 && self.mean.len() != channels {
                let cause = format!("`normalize` has {} means, and the pictures have {channels} channels", self.mean.len());
                return Err(Error::argument(cause, "give one for each channel, or one for all"));
            }
        }
        Ok(self)
    }

    /// 1 or 3.
    pub fn channels(&self) -> usize {
        if self.grey { 1 } else { 3 }
    }

    /// The string of a model file.
    pub(super) fn metadata(&self) -> Result<(String, String)> {
        let text = serde_json::to_string(self).map_err(|e| Error::Internal(format!("a form of images that is no JSON: {e}")))?;
        Ok((IMAGES.to_owned(), text))
    }

    /// How files are decoded.
    pub fn decoding(&self) -> DecodeOptions {
        DecodeOptions { channels: Channels::Converted(self.channels()), ..DecodeOptions::default() }
    }

    /// A picture in this form: resized, with numbers from 0 to 1, or normalized.
    pub fn apply(&self, picture: Picture, rng: &mut Rng) -> Result<Picture> {
        let resized = if (picture.height(), picture.width()) == (self.size, self.size) {
            picture
        } else if self.center_crop {
            CenterCrop(self.size, self.size).apply(Resize::shorter(self.size).apply(picture, rng)?, rng)?
        } else {
            Resize::new(self.size, self.size).apply(picture, rng)?
        };
        if self.mean.is_empty() { ToFloat.apply(resized, rng) } else { Normalize::new(&self.mean, &self.std)?.apply(resized, rng) }
    }
}

/// Pictures with a class each.
pub type ClassedPictures = Arc<dyn Dataset<Item = (Picture, i64)>>;

/// Pictures before they are in the form that a model takes, so that training may change them.
#[derive(Clone)]
pub struct Pictured {
    /// As they were read.
    pub pictures: ClassedPictures,
    /// What becomes of them.
    pub form: ImageForm,
}

impl Pictured {
    /// Examples, by what training does to pictures, and the form.
    pub(super) fn samples(&self, transform: Option<impl Transform>) -> Samples {
        let form = self.form.clone();
        let pictures = Arc::clone(&self.pictures);
        Arc::new(pictures.map(move |(picture, class): (Picture, i64), rng: &mut Rng| {
            let picture = match &transform {
                Some(transform) => transform.apply(picture, rng)?,
                None => picture,
            };
            Ok(form.apply(picture, rng)?.to_sample(class))
        }))
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
    /// The pictures that examples are made of, if they are pictures.
    pub pictures: Option<Pictured>,
    /// Where the examples are classes of files in folders, the class of each: parts are then drawn from each class.
    pub labels: Option<Vec<usize>>,
    /// Of one example.
    pub shape: Vec<usize>,
    /// Classes, or how many numbers.
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
                images(split.train, "the digits that ship, 8x8 pixels", Path::new("digits"), None)
            }
            DataSpec::Mnist { folder, normalize } => {
                let examples = unigrad_data::mnist_examples(folder)?;
                let note = format!("mnist: {} images of {}", examples.len(), folder.display());
                images(examples, &note, folder, normalize.as_ref())
            }
            DataSpec::FashionMnist { folder, normalize } => sources::fashion_mnist(folder, normalize.as_ref()),
            DataSpec::Cifar10 { folder, normalize } => sources::cifar10(folder, normalize.as_ref()),
            DataSpec::Cifar100 { folder, normalize } => sources::cifar100(folder, normalize.as_ref()),
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
        let folder = match &self.labels {
            None => ImageFolder::open(&self.folder)?,
            Some(ImageLabels { table, files, classes }) => {
                ImageFolder::with_labels(&self.folder, &Csv::read(table, &CsvOptions::default())?, files, classes)?
            }
        };
        let form = ImageForm { center_crop: self.center_crop, ..ImageForm::new(self.size, self.grey, folder.classes().to_vec()) };
        let form = form.normalized(self.normalize.as_ref())?;
        if form.classes.len() < 2 {
            return Err(Error::format(&self.folder, "has one class only: there is nothing to learn", "make a sub-folder for each class"));
        }
        let folder = folder.options(form.decoding());
        let (folder, n_damaged) = if self.skip_damaged {
            let (kept, damaged) = folder.without_damaged(std::thread::available_parallelism().map_or(1, usize::from).min(8))?;
            (kept, damaged.len())
        } else {
            (folder, 0)
        };
        let (labels, n, n_outputs) = (folder.labels(), folder.files().len(), form.classes.len());
        if n == 0 {
            return Err(Error::format(&self.folder, "has no image that can be decoded", "name a folder with images"));
        }
        let mut note = format!("{}: {n} images of {n_outputs} classes, resized to {size}x{size}", self.folder.display(), size = self.size);
        if n_damaged > 0 {
            note.push_str(&format!(" ({n_damaged} that cannot be decoded are left out)"));
        }
        pictured(note, Pictured { pictures: Arc::new(folder), form }).map(|data| Prepared { labels: Some(labels), ..data })
    }
}

/// Pictures with their form as data.
pub(super) fn pictured(note: String, pictured: Pictured) -> Result<Prepared> {
    let form = &pictured.form;
    Ok(Prepared {
        note,
        samples: pictured.samples(None::<ToFloat>),
        labels: None,
        shape: vec![form.channels(), form.size, form.size],
        n_outputs: form.classes.len(),
        n_tokens: None,
        loss: LossSpec::cross_entropy(),
        metadata: vec![form.metadata()?],
        pictures: Some(pictured),
    })
}

/// Grey images, whose classes are numbers.
fn images(images: Images, note: &str, path: &Path, normalize: Option<&NormalizeSpec>) -> Result<Prepared> {
    if images.is_empty() {
        return Err(Error::format(path, "has no images to learn from", "name data with at least one image"));
    }
    let (height, width, n_outputs) = (images.height, images.width, images.n_classes);
    if height != width {
        return Err(Error::format(
            path,
            format!("holds images of {height}x{width} pixels"),
            "use square images, or read the files as `idx`",
        ));
    }
    let form = ImageForm::new(height, true, (0..n_outputs).map(|class| class.to_string()).collect()).normalized(normalize)?;
    // As they are, they are kept as numbers: a batch is then a copy.
    let samples: Option<Samples> = if normalize.is_none() {
        let all: Vec<usize> = (0..images.len()).collect();
        let batch = images.batch(&all, None);
        let inputs = unigrad_data::array(&batch.pixels, &[all.len(), 1, height, width])?;
        Some(Arc::new(Arrays::new(inputs, unigrad_data::array(&batch.labels, &[all.len()])?)?))
    } else {
        None
    };
    let data = pictured(note.to_owned(), Pictured { pictures: Arc::new(images), form })?;
    Ok(match samples {
        Some(samples) => Prepared { samples, ..data },
        None => data,
    })
}
