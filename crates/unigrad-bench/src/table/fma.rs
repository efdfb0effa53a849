//! Multiply-adds in the registers of all cores: what a processor computes at most in f32.
//!
//! Always: sums that do not depend on each other hide the latency; the widest vectors that the processor has are used.

use std::time::Instant;

/// Rounds of a try, each of [`CHAINS`] vectors.
const ROUNDS: usize = 1 << 20;
/// Sums that are under way together.
const CHAINS: usize = 12;
const TRIES: usize = 20;

/// GFLOP/s; `None` where this processor's vectors are not known here.
pub(super) fn gflop_per_s(threads: Option<usize>) -> Option<f64> {
    let (lanes, kernel) = kernel()?;
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let threads = threads.unwrap_or(cores).clamp(1, cores);
    let mut best: f64 = 0.0;
    for _ in 0..TRIES {
        let begin = Instant::now();
        std::thread::scope(|scope| {
            for _ in 0..threads {
                scope.spawn(|| std::hint::black_box(kernel(std::hint::black_box(0.5))));
            }
        });
        let flops = (2 * threads * ROUNDS * CHAINS * lanes) as f64;
        best = best.max(flops / begin.elapsed().as_secs_f64().max(1e-9) / 1e9);
    }
    Some(best)
}

type Work = fn(f32) -> f32;

#[cfg(target_arch = "x86_64")]
fn kernel() -> Option<(usize, Work)> {
    if is_x86_feature_detected!("avx512f") {
        // SAFETY: the processor has the feature.
        return Some((16, |x| unsafe { x86::wide(x) }));
    }
    if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
        // SAFETY: the processor has both features.
        return Some((8, |x| unsafe { x86::narrow(x) }));
    }
    None
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::{CHAINS, ROUNDS};
    use std::arch::x86_64::*;

    /// Multiply-adds of sixteen lanes.
    #[target_feature(enable = "avx512f")]
    pub(super) fn wide(x: f32) -> f32 {
        let factor = _mm512_set1_ps(x);
        let mut sums = [_mm512_set1_ps(1.0); CHAINS];
        for _ in 0..ROUNDS {
            for sum in &mut sums {
                *sum = _mm512_fmadd_ps(*sum, factor, factor);
            }
        }
        sums.iter().map(|sum| _mm512_reduce_add_ps(*sum)).sum()
    }

    /// Multiply-adds of eight lanes.
    #[target_feature(enable = "avx2,fma")]
    pub(super) fn narrow(x: f32) -> f32 {
        let factor = _mm256_set1_ps(x);
        let mut sums = [_mm256_set1_ps(1.0); CHAINS];
        for _ in 0..ROUNDS {
            for sum in &mut sums {
                *sum = _mm256_fmadd_ps(*sum, factor, factor);
            }
        }
        sums.iter().map(|sum| _mm256_cvtss_f32(*sum)).sum()
    }
}

#[cfg(target_arch = "aarch64")]
fn kernel() -> Option<(usize, Work)> {
    use std::arch::aarch64::*;

    #[target_feature(enable = "neon")]
    fn neon(x: f32) -> f32 {
        let factor = vdupq_n_f32(x);
        let mut sums = [vdupq_n_f32(1.0); CHAINS];
        for _ in 0..ROUNDS {
            for sum in &mut sums {
                *sum = vfmaq_f32(factor, *sum, factor);
            }
        }
        sums.iter().map(|sum| vaddvq_f32(*sum)).sum()
    }
    // SAFETY: every processor of this family has NEON.
    Some((4, |x| unsafe { neon(x) }))
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn kernel() -> Option<(usize, Work)> {
    None
}
