//! Mixed precision: loss curves in half types beside those in `f32`, and the loss scale.

use std::sync::{Mutex, PoisonError};
use unigrad::{
    nn::{
        AdamW, Checkpoint, DelayedScaling, Fp8Recipe, GradScaler, Linear, Module, ScalerOptions, Sgd, autocast, autocast_fp8,
        models::{Gpt, GptConfig},
    },
    prelude::*,
};

fn device() -> Device {
    Device::open("cpu").unwrap()
}

/// A test that counts the waits of a device is alone with it.
static COUNTED: Mutex<()> = Mutex::new(());

const STEPS: usize = 30;
const FP8_STEPS: usize = 50;

/// The losses of a character GPT.
fn losses(precision: DType, steps: usize, device: &Device) -> Vec<f32> {
    losses_in(precision, steps, device, &|forward| autocast(precision, forward))
}

/// Likewise in a scope of one's own.
fn losses_in(precision: DType, steps: usize, device: &Device, scope: &dyn Fn(&dyn Fn() -> Tensor) -> Tensor) -> Vec<f32> {
    let config = GptConfig { vocab: 32, ctx: 16, layers: 2, heads: 2, dim: 32 };
    let model = Gpt::new(config, device).unwrap();
    model.golden_init(7).unwrap();
    let text: Vec<i64> = "the quick brown fox jumps over the lazy dog and runs into the deep dark wood "
        .bytes()
        .cycle()
        .take(FP8_STEPS * 16 + 200)
        .map(|byte| i64::from(byte) % 32)
        .collect();
    let mut optimizer = AdamW::new(model.parameters(), 3e-3).unwrap();
    let mut scaler = GradScaler::new(ScalerOptions::default(), device).unwrap();
    let mut losses = Vec::new();
    for step in 0..steps {
        let row = |shift: usize| -> Vec<i64> { (0..4).flat_map(|i| text[step * 5 + i * 11 + shift..][..16].to_vec()).collect() };
        let [inputs, targets] = [0, 1].map(|shift| Tensor::from_vec(row(shift), [4, 16], device));
        let loss = scope(&|| model.loss(&inputs, &targets));
        assert_eq!(loss.dtype(), DType::F32);
        match precision {
            DType::F16 => {
                scaler.scale(&loss).backward().unwrap();
                scaler.step_and(&mut optimizer, &[&loss]).unwrap();
                optimizer.zero_grad();
            }
            _ => optimizer.minimize(&loss, &[]).unwrap(),
        }
        losses.push(loss.item::<f32>().unwrap());
    }
    assert_eq!(optimizer.n_steps() as usize, steps, "a step was skipped");
    assert!(model.parameters().iter().all(|parameter| parameter.dtype() == DType::F32));
    losses
}

#[test]
fn the_curve_of_a_gpt_is_that_of_f32() {
    let full = losses(DType::F32, STEPS, &device());
    assert!(full[STEPS - 1] < full[0] - 1.0, "it learns: {full:?}");
    for precision in [DType::BF16, DType::F16] {
        let half = losses(precision, STEPS, &device());
        assert_ne!(half, full);
        let worst = full.iter().zip(&half).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
        println!("{precision}: at most {worst} from f32's over {STEPS} steps");
        assert!(worst < 2e-2, "{precision}: {worst}\n{full:?}\n{half:?}");
    }
}

#[test]
fn the_curve_in_8_bit_floats_is_that_of_bf16() {
    let half = losses(DType::BF16, FP8_STEPS, &device());
    let delayed = || Fp8Recipe::delayed(&DelayedScaling::default());
    for (what, recipe) in [
        ("current scaling", Fp8Recipe::default()),
        ("current scaling, stochastic rounding", Fp8Recipe { stochastic_rounding: true, ..Fp8Recipe::default() }),
        ("delayed scaling", delayed()),
        ("delayed scaling, a margin, stochastic rounding", Fp8Recipe { margin: 1, stochastic_rounding: true, ..delayed() }),
    ] {
        let fp8 = losses_in(DType::BF16, FP8_STEPS, &device(), &|forward| autocast_fp8(&recipe, forward));
        assert_ne!(fp8, half);
        let worst = half.iter().zip(&fp8).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
        println!("{what}: at most {worst} from bf16's over {FP8_STEPS} steps");
        assert!(worst < 5e-2, "{what}: {worst}\n{half:?}\n{fp8:?}");
    }
}

/// A device that counts its waits, a small network there with data, and its optimizer.
fn counted() -> (Device, Linear, Tensor, AdamW) {
    unigrad_testing::register();
    let d = Device::open("interpreter:0").unwrap();
    let net = Linear::new(3, 2, &d);
    let x = Tensor::ones([4, 3], DType::F32, &d).realize().unwrap();
    let optimizer = AdamW::new(net.parameters(), 1e-2).unwrap();
    (d, net, x, optimizer)
}

/// Amax, scales and histories stay on the device.
#[test]
fn a_step_in_8_bit_floats_waits_for_nothing() {
    let _counted = COUNTED.lock().unwrap_or_else(PoisonError::into_inner);
    let (d, net, x, mut optimizer) = counted();
    for recipe in [Fp8Recipe::default(), Fp8Recipe { stochastic_rounding: true, ..Fp8Recipe::delayed(&DelayedScaling::default()) }] {
        let before = d.n_waits();
        for _ in 0..5 {
            let loss = autocast_fp8(&recipe, || net.forward(&x).square().mean(()));
            optimizer.minimize(&loss, &[]).unwrap();
        }
        assert_eq!(d.n_waits(), before);
    }
}

/// On a device whose kernels a compiler makes; where `UNIGRAD_TEST_FULL` asks for it.
#[test]
fn the_curve_is_that_of_f32_on_opencl() {
    let full = unigrad_testing::selection::full();
    let device = match Device::open("opencl") {
        Ok(device) if full => device,
        Ok(_) => return println!("SKIPPED: loss curves on OpenCL: set UNIGRAD_TEST_FULL=1"),
        Err(error) => return println!("SKIPPED: loss curves on OpenCL: {error}"),
    };
    let full = losses(DType::F32, STEPS, &device);
    for precision in [DType::BF16, DType::F16] {
        let half = losses(precision, STEPS, &device);
        let worst = full.iter().zip(&half).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
        println!("{precision} on OpenCL: at most {worst} from f32's over {STEPS} steps");
        assert!(worst < 2e-2, "{precision}: {worst}\n{full:?}\n{half:?}");
    }
}

/// The scale and the count of steps stay on the device: the host learns of a skipped step when it reads something.
#[test]
fn a_scaled_step_waits_for_nothing() {
    let _counted = COUNTED.lock().unwrap_or_else(PoisonError::into_inner);
    let (d, net, x, mut optimizer) = counted();
    let mut scaler = GradScaler::new(ScalerOptions::default(), &d).unwrap();
    let before = d.n_waits();
    for _ in 0..5 {
        let loss = autocast(DType::F16, || net.forward(&x).square().mean(()));
        scaler.scale(&loss).backward().unwrap();
        scaler.step(&mut optimizer).unwrap();
        optimizer.zero_grad();
    }
    assert_eq!(d.n_waits(), before);
    assert_eq!(scaler.get_scale().unwrap(), 65536.0);
    assert_eq!(optimizer.n_steps(), 5);
}

/// What PyTorch's rule makes of a scale.
struct Rule {
    scale: f32,
    tracker: i64,
}

impl Rule {
    fn step(&mut self, finite: bool, options: &ScalerOptions) {
        if !finite {
            (self.scale, self.tracker) = (self.scale * options.backoff_factor as f32, 0);
        } else if self.tracker + 1 == options.growth_interval as i64 {
            let grown = self.scale * options.growth_factor as f32;
            (self.scale, self.tracker) = (if grown.is_finite() { grown } else { self.scale }, 0);
        } else {
            self.tracker += 1;
        }
    }
}

#[test]
fn the_scale_follows_pytorchs_rule_and_skipped_steps_do_not_count() {
    let d = device();
    let options = ScalerOptions { init_scale: 1024.0, growth_interval: 3, ..ScalerOptions::default() };
    let mut scaler = GradScaler::new(options, &d).unwrap();
    let w = Tensor::from_vec(vec![1.0f32, 2.0], 2, &d).requires_grad();
    let frozen = Tensor::from_vec(vec![1.0f32], 1, &d).requires_grad();
    frozen.set_trainable(false).unwrap();
    let mut optimizer = AdamW::new(vec![w.clone(), frozen.clone()], 0.1).unwrap();
    let mut rule = Rule { scale: 1024.0, tracker: 0 };
    let mut taken = 0;
    for (i, bad) in
        [None, None, Some(f32::INFINITY), None, None, None, None, Some(f32::NAN), Some(f32::INFINITY), None, None, None].iter().enumerate()
    {
        let before = (w.to_vec::<f32>().unwrap(), optimizer.state_dict().unwrap());
        let factor = Tensor::from_vec(vec![1.0f32, bad.unwrap_or(1.0)], 2, &d);
        let loss = (&w * &factor * &frozen).square().mean(());
        if i % 2 == 0 {
            scaler.scale(&loss).backward().unwrap();
            scaler.step(&mut optimizer).unwrap();
            optimizer.zero_grad();
        } else {
            scaler.minimize(&mut optimizer, &loss, &[]).unwrap();
        }
        rule.step(bad.is_none(), &options);
        taken += u64::from(bad.is_none());
        assert_eq!(scaler.get_scale().unwrap() as f32, rule.scale, "step {i}");
        assert_eq!(optimizer.n_steps(), taken, "step {i}");
        let after = (w.to_vec::<f32>().unwrap(), optimizer.state_dict().unwrap());
        assert_eq!(before == after, bad.is_some(), "step {i}");
        assert_eq!(frozen.to_vec::<f32>().unwrap(), [1.0]);
    }
    assert_eq!(taken, 9);
}

/// Gradients that are divided before the step can be clipped.
#[test]
fn divided_gradients_are_clipped_before_the_step() {
    let d = device();
    let w = Tensor::from_vec(vec![3.0f32, 4.0], 2, &d).requires_grad();
    let mut optimizer = Sgd::new(vec![w.clone()], 1.0).unwrap();
    let mut scaler = GradScaler::new(ScalerOptions::default(), &d).unwrap();
    scaler.scale(&(w.square().sum(()) * 0.5)).backward().unwrap();
    scaler.unscale(&optimizer).unwrap();
    assert!(scaler.unscale(&optimizer).unwrap_err().to_string().contains("once"));
    assert_eq!(nn::clip_grad_norm(&optimizer.parameters(), 1.0).unwrap().item::<f32>().unwrap(), 5.0);
    scaler.step(&mut optimizer).unwrap();
    let got = w.to_vec::<f32>().unwrap();
    assert!((got[0] - 2.4).abs() < 1e-5 && (got[1] - 3.2).abs() < 1e-5, "{got:?}");
}

/// Steps with a scale are those without, where nothing overflows: powers of two change no digit.
#[test]
fn unscaled_gradients_are_the_gradients() {
    let d = device();
    let run = |scaled: bool| {
        let w = Tensor::from_vec(vec![0.3f32, -1.7, 2.5], 3, &d).requires_grad();
        let mut optimizer = AdamW::new(vec![w.clone()], 0.05).unwrap().clip_norm(0.5);
        let mut scaler = GradScaler::new(ScalerOptions { growth_interval: 2, ..ScalerOptions::default() }, &d).unwrap();
        for _ in 0..7 {
            let loss = (&w.sin() * &w).sum(());
            if scaled {
                scaler.minimize(&mut optimizer, &loss, &[]).unwrap();
            } else {
                loss.backward().unwrap();
                optimizer.step().unwrap();
                optimizer.zero_grad();
            }
        }
        w.to_vec::<f32>().unwrap()
    };
    assert_eq!(run(true), run(false));
}

#[test]
fn a_checkpoint_has_the_scale() {
    let d = device();
    let net = Linear::new(2, 1, &d);
    let mut optimizer = Sgd::new(net.parameters(), 0.1).unwrap();
    let options = ScalerOptions { growth_interval: 2, ..ScalerOptions::default() };
    let mut scaler = GradScaler::new(options, &d).unwrap();
    for _ in 0..3 {
        scaler.minimize(&mut optimizer, &net.forward(&Tensor::ones([1, 2], DType::F32, &d)).square().sum(()), &[]).unwrap();
    }
    let path = std::env::temp_dir().join(format!("unigrad-scaler-{}.safetensors", std::process::id()));
    let mut checkpoint = Checkpoint::of(&net, &optimizer).unwrap();
    let without = checkpoint.clone();
    checkpoint.add_scaler(&scaler).unwrap();
    checkpoint.save(&path).unwrap();
    let checkpoint = Checkpoint::load(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    let mut fresh = GradScaler::new(options, &d).unwrap();
    checkpoint.restore(&net, &mut optimizer).unwrap();
    checkpoint.restore_scaler(&mut fresh).unwrap();
    assert_eq!(fresh.state_dict().unwrap(), scaler.state_dict().unwrap());
    assert_eq!(fresh.get_scale().unwrap(), 131_072.0);
    let error = without.restore_scaler(&mut fresh).unwrap_err().to_string();
    assert!(error.contains("missing: growth_tracker, scale") || error.contains("missing: scale, growth_tracker"), "{error}");
    let mut state = scaler.state_dict().unwrap();
    state.get_mut("scale").unwrap().bytes = f32::NAN.to_le_bytes().to_vec();
    assert!(fresh.load_state_dict(&state).is_err());
    assert_eq!(fresh.get_scale().unwrap(), 131_072.0);
    for options in [
        ScalerOptions { init_scale: 0.0, ..options },
        ScalerOptions { backoff_factor: 1.0, ..options },
        ScalerOptions { growth_factor: f64::NAN, ..options },
        ScalerOptions { growth_interval: 0, ..options },
    ] {
        assert!(GradScaler::new(options, &d).unwrap_err().to_string().contains("help: "));
    }
    assert!(scaler.step(&mut optimizer).unwrap_err().to_string().contains("no parameter"));
}
