//! MSL means what the interpreter says: rendered kernels, compiled against the shim of Metal's library, run on the CPU.

mod programs;

use libloading::Library;
use programs::cases::{Arg, Case, cases};
use std::{ffi::c_void, fmt::Write as _, path::PathBuf, process::Command};
use unigrad_ir::{Dialect, offline_targets, render};

/// `run_N(arguments, grid)` runs the kernel of case N.
type Run = unsafe extern "C" fn(*const *mut c_void, *const u32);

#[test]
fn msl_means_what_the_interpreter_says() {
    let Some(clang) = ["clang++-22", "clang++-21", "clang++-20", "clang++-19"]
        .into_iter()
        .find(|name| Command::new(name).arg("--version").output().is_ok_and(|output| output.status.success()))
    else {
        println!("SKIPPED: no clang++ of version 19 or newer");
        return;
    };
    let target = offline_targets().into_iter().find(|target| target.dialect == Dialect::Msl).unwrap();
    // The interpreter has no matrix shapes of its own; the operation's meaning is not a device's.
    let cases = cases(&target);
    let mut unit = "#include <metal_stdlib>\nusing namespace metal;\n".to_owned();
    for (at, case) in cases.iter().enumerate() {
        let source = render(&case.program, &target).unwrap();
        let body: String = source.text.lines().filter(|line| !line.starts_with('#') && !line.starts_with("using namespace")).fold(
            String::new(),
            |mut text, line| {
                let _ = writeln!(text, "{line}");
                text
            },
        );
        // Shared memory is one for all threads of a group; groups run one after the other.
        let body = body.replace("alignas(16) threadgroup", "alignas(16) static");
        let [x, y, z] = case.program.block;
        let _ = writeln!(unit, "namespace n{at} {{\n{body}}}");
        let _ = writeln!(
            unit,
            "extern \"C\" void run_{at}(void** arguments, const uint* grid) {{
    const uint block[3] = {{{x}, {y}, {z}}};
    shim_launch(n{at}::{}, arguments, grid, block);
}}",
            source.entry
        );
    }
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    let (file, library) = (folder.join("run_msl.metal"), folder.join("run_msl.so"));
    std::fs::write(&file, unit).unwrap();
    let output = Command::new(clang)
        .args(["-x", "c++", "-std=c++20", "-O1", "-ffp-contract=off", "-shared", "-fPIC", "-pthread"])
        .args(["-Wno-unknown-attributes", "-Wno-unknown-pragmas", "-I", concat!(env!("CARGO_MANIFEST_DIR"), "/tests/shim"), "-o"])
        .arg(&library)
        .arg(&file)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr).chars().take(8000).collect::<String>());
    // SAFETY: what was just made; it has no initialisers of its own.
    let library = unsafe { Library::new(&library) }.unwrap();
    let mut differences = Vec::new();
    for (at, case) in cases.iter().enumerate() {
        // SAFETY: the name and type that the text above gives it.
        let run = unsafe { library.get::<Run>(format!("run_{at}\0").as_bytes()) }.unwrap();
        differences.extend(case.differences(&case.expected(&target), &launch(*run, case)));
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

fn launch(run: Run, case: &Case) -> Vec<Vec<u8>> {
    // Words, so that vectors are aligned.
    let mut buffers: Vec<Vec<u128>> = Vec::new();
    let mut lengths = Vec::new();
    for arg in &case.args {
        let bytes = match arg {
            Arg::Buffer(_, bytes) => bytes.clone(),
            Arg::Scalar(_, raw) => raw.to_le_bytes().to_vec(),
            Arg::Table(..) | Arg::ScalarTable(..) => unreachable!("the target has no tables"),
        };
        let is_buffer = matches!(arg, Arg::Buffer(..));
        lengths.push(is_buffer.then_some(bytes.len()));
        let word = |chunk: &[u8]| {
            let mut word = [0; 16];
            word[..chunk.len()].copy_from_slice(chunk);
            u128::from_le_bytes(word)
        };
        buffers.push(bytes.chunks(16).map(word).collect());
    }
    let pointers: Vec<*mut c_void> = buffers.iter_mut().map(|buffer| buffer.as_mut_ptr().cast()).collect();
    // SAFETY: one pointer per parameter, to as many elements as the program touches; three extents.
    unsafe { run(pointers.as_ptr(), case.grid.as_ptr()) };
    let bytes = |(buffer, length): (&Vec<u128>, Option<usize>)| {
        length.map(|length| buffer.iter().flat_map(|word| word.to_le_bytes()).take(length).collect())
    };
    buffers.iter().zip(lengths).filter_map(bytes).collect()
}
