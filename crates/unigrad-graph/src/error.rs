//! Why a call cannot make a node: op, cause, origin in the user's source and remedy.

use crate::Expr;
use std::{fmt, sync::Arc};
use unigrad_scalar::Origin;

/// Whose rule was broken.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
#[allow(missing_docs)]
pub enum ErrorKind {
    Shape,
    DType,
    Device,
    Axis,
    Index,
    /// A gradient that does not exist, or misuse of what autograd needs.
    Autograd,
    /// A value that makes no sense for the op: a negative size, a probability above 1.
    Argument,
    /// A mistake of the library.
    Internal,
}

/// An op that could not be built: the cause, the line that asked for it, and the remedy.
#[derive(Clone, Debug)]
pub struct Error {
    /// Whose rule was broken.
    pub kind: ErrorKind,
    /// The op's name.
    pub op: String,
    /// The cause, with shapes and dtypes.
    pub message: String,
    /// The remedy; may be empty.
    pub help: String,
    /// Where the user called the op.
    pub origin: Origin,
    /// Where the op's inputs were made: name of the op, shape and dtype, origin.
    pub inputs: Vec<(String, Origin)>,
}

impl Error {
    /// What cannot be, seen at a node.
    pub fn internal(node: &Expr, what: &str) -> Arc<Error> {
        let message = format!("{what} (a mistake of the library)");
        let help = "report it with the lines that made the tensor".to_string();
        Arc::new(Error { kind: ErrorKind::Internal, op: node.op().name().into(), message, help, origin: node.origin(), inputs: Vec::new() })
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}\n   at {}", self.op, self.message, self.origin)?;
        for (what, origin) in &self.inputs {
            write!(f, "\n      {what} from {origin}")?;
        }
        if !self.help.is_empty() {
            write!(f, "\n help: {}", self.help)?;
        }
        Ok(())
    }
}

impl std::error::Error for Error {}
