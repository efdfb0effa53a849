//! Whole models against the float64 oracle: loss and every gradient, before and after fusion.

use std::sync::{Mutex, MutexGuard, PoisonError};
use unigrad::{
    nn::models::{Cnn, Gpt, GptConfig, Mlp},
    prelude::*,
    tensor::eval,
};
use unigrad_testing::oracle;

/// Compares loss and gradients of `model` with what the oracle makes of the same graph.
fn check(name: &str, model: &dyn Module, loss: impl Fn() -> Tensor) {
    model.realize().unwrap();
    let parameters = model.named_parameters();
    for fused in [false, true] {
        eval::set_fusion(fused);
        let loss = loss();
        let tensors: Vec<&Tensor> = parameters.iter().map(|(_, t)| t).collect();
        let mut all = vec![loss.clone()];
        all.extend(grad(&loss, &tensors).unwrap());
        let exprs: Vec<_> = all.iter().map(Tensor::expr).collect();
        let expected = oracle::evaluate(&exprs).unwrap();
        Tensor::realize_all(&all.iter().collect::<Vec<_>>()).unwrap();
        eval::set_fusion(true);
        let names = std::iter::once("loss").chain(parameters.iter().map(|(name, _)| name.as_str()));
        let mut wrong = Vec::new();
        for ((got, expected), what) in all.iter().zip(&expected).zip(names) {
            let (got, expected) = (got.to_f64_vec().unwrap(), expected.to_f64());
            let size = expected.iter().map(|x| x * x).sum::<f64>().sqrt();
            let off = got.iter().zip(&expected).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt();
            if off.is_nan() || off > 1e-5 * size + 1e-9 {
                wrong.push(format!("{what}: off by {off:.2e} of {size:.2e}"));
            }
        }
        assert!(wrong.is_empty(), "{name}, fused: {fused}\n{}", wrong.join("\n"));
    }
}

/// Tests share the process's generator and counters, so they run one at a time.
fn alone() -> MutexGuard<'static, ()> {
    static LOCK: Mutex<()> = Mutex::new(());
    LOCK.lock().unwrap_or_else(PoisonError::into_inner)
}

fn device() -> Device {
    Device::open("cpu").unwrap()
}

#[test]
fn gpt() {
    let _alone = alone();
    let d = device();
    let config = GptConfig { vocab: 11, ctx: 8, layers: 2, heads: 2, dim: 16 };
    let model = Gpt::new(config, &d).unwrap();
    model.golden_init(7).unwrap();
    let tokens = |shift: i64| Tensor::from_vec((0..16).map(|i| (i * 5 + shift * 3) % 11).collect::<Vec<i64>>(), [2, 8], &d);
    check("gpt", &model, || model.loss(&tokens(0), &tokens(1)));
}

#[test]
fn classifiers() {
    let _alone = alone();
    let d = device();
    manual_seed(1);
    let x = Tensor::randn([5, 1, 8, 8], DType::F32, &d).realize().unwrap();
    let y = Tensor::from_vec(vec![3i64, 1, 4, 1, 5], 5, &d);
    let cnn = Cnn::new(8, 8, 10, 1, 0.0, &d);
    check("cnn", &cnn, || cnn.forward(&x).cross_entropy(&y));
    let mlp = Mlp::new(&[64, 32, 16, 10], 0.0, &d);
    check("mlp", &mlp, || mlp.forward(&x).cross_entropy(&y));
}

#[test]
fn steps_of_the_gpt() {
    let _alone = alone();
    // Where a model goes wrong, this says where first.
    let d = device();
    let (vocab, dim, heads, t) = (11, 16, 2, 8);
    manual_seed(2);
    let wte = (Tensor::randn([vocab, dim], DType::F32, &d) * 0.5).realize().unwrap();
    let wqkv = (Tensor::randn([3 * dim, dim], DType::F32, &d) * 0.5).realize().unwrap();
    let gain = Tensor::rand([dim], DType::F32, &d).realize().unwrap();
    let tokens = Tensor::from_vec((0..16).map(|i| (i * 5) % 11).collect::<Vec<i64>>(), [2, t], &d);
    type Build<'a> = Box<dyn Fn() -> Tensor + 'a>;
    let emb = || wte.embedding(&tokens);
    let normed = || emb().layer_norm(Some(&gain), None, 1e-5);
    let qkv = || normed().linear(&wqkv, None);
    let part = |i: usize| qkv().narrow(2, i * dim, dim).unflatten(2, [heads, dim / heads]).transpose(1, 2);
    let attend = || part(0).attention(&part(1), &part(2), &AttentionOptions { causal: true, ..Default::default() });
    let steps: Vec<(&str, Build)> = vec![
        ("embedding", Box::new(emb)),
        ("positions", Box::new(|| emb() + wte.narrow(0, 0, t))),
        ("layer_norm", Box::new(normed)),
        ("qkv", Box::new(qkv)),
        ("head split", Box::new(|| part(1))),
        ("attention", Box::new(attend)),
        ("merged", Box::new(|| attend().transpose(1, 2).flatten(2, 3))),
        ("gelu", Box::new(|| qkv().gelu())),
        ("logits", Box::new(|| normed().linear(&wte, None))),
        ("loss", Box::new(|| normed().linear(&wte, None).flatten(0, 1).cross_entropy(&tokens.flatten_all()))),
    ];
    let mut wrong = Vec::new();
    for fused in [false, true] {
        for (name, build) in &steps {
            let y = build();
            let expected = oracle::evaluate(&[y.expr()]).unwrap()[0].to_f64();
            eval::set_fusion(fused);
            let got = y.to_f64_vec().unwrap();
            eval::set_fusion(true);
            let off = got.iter().zip(&expected).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
            if off.is_nan() || off > 1e-4 {
                wrong.push(format!(
                    "{name}, fused: {fused}: off by {off:.2e}, {:?} and not {:?}",
                    &got[..got.len().min(4)],
                    &expected[..got.len().min(4)]
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
