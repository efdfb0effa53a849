//! Transforms: what is done to pictures before, and to batches after, they are on a device.
//!
//! In: a picture and random numbers, or a batch. Out: a picture, or a batch. Names, defaults and formulas are torchvision's.
//! Always: the same random numbers give the same picture. A picture that does not fit is an error that says so.

mod colour;
mod device;
mod erase;
mod geometry;
mod resample;
mod resize;
mod rotate;
mod values;

pub use colour::{ColorJitter, Grayscale};
pub use device::{cutmix, mixup, normalize, random_crop, random_erasing, random_horizontal_flip};
pub use erase::RandomErasing;
pub use geometry::{CenterCrop, RandomCrop, RandomHorizontalFlip, RandomVerticalFlip};
pub use resize::{RandomResizedCrop, Resize, Size};
pub use rotate::RandomRotation;
pub use values::{Normalize, ToFloat};

use crate::picture::Picture;
use unigrad_nn::{Result, random::Rng};

/// What is done to a picture.
///
/// Any closure `Fn(Picture, &mut Rng) -> Result<Picture>` is one.
pub trait Transform: Send + Sync + 'static {
    /// Does it. What is random takes its numbers from `rng` alone.
    fn apply(&self, picture: Picture, rng: &mut Rng) -> Result<Picture>;
}

impl<F: Fn(Picture, &mut Rng) -> Result<Picture> + Send + Sync + 'static> Transform for F {
    fn apply(&self, picture: Picture, rng: &mut Rng) -> Result<Picture> {
        self(picture, rng)
    }
}

impl Transform for Box<dyn Transform> {
    fn apply(&self, picture: Picture, rng: &mut Rng) -> Result<Picture> {
        (**self).apply(picture, rng)
    }
}

/// Transforms, one after the other.
///
/// ```
/// use unigrad_data::{CenterCrop, Compose, Normalize, Picture, Pixels, Resize, Transform};
/// use unigrad_nn::random::Rng;
/// let picture = Picture::new(Pixels::U8(vec![128; 60 * 40 * 3]), 60, 40, 3)?;
/// let test = Compose::new().then(Resize::shorter(32)).then(CenterCrop(28, 28)).then(Normalize::imagenet());
/// assert_eq!(test.apply(picture, &mut Rng::new(0, 0))?.to_tensor().shape, [3, 28, 28]);
/// # Ok::<(), unigrad_nn::Error>(())
/// ```
#[derive(Default)]
pub struct Compose(Vec<Box<dyn Transform>>);

impl Compose {
    /// None.
    pub fn new() -> Compose {
        Compose::default()
    }

    /// And then this one.
    pub fn then(mut self, transform: impl Transform) -> Compose {
        self.0.push(Box::new(transform));
        self
    }
}

impl Transform for Compose {
    fn apply(&self, picture: Picture, rng: &mut Rng) -> Result<Picture> {
        self.0.iter().try_fold(picture, |picture, transform| transform.apply(picture, rng))
    }
}

/// A transform with a probability, else nothing.
pub struct RandomApply<T>(
    /// The probability.
    pub f64,
    /// What is done then.
    pub T,
);

impl<T: Transform> Transform for RandomApply<T> {
    fn apply(&self, picture: Picture, rng: &mut Rng) -> Result<Picture> {
        if rng.uniform() < self.0 { self.1.apply(picture, rng) } else { Ok(picture) }
    }
}

/// A number between two.
fn between(rng: &mut Rng, (low, high): (f64, f64)) -> f64 {
    low + (high - low) * rng.uniform()
}

#[cfg(test)]
mod tests;
