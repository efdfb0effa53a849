//! Compiles what the test suite renders for devices that are not here: CUDA C by NVRTC, HIP by clang, MSL by clang against the shim of its library.
//!
//! In: the tests, which write every text they render to the folder that `UNIGRAD_COLLECT_KERNELS` names (one folder per architecture in it).
//! Out: the compilers' words about what they refuse, and one line `N kernels compiled, N refused`.
//! Always: many kernels are one compilation, each in a namespace of its own, because starting a compiler costs more than a kernel.
//! Never: fails because a compiler is missing; that is a line `SKIPPED: …`.

use std::{
    fmt::Write as _,
    path::{Path, PathBuf},
    process::{Command, ExitCode, Stdio},
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
};

use crate::{nvrtc::Nvrtc, source};

/// Kernels in one compilation.
const BATCH: usize = 60;

/// Tests that write what they render, as arguments of `cargo test`.
const COLLECTORS: &[&[&str]] = &[
    &["-p", "unigrad-ir", "--test", "compile", "programs_are_collected_for_other_compilers"],
    &["-p", "unigrad-gpu", "--test", "indexed", "kernels_are_collected_for_other_compilers"],
    &["-p", "unigrad-testing", "--test", "ops", "--test", "oracle", "--test", "plans"],
];

pub(crate) fn run(arguments: &[String]) -> ExitCode {
    match options(arguments).and_then(|(limit, folder)| compile_all(limit, folder)) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

/// `--limit N` kernels per architecture, a sample of all; `--from FOLDER` that was collected before.
fn options(arguments: &[String]) -> Result<(usize, Option<PathBuf>), String> {
    let (mut limit, mut folder) = (usize::MAX, None);
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        let value = rest.next().ok_or_else(|| format!("{argument} wants a value"))?;
        match argument.as_str() {
            "--limit" => limit = value.parse().map_err(|_| format!("--limit wants a number, not `{value}`"))?,
            "--from" => folder = Some(PathBuf::from(value)),
            other => return Err(format!("unknown option `{other}`: there are --limit N and --from FOLDER")),
        }
    }
    Ok((limit, folder))
}

/// A compiler for some of the architectures.
enum Compiler {
    Nvrtc(Nvrtc),
    /// clang's name, for HIP.
    Hip(&'static str),
    /// clang's name, for MSL, with the architecture's folder standing for the language.
    Msl(&'static str),
}

/// Texts to compile together.
struct Batch<'a> {
    arch: &'a str,
    compiler: &'a Compiler,
    files: Vec<PathBuf>,
}

fn compile_all(limit: usize, folder: Option<PathBuf>) -> Result<bool, String> {
    let folder = match folder {
        Some(folder) => folder,
        None => collect(limit)?,
    };
    let list = |folder: &Path| -> Result<Vec<PathBuf>, String> {
        let entries = std::fs::read_dir(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
        let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
        paths.sort();
        Ok(paths)
    };
    let clang = ["clang-22", "clang-21", "clang-20", "clang-19"].into_iter().find(|name| {
        Command::new(name).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok_and(|status| status.success())
    });
    let need_clang = || clang.ok_or_else(|| "no clang of version 19 or newer (apt-get install clang-19)".to_owned());
    let nvrtc = Nvrtc::find();
    let mut compilers: Vec<(String, Compiler, Vec<PathBuf>)> = Vec::new();
    for path in list(&folder)? {
        let arch = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let compiler = match &arch {
            arch if arch.starts_with("sm_") => nvrtc.clone().and_then(|nvrtc| nvrtc.knows(arch).map(|()| Compiler::Nvrtc(nvrtc))),
            arch if arch.starts_with("gfx") => need_clang().map(Compiler::Hip),
            _ => need_clang().map(Compiler::Msl),
        };
        let files = list(&path)?;
        match compiler {
            Ok(compiler) => compilers.push((arch, compiler, files)),
            Err(why) => println!("SKIPPED: {} kernels for {arch}: {why}", files.len()),
        }
    }
    let mut batches = Vec::new();
    for (arch, compiler, files) in &compilers {
        let files = sample(files, limit);
        batches.extend(files.chunks(BATCH).map(|files| Batch { arch, compiler, files: files.to_vec() }));
    }
    Ok(compile_batches(&batches))
}

/// `limit` of the files, evenly spread over all of them in order of their names, so that every family of kernels has its share.
fn sample(files: &[PathBuf], limit: usize) -> Vec<PathBuf> {
    let n = files.len().min(limit);
    (0..n).map(|i| files[i * files.len() / n].clone()).collect()
}

/// Runs the tests that collect enough for samples of `limit`; gives the folder.
fn collect(limit: usize) -> Result<PathBuf, String> {
    // Of ten thousands, rendered for each architecture: most of the time if all are.
    let share = if limit < 500 { "16" } else { "1" };
    let folder = source::root().join("target").join("kernels");
    if folder.exists() {
        std::fs::remove_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    }
    std::fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    for test in COLLECTORS {
        let status = Command::new(source::cargo())
            .current_dir(source::root())
            .arg("test")
            .args(*test)
            .env("UNIGRAD_COLLECT_KERNELS", &folder)
            // Kernels are the same for all devices, and the CPU has them soonest.
            .env("UNIGRAD_TEST_DEVICES", "cpu")
            .env("UNIGRAD_COLLECT_SHARE", share)
            .stdin(Stdio::null())
            .status()
            .map_err(|e| format!("cannot run cargo test: {e}"))?;
        if !status.success() {
            return Err(format!("the tests that render failed: cargo test {}", test.join(" ")));
        }
    }
    Ok(folder)
}

fn compile_batches(batches: &[Batch<'_>]) -> bool {
    let next = AtomicUsize::new(0);
    let words = Mutex::new(Vec::new());
    let threads = std::thread::available_parallelism().map_or(1, |n| n.get()).min(8);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while let Some(batch) = batches.get(next.fetch_add(1, Relaxed)) {
                    let refused = batch.refused();
                    words.lock().unwrap_or_else(PoisonError::into_inner).extend(refused);
                }
            });
        }
    });
    let words = words.into_inner().unwrap_or_else(PoisonError::into_inner);
    words.iter().for_each(|words| eprintln!("{words}\n"));
    let all: usize = batches.iter().map(|batch| batch.files.len()).sum();
    println!("{} kernels compiled, {} refused", all - words.len(), words.len());
    words.is_empty()
}

impl Batch<'_> {
    /// What the compiler says about each kernel it refuses.
    fn refused(&self) -> Vec<String> {
        if self.compile(&self.files).is_ok() {
            return Vec::new();
        }
        // Some kernel of these: one by one.
        let alone = |file: &PathBuf| self.compile(std::slice::from_ref(file)).err();
        let refused: Vec<String> = self.files.iter().filter_map(|file| Some(format!("{}: {}", file.display(), alone(file)?))).collect();
        if refused.is_empty() { vec![format!("{}: a batch fails whose kernels all compile alone", self.arch)] } else { refused }
    }

    fn compile(&self, files: &[PathBuf]) -> Result<(), String> {
        let mut unit = unit(files)?;
        match self.compiler {
            Compiler::Nvrtc(nvrtc) => nvrtc.compile(&unit, self.arch),
            Compiler::Hip(clang) => {
                let offload = format!("--offload-arch={}", self.arch);
                clang_accepts(clang, &unit, &["-x", "hip", "--offload-device-only", &offload, "-nogpulib", "-nogpuinc", "-O1", "-S"])
            }
            Compiler::Msl(clang) => {
                // The shim's address spaces are empty, but shared memory must be one for all threads.
                unit = unit.replace("alignas(16) threadgroup", "alignas(16) static");
                let shim = source::root().join("crates/unigrad-ir/tests/shim");
                let quiet = ["-Wno-unknown-attributes", "-Wno-unknown-pragmas"];
                clang_accepts(
                    clang,
                    &unit,
                    &["-x", "c++", "-std=c++20", "-fsyntax-only", "-I", &shim.to_string_lossy(), quiet[0], quiet[1]],
                )
            }
        }
    }
}

/// Many texts as one: each in a namespace, what the preprocessor reads before all of them.
fn unit(files: &[PathBuf]) -> Result<String, String> {
    let (mut head, mut body) = (Vec::new(), String::new());
    for (at, file) in files.iter().enumerate() {
        let text = std::fs::read_to_string(file).map_err(|e| format!("{}: {e}", file.display()))?;
        // INVARIANT: writing to a String does not fail.
        let _ = writeln!(body, "namespace n{at} {{\n#line 1 \"{}\"", file.file_name().unwrap_or_default().to_string_lossy());
        for line in text.lines() {
            let is_global = line.starts_with("#include") || line.starts_with("#pragma") || line.starts_with("using namespace");
            if is_global && !head.contains(&line.to_owned()) {
                head.push(line.to_owned());
            }
            // A kernel with C's linkage would be the same in all namespaces; functions of libraries are.
            let is_kernel = ["extern \"C\" __global__", "extern \"C\" __attribute__((global"].iter().any(|start| line.starts_with(start));
            body.push_str(match (is_global, is_kernel) {
                (true, _) => "",
                (false, true) => &line["extern \"C\" ".len()..],
                (false, false) => line,
            });
            body.push('\n');
        }
        body.push_str("}\n");
    }
    Ok(head.join("\n") + "\n" + &body)
}

fn clang_accepts(clang: &str, unit: &str, arguments: &[&str]) -> Result<(), String> {
    use std::io::Write as _;
    let mut command = Command::new(clang);
    command.args(arguments).args(["-o", "-", "-"]).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(|e| format!("cannot start {clang}: {e}"))?;
    if let Some(mut input) = child.stdin.take() {
        // A compiler that stops reading says why itself.
        let _ = input.write_all(unit.as_bytes());
    }
    let output = child.wait_with_output().map_err(|e| format!("{clang}: {e}"))?;
    if output.status.success() { Ok(()) } else { Err(String::from_utf8_lossy(&output.stderr).chars().take(4000).collect()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_are_spread() {
        let files: Vec<PathBuf> = (0..10).map(|i| PathBuf::from(i.to_string())).collect();
        let names = |limit| sample(&files, limit).iter().map(|f| f.display().to_string()).collect::<Vec<_>>().join(" ");
        assert_eq!((names(0).as_str(), names(3).as_str(), names(99).as_str()), ("", "0 3 6", "0 1 2 3 4 5 6 7 8 9"));
    }

    #[test]
    fn kernels_of_a_unit_do_not_meet() {
        let folder = std::env::temp_dir().join(format!("unigrad-units-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let (a, b) = (folder.join("a.txt"), folder.join("b.txt"));
        std::fs::write(&a, "#pragma one\nextern \"C\" __global__ void k() {}\n").unwrap();
        std::fs::write(&b, "#pragma one\nextern \"C\" __attribute__((device)) float f(float);\n").unwrap();
        let text = unit(&[a, b]).unwrap();
        std::fs::remove_dir_all(&folder).unwrap();
        let want = "#pragma one\nnamespace n0 {\n#line 1 \"a.txt\"\n\n__global__ void k() {}\n}\n\
                    namespace n1 {\n#line 1 \"b.txt\"\n\nextern \"C\" __attribute__((device)) float f(float);\n}\n";
        assert_eq!(text, want);
    }
}
