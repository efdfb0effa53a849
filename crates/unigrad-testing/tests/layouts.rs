//! Where results lie: parts of a concatenation where a copy would have them, attention's result by positions for the next product.
//!
//! Always: each case is compared with one in which the rule does not hold, so that a rule that is never used would be noticed; results are the float64
//! oracle's on every device.

use unigrad::prelude::*;
use unigrad_kernel::{Kernel, Limits};
use unigrad_plan::{Capture, Options, Plan, plan};
use unigrad_tensor::grad;
use unigrad_testing::{Values, compare, oracle, run::values_of};

fn numbers(shape: &[usize], seed: usize, device: &Device) -> Tensor {
    let n: usize = shape.iter().product();
    let values: Vec<f32> = (0..n).map(|i| ((i * 7919 + seed * 104_729 + i * i % 31) % 257) as f32 / 128.0 - 1.0).collect();
    Tensor::from_vec(values, shape, device).realize().unwrap().detach()
}

fn planned(tensors: &[Tensor]) -> Plan {
    let exprs: Vec<_> = tensors.iter().map(Tensor::expr).collect();
    plan(&Capture::new(&exprs).unwrap(), Options { limits: Limits::NONE, ..Options::default() }).unwrap()
}

fn copies(plan: &Plan) -> usize {
    plan.launches.iter().filter(|launch| launch.name == "concat").count()
}

/// Elements of a step's state, whose bytes memory may begin at, and some that it may not.
const WIDTHS: [(usize, bool); 2] = [(16, true), (15, false)];
/// More parts than a concatenation computes by selection.
const STEPS: usize = 6;

/// A state at each step, all of which the next layer reads, and the last one for itself.
fn sequence(width: usize, device: &Device) -> Vec<Tensor> {
    let w = numbers(&[width, width], 1, device);
    let mut state = numbers(&[4, width], 2, device);
    let mut states = Vec::new();
    for _ in 0..STEPS {
        state = (state.matmul(&w) * 0.1).tanh();
        states.push(state.clone());
    }
    let all = Tensor::stack(&states.iter().collect::<Vec<_>>(), 0);
    vec![all.matmul(&numbers(&[width, 3], 3, device)), state * 2.0]
}

/// Gradients of a recurrent layer.
fn recurrent(hidden: usize, device: &Device) -> Vec<Tensor> {
    let gates = 4 * hidden;
    let shapes: [&[usize]; 4] = [&[gates, 5], &[gates, hidden], &[gates], &[gates]];
    let parameters: Vec<Tensor> = shapes
        .iter()
        .zip(10..)
        .map(|(shape, seed)| (numbers(shape, seed, device) * 0.2).realize().unwrap().detach().requires_grad())
        .collect();
    let layer = unigrad::nn::Lstm::of(parameters.clone(), unigrad::nn::RecurrentOptions::default()).unwrap();
    let (y, _) = layer.run(&numbers(&[4, STEPS, 5], 4, device), None);
    grad(&(y * numbers(&[4, STEPS, hidden], 5, device)).sum(()), &parameters.iter().collect::<Vec<_>>()).unwrap()
}

/// Attention, whose heads the next product has as one row, with gradients; `is_wanted`: its result is one too.
fn attention(is_wanted: bool, device: &Device) -> Vec<Tensor> {
    let (batch, heads, time, features) = (2, 3, 7, 8);
    let [q, k, v] = [1, 2, 3].map(|seed| numbers(&[batch, heads, time, features], seed, device).requires_grad());
    let w = numbers(&[heads * features, 5], 4, device).requires_grad();
    let y = q.attention(&k, &v, &AttentionOptions { causal: true, ..AttentionOptions::default() });
    let z = y.transpose(1, 2).reshape([batch * time, heads * features]).matmul(&w);
    let mut all = grad(&(&z * &z).sum(()), &[&q, &k, &v, &w]).unwrap();
    all.extend(is_wanted.then_some(y));
    all.push(z);
    all
}

#[test]
fn a_sequence_has_its_steps_memory() {
    let device = Device::open("cpu").unwrap();
    for (width, is_aligned) in WIDTHS {
        let plan = planned(&sequence(width, &device));
        assert_eq!(copies(&plan) == 0, is_aligned, "{width}: {plan}");
    }
}

#[test]
fn gates_are_written_side_by_side() {
    let device = Device::open("cpu").unwrap();
    // Rows of 8 elements are whole vectors, of 7 they are not.
    let [whole, cut] = [8, 7].map(|hidden| planned(&recurrent(hidden, &device)));
    assert!(copies(&whole) + STEPS <= copies(&cut), "{whole}\n{cut}");
    assert!(whole.arena <= cut.arena.next_multiple_of(1 << 12), "{} bytes, {}", whole.arena, cut.arena);
}

/// All steps but the outermost ones are launches of the same kernels: what they read of a sequence is told by where their arguments begin.
#[test]
fn kernels_of_steps_are_few() {
    let device = Device::open("cpu").unwrap();
    let plan = planned(&recurrent(16, &device));
    let kernels: std::collections::HashSet<&Kernel> = plan.launches.iter().map(|launch| &launch.kernel).collect();
    // Forward and backward, without the outermost steps.
    let repeated = 2 * (STEPS - 2);
    assert!(kernels.len() + repeated <= plan.launches.len(), "{} kernels\n{plan}", kernels.len());
}

#[test]
fn attention_lies_by_positions_for_a_product() {
    let device = Device::open("cpu").unwrap();
    for is_wanted in [false, true] {
        let plan = planned(&attention(is_wanted, &device));
        let strides = |kernel: &Kernel| match kernel {
            Kernel::Attention(kernel) => Some(kernel.out.strides),
            Kernel::AttentionGrad(kernel) => Some(kernel.forward.out.strides),
            _ => None,
        };
        let all: Vec<[i64; 4]> = plan.launches.iter().filter_map(|launch| strides(&launch.kernel)).collect();
        let expected = if is_wanted { [168, 56, 8, 1] } else { [168, 8, 24, 1] };
        assert_eq!(all, [expected; 2], "{plan}");
    }
}

#[test]
fn they_are_the_oracles_on_every_device() {
    let mut wrong = Vec::new();
    for device in unigrad_testing::devices() {
        let mut cases: Vec<Vec<Tensor>> = WIDTHS.iter().map(|(width, _)| sequence(*width, &device)).collect();
        cases.extend([8, 7].map(|hidden| recurrent(hidden, &device)));
        cases.extend([false, true].map(|is_wanted| attention(is_wanted, &device)));
        for (case, tensors) in cases.iter().enumerate() {
            let want = oracle::evaluate(&tensors.iter().map(Tensor::expr).collect::<Vec<_>>()).unwrap();
            Tensor::realize_all(&tensors.iter().collect::<Vec<_>>()).unwrap();
            for (at, (got, want)) in tensors.iter().zip(&want).enumerate() {
                let got: Values = values_of(got).unwrap();
                let tolerance = compare::Tolerance::new(DType::F32, 256).times(8.0);
                wrong.extend(compare::close(&got, want, tolerance).map_err(|error| format!("{device}, case {case}, {at}: {error}")).err());
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
