//! Convolutions with their channels last in memory, against the same with channels first: values, gradients and whole steps of networks.
//!
//! In: sizes around multiples of the run that the planner fills channels up to, and settings of convolutions at their edges. Out: where the two differ.
//! Always: small whole numbers, whose sums every dtype here holds, so that the order of additions is nothing and results are equal bit for bit. Never:
//! checks what convolutions give, which the op table does with channels first.

use std::sync::Mutex;
use unigrad_device::{Channels, Config};
use unigrad_plan::testing::RUN;
use unigrad_tensor::{ConvOptions, DType, Device, PoolOptions, Tensor, eval, grad_with};
use unigrad_testing::{devices, fast_devices, watch};

/// The setting is the process's: one test at a time.
static ONE: Mutex<()> = Mutex::new(());

/// With channels first, then last.
fn both<T>(mut work: impl FnMut() -> T) -> [T; 2] {
    [Channels::First, Channels::Last].map(|channels| {
        let before = Config::current().unwrap();
        Config { channels: Some(channels), ..(*before).clone() }.apply();
        let result = work();
        (*before).clone().apply();
        result
    })
}

/// Whole numbers from -2 to 2.
fn whole(shape: &[usize], dtype: DType, device: &Device) -> Tensor {
    let n: usize = shape.iter().product();
    let values: Vec<f32> = (0..n).map(|i| ((i * 37 + i / 7 + n) % 5) as f32 - 2.0).collect();
    Tensor::from_slice(&values, shape, device).cast(dtype).realize().unwrap().detach()
}

fn read(tensors: &[Tensor]) -> Vec<(Vec<usize>, Vec<f64>)> {
    Tensor::realize_all(&tensors.iter().collect::<Vec<_>>()).unwrap();
    let numbers = |tensor: &Tensor| tensor.cast(DType::F32).to_vec::<f32>().unwrap().into_iter().map(f64::from).collect();
    tensors.iter().map(|tensor| (tensor.shape().to_vec(), numbers(tensor))).collect()
}

/// A convolution: batch, groups, channels of a group on both sides, and for each spatial axis size, kernel, stride, dilation and padding.
#[derive(Clone, Debug)]
struct Case {
    batch: usize,
    groups: usize,
    inputs: usize,
    outputs: usize,
    axes: Vec<[usize; 6]>,
}

impl Case {
    fn of(batch: usize, groups: usize, inputs: usize, outputs: usize, axes: &[[usize; 6]]) -> Case {
        Case { batch, groups, inputs, outputs, axes: axes.to_vec() }
    }

    /// A value and its gradients, with what reads the value turned and what does not.
    fn run(&self, dtype: DType, device: &Device) -> Vec<(Vec<usize>, Vec<f64>)> {
        let column = |i: usize| self.axes.iter().map(|axis| axis[i]).collect::<Vec<_>>();
        let options = ConvOptions {
            stride: column(2),
            dilation: column(3),
            padding: self.axes.iter().map(|axis| (axis[4], axis[5])).collect(),
            groups: self.groups,
            ..ConvOptions::default()
        };
        let shape = |lead: [usize; 2], of: usize| lead.into_iter().chain(column(of)).collect::<Vec<_>>();
        let channels = self.groups * self.outputs;
        let x = whole(&shape([self.batch, self.groups * self.inputs], 0), dtype, device).requires_grad();
        let w = whole(&shape([channels, self.inputs], 1), dtype, device).requires_grad();
        let bias = whole(&[channels], dtype, device).requires_grad();
        let y = x.conv(&w, Some(&bias), self.axes.len(), &options);
        let dy = whole(&y.shape(), dtype, device);
        let grads = grad_with(&y, &dy, &[&x, &w, &bias]).unwrap();
        // As it is, element by element, and by a reduction over the channels.
        let relu = y.relu();
        read(&[vec![y, relu.clone(), relu.max(1)], grads].concat())
    }
}

/// Size, kernel, stride, dilation, padding before and behind, at their edges.
const AXES: [[usize; 6]; 12] = [
    [5, 3, 1, 1, 1, 1],
    [6, 1, 1, 1, 0, 0],
    [6, 1, 2, 1, 0, 0],
    [5, 1, 3, 1, 1, 2],
    [7, 3, 2, 1, 1, 1],
    [9, 2, 3, 1, 0, 0],
    [8, 3, 1, 2, 2, 2],
    [9, 3, 2, 2, 0, 1],
    [4, 2, 1, 1, 3, 2],
    [3, 3, 5, 1, 4, 4],
    [1, 1, 1, 1, 0, 0],
    [2, 3, 1, 1, 1, 0],
];

fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    // Channels around a run, on both sides.
    let around = [1, RUN - 1, RUN, RUN + 1, 2 * RUN];
    for (i, inputs) in around.into_iter().enumerate() {
        for (j, outputs) in around.into_iter().enumerate() {
            let axis = AXES[(5 * i + j) % AXES.len()];
            cases.push(Case::of(2, 1, inputs, outputs, &[axis, AXES[(i + 2 * j) % AXES.len()]]));
        }
    }
    // Each edge by itself, in one to three dimensions, with one image, with groups, and with one channel in each group.
    for (i, axis) in AXES.into_iter().enumerate() {
        let other = AXES[(i + 5) % AXES.len()];
        cases.push(Case::of(1, 1, RUN, RUN, &[axis]));
        cases.push(Case::of(2, 3, 2, 4, &[axis, other]));
        cases.push(Case::of(2, RUN + 1, 1, 1, &[axis, other]));
        cases.push(Case::of(2, 2, 1, 2, &[other, axis]));
        cases.push(Case::of(1, 1, 3, RUN, &[axis, AXES[1], other]));
    }
    // Nothing at all: no images, no channels.
    cases.push(Case::of(0, 1, RUN, RUN, &[AXES[0], AXES[1]]));
    cases.push(Case::of(2, 1, 0, RUN, &[AXES[0], AXES[1]]));
    cases
}

#[test]
fn convolutions_give_the_same_either_way() {
    let _one = ONE.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    watch::plans();
    let fast = fast_devices();
    for device in unigrad_testing::selection::without_slowest(devices()) {
        // A sample where each kernel takes long to make.
        let step = if fast.contains(&device) { 1 } else { 9 };
        for (i, case) in cases().into_iter().enumerate().step_by(step) {
            let dtype = [DType::F32, DType::BF16, DType::F16][i / step % 3];
            let [first, last] = both(|| case.run(dtype, &device));
            assert_eq!(first, last, "{case:?} of {dtype} on {device:?}");
        }
    }
    assert_eq!(eval::stats().plans_unfused, 0);
}

/// What stands between two convolutions: maps, norms, pools, views, residuals, inputs as large, what has no rule.
type Between = fn(&Tensor, &Tensor) -> Tensor;

const BETWEEN: &[(&str, Between)] = &[
    ("a batch norm", |h, _| h.batch_norm_train(None, None, 1e-5).0.relu()),
    ("a group norm", |h, _| h.group_norm(4, None, None, 1e-5).relu()),
    ("a max pool", |h, _| h.max_pool2d(&PoolOptions::new(3).stride(2).padding(1)).relu()),
    ("an average pool", |h, _| h.avg_pool2d(&PoolOptions::new(2))),
    ("an input as large", |h, x| (h + x).relu() + x),
    ("a residual", |h, x| h.max_pool2d(&PoolOptions::new(3).stride(1).padding(1)) + h.tanh() * x.mean(())),
    ("a concatenation", |h, x| Tensor::concat(&[&h.narrow(1, 0, 5), &h.relu().narrow(1, 2, 3)], 1) + x.sum([2, 3]).reshape([2, RUN, 1, 1])),
    ("a user's permute and back", |h, _| h.permute([0, 2, 3, 1]).softmax(-1).permute([0, 3, 1, 2])),
    ("height and width joined", |h, _| h.reshape([2, RUN, 36]).softmax(-1).reshape([2, RUN, 6, 6]) * 8.0),
    ("channels joined with height", |h, _| h.reshape([2, RUN * 6, 6]).cumsum(1).reshape([2, RUN, 6, 6]) * 0.1),
    ("channels parted and shuffled", |h, _| h.reshape([2, 2, RUN / 2, 6, 6]).transpose(1, 2).reshape([2, RUN, 6, 6])),
    ("a flip and a padding", |h, _| h.flip(2).narrow(3, 1, 4).pad(&[(0, 0), (0, 0), (0, 0), (1, 1)])),
    ("a cast", |h, _| h.cast(DType::F64).sin().cast(DType::F32)),
    ("a condition", |h, x| Tensor::where_(&h.gt(0.0), h, x.mean(1).unsqueeze(1).expand([2, RUN, 6, 6]))),
    ("a mean over all places", |h, _| h * h.mean([2, 3]).reshape([2, RUN, 1, 1]).sigmoid()),
];

#[test]
fn what_stands_between_convolutions_gives_the_same_either_way() {
    let _one = ONE.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    watch::plans();
    for device in fast_devices() {
        for (name, between) in BETWEEN {
            let run = || {
                let leaf = |shape: &[usize], by: f64| (whole(shape, DType::F32, &device) * by).realize().unwrap().detach().requires_grad();
                let (x, [v, w]) = (leaf(&[2, RUN, 6, 6], 0.5), [0.125, 0.25].map(|by| leaf(&[RUN, RUN, 3, 3], by)));
                let h = between(&x.conv2d(&v, None, &ConvOptions::new(1, 1)), &x);
                let y = h.conv2d(&w, None, &ConvOptions::new(1, 1));
                let loss = y.tanh().square().mean(());
                let grads = unigrad_tensor::grad(&loss, &[&x, &v, &w]).unwrap();
                // With the value between held as well.
                read(&[vec![loss, h], grads].concat())
            };
            let [first, last] = both(run);
            for ((shape, first), (same, last)) in first.iter().zip(&last) {
                assert_eq!(shape, same, "{name}");
                let largest = first.iter().fold(1e-6_f64, |most, x| most.max(x.abs()));
                let off = first.iter().zip(last).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
                assert!(off <= 3e-5 * largest, "{name} on {device:?}: {shape:?} is off by {off} of {largest}");
            }
        }
    }
    assert_eq!(eval::stats().plans_unfused, 0);
}
