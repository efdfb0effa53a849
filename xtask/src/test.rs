//! Runs the tests of the workspace and sums their results.
//!
//! In: which devices, which tests, how quick; arguments for `cargo test`. Out: a line for each binary, what tests said that they ran on and what
//! they did not run on, why tests were skipped, the output of those that failed, then one line `N passed, N failed, N skipped`.
//! Always: a failure that prints no count (a test binary that crashes, code that does not compile) counts as one failed. Programs that measure time run
//! alone, others side by side.
//! Never: lost output. What failed is printed at the end, where a reader of a long log looks; what passed prints with `--verbose`.
//! Skipped are ignored tests, and tests that print a line beginning with `SKIPPED: ` and return. A test says `RAN: what`, or `NOT RUN: what: why`,
//! of a device or an instruction set.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};

use crate::{setup, source};

mod output;
mod programs;

use output::Output;
pub(crate) use programs::record;

/// What is asked for, besides what is cargo's.
#[derive(Debug, Default, PartialEq)]
struct Choice {
    no_setup: bool,
    quick: bool,
    verbose: bool,
    devices: Vec<String>,
    filter: Option<String>,
    to_cargo: Vec<String>,
    to_tests: Vec<String>,
}

impl Choice {
    fn parse(arguments: &[String]) -> Result<Choice, String> {
        let mut choice = Choice::default();
        let mut arguments = arguments.iter();
        while let Some(argument) = arguments.next() {
            let mut value = || arguments.next().cloned().ok_or_else(|| format!("{argument} has no value"));
            match argument.as_str() {
                "--no-setup" => choice.no_setup = true,
                "--quick" => choice.quick = true,
                "--verbose" => choice.verbose = true,
                "--device" => choice.devices.push(value()?),
                "--filter" => choice.filter = Some(value()?),
                "--" => choice.to_tests.extend(arguments.by_ref().cloned()),
                _ => choice.to_cargo.push(argument.clone()),
            }
        }
        if choice.quick && choice.devices.is_empty() {
            choice.devices = QUICK.map(str::to_owned).to_vec();
        }
        Ok(choice)
    }

    /// Runs the tests, or records where they are.
    fn command(&self, programs: Option<&Path>) -> Result<Command, String> {
        let mut cargo = Command::new(source::cargo());
        cargo.current_dir(source::root()).args(["test", "--no-fail-fast"]);
        if let Some(file) = programs {
            programs::recording(&mut cargo, file)?;
        }
        if !self.to_cargo.iter().any(|argument| argument.starts_with("-p") || argument.starts_with("--package")) {
            cargo.arg("--workspace");
        }
        cargo.args(&self.to_cargo);
        if self.quick {
            // Examples in the documentation are programs of their own, and take most of a minute to build.
            cargo.args(["--lib", "--bins", "--tests"]).env("UNIGRAD_TEST_SHARE", "some");
        }
        if std::env::var_os("XDG_RUNTIME_DIR").is_none() {
            // Vulkan's loader prints an error for each process that has none, and a log is searched for errors.
            cargo.env("XDG_RUNTIME_DIR", std::env::temp_dir());
        }
        if !self.devices.is_empty() {
            cargo.env("UNIGRAD_TEST_DEVICES", self.devices.join(","));
        }
        cargo.args(["--", "--show-output"]).args(&self.filter).args(&self.to_tests);
        if self.quick {
            LONG.iter().for_each(|name| _ = cargo.args(["--skip", name]));
        }
        Ok(cargo)
    }
}

/// Devices of a quick run: the processor, and kernels as GPUs have them, without a compiler.
const QUICK: [&str; 2] = ["cpu", "interpreter"];
/// Tests that take more than ten seconds, and are left out of a quick run: all sizes, all interruptions, long graphs.
const LONG: &[&str] = &["exhaustive", "killed", "interrupted_anywhere", "thirty_three_million", "planning_is_linear"];

pub(crate) fn run(arguments: &[String]) -> ExitCode {
    let choice = match Choice::parse(arguments) {
        Ok(choice) => choice,
        Err(error) => {
            eprintln!("error: {error}");
            return ExitCode::from(2);
        }
    };
    if !choice.no_setup && choice.devices.is_empty() {
        setup::install_software_devices();
    }
    match cargo_test(&choice) {
        Ok((tally, places, output)) => {
            print!("{places}{output}");
            if choice.quick {
                println!(
                    "a quick run: {} only; a part of the op table, no examples of the documentation, no tests named {}",
                    choice.devices.join(", "),
                    LONG.join(", ")
                );
            }
            println!("{tally}");
            if tally.failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
        }
        Err(error) => {
            eprintln!("error: cannot run cargo test: {error}");
            println!("{}", Tally { failed: 1, ..Tally::default() });
            ExitCode::FAILURE
        }
    }
}

/// What tests said, all together.
struct Results {
    verbose: bool,
    tally: Tally,
    places: Places,
    output: Output,
}

impl Results {
    fn read(&mut self, line: &str) {
        self.output.read(line).iter().for_each(|line| println!("{line}"));
        self.tally.read(line);
        self.places.read(line);
    }

    /// Reads what a program printed that has ended.
    fn take(&mut self, ended: programs::Ended) {
        let failed = self.tally.failed;
        ended.output.lines().for_each(|line| self.read(line));
        // A program that was stopped has no result to print.
        self.output.end();
        if self.verbose {
            eprint!("{}", ended.errors);
        }
        let Some(how) = ended.failed else { return };
        self.output.note(&ended.errors);
        if self.tally.failed == failed {
            self.output.note(&format!("a test program ended with {how} and no failed test"));
            self.tally.failed += 1;
        }
    }
}

/// Builds the tests and runs them: side by side where cargo takes a runner, else as cargo does, one after the other.
fn cargo_test(choice: &Choice) -> Result<(Tally, Places, Output), String> {
    let mut results =
        Results { verbose: choice.verbose, tally: Tally::default(), places: Places::default(), output: Output::new(choice.verbose) };
    let file = std::env::temp_dir().join(format!("unigrad-test-programs-{}", std::process::id()));
    // Lines are added to it: those of a process that had this number and was stopped are not this one's.
    _ = std::fs::remove_file(&file);
    let programs = cfg!(unix).then_some(&*file);
    let mut child = choice.command(programs)?.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().map_err(|error| error.to_string())?;
    if let Some(stdout) = child.stdout.take() {
        // Bytes, not lines of UTF-8: a test may print anything.
        for line in BufReader::new(stdout).split(b'\n') {
            results.read(&String::from_utf8_lossy(&line.map_err(|error| error.to_string())?));
        }
    }
    results.output.end();
    let status = child.wait().map_err(|error| error.to_string())?;
    if !status.success() && results.tally.failed == 0 {
        eprintln!("error: cargo test ended with {status} and no failed test: code that does not compile, or a test binary that crashed");
        results.tally.failed = 1;
    }
    let recorded = programs.map(|file| programs::run(file, |ended| results.take(ended)));
    _ = std::fs::remove_file(&file);
    recorded.transpose()?;
    Ok((results.tally, results.places, results.output))
}

/// Where tests ran and where not, in their own words.
#[derive(Default, Debug)]
struct Places {
    ran: BTreeSet<String>,
    /// With why.
    not_run: BTreeMap<String, String>,
}

impl Places {
    fn read(&mut self, line: &str) {
        if let Some(what) = line.strip_prefix("RAN: ") {
            self.ran.insert(what.trim_end().to_owned());
        } else if let Some((what, why)) = line.strip_prefix("NOT RUN: ").and_then(|rest| rest.split_once(": ")) {
            self.not_run.entry(what.to_owned()).or_insert_with(|| why.trim_end().to_owned());
        }
    }
}

impl std::fmt::Display for Places {
    /// What one process could not run on, another one may have.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.ran.iter().try_for_each(|what| writeln!(f, "ran on {what}"))?;
        let missed = self.not_run.iter().filter(|(what, _)| !self.ran.contains(*what));
        missed.into_iter().try_for_each(|(what, why)| writeln!(f, "did not run on {what}: {why}"))
    }
}

/// What all test binaries reported, together.
#[derive(Default, Debug, PartialEq, Clone, Copy)]
struct Tally {
    passed: u64,
    failed: u64,
    ignored: u64,
    said_skipped: u64,
}

impl Tally {
    fn read(&mut self, line: &str) {
        if line.starts_with("SKIPPED: ") {
            self.said_skipped += 1;
        }
        let Some(counts) = line.strip_prefix("test result: ").and_then(|rest| rest.split_once(". ")) else { return };
        for count in counts.1.split("; ") {
            let Some((number, what)) = count.split_once(' ') else { continue };
            let Ok(number) = number.parse::<u64>() else { continue };
            match what {
                "passed" => self.passed += number,
                "failed" => self.failed += number,
                "ignored" => self.ignored += number,
                _ => {}
            }
        }
    }
}

impl std::fmt::Display for Tally {
    /// A test that says it skipped has returned, so its binary counted it as passed.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let passed = self.passed.saturating_sub(self.said_skipped);
        write!(f, "{passed} passed, {} failed, {} skipped", self.failed, self.ignored + self.said_skipped)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tally(output: &str) -> String {
        let mut tally = Tally::default();
        output.lines().for_each(|line| tally.read(line));
        tally.to_string()
    }

    #[test]
    fn arguments_are_ours_cargos_or_the_tests() {
        let parse = |text: &str| Choice::parse(&text.split_whitespace().map(str::to_owned).collect::<Vec<_>>());
        let text = |list: &[&str]| list.iter().map(|item| (*item).to_owned()).collect::<Vec<_>>();
        let choice = parse("-p unigrad-plan --device cuda:0 --filter softmax --device cpu -- --exact --device x").unwrap();
        let want = Choice {
            devices: text(&["cuda:0", "cpu"]),
            filter: Some("softmax".to_owned()),
            to_cargo: text(&["-p", "unigrad-plan"]),
            to_tests: text(&["--exact", "--device", "x"]),
            ..Choice::default()
        };
        assert_eq!(choice, want);
        let arguments: Vec<_> = choice.command(None).unwrap().get_args().map(|argument| argument.to_string_lossy().into_owned()).collect();
        assert_eq!(arguments[2..], text(&["-p", "unigrad-plan", "--", "--show-output", "softmax", "--exact", "--device", "x"]));
        let recorded = choice.command(Some(Path::new("programs"))).unwrap();
        let arguments: Vec<_> = recorded.get_args().map(|argument| argument.to_string_lossy().into_owned()).collect();
        assert!(
            arguments[2] == "--config" && arguments[3].ends_with(r#""record"]"#) && arguments[4..6] == text(&["-p", "unigrad-plan"]),
            "{arguments:?}"
        );
        assert_eq!(parse("--quick").unwrap().devices, QUICK);
        assert_eq!(parse("--quick --device opencl").unwrap().devices, ["opencl"]);
        assert!(parse("--filter").unwrap_err().contains("--filter"));
    }

    #[test]
    fn results_of_all_binaries_are_summed() {
        let output = "running 3 tests\n\
            test result: ok. 3 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s\n\
            test result: FAILED. 10 passed; 2 failed; 1 ignored; 0 measured; 0 filtered out; finished in 1.25s\n\
            all doctests ran in 0.42s; merged doctests compilation took 0.30s";
        assert_eq!(tally(output), "13 passed, 2 failed, 1 skipped");
    }

    #[test]
    fn a_test_that_says_it_skipped_did_not_pass() {
        let output = "---- on_opencl stdout ----\n\
            SKIPPED: no OpenCL device\n\
            test result: ok. 2 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s";
        assert_eq!(tally(output), "1 passed, 0 failed, 1 skipped");
    }

    #[test]
    fn places_are_told_once_each() {
        let mut places = Places::default();
        let output = "RAN: cpu:0 (a processor, avx2)\nrunning 3 tests\nNOT RUN: cuda: libcuda.so.1: not found\n\
            NOT RUN: kernels for avx512: UNIGRAD_CPU_TIER forbids it\nRAN: cpu:0 (a processor, avx2)\nRAN: kernels for avx512\n\
            NOT RUN: cuda: another cause\nit RAN: no";
        output.lines().for_each(|line| places.read(line));
        let want = "ran on cpu:0 (a processor, avx2)\nran on kernels for avx512\ndid not run on cuda: libcuda.so.1: not found\n";
        assert_eq!(places.to_string(), want);
    }

    #[test]
    fn no_output_is_no_tests() {
        assert_eq!(tally(""), "0 passed, 0 failed, 0 skipped");
    }
}
