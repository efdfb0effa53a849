//! Data: files into batches.

mod batches;
mod idx;
mod images;
mod text;

pub use batches::{Batches, Prepared};
pub use idx::{Idx, IdxData};
pub use images::{ImageBatch, ImageSplit, Images, digits, mnist};
pub use text::{StreamingText, Text, TextBatch, Vocabulary};
