//! The device as a browser's page has it: nothing waits, what is read comes later.

mod support;

use unigrad_device::{Error, OpenDevice, RawBuffer, ReadAsync, Slice, testing::block_on};
use unigrad_gpu::{Backend, Bound, GpuDevice, Range};
use unigrad_ir::Builder;
use unigrad_kernel::{Arg, Kernel, Scatter, ScatterBase};
use unigrad_scalar::{DType, Literal, ScatterMode};
use unigrad_wgpu::{WgpuBackend, Without};

fn page() -> WgpuBackend {
    WgpuBackend::open_without(0, Without { waiting: true, overlapping: true, offsets: true, ..Without::default() }).unwrap()
}

#[test]
fn what_would_wait_names_what_does_not() {
    if support::is_missing() {
        return;
    }
    let backend = page();
    let range = Range { handle: backend.allocate(64).unwrap(), offset: 0, len: 64 };
    backend.upload(&[1; 64], range).unwrap();
    let refused = [backend.download(range, &mut [0; 64]), backend.synchronize()];
    for error in refused {
        let error = error.unwrap_err();
        assert!(matches!(&error, Error::Copy { .. }) && error.to_string().contains("to_vec_async"), "{error}");
    }
    assert_eq!(block_on(backend.download_async(range).unwrap()).unwrap(), [1; 64]);
}

#[test]
fn reads_come_later_and_in_order() {
    if support::is_missing() {
        return;
    }
    let backend = page();
    let mut b = Builder::new("increment", [64, 1, 1]);
    let y = b.buffer_mut("y", DType::U32);
    let i = b.global_index();
    let v = b.load(y, i);
    let v = b.add_const(v, 1);
    b.store(y, i, v);
    let module = backend.load(&b.finish()).unwrap();
    let y = Range { handle: backend.allocate(256).unwrap(), offset: 0, len: 256 };
    let all = |value: u32| value.to_le_bytes().repeat(64);
    backend.upload(&all(5), y).unwrap();
    let mut reads = Vec::new();
    for _ in 0..100 {
        backend.launch(&module, [1, 1, 1], &[Bound::Buffer(y)]).unwrap();
        reads.push(backend.download_async(y).unwrap());
    }
    // What is uploaded after a read has begun is not what it reads; nor do reads depend on the order in which they are awaited.
    backend.upload(&all(0), y).unwrap();
    for (k, read) in reads.into_iter().enumerate().rev() {
        assert_eq!(block_on(read).unwrap(), all(6 + k as u32), "read {k}");
    }
    // Any length, and more than is staged at a time.
    let len = (40 << 20) + 3;
    let large = Range { handle: backend.allocate(len).unwrap(), offset: 0, len };
    let data: Vec<u8> = (0..len).map(|i| (i ^ i >> 8) as u8).collect();
    backend.upload(&data, large).unwrap();
    let read = backend.download_async(large).unwrap();
    backend.free(large.handle);
    assert!(block_on(read).unwrap() == data);
    for len in [0, 1, 5, 63] {
        let range = Range { len, ..y };
        assert_eq!(block_on(backend.download_async(range).unwrap()).unwrap(), vec![0; len]);
    }
    let nowhere = Range { handle: 999, offset: 0, len: 4 };
    assert!(matches!(block_on(backend.download_async(nowhere).unwrap()), Err(Error::Copy { .. })));
}

#[test]
fn an_index_out_of_range_is_found_by_a_read() {
    if support::is_missing() {
        return;
    }
    let device = GpuDevice::new(page());
    let arg = |dtype, len| Arg { dtype, len, write: false };
    let scatter = Kernel::Scatter(Scatter {
        mode: ScatterMode::Add,
        base: ScatterBase::Fill(Literal::zero(DType::F32)),
        axis: 0,
        shape: [2].as_slice().into(),
        index_strides: [1].as_slice().into(),
        index_offset: 0,
        src_strides: [1].as_slice().into(),
        src_offset: 0,
        out_shape: [3].as_slice().into(),
        index: arg(DType::I64, 2),
        src: arg(DType::F32, 2),
        dtype: DType::F32,
    });
    let program = device.compile(&scatter).unwrap();
    let with = |data: &[u8]| {
        let buffer = device.allocate(data.len()).unwrap();
        device.upload(data, whole(&buffer)).unwrap();
        buffer
    };
    fn whole(buffer: &RawBuffer) -> Slice<'_> {
        Slice { buffer, offset: 0, len: buffer.bytes }
    }
    let source = with(&[1.5f32, 2.0].map(f32::to_le_bytes).concat());
    let run = |index: [i64; 2]| {
        let (index, out) = (with(&index.map(i64::to_le_bytes).concat()), device.allocate(12).unwrap());
        device.launch(&*program, &[whole(&index), whole(&source), whole(&out)], &[], None).unwrap();
        out
    };
    let good = [0.0f32, 3.5, 0.0].map(f32::to_le_bytes).concat();
    // Reads that begin one after the other and end in the other order; then slots that are used again.
    for _ in 0..3 {
        let (first, second) = (run([1, -2]), run([1, 3]));
        let early = device.download_async(whole(&first).into()).unwrap();
        let third = run([1, 1]);
        let reads = [&third, &second].map(|out| device.download_async(whole(out).into()).unwrap());
        let [third, second] = reads.map(block_on);
        assert_eq!(third.as_deref(), Ok(&good[..]));
        assert!(matches!(second, Err(Error::IndexOutOfRange { index: 3, size: 3, .. })), "{second:?}");
        assert_eq!(block_on(early).as_deref(), Ok(&good[..]));
    }
}

#[test]
fn arguments_may_share_memory_all_the_same() {
    if support::is_missing() {
        return;
    }
    let backend = page();
    // z = x + y; w += z, for any length.
    let mut b = Builder::new("sums", [64, 1, 1]);
    let (x, y) = (b.buffer("x", DType::U8), b.buffer("y", DType::U8));
    let (z, w, n) = (b.buffer_mut("z", DType::U8), b.buffer_mut("w", DType::U8), b.scalar("n", DType::U32));
    let i = b.global_index();
    let inside = b.lt(i, n);
    b.when(inside, |b| {
        let (x, y, old) = (b.load(x, i), b.load(y, i), b.load(w, i));
        let sum = b.add(x, y);
        b.store(z, i, sum);
        let sum = b.add(old, sum);
        b.store(w, i, sum);
    });
    let module = backend.load(&b.finish()).unwrap();
    for n in [0usize, 1, 61, 64, 200] {
        let memory = backend.allocate(4096).unwrap();
        let all = Range { handle: memory, offset: 0, len: 4096 };
        // Neighbours in one buffer; one of them twice; an input that is overwritten.
        for [x, y, z, w] in [[0, 1, 2, 3], [1, 1, 0, 2], [3, 0, 3, 1], [2, 2, 2, 0]] {
            let mut want: Vec<u8> = (0..4096).map(|i| (i * 5 + i / 256) as u8).collect();
            backend.upload(&want, all).unwrap();
            let at = |k: usize| Range { handle: memory, offset: 64 + k * n.next_multiple_of(64), len: n };
            let args = [x, y, z, w].map(|k| Bound::Buffer(at(k)));
            let args = [&args[..], &[Bound::Scalar(DType::U32, n as u64)]].concat();
            backend.launch(&module, [4, 1, 1], &args).unwrap();
            for i in 0..n {
                let sum = want[at(x).offset + i].wrapping_add(want[at(y).offset + i]);
                want[at(z).offset + i] = sum;
                let last = &mut want[at(w).offset + i];
                *last = last.wrapping_add(sum);
            }
            let got = block_on(backend.download_async(all).unwrap()).unwrap();
            assert!(got == want, "{n} elements, places {:?}", [x, y, z, w]);
        }
        backend.free(memory);
    }
}
