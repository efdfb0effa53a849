//! Colours: brightness, contrast, saturation, hue, grey.
//!
//! Formulas are those of torchvision's tensors; bytes are rounded down after each of them, as there.

use super::{Transform, between};
use crate::picture::{Picture, Pixels};
use unigrad_nn::{Error, Result, random::Rng};

/// Random brightness, contrast, saturation and hue, in random order. What is 0 stays as it is.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ColorJitter {
    /// The factor is between `1 - brightness` (not below 0) and `1 + brightness`.
    pub brightness: f64,
    /// The same for the distance from the mean grey.
    pub contrast: f64,
    /// The same for the distance from each pixel's own grey.
    pub saturation: f64,
    /// The hue moves by between `-hue` and `hue` turns, at most half a turn.
    pub hue: f64,
}

/// Grey with the picture's number of channels, with a probability.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Grayscale(pub f64);

/// RGB values while they are changed: white is 255 and results whole for bytes, 1 for floats.
pub(super) struct Colours {
    pub(super) values: Vec<f32>,
    channels: usize,
    white: f32,
    whole: bool,
}

impl Colours {
    pub(super) fn of(picture: &Picture) -> Colours {
        let (values, white, whole) = match picture.pixels() {
            Pixels::U8(values) => (values.iter().copied().map(f32::from).collect(), 255.0, true),
            Pixels::F32(values) => (values.clone(), 1.0, false),
        };
        Colours { values, channels: picture.channels(), white, whole }
    }

    pub(super) fn into_picture(self, height: usize, width: usize) -> Picture {
        let pixels = if self.whole { Pixels::U8(self.values.into_iter().map(|x| x as u8).collect()) } else { Pixels::F32(self.values) };
        Picture::of(pixels, height, width, self.channels)
    }

    fn stored(&self, x: f32) -> f32 {
        let x = x.clamp(0.0, self.white);
        if self.whole { x.trunc() } else { x }
    }

    fn luma(&self, pixel: &[f32]) -> f32 {
        if self.channels < 3 {
            return pixel[0];
        }
        let grey = 0.2989 * pixel[0] + 0.587 * pixel[1] + 0.114 * pixel[2];
        if self.whole { grey.trunc() } else { grey }
    }

    /// Channels that are colours, and not alpha.
    fn n_colours(&self) -> usize {
        if self.channels < 3 { 1 } else { 3 }
    }

    /// `factor * x + (1 - factor) * other`, for each colour of each pixel.
    fn blend(&mut self, factor: f64, other: impl Fn(&Colours, &[f32]) -> f32) {
        let mut values = std::mem::take(&mut self.values);
        let (factor, rest) = (factor as f32, (1.0 - factor) as f32);
        for pixel in values.chunks_exact_mut(self.channels) {
            let other = other(self, pixel);
            for x in &mut pixel[..self.n_colours()] {
                *x = self.stored(factor * *x + rest * other);
            }
        }
        self.values = values;
    }

    pub(super) fn brightness(&mut self, factor: f64) {
        self.blend(factor, |_, _| 0.0);
    }

    pub(super) fn contrast(&mut self, factor: f64) {
        let n = (self.values.len() / self.channels).max(1);
        let mean = self.values.chunks_exact(self.channels).map(|pixel| f64::from(self.luma(pixel))).sum::<f64>() / n as f64;
        self.blend(factor, |_, _| mean as f32);
    }

    pub(super) fn saturation(&mut self, factor: f64) {
        if self.channels >= 3 {
            self.blend(factor, Colours::luma);
        }
    }

    pub(super) fn hue(&mut self, turns: f32) {
        if self.channels < 3 {
            return;
        }
        let (white, whole) = (self.white, self.whole);
        for pixel in self.values.chunks_exact_mut(self.channels) {
            let rgb = [pixel[0] / white, pixel[1] / white, pixel[2] / white];
            for (x, turned) in pixel.iter_mut().zip(turned(rgb, turns)) {
                // torchvision's conversion of floats to bytes: each byte has an equal share of [0, 1].
                *x = if whole { (turned * (256.0 - 1e-3)).floor().clamp(0.0, 255.0) } else { turned };
            }
        }
    }
}

/// A colour with its hue moved: to HSV and back.
fn turned([r, g, b]: [f32; 3], turns: f32) -> [f32; 3] {
    let (high, low) = (r.max(g).max(b), r.min(g).min(b));
    let range = high - low;
    if range == 0.0 {
        return [high; 3];
    }
    let saturation = range / high;
    let (rc, gc, bc) = ((high - r) / range, (high - g) / range, (high - b) / range);
    let hue = match () {
        () if high == r => bc - gc,
        () if high == g => 2.0 + rc - bc,
        () => 4.0 + gc - rc,
    };
    let hue = ((hue / 6.0).rem_euclid(1.0) + turns).rem_euclid(1.0);
    let sixth = (hue * 6.0).floor();
    let part = hue * 6.0 - sixth;
    let p = (high * (1.0 - saturation)).clamp(0.0, 1.0);
    let q = (high * (1.0 - saturation * part)).clamp(0.0, 1.0);
    let t = (high * (1.0 - saturation * (1.0 - part))).clamp(0.0, 1.0);
    match sixth as i64 % 6 {
        0 => [high, t, p],
        1 => [q, high, p],
        2 => [p, high, t],
        3 => [p, q, high],
        4 => [t, p, high],
        _ => [high, p, q],
    }
}

impl Transform for ColorJitter {
    fn apply(&self, picture: Picture, rng: &mut Rng) -> Result<Picture> {
        let ColorJitter { brightness, contrast, saturation, hue } = *self;
        let valid = [brightness, contrast, saturation, hue].iter().all(|x| x.is_finite() && *x >= 0.0) && hue <= 0.5;
        if !valid {
            return Err(Error::argument(format!("{self:?}"), "use finite numbers from 0 on, a hue of at most 0.5"));
        }
        let mut colours = Colours::of(&picture);
        // Drawn whether they are used or not, so that one setting does not change what another draws.
        let order = rng.permutation(4);
        let mut factor = |strength: f64| between(rng, ((1.0 - strength).max(0.0), 1.0 + strength));
        let factors = [factor(brightness), factor(contrast), factor(saturation)];
        let turns = between(rng, (-hue, hue)) as f32;
        for which in order {
            match which {
                0 if brightness > 0.0 => colours.brightness(factors[0]),
                1 if contrast > 0.0 => colours.contrast(factors[1]),
                2 if saturation > 0.0 => colours.saturation(factors[2]),
                3 if hue > 0.0 => colours.hue(turns),
                _ => {}
            }
        }
        Ok(colours.into_picture(picture.height(), picture.width()))
    }
}

impl Transform for Grayscale {
    fn apply(&self, picture: Picture, rng: &mut Rng) -> Result<Picture> {
        let channels = picture.channels();
        if rng.uniform() >= self.0 || channels < 3 {
            return Ok(picture);
        }
        // Grey with alpha and back, so that alpha stays.
        picture.to_channels(if channels == 4 { 2 } else { 1 })?.to_channels(channels)
    }
}
