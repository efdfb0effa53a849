//! Programs on a device of the machine (PoCL where there is no other), against the interpreter; errors of compiling and launching.

#[path = "../../../unigrad-gpu/tests/support/conformance.rs"]
mod conformance;
#[path = "../../../unigrad-gpu/tests/support/crossed.rs"]
mod crossed;
#[path = "../../../unigrad-gpu/tests/support/grouped.rs"]
mod grouped;
#[path = "../../../unigrad-gpu/tests/support/summed.rs"]
mod summed;

use conformance::{arithmetic, check, movement, programs, structure};
use unigrad_device::{Driver, Error, Timeline};
use unigrad_gpu::{Backend, Bound, GpuDevice, Range};
use unigrad_ir::{Builder, Dialect, Raw, Source};
use unigrad_opencl::{OpenClBackend, OpenClDriver};
use unigrad_scalar::DType;

fn open() -> Option<OpenClBackend> {
    let found = OpenClDriver.discover();
    if found.devices.is_empty() {
        println!("SKIPPED: no OpenCL device: {:?}", found.problem);
        return None;
    }
    Some(OpenClBackend::open(0).unwrap())
}

#[test]
fn float_arithmetic_is_the_interpreters() {
    let Some(device) = open() else { return };
    for dtype in programs::computed(device.target()).into_iter().filter(|d| d.is_float()) {
        check(&device, arithmetic(dtype));
    }
}

#[test]
fn integer_arithmetic_is_the_interpreters() {
    let Some(device) = open() else { return };
    for dtype in programs::computed(device.target()).into_iter().filter(|d| !d.is_float()) {
        check(&device, arithmetic(dtype));
    }
}

#[test]
fn casts_bits_and_vectors_are_the_interpreters() {
    let Some(device) = open() else { return };
    for dtype in programs::held(device.target()) {
        check(&device, movement(dtype, device.target()));
    }
}

#[test]
fn shared_memory_loops_and_atomics_are_the_interpreters() {
    let Some(device) = open() else { return };
    check(&device, structure(device.target()));
}

#[test]
fn groups_of_tensors_take_few_launches() {
    let Some(device) = open() else { return };
    let has_f64 = device.target().f64;
    assert!(device.target().tables);
    grouped::groups(&GpuDevice::new(device), has_f64);
}

#[test]
fn products_with_sums_of_an_operand() {
    let Some(device) = open() else { return };
    summed::products_and_sums(&GpuDevice::new(device));
}

#[test]
fn rows_and_columns_in_one_walk() {
    let Some(device) = open() else { return };
    let has_f64 = device.target().f64;
    crossed::rows_and_columns(&GpuDevice::new(device), has_f64);
}

/// A program whose body is one line of OpenCL C.
fn raw(name: &str, line: &str) -> unigrad_ir::Program {
    let mut b = Builder::new(name, [1, 1, 1]);
    let y = b.buffer_mut("y", DType::U32);
    let texts = vec![(Dialect::OpenCl, line.to_owned())];
    b.raw(Raw { texts, preludes: Vec::new(), values: Vec::new(), places: vec![y] });
    b.finish()
}

#[test]
fn a_compilers_words_come_back_with_the_line() {
    let Some(device) = open() else { return };
    match device.load(&raw("broken", "{p0}[0] = no_such_function(1);")) {
        Err(Error::Compile { kernel, cause, device }) => {
            assert_eq!((kernel.as_str(), device.as_str()), ("broken", "opencl:0"));
            assert!(cause.contains("no_such_function"), "{cause}");
            let quoted = cause.lines().any(|line| line.trim_start().starts_with(|c: char| c.is_ascii_digit()) && line.contains(" | "));
            assert!(quoted, "the line itself is there: {cause}");
        }
        other => panic!("{other:?}"),
    }
    // The device works on.
    let module = device.load(&raw("right", "{p0}[0] = 42;")).unwrap();
    let handle = device.allocate(4).unwrap();
    let range = Range { handle, offset: 0, len: 4 };
    device.launch(&module, [1, 1, 1], &[Bound::Buffer(range)]).unwrap();
    let mut back = [0; 4];
    device.download(range, &mut back).unwrap();
    assert_eq!(u32::from_le_bytes(back), 42);
    // A launch that cannot be is refused with its cause, and nothing else happens.
    let most = device.target().max_grid[1];
    match device.launch(&module, [1, most + 1, 1], &[Bound::Buffer(range)]) {
        Err(Error::Launch { kernel, cause, .. }) => assert!(kernel == "right" && cause.contains("axis 1"), "{cause}"),
        other => panic!("{other:?}"),
    }
    for args in [vec![], vec![Bound::Scalar(DType::U32, 1)], vec![Bound::Buffer(range), Bound::Buffer(range)]] {
        let refused = device.launch(&module, [1, 1, 1], &args);
        assert!(matches!(&refused, Err(Error::Launch { cause, .. }) if cause.contains("CL_INVALID_KERNEL_ARGS")), "{refused:?}");
    }
    device.launch(&module, [1, 1, 1], &[Bound::Buffer(range)]).unwrap();
    device.synchronize().unwrap();
    device.free(handle);
}

#[test]
fn threads_launch_one_module_with_their_own_arguments() {
    let Some(device) = open() else { return };
    let mut b = Builder::new("number", [1, 1, 1]);
    let (y, n) = (b.buffer_mut("y", DType::U32), b.scalar("n", DType::U32));
    let i = b.group(0);
    let sum = b.add(n, i);
    b.store(y, i, sum);
    let module = device.load(&b.finish()).unwrap();
    std::thread::scope(|scope| {
        for thread in 0..4_u64 {
            let (device, module) = (&device, &module);
            scope.spawn(move || {
                let handle = device.allocate(400).unwrap();
                let range = Range { handle, offset: 0, len: 400 };
                for round in 0..50 {
                    let first = 1000 * thread + round;
                    device.launch(module, [100, 1, 1], &[Bound::Buffer(range), Bound::Scalar(DType::U32, first)]).unwrap();
                    let mut back = [0; 400];
                    device.download(range, &mut back).unwrap();
                    let words: Vec<u64> = back.chunks(4).map(|w| u32::from_le_bytes([w[0], w[1], w[2], w[3]]).into()).collect();
                    assert_eq!(words, (first..first + 100).collect::<Vec<_>>());
                }
                device.free(handle);
            });
        }
    });
}

#[test]
fn a_users_program_takes_parts_of_buffers_as_plain_pointers() {
    let Some(device) = open() else { return };
    let mut b = Builder::new("scale", [4, 1, 1]);
    b.buffer("x", DType::F32);
    b.buffer_mut("y", DType::F32);
    b.scalar("factor", DType::F32);
    let signature = b.finish();
    let text = "__kernel void scale(__global const float* x, __global float* y, float factor) {
        __local float tile[4];
        tile[get_local_id(0)] = x[get_global_id(0)];
        barrier(CLK_LOCAL_MEM_FENCE);
        y[get_global_id(0)] += factor * tile[3 - get_local_id(0)];
    }";
    let source =
        |text: &str| Source { text: text.to_owned(), entry: "scale".to_owned(), options: Vec::new(), dynamic_shared: 0, waits: false };
    let module = device.load_source(&source(text), &signature).unwrap();
    let handle = device.allocate(2048).unwrap();
    let bytes = |values: &[f32]| values.iter().flat_map(|v| v.to_le_bytes()).collect::<Vec<u8>>();
    // Offsets that sub-buffers may have, and one that hardly any device lets them have.
    for (x, y) in [(0, 1024), (1024, 512), (64, 0), (0, 64), (192, 448)] {
        let (x, y) = (Range { handle, offset: x, len: 32 }, Range { handle, offset: y, len: 32 });
        device.upload(&bytes(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]), x).unwrap();
        device.upload(&bytes(&[0.5; 8]), y).unwrap();
        let factor = Bound::Scalar(DType::F32, f32::to_bits(10.0).into());
        device.launch(&module, [2, 1, 1], &[Bound::Buffer(x), Bound::Buffer(y), factor]).unwrap();
        let mut back = [0; 32];
        device.download(y, &mut back).unwrap();
        assert_eq!(back[..], bytes(&[40.5, 30.5, 20.5, 10.5, 80.5, 70.5, 60.5, 50.5]), "{x:?} {y:?}");
    }
    // Entries of tables come one after another.
    let mut b = Builder::new("scale", [4, 1, 1]);
    b.table("xs", DType::F32, 2, false);
    b.table("ys", DType::F32, 2, true);
    b.scalar_table("factors", DType::F32, 2);
    let tables = b.finish();
    let text =
        "__kernel void scale(__global const float* a, __global const float* b, __global float* c, __global float* d, float f, float g) {
        c[get_local_id(0)] = f * a[get_local_id(0)];
        if (get_local_id(0) == 0) d[0] = g * b[0];
    }";
    let module = device.load_source(&source(text), &tables).unwrap();
    let part = |offset: usize, len: usize| Range { handle, offset, len };
    device.upload(&bytes(&[1.0, 2.0, 3.0, 4.0, 5.0]), part(64, 20)).unwrap();
    let (xs, ys) = (vec![part(64, 16), part(80, 4)], vec![part(1024, 16), part(448, 4)]);
    let factors = Bound::ScalarTable(DType::F32, [10.0, 100.0].map(|f: f32| f.to_bits().into()).to_vec());
    device.launch(&module, [1, 1, 1], &[Bound::Table(xs.clone()), Bound::Table(ys.clone()), factors.clone()]).unwrap();
    let mut back = [0; 20];
    device.download(ys[0], &mut back[..16]).unwrap();
    device.download(ys[1], &mut back[16..]).unwrap();
    assert_eq!(back[..], bytes(&[10.0, 20.0, 30.0, 40.0, 500.0]));
    let refused = device.launch(&module, [1, 1, 1], &[Bound::Table(xs[..1].to_vec()), Bound::Table(ys), factors]);
    assert!(matches!(&refused, Err(Error::Launch { cause, .. }) if cause.contains("CL_INVALID_KERNEL_ARGS")), "{refused:?}");
    device.free(handle);
    let other = device.load_source(&source("__kernel void scale(__global float* x) { x[0] = 1; }"), &signature);
    assert!(matches!(&other, Err(Error::Compile { cause, .. }) if cause.contains("1 arguments, and a launch would pass 3")), "{other:?}");
    let mark = device.mark().unwrap().unwrap();
    device.wait(&mark).unwrap();
    assert!(device.is_done(&mark).unwrap());
}
