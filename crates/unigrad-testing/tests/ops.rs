//! The op table, family by family, on every device, and a sample of it on every lower tier of the CPU. `UNIGRAD_OP=softmax` runs the cases of one op, `UNIGRAD_TEST_FULL=1` all of them on slow
//! devices too.

use std::collections::BTreeSet;
use unigrad_tensor::registry;
use unigrad_testing::{
    cases::{self, Case},
    fast_devices, few_on_slow_devices, functions, on_lower_tiers, on_slow_devices, run, watch,
};

/// Families of ops that are composed of others.
const COMPOSED: &[&str] = &[
    "special",
    "rest",
    "math",
    "activation",
    "statistics",
    "arrange",
    "select",
    "networks",
    "margins",
    "edges",
    "functions_by_definition",
];

fn check(family: &str, mut cases: Vec<Case>) {
    let wanted = std::env::var("UNIGRAD_OP").ok();
    cases.retain(|case| wanted.as_ref().is_none_or(|op| *op == case.op));
    if cases.is_empty() {
        return;
    }
    watch::plans();
    let here = run::run(&cases, &fast_devices()).print();
    let apart = if COMPOSED.contains(&family) { few_on_slow_devices(family) } else { on_slow_devices(family) };
    let lower = on_lower_tiers(family);
    assert!(here && apart && lower, "see the FAIL lines above");
}

macro_rules! families {
    ($($family:ident),*) => {
        const TESTED: &[&str] = &[$(stringify!($family)),*];
        $(
            #[test]
            fn $family() {
                let (family, text) = cases::FAMILIES.iter().find(|(family, _)| *family == stringify!($family)).unwrap();
                check(family, cases::parse(text).unwrap());
            }
        )*
    };
}
families!(
    unary, binary, view, reduce, index, linalg, conv, norm, loss, creation, special, rest, math, activation, statistics, arrange, select,
    networks, formats, margins, edges
);

/// Every row of the table of functions, by its own meaning.
#[test]
fn functions_by_definition() {
    check("functions_by_definition", functions::cases());
}

#[test]
fn every_op_has_cases() {
    assert!(cases::FAMILIES.iter().map(|(family, _)| *family).eq(TESTED.iter().copied()), "a family without a test");
    let there: BTreeSet<String> = cases::all().into_iter().chain(functions::cases()).map(|case| case.op).collect();
    let missing: Vec<&str> = registry::ops().map(|op| op.name).filter(|name| !there.contains(*name)).collect();
    assert!(missing.is_empty(), "ops of the registry without a case in goldens/: {missing:?}");
    // Op by op, so that a case without an op is a failure of its family too.
    let unknown: Vec<&String> = there.iter().filter(|name| registry::find(name).is_none()).collect();
    assert!(unknown.is_empty(), "cases of ops that the registry does not have: {unknown:?}");
}
