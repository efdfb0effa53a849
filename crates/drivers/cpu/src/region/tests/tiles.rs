//! Maps over sums, tile by tile: every way to cut a domain, against the same map over sums in memory.
//!
//! Always: the same bits, as the operations of a point are the same; sizes come from the blocks' own lengths.

use super::directed::Make;
use super::*;
use crate::region::program::{LONG_MAP, LONG_TILE, PAD};
use half::{bf16, f16};
use unigrad_kernel::testing::Rng;
use unigrad_kernel::{Arg, Index, InstOp, Value};
use unigrad_scalar::{BinaryOp, UnaryOp};

/// An element as a lane of its compute type.
#[expect(clippy::wildcard_enum_match_arm, reason = "the others are lanes as they are")]
fn lane(dtype: DType, raw: u64) -> Vec<u8> {
    match dtype {
        DType::I8 => i32::from(raw as i8).to_le_bytes().into(),
        DType::I16 => i32::from(raw as i16).to_le_bytes().into(),
        DType::U8 => u32::from(raw as u8).to_le_bytes().into(),
        DType::U16 => u32::from(raw as u16).to_le_bytes().into(),
        DType::F16 => f16::from_bits(raw as u16).to_f32().to_le_bytes().into(),
        DType::BF16 => bf16::from_bits(raw as u16).to_f32().to_le_bytes().into(),
        dtype => raw.to_le_bytes()[..dtype.size()].into(),
    }
}

/// The map with its load `at` as the sums, and the sums, row-major over its points.
fn with_sums(region: &Region, memory: &Memory, at: usize) -> Option<(Region, Vec<Vec<u8>>)> {
    let InstOp::Load { arg, index, mask: None } = &region.insts[at].op else { return None };
    let dtype = region.args[*arg as usize].dtype;
    let float8 = matches!(dtype, DType::F8E4M3 | DType::F8E5M2);
    if region.args[*arg as usize].write || !index.dynamic.is_empty() || region.insts[at].dtype != dtype || float8 {
        return None;
    }
    let sums = (0..region.rows()).map(|mut point| {
        let mut element = index.offset;
        for (extent, stride) in region.axes.iter().zip(&index.strides).rev() {
            element += (point % extent) as i64 * stride;
            point /= extent;
        }
        lane(dtype, memory.bufs[*arg as usize].raw[element as usize])
    });
    let mut of_sums = region.clone();
    of_sums.insts[at].op = InstOp::Acc;
    Some((of_sums, sums.collect()))
}

/// Cuts `0..n` at random places.
fn cuts(rng: &mut Rng, n: usize) -> Vec<(usize, usize)> {
    let mut cuts = vec![0, n];
    for _ in 0..rng.below(3) {
        cuts.push(rng.below(n + 1));
    }
    cuts.sort_unstable();
    cuts.windows(2).filter(|pair| pair[0] < pair[1]).map(|pair| (pair[0], pair[1])).collect()
}

/// Runs the map by tiles over rows of `pitch` points and checks what it wrote.
fn by_tiles(rng: &mut Rng, of_sums: &Region, plain: &Region, sums: &[Vec<u8>], memory: &Memory, scalars: &[u64], [pitch, gap]: [usize; 2]) {
    for tier in tiers() {
        let mut launch = Launch::new(memory);
        // SAFETY: the buffers match the region.
        if unsafe { CompiledRegion::on(plain, tier).unwrap().run(&launch.bufs(), scalars) }.is_err() {
            return;
        }
        let want = launch.result();
        let compiled = CompiledRegion::on(of_sums, tier).unwrap();
        let mut launch = Launch::new(memory);
        let bufs = launch.bufs();
        let size = sums[0].len();
        for (r, r_end) in cuts(rng, sums.len() / pitch) {
            for (c, c_end) in cuts(rng, pitch) {
                let (rows, cols) = (r_end - r, c_end - c);
                // No more than the tile's sums: what is read beyond is seen by tools that look for it.
                let mut acc = vec![0xffu8; ((rows - 1) * (cols + gap) + cols) * size];
                for i in 0..rows {
                    for j in 0..cols {
                        let at = (i * (cols + gap) + j) * size;
                        acc[at..at + size].copy_from_slice(&sums[(r + i) * pitch + c + j]);
                    }
                }
                let tile = Tile { start: r * pitch + c, pitch, rows, cols };
                // SAFETY: the buffers match, and the sums cover the tile.
                unsafe { compiled.run_tile(&bufs, scalars, tile, acc.as_ptr(), cols + gap) }.unwrap();
            }
        }
        let got = launch.result();
        for (arg, (got, want)) in got.bufs.iter().zip(&want.bufs).enumerate() {
            let wrong = got.raw.iter().zip(&want.raw).position(|(got, want)| got != want);
            assert_eq!(wrong, None, "{tier:?}, rows of {pitch}, gap {gap}: argument {arg} in\n{}", text(of_sums));
        }
    }
}

/// Every domain as rows of an axis, of some axes, and of none.
fn by_every_pitch(rng: &mut Rng, plain: &Region, memory: &Memory, scalars: &[u64]) -> bool {
    let loads: Vec<usize> = (0..plain.insts.len()).filter(|at| matches!(plain.insts[*at].op, InstOp::Load { .. })).collect();
    let total = plain.rows();
    let reduces = plain.insts.iter().any(|inst| matches!(inst.op, InstOp::Reduce(..) | InstOp::ArgReduce(..)));
    if plain.n_parallel < plain.axes.len() || total == 0 || loads.is_empty() || reduces {
        return false;
    }
    let Some((of_sums, sums)) = with_sums(plain, memory, loads[rng.below(loads.len())]) else { return false };
    for from in 0..=plain.axes.len() {
        let pitch = plain.axes[from..].iter().product();
        for gap in [0, 3] {
            by_tiles(rng, &of_sums, plain, &sums, memory, scalars, [pitch, gap]);
        }
    }
    true
}

#[test]
fn random_maps_in_tiles() {
    let mut rng = Rng(29);
    let (mut ran, mut all) = (0, 0);
    for seed in seeds() {
        let (region, memory, scalars) = random::region(seed);
        ran += usize::from(by_every_pitch(&mut rng, &region, &memory, &scalars));
        all += 1;
    }
    assert!(all < 500 || ran * 50 > all, "{ran} maps with sums in {all} regions: too few");
}

/// What epilogues of layers do, for sums of any dtype: things of rows, of columns, of both, transposed, spread, by index, masked.
fn layer(rng: &mut Rng, [batch, m, n]: [usize; 3], dtype: DType) -> Make {
    let mut map = Make::new(&[batch, m, n], 3);
    let (bm, sn, sm) = (batch as i64, n as i64, m as i64);
    let dense = [sm * sn, sn, 1];
    let layouts = [
        [0, 0, 1],
        [0, 1, 0],
        [1, 0, 0],
        [sn, 0, 1],
        [sm, 1, 0],
        dense,
        [sm * sn, 1, sm],
        [1, sn * bm, bm],
        [2 * sm * sn, 2 * sn, 2],
        [0, 0, 0],
    ];
    let mut x = map.load(dtype, &dense);
    for _ in 0..rng.below(4) {
        let strides = rng.pick(&layouts);
        let op = rng.pick(&[BinaryOp::Add, BinaryOp::Mul, BinaryOp::Sub, BinaryOp::Max, BinaryOp::Min]);
        let y = match rng.below(6) {
            // A row of a table, by an index for each row or column.
            0 => {
                let place = map.load(DType::I64, &rng.pick(&[[0, 0, 1], [0, 1, 0], [sm, 1, 0], dense]));
                map.0.args.push(Arg { dtype, len: 9 * n, write: false });
                let arg = map.0.args.len() as u32 - 1;
                let index = Index { offset: 0, strides: [0, 0, 1].into_iter().collect(), dynamic: [(place, sn)].into_iter().collect() };
                map.push(InstOp::Load { arg, index, mask: None }, dtype)
            }
            // Another dtype.
            1 => {
                let other = map.load(rng.pick(&[DType::BF16, DType::F16, DType::I8, DType::F32]), &strides);
                map.push(InstOp::Cast(other), dtype)
            }
            _ => map.load(dtype, &strides),
        };
        x = map.binary(op, x, y);
    }
    if rng.chance(40) {
        let (i, j) = (map.push(InstOp::AxisIndex(1), DType::I64), map.push(InstOp::AxisIndex(2), DType::I64));
        let on = map.binary(BinaryOp::Le, j, i);
        let off = map.load(dtype, &[0, 0, 1]);
        x = if rng.chance(50) {
            map.push(InstOp::Where(on, x, off), dtype)
        } else {
            let len = batch * m * n;
            map.0.args.push(Arg { dtype, len, write: false });
            let index = Make::index(&dense);
            let arg = map.0.args.len() as u32 - 1;
            let seen = map.push(InstOp::Load { arg, index, mask: Some(on) }, dtype);
            map.binary(BinaryOp::Add, x, seen)
        };
    }
    if rng.chance(40) {
        x = map.unary(rng.pick(&[UnaryOp::Relu, UnaryOp::Neg, UnaryOp::Abs]), x);
    }
    if rng.chance(30) {
        // Where it is loaded from, in place.
        map.0.args.push(Arg { dtype, len: batch * m * n, write: true });
        let arg = map.0.args.len() as u32 - 1;
        let old = map.push(InstOp::Load { arg, index: Make::index(&dense), mask: None }, dtype);
        let value = map.binary(BinaryOp::Add, x, old);
        map.push(InstOp::Store { arg, index: Make::index(&dense), value }, dtype);
    }
    let store = |map: &mut Make, value: Value, strides: [i64; 3]| map.store(value, &strides);
    let strides = rng.pick(&[dense, [sm * sn, 1, sm], [sm * sn * 2, sn * 2, 2], [sm * (sn + 5), sn + 5, 1], [1, sn * bm, bm]]);
    store(&mut map, x, strides);
    if rng.chance(50) {
        let other = rng.pick(&[DType::BF16, DType::F16, DType::F64, DType::I32, DType::U8, DType::I64]);
        let y = map.push(InstOp::Cast(x), other);
        store(&mut map, y, dense);
    }
    map
}

#[test]
fn layers_in_tiles() {
    let mut rng = Rng(31);
    let mut ran = 0;
    let edges = |n: usize| [n - 1, n, n + 1];
    let wide: Vec<usize> =
        [PAD, BLOCK, LONG_MAP, LONG_TILE].into_iter().flat_map(edges).chain([LONG_TILE / 2 - 1, 3 * LONG_TILE + 5]).collect();
    let narrow: Vec<usize> = (1..=9).chain([15, 16, 17, 24, 31, 33, 48, 80, 96, 100, 128, 192]).chain(edges(PAD)).collect();
    for round in 0..600 {
        let shape = if round % 4 == 0 {
            [rng.below(2) + 1, rng.below(5) + 1, rng.pick(&wide)]
        } else {
            [rng.below(3) + 1, rng.below(90) + 1, rng.pick(&narrow)]
        };
        let dtype = rng.pick(&[DType::F32, DType::F32, DType::F32, DType::F64, DType::I32, DType::I8, DType::U16, DType::BF16, DType::F16]);
        let map = layer(&mut rng, shape, dtype);
        let index = |a: usize| map.0.args[a].dtype == DType::I64;
        let memory = map.memory(|a, i| if index(a) { (i * 5 % 9) as f64 } else { ((i.wrapping_mul(2_654_435_761) >> 7) % 9) as f64 - 4.0 });
        ran += usize::from(by_every_pitch(&mut rng, &map.0, &memory, &[]));
    }
    assert!(ran > 300, "only {ran} of 600 had sums");
}
