//! Files that are either whole or not there.
//!
//! In: a path and what writes the content. Out: the file, replaced in one step.
//! Always: the content goes to a temporary file beside the target, is flushed to the disk, and only then takes the target's name;
//! when anything fails, what had the name before is untouched and the temporary file is removed.

use crate::error::{Error, Result};
use std::{
    ffi::OsString,
    fs::{self, File},
    io::{self, BufWriter, Write},
    path::{Path, PathBuf},
    sync::atomic::{AtomicU64, Ordering::Relaxed},
};

/// Distinguishes temporary files of one process.
static SERIAL: AtomicU64 = AtomicU64::new(0);

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
    let mut hidden = OsString::from(".");
    hidden.push(name);
    hidden.push(format!(".{}-{}.tmp", std::process::id(), SERIAL.fetch_add(1, Relaxed)));
    let temporary = folder.join(hidden);
    let written = write_and_rename(&temporary, path, content);
    if let Err(error) = written {
        // The first error is the one to report; a temporary file that cannot be removed harms nobody.
        let _ = fs::remove_file(&temporary);
        return Err(failed(error));
    }
    // Makes the rename itself survive a power loss where the system can open folders; elsewhere there is nothing to do.
    if let Ok(folder) = File::open(&folder) {
        let _ = folder.sync_all();
    }
    Ok(())
}

fn write_and_rename(temporary: &Path, path: &Path, content: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    let mut file = BufWriter::with_capacity(1 << 20, File::create_new(temporary)?);
    content(&mut file)?;
    let file = file.into_inner().map_err(io::IntoInnerError::into_error)?;
    file.sync_all()?;
    drop(file);
    fs::rename(temporary, path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_write_leaves_the_old_file() {
        let folder = std::env::temp_dir().join(format!("unigrad-files-{}", std::process::id()));
        let path = folder.join("a/b.txt");
        replace(&path, |f| f.write_all(b"old")).unwrap();
        let error = replace(&path, |f| {
            f.write_all(b"half of the new")?;
            Err(io::Error::other("disk full"))
        });
        assert!(error.unwrap_err().to_string().contains("disk full"));
        assert_eq!(fs::read(&path).unwrap(), b"old");
        assert_eq!(fs::read_dir(folder.join("a")).unwrap().count(), 1, "the temporary file is gone");
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_folder_that_cannot_be_made_is_named() {
        let file = std::env::temp_dir().join(format!("unigrad-file-{}", std::process::id()));
        fs::write(&file, b"").unwrap();
        let error = replace(&file.join("below/a.txt"), |_| Ok(())).unwrap_err().to_string();
        assert!(error.contains("below") && error.contains("cannot be written"), "{error}");
        fs::remove_file(file).unwrap();
    }
}
