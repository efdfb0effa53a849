//! Random calls of the whole tensor API, on the CPU. `UNIGRAD_CALLS=1000000` makes that many, `UNIGRAD_CALLS_SEED=17` one of them.

use std::{collections::BTreeSet, path::Path};
use unigrad_testing::fuzz::api;

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

#[test]
fn random_calls() {
    let report = match number("UNIGRAD_CALLS_SEED") {
        Some(seed) => api::run(seed, 1, None),
        None => api::run(0, number("UNIGRAD_CALLS").unwrap_or(6000), None),
    };
    println!("{report}");
    assert!(report.failures.is_empty(), "see the FAIL lines above; UNIGRAD_CALLS_SEED=<seed> makes one again");
}

/// Methods that make no tensor from tensors: reads, and what a tensor says of itself.
const OTHERS: &[&str] = &[
    "from_expr",
    "expr",
    "error",
    "is_invalid",
    "dims",
    "shape",
    "dim",
    "rank",
    "numel",
    "dtype",
    "device",
    "device_id",
    "realize",
    "realize_async",
    "realize_all",
    "is_realized",
    "same",
    "is_variable",
    "needs_grad",
    "version",
    "grad",
    "set_grad",
    "zero_grad",
    "assign",
    "assign_if",
    "to_vec",
    "to_vec_async",
    "to_vec2",
    "item",
    "item_async",
    "to_f64",
    "to_f64_vec",
    "to_bytes",
    "backward",
    "backward_with",
    "backward_retain",
    "to_ndarray",
    "from_ndarray",
    "checkpoint",
];

/// Every public method of `Tensor` is called: what follows `impl Tensor` in the sources, macros included.
#[test]
fn every_method_is_called() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../unigrad-tensor/src");
    let called: BTreeSet<&str> = api::names().into_iter().collect();
    let mut found = BTreeSet::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let text = std::fs::read_to_string(entry.unwrap().path()).unwrap();
        let mut inside = false;
        for line in text.lines() {
            if !line.starts_with(' ') && !line.is_empty() && !line.starts_with('}') {
                inside = line.starts_with("impl Tensor ")
                    || line.starts_with("unary!(")
                    || line.starts_with("binary!(")
                    || line.starts_with("reductions!(");
            }
            let name = |text: &str| text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').next().unwrap_or_default().to_owned();
            match line.trim_start().strip_prefix("pub fn ") {
                Some(rest) if inside && !rest.starts_with('$') => {
                    found.insert(name(rest));
                }
                // A row of a macro's table: `name = Op,`, `name name_keepdim = inner,`.
                None if inside && line.trim_end().ends_with(',') && line.starts_with("    ") && line.contains(" = ") => {
                    let names = line.split(" = ").next().unwrap_or_default();
                    if names.trim().chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_' || c == ' ') {
                        found.extend(names.split_whitespace().map(str::to_owned));
                    }
                }
                _ => {}
            }
        }
    }
    assert!(found.len() > 230, "only {} methods found: {found:?}", found.len());
    let missing: Vec<&String> = found.iter().filter(|name| !called.contains(name.as_str()) && !OTHERS.contains(&name.as_str())).collect();
    assert!(missing.is_empty(), "not called: {missing:?}; give each a row in src/fuzz/api/");
}
