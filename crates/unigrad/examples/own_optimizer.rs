//! An optimizer of one's own: a rule for one parameter, which becomes one fused launch for all, with its state in checkpoints.
//!
//! `cargo run --release --example own_optimizer`

use unigrad::nn::{Checkpoint, Group, Optimizer, Rule, StepNumbers};
use unigrad::prelude::*;

/// RMSprop: steps by the gradient over the root of its mean square.
struct RmsProp {
    alpha: f64,
    eps: f64,
}

impl Rule for RmsProp {
    fn state_names(&self) -> Vec<&'static str> {
        vec!["square_avg"]
    }

    fn weight_decay(&self) -> f64 {
        0.0
    }

    // What may differ from step to step is a number here, and no part of the plan.
    fn scalars(&self, step: &StepNumbers<'_>) -> Vec<Tensor> {
        [-step.lr, self.alpha, 1.0 - self.alpha, self.eps].map(|number| step.number(number)).to_vec()
    }

    fn update(&self, value: &Tensor, gradient: &Tensor, state: &[Tensor], scalars: &[Tensor]) -> (Tensor, Vec<Tensor>) {
        let square_avg = &state[0] * &scalars[1] + gradient.square() * &scalars[2];
        (value + gradient / (square_avg.sqrt() + &scalars[3]) * &scalars[0], vec![square_avg])
    }
}

fn main() -> Result<()> {
    let device = Device::best()?;
    manual_seed(1);
    let x = Tensor::rand([256, 1], DType::F32, &device);
    let y = &x * 3.0 - 1.0;
    Tensor::realize_all(&[&x, &y])?;

    let line = nn::Linear::new(1, 1, &device);
    let group = Group { parameters: line.parameters(), lr: 0.02, weight_decay: None };
    let mut optimizer = Optimizer::with_rule(RmsProp { alpha: 0.9, eps: 1e-8 }, vec![group])?;
    for step in 0..400 {
        optimizer.set_lr_factor(1.0 - f64::from(step) / 400.0);
        let loss = line.forward(&x).mse_loss(&y);
        optimizer.minimize(&loss, &[])?;
        if step % 100 == 99 {
            println!("step {:>3}  loss {:.4}", step + 1, loss.item::<f32>()?);
        }
    }
    for (name, parameter) in line.named_parameters() {
        println!("{name} = {:.2}", parameter.item::<f32>()?);
    }
    let file = std::env::temp_dir().join(format!("own-optimizer-{}.safetensors", std::process::id()));
    Checkpoint::of(&line, &optimizer)?.save(&file)?;
    Checkpoint::load(&file)?.restore(&line, &mut optimizer)?;
    println!("resumed at step {} with {:?}", optimizer.n_steps(), optimizer.state_dict()?.keys().collect::<Vec<_>>());
    // Whatever becomes of the file, the program is done.
    let _ = std::fs::remove_file(file);
    Ok(())
}
