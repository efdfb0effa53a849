//! Sums down the columns of what rows are made of go with the rows: which launches are one, what they give on every device, and that memory stays right.

#[path = "../../unigrad-gpu/tests/support/crossed.rs"]
mod crossed;

use std::{cell::RefCell, rc::Rc};
use unigrad::nn::AdamW;
use unigrad_device::Driver;
use unigrad_interpreter::InterpreterDriver;
use unigrad_ir::{offline_targets, render};
use unigrad_kernel::Kernel;
use unigrad_plan::{
    Options, Plan,
    testing::{end_on_plan, on_plan, plan_as_asked},
};
use unigrad_scalar::DType;
use unigrad_tensor::{Device, Tensor, eval, grad};
use unigrad_testing::{Values, watch};

/// Elements from which on the planner looks, which is its own business.
const MANY: usize = 1 << 17;

/// The plans of some work, for a device that wants columns with rows and for one that does not. Memory is looked at too.
fn plans(work: impl FnOnce()) -> [Vec<Plan>; 2] {
    let found: Rc<RefCell<[Vec<Plan>; 2]>> = Rc::default();
    let seen = Rc::clone(&found);
    eval::clear_plans();
    on_plan(move |capture, options| {
        for (at, crossed) in [true, false].into_iter().enumerate() {
            let options = Options { crossed, ..options };
            watch::check(capture, options).unwrap_or_else(|error| panic!("the plan is wrong: {error}"));
            seen.borrow_mut()[at].push(plan_as_asked(capture, options).unwrap_or_else(|error| panic!("{error}")));
        }
    });
    work();
    end_on_plan();
    found.take()
}

fn is_crossed(kernel: &Kernel) -> Option<usize> {
    if let Kernel::Crossed(crossed) = kernel { Some(crossed.columns.len()) } else { None }
}

fn numbers(n: usize, seed: usize) -> Vec<f64> {
    (0..n).map(|i| ((i * 7919 + seed * 104_729) % 2003) as f64 / 1001.5 - 1.0).collect()
}

fn on(dtype: DType, shape: &[usize], seed: usize, device: &Device) -> Tensor {
    let values = Values::from_f64(dtype, shape, &numbers(shape.iter().product(), seed));
    Tensor::from_bytes(&values.to_bytes(), shape, dtype, device)
}

/// A layer like a transformer's: what is added to the stream, its norm, and what that is multiplied with. The gradients of all that is there.
fn gradients(dtype: DType, wide: DType, rows: usize, len: usize, rms: bool, device: &Device) -> Vec<Tensor> {
    let leaf = |dtype: DType, shape: &[usize], seed: usize| on(dtype, shape, seed, device).requires_grad();
    let (x, bias) = (leaf(wide, &[rows, len], 1), leaf(dtype, &[len], 2));
    let (w, b) = (leaf(wide, &[len], 3), leaf(wide, &[len], 4));
    let (y, v) = (on(dtype, &[rows, len], 5, device), on(wide, &[rows, len], 6, device));
    let part = (&y + &bias).cast(wide);
    let stream = &x + &part;
    let normed = if rms { stream.rms_norm(Some(&w), 1e-5) } else { stream.layer_norm(Some(&w), Some(&b), 1e-5) };
    let half = normed.cast(dtype);
    let out = half.cast(wide) * &v + stream;
    let of: &[&Tensor] = if rms { &[&x, &bias, &w] } else { &[&x, &bias, &w, &b] };
    grad(&out.sum(()), of).unwrap()
}

fn read(x: &Tensor) -> Vec<f64> {
    x.cast(DType::F32).to_vec::<f32>().unwrap().into_iter().map(f64::from).collect()
}

#[test]
fn a_norms_gradient_is_one_launch() {
    let device = unigrad_testing::devices()[0];
    for (rows, len, rms) in [(2049, 768, false), (40_000, 64, false), (3007, 1000, true)] {
        let [crossed, apart] = plans(|| {
            let all = gradients(DType::BF16, DType::F32, rows, len, rms, &device);
            Tensor::realize_all(&all.iter().collect::<Vec<_>>()).unwrap();
        });
        let launches = |plans: &[Plan]| plans.iter().map(|plan| plan.launches.len()).sum::<usize>();
        let found: Vec<usize> = crossed.iter().flat_map(|plan| &plan.launches).filter_map(|launch| is_crossed(&launch.kernel)).collect();
        let text = || crossed.iter().map(ToString::to_string).collect::<String>();
        assert!(!found.is_empty(), "{rows} x {len}: {}", text());
        assert_eq!(launches(&crossed) + found.iter().sum::<usize>(), launches(&apart), "{rows} x {len}: {}", text());
        assert!(apart.iter().flat_map(|plan| &plan.launches).all(|launch| is_crossed(&launch.kernel).is_none()));
        // All targets take it; where a row fits into registers it is read once, by one program, and the sums take one or two more.
        for target in offline_targets() {
            for launch in crossed.iter().flat_map(|plan| &plan.launches).filter(|launch| is_crossed(&launch.kernel).is_some()) {
                let lowered = unigrad_gpu::lower(&launch.kernel, &target).unwrap_or_else(|error| panic!("{}: {error}", target.arch));
                for step in &lowered.steps {
                    render(&step.program, &target).unwrap_or_else(|error| panic!("{}: {error}", target.arch));
                }
                assert!(!lowered.scratch.is_empty(), "{}: several walks for {rows} x {len}", target.arch);
            }
        }
    }
    // What stays in a cache is read again.
    let [few, _] = plans(|| {
        let all = gradients(DType::BF16, DType::F32, 40, 96, false, &device);
        Tensor::realize_all(&all.iter().collect::<Vec<_>>()).unwrap();
    });
    assert!(few.iter().flat_map(|plan| &plan.launches).all(|launch| is_crossed(&launch.kernel).is_none()));
}

#[test]
fn gradients_are_those_of_float64() {
    let reference = Device::open("cpu").unwrap();
    for device in unigrad_testing::devices() {
        for (dtype, wide, rows, len, rms) in [
            (DType::BF16, DType::F32, MANY / 96 + 1, 96, false),
            (DType::F16, DType::F32, MANY / 250 + 3, 250, true),
            (DType::F32, DType::F32, MANY / 768 + 2, 768, false),
            (DType::F32, DType::F32, MANY / 2048, 2048, false),
            (DType::F32, DType::F32, MANY / 3001 + 1, 3001, true),
        ] {
            let want = gradients(DType::F64, DType::F64, rows, len, rms, &reference);
            let got = gradients(dtype, wide, rows, len, rms, &device);
            Tensor::realize_all(&got.iter().collect::<Vec<_>>()).unwrap();
            // Of halves, the loss's weights and what is added differ by their rounding; sums of many such errors by its root.
            let part = if dtype == DType::F32 { 1e-5 } else { 2e-2 };
            for (at, (got, want)) in got.iter().zip(&want).enumerate() {
                let want = want.to_vec::<f64>().unwrap();
                let most = want.iter().fold(1.0f64, |most, x| most.max(x.abs()));
                for (i, (got, want)) in read(got).into_iter().zip(want).enumerate() {
                    assert!((got - want).abs() <= part * most, "{dtype}, {rows} x {len}, {at}, {i}: {got}, not {want}, on {device:?}");
                }
            }
        }
    }
}

/// A weight that the rows read is overwritten by its own update.
#[test]
fn updates_stay_in_place() {
    let (rows, len) = (MANY / 64, 64);
    let step = |device: &Device| {
        let w = on(DType::F32, &[len], 3, device).requires_grad();
        let b = on(DType::F32, &[len], 4, device).requires_grad();
        let bias = on(DType::F32, &[len], 2, device).requires_grad();
        let m = on(DType::F32, &[32, len], 9, device).requires_grad();
        let all = vec![w.clone(), b.clone(), bias.clone(), m.clone()];
        Tensor::realize_all(&all.iter().collect::<Vec<_>>()).unwrap();
        let mut adam = AdamW::new(all.clone(), 0.01).unwrap();
        for turn in 0..3 {
            let (x, v) = (on(DType::F32, &[rows, 32], 7 + turn, device), on(DType::F32, &[rows, len], 17 + turn, device));
            let stream = x.matmul(&m) + &bias;
            let loss = ((stream.layer_norm(Some(&w), Some(&b), 1e-5) * v).square() + stream).mean(());
            loss.backward().unwrap();
            adam.step().unwrap();
            adam.zero_grad();
        }
        all
    };
    // A GPU's plan reads the bias again for the loss, between the rows and its update: there the columns stay where they are.
    let cpu = Device::open("cpu").unwrap();
    let [crossed, apart] = plans(|| drop(step(&cpu)));
    let donated = |plans: &[Plan]| plans.iter().map(|plan| plan.donated.iter().flatten().count()).collect::<Vec<_>>();
    let text = crossed.iter().map(ToString::to_string).collect::<String>();
    assert!(crossed.iter().flat_map(|plan| &plan.launches).any(|launch| is_crossed(&launch.kernel).is_some()), "{text}");
    assert_eq!(donated(&crossed), donated(&apart));
    let want = step(&cpu);
    for device in unigrad_testing::devices() {
        for (at, (got, want)) in step(&device).iter().zip(&want).enumerate() {
            for (got, want) in read(got).into_iter().zip(read(want)) {
                assert!((got - want).abs() <= 2e-5, "parameter {at}: {got}, not {want}, on {device:?}");
            }
        }
    }
}

/// Each target of the interpreter finds races, barriers that not all threads reach, and places beyond memory.
#[test]
fn the_interpreter_finds_nothing_wrong() {
    let driver = InterpreterDriver::default();
    for (ordinal, (name, target)) in unigrad_interpreter::targets().into_iter().enumerate() {
        println!("{name}");
        crossed::rows_and_columns(&*driver.open(ordinal).unwrap(), target.f64);
    }
}
