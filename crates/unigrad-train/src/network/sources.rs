//! Published sets of pictures, and texts, in words.
//!
//! In: sections of a configuration file. Out: [`Prepared`] data.

use super::{
    LossSpec,
    augment::NormalizeSpec,
    data::{ImageForm, Pictured, Prepared, pictured},
};
use serde::{Deserialize, Serialize};
use std::{
    path::{Path, PathBuf},
    sync::Arc,
};
use unigrad_data::{
    Arrays, CIFAR10, Csv, CsvOptions, Dataset, FASHION_MNIST, Pictures, Text, TokenVocabulary, TokenWindows, Unit, texts_of_table,
};
use unigrad_nn::{Error, Result, files};

/// The string of a model file that says which tokens it takes.
pub const VOCABULARY: &str = "unigrad.vocabulary";
/// The string of a model file that says which classes its texts have.
pub const TEXTS: &str = "unigrad.texts";

/// What a model of texts answers, as its file keeps it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TextForm {
    /// The classes, in the order of the outputs.
    pub classes: Vec<String>,
}

impl TextForm {
    fn to_json(&self) -> Result<String> {
        serde_json::to_string(self).map_err(|error| Error::Internal(format!("classes as JSON: {error}")))
    }
}

fn character() -> Unit {
    Unit::Character
}

fn many() -> usize {
    50_000
}

fn once() -> usize {
    1
}

/// A text whose tokens are learned to follow each other: a language model.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TextData {
    /// The file, in UTF-8.
    pub file: PathBuf,
    /// Tokens that the model sees at once.
    pub context: usize,
    /// Tokens between the beginnings of two windows; the context without it.
    #[serde(default)]
    pub stride: Option<usize>,
    /// What a token is: `character` or `word`.
    #[serde(default = "character")]
    pub unit: Unit,
    /// The most frequent so many are told apart.
    #[serde(default = "many")]
    pub vocabulary: usize,
}

/// Texts of a table with a class each.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TextsData {
    /// The table.
    pub file: PathBuf,
    /// The column of texts.
    pub text: String,
    /// The column of classes.
    pub label: String,
    /// Tokens of a text: longer ones are cut, shorter ones filled with token 0.
    pub length: usize,
    /// What a token is: `word` or `character`.
    #[serde(default = "word")]
    pub unit: Unit,
    /// The most frequent so many are told apart.
    #[serde(default = "many")]
    pub vocabulary: usize,
    /// What comes up less often is unknown.
    #[serde(default = "once")]
    pub at_least: usize,
}

fn word() -> Unit {
    Unit::Word
}

fn vocabulary(vocabulary: &TokenVocabulary) -> Result<Vec<(String, String)>> {
    Ok(vec![(VOCABULARY.to_owned(), vocabulary.to_json()?)])
}

impl TextData {
    pub(super) fn read(&self) -> Result<Prepared> {
        let bytes = files::read_at_most(&self.file, Text::MAX_BYTES)?;
        let text = String::from_utf8(bytes).map_err(|_| Error::format(&self.file, "is no text in UTF-8", "save it as UTF-8"))?;
        let known = TokenVocabulary::fit([text.as_str()], self.unit, 1, self.vocabulary);
        let tokens = known.encode(&text);
        let n = tokens.len();
        let windows = TokenWindows::new(tokens, self.context, self.stride.unwrap_or(self.context))?;
        Ok(Prepared {
            note: format!("{}: {n} tokens, {} of them different, windows of {}", self.file.display(), known.len(), self.context),
            samples: Arc::new(windows),
            labels: None,
            pictures: None,
            shape: vec![self.context],
            n_outputs: known.len(),
            n_tokens: Some(known.len()),
            loss: LossSpec::token_cross_entropy(),
            metadata: vocabulary(&known)?,
        })
    }
}

impl TextsData {
    pub(super) fn read(&self) -> Result<Prepared> {
        if self.length == 0 || self.length > 1 << 20 {
            return Err(Error::argument(format!("texts of {} tokens", self.length), format!("use a `length` from 1 to {}", 1 << 20)));
        }
        let table = texts_of_table(&Csv::read(&self.file, &CsvOptions::default())?, &self.text, &self.label)?;
        if table.classes.len() < 2 {
            return Err(Error::format(&self.file, "has one class only: there is nothing to learn", "name a column whose values differ"));
        }
        let known = TokenVocabulary::fit(table.texts.iter().map(|(text, _)| text.as_str()), self.unit, self.at_least, self.vocabulary);
        let (mut tokens, mut labels) = (Vec::new(), Vec::with_capacity(table.texts.len()));
        for (text, label) in &table.texts {
            let mut own = known.encode(text);
            own.resize(self.length, TokenVocabulary::PADDING);
            tokens.extend(own);
            labels.push(*label);
        }
        let n = labels.len();
        Ok(Prepared {
            note: format!("{}: {n} texts of {} classes, {} tokens", self.file.display(), table.classes.len(), known.len()),
            samples: Arc::new(Arrays::new(unigrad_data::array(&tokens, &[n, self.length])?, unigrad_data::array(&labels, &[n])?)?),
            labels: Some(labels.iter().map(|label| *label as usize).collect()),
            pictures: None,
            shape: vec![self.length],
            n_outputs: table.classes.len(),
            n_tokens: Some(known.len()),
            loss: LossSpec::cross_entropy(),
            metadata: vocabulary(&known)?.into_iter().chain([(TEXTS.to_owned(), TextForm { classes: table.classes }.to_json()?)]).collect(),
        })
    }
}

/// CIFAR-10's or CIFAR-100's training pictures.
fn cifar(
    folder: &Path,
    read: fn(&Path) -> Result<(Pictures, Pictures)>,
    classes: Vec<String>,
    normalize: Option<&NormalizeSpec>,
) -> Result<Prepared> {
    let (train, _) = read(folder)?;
    let note = format!("{}: {} pictures of 32x32 pixels, {} classes", folder.display(), Dataset::len(&train), classes.len());
    let form = ImageForm::new(32, false, classes).normalized(normalize)?;
    pictured(note, Pictured { pictures: Arc::new(train), form })
}

/// CIFAR-10's training pictures.
pub(super) fn cifar10(folder: &Path, normalize: Option<&NormalizeSpec>) -> Result<Prepared> {
    cifar(folder, |folder| unigrad_data::cifar10(folder), CIFAR10.map(str::to_owned).to_vec(), normalize)
}

/// CIFAR-100's training pictures; classes go by their numbers.
pub(super) fn cifar100(folder: &Path, normalize: Option<&NormalizeSpec>) -> Result<Prepared> {
    cifar(folder, |folder| unigrad_data::cifar100(folder), (0..100).map(|class| class.to_string()).collect(), normalize)
}

/// Fashion-MNIST's training images.
pub(super) fn fashion_mnist(folder: &Path, normalize: Option<&NormalizeSpec>) -> Result<Prepared> {
    let split = unigrad_data::fashion_mnist(folder)?;
    let (height, width) = (split.train.height, split.train.width);
    if height != width {
        return Err(Error::format(folder, format!("holds images of {height}x{width} pixels"), "use the files as published: 28x28"));
    }
    let form = ImageForm::new(height, true, FASHION_MNIST.map(str::to_owned).to_vec()).normalized(normalize)?;
    pictured(split.note, Pictured { pictures: Arc::new(split.train), form })
}
