//! What each op becomes when its inputs get one more axis, the first.
//!
//! Always: an input that is the same for all slices is repeated by a view, but where an op has a better place for the slices (the rows of a
//! product, the batch or the channels of a convolution).

use super::{Batched, Mapping, custom, error_at, products};
use crate::{
    Error, ErrorKind, Expr, Inputs, Op, PadAxis, Shape, SliceAxis,
    ops::attention::{AttentionInputs, PositionInputs},
};
use smallvec::SmallVec;
use std::sync::Arc;
use unigrad_scalar::{DType, Literal, Positions, ScatterMode};

/// A recorded node, and what takes the place of its inputs.
pub(super) struct Rule<'a> {
    pub(super) node: &'a Expr,
    pub(super) mapping: &'a Arc<Mapping>,
    pub(super) inputs: &'a [Batched],
}

/// A shape with the slices before it.
pub(super) fn with_slices(size: usize, shape: &[usize]) -> Shape {
    std::iter::once(size).chain(shape.iter().copied()).collect()
}

/// The value for each of `size` slices.
#[track_caller]
pub(super) fn repeated(expr: &Expr, size: usize) -> Expr {
    expr.reshape(&with_slices(1, expr.shape())).expand(&with_slices(size, expr.shape()))
}

/// The first two axes as one.
#[track_caller]
fn fold(x: &Expr) -> Expr {
    let shape: Shape = std::iter::once(x.shape()[0].saturating_mul(x.shape()[1])).chain(x.shape()[2..].iter().copied()).collect();
    x.reshape(&shape)
}

impl Rule<'_> {
    pub(super) fn size(&self) -> usize {
        self.mapping.size
    }

    /// Input `i` with an axis of slices.
    #[track_caller]
    pub(super) fn x(&self, i: usize) -> Expr {
        match &self.inputs[i] {
            Batched { expr, mapped: true } => expr.clone(),
            Batched { expr, mapped: false } => repeated(expr, self.size()),
        }
    }

    /// The node's shape with the slices.
    fn shape(&self) -> Shape {
        with_slices(self.size(), self.node.shape())
    }

    /// 0 of the node's shape, which depends on what the node depends on: where a result has nothing to be computed from.
    #[track_caller]
    pub(super) fn nothing(&self) -> Expr {
        let dtype = self.node.dtype();
        let mut sum = Expr::constant(Literal::zero(dtype), &[], self.node.device());
        for input in self.inputs.iter().filter(|input| input.expr.numel() == 0 && input.expr.dtype().is_float() && dtype.is_float()) {
            let all = (0..input.expr.rank()).fold(0, |mask: u32, axis| mask | 1 << axis);
            sum = sum.add(&input.expr.sum(all).reshape(&[]).cast(dtype));
        }
        sum.expand(&self.shape())
    }

    fn cannot(&self, why: &str, help: &str) -> Error {
        error_at(self.node, ErrorKind::Argument, format!("{} cannot be mapped: {why}", self.node.op().name()), help)
    }

    /// The node for all slices.
    #[track_caller]
    pub(super) fn apply(&self) -> Result<Expr, Error> {
        let (node, size) = (self.node, self.size());
        Ok(match node.op() {
            Op::Buffer | Op::Const(_) | Op::Scalar | Op::Iota { .. } => {
                return Err((*Error::internal(node, "a leaf that depends on a slice")).clone());
            }
            Op::Random { word } => {
                let [seed, offset] = self.inputs else { return Err((*Error::internal(node, "random without a range")).clone()) };
                if seed.mapped || offset.mapped {
                    return Err(self.cannot("its seed differs between slices", "draw with `Randomness::Different`"));
                }
                Expr::random(&self.shape(), *word, &seed.expr, &offset.expr)
            }
            // Outside of the function nothing can ask for its gradient.
            Op::Variable(_) => self.x(0).detach(),

            Op::Unary(op) => self.x(0).unary(*op),
            Op::Binary(op) => self.x(0).binary(*op, &self.x(1)),
            Op::Where => self.x(0).select(&self.x(1), &self.x(2)),
            Op::Cast if self.x(0).dtype() == node.dtype() => self.x(0).identity(),
            Op::Cast => self.x(0).cast(node.dtype()),
            Op::Bitcast => self.x(0).bitcast(node.dtype()),
            Op::Bounded { size, from_end: true } => self.x(0).bounded(*size),
            Op::Bounded { size, from_end: false } => self.x(0).label(*size),

            Op::Reshape => self.x(0).reshape(&self.shape()),
            Op::Permute(perm) => {
                let perm: SmallVec<[usize; 8]> = std::iter::once(0).chain(perm.iter().map(|axis| usize::from(*axis) + 1)).collect();
                self.x(0).permute(&perm)
            }
            Op::Expand => {
                let x = self.x(0);
                let mut shape = Shape::from_elem(1, node.rank() + 1);
                shape[0] = size;
                let lead = shape.len() - (x.rank() - 1);
                shape[lead..].copy_from_slice(&x.shape()[1..]);
                x.reshape(&shape).expand(&self.shape())
            }
            Op::Slice(axes) => {
                let whole = SliceAxis { start: 0, step: 1, len: size };
                let axes: SmallVec<[SliceAxis; 6]> = std::iter::once(whole).chain(axes.iter().copied()).collect();
                self.x(0).slice(&axes)
            }
            Op::Pad(axes, fill) => {
                let axes: SmallVec<[PadAxis; 6]> = std::iter::once(PadAxis::default()).chain(axes.iter().copied()).collect();
                self.x(0).pad(&axes, *fill)
            }
            Op::Concat { axis } => Expr::concat(&self.all(), axis + 1),
            Op::Window { axis, size, step, dilation } => self.x(0).window(axis + 1, *size, *step, *dilation),
            Op::DynSlice { axis } => match &self.inputs[1] {
                Batched { expr: start, mapped: false } => self.x(0).dyn_slice(axis + 1, start, node.shape()[*axis]),
                _ => {
                    let x = self.x(0);
                    x.gather(axis + 1, &self.places(&self.x(1), *axis, x.shape()[axis + 1], &self.shape()))
                }
            },
            Op::DynUpdate { axis } => match &self.inputs[2] {
                Batched { expr: start, mapped: false } => self.x(0).dyn_update(axis + 1, &self.x(1), start),
                _ => {
                    let (base, update) = (self.x(0), self.x(1));
                    let places = self.places(&self.x(2), *axis, base.shape()[axis + 1], update.shape());
                    base.scatter(axis + 1, ScatterMode::Set, &places, &update)
                }
            },

            Op::Reduce(op, axes) => self.x(0).reduce(*op, axes << 1),
            Op::ArgReduce(op, axis) => self.x(0).arg_reduce(*op, axis + 1),
            Op::Scan { op, axis, reverse } => self.x(0).scan(*op, axis + 1, *reverse),

            Op::Gather { axis } => self.x(0).gather(axis + 1, &self.x(1)),
            Op::Scatter { axis, mode } => self.x(0).scatter(axis + 1, *mode, &self.x(1), &self.x(2)),
            Op::ArgSort { axis, descending } => self.x(0).argsort(axis + 1, *descending),
            Op::TopK { axis, k, largest } => self.x(0).topk(axis + 1, *k, *largest),

            Op::MatMul => products::matmul(self),
            Op::Conv(spec) => products::conv(self, spec),
            Op::ConvDataGrad(spec) => products::conv_data_grad(self, spec),
            Op::ConvWeightGrad(spec) => products::conv_weight_grad(self, spec),

            Op::Softmax { axis } => self.x(0).softmax(axis + 1),
            Op::LogSoftmax { axis } => self.x(0).log_softmax(axis + 1),
            Op::Normalize { axes, center, eps_bits } => self.x(0).normalize(*axes, *center, f64::from_bits(*eps_bits)),

            // Their parts are made otherwise.
            Op::MaxPool(_) | Op::Attention(_) | Op::AttentionGrad(_) | Op::Composite(_) | Op::Loop(_) | Op::Part(_) => {
                return Err((*Error::internal(node, "a part of what has no parts for all slices")).clone());
            }
            Op::Barrier => {
                let after: Vec<Expr> = self.inputs[1..].iter().map(|input| input.expr.clone()).collect();
                self.x(0).barrier(&after)
            }
            Op::Kernel(_) => self.slice_by_slice(),
            Op::Custom(gradient) => custom::apply(self, gradient),
            Op::Copy => self.x(0).copy_to(node.device()),
            Op::Commit(_) => {
                let help = "return the value from the function, and assign it (or its mean) outside";
                return Err(self.cannot("a tensor has one value, and each slice would assign another", help));
            }
            Op::Invalid(error) => return Err((*error.0).clone()),
        })
    }

    /// All inputs with an axis of slices.
    #[track_caller]
    fn all(&self) -> Vec<Expr> {
        let mut all = Vec::with_capacity(self.inputs.len());
        for i in 0..self.inputs.len() {
            all.push(self.x(i));
        }
        all
    }

    /// The indices along `axis` of parts (of this shape, with slices) that begin elsewhere in each slice.
    #[track_caller]
    fn places(&self, start: &Expr, axis: usize, total: usize, part: &[usize]) -> Expr {
        // As a part that begins at one place for all: it lies inside, from the front.
        let start = start.label(total - part[axis + 1] + 1);
        let mut column = Shape::from_elem(1, part.len());
        column[0] = self.size();
        let start = start.reshape(&column).expand(part);
        Expr::iota(part, axis + 1, DType::I64, start.device()).add(&start)
    }

    /// Once for each slice: for a program that only the user knows.
    #[track_caller]
    fn slice_by_slice(&self) -> Expr {
        let one = with_slices(1, self.node.shape());
        let mut results = Vec::with_capacity(self.size());
        for slice in 0..self.size() {
            let mut inputs = Inputs::new();
            for input in self.inputs {
                inputs.push(match input.mapped {
                    true => input.expr.narrow(0, slice, 1).reshape(&input.expr.shape()[1..]),
                    false => input.expr.clone(),
                });
            }
            results.push(Expr::of_node_type(self.node.node_type().clone(), inputs).reshape(&one));
        }
        if results.is_empty() { self.nothing() } else { Expr::concat(&results, 0) }
    }

    /// A node with several results, in which the slices and the first axis are one axis; `None` if it has to be taken apart.
    #[track_caller]
    pub(super) fn folded(&self) -> Result<Option<Expr>, Error> {
        let node = self.node;
        Ok(match node.op() {
            Op::MaxPool(spec) => Some(fold(&self.x(0)).max_pool_node(spec.clone(), &node.shape()[2..])),
            Op::Attention(spec) | Op::AttentionGrad(spec) => {
                let values: Vec<Expr> = self.inputs.iter().map(|input| input.expr.clone()).collect();
                let Some((inputs, rest)) = AttentionInputs::from_inputs(spec, &values) else {
                    return Err((*Error::internal(node, "attention without its inputs")).clone());
                };
                let is_mapped = |expr: &Expr| self.inputs.iter().any(|input| input.mapped && input.expr.same(expr));
                let apart = match &inputs.positions {
                    // They are the same for the whole batch.
                    PositionInputs::Same { kv_len, q_offset } => is_mapped(kv_len) || is_mapped(q_offset),
                    // Pages of several slices would need other numbers.
                    PositionInputs::Each(_) => spec.positions == Positions::Paged,
                };
                if apart {
                    return Ok(None);
                }
                // Each place of the batch draws its own numbers.
                if let Some((seed, offset)) = &inputs.random
                    && !self.mapping.differs(seed, offset)?
                {
                    return Ok(None);
                }
                let n_tensors = spec.n_tensors();
                let mut tensors = Vec::with_capacity(n_tensors);
                for i in 0..n_tensors {
                    tensors.push(fold(&self.x(i)));
                }
                let positions = match (&inputs.positions, spec.positions.is_tensor()) {
                    (PositionInputs::Each(_), true) => {
                        let lost = || (*Error::internal(node, "attention without its positions")).clone();
                        PositionInputs::Each(tensors.pop().ok_or_else(lost)?)
                    }
                    (same, _) => same.clone(),
                };
                let bias = if spec.has_bias { tensors.pop() } else { None };
                let [q, k, v] =
                    <[Expr; 3]>::try_from(tensors).map_err(|_| (*Error::internal(node, "attention of other tensors")).clone())?;
                let inputs = AttentionInputs { q, k, v, bias, positions, ..inputs };
                let begin = self.inputs.len() - rest.len();
                match rest.len() {
                    0 => Some(Expr::attention_node(spec.clone(), &inputs)),
                    3 => {
                        let [out, lse, dout] = [0, 1, 2].map(|i| fold(&self.x(begin + i)));
                        Some(Expr::attention_grad_node(spec.clone(), &inputs, &out, &lse, &dout))
                    }
                    _ => return Err((*Error::internal(node, "attention with other inputs")).clone()),
                }
            }
            // By its ops.
            Op::Buffer
            | Op::Const(_)
            | Op::Scalar
            | Op::Iota { .. }
            | Op::Random { .. }
            | Op::Variable(_)
            | Op::Unary(_)
            | Op::Binary(_)
            | Op::Where
            | Op::Cast
            | Op::Bitcast
            | Op::Bounded { .. }
            | Op::Reshape
            | Op::Permute(_)
            | Op::Expand
            | Op::Slice(_)
            | Op::Pad(..)
            | Op::Concat { .. }
            | Op::Window { .. }
            | Op::DynSlice { .. }
            | Op::DynUpdate { .. }
            | Op::Reduce(..)
            | Op::ArgReduce(..)
            | Op::Scan { .. }
            | Op::Gather { .. }
            | Op::Scatter { .. }
            | Op::ArgSort { .. }
            | Op::TopK { .. }
            | Op::MatMul
            | Op::Conv(_)
            | Op::ConvDataGrad(_)
            | Op::ConvWeightGrad(_)
            | Op::Softmax { .. }
            | Op::LogSoftmax { .. }
            | Op::Normalize { .. }
            | Op::Composite(_)
            | Op::Loop(_)
            | Op::Part(_)
            | Op::Barrier
            | Op::Kernel(_)
            | Op::Custom(_)
            | Op::Copy
            | Op::Commit(_)
            | Op::Invalid(_) => None,
        })
    }
}
