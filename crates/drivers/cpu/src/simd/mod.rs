//! Instruction-set tiers, chosen once at run time.

use std::sync::OnceLock;

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

/// The tier in use: the machine's best, or a lower one that `UNIGRAD_CPU_TIER` names (`baseline`, `avx2`, `avx512`: without what came after it).
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

/// Whether products of `bf16` are made of pairs: where the processor has AVX-512 BF16 and `UNIGRAD_CPU_TIER` names no tier.
pub(crate) fn multiplies_bf16_pairs() -> bool {
    static PAIRS: OnceLock<bool> = OnceLock::new();
    *PAIRS.get_or_init(|| has_bf16_pairs() && tier() == Tier::Avx512 && std::env::var("UNIGRAD_CPU_TIER").as_deref() != Ok("avx512"))
}

/// Whether the processor can.
pub(crate) fn has_bf16_pairs() -> bool {
    #[cfg(target_arch = "x86_64")]
    return detect() == Tier::Avx512 && is_x86_feature_detected!("avx512bf16");
    #[cfg(not(target_arch = "x86_64"))]
    return false;
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
    use super::{Tier, detect, has_bf16_pairs, multiplies_bf16_pairs, tier};
    use std::sync::Once;

    /// The tiers that tests run on: all of the machine, or those up to the one that `UNIGRAD_CPU_TIER` names. Says which, and which not.
    pub(crate) fn tiers() -> Vec<Tier> {
        static SAID: Once = Once::new();
        let all = [(Tier::Baseline, "baseline"), (Tier::Avx2, "avx2"), (Tier::Avx512, "avx512")];
        SAID.call_once(|| {
            for (each, name) in all {
                match each {
                    _ if each <= tier() => println!("RAN: the CPU's kernels for {name}"),
                    _ if each <= detect() => println!("NOT RUN: the CPU's kernels for {name}: UNIGRAD_CPU_TIER forbids it"),
                    _ => println!("NOT RUN: the CPU's kernels for {name}: the processor has no such instructions"),
                }
            }
        });
        all.into_iter().map(|(each, _)| each).filter(|each| *each <= tier()).collect()
    }

    /// How tests multiply: on each tier, and on the highest by pairs of `bf16` too, where the processor can and `UNIGRAD_CPU_TIER` allows it.
    pub(crate) fn ways() -> Vec<(Tier, bool)> {
        static SAID: Once = Once::new();
        let pairs = multiplies_bf16_pairs();
        SAID.call_once(|| match (pairs, has_bf16_pairs()) {
            (true, _) => println!("RAN: the CPU's products of bf16 by pairs"),
            (false, true) => println!("NOT RUN: the CPU's products of bf16 by pairs: UNIGRAD_CPU_TIER forbids it"),
            (false, false) => println!("NOT RUN: the CPU's products of bf16 by pairs: the processor has no such instructions"),
        });
        tiers().into_iter().map(|tier| (tier, false)).chain(pairs.then_some((Tier::Avx512, true))).collect()
    }
}
