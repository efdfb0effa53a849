//! Sums of a product's operand go with the product: which launches are one, that all targets take them, and what they give on every device.

use std::{cell::RefCell, rc::Rc};
use unigrad_ir::{offline_targets, render};
use unigrad_kernel::Kernel;
use unigrad_plan::{
    Options, Plan,
    testing::{end_on_plan, on_plan, plan_as_asked},
};
use unigrad_scalar::DType;
use unigrad_tensor::{Device, Tensor, eval, grad};
use unigrad_testing::{Values, watch};

/// The plans of some work, for a device that wants sums with products and for one that does not. Memory is looked at too.
fn plans(work: impl FnOnce()) -> [Vec<Plan>; 2] {
    let found: Rc<RefCell<[Vec<Plan>; 2]>> = Rc::default();
    let seen = Rc::clone(&found);
    eval::clear_plans();
    on_plan(move |capture, options| {
        for (at, summed) in [true, false].into_iter().enumerate() {
            let options = Options { summed, ..options };
            watch::check(capture, options).unwrap_or_else(|error| panic!("the plan is wrong: {error}"));
            seen.borrow_mut()[at].push(plan_as_asked(capture, options).unwrap_or_else(|error| panic!("{error}")));
        }
    });
    work();
    end_on_plan();
    found.take()
}

fn on(dtype: DType, shape: &[usize], seed: usize, device: &Device) -> Tensor {
    let n: usize = shape.iter().product();
    // Small whole numbers: every sum is exact.
    let numbers: Vec<f64> = (0..n).map(|i| ((i * 7 + i / 5 + i / 131 + 3 * seed) % 5) as f64 - 2.0).collect();
    Tensor::from_bytes(&Values::from_f64(dtype, shape, &numbers).to_bytes(), shape, dtype, device)
}

/// The gradients of a layer's weight and bias, which are `f32` and of which it has halves, as mixed precision does.
fn gradients(dtype: DType, [rows, inputs, outputs]: [usize; 3], [turned, gated]: [bool; 2], device: &Device) -> Vec<Tensor> {
    let shape = if turned { [inputs, outputs] } else { [outputs, inputs] };
    let (w, b) = (on(DType::F32, &shape, 1, device).requires_grad(), on(DType::F32, &[outputs], 2, device).requires_grad());
    let (x, slope) = (on(dtype, &[rows, inputs], 3, device), on(dtype, &[rows, outputs], 4, device));
    // What is read by two products and a sum lies in memory.
    Tensor::realize_all(&[&x, &slope]).unwrap();
    let half = w.cast(dtype);
    let product = if turned { x.matmul(&half) } else { x.matmul(&half.t()) };
    let y = product + b.cast(dtype);
    let gradients = grad(&(y * slope).cast(DType::F32).sum(()), &[&w, &b]).unwrap();
    if gated {
        // Both are finished by one number in memory.
        let gate = on(DType::F32, &[1], 5, device);
        gate.realize().unwrap();
        return gradients.iter().map(|x| x * &gate).collect();
    }
    gradients
}

fn n_summed(plans: &[Plan]) -> usize {
    plans.iter().flat_map(|plan| &plan.launches).filter(|launch| matches!(launch.kernel, Kernel::Summed(_))).count()
}

fn n_launches(plans: &[Plan]) -> usize {
    plans.iter().map(|plan| plan.launches.len()).sum()
}

/// Rows, and features of the layer's two sides, around tiles of 128 and 256 and stages of 64.
const SIZES: [[usize; 3]; 4] = [[8200, 128, 136], [4096, 264, 256], [2056, 768, 776], [2048, 136, 1032]];

#[test]
fn a_bias_gradient_goes_with_the_weights() {
    let device = Device::open("cpu").unwrap();
    for (i, sizes) in SIZES.into_iter().enumerate() {
        let (dtype, how) = ([DType::BF16, DType::F16][i % 2], [i / 2 == 1, i % 3 == 1]);
        let [summed, apart] = plans(|| {
            Tensor::realize_all(&gradients(dtype, sizes, how, &device).iter().collect::<Vec<_>>()).unwrap();
        });
        let text = || summed.iter().map(ToString::to_string).collect::<String>();
        assert_eq!((n_summed(&summed), n_summed(&apart)), (1, 0), "{sizes:?}: {}", text());
        assert_eq!(n_launches(&summed) + 1, n_launches(&apart), "{sizes:?}: {}", text());
        for target in offline_targets() {
            for launch in summed.iter().flat_map(|plan| &plan.launches).filter(|launch| matches!(launch.kernel, Kernel::Summed(_))) {
                let lowered = unigrad_gpu::lower(&launch.kernel, &target).unwrap_or_else(|error| panic!("{}: {error}", target.arch));
                for step in &lowered.steps {
                    render(&step.program, &target).unwrap_or_else(|error| panic!("{}: {error}", target.arch));
                }
            }
        }
    }
    // What a driver has other ways for stays apart: few sums, `f32`, lanes that are no whole runs of eight.
    for (dtype, sizes) in [(DType::BF16, [40, 768, 768]), (DType::F32, [4096, 264, 256]), (DType::BF16, [8200, 128, 250])] {
        let [summed, _] = plans(|| {
            Tensor::realize_all(&gradients(dtype, sizes, [false; 2], &device).iter().collect::<Vec<_>>()).unwrap();
        });
        assert_eq!(n_summed(&summed), 0, "{dtype} {sizes:?}");
    }
}

#[test]
fn gradients_are_exact() {
    let reference = Device::open("cpu").unwrap();
    for device in unigrad_testing::fast_devices() {
        for (i, sizes) in SIZES.into_iter().enumerate() {
            for (dtype, how) in [(DType::BF16, [i % 2 == 0, i / 2 == 0]), (DType::F16, [i % 2 == 1, i / 2 == 1])] {
                let [got, want] = [&device, &reference].map(|device| gradients(dtype, sizes, how, device));
                for (at, (got, want)) in got.iter().zip(&want).enumerate() {
                    let [got, want] = [got, want].map(|x| x.to_vec::<f32>().unwrap());
                    let differs = got.iter().zip(&want).position(|(got, want)| got.to_bits() != want.to_bits());
                    if let Some(i) = differs {
                        panic!("{dtype}, {sizes:?}, {how:?}, gradient {at}, {i}: {}, not {}, on {device:?}", got[i], want[i]);
                    }
                }
            }
        }
    }
}
