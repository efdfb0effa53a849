//! Crops and flips.

use super::Transform;
use crate::picture::{Picture, Pixels, on_pixels};
use unigrad_nn::{Error, Result, random::Rng};

/// A part of a picture: `top` and `left` may be negative and the part larger than the picture; what is outside is `fill`, in units of white.
pub(super) fn crop(picture: &Picture, top: i64, left: i64, height: usize, width: usize, fill: f32) -> Picture {
    let (rows, columns, channels) = (picture.height(), picture.width(), picture.channels());
    let pixels = match picture.pixels() {
        Pixels::U8(values) => Pixels::U8(cropped(values, (rows, columns, channels), (top, left, height, width), (fill * 255.0) as u8)),
        Pixels::F32(values) => Pixels::F32(cropped(values, (rows, columns, channels), (top, left, height, width), fill)),
    };
    Picture::of(pixels, height, width, channels)
}

fn cropped<T: Copy>(
    values: &[T],
    (rows, columns, channels): (usize, usize, usize),
    (top, left, height, width): (i64, i64, usize, usize),
    fill: T,
) -> Vec<T> {
    let mut part = Vec::with_capacity(height * width * channels);
    // Columns of the result that the picture has.
    let begin = left.clamp(0, columns as i64) as usize;
    let end = (left + width as i64).clamp(begin as i64, columns as i64) as usize;
    let before = (begin as i64 - left).clamp(0, width as i64) as usize;
    for y in 0..height as i64 {
        let done = part.len();
        let row = usize::try_from(top + y).ok().filter(|row| *row < rows && begin < end);
        if let Some(row) = row {
            part.resize(done + before * channels, fill);
            part.extend_from_slice(&values[(row * columns + begin) * channels..(row * columns + end) * channels]);
        }
        part.resize(done + width * channels, fill);
    }
    part
}

fn check(height: usize, width: usize, what: &str) -> Result<()> {
    const MOST: usize = 1 << 16;
    if height == 0 || width == 0 || height > MOST || width > MOST {
        return Err(Error::argument(format!("{what} to {height}x{width}"), format!("use sizes from 1 to {MOST}")));
    }
    Ok(())
}

pub(super) fn check_size(height: usize, width: usize, what: &str) -> Result<()> {
    check(height, width, what)
}

/// The middle, `height` by `width`; a smaller picture gets a black border.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CenterCrop(
    /// Rows.
    pub usize,
    /// Columns.
    pub usize,
);

/// Where a middle part begins: torchvision rounds halves to even, and what it pads first is a whole number of pixels.
fn middle(size: usize, part: usize) -> i64 {
    if part > size {
        return -(((part - size) / 2) as i64);
    }
    ((size - part) as f64 / 2.0).round_ties_even() as i64
}

impl Transform for CenterCrop {
    fn apply(&self, picture: Picture, _: &mut Rng) -> Result<Picture> {
        let CenterCrop(height, width) = *self;
        check(height, width, "a crop")?;
        Ok(crop(&picture, middle(picture.height(), height), middle(picture.width(), width), height, width, 0.0))
    }
}

/// A part anywhere in the picture, `height` by `width`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RandomCrop {
    height: usize,
    width: usize,
    padding: usize,
    fill: f32,
}

impl RandomCrop {
    /// A part of this size.
    pub fn new(height: usize, width: usize) -> RandomCrop {
        RandomCrop { height, width, padding: 0, fill: 0.0 }
    }

    /// Of the picture with a border of so many pixels, black.
    pub fn padding(mut self, pixels: usize) -> RandomCrop {
        self.padding = pixels;
        self
    }

    /// What the border is filled with, from 0 (black) to 1 (white).
    pub fn fill(mut self, value: f32) -> RandomCrop {
        self.fill = value;
        self
    }
}

impl Transform for RandomCrop {
    fn apply(&self, picture: Picture, rng: &mut Rng) -> Result<Picture> {
        check(self.height, self.width, "a crop")?;
        let place = |size: usize, part: usize, rng: &mut Rng| {
            let padded = size.saturating_add(2 * self.padding.min(1 << 16));
            let room = padded.checked_sub(part).ok_or_else(|| {
                let cause = format!("a crop of {}x{} from a picture of {}x{}", self.height, self.width, picture.height(), picture.width());
                Error::argument(cause, "resize the picture first, or give it a border (`padding`)")
            })?;
            Ok::<i64, Error>(rng.below(room + 1) as i64 - self.padding.min(1 << 16) as i64)
        };
        let top = place(picture.height(), self.height, rng)?;
        let left = place(picture.width(), self.width, rng)?;
        Ok(crop(&picture, top, left, self.height, self.width, self.fill))
    }
}

/// Left and right change places, with this probability.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RandomHorizontalFlip(pub f64);

impl Transform for RandomHorizontalFlip {
    fn apply(&self, picture: Picture, rng: &mut Rng) -> Result<Picture> {
        if rng.uniform() >= self.0 {
            return Ok(picture);
        }
        fn flipped<T: Copy>(mut values: Vec<T>, width: usize, channels: usize) -> Vec<T> {
            for row in values.chunks_exact_mut(width * channels) {
                for x in 0..width / 2 {
                    let (left, right) = row.split_at_mut((width - 1 - x) * channels);
                    left[x * channels..(x + 1) * channels].swap_with_slice(&mut right[..channels]);
                }
            }
            values
        }
        let (height, width, channels) = (picture.height(), picture.width(), picture.channels());
        let pixels = on_pixels!(picture.into_pixels(), values => flipped(values, width, channels));
        Ok(Picture::of(pixels, height, width, channels))
    }
}

/// Top and bottom change places, with this probability.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RandomVerticalFlip(pub f64);

impl Transform for RandomVerticalFlip {
    fn apply(&self, picture: Picture, rng: &mut Rng) -> Result<Picture> {
        if rng.uniform() >= self.0 {
            return Ok(picture);
        }
        let (height, width, channels) = (picture.height(), picture.width(), picture.channels());
        let pixels = on_pixels!(picture.into_pixels(), values => values.chunks_exact(width * channels).rev().flatten().copied().collect());
        Ok(Picture::of(pixels, height, width, channels))
    }
}
