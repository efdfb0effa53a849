//! A dense network learns handwritten digits: MNIST from the folder that the first argument names, or the digits that ship with the library.
//! The second argument is the number of epochs.

use unigrad::{data, prelude::*, train::network::*};

fn main() -> Result<()> {
    let folder = std::env::args().nth(1).filter(|folder| std::path::Path::new(folder).is_dir());
    let examples = match &folder {
        Some(folder) => data::mnist_examples(folder)?,
        None => data::digits()?.train, // MNIST is absent: 8x8 digits
    };
    let images = examples.batch(&(0..examples.len()).collect::<Vec<_>>(), None);
    let (n, size) = (examples.len(), images.height * images.width);
    println!("{n} images of {}x{}; the last fifth validates", images.height, images.width);
    let mut network = Network::with_input_size(size).dense(512).relu().dense(256).relu().dense(10).build()?;
    let max_epochs = std::env::args().nth(2).and_then(|epochs| epochs.parse().ok()).unwrap_or(50);
    let config = TrainingConfig { max_epochs, batch_size: 128, validation_split: 0.2, verbose: true, ..TrainingConfig::default() };
    let started = std::time::Instant::now();
    let history = network.train(&(&images.pixels[..], [n, size]), &images.labels, &config)?;
    eprintln!("trained in {:?}", started.elapsed());
    let accuracy = history.val_metrics.get("accuracy").and_then(|accuracy| accuracy.last()).unwrap_or(&0.0);
    println!("validation accuracy {:.2}%", accuracy * 100.0);
    Ok(())
}
