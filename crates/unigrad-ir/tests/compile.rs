//! Rendered text is given to real compilers: OpenCL C, HIP and (through a shim header) MSL to clang, CUDA to NVRTC.
//!
//! A compiler that is not there is a line `SKIPPED: …`.

mod programs;

use std::{path::PathBuf, process::Command};
use unigrad_ir::{Dialect, FragmentShape, Target, render};
use unigrad_scalar::DType;

/// A compiler's name, if it can be started.
fn clang() -> Option<&'static str> {
    ["clang-22", "clang-21", "clang-20", "clang-19"].into_iter().find(|name| Command::new(name).arg("--version").output().is_ok())
}

fn directory(name: &str) -> PathBuf {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::create_dir_all(&path).unwrap();
    path
}

/// A device with most of what a dialect can have.
fn target(dialect: Dialect) -> Target {
    Target { dialect, ..Target::interpreter() }
}

#[test]
fn opencl_c_compiles() {
    let target = Target { subgroup: None, tables: false, fragments: Vec::new(), ..target(Dialect::OpenCl) };
    let programs = programs::all(&target);
    let sources: Vec<_> = programs.iter().map(|p| render(p, &target).unwrap()).collect();
    let Some(clang) = clang() else {
        println!("SKIPPED: no clang of version 19 or newer");
        return;
    };
    let directory = directory("opencl");
    for source in &sources {
        let file = directory.join(format!("{}.cl", source.entry));
        std::fs::write(&file, &source.text).unwrap();
        let output = Command::new(clang)
            .args(["-x", "cl", "-cl-std=CL1.2", "-Xclang", "-finclude-default-header", "-target", "spir64", "-fsyntax-only"])
            .args(["-Wno-unused", "-Wno-unsafe-fp-contract"])
            .arg(&file)
            .output()
            .unwrap();
        assert!(output.status.success(), "{}\n{}", String::from_utf8_lossy(&output.stderr), source.text);
    }
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
fn cuda_c_renders() {
    let fragments = cuda_shapes();
    for (arch, fragments) in [("sm_75", fragments[..6].to_vec()), ("sm_80", fragments.clone()), ("sm_90", fragments)] {
        let target = Target { arch: arch.to_owned(), shared_bytes: 96 << 10, fragments, ..target(Dialect::Cuda) };
        let mut programs = programs::all(&target);
        programs.push(programs::much_shared(64 << 10));
        let directory = directory(arch);
        for program in &programs {
            let source = render(program, &target).unwrap();
            std::fs::write(directory.join(format!("{}.cu", source.entry)), &source.text).unwrap();
        }
    }
}
