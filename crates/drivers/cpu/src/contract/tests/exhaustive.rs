//! Every number of rows and columns up to two full tiles, on every tier of the machine.
//!
//! Always: sizes come from the kernels' own tables, so that a new tile is tested by being in one. Values are small integers, so that
//! sums are exact, and one reference serves all sizes: a smaller product is the corner of a larger one. What lies around a result
//! must stay as it was.

use super::{AsBuf, CompiledContract};
use crate::contract::kernel::{Ahead, Compute, DotArgs, TileArgs};
use crate::contract::output::{Store, StoreAs};
use crate::contract::pack::{PackArgs, find_runs};
use crate::memory::Buf;
use crate::simd::tests::{tiers, ways};
use smallvec::smallvec;
use unigrad_kernel::testing::{Memory, Rng};
use unigrad_kernel::{Arg, Contract, KDim, MDim, NDim};
use unigrad_scalar::{DType, Literal};

/// Steps of `k`: none, fewer than a register, a remainder, more than one pass of a narrow product.
const STEPS: [usize; 6] = [0, 1, 2, 3, 17, 300];
const MOST_STEPS: usize = 300;
/// What a result's surroundings hold, and an accumulating one starts from.
const BEFORE: i64 = 5;

fn integers(rng: &mut Rng, n: usize) -> Vec<i64> {
    (0..n).map(|_| rng.below(7) as i64 - 3).collect()
}

fn converted<T: Compute>(values: &[i64]) -> Vec<T> {
    values.iter().map(|x| T::convert(*x)).collect()
}

/// `[rows][cols]`: the sums over the first `k` steps of `a[rows][most_k] b[most_k][cols]`.
fn sums(a: &[i64], b: &[i64], most_k: usize, k: usize, cols: usize) -> Vec<i64> {
    let mut sums = vec![0; a.len() / most_k * cols];
    for (sums, a) in sums.chunks_exact_mut(cols).zip(a.chunks_exact(most_k)) {
        for (x, b) in a.iter().zip(b.chunks_exact(cols)).take(k) {
            sums.iter_mut().zip(b).for_each(|(sum, y)| *sum += x * y);
        }
    }
    sums
}

/// Runs `call` on a block of `c` and checks the block against the corner of `want`, and that nothing around it was written.
struct Target<T> {
    c: Vec<T>,
    ld: usize,
    margin: usize,
}

impl<T: Compute> Target<T> {
    fn new(rows: usize, cols: usize, margin: usize) -> Target<T> {
        Target { c: vec![T::convert(BEFORE); (rows + 1) * (cols + margin)], ld: cols + margin, margin }
    }

    fn check(&mut self, rows: usize, cols: usize, want: &[T], what: &dyn Fn() -> String, call: impl FnOnce(*mut T, usize)) {
        let before = T::convert(BEFORE);
        let want_ld = self.ld - self.margin;
        call(self.c.as_mut_ptr(), self.ld);
        for (row, c) in self.c.chunks_exact_mut(self.ld).take(rows + 1).enumerate() {
            let (inside, around) = c[..cols + self.margin].split_at_mut(if row < rows { cols } else { 0 });
            assert!(*inside == want[row.min(rows.max(1) - 1) * want_ld..][..inside.len()], "{}: row {row} is wrong", what());
            assert!(around.iter().all(|x| *x == before), "{}: written beyond the block, in row {row}", what());
            inside.fill(before);
        }
    }
}

/// Tiles of `a` in panels, with steps farther apart, and by rows, with and without sums to add to.
fn tiles_of<T: Compute>() {
    let mut rng = Rng(1);
    for tier in tiers() {
        let kernels = T::kernels(tier);
        let (most_rows, most_cols) = (2 * kernels.mr, 2 * kernels.wide(1));
        let (a, b) = (integers(&mut rng, most_rows * MOST_STEPS), integers(&mut rng, MOST_STEPS * most_cols));
        let b_of_t: Vec<T> = converted(&b);
        let mut target = Target::<T>::new(most_rows, most_cols, 2 * kernels.lanes);
        for k in STEPS.into_iter().chain([kernels.nr]) {
            let exact = sums(&a, &b, MOST_STEPS, k, most_cols);
            let more: Vec<i64> = exact.iter().map(|sum| sum + BEFORE).collect();
            let wants: [Vec<T>; 2] = [converted(&exact), converted(&more)];
            for rows in 0..=most_rows {
                let panel: Vec<T> = (0..rows * k).map(|i| T::convert(a[i % rows * MOST_STEPS + i / rows])).collect();
                let spread: Vec<T> = (0..most_rows * k).map(|i| T::convert(a[i % most_rows * MOST_STEPS + i / most_rows])).collect();
                let by_rows: Vec<T> = (0..rows * kernels.nr).map(|i| T::convert(a[i / kernels.nr * MOST_STEPS + i % kernels.nr])).collect();
                for cols in 0..=most_cols {
                    let kinds = [
                        (kernels.tile, &panel, rows, true),
                        (kernels.tile, &spread, most_rows, true),
                        (kernels.tile_by_rows, &by_rows, 0, k <= kernels.nr),
                    ];
                    for (tile, a, a_step, applies) in kinds {
                        for (want, accumulate) in wants.iter().zip([false, true]).filter(|_| applies) {
                            let (a, b) = (a.as_ptr(), b_of_t.as_ptr());
                            let what = || format!("{tier:?} {} {rows} x {cols}, {k} steps, accumulate {accumulate}", T::DTYPE);
                            // SAFETY: the operands and the target hold what the sizes say; the machine has the tier.
                            target.check(rows, cols, want, &what, |c, ldc| unsafe {
                                tile(&TileArgs {
                                    kc: k,
                                    a,
                                    a_step,
                                    b,
                                    b_step: most_cols,
                                    c,
                                    ldc,
                                    rows,
                                    cols,
                                    accumulate,
                                    ahead: Ahead::none(b),
                                });
                            });
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn tiles_of_floats() {
    tiles_of::<f32>();
    tiles_of::<f64>();
}

#[test]
fn tiles_of_integers() {
    tiles_of::<i32>();
    tiles_of::<i64>();
}

/// Dot products with a `b` of every dtype, those without loops of their own too.
fn dots_of<T: Compute>() {
    const MOST: usize = 9;
    let mut rng = Rng(2);
    for tier in tiers() {
        let kernels = T::kernels(tier);
        let a = integers(&mut rng, MOST * MOST_STEPS);
        let a_of_t: Vec<T> = converted(&a);
        for dtype in DType::ALL {
            let mut stored = Memory::new(dtype, MOST * MOST_STEPS);
            stored.fill(&mut rng);
            // Columns of `b` lie one after the other.
            let b: Vec<i64> = (0..MOST_STEPS * MOST).map(|i| stored.get(i % MOST * MOST_STEPS + i / MOST).as_i64()).collect();
            let mut target = Target::<T>::new(MOST, MOST, 1);
            for k in STEPS.into_iter().chain(0..=2 * kernels.lanes + 1) {
                let exact = sums(&a, &b, MOST_STEPS, k, MOST);
                let more: Vec<i64> = exact.iter().map(|sum| sum + BEFORE).collect();
                for (want, accumulate) in [(converted(&exact), false), (converted(&more), true)] {
                    for (rows, cols) in (0..=MOST).flat_map(|rows| (0..=MOST).map(move |cols| (rows, cols))) {
                        let what = || format!("{tier:?} {} dot {dtype} {rows} x {cols}, {k} steps, accumulate {accumulate}", T::DTYPE);
                        let (a, lda, b) = (a_of_t.as_ptr(), MOST_STEPS, stored.bytes().as_ptr());
                        // SAFETY: as for tiles.
                        target.check(rows, cols, &want, &what, |c, c_row| unsafe {
                            let ldb = MOST_STEPS as i64;
                            (kernels.dot)(&DotArgs { k, a, lda, b, b_dtype: dtype, ldb, c, c_row, c_col: 1, rows, cols, accumulate });
                        });
                    }
                }
            }
        }
    }
}

#[test]
fn dot_products() {
    dots_of::<f32>();
    dots_of::<f64>();
    dots_of::<i32>();
    dots_of::<i64>();
}

/// Columns that are computed four at a time have the bits of each alone, wherever they go.
fn columns_of<T: Compute>(fraction: fn(i64) -> T) {
    const MOST: usize = 9;
    const ROWS: usize = 5;
    let mut rng = Rng(3);
    for tier in tiers() {
        let kernels = T::kernels(tier);
        let most_k = 3 * kernels.lanes + 1;
        let mut random = |n: usize| -> Vec<T> { (0..n).map(|_| fraction(rng.below(2_000_003) as i64 - 1_000_001)).collect() };
        let (a, b) = (random(ROWS * most_k), random(MOST * most_k));
        for k in 1..=most_k {
            for (c_row, c_col, accumulate) in [(MOST, 1, false), (MOST, 1, true), (1, ROWS, false), (1, ROWS, true)] {
                let run = |rows: usize, cols: usize| {
                    let mut c = vec![fraction(7); ROWS * MOST];
                    let at = |row: usize, col: usize| (a[row * most_k..].as_ptr(), b[col * most_k..].as_ptr(), row * c_row + col * c_col);
                    for (row, col) in (0..ROWS).step_by(rows).flat_map(|row| (0..MOST).step_by(cols).map(move |col| (row, col))) {
                        let (a, b, c_at) = at(row, col);
                        let (rows, cols) = (rows.min(ROWS - row), cols.min(MOST - col));
                        let (lda, ldb, b_dtype) = (most_k, most_k as i64, T::DTYPE);
                        let c = c[c_at..].as_mut_ptr();
                        // SAFETY: rows, columns and the block are inside what was made for them.
                        unsafe { (kernels.dot)(&DotArgs { k, a, lda, b: b.cast(), b_dtype, ldb, c, c_row, c_col, rows, cols, accumulate }) }
                    }
                    c
                };
                let alone = run(1, 1);
                for (rows, cols) in [(1, MOST), (2, 4), (3, 6), (4, 5), (ROWS, MOST)] {
                    assert!(run(rows, cols) == alone, "{tier:?} {} {rows} x {cols}, {k} steps, {accumulate} {c_col}", T::DTYPE);
                }
            }
        }
    }
}

#[test]
fn columns_together_are_columns_alone() {
    columns_of::<f32>(|x| x as f32 / 1_000_001.0);
    columns_of::<f64>(|x| x as f64 / 1_000_001.0);
    columns_of::<i32>(|x| x as i32);
    columns_of::<i64>(|x| x);
}

/// Panels of every dtype, from lanes and steps that are contiguous, in runs, or apart.
fn panels_of<T: Compute>() {
    let mut rng = Rng(3);
    for tier in tiers() {
        let kernels = T::kernels(tier);
        let (lanes, most) = (kernels.lanes, kernels.nr.max(kernels.mr) + 1);
        for dtype in DType::ALL {
            let mut src = Memory::new(dtype, 128 * most);
            src.fill(&mut rng);
            let values: Vec<T> = (0..src.len()).map(|i| T::convert(src.get(i).as_i64())).collect();
            let mut dst = vec![T::convert(BEFORE); (2 * lanes + 5) * most + 1];
            for n_steps in [0, 1, 2, 3, lanes - 1, lanes, lanes + 1, 2 * lanes + 1] {
                // Apart; contiguous; in runs of 3; in runs of 8.
                for (lane_run, step_run) in [(1, 1), (1, most), (most, 1), (3, 1), (8, 1), (1, 8), (2, most)] {
                    let offset = |i: usize, run: usize, apart: usize| (i % run + i / run * apart) as i64;
                    // What has the longer runs lies inside.
                    let (lane_apart, step_apart) = if lane_run >= step_run { (lane_run + 1, 2 * most) } else { (64, step_run + 1) };
                    let steps: Vec<i64> = (0..n_steps).map(|i| offset(i, step_run, step_apart)).collect();
                    let mut runs = Vec::new();
                    find_runs(&steps, &mut runs);
                    for n in 0..most {
                        let offsets: Vec<i64> = (0..n).map(|i| offset(i, lane_run, lane_apart)).collect();
                        for width in [n, n.next_multiple_of(kernels.nr)] {
                            let (pack, src) = (kernels.pack, src.bytes().as_ptr());
                            // SAFETY: `src` holds all offsets and `dst` the panel.
                            unsafe {
                                pack(&PackArgs {
                                    src,
                                    dtype,
                                    lanes: &offsets,
                                    steps: &steps,
                                    runs: &runs,
                                    dst: dst.as_mut_ptr(),
                                    width,
                                    ld: width,
                                });
                            }
                            let what =
                                format!("{tier:?} {} from {dtype}: {n} lanes of {width} in runs of {lane_run}, {n_steps} steps", T::DTYPE);
                            for (i, x) in dst[..n_steps * width].iter_mut().enumerate() {
                                let (step, lane) = (i / width, i % width);
                                let want = offsets.get(lane).map_or(T::default(), |lane| values[(lane + steps[step]) as usize]);
                                assert!(*x == want, "{what}: [{step}, {lane}] is {x:?}, not {want:?}");
                                *x = T::convert(BEFORE);
                            }
                            assert!(dst.iter().all(|x| *x == T::convert(BEFORE)), "{what}: written beyond the panel");
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn panels() {
    panels_of::<f32>();
    panels_of::<f64>();
    panels_of::<i32>();
    panels_of::<i64>();
}

/// Blocks of sums stored as every dtype, contiguous, in runs, down columns, and apart.
fn stores_of<T: StoreAs>() {
    const ROWS: usize = 4;
    let mut rng = Rng(4);
    for tier in tiers() {
        let most = 2 * T::kernels(tier).nr.max(16) + 1;
        // Halves round: sums of 11 bits have ties for both.
        let exact: Vec<i64> = (0..ROWS * most).map(|_| rng.below(4095) as i64 - 2047).collect();
        let sums: Vec<T> = converted(&exact);
        for dtype in DType::ALL {
            let want = |i: usize| if T::DTYPE.is_float() { Literal::float(dtype, exact[i] as f64) } else { Literal::int(dtype, exact[i]) };
            let mut out = Memory::new(dtype, 8 * most);
            let before = Literal::int(dtype, BEFORE);
            (0..out.len()).for_each(|i| out.set(i, before));
            for (run, apart, row_stride) in [(most, 0, most), (8, 9, 2 * most), (3, 4, 2 * most), (1, ROWS, 1), (1, 2, 2 * most)] {
                for (rows, cols) in (1..=ROWS).flat_map(|rows| (1..=most).map(move |cols| (rows, cols))) {
                    let row_offsets: Vec<i64> = (0..rows).map(|i| (i * row_stride) as i64).collect();
                    let col_offsets: Vec<i64> = (0..cols).map(|j| (j % run + j / run * apart) as i64).collect();
                    let (rows, cols) = (row_offsets.as_slice(), col_offsets.as_slice());
                    let block = Store { tier, sums: sums.as_ptr(), ld: most, out: out.bytes_mut().as_mut_ptr(), rows, cols };
                    // SAFETY: the offsets lie in `out`.
                    unsafe { T::store(&block, dtype) };
                    for (i, row) in rows.iter().enumerate() {
                        for (j, col) in cols.iter().enumerate() {
                            let (got, want) = (out.get((row + col) as usize), want(i * most + j));
                            // A negative float has no one value as an unsigned integer.
                            let defined = !T::DTYPE.is_float() || dtype.is_float() || dtype == DType::I64 || dtype == DType::I32;
                            assert!(
                                !defined || got.to_raw() == want.to_raw(),
                                "{tier:?} {} as {dtype}, {} x {}, runs of {run}: [{i}, {j}] is {got:?}, not {want:?}",
                                T::DTYPE,
                                rows.len(),
                                cols.len()
                            );
                            out.set((row + col) as usize, before);
                        }
                    }
                    assert!((0..out.len()).all(|i| out.get(i).to_raw() == before.to_raw()), "{tier:?} {dtype}: written beyond the block");
                }
            }
        }
    }
}

#[test]
fn stores() {
    stores_of::<f32>();
    stores_of::<f64>();
    stores_of::<i32>();
    stores_of::<i64>();
}

/// Elements of `a`, `b` or `c` with their tallest and widest product.
struct Operands {
    rows: usize,
    cols: usize,
    /// Row-major, then column-major.
    a: [Memory; 2],
    b: [Memory; 2],
    /// Per entry of [`STEPS`], the wanted `c`, row-major.
    wants: Vec<Memory>,
}

fn operands(rng: &mut Rng, dtype: DType, rows: usize, cols: usize) -> Operands {
    let matrix = |rng: &mut Rng, n_rows: usize, n_cols: usize| {
        let mut by_rows = Memory::new(dtype, n_rows * n_cols);
        by_rows.fill(rng);
        let mut by_cols = Memory::new(dtype, n_rows * n_cols);
        (0..by_rows.len()).for_each(|i| by_cols.set(i % n_cols * n_rows + i / n_cols, by_rows.get(i)));
        [by_rows, by_cols]
    };
    let (a, b) = (matrix(rng, rows, MOST_STEPS), matrix(rng, MOST_STEPS, cols));
    let exact = |memory: &Memory| -> Vec<i64> { (0..memory.len()).map(|i| memory.get(i).as_i64()).collect() };
    let (exact_a, exact_b) = (exact(&a[0]), exact(&b[0]));
    let want = |k: usize| {
        let mut want = Memory::new(dtype, rows * cols);
        for (i, sum) in sums(&exact_a, &exact_b, MOST_STEPS, k, cols).into_iter().enumerate() {
            want.set(i, if dtype.is_float() { Literal::float(dtype, sum as f64) } else { Literal::int(dtype, sum) });
        }
        want
    };
    let wants = STEPS.map(want).into();
    Operands { rows, cols, a, b, wants }
}

/// Products of a dtype through the whole engine: in place, by dot products and from panels, with rows and columns in either role.
fn products_of<T: Compute>(dtype: DType) {
    let mut rng = Rng(5);
    for (tier, bf16) in ways() {
        let kernels = T::bf16(bf16).unwrap_or_else(|| T::kernels(tier));
        let mut o = operands(&mut rng, dtype, 2 * kernels.mr, 2 * kernels.wide(1));
        let size = dtype.size();
        let before = Literal::int(dtype, 1);
        let mut c = Memory::new(dtype, (o.rows + 1) * o.cols);
        (0..c.len()).for_each(|i| c.set(i, before));
        let untouched = c.bytes()[..o.cols * size].to_vec();
        for (at, k) in STEPS.into_iter().enumerate() {
            for (ta, tb) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
                for m in 0..=o.rows {
                    // Rows that are cut into equal tiles; the widest tile of so many.
                    let tile = kernels.panel_rows(m);
                    for n in 0..=2 * kernels.wide(tile) {
                        let contract = corner(&o, dtype, [m, n, k], [ta == 1, tb == 1]);
                        let compiled = CompiledContract::for_tier(&contract, tier, bf16).unwrap();
                        let bufs: [Buf; 3] = [o.a[ta].buf(), o.b[tb].buf(), c.buf()];
                        // SAFETY: the buffers match the contraction.
                        unsafe { compiled.run_on(1, &bufs, &[]) }.unwrap();
                        let width = o.cols * size;
                        let rows = c.bytes_mut().chunks_exact_mut(width).zip(o.wants[at].bytes().chunks_exact(width)).take(m + 1);
                        for (row, (c, want)) in rows.enumerate() {
                            let cols = if row < m { n * size } else { 0 };
                            let good = c[..cols] == want[..cols] && c[cols..] == untouched[cols..];
                            assert!(
                                good,
                                "{tier:?} {bf16:?} {dtype} {m} x {n}, {k} steps, transposed {ta} {tb}: row {row} is wrong\n{compiled:?}"
                            );
                            c[..cols].copy_from_slice(&untouched[..cols]);
                        }
                    }
                }
            }
        }
    }
}

/// The product of the first `m` rows, `n` columns and `k` steps.
fn corner(o: &Operands, dtype: DType, [m, n, k]: [usize; 3], [ta, tb]: [bool; 2]) -> Contract {
    let (rows, cols, steps) = (o.rows as i64, o.cols as i64, MOST_STEPS as i64);
    let (a_m, a_k) = if ta { (1, rows) } else { (steps, 1) };
    let (b_k, b_n) = if tb { (1, steps) } else { (cols, 1) };
    let arg = |len, write| Arg { dtype, len, write };
    Contract {
        batch: smallvec![],
        m: smallvec![MDim { size: m, a: a_m, c: cols }],
        n: smallvec![NDim { size: n, b: b_n, c: 1 }],
        k: smallvec![KDim { size: k, a: a_k, b: b_k }],
        a_offset: 0,
        b_offset: 0,
        a: arg(o.a[0].len(), false),
        b: arg(o.b[0].len(), false),
        c: arg((o.rows + 1) * o.cols, true),
        tf32: false,
        epilogue: None,
        prologues: [None, None],
    }
}

#[test]
fn products_of_floats() {
    products_of::<f32>(DType::F32);
    products_of::<f64>(DType::F64);
}

#[test]
fn products_of_halves() {
    products_of::<f32>(DType::F16);
    products_of::<f32>(DType::BF16);
}

#[test]
fn products_of_words() {
    for dtype in [DType::Bool, DType::U8, DType::I8, DType::U16, DType::I16, DType::U32, DType::I32] {
        products_of::<i32>(dtype);
    }
}

#[test]
fn products_of_long_integers() {
    products_of::<i64>(DType::U64);
    products_of::<i64>(DType::I64);
}
