//! Rendered text as files, so that a change of a renderer shows what it changes: `UPDATE_SNAPSHOTS=1` rewrites them.

mod programs;

use std::{fmt::Write as _, path::Path};
use unigrad_ir::{Dialect, FragmentShape, Program, Target, offline_targets, render};
use unigrad_scalar::DType;

/// A target of each dialect.
fn targets() -> Vec<Target> {
    let mut targets = offline_targets();
    targets.retain(|target| matches!(target.arch.as_str(), "sm_90" | "gfx90a" | "gfx1100") || target.dialect == Dialect::Msl);
    let base = Target { fragments: Vec::new(), subgroup: None, ..Target::interpreter() };
    targets.push(Target { dialect: Dialect::OpenCl, ..base.clone() });
    let fragments = targets[0].fragments.clone();
    targets.push(Target { dialect: Dialect::OpenCl, arch: "sm_90".to_owned(), subgroup: Some(32), fragments, ..base.clone() });
    let fragments = vec![FragmentShape { m: 16, n: 16, k: 16, input: DType::F16, sum: DType::F32 }];
    targets.push(Target {
        dialect: Dialect::Wgsl,
        subgroup: Some(32),
        f64: false,
        i64: false,
        f16: false,
        atomic_i64: false,
        fragments,
        ..base
    });
    targets
}

/// The programs whose texts are kept, each for the targets that have what it needs.
fn kept(target: &Target) -> Vec<Program> {
    let mut programs = vec![
        programs::row_sum(),
        programs::sum_of_rows_ahead(),
        programs::small_product(false),
        programs::unary(DType::F32),
        programs::binary(DType::I32),
        programs::cast(DType::F16, target),
        programs::vectors(DType::F16, 8),
        programs::atomics(DType::U32),
    ];
    if target.subgroup.is_some() {
        programs.push(programs::subgroups(DType::F32));
    }
    if target.tables {
        programs.push(programs::tables(DType::BF16));
    }
    let shape = |shape: &&FragmentShape| shape.input == DType::F16;
    programs.extend(target.fragments.iter().find(shape).map(|shape| programs::fragments(*shape, true, target)));
    programs
}

#[test]
fn texts_are_as_they_were() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join("snapshots");
    let update = std::env::var_os("UPDATE_SNAPSHOTS").is_some();
    if update {
        std::fs::create_dir_all(&folder).unwrap();
    }
    let mut changed = String::new();
    for target in targets() {
        let mut text = String::new();
        for program in kept(&target) {
            let source = render(&program, &target).unwrap_or_else(|e| panic!("{e}"));
            let _ = writeln!(text, "// ---- {} {:?} {}\n{}", source.entry, source.options, source.dynamic_shared, source.text);
        }
        let name = match (target.dialect, target.arch.as_str()) {
            (dialect, "") => dialect.name().to_owned(),
            (Dialect::OpenCl, arch) => format!("opencl-{arch}"),
            (_, arch) => arch.to_owned(),
        };
        let file = folder.join(format!("{name}.txt"));
        let before = std::fs::read_to_string(&file).unwrap_or_default();
        if before == text {
            continue;
        }
        if update {
            std::fs::write(&file, text).unwrap();
            continue;
        }
        let first =
            before.lines().zip(text.lines()).position(|(a, b)| a != b).unwrap_or_else(|| before.lines().count().min(text.lines().count()));
        let line = |text: &str| text.lines().nth(first).unwrap_or("(end)").to_owned();
        let _ = writeln!(changed, "{}:{}\n  was {}\n  is  {}", file.display(), first + 1, line(&before), line(&text));
    }
    assert!(changed.is_empty(), "{changed}help: read the change, then UPDATE_SNAPSHOTS=1 cargo test -p unigrad-ir --test snapshots");
}

/// A program that may be launched before the one ahead of it has ended waits for that before it does anything but ask for memory, and says so.
#[test]
fn programs_of_hopper_wait_first() {
    let (mut waiting, mut asking) = (0, 0);
    for target in offline_targets() {
        for program in kept(&target) {
            let Ok(source) = render(&program, &target) else { continue };
            let capability = target.arch.strip_prefix("sm_").map_or(0, |digits| digits.trim_end_matches('a').parse::<u32>().unwrap_or(0));
            let wanted = target.dialect == Dialect::Cuda && capability >= 90;
            assert_eq!(source.waits, wanted, "{} {}", target.arch, program.name);
            let body = source.text.split_once(&format!("{}(", source.entry)).and_then(|(_, rest)| rest.split_once("{\n"));
            let mut lines = body.map_or("", |(_, body)| body).lines();
            let mut first = lines.next().unwrap_or_default();
            if wanted && program.prefetch.is_some() {
                assert!(first.contains("prefetch.global.L2") && !first.contains("ld."), "{} {}: {first}", target.arch, program.name);
                (first, asking) = (lines.next().unwrap_or_default(), asking + 1);
            }
            assert_eq!(first.contains("griddepcontrol.wait"), wanted, "{} {}: {first}", target.arch, program.name);
            assert!(wanted || !source.text.contains("prefetch"), "{} {}", target.arch, program.name);
            waiting += usize::from(wanted);
        }
    }
    assert!(waiting > 0 && asking > 0);
}
