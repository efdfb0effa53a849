//! Lowered regions on the interpreter, against a plain evaluator of what regions mean.

mod directed;
mod long_rows;
mod schedules;

use crate::lower::{Lowered, Part, ProgramArg, lower};
use unigrad_ir::{
    Dialect, Param, Target,
    interpret::{Argument, Span, run},
};
use unigrad_kernel::testing::{
    region::{self as oracle, Memory, Num},
    regions as random,
};
use unigrad_kernel::{InstOp, Kernel, Region};

/// The target whose launches pass few buffers. Updates in place that need each other cannot be divided for it.
const FEW_BUFFERS: &str = "few buffers";

/// Targets that lower differently.
pub(super) fn targets() -> Vec<(&'static str, Target)> {
    let all = Target::interpreter();
    vec![
        ("all", all.clone()),
        ("no subgroups, no tables, no vectors", Target { subgroup: None, tables: false, vectors: false, ..all.clone() }),
        ("subgroups of 8, one compute unit, small groups", Target { subgroup: Some(8), compute_units: 1, max_threads: 128, ..all.clone() }),
        ("no 64-bit integers, small grid", Target { i64: false, max_grid: [5, 1024, 64], subgroup: None, tables: false, ..all.clone() }),
        ("many compute units", Target { compute_units: 132, max_buffers: 256, ..all.clone() }),
        ("tables by choice", Target { dialect: Dialect::OpenCl, max_param_bytes: 2048, max_buffers: 128, subgroup: None, ..all.clone() }),
        ("scalars in a block", Target { scalars_in_block: true, ..all.clone() }),
        (FEW_BUFFERS, Target { max_buffers: 5, ..all }),
    ]
}

/// Runs launches on the interpreter: memory in, memory out, and whether an index was out of range.
pub(super) fn execute(lowered: &Lowered, target: &Target, memory: &Memory, scalars: &[u64]) -> (Memory, bool) {
    let mut allocations: Vec<Vec<u8>> =
        memory.bufs.iter().map(|buf| buf.raw.iter().flat_map(|raw| raw.to_le_bytes()[..buf.dtype.size()].to_vec()).collect()).collect();
    let n_args = allocations.len();
    allocations.extend(lowered.scratch.iter().map(|bytes| vec![0xa5; *bytes]));
    allocations.push(vec![0; 256]);
    let status = allocations.len() - 1;
    let lens: Vec<usize> = allocations.iter().map(Vec::len).collect();
    let span = |allocation: usize| Span { allocation, offset: 0, len: lens[allocation] };
    for step in &lowered.steps {
        assert!(step.grid.iter().zip(target.max_grid).all(|(extent, most)| *extent <= most), "grid {:?}", step.grid);
        assert!(step.program.threads() <= target.max_threads && step.program.shared_bytes() <= target.shared_bytes);
        // The words of a block, in memory of their own.
        let block = step.args.iter().find_map(|arg| if let ProgramArg::Block(words) = arg { Some(words) } else { None });
        let block: Vec<u8> = block.into_iter().flatten().flat_map(|word| word.of(scalars, 0).unwrap().to_le_bytes()).collect();
        let in_block = Span { allocation: status + 1, offset: 0, len: block.len() };
        allocations.truncate(status + 1);
        allocations.push(block);
        let arguments: Vec<Argument> = step
            .args
            .iter()
            .map(|arg| match arg {
                ProgramArg::Arg(at) => Argument::Buffer(span(*at)),
                ProgramArg::Scratch(at) => Argument::Buffer(span(n_args + at)),
                ProgramArg::Status => Argument::Buffer(span(status)),
                ProgramArg::Scalar(at, Part::Whole) => Argument::Scalar(scalars[*at]),
                ProgramArg::Scalar(at, Part::Low) => Argument::Scalar(scalars[*at] & 0xffff_ffff),
                ProgramArg::Scalar(at, Part::High) => Argument::Scalar(scalars[*at] >> 32),
                ProgramArg::StatusSlot => Argument::Scalar(0),
                ProgramArg::Block(_) => Argument::Buffer(in_block),
                ProgramArg::Word(word) => Argument::Scalar(*word),
                ProgramArg::Table(at) => Argument::Table(at.iter().map(|at| span(*at)).collect()),
                ProgramArg::ScalarTable(at) => Argument::ScalarTable(at.iter().map(|at| scalars[*at]).collect()),
                ProgramArg::WordTable(words) => Argument::ScalarTable(words.clone()),
            })
            .collect();
        if let Err(fault) = run(&step.program, target, step.grid, &mut allocations, &arguments) {
            panic!("{fault}\n{:#?}", step.grid);
        }
    }
    let mut out = memory.clone();
    for (buf, bytes) in out.bufs.iter_mut().zip(&allocations) {
        for (raw, bytes) in buf.raw.iter_mut().zip(bytes.chunks(buf.dtype.size())) {
            let mut word = [0; 8];
            word[..bytes.len()].copy_from_slice(bytes);
            *raw = u64::from_le_bytes(word);
        }
    }
    (out, allocations[status][..4] != [0; 4])
}

/// Buffers that a launch passes.
fn buffers(program: &unigrad_ir::Program) -> usize {
    let of = |param: &Param| match param {
        Param::Buffer { .. } => 1,
        Param::Table { count, .. } => *count as usize,
        Param::Scalar { .. } | Param::ScalarTable { .. } => 0,
    };
    program.params.iter().map(of).sum()
}

/// A region, one line per part.
pub(super) fn text(region: &Region) -> String {
    let mut text = format!("{} {:?} parallel {}\n", region.name, region.axes, region.n_parallel);
    for (i, arg) in region.args.iter().enumerate() {
        text += &format!("  arg {i}: {} x {}{}\n", arg.dtype, arg.len, if arg.write { " written" } else { "" });
    }
    for (i, (inst, level)) in region.insts.iter().zip(region.levels()).enumerate() {
        text += &format!("  %{i}: {} {level:?} = {:?}\n", inst.dtype, inst.op);
    }
    text
}

pub(super) fn assert_same(got: &Memory, want: &Memory, what: &str) {
    for (arg, (got, want)) in got.bufs.iter().zip(&want.bufs).enumerate() {
        for (i, (g, w)) in got.raw.iter().zip(&want.raw).enumerate() {
            let (g, w) = (Num::from_raw(got.dtype, *g), Num::from_raw(want.dtype, *w));
            assert!(g.same(w), "{what}: argument {arg} element {i}: got {g:?}, want {w:?}");
        }
    }
}

/// Lowers the region for every target and compares with the oracle.
pub(super) fn check(region: &Region, memory: &Memory, scalars: &[u64]) {
    let want = oracle::run(region, memory, scalars);
    for (name, target) in targets() {
        let lowered = match lower(&Kernel::Region(region.clone()), &target) {
            Ok(lowered) => lowered,
            Err(refused) => {
                let in_place =
                    region.insts.iter().any(|inst| matches!(inst.op, InstOp::Load { arg, .. } if region.args[arg as usize].write));
                assert!(name == FEW_BUFFERS && in_place, "{name}: {refused} in\n{}", text(region));
                continue;
            }
        };
        assert!(lowered.steps.iter().all(|step| buffers(&step.program) <= target.max_buffers as usize), "{name}");
        let caught = std::panic::catch_unwind(|| execute(&lowered, &target, memory, scalars));
        let Ok((got, fault)) = caught else { panic!("{name}: a fault in\n{}", text(region)) };
        match &want {
            Ok(want) => {
                assert!(!fault, "{name}: an index error in\n{}", text(region));
                assert_same(&got, want, &format!("{name}\n{}", text(region)));
            }
            Err(()) => assert!(fault, "{name}: no index error in\n{}", text(region)),
        }
    }
}

/// More of them: `UNIGRAD_TEST_SEEDS=1000..5000`.
fn seeds() -> std::ops::Range<u64> {
    let named = std::env::var("UNIGRAD_TEST_SEEDS").ok();
    let range = named.as_deref().and_then(|text| text.split_once("..")).and_then(|(a, b)| Some(a.parse().ok()?..b.parse().ok()?));
    range.unwrap_or(0..400)
}

#[test]
fn random_regions_match_the_oracle() {
    for seed in seeds() {
        let (region, memory, scalars) = random::region(seed);
        check(&region, &memory, &scalars);
    }
}
