//! Rendered texts as files, for compilers that run later.

use std::{collections::hash_map::DefaultHasher, hash::Hasher, io, path::Path};

use super::Source;
use crate::Target;

/// Writes a text to `folder/<architecture>/<entry>_<hash>.txt`; equal texts are one file.
pub fn collect(source: &Source, target: &Target, folder: &Path) -> io::Result<()> {
    let folder = folder.join(if target.arch.is_empty() { target.dialect.name() } else { &target.arch });
    std::fs::create_dir_all(&folder)?;
    let mut hash = DefaultHasher::new();
    hash.write(source.text.as_bytes());
    let file = folder.join(format!("{}_{:016x}.txt", source.entry, hash.finish()));
    if file.exists() { Ok(()) } else { std::fs::write(file, &source.text) }
}
