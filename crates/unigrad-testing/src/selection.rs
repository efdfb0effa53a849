//! How much of the tests a device runs: all of it, or a share where each kernel costs a compiler for processors a tenth of a second.
//!
//! In: a device, the cases of the op table. Out: which variants of which cases it runs, how many random graphs.
//! Always: a share is the same in every run and on every machine, and has every variant of every op at least once: another case for each. Where a kernel
//! takes longest, which is with PoCL, it has every op and every variant, but not all of them together ([`Share::Thin`]).
//! Ops that are composed of others, whose kernels' parts other ops test, run in fewer variants on slow devices ([`Share::Few`]).
//! Never: takes anything away if `UNIGRAD_TEST_FULL=1` asks for all, or `UNIGRAD_OP` for one op. `UNIGRAD_TEST_SHARE=some` asks for a sample.

use crate::{cases::Case, run::Variant};
use rustc_hash::{FxHashMap, FxHashSet, FxHasher};
use std::hash::{Hash, Hasher};
use unigrad_device::Info;
use unigrad_tensor::{DType, Device};

/// Of the cases that have a variant, one in this many runs.
const ONE_IN: usize = 32;
/// Variants of an op in [`Share::Thin`], beside those in f32, f64 and i32: one in so many.
const VARIANTS: usize = 3;
/// Random graphs that a fast device evaluates, and a slow one.
const GRAPHS: (u64, u64) = (2000, 60);

/// The variable that asks for a sample, in a process that repeats what another one does.
pub(crate) const SHARE: &str = "UNIGRAD_TEST_SHARE";

/// What part of the tests is for a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Share {
    /// Everything.
    All,
    /// A sample of everything.
    Some,
    /// Of ops that are composed of others: one case in each of the dtypes that differ most.
    Few,
    /// One of everything: for a device that is like another one.
    Least,
    /// One of each op in the dtypes that differ most, and of some of its other variants: other ones for each op.
    Thin,
}

/// The dtypes that differ most.
fn is_base(variant: Variant) -> bool {
    matches!(variant, Variant::In(DType::F32 | DType::F64) | Variant::Integers(DType::I32))
}

/// Whether all of the tests was asked for (`UNIGRAD_TEST_FULL=1`).
pub fn full() -> bool {
    is_set("UNIGRAD_TEST_FULL")
}

fn is_set(name: &str) -> bool {
    std::env::var(name).is_ok_and(|value| !value.is_empty() && value != "0")
}

/// Whether a compiler for the host's processor makes the device's kernels, which takes a tenth of a second and more for each: a test of many kernels
/// takes a few of its cases there. Never if all of the tests was asked for.
pub fn compiles_slowly(device: &Device) -> bool {
    let info = device.info();
    info.software && !["cpu", crate::INTERPRETER].contains(&info.backend) && !full()
}

/// Whether it is PoCL, whose kernels take longest of all to be compiled; never if all of the tests was asked for.
fn is_slowest(info: &Info) -> bool {
    info.software && info.version.contains("PoCL") && !full()
}

/// These devices without PoCL, if another one's are compiled like them: for tests of what all devices
/// have in common, above their kernels. Never if all of the tests was asked for, or a device by name.
pub fn without_slowest(mut devices: Vec<Device>) -> Vec<Device> {
    if crate::named().is_none() && devices.iter().any(|device| compiles_slowly(device) && !is_slowest(&device.info())) {
        devices.retain(|device| !is_slowest(&device.info()));
    }
    devices
}

/// What [`SHARE`] is for [`Share::Few`].
pub(crate) const FEW: &str = "few";

impl Share {
    /// The share of a device.
    pub fn of(device: &Device) -> Share {
        let info = device.info();
        match (info.software, info.backend, info.ordinal) {
            _ if full() || is_set("UNIGRAD_OP") => Share::All,
            _ if std::env::var(SHARE).is_ok_and(|value| value == "some") => Share::Some,
            (true, backend, _) if backend != crate::INTERPRETER && std::env::var(SHARE).is_ok_and(|value| value == FEW) => Share::Few,
            // It compiles nothing.
            (false, ..) | (_, crate::INTERPRETER, _) => Share::All,
            (true, _, 0) if is_slowest(&info) => Share::Thin,
            (true, _, 0) => Share::Some,
            (true, ..) => Share::Least,
        }
    }

    /// How many random graphs to evaluate.
    pub fn n_graphs(self) -> u64 {
        match self {
            Share::All => GRAPHS.0,
            Share::Some | Share::Few => GRAPHS.1,
            Share::Least | Share::Thin => GRAPHS.1 / 3,
        }
    }

    /// The variants to run, by their case's position.
    pub(crate) fn of_table(self, cases: &[Case], variants: &[Vec<Variant>]) -> FxHashSet<(usize, Variant)> {
        let mut having: FxHashMap<(&str, Variant), Vec<usize>> = FxHashMap::default();
        for (i, (case, variants)) in cases.iter().zip(variants).enumerate() {
            variants.iter().for_each(|variant| having.entry((&case.op, *variant)).or_default().push(i));
        }
        let one_in = match self {
            Share::All => 1,
            Share::Some => ONE_IN,
            Share::Few | Share::Least | Share::Thin => usize::MAX,
        };
        let mut chosen = FxHashSet::default();
        let mut ops: FxHashMap<Variant, Vec<&str>> = FxHashMap::default();
        having.keys().for_each(|(op, variant)| ops.entry(*variant).or_default().push(op));
        ops.values_mut().for_each(|ops| ops.sort_unstable());
        let with_base: FxHashSet<&str> = having.keys().filter(|(_, variant)| is_base(*variant)).map(|(op, _)| *op).collect();
        // Of the ops that have a variant, one in so many, and one at least.
        let is_turn = |(op, variant): (&str, Variant)| {
            let ops = &ops[&variant];
            ops.iter().position(|other| *other == op).is_some_and(|at| at % VARIANTS == position(&variant) % VARIANTS.min(ops.len()))
        };
        for (key, having) in having.iter().map(|(key, having)| (*key, having)) {
            let first = position(&key);
            let is_left = match self {
                Share::Few => !is_base(key.1),
                Share::Thin => !is_base(key.1) && with_base.contains(key.0) && !is_turn(key),
                Share::All | Share::Some | Share::Least => false,
            };
            if is_left {
                continue;
            }
            chosen.extend((0..having.len()).step_by(one_in).map(|i| (having[(first + i) % having.len()], key.1)));
        }
        chosen
    }
}

/// Where a variant of an op begins to take cases: anywhere, but always there.
fn position(key: &impl Hash) -> usize {
    let mut hasher = FxHasher::default();
    key.hash(&mut hasher);
    (hasher.finish() >> 33) as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{cases, run::variants};

    #[test]
    fn a_share_has_every_variant_of_every_op() {
        let cases = cases::parse(include_str!("../goldens/reduce.txt")).unwrap();
        let all: Vec<Vec<Variant>> = cases.iter().map(variants).collect();
        let n_all: usize = all.iter().map(Vec::len).sum();
        let kinds = |chosen: &FxHashSet<(usize, Variant)>| {
            chosen.iter().map(|(i, variant)| (cases[*i].op.clone(), *variant)).collect::<FxHashSet<_>>()
        };
        let [full, some, least, thin] = [Share::All, Share::Some, Share::Least, Share::Thin].map(|share| share.of_table(&cases, &all));
        assert_eq!(full.len(), n_all);
        assert!(least.len() <= some.len() && some.len() < n_all / 4, "{} and {} of {n_all}", least.len(), some.len());
        assert_eq!(kinds(&full), kinds(&some));
        assert_eq!(kinds(&full), kinds(&least));
        assert_eq!(kinds(&full).len(), least.len());
        // Every op, and every variant, with less than all of both.
        let ops = |chosen: &FxHashSet<(usize, Variant)>| chosen.iter().map(|(i, _)| cases[*i].op.clone()).collect::<FxHashSet<_>>();
        let variants = |chosen: &FxHashSet<(usize, Variant)>| chosen.iter().map(|(_, variant)| *variant).collect::<FxHashSet<_>>();
        assert_eq!((ops(&full), variants(&full)), (ops(&thin), variants(&thin)));
        assert!(thin.len() * 3 < least.len() * 2, "{} of {}", thin.len(), least.len());
    }
}
