//! Environments of Python in which tasks run what others have written.
//!
//! In: a folder, packages. Out: the Python of an environment in that folder that has them.
//! Never: fails because Python or a package cannot be had: that is a task skipped, with the reason.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, ExitCode, Stdio},
};

/// Why a task ended.
pub(crate) enum End {
    Skipped(String),
    Failed(String),
}

/// What a task's end says, and its status.
pub(crate) fn report(ended: Result<bool, End>) -> ExitCode {
    match ended {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(End::Skipped(why)) => {
            println!("SKIPPED: {why}");
            ExitCode::SUCCESS
        }
        Err(End::Failed(why)) => {
            println!("FAIL {why}");
            ExitCode::FAILURE
        }
    }
}

/// The Python of an environment that has these packages; it is made if it is not there.
pub(crate) fn with(folder: &Path, packages: &[&str]) -> Result<PathBuf, End> {
    let python = folder.join("bin/python");
    let question = "import sys; print(sys.version_info >= (3, 11))";
    if said(Command::new(&python).args(["-c", question])).is_none() {
        let name = ["python3", "python3.14", "python3.13", "python3.12", "python3.11"]
            .into_iter()
            .find(|name| said(Command::new(name).args(["-c", question])).as_deref() == Some("True"))
            .ok_or_else(|| End::Skipped("there is no Python 3.11 or newer on the path".to_owned()))?;
        made(Path::new(name), folder)?;
    }
    install(python, packages)
}

/// As [`with`], by this Python, anew.
pub(crate) fn by(program: &Path, folder: &Path, packages: &[&str]) -> Result<PathBuf, End> {
    if folder.exists() {
        fs::remove_dir_all(folder).map_err(|error| End::Failed(format!("{}: {error}", folder.display())))?;
    }
    made(program, folder)?;
    install(folder.join("bin/python"), packages)
}

fn made(program: &Path, folder: &Path) -> Result<(), End> {
    match said(Command::new(program).args(["-m", "venv"]).arg(folder)) {
        Some(_) => Ok(()),
        None => {
            let why = format!("`{} -m venv` makes no environment (Debian: apt-get install python3-venv)", program.display());
            Err(End::Skipped(why))
        }
    }
}

fn install(python: PathBuf, packages: &[&str]) -> Result<PathBuf, End> {
    let install = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--retries", "1", "--timeout", "20"];
    match said(Command::new(&python).args(install).args(packages)) {
        Some(_) => Ok(python),
        None => Err(End::Skipped(format!("pip cannot install {}", packages.join(", ")))),
    }
}

/// What a command prints, if it ends well.
pub(crate) fn said(command: &mut Command) -> Option<String> {
    let output = command.stdin(Stdio::null()).stderr(Stdio::null()).output().ok().filter(|output| output.status.success())?;
    Some(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// Runs a command that has to end well.
pub(crate) fn done(command: &mut Command, what: &str) -> Result<(), End> {
    match command.stdin(Stdio::null()).status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(End::Failed(format!("{what}: {status}"))),
        Err(error) => Err(End::Failed(format!("{what}: {error}"))),
    }
}
