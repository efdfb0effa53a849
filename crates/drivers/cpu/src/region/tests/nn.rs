//! The regions that nn's optimizers and norms become take fused steps: their texts are files, which a test of the planner compares with what
//! nn's formulas really give (`unigrad-testing/tests/plan_texts.rs`). Reorder one product there, and this test says what the CPU lost.

use super::*;
use crate::region::lanes::Lanes;
use crate::region::program::{BlockProgram, MicroOp};
use unigrad_kernel::parse_regions;

const OPTIMIZERS: &str = include_str!("../../../../../unigrad-testing/tests/snapshots/regions/optimizers.txt");
const ROWS: &str = include_str!("../../../../../unigrad-testing/tests/snapshots/regions/rows.txt");

/// Regions with the comment above each.
fn named(text: &'static str) -> Vec<(&'static str, Region)> {
    let names = text.lines().filter_map(|line| line.strip_prefix("; "));
    let regions = parse_regions(text).unwrap_or_else(|error| panic!("{error}"));
    let all: Vec<(&str, Region)> = names.zip(regions).collect();
    assert_eq!(all.len(), text.lines().filter(|line| line.starts_with("region")).count());
    all
}

/// Chains and fused steps, sums of expressions, and operations that are steps of their own.
fn steps(program: &BlockProgram) -> [usize; 3] {
    let all = || program.row.iter().flatten().chain(program.passes.iter().flat_map(|pass| &pass.steps));
    let fused = all().filter(|step| matches!(step, MicroOp::Fused(_) | MicroOp::Chain(_))).count();
    let sums = program.passes.iter().flat_map(|pass| &pass.reductions).filter(|reduction| reduction.sum.is_some()).count();
    let lanes = |d: &u32| program.slots[*d as usize].lanes;
    [fused, sums, all().filter(|step| matches!(step, MicroOp::Op { d, .. } if lanes(d))).count()]
}

/// What each may be at most: chains and fused steps, sums of expressions, other operations. An optimizer is one chain, with the choices between
/// the new and the old values that keep a step whole whose indices are out of range. Rows are run one by one and as whole rows, where what
/// comes before a sum is a step of its own, and so is what is done to the numbers of rows.
const WANTED: &[(&str, Lanes, [usize; 3])] = &[
    ("AdamW", Lanes::Rows, [1, 0, 0]),
    ("Adam", Lanes::Rows, [1, 0, 0]),
    ("SGD with momentum", Lanes::Rows, [1, 0, 0]),
    ("Lion", Lanes::Rows, [1, 0, 0]),
    ("softmax", Lanes::Elements, [0, 1, 1]),
    ("log softmax", Lanes::Elements, [1, 1, 0]),
    ("layer norm", Lanes::Elements, [1, 1, 0]),
    ("RMS norm", Lanes::Elements, [1, 1, 0]),
    ("softmax", Lanes::WholeRows, [1, 0, 1]),
    ("log softmax", Lanes::WholeRows, [1, 0, 2]),
    ("layer norm", Lanes::WholeRows, [3, 0, 1]),
    ("RMS norm", Lanes::WholeRows, [2, 0, 1]),
];

#[test]
fn optimizers_and_norms_take_fused_steps() {
    for tier in tiers() {
        let all: Vec<(&str, Region)> = [OPTIMIZERS, ROWS, ROWS].into_iter().flat_map(named).collect();
        assert_eq!(all.iter().map(|(name, _)| *name).collect::<Vec<_>>(), WANTED.iter().map(|(name, ..)| *name).collect::<Vec<_>>());
        for ((name, region), (_, lanes, wanted)) in all.iter().zip(WANTED) {
            let got = steps(&BlockProgram::of(region, tier, *lanes, true, true).unwrap());
            assert_eq!(got, *wanted, "{tier:?} {name} by {lanes:?}: fused steps, sums of expressions, operations apart in\n{region}");
            // The same region has more steps where nothing is fused.
            let plain = steps(&BlockProgram::of(region, tier, *lanes, true, false).unwrap());
            assert!(plain[0] + plain[1] == 0 && plain[2] > got.iter().sum(), "{tier:?} {name}: {plain:?}");
        }
    }
}

/// They compute what the oracle says, guards included.
#[test]
fn optimizers_and_norms_are_right() {
    for (name, region) in [OPTIMIZERS, ROWS].into_iter().flat_map(named) {
        // As small as tells all: a few blocks, and a tail.
        let (from, to) = if region.n_parallel == region.axes.len() { (131_072, 2345) } else { (0, 0) };
        let mut region = region;
        region.axes.iter_mut().filter(|extent| **extent == from).for_each(|extent| *extent = to);
        region.args.iter_mut().filter(|arg| arg.len == from).for_each(|arg| arg.len = to);
        let scalars: Vec<u64> =
            (0..region.scalars.len()).map(|i| unigrad_scalar::Literal::float(DType::F32, 0.9 / (i + 1) as f64).to_raw()).collect();
        for allowed in [0.0, 1.0] {
            let bufs = region.args.iter().enumerate().map(|(a, arg)| {
                let value = |i: usize| if arg.dtype == DType::Bool { allowed } else { 0.3 + ((i * 7 + a * 13) % 97) as f64 / 61.0 };
                let raw = (0..arg.len).map(|i| unigrad_scalar::Literal::float(arg.dtype, value(i)).to_raw()).collect();
                unigrad_kernel::testing::region::Buffer { dtype: arg.dtype, raw }
            });
            let memory = Memory { bufs: bufs.collect() };
            let Ok(want) = oracle::run(&region, &memory, &scalars) else { panic!("{name}: the oracle fails") };
            for tier in tiers() {
                let mut launch = Launch::new(&memory);
                // SAFETY: the buffers match the region.
                unsafe { CompiledRegion::on(&region, tier).unwrap().run(&launch.bufs(), &scalars) }.unwrap();
                for (got, want) in launch.result().bufs.iter().zip(&want.bufs) {
                    for (got, want) in got.raw.iter().zip(&want.raw) {
                        let (got, want) = (f32::from_bits(*got as u32), f32::from_bits(*want as u32));
                        assert!(got == want || (got - want).abs() <= 2e-6 * want.abs().max(1.0), "{tier:?} {name}: {got}, not {want}");
                    }
                }
            }
        }
    }
}
