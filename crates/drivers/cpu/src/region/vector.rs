//! Vectors of `f32` that a chain's values are in: one type per instruction-set tier.
//!
//! In: lanes in memory. Out: lanes after one operation each. A mask is a vector whose lanes have all bits set, or none.
//! Always: an operation is that of the lane kernels, bit for bit: nothing is contracted or approximated.
//! Never: chooses a tier. Methods are inlined into code that is compiled for theirs.

/// A register of [`Vector::LANES`] numbers, or of a mask.
pub(super) trait Vector: Copy {
    const LANES: usize;
    /// Reads `LANES` numbers.
    unsafe fn load(from: *const f32) -> Self;
    /// Writes `LANES` numbers.
    unsafe fn store(self, to: *mut f32);
    /// All lanes `x`.
    unsafe fn splat(x: f32) -> Self;
    unsafe fn add(self, other: Self) -> Self;
    unsafe fn sub(self, other: Self) -> Self;
    unsafe fn mul(self, other: Self) -> Self;
    unsafe fn div(self, other: Self) -> Self;
    unsafe fn sqrt(self) -> Self;
    /// Bit by bit.
    unsafe fn and(self, other: Self) -> Self;
    /// Bit by bit.
    unsafe fn or(self, other: Self) -> Self;
    /// Bit by bit.
    unsafe fn xor(self, other: Self) -> Self;
    /// A mask; false for NaN.
    unsafe fn lt(self, other: Self) -> Self;
    /// A mask; false for NaN.
    unsafe fn le(self, other: Self) -> Self;
    /// A mask; false for NaN.
    unsafe fn eq(self, other: Self) -> Self;
    /// By the mask `self`: lanes of `on` where it is set, of `off` elsewhere.
    unsafe fn choose(self, on: Self, off: Self) -> Self;
}

#[cfg(not(target_arch = "x86_64"))]
pub(super) use lanes::Four;

/// Where no vectors are written out.
#[cfg(not(target_arch = "x86_64"))]
mod lanes {
    use super::Vector;

    /// The baseline of every target: the compiler makes it SSE2 or NEON.
    #[derive(Clone, Copy)]
    #[repr(C, align(16))]
    pub(crate) struct Four([f32; 4]);

    const fn mask(set: bool) -> f32 {
        f32::from_bits(if set { u32::MAX } else { 0 })
    }

    macro_rules! by_lane {
        ($($name:ident = |$a:ident, $b:ident| $e:expr;)*) => {$(
            #[inline(always)]
            unsafe fn $name(self, other: Four) -> Four {
                let f = |$a: f32, $b: f32| -> f32 { $e };
                let ([a, b, c, d], [e, g, h, i]) = (self.0, other.0);
                Four([f(a, e), f(b, g), f(c, h), f(d, i)])
            }
        )*};
    }

    impl Vector for Four {
        const LANES: usize = 4;
        #[inline(always)]
        unsafe fn load(from: *const f32) -> Four {
            // SAFETY: the caller's.
            Four(unsafe { from.cast::<[f32; 4]>().read_unaligned() })
        }
        #[inline(always)]
        unsafe fn store(self, to: *mut f32) {
            // SAFETY: the caller's.
            unsafe { to.cast::<[f32; 4]>().write_unaligned(self.0) }
        }
        #[inline(always)]
        unsafe fn splat(x: f32) -> Four {
            Four([x; 4])
        }
        #[inline(always)]
        unsafe fn sqrt(self) -> Four {
            Four(self.0.map(f32::sqrt))
        }
        by_lane! {
            add = |a, b| a + b;
            sub = |a, b| a - b;
            mul = |a, b| a * b;
            div = |a, b| a / b;
            and = |a, b| f32::from_bits(a.to_bits() & b.to_bits());
            or = |a, b| f32::from_bits(a.to_bits() | b.to_bits());
            xor = |a, b| f32::from_bits(a.to_bits() ^ b.to_bits());
            lt = |a, b| mask(a < b);
            le = |a, b| mask(a <= b);
            eq = |a, b| mask(a == b);
        }
        #[inline(always)]
        unsafe fn choose(self, on: Four, off: Four) -> Four {
            let mut to = off;
            for i in 0..4 {
                let bits = self.0[i].to_bits();
                to.0[i] = f32::from_bits(bits & on.0[i].to_bits() | !bits & off.0[i].to_bits());
            }
            to
        }
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::Vector;
    use std::arch::x86_64::*;

    macro_rules! vector {
        ($v:ident: $lanes:literal, $load:ident, $store:ident, $splat:ident, $sqrt:ident;
            choose = |$m:ident, $on:ident, $off:ident| $choose:expr; $($name:ident = |$a:ident, $b:ident| $e:expr;)*) => {
            impl Vector for $v {
                const LANES: usize = $lanes;
                #[inline(always)]
                unsafe fn load(from: *const f32) -> $v {
                    // SAFETY: the caller's.
                    unsafe { $load(from) }
                }
                #[inline(always)]
                unsafe fn store(self, to: *mut f32) {
                    // SAFETY: the caller's.
                    unsafe { $store(to, self) }
                }
                #[inline(always)]
                unsafe fn splat(x: f32) -> $v {
                    // SAFETY: the caller's.
                    unsafe { $splat(x) }
                }
                #[inline(always)]
                unsafe fn sqrt(self) -> $v {
                    // SAFETY: the caller's.
                    unsafe { $sqrt(self) }
                }
                $(
                    #[inline(always)]
                    unsafe fn $name(self, other: $v) -> $v {
                        let ($a, $b) = (self, other);
                        // SAFETY: the caller's.
                        unsafe { $e }
                    }
                )*
                #[inline(always)]
                unsafe fn choose(self, $on: $v, $off: $v) -> $v {
                    let $m = self;
                    // SAFETY: the caller's.
                    unsafe { $choose }
                }
            }
        };
    }

    vector! { __m128: 4, _mm_loadu_ps, _mm_storeu_ps, _mm_set1_ps, _mm_sqrt_ps;
        choose = |m, on, off| _mm_or_ps(_mm_and_ps(m, on), _mm_andnot_ps(m, off));
        add = |a, b| _mm_add_ps(a, b);
        sub = |a, b| _mm_sub_ps(a, b);
        mul = |a, b| _mm_mul_ps(a, b);
        div = |a, b| _mm_div_ps(a, b);
        and = |a, b| _mm_and_ps(a, b);
        or = |a, b| _mm_or_ps(a, b);
        xor = |a, b| _mm_xor_ps(a, b);
        lt = |a, b| _mm_cmplt_ps(a, b);
        le = |a, b| _mm_cmple_ps(a, b);
        eq = |a, b| _mm_cmpeq_ps(a, b);
    }

    vector! { __m256: 8, _mm256_loadu_ps, _mm256_storeu_ps, _mm256_set1_ps, _mm256_sqrt_ps;
        choose = |m, on, off| _mm256_blendv_ps(off, on, m);
        add = |a, b| _mm256_add_ps(a, b);
        sub = |a, b| _mm256_sub_ps(a, b);
        mul = |a, b| _mm256_mul_ps(a, b);
        div = |a, b| _mm256_div_ps(a, b);
        and = |a, b| _mm256_and_ps(a, b);
        or = |a, b| _mm256_or_ps(a, b);
        xor = |a, b| _mm256_xor_ps(a, b);
        lt = |a, b| _mm256_cmp_ps::<_CMP_LT_OQ>(a, b);
        le = |a, b| _mm256_cmp_ps::<_CMP_LE_OQ>(a, b);
        eq = |a, b| _mm256_cmp_ps::<_CMP_EQ_OQ>(a, b);
    }

    vector! { __m512: 16, _mm512_loadu_ps, _mm512_storeu_ps, _mm512_set1_ps, _mm512_sqrt_ps;
        choose = |m, on, off| _mm512_mask_blend_ps(_mm512_movepi32_mask(_mm512_castps_si512(m)), off, on);
        add = |a, b| _mm512_add_ps(a, b);
        sub = |a, b| _mm512_sub_ps(a, b);
        mul = |a, b| _mm512_mul_ps(a, b);
        div = |a, b| _mm512_div_ps(a, b);
        and = |a, b| _mm512_and_ps(a, b);
        or = |a, b| _mm512_or_ps(a, b);
        xor = |a, b| _mm512_xor_ps(a, b);
        lt = |a, b| _mm512_castsi512_ps(_mm512_movm_epi32(_mm512_cmp_ps_mask::<_CMP_LT_OQ>(a, b)));
        le = |a, b| _mm512_castsi512_ps(_mm512_movm_epi32(_mm512_cmp_ps_mask::<_CMP_LE_OQ>(a, b)));
        eq = |a, b| _mm512_castsi512_ps(_mm512_movm_epi32(_mm512_cmp_ps_mask::<_CMP_EQ_OQ>(a, b)));
    }
}
