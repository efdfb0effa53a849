//! Rendered text is given to real compilers: OpenCL C, HIP and (through a shim header) MSL to clang. What the test suite renders, and CUDA C, is
//! compiled by `cargo xtask compile-kernels`.
//!
//! A compiler that is not there is a line `SKIPPED: …`.

mod programs;

use std::{path::PathBuf, process::Command};
use unigrad_ir::interpret::Interpreter;
use unigrad_ir::{Dialect, Source, Target, collect, offline_targets, render};

/// A compiler's name, if it can be started.
fn clang() -> Option<&'static str> {
    ["clang-22", "clang-21", "clang-20", "clang-19"].into_iter().find(|name| Command::new(name).arg("--version").output().is_ok())
}

/// A device with most of what a dialect can have.
fn target(dialect: Dialect) -> Target {
    Target { dialect, ..Target::interpreter() }
}

/// Compiles `unit`; the compiler's words if it refuses.
fn compile(name: &str, unit: &str, arguments: &[&str]) {
    let Some(clang) = clang() else {
        println!("SKIPPED: {name}: no clang of version 19 or newer");
        return;
    };
    let file = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(&file, unit).unwrap();
    let output = Command::new(clang).args(arguments).arg(&file).output().unwrap();
    let words = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}: {}", file.display(), words.chars().take(8000).collect::<String>());
}

fn sources(target: &Target) -> Vec<Source> {
    programs::all(target).iter().map(|program| render(program, target).unwrap_or_else(|e| panic!("{e}"))).collect()
}

/// Many C++ kernels as one unit: each in a namespace of its own, what the preprocessor reads before all of them.
fn in_namespaces(sources: &[Source]) -> String {
    let (mut head, mut body) = (String::new(), String::new());
    for (at, source) in sources.iter().enumerate() {
        body.push_str(&format!("namespace n{at} {{\n"));
        for line in source.text.lines() {
            let is_global = line.starts_with('#') || line.starts_with("using namespace");
            let text = if is_global { &mut head } else { &mut body };
            if !is_global || at == 0 {
                // A name with C's linkage would be the same in all of them.
                text.push_str(line.strip_prefix("extern \"C\" __attribute__((global").map_or(line, |_| &line[11..]));
                text.push('\n');
            }
        }
        body.push_str("}\n");
    }
    head + &body
}

#[test]
fn opencl_c_compiles() {
    let target = Target { subgroup: None, ..target(Dialect::OpenCl) };
    // C has no namespaces: names of functions and kernels get numbers.
    let mut unit = String::new();
    for (at, source) in sources(&target).iter().enumerate() {
        unit.push_str(&source.text.replace("ug_", &format!("ug{at}_")).replace("void k_", &format!("void k{at}_")));
    }
    let arguments = ["-x", "cl", "-cl-std=CL1.2", "-Xclang", "-finclude-default-header", "-target", "spir64", "-fsyntax-only"];
    compile("programs.cl", &unit, &arguments);
}

#[test]
fn hip_compiles_for_cdna_and_rdna() {
    for target in offline_targets().iter().filter(|target| target.dialect == Dialect::Hip) {
        let arch = &target.arch;
        let unit = in_namespaces(&sources(target));
        let offload = format!("--offload-arch={arch}");
        let arguments = ["-x", "hip", "--offload-device-only", &offload, "-nogpulib", "-nogpuinc", "-std=c++17", "-O1", "-S", "-o", "-"];
        compile(&format!("programs_{arch}.hip"), &unit, &arguments);
    }
}

#[test]
fn msl_compiles_against_the_shim() {
    let metal = offline_targets().into_iter().find(|target| target.dialect == Dialect::Msl).unwrap();
    let unit = in_namespaces(&sources(&metal)).replace("alignas(16) threadgroup", "alignas(16) static");
    let shim = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/shim");
    compile(
        "programs.metal",
        &unit,
        &["-x", "c++", "-std=c++20", "-fsyntax-only", "-I", shim, "-Wno-unknown-attributes", "-Wno-unknown-pragmas"],
    );
}

/// What `cargo xtask compile-kernels` compiles of this crate's: it names the folder.
#[test]
fn programs_are_collected_for_other_compilers() {
    for target in offline_targets() {
        // A cast's program writes a buffer of each dtype.
        let target = Target { max_buffers: target.max_buffers.max(16), ..target };
        let invalid: Vec<String> = programs::all(&target)
            .iter()
            .filter_map(|program| Interpreter::new(program, &target).err().map(|found| format!("{}: {}", program.name, found[0])))
            .collect();
        assert!(invalid.is_empty(), "{}", invalid.join("\n"));
        let mut programs = programs::all(&target);
        if target.shared_bytes > 64 << 10 {
            programs.push(programs::much_shared(80 << 10));
        }
        let sources = programs.iter().map(|program| render(program, &target).unwrap_or_else(|e| panic!("{e}")));
        for source in sources {
            assert_eq!(source.dynamic_shared > 0, source.entry == "k_much_shared");
            if let Some(folder) = std::env::var_os("UNIGRAD_COLLECT_KERNELS") {
                collect(&source, &target, folder.as_ref()).unwrap();
            }
        }
    }
}
