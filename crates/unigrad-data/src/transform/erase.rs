//! Random erasing (Zhong et al., arXiv:1708.04896).

use super::{Transform, between};
use crate::picture::{Picture, Pixels};
use unigrad_nn::{Error, Result, random::Rng};

/// Overwrites a random rectangle, with a probability.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RandomErasing {
    p: f64,
    scale: (f64, f64),
    ratio: (f64, f64),
    value: f32,
}

impl Default for RandomErasing {
    fn default() -> RandomErasing {
        RandomErasing { p: 0.5, scale: (0.02, 0.33), ratio: (0.3, 3.3), value: 0.0 }
    }
}

impl RandomErasing {
    /// With probability `p`, 2 % to 33 % of the area, with sides of 0.3 to 3.3, black (0 after [`Normalize`](super::Normalize) is the mean).
    pub fn new(p: f64) -> RandomErasing {
        RandomErasing { p, ..RandomErasing::default() }
    }

    /// The share of the area, from and to.
    pub fn scale(mut self, from: f64, to: f64) -> RandomErasing {
        self.scale = (from, to);
        self
    }

    /// Height by width, from and to.
    pub fn ratio(mut self, from: f64, to: f64) -> RandomErasing {
        self.ratio = (from, to);
        self
    }

    /// What is written: in units of white for bytes, as it is for floats.
    pub fn value(mut self, value: f32) -> RandomErasing {
        self.value = value;
        self
    }

    /// Top, left, height and width of the rectangle, if one fits.
    pub(super) fn part(&self, rows: usize, columns: usize, rng: &mut Rng) -> Result<Option<(usize, usize, usize, usize)>> {
        let ((small, large), (flat, tall)) = (self.scale, self.ratio);
        if !(0.0 <= small && small <= large && large <= 1.0 && 0.0 < flat && flat <= tall && tall.is_finite()) {
            let cause = format!("erasing {:?} of the area, with sides {:?}", self.scale, self.ratio);
            return Err(Error::argument(cause, "use a share up to 1, and sides above 0, the smaller number first"));
        }
        if rng.uniform() >= self.p {
            return Ok(None);
        }
        const TRIES: usize = 10;
        for _ in 0..TRIES {
            let area = (rows * columns) as f64 * between(rng, self.scale);
            let ratio = between(rng, (flat.ln(), tall.ln())).exp();
            let (height, width) = ((area * ratio).sqrt().round_ties_even() as usize, (area / ratio).sqrt().round_ties_even() as usize);
            if height < rows && width < columns {
                return Ok(Some((rng.below(rows - height + 1), rng.below(columns - width + 1), height, width)));
            }
        }
        Ok(None)
    }
}

impl Transform for RandomErasing {
    fn apply(&self, picture: Picture, rng: &mut Rng) -> Result<Picture> {
        let (rows, columns, channels) = (picture.height(), picture.width(), picture.channels());
        let Some((top, left, height, width)) = self.part(rows, columns, rng)? else { return Ok(picture) };
        fn erase<T: Copy>(values: &mut [T], row_of: impl Fn(usize) -> std::ops::Range<usize>, rows: std::ops::Range<usize>, value: T) {
            rows.for_each(|y| values[row_of(y)].fill(value));
        }
        let row_of = |y: usize| (y * columns + left) * channels..(y * columns + left + width) * channels;
        let mut pixels = picture.into_pixels();
        match &mut pixels {
            Pixels::U8(values) => erase(values, row_of, top..top + height, (self.value * 255.0) as u8),
            Pixels::F32(values) => erase(values, row_of, top..top + height, self.value),
        }
        Ok(Picture::of(pixels, rows, columns, channels))
    }
}
