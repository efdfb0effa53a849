//! Random calls of the whole tensor API, on the CPU. `UNIGRAD_CALLS=1000000` makes that many, `UNIGRAD_CALLS_SEED=17` one of them.

use std::collections::BTreeSet;
use unigrad_tensor::registry;
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
    "register_hook",
    "retain_grad",
    "retains_grad",
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
    "is_named",
    "names",
    "needs_grad",
    "version",
    "grad",
    "set_grad",
    "zero_grad",
    "assign",
    "assign_if",
    "id",
    "is_frozen",
    "set_data",
    "set_data_of_any_shape",
    "set_trainable",
    "become_value",
    "become_variable",
    "to_vec",
    "to_vec_async",
    "to_vec2",
    "item",
    "item_async",
    "to_f64",
    "to_f64_vec",
    "to_bytes",
    "buffer",
    "from_buffer",
    "backward",
    "backward_with",
    "backward_retain",
    "to_ndarray",
    "quantize",
    "from_ndarray",
    "checkpoint",
    "from_error",
    "with_gradient_hook",
];

/// Every public method of `Tensor` is called, by a row of its own or by its op's name.
#[test]
fn every_method_is_called() {
    let called: BTreeSet<&str> = api::names().into_iter().chain(registry::ops().map(|op| op.method)).collect();
    let methods: BTreeSet<&str> = registry::METHODS.iter().map(|method| method.name).collect();
    let missing: Vec<&&str> = methods.iter().filter(|name| !called.contains(*name) && !OTHERS.contains(name)).collect();
    assert!(missing.is_empty(), "not called: {missing:?}; give each a row in src/fuzz/api/, or in the registry of ops");
}
