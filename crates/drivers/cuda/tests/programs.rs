//! CUDA C means what the interpreter says: the IR's test programs on the machine's first GPU.

#[path = "../../../unigrad-ir/tests/programs/mod.rs"]
mod programs;
#[path = "../../../unigrad-gpu/tests/support/summed.rs"]
mod summed;

use programs::cases::{Arg, Case, cases};
use unigrad_cuda::{CudaBackend, CudaDriver};
use unigrad_device::Driver;
use unigrad_gpu::{Backend, Bound, Range};
use unigrad_ir::Target;

/// What the launch leaves in its buffers.
fn launch(device: &CudaBackend, case: &Case) -> Vec<Vec<u8>> {
    let mut ranges = Vec::new();
    let mut put = |bytes: &Vec<u8>| {
        let range = Range { handle: device.allocate(bytes.len()).unwrap(), offset: 0, len: bytes.len() };
        device.upload(bytes, range).unwrap();
        ranges.push(range);
        range
    };
    let bind = |arg: &Arg| match arg {
        Arg::Buffer(_, bytes) => Bound::Buffer(put(bytes)),
        Arg::Scalar(dtype, raw) => Bound::Scalar(*dtype, *raw),
        Arg::Table(_, buffers) => Bound::Table(buffers.iter().map(&mut put).collect()),
        Arg::ScalarTable(dtype, raw) => Bound::ScalarTable(*dtype, raw.clone()),
    };
    let bounds: Vec<Bound> = case.args.iter().map(bind).collect();
    let module = device.load(&case.program).unwrap_or_else(|e| panic!("{e}"));
    device.launch(&module, case.grid, &bounds).unwrap();
    let mut buffers = Vec::new();
    for range in ranges {
        let mut bytes = vec![0; range.len];
        device.download(range, &mut bytes).unwrap();
        device.free(range.handle);
        buffers.push(bytes);
    }
    buffers
}

#[test]
fn cuda_c_means_what_the_interpreter_says() {
    let found = CudaDriver.discover();
    if found.devices.is_empty() {
        println!("SKIPPED: no CUDA device: {:?}", found.problem);
        return;
    }
    let device = CudaBackend::open(0).unwrap();
    let target = Target { shared_bytes: 48 << 10, ..device.target().clone() };
    let mut differences = Vec::new();
    for case in cases(&target) {
        differences.extend(case.differences(&case.expected(&target), &launch(&device, &case)));
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

#[test]
fn products_with_sums_of_an_operand() {
    let found = CudaDriver.discover();
    if found.devices.is_empty() {
        println!("SKIPPED: no CUDA device: {:?}", found.problem);
        return;
    }
    summed::products_and_sums(&*CudaDriver.open(0).unwrap());
}
