//! What can go wrong, in one type for tensors, layers, devices and data: each error names the cause, the origin (line, file, parameter, step) and
//! the remedy.
//!
//! In: an op that cannot be built, a device that fails, a file that is not what it should be. Out: an [`Error`], with an [`ErrorKind`] to match on.

use std::{
    fmt::{self, Display},
    path::{Path, PathBuf},
    sync::Arc,
};
use thiserror::Error;
use unigrad_device::printable;
use unigrad_graph::{ErrorKind as Rule, Expr, Origin};

/// What kind of error it is: what a program decides by.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum ErrorKind {
    /// Shapes that do not fit.
    Shape,
    /// A dtype that an op does not take.
    DType,
    /// An axis that a tensor does not have.
    Axis,
    /// An index out of range.
    Index,
    /// A gradient that does not exist.
    Autograd,
    /// A setting or argument that makes no sense.
    Argument,
    /// Tensors of different devices in one op.
    Device,
    /// A device that is not there.
    NotAvailable,
    /// No memory on a device.
    OutOfMemory,
    /// A device that is gone.
    DeviceLost,
    /// A kernel that cannot be compiled.
    Compile,
    /// A kernel that failed, or a copy.
    Launch,
    /// A file that cannot be read or written, or that another run uses.
    File,
    /// A file whose content is not what its format says.
    Format,
    /// A checkpoint for another model.
    StateDict,
    /// A loss that is no number any more.
    NotFinite,
    /// Work that was asked to end.
    Cancelled,
    /// A mistake of this library.
    Internal,
}

/// Anything that can go wrong with tensors, models, optimizers, data and checkpoints.
///
/// Devices ([`unigrad_device::Error`]) and named axes ([`unigrad_graph::Error`]) have error types of their own. `?` converts them, so that one function or
/// closure which returns [`Result`](crate::Result) can do all of it; [`Error::from`] does where a program looks at the kind at once.
///
/// ```
/// # unigrad_device::register(unigrad_cpu::CpuDriver::default());
/// use unigrad_tensor::{Device, Error, ErrorKind, Tensor};
///
/// let device = Device::open("cpu")?;
/// let x = Tensor::new([1.0f32, 2.0], &device);
/// let error = x.reshape([3]).realize().unwrap_err();
/// assert_eq!(error.kind(), ErrorKind::Shape);
/// assert!(!error.is_out_of_memory());
/// let error = Device::open("cpu:99").map_err(Error::from).unwrap_err();
/// assert_eq!(error.kind(), ErrorKind::NotAvailable);
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Debug, Error)]
pub enum Error {
    /// An op that could not be built; surfaces at the first read.
    #[error("{0}")]
    Graph(Arc<unigrad_graph::Error>),
    /// A device, its memory, or a kernel.
    #[error("{0}")]
    Device(#[from] unigrad_device::Error),
    /// A kernel that failed, and the line of the op it belongs to.
    #[error("{error}\n   at {origin}")]
    Launch {
        /// Where the user wrote the op.
        origin: Origin,
        /// What happened.
        error: unigrad_device::Error,
    },
    /// A mistake of this library.
    #[error("internal error: {0}\n help: please report it, with the program that shows it")]
    Internal(String),
    /// A file that cannot be read.
    #[error("{}: cannot be read: {source}\n help: {help}", shown(path))]
    Read {
        /// Which.
        path: PathBuf,
        /// The system's words.
        source: Arc<std::io::Error>,
        /// What would help.
        help: String,
    },
    /// A file that cannot be written.
    #[error(
        "{}: cannot be written: {source}\n help: choose a folder that exists or can be made, is yours to write, and has room",
        shown(path)
    )]
    Write {
        /// Which.
        path: PathBuf,
        /// The system's words.
        source: Arc<std::io::Error>,
    },
    /// A folder that another run writes.
    #[error("{}: another run uses this folder\n help: let it end, or choose another folder", shown(path))]
    Busy {
        /// Which.
        path: PathBuf,
    },
    /// A file whose content is not what its format says.
    #[error("{}: {cause}\n help: {help}", shown(path))]
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

impl Error {
    /// What kind it is.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Error::Graph(error) => match error.kind {
                Rule::Shape => ErrorKind::Shape,
                Rule::DType => ErrorKind::DType,
                Rule::Device => ErrorKind::Device,
                Rule::Axis => ErrorKind::Axis,
                Rule::Index => ErrorKind::Index,
                Rule::Autograd => ErrorKind::Autograd,
                Rule::Argument => ErrorKind::Argument,
                Rule::Internal => ErrorKind::Internal,
            },
            Error::Device(error) | Error::Launch { error, .. } => match error {
                unigrad_device::Error::OutOfMemory { .. } => ErrorKind::OutOfMemory,
                unigrad_device::Error::NotAvailable { .. } | unigrad_device::Error::OtherProcess { .. } => ErrorKind::NotAvailable,
                unigrad_device::Error::Compile { .. } => ErrorKind::Compile,
                unigrad_device::Error::IndexOutOfRange { .. } => ErrorKind::Index,
                unigrad_device::Error::DeviceLost { .. } => ErrorKind::DeviceLost,
                unigrad_device::Error::Launch { .. } | unigrad_device::Error::Interrupted { .. } | unigrad_device::Error::Copy { .. } => {
                    ErrorKind::Launch
                }
                unigrad_device::Error::Cancelled { .. } => ErrorKind::Cancelled,
            },
            Error::Read { .. } | Error::Write { .. } | Error::Busy { .. } => ErrorKind::File,
            Error::Format { .. } => ErrorKind::Format,
            Error::StateDict(_) => ErrorKind::StateDict,
            Error::NotFinite(_) => ErrorKind::NotFinite,
            Error::Argument { .. } => ErrorKind::Argument,
            Error::Internal(_) => ErrorKind::Internal,
        }
    }

    /// Whether a device has no memory left: a smaller batch may go on.
    pub fn is_out_of_memory(&self) -> bool {
        self.kind() == ErrorKind::OutOfMemory
    }

    /// Whether a device is gone: what was on it is lost, other devices go on.
    pub fn is_device_lost(&self) -> bool {
        self.kind() == ErrorKind::DeviceLost
    }

    /// Whether a device that was asked for is not there.
    pub fn is_not_available(&self) -> bool {
        self.kind() == ErrorKind::NotAvailable
    }

    /// The line of the user's program that the error belongs to, where there is one.
    pub fn origin(&self) -> Option<Origin> {
        match self {
            Error::Graph(error) => Some(error.origin),
            Error::Launch { origin, .. } => Some(*origin),
            Error::Device(_)
            | Error::Internal(_)
            | Error::Read { .. }
            | Error::Write { .. }
            | Error::Busy { .. }
            | Error::Format { .. }
            | Error::StateDict(_)
            | Error::NotFinite(_)
            | Error::Argument { .. } => None,
        }
    }
}

impl From<unigrad_graph::Error> for Error {
    fn from(error: unigrad_graph::Error) -> Error {
        Error::Graph(Arc::new(error))
    }
}

/// The error of an invalid node.
pub(crate) fn graph_error(invalid: &Expr) -> Error {
    match invalid.error() {
        Some(error) => Error::Graph(error.clone()),
        None => Error::Internal("a valid node was taken for an invalid one".into()),
    }
}

impl Error {
    /// A file that cannot be read.
    #[expect(clippy::wildcard_enum_match_arm, reason = "the system has many kinds, and most have one remedy")]
    pub fn read(path: &Path, source: std::io::Error) -> Error {
        let help = match source.kind() {
            std::io::ErrorKind::NotFound => "check the path; it is taken from the folder the program was started in",
            std::io::ErrorKind::PermissionDenied => "the file is not yours to read: change its permissions",
            std::io::ErrorKind::OutOfMemory => "the file does not fit into memory: stream it, or use a smaller one",
            std::io::ErrorKind::IsADirectory => "this is a folder: name the file in it",
            _ => "check that the file is whole and its disk answers",
        };
        Error::Read { path: path.to_owned(), source: Arc::new(source), help: help.to_owned() }
    }

    /// A file that cannot be written.
    pub fn write(path: &Path, source: std::io::Error) -> Error {
        Error::Write { path: path.to_owned(), source: Arc::new(source) }
    }

    /// A file whose content is not what its format says.
    pub fn format(path: &Path, cause: impl Into<String>, help: impl Into<String>) -> Error {
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

/// A path as text that commands no terminal, whatever a file's name is.
fn shown(path: &Path) -> String {
    printable(&path.to_string_lossy()).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_files_name_commands_no_terminal() {
        let path = Path::new("model\u{1b}[31m.safetensors");
        let io = || std::io::Error::from(std::io::ErrorKind::NotFound);
        for error in [Error::read(path, io()), Error::write(path, io()), Error::format(path, "is none", "fetch it again")] {
            let text = error.to_string();
            assert!(text.contains("model\\u001b[31m.safetensors") && !text.contains('\u{1b}'), "{text:?}");
        }
    }
}
