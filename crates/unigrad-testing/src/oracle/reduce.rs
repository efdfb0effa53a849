//! Reductions, scans, and the composites over rows.

use crate::{
    Data, Values,
    values::{each_index, flat},
};
use unigrad_graph::{ArgReduceOp, DType, Literal, ReduceOp, ScanOp, numel};

/// Whether the reduction adds or multiplies, so that its terms' rounding matters.
pub(super) fn adds(op: ReduceOp) -> bool {
    matches!(op, ReduceOp::Sum | ReduceOp::Prod)
}

pub(super) fn scan_adds(op: ScanOp) -> bool {
    op.rounds()
}

fn combine_float(op: ReduceOp, a: f64, b: f64) -> f64 {
    match op {
        ReduceOp::Sum => a + b,
        ReduceOp::Prod => a * b,
        _ if a.is_nan() => a,
        _ if b.is_nan() => b,
        ReduceOp::Max => a.max(b),
        ReduceOp::Min => a.min(b),
    }
}

fn combine_int(op: ReduceOp, dtype: DType, a: i64, b: i64) -> i64 {
    let less = if dtype == DType::U64 { (a as u64) < b as u64 } else { a < b };
    match op {
        ReduceOp::Sum => a.wrapping_add(b),
        ReduceOp::Prod => a.wrapping_mul(b),
        ReduceOp::Max => {
            if less {
                b
            } else {
                a
            }
        }
        ReduceOp::Min => {
            if less {
                a
            } else {
                b
            }
        }
    }
}

fn identity(op: ReduceOp, dtype: DType) -> Literal {
    match op {
        ReduceOp::Sum => Literal::zero(dtype),
        ReduceOp::Prod => Literal::one(dtype),
        ReduceOp::Max => Literal::min_value(dtype),
        ReduceOp::Min => Literal::max_value(dtype),
    }
}

pub(super) fn reduce(op: ReduceOp, x: &Values, axes: u32, shape: &[usize]) -> Values {
    let target = |index: &[usize]| {
        let kept: Vec<usize> = index.iter().enumerate().map(|(axis, i)| if axes >> axis & 1 == 1 { 0 } else { *i }).collect();
        flat(&kept, shape)
    };
    let start = identity(op, x.dtype);
    let mut i = 0;
    match &x.data {
        Data::Float(data) => {
            let mut result = vec![start.as_f64(); numel(shape)];
            each_index(&x.shape, |index| {
                let target = target(index);
                result[target] = combine_float(op, result[target], data[i]);
                i += 1;
            });
            Values::float(x.dtype, shape, result)
        }
        Data::Int(data) => {
            let mut result = vec![start.as_i64(); numel(shape)];
            each_index(&x.shape, |index| {
                let target = target(index);
                result[target] = combine_int(op, x.dtype, result[target], data[i]);
                i += 1;
            });
            Values::int(x.dtype, shape, result)
        }
    }
}

/// Calls `f` with the positions of every row along `axis`, in row-major order of the other axes.
pub(super) fn each_row(shape: &[usize], axis: usize, mut f: impl FnMut(&[usize])) {
    let inner: usize = shape[axis + 1..].iter().product();
    let outer: usize = shape[..axis].iter().product();
    for o in 0..outer {
        for i in 0..inner {
            let row: Vec<usize> = (0..shape[axis]).map(|j| (o * shape[axis] + j) * inner + i).collect();
            f(&row);
        }
    }
}

pub(super) fn arg_reduce(op: ArgReduceOp, x: &Values, axis: usize, shape: &[usize]) -> Values {
    let mut result = vec![0; numel(shape)];
    let mut row_number = 0;
    // With the axis at size 1, rows and results come in one order.
    each_row(&x.shape, axis, |row| {
        let better = |a: usize, b: usize| match &x.data {
            Data::Float(data) if data[a].is_nan() || data[b].is_nan() => data[a].is_nan() && !data[b].is_nan(),
            Data::Float(data) if op == ArgReduceOp::ArgMax => data[a] > data[b],
            Data::Float(data) => data[a] < data[b],
            Data::Int(data) => {
                let (a, b) = (widened(x.dtype, data[a]), widened(x.dtype, data[b]));
                if op == ArgReduceOp::ArgMax { a > b } else { a < b }
            }
        };
        let mut best = 0;
        for j in 1..row.len() {
            if better(row[j], row[best]) {
                best = j;
            }
        }
        result[row_number] = best as i64;
        row_number += 1;
    });
    Values::int(DType::I64, shape, result)
}

/// An integer as one that compares right whatever its signedness.
pub(super) fn widened(dtype: DType, value: i64) -> i128 {
    if dtype == DType::U64 { i128::from(value as u64) } else { i128::from(value) }
}

pub(super) fn scan(op: ScanOp, x: &Values, axis: usize, reverse: bool) -> Values {
    let combine_ints = |a: i64, b: i64| match op {
        ScanOp::Sum => combine_int(ReduceOp::Sum, x.dtype, a, b),
        ScanOp::Prod => combine_int(ReduceOp::Prod, x.dtype, a, b),
        ScanOp::Max => combine_int(ReduceOp::Max, x.dtype, a, b),
        ScanOp::Min => combine_int(ReduceOp::Min, x.dtype, a, b),
        other => panic!("{other} is of floats only"),
    };
    let mut result = x.clone();
    each_row(&x.shape, axis, |row| {
        for j in 1..row.len() {
            let (at, before) = if reverse { (row[row.len() - 1 - j], row[row.len() - j]) } else { (row[j], row[j - 1]) };
            match &mut result.data {
                Data::Float(data) => data[at] = op.eval(data[before], data[at]),
                Data::Int(data) => data[at] = Literal::int(x.dtype, combine_ints(data[before], data[at])).as_i64(),
            }
        }
    });
    result
}

pub(super) fn softmax(x: &Values, axis: usize, log: bool) -> Values {
    let mut result = x.to_f64();
    each_row(&x.shape, axis, |row| {
        let greatest = row.iter().fold(f64::NEG_INFINITY, |m, i| combine_float(ReduceOp::Max, m, result[*i]));
        let sum: f64 = row.iter().map(|i| (result[*i] - greatest).exp()).sum();
        for i in row {
            result[*i] = if log { result[*i] - greatest - sum.ln() } else { (result[*i] - greatest).exp() / sum };
        }
    });
    Values::float(x.dtype, &x.shape, result)
}

pub(super) fn normalize(x: &Values, axes: usize, center: bool, eps: f64, off: impl Fn(usize) -> f64) -> Values {
    let mut result = x.to_f64();
    let len = numel(&x.shape[x.shape.len() - axes..]);
    if len > 0 {
        for (number, row) in result.chunks_exact_mut(len).enumerate() {
            let mean = if center { row.iter().sum::<f64>() / len as f64 * (1.0 + off(number)) } else { 0.0 };
            let variance = row.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / len as f64;
            row.iter_mut().for_each(|x| *x = (*x - mean) / (variance + eps).sqrt());
        }
    }
    Values::float(x.dtype, &x.shape, result)
}
