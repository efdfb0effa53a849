//! Compilers, and what they say of many texts.
//!
//! Always: many texts are one compilation, each in a namespace of its own, because starting a compiler costs more than a kernel; if it fails,
//! halves are tried until it is known which texts are refused.

use std::{
    fmt::Write as _,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
};

use crate::{nvrtc::Nvrtc, source};

/// A compiler for some of the architectures.
pub(crate) enum Compiler {
    Nvrtc(Nvrtc),
    /// clang's name, for HIP.
    Hip(&'static str),
    /// clang's name, for MSL.
    Msl(&'static str),
    /// The program that gives texts to naga, for WGSL.
    Naga(PathBuf),
}

/// How far a text is compiled.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Depth {
    /// Syntax and types.
    FrontEnd,
    /// To the device's instructions.
    MachineCode,
}

/// The clang there is.
pub(crate) fn clang() -> Result<&'static str, String> {
    let is_there = |name: &&str| {
        Command::new(name).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok_and(|status| status.success())
    };
    let names = ["clang-22", "clang-21", "clang-20", "clang-19"];
    names.into_iter().find(is_there).ok_or_else(|| "no clang of version 19 or newer (apt-get install clang-19)".to_owned())
}

impl Compiler {
    /// Whether it makes code for a device, or only checks what its user's compiler would.
    pub(crate) fn has_machine_code(&self) -> bool {
        matches!(self, Compiler::Nvrtc(_) | Compiler::Hip(_))
    }

    /// Texts in one compilation: few where there is much to do for each, so that all threads have some to the end.
    fn batch(depth: Depth) -> usize {
        match depth {
            Depth::FrontEnd => 200,
            Depth::MachineCode => 40,
        }
    }
}

/// Texts to compile together.
pub(crate) struct Batch<'a> {
    pub(crate) arch: &'a str,
    pub(crate) compiler: &'a Compiler,
    pub(crate) depth: Depth,
    pub(crate) files: &'a [PathBuf],
}

impl<'a> Batch<'a> {
    /// Batches of some texts.
    pub(crate) fn of(arch: &'a str, compiler: &'a Compiler, depth: Depth, files: &'a [PathBuf]) -> impl Iterator<Item = Batch<'a>> {
        files.chunks(Compiler::batch(depth)).map(move |files| Batch { arch, compiler, depth, files })
    }

    /// What the compiler says about each text it refuses.
    fn refused(&self) -> Vec<String> {
        let Err(words) = self.compile() else { return Vec::new() };
        if self.files.len() == 1 {
            return vec![format!("{}: {words}", self.files[0].display())];
        }
        let (low, high) = self.files.split_at(self.files.len() / 2);
        let half = |files: &'a [PathBuf]| Batch { files, ..*self }.refused();
        let refused = [half(low), half(high)].concat();
        if refused.is_empty() { vec![format!("{}: texts that compile alone fail together: {words}", self.arch)] } else { refused }
    }

    fn compile(&self) -> Result<(), String> {
        match self.compiler {
            Compiler::Nvrtc(nvrtc) => nvrtc.compile(&unit(self.files)?, self.arch, self.depth),
            Compiler::Hip(clang) => {
                let offload = format!("--offload-arch={}", self.arch);
                let last: &[&str] = if self.depth == Depth::FrontEnd { &["-fsyntax-only"] } else { &["-O1", "-S"] };
                let arguments = ["-x", "hip", "--offload-device-only", &offload, "-nogpulib", "-nogpuinc"];
                clang_accepts(clang, &unit(self.files)?, &[&arguments, last].concat())
            }
            Compiler::Msl(clang) => {
                // The shim's address spaces are empty, but shared memory must be one for all threads.
                let unit = unit(self.files)?.replace("alignas(16) threadgroup", "alignas(16) static");
                let shim = source::root().join("crates/unigrad-ir/tests/shim");
                let quiet = ["-Wno-unknown-attributes", "-Wno-unknown-pragmas"];
                clang_accepts(
                    clang,
                    &unit,
                    &["-x", "c++", "-std=c++20", "-fsyntax-only", "-I", &shim.to_string_lossy(), quiet[0], quiet[1]],
                )
            }
            Compiler::Naga(program) => {
                let output = Command::new(program).args(self.files).stdin(Stdio::null()).output();
                let output = output.map_err(|e| format!("{}: {e}", program.display()))?;
                let accepted = String::from_utf8_lossy(&output.stdout);
                let all = output.status.success() && accepted.trim() == self.files.len().to_string();
                if all { Ok(()) } else { Err(format!("{} accepted\n{}", accepted.trim(), shortened(&output.stderr))) }
            }
        }
    }
}

/// Compiles all on all cores; what is said about each text that is refused.
pub(crate) fn compile_all(batches: &[Batch<'_>]) -> Vec<String> {
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
    words.into_inner().unwrap_or_else(PoisonError::into_inner)
}

fn shortened(words: &[u8]) -> String {
    String::from_utf8_lossy(words).chars().take(4000).collect()
}

/// Many texts as one: each in a namespace, what the preprocessor reads before all of them.
fn unit(files: &[PathBuf]) -> Result<String, String> {
    let (mut head, mut body) = (Vec::new(), String::new());
    for (at, file) in files.iter().enumerate() {
        let text = read(file)?;
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

/// A text.
pub(crate) fn read(file: &Path) -> Result<String, String> {
    std::fs::read_to_string(file).map_err(|e| format!("{}: {e}", file.display()))
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
    if output.status.success() { Ok(()) } else { Err(shortened(&output.stderr)) }
}

#[cfg(test)]
mod tests {
    use super::*;

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

    #[test]
    fn the_refused_text_is_found_among_many() {
        let Ok(clang) = clang() else {
            println!("SKIPPED: no clang of version 19 or newer");
            return;
        };
        let folder = std::env::temp_dir().join(format!("unigrad-refused-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let files: Vec<PathBuf> = (0..9).map(|at| folder.join(format!("{at}.txt"))).collect();
        for (at, file) in files.iter().enumerate() {
            std::fs::write(file, if at == 5 { "int f() { return nothing; }\n" } else { "int f() { return 1; }\n" }).unwrap();
        }
        let compiler = Compiler::Msl(clang);
        let batches: Vec<Batch<'_>> = Batch::of("msl", &compiler, Depth::FrontEnd, &files).collect();
        let refused = compile_all(&batches);
        std::fs::remove_dir_all(&folder).unwrap();
        assert_eq!(refused.len(), 1, "{refused:?}");
        assert!(refused[0].contains("5.txt") && refused[0].contains("nothing"), "{refused:?}");
    }
}
