//! What a launch of a prepared sequence costs the host beyond the driver's own call, with an empty kernel launched beside it in the same process.
//!
//! Ignored by default, for it measures: `cargo test --release -p unigrad-cuda --test submission -- --ignored --nocapture` on an idle machine.

use cudarc::driver::sys;
use std::{ffi::c_void, ptr::null_mut, time::Instant};
use unigrad_cuda::CudaDriver;
use unigrad_device::{Buffer, Device, Driver, Launch};
use unigrad_kernel::{Kernel, testing::regions};

/// Launches between two waits: fewer than the driver queues before it blocks.
const LAUNCHES: usize = 256;
const ROUNDS: usize = 40;
const EMPTY: &[u8] = b".version 7.0\n.target sm_52\n.address_size 64\n.visible .entry empty() { ret; }\n\0";

fn check(result: sys::CUresult) {
    assert_eq!(result, sys::CUresult::CUDA_SUCCESS);
}

/// Microseconds a launch: the best round, for what others do on the machine only adds.
fn best(mut round: impl FnMut(), mut wait: impl FnMut()) -> f64 {
    let time = |_| {
        wait();
        let begin = Instant::now();
        round();
        begin.elapsed().as_secs_f64() * 1e6 / LAUNCHES as f64
    };
    (0..ROUNDS).map(time).fold(f64::INFINITY, f64::min)
}

#[test]
#[ignore = "it measures: for an idle machine with an NVIDIA GPU"]
fn a_launch_costs_little_beyond_the_drivers_call() {
    let found = CudaDriver.discover();
    if found.devices.is_empty() {
        println!("SKIPPED: no CUDA device: {:?}", found.problem);
        return;
    }
    unigrad_device::register(CudaDriver);
    let device = Device::open("cuda:0").unwrap();
    let (mut context, mut stream, mut module, mut function) = (null_mut(), null_mut(), null_mut(), null_mut());
    // SAFETY: plain calls of the driver's API, with places for what they return; the module's text ends with a zero.
    unsafe {
        check(sys::cuDevicePrimaryCtxRetain(&raw mut context, 0));
        check(sys::cuCtxSetCurrent(context));
        check(sys::cuStreamCreate(&raw mut stream, 1));
        check(sys::cuModuleLoadData(&raw mut module, EMPTY.as_ptr().cast::<c_void>()));
        check(sys::cuModuleGetFunction(&raw mut function, module, c"empty".as_ptr()));
    }
    // SAFETY: the function takes no parameters.
    let empty = || unsafe {
        for _ in 0..LAUNCHES {
            check(sys::cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, stream, null_mut(), null_mut()));
        }
    };
    // SAFETY: the stream is alive.
    let wait = || unsafe { check(sys::cuStreamSynchronize(stream)) };
    let mut beyond = Vec::new();
    for seed in 0..60 {
        let (region, _, scalars) = regions::region(seed);
        let kernel = Kernel::Region(region);
        let Ok(program) = device.compile(&kernel) else { continue };
        let buffers: Vec<Buffer> = kernel.args().iter().map(|arg| device.allocate(arg.len * arg.dtype.size()).unwrap()).collect();
        let table: Vec<_> = buffers.iter().map(Buffer::as_slice).collect();
        let launch = || Launch::whole(program.clone(), kernel.args().len(), scalars.len());
        let sequence = device.prepare((0..LAUNCHES).map(|_| launch()).collect(), None).unwrap();
        let ours = || device.run(&sequence, 0..LAUNCHES, &table, &scalars).unwrap();
        // Some kernels are several launches, which say nothing about one.
        if device.describe(&*program).unwrap().len() != 1 {
            continue;
        }
        ours();
        // An index from memory that was never written may be out of range.
        if device.synchronize().is_err() {
            continue;
        }
        let mine = best(ours, || device.synchronize().unwrap());
        let drivers = best(empty, wait);
        beyond.push((mine - drivers, mine, drivers, kernel.args().len()));
    }
    beyond.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (median, ours, drivers, n_args) = beyond[beyond.len() / 2];
    println!("{} kernels: a launch {ours:.2} us ({n_args} tensors), the driver's own of an empty kernel {drivers:.2} us", beyond.len());
    println!("beyond it: {median:.2} us in the middle, {:.2} to {:.2}", beyond[0].0, beyond[beyond.len() - 1].0);
    assert!(beyond.len() >= 20 && median <= 0.5, "{median} us");
}
