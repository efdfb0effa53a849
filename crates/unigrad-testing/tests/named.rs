//! The op table with named axes: whatever has a name, and whatever lies in the padding behind it, values and gradients stay what they are.

use unigrad_testing::{cases, fast_devices, fuzz, run, selection::Share};

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

/// Random graphs of which some axes have names: values and gradients are those without.
#[test]
fn random_graphs() {
    let mut failures = 0;
    for device in fast_devices() {
        let count = std::env::var("UNIGRAD_NAMED").ok().and_then(|n| n.parse().ok()).unwrap_or((Share::of(&device).n_graphs() / 4).max(16));
        let (mut ran, mut refused) = (0, 0);
        for seed in 0..count {
            match fuzz::check_named(&fuzz::generate(seed), &device, seed) {
                None => refused += 1,
                Some(Ok(())) => ran += 1,
                Some(Err(failure)) => {
                    println!("FAIL seed {seed} on {}: {failure}", device.name());
                    failures += 1;
                }
            }
        }
        println!("{ran} random graphs with names on {}, {refused} more have none or an op without a rule", device.name());
        assert!(4 * ran > count, "most graphs with names have a rule");
    }
    assert_eq!(failures, 0, "see the FAIL lines above");
}
