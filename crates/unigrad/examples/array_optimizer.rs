//! An optimizer over plain arrays, for programs that have gradients of their own: vectors go in and come out updated; the steps run on the device.
//!
//! `cargo run --release --example array_optimizer`

use unigrad::{
    nn::{AdamW, ArrayOptimizer, random::Rng},
    prelude::*,
};

/// The mean squared error of `w · x + b`, and its gradients, by hand.
fn loss(rows: &[([f32; 3], f32)], w: &[f32], b: f32) -> (f32, Vec<f32>, Vec<f32>) {
    let (mut sum, mut dw, mut db) = (0.0, vec![0.0; w.len()], 0.0);
    let scale = 1.0 / rows.len() as f32;
    for (x, y) in rows {
        let error = w.iter().zip(x).map(|(w, x)| w * x).sum::<f32>() + b - y;
        sum += error * error * scale;
        dw.iter_mut().zip(x).for_each(|(dw, x)| *dw += 2.0 * error * x * scale);
        db += 2.0 * error * scale;
    }
    (sum, dw, vec![db])
}

fn main() -> Result<()> {
    let device = Device::best()?;
    let mut rng = Rng::new(1, 0);
    let rows: Vec<([f32; 3], f32)> = (0..200)
        .map(|_| {
            let x: [f32; 3] = std::array::from_fn(|_| rng.normal() as f32);
            (x, 2.0 * x[0] - x[1] + 0.5 * x[2] + 3.0)
        })
        .collect();
    let make = |parameters| AdamW::new(parameters, 0.1).map(|adam| adam.weight_decay(0.0));
    let mut optimizer = ArrayOptimizer::new(&device, make);

    let mut parameters = [vec![0.0f32; 3], vec![0.0f32]];
    let first = loss(&rows, &parameters[0], parameters[1][0]).0;
    for step in 0..150 {
        if step == 75 {
            // State is saved and loaded like that of a model's optimizer.
            let (state, n_steps) = (optimizer.state_dict()?, optimizer.n_steps());
            optimizer = ArrayOptimizer::new(&device, make);
            optimizer.load_state_dict(&state, n_steps)?;
        }
        let (_, dw, db) = loss(&rows, &parameters[0], parameters[1][0]);
        optimizer.set_lr_factor(1.0 - f64::from(step) / 150.0);
        optimizer.step(&mut parameters, &[dw, db])?;
    }
    let last = loss(&rows, &parameters[0], parameters[1][0]).0;
    println!("{} steps; the loss fell below a thousandth: {}", optimizer.n_steps(), last < first / 1000.0);
    println!("w = [{:.1}, {:.1}, {:.1}], b = {:.1}", parameters[0][0], parameters[0][1], parameters[0][2], parameters[1][0]);
    // When a step fails nothing has changed. What no memory was left for, `clear_cache` may make room for; of a device that was lost, `move_to` another.
    let wrong = optimizer.step(&mut parameters, &[vec![1.0f32; 2], vec![0.0]]);
    println!("gradients of another shape are refused: {}", wrong.is_err());
    assert!(last < first / 1000.0 && wrong.is_err());
    Ok(())
}
