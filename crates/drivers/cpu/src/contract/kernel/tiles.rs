//! Products of `bf16` by tiles, where the processor has AMX: 16 rows of 32 steps times 32 steps of 16 columns by one instruction.
//!
//! In: `bf16` operands; panels of `a` packed as tiles (`[steps / 32][rows][32]`), those of `b` as pairs of steps (`[steps / 2][columns][2]`), both padded by
//! zeros to whole tiles of steps. Out: sums in `f32`.
//! Always: products are exact, each addition rounds to `f32`; which steps are added together follows from their number alone. Never: reads or writes beyond the rows and columns of a block: the processor is told how many there are.
//! Subnormal `bf16` count as zero, and subnormal sums become zero: the instruction has no other mode.
//! (Intel, "Architecture Instruction Set Extensions Programming Reference", chapter 3.)

use super::super::pack::{PackArgs, RowsArgs};
use super::super::vector::Vector;
use super::{Kernels, PackA, Shapes, TileArgs, avx512, pairs};
use crate::simd::Tier;
use std::arch::asm;
use std::arch::x86_64::*;

/// Rows of a tile, and its columns of `f32` or of pairs.
const SIDE: usize = 16;
/// Pairs of steps in a tile: what panels are padded to.
pub(crate) const PAIRS: usize = SIDE;
/// Rows and columns of a block: two tiles either way, of whose products each operand serves two.
const BLOCK: usize = 2 * SIDE;

/// Pairs of steps between touches of sums: a panel of `b` leaves room in the first-level cache for the tiles of `a` that pass. With 320 the rate is 0.6.
const KC: usize = 256;

/// What the processor is told of its eight tiles: rows, and bytes of a row.
#[repr(C, align(64))]
struct Shape {
    palette: u8,
    start_row: u8,
    reserved: [u8; 14],
    bytes: [u16; 16],
    rows: [u8; 16],
}

/// One block of at most two tiles either way.
struct Job {
    /// Tiles of steps.
    n: usize,
    a: *const f32,
    /// Bytes from a tile of steps to the next.
    a_step: usize,
    b: *const f32,
    /// Bytes from a row of pairs to the next.
    b_row: usize,
    c: *mut f32,
    /// Its row 16, and bytes from row to row.
    c_below: *mut f32,
    c_row: usize,
    accumulate: bool,
}

/// A function for blocks of so many tiles: sums are cleared or read, then each tile of steps is multiplied, then sums are written.
macro_rules! block {
    ($name:ident: [$($clear:literal)*] [$($read:literal)*] [$($multiply:literal)*] [$($write:literal)*]) => {
        /// # Safety
        /// The processor was told the block's shape; `job` describes readable panels and a writable block.
        unsafe fn $name(job: &Job) {
            // SAFETY: the caller's.
            unsafe {
                asm!(
                    "test {accumulate:e}, {accumulate:e}",
                    "jnz 2f",
                    $($clear,)*
                    "jmp 3f",
                    "2:",
                    $($read,)*
                    "3:",
                    "test {n}, {n}",
                    "jz 5f",
                    "4:",
                    $($multiply,)*
                    "add {a}, {a_step}",
                    // 16 rows on.
                    "lea {b}, [{b} + 8*{b_row}]",
                    "lea {b}, [{b} + 8*{b_row}]",
                    "dec {n}",
                    "jnz 4b",
                    "5:",
                    $($write,)*
                    // A block of one row of tiles does not name it otherwise.
                    "/* {c_below} */",
                    // Bytes of a tile's row of `a`.
                    line = in(reg) 64usize,
                    accumulate = in(reg) u64::from(job.accumulate),
                    n = inout(reg) job.n => _,
                    a = inout(reg) job.a => _,
                    a_step = in(reg) job.a_step,
                    b = inout(reg) job.b => _,
                    b_row = in(reg) job.b_row,
                    c = in(reg) job.c,
                    c_below = in(reg) job.c_below,
                    c_row = in(reg) job.c_row,
                    out("tmm0") _, out("tmm1") _, out("tmm2") _, out("tmm3") _,
                    out("tmm4") _, out("tmm5") _, out("tmm6") _, out("tmm7") _,
                    options(nostack),
                );
            }
        }
    };
}

block!(one_by_one:
    ["tilezero tmm0"]
    ["tileloadd tmm0, [{c} + {c_row}]"]
    ["tileloadd tmm4, [{a} + {line}]" "tileloadd tmm6, [{b} + {b_row}]" "tdpbf16ps tmm0, tmm4, tmm6"]
    ["tilestored [{c} + {c_row}], tmm0"]);
block!(one_by_two:
    ["tilezero tmm0" "tilezero tmm1"]
    ["tileloadd tmm0, [{c} + {c_row}]" "tileloadd tmm1, [{c} + {c_row} + 64]"]
    ["tileloadd tmm4, [{a} + {line}]" "tileloadd tmm6, [{b} + {b_row}]" "tdpbf16ps tmm0, tmm4, tmm6"
     "tileloadd tmm7, [{b} + {b_row} + 64]" "tdpbf16ps tmm1, tmm4, tmm7"]
    ["tilestored [{c} + {c_row}], tmm0" "tilestored [{c} + {c_row} + 64], tmm1"]);
block!(two_by_one:
    ["tilezero tmm0" "tilezero tmm2"]
    ["tileloadd tmm0, [{c} + {c_row}]" "tileloadd tmm2, [{c_below} + {c_row}]"]
    ["tileloadd tmm6, [{b} + {b_row}]" "tileloadd tmm4, [{a} + {line}]" "tdpbf16ps tmm0, tmm4, tmm6"
     "tileloadd tmm5, [{a} + {line} + 1024]" "tdpbf16ps tmm2, tmm5, tmm6"]
    ["tilestored [{c} + {c_row}], tmm0" "tilestored [{c_below} + {c_row}], tmm2"]);
block!(two_by_two:
    ["tilezero tmm0" "tilezero tmm1" "tilezero tmm2" "tilezero tmm3"]
    ["tileloadd tmm0, [{c} + {c_row}]" "tileloadd tmm1, [{c} + {c_row} + 64]"
     "tileloadd tmm2, [{c_below} + {c_row}]" "tileloadd tmm3, [{c_below} + {c_row} + 64]"]
    ["tileloadd tmm6, [{b} + {b_row}]" "tileloadd tmm4, [{a} + {line}]" "tdpbf16ps tmm0, tmm4, tmm6"
     "tileloadd tmm7, [{b} + {b_row} + 64]" "tdpbf16ps tmm1, tmm4, tmm7"
     "tileloadd tmm5, [{a} + {line} + 1024]" "tdpbf16ps tmm2, tmm5, tmm6" "tdpbf16ps tmm3, tmm5, tmm7"]
    ["tilestored [{c} + {c_row}], tmm0" "tilestored [{c} + {c_row} + 64], tmm1"
     "tilestored [{c_below} + {c_row}], tmm2" "tilestored [{c_below} + {c_row} + 64], tmm3"]);

/// Tiles 0 to 3 are sums, 4 and 5 rows of `a`, 6 and 7 columns of `b`.
fn shape(rows: usize, cols: usize) -> Shape {
    let (above, below) = (rows.min(SIDE), rows.saturating_sub(SIDE));
    let (left, right) = (cols.min(SIDE), cols.saturating_sub(SIDE));
    let mut shape = Shape { palette: 1, start_row: 0, reserved: [0; 14], bytes: [0; 16], rows: [0; 16] };
    let sides = [(above, left), (above, right), (below, left), (below, right), (above, SIDE), (below, SIDE), (SIDE, left), (SIDE, right)];
    for (i, (rows, cols)) in sides.into_iter().enumerate() {
        // A tile of no rows or no columns is none, and not named by the block's function.
        if rows > 0 && cols > 0 {
            (shape.rows[i], shape.bytes[i]) = (rows as u8, 4 * cols as u16);
        }
    }
    shape
}

/// Tells the processor a block's rows and columns.
///
/// # Safety
/// The processor has AMX and lets the process use it; at most [`BLOCK`] of either, and at least one.
unsafe fn set(rows: usize, cols: usize) {
    let shape = shape(rows, cols);
    // SAFETY: the caller's. Nothing else on this thread uses tiles until `clear`, so none are lost.
    unsafe { asm!("ldtilecfg [{}]", in(reg) &raw const shape, options(nostack, readonly)) }
}

/// Leaves the tiles' state empty: it need not be saved then.
///
/// # Safety
/// The processor has AMX.
unsafe fn clear() {
    // SAFETY: the caller's.
    unsafe { asm!("tilerelease", options(nostack, nomem)) }
}

/// # Safety
/// The processor was told the tile's rows and columns, at most [`BLOCK`] of either; `t` as for [`Kernels::tile`], its panels as this file packs them.
unsafe fn tile_of_tiles(t: &TileArgs<f32>) {
    let job = Job {
        n: t.kc.div_ceil(PAIRS),
        a: t.a,
        a_step: t.a_step * PAIRS * size_of::<f32>(),
        b: t.b,
        b_row: t.b_step * size_of::<f32>(),
        c: t.c,
        c_below: t.c.wrapping_add(SIDE * t.ldc),
        c_row: t.ldc * size_of::<f32>(),
        accumulate: t.accumulate,
    };
    // SAFETY: the caller's.
    unsafe {
        match (t.rows > SIDE, t.cols > SIDE) {
            (false, false) => one_by_one(&job),
            (false, true) => one_by_two(&job),
            (true, false) => two_by_one(&job),
            (true, true) => two_by_two(&job),
        }
    }
}

/// Packs a panel of rows of `a` as tiles: `dst[steps / 32][rows][32]`, a pair in the place of an `f32`.
///
/// # Safety
/// As for `pack::panel`, with `dst` for half as many steps, rounded up to whole tiles.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
unsafe fn pack_a(p: &PackArgs<'_, f32>) {
    let src = p.src.cast::<u16>();
    let is_row = p.lanes.len() > 1 && p.lanes.windows(2).all(|pair| pair[1] == pair[0] + 1);
    for (i, steps) in p.steps.chunks(2 * PAIRS).enumerate() {
        let is_run = steps.windows(2).all(|pair| pair[1] == pair[0] + 1);
        let read = ((1u64 << steps.len()) - 1) as u32;
        // SAFETY: the tile is inside `dst`; reads are the caller's promise, and masked-off elements are not accessed.
        unsafe {
            let tile = p.dst.add(i * p.ld * PAIRS);
            if is_row && !is_run {
                for first in (0..p.lanes.len()).step_by(SIDE) {
                    let n = (p.lanes.len() - first).min(SIDE);
                    let mut square = [_mm512_setzero_ps(); SIDE];
                    pairs::interleave(src.wrapping_offset(p.lanes[first] as isize), n, steps, |pair, x| {
                        square[pair] = _mm512_castsi512_ps(x)
                    });
                    __m512::transpose(square.as_mut_ptr());
                    for (lane, x) in square.iter().enumerate().take(n) {
                        x.store(tile.add((first + lane) * PAIRS));
                    }
                }
            } else {
                for (lane, offset) in p.lanes.iter().enumerate() {
                    let to = tile.add(lane * PAIRS);
                    let from = src.wrapping_offset(*offset as isize);
                    if is_run {
                        let x = _mm512_maskz_loadu_epi16(read, from.wrapping_offset(steps[0] as isize).cast());
                        _mm512_storeu_epi16(to.cast(), x);
                        continue;
                    }
                    let to = to.cast::<u16>();
                    for j in 0..2 * PAIRS {
                        *to.add(j) = steps.get(j).map_or(0, |step| *from.wrapping_offset(*step as isize));
                    }
                }
            }
            for lane in p.lanes.len()..p.width {
                _mm512_setzero_ps().store(tile.add(lane * PAIRS));
            }
        }
    }
}

/// Packs a panel of columns of `b` as pairs, and fills the last tile up.
///
/// # Safety
/// As for `pack::panel`, with `dst` for half as many steps, rounded up to whole tiles.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
unsafe fn pack_b(p: &PackArgs<'_, f32>) {
    let n = p.steps.len().div_ceil(2);
    // SAFETY: the caller's.
    unsafe {
        pairs::pack(p);
        for pair in n..n.next_multiple_of(PAIRS) {
            std::ptr::write_bytes(p.dst.add(pair * p.ld), 0, p.width);
        }
    }
}

/// As `pack::rows`, of pairs, with whole tiles of steps.
///
/// # Safety
/// As for `pack::rows`, with `dst` for half as many steps, rounded up to whole tiles.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
unsafe fn pack_rows(p: &RowsArgs<'_, f32>) -> bool {
    let n = p.steps.len().div_ceil(2);
    // SAFETY: the caller's.
    if !unsafe { pairs::pack_rows(p) } {
        return false;
    }
    let missing = n.next_multiple_of(PAIRS) - n;
    if missing > 0 {
        // SAFETY: the panel's last steps.
        p.each_panel(n, |_, _, width, to| unsafe { std::ptr::write_bytes(to, 0, missing * width) });
    }
    true
}

const fn table(tile: unsafe fn(&TileArgs<f32>), shapes: Option<Shapes>) -> Kernels<f32> {
    Kernels {
        tier: Tier::Avx512,
        mr: BLOCK,
        nr: BLOCK,
        lanes: SIDE,
        kc: KC,
        k_multiple: PAIRS,
        tile,
        shapes,
        // Attention's alone, which has no tiles.
        tile_by_rows: avx512::single::tile_by_rows,
        pack: pack_b,
        pack_a: PackA::Own(pack_a),
        pack_rows,
        dot: avx512::single::dot,
        dot_loads: avx512::single::DOT_LOADS,
    }
}

/// The loops for tiles. What tiles have no loops for is done in `f32`, of which these are the loops.
pub(super) static TABLE: Kernels<f32> = table(tile_of_tiles, Some(Shapes { set, clear }));

/// The same panels multiplied by plain loops, so that tests see them on processors without tiles.
#[cfg(test)]
pub(super) static MODEL: Kernels<f32> = table(model::tile, None);

#[cfg(test)]
mod model {
    use super::{PAIRS, TileArgs};
    use half::bf16;

    pub(super) unsafe fn tile(t: &TileArgs<f32>) {
        for (row, col) in (0..t.rows).flat_map(|row| (0..t.cols).map(move |col| (row, col))) {
            // SAFETY: the caller's, as for the instruction.
            unsafe {
                let c = t.c.add(row * t.ldc + col);
                let mut sum = if t.accumulate { *c } else { 0.0 };
                for pair in 0..t.kc.next_multiple_of(PAIRS) {
                    let halves = |p: *const f32| (*p.cast::<[bf16; 2]>()).map(bf16::to_f32);
                    let a = halves(t.a.add((pair / PAIRS * t.a_step + row) * PAIRS + pair % PAIRS));
                    let b = halves(t.b.add(pair * t.b_step + col));
                    sum += a[0] * b[0];
                    sum += a[1] * b[1];
                }
                *c = sum;
            }
        }
    }
}
