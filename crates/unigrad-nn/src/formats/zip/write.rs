//! Writes zip archives: entries stored or deflated, then the directory.
//!
//! In: entries with all their bytes. Out: an archive that every reader takes.
//! Always: equal entries give equal archives (no times); zip64 where a number does not fit, and there only.
//! Never: seeks; what is written stays.

use super::{CENTRAL, DEFLATED, END, END64, END64_LEN, EXTRA64, IN_EXTRA, LOCAL, LOCATOR64, STORED};
use flate2::{Compression, Crc, write::DeflateEncoder};
use std::io::{self, Write};

/// 1980-01-01, the first day that the format has.
const DATE: u16 = 0x21;
/// What is needed to unpack: version 2.0, and 4.5 for zip64.
const VERSION: u16 = 20;
const VERSION64: u16 = 45;
/// Names are UTF-8.
const UTF8: u16 = 1 << 11;

pub(in crate::formats) struct Writer<'a> {
    to: &'a mut dyn Write,
    at: u64,
    /// From this number on zip64 is used; lower in tests only.
    wide_from: u64,
    directory: Vec<Record>,
}

struct Record {
    name: String,
    method: u16,
    crc: u32,
    packed: u64,
    len: u64,
    header: u64,
}

/// The fields of a record, one after the other.
#[derive(Default)]
struct Fields(Vec<u8>);

impl Fields {
    fn u16s<const N: usize>(mut self, numbers: [u16; N]) -> Fields {
        numbers.iter().for_each(|number| self.0.extend(number.to_le_bytes()));
        self
    }

    fn u32s<const N: usize>(mut self, numbers: [u32; N]) -> Fields {
        numbers.iter().for_each(|number| self.0.extend(number.to_le_bytes()));
        self
    }

    fn u64s(mut self, numbers: &[u64]) -> Fields {
        numbers.iter().for_each(|number| self.0.extend(number.to_le_bytes()));
        self
    }
}

impl<'a> Writer<'a> {
    pub(in crate::formats) fn new(to: &'a mut dyn Write) -> Writer<'a> {
        Writer { to, at: 0, wide_from: u64::from(IN_EXTRA), directory: Vec::new() }
    }

    #[cfg(test)]
    pub(in crate::formats) fn wide_from(to: &'a mut dyn Write, wide_from: u64) -> Writer<'a> {
        Writer { wide_from, ..Writer::new(to) }
    }

    fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.at += bytes.len() as u64;
        self.to.write_all(bytes)
    }

    /// Adds an entry of these pieces.
    pub(in crate::formats) fn entry(&mut self, name: &str, pieces: &[&[u8]], deflate: bool) -> io::Result<()> {
        let name_len =
            u16::try_from(name.len()).map_err(|_| io::Error::new(io::ErrorKind::InvalidInput, "a name of more than 65535 bytes"))?;
        let mut crc = Crc::new();
        pieces.iter().for_each(|piece| crc.update(piece));
        let len: u64 = pieces.iter().map(|piece| piece.len() as u64).sum();
        let mut deflated = None;
        if deflate {
            let mut encoder = DeflateEncoder::new(Vec::new(), Compression::default());
            pieces.iter().try_for_each(|piece| encoder.write_all(piece))?;
            deflated = Some(encoder.finish()?);
        }
        let packed = deflated.as_ref().map_or(len, |bytes| bytes.len() as u64);
        let method = if deflate { DEFLATED } else { STORED };
        let wide = len.max(packed) >= self.wide_from;
        let extra = if wide { Fields::default().u16s([EXTRA64, 16]).u64s(&[len, packed]) } else { Fields::default() };
        let short = |number: u64| if wide { IN_EXTRA } else { number as u32 };
        let version = if wide { VERSION64 } else { VERSION };
        let header = self.at;
        let local = Fields::default()
            .u32s([LOCAL])
            .u16s([version, UTF8, method, 0, DATE])
            .u32s([crc.sum(), short(packed), short(len)])
            .u16s([name_len, extra.0.len() as u16]);
        self.put(&local.0)?;
        self.put(name.as_bytes())?;
        self.put(&extra.0)?;
        match &deflated {
            Some(bytes) => self.put(bytes)?,
            None => pieces.iter().try_for_each(|piece| self.put(piece))?,
        }
        self.directory.push(Record { name: name.to_owned(), method, crc: crc.sum(), packed, len, header });
        Ok(())
    }

    /// Writes the directory; without it there is no archive.
    pub(in crate::formats) fn finish(mut self) -> io::Result<()> {
        let (begin, n, limit) = (self.at, self.directory.len() as u64, self.wide_from);
        for Record { name, method, crc, packed, len, header } in std::mem::take(&mut self.directory) {
            let wide: Vec<u64> = [len, packed, header].into_iter().filter(|number| *number >= limit).collect();
            let short = |number: u64| if number >= limit { IN_EXTRA } else { number as u32 };
            let extra = match wide.is_empty() {
                true => Fields::default(),
                false => Fields::default().u16s([EXTRA64, 8 * wide.len() as u16]).u64s(&wide),
            };
            let version = if wide.is_empty() { VERSION } else { VERSION64 };
            let record = Fields::default()
                .u32s([CENTRAL])
                .u16s([version, version, UTF8, method, 0, DATE])
                .u32s([crc, short(packed), short(len)])
                .u16s([name.len() as u16, extra.0.len() as u16, 0, 0, 0])
                .u32s([0, short(header)]);
            self.put(&record.0)?;
            self.put(name.as_bytes())?;
            self.put(&extra.0)?;
        }
        let (end, len) = (self.at, self.at - begin);
        let wide = n >= u64::from(u16::MAX).min(limit) || begin >= limit || len >= limit;
        if wide {
            let end64 =
                Fields::default().u32s([END64]).u64s(&[END64_LEN - 12]).u16s([VERSION64, VERSION64]).u32s([0, 0]).u64s(&[n, n, len, begin]);
            self.put(&end64.0)?;
            let locator = Fields::default().u32s([LOCATOR64, 0]).u64s(&[end]).u32s([1]);
            self.put(&locator.0)?;
        }
        let (n, len, begin) = if wide { (u16::MAX, IN_EXTRA, IN_EXTRA) } else { (n as u16, len as u32, begin as u32) };
        let last = Fields::default().u32s([END]).u16s([0, 0, n, n]).u32s([len, begin]).u16s([0]);
        self.put(&last.0)
    }
}
