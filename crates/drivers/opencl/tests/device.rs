//! A device of the machine (PoCL where there is no other): memory, copies, time, and what happens when things go wrong.

use std::process::Command;
use unigrad_device::{Driver, Error, Flush, Timeline};
use unigrad_gpu::{Backend, Range};
use unigrad_opencl::{OpenClBackend, OpenClDriver};

/// The machine's first device, or nothing with the line that says so.
fn open() -> Option<OpenClBackend> {
    let found = OpenClDriver.discover();
    if found.devices.is_empty() {
        println!("SKIPPED: no OpenCL device: {:?}", found.problem);
        return None;
    }
    Some(OpenClBackend::open(0).unwrap())
}

fn range(handle: u64, offset: usize, len: usize) -> Range {
    Range { handle, offset, len }
}

fn bytes(n: usize, seed: u8) -> Vec<u8> {
    (0..n).map(|i| (i as u8).wrapping_mul(31).wrapping_add(seed)).collect()
}

#[test]
fn discovery_describes_devices_or_says_why_not() {
    let found = OpenClDriver.discover();
    assert!(!found.devices.is_empty() || found.problem.is_some());
    for (ordinal, info) in found.devices.iter().enumerate() {
        assert_eq!((info.backend, info.ordinal), ("opencl", ordinal));
        assert!(!info.name.is_empty() && !info.version.is_empty() && info.memory_total > 0 && info.compute_units > 0, "{info:?}");
        println!("{info:?}");
    }
    let count = found.devices.len();
    assert!(matches!(OpenClBackend::open(count), Err(Error::NotAvailable { asked, .. }) if asked == format!("opencl:{count}")));
}

/// Runs one test of this file in a process of its own, with another library or other vendors.
fn in_child(test: &str, variable: &str, value: &str) -> String {
    let program = std::env::current_exe().unwrap();
    let output = Command::new(program).args(["--exact", test, "--nocapture"]).env("UNIGRAD_TEST_CHILD", "1").env(variable, value).output();
    let output = output.unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{text}\n{}", String::from_utf8_lossy(&output.stderr));
    text
}

#[test]
fn a_missing_library_or_platform_is_a_cause_and_a_remedy() {
    if std::env::var_os("UNIGRAD_TEST_CHILD").is_some() {
        let found = OpenClDriver.discover();
        if !found.devices.is_empty() {
            return println!("this loader cannot be told where vendors are");
        }
        let (cause, help) = found.problem.unwrap();
        println!("devices {} cause {cause} help {help}", found.devices.len());
        match OpenClBackend::open(0) {
            Err(Error::NotAvailable { cause: again, .. }) => assert_eq!(again, cause),
            other => panic!("{other:?}"),
        }
        return;
    }
    let test = "a_missing_library_or_platform_is_a_cause_and_a_remedy";
    let text = in_child(test, "UNIGRAD_OPENCL_LIBRARY", "/nowhere/libOpenCL.so.1");
    assert!(text.contains("devices 0 cause no usable OpenCL library (/nowhere/libOpenCL.so.1: "), "{text}");
    // A library, but not this one.
    if cfg!(target_os = "linux") {
        let text = in_child(test, "UNIGRAD_OPENCL_LIBRARY", "libc.so.6");
        assert!(text.contains("it has no function cl"), "{text}");
    }
    // A loader that finds no vendor.
    if OpenClDriver.discover().devices.is_empty() || !cfg!(target_os = "linux") {
        println!("SKIPPED: no OpenCL loader to hide the vendors from");
        return;
    }
    let empty = std::env::temp_dir().join(format!("unigrad-no-vendors-{}", std::process::id()));
    std::fs::create_dir_all(&empty).unwrap();
    let text = in_child(test, "OCL_ICD_VENDORS", &empty.to_string_lossy());
    std::fs::remove_dir(&empty).unwrap();
    if text.contains("this loader cannot be told") {
        println!("SKIPPED: the loader does not read OCL_ICD_VENDORS");
        return;
    }
    assert!(text.contains("knows no platform") && text.contains("/etc/OpenCL/vendors"), "{text}");
}

#[test]
fn bytes_come_back_whole_and_in_order() {
    let Some(device) = open() else { return };
    for size in [1, 7, 64, 255, 4096, 100_003] {
        let (a, b) = (device.allocate(size).unwrap(), device.allocate(size + 128).unwrap());
        let data = bytes(size, 3);
        device.upload(&data, range(a, 0, size)).unwrap();
        device.copy(range(a, 0, size), range(b, 128, size)).unwrap();
        device.upload(&bytes(size, 9), range(a, 0, size)).unwrap();
        let mut back = vec![0; size];
        device.download(range(b, 128, size), &mut back).unwrap();
        assert_eq!(back, data, "{size} bytes");
        device.download(range(a, 0, size), &mut back).unwrap();
        assert_eq!(back, bytes(size, 9));
        device.upload(&[], range(a, 0, 0)).unwrap();
        device.download(range(a, 0, 0), &mut []).unwrap();
        device.copy(range(a, 0, 0), range(b, 0, 0)).unwrap();
        device.free(a);
        device.free(b);
    }
    // More than is set aside: some uploads wait.
    let chunk = 12 << 20;
    let a = device.allocate(8 * chunk).unwrap();
    for part in 0..8 {
        device.upload(&vec![part as u8 + 1; chunk], range(a, part * chunk, chunk)).unwrap();
    }
    device.upload(&vec![77; 17 << 20], range(a, 0, 17 << 20)).unwrap();
    let mut back = vec![0; 8 * chunk];
    device.download(range(a, 0, 8 * chunk), &mut back).unwrap();
    assert!(back[..17 << 20].iter().all(|b| *b == 77) && back[7 * chunk..].iter().all(|b| *b == 8));
    device.free(a);
}

#[test]
fn memory_that_is_not_there_is_an_error_and_nothing_is_lost() {
    let Some(device) = open() else { return };
    let kept = device.allocate(1024).unwrap();
    device.upload(&bytes(1024, 5), range(kept, 0, 1024)).unwrap();
    for asked in [usize::MAX, usize::MAX / 2, 1 << 50] {
        match device.allocate(asked) {
            Err(Error::OutOfMemory { asked: said, total, .. }) => assert!(said == asked as u64 && total > 0),
            other => panic!("{other:?}"),
        }
    }
    // Buffers of the largest size until there is no more: the last one fails, typed.
    let most = device.target().max_buffer_bytes.min(4 << 30) as usize;
    if device.info().software {
        assert!(device.info().memory_total / most as u64 <= 1000);
        let mut handles = Vec::new();
        let error = loop {
            match device.allocate(most) {
                Ok(handle) => handles.push(handle),
                Err(error) => break error,
            }
        };
        assert!(matches!(error, Error::OutOfMemory { in_use, .. } if in_use >= (handles.len() * most) as u64), "{error}");
        let free = device.info().memory_free;
        handles.into_iter().for_each(|handle| device.free(handle));
        assert!(device.info().memory_free > free);
    }
    let mut back = vec![0; 1024];
    device.download(range(kept, 0, 1024), &mut back).unwrap();
    assert_eq!(back, bytes(1024, 5));
    device.free(kept);
    device.free(kept);
    device.free(12345);
}

#[test]
fn marks_measure_the_work_between_them() {
    let Some(device) = open() else { return };
    let size = 64 << 20;
    let (a, b) = (device.allocate(size).unwrap(), device.allocate(size).unwrap());
    device.upload(&vec![1; size], range(a, 0, size)).unwrap();
    let start = device.mark().unwrap().unwrap();
    let same = device.mark().unwrap().unwrap();
    for _ in 0..4 {
        device.copy(range(a, 0, size), range(b, 0, size)).unwrap();
    }
    let end = device.mark().unwrap().unwrap();
    device.flush().unwrap();
    let (nothing, work) = (device.elapsed(&start, &same).unwrap(), device.elapsed(&start, &end).unwrap());
    assert!(nothing >= 0.0 && nothing < work, "{nothing} ns, {work} ns");
    let bandwidth = (4 * size) as f64 / work;
    assert!(bandwidth < 20_000.0, "{bandwidth} GB/s");
    device.synchronize().unwrap();
    let mut back = vec![0; size];
    device.download(range(b, 0, size), &mut back).unwrap();
    assert!(back.iter().all(|b| *b == 1));
    [a, b].into_iter().for_each(|handle| device.free(handle));
}

#[test]
fn any_thread_may_call() {
    let Some(device) = open() else { return };
    std::thread::scope(|scope| {
        for thread in 0..4_u8 {
            let device = &device;
            scope.spawn(move || {
                for round in 0..20_u8 {
                    let handle = device.allocate(5000).unwrap();
                    let data = bytes(5000, thread.wrapping_mul(50) + round);
                    device.upload(&data, range(handle, 0, 5000)).unwrap();
                    if round == 10 && thread == 0 {
                        device.mark().unwrap();
                    }
                    let mut back = vec![0; 5000];
                    device.download(range(handle, 0, 5000), &mut back).unwrap();
                    assert!(back == data, "thread {thread}, round {round}");
                    device.free(handle);
                }
            });
        }
    });
}
