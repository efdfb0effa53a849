//! Models in several safetensors files, with an index that says which tensor is in which: `model.safetensors.index.json`, as Hugging Face writes it.
//!
//! In: an index, or tensors and a size. Out: the parts, opened and not yet read; or parts and index.
//! Always: a part is a file beside the index, and has the tensors that the index says. When parts are replaced, the index is removed first and
//! written last, so that there is no time at which it names parts of another model.
//! Never: opens a file of another folder.

use super::{Format, Part, TensorFile, detect, source::Source};
use crate::{
    archive::{Archive, HostTensor},
    error::{Error, Result},
    files,
};
use serde::{
    Deserialize, Deserializer,
    de::{Error as _, MapAccess, Visitor},
};
use std::{
    collections::BTreeMap,
    fmt, io,
    path::{Component, Path, PathBuf},
};
use unigrad_device::printable;

/// Bytes of an index: names of some 500,000 tensors.
const MAX_INDEX: u64 = 64 << 20;
/// Parts of a model; each is an open file.
const MAX_PARTS: usize = 1000;

#[derive(Deserialize)]
struct Index {
    #[serde(default)]
    metadata: BTreeMap<String, serde_json::Value>,
    weight_map: WeightMap,
}

/// Names of tensors and of parts. A tensor that stands twice is an error, and not the last of the two.
struct WeightMap(BTreeMap<String, String>);

impl<'de> Deserialize<'de> for WeightMap {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        struct Each;
        impl<'de> Visitor<'de> for Each {
            type Value = WeightMap;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("files by tensor")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> std::result::Result<WeightMap, A::Error> {
                let mut parts = BTreeMap::new();
                while let Some((name, part)) = map.next_entry::<String, String>()? {
                    if parts.contains_key(&name) {
                        return Err(A::Error::custom(format_args!("tensor {name} stands twice")));
                    }
                    parts.insert(name, part);
                }
                Ok(WeightMap(parts))
            }
        }
        deserializer.deserialize_map(Each)
    }
}

pub(super) fn open(source: &Source, limit: u64) -> Result<TensorFile> {
    let path = source.path();
    let help = "name a `model.safetensors.index.json` that lies beside its parts; if it was fetched, do that again";
    let wrong = |cause: String| Error::format(path, cause, help);
    if source.len() > MAX_INDEX {
        return Err(wrong(format!("has {} bytes, and at most {MAX_INDEX} of an index are read", source.len())));
    }
    let text = source.read(0, source.len(), "the index")?;
    let index: Index =
        serde_json::from_slice(&text).map_err(|e| wrong(format!("is no index of tensors: {}", printable(&e.to_string()))))?;
    drop(text);
    let folder = path.parent().unwrap_or(Path::new(""));
    let mut parts: Vec<Part> = Vec::new();
    let mut opened: BTreeMap<String, usize> = BTreeMap::new();
    let mut names = BTreeMap::new();
    for (name, file) in index.weight_map.0 {
        let at = match opened.get(&file) {
            Some(at) => *at,
            None => {
                let shown = printable(&file).into_owned();
                let is_beside =
                    matches!(Path::new(&file).components().collect::<Vec<_>>()[..], [Component::Normal(only)] if only == file.as_str());
                if !is_beside || file.contains(['/', '\\', ':']) {
                    return Err(wrong(format!("names a part {shown}, which is not a file beside it")));
                }
                if parts.len() == MAX_PARTS {
                    return Err(wrong(format!("names more than {MAX_PARTS} parts")));
                }
                let part = Source::open(&folder.join(&file))?;
                if detect::is_index(&part)? {
                    return Err(wrong(format!("names a part {shown}, which is itself an index")));
                }
                parts.push(detect::open(part)?);
                opened.insert(file.clone(), parts.len() - 1);
                parts.len() - 1
            }
        };
        if !parts.get(at).is_some_and(|part| part.contents.tensors.contains_key(&name)) {
            return Err(wrong(format!("says that tensor {} is in {}, which does not have it", printable(&name), printable(&file))));
        }
        names.insert(name, at);
    }
    // What a part has and the index does not know would be lost.
    for (file, at) in &opened {
        let unknown = parts[*at].contents.tensors.keys().find(|name| names.get(*name) != Some(at));
        if let Some(name) = unknown {
            return Err(wrong(format!("does not say that {} has a tensor {}", printable(file), printable(name))));
        }
    }
    let mut metadata = BTreeMap::new();
    for part in parts.iter().rev() {
        metadata.extend(part.contents.metadata.clone());
    }
    let said = index.metadata.into_iter().filter(|(name, _)| name != TOTAL);
    metadata.extend(said.map(|(name, value)| (name, value.as_str().map_or_else(|| value.to_string(), str::to_owned))));
    Ok(TensorFile { path: path.to_owned(), format: Format::Index, parts, names, metadata, limit })
}

/// What the index says of the sum of all tensors' bytes.
const TOTAL: &str = "total_size";
const ENDING: &str = ".safetensors";

impl Archive {
    /// Replaces a model in parts of at most `max_bytes` bytes of tensors each (a larger tensor has a part of its own): for `path` `dir/model.safetensors` these are
    /// `dir/model-00001-of-00003.safetensors`, …, and `dir/model.safetensors.index.json`, which [`Archive::open`] and [`TensorFile::open`] take. What fits into
    /// one part is `path` itself, without an index. Gives the path to open.
    ///
    /// Each part has the metadata. Parts that an earlier, larger model left are not removed.
    ///
    /// # Errors
    /// `path` does not end with `.safetensors`, the parts would be too many, or a file cannot be written. Then there is no index.
    ///
    /// ```
    /// # use unigrad_nn::{Archive, HostTensor};
    /// # use unigrad_tensor::DType;
    /// let folder = std::env::temp_dir().join("unigrad-doc-shards");
    /// let mut archive = Archive::default();
    /// for name in ["a", "b", "c"] {
    ///     archive.tensors.insert(name.into(), HostTensor { dtype: DType::F32, shape: vec![10], bytes: vec![0; 40] });
    /// }
    /// let index = archive.save_shards(folder.join("model.safetensors"), 80)?;
    /// assert!(index.ends_with("model.safetensors.index.json") && folder.join("model-00002-of-00002.safetensors").exists());
    /// assert_eq!(Archive::open(index)?, archive);
    /// # std::fs::remove_dir_all(folder).unwrap();
    /// # Ok::<(), unigrad_nn::Error>(())
    /// ```
    pub fn save_shards(&self, path: impl AsRef<Path>, max_bytes: u64) -> Result<PathBuf> {
        let path = path.as_ref();
        let name =
            path.file_name().and_then(|name| name.to_str()).and_then(|name| name.strip_suffix(ENDING)).filter(|name| !name.is_empty());
        let Some(name) = name else {
            let cause = format!("{} does not end with {ENDING}", path.display());
            return Err(Error::argument(cause, "name it `model.safetensors`, for example: parts and index are called after it"));
        };
        let mut parts: Vec<BTreeMap<String, HostTensor>> = Vec::new();
        let mut room = 0;
        for (name, tensor) in &self.tensors {
            let n = tensor.bytes.len() as u64;
            if parts.is_empty() || n > room {
                parts.push(BTreeMap::new());
                room = max_bytes;
            }
            room = room.saturating_sub(n);
            if let Some(part) = parts.last_mut() {
                part.insert(name.clone(), HostTensor { dtype: tensor.dtype, shape: tensor.shape.clone(), bytes: Vec::new() });
            }
        }
        let n = parts.len();
        if n > MAX_PARTS {
            let cause = format!("{n} parts of at most {max_bytes} bytes, and at most {MAX_PARTS} are read again");
            return Err(Error::format(path, cause, "allow parts of more bytes"));
        }
        let index = path.with_file_name(format!("{name}{ENDING}.index.json"));
        match std::fs::remove_file(&index) {
            Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(Error::write(&index, e)),
            _ => {}
        }
        if n <= 1 {
            self.save(path)?;
            return Ok(path.to_owned());
        }
        let (mut weight_map, mut total) = (serde_json::Map::new(), 0u64);
        for (i, mut tensors) in parts.into_iter().enumerate() {
            let file = format!("{name}-{:05}-of-{n:05}{ENDING}", i + 1);
            for (name, tensor) in &mut tensors {
                // One part at a time is in memory twice.
                tensor.bytes.clone_from(&self.tensors[name].bytes);
                total += tensor.bytes.len() as u64;
                weight_map.insert(name.clone(), file.clone().into());
            }
            Archive { tensors, metadata: self.metadata.clone() }.save(path.with_file_name(&file))?;
        }
        let text = serde_json::json!({ "metadata": { TOTAL: total }, "weight_map": weight_map });
        let text = format!("{text:#}\n");
        files::replace(&index, |file| file.write_all(text.as_bytes()))?;
        Ok(index)
    }
}
