//! Products whose panels of `b` were packed before, and sizes around what decides how work is cut: each gives the bits of the plain product.

use super::super::engine::{ROW_TASK, ROW_TASK_BYTES, SHARED_K_OF_SMALL_SUMS, SMALL_SUMS};
use super::super::kernel::Compute;
use super::super::pack::ROWS;
use super::{AsBuf, CompiledContract, check, filled, matmul, run};
use crate::memory::Buf;
use crate::simd::tests::ways;
use unigrad_kernel::testing::{Memory, Rng, contract::case as random_case};
use unigrad_kernel::{Arg, Contract};
use unigrad_scalar::DType;

/// With panels where the product has some; how many bytes they were.
fn run_kept(contract: &Contract, way: (crate::simd::Tier, crate::simd::Bf16), threads: usize, args: &mut [Memory; 3]) -> Option<Vec<u8>> {
    let compiled = CompiledContract::for_tier(contract, way.0, way.1).unwrap();
    let panels = compiled.panels()?;
    let bufs: Vec<Buf> = args.iter_mut().map(Memory::buf).collect();
    // Cache lines, and one more that nothing writes.
    #[derive(Clone, Copy)]
    #[repr(align(64))]
    struct Line([u8; 64]);
    let mut kept = vec![Line([0x5a; 64]); panels.bytes.div_ceil(64) + 1];
    // SAFETY: the buffers match the contraction, and the lines hold the panels.
    unsafe {
        compiled.keep_on(threads, &bufs, kept.as_mut_ptr().cast()).unwrap();
        compiled.run_with_on(threads, &bufs, &[], Some(kept.as_ptr().cast())).unwrap();
    }
    let after: Vec<u8> = kept.iter().flat_map(|line| line.0).skip(panels.bytes).collect();
    assert!(after.iter().all(|byte| *byte == 0x5a), "written beyond the panels");
    Some(args[2].bytes().to_vec())
}

#[test]
fn kept_panels_do_not_show() {
    let mut n_kept = 0;
    let columns = |k: usize| ROW_TASK_BYTES / 4 / k;
    let mut shapes = vec![(8, 40, 64), (9, 33, 321), (64, 96, 640), (100, 64, 200), (129, 300, 100), (32, columns(256), 256)];
    // Tasks of whole rows: around their number of rows for two, three and eight threads, and around the bytes that they read.
    shapes.extend([2, 3, 8].into_iter().flat_map(|t| [t * ROW_TASK - 1, t * ROW_TASK, t * ROW_TASK + 1].map(|m| (m, 48, 130))));
    shapes.extend([(32, columns(512) - 1, 512), (32, columns(512) + 1, 512)]);
    for (m, n, k) in shapes {
        for (ta, tb) in [(false, false), (true, false), (false, true), (true, true)] {
            for dtype in [DType::F32, DType::BF16, DType::F64, DType::I32] {
                let contract = matmul(m, n, k, ta, tb, dtype);
                let mut args = filled(&contract);
                for way in ways() {
                    let plain = run(&contract, way, 1, &mut args);
                    for threads in [1, 2, 3, 8] {
                        let Some(kept) = run_kept(&contract, way, threads, &mut args) else { continue };
                        n_kept += 1;
                        assert!(kept == plain, "{m}x{n}x{k} {ta} {tb} {dtype} {way:?}, {threads} threads");
                    }
                }
            }
        }
    }
    assert!(n_kept > 500, "{n_kept}");
}

/// Few steps and lanes around what is packed side by side, of matrices either way round.
#[test]
fn rows_are_packed_around_their_blocks() {
    let mut rng = Rng(29);
    let kernels = f32::kernels(crate::simd::tier());
    let lanes = [1, 2, kernels.mr - 1, kernels.mr, kernels.mr + 1, kernels.nr - 1, kernels.nr, kernels.nr + 1, 2 * kernels.nr + 3];
    let steps = [1, 2, ROWS - 1, ROWS, ROWS + 1, 2 * ROWS - 1, 2 * ROWS, 2 * ROWS + 1, 4 * ROWS + 1];
    for k in steps {
        for m in lanes {
            for n in lanes {
                for dtypes in [[DType::F32; 3], [DType::BF16, DType::BF16, DType::F32], [DType::F16, DType::F32, DType::F32]] {
                    let sizes: [&[usize]; 4] = [&[], &[m], &[n], &[k]];
                    check(random_case(&mut rng, sizes, dtypes), &format!("{m}x{n}x{k} {dtypes:?}"));
                    // More rows than may be used in place, so that panels are packed from rows.
                    let mut contract = matmul(m + 128, n, k, true, false, dtypes[0]);
                    contract.c = Arg { dtype: dtypes[2], ..contract.c };
                    let mut args = filled(&contract);
                    for way in ways() {
                        run(&contract, way, 2, &mut args);
                        let (i, j) = (rng.below(m + 128), rng.below(n));
                        let want: f64 = (0..k).map(|l| args[0].get(l * (m + 128) + i).as_f64() * args[1].get(l * n + j).as_f64()).sum();
                        let got = args[2].get(i * n + j).as_f64();
                        assert!((got - want).abs() <= 1e-5, "{m}x{n}x{k} {way:?} [{i}, {j}]: {got} not {want}");
                    }
                }
            }
        }
    }
}

/// Long sums whose results are few are packed piece by piece: around the lengths and sizes that decide.
#[test]
fn long_sums_in_pieces() {
    let k = SHARED_K_OF_SMALL_SUMS;
    let n = 1030;
    let most = SMALL_SUMS / 4 / n;
    for (m, k) in [(270, k - 1), (270, k), (270, k + 1), (270, 2 * k), (270, 2 * k + 1), (most, k + 1), (most + 1, k + 1)] {
        for dtype in [DType::F32, DType::BF16] {
            let contract = matmul(m, n, k, true, false, dtype);
            let mut args = filled(&contract);
            let mut rng = Rng(3);
            for way in ways().into_iter().rev().take(2) {
                let one = run(&contract, way, 1, &mut args);
                for threads in [2, 3, 8] {
                    assert!(one == run(&contract, way, threads, &mut args), "{m}x{n}x{k} {way:?}: {threads} threads differ");
                }
                for _ in 0..50 {
                    let (i, j) = (rng.below(m), rng.below(n));
                    let want: f64 = (0..k).map(|l| args[0].get(l * m + i).as_f64() * args[1].get(l * n + j).as_f64()).sum();
                    let got = args[2].get(i * n + j).as_f64();
                    let allowed = 1e-6 * k as f64 + if dtype == DType::F32 { 0.0 } else { want.abs() / 200.0 };
                    assert!((got - want).abs() <= allowed, "{m}x{n}x{k} {dtype} {way:?} [{i}, {j}]: {got} not {want}");
                }
            }
        }
    }
}
