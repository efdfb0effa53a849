//! `unigrad._unigrad._data`: pictures, transforms, published sets, tables, texts, and orders of items.
//!
//! In: paths, bytes, labels, seeds. Out: what the crates' readers make of them.
//! Always: a file is read and decoded, and a picture changed, without the interpreter's lock. The loop over items is the package's own.

mod orders;
mod pictures;
mod tables;
mod texts;
mod transforms;

use crate::tensor::{PyTensor, made};
use pyo3::prelude::*;
use unigrad::{
    nn::HostTensor,
    tensor::{Device, Tensor},
};

/// A tensor of a reader's values.
fn tensor_of(py: Python<'_>, host: &HostTensor, device: &Device) -> PyResult<PyTensor> {
    made(py, || Tensor::from_bytes(&host.bytes, host.shape.clone(), host.dtype, device))
}

#[pymodule]
pub(crate) mod _data {
    #[pymodule_export]
    use super::orders::{
        balanced, buckets, distributed, k_fold, stratified, stratified_k_fold, stratified_split, validation_split, weighted,
    };
    #[pymodule_export]
    use super::pictures::{PyPicture, PyPictures, cifar10, cifar100, fashion_mnist, image_folder, image_table, mnist};
    #[pymodule_export]
    use super::tables::{PyCsv, PyTableSchema};
    #[pymodule_export]
    use super::texts::{PyTokenVocabulary, lines_of_file, split_text, texts_of_table};
    #[pymodule_export]
    use super::transforms::{PyRandomNumbers, PyTransform};
}
