//! Training within a limit of what is kept between launches: the same bits in less memory.
//!
//! Always: memory is what the device's pool says, not what a plan expects.

use std::time::Instant;
use unigrad_nn::models::{Gpt, GptConfig};
use unigrad_nn::Module;
use unigrad_tensor::{DType, Device, Result, Tensor, autocast, eval, grad};

/// What is kept between launches is the process's: one test at a time.
static ONE: std::sync::Mutex<()> = std::sync::Mutex::new(());

fn cpu() -> Device {
    unigrad_device::register(unigrad_cpu::CpuDriver::default());
    Device::open("cpu").unwrap()
}

const CONFIG: GptConfig = GptConfig { vocab: 97, ctx: 48, layers: 5, heads: 4, dim: 64 };
const BATCH: usize = 6;

fn tokens(shift: usize, device: &Device) -> Tensor {
    let n = BATCH * CONFIG.ctx;
    let ids: Vec<i64> = (0..n).map(|i| ((i * 31 + i * i % 17 + shift) % CONFIG.vocab) as i64).collect();
    Tensor::from_slice(&ids, [BATCH, CONFIG.ctx], device)
}

fn model(device: &Device) -> Gpt {
    let model = Gpt::new(CONFIG, device).unwrap();
    model.parameters().iter().for_each(|parameter| drop(parameter.realize().unwrap()));
    model
}

fn bytes(tensors: &[Tensor]) -> Vec<Vec<u8>> {
    tensors.iter().map(|tensor| eval::download(&tensor.expr()).unwrap()).collect()
}

/// Most bytes of arenas at once since the last call.
fn arena_peak(device: &Device) -> u64 {
    let stats = device.memory_stats();
    device.reset_peak();
    stats.tags.iter().find(|tag| tag.tag == "arena").map_or(0, |tag| tag.peak)
}

/// The loss and all gradients, recorded.
fn recorded(model: &Gpt, device: &Device, half: bool) -> Result<Vec<Tensor>> {
    let loss = || model.loss(&tokens(0, device), &tokens(7, device));
    let loss = if half { autocast(DType::BF16, loss) } else { loss() };
    let parameters = model.parameters();
    let mut all = grad(&loss, &parameters.iter().collect::<Vec<_>>())?;
    all.push(loss);
    Ok(all)
}

fn computed(model: &Gpt, device: &Device, half: bool) -> Vec<Vec<u8>> {
    let all = recorded(model, device, half).unwrap();
    Tensor::realize_all(&all.iter().collect::<Vec<_>>()).unwrap();
    bytes(&all)
}

#[test]
fn half_the_peak_has_the_same_gradients() {
    let _one = ONE.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let device = cpu();
    let model = model(&device);
    for half in [false, true] {
        let all = recorded(&model, &device, half).unwrap();
        let wanted: Vec<_> = all.iter().map(Tensor::expr).collect();
        let free = eval::plan_of(&wanted).unwrap();
        println!("{}\n{}", free.launches.len(), free.peak);
        for part in [2, 3] {
            let limit = free.arena as u64 / part;
            let _ = arena_peak(&device);
            let (within, peak) = eval::with_activation_limit(Some(limit), || {
                let plan = eval::plan_of(&wanted).unwrap();
                println!("limit {limit}: {} launches, {} again, arena {}\n{}", plan.launches.len(), plan.again, plan.arena, plan.peak);
                (computed(&model, &device, half), arena_peak(&device))
            });
            println!("half {half}, a {part}th: {peak} of {}", free.arena);
            assert!(computed(&model, &device, half) == within, "gradients differ, half {half}");
        }
        let time = |limit: Option<u64>| {
            eval::with_activation_limit(limit, || {
                computed(&model, &device, half);
                (0..9)
                    .map(|_| {
                        let begin = Instant::now();
                        computed(&model, &device, half);
                        begin.elapsed().as_secs_f64()
                    })
                    .fold(f64::MAX, f64::min)
            })
        };
        let (a, b, c) = (time(None), time(Some(free.arena as u64 / 2)), time(None));
        println!("half {half}: {a} {b} {c}: {}", b / a.min(c));
    }
}
