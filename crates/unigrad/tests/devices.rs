//! The same program on every device: the same random numbers, and the losses of the digits model's first steps as on the CPU.

use std::sync::{Mutex, PoisonError};
use unigrad::prelude::*;
use unigrad::{
    data,
    nn::{AdamW, Schedule, models::Cnn},
};

/// The generator that both tests seed is the process's.
static GENERATOR: Mutex<()> = Mutex::new(());

/// Losses of the first 20 steps of `unigrad train digits`, with its batches in order.
fn losses(device: &Device) -> Result<Vec<f32>> {
    manual_seed(0);
    let images = data::digits()?.train;
    let model = Cnn::new(images.height, images.width, images.n_classes, 1, 0.25, device);
    let mut optimizer = AdamW::new(model.parameters(), 2e-3)?;
    let schedule = Schedule::cosine(1320).warmup(66);
    let mut losses = Vec::new();
    for step in 0..20 {
        let items: Vec<usize> = (32 * step..32 * (step + 1)).collect();
        let batch = images.batch(&items, None);
        let x = Tensor::from_slice(&batch.pixels, [32, 1, batch.height, batch.width], device);
        let y = Tensor::from_slice(&batch.labels, [32], device);
        let loss = model.forward(&x).cross_entropy(&y);
        optimizer.set_lr_factor(schedule.factor(step as u64));
        optimizer.minimize(&loss, &[])?;
        losses.push(loss.item::<f32>()?);
    }
    Ok(losses)
}

#[test]
fn the_digits_model_learns_the_same_everywhere() -> Result<()> {
    let _one = GENERATOR.lock().unwrap_or_else(PoisonError::into_inner);
    let devices = unigrad_testing::devices();
    let wanted = losses(&Device::open("cpu")?)?;
    assert!(wanted[19] < wanted[0], "it learns: {wanted:?}");
    // The interpreter simulates every thread: minutes for a convolutional network. It runs every op in the op table.
    for device in devices.iter().filter(|device| device.name() != "cpu:0" && !device.name().starts_with("interpreter")) {
        let got = losses(device)?;
        let worst = wanted.iter().zip(&got).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
        println!("{device}: losses of the first 20 steps differ from the CPU's by {worst:.1e} at most");
        assert!(worst <= 1e-4, "{device}: {worst}\n{got:?}\n{wanted:?}");
    }
    Ok(())
}

#[test]
fn random_numbers_are_the_same_everywhere() -> Result<()> {
    let _one = GENERATOR.lock().unwrap_or_else(PoisonError::into_inner);
    let draw = |device: &Device| -> Result<(Vec<f32>, Vec<i64>, Vec<f32>)> {
        manual_seed(7);
        let uniform = Tensor::uniform([1000], 0.0, 1.0, DType::F32, device).to_vec::<f32>()?;
        let integers = Tensor::randint(0, 1000, [1000], DType::I64, device).to_vec::<i64>()?;
        Ok((uniform, integers, Tensor::randn([1000], DType::F32, device).to_vec::<f32>()?))
    };
    let wanted = draw(&Device::open("cpu")?)?;
    for device in unigrad_testing::devices() {
        let got = draw(&device)?;
        assert!(got.0 == wanted.0, "{device}: uniform");
        assert!(got.1 == wanted.1, "{device}: integers");
        // Through a logarithm and a cosine, which round differently.
        assert!(got.2.iter().zip(&wanted.2).all(|(a, b)| (a - b).abs() <= 1e-5), "{device}");
    }
    Ok(())
}
