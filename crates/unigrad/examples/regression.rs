//! A line through noisy points: parameters, a loss, an optimizer.
//!
//! `cargo run --release --example regression`

use unigrad::prelude::*;

fn main() -> Result<()> {
    let device = Device::best()?;
    manual_seed(1);
    let x = Tensor::rand([256, 1], DType::F32, &device);
    let y = &x * 3.0 - 1.0 + Tensor::randn([256, 1], DType::F32, &device) * 0.01;
    Tensor::realize_all(&[&x, &y])?;

    let line = nn::Linear::new(1, 1, &device);
    let mut optimizer = nn::Adam::new(line.parameters(), 0.05)?;
    for step in 0..300 {
        let loss = line.forward(&x).mse_loss(&y);
        optimizer.minimize(&loss, &[])?; // gradients, update and loss in one evaluation
        if step % 100 == 99 {
            println!("step {:>3}  loss {:.6}", step + 1, loss.item::<f32>()?);
        }
    }
    for (name, parameter) in line.named_parameters() {
        println!("{name} = {:.3}", parameter.item::<f32>()?);
    }
    Ok(())
}
