//! A library of norms for the interpreter: loops that do what the text of a [`Norm`] says, and nothing else.
//!
//! In: a norm that was taken on, its memory. Out: its results, computed in f64 and rounded once.
//! Always: only with `UNIGRAD_PRODUCTS=library`, so that the hook is tested where there is no vendor's library. It takes on rows of [`REFUSED`]
//! elements, and then refuses them at their launch, as a library may.

use crate::products::{Bytes, REFUSED, apply, read, write};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use unigrad_gpu::{Formula, Norm, NormOperands, Range, Rows};
use unigrad_scalar::{DType, Literal};

static DONE: AtomicUsize = AtomicUsize::new(0);
static REFUSALS: AtomicUsize = AtomicUsize::new(0);

/// How many norms and softmaxes the library has done, and how many it has refused, in this process.
pub fn norms() -> (usize, usize) {
    (DONE.load(Relaxed), REFUSALS.load(Relaxed))
}

/// All indices below three sizes.
fn points(sizes: [u32; 3]) -> impl Iterator<Item = [u32; 3]> {
    let [a, b, c] = sizes;
    (0..a).flat_map(move |i| (0..b).flat_map(move |j| (0..c).map(move |k| [i, j, k])))
}

fn at(lies: &Rows, row: [u32; 3], column: [u32; 3]) -> usize {
    let along =
        |index: [u32; 3], strides: [u64; 3]| index.iter().zip(strides).map(|(index, stride)| u64::from(*index) * stride).sum::<u64>();
    (lies.offset + along(row, lies.rows) + along(column, lies.columns)) as usize
}

fn rounded(value: f64, dtype: Option<DType>) -> f64 {
    dtype.map_or(value, |dtype| Literal::float(dtype, value).as_f64())
}

/// Computes a norm; `Some(false)` if it is refused, `None` if its memory is not there.
pub(crate) fn normalize(memory: &mut impl Bytes, n: &Norm, to: &NormOperands, workspace: Range) -> Option<bool> {
    if n.columns.iter().product::<u32>() == REFUSED {
        REFUSALS.fetch_add(1, Relaxed);
        return Some(false);
    }
    memory.bytes(workspace)?.fill(0xa5);
    let x = read(memory, to.x, n.x.dtype)?;
    let values = |memory: &mut _, range: Option<Range>, lies: Option<Rows>| match (range, lies) {
        (Some(range), Some(lies)) => Some(Some((read(memory, range, lies.dtype)?, lies))),
        (None, None) => Some(None),
        _ => None,
    };
    let (weight, bias) = (values(memory, to.weight, n.weight)?, values(memory, to.bias, n.bias)?);
    for row in points(n.rows) {
        let elements: Vec<f64> = points(n.columns).map(|column| x.get(at(&n.x, row, column)).copied()).collect::<Option<_>>()?;
        let len = elements.len() as f64;
        let mean = elements.iter().sum::<f64>() / len;
        let center = if n.formula == Formula::Rms { 0.0 } else { mean };
        let variance = elements.iter().map(|x| (x - center) * (x - center)).sum::<f64>() / len;
        let root = 1.0 / (variance + n.epsilon).sqrt();
        let most = elements.iter().fold(f64::NEG_INFINITY, |most, x| if most.is_nan() || x.is_nan() { f64::NAN } else { most.max(*x) });
        let total: f64 = elements.iter().map(|x| (x - most).exp()).sum();
        for (lies, range, value) in [(n.mean, to.mean, mean), (n.variance, to.variance, variance), (n.root, to.root, root)] {
            if let (Some(lies), Some(range)) = (lies, range) {
                write(memory, range, lies.dtype, at(&lies, row, [0; 3]), value)?;
            }
        }
        for (column, x) in points(n.columns).zip(&elements) {
            let normed = match n.formula {
                Formula::Layer => (x - mean) * root,
                Formula::Rms => x * root,
                Formula::Softmax => (x - most).exp() / total,
                Formula::LogSoftmax => x - most - total.ln(),
                Formula::Statistics => continue,
            };
            let mut y = rounded(normed, n.rounded);
            if let Some((values, lies)) = &weight {
                y *= values.get(at(lies, row, column))?;
            }
            if let Some((values, lies)) = &bias {
                y += values.get(at(lies, row, column))?;
            }
            for (lies, range, value) in [(n.normed, to.normed, normed), (n.y, to.y, apply(n.activation, y)?)] {
                if let (Some(lies), Some(range)) = (lies, range) {
                    write(memory, range, lies.dtype, at(&lies, row, column), value)?;
                }
            }
        }
    }
    DONE.fetch_add(1, Relaxed);
    Some(true)
}
