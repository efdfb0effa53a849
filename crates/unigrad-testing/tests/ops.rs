//! The op table, family by family, on every device, and a sample of it on every lower tier of the CPU. `UNIGRAD_OP=softmax` runs the cases of one op, `UNIGRAD_TEST_FULL=1` all of them on slow
//! devices too.

use unigrad_testing::{
    cases::{self, Case},
    fast_devices, functions, on_lower_tiers, on_slow_devices, run,
};

fn check(family: &str, mut cases: Vec<Case>) {
    let wanted = std::env::var("UNIGRAD_OP").ok();
    cases.retain(|case| wanted.as_ref().is_none_or(|op| *op == case.op));
    if cases.is_empty() {
        return;
    }
    let here = run::run(&cases, &fast_devices()).print();
    let (apart, lower) = (on_slow_devices(family), on_lower_tiers(family));
    assert!(here && apart && lower, "see the FAIL lines above");
}

macro_rules! families {
    ($($family:ident),*) => { $(
        #[test]
        fn $family() {
            check(stringify!($family), cases::parse(include_str!(concat!("../goldens/", stringify!($family), ".txt"))).unwrap());
        }
    )* };
}
families!(unary, binary, view, reduce, index, linalg, conv, norm, loss, creation, special);

/// Every row of the table of functions, by its own meaning.
#[test]
fn functions_by_definition() {
    check("functions_by_definition", functions::cases());
}
