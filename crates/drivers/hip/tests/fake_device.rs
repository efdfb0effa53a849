//! The driver's host code on a HIP library that runs on the processor (`tests/fake`): discovery, memory, compiling, launching,
//! what fails, and every program of the IR against the interpreter.
//!
//! The library is named by an environment variable that the driver reads once, so the tests run in a process of their own, which one test
//! starts after it has compiled the library.

#[path = "../../../unigrad-gpu/tests/support/conformance.rs"]
mod conformance;
#[path = "fake/products.rs"]
mod products;

use conformance::{arithmetic, check, movement, structure};
use std::{
    path::{Path, PathBuf},
    process::Command,
};
use unigrad_device::{Driver, Error, Peers, Timeline};
use unigrad_gpu::{Backend, Bound, Range};
use unigrad_hip::{HipBackend, HipDriver};
use unigrad_ir::{Builder, Dialect, Raw, Source};
use unigrad_scalar::DType;

const LIBRARY: &str = "UNIGRAD_HIP_LIBRARY";

/// Compiles the fake library, or says what is missing for it.
fn library() -> Result<(PathBuf, &'static str), String> {
    if !cfg!(target_os = "linux") {
        return Err("the fake HIP library is for Linux".to_owned());
    }
    let runs = |name: &&str| Command::new(name).arg("--version").output().is_ok_and(|output| output.status.success());
    // Kernels need `_Float16` and vectors of GNU C; g++ has the first only since version 13.
    let clang = ["clang++", "clang++-22", "clang++-21", "clang++-20", "clang++-19"].into_iter().find(runs);
    let clang = clang.ok_or("no clang++ to compile kernels for the processor")?;
    let sources = ["hip.cpp", "rocblas.cpp"].map(|name| Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fake").join(name));
    let library = Path::new(env!("CARGO_TARGET_TMPDIR")).join("libfakehip.so");
    let mut command = Command::new(clang);
    command.args(["-std=c++17", "-O1", "-Wall", "-Werror", "-fPIC", "-shared", "-o"]).arg(&library).args(sources).arg("-ldl");
    let output = command.output().map_err(|error| error.to_string())?;
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Ok((library, clang))
}

#[test]
fn the_driver_works_on_a_fake_library() {
    let (library, clang) = match library() {
        Ok(found) => found,
        Err(why) => return println!("SKIPPED: {why}"),
    };
    let cache = Path::new(env!("CARGO_TARGET_TMPDIR")).join("hip-cache");
    let run = |arguments: &[&str], variables: &[(&str, &str)]| {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(arguments).env(LIBRARY, &library).env("FAKE_HIP_CXX", clang).env("UNIGRAD_CACHE_DIR", &cache);
        let output = command.envs(variables.iter().copied()).output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "{text}\n{}", String::from_utf8_lossy(&output.stderr));
        text
    };
    let apart = ["no_device", "no_library", "what_the_runtime_refuses", "memory_copies", "by_the_library"];
    let skips: Vec<&str> = apart.iter().flat_map(|name| ["--skip", name]).collect();
    let text = run(&[&["--ignored", "--test-threads", "2"], &skips[..]].concat(), &[]);
    assert!(text.contains(" 0 failed") && !text.contains(" 0 passed"), "{text}");
    // Failures are for the next call of a function, whichever test makes it.
    run(&["--ignored", "what_the_runtime_refuses"], &[]);
    // Counts all memory of a device.
    run(&["--ignored", "memory_copies"], &[]);
    for (name, products) in [("products::by_the_library", "library"), ("products::never", "own")] {
        let text = run(&["--ignored", "--test-threads", "1", name], &[("UNIGRAD_PRODUCTS", products)]);
        assert!(!text.contains(" 0 passed"), "{text}");
    }
    run(&["--ignored", "no_device"], &[("FAKE_HIP_NO_DEVICE", "1")]);
    run(&["--ignored", "no_library"], &[(LIBRARY, "/nowhere/libamdhip64.so")]);
    // A library, but not this one.
    let text = run(&["--ignored", "--nocapture", "no_library"], &[(LIBRARY, "libc.so.6")]);
    assert!(text.contains("it has no function hip"), "{text}");
}

#[test]
#[ignore = "run by the_driver_works_on_a_fake_library"]
fn no_library() {
    let found = HipDriver.discover();
    let (cause, help) = found.problem.unwrap();
    println!("{cause}");
    assert!(found.devices.is_empty() && cause.starts_with("the HIP runtime (libamdhip64) not found (") && help.contains(LIBRARY));
    assert!(matches!(HipBackend::open(0), Err(Error::NotAvailable { cause: again, .. }) if again == cause));
}

#[test]
#[ignore = "run by the_driver_works_on_a_fake_library"]
fn no_device() {
    let found = HipDriver.discover();
    let (cause, help) = found.problem.unwrap();
    assert!(found.devices.is_empty() && cause.contains("finds no GPU") && help.contains("/dev/kfd"));
    assert!(matches!(HipBackend::open(0), Err(Error::NotAvailable { asked, .. }) if asked == "hip:0"));
}

#[test]
#[ignore = "run by the_driver_works_on_a_fake_library"]
fn discovery_describes_both_gpus() {
    let found = HipDriver.discover();
    assert!(found.problem.is_none(), "{:?}", found.problem);
    let [instinct, radeon] = &found.devices[..] else { panic!("{:?}", found.devices) };
    assert_eq!((instinct.name.as_str(), instinct.compute_units, instinct.memory_total), ("Fake Instinct", 4, 64 << 20));
    assert_eq!((instinct.version.as_str(), instinct.device(), radeon.device()), ("HIP 6.4", "hip:0".to_owned(), "hip:1".to_owned()));
    assert!(instinct.features.contains(&"gfx90a:sramecc+:xnack-".to_owned()) && instinct.features.contains(&"wave 64".to_owned()));
    assert!(radeon.features.contains(&"gfx1100".to_owned()) && radeon.features.contains(&"wave 32".to_owned()));
    let target = HipBackend::open(0).unwrap().target().clone();
    assert_eq!((target.arch.as_str(), target.subgroup, target.max_threads), ("gfx90a", Some(64), 1024));
    assert!(u64::from(target.max_grid[0]) * u64::from(target.max_threads) < 1 << 32);
    assert!(matches!(HipBackend::open(2), Err(Error::NotAvailable { cause, .. }) if cause.contains("finds 2 GPUs")));
}

/// The library's own functions for tests.
struct Fake(libloading::Library);

impl Fake {
    fn new() -> Fake {
        // SAFETY: the library that the driver has loaded.
        Fake(unsafe { libloading::Library::new(std::env::var(LIBRARY).unwrap()) }.unwrap())
    }

    /// Lets the next call of a function fail.
    fn fail(&self, function: &str, code: i32) {
        let name = std::ffi::CString::new(function).unwrap();
        // SAFETY: declared so in the library.
        unsafe { self.0.get::<unsafe extern "C" fn(*const std::ffi::c_char, i32)>("fake_hip_fail").unwrap()(name.as_ptr(), code) }
    }
}

fn range(handle: u64, offset: usize, len: usize) -> Range {
    Range { handle, offset, len }
}

#[test]
#[ignore = "run by the_driver_works_on_a_fake_library"]
fn memory_copies_marks_and_running_out() {
    let device = HipBackend::open(1).unwrap();
    let (a, b) = (device.allocate(1000).unwrap(), device.allocate(1000).unwrap());
    let data: Vec<u8> = (0..936).map(|i| i as u8).collect();
    let start = device.mark().unwrap().unwrap();
    device.upload(&data, range(a, 64, 936)).unwrap();
    device.copy(range(a, 64, 936), range(b, 0, 936)).unwrap();
    let end = device.mark().unwrap().unwrap();
    assert!(device.elapsed(&start, &end).unwrap() > 0.0 && device.is_done(&end).unwrap());
    device.wait(&end).unwrap();
    let mut back = vec![0; 936];
    device.download(range(b, 0, 936), &mut back).unwrap();
    assert_eq!(back, data);
    assert!(device.download(range(b, 64, 2000), &mut vec![0; 2000]).is_err());
    assert_eq!(device.info().memory_total - device.info().memory_free, 2000);
    match device.allocate(64 << 20) {
        Err(Error::OutOfMemory { asked, free, total, in_use, .. }) => {
            assert_eq!((asked, free, total, in_use), (64 << 20, (64 << 20) - 2000, 64 << 20, 2000));
        }
        other => panic!("{other:?}"),
    }
    [a, b, b, 7].into_iter().for_each(|handle| device.free(handle));
    let all = device.allocate(64 << 20).unwrap();
    device.free(all);
    device.synchronize().unwrap();
}

#[test]
#[ignore = "run by the_driver_works_on_a_fake_library"]
fn queues_and_copies_between_devices() {
    let links = HipDriver.topology();
    assert_eq!(links.iter().map(|link| (link.from, link.to, link.peer_access)).collect::<Vec<_>>(), [(0, 1, true), (1, 0, true)]);
    let [first, second] = [HipBackend::open(0).unwrap(), HipBackend::open(1).unwrap()];
    let side = first.fork().unwrap().unwrap();
    let data: Vec<u8> = (0..512).map(|i| (i / 3) as u8).collect();
    // Memory of one queue is the other's too.
    let a = side.allocate(512).unwrap();
    side.upload(&data, range(a, 0, 512)).unwrap();
    let mark = side.mark().unwrap().unwrap();
    assert!(first.wait_for_peer(&mark).unwrap());
    let b = first.allocate(512).unwrap();
    first.copy(range(a, 0, 512), range(b, 0, 512)).unwrap();
    let mark = first.mark().unwrap().unwrap();
    assert!(second.wait_for_peer(&mark).unwrap());
    let c = second.allocate(512).unwrap();
    assert!(second.copy_from_peer(&first, range(b, 64, 448), range(c, 0, 448)).unwrap());
    let mut back = vec![0; 448];
    second.download(range(c, 0, 448), &mut back).unwrap();
    assert_eq!(back, data[64..]);
    assert!(second.copy_from_peer(&first, range(c, 0, 64), range(c, 64, 64)).is_err(), "not the other device's memory");
    [a, b].into_iter().for_each(|handle| first.free(handle));
    second.free(c);
}

#[test]
#[ignore = "run by the_driver_works_on_a_fake_library"]
fn errors_of_compiling_loading_and_launching() {
    let device = HipBackend::open(0).unwrap();
    let raw = |name: &str, line: &str| {
        let mut b = Builder::new(name, [1, 1, 1]);
        let y = b.buffer_mut("y", DType::U32);
        b.raw(Raw { texts: vec![(Dialect::Hip, line.to_owned())], preludes: Vec::new(), values: Vec::new(), places: vec![y] });
        b.finish()
    };
    match device.load(&raw("broken", "{p0}[0] = no_such_function(1);")) {
        Err(Error::Compile { kernel, cause, .. }) => {
            let place = cause.lines().next().unwrap_or_default();
            assert!(kernel == "broken" && place.starts_with("broken.hip:") && cause.contains("no_such_function"), "{cause}");
        }
        other => panic!("{other:?}"),
    }
    let module = device.load(&raw("right", "{p0}[0] = 42;")).unwrap();
    let handle = device.allocate(4).unwrap();
    let bound = [Bound::Buffer(range(handle, 0, 4))];
    let most = device.target().max_grid[0];
    let refused = device.launch(&module, [most + 1, 1, 1], &bound);
    assert!(matches!(&refused, Err(Error::Launch { cause, .. }) if cause.contains("axis 0")), "{refused:?}");
    device.launch(&module, [1, 1, 1], &bound).unwrap();
    let mut back = [0; 4];
    device.download(range(handle, 0, 4), &mut back).unwrap();
    assert_eq!(u32::from_le_bytes(back), 42);
    let missing = Source {
        text: "extern \"C\" __global__ void f(unsigned* y) {}".to_owned(),
        entry: "g".to_owned(),
        options: Vec::new(),
        dynamic_shared: 0,
        waits: false,
    };
    let refused = device.load_source(&missing, &raw("f", ""));
    assert!(matches!(&refused, Err(Error::Compile { cause, .. }) if cause.contains("hipErrorNotFound (500)")), "{refused:?}");
    device.free(handle);
}

#[test]
#[ignore = "run by the_driver_works_on_a_fake_library"]
fn a_users_source_runs() {
    let device = HipBackend::open(1).unwrap();
    let mut b = Builder::new("reverse", [4, 1, 1]);
    b.buffer("x", DType::F32);
    b.buffer_mut("y", DType::F32);
    b.scalar("factor", DType::F32);
    let text = "extern \"C\" __global__ void reverse(const float* x, float* y, float factor) {
        __shared__ float tile[4];
        unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
        tile[threadIdx.x] = x[i];
        __syncthreads();
        y[i] = factor * tile[3 - threadIdx.x];
    }";
    let source = Source { text: text.to_owned(), entry: "reverse".to_owned(), options: Vec::new(), dynamic_shared: 0, waits: false };
    let module = device.load_source(&source, &b.finish()).unwrap();
    let handle = device.allocate(256).unwrap();
    let bytes = |values: &[f32]| values.iter().flat_map(|v| v.to_le_bytes()).collect::<Vec<u8>>();
    let (x, y) = (range(handle, 0, 32), range(handle, 64, 32));
    device.upload(&bytes(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]), x).unwrap();
    let factor = Bound::Scalar(DType::F32, f32::to_bits(10.0).into());
    device.launch(&module, [2, 1, 1], &[Bound::Buffer(x), Bound::Buffer(y), factor]).unwrap();
    let mut back = [0; 32];
    device.download(y, &mut back).unwrap();
    assert_eq!(back[..], bytes(&[40.0, 30.0, 20.0, 10.0, 80.0, 70.0, 60.0, 50.0]));
    device.free(handle);
}

#[test]
#[ignore = "run by the_driver_works_on_a_fake_library"]
fn what_the_runtime_refuses_is_a_typed_error_and_fatal_ones_end_the_device() {
    let fake = Fake::new();
    let device = HipBackend::open(0).unwrap();
    let mut b = Builder::new("nothing", [64, 1, 1]);
    b.buffer_mut("y", DType::U32);
    let module = device.load(&b.finish()).unwrap();
    let handle = device.allocate(64).unwrap();
    let bound = [Bound::Buffer(range(handle, 0, 64))];
    fake.fail("hipModuleLaunchKernel", 9);
    let refused = device.launch(&module, [1, 1, 1], &bound);
    let Err(Error::Launch { cause, .. }) = &refused else { panic!("{refused:?}") };
    assert!(cause.starts_with("hipErrorInvalidConfiguration (9): what the runtime says about it"), "{cause}");
    device.launch(&module, [1, 1, 1], &bound).unwrap();
    fake.fail("hipModuleLaunchKernel", 719);
    assert!(matches!(device.launch(&module, [1, 1, 1], &bound), Err(Error::DeviceLost { .. })));
    for result in [device.launch(&module, [1, 1, 1], &bound), device.synchronize(), device.allocate(1).map(|_| ())] {
        assert!(matches!(&result, Err(Error::DeviceLost { cause, .. }) if cause == "an earlier failure"), "{result:?}");
    }
    // It can be opened again.
    let device = HipBackend::open(0).unwrap();
    let module = device.load(&module_of_one_store()).unwrap();
    let handle = device.allocate(64).unwrap();
    device.launch(&module, [1, 1, 1], &[Bound::Buffer(range(handle, 0, 64))]).unwrap();
    device.free(handle);
}

fn module_of_one_store() -> unigrad_ir::Program {
    let mut b = Builder::new("one", [1, 1, 1]);
    let y = b.buffer_mut("y", DType::U32);
    let (zero, one) = (b.u32(0), b.u32(1));
    b.store(y, zero, one);
    b.finish()
}

#[test]
#[ignore = "run by the_driver_works_on_a_fake_library"]
fn float_programs_are_the_interpreters() {
    let device = HipBackend::open(1).unwrap();
    check(&device, arithmetic(DType::F32));
    check(&device, arithmetic(DType::F64));
    check(&device, structure(device.target()));
}

#[test]
#[ignore = "run by the_driver_works_on_a_fake_library"]
fn integer_programs_are_the_interpreters() {
    let device = HipBackend::open(0).unwrap();
    // The processor's compiler takes half a second for each: one dtype of each width and sign is enough for the host code, and the
    // renderer's text for all of them is held against other compilers elsewhere.
    for dtype in [DType::Bool, DType::U8, DType::I32, DType::U64] {
        check(&device, arithmetic(dtype));
    }
    for dtype in [DType::Bool, DType::I8, DType::F16, DType::BF16, DType::I64] {
        check(&device, movement(dtype, device.target()));
    }
}
