//! Fine-tuning from a PyTorch file with frozen layers: a network that was trained on the digits 0 to 4 learns 5 to 9 with a new last layer.
//!
//! `cargo run --release --example fine_tune [FILE.pt]`

use unigrad::nn::{AdamW, Linear, Rename, TensorFile};
use unigrad::prelude::*;

/// The layers that are taken over.
#[derive(Module)]
struct Body {
    first: Linear,
    second: Linear,
}

/// The images of 5 to 9 as `[n, 64]`, and their classes, 0 to 4.
fn fives_to_nines(images: &unigrad::data::Images, device: &Device) -> (Tensor, Tensor) {
    let indices: Vec<usize> = (0..images.len()).filter(|i| images.labels[*i] >= 5).collect();
    let batch = images.batch(&indices, None);
    let labels: Vec<i64> = batch.labels.iter().map(|label| label - 5).collect();
    (Tensor::from_vec(batch.pixels, [indices.len(), 64], device), Tensor::from_vec(labels, indices.len(), device))
}

fn main() -> Result<()> {
    let device = Device::best()?;
    manual_seed(1);
    let body = Body { first: Linear::new(64, 24, &device), second: Linear::new(24, 24, &device) };
    let head = Linear::new(24, 5, &device);

    // What `torch.save` wrote is read as data; nothing in it is run.
    let shipped = concat!(env!("CARGO_MANIFEST_DIR"), "/../../goldens/formats/pretrained.pt");
    let file = TensorFile::open(std::env::args().nth(1).unwrap_or(shipped.to_owned()))?;
    println!("a {} of epoch {}", file.format(), file.metadata().get("epoch").map_or("?", String::as_str));
    // Its names become this network's; the old last layer is dropped.
    let names = Rename::parse(["module.* -> *", "features.0.* -> first.*", "features.2.* -> second.*", "classifier.* ->"])?;
    body.load_state_dict(&file.read_prefix("model_state_dict.")?.rename(&names)?.tensors)?;

    let split = unigrad::data::digits()?;
    let (x, labels) = fives_to_nines(&split.train, &device);
    // Frozen: what is made under `no_grad` has no gradient and keeps nothing for one, and the optimizer does not have its parameters.
    let forward = |x: &Tensor| {
        let first = no_grad(|| body.first.forward(x).relu());
        head.forward(&body.second.forward(&first).relu())
    };
    let mut optimizer = AdamW::new([body.second.parameters(), head.parameters()].concat(), 1e-2)?;
    for step in 1..=100 {
        let loss = forward(&x).cross_entropy(&labels);
        optimizer.minimize(&loss, &[])?;
        if step % 25 == 0 {
            println!("step {step:>3}  loss {:.3}", loss.item::<f32>()?);
        }
    }
    let (x, labels) = fives_to_nines(&split.test, &device);
    let right = forward(&x).argmax(-1).eq(&labels).cast(DType::F32).mean(());
    println!("{:.0} % of the test images are right", 100.0 * right.item::<f32>()?);
    Ok(())
}
