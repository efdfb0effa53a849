//! What can go wrong in training code: each error names the cause, the place (file, parameter, step) and the remedy.

use std::{
    fmt::{self, Display},
    path::{Path, PathBuf},
    sync::Arc,
};
use thiserror::Error as ThisError;
use unigrad_device::printable;

/// The result of this crate's functions.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What can go wrong with models, optimizers, data and checkpoints.
#[derive(Clone, Debug, ThisError)]
pub enum Error {
    /// A tensor, its device, or an op that could not be built.
    #[error(transparent)]
    Tensor(#[from] unigrad_tensor::Error),
    /// A file that cannot be read.
    #[error("{}: cannot be read: {source}\n help: {help}", path.display())]
    Read {
        /// Which.
        path: PathBuf,
        /// The system's words.
        source: Arc<std::io::Error>,
        /// What would help.
        help: String,
    },
    /// A file that cannot be written.
    #[error("{}: cannot be written: {source}\n help: choose a folder that exists or can be made, is yours to write, and has room", path.display())]
    Write {
        /// Which.
        path: PathBuf,
        /// The system's words.
        source: Arc<std::io::Error>,
    },
    /// A folder that another run writes.
    #[error("{}: another run uses this folder\n help: let it end, or choose another folder", path.display())]
    Busy {
        /// Which.
        path: PathBuf,
    },
    /// A file whose content is not what its format says.
    #[error("{}: {cause}\n help: {help}", path.display())]
    Format {
        /// Which.
        path: PathBuf,
        /// What is wrong, with sizes.
        cause: String,
        /// What would help.
        help: String,
    },
    /// A checkpoint for another model.
    #[error("{0}")]
    StateDict(Box<StateDictMismatch>),
    /// The loss is no number any more.
    #[error("{0}")]
    NotFinite(Box<NotFinite>),
    /// A setting that makes no sense.
    #[error("{cause}\n help: {help}")]
    Argument {
        /// What is wrong.
        cause: String,
        /// What would help.
        help: String,
    },
}

impl From<unigrad_device::Error> for Error {
    fn from(error: unigrad_device::Error) -> Error {
        Error::Tensor(error.into())
    }
}

impl Error {
    pub(crate) fn read(path: &Path, source: std::io::Error) -> Error {
        let help = match source.kind() {
            std::io::ErrorKind::NotFound => "check the path; it is taken from the folder the program was started in",
            std::io::ErrorKind::PermissionDenied => "the file is not yours to read: change its permissions",
            std::io::ErrorKind::OutOfMemory => "the file does not fit into memory: stream it, or use a smaller one",
            std::io::ErrorKind::IsADirectory => "this is a folder: name the file in it",
            _ => "check that the file is whole and its disk answers",
        };
        Error::Read { path: path.to_owned(), source: Arc::new(source), help: help.to_owned() }
    }

    pub(crate) fn write(path: &Path, source: std::io::Error) -> Error {
        Error::Write { path: path.to_owned(), source: Arc::new(source) }
    }

    pub(crate) fn format(path: &Path, cause: impl Into<String>, help: impl Into<String>) -> Error {
        Error::Format { path: path.to_owned(), cause: cause.into(), help: help.into() }
    }

    /// A setting that makes no sense.
    pub fn argument(cause: impl Into<String>, help: impl Into<String>) -> Error {
        Error::Argument { cause: cause.into(), help: help.into() }
    }
}

/// How a checkpoint differs from the model it was loaded into. Nothing was loaded.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StateDictMismatch {
    /// Where the state came from: a file, or empty.
    pub source: String,
    /// Names the model has and the checkpoint has not.
    pub missing: Vec<String>,
    /// Names the checkpoint has and the model has not.
    pub unexpected: Vec<String>,
    /// Names both have, with the model's shape and the checkpoint's.
    pub shapes: Vec<(String, Vec<usize>, Vec<usize>)>,
    /// Names both have, with the model's dtype and the checkpoint's, where the one does not convert into the other.
    pub dtypes: Vec<(String, String, String)>,
}

impl StateDictMismatch {
    /// Whether the checkpoint fits.
    pub fn is_empty(&self) -> bool {
        self.missing.is_empty() && self.unexpected.is_empty() && self.shapes.is_empty() && self.dtypes.is_empty()
    }
}

impl Display for StateDictMismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let source = if self.source.is_empty() { "the state" } else { &self.source };
        write!(f, "{source}: made for another model")?;
        if !self.missing.is_empty() {
            write!(f, "\n   missing: {}", some(&self.missing))?;
        }
        if !self.unexpected.is_empty() {
            write!(f, "\n   unexpected: {}", some(&self.unexpected))?;
        }
        if !self.shapes.is_empty() {
            let lines: Vec<String> =
                self.shapes.iter().map(|(name, ours, theirs)| format!("{name} (model {ours:?}, file {theirs:?})")).collect();
            write!(f, "\n   other shape: {}", some(&lines))?;
        }
        if !self.dtypes.is_empty() {
            let lines: Vec<String> =
                self.dtypes.iter().map(|(name, ours, theirs)| format!("{name} (model {ours}, file {theirs})")).collect();
            write!(f, "\n   other dtype: {}", some(&lines))?;
        }
        write!(f, "\n help: build the model with the settings it was saved with; nothing was loaded")
    }
}

/// The first names, and how many more there are.
fn some(names: &[String]) -> String {
    const SHOWN: usize = 12;
    // They come from files.
    let mut text = names.iter().take(SHOWN).map(|name| printable(name)).collect::<Vec<_>>().join(", ");
    if names.len() > SHOWN {
        text.push_str(&format!(", and {} more", names.len() - SHOWN));
    }
    text
}

/// Where a NaN or an infinity appeared first.
#[derive(Clone, Debug, PartialEq)]
pub struct NotFinite {
    /// The step, from 1.
    pub step: u64,
    /// The loss.
    pub loss: f64,
    /// The layer (or parameter, or input) where it appeared first, in words.
    pub place: String,
    /// What was saved, or empty.
    pub saved: String,
}

impl Display for NotFinite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the loss is {} in step {}; first not finite: {}", self.loss, self.step, self.place)?;
        if !self.saved.is_empty() {
            write!(f, "\n   saved: {}", self.saved)?;
        }
        write!(f, "\n help: use a smaller learning rate, clip gradients, or look for bad values in the data")
    }
}
