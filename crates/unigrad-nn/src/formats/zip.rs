//! Zip archives, as `torch.save` and `numpy.savez` write them: which entries there are, and where.
//!
//! In: a file. Out: its entries by name, in the order of the central directory, each with the place of its bytes.
//! Always: the directory is checked before memory is taken for it, and each entry against the file and against its local header; zip64 is read.
//! Never: reads encrypted entries, several disks, or methods other than stored and deflated; follows an entry out of the file.
//!
//! The format is PKWARE's APPNOTE 6.3.10.

mod write;

use super::{
    layout::{self, Location, Storage},
    source::Source,
};
use crate::error::{Error, Result};
use std::collections::BTreeMap;
use unigrad_device::printable;
pub(super) use write::Writer;

const END: u32 = 0x0605_4b50;
const END64: u32 = 0x0606_4b50;
const LOCATOR64: u32 = 0x0706_4b50;
const CENTRAL: u32 = 0x0201_4b50;
const LOCAL: u32 = 0x0403_4b50;
const END_LEN: u64 = 22;
const END64_LEN: u64 = 56;
const LOCATOR_LEN: u64 = 20;
const CENTRAL_LEN: u64 = 46;
const LOCAL_LEN: u64 = 30;
/// The tag of the extra field with 64-bit numbers.
const EXTRA64: u16 = 1;
const STORED: u16 = 0;
const DEFLATED: u16 = 8;
/// What a 32-bit field has where the number is in the extra field.
const IN_EXTRA: u32 = u32::MAX;

/// Bytes of a directory that is read: some 100,000 entries.
const MAX_DIRECTORY: u64 = 16 << 20;

#[derive(Debug)]
pub(super) struct Entry {
    pub(super) name: String,
    deflated: bool,
    crc: u32,
    packed: u64,
    len: u64,
    header: u64,
}

/// A little-endian number of a record that is long enough.
fn u16_at(record: &[u8], at: usize) -> u16 {
    record.get(at..).and_then(|rest| rest.first_chunk()).map_or(0, |bytes| u16::from_le_bytes(*bytes))
}

fn u32_at(record: &[u8], at: usize) -> u32 {
    record.get(at..).and_then(|rest| rest.first_chunk()).map_or(0, |bytes| u32::from_le_bytes(*bytes))
}

fn u64_at(record: &[u8], at: usize) -> u64 {
    record.get(at..).and_then(|rest| rest.first_chunk()).map_or(0, |bytes| u64::from_le_bytes(*bytes))
}

/// Where the directory is.
struct Directory {
    at: u64,
    len: u64,
    n: u64,
}

fn directory(source: &Source) -> Result<Directory> {
    let tail_len = source.len().min(END_LEN + u64::from(u16::MAX));
    let tail_at = source.len() - tail_len;
    let tail = source.read(tail_at, tail_len, "the end of the zip archive")?;
    // The last one whose comment ends with the file.
    let is_end = |at: &usize| u32_at(&tail, *at) == END && *at + END_LEN as usize + usize::from(u16_at(&tail, at + 20)) == tail.len();
    let last = tail.len().checked_sub(END_LEN as usize);
    let at = last.and_then(|last| (0..=last).rev().find(is_end));
    let at = at.ok_or_else(|| source.damaged("truncated: a zip archive that has no directory at its end"))?;
    let end = &tail[at..];
    let (disk, n, len, begin) = (u16_at(end, 4), u16_at(end, 10), u32_at(end, 12), u32_at(end, 16));
    let end_at = tail_at + at as u64;
    let mut found = Directory { at: u64::from(begin), len: u64::from(len), n: u64::from(n) };
    let mut limit = end_at;
    let locator = end_at.checked_sub(LOCATOR_LEN).map(|at| source.read(at, LOCATOR_LEN, "the zip64 locator")).transpose()?;
    if let Some(locator) = locator.filter(|locator| u32_at(locator, 0) == LOCATOR64) {
        let at = u64_at(&locator, 8);
        let end64 = source.read(at, END64_LEN, "the zip64 directory's end")?;
        if u32_at(&end64, 0) != END64 {
            return Err(source.damaged(format!("there is no zip64 record at {at}, where the zip archive announces it")));
        }
        found = Directory { at: u64_at(&end64, 48), len: u64_at(&end64, 40), n: u64_at(&end64, 32) };
        limit = at;
    } else if disk != 0 && disk != u16::MAX {
        return Err(source.damaged("a part of a zip archive on several disks"));
    }
    if found.at.checked_add(found.len).is_none_or(|end| end > limit) {
        let Directory { at, len, .. } = found;
        return Err(source
            .damaged(format!("the zip archive's directory should be at {at} with {len} bytes, and the file has {limit} before its end")));
    }
    if found.len > MAX_DIRECTORY || found.n.saturating_mul(CENTRAL_LEN) > found.len {
        let cause = format!(
            "the zip archive's directory has {} entries in {} bytes, and at most {MAX_DIRECTORY} bytes are read",
            found.n, found.len
        );
        return Err(source.damaged(cause));
    }
    Ok(found)
}

/// The 64-bit numbers of an extra field, for those that did not fit: in this order, and only where they are missing.
fn extra64(extra: &[u8], numbers: [&mut u64; 3]) -> Option<()> {
    if numbers.iter().all(|number| **number != u64::from(IN_EXTRA)) {
        return Some(());
    }
    let mut rest = extra;
    while rest.len() >= 4 {
        let (tag, len) = (u16_at(rest, 0), usize::from(u16_at(rest, 2)));
        let field = rest.get(4..4 + len)?;
        if tag == EXTRA64 {
            let (mut given, _) = field.as_chunks::<8>();
            for number in numbers {
                if *number == u64::from(IN_EXTRA) {
                    let (first, others) = given.split_first()?;
                    *number = u64::from_le_bytes(*first);
                    given = others;
                }
            }
            return Some(());
        }
        rest = &rest[4 + len..];
    }
    // Without such a field the number is what it says.
    Some(())
}

/// The entries of an archive, in the order of its directory; a name stands once.
pub(super) fn entries(source: &Source) -> Result<Vec<Entry>> {
    let found = directory(source)?;
    let bytes = source.read(found.at, found.len, "the zip archive's directory")?;
    let mut rest = &bytes[..];
    let mut entries: Vec<Entry> = Vec::new();
    let mut names = BTreeMap::new();
    for i in 0..found.n {
        let ends = || source.damaged(format!("entry {i} of {} in the zip archive's directory is damaged", found.n));
        let record = rest.split_at_checked(CENTRAL_LEN as usize).filter(|(record, _)| u32_at(record, 0) == CENTRAL);
        let (record, after) = record.ok_or_else(ends)?;
        let [name, extra, comment] = [28, 30, 32].map(|at| usize::from(u16_at(record, at)));
        let (name, after) = after.split_at_checked(name).ok_or_else(ends)?;
        let (extra, after) = after.split_at_checked(extra).ok_or_else(ends)?;
        rest = after.get(comment..).ok_or_else(ends)?;
        let name = String::from_utf8_lossy(name).into_owned();
        let (flags, method) = (u16_at(record, 8), u16_at(record, 10));
        let [mut packed, mut len, mut header] = [20, 24, 42].map(|at| u64::from(u32_at(record, at)));
        extra64(extra, [&mut len, &mut packed, &mut header]).ok_or_else(ends)?;
        let refused = |cause: &str| {
            let cause = format!("entry {} of the zip archive {cause}", printable(&name));
            Error::format(source.path(), cause, "pack the archive again, stored or deflated, as `torch.save` and `numpy.savez` do")
        };
        if flags & 1 != 0 {
            return Err(refused("is encrypted"));
        }
        if method != STORED && method != DEFLATED {
            return Err(refused(&format!("is packed by method {method}")));
        }
        if method == STORED && packed != len {
            return Err(refused(&format!("is stored with {packed} bytes, and should have {len}")));
        }
        if header.checked_add(packed).is_none_or(|end| end > found.at) {
            return Err(refused(&format!("should have {packed} bytes from {header} on, and there are {} before the directory", found.at)));
        }
        if names.insert(name.clone(), ()).is_some() {
            return Err(refused("is there twice"));
        }
        entries.push(Entry { deflated: method == DEFLATED, crc: u32_at(record, 16), packed, len, header, name });
    }
    if !rest.is_empty() {
        return Err(source.damaged(format!("{} bytes follow the last entry of the zip archive's directory", rest.len())));
    }
    Ok(entries)
}

impl Entry {
    /// Its bytes, unpacked.
    pub(super) fn len(&self) -> u64 {
        self.len
    }

    /// Where its bytes begin: after the local header, which must be that of this entry.
    fn begin(&self, source: &Source) -> Result<u64> {
        let wrong = |cause: &str| source.damaged(format!("entry {} of the zip archive {cause}", printable(&self.name)));
        let local = source.read(self.header, LOCAL_LEN, "a zip archive's entry")?;
        if u32_at(&local, 0) != LOCAL {
            return Err(wrong("does not begin where the directory says"));
        }
        let (name, extra) = (u64::from(u16_at(&local, 26)), u64::from(u16_at(&local, 28)));
        let begin = self.header + LOCAL_LEN + name + extra;
        if begin.checked_add(self.packed).is_none_or(|end| end > source.len()) {
            return Err(wrong("ends after the file"));
        }
        Ok(begin)
    }

    /// Its bytes as what tensors view.
    pub(super) fn storage(&self, source: &Source, big_endian: bool) -> Result<Storage> {
        let begin = self.begin(source)?;
        // PyTorch writes 0 where it was told to compute none.
        let crc = (self.crc != 0).then_some(self.crc);
        let place = if self.deflated { Location::Deflated(begin, self.packed) } else { Location::At(begin) };
        Ok(Storage { place, len: self.len, big_endian, crc, name: format!("entry {}", printable(&self.name)) })
    }

    /// Its first bytes, at most `n`.
    pub(super) fn head(&self, source: &Source, n: u64) -> Result<Vec<u8>> {
        let (begin, n) = (self.begin(source)?, n.min(self.len));
        let name = format!("entry {}", printable(&self.name));
        if !self.deflated {
            return source.read(begin, n, &name);
        }
        layout::inflate_head(source, begin, self.packed, n, &name)
    }

    /// All of it, if it is not longer than `limit`.
    pub(super) fn read(&self, source: &Source, limit: u64) -> Result<Vec<u8>> {
        if self.len > limit {
            let cause = format!("entry {} of the zip archive has {} bytes, and at most {limit} are read", printable(&self.name), self.len);
            return Err(source.damaged(cause));
        }
        self.storage(source, false)?.all(source)
    }
}
