//! Every length of a row around the folds' thresholds, every reduction and every conversion, in every dtype, on every tier.
//!
//! Always: against the plain evaluator, on small whole numbers, whose sums are exact.

use super::directed::Make;
use super::*;
use crate::region::fold::{FOLD, WIDE};
use unigrad_kernel::InstOp;
use unigrad_scalar::{ArgReduceOp, ReduceOp};

/// Lengths about every threshold of a fold, one lane apart near it.
fn lengths() -> Vec<usize> {
    let mut lengths: Vec<usize> = (1..=FOLD + 2).collect();
    for threshold in [2 * FOLD, WIDE, WIDE + FOLD, 2 * WIDE, 2 * WIDE + FOLD, 3 * WIDE, 4 * WIDE] {
        lengths.extend([threshold - 1, threshold, threshold + 1, threshold + 17]);
    }
    lengths
}

#[test]
fn rows_of_every_length() {
    for dtype in DType::ALL {
        for n in lengths() {
            // Elements of a row side by side, and a row's elements apart.
            for (rows, strides) in [(2, [n as i64, 1]), (3, [1, 3])] {
                let mut m = Make::new(&[rows, n], 1);
                let x = m.load(dtype, &strides);
                for op in [ReduceOp::Sum, ReduceOp::Prod, ReduceOp::Max, ReduceOp::Min] {
                    let y = m.reduce(op, x);
                    m.store(y, &[1, 0]);
                }
                for op in [ArgReduceOp::ArgMax, ArgReduceOp::ArgMin] {
                    let at = m.push(InstOp::ArgReduce(op, x), DType::I64);
                    m.store(at, &[1, 0]);
                }
                // Products stay powers of two.
                check(
                    &m.0,
                    &m.memory(|_, i| [1.0, 2.0, 1.0, 1.0][i.wrapping_mul(2_654_435_761) >> 9 & 3] * f64::from(i < 40) + f64::from(i >= 40)),
                    &[],
                );
            }
        }
    }
}

#[test]
fn conversions_of_every_length() {
    for from in DType::ALL {
        for to in DType::ALL {
            for n in (1..=17).chain([31, 32, 33, PAD - 1, PAD, PAD + 1]) {
                for stride in [1, 2] {
                    let mut m = Make::new(&[n], 1);
                    let x = m.load(from, &[stride]);
                    let y = m.push(InstOp::Cast(x), to);
                    m.store(y, &[stride]);
                    check(&m.0, &m.memory(|_, i| ((i * 37) % 100) as f64), &[]);
                }
            }
        }
    }
}
