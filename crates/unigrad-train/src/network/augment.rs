//! What is done to pictures, in words: transforms of training, batches that are mixed, and the numbers that all pictures are normalized by.
//!
//! In: the section `[augment]` of a configuration file, or `normalize` beside data. Out: transforms. Always: a number that makes no sense is an error before a picture is read.

use super::named;
use serde::{Deserialize, Deserializer};
use unigrad_data::{
    Batch, CenterCrop, ColorJitter, Compose, Grayscale, RandomApply, RandomCrop, RandomErasing, RandomHorizontalFlip, RandomResizedCrop,
    RandomRotation, RandomVerticalFlip, Resize, Transform, transform,
};
use unigrad_nn::{Error, Result, random::Rng};

/// What training does to pictures beside what every picture has done to it. In files it is the section `[augment]`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Augment {
    /// Transforms, in order, before a picture is resized and becomes numbers.
    #[serde(deserialize_with = "transforms")]
    pub pictures: Vec<TransformSpec>,
    /// Mixes each example with another of its batch, by a share of Beta(alpha, alpha); see [`mixup`](transform::mixup).
    pub mixup: Option<f64>,
    /// Puts a rectangle of another picture of the batch into each, whose size is by Beta(alpha, alpha); see [`cutmix`](transform::cutmix). With
    /// `mixup` too, each batch has one of them, which is drawn.
    pub cutmix: Option<f64>,
}

/// A transform in words: its name, or its name with settings.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
#[non_exhaustive]
pub enum TransformSpec {
    /// See [`CenterCrop`].
    CenterCrop {
        /// Rows.
        height: usize,
        /// Columns.
        width: usize,
    },
    /// See [`RandomCrop`].
    RandomCrop {
        /// Rows.
        height: usize,
        /// Columns.
        width: usize,
        /// The border of the picture, in pixels.
        #[serde(default)]
        padding: usize,
        /// The border's brightness, from 0 to 1.
        #[serde(default)]
        fill: f32,
    },
    /// See [`RandomResizedCrop`].
    RandomResizedCrop {
        /// Rows.
        height: usize,
        /// Columns.
        width: usize,
        /// The share of the area, from and to.
        #[serde(default = "areas")]
        scale: [f64; 2],
        /// Width by height, from and to.
        #[serde(default = "sides")]
        ratio: [f64; 2],
    },
    /// See [`RandomHorizontalFlip`].
    HorizontalFlip {
        /// The probability.
        #[serde(default = "half")]
        p: f64,
    },
    /// See [`RandomVerticalFlip`].
    VerticalFlip {
        /// The probability.
        #[serde(default = "half")]
        p: f64,
    },
    /// See [`RandomRotation`].
    Rotation {
        /// Degrees, from and to, counter-clockwise.
        degrees: [f64; 2],
        /// The brightness of what comes in from outside, from 0 to 1.
        #[serde(default)]
        fill: f32,
    },
    /// See [`ColorJitter`].
    ColorJitter {
        /// How far the brightness goes from 1.
        #[serde(default)]
        brightness: f64,
        /// How far the contrast goes from 1.
        #[serde(default)]
        contrast: f64,
        /// How far the saturation goes from 1.
        #[serde(default)]
        saturation: f64,
        /// How far the hue moves, in turns.
        #[serde(default)]
        hue: f64,
    },
    /// See [`Grayscale`].
    Grayscale {
        /// The probability.
        #[serde(default = "tenth")]
        p: f64,
    },
    /// See [`Resize`].
    Resize {
        /// Rows.
        height: usize,
        /// Columns.
        width: usize,
    },
    /// See [`Resize::shorter`].
    ResizeShorter {
        /// Pixels of the shorter side.
        size: usize,
    },
    /// See [`RandomErasing`].
    Erasing {
        /// The probability.
        #[serde(default = "half")]
        p: f64,
        /// The share of the area, from and to.
        #[serde(default = "erased")]
        scale: [f64; 2],
        /// Height by width, from and to.
        #[serde(default = "shapes")]
        ratio: [f64; 2],
        /// The brightness that is written, from 0 to 1.
        #[serde(default)]
        value: f32,
    },
    /// See [`RandomApply`].
    Apply {
        /// The probability.
        p: f64,
        /// What is done then, in order.
        #[serde(deserialize_with = "transforms")]
        transforms: Vec<TransformSpec>,
    },
}

fn half() -> f64 {
    0.5
}

fn tenth() -> f64 {
    0.1
}

fn areas() -> [f64; 2] {
    [0.08, 1.0]
}

fn sides() -> [f64; 2] {
    [3.0 / 4.0, 4.0 / 3.0]
}

fn erased() -> [f64; 2] {
    [0.02, 0.33]
}

fn shapes() -> [f64; 2] {
    [0.3, 3.3]
}

fn transforms<'de, D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Vec<TransformSpec>, D::Error> {
    struct One(TransformSpec);
    impl<'de> Deserialize<'de> for One {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<One, D::Error> {
            named::one_of(deserializer, "a transform").map(One)
        }
    }
    Ok(Vec::<One>::deserialize(deserializer)?.into_iter().map(|One(transform)| transform).collect())
}

fn composed(transforms: &[TransformSpec]) -> Result<Compose> {
    transforms.iter().try_fold(Compose::new(), |all, next| Ok(all.then(next.build()?)))
}

fn probability(p: f64) -> Result<f64> {
    match (0.0..=1.0).contains(&p) {
        true => Ok(p),
        false => Err(Error::argument(format!("a transform has the probability {p}"), "use a `p` from 0 to 1")),
    }
}

impl TransformSpec {
    fn build(&self) -> Result<Box<dyn Transform>> {
        Ok(match *self {
            TransformSpec::CenterCrop { height, width } => Box::new(CenterCrop(height, width)),
            TransformSpec::RandomCrop { height, width, padding, fill } => {
                Box::new(RandomCrop::new(height, width).padding(padding).fill(fill))
            }
            TransformSpec::RandomResizedCrop { height, width, scale, ratio } => {
                Box::new(RandomResizedCrop::new(height, width).scale(scale[0], scale[1]).ratio(ratio[0], ratio[1]))
            }
            TransformSpec::HorizontalFlip { p } => Box::new(RandomHorizontalFlip(probability(p)?)),
            TransformSpec::VerticalFlip { p } => Box::new(RandomVerticalFlip(probability(p)?)),
            TransformSpec::Rotation { degrees, fill } => Box::new(RandomRotation::between(degrees[0], degrees[1]).fill(fill)),
            TransformSpec::ColorJitter { brightness, contrast, saturation, hue } => {
                Box::new(ColorJitter { brightness, contrast, saturation, hue })
            }
            TransformSpec::Grayscale { p } => Box::new(Grayscale(probability(p)?)),
            TransformSpec::Resize { height, width } => Box::new(Resize::new(height, width)),
            TransformSpec::ResizeShorter { size } => Box::new(Resize::shorter(size)),
            TransformSpec::Erasing { p, scale, ratio, value } => {
                let erasing = RandomErasing::new(probability(p)?).scale(scale[0], scale[1]).ratio(ratio[0], ratio[1]);
                Box::new(erasing.value(value))
            }
            TransformSpec::Apply { p, ref transforms } => Box::new(RandomApply(probability(p)?, composed(transforms)?)),
        })
    }
}

impl Augment {
    /// The transforms as one; `None` if there are none.
    pub(super) fn transform(&self) -> Result<Option<Compose>> {
        if self.pictures.is_empty() { Ok(None) } else { composed(&self.pictures).map(Some) }
    }

    /// Whether batches are mixed, so that targets are probabilities.
    pub(super) fn mixes(&self) -> bool {
        self.mixup.is_some() || self.cutmix.is_some()
    }

    /// A batch whose examples are mixed.
    pub(super) fn mixed(&self, batch: Batch, n_classes: usize, rng: &mut Rng) -> Result<Batch> {
        let Batch { input, target, indices } = batch;
        let cut = match (self.mixup, self.cutmix) {
            (Some(_), Some(_)) => rng.uniform() < 0.5,
            (_, cutmix) => cutmix.is_some(),
        };
        let (input, target) = match (self.mixup, self.cutmix) {
            (_, Some(alpha)) if cut => transform::cutmix(&input, &target, n_classes, alpha, rng)?,
            (Some(alpha), _) => transform::mixup(&input, &target, n_classes, alpha, rng)?,
            _ => (input, target),
        };
        Ok(Batch { input, target, indices })
    }
}

/// The numbers that pictures are normalized by, in training and in use. In files `normalize = "imagenet"`, or `{ channels = { mean = [..], std = [..] } }`.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
#[non_exhaustive]
pub enum NormalizeSpec {
    /// Those of ImageNet; see [`Normalize::imagenet`](unigrad_data::Normalize::imagenet).
    Imagenet,
    /// One of each for each channel, or one for all.
    Channels {
        /// What is subtracted from values between 0 and 1.
        mean: Vec<f32>,
        /// What they are divided by then.
        std: Vec<f32>,
    },
}

impl NormalizeSpec {
    /// Means and standard deviations.
    pub(super) fn numbers(&self) -> (Vec<f32>, Vec<f32>) {
        match self {
            NormalizeSpec::Imagenet => (vec![0.485, 0.456, 0.406], vec![0.229, 0.224, 0.225]),
            NormalizeSpec::Channels { mean, std } => (mean.clone(), std.clone()),
        }
    }
}

pub(super) fn normalize<'de, D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Option<NormalizeSpec>, D::Error> {
    named::one_of(deserializer, "a normalization").map(Some)
}
