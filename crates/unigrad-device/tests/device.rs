//! The pool, the registry and the error paths, on fake devices.

use smallvec::SmallVec;
use std::sync::Once;
use unigrad_device::testing::{Failure, Faults, FaultyDriver, NullDriver, Operation};
use unigrad_device::{Device, Error, register, with_tag};
use unigrad_kernel::{Arg, Kernel, Region, Scan};
use unigrad_scalar::{DType, ScanOp};

/// A device of its own per test, with `memory` bytes (0: no limit).
fn device(backend: &'static str, memory: usize) -> (Device, Faults) {
    let faults = Faults::default();
    assert!(register(FaultyDriver::new(backend, NullDriver { memory }, faults.clone())));
    (Device::open(backend).unwrap(), faults)
}

fn scan(len: usize) -> Kernel {
    Kernel::Scan(Scan { op: ScanOp::Sum, dtype: DType::F32, outer: 1, len, inner: 1, reverse: false })
}

#[test]
fn blocks_are_reused() {
    let (device, _) = device("reuse", 0);
    let first = device.allocate(1000).unwrap();
    let address = first.address();
    let second = first.clone();
    drop(first);
    let other = device.allocate(1000).unwrap();
    assert_ne!(other.address(), address, "a clone keeps the memory");
    drop(second);
    assert_eq!(device.allocate(900).unwrap().address(), address);
    for _ in 0..100 {
        let _block = device.allocate(1010).unwrap();
    }
    assert_eq!(device.counters().allocations, 2);
    drop(other);
    let stats = device.memory_stats();
    assert_eq!((stats.allocated, stats.n_buffers), (0, 0));
    assert_eq!(stats.reserved, device.clear_cache());
    assert_eq!(device.memory_stats().reserved, 0);
}

#[test]
fn figures_add_up() {
    let (device, _) = device("figures", 0);
    let kept = with_tag("parameters", || device.allocate(4096).unwrap());
    let gone = device.allocate_tagged(8192, "gradients").unwrap();
    drop(gone);
    let stats = device.memory_stats();
    assert_eq!((stats.allocated, stats.peak, stats.reserved), (4096, 12288, 12288));
    assert_eq!((stats.tags[0].tag, stats.tags[0].allocated, stats.tags[0].n_buffers), ("parameters", 4096, 1));
    assert_eq!((stats.tags[1].tag, stats.tags[1].allocated, stats.tags[1].peak), ("gradients", 0, 8192));
    device.reset_peak();
    assert_eq!(device.memory_stats().peak, 4096);
    assert_eq!(kept.tag(), "parameters");
}

#[test]
fn a_full_device_releases_its_cache_first() {
    let (device, _) = device("full", 1 << 20);
    let kept = device.allocate_with(&[7; 1000]).unwrap();
    drop(device.allocate(600 << 10).unwrap());
    // Does not fit beside the cached block, and only at its exact size.
    let large = device.allocate((1 << 20) - 1024).unwrap();
    let error = device.allocate(1 << 19).unwrap_err();
    let Error::OutOfMemory { asked, total, in_use, largest, .. } = &error else { panic!("{error}") };
    assert_eq!((*asked, *total, *in_use), (1 << 19, 1 << 20, 1 << 20));
    assert!(largest.contains("other"), "{largest}");
    assert!(error.to_string().contains("help: "), "{error}");
    assert_eq!(kept.to_vec().unwrap(), [7; 1000], "what was in memory is still there");
    drop(large);
    device.allocate(1 << 19).unwrap();
}

#[test]
fn the_cap_holds() {
    let (device, _) = device("cap", 0);
    device.set_memory_cap(Some(1 << 16));
    let half = device.allocate(1 << 15).unwrap();
    assert!(matches!(device.allocate(1 << 16), Err(Error::OutOfMemory { total: 65536, free: 32768, .. })));
    drop(device.allocate(1 << 15).unwrap());
    drop(half);
    device.allocate(1 << 16).expect("after the cached halves are released");
    device.set_memory_cap(None);
    device.allocate(1 << 20).unwrap();
    assert!(matches!(device.allocate(usize::MAX), Err(Error::OutOfMemory { .. })));
}

#[test]
fn the_cap_holds_for_what_waits_too() {
    let (device, _) = device("cap of what waits", 0);
    let kept = device.allocate(1 << 12).unwrap();
    drop(device.allocate(1 << 16).unwrap());
    device.set_memory_cap(Some(0));
    for bytes in [1, 1 << 12, 1 << 16] {
        assert!(matches!(device.allocate(bytes), Err(Error::OutOfMemory { .. })), "{bytes}");
    }
    device.allocate(0).unwrap();
    device.set_memory_cap(Some(1 << 13));
    drop(device.allocate(1 << 12).unwrap());
    assert!(matches!(device.allocate((1 << 12) + 1), Err(Error::OutOfMemory { .. })));
    assert!(device.memory_stats().reserved <= 1 << 13);
    drop(kept);
    device.allocate(1 << 13).unwrap();
}

#[test]
fn nothing_needs_no_memory() {
    let (device, _) = device("nothing", 0);
    let buffer = device.allocate(0).unwrap();
    assert!(buffer.to_vec().unwrap().is_empty());
    buffer.upload(0, &[]).unwrap();
    assert_eq!(buffer.as_slice().len, 0);
    assert_eq!(device.counters(), Default::default());
}

#[test]
fn ranges_are_checked() {
    let (device, _) = device("ranges", 0);
    let (a, b) = (device.allocate_with(&[1; 256]).unwrap(), device.allocate_with(&[2; 256]).unwrap());
    a.copy_from(64, &b, 0, 128).unwrap();
    let bytes = a.to_vec().unwrap();
    assert_eq!((bytes[63], bytes[64], bytes[191], bytes[192]), (1, 2, 2, 1));
    for error in [
        a.upload(192, &[0; 65]).unwrap_err(),
        a.download(256, &mut [0]).unwrap_err(),
        a.slice(usize::MAX - 63, 64).map(|_| ()).unwrap_err(),
        a.slice(1, 1).map(|_| ()).unwrap_err(),
        a.copy_from(64, &a, 0, 128).unwrap_err(),
    ] {
        assert!(matches!(error, Error::Copy { .. }), "{error}");
    }
    a.slice(256, 0).unwrap();
}

#[test]
fn copies_between_devices() {
    let ((one, _), (two, _)) = (device("one", 0), device("two", 0));
    let (a, b) = (one.allocate_with(&[9; 100]).unwrap(), two.allocate(100).unwrap());
    b.copy_from(0, &a, 0, 100).unwrap();
    assert_eq!(b.to_vec().unwrap(), [9; 100]);
}

#[test]
fn a_failure_leaves_the_rest_usable() {
    let (device, faults) = device("faults", 0);
    let kept = device.allocate_with(&[3; 512]).unwrap();
    let program = device.compile(&scan(1)).unwrap();

    // Twice: the pool tries an allocation again.
    faults.fail(Operation::Allocate, 0, Failure::Refused);
    device.allocate(1 << 12).expect("the second try succeeds");
    faults.fail(Operation::Allocate, 0, Failure::Refused);
    faults.fail(Operation::Allocate, 1, Failure::Refused);
    assert!(matches!(device.allocate(1 << 20), Err(Error::OutOfMemory { .. })));

    faults.fail(Operation::Download, 0, Failure::Halfway);
    assert!(matches!(kept.to_vec(), Err(Error::Copy { .. })));
    faults.fail(Operation::Upload, 0, Failure::Halfway);
    assert!(matches!(device.allocate_with(&[1; 4]), Err(Error::Copy { .. })));
    faults.fail(Operation::Copy, 0, Failure::Halfway);
    let other = device.allocate(512).unwrap();
    assert!(matches!(other.copy_from(0, &kept, 0, 512), Err(Error::Copy { .. })));
    faults.fail(Operation::Launch, 1, Failure::Refused);
    device.launch(&*program, &[], &[]).unwrap();
    assert!(matches!(device.launch(&*program, &[], &[]), Err(Error::Launch { .. })));
    faults.fail(Operation::Compile, 0, Failure::Refused);
    assert!(matches!(device.compile(&scan(2)), Err(Error::Compile { .. })));
    device.compile(&scan(2)).expect("a failure is not cached");
    faults.fail(Operation::Synchronize, 0, Failure::Refused);
    assert!(device.synchronize().is_err());

    assert!(faults.is_empty() && !device.is_lost());
    assert_eq!(kept.to_vec().unwrap(), [3; 512]);
    drop((kept, other));
    let stats = device.memory_stats();
    assert_eq!((stats.allocated, stats.n_buffers), (0, 0), "failures leak nothing");
    assert_eq!(device.clear_cache(), stats.reserved);
}

#[test]
fn a_launch_without_memory_of_its_own_gets_what_waits_for_reuse() {
    let (device, faults) = device("scratch", 0);
    let program = device.compile(&scan(1)).unwrap();
    drop(device.allocate(1 << 12).unwrap());
    faults.fail(Operation::Launch, 0, Failure::NoMemory);
    device.launch(&*program, &[], &[]).expect("the second try succeeds");
    assert!(faults.is_empty());
    assert_eq!(device.memory_stats().reserved, 0);
    faults.fail(Operation::Launch, 0, Failure::NoMemory);
    assert!(matches!(device.launch(&*program, &[], &[]), Err(Error::OutOfMemory { .. })), "nothing waits for reuse");
}

#[test]
fn a_cap_is_named_by_the_error_it_causes() {
    let (device, _) = device("capped", 1 << 20);
    let error = |device: Device| device.allocate(1 << 16).unwrap_err().to_string();
    device.set_memory_cap(Some(4096));
    assert!(error(device).contains("may take 4096 bytes (UNIGRAD_MEMORY_CAP, `set_memory_cap`)"), "{}", error(device));
    device.set_memory_cap(None);
    assert!(device.allocate(1 << 16).is_ok());
}

#[test]
fn names_without_a_backend_are_refused() {
    for name in ["", " ", ":", ":0"] {
        let error = Device::open(name).unwrap_err().to_string();
        assert!(error.contains("name of a backend is missing"), "{error}");
    }
}

#[test]
fn a_lost_device_can_be_opened_again() {
    let (device, faults) = device("lost", 0);
    let buffer = device.allocate_with(&[1; 64]).unwrap();
    assert_eq!(Device::open("LOST:0").unwrap(), device);
    faults.fail(Operation::Download, 0, Failure::Lost);
    assert!(matches!(buffer.to_vec(), Err(Error::DeviceLost { .. })));
    assert!(matches!(device.allocate(1 << 20), Err(Error::DeviceLost { .. })));
    assert!(device.is_lost());
    let again = Device::open("lost").unwrap();
    assert_ne!(again, device);
    assert_eq!(Device::from_id(again.id()), Some(again));
    assert_eq!(again.allocate_with(&[5; 64]).unwrap().to_vec().unwrap(), [5; 64]);
    drop(buffer);
    assert_eq!(device.memory_stats().allocated, 0);
}

#[test]
fn kernels_are_compiled_once() {
    let (device, _) = device("programs", 0);
    let region = Kernel::Region(Region { args: vec![Arg { dtype: DType::F32, len: 1, write: true }], ..empty_region() });
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                device.compile(&scan(10)).unwrap();
                device.compile(&region).unwrap();
            });
        }
    });
    assert_eq!(device.counters().compiles, 2);
    let held = device.compile(&region).unwrap();
    device.clear_programs();
    device.compile(&region).unwrap();
    assert_eq!(device.counters().compiles, 2);
    device.compile(&scan(10)).unwrap();
    assert_eq!(device.counters().compiles, 3);
    drop(held);
}

fn empty_region() -> Region {
    Region { name: String::new(), axes: SmallVec::new(), n_parallel: 0, args: Vec::new(), scalars: Vec::new(), insts: Vec::new() }
}

#[test]
fn names_are_honoured_or_refused() {
    static REGISTER: Once = Once::new();
    REGISTER.call_once(|| assert!(register(FaultyDriver::new("named", NullDriver { memory: 0 }, Faults::default()))));
    assert!(!register(FaultyDriver::new("named", NullDriver { memory: 0 }, Faults::default())));
    assert_eq!(Device::open("Named").unwrap(), Device::open("named:0").unwrap());
    assert_eq!(Device::open("named").unwrap().to_string(), "named:0");
    for name in ["named:1", "named:x", "absent", "absent:0", "", ":", "named:-1", "named:0:0"] {
        let error = Device::open(name).unwrap_err();
        assert!(matches!(error, Error::NotAvailable { .. }), "{error}");
        assert!(error.to_string().contains("named:0"), "{error}");
    }
    assert!(Device::all().devices.iter().any(|info| info.device() == "named:0"));
    assert_eq!(Device::from_id(u32::MAX), None);
    // Fake devices are software: `best` refuses rather than take one.
    assert!(matches!(Device::best(), Err(Error::NotAvailable { .. })));
}

#[test]
fn threads_share_a_pool() {
    let (device, _) = device("threads", 1 << 22);
    std::thread::scope(|scope| {
        for t in 0..4usize {
            scope.spawn(move || {
                for i in 0..500 {
                    let bytes = vec![t as u8; 100 + (i * 37 + t * 11) % 3000];
                    let buffer = device.allocate_with(&bytes).unwrap();
                    assert_eq!(buffer.to_vec().unwrap(), bytes);
                }
            });
        }
    });
    assert_eq!(device.memory_stats().allocated, 0);
}
