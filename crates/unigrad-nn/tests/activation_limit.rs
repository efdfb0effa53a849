//! A training step within half of the memory that it would keep between its launches: the same gradients bit for bit, and what that costs.
//!
//! Always: memory is what the device's pool says, not what a plan expects. Tests of one file share the process's arenas, so they run one at a time, and
//! smaller arenas come before larger ones.

mod limited;

use limited::{Case, alone, arena_peak, cpu};
use std::time::Instant;
use unigrad_nn::{
    AdamW, Module, gradient_checkpointing,
    models::{Gpt, GptConfig},
};
use unigrad_tensor::{Device, Tensor, eval};

const SMALL: Case = Case { config: GptConfig { vocab: 97, ctx: 48, layers: 5, heads: 4, dim: 64 }, batch: 6 };
/// As large as a step is that a program would measure.
const LARGE: Case = Case { config: GptConfig { vocab: 97, ctx: 128, layers: 6, heads: 4, dim: 256 }, batch: 8 };

/// The bytes of all gradients and the loss.
fn computed(case: Case, model: &Gpt, device: &Device, half: bool) -> Vec<Vec<u8>> {
    let all = case.recorded(model, device, half).unwrap();
    Tensor::realize_all(&all.iter().collect::<Vec<_>>()).unwrap();
    all.iter().map(|tensor| eval::download(&tensor.expr()).unwrap()).collect()
}

#[test]
fn half_the_peak_has_the_same_gradients() {
    let _alone = alone();
    let device = cpu();
    let model = SMALL.model(&device);
    let expected = |half: bool| {
        let all = SMALL.recorded(&model, &device, half).unwrap();
        let plan = eval::plan_of(&all.iter().map(Tensor::expr).collect::<Vec<_>>()).unwrap();
        assert_eq!((plan.again, plan.peak.largest.len()), (0, 10), "{plan}");
        assert!(plan.peak.bytes <= plan.arena && plan.peak.bytes > plan.arena / 2, "{} of {}", plan.peak, plan.arena);
        plan.arena as u64
    };
    let arenas = [false, true].map(expected);
    let mut runs: Vec<(u64, bool, Option<u64>)> = Vec::new();
    for (half, arena) in [false, true].into_iter().zip(arenas) {
        runs.extend([(arena, half, None), (arena / 2, half, Some(arena / 2))]);
    }
    runs.sort_unstable();
    let mut peaks = [[0; 2]; 2];
    let mut bits: [Vec<Vec<Vec<u8>>>; 2] = Default::default();
    for (_, half, limit) in runs {
        let _ = arena_peak(&device);
        bits[usize::from(half)].push(eval::with_activation_limit(limit, || computed(SMALL, &model, &device, half)));
        peaks[usize::from(half)][usize::from(limit.is_none())] = arena_peak(&device);
    }
    for (half, (peaks, bits)) in peaks.iter().zip(&bits).enumerate() {
        println!("bf16: {}: {} of {} bytes", half == 1, peaks[0], peaks[1]);
        assert!(peaks[0] > 0 && 2 * peaks[0] <= peaks[1], "bf16: {}: {} bytes are more than half of {}", half == 1, peaks[0], peaks[1]);
        assert!(bits[0] == bits[1], "bf16: {}: gradients differ", half == 1);
    }
}

/// What is done more within half the peak, and less of it than blocks that are computed again as a whole do.
#[test]
fn half_the_peak_is_little_more_work() {
    let _alone = alone();
    let device = cpu();
    let model = LARGE.model(&device);
    let work = |limit: Option<u64>, blocks: bool| {
        let record = || LARGE.recorded(&model, &device, false).unwrap();
        let all = if blocks { gradient_checkpointing(record) } else { record() };
        let plan = eval::with_activation_limit(limit, || eval::plan_of(&all.iter().map(Tensor::expr).collect::<Vec<_>>())).unwrap();
        (plan.launches.iter().map(|launch| launch.kernel.flops()).sum::<f64>(), plan.arena as u64)
    };
    let (free, arena) = work(None, false);
    let (within, less) = work(Some(arena / 2), false);
    let (by_blocks, _) = work(None, true);
    println!("{arena} bytes: 1; {less} bytes: {:.3}; by blocks {:.3}", within / free, by_blocks / free);
    assert!(2 * less <= arena && within > free, "{less} of {arena} bytes");
    assert!(within < 1.15 * free && within < by_blocks, "{within} of {free}; by blocks {by_blocks}");
}

/// Steps of an optimizer, whose updates are in place, end with the same bits; and parameters take no memory more for it.
#[test]
fn training_within_a_limit_ends_with_the_same_bits() {
    let _alone = alone();
    let device = cpu();
    let start = SMALL.model(&device);
    let train = |limit: Option<u64>| {
        eval::with_activation_limit(limit, || {
            let model = start.clone();
            let copied: Vec<Tensor> =
                start.parameters().iter().map(|parameter| parameter.detach().contiguous().realize().unwrap()).collect();
            let mut optimizer = AdamW::new(model.parameters(), 1e-2).unwrap();
            let mut losses = Vec::new();
            for step in 0..4 {
                let loss = SMALL.loss(&model, &device, step % 2 == 1);
                optimizer.minimize(&loss, &[]).unwrap();
                losses.push(loss.item::<f32>().unwrap().to_bits());
            }
            let bits: Vec<Vec<u8>> = model.parameters().iter().map(|parameter| eval::download(&parameter.expr()).unwrap()).collect();
            // The clone's parameters are the same handles: back to where they began.
            for (parameter, copy) in start.parameters().iter().zip(&copied) {
                unigrad_tensor::no_grad(|| parameter.assign(copy)).unwrap();
                parameter.realize().unwrap();
            }
            (losses, bits)
        })
    };
    let free = train(None);
    for limit in [1u64, 1 << 20, 1 << 21, 1 << 22] {
        assert!(train(Some(limit)) == free, "within {limit} bytes");
    }
}

/// `cargo test --release -p unigrad-nn --test activation_limit -- --ignored --nocapture`
#[test]
#[ignore = "measures time"]
fn half_the_peak_takes_little_more_time() {
    let _alone = alone();
    let device = cpu();
    let model = LARGE.model(&device);
    let all = LARGE.recorded(&model, &device, false).unwrap();
    let arena = eval::plan_of(&all.iter().map(Tensor::expr).collect::<Vec<_>>()).unwrap().arena as u64;
    let time = |limit: Option<u64>, half: bool| {
        eval::with_activation_limit(limit, || {
            let begin = Instant::now();
            computed(LARGE, &model, &device, half);
            begin.elapsed().as_secs_f64()
        })
    };
    for half in [false, true] {
        let arena = if half { arena / 2 } else { arena };
        let mut least = [f64::MAX; 3];
        for round in 0..13 {
            for (at, limit) in [None, Some(arena / 2), Some(arena / 3)].into_iter().enumerate() {
                let seconds = time(limit, half);
                least[at] = if round == 0 { f64::MAX } else { least[at].min(seconds) };
            }
        }
        println!("bf16: {half}: {least:?} s: half {:.3}, a third {:.3}", least[1] / least[0], least[2] / least[0]);
        assert!(least[1] <= 1.35 * least[0], "bf16: {half}: {least:?}");
    }
}
