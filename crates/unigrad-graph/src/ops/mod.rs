//! Every op, by family: how a node is made (the rules its inputs obey), its gradient, its decomposition.
//!
//! The constructors are strict: inputs of a map have one shape and one dtype, broadcasting and promotion are the caller's explicit
//! `expand` and `cast`. A broken rule gives an invalid node.

pub mod attention;
pub mod contract;
pub mod index;
pub mod leaf;
pub mod map;
pub mod reduce;
pub mod structure;
pub mod view;

use crate::{
    Error, ErrorKind, Expr, Op,
    autograd::{Vjp, autograd_error, check},
    composite,
};
use unigrad_scalar::{BinaryOp, ScatterMode};

impl Expr {
    /// An invalid node for a broken shape rule.
    #[track_caller]
    pub(crate) fn shape_error(op: &str, message: String, inputs: &[&Expr]) -> Expr {
        Expr::fail(ErrorKind::Shape, op, message, shape_help(op), inputs)
    }

    /// An invalid node for a broken dtype rule.
    #[track_caller]
    pub(crate) fn dtype_error(op: &str, message: String, inputs: &[&Expr]) -> Expr {
        Expr::fail(ErrorKind::DType, op, message, "use `cast` to change the dtype", inputs)
    }

    /// The first invalid one, or an invalid node if they live on different devices.
    #[track_caller]
    pub(crate) fn check_inputs(op: &str, inputs: &[&Expr]) -> Option<Expr> {
        if let Some(invalid) = inputs.iter().find(|input| input.is_invalid()) {
            return Some((*invalid).clone());
        }
        let first = inputs.first()?;
        if inputs.iter().all(|input| input.device() == first.device()) {
            return None;
        }
        // Not in a closure: the place would be this line.
        Some(Expr::fail(ErrorKind::Device, op, "inputs are on different devices".into(), "move one of them with `to(&device)`", inputs))
    }
}

/// What an op wants of shapes.
fn shape_help(op: &str) -> &'static str {
    match op {
        "reshape" => "the number of elements stays",
        "permute" => "name every axis once",
        "expand" => "sizes match from the last axis back, or are 1; see `reshape` and `unsqueeze`",
        "slice" => "stay inside of each axis",
        "pad" => "give one pair per axis",
        "concat" => "all have one dtype, and equal sizes but along the axis",
        "unfold" => "a window is at least 1 and fits into the axis; steps are at least 1",
        "dyn_slice" | "dyn_update" => "the part fits into the axis, and its position is an integer of rank 0",
        "where" => "expand all three to one shape",
        "gather" => "the index has as many axes, and the same sizes but along the axis",
        "scatter" => "index and source have one shape, which fits into the tensor's but along the axis",
        "topk" => "`k` is at most the axis's size",
        "matmul" => "the right side has as many rows as the left side has columns, and equal batch sizes",
        "conv" => {
            "x is [n, c, spatial..], the weight [out, c / groups, kernel..]; strides, dilations and groups are at least 1, and the kernel fits \
             into the padded input"
        }
        "max_pool" => "each window touches the input; kernels, strides and dilations are at least 1",
        "attention" => "q is [b, h, t, d], k [b, g, s, d], v [b, g, s, e]; h is a multiple of g",
        "layer_norm" | "rms_norm" => "normalize over at least one axis, and no more than there are",
        "argmax" | "argmin" => "reduce an axis that has elements",
        name if BinaryOp::ALL.iter().any(|op| op.name() == name) => "expand both to one shape",
        _ => "axes count from 0; see the op's documentation for the shapes that it takes",
    }
}

/// Each op's gradient, which stands beside its constructor.
pub(crate) fn vjp(v: &mut Vjp<'_>) -> Result<(), Error> {
    let node = v.node;
    match node.op() {
        // Leaves; a variable is where a gradient stops.
        Op::Buffer | Op::Const(_) | Op::Scalar | Op::Iota { .. } | Op::Random { .. } | Op::Variable(_) => {}
        // An assigned value is data: its gradient ends where it was assigned.
        Op::Commit(_) => {}
        Op::Unary(op) => map::unary_vjp(v, *op),
        Op::Binary(op) => map::binary_vjp(v, *op),
        Op::Where => map::where_vjp(v),
        Op::Cast => v.send(0, |v| v.dy.cast(v.x(0).dtype())),
        Op::Bitcast => return Err(autograd_error(node, "bits have no gradient".into(), "use `cast`, or `detach` the tensor first")),
        Op::Bounded { .. } => {}
        Op::Reshape => v.send(0, |v| v.dy.reshape_like(&v.x(0))),
        Op::Permute(perm) => view::permute_vjp(v, perm),
        Op::Expand => v.send(0, |v| v.dy.sum_to_like(&v.x(0))),
        Op::Slice(axes) => view::slice_vjp(v, axes),
        Op::Pad(axes, _) => view::pad_vjp(v, axes),
        Op::Concat { axis } => view::concat_vjp(v, *axis),
        Op::Window { axis, size, step, dilation } => view::window_vjp(v, *axis, *size, *step, *dilation),
        Op::DynSlice { axis } => v.send(0, |v| v.x(0).zeros_like().dyn_update(*axis, v.dy, &v.x(1))),
        Op::DynUpdate { axis } => view::dyn_update_vjp(v, *axis),
        Op::Reduce(op, axes) => reduce::reduce_vjp(v, *op, *axes),
        Op::ArgReduce(..) => {}
        Op::Scan { op, axis, reverse } => reduce::scan_vjp(v, *op, *axis, *reverse),
        Op::Gather { axis } => v.send(0, |v| v.x(0).zeros_like().scatter(*axis, ScatterMode::Add, &v.x(1), v.dy)),
        Op::Scatter { axis, mode } => index::scatter_vjp(v, *axis, *mode),
        Op::ArgSort { .. } | Op::TopK { .. } => {}
        Op::MatMul => contract::matmul_vjp(v),
        Op::Conv(spec) => contract::conv_vjp(v, spec),
        Op::ConvDataGrad(spec) => contract::conv_data_grad_vjp(v, spec),
        Op::ConvWeightGrad(spec) => contract::conv_weight_grad_vjp(v, spec),
        Op::Softmax { axis } => reduce::softmax_vjp(v, *axis),
        Op::LogSoftmax { axis } => reduce::log_softmax_vjp(v, *axis),
        Op::Normalize { axes, center, eps_bits } => reduce::normalize_vjp(v, *axes, *center, f64::from_bits(*eps_bits)),
        // Their values are their parts 0.
        Op::Attention(_) | Op::AttentionGrad(_) | Op::MaxPool(_) | Op::Composite(_) | Op::Loop(_) => return part_vjp(v, node, 0),
        Op::Part(i) => match node.input(0) {
            Some(parent) => return part_vjp(v, &parent, *i),
            None => {
                // Another thread's pass may just have let it go.
                check(node)?;
                return Err((*Error::internal(node, "a part without the node that it is of")).clone());
            }
        },
        Op::Barrier => v.send(0, |v| v.dy.clone()),
        Op::Kernel(spec) => {
            let help = "give it one: `CustomKernel::with_gradient`, or `detach` its inputs".to_owned();
            return Err(autograd_error(node, format!("the custom kernel {} has no gradient", spec.program.name), &help));
        }
        Op::Custom(custom) => return structure::custom_vjp(v, custom),
        Op::Copy => v.send(0, |v| v.dy.copy_to(v.x(0).device())),
        Op::Invalid(error) => return Err((*error.0).clone()),
    }
    Ok(())
}

/// The gradient of part `i` of a node with several.
fn part_vjp(v: &mut Vjp<'_>, parent: &Expr, i: usize) -> Result<(), Error> {
    match (parent.op(), i) {
        (Op::MaxPool(_), 0) => index::max_pool_vjp(v, parent),
        // Indices.
        (Op::MaxPool(_), _) => {}
        (Op::Composite(composite), i) => return composite::part_vjp(v, composite, i),
        (Op::Loop(spec), i) => return spec.vjp(v, &[(i, v.dy.clone())]),
        _ => return attention::vjp(v, parent, i),
    }
    Ok(())
}

/// A composite in primitives: the oracle in tests, the fallback where nothing fits, and what fusion sees. `None` for primitives.
///
/// Half types are computed in `f32` and rounded once.
#[track_caller]
pub fn decompose(node: &Expr) -> Option<Expr> {
    let _origin = node.origin().enter();
    match node.op() {
        Op::Softmax { axis } => Some(reduce::softmax_primitives(&node.input(0)?, *axis, false)),
        Op::LogSoftmax { axis } => Some(reduce::softmax_primitives(&node.input(0)?, *axis, true)),
        Op::Normalize { axes, center, eps_bits } => {
            Some(reduce::normalize_primitives(&node.input(0)?, *axes, *center, f64::from_bits(*eps_bits)))
        }
        Op::Attention(_) | Op::AttentionGrad(_) => {
            let inputs = node.inputs().clone();
            attention::primitives(node.op(), &inputs, 0)
        }
        Op::Composite(composite) => composite.inline(&node.inputs()).into_iter().next(),
        Op::Loop(spec) => spec.inline(&node.inputs()).into_iter().next(),
        Op::Part(i) => {
            let parent = node.input(0)?;
            let inputs = parent.inputs().clone();
            if let Op::Composite(composite) = parent.op() {
                return composite.inline(&inputs).into_iter().nth(*i);
            }
            if let Op::Loop(spec) = parent.op() {
                return spec.inline(&inputs).into_iter().nth(*i);
            }
            attention::primitives(parent.op(), &inputs, *i)
        }
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
        | Op::MaxPool(_)
        | Op::Barrier
        | Op::Kernel(_)
        | Op::Custom(_)
        | Op::Copy
        | Op::Commit(_)
        | Op::Invalid(_) => None,
    }
}
