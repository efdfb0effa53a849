//! A driver from outside of the workspace, which has what is required of one and no more: its device computes what the one below it does.

#[path = "../examples/own_driver.rs"]
mod own_driver;

use own_driver::CountingDriver;
use std::sync::atomic::Ordering;
use unigrad::{nn::Conv2d, prelude::*, tensor::eval};

/// Of everything that a plan has: products, rows, indices, a random number, an update in place.
fn train(device: &Device) -> (Vec<u32>, Vec<u32>) {
    manual_seed(3);
    let conv = Conv2d::new(2, 4, 3, ConvOptions::default(), device);
    let head = nn::Linear::new(4, 3, device);
    let mut parameters = conv.parameters();
    parameters.extend(head.parameters());
    let mut optimizer = nn::AdamW::new(parameters.clone(), 1e-2).unwrap();
    let x = Tensor::randn([8, 2, 6, 5], DType::F32, device).realize().unwrap();
    let labels = Tensor::new([0i64, 1, 2, 0, 1, 2, 0, 1], device);
    let mut losses = Vec::new();
    for _ in 0..5 {
        let y = head.forward(&conv.forward(&x).relu().mean([2, 3]).dropout(0.25).layer_norm(None, None, 1e-5));
        let loss = y.cross_entropy(&labels);
        optimizer.minimize(&loss, &[]).unwrap();
        losses.push(loss.item::<f32>().unwrap().to_bits());
    }
    let weights = parameters.iter().flat_map(|parameter| parameter.to_vec::<f32>().unwrap()).map(f32::to_bits);
    (losses, weights.collect())
}

#[test]
fn a_device_from_outside_trains_to_the_same_bits() {
    let driver = CountingDriver::default();
    unigrad::device::register(driver.clone());
    let own = Device::open("counting:0").unwrap();
    assert_eq!(own.info().backend, "counting");
    let expected = train(&Device::open("cpu").unwrap());
    assert_eq!(train(&own), expected);
    let launches = driver.0.launches.load(Ordering::Relaxed);
    assert!(launches > 10 && driver.0.kernels.load(Ordering::Relaxed) > 5, "{:?}", driver.0);
    // Steps find their plans there as well.
    let before = eval::stats().plans_built;
    assert_eq!(train(&own), expected);
    assert_eq!(eval::stats().plans_built, before);
    // Errors are told with the line that made them; and it is taken only when asked for.
    let x = Tensor::new([1.0f32, 2.0], &own);
    let error = x.index_select(0, &Tensor::new([2i64], &own)).to_vec::<f32>().unwrap_err().to_string();
    assert!(error.contains("own_driver.rs") && error.contains("index 2"), "{error}");
    assert_eq!(x.to_vec::<f32>().unwrap(), [1.0, 2.0]);
    assert_ne!(Device::best().unwrap().info().backend, "counting");
    // What was moved there and back is the same.
    let there = Tensor::new([1i64, -5, 7], &Device::open("cpu").unwrap()).to(&own);
    assert_eq!(there.to(&Device::open("cpu").unwrap()).to_vec::<i64>().unwrap(), [1, -5, 7]);
    own_driver::main().unwrap();
}
