//! Published sets of small pictures: CIFAR-10 and CIFAR-100 in their binary files, Fashion-MNIST in IDX files.
//!
//! In: a folder with the files as published. Out: pictures in memory, for training and for test.
//! Always: a file's size is whole records, and labels are classes; otherwise an error names the file.

use super::{Picture, Pixels};
use crate::{Dataset, Images, Sample, Transform, combine::beyond, images::ImageSplit};
use std::path::Path;
use unigrad_nn::{Error, Result, files, random::Rng};

/// The classes of CIFAR-10, in the order of their numbers.
pub const CIFAR10: [&str; 10] = ["airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"];

/// The classes of Fashion-MNIST, in the order of their numbers.
pub const FASHION_MNIST: [&str; 10] =
    ["T-shirt/top", "Trouser", "Pullover", "Dress", "Coat", "Sandal", "Shirt", "Sneaker", "Bag", "Ankle boot"];

/// Pictures of one size in memory, with a class each.
#[derive(Clone, Debug, PartialEq)]
pub struct Pictures {
    /// Picture after picture, each channel's plane after the other.
    planes: Vec<u8>,
    labels: Vec<i64>,
    height: usize,
    width: usize,
    channels: usize,
}

/// Rows and columns of CIFAR's pictures.
const SIDE: usize = 32;
const CHANNELS: usize = 3;
const PIXELS: usize = SIDE * SIDE * CHANNELS;

impl Pictures {
    /// Reads files of records: `n_labels` bytes, of which the one at `label` is the class, then the planes of red, green and blue.
    fn read(paths: &[&Path], n_labels: usize, label: usize, n_classes: u8) -> Result<Pictures> {
        // 10,000 pictures a file are published; CIFAR-100's training file has 50,000.
        const MAX_BYTES: u64 = 1 << 30;
        let record = n_labels + PIXELS;
        let mut all = Pictures { planes: Vec::new(), labels: Vec::new(), height: SIDE, width: SIDE, channels: CHANNELS };
        for path in paths {
            let bytes = files::read_at_most(path, MAX_BYTES)?;
            if bytes.is_empty() || !bytes.len().is_multiple_of(record) {
                let cause = format!("has {} bytes, which are not whole records of {record}", bytes.len());
                return Err(Error::format(
                    path,
                    cause,
                    "use the binary version of the data set, unpacked; fetch it again if it is truncated",
                ));
            }
            for (at, record) in bytes.chunks_exact(record).enumerate() {
                let (labels, planes) = record.split_at(n_labels);
                let class = labels.get(label).copied().unwrap_or(u8::MAX);
                if class >= n_classes {
                    let cause = format!("picture {at} has label {class}, and labels go from 0 to {}", n_classes - 1);
                    return Err(Error::format(path, cause, "use the file as published"));
                }
                all.labels.push(i64::from(class));
                all.planes.extend_from_slice(planes);
            }
        }
        Ok(all)
    }

    /// The number of each picture's class: for samplers and splits.
    pub fn labels(&self) -> Vec<usize> {
        self.labels.iter().map(|label| *label as usize).collect()
    }

    /// Samples, by a transform.
    pub fn samples(self, transform: impl Transform) -> impl Dataset<Item = Sample> {
        self.map(move |(picture, class), rng| Ok(transform.apply(picture, rng)?.to_sample(class)))
    }
}

impl Dataset for Pictures {
    type Item = (Picture, i64);

    fn len(&self) -> usize {
        self.labels.len()
    }

    fn get(&self, index: usize, _: &mut Rng) -> Result<(Picture, i64)> {
        let (plane, picture) = (self.height * self.width, self.height * self.width * self.channels);
        let class = self.labels.get(index).ok_or_else(|| beyond(index, self.labels.len()))?;
        let planes = self.planes.get(index * picture..(index + 1) * picture).ok_or_else(|| beyond(index, self.labels.len()))?;
        let values = (0..plane).flat_map(|at| planes[at..].iter().step_by(plane).copied()).collect();
        Ok((Picture::of(Pixels::U8(values), self.height, self.width, self.channels), *class))
    }
}

/// The grey images as pictures with a class each. Pixels are scaled to 255 where white is less.
impl Dataset for Images {
    type Item = (Picture, i64);

    fn len(&self) -> usize {
        Images::len(self)
    }

    fn get(&self, index: usize, _: &mut Rng) -> Result<(Picture, i64)> {
        let class = self.labels.get(index).ok_or_else(|| beyond(index, self.labels.len()))?;
        let white = u32::from(self.white.max(1));
        let values = self.image(index).iter().map(|&p| ((u32::from(p) * 255 + white / 2) / white).min(255) as u8).collect();
        Ok((Picture::of(Pixels::U8(values), self.height, self.width, 1), i64::from(*class)))
    }
}

fn parts(folder: &Path, train: &[&str], test: &str, n_labels: usize, label: usize, n_classes: u8) -> Result<(Pictures, Pictures)> {
    let train: Vec<_> = train.iter().map(|name| folder.join(name)).collect();
    let train: Vec<&Path> = train.iter().map(AsRef::as_ref).collect();
    Ok((Pictures::read(&train, n_labels, label, n_classes)?, Pictures::read(&[&folder.join(test)], n_labels, label, n_classes)?))
}

/// CIFAR-10's training and test pictures, from the folder `cifar-10-batches-bin` of its binary version.
pub fn cifar10(folder: impl AsRef<Path>) -> Result<(Pictures, Pictures)> {
    let train = ["data_batch_1.bin", "data_batch_2.bin", "data_batch_3.bin", "data_batch_4.bin", "data_batch_5.bin"];
    parts(folder.as_ref(), &train, "test_batch.bin", 1, 0, 10)
}

/// CIFAR-100's training and test pictures with the 100 fine labels, from the folder `cifar-100-binary` of its binary version.
pub fn cifar100(folder: impl AsRef<Path>) -> Result<(Pictures, Pictures)> {
    parts(folder.as_ref(), &["train.bin"], "test.bin", 2, 1, 100)
}

/// Fashion-MNIST from a folder with its four IDX files as published, whose names are MNIST's. Its classes are [`FASHION_MNIST`].
pub fn fashion_mnist(folder: impl AsRef<Path>) -> Result<ImageSplit> {
    let split = crate::mnist(folder)?;
    Ok(ImageSplit { name: "fashion-mnist".to_owned(), note: split.note.replacen("mnist", "fashion-mnist", 1), ..split })
}
