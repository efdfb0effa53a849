//! Where in a user's source something was asked for: the line that an error names.
//!
//! In: the caller of a function, or a file, line and column of any language. Out: an [`Origin`], which is copied, compared and kept like a number.
//! Always: two origins of the same file, line, column and function are equal, however they were made. Origins that are not Rust's are interned:
//! each differs from all others and stays for as long as the process, so there are as many as lines of source, not as calls.
//! Never: reads a file, or asks whether it exists.

use std::{
    cell::Cell,
    collections::HashSet,
    fmt,
    hash::{Hash, Hasher},
    panic::Location,
    sync::{Mutex, PoisonError},
};

/// Where in a source file something was asked for: in one of Rust, of Python, of a graph that was imported, of a configuration.
///
/// ```
/// use unigrad_scalar::Origin;
/// let here = Origin::caller();
/// assert!(here.file().ends_with(".rs"));
/// let python = Origin::new("train.py", 12, 5, Some("train_step"));
/// assert_eq!(python.to_string(), "train.py:12:5 in train_step");
/// assert_eq!(python, Origin::new("train.py", 12, 5, Some("train_step")));
/// // What is made while this lives belongs to the line in Python, whatever lines of Rust make it.
/// let _guard = python.enter();
/// assert_eq!(Origin::current(), python);
/// ```
#[derive(Clone, Copy)]
pub struct Origin(Source);

#[derive(Clone, Copy)]
enum Source {
    Rust(&'static Location<'static>),
    Interned(&'static Interned),
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Interned {
    file: Box<str>,
    line: u32,
    column: u32,
    function: Option<Box<str>>,
}

thread_local! {
    static CURRENT: Cell<Option<Origin>> = const { Cell::new(None) };
}

impl Origin {
    /// The line that calls the function that calls this, as far as these are `#[track_caller]`.
    #[inline]
    #[track_caller]
    pub fn caller() -> Origin {
        Origin(Source::Rust(Location::caller()))
    }

    /// The origin that was entered on this thread ([`Origin::enter`]), or else the caller.
    #[inline]
    #[track_caller]
    pub fn current() -> Origin {
        // Not `unwrap_or_else(Origin::caller)`: as a function value its caller is the library's.
        match CURRENT.get() {
            Some(origin) => origin,
            None => Origin::caller(),
        }
    }

    /// The origin at a line of a file of any language. Lines and columns count from 1; what is not known is 0.
    pub fn new(file: &str, line: u32, column: u32, function: Option<&str>) -> Origin {
        static ALL: Mutex<Option<HashSet<&'static Interned>>> = Mutex::new(None);
        let wanted = Interned { file: file.into(), line, column, function: function.map(Into::into) };
        let mut all = ALL.lock().unwrap_or_else(PoisonError::into_inner);
        let all = all.get_or_insert_default();
        let known = all.get(&wanted).copied();
        Origin(Source::Interned(known.unwrap_or_else(|| {
            let kept: &'static Interned = Box::leak(Box::new(wanted));
            all.insert(kept);
            kept
        })))
    }

    /// The file, as the compiler or the maker of the origin named it.
    pub fn file(&self) -> &'static str {
        match self.0 {
            Source::Rust(at) => at.file(),
            Source::Interned(at) => &at.file,
        }
    }

    /// The line, from 1; 0 if it is not known.
    pub fn line(&self) -> u32 {
        match self.0 {
            Source::Rust(at) => at.line(),
            Source::Interned(at) => at.line,
        }
    }

    /// The column, from 1; 0 if it is not known.
    pub fn column(&self) -> u32 {
        match self.0 {
            Source::Rust(at) => at.column(),
            Source::Interned(at) => at.column,
        }
    }

    /// The function that the line is in, where that is known; Rust does not tell.
    pub fn function(&self) -> Option<&'static str> {
        match self.0 {
            Source::Rust(_) => None,
            Source::Interned(at) => at.function.as_deref(),
        }
    }

    /// Until the guard drops, what is made on this thread has this origin. The innermost guard counts.
    pub fn enter(self) -> OriginGuard {
        OriginGuard(CURRENT.with(|current| current.replace(Some(self))))
    }

    /// As [`Origin::enter`], but an origin that was entered before stays: for a function of the library that does much for one line of the user's.
    #[track_caller]
    pub fn enter_caller() -> OriginGuard {
        Origin::current().enter()
    }
}

impl PartialEq for Origin {
    fn eq(&self, other: &Origin) -> bool {
        let parts = |origin: &Origin| (origin.line(), origin.column(), origin.file(), origin.function());
        parts(self) == parts(other)
    }
}

impl Eq for Origin {}

impl Hash for Origin {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.line(), self.column(), self.file(), self.function()).hash(state);
    }
}

/// `file:line:column`, without what is not known, and the function.
impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.file())?;
        for part in [self.line(), self.column()] {
            if part == 0 {
                break;
            }
            write!(f, ":{part}")?;
        }
        self.function().map_or(Ok(()), |function| write!(f, " in {function}"))
    }
}

impl fmt::Debug for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Origin({self})")
    }
}

/// Ends what [`Origin::enter`] began.
#[derive(Debug)]
#[must_use = "the origin counts until the guard drops"]
pub struct OriginGuard(Option<Origin>);

impl Drop for OriginGuard {
    fn drop(&mut self) {
        CURRENT.with(|current| current.set(self.0));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_line_is_one_origin_however_it_was_made() {
        let here = Origin::caller();
        let same = Origin::new(here.file(), here.line(), here.column(), None);
        assert_eq!(here, same);
        assert_ne!(here, Origin::caller());
        assert_ne!(same, Origin::new(here.file(), here.line(), here.column(), Some("f")));
        let (Source::Interned(a), Source::Interned(b)) = (Origin::new("m.onnx", 0, 0, None).0, Origin::new("m.onnx", 0, 0, None).0) else {
            panic!("interned")
        };
        assert!(std::ptr::eq(a, b), "kept once");
    }

    #[test]
    fn what_is_not_known_is_not_shown() {
        assert_eq!(Origin::new("model.onnx", 0, 0, Some("Conv_17")).to_string(), "model.onnx in Conv_17");
        assert_eq!(Origin::new("train.toml", 3, 0, None).to_string(), "train.toml:3");
        let here = Origin::caller();
        assert_eq!(here.to_string(), format!("{}:{}:{}", file!(), here.line(), here.column()));
    }

    #[test]
    fn the_innermost_guard_counts_and_then_the_one_before() {
        let [outer, inner] = [1, 2].map(|line| Origin::new("a.py", line, 1, None));
        {
            let _outer = outer.enter();
            {
                let _inner = inner.enter();
                assert_eq!(Origin::current(), inner);
                let _kept = Origin::enter_caller();
                assert_eq!(Origin::current(), inner);
            }
            assert_eq!(Origin::current(), outer);
            std::thread::spawn(move || assert_ne!(Origin::current(), outer)).join().unwrap();
        }
        assert_eq!(Origin::current().line(), line!());
    }
}
