//! The workloads, W1 to W8.

use super::timing::{Report, time};

use unigrad::prelude::*;

type Workload = fn(&Report) -> Result<()>;

/// By name.
pub(crate) const ALL: &[(&str, Workload)] = &[
    ("W1", |r| matmul(r, DType::F32)),
    ("W1b", |r| matmul(r, DType::BF16)),
    ("W2", gelu_chain),
    ("W3", rows),
    ("W4", mlp),
    ("W5", cnn),
    ("W6", gpt),
    ("W7", lstm),
    ("W8", adamw),
];

fn uniform(shape: &[usize], device: &Device) -> Result<Tensor> {
    Tensor::uniform(shape.to_vec(), -1.0, 1.0, DType::F32, device).realize()
}

fn matmul(report: &Report, dtype: DType) -> Result<()> {
    let name = if dtype == DType::F32 { "W1_matmul" } else { "W1b_matmul_bf16" };
    for n in [512, 1024, 2048] {
        let a = uniform(&[n, n], &report.device)?.cast(dtype).realize()?;
        let b = uniform(&[n, n], &report.device)?.cast(dtype).realize()?;
        let timing = time(report.seconds, || {
            a.matmul(&b).realize()?;
            Ok(())
        })?;
        report.tell(&format!("{name}_{n}"), &timing, 2.0 * (n as f64).powi(3) / 1e9, "GFLOP/s", "");
    }
    Ok(())
}

fn gelu_chain(report: &Report) -> Result<()> {
    let n = 1 << 24;
    let [x, w, b, r] =
        [uniform(&[n], &report.device)?, uniform(&[n], &report.device)?, uniform(&[n], &report.device)?, uniform(&[n], &report.device)?];
    let timing = time(report.seconds, || {
        ((&x * &w + &b).gelu() + &r).realize()?;
        Ok(())
    })?;
    report.tell("W2_gelu_chain", &timing, 20.0 * n as f64 / 1e9, "GB/s", &format!("n={n}"));
    Ok(())
}

fn rows(report: &Report) -> Result<()> {
    let (rows, columns) = (4096, 1024);
    let x = uniform(&[rows, columns], &report.device)?;
    let (weight, bias) = (uniform(&[columns], &report.device)?, uniform(&[columns], &report.device)?);
    let gigabytes = 8.0 * (rows * columns) as f64 / 1e9;
    let note = format!("{rows}x{columns}");
    let timing = time(report.seconds, || {
        x.softmax(-1).realize()?;
        Ok(())
    })?;
    report.tell("W3_softmax", &timing, gigabytes, "GB/s", &note);
    let timing = time(report.seconds, || {
        x.layer_norm(Some(&weight), Some(&bias), 1e-5).realize()?;
        Ok(())
    })?;
    report.tell("W3_layernorm", &timing, gigabytes, "GB/s", &note);
    Ok(())
}

/// Times a training step: forward, loss, backward, update, all of it realized.
fn train<R: nn::Rule>(
    report: &Report,
    name: &str,
    work: f64,
    unit: &str,
    mut optimizer: nn::Optimizer<R>,
    loss: impl Fn() -> Tensor,
) -> Result<()> {
    let first = loss().item::<f32>()?;
    let timing = time(report.seconds, || optimizer.minimize(&loss(), &[]))?;
    let last = loss().item::<f32>()?;
    report.tell(name, &timing, work, unit, &format!("loss {first:.4}->{last:.4}"));
    Ok(())
}

fn mlp(report: &Report) -> Result<()> {
    for batch in [64, 512] {
        let device = &report.device;
        let parts = [nn::Linear::new(784, 512, device), nn::Linear::new(512, 256, device), nn::Linear::new(256, 10, device)];
        let x = Tensor::rand([batch, 784], DType::F32, device).realize()?;
        let y = Tensor::randint(0, 10, [batch], DType::I64, device).realize()?;
        let parameters = parts.iter().flat_map(Module::parameters).collect();
        let optimizer = nn::Adam::new(parameters, 1e-3)?;
        train(report, &format!("W4_mlp_b{batch}"), batch as f64, "samples/s", optimizer, || {
            let h = parts[0].forward(&x).relu();
            let h = parts[1].forward(&h).relu();
            parts[2].forward(&h).cross_entropy(&y)
        })?;
    }
    Ok(())
}

fn cnn(report: &Report) -> Result<()> {
    let (device, batch) = (&report.device, 64);
    let (c1, c2) = (nn::Conv2d::new(1, 32, 3, ConvOptions::default(), device), nn::Conv2d::new(32, 64, 3, ConvOptions::default(), device));
    let (f1, f2) = (nn::Linear::new(64 * 12 * 12, 128, device), nn::Linear::new(128, 10, device));
    let x = Tensor::rand([batch, 1, 28, 28], DType::F32, device).realize()?;
    let y = Tensor::randint(0, 10, [batch], DType::I64, device).realize()?;
    let mut parameters = c1.parameters();
    parameters.extend(c2.parameters());
    parameters.extend(f1.parameters());
    parameters.extend(f2.parameters());
    let optimizer = nn::Adam::new(parameters, 1e-3)?;
    train(report, "W5_cnn_b64", batch as f64, "samples/s", optimizer, || {
        let h = c1.forward(&x).relu();
        let h = c2.forward(&h).relu().max_pool2d(&PoolOptions::new(2));
        let h = f1.forward(&h.flatten(1, -1)).relu();
        f2.forward(&h).cross_entropy(&y)
    })
}

fn gpt(report: &Report) -> Result<()> {
    let (batch, context, vocabulary) = (8, 256, 65);
    let config = nn::models::GptConfig { vocab: vocabulary, ctx: context, layers: 6, heads: 6, dim: 384 };
    let model = nn::models::Gpt::new(config, &report.device)?;
    let inputs = Tensor::randint(0, vocabulary as i64, [batch, context], DType::I64, &report.device).realize()?;
    let targets = Tensor::randint(0, vocabulary as i64, [batch, context], DType::I64, &report.device).realize()?;
    let optimizer = nn::AdamW::new(model.parameters(), 1e-3)?.betas(0.9, 0.99).weight_decay(0.1);
    train(report, "W6_gpt_char_b8", (batch * context) as f64, "tokens/s", optimizer, || model.loss(&inputs, &targets))
}

fn lstm(report: &Report) -> Result<()> {
    let (batch, steps, features, hidden) = (32, 64, 64, 256);
    let model = nn::Lstm::new(features, hidden, &report.device);
    let x = uniform(&[batch, steps, features], &report.device)?;
    let y = (uniform(&[batch, steps, hidden], &report.device)? * 0.5).realize()?;
    let optimizer = nn::Adam::new(model.parameters(), 1e-3)?;
    train(report, "W7_lstm", batch as f64, "samples/s", optimizer, || model.run(&x, None).0.mse_loss(&y))
}

fn adamw(report: &Report) -> Result<()> {
    let total = 50_000_000;
    for count in [1, 50] {
        let mut parameters = Vec::new();
        let mut gradients = Vec::new();
        for _ in 0..count {
            parameters.push(uniform(&[total / count], &report.device)?.requires_grad());
            gradients.push(uniform(&[total / count], &report.device)?);
        }
        let mut optimizer = nn::AdamW::new(parameters.clone(), 1e-3)?;
        let timing = time(report.seconds, || {
            for (parameter, gradient) in parameters.iter().zip(&gradients) {
                parameter.set_grad(Some(gradient.clone()));
            }
            optimizer.step()
        })?;
        let rate = 28.0 * total as f64 / (timing.median_ms * 1e-3) / 1e9;
        report.tell(
            &format!("W8_adamw_{count}x"),
            &timing,
            total as f64,
            "params/s",
            &format!("{rate:.2} GB/s at 28 B/param; total={total}"),
        );
    }
    Ok(())
}
