//! Which format a file has, by its content.
//!
//! In: a source. Out: what it contains, by the reader of its format; or an error that says what it is instead.
//! Never: looks at a file's name.

use super::{
    Contents, Format, Part, Tensor,
    layout::{Layout, Location, Storage},
    npy, npz,
    source::{Source, Stream},
    torch, zip,
};
use crate::{
    archive::Header,
    error::{Error, Result},
};
use std::collections::BTreeMap;

/// Enough to know every format.
const START: u64 = 512;
/// As the safetensors format has it; more means that these bytes are something else.
const MAX_HEADER: u64 = 100_000_000;
const ZIP: [&[u8]; 2] = [b"PK\x03\x04", b"PK\x05\x06"];

fn start(source: &Source) -> Result<Vec<u8>> {
    source.read(0, source.len().min(START), "the file's beginning")
}

fn is_safetensors(start: &[u8]) -> bool {
    start.first_chunk::<8>().is_some_and(|size| u64::from_le_bytes(*size) <= MAX_HEADER) && start.get(8) == Some(&b'{')
}

/// Whether it is a JSON object, as an index is.
pub(super) fn is_index(source: &Source) -> Result<bool> {
    let start = start(source)?;
    Ok(!is_safetensors(&start) && start.trim_ascii_start().first() == Some(&b'{'))
}

/// What a file that is no index contains.
pub(super) fn open(source: Source) -> Result<Part> {
    let start = start(&source)?;
    let contents = if is_safetensors(&start) {
        safetensors(&source)?
    } else if ZIP.iter().any(|magic| start.starts_with(magic)) {
        let entries = zip::entries(&source)?;
        match torch::folder(&entries) {
            Some(folder) => torch::open_zip(&source, &entries, folder)?,
            None => npz::open(&source, &entries)?,
        }
    } else if start.starts_with(npy::MAGIC) {
        one_array(&source)?
    } else if start.starts_with(torch::OLD)
        || start.first().is_some_and(|first| *first == 0x80)
        || start.starts_with(b"L1195470371460388013333")
    {
        torch::open_old(&source)?
    } else {
        return Err(unknown(&source, &start));
    };
    Ok(Part { source, contents })
}

/// What else it may be.
fn unknown(source: &Source, start: &[u8]) -> Error {
    let (what, help) = if start.get(257..262) == Some(b"ustar") {
        ("a tar archive, as PyTorch wrote before version 0.1.10", "load it in PyTorch and save it again")
    } else if start.starts_with(b"GGUF") {
        ("a GGUF file", "fetch the model's safetensors files")
    } else if start.starts_with(b"\x89HDF") {
        ("an HDF5 file, as Keras writes", "in Keras, save the weights with `numpy.savez`")
    } else if start.starts_with(b"PK\x07\x08") {
        ("a part of a zip archive in several files", "join the parts first")
    } else if start.starts_with(b"version https://git-lfs") {
        ("a pointer of Git LFS, and not the file", "fetch the file with `git lfs pull`")
    } else if start.is_empty() {
        ("an empty file", "fetch or write it again")
    } else {
        ("no file of tensors that is known here", "name a safetensors file, an index of them, a PyTorch checkpoint, an NPY or an NPZ file")
    };
    Error::format(source.path(), format!("is {what}"), help)
}

fn safetensors(source: &Source) -> Result<Contents> {
    let header = Header::read(&mut Stream::new(source, 0, u64::MAX), Some(source.len()), source.path())?;
    let begin = source.len() - header.announced;
    let mut contents = Contents {
        format: Format::Safetensors,
        tensors: BTreeMap::new(),
        storages: Vec::new(),
        metadata: header.strings.into_iter().collect(),
    };
    for entry in header.entries {
        let storage = Storage {
            place: Location::At(begin + entry.begin),
            len: entry.end - entry.begin,
            big_endian: false,
            crc: None,
            name: "a tensor".to_owned(),
        };
        contents.tensors.insert(entry.name, Tensor { storage: contents.storages.len(), layout: Layout::dense(entry.dtype, entry.shape) });
        contents.storages.push(storage);
    }
    Ok(contents)
}

fn one_array(source: &Source) -> Result<Contents> {
    let head = source.read(0, source.len().min(npy::HEAD), "the NPY header")?;
    let npy::Header { layout, big_endian } = npy::header(&head, source.len(), source, "")?;
    let storage = Storage { place: Location::At(0), len: source.len(), big_endian, crc: None, name: "the array".to_owned() };
    let tensors = [(super::UNNAMED.to_owned(), Tensor { storage: 0, layout })].into();
    Ok(Contents { format: Format::Npy, tensors, storages: vec![storage], metadata: BTreeMap::new() })
}
