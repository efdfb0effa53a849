//! Instruction-set tiers, chosen once at run time.

#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
mod amx;

use std::sync::OnceLock;
use unigrad_device::Config;

/// What the machine can do, from least to most.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[cfg_attr(not(target_arch = "x86_64"), allow(dead_code))]
pub(crate) enum Tier {
    /// The target's baseline: SSE2 on x86-64, NEON on aarch64.
    Baseline,
    /// AVX2 and FMA.
    Avx2,
    /// AVX-512 F, BW, DQ, VL.
    Avx512,
}

/// The tier in use: the machine's best, or a lower one that `UNIGRAD_CPU_TIER` names (`baseline`, `avx2`; higher ones are [`bf16`]'s matter).
pub(crate) fn tier() -> Tier {
    static TIER: OnceLock<Tier> = OnceLock::new();
    *TIER.get_or_init(|| {
        let best = detect();
        match std::env::var("UNIGRAD_CPU_TIER").as_deref() {
            Ok("baseline") => Tier::Baseline,
            Ok("avx2") => best.min(Tier::Avx2),
            _ => best,
        }
    })
}

/// How products of `bf16` are made.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(not(target_arch = "x86_64"), allow(dead_code))]
pub(crate) enum Bf16 {
    /// Operands are widened to `f32` while they are packed.
    Widened,
    /// By AVX-512 BF16, two steps of `k` at a time.
    Pairs,
    /// By AMX, 16 rows of 32 steps at a time.
    Tiles,
    /// The panels of tiles, multiplied by plain loops.
    #[cfg(test)]
    Model,
}

impl Bf16 {
    /// What is set by `UNIGRAD_CPU_TIER` to have no more than this.
    fn most() -> Bf16 {
        match std::env::var("UNIGRAD_CPU_TIER").as_deref() {
            Ok("baseline" | "avx2" | "avx512") => Bf16::Widened,
            Ok("avx512bf16") => Bf16::Pairs,
            _ => Bf16::Tiles,
        }
    }
}

/// The way in use: tiles where the processor has them. Elsewhere pairs, if they are faster than widened operands, as on some processors they are not: that is
/// measured once, in some 0.2 ms, unless `UNIGRAD_REPRODUCIBLE` is on. `UNIGRAD_CPU_TIER` may forbid either.
pub(crate) fn bf16() -> Bf16 {
    static WAY: OnceLock<Bf16> = OnceLock::new();
    *WAY.get_or_init(|| {
        let most = Bf16::most();
        if most == Bf16::Tiles && has_tiles() {
            return Bf16::Tiles;
        }
        let may_pair = matches!(most, Bf16::Tiles | Bf16::Pairs) && has_pairs();
        if may_pair && (Config::current_or_default().reproducible || pairs_win()) { Bf16::Pairs } else { Bf16::Widened }
    })
}

#[cfg(target_arch = "x86_64")]
fn pairs_win() -> bool {
    crate::contract::kernel::pairs_win()
}
#[cfg(not(target_arch = "x86_64"))]
fn pairs_win() -> bool {
    false
}

/// Whether the processor multiplies pairs of `bf16`.
fn has_pairs() -> bool {
    #[cfg(target_arch = "x86_64")]
    return detect() == Tier::Avx512 && is_x86_feature_detected!("avx512bf16");
    #[cfg(not(target_arch = "x86_64"))]
    return false;
}

/// Whether the processor multiplies tiles of `bf16`, and the system lets this process use them.
fn has_tiles() -> bool {
    #[cfg(all(target_arch = "x86_64", target_os = "linux"))]
    return amx::is_usable() && detect() == Tier::Avx512;
    #[cfg(not(all(target_arch = "x86_64", target_os = "linux")))]
    return false;
}

/// Asks for the line of memory at `at`, which need not exist, into the second-level cache; `NEAR` says into the first-level one.
#[inline(always)]
pub(crate) fn ask_for<const NEAR: bool>(at: *const u8) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: asking reads nothing, and an address that does not exist is ignored.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _MM_HINT_T1, _mm_prefetch};
        if NEAR {
            _mm_prefetch::<_MM_HINT_T0>(at.cast());
        } else {
            _mm_prefetch::<_MM_HINT_T1>(at.cast());
        }
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: as above.
    unsafe {
        if NEAR {
            std::arch::asm!("prfm pldl1keep, [{}]", in(reg) at, options(nostack, readonly, preserves_flags));
        } else {
            std::arch::asm!("prfm pldl2keep, [{}]", in(reg) at, options(nostack, readonly, preserves_flags));
        }
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    let _ = at;
}

#[cfg(target_arch = "x86_64")]
fn detect() -> Tier {
    let avx2 = is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") && is_x86_feature_detected!("f16c");
    let avx512 = is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512bw")
        && is_x86_feature_detected!("avx512dq")
        && is_x86_feature_detected!("avx512vl");
    match (avx2, avx512) {
        (true, true) => Tier::Avx512,
        (true, false) => Tier::Avx2,
        _ => Tier::Baseline,
    }
}

#[cfg(not(target_arch = "x86_64"))]
fn detect() -> Tier {
    Tier::Baseline
}

#[cfg(test)]
pub(crate) mod tests {
    use super::{Bf16, Tier, detect, has_pairs, has_tiles, tier};
    use std::sync::Once;

    /// The tiers that tests run on: all of the machine, or those up to the one that `UNIGRAD_CPU_TIER` names. Says which, and which not.
    pub(crate) fn tiers() -> Vec<Tier> {
        static SAID: Once = Once::new();
        let all = [(Tier::Baseline, "baseline"), (Tier::Avx2, "avx2"), (Tier::Avx512, "avx512")];
        SAID.call_once(|| {
            for (each, name) in all {
                if each <= tier() {
                    println!("RAN: the CPU's kernels for {name}");
                } else if each <= detect() {
                    println!("NOT RUN: the CPU's kernels for {name}: UNIGRAD_CPU_TIER forbids it");
                } else {
                    println!("NOT RUN: the CPU's kernels for {name}: the processor has no such instructions");
                }
            }
        });
        all.into_iter().map(|(each, _)| each).filter(|each| *each <= tier()).collect()
    }

    /// How tests multiply: on each tier, and on the highest by each way that the processor has and `UNIGRAD_CPU_TIER` allows, and by the model of tiles.
    pub(crate) fn ways() -> Vec<(Tier, Bf16)> {
        static SAID: Once = Once::new();
        let most = Bf16::most();
        let ways = [
            (Bf16::Pairs, "by pairs", has_pairs(), most != Bf16::Widened),
            (Bf16::Tiles, "by tiles", has_tiles(), most == Bf16::Tiles),
            (Bf16::Model, "by plain loops over the panels of tiles", detect() == Tier::Avx512, most == Bf16::Tiles),
        ];
        SAID.call_once(|| {
            for (_, name, has, allowed) in ways {
                match (has, allowed) {
                    (true, true) => println!("RAN: the CPU's products of bf16 {name}"),
                    (true, false) => println!("NOT RUN: the CPU's products of bf16 {name}: UNIGRAD_CPU_TIER forbids it"),
                    (false, _) => println!("NOT RUN: the CPU's products of bf16 {name}: the processor has no such instructions"),
                }
            }
        });
        let more = ways.into_iter().filter(|way| way.2 && way.3).map(|way| (Tier::Avx512, way.0));
        tiers().into_iter().map(|tier| (tier, Bf16::Widened)).chain(more).collect()
    }
}
