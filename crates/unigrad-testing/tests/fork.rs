//! A process made by `fork` has the devices of its parent in memory, without their threads: every use is a typed error, and nothing waits for ever.

#![cfg(unix)]

use std::{
    ffi::c_int,
    time::{Duration, Instant},
};
use unigrad_tensor::{Device, Tensor};
use unigrad_testing::devices;

unsafe extern "C" {
    fn fork() -> c_int;
    fn waitpid(pid: c_int, status: *mut c_int, options: c_int) -> c_int;
    fn kill(pid: c_int, signal: c_int) -> c_int;
    fn _exit(status: c_int) -> !;
}

const NO_WAIT: c_int = 1;
const KILL: c_int = 9;

/// The number of the first use that was not refused as it should be, or 0.
fn first_wrong(device: Device, known: &Tensor, pending: &Tensor) -> c_int {
    let says = |error: String| error.contains("is a fork") && error.contains("help: ") && error.contains(device.name());
    let uses: [&dyn Fn() -> Result<(), String>; 7] = [
        &|| known.to_vec::<f32>().map(drop).map_err(|e| e.to_string()),
        &|| pending.to_vec::<f32>().map(drop).map_err(|e| e.to_string()),
        &|| (known + pending).sum(()).item::<f32>().map(drop).map_err(|e| e.to_string()),
        &|| Tensor::from_slice(&[1.0f32], [1], &device).realize().map(drop).map_err(|e| e.to_string()),
        &|| device.allocate(64).map(drop).map_err(|e| e.to_string()),
        &|| device.synchronize().map_err(|e| e.to_string()),
        &|| Device::open(device.name()).map(drop).map_err(|e| e.to_string()),
    ];
    let wrong = uses.iter().position(|one| !one().err().is_some_and(says));
    wrong.map_or(0, |at| at as c_int + 1)
}

#[test]
fn a_fork_is_refused_and_does_not_hang() {
    for device in devices() {
        let known = Tensor::from_slice(&[1.0f32, 2.0, 3.0], [3], &device).realize().unwrap();
        // Big enough for the threads of the CPU, and launched before, so that every part of the driver was in use.
        let wide = (Tensor::ones([1 << 18], known.dtype(), &device) * 2.0).sum(());
        assert_eq!(wide.item::<f32>().unwrap(), (1 << 19) as f32);
        let pending = &known * 2.0;
        // SAFETY: the child only runs what is tested here, and leaves by `_exit`.
        let child = unsafe { fork() };
        if child == 0 {
            let wrong = first_wrong(device, &known, &pending);
            drop((known, pending));
            // SAFETY: ends the child without the destructors of the parent's statics.
            unsafe { _exit(wrong) };
        }
        assert!(child > 0);
        let (begin, mut status) = (Instant::now(), 0);
        // SAFETY: the child is ours, and `status` outlives the call.
        while unsafe { waitpid(child, &mut status, NO_WAIT) } == 0 {
            if begin.elapsed() > Duration::from_secs(120) {
                // SAFETY: as above.
                unsafe { kill(child, KILL) };
                panic!("{device}: a fork hangs");
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        assert_eq!(status, 0, "{device}: use {} of the list (or signal {})", status >> 8, status & 0x7f);
        assert_eq!(pending.to_vec::<f32>().unwrap(), [2.0, 4.0, 6.0], "the parent goes on");
    }
}
