//! Settings found by trying: the steps that are tried are those of the trainer's run.

mod support;

use std::cell::{Cell, RefCell};
use support::{bits, cpu, loader, points};
use unigrad_data::Batch;
use unigrad_nn::{AdamW, CrossEntropyLoss, Layer, Linear, Module, Optimize, Relu, Sequential, Sgd, memory::Estimate};
use unigrad_tensor::{DType, Device, Tensor, eval, manual_seed};
use unigrad_train::{Clip, Learner, LrRange, Outcome, Precision, Result, StepSettings, Supervised, Trainer};

fn learner(device: &Device, lr: f64) -> Result<Supervised<Sequential, AdamW>> {
    manual_seed(1);
    let model = Sequential::new().add(Linear::new(3, 16, device)).add(Relu).add(Linear::new(16, 3, device));
    let optimizer = AdamW::new(model.parameters(), lr)?;
    Ok(Supervised::new(model, CrossEntropyLoss::default(), optimizer))
}

#[test]
fn finders_leave_the_learner_as_it_was() -> Result<()> {
    let (device, _alone) = cpu();
    let mut learner = learner(&device, 0.01)?;
    Trainer::new(&device).quiet().fit(&mut learner, &loader(64, 8), None)?;
    let (weights, state) = (bits(&learner.model), Optimize::state_dict(&learner.optimizer)?);
    let trainer = Trainer::new(&device);
    let curve = trainer.find_lr(&mut learner, &loader(64, 8), LrRange { from: 1e-5, steps: 60, ..LrRange::default() })?;
    let lr = curve.suggestion.unwrap();
    assert!(lr > 1e-4 && lr < 1.0 && curve.points.len() > 10, "{lr} {}", curve.points.len());
    let make = &mut |n: usize| {
        let (points, classes) = points(n, 1);
        let (input, target) = (Tensor::from_slice(&points, [n, 3], &device), Tensor::from_slice(&classes, [n], &device));
        Ok(Batch { input, target, indices: (0..n).collect() })
    };
    let sizes = trainer.find_batch_size(&mut learner, 300, make)?;
    assert_eq!(sizes.tried.iter().map(|(n, _, _)| *n).collect::<Vec<_>>(), [32, 64, 128, 256, 300]);
    assert!(sizes.best == 300 && sizes.tried[3].1 > 0);
    assert!(bits(&learner.model) == weights && Optimize::state_dict(&learner.optimizer)? == state);
    assert_eq!(learner.optimizer.lr(), 0.01);
    Ok(())
}

#[test]
fn a_batch_size_is_found_below_a_cap_on_memory() -> Result<()> {
    // A device of its own name would be needed to cap memory for this test alone; out of memory is what `make` says instead.
    let (device, _alone) = cpu();
    let mut learner = learner(&device, 0.01)?;
    let limit = Cell::new(20);
    let make = &mut |n: usize| {
        if n > limit.get() {
            return Err(unigrad_device::Error::OutOfMemory {
                device: "cpu:0".into(),
                asked: n as u64,
                free: 0,
                total: 0,
                in_use: 0,
                largest: String::new(),
            }
            .into());
        }
        let (points, classes) = points(n, 1);
        let (input, target) = (Tensor::from_slice(&points, [n, 3], &device), Tensor::from_slice(&classes, [n], &device));
        Ok(Batch { input, target, indices: (0..n).collect() })
    };
    let trainer = Trainer::new(&device);
    // Below and above the 32 that suit the CPU.
    assert_eq!(trainer.find_batch_size(&mut learner, 1000, make)?.best, 16);
    limit.set(150);
    assert_eq!(trainer.find_batch_size(&mut learner, 1000, make)?.best, 128);
    limit.set(0);
    assert!(trainer.find_batch_size(&mut learner, 4, make).unwrap_err().is_out_of_memory());
    Ok(())
}

/// One that estimates what it is told, and keeps what it was asked.
struct Asked {
    inner: Supervised<Sequential, AdamW>,
    /// Bytes for each item; nothing is estimated without it.
    per_item: Option<u64>,
    estimated: RefCell<Vec<usize>>,
    /// Batches, settings, and the dtype that products have.
    taken: RefCell<Vec<(usize, StepSettings, DType)>>,
    limits: RefCell<Vec<bool>>,
}

impl Asked {
    fn new(device: &Device, per_item: Option<u64>) -> Result<Asked> {
        let inner = learner(device, 0.01)?;
        Ok(Asked { inner, per_item, estimated: RefCell::default(), taken: RefCell::default(), limits: RefCell::default() })
    }
}

/// Whether this thread's evaluations are limited: a plan that makes values again is another one.
fn is_limited(device: &Device) -> bool {
    let x = Tensor::ones([64, 64], DType::F32, device).realize().unwrap().requires_grad();
    let hidden = (0..6).fold(x.clone(), |h, _| h.matmul(&x).exp());
    let gradient = unigrad_tensor::grad(&hidden.sum(()), &[&x]).unwrap();
    let plan = || eval::plan_of(&[gradient[0].expr()]).unwrap().arena;
    plan() < eval::with_activation_limit(None, plan)
}

impl Learner for Asked {
    type Batch = Batch;

    fn modules(&self) -> Vec<(&str, &dyn Module)> {
        self.inner.modules()
    }

    fn set_training(&mut self, training: bool) {
        self.inner.set_training(training);
    }

    fn optimizers(&self) -> Vec<(&str, &dyn Optimize)> {
        self.inner.optimizers()
    }

    fn optimizers_mut(&mut self) -> Vec<(&str, &mut dyn Optimize)> {
        self.inner.optimizers_mut()
    }

    fn train_step(&mut self, batches: &[Batch], settings: &StepSettings) -> Result<Outcome> {
        let device = batches[0].input.device()?;
        let product = settings.forward(|| self.inner.model.forward(&batches[0].input)).dtype();
        self.taken.borrow_mut().push((batches.len(), settings.clone(), product));
        self.limits.borrow_mut().push(is_limited(&device));
        self.inner.train_step(batches, settings)
    }

    fn evaluate(&mut self, batch: &Batch) -> Result<Outcome> {
        self.inner.evaluate(batch)
    }

    fn estimate(&mut self, batch: &Batch) -> Result<Option<Estimate>> {
        self.estimated.borrow_mut().push(batch.indices.len());
        let activations = |per_item: u64| per_item.saturating_mul(batch.indices.len() as u64);
        Ok(self.per_item.map(|per_item| Estimate { activations: activations(per_item), ..Estimate::default() }))
    }
}

fn batch_of(n: usize, device: &Device) -> Result<Batch> {
    let (points, classes) = points(n, 1);
    let (input, target) = (Tensor::from_slice(&points, [n, 3], device), Tensor::from_slice(&classes, [n], device));
    Ok(Batch { input, target, indices: (0..n).collect() })
}

#[test]
fn a_batch_is_tried_as_the_run_will_take_it() -> Result<()> {
    let (device, _alone) = cpu();
    let trainer = Trainer::new(&device).precision(Precision::Bf16).gradient_checkpointing(true).clip(Clip::Norm(0.5)).accumulate(3);
    let mut asked = Asked::new(&device, None)?;
    let mut made = 0;
    trainer.activation_limit(1).find_batch_size(&mut asked, 64, &mut |n| {
        made += 1;
        batch_of(n, &device)
    })?;
    let taken = asked.taken.borrow();
    assert_eq!((taken.len(), made), (4, 6), "two sizes, two steps of each, of three batches");
    for (n_batches, settings, product) in taken.iter() {
        assert_eq!((*n_batches, *product), (3, DType::BF16));
        assert!(settings.gradient_checkpointing && settings.clip == Some(Clip::Norm(0.5)) && settings.precision == Precision::Bf16);
    }
    assert!(asked.limits.borrow().iter().all(|limited| *limited), "{:?}", asked.limits);
    // And the rates.
    let asked = &mut Asked::new(&device, None)?;
    Trainer::new(&device).activation_limit(1).find_lr(asked, &loader(16, 8), LrRange { steps: 3, ..LrRange::default() })?;
    assert_eq!(*asked.limits.borrow(), [true; 3]);
    Ok(())
}

#[test]
fn a_batch_whose_estimate_does_not_fit_is_not_taken() -> Result<()> {
    let (device, _alone) = cpu();
    let stats = device.memory_stats();
    if stats.free == 0 {
        println!("skipped: this system does not tell how much memory is free");
        return Ok(());
    }
    // 64 items would take a half of all there is, 128 all of it.
    let per_item = (stats.free + stats.allocated) / 128;
    for (per_item, best, estimated) in
        [(per_item, 64, vec![32, 64, 128]), (4 * per_item, 16, vec![32, 16]), (0, 200, vec![32, 64, 128, 200])]
    {
        let mut asked = Asked::new(&device, Some(per_item))?;
        let sizes = Trainer::new(&device).find_batch_size(&mut asked, 200, &mut |n| batch_of(n, &device))?;
        assert_eq!((sizes.best, asked.estimated.borrow().clone()), (best, estimated));
        assert!(asked.taken.borrow().len() == 2 * sizes.tried.len() && sizes.tried.iter().all(|(n, _, _)| *n <= best));
    }
    let mut asked = Asked::new(&device, Some(1 << 60))?;
    let error = Trainer::new(&device).find_batch_size(&mut asked, 200, &mut |n| batch_of(n, &device)).unwrap_err().to_string();
    assert!(error.contains("a step of 1 items") && error.contains("cpu:0") && error.contains("gradient checkpointing"), "{error}");
    assert_eq!(*asked.estimated.borrow(), [32, 16, 8, 4, 2, 1]);
    assert!(asked.taken.borrow().is_empty());
    // A trainer that looks at no memory takes the steps.
    let sizes = Trainer::new(&device).check_memory(false).find_batch_size(&mut asked, 40, &mut |n| batch_of(n, &device))?;
    assert_eq!(sizes.best, 40);
    Ok(())
}

#[test]
fn rates_in_f16_are_tried_with_the_loss_scale() -> Result<()> {
    let (device, _alone) = cpu();
    // Gradients of the products are 1e-8, which F16 does not have; times the scale they are there.
    let losses = |trainer: Trainer| -> Result<Vec<f64>> {
        manual_seed(1);
        let model = Linear::new(3, 1, &device);
        let optimizer = Sgd::new(model.parameters(), 1.0)?;
        let mut learner = Supervised::with(model, optimizer, |model: &Linear, batch: &Batch| {
            let sum = model.forward(&batch.input.full_like(1.0)).sum(());
            Ok(Outcome::new(sum.cast(DType::F32) * 1e-8, batch.indices.len()))
        });
        let range = LrRange { from: 1e6, to: 1e7, steps: 4, smoothing: 0.0, diverged: 1e9 };
        let curve = trainer.precision(Precision::F16).find_lr(&mut learner, &loader(8, 8), range)?;
        Ok(curve.points.into_iter().map(|(_, loss)| loss).collect())
    };
    let scaled = losses(Trainer::new(&device))?;
    assert!(scaled.len() == 4 && scaled.windows(2).all(|pair| pair[1] < pair[0]), "{scaled:?}");
    // A scale of 1 loses them again, so the trainer's options are those that are used.
    let options = unigrad_nn::ScalerOptions { init_scale: 1.0, ..unigrad_nn::ScalerOptions::default() };
    let lost = losses(Trainer::new(&device).loss_scale(options))?;
    assert!(lost.windows(2).all(|pair| pair[1] == pair[0]), "{lost:?}");
    Ok(())
}
