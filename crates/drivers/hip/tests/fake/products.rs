//! Matrix products by the fake rocBLAS (`rocblas.cpp`): every layout and dtype against sums of the elements, what follows a product, what the
//! library refuses, and whether it is asked.
//!
//! Values are small integers, so every order of adding gives the same.

use super::Fake;
use smallvec::{SmallVec, smallvec};
use unigrad_device::{Error, OpenDevice, RawBuffer, Slice};
use unigrad_gpu::{Backend, GpuDevice, Inside, Matrix, Offer, Product};
use unigrad_hip::HipBackend;
use unigrad_kernel::{Arg, BatchDim, Contract, Index, Inst, InstOp, KDim, Kernel, MDim, NDim, Region, Value};
use unigrad_scalar::{BinaryOp, DType, Literal};

impl Fake {
    fn rocblas_calls(&self) -> usize {
        // SAFETY: declared so in the library.
        unsafe { self.0.get::<unsafe extern "C" fn() -> usize>("fake_rocblas_calls").unwrap()() }
    }
}

/// Sizes, and which operands are stored transposed.
#[derive(Clone, Copy, Debug)]
struct Shape {
    batch: usize,
    m: usize,
    n: usize,
    k: usize,
    transposed: [bool; 2],
    /// All items have one `b`.
    shared: bool,
}

fn matmul(s: Shape, [input, output]: [DType; 2]) -> Contract {
    let i = |size: usize| size as i64;
    // An element more between rows of `c`, and an offset into `a`.
    let (ld, skipped) = (s.n + 1, 3);
    let [ta, tb] = s.transposed;
    let arg = |dtype, len, write| Arg { dtype, len, write };
    Contract {
        batch: smallvec![BatchDim { size: s.batch, a: i(s.m * s.k), b: if s.shared { 0 } else { i(s.k * s.n) }, c: i(s.m * ld) }],
        m: smallvec![MDim { size: s.m, a: if ta { 1 } else { i(s.k) }, c: i(ld) }],
        n: smallvec![NDim { size: s.n, b: if tb { i(s.k) } else { 1 }, c: 1 }],
        k: smallvec![KDim { size: s.k, a: if ta { i(s.m) } else { 1 }, b: if tb { 1 } else { i(s.n) } }],
        a_offset: skipped,
        b_offset: 0,
        a: arg(input, s.batch * s.m * s.k + skipped as usize, false),
        b: arg(input, s.k * s.n * if s.shared { 1 } else { s.batch }, false),
        c: arg(output, s.batch * s.m * ld, true),
        tf32: false,
        epilogue: None,
        prologues: [None, None],
    }
}

fn element(which: usize, at: i64) -> i64 {
    (at * (7 + which as i64 * 4) + at / 5) % 7 - 3
}

fn bytes(dtype: DType, values: impl Iterator<Item = i64>) -> Vec<u8> {
    values.flat_map(|value| Literal::int(dtype, value).to_raw().to_le_bytes()[..dtype.size()].to_vec()).collect()
}

/// Compiles and launches a kernel on arguments whose elements are [`element`]s; gives the last one.
fn launch(device: &GpuDevice<HipBackend>, kernel: &Kernel, times: usize) -> Result<Vec<f64>, Error> {
    let args = kernel.args();
    let buffers: Vec<RawBuffer> = args.iter().map(|arg| device.allocate(arg.len * arg.dtype.size()).unwrap()).collect();
    let slices: Vec<Slice<'_>> = buffers.iter().map(|buffer| Slice { buffer, offset: 0, len: buffer.bytes }).collect();
    for (which, (arg, slice)) in args.iter().zip(&slices).enumerate() {
        let written = which + 1 == args.len();
        let values = (0..arg.len as i64).map(|at| if written { 99 } else { element(which, at) });
        device.upload(&bytes(arg.dtype, values), *slice).unwrap();
    }
    let (last, out) = (args[args.len() - 1], slices[slices.len() - 1]);
    let mut data = vec![0; out.len];
    let result = device.compile(kernel).and_then(|program| {
        (0..times).try_for_each(|_| device.launch(&*program, &slices, &[], None))?;
        device.download(out, &mut data)
    });
    buffers.into_iter().for_each(|buffer| device.free(buffer));
    let size = last.dtype.size();
    let value = |chunk: &[u8]| {
        let mut raw = [0; 8];
        raw[..size].copy_from_slice(chunk);
        Literal::from_raw(last.dtype, u64::from_le_bytes(raw)).as_f64()
    };
    result.map(|()| data.chunks(size).map(value).collect())
}

/// `c` as the contraction defines it, and 99 where it has no element.
fn expected(c: &Contract) -> Vec<f64> {
    let mut out = vec![99.0; c.c.len];
    let (batch, m, n, k) = (c.batch[0], c.m[0], c.n[0], c.k[0]);
    for i in 0..batch.size as i64 {
        for row in 0..m.size as i64 {
            for col in 0..n.size as i64 {
                let a = |step: i64| element(0, c.a_offset + i * batch.a + row * m.a + step * k.a);
                let b = |step: i64| element(1, c.b_offset + i * batch.b + col * n.b + step * k.b);
                let sum: i64 = (0..k.size as i64).map(|step| a(step) * b(step)).sum();
                out[(i * batch.c + row * m.c + col * n.c) as usize] = Literal::int(c.c.dtype, sum).as_f64();
            }
        }
    }
    out
}

const SHAPE: Shape = Shape { batch: 2, m: 5, n: 7, k: 6, transposed: [false, false], shared: false };

#[test]
#[ignore = "run by the_driver_works_on_a_fake_library"]
fn by_the_library_in_every_layout_and_dtype() {
    let (fake, device) = (Fake::new(), GpuDevice::new(HipBackend::open(0).unwrap()));
    let dtypes = [DType::F32, DType::F64, DType::F16, DType::BF16].map(|dtype| [dtype, dtype]).into_iter();
    for dtypes in dtypes.chain([[DType::F16, DType::F32], [DType::BF16, DType::F32]]) {
        for transposed in [[false, false], [true, false], [false, true], [true, true]] {
            for (batch, shared) in [(1, false), (3, false), (3, true)] {
                for (m, n, k) in [(5, 7, 6), (1, 9, 4), (9, 1, 4), (4, 5, 1)] {
                    let shape = Shape { batch, m, n, k, transposed, shared };
                    let contract = matmul(shape, dtypes);
                    let before = fake.rocblas_calls();
                    let got = launch(&device, &Kernel::Contract(contract.clone()), 1).unwrap();
                    assert_eq!(got, expected(&contract), "{shape:?} {dtypes:?}");
                    assert_eq!(fake.rocblas_calls(), before + 1, "{shape:?} {dtypes:?}");
                }
            }
        }
    }
}

/// `out = sum + bias[column]`, with rows or columns of the output together.
fn with_epilogue(shape: Shape, input: DType, turned: bool) -> Contract {
    let (batch, m, n) = (shape.batch, shape.m, shape.n);
    let dtype = if input == DType::F64 { DType::F64 } else { DType::F32 };
    let index = |strides: [usize; 3]| Index { offset: 0, strides: strides.map(|s| s as i64).into_iter().collect(), dynamic: smallvec![] };
    let inst = |op| Inst { op, dtype };
    let arg = |len, write| Arg { dtype, len, write };
    let out = if turned { [m * n, 1, m] } else { [m * n, n, 1] };
    let axes: SmallVec<[usize; 6]> = smallvec![batch, m, n];
    let epilogue = Region {
        name: "bias".into(),
        n_parallel: axes.len(),
        axes,
        args: vec![arg(n, false), arg(batch * m * n, true)],
        scalars: vec![],
        insts: vec![
            inst(InstOp::Acc),
            inst(InstOp::Load { arg: 0, index: index([0, 0, 1]), mask: None }),
            inst(InstOp::Binary(BinaryOp::Add, Value(0), Value(1))),
            inst(InstOp::Store { arg: 1, index: index(out), value: Value(2) }),
        ],
    };
    Contract { epilogue: Some(Box::new(epilogue)), ..matmul(shape, [input, dtype]) }
}

#[test]
#[ignore = "run by the_driver_works_on_a_fake_library"]
fn by_the_library_before_an_epilogue() {
    let (fake, device) = (Fake::new(), GpuDevice::new(HipBackend::open(0).unwrap()));
    for (input, turned) in [(DType::F32, false), (DType::BF16, true), (DType::F64, true)] {
        let (before, contract) = (fake.rocblas_calls(), with_epilogue(SHAPE, input, turned));
        let got = launch(&device, &Kernel::Contract(contract.clone()), 2).unwrap();
        let sums = expected(&Contract { epilogue: None, ..contract });
        let [m, n] = [SHAPE.m, SHAPE.n];
        for (at, got) in got.iter().enumerate() {
            let (item, inner) = (at / (m * n), at % (m * n));
            let (row, col) = if turned { (inner % m, inner / m) } else { (inner / n, inner % n) };
            let want = sums[item * m * (n + 1) + row * (n + 1) + col] + element(2, col as i64) as f64;
            assert_eq!(*got, want, "{input} {turned}: {item} {row} {col}");
        }
        assert_eq!(fake.rocblas_calls(), before + 2);
    }
}

#[test]
#[ignore = "run by the_driver_works_on_a_fake_library"]
fn by_the_library_or_an_error_or_the_own_kernel() {
    let (fake, device) = (Fake::new(), GpuDevice::new(HipBackend::open(0).unwrap()));
    let function = "rocblas_gemm_strided_batched_ex";
    let contract = matmul(SHAPE, [DType::F32; 2]);
    let (kernel, want) = (Kernel::Contract(contract.clone()), expected(&contract));
    fake.fail(function, 6);
    let failed = launch(&device, &kernel, 1);
    assert!(matches!(&failed, Err(Error::Launch { cause, .. }) if cause == "rocBLAS: internal error (6)"), "{failed:?}");
    // Refused once, its own from then on.
    let before = fake.rocblas_calls();
    fake.fail(function, 2);
    assert_eq!(launch(&device, &kernel, 2).unwrap(), want);
    assert_eq!(fake.rocblas_calls(), before);
    let epilogue = Kernel::Contract(with_epilogue(SHAPE, DType::F32, false));
    let by_library = launch(&device, &epilogue, 1).unwrap();
    fake.fail(function, 15);
    assert_eq!(launch(&device, &epilogue, 1).unwrap(), by_library);
    // Integers, and operands that overlap, are never the library's.
    let before = fake.rocblas_calls();
    let whole = matmul(SHAPE, [DType::I32; 2]);
    assert_eq!(launch(&device, &Kernel::Contract(whole.clone()), 1).unwrap(), expected(&whole));
    let mut windows = contract;
    windows.m[0].a = 1;
    assert_eq!(launch(&device, &Kernel::Contract(windows.clone()), 1).unwrap(), expected(&windows));
    assert_eq!(fake.rocblas_calls(), before);
    // A library that does not start.
    let device = GpuDevice::new(HipBackend::open(0).unwrap());
    fake.fail("rocblas_create_handle", 5);
    assert_eq!(launch(&device, &kernel, 1).unwrap(), want);
    assert_eq!(fake.rocblas_calls(), before);
}

#[test]
#[ignore = "run by the_driver_works_on_a_fake_library"]
fn never_by_the_library_if_the_setting_says_so() {
    let (fake, device) = (Fake::new(), GpuDevice::new(HipBackend::open(0).unwrap()));
    let contract = matmul(SHAPE, [DType::F32; 2]);
    assert_eq!(launch(&device, &Kernel::Contract(contract.clone()), 1).unwrap(), expected(&contract));
    assert_eq!(fake.rocblas_calls(), 0);
}

#[test]
#[ignore = "run by the_driver_works_on_a_fake_library"]
fn large_products_are_the_librarys() {
    let device = HipBackend::open(0).unwrap();
    let product = |[m, n, k]: [u32; 3], after| {
        let matrix = |ld| Matrix { dtype: DType::F32, offset: 0, ld, transposed: false, batch_stride: 0 };
        let product = Product {
            batch: 1,
            m,
            n,
            k,
            a: matrix(k),
            b: matrix(n),
            c: matrix(n),
            compute: DType::F32,
            tf32: false,
            inside: Inside::default(),
            made: 0,
            after,
        };
        let kernel = Kernel::Contract(matmul(SHAPE, [DType::F32; 2]));
        let taken = |always| device.take(&Offer { kernel: &kernel, products: &[product], convolutions: &[], norm: None, always }).is_some();
        (taken(false), taken(true))
    };
    assert_eq!(product([512, 512, 512], false), (true, true));
    assert_eq!(product([512, 512, 512], true), (true, true));
    assert_eq!(product([2048, 2048, 64], true), (false, true));
    assert_eq!(product([64, 64, 64], false), (false, true));
    assert_eq!(product([4, 8192, 8192], false), (false, true));
}
