//! A generator and a critic against each other: a learner of its own with two optimizers in one step.
//!
//! `cargo run --release --example gan`

use unigrad::{
    data::{Arrays, Batch, Loader},
    nn::{Adam, AdamRule, HostTensor, LeakyRelu, Linear, Optimizer, Sequential, random::Rng},
    prelude::*,
    train::{Learner, Optimize, Outcome, StepSettings, Trainer, descend},
};

struct Gan {
    generator: Sequential,
    critic: Sequential,
    of_generator: Optimizer<AdamRule>,
    of_critic: Optimizer<AdamRule>,
}

impl Gan {
    fn new(device: &Device) -> Result<Gan> {
        let generator = Sequential::new().add(Linear::new(2, 16, device)).add(LeakyRelu::default()).add(Linear::new(16, 1, device));
        let critic = Sequential::new().add(Linear::new(1, 16, device)).add(LeakyRelu::default()).add(Linear::new(16, 1, device));
        let (of_generator, of_critic) = (Adam::new(generator.parameters(), 0.01)?, Adam::new(critic.parameters(), 0.01)?);
        Ok(Gan { generator, critic, of_generator, of_critic })
    }
}

impl Learner for Gan {
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
        let (generator, critic) = (&self.generator, &self.critic);
        let made = |batch: &Batch| generator.forward(&Tensor::randn([batch.indices.len(), 2], DType::F32, &batch.input.device()?)).check();
        let judged = descend(&mut self.of_critic, &[], batches, settings, |batch| {
            let (real, fake) = (critic.forward(&batch.input), critic.forward(&made(batch)?.detach()));
            let loss = real.bce_with_logits(&real.ones_like()) + fake.bce_with_logits(&fake.zeros_like());
            Ok(Outcome::new(loss, batch.indices.len()))
        })?;
        let fooled = descend(&mut self.of_generator, &[], batches, settings, |batch| {
            let fake = critic.forward(&made(batch)?);
            Ok(Outcome::new(fake.bce_with_logits(&fake.ones_like()), batch.indices.len()))
        })?;
        Ok(fooled.mean("critic", &judged.loss)) // one more column of the history
    }

    /// How far the mean of what is made is from the mean of what is real.
    fn evaluate(&mut self, batch: &Batch) -> Result<Outcome> {
        let made = self.generator.forward(&Tensor::randn([256, 2], DType::F32, &batch.input.device()?));
        Ok(Outcome::new((made.mean(()) - batch.input.mean(())).abs(), batch.indices.len()))
    }
}

fn main() -> Result<()> {
    let device = Device::best()?;
    manual_seed(1);
    let mut rng = Rng::new(1, 0);
    let numbers: Vec<u8> = (0..256).flat_map(|_| (3.0 + 0.5 * rng.normal() as f32).to_le_bytes()).collect();
    let real = HostTensor { dtype: DType::F32, shape: vec![256, 1], bytes: numbers };
    let train = Loader::new(Arrays::new(real.clone(), real)?, 32, 1);

    let run = Trainer::new(&device).epochs(30).fit(&mut Gan::new(&device)?, &train, Some(&train))?;
    let apart = run.history.get("val_loss").unwrap_or_default();
    let (first, last) = (apart.first().copied().unwrap_or(0.0), apart.last().copied().unwrap_or(f64::NAN));
    println!("{} steps; the means are nearer than they were: {}", run.n_steps, last < first / 2.0);
    Ok(())
}
