//! Maps that only move elements: long runs at once, and what is no run or no whole block.
//!
//! Always: lengths come from the length of such a run.

use super::directed::Make;
use super::*;
use crate::region::program::{LONG_RUN, PAD};
use unigrad_kernel::{Arg, InstOp};

/// Parts of one result that follow each other, each read with a stride of its own, on one axis or two.
fn parts(axes: &[usize], strides: &[&[i64]], dtype: DType) -> Make {
    let len: usize = axes.iter().product();
    let mut m = Make::new(axes, axes.len());
    m.0.args.push(Arg { dtype, len: strides.len() * len, write: true });
    let whole: Vec<i64> = (0..axes.len()).map(|axis| axes[axis + 1..].iter().product::<usize>() as i64).collect();
    for (part, strides) in strides.iter().enumerate() {
        let value = m.load(dtype, strides);
        let mut index = Make::index(&whole);
        index.offset = (part * len) as i64;
        m.push(InstOp::Store { arg: 0, index, value }, dtype);
    }
    m
}

#[test]
fn copies_of_every_length_around_a_run() {
    for len in [1, PAD - 1, PAD, LONG_RUN - 1, LONG_RUN, LONG_RUN + PAD, 2 * LONG_RUN + PAD + 1] {
        for dtype in [DType::F32, DType::I64, DType::BF16, DType::Bool] {
            for strides in [&[&[1][..], &[1]][..], &[&[1], &[2]], &[&[0], &[1]]] {
                let m = parts(&[len], strides, dtype);
                let memory = m.memory(|arg, i| ((arg * 31 + i * 7) % 101) as f64);
                check(&m.0, &memory, &[]);
            }
        }
    }
}

/// Two axes that are one run in one part, and rows apart or transposed in another.
#[test]
fn copies_over_two_axes() {
    let rows = LONG_RUN / PAD + 3;
    let (near, apart, turned) = ([PAD as i64, 1], [PAD as i64 + 1, 1], [1, rows as i64]);
    for strides in [[&near[..], &near], [&near, &apart], [&turned, &near]] {
        let m = parts(&[rows, PAD], &strides, DType::F32);
        let memory = m.memory(|arg, i| ((arg * 31 + i * 7) % 101) as f64);
        check(&m.0, &memory, &[]);
    }
}
