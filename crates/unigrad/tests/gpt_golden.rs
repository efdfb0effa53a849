//! A character GPT from the same initial weights and batches as PyTorch's: the same losses.

use serde_json::Value;
use unigrad::{
    data::Text,
    nn::{
        AdamW,
        models::{Gpt, GptConfig},
        random::words,
    },
    prelude::*,
};

#[test]
fn losses_fall_as_pytorchs_do() {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../../");
    let golden: Value = serde_json::from_slice(&std::fs::read(format!("{root}goldens/gpt_tiny_losses.json")).unwrap()).unwrap();
    let text = Text::read(format!("{root}assets/sonnets.txt")).unwrap();
    let size = |name: &str| golden[name].as_u64().unwrap() as usize;
    let config = GptConfig { vocab: size("vocab"), ctx: size("ctx"), layers: size("layers"), heads: size("heads"), dim: size("dim") };
    assert_eq!(config.vocab, text.vocabulary.len());
    let device = Device::open("cpu").unwrap();
    let model = Gpt::new(config, &device).unwrap();
    model.golden_init(size("seed") as u64).unwrap();
    for ((name, tensor), expected) in model.named_parameters().iter().zip(golden["initial"].as_array().unwrap()) {
        assert_eq!(name, expected["name"].as_str().unwrap());
        let values = tensor.to_vec::<f32>().unwrap();
        let first: Vec<f32> = expected["first"].as_array().unwrap().iter().map(|v| v.as_f64().unwrap() as f32).collect();
        for (got, expected) in values.iter().zip(&first) {
            assert!((got - expected).abs() <= 1e-8, "{name} begins with {:?} and not {first:?}", &values[..4]);
        }
        let sum: f64 = values.iter().map(|&v| f64::from(v)).sum();
        assert!((sum - expected["sum"].as_f64().unwrap()).abs() < 1e-5, "{name}");
    }
    let mut optimizer = AdamW::new(model.parameters(), 1e-3).unwrap().betas(0.9, 0.99).weight_decay(0.1);
    let batch = size("batch");
    for (step, expected) in golden["losses"].as_array().unwrap().iter().enumerate() {
        let limit = (text.tokens.len() - config.ctx - 1) as u32;
        let start = |row: usize| (words(size("seed") as u64, 0xffff_ffff << 32, (step * batch + row) as u64)[0] % limit) as usize;
        let starts: Vec<usize> = (0..batch).map(start).collect();
        if let Some(expected) = golden["starts"].get(step) {
            assert_eq!(*expected, Value::from(starts.clone()));
        }
        let windows = text.windows(&starts, config.ctx);
        let x = Tensor::from_slice(&windows.inputs, [batch, config.ctx], &device);
        let y = Tensor::from_slice(&windows.targets, [batch, config.ctx], &device);
        let loss = model.loss(&x, &y);
        optimizer.minimize(&loss, &[]).unwrap();
        let (loss, expected) = (f64::from(loss.item::<f32>().unwrap()), expected.as_f64().unwrap());
        assert!((loss - expected).abs() / expected < 1e-3, "step {step}: {loss} and not {expected}");
    }
}
