//! Products of `bf16` two steps of `k` at a time, where the processor multiplies pairs (AVX-512 BF16).
//!
//! In: `bf16` operands, packed so that a lane of a panel is two steps of `k`, the earlier one in the low half; of an odd number the last is padded by zero.
//! Out: sums in `f32`, by the same tiles as everything else: a pair is as wide as an `f32`, so panels, blocks and tiles count pairs where they count steps.
//! Always: products are exact, each addition rounds to `f32`, of a pair in the processor's order. Never: takes another stored type.
//! Subnormal `bf16` count as zero, and subnormal sums become zero: the instruction has no other mode.

use super::super::pack::{PackArgs, ROWS, RowsArgs};
use super::super::vector::Vector;
use super::{Ahead, FULL, KC, Kernels, PackA, TileArgs, at_most, avx512, strips, tile, widest};
use crate::simd::Tier;
use std::arch::x86_64::*;
use std::time::{Duration, Instant};
use unigrad_scalar::DType;

/// Sixteen sums, or sixteen pairs.
#[derive(Clone, Copy)]
struct Pairs(__m512);

impl Vector for Pairs {
    type Elem = f32;
    const LANES: usize = <__m512 as Vector>::LANES;

    #[inline(always)]
    unsafe fn splat(x: f32) -> Self {
        // SAFETY: the caller's.
        unsafe { Pairs(__m512::splat(x)) }
    }
    #[inline(always)]
    unsafe fn load(p: *const f32) -> Self {
        // SAFETY: the caller's.
        unsafe { Pairs(__m512::load(p)) }
    }
    #[inline(always)]
    unsafe fn load_span(p: *const f32, lo: usize, hi: usize) -> Self {
        // SAFETY: the caller's.
        unsafe { Pairs(__m512::load_span(p, lo, hi)) }
    }
    #[inline(always)]
    unsafe fn store(self, p: *mut f32) {
        // SAFETY: the caller's.
        unsafe { self.0.store(p) }
    }
    #[inline(always)]
    unsafe fn store_first(self, p: *mut f32, n: usize) {
        // SAFETY: the caller's.
        unsafe { self.0.store_first(p, n) }
    }
    /// Both products of each pair are added.
    #[inline(always)]
    unsafe fn fma(self, a: Self, b: Self) -> Self {
        // SAFETY: the caller's.
        unsafe {
            let pairs = |x: Self| std::mem::transmute::<__m512, __m512bh>(x.0);
            Pairs(_mm512_dpbf16_ps(self.0, pairs(a), pairs(b)))
        }
    }
    #[inline(always)]
    unsafe fn add(self, other: Self) -> Self {
        // SAFETY: the caller's.
        unsafe { Pairs(self.0.add(other.0)) }
    }
    #[inline(always)]
    unsafe fn merge(self, other: Self) -> Self {
        // SAFETY: the caller's.
        unsafe { Pairs(self.0.merge(other.0)) }
    }
    #[inline(always)]
    unsafe fn sum(self) -> f32 {
        // SAFETY: the caller's.
        unsafe { self.0.sum() }
    }
    #[inline(always)]
    unsafe fn transpose(rows: *mut Self) {
        // SAFETY: the caller's; `Pairs` is its one field.
        unsafe { __m512::transpose(rows.cast()) }
    }
}

/// Where masked loads cost nothing, full and partial tiles share their code.
const MASKED: bool = true;

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512bf16,avx2,fma,f16c")]
unsafe fn one<V: Vector, const MR: usize, const NV: usize, const TAIL: bool>(t: &TileArgs<V::Elem>) {
    // SAFETY: the caller's.
    unsafe { tile::<V, MR, NV, TAIL>(t, 1, t.a_step) }
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512bf16,avx2,fma,f16c")]
unsafe fn all<V: Vector>(t: &TileArgs<V::Elem>) {
    // SAFETY: the caller's.
    unsafe { strips::<V>(t, 1, t.a_step) }
}

/// Rows of a full tile.
const MR: usize = avx512::single::MR;

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512bf16,avx2,fma,f16c")]
unsafe fn tile_of_pairs(t: &TileArgs<f32>) {
    // SAFETY: the caller's.
    unsafe { dispatch!(t, Pairs, one, all, widest, [1 2 3 4 5 6 7 8 9 10 11 12 13 14]) }
}

/// Packs a panel of `bf16` as pairs: `dst[steps / 2][width]`, a pair in the place of an `f32`.
///
/// # Safety
/// As for `pack::panel`, with `dst` for half as many steps, rounded up.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
pub(super) unsafe fn pack(p: &PackArgs<'_, f32>) {
    let src = p.src.cast::<u16>();
    let is_row = p.lanes.windows(2).all(|pair| pair[1] == pair[0] + 1);
    let is_run = p.runs.len() == 2 && !p.steps.is_empty();
    let mut first = 0;
    while first < p.width {
        let n_dst = (p.width - first).min(Pairs::LANES);
        let n = p.lanes.len().saturating_sub(first).min(Pairs::LANES);
        let lanes = &p.lanes[p.lanes.len().min(first)..][..n];
        // SAFETY: lanes `first..first + n_dst` of every pair are inside `dst`; reads are the caller's promise.
        unsafe {
            let dst = p.dst.add(first).cast::<u32>();
            match lanes {
                [base, ..] if is_row && (n > 1 || !is_run) => by_rows(src.wrapping_offset(*base as isize), n, p.steps, dst, p.ld, n_dst),
                [_, ..] if is_run => by_columns(src.wrapping_offset(p.steps[0] as isize), lanes, p.steps.len(), dst, p.ld, n_dst),
                _ => one_by_one(src, lanes, p.steps, dst, p.ld, n_dst),
            }
        }
        first += Pairs::LANES;
    }
}

/// The first `n` bits.
#[inline(always)]
fn first(n: usize) -> u32 {
    ((1u64 << n) - 1) as u32
}

/// Lanes that follow each other: two steps are two rows, interleaved.
#[inline(always)]
unsafe fn by_rows(src: *const u16, n: usize, steps: &[i64], dst: *mut u32, ld: usize, n_dst: usize) {
    let written = first(n_dst) as u16;
    // SAFETY: masked-off lanes are not accessed; the others are the caller's.
    unsafe { interleave(src, n, steps, |i, both| _mm512_mask_storeu_epi32(dst.add(i * ld).cast(), written, both)) }
}

/// Gives each pair of steps of `n` lanes that follow each other, at most a register of them, with its number.
///
/// # Safety
/// As for `pack::panel`.
#[inline(always)]
pub(super) unsafe fn interleave(src: *const u16, n: usize, steps: &[i64], mut each: impl FnMut(usize, __m512i)) {
    let lanes = first(n) as u16;
    // SAFETY: masked-off lanes are not accessed; the others are the caller's.
    unsafe {
        let row = |step: i64| _mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(lanes, src.wrapping_offset(step as isize).cast()));
        for (i, pair) in steps.chunks(2).enumerate() {
            let low = row(pair[0]);
            let both = match pair.get(1) {
                Some(step) => _mm512_or_si512(low, _mm512_slli_epi32::<16>(row(*step))),
                None => low,
            };
            each(i, both);
        }
    }
}

/// As `pack::rows`, two rows at a time: `at` and `panel` count pairs.
///
/// # Safety
/// As for `pack::rows`, with `dst` for half as many steps, rounded up.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
pub(super) unsafe fn pack_rows(p: &RowsArgs<'_, f32>) -> bool {
    if p.dtype != DType::BF16 {
        return false;
    }
    let src = p.src.cast::<u16>();
    for (i, steps) in p.steps.chunks(2 * ROWS).enumerate() {
        p.each_panel(i * ROWS, |lane, n, width, to| {
            let (src, to) = (src.wrapping_add(lane), to.cast::<u32>());
            // SAFETY: the lanes are the caller's, and so are the panel's pairs.
            unsafe {
                if n == 2 * Pairs::LANES && width == n {
                    return two_registers(src, steps, to);
                }
                for first in (0..width).step_by(Pairs::LANES) {
                    let (n, n_dst) = (n.saturating_sub(first).min(Pairs::LANES), (width - first).min(Pairs::LANES));
                    by_rows(src.wrapping_add(first), n, steps, to.wrapping_add(first), width, n_dst);
                }
            }
        });
    }
    true
}

/// A panel of two registers: two rows fill two registers with pairs.
#[inline(always)]
unsafe fn two_registers(src: *const u16, steps: &[i64], dst: *mut u32) {
    const HALVES: [[u16; 32]; 2] = {
        let mut halves = [[0; 32]; 2];
        let mut i = 0;
        while i < 64 {
            // The low half of a pair is of the first row, the high half of the second, whose elements count from 32.
            halves[i / 32][i % 32] = (i / 2 + i % 2 * 32) as u16;
            i += 1;
        }
        halves
    };
    // SAFETY: whole registers of the caller's rows and panel.
    unsafe {
        let [low, high] = HALVES.map(|half| _mm512_loadu_epi16(half.as_ptr().cast()));
        let row = |step: i64| _mm512_loadu_epi16(src.wrapping_offset(step as isize).cast());
        for (i, pair) in steps.chunks(2).enumerate() {
            let first = row(pair[0]);
            let second = pair.get(1).map_or(_mm512_setzero_si512(), |step| row(*step));
            let to = dst.add(i * 2 * Pairs::LANES);
            _mm512_storeu_epi32(to.cast(), _mm512_permutex2var_epi16(first, low, second));
            _mm512_storeu_epi32(to.add(Pairs::LANES).cast(), _mm512_permutex2var_epi16(first, high, second));
        }
    }
}

/// Steps that follow each other: two of them are a pair already, and squares of pairs are transposed.
#[inline(always)]
unsafe fn by_columns(src: *const u16, lanes: &[i64], n_steps: usize, dst: *mut u32, ld: usize, n_dst: usize) {
    const SIDE: usize = Pairs::LANES;
    let written = first(n_dst) as u16;
    // SAFETY: masked-off elements are not accessed; the others are the caller's.
    unsafe {
        let mut square = [_mm512_setzero_ps(); SIDE];
        let mut step = 0;
        while step < n_steps {
            let n = (n_steps - step).min(2 * SIDE);
            let read = first(n);
            for (x, lane) in square.iter_mut().zip(lanes) {
                let at = src.wrapping_offset(*lane as isize + step as isize);
                *x = _mm512_castsi512_ps(if n == 2 * SIDE {
                    _mm512_loadu_epi16(at.cast())
                } else {
                    _mm512_maskz_loadu_epi16(read, at.cast())
                });
            }
            square[lanes.len()..].fill(_mm512_setzero_ps());
            __m512::transpose(square.as_mut_ptr());
            for (i, x) in square.iter().enumerate().take(n.div_ceil(2)) {
                _mm512_mask_storeu_ps(dst.add((step / 2 + i) * ld).cast(), written, *x);
            }
            step += n;
        }
    }
}

/// Any lanes and steps.
unsafe fn one_by_one(src: *const u16, lanes: &[i64], steps: &[i64], dst: *mut u32, ld: usize, n_dst: usize) {
    for (i, pair) in steps.chunks(2).enumerate() {
        for lane in 0..n_dst {
            // SAFETY: as for `pack`.
            unsafe {
                let element = |step: Option<&i64>| match (lanes.get(lane), step) {
                    (Some(lane), Some(step)) => u32::from(*src.wrapping_offset((lane + step) as isize)),
                    _ => 0,
                };
                *dst.add(i * ld + lane) = element(pair.first()) | element(pair.get(1)) << 16;
            }
        }
    }
}

/// The loops for pairs. What pairs have no loops for is done in `f32`, of which these are the loops.
pub(super) static TABLE: Kernels<f32> = Kernels {
    tier: Tier::Avx512,
    mr: MR,
    nr: FULL * Pairs::LANES,
    lanes: Pairs::LANES,
    kc: KC,
    k_multiple: 1,
    tile: tile_of_pairs,
    shapes: None,
    tile_by_rows: avx512::single::tile_by_rows,
    pack,
    pack_a: PackA::Same,
    pack_rows,
    dot: avx512::single::dot,
    dot_loads: avx512::single::DOT_LOADS,
};

/// Whether pairs are multiplied faster than as many steps in `f32`: panels in the nearest cache, the least of several times of each.
pub(crate) fn win() -> bool {
    const STEPS: usize = 256;
    const CALLS: usize = 4;
    const TRIES: usize = 12;
    let (rows, cols) = (TABLE.mr, TABLE.nr);
    let (a, b, mut c) = (vec![0.0f32; STEPS * rows], vec![0.0f32; STEPS * cols], vec![0.0f32; rows * cols]);
    let mut least = [Duration::MAX; 2];
    for _ in 0..TRIES {
        for (i, least) in least.iter_mut().enumerate() {
            let (tile, kc) = if i == 0 { (TABLE.tile, STEPS / 2) } else { (avx512::single::tile as unsafe fn(&TileArgs<f32>), STEPS) };
            let start = Instant::now();
            for _ in 0..CALLS {
                let (a, b, c) = (a.as_ptr(), b.as_ptr(), c.as_mut_ptr());
                // SAFETY: the panels and the tile have so many rows, columns and steps.
                unsafe {
                    tile(&TileArgs {
                        kc,
                        a,
                        a_step: rows,
                        b,
                        b_step: cols,
                        c,
                        ldc: cols,
                        rows,
                        cols,
                        accumulate: false,
                        ahead: Ahead::none(b),
                    })
                };
            }
            *least = start.elapsed().min(*least);
        }
    }
    std::hint::black_box(&c);
    least[0] < least[1]
}
