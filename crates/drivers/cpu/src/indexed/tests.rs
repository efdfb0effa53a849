//! Against loops over [`Literal`]s, which know nothing of blocks, threads or element types. Results must agree bit for bit.
//! Runs beside other programs: measurements are run by hand.

mod exhaustive;

use super::element::with_element;
use super::scan::by_definition;
use super::scatter::{scatter, scatter_on};
use super::sort::RADIX;
use super::{argsort, check_pool, check_scatter, max_pool, scan, topk};
use crate::simd::tests::tiers;
use crate::{
    memory::{Buf, Fault},
    threads,
};
use smallvec::SmallVec;
use std::cmp::Ordering;
use unigrad_kernel::testing::{
    Rng,
    scatter::{random as random_kernel, rows},
};
use unigrad_kernel::{ArgSort, Kernel, MaxPool, Scan, Scatter, ScatterBase, TopK};
use unigrad_scalar::{BinaryOp, Combine, DType, Literal, PoolSpec, ScanOp, ScatterMode};

/// Rng values in memory.
trait Values {
    fn values(&mut self, dtype: DType, n: usize) -> Memory;

    /// Such as the running reduction combines.
    fn scanned(&mut self, op: ScanOp, dtype: DType, n: usize) -> Memory {
        let mut memory = self.values(dtype, n);
        if dtype.is_float() && op.prepare(true).is_some() {
            (0..n).for_each(|i| memory.set(i, Literal::float(dtype, op.prepared(memory.get(i).as_f64()))));
        }
        memory
    }
}

impl Values for Rng {
    fn values(&mut self, dtype: DType, n: usize) -> Memory {
        let mut memory = Memory::new(dtype, n);
        (0..n).for_each(|i| memory.set(i, self.value(dtype)));
        memory
    }
}

/// A cache line, so that memory is aligned as a device's is.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct Line([u8; 64]);

/// Typed memory.
#[derive(Clone)]
struct Memory {
    dtype: DType,
    len: usize,
    lines: Vec<Line>,
}

impl Memory {
    fn new(dtype: DType, len: usize) -> Memory {
        Memory { dtype, len, lines: vec![Line([0x55; 64]); len * dtype.size() / 64 + 1] }
    }

    fn buf(&mut self) -> Buf {
        Buf { ptr: self.lines.as_mut_ptr().cast(), len: self.len, dtype: self.dtype }
    }

    fn get(&self, i: usize) -> Literal {
        assert!(i < self.len);
        let size = self.dtype.size();
        let mut raw = [0; 8];
        // A size divides a line, so elements do not cross lines.
        raw[..size].copy_from_slice(&self.lines[i * size / 64].0[i * size % 64..][..size]);
        Literal::from_raw(self.dtype, u64::from_le_bytes(raw))
    }

    fn set(&mut self, i: usize, value: Literal) {
        assert!(i < self.len && value.dtype() == self.dtype);
        let size = self.dtype.size();
        self.lines[i * size / 64].0[i * size % 64..][..size].copy_from_slice(&value.to_raw().to_le_bytes()[..size]);
    }

    fn to_vec(&self) -> Vec<Literal> {
        (0..self.len).map(|i| self.get(i)).collect()
    }

    fn to_indices(&self) -> Vec<i64> {
        (0..self.len).map(|i| self.get(i).as_i64()).collect()
    }
}

fn same(a: Literal, b: Literal) -> bool {
    a == b || (a.as_f64().is_nan() && b.as_f64().is_nan())
}

fn assert_same(got: &Memory, expected: &[Literal], what: &dyn std::fmt::Debug) {
    for (i, (got, expected)) in got.to_vec().iter().zip(expected).enumerate() {
        assert!(same(*got, *expected), "element {i}: {got:?}, expected {expected:?}, in {what:?}");
    }
    assert_eq!(got.len, expected.len());
}

/// A binary operation in the dtype of its arguments. The double rounding of `f64` arithmetic to `f32` is exact for these.
fn combine(op: BinaryOp, a: Literal, b: Literal) -> Literal {
    let dtype = a.dtype();
    if dtype.is_float() {
        Literal::float(dtype, op.eval(a.as_f64(), b.as_f64()))
    } else {
        Literal::int(dtype, op.eval_int(a.as_i64(), b.as_i64(), 8 * dtype.size() as u32, dtype.is_signed_int()))
    }
}

/// NaN greatest, zeros equal.
#[expect(clippy::wildcard_enum_match_arm, reason = "dtypes come in families")]
fn compare(a: Literal, b: Literal) -> Ordering {
    match a.dtype() {
        DType::U64 => (a.as_i64() as u64).cmp(&(b.as_i64() as u64)),
        d if d.is_float() => {
            let (a, b) = (a.as_f64(), b.as_f64());
            a.partial_cmp(&b).unwrap_or_else(|| a.is_nan().cmp(&b.is_nan()))
        }
        _ => a.as_i64().cmp(&b.as_i64()),
    }
}

#[test]
fn scans() {
    let mut random = Rng(1);
    for case in 0..1500 {
        threads::set_threads(1 + case % 4);
        let len = random.pick(&[0, 1, 2, 5, 17, 60]);
        let dtype = random.pick(&DType::ALL);
        // Kernels of `Bool` exist, though no graph has them.
        let ops: Vec<ScanOp> = ScanOp::ALL.iter().copied().filter(|op| dtype.is_float() || !op.needs_floats()).collect();
        let kernel = Scan {
            op: random.pick(&ops),
            dtype,
            outer: random.pick(&[0, 1, 2, 3]),
            len,
            inner: random.pick(&[0, 1, 1, 2, 7, 300]),
            reverse: random.below(2) == 0,
        };
        let n = kernel.outer * kernel.len * kernel.inner;
        let mut x = random.scanned(kernel.op, kernel.dtype, n);
        let mut out = Memory::new(kernel.dtype, n);
        // SAFETY: the buffers are those of the kernel.
        unsafe { scan(&kernel, &[x.buf(), out.buf()]) };
        scan_oracle(&kernel, &x, &out, &kernel);
    }
}

/// What has no lanes of its own is computed by its definition, which those with lanes have too.
#[test]
fn scans_of_integers_by_their_definition() {
    let mut random = Rng(3);
    for dtype in DType::ALL.into_iter().filter(|dtype| !dtype.is_float() && *dtype != DType::Bool) {
        for op in ScanOp::ALL.iter().copied().filter(|op| !op.needs_floats()) {
            for reverse in [false, true] {
                let kernel = Scan { op, dtype, outer: 2, len: 19, inner: 3, reverse };
                let mut x = random.values(dtype, 2 * 19 * 3);
                let mut out = Memory::new(dtype, 2 * 19 * 3);
                let args = [x.buf(), out.buf()];
                // SAFETY: the buffers are those of the kernel.
                with_element!(dtype, T => unsafe { by_definition::<T>(&kernel, &args) });
                scan_oracle(&kernel, &x, &out, &kernel);
            }
        }
    }
}

/// A scan by its definition: sums and products of floats as near as numbers of 64 bits come, everything else to the bit.
fn scan_oracle(kernel: &Scan, x: &Memory, out: &Memory, what: &dyn std::fmt::Debug) {
    let (op, len) = (kernel.op, kernel.len);
    let rounds = kernel.dtype.is_float() && op.rounds();
    let wide = if rounds { DType::F64 } else { kernel.dtype.compute() };
    for o in 0..kernel.outer {
        for i in 0..kernel.inner {
            let mut acc: Option<Literal> = None;
            let mut size = 0.0f64;
            for step in 0..len {
                let l = if kernel.reverse { len - 1 - step } else { step };
                let at = (o * len + l) * kernel.inner + i;
                let x = x.get(at).cast(wide);
                let next = acc.map_or(x, |acc| match op.combine(true) {
                    Combine::Binary(op) => combine(op, acc, x),
                    Combine::Formula(_) => Literal::float(wide, op.eval(acc.as_f64(), x.as_f64())),
                });
                size += x.as_f64().abs();
                acc = Some(next);
                let (got, want) = (out.get(at), next.cast(kernel.dtype));
                // An `f64` sum is more precise here than there.
                let off = (got.as_f64() - want.as_f64()).abs();
                let near = kernel.dtype == DType::F64 && off <= step as f64 * size * f64::EPSILON;
                assert!(same(got, want) || near, "element {at}: {got:?}, expected {want:?}, in {what:?}");
            }
        }
    }
}

#[test]
fn sorts() {
    let mut random = Rng(2);
    for case in 0..700 {
        threads::set_threads(1 + case % 4);
        let (dtype, descending) = (random.pick(&DType::ALL), random.below(2) == 0);
        let (outer, len, inner) =
            (random.below(4), random.pick(&[0, 1, 2, 9, 100, RADIX - 1, RADIX, RADIX + 1, 1500]), random.pick(&[0, 1, 1, 3]));
        let kernel = ArgSort { dtype, outer, len, inner, descending };
        let mut x = random.values(dtype, outer * len * inner);
        let mut out = Memory::new(DType::I64, x.len);
        // SAFETY: the buffers are those of the kernel.
        unsafe { argsort(&kernel, &[x.buf(), out.buf()]) };
        let k = random.below(len + 1);
        let best = TopK { dtype, outer, len, inner, k, largest: descending };
        let mut top = Memory::new(DType::I64, outer * k * inner);
        // SAFETY: as above.
        unsafe { topk(&best, &[x.buf(), top.buf()]) };
        for row in 0..outer * inner {
            let (o, i) = (row / inner, row % inner);
            let value = |l: usize| x.get((o * len + l) * inner + i);
            let mut expected: Vec<usize> = (0..len).collect();
            expected.sort_by(|a, b| if descending { compare(value(*b), value(*a)) } else { compare(value(*a), value(*b)) });
            let got: Vec<usize> = (0..len).map(|l| out.get((o * len + l) * inner + i).as_i64() as usize).collect();
            assert_eq!(got, expected, "{kernel:?}");
            let got: Vec<usize> = (0..k).map(|l| top.get((o * k + l) * inner + i).as_i64() as usize).collect();
            assert_eq!(got, expected[..k], "{best:?}");
        }
    }
}

/// Every point of a shape, in row-major order.
fn points(shape: &[usize]) -> impl Iterator<Item = Vec<usize>> + '_ {
    (0..shape.iter().product::<usize>()).map(move |mut n| {
        let mut point = vec![0; shape.len()];
        for d in (0..shape.len()).rev() {
            point[d] = n % shape[d];
            n /= shape[d];
        }
        point
    })
}

fn place(point: &[usize], strides: &[i64], offset: i64) -> usize {
    (offset + point.iter().zip(strides).map(|(p, s)| *p as i64 * s).sum::<i64>()) as usize
}

fn row_major(point: &[usize], shape: &[usize]) -> usize {
    point.iter().zip(shape).fold(0, |n, (p, size)| n * size + p)
}

/// What a scatter gives, by its definition.
fn scatter_oracle(kernel: &Scatter, base: &[Literal], index: &Memory, src: &Memory) -> Vec<Literal> {
    let compute = kernel.dtype.compute();
    let mut out: Vec<Literal> = base.iter().map(|x| x.cast(compute)).collect();
    for mut p in points(&kernel.shape) {
        let value = src.get(place(&p, &kernel.src_strides, kernel.src_offset)).cast(compute);
        let index = index.get(place(&p, &kernel.index_strides, kernel.index_offset)).as_i64();
        p[kernel.axis] = if index < 0 { index + kernel.out_shape[kernel.axis] as i64 } else { index } as usize;
        let target = &mut out[row_major(&p, &kernel.out_shape)];
        *target = match kernel.mode {
            ScatterMode::Set => value,
            ScatterMode::Add => combine(BinaryOp::Add, *target, value),
            ScatterMode::Mul => combine(BinaryOp::Mul, *target, value),
            ScatterMode::Max => combine(BinaryOp::Max, *target, value),
            ScatterMode::Min => combine(BinaryOp::Min, *target, value),
        };
    }
    out.into_iter().map(|x| x.cast(kernel.dtype)).collect()
}

/// Runs a scatter on a random base, index and source, and compares.
fn check_random_scatter(random: &mut Rng, kernel: &Scatter) {
    check_scatter(kernel).unwrap();
    let size = kernel.out_shape[kernel.axis];
    let mut index = Memory::new(kernel.index.dtype, kernel.index.len);
    for i in 0..index.len {
        let at = if size == 0 { 0 } else { random.below(size) as i64 };
        let at = if kernel.index.dtype.is_signed_int() && random.below(4) == 0 { at - size as i64 } else { at };
        index.set(i, Literal::int(kernel.index.dtype, at));
    }
    let mut src = random.values(kernel.dtype, kernel.src.len);
    let n = kernel.out_shape.iter().product();
    let before = random.values(kernel.dtype, n);
    let mut base = if random.below(2) == 0 { before.clone() } else { random.values(kernel.dtype, n) };
    let in_place = random.below(2) == 0;
    let (index_of, src_of) = (index.clone(), src.clone());
    for tier in tiers() {
        let mut out = if in_place { base.clone() } else { before.clone() };
        let out_before = out.to_vec();
        let (index, src, to) = (index.buf(), src.buf(), out.buf());
        let (before, args) = match kernel.base {
            ScatterBase::Fill(value) => (vec![value; n], vec![index, src, to]),
            ScatterBase::Out => (out_before.clone(), vec![index, src, to]),
            ScatterBase::Arg if in_place => (base.to_vec(), vec![to, index, src, to]),
            ScatterBase::Arg => (base.to_vec(), vec![base.buf(), index, src, to]),
        };
        // SAFETY: the buffers are those of the kernel; the machine has the tier.
        let result = unsafe { scatter_on(kernel, &args, tier) };
        result.unwrap();
        assert_same(&out, &scatter_oracle(kernel, &before, &index_of, &src_of), &(tier, kernel));
    }
}

#[test]
fn scatters() {
    let mut random = Rng(3);
    for case in 0..4000 {
        threads::set_threads(1 + case % 5);
        let rank = 1 + random.below(4);
        let shape: SmallVec<[usize; 6]> = (0..rank).map(|_| random.pick(&[0, 1, 1, 2, 3, 5, 9, 20])).collect();
        let axis = random.below(rank);
        let mut kernel = random_kernel(&mut random, shape, axis, case % 3 == 0);
        if let ScatterBase::Fill(fill) = &mut kernel.base {
            *fill = random.value(kernel.dtype);
        } else if case % 2 == 0 {
            kernel.base = ScatterBase::Out;
        }
        check_random_scatter(&mut random, &kernel);
    }
}

/// Rows of a table: the gradient of an embedding of `n` tokens.
fn embedding_gradient(dtype: DType, n: usize, vocabulary: usize, width: usize) -> Scatter {
    rows(dtype, ScatterMode::Add, n, vocabulary, width)
}

#[test]
fn scatters_of_rows() {
    let mut random = Rng(4);
    for (case, dtype) in [DType::F32, DType::BF16, DType::F16, DType::F64, DType::I32].into_iter().enumerate() {
        threads::set_threads(1 + case % 4);
        check_random_scatter(&mut random, &embedding_gradient(dtype, 300, 65, 384));
        check_random_scatter(&mut random, &embedding_gradient(dtype, 5000, 7, 1));
        // More accumulators than a block of them holds.
        check_random_scatter(&mut random, &embedding_gradient(dtype, 40, 9000, 130));
    }
}

#[test]
fn an_index_outside_is_told_and_nothing_is_written() {
    let mut random = Rng(5);
    for (dtype, bad, told) in [
        (DType::I64, 7i64, 7i64),
        (DType::I64, -8, -8),
        (DType::I32, i64::from(i32::MIN), i64::from(i32::MIN)),
        (DType::I8, -128, -128),
        (DType::U8, 200, 200),
        (DType::U64, -1, i64::MAX),
    ] {
        let mut kernel = embedding_gradient(DType::F32, 100, 7, 4);
        kernel.index.dtype = dtype;
        let mut index = Memory::new(dtype, 100);
        (0..100).for_each(|i| index.set(i, Literal::int(dtype, (i % 7) as i64)));
        index.set(60, Literal::int(dtype, bad));
        index.set(90, Literal::int(dtype, 100));
        let (mut src, mut out) = (random.values(DType::F32, 400), random.values(DType::F32, 28));
        let before = out.to_vec();
        // SAFETY: the buffers are those of the kernel.
        let result = unsafe { scatter(&kernel, &[index.buf(), src.buf(), out.buf()]) };
        assert_eq!(result, Err(Fault::Index { index: told, size: 7 }));
        assert_same(&out, &before, &kernel);
    }
}

#[test]
fn malformed_scatters_are_refused() {
    let good = embedding_gradient(DType::F32, 10, 7, 4);
    check_scatter(&good).unwrap();
    let cases: [fn(&mut Scatter); 7] = [
        |k| k.axis = 2,
        |k| k.index_offset = 1,
        |k| k.src_offset = -1,
        |k| k.src.len -= 1,
        |k| k.index.dtype = DType::F32,
        |k| k.out_shape[1] = 3,
        |k| k.src_strides.truncate(1),
    ];
    for spoil in cases {
        let mut kernel = good.clone();
        spoil(&mut kernel);
        assert!(check_scatter(&kernel).is_err(), "{kernel:?}");
    }
}

#[test]
fn pools() {
    let mut random = Rng(6);
    let list = |random: &mut Rng, rank: usize, of: &[usize]| -> SmallVec<[usize; 3]> { (0..rank).map(|_| random.pick(of)).collect() };
    for case in 0..1500 {
        threads::set_threads(1 + case % 4);
        let rank = random.below(4);
        let mut input = list(&mut random, rank, &[1, 2, 5, 8]);
        if let Some(last) = input.last_mut() {
            *last = random.pick(&[1, 2, 5, 8, 13, 24, 37, 70]);
        }
        let kernel = list(&mut random, rank, &[1, 2, 3]);
        let stride = list(&mut random, rank, &[1, 2, 3]);
        let dilation = list(&mut random, rank, &[1, 1, 2]);
        let pad = list(&mut random, rank, &[0, 1]);
        let output = (0..rank)
            .map(|d| (input[d] + 2 * pad[d]).checked_sub((kernel[d] - 1) * dilation[d] + 1).map_or(0, |room| room / stride[d] + 1))
            .collect();
        let pool = MaxPool {
            dtype: random.pick(&DType::ALL),
            outer: random.below(4),
            input,
            output,
            spec: PoolSpec { kernel, stride, pad, dilation },
        };
        let is_empty = pool.outer == 0 || pool.output.contains(&0);
        let is_outside = (0..rank).any(|d| pool.spec.first_outside(d, pool.input[d], pool.output[d]).is_some());
        assert_eq!(check_pool(&pool).is_err(), is_outside && !is_empty, "{pool:?}");
        if is_outside {
            continue;
        }
        let args = Kernel::MaxPool(pool.clone()).args();
        let mut x = random.values(pool.dtype, args[0].len);
        let (mut maxima, mut out) = (Memory::new(pool.dtype, args[1].len), Memory::new(DType::I64, args[2].len));
        // SAFETY: the buffers are those of the kernel.
        unsafe { max_pool(&pool, &[x.buf(), maxima.buf(), out.buf()]) };
        let plane: usize = pool.input.iter().product();
        let mut expected = Vec::new();
        for o in 0..pool.outer {
            for window in points(&pool.output) {
                let mut best: Option<(Literal, usize)> = None;
                for k in points(&pool.spec.kernel) {
                    let at: Option<Vec<usize>> = (0..rank)
                        .map(|d| {
                            (window[d] * pool.spec.stride[d] + k[d] * pool.spec.dilation[d])
                                .checked_sub(pool.spec.pad[d])
                                .filter(|i| *i < pool.input[d])
                        })
                        .collect();
                    let Some(at) = at else { continue };
                    let position = row_major(&at, &pool.input);
                    let value = x.get(o * plane + position);
                    if best.is_none_or(|(best, _)| compare(value, best) == Ordering::Greater) {
                        best = Some((value, position));
                    }
                }
                expected.push(best.map_or(0, |(_, position)| position as i64));
            }
        }
        assert_eq!(out.to_indices(), expected, "{pool:?}");
        let windows = pool.output.iter().product::<usize>();
        let found = expected.iter().enumerate().map(|(i, place)| x.get(i / windows * plane + *place as usize));
        assert_same(&maxima, &found.collect::<Vec<_>>(), &pool);
    }
}

#[test]
fn malformed_pools_are_refused() {
    let two = || SmallVec::from_slice(&[2, 2]);
    let good = MaxPool {
        dtype: DType::F32,
        outer: 1,
        input: two(),
        output: two(),
        spec: PoolSpec { kernel: two(), stride: two(), pad: two(), dilation: two() },
    };
    check_pool(&good).unwrap();
    let cases: [fn(&mut MaxPool); 6] = [
        |k| k.spec.kernel[0] = 0,
        |k| k.spec.stride[1] = 0,
        |k| k.spec.dilation[0] = 0,
        |k| k.input[1] = 0,
        |k| k.spec.pad.truncate(1),
        |k| k.spec.dilation[1] = 5,
    ];
    for spoil in cases {
        let mut kernel = good.clone();
        spoil(&mut kernel);
        assert!(check_pool(&kernel).is_err(), "{kernel:?}");
    }
}

#[test]
#[ignore = "a measurement"]
fn speed_of_pools() {
    let mut random = Rng(7);
    for (size, window, stride, pad) in [(24, 2, 2, 0), (112, 3, 2, 1), (32, 3, 1, 1), (8, 2, 2, 0), (7, 7, 7, 0)] {
        for dtype in DType::ALL {
            let output = (size + 2 * pad - window) / stride + 1;
            let two = |n: usize| SmallVec::from_slice(&[n, n]);
            let outer = 64 * 64 * 24 * 24 / (size * size);
            let pool = MaxPool {
                dtype,
                outer,
                input: two(size),
                output: two(output),
                spec: PoolSpec { kernel: two(window), stride: two(stride), pad: two(pad), dilation: two(1) },
            };
            let args = Kernel::MaxPool(pool.clone()).args();
            let mut x = random.values(dtype, args[0].len);
            let (mut maxima, mut out) = (Memory::new(dtype, args[1].len), Memory::new(DType::I64, args[2].len));
            let times = (0..20).map(|_| {
                let start = std::time::Instant::now();
                // SAFETY: the buffers are those of the kernel.
                unsafe { max_pool(&pool, &[x.buf(), maxima.buf(), out.buf()]) };
                start.elapsed()
            });
            println!("{outer} x {size}x{size} {window}x{window} / {stride} {dtype}: {:?}", times.min().unwrap());
        }
    }
}

/// `cargo test --release -p unigrad-cpu speed_of_scatters -- --ignored --nocapture`
#[test]
#[ignore = "a measurement"]
fn speed_of_scatters() {
    let mut random = Rng(7);
    for (n, vocabulary, width) in [(1024, 65, 64), (3904, 65, 64), (3904, 65, 256), (3904, 50000, 64), (65536, 65, 1)] {
        for dtype in [DType::F32, DType::BF16] {
            let kernel = unigrad_kernel::testing::scatter::rows(dtype, ScatterMode::Add, n, vocabulary, width);
            let args = Kernel::Scatter(kernel.clone()).args();
            let mut memory: Vec<Memory> = args.iter().map(|arg| random.values(arg.dtype, arg.len)).collect();
            for (memory, arg) in memory.iter_mut().zip(&args).filter(|(_, arg)| arg.dtype.is_int()) {
                (0..arg.len).for_each(|i| memory.set(i, Literal::int(arg.dtype, random.below(vocabulary) as i64)));
            }
            let bufs: Vec<Buf> = memory.iter_mut().map(Memory::buf).collect();
            let times = (0..300).map(|_| {
                let start = std::time::Instant::now();
                // SAFETY: the buffers are those of the kernel.
                unsafe { scatter(&kernel, &bufs) }.unwrap();
                start.elapsed()
            });
            println!("{n} rows of {width} into {vocabulary}, {dtype}: {:?}", times.min().unwrap());
        }
    }
}
