//! A contraction as the engine sees it: `b` and `c` run along vectors, `a` is broadcast.

use super::axis::Axis;
use smallvec::SmallVec;
use unigrad_kernel::{BatchDim, Contract, KDim, MDim, NDim};
use unigrad_scalar::DType;

/// `a` or `b`.
#[derive(Clone, Debug)]
pub(crate) struct Operand {
    pub(crate) dtype: DType,
    pub(crate) offset: i64,
    pub(crate) batch: Axis,
    /// Rows of `a`, columns of `b`.
    pub(crate) lanes: Axis,
    pub(crate) k: Axis,
    /// Whether a prologue makes its elements: they are nowhere to be read.
    pub(crate) is_made: bool,
}

/// Where sums go.
#[derive(Clone, Debug)]
// One per contraction, so its size does not matter.
#[allow(clippy::large_enum_variant)]
pub(crate) enum Output {
    /// The third argument.
    Memory { dtype: DType, batch: Axis, rows: Axis, cols: Axis },
    /// A map that takes them as this dtype.
    Epilogue { dtype: DType },
}

/// A contraction with its roles decided.
#[derive(Clone, Debug)]
pub(crate) struct Problem {
    pub(crate) batch: usize,
    pub(crate) m: usize,
    pub(crate) n: usize,
    pub(crate) k: usize,
    /// Which argument is `a`: 1 if the roles are swapped.
    pub(crate) a_arg: usize,
    pub(crate) a: Operand,
    pub(crate) b: Operand,
    pub(crate) c: Output,
    /// What sums are computed in: `F32`, `F64`, `I32` or `I64`.
    pub(crate) compute: DType,
}

impl Problem {
    pub(crate) fn new(contract: &Contract) -> Problem {
        let epilogue = contract.epilogue.is_some();
        let mut batch: SmallVec<[BatchDim; 2]> = contract.batch.iter().copied().filter(|d| d.size != 1).collect();
        let mut m: SmallVec<[MDim; 3]> = contract.m.iter().copied().filter(|d| d.size != 1).collect();
        let mut n: SmallVec<[NDim; 3]> = contract.n.iter().copied().filter(|d| d.size != 1).collect();
        let k: SmallVec<[KDim; 3]> = contract.k.iter().copied().filter(|d| d.size != 1).collect();
        // Batch items that share `b` are rows of one larger product. An epilogue needs the order of its axes, which this keeps.
        while let Some(last) = batch.last().copied() {
            if last.b != 0 {
                break;
            }
            m.insert(0, MDim { size: last.size, a: last.a, c: last.c });
            batch.pop();
        }
        if !epilogue {
            m.sort_by_key(|d| std::cmp::Reverse(d.c.unsigned_abs()));
            n.sort_by_key(|d| std::cmp::Reverse(d.c.unsigned_abs()));
        }
        let sizes = [
            batch.iter().map(|d| d.size).product::<usize>(),
            m.iter().map(|d| d.size).product(),
            n.iter().map(|d| d.size).product(),
            k.iter().map(|d| d.size).product(),
        ];
        let a = Operand {
            dtype: contract.a.dtype,
            offset: contract.a_offset,
            batch: Axis::new(batch.iter().map(|d| (d.size, d.a))),
            lanes: Axis::new(m.iter().map(|d| (d.size, d.a))),
            k: Axis::new(k.iter().map(|d| (d.size, d.a))),
            is_made: contract.prologues[0].is_some(),
        };
        let b = Operand {
            dtype: contract.b.dtype,
            offset: contract.b_offset,
            batch: Axis::new(batch.iter().map(|d| (d.size, d.b))),
            lanes: Axis::new(n.iter().map(|d| (d.size, d.b))),
            k: Axis::new(k.iter().map(|d| (d.size, d.b))),
            is_made: contract.prologues[1].is_some(),
        };
        let rows = Axis::new(m.iter().map(|d| (d.size, d.c)));
        let cols = Axis::new(n.iter().map(|d| (d.size, d.c)));
        let swap = swapped(sizes[1], sizes[2], &rows, &cols, epilogue);
        let c_batch = Axis::new(batch.iter().map(|d| (d.size, d.c)));
        let dtype = contract.c.dtype;
        let c = match (epilogue, swap) {
            (true, _) => Output::Epilogue { dtype },
            (false, false) => Output::Memory { dtype, batch: c_batch, rows, cols },
            (false, true) => Output::Memory { dtype, batch: c_batch, rows: cols, cols: rows },
        };
        let compute = contract.compute_dtype();
        let [batch, m, n, k] = sizes;
        if swap {
            Problem { batch, m: n, n: m, k, a_arg: 1, a: b, b: a, c, compute }
        } else {
            Problem { batch, m, n, k, a_arg: 0, a, b, c, compute }
        }
    }
}

/// Whether the columns should be the broadcast side: where the output is contiguous along rows, or there are too few columns
/// to fill a vector. An epilogue runs over its points in order, so there it must be a single column.
fn swapped(m: usize, n: usize, rows: &Axis, cols: &Axis, epilogue: bool) -> bool {
    if n == 1 || epilogue {
        return n == 1 && m > 1;
    }
    if m == 1 {
        return false;
    }
    const NARROW: usize = 8;
    if m.min(n) < NARROW && m != n {
        return n < m;
    }
    rows.run() > cols.run()
}
