//! A convolutional network on image files: a folder with a sub-folder for each class, read and changed on threads while the network learns.
//!
//! `cargo run --release --example images [FOLDER]`; without a folder, the digits that ship are written into one.

use std::path::{Path, PathBuf};
use unigrad::{
    data::{Channels, Compose, Dataset, DecodeOptions, ImageFolder, Loader, Picture, RandomRotation, Resize, ToFloat, stratified_split},
    prelude::*,
    train::network::{Network, TrainingConfig},
};

const SIZE: usize = 8;

/// `FOLDER/7/123.png`, and so on.
fn write_digits(folder: &Path) -> Result<()> {
    let digits = unigrad::data::digits()?.train;
    for i in 0..digits.len() {
        let class = folder.join(digits.labels[i].to_string());
        std::fs::create_dir_all(&class).map_err(|error| Error::write(&class, error))?;
        let grey: Vec<u8> = digits.image(i).iter().map(|&pixel| (u32::from(pixel) * 255 / u32::from(digits.white)) as u8).collect();
        let file = class.join(format!("{i}.png"));
        let written = image::save_buffer(&file, &grey, digits.width as u32, digits.height as u32, image::ExtendedColorType::L8);
        written.map_err(|error| Error::write(&file, std::io::Error::other(error)))?;
    }
    Ok(())
}

fn main() -> Result<()> {
    let device = Device::best()?;
    manual_seed(1);
    let own = std::env::temp_dir().join(format!("unigrad-example-images-{}", std::process::id()));
    let folder = std::env::args().nth(1).map_or(own.clone(), PathBuf::from);
    if folder == own {
        write_digits(&folder)?;
    }
    let grey = DecodeOptions { channels: Channels::Converted(1), ..DecodeOptions::default() };
    let images = ImageFolder::open(&folder)?.options(grey);
    let n_classes = images.classes().len();
    println!("{} files of {n_classes} classes", images.files().len());

    // A tenth of each class validates. What trains is turned a little, another way each time; what validates is not.
    let (train, validation) = stratified_split(&images.labels(), 0.1, 1)?;
    let turned = Compose::new().then(Resize::new(SIZE, SIZE)).then(RandomRotation::new(8.0)).then(ToFloat);
    let plain = Compose::new().then(Resize::new(SIZE, SIZE)).then(ToFloat);
    let sample = images.files()[validation[0]].clone();
    let train = Loader::new(images.clone().samples(turned).subset(train)?, 32, 1).workers(2);
    let validation = Loader::new(images.samples(plain).subset(validation)?, 128, 1).in_order();

    let network = Network::with_input([1, SIZE, SIZE]).conv2d(16, 3).relu().conv2d(32, 3).relu().max_pool2d(2).flatten();
    let mut network = network.dropout(0.1).dense(n_classes).seed(1).build_on(&device)?;
    let mut config = TrainingConfig { max_epochs: 5, ..TrainingConfig::default() };
    config.optimizer = config.optimizer.with_lr(4e-3);
    let run = network.train_on(&train, Some(&validation), &config)?;
    let accuracy = run.history.last("val_accuracy").unwrap_or(0.0);
    eprintln!("{:.1} % of the other files are right", 100.0 * accuracy);
    println!("nine of ten files that it has not seen are right: {}", accuracy > 0.9);

    // One file, as a program that uses the network reads it.
    let mut rng = unigrad::nn::random::Rng::new(0, 0);
    let picture = unigrad::data::Transform::apply(
        &Compose::new().then(Resize::new(SIZE, SIZE)).then(ToFloat),
        Picture::read(&sample.0, &grey)?,
        &mut rng,
    )?;
    let pixels = Tensor::from_bytes(&picture.to_tensor().bytes, [1, 1, SIZE, SIZE], DType::F32, &device);
    println!("a file of class {} is taken for {}", sample.1, network.predict_classes(&pixels)?[0]);
    assert!(accuracy > 0.9);
    if folder == own {
        std::fs::remove_dir_all(&own).map_err(|error| Error::write(&own, error))?;
    }
    Ok(())
}
