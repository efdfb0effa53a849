//! Regions against a plain evaluator, on every tier the machine has.

mod bench;
mod bound;
mod chains;
mod copies;
mod directed;
mod exhaustive;
mod fused;
mod nn;
mod repeats;
mod tiles;
mod whole_rows;

use super::*;
use crate::memory::Buf;
use crate::simd::tests::tiers;
use unigrad_kernel::Region;
use unigrad_kernel::testing::{
    region::{self as oracle, Memory, Num},
    regions as random,
};
use unigrad_scalar::DType;

/// Aligned copies of buffers, as a launch gets them.
pub(super) struct Launch {
    lines: Vec<Vec<[u64; 8]>>,
    memory: Memory,
}

impl Launch {
    pub(super) fn new(memory: &Memory) -> Launch {
        let lines = memory.bufs.iter().map(|buf| {
            let mut lines = vec![[0u64; 8]; (buf.raw.len() * buf.dtype.size()).div_ceil(64).max(1) + 1];
            let ptr = lines.as_mut_ptr().cast::<u8>();
            for (i, raw) in buf.raw.iter().enumerate() {
                let bytes = raw.to_le_bytes();
                // SAFETY: the vector has room for every element.
                unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), ptr.add(i * buf.dtype.size()), buf.dtype.size()) };
            }
            lines
        });
        Launch { lines: lines.collect(), memory: memory.clone() }
    }

    pub(super) fn bufs(&mut self) -> Vec<Buf> {
        let bufs = self.lines.iter_mut().zip(&self.memory.bufs);
        bufs.map(|(lines, buf)| Buf { ptr: lines.as_mut_ptr().cast(), len: buf.raw.len(), dtype: buf.dtype }).collect()
    }

    pub(super) fn result(&self) -> Memory {
        let mut memory = self.memory.clone();
        for (lines, buf) in self.lines.iter().zip(&mut memory.bufs) {
            let size = buf.dtype.size();
            for (i, raw) in buf.raw.iter_mut().enumerate() {
                let mut bytes = [0u8; 8];
                // SAFETY: as in `new`.
                unsafe { std::ptr::copy_nonoverlapping(lines.as_ptr().cast::<u8>().add(i * size), bytes.as_mut_ptr(), size) };
                *raw = u64::from_le_bytes(bytes);
            }
        }
        memory
    }
}

/// A region, one line per part.
fn text(region: &Region) -> String {
    let mut text = format!("{} {:?} parallel {}\n", region.name, region.axes, region.n_parallel);
    for (i, arg) in region.args.iter().enumerate() {
        text += &format!("  arg {i}: {} x {}{}\n", arg.dtype, arg.len, if arg.write { " written" } else { "" });
    }
    for (i, (inst, level)) in region.insts.iter().zip(region.levels()).enumerate() {
        text += &format!("  %{i}: {} {level:?} = {:?}\n", inst.dtype, inst.op);
    }
    text
}

fn assert_same(got: &Memory, want: &Memory, region: &Region, what: &str) {
    for (arg, (got, want)) in got.bufs.iter().zip(&want.bufs).enumerate() {
        for (i, (g, w)) in got.raw.iter().zip(&want.raw).enumerate() {
            let (g, w) = (Num::from_raw(got.dtype, *g), Num::from_raw(want.dtype, *w));
            assert!(g.same(w), "{what}: argument {arg} element {i}: got {g:?}, want {w:?} in\n{}", text(region));
        }
    }
}

/// A region that reduces, with lanes of every kind, also those that the rule does not choose; of whole rows also in small blocks.
fn by_every_kind(region: &Region, tier: Tier) -> Vec<(CompiledRegion, String)> {
    if region.n_parallel == region.axes.len() || region.rows() == 0 || !(1..2000).contains(&region.row_len()) {
        return Vec::new();
    }
    let kinds = [(Lanes::Elements, 1), (Lanes::Rows, BLOCK), (Lanes::WholeRows, 1), (Lanes::WholeRows, 3), (Lanes::WholeRows, usize::MAX)];
    let compiled = kinds.into_iter().map(|(lanes, rows_at_once)| {
        let mut program = BlockProgram::of(region, tier, lanes, true, rows_at_once != 3).unwrap();
        program.rows_at_once = program.rows_at_once.min(rows_at_once);
        (CompiledRegion { program, parts: 1, stream: false }, format!("{tier:?}, {lanes:?}, {rows_at_once} rows at once"))
    });
    compiled.collect()
}

/// Runs the region on every tier and by every path, against the oracle.
pub(super) fn check(region: &Region, memory: &Memory, scalars: &[u64]) {
    let want = oracle::run(region, memory, scalars);
    for tier in tiers() {
        let compiled = CompiledRegion::on(region, tier).unwrap();
        let mut launch = Launch::new(memory);
        // SAFETY: the buffers match the region.
        let got = unsafe { compiled.run(&launch.bufs(), scalars) };
        match (&want, got) {
            (Ok(want), Ok(())) => assert_same(&launch.result(), want, region, &format!("{tier:?}")),
            (Err(()), Err(_)) => {}
            (want, got) => panic!("{tier:?}: fault {got:?}, oracle {:?} in\n{}", want.is_err(), text(region)),
        }
        for (compiled, what) in by_every_kind(region, tier) {
            let mut launch = Launch::new(memory);
            // SAFETY: the buffers match the region.
            let got = unsafe { compiled.run(&launch.bufs(), scalars) };
            match (&want, got) {
                (Ok(want), Ok(())) => assert_same(&launch.result(), want, region, &what),
                (Err(()), Err(_)) => {}
                (want, got) => panic!("{what}: fault {got:?}, oracle {:?} in\n{}", want.is_err(), text(region)),
            }
        }
        let Ok(want) = &want else { continue };
        if region.n_parallel == region.axes.len() && region.rows() > 0 && compiled.program.passes.is_empty() {
            let mut launch = Launch::new(memory);
            let bufs = launch.bufs();
            let total = region.rows();
            let pitch = [7, 64, 600].into_iter().find(|p| total.is_multiple_of(*p)).unwrap_or(total);
            for c in (0..pitch).step_by(33) {
                let tile = Tile { start: c, pitch, rows: total / pitch, cols: 33.min(pitch - c) };
                // SAFETY: the buffers match, and there is no `Acc`.
                unsafe { compiled.run_tile(&bufs, scalars, tile, std::ptr::null(), 0) }.unwrap();
            }
            assert_same(&launch.result(), want, region, &format!("{tier:?}, in tiles"));
        }
    }
}

/// More of them: `UNIGRAD_TEST_SEEDS=1000..5000`.
fn seeds() -> std::ops::Range<u64> {
    let named = std::env::var("UNIGRAD_TEST_SEEDS").ok();
    let range = named.as_deref().and_then(|text| text.split_once("..")).and_then(|(a, b)| Some(a.parse().ok()?..b.parse().ok()?));
    range.unwrap_or(0..1500)
}

#[test]
fn random_regions_match_the_oracle() {
    for seed in seeds() {
        let (region, memory, scalars) = random::region(seed);
        check(&region, &memory, &scalars);
    }
}

#[test]
fn dtypes_are_all_tried() {
    // The generator's own promise, so that a change to it cannot quietly narrow the tests.
    let mut seen = std::collections::HashSet::new();
    for seed in 0..200 {
        random::region(seed).0.args.iter().for_each(|arg| {
            seen.insert((arg.dtype, arg.write));
        });
    }
    assert_eq!(seen.len(), DType::ALL.len() * 2);
}
