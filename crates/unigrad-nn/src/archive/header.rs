//! The header of a safetensors file: which tensors it has, and where.
//!
//! In: the first bytes of a file. Out: an entry per tensor, in the order of the data, and the strings.
//! Always: names differ; each tensor has as many bytes as its shape and type need; the tensors lie one after another and fill the rest of the file.
//! Never: takes more than 64 MiB of memory, whatever the header says.

use super::{HELP, PAIRS, oversized, truncated};
use crate::error::{Error, Result};
use serde::{
    Deserialize, Deserializer,
    de::{Error as _, MapAccess, SeqAccess, Visitor},
};
use std::{borrow::Cow, collections::HashSet, fmt, io::Read, path::Path};
use unigrad_device::printable;
use unigrad_tensor::DType;

/// Bytes of a header. As text, as scratch space for a string of it, and as entries it then fits into 64 MiB.
const MAX_HEADER: u64 = 8 << 20;
/// The format's own limit; more means that these bytes are something else.
const FORMAT_LIMIT: u64 = 100_000_000;
const MAX_AXES: usize = 255;
const MAX_STRINGS: usize = 1 << 16;

pub(crate) struct Header {
    /// In the order of their data.
    pub(crate) entries: Vec<Entry>,
    pub(crate) strings: Vec<(String, String)>,
    /// Bytes of data.
    pub(crate) announced: u64,
}

pub(crate) struct Entry {
    pub(crate) name: String,
    pub(crate) dtype: DType,
    pub(crate) shape: Vec<usize>,
    /// Where its bytes are, from the end of the header.
    pub(crate) begin: u64,
    pub(crate) end: u64,
}

impl Header {
    /// Reads and checks it; `len` is how many bytes the file has, where that is known.
    pub(crate) fn read(source: &mut dyn Read, len: Option<u64>, path: &Path) -> Result<Header> {
        let wrong = |cause: String| Error::format(path, cause, HELP);
        // The length, and the byte that tells other files apart.
        let mut first = Vec::with_capacity(9);
        source.take(9).read_to_end(&mut first).map_err(|e| Error::read(path, e))?;
        let Some(size) = first.first_chunk::<8>() else {
            let there = first.len();
            return Err(wrong(format!("truncated: a safetensors file has at least 8 bytes, and this has {there}")));
        };
        let size = u64::from_le_bytes(*size);
        let after = len.map(|len| len.saturating_sub(8));
        if size > FORMAT_LIMIT || first.get(8).is_some_and(|byte| *byte != b'{') {
            return Err(wrong("wrong magic: this is not a safetensors file (its header does not begin with a length and `{`)".to_owned()));
        }
        let cut = |there: u64| wrong(format!("truncated: the header has {size} bytes, and only {there} are there"));
        if let Some(there) = after.filter(|there| *there < size) {
            return Err(cut(there));
        }
        if size > MAX_HEADER {
            let cause = format!("the header has {size} bytes, and at most {MAX_HEADER} are read");
            return Err(Error::format(path, cause, "split the file into several with fewer tensors or strings each"));
        }
        if size == 0 {
            return Err(wrong("the header is empty".to_owned()));
        }
        let mut text = Vec::with_capacity(size as usize);
        text.extend_from_slice(&first[8..]);
        source.take(size - text.len() as u64).read_to_end(&mut text).map_err(|e| Error::read(path, e))?;
        if (text.len() as u64) < size {
            return Err(cut(text.len() as u64));
        }
        let parsed: Parsed = serde_json::from_slice(&text).map_err(|e| {
            let what = if e.is_data() { "is not that of a safetensors file" } else { "is damaged" };
            wrong(format!("the header {what}: {}", printable(&e.to_string())))
        })?;
        let announced = parsed.tensors.iter().map(|(_, tensor)| tensor.data_offsets.1).max().unwrap_or(0);
        if let Some(there) = after.map(|after| after - size) {
            if there < announced {
                return Err(truncated(path, announced, there));
            }
            if there > announced {
                return Err(oversized(path, announced, there));
            }
        }
        let strings = parsed.strings;
        let entries = in_order(parsed.tensors).map_err(wrong)?;
        Ok(Header { entries, strings, announced })
    }
}

/// The tensors in the order of their data, which has neither gaps nor overlaps.
fn in_order(tensors: Vec<(String, Tensor<'_>)>) -> std::result::Result<Vec<Entry>, String> {
    let mut entries = Vec::with_capacity(tensors.len());
    for (name, Tensor { dtype, shape: Axes(shape), data_offsets: (begin, end) }) in tensors {
        let shown = printable(&name);
        let Some((dtype, _, _)) = PAIRS.iter().find(|(_, _, theirs)| *theirs == dtype) else {
            let dtype = printable(&dtype);
            return Err(format!("tensor {shown} has type {dtype}, which is not known here: convert it to a float or integer type"));
        };
        let needed = shape.iter().try_fold(dtype.size() as u64, |n, &size| n.checked_mul(size as u64));
        if end.checked_sub(begin) != needed || needed.is_none() {
            let needed = needed.map_or_else(|| "more bytes than a file can have".to_owned(), |n| format!("{n} bytes"));
            return Err(format!("tensor {shown}, {dtype} of shape {shape:?}, needs {needed}, and its data goes from {begin} to {end}"));
        }
        entries.push(Entry { dtype: *dtype, shape, begin, end, name });
    }
    entries.sort_by_key(|entry| (entry.begin, entry.end));
    let mut at = 0;
    for entry in &entries {
        if entry.begin != at {
            let name = printable(&entry.name);
            return Err(format!("the data of tensor {name} begins at {}, and that before it ends at {at}", entry.begin));
        }
        at = entry.end;
    }
    let mut names = HashSet::with_capacity(entries.len());
    match entries.iter().find(|entry| !names.insert(entry.name.as_str())) {
        Some(twice) => Err(format!("two tensors are called {}", printable(&twice.name))),
        None => Ok(entries),
    }
}

/// The header as it is written.
struct Parsed<'a> {
    tensors: Vec<(String, Tensor<'a>)>,
    strings: Vec<(String, String)>,
}

#[derive(Deserialize)]
struct Tensor<'a> {
    #[serde(borrow)]
    dtype: Cow<'a, str>,
    shape: Axes,
    data_offsets: (u64, u64),
}

struct Axes(Vec<usize>);

struct Strings(Vec<(String, String)>);

impl<'de> Deserialize<'de> for Parsed<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        struct Each;
        impl<'de> Visitor<'de> for Each {
            type Value = Parsed<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("tensors by name")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> std::result::Result<Parsed<'de>, A::Error> {
                let mut parsed = Parsed { tensors: Vec::new(), strings: Vec::new() };
                while let Some(name) = map.next_key::<String>()? {
                    if name == "__metadata__" {
                        // Whatever was there before: two of them are one, as in a map, and bounded as one.
                        parsed.strings = map.next_value::<Strings>()?.0;
                    } else {
                        parsed.tensors.push((name, map.next_value()?));
                    }
                }
                Ok(parsed)
            }
        }
        deserializer.deserialize_map(Each)
    }
}

impl<'de> Deserialize<'de> for Strings {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        struct Each;
        impl<'de> Visitor<'de> for Each {
            type Value = Strings;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("strings by name")
            }
            fn visit_unit<E>(self) -> std::result::Result<Strings, E> {
                Ok(Strings(Vec::new()))
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> std::result::Result<Strings, A::Error> {
                let mut strings = Vec::new();
                while let Some(entry) = map.next_entry::<String, String>()? {
                    if strings.len() == MAX_STRINGS {
                        return Err(A::Error::custom(format_args!("there are more than {MAX_STRINGS} strings")));
                    }
                    strings.push(entry);
                }
                Ok(Strings(strings))
            }
        }
        deserializer.deserialize_any(Each)
    }
}

impl<'de> Deserialize<'de> for Axes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        struct Each;
        impl<'de> Visitor<'de> for Each {
            type Value = Axes;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("the sizes of a tensor")
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> std::result::Result<Axes, A::Error> {
                let mut sizes = Vec::new();
                while let Some(size) = sequence.next_element::<usize>()? {
                    if sizes.len() == MAX_AXES {
                        return Err(A::Error::custom(format_args!("a tensor has more than {MAX_AXES} axes")));
                    }
                    sizes.push(size);
                }
                Ok(Axes(sizes))
            }
        }
        deserializer.deserialize_seq(Each)
    }
}
