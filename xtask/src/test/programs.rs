//! Test programs side by side: cargo builds them one after the other and would run them so; most of them keep one core busy.
//!
//! In: what `cargo test` would run, as cargo starts it ([`record`] is its runner). Out: the output of each program, whole, as it ends.
//! Always: each has the folder, arguments and variables that cargo gives it. A program that measures time ([`measures`]) runs when no other one does,
//! after all others, if it does not say that it [runs beside others](BESIDE). Programs of documentation are run at once, for they are gone when cargo has ended.
//! Never: loses what a program printed: if it fails, what it wrote to the error stream is part of its output.

use std::{
    collections::VecDeque,
    ffi::{OsStr, OsString},
    fs,
    path::{Path, PathBuf},
    process::{Command, ExitCode, Stdio},
    sync::{Mutex, PoisonError, mpsc},
};

use crate::source;

/// Names the file of what is recorded.
const FILE: &str = "UNIGRAD_TEST_PROGRAMS";

/// What tests run in; `.cargo/config.toml` says why, and is not looked at where a runner is given.
const RUNNER: [&str; 3] = ["env", "RUST_MIN_STACK=262144", "UNIGRAD_REPRODUCIBLE=on"];

/// Programs at a time at most: each may use all cores for itself.
const MOST: usize = 4;

/// Has cargo record programs in `file` instead of running them.
pub(super) fn recording(cargo: &mut Command, file: &Path) -> Result<(), String> {
    let xtask = std::env::current_exe().map_err(|error| format!("cannot tell where this program is: {error}"))?;
    let xtask = xtask.to_str().ok_or_else(|| format!("{} is not UTF-8", xtask.display()))?;
    let runner: Vec<String> = RUNNER.into_iter().chain([xtask, "record"]).map(|word| serde_json::Value::from(word).to_string()).collect();
    cargo.args(["--config", &format!("target.'cfg(unix)'.runner=[{}]", runner.join(","))]).env(FILE, file);
    Ok(())
}

/// `cargo xtask record PROGRAM [ARGUMENT..]`: as cargo's runner, writes down how to start a test program; starts one of documentation.
pub(crate) fn record(command: &[String]) -> ExitCode {
    match recorded(command) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn recorded(command: &[String]) -> Result<ExitCode, String> {
    let [program, arguments @ ..] = command else { return Err("no program to record".to_owned()) };
    let program = Path::new(program);
    let is_kept = program.parent().and_then(Path::file_name) == Some(OsStr::new("deps"));
    let Some(file) = std::env::var_os(FILE).filter(|_| is_kept) else {
        let status = Command::new(program).args(arguments).status().map_err(|error| format!("{}: {error}", program.display()))?;
        return Ok(status.code().and_then(|code| u8::try_from(code).ok()).map_or(ExitCode::FAILURE, ExitCode::from));
    };
    let folder = std::env::current_dir().map_err(|error| format!("no folder to run in: {error}"))?;
    let text = |text: &OsStr| text.to_str().map(str::to_owned).ok_or_else(|| format!("{text:?} is not UTF-8"));
    let mut variables = serde_json::Map::new();
    for (name, value) in std::env::vars_os().filter(|(name, _)| name != FILE) {
        variables.insert(text(&name)?, text(&value)?.into());
    }
    let all = serde_json::json!({
        "program": text(program.as_os_str())?,
        "arguments": arguments,
        "folder": text(folder.as_os_str())?,
        "variables": variables,
    });
    let mut lines = fs::OpenOptions::new().create(true).append(true).open(&file).map_err(|error| format!("{}: {error}", file.display()))?;
    std::io::Write::write_all(&mut lines, format!("{all}\n").as_bytes()).map_err(|error| format!("{}: {error}", file.display()))?;
    Ok(ExitCode::SUCCESS)
}

/// A program as cargo would start it.
#[derive(Debug)]
struct TestProgram {
    path: PathBuf,
    arguments: Vec<String>,
    folder: PathBuf,
    variables: Vec<(String, String)>,
}

impl TestProgram {
    fn read(line: &str) -> Option<TestProgram> {
        let value: serde_json::Value = serde_json::from_str(line).ok()?;
        let text = |value: &serde_json::Value| Some(value.as_str()?.to_owned());
        Some(TestProgram {
            path: text(&value["program"])?.into(),
            arguments: value["arguments"].as_array()?.iter().map(text).collect::<Option<_>>()?,
            folder: text(&value["folder"])?.into(),
            variables: value["variables"]
                .as_object()?
                .iter()
                .map(|(name, value)| Some((name.clone(), text(value)?)))
                .collect::<Option<_>>()?,
        })
    }

    /// Without the hash that cargo puts behind it.
    fn name(&self) -> &str {
        let name = self.path.file_name().and_then(OsStr::to_str).unwrap_or("a program");
        name.rsplit_once('-').map_or(name, |(name, _)| name)
    }

    fn sources(&self) -> Vec<PathBuf> {
        let tests = self.folder.join("tests");
        let file = tests.join(format!("{}.rs", self.name()));
        if file.is_file() {
            return vec![file];
        }
        let folder = tests.join(self.name());
        source::rust_files(&if folder.is_dir() { folder } else { self.folder.join("src") })
    }

    /// Whether it has tests that look at a clock.
    fn measures(&self) -> bool {
        self.sources().iter().any(|file| fs::read_to_string(file).is_ok_and(|text| measures(&text)))
    }

    /// Runs it to its end.
    fn run(&self) -> Ended {
        let variables = self.variables.iter().map(|(name, value)| (OsString::from(name), OsString::from(value)));
        let mut command = Command::new(&self.path);
        command.args(&self.arguments).current_dir(&self.folder).env_clear().envs(variables).stdin(Stdio::null());
        match command.output() {
            Ok(output) => {
                let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
                let failed = (!output.status.success()).then(|| output.status.to_string());
                Ended { output: text(&output.stdout), errors: text(&output.stderr), failed }
            }
            Err(error) => Ended { output: String::new(), errors: String::new(), failed: Some(format!("{}: {error}", self.path.display())) },
        }
    }
}

/// What a source says that looks at a clock and is not moved by what runs beside it.
const BESIDE: &str = "Runs beside other programs: ";

/// Whether a source with tests looks at a clock.
fn measures(text: &str) -> bool {
    !text.contains(BESIDE)
        && (text.contains("#[test]") || text.contains("fn main"))
        && (text.contains(".elapsed()") || text.contains("CLOCK_"))
}

/// What a program did.
pub(super) struct Ended {
    pub(super) output: String,
    /// What it wrote to the error stream.
    pub(super) errors: String,
    /// How it ended, if that was not well.
    pub(super) failed: Option<String>,
}

/// Runs what is recorded in a file, and gives each result to `read`, in the order in which they end.
pub(super) fn run(file: &Path, mut read: impl FnMut(Ended)) -> Result<(), String> {
    let text = match fs::read_to_string(file) {
        Ok(text) => text,
        // Nothing was chosen.
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(format!("{}: {error}", file.display())),
    };
    let programs: Vec<TestProgram> = text
        .lines()
        .map(|line| TestProgram::read(line).ok_or_else(|| format!("{}: not a program: {line}", file.display())))
        .collect::<Result<_, _>>()?;
    let (measuring, others): (Vec<TestProgram>, Vec<TestProgram>) = programs.into_iter().partition(TestProgram::measures);
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    for (programs, at_a_time) in [(others, cores.clamp(1, MOST)), (measuring, 1)] {
        let left = Mutex::new(VecDeque::from(programs));
        let (give, ended) = mpsc::channel();
        std::thread::scope(|scope| {
            for _ in 0..at_a_time {
                let (left, give) = (&left, give.clone());
                scope.spawn(move || {
                    while let Some(program) = { left.lock().unwrap_or_else(PoisonError::into_inner).pop_front() } {
                        // Whole lines: the results go to the other stream.
                        let line = format!("     Running {} of {}\n", program.name(), program.folder.display());
                        eprint!("{line}");
                        let begin = std::time::Instant::now();
                        let ended = program.run();
                        let line = format!("       Ended {} after {:.1} s\n", program.name(), begin.elapsed().as_secs_f64());
                        eprint!("{line}");
                        // The other end is there as long as this thread is.
                        _ = give.send(ended);
                    }
                });
            }
            drop(give);
            ended.iter().for_each(&mut read);
        });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_runner_is_the_one_of_plain_cargo() {
        let config = fs::read_to_string(source::root().join(".cargo/config.toml")).unwrap();
        let words: Vec<String> = RUNNER.iter().map(|word| format!("{word:?}")).collect();
        assert!(config.contains(&format!("runner = [{}]", words.join(", "))), "{config}");
    }

    #[test]
    fn a_test_that_looks_at_a_clock_measures() {
        assert!(measures("#[test]\nfn a() { begin.elapsed(); }"));
        assert!(!measures("fn a() { begin.elapsed(); }"));
        assert!(!measures("#[test]\nfn a() {}"));
        let of = |folder: &str, name: &str| TestProgram {
            path: source::root().join(format!("target/debug/deps/{name}-0123")),
            arguments: Vec::new(),
            folder: source::root().join(folder),
            variables: Vec::new(),
        };
        assert!(of("crates/unigrad-testing", "linear").measures());
        assert!(!of("crates/unigrad-testing", "recording").measures(), "it says so");
        assert!(!of("crates/unigrad-testing", "ops").measures());
        assert!(!of("crates/unigrad-testing", "fuzz").measures(), "it says so");
        assert_eq!(of("crates/unigrad-gpu", "unigrad_gpu").sources(), source::rust_files(&source::root().join("crates/unigrad-gpu/src")));
    }

    #[test]
    fn programs_run_as_they_were_recorded() {
        let folder = std::env::temp_dir().join(format!("unigrad-programs-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let file = folder.join("programs");
        let line = |script: &str| {
            let all = serde_json::json!({"program": "/bin/sh", "arguments": ["-c", script], "folder": folder.to_str(), "variables": {"A": "an a"}});
            format!("{all}\n")
        };
        let scripts = ["echo $A $HOME; pwd", "echo out; echo err >&2; exit 3", "kill -9 $$"];
        fs::write(&file, scripts.map(line).concat()).unwrap();
        let mut all = Vec::new();
        run(&file, |ended| all.push((ended.output, ended.errors, ended.failed))).unwrap();
        all.sort();
        let here = fs::canonicalize(&folder).unwrap();
        assert_eq!(all.len(), 3);
        assert!(all[0].0.is_empty() && all[0].2.as_ref().unwrap().contains("signal"), "{all:?}");
        assert_eq!(all[1].0, format!("an a\n{}\n", here.display()));
        assert_eq!(all[2], ("out\n".to_owned(), "err\n".to_owned(), Some("exit status: 3".to_owned())));
        fs::write(&file, "{}\n").unwrap();
        assert!(run(&file, |_| {}).is_err());
        fs::remove_dir_all(&folder).unwrap();
        run(&file, |_| panic!("there is none")).unwrap();
    }
}
