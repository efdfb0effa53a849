//! Pictures: one image on the host, from a file, a folder or a published data set.
//!
//! In: PNG, JPEG and WebP files; folders of them; CIFAR's binary files. Out: [`Picture`]s with their labels.
//! Always: sizes are checked before pixels are decoded; what is wrong with a file is an error that names it.
//! Never: rotates by a camera's note (as PIL and torchvision do not).

mod cifar;
mod decode;
mod folder;
mod sizes;

pub use cifar::{CIFAR10, FASHION_MNIST, Pictures, cifar10, cifar100, fashion_mnist};
pub use decode::{Channels, DecodeOptions};
pub use folder::ImageFolder;

use crate::{
    dataset::Sample,
    host::{self, HostNumber},
};
use unigrad_nn::{Error, HostTensor, Result};
use unigrad_tensor::DType;

/// The values of a picture, row after row, each pixel's channels side by side.
#[derive(Clone, Debug, PartialEq)]
pub enum Pixels {
    /// From 0 to 255.
    U8(Vec<u8>),
    /// From 0 to 1, until they are normalized.
    F32(Vec<f32>),
}

/// One image.
#[derive(Clone, Debug, PartialEq)]
pub struct Picture {
    pixels: Pixels,
    height: usize,
    width: usize,
    channels: usize,
}

/// Runs `$body` on the values of either type.
macro_rules! on_pixels {
    ($pixels:expr, $values:ident => $body:expr) => {
        match $pixels {
            Pixels::U8($values) => Pixels::U8($body),
            Pixels::F32($values) => Pixels::F32($body),
        }
    };
}
pub(crate) use on_pixels;

impl Picture {
    /// A picture of these values. An error if they are not `height * width * channels`, or if the channels are not 1 (grey) to 4 (RGBA).
    pub fn new(pixels: Pixels, height: usize, width: usize, channels: usize) -> Result<Picture> {
        let n = match &pixels {
            Pixels::U8(values) => values.len(),
            Pixels::F32(values) => values.len(),
        };
        let wanted = height.checked_mul(width).and_then(|n| n.checked_mul(channels));
        if wanted != Some(n) || !(1..=4).contains(&channels) || n == 0 {
            let cause = format!("{n} values for a picture of {height}x{width} pixels with {channels} channels");
            return Err(Error::argument(cause, "give as many values as it has, for 1 to 4 channels and at least one pixel"));
        }
        Ok(Picture { pixels, height, width, channels })
    }

    /// Where the caller knows that the values fit.
    pub(crate) fn of(pixels: Pixels, height: usize, width: usize, channels: usize) -> Picture {
        Picture { pixels, height, width, channels }
    }

    /// The values.
    pub fn pixels(&self) -> &Pixels {
        &self.pixels
    }

    pub(crate) fn into_pixels(self) -> Pixels {
        self.pixels
    }

    /// Rows.
    pub fn height(&self) -> usize {
        self.height
    }

    /// Columns.
    pub fn width(&self) -> usize {
        self.width
    }

    /// 1 for grey, 2 for grey with alpha, 3 for RGB, 4 for RGBA.
    pub fn channels(&self) -> usize {
        self.channels
    }

    /// As `[channels, height, width]`, `U8` or `F32`: what a model takes.
    pub fn to_tensor(&self) -> HostTensor {
        /// With a number of channels that the compiler knows.
        fn planes<T: HostNumber, const C: usize>(values: &[T]) -> Vec<u8> {
            let mut bytes = vec![0; size_of_val(values)];
            let pixels = values.as_chunks::<C>().0;
            for (c, plane) in bytes.chunks_exact_mut((pixels.len() * size_of::<T>()).max(1)).enumerate() {
                plane.chunks_exact_mut(size_of::<T>()).zip(pixels).for_each(|(into, pixel)| pixel[c].write(into));
            }
            bytes
        }
        fn of<T: HostNumber>(values: &[T], channels: usize) -> Vec<u8> {
            match channels {
                1 => planes::<T, 1>(values),
                2 => planes::<T, 2>(values),
                3 => planes::<T, 3>(values),
                _ => planes::<T, 4>(values),
            }
        }
        let (dtype, bytes) = match &self.pixels {
            Pixels::U8(values) => (DType::U8, of(values, self.channels)),
            Pixels::F32(values) => (DType::F32, of(values, self.channels)),
        };
        HostTensor { dtype, shape: vec![self.channels, self.height, self.width], bytes }
    }

    /// As a sample with its class.
    pub fn to_sample(&self, class: i64) -> Sample {
        Sample { input: self.to_tensor(), target: host::of(&[class], Vec::new()) }
    }

    /// In other channels: grey by ITU-R 601 (as PIL), grey to RGB by repeating it; alpha is left out, or is full.
    pub fn to_channels(self, wanted: usize) -> Result<Picture> {
        let Picture { pixels, height, width, channels } = self;
        if channels == wanted {
            return Ok(Picture { pixels, height, width, channels });
        }
        if !(1..=4).contains(&wanted) {
            return Err(Error::argument(format!("a picture of {wanted} channels"), "use 1 (grey) to 4 (RGBA)"));
        }
        let pixels = match pixels {
            Pixels::U8(values) => {
                // PIL's fixed-point weights, which sum up to 2^16.
                let luma = |p: &[u8]| ((u32::from(p[0]) * 19595 + u32::from(p[1]) * 38470 + u32::from(p[2]) * 7471 + 0x8000) >> 16) as u8;
                Pixels::U8(convert(&values, channels, wanted, 255, luma))
            }
            Pixels::F32(values) => {
                let luma = |p: &[f32]| 0.299 * p[0] + 0.587 * p[1] + 0.114 * p[2];
                Pixels::F32(convert(&values, channels, wanted, 1.0, luma))
            }
        };
        Ok(Picture { pixels, height, width, channels: wanted })
    }
}

fn convert<T: Copy>(values: &[T], channels: usize, wanted: usize, full: T, luma: impl Fn(&[T]) -> T) -> Vec<T> {
    let mut converted = Vec::with_capacity(values.len() / channels * wanted);
    for pixel in values.chunks_exact(channels) {
        let alpha = if channels.is_multiple_of(2) { pixel[channels - 1] } else { full };
        if wanted <= 2 {
            converted.push(if channels <= 2 { pixel[0] } else { luma(pixel) });
        } else if channels <= 2 {
            converted.extend_from_slice(&[pixel[0]; 3]);
        } else {
            converted.extend_from_slice(&pixel[..3]);
        }
        if wanted.is_multiple_of(2) {
            converted.push(alpha);
        }
    }
    converted
}

#[cfg(test)]
mod tests;
