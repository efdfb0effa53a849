//! A training step of an LSTM as the layer records it, beside the same step recorded op by op: `cargo run --release --example lstm_step`.

use std::time::Instant;
use unigrad::nn::{self, Layer, Module};
use unigrad_tensor::{DType, Device, Tensor, eval};

struct All(Vec<Tensor>);

impl<'m> nn::Visitor<'m> for All {
    fn parameter(&mut self, _: &str, tensor: &'m Tensor) {
        self.0.push(tensor.clone());
    }

    fn buffer(&mut self, _: &str, _: &'m Tensor) {}
}

fn weights_of(lstm: &nn::Lstm) -> Vec<Tensor> {
    let mut all = All(Vec::new());
    lstm.visit(&mut all);
    all.0
}

fn unrolled(lstm: &nn::Lstm, x: &Tensor, hidden: usize) -> Tensor {
    let weights = weights_of(lstm);
    let zeros = Tensor::zeros([x.shape()[0], hidden], DType::F32, &x.device().unwrap());
    let projected = x.linear(&weights[0], Some(&(&weights[2] + &weights[3])));
    let weight = weights[1].t().contiguous();
    let (mut h, mut c, mut states) = (zeros.clone(), zeros, Vec::new());
    for projected in projected.unbind(1) {
        let gates = &projected + h.matmul(&weight);
        let gate = |k: usize| gates.narrow(1, k * hidden, hidden);
        c = gate(1).sigmoid() * &c + gate(0).sigmoid() * gate(2).tanh();
        h = gate(3).sigmoid() * c.tanh();
        states.push(h.clone());
    }
    Tensor::stack(&states.iter().collect::<Vec<_>>(), 1)
}

fn main() -> Result<(), unigrad::Error> {
    unigrad_testing::devices();
    let device = Device::open("cpu")?;
    for (batch, length, features, hidden) in [(32, 64, 64, 128), (8, 200, 32, 64), (64, 28, 28, 256)] {
        let x = Tensor::full([batch, length, features], 0.3, DType::F32, &device).realize()?;
        let lstm = nn::Lstm::new(features, hidden, &device);
        let weights = weights_of(&lstm);
        let forms: [(&str, &dyn Fn() -> Tensor); 2] = [("op by op", &|| unrolled(&lstm, &x, hidden)), ("scan", &|| lstm.forward(&x))];
        let mut best = [(f64::MAX, 0.0); 2];
        for round in 0..12 {
            for (form, best) in forms.iter().zip(&mut best) {
                let begin = Instant::now();
                let loss = form.1().square().mean(());
                let gradients = unigrad_tensor::take_gradients(&loss, &weights)?;
                Tensor::realize_all(&[&[&loss][..], &gradients.iter().collect::<Vec<_>>()].concat())?;
                loss.item::<f32>()?;
                let seconds = begin.elapsed().as_secs_f64();
                if round == 0 {
                    best.1 = seconds;
                } else {
                    best.0 = best.0.min(seconds);
                }
            }
        }
        for (form, (least, first)) in forms.iter().zip(best) {
            println!(
                "{batch}x{length}x{features} hidden {hidden}: {:<9} {:.2} ms a step, the first {:.0} ms",
                form.0,
                1e3 * least,
                1e3 * first
            );
        }
    }
    println!("{} plans", eval::stats().plans_built);
    Ok(())
}
