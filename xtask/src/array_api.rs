//! The public suite of the array API standard, on the package that `cargo xtask wheel` has built.
//!
//! In: a wheel in `target/wheels`; the suite, cloned at a commit or from a folder; pytest and hypothesis from PyPI. Out: for each device how many tests were
//! collected, skipped, run and passed, and the names of those that failed.
//! Always: complex dtypes and the extensions `linalg` and `fft` are left out. What the suite assumes of complex dtypes where there are none is changed in a
//! copy, and nothing else.
//! Never: fails because the suite or a package cannot be had: it says `SKIPPED` and why.

use crate::{
    environment::{self, End, done},
    source,
};
use std::{
    fs,
    path::Path,
    process::{Command, ExitCode, Stdio},
};

const SUITE: &str = "https://github.com/data-apis/array-api-tests";
const COMMIT: &str = "55fcc60";
const PACKAGES: &[&str] = &["pytest", "pytest-json-report", "hypothesis>=6.151", "ndindex>=1.8", "numpy"];

/// Devices, how many examples a test draws there at most, and how much of the tests must pass, in percent.
const DEVICES: &[(&str, &str, f64)] = &[("cpu", "100", 99.0), ("opencl", "2", 95.0)];

/// File, what stands there, what it becomes: the widest complex dtype is none.
const CHANGES: &[(&str, &str, &str)] = &[
    (
        "dtype_helpers.py",
        "[(dt, dtype_nbits[dt]) for dt in complex_dtypes], key",
        "[(dt, dtype_nbits[dt]) for dt in complex_dtypes] or [(None, 0)], key",
    ),
    (
        "test_signatures.py",
        "cmplx_name = dh.dtype_to_name[dh.widest_complex_dtype]",
        "cmplx_name = dh.dtype_to_name.get(dh.widest_complex_dtype, float_name)",
    ),
    (
        "test_special_cases.py",
        "            dtype = dh.widest_complex_dtype\n",
        "            dtype = dh.widest_complex_dtype\n            if dtype is None:\n                pytest.skip(\"no complex dtype\")\n",
    ),
];

pub(crate) fn run(arguments: &[String]) -> ExitCode {
    match arguments {
        [] => environment::report(all(None)),
        [option, folder] if option == "--suite" => environment::report(all(Some(Path::new(folder)))),
        _ => {
            eprintln!("error: cargo xtask array-api [--suite FOLDER]");
            ExitCode::from(2)
        }
    }
}

fn all(given: Option<&Path>) -> Result<bool, End> {
    let folder = source::root().join("target/array-api");
    let wheels = source::root().join("target/wheels");
    let all = fs::read_dir(&wheels).into_iter().flatten().flatten().map(|entry| entry.path());
    let all = all.filter(|path| path.to_string_lossy().ends_with(".whl"));
    // `pip install .` leaves its own there.
    let wheel = all.max_by_key(|path| path.metadata().and_then(|metadata| metadata.modified()).ok());
    let wheel = wheel.ok_or_else(|| End::Failed(format!("no wheel in {}: run `cargo xtask wheel` before", wheels.display())))?;
    let python = environment::with(&folder.join("python"), PACKAGES)?;
    done(Command::new(&python).args(["-m", "pip", "install", "--quiet", "--no-index", "--force-reinstall"]).arg(wheel), "pip install")?;
    let suite = folder.join("suite");
    if suite.exists() {
        fs::remove_dir_all(&suite).map_err(|error| End::Failed(format!("{}: {error}", suite.display())))?;
    }
    let is_here = match given {
        Some(given) => environment::said(Command::new("cp").arg("-r").arg(given).arg(&suite)).is_some(),
        None => {
            environment::said(Command::new("git").args(["clone", "--quiet", "--recurse-submodules", SUITE]).arg(&suite)).is_some()
                && environment::said(Command::new("git").arg("-C").arg(&suite).args([
                    "checkout",
                    "--quiet",
                    "--recurse-submodules",
                    COMMIT,
                ]))
                .is_some()
        }
    };
    if !is_here {
        return Err(End::Skipped(format!("{SUITE} at {COMMIT} cannot be had: give a clone of it with `--suite FOLDER`")));
    }
    for (file, old, new) in CHANGES {
        let path = suite.join("array_api_tests").join(file);
        let text = fs::read_to_string(&path).map_err(|error| End::Failed(format!("{}: {error}", path.display())))?;
        if !text.contains(old) && !text.contains(new) {
            return Err(End::Failed(format!("{}: this is another version of the suite than {COMMIT}", path.display())));
        }
        let text = if text.contains(new) { text } else { text.replace(old, new) };
        fs::write(&path, text).map_err(|error| End::Failed(format!("{}: {error}", path.display())))?;
    }
    let mut is_well = true;
    for (device, examples, least) in DEVICES {
        is_well &= one(&python, &suite, device, examples, *least)?;
    }
    Ok(is_well)
}

/// The suite on one device.
fn one(python: &Path, suite: &Path, device: &str, examples: &str, least: f64) -> Result<bool, End> {
    let opens = format!("import unigrad; unigrad.zeros(1, device={device:?}).tolist()");
    if environment::said(Command::new(python).args(["-c", &opens])).is_none() {
        println!("SKIPPED: {device}: this machine has no such device");
        return Ok(true);
    }
    let mut pytest = Command::new(python);
    pytest.args([
        "-m",
        "pytest",
        "array_api_tests",
        "-q",
        "--tb=no",
        "--color=no",
        "-p",
        "no:cacheprovider",
        "--disable-deadline",
        "--max-examples",
        examples,
    ]);
    pytest
        .args(["--disable-extension", "linalg", "fft", "-k", "not linalg- and not fft-"])
        .current_dir(suite)
        .env("UNIGRAD_DEVICE", device);
    pytest.env("ARRAY_API_TESTS_MODULE", "unigrad.array_api").env("ARRAY_API_TESTS_SKIP_DTYPES", "complex64,complex128");
    let output = pytest.stdin(Stdio::null()).stderr(Stdio::inherit()).output().map_err(|error| End::Failed(format!("pytest: {error}")))?;
    let text = String::from_utf8_lossy(&output.stdout);
    let last = text.lines().rev().find(|line| line.contains(" passed")).unwrap_or_default();
    let count = |what: &str| -> u32 {
        let before = last.split(',').find_map(|part| part.trim().split_once(' ').filter(|(_, kind)| kind.starts_with(what)));
        before.and_then(|(number, _)| number.parse().ok()).unwrap_or(0)
    };
    let (passed, failed, skipped) = (count("passed"), count("failed") + count("error"), count("skipped"));
    let n = passed + failed;
    if n == 0 {
        return Err(End::Failed(format!("pytest ran no test: {}", text.lines().last().unwrap_or_default())));
    }
    let part = 100.0 * f64::from(passed) / f64::from(n);
    text.lines().filter(|line| line.starts_with("FAILED")).for_each(|line| println!("{line}"));
    let verdict = if part >= least { "ok  " } else { "FAIL" };
    println!("{verdict} {device}: {} collected, {skipped} skipped, {n} run, {passed} passed, {failed} failed: {part:.1} %", n + skipped);
    Ok(part >= least)
}
