//! One program on every backend: the same network, data and random numbers on each device of this machine.
//!
//! `cargo run --release --example every_backend`

use unigrad::prelude::*;

/// Losses of the first and the last step.
fn train(device: &Device) -> Result<(f32, f32)> {
    manual_seed(3);
    let x = Tensor::rand([128, 4], DType::F32, device);
    let y = x.sum_keepdim(-1).sin();
    Tensor::realize_all(&[&x, &y])?;
    let (hidden, head) = (nn::Linear::new(4, 16, device), nn::Linear::new(16, 1, device));
    let parameters = [hidden.parameters(), head.parameters()].concat();
    let mut optimizer = nn::AdamW::new(parameters, 2e-2)?;
    let mut losses = Vec::new();
    for _ in 0..60 {
        let loss = head.forward(&hidden.forward(&x).tanh()).mse_loss(&y);
        optimizer.minimize(&loss, &[])?;
        losses.push(loss.item::<f32>()?);
    }
    Ok((losses[0], losses[losses.len() - 1]))
}

fn main() -> Result<()> {
    let summary = Device::summary();
    for backend in &summary.backends {
        println!("{}", backend.title);
        for info in &backend.devices {
            match Device::open(&info.device()).map_err(Error::from).and_then(|device| train(&device)) {
                Ok((first, last)) => println!("  {}: loss {first:.4} -> {last:.4}", info.device()),
                Err(error) => println!("  {}: {error}", info.device()),
            }
        }
        for problem in &backend.problems {
            println!("  not here: {} ({})", problem.cause, problem.help);
        }
    }
    for recommended in &summary.recommended {
        println!("for {}: {}, because {}", recommended.purpose, recommended.device, recommended.why);
    }
    Ok(())
}
