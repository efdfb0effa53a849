//! From blocks of sums to memory: conversion to the stored dtype and any strides.

use super::kernel::Compute;
use crate::simd::Tier;
use half::{bf16, f16};
use std::any::TypeId;
use unigrad_scalar::DType;

/// An element type that sums can be stored as.
pub(crate) trait Stored<T>: Copy {
    fn from_sum(sum: T) -> Self;
}

macro_rules! stored {
    ($($t:ty),*) => { $(
        stored!(@each $t; u8 i8 u16 i16 u32 i32 u64 i64 f32 f64);
        impl Stored<$t> for bool {
            #[inline(always)]
            fn from_sum(sum: $t) -> bool {
                sum != 0 as $t
            }
        }
        impl Stored<$t> for bf16 {
            #[inline(always)]
            fn from_sum(sum: $t) -> bf16 {
                bf16::from_bits(round_bf16(sum as f32))
            }
        }
        impl Stored<$t> for f16 {
            #[inline(always)]
            fn from_sum(sum: $t) -> f16 {
                f16::from_f32(sum as f32)
            }
        }
    )* };
    (@each $t:ty; $($s:ty)*) => { $(
        impl Stored<$t> for $s {
            #[inline(always)]
            fn from_sum(sum: $t) -> $s {
                sum as $s
            }
        }
    )* };
}
stored!(f32, f64, i32, i64);

/// Round to nearest even, without branches, so that loops over it vectorise.
#[inline(always)]
fn round_bf16(x: f32) -> u16 {
    let bits = x.to_bits();
    let rounded = (bits.wrapping_add(0x7fff + ((bits >> 16) & 1)) >> 16) as u16;
    if x.is_nan() { (bits >> 16) as u16 | 0x40 } else { rounded }
}

/// What stores a block: `sums[row * ld + col]` to `out[rows[row] + cols[col]]`.
pub(crate) struct Store<'a, T> {
    pub(crate) tier: Tier,
    pub(crate) sums: *const T,
    pub(crate) ld: usize,
    pub(crate) out: *mut u8,
    pub(crate) rows: &'a [i64],
    pub(crate) cols: &'a [i64],
}

/// A compute type that can be stored as every dtype.
pub(crate) trait StoreAs: Compute {
    /// # Safety
    /// `sums` holds the block, and all `rows[i] + cols[j]` of `out` are writable elements of `dtype`.
    unsafe fn store(block: &Store<'_, Self>, dtype: DType);
}

macro_rules! store_as {
    ($($t:ty),*) => { $(
        impl StoreAs for $t {
            unsafe fn store(block: &Store<'_, $t>, dtype: DType) {
                // SAFETY: the caller's.
                unsafe {
                    match dtype {
                        DType::Bool => put::<$t, bool>(block),
                        // 8-bit floats are codes; the driver takes no kernel that has them by name.
                        DType::U8 | DType::F8E4M3 | DType::F8E5M2 => put::<$t, u8>(block),
                        DType::I8 => put::<$t, i8>(block),
                        DType::U16 => put::<$t, u16>(block),
                        DType::I16 => put::<$t, i16>(block),
                        DType::U32 => put::<$t, u32>(block),
                        DType::I32 => put::<$t, i32>(block),
                        DType::U64 => put::<$t, u64>(block),
                        DType::I64 => put::<$t, i64>(block),
                        DType::F16 => put::<$t, f16>(block),
                        DType::BF16 => put::<$t, bf16>(block),
                        DType::F32 => put::<$t, f32>(block),
                        DType::F64 => put::<$t, f64>(block),
                    }
                }
            }
        }
    )* };
}
store_as!(f32, f64, i32, i64);

/// Stores a run of contiguous elements.
///
/// # Safety
/// Both hold `n` elements, and the machine has the tier.
#[cfg_attr(not(target_arch = "x86_64"), allow(unused_variables))]
unsafe fn put_run<T: Copy + 'static, S: Stored<T> + 'static>(tier: Tier, from: *const T, to: *mut S, n: usize) {
    // SAFETY: the caller's; where the types are the same, so are the bytes.
    unsafe {
        if TypeId::of::<T>() == TypeId::of::<S>() {
            std::ptr::copy_nonoverlapping(from.cast::<S>(), to, n);
            return;
        }
        #[cfg(target_arch = "x86_64")]
        if TypeId::of::<T>() == TypeId::of::<f32>() && tier == Tier::Avx512 {
            if TypeId::of::<S>() == TypeId::of::<bf16>() {
                return narrow_bf16(from.cast(), to.cast(), n);
            }
            if TypeId::of::<S>() == TypeId::of::<f16>() {
                return narrow_f16(from.cast(), to.cast(), n);
            }
        }
        for i in 0..n {
            *to.add(i) = S::from_sum(*from.add(i));
        }
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
unsafe fn narrow_bf16(from: *const f32, to: *mut u16, n: usize) {
    for i in 0..n {
        // SAFETY: the caller's.
        unsafe { *to.add(i) = round_bf16(*from.add(i)) }
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
unsafe fn narrow_f16(from: *const f32, to: *mut u16, n: usize) {
    use std::arch::x86_64::*;
    let mut i = 0;
    while i < n {
        let left = n - i;
        let mask = if left >= 16 { u16::MAX } else { (1 << left) - 1 };
        // SAFETY: masked-off lanes are not accessed.
        unsafe {
            let x = _mm512_cvtps_ph::<_MM_FROUND_TO_NEAREST_INT>(_mm512_maskz_loadu_ps(mask, from.add(i)));
            _mm256_mask_storeu_epi16(to.add(i).cast(), mask, x);
        }
        i += 16;
    }
}

unsafe fn put<T: Copy + 'static, S: Stored<T> + 'static>(block: &Store<'_, T>) {
    let out = block.out.cast::<S>();
    let contiguous = |offsets: &[i64]| offsets.windows(2).all(|pair| pair[1] == pair[0] + 1);
    // The length of the first contiguous run of columns: rows of an image, mostly.
    let run = 1 + block.cols.windows(2).take_while(|pair| pair[1] == pair[0] + 1).count();
    // SAFETY: see `StoreAs::store`.
    unsafe {
        if run == block.cols.len() {
            for (i, row) in block.rows.iter().enumerate() {
                put_run::<T, S>(block.tier, block.sums.add(i * block.ld), out.wrapping_offset((row + block.cols[0]) as isize), run);
            }
        } else if run >= 4 {
            let mut j = 0;
            while j < block.cols.len() {
                let n = 1 + block.cols[j..].windows(2).take_while(|pair| pair[1] == pair[0] + 1).count();
                for (i, row) in block.rows.iter().enumerate() {
                    put_run::<T, S>(block.tier, block.sums.add(i * block.ld + j), out.wrapping_offset((row + block.cols[j]) as isize), n);
                }
                j += n;
            }
        } else if contiguous(block.rows) {
            for (j, col) in block.cols.iter().enumerate() {
                let to = out.wrapping_offset((col + block.rows[0]) as isize);
                for i in 0..block.rows.len() {
                    *to.add(i) = S::from_sum(*block.sums.add(i * block.ld + j));
                }
            }
        } else {
            for (i, row) in block.rows.iter().enumerate() {
                for (j, col) in block.cols.iter().enumerate() {
                    *out.wrapping_offset((row + col) as isize) = S::from_sum(*block.sums.add(i * block.ld + j));
                }
            }
        }
    }
}
