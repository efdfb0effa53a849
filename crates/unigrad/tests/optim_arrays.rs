//! Optimizers without autograd: slices, views, tensors; blocking and `async`; out of memory, lost devices.

use unigrad::{
    device::testing::{Failure, Faults, FaultyDriver, Operation, block_on},
    nn::{AdamW, ArrayOptimizer, Sgd, View, ViewMut},
    prelude::*,
};

fn gradients(weights: &[Vec<f32>]) -> Vec<Vec<f32>> {
    weights.iter().map(|w| w.iter().map(|w| 2.0 * w).collect()).collect()
}

fn start() -> Vec<Vec<f32>> {
    vec![vec![1.0, -2.0, 0.5], vec![3.0], vec![0.25; 40]]
}

fn adamw(device: &Device) -> ArrayOptimizer<unigrad::nn::AdamRule> {
    ArrayOptimizer::new(device, |parameters| Ok(AdamW::new(parameters, 0.1)?.clip_norm(5.0)))
}

/// Steps of plain Adam over tensors of their own.
fn reference(steps: usize) -> Vec<Vec<f32>> {
    let device = Device::open("cpu").unwrap();
    let weights: Vec<Tensor> = start().iter().map(|w| Tensor::from_slice(w, w.len(), &device).requires_grad()).collect();
    let mut optimizer = AdamW::new(weights.clone(), 0.1).unwrap().clip_norm(5.0);
    for _ in 0..steps {
        let loss = weights.iter().map(|w| w.square().sum(())).reduce(|a, b| a + b).unwrap();
        optimizer.minimize(&loss, &[]).unwrap();
    }
    weights.iter().map(|w| w.to_vec().unwrap()).collect()
}

fn close(got: &[Vec<f32>], want: &[Vec<f32>]) {
    let pairs = got.iter().flatten().zip(want.iter().flatten());
    assert!(pairs.clone().count() == 44 && pairs.clone().all(|(a, b)| (a - b).abs() < 1e-5), "{got:?} and not {want:?}");
}

#[test]
fn slices_views_and_tensors_are_updated_alike() {
    let want = reference(6);
    let mut seen = Vec::new();
    for device in unigrad_testing::fast_devices().into_iter().chain(["opencl", "wgpu"].iter().filter_map(|name| Device::open(name).ok())) {
        if seen.contains(&device.name()) {
            continue;
        }
        seen.push(device.name());
        let mut weights = start();
        let mut optimizer = adamw(&device);
        for _ in 0..6 {
            let gradients = gradients(&weights);
            optimizer.step(&mut weights, &gradients).unwrap();
        }
        close(&weights, &want);
        assert_eq!(optimizer.n_steps(), 6);
        // Views with shapes, of borrowed memory.
        let mut views = start();
        let mut optimizer = adamw(&device);
        for _ in 0..6 {
            let gradients = gradients(&views);
            let shapes: [&[usize]; 3] = [&[3, 1], &[], &[4, 10]];
            let mut these: Vec<ViewMut<'_, f32>> = views.iter_mut().zip(shapes).map(|(data, shape)| ViewMut { data, shape }).collect();
            let gradients: Vec<View<'_, f32>> = gradients.iter().zip(shapes).map(|(data, shape)| View { data, shape }).collect();
            optimizer.step(&mut these, &gradients).unwrap();
        }
        close(&views, &want);
        // Tensors on another device than the steps are computed on.
        let cpu = Device::open("cpu").unwrap();
        let mut tensors: Vec<Tensor> = start().iter().map(|w| Tensor::from_slice(w, w.len(), &cpu)).collect();
        let mut optimizer = adamw(&device);
        for _ in 0..6 {
            let gradients: Vec<Tensor> = tensors.iter().map(|w| w * 2.0).collect();
            block_on(optimizer.step_async(&mut tensors, &gradients)).unwrap();
        }
        assert!(tensors.iter().all(|tensor| tensor.device().unwrap() == cpu));
        close(&tensors.iter().map(|tensor| tensor.to_vec().unwrap()).collect::<Vec<_>>(), &want);
    }
    println!("compared on {seen:?}");
}

#[test]
fn async_steps_are_the_same_and_go_on_when_dropped() {
    let device = Device::open("cpu").unwrap();
    let mut weights = start();
    let mut optimizer = adamw(&device);
    for _ in 0..6 {
        let gradients = gradients(&weights);
        block_on(optimizer.step_async(&mut weights, &gradients)).unwrap();
    }
    close(&weights, &reference(6));
    // Never polled: nothing has begun.
    let (before, these) = (weights.clone(), gradients(&weights));
    drop(optimizer.step_async(&mut weights, &these));
    assert_eq!((&weights, optimizer.n_steps()), (&before, 6));
    // Polled once and dropped: the step counts, the weights are the caller's.
    {
        let mut future = std::pin::pin!(optimizer.step_async(&mut weights, &these));
        let waker = std::task::Waker::noop();
        let _ = future.as_mut().poll(&mut std::task::Context::from_waker(waker));
    }
    let before = weights.clone();
    let gradients = gradients(&weights);
    optimizer.step(&mut weights, &gradients).unwrap();
    assert!(optimizer.n_steps() >= 7 && weights != before);
    // The optimizer of a model goes through a thread as well.
    let w = Tensor::new([1.0f32], &device).requires_grad();
    w.square().sum(()).backward().unwrap();
    let (optimizer, result) = block_on(Sgd::new(vec![w.clone()], 0.25).unwrap().step_async());
    result.unwrap();
    assert_eq!((w.to_vec::<f32>().unwrap(), optimizer.n_steps()), (vec![0.5], 1));
}

#[test]
fn errors_are_typed_and_change_nothing() {
    let faults = Faults::default();
    unigrad::device::register(FaultyDriver::new("arrays-faulty", unigrad_cpu::CpuDriver, faults.clone()));
    let device = Device::open("arrays-faulty").unwrap();
    let mut weights = start();
    let mut optimizer = adamw(&device).backup_every(1);
    let step = |optimizer: &mut ArrayOptimizer<_>, weights: &mut Vec<Vec<f32>>| {
        let gradients = gradients(weights);
        optimizer.step(weights, &gradients)
    };
    for _ in 0..3 {
        step(&mut optimizer, &mut weights).unwrap();
    }
    // Out of memory: told as that, and the next step works after the cache is given back.
    let before = (weights.clone(), optimizer.state_dict().unwrap(), optimizer.n_steps());
    faults.fail(Operation::Launch, 0, Failure::NoMemory);
    let error = step(&mut optimizer, &mut weights).unwrap_err();
    assert!(error.is_out_of_memory(), "{error}");
    faults.clear();
    assert_eq!((weights.clone(), optimizer.state_dict().unwrap(), optimizer.n_steps()), before);
    optimizer.clear_cache();
    step(&mut optimizer, &mut weights).unwrap();
    // The device is lost: told as that, and the optimizer goes on elsewhere.
    let before = weights.clone();
    faults.fail(Operation::Launch, 0, Failure::Lost);
    let error = step(&mut optimizer, &mut weights).unwrap_err();
    assert!(error.is_device_lost(), "{error}");
    assert_eq!(weights, before);
    let error = step(&mut optimizer, &mut weights).unwrap_err();
    assert!(error.is_device_lost(), "{error}: {error:?}");
    optimizer.move_to(&Device::open("cpu").unwrap()).unwrap();
    for _ in 4..6 {
        step(&mut optimizer, &mut weights).unwrap();
    }
    assert_eq!(optimizer.n_steps(), 6);
    close(&weights, &reference(6));
    // What does not fit is refused.
    for (weights, gradients) in [(vec![vec![1.0f32]], vec![]), (vec![vec![1.0f32]], vec![vec![1.0f32, 2.0]])] {
        let mut weights = weights;
        assert_eq!(adamw(&device).step(&mut weights, &gradients).unwrap_err().kind(), unigrad::ErrorKind::Argument);
    }
    let integers = adamw(&Device::open("cpu").unwrap()).step(&mut [vec![1i64]], &[vec![1i64]]).unwrap_err().to_string();
    assert!(integers.contains("float"), "{integers}");
    let other = optimizer.step(&mut [vec![1.0f32]], &[vec![1.0f32]]).unwrap_err().to_string();
    assert!(other.contains("first step"), "{other}");
}

#[test]
fn a_move_takes_the_state_along_and_half_types_work() {
    unigrad::device::register(unigrad_interpreter::InterpreterDriver::default());
    let mut weights = start();
    let mut optimizer = adamw(&Device::open("cpu").unwrap());
    for step in 0..6 {
        if step == 3 {
            optimizer.move_to(&Device::open("interpreter:0").unwrap()).unwrap();
        }
        let gradients = gradients(&weights);
        optimizer.step(&mut weights, &gradients).unwrap();
    }
    close(&weights, &reference(6));
    let device = Device::open("cpu").unwrap();
    let half = Tensor::new([1.0f32, -2.0], &device).cast(DType::BF16);
    let mut tensors = vec![half.clone()];
    let mut optimizer = adamw(&device);
    optimizer.step(&mut tensors, &[&half * 2.0]).unwrap();
    assert_eq!(tensors[0].dtype(), DType::BF16);
    assert!(tensors[0].cast(DType::F32).to_vec::<f32>().unwrap()[0] < 1.0);
    // Saved before the first step of another.
    let (state, steps) = (optimizer.state_dict().unwrap(), optimizer.n_steps());
    let mut other = adamw(&device);
    other.load_state_dict(&state, steps).unwrap();
    let mut resumed = tensors.clone();
    let gradient = [&tensors[0] * 2.0];
    optimizer.step(&mut tensors, &gradient).unwrap();
    other.step(&mut resumed, &gradient).unwrap();
    assert_eq!((tensors[0].to_bytes().unwrap(), other.n_steps()), (resumed[0].to_bytes().unwrap(), 2));
}
