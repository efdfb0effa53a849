//! Ops whose access pattern the data decides, and random words.

use super::reduce::{each_row, widened};
use crate::{
    Data, Values,
    values::{each_index, flat},
};
use std::cmp::Ordering;
use unigrad_graph::{DType, Literal, PoolSpec, ScatterMode, numel};

/// An index in `-size..size` as one in `0..size`.
pub(super) fn wrap(index: i64, size: usize) -> Result<usize, String> {
    let wrapped = if index < 0 { index + size as i64 } else { index };
    if (0..size as i64).contains(&wrapped) { Ok(wrapped as usize) } else { Err(format!("index {index} is out of range for size {size}")) }
}

pub(super) fn gather(x: &Values, index: &Values, axis: usize) -> Result<Values, String> {
    let mut picks = Vec::with_capacity(index.len());
    let mut failure = None;
    each_index(&index.shape, |place| {
        let mut source = place.to_vec();
        match wrap(index.as_i64(picks.len()), x.shape[axis]) {
            Ok(at) => source[axis] = at,
            Err(error) => failure = Some(error),
        }
        picks.push(Some(flat(&source, &x.shape)));
    });
    match failure {
        Some(error) => Err(error),
        None => Ok(x.pick(&index.shape, picks.into_iter(), Literal::zero(x.dtype))),
    }
}

pub(super) fn scatter(base: &Values, index: &Values, src: &Values, axis: usize, mode: ScatterMode) -> Result<Values, String> {
    let mut result = base.clone();
    let mut failure = None;
    let mut i = 0;
    each_index(&index.shape, |place| {
        let mut target = place.to_vec();
        match wrap(index.as_i64(i), base.shape[axis]) {
            Ok(at) => {
                target[axis] = at;
                let target = flat(&target, &base.shape);
                match (&mut result.data, &src.data) {
                    (Data::Float(result), Data::Float(src)) => result[target] = combine_float(mode, result[target], src[i]),
                    (Data::Int(result), Data::Int(src)) => {
                        result[target] = Literal::int(base.dtype, combine_int(mode, base.dtype, result[target], src[i])).as_i64();
                    }
                    _ => {}
                }
            }
            Err(error) => failure = Some(error),
        }
        i += 1;
    });
    failure.map_or(Ok(result), Err)
}

fn combine_float(mode: ScatterMode, a: f64, b: f64) -> f64 {
    match mode {
        ScatterMode::Set => b,
        ScatterMode::Add => a + b,
        ScatterMode::Mul => a * b,
        _ if a.is_nan() => a,
        _ if b.is_nan() => b,
        ScatterMode::Max => a.max(b),
        ScatterMode::Min => a.min(b),
    }
}

fn combine_int(mode: ScatterMode, dtype: DType, a: i64, b: i64) -> i64 {
    let less = widened(dtype, a) < widened(dtype, b);
    match mode {
        ScatterMode::Set => b,
        ScatterMode::Add => a.wrapping_add(b),
        ScatterMode::Mul => a.wrapping_mul(b),
        ScatterMode::Max => {
            if less {
                b
            } else {
                a
            }
        }
        ScatterMode::Min => {
            if less {
                a
            } else {
                b
            }
        }
    }
}

/// The first `k` of the stable order along an axis; NaN is the greatest.
pub(super) fn argsort(x: &Values, axis: usize, descending: bool, k: usize) -> Values {
    let mut shape = x.shape.clone();
    shape[axis] = k;
    let mut result = vec![0; numel(&shape)];
    let inner: usize = shape[axis + 1..].iter().product();
    let mut row_number = 0;
    each_row(&x.shape, axis, |row| {
        let compare = |a: usize, b: usize| match &x.data {
            Data::Float(data) => {
                let (a, b) = (data[row[a]], data[row[b]]);
                a.partial_cmp(&b).unwrap_or_else(|| a.is_nan().cmp(&b.is_nan()))
            }
            Data::Int(data) => widened(x.dtype, data[row[a]]).cmp(&widened(x.dtype, data[row[b]])),
        };
        let mut order: Vec<usize> = (0..row.len()).collect();
        order.sort_by(|a, b| {
            let ordering = compare(*a, *b);
            if descending { ordering.reverse() } else { ordering }.then(Ordering::Equal)
        });
        let (outer, i) = (row_number / inner, row_number % inner);
        for (j, at) in order.into_iter().take(k).enumerate() {
            result[(outer * k + j) * inner + i] = at as i64;
        }
        row_number += 1;
    });
    Values::int(DType::I64, &shape, result)
}

/// The maxima, and where they are.
pub(super) fn max_pool(x: &Values, spec: &PoolSpec, shape: &[usize]) -> Vec<Values> {
    let mut result = Vec::with_capacity(numel(shape));
    each_index(shape, |place| {
        let mut best: Option<(f64, i128, usize)> = None;
        each_index(&spec.kernel, |offset| {
            let source: Option<Vec<usize>> = (0..offset.len())
                .map(|d| {
                    (place[d + 2] * spec.stride[d] + offset[d] * spec.dilation[d]).checked_sub(spec.pad[d]).filter(|i| *i < x.shape[d + 2])
                })
                .collect();
            let Some(source) = source else { return };
            let at = flat(&[&place[..2], &source].concat(), &x.shape);
            let (float, int) = (x.as_f64(at), if x.dtype.is_float() { 0 } else { widened(x.dtype, x.as_i64(at)) });
            let wins = best.is_none_or(|(best_float, best_int, _)| {
                if x.dtype.is_float() { !best_float.is_nan() && (float.is_nan() || float > best_float) } else { int > best_int }
            });
            if wins {
                best = Some((float, int, flat(&source, &x.shape[2..])));
            }
        });
        result.push(best.map_or(0, |(_, _, at)| at as i64));
    });
    let windows: usize = shape[2..].iter().product();
    let plane: usize = x.shape[2..].iter().product();
    let found = result.iter().enumerate().map(|(i, at)| Some(i / windows * plane + *at as usize));
    let maxima = x.pick(shape, found, Literal::zero(x.dtype));
    vec![maxima, Values::int(DType::I64, shape, result)]
}

pub(super) fn random(shape: &[usize], word: u8, seed: u64, offset: u64) -> Values {
    let words = (0..numel(shape) as u64).map(|index| i64::from(philox(index, offset, seed)[usize::from(word)]));
    Values::int(DType::U32, shape, words.collect())
}

/// Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", 2011).
pub(crate) fn philox(index: u64, offset: u64, seed: u64) -> [u32; 4] {
    let halves = |value: u64| (value as u32, (value >> 32) as u32);
    let ((c0, c1), (c2, c3), (mut k0, mut k1)) = (halves(index), halves(offset), halves(seed));
    let mut c = [c0, c1, c2, c3];
    for _ in 0..10 {
        let a = u64::from(c[0]) * 0xd251_1f53;
        let b = u64::from(c[2]) * 0xcd9e_8d57;
        c = [(b >> 32) as u32 ^ c[1] ^ k0, b as u32, (a >> 32) as u32 ^ c[3] ^ k1, a as u32];
        k0 = k0.wrapping_add(0x9e37_79b9);
        k1 = k1.wrapping_add(0xbb67_ae85);
    }
    c
}

#[cfg(test)]
mod tests {
    use super::philox;

    /// Known answers of Random123 (`kat_vectors`).
    #[test]
    fn philox_matches_its_known_answers() {
        assert_eq!(philox(0, 0, 0), [0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8]);
        assert_eq!(philox(u64::MAX, u64::MAX, u64::MAX), [0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd]);
        assert_eq!(philox(0x85a308d3_243f6a88, 0x03707344_13198a2e, 0x299f31d0_a4093822), [0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1]);
    }
}
