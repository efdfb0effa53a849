//! Data in files of arrays, published sets and texts, in words.
//!
//! In: sections of a configuration file. Out: [`Prepared`] data. Always: labels, tokens and numbers are checked before anything is made of them: a number
//! that is not finite, a label below 0 or beyond what a network can have, arrays of different lengths are errors that name the file and the first wrong item.

use super::{
    LossSpec,
    data::{IMAGES, ImageForm, Prepared},
};
use serde::{Deserialize, Serialize};
use std::{
    path::{Path, PathBuf},
    sync::Arc,
};
use unigrad_data::{
    Arrays, CIFAR10, Csv, CsvOptions, Dataset, FASHION_MNIST, Idx, IdxData, Pictures, Text, ToFloat, TokenVocabulary, TokenWindows, Unit,
    texts_of_table,
};
use unigrad_nn::{Archive, Error, HostTensor, Result, files};
use unigrad_tensor::{DType, bf16, f16};

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

/// Classes beyond so many are a mistake in the labels.
const MAX_CLASSES: i64 = 1 << 20;

/// A pair of files of one array each: inputs and targets.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ArrayFiles {
    /// The file of the inputs; the first axis counts the examples.
    pub inputs: PathBuf,
    /// The file of the targets: integers are classes, other numbers are answered as numbers.
    pub targets: PathBuf,
    /// Inputs are tokens, for an embedding.
    #[serde(default)]
    pub tokens: bool,
    /// What inputs are multiplied with; bytes by 1/255 without it.
    #[serde(default)]
    pub scale: Option<f64>,
}

/// A file of several arrays.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ArrayFile {
    /// The file: NPZ, safetensors, or any other that `unigrad inspect` lists.
    pub file: PathBuf,
    /// The name of the inputs.
    #[serde(default = "inputs")]
    pub inputs: String,
    /// The name of the targets.
    #[serde(default = "targets")]
    pub targets: String,
    /// Inputs are tokens, for an embedding.
    #[serde(default)]
    pub tokens: bool,
    /// What inputs are multiplied with; bytes by 1/255 without it.
    #[serde(default)]
    pub scale: Option<f64>,
}

fn inputs() -> String {
    "inputs".to_owned()
}

fn targets() -> String {
    "targets".to_owned()
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

/// Elements as numbers of one kind, and how bytes become one.
macro_rules! elements {
    ($array:ident, $to:ty, $($dtype:ident => $ty:ty, |$x:ident| $value:expr;)*) => {
        match $array.dtype {
            $(DType::$dtype => $array.bytes.as_chunks::<{ size_of::<$ty>() }>().0.iter().map(|bytes| {
                let $x = <$ty>::from_ne_bytes(*bytes);
                $value
            }).collect::<Vec<$to>>(),)*
            _ => return None,
        }
    };
}

/// An array's elements, if they are integers that fit.
fn integers(array: &HostTensor) -> Option<Vec<i64>> {
    Some(elements! { array, i64,
        Bool => u8, |x| i64::from(x); U8 => u8, |x| i64::from(x); I8 => i8, |x| i64::from(x); U16 => u16, |x| i64::from(x);
        I16 => i16, |x| i64::from(x); U32 => u32, |x| i64::from(x); I32 => i32, |x| i64::from(x); I64 => i64, |x| x;
        U64 => u64, |x| i64::try_from(x).unwrap_or(i64::MAX);
    })
}

/// An array's elements as floats.
fn floats(array: &HostTensor) -> Option<Vec<f32>> {
    Some(elements! { array, f32,
        Bool => u8, |x| f32::from(x); U8 => u8, |x| f32::from(x); I8 => i8, |x| f32::from(x); U16 => u16, |x| f32::from(x);
        I16 => i16, |x| f32::from(x); U32 => u32, |x| x as f32; I32 => i32, |x| x as f32; U64 => u64, |x| x as f32; I64 => i64, |x| x as f32;
        F16 => f16, |x| x.to_f32(); BF16 => bf16, |x| x.to_f32(); F32 => f32, |x| x; F64 => f64, |x| x as f32;
    })
}

fn unknown(array: &HostTensor, path: &Path) -> Error {
    Error::format(path, format!("has elements of {}", array.dtype), "save numbers that compute: integers, f16, bf16, f32 or f64")
}

/// Numbers that are all finite.
fn finite(array: &HostTensor, path: &Path) -> Result<Vec<f32>> {
    let values = floats(array).ok_or_else(|| unknown(array, path))?;
    let item = array.shape.iter().skip(1).product::<usize>().max(1);
    match values.iter().position(|x| !x.is_finite()) {
        Some(at) => {
            let cause = format!("item {} has a number that is not finite (element {})", at / item, at % item);
            Err(Error::format(path, cause, "leave such items out, or replace what is missing"))
        }
        None => Ok(values),
    }
}

/// What is answered, how many outputs that takes, and by what it is trained.
fn answers(array: &HostTensor, path: &Path) -> Result<(HostTensor, usize, LossSpec)> {
    let n = array.shape[0];
    let column = array.shape.len() == 1 || array.shape[1..].iter().all(|size| *size == 1);
    let whole = if array.dtype.is_float() { None } else { integers(array) };
    if let Some(labels) = whole.as_ref().filter(|_| column) {
        if let Some((at, label)) = labels.iter().enumerate().find(|(_, label)| !(0..MAX_CLASSES).contains(*label)) {
            let cause = format!("the label of item {at} is {label}");
            return Err(Error::format(
                path,
                cause,
                format!("number classes from 0 on, below {MAX_CLASSES}; numbers to be answered are floats"),
            ));
        }
        let classes = labels.iter().max().map_or(0, |label| *label as usize + 1);
        if classes < 2 {
            return Err(Error::format(path, "has one class only: there is nothing to learn", "give labels that differ"));
        }
        return Ok((unigrad_data::array(labels, &[n])?, classes, LossSpec::cross_entropy()));
    }
    let values = finite(array, path)?;
    // Several yes-or-no questions for each item.
    let bits = whole.is_some_and(|all| all.iter().all(|x| matches!(x, 0 | 1)));
    let shape = if array.shape.len() == 1 { vec![n, 1] } else { array.shape.clone() };
    let outputs = shape[1..].iter().product();
    let loss = if bits { LossSpec::bce_with_logits() } else { LossSpec::Mse };
    Ok((unigrad_data::array(&values, &shape)?, outputs, loss))
}

/// Two arrays as data.
fn pair(
    inputs: &HostTensor,
    targets: &HostTensor,
    [of_inputs, of_targets]: [&Path; 2],
    tokens: bool,
    scale: Option<f64>,
) -> Result<Prepared> {
    for (array, path) in [(inputs, of_inputs), (targets, of_targets)] {
        if array.shape.is_empty() || array.shape.contains(&0) {
            let cause = format!("holds an array {:?}: there is nothing to learn from", array.shape);
            return Err(Error::format(path, cause, "save an array whose first axis counts the examples, at least one"));
        }
    }
    let n = inputs.shape[0];
    if targets.shape[0] != n {
        let cause = format!("holds {} targets, and {} holds {n} inputs", targets.shape[0], of_inputs.display());
        return Err(Error::format(of_targets, cause, "use two arrays that belong together"));
    }
    let mut shape = inputs.shape.clone();
    let (array, n_tokens) = if tokens {
        let values = integers(inputs).filter(|_| !inputs.dtype.is_float());
        let values = values.ok_or_else(|| {
            Error::format(of_inputs, format!("holds {}, and tokens are integers", inputs.dtype), "leave `tokens` out, or save integers")
        })?;
        if let Some((at, token)) = values.iter().enumerate().find(|(_, token)| !(0..MAX_CLASSES).contains(*token)) {
            let cause = format!("token {at} is {token}");
            return Err(Error::format(of_inputs, cause, format!("number tokens from 0 on, below {MAX_CLASSES}")));
        }
        let n_tokens = values.iter().max().map_or(0, |token| *token as usize + 1);
        (unigrad_data::array(&values, &shape)?, Some(n_tokens))
    } else {
        let mut values = finite(inputs, of_inputs)?;
        let scale = scale.unwrap_or(if inputs.dtype == DType::U8 { 1.0 / 255.0 } else { 1.0 });
        if !scale.is_finite() || scale == 0.0 {
            return Err(Error::argument(format!("inputs are multiplied by a `scale` of {scale}"), "use a finite number other than 0"));
        }
        if scale != 1.0 {
            values.iter_mut().for_each(|x| *x *= scale as f32);
        }
        // A list of numbers is a column, and images without channels are grey.
        match shape.len() {
            1 => shape.push(1),
            3 if inputs.dtype == DType::U8 => shape.insert(1, 1),
            _ => {}
        }
        (unigrad_data::array(&values, &shape)?, None)
    };
    let (targets, n_outputs, loss) = answers(targets, of_targets)?;
    Ok(Prepared {
        note: format!("{}: {n} examples {:?}", of_inputs.display(), &shape[1..]),
        samples: Arc::new(Arrays::new(array, targets)?),
        labels: None,
        shape: shape[1..].to_vec(),
        n_outputs,
        n_tokens,
        loss,
        metadata: Vec::new(),
    })
}

fn of_idx(path: &Path) -> Result<HostTensor> {
    let Idx { shape, data } = Idx::read(path)?;
    match &data {
        IdxData::U8(x) => unigrad_data::array(x, &shape),
        IdxData::I8(x) => unigrad_data::array(x, &shape),
        IdxData::I16(x) => unigrad_data::array(x, &shape),
        IdxData::I32(x) => unigrad_data::array(x, &shape),
        IdxData::F32(x) => unigrad_data::array(x, &shape),
        IdxData::F64(x) => unigrad_data::array(x, &shape),
    }
}

/// The only array of a file.
fn only(path: &Path) -> Result<HostTensor> {
    let mut arrays = Archive::open(path)?.tensors;
    match (arrays.len(), arrays.pop_first()) {
        (1, Some((_, array))) => Ok(array),
        (n, _) => Err(Error::format(path, format!("holds {n} arrays"), "save one array (NPY), or name two of an NPZ file in `[data.npz]`")),
    }
}

impl ArrayFiles {
    /// IDX files, as MNIST's.
    pub(super) fn idx(&self) -> Result<Prepared> {
        pair(&of_idx(&self.inputs)?, &of_idx(&self.targets)?, [&self.inputs, &self.targets], self.tokens, self.scale)
    }

    /// NPY files.
    pub(super) fn npy(&self) -> Result<Prepared> {
        pair(&only(&self.inputs)?, &only(&self.targets)?, [&self.inputs, &self.targets], self.tokens, self.scale)
    }
}

impl ArrayFile {
    pub(super) fn read(&self) -> Result<Prepared> {
        let mut arrays = Archive::open(&self.file)?.tensors;
        let known: Vec<String> = arrays.keys().map(|name| unigrad_device::printable(name).to_string()).collect();
        let mut take = |name: &str| {
            arrays.remove(name).ok_or_else(|| {
                let cause = format!("has no array `{}`", unigrad_device::printable(name));
                Error::format(&self.file, cause, format!("name one of {}", known.join(", ")))
            })
        };
        let (inputs, targets) = (take(&self.inputs)?, take(&self.targets)?);
        pair(&inputs, &targets, [&self.file, &self.file], self.tokens, self.scale)
    }
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
            shape: vec![self.length],
            n_outputs: table.classes.len(),
            n_tokens: Some(known.len()),
            loss: LossSpec::cross_entropy(),
            metadata: vocabulary(&known)?.into_iter().chain([(TEXTS.to_owned(), TextForm { classes: table.classes }.to_json()?)]).collect(),
        })
    }
}

/// Pictures in memory, with what a model file says of them.
fn pictures<D: Dataset<Item = unigrad_data::Sample> + 'static>(note: String, samples: D, form: &ImageForm) -> Result<Prepared> {
    let text = serde_json::to_string(form).map_err(|e| Error::Internal(format!("a form of images that is no JSON: {e}")))?;
    Ok(Prepared {
        note,
        samples: Arc::new(samples),
        labels: None,
        shape: vec![if form.grey { 1 } else { 3 }, form.size, form.size],
        n_outputs: form.classes.len(),
        n_tokens: None,
        loss: LossSpec::cross_entropy(),
        metadata: vec![(IMAGES.to_owned(), text)],
    })
}

/// CIFAR-10's or CIFAR-100's training pictures.
pub(super) fn cifar(folder: &Path, read: fn(&Path) -> Result<(Pictures, Pictures)>, classes: Vec<String>) -> Result<Prepared> {
    let (train, _) = read(folder)?;
    let note = format!("{}: {} pictures of 32x32 pixels, {} classes", folder.display(), Dataset::len(&train), classes.len());
    pictures(note, train.samples(ToFloat), &ImageForm { size: 32, grey: false, classes })
}

/// CIFAR-10's training pictures.
pub(super) fn cifar10(folder: &Path) -> Result<Prepared> {
    cifar(folder, |folder| unigrad_data::cifar10(folder), CIFAR10.map(str::to_owned).to_vec())
}

/// CIFAR-100's training pictures; classes go by their numbers.
pub(super) fn cifar100(folder: &Path) -> Result<Prepared> {
    cifar(folder, |folder| unigrad_data::cifar100(folder), (0..100).map(|class| class.to_string()).collect())
}

/// Fashion-MNIST's training images.
pub(super) fn fashion_mnist(folder: &Path) -> Result<Prepared> {
    let split = unigrad_data::fashion_mnist(folder)?;
    let (height, width) = (split.train.height, split.train.width);
    if height != width {
        return Err(Error::format(folder, format!("holds images of {height}x{width} pixels"), "use the files as published: 28x28"));
    }
    let form = ImageForm { size: height, grey: true, classes: FASHION_MNIST.map(str::to_owned).to_vec() };
    let samples = split.train.map(|(picture, class), rng| Ok(unigrad_data::Transform::apply(&ToFloat, picture, rng)?.to_sample(class)));
    pictures(split.note, samples, &form)
}
