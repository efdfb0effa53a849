//! Rendered text is given to real compilers: OpenCL C, HIP and (through a shim header) MSL to clang. What the test suite renders, and CUDA C, is
//! compiled by `cargo xtask compile-kernels`.
//!
//! A compiler that is not there is a line `SKIPPED: …`.

mod programs;

use std::{path::PathBuf, process::Command};
use unigrad_ir::{Dialect, FragmentShape, Source, Target, render};
use unigrad_scalar::DType;

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
    let target = Target { subgroup: None, tables: false, ..target(Dialect::OpenCl) };
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
    let shape = |k, input| FragmentShape { m: 16, n: 16, k, input, sum: DType::F32 };
    let halves = [shape(16, DType::F16), shape(16, DType::BF16)];
    for (arch, subgroup, fragments) in
        [("gfx90a", 64, [halves.to_vec(), vec![shape(4, DType::F32)]].concat()), ("gfx1100", 32, halves.to_vec())]
    {
        let target = Target { arch: arch.to_owned(), subgroup: Some(subgroup), fragments, ..target(Dialect::Hip) };
        let unit = in_namespaces(&sources(&target));
        let offload = format!("--offload-arch={arch}");
        let arguments = ["-x", "hip", "--offload-device-only", &offload, "-nogpulib", "-nogpuinc", "-std=c++17", "-O1", "-S", "-o", "-"];
        compile(&format!("programs_{arch}.hip"), &unit, &arguments);
    }
}

/// The target that MSL is rendered for, and run as through the shim.
fn metal() -> Target {
    let shape = |input| FragmentShape { m: 8, n: 8, k: 8, input, sum: DType::F32 };
    let fragments = [DType::F16, DType::BF16, DType::F32].map(shape).to_vec();
    Target { f64: false, tables: false, atomic_i64: false, fragments, ..target(Dialect::Msl) }
}

#[test]
fn msl_compiles_against_the_shim() {
    let unit = in_namespaces(&sources(&metal())).replace("alignas(16) threadgroup", "alignas(16) static");
    let shim = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/shim");
    compile(
        "programs.metal",
        &unit,
        &["-x", "c++", "-std=c++20", "-fsyntax-only", "-I", shim, "-Wno-unknown-attributes", "-Wno-unknown-pragmas"],
    );
}

/// Matrix shapes that CUDA devices have.
fn cuda_shapes() -> Vec<FragmentShape> {
    let tiles = [(16, 16, 16), (8, 32, 16), (32, 8, 16)];
    let of = |input, sum| tiles.into_iter().map(move |(m, n, k)| FragmentShape { m, n, k, input, sum });
    let mut shapes: Vec<_> = of(DType::F16, DType::F32).chain(of(DType::F16, DType::F16)).chain(of(DType::BF16, DType::F32)).collect();
    shapes.push(FragmentShape { m: 16, n: 16, k: 8, input: DType::F32, sum: DType::F32 });
    shapes
}

#[test]
fn cuda_c_renders_for_every_generation() {
    let fragments = cuda_shapes();
    for (arch, fragments) in [("sm_75", fragments[..6].to_vec()), ("sm_80", fragments.clone()), ("sm_90", fragments)] {
        let target = Target { arch: arch.to_owned(), shared_bytes: 96 << 10, fragments, ..target(Dialect::Cuda) };
        assert!(sources(&target).iter().all(|source| source.dynamic_shared == 0));
        let large = render(&programs::much_shared(64 << 10), &target).unwrap();
        assert_eq!(large.dynamic_shared, (64 << 10) + 16);
    }
}
