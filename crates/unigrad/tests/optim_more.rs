//! Optimizers that need norms, rows or products, and what is done to gradients: the numbers of `goldens/optim_more.json` (PyTorch's, and reference codes'
//! written in NumPy by `scripts/golden_optim_more.py`), on every device of this machine.
//! Runs beside other programs: its seconds are printed.

use serde_json::Value;
use unigrad::{
    nn::{
        self, Adafactor, AdamWScheduleFree, AdjustLr, AveragedModel, Lamb, Lars, Lbfgs, Muon, Sgd, SgdScheduleFree, Shampoo, Sophia,
        SparseAdam,
    },
    prelude::*,
};

fn golden() -> Value {
    serde_json::from_str(include_str!("../../../goldens/optim_more.json")).unwrap()
}

fn flat(value: &Value) -> Vec<f64> {
    value.as_array().map_or_else(|| vec![value.as_f64().unwrap()], |list| list.iter().flat_map(flat).collect())
}

/// Its quadratic function: `sum(k w²) / 2 + sum(b w)`.
struct Problem {
    parameters: Vec<Tensor>,
    ks: Vec<Tensor>,
    bs: Vec<Tensor>,
}

impl Problem {
    fn new(golden: &Value, count: usize, dtype: DType, device: &Device) -> Problem {
        let tensors = |name: &str| -> Vec<Tensor> {
            let all = golden[name].as_array().unwrap().iter().zip(golden["shapes"].as_array().unwrap());
            let all = all.map(|(x, shape)| {
                let shape: Vec<usize> = flat(shape).iter().map(|n| *n as usize).collect();
                let values: Vec<f32> = flat(x).iter().map(|x| *x as f32).collect();
                match dtype {
                    DType::F64 => Tensor::from_vec(flat(x), shape, device),
                    _ => Tensor::from_vec(values, shape, device),
                }
            });
            all.take(count).collect()
        };
        Problem { parameters: tensors("start").iter().map(Tensor::requires_grad).collect(), ks: tensors("k"), bs: tensors("b") }
    }

    fn loss(&self) -> Tensor {
        let terms = self.parameters.iter().zip(&self.ks).zip(&self.bs).map(|((p, k), b)| (p.square() * k * 0.5 + p * b).sum(()));
        terms.reduce(|a, b| a + b).unwrap()
    }

    /// Of the rows of the first parameter whose number and the step's do not add up to a multiple of 3.
    fn loss_of_rows(&self, step: u64) -> Tensor {
        let rows: Vec<i64> = (0..3).filter(|row| (step as i64 + row) % 3 != 0).collect();
        let rows = Tensor::from_vec(rows.clone(), rows.len(), &self.parameters[0].device().unwrap());
        let [x, k, b] = [&self.parameters[0], &self.ks[0], &self.bs[0]].map(|x| x.embedding(&rows));
        (x.square() * k * 0.5 + x * b).sum(())
    }
}

/// Every run of the golden file: in `f64` to 1e-6, in `f32` (a shorter run, on devices without `f64` too) to what that gives.
fn check(device: &Device, dtype: DType) {
    let golden = golden();
    let mut seen = Vec::new();
    for run in golden["runs"].as_array().unwrap() {
        let settings = &run["settings"];
        let name = run["optimizer"].as_str().unwrap();
        if dtype != DType::F64 {
            // One run each; Shampoo's are hundreds of products, of which each shape is a kernel to compile.
            if seen.contains(&name) || ["Shampoo", "Treated"].contains(&name) {
                continue;
            }
            seen.push(name);
        }
        let number = |name: &str, default: f64| settings[name].as_f64().unwrap_or(default);
        let flag = |name: &str, default: bool| settings[name].as_bool().unwrap_or(default);
        let (beta1, beta2) = match settings["betas"].as_array().map(|b| (b[0].as_f64().unwrap(), b[1].as_f64().unwrap())) {
            Some(betas) => betas,
            None if name == "Sophia" => (0.965, 0.99),
            None => (0.9, 0.999),
        };
        let problem = Problem::new(&golden, run["count"].as_u64().unwrap() as usize, dtype, device);
        let p = || problem.parameters.clone();
        let (lr, decay) = (number("lr", 0.0), number("weight_decay", 0.0));
        let halved = run["precision"] == "bf16";
        // Of values, and the least difference that counts. Iterations in `bf16` differ where a sum is rounded otherwise: by a part of a step's size.
        let (tolerance, least) = match dtype {
            _ if halved => (0.0, 0.5 * number("lr", 0.0)),
            DType::F64 => (1e-6, 1e-9),
            _ => (2e-3, 2e-4),
        };
        let last = match dtype {
            _ if halved => 12,
            DType::F64 => u64::MAX,
            _ => 3,
        };
        let steps: Vec<(u64, Vec<f64>)> =
            run["steps"].as_array().unwrap().iter().map(|s| (s["step"].as_u64().unwrap(), flat(&s["values"]))).collect();
        let steps: Vec<(u64, Vec<f64>)> = steps.into_iter().filter(|(step, _)| *step <= last).collect();
        let compare = |taken: u64, want: &[f64]| {
            let got: Vec<f64> = problem.parameters.iter().flat_map(|p| p.to_f64_vec().unwrap()).collect();
            for (got, want) in got.iter().zip(want) {
                assert!(
                    (got - want).abs() <= tolerance * want.abs() + least,
                    "{device} {dtype}: {name} {settings} step {taken}: {got} and not {want}"
                );
            }
        };
        macro_rules! train {
            ($optimizer:expr) => {
                train!($optimizer, |optimizer, _step| optimizer.minimize(&problem.loss(), &[]))
            };
            ($optimizer:expr, |$o:ident, $step:ident| $body:expr) => {{
                #[allow(unused_mut)]
                let mut $o = $optimizer.unwrap();
                for $step in 1..=steps.last().unwrap().0 {
                    $body.unwrap_or_else(|error| panic!("{device}: {name} {settings}: {error}"));
                    if let Some((_, want)) = steps.iter().find(|(at, _)| *at == $step) {
                        compare($step, want);
                    }
                }
            }};
        }
        match name {
            "NAdam" => {
                let made = nn::NAdam::new(p(), lr)
                    .map(|o| o.betas(beta1, beta2).momentum_decay(number("momentum_decay", 4e-3)).weight_decay(decay));
                train!(made, |optimizer, step| {
                    let all: Vec<&Tensor> = problem.parameters.iter().collect();
                    let found = unigrad::tensor::grad(&problem.loss(), &all).unwrap();
                    // As the script's `misses`.
                    let misses = |at: u64| step <= 4 * at || (step + at).is_multiple_of(7);
                    let gradients = found.into_iter().zip(0..).map(|(gradient, at)| (!misses(at)).then_some(gradient));
                    optimizer.step_with(gradients.collect(), &[])
                });
            }
            "Adafactor" => {
                let eps = match settings["eps"].as_array() {
                    Some(eps) => (eps[0].as_f64(), eps[1].as_f64().unwrap()),
                    None => (None, 1e-3),
                };
                train!(
                    Adafactor::new(p(), lr).map(|o| o
                        .beta2_decay(number("beta2_decay", -0.8))
                        .eps(eps.0, eps.1)
                        .d(number("d", 1.0))
                        .weight_decay(decay))
                );
            }
            "Muon" => {
                let adjust = match settings["adjust_lr_fn"].as_str() {
                    Some("match_rms_adamw") => AdjustLr::MatchRmsAdamW,
                    Some("spectral_unclamped") => AdjustLr::SpectralUnclamped,
                    _ => AdjustLr::Original,
                };
                let optimizer = Muon::new(p(), lr).map(|o| {
                    let o = o.weight_decay(number("weight_decay", 0.1)).momentum(number("momentum", 0.95)).adjust_lr(adjust);
                    let o = o.nesterov(flag("nesterov", true)).iterations(number("ns_steps", 5.0) as usize, (3.4445, -4.7750, 2.0315));
                    if halved { o } else { o.precision(dtype) }
                });
                train!(optimizer);
            }
            "SparseAdam" => {
                let optimizer = SparseAdam::new(p(), lr).map(|o| o.betas(beta1, beta2).eps(number("eps", 1e-8)));
                train!(optimizer, |o, step| o.minimize(&problem.loss_of_rows(step), &[]));
            }
            "Lars" => train!(Lars::new(p(), lr).map(|o| {
                let o = o.trust(number("trust", 1e-3)).momentum(number("momentum", 0.9)).weight_decay(decay);
                o.adapts_vectors(flag("adapts_vectors", false))
            })),
            "Lamb" => train!(Lamb::new(p(), lr).map(|o| {
                o.betas(beta1, beta2).weight_decay(number("weight_decay", 0.01)).bias_correction(flag("bias_correction", true))
            })),
            "Sophia" => {
                let optimizer = Sophia::new(p(), lr).map(|o| {
                    let o = o.betas(beta1, beta2).rho(number("rho", 0.04)).batch(number("batch", 1.0));
                    o.weight_decay(number("weight_decay", 0.1))
                });
                train!(optimizer, |o, step| {
                    if step % 10 == 1 {
                        o.update_hessian(&problem.loss()).unwrap();
                    }
                    o.minimize(&problem.loss(), &[])
                });
            }
            "AdamWScheduleFree" => train!(AdamWScheduleFree::new(p(), lr).map(|o| {
                let o = o.betas(beta1, beta2).weight_decay(decay).warmup_steps(number("warmup_steps", 0.0) as u64);
                o.weights(number("r", 0.0), number("lr_power", 2.0))
            })),
            "SgdScheduleFree" => train!(SgdScheduleFree::new(p(), lr).map(|o| {
                let o = o.momentum(number("momentum", 0.9)).weight_decay(decay).warmup_steps(number("warmup_steps", 0.0) as u64);
                o.weights(number("r", 0.0), number("lr_power", 2.0))
            })),
            "Shampoo" => train!(
                Shampoo::new(p(), lr)
                    .and_then(|o| o.weight_decay(decay).eps(number("eps", 1e-4)))
                    .and_then(|o| o.momentum(number("momentum", 0.0)))
            ),
            "Lookahead" => train!(
                Sgd::new(p(), lr)
                    .and_then(|o| o.momentum(number("momentum", 0.0)))
                    .and_then(|o| o.lookahead(number("every", 5.0) as u64, number("alpha", 0.5)))
            ),
            "Sam" => {
                let optimizer = Sgd::new(p(), lr).and_then(|o| o.momentum(number("momentum", 0.0)));
                let optimizer = optimizer.map(|o| o.sam(number("rho", 0.05)).adaptive(flag("adaptive", false)));
                train!(optimizer, |o, _step| o.minimize(|| Ok(problem.loss()), &[]));
            }
            "Treated" => train!(Sgd::new(p(), lr).map(|o| match settings["treatment"].as_str().unwrap() {
                "clip_adaptively" => o.clip_adaptively(number("factor", 0.0), number("eps", 0.0)),
                "normalize" => o.normalize_gradients(),
                "normalize_each" => o.normalize_each_gradient(),
                "clip_each_norm" => o.clip_each_norm(number("limit", 0.0)),
                "centralize" => o.centralize_gradients(),
                "elastic" => o.elastic_penalty(number("lambda", 0.0), number("ratio", 0.0)),
                "clip_value" => o.clip_value(number("limit", 0.0)),
                "clip_p_norm" => o.clip_p_norm(number("limit", 0.0), settings["p"].as_str().unwrap().parse().unwrap()),
                "max_norm" => o.max_norm(number("limit", 0.0)),
                other => panic!("{other} has no test"),
            })),
            other => panic!("{other} has no test"),
        }
    }
}

#[test]
fn steps_are_the_references() {
    check(&Device::open("cpu").unwrap(), DType::F64);
}

/// On every device of this machine, in `f32`.
#[test]
fn steps_are_the_references_on_every_device() {
    let mut seen = Vec::new();
    for device in unigrad_testing::fast_devices().into_iter().chain(["opencl", "wgpu"].iter().filter_map(|name| Device::open(name).ok())) {
        if seen.contains(&device.name()) {
            continue;
        }
        seen.push(device.name());
        let began = std::time::Instant::now();
        check(&device, DType::F32);
        println!("{device}: compared in {:?}", began.elapsed());
    }
}

#[test]
fn lbfgs_goes_as_pytorchs() {
    let golden = golden();
    for (at, run) in golden["lbfgs"].as_array().unwrap().iter().enumerate() {
        let settings = &run["settings"];
        let start = [-1.2f64, 1.0, 0.5, -0.7, 0.3, 2.0];
        // In two parameters of PyTorch's one.
        let device = Device::open("cpu").unwrap();
        let (a, b) = (Tensor::from_vec(start[..2].to_vec(), 2, &device), Tensor::from_vec(start[2..].to_vec(), [2, 2], &device));
        let (a, b) = (a.requires_grad(), b.requires_grad());
        let loss = || {
            let w = Tensor::concat(&[&a, &b.flatten_all()], 0);
            let (head, tail) = (w.narrow(0, 0, 5), w.narrow(0, 1, 5));
            Ok(((tail - head.square()).square() * 100.0 + (1.0 - head).square()).sum(()))
        };
        let mut optimizer = Lbfgs::new(vec![a.clone(), b.clone()], settings["lr"].as_f64().unwrap_or(1.0)).unwrap();
        optimizer = optimizer.strong_wolfe(settings["line_search_fn"].is_string());
        optimizer = optimizer.max_iter(settings["max_iter"].as_u64().unwrap_or(20) as usize);
        optimizer = optimizer.history_size(settings["history_size"].as_u64().unwrap_or(100) as usize);
        for (step, (want, want_loss)) in run["steps"].as_array().unwrap().iter().zip(flat(&run["losses"])).enumerate() {
            let got = optimizer.step(loss).unwrap();
            assert!((got - want_loss).abs() <= 1e-6 * want_loss.abs().max(1e-3), "run {at} step {step}: loss {got} and not {want_loss}");
            let got = [a.to_vec::<f64>().unwrap(), b.to_vec().unwrap()].concat();
            for (got, want) in got.iter().zip(flat(want)) {
                assert!((got - want).abs() <= 1e-6 * want.abs().max(1e-3), "run {at} step {step}: {got} and not {want}");
            }
            // Found again by another of its kind.
            let state = optimizer.state_dict().unwrap();
            let mut other = Lbfgs::new(vec![a.clone(), b.clone()], settings["lr"].as_f64().unwrap_or(1.0)).unwrap();
            other = other.strong_wolfe(settings["line_search_fn"].is_string());
            other = other.max_iter(settings["max_iter"].as_u64().unwrap_or(20) as usize);
            other = other.history_size(settings["history_size"].as_u64().unwrap_or(100) as usize);
            other.load_state_dict(&state).unwrap();
            assert_eq!(other.state_dict().unwrap(), state);
            optimizer = other;
        }
        assert_eq!(optimizer.n_evaluations(), run["evaluations"].as_u64().unwrap(), "run {at}");
        // A closure that fails, at any of its calls, leaves everything as it was.
        let before = (a.to_vec::<f64>().unwrap(), b.to_vec::<f64>().unwrap(), optimizer.state_dict().unwrap());
        for bad in 1..4 {
            let mut calls = 0;
            let result = optimizer.step(|| {
                calls += 1;
                if calls == bad { Err(unigrad::Error::argument("a test", "none")) } else { loss() }
            });
            assert!(result.is_err() || calls < bad);
            if result.is_err() {
                assert_eq!((a.to_vec::<f64>().unwrap(), b.to_vec::<f64>().unwrap(), optimizer.state_dict().unwrap()), before);
            }
        }
    }
}

#[test]
fn averages_are_pytorchs() {
    let golden = golden();
    let device = Device::open("cpu").unwrap();
    let [start, k] = ["start", "k"].map(|name| Tensor::from_vec(flat(&golden[name][0]), [3, 4], &device));
    for run in golden["averages"].as_array().unwrap() {
        let layer = Weight { weight: start.requires_grad() };
        let model = match run["name"].as_str().unwrap() {
            "swa" => AveragedModel::swa(&layer),
            _ => AveragedModel::ema(&layer, 0.9),
        };
        let mut model = model.unwrap();
        for (t, want) in run["steps"].as_array().unwrap().iter().enumerate() {
            no_grad(|| layer.weight.assign(&(&start + &k * (0.1 * t as f64)))).unwrap();
            model.update(&layer).unwrap();
            let got = model.averages()[0].1.to_vec::<f64>().unwrap();
            for (got, want) in got.iter().zip(flat(want)) {
                assert!((got - want).abs() <= 1e-9, "{} update {t}: {got} and not {want}", run["name"]);
            }
        }
        assert_eq!(model.n_averaged().unwrap(), 20);
        // Exchanged twice: as before, to the last bit. Meanwhile nothing is averaged or saved.
        let (weights, state) = (layer.weight.to_vec::<f64>().unwrap(), model.state_dict().unwrap());
        model.swap(&layer).unwrap();
        assert_ne!(layer.weight.to_vec::<f64>().unwrap(), weights);
        assert!(model.update(&layer).is_err() && model.state_dict().is_err());
        model.swap(&layer).unwrap();
        assert_eq!((layer.weight.to_vec::<f64>().unwrap(), model.state_dict().unwrap()), (weights, state.clone()));
        let mut other = AveragedModel::swa(&layer).unwrap();
        other.load_state_dict(&state).unwrap();
        assert_eq!(other.state_dict().unwrap(), state);
    }
}

#[derive(Module)]
struct Weight {
    weight: Tensor,
}

#[test]
fn running_statistics_are_computed_anew() {
    #[derive(Module)]
    struct Net {
        first: nn::Linear,
        norm: nn::BatchNorm,
    }
    let device = Device::open("cpu").unwrap();
    manual_seed(3);
    let mut net = Net { first: nn::Linear::new(4, 3, &device), norm: nn::BatchNorm::new(3, &device) };
    net.norm.momentum = Some(0.3);
    let batches: Vec<Tensor> = (0..5).map(|i| (Tensor::randn([8, 4], DType::F32, &device) * f64::from(i + 1)).realize().unwrap()).collect();
    nn::update_bn(&mut net, batches.clone(), false, |net, x| Ok(net.norm.forward(&net.first.forward(x)))).unwrap();
    let hidden: Vec<Tensor> = batches.iter().map(|x| net.first.forward(x).detach()).collect();
    let mean = |f: &dyn Fn(&Tensor) -> Tensor| hidden.iter().map(f).reduce(|a, b| a + b).unwrap() / 5.0;
    let close = |got: &Tensor, want: &Tensor| {
        let (got, want) = (got.to_vec::<f32>().unwrap(), want.to_vec::<f32>().unwrap());
        assert!(got.iter().zip(&want).all(|(got, want)| (got - want).abs() < 1e-4 * want.abs().max(1.0)), "{got:?} and not {want:?}");
    };
    close(net.norm.running_mean.as_ref().unwrap(), &mean(&|x| x.mean(0)));
    close(net.norm.running_var.as_ref().unwrap(), &mean(&|x| x.var(0, 1)));
    assert_eq!(net.norm.num_batches_tracked.as_ref().unwrap().item::<i64>().unwrap(), 5);
    // A batch that fails changes nothing.
    let before = net.to_archive().unwrap();
    let mut calls = 0;
    let result = nn::update_bn(&mut net, batches, true, |net, x| {
        calls += 1;
        if calls == 4 { Err(unigrad::Error::argument("a test", "none")) } else { Ok(net.norm.forward(&net.first.forward(x))) }
    });
    assert!(result.is_err());
    assert_eq!(net.to_archive().unwrap(), before);
}
