//! Predictions of a model file for the kind of data that it learned from: tables and image files.
//!
//! In: a network whose file says how its data were encoded. Out: answers in the data's own words: classes by name, numbers in their own unit.
//! Always: data pass the encoding that was learned; what it does not know is an error with file and line.

use super::{IMAGES, ImageForm, Network, TABLE, Task};
use std::path::Path;
use unigrad_data::{Csv, CsvOptions, Picture, TableSchema};
use unigrad_nn::{Error, HostTensor, Result, random::Rng};
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
}

enum Form {
    Table(TableSchema),
    Images(ImageForm),
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
        let network = Network::load_on(path, device)?;
        let wrong = |cause: String| Error::format(path, cause, "use a model file as the training wrote it");
        let (form, outputs) = match (network.metadata(TABLE), network.metadata(IMAGES)) {
            (Some(table), _) => {
                let schema = TableSchema::from_json(table, path)?;
                let outputs = schema.classes().len().max(1);
                if network.input_shape() != [schema.n_features()] {
                    return Err(wrong(format!(
                        "takes inputs {:?}, and its table has {} features",
                        network.input_shape(),
                        schema.n_features()
                    )));
                }
                (Form::Table(schema), outputs)
            }
            (None, Some(images)) => {
                let form: ImageForm = serde_json::from_str(images)
                    .map_err(|e| wrong(format!("its form of images is damaged: {}", unigrad_device::printable(&e.to_string()))))?;
                let (channels, outputs) = (if form.grey { 1 } else { 3 }, form.classes.len());
                if network.input_shape() != [channels, form.size, form.size] {
                    return Err(wrong(format!("takes inputs {:?}, and images of {1}x{1}", network.input_shape(), form.size)));
                }
                (Form::Images(form), outputs)
            }
            (None, None) => {
                let cause = "does not say how its data were encoded";
                return Err(Error::format(
                    path,
                    cause,
                    "use a model of `unigrad train csv` or `images`, or call `Network::predict` from a program",
                ));
            }
        };
        if network.output_shape() != [outputs] {
            return Err(wrong(format!("has {:?} outputs, and its data have {outputs}", network.output_shape())));
        }
        Ok(Predictor { network, form })
    }

    /// Whether it takes tables; else it takes images.
    pub fn takes_tables(&self) -> bool {
        matches!(self.form, Form::Table(_))
    }

    /// The answers to a table's rows. The column of the target may be there or not.
    pub fn table(&mut self, path: impl AsRef<Path>, options: &CsvOptions) -> Result<Vec<Answer>> {
        let path = path.as_ref();
        let Form::Table(schema) = &self.form else {
            return Err(Error::format(path, "is a table, and the model takes images", "name image files"));
        };
        let csv = Csv::read(path, options)?;
        if csv.n_rows() == 0 {
            return Ok(Vec::new());
        }
        let (features, classes, schema) = (schema.features(&csv)?, schema.classes().to_vec(), schema.clone());
        self.answers(&features, &classes, |x| schema.unscale(x))
    }

    /// The answers to image files.
    pub fn images(&mut self, paths: &[impl AsRef<Path>]) -> Result<Vec<Answer>> {
        let Form::Images(form) = &self.form else {
            let cause = "the model takes tables, and not images";
            return Err(Error::argument(cause, "name CSV files"));
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
            answers.extend(self.answers(&all, &form.classes, |x| x)?);
        }
        Ok(answers)
    }

    fn answers(&mut self, inputs: &HostTensor, classes: &[String], unscale: impl Fn(f64) -> f64) -> Result<Vec<Answer>> {
        let values = self.network.predict_probabilities(inputs)?.to_vec::<f32>()?;
        if classes.is_empty() || self.network.architecture().loss.task() == Task::Numbers {
            return Ok(values.into_iter().map(|x| Answer::Number(unscale(f64::from(x)))).collect());
        }
        let best = |row: &[f32]| {
            let first = (0, f32::NEG_INFINITY);
            let (at, probability) = row.iter().enumerate().fold(first, |best, (at, &p)| if p > best.1 { (at, p) } else { best });
            Answer::Class { name: classes.get(at).cloned().unwrap_or_default(), probability: f64::from(probability) }
        };
        Ok(values.chunks(classes.len()).map(best).collect())
    }
}
