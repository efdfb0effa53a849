//! Where the time of a training step goes.
//!
//! `cargo run --release --example profiling`

use unigrad::{
    data::{Arrays, Loader},
    nn::{AdamW, CrossEntropyLoss, Gelu, HostTensor, LayerNorm, Linear, Sequential, random::Rng},
    prelude::*,
    train::{Supervised, Trainer},
};

fn main() -> Result<()> {
    let device = Device::best()?;
    manual_seed(1);
    let mut rng = Rng::new(1, 0);
    let numbers = (0..256 * 32).flat_map(|_| (rng.normal() as f32).to_le_bytes()).collect();
    let inputs = HostTensor { dtype: DType::F32, shape: vec![256, 32], bytes: numbers };
    let targets = HostTensor { dtype: DType::I64, shape: vec![256], bytes: (0..256).flat_map(|i| (i % 4i64).to_le_bytes()).collect() };
    let train = Loader::new(Arrays::new(inputs, targets)?, 32, 1);

    let model =
        Sequential::new().add(Linear::new(32, 64, &device)).add(LayerNorm::new(64, &device)).add(Gelu).add(Linear::new(64, 4, &device));
    let optimizer = AdamW::new(model.parameters(), 1e-3)?;
    let mut learner = Supervised::new(model, CrossEntropyLoss::default(), optimizer);

    // The first steps compile plans and kernels; the four after them are profiled. With `.folder(..)`: profile.html, trace.json, kernels.txt.
    let run = Trainer::new(&device).epochs(2).profile(4).fit(&mut learner, &train, None)?;
    if let Some(profile) = &run.profile {
        eprintln!("{}", profile.summary()); // differs from machine to machine
        println!("{} of {} steps were profiled, and devices worked in them: {}", profile.n_steps, run.n_steps, profile.busy() > 0.0);
    }
    Ok(())
}
