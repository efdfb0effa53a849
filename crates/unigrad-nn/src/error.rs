//! Errors of training code: those of tensors, which are one type with them.

pub use unigrad_tensor::{Error, NotFinite, Result, StateDictMismatch};
