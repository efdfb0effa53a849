//! The kernel cache: compiled programs on disk, found again by what they were made from.
//!
//! In: a [`Key`] over everything that the bytes depend on (source, options, device, driver version), and the bytes. Out: the same bytes, or nothing.
//! Always: what is returned is whole (length and checksum are looked at); an entry appears at once, by a rename, so that processes may share a
//! folder; the folder stays below a limit, the longest unused entries go first. A folder that cannot be used is the same as no cache.
//! Never: fails, prints, or deletes a file that it did not name itself.
//!
//! [`unigrad_device::Config::cache_dir`] names the folder, or says that there is none; without it the user's cache folder is used.

use std::{
    ffi::OsStr,
    fs,
    io::{self, Write},
    path::{Path, PathBuf},
    sync::{
        LazyLock,
        atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
    },
    time::{Duration, SystemTime},
};
use unigrad_device::{CacheDir, Config};

/// Bytes that entries take together at most.
const LIMIT: u64 = 512 << 20;
/// First bytes of an entry: the format, and its version.
const MAGIC: [u8; 8] = *b"ugkern01";
/// Magic, key, length, checksum.
const HEADER: usize = 8 + 16 + 8 + 16;
/// How an entry's name ends.
const SUFFIX: &str = "kernel";
/// How the name of an entry under construction ends.
const UNFINISHED: &str = "partial";
/// An unfinished entry this old belongs to no living process.
const ABANDONED: Duration = Duration::from_secs(3600);
/// An entry that was used is marked so, at most this often.
const TOUCH: Duration = Duration::from_secs(24 * 3600);

/// What an entry was made from, as a 128-bit hash.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Key(u128);

impl Key {
    /// The key of these parts, in order; where one ends and the next begins counts.
    pub fn of(parts: &[&[u8]]) -> Key {
        let mut hash = Fnv::new();
        for part in parts {
            hash.write(&(part.len() as u64).to_le_bytes());
            hash.write(part);
        }
        Key(hash.0)
    }
}

/// FNV-1a in 128 bits: enough against chance, and the folder belongs to the user.
struct Fnv(u128);

impl Fnv {
    const PRIME: u128 = (1 << 88) + 0x13b;

    const fn new() -> Fnv {
        Fnv(0x6c62_272e_07bb_0142_62b8_2175_6295_c58d)
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u128::from(*byte)).wrapping_mul(Fnv::PRIME);
        }
    }
}

fn checksum(data: &[u8]) -> u128 {
    let mut hash = Fnv::new();
    hash.write(data);
    hash.0
}

/// A folder of compiled programs.
#[derive(Debug)]
pub struct KernelCache {
    /// Nothing: the cache is off.
    folder: Option<PathBuf>,
    limit: u64,
    /// Bytes written since the folder was last measured; `u64::MAX` at first.
    unmeasured: AtomicU64,
    /// Set when the folder cannot be written.
    read_only: AtomicBool,
}

impl KernelCache {
    /// The process's cache, where the environment wants it.
    pub fn shared() -> &'static KernelCache {
        static SHARED: LazyLock<KernelCache> = LazyLock::new(|| {
            let folder = match &Config::current_or_default().cache_dir {
                CacheDir::At(folder) => Some(folder.clone()),
                CacheDir::Off => None,
                CacheDir::Default => default_folder(),
            };
            folder.map_or_else(KernelCache::off, |folder| KernelCache::new(folder, LIMIT))
        });
        &SHARED
    }

    /// A cache in a folder, which is made when the first entry is written.
    pub fn new(folder: impl Into<PathBuf>, limit: u64) -> KernelCache {
        KernelCache { folder: Some(folder.into()), limit, ..KernelCache::off() }
    }

    /// A cache that never has anything.
    pub fn off() -> KernelCache {
        KernelCache { folder: None, limit: 0, unmeasured: AtomicU64::new(u64::MAX), read_only: AtomicBool::new(false) }
    }

    /// Where entries are, if the cache is on.
    pub fn folder(&self) -> Option<&Path> {
        self.folder.as_deref()
    }

    /// What was put under a key. An entry that is not whole counts as missing; the next [`KernelCache::put`] replaces it.
    pub fn get(&self, key: Key) -> Option<Vec<u8>> {
        let path = self.entry(key)?;
        let mut bytes = fs::read(&path).ok()?;
        if !is_whole(&bytes, key) {
            return None;
        }
        touch(&path);
        bytes.drain(..HEADER);
        Some(bytes)
    }

    /// Keeps `data` for a key.
    pub fn put(&self, key: Key, data: &[u8]) {
        let (Some(folder), Some(path)) = (self.folder(), self.entry(key)) else { return };
        let size = (HEADER + data.len()) as u64;
        if self.read_only.load(Relaxed) || size > self.limit {
            return;
        }
        if self.write(folder, &path, key, data).is_err() {
            self.read_only.store(true, Relaxed);
            return;
        }
        let written = self.unmeasured.load(Relaxed).saturating_add(size);
        self.unmeasured.store(written, Relaxed);
        // Measuring lists the folder: not for every entry.
        if written > self.limit / 16 {
            self.unmeasured.store(0, Relaxed);
            evict(folder, self.limit);
        }
    }

    /// Forgets an entry, one that its driver refused.
    pub fn remove(&self, key: Key) {
        if let Some(path) = self.entry(key) {
            // Whether it is gone already, or cannot be removed, makes no difference to the caller.
            let _ = fs::remove_file(path);
        }
    }

    fn entry(&self, key: Key) -> Option<PathBuf> {
        Some(self.folder()?.join(format!("{:032x}.{SUFFIX}", key.0)))
    }

    fn write(&self, folder: &Path, path: &Path, key: Key, data: &[u8]) -> io::Result<()> {
        make_folder(folder)?;
        // Two caches of one process may have the same folder.
        static SERIAL: AtomicU64 = AtomicU64::new(0);
        let serial = SERIAL.fetch_add(1, Relaxed);
        let unfinished = folder.join(format!("{:032x}.{}-{serial}.{UNFINISHED}", key.0, std::process::id()));
        let result = (|| {
            let mut file = fs::File::create(&unfinished)?;
            file.write_all(&header(key, data))?;
            file.write_all(data)?;
            drop(file);
            fs::rename(&unfinished, path)
        })();
        if result.is_err() {
            let _ = fs::remove_file(&unfinished);
        }
        result
    }
}

fn header(key: Key, data: &[u8]) -> Vec<u8> {
    let mut header = Vec::with_capacity(HEADER);
    header.extend(MAGIC);
    header.extend(key.0.to_le_bytes());
    header.extend((data.len() as u64).to_le_bytes());
    header.extend(checksum(data).to_le_bytes());
    header
}

fn is_whole(bytes: &[u8], key: Key) -> bool {
    bytes.split_at_checked(HEADER).is_some_and(|(head, data)| head == header(key, data))
}

/// Makes the folder for this user alone: what lies in it is run.
fn make_folder(folder: &Path) -> io::Result<()> {
    if folder.is_dir() {
        return Ok(());
    }
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

/// Marks an entry as used, if the last mark is old.
fn touch(path: &Path) {
    let now = SystemTime::now();
    let is_recent = |time: SystemTime| now.duration_since(time).is_ok_and(|age| age < TOUCH);
    if !fs::metadata(path).and_then(|m| m.modified()).is_ok_and(is_recent)
        && let Ok(file) = fs::File::options().append(true).open(path)
    {
        // An entry that cannot be marked is evicted earlier, nothing else.
        let _ = file.set_modified(now);
    }
}

/// Removes the longest unused entries until the others fit, and what crashed processes left.
fn evict(folder: &Path, limit: u64) {
    let now = SystemTime::now();
    let mut entries = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        let (Some(kind), Ok(data)) = (ours(&path), entry.metadata()) else { continue };
        let modified = data.modified().unwrap_or(SystemTime::UNIX_EPOCH);
        match kind {
            SUFFIX => entries.push((modified, data.len(), path)),
            _ if now.duration_since(modified).is_ok_and(|age| age > ABANDONED) => {
                let _ = fs::remove_file(path);
            }
            _ => {}
        }
    }
    let mut total: u64 = entries.iter().map(|(_, bytes, _)| bytes).sum();
    if total <= limit {
        return;
    }
    entries.sort();
    for (_, bytes, path) in entries {
        // A little further than needed, so that the next entry does not begin all over.
        if total <= limit - limit / 8 {
            break;
        }
        if fs::remove_file(path).is_ok() {
            total -= bytes;
        }
    }
}

/// The kind of file, if the name is one that a cache gives.
fn ours(path: &Path) -> Option<&'static str> {
    let name = path.file_name()?.to_str()?;
    let (key, rest) = name.split_at_checked(32)?;
    if !key.bytes().all(|b| b.is_ascii_hexdigit()) {
        return None;
    }
    let extension = path.extension().and_then(OsStr::to_str)?;
    [SUFFIX, UNFINISHED].into_iter().find(|kind| *kind == extension && rest.starts_with('.'))
}

fn default_folder() -> Option<PathBuf> {
    folder_from(|name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from))
}

fn folder_from(variable: impl Fn(&str) -> Option<PathBuf>) -> Option<PathBuf> {
    if cfg!(target_family = "wasm") {
        return None; // no files, no clock
    }
    let user = if cfg!(windows) {
        variable("LOCALAPPDATA")
    } else if cfg!(target_vendor = "apple") {
        variable("HOME").map(|home| home.join("Library/Caches"))
    } else {
        // The XDG specification: a relative path is to be ignored.
        let cache = variable("XDG_CACHE_HOME").filter(|folder| folder.is_absolute());
        cache.or_else(|| variable("HOME").map(|home| home.join(".cache")))
    };
    user.map(|folder| folder.join("unigrad"))
}

#[cfg(test)]
mod tests;
