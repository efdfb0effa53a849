//! The elementwise half of attention: masks, softmax and its gradient over blocks of transposed scores, vectorised over queries.
//!
//! In: blocks `[key][query]` of [`Block::width`] columns. Out: probabilities and gradients of scores in their place.
//! Always: one definition for every instruction set, chosen by [`math`]. Never: reduces across lanes, but of a single query's row.

use crate::contract::vector::{Lanes, Vector};
use crate::simd::Tier;

/// Vectors with the arithmetic that softmax needs.
pub(super) trait Float: Vector {
    unsafe fn sub(self, other: Self) -> Self;
    unsafe fn mul(self, other: Self) -> Self;
    /// The greater; the second where one is NaN.
    unsafe fn max(self, other: Self) -> Self;
    /// Lanes `lo..hi` of `self`, the others of `other`.
    unsafe fn keep(self, lo: usize, hi: usize, other: Self) -> Self;
    unsafe fn exp(self) -> Self;
}

macro_rules! lanes_float {
    ($($t:ty),*) => { $(
        impl<const N: usize> Float for Lanes<$t, N> {
            #[inline(always)]
            unsafe fn sub(self, other: Self) -> Self {
                Lanes(std::array::from_fn(|i| self.0[i] - other.0[i]))
            }
            #[inline(always)]
            unsafe fn mul(self, other: Self) -> Self {
                Lanes(std::array::from_fn(|i| self.0[i] * other.0[i]))
            }
            #[inline(always)]
            unsafe fn max(self, other: Self) -> Self {
                Lanes(std::array::from_fn(|i| if self.0[i] > other.0[i] { self.0[i] } else { other.0[i] }))
            }
            #[inline(always)]
            unsafe fn keep(self, lo: usize, hi: usize, other: Self) -> Self {
                Lanes(std::array::from_fn(|i| if i >= lo && i < hi { self.0[i] } else { other.0[i] }))
            }
            #[inline(always)]
            unsafe fn exp(self) -> Self {
                Lanes(std::array::from_fn(|i| self.0[i].exp()))
            }
        }
    )* };
}
lanes_float!(f32, f64);

/// exp(r) = 1 + r + r² P(r) for |r| <= ln 2 / 2: Cephes' polynomial, within an ulp.
#[cfg(target_arch = "x86_64")]
const EXP_F32: [f32; 6] = [1.987_569_1e-4, 1.398_2e-3, 8.333_452e-3, 4.166_579_6e-2, 1.666_666_5e-1, 0.5];
/// The series of exp beyond `1 + r`, down from `1 / 13!`: the next term is below half an ulp.
#[cfg(target_arch = "x86_64")]
const EXP_F64: [f64; 12] = [
    1.0 / 6227020800.0,
    1.0 / 479001600.0,
    1.0 / 39916800.0,
    1.0 / 3628800.0,
    1.0 / 362880.0,
    1.0 / 40320.0,
    1.0 / 5040.0,
    1.0 / 720.0,
    1.0 / 120.0,
    1.0 / 24.0,
    1.0 / 6.0,
    0.5,
];

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::*;
    use std::arch::x86_64::*;

    macro_rules! float_512 {
        ($v:ty, $t:ty, $mask:ty, $coefficients:ident, $ln2:expr, $least:expr, $most:expr,
            $sub:ident, $mul:ident, $max:ident, $min:ident, $mov:ident, $round:ident, $scale:ident) => {
            impl Float for $v {
                #[inline(always)]
                unsafe fn sub(self, other: Self) -> Self {
                    // SAFETY: register arithmetic, here and below.
                    unsafe { $sub(self, other) }
                }
                #[inline(always)]
                unsafe fn mul(self, other: Self) -> Self {
                    // SAFETY: register arithmetic.
                    unsafe { $mul(self, other) }
                }
                #[inline(always)]
                unsafe fn max(self, other: Self) -> Self {
                    // SAFETY: register arithmetic.
                    unsafe { $max(self, other) }
                }
                #[inline(always)]
                unsafe fn keep(self, lo: usize, hi: usize, other: Self) -> Self {
                    let below = |n: usize| (1u32 << n) - 1;
                    // SAFETY: register arithmetic.
                    unsafe { $mov(other, (below(hi) & !below(lo)) as $mask, self) }
                }
                #[inline(always)]
                unsafe fn exp(self) -> Self {
                    // SAFETY: register arithmetic.
                    unsafe {
                        // Bounds come first: of two operands with a NaN the second is taken.
                        let x = $min(Self::splat($most), $max(Self::splat($least), self));
                        let n = $round::<0x08>($mul(x, Self::splat(std::f64::consts::LOG2_E as $t)));
                        let r = x.fma(n, Self::splat(-$ln2.0)).fma(n, Self::splat(-$ln2.1));
                        let mut p = Self::splat($coefficients[0]);
                        for c in &$coefficients[1..] {
                            p = Self::splat(*c).fma(p, r);
                        }
                        let p = r.fma($mul(r, r), p).add(Self::splat(1.0));
                        $scale(p, n)
                    }
                }
            }
        };
    }

    /// ln 2 in two parts, the first short enough that its product with an exponent is exact.
    const LN2_F32: (f32, f32) = (0.693_359_4, -2.121_944_4e-4);
    const LN2_F64: (f64, f64) = (6.931_471_803_691_238e-1, 1.908_214_929_270_587_7e-10);

    float_512!(
        __m512,
        f32,
        __mmask16,
        EXP_F32,
        LN2_F32,
        -104.0,
        89.0,
        _mm512_sub_ps,
        _mm512_mul_ps,
        _mm512_max_ps,
        _mm512_min_ps,
        _mm512_mask_mov_ps,
        _mm512_roundscale_ps,
        _mm512_scalef_ps
    );
    float_512!(
        __m512d,
        f64,
        __mmask8,
        EXP_F64,
        LN2_F64,
        -746.0,
        710.0,
        _mm512_sub_pd,
        _mm512_mul_pd,
        _mm512_max_pd,
        _mm512_min_pd,
        _mm512_mask_mov_pd,
        _mm512_roundscale_pd,
        _mm512_scalef_pd
    );

    macro_rules! float_256 {
        ($v:ty, $t:ty, $coefficients:ident, $ln2:expr, $least:expr, $most:expr,
            $sub:ident, $mul:ident, $max:ident, $min:ident, $blend:ident, $round:ident, $scale:ident) => {
            impl Float for $v {
                #[inline(always)]
                unsafe fn sub(self, other: Self) -> Self {
                    // SAFETY: register arithmetic, here and below.
                    unsafe { $sub(self, other) }
                }
                #[inline(always)]
                unsafe fn mul(self, other: Self) -> Self {
                    // SAFETY: register arithmetic.
                    unsafe { $mul(self, other) }
                }
                #[inline(always)]
                unsafe fn max(self, other: Self) -> Self {
                    // SAFETY: register arithmetic.
                    unsafe { $max(self, other) }
                }
                #[inline(always)]
                unsafe fn keep(self, lo: usize, hi: usize, other: Self) -> Self {
                    let mut mask: [$t; <$v as Vector>::LANES] = [0.0; <$v as Vector>::LANES];
                    for lane in lo..hi {
                        // Only the sign selects.
                        mask[lane] = -1.0;
                    }
                    // SAFETY: register arithmetic.
                    unsafe { $blend(other, self, Self::load(mask.as_ptr())) }
                }
                #[inline(always)]
                unsafe fn exp(self) -> Self {
                    // SAFETY: register arithmetic.
                    unsafe {
                        // Bounds come first: of two operands with a NaN the second is taken.
                        let x = $min(Self::splat($most), $max(Self::splat($least), self));
                        let n = $round::<0x08>($mul(x, Self::splat(std::f64::consts::LOG2_E as $t)));
                        let r = x.fma(n, Self::splat(-$ln2.0)).fma(n, Self::splat(-$ln2.1));
                        let mut p = Self::splat($coefficients[0]);
                        for c in &$coefficients[1..] {
                            p = Self::splat(*c).fma(p, r);
                        }
                        let p = r.fma($mul(r, r), p).add(Self::splat(1.0));
                        // 2^n in two factors: each is a normal number, even where the result is not.
                        let half = $round::<0x09>($mul(n, Self::splat(0.5)));
                        $mul($mul(p, $scale(half)), $scale($sub(n, half)))
                    }
                }
            }
        };
    }

    /// 2^n for a whole n of moderate size.
    #[inline(always)]
    unsafe fn power_of_two_ps(n: __m256) -> __m256 {
        // SAFETY: register arithmetic.
        unsafe { _mm256_castsi256_ps(_mm256_slli_epi32::<23>(_mm256_add_epi32(_mm256_cvtps_epi32(n), _mm256_set1_epi32(127)))) }
    }

    #[inline(always)]
    unsafe fn power_of_two_pd(n: __m256d) -> __m256d {
        // SAFETY: register arithmetic.
        unsafe {
            let exponent = _mm256_cvtepi32_epi64(_mm256_cvtpd_epi32(n));
            _mm256_castsi256_pd(_mm256_slli_epi64::<52>(_mm256_add_epi64(exponent, _mm256_set1_epi64x(1023))))
        }
    }

    float_256!(
        __m256,
        f32,
        EXP_F32,
        LN2_F32,
        -104.0,
        89.0,
        _mm256_sub_ps,
        _mm256_mul_ps,
        _mm256_max_ps,
        _mm256_min_ps,
        _mm256_blendv_ps,
        _mm256_round_ps,
        power_of_two_ps
    );
    float_256!(
        __m256d,
        f64,
        EXP_F64,
        LN2_F64,
        -746.0,
        710.0,
        _mm256_sub_pd,
        _mm256_mul_pd,
        _mm256_max_pd,
        _mm256_min_pd,
        _mm256_blendv_pd,
        _mm256_round_pd,
        power_of_two_pd
    );
}

/// Which keys a query sees.
#[derive(Clone, Copy, Debug)]
pub(super) struct Visible {
    pub(super) causal: bool,
    pub(super) window: Option<usize>,
    pub(super) q_offset: i64,
    /// Keys there are.
    pub(super) n_keys: usize,
}

impl Visible {
    /// The keys that some of the queries `first..first + n` see: nothing outside is visible.
    pub(super) fn keys(&self, first: usize, n: usize) -> std::ops::Range<usize> {
        let clamp = |j: i64| j.clamp(0, self.n_keys as i64) as usize;
        let first = (first as i64).saturating_add(self.q_offset);
        let last = first.saturating_add(n as i64 - 1);
        let end = if self.causal { clamp(last.saturating_add(1)) } else { self.n_keys };
        let start = self.window.map_or(0, |window| clamp(first.saturating_sub(window as i64 - 1)));
        start.min(end)..end
    }

    /// The lanes, of `n` queries from `first`, that see key `j`.
    #[inline(always)]
    fn lanes(&self, first: usize, n: usize, j: usize) -> (usize, usize) {
        // Query i sees j when i >= j - q_offset (causal) and i < j - q_offset + window.
        let diagonal = (j as i64).saturating_sub(self.q_offset).saturating_sub(first as i64);
        let clamp = |i: i64| i.clamp(0, n as i64) as usize;
        let lo = if self.causal { clamp(diagonal) } else { 0 };
        let hi = self.window.map_or(n, |window| clamp(diagonal.saturating_add(window.min(i64::MAX as usize) as i64)));
        (lo.min(hi), hi)
    }

    /// Whether all of the queries see all of the keys.
    fn all(&self, first: usize, n: usize, keys: std::ops::Range<usize>) -> bool {
        keys.is_empty() || (self.lanes(first, n, keys.start) == (0, n) && self.lanes(first, n, keys.end - 1) == (0, n))
    }
}

/// A block of transposed scores: key `keys.start + j` and query `first + i` at `[j * width + i]`, `width` two registers.
#[derive(Clone, Copy)]
pub(super) struct Block<'a, T> {
    pub(super) visible: &'a Visible,
    /// First query and how many there are.
    pub(super) first: usize,
    pub(super) n: usize,
    /// First key and how many there are.
    pub(super) key: usize,
    pub(super) n_keys: usize,
    /// Raw products on entry; probabilities on return.
    pub(super) scores: *mut T,
    pub(super) scale: T,
    /// Laid out like the scores, or null.
    pub(super) bias: *const T,
    /// Factors of dropout, laid out like the scores, or null.
    pub(super) dropout: *const T,
}

/// Running softmax of a block of queries: the greatest score so far, the sum of exponentials, the factor for older sums.
#[derive(Clone, Copy)]
pub(super) struct Running<T> {
    pub(super) greatest: *mut T,
    pub(super) sum: *mut T,
    pub(super) factor: *mut T,
}

/// What the gradient needs of each query: the logarithm of its sum (+inf for one that sees nothing), and Σ dout · out.
#[derive(Clone, Copy)]
pub(super) struct Saved<T> {
    pub(super) lse: *const T,
    pub(super) delta: *const T,
    /// Gradients of probabilities on entry, of products (before the scale) on return.
    pub(super) grads: *mut T,
}

/// The functions of one tier.
pub(super) struct Math<T> {
    pub(super) softmax: unsafe fn(&Block<'_, T>, &Running<T>),
    pub(super) gradient: unsafe fn(&Block<'_, T>, &Saved<T>),
    /// Multiplies `rows` rows of `width` by one row.
    pub(super) scale_rows: unsafe fn(*mut T, usize, *const T),
    /// `out[i] = Σ_row x[row][i] * y[row][i]`.
    pub(super) column_dots: unsafe fn(*const T, *const T, usize, *mut T),
    /// Softmax of a row without its division; see [`RowSoftmax`].
    pub(super) softmax_row: unsafe fn(&RowSoftmax<T>) -> (T, f64),
}

/// Scaled, biased and masked scores of register `v` of a row.
#[inline(always)]
unsafe fn masked<V: Float>(b: &Block<'_, V::Elem>, j: usize, v: usize, all: bool, hidden: V) -> V {
    let at = j * 2 * V::LANES + v * V::LANES;
    // SAFETY: the block's buffers hold `n_keys` rows of two registers.
    unsafe {
        let mut x = V::load(b.scores.add(at)).mul(V::splat(b.scale));
        if !b.bias.is_null() {
            x = x.add(V::load(b.bias.add(at)));
        }
        if !all {
            let (lo, hi) = b.visible.lanes(b.first, b.n, b.key + j);
            let lane = |i: usize| i.saturating_sub(v * V::LANES).min(V::LANES);
            x = x.keep(lane(lo), lane(hi), hidden);
        }
        x
    }
}

#[inline(always)]
unsafe fn softmax<V: Float>(b: &Block<'_, V::Elem>, r: &Running<V::Elem>, least: V::Elem, lowest: V::Elem) {
    let all = b.visible.all(b.first, b.n, b.key..b.key + b.n_keys);
    for v in 0..2 {
        // SAFETY: see `masked`; the running values are two registers long.
        unsafe {
            let at = v * V::LANES;
            let old = V::load(r.greatest.add(at));
            let hidden = V::splat(least);
            let mut greatest = old;
            for j in 0..b.n_keys {
                let x = masked(b, j, v, all, hidden);
                x.store(b.scores.add(j * 2 * V::LANES + at));
                greatest = greatest.max(x);
            }
            // Where nothing is visible yet the greatest is -inf, and -inf - -inf would be NaN.
            let shift = greatest.max(V::splat(lowest));
            let factor = old.sub(shift).exp();
            let mut sum = V::load(r.sum.add(at)).mul(factor);
            for j in 0..b.n_keys {
                let p = b.scores.add(j * 2 * V::LANES + at);
                let mut x = V::load(p).sub(shift).exp();
                sum = sum.add(x);
                if !b.dropout.is_null() {
                    x = x.mul(V::load(b.dropout.add(j * 2 * V::LANES + at)));
                }
                x.store(p);
            }
            greatest.store(r.greatest.add(at));
            sum.store(r.sum.add(at));
            factor.store(r.factor.add(at));
        }
    }
}

#[inline(always)]
unsafe fn gradient<V: Float>(b: &Block<'_, V::Elem>, s: &Saved<V::Elem>, least: V::Elem) {
    let all = b.visible.all(b.first, b.n, b.key..b.key + b.n_keys);
    for v in 0..2 {
        // SAFETY: see `masked`; the saved values are two registers long.
        unsafe {
            let at = v * V::LANES;
            let (lse, delta, hidden) = (V::load(s.lse.add(at)), V::load(s.delta.add(at)), V::splat(least));
            for j in 0..b.n_keys {
                let here = j * 2 * V::LANES + at;
                let p = masked(b, j, v, all, hidden).sub(lse).exp();
                let mut grad = V::load(s.grads.add(here));
                let mut dropped = p;
                if !b.dropout.is_null() {
                    let keep = V::load(b.dropout.add(here));
                    grad = grad.mul(keep);
                    dropped = p.mul(keep);
                }
                p.mul(grad.sub(delta)).store(s.grads.add(here));
                dropped.store(b.scores.add(here));
            }
        }
    }
}

#[inline(always)]
unsafe fn scale_rows<V: Float>(x: *mut V::Elem, rows: usize, by: *const V::Elem) {
    for i in 0..rows * 2 {
        // SAFETY: `x` holds `rows` rows of two registers, `by` one.
        unsafe {
            let p = x.add(i * V::LANES);
            V::load(p).mul(V::load(by.add(i % 2 * V::LANES))).store(p);
        }
    }
}

#[inline(always)]
unsafe fn column_dots<V: Float>(x: *const V::Elem, y: *const V::Elem, rows: usize, out: *mut V::Elem) {
    for v in 0..2 {
        // SAFETY: `x` and `y` hold `rows` rows of two registers, `out` one.
        unsafe {
            let mut sum = V::load_span(x, 0, 0);
            for row in 0..rows {
                let at = (row * 2 + v) * V::LANES;
                sum = sum.fma(V::load(x.add(at)), V::load(y.add(at)));
            }
            sum.store(out.add(v * V::LANES));
        }
    }
}

/// Scores of one query.
#[derive(Clone, Copy)]
pub(super) struct RowSoftmax<T> {
    /// Products on entry; exponentials on return.
    pub(super) scores: *mut T,
    pub(super) n: usize,
    pub(super) scale: T,
    /// Keys that are seen; the others get 0.
    pub(super) seen: (usize, usize),
}

/// Registers of exponentials that are added up before they go to a sum in `f64`.
pub(super) const ADDED: usize = 16;

/// The greatest scaled score, or the least number there is, and the sum of exponentials of differences from it.
#[inline(always)]
unsafe fn softmax_row<V: Float>(r: &RowSoftmax<V::Elem>, least: V::Elem, lowest: V::Elem, wide: impl Fn(V::Elem) -> f64) -> (V::Elem, f64) {
    let RowSoftmax { scores, n, scale, seen: (start, end) } = *r;
    // SAFETY: `scores` holds `n` elements, of which `start..end` are some.
    unsafe {
        let zero = V::load_span(scores, 0, 0);
        let mut greatest = V::splat(least);
        let mut i = start;
        while i < end {
            let (p, left) = (scores.add(i), (end - i).min(V::LANES));
            // Of two operands with a NaN the second is taken: a NaN reaches the sum by its own exponential.
            if left == V::LANES {
                let x = V::load(p).mul(V::splat(scale));
                x.store(p);
                greatest = x.max(greatest);
            } else {
                let x = V::load_span(p, 0, left).mul(V::splat(scale));
                x.store_first(p, left);
                greatest = x.keep(0, left, V::splat(least)).max(greatest);
            }
            i += V::LANES;
        }
        // No register has more than 16 lanes.
        let mut lanes = [least; 16];
        greatest.store(lanes.as_mut_ptr());
        let mut greatest = least;
        for lane in &lanes[..V::LANES] {
            greatest = if wide(*lane) > wide(greatest) { *lane } else { greatest };
        }
        // Where nothing is seen, -inf - -inf would be NaN.
        let shift = V::splat(if wide(greatest) == f64::NEG_INFINITY { lowest } else { greatest });
        let (mut total, mut sum, mut added) = (0.0, zero, 0);
        let mut i = start;
        while i < end {
            let (p, left) = (scores.add(i), (end - i).min(V::LANES));
            if left == V::LANES {
                let x = V::load(p).sub(shift).exp();
                x.store(p);
                sum = sum.add(x);
            } else {
                let x = V::load_span(p, 0, left).sub(shift).exp();
                x.store_first(p, left);
                sum = sum.add(x.keep(0, left, zero));
            }
            i += V::LANES;
            added += 1;
            if added == ADDED {
                total += wide(sum.sum());
                (sum, added) = (zero, 0);
            }
        }
        for i in (0..start).chain(end..n) {
            zero.store_first(scores.add(i), 1);
        }
        (greatest, total + wide(sum.sum()))
    }
}

macro_rules! tier {
    ($name:ident, $attr:meta, $v:ty, $t:ident) => {
        mod $name {
            use super::*;

            #[$attr]
            unsafe fn softmax(b: &Block<'_, $t>, r: &Running<$t>) {
                // SAFETY: the caller's, here and below.
                unsafe { super::softmax::<$v>(b, r, $t::NEG_INFINITY, $t::MIN) }
            }
            #[$attr]
            unsafe fn gradient(b: &Block<'_, $t>, s: &Saved<$t>) {
                // SAFETY: the caller's.
                unsafe { super::gradient::<$v>(b, s, $t::NEG_INFINITY) }
            }
            #[$attr]
            unsafe fn scale_rows(x: *mut $t, rows: usize, by: *const $t) {
                // SAFETY: the caller's.
                unsafe { super::scale_rows::<$v>(x, rows, by) }
            }
            #[$attr]
            unsafe fn column_dots(x: *const $t, y: *const $t, rows: usize, out: *mut $t) {
                // SAFETY: the caller's.
                unsafe { super::column_dots::<$v>(x, y, rows, out) }
            }
            #[$attr]
            unsafe fn softmax_row(r: &RowSoftmax<$t>) -> ($t, f64) {
                // SAFETY: the caller's.
                unsafe { super::softmax_row::<$v>(r, $t::NEG_INFINITY, $t::MIN, f64::from) }
            }
            pub(super) static MATH: Math<$t> = Math { softmax, gradient, scale_rows, column_dots, softmax_row };
        }
    };
}
tier!(baseline_f32, inline, Lanes<f32, 4>, f32);
tier!(baseline_f64, inline, Lanes<f64, 2>, f64);
#[cfg(target_arch = "x86_64")]
use crate::contract::vector::x86::{V4D, V4F, V5D, V5F};
#[cfg(target_arch = "x86_64")]
tier!(avx2_f32, target_feature(enable = "avx2,fma,f16c"), V4F, f32);
#[cfg(target_arch = "x86_64")]
tier!(avx2_f64, target_feature(enable = "avx2,fma,f16c"), V4D, f64);
#[cfg(target_arch = "x86_64")]
tier!(avx512_f32, target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,f16c"), V5F, f32);
#[cfg(target_arch = "x86_64")]
tier!(avx512_f64, target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,f16c"), V5D, f64);

pub(super) fn math_f32(tier: Tier) -> &'static Math<f32> {
    match tier {
        #[cfg(target_arch = "x86_64")]
        Tier::Avx512 => &avx512_f32::MATH,
        #[cfg(target_arch = "x86_64")]
        Tier::Avx2 => &avx2_f32::MATH,
        _ => &baseline_f32::MATH,
    }
}

pub(super) fn math_f64(tier: Tier) -> &'static Math<f64> {
    match tier {
        #[cfg(target_arch = "x86_64")]
        Tier::Avx512 => &avx512_f64::MATH,
        #[cfg(target_arch = "x86_64")]
        Tier::Avx2 => &avx2_f64::MATH,
        _ => &baseline_f64::MATH,
    }
}

/// Word 0 of Philox4x32-10 (Salmon et al., "Parallel Random Numbers: As Easy as 1, 2, 3") for some indices at once.
#[inline(always)]
pub(super) fn philox_word0<const N: usize>(indices: [u64; N], offset: u64, seed: u64) -> [u32; N] {
    let mut c0 = indices.map(|i| i as u32);
    let mut c1 = indices.map(|i| (i >> 32) as u32);
    let mut c2 = [offset as u32; N];
    let mut c3 = [(offset >> 32) as u32; N];
    let (mut k0, mut k1) = (seed as u32, (seed >> 32) as u32);
    for _ in 0..10 {
        for i in 0..N {
            let p0 = u64::from(c0[i]) * 0xd251_1f53;
            let p1 = u64::from(c2[i]) * 0xcd9e_8d57;
            c0[i] = (p1 >> 32) as u32 ^ c1[i] ^ k0;
            c1[i] = p1 as u32;
            c2[i] = (p0 >> 32) as u32 ^ c3[i] ^ k1;
            c3[i] = p0 as u32;
        }
        k0 = k0.wrapping_add(0x9e37_79b9);
        k1 = k1.wrapping_add(0xbb67_ae85);
    }
    c0
}
