//! The driver, with Metal where it is, and without it elsewhere.

use unigrad_device::{Driver, Error};
use unigrad_metal::MetalDriver;

#[test]
fn a_driver_without_devices_says_why() {
    let found = MetalDriver.discover();
    if !found.devices.is_empty() {
        println!("SKIPPED: this machine has Metal devices");
        return;
    }
    let (cause, help) = found.problem.expect("no device and no reason");
    assert!(cause.contains("Metal") && !help.is_empty(), "{cause}: {help}");
    let Err(Error::NotAvailable { asked, cause: opened, .. }) = MetalDriver.open(0) else {
        panic!("a device that was not discovered opens")
    };
    assert_eq!((asked.as_str(), opened), ("metal:0", cause));
}

#[test]
fn what_is_discovered_opens_and_copies() {
    let found = MetalDriver.discover();
    if found.devices.is_empty() {
        println!("SKIPPED: {}", found.problem.map_or_else(String::new, |(cause, _)| cause));
        return;
    }
    for info in &found.devices {
        let device = MetalDriver.open(info.ordinal).unwrap();
        let (first, second) = (device.allocate(1001).unwrap(), device.allocate(1001).unwrap());
        let data: Vec<u8> = (0..1001).map(|i| (i * 7 % 251) as u8).collect();
        let slice = |buffer, len| unigrad_device::Slice { buffer, offset: 0, len };
        device.upload(&data, slice(&first, 1001)).unwrap();
        device.copy(slice(&first, 1001), slice(&second, 1001)).unwrap();
        // The source changes after the copy was queued, and the copy does not.
        device.upload(&[0; 1001], slice(&first, 1001)).unwrap();
        let mut back = vec![0; 1001];
        device.download(slice(&second, 1001), &mut back).unwrap();
        assert_eq!(back, data);
        device.synchronize().unwrap();
        device.free(first);
        device.free(second);
        assert!(matches!(device.allocate(usize::MAX / 2), Err(Error::OutOfMemory { .. })));
    }
}
