//! How fast the parts of a product are, each alone on one thread: what a whole product's rate is made of.
//!
//! `cargo test --release -p unigrad-cpu contract::tests::parts -- --ignored --nocapture`
//! Runs beside other programs: measurements are run by hand.

use super::{filled, matmul};
use crate::contract::kernel::{Ahead, Compute, TileArgs};
use crate::contract::pack::{PackArgs, RowsArgs, find_runs};
use crate::contract::scratch::Block;
use crate::simd::{Bf16, tests::ways};
use std::collections::BTreeMap;
use std::time::Instant;
use unigrad_scalar::DType;

/// The least time of a call in 60 ms.
fn least(mut f: impl FnMut()) -> f64 {
    let (start, mut least) = (Instant::now(), f64::MAX);
    while start.elapsed().as_millis() < 60 {
        let now = Instant::now();
        f();
        least = least.min(now.elapsed().as_secs_f64());
    }
    least
}

#[test]
#[ignore = "a measurement"]
fn speed() {
    const SIDE: usize = 2048;
    // Plain loops are slow, and lower tiers are for other processors.
    for (tier, bf16) in ways().into_iter().filter(|way| way.0 == crate::simd::tier() && way.1 != Bf16::Model) {
        let kernels = <f32 as Compute>::bf16(bf16).unwrap_or_else(|| f32::kernels(tier));
        let pair = if <f32 as Compute>::bf16(bf16).is_some() { 2 } else { 1 };
        let (mr, nr) = (kernels.mr, kernels.nr);
        for kc in [64, 128, 192, 256, 320, 384, 512] {
            for panels in [1, 160 / mr, 320 / mr] {
                let (a, b) = (vec![0.0f32; panels * mr * kc], vec![0.0f32; nr * kc]);
                let mut c = vec![0.0f32; panels * mr * 512];
                if let Some(shapes) = &kernels.shapes {
                    // SAFETY: the processor has the tiles.
                    unsafe { (shapes.set)(mr, nr) };
                }
                let time = least(|| {
                    for i in 0..panels {
                        let (a, c) = (a[i * mr * kc..].as_ptr(), c[i * mr * 512..].as_mut_ptr());
                        let b = b.as_ptr();
                        let t = TileArgs {
                            kc,
                            a,
                            a_step: mr,
                            b,
                            b_step: nr,
                            c,
                            ldc: 512,
                            rows: mr,
                            cols: nr,
                            accumulate: true,
                            ahead: Ahead::none(b),
                        };
                        // SAFETY: the panels and the block are as long as the tiles.
                        unsafe { (kernels.tile)(&t) };
                    }
                });
                if let Some(shapes) = &kernels.shapes {
                    // SAFETY: as above.
                    unsafe { (shapes.clear)() };
                }
                let flops = 2.0 * (panels * mr * nr * kc * pair) as f64;
                print!("{tier:?} {bf16:?} kc {kc} rows {}: {:.0} GFLOP/s  ", panels * mr, flops / time / 1e9);
            }
            println!();
        }
        let contract = matmul(SIDE, SIDE, SIDE, false, false, if pair == 2 { DType::BF16 } else { DType::F32 });
        let dtype = contract.a.dtype;
        let src = filled(&contract)[0].bytes().to_vec();
        let mut dst = vec![0.0f32; (SIDE + mr.max(nr)) * SIDE];
        let line: Vec<i64> = (0..SIDE as i64).collect();
        let apart: Vec<i64> = line.iter().map(|i| i * SIDE as i64).collect();
        let mut runs = Vec::new();
        for (what, along_k) in [("steps contiguous", true), ("lanes contiguous", false)] {
            let (lanes, steps) = if along_k { (&apart, &line) } else { (&line, &apart) };
            find_runs(steps, &mut runs);
            let packs = match kernels.pack_a {
                crate::contract::kernel::PackA::Same => vec![("a", kernels.pack, mr)],
                crate::contract::kernel::PackA::Own(own) => vec![("a", own, mr), ("b", kernels.pack, nr)],
            };
            for (name, pack, width) in packs {
                let time = least(|| {
                    for (i, lanes) in lanes.chunks(width).enumerate() {
                        let (dst, src) = (dst[i * width * SIDE / pair..].as_mut_ptr(), src.as_ptr());
                        // SAFETY: the matrix holds all offsets, and `dst` the panel.
                        unsafe { pack(&PackArgs { src, dtype, lanes, steps, runs: &runs, dst, width, ld: width }) };
                    }
                });
                print!("pack {name}, {what}: {:.1} GB/s read  ", src.len() as f64 / time / 1e9);
            }
        }
        let time = least(|| {
            let (dst, src) = (dst.as_mut_ptr(), src.as_ptr());
            for (at, steps) in apart.chunks(256).enumerate() {
                let at = at * 256 / pair;
                let rows = RowsArgs { src, dtype, lanes: SIDE, steps, dst, at, width: nr, panel: nr * SIDE / pair, whole: true };
                // SAFETY: the matrix holds all offsets, and `dst` the panels.
                unsafe { (kernels.pack_rows)(&rows) };
            }
        });
        println!("pack by rows {:.1} GB/s read", src.len() as f64 / time / 1e9);
    }
}

/// The loop around tiles, with panels of `b` from afar: what blocks of rows and long panels cost beside the tiles.
#[test]
#[ignore = "a measurement"]
fn streams() {
    const COLS: usize = 2048;
    const PASSES: usize = 3;
    const ROUNDS: usize = 12;
    let kernels = f32::kernels(crate::simd::tier());
    let (mr, nr) = (kernels.mr, kernels.nr);
    let lens = [1 << 20, 8 << 20, 2 << 20];
    let mut blocks = lens.map(|_| Block::empty());
    let [a, b, c] = [0, 1, 2].map(|i| blocks[i].reserve::<f32>(lens[i]));
    // SAFETY: the blocks are so long.
    [a, b, c].iter().zip(lens).for_each(|(block, len)| unsafe { std::ptr::write_bytes(*block, 0, len) });
    let mut rates = BTreeMap::<_, Vec<f64>>::new();
    for _ in 0..ROUNDS {
        for (kc, mc, asks) in
            [192, 256, 320].into_iter().flat_map(|kc| [168, 336].map(|mc| [false, true].map(|asks| (kc, mc, asks)))).flatten()
        {
            let now = Instant::now();
            // Each pass over `k` has its own panels of `b`.
            for (pass, j) in (0..PASSES).flat_map(|pass| (0..COLS / nr).map(move |j| (pass, j))) {
                let b = b.wrapping_add((pass * COLS + j * nr) * kc).cast_const();
                for i in 0..mc / mr {
                    let (a, c) = (a.wrapping_add(i * mr * kc), c.wrapping_add(i * mr * COLS + j * nr));
                    let ahead = if asks { Ahead::part(b.wrapping_add(kc * nr), kc * nr, i, mc / mr, kc) } else { Ahead::none(b) };
                    let t = TileArgs { kc, a, a_step: mr, b, b_step: nr, c, ldc: COLS, rows: mr, cols: nr, accumulate: true, ahead };
                    // SAFETY: the blocks hold the panels and the sums.
                    unsafe { (kernels.tile)(&t) };
                }
            }
            let flops = 2.0 * (PASSES * (mc / mr * mr) * COLS * kc) as f64;
            rates.entry((kc, mc, asks)).or_default().push(flops / now.elapsed().as_secs_f64() / 1e9);
        }
    }
    for ((kc, mc, asks), mut rates) in rates {
        rates.sort_by(f64::total_cmp);
        println!("kc {kc} rows {mc} asks {asks}: {:.0} GFLOP/s, at best {:.0}", rates[ROUNDS / 2], rates[ROUNDS - 1]);
    }
}
