//! Pictures, and the sets that have them.
//!
//! In: files of PNG, JPEG and WebP, folders of them, the published files of MNIST, Fashion-MNIST and CIFAR. Out: pictures with the number of their class.

use super::{tables::PyCsv, tensor_of};
use crate::{
    device::{PyDevice, or_default},
    error::{OrRaise, argument},
    exit::Release,
    tensor::PyTensor,
};
use pyo3::prelude::*;
use std::{path::PathBuf, sync::Arc};
use unigrad::{
    Result,
    data::{self, CIFAR10, Channels, Dataset, DecodeOptions, FASHION_MNIST, ImageFolder, ImageSplit, Picture, Pictures, Pixels},
    nn::random::Rng,
    tensor::DType,
};

/// One image on the host: bytes from 0 to 255, or floats from 0 to 1 until they are normalized. `Picture(tensor)` has the values of a tensor
/// `[channels, height, width]`.
///
/// >>> import unigrad as ug
/// >>> picture = ug.data.Picture(ug.zeros(3, 4, 6, dtype=ug.uint8))
/// >>> picture.height, picture.width, picture.channels
/// (4, 6, 3)
#[pyclass(name = "Picture", module = "unigrad.data.native", frozen)]
pub(crate) struct PyPicture(pub(super) Picture);

fn options(channels: Option<usize>, max_pixels: u64) -> DecodeOptions {
    DecodeOptions { channels: channels.map_or(Channels::AsStored, Channels::Converted), max_pixels, ..DecodeOptions::default() }
}

/// The values of a plane after another, pixel by pixel.
fn interleaved<T: Copy>(planes: &[T], channels: usize) -> Vec<T> {
    let plane = planes.len() / channels.max(1);
    (0..plane).flat_map(|at| planes[at..].iter().step_by(plane).copied()).collect()
}

#[pymethods]
impl PyPicture {
    #[new]
    fn new(py: Python<'_>, tensor: &PyTensor) -> PyResult<PyPicture> {
        let x = tensor.tensor();
        let shape = x.shape();
        let [channels, height, width] = shape.as_slice() else {
            return Err(argument(py, format!("argument 'tensor' has the shape {shape:?}"), "give [channels, height, width]"));
        };
        let pixels = match x.dtype() {
            DType::U8 => Pixels::U8(interleaved(&py.released(|| x.to_bytes()).or_raise(py)?, *channels)),
            dtype if dtype.is_float() => {
                Pixels::F32(interleaved(&py.released(|| x.cast(DType::F32).to_vec::<f32>()).or_raise(py)?, *channels))
            }
            dtype => {
                let cause = format!("argument 'tensor' is of {}", crate::dtype::name_of(dtype));
                return Err(argument(py, cause, "give uint8 from 0 to 255, or floats from 0 to 1"));
            }
        };
        Picture::new(pixels, *height, *width, *channels).map(PyPicture).or_raise(py)
    }

    /// Reads a PNG, JPEG or WebP file: in so many `channels` (1 grey, 3 RGB, 4 RGBA), or with `None` in those that it has. A file that announces more
    /// than `max_pixels` is refused.
    #[staticmethod]
    #[pyo3(signature = (path, channels=3, max_pixels=100_000_000))]
    fn read(py: Python<'_>, path: PathBuf, channels: Option<usize>, max_pixels: u64) -> PyResult<PyPicture> {
        py.released(|| Picture::read(&path, &options(channels, max_pixels))).map(PyPicture).or_raise(py)
    }

    /// As `read`, of a file's bytes.
    #[staticmethod]
    #[pyo3(signature = (bytes, channels=3, max_pixels=100_000_000))]
    fn decode(py: Python<'_>, bytes: &[u8], channels: Option<usize>, max_pixels: u64) -> PyResult<PyPicture> {
        py.released(|| Picture::decode(bytes, "the bytes", &options(channels, max_pixels))).map(PyPicture).or_raise(py)
    }

    /// Rows.
    #[getter]
    fn height(&self) -> usize {
        self.0.height()
    }

    /// Columns.
    #[getter]
    fn width(&self) -> usize {
        self.0.width()
    }

    /// 1 for grey, 2 for grey with alpha, 3 for RGB, 4 for RGBA.
    #[getter]
    fn channels(&self) -> usize {
        self.0.channels()
    }

    /// In other channels: grey by ITU-R 601, grey to RGB by repeating it; alpha is left out, or is full.
    fn convert(&self, py: Python<'_>, channels: usize) -> PyResult<PyPicture> {
        py.released(|| self.0.clone().to_channels(channels)).map(PyPicture).or_raise(py)
    }

    /// The values as `[channels, height, width]`, `uint8` or `float32`: what a model takes.
    #[pyo3(signature = (device=None))]
    fn tensor(&self, py: Python<'_>, device: Option<PyDevice>) -> PyResult<PyTensor> {
        let host = py.released(|| self.0.to_tensor());
        tensor_of(py, &host, &or_default(py, device)?)
    }

    fn __repr__(&self) -> String {
        format!("Picture(height={}, width={}, channels={})", self.0.height(), self.0.width(), self.0.channels())
    }
}

/// Pictures with a class each, by number.
#[pyclass(name = "Pictures", module = "unigrad.data.native", frozen)]
pub(crate) struct PyPictures {
    set: Arc<dyn Dataset<Item = (Picture, i64)>>,
    /// The class of each picture, in order.
    #[pyo3(get)]
    labels: Vec<usize>,
    /// The names of the classes, if they have some.
    #[pyo3(get)]
    classes: Vec<String>,
    /// The file of each picture, if each has one.
    #[pyo3(get)]
    files: Vec<PathBuf>,
}

#[pymethods]
impl PyPictures {
    fn __len__(&self) -> usize {
        self.set.len()
    }

    /// A picture and its class.
    fn get(&self, py: Python<'_>, index: usize) -> PyResult<(PyPicture, i64)> {
        let got: Result<(Picture, i64)> = py.released(|| self.set.get(index, &mut Rng::new(0, 0)));
        got.map(|(picture, class)| (PyPicture(picture), class)).or_raise(py)
    }
}

fn of_folder(folder: ImageFolder) -> PyPictures {
    let (labels, classes) = (folder.labels(), folder.classes().to_vec());
    let files = folder.files().iter().map(|(path, _)| path.clone()).collect();
    PyPictures { set: Arc::new(folder), labels, classes, files }
}

/// The files that can be decoded, and why others cannot.
fn checked(py: Python<'_>, folder: ImageFolder, workers: Option<usize>) -> PyResult<(PyPictures, Vec<String>)> {
    let Some(workers) = workers else { return Ok((of_folder(folder), Vec::new())) };
    let (kept, damaged) = py.released(|| folder.without_damaged(workers)).or_raise(py)?;
    Ok((of_folder(kept), damaged.iter().map(ToString::to_string).collect()))
}

/// A class per sub-folder. With `workers` every file is decoded once, and those that cannot be are left out.
#[pyfunction]
pub(crate) fn image_folder(
    py: Python<'_>,
    path: PathBuf,
    channels: Option<usize>,
    workers: Option<usize>,
) -> PyResult<(PyPictures, Vec<String>)> {
    let folder = py.released(|| ImageFolder::open(&path)).or_raise(py)?.options(options(channels, DecodeOptions::default().max_pixels));
    checked(py, folder, workers)
}

/// Files of one folder that a table names, with their labels.
#[pyfunction]
pub(crate) fn image_table(
    py: Python<'_>,
    path: PathBuf,
    table: &PyCsv,
    files: &str,
    labels: &str,
    channels: Option<usize>,
    workers: Option<usize>,
) -> PyResult<(PyPictures, Vec<String>)> {
    let folder = py.released(|| ImageFolder::with_labels(&path, &table.0, files, labels)).or_raise(py)?;
    checked(py, folder.options(options(channels, DecodeOptions::default().max_pixels)), workers)
}

fn of_pictures(pictures: Pictures, classes: &[&str]) -> PyPictures {
    let labels = pictures.labels();
    PyPictures { set: Arc::new(pictures), labels, classes: classes.iter().map(ToString::to_string).collect(), files: Vec::new() }
}

/// The pictures for training, and those for tests.
type Parts = (PyPictures, PyPictures);

/// The files of CIFAR-10's binary version.
#[pyfunction]
pub(crate) fn cifar10(py: Python<'_>, path: PathBuf) -> PyResult<Parts> {
    let (train, test) = py.released(|| data::cifar10(&path)).or_raise(py)?;
    Ok((of_pictures(train, &CIFAR10), of_pictures(test, &CIFAR10)))
}

/// The files of CIFAR-100's binary version.
#[pyfunction]
pub(crate) fn cifar100(py: Python<'_>, path: PathBuf) -> PyResult<Parts> {
    let (train, test) = py.released(|| data::cifar100(&path)).or_raise(py)?;
    Ok((of_pictures(train, &[]), of_pictures(test, &[])))
}

fn of_split(split: ImageSplit, classes: &[&str]) -> Parts {
    let part = |images: data::Images| PyPictures {
        labels: images.labels.iter().copied().map(usize::from).collect(),
        classes: classes.iter().map(ToString::to_string).collect(),
        files: Vec::new(),
        set: Arc::new(images),
    };
    (part(split.train), part(split.test))
}

/// MNIST's IDX files.
#[pyfunction]
pub(crate) fn mnist(py: Python<'_>, path: PathBuf) -> PyResult<Parts> {
    let split = py.released(|| data::mnist(&path)).or_raise(py)?;
    Ok(of_split(split, &["0", "1", "2", "3", "4", "5", "6", "7", "8", "9"]))
}

/// Fashion-MNIST's IDX files.
#[pyfunction]
pub(crate) fn fashion_mnist(py: Python<'_>, path: PathBuf) -> PyResult<Parts> {
    let split = py.released(|| data::fashion_mnist(&path)).or_raise(py)?;
    Ok(of_split(split, &FASHION_MNIST))
}
