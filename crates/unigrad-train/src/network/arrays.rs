//! Data in files of arrays, in words, and what a model keeps of them.
//!
//! In: sections of a configuration file. Out: [`Prepared`] data. Always: labels, tokens and numbers are checked before anything is made of them: a number
//! that is not finite, a label below 0 or beyond what a network can have, arrays of different lengths are errors that name the file and the first wrong item.

use super::{LossSpec, data::Prepared};
use serde::{Deserialize, Serialize};
use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::Arc,
};
use unigrad_data::{Arrays, Idx, IdxData};
use unigrad_nn::{Archive, Error, HostTensor, Result};
use unigrad_tensor::{DType, bf16, f16};

/// The string of a model file that says what arrays it takes.
pub const ARRAYS: &str = "unigrad.arrays";

/// Classes beyond so many are a mistake in the labels.
const MAX_CLASSES: i64 = 1 << 20;

/// What files of arrays are.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum ArrayKind {
    /// IDX, MNIST's format.
    Idx,
    /// A file of one array.
    Npy,
    /// A file of several: the name of the inputs.
    Named(String),
}

/// What arrays a model takes, as its file keeps it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ArrayForm {
    kind: ArrayKind,
    /// Of an example.
    pub(super) shape: Vec<usize>,
    /// What inputs are multiplied with.
    scale: f64,
    /// How many tokens it knows, if they are tokens.
    n_tokens: Option<usize>,
    /// Classes, numbered; 0 where numbers are answered.
    pub(super) n_classes: usize,
    /// How many numbers, if they are numbers.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    n_numbers: usize,
}

fn one() -> usize {
    1
}

fn is_one(n: &usize) -> bool {
    *n == 1
}

impl ArrayForm {
    /// Outputs that a network has for it.
    pub(super) fn n_outputs(&self) -> usize {
        if self.n_classes == 0 { self.n_numbers } else { self.n_classes }
    }

    /// The string of a model file.
    fn metadata(&self) -> Result<Vec<(String, String)>> {
        let text = serde_json::to_string(self).map_err(|error| Error::Internal(format!("a form of arrays as JSON: {error}")))?;
        Ok(vec![(ARRAYS.to_owned(), text)])
    }

    /// The inputs of a file, encoded as those that were learned from.
    pub(super) fn read(&self, path: &Path) -> Result<HostTensor> {
        let inputs = match &self.kind {
            ArrayKind::Idx => of_idx(path)?,
            ArrayKind::Npy => only(path)?,
            ArrayKind::Named(name) => taken(&mut Archive::open(path)?.tensors, name, path)?,
        };
        if inputs.shape.is_empty() || inputs.shape.contains(&0) {
            let cause = format!("holds an array {:?}: there is nothing to answer", inputs.shape);
            return Err(Error::format(path, cause, "give an array whose first axis counts the examples, at least one"));
        }
        let (array, n_tokens) = encoded(&inputs, path, self.n_tokens.is_some(), self.scale)?;
        if array.shape[1..] != self.shape {
            let cause = format!("holds examples {:?}, and the model takes {:?}", &array.shape[1..], self.shape);
            return Err(Error::format(path, cause, "give arrays of the kind that it was trained on"));
        }
        if n_tokens > self.n_tokens {
            let cause = format!("has token {}, and the model knows {}", n_tokens.unwrap_or(1) - 1, self.n_tokens.unwrap_or(0));
            return Err(Error::format(path, cause, "give tokens of the kind that it was trained on"));
        }
        Ok(array)
    }
}

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

/// Inputs as a network takes them, and how many tokens there are if they are tokens.
fn encoded(inputs: &HostTensor, of_inputs: &Path, tokens: bool, scale: f64) -> Result<(HostTensor, Option<usize>)> {
    let mut shape = inputs.shape.clone();
    if tokens {
        let values = integers(inputs).filter(|_| !inputs.dtype.is_float());
        let values = values.ok_or_else(|| {
            Error::format(of_inputs, format!("holds {}, and tokens are integers", inputs.dtype), "leave `tokens` out, or save integers")
        })?;
        if let Some((at, token)) = values.iter().enumerate().find(|(_, token)| !(0..MAX_CLASSES).contains(*token)) {
            let cause = format!("token {at} is {token}");
            return Err(Error::format(of_inputs, cause, format!("number tokens from 0 on, below {MAX_CLASSES}")));
        }
        let n_tokens = values.iter().max().map_or(0, |token| *token as usize + 1);
        Ok((unigrad_data::array(&values, &shape)?, Some(n_tokens)))
    } else {
        let mut values = finite(inputs, of_inputs)?;
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
        Ok((unigrad_data::array(&values, &shape)?, None))
    }
}

/// Two arrays as data; `kind` is what their files are.
fn pair(
    inputs: &HostTensor,
    targets: &HostTensor,
    [of_inputs, of_targets]: [&Path; 2],
    tokens: bool,
    scale: Option<f64>,
    kind: ArrayKind,
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
    let scale = scale.unwrap_or(if inputs.dtype == DType::U8 { 1.0 / 255.0 } else { 1.0 });
    let (array, n_tokens) = encoded(inputs, of_inputs, tokens, scale)?;
    let (targets, n_outputs, loss) = answers(targets, of_targets)?;
    let shape = array.shape[1..].to_vec();
    let n_classes = if targets.dtype == DType::I64 { n_outputs } else { 0 };
    let n_numbers = if n_classes == 0 { n_outputs } else { 1 };
    let form = ArrayForm { kind, shape: shape.clone(), scale, n_tokens, n_classes, n_numbers };
    Ok(Prepared {
        note: format!("{}: {n} examples {shape:?}", of_inputs.display()),
        samples: Arc::new(Arrays::new(array, targets)?),
        labels: None,
        pictures: None,
        shape,
        n_outputs,
        n_tokens,
        loss,
        metadata: form.metadata()?,
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

/// One of a file's arrays, by name.
fn taken(arrays: &mut BTreeMap<String, HostTensor>, name: &str, path: &Path) -> Result<HostTensor> {
    arrays.remove(name).ok_or_else(|| {
        let known: Vec<String> = arrays.keys().map(|name| unigrad_device::printable(name).to_string()).collect();
        Error::format(path, format!("has no array `{}`", unigrad_device::printable(name)), format!("name one of {}", known.join(", ")))
    })
}

impl ArrayFiles {
    /// IDX files, as MNIST's.
    pub(super) fn idx(&self) -> Result<Prepared> {
        pair(&of_idx(&self.inputs)?, &of_idx(&self.targets)?, [&self.inputs, &self.targets], self.tokens, self.scale, ArrayKind::Idx)
    }

    /// NPY files.
    pub(super) fn npy(&self) -> Result<Prepared> {
        pair(&only(&self.inputs)?, &only(&self.targets)?, [&self.inputs, &self.targets], self.tokens, self.scale, ArrayKind::Npy)
    }
}

impl ArrayFile {
    pub(super) fn read(&self) -> Result<Prepared> {
        let mut arrays = Archive::open(&self.file)?.tensors;
        let (inputs, targets) = (taken(&mut arrays, &self.inputs, &self.file)?, taken(&mut arrays, &self.targets, &self.file)?);
        pair(&inputs, &targets, [&self.file, &self.file], self.tokens, self.scale, ArrayKind::Named(self.inputs.clone()))
    }
}
