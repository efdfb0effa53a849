//! A dataset and a sampler of one's own: waves that are made when they are asked for, easy ones first.
//!
//! `cargo run --release --example custom_dataset`

use std::f64::consts::TAU;
use unigrad::{
    data::{Dataset, Loader, Sample, Sampler, Source, array},
    nn::{AdamW, CrossEntropyLoss, metrics::Accuracy, random::Rng},
    prelude::*,
    train::{Supervised, Trainer, network::Network},
};

const LENGTH: usize = 48;

/// `len` waves in noise. Which kind item `index` is, follows from the index, and how noisy; its pitch and phase are drawn anew in each epoch.
struct Waves {
    len: usize,
}

impl Dataset for Waves {
    type Item = Sample;

    fn len(&self) -> usize {
        self.len
    }

    /// The numbers of `rng` depend on seed, epoch and index alone: whatever the number of threads, and after a resume, an item is the same.
    fn get(&self, index: usize, rng: &mut Rng) -> Result<Sample> {
        let class = index % 3;
        let noise = 0.5 * index as f64 / self.len as f64;
        let (periods, phase) = (2.0 + 2.0 * rng.uniform(), rng.uniform());
        let wave = (0..LENGTH).map(|i| {
            let at = (periods * i as f64 / LENGTH as f64 + phase).fract();
            let value = match class {
                0 => (TAU * at).sin(),
                1 => (at - 0.5).signum(),
                _ => 2.0 * at - 1.0,
            };
            (value + noise * rng.normal()) as f32
        });
        let wave: Vec<f32> = wave.collect();
        Ok(Sample { input: array(&wave, &[1, LENGTH])?, target: array(&[class as i64], &[])? })
    }
}

/// In the first epochs more of the items that have little noise.
struct EasyFirst {
    len: usize,
    epochs: u64,
}

impl Sampler for EasyFirst {
    fn len(&self) -> usize {
        self.len
    }

    fn order(&self, epoch: u64) -> Vec<usize> {
        let share = ((epoch + 1) as f64 / self.epochs as f64).min(1.0);
        let reach = ((self.len as f64 * share) as usize).max(1);
        Rng::new(7, epoch).permutation(self.len).into_iter().map(|at| at % reach).collect()
    }
}

fn main() -> Result<()> {
    let device = Device::best()?;
    manual_seed(1);
    let train = |workers| Loader::new(Waves { len: 768 }, 32, 1).sampler(EasyFirst { len: 768, epochs: 4 }).workers(workers);
    let test = Loader::new(Waves { len: 300 }, 100, 2).in_order();

    // The same batch, made by one thread and by three.
    let third = |workers| -> Result<Vec<f32>> {
        let source = train(workers);
        let batch = source.batches(1, 2, &device)?.next().transpose()?;
        batch.map_or_else(|| Ok(Vec::new()), |batch| batch.input.to_vec())
    };
    println!("three threads make the batches of one: {}", third(3)? == third(1)?);

    let network =
        Network::with_input([1, LENGTH]).conv1d(16, 7).relu().conv1d(16, 5).relu().flatten().dense(3).seed(1).build_on(&device)?;
    // A network is a module like any other.
    let optimizer = AdamW::new(network.parameters(), 3e-3)?;
    let mut learner = Supervised::new(network, CrossEntropyLoss::default(), optimizer);
    let run = Trainer::new(&device).epochs(6).seed(1).metric(Accuracy::default).fit(&mut learner, &train(2), Some(&test))?;
    let accuracy = run.history.last("val_accuracy").unwrap_or(0.0);
    eprintln!("{:.1} % of other waves are right", 100.0 * accuracy);
    println!("more than 85 % of waves that it has not heard are right: {}", accuracy > 0.85);
    assert!(accuracy > 0.85 && third(3)? == third(1)?);
    Ok(())
}
