//! Files that are either whole or not there; folders that one process writes at a time; files that are not read beyond a limit.
//!
//! In: a path and what writes the content. Out: the file, replaced in one step.
//! Always: the content goes to a temporary file beside the target, is flushed to the disk, and only then takes the target's name;
//! when anything fails, what had the name before is untouched and the temporary file is removed. A temporary file is locked while it is
//! written, and the system ends a lock with its process: what a killed process left is told apart by that, never by the number of the process
//! (which containers use again), and removed by the next one that writes or locks the folder.
//! Never: waits for another process.

use crate::error::{Error, Result};
use std::{
    collections::BTreeSet,
    ffi::{OsStr, OsString},
    fs::{self, File, TryLockError},
    hash::{BuildHasher, Hasher, RandomState},
    io::{self, BufWriter, Read, Write},
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
};

/// What the names of temporary files end with, after 16 digits that are drawn for each.
const TEMPORARY: &str = ".tmp";
const DIGITS: usize = 16;

/// Replaces `path` with what `content` writes; makes missing parent folders.
///
/// ```
/// let path = std::env::temp_dir().join("unigrad-doc-replace.txt");
/// unigrad_nn::files::replace(&path, |file| file.write_all(b"whole"))?;
/// assert_eq!(std::fs::read(&path).unwrap(), b"whole");
/// # std::fs::remove_file(&path).unwrap();
/// # Ok::<(), unigrad_nn::Error>(())
/// ```
pub fn replace(path: &Path, content: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<()> {
    let failed = |error| Error::write(path, error);
    let folder = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent.to_owned(),
        _ => PathBuf::from("."),
    };
    let Some(name) = path.file_name() else {
        return Err(failed(io::Error::new(io::ErrorKind::InvalidInput, "not a file name")));
    };
    fs::create_dir_all(&folder).map_err(failed)?;
    sweep_once(&folder);
    let (file, temporary) = create_temporary(&folder, name).map_err(failed)?;
    let written = write_and_rename(file, &temporary, path, content);
    if let Err(error) = written {
        // The first error is the one to report; a temporary file that cannot be removed does no harm.
        let _ = fs::remove_file(&temporary);
        return Err(failed(error));
    }
    // Makes the rename itself survive a power loss where the system can open folders; elsewhere there is nothing to do.
    if let Ok(folder) = File::open(&folder) {
        let _ = folder.sync_all();
    }
    Ok(())
}

/// A new file that no other process takes for abandoned, and its path.
fn create_temporary(folder: &Path, name: &OsStr) -> io::Result<(File, PathBuf)> {
    loop {
        let mut hidden = OsString::from(".");
        hidden.push(name);
        // Drawn by the system: neither the number of the process nor the time differ between containers.
        let drawn = RandomState::new().build_hasher().finish();
        hidden.push(format!(".{drawn:0DIGITS$x}{TEMPORARY}"));
        let path = folder.join(hidden);
        let file = match File::create_new(&path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
            file => file?,
        };
        match file.try_lock() {
            // Another process may have taken it for abandoned before it was locked.
            Ok(()) if path.exists() => return Ok((file, path)),
            Ok(()) | Err(TryLockError::WouldBlock) => {}
            // A file system without locks: there no process removes what others left, for none can tell.
            Err(TryLockError::Error(_)) => return Ok((file, path)),
        }
    }
}

fn write_and_rename(file: File, temporary: &Path, path: &Path, content: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    let mut file = BufWriter::with_capacity(1 << 20, file);
    content(&mut file)?;
    let file = file.into_inner().map_err(io::IntoInnerError::into_error)?;
    file.sync_all()?;
    // While it is open, and so locked.
    fs::rename(temporary, path)
}

/// Whether the name is one that [`create_temporary`] gives.
fn is_temporary(name: &OsStr) -> bool {
    let bytes = name.as_encoded_bytes();
    let Some(rest) = bytes.strip_suffix(TEMPORARY.as_bytes()).filter(|rest| rest.first() == Some(&b'.')) else { return false };
    let Some((name, digits)) = rest.len().checked_sub(DIGITS).and_then(|at| rest.split_at_checked(at)) else { return false };
    name.len() > 2 && name.last() == Some(&b'.') && digits.iter().all(u8::is_ascii_hexdigit)
}

/// Removes what killed processes left in a folder: temporary files that are not locked.
fn sweep(folder: &Path) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten().filter(|entry| is_temporary(&entry.file_name())) {
        let path = entry.path();
        // What cannot be opened, locked or removed stays, and does no harm.
        if let Ok(file) = File::open(&path)
            && file.try_lock().is_ok()
        {
            let _ = fs::remove_file(&path);
        }
    }
}

/// As [`sweep`], the first time that this process writes there.
fn sweep_once(folder: &Path) {
    static SWEPT: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());
    let known = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    if SWEPT.lock().unwrap_or_else(PoisonError::into_inner).insert(known) {
        sweep(folder);
    }
}

/// A folder that this process alone writes, until this is dropped or the process ends, however it ends.
#[derive(Debug)]
pub struct FolderLock {
    _file: Option<File>,
}

/// Makes a folder if it is missing, takes it for this process, removes what killed processes left there, and makes sure that it can be written.
///
/// [`Error::Busy`] if another process (or another lock of this one) has it. On a file system without locks it is taken unlocked. Only programs that
/// ask are kept apart: the lock does not forbid writing.
///
/// ```
/// let folder = std::env::temp_dir().join("unigrad-doc-lock");
/// let lock = unigrad_nn::files::lock_folder(&folder)?;
/// assert!(unigrad_nn::files::lock_folder(&folder).is_err());
/// drop(lock);
/// unigrad_nn::files::lock_folder(&folder)?;
/// # std::fs::remove_dir_all(&folder).unwrap();
/// # Ok::<(), unigrad_nn::Error>(())
/// ```
pub fn lock_folder(folder: &Path) -> Result<FolderLock> {
    let failed = |error| Error::write(folder, error);
    fs::create_dir_all(folder).map_err(failed)?;
    let lock = match open_lock(folder) {
        Ok(file) => FolderLock { _file: file },
        Err(TryLockError::WouldBlock) => return Err(Error::Busy { path: folder.to_owned() }),
        Err(TryLockError::Error(error)) => return Err(failed(error)),
    };
    sweep(folder);
    let (file, probe) = create_temporary(folder, OsStr::new("probe")).map_err(failed)?;
    drop(file);
    fs::remove_file(probe).map_err(failed)?;
    Ok(lock)
}

/// The folder itself, locked: nothing is left behind. `None` where the file system has no locks.
#[cfg(not(windows))]
fn open_lock(folder: &Path) -> Result<Option<File>, TryLockError> {
    let file = File::open(folder).map_err(TryLockError::Error)?;
    match file.try_lock() {
        Ok(()) => Ok(Some(file)),
        Err(TryLockError::WouldBlock) => Err(TryLockError::WouldBlock),
        Err(TryLockError::Error(_)) => Ok(None),
    }
}

/// Folders cannot be locked there, but a file can be opened for one process and until it is closed.
#[cfg(windows)]
fn open_lock(folder: &Path) -> Result<Option<File>, TryLockError> {
    use std::os::windows::fs::OpenOptionsExt;
    const FILE_FLAG_DELETE_ON_CLOSE: u32 = 0x0400_0000;
    const ERROR_SHARING_VIOLATION: i32 = 32;
    let mut options = File::options();
    options.write(true).create(true).share_mode(0).custom_flags(FILE_FLAG_DELETE_ON_CLOSE);
    match options.open(folder.join(".lock")) {
        Ok(file) => Ok(Some(file)),
        Err(error) if error.raw_os_error() == Some(ERROR_SHARING_VIOLATION) => Err(TryLockError::WouldBlock),
        Err(error) => Err(TryLockError::Error(error)),
    }
}

/// The content of a file of at most `limit` bytes. What is longer, or has no end (a device, a pipe), is refused without being read further.
///
/// ```
/// let path = std::env::temp_dir().join("unigrad-doc-limit.txt");
/// std::fs::write(&path, b"12345").unwrap();
/// assert_eq!(unigrad_nn::files::read_at_most(&path, 5)?, b"12345");
/// assert!(unigrad_nn::files::read_at_most(&path, 4).is_err());
/// # std::fs::remove_file(&path).unwrap();
/// # Ok::<(), unigrad_nn::Error>(())
/// ```
pub fn read_at_most(path: &Path, limit: u64) -> Result<Vec<u8>> {
    let failed = |error| Error::read(path, error);
    let file = File::open(path).map_err(failed)?;
    let too_long = |there: String| {
        let cause = format!("has {there} bytes, and at most {limit} are read");
        Err(Error::format(path, cause, "name the right file; a part of this one may do"))
    };
    if let Some(len) = known_len(&file).filter(|len| *len > limit) {
        return too_long(len.to_string());
    }
    let mut bytes = Vec::new();
    file.take(limit.saturating_add(1)).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() as u64 > limit { too_long("more".to_owned()) } else { Ok(bytes) }
}

/// How many bytes a file has, if it is one with an end.
pub fn known_len(file: &File) -> Option<u64> {
    file.metadata().ok().filter(fs::Metadata::is_file).map(|metadata| metadata.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Folder {
            let path = std::env::temp_dir().join(format!("unigrad-files-{name}-{}", std::process::id()));
            let _ = fs::remove_dir_all(&path);
            fs::create_dir_all(&path).unwrap();
            Folder(path)
        }

        fn names(&self) -> Vec<String> {
            fs::read_dir(&self.0).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn a_failed_write_leaves_the_old_file() {
        let folder = Folder::new("failed");
        let path = folder.0.join("a/b.txt");
        replace(&path, |f| f.write_all(b"old")).unwrap();
        let error = replace(&path, |f| {
            f.write_all(b"half of the new")?;
            Err(io::Error::other("disk full"))
        });
        assert!(error.unwrap_err().to_string().contains("disk full"));
        assert_eq!(fs::read(&path).unwrap(), b"old");
        assert_eq!(fs::read_dir(folder.0.join("a")).unwrap().count(), 1, "the temporary file is gone");
    }

    #[test]
    fn a_folder_that_cannot_be_made_is_named() {
        let folder = Folder::new("file");
        let file = folder.0.join("file");
        fs::write(&file, b"").unwrap();
        let error = replace(&file.join("below/a.txt"), |_| Ok(())).unwrap_err().to_string();
        assert!(error.contains("below") && error.contains("cannot be written"), "{error}");
        let error = lock_folder(&file).unwrap_err().to_string();
        assert!(error.contains("file: cannot be written"), "{error}");
    }

    #[test]
    fn what_others_left_is_removed_and_what_they_write_is_not() {
        let folder = Folder::new("left");
        let (alive, path) = create_temporary(&folder.0, OsStr::new("model")).unwrap();
        assert!(is_temporary(path.file_name().unwrap()));
        // As a killed process leaves it, and files that only look alike.
        fs::write(folder.0.join(".model.0123456789abcdef.tmp"), b"half").unwrap();
        let others =
            [".tmp", "model.0123456789abcdef.tmp", ".model.0123456789abcde.tmp", ".model.x123456789abcdef.tmp", ".0123456789abcdef.tmp"];
        others.iter().for_each(|name| fs::write(folder.0.join(name), b"").unwrap());
        replace(&folder.0.join("other"), |f| f.write_all(b"new")).unwrap();
        assert!(path.exists() && !folder.0.join(".model.0123456789abcdef.tmp").exists());
        assert_eq!(folder.names().len(), others.len() + 2, "{:?}", folder.names());
        drop(alive);
        let lock = lock_folder(&folder.0).unwrap();
        assert!(!path.exists());
        let error = lock_folder(&folder.0).unwrap_err();
        assert!(matches!(&error, Error::Busy { path } if *path == folder.0) && error.to_string().contains("help: "), "{error}");
        drop(lock);
        lock_folder(&folder.0).unwrap();
        assert_eq!(folder.names().len(), others.len() + 1, "{:?}", folder.names());
    }

    #[test]
    fn many_writers_and_sweepers_lose_nothing() {
        let folder = Folder::new("writers");
        std::thread::scope(|scope| {
            for writer in 0..4u8 {
                let folder = &folder;
                scope.spawn(move || {
                    for round in 0..20u8 {
                        replace(&folder.0.join("same"), |f| f.write_all(&[writer; 5000])).unwrap();
                        replace(&folder.0.join(format!("own-{writer}")), |f| f.write_all(&[round; 100])).unwrap();
                    }
                });
            }
            scope.spawn(|| (0..200).for_each(|_| sweep(&folder.0)));
        });
        let same = fs::read(folder.0.join("same")).unwrap();
        assert!(same.len() == 5000 && same.iter().all(|b| *b == same[0]));
        assert_eq!(folder.names().len(), 5, "{:?}", folder.names());
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_file_without_an_end_is_refused() {
        let error = read_at_most(Path::new("/dev/zero"), 1 << 16).unwrap_err().to_string();
        assert!(error.contains("more bytes, and at most 65536"), "{error}");
    }
}
