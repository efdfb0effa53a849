//! Sizes that a text may name and no device has: refused by every target, without an overflow.

use unigrad_ir::{Target, offline_targets, parse, render, validate};

#[test]
fn groups_of_any_size_are_refused_or_rendered() {
    let sizes = [0, 1, 2, 1 << 16, (1 << 16) + 1, u32::MAX];
    let mut targets = offline_targets();
    targets.push(Target::interpreter());
    for at in 0..sizes.len().pow(3) {
        let [x, y, z] = [1, sizes.len(), sizes.len().pow(2)].map(|step| sizes[at / step % sizes.len()]);
        let text = format!("kernel group(x: mut [u32]) threads({x}, {y}, {z}) {{\n    store x[0], 1\n}}");
        let parsed = parse(&text).unwrap();
        let threads = [x, y, z].into_iter().map(u128::from).product::<u128>();
        assert_eq!(u128::from(parsed.program.threads()), threads.min(u32::MAX.into()), "{text}");
        for target in &targets {
            let valid = validate(&parsed.program, target);
            assert_eq!(valid.is_ok(), (1..=u128::from(target.max_threads)).contains(&threads), "{text}: {valid:?}");
            // Whatever a renderer says of it, it says it.
            let _ = render(&parsed.program, target);
        }
    }
}

#[test]
fn shared_memory_of_any_size_is_refused() {
    for len in [1u64, 1 << 16, u32::MAX.into()] {
        for ty in ["u32", "f64"] {
            let arrays: String = (0..4).map(|i| format!("    shared a{i}: [{ty}; {len}]\n")).collect();
            let text = format!("kernel shared_arrays(x: mut [u32]) threads(1, 1, 1) {{\n{arrays}    store x[0], 1\n}}");
            let parsed = parse(&text).unwrap();
            assert!(parsed.program.shared_bytes() as u64 >= 4 * len);
            for target in offline_targets() {
                let valid = validate(&parsed.program, &target).is_ok();
                assert!(len == 1 || !valid, "{text}");
                let _ = render(&parsed.program, &target);
            }
        }
    }
}
