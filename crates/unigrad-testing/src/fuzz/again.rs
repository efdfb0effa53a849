//! Random graphs that run many times, as training steps do, with other numbers each time: replayed by the driver, and launched one by one.
//!
//! In: a program, a device whose driver replays. Out: what differs.
//! Always: both ways give the same bits; memory moves between runs: some results are held, and another evaluation makes the arena grow.

use super::{Executor, RandomGraph, Rng, build_with};
use crate::Values;
use unigrad_device::{Config, Replay};
use unigrad_graph::DType;
use unigrad_tensor::{Device, Tensor, eval};

/// Runs of a program: some before the driver keeps it, some after.
const RUNS: usize = 7;

/// The leaf's numbers, moved on by some places: they are in the leaf's domain in any order.
fn moved(values: &Values, by: usize) -> Vec<u8> {
    let mut bytes = values.to_bytes();
    let size = values.dtype.size();
    let n = bytes.len() / size.max(1);
    if n > 0 {
        bytes.rotate_left(by % n * size);
    }
    bytes
}

/// The bits of every result of every run.
fn runs(program: &RandomGraph, device: &Device, seed: u64) -> Result<Vec<Vec<u8>>, String> {
    eval::clear_plans();
    let (mut rng, mut held, mut all) = (Rng(seed), Vec::new(), Vec::new());
    for run in 0..RUNS {
        let results = build_with(program, Executor::Device(device), &mut |_, values| {
            Tensor::from_bytes(&moved(values, run), values.shape.as_slice(), values.dtype, device)
        })?;
        Tensor::realize_all(&results.iter().collect::<Vec<_>>()).map_err(|error| error.to_string())?;
        for result in &results {
            all.push(result.to_bytes().map_err(|error| error.to_string())?);
        }
        if rng.once_in(3) {
            held.push(results);
        }
        if rng.once_in(4) {
            held.clear();
        }
        if rng.once_in(4) {
            let wide = Tensor::ones([1 << rng.below(14), 3], DType::F32, device);
            (&wide.softmax(0) + &wide).sum(0).to_bytes().map_err(|error| error.to_string())?;
        }
    }
    Ok(all)
}

/// What is wrong if a program is replayed, if something is. Sets what the process has set for replays.
pub fn check_again(program: &RandomGraph, device: &Device, seed: u64) -> Result<(), String> {
    let set = |replay| Config { replay, ..Config::clone(&Config::current_or_default()) }.apply();
    set(Replay::Off);
    let expected = runs(program, device, seed);
    set(Replay::On);
    match (expected, runs(program, device, seed)) {
        (Ok(expected), Ok(got)) => match expected.iter().zip(&got).position(|(expected, got)| expected != got) {
            Some(at) => Err(format!("result {at} of {} is another one when it is replayed", got.len())),
            None => Ok(()),
        },
        // No matter of replays.
        (Err(_), Err(_)) => Ok(()),
        (Err(error), Ok(_)) => Err(format!("fails only one by one: {error}")),
        (Ok(_), Err(error)) => Err(format!("fails only when it is replayed: {error}")),
    }
}
