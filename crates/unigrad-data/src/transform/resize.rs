//! Resizing: bilinear with antialiasing, as PIL and torchvision have it.

use super::{Transform, between, geometry, resample::resample};
use crate::picture::{Picture, Pixels, on_pixels};
use unigrad_nn::{Error, Result, random::Rng};

/// A picture in another size.
pub(super) fn resize(picture: Picture, height: usize, width: usize) -> Result<Picture> {
    geometry::check_size(height, width, "a resize")?;
    let (rows, columns, channels) = (picture.height(), picture.width(), picture.channels());
    if (rows, columns) == (height, width) {
        return Ok(picture);
    }
    let pixels = on_pixels!(picture.pixels(), values => resample(values, (rows, columns, channels), (height, width)));
    Ok(Picture::of(pixels, height, width, channels))
}

/// The size that a picture is to have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Size {
    /// Rows and columns, whatever becomes of the shape.
    Exactly(usize, usize),
    /// Of the shorter side; the shape stays.
    Shorter(usize),
}

/// Another size, bilinear with antialiasing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Resize(pub Size);

impl Resize {
    /// To `height` by `width`.
    pub fn new(height: usize, width: usize) -> Resize {
        Resize(Size::Exactly(height, width))
    }

    /// So that the shorter side has `size` pixels.
    pub fn shorter(size: usize) -> Resize {
        Resize(Size::Shorter(size))
    }
}

impl Transform for Resize {
    fn apply(&self, picture: Picture, _: &mut Rng) -> Result<Picture> {
        let (rows, columns) = (picture.height(), picture.width());
        let (height, width) = match self.0 {
            Size::Exactly(height, width) => (height, width),
            Size::Shorter(size) if rows <= columns => (size, size.saturating_mul(columns) / rows),
            Size::Shorter(size) => (size.saturating_mul(rows) / columns, size),
        };
        resize(picture, height, width)
    }
}

/// A random part of a random shape, in one size: the usual augmentation for training on ImageNet.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RandomResizedCrop {
    height: usize,
    width: usize,
    scale: (f64, f64),
    ratio: (f64, f64),
}

impl RandomResizedCrop {
    /// Parts of 8 % to all of the area, with sides of 3:4 to 4:3.
    pub fn new(height: usize, width: usize) -> RandomResizedCrop {
        RandomResizedCrop { height, width, scale: (0.08, 1.0), ratio: (3.0 / 4.0, 4.0 / 3.0) }
    }

    /// The share of the area that a part has, from and to.
    pub fn scale(mut self, from: f64, to: f64) -> RandomResizedCrop {
        self.scale = (from, to);
        self
    }

    /// Width by height, from and to.
    pub fn ratio(mut self, from: f64, to: f64) -> RandomResizedCrop {
        self.ratio = (from, to);
        self
    }

    /// Top, left, height and width of a part.
    fn part(&self, rows: usize, columns: usize, rng: &mut Rng) -> (usize, usize, usize, usize) {
        const TRIES: usize = 10;
        let area = (rows * columns) as f64;
        for _ in 0..TRIES {
            let target = area * between(rng, self.scale);
            let ratio = between(rng, (self.ratio.0.ln(), self.ratio.1.ln())).exp();
            let (width, height) = ((target * ratio).sqrt().round_ties_even(), (target / ratio).sqrt().round_ties_even());
            if (1.0..=columns as f64).contains(&width) && (1.0..=rows as f64).contains(&height) {
                let (width, height) = (width as usize, height as usize);
                return (rng.below(rows - height + 1), rng.below(columns - width + 1), height, width);
            }
        }
        // The middle, in the nearest shape that is allowed.
        let shape = columns as f64 / rows as f64;
        let (height, width) = match shape {
            _ if shape < self.ratio.0 => ((columns as f64 / self.ratio.0).round_ties_even() as usize, columns),
            _ if shape > self.ratio.1 => (rows, (rows as f64 * self.ratio.1).round_ties_even() as usize),
            _ => (rows, columns),
        };
        let (height, width) = (height.clamp(1, rows), width.clamp(1, columns));
        ((rows - height) / 2, (columns - width) / 2, height, width)
    }
}

impl Transform for RandomResizedCrop {
    fn apply(&self, picture: Picture, rng: &mut Rng) -> Result<Picture> {
        let ((small, large), (slim, broad)) = (self.scale, self.ratio);
        if !(0.0 < small && small <= large && large.is_finite() && 0.0 < slim && slim <= broad && broad.is_finite()) {
            let cause = format!("random parts of {:?} of the area, with sides {:?}", self.scale, self.ratio);
            return Err(Error::argument(cause, "use finite ranges above 0, the smaller number first"));
        }
        let (top, left, height, width) = self.part(picture.height(), picture.width(), rng);
        let part = geometry::crop(&picture, top as i64, left as i64, height, width, 0.0);
        resize(part, self.height, self.width)
    }
}
