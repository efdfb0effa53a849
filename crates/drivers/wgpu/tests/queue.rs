//! The queue and its memory: order, odd sizes, large grids, no elements, errors that surface, time.

#[path = "../../../unigrad-ir/tests/programs/mod.rs"]
mod programs;
mod support;

use unigrad_device::{Driver, Error, Timeline};
use unigrad_gpu::{Backend, Bound, Range};
use unigrad_ir::Builder;
use unigrad_scalar::DType;
use unigrad_wgpu::{WgpuBackend, WgpuDriver};

/// `y[group] += 1` by the first thread of each of `n` groups, counted through over the axes.
fn count_groups() -> unigrad_ir::Program {
    let mut b = Builder::new("count_groups", [1, 1, 1]);
    let y = b.buffer_mut("y", DType::U32);
    let (gx, gy, gz) = (b.group(0), b.group(1), b.group(2));
    let (nx, ny) = (b.group_count(0), b.group_count(1));
    let at = b.mul(gz, ny);
    let at = b.add(at, gy);
    let at = b.mul(at, nx);
    let at = b.add(at, gx);
    let old = b.load(y, at);
    let new = b.add_const(old, 1);
    b.store(y, at, new);
    b.finish()
}

#[test]
fn grids_beyond_the_devices_limit_are_folded() {
    if support::is_missing() {
        return;
    }
    let backend = WgpuBackend::open(0).unwrap();
    let module = backend.load(&count_groups()).unwrap();
    for grid in [[70_000, 1, 1], [3, 65_535, 1], [65_536, 2, 3], [2, 70_001, 2]] {
        let n = grid.iter().product::<u32>() as usize;
        let y = Range { handle: backend.allocate(4 * n).unwrap(), offset: 0, len: 4 * n };
        backend.upload(&vec![0; 4 * n], y).unwrap();
        backend.launch(&module, grid, &[Bound::Buffer(y)]).unwrap();
        let mut data = vec![0; 4 * n];
        backend.download(y, &mut data).unwrap();
        assert!(support::elements(DType::U32, &data).iter().all(|count| *count == 1), "{grid:?}");
        backend.free(y.handle);
    }
    let y = Range { handle: backend.allocate(64).unwrap(), offset: 0, len: 64 };
    assert!(matches!(backend.launch(&module, [u32::MAX, 4, 1], &[Bound::Buffer(y)]), Err(Error::Launch { .. })));
}

#[test]
fn order_is_kept_across_uploads_launches_and_copies() {
    for (what, backend) in support::backends() {
        // y += 1, many more times than are gathered, with uploads and copies between.
        let mut b = Builder::new("increment", [64, 1, 1]);
        let y = b.buffer_mut("y", DType::U32);
        let i = b.global_index();
        let v = b.load(y, i);
        let v = b.add_const(v, 1);
        b.store(y, i, v);
        let module = backend.load(&b.finish()).unwrap();
        let memory = backend.allocate(1024).unwrap();
        let other = backend.allocate(1024).unwrap();
        let (y, z) = (Range { handle: memory, offset: 64, len: 256 }, Range { handle: memory, offset: 512, len: 256 });
        let away = Range { handle: other, offset: 256, len: 256 };
        let all = |value: u32| value.to_le_bytes().repeat(64);
        backend.upload(&all(5), y).unwrap();
        for _ in 0..200 {
            backend.launch(&module, [1, 1, 1], &[Bound::Buffer(y)]).unwrap();
        }
        backend.copy(y, z).unwrap(); // 205, within a buffer
        backend.launch(&module, [1, 1, 1], &[Bound::Buffer(y)]).unwrap();
        backend.copy(y, away).unwrap(); // 206
        backend.upload(&all(7), y).unwrap();
        backend.launch(&module, [1, 1, 1], &[Bound::Buffer(y)]).unwrap();
        let mut data = vec![0; 256];
        for (range, want) in [(y, 8), (z, 205), (away, 206)] {
            backend.download(range, &mut data).unwrap();
            assert_eq!(data, all(want), "{what}");
        }
        backend.free(memory);
        backend.free(other);
    }
}

#[test]
fn copies_of_any_length() {
    for (what, backend) in support::backends() {
        let (a, b) = (backend.allocate(5000).unwrap(), backend.allocate(5000).unwrap());
        for len in [0usize, 1, 2, 3, 4, 5, 63, 64, 65, 255, 4099] {
            let data: Vec<u8> = (0..len).map(|i| (i * 31 + len) as u8).collect();
            let (from, to) = (Range { handle: a, offset: 64, len }, Range { handle: b, offset: 128, len });
            backend.upload(&data, from).unwrap();
            backend.copy(from, to).unwrap();
            let mut back = vec![0; len];
            backend.download(to, &mut back).unwrap();
            assert_eq!(back, data, "{what}: {len} bytes");
        }
    }
}

#[test]
fn copies_change_no_byte_beyond_their_last() {
    for (what, backend) in support::backends() {
        let room = 200_000;
        let (a, b) = (backend.allocate(room).unwrap(), backend.allocate(room).unwrap());
        let all = |handle| Range { handle, offset: 0, len: room };
        let new: Vec<u8> = (0..room).map(|i| (i * 7) as u8).collect();
        let old = vec![0xa5; room];
        for (offset, len) in [(0usize, 1usize), (64, 2), (128, 3), (64, 5), (0, 13), (64, 20), (64, 65_535), (0, 70_001), (128, 131_090)] {
            // From the host, within the device, and within one buffer.
            let (from, to) = (Range { handle: a, offset: 192, len }, Range { handle: b, offset, len });
            let behind = (192 + len).next_multiple_of(64);
            let inside = Range { handle: a, offset: behind, len: len.min(room - behind - 64) };
            backend.upload(&old, all(b)).unwrap();
            backend.upload(&new[..len], to).unwrap();
            let mut back = vec![0; room];
            backend.download(all(b), &mut back).unwrap();
            let check = |back: &[u8], at: usize, len: usize, from: &[u8], how: &str| {
                assert!(back[at..at + len] == *from, "{what}: {len} bytes {how} at {at}");
                assert!(back[at + len..].iter().all(|byte| *byte == 0xa5), "{what}: beyond {len} bytes {how} at {at}");
            };
            check(&back, offset, len, &new[..len], "uploaded");
            backend.upload(&old, all(b)).unwrap();
            backend.upload(&old, all(a)).unwrap();
            backend.upload(&new[..len], from).unwrap();
            backend.copy(from, to).unwrap();
            backend.copy(Range { len: inside.len, ..from }, inside).unwrap();
            backend.download(all(b), &mut back).unwrap();
            check(&back, offset, len, &new[..len], "copied");
            backend.download(all(a), &mut back).unwrap();
            check(&back, behind, inside.len, &new[..inside.len], "copied within a buffer");
        }
    }
}

#[test]
fn large_copies_go_in_pieces() {
    for (what, backend) in support::backends() {
        // More than the device binds at a time, in many pieces of staging; twice, so that staging is used again.
        let len = (130 << 20) + 13;
        let [range, other] = [(); 2].map(|()| Range { handle: backend.allocate(len).unwrap(), offset: 0, len });
        let mut back = vec![0; len];
        for turn in 0..2 {
            let data: Vec<u8> = (0..len).map(|i| (i ^ i >> 8 ^ i >> 16) as u8 ^ turn).collect();
            backend.upload(&data, range).unwrap();
            backend.copy(range, other).unwrap();
            backend.download(other, &mut back).unwrap();
            assert!(back == data, "{what}");
        }
    }
}

#[test]
fn arguments_without_elements() {
    for (_, backend) in support::backends() {
        let module = backend.load(&programs::row_sum()).unwrap();
        let y = Range { handle: backend.allocate(64).unwrap(), offset: 0, len: 8 };
        let none = Range { handle: y.handle, offset: 0, len: 0 };
        backend.launch(&module, [2, 1, 1], &[Bound::Buffer(none), Bound::Buffer(y), Bound::Scalar(DType::U32, 0)]).unwrap();
        let mut data = [1; 8];
        backend.download(y, &mut data).unwrap();
        assert_eq!(data, [0; 8]);
    }
}

#[test]
fn what_does_not_fit_is_refused_and_the_device_goes_on() {
    if support::is_missing() {
        return;
    }
    let backend = WgpuBackend::open(0).unwrap();
    let limits = WgpuDriver.discover().devices[0].limits.clone();
    let limit = |name: &str| limits.iter().find(|(n, _)| *n == name).unwrap().1;
    assert!(matches!(backend.allocate(limit("bytes per buffer") as usize + 1), Err(Error::OutOfMemory { .. })));
    let module = backend.load(&programs::row_sum()).unwrap();
    let handle = backend.allocate(1024).unwrap();
    let (good, beyond) = (Range { handle, offset: 0, len: 64 }, Range { handle, offset: 960, len: 128 });
    let launch = |x, y| backend.launch(&module, [1, 1, 1], &[Bound::Buffer(x), Bound::Buffer(y), Bound::Scalar(DType::U32, 0)]);
    assert!(matches!(launch(good, beyond), Err(Error::Launch { .. })));
    assert!(matches!(launch(Range { handle: 999, ..good }, good), Err(Error::Launch { .. })));
    assert!(matches!(backend.launch(&module, [1, 1, 1], &[]), Err(Error::Launch { .. })));
    assert!(matches!(backend.upload(&[0; 128], beyond), Err(Error::Copy { .. })));
    assert!(matches!(backend.download(Range { handle: 999, ..good }, &mut [0; 4]), Err(Error::Copy { .. })));
    assert!(matches!(WgpuDriver.open(99), Err(Error::NotAvailable { .. })));
    backend.free(999);
    launch(good, Range { offset: 512, ..good }).unwrap();
    backend.synchronize().unwrap();
    // Freed while it is in use.
    launch(good, Range { offset: 512, ..good }).unwrap();
    backend.free(handle);
    backend.synchronize().unwrap();
}

#[test]
fn marks_measure_time() {
    if support::is_missing() {
        return;
    }
    let backend = WgpuBackend::open(0).unwrap();
    let module = backend.load(&count_groups()).unwrap();
    let y = Range { handle: backend.allocate(4 << 16).unwrap(), offset: 0, len: 4 << 16 };
    let from = backend.mark().unwrap().unwrap();
    for _ in 0..70 {
        backend.launch(&module, [1 << 15, 2, 1], &[Bound::Buffer(y)]).unwrap();
    }
    let to = backend.mark().unwrap().unwrap();
    backend.wait(&to).unwrap();
    assert!(backend.is_done(&from).unwrap() && backend.is_done(&to).unwrap());
    let time = backend.elapsed(&from, &to).unwrap();
    assert!((1e3..60e9).contains(&time), "{time} ns");
}

#[test]
fn times_between_marks_are_the_devices_alone() {
    if support::is_missing() {
        return;
    }
    let backend = WgpuBackend::open(0).unwrap();
    let module = backend.load(&count_groups()).unwrap();
    let y = Range { handle: backend.allocate(4 << 4).unwrap(), offset: 0, len: 4 << 4 };
    let pause = std::time::Duration::from_millis(300);
    let from = backend.mark().unwrap().unwrap();
    std::thread::sleep(pause);
    backend.launch(&module, [1, 1, 1], &[Bound::Buffer(y)]).unwrap();
    let to = backend.mark().unwrap().unwrap();
    std::thread::sleep(pause);
    let time = backend.elapsed(&from, &to).unwrap();
    assert!(time < 0.9 * pause.as_nanos() as f64, "{time} ns");
    // A mark of work that is done already.
    let last = backend.mark().unwrap().unwrap();
    backend.wait(&last).unwrap();
    assert!(backend.is_done(&last).unwrap());
}

#[test]
fn discovery_describes_the_adapters() {
    let found = WgpuDriver.discover();
    assert_eq!(found.devices.is_empty(), found.problem.is_some());
    for (at, info) in found.devices.iter().enumerate() {
        assert!(info.ordinal == at && info.backend == WgpuDriver.backend() && !info.name.is_empty() && !info.version.is_empty());
    }
}

#[test]
fn a_users_program_gets_its_arguments() {
    if support::is_missing() {
        return;
    }
    let backend = WgpuBackend::open(0).unwrap();
    let text = "struct Numbers { n: u32, factor: f32 }
@group(0) @binding(0) var<storage, read_write> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> y: array<f32>;
@group(0) @binding(2) var<uniform> numbers: Numbers;
@compute @workgroup_size(64)
fn scale_it(@builtin(global_invocation_id) id: vec3<u32>) {
    if (id.x < numbers.n) { y[id.x] = x[id.x] * numbers.factor; }
}";
    let mut b = Builder::new("scale_it", [64, 1, 1]);
    b.buffer("x", DType::F32);
    b.buffer_mut("y", DType::F32);
    b.scalar("n", DType::U32);
    b.scalar("factor", DType::F32);
    let source =
        unigrad_ir::Source { text: text.to_owned(), entry: "scale_it".to_owned(), options: Vec::new(), dynamic_shared: 0, waits: false };
    let module = backend.load_source(&source, &b.finish()).unwrap();
    let memory = backend.allocate(1024).unwrap();
    let (x, y) = (Range { handle: memory, offset: 0, len: 40 }, Range { handle: memory, offset: 256, len: 40 });
    let floats: Vec<u64> = (0..10).map(|i| u64::from((i as f32).to_bits())).collect();
    backend.upload(&support::bytes(DType::F32, &floats), x).unwrap();
    let numbers = [Bound::Scalar(DType::U32, 10), Bound::Scalar(DType::F32, 2.5f32.to_bits().into())];
    backend.launch(&module, [1, 1, 1], &[Bound::Buffer(x), Bound::Buffer(y), numbers[0].clone(), numbers[1].clone()]).unwrap();
    let mut data = [0; 40];
    backend.download(y, &mut data).unwrap();
    let want: Vec<u64> = (0..10).map(|i| u64::from((i as f32 * 2.5).to_bits())).collect();
    assert_eq!(support::elements(DType::F32, &data), want);
}

#[test]
fn memory_figures_follow_what_is_allocated() {
    if support::is_missing() {
        return;
    }
    let listed = &WgpuDriver.discover().devices[0];
    let backend = WgpuBackend::open(0).unwrap();
    let before = backend.info();
    assert!(before.memory_total >= 64 << 20 && before.memory_total == listed.memory_total, "{before:?}");
    assert!(before.memory_free > 0 && before.memory_free <= before.memory_total, "{before:?}");
    let bytes = 32usize << 20;
    // Touched, so that a device that counts pages counts these.
    let memory = Range { handle: backend.allocate(bytes).unwrap(), offset: 0, len: bytes };
    backend.upload(&vec![1; bytes], memory).unwrap();
    assert!(backend.info().memory_free <= before.memory_total - bytes as u64);
    let Err(Error::OutOfMemory { total, in_use, free, .. }) = backend.allocate(1 << 50) else { panic!("a petabyte") };
    assert_eq!((total, in_use), (before.memory_total, bytes as u64));
    assert!(free > 0 && free <= total - in_use);
    backend.free(memory.handle);
}
