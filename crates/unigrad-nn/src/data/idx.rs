//! IDX, the format MNIST is published in: a header with type and sizes, then big-endian elements; plain or gzip-packed.
//!
//! In: a file, or its bytes. Out: sizes and elements, or an error that names the file, what is wrong with it and both sizes.
//! Always: the content is read no further than one byte past what the header announces, so neither a wrong header nor a packed
//! bomb takes memory; gzip is recognised by its content, not by the name.

use crate::error::{Error, Result};
use flate2::read::MultiGzDecoder;
use std::{
    fs::File,
    io::{self, BufReader, Read},
    path::Path,
};

/// Elements, in the types that IDX knows.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub enum IdxData {
    U8(Vec<u8>),
    I8(Vec<i8>),
    I16(Vec<i16>),
    I32(Vec<i32>),
    F32(Vec<f32>),
    F64(Vec<f64>),
}

impl IdxData {
    /// The type's name.
    pub fn type_name(&self) -> &'static str {
        match self {
            IdxData::U8(_) => "u8",
            IdxData::I8(_) => "i8",
            IdxData::I16(_) => "i16",
            IdxData::I32(_) => "i32",
            IdxData::F32(_) => "f32",
            IdxData::F64(_) => "f64",
        }
    }
}

/// The content of an IDX file.
#[derive(Clone, Debug, PartialEq)]
pub struct Idx {
    /// Sizes, outermost first.
    pub shape: Vec<usize>,
    /// The elements, row-major.
    pub data: IdxData,
}

const HELP: &str = "fetch the file again, and check that it is an IDX file (MNIST's format), plain or .gz";

impl Idx {
    /// Reads a file.
    pub fn read(path: impl AsRef<Path>) -> Result<Idx> {
        let path = path.as_ref();
        let file = File::open(path).map_err(|e| Error::read(path, e))?;
        Idx::decode(BufReader::new(file), path)
    }

    /// Reads bytes; `path` is what errors name.
    pub fn from_bytes(bytes: &[u8], path: impl AsRef<Path>) -> Result<Idx> {
        Idx::decode(bytes, path.as_ref())
    }

    fn decode(mut file: impl Read, path: &Path) -> Result<Idx> {
        let mut start = Vec::with_capacity(2);
        file.by_ref().take(2).read_to_end(&mut start).map_err(|e| Error::read(path, e))?;
        let packed = start == [0x1f, 0x8b];
        let file = io::Cursor::new(start).chain(file);
        if packed { Idx::decode_plain(MultiGzDecoder::new(file), path) } else { Idx::decode_plain(file, path) }
    }

    fn decode_plain(mut content: impl Read, path: &Path) -> Result<Idx> {
        let mut take = |n: u64, what: &str| -> Result<Vec<u8>> {
            let mut bytes = Vec::new();
            match content.by_ref().take(n).read_to_end(&mut bytes) {
                Ok(_) => Ok(bytes),
                Err(e) if matches!(e.kind(), io::ErrorKind::UnexpectedEof | io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData) => {
                    Err(Error::format(
                        path,
                        format!("the gzip stream is damaged or truncated ({e}), {} bytes into {what}", bytes.len()),
                        HELP,
                    ))
                }
                Err(e) => Err(Error::read(path, e)),
            }
        };
        let truncated_header = |n: usize| Error::format(path, format!("truncated: the header ends after {n} bytes"), HELP);
        let magic = take(4, "the header")?;
        if magic.len() < 4 {
            return Err(truncated_header(magic.len()));
        }
        let (element_size, rank) = match (magic[0], magic[1], magic[2], magic[3]) {
            (0, 0, 0x08 | 0x09, rank) => (1, usize::from(rank)),
            (0, 0, 0x0B, rank) => (2, usize::from(rank)),
            (0, 0, 0x0C | 0x0D, rank) => (4, usize::from(rank)),
            (0, 0, 0x0E, rank) => (8, usize::from(rank)),
            _ => {
                let cause = format!(
                    "wrong magic number {:02x}{:02x}{:02x}{:02x}: an IDX file begins with 0000, its type and its rank",
                    magic[0], magic[1], magic[2], magic[3]
                );
                return Err(Error::format(path, cause, HELP));
            }
        };
        let sizes = take(4 * rank as u64, "the header")?;
        if sizes.len() < 4 * rank {
            return Err(truncated_header(4 + sizes.len()));
        }
        let shape: Vec<usize> = sizes.chunks_exact(4).map(|b| u32::from_be_bytes([b[0], b[1], b[2], b[3]]) as usize).collect();
        let expected = shape
            .iter()
            .try_fold(element_size as u64, |n, &size| n.checked_mul(size as u64))
            .filter(|&n| n < u64::MAX)
            .ok_or_else(|| Error::format(path, format!("the header announces {shape:?}, more than any file holds"), HELP))?;
        let bytes = take(expected + 1, "the data")?;
        let found = bytes.len() as u64;
        if found < expected {
            return Err(Error::format(
                path,
                format!("truncated: the header announces {shape:?}, {expected} bytes of data, and there are {found}"),
                HELP,
            ));
        }
        if found > expected {
            return Err(Error::format(
                path,
                format!("oversized: the header announces {shape:?}, {expected} bytes of data, and there are more"),
                HELP,
            ));
        }
        macro_rules! elements {
            ($variant:ident, $ty:ty) => {
                IdxData::$variant(
                    bytes.chunks_exact(size_of::<$ty>()).map(|b| <$ty>::from_be_bytes(std::array::from_fn(|i| b[i]))).collect(),
                )
            };
        }
        let data = match magic[2] {
            0x08 => IdxData::U8(bytes),
            0x09 => elements!(I8, i8),
            0x0B => elements!(I16, i16),
            0x0C => elements!(I32, i32),
            0x0D => elements!(F32, f32),
            _ => elements!(F64, f64),
        };
        Ok(Idx { shape, data })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::{Compression, write::GzEncoder};
    use std::io::Write;

    fn gz(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    fn error(bytes: &[u8]) -> String {
        Idx::from_bytes(bytes, "some.idx").unwrap_err().to_string()
    }

    const TWO_BY_THREE: [u8; 18] = [0, 0, 8, 2, 0, 0, 0, 2, 0, 0, 0, 3, 1, 2, 3, 4, 5, 6];

    #[test]
    fn plain_and_packed() {
        let idx = Idx::from_bytes(&TWO_BY_THREE, "x").unwrap();
        assert_eq!(idx, Idx { shape: vec![2, 3], data: IdxData::U8(vec![1, 2, 3, 4, 5, 6]) });
        assert_eq!(Idx::from_bytes(&gz(&TWO_BY_THREE), "x").unwrap(), idx);
    }

    #[test]
    fn every_type() {
        let file = |code: u8, element: &[u8]| [&[0, 0, code, 1, 0, 0, 0, 1], element].concat();
        let data = |code, element: &[u8]| Idx::from_bytes(&file(code, element), "x").unwrap().data;
        assert_eq!(data(0x09, &[0xff]), IdxData::I8(vec![-1]));
        assert_eq!(data(0x0B, &[0xff, 0xfe]), IdxData::I16(vec![-2]));
        assert_eq!(data(0x0C, &[0, 0, 1, 0]), IdxData::I32(vec![256]));
        assert_eq!(data(0x0D, &1.5f32.to_be_bytes()), IdxData::F32(vec![1.5]));
        assert_eq!(data(0x0E, &(-2.5f64).to_be_bytes()), IdxData::F64(vec![-2.5]));
        assert_eq!(Idx::from_bytes(&[0, 0, 8, 1, 0, 0, 0, 0], "x").unwrap().shape, [0]);
    }

    #[test]
    fn damaged_files_are_refused_with_sizes() {
        assert!(error(&TWO_BY_THREE[..16]).contains("truncated: the header announces [2, 3], 6 bytes of data, and there are 4"));
        assert!(error(&[&TWO_BY_THREE[..], &[0]].concat()).contains("oversized"));
        assert!(error(&TWO_BY_THREE[..7]).contains("the header ends after 7 bytes"));
        assert!(error(b"PNG!").contains("wrong magic number 504e4721"));
        assert!(error(&[]).contains("the header ends after 0 bytes"));
        assert!(error(&[0, 0, 8, 3, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255]).contains("more than any file holds"));
        let packed = gz(&TWO_BY_THREE);
        assert!(error(&packed[..packed.len() - 9]).contains("some.idx: "));
        assert!(error(&packed[..12]).contains("gzip"));
    }

    #[test]
    fn a_bomb_takes_no_memory() {
        // The header announces six bytes; megabytes of zeros follow.
        let packed = gz(&[&TWO_BY_THREE[..], &vec![0; 1 << 24]].concat());
        assert!(error(&packed).contains("oversized"));
    }
}
