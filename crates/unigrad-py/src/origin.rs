//! Which line of Python asked: the origin of the nodes that a call makes.
//!
//! In: the interpreter's frame. Out: a guard, while which nodes have that line as their origin.
//! Always: the line is the innermost one that is not of the package itself. A line that was seen before is looked up by its code object,
//! which is held, so that no other one takes its address.
//! Never: fails: without a frame the origin is the line of Rust.

use pyo3::{ffi, prelude::*};
use std::{
    cell::{Cell, RefCell},
    collections::HashMap,
};
use unigrad::tensor::{Origin, OriginGuard};

/// What is known of a code object.
struct Code {
    /// Keeps its address.
    _held: Py<PyAny>,
    file: String,
    function: String,
    /// Whether it is a line of this package.
    is_own: bool,
    /// By line.
    origins: HashMap<u32, Origin>,
}

thread_local! {
    static CODES: RefCell<HashMap<usize, Code>> = RefCell::new(HashMap::new());
    /// The code object, which `CODES` holds, and the line that were asked for last: a line has several ops.
    static LAST: Cell<Option<(usize, u32, Origin)>> = const { Cell::new(None) };
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
            Look::Own => frame = frame.getattr("f_back").ok().filter(|back| !back.is_none())?,
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
    let (code, line) = unsafe { (Bound::from_owned_ptr(py, ffi::PyFrame_GetCode(raw).cast()), ffi::PyFrame_GetLineNumber(raw)) };
    let line = u32::try_from(line).unwrap_or(0); // DEFAULT: 0 stands for a line that is not known
    let address = code.as_ptr() as usize;
    if let Some((.., origin)) = LAST.get().filter(|last| (last.0, last.1) == (address, line)) {
        return Look::At(origin);
    }
    CODES.with_borrow_mut(|codes| {
        if codes.len() >= MOST {
            codes.clear();
        }
        let known = codes.entry(address).or_insert_with(|| Code::of(&code));
        if known.is_own {
            return Look::Own;
        }
        let make = || Origin::new(&known.file, line, 0, Some(&known.function));
        let origin = *known.origins.entry(line).or_insert_with(make);
        LAST.set(Some((address, line, origin)));
        Look::At(origin)
    })
}

impl Code {
    fn of(code: &Bound<'_, PyAny>) -> Code {
        let text = |name: &str| code.getattr(name).and_then(|value| value.extract::<String>()).unwrap_or_else(|_| "?".to_owned());
        let (file, function) = (text("co_filename"), text("co_qualname"));
        let is_own = file.contains("/unigrad/") && is_of_package(code.py(), &file);
        Code { _held: code.clone().unbind(), file, function, is_own, origins: HashMap::new() }
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
