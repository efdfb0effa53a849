//! A layer of one's own: parameters that are trained, a buffer that is only saved, and something that it does in training alone.
//!
//! `cargo run --release --example custom_layer`

use unigrad::{
    data::{Arrays, Loader, array},
    nn::{AdamW, Archive, Gelu, Linear, MseLoss, Sequential, metrics::R2},
    prelude::*,
    train::{Supervised, Trainer},
};

/// Sines and cosines of fixed random frequencies, each as loud as it learns to be (Tancik et al., 2020): with them a small network follows fast changes.
#[derive(Module, Clone)]
#[module(on_mode = "set_training")]
struct Fourier {
    /// `[inputs, frequencies]`: saved, not trained.
    #[module(buffer)]
    frequencies: Tensor,
    /// `[2 * frequencies]`
    loudness: Tensor,
    noise: f64,
    training: bool,
}

impl Fourier {
    fn new(inputs: usize, n: usize, highest: f64, device: &Device) -> Fourier {
        let frequencies = Tensor::randn([inputs, n], DType::F32, device) * highest;
        let loudness = Tensor::ones(2 * n, DType::F32, device).requires_grad();
        Fourier { frequencies, loudness, noise: 0.01, training: true }
    }

    /// Called by `train(true)` and `train(false)` of whatever model the layer is in.
    fn set_training(&mut self, training: bool) {
        self.training = training;
    }
}

impl Layer for Fourier {
    fn forward(&self, x: &Tensor) -> Tensor {
        let angles = x.matmul(&self.frequencies);
        let waves = Tensor::concat(&[&angles.sin(), &angles.cos()], 1) * &self.loudness;
        if self.training { &waves + waves.randn_like() * self.noise } else { waves }
    }
}

/// A sine that gets faster and faster.
fn chirp(x: f32) -> f32 {
    (12.0 * x * x).sin()
}

fn main() -> Result<()> {
    let device = Device::best()?;
    manual_seed(1);
    let xs: Vec<f32> = (0..512).map(|i| i as f32 / 256.0 - 1.0).collect();
    let ys: Vec<f32> = xs.iter().map(|x| chirp(*x)).collect();
    let train = Loader::new(Arrays::new(array(&xs, &[512, 1])?, array(&ys, &[512, 1])?)?, 64, 1);

    // It stands among layers of the library, in a model as in any other.
    let model = |first: bool| -> Sequential {
        let model = if first {
            Sequential::new().add(Fourier::new(1, 32, 6.0, &device))
        } else {
            Sequential::new().add(Linear::new(1, 64, &device)).add(Gelu)
        };
        model.add(Linear::new(64, 32, &device)).add(Gelu).add(Linear::new(32, 1, &device))
    };
    let fit = |model: Sequential| -> Result<(Sequential, f64)> {
        let optimizer = AdamW::new(model.parameters(), 5e-3)?;
        let mut learner = Supervised::new(model, MseLoss::default(), optimizer);
        let run = Trainer::new(&device).epochs(40).seed(1).metric(R2::default).fit(&mut learner, &train, Some(&train))?;
        Ok((learner.model, run.history.last("val_r2").unwrap_or(f64::NAN)))
    };
    let (trained, with) = fit(model(true))?;
    let (_, without) = fit(model(false))?;
    eprintln!("R² {with:.4} with the layer, {without:.4} without");
    println!("with the layer the network follows: {}; without it less so: {}", with > 0.98, without < with);

    // Its parameters and its buffer have names, and go into files with the others.
    println!("{}", trained.state_dict().iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>().join(", "));
    let file = std::env::temp_dir().join(format!("unigrad-custom-layer-{}.safetensors", std::process::id()));
    trained.save(&file)?;
    let mut again = model(true);
    again.load_state_dict(&Archive::load(&file)?.tensors)?;
    again.train(false);
    let answer = again.forward(&Tensor::new([[0.5f32]], &device)).item::<f32>()?;
    println!("loaded, it answers as the sine does: {}", (answer - chirp(0.5)).abs() < 0.2);
    assert!(with > 0.98 && without < with && (answer - chirp(0.5)).abs() < 0.2);
    std::fs::remove_file(&file).map_err(|error| Error::write(&file, error))
}
