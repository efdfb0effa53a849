//! Gradients are graph: differentiate them again. And a function with a gradient of its own.
//!
//! `cargo run --release --example derivatives`

use unigrad::prelude::*;
use unigrad::tensor::custom;

fn main() -> Result<()> {
    let device = Device::best()?;
    let x = Tensor::linspace(0.0, 1.5, 4, DType::F64, &device).requires_grad();

    let mut derivative = x.sin();
    println!("sin:   {:.4?}", derivative.to_f64_vec()?);
    for name in ["cos", "-sin", "-cos"] {
        derivative = grad(&derivative.sum(()), &[&x])?.remove(0);
        println!("{name:<6} {:.4?}", derivative.to_f64_vec()?);
    }

    // A step function that lets gradients through where |x| < 1 (a straight-through estimator).
    let step = custom("step", &[&x], |v| v[0].gt(0.5).cast(DType::F64), |v, _, dy| vec![Some(dy * v[0].abs().lt(1.0).cast(DType::F64))]);
    step.sum(()).backward()?;
    println!("step:  {:.1?}, its gradient {:.1?}", step.to_f64_vec()?, x.grad().map(|g| g.to_f64_vec()).transpose()?);
    Ok(())
}
