//! Compiles what the test suite renders for devices that are not here: CUDA C by NVRTC, HIP by clang, MSL by clang against the shim of its
//! library, WGSL by naga.
//!
//! In: the tests, which write every text they render to the folder that `UNIGRAD_COLLECT_KERNELS` names (one folder per architecture in it).
//! Out: the compilers' words about what they refuse, one line per architecture of how many texts there are, of how many shapes, and how far
//! they were compiled, and one line `N kernels compiled, N refused`.
//! Always: every shape passes its compiler's front end; to machine code go first the texts that have every statement of all texts among them.
//! Never: fails because a compiler is missing; that is a line `SKIPPED: …`.

mod collect;
mod compile;
mod shape;

pub(crate) use compile::Depth;

use std::{
    path::{Path, PathBuf},
    process::ExitCode,
    time::Instant,
};

use crate::{nvrtc::Nvrtc, source};
use compile::{Batch, Compiler, compile_all};
use shape::Shapes;

pub(crate) fn run(arguments: &[String]) -> ExitCode {
    match options(arguments).and_then(|options| check(&options)) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

/// `--limit N`: so many kernels per architecture to machine code; `--from FOLDER`: texts that were collected before.
struct Options {
    limit: usize,
    from: Option<PathBuf>,
}

fn options(arguments: &[String]) -> Result<Options, String> {
    let mut options = Options { limit: usize::MAX, from: None };
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        let value = rest.next().ok_or_else(|| format!("{argument} wants a value"))?;
        match argument.as_str() {
            "--limit" => options.limit = value.parse().map_err(|_| format!("--limit wants a number, not `{value}`"))?,
            "--from" => options.from = Some(PathBuf::from(value)),
            other => return Err(format!("unknown option `{other}`: there are --limit N and --from FOLDER")),
        }
    }
    Ok(options)
}

/// What there is to compile for an architecture.
struct Work {
    arch: String,
    compiler: Compiler,
    /// A text of each shape, those first that have all statements among them; how many these are.
    files: Vec<PathBuf>,
    n_first: usize,
    n_texts: usize,
    n_statements: usize,
}

impl Work {
    /// How many go to machine code.
    fn n_deep(&self, limit: usize) -> usize {
        if self.compiler.has_machine_code() { self.files.len().min(limit) } else { 0 }
    }

    /// What was done, in words.
    fn report(&self, limit: usize) -> String {
        let Work { arch, files, n_first, n_texts, n_statements, .. } = self;
        if matches!(self.compiler, Compiler::Naga(_)) {
            return format!("{arch}: {n_texts} texts rendered, all given to naga");
        }
        let n_deep = self.n_deep(limit);
        let deep = match () {
            () if !self.compiler.has_machine_code() => "its compiler is elsewhere: no machine code".to_owned(),
            () if n_deep == files.len() => "machine code for all of them".to_owned(),
            () if n_deep >= *n_first => format!("machine code for {n_deep} of them, which have all {n_statements} statements among them"),
            () => format!("machine code for {n_deep} of them; {n_first} would have all {n_statements} statements among them"),
        };
        format!("{arch}: {n_texts} texts rendered, {} of different shape given to the front end, {deep}", files.len())
    }
}

fn list(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let entries = std::fs::read_dir(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    Ok(paths)
}

fn check(options: &Options) -> Result<bool, String> {
    let mut start = Instant::now();
    let mut lap = |what: &str| {
        println!("{what}: {} s", start.elapsed().as_secs());
        start = Instant::now();
    };
    // What was collected before needs a program of the workspace only to be given to naga.
    let built = match &options.from {
        Some(folder) if !folder.join("wgsl").exists() => Vec::new(),
        _ => collect::build()?,
    };
    lap("tests built");
    let folder = match &options.from {
        Some(folder) => folder.clone(),
        None => {
            let folder = source::root().join("target").join("kernels");
            if folder.exists() {
                std::fs::remove_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
            }
            std::fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
            collect::collect(&built, &folder)?;
            lap("kernels rendered");
            folder
        }
    };
    let naga = || collect::find(&built, "crates/drivers/wgpu", "check_wgsl").map(|found| Compiler::Naga(found.path.clone()));
    let nvrtc = Nvrtc::find();
    let mut all = Vec::new();
    for path in list(&folder)? {
        let arch = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let compiler = match &arch {
            arch if arch.starts_with("sm_") => nvrtc.clone().and_then(|nvrtc| nvrtc.knows(arch).map(|()| Compiler::Nvrtc(nvrtc))),
            arch if arch.starts_with("gfx") => compile::clang().map(Compiler::Hip),
            arch if arch == "msl" => compile::clang().map(Compiler::Msl),
            arch if arch == "wgsl" => naga(),
            arch => Err(format!("no compiler for {arch}")),
        };
        let files = list(&path)?;
        match compiler {
            Ok(compiler) => all.push(work(arch, compiler, files)?),
            Err(why) => println!("SKIPPED: {} kernels for {arch}: {why}", files.len()),
        }
    }
    lap("kernels compared");
    let mut batches = Vec::new();
    for Work { arch, compiler, files, .. } in &all {
        batches.extend(Batch::of(arch, compiler, Depth::FrontEnd, files));
    }
    let mut refused = compile_all(&batches);
    lap("front ends");
    if refused.is_empty() {
        let mut batches = Vec::new();
        for work in &all {
            batches.extend(Batch::of(&work.arch, &work.compiler, Depth::MachineCode, &work.files[..work.n_deep(options.limit)]));
        }
        refused = compile_all(&batches);
        lap("machine code");
    }
    refused.iter().for_each(|words| eprintln!("{words}\n"));
    all.iter().for_each(|work| println!("{}", work.report(options.limit)));
    let n_files: usize = all.iter().map(|work| work.files.len()).sum();
    println!("{} kernels compiled, {} refused", n_files - refused.len().min(n_files), refused.len());
    Ok(refused.is_empty())
}

/// The texts of an architecture, compared.
fn work(arch: String, compiler: Compiler, files: Vec<PathBuf>) -> Result<Work, String> {
    if matches!(compiler, Compiler::Naga(_)) {
        return Ok(Work { arch, compiler, n_texts: files.len(), n_first: 0, n_statements: 0, files });
    }
    let mut shapes = Shapes::default();
    for file in &files {
        let name = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        // `entry_hash.txt`
        let entry = name.rsplit_once('_').map_or(name.as_str(), |(entry, _)| entry);
        shapes.add(file, &compile::read(file)?, entry);
    }
    let (files, n_first) = shapes.representatives();
    Ok(Work { arch, compiler, files, n_first, n_texts: shapes.n_texts, n_statements: shapes.n_statements() })
}
