//! The package, in Python: every test of `tests/python`, by pytest, in an environment of its own.
//!
//! In: the library that cargo has built, and the package's files. Out: the results, in the words of Rust's tests, so that they are summed with them.
//! Always: where Python, pip or a package is missing, a line says so, and that is one skipped test.
//! Never: installs anything outside of the build's own folder.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, ExitCode, Stdio},
};

/// Python 3.11 is the first whose stable interface has buffers.
const LEAST: (u32, u32) = (3, 11);

/// What tests use, apart from the standard library.
const PACKAGES: &[&str] = &["pytest", "numpy"];

/// What some tests use, which are skipped without.
const CHECKERS: &[&str] = &["mypy", "pyright"];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.iter().any(|argument| argument == "--list") {
        return ExitCode::SUCCESS;
    }
    match run(&arguments) {
        Ok(all_passed) if all_passed => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(why) => {
            println!("SKIPPED: the Python package: {why}");
            println!("test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s");
            ExitCode::SUCCESS
        }
    }
}

fn run(arguments: &[String]) -> Result<bool, String> {
    let exe = std::env::current_exe().map_err(|error| format!("no path of this program: {error}"))?;
    // Cargo puts the library that a test depends on beside the test.
    let beside = exe.parent().ok_or("this program is in no folder")?;
    let built = beside.parent().ok_or("this program is in no build's folder")?;
    let environment = environment(&built.join("python"))?;
    let (package, library) = install(beside, &environment)?;
    let raw = raw_stubs(&library, &environment.join("stubs"))?;
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    if arguments.iter().any(|argument| argument == "--write-stubs") {
        let mut write = Command::new(environment.join("bin/python"));
        write.arg(own.join("tests/stubs.py")).arg(&raw).arg(own.join("python/unigrad")).env("PYTHONPATH", &package);
        let status = write.env_remove("PYTHONHOME").stdin(Stdio::null()).status().map_err(|error| format!("stubs.py: {error}"))?;
        return Ok(status.success());
    }
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/python");
    let mut pytest = Command::new(environment.join("bin/python"));
    pytest.args(["-m", "pytest", "-q", "--tb=short", "-p", "no:cacheprovider", "--color=no"]).arg(&tests).current_dir(&tests);
    pytest.env("PYTHONPATH", package).env_remove("PYTHONHOME").env("PYTHONDONTWRITEBYTECODE", "1");
    pytest.env("UNIGRAD_RAW_STUBS", &raw).env("UNIGRAD_SOURCE", own);
    // Tests of other devices name them; what the others print, and whose memory NumPy reads, is the CPU's, also where there is a GPU.
    if std::env::var_os("UNIGRAD_DEVICE").is_none() {
        pytest.env("UNIGRAD_DEVICE", "cpu");
    }
    let filters = filters(arguments);
    if !filters.is_empty() {
        pytest.args(["-k", &filters.join(" or ")]);
    }
    let output = pytest.stdin(Stdio::null()).stderr(Stdio::inherit()).output().map_err(|error| format!("pytest: {error}"))?;
    let text = String::from_utf8_lossy(&output.stdout);
    let counts = Counts::of(&text);
    println!("{}", text.trim_end());
    // 5: no test has the name that was asked for.
    let all_passed = matches!(output.status.code(), Some(0 | 5)) && counts.failed == 0;
    let failed = if all_passed { 0 } else { counts.failed.max(1) };
    let verdict = if all_passed { "ok" } else { "FAILED" };
    println!(
        "test result: {verdict}. {} passed; {failed} failed; {} ignored; 0 measured; {} filtered out; finished in 0.00s",
        counts.passed, counts.skipped, counts.deselected
    );
    Ok(all_passed)
}

/// What `cargo test TEXT` asks for; options and their values are for Rust's own tests.
fn filters(arguments: &[String]) -> Vec<&str> {
    const WITH_VALUES: &[&str] = &["--skip", "--test-threads", "--format", "--logfile", "--color", "--shuffle-seed", "-Z"];
    let (mut filters, mut arguments) = (Vec::new(), arguments.iter());
    while let Some(argument) = arguments.next() {
        match argument.starts_with('-') {
            true if WITH_VALUES.contains(&argument.as_str()) => _ = arguments.next(),
            true => {}
            false => filters.push(argument.as_str()),
        }
    }
    filters
}

/// What pytest's last line says.
#[derive(Default)]
struct Counts {
    passed: u64,
    failed: u64,
    skipped: u64,
    deselected: u64,
}

impl Counts {
    /// `3 failed, 120 passed, 1 skipped in 2.31s`
    fn of(text: &str) -> Counts {
        let mut counts = Counts::default();
        let last = text.lines().rev().find(|line| line.contains(" in ")).unwrap_or("");
        for part in last.trim_matches('=').split(" in ").next().unwrap_or("").split(',') {
            let Some((number, what)) = part.trim().split_once(' ') else { continue };
            let Ok(number) = number.parse::<u64>() else { continue };
            match what {
                "passed" => counts.passed = number,
                "failed" | "error" | "errors" => counts.failed += number,
                "skipped" => counts.skipped = number,
                "deselected" => counts.deselected = number,
                _ => {}
            }
        }
        counts
    }
}

fn said(command: &mut Command) -> Option<String> {
    let output = command.stdin(Stdio::null()).stderr(Stdio::null()).output().ok().filter(|output| output.status.success())?;
    Some(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// An environment with what the tests use.
fn environment(folder: &Path) -> Result<PathBuf, String> {
    let python = folder.join("bin/python");
    let has = |packages: &[&str]| {
        let imports = packages.iter().map(|package| format!("import {package}")).collect::<Vec<_>>().join("; ");
        said(Command::new(&python).args(["-c", &imports])).is_some()
    };
    let install = |packages: &[&str]| {
        let options = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--retries", "1", "--timeout", "20"];
        let pip = Command::new(&python).args(options).args(packages).stdin(Stdio::null()).stdout(Stdio::null()).status();
        pip.is_ok_and(|status| status.success())
    };
    let check = || {
        if !has(CHECKERS) && !install(CHECKERS) {
            println!("SKIPPED: pip cannot install {}", CHECKERS.join(" and "));
        }
    };
    if has(PACKAGES) {
        check();
        return Ok(folder.to_owned());
    }
    let (major, minor) = LEAST;
    let question = "import sys; print(sys.version_info[0], sys.version_info[1])";
    let is_new = |name: &&str| {
        let version = said(Command::new(name).args(["-c", question]));
        let numbers = version.as_deref().and_then(|text| text.split_once(' '));
        numbers.and_then(|(a, b)| Some((a.parse::<u32>().ok()?, b.parse::<u32>().ok()?))).is_some_and(|found| found >= LEAST)
    };
    let name = ["python3", "python3.14", "python3.13", "python3.12", "python3.11"].into_iter().find(is_new);
    let name = name.ok_or_else(|| format!("there is no Python {major}.{minor} or newer on the path"))?;
    let made = Command::new(name).args(["-m", "venv"]).arg(folder).stdin(Stdio::null()).stdout(Stdio::null()).status();
    if !made.is_ok_and(|status| status.success()) {
        return Err(format!("`{name} -m venv` makes no environment (Debian: apt-get install python3-venv)"));
    }
    if !(install(PACKAGES) && has(PACKAGES)) {
        return Err(format!("pip cannot install {}", PACKAGES.join(" and ")));
    }
    check();
    Ok(folder.to_owned())
}

/// What the library says of its own types, as stubs in a folder.
fn raw_stubs(library: &Path, folder: &Path) -> Result<PathBuf, String> {
    let fail = |error: &dyn std::fmt::Display| format!("the stubs of {}: {error}", library.display());
    let module = pyo3_introspection::introspect_cdylib(library, "_unigrad").map_err(|error| fail(&error))?;
    fs::create_dir_all(folder).map_err(|error| fail(&error))?;
    for (name, text) in pyo3_introspection::module_stub_files(&module) {
        fs::write(folder.join(name), text).map_err(|error| fail(&error))?;
    }
    Ok(folder.to_owned())
}

/// Puts the package's files and the library side by side; returns the folder that Python looks in, and the library.
fn install(beside: &Path, environment: &Path) -> Result<(PathBuf, PathBuf), String> {
    let library =
        ["lib_unigrad.so", "lib_unigrad.dylib", "_unigrad.dll"].map(|name| beside.join(name)).into_iter().find(|path| path.exists());
    let library = library.ok_or("cargo has built no library for Python")?;
    let folder = environment.join("package");
    let package = folder.join("unigrad");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("python");
    let copy = || -> std::io::Result<()> {
        if folder.exists() {
            fs::remove_dir_all(&folder)?;
        }
        copy_all(&source, &folder)?;
        let name = if cfg!(windows) { "_unigrad.pyd" } else { "_unigrad.abi3.so" };
        fs::copy(&library, package.join(name)).map(drop)
    };
    copy().map_err(|error| format!("{}: {error}", package.display()))?;
    Ok((folder, library))
}

fn copy_all(from: &Path, to: &Path) -> std::io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        match entry.file_type()?.is_dir() {
            true if entry.file_name() == "__pycache__" => {}
            true => copy_all(&entry.path(), &target)?,
            false => _ = fs::copy(entry.path(), target)?,
        }
    }
    Ok(())
}
