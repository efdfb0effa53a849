//! Images that a loader decodes, crops and resizes a second: `image_rate FOLDER [WORKERS]`. `scripts/image_rate.py` makes a folder and measures
//! PyTorch's loader with torchvision on it.

use std::time::Instant;
use unigrad_data::{Compose, Dataset, ImageFolder, Loader, Normalize, RandomHorizontalFlip, RandomResizedCrop, Resize, Source, Transform};
use unigrad_nn::{Error, Result};
use unigrad_tensor::Device;

fn main() -> Result<()> {
    unigrad_device::register(unigrad_cpu::CpuDriver);
    let mut arguments = std::env::args().skip(1);
    let folder = arguments.next().ok_or_else(|| Error::argument("no folder", "image_rate FOLDER [WORKERS]"))?;
    let workers = arguments.next().and_then(|n| n.parse().ok()).unwrap_or(2);
    let device = Device::open("cpu")?;
    let train = || Compose::new().then(RandomResizedCrop::new(224, 224)).then(RandomHorizontalFlip(0.5)).then(Normalize::imagenet());
    let test = || Compose::new().then(Resize::new(256, 256)).then(Normalize::imagenet());
    rate("random resized crop", &folder, workers, &device, train)?;
    rate("resize", &folder, workers, &device, test)
}

fn rate<T: Transform>(name: &str, folder: &str, workers: usize, device: &Device, transform: impl Fn() -> T) -> Result<()> {
    let images = ImageFolder::open(folder)?;
    let n = images.len();
    let loader = Loader::new(images.samples(transform()), 32, 1).workers(workers);
    // The first epoch reads the files into the system's memory.
    let mut best = f64::INFINITY;
    for epoch in 0..4 {
        let start = Instant::now();
        for batch in loader.batches(epoch, 0, device)? {
            batch?;
        }
        best = best.min(start.elapsed().as_secs_f64());
    }
    println!("{name}: {:.0} images/s with {workers} threads", n as f64 / best);
    Ok(())
}
