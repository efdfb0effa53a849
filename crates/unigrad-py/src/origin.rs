//! Which line of Python asked: the origin of the nodes that a call makes.
//!
//! In: the interpreter's frame. Out: a guard, while which nodes have that line as their origin.
//! Always: the line is the innermost one that is not of the package itself. What was seen before is looked up by its code object, which is held, so that
//! no other one takes its address, and by the instruction in it: to find an instruction's line Python reads a function's table from its beginning.
//! Never: fails: without a frame the origin is the line of Rust.

use pyo3::{ffi, intern, prelude::*};
use rustc_hash::FxHashMap;
use std::cell::RefCell;
use unigrad::tensor::{Origin, OriginGuard};

/// What is known of a code object.
struct Code {
    /// Keeps its address.
    _held: Py<PyAny>,
    file: String,
    function: String,
    /// Whether it is a line of this package.
    is_own: bool,
    /// By instruction.
    origins: FxHashMap<i32, Origin>,
}

thread_local! {
    static CODES: RefCell<FxHashMap<usize, Code>> = RefCell::new(FxHashMap::default());
}

/// Code objects that a thread remembers at most: what is made at run time, cell by cell, would otherwise never go.
const MOST: usize = 4096;

/// Until the guard drops, what this thread records belongs to the line of Python that runs.
pub(crate) fn here(py: Python<'_>) -> OriginGuard {
    crate::exit::pause_at_end(py);
    match find(py) {
        Some(origin) => origin.enter(),
        None => Origin::enter_caller(),
    }
}

fn find(py: Python<'_>) -> Option<Origin> {
    // SAFETY: the interpreter is attached; the frame is borrowed, and a reference to it is taken before anything else runs.
    let mut frame: Bound<'_, PyAny> = unsafe { Bound::from_borrowed_ptr_or_opt(py, ffi::PyEval_GetFrame().cast()) }?;
    loop {
        match look(py, &frame) {
            Look::At(origin) => return Some(origin),
            Look::Own => frame = frame.getattr(intern!(py, "f_back")).ok().filter(|back| !back.is_none())?,
        }
    }
}

enum Look {
    At(Origin),
    Own,
}

fn look(py: Python<'_>, frame: &Bound<'_, PyAny>) -> Look {
    let raw: *mut ffi::PyFrameObject = frame.as_ptr().cast();
    // SAFETY: `frame` is a frame, as `PyEval_GetFrame` and `f_back` give them; the code object comes as a reference of our own.
    let code = unsafe { Bound::from_owned_ptr(py, ffi::PyFrame_GetCode(raw).cast()) };
    let address = code.as_ptr() as usize;
    // What asks Python may run code of its own, which may record: nothing is borrowed then.
    let is_own = CODES.with_borrow(|codes| codes.get(&address).map(|known| known.is_own)).unwrap_or_else(|| learn(&code));
    if is_own {
        return Look::Own;
    }
    let instruction = frame.getattr(intern!(py, "f_lasti")).and_then(|at| at.extract::<i32>()).unwrap_or(-1); // DEFAULT: as of a frame that has not begun
    let seen = CODES.with_borrow(|codes| codes.get(&address).and_then(|known| known.origins.get(&instruction).copied()));
    Look::At(seen.unwrap_or_else(|| {
        // SAFETY: as above.
        let line = unsafe { ffi::PyFrame_GetLineNumber(raw) };
        let line = u32::try_from(line).unwrap_or(0); // DEFAULT: 0 stands for a line that is not known
        CODES.with_borrow_mut(|codes| match codes.get_mut(&address) {
            Some(known) => {
                let origin = Origin::new(&known.file, line, 0, Some(&known.function));
                known.origins.insert(instruction, origin);
                origin
            }
            None => Origin::new("?", line, 0, None),
        })
    }))
}

/// Remembers a code object; whether it is of this package.
#[cold]
fn learn(code: &Bound<'_, PyAny>) -> bool {
    let made = Code::of(code);
    let is_own = made.is_own;
    let forgotten = CODES.with_borrow_mut(|codes| {
        let forgotten = if codes.len() >= MOST { std::mem::take(codes) } else { FxHashMap::default() };
        codes.insert(code.as_ptr() as usize, made);
        forgotten
    });
    // Outside of the borrow, as it gives objects of Python back.
    drop(forgotten);
    is_own
}

impl Code {
    fn of(code: &Bound<'_, PyAny>) -> Code {
        let text = |name: &str| code.getattr(name).and_then(|value| value.extract::<String>()).unwrap_or_else(|_| "?".to_owned());
        let (file, function) = (text("co_filename"), text("co_qualname"));
        let is_own = file.contains("/unigrad/") && is_of_package(code.py(), &file);
        Code { _held: code.clone().unbind(), file, function, is_own, origins: FxHashMap::default() }
    }
}

/// Whether a file is in the package's folder.
fn is_of_package(py: Python<'_>, file: &str) -> bool {
    let folder = || -> PyResult<String> {
        let path: String = py.import("unigrad")?.getattr("__file__")?.extract()?;
        Ok(path.trim_end_matches("__init__.py").to_owned())
    };
    folder().is_ok_and(|folder| file.starts_with(&folder))
}
