//! Values: bytes to floats, and floats to what a model was trained with.

use super::Transform;
use crate::picture::{Picture, Pixels};
use unigrad_nn::{Error, Result, random::Rng};

/// Bytes from 0 to 255 become floats from 0 to 1; floats stay.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ToFloat;

pub(super) fn floats(picture: Picture) -> Picture {
    let (height, width, channels) = (picture.height(), picture.width(), picture.channels());
    let values = match picture.into_pixels() {
        Pixels::U8(values) => values.into_iter().map(|x| f32::from(x) / 255.0).collect(),
        Pixels::F32(values) => values,
    };
    Picture::of(Pixels::F32(values), height, width, channels)
}

impl Transform for ToFloat {
    fn apply(&self, picture: Picture, _: &mut Rng) -> Result<Picture> {
        Ok(floats(picture))
    }
}

/// `(x - mean) / std` for each channel, of values from 0 to 1; bytes become floats first.
#[derive(Clone, Debug, PartialEq)]
pub struct Normalize {
    mean: Vec<f32>,
    std: Vec<f32>,
}

impl Normalize {
    /// With a mean and a standard deviation for each channel, or one for all. An error if they differ in number, or one is not finite or not above 0.
    pub fn new(mean: &[f32], std: &[f32]) -> Result<Normalize> {
        let valid = mean.len() == std.len() && (1..=4).contains(&mean.len()) && mean.iter().all(|m| m.is_finite());
        if !valid || !std.iter().all(|s| s.is_finite() && *s > 0.0) {
            let cause = format!("normalize with means {mean:?} and standard deviations {std:?}");
            return Err(Error::argument(cause, "give one of each for each channel, deviations above 0"));
        }
        Ok(Normalize { mean: mean.to_vec(), std: std.to_vec() })
    }

    /// With the numbers of ImageNet, which published models were trained with.
    pub fn imagenet() -> Normalize {
        Normalize { mean: vec![0.485, 0.456, 0.406], std: vec![0.229, 0.224, 0.225] }
    }
}

/// Each channel's bytes in its table; the compiler knows how many channels there are.
fn looked_up<const C: usize>(values: &[u8], table: impl Fn(usize) -> [f32; 256]) -> Vec<f32> {
    let tables: [[f32; 256]; C] = std::array::from_fn(table);
    let mut floats = vec![0.0; values.len()];
    for (into, pixel) in floats.as_chunks_mut::<C>().0.iter_mut().zip(values.as_chunks::<C>().0) {
        for c in 0..C {
            into[c] = tables[c][usize::from(pixel[c])];
        }
    }
    floats
}

impl Transform for Normalize {
    fn apply(&self, picture: Picture, _: &mut Rng) -> Result<Picture> {
        let (height, width, channels) = (picture.height(), picture.width(), picture.channels());
        if self.mean.len() != 1 && self.mean.len() != channels {
            let cause = format!("normalize has {} means, and the picture has {channels} channels", self.mean.len());
            return Err(Error::argument(cause, "give as many, or decode with as many channels"));
        }
        let of = |c: usize| if self.mean.len() == 1 { (self.mean[0], self.std[0]) } else { (self.mean[c], self.std[c]) };
        let values = match picture.into_pixels() {
            Pixels::U8(values) => {
                // A byte has 256 values: each is computed once.
                let scaled = |c: usize| {
                    let (mean, std) = of(c);
                    std::array::from_fn(|x| (x as f32 / 255.0 - mean) / std)
                };
                match channels {
                    1 => looked_up::<1>(&values, scaled),
                    2 => looked_up::<2>(&values, scaled),
                    3 => looked_up::<3>(&values, scaled),
                    _ => looked_up::<4>(&values, scaled),
                }
            }
            Pixels::F32(mut values) => {
                for pixel in values.chunks_exact_mut(channels) {
                    for (c, x) in pixel.iter_mut().enumerate() {
                        let (mean, std) = of(c);
                        *x = (*x - mean) / std;
                    }
                }
                values
            }
        };
        Ok(Picture::of(Pixels::F32(values), height, width, channels))
    }
}
