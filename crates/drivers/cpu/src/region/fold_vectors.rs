//! Folds of rows of `f32` in registers: the tree of [`fold`](super::fold), written out for the vectors of each tier.
//!
//! In: the lanes of a row. Out: their sum, product or extreme.
//! Always: the operations of [`fold::part`](super::fold::part) in its order, bit for bit.
//! Never: takes a row that has fewer lanes than the widest register, or so many that its tree is a wider one; reads beyond the last row.

use super::fold::{FOLD, SHORT_FOLD, WIDE};
use super::kernels::{Add, EXTREMES, Max, Min, Mul};
use super::vector::Vector;

/// A vector whose halves can be joined until four lanes are left.
pub(super) trait Tree: Vector {
    /// # Safety
    /// The machine has the instructions of `Self`.
    unsafe fn four<J: Join>(self) -> [f32; 4];
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::{Join, Tree, Vector};
    use std::arch::x86_64::*;

    impl Tree for __m128 {
        #[inline(always)]
        unsafe fn four<J: Join>(self) -> [f32; 4] {
            let mut four = [0.0; 4];
            // SAFETY: the caller's; there are four.
            unsafe { self.store(four.as_mut_ptr()) };
            four
        }
    }

    impl Tree for __m256 {
        #[inline(always)]
        unsafe fn four<J: Join>(self) -> [f32; 4] {
            // SAFETY: the caller's.
            unsafe { J::join(_mm256_castps256_ps128(self), _mm256_extractf128_ps::<1>(self)).four::<J>() }
        }
    }

    impl Tree for __m512 {
        #[inline(always)]
        unsafe fn four<J: Join>(self) -> [f32; 4] {
            // SAFETY: the caller's.
            unsafe { J::join(_mm512_castps512_ps256(self), _mm512_extractf32x8_ps::<1>(self)).four::<J>() }
        }
    }
}

#[cfg(not(target_arch = "x86_64"))]
impl Tree for super::vector::Four {
    #[inline(always)]
    unsafe fn four<J: Join>(self) -> [f32; 4] {
        let mut four = [0.0; 4];
        // SAFETY: the caller's; there are four.
        unsafe { self.store(four.as_mut_ptr()) };
        four
    }
}

/// Two partial results to one, the one of earlier lanes first.
pub(super) trait Join {
    /// # Safety
    /// The machine has the instructions of `V`.
    unsafe fn join<V: Vector>(a: V, b: V) -> V;
    fn join_one(a: f32, b: f32) -> f32;
}

/// How a reduction of `f32` folds a row.
pub(super) trait FoldRow {
    /// In a row of fewer lanes than [`EXTREMES`].
    type Few: Join;
    /// In one of at least as many.
    type Many: Join;
    /// Whether those differ: then many lanes are kept apart in another number, and a NaN is looked for by itself.
    const IS_EXTREME: bool;
}

macro_rules! joins {
    ($($name:ty: |$a:ident, $b:ident| $vector:expr, $one:expr;)*) => {$(
        impl Join for $name {
            #[inline(always)]
            unsafe fn join<V: Vector>($a: V, $b: V) -> V {
                // SAFETY: the caller's.
                unsafe { $vector }
            }
            #[inline(always)]
            fn join_one($a: f32, $b: f32) -> f32 {
                $one
            }
        }
    )*};
}
joins! {
    Add<f32>: |a, b| a.add(b), a + b;
    Mul<f32>: |a, b| a.mul(b), a * b;
    Max<f32>: |a, b| b.lt(a).or(not_a_number(a)).choose(a, b), if (a > b) | a.is_nan() { a } else { b };
    Min<f32>: |a, b| a.lt(b).or(not_a_number(a)).choose(a, b), if (a < b) | a.is_nan() { a } else { b };
    Above: |a, b| a.lt(b).or(not_a_number(b)).choose(b, a), if (b > a) | b.is_nan() { b } else { a };
    Below: |a, b| b.lt(a).or(not_a_number(b)).choose(b, a), if (b < a) | b.is_nan() { b } else { a };
}

/// The second where it is above the first, or NaN: of equals the first, as a fold of many lanes has it.
pub(super) struct Above;

/// The second where it is below the first, or NaN.
pub(super) struct Below;

/// # Safety
/// The machine has the instructions of `V`.
#[inline(always)]
unsafe fn not_a_number<V: Vector>(x: V) -> V {
    // SAFETY: the caller's.
    unsafe { x.eq(x).xor(V::splat(f32::from_bits(u32::MAX))) }
}

macro_rules! rows {
    ($($name:ident $few:ty, $many:ty, $extreme:literal;)*) => {$(
        impl FoldRow for $name<f32> {
            type Few = $few;
            type Many = $many;
            const IS_EXTREME: bool = $extreme;
        }
    )*};
}
rows! {
    Add Add<f32>, Add<f32>, false;
    Mul Mul<f32>, Mul<f32>, false;
    Max Max<f32>, Above, true;
    Min Min<f32>, Below, true;
}

/// The lengths of rows that [`fold_row`] takes.
pub(super) const LENGTHS: std::ops::Range<usize> = SHORT_FOLD..2 * WIDE;

/// Folds a row of `len` lanes, one of [`LENGTHS`]; `more` if as many lanes again may be read behind it.
///
/// # Safety
/// `row` has the lanes, and the machine the instructions of `V`.
#[inline(always)]
pub(super) unsafe fn fold_row<V: Tree, F: FoldRow>(row: *const f32, len: usize, more: bool) -> f32 {
    // SAFETY: the caller's.
    unsafe {
        if len < FOLD {
            return lanes::<V, F::Few, SHORT_FOLD>(row, len, more);
        }
        if !F::IS_EXTREME || len < EXTREMES {
            return lanes::<V, F::Few, FOLD>(row, len, more);
        }
        let extreme = lanes::<V, F::Many, EXTREMES>(row, len, more);
        if !extreme.is_nan() {
            return extreme;
        }
        // The first one, where there are several.
        let all = std::slice::from_raw_parts(row, len);
        all.iter().copied().find(|x| x.is_nan()).unwrap_or(extreme)
    }
}

/// The most registers that lanes are kept apart in.
const REGISTERS: usize = EXTREMES / 4;

/// Masks of the first lanes of a register: from lane `16 - n` on, `n` are set.
static FIRST: [u32; 32] = {
    let mut masks = [0; 32];
    let mut i = 0;
    while i < 16 {
        masks[i] = u32::MAX;
        i += 1;
    }
    masks
};

/// Folds a row of at least `K` lanes, keeping `K` apart, in halves from there on.
///
/// # Safety
/// As for [`fold_row`].
#[inline(always)]
unsafe fn lanes<V: Tree, J: Join, const K: usize>(row: *const f32, len: usize, more: bool) -> f32 {
    let n = K / V::LANES;
    // SAFETY: the caller's; what is read behind the row is fewer lanes than the row has.
    unsafe {
        let mut acc = [V::splat(0.0); REGISTERS];
        for j in 0..n {
            acc[j] = V::load(row.add(j * V::LANES));
        }
        let mut at = K;
        while at + K <= len {
            for j in 0..n {
                acc[j] = J::join(acc[j], V::load(row.add(at + j * V::LANES)));
            }
            at += K;
        }
        let rest = len - at;
        if rest > 0 {
            for j in 0..n {
                let here = rest.saturating_sub(j * V::LANES).min(V::LANES);
                if here == V::LANES {
                    acc[j] = J::join(acc[j], V::load(row.add(at + j * V::LANES)));
                } else if here > 0 {
                    let from = row.add(at + j * V::LANES);
                    let x = if more { V::load(from) } else { some::<V>(from, here) };
                    let mask = V::load(FIRST.as_ptr().add(16 - here).cast());
                    acc[j] = mask.choose(J::join(acc[j], x), acc[j]);
                }
            }
        }
        // Written out, so that each has fixed bounds.
        for width in [16, 8, 4, 2, 1] {
            if n >= 2 * width {
                for j in 0..width {
                    acc[j] = J::join(acc[j], acc[j + width]);
                }
            }
        }
        let [a, b, c, d] = acc[0].four::<J>();
        J::join_one(J::join_one(a, c), J::join_one(b, d))
    }
}

/// The first `n` lanes of a vector, of which there are no more; zeros behind them.
///
/// # Safety
/// As for [`fold_row`]; `n` is below the vector's lanes.
#[inline(always)]
unsafe fn some<V: Vector>(from: *const f32, n: usize) -> V {
    let mut lanes = [0.0f32; 16];
    for (i, lane) in lanes.iter_mut().enumerate().take(n) {
        // SAFETY: the caller's.
        *lane = unsafe { from.add(i).read() };
    }
    // SAFETY: the caller's; no vector has more.
    unsafe { V::load(lanes.as_ptr()) }
}
