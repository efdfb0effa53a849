//! safetensors files: named tensors and a few strings, as bytes on the host.
//!
//! In: a path. Out: tensors by name, or an error that says whether the file is truncated, oversized or no safetensors file at all.
//! Always: a file is replaced whole or not at all; tensors are in order of name, so equal content gives equal files.

use crate::{
    error::{Error, Result},
    files,
};
use safetensors::tensor::{Dtype, SafeTensors, TensorView};
use std::{
    collections::{BTreeMap, HashMap},
    fs::File,
    io::Read,
    path::Path,
};
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
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Archive {
    /// The tensors.
    pub tensors: BTreeMap<String, HostTensor>,
    /// The strings.
    pub metadata: BTreeMap<String, String>,
}

const PAIRS: [(DType, Dtype); 13] = [
    (DType::Bool, Dtype::BOOL),
    (DType::U8, Dtype::U8),
    (DType::I8, Dtype::I8),
    (DType::U16, Dtype::U16),
    (DType::I16, Dtype::I16),
    (DType::U32, Dtype::U32),
    (DType::I32, Dtype::I32),
    (DType::U64, Dtype::U64),
    (DType::I64, Dtype::I64),
    (DType::F16, Dtype::F16),
    (DType::BF16, Dtype::BF16),
    (DType::F32, Dtype::F32),
    (DType::F64, Dtype::F64),
];

const HELP: &str = "use a whole safetensors file; if it was copied or fetched, do that again";

impl Archive {
    /// Reads a file.
    pub fn load(path: impl AsRef<Path>) -> Result<Archive> {
        let path = path.as_ref();
        let mut file = File::open(path).map_err(|e| Error::read(path, e))?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).map_err(|e| Error::read(path, e))?;
        Archive::from_bytes(&bytes, path)
    }

    /// Reads bytes; `path` is what errors name.
    pub fn from_bytes(bytes: &[u8], path: impl AsRef<Path>) -> Result<Archive> {
        let path = path.as_ref();
        check_frame(bytes, path)?;
        let damaged = |e: safetensors::SafeTensorError| Error::format(path, format!("not a valid safetensors file: {e}"), HELP);
        let parsed = SafeTensors::deserialize(bytes).map_err(damaged)?;
        let (_, header) = SafeTensors::read_metadata(bytes).map_err(damaged)?;
        let mut archive = Archive::default();
        for (name, view) in parsed.tensors() {
            let Some((dtype, _)) = PAIRS.iter().find(|(_, theirs)| *theirs == view.dtype()) else {
                let cause = format!("tensor {name} has type {:?}, which is not known here", view.dtype());
                return Err(Error::format(path, cause, "convert it to a float or integer type"));
            };
            archive.tensors.insert(name, HostTensor { dtype: *dtype, shape: view.shape().to_vec(), bytes: view.data().to_vec() });
        }
        archive.metadata.extend(header.metadata().iter().flatten().map(|(k, v)| (k.clone(), v.clone())));
        Ok(archive)
    }

    /// Replaces the file at `path` with this content.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        let path = path.as_ref();
        let bytes = self.to_bytes(path)?;
        files::replace(path, |file| file.write_all(&bytes))
    }

    fn to_bytes(&self, path: &Path) -> Result<Vec<u8>> {
        let damaged = |name: &str, e: safetensors::SafeTensorError| {
            Error::format(path, format!("{name} cannot be saved: {e}"), "this is a mistake of unigrad: please report it")
        };
        let mut views = Vec::with_capacity(self.tensors.len());
        for (name, tensor) in &self.tensors {
            let dtype = PAIRS.iter().find(|(ours, _)| *ours == tensor.dtype).map_or(Dtype::U8, |(_, theirs)| *theirs);
            views.push((name, TensorView::new(dtype, tensor.shape.clone(), &tensor.bytes).map_err(|e| damaged(name, e))?));
        }
        let metadata: HashMap<String, String> = self.metadata.iter().map(|(k, v)| (k.clone(), v.clone())).collect();
        safetensors::serialize(views, (!metadata.is_empty()).then_some(metadata)).map_err(|e| damaged("the file", e))
    }
}

/// Tells truncated and oversized files and files of another kind apart, with sizes, before the content is looked at.
fn check_frame(bytes: &[u8], path: &Path) -> Result<()> {
    let len = bytes.len() as u64;
    let wrong = |cause: String| Err(Error::format(path, cause, HELP));
    let Some(first) = bytes.first_chunk::<8>() else {
        return wrong(format!("truncated: a safetensors file has at least 8 bytes, and this has {len}"));
    };
    let header_len = u64::from_le_bytes(*first);
    // The format's own limit; more means that these bytes are something else.
    if header_len > 100_000_000 || (len > 8 && bytes[8] != b'{') {
        return wrong("wrong magic: this is not a safetensors file (its header does not begin with a length and `{`)".to_owned());
    }
    if len < 8 + header_len {
        return wrong(format!("truncated: the header has {header_len} bytes, and only {} are there", len - 8));
    }
    let header = &bytes[8..8 + header_len as usize];
    let Ok(serde_json::Value::Object(entries)) = serde_json::from_slice(header) else {
        return wrong("the header is damaged (it is not a JSON object)".to_owned());
    };
    let end = entries.iter().filter(|(name, _)| *name != "__metadata__").filter_map(|(_, e)| e.get("data_offsets")?.get(1)?.as_u64()).max();
    let (announced, there) = (end.unwrap_or(0), len - 8 - header_len);
    if there < announced {
        return wrong(format!("truncated: the header announces {announced} bytes of data, and there are {there}"));
    }
    if there > announced {
        return wrong(format!("oversized: the header announces {announced} bytes of data, and there are {there}"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Archive {
        let tensor = |shape: &[usize], dtype: DType| HostTensor {
            dtype,
            shape: shape.to_vec(),
            bytes: (0..shape.iter().product::<usize>() * dtype.size()).map(|i| i as u8).collect(),
        };
        Archive {
            tensors: [
                ("a.weight".to_owned(), tensor(&[2, 3], DType::F32)),
                ("n".to_owned(), tensor(&[], DType::I64)),
                ("z".to_owned(), tensor(&[0], DType::BF16)),
            ]
            .into(),
            metadata: [("epoch".to_owned(), "3".to_owned())].into(),
        }
    }

    #[test]
    fn there_and_back() {
        let path = std::env::temp_dir().join(format!("unigrad-archive-{}.safetensors", std::process::id()));
        sample().save(&path).unwrap();
        assert_eq!(Archive::load(&path).unwrap(), sample());
        std::fs::remove_file(path).unwrap();
    }

    #[test]
    fn headers_of_any_depth_are_refused() {
        let small = std::thread::Builder::new().stack_size(256 << 10).spawn(|| {
            for (open, close) in [("[", "]"), ("{\"a\":", "}")] {
                for depth in [200, 20_000, 1_000_000] {
                    for closed in [true, false] {
                        let value = format!("{}1{}", open.repeat(depth), if closed { close.repeat(depth) } else { String::new() });
                        for header in [format!("{{\"a\":{value}}}"), format!("{{\"__metadata__\":{{\"a\":{value}}}}}")] {
                            let bytes = [&(header.len() as u64).to_le_bytes()[..], header.as_bytes()].concat();
                            let error = Archive::from_bytes(&bytes, "deep.safetensors").unwrap_err().to_string();
                            assert!(error.contains("the header is damaged"), "{error}");
                        }
                    }
                }
            }
        });
        small.unwrap().join().unwrap();
    }

    #[test]
    fn damaged_files_are_refused() {
        let bytes = sample().to_bytes(Path::new("x")).unwrap();
        let error = |bytes: &[u8]| Archive::from_bytes(bytes, "some.safetensors").unwrap_err().to_string();
        assert!(error(&bytes[..bytes.len() - 1]).contains("truncated: the header announces 32 bytes of data, and there are 31"));
        assert!(error(&bytes[..40]).contains("truncated: the header has"));
        assert!(error(&bytes[..5]).contains("at least 8 bytes"));
        assert!(error(&[&bytes[..], b"x"].concat()).contains("oversized"));
        assert!(error(b"PK\x03\x04 this is a zip file").contains("wrong magic"));
        let mut broken = bytes.clone();
        broken[10] = b'}';
        assert!(error(&broken).contains("some.safetensors: "));
    }
}
