//! The op table, family by family. `UNIGRAD_OP=softmax` runs the cases of one op.

use unigrad_testing::{cases, devices, run};

fn check(golden: &str) {
    let wanted = std::env::var("UNIGRAD_OP").ok();
    let mut cases = cases::parse(golden).unwrap();
    cases.retain(|case| wanted.as_ref().is_none_or(|op| *op == case.op));
    assert!(run::run(&cases, &devices()).print(), "see the FAIL lines above");
}

macro_rules! families {
    ($($family:ident),*) => { $(
        #[test]
        fn $family() {
            check(include_str!(concat!("../goldens/", stringify!($family), ".txt")));
        }
    )* };
}
families!(unary, binary, view, reduce, index, linalg, conv, norm, loss, creation);
