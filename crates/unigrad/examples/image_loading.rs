//! Whether a device waits for its data: a training step on batches that a loader decodes, crops and uploads meanwhile, beside the same step on a batch that
//! is there, and beside how fast the loader is alone.
//!
//! `cargo run --release --example image_loading FOLDER [THREADS] [CHANNELS]`: a folder of PNG, JPEG or WebP files in a folder for each class
//! (`scripts/image_rate.py` makes one), or `-` for a few that are made here. More channels make the step longer.

use std::{
    iter::repeat_n,
    path::{Path, PathBuf},
    time::Instant,
};
use unigrad::{
    data::{Batch, Compose, Dataset, ImageFolder, Loader, Normalize, RandomHorizontalFlip, RandomResizedCrop, Source},
    nn::{AdamW, AdaptiveAvgPool2d, Conv2d, Flatten, Linear, Relu, Sequential},
    prelude::*,
    tensor::ConvOptions,
};

const BATCH: usize = 64;
const EPOCHS: u64 = 4;

struct Net {
    model: Sequential,
    optimizer: AdamW,
}

impl Net {
    fn new(channels: usize, n_classes: usize, device: &Device) -> Result<Net> {
        manual_seed(1);
        let (half, same) = (|| ConvOptions::new(2, 1), || ConvOptions::new(1, 1));
        let model = Sequential::new().add(Conv2d::new(3, channels, 3, half(), device)).add(Relu);
        let model = model.add(Conv2d::new(channels, 2 * channels, 3, half(), device)).add(Relu);
        let model = model.add(Conv2d::new(2 * channels, 2 * channels, 3, same(), device)).add(Relu);
        let model = model.add(Conv2d::new(2 * channels, 4 * channels, 3, half(), device)).add(Relu);
        let model = model.add(AdaptiveAvgPool2d::new([1, 1])).add(Flatten::default()).add(Linear::new(4 * channels, n_classes, device));
        let optimizer = AdamW::new(model.parameters(), 1e-3)?;
        Ok(Net { model, optimizer })
    }

    /// Milliseconds a step over these batches; the loss is read at the end only.
    fn steps(&mut self, batches: impl Iterator<Item = Result<Batch>>) -> Result<f64> {
        let (begin, mut n, mut last) = (Instant::now(), 0, None);
        for batch in batches {
            let batch = batch?;
            let loss = self.model.forward(&batch.input).cross_entropy(&batch.target);
            self.optimizer.minimize(&loss, &[])?;
            (last, n) = (Some(loss), n + 1);
        }
        last.map(|loss| loss.to_f64()).transpose()?;
        Ok(begin.elapsed().as_secs_f64() * 1e3 / f64::from(n.max(1)))
    }
}

/// Two classes of JPEG files with colours that run into each other, two batches of them.
fn write_images(folder: &Path) -> Result<()> {
    for i in 0..2 * BATCH as u32 {
        let class = folder.join(["across", "down"][i as usize % 2]);
        std::fs::create_dir_all(&class).map_err(|error| Error::write(&class, error))?;
        let shade = |x: u32, y: u32| [x * 2 + i, y * 3 + i, (x ^ y) + i].map(|colour| (colour % 256) as u8);
        let (width, height) = (100 + i % 7, 80 + i % 5);
        let pixels: Vec<u8> =
            (0..height).flat_map(|y| (0..width).flat_map(move |x| if i % 2 == 0 { shade(x, y) } else { shade(y, x) })).collect();
        let file = class.join(format!("{i}.jpg"));
        let written = image::save_buffer(&file, &pixels, width, height, image::ExtendedColorType::Rgb8);
        written.map_err(|error| Error::write(&file, std::io::Error::other(error)))?;
    }
    Ok(())
}

fn main() -> Result<()> {
    let device = Device::best()?;
    let mut arguments = std::env::args().skip(1);
    let folder = arguments.next().ok_or_else(|| Error::argument("no folder", "image_loading FOLDER [THREADS] [CHANNELS]"))?;
    let own = std::env::temp_dir().join(format!("unigrad-example-image-loading-{}", std::process::id()));
    let folder = if folder == "-" { own.clone() } else { PathBuf::from(folder) };
    if folder == own {
        write_images(&folder)?;
    }
    let n_threads: usize = arguments.next().and_then(|n| n.parse().ok()).unwrap_or(2);
    let channels = arguments.next().and_then(|n| n.parse().ok()).unwrap_or(32);
    let images = ImageFolder::open(&folder)?;
    let (n_images, n_classes) = (images.len(), images.classes().len());
    let crop = Compose::new().then(RandomResizedCrop::new(224, 224)).then(RandomHorizontalFlip(0.5)).then(Normalize::imagenet());
    // The last batch, if it is smaller, would be another plan.
    let loader = Loader::new(images.samples(crop), BATCH, 1).workers(n_threads).drop_last();
    let host = Device::open("cpu")?;
    let mut alone = f64::INFINITY;
    for epoch in 0..EPOCHS {
        let begin = Instant::now();
        loader.batches(epoch, 0, &host)?.try_for_each(|batch| batch.map(drop))?;
        alone = alone.min(begin.elapsed().as_secs_f64() * 1e3 / loader.n_batches().max(1) as f64);
    }
    println!("{n_images} images; the loader alone, {n_threads} threads: {alone:.2} ms a batch of {BATCH}");
    let mut net = Net::new(channels, n_classes, &device)?;
    let first = loader.batches(0, 0, &device)?.next().ok_or_else(|| Error::argument("no whole batch", "put more images there"))??;
    let (mut there, mut loaded) = (f64::INFINITY, f64::INFINITY);
    // In turns, so that both have the machine's good and bad moments; the first of each compiles.
    for epoch in 0..=EPOCHS {
        let again = repeat_n(first.clone(), loader.n_batches()).map(Ok);
        let (a, b) = (net.steps(again)?, net.steps(loader.batches(epoch, 0, &device)?)?);
        if epoch > 0 {
            (there, loaded) = (there.min(a), loaded.min(b));
        }
    }
    println!("{device}: {there:.2} ms a step on a batch that is there, {loaded:.2} ms with the loader: {:.3}x", loaded / there);
    if folder == own {
        std::fs::remove_dir_all(&own).map_err(|error| Error::write(&own, error))?;
    }
    Ok(())
}
