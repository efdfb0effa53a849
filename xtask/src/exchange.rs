//! Memory that Python exchanges with other libraries, under valgrind's memcheck, and 100,000 exchanges whose memory is bounded.
//!
//! In: the package, built in release; a Python with NumPy, and with PyTorch if the task is given one that has it; valgrind. Out: a line for each check, and
//! the stacks of what memcheck found.
//! Always: an error counts if this package's library is on its stack; so does memory that is lost. That memcheck finds an error where there is one is
//! checked by a program that has one.
//! Never: fails because Python, a package or valgrind cannot be had: it says `SKIPPED` and why.

use crate::{
    environment::{self, End, done, said},
    source,
};
use std::{
    env, fs,
    path::{Path, PathBuf},
    process::{Command, ExitCode, Stdio},
};

const SCRIPT: &str = "crates/unigrad-py/tests/exchange_memory.py";
/// The file's name in the package.
const LIBRARY: &str = "_unigrad.abi3.so";
/// Rounds of the script under memcheck.
const ROUNDS: &str = "3";
/// What is made once and never given back: PyO3's tables of a class's attributes, at the import.
const ONCE: &[&str] = &["create_type_object"];
/// Stacks of errors that are printed.
const SHOWN: usize = 10;

pub(crate) fn run(arguments: &[String]) -> ExitCode {
    match arguments {
        [] => environment::report(all(None)),
        [option, python] if option == "--python" => environment::report(all(Some(Path::new(python)))),
        _ => {
            eprintln!("error: cargo xtask exchange [--python PROGRAM]");
            ExitCode::from(2)
        }
    }
}

fn all(given: Option<&Path>) -> Result<bool, End> {
    let folder = source::root().join("target/exchange");
    let python = match given {
        Some(python) => python.to_owned(),
        None => environment::with(&folder.join("python"), &["numpy"])?,
    };
    if said(Command::new(&python).args(["-c", "import numpy"])).is_none() {
        return Err(End::Skipped(format!("{} has no NumPy", python.display())));
    }
    let package = package(&folder)?;
    let script = source::root().join(SCRIPT);
    let of = |program: &mut Command| {
        // The CPU alone: what is exchanged is the host's memory, and other drivers have errors of their own.
        program.env("PYTHONPATH", &package).env("UNIGRAD_DEVICE", "cpu").env("UNIGRAD_THREADS", "2").env_remove("PYTHONHOME");
    };
    let mut plain = Command::new(&python);
    of(plain.arg(&script).arg("--resident"));
    done(&mut plain, "100,000 exchanges")?;
    if said(Command::new("valgrind").arg("--version")).is_none() {
        return Err(End::Skipped("memcheck: there is no valgrind on the path (Debian: apt-get install valgrind)".to_owned()));
    }
    let checked = |arguments: &[&str], name: &str| -> Result<Found, End> {
        let report = folder.join(name);
        let mut valgrind = Command::new("valgrind");
        valgrind.args(["--tool=memcheck", "--leak-check=full", "--show-leak-kinds=definite", "--error-limit=no", "--num-callers=40"]);
        valgrind.args(["--xml=yes", &format!("--xml-file={}", report.display())]).arg(&python).arg(&script).args(arguments);
        // Python's own allocator cuts small objects out of large pieces, which memcheck takes for one.
        of(valgrind.env("PYTHONMALLOC", "malloc"));
        let status = valgrind.stdin(Stdio::null()).status().map_err(|error| End::Failed(format!("valgrind: {error}")))?;
        let text = fs::read_to_string(&report).map_err(|error| End::Failed(format!("{}: {error}", report.display())))?;
        // What has an error may end by it.
        if !text.contains("</valgrindoutput>") || !(status.success() || name == "broken.xml") {
            return Err(End::Failed(format!("memcheck: {status}; its report is {}", report.display())));
        }
        Ok(Found::of(&text))
    };
    let broken = checked(&["--break"], "broken.xml")?;
    let finds = !broken.own.is_empty();
    println!("{} memcheck finds memory that is read after its owner has given it back", if finds { "ok  " } else { "FAIL" });
    let found = checked(&["--rounds", ROUNDS], "exchange.xml")?;
    for stack in found.own.iter().take(SHOWN) {
        println!("{stack}");
    }
    let verdict = if found.own.is_empty() { "ok  " } else { "FAIL" };
    println!(
        "{verdict} memcheck: {} errors with this library on the stack, {} without, in Python and others",
        found.own.len(),
        found.others
    );
    Ok(finds && found.own.is_empty())
}

/// The package as cargo builds it, with the names of functions.
fn package(folder: &Path) -> Result<PathBuf, End> {
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    done(Command::new(cargo).args(["build", "--release", "-p", "unigrad-py", "--lib"]).current_dir(source::root()), "cargo build")?;
    let target = env::var_os("CARGO_TARGET_DIR").map_or_else(|| source::root().join("target"), PathBuf::from);
    let package = folder.join("package");
    let inside = package.join("unigrad");
    let failed = |error: std::io::Error| End::Failed(format!("{}: {error}", inside.display()));
    if inside.exists() {
        fs::remove_dir_all(&inside).map_err(failed)?;
    }
    fs::create_dir_all(&package).map_err(failed)?;
    let files = source::root().join("crates/unigrad-py/python/unigrad");
    done(Command::new("cp").arg("-r").arg(&files).arg(&inside), "cp")?;
    fs::copy(target.join("release/lib_unigrad.so"), inside.join(LIBRARY)).map_err(failed)?;
    Ok(package)
}

/// What memcheck found.
struct Found {
    /// Errors with this library on the stack, as texts.
    own: Vec<String>,
    others: usize,
}

impl Found {
    fn of(report: &str) -> Found {
        let errors: Vec<&str> = report.split("<error>").skip(1).filter_map(|rest| rest.split("</error>").next()).collect();
        let is_own = |error: &&&str| error.contains(LIBRARY) && !ONCE.iter().any(|name| error.contains(name));
        let own: Vec<String> = errors.iter().filter(is_own).map(|error| stack(error)).collect();
        Found { others: errors.len() - own.len(), own }
    }
}

/// What an error is, and the functions that led to it.
fn stack(error: &str) -> String {
    let inside = |text: &str, tag: &str| -> Option<String> {
        let (_, rest) = text.split_once(&format!("<{tag}>"))?;
        Some(rest.split_once(&format!("</{tag}>"))?.0.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&"))
    };
    let what = inside(error, "what").or_else(|| inside(error, "text")).unwrap_or_default();
    let frames = error.split("<frame>").skip(1).map(|frame| inside(frame, "fn").or_else(|| inside(frame, "obj")).unwrap_or_default());
    format!("{what}\n    {}", frames.take(16).collect::<Vec<_>>().join("\n    "))
}

#[cfg(test)]
mod tests {
    use super::Found;

    #[test]
    fn errors_are_told_apart_by_their_stacks() {
        let frame = |name: &str, object: &str| format!("<frame><fn>{name}</fn><obj>/x/{object}</obj></frame>");
        let error =
            |frames: &str| format!("<error><kind>InvalidRead</kind><what>Invalid read of size 4</what><stack>{frames}</stack></error>");
        let ours = error(&(frame("a&lt;T&gt;", "_unigrad.abi3.so") + &frame("b", "libpython3.11.so")));
        let made_once = error(&frame("pyo3::create_type_object::inner", "_unigrad.abi3.so"));
        let theirs = error(&frame("c", "libpython3.11.so"));
        let found = Found::of(&format!("<valgrindoutput>{ours}{made_once}{theirs}</valgrindoutput>"));
        assert_eq!(found.own, ["Invalid read of size 4\n    a<T>\n    b"]);
        assert_eq!(found.others, 2);
    }
}
