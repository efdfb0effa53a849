//! Every method of a driver that can fail, made to fail in the middle of training: a typed error, nothing leaked, other tensors intact, and
//! the next step works.

use unigrad::device::{
    self, Error as DeviceError,
    testing::{Failure, Faults, FaultyDriver, Operation},
};
use unigrad::prelude::*;

struct Model {
    device: Device,
    x: Tensor,
    w: Tensor,
    optimizer: nn::AdamW,
    index: Tensor,
}

impl Model {
    fn new(device: Device) -> Result<Model> {
        manual_seed(1);
        let x = Tensor::randn([8, 16], DType::F32, &device).realize()?;
        let w = Tensor::randn([16, 4], DType::F32, &device).realize()?.requires_grad();
        let index = Tensor::new([1i64, 0, 3, 2, 1, 0, 3, 2], &device);
        let optimizer = nn::AdamW::new(vec![w.clone()], 1e-2)?;
        Ok(Model { device, x, w, optimizer, index })
    }

    fn step(&mut self) -> Result<f32> {
        let loss = self.x.matmul(&self.w).cross_entropy(&self.index);
        loss.backward()?;
        self.optimizer.step()?;
        let host = Tensor::new([loss.item::<f32>()?], &self.device);
        let copied = host.to(&self.device).item::<f32>()?;
        self.device.synchronize().map_err(unigrad::tensor::Error::from)?;
        Ok(copied)
    }
}

fn faulty(name: &'static str) -> Faults {
    let faults = Faults::default();
    device::register(FaultyDriver::new(name, unigrad_cpu::CpuDriver, faults.clone()));
    faults
}

fn provoke(device: Device, operation: Operation) -> std::result::Result<(), DeviceError> {
    let event = || device.record();
    match operation {
        Operation::Open => Device::open("faulty-open").map(drop),
        Operation::Flush => device.flush(),
        Operation::Mark => event().map(drop),
        Operation::Health => device.health().map(drop),
        Operation::Copy => {
            let (from, to) = (device.allocate_with(&[7; 256])?, device.allocate(256)?);
            to.copy_from(0, &from, 0, 256)
        }
        Operation::Synchronize => device.synchronize(),
        _ => Ok(()),
    }
}

#[test]
fn a_failure_anywhere_is_an_error_and_nothing_more() -> Result<()> {
    let faults = faulty("faulty");
    let device = Device::open("faulty:0")?;
    let bystander = Tensor::new([1.0f32, 2.0, 3.0], &device).realize()?;
    for operation in [Operation::Allocate, Operation::Upload, Operation::Download, Operation::Compile, Operation::Launch] {
        for failure in [Failure::Refused, Failure::Halfway] {
            for n in 0..4 {
                // A new model each time, so that there is something to allocate, to compile and to upload.
                unigrad::tensor::eval::clear_plans();
                device.clear_programs();
                device.clear_cache();
                let before = device.memory_stats();
                faults.fail(operation, n, failure);
                let result = Model::new(device).and_then(|mut model| model.step());
                if operation == Operation::Allocate {
                    // The pool releases its cache and asks again, so a single refusal is no error.
                    assert!(result.is_ok(), "{operation:?} {n}: {result:?}");
                } else if faults.is_empty() {
                    let error = result.as_ref().expect_err("the fault struck").to_string();
                    assert!(error.contains("a test made it fail") && error.contains("faulty:0"), "{operation:?} {n}: {error}");
                }
                faults.clear();

                let after = device.memory_stats();
                let kept =
                    |stats: &device::MemoryStats| -> u64 { stats.tags.iter().filter(|t| t.tag != "arena").map(|t| t.allocated).sum() };
                assert_eq!(kept(&after), kept(&before), "{operation:?} {failure:?} {n} leaked: {:?}", after.tags);
                assert_eq!(bystander.to_vec::<f32>()?, [1.0, 2.0, 3.0]);
                let loss = Model::new(device)?.step()?;
                assert!(loss.is_finite(), "the next step works");
            }
        }
    }
    Ok(())
}

#[test]
fn the_other_methods_fail_as_values_too() -> Result<()> {
    let faults = faulty("faulty-open");
    faults.fail(Operation::Open, 0, Failure::Refused);
    assert!(matches!(provoke(Device::best()?, Operation::Open), Err(DeviceError::NotAvailable { .. })));
    let device = Device::open("faulty-open")?;
    for operation in [Operation::Flush, Operation::Mark, Operation::Health, Operation::Copy, Operation::Synchronize] {
        faults.fail(operation, 0, Failure::Refused);
        let error = provoke(device, operation).expect_err("it was made to fail");
        assert!(matches!(error, DeviceError::Launch { .. } | DeviceError::Copy { .. }), "{operation:?}: {error}");
        assert!(faults.is_empty());
        provoke(device, operation)?;
        assert!(Model::new(device)?.step()?.is_finite());
    }
    Ok(())
}

#[test]
fn a_lost_device_says_so_and_others_go_on() -> Result<()> {
    let faults = faulty("faulty-lost");
    for operation in Operation::ALL.into_iter().filter(|o| !matches!(o, Operation::Open)) {
        let device = Device::open("faulty-lost")?;
        let mut model = Model::new(device)?;
        model.step()?;
        unigrad::tensor::eval::clear_plans();
        device.clear_programs();
        device.clear_cache();
        faults.fail(operation, 0, Failure::Lost);
        let lost = model.step().err().map(|e| e.to_string()).or_else(|| provoke(device, operation).err().map(|e| e.to_string()));
        if let Some(error) = lost {
            assert!(error.contains("device lost"), "{operation:?}: {error}");
            assert!(device.is_lost());
        } else {
            // Nothing of the program uses this method on a device whose work is done when it returns; those of the device layer's streams
            // are made to fail there.
            use Operation::{CopyFromPeer, Elapsed, Fork, IsDone, Wait, WaitForPeer};
            assert!(matches!(operation, IsDone | Wait | Elapsed | WaitForPeer | Fork | CopyFromPeer), "{operation:?}");
        }
        faults.clear();
        let healthy = Model::new(Device::open("cpu")?)?.step()?;
        assert!(healthy.is_finite());
    }
    // Opened again, it works.
    assert!(Model::new(Device::open("faulty-lost")?)?.step()?.is_finite());
    Ok(())
}
