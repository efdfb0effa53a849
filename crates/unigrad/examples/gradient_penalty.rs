//! A Wasserstein GAN with a gradient penalty (Gulrajani et al., 2017): the critic's loss has the length of a gradient in it, and is differentiated again.
//!
//! `cargo run --release --example gradient_penalty`

use unigrad::{
    data::{Arrays, Batch, Loader, array},
    nn::{Adam, AdamRule, Linear, Optimizer, Schedule, Sequential, Tanh, random::Rng},
    prelude::*,
    train::{Learner, Optimize, Outcome, StepSettings, Trainer, descend},
};

/// Steps of the critic for each of the generator.
const CRITIC_STEPS: usize = 5;
/// How much the penalty counts.
const PENALTY: f64 = 1.0;

struct Wgan {
    generator: Sequential,
    critic: Sequential,
    of_generator: Optimizer<AdamRule>,
    of_critic: Optimizer<AdamRule>,
}

impl Wgan {
    fn new(device: &Device) -> Result<Wgan> {
        let net = |inputs, outputs| {
            let hidden = Sequential::new().add(Linear::new(inputs, 32, device)).add(Tanh).add(Linear::new(32, 32, device)).add(Tanh);
            hidden.add(Linear::new(32, outputs, device))
        };
        let (generator, critic) = (net(2, 2), net(2, 1));
        let of_generator = Adam::new(generator.parameters(), 5e-3)?.betas(0.0, 0.9);
        let of_critic = Adam::new(critic.parameters(), 1e-2)?.betas(0.0, 0.9);
        Ok(Wgan { generator, critic, of_generator, of_critic })
    }

    fn make(&self, n: usize, device: &Device) -> Tensor {
        self.generator.forward(&Tensor::randn([n, 2], DType::F32, device))
    }
}

/// How far the lengths of the critic's gradients are from 1, between what is real and what is made.
fn penalty(critic: &Sequential, real: &Tensor, made: &Tensor) -> Result<Tensor> {
    let share = Tensor::rand([real.shape()[0], 1], DType::F32, &real.device()?);
    let between = (real + (made - real) * share).detach().requires_grad();
    // A gradient is graph like any other, so the critic's weights learn from it.
    let slope = grad(&critic.forward(&between).sum(()), &[&between])?.remove(0);
    let length = (slope.square().sum(1) + 1e-12).sqrt();
    Ok((length - 1.0).square().mean(()))
}

impl Learner for Wgan {
    type Batch = Batch;

    fn modules(&self) -> Vec<(&str, &dyn Module)> {
        vec![("generator", &self.generator), ("critic", &self.critic)]
    }

    fn set_training(&mut self, training: bool) {
        self.generator.train(training);
        self.critic.train(training);
    }

    fn optimizers(&self) -> Vec<(&str, &dyn Optimize)> {
        vec![("generator", &self.of_generator), ("critic", &self.of_critic)]
    }

    fn optimizers_mut(&mut self) -> Vec<(&str, &mut dyn Optimize)> {
        vec![("generator", &mut self.of_generator), ("critic", &mut self.of_critic)]
    }

    fn train_step(&mut self, batches: &[Batch], settings: &StepSettings) -> Result<Outcome> {
        let mut apart = None;
        for _ in 0..CRITIC_STEPS {
            let (generator, critic) = (&self.generator, &self.critic);
            let judged = descend(&mut self.of_critic, &[], batches, settings, |batch| {
                let n = batch.indices.len();
                let made = no_grad(|| generator.forward(&Tensor::randn([n, 2], DType::F32, &batch.input.device()?)).check())?;
                let loss = critic.forward(&made).mean(()) - critic.forward(&batch.input).mean(());
                let slopes = penalty(critic, &batch.input, &made)?;
                Ok(Outcome::new(loss + &slopes * PENALTY, n).mean("slopes", &slopes))
            })?;
            apart = judged.numbers.into_iter().next();
        }
        let (generator, critic) = (&self.generator, &self.critic);
        let outcome = descend(&mut self.of_generator, &[], batches, settings, |batch| {
            let made = generator.forward(&Tensor::randn([batch.indices.len(), 2], DType::F32, &batch.input.device()?));
            Ok(Outcome::new(-critic.forward(&made).mean(()), batch.indices.len()))
        })?;
        Ok(match apart {
            Some(apart) => outcome.mean(&apart.name, &apart.value),
            None => outcome,
        })
    }

    /// How far mean and covariance of points that are made are from those of real ones.
    fn evaluate(&mut self, batch: &Batch) -> Result<Outcome> {
        let made = self.make(1024, &batch.input.device()?);
        let ((mean, covariance), (real_mean, real_covariance)) = (moments(&made), moments(&batch.input));
        let apart = (mean - real_mean).abs().sum(()) + (covariance - real_covariance).abs().sum(());
        Ok(Outcome::new(apart, batch.indices.len()))
    }
}

/// The mean and the covariance of points `[n, 2]`.
fn moments(points: &Tensor) -> (Tensor, Tensor) {
    let mean = points.mean(0);
    let around = points - &mean;
    (mean, around.transpose(0, 1).matmul(&around) / points.shape()[0] as f64)
}

fn main() -> Result<()> {
    let device = Device::best()?;
    manual_seed(1);
    // A long cloud of points, away from where the generator begins.
    let mut rng = Rng::new(1, 0);
    let mut points = Vec::new();
    for _ in 0..1024 {
        let (along, across) = (rng.normal() as f32, rng.normal() as f32);
        points.extend([1.0 + along, 0.8 * along + 0.3 * across - 1.0]);
    }
    let real = array(&points, &[1024, 2])?;
    let arrays = Arrays::new(real.clone(), real)?;
    let (train, all) = (Loader::new(arrays.clone(), 128, 1), Loader::new(arrays, 1024, 1).in_order());

    let mut learner = Wgan::new(&device)?;
    let trainer = Trainer::new(&device).epochs(60).seed(1).schedule(Schedule::linear(480));
    let run = trainer.fit(&mut learner, &train, Some(&all))?;
    let apart = run.history.get("val_loss").unwrap_or_default();
    let (first, last) = (apart.first().copied().unwrap_or(0.0), apart.last().copied().unwrap_or(f64::NAN));
    let slopes = run.history.last("slopes").unwrap_or(f64::NAN);
    eprintln!("mean and covariance are off by {last:.3}, after the first epoch by {first:.3}; the penalty is {slopes:.3}");
    println!("what is made has the mean and the covariance of what is real: {}", last < 0.6 && last < first / 3.0);
    println!("the critic is about as steep as it is to be: {}", slopes < 0.1);
    assert!(last < 0.6 && last < first / 3.0 && slopes < 0.1);
    Ok(())
}
