//! Named axes: training steps whose batch or sequence length changes run a few plans, compile nothing after them, need no more memory than the
//! largest size, and compute what steps without names compute. On the CPU and on the machine's OpenCL devices (PoCL, where no GPU is there).
//!
//! All padding of data is NaN (of integers -1), so whatever an op let through would be seen.

use std::sync::{Mutex, MutexGuard, PoisonError};
use unigrad::nn::{
    AdamW, Linear, Module, Sgd,
    models::{Gpt, GptConfig},
    random::Rng,
};
use unigrad::prelude::*;
use unigrad::tensor::{Dim, eval};

/// Counters are the process's, and so are plans.
fn alone() -> MutexGuard<'static, ()> {
    static LOCK: Mutex<()> = Mutex::new(());
    let guard = LOCK.lock().unwrap_or_else(PoisonError::into_inner);
    eval::set_padding(255);
    guard
}

fn devices() -> Vec<Device> {
    let all = Device::all();
    let wanted = |backend: &str| matches!(backend, "cpu" | "opencl");
    let found: Vec<Device> =
        all.devices.iter().filter(|info| wanted(info.backend)).filter_map(|info| Device::open(&info.device()).ok()).collect();
    if !found.iter().any(|device| device.to_string().contains("opencl")) {
        println!("SKIPPED: no OpenCL device is here");
    }
    found
}

/// The most plans that a range of sizes may need.
const PLANS: u64 = 12;

/// What steps of some sizes cost.
struct Cost {
    plans: u64,
    compiles: u64,
    peak: u64,
}

fn cost(device: Device, steps: impl FnOnce() -> Result<()>) -> Result<Cost> {
    let before = eval::stats();
    device.reset_peak();
    let base = device.memory_stats().allocated;
    steps()?;
    device.synchronize()?;
    let after = eval::stats();
    assert_eq!(after.plans_unfused, before.plans_unfused, "a plan could not be fused");
    let peak = device.memory_stats().peak;
    println!(
        "{device}: {} plans, {} kernels, peak {peak} B ({base} B before)",
        after.plans_built - before.plans_built,
        after.compiles - before.compiles
    );
    Ok(Cost { plans: after.plans_built - before.plans_built, compiles: after.compiles - before.compiles, peak })
}

const INPUTS: usize = 20;
const CLASSES: usize = 10;

#[derive(Module)]
struct Mlp {
    first: Linear,
    last: Linear,
}

impl Mlp {
    fn new(device: &Device) -> Mlp {
        manual_seed(5);
        Mlp { first: Linear::new(INPUTS, 33, device), last: Linear::new(33, CLASSES, device) }
    }

    fn loss(&self, x: &Tensor, y: &Tensor) -> Tensor {
        self.last.forward(&self.first.forward(x).relu()).cross_entropy(y)
    }
}

fn rows(n: usize, seed: u64, device: &Device) -> (Tensor, Tensor) {
    let mut rng = Rng::new(seed, 1);
    let x: Vec<f32> = (0..n * INPUTS).map(|_| rng.uniform() as f32 * 2.0 - 1.0).collect();
    let y: Vec<i64> = (0..n).map(|_| (rng.next_u64() % CLASSES as u64) as i64).collect();
    (Tensor::from_vec(x, [n, INPUTS], device), Tensor::from_vec(y, [n], device))
}

/// The losses of steps of these sizes, and the parameters after them.
type Trained = (Vec<f32>, Vec<Vec<f32>>);

/// Losses and parameters of a run are those of another one.
fn assert_same(device: Device, named: &Trained, exact: &Trained, losses: f32, parameters: f32) {
    for (i, (a, b)) in named.0.iter().zip(&exact.0).enumerate() {
        assert!((a - b).abs() <= losses * b.abs(), "{device}, step {i}: a loss of {a} with names, {b} without");
    }
    assert_eq!((named.0.len(), named.1.len()), (exact.0.len(), exact.1.len()));
    for (i, (a, b)) in named.1.iter().zip(&exact.1).enumerate() {
        let scale = b.iter().fold(1e-3, |most: f32, x| most.max(x.abs()));
        let apart =
            a.iter().zip(b).fold(0.0, |most: f32, (a, b)| if a.is_finite() { most.max((a - b).abs() / scale) } else { f32::INFINITY });
        assert!(apart <= parameters, "{device}: parameter {i} differs by {apart}");
    }
}

/// Runs steps of the largest size, then of `order`, then of `order` backward; asks that they cost what they may.
fn train(
    device: Device,
    largest: usize,
    order: &[usize],
    parameters: &[Tensor],
    mut step: impl FnMut(usize) -> Result<f32>,
) -> Result<Trained> {
    let mut losses = Vec::new();
    let mut run = |sizes: Vec<usize>| cost(device, || sizes.into_iter().try_for_each(|n| step(n).map(|loss| losses.push(loss))));
    let first = run(vec![largest, largest])?;
    let all = run(order.to_vec())?;
    let again = run(order.iter().rev().copied().collect())?;
    assert!(first.plans + all.plans <= PLANS, "{device}: {} plans", first.plans + all.plans);
    assert!(all.peak as f64 <= first.peak as f64 * 1.05, "{device}: a peak of {} B, of the largest {} B", all.peak, first.peak);
    assert_eq!((again.plans, again.compiles), (0, 0), "{device}");
    Ok((losses, parameters.iter().map(Tensor::to_vec::<f32>).collect::<Result<_>>()?))
}

#[test]
fn a_batch_of_any_size_trains_an_mlp() -> Result<()> {
    let _alone = alone();
    const BATCH: usize = 64;
    let batch = Dim::named("batch", 1..=BATCH)?;
    let order: Vec<usize> = Rng::new(3, 0).permutation(BATCH - 1).into_iter().map(|n| n + 1).collect();
    let model = |device: &Device| -> Result<(Mlp, Sgd)> {
        let model = Mlp::new(device);
        model.realize()?;
        let optimizer = Sgd::new(model.parameters(), 0.05)?;
        Ok((model, optimizer))
    };
    // Without names, each size is compiled: on the CPU, where that is fast.
    let cpu = Device::open("cpu:0")?;
    let (exact, mut optimizer) = model(&cpu)?;
    let mut losses = Vec::new();
    for n in [BATCH, BATCH].iter().chain(&order).chain(order.iter().rev()) {
        let (x, y) = rows(*n, *n as u64, &cpu);
        let loss = exact.loss(&x, &y);
        optimizer.minimize(&loss, &[])?;
        losses.push(loss.item::<f32>()?);
    }
    let exact: Trained = (losses, exact.parameters().iter().map(Tensor::to_vec::<f32>).collect::<Result<_>>()?);
    for device in devices() {
        let (named, mut optimizer) = model(&device)?;
        let trained = train(device, BATCH, &order, &named.parameters(), |n| {
            let (x, y) = rows(n, n as u64, &device);
            let loss = named.loss(&x.with_dim(0, &batch), &y.with_dim(0, &batch));
            optimizer.minimize(&loss, &[])?;
            loss.item::<f32>()
        })?;
        assert_same(device, &trained, &exact, 1e-5, 1e-4);
    }
    Ok(())
}

const VOCAB: usize = 17;
const CONTEXT: usize = 1024;

/// Tokens `[2, length]` and what follows each.
fn tokens(length: usize, device: &Device) -> (Tensor, Tensor) {
    let mut rng = Rng::new(length as u64, 2);
    let mut draw = || {
        let all: Vec<i64> = (0..2 * length).map(|_| (rng.next_u64() % VOCAB as u64) as i64).collect();
        Tensor::from_vec(all, [2, length], device)
    };
    (draw(), draw())
}

/// Lengths of buckets up to `most`, the least and the greatest of each among them, in random order.
fn lengths(most: usize, each: usize) -> Vec<usize> {
    let mut rng = Rng::new(11, 0);
    let mut all = vec![1, 2, 3, 4];
    for most in (3..=most.ilog2()).map(|power| 1_usize << power) {
        let least = most / 2 + 1;
        all.extend([least, most]);
        all.extend((2..each).map(|_| least + (rng.next_u64() % (most - least) as u64) as usize));
    }
    rng.permutation(all.len()).into_iter().map(|i| all[i]).collect()
}

/// What steps of these lengths cost and give.
fn train_gpt(device: Device, context: usize, order: &[usize]) -> Result<()> {
    let time = Dim::named("time", 1..=context)?;
    let model = |device: &Device| -> Result<(Gpt, AdamW)> {
        let model = Gpt::new(GptConfig { vocab: VOCAB, ctx: context, layers: 2, heads: 2, dim: 16 }, device)?;
        model.golden_init(7)?;
        let optimizer = AdamW::new(model.parameters(), 1e-3)?;
        Ok((model, optimizer))
    };
    // Without names, each size is compiled: on the CPU, where that is fast.
    let cpu = Device::open("cpu:0")?;
    let (exact, mut optimizer) = model(&cpu)?;
    let mut losses = Vec::new();
    for n in [context, context].iter().chain(order).chain(order.iter().rev()) {
        let (x, y) = tokens(*n, &cpu);
        let loss = exact.loss(&x, &y);
        optimizer.minimize(&loss, &[])?;
        losses.push(loss.item::<f32>()?);
    }
    let exact: Trained = (losses, exact.parameters().iter().map(Tensor::to_vec::<f32>).collect::<Result<_>>()?);
    let (named, mut optimizer) = model(&device)?;
    let trained = train(device, context, order, &named.parameters(), |n| {
        let (x, y) = tokens(n, &device);
        let loss = named.loss(&x.with_dim(1, &time), &y.with_dim(1, &time));
        optimizer.minimize(&loss, &[])?;
        loss.item::<f32>()
    })?;
    assert_same(device, &trained, &exact, 1e-5, 1e-3);
    Ok(())
}

#[test]
fn sequences_of_any_length_train_a_gpt() -> Result<()> {
    let _alone = alone();
    let full = unigrad_testing::selection::full();
    for device in devices() {
        if full || device.to_string().contains("cpu") {
            train_gpt(device, CONTEXT, &lengths(CONTEXT, if full { 8 } else { 3 }))?;
        } else {
            println!("a sample: lengths to 32 on {device}, UNIGRAD_TEST_FULL=1 goes to {CONTEXT}");
            train_gpt(device, 32, &lengths(32, 3))?;
        }
    }
    Ok(())
}

/// A tensor of small numbers, no two rows alike, in a dtype.
fn numbers(shape: [usize; 3], dtype: DType, device: &Device) -> Tensor {
    let n = shape.iter().product::<usize>() as i64;
    let values: Vec<i64> = (0..n).map(|i| (7 * i + 3) % 5 + i64::from(i % 11 == 0)).collect();
    Tensor::from_vec(values, shape, device).cast(dtype)
}

#[test]
fn reductions_of_every_dtype_see_no_padding() -> Result<()> {
    let _alone = alone();
    type Reduce = fn(&Tensor, isize) -> Tensor;
    let all: [(&str, Reduce); 16] = [
        ("sum", |x, axis| x.sum(axis)),
        ("prod", |x, axis| x.prod(axis)),
        ("max", |x, axis| x.max(axis)),
        ("min", |x, axis| x.min(axis)),
        ("any", |x, axis| x.any(axis)),
        ("all", |x, axis| x.all(axis)),
        ("mean", |x, axis| x.mean(axis)),
        ("var", |x, axis| x.var(axis, 1)),
        ("argmax", |x, axis| x.argmax(axis)),
        ("argmin", |x, axis| x.argmin(axis)),
        ("cumsum", |x, axis| x.cumsum(axis)),
        ("cummax", |x, axis| x.cummax(axis)),
        ("logsumexp", |x, axis| x.logsumexp(axis)),
        ("softmax", |x, axis| x.softmax(axis)),
        ("log_softmax", |x, axis| x.log_softmax(axis)),
        ("merged", |x, axis| if axis == 1 { x.flatten(0, 1).sum(0) } else { x.flatten(1, 2).argmax(-1) }),
    ];
    let device = Device::open("cpu:0")?;
    // Of one bucket, and of one that has no padding.
    let dim = Dim::named("n", 1..=100)?.first_bucket(8);
    // Dtypes that only store are added up in none.
    for dtype in DType::ALL.into_iter().filter(|dtype| !DType::STORED.contains(dtype)) {
        for (name, reduce) in all {
            let mut plans = 0;
            for (at, n) in [3, 5, 1, 7, 8].into_iter().enumerate() {
                for axis in 0..3 {
                    let mut shape = [2, 3, 4];
                    shape[axis] = n;
                    let x = numbers(shape, dtype, &device).realize()?;
                    let exact = reduce(&x, axis as isize);
                    let named = x.with_dim(axis as isize, &dim);
                    let before = eval::stats().plans_built;
                    let named = reduce(&named, axis as isize);
                    match (exact.error(), named.error()) {
                        (None, None) => {}
                        (Some(_), Some(_)) => continue,
                        (exact, named) => panic!("{name} of {dtype} {shape:?} along {axis}: {exact:?} without names, {named:?} with"),
                    }
                    assert_eq!(named.shape(), exact.shape(), "{name} of {dtype}");
                    named.realize()?;
                    plans += if at < 2 { 0 } else { eval::stats().plans_built - before };
                    let (a, b) = (named.to_f64_vec()?, exact.to_f64_vec()?);
                    let close = |(a, b): (&f64, &f64)| a == b || (a - b).abs() <= 1e-2 * b.abs() || (a.is_nan() && b.is_nan());
                    assert!(a.iter().zip(&b).all(close), "{name} of {dtype} {shape:?} along {axis}: {a:?}, not {b:?}");
                }
            }
            // A size of 1 may have another graph.
            assert!(plans <= 3, "{name} of {dtype} has {plans} plans for sizes that were there");
        }
    }
    Ok(())
}

#[test]
fn ops_without_a_rule_say_what_to_do() -> Result<()> {
    let _alone = alone();
    let device = Device::open("cpu:0")?;
    let dim = Dim::named("rows", 1..=8)?;
    let x = Tensor::arange(0.0, 15.0, 1.0, DType::F32, &device).reshape([5, 3]).realize()?.with_dim(0, &dim);
    // In the flattened axis padding is between the elements.
    let between = x.t().flatten(0, 1);
    let cases: [(&str, Tensor); 5] = [
        ("a part", between.narrow(0, 1, 2)),
        ("an order", between.sort(0, false).0),
        ("one after another", Tensor::concat(&[&between, &between], 0)),
        ("cuts", x.reshape([3, 5])),
        ("windows", between.unfold(0, 2, 1)),
    ];
    for (what, refused) in cases {
        let error = refused.error().expect(what).to_string();
        assert!(error.contains("`rows` (5 now)") && error.contains("help: `fixed(axis)`"), "{what}: {error}");
    }
    assert_eq!(x.fixed(0).narrow(0, 1, 2).to_vec::<f32>()?, [3.0, 4.0, 5.0, 6.0, 7.0, 8.0]);
    assert_eq!(between.fixed(0).narrow(0, 4, 2).to_vec::<f32>()?, [12.0, 1.0]);
    assert!(x.fixed(0).with_dim(0, &Dim::named("few", 1..=4)?).error().unwrap().to_string().contains("cannot be `few`"));
    let (columns, same) = (Dim::named("columns", 1..=8)?, x.fixed(0).realize()?);
    let error = (&x + same.with_dim(0, &columns)).error().unwrap().to_string();
    assert!(error.contains("`rows`") && error.contains("`columns`"), "{error}");
    // An index beyond the size is an error, also where memory goes on.
    let index = Tensor::new([4i64, -5], &device);
    assert_eq!(x.index_select(0, &index).to_vec::<f32>()?, [12.0, 13.0, 14.0, 0.0, 1.0, 2.0]);
    for beyond in [5i64, 7, -6] {
        let index = Tensor::new([[beyond, 0, 0]], &device);
        assert!(x.gather(0, &index).to_vec::<f32>().is_err(), "{beyond} is out of range");
    }
    Ok(())
}

#[test]
fn a_table_is_used_as_far_as_a_sequence_goes() -> Result<()> {
    let _alone = alone();
    let device = Device::open("cpu:0")?;
    let dim = Dim::named("time", 1..=10)?.first_bucket(4);
    let table = Tensor::arange(0.0, 20.0, 1.0, DType::F32, &device).reshape([10, 2]).realize()?.requires_grad();
    for n in [1, 3, 4, 6, 9, 10] {
        let x = Tensor::ones([n, 2], DType::F32, &device).realize()?.with_dim(0, &dim);
        let loss = (table.narrow_like(0, &x, 0) * &x).sum(());
        assert_eq!(loss.item::<f32>()?, (0..2 * n).map(|i| i as f32).sum::<f32>());
        let wanted: Vec<f32> = (0..20).map(|i| if i < 2 * n { 1.0 } else { 0.0 }).collect();
        assert_eq!(grad(&loss, &[&table])?[0].to_vec::<f32>()?, wanted, "{n} rows");
        // Through the name itself.
        let y = Tensor::ones([n, 2], DType::F32, &device).requires_grad();
        let squares = y.with_dim(0, &dim).square().mean(()).square();
        let first = &grad(&squares, &[&y])?[0];
        assert_eq!(first.shape(), [n, 2]);
        assert!(first.to_vec::<f32>()?.iter().all(|slope| (slope - 2.0 / n as f32).abs() < 1e-5));
    }
    Ok(())
}
