//! A variational autoencoder of digits (Kingma and Welling, 2014): eight numbers describe an image, and random ones make a new one.
//!
//! `cargo run --release --example vae [FILE.png]`; the file is where new digits are drawn.

use unigrad::{
    data::{Arrays, Batch, Images, Loader, array, digits},
    nn::{AdamW, Linear},
    prelude::*,
    train::{Outcome, Supervised, Trainer},
};

const LATENT: usize = 8;
const SIDE: usize = 8;

#[derive(Module)]
struct Vae {
    encoder: Linear,
    mean: Linear,
    log_variance: Linear,
    hidden: Linear,
    decoder: Linear,
}

impl Vae {
    fn new(device: &Device) -> Vae {
        let linear = |inputs, outputs| Linear::new(inputs, outputs, device);
        let (encoder, hidden) = (linear(SIDE * SIDE, 96), linear(LATENT, 96));
        Vae { encoder, mean: linear(96, LATENT), log_variance: linear(96, LATENT), hidden, decoder: linear(96, SIDE * SIDE) }
    }

    /// Logits of pixels.
    fn decode(&self, z: &Tensor) -> Tensor {
        self.decoder.forward(&self.hidden.forward(z).relu())
    }

    /// How badly images are told from their description, and how far descriptions are from normal numbers: both in nats per image.
    fn losses(&self, x: &Tensor) -> (Tensor, Tensor) {
        let h = self.encoder.forward(x).relu();
        let (mean, log_variance) = (self.mean.forward(&h), self.log_variance.forward(&h));
        // The random numbers are beside what is learned, so gradients reach the mean and the variance.
        let z = &mean + (&log_variance * 0.5).exp() * mean.randn_like();
        let told = self.decode(&z).bce_with_logits(x) * (SIDE * SIDE) as f64;
        let apart = (mean.square() + log_variance.exp() - &log_variance - 1.0).sum(1).mean(()) * 0.5;
        (told, apart)
    }
}

fn arrays(images: &Images) -> Result<Arrays> {
    let pixels: Vec<f32> = images.pixels.iter().map(|&pixel| f32::from(pixel) / f32::from(images.white)).collect();
    let labels: Vec<i64> = images.labels.iter().map(|&label| i64::from(label)).collect();
    Arrays::new(array(&pixels, &[images.len(), SIDE * SIDE])?, array(&labels, &[images.len()])?)
}

fn main() -> Result<()> {
    let device = Device::best()?;
    manual_seed(1);
    let split = digits()?;
    let (train, test) = (Loader::new(arrays(&split.train)?, 64, 1).drop_last(), Loader::new(arrays(&split.test)?, 120, 1).in_order());
    let model = Vae::new(&device);
    let optimizer = AdamW::new(model.parameters(), 3e-3)?;
    let mut learner = Supervised::with(model, optimizer, |model: &Vae, batch: &Batch| {
        let (told, apart) = model.losses(&batch.input);
        Ok(Outcome::new(&told + &apart, batch.indices.len()).mean("apart", &apart))
    });
    let run = Trainer::new(&device).epochs(25).seed(1).fit(&mut learner, &train, Some(&test))?;
    let losses = run.history.get("val_loss").unwrap_or_default();
    let (first, last) = (losses.first().copied().unwrap_or(0.0), losses.last().copied().unwrap_or(f64::NAN));
    eprintln!("an image that it has not seen costs {last:.1} nats, after the first epoch {first:.1}; {:?}", run.history.last("val_apart"));
    // Pixels by themselves, each with the mean of all images, cost 31.
    println!("it has learned how pixels belong together: {}", last < 27.0 && last < first);

    let made = no_grad(|| learner.model.decode(&Tensor::randn([10, LATENT], DType::F32, &device)).sigmoid()).to_vec::<f32>()?;
    let path =
        std::env::args().nth(1).map_or_else(|| std::env::temp_dir().join(format!("unigrad-vae-{}.png", std::process::id())), Into::into);
    let row = |y: usize| (0..10 * SIDE).map(move |x| (x / SIDE * SIDE * SIDE) + y * SIDE + x % SIDE);
    let pixels: Vec<u8> = (0..SIDE).flat_map(row).map(|at| (255.0 * made[at]) as u8).collect();
    let written = image::save_buffer(&path, &pixels, 10 * SIDE as u32, SIDE as u32, image::ExtendedColorType::L8);
    written.map_err(|error| Error::write(&path, std::io::Error::other(error)))?;
    let ink = made.iter().filter(|pixel| **pixel > 0.5).count() as f64 / made.len() as f64;
    println!("ten new digits are drawn, with as much ink as others: {}", (0.2..0.5).contains(&ink));
    assert!(last < 27.0 && (0.2..0.5).contains(&ink));
    if std::env::args().nth(1).is_none() {
        std::fs::remove_file(&path).map_err(|error| Error::write(&path, error))?;
    }
    Ok(())
}
