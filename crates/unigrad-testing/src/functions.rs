//! Cases of the functions of one number, made from their table: a new row is tested on every device by being there.
//!
//! In: the exact meaning and the slope of each row. Out: [`Case`]s as the files of PyTorch's answers have them.
//! Always: inputs are exact in every float dtype, and steps and poles are left out, for which see PyTorch's answers.

use crate::{
    Values,
    cases::{Array, Case, weight},
};
use unigrad_graph::{DType, UnaryClass, UnaryOp};
use unigrad_tensor::registry::Attributes;

/// Results and gradients that half types hold with room for what is multiplied with them.
const LARGEST: f64 = 500.0;

/// A grid over what most functions change on, and what is special.
pub fn cases() -> Vec<Case> {
    UnaryOp::ALL.iter().copied().flat_map(|op| [on_a_grid(op), at_special_points(op)]).flatten().collect()
}

fn array(dtype: DType, values: Vec<f64>) -> Array {
    let shape = [values.len()];
    let any_float = dtype == DType::F64;
    let values = if any_float {
        Values::float(dtype, &shape, values)
    } else {
        Values::int(dtype, &shape, values.iter().map(|x| *x as i64).collect())
    };
    Array { any_float, values }
}

fn case(op: UnaryOp, number: usize, x: Vec<f64>, grads: Vec<(usize, Vec<f64>)>) -> Case {
    let y = x.iter().map(|x| op.eval(*x)).collect();
    let result = if op.gives_bool() { DType::Bool } else { DType::F64 };
    Case {
        op: op.name().to_owned(),
        number,
        args: Attributes::new(),
        inputs: vec![array(DType::F64, x)],
        outputs: vec![array(result, y)],
        grads,
        second: Vec::new(),
    }
}

fn on_a_grid(op: UnaryOp) -> Option<Case> {
    if matches!(op.class(), UnaryClass::Truth | UnaryClass::Bits) {
        return None;
    }
    let slope = op.slope(true);
    let dy_dx = |x: f64| slope.map_or(0.0, |slope| slope.eval(&[x, op.eval(x), 1.0]));
    let tame = |x: &f64| op.eval(*x).abs() <= LARGEST && dy_dx(*x).abs() <= LARGEST;
    // What rounds its argument, and what bends, has its steps at whole numbers and halves.
    let between = |x: &f64| op.class() == UnaryClass::Real || (2.0 * x).fract() != 0.0;
    let points = (-64..=64).map(|i| f64::from(i) / 8.0).chain((-48..48).map(|i| f64::from(i) / 32.0 + 1.0 / 64.0));
    let x: Vec<f64> = points.filter(|x| tame(x) && between(x)).collect();
    let grads = if op.gives_bool() { Vec::new() } else { vec![(0, x.iter().enumerate().map(|(i, x)| weight(i) * dy_dx(*x)).collect())] };
    Some(case(op, 101, x, grads))
}

/// Of functions that are composed for a device; PyTorch's answers have these points for the others.
fn at_special_points(op: UnaryOp) -> Option<Case> {
    op.form(true)?;
    Some(case(op, 102, vec![0.0, -0.0, 1.0, -1.0, f64::INFINITY, f64::NEG_INFINITY, f64::NAN], Vec::new()))
}
