//! Where a tensor's elements are in a file, and how they become row-major and little-endian.
//!
//! In: a storage (bytes in a file, packed or not, or in memory) and a view of it (shape, strides, offset). Out: the tensor on the host.
//! Always: a view is checked against its storage when it is made, so that reading takes what was announced and is there; memory is taken after
//! that check. A storage that is read whole is compared with its checksum, if it has one.
//! Never: reads more of a storage that is not packed than the elements' span.

use super::source::{self, Source};
use crate::{archive::HostTensor, error::Result};
use flate2::{Crc, read::DeflateDecoder};
use std::{io::Read, ops::Range, sync::Arc};
use unigrad_tensor::DType;

/// Bytes that tensors view.
#[derive(Clone, Debug)]
pub(super) struct Storage {
    pub(super) place: Location,
    /// How many bytes there are, unpacked.
    pub(super) len: u64,
    /// Whether numbers in it begin with their high byte.
    pub(super) big_endian: bool,
    /// The checksum (CRC-32) of all bytes, unpacked.
    pub(super) crc: Option<u32>,
    /// What errors call it.
    pub(super) name: String,
}

#[derive(Clone, Debug)]
pub(super) enum Location {
    /// From a position of the file on.
    At(u64),
    /// From a position of the file on, with so many packed bytes.
    Deflated(u64, u64),
    /// In memory already.
    Memory(Arc<[u8]>, Range<usize>),
}

/// How a tensor lies in its storage. Strides count elements, the offset bytes.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Layout {
    pub(super) dtype: DType,
    pub(super) shape: Vec<usize>,
    pub(super) strides: Vec<usize>,
    pub(super) offset: u64,
}

/// Bytes of a header before a tensor's data, which are read to check both.
const MAX_BEFORE: u64 = 1 << 17;
/// Axes that a tensor may have.
pub(super) const MAX_AXES: usize = 255;

/// A tensor's bytes, if a file can have as many.
pub(super) fn n_bytes(dtype: DType, shape: &[usize]) -> Option<u64> {
    // A zero anywhere makes it nothing, whatever the others are.
    if shape.contains(&0) {
        return Some(0);
    }
    shape.iter().try_fold(dtype.size() as u64, |n, &size| n.checked_mul(size as u64)).filter(|n| *n <= i64::MAX as u64)
}

/// The strides of elements that lie in order: the last axis is the innermost, or the first one (Fortran's order).
pub(super) fn in_order(shape: &[usize], fortran: bool) -> Vec<usize> {
    let mut strides = vec![1; shape.len()];
    let mut stride = 1usize;
    let mut step = |axis: usize| {
        strides[axis] = stride;
        // What overflows belongs to a tensor without elements, or is refused by its size.
        stride = stride.saturating_mul(shape[axis].max(1));
    };
    if fortran {
        (0..shape.len()).for_each(&mut step)
    } else {
        (0..shape.len()).rev().for_each(&mut step)
    }
    strides
}

impl Layout {
    /// Elements in order, from the first byte on.
    pub(super) fn dense(dtype: DType, shape: Vec<usize>) -> Layout {
        Layout { strides: in_order(&shape, false), dtype, shape, offset: 0 }
    }

    pub(super) fn n_bytes(&self) -> Option<u64> {
        n_bytes(self.dtype, &self.shape)
    }

    /// The bytes of the storage that its elements lie in, or what is wrong.
    pub(super) fn span(&self, storage: u64) -> std::result::Result<Range<u64>, String> {
        let Layout { dtype, shape, strides, offset } = self;
        if shape.len() > MAX_AXES || shape.len() != strides.len() {
            return Err(format!("has {} sizes and {} strides, and at most {MAX_AXES} axes are read", shape.len(), strides.len()));
        }
        let wrong =
            || format!("{dtype} of shape {shape:?} with strides {strides:?} from byte {offset} on, in a storage of {storage} bytes");
        if self.n_bytes().ok_or_else(wrong)? == 0 {
            return Ok(0..0);
        }
        let size = dtype.size() as u64;
        let mut steps = shape.iter().zip(strides).map(|(n, stride)| (*n as u64 - 1).checked_mul(*stride as u64));
        let last = steps.try_fold(0u64, |sum, step| sum.checked_add(step?));
        let end = last.and_then(|last| last.checked_add(1)?.checked_mul(size)?.checked_add(*offset)).filter(|end| *end <= storage);
        Ok(*offset..end.ok_or_else(wrong)?)
    }

    /// Whether the elements of the span are the tensor's, in its order.
    fn is_dense(&self) -> bool {
        let wanted = in_order(&self.shape, false);
        let same = |axis: usize| self.shape[axis] == 1 || self.strides[axis] == wanted[axis];
        (0..self.shape.len()).all(same)
    }
}

impl Storage {
    /// The tensor that a checked layout says.
    pub(super) fn read(&self, source: &Source, layout: &Layout) -> Result<HostTensor> {
        let span = layout.span(self.len).map_err(|wrong| source.damaged(format!("{}: {wrong}", self.name)))?;
        let mut bytes = self.bytes(source, span)?;
        if !layout.is_dense() {
            bytes = gathered(source, &bytes, layout)?;
        }
        let size = layout.dtype.size();
        if self.big_endian && size > 1 {
            bytes.chunks_exact_mut(size).for_each(<[u8]>::reverse);
        }
        if layout.dtype == DType::Bool {
            // Whatever is not 0 is true, as where they came from.
            bytes.iter_mut().for_each(|byte| *byte = u8::from(*byte != 0));
        }
        Ok(HostTensor { dtype: layout.dtype, shape: layout.shape.clone(), bytes })
    }

    /// All bytes, as they are.
    pub(super) fn all(&self, source: &Source) -> Result<Vec<u8>> {
        self.bytes(source, 0..self.len)
    }

    /// A part of the storage's bytes.
    fn bytes(&self, source: &Source, span: Range<u64>) -> Result<Vec<u8>> {
        let n = span.end - span.start;
        match &self.place {
            Location::At(at) => {
                let bytes = source.read(at.saturating_add(span.start), n, &self.name)?;
                // With a header before it, the whole is checked, piece by piece.
                if self.crc.is_some() && span.start <= MAX_BEFORE && span.end == self.len {
                    let before = source.read(*at, span.start, &self.name)?;
                    self.check(&[&before, &bytes], source)?;
                }
                Ok(bytes)
            }
            Location::Deflated(at, packed) => {
                let mut all = inflate(source, *at, *packed, self.len, &self.name)?;
                self.check(&[&all], source)?;
                if n < self.len {
                    // Compared with the length, which is that of `all`.
                    all.drain(..span.start as usize);
                    all.truncate(n as usize);
                    all.shrink_to_fit();
                }
                Ok(all)
            }
            Location::Memory(all, range) => {
                match all.get(range.clone()).and_then(|part| part.get(span.start as usize..span.end as usize)) {
                    Some(part) => Ok(part.to_vec()),
                    None => Err(source.damaged(format!("{}: has fewer bytes than announced", self.name))),
                }
            }
        }
    }

    /// Compares all bytes with the checksum, if there is one.
    fn check(&self, pieces: &[&[u8]], source: &Source) -> Result<()> {
        let Some(wanted) = self.crc else { return Ok(()) };
        let mut crc = Crc::new();
        pieces.iter().for_each(|piece| crc.update(piece));
        match crc.sum() == wanted {
            true => Ok(()),
            false => Err(source.damaged(format!(
                "{}: the checksum is {:08x}, and {wanted:08x} is announced: the file is damaged",
                self.name,
                crc.sum()
            ))),
        }
    }
}

/// What `packed` bytes from `at` on unpack to, which must be `len` bytes.
pub(super) fn inflate(source: &Source, at: u64, packed: u64, len: u64, name: &str) -> Result<Vec<u8>> {
    let wrong = |there: String| source.damaged(format!("{name}: announces {len} bytes, and unpacks to {there}"));
    // No stream of `deflate` has more than 1032 bytes for one (two bits for 258), so a lie is seen before memory is taken for it.
    if len / 1033 > packed {
        return Err(wrong(format!("at most {} ({packed} packed)", packed.saturating_mul(1032))));
    }
    let mut bytes = Vec::new();
    source::reserve(&mut bytes, len, source.path())?;
    let mut stream = DeflateDecoder::new(source::Stream::new(source, at, packed));
    let unpacked = (&mut stream).take(len).read_to_end(&mut bytes);
    let more = unpacked.and_then(|_| stream.read(&mut [0]));
    match more {
        Err(e) => Err(source.damaged(format!("{name}: the packed data are damaged or truncated ({e})"))),
        Ok(more) if more > 0 => Err(wrong("more".to_owned())),
        Ok(_) if (bytes.len() as u64) < len => Err(wrong(bytes.len().to_string())),
        Ok(_) => Ok(bytes),
    }
}

/// The first `n` bytes of what is packed there.
pub(super) fn inflate_head(source: &Source, at: u64, packed: u64, n: u64, name: &str) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let stream = DeflateDecoder::new(source::Stream::new(source, at, packed));
    match stream.take(n).read_to_end(&mut bytes) {
        Ok(there) if there as u64 == n => Ok(bytes),
        Ok(there) => Err(source.damaged(format!("{name}: announces at least {n} bytes, and unpacks to {there}"))),
        Err(e) => Err(source.damaged(format!("{name}: the packed data are damaged or truncated ({e})"))),
    }
}

/// The elements in order, from the span that they lie in.
fn gathered(source: &Source, span: &[u8], layout: &Layout) -> Result<Vec<u8>> {
    let size = layout.dtype.size();
    let n = layout.n_bytes().ok_or_else(|| source.damaged(format!("{:?} has more elements than a file", layout.shape)))?;
    let mut bytes = Vec::new();
    source::reserve(&mut bytes, n, source.path())?;
    // An odometer over all axes but the last. Axes of size 1 have strides that mean nothing.
    let axes: Vec<(usize, usize)> = layout.shape.iter().copied().zip(layout.strides.iter().copied()).filter(|axis| axis.0 != 1).collect();
    let Some((&(inner, step), outer)) = axes.split_last() else {
        bytes.extend_from_slice(span);
        return Ok(bytes);
    };
    let mut at = vec![0usize; outer.len()];
    let mut begin = 0usize;
    while (bytes.len() as u64) < n {
        if step == 1 {
            bytes.extend_from_slice(&span[begin * size..(begin + inner) * size]);
        } else {
            for i in 0..inner {
                let element = (begin + i * step) * size;
                bytes.extend_from_slice(&span[element..element + size]);
            }
        }
        for axis in (0..outer.len()).rev() {
            at[axis] += 1;
            begin += outer[axis].1;
            if at[axis] < outer[axis].0 {
                break;
            }
            begin -= outer[axis].0 * outer[axis].1;
            at[axis] = 0;
        }
    }
    Ok(bytes)
}
