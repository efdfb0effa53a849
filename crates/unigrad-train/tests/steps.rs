//! What a trainer asks of steps: recomputed activations, loss scales with accumulation and clipping, memory that is there, averages, optimizers that look around.

extern crate unigrad_nn as unigrad;

mod support;

use std::sync::Arc;
use support::{Folder, bits, cpu, data, loader, net};
use unigrad_data::{Batch, Loader, Source};
use unigrad_nn::{
    AdamW, AdamWScheduleFree, BatchNorm, Better, CrossEntropyLoss, Layer, Lbfgs, Linear, Module, Optimize, Relu, Result, Sequential, Sgd,
    Tanh, checkpointed, gradient_checkpointing, memory::Estimate,
};
use unigrad_tensor::{DType, Device, Tensor, eval, manual_seed};
use unigrad_train::{
    Callback, Clip, Context, EarlyStopping, Ema, KeepBest, Learner, Outcome, Precision, StepSettings, Supervised, Swa, Trainer, descend,
    network::{LayerKind, Network, TrainingConfig, TransformerSettings},
};

type Net = Supervised<Sequential, AdamW>;

fn learner(device: &Device) -> Result<Net> {
    let model = net(device);
    let optimizer = AdamW::new(model.parameters(), 0.01)?;
    Ok(Supervised::new(model, CrossEntropyLoss::default(), optimizer))
}

/// A network of everything that draws numbers or has statistics, in blocks.
fn deep(device: &Device) -> Network {
    Network::with_input([4, 8])
        .dense(8)
        .layer(LayerKind::TransformerEncoder(TransformerSettings::new(2).n_layers(2).hidden(16).dropout(0.2)))
        .batch_norm()
        .residual(|block| block.dense(8).gelu().dropout(0.3))
        .flatten()
        .dense(16)
        .batch_norm()
        .relu()
        .dropout(0.1)
        .dense(3)
        .seed(4)
        .build_on(device)
        .unwrap()
}

#[test]
fn recomputed_activations_change_no_bit() -> Result<()> {
    let (device, _alone) = cpu();
    let x: Vec<f32> = (0..24 * 32).map(|i| ((i * 37 + 11) % 101) as f32 / 50.0 - 1.0).collect();
    let y: Vec<i64> = (0..24).map(|i| i % 3).collect();
    let run = |recomputed: bool, accumulate: usize| -> Result<_> {
        let mut network = deep(&device);
        let config =
            TrainingConfig { batch_size: 8, max_epochs: 2, accumulate, gradient_checkpointing: recomputed, ..TrainingConfig::default() };
        let history = network.train(&(&x[..], [24, 4, 8]), &y, &config)?;
        Ok((history.step_losses.iter().map(|loss| loss.to_bits()).collect::<Vec<_>>(), bits(&network)))
    };
    for accumulate in [1, 2] {
        let (plain, recomputed) = (run(false, accumulate)?, run(true, accumulate)?);
        assert_eq!(plain.0, recomputed.0);
        assert!(plain.1 == recomputed.1, "weights and statistics are the same");
    }
    // By hand, and of a layer whose state its own pass moves.
    let norm = BatchNorm::new(3, &device);
    let x = Tensor::randn([5, 3, 2], DType::F32, &device).realize()?;
    let pass = |recomputed: bool| -> Result<(Vec<f32>, Vec<f32>, i64)> {
        let norm = norm.deep_copy()?;
        let y = if recomputed { checkpointed(&norm, &x) } else { norm.forward(&x) };
        let (mean, count) = (norm.running_mean.clone().unwrap(), norm.num_batches_tracked.clone().unwrap());
        (&y * &x).sum(()).backward()?;
        let gradient = norm.weight.as_ref().unwrap().grad().unwrap();
        Tensor::realize_all(&[&gradient, &mean, &count])?;
        Ok((gradient.to_vec()?, mean.to_vec()?, count.item()?))
    };
    assert_eq!(pass(true)?, pass(false)?);
    assert_eq!(pass(true)?.2, 1);
    Ok(())
}

#[test]
fn recomputed_activations_take_less_memory() -> Result<()> {
    let (device, _alone) = cpu();
    manual_seed(1);
    let model = (0..24).fold(Sequential::new(), |net, _| net.add(Linear::new(32, 32, &device)).add(Tanh));
    let x = Tensor::randn([4096, 32], DType::F32, &device).realize()?;
    let peak = |recomputed: bool| -> Result<(u64, Vec<f32>)> {
        eval::clear_plans();
        device.clear_cache();
        let before = device.memory_stats().allocated;
        device.reset_peak();
        let forward = || model.forward(&x).square().mean(());
        let loss = if recomputed { gradient_checkpointing(forward) } else { forward() };
        loss.backward()?;
        let gradients: Vec<Tensor> = model.parameters().iter().filter_map(Tensor::grad).collect();
        Tensor::realize_all(&gradients.iter().chain([&loss]).collect::<Vec<_>>())?;
        let peak = device.memory_stats().peak - before;
        let first = gradients[0].to_vec()?;
        model.zero_grad();
        Ok((peak, first))
    };
    let (plain, recomputed) = (peak(false)?, peak(true)?);
    assert_eq!(plain.1, recomputed.1);
    // 24 activations of half a megabyte against about twice the root of 48 layers.
    println!("peak {} bytes, recomputed {}", plain.0, recomputed.0);
    assert!(recomputed.0 < plain.0 * 7 / 10, "{} bytes, and {} with recomputation", plain.0, recomputed.0);
    Ok(())
}

#[test]
fn a_loss_scale_goes_with_accumulation_and_clipping() -> Result<()> {
    let (device, _alone) = cpu();
    let run = |settings: fn(Trainer) -> Trainer| -> Result<Vec<f32>> {
        let mut learner = learner(&device)?;
        let run = settings(Trainer::new(&device).epochs(3).seed(1).quiet()).fit(&mut learner, &loader(40, 5), None)?;
        Ok(run.history.step_losses)
    };
    for settings in [
        (|t: Trainer| t.clip(Clip::Norm(0.5))) as fn(Trainer) -> Trainer,
        |t| t.clip(Clip::Value(0.05)),
        |t| t.accumulate(3),
        |t| t.accumulate(3).clip(Clip::Norm(0.5)),
    ] {
        let full = run(settings)?;
        let half = {
            let mut learner = learner(&device)?;
            let trainer = settings(Trainer::new(&device).epochs(3).seed(1).quiet()).precision(Precision::F16);
            trainer.fit(&mut learner, &loader(40, 5), None)?.history.step_losses
        };
        assert_eq!(full.len(), half.len());
        for (at, (full, half)) in full.iter().zip(&half).enumerate() {
            assert!((full - half).abs() < 3e-2, "step {at}: {half}, and {full} in f32");
        }
    }
    Ok(())
}

/// A weight whose gradient is the mean of the inputs, and statistics that each pass moves.
#[derive(Module)]
struct Both {
    linear: Linear,
    norm: BatchNorm,
}

fn both(device: &Device) -> Result<Supervised<Both, Sgd>> {
    manual_seed(2);
    let model = Both { linear: Linear::no_bias(3, 1, device), norm: BatchNorm::new(3, device) };
    let optimizer = Sgd::new(model.parameters(), 0.1)?;
    Ok(Supervised::with(model, optimizer, |model: &Both, batch: &Batch| {
        let part = model.norm.forward(&batch.input.clamp(-3.0, 3.0)).square().mean(());
        Ok(Outcome::new(model.linear.weight.sum(()) * batch.input.mean(()) + part, batch.indices.len()))
    }))
}

#[test]
fn a_step_is_not_taken_if_any_batch_overflows() -> Result<()> {
    let (device, _alone) = cpu();
    // A loss that is a number, and none times the first scale.
    let huge = |batch: Batch| Batch { input: batch.input.full_like(1e34), ..batch };
    for (clip, accumulate, overflows) in [(false, 1, true), (true, 1, true), (false, 2, true), (true, 2, true), (true, 2, false)] {
        for at in [0, accumulate - 1] {
            let mut learner = both(&device)?;
            learner.model.realize()?;
            let before = bits(&learner.model);
            let source = loader(8 * accumulate, 8);
            let change = if overflows { huge } else { |batch| batch };
            let source = support::With { inner: &source, at: (0, at), change, given: std::cell::Cell::new(0) };
            let trainer = Trainer::new(&device).accumulate(accumulate).precision(Precision::F16).quiet();
            let trainer = if clip { trainer.clip(Clip::Norm(1.0)) } else { trainer };
            trainer.fit(&mut learner, &source, None)?;
            let after = bits(&learner.model);
            let changed: Vec<&str> = before.iter().zip(&after).filter(|(b, a)| b != a).map(|(b, _)| b.0.as_str()).collect();
            assert_eq!(changed.is_empty(), overflows, "clip {clip}, {accumulate} batches, the batch at {at}: {changed:?}");
            assert_eq!(learner.optimizer.n_steps(), u64::from(!overflows));
        }
    }
    Ok(())
}

#[test]
fn a_scaled_run_continues_to_the_same_bits() -> Result<()> {
    let (device, _alone) = cpu();
    for (at, settings) in [
        (|t: Trainer| t.accumulate(2).clip(Clip::Norm(0.5)).precision(Precision::F16)) as fn(Trainer) -> Trainer,
        |t| t.clip(Clip::Value(0.05)).precision(Precision::F16).gradient_checkpointing(true),
        |t| t.callback(Swa::new(2)).precision(Precision::Bf16),
    ]
    .into_iter()
    .enumerate()
    {
        let (whole, parts) = (Folder::new(&format!("scaled-whole-{at}")), Folder::new(&format!("scaled-parts-{at}")));
        let run = |folder: &Folder, stop: Option<u64>| -> Result<Vec<(String, Vec<u8>)>> {
            let mut learner = learner(&device)?;
            let trainer = settings(Trainer::new(&device)).epochs(3).seed(9).folder(&folder.0).resume_if_there().quiet().report(false);
            let trainer = match stop {
                Some(step) => trainer.callback(support::StopAt(step)),
                None => trainer,
            };
            trainer.fit(&mut learner, &loader(40, 8), None)?;
            Ok(bits(&learner.model))
        };
        let wanted = run(&whole, None)?;
        for step in [1, 4, 5] {
            run(&parts, Some(step))?;
        }
        assert!(run(&parts, None)? == wanted, "settings {at}");
    }
    Ok(())
}

/// One that says what its steps need.
struct Told(Net, u64);

impl Learner for Told {
    type Batch = Batch;

    fn modules(&self) -> Vec<(&str, &dyn Module)> {
        self.0.modules()
    }

    fn set_training(&mut self, training: bool) {
        self.0.set_training(training);
    }

    fn optimizers(&self) -> Vec<(&str, &dyn Optimize)> {
        self.0.optimizers()
    }

    fn optimizers_mut(&mut self) -> Vec<(&str, &mut dyn Optimize)> {
        self.0.optimizers_mut()
    }

    fn train_step(&mut self, batches: &[Batch], settings: &StepSettings) -> Result<Outcome> {
        self.0.train_step(batches, settings)
    }

    fn evaluate(&mut self, batch: &Batch) -> Result<Outcome> {
        self.0.evaluate(batch)
    }

    fn estimate(&mut self, batch: &Batch) -> Result<Option<Estimate>> {
        Ok(self.0.estimate(batch)?.map(|estimate| Estimate { activations: self.1, ..estimate }))
    }
}

#[test]
fn a_step_that_does_not_fit_is_refused_before_it_is_taken() -> Result<()> {
    let (device, _alone) = cpu();
    if device.memory_stats().free == 0 {
        println!("skipped: this system does not tell how much memory is free");
        return Ok(());
    }
    let mut told = Told(learner(&device)?, 1 << 60);
    let before = bits(&told.0.model);
    let error = Trainer::new(&device).seed(1).quiet().fit(&mut told, &loader(16, 4), None).unwrap_err().to_string();
    for part in [&format!("{} of activations", 1u64 << 60), "bytes of gradients", "in use", "cpu:0", "gradient checkpointing"] {
        assert!(error.contains(part), "{part:?} in {error}");
    }
    assert!(bits(&told.0.model) == before, "nothing was changed by the estimate, statistics neither");
    // A setting turns it off; what fits is as if it had not been checked.
    let run = |checked: bool, told: &mut Told| -> Result<Vec<(String, Vec<u8>)>> {
        Trainer::new(&device).epochs(2).seed(1).check_memory(checked).quiet().fit(told, &loader(16, 4), None)?;
        Ok(bits(&told.0.model))
    };
    let unchecked = run(false, &mut told)?;
    assert!(run(true, &mut Told(learner(&device)?, 1))? == unchecked);
    // An estimate of what no machine has: 2^18 rows of 2^16 features, which the backward pass needs.
    let model = Sequential::new().add(Linear::new(3, 1 << 16, &device)).add(Relu).add(Linear::new(1 << 16, 1, &device));
    let optimizer = Sgd::new(model.parameters(), 0.1)?;
    let mut large = Supervised::with(model, optimizer, |model: &Sequential, batch: &Batch| {
        let x = batch.input.unsqueeze(0).expand([1 << 17, 2, 3]).reshape([1 << 18, 3]);
        Ok(Outcome::new(model.forward(&x).square().mean(()), 2))
    });
    let error = Trainer::new(&device).quiet().fit(&mut large, &loader(2, 2), None).unwrap_err().to_string();
    assert!(error.contains("of activations beside") && error.contains("help: "), "{error}");
    Ok(())
}

/// One that says nothing of what its steps need: two models, each with an optimizer, and as many rows as it is told.
struct Untold {
    first: Sequential,
    second: Sequential,
    of_first: Sgd,
    of_second: Sgd,
    rows: usize,
}

impl Untold {
    fn new(rows: usize, device: &Device) -> Result<Untold> {
        let model = || Sequential::new().add(Linear::new(3, 1 << 12, device)).add(Relu).add(Linear::new(1 << 12, 1, device));
        let (first, second) = (model(), model());
        let (of_first, of_second) = (Sgd::new(first.parameters(), 0.1)?, Sgd::new(second.parameters(), 0.1)?);
        Ok(Untold { first, second, of_first, of_second, rows })
    }
}

impl Learner for Untold {
    type Batch = Batch;

    fn modules(&self) -> Vec<(&str, &dyn Module)> {
        vec![("first", &self.first), ("second", &self.second)]
    }

    fn set_training(&mut self, _: bool) {}

    fn optimizers(&self) -> Vec<(&str, &dyn Optimize)> {
        vec![("first", &self.of_first), ("second", &self.of_second)]
    }

    fn optimizers_mut(&mut self) -> Vec<(&str, &mut dyn Optimize)> {
        vec![("first", &mut self.of_first), ("second", &mut self.of_second)]
    }

    fn train_step(&mut self, batches: &[Batch], settings: &StepSettings) -> Result<Outcome> {
        let Untold { first, second, of_first, of_second, rows } = self;
        let x = |batch: &Batch| batch.input.narrow(0, 0, 1).expand([*rows, 3]);
        descend(of_first, &[], batches, settings, |batch| Ok(Outcome::new(first.forward(&x(batch)).square().mean(()), *rows)))?;
        descend(of_second, &[], batches, settings, |batch| Ok(Outcome::new(second.forward(&x(batch)).square().mean(()), *rows)))
    }

    fn evaluate(&mut self, batch: &Batch) -> Result<Outcome> {
        Ok(Outcome::new(self.first.forward(&batch.input).square().mean(()), 1))
    }
}

#[test]
fn steps_that_tell_nothing_are_looked_at_before_they_are_launched() -> Result<()> {
    let (device, _alone) = cpu();
    if device.memory_stats().free == 0 {
        println!("skipped: this system does not tell how much memory is free");
        return Ok(());
    }
    let state = |untold: &Untold| (bits(&untold.first), bits(&untold.second));
    // 2^28 rows of 2^12 features: no machine has that; nothing has asked for it.
    let mut large = Untold::new(1 << 28, &device)?;
    let before = (state(&large), device.memory_stats().peak);
    let error = Trainer::new(&device).seed(1).quiet().fit(&mut large, &loader(16, 4), None).unwrap_err().to_string();
    for part in ["an evaluation of the step needs", "in between beside", "cpu:0 has", "gradient checkpointing"] {
        assert!(error.contains(part), "{part:?} in {error}");
    }
    assert!(state(&large) == before.0, "nothing was changed");
    assert!(device.memory_stats().peak < before.1 + (1 << 30), "memory was asked for");
    // What fits is as if it had not been checked.
    let run = |checked: bool| -> Result<_> {
        manual_seed(3);
        let mut small = Untold::new(8, &device)?;
        Trainer::new(&device).epochs(1).seed(1).check_memory(checked).quiet().fit(&mut small, &loader(16, 4), None)?;
        Ok(state(&small))
    };
    assert!(run(true)? == run(false)?);
    Ok(())
}

/// Looks at the weights that validation sees.
struct Look(Arc<std::sync::Mutex<Vec<Vec<f32>>>>);

impl Callback for Look {
    fn on_validation_end(&mut self, run: &mut Context<'_>) -> Result<()> {
        self.0.lock().unwrap().push(run.state[0].1.to_vec()?);
        Ok(())
    }
}

#[test]
fn averages_are_validated_and_left() -> Result<()> {
    let (device, _alone) = cpu();
    let train = loader(40, 8);
    // Of a schedule-free optimizer: what it keeps for use is validated, kept as the best, and left; training goes on with its own.
    let folder = Folder::new("schedule-free");
    let seen = Arc::new(std::sync::Mutex::new(Vec::new()));
    let model = net(&device);
    let optimizer = AdamWScheduleFree::new(model.parameters(), 0.05)?;
    let mut learner = Supervised::new(model, CrossEntropyLoss::default(), optimizer);
    let trainer = Trainer::new(&device).epochs(3).seed(1).folder(&folder.0).callback(Look(Arc::clone(&seen))).quiet();
    let trainer =
        trainer.callback(KeepBest::top(9, "val_loss", Better::Lower)).callback(EarlyStopping::new("loss", Better::Lower).patience(9));
    let run = trainer.fit(&mut learner, &train, Some(&train))?;
    assert!(!learner.optimizer.is_training(), "the run leaves the averages");
    let last = learner.model.parameters()[0].to_vec::<f32>()?;
    let seen = seen.lock().unwrap().clone();
    assert_eq!((seen.len(), seen.last()), (3, Some(&last)));
    for (epoch, seen) in seen.iter().enumerate() {
        let kept = unigrad_nn::Archive::open(folder.0.join(format!("top-{}.safetensors", epoch + 1)))?;
        let kept: Vec<f32> = kept.tensors["0.weight"].bytes.as_chunks::<4>().0.iter().map(|x| f32::from_le_bytes(*x)).collect();
        assert_eq!(&kept, seen);
    }
    // The same losses as without callbacks that look.
    let model = net(&device);
    let optimizer = AdamWScheduleFree::new(model.parameters(), 0.05)?;
    let mut plain = Supervised::new(model, CrossEntropyLoss::default(), optimizer);
    let without = Trainer::new(&device).epochs(3).seed(1).quiet().fit(&mut plain, &train, None)?;
    assert_eq!(run.history.step_losses, without.history.step_losses);
    // An exponential average is the one by hand; an equal one is the mean of the epochs' weights.
    let mut by_hand = self::learner(&device)?;
    struct ByHand(Vec<Vec<f32>>);
    let weights: Arc<std::sync::Mutex<ByHand>> = Arc::new(std::sync::Mutex::new(ByHand(Vec::new())));
    struct Keep(Arc<std::sync::Mutex<ByHand>>);
    impl Callback for Keep {
        fn on_step_end(&mut self, run: &mut Context<'_>) -> Result<()> {
            self.0.lock().unwrap().0.push(run.state[0].1.to_vec()?);
            Ok(())
        }
    }
    Trainer::new(&device).epochs(2).seed(1).callback(Keep(Arc::clone(&weights))).callback(Ema::new(0.75)).quiet().fit(
        &mut by_hand,
        &train,
        None,
    )?;
    let steps = weights.lock().unwrap().0.clone();
    let mut average: Vec<f64> = steps[0].iter().map(|x| f64::from(*x)).collect();
    for step in &steps[1..] {
        average.iter_mut().zip(step).for_each(|(average, x)| *average += 0.25 * (f64::from(*x) - *average));
    }
    let got: Vec<f32> = by_hand.model.parameters()[0].to_vec()?;
    assert!(got.iter().zip(&average).all(|(got, want)| (f64::from(*got) - want).abs() < 1e-5), "{got:?} {average:?}");
    let mut equal = self::learner(&device)?;
    Trainer::new(&device).epochs(2).seed(1).callback(Swa::new(1)).quiet().fit(&mut equal, &train, Some(&train))?;
    let ends = [&steps[train.n_batches() - 1], &steps[2 * train.n_batches() - 1]];
    let got: Vec<f32> = equal.model.parameters()[0].to_vec()?;
    assert!(got.iter().enumerate().all(|(at, got)| (got - (ends[0][at] + ends[1][at]) / 2.0).abs() < 1e-5));
    Ok(())
}

#[test]
fn optimizers_that_look_around_train() -> Result<()> {
    let (device, _alone) = cpu();
    let whole = Loader::new(data(40, 5), 40, 7).in_order();
    let mut losses = Vec::new();
    for at in 0..2 {
        manual_seed(3);
        let model = Sequential::new().add(Linear::new(3, 8, &device)).add(Tanh).add(Linear::new(8, 3, &device));
        let parameters = model.parameters();
        let optimizer: Box<dyn Optimize> = match at {
            0 => Box::new(Lbfgs::new(parameters, 1.0)?.max_iter(4).strong_wolfe(true)),
            _ => Box::new(Sgd::new(parameters, 0.3)?.sam(0.05)),
        };
        let mut learner = Supervised::new(model, CrossEntropyLoss::default(), optimizer);
        let run = Trainer::new(&device).epochs(12).quiet().fit(&mut learner, &whole, None)?;
        assert_eq!(learner.optimizer.n_steps(), 12);
        losses.push(run.history.step_losses.clone());
        assert!(run.history.step_losses.last() < run.history.step_losses.first(), "{losses:?}");
        // What has one place is told.
        let error = Trainer::new(&device).accumulate(2).quiet().fit(&mut learner, &loader(8, 4), None).unwrap_err().to_string();
        assert!(error.contains("places"), "{error}");
        let error = Trainer::new(&device).precision(Precision::F16).quiet().fit(&mut learner, &loader(8, 4), None).unwrap_err().to_string();
        assert!(error.contains("places"), "{error}");
    }
    assert!(losses[0].last() < losses[1].last(), "L-BFGS is far ahead: {losses:?}");
    Ok(())
}
