//! What fusion promises, counted: launches of named blocks, and a second step that plans, compiles and allocates nothing.

use unigrad_kernel::Kernel;
use unigrad_tensor::{AttentionOptions, CrossEntropyOptions, DType, Device, PoolOptions, Reduction, Tensor, eval, grad};

fn device() -> Device {
    unigrad_testing::devices()[0]
}

/// Numbers without any graph behind them.
fn leaf(shape: &[usize], device: &Device) -> Tensor {
    let n: usize = shape.iter().product();
    let values: Vec<f32> = (0..n).map(|i| ((i * 37 + 11) % 101) as f32 / 50.0 - 1.0).collect();
    Tensor::from_slice(&values, shape, device)
}

/// Launches that evaluating the tensors takes.
#[track_caller]
fn launches(tensors: &[&Tensor]) -> u64 {
    let before = eval::stats();
    Tensor::realize_all(tensors).unwrap();
    eval::stats().launches - before.launches
}

/// Checks the launches of a block's value, and then those of its value with all gradients.
#[track_caller]
fn block(name: &str, shapes: &[&[usize]], f: impl Fn(&[Tensor]) -> Tensor, forward: u64, backward: u64) {
    let device = device();
    let inputs: Vec<Tensor> = shapes.iter().map(|shape| leaf(shape, &device)).collect();
    let got = launches(&[&f(&inputs)]);
    assert!(got <= forward, "{name}: {got} launches forward, at most {forward} promised");
    // The gradient alone, from a forward pass that has run: what it does not reuse it computes again.
    let inputs: Vec<Tensor> = shapes.iter().map(|shape| leaf(shape, &device).requires_grad()).collect();
    let y = f(&inputs);
    let dy = leaf(&y.shape(), &device);
    y.realize().unwrap();
    let wanted: Vec<&Tensor> = inputs.iter().collect();
    let grads = unigrad_tensor::grad_with(&y, &dy, &wanted).unwrap();
    let got = launches(&grads.iter().collect::<Vec<_>>());
    assert!(got <= backward, "{name}: {got} launches backward, at most {backward} promised");
}

/// The counters are the process's: one test at a time.
static ONE: std::sync::Mutex<()> = std::sync::Mutex::new(());

#[test]
fn named_blocks() {
    let _one = ONE.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    block("softmax", &[&[64, 256]], |x| x[0].softmax(-1), 1, 2);
    block("log softmax", &[&[64, 256]], |x| x[0].log_softmax(-1), 1, 2);
    block("layer norm", &[&[64, 256], &[256], &[256]], |x| x[0].layer_norm(Some(&x[1]), Some(&x[2]), 1e-5), 1, 2);
    block("RMS norm", &[&[64, 256], &[256]], |x| x[0].rms_norm(Some(&x[1]), 1e-5), 1, 2);
    block("GELU(x @ w + b)", &[&[64, 128], &[128, 256], &[256]], |x| (x[0].matmul(&x[1]) + &x[2]).gelu(), 1, u64::MAX);
    // Recording keeps each tensor apart; the planner sees that nothing happens.
    let undone = |x: &Tensor| {
        let same = x.t().t().reshape([256, 64]).reshape([64, -1]).neg().neg().expand([64, 256]) * Tensor::ones_like(x);
        (same - Tensor::zeros_like(x)).permute([1, 0]).permute([1, 0]).i(..)
    };
    block("views that undo each other", &[&[64, 256]], |x| undone(&undone(&x[0])).exp(), 1, 1);
    block("a chain of maps", &[&[64, 256]], |x| ((&x[0] * 2.0 + 1.0).tanh() * x[0].sigmoid()).exp(), 1, 1);
}

#[test]
fn cross_entropy() {
    let _one = ONE.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let device = device();
    let weight = leaf(&[50], &device).square();
    weight.realize().unwrap();
    let plain = CrossEntropyOptions::default;
    let settings = [
        ("mean", plain()),
        ("sum", CrossEntropyOptions { reduction: Reduction::Sum, ..plain() }),
        ("none", CrossEntropyOptions { reduction: Reduction::None, ..plain() }),
        ("smoothed", CrossEntropyOptions { label_smoothing: 0.1, ..plain() }),
        ("some ignored", CrossEntropyOptions { ignore_index: Some(7), ..plain() }),
        ("weighted", CrossEntropyOptions { weight: Some(weight.clone()), ..plain() }),
        ("all of it", CrossEntropyOptions { label_smoothing: 0.1, ignore_index: Some(7), weight: Some(weight.clone()), ..plain() }),
    ];
    for shape in [&[64, 50][..], &[3, 50, 8], &[1, 50], &[50]] {
        let targets: Vec<usize> = shape.iter().enumerate().filter(|(i, _)| *i != shape.len().min(2) - 1).map(|(_, n)| *n).collect();
        let ids: Vec<i64> = (0..targets.iter().product::<usize>() as i64).map(|i| i * 7 % 50).collect();
        let target = Tensor::from_slice(&ids, &targets[..], &device);
        for (name, options) in &settings {
            let name = format!("cross-entropy of {shape:?}, {name}");
            let loss = |x: &Tensor| x.cross_entropy_with(&target, options);
            let got = launches(&[&loss(&leaf(shape, &device))]);
            // The rows, and their mean or sum.
            assert!(got <= 2, "{name}: {got} launches forward");
            let x = leaf(shape, &device).requires_grad();
            let y = loss(&x);
            y.realize().unwrap();
            let grads = grad(&y.sum(()), &[&x]).unwrap();
            let got = launches(&[&grads[0]]);
            // The weights' sum is a launch of its own.
            assert!(got <= if name.contains("weighted") || name.contains("all of it") { 3 } else { 2 }, "{name}: {got} launches backward");
        }
    }
}

struct Block {
    norms: [Tensor; 4],
    qkv: Tensor,
    out: Tensor,
    up: [Tensor; 2],
    down: [Tensor; 2],
}

/// A GPT as small as one can be that still has all of its parts.
struct Gpt {
    tokens: Tensor,
    positions: Tensor,
    blocks: Vec<Block>,
    norm: [Tensor; 2],
}

const WIDTH: usize = 32;
const HEADS: usize = 4;
const VOCABULARY: usize = 40;
const CONTEXT: usize = 16;

impl Gpt {
    fn new(layers: usize, device: &Device) -> Gpt {
        let parameter = |shape: &[usize]| {
            let tensor = leaf(shape, device) * 0.1;
            tensor.realize().unwrap();
            tensor.requires_grad()
        };
        let block = |_| Block {
            norms: [(); 4].map(|()| parameter(&[WIDTH])),
            qkv: parameter(&[WIDTH, 3 * WIDTH]),
            out: parameter(&[WIDTH, WIDTH]),
            up: [parameter(&[WIDTH, 4 * WIDTH]), parameter(&[4 * WIDTH])],
            down: [parameter(&[4 * WIDTH, WIDTH]), parameter(&[WIDTH])],
        };
        Gpt {
            tokens: parameter(&[VOCABULARY, WIDTH]),
            positions: parameter(&[CONTEXT, WIDTH]),
            blocks: (0..layers).map(block).collect(),
            norm: [(); 2].map(|()| parameter(&[WIDTH])),
        }
    }

    fn parameters(&self) -> Vec<&Tensor> {
        let mut all = vec![&self.tokens, &self.positions];
        for block in &self.blocks {
            all.extend(block.norms.iter());
            all.extend([&block.qkv, &block.out]);
            all.extend(block.up.iter().chain(&block.down));
        }
        all.extend(&self.norm);
        all
    }

    fn loss(&self, tokens: &Tensor, targets: &Tensor) -> Tensor {
        let batch = tokens.shape()[0];
        let mut x = self.tokens.embedding(tokens) + &self.positions;
        for block in &self.blocks {
            let normed = x.layer_norm(Some(&block.norms[0]), Some(&block.norms[1]), 1e-5);
            let heads = normed.matmul(&block.qkv).reshape([batch as i64, CONTEXT as i64, 3, HEADS as i64, -1]).permute([2, 0, 3, 1, 4]);
            let options = AttentionOptions { causal: true, ..AttentionOptions::default() };
            let seen = heads.select(0, 0).attention(&heads.select(0, 1), &heads.select(0, 2), &options);
            x = &x + seen.permute([0, 2, 1, 3]).reshape([batch, CONTEXT, WIDTH]).matmul(&block.out);
            let normed = x.layer_norm(Some(&block.norms[2]), Some(&block.norms[3]), 1e-5);
            let inner = (normed.matmul(&block.up[0]) + &block.up[1]).gelu();
            x = &x + (inner.matmul(&block.down[0]) + &block.down[1]);
        }
        let x = x.layer_norm(Some(&self.norm[0]), Some(&self.norm[1]), 1e-5);
        let logits = x.matmul(&self.tokens.t());
        logits.reshape([batch * CONTEXT, VOCABULARY]).cross_entropy(&targets.flatten_all())
    }
}

/// AdamW as an optimizer would write it: run-time scalars for what changes from step to step.
fn adamw(parameters: &[&Tensor], grads: &[Tensor], moments: &[(Tensor, Tensor)], step: i32) {
    let _guard = unigrad_tensor::no_grad_guard();
    let (c1, c2) = (1.0 - 0.9_f64.powi(step), 1.0 - 0.999_f64.powi(step));
    let rate = 1e-3 * f64::from(step);
    for ((p, g), (m, v)) in parameters.iter().zip(grads).zip(moments) {
        let new_m = m * 0.9 + g * 0.1;
        let new_v = v * 0.999 + g.square() * 0.001;
        let update = (&new_m / c1) / ((&new_v / c2).sqrt() + 1e-8);
        let new_p = *p * (1.0 - rate * 0.01) - update * rate;
        m.assign(&new_m).unwrap();
        v.assign(&new_v).unwrap();
        p.assign(&new_p).unwrap();
    }
}

#[test]
fn gpt_step() {
    let _one = ONE.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let device = device();
    let gpt = Gpt::new(2, &device);
    let zeros = |p: &&Tensor| {
        let zeros = Tensor::zeros(p.shape(), DType::F32, &device).contiguous();
        zeros.realize().unwrap();
        zeros
    };
    let parameters = gpt.parameters();
    let moments: Vec<(Tensor, Tensor)> = parameters.iter().map(|p| (zeros(p), zeros(p))).collect();
    let mut history = Vec::new();
    let mut losses = Vec::new();
    for step in 1..=5 {
        let ids = |shift: i64| -> Tensor {
            let ids: Vec<i64> = (0..4 * CONTEXT as i64).map(|i| (i * 7 + shift + i64::from(step)) % VOCABULARY as i64).collect();
            Tensor::from_slice(&ids, [4, CONTEXT], &device)
        };
        let (tokens, targets) = (ids(0), ids(7));
        let before = eval::stats();
        let loss = gpt.loss(&tokens, &targets);
        let grads = grad(&loss, &parameters).unwrap();
        adamw(&parameters, &grads, &moments, step);
        drop(grads);
        let value = loss.item::<f32>().unwrap();
        let after = eval::stats();
        losses.push(value);
        history.push([
            after.launches - before.launches,
            after.plans_built - before.plans_built,
            after.compiles - before.compiles,
            after.allocations - before.allocations,
        ]);
    }
    println!("launches, plans, compiled kernels, allocations of each step: {history:?}; losses {losses:?}");
    assert!(losses.iter().all(|loss| loss.is_finite()) && losses[4] < losses[0], "the loss does not fall: {losses:?}");
    assert!(history.iter().all(|step| step[0] <= 60), "at most 60 launches a step: {history:?}");
    assert!(history[1..].iter().all(|step| step[1..] == [0, 0, 0]), "a later step plans, compiles or allocates: {history:?}");
}

#[test]
fn adamw_over_all_parameters_is_two_launches() {
    let _one = ONE.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let device = device();
    let gpt = Gpt::new(2, &device);
    let parameters = gpt.parameters();
    let like = |p: &&Tensor| leaf(&p.shape(), &device);
    let moments: Vec<(Tensor, Tensor)> = parameters.iter().map(|p| (like(p), like(p).square())).collect();
    moments.iter().for_each(|(_, v)| {
        v.realize().unwrap();
    });
    let grads: Vec<Tensor> = parameters.iter().map(like).collect();
    adamw(&parameters, &grads, &moments, 3);
    let got = launches(&parameters);
    assert!(got <= 2, "{got} launches for AdamW over {} parameters", parameters.len());
}

#[test]
fn what_is_cheap_and_large_is_computed_again() {
    let _one = ONE.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let device = device();
    for (side, is_stored) in [(16, true), (300, false)] {
        let x = leaf(&[side, side], &device);
        // Read by rows and by columns, so by two kernels.
        let h = &x * &x + 1.0;
        let (rows, columns) = (h.softmax(1), h.softmax(0));
        drop(h);
        let plan = eval::plan_of(&[rows.expr(), columns.expr()]).unwrap();
        let written: f64 = plan.launches.iter().map(|launch| launch.traffic().1).sum();
        let results = (2 * side * side * 4) as f64;
        let more = (side * side * 4) as f64;
        assert_eq!(written, if is_stored { results + more } else { results }, "{side}: {plan}");
    }
}

/// What each element gets of `dy` by the windows whose first maximum it is, of planes `[height, width]`.
fn pool_gradient(x: &[f32], dy: &[f32], [height, width]: [usize; 2], options: &PoolOptions, output: [usize; 2]) -> Vec<f32> {
    let mut dx = vec![0.0f32; x.len()];
    let plane = height * width;
    for (window, dy) in dy.iter().enumerate() {
        let (p, row, column) = (window / (output[0] * output[1]), window / output[1] % output[0], window % output[1]);
        let mut best: Option<usize> = None;
        for tap in 0..options.kernel[0] * options.kernel[1] {
            let along =
                |d: usize, at: usize, tap: usize| (at * options.stride[d] + tap * options.dilation[d]).checked_sub(options.padding[d]);
            let (h, w) = (along(0, row, tap / options.kernel[1]), along(1, column, tap % options.kernel[1]));
            let (Some(h), Some(w)) = (h.filter(|h| *h < height), w.filter(|w| *w < width)) else { continue };
            let at = p * plane + h * width + w;
            if best.is_none_or(|best| x[at] > x[best]) {
                best = Some(at);
            }
        }
        dx[best.unwrap()] += dy;
    }
    dx
}

/// How many windows have an element among as many neighbours as windows are apart.
fn windows_of_a_step(kernel: usize, stride: usize, padding: usize, dilation: usize) -> usize {
    let far = padding + kernel * dilation;
    // Far from the ends, by places in the padded image.
    let first = far * stride + padding;
    let has = |window: usize| (0..kernel).any(|tap| (first..first + stride).contains(&(window * stride + tap * dilation)));
    (0..3 * far + 3).filter(|window| has(*window)).count()
}

/// As a gather where a device would rather compute than store, else as a scatter: the same either way.
#[test]
fn gradients_of_max_pools() {
    let _one = ONE.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let mut devices = unigrad_testing::fast_devices();
    devices.extend(unigrad_testing::devices().into_iter().find(|device| device.recompute() > 3));
    for device in devices {
        let most = device.recompute();
        let mut scatters = Vec::new();
        // Overlapping and not, with gaps between windows and between taps, with padding, taller than a device gathers.
        let settings = [
            ([3, 3], [2, 2], [1, 1], [1, 1]),
            ([2, 2], [2, 2], [0, 0], [1, 1]),
            ([3, 2], [1, 1], [1, 0], [1, 1]),
            ([2, 3], [4, 5], [1, 1], [1, 1]),
            ([3, 2], [2, 3], [1, 1], [2, 2]),
            ([1, 2], [1, 1], [0, 1], [1, 1]),
            ([most + 1, 1], [1, 2], [most / 2, 0], [1, 1]),
            ([most, 1], [1, 2], [most / 2, 0], [1, 1]),
            ([2 * most, 2], [2, 2], [most, 0], [1, 1]),
            ([2 * most, 1], [2, 3], [most - 1, 0], [1, 1]),
            ([4, 3], [5, 2], [2, 1], [3, 1]),
        ];
        for (kernel, stride, padding, dilation) in settings {
            for [height, width] in [[kernel[0] * dilation[0] + 4, 9], [kernel[0] * dilation[0], 5]] {
                let options = PoolOptions {
                    kernel: kernel.into(),
                    stride: stride.into(),
                    padding: padding.into(),
                    dilation: dilation.into(),
                    ..PoolOptions::new(1)
                };
                // Ties too.
                let values: Vec<f32> = (0..2 * 3 * height * width).map(|i| ((i * 37 + 11) % 23) as f32 - 9.0).collect();
                let x = Tensor::from_slice(&values, &[2, 3, height, width][..], &device).requires_grad();
                let y = x.max_pool2d(&options);
                let shape = y.shape();
                let dy: Vec<f32> = (0..shape.iter().product()).map(|i| ((i * 29 + 5) % 17) as f32 - 8.0).collect();
                let given = Tensor::from_slice(&dy, &shape[..], &device);
                let dx = unigrad_tensor::grad_with(&y, &given, &[&x]).unwrap().remove(0);
                let plan = eval::plan_of(&[dx.expr()]).unwrap();
                let windows: usize = (0..2).map(|d| windows_of_a_step(kernel[d], stride[d], padding[d], dilation[d])).product();
                scatters.push((kernel, windows > most, plan.launches.iter().any(|launch| matches!(launch.kernel, Kernel::Scatter(_)))));
                let want = pool_gradient(&values, &dy, [height, width], &options, [shape[2], shape[3]]);
                assert_eq!(dx.to_vec::<f32>().unwrap(), want, "{device} {kernel:?} {stride:?} {padding:?} {dilation:?} {height}x{width}");
            }
        }
        for (kernel, want, scatters) in scatters {
            assert_eq!(scatters, want, "{device} {kernel:?}");
        }
    }
}

/// A scatter by places of a pool that is not its gradient: by a part of them, along another axis, or onto something else.
#[test]
fn other_scatters_by_places_of_max_pools() {
    let _one = ONE.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    for device in unigrad_testing::fast_devices() {
        let values: Vec<f32> = (0..2 * 16).map(|i| ((i * 37 + 11) % 23) as f32 - 9.0).collect();
        let x = Tensor::from_slice(&values, [2, 1, 4, 4], &device);
        let (y, place) = x.max_pool_with_index(2, &PoolOptions::new(2));
        let zeros = |shape: &[usize]| Tensor::zeros(shape, DType::F32, &device);
        // All eight go to the first plane.
        let mut want = vec![0.0; 32];
        let (maxima, places) = (y.to_vec::<f32>().unwrap(), place.to_vec::<i64>().unwrap());
        maxima.iter().zip(&places).for_each(|(y, place)| want[*place as usize] += y);
        let (y, place) = x.max_pool_with_index(2, &PoolOptions::new(2));
        let got = zeros(&[2, 1, 16]).scatter_add(2, &place.reshape([1, 1, 8]), &y.reshape([1, 1, 8]));
        assert_eq!(got.to_vec::<f32>().unwrap(), want, "{device}");
        // Along the third of four axes, whose last one the index has too.
        let x = Tensor::from_slice(&values[..16], [1, 1, 4, 4], &device);
        let options = PoolOptions { kernel: [4, 2].into(), ..PoolOptions::new(1) };
        let (y, place) = x.max_pool_with_index(2, &options);
        let places = place.to_vec::<i64>().unwrap();
        let (y, place) = (y.reshape([1, 1, 1, 2]), (x.max_pool_with_index(2, &options).1 % 8i64).reshape([1, 1, 1, 2]));
        let mut want = vec![0.0; 16];
        y.to_vec::<f32>().unwrap().iter().zip(&places).enumerate().for_each(|(at, (y, place))| want[(*place % 8) as usize * 2 + at] += y);
        assert_eq!(zeros(&[1, 1, 8, 2]).scatter_add(2, &place, &y).to_vec::<f32>().unwrap(), want, "{device}");
    }
}

/// Of equal maxima the first is the place; a NaN before numbers; what is padded is no maximum though it be as low.
#[test]
fn max_pools_of_ties_and_no_numbers() {
    let _one = ONE.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    for device in unigrad_testing::fast_devices() {
        let (nan, low) = (f32::NAN, f32::NEG_INFINITY);
        let x = [0.0, -0.0, -0.0, 0.0, low, low, 1.0, nan, nan, 2.0, low, nan];
        let pooled = |kernel: usize, pad: usize| {
            let options = PoolOptions::new(kernel).stride(2).padding(pad);
            let (y, place) = Tensor::from_slice(&x, [1, 1, x.len()], &device).max_pool_with_index(1, &options);
            (y.to_vec::<f32>().unwrap(), place.to_vec::<i64>().unwrap())
        };
        let (y, place) = pooled(2, 0);
        assert_eq!((&y[..3], &place[..]), (&[0.0, 0.0, low][..], &[0, 2, 4, 7, 8, 11][..]), "{device}");
        assert!(y[3..].iter().all(|y| y.is_nan()), "{device}");
        let (y, place) = pooled(3, 1);
        assert_eq!((&y[..3], &place[..]), (&[0.0, 0.0, 0.0][..], &[0, 1, 3, 7, 7, 11][..]), "{device}");
        assert!(y[3..].iter().all(|y| y.is_nan()), "{device}");
    }
}

/// What follows a product in its kernel has no rows: the place of the greatest of one element is a kernel of its own, or 0, and the product is whole beside it.
#[test]
fn places_along_axes_of_one_element_are_zero_beside_products() {
    let _one = ONE.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    for device in unigrad_testing::fast_devices() {
        for [m, k, n] in [[16, 3, 1], [1, 3, 16], [1, 5, 1], [1, 300, 700], [700, 40, 1]] {
            let product = || leaf(&[m, k], &device).matmul(&leaf(&[k, n], &device));
            let alone = product().to_vec::<f32>().unwrap();
            for axis in (0..2).filter(|axis| [m, n][*axis] == 1) {
                let (y, other) = (product(), [n, m][axis]);
                let results = [y.argmax(axis as isize), y.argmin_keepdim(axis as isize), (&y + 1.0).relu().argmax(axis as isize)];
                Tensor::realize_all(&results.iter().chain([&y]).collect::<Vec<_>>()).unwrap();
                for places in &results {
                    assert_eq!(places.to_vec::<i64>().unwrap(), vec![0; other], "{device}: {m} x {k} x {n} along {axis}");
                }
                assert_eq!(y.to_vec::<f32>().unwrap(), alone, "{device}: {m} x {k} x {n} along {axis}");
            }
        }
    }
}
