//! The oracle: evaluates a graph on the host, node by node in creation order, by each op's definition, in `f64` and `i64`.
//!
//! In: nodes, whose leaves hold data (a device's, or [`Values`] put there by [`leaf`]). Out: their [`Values`].
//! Always: slow and plain; every op; knows nothing of fusion, kernels or the plan.
//! Never: changes the graph. Evaluating a node on a device lets its inputs go, so ask the oracle first.

mod attention;
mod contract;
mod index;
mod map;
mod reduce;
mod view;

use crate::Values;
use rustc_hash::{FxHashMap, FxHashSet};
use std::{rc::Rc, sync::Arc};
use unigrad_graph::{DType, Expr, NodeId, Op, Storage};
use unigrad_scalar::{BinaryOp, Literal, ScatterMode, UnaryClass};

/// What happens to a float result after each op.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Precision {
    /// It stays in `f64`.
    Exact,
    /// It is rounded to the node's dtype.
    Rounded,
    /// It is moved by a random part of the dtype's rounding error, and so are the terms of sums: two such runs differ by about
    /// what an honest evaluation may be off by.
    Perturbed(u64),
}

/// A leaf that holds host values; devices cannot read it.
pub fn leaf(values: Values, device: u32) -> Expr {
    let (shape, dtype) = (values.shape.clone(), values.dtype);
    Expr::buffer(shape, dtype, device, Arc::new(values) as Storage)
}

/// The values of the nodes, in `f64` throughout.
pub fn evaluate(nodes: &[Expr]) -> Result<Vec<Values>, String> {
    evaluate_with(nodes, Precision::Exact)
}

/// The values of the nodes.
pub fn evaluate_with(nodes: &[Expr], precision: Precision) -> Result<Vec<Values>, String> {
    let mut done: FxHashMap<NodeId, Rc<Vec<Values>>> = FxHashMap::default();
    for (position, node) in order(nodes).into_iter().enumerate() {
        let inputs: Vec<Rc<Vec<Values>>> =
            if node.data().is_some() { Vec::new() } else { node.inputs().iter().map(|input| done[&input.id()].clone()).collect() };
        let noise = Noise { precision, node: position as u64 };
        let values = node_values(&node, &inputs, noise).map_err(|error| format!("{node:?} (from {}): {error}", node.origin()))?;
        let values = match values {
            Shared(values) => values,
            Fresh(mut values) => {
                values.iter_mut().for_each(|part| noise.result(part));
                Rc::new(values)
            }
        };
        if values[0].shape != *node.shape() || values[0].dtype != node.dtype() {
            return Err(format!("{node:?}: the oracle got {:?} {}", values[0].shape, values[0].dtype));
        }
        done.insert(node.id(), values);
    }
    Ok(nodes.iter().map(|node| done[&node.id()][0].clone()).collect())
}

/// Everything the nodes depend on, inputs before users.
fn order(nodes: &[Expr]) -> Vec<Expr> {
    let mut seen = FxHashSet::default();
    let mut stack = nodes.to_vec();
    let mut all = Vec::new();
    while let Some(node) = stack.pop() {
        if seen.insert(node.id()) {
            if node.data().is_none() {
                stack.extend(node.inputs().iter().cloned());
            }
            all.push(node);
        }
    }
    all.sort_by_key(Expr::id);
    all
}

enum Outcome {
    /// The input's own values: nothing was computed, so nothing is rounded.
    Shared(Rc<Vec<Values>>),
    Fresh(Vec<Values>),
}
use Outcome::{Fresh, Shared};

fn node_values(node: &Expr, inputs: &[Rc<Vec<Values>>], noise: Noise) -> Result<Outcome, String> {
    if let Some(data) = node.data() {
        return leaf_values(node, data).map(|values| Shared(Rc::new(vec![values])));
    }
    let x = |i: usize| inputs.get(i).map(|parts| &parts[0]).ok_or_else(|| format!("input {i} is missing"));
    let one = |values: Values| Ok(Fresh(vec![values]));
    // Moves elements, computes nothing.
    let moved = |values: Values| Ok(Shared(Rc::new(vec![values])));
    let shape = node.shape().as_slice();
    let dtype = node.dtype();
    match node.op() {
        Op::Buffer => Err("a buffer without data".into()),
        Op::Const(value) => moved(Values::from_literals(dtype, shape, std::iter::repeat_n(*value, node.numel()))),
        Op::Scalar => {
            let value = node.scalar_value().ok_or("a scalar without a value")?;
            moved(Values::from_literals(dtype, shape, std::iter::repeat_n(value, node.numel())))
        }
        Op::Iota { axis } => one(map::iota(dtype, shape, *axis)),
        Op::Random { word } => moved(index::random(shape, *word, x(0)?.as_i64(0) as u64, x(1)?.as_i64(0) as u64)),
        Op::Variable(_) | Op::Barrier | Op::Custom(_) | Op::Copy => {
            x(0)?;
            Ok(Shared(inputs[0].clone()))
        }
        Op::Commit(part) => {
            let (parts, old) = (inputs.first().ok_or("an assignment of nothing")?, x(1)?);
            let part = part.map_or(0, |part| part as usize);
            let new = parts.get(part).ok_or_else(|| format!("there is no part {part}"))?;
            match inputs.get(2) {
                Some(condition) => moved(map::select(&view::expand(&condition[0], shape), new, old)),
                None => moved(new.clone()),
            }
        }
        Op::Unary(op) if op.class() == UnaryClass::Number => moved(map::unary(*op, x(0)?, dtype)),
        Op::Unary(op) => one(map::unary(*op, x(0)?, dtype)),
        Op::Binary(op @ (BinaryOp::Max | BinaryOp::Min)) => moved(map::binary(*op, x(0)?, x(1)?, dtype)),
        Op::Binary(op) => one(map::binary(*op, x(0)?, x(1)?, dtype)),
        Op::Where => moved(map::select(x(0)?, x(1)?, x(2)?)),
        Op::Cast => {
            let values = map::cast(x(0)?, dtype);
            // Only what does not fit is rounded.
            let fits = |value: &f64| value.is_nan() || Literal::float(dtype, *value).as_f64() == *value;
            let before = if dtype.only_stores() { x(0)? } else { &values };
            let all_fit = matches!(&before.data, crate::Data::Float(data) if data.iter().all(fits));
            if all_fit { moved(values) } else { one(values) }
        }
        Op::Bitcast => moved(map::bitcast(x(0)?, dtype)),
        Op::Bounded { size, from_end } => {
            let x = x(0)?;
            let wrap = |i: usize| match x.as_i64(i) {
                label if label < 0 && !from_end => Err(format!("label {label} is out of range for size {size}")),
                index => index::wrap(index, *size).map(|i| i as i64),
            };
            let wrapped: Result<Vec<i64>, String> = (0..x.len()).map(wrap).collect();
            moved(Values::int(DType::I64, shape, wrapped?))
        }
        Op::Reshape => moved(x(0)?.reshaped(shape)),
        Op::Permute(perm) => moved(view::permute(x(0)?, perm, shape)),
        Op::Expand => moved(view::expand(x(0)?, shape)),
        Op::Slice(axes) => moved(view::slice(x(0)?, axes, shape)),
        Op::Pad(axes, fill) => moved(view::pad(x(0)?, axes, *fill, shape)),
        Op::Concat { axis } => {
            let parts: Vec<&Values> = inputs.iter().map(|parts| &parts[0]).collect();
            moved(view::concat(&parts, *axis, dtype, shape))
        }
        Op::Window { axis, size: _, step, dilation } => moved(view::window(x(0)?, *axis, *step, *dilation, shape)),
        Op::DynSlice { axis } => moved(view::dyn_slice(x(0)?, *axis, x(1)?.as_i64(0), shape)?),
        Op::DynUpdate { axis } => moved(view::dyn_update(x(0)?, x(1)?, *axis, x(2)?.as_i64(0))?),
        Op::Reduce(op, axes) if !reduce::adds(*op) => moved(reduce::reduce(*op, x(0)?, *axes, shape)),
        Op::Reduce(op, axes) => one(reduce::reduce(*op, &noise.terms(x(0)?, 0, true), *axes, shape)),
        Op::ArgReduce(op, axis) => moved(reduce::arg_reduce(*op, x(0)?, *axis, shape)),
        Op::Scan { op, axis, reverse } if !reduce::scan_adds(*op) => moved(reduce::scan(*op, x(0)?, *axis, *reverse)),
        Op::Scan { op, axis, reverse } => one(reduce::scan(*op, &noise.terms(x(0)?, 0, true), *axis, *reverse)),
        Op::Gather { axis } => moved(index::gather(x(0)?, x(1)?, *axis)?),
        Op::Scatter { axis, mode } => {
            let values = index::scatter(x(0)?, x(1)?, x(2)?, *axis, *mode)?;
            if matches!(mode, ScatterMode::Add | ScatterMode::Mul) { one(values) } else { moved(values) }
        }
        Op::ArgSort { axis, descending } => moved(index::argsort(x(0)?, *axis, *descending, shape[*axis])),
        Op::TopK { axis, k, largest } => moved(index::argsort(x(0)?, *axis, *largest, *k)),
        Op::MatMul => one(contract::matmul(&noise.terms(x(0)?, 0, true), &noise.terms(x(1)?, 1, true), shape)),
        Op::Conv(spec) => one(contract::conv(&noise.terms(x(0)?, 0, true), &noise.terms(x(1)?, 1, true), spec, shape)),
        Op::ConvDataGrad(spec) => one(contract::conv_data_grad(&noise.terms(x(0)?, 0, true), &noise.terms(x(1)?, 1, true), spec, shape)),
        Op::ConvWeightGrad(spec) => {
            one(contract::conv_weight_grad(&noise.terms(x(0)?, 0, true), &noise.terms(x(1)?, 1, true), spec, shape))
        }
        Op::MaxPool(spec) => Ok(Shared(Rc::new(index::max_pool(x(0)?, spec, shape)))),
        Op::Softmax { axis } => one(reduce::softmax(&noise.terms(x(0)?, 0, true), *axis, false)),
        Op::LogSoftmax { axis } => one(reduce::softmax(&noise.terms(x(0)?, 0, true), *axis, true)),
        Op::Normalize { axes, center, eps_bits } => {
            let eps = f64::from_bits(*eps_bits);
            one(reduce::normalize(&noise.terms(x(0)?, 0, true), *axes, *center, eps, |row| noise.common(dtype, row)))
        }
        Op::Attention(spec) => {
            let inputs: Vec<Values> = (0..inputs.len()).map(|i| x(i).map(|x| noise.terms(x, i, true))).collect::<Result<_, _>>()?;
            let (out, lse) = attention::forward(spec, &inputs.iter().collect::<Vec<_>>(), dtype)?;
            Ok(Fresh(vec![out, lse]))
        }
        Op::AttentionGrad(spec) => {
            let inputs: Vec<Values> = (0..inputs.len()).map(|i| x(i).map(|x| noise.terms(x, i, true))).collect::<Result<_, _>>()?;
            Ok(Fresh(attention::backward(spec, &inputs.iter().collect::<Vec<_>>(), dtype)?))
        }
        Op::Composite(composite) => {
            let arguments: Vec<Expr> = inputs.iter().map(|parts| leaf(parts[0].clone(), node.device())).collect();
            Ok(Fresh(evaluate_with(&composite.inline(&arguments), noise.precision)?))
        }
        Op::Loop(spec) => {
            let arguments: Vec<Expr> = inputs.iter().map(|parts| leaf(parts[0].clone(), node.device())).collect();
            Ok(Fresh(evaluate_with(&spec.inline(&arguments), noise.precision)?))
        }
        Op::Part(part) => {
            let parts = inputs.first().ok_or("a part of nothing")?;
            let values = parts.get(*part).ok_or_else(|| format!("there is no part {part}"))?;
            moved(values.clone())
        }
        Op::Kernel(spec) => Err(format!("the oracle cannot run the custom kernel {}", spec.program.name)),
        Op::Invalid(error) => Err(format!("an invalid node: {}", error.0)),
    }
}

fn leaf_values(node: &Expr, data: &Storage) -> Result<Values, String> {
    match data.downcast_ref::<Values>() {
        Some(values) => Ok(values.clone()),
        None => {
            let bytes = unigrad_tensor::eval::download(node).map_err(|error| error.to_string())?;
            Ok(Values::from_bytes(node.dtype(), node.shape(), &bytes))
        }
    }
}

/// What a result goes through after its op, by [`Precision`].
#[derive(Clone, Copy)]
struct Noise {
    precision: Precision,
    node: u64,
}

/// Half the distance from 1 to the next number.
pub(crate) fn rounding_error(dtype: DType) -> f64 {
    match dtype {
        DType::F64 => f64::EPSILON / 2.0,
        DType::F32 => f64::from(f32::EPSILON) / 2.0,
        DType::F16 => 2f64.powi(-11),
        DType::BF16 => 2f64.powi(-8),
        DType::F8E4M3 => 2f64.powi(-4),
        DType::F8E5M2 => 2f64.powi(-3),
        _ => 0.0,
    }
}

impl Noise {
    /// -1 to 1, by node, stream and element.
    fn unit(self, seed: u64, stream: u64, element: u64) -> f64 {
        // SplitMix64's finalizer over what identifies the place.
        let mut z = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ (self.node << 40) ^ (stream << 36) ^ element;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^= z >> 31;
        (z >> 11) as f64 * 2f64.powi(-52) - 1.0
    }

    fn result(self, values: &mut Values) {
        let dtype = values.dtype;
        let crate::Data::Float(data) = &mut values.data else { return };
        match self.precision {
            Precision::Exact => {}
            Precision::Rounded => data.iter_mut().for_each(|value| *value = Literal::float(dtype, *value).as_f64()),
            Precision::Perturbed(seed) => {
                let eps = rounding_error(dtype);
                for (i, value) in data.iter_mut().enumerate() {
                    *value *= 1.0 + eps * self.unit(seed, 15, i as u64);
                }
            }
        }
    }

    /// What a row's mean is off by, as a part of it.
    fn common(self, dtype: DType, row: usize) -> f64 {
        match self.precision {
            Precision::Perturbed(seed) => rounding_error(dtype.compute()) * self.unit(seed, 14, row as u64),
            _ => 0.0,
        }
    }

    /// The terms of a sum as an accumulator sees them: each one off by the accumulator's rounding.
    fn terms(self, values: &Values, stream: usize, adds: bool) -> Values {
        let mut values = values.clone();
        if let (Precision::Perturbed(seed), true) = (self.precision, adds) {
            let eps = rounding_error(values.dtype.compute());
            if let crate::Data::Float(data) = &mut values.data {
                for (i, value) in data.iter_mut().enumerate() {
                    *value *= 1.0 + eps * self.unit(seed, stream as u64, i as u64);
                }
            }
        }
        values
    }
}
