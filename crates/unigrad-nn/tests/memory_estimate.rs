//! The estimate of a step's memory against what the step takes. Alone in its process: it looks at what the device has in use.

use unigrad_nn::{AdamW, Layer, Module, Sgd, memory, models::Mlp};
use unigrad_tensor::{DType, Device, Tensor};

fn tag(device: &Device, name: &str) -> u64 {
    device.memory_stats().tags.iter().find(|tag| tag.tag == name).map_or(0, |tag| tag.peak)
}

/// One after the other: both look at what the device has in use.
#[test]
fn memory_of_a_step() {
    an_estimate_is_what_a_step_takes();
    what_does_not_fit_is_refused_before_it_runs();
}

fn an_estimate_is_what_a_step_takes() {
    unigrad_device::register(unigrad_cpu::CpuDriver);
    let device = Device::open("cpu").unwrap();
    for (batch, hidden) in [(1, 1), (64, 128), (1000, 300)] {
        unigrad_tensor::eval::clear_plans();
        device.clear_cache();
        let model = Mlp::new(&[20, hidden, hidden, 4], 0.0, &device);
        let optimizer = AdamW::new(model.parameters(), 1e-3).unwrap();
        let x = Tensor::ones([batch, 20], DType::F32, &device).realize().unwrap();
        let before = device.memory_stats();
        let loss = model.forward(&x).square().mean(());
        let needs = memory::estimate(&model, &optimizer, &loss).unwrap();
        assert_eq!(device.memory_stats().allocated, before.allocated, "an estimate takes no memory");
        let parameters: u64 = model.parameters().iter().map(|p| 4 * p.numel() as u64).sum();
        assert_eq!((needs.parameters, needs.optimizer, needs.gradients, needs.buffers), (parameters, 2 * parameters, parameters, 0));
        assert_eq!(needs.total(), 4 * parameters + needs.activations);
        needs.check(&device).unwrap();
        device.reset_peak();
        loss.backward().unwrap();
        let gradients: Vec<Tensor> = model.parameters().iter().map(|p| p.grad().unwrap()).collect();
        Tensor::realize_all(&[&loss].into_iter().chain(&gradients).collect::<Vec<_>>()).unwrap();
        let took = device.memory_stats().peak - before.allocated;
        // Blocks are rounded up; so are many small ones.
        let (least, most) = (needs.step() * 9 / 10, needs.step() * 5 / 4 + 64 * 1024);
        assert!((least..=most).contains(&took), "{batch} {hidden}: {took} bytes, estimated {}", needs.step());
        if batch == 1000 {
            assert!(needs.activations >= 4 * 1000 * 300, "{needs:?}");
            assert!(tag(&device, "arena") > 0);
        }
    }
}

fn what_does_not_fit_is_refused_before_it_runs() {
    unigrad_device::register(unigrad_cpu::CpuDriver);
    // A device of its own would be better; a figure that no machine has does as well.
    let device = Device::open("cpu").unwrap();
    let model = Mlp::new(&[4, 2], 0.0, &device);
    let optimizer = Sgd::new(model.parameters(), 1e-3).unwrap();
    let loss = model.forward(&Tensor::ones([2, 4], DType::F32, &device)).square().mean(());
    let needs = memory::estimate(&model, &optimizer, &loss).unwrap();
    let huge = memory::Estimate { activations: 1 << 60, ..needs };
    match huge.share(&device) {
        Some(share) => {
            assert!(share > 1.0);
            let error = huge.check(&device).unwrap_err().to_string();
            assert!(error.contains("of activations beside") && error.contains("help: "), "{error}");
        }
        None => println!("SKIPPED: the CPU does not tell its memory on this system"),
    }
    let computed = loss.detach();
    assert!(memory::estimate(&model, &optimizer, &computed).unwrap_err().to_string().contains("help: "));
}
