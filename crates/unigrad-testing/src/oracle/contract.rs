//! Matrix products and convolutions, as loops.

use crate::{
    Data, Values,
    values::{each_index, flat},
};
use unigrad_graph::{ConvSpec, DType, numel};

/// Sums of products, in `f64` or wrapping integers.
struct Sums {
    float: Vec<f64>,
    int: Vec<i64>,
}

impl Sums {
    fn new(dtype: DType, len: usize) -> Sums {
        if dtype.is_float() { Sums { float: vec![0.0; len], int: Vec::new() } } else { Sums { float: Vec::new(), int: vec![0; len] } }
    }

    fn add(&mut self, at: usize, a: &Values, i: usize, b: &Values, j: usize) {
        match (&a.data, &b.data) {
            (Data::Float(a), Data::Float(b)) => self.float[at] += a[i] * b[j],
            (Data::Int(a), Data::Int(b)) => self.int[at] = self.int[at].wrapping_add(a[i].wrapping_mul(b[j])),
            _ => {}
        }
    }

    /// On `Bool` a product is *and* and a sum is *or*.
    fn finish(self, dtype: DType, shape: &[usize]) -> Values {
        if dtype.is_float() { Values::float(dtype, shape, self.float) } else { Values::int(dtype, shape, self.int) }
    }
}

pub(super) fn matmul(a: &Values, b: &Values, shape: &[usize]) -> Values {
    let rank = shape.len();
    let (m, n, k) = (shape[rank - 2], shape[rank - 1], a.shape[rank - 1]);
    let mut sums = Sums::new(a.dtype, numel(shape));
    for batch in 0..numel(&shape[..rank - 2]) {
        for row in 0..m {
            for column in 0..n {
                for i in 0..k {
                    sums.add((batch * m + row) * n + column, a, (batch * m + row) * k + i, b, (batch * k + i) * n + column);
                }
            }
        }
    }
    sums.finish(a.dtype, shape)
}

/// Calls `f` with the positions of x, w and y that meet in a convolution: `y[n, o, out] += x[n, c, in] * w[o, c', kernel]`.
fn each_product(x: &[usize], w: &[usize], y: &[usize], spec: &ConvSpec, mut f: impl FnMut(usize, usize, usize)) {
    let (inputs, outputs) = (w[1], w[0] / spec.groups);
    each_index(y, |place| {
        each_index(&w[1..], |tap| {
            let mut source = vec![place[0], place[1] / outputs.max(1) * inputs + tap[0]];
            for d in 0..x.len() - 2 {
                let at = (place[d + 2] * spec.stride[d] + tap[d + 1] * spec.dilation[d]).checked_sub(spec.padding[d].0);
                match at.filter(|at| *at < x[d + 2]) {
                    Some(at) => source.push(at),
                    None => return,
                }
            }
            let weight: Vec<usize> = std::iter::once(place[1]).chain(tap.iter().copied()).collect();
            f(flat(&source, x), flat(&weight, w), flat(place, y));
        });
    });
}

pub(super) fn conv(x: &Values, w: &Values, spec: &ConvSpec, shape: &[usize]) -> Values {
    let mut sums = Sums::new(x.dtype, numel(shape));
    each_product(&x.shape, &w.shape, shape, spec, |i, j, at| sums.add(at, x, i, w, j));
    sums.finish(x.dtype, shape)
}

pub(super) fn conv_data_grad(dy: &Values, w: &Values, spec: &ConvSpec, shape: &[usize]) -> Values {
    let mut sums = Sums::new(dy.dtype, numel(shape));
    each_product(shape, &w.shape, &dy.shape, spec, |at, j, i| sums.add(at, dy, i, w, j));
    sums.finish(dy.dtype, shape)
}

pub(super) fn conv_weight_grad(x: &Values, dy: &Values, spec: &ConvSpec, shape: &[usize]) -> Values {
    let mut sums = Sums::new(x.dtype, numel(shape));
    each_product(&x.shape, shape, &dy.shape, spec, |i, at, j| sums.add(at, x, i, dy, j));
    sums.finish(x.dtype, shape)
}
