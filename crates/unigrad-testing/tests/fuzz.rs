//! Random graphs. `UNIGRAD_FUZZ=100000` runs that many, `UNIGRAD_FUZZ_SEED=17` runs one and prints it.

use std::time::{Duration, Instant};
use unigrad_testing::{devices, fuzz};

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

/// Seeds that once found a mistake start here, so that they run every time.
const FIRST: u64 = 0;

#[test]
fn random_graphs() {
    let only = number("UNIGRAD_FUZZ_SEED");
    let count = number("UNIGRAD_FUZZ").unwrap_or(2000);
    let seeds = match only {
        Some(seed) => seed..seed + 1,
        None => FIRST..FIRST + count,
    };
    // Beyond the usual number, time is no concern.
    let most = if count > 2000 || only.is_some() { Duration::MAX } else { Duration::from_secs(300) };
    let (start, mut ran, mut failures) = (Instant::now(), 0, 0);
    let devices = devices();
    for seed in seeds {
        if start.elapsed() > most {
            println!("SKIPPED: seeds from {seed} on, after {} s", most.as_secs());
            break;
        }
        let program = fuzz::generate(seed);
        if only.is_some() {
            println!("seed {seed}:\n{program}");
        }
        for device in &devices {
            if fuzz::check(&program, device).is_some() {
                let (small, failure) = fuzz::shrink(&program, device);
                println!("FAIL seed {seed} on {}: {failure}\n{small}", device.name());
                failures += 1;
            }
        }
        ran += 1;
        if failures >= 20 {
            println!("SKIPPED: seeds after {seed}, since 20 graphs failed");
            break;
        }
    }
    let unfused = unigrad_tensor::eval::stats().plans_unfused;
    println!("{ran} random graphs in {:.1} s, {failures} failures, {unfused} plans not fused", start.elapsed().as_secs_f64());
    assert_eq!(unfused, 0, "`UNIGRAD_DEBUG=plan` prints why a plan is not fused");
    assert_eq!(failures, 0, "see the FAIL lines above; UNIGRAD_FUZZ_SEED=<seed> runs one again");
}

/// The generator makes what it is meant to make: valid programs, and all of its ops within a few hundred seeds.
#[test]
fn generator_covers_its_ops() {
    let mut seen = std::collections::BTreeSet::new();
    let (mut steps, mut derivatives) = (0, 0);
    for seed in 0..1500 {
        let program = fuzz::generate(seed);
        steps += program.steps.len();
        derivatives += program.derivative;
        for step in &program.steps {
            let text = format!("{:?}", step.op);
            seen.insert(text.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default().to_string());
        }
    }
    println!("{} ops in {steps} steps, {derivatives} derivatives: {seen:?}", seen.len());
    assert!(seen.len() >= 50, "only {} ops: {seen:?}", seen.len());
}
