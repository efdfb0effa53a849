//! Settings found by trying: a learning rate, and the largest batch that fits.
//!
//! `cargo run --release --example lr_finder`

use unigrad::{
    data::{Arrays, Batch, Loader},
    nn::{HostTensor, Linear, MseLoss, Relu, Sequential, Sgd, random::Rng},
    prelude::*,
    train::{LrRange, Supervised, Trainer},
};

fn main() -> Result<()> {
    let device = Device::best()?;
    manual_seed(1);
    let mut rng = Rng::new(1, 0);
    let rows: Vec<[f32; 4]> = (0..512).map(|_| std::array::from_fn(|_| rng.normal() as f32)).collect();
    let inputs = rows.iter().flatten().flat_map(|x| x.to_le_bytes()).collect();
    let targets = rows.iter().flat_map(|[a, b, c, _]| (a - 2.0 * b + c * c).to_le_bytes()).collect();
    let inputs = HostTensor { dtype: DType::F32, shape: vec![512, 4], bytes: inputs };
    let targets = HostTensor { dtype: DType::F32, shape: vec![512, 1], bytes: targets };
    let train = Loader::new(Arrays::new(inputs, targets)?, 32, 1);

    let model = Sequential::new().add(Linear::new(4, 32, &device)).add(Relu).add(Linear::new(32, 1, &device));
    let optimizer = Sgd::new(model.parameters(), 0.1)?;
    let mut learner = Supervised::new(model, MseLoss::default(), optimizer);

    // Each step has a greater rate than the one before it. Afterwards the learner is what it was.
    let curve = Trainer::new(&device).find_lr(&mut learner, &train, LrRange { from: 1e-5, ..LrRange::default() })?;
    let lr = curve.suggestion.unwrap_or(0.01);
    println!("the loss falls fastest at a rate between 1e-4 and 1: {}", lr > 1e-4 && lr < 1.0);

    let mut batch_of = |n: usize| {
        let (input, target) = (Tensor::randn([n, 4], DType::F32, &device), Tensor::randn([n, 1], DType::F32, &device));
        Ok(Batch { input, target, indices: (0..n).collect() })
    };
    let most = 4 * device.info().starting_batch();
    let sizes = Trainer::new(&device).find_batch_size(&mut learner, most, &mut batch_of)?;
    println!("four times the suggested batch fits: {}", sizes.best == most);

    learner.optimizer.set_lr(lr / 4.0); // where the loss falls fastest, a little less is safe
    let run = Trainer::new(&device).epochs(10).fit(&mut learner, &train, None)?;
    let loss = run.history.get("loss").unwrap_or_default();
    println!("it learns: {}", loss.last() < loss.first());
    Ok(())
}
