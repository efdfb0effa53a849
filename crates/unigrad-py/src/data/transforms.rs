//! What is done to pictures.
//!
//! In: settings, a picture and random numbers. Out: a picture. The same random numbers give the same picture.

use super::pictures::PyPicture;
use crate::{alone::locked, error::OrRaise, exit::Release};
use pyo3::prelude::*;
use std::sync::{Arc, Mutex, PoisonError};
use unigrad::{
    data::{
        CenterCrop, ColorJitter, Grayscale, Normalize, RandomCrop, RandomErasing, RandomHorizontalFlip, RandomResizedCrop, RandomRotation,
        RandomVerticalFlip, Resize, ToFloat, Transform,
    },
    nn::random::Rng,
};

/// Random numbers of a seed and a stream: an item's number, say.
#[pyclass(name = "RandomNumbers", module = "unigrad.data.native", frozen)]
pub(crate) struct PyRandomNumbers(Mutex<Rng>);

#[pymethods]
impl PyRandomNumbers {
    #[new]
    #[pyo3(signature = (seed, stream=0))]
    fn new(seed: u64, stream: u64) -> PyRandomNumbers {
        PyRandomNumbers(Mutex::new(Rng::new(seed, stream)))
    }

    /// The next one, from 0 to 1.
    fn uniform(&self, py: Python<'_>) -> f64 {
        locked(py, &self.0).uniform()
    }
}

/// One of the crates' transforms.
#[pyclass(name = "Transform", module = "unigrad.data.native", frozen)]
pub(crate) struct PyTransform(Arc<dyn Transform>);

fn of(transform: impl Transform) -> PyTransform {
    PyTransform(Arc::new(transform))
}

#[pymethods]
impl PyTransform {
    /// To a size, or with one number so that the shorter side has it.
    #[staticmethod]
    fn resize(height: usize, width: Option<usize>) -> PyTransform {
        of(width.map_or_else(|| Resize::shorter(height), |width| Resize::new(height, width)))
    }

    /// The middle.
    #[staticmethod]
    fn center_crop(height: usize, width: usize) -> PyTransform {
        of(CenterCrop(height, width))
    }

    /// A part at random, of a picture with so many pixels around.
    #[staticmethod]
    fn random_crop(height: usize, width: usize, padding: usize, fill: f32) -> PyTransform {
        of(RandomCrop::new(height, width).padding(padding).fill(fill))
    }

    /// A part of a random size and shape, resized.
    #[staticmethod]
    fn random_resized_crop(height: usize, width: usize, scale: (f64, f64), ratio: (f64, f64)) -> PyTransform {
        of(RandomResizedCrop::new(height, width).scale(scale.0, scale.1).ratio(ratio.0, ratio.1))
    }

    /// Left to right, with a probability.
    #[staticmethod]
    fn horizontal_flip(p: f64) -> PyTransform {
        of(RandomHorizontalFlip(p))
    }

    /// Top to bottom, with a probability.
    #[staticmethod]
    fn vertical_flip(p: f64) -> PyTransform {
        of(RandomVerticalFlip(p))
    }

    /// Turned by an angle between two.
    #[staticmethod]
    fn rotation(degrees: (f64, f64), fill: f32) -> PyTransform {
        of(RandomRotation::between(degrees.0, degrees.1).fill(fill))
    }

    /// Other colours.
    #[staticmethod]
    fn color_jitter(brightness: f64, contrast: f64, saturation: f64, hue: f64) -> PyTransform {
        of(ColorJitter { brightness, contrast, saturation, hue })
    }

    /// Grey, with a probability.
    #[staticmethod]
    fn grayscale(p: f64) -> PyTransform {
        of(Grayscale(p))
    }

    /// A rectangle erased, with a probability.
    #[staticmethod]
    fn erasing(p: f64, scale: (f64, f64), ratio: (f64, f64), value: f32) -> PyTransform {
        of(RandomErasing::new(p).scale(scale.0, scale.1).ratio(ratio.0, ratio.1).value(value))
    }

    /// Bytes as floats from 0 to 1.
    #[staticmethod]
    fn to_float() -> PyTransform {
        of(ToFloat)
    }

    /// Each channel less its mean, by its standard deviation.
    #[staticmethod]
    fn normalize(py: Python<'_>, mean: Vec<f32>, std: Vec<f32>) -> PyResult<PyTransform> {
        Normalize::new(&mean, &std).map(of).or_raise(py)
    }

    /// The picture that it makes.
    fn apply(&self, py: Python<'_>, picture: &PyPicture, numbers: &PyRandomNumbers) -> PyResult<PyPicture> {
        let made = py.released(|| {
            let mut rng = numbers.0.lock().unwrap_or_else(PoisonError::into_inner);
            self.0.apply(picture.0.clone(), &mut rng)
        });
        made.map(PyPicture).or_raise(py)
    }
}
