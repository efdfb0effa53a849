//! A graph with named axes, laid out in memory: the same graph with every axis as long as its bucket, and masks where an op would see padding.
//!
//! In: a capture with named axes ([`unigrad_graph::Dim`]). Out: a capture without, for the same data, run-time scalars and outputs; the current
//! sizes are run-time scalars that follow the captured ones.
//! Always: an element that counts never depends on padding, whatever bits lie there (NaN, an index that is out of range): what combines elements
//! along a named axis sees the op's identity in their place, and an index in the padding is 0. Elementwise ops leave what they get.
//! Two captures with one key give one graph: it depends on sizes of buckets, and on which axes share a size, alone.
//! Never: changes a node below which nothing has a name.

mod combine;
mod index;
mod loops;
mod mask;
mod parts;
mod pool;
mod reshape;

use crate::capture::{Capture, Role};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use unigrad_graph::{DType, Dim, Expr, Inputs, Literal, NodeId, Op, Shape};

/// The layout under way.
pub(crate) struct Layout {
    /// The current sizes: rank-0 `I64` run-time scalars.
    sizes: FxHashMap<(Dim, usize), Expr>,
    /// By node of the capture.
    nodes: Vec<Expr>,
    /// The parts of loops and pools, by the recorded node.
    parts: FxHashMap<NodeId, Vec<Expr>>,
    /// What steps gave, by the sequence that it makes up.
    elements: FxHashMap<NodeId, Vec<Expr>>,
}

/// A node of the capture, and its inputs: as they were recorded, and as they lie in memory.
pub(crate) struct At<'a> {
    expr: &'a Expr,
    recorded: Inputs,
    inputs: Inputs,
}

impl At<'_> {
    /// Input `i` in memory.
    fn x(&self, i: usize) -> &Expr {
        &self.inputs[i]
    }

    /// Input `i` as it was recorded.
    fn of(&self, i: usize) -> &Expr {
        &self.recorded[i]
    }

    /// The node in memory, from these inputs.
    fn from(&self, inputs: Inputs) -> Expr {
        self.with(self.expr.op(), inputs)
    }

    /// The same with another op.
    fn with(&self, op: &Op, inputs: Inputs) -> Expr {
        Expr::laid_out(op, inputs, &self.expr.memory_shape(), self.expr.dtype(), self.expr.device())
    }
}

/// The capture in memory.
pub(crate) fn physical(capture: &Capture) -> Result<Capture, String> {
    let _guards = (unigrad_graph::no_grad_guard(), unigrad_graph::keep_scalars_guard());
    let device = capture.nodes.first().map_or(0, |node| node.expr.device()); // DEFAULT: a capture without nodes has no named axis
    let size = |(dim, size): &(Dim, usize)| ((dim.clone(), *size), Expr::scalar(Literal::int(DType::I64, *size as i64), &[], device));
    let mut layout = Layout {
        sizes: capture.sizes.iter().map(size).collect(),
        nodes: Vec::with_capacity(capture.nodes.len()),
        parts: FxHashMap::default(),
        elements: FxHashMap::default(),
    };
    let mut leaves: Vec<(Expr, Role)> = Vec::new();
    for (i, node) in capture.nodes.iter().enumerate() {
        let expr = &node.expr;
        let _origin = expr.origin().enter();
        let shape = expr.memory_shape();
        let laid_out = match node.role {
            Role::External(_) | Role::Scalar(_) => {
                let op = if matches!(node.role, Role::External(_)) { &Op::Buffer } else { &Op::Scalar };
                let leaf = Expr::laid_out(op, Inputs::new(), &shape, expr.dtype(), expr.device());
                leaves.push((leaf.clone(), node.role));
                leaf
            }
            Role::Compute => {
                let positions = capture.inputs(i);
                let inputs = positions.iter().map(|input| layout.nodes[*input as usize].clone()).collect();
                // A variable is seen through in the walk, so these are the nodes that it met.
                let recorded = positions.iter().map(|input| capture.nodes[*input as usize].expr.clone()).collect();
                layout.node(&At { expr, recorded, inputs })?
            }
        };
        if let Some(error) = laid_out.error() {
            return Err(error.to_string());
        }
        if laid_out.shape() != &shape {
            return Err(format!("{} from {} is {:?} in memory, not {shape:?}", expr.op().name(), expr.origin(), laid_out.shape()));
        }
        layout.nodes.push(laid_out);
    }
    for (slot, size) in capture.sizes.iter().enumerate() {
        let scalar = layout.size(&size.0, size.1)?;
        leaves.push((scalar, Role::Scalar((capture.scalars.len() - capture.sizes.len() + slot) as u32)));
    }
    let outputs: Vec<Expr> = capture.outputs.iter().map(|output| layout.nodes[*output as usize].clone()).collect();
    drop(layout);
    Capture::laid_out(capture, &leaves, &outputs)
}

impl Layout {
    /// The current size of a dimension.
    pub(crate) fn size(&self, dim: &Dim, size: usize) -> Result<Expr, String> {
        self.sizes.get(&(dim.clone(), size)).cloned().ok_or_else(|| format!("the size of `{}` was not captured", dim.name()))
    }

    fn node(&mut self, at: &At<'_>) -> Result<Expr, String> {
        let (expr, op) = (at.expr, at.expr.op());
        match op {
            Op::Variable(_) | Op::Custom(_) => Ok(at.x(0).clone()),
            Op::Const(_) | Op::Random { .. } | Op::Unary(_) | Op::Binary(_) | Op::Where | Op::Cast | Op::Bitcast | Op::Permute(_) => {
                Ok(at.from(at.inputs.clone()))
            }
            Op::Expand | Op::Window { .. } => Ok(at.from(at.inputs.clone())),
            Op::MaxPool(spec) => pool::max_pool(self, at, spec.kernel.len()),
            Op::Pad(pads, fill) => parts::pad(self, at, pads, *fill),
            Op::Concat { axis } => parts::concat(self, at, *axis),
            Op::ArgSort { axis, descending } => parts::order(self, at, *axis, *descending),
            Op::TopK { axis, largest, .. } => parts::order(self, at, *axis, *largest),
            Op::Conv(_) | Op::ConvDataGrad(_) => parts::conv(self, at, &[0]),
            Op::ConvWeightGrad(_) => parts::conv(self, at, &[0, 1]),
            Op::Composite(_) | Op::Barrier | Op::Kernel(_) | Op::Commit(_) => Ok(at.from(at.inputs.clone())),
            Op::Loop(spec) => loops::whole(self, at, spec),
            Op::Part(i) => loops::part(self, at, *i),
            Op::Slice(axes) => parts::slice(self, at, axes),
            Op::Iota { axis } => index::iota(self, at, *axis),
            Op::Bounded { .. } => Ok(at.from([self.zeroed(at.x(0), at.of(0), u32::MAX)?].into_iter().collect())),
            Op::Gather { axis } => index::gather(self, at, *axis),
            Op::Scatter { axis, mode } => index::scatter(self, at, *axis, *mode),
            Op::Reshape => reshape::reshape(at),
            Op::DynSlice { axis } => parts::dyn_slice(self, at, *axis),
            Op::DynUpdate { axis } => parts::dyn_update(self, at, *axis),
            Op::Reduce(op, axes) => combine::reduce(self, at, *op, *axes),
            Op::ArgReduce(op, axis) => combine::arg_reduce(self, at, *op, *axis),
            Op::Scan { op, axis, .. } => combine::scan(self, at, *op, *axis),
            Op::Softmax { axis } | Op::LogSoftmax { axis } => combine::softmax(self, at, *axis),
            Op::Normalize { axes, center, eps_bits } => combine::normalize(self, at, *axes, *center, f64::from_bits(*eps_bits)),
            // The inner axis.
            Op::MatMul => combine::product(self, at, [at.x(0).rank() - 1, at.x(0).rank() - 2]),
            Op::Attention(spec) | Op::AttentionGrad(spec) => combine::attention(self, at, spec),
            Op::Buffer | Op::Scalar | Op::Copy | Op::Invalid(_) => {
                Err(format!("{} from {} is nothing to compute", op.name(), expr.origin()))
            }
        }
    }
}

impl Capture {
    /// A capture of the nodes at and below `outputs`, for the data and run-time scalars of `recorded`.
    fn laid_out(recorded: &Capture, leaves: &[(Expr, Role)], outputs: &[Expr]) -> Result<Capture, String> {
        let mut all: FxHashMap<NodeId, Expr> = leaves.iter().map(|(leaf, _)| (leaf.id(), leaf.clone())).collect();
        let mut stack: Vec<Expr> = outputs.to_vec();
        while let Some(expr) = stack.pop() {
            let inputs = expr.inputs().clone();
            let id = expr.id();
            if all.insert(id, expr).is_none() || inputs.is_empty() {
                stack.extend(inputs);
            }
        }
        let roles: FxHashMap<NodeId, Role> = leaves.iter().map(|(leaf, role)| (leaf.id(), *role)).collect();
        let mut nodes: Vec<Expr> = all.into_values().collect();
        // Inputs are older than what is made of them.
        nodes.sort_unstable_by_key(Expr::id);
        let nodes = nodes.into_iter().map(|expr| {
            let role = roles.get(&expr.id()).copied().unwrap_or(Role::Compute); // DEFAULT: what is no leaf is computed
            (expr, role)
        });
        Capture::of_nodes(recorded, nodes.collect(), outputs)
    }
}

/// A shape with one axis changed.
fn with_size(shape: &[usize], axis: usize, size: usize) -> Shape {
    let mut shape = Shape::from_slice(shape);
    shape[axis] = size;
    shape
}

/// A part of one axis from its begin on, or with zeros at its end.
fn resized(x: &Expr, axis: usize, size: usize) -> Expr {
    let Some(own) = x.shape().get(axis).copied() else { return x.clone() };
    if own >= size {
        return if own == size { x.clone() } else { x.narrow(axis, 0, size) };
    }
    let mut pads: SmallVec<[unigrad_graph::PadAxis; 6]> = SmallVec::from_elem(unigrad_graph::PadAxis::default(), x.rank());
    pads[axis].hi = size - own;
    x.pad(&pads, Literal::zero(x.dtype()))
}
