//! Decoding: PNG, JPEG and WebP files into pictures.
//!
//! In: a file's bytes. Out: a picture of 8-bit channels, or an error that names the file.
//! Always: width, height and what they need in memory are checked before the first pixel; the format is told by the content, not by the name. What a
//! decoder panics at is an error as well.

use super::{Picture, Pixels, sizes};
use image::ImageFormat;
use std::path::Path;
use unigrad_nn::{Error, Result, files};

/// The channels that pictures are to have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Channels {
    /// Those of the file.
    AsStored,
    /// So many, converted from what the file has: 1 is grey, 3 RGB, 4 RGBA.
    Converted(usize),
    /// So many; a file with others is an error.
    Exactly(usize),
}

/// What is read of files, and how large they may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DecodeOptions {
    /// RGB, converted where a file has others.
    pub channels: Channels,
    /// Pixels that a file may announce: 100 million.
    pub max_pixels: u64,
    /// Bytes that a file may have: 256 MiB.
    pub max_bytes: u64,
}

impl Default for DecodeOptions {
    fn default() -> DecodeOptions {
        DecodeOptions { channels: Channels::Converted(3), max_pixels: 100_000_000, max_bytes: 256 << 20 }
    }
}

const HELP: &str = "fetch the file again, or leave it out (`ImageFolder::without_damaged`)";

impl Picture {
    /// Reads a file.
    pub fn read(path: impl AsRef<Path>, options: &DecodeOptions) -> Result<Picture> {
        let path = path.as_ref();
        Picture::decode(&files::read_at_most(path, options.max_bytes)?, path, options)
    }

    /// Decodes a file's bytes; `path` is what errors name.
    pub fn decode(bytes: &[u8], path: impl AsRef<Path>, options: &DecodeOptions) -> Result<Picture> {
        let path = path.as_ref();
        let decoded = std::panic::catch_unwind(|| decode(bytes, path, options));
        decoded.unwrap_or_else(|_| Err(Error::format(path, "is damaged: its decoder gave up", HELP)))
    }
}

fn decode(bytes: &[u8], path: &Path, options: &DecodeOptions) -> Result<Picture> {
    let wrong = |cause: String| Error::format(path, cause, HELP);
    let damaged = |cause: &dyn std::fmt::Display| wrong(format!("is damaged: {cause}"));
    let (format, size) = match image::guess_format(bytes) {
        Ok(ImageFormat::Png) => (ImageFormat::Png, sizes::png(bytes)),
        Ok(ImageFormat::Jpeg) => (ImageFormat::Jpeg, sizes::jpeg(bytes)),
        Ok(ImageFormat::WebP) => (ImageFormat::WebP, sizes::webp(bytes)),
        _ => return Err(wrong("is no PNG, JPEG or WebP file".to_owned())),
    };
    let (height, width) = size.ok_or_else(|| damaged(&"its header is not whole"))?;
    if u64::from(width) * u64::from(height) > options.max_pixels {
        let cause = format!("has {width}x{height} pixels, and at most {} are decoded", options.max_pixels);
        return Err(Error::format(path, cause, "use a smaller picture, or raise `max_pixels`"));
    }
    if width == 0 || height == 0 {
        return Err(damaged(&format!("it has {width}x{height} pixels")));
    }
    // Not through a reader of the crate: this one is compiled there, and once.
    let image = image::load_from_memory_with_format(bytes, format).map_err(|error| damaged(&error))?;
    if (image.height(), image.width()) != (height, width) {
        return Err(damaged(&format!("it has {}x{} pixels, and its header says {width}x{height}", image.width(), image.height())));
    }
    let stored = usize::from(image.color().channel_count());
    if let Channels::Exactly(wanted) = options.channels
        && wanted != stored
    {
        let cause = format!("has {stored} channels, and {wanted} are asked for");
        return Err(Error::format(path, cause, "convert the file, or have it converted (`Channels::Converted`)"));
    }
    let values = match stored {
        1 => image.into_luma8().into_raw(),
        2 => image.into_luma_alpha8().into_raw(),
        3 => image.into_rgb8().into_raw(),
        _ => image.into_rgba8().into_raw(),
    };
    let picture = Picture::new(Pixels::U8(values), height as usize, width as usize, stored).map_err(|error| damaged(&error))?;
    match options.channels {
        Channels::AsStored | Channels::Exactly(_) => Ok(picture),
        Channels::Converted(wanted) => picture.to_channels(wanted),
    }
}
