//! Renderers: a program's text in a dialect, ready for that dialect's run-time compiler.
//!
//! In: a program, the target it was validated for. Out: a [`Source`], or a [`RenderError`] that names what the dialect lacks.
//! Always: the text includes no header and is a function of program and target alone, so it can be a cache key.
//! Never: optimizes; what is rendered is what the program says, in its order.

use crate::{Dialect, Program, Target, Value};

/// A program as text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Source {
    /// The whole translation unit.
    pub text: String,
    /// The name of the entry point in it.
    pub entry: String,
    /// What the compiler must be told for the text to mean what the program means.
    pub options: Vec<String>,
    /// Bytes of shared memory that the launch must ask for, where the text does not declare them itself.
    pub dynamic_shared: usize,
}

/// Why a program has no text in a dialect.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{}: {program}{}: {cause}\n help: {help}", dialect.name(), at.map(|v| format!(" at %{}", v.0)).unwrap_or_default())]
pub struct RenderError {
    /// The language.
    pub dialect: Dialect,
    /// The program's name.
    pub program: String,
    /// The instruction, where it is one.
    pub at: Option<Value>,
    /// What is not there.
    pub cause: String,
    /// What to do instead.
    pub help: String,
}

/// The program in the target's dialect.
pub fn render(program: &Program, target: &Target) -> Result<Source, RenderError> {
    let missing = || RenderError {
        dialect: target.dialect,
        program: program.name.clone(),
        at: None,
        cause: "no renderer of this dialect".to_owned(),
        help: "run the program in the interpreter".to_owned(),
    };
    match target.dialect {
        Dialect::Cuda | Dialect::Hip | Dialect::OpenCl | Dialect::Msl | Dialect::Wgsl | Dialect::Ir => Err(missing()),
    }
}
