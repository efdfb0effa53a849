//! The workloads W1 to W8, which PyTorch, Burn, candle and tinygrad are measured on, with the same ids and units; and reports of single kernels, of
//! what the host adds, and of planning.

use crate::{
    case::{Case, Workload},
    host, kernels, large,
    line::{Line, Report},
    planning,
    record::Work,
    small,
    timing::{Patience, time},
};
use unigrad_device::Device;
use unigrad_nn::{self as nn, Layer, Module};
use unigrad_tensor::{ConvOptions, DType, Error, PoolOptions, Result, Tensor, replay};

/// Reports that are no workloads: single kernels, the host's part, planning.
pub const SPECIAL: [&str; 3] = ["host", "kernels", "plan"];

/// All workloads: W1 to W8 first, then steps that are replayed, scalar operations, a small network, and large ones.
pub fn all() -> Vec<Workload> {
    let mut all = Vec::new();
    for (group, name, dtype) in [("W1", "W1_matmul", DType::F32), ("W1b", "W1b_matmul_bf16", DType::BF16)] {
        all.extend([512, 1024, 2048].map(|n| Workload::new(group, &format!("{name}_{n}"), move |device| matmul(device, dtype, n))));
    }
    all.push(Workload::new("W2", "W2_gelu_chain", gelu_chain));
    all.push(Workload::new("W3", "W3_softmax", |device| rows(device, false)));
    all.push(Workload::new("W3", "W3_layernorm", |device| rows(device, true)));
    all.extend([64, 512].map(|batch| Workload::new("W4", &format!("W4_mlp_b{batch}"), move |device| mlp(device, batch))));
    all.push(Workload::new("W5", "W5_cnn_b64", cnn));
    all.push(Workload::new("W6", "W6_gpt_char_b8", gpt));
    all.push(Workload::new("W7", "W7_lstm", lstm));
    all.extend([1, 50].map(|count| Workload::new("W8", &format!("W8_adamw_{count}x"), move |device| adamw(device, count))));
    all.extend(
        [64, 512, 8192].map(|batch| Workload::new("replay", &format!("replay_mlp_b{batch}"), move |device| replayed_mlp(device, batch))),
    );
    all.extend(small::all());
    all.extend(large::all());
    all
}

/// Times workloads one after the other, each until it was quiet, and reports what is in [`SPECIAL`]; `hear` is told of each measurement. Names are
/// groups or workloads; W1 to W8 where there is none.
pub fn report(device: Device, names: &[String], seconds: f64, patience: &Patience, hear: &dyn Fn(Line)) -> Result<()> {
    let report = Report { device, seconds, patience, hear };
    let special = |name: &str| SPECIAL.iter().position(|known| known.eq_ignore_ascii_case(name));
    // A name that is wrong is told before anything is measured.
    chosen(&names.iter().filter(|name| special(name).is_none()).cloned().collect::<Vec<_>>())?;
    let plain = || -> Result<Vec<Workload>> { chosen(&[]) };
    let mut parts: Vec<(Option<usize>, Vec<Workload>)> = Vec::new();
    for name in names {
        match special(name) {
            Some(at) => parts.push((Some(at), Vec::new())),
            None => parts.push((None, chosen(std::slice::from_ref(name))?)),
        }
    }
    if names.is_empty() {
        parts.push((None, plain()?));
    }
    for (which, workloads) in parts {
        match which {
            Some(0) => host::run(&report)?,
            Some(1) => kernels::run(&report)?,
            Some(_) => planning::run(&report)?,
            None => {}
        }
        for workload in workloads {
            let mut case = workload.prepare(&device)?;
            let timing = time(report.seconds, report.patience, &mut case.step)?;
            let (rate, unit) = case.work.rate(timing.median_ms);
            report.tell(workload.name(), &timing, rate * timing.median_ms * 1e-3, &unit, &(case.note)()?);
        }
    }
    Ok(())
}

/// The workloads of these groups or names; W1 to W8 where there are none.
pub(crate) fn chosen(names: &[String]) -> Result<Vec<Workload>> {
    let all = all();
    if names.is_empty() {
        return Ok(all.into_iter().filter(|workload| workload.group().starts_with('W')).collect());
    }
    for name in names {
        if !all.iter().any(|workload| workload.is_called(name)) {
            let mut known: Vec<&str> = all.iter().map(Workload::group).collect();
            known.dedup();
            let help =
                format!("choose from {}, or a workload's own name", known.iter().chain(&SPECIAL).copied().collect::<Vec<_>>().join(", "));
            return Err(Error::argument(format!("no workload is called {name}"), help));
        }
    }
    Ok(all.into_iter().filter(|workload| names.iter().any(|name| workload.is_called(name))).collect())
}

fn uniform(shape: &[usize], device: &Device) -> Result<Tensor> {
    Tensor::uniform(shape.to_vec(), -1.0, 1.0, DType::F32, device).realize()
}

fn matmul(device: &Device, dtype: DType, n: usize) -> Result<Case> {
    let a = uniform(&[n, n], device)?.cast(dtype).realize()?;
    let b = uniform(&[n, n], device)?.cast(dtype).realize()?;
    Ok(Case::new(Work::Flops(2.0 * (n as f64).powi(3)), move || a.matmul(&b).realize().map(drop)))
}

fn gelu_chain(device: &Device) -> Result<Case> {
    let n = 1 << 24;
    let [x, w, b, r] = [uniform(&[n], device)?, uniform(&[n], device)?, uniform(&[n], device)?, uniform(&[n], device)?];
    let case = Case::new(Work::Bytes(20.0 * n as f64), move || ((&x * &w + &b).gelu() + &r).realize().map(drop));
    Ok(case.noted(move || Ok(format!("n={n}"))))
}

fn rows(device: &Device, is_norm: bool) -> Result<Case> {
    let (rows, columns) = (4096, 1024);
    let x = uniform(&[rows, columns], device)?;
    let (weight, bias) = (uniform(&[columns], device)?, uniform(&[columns], device)?);
    let step = move || {
        let y = if is_norm { x.layer_norm(Some(&weight), Some(&bias), 1e-5) } else { x.softmax(-1) };
        y.realize().map(drop)
    };
    Ok(Case::new(Work::Bytes(8.0 * (rows * columns) as f64), step).noted(move || Ok(format!("{rows}x{columns}"))))
}

/// A training step: forward, loss, backward, update, all of it realized.
pub(crate) fn train<R: nn::Rule + 'static>(
    work: Work,
    mut optimizer: nn::Optimizer<R>,
    loss: impl Fn() -> Tensor + 'static,
) -> Result<Case> {
    let loss = std::rc::Rc::new(loss);
    let first = loss().item::<f32>()?;
    let last = std::rc::Rc::clone(&loss);
    let case = Case::new(work, move || optimizer.minimize(&loss(), &[]));
    Ok(case.noted(move || Ok(format!("loss {first:.4}->{:.4}", last().item::<f32>()?))))
}

/// 784-512-256-10: its layers, a batch, its labels.
fn perceptron(device: &Device, batch: usize) -> Result<([nn::Linear; 3], Tensor, Tensor)> {
    let layers = [nn::Linear::new(784, 512, device), nn::Linear::new(512, 256, device), nn::Linear::new(256, 10, device)];
    let x = Tensor::rand([batch, 784], DType::F32, device).realize()?;
    let y = Tensor::randint(0, 10, [batch], DType::I64, device).realize()?;
    Ok((layers, x, y))
}

fn perceptron_loss(layers: &[nn::Linear; 3], x: &Tensor, y: &Tensor) -> Tensor {
    let h = layers[0].forward(x).relu();
    let h = layers[1].forward(&h).relu();
    layers[2].forward(&h).cross_entropy(y)
}

fn mlp(device: &Device, batch: usize) -> Result<Case> {
    let (layers, x, y) = perceptron(device, batch)?;
    let optimizer = nn::Adam::new(layers.iter().flat_map(Module::parameters).collect(), 1e-3)?;
    train(Work::Items(batch as f64, "samples"), optimizer, move || perceptron_loss(&layers, &x, &y))
}

/// The step of [`mlp`] by [`replay`]: without recording it again.
fn replayed_mlp(device: &Device, batch: usize) -> Result<Case> {
    let (layers, x, y) = perceptron(device, batch)?;
    let mut optimizer = nn::Adam::new(layers.iter().flat_map(Module::parameters).collect(), 1e-3)?;
    let first = perceptron_loss(&layers, &x, &y).item::<f32>()?;
    let mut step = replay(move |inputs| {
        let loss = perceptron_loss(&layers, &inputs[0], &inputs[1]);
        optimizer.minimize(&loss, &[])?;
        Ok(vec![loss])
    });
    let last = std::rc::Rc::new(std::cell::RefCell::new(None::<Tensor>));
    let kept = std::rc::Rc::clone(&last);
    let case = Case::new(Work::Items(batch as f64, "samples"), move || {
        *kept.borrow_mut() = step.call(&[&x, &y])?.pop();
        Ok(())
    });
    Ok(case.noted(move || match last.borrow().as_ref() {
        Some(loss) => Ok(format!("loss {first:.4}->{:.4}", loss.item::<f32>()?)),
        None => Ok(format!("loss {first:.4}")),
    }))
}

fn cnn(device: &Device) -> Result<Case> {
    let batch = 64;
    let (c1, c2) = (nn::Conv2d::new(1, 32, 3, ConvOptions::default(), device), nn::Conv2d::new(32, 64, 3, ConvOptions::default(), device));
    let (f1, f2) = (nn::Linear::new(64 * 12 * 12, 128, device), nn::Linear::new(128, 10, device));
    let x = Tensor::rand([batch, 1, 28, 28], DType::F32, device).realize()?;
    let y = Tensor::randint(0, 10, [batch], DType::I64, device).realize()?;
    let mut parameters = c1.parameters();
    parameters.extend(c2.parameters());
    parameters.extend(f1.parameters());
    parameters.extend(f2.parameters());
    let optimizer = nn::Adam::new(parameters, 1e-3)?;
    train(Work::Items(batch as f64, "samples"), optimizer, move || {
        let h = c1.forward(&x).relu();
        let h = c2.forward(&h).relu().max_pool2d(&PoolOptions::new(2));
        let h = f1.forward(&h.flatten(1, -1)).relu();
        f2.forward(&h).cross_entropy(&y)
    })
}

fn gpt(device: &Device) -> Result<Case> {
    let (batch, context, vocabulary) = (8, 256, 65);
    let config = nn::models::GptConfig { vocab: vocabulary, ctx: context, layers: 6, heads: 6, dim: 384 };
    let model = nn::models::Gpt::new(config, device)?;
    let inputs = Tensor::randint(0, vocabulary as i64, [batch, context], DType::I64, device).realize()?;
    let targets = Tensor::randint(0, vocabulary as i64, [batch, context], DType::I64, device).realize()?;
    let optimizer = nn::AdamW::new(model.parameters(), 1e-3)?.betas(0.9, 0.99).weight_decay(0.1);
    train(Work::Items((batch * context) as f64, "tokens"), optimizer, move || model.loss(&inputs, &targets))
}

fn lstm(device: &Device) -> Result<Case> {
    let (batch, steps, features, hidden) = (32, 64, 64, 256);
    let model = nn::Lstm::new(features, hidden, device);
    let x = uniform(&[batch, steps, features], device)?;
    let y = (uniform(&[batch, steps, hidden], device)? * 0.5).realize()?;
    let optimizer = nn::Adam::new(model.parameters(), 1e-3)?;
    train(Work::Items(batch as f64, "samples"), optimizer, move || model.run(&x, None).0.mse_loss(&y))
}

fn adamw(device: &Device, count: usize) -> Result<Case> {
    let total = 50_000_000;
    let case = Workload::update("W8", total, count, |parameters| nn::AdamW::new(parameters, 1e-3)).prepare(device)?;
    let case = Case { work: Work::Items(total as f64, "params"), ..case };
    Ok(case.noted(move || Ok(format!("28 B/param; total={total}"))))
}
