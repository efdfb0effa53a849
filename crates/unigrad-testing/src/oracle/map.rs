//! Elementwise ops: the definitions of `unigrad-scalar`, element by element.

use crate::{Data, Values, values::each_index};
use unigrad_graph::{BinaryOp, DType, Literal, UnaryOp};

pub(super) fn iota(dtype: DType, shape: &[usize], axis: usize) -> Values {
    let mut literals = Vec::new();
    each_index(shape, |index| literals.push(Literal::int(dtype, index[axis] as i64)));
    Values::from_literals(dtype, shape, literals.into_iter())
}

pub(super) fn unary(op: UnaryOp, x: &Values, dtype: DType) -> Values {
    let results: Vec<f64> = match &x.data {
        Data::Float(data) => data.iter().map(|x| op.eval(*x)).collect(),
        Data::Int(data) => {
            let signed = !x.dtype.is_unsigned_int();
            // `eval_int` sees the bits of a `U64` as signed; these three are the ones for which that matters.
            let result = |x: i64| match op {
                UnaryOp::Abs | UnaryOp::Relu if !signed => x,
                UnaryOp::Sign if !signed => i64::from(x != 0),
                _ => op.eval_int(x),
            };
            return Values::int(dtype, &x.shape, data.iter().map(|x| result(*x)).collect());
        }
    };
    from_results(dtype, &x.shape, results)
}

pub(super) fn binary(op: BinaryOp, a: &Values, b: &Values, dtype: DType) -> Values {
    match (&a.data, &b.data) {
        (Data::Float(a_data), Data::Float(b_data)) => {
            from_results(dtype, &a.shape, a_data.iter().zip(b_data).map(|(a, b)| op.eval(*a, *b)).collect())
        }
        _ => {
            let (width, signed) = (8 * a.dtype.size() as u32, a.dtype.is_signed_int());
            let result = |i: usize| op.eval_int(a.as_i64(i), b.as_i64(i), width, signed);
            Values::int(dtype, &a.shape, (0..a.len()).map(result).collect())
        }
    }
}

/// Comparisons of floats give `Bool`.
fn from_results(dtype: DType, shape: &[usize], results: Vec<f64>) -> Values {
    if dtype.is_float() {
        Values::float(dtype, shape, results)
    } else {
        Values::int(dtype, shape, results.into_iter().map(|result| result as i64).collect())
    }
}

pub(super) fn select(condition: &Values, yes: &Values, no: &Values) -> Values {
    let pick = |i: usize| if condition.as_i64(i) != 0 { yes } else { no };
    let data = match &yes.data {
        Data::Float(_) => Data::Float((0..yes.len()).map(|i| pick(i).as_f64(i)).collect()),
        Data::Int(_) => Data::Int((0..yes.len()).map(|i| pick(i).as_i64(i)).collect()),
    };
    Values { dtype: yes.dtype, shape: yes.shape.clone(), data }
}

pub(super) fn cast(x: &Values, dtype: DType) -> Values {
    match &x.data {
        // A dtype that only stores keeps few digits, and to keep few is what it is for.
        Data::Float(_) if dtype.only_stores() => Values::from_literals(dtype, &x.shape, (0..x.len()).map(|i| x.literal(i).cast(dtype))),
        // Between other floats the oracle's extra digits stay.
        Data::Float(data) if dtype.is_float() => Values::float(dtype, &x.shape, data.clone()),
        Data::Float(data) => Values::int(dtype, &x.shape, data.iter().map(|value| Literal::float(dtype, *value).as_i64()).collect()),
        Data::Int(_) => Values::from_literals(dtype, &x.shape, (0..x.len()).map(|i| x.literal(i).cast(dtype))),
    }
}

pub(super) fn bitcast(x: &Values, dtype: DType) -> Values {
    Values::from_literals(dtype, &x.shape, (0..x.len()).map(|i| Literal::from_raw(dtype, x.literal(i).to_raw())))
}
