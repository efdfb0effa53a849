//! Plans and kernels as texts, compared with files: a lost fusion, a launch more, a change of a kernel is a line that differs.
//! `UPDATE_SNAPSHOTS=1` rewrites the files; the change is then read as any other.
//!
//! Always: for a device that is written down here, so that the texts are the same on every machine: no limits on a launch's arguments, and
//! programs for one target. Never: counts what evaluation launches, which `plans.rs` does.

use std::{cell::RefCell, fmt::Write, rc::Rc};
use unigrad::nn::{self, Layer, Module, models};
use unigrad::prelude::*;
use unigrad_gpu::lower;
use unigrad_ir::{Target, offline_targets};
use unigrad_kernel::{Channels, Kernel};
use unigrad_plan::{
    Options, Plan,
    testing::{end_on_plan, on_plan, plan_as_asked},
};
use unigrad_tensor::{Format, eval};
use unigrad_testing::{snapshot, watch};

/// The cache of plans is the process's, and what is found there is not planned again: one test at a time.
static ONE: std::sync::Mutex<()> = std::sync::Mutex::new(());

fn cpu() -> Device {
    unigrad::init();
    Device::open("cpu").unwrap()
}

/// Where programs are counted and shown for.
fn target() -> Target {
    offline_targets().into_iter().find(|target| target.arch == "sm_80").unwrap()
}

/// Numbers without any graph behind them.
fn leaf(shape: &[usize], device: &Device) -> Tensor {
    let n: usize = shape.iter().product();
    let values: Vec<f32> = (0..n).map(|i| ((i * 37 + 11) % 101) as f32 / 50.0 - 1.0).collect();
    Tensor::from_slice(&values, shape, device)
}

/// What is planned while something runs, for a device without limits.
fn plans_of(work: impl FnOnce()) -> Vec<Plan> {
    plans_with(Options::default(), work)
}

/// The same, planned with these options.
fn plans_with(options: Options, work: impl FnOnce()) -> Vec<Plan> {
    let plans: Rc<RefCell<Vec<Plan>>> = Rc::default();
    let seen = plans.clone();
    eval::clear_plans();
    on_plan(move |capture, own| {
        watch::check(capture, own).unwrap_or_else(|error| panic!("the plan is wrong: {error}"));
        seen.borrow_mut().push(plan_as_asked(capture, options).unwrap_or_else(|error| panic!("{error}")));
    });
    work();
    end_on_plan();
    plans.take()
}

/// Plans as they are printed, without the user's line numbers, with the programs of each launch.
fn text_of(title: &str, plans: &[Plan]) -> String {
    let mut text = format!("## {title}\n");
    for plan in plans {
        for (i, launch) in plan.launches.iter().enumerate() {
            let line = launch.line();
            let line = line.rsplit_once(':').map_or(line.as_str(), |(line, _)| line);
            let programs =
                lower(&launch.kernel, &target()).map_or_else(|error| error.to_string(), |lowered| lowered.steps.len().to_string());
            writeln!(text, "{:>4}  {line}  programs {programs}", i + 1).unwrap();
        }
        writeln!(text, "{}", plan.to_string().lines().last().unwrap_or_default()).unwrap();
        assert_eq!(plan.unfused_because, None);
    }
    text
}

#[track_caller]
fn compare(name: &str, text: &str) {
    snapshot::compare(name, text).unwrap_or_else(|difference| panic!("{difference}"));
}

/// A block's value, then its gradients from a forward pass that has run.
fn block(name: &str, shapes: &[&[usize]], f: impl Fn(&[Tensor]) -> Tensor) -> String {
    let device = cpu();
    let leaves = || -> Vec<Tensor> { shapes.iter().map(|shape| leaf(shape, &device)).collect() };
    let inputs = leaves();
    let forward = plans_of(|| drop(f(&inputs).realize().unwrap()));
    let inputs: Vec<Tensor> = leaves().into_iter().map(|x| x.requires_grad()).collect();
    let y = f(&inputs);
    let dy = leaf(&y.shape(), &device);
    let backward = plans_of(|| {
        y.realize().unwrap();
        let wanted: Vec<&Tensor> = inputs.iter().collect();
        let grads = unigrad_tensor::grad_with(&y, &dy, &wanted).unwrap();
        Tensor::realize_all(&grads.iter().collect::<Vec<_>>()).unwrap();
    });
    // The first of these is the forward pass again, as far as it is kept for the gradients.
    text_of(name, &forward) + &text_of(&format!("{name}, for gradients"), &backward)
}

type Block = fn(&[Tensor]) -> Tensor;

const BLOCKS: &[(&str, &[&[usize]], Block)] = &[
    ("softmax", &[&[64, 256]], |x| x[0].softmax(-1)),
    ("log softmax", &[&[64, 256]], |x| x[0].log_softmax(-1)),
    ("layer norm", &[&[64, 256], &[256], &[256]], |x| x[0].layer_norm(Some(&x[1]), Some(&x[2]), 1e-5)),
    ("RMS norm", &[&[64, 256], &[256]], |x| x[0].rms_norm(Some(&x[1]), 1e-5)),
    ("GELU(x @ w + b)", &[&[64, 128], &[128, 256], &[256]], |x| (x[0].matmul(&x[1]) + &x[2]).gelu()),
    ("a chain of maps", &[&[64, 256]], |x| ((&x[0] * 2.0 + 1.0).tanh() * x[0].sigmoid()).exp()),
    ("mean of the squares of rows' sums", &[&[64, 256]], |x| x[0].sum(1).square().mean(())),
    ("attention", &[&[2, 4, 16, 8], &[2, 4, 16, 8], &[2, 4, 16, 8]], |x| {
        x[0].attention(&x[1], &x[2], &AttentionOptions { causal: true, ..AttentionOptions::default() })
    }),
    ("convolution, ReLU", &[&[4, 3, 12, 12], &[8, 3, 3, 3], &[8]], |x| x[0].conv2d(&x[1], Some(&x[2]), &ConvOptions::new(1, 1)).relu()),
];

#[test]
fn named_blocks() {
    let _one = ONE.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let mut text: String = BLOCKS.iter().map(|(name, shapes, f)| block(name, shapes, f)).collect();
    let device = cpu();
    let targets = Tensor::from_slice(&(0..64).map(|i| i * 7 % 50).collect::<Vec<i64>>(), [64], &device);
    text += &block("cross-entropy", &[&[64, 50]], |x| x[0].cross_entropy(&targets));
    compare("plans/blocks", &text);
}

fn tokens(shift: i64, device: &Device) -> Tensor {
    Tensor::from_slice(&(0..4 * 16).map(|i| (i * 7 + shift) % 40).collect::<Vec<i64>>(), [4, 16], device)
}

fn realize(module: &impl Module) {
    module.parameters().iter().for_each(|parameter| drop(parameter.realize().unwrap()));
}

#[test]
fn a_gpt_training_step() {
    let _one = ONE.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let device = cpu();
    let model = models::Gpt::new(models::GptConfig { vocab: 40, ctx: 16, layers: 2, heads: 4, dim: 32 }, &device).unwrap();
    realize(&model);
    let mut optimizer = nn::AdamW::new(model.parameters(), 1e-3).unwrap();
    let step = |optimizer: &mut nn::AdamW, i: i64| {
        let loss = model.loss(&tokens(i, &device), &tokens(i + 7, &device));
        optimizer.minimize(&loss, &[]).unwrap();
        assert!(loss.item::<f32>().unwrap().is_finite());
    };
    let first = plans_of(|| step(&mut optimizer, 0));
    compare("plans/gpt_step", &text_of("a step of a GPT of 2 layers with AdamW", &first));
    let plans = first.len();
    let both = plans_of(|| [1, 2].into_iter().for_each(|i| step(&mut optimizer, i)));
    assert_eq!(both.len(), plans, "a later step is planned otherwise than the first");
}

/// Within a limit: the head and its loss by chunks.
#[test]
fn a_gpt_training_step_by_chunks() {
    let _one = ONE.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let device = cpu();
    let model = models::Gpt::new(models::GptConfig { vocab: 40, ctx: 16, layers: 1, heads: 2, dim: 8 }, &device).unwrap();
    realize(&model);
    let mut optimizer = nn::AdamW::new(model.parameters(), 1e-3).unwrap();
    let mut step = |limit: Option<usize>| {
        plans_with(Options { arena: limit, ..Options::default() }, || {
            let loss = unigrad_tensor::autocast(DType::BF16, || model.loss(&tokens(0, &device), &tokens(1, &device)));
            optimizer.minimize(&loss, &[]).unwrap();
            loss.item::<f32>().unwrap();
        })
    };
    // The state of the optimizer is there from the second step on.
    step(None);
    let free = step(None);
    let within = step(Some(free[0].arena * 9 / 10));
    assert!(within[0].chunks > 1 && within[0].arena < free[0].arena, "{}", within[0]);
    compare("plans/gpt_step_by_chunks", &(text_of("all rows at once", &free) + &text_of("by chunks", &within)));
}

#[test]
fn a_cnn_training_step() {
    let _one = ONE.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let device = cpu();
    let model = models::Cnn::new(12, 12, 10, 0, 0.25, &device);
    realize(&model);
    let mut optimizer = nn::Sgd::new(model.parameters(), 1e-2).unwrap().momentum(0.9).unwrap();
    let targets = Tensor::from_slice(&[3i64, 1, 4, 1, 5, 9, 2, 6], [8], &device);
    let x = leaf(&[8, 1, 12, 12], &device);
    let plans = plans_of(|| {
        let loss = model.forward(&x).cross_entropy(&targets);
        optimizer.minimize(&loss, &[]).unwrap();
        assert!(loss.item::<f32>().unwrap().is_finite());
    });
    compare("plans/cnn_step", &text_of("a step of a CNN with SGD and momentum", &plans));
}

/// A block with a way past it, as a GPU that wants channels last plans it: between the stem's pool and the loss nothing is copied into another order, and
/// every product runs in loops that copy their operands in runs.
#[test]
fn a_residual_training_step_with_channels_last() {
    let _one = ONE.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let device = cpu();
    let (narrow, wide) = (64, 128);
    let convolution = |sizes: [usize; 3], stride: usize| {
        let options = ConvOptions::new(stride, sizes[2] / 2);
        (nn::Conv2d::new(sizes[0], sizes[1], sizes[2], options, &device).no_bias(), nn::BatchNorm::new(sizes[1], &device))
    };
    let layers = [
        convolution([3, narrow, 7], 2),
        convolution([narrow, wide, 1], 1),
        convolution([wide, wide, 3], 2),
        convolution([narrow, wide, 1], 2),
    ];
    let head = nn::Linear::new(wide, 10, &device);
    let parameters: Vec<Tensor> = layers.iter().flat_map(|(conv, norm)| [conv.parameters(), norm.parameters()].concat()).collect();
    let mut optimizer = nn::Sgd::new([parameters, head.parameters()].concat(), 1e-2).unwrap().momentum(0.9).unwrap();
    realize(&head);
    let forward = |layer: usize, x: &Tensor| layers[layer].1.forward(&layers[layer].0.forward(x));
    let targets = Tensor::from_slice(&[3i64, 1, 4, 1], [4], &device);
    let x = leaf(&[4, 3, 64, 64], &device);
    // GPUs compute again what costs less than to read it.
    let options = Options { channels: Channels::LastOfHalves, recompute: 32, ..Options::default() };
    let plans = plans_with(options, || {
        let loss = unigrad_tensor::autocast(DType::BF16, || {
            let h = forward(0, &x).relu().max_pool2d(&PoolOptions::new(3).stride(2).padding(1));
            let h = (forward(2, &forward(1, &h).relu()) + forward(3, &h)).relu();
            head.forward(&h.mean([2, 3])).cross_entropy(&targets)
        });
        optimizer.minimize(&loss, &[]).unwrap();
        assert!(loss.item::<f32>().unwrap().is_finite());
    });
    let mut text = text_of("a step of a residual block with channels last, with SGD and momentum", &plans);
    for kernel in plans.iter().flat_map(|plan| &plan.launches).map(|launch| &launch.kernel) {
        let Kernel::Contract(contract) = kernel else { continue };
        let lowered = lower(kernel, &target()).unwrap();
        let names: Vec<&str> = lowered.steps.iter().map(|step| step.program.name.as_str()).collect();
        let length = |sizes: &[usize]| sizes.iter().product::<usize>();
        let sizes = [contract.m_len(), contract.n_len(), contract.k_len()];
        writeln!(text, "{sizes:?}: {}", names.join(", ")).unwrap();
        let is_large = length(&sizes) >= 1 << 20;
        assert!(!is_large || names.contains(&"contract_mma"), "{sizes:?} runs as {names:?}");
    }
    compare("plans/residual_step_channels_last", &text);
}

/// A product whose operand is stored in another format is one kernel, which makes the elements itself: nothing is stored in between.
#[test]
fn products_read_storage_formats() {
    let _one = ONE.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let device = cpu();
    let stored = |x: Tensor| x.realize().unwrap().detach();
    let (x, w, bias) = (leaf(&[48, 64], &device), leaf(&[64, 96], &device), leaf(&[96], &device));
    let half = stored(x.cast(DType::BF16));
    let [e4m3, e5m2] = DType::STORED.map(|dtype| stored(w.cast(dtype)));
    let [bytes, scales] = [stored((&w * 50.0).cast(DType::I8)), leaf(&[96], &device)];
    let blocks = leaf(&[96, 64], &device).quantize(Format::Q4_0).unwrap();
    type Make<'a> = &'a dyn Fn() -> Tensor;
    let products: [(&str, Make<'_>); 6] = [
        ("a weight of f8e4m3, bias and GELU", &|| (x.matmul(&e4m3.cast(DType::F32)) + &bias).gelu()),
        ("a weight of f8e5m2 in bf16", &|| half.matmul(&e5m2.cast(DType::BF16))),
        ("a weight of q4_0, turned", &|| x.matmul(&blocks.dequantize(DType::F32).t())),
        ("a weight of q4_0 for one row", &|| x.narrow(0, 0, 1).matmul(&blocks.dequantize(DType::F32).t())),
        ("a master weight of f32 in bf16", &|| half.matmul(&w.cast(DType::BF16))),
        ("a weight of i8 with a scale for each column", &|| x.matmul(&(bytes.cast(DType::F32) * &scales))),
    ];
    let mut text = String::new();
    for (name, make) in products {
        let plans = plans_of(|| drop(make().realize().unwrap()));
        let kernels: Vec<&Kernel> = plans.iter().flat_map(|plan| &plan.launches).map(|launch| &launch.kernel).collect();
        let [Kernel::Contract(contract)] = kernels[..] else { panic!("{name}: {} launches, not one product", kernels.len()) };
        assert_eq!(contract.prologues.iter().flatten().count(), 1, "{name}");
        assert!(plans.iter().all(|plan| plan.arena == 0), "{name}: something is stored in between");
        text += &text_of(name, &plans);
        if name.contains("q4_0, turned") || name.contains("master") {
            text += &contract.to_string();
        }
    }
    // What is not for a prologue: a weight that many products read, and what another kernel computes.
    let many = plans_of(|| {
        let weight = e4m3.cast(DType::F32);
        let all = (0..4).fold(x.clone(), |x, _| x.matmul(&weight).narrow(1, 0, 64));
        drop(all.realize().unwrap());
    });
    text += &text_of("a weight of f8e4m3 that four products read", &many);
    let computed = plans_of(|| drop(half.matmul(&w.exp().cast(DType::BF16)).realize().unwrap()));
    text += &text_of("a computed weight", &computed);
    compare("plans/formats", &text);
}

#[test]
fn an_lstm_training_step() {
    let _one = ONE.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let device = cpu();
    let model = nn::Lstm::stacked(6, 8, 1, true, &device);
    realize(&model);
    let mut optimizer = nn::Sgd::new(model.parameters(), 1e-2).unwrap();
    let x = leaf(&[4, 5, 6], &device);
    let plans = plans_of(|| {
        let loss = model.forward(&x).square().mean(());
        optimizer.minimize(&loss, &[]).unwrap();
        assert!(loss.item::<f32>().unwrap().is_finite());
    });
    compare("plans/lstm_step", &text_of("a step of an LSTM in both directions, of 5 times, with SGD", &plans));
}

/// One token through a layer with a cache of keys and values.
fn decode(weights: &[Tensor; 3], cache: &[Tensor; 2], x: &Tensor, position: usize, device: &Device) -> Tensor {
    let _no_grad = no_grad_guard();
    let (heads, features) = (4, 8);
    let normed = x.rms_norm(Some(&weights[2]), 1e-5);
    let qkv = normed.matmul(&weights[0]).reshape([1, 1, 3, heads, features]).permute([2, 0, 3, 1, 4]);
    let at = Tensor::scalar(position as f64, DType::I64, device);
    cache[0].assign(&cache[0].dyn_update(2, &qkv.select(0, 1), &at)).unwrap();
    cache[1].assign(&cache[1].dyn_update(2, &qkv.select(0, 2), &at)).unwrap();
    let options = AttentionOptions {
        causal: true,
        kv_len: Some((position + 1).into()),
        q_offset: Some(position.into()),
        ..AttentionOptions::default()
    };
    let seen = qkv.select(0, 0).attention(&cache[0], &cache[1], &options);
    x + seen.permute([0, 2, 1, 3]).reshape([1, 1, 32]).matmul(&weights[1])
}

fn no_grad_guard() -> impl Drop {
    unigrad_tensor::no_grad_guard()
}

#[test]
fn a_decode_step() {
    let _one = ONE.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let device = cpu();
    let weights = [leaf(&[32, 96], &device), leaf(&[32, 32], &device), leaf(&[32], &device)];
    let cache = [(); 2].map(|()| Tensor::zeros([1, 4, 64, 8], DType::F32, &device).contiguous().realize().unwrap());
    let x = leaf(&[1, 1, 32], &device);
    drop(decode(&weights, &cache, &x, 0, &device).realize().unwrap());
    let plans = plans_of(|| (1..4).for_each(|position| drop(decode(&weights, &cache, &x, position, &device).realize().unwrap())));
    assert_eq!(plans.len(), 1, "a later token is planned again");
    compare("plans/decode_step", &text_of("a token of a layer with a cache", &plans));
}

/// How a cache whose positions a device knows is written, and read in the same evaluation.
#[derive(Clone, Copy, PartialEq)]
enum Cache {
    Rows,
    /// Only where a condition is true.
    Guarded,
    Pages,
}

/// One token of attention that reads what it has just written; the position is data.
fn decode_at(how: Cache, cache: &[Tensor; 2], x: &Tensor, position: usize, device: &Device) -> Tensor {
    let _no_grad = no_grad_guard();
    let qkv = (x * 2.0).reshape([1, 1, 3, 4, 8]).permute([2, 0, 3, 1, 4]).contiguous();
    let at = Tensor::new([position as i64], device).realize().unwrap();
    let table = Tensor::new([[3i64, 0, 2, 1]], device).realize().unwrap();
    for (i, cache) in cache.iter().enumerate() {
        let part = qkv.select(0, i as i64 + 1);
        match how {
            Cache::Rows => cache.assign(&cache.dyn_update(2, &part, &at.reshape([0; 0]))),
            Cache::Guarded => cache.assign_if(&cache.dyn_update(2, &part, &at.reshape([0; 0])), &x.abs().max(()).lt(10.0)),
            Cache::Pages => cache.assign(&cache.paged_update(&part.transpose(1, 2), &table, &at)),
        }
        .unwrap();
    }
    let options = AttentionOptions {
        causal: true,
        kv_len: Some((&(&at + 1)).into()),
        q_offset: Some((&at).into()),
        page_table: (how == Cache::Pages).then_some(table),
        ..AttentionOptions::default()
    };
    qkv.select(0, 0).attention(&cache[0], &cache[1], &options)
}

#[test]
fn attention_reads_a_cache_where_it_was_written() {
    let _one = ONE.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let device = cpu();
    let x = leaf(&[1, 1, 96], &device);
    let mut text = String::new();
    for (how, name) in [(Cache::Rows, "rows"), (Cache::Guarded, "rows, under a condition"), (Cache::Pages, "pages")] {
        let shape = if how == Cache::Pages { [4, 16, 4, 8] } else { [1, 4, 64, 8] };
        let cache = [(); 2].map(|()| Tensor::zeros(shape, DType::F32, &device).contiguous().realize().unwrap());
        drop(decode_at(how, &cache, &x, 0, &device).realize().unwrap());
        let plans = plans_of(|| (1..4).for_each(|position| drop(decode_at(how, &cache, &x, position, &device).realize().unwrap())));
        assert_eq!(plans.len(), 1, "{name}: a later token is planned again");
        assert!(plans[0].launches.iter().all(|launch| &*launch.name != "copy"), "{name}: a cache is copied\n{}", plans[0]);
        assert_eq!(plans[0].donated.iter().flatten().count(), 2, "{name}: {}", plans[0]);
        text += &text_of(&format!("attention that reads what was just written, in {name}"), &plans);
    }
    compare("plans/decode_at", &text);
}

/// Equal reductions of tensors of different sizes are one launch: norms in optimizers and of gradients, rows of 256 in a state of 8 bits.
#[test]
fn steps_of_optimizers_with_norms() {
    let _one = ONE.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let device = cpu();
    // The last are too long for one workgroup to do all of their update, or of other rows.
    let shapes: [&[usize]; 6] = [&[16, 48], &[48], &[], &[64, 16], &[300, 256], &[400, 256]];
    type Training = Box<dyn FnMut(Vec<Option<Tensor>>)>;
    type Make = fn(Vec<Tensor>) -> Training;
    let all: [(&str, Make); 4] = [
        ("LAMB", |p| {
            let mut o = nn::Lamb::new(p, 1e-3).unwrap();
            Box::new(move |gradients| o.step_with(gradients, &[]).unwrap())
        }),
        ("LARS", |p| {
            let mut o = nn::Lars::new(p, 1e-3).unwrap();
            Box::new(move |gradients| o.step_with(gradients, &[]).unwrap())
        }),
        ("AdamW, clipped by norm", |p| {
            let mut o = nn::AdamW::new(p, 1e-3).unwrap().clip_norm(1.0);
            Box::new(move |gradients| o.step_with(gradients, &[]).unwrap())
        }),
        ("AdamW with a state of 8 bits", |p| {
            let mut o = nn::AdamW8bit::new(p, 1e-3).unwrap().least_size(1024).unwrap();
            Box::new(move |gradients| o.step_with(gradients, &[]).unwrap())
        }),
    ];
    let mut text = String::new();
    for (name, make) in all {
        let parameters: Vec<Tensor> = shapes.iter().map(|shape| leaf(shape, &device).requires_grad()).collect();
        let gradients: Vec<Tensor> = shapes.iter().map(|shape| leaf(shape, &device)).collect();
        let mut step = make(parameters);
        let plans = plans_of(|| step(gradients.iter().cloned().map(Some).collect()));
        text += &text_of(name, &plans);
    }
    compare("plans/optimizers", &text);
}

/// Regions as nn's formulas make them. The CPU's tests read these files: each must be a fused step there.
#[test]
fn regions_of_optimizers_and_norms() {
    let _one = ONE.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let device = cpu();
    let regions = |title: &str, plans: &[Plan], wanted: &dyn Fn(&Kernel) -> bool| {
        let mut text = format!("; {title}\n");
        let kernels: Vec<&Kernel> = plans.iter().flat_map(|plan| &plan.launches).map(|launch| &launch.kernel).collect();
        let found: Vec<String> = kernels.into_iter().filter(|k| wanted(k)).filter_map(watch::region_of).map(ToString::to_string).collect();
        assert!(!found.is_empty(), "{title}: no such region");
        found.iter().for_each(|region| text += region);
        text
    };
    let mut optimizers = String::new();
    type Training = Box<dyn FnMut(&Tensor)>;
    type Make = fn(Vec<Tensor>) -> Training;
    let all: [(&str, Make); 4] = [
        ("AdamW", |p| {
            let mut o = nn::AdamW::new(p, 1e-3).unwrap();
            Box::new(move |loss| o.minimize(loss, &[]).unwrap())
        }),
        ("Adam", |p| {
            let mut o = nn::Adam::new(p, 1e-3).unwrap();
            Box::new(move |loss| o.minimize(loss, &[]).unwrap())
        }),
        ("SGD with momentum", |p| {
            let mut o = nn::Sgd::new(p, 1e-3).unwrap().momentum(0.9).unwrap();
            Box::new(move |loss| o.minimize(loss, &[]).unwrap())
        }),
        ("Lion", |p| {
            let mut o = nn::Lion::new(p, 1e-4).unwrap().weight_decay(0.1);
            Box::new(move |loss| o.minimize(loss, &[]).unwrap())
        }),
    ];
    for (name, make) in all {
        // So large that its update is a kernel of its own, beside the loss's.
        let parameter = leaf(&[512, 256], &device).requires_grad();
        let weight = leaf(&[512, 256], &device);
        let mut step = make(vec![parameter.clone()]);
        let plans = plans_of(|| step(&(&parameter * &weight).sum(())));
        let is_update = |kernel: &Kernel| {
            let large = |region: &unigrad_kernel::Region| region.args.iter().filter(|arg| arg.len == 512 * 256).count();
            kernel.kind() == "map" && watch::region_of(kernel).is_some_and(|region| large(region) >= 3)
        };
        optimizers += &regions(name, &plans, &is_update);
    }
    compare("regions/optimizers", &optimizers);
    let row = |kernel: &Kernel| kernel.kind() == "row";
    let rows: String = BLOCKS[..4]
        .iter()
        .map(|(name, shapes, f)| {
            let inputs: Vec<Tensor> = shapes.iter().map(|shape| leaf(shape, &device)).collect();
            regions(name, &plans_of(|| drop(f(&inputs).realize().unwrap())), &row)
        })
        .collect();
    compare("regions/rows", &rows);
}

/// Ten kernels of the plans above as IR programs.
#[test]
fn ten_lowered_kernels() {
    let _one = ONE.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let device = cpu();
    let plans = |shapes: &[&[usize]], f: Block| {
        let inputs: Vec<Tensor> = shapes.iter().map(|shape| leaf(shape, &device)).collect();
        plans_of(|| drop(f(&inputs).realize().unwrap()))
    };
    let kernels: [(&str, &[&[usize]], Block); 10] = [
        ("map", &[&[64, 256]], BLOCKS[5].2),
        ("softmax", BLOCKS[0].1, BLOCKS[0].2),
        ("layer_norm", BLOCKS[2].1, BLOCKS[2].2),
        ("sum_of_all", &[&[512, 512]], |x| x[0].sum(())),
        ("column_sums", &[&[512, 512]], |x| x[0].sum(0)),
        ("transpose", &[&[64, 256]], |x| x[0].t().contiguous()),
        ("matmul_gelu", &[&[64, 128], &[128, 256], &[256]], BLOCKS[4].2),
        ("convolution", BLOCKS[8].1, BLOCKS[8].2),
        ("cumsum", &[&[8, 300]], |x| x[0].cumsum(1)),
        ("attention", BLOCKS[7].1, BLOCKS[7].2),
    ];
    // The words of one vendor's matrix instructions are a long text of their own, which the tests of `lower::native` read.
    let target = Target { arch: String::new(), fragments: Vec::new(), ..target() };
    for (name, shapes, f) in kernels {
        let mut text = String::new();
        for launch in plans(shapes, f).iter().flat_map(|plan| &plan.launches) {
            let lowered = lower(&launch.kernel, &target).unwrap_or_else(|error| panic!("{name}: {error}"));
            write!(text, "{}", launch.kernel).unwrap();
            for step in &lowered.steps {
                write!(text, "; grid {:?}\n{}", step.grid, step.program).unwrap();
            }
        }
        compare(&format!("kernels/{name}"), &text);
    }
}
