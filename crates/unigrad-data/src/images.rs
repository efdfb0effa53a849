//! Labelled grey images: the digits that ship with the library, and MNIST as published.
//!
//! In: IDX files. Out: pixels and labels in memory, split into a training and a test part, with a line that says what was used.
//! Always: numbers of images and labels agree, labels are classes; otherwise an error names the file.

use crate::idx::{Idx, IdxData};
use std::path::{Path, PathBuf};
use unigrad_nn::{Error, Result, random::Rng};

/// Grey images with a label each.
#[derive(Clone, Debug, PartialEq)]
pub struct Images {
    /// Pixels, image after image, row after row.
    pub pixels: Vec<u8>,
    /// One per image.
    pub labels: Vec<u8>,
    /// Rows of an image.
    pub height: usize,
    /// Columns of an image.
    pub width: usize,
    /// The greatest value a pixel can have.
    pub white: u8,
    /// Labels are below this.
    pub n_classes: usize,
}

/// A training and a test part.
#[derive(Clone, Debug, PartialEq)]
pub struct ImageSplit {
    /// What it is.
    pub name: String,
    /// What was used for what, in words.
    pub note: String,
    /// To learn from.
    pub train: Images,
    /// To be judged by.
    pub test: Images,
}

/// Images of one batch, ready for a device.
#[derive(Clone, Debug, PartialEq)]
pub struct ImageBatch {
    /// `[n, 1, height, width]`, from 0 to 1.
    pub pixels: Vec<f32>,
    /// The labels.
    pub labels: Vec<i64>,
    /// Which images they are.
    pub indices: Vec<usize>,
    /// Rows of an image.
    pub height: usize,
    /// Columns of an image.
    pub width: usize,
}

impl Images {
    /// How many.
    pub fn len(&self) -> usize {
        self.labels.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.labels.is_empty()
    }

    /// The pixels of one image.
    pub fn image(&self, index: usize) -> &[u8] {
        let size = self.height * self.width;
        &self.pixels[index * size..(index + 1) * size]
    }

    /// A run of images.
    pub fn part(&self, range: std::ops::Range<usize>) -> Images {
        let size = self.height * self.width;
        Images {
            pixels: self.pixels[range.start * size..range.end * size].to_vec(),
            labels: self.labels[range].to_vec(),
            height: self.height,
            width: self.width,
            white: self.white,
            n_classes: self.n_classes,
        }
    }

    /// Takes the images from `at` on away, as images of their own.
    fn split_off(&mut self, at: usize) -> Images {
        Images {
            pixels: self.pixels.split_off(at * self.height * self.width),
            labels: self.labels.split_off(at),
            height: self.height,
            width: self.width,
            white: self.white,
            n_classes: self.n_classes,
        }
    }

    /// The images at `indices` as floats; with `jitter`, each moved by up to so many pixels in both directions, in `rng`'s order.
    pub fn batch(&self, indices: &[usize], jitter: Option<(usize, &mut Rng)>) -> ImageBatch {
        let scale = 1.0 / f32::from(self.white.max(1));
        let mut pixels = Vec::with_capacity(indices.len() * self.height * self.width);
        let (reach, mut rng) = match jitter {
            Some((reach, rng)) => (reach, Some(rng)),
            None => (0, None),
        };
        for &index in indices {
            let image = self.image(index);
            match &mut rng {
                Some(rng) if reach > 0 => {
                    let (dy, dx) = (rng.below(2 * reach + 1), rng.below(2 * reach + 1));
                    for y in 0..self.height {
                        for x in 0..self.width {
                            let (sy, sx) = ((y + dy).wrapping_sub(reach), (x + dx).wrapping_sub(reach));
                            let inside = sy < self.height && sx < self.width;
                            pixels.push(if inside { f32::from(image[sy * self.width + sx]) * scale } else { 0.0 });
                        }
                    }
                }
                _ => pixels.extend(image.iter().map(|&p| f32::from(p) * scale)),
            }
        }
        ImageBatch {
            pixels,
            labels: indices.iter().map(|&i| i64::from(self.labels[i])).collect(),
            indices: indices.to_vec(),
            height: self.height,
            width: self.width,
        }
    }

    /// Reads a pair of IDX files of MNIST's kind: magic numbers 2051 and 2049.
    pub fn from_idx(images: &Path, labels: &Path) -> Result<Images> {
        Images::from_parts(Idx::read(images)?, images, Idx::read(labels)?, labels, 255)
    }

    fn from_parts(images: Idx, images_path: &Path, labels: Idx, labels_path: &Path, white: u8) -> Result<Images> {
        let type_name = images.data.type_name();
        let (IdxData::U8(pixels), &[n, height, width]) = (images.data, images.shape.as_slice()) else {
            let cause = format!("holds {type_name} of shape {:?}; images are u8 of rank 3", images.shape);
            return Err(Error::format(images_path, cause, "check that the image file is not the label file"));
        };
        let type_name = labels.data.type_name();
        let (IdxData::U8(labels), &[n_labels]) = (labels.data, labels.shape.as_slice()) else {
            let cause = format!("holds {type_name} of shape {:?}; labels are u8 of rank 1", labels.shape);
            return Err(Error::format(labels_path, cause, "check that the label file is not the image file"));
        };
        if n == 0 || height == 0 || width == 0 {
            let cause = format!("holds {n} images of {height}x{width} pixels: there is nothing to learn from");
            return Err(Error::format(images_path, cause, "use a file with at least one image of at least one pixel"));
        }
        if n != n_labels {
            let cause = format!("holds {n_labels} labels, and {} holds {n} images", images_path.display());
            return Err(Error::format(labels_path, cause, "use two files that belong together"));
        }
        const N_CLASSES: usize = 10;
        if let Some(at) = labels.iter().position(|&l| usize::from(l) >= N_CLASSES) {
            let cause = format!("label {at} is {}, and labels go from 0 to 9", labels[at]);
            return Err(Error::format(labels_path, cause, "use the labels as published"));
        }
        Ok(Images { pixels, labels, height, width, white, n_classes: N_CLASSES })
    }
}

/// The digits that ship with the library: 1797 images of 8x8 pixels (UCI optical recognition of handwritten digits, E. Alpaydin and
/// C. Kaynak, CC BY 4.0, as scikit-learn distributes them). The first 1437 train, the last 360 test.
pub fn digits() -> Result<ImageSplit> {
    const N_TRAIN: usize = 1437;
    let (images, labels) = ("digits-images-idx3-ubyte.gz", "digits-labels-idx1-ubyte.gz");
    let mut train = Images::from_parts(
        Idx::from_bytes(include_bytes!("../assets/digits-images-idx3-ubyte.gz"), images)?,
        Path::new(images),
        Idx::from_bytes(include_bytes!("../assets/digits-labels-idx1-ubyte.gz"), labels)?,
        Path::new(labels),
        16,
    )?;
    let (n, height, width) = (train.len(), train.height, train.width);
    let test = train.split_off(N_TRAIN.min(n));
    let note = format!("digits: {n} images of {height}x{width}, {} for training, {} for test", train.len(), test.len());
    Ok(ImageSplit { name: "digits".to_owned(), note, train, test })
}

/// The published file `name` in `folder`, plain or packed, with a hyphen or a dot before `idx`.
fn find(folder: &Path, name: &str) -> Option<PathBuf> {
    let dotted = name.replace("-idx", ".idx");
    [name.to_owned(), format!("{name}.gz"), dotted.clone(), format!("{dotted}.gz")]
        .into_iter()
        .map(|candidate| folder.join(candidate))
        .find(|path| path.is_file())
}

/// Images and labels.
type Pair = (PathBuf, PathBuf);

/// MNIST's files in a folder: those for training, if they are there, and those for testing.
fn mnist_files(folder: &Path) -> Result<(Option<Pair>, Pair)> {
    std::fs::read_dir(folder).map_err(|e| Error::read(folder, e))?;
    const NAMES: [&str; 4] = ["train-images-idx3-ubyte", "train-labels-idx1-ubyte", "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"];
    match NAMES.map(|name| find(folder, name)) {
        [Some(images), Some(labels), Some(test_images), Some(test_labels)] => Ok((Some((images, labels)), (test_images, test_labels))),
        [None, None, Some(images), Some(labels)] => Ok((None, (images, labels))),
        found => {
            let missing: Vec<&str> = NAMES.iter().zip(&found).filter(|(_, path)| path.is_none()).map(|(name, _)| *name).collect();
            let cause = format!("MNIST's files are not complete: missing {} (plain or .gz)", missing.join(", "));
            Err(Error::format(folder, cause, "put all four files as published there, or at least the two that begin with t10k"))
        }
    }
}

/// MNIST from a folder with the files as published.
///
/// With all four files, the published split. With the test set only (`t10k`), its first 8,000 images train and its last 2,000 test,
/// and the note says so.
pub fn mnist(folder: impl AsRef<Path>) -> Result<ImageSplit> {
    let folder = folder.as_ref();
    let (train, (images, labels)) = mnist_files(folder)?;
    let mut test = Images::from_idx(&images, &labels)?;
    let split = |note: String, train: Images, test: Images| ImageSplit { name: "mnist".to_owned(), note, train, test };
    if let Some((train_images, train_labels)) = train {
        let train = Images::from_idx(&train_images, &train_labels)?;
        if (train.height, train.width) != (test.height, test.width) {
            let cause = format!("images are {}x{}, and those for training {}x{}", test.height, test.width, train.height, train.width);
            return Err(Error::format(&images, cause, "use files of one data set"));
        }
        let note = format!("mnist: all four files, {} images for training, {} for test, as published", train.len(), test.len());
        return Ok(split(note, train, test));
    }
    let n = test.len();
    if n < 2 {
        let cause = format!("holds {n} image: of the test set alone one part trains and the other tests");
        return Err(Error::format(&images, cause, "put all four files as published there"));
    }
    // A fifth tests, as 2,000 of the published 10,000 do.
    let last = test.split_off(n - (n / 5).max(1));
    let note = format!(
        "mnist: {} holds only the test set (t10k, {n} images); its first {} train, its last {} test",
        folder.display(),
        test.len(),
        last.len()
    );
    Ok(split(note, test, last))
}

/// MNIST's images to learn from, in their order, for programs that keep a part of them for validation: those for training, or all of the
/// test set where a folder has nothing else.
///
/// ```no_run
/// # fn main() -> unigrad_nn::Result<()> {
/// let images = unigrad_data::mnist_examples("mnist/")?;
/// assert_eq!((images.height, images.width), (28, 28));
/// # Ok(())
/// # }
/// ```
pub fn mnist_examples(folder: impl AsRef<Path>) -> Result<Images> {
    let (train, test) = mnist_files(folder.as_ref())?;
    let (images, labels) = train.unwrap_or(test);
    Images::from_idx(&images, &labels)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_digits_ship() {
        let split = digits().unwrap();
        assert_eq!((split.train.len(), split.test.len()), (1437, 360));
        assert!(split.train.pixels.iter().all(|&p| p <= 16));
        let batch = split.train.batch(&[0, 5], None);
        assert_eq!(batch.pixels.len(), 2 * 64);
        assert!(batch.pixels.iter().all(|p| (0.0..=1.0).contains(p)));
    }

    #[test]
    fn jitter_moves_whole_images() {
        let images = Images { pixels: (1..=9).collect(), labels: vec![0], height: 3, width: 3, white: 1, n_classes: 10 };
        let mut rng = Rng::new(3, 4);
        for _ in 0..20 {
            let batch = images.batch(&[0], Some((1, &mut rng)));
            let seen: Vec<f32> = batch.pixels.iter().copied().filter(|&p| p != 0.0).collect();
            assert!(seen.contains(&5.0), "the middle stays inside: {batch:?}");
            assert!(seen.is_sorted());
        }
    }

    #[test]
    fn a_folder_without_mnist_says_what_is_missing() {
        let folder = std::env::temp_dir().join(format!("unigrad-mnist-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let error = mnist(&folder).unwrap_err().to_string();
        assert!(error.contains("missing train-images-idx3-ubyte"), "{error}");
        assert!(mnist(folder.join("nowhere")).unwrap_err().to_string().contains("cannot be read"));
        // The test set alone: 5 images, 4 train and 1 tests.
        let images = [&[0, 0, 8, 3, 0, 0, 0, 5, 0, 0, 0, 1, 0, 0, 0, 1][..], &[9, 8, 7, 6, 5]].concat();
        let labels = [&[0, 0, 8, 1, 0, 0, 0, 5][..], &[0, 1, 2, 3, 4]].concat();
        std::fs::write(folder.join("t10k-images-idx3-ubyte"), &images).unwrap();
        std::fs::write(folder.join("t10k-labels.idx1-ubyte"), &labels).unwrap();
        let split = mnist(&folder).unwrap();
        assert_eq!((split.train.pixels.clone(), split.test.labels.clone()), (vec![9, 8, 7, 6], vec![4]));
        assert!(split.note.contains("only the test set"));
        assert_eq!(mnist_examples(&folder).unwrap().labels, [0, 1, 2, 3, 4]);
        std::fs::write(folder.join("t10k-labels.idx1-ubyte"), [&[0, 0, 8, 1, 0, 0, 0, 5][..], &[0, 1, 2, 3, 10]].concat()).unwrap();
        assert!(mnist(&folder).unwrap_err().to_string().contains("label 4 is 10"));
        std::fs::write(folder.join("t10k-labels.idx1-ubyte"), [&[0, 0, 8, 1, 0, 0, 0, 4][..], &[0, 1, 2, 3]].concat()).unwrap();
        assert!(mnist(&folder).unwrap_err().to_string().contains("4 labels"));
        std::fs::write(folder.join("train-images-idx3-ubyte"), &images).unwrap();
        std::fs::write(folder.join("train-labels-idx1-ubyte"), &labels).unwrap();
        std::fs::write(folder.join("t10k-labels.idx1-ubyte"), &labels).unwrap();
        let split = mnist(&folder).unwrap();
        assert_eq!((split.train.len(), split.test.len()), (5, 5));
        // A data set without images is none: its accuracy would be that of nothing.
        let write = |name: &str, bytes: &[u8]| std::fs::write(folder.join(name), bytes).unwrap();
        let files = [("t10k-images-idx3-ubyte", "t10k-labels.idx1-ubyte"), ("train-images-idx3-ubyte", "train-labels-idx1-ubyte")];
        for (image_file, label_file) in files {
            write(label_file, &[0, 0, 8, 1, 0, 0, 0, 0]);
            write(image_file, &[0, 0, 8, 3, 0, 0, 0, 0, 0, 0, 0, 28, 0, 0, 0, 28]);
            let error = mnist(&folder).unwrap_err().to_string();
            assert!(error.contains("holds 0 images of 28x28") && error.contains(image_file), "{error}");
            write(label_file, &labels);
            write(image_file, &[0, 0, 8, 3, 0, 0, 0, 5, 0, 0, 0, 0, 0, 0, 0, 1]);
            assert!(mnist(&folder).unwrap_err().to_string().contains("5 images of 0x1"));
            write(image_file, &images);
        }
        std::fs::remove_file(folder.join("train-images-idx3-ubyte")).unwrap();
        std::fs::remove_file(folder.join("train-labels-idx1-ubyte")).unwrap();
        for n in [2, 3, 4] {
            write("t10k-images-idx3-ubyte", &[&[0, 0, 8, 3, 0, 0, 0, n, 0, 0, 0, 1, 0, 0, 0, 1][..], &[9; 4][..usize::from(n)]].concat());
            write("t10k-labels.idx1-ubyte", &[&[0, 0, 8, 1, 0, 0, 0, n][..], &[1; 4][..usize::from(n)]].concat());
            assert_eq!(mnist(&folder).unwrap().test.len(), 1, "of {n}");
        }
        write("t10k-images-idx3-ubyte", &[0, 0, 8, 3, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 9]);
        write("t10k-labels.idx1-ubyte", &[0, 0, 8, 1, 0, 0, 0, 1, 3]);
        assert!(mnist(&folder).unwrap_err().to_string().contains("holds 1 image"));
        assert!(split.note.contains("as published"));
        std::fs::remove_dir_all(folder).unwrap();
    }
}
