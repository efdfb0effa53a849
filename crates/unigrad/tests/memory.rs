//! Memory that runs out, on every device of this machine: under a cap, never by filling the device.

use unigrad::device::{Error as DeviceError, MemoryPool, with_tag};
use unigrad::prelude::*;

const CAP: u64 = 48 << 20;
/// Elements of 4 MiB of `f32`.
const PART: usize = 1 << 20;

fn out_of_memory(error: &unigrad::tensor::Error) -> bool {
    use unigrad::tensor::Error::{Device, Launch};
    matches!(error, Device(DeviceError::OutOfMemory { .. }) | Launch { error: DeviceError::OutOfMemory { .. }, .. })
}

#[test]
fn a_full_device_is_an_error_and_goes_on_when_memory_is_freed() -> Result<()> {
    let _alone = alone();
    for device in unigrad_testing::devices().into_iter().filter(|device| !device.name().starts_with("null")) {
        unigrad::tensor::eval::clear_plans();
        device.clear_cache();
        let start = device.memory_stats().reserved;
        device.set_memory_cap(Some(start + CAP));
        let bystander = Tensor::arange(0.0, 8.0, 1.0, DType::F32, &device).realize()?;
        let mut kept = Vec::new();
        let error = loop {
            let next = with_tag("filler", || Tensor::full([PART], kept.len() as f64, DType::F32, &device).realize());
            match next {
                Ok(tensor) => kept.push(tensor),
                Err(error) => break error,
            }
            assert!(kept.len() < 32, "{device}: the cap of {CAP} bytes does not hold");
        };
        assert!(out_of_memory(&error), "{device}: {error}");
        let text = error.to_string();
        assert!(text.contains("out of memory") && text.contains("tensor") && text.contains("help:"), "{device}: {text}");
        // Work on what is there goes on, in place or in what waits for reuse.
        assert_eq!(bystander.to_vec::<f32>()?, [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0], "{device}");
        for (i, tensor) in kept.iter().enumerate() {
            assert_eq!(tensor.to_vec::<f32>()?[PART - 1], i as f32, "{device}");
        }
        // A larger one than any that was freed: the cache must be given back first.
        let n = kept.len();
        drop(kept);
        let large = Tensor::full([PART * (n - 2)], 3.0, DType::F32, &device);
        assert_eq!(large.sum(()).item::<f32>()?, 3.0 * (PART * (n - 2)) as f32, "{device}");
        device.set_memory_cap(None);
        drop(large);
        assert!(device.clear_cache() > 0, "{device}");
        assert!(device.memory_stats().reserved <= start + CAP, "{device}");
    }
    Ok(())
}

/// Tests that look at what one device has in use.
fn alone() -> std::sync::MutexGuard<'static, ()> {
    static LOCK: std::sync::Mutex<()> = std::sync::Mutex::new(());
    LOCK.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

#[test]
fn pools_keep_as_much_as_they_are_told() -> Result<()> {
    let _alone = alone();
    let device = unigrad::device::testing::NullDriver { memory: 0 };
    unigrad::device::register(device);
    let device = Device::open("null")?;
    let bytes = |n: usize| (0..n).map(|_| device.allocate(1 << 20)).collect::<std::result::Result<Vec<_>, _>>();
    device.set_memory_pool(MemoryPool::Off);
    // What evaluations of the other tests keep for the next one is there still.
    let start = device.memory_stats().reserved;
    let pooled = || device.memory_stats().reserved - start;
    drop(bytes(4)?);
    assert_eq!(pooled(), 0);
    device.set_memory_pool(MemoryPool::Limit(2 << 20));
    drop(bytes(4)?);
    assert_eq!(pooled(), 2 << 20);
    device.set_memory_pool(MemoryPool::On);
    drop(bytes(4)?);
    assert_eq!(pooled(), 4 << 20);
    assert_eq!(device.clear_cache(), 4 << 20);
    Ok(())
}

#[test]
fn tensors_are_accounted_to_the_tag_that_is_chosen() -> Result<()> {
    let _alone = alone();
    unigrad::device::register(unigrad::device::testing::NullDriver { memory: 0 });
    let device = Device::open("null")?;
    let used = |tag: &str| device.memory_stats().tags.iter().find(|t| t.tag == tag).map_or(0, |t| t.allocated);
    let (before, tensors) = (used("mine"), used("tensor"));
    let kept = with_tag("mine", || (Tensor::new([1.0f32; 1024], &device) + 1.0).realize())?;
    assert!(used("mine") >= before + 4096, "{:?}", device.memory_stats());
    drop(kept);
    let kept = Tensor::new([1.0f32; 1024], &device).realize()?;
    assert!(used("tensor") >= tensors + 4096, "{:?}", device.memory_stats());
    drop(kept);
    Ok(())
}

/// What a driver gets for itself, as memory between the steps of a sort, is counted, and stays within the cap together with all else.
#[test]
fn memory_of_the_drivers_own_counts_towards_the_cap() -> Result<()> {
    let _alone = alone();
    let mut counted = 0;
    for device in unigrad_testing::fast_devices().into_iter().filter(|device| !device.name().starts_with("null")) {
        let sorted = |n: usize| -> Result<f32> {
            let x = Tensor::arange(0.0, n as f64, 1.0, DType::F32, &device).realize()?;
            x.sort(0, true).0.narrow(0, 0, 1).item::<f32>()
        };
        let sizes = || (10..22).map(|bits| 1usize << bits);
        assert_eq!(sorted(1 << 10)?, 1023.0, "{device}");
        let before = device.memory_stats();
        let cap = before.reserved + before.own + (3 << 20);
        device.set_memory_cap(Some(cap));
        let mut refused = None;
        for n in sizes() {
            let result = sorted(n);
            let stats = device.memory_stats();
            assert!(stats.reserved + stats.own <= cap, "{device}: {stats:?}, and a cap of {cap}");
            match result {
                Ok(first) => assert_eq!(first, (n - 1) as f32, "{device}"),
                Err(error) => {
                    assert!(out_of_memory(&error), "{device}: {error}");
                    refused = Some(n);
                    break;
                }
            }
        }
        device.set_memory_cap(None);
        let Some(n) = refused else { panic!("{device}: the cap of {cap} bytes does not hold") };
        assert_eq!(sorted(n)?, (n - 1) as f32, "{device}");
        let own = device.memory_stats().own;
        println!("{device}: {own} bytes of its own after a sort of {n}");
        counted += usize::from(own > 0);
    }
    assert!(
        counted > 0 || unigrad_testing::fast_devices().iter().all(|device| device.backend() == "cpu"),
        "no device counts its own memory"
    );
    Ok(())
}
