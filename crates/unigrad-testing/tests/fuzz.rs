//! Random graphs, on every device and every tier of the CPU. `UNIGRAD_FUZZ=100000` runs that many, `UNIGRAD_FUZZ_SEED=17` runs one and prints it.
//! Runs beside other programs: its seconds are printed, and end it long after they should.

use std::time::{Duration, Instant};
use unigrad_tensor::Device;
use unigrad_testing::{fast_devices, fuzz, on_lower_tiers, on_slow_devices, selection::Share, watch, without_f64};

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

/// Seeds that once found a mistake start here, so that they run every time.
const FIRST: u64 = 0;

#[test]
fn random_graphs() {
    let mut failures = 0;
    for device in fast_devices() {
        failures += on(&device);
    }
    let unfused = unigrad_tensor::eval::stats().plans_unfused;
    assert_eq!(unfused, 0, "{unfused} plans are not fused; `UNIGRAD_DEBUG=plan` prints why");
    assert_eq!(failures, 0, "see the FAIL lines above; UNIGRAD_FUZZ_SEED=<seed> runs one again");
}

/// Every op of the registry in random graphs, by its cases.
#[test]
fn registered_ops_in_random_graphs() {
    let mut failures = 0;
    for device in fast_devices() {
        failures += of_registry(&device);
    }
    assert_eq!(failures, 0, "see the FAIL lines above; UNIGRAD_FUZZ_SEED=<seed> runs one again");
}

#[test]
fn registered_ops_on_slow_devices() {
    assert!(on_slow_devices("registered_ops_in_random_graphs"), "see the FAIL lines above; UNIGRAD_FUZZ_SEED=<seed> runs one again");
}

/// How many graphs of the registry's ops fail on the device.
fn of_registry(device: &Device) -> usize {
    let share = Share::of(device);
    // Each op twice, or a part of the usual number.
    let count = if share == Share::All { 2 * fuzz::names().len() as u64 } else { share.n_graphs() / 3 };
    let failures = run(device, "graphs of registered ops", number("UNIGRAD_FUZZ").unwrap_or(count), count, fuzz::generate_registered);
    let seen: std::collections::BTreeSet<String> = (0..count)
        .flat_map(|seed| fuzz::generate_registered(seed).steps)
        .filter_map(|step| if let fuzz::StepOp::Registered { op, .. } = step.op { Some(op) } else { None })
        .collect();
    let missing: Vec<&str> = fuzz::names().into_iter().filter(|name| !seen.contains(*name)).collect();
    println!("{} of {} ops were called; not: {missing:?}", seen.len(), fuzz::names().len());
    assert!(share != Share::All || missing.is_empty(), "ops that no random graph calls: {missing:?}");
    failures
}

/// Beside the other test, for it is mostly waiting.
#[test]
fn random_graphs_on_slow_devices() {
    assert!(
        on_slow_devices("random_graphs") & on_lower_tiers("random_graphs"),
        "see the FAIL lines above; UNIGRAD_FUZZ_SEED=<seed> runs one again"
    );
}

/// How many graphs fail on the device.
fn on(device: &Device) -> usize {
    let usual = Share::of(device).n_graphs();
    run(device, "random graphs", number("UNIGRAD_FUZZ").unwrap_or(usual), usual, fuzz::generate)
}

/// How many of so many graphs fail on the device.
fn run(device: &Device, what: &str, count: u64, usual: u64, generate: fn(u64) -> fuzz::RandomGraph) -> usize {
    if let Some(why) = without_f64(device) {
        println!("SKIPPED: most {what}: {why}");
        return 0;
    }
    let only = number("UNIGRAD_FUZZ_SEED");
    let seeds = match only {
        Some(seed) => seed..seed + 1,
        None => FIRST..FIRST + count,
    };
    // Beyond the usual number, time is no concern.
    let most = if count > usual || only.is_some() { Duration::MAX } else { Duration::from_secs(300) };
    watch::plans();
    let (start, first, mut ran, mut failures) = (Instant::now(), seeds.start, 0, 0);
    for seed in seeds {
        if start.elapsed() > most {
            println!("SKIPPED: seeds from {seed} on, after {} s", most.as_secs());
            break;
        }
        let program = generate(seed);
        if only.is_some() {
            println!("seed {seed}:\n{program}");
        }
        if fuzz::check(&program, device).is_some() {
            let (small, failure) = fuzz::shrink(&program, device);
            println!("FAIL seed {seed} on {}: {failure}\n{small}", device.name());
            failures += 1;
        }
        ran += 1;
        if failures >= 20 {
            println!("SKIPPED: seeds after {seed}, since 20 graphs failed");
            break;
        }
    }
    println!("{ran} {what}, seeds from {first}, on {} in {:.1} s, {failures} failures", device.name(), start.elapsed().as_secs_f64());
    failures
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

/// One index out of range in a graph of many results: `UNIGRAD_POISON=2000` runs that many graphs on each device.
#[test]
fn an_error_reaches_what_was_computed_from_it() {
    let mut failures = 0;
    for device in unigrad_testing::devices() {
        if let Some(why) = without_f64(&device) {
            println!("SKIPPED: errors in random graphs on {}: {why}", device.name());
            continue;
        }
        // A tenth of the usual number: most of the time goes to kernels that two graphs of a seed share.
        let count = number("UNIGRAD_POISON").unwrap_or((Share::of(&device).n_graphs() / 10).max(6));
        let (mut ran, mut failed) = (0, 0);
        for seed in FIRST..FIRST + count {
            match fuzz::check_poisoned(&fuzz::generate(seed), &device, seed) {
                None => {}
                Some(Ok(())) => ran += 1,
                Some(Err(failure)) => {
                    println!("FAIL seed {seed} on {}: {failure}\n{}", device.name(), fuzz::generate(seed));
                    failed += 1;
                }
            }
        }
        println!("{ran} random graphs with an error on {}, {failed} failures", device.name());
        failures += failed;
    }
    assert_eq!(failures, 0, "see the FAIL lines above");
}
