//! Each op's rule for names: which axes of the result have those of which axes of the inputs, and which inputs have to share one.
//!
//! In: an op, its inputs, its result's shape. Out: the result's names, and the inputs, of which some get names that others have.
//! Always: an axis that several inputs share has one name; an input that has none there gets it (its value stays; see [`super::named`]).
//! Never: drops a name that the result could have. An op without a rule for an axis says so.

use super::{
    AxisNames, Names, Problem, Sum, described,
    follow::follow,
    named::{FIXED, rename},
};
use crate::{AttentionSpec, ConvSpec, Expr, Inputs, Op, PadAxis, PoolSpec};
use unigrad_scalar::Positions;

/// The names of all inputs while they are brought together.
struct Join<'a> {
    inputs: &'a mut Inputs,
    names: Vec<Vec<AxisNames>>,
}

impl Join<'_> {
    fn of(inputs: &mut Inputs) -> Join<'_> {
        let of = |x: &Expr| x.names().map_or_else(|| vec![AxisNames::new(); x.rank()], |names| names.axes().to_vec());
        let names = inputs.iter().map(of).collect();
        Join { inputs, names }
    }

    /// One name for an axis of each of these inputs.
    fn one(&mut self, places: &[(usize, usize)]) -> Result<AxisNames, Problem> {
        let named = places.iter().map(|(i, axis)| &self.names[*i][*axis]).find(|name| !name.is_empty());
        let Some(name) = named.cloned() else { return Ok(AxisNames::new()) };
        for (i, axis) in places {
            let own = &mut self.names[*i][*axis];
            // Where there is one element, any name fits.
            if own.is_empty() || self.inputs[*i].shape()[*axis] == 1 {
                own.clone_from(&name);
            } else if *own != name {
                let message = format!("an axis is named {} in one input and {} in another", described(&name), described(own));
                return Err(Problem { message, help: FIXED });
            }
        }
        Ok(name)
    }

    /// The same axes of these inputs, all of one rank but for one axis that they do not share.
    fn all(&mut self, which: &[usize], apart: Option<usize>) -> Result<Vec<AxisNames>, Problem> {
        let rank = self.inputs[which[0]].rank();
        let mut result = Vec::with_capacity(rank);
        for axis in 0..rank {
            let places: Vec<(usize, usize)> = which.iter().map(|i| (*i, axis)).collect();
            result.push(if apart == Some(axis) { AxisNames::new() } else { self.one(&places)? });
        }
        Ok(result)
    }

    /// An axis that may have no name.
    fn none(&self, what: &str, i: usize, axis: usize) -> Result<(), Problem> {
        if self.names[i][axis].is_empty() { Ok(()) } else { Err(Problem::at(what, &self.inputs[i], axis)) }
    }

    /// The size of an axis whose padding is at its end.
    fn size(&self, what: &str, i: usize, axis: usize) -> Result<Sum, Problem> {
        Sum::of(self.inputs[i].shape()[axis], &self.names[i][axis]).ok_or_else(|| Problem::at(what, &self.inputs[i], axis))
    }

    /// An input without names.
    fn plain(&self, what: &str, i: usize) -> Result<(), Problem> {
        (0..self.names[i].len()).try_for_each(|axis| self.none(what, i, axis))
    }

    /// Gives the inputs the names that they have now.
    fn done(self, result: Vec<AxisNames>) -> Option<Names> {
        let Join { inputs, names } = self;
        for (input, names) in inputs.iter_mut().zip(names) {
            *input = rename(input, Names::new(names).as_ref());
        }
        Names::new(result)
    }
}

/// The names of what `op` makes of the inputs, some of which have names.
pub(crate) fn infer(op: &Op, inputs: &mut Inputs, shape: &[usize]) -> Result<Option<Names>, Problem> {
    let name = op.name();
    match op {
        Op::Buffer | Op::Const(_) | Op::Scalar | Op::Iota { .. } | Op::Random { .. } | Op::Invalid(_) => Ok(None),
        Op::Unary(_) | Op::Binary(_) | Op::Where | Op::Cast | Op::Bitcast | Op::Bounded { .. } => {
            let mut join = Join::of(inputs);
            let all: Vec<usize> = (0..join.inputs.len()).collect();
            let result = join.all(&all, None)?;
            Ok(join.done(result))
        }
        Op::Variable(_) | Op::Barrier | Op::Custom(_) | Op::Copy | Op::Scan { .. } => Ok(inputs[0].names().cloned()),
        Op::Softmax { .. } | Op::LogSoftmax { .. } | Op::Normalize { .. } => Ok(inputs[0].names().cloned()),
        // What a composite takes has no names, and the old value is one of those or has its own.
        Op::Commit(Some(_)) => Ok(inputs[1].names().cloned()),
        Op::Commit(None) => {
            let mut join = Join::of(inputs);
            let result = join.all(&[0, 1], None)?;
            Ok(join.done(result))
        }
        Op::Reshape => {
            let x = &inputs[0];
            follow(x, shape).map_err(|cut| {
                let message = format!("{:?} to {shape:?} cuts the factor {} of an axis with a name", x.shape(), described(&[cut]));
                Problem { message, help: FIXED }
            })
        }
        Op::Permute(perm) => {
            let names = |names: &Names| Names::new(perm.iter().map(|axis| names.axes()[usize::from(*axis)].clone()));
            Ok(inputs[0].names().and_then(names))
        }
        Op::Expand => {
            let mut join = Join::of(inputs);
            let lead = shape.len() - join.inputs[0].rank();
            let mut result = vec![AxisNames::new(); lead];
            for axis in 0..join.inputs[0].rank() {
                if join.inputs[0].shape()[axis] != shape[lead + axis] {
                    // It has one element now.
                    join.names[0][axis] = AxisNames::new();
                }
                result.push(join.names[0][axis].clone());
            }
            Ok(join.done(result))
        }
        Op::Slice(axes) => {
            let join = Join::of(inputs);
            let mut result = Vec::with_capacity(axes.len());
            for (i, axis) in axes.iter().enumerate() {
                let size = join.inputs[0].shape()[i];
                let is_whole = axis.len == size && ((axis.step == 1 && axis.start == 0) || (axis.step == -1 && axis.start + 1 == size));
                if axis.len > 0 && !(is_whole && axis.step == 1) {
                    join.size("a part", 0, i)?;
                }
                // A part of a fixed length is an axis without a name.
                result.push(if is_whole && axis.len > 0 { join.names[0][i].clone() } else { AxisNames::new() });
            }
            Ok(join.done(result))
        }
        Op::Pad(axes, _) => {
            let join = Join::of(inputs);
            let mut result = join.names[0].clone();
            for (i, pad) in axes.iter().enumerate().filter(|(i, pad)| **pad != PadAxis::default() && !join.names[0][*i].is_empty()) {
                let spread = join.size("padding", 0, i)?.times(pad.interior + 1);
                let spread = spread.ok_or_else(|| Problem::at("padding between elements", &join.inputs[0], i))?;
                result[i] = spread.plus(pad.lo as i64 + pad.hi as i64 - pad.interior as i64).axis();
            }
            Ok(join.done(result))
        }
        Op::Concat { axis } => {
            let mut join = Join::of(inputs);
            let all: Vec<usize> = (0..join.inputs.len()).collect();
            let mut result = join.all(&all, Some(*axis))?;
            if all.iter().any(|i| !join.names[*i][*axis].is_empty()) {
                let mut sum = Sum::number(0);
                for i in all {
                    let both = sum.and(&join.size("one after another", i, *axis)?);
                    sum = both.ok_or_else(|| Problem::at("one after another", &join.inputs[i], *axis))?;
                }
                result[*axis] = sum.axis();
            }
            Ok(join.done(result))
        }
        Op::Window { axis, size, step, dilation } => {
            let join = Join::of(inputs);
            let mut result = join.names[0].clone();
            if !result[*axis].is_empty() {
                let span = (size - 1) * dilation + 1;
                result[*axis] = join.size("windows", 0, *axis)?.plus(1 - span as i64).every(*step).axis();
            }
            result.push(AxisNames::new());
            Ok(join.done(result))
        }
        Op::DynSlice { axis } => {
            let join = Join::of(inputs);
            join.size("a part from a run-time position", 0, *axis)?;
            let mut result = join.names[0].clone();
            // As many elements whatever the axis's size is.
            result[*axis] = AxisNames::new();
            Ok(join.done(result))
        }
        Op::DynUpdate { axis } => {
            let mut join = Join::of(inputs);
            join.size("an update at a run-time position", 1, *axis)?;
            join.size("an update", 0, *axis)?;
            let mut result = join.all(&[0, 1], Some(*axis))?;
            result[*axis] = join.names[0][*axis].clone();
            Ok(join.done(result))
        }
        Op::Reduce(_, axes) => Ok(reduced(&inputs[0], *axes)),
        Op::ArgReduce(_, axis) => Ok(reduced(&inputs[0], 1 << axis)),
        Op::Gather { axis } => {
            let mut join = Join::of(inputs);
            let mut result = join.all(&[0, 1], Some(*axis))?;
            result[*axis] = join.names[1][*axis].clone();
            Ok(join.done(result))
        }
        Op::Scatter { axis, .. } => {
            let mut join = Join::of(inputs);
            join.all(&[1, 2], None)?;
            for i in (0..shape.len()).filter(|i| i != axis) {
                // By two names it is a part, whether or not both have one size now: so all sizes have one graph.
                let two_names = !join.names[0][i].is_empty() && !join.names[1][i].is_empty() && join.names[0][i] != join.names[1][i];
                if !two_names && join.inputs[0].shape()[i] == join.inputs[1].shape()[i] {
                    join.one(&[(0, i), (1, i), (2, i)])?;
                } else {
                    // The first elements, which are the first ones in memory too. Index and source have one name.
                    (0..2).try_for_each(|input| join.size("a scatter into a part of an axis", input, i).map(drop))?;
                }
            }
            let result = join.names[0].clone();
            Ok(join.done(result))
        }
        Op::ArgSort { axis, .. } => {
            let join = Join::of(inputs);
            join.size("an order of its elements", 0, *axis)?;
            let result = join.names[0].clone();
            Ok(join.done(result))
        }
        Op::TopK { axis, .. } => {
            let join = Join::of(inputs);
            join.size("an order of its elements", 0, *axis)?;
            let mut result = join.names[0].clone();
            result[*axis] = AxisNames::new();
            Ok(join.done(result))
        }
        Op::MatMul => {
            let mut join = Join::of(inputs);
            let rank = shape.len();
            let mut result = Vec::with_capacity(rank);
            for axis in 0..rank - 2 {
                result.push(join.one(&[(0, axis), (1, axis)])?);
            }
            join.one(&[(0, rank - 1), (1, rank - 2)])?;
            result.push(join.names[0][rank - 2].clone());
            result.push(join.names[1][rank - 1].clone());
            Ok(join.done(result))
        }
        Op::Conv(spec) => {
            let join = Join::of(inputs);
            join.none(name, 0, 1)?;
            join.plain(name, 1)?;
            let mut result = vec![AxisNames::new(); shape.len()];
            result[0] = join.names[0][0].clone();
            for d in (0..spec.stride.len()).filter(|d| !join.names[0][d + 2].is_empty()) {
                let less = reach(spec, join.inputs[1].shape(), d);
                result[d + 2] = join.size(name, 0, d + 2)?.plus(-less).every(spec.stride[d]).axis();
            }
            Ok(join.done(result))
        }
        Op::ConvDataGrad(spec) => {
            let join = Join::of(inputs);
            join.none(name, 0, 1)?;
            join.plain(name, 1)?;
            let mut result = vec![AxisNames::new(); shape.len()];
            result[0] = join.names[0][0].clone();
            for d in (0..spec.stride.len()).filter(|d| !join.names[0][d + 2].is_empty()) {
                // The least size of which the windows are as many.
                let windows = join.size(name, 0, d + 2)?.plus(-1).times(spec.stride[d]);
                let windows = windows.ok_or_else(|| Problem::at(name, &join.inputs[0], d + 2))?.plus(1);
                let least = windows.plus(reach(spec, join.inputs[1].shape(), d));
                let more = shape[d + 2] as i64 - least.size() as i64;
                result[d + 2] = least.plus(more).axis();
            }
            Ok(join.done(result))
        }
        Op::ConvWeightGrad(_) => {
            let mut join = Join::of(inputs);
            join.one(&[(0, 0), (1, 0)])?;
            for input in 0..2 {
                join.none(name, input, 1)?;
                (2..join.inputs[input].rank()).try_for_each(|axis| join.size(name, input, axis).map(drop))?;
            }
            Ok(join.done(Vec::new()))
        }
        Op::MaxPool(spec) => {
            let join = Join::of(inputs);
            let mut result = join.names[0].clone();
            for d in (0..spec.kernel.len()).filter(|d| !join.names[0][d + 2].is_empty()) {
                let windows = pooled(spec, &join, d)?;
                // Rounded down, or up; of another number there is no name.
                let sizes = windows.into_iter().find(|windows| windows.size() == shape[d + 2]);
                result[d + 2] = sizes.map_or_else(AxisNames::new, Sum::axis);
            }
            Ok(join.done(result))
        }
        Op::Attention(spec) => attention(spec, inputs, 0),
        Op::AttentionGrad(spec) => attention(spec, inputs, 3),
        Op::Part(i) => Ok(part(&inputs[0], *i, shape.len())),
        Op::Composite(_) | Op::Loop(_) | Op::Kernel(_) => {
            let join = Join::of(inputs);
            (0..join.inputs.len()).try_for_each(|input| join.plain("a function of fixed sizes", input))?;
            Ok(join.done(Vec::new()))
        }
    }
}

/// How many elements fewer than its input a convolution has along spatial axis `d`, but for its stride.
fn reach(spec: &ConvSpec, w: &[usize], d: usize) -> i64 {
    let reach = spec.dilation[d].saturating_mul(w[d + 2].saturating_sub(1)) as i64;
    reach - spec.padding[d].0 as i64 - spec.padding[d].1 as i64
}

/// How many windows a pool may have along spatial axis `d`, which has a name: as many as fit, or one more.
fn pooled(spec: &PoolSpec, join: &Join<'_>, d: usize) -> Result<[Sum; 2], Problem> {
    let size = join.size("max_pool", 0, d + 2)?;
    // Taps that step over all that there is meet what lies behind it.
    if spec.dilation[d] > 1 && spec.pad[d] > 0 && size.size() < spec.dilation[d] {
        return Err(Problem::at("windows that may miss all elements", &join.inputs[0], d + 2));
    }
    let span = spec.dilation[d].saturating_mul(spec.kernel[d].saturating_sub(1)).saturating_add(1);
    let stride = spec.stride[d];
    let starts = size.plus(2 * spec.pad[d] as i64 - span as i64 + stride as i64);
    Ok([starts.clone().over(stride), starts.plus(stride as i64 - 1).over(stride)])
}

/// The names of what is left of `x`.
fn reduced(x: &Expr, axes: u32) -> Option<Names> {
    let kept = |(axis, name): (usize, &AxisNames)| if axes >> axis & 1 == 1 { AxisNames::new() } else { name.clone() };
    x.names().and_then(|names| Names::new(names.axes().iter().enumerate().map(kept)))
}

/// Inputs q, k, v, (bias), (positions), numbers; of the gradient then out, lse, dout. Where positions are a tensor, only
/// the batch and queries have names; keys in pages are no batch.
fn attention(spec: &AttentionSpec, inputs: &mut Inputs, following: usize) -> Result<Option<Names>, Problem> {
    let mut join = Join::of(inputs);
    let bias = spec.has_bias.then_some(3);
    let after = spec.numbers().end;
    let results: Vec<usize> = (after..after + following).collect();
    for input in [0, 1, 2] {
        join.none("attention's heads", input, 1)?;
        join.none("attention's features", input, 3)?;
    }
    let table = spec.positions.is_tensor().then(|| spec.n_tensors() - 1);
    let is_paged = spec.positions == Positions::Paged;
    if let Some(table) = table {
        join.none("attention's lengths and pages of a sequence", table, 1)?;
        for input in [1, 2] {
            join.none("keys of different lengths", input, 2)?;
            if is_paged {
                join.none("keys in pages", input, 0)?;
            }
        }
    }
    let at = |inputs: &[usize], axis: usize| -> Vec<(usize, usize)> { inputs.iter().map(|input| (*input, axis)).collect() };
    let with = |inputs: &[usize]| -> Vec<usize> { inputs.iter().copied().chain(bias).chain(results.iter().copied()).collect() };
    let sides: &[usize] = if is_paged { &[0] } else { &[0, 1, 2] };
    let all: Vec<usize> = with(sides).into_iter().chain(table).collect();
    let batch = join.one(&at(&all, 0))?;
    let queries = join.one(&at(&with(&[0]), 2))?;
    let keys: Vec<(usize, usize)> = at(&[1, 2], 2).into_iter().chain(bias.map(|bias| (bias, 3))).collect();
    join.one(&keys)?;
    Ok(join.done(vec![batch, AxisNames::new(), queries, AxisNames::new()]))
}

/// The names of a part of a node with several outputs.
fn part(parent: &Expr, i: usize, rank: usize) -> Option<Names> {
    let names = match (parent.op(), i) {
        (Op::AttentionGrad(_), 1 | 2) => parent.input(i).and_then(|input| input.names().cloned()),
        _ => parent.names().cloned(),
    };
    names.and_then(|names| Names::new(names.axes().iter().take(rank).cloned()))
}
