//! IDX, the format MNIST is published in: a header with type and sizes, then big-endian elements; plain or gzip-packed.
//!
//! In: a file, or its bytes. Out: sizes and elements, or an error that names the file, what is wrong with it and both sizes.
//! Always: the content is read no further than one byte past what the header announces, and memory is taken as content comes, so that
//! neither a wrong header nor a packed bomb takes memory: at most 64 KiB before the header is checked, then what it announces, of which
//! there is a limit where the content is packed or has no known length. gzip is recognised by its content, not by the name.

use flate2::read::MultiGzDecoder;
use std::{
    fs::File,
    io::{self, BufReader, Read},
    path::Path,
};
use unigrad_nn::{Error, Result, files};

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

/// Bytes that are decoded at once.
const PIECE: usize = 1 << 16;

const HELP: &str = "fetch the file again, and check that it is an IDX file (MNIST's format), plain or .gz";

impl Idx {
    /// Bytes of elements that a packed file may announce, unless [`Idx::read_at_most`] says otherwise.
    pub const MAX_BYTES: u64 = 4 << 30;

    /// Reads a file.
    pub fn read(path: impl AsRef<Path>) -> Result<Idx> {
        Idx::read_at_most(path, Idx::MAX_BYTES)
    }

    /// Reads a file whose elements have at most `limit` bytes, if it is packed. What is not packed is limited by its own length.
    pub fn read_at_most(path: impl AsRef<Path>, limit: u64) -> Result<Idx> {
        let path = path.as_ref();
        let file = File::open(path).map_err(|e| Error::read(path, e))?;
        let len = files::known_len(&file);
        Idx::decode(BufReader::new(file), len, limit, path)
    }

    /// Reads bytes; `path` is what errors name.
    pub fn from_bytes(bytes: &[u8], path: impl AsRef<Path>) -> Result<Idx> {
        Idx::from_bytes_at_most(bytes, path, Idx::MAX_BYTES)
    }

    /// As [`Idx::read_at_most`], from bytes.
    pub fn from_bytes_at_most(bytes: &[u8], path: impl AsRef<Path>, limit: u64) -> Result<Idx> {
        Idx::decode(bytes, Some(bytes.len() as u64), limit, path.as_ref())
    }

    fn decode(mut file: impl Read, len: Option<u64>, limit: u64, path: &Path) -> Result<Idx> {
        let mut start = Vec::with_capacity(2);
        file.by_ref().take(2).read_to_end(&mut start).map_err(|e| Error::read(path, e))?;
        let packed = start == [0x1f, 0x8b];
        let file = io::Cursor::new(start).chain(file);
        if packed {
            return Content { source: MultiGzDecoder::new(file), path }.decode(Some(limit));
        }
        Content { source: file, path }.decode(len.is_none().then_some(limit))
    }
}

/// What is left of a file's content, unpacked.
struct Content<'a, R> {
    source: R,
    path: &'a Path,
}

impl<R: Read> Content<'_, R> {
    fn wrong(&self, cause: String) -> Error {
        Error::format(self.path, cause, HELP)
    }

    /// Reads until `piece` is full or the content ends; how much that is.
    fn fill(&mut self, piece: &mut [u8], what: &str) -> Result<usize> {
        let mut there = 0;
        while there < piece.len() {
            match self.source.read(&mut piece[there..]) {
                Ok(0) => break,
                Ok(n) => there += n,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) if matches!(e.kind(), io::ErrorKind::UnexpectedEof | io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData) => {
                    return Err(self.wrong(format!("the gzip stream is damaged or truncated ({e}), in {what}")));
                }
                Err(e) => return Err(Error::read(self.path, e)),
            }
        }
        Ok(there)
    }

    fn header<const N: usize>(&mut self, before: usize) -> Result<[u8; N]> {
        let mut bytes = [0; N];
        let there = self.fill(&mut bytes, "the header")?;
        if there < N { Err(self.wrong(format!("truncated: the header ends after {} bytes", before + there))) } else { Ok(bytes) }
    }

    fn decode(mut self, limit: Option<u64>) -> Result<Idx> {
        let magic: [u8; 4] = self.header(0)?;
        let (element_size, rank) = match magic {
            [0, 0, 0x08 | 0x09, rank] => (1, rank),
            [0, 0, 0x0B, rank] => (2, rank),
            [0, 0, 0x0C | 0x0D, rank] => (4, rank),
            [0, 0, 0x0E, rank] => (8, rank),
            [a, b, c, d] => {
                let cause = format!("wrong magic number {a:02x}{b:02x}{c:02x}{d:02x}: an IDX file begins with 0000, its type and its rank");
                return Err(self.wrong(cause));
            }
        };
        let mut shape = Vec::with_capacity(usize::from(rank));
        for axis in 0..usize::from(rank) {
            shape.push(u32::from_be_bytes(self.header(4 + 4 * axis)?) as usize);
        }
        let expected = shape
            .iter()
            .try_fold(element_size, |n: u64, &size| n.checked_mul(size as u64))
            .filter(|&n| n < isize::MAX as u64)
            .ok_or_else(|| self.wrong(format!("the header announces {shape:?}, more than any file holds")))?;
        if let Some(limit) = limit.filter(|limit| expected > *limit) {
            let cause = format!("the header announces {shape:?}, {expected} bytes of data, and at most {limit} are unpacked");
            return Err(Error::format(self.path, cause, "unpack the file first, or read it with a greater limit (`Idx::read_at_most`)"));
        }
        let n = (expected / element_size) as usize;
        let data = match magic[2] {
            0x08 => IdxData::U8(self.elements(n, &shape, u8::from_be_bytes)?),
            0x09 => IdxData::I8(self.elements(n, &shape, i8::from_be_bytes)?),
            0x0B => IdxData::I16(self.elements(n, &shape, i16::from_be_bytes)?),
            0x0C => IdxData::I32(self.elements(n, &shape, i32::from_be_bytes)?),
            0x0D => IdxData::F32(self.elements(n, &shape, f32::from_be_bytes)?),
            _ => IdxData::F64(self.elements(n, &shape, f64::from_be_bytes)?),
        };
        if self.fill(&mut [0], "what follows the data")? > 0 {
            return Err(self.wrong(format!("oversized: the header announces {shape:?}, {expected} bytes of data, and there are more")));
        }
        Ok(Idx { shape, data })
    }

    /// `n` elements of `N` bytes, in memory that grows with what is there.
    fn elements<T: Clone, const N: usize>(&mut self, n: usize, shape: &[usize], decode: fn([u8; N]) -> T) -> Result<Vec<T>> {
        let mut elements: Vec<T> = Vec::new();
        let mut piece = vec![0; PIECE];
        while elements.len() < n {
            let wanted = (n - elements.len()).min(PIECE / N);
            let there = self.fill(&mut piece[..wanted * N], "the data")?;
            if there < wanted * N {
                let (found, expected) = (elements.len() * N + there, n * N);
                let cause = format!("truncated: the header announces {shape:?}, {expected} bytes of data, and there are {found}");
                return Err(self.wrong(cause));
            }
            if elements.capacity() < elements.len() + wanted {
                // Twice as many as before, and never more than there are.
                let more = elements.len().max(wanted).min(n - elements.len());
                elements.try_reserve_exact(more).map_err(|_| Error::read(self.path, io::ErrorKind::OutOfMemory.into()))?;
            }
            let (bytes, _) = piece[..wanted * N].as_chunks::<N>();
            elements.extend(bytes.iter().map(|bytes| decode(*bytes)));
        }
        Ok(elements)
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
    fn packed_files_have_a_limit() {
        let packed = gz(&TWO_BY_THREE);
        assert_eq!(Idx::from_bytes_at_most(&packed, "x", 6).unwrap().shape, [2, 3]);
        let error = |bytes: &[u8], limit| Idx::from_bytes_at_most(bytes, "x", limit).unwrap_err().to_string();
        assert!(error(&packed, 5).contains("6 bytes of data, and at most 5 are unpacked"));
        assert_eq!(Idx::from_bytes_at_most(&TWO_BY_THREE, "x", 5).unwrap().shape, [2, 3], "it is there already");
        let announced = [0, 0, 8, 2, 0, 2, 0, 0, 0, 2, 0, 0];
        assert!(error(&gz(&announced), Idx::MAX_BYTES).contains("17179869184 bytes of data, and at most 4294967296"));
        assert!(error(&announced, 5).contains("truncated"));
    }

    #[test]
    fn many_pieces() {
        let n = 3 * PIECE / 8 + 5;
        let numbers: Vec<f64> = (0..n).map(|i| i as f64 / 7.0).collect();
        let header = [&[0, 0, 0x0E, 1][..], &(n as u32).to_be_bytes()].concat();
        let plain = [header, numbers.iter().flat_map(|x| x.to_be_bytes()).collect()].concat();
        assert_eq!(Idx::from_bytes(&plain, "x").unwrap().data, IdxData::F64(numbers));
        assert_eq!(Idx::from_bytes(&gz(&plain), "x").unwrap(), Idx::from_bytes(&plain, "x").unwrap());
        assert!(error(&plain[..plain.len() - 1]).contains(&format!("{} bytes of data, and there are {}", 8 * n, 8 * n - 1)));
    }

    #[test]
    fn a_bomb_takes_no_memory() {
        // The header announces six bytes; megabytes of zeros follow.
        let packed = gz(&[&TWO_BY_THREE[..], &vec![0; 1 << 24]].concat());
        assert!(error(&packed).contains("oversized"));
    }
}
