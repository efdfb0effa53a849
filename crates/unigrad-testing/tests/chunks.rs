//! Heads by chunks of rows give what they give for all rows at once, on every device: values of rows and their gradients, sums over rows up to the order
//! of additions.
//!
//! Always: each case says into how many chunks it was divided, and has to be; sizes come from the planner's own constants. Never: measures memory or time,
//! which `unigrad-nn`'s test of heads does.

use std::sync::{Mutex, PoisonError};
use unigrad::nn::models::{Gpt, GptConfig};
use unigrad::nn::{AdamW, Linear, Module};
use unigrad::prelude::*;
use unigrad_device::{Config, Products};
use unigrad_interpreter::products;
use unigrad_plan::testing::{CHUNKS, GRAIN};
use unigrad_tensor::{CrossEntropyOptions, Reduction, autocast, eval, grad};
use unigrad_testing::selection::compiles_slowly;

const WIDTH: usize = 6;
/// More than four times as many, and odd.
const CLASSES: usize = 8 * WIDTH + 3;

fn numbers(shape: &[usize], seed: usize, device: &Device) -> Tensor {
    let n: usize = shape.iter().product();
    let values: Vec<f32> = (0..n).map(|i| ((i * 7919 + seed * 104_729 + i * i % 31) % 257) as f32 / 128.0 - 1.0).collect();
    Tensor::from_vec(values, shape, device).realize().unwrap().detach()
}

fn ids(shape: &[usize], below: usize, seed: usize, device: &Device) -> Tensor {
    let n: usize = shape.iter().product();
    Tensor::from_vec((0..n).map(|i| ((i * 31 + i * i % 17 + seed) % below) as i64).collect(), shape, device)
}

/// What is computed, of the number of rows: the loss, or the loss of each row, first.
type Case = fn(usize, &Device) -> Result<Vec<Tensor>>;

/// A loss, and its gradients.
fn with_gradients(loss: Tensor, of: &[&Tensor]) -> Result<Vec<Tensor>> {
    let mut all = vec![loss.clone()];
    all.extend(grad(&loss.sum(()), of)?);
    Ok(all)
}

/// Features, weight and bias of a head.
fn head(rows: &[usize], device: &Device) -> [Tensor; 3] {
    let shape: Vec<usize> = rows.iter().copied().chain([WIDTH]).collect();
    [numbers(&shape, 1, device), numbers(&[CLASSES, WIDTH], 2, device), numbers(&[CLASSES], 3, device)].map(|x| x.requires_grad())
}

/// Cross-entropy of a head with these settings.
fn settled(rows: usize, device: &Device, options: &CrossEntropyOptions) -> Result<Vec<Tensor>> {
    let [x, w, b] = head(&[rows], device);
    let h = x.tanh();
    let loss = h.linear(&w, Some(&b)).cross_entropy_with(&ids(&[rows], CLASSES, 5, device), options);
    with_gradients(loss, &[&x, &w, &b])
}

const CASES: &[(&str, Case)] = &[
    ("the mean", |rows, device| settled(rows, device, &CrossEntropyOptions::default())),
    ("each row's", |rows, device| {
        settled(rows, device, &CrossEntropyOptions { reduction: Reduction::None, ..CrossEntropyOptions::default() })
    }),
    ("smoothed, weighted, some ignored", |rows, device| {
        let weight = Some(numbers(&[CLASSES], 9, device).abs() + 0.5);
        settled(
            rows,
            device,
            &CrossEntropyOptions { label_smoothing: 0.1, ignore_index: Some(7), weight, ..CrossEntropyOptions::default() },
        )
    }),
    ("in bf16", |rows, device| autocast(DType::BF16, || settled(rows, device, &CrossEntropyOptions::default()))),
    ("in f16, scaled", |rows, device| {
        let [x, w, b] = head(&[rows], device);
        let h = x.tanh();
        let loss = autocast(DType::F16, || h.linear(&w, Some(&b)).cross_entropy(&ids(&[rows], CLASSES, 5, device)));
        with_gradients(loss * 128.0, &[&x, &w, &b])
    }),
    ("sequences, classes last", |rows, device| {
        let [x, w, _] = head(&[rows / 5, 5], device);
        let options = CrossEntropyOptions { axis: Some(-1), ..CrossEntropyOptions::default() };
        let loss = x.tanh().linear(&w, None).cross_entropy_with(&ids(&[rows / 5, 5], CLASSES, 5, device), &options);
        with_gradients(loss, &[&x, &w])
    }),
    ("with a penalty for the sum of exponentials, and how many are right", |rows, device| {
        let [x, w, b] = head(&[rows], device);
        let logits = x.tanh().linear(&w, Some(&b));
        let target = ids(&[rows], CLASSES, 5, device);
        let loss = logits.cross_entropy(&target) + logits.logsumexp(1).square().mean(()) * 0.01;
        let right = logits.argmax(1).eq(&target).cast(DType::F32).sum(());
        let mut all = with_gradients(loss, &[&x, &w, &b])?;
        all.push(right);
        Ok(all)
    }),
    ("from a teacher", |rows, device| {
        let [x, w, b] = head(&[rows], device);
        let (y, v) = (numbers(&[rows, WIDTH], 21, device), numbers(&[CLASSES, WIDTH], 22, device));
        let options = CrossEntropyOptions { axis: Some(-1), ..CrossEntropyOptions::default() };
        let teacher = y.sin().linear(&v, None).softmax(-1).detach();
        with_gradients(x.tanh().linear(&w, Some(&b)).cross_entropy_with(&teacher, &options), &[&x, &w, &b])
    }),
    ("two batches at once", |rows, device| {
        let [x, w, b] = head(&[rows], device);
        let y = numbers(&[rows, WIDTH], 31, device);
        let target = ids(&[rows], CLASSES, 5, device);
        let loss = x.tanh().linear(&w, Some(&b)).cross_entropy(&target) + y.sin().linear(&w, Some(&b)).cross_entropy(&target);
        with_gradients(loss, &[&x, &w, &b])
    }),
    ("logits of a cap, and of a second width", |rows, device| {
        let [x, w, _] = head(&[rows], device);
        let narrow = Linear { weight: numbers(&[WIDTH, WIDTH], 41, device), bias: None };
        let logits = (unigrad::nn::Layer::forward(&narrow, &x.tanh()).linear(&w, None) / 3.0).tanh() * 3.0;
        with_gradients(logits.cross_entropy(&ids(&[rows], CLASSES, 5, device)), &[&x, &w])
    }),
    ("ops with a rule for rows", |rows, device| {
        let [x, w, b] = head(&[rows], device);
        let y = x.tanh().linear(&w, Some(&b));
        let weights = numbers(&[CLASSES], 51, device);
        let picked = y.gather(1, &ids(&[rows, 1], CLASSES, 5, device)).sum(1);
        let running = y.cumsum(1).narrow(1, 3, 20).square().sum(1);
        let best = y.topk(3, 1, true).0.sum(1);
        let sorted = (y.sort(1, false).0 * &weights).sum(1);
        let turned = y.t().flip(0).pad(&[(2, 1), (0, 0)]).exp().sum(0);
        let joined = Tensor::concat(&[&y, &(&y * 0.5)], 1).logsumexp(1);
        let parts = y.unfold(1, 3, 2).square().sum([1, 2]);
        let all = y.reshape([rows, CLASSES, 1]).permute([2, 0, 1]).tanh().sum(());
        let loss = (picked + running + best + sorted + turned + joined + parts).mean(()) + all / rows as f64;
        with_gradients(loss, &[&x, &w, &b])
    }),
    ("values alone", |rows, device| {
        let [x, w, b] = head(&[rows], device);
        let logits = x.detach().tanh().linear(&w.detach(), Some(&b.detach()));
        Ok(vec![logits.cross_entropy(&ids(&[rows], CLASSES, 5, device)), logits.argmax(1).cast(DType::F32)])
    }),
];

/// Settings, and the counts of what a library has done, are the process's.
static ONE: Mutex<()> = Mutex::new(());

struct Outcome {
    shape: Vec<usize>,
    numbers: Vec<f32>,
}

impl Outcome {
    /// The largest difference, over the largest number there is.
    fn distance(&self, other: &Outcome) -> f32 {
        assert_eq!(self.shape, other.shape);
        let largest = self.numbers.iter().fold(f32::MIN_POSITIVE, |most, x| most.max(x.abs()));
        let differences = self.numbers.iter().zip(&other.numbers).map(|(x, y)| (x - y).abs());
        differences.fold(0.0, |most, x| if x > most || x.is_nan() { x } else { most }) / largest
    }
}

/// What a case computes, by how many chunks, and the bytes that it keeps between launches.
fn run(case: Case, rows: usize, limit: Option<u64>, device: &Device) -> (Vec<Outcome>, usize, u64) {
    eval::with_activation_limit(limit, || {
        let all = case(rows, device).unwrap();
        let plan = eval::plan_of(&all.iter().map(Tensor::expr).collect::<Vec<_>>()).unwrap();
        assert_eq!(plan.unfused_because, None);
        Tensor::realize_all(&all.iter().collect::<Vec<_>>()).unwrap();
        let outcome = |x: &Tensor| Outcome { shape: x.dims().unwrap(), numbers: x.cast(DType::F32).to_vec().unwrap() };
        (all.iter().map(outcome).collect(), plan.chunks, plan.arena as u64)
    })
}

/// Sums in another order, and in halves: gradients are rounded to them at other places.
fn allowed(name: &str) -> f32 {
    match name {
        "in bf16" => 2e-2,
        "in f16, scaled" => 2e-3,
        _ => 2e-6,
    }
}

#[test]
fn chunks_give_what_all_rows_give() {
    let _one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    let most = CHUNKS[CHUNKS.len() - 1];
    // Too few for two chunks, the fewest of two, and around those of most.
    let odd =
        [GRAIN, GRAIN + 1, 2 * GRAIN - 1, 2 * GRAIN, 3 * GRAIN + 5, most * GRAIN - 1, most * GRAIN, most * GRAIN + 1, 2 * most * GRAIN + 7];
    for device in unigrad_testing::selection::without_slowest(unigrad_testing::devices()) {
        let is_slow = compiles_slowly(&device);
        let rows = if device.info().software { &odd[5..6] } else { &odd[..] };
        for (i, (name, case)) in CASES.iter().enumerate().filter(|(i, _)| !is_slow || i % 4 == 0) {
            let mut by = Vec::new();
            for rows in rows.iter().map(|rows| rows.next_multiple_of(if name.starts_with("sequences") { 5 } else { 1 })) {
                let (free, none, arena) = run(*case, rows, None, &device);
                assert_eq!(none, 0, "{name} without a limit");
                // A little less than that, and as little as can be.
                for limit in [arena - 1, 1].into_iter().take(if is_slow && i > 0 { 1 } else { 2 }) {
                    let (within, chunks, less) = run(*case, rows, Some(limit), &device);
                    let distances: Vec<f32> = free.iter().zip(&within).map(|(free, within)| free.distance(within)).collect();
                    let is_near = distances.iter().all(|distance| *distance <= allowed(name)) && free.len() == within.len();
                    assert!(is_near, "{name}, {rows} rows by {chunks} chunks on {}: {distances:?}", device.name());
                    // What is the same for any number of rows may be more than what chunks of so few save.
                    let is_divided = if rows <= GRAIN { chunks == 0 } else { rows < 4 * GRAIN || (2..=most).contains(&chunks) };
                    assert!(
                        is_divided && (less < arena || chunks == 0),
                        "{name}, {rows} rows by {chunks} chunks on {}: {less} bytes of {arena}",
                        device.name()
                    );
                    let of_sums = distances.iter().skip(2).fold(0.0f32, |most, distance| most.max(*distance));
                    by.push((rows, chunks, distances[0], distances[1], of_sums));
                }
            }
            println!("{}: {name}: {by:?}", device.name());
        }
    }
}

/// With a library of products that is asked wherever it can be: it adds a chunk's sums, in `F32`, of halves too, to those before.
#[test]
fn a_library_does_products_of_chunks() {
    let _one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    let before = Config::clone(&Config::current().unwrap());
    Config { products: Products::Library, ..before.clone() }.apply();
    let rows = 5 * GRAIN - 3;
    // One device: how the interpreter's own programs differ by target is tested elsewhere.
    for device in unigrad_testing::devices().into_iter().filter(|device| device.backend() == "interpreter").take(1) {
        for (name, case) in CASES {
            let (free, none, arena) = run(*case, rows, None, &device);
            let done = products();
            let (within, chunks, _) = run(*case, rows, Some(arena - 1), &device);
            let done = products().0 - done.0;
            let distances: Vec<f32> = free.iter().zip(&within).map(|(free, within)| free.distance(within)).collect();
            println!("{name}: {chunks} chunks, {done} products by the library: {distances:?}");
            assert!(distances.iter().all(|distance| *distance <= allowed(name)), "{name}: {distances:?}");
            assert!(none == 0 && (chunks < 2 || done >= chunks), "{name}: {chunks} chunks, {done} products by the library");
        }
    }
    before.apply();
}

/// A label that is out of range is an error in whichever chunk it is, and no parameter changes.
#[test]
fn a_wrong_label_is_found_in_any_chunk() {
    let _one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    let rows = 4 * GRAIN;
    for device in unigrad_testing::devices() {
        for at in [rows - 1, rows / 2, 0].into_iter().take(if compiles_slowly(&device) { 1 } else { 3 }) {
            let [x, ..] = head(&[rows], &device);
            let layer = Linear { weight: numbers(&[CLASSES, WIDTH], 2, &device).requires_grad(), bias: None };
            let before: Vec<f32> = layer.weight.to_vec().unwrap();
            let labels: Vec<i64> = (0..rows).map(|row| if row == at { CLASSES as i64 } else { (row % CLASSES) as i64 }).collect();
            let target = Tensor::from_vec(labels, [rows], &device);
            let mut optimizer = AdamW::new(layer.parameters(), 0.1).unwrap();
            let failed = eval::with_activation_limit(Some(1), || {
                let loss = unigrad::nn::Layer::forward(&layer, &x.detach().tanh()).cross_entropy(&target);
                let gradient = grad(&loss, &[&layer.weight]).unwrap();
                let plan = eval::plan_of(&[loss.expr(), gradient[0].expr()]).unwrap();
                assert!(plan.chunks > 1, "{plan}");
                optimizer.minimize(&loss, &[]).and_then(|()| loss.item::<f32>()).is_err()
            });
            let after: Vec<f32> = layer.weight.to_vec().unwrap();
            assert!(failed && after == before, "row {at} on {}: an error: {failed}", device.name());
        }
    }
}

/// A model whose head is its embedding, in steps of an optimizer.
#[test]
fn a_model_learns_the_same_by_chunks() {
    let _one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    let config = GptConfig { vocab: 70, ctx: 20, layers: 2, heads: 2, dim: 8 };
    for device in unigrad_testing::devices() {
        for half in [true, false].into_iter().take(if compiles_slowly(&device) { 1 } else { 2 }) {
            let trained = |limit: Option<u64>| {
                manual_seed(3);
                eval::with_activation_limit(limit, || {
                    let model = Gpt::new(config, &device).unwrap();
                    let mut optimizer = AdamW::new(model.parameters(), 0.01).unwrap();
                    let batch = |shift| ids(&[4, config.ctx], config.vocab, shift, &device);
                    let losses: Vec<f32> = (0..4)
                        .map(|step| {
                            let loss = || model.loss(&batch(step), &batch(step + 5));
                            let loss = if half { autocast(DType::BF16, loss) } else { loss() };
                            optimizer.minimize(&loss, &[]).unwrap();
                            loss.item::<f32>().unwrap()
                        })
                        .collect();
                    losses
                })
            };
            let (free, within) = (trained(None), trained(Some(1)));
            println!("{}, bf16: {half}: {free:?}, {within:?}", device.name());
            assert_eq!(free[0], within[0], "the first loss is of rows alone, on {}", device.name());
            let near = free.iter().zip(&within).all(|(free, within)| (free - within).abs() <= if half { 2e-3 } else { 2e-5 } * free.abs());
            assert!(near && free[3] < free[0], "{free:?}, {within:?} on {}", device.name());
        }
    }
}
