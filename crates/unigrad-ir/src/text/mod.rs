//! The text form of programs: for tests, dumps and bug reports.
//!
//! In: a [`Program`](crate::Program). Out: its text, one statement a line; also single statements, for messages.
//! Always: a program prints the same text every time, and every construct of the IR has a spelling.
//! Never: fails on an invalid program; what is out of range prints as a number in `?`.

mod print;

pub(crate) use print::{one_line, place_name};
