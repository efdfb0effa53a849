//! Views: where each element of the result comes from.

use crate::{
    Data, Values,
    values::{each_index, flat},
};
use unigrad_graph::{DType, Literal, PadAxis, SliceAxis};

/// The result whose element at an index is the input's element at the index that `source` gives, or `fill`.
fn moved(x: &Values, shape: &[usize], fill: Literal, mut source: impl FnMut(&[usize]) -> Option<Vec<usize>>) -> Values {
    let mut picks = Vec::new();
    each_index(shape, |index| picks.push(source(index).map(|source| flat(&source, &x.shape))));
    x.pick(shape, picks.into_iter(), fill)
}

pub(super) fn permute(x: &Values, perm: &[u8], shape: &[usize]) -> Values {
    moved(x, shape, Literal::zero(x.dtype), |index| {
        let mut source = vec![0; index.len()];
        perm.iter().zip(index).for_each(|(axis, i)| source[usize::from(*axis)] = *i);
        Some(source)
    })
}

pub(super) fn expand(x: &Values, shape: &[usize]) -> Values {
    let lead = shape.len() - x.shape.len();
    moved(x, shape, Literal::zero(x.dtype), |index| {
        Some(x.shape.iter().zip(&index[lead..]).map(|(size, i)| if *size == 1 { 0 } else { *i }).collect())
    })
}

pub(super) fn slice(x: &Values, axes: &[SliceAxis], shape: &[usize]) -> Values {
    moved(x, shape, Literal::zero(x.dtype), |index| {
        Some(axes.iter().zip(index).map(|(axis, i)| (axis.start as i64 + axis.step * *i as i64) as usize).collect())
    })
}

pub(super) fn pad(x: &Values, axes: &[PadAxis], fill: Literal, shape: &[usize]) -> Values {
    moved(x, shape, fill, |index| {
        let source = axes.iter().zip(index).zip(&x.shape).map(|((axis, i), size)| {
            let inner = i.checked_sub(axis.lo)?;
            let source = inner / (axis.interior + 1);
            (inner % (axis.interior + 1) == 0 && source < *size).then_some(source)
        });
        source.collect()
    })
}

pub(super) fn concat(parts: &[&Values], axis: usize, dtype: DType, shape: &[usize]) -> Values {
    let (mut floats, mut ints) = (Vec::new(), Vec::new());
    each_index(shape, |index| {
        let mut source = index.to_vec();
        for part in parts {
            if source[axis] < part.shape[axis] {
                let i = flat(&source, &part.shape);
                match &part.data {
                    Data::Float(data) => floats.push(data[i]),
                    Data::Int(data) => ints.push(data[i]),
                }
                break;
            }
            source[axis] -= part.shape[axis];
        }
    });
    if dtype.is_float() { Values::float(dtype, shape, floats) } else { Values::int(dtype, shape, ints) }
}

pub(super) fn window(x: &Values, axis: usize, step: usize, dilation: usize, shape: &[usize]) -> Values {
    moved(x, shape, Literal::zero(x.dtype), |index| {
        let mut source = index[..index.len() - 1].to_vec();
        source[axis] = index[axis] * step + index[index.len() - 1] * dilation;
        Some(source)
    })
}

pub(super) fn dyn_slice(x: &Values, axis: usize, start: i64, shape: &[usize]) -> Result<Values, String> {
    if start < 0 || start as usize + shape[axis] > x.shape[axis] {
        return Err(format!("{} elements from {start} along axis {axis} of {:?}", shape[axis], x.shape));
    }
    Ok(moved(x, shape, Literal::zero(x.dtype), |index| {
        let mut source = index.to_vec();
        source[axis] += start as usize;
        Some(source)
    }))
}

pub(super) fn dyn_update(base: &Values, update: &Values, axis: usize, start: i64) -> Result<Values, String> {
    if start < 0 || start as usize + update.shape[axis] > base.shape[axis] {
        return Err(format!("{:?} at {start} along axis {axis} of {:?}", update.shape, base.shape));
    }
    let mut result = base.clone();
    let mut i = 0;
    each_index(&update.shape, |index| {
        let mut target = index.to_vec();
        target[axis] += start as usize;
        let target = flat(&target, &base.shape);
        match (&mut result.data, &update.data) {
            (Data::Float(result), Data::Float(update)) => result[target] = update[i],
            (Data::Int(result), Data::Int(update)) => result[target] = update[i],
            _ => {}
        }
        i += 1;
    });
    Ok(result)
}
