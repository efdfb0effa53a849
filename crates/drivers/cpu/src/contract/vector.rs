//! SIMD vectors for contractions and attention: one trait, one implementation per instruction set and element type.
//!
//! In: pointers and lane counts. Out: registers. Always: a partial load reads only the lanes it is asked for.
//! Never: chooses a tier; the callers are compiled once per tier, and each wraps its body in the matching `target_feature`.

use half::{bf16, f16};

/// A register of [`Vector::LANES`] elements.
///
/// Every method must be called from code compiled for the implementation's instruction set, or inlined into it.
pub(crate) trait Vector: Copy {
    /// What a lane holds.
    type Elem: Copy;
    /// Lanes of one register.
    const LANES: usize;

    /// All lanes `x`.
    unsafe fn splat(x: Self::Elem) -> Self;
    /// Reads `LANES` elements.
    unsafe fn load(p: *const Self::Elem) -> Self;
    /// Reads elements `lo..hi` of `p` into lanes `lo..hi`; the other lanes are zero and not read.
    unsafe fn load_span(p: *const Self::Elem, lo: usize, hi: usize) -> Self;
    /// Writes `LANES` elements.
    unsafe fn store(self, p: *mut Self::Elem);
    /// Writes the first `n` lanes.
    unsafe fn store_first(self, p: *mut Self::Elem, n: usize);
    /// `self + a * b`.
    unsafe fn fma(self, a: Self, b: Self) -> Self;
    /// Lane by lane.
    unsafe fn add(self, other: Self) -> Self;
    /// The union of two vectors whose non-zero lanes are disjoint.
    unsafe fn merge(self, other: Self) -> Self;
    /// The sum of all lanes, in a fixed order.
    unsafe fn sum(self) -> Self::Elem;
    /// As [`Vector::sum`] of each, to the bit: in registers they share most of the steps.
    #[inline(always)]
    unsafe fn sums(all: [Self; 4]) -> [Self::Elem; 4] {
        // SAFETY: the caller's.
        unsafe { [all[0].sum(), all[1].sum(), all[2].sum(), all[3].sum()] }
    }
    /// Transposes `LANES` registers in place.
    unsafe fn transpose(rows: *mut Self);
}

/// Loads that convert from a stored type `S`.
pub(crate) trait LoadFrom<S>: Vector {
    /// Reads and converts `LANES` elements.
    unsafe fn widen(p: *const S) -> Self;
    /// As [`Vector::load_span`], converting.
    unsafe fn widen_span(p: *const S, lo: usize, hi: usize) -> Self;
}

#[cfg(target_arch = "x86_64")]
macro_rules! load_from_self {
    ($($v:ty: $t:ty),*) => { $(
        impl LoadFrom<$t> for $v {
            #[inline(always)]
            unsafe fn widen(p: *const $t) -> Self {
                // SAFETY: the caller's.
                unsafe { Self::load(p) }
            }
            #[inline(always)]
            unsafe fn widen_span(p: *const $t, lo: usize, hi: usize) -> Self {
                // SAFETY: the caller's.
                unsafe { Self::load_span(p, lo, hi) }
            }
        }
    )* };
}

/// An array of lanes: the baseline of every target (the compiler turns it into SSE2 or NEON), and the integers of every tier.
#[derive(Clone, Copy)]
pub(crate) struct Lanes<T, const N: usize>(pub(crate) [T; N]);

/// The arithmetic that [`Lanes`] needs of an element.
pub(crate) trait LaneElem: Copy {
    const ZERO: Self;
    fn mul_add(self, a: Self, b: Self) -> Self;
    fn plus(self, other: Self) -> Self;
}

/// Without hardware support a fused multiply-add is a library call, so the baseline rounds twice there.
const FUSED: bool = cfg!(any(target_feature = "fma", target_arch = "aarch64"));

macro_rules! lane_elem_float {
    ($($t:ty),*) => { $(
        impl LaneElem for $t {
            const ZERO: $t = 0.0;
            #[inline(always)]
            fn mul_add(self, a: $t, b: $t) -> $t {
                if FUSED { a.mul_add(b, self) } else { self + a * b }
            }
            #[inline(always)]
            fn plus(self, other: $t) -> $t {
                self + other
            }
        }
    )* };
}
macro_rules! lane_elem_int {
    ($($t:ty),*) => { $(
        impl LaneElem for $t {
            const ZERO: $t = 0;
            #[inline(always)]
            fn mul_add(self, a: $t, b: $t) -> $t {
                self.wrapping_add(a.wrapping_mul(b))
            }
            #[inline(always)]
            fn plus(self, other: $t) -> $t {
                self.wrapping_add(other)
            }
        }
    )* };
}
lane_elem_float!(f32, f64);
lane_elem_int!(i32, i64);

impl<T: LaneElem, const N: usize> Vector for Lanes<T, N> {
    type Elem = T;
    const LANES: usize = N;

    #[inline(always)]
    unsafe fn splat(x: T) -> Self {
        Lanes([x; N])
    }
    #[inline(always)]
    unsafe fn load(p: *const T) -> Self {
        // SAFETY: the caller lets `N` elements be read; the array has their layout.
        unsafe { p.cast::<Self>().read_unaligned() }
    }
    #[inline(always)]
    unsafe fn load_span(p: *const T, lo: usize, hi: usize) -> Self {
        let mut out = [T::ZERO; N];
        for (lane, x) in out.iter_mut().enumerate() {
            if lane >= lo && lane < hi {
                // SAFETY: the caller lets lanes `lo..hi` be read.
                *x = unsafe { *p.wrapping_add(lane) };
            }
        }
        Lanes(out)
    }
    #[inline(always)]
    unsafe fn store(self, p: *mut T) {
        // SAFETY: the caller lets `N` elements be written.
        unsafe { p.cast::<Self>().write_unaligned(self) }
    }
    #[inline(always)]
    unsafe fn store_first(self, p: *mut T, n: usize) {
        for (lane, x) in self.0.iter().enumerate().take(n) {
            // SAFETY: the caller lets `n` elements be written.
            unsafe { *p.add(lane) = *x }
        }
    }
    #[inline(always)]
    unsafe fn fma(mut self, a: Self, b: Self) -> Self {
        for lane in 0..N {
            self.0[lane] = self.0[lane].mul_add(a.0[lane], b.0[lane]);
        }
        self
    }
    #[inline(always)]
    unsafe fn add(mut self, other: Self) -> Self {
        for lane in 0..N {
            self.0[lane] = self.0[lane].plus(other.0[lane]);
        }
        self
    }
    #[inline(always)]
    unsafe fn merge(self, other: Self) -> Self {
        // SAFETY: the caller's.
        unsafe { self.add(other) }
    }
    #[inline(always)]
    unsafe fn sum(self) -> T {
        let mut lanes = self.0;
        let mut n = N;
        while n > 1 {
            n /= 2;
            for lane in 0..n {
                lanes[lane] = lanes[lane].plus(lanes[lane + n]);
            }
        }
        lanes[0]
    }
    #[inline(always)]
    unsafe fn transpose(rows: *mut Self) {
        for i in 0..N {
            for j in 0..i {
                // SAFETY: the caller passes `N` registers.
                unsafe {
                    let x = (*rows.add(i)).0[j];
                    (*rows.add(i)).0[j] = (*rows.add(j)).0[i];
                    (*rows.add(j)).0[i] = x;
                }
            }
        }
    }
}

impl<T: LaneElem, const N: usize> LoadFrom<T> for Lanes<T, N> {
    #[inline(always)]
    unsafe fn widen(p: *const T) -> Self {
        // SAFETY: the caller's.
        unsafe { Self::load(p) }
    }
    #[inline(always)]
    unsafe fn widen_span(p: *const T, lo: usize, hi: usize) -> Self {
        // SAFETY: the caller's.
        unsafe { Self::load_span(p, lo, hi) }
    }
}

macro_rules! lanes_from {
    ($($t:ty: $s:ty = $convert:expr),*) => { $(
        impl<const N: usize> LoadFrom<$s> for Lanes<$t, N> {
            #[inline(always)]
            unsafe fn widen(p: *const $s) -> Self {
                // SAFETY: the caller's.
                unsafe { Self::widen_span(p, 0, N) }
            }
            #[inline(always)]
            unsafe fn widen_span(p: *const $s, lo: usize, hi: usize) -> Self {
                let mut out = [0 as $t; N];
                for (lane, x) in out.iter_mut().enumerate() {
                    if lane >= lo && lane < hi {
                        // SAFETY: the caller lets lanes `lo..hi` be read.
                        *x = $convert(unsafe { *p.wrapping_add(lane) });
                    }
                }
                Lanes(out)
            }
        }
    )* };
}
lanes_from!(f32: f16 = f16::to_f32, f32: bf16 = bf16::to_f32, f64: f32 = f64::from);

#[cfg(target_arch = "x86_64")]
pub(crate) mod x86 {
    //! AVX2 and AVX-512 registers.

    use super::{LoadFrom, Vector};
    use half::{bf16, f16};
    use std::arch::x86_64::*;

    pub(crate) type V5F = __m512;
    pub(crate) type V5D = __m512d;
    pub(crate) type V4F = __m256;
    pub(crate) type V4D = __m256d;

    /// Bits `lo..hi`.
    #[inline(always)]
    fn bits(lo: usize, hi: usize) -> u32 {
        let below = |n: usize| (1u32 << n) - 1;
        below(hi) & !below(lo)
    }

    // Lane masks of AVX2: a window of 8 words at `8 - n` has its first `n` words set, one at `16 - n` all but the first `n`.
    static ONES_ZEROS: [i32; 24] = {
        let mut table = [0; 24];
        let mut i = 0;
        while i < 24 {
            table[i] = if i < 8 || i >= 16 { -1 } else { 0 };
            i += 1;
        }
        table
    };

    #[inline(always)]
    unsafe fn mask8(lo: usize, hi: usize) -> __m256i {
        // SAFETY: `lo <= hi <= 8`, so both windows are inside the table.
        unsafe {
            let first = _mm256_loadu_si256(ONES_ZEROS.as_ptr().add(8 - hi).cast());
            let rest = _mm256_loadu_si256(ONES_ZEROS.as_ptr().add(16 - lo).cast());
            _mm256_and_si256(first, rest)
        }
    }

    #[inline(always)]
    unsafe fn mask4(lo: usize, hi: usize) -> __m256i {
        // SAFETY: register arithmetic only.
        unsafe {
            let lane = _mm256_set_epi64x(3, 2, 1, 0);
            let above = _mm256_cmpgt_epi64(lane, _mm256_set1_epi64x(lo as i64 - 1));
            _mm256_and_si256(above, _mm256_cmpgt_epi64(_mm256_set1_epi64x(hi as i64), lane))
        }
    }

    impl Vector for __m512 {
        type Elem = f32;
        const LANES: usize = 16;

        #[inline(always)]
        unsafe fn splat(x: f32) -> Self {
            // SAFETY: the caller's code is compiled for AVX-512, here and below.
            unsafe { _mm512_set1_ps(x) }
        }
        #[inline(always)]
        unsafe fn load(p: *const f32) -> Self {
            // SAFETY: the caller lets 16 elements be read.
            unsafe { _mm512_loadu_ps(p) }
        }
        #[inline(always)]
        unsafe fn load_span(p: *const f32, lo: usize, hi: usize) -> Self {
            // SAFETY: masked-off lanes are not accessed.
            unsafe { _mm512_maskz_loadu_ps(bits(lo, hi) as __mmask16, p) }
        }
        #[inline(always)]
        unsafe fn store(self, p: *mut f32) {
            // SAFETY: the caller lets 16 elements be written.
            unsafe { _mm512_storeu_ps(p, self) }
        }
        #[inline(always)]
        unsafe fn store_first(self, p: *mut f32, n: usize) {
            // SAFETY: masked-off lanes are not accessed.
            unsafe { _mm512_mask_storeu_ps(p, bits(0, n) as __mmask16, self) }
        }
        #[inline(always)]
        unsafe fn fma(self, a: Self, b: Self) -> Self {
            // SAFETY: register arithmetic.
            unsafe { _mm512_fmadd_ps(a, b, self) }
        }
        #[inline(always)]
        unsafe fn add(self, other: Self) -> Self {
            // SAFETY: register arithmetic.
            unsafe { _mm512_add_ps(self, other) }
        }
        #[inline(always)]
        unsafe fn merge(self, other: Self) -> Self {
            // SAFETY: register arithmetic.
            unsafe { _mm512_castsi512_ps(_mm512_or_si512(_mm512_castps_si512(self), _mm512_castps_si512(other))) }
        }
        #[inline(always)]
        unsafe fn sum(self) -> f32 {
            // SAFETY: register arithmetic.
            unsafe { _mm512_reduce_add_ps(self) }
        }
        #[inline(always)]
        unsafe fn sums(all: [Self; 4]) -> [f32; 4] {
            let mut sums = [0.0; 4];
            // SAFETY: register arithmetic; four lanes are written.
            unsafe {
                // The halves of two at a time, then the quarters of four: a 128-bit part for each.
                let halves = |x, y| _mm512_add_ps(_mm512_shuffle_f32x4::<0x44>(x, y), _mm512_shuffle_f32x4::<0xee>(x, y));
                let (low, high) = (halves(all[0], all[1]), halves(all[2], all[3]));
                let x = _mm512_add_ps(_mm512_shuffle_f32x4::<0x88>(low, high), _mm512_shuffle_f32x4::<0xdd>(low, high));
                let x = _mm512_add_ps(x, _mm512_permute_ps::<0x4e>(x));
                let x = _mm512_add_ps(x, _mm512_permute_ps::<0xb1>(x));
                // Into a register first: straight to memory it is microcode on some processors.
                _mm_storeu_ps(sums.as_mut_ptr(), _mm512_castps512_ps128(_mm512_maskz_compress_ps(0x1111, x)));
            }
            sums
        }
        #[inline(always)]
        unsafe fn transpose(rows: *mut Self) {
            // SAFETY: the caller passes 16 registers.
            unsafe {
                let r = &mut *rows.cast::<[__m512; 16]>();
                let mut t = [_mm512_setzero_ps(); 16];
                for i in 0..8 {
                    t[2 * i] = _mm512_unpacklo_ps(r[2 * i], r[2 * i + 1]);
                    t[2 * i + 1] = _mm512_unpackhi_ps(r[2 * i], r[2 * i + 1]);
                }
                for i in 0..4 {
                    r[4 * i] = _mm512_shuffle_ps::<0x44>(t[4 * i], t[4 * i + 2]);
                    r[4 * i + 1] = _mm512_shuffle_ps::<0xee>(t[4 * i], t[4 * i + 2]);
                    r[4 * i + 2] = _mm512_shuffle_ps::<0x44>(t[4 * i + 1], t[4 * i + 3]);
                    r[4 * i + 3] = _mm512_shuffle_ps::<0xee>(t[4 * i + 1], t[4 * i + 3]);
                }
                // Now r[4 g + c], 128-bit part q, holds column 4 q + c of rows 4 g .. 4 g + 4.
                for c in 0..4 {
                    t[c] = _mm512_shuffle_f32x4::<0x88>(r[c], r[4 + c]);
                    t[4 + c] = _mm512_shuffle_f32x4::<0xdd>(r[c], r[4 + c]);
                    t[8 + c] = _mm512_shuffle_f32x4::<0x88>(r[8 + c], r[12 + c]);
                    t[12 + c] = _mm512_shuffle_f32x4::<0xdd>(r[8 + c], r[12 + c]);
                }
                for c in 0..4 {
                    r[c] = _mm512_shuffle_f32x4::<0x88>(t[c], t[8 + c]);
                    r[8 + c] = _mm512_shuffle_f32x4::<0xdd>(t[c], t[8 + c]);
                    r[4 + c] = _mm512_shuffle_f32x4::<0x88>(t[4 + c], t[12 + c]);
                    r[12 + c] = _mm512_shuffle_f32x4::<0xdd>(t[4 + c], t[12 + c]);
                }
            }
        }
    }

    impl LoadFrom<bf16> for __m512 {
        #[inline(always)]
        unsafe fn widen(p: *const bf16) -> Self {
            // SAFETY: the caller lets 16 elements be read.
            unsafe { widen_bf16(_mm256_loadu_si256(p.cast())) }
        }
        #[inline(always)]
        unsafe fn widen_span(p: *const bf16, lo: usize, hi: usize) -> Self {
            // SAFETY: masked-off lanes are not accessed.
            unsafe { widen_bf16(_mm256_maskz_loadu_epi16(bits(lo, hi) as __mmask16, p.cast())) }
        }
    }

    #[inline(always)]
    unsafe fn widen_bf16(x: __m256i) -> __m512 {
        // SAFETY: register arithmetic.
        unsafe { _mm512_castsi512_ps(_mm512_slli_epi32::<16>(_mm512_cvtepu16_epi32(x))) }
    }

    impl LoadFrom<f16> for __m512 {
        #[inline(always)]
        unsafe fn widen(p: *const f16) -> Self {
            // SAFETY: the caller lets 16 elements be read.
            unsafe { _mm512_cvtph_ps(_mm256_loadu_si256(p.cast())) }
        }
        #[inline(always)]
        unsafe fn widen_span(p: *const f16, lo: usize, hi: usize) -> Self {
            // SAFETY: masked-off lanes are not accessed.
            unsafe { _mm512_cvtph_ps(_mm256_maskz_loadu_epi16(bits(lo, hi) as __mmask16, p.cast())) }
        }
    }

    impl Vector for __m512d {
        type Elem = f64;
        const LANES: usize = 8;

        #[inline(always)]
        unsafe fn splat(x: f64) -> Self {
            // SAFETY: the caller's code is compiled for AVX-512, here and below.
            unsafe { _mm512_set1_pd(x) }
        }
        #[inline(always)]
        unsafe fn load(p: *const f64) -> Self {
            // SAFETY: the caller lets 8 elements be read.
            unsafe { _mm512_loadu_pd(p) }
        }
        #[inline(always)]
        unsafe fn load_span(p: *const f64, lo: usize, hi: usize) -> Self {
            // SAFETY: masked-off lanes are not accessed.
            unsafe { _mm512_maskz_loadu_pd(bits(lo, hi) as __mmask8, p) }
        }
        #[inline(always)]
        unsafe fn store(self, p: *mut f64) {
            // SAFETY: the caller lets 8 elements be written.
            unsafe { _mm512_storeu_pd(p, self) }
        }
        #[inline(always)]
        unsafe fn store_first(self, p: *mut f64, n: usize) {
            // SAFETY: masked-off lanes are not accessed.
            unsafe { _mm512_mask_storeu_pd(p, bits(0, n) as __mmask8, self) }
        }
        #[inline(always)]
        unsafe fn fma(self, a: Self, b: Self) -> Self {
            // SAFETY: register arithmetic.
            unsafe { _mm512_fmadd_pd(a, b, self) }
        }
        #[inline(always)]
        unsafe fn add(self, other: Self) -> Self {
            // SAFETY: register arithmetic.
            unsafe { _mm512_add_pd(self, other) }
        }
        #[inline(always)]
        unsafe fn merge(self, other: Self) -> Self {
            // SAFETY: register arithmetic.
            unsafe { _mm512_castsi512_pd(_mm512_or_si512(_mm512_castpd_si512(self), _mm512_castpd_si512(other))) }
        }
        #[inline(always)]
        unsafe fn sum(self) -> f64 {
            // SAFETY: register arithmetic.
            unsafe { _mm512_reduce_add_pd(self) }
        }
        #[inline(always)]
        unsafe fn sums(all: [Self; 4]) -> [f64; 4] {
            let mut sums = [0.0; 4];
            // SAFETY: register arithmetic; four lanes are written.
            unsafe {
                let halves = |x, y| _mm512_add_pd(_mm512_shuffle_f64x2::<0x44>(x, y), _mm512_shuffle_f64x2::<0xee>(x, y));
                let (low, high) = (halves(all[0], all[1]), halves(all[2], all[3]));
                let x = _mm512_add_pd(_mm512_shuffle_f64x2::<0x88>(low, high), _mm512_shuffle_f64x2::<0xdd>(low, high));
                let x = _mm512_add_pd(x, _mm512_permute_pd::<0x55>(x));
                _mm256_storeu_pd(sums.as_mut_ptr(), _mm512_castpd512_pd256(_mm512_maskz_compress_pd(0x55, x)));
            }
            sums
        }
        #[inline(always)]
        unsafe fn transpose(rows: *mut Self) {
            // SAFETY: the caller passes 8 registers.
            unsafe {
                let r = &mut *rows.cast::<[__m512d; 8]>();
                let mut t = [_mm512_setzero_pd(); 8];
                for i in 0..4 {
                    t[2 * i] = _mm512_unpacklo_pd(r[2 * i], r[2 * i + 1]);
                    t[2 * i + 1] = _mm512_unpackhi_pd(r[2 * i], r[2 * i + 1]);
                }
                // t[2 g + c], part q, holds column 2 q + c of rows 2 g, 2 g + 1.
                let mut s = [_mm512_setzero_pd(); 8];
                for c in 0..2 {
                    s[c] = _mm512_shuffle_f64x2::<0x88>(t[c], t[2 + c]);
                    s[2 + c] = _mm512_shuffle_f64x2::<0xdd>(t[c], t[2 + c]);
                    s[4 + c] = _mm512_shuffle_f64x2::<0x88>(t[4 + c], t[6 + c]);
                    s[6 + c] = _mm512_shuffle_f64x2::<0xdd>(t[4 + c], t[6 + c]);
                }
                for c in 0..2 {
                    r[c] = _mm512_shuffle_f64x2::<0x88>(s[c], s[4 + c]);
                    r[4 + c] = _mm512_shuffle_f64x2::<0xdd>(s[c], s[4 + c]);
                    r[2 + c] = _mm512_shuffle_f64x2::<0x88>(s[2 + c], s[6 + c]);
                    r[6 + c] = _mm512_shuffle_f64x2::<0xdd>(s[2 + c], s[6 + c]);
                }
            }
        }
    }

    impl LoadFrom<f32> for __m512d {
        #[inline(always)]
        unsafe fn widen(p: *const f32) -> Self {
            // SAFETY: the caller lets 8 elements be read.
            unsafe { _mm512_cvtps_pd(_mm256_loadu_ps(p)) }
        }
        #[inline(always)]
        unsafe fn widen_span(p: *const f32, lo: usize, hi: usize) -> Self {
            // SAFETY: masked-off lanes are not accessed.
            unsafe { _mm512_cvtps_pd(_mm256_maskz_loadu_ps(bits(lo, hi) as __mmask8, p)) }
        }
    }

    impl Vector for __m256 {
        type Elem = f32;
        const LANES: usize = 8;

        #[inline(always)]
        unsafe fn splat(x: f32) -> Self {
            // SAFETY: the caller's code is compiled for AVX2 and FMA, here and below.
            unsafe { _mm256_set1_ps(x) }
        }
        #[inline(always)]
        unsafe fn load(p: *const f32) -> Self {
            // SAFETY: the caller lets 8 elements be read.
            unsafe { _mm256_loadu_ps(p) }
        }
        #[inline(always)]
        unsafe fn load_span(p: *const f32, lo: usize, hi: usize) -> Self {
            // SAFETY: masked-off lanes are not accessed.
            unsafe { _mm256_maskload_ps(p, mask8(lo, hi)) }
        }
        #[inline(always)]
        unsafe fn store(self, p: *mut f32) {
            // SAFETY: the caller lets 8 elements be written.
            unsafe { _mm256_storeu_ps(p, self) }
        }
        #[inline(always)]
        unsafe fn store_first(self, p: *mut f32, n: usize) {
            // SAFETY: masked-off lanes are not accessed.
            unsafe { _mm256_maskstore_ps(p, mask8(0, n), self) }
        }
        #[inline(always)]
        unsafe fn fma(self, a: Self, b: Self) -> Self {
            // SAFETY: register arithmetic.
            unsafe { _mm256_fmadd_ps(a, b, self) }
        }
        #[inline(always)]
        unsafe fn add(self, other: Self) -> Self {
            // SAFETY: register arithmetic.
            unsafe { _mm256_add_ps(self, other) }
        }
        #[inline(always)]
        unsafe fn merge(self, other: Self) -> Self {
            // SAFETY: register arithmetic.
            unsafe { _mm256_or_ps(self, other) }
        }
        #[inline(always)]
        unsafe fn sum(self) -> f32 {
            // SAFETY: register arithmetic.
            unsafe {
                let x = _mm_add_ps(_mm256_castps256_ps128(self), _mm256_extractf128_ps::<1>(self));
                let x = _mm_add_ps(x, _mm_movehl_ps(x, x));
                _mm_cvtss_f32(_mm_add_ss(x, _mm_shuffle_ps::<1>(x, x)))
            }
        }
        #[inline(always)]
        unsafe fn sums(all: [Self; 4]) -> [f32; 4] {
            let mut lanes = [0.0; 8];
            // SAFETY: register arithmetic; eight lanes are written.
            unsafe {
                let halves = |x, y| _mm256_add_ps(_mm256_permute2f128_ps::<0x20>(x, y), _mm256_permute2f128_ps::<0x31>(x, y));
                let (low, high) = (halves(all[0], all[1]), halves(all[2], all[3]));
                let x = _mm256_add_ps(_mm256_shuffle_ps::<0x44>(low, high), _mm256_shuffle_ps::<0xee>(low, high));
                let x = _mm256_add_ps(x, _mm256_permute_ps::<0xb1>(x));
                x.store(lanes.as_mut_ptr());
            }
            [lanes[0], lanes[4], lanes[2], lanes[6]]
        }
        #[inline(always)]
        unsafe fn transpose(rows: *mut Self) {
            // SAFETY: the caller passes 8 registers.
            unsafe {
                let r = &mut *rows.cast::<[__m256; 8]>();
                let mut t = [_mm256_setzero_ps(); 8];
                for i in 0..4 {
                    t[2 * i] = _mm256_unpacklo_ps(r[2 * i], r[2 * i + 1]);
                    t[2 * i + 1] = _mm256_unpackhi_ps(r[2 * i], r[2 * i + 1]);
                }
                for i in 0..2 {
                    r[4 * i] = _mm256_shuffle_ps::<0x44>(t[4 * i], t[4 * i + 2]);
                    r[4 * i + 1] = _mm256_shuffle_ps::<0xee>(t[4 * i], t[4 * i + 2]);
                    r[4 * i + 2] = _mm256_shuffle_ps::<0x44>(t[4 * i + 1], t[4 * i + 3]);
                    r[4 * i + 3] = _mm256_shuffle_ps::<0xee>(t[4 * i + 1], t[4 * i + 3]);
                }
                for c in 0..4 {
                    let (low, high) = (r[c], r[4 + c]);
                    r[c] = _mm256_permute2f128_ps::<0x20>(low, high);
                    r[4 + c] = _mm256_permute2f128_ps::<0x31>(low, high);
                }
            }
        }
    }

    impl LoadFrom<bf16> for __m256 {
        #[inline(always)]
        unsafe fn widen(p: *const bf16) -> Self {
            // SAFETY: the caller lets 8 elements be read.
            unsafe { _mm256_castsi256_ps(_mm256_slli_epi32::<16>(_mm256_cvtepu16_epi32(_mm_loadu_si128(p.cast())))) }
        }
        #[inline(always)]
        unsafe fn widen_span(p: *const bf16, lo: usize, hi: usize) -> Self {
            let mut lanes = [bf16::ZERO; 8];
            for lane in lo..hi {
                // SAFETY: the caller lets lanes `lo..hi` be read.
                lanes[lane] = unsafe { *p.wrapping_add(lane) };
            }
            // SAFETY: 8 elements.
            unsafe { Self::widen(lanes.as_ptr()) }
        }
    }

    impl LoadFrom<f16> for __m256 {
        #[inline(always)]
        unsafe fn widen(p: *const f16) -> Self {
            // SAFETY: the caller lets 8 elements be read.
            unsafe { _mm256_cvtph_ps(_mm_loadu_si128(p.cast())) }
        }
        #[inline(always)]
        unsafe fn widen_span(p: *const f16, lo: usize, hi: usize) -> Self {
            let mut lanes = [f16::ZERO; 8];
            for lane in lo..hi {
                // SAFETY: the caller lets lanes `lo..hi` be read.
                lanes[lane] = unsafe { *p.wrapping_add(lane) };
            }
            // SAFETY: 8 elements.
            unsafe { Self::widen(lanes.as_ptr()) }
        }
    }

    impl Vector for __m256d {
        type Elem = f64;
        const LANES: usize = 4;

        #[inline(always)]
        unsafe fn splat(x: f64) -> Self {
            // SAFETY: the caller's code is compiled for AVX2 and FMA, here and below.
            unsafe { _mm256_set1_pd(x) }
        }
        #[inline(always)]
        unsafe fn load(p: *const f64) -> Self {
            // SAFETY: the caller lets 4 elements be read.
            unsafe { _mm256_loadu_pd(p) }
        }
        #[inline(always)]
        unsafe fn load_span(p: *const f64, lo: usize, hi: usize) -> Self {
            // SAFETY: masked-off lanes are not accessed.
            unsafe { _mm256_maskload_pd(p, mask4(lo, hi)) }
        }
        #[inline(always)]
        unsafe fn store(self, p: *mut f64) {
            // SAFETY: the caller lets 4 elements be written.
            unsafe { _mm256_storeu_pd(p, self) }
        }
        #[inline(always)]
        unsafe fn store_first(self, p: *mut f64, n: usize) {
            // SAFETY: masked-off lanes are not accessed.
            unsafe { _mm256_maskstore_pd(p, mask4(0, n), self) }
        }
        #[inline(always)]
        unsafe fn fma(self, a: Self, b: Self) -> Self {
            // SAFETY: register arithmetic.
            unsafe { _mm256_fmadd_pd(a, b, self) }
        }
        #[inline(always)]
        unsafe fn add(self, other: Self) -> Self {
            // SAFETY: register arithmetic.
            unsafe { _mm256_add_pd(self, other) }
        }
        #[inline(always)]
        unsafe fn merge(self, other: Self) -> Self {
            // SAFETY: register arithmetic.
            unsafe { _mm256_or_pd(self, other) }
        }
        #[inline(always)]
        unsafe fn sum(self) -> f64 {
            // SAFETY: register arithmetic.
            unsafe {
                let x = _mm_add_pd(_mm256_castpd256_pd128(self), _mm256_extractf128_pd::<1>(self));
                _mm_cvtsd_f64(_mm_add_sd(x, _mm_unpackhi_pd(x, x)))
            }
        }
        #[inline(always)]
        unsafe fn sums(all: [Self; 4]) -> [f64; 4] {
            let mut lanes = [0.0; 4];
            // SAFETY: register arithmetic; four lanes are written.
            unsafe {
                let halves = |x, y| _mm256_add_pd(_mm256_permute2f128_pd::<0x20>(x, y), _mm256_permute2f128_pd::<0x31>(x, y));
                let (low, high) = (halves(all[0], all[1]), halves(all[2], all[3]));
                _mm256_add_pd(_mm256_unpacklo_pd(low, high), _mm256_unpackhi_pd(low, high)).store(lanes.as_mut_ptr());
            }
            [lanes[0], lanes[2], lanes[1], lanes[3]]
        }
        #[inline(always)]
        unsafe fn transpose(rows: *mut Self) {
            // SAFETY: the caller passes 4 registers.
            unsafe {
                let r = &mut *rows.cast::<[__m256d; 4]>();
                let t = [
                    _mm256_unpacklo_pd(r[0], r[1]),
                    _mm256_unpackhi_pd(r[0], r[1]),
                    _mm256_unpacklo_pd(r[2], r[3]),
                    _mm256_unpackhi_pd(r[2], r[3]),
                ];
                r[0] = _mm256_permute2f128_pd::<0x20>(t[0], t[2]);
                r[1] = _mm256_permute2f128_pd::<0x20>(t[1], t[3]);
                r[2] = _mm256_permute2f128_pd::<0x31>(t[0], t[2]);
                r[3] = _mm256_permute2f128_pd::<0x31>(t[1], t[3]);
            }
        }
    }

    impl LoadFrom<f32> for __m256d {
        #[inline(always)]
        unsafe fn widen(p: *const f32) -> Self {
            // SAFETY: the caller lets 4 elements be read.
            unsafe { _mm256_cvtps_pd(_mm_loadu_ps(p)) }
        }
        #[inline(always)]
        unsafe fn widen_span(p: *const f32, lo: usize, hi: usize) -> Self {
            let mut lanes = [0.0; 4];
            for lane in lo..hi {
                // SAFETY: the caller lets lanes `lo..hi` be read.
                lanes[lane] = unsafe { *p.wrapping_add(lane) };
            }
            // SAFETY: 4 elements.
            unsafe { Self::widen(lanes.as_ptr()) }
        }
    }

    load_from_self!(__m512: f32, __m512d: f64, __m256: f32, __m256d: f64);
}
