//! Files of tensors, in the formats that people have: safetensors (one file, or an index of several), PyTorch's `.pt`, NPY, NPZ.
//!
//! In: a path. Out: which tensors there are, with dtype and shape; their values when they are asked for.
//! Always: the format is told by the content. What a file announces is compared with what it has when it is opened; data are read later, tensor by
//! tensor. A file's tensors take as much memory as the file has bytes, or, where they are packed or share bytes, as much as a limit allows.
//! Never: runs anything that a file brings; trusts a name's ending.

mod detect;
mod layout;
mod npy;
mod npz;
mod rename;
mod shards;
mod source;
mod torch;
mod zip;

pub use rename::Rename;

use crate::{
    archive::{Archive, HostTensor},
    error::{Error, Result},
};
use layout::{Layout, Storage};
use source::Source;
use std::{
    collections::{BTreeMap, HashMap},
    fmt,
    path::Path,
};
use unigrad_device::printable;
use unigrad_tensor::DType;

/// The name of a file's only tensor, where the format gives it none.
const UNNAMED: &str = "data";

/// How a file keeps its tensors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// A safetensors file.
    Safetensors,
    /// An index (`model.safetensors.index.json`) of several files.
    Index,
    /// A zip archive of `torch.save`.
    PyTorch,
    /// A file of `torch.save` before PyTorch 1.6.
    PyTorchLegacy,
    /// One array of `numpy.save`. Its tensor is called `data`.
    Npy,
    /// Arrays of `numpy.savez`.
    Npz,
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Format::Safetensors => "safetensors",
            Format::Index => "index of parts",
            Format::PyTorch => "PyTorch checkpoint",
            Format::PyTorchLegacy => "PyTorch checkpoint (before 1.6)",
            Format::Npy => "NPY",
            Format::Npz => "NPZ",
        })
    }
}

/// What a file has: where, not yet what.
#[derive(Debug)]
struct Contents {
    format: Format,
    tensors: BTreeMap<String, Tensor>,
    storages: Vec<Storage>,
    metadata: BTreeMap<String, String>,
}

/// A view of one of the storages.
#[derive(Debug)]
struct Tensor {
    storage: usize,
    layout: Layout,
}

/// A file and what it has.
#[derive(Debug)]
struct Part {
    source: Source,
    contents: Contents,
}

/// An opened file of tensors: what it has is known, and what is asked for is read.
///
/// Reads safetensors, an index of several files (`model.safetensors.index.json`), PyTorch's checkpoints, NPY and NPZ, told apart by their content.
///
/// Of a PyTorch checkpoint, dictionaries and lists become dotted names (`model_state_dict.fc.weight`, `optimizer.param_groups.0.lr`), bytes a tensor of
/// `u8`, and numbers and texts [metadata](TensorFile::metadata); a list of them is one text, in JSON. The file is never run: one that holds more than data is refused.
///
/// ```
/// use unigrad_nn::{Archive, HostTensor, TensorFile};
/// use unigrad_tensor::DType;
///
/// let path = std::env::temp_dir().join("unigrad-doc-tensors.npz");
/// let mut archive = Archive::default();
/// archive.tensors.insert("encoder.bias".into(), HostTensor { dtype: DType::U8, shape: vec![3], bytes: vec![1, 2, 3] });
/// archive.save_npz(&path, true)?;
///
/// let file = TensorFile::open(&path)?;
/// for (name, dtype, shape) in file.tensors() {
///     println!("{name} {dtype} {shape:?}");
/// }
/// assert_eq!(file.read("encoder.bias")?.bytes, [1, 2, 3]);
/// assert!(file.read_prefix("encoder.")?.tensors.contains_key("bias"));
/// # std::fs::remove_file(&path).unwrap();
/// # Ok::<(), unigrad_nn::Error>(())
/// ```
#[derive(Debug)]
pub struct TensorFile {
    path: std::path::PathBuf,
    format: Format,
    parts: Vec<Part>,
    /// Which part a tensor is in.
    names: BTreeMap<String, usize>,
    metadata: BTreeMap<String, String>,
    limit: u64,
}

impl TensorFile {
    /// Bytes of tensors that a file may have beyond its own, because they are packed or share storage, unless [`TensorFile::open_at_most`] says otherwise.
    pub const MAX_BYTES: u64 = 4 << 30;

    /// Opens a file and reads what it has, but not the data.
    ///
    /// # Errors
    /// The file cannot be read, is damaged, is of another format, or holds code.
    pub fn open(path: impl AsRef<Path>) -> Result<TensorFile> {
        TensorFile::open_at_most(path, TensorFile::MAX_BYTES)
    }

    /// As [`TensorFile::open`]. Tensors that are packed or share storage may take `limit` bytes of memory beyond those that the file has.
    pub fn open_at_most(path: impl AsRef<Path>, limit: u64) -> Result<TensorFile> {
        let path = path.as_ref();
        let source = Source::open(path)?;
        match detect::is_index(&source)? {
            true => shards::open(&source, limit),
            false => Ok(TensorFile::of_part(path, detect::open(source)?, limit)),
        }
    }

    /// Opens bytes; `path` is what errors name. An index of several files is refused: it is nothing without them.
    pub fn from_bytes(bytes: Vec<u8>, path: impl AsRef<Path>) -> Result<TensorFile> {
        TensorFile::from_bytes_at_most(bytes, path, TensorFile::MAX_BYTES)
    }

    /// As [`TensorFile::open_at_most`], of bytes.
    pub fn from_bytes_at_most(bytes: Vec<u8>, path: impl AsRef<Path>, limit: u64) -> Result<TensorFile> {
        let path = path.as_ref();
        let source = Source::of_bytes(bytes, path);
        if detect::is_index(&source)? {
            return Err(Error::format(path, "is an index of other files", "open it by its path, beside them"));
        }
        Ok(TensorFile::of_part(path, detect::open(source)?, limit))
    }

    fn of_part(path: &Path, part: Part, limit: u64) -> TensorFile {
        let names = part.contents.tensors.keys().map(|name| (name.clone(), 0)).collect();
        let (format, metadata) = (part.contents.format, part.contents.metadata.clone());
        TensorFile { path: path.to_owned(), format, parts: vec![part], names, metadata, limit }
    }

    /// How the file keeps its tensors.
    pub fn format(&self) -> Format {
        self.format
    }

    /// Each tensor's name, dtype and shape, in order of name.
    pub fn tensors(&self) -> impl Iterator<Item = (&str, DType, &[usize])> {
        self.names.iter().filter_map(|(name, part)| {
            let layout = &self.parts.get(*part)?.contents.tensors.get(name)?.layout;
            Some((name.as_str(), layout.dtype, layout.shape.as_slice()))
        })
    }

    /// What the file says beside tensors.
    pub fn metadata(&self) -> &BTreeMap<String, String> {
        &self.metadata
    }

    /// Bytes that all tensors have together.
    pub fn n_bytes(&self) -> u64 {
        self.tensors().filter_map(|(_, dtype, shape)| layout::n_bytes(dtype, shape)).fold(0, u64::saturating_add)
    }

    /// The files that tensors are in: one, or the parts of an index.
    pub fn files(&self) -> impl Iterator<Item = &Path> {
        self.parts.iter().map(|part| part.source.path())
    }

    /// Names of tensors that are another one too (tied weights), and the first name of each. Only PyTorch's files say so.
    ///
    /// A model in which both places hold one tensor saves and loads it under the first.
    pub fn aliases(&self) -> BTreeMap<&str, &str> {
        let mut first = HashMap::new();
        let mut aliases = BTreeMap::new();
        for (name, at) in &self.names {
            let Some(tensor) = self.parts.get(*at).and_then(|part| part.contents.tensors.get(name)) else { continue };
            let Layout { dtype, shape, strides, offset } = &tensor.layout;
            // What has no elements is no other's.
            if shape.contains(&0) {
                continue;
            }
            match first.entry((at, tensor.storage, dtype, shape, strides, offset)) {
                std::collections::hash_map::Entry::Occupied(entry) => {
                    aliases.insert(name.as_str(), *entry.get());
                }
                std::collections::hash_map::Entry::Vacant(entry) => {
                    entry.insert(name.as_str());
                }
            }
        }
        aliases
    }

    /// Reads one tensor.
    pub fn read(&self, name: &str) -> Result<HostTensor> {
        let found = self.names.get(name).and_then(|at| self.parts.get(*at)).and_then(|part| Some((part, part.contents.tensors.get(name)?)));
        let Some((part, tensor)) = found else {
            let cause = format!("{} has no tensor {}", self.path.display(), printable(name));
            return Err(Error::argument(cause, "`unigrad inspect FILE` lists what it has"));
        };
        self.affords(tensor.layout.n_bytes().unwrap_or(u64::MAX))?;
        part.read(tensor)
    }

    /// Reads all tensors.
    pub fn read_all(&self) -> Result<Archive> {
        let tensors = self.read_those(|name| Some(name.to_owned()))?;
        Ok(Archive { tensors, metadata: self.metadata.clone() })
    }

    /// Reads the tensors whose names begin with `prefix`, which the result's names lack.
    ///
    /// # Errors
    /// There are none.
    pub fn read_prefix(&self, prefix: &str) -> Result<Archive> {
        let tensors = self.read_those(|name| name.strip_prefix(prefix).filter(|rest| !rest.is_empty()).map(str::to_owned))?;
        if tensors.is_empty() {
            let first = self.names.keys().next().map_or("none at all", |name| name.as_str());
            let cause = format!("{} has no tensor whose name begins with {}", self.path.display(), printable(prefix));
            return Err(Error::argument(cause, format!("its first is {}; `unigrad inspect FILE` lists them", printable(first))));
        }
        Ok(Archive { tensors, metadata: self.metadata.clone() })
    }

    fn read_those(&self, rename: impl Fn(&str) -> Option<String>) -> Result<BTreeMap<String, HostTensor>> {
        let wanted = || self.names.iter().filter_map(|(name, at)| Some((rename(name)?, self.parts.get(*at)?, name)));
        let tensor_of = |part: &'_ Part, name: &str| part.contents.tensors.get(name).and_then(|tensor| tensor.layout.n_bytes());
        self.affords(wanted().filter_map(|(_, part, name)| tensor_of(part, name)).fold(0, u64::saturating_add))?;
        let mut tensors = BTreeMap::new();
        for (new, part, name) in wanted() {
            if let Some(tensor) = part.contents.tensors.get(name) {
                tensors.insert(new, part.read(tensor)?);
            }
        }
        Ok(tensors)
    }

    /// Whether so many bytes are what the file has, and the limit allows.
    fn affords(&self, n: u64) -> Result<()> {
        let there = self.parts.iter().map(|part| part.source.len()).fold(0, u64::saturating_add);
        if n <= there.saturating_add(self.limit) {
            return Ok(());
        }
        let cause = format!("unpacks to {n} bytes of tensors, and has {there}; at most {} more than that are taken", self.limit);
        Err(Error::format(
            &self.path,
            cause,
            "if you trust the file, raise the limit (`TensorFile::open_at_most`), or read tensors one by one",
        ))
    }
}

impl Part {
    fn read(&self, tensor: &Tensor) -> Result<HostTensor> {
        let storage = self.contents.storages.get(tensor.storage);
        let storage = storage.ok_or_else(|| Error::Internal("a tensor of a file without its storage".into()))?;
        storage.read(&self.source, &tensor.layout)
    }
}

impl Archive {
    /// Reads a file of any [`Format`], told by its content; see [`TensorFile`], which reads a part of one.
    ///
    /// # Errors
    /// The file cannot be read, is damaged, is of another format, or holds code.
    pub fn open(path: impl AsRef<Path>) -> Result<Archive> {
        TensorFile::open(path)?.read_all()
    }
}

#[cfg(test)]
mod tests;
