//! `cargo xtask`: the project's own tasks, in Rust so that a clone needs nothing else.
//!
//! `test` prepares the machine and runs every test of the workspace; `fuzz` gives mutated inputs to everything that reads what others wrote;
//! `compile-kernels` compiles what the tests render for devices that are not here; `check-platforms` type-checks drivers for systems that are not
//! here; `tidy` checks what ARCHITECTURE.md promises.

mod array_api;
mod declared;
mod docs;
mod environment;
mod exchange;
mod fuzz;
mod kernels;
mod nvrtc;
mod platforms;
mod python;
mod registry;
mod setup;
mod source;
mod stub;
mod test;
mod tidy;
mod wheel;

use std::process::ExitCode;

const HELP: &str = "\
cargo xtask test [--quick] [--device NAME].. [--filter TEXT] [--no-setup] [--verbose] [CARGO TEST ARGUMENTS]
    Installs the software devices that some tests use (PoCL, lavapipe) where it can, runs all tests of the workspace
    (or what the arguments choose, as in `-p unigrad-plan`), says which devices and instruction sets they ran on and which not,
    and ends with one line: N passed, N failed, N skipped.
    --quick         the CPU and the interpreter only, a part of the op table, no examples, no long tests: minutes, for while you work
    --device NAME   only on this device (`cpu`, `cuda:0`, `interpreter:1`, ..); several times for several
    --filter TEXT   tests whose name has this in it
    --no-setup      installs nothing
    --verbose       prints the output of tests that passed as well

cargo xtask compile-kernels [--limit N] [--from FOLDER]
    Renders the test suite's kernels for CUDA, HIP, Metal and WebGPU (or takes what was rendered to FOLDER before) and gives them to NVRTC, clang and
    naga: a text of every shape to their front ends, and where there is machine code, all of these, or N per architecture, to the end.
    Says how many texts that are, of how many shapes, and ends with one line: N kernels compiled, N refused.

cargo xtask generate
    Writes what is made from the sources: the table of `Tensor`'s methods that the registry of ops describes its rows with, the ops' Python stub, the package's stubs,
    docs/methods.md and docs/settings.md. A test says when they are old.

cargo xtask wheel [--python PROGRAM]
    Builds the Python package for others to install, a wheel (for manylinux 2.28 on Linux) and a source distribution, in target/wheels; audits the
    wheel, installs each of them where nothing else is, and checks its size, its devices, its command and the time of its import. Two release builds.
    --python PROGRAM   by this Python; of a free-threaded build (3.14 or newer) the wheel for it, in target/wheels/free-threaded: one release build

cargo xtask array-api [--suite FOLDER]
    Runs the public suite of the Python array API standard on the wheel in target/wheels, on the CPU and on OpenCL: how many tests were collected, skipped, run
    and passed, and which failed. The suite is cloned, or copied from FOLDER. Minutes.

cargo xtask exchange [--python PROGRAM]
    Exchanges memory between the Python package and NumPy (and PyTorch, where PROGRAM is a Python that has it) in every way: 100,000 times with bounded memory,
    and under valgrind's memcheck, whose errors with this package on their stack are failures. Minutes, after a release build.

cargo xtask check-platforms
    Type-checks the drivers of other systems (Metal, HIP) for these, where a toolchain for them is here.

cargo xtask fuzz [--seconds N] [--seed S] [--part NAME] [--case I] [--input FILE]
    Gives mutated files (tensors in all formats, checkpoints, networks, tables, images, configurations), kernel texts, random API calls and random graphs to
    what reads them, for N seconds (without the build, which the first time takes longer): no panic, no
    hang beyond 10 s, no more memory than the input is worth. Failing inputs are made small and kept in target/fuzz.

cargo xtask tidy
    Checks the invariants of ARCHITECTURE.md. They are tests too: `cargo test -p xtask`.";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    // Cargo's runner in `test`: what it starts has the environment that it is given.
    if let Some(("record", command)) = arguments.split_first().map(|(task, rest)| (task.as_str(), rest)) {
        return test::record(command);
    }
    // Cargo runs this with the tests' small stacks (`.cargo/config.toml`); the compilers that are started from here need theirs.
    // SAFETY: no other thread is there yet that could read the environment.
    unsafe { std::env::remove_var("RUST_MIN_STACK") };
    match arguments.first().map(String::as_str) {
        Some("fuzz") => fuzz::run(&arguments[1..]),
        Some("test") => test::run(&arguments[1..]),
        Some("compile-kernels") => kernels::run(&arguments[1..]),
        Some("check-platforms") if arguments.len() == 1 => platforms::run(),
        Some("array-api") => array_api::run(&arguments[1..]),
        Some("exchange") => exchange::run(&arguments[1..]),
        Some("wheel") => wheel::run(&arguments[1..]),
        Some("generate") if arguments.len() == 1 => docs::generate(),
        Some("tidy") if arguments.len() == 1 => tidy::run(),
        Some("help" | "--help" | "-h") => {
            println!("{HELP}");
            ExitCode::SUCCESS
        }
        _ => {
            eprintln!("{HELP}");
            ExitCode::from(2)
        }
    }
}
