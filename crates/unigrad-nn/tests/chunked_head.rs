//! A training step of a GPT whose vocabulary is far wider than its features, within limits: its head by chunks of rows, in less memory, with the same
//! gradients up to the order of sums.
//!
//! Always: memory is what the device's pool says. Tests of one file share the process's arenas, so they run one at a time, and smaller arenas come before
//! larger ones.

mod limited;

use limited::{Case, alone, arena_peak, cpu};
use std::time::Instant;
use unigrad_nn::models::GptConfig;
use unigrad_tensor::{Tensor, eval};

const SMALL: Case = Case { config: GptConfig { vocab: 2003, ctx: 33, layers: 2, heads: 2, dim: 32 }, batch: 7 };
/// As large as a step is that a program would measure.
const LARGE: Case = Case { config: GptConfig { vocab: 16_000, ctx: 128, layers: 4, heads: 4, dim: 128 }, batch: 16 };

fn planned(all: &[Tensor], limit: Option<u64>) -> (u64, usize, usize) {
    let nodes: Vec<_> = all.iter().map(Tensor::expr).collect();
    let plan = eval::with_activation_limit(limit, || eval::plan_of(&nodes)).unwrap();
    println!(
        "within {limit:?}: {} bytes, {} chunks, {} of {} launches again; {}",
        plan.arena,
        plan.chunks,
        plan.again,
        plan.launches.len(),
        plan.peak
    );
    (plan.arena as u64, plan.chunks, plan.again)
}

/// The largest difference, over the largest number there is.
fn distance(a: &Tensor, b: &Tensor) -> f32 {
    let (a, b): (Vec<f32>, Vec<f32>) = (a.to_vec().unwrap(), b.to_vec().unwrap());
    let largest = a.iter().fold(f32::MIN_POSITIVE, |most, x| most.max(x.abs()));
    a.iter().zip(&b).map(|(x, y)| (x - y).abs()).fold(0.0, |most, x| if x > most || x.is_nan() { x } else { most }) / largest
}

#[test]
fn a_third_of_the_memory_has_the_same_gradients() {
    let _alone = alone();
    let device = cpu();
    let model = SMALL.model(&device);
    let mut runs: Vec<(u64, bool, Option<u64>)> = Vec::new();
    for half in [false, true] {
        let (arena, none, _) = planned(&SMALL.recorded(&model, &device, half).unwrap(), None);
        assert_eq!(none, 0, "bf16: {half}");
        for limit in [Some(arena / 3), Some(arena - 1), None] {
            let (less, chunks, again) = planned(&SMALL.recorded(&model, &device, half).unwrap(), limit);
            // The first limit that asks for anything is kept by chunks alone.
            let is_kept = limit.is_none_or(|limit| chunks > 1 && less <= limit && (again == 0 || limit < arena / 2));
            assert!(is_kept, "bf16: {half}: {less} of {limit:?}, {chunks} chunks, {again} again");
            runs.push((less, half, limit));
        }
    }
    runs.sort_unstable();
    let mut results: [Vec<Vec<Tensor>>; 2] = Default::default();
    for (arena, half, limit) in runs {
        let all = SMALL.recorded(&model, &device, half).unwrap();
        let _ = arena_peak(&device);
        eval::with_activation_limit(limit, || Tensor::realize_all(&all.iter().collect::<Vec<_>>())).unwrap();
        let peak = arena_peak(&device);
        println!("bf16: {half}: within {limit:?}: {peak} bytes at the peak");
        // What the pool gives is rounded up to its sizes.
        assert!((arena..arena + arena / 4 + (1 << 16)).contains(&peak), "bf16: {half}: a peak of {peak}, an arena of {arena}");
        results[usize::from(half)].push(all);
    }
    for (half, results) in results.iter_mut().enumerate() {
        let free = results.pop().unwrap();
        for within in results {
            let most = free.iter().zip(within).map(|(free, within)| distance(free, within)).fold(0.0f32, f32::max);
            println!("bf16: {}: {most:e} from the gradients of all rows at once", half == 1);
            assert!(most <= if half == 1 { 3e-2 } else { 1e-5 }, "bf16: {}: {most}", half == 1);
        }
    }
}

/// `cargo test --release -p unigrad-nn --test chunked_head -- --ignored --nocapture`
#[test]
#[ignore = "measures time"]
fn chunks_take_little_more_time() {
    let _alone = alone();
    let device = cpu();
    let model = LARGE.model(&device);
    for half in [false, true] {
        let (arena, ..) = planned(&LARGE.recorded(&model, &device, half).unwrap(), None);
        let limits = [None, Some(arena - 1), Some(arena * 2 / 3), Some(arena / 2), Some(arena / 3)];
        let mut least = [f64::MAX; 5];
        for round in 0..9 {
            for (at, limit) in limits.into_iter().enumerate() {
                let all = LARGE.recorded(&model, &device, half).unwrap();
                if round == 0 {
                    planned(&all, limit);
                }
                let begin = Instant::now();
                eval::with_activation_limit(limit, || Tensor::realize_all(&all.iter().collect::<Vec<_>>())).unwrap();
                least[at] = if round == 0 { f64::MAX } else { least[at].min(begin.elapsed().as_secs_f64()) };
            }
        }
        println!("bf16: {half}: {least:.4?} s: {:.3?}", least.map(|seconds| seconds / least[0]));
        assert!(least[1] <= 1.25 * least[0], "bf16: {half}: {least:?}");
    }
}
