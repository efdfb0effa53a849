//! A network learns MNIST's own files, where they are: `UNIGRAD_MNIST` names their folder. Without them the test says that it is skipped.

mod support;

use std::{env, path::PathBuf};
use support::cpu;
use unigrad_data::{Images, mnist};
use unigrad_train::network::{Network, TrainingConfig};

/// How many images train at most: enough for nine of ten, in seconds.
const MOST: usize = 8000;

/// Images as rows of numbers in 0..=1, and their labels.
fn rows(images: &Images, most: usize) -> (Vec<f32>, Vec<i64>) {
    let n = images.labels.len().min(most);
    let pixels = images.pixels.iter().take(n * images.height * images.width);
    let white = f32::from(images.white);
    (pixels.map(|pixel| f32::from(*pixel) / white).collect(), images.labels.iter().take(n).map(|label| i64::from(*label)).collect())
}

#[test]
fn published_digits_are_learned() {
    let Some(folder) = env::var_os("UNIGRAD_MNIST").filter(|folder| !folder.is_empty()).map(PathBuf::from) else {
        println!("SKIPPED: MNIST: the environment variable UNIGRAD_MNIST names no folder with its files");
        return;
    };
    let (device, _alone) = cpu();
    let split = mnist(&folder).unwrap();
    println!("{}", split.note);
    let (height, width) = (split.train.height, split.train.width);
    assert_eq!((height, width, split.train.n_classes, split.train.white), (28, 28, 10, 255));
    for images in [&split.train, &split.test] {
        assert_eq!(images.pixels.len(), images.labels.len() * height * width);
        // Every digit is there, about as often as the others, and pixels are white on black.
        let often = |digit: u8| images.labels.iter().filter(|label| **label == digit).count() as f64 / images.labels.len() as f64;
        assert!((0..10).map(often).all(|share| (0.06..0.15).contains(&share)));
        let mean = images.pixels.iter().map(|pixel| f64::from(*pixel)).sum::<f64>() / images.pixels.len() as f64;
        assert!((25.0..45.0).contains(&mean) && images.pixels.contains(&0) && images.pixels.contains(&255), "{mean}");
    }
    let (x, labels) = rows(&split.train, MOST);
    let mut network = Network::with_input([height, width]).flatten().dense(64).relu().dense(10).seed(1).build_on(&device).unwrap();
    let mut config = TrainingConfig { batch_size: 50, max_epochs: 2, seed: 1, ..TrainingConfig::default() };
    config.optimizer = config.optimizer.with_lr(2e-3);
    let history = network.train(&(&x[..], [labels.len(), height, width]), &labels, &config).unwrap();
    let losses = &history.step_losses;
    let tenth = losses.len() / 10;
    let mean = |losses: &[f32]| losses.iter().sum::<f32>() / losses.len() as f32;
    assert!(mean(&losses[losses.len() - tenth..]) < 0.4 * mean(&losses[..tenth]), "the loss falls");
    let (x, labels) = rows(&split.test, usize::MAX);
    let classes = network.predict_classes(&(&x[..], [labels.len(), height, width])).unwrap();
    let right = classes.iter().zip(&labels).filter(|(class, label)| class == label).count();
    let accuracy = right as f64 / labels.len() as f64;
    println!("{right} of {} digits that it has not seen are right", labels.len());
    assert!(accuracy > 0.9, "{accuracy}");
}
