//! Folders of image files: a class per sub-folder, or one folder and a table of labels.
//!
//! In: a folder, or a folder and a CSV file. Out: pictures with the number of their class.
//! Always: files are in the order of their paths, classes in that of their names, whatever the system lists first. Links to folders are not followed.

use super::{DecodeOptions, Picture};
use crate::{Csv, Dataset, Sample, Transform, combine::beyond, pipeline};
use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
    sync::Arc,
};
use unigrad_nn::{Error, Result, random::Rng};

/// Files that are pictures, by the ends of their names.
const ENDS: [&str; 4] = ["png", "jpg", "jpeg", "webp"];

/// Image files with a class each.
///
/// ```
/// use unigrad_data::{Compose, Dataset, ImageFolder, Normalize, RandomHorizontalFlip, RandomResizedCrop};
/// # let folder = std::env::temp_dir().join(format!("unigrad-doc-folder-{}", std::process::id()));
/// # for class in ["cats", "dogs"] {
/// #     std::fs::create_dir_all(folder.join(class)).unwrap();
/// #     image::RgbImage::new(40, 30).save(folder.join(class).join("1.png")).unwrap();
/// # }
/// // folder/cats/1.png, folder/dogs/1.png, ...
/// let images = ImageFolder::open(&folder)?;
/// assert_eq!(images.classes(), ["cats", "dogs"]);
/// let train = images.samples(Compose::new().then(RandomResizedCrop::new(16, 16)).then(RandomHorizontalFlip(0.5)).then(Normalize::imagenet()));
/// let sample = train.get(0, &mut unigrad_nn::random::Rng::new(0, 0))?;
/// assert_eq!(sample.input.shape, [3, 16, 16]);
/// # std::fs::remove_dir_all(folder).unwrap();
/// # Ok::<(), unigrad_nn::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct ImageFolder {
    files: Vec<(PathBuf, i64)>,
    classes: Vec<String>,
    options: DecodeOptions,
}

/// The entries of a folder, sorted, with whether each is a folder.
fn entries(folder: &Path) -> Result<Vec<(PathBuf, bool)>> {
    let failed = |e| Error::read(folder, e);
    let mut all = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        all.push((entry.path(), entry.file_type().map_err(failed)?.is_dir()));
    }
    all.sort();
    Ok(all)
}

/// The image files below a folder, in order of path.
fn images_below(folder: &Path) -> Result<Vec<PathBuf>> {
    let (mut found, mut left) = (Vec::new(), vec![folder.to_owned()]);
    while let Some(next) = left.pop() {
        for (path, is_folder) in entries(&next)? {
            if is_folder {
                left.push(path);
            } else if path.extension().is_some_and(|end| ENDS.iter().any(|known| end.eq_ignore_ascii_case(known))) {
                found.push(path);
            }
        }
    }
    found.sort();
    Ok(found)
}

impl ImageFolder {
    /// The image files below `folder`, whose sub-folders are the classes. An error if it has no sub-folder, or one of them no image.
    pub fn open(folder: impl AsRef<Path>) -> Result<ImageFolder> {
        const HELP: &str = "make a sub-folder for each class, with .png, .jpg, .jpeg or .webp files in it";
        let folder = folder.as_ref();
        let (mut files, mut classes) = (Vec::new(), Vec::new());
        for (path, is_folder) in entries(folder)? {
            let hidden = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'));
            if !is_folder || hidden {
                continue;
            }
            let images = images_below(&path)?;
            if images.is_empty() {
                return Err(Error::format(&path, "this class has no images", HELP));
            }
            let class = classes.len() as i64;
            files.extend(images.into_iter().map(|image| (image, class)));
            classes.push(path.file_name().unwrap_or_default().to_string_lossy().into_owned());
        }
        if classes.is_empty() {
            return Err(Error::format(folder, "has no sub-folders, so no classes", HELP));
        }
        Ok(ImageFolder { files, classes, options: DecodeOptions::default() })
    }

    /// The files of one folder that a table names, with their labels: `files` and `labels` are names of its columns.
    pub fn with_labels(folder: impl AsRef<Path>, table: &Csv, files: &str, labels: &str) -> Result<ImageFolder> {
        let folder = folder.as_ref();
        let (file_column, label_column) = (table.column(files)?, table.column(labels)?);
        let cells = |column| (0..table.n_rows()).map(move |row| table.cell(row, column));
        let names: BTreeSet<&str> = cells(label_column).collect();
        let classes: Vec<String> = names.into_iter().map(str::to_owned).collect();
        let mut all = Vec::with_capacity(table.n_rows());
        for (row, (file, label)) in cells(file_column).zip(cells(label_column)).enumerate() {
            let line = table.line(row);
            let wrong = |cause: String| Error::format(table.path(), format!("line {line}: {cause}"), "correct the line, or leave it out");
            if label.is_empty() {
                return Err(wrong(format!("the file {file:?} has no label")));
            }
            let path = folder.join(file);
            if file.is_empty() || !path.is_file() {
                return Err(wrong(format!("there is no file {}", path.display())));
            }
            let class = classes.binary_search_by(|class| class.as_str().cmp(label));
            let class = class.map_err(|_| Error::Internal(format!("the label {label} is not among the labels")))?;
            all.push((path, class as i64));
        }
        Ok(ImageFolder { files: all, classes, options: DecodeOptions::default() })
    }

    /// How files are decoded; RGB at first.
    pub fn options(mut self, options: DecodeOptions) -> ImageFolder {
        self.options = options;
        self
    }

    /// Decodes every file once, on `workers` threads, leaves out those that cannot be, and says for each of these why.
    pub fn without_damaged(self, workers: usize) -> Result<(ImageFolder, Vec<Error>)> {
        let ImageFolder { files, classes, options } = self;
        let (n, shared) = (files.len(), Arc::new(files));
        let of_workers = Arc::clone(&shared);
        let problem = move |at: usize| Ok(of_workers.get(at).and_then(|(path, _)| Picture::read(path, &options).err()));
        let tried = pipeline::ordered(0..n, workers, 64, pipeline::Each(problem));
        let (mut kept, mut damaged) = (Vec::with_capacity(n), Vec::new());
        for (file, error) in shared.iter().zip(tried) {
            match error? {
                None => kept.push(file.clone()),
                Some(error) => damaged.push(error),
            }
        }
        Ok((ImageFolder { files: kept, classes, options }, damaged))
    }

    /// The classes, in the order of their numbers.
    pub fn classes(&self) -> &[String] {
        &self.classes
    }

    /// The files, with the number of each one's class.
    pub fn files(&self) -> &[(PathBuf, i64)] {
        &self.files
    }

    /// The number of each file's class: for samplers and splits.
    pub fn labels(&self) -> Vec<usize> {
        self.files.iter().map(|(_, class)| *class as usize).collect()
    }

    /// Samples, by a transform.
    pub fn samples(self, transform: impl Transform) -> impl Dataset<Item = Sample> {
        self.map(move |(picture, class), rng| Ok(transform.apply(picture, rng)?.to_sample(class)))
    }
}

impl Dataset for ImageFolder {
    type Item = (Picture, i64);

    fn len(&self) -> usize {
        self.files.len()
    }

    fn get(&self, index: usize, _: &mut Rng) -> Result<(Picture, i64)> {
        let (path, class) = self.files.get(index).ok_or_else(|| beyond(index, self.files.len()))?;
        Ok((Picture::read(path, &self.options)?, *class))
    }
}
