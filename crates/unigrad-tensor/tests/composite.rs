//! Composites: the same values, gradients and plans as the ops one by one, as one node and its parts.

use std::sync::{Mutex, MutexGuard, PoisonError};
use unigrad_tensor::*;

/// One test at a time: they count plans.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn device() -> Device {
    unigrad_device::register(unigrad_cpu::CpuDriver);
    Device::open("cpu").unwrap()
}

fn tensor(from: usize, shape: [usize; 2]) -> Tensor {
    let values: Vec<f32> = (0..shape[0] * shape[1]).map(|i| ((i * 7 + from) % 11) as f32 / 8.0 + 0.25).collect();
    Tensor::from_slice(&values, shape, &device())
}

/// Ops of many families, a result that is used inside, one that is an argument, and a composite of the graph's.
fn function(x: &[Tensor]) -> Vec<Tensor> {
    let inner = &x[1] * &x[2].expand(x[1].shape()) + x[0].t().reshape([3, 4]);
    let soft = inner.softmax(-1);
    vec![soft.matmul(&x[0].narrow(0, 0, 4).reshape([4, 3])) + inner.sum(()), inner, x[1].clone(), x[1].cast(DType::F16)]
}

fn arguments() -> [Tensor; 3] {
    let device = device();
    [tensor(1, [4, 3]), tensor(5, [3, 4]), Tensor::scalar(0.5, DType::F32, &device)]
}

#[test]
fn values_and_plans_are_those_of_the_ops() {
    let _alone = alone();
    let x = arguments();
    let refs: Vec<&Tensor> = x.iter().collect();
    let composite = Composite::record("function", &refs, function).unwrap();
    for _ in 0..2 {
        let (plain, called) = (function(&x), composite.call(Arguments::of(&refs)).unwrap());
        let exprs = |all: &[Tensor]| all.iter().filter(|result| !result.is_realized()).map(Tensor::expr).collect::<Vec<_>>();
        let launches = |all: &[Tensor]| -> Vec<String> {
            eval::plan_of(&exprs(all)).unwrap().launches.iter().map(|l| format!("{:?}", l.kernel)).collect()
        };
        assert_eq!(launches(&plain).len(), launches(&called).len());
        for (a, b) in plain.iter().zip(&called) {
            assert_eq!((a.shape(), a.dtype()), (b.shape(), b.dtype()));
            assert_eq!(a.to_f64_vec().unwrap(), b.to_f64_vec().unwrap());
        }
    }
}

#[test]
fn a_part_alone_and_with_fusion_off() {
    let _alone = alone();
    let x = arguments();
    let refs: Vec<&Tensor> = x.iter().collect();
    let composite = Composite::record("function", &refs, function).unwrap();
    let want: Vec<Vec<f64>> = function(&x).iter().map(|y| y.to_f64_vec().unwrap()).collect();
    for fusion in [true, false] {
        let before = eval::set_fusion(fusion);
        for (i, want) in want.iter().enumerate() {
            let part = composite.call(Arguments::of(&refs)).unwrap().swap_remove(i);
            assert_eq!(part.to_f64_vec().unwrap(), *want, "part {i}");
        }
        eval::set_fusion(before);
    }
}

#[test]
fn another_recording_of_the_same_has_the_same_plan() {
    let _alone = alone();
    let x = arguments();
    let refs: Vec<&Tensor> = x.iter().collect();
    let run = || Composite::record("function", &refs, function).unwrap().call(Arguments::of(&refs)).unwrap()[0].to_vec::<f32>().unwrap();
    let first = run();
    let before = eval::stats();
    assert_eq!(run(), first);
    let after = eval::stats();
    assert_eq!((after.plans_built, after.plan_hits), (before.plans_built, before.plan_hits + 1));
    let other = |x: &[Tensor]| function(x).iter().map(|y| y + y).collect::<Vec<_>>();
    let doubled = Composite::record("function", &refs, other).unwrap().call(Arguments::of(&refs)).unwrap()[0].to_vec::<f32>().unwrap();
    assert_eq!(doubled, first.iter().map(|y| y + y).collect::<Vec<_>>());
    assert_eq!(eval::stats().plans_built, before.plans_built + 1);
}

#[test]
fn gradients_go_through_the_ops() {
    let _alone = alone();
    let x = arguments();
    let refs: Vec<&Tensor> = x.iter().collect();
    let composite = Composite::record("function", &refs, function).unwrap();
    let (plain, called) = (function(&x), composite.call(Arguments::of(&refs)).unwrap());
    for i in 0..3 {
        let loss = |results: &[Tensor]| results[i].square().sum(());
        let [a, b] = [loss(&plain), loss(&called)].map(|loss| grad_allow_unused(&loss, None, &refs).unwrap());
        for (a, b) in a.iter().zip(&b) {
            let values = |g: &Option<Tensor>| g.as_ref().map_or(vec![0.0], |g| g.to_f64_vec().unwrap());
            let (a, b) = (values(a), values(b));
            // What no result depends on is zero here, and nothing there.
            assert!(a == b || a.iter().chain(&b).all(|g| *g == 0.0), "{a:?} {b:?}");
        }
    }
}

#[test]
fn what_is_more_than_a_function_of_its_arguments_is_no_composite() {
    let x = arguments();
    let refs: Vec<&Tensor> = x.iter().collect();
    let refused = |f: &dyn Fn(&[Tensor]) -> Vec<Tensor>| Composite::record("f", &refs, f).unwrap().call(Arguments::of(&refs)).is_none();
    let (data, variable) = (tensor(3, [3, 4]), tensor(3, [3, 4]).requires_grad());
    assert!(refused(&|x| vec![&x[1] + &data]));
    assert!(refused(&|x| vec![&x[1] * &variable]));
    assert!(refused(&|x| vec![&x[1] * 0.5]), "a number that may be another one in the next step");
    assert!(refused(&|x| vec![x[1].clamp(0.0, 1.0)]), "a gradient of its own");
    assert!(refused(&|x| vec![x[1].clone()]));
    assert!(refused(&|_| vec![]));
    assert!(!refused(&|x| vec![&x[1] * &x[1]]));
    let composite = Composite::record("f", &refs, |x| vec![&x[1] * &x[1]]).unwrap();
    assert!(composite.fits(&Arguments::of(&refs)) && !composite.fits(&Arguments::of(&[&x[1], &x[0], &x[2]])));
    assert!(composite.call(Arguments::of(&[&x[1], &x[0], &x[2]])).is_none());
    assert!(composite.call(Arguments::of(&[])).is_none());
    let error = Composite::record("f", &refs, |x| vec![x[0].matmul(&x[0])]).unwrap_err();
    assert!(error.to_string().contains("inner sizes"), "{error}");
}
