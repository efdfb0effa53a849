//! safetensors files: named tensors and a few strings, as bytes on the host.
//!
//! In: a path. Out: tensors by name, or an error that says whether the file is truncated, oversized or no safetensors file at all.
//! Always: a file is replaced whole or not at all; strings are in order of key, tensors in order of type and name, so equal content gives equal files. The
//! header is checked before anything is taken for the data, in at most 64 MiB of memory; after it a file takes little more memory than it has bytes. What is saved
//! passes the same checks.
//! Never: follows a size that a file announces and does not have.

mod header;

use crate::{
    error::{Error, Result},
    files,
};
pub(crate) use header::Header;
use safetensors::tensor::{Dtype, TensorView};
use std::{collections::BTreeMap, fs::File, io::Read, path::Path};
use unigrad_device::printable;
use unigrad_tensor::DType;

/// A tensor's content on the host: row-major, little-endian.
#[derive(Clone, PartialEq, Debug)]
pub struct HostTensor {
    /// Its type.
    pub dtype: DType,
    /// Its sizes.
    pub shape: Vec<usize>,
    /// Its elements.
    pub bytes: Vec<u8>,
}

/// The content of a safetensors file.
///
/// Of what the format allows, three things are refused, when they are read and when they are saved: a header of more than 8 MiB (some 70,000
/// tensors), tensors of more than 255 axes, and more than 65,536 strings.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Archive {
    /// The tensors.
    pub tensors: BTreeMap<String, HostTensor>,
    /// The strings.
    pub metadata: BTreeMap<String, String>,
}

const PAIRS: [(DType, Dtype, &str); 15] = [
    (DType::Bool, Dtype::BOOL, "BOOL"),
    (DType::U8, Dtype::U8, "U8"),
    (DType::I8, Dtype::I8, "I8"),
    (DType::U16, Dtype::U16, "U16"),
    (DType::I16, Dtype::I16, "I16"),
    (DType::U32, Dtype::U32, "U32"),
    (DType::I32, Dtype::I32, "I32"),
    (DType::U64, Dtype::U64, "U64"),
    (DType::I64, Dtype::I64, "I64"),
    (DType::F16, Dtype::F16, "F16"),
    (DType::BF16, Dtype::BF16, "BF16"),
    (DType::F32, Dtype::F32, "F32"),
    (DType::F64, Dtype::F64, "F64"),
    (DType::F8E4M3, Dtype::F8_E4M3, "F8_E4M3"),
    (DType::F8E5M2, Dtype::F8_E5M2, "F8_E5M2"),
];

const HELP: &str = "use a whole safetensors file; if it was copied or fetched, do that again";

impl Archive {
    /// Reads a file.
    pub fn load(path: impl AsRef<Path>) -> Result<Archive> {
        let path = path.as_ref();
        let mut file = File::open(path).map_err(|e| Error::read(path, e))?;
        let len = files::known_len(&file);
        Archive::read(&mut file, len, path)
    }

    /// Reads bytes; `path` is what errors name.
    pub fn from_bytes(mut bytes: &[u8], path: impl AsRef<Path>) -> Result<Archive> {
        let len = bytes.len() as u64;
        Archive::read(&mut bytes, Some(len), path.as_ref())
    }

    /// `len` is how many bytes there are, where that is known before they are read.
    fn read(source: &mut dyn Read, len: Option<u64>, path: &Path) -> Result<Archive> {
        let header = Header::read(source, len, path)?;
        let mut archive = Archive::default();
        let mut found = 0u64;
        for entry in header.entries {
            let n_bytes = entry.end - entry.begin;
            let mut bytes = Vec::new();
            if len.is_some() {
                let out_of_memory = |_| Error::read(path, std::io::ErrorKind::OutOfMemory.into());
                bytes.try_reserve_exact(n_bytes as usize).map_err(out_of_memory)?;
            }
            found += source.take(n_bytes).read_to_end(&mut bytes).map_err(|e| Error::read(path, e))? as u64;
            if (bytes.len() as u64) < n_bytes {
                return Err(truncated(path, header.announced, found));
            }
            archive.tensors.insert(entry.name, HostTensor { dtype: entry.dtype, shape: entry.shape, bytes });
        }
        if source.read(&mut [0]).map_err(|e| Error::read(path, e))? > 0 {
            return Err(oversized(path, header.announced, "more"));
        }
        archive.metadata.extend(header.strings);
        Ok(archive)
    }

    /// Replaces the file at `path` with this content.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        let path = path.as_ref();
        let bytes = self.to_bytes(path)?;
        files::replace(path, |file| file.write_all(&bytes))
    }

    fn to_bytes(&self, path: &Path) -> Result<Vec<u8>> {
        let cannot = |name: &str, cause: String| {
            let cause = format!("{} cannot be saved: {cause}", printable(name));
            Error::format(path, cause, "give each tensor as many bytes as its shape and type have")
        };
        let mut entries = Vec::with_capacity(self.tensors.len());
        for (name, tensor) in &self.tensors {
            let pair = PAIRS.iter().find(|(ours, _, _)| *ours == tensor.dtype);
            let (_, dtype, spelled) = pair.ok_or_else(|| cannot(name, format!("safetensors has no type {}", tensor.dtype)))?;
            TensorView::new(*dtype, tensor.shape.clone(), &tensor.bytes).map_err(|e| cannot(name, e.to_string()))?;
            entries.push((*dtype, name, *spelled, tensor));
        }
        // Wide types first, so that all are aligned; the other order is that of the names.
        entries.sort_by_key(|(dtype, ..)| std::cmp::Reverse(*dtype));
        let text = |value: &dyn Fn() -> serde_json::Result<String>| value().map_err(|e| cannot("the header", e.to_string()));
        let mut parts = Vec::with_capacity(entries.len() + 1);
        if !self.metadata.is_empty() {
            // In order of key: the format's own writer takes them from a hash map, in another order each time.
            parts.push(format!("\"__metadata__\":{}", text(&|| serde_json::to_string(&self.metadata))?));
        }
        let mut end = 0;
        for (_, name, dtype, tensor) in &entries {
            let begin = end;
            end += tensor.bytes.len();
            let (name, shape) = (text(&|| serde_json::to_string(name))?, text(&|| serde_json::to_string(&tensor.shape))?);
            parts.push(format!("{name}:{{\"dtype\":\"{dtype}\",\"shape\":{shape},\"data_offsets\":[{begin},{end}]}}"));
        }
        let mut header = format!("{{{}}}", parts.join(","));
        header.extend(std::iter::repeat_n(' ', header.len().next_multiple_of(8) - header.len()));
        let mut bytes = Vec::with_capacity(8 + header.len() + end);
        bytes.extend((header.len() as u64).to_le_bytes());
        bytes.extend(header.as_bytes());
        entries.iter().for_each(|(.., tensor)| bytes.extend(&tensor.bytes));
        // What could not be loaded again must not take the place of what can.
        Header::read(&mut &bytes[..], Some(bytes.len() as u64), path)?;
        Ok(bytes)
    }
}

fn truncated(path: &Path, announced: u64, there: u64) -> Error {
    Error::format(path, format!("truncated: the header announces {announced} bytes of data, and there are {there}"), HELP)
}

fn oversized(path: &Path, announced: u64, there: impl std::fmt::Display) -> Error {
    Error::format(path, format!("oversized: the header announces {announced} bytes of data, and there are {there}"), HELP)
}

#[cfg(test)]
mod tests;
