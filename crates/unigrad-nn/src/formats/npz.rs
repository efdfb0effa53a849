//! NPZ files: zip archives of NPY files, stored or deflated.
//!
//! In: an archive's entries, or tensors. Out: its arrays by name, or a file that NumPy reads.
//! Always: an entry `name.npy` is the array `name`; what is written is whole or not there.
//! Never: unpacks more than the file's headers announce.

use super::{Contents, Format, Tensor, UNNAMED, layout::Storage, npy, source::Source, zip};
use crate::{
    archive::{Archive, HostTensor},
    error::{Error, Result},
    files,
};
use std::{collections::BTreeMap, path::Path};
use unigrad_device::printable;

const ENDING: &str = ".npy";

pub(super) fn open(source: &Source, entries: &[zip::Entry]) -> Result<Contents> {
    let mut contents = Contents { format: Format::Npz, tensors: BTreeMap::new(), storages: Vec::new(), metadata: BTreeMap::new() };
    for entry in entries {
        let Some(name) = entry.name.strip_suffix(ENDING) else {
            let cause =
                format!("is a zip archive with an entry {}, which is neither an array nor a PyTorch checkpoint's", printable(&entry.name));
            return Err(Error::format(source.path(), cause, "name an NPZ file, or a PyTorch checkpoint"));
        };
        let shown = format!("array {}", printable(name));
        let head = entry.head(source, npy::HEAD)?;
        let npy::Header { layout, big_endian } = npy::header(&head, entry.len(), source, &shown)?;
        // The header is a part of the entry, and of what its checksum covers.
        let storage = Storage { name: shown, ..entry.storage(source, big_endian)? };
        contents.tensors.insert(name.to_owned(), Tensor { storage: contents.storages.len(), layout });
        contents.storages.push(storage);
    }
    Ok(contents)
}

impl HostTensor {
    /// Replaces the file at `path` with this tensor, as `numpy.save` does.
    ///
    /// # Errors
    /// NumPy has no such dtype (`bf16`, 8-bit floats), or the file cannot be written.
    ///
    /// ```
    /// # use unigrad_nn::{Archive, HostTensor};
    /// let path = std::env::temp_dir().join("unigrad-doc-array.npy");
    /// let tensor = HostTensor { dtype: unigrad_tensor::DType::I16, shape: vec![2], bytes: vec![1, 0, 2, 0] };
    /// tensor.save_npy(&path)?;
    /// assert_eq!(Archive::open(&path)?.tensors["data"], tensor);
    /// # std::fs::remove_file(&path).unwrap();
    /// # Ok::<(), unigrad_nn::Error>(())
    /// ```
    pub fn save_npy(&self, path: impl AsRef<Path>) -> Result<()> {
        let path = path.as_ref();
        let header = npy::written(self, UNNAMED, path)?;
        files::replace(path, |file| {
            file.write_all(&header)?;
            file.write_all(&self.bytes)
        })
    }
}

impl Archive {
    /// Replaces the file at `path` with the tensors, as `numpy.savez` does, or as `numpy.savez_compressed`. NPZ has no place for metadata.
    ///
    /// # Errors
    /// There is metadata, NumPy has no such dtype (`bf16`, 8-bit floats), or the file cannot be written.
    pub fn save_npz(&self, path: impl AsRef<Path>, compressed: bool) -> Result<()> {
        let path = path.as_ref();
        if let Some(name) = self.metadata.keys().next() {
            let cause = format!("metadata cannot be saved in an NPZ file: {} among them", printable(name));
            return Err(Error::format(path, cause, "clear `metadata`, or save a safetensors file"));
        }
        let headers = self.tensors.iter().map(|(name, tensor)| npy::written(tensor, name, path)).collect::<Result<Vec<_>>>()?;
        if let Some(name) = self.tensors.keys().find(|name| name.len() + ENDING.len() > usize::from(u16::MAX)) {
            let cause = format!("a tensor's name has {} bytes, and a zip archive's at most {}", name.len(), u16::MAX);
            return Err(Error::format(path, cause, "give it a shorter name"));
        }
        files::replace(path, |file| {
            let mut zip = zip::Writer::new(file);
            for ((name, tensor), header) in self.tensors.iter().zip(&headers) {
                zip.entry(&format!("{name}{ENDING}"), &[header, &tensor.bytes], compressed)?;
            }
            zip.finish()
        })
    }
}
