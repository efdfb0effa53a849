//! Handwritten digits by a small network, with everything that a trainer does beside the steps.
//!
//! `cargo run --release --example trainer`

use unigrad::{
    data::{Arrays, Images, Loader, digits},
    nn::{AdamW, Better, CrossEntropyLoss, Dropout, HostTensor, Linear, Relu, Schedule, Sequential, metrics::Accuracy},
    prelude::*,
    train::{Callback, Context, EarlyStopping, KeepBest, Supervised, TensorBoard, Trainer},
};

/// Images as rows of numbers from 0 to 1, and their labels.
fn arrays(images: &Images) -> Result<Arrays> {
    let n = images.len();
    let numbers = images.pixels.iter().flat_map(|&pixel| (f32::from(pixel) / f32::from(images.white)).to_le_bytes());
    let inputs = HostTensor { dtype: DType::F32, shape: vec![n, images.width * images.height], bytes: numbers.collect() };
    let classes = images.labels.iter().flat_map(|&label| i64::from(label).to_le_bytes());
    Arrays::new(inputs, HostTensor { dtype: DType::I64, shape: vec![n], bytes: classes.collect() })
}

/// What the program does at the ends of epochs; every other moment has a method too.
struct Cheer;

impl Callback for Cheer {
    fn on_epoch_end(&mut self, run: &mut Context<'_>) -> Result<()> {
        if run.history.last("val_accuracy").is_some_and(|accuracy| accuracy > 0.9) {
            run.stop("nine of ten are right");
        }
        Ok(())
    }
}

fn main() -> Result<()> {
    let device = Device::best()?;
    let split = digits()?;
    let (train, test) = (Loader::new(arrays(&split.train)?, 32, 1), Loader::new(arrays(&split.test)?, 128, 1).in_order());

    manual_seed(1);
    let model = Sequential::new().add(Linear::new(64, 48, &device)).add(Relu).add(Dropout::new(0.1)).add(Linear::new(48, 10, &device));
    let optimizer = AdamW::new(model.parameters(), 5e-3)?;
    let mut learner = Supervised::new(model, CrossEntropyLoss::default(), optimizer);

    let folder = std::env::temp_dir().join(format!("unigrad-example-trainer-{}", std::process::id()));
    let run = Trainer::new(&device)
        .epochs(12)
        .seed(1)
        .schedule(Schedule::cosine(12 * 45).warmup(20))
        .metric(Accuracy::default)
        .callback(EarlyStopping::new("val_loss", Better::Lower).patience(3))
        .callback(KeepBest::new("val_accuracy", Better::Higher)) // best.safetensors
        .callback(TensorBoard::new())
        .callback(Cheer)
        .folder(&folder) // also checkpoint.safetensors, metrics.csv, report.html, model.safetensors
        .resume_if_there() // started again after a kill, it goes on
        .fit(&mut learner, &train, Some(&test))?;

    let accuracy = run.history.val_metrics.get("accuracy").and_then(|a| a.last()).copied().unwrap_or(0.0);
    println!("{:?}: nine of ten digits are read: {}", run.ended, accuracy > 0.9);
    let mut files: Vec<String> = Vec::new();
    for entry in std::fs::read_dir(&folder).map_err(|error| Error::read(&folder, error))?.flatten() {
        files.push(entry.file_name().to_string_lossy().into_owned());
    }
    files.sort();
    println!("{}", files.join(", "));
    std::fs::remove_dir_all(&folder).map_err(|error| Error::write(&folder, error))
}
