//! Errors of texts that are read back: kernels, regions.

use std::fmt;

/// Why a text is not what it should be.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ParseError {
    /// From 1.
    pub line: usize,
    /// In characters, from 1.
    pub column: usize,
    /// What is wrong.
    pub cause: String,
    /// What to do.
    pub help: String,
}

impl ParseError {
    /// At this line and column.
    pub fn new((line, column): (usize, usize), cause: impl Into<String>, help: impl Into<String>) -> ParseError {
        ParseError { line, column, cause: cause.into(), help: help.into() }
    }
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}\n help: {}", self.line, self.column, self.cause, self.help)
    }
}

impl std::error::Error for ParseError {}
