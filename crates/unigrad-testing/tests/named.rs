//! The op table with named axes: whatever has a name, and whatever lies in the padding behind it, values and gradients stay what they are.

use unigrad_testing::{cases, run};

macro_rules! families {
    ($($family:ident),*) => { $(
        #[test]
        fn $family() {
            let mut cases = cases::parse(include_str!(concat!("../goldens/", stringify!($family), ".txt"))).unwrap();
            let wanted = std::env::var("UNIGRAD_OP").ok();
            cases.retain(|case| wanted.as_ref().is_none_or(|op| *op == case.op));
            unigrad_testing::register();
            let device = unigrad_tensor::Device::open("cpu:0").unwrap();
            let report = run::run_named(&cases, &device);
            assert!(report.print(), "see the FAIL lines above");
            // Of convolutions only the batch may have a name.
            assert!(wanted.is_some() || 2 * report.named.0 > report.named.1, "most cases have a rule: {:?}", report.named);
        }
    )* };
}
families!(
    unary, binary, view, reduce, index, linalg, conv, norm, loss, special, rest, math, activation, statistics, arrange, select, networks
);
