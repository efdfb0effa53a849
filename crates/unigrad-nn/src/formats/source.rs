//! Bytes at positions: a file on the disk, or bytes in memory.
//!
//! In: a path, or bytes. Out: parts of them, from any thread.
//! Always: the length is known from the start, and nothing is asked for beyond it; memory for a part is taken only after that check.
//! Never: reads what has no end (a pipe, a device).

use crate::{
    error::{Error, Result},
    files,
};
use std::{
    fmt,
    fs::File,
    io::{self, Read, Seek, SeekFrom},
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
};

pub(super) struct Source {
    path: PathBuf,
    len: u64,
    content: Content,
}

enum Content {
    File(Mutex<File>),
    Memory(Vec<u8>),
}

impl fmt::Debug for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({} bytes)", self.path.display(), self.len)
    }
}

const HELP: &str = "use the whole file; if it was copied or fetched, do that again";

impl Source {
    pub(super) fn open(path: &Path) -> Result<Source> {
        let file = File::open(path).map_err(|e| Error::read(path, e))?;
        if file.metadata().is_ok_and(|metadata| metadata.is_dir()) {
            return Err(Error::read(path, io::ErrorKind::IsADirectory.into()));
        }
        let Some(len) = files::known_len(&file) else {
            return Err(Error::format(path, "is a pipe or a device, and is read at several places", "copy it into a file first"));
        };
        Ok(Source { path: path.to_owned(), len, content: Content::File(Mutex::new(file)) })
    }

    pub(super) fn of_bytes(bytes: Vec<u8>, path: &Path) -> Source {
        Source { path: path.to_owned(), len: bytes.len() as u64, content: Content::Memory(bytes) }
    }

    /// What errors name.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn len(&self) -> u64 {
        self.len
    }

    /// An error of this file's content, with the usual remedy.
    pub(super) fn damaged(&self, cause: impl Into<String>) -> Error {
        Error::format(&self.path, cause, HELP)
    }

    /// The `n` bytes from `at` on; `what` they are is what an error says.
    pub(super) fn read(&self, at: u64, n: u64, what: &str) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        self.read_into(&mut bytes, at, n, what)?;
        Ok(bytes)
    }

    /// Appends the `n` bytes from `at` on.
    pub(super) fn read_into(&self, bytes: &mut Vec<u8>, at: u64, n: u64, what: &str) -> Result<()> {
        if at.checked_add(n).is_none_or(|end| end > self.len) {
            return Err(self.damaged(format!("truncated: {what} is at {at} with {n} bytes, and the file has {}", self.len)));
        }
        reserve(bytes, n, &self.path)?;
        match &self.content {
            // Below the length, which is in memory, both fit.
            Content::Memory(all) => bytes.extend_from_slice(&all[at as usize..(at + n) as usize]),
            Content::File(file) => {
                let failed = |e| Error::read(&self.path, e);
                let mut file = file.lock().unwrap_or_else(PoisonError::into_inner);
                file.seek(SeekFrom::Start(at)).map_err(failed)?;
                let there = (&mut *file).take(n).read_to_end(bytes).map_err(failed)? as u64;
                if there < n {
                    return Err(self.damaged(format!("became shorter while it was read: {what} ends {} bytes early", n - there)));
                }
            }
        }
        Ok(())
    }
}

/// Makes room for `n` more bytes, or says that there is none.
pub(super) fn reserve(bytes: &mut Vec<u8>, n: u64, path: &Path) -> Result<()> {
    let room = usize::try_from(n).ok().and_then(|n| bytes.try_reserve_exact(n).ok());
    room.ok_or_else(|| Error::read(path, io::ErrorKind::OutOfMemory.into()))
}

/// Reads a source from a position on, as a stream.
pub(super) struct Stream<'a> {
    source: &'a Source,
    at: u64,
    end: u64,
}

impl<'a> Stream<'a> {
    /// From `at`, at most `n` bytes.
    pub(super) fn new(source: &'a Source, at: u64, n: u64) -> Stream<'a> {
        let end = at.saturating_add(n).min(source.len);
        Stream { source, at: at.min(end), end }
    }
}

impl Read for Stream<'_> {
    fn read(&mut self, piece: &mut [u8]) -> io::Result<usize> {
        let n = (self.end - self.at).min(piece.len() as u64) as usize;
        let n = match &self.source.content {
            Content::Memory(all) => {
                let at = self.at as usize;
                piece[..n].copy_from_slice(&all[at..at + n]);
                n
            }
            Content::File(file) => {
                let mut file = file.lock().unwrap_or_else(PoisonError::into_inner);
                file.seek(SeekFrom::Start(self.at))?;
                file.read(&mut piece[..n])?
            }
        };
        self.at += n as u64;
        Ok(n)
    }
}
