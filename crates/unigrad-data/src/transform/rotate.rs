//! Rotation about the middle.

use super::{Transform, between};
use crate::picture::{Picture, Pixels};
use unigrad_nn::{Error, Result, random::Rng};

/// Turns a picture about its middle by a random angle; its size stays, and what comes in from outside is filled.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RandomRotation {
    degrees: (f64, f64),
    fill: f32,
}

impl RandomRotation {
    /// By between `-degrees` and `degrees`, counter-clockwise.
    pub fn new(degrees: f64) -> RandomRotation {
        RandomRotation { degrees: (-degrees, degrees), fill: 0.0 }
    }

    /// By between these, counter-clockwise.
    pub fn between(from: f64, to: f64) -> RandomRotation {
        RandomRotation { degrees: (from, to), fill: 0.0 }
    }

    /// What comes in from outside, from 0 (black) to 1 (white).
    pub fn fill(mut self, value: f32) -> RandomRotation {
        self.fill = value;
        self
    }
}

impl Transform for RandomRotation {
    fn apply(&self, picture: Picture, rng: &mut Rng) -> Result<Picture> {
        let angle = between(rng, self.degrees);
        if !angle.is_finite() {
            return Err(Error::argument(format!("a rotation by {:?} degrees", self.degrees), "use finite numbers"));
        }
        let (height, width, channels) = (picture.height(), picture.width(), picture.channels());
        let size = (height, width, channels);
        let pixels = match picture.into_pixels() {
            Pixels::U8(values) => {
                let values: Vec<f32> = values.into_iter().map(f32::from).collect();
                let rotated = rotated(&values, size, angle, self.fill * 255.0);
                Pixels::U8(rotated.into_iter().map(|x| x.round_ties_even().clamp(0.0, 255.0) as u8).collect())
            }
            Pixels::F32(values) => Pixels::F32(rotated(&values, size, angle, self.fill)),
        };
        Ok(Picture::of(pixels, height, width, channels))
    }
}

/// Bilinear: each pixel of the result asks the four around its place in the picture; those outside are `fill`.
fn rotated(values: &[f32], (height, width, channels): (usize, usize, usize), degrees: f64, fill: f32) -> Vec<f32> {
    let (sin, cos) = degrees.to_radians().sin_cos();
    let (middle_y, middle_x) = ((height as f64 - 1.0) / 2.0, (width as f64 - 1.0) / 2.0);
    let at = |y: i64, x: i64, c: usize| {
        let inside = (0..height as i64).contains(&y) && (0..width as i64).contains(&x);
        if inside { values[(y as usize * width + x as usize) * channels + c] } else { fill }
    };
    let mut rotated = Vec::with_capacity(values.len());
    for y in 0..height {
        for x in 0..width {
            let (dy, dx) = (y as f64 - middle_y, x as f64 - middle_x);
            // Rows count downwards, so that this turns the picture counter-clockwise.
            let (from_y, from_x) = (middle_y + dx * sin + dy * cos, middle_x + dx * cos - dy * sin);
            let (top, left) = (from_y.floor(), from_x.floor());
            let (below, right) = ((from_y - top) as f32, (from_x - left) as f32);
            let (top, left) = (top as i64, left as i64);
            for c in 0..channels {
                let upper = at(top, left, c) * (1.0 - right) + at(top, left + 1, c) * right;
                let lower = at(top + 1, left, c) * (1.0 - right) + at(top + 1, left + 1, c) * right;
                rotated.push(upper * (1.0 - below) + lower * below);
            }
        }
    }
    rotated
}
