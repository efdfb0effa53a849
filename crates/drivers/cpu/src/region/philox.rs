//! Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", 2011).

use crate::simd::Tier;

/// Word `word` of the block with counter `(lo(index), hi(index), lo(offset), hi(offset))` and key `seed`, for each index.
pub(super) fn words(tier: Tier, d: &mut [u32], seed: u64, offset: u64, index: &[u64], word: u8) {
    match tier {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: the tier says that the machine has these features.
        Tier::Avx512 => unsafe { avx512(d, seed, offset, index, word) },
        #[cfg(target_arch = "x86_64")]
        // SAFETY: as above.
        Tier::Avx2 => unsafe { avx2(d, seed, offset, index, word) },
        _ => body(d, seed, offset, index, word),
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
fn avx512(d: &mut [u32], seed: u64, offset: u64, index: &[u64], word: u8) {
    body(d, seed, offset, index, word);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn avx2(d: &mut [u32], seed: u64, offset: u64, index: &[u64], word: u8) {
    body(d, seed, offset, index, word);
}

#[inline(always)]
fn body(d: &mut [u32], seed: u64, offset: u64, index: &[u64], word: u8) {
    match word & 3 {
        0 => lanes::<0>(d, seed, offset, index),
        1 => lanes::<1>(d, seed, offset, index),
        2 => lanes::<2>(d, seed, offset, index),
        _ => lanes::<3>(d, seed, offset, index),
    }
}

#[inline(always)]
fn lanes<const WORD: usize>(d: &mut [u32], seed: u64, offset: u64, index: &[u64]) {
    for (d, index) in d.iter_mut().zip(index) {
        *d = philox4x32_10([*index as u32, (*index >> 32) as u32, offset as u32, (offset >> 32) as u32], seed)[WORD];
    }
}

#[inline(always)]
fn philox4x32_10(mut c: [u32; 4], seed: u64) -> [u32; 4] {
    let (mut k0, mut k1) = (seed as u32, (seed >> 32) as u32);
    for _ in 0..10 {
        let p0 = u64::from(c[0]) * 0xD251_1F53;
        let p1 = u64::from(c[2]) * 0xCD9E_8D57;
        c = [(p1 >> 32) as u32 ^ c[1] ^ k0, p1 as u32, (p0 >> 32) as u32 ^ c[3] ^ k1, p0 as u32];
        k0 = k0.wrapping_add(0x9E37_79B9);
        k1 = k1.wrapping_add(0xBB67_AE85);
    }
    c
}

#[cfg(test)]
mod tests {
    use super::*;

    // Known answers of the Random123 distribution.
    #[test]
    fn known_answers() {
        assert_eq!(philox4x32_10([0; 4], 0), [0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8]);
        assert_eq!(philox4x32_10([u32::MAX; 4], u64::MAX), [0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd]);
        let counter = [0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344];
        assert_eq!(philox4x32_10(counter, 0x299f31d0_a4093822), [0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1]);
    }
}
