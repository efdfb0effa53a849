//! PyTorch's checkpoints: `.pt` and `.pth` files, as zip archives (PyTorch 1.6 and newer) or in the older format.
//!
//! In: a file. Out: its tensors by dotted name, and its numbers and texts as strings.
//! Always: the file is data: its pickle is read by an interpreter that knows constructors of data and nothing else ([`globals`]), and what the
//! pickle says of tensors is compared with what the file has before memory is taken.
//! Never: runs what a file brings; a file with code in it is refused, with the code's name.
//!
//! The zip layout is that of `caffe2/serialize/inline_container.h`, the older one that of `torch/serialization.py` (`_legacy_save`).

mod calls;
mod flatten;
mod globals;
mod opcodes;
mod pickle;
mod spelling;
mod values;

use super::{
    Contents, Format, Tensor,
    layout::{Layout, Location, Storage},
    source::Source,
    zip,
};
use crate::error::{Error, Result};
use flatten::Flat;
use globals::Global;
use pickle::MAX_PICKLE;
use std::{collections::BTreeMap, sync::Arc};
use unigrad_device::printable;
use unigrad_tensor::DType;
use values::{Loaded, Node, Stored, Value};

/// What the first pickle of the older format is, in decimal digits.
const MAGIC: &str = "119547037146038801333356";
/// How the older format begins: protocol 2, the magic number.
pub(super) const OLD: &[u8] = &[0x80, 2, 0x8a, 10, 0x6c, 0xfc, 0x9c, 0x46, 0xf9, 0x20, 0x6a, 0xa8, 0x50, 0x19];
/// The version of the older format.
const VERSION: i64 = 1001;
/// The entry that makes a zip archive a checkpoint.
const DATA: &str = "data.pkl";

/// A known name that is a value in itself.
fn word(global: Global) -> Option<&'static str> {
    match global {
        Global::TorchType(name) => Some(name),
        _ => None,
    }
}

/// The folder that a checkpoint's entries are in, with its `/`.
pub(super) fn folder(entries: &[zip::Entry]) -> Option<&str> {
    entries.iter().filter_map(|entry| entry.name.strip_suffix(DATA)).find(|folder| folder.is_empty() || folder.ends_with('/'))
}

/// Reads what a zip archive has.
pub(super) fn open_zip(source: &Source, entries: &[zip::Entry], folder: &str) -> Result<Contents> {
    let of_script =
        |entry: &zip::Entry| entry.name.strip_prefix(folder).is_some_and(|name| name == "constants.pkl" || name.starts_with("code/"));
    if entries.iter().any(of_script) {
        let help = "in PyTorch, save its tensors: `torch.save(torch.jit.load(file).state_dict(), \"tensors.pt\")`";
        return Err(Error::format(source.path(), "contains code: this is a TorchScript archive, a program; it was not run", help));
    }
    let by_name: BTreeMap<&str, &zip::Entry> = entries.iter().filter_map(|entry| Some((entry.name.strip_prefix(folder)?, entry))).collect();
    let missing = |name: &str| source.damaged(format!("the zip archive has no entry {}", printable(&format!("{folder}{name}"))));
    let big_endian = match by_name.get("byteorder").map(|entry| entry.read(source, 16)).transpose()?.as_deref() {
        None | Some(b"little") => false,
        Some(b"big") => true,
        Some(_) => return Err(source.damaged("an order of bytes that is neither little nor big")),
    };
    let data = by_name.get(DATA).ok_or_else(|| missing(DATA))?;
    let pickle: Arc<[u8]> = data.read(source, MAX_PICKLE)?.into();
    let loaded = pickle::load(source, DATA, &pickle, 0)?;
    if loaded.end != pickle.len() {
        return Err(source.damaged(format!("{DATA}: {} bytes follow its end", pickle.len() - loaded.end)));
    }
    let flat = flatten::flatten(&loaded, source)?;
    let stored = |key: &str| {
        let name = format!("data/{key}");
        let entry = by_name.get(name.as_str()).ok_or_else(|| missing(&name))?;
        entry.storage(source, big_endian)
    };
    contents(source, &loaded, flat, Format::PyTorch, stored)
}

/// Reads what a file of the older format has.
pub(super) fn open_old(source: &Source) -> Result<Contents> {
    let pickle: Arc<[u8]> = source.read(0, source.len().min(MAX_PICKLE), "the pickles")?.into();
    let mut at = 0;
    let mut next = |name: &str| {
        let loaded = pickle::load(source, name, &pickle, at)?;
        at = loaded.end;
        Ok::<_, Error>(loaded)
    };
    let magic = next("the magic number")?;
    if !matches!(magic.node(magic.root), Some(Node::Long(digits)) if **digits == *MAGIC) {
        let help =
            "save tensors with `torch.save`, `safetensors.torch.save_file` or `numpy.savez`; a pickle of other things may be a program";
        return Err(Error::format(source.path(), "is a pickle, and no checkpoint of PyTorch", help));
    }
    let version = next("the version")?;
    if version.root != Value::Int(VERSION) {
        return Err(source.damaged(format!("a version that is not {VERSION}, in PyTorch's older format")));
    }
    // About the machine that wrote it; tensors are little-endian whatever it was.
    next("the machine")?;
    let loaded = next("the object")?;
    let keys = next("the keys")?;
    let Some(Node::List(order)) = keys.node(keys.root) else { return Err(source.damaged("the list of storages is none")) };
    let flat = flatten::flatten(&loaded, source)?;
    let known: BTreeMap<&str, (u64, u64)> = loaded
        .storages
        .iter()
        .filter_map(|stored| match stored {
            Stored::Keyed { key, dtype, numel } => Some((key.as_str(), (dtype.map_or(1, DType::size) as u64, *numel))),
            Stored::Inside(..) => None,
        })
        .collect();
    // One after the other: the number of elements, then the elements.
    let mut places = BTreeMap::new();
    let mut begin = at as u64;
    for key in order {
        let found = keys.text(*key).and_then(|key| Some((key, known.get(key)?)));
        let Some((key, (size, numel))) = found else { return Err(source.damaged("a storage without a tensor, in the list of storages")) };
        let count = source.read(begin, 8, "a storage's number of elements")?;
        let count = count.first_chunk().map_or(0, |count| u64::from_le_bytes(*count));
        let len = numel.checked_mul(*size).filter(|len| count == *numel && *len <= source.len());
        let len = len.ok_or_else(|| source.damaged(format!("storage {}: {count} elements where {numel} are announced", printable(key))))?;
        begin += 8;
        places.insert(key.to_owned(), (begin, len));
        begin += len;
    }
    if begin != source.len() {
        let what = if begin > source.len() { "truncated" } else { "oversized" };
        return Err(source.damaged(format!("{what}: the storages end at {begin}, and the file has {} bytes", source.len())));
    }
    let stored = |key: &str| {
        let (at, len) =
            places.get(key).ok_or_else(|| source.damaged(format!("storage {} is not in the list of storages", printable(key))))?;
        Ok(Storage { place: Location::At(*at), len: *len, big_endian: false, crc: None, name: format!("storage {}", printable(key)) })
    };
    contents(source, &loaded, flat, Format::PyTorchLegacy, stored)
}

/// Compares tensors with their storages.
fn contents(source: &Source, loaded: &Loaded, flat: Flat, format: Format, find: impl Fn(&str) -> Result<Storage>) -> Result<Contents> {
    let Flat { tensors: views, texts, storages: stored } = flat;
    let mut storages = Vec::with_capacity(stored.len());
    for stored in &stored {
        storages.push(match stored {
            Stored::Inside(bytes, big_endian) => {
                let (pickle, range) = flatten::inside(bytes, loaded);
                Storage {
                    len: range.len() as u64,
                    place: Location::Memory(pickle, range),
                    big_endian: *big_endian,
                    crc: None,
                    name: DATA.to_owned(),
                }
            }
            Stored::Keyed { key, dtype, numel } => {
                let storage = find(key)?;
                let needed = numel.checked_mul(dtype.map_or(1, DType::size) as u64);
                if needed != Some(storage.len) {
                    let there = storage.len;
                    let cause = format!("{}: {numel} elements are announced, and {there} bytes are there", storage.name);
                    return Err(source.damaged(cause));
                }
                storage
            }
        });
    }
    let mut tensors = BTreeMap::new();
    for (name, view) in views {
        let values::View { storage, dtype, shape, strides, offset } = view;
        let offset = (offset as u64).saturating_mul(dtype.size() as u64);
        let layout = Layout { dtype, shape, strides, offset };
        let len = storages.get(storage as usize).map_or(0, |storage: &Storage| storage.len);
        layout.span(len).map_err(|wrong| source.damaged(format!("tensor {} is {wrong}", printable(&name))))?;
        tensors.insert(name, Tensor { storage: storage as usize, layout });
    }
    Ok(Contents { format, tensors, storages, metadata: texts })
}
