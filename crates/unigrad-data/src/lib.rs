//! Datasets, readers, transforms, samplers, loaders: files and arrays into batches on a device.
//!
//! In: files, arrays, a seed. Out: items by index ([`Dataset`]), and the batches of an epoch ([`Source`]), in an order that seed and epoch give.
//! Always: the same seed gives the same batches, whatever the number of threads; an epoch can be entered at any batch. What is wrong with a file is
//! an error that names the file, the place in it and a remedy.
//! Never: follows a size that a file announces and does not have; knows a model.

mod arrays;
mod batches;
mod collate;
mod combine;
mod dataset;
mod host;
mod idx;
mod images;
mod loader;
mod picture;
mod pipeline;
mod sampler;
mod source;
mod split;
mod table;
mod text;
mod tokens;
pub mod transform;

pub use arrays::Arrays;
pub use batches::{Batches, Prepared};
pub use collate::{Collate, HostBatch, OfStacked, PadSequences, PaddedBatch, Stack, Stackable, Upload, pad_sequences};
pub use combine::{Cached, Concat, InMemory, Map, Subset};
pub use dataset::{Dataset, Sample};
pub use host::{HostNumber, array};
pub use idx::{Idx, IdxData};
pub use images::{ImageBatch, ImageSplit, Images, digits, mnist, mnist_examples};
pub use loader::{Batch, Loader};
pub use picture::{
    CIFAR10, Channels, DecodeOptions, FASHION_MNIST, ImageFolder, Picture, Pictures, Pixels, cifar10, cifar100, fashion_mnist,
};
pub use sampler::{BatchSampler, Buckets, Distributed, RandomOrder, Sampler, Sequential, Stratified, SubsetOrder, Weighted};
pub use source::{MapBatches, Position, Source, Steps};
pub use split::{Fold, k_fold, random_split, stratified_k_fold, stratified_split, validation_split};
pub use table::{Categories, ColumnType, Csv, CsvOptions, Missing, TableOptions, TableSchema, Task, Unknown};
pub use text::{StreamingText, Text, TextBatch, Vocabulary};
pub use tokens::{LabelledTexts, TextTable, TokenVocabulary, TokenWindows, Unit, lines_of_file, lines_of_text, texts_of_table};
pub use transform::{
    CenterCrop, ColorJitter, Compose, Grayscale, Normalize, RandomApply, RandomCrop, RandomErasing, RandomHorizontalFlip,
    RandomResizedCrop, RandomRotation, RandomVerticalFlip, Resize, Size, ToFloat, Transform,
};
