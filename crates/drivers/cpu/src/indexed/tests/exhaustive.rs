//! Every number of windows, columns and elements up to two blocks of the loops, every dtype, every operation, on every tier.

use super::super::{
    element::with_element,
    pool::max_pool_on,
    scan::{COLUMNS, scan_on},
};
use super::{Memory, Values, assert_same, scan_oracle};
use crate::simd::tests::tiers;
use smallvec::smallvec;
use unigrad_kernel::testing::Rng;
use unigrad_kernel::{Kernel, MaxPool, Scan};
use unigrad_scalar::{DType, PoolSpec, ScanOp};

/// Windows of the widest block of a row.
const WIDEST: usize = 16;

/// A row of windows by its definition: the greatest elements, and where they are.
fn pooled<T: super::super::element::Element>(pool: &MaxPool, x: &[T]) -> Vec<usize> {
    let (pad, dilation, stride) = (pool.spec.pad[0], pool.spec.dilation[0], pool.spec.stride[0]);
    (0..pool.output[0])
        .map(|o| {
            let places = (0..pool.spec.kernel[0]).filter_map(|k| (o * stride + k * dilation).checked_sub(pad)).filter(|i| *i < x.len());
            places.reduce(|best, i| if T::beats(x[i], x[best]) { i } else { best }).unwrap_or(0)
        })
        .collect()
}

#[test]
fn rows_of_windows() {
    let mut random = Rng(8);
    for tier in tiers() {
        for dtype in DType::ALL {
            for output in 1..=2 * WIDEST + 1 {
                for (kernel, stride, dilation, pad) in [
                    (1, 1, 1, 0),
                    (2, 1, 1, 0),
                    (3, 1, 1, 1),
                    (2, 2, 1, 0),
                    (3, 2, 1, 1),
                    (3, 2, 2, 2),
                    (2, 3, 1, 1),
                    (3, 3, 2, 1),
                    (4, 5, 1, 0),
                ] {
                    let input = ((output - 1) * stride + (kernel - 1) * dilation + 1 - pad).saturating_sub(pad).max(1);
                    let output = ((input + 2 * pad).saturating_sub((kernel - 1) * dilation + 1)) / stride + 1;
                    let pool = MaxPool {
                        dtype,
                        outer: 1,
                        input: smallvec![input],
                        output: smallvec![output],
                        spec: PoolSpec {
                            kernel: smallvec![kernel],
                            stride: smallvec![stride],
                            pad: smallvec![pad],
                            dilation: smallvec![dilation],
                        },
                    };
                    let args = Kernel::MaxPool(pool.clone()).args();
                    let mut x = random.values(dtype, args[0].len);
                    let (mut maxima, mut places) = (Memory::new(dtype, args[1].len), Memory::new(DType::I64, args[2].len));
                    // SAFETY: the buffers are those of the kernel; the machine has the tier.
                    unsafe { max_pool_on(&pool, &[x.buf(), maxima.buf(), places.buf()], tier) };
                    let buf = x.buf();
                    // SAFETY: the buffer has the dtype, and nothing writes it.
                    let want = with_element!(dtype, T => pooled::<T>(&pool, unsafe { super::super::element::elements::<T>(&buf) }));
                    let found: Vec<_> = want.iter().map(|at| x.get(*at)).collect();
                    assert_eq!(places.to_indices(), want.iter().map(|at| *at as i64).collect::<Vec<_>>(), "{tier:?} {pool:?}");
                    assert_same(&maxima, &found, &(tier, &pool));
                }
            }
        }
    }
}

#[test]
fn columns_of_scans() {
    let mut random = Rng(9);
    for tier in tiers() {
        for dtype in DType::ALL {
            for op in ScanOp::ALL.iter().filter(|op| dtype.is_float() || !op.needs_floats()) {
                for inner in (1..=33).chain([COLUMNS - 1, COLUMNS, COLUMNS + 1, 2 * COLUMNS + 1]) {
                    for (len, reverse) in [(1, false), (2, true), (5, false), (3, true)] {
                        let kernel = Scan { op: *op, dtype, outer: 1, len, inner, reverse };
                        let mut x = random.scanned(*op, dtype, len * inner);
                        let mut out = Memory::new(dtype, len * inner);
                        // SAFETY: the buffers are those of the kernel; the machine has the tier.
                        unsafe { scan_on(&kernel, &[x.buf(), out.buf()], tier) };
                        scan_oracle(&kernel, &x, &out, &(tier, &kernel));
                    }
                }
            }
        }
    }
}
