//! Predictions of a model file for the kind of data that it learned from: tables, image files, arrays, texts of classes. What continues texts is `writer.rs`.
//!
//! In: a network whose file says how its data were encoded. Out: answers in the data's own words: classes by name, numbers in their own units, one or several.
//! Always: data pass the encoding that was learned; what it does not know is an error with file and line.

use super::{ARRAYS, IMAGES, ImageForm, Network, TABLE, TEXTS, Task, TextForm, VOCABULARY, arrays::ArrayForm};
use std::path::Path;
use unigrad_data::{Csv, CsvOptions, Picture, TableSchema, TokenVocabulary};
use unigrad_nn::{Archive, Error, HostTensor, Result, random::Rng};
use unigrad_tensor::{DType, Device};

/// Image files that are decoded at once.
const AT_ONCE: usize = 64;

/// What a model answers to one row or image.
#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    /// The likeliest class, and its probability.
    Class {
        /// Its name.
        name: String,
        /// From 0 to 1.
        probability: f64,
    },
    /// A number, in the unit of the data.
    Number(f64),
    /// Several, in the order of [`Predictor::columns`], each in its own unit.
    Numbers(Vec<f64>),
}

enum Form {
    Table(TableSchema),
    Images(ImageForm),
    Texts(TokenVocabulary, TextForm),
    Arrays(ArrayForm),
}

/// What a model file takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Takes {
    /// Rows of tables: [`Predictor::table`].
    Tables,
    /// Image files: [`Predictor::images`].
    Images,
    /// Texts, each of which has a class: [`Predictor::texts`].
    Texts,
    /// Files of arrays, as IDX, NPY and NPZ: [`Predictor::arrays`].
    Arrays,
}

/// A network with what its file says of its data.
pub struct Predictor {
    network: Network,
    form: Form,
}

impl Predictor {
    /// Reads a model file that `unigrad train csv`, `images` or `config` wrote.
    pub fn load(path: impl AsRef<Path>, device: &Device) -> Result<Predictor> {
        let path = path.as_ref();
        Predictor::from_archive(Archive::load(path)?, path, device)
    }

    /// The network of a file's content; `path` is what errors name.
    pub fn from_archive(archive: Archive, path: &Path, device: &Device) -> Result<Predictor> {
        let network = Network::from_archive(archive, path, device)?;
        let wrong = |cause: String| Error::format(path, cause, "use a model file as the training wrote it");
        let of_texts = network.metadata(VOCABULARY).zip(network.metadata(TEXTS));
        let (form, outputs) = match (network.metadata(TABLE), network.metadata(IMAGES), of_texts) {
            (Some(table), ..) => {
                let schema = TableSchema::from_json(table, path)?;
                let outputs = schema.n_outputs().max(1);
                if network.input_shape() != [schema.n_features()] {
                    return Err(wrong(format!(
                        "takes inputs {:?}, and its table has {} features",
                        network.input_shape(),
                        schema.n_features()
                    )));
                }
                (Form::Table(schema), outputs)
            }
            (None, Some(images), _) => {
                let form: ImageForm = serde_json::from_str(images)
                    .map_err(|e| wrong(format!("its form of images is damaged: {}", unigrad_device::printable(&e.to_string()))))?;
                let (channels, outputs) = (if form.grey { 1 } else { 3 }, form.classes.len());
                if network.input_shape() != [channels, form.size, form.size] {
                    return Err(wrong(format!("takes inputs {:?}, and images of {1}x{1}", network.input_shape(), form.size)));
                }
                (Form::Images(form), outputs)
            }
            (None, None, Some((vocabulary, texts))) => {
                let vocabulary = TokenVocabulary::from_json(vocabulary, path)?;
                let form: TextForm = serde_json::from_str(texts)
                    .map_err(|e| wrong(format!("its classes of texts are damaged: {}", unigrad_device::printable(&e.to_string()))))?;
                if !matches!(network.input_shape(), [_]) {
                    return Err(wrong(format!("takes inputs {:?}, and texts are lists of tokens", network.input_shape())));
                }
                let outputs = form.classes.len();
                (Form::Texts(vocabulary, form), outputs)
            }
            (None, None, None) => {
                let Some(arrays) = network.metadata(ARRAYS) else {
                    let cause = "does not say how its data were encoded";
                    let help = "use a model of `unigrad train csv`, `images` or `config`, or call `Network::predict` from a program";
                    return Err(Error::format(path, cause, help));
                };
                let form: ArrayForm = serde_json::from_str(arrays)
                    .map_err(|e| wrong(format!("its form of arrays is damaged: {}", unigrad_device::printable(&e.to_string()))))?;
                if network.input_shape() != form.shape {
                    return Err(wrong(format!("takes inputs {:?}, and arrays {:?}", network.input_shape(), form.shape)));
                }
                let outputs = form.n_outputs();
                (Form::Arrays(form), outputs)
            }
        };
        // Numbers may lie on several axes; a line of answers has them one after the other.
        let numbers = matches!(&form, Form::Arrays(form) if form.n_classes == 0);
        let found = network.output_shape();
        if found != [outputs] && !(numbers && found.iter().product::<usize>() == outputs) {
            return Err(wrong(format!("has {found:?} outputs, and its data have {outputs}")));
        }
        Ok(Predictor { network, form })
    }

    /// What it takes.
    pub fn takes(&self) -> Takes {
        match self.form {
            Form::Table(_) => Takes::Tables,
            Form::Images(_) => Takes::Images,
            Form::Texts(..) => Takes::Texts,
            Form::Arrays(_) => Takes::Arrays,
        }
    }

    /// The names of the numbers of an answer, in its order: a table's columns, and `number 1` and so on for arrays. Empty where answers are classes.
    pub fn columns(&self) -> Vec<String> {
        match &self.form {
            Form::Table(schema) if schema.classes().is_empty() => schema.target_names().into_iter().map(str::to_owned).collect(),
            Form::Arrays(form) if form.n_classes == 0 => (1..=form.n_outputs()).map(|at| format!("number {at}")).collect(),
            _ => Vec::new(),
        }
    }

    /// The answers to a table's rows. The column of the target may be there or not.
    pub fn table(&mut self, path: impl AsRef<Path>, options: &CsvOptions) -> Result<Vec<Answer>> {
        let path = path.as_ref();
        let Form::Table(schema) = &self.form else {
            return Err(Error::format(path, "is a table, and the model takes none", "name files of the kind that it was trained on"));
        };
        let csv = Csv::read(path, options)?;
        if csv.n_rows() == 0 {
            return Ok(Vec::new());
        }
        let (features, classes, schema) = (schema.features(&csv)?, schema.classes().to_vec(), schema.clone());
        self.answers(&features, &classes, |row| schema.unscale_all(row))
    }

    /// The answers to image files.
    pub fn images(&mut self, paths: &[impl AsRef<Path>]) -> Result<Vec<Answer>> {
        let Form::Images(form) = &self.form else {
            let cause = "the model takes no images";
            return Err(Error::argument(cause, "name files of the kind that it was trained on"));
        };
        let form = form.clone();
        let mut answers = Vec::with_capacity(paths.len());
        for part in paths.chunks(AT_ONCE) {
            let mut all = HostTensor {
                dtype: DType::F32,
                shape: vec![part.len(), if form.grey { 1 } else { 3 }, form.size, form.size],
                bytes: Vec::new(),
            };
            for path in part {
                let picture = form.apply(Picture::read(path, &form.decoding())?, &mut Rng::new(0, 0))?;
                all.bytes.extend(picture.to_tensor().bytes);
            }
            answers.extend(self.answers(&all, &form.classes, |_| ())?);
        }
        Ok(answers)
    }

    /// The answers to the examples of a file, which is of the kind that the inputs were learned from.
    pub fn arrays(&mut self, path: impl AsRef<Path>) -> Result<Vec<Answer>> {
        let path = path.as_ref();
        let Form::Arrays(form) = &self.form else {
            return Err(Error::format(
                path,
                "is read as arrays, and the model takes none",
                "name files of the kind that it was trained on",
            ));
        };
        let (inputs, classes) = (form.read(path)?, (0..form.n_classes).map(|class| class.to_string()).collect::<Vec<_>>());
        self.answers(&inputs, &classes, |_| ())
    }

    /// The answers to texts. Tokens that the model does not know count as unknown ones; a text of nothing else is an error.
    pub fn texts(&mut self, texts: &[impl AsRef<str>]) -> Result<Vec<Answer>> {
        let Form::Texts(vocabulary, form) = &self.form else {
            return Err(Error::argument("the model takes no texts", "name files of the kind that it was trained on"));
        };
        let length = self.network.input_shape().first().copied().unwrap_or(0);
        let mut tokens = Vec::with_capacity(texts.len() * length);
        for (at, text) in texts.iter().enumerate() {
            let mut own = vocabulary.encode(text.as_ref());
            if own.iter().all(|token| *token == TokenVocabulary::UNKNOWN) {
                let cause = format!("text {} has nothing that the model knows", at + 1);
                return Err(Error::argument(cause, "give a text of the kind that it was trained on"));
            }
            own.resize(length, TokenVocabulary::PADDING);
            tokens.extend(own);
        }
        let classes = form.classes.clone();
        if texts.is_empty() {
            return Ok(Vec::new());
        }
        self.answers(&unigrad_data::array(&tokens, &[texts.len(), length])?, &classes, |_| ())
    }

    fn answers(&mut self, inputs: &HostTensor, classes: &[String], unscale: impl Fn(&mut [f64])) -> Result<Vec<Answer>> {
        let values = self.network.predict_probabilities(inputs)?.to_vec::<f32>()?;
        if classes.is_empty() || self.network.architecture().loss.task() == Task::Numbers {
            let numbers = |row: &[f32]| {
                let mut row: Vec<f64> = row.iter().map(|x| f64::from(*x)).collect();
                unscale(&mut row);
                match row[..] {
                    [number] => Answer::Number(number),
                    _ => Answer::Numbers(row),
                }
            };
            let n_outputs = self.network.output_shape().iter().product::<usize>().max(1);
            return Ok(values.chunks(n_outputs).map(numbers).collect());
        }
        let best = |row: &[f32]| {
            let first = (0, f32::NEG_INFINITY);
            let (at, probability) = row.iter().enumerate().fold(first, |best, (at, &p)| if p > best.1 { (at, p) } else { best });
            Answer::Class { name: classes.get(at).cloned().unwrap_or_default(), probability: f64::from(probability) }
        };
        Ok(values.chunks(classes.len()).map(best).collect())
    }
}
