//! Optimizers: the same numbers as PyTorch's formulas, one evaluation a step, and exact continuation.
//! Runs beside other programs: its seconds are printed.

use std::sync::{Mutex, MutexGuard, PoisonError};
use unigrad::{
    nn::{
        Adadelta, Adagrad, Adam, AdamW, Adamax, Adan, Asgd, Checkpoint, Group, Linear, Lion, NAdam, Optimizer, RAdam, Relu, RmsProp, Rprop,
        Rule, Schedule, Sequential, Sgd, StepNumbers, clip_grad_norm, clip_grad_value, first_not_finite, models,
    },
    prelude::*,
    tensor::eval,
};

/// Tests share the process's generator and counters, so they run one at a time.
fn alone() -> MutexGuard<'static, ()> {
    static LOCK: Mutex<()> = Mutex::new(());
    LOCK.lock().unwrap_or_else(PoisonError::into_inner)
}

fn device() -> Device {
    Device::open("cpu").unwrap()
}

const START: [f32; 3] = [1.0, -2.0, 0.5];

fn parameter() -> Tensor {
    Tensor::from_vec(START.to_vec(), 3, &device()).requires_grad()
}

/// Gradients that change with the values: of `sum(w² * [1, 2, 3]) / 2`.
fn gradient(w: &[f64]) -> Vec<f64> {
    w.iter().zip(1..).map(|(w, i)| w * f64::from(i)).collect()
}

fn loss(w: &Tensor) -> Tensor {
    let scale = Tensor::from_vec(vec![0.5f32, 1.0, 1.5], 3, &device());
    (w.square() * scale).sum(())
}

/// Runs three steps both ways, and compares.
fn check<R: Rule>(mut optimizer: Optimizer<R>, mut reference: impl FnMut(usize, &mut [f64], &[f64])) {
    let w = optimizer.parameters()[0].clone();
    let mut expected: Vec<f64> = START.iter().map(|&v| f64::from(v)).collect();
    for step in 1..=3 {
        loss(&w).backward().unwrap();
        optimizer.step().unwrap();
        optimizer.zero_grad();
        let gradient = gradient(&expected);
        reference(step, &mut expected, &gradient);
        let got = w.to_vec::<f32>().unwrap();
        for (got, expected) in got.iter().zip(&expected) {
            assert!((f64::from(*got) - expected).abs() < 1e-5, "step {step}: {got} and not {expected}");
        }
    }
}

#[test]
fn sgd() {
    let _alone = alone();
    check(Sgd::new(vec![parameter()], 0.1).unwrap().weight_decay(0.01), |_, w, g| {
        w.iter_mut().zip(g).for_each(|(w, g)| *w -= 0.1 * (g + 0.01 * *w));
    });
    for nesterov in [false, true] {
        let optimizer = Sgd::new(vec![parameter()], 0.1).unwrap().momentum(0.9).unwrap().nesterov(nesterov);
        let mut buffer = [0.0; 3];
        check(optimizer, |_, w, g| {
            for i in 0..3 {
                buffer[i] = 0.9 * buffer[i] + g[i];
                w[i] -= 0.1 * if nesterov { g[i] + 0.9 * buffer[i] } else { buffer[i] };
            }
        });
    }
    let optimizer = Sgd::new(vec![parameter()], 0.1).unwrap().momentum(0.9).unwrap().dampening(0.5);
    let mut buffer = [0.0; 3];
    check(optimizer, |step, w, g| {
        for i in 0..3 {
            buffer[i] = 0.9 * buffer[i] + if step == 1 { 1.0 } else { 0.5 } * g[i];
            w[i] -= 0.1 * buffer[i];
        }
    });
}

#[test]
fn adam_and_adamw() {
    let _alone = alone();
    for (decoupled, amsgrad) in [(false, false), (true, false), (true, true)] {
        let optimizer = if decoupled { AdamW::new(vec![parameter()], 0.1) } else { Adam::new(vec![parameter()], 0.1) };
        let mut optimizer = optimizer.unwrap().betas(0.8, 0.9).eps(1e-6).weight_decay(0.05);
        if amsgrad {
            optimizer = optimizer.amsgrad().unwrap();
        }
        let (mut m, mut v, mut greatest) = ([0.0; 3], [0.0; 3], [0.0f64; 3]);
        check(optimizer, |step, w, g| {
            for i in 0..3 {
                let g = if decoupled { g[i] } else { g[i] + 0.05 * w[i] };
                if decoupled {
                    w[i] *= 1.0 - 0.1 * 0.05;
                }
                m[i] = 0.8 * m[i] + 0.2 * g;
                v[i] = 0.9 * v[i] + 0.1 * g * g;
                greatest[i] = greatest[i].max(v[i]);
                let second = if amsgrad { greatest[i] } else { v[i] };
                let (c1, c2) = (1.0 - 0.8f64.powi(step as i32), 1.0 - 0.9f64.powi(step as i32));
                w[i] -= 0.1 / c1 * m[i] / (second.sqrt() / c2.sqrt() + 1e-6);
            }
        });
    }
}

#[test]
fn lion() {
    let _alone = alone();
    let optimizer = Lion::new(vec![parameter()], 0.1).unwrap().betas(0.8, 0.9).weight_decay(0.05);
    let mut m = [0.0; 3];
    check(optimizer, |_, w, g| {
        for i in 0..3 {
            let c: f64 = 0.8 * m[i] + 0.2 * g[i];
            w[i] -= 0.1 * (if c == 0.0 { 0.0 } else { c.signum() } + 0.05 * w[i]);
            m[i] = 0.9 * m[i] + 0.1 * g[i];
        }
    });
    // By the paper, in another language: parameters of f64, whose average's sign changes on the way.
    let golden: serde_json::Value = serde_json::from_str(include_str!("../../../goldens/lion.json")).unwrap();
    let list = |value: &serde_json::Value| value.as_array().unwrap().iter().map(|x| x.as_f64().unwrap()).collect::<Vec<f64>>();
    let tensor = |name: &str| Tensor::from_vec(list(&golden[name]), 5, &device());
    let (k, b) = (tensor("k") * 0.5, tensor("b"));
    for run in golden["runs"].as_array().unwrap() {
        let w = tensor("start").requires_grad();
        let [lr, beta1, beta2, decay] = ["lr", "beta1", "beta2", "weight_decay"].map(|name| run[name].as_f64().unwrap());
        let mut optimizer = Lion::new(vec![w.clone()], lr).unwrap().betas(beta1, beta2).weight_decay(decay);
        for step in run["steps"].as_array().unwrap() {
            optimizer.minimize(&(w.square() * &k + &w * &b).sum(()), &[]).unwrap();
            let state = optimizer.state_dict().unwrap();
            let m = state["state.0.exp_avg"].bytes.chunks_exact(8).map(|bytes| f64::from_le_bytes(bytes.try_into().unwrap()));
            for (got, want) in w.to_vec::<f64>().unwrap().into_iter().chain(m).zip(list(&step["theta"]).into_iter().chain(list(&step["m"])))
            {
                assert!((got - want).abs() < 1e-12, "{got} and not {want}");
            }
        }
    }
}

/// AdaGrad with a delay: a rule of the program's own.
#[derive(Debug)]
struct Own {
    states: usize,
}

impl Rule for Own {
    fn state_names(&self) -> Vec<&'static str> {
        vec!["sum", "before"]
    }

    fn weight_decay(&self) -> f64 {
        0.0
    }

    fn scalars(&self, step: &StepNumbers<'_>) -> Vec<Tensor> {
        vec![step.number(-step.lr)]
    }

    fn update(&self, value: &Tensor, gradient: &Tensor, state: &[Tensor], scalars: &[Tensor]) -> (Tensor, Vec<Tensor>) {
        let sum = &state[0] + gradient.square();
        let value = value + &state[1] / (sum.sqrt() + 1e-3) * &scalars[0];
        (value, [sum, gradient.clone()].into_iter().take(self.states).collect())
    }
}

#[test]
fn a_rule_of_ones_own() {
    let _alone = alone();
    let group = |parameters| vec![Group { parameters, lr: 0.1, weight_decay: None }];
    let (mut sum, mut before) = ([0.0; 3], [0.0; 3]);
    check(Optimizer::with_rule(Own { states: 2 }, group(vec![parameter()])).unwrap(), |_, w, g| {
        for i in 0..3 {
            sum[i] += g[i] * g[i];
            w[i] -= 0.1 * before[i] / (sum[i].sqrt() + 1e-3);
        }
        before.copy_from_slice(g);
    });
    // One launch for all parameters of a kind, as with the rules of the crate; and what it saves continues to the last bit.
    resumes(|p| Optimizer::with_rule(Own { states: 2 }, group(p)).unwrap());
    resumes(|p| Lion::new(p, 0.01).unwrap().weight_decay(0.1));
    // What it forgets is an error, and the step none.
    let w = parameter();
    let mut optimizer = Optimizer::with_rule(Own { states: 1 }, group(vec![w.clone()])).unwrap();
    let error = optimizer.minimize(&loss(&w), &[]).unwrap_err().to_string();
    assert!(error.contains("1 tensors of state for 2 names") && error.contains("state_names"), "{error}");
    assert_eq!((w.to_vec::<f32>().unwrap(), optimizer.n_steps()), (START.to_vec(), 0));
    let frozen = Tensor::from_vec(vec![1.0f32], 1, &device());
    assert!(Optimizer::with_rule(Own { states: 2 }, group(vec![frozen])).unwrap_err().to_string().contains("requires no gradient"));
}

#[test]
fn groups_have_their_own_settings() {
    let _alone = alone();
    let (a, b, c) = (parameter(), parameter(), parameter());
    let group = Group { parameters: vec![b.clone()], lr: 0.5, weight_decay: Some(0.0) };
    let mut optimizer = Sgd::new(vec![a.clone(), c.clone()], 0.1).unwrap().weight_decay(1.0).add_group(group).unwrap();
    (a.sum(()) + b.sum(())).backward().unwrap();
    optimizer.step().unwrap();
    assert_eq!(a.to_vec::<f32>().unwrap(), [0.8, -1.9, 0.35]);
    assert_eq!(b.to_vec::<f32>().unwrap(), [0.5, -2.5, 0.0]);
    assert_eq!(c.to_vec::<f32>().unwrap(), START, "without a gradient nothing moves");
    let frozen = Tensor::ones(3, DType::F32, &device());
    assert!(Sgd::new(vec![frozen], 0.1).unwrap_err().to_string().contains("requires no gradient"));
}

#[test]
fn clipping() {
    let _alone = alone();
    let w = parameter();
    loss(&w).backward().unwrap();
    let norm = clip_grad_norm(std::slice::from_ref(&w), 1.0).unwrap();
    // Gradient [1, -4, 1.5].
    let expected = (1.0f64 + 16.0 + 2.25).sqrt();
    assert!((norm.to_f64().unwrap() - expected).abs() < 1e-5);
    let clipped = w.grad().unwrap().to_f64_vec().unwrap();
    assert!((clipped.iter().map(|g| g * g).sum::<f64>() - 1.0).abs() < 1e-5);
    w.zero_grad();
    loss(&w).backward().unwrap();
    clip_grad_value(std::slice::from_ref(&w), 1.25);
    assert_eq!(w.grad().unwrap().to_vec::<f32>().unwrap(), [1.0, -1.25, 1.25]);
    w.zero_grad();
    let mut optimizer = Sgd::new(vec![w.clone()], 1.0).unwrap().clip_norm(1.0);
    optimizer.minimize(&loss(&w), &[]).unwrap();
    let moved: f64 = w.to_vec::<f32>().unwrap().iter().zip(START).map(|(a, b)| f64::from(a - b).powi(2)).sum();
    assert!((moved - 1.0).abs() < 1e-4, "{moved}");
}

fn net() -> (Sequential, Tensor, Tensor) {
    let d = device();
    manual_seed(11);
    let net = Sequential::new().add(Linear::new(6, 16, &d)).add(Relu).add(Linear::new(16, 3, &d));
    let x = Tensor::randn([20, 6], DType::F32, &d).realize().unwrap();
    let y = Tensor::from_vec((0..20).map(|i| i % 3).collect::<Vec<i64>>(), 20, &d);
    (net, x, y)
}

#[test]
fn a_step_is_one_evaluation_and_the_second_plans_nothing() {
    let _alone = alone();
    let (net, x, y) = net();
    let schedule = Schedule::cosine(50).warmup(3);
    let mut optimizer = AdamW::new(net.parameters(), 0.01).unwrap().clip_norm(1.0);
    let mut losses = Vec::new();
    for step in 0..50 {
        let before = eval::stats();
        let loss = net.forward(&x).dropout(0.1).cross_entropy(&y);
        let correct = net.forward(&x).argmax(1).eq(&y).sum(());
        optimizer.set_lr_factor(schedule.factor(step));
        optimizer.minimize(&loss, &[&correct]).unwrap();
        losses.push(loss.item::<f32>().unwrap());
        correct.to_f64().unwrap();
        let after = eval::stats();
        if step > 0 {
            assert_eq!(after.plans_built - before.plans_built, 0, "step {step} planned");
            assert_eq!(after.compiles - before.compiles, 0, "step {step} compiled");
        }
        if step > 1 {
            assert_eq!(after.allocations - before.allocations, 0, "step {step} allocated");
        }
    }
    assert!(losses[49] < 0.7 * losses[0], "{losses:?}");
}

#[test]
fn backward_and_step_compute_the_loss_too() {
    let _alone = alone();
    let (net, x, y) = net();
    let mut optimizer = Sgd::new(net.parameters(), 0.1).unwrap();
    for _ in 0..3 {
        let loss = net.forward(&x).cross_entropy(&y);
        loss.backward().unwrap();
        optimizer.step().unwrap();
        optimizer.zero_grad();
        assert!(loss.is_realized(), "the loss must not cost a second forward pass");
    }
}

/// Ten steps in one run, and in two by a checkpoint: the same bits. Steps after the first are planned once.
fn resumes<R: Rule>(make: impl Fn(Vec<Tensor>) -> Optimizer<R>) {
    let path = std::env::temp_dir().join(format!("unigrad-resume-{}.safetensors", std::process::id()));
    let run = |from: u64, to: u64, load: bool, save: bool| {
        let (net, x, y) = net();
        let mut optimizer = make(net.parameters());
        if load {
            Checkpoint::load(&path).unwrap().restore(&net, &mut optimizer).unwrap();
        }
        let mut built = Vec::new();
        for _ in from..to {
            let before = eval::stats().plans_built;
            optimizer.minimize(&net.forward(&x).dropout(0.2).cross_entropy(&y), &[]).unwrap();
            built.push(eval::stats().plans_built - before);
        }
        assert!(built[2..].iter().all(|n| *n == 0), "{built:?}");
        if save {
            Checkpoint::of(&net, &optimizer).unwrap().save(&path).unwrap();
        }
        (net.to_archive().unwrap(), optimizer.state_dict().unwrap())
    };
    let whole = run(0, 10, false, false);
    run(0, 4, false, true);
    assert_eq!(run(4, 10, true, false), whole);
    std::fs::remove_file(path).unwrap();
}

#[test]
fn an_interrupted_run_continues_to_the_last_bit() {
    let _alone = alone();
    resumes(|p| AdamW::new(p, 0.01).unwrap());
    let path = std::env::temp_dir().join(format!("unigrad-refused-{}.safetensors", std::process::id()));
    let (net, ..) = net();
    Checkpoint::of(&net, &AdamW::new(net.parameters(), 0.01).unwrap()).unwrap().save(&path).unwrap();
    // Another optimizer's state is refused.
    let mut other = Sgd::new(net.parameters(), 0.1).unwrap();
    let error = Checkpoint::load(&path).unwrap().restore(&net, &mut other).unwrap_err().to_string();
    assert!(error.contains("unexpected: state.0.exp_avg"), "{error}");
    std::fs::remove_file(path).unwrap();
}

#[test]
fn a_loss_that_is_no_number_changes_nothing_and_is_found() {
    let _alone = alone();
    let (net, x, y) = net();
    let mut optimizer = AdamW::new(net.parameters(), 0.01).unwrap();
    optimizer.minimize(&net.forward(&x).cross_entropy(&y), &[]).unwrap();
    let before = (net.to_archive().unwrap(), optimizer.state_dict().unwrap());
    let bad = &x * f64::INFINITY;
    let loss = net.forward(&bad).cross_entropy(&y);
    optimizer.minimize(&loss, &[]).unwrap();
    assert!(!loss.item::<f32>().unwrap().is_finite());
    assert_eq!((net.to_archive().unwrap(), optimizer.state_dict().unwrap()), before);
    let find = |inputs: &[(&str, &Tensor)]| first_not_finite(&net, inputs, || net.forward(&bad).cross_entropy(&y)).unwrap().unwrap();
    assert_eq!(find(&[("x", &bad)]), "the input (x)");
    assert_eq!(find(&[]), "the output of layer `0` (Linear)");
    let huge = models::Mlp::new(&[4, 4, 4], 0.0, &device());
    let weights = &huge.named_parameters()[2];
    assert_eq!(weights.0, "layers.1.weight");
    no_grad(|| weights.1.assign(&Tensor::full([4, 4], f64::NAN, DType::F32, &device()))).unwrap();
    let ones = Tensor::ones([1, 4], DType::F32, &device());
    assert_eq!(first_not_finite(&huge, &[], || huge.forward(&ones)).unwrap().unwrap(), "parameter `layers.1.weight`");
}

/// A function's own gradient and a variable that a step makes are new ones in every step, but nothing new to a plan.
#[test]
fn steps_that_make_variables_and_functions_are_planned_once() {
    let _alone = alone();
    let d = device();
    let x = Tensor::new([1.0f32, 2.0], &d).realize().unwrap();
    let mut kept = Vec::new(); // so that no address comes again
    for step in 0..6 {
        let before = eval::stats();
        let x = (&x + f64::from(step)).requires_grad();
        let y = unigrad::tensor::custom("square", &[&(&x * 1.0)], |x| x[0].square(), |x, _y, dy| vec![Some(&(dy * &x[0]) * 2.0)]);
        y.sum(()).backward().unwrap();
        let gradient = x.grad().expect("a gradient").to_vec::<f32>().unwrap();
        assert_eq!(gradient, [2.0 * (1.0 + step as f32), 2.0 * (2.0 + step as f32)]);
        let planned = eval::stats().plans_built - before.plans_built;
        assert!(step < 2 || planned == 0, "step {step} planned {planned}");
        kept.push((x, y));
    }
}

/// Every optimizer that PyTorch has, and Adan by its authors' code: parameters of f64 after up to 100 steps, on every device of this machine; of f32 after
/// few steps where a device has no f64, for what adds up differs from then on.
#[test]
fn optimizers_step_as_pytorch() {
    let _alone = alone();
    // The interpreter would take minutes.
    for device in unigrad_testing::devices().into_iter().filter(|device| device.backend() != "interpreter") {
        let dtype = if unigrad_testing::without_f64(&device).is_none() { DType::F64 } else { DType::F32 };
        let began = std::time::Instant::now();
        step_as_pytorch(&device, dtype);
        println!("{device}: compared in {dtype} in {:?}", began.elapsed());
    }
}

fn step_as_pytorch(device: &Device, dtype: DType) {
    let golden: serde_json::Value = serde_json::from_str(include_str!("../../../goldens/optim.json")).unwrap();
    fn flat(value: &serde_json::Value) -> Vec<f64> {
        value.as_array().map_or_else(|| vec![value.as_f64().unwrap()], |list| list.iter().flat_map(flat).collect())
    }
    let tensors = |name: &str| -> Vec<Tensor> {
        let shapes = [vec![5usize], vec![2, 2]];
        let all = golden[name].as_array().unwrap().iter().zip(shapes);
        let tensor = |(x, shape): (_, Vec<usize>)| match dtype {
            DType::F64 => Tensor::from_vec(flat(x), shape, device),
            _ => Tensor::from_vec(flat(x).into_iter().map(|x| x as f32).collect(), shape, device),
        };
        all.map(tensor).collect()
    };
    // Of values, and the least difference that counts.
    let (tolerance, least, last) = if dtype == DType::F64 { (1e-6, 1e-9, u64::MAX) } else { (2e-3, 2e-4, 10) };
    let (ks, bs) = (tensors("k"), tensors("b"));
    for run in golden["runs"].as_array().unwrap() {
        let settings = &run["settings"];
        let number = |name: &str, default: f64| settings[name].as_f64().unwrap_or(default);
        let pair = |name: &str, default: (f64, f64)| match flat_or(&settings[name]).as_slice() {
            [a, b, ..] => (*a, *b),
            _ => default,
        };
        let flag = |name: &str| settings[name].as_bool().unwrap_or(false);
        let parameters: Vec<Tensor> = tensors("start").iter().map(Tensor::requires_grad).collect();
        let (lr, eps, decay) = (number("lr", 0.0), number("eps", 1e-8), number("weight_decay", 0.0));
        let (beta1, beta2) = pair("betas", (0.9, 0.999));
        let p = || parameters.clone();
        let name = run["optimizer"].as_str().unwrap();
        let steps: Vec<(u64, Vec<f64>)> =
            run["steps"].as_array().unwrap().iter().map(|step| (step["step"].as_u64().unwrap(), flat(&step["values"]))).collect();
        let steps: Vec<(u64, Vec<f64>)> = steps.into_iter().filter(|(step, _)| *step <= last).collect();
        assert!(!steps.is_empty(), "{name} {settings}: no step is compared");
        let check = |taken: u64, want: &[f64]| {
            let got: Vec<f64> = parameters.iter().flat_map(|p| p.to_f64_vec().unwrap()).collect();
            for (got, want) in got.iter().zip(want) {
                let is_near = (got - want).abs() <= (tolerance * want.abs()).max(least);
                assert!(is_near, "{device} {dtype}: {name} {settings} step {taken}: {got} and not {want}");
            }
        };
        macro_rules! train {
            ($optimizer:expr) => {{
                let mut optimizer = $optimizer;
                for step in 1..=steps.last().unwrap().0 {
                    let terms = parameters.iter().zip(&ks).zip(&bs).map(|((p, k), b)| (p.square() * k * 0.5 + p * b).sum(()));
                    let loss = terms.reduce(|a, b| a + b).unwrap();
                    optimizer.minimize(&loss, &[]).unwrap();
                    if let Some((_, want)) = steps.iter().find(|(at, _)| *at == step) {
                        check(step, want);
                    }
                }
                // Saved and resumed by another of its kind: its state has names and values.
                let state = optimizer.state_dict().unwrap();
                optimizer.load_state_dict(&state, optimizer.n_steps()).unwrap();
            }};
        }
        match name {
            "Sgd" => train!(
                Sgd::new(p(), lr)
                    .unwrap()
                    .momentum(number("momentum", 0.0))
                    .unwrap()
                    .dampening(number("dampening", 0.0))
                    .weight_decay(decay)
            ),
            "Adam" if flag("amsgrad") => train!(Adam::new(p(), lr).unwrap().weight_decay(decay).amsgrad().unwrap()),
            "AdamW" => train!(AdamW::new(p(), lr).unwrap().betas(beta1, beta2).weight_decay(decay)),
            "Adamax" => train!(Adamax::new(p(), lr).unwrap().betas(beta1, beta2).eps(eps).weight_decay(decay)),
            "NAdam" => train!(
                NAdam::new(p(), lr)
                    .unwrap()
                    .betas(beta1, beta2)
                    .momentum_decay(number("momentum_decay", 4e-3))
                    .weight_decay(decay)
                    .decoupled(flag("decoupled_weight_decay"))
            ),
            "RAdam" => {
                train!(RAdam::new(p(), lr).unwrap().betas(beta1, beta2).weight_decay(decay).decoupled(flag("decoupled_weight_decay")))
            }
            "Adagrad" => train!(
                Adagrad::new(p(), lr)
                    .unwrap()
                    .lr_decay(number("lr_decay", 0.0))
                    .weight_decay(decay)
                    .initial_accumulator(number("initial_accumulator_value", 0.0))
                    .unwrap()
            ),
            "Adadelta" => train!(Adadelta::new(p(), lr).unwrap().rho(number("rho", 0.9)).eps(number("eps", 1e-6)).weight_decay(decay)),
            "RmsProp" => {
                let optimizer = RmsProp::new(p(), lr).unwrap().alpha(number("alpha", 0.99)).weight_decay(decay);
                let optimizer = optimizer.momentum(number("momentum", 0.0)).unwrap();
                if flag("centered") { train!(optimizer.centered().unwrap()) } else { train!(optimizer) }
            }
            "Rprop" => {
                let ((shrink, grow), (least, greatest)) = (pair("etas", (0.5, 1.2)), pair("step_sizes", (1e-6, 50.0)));
                train!(Rprop::new(p(), lr).unwrap().etas(shrink, grow).step_sizes(least, greatest));
            }
            "Asgd" => train!(
                Asgd::new(p(), lr)
                    .unwrap()
                    .lambda(number("lambd", 1e-4))
                    .alpha(number("alpha", 0.75))
                    .t0(number("t0", 1e6))
                    .weight_decay(decay)
            ),
            "Adan" => {
                let [b1, b2, b3] = flat(&settings["betas"]).try_into().unwrap();
                train!(Adan::new(p(), lr).unwrap().betas(b1, b2, b3).eps(eps).weight_decay(decay).no_prox(flag("no_prox")));
            }
            other => panic!("{other} has no test"),
        }
    }
}

/// The numbers of a list, or none.
fn flat_or(value: &serde_json::Value) -> Vec<f64> {
    value.as_array().map_or_else(Vec::new, |list| list.iter().filter_map(serde_json::Value::as_f64).collect())
}
